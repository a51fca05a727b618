"""How often the intervals of what a decision costs, and of what recalibration saves, contain the
true cost.

    python -m benchmarks.studies.costs docs/data/costs.csv

On the populations of `benchmarks.studies.intervals`, which are meant to break intervals: few
events, predictions far from calibrated, rows in groups, heavy weights. The true cost of a fitted
rule is that of the map, or the cut-off, that was fitted to the sample. Lines that are in the file
already are not computed again.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import rainproof
from benchmarks.studies.grades import append, lines_of
from benchmarks.studies.intervals import MISS, cases, laws, rows_of
from rainproof.verdict.costs import Rule

SIMULATIONS = 50
LARGEST = 200  # rows; 1,000 with weights
FIELDS = ["population", "rows", "n", "few", "interval", "simulations", "covered", "below", "above"]
_POINTS = (np.arange(20_000) + 0.5) / 20_000
_TIE = 1e-9


def one(name: str, kind: str, n: int, simulations: int) -> list[dict[str, Any]]:
    """Assess samples of a case, always the same, and count for every interval; those of one outcome
    are left.
    """
    law = laws(n)[name]
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=MISS)
    odds, true = law(_POINTS)
    p, rate = expit(odds), expit(true)
    ends, few = defaultdict(list), []
    for k in range(simulations):
        rng = np.random.default_rng([zlib.crc32(f"{name}{kind}".encode()), n, k])
        odds, true = law(rng.random(n))
        y, columns = rows_of(kind, odds, true, rng)
        if y.all() or not y.any():
            continue
        few.append(rainproof.Sample(y, expit(odds), **columns).units.rarer)
        a = rainproof.assess(y, expit(odds), task=task, measures=[], n_resamples=19, **columns)
        for what, found, cost in _truths(a, p, rate, task.thresholds[0]):
            ends[what].append((found.low, found.high, cost))
    lines = []
    for what, found in ends.items():
        low, high, cost = np.array(found).T
        below, above = int((high < cost - _TIE).sum()), int((low > cost + _TIE).sum())
        numbers = [len(found), len(found) - below - above, below, above]
        lines.append(
            dict(
                zip(
                    FIELDS,
                    [name, kind, n, round(float(np.mean(few)), 1), what, *numbers],
                    strict=True,
                )
            )
        )
    return lines


def _truths(
    a: rainproof.results.Assessment, p: Any, rate: Any, threshold: float
) -> list[tuple[str, Any, float]]:
    """Name, interval and true value of every cost, and of what rules save over acting on the
    forecast as it is.
    """
    assert a.task is not None
    acts = {Rule.AS_IS: p >= threshold, Rule.ALWAYS: p >= 0, Rule.NEVER: p > 1}
    if a.recalibrator is not None and a.task.best_threshold is not None:
        acts[Rule.RECALIBRATED] = a.recalibrator.predict(p) >= threshold
        acts[Rule.CUTOFF] = p >= a.task.best_threshold
    true = {rule: float(np.where(on, 1 - rate, MISS * rate).mean()) for rule, on in acts.items()}
    found = [
        (f"cost, {rule.value}", a.task.costs[rule], true[rule]) for rule in Rule if rule in true
    ]
    saved = a.task.saved.items()
    return found + [
        (f"saved, {rule.value}", one, true[Rule.AS_IS] - true[rule]) for rule, one in saved
    ]


def main(arguments: list[str] | None = None) -> None:
    """Write the table, case by case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument(
        "--only", default="", help="cases with this text in population, kind of rows and number"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    done = {(x["population"], x["rows"], x["n"]) for x in lines_of(options.output)}
    for name, kind, n in cases():
        some = n <= LARGEST or kind == "weights"
        if some and (name, kind, str(n)) not in done and options.only in f"{name}, {kind}, {n}":
            print(f"{name}, {kind}, n = {n:,}", file=sys.stderr, flush=True)
            append(options.output, FIELDS, one(name, kind, n, options.simulations))


if __name__ == "__main__":
    main()
