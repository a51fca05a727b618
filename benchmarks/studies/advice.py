"""What following the advice of a verdict costs, on random populations, beside simple rules.

    python -m benchmarks.studies.advice docs/data/advice.csv

The regret of a rule is its cost in the population less that of acting on the true probabilities
given the forecast, as a share of the cost of the better of always and never acting. Lines that are
in the file already are not computed again.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri

import rainproof
from benchmarks.studies.grades import append, lines_of
from rainproof.recalibration.methods import METHODS
from rainproof.verdict.costs import Rule

POPULATIONS = {200: 625, 1_000: 320, 5_000: 160}
MISSES = (1, 3, 9, 19, 1 / 3)  # what a miss costs, where a false alarm costs 1
RULES = ("advice", "as is", "own map", "Platt", "isotonic", "cut-off", "always", "never")
FIELDS = ["n", "number", "kind", "event_rate", "miss", "grade", "rule", *RULES]
RATES = (0.03, 0.5)  # of events
_SEED = 31
_POINTS = (np.arange(20_000) + 0.5) / 20_000
Curve = Callable[[Any], Any]


def kinds(rng: np.random.Generator) -> dict[str, tuple[Curve, Curve]]:
    """Random populations by kind: predictions from uniform numbers, and the event rate at each
    prediction.
    """
    middle = float(logit(np.exp(rng.uniform(*np.log(RATES)))))
    spread = rng.uniform(0.5, 2.0)
    shift, slope, power = rng.normal(0, 0.7), np.exp(rng.normal(0, 0.5)), np.exp(rng.normal(0, 0.4))
    size, often, start = rng.uniform(0.2, 0.8), rng.uniform(1, 4), rng.uniform(0, 6)
    values = int(rng.integers(3, 12))

    def normal(u: Any) -> Any:
        return expit(np.clip(middle + spread * ndtri(u), -12, 12))

    def few(u: Any) -> Any:
        return normal((np.floor(values * u) + 0.5) / values)

    def line(p: Any) -> Any:
        return expit(shift + middle + slope * (logit(p) - middle))

    def far(p: Any) -> Any:
        return (logit(p) - middle) / spread

    return {
        "linear": (normal, line),
        "calibrated": (normal, lambda p: p),
        "waves": (normal, lambda p: expit(logit(p) + size * np.sin(often * logit(p) + start))),
        "steps": (
            normal,
            lambda p: expit(
                middle + 1.2 * spread * np.select([far(p) > 0.5, far(p) > -0.5], [1, 0], -1)
            ),
        ),
        "useless": (normal, lambda p: 0 * p + expit(middle + shift)),
        "bent": (normal, lambda p: p**power),
        "few values": (few, line),
        "saturated": (normal, lambda p: expit(middle + spread * np.clip(far(p), -0.7, 0.7))),
        "only the highest": (normal, lambda p: np.where(far(p) > 1, p, expit(middle - 0.5))),
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """A sample of a random population: `rate` is the event rate at each of the predictions
    `everyone` of it.
    """

    kind: str
    miss: float
    everyone: Any
    rate: Any
    y: Any
    p: Any

    def regret(self, acts: Any) -> float:
        """The cost of acting where `acts` is true, beyond the least possible, as a share of the
        better fixed rule's.
        """
        alarm, miss = 1 - self.rate, self.miss * self.rate
        return float(
            (np.where(acts, alarm, miss) - np.minimum(alarm, miss)).mean()
            / min(alarm.mean(), miss.mean())
        )


def draw(n: int, number: int, seed: int = _SEED) -> Drawn | None:
    """A sample of n rows of a population; None if it has one outcome only."""
    rng = np.random.default_rng([seed, n, number])
    while True:
        made = kinds(rng)
        kind = list(made)[number % len(made)]
        predict, true = made[kind]
        everyone = predict(_POINTS)
        rate = true(everyone)
        if RATES[0] <= rate.mean() <= RATES[1]:
            break
    miss = MISSES[number // len(made) % len(MISSES)]
    p = predict(rng.random(n))
    y = rng.random(n) < true(p)
    return (
        None
        if y.all() or not y.any()
        else Drawn(kind=kind, miss=miss, everyone=everyone, rate=rate, y=y, p=p)
    )


def one(n: int, number: int, seed: int = _SEED) -> dict[str, Any] | None:
    """The regrets of all rules on one population; None if the sample has one outcome only."""
    drawn = draw(n, number, seed)
    if drawn is None:
        return None
    y, p, miss, everyone, rate = drawn.y, drawn.p, drawn.miss, drawn.everyone, drawn.rate
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=miss)
    a = rainproof.assess(y, p, task=task, measures=[])
    assert a.task is not None and a.task.best_threshold is not None and a.recalibrator is not None  # noqa: PT018
    threshold, table = 1 / (1 + miss), rainproof.Sample(y, p).distinct()
    acts = {
        "as is": everyone >= threshold,
        "own map": a.recalibrator.predict(everyone) >= threshold,
        "Platt": METHODS["logistic"](table).apply(everyone) >= threshold,
        "isotonic": METHODS["isotonic"](table).apply(everyone) >= threshold,
        "cut-off": everyone >= a.task.best_threshold,
        "always": np.ones(len(rate), bool),
        "never": np.zeros(len(rate), bool),
    }
    rule = a.verdict.rule
    acts["advice"] = acts["own map" if rule is Rule.RECALIBRATED else str(rule)]
    about = [n, number, drawn.kind, f"{rate.mean():.4f}", f"{miss:.3g}", a.verdict.grade, str(rule)]
    return dict(
        zip(FIELDS, [*about, *(f"{drawn.regret(acts[name]):.6f}" for name in RULES)], strict=True)
    )


def main(arguments: list[str] | None = None) -> None:
    """Write the table, population by population."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the populations (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=_SEED, help="of the populations (default: %(default)s)"
    )
    parser.add_argument(
        "--only", type=int, nargs=2, metavar=("N", "COUNT"), help="so many populations, with n rows"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    done = {(int(x["n"]), int(x["number"])) for x in lines_of(options.output)}
    for n, count in [options.only] if options.only else POPULATIONS.items():
        print(f"n = {n:,}", file=sys.stderr, flush=True)
        for number in range(max(1, round(count * options.share))):
            if (n, number) not in done and (line := one(n, number, options.seed)) is not None:
                append(options.output, FIELDS, [line])


if __name__ == "__main__":
    main()
