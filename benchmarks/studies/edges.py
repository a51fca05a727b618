"""How often what is proven, flagged and graded is false on hard samples: few predictions, weights,
clusters.

    python -m benchmarks.studies.edges docs/data/edges.csv [--repeats 400] [--version after]

Samples have a fixed number of rows and every function has its default seed, as users have them:
whatever depends on the ranks of the rows alone is then the same in all samples. Populations have
two, three or five distinct predictions, and a truth just on the wrong side of what is asked.
`--version` names the column of the release that is measured; run with an older release on the path,
it measures that one.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.tables import written

Floats = NDArray[np.float64]
Generator = np.random.Generator

NEAR = 1e-3  # by how much the truth is on the wrong side of the target
HEAVY = 50.0  # weight of the rows that are heavy
SIZES = (60, 150, 333, 709, 1500, 3000)


class Law(NamedTuple):
    """A population of few distinct predictions."""

    name: str
    share: tuple[float, ...]
    prob: tuple[float, ...]
    rate: tuple[float, ...]

    def draw(self, n: int, rng: Generator) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
        """Draw n rows: which prediction each has, the prediction, and the outcome."""
        place = rng.choice(len(self.share), n, p=self.share)
        prob = np.array(self.prob)[place]
        outcome = (rng.random(n) < np.array(self.rate)[place]).astype(np.int64)
        return place, prob, outcome


class Verdict(NamedTuple):
    """What a function said of one sample: whether it said something, and whether that is false."""

    said: bool
    false: bool


Judge = Callable[[int, Generator], Verdict | None]  # of n rows; None where there is no such sample


def threshold_law(values: int, target: float, above: float) -> Law:
    """A population whose precision is `target + above` at every threshold that flags the largest
    prediction alone.
    """
    prob = tuple(np.round(np.linspace(0.15, 0.85, values), 3).tolist())
    share = tuple(np.full(values, 1 / values).tolist())
    low = np.linspace(0.1, target - 0.1, values - 1) if values > 1 else np.empty(0)
    rate = (*low.tolist(), target + above)
    return Law(f"{values} predictions", share, prob, rate)


def thresholds(law: Law, target: float) -> Judge:
    """A threshold with a proven precision."""

    def judge(n: int, rng: Generator) -> Verdict | None:
        _, prob, outcome = law.draw(n, rng)
        if outcome.min() == outcome.max():
            return None
        found = rainproof.find_threshold(outcome, prob, precision=target)
        if found.threshold is None:
            return Verdict(said=False, false=False)
        flagged = np.array(law.prob) >= found.threshold
        true = np.average(np.array(law.rate)[flagged], weights=np.array(law.share)[flagged])
        return Verdict(said=True, false=bool(true < target))

    return judge


def looked_up(chance: float, target: float, rate: float) -> Judge:
    """Outcomes that are looked up rarely where they are bad: weights depend on predictions, the
    largest is stated.

    Half of the flagged cases have an event rate of .98, the others of `rate`; of these, only a
    share is looked up.
    """
    true = (0.98 + rate) / 2

    def judge(n: int, rng: Generator) -> Verdict | None:
        doubtful = rng.random(n) < 0.5
        prob = np.where(doubtful, 0.9, 0.8)
        outcome = (rng.random(n) < np.where(doubtful, rate, 0.98)).astype(np.int64)
        known = rng.random(n) < np.where(doubtful, chance, 1.0)
        outcome = outcome[known]
        if not len(outcome) or outcome.min() == outcome.max():
            return None
        weight = np.where(doubtful, 1 / chance, 1.0)[known]
        found = threshold_of_weighted(outcome, prob[known], target, weight, 1 / chance)
        if found is None:
            return Verdict(said=False, false=False)
        flagged_true = rate if found > 0.8 else true
        return Verdict(said=True, false=flagged_true < target)

    return judge


def heavy_rows(law: Law, target: float) -> Judge:
    """Weights of 1 or 50 that depend on the prediction: the smallest flagged prediction is
    heavy.
    """
    mass = np.array(law.share) * np.where(np.arange(len(law.share)) % 2, 1.0, HEAVY)
    precision = np.cumsum((mass * law.rate)[::-1])[::-1] / np.cumsum(mass[::-1])[::-1]

    def judge(n: int, rng: Generator) -> Verdict | None:
        place, prob, outcome = law.draw(n, rng)
        if outcome.min() == outcome.max():
            return None
        weight = np.where(place % 2, 1.0, HEAVY)
        found = threshold_of_weighted(outcome, prob, target, weight, HEAVY)
        if found is None:
            return Verdict(said=False, false=False)
        lowest = int(np.searchsorted(law.prob, found))
        return Verdict(said=True, false=bool(precision[lowest] < target))

    return judge


def threshold_of_weighted(
    outcome: NDArray[np.int64], prob: Floats, target: float, weight: Floats, largest: float
) -> float | None:
    """The threshold that is proven for weighted rows; releases before `max_weight` prove it
    without.
    """
    options: dict[str, Any] = {"precision": target, "sample_weight": weight}
    try:
        found = rainproof.find_threshold(outcome, prob, **options, max_weight=largest)
    except TypeError:
        found = rainproof.find_threshold(outcome, prob, **options)
    return found.threshold


def losses(law: Law) -> Judge:
    """A proven loss of a calibrated forecast, which loses nothing."""

    def judge(n: int, rng: Generator) -> Verdict | None:
        _, prob, outcome = law.draw(n, rng)
        if outcome.min() == outcome.max():
            return None
        found = rainproof.inference.loss_at_least(outcome, prob)
        return Verdict(said=found.bound > 0, false=found.bound > 0)

    return judge


def calibrated(values: int, highest: float) -> Law:
    """Calibrated predictions, evenly spaced up to the highest, most of them low."""
    prob = np.round(np.linspace(highest / values, highest, values), 4)
    share = 1 / np.arange(1, values + 1)
    share = share / share.sum()
    return Law(
        f"calibrated, {values} predictions",
        tuple(share.tolist()),
        tuple(prob.tolist()),
        tuple(prob.tolist()),
    )


def skill(law: Law, threshold: float) -> float:
    """Skill of acting on the true rates from the threshold on: 0 is no better than a fixed rule, 1
    is perfect.
    """
    share = np.array(law.share)
    rate = np.array(law.rate)
    event_rate = float(share @ rate)
    acted = np.maximum(rate - threshold, 0.0)
    best_fixed = max(0.0, event_rate - threshold)
    perfect = min(threshold * (1 - event_rate), (1 - threshold) * event_rate)
    return (float(share @ acted) - best_fixed) / perfect


def avoided(law: Law, threshold: float) -> Judge:
    """The grade "avoid" of a forecast with skill."""
    task = rainproof.DecisionTask.from_costs(false_positive=threshold, false_negative=1 - threshold)

    def judge(n: int, rng: Generator) -> Verdict | None:
        _, prob, outcome = law.draw(n, rng)
        if outcome.min() == outcome.max():
            return None
        found = rainproof.assess(outcome, prob, task=task, measures=[], n_resamples=19)
        avoid = found.verdict.grade == "avoid"
        return Verdict(said=avoid, false=avoid)

    return judge


def recalibrated(law: Law) -> Judge:
    """The grade "recalibrate" of a calibrated forecast."""

    def judge(n: int, rng: Generator) -> Verdict | None:
        _, prob, outcome = law.draw(n, rng)
        if outcome.min() == outcome.max():
            return None
        found = rainproof.assess(outcome, prob, measures=[], n_resamples=199)
        graded = found.verdict.grade == "recalibrate"
        return Verdict(said=graded, false=graded)

    return judge


def useless(threshold: float) -> Judge:
    """The grade "avoid" of noise: power of that grade, nothing that can be false."""
    task = rainproof.DecisionTask.from_costs(false_positive=threshold, false_negative=1 - threshold)

    def judge(n: int, rng: Generator) -> Verdict | None:
        prob = rng.choice([0.2, 0.5, 0.8], n)
        outcome = (rng.random(n) < 0.4).astype(np.int64)
        found = rainproof.assess(outcome, prob, task=task, measures=[], n_resamples=19)
        return Verdict(said=found.verdict.grade == "avoid", false=False)

    return judge


def cluster_sizes(kind: str, clusters: int, rng: Generator) -> NDArray[np.int64]:
    """Sizes that depend on nothing: all 4, 1 or 50, or Pareto."""
    if kind == "equal":
        return np.full(clusters, 4)
    if kind == "1 or 50":
        return np.where(rng.random(clusters) < 0.05, 50, 1)
    return np.minimum(np.ceil(2 * rng.pareto(1.3, clusters)), 500).astype(np.int64) + 1


def segments(kind: str, weighted: bool) -> Judge:
    """A segment of a calibrated forecast that is flagged, where clusters share one coin or weights
    differ.
    """

    def judge(n: int, rng: Generator) -> Verdict | None:
        if weighted:
            unit = np.arange(n)
        else:
            size = cluster_sizes(kind, n // 4, rng)
            unit = np.repeat(np.arange(len(size)), size)
        prob = rng.choice([0.2, 0.35, 0.6], unit[-1] + 1)[unit]
        outcome = (rng.random(unit[-1] + 1)[unit] < prob).astype(np.int64)
        by = rng.integers(0, 3, unit[-1] + 1)[unit]
        columns: dict[str, Any] = {"groups": unit}
        if weighted:
            columns = {"sample_weight": np.where(rng.random(n) < 0.05, HEAVY, 1.0)}
        found = rainproof.assess(outcome, prob, by=by, measures=[], n_resamples=19, **columns)
        assert found.segments is not None
        flagged = len(found.segments.flagged) > 0
        return Verdict(said=flagged, false=flagged)

    return judge


class Case(NamedTuple):
    """One statement about samples of one population."""

    statement: str
    population: str
    may_fail: float
    judge: Judge
    sizes: tuple[int, ...]
    part: float = 1.0  # of the repeats, where one sample takes long


def cases() -> Iterator[Case]:
    """Every statement, with the populations and sizes it is tried on."""
    for values, target in ((2, 0.7), (3, 0.6), (5, 0.9)):
        false = threshold_law(values, target, -NEAR)
        yield Case(
            "proven precision, just missed", false.name, 0.05, thresholds(false, target), SIZES
        )
        true = threshold_law(values, target, 0.06)
        yield Case(
            "proven precision, exceeded by 6 points",
            true.name,
            0.05,
            thresholds(true, target),
            SIZES,
        )
    for chance in (0.005, 0.02, 0.1):
        name = f"looked up: {chance:.1%} of the doubtful"
        yield Case(
            "proven precision, weighted, missed", name, 0.05, looked_up(chance, 0.9, 0.7), SIZES
        )
        yield Case(
            "proven precision, weighted, exceeded", name, 0.05, looked_up(chance, 0.8, 0.95), SIZES
        )
    for values in (2, 3, 5):
        heavy = threshold_law(values, 0.7, -NEAR)
        yield Case(
            "proven precision, weighted, missed",
            f"{heavy.name}, weights 1 or 50",
            0.05,
            heavy_rows(heavy, 0.7),
            SIZES,
        )
    for values, highest in ((2, 0.5), (3, 0.9), (5, 0.1)):
        law = calibrated(values, highest)
        yield Case("proven loss", law.name, 0.05, losses(law), (60, 333, 1500), 0.5)
    for values, highest, at in ((2, 0.6, 0.4), (3, 0.75, 0.3), (5, 0.9, 0.3), (5, 0.9, 0.7)):
        law = calibrated(values, highest)
        name = f"{law.name}, skill {skill(law, at):.2f} at {at:.0%}"
        yield Case(
            '"avoid" where there is skill', name, 0.05, avoided(law, at), (60, 150, 400), 0.5
        )
    for values, highest in ((2, 0.3), (3, 0.8), (5, 0.4)):
        law = calibrated(values, highest)
        yield Case(
            '"recalibrate" of a calibrated forecast',
            law.name,
            0.05,
            recalibrated(law),
            (60, 333, 1500),
        )
    for at in (0.2, 0.5):
        yield Case(
            '"avoid" of noise',
            f"three predictions, threshold {at:.0%}",
            1.0,
            useless(at),
            (150, 400),
            0.25,
        )
    for kind in ("equal", "1 or 50", "Pareto"):
        yield Case(
            "flagged segment",
            f"calibrated, clusters: {kind}",
            0.05,
            segments(kind, False),
            (709, 3000),
        )
    yield Case(
        "flagged segment", "calibrated, weights 1 or 50", 0.05, segments("equal", True), (709, 3000)
    )


def study(repeats: int, version: str) -> Iterator[dict[str, Any]]:
    """A line for each statement, population and number of rows."""
    for case in cases():
        for n in case.sizes:
            samples = 0
            said = 0
            false = 0
            for k in range(round(case.part * repeats)):
                rng = np.random.default_rng([k, n, *case.population.encode()])
                found = case.judge(n, rng)
                if found is not None:
                    samples += 1
                    said += found.said
                    false += found.false
            yield {
                "version": version,
                "statement": case.statement,
                "population": case.population,
                "n": n,
                "may_fail": case.may_fail,
                "samples": samples,
                "said": said,
                "false": false,
            }


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.edges", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--version", default="after")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for line in written(options.path, study(options.repeats, options.version)):
        print(*line.values(), file=sys.stderr)


if __name__ == "__main__":
    main()
