"""How often what `assess` says of calibrated forecasts of rows in clusters is wrong, and what it
still finds.

    python -m benchmarks.studies.clusters docs/data/clusters.csv --label now

Populations with few distinct predictions, clusters of equal and of very unequal sizes, and outcomes
that depend on each other in a cluster: by one coin, by one coin in half of the clusters, or by a
rate of their own. Sizes say nothing of predictions or outcomes. A label tells lines of one version
of rainproof from those of another; lines of a label that are in the file already are not computed
again.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

import rainproof
from benchmarks.studies.grades import append, lines_of
from rainproof.verdict.calibration import grouped_test
from rainproof.verdict.costs import Rule

SIMULATIONS = 40
COUNTS = (40, 200, 1_000, 2_000)
SIZES = ("equal", "1 or 50", "Pareto")
MOST_ROWS = 3_000  # about
RATES = (0.01, 0.05, 0.2, 0.5)
DEPENDENCE = ("one coin", "one coin in half", "beta-binomial")
# times the event rate
PREDICTIONS = {2: (0.5, 1.5), 3: (0.3, 0.9, 1.8), 5: (0.1, 0.6, 1.0, 1.4, 1.9)}
THRESHOLD = 0.7  # times the event rate
TOO_HIGH = 0.7  # times the predictions: the true rates of a forecast that is too high
OVERCONFIDENT = 0.5  # the true slope of a forecast that is too extreme
_CONCENTRATION = 3.0  # of the law of a cluster's own rate: a correlation of 1/4
_LARGE = 50  # rows
_LARGE_SHARE = 0.1
_TAIL = 1.3  # of Pareto's law: its variance is infinite
INTERVALS = ("says less happens", "slope", "cost", "saved, never", "skill")
FIELDS = [
    "label",
    "clusters",
    "sizes",
    "predictions",
    "level",
    "rate",
    "dependence",
    "rows",
    "few",
    "simulations",
]
FIELDS += [
    "rejected",
    "recalibrate",
    *(f"{x}: {y}" for x in INTERVALS for y in ("number", "covered", "width")),
]
FIELDS += ["found: too high", "found: overconfident"]
_TIE = 1e-9

Rng = np.random.Generator
Array = np.ndarray


class Case(NamedTuple):
    """A population of clusters."""

    number: int
    sizes: str
    values: int
    level: str
    rate: float
    dependence: str

    @property
    def prob(self) -> Array:
        """The distinct predictions, which are calibrated and equally frequent."""
        return self.rate * np.array(PREDICTIONS[self.values])

    def clusters(self, rng: Rng) -> Array:
        """The cluster of each row."""
        mean = MOST_ROWS / self.number
        if self.sizes == "equal":
            size = np.full(self.number, int(np.clip(mean, 2, 10)))
        elif self.sizes == "1 or 50":
            share = min(_LARGE_SHARE, (mean - 1) / (_LARGE - 1))
            size = np.where(rng.random(self.number) < share, _LARGE, 1)
        else:
            scale = (min(mean, 8.0) - 1) * (_TAIL - 1)
            size = 1 + np.minimum(scale * rng.pareto(_TAIL, self.number), MOST_ROWS / 10).astype(
                np.int64
            )
        return np.repeat(np.arange(self.number), size)

    def draw(self, rng: Rng, factor: float = 1.0, slope: float = 1.0) -> tuple[Array, Array, Array]:
        """Outcomes, predictions and clusters.

        The true rates have log odds that are nearer to the middle by the slope, and are then
        multiplied by the factor.
        """
        group = self.clusters(rng)
        which = rng.integers(0, self.values, self.number)[group]
        if self.level == "rows":
            which = rng.integers(0, self.values, len(group))
        middle = logit(self.rate)
        true = factor * expit(middle + slope * (logit(self.prob) - middle))
        if self.dependence == "beta-binomial":
            own = rng.beta(
                _CONCENTRATION * true, _CONCENTRATION * (1 - true), (self.number, self.values)
            )
            return rng.random(len(group)) < own[group, which], self.prob[which], group
        luck = rng.random(len(group))
        shared = (
            np.ones(self.number, bool)
            if self.dependence == "one coin"
            else rng.random(self.number) < 0.5
        )
        luck = np.where(shared[group], rng.random(self.number)[group], luck)
        return luck < true[which], self.prob[which], group

    def truths(self, threshold: float, miss: float) -> dict[str, float]:
        """The values of the population."""
        acts = self.prob >= threshold
        cost = float(np.where(acts, 1 - self.prob, miss * self.prob).mean())
        gained = float(np.where(acts, self.prob - threshold, 0.0).mean()) - max(
            0.0, self.rate - threshold
        )
        foresight = min(threshold * (1 - self.rate), (1 - threshold) * self.rate)
        values = (0.0, 1.0, cost, cost - miss * self.rate, gained / foresight)
        return dict(zip(INTERVALS, values, strict=True))


def cases() -> Iterator[Case]:
    """Every count, law of sizes, rate and dependence; the numbers of predictions and their level
    take turns.
    """
    turn = 0
    for count in COUNTS:
        for sizes in SIZES:
            for rate in RATES:
                for dependence in DEPENDENCE:
                    values = tuple(PREDICTIONS)[turn % 3]
                    level = ("clusters", "rows")[turn // 3 % 2]
                    turn += 1 + (rate == RATES[-1])
                    yield Case(count, sizes, values, level, rate, dependence)


def one(case: Case, simulations: int) -> dict[str, Any]:
    """Assess samples of a case, always the same, and count; samples of one outcome are left out."""
    threshold = THRESHOLD * case.rate
    miss = 1 / threshold - 1
    task = rainproof.DecisionTask.from_costs(false_positive=1.0, false_negative=miss)
    truths = case.truths(threshold, miss)
    found = Counter[str]()
    few = list[float]()
    rows = list[int]()
    widths: dict[str, list[float]] = {name: [] for name in INTERVALS}
    for k in range(simulations):
        seed = [zlib.crc32(repr(tuple(case)).encode()), k]
        y, p, group = case.draw(np.random.default_rng(seed))
        rows.append(len(y))
        if y.any() and not y.all():
            few.append(rainproof.Sample(y, p, groups=group).units.rarer)
            a = rainproof.assess(y, p, groups=group, task=task, measures=[], n_resamples=19)
            assert a.task is not None
            found["simulations"] += 1
            found["rejected"] += a.calibration.rejected
            found["recalibrate"] += a.verdict.grade == "recalibrate"
            intervals = (
                a.calibration.difference,
                a.calibration.slope,
                a.task.costs.get(Rule.AS_IS),
                a.task.saved.get(Rule.NEVER),
                a.evidence.skill_as_is,
            )
            for name, interval in zip(INTERVALS, intervals, strict=True):
                if interval is not None:
                    found[f"{name}: number"] += 1
                    found[f"{name}: covered"] += (
                        interval.low - _TIE <= truths[name] <= interval.high + _TIE
                    )
                    widths[name].append(interval.high - interval.low)
        for name, off in {
            "too high": {"factor": TOO_HIGH},
            "overconfident": {"slope": OVERCONFIDENT},
        }.items():
            y, p, group = case.draw(np.random.default_rng([*seed, 1]), **off)
            if y.any() and not y.all():
                found[f"found: {name}"] += (
                    grouped_test(rainproof.Sample(y, p, groups=group)) <= 0.05
                )
    line: dict[str, Any] = {
        "clusters": case.number,
        "sizes": case.sizes,
        "predictions": case.values,
        "level": case.level,
        "rate": case.rate,
        "dependence": case.dependence,
        "rows": round(float(np.mean(rows))),
        "few": round(float(np.mean(few)), 1) if few else 0.0,
    }
    line |= {
        f"{name}: width": f"{np.median(width):.4g}" if width else ""
        for name, width in widths.items()
    }
    return {name: line.get(name, found[name]) for name in FIELDS[1:]}


def main(arguments: list[str] | None = None) -> None:
    """Write the table, case by case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--label", default="now", help="of these lines (default: %(default)s)")
    parser.add_argument(
        "--simulations", type=int, default=SIMULATIONS, help="of each case (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    names = ("clusters", "sizes", "rate", "dependence")
    done = {
        tuple(x[name] for name in names)
        for x in lines_of(options.output)
        if x["label"] == options.label
    }
    for case in cases():
        if (str(case.number), case.sizes, str(case.rate), case.dependence) not in done:
            print(*case, file=sys.stderr, flush=True)
            append(
                options.output, FIELDS, [{"label": options.label, **one(case, options.simulations)}]
            )


if __name__ == "__main__":
    main()
