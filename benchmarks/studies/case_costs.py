"""How often the intervals of costs contain the true cost, where each case has its own amount and
events are few.

    python -m benchmarks.studies.case_costs docs/data/case-costs.csv

A false alarm costs 5, a miss the amount of the case: lognormal, with a standard deviation on the
log scale, alike for all cases or larger for risky ones. Predictions are overconfident. Samples have
about 50 events. The true costs are those of four million cases; of the recalibrated forecast, by
the map that was fitted to the sample.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import rainproof
from rainproof.verdict.costs import Rule, TaskResult

SIMULATIONS, ASSESSED = 1000, 100
ALARM, EVENTS, CAPACITY, POPULATION = 5.0, 50, 0.02, 4_000_000
FIELDS = ["spread", "amounts", "n", "interval", "simulations", "covered", "below", "above"]
CASES = [(0.5, "alike"), (1.0, "alike"), (1.0, "larger for risky cases"), (1.5, "alike")]


def draw(rng: np.random.Generator, n: int, spread: float, amounts: str) -> tuple[Any, Any, Any]:
    """Outcomes, predictions and amounts."""
    risk = rng.normal(size=n)
    log_odds = -4.6 + 1.3 * risk
    y = rng.random(n) < expit(log_odds)
    amount = np.exp(3 + spread * rng.normal(size=n) + 0.5 * risk * (amounts != "alike"))
    return y, expit(1.5 * log_odds + 2), amount


def costs(acts: Any, y: Any, amount: Any) -> Any:
    """The cost of each case."""
    return np.where(acts, ALARM * ~y, amount * y)


def one(spread: float, amounts: str, simulations: int, assessed: int) -> list[dict[str, Any]]:
    """Count for every interval how often the true value is in it, below it and above it."""
    rng = np.random.default_rng([int(10 * spread), len(amounts)])
    y, p, amount = everything = draw(rng, POPULATION, spread, amounts)
    n = round(EVENTS / y.mean())
    gain = p * amount - (1 - p) * ALARM
    top = gain > max(np.quantile(gain, 1 - CAPACITY), 0.0)
    as_is, never, within = (
        float(costs(acts, y, amount).mean()) for acts in (gain >= 0, p > 1, top)
    )
    true = {"cost, as is": as_is, "cost, never": never, "saved, never": as_is - never}
    true["cost, as is, capacity 2%"] = within
    counts: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for k in range(simulations):
        y, p, amount = draw(
            np.random.default_rng([1, k, int(10 * spread), len(amounts)]), n, spread, amounts
        )
        task = rainproof.DecisionTask.from_costs(false_positive=ALARM, false_negative=amount)
        sample = task.add_costs(rainproof.Sample(y, p))
        free, limited = (
            TaskResult.of(sample, task, 8, None, 0.95, share) for share in (None, CAPACITY)
        )
        found = {
            "cost, as is": free.cost,
            "cost, never": free.cost_never,
            "saved, never": free.saved[Rule.NEVER],
        }
        found["cost, as is, capacity 2%"] = limited.cost
        now = dict(true)
        if k < assessed:
            a = rainproof.assess(y, p, task=task, measures=[], n_resamples=19)
            assert a.task is not None
            assert a.recalibrator is not None
            better = a.recalibrator.predict(everything[1][:500_000])
            own = tuple(column[:500_000] for column in everything)
            mapped = costs(better >= ALARM / (ALARM + own[2]), own[0], own[2])
            found["cost, recalibrated"] = a.task.cost_recalibrated
            found["saved, recalibrated"] = a.task.saved[Rule.RECALIBRATED]
            saved = costs(own[1] >= ALARM / (ALARM + own[2]), own[0], own[2]) - mapped
            now |= {
                "cost, recalibrated": as_is - float(saved.mean()),
                "saved, recalibrated": float(saved.mean()),
            }
        for name, interval in found.items():
            assert interval is not None
            counts[name].append((now[name] < interval.low, now[name] > interval.high))
    lines = []
    for name, misses in counts.items():
        below, above = np.sum(misses, axis=0).tolist()
        numbers = [len(misses), len(misses) - below - above, below, above]
        lines.append(dict(zip(FIELDS, [spread, amounts, n, name, *numbers], strict=True)))
    return lines


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument(
        "--assessed", type=int, default=ASSESSED, help="of which so many are also recalibrated"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    with options.output.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        for spread, amounts in CASES:
            print(f"amounts with spread {spread}, {amounts}", file=sys.stderr, flush=True)
            table.writerows(one(spread, amounts, options.simulations, options.assessed))
            file.flush()


if __name__ == "__main__":
    main()
