"""How often the intervals of `clinical_performance`, `net_benefit` and costs contain the
population's value.

    python -m benchmarks.studies.intervals docs/data/intervals.csv

Draws samples from populations meant to break them: few events, few predictions, predictions far
from calibrated, rows in groups, heavy weights. Lines that are in the file already are not computed
again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import zlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri

import rainproof
from rainproof.core.units import Units
from rainproof.inference.auroc import auroc_interval
from rainproof.inference.estimates import (
    brier,
    mean_interval,
    observed_expected,
    pooled_predictions,
)
from rainproof.inference.logistic_estimates import calibration_intercept, calibration_slope
from rainproof.inference.net_benefits import net_benefits

SIZES = (60, 200, 1_000, 5_000)
EVENTS = (1, 3, 10, 30)
GROUPS = (8, 30, 200)
SIMULATIONS = 1_000
LEVEL = 0.95
THRESHOLDS = (0.5, 1.0, 3.0)  # times the event rate
_GRID = (np.arange(40_000) + 0.5) / 40_000
MISS = 9.0  # the cost of a miss; a false alarm costs 1
NAMES = [
    "auroc",
    "observed_expected",
    "calibration_intercept",
    "calibration_slope",
    "brier_score",
    "brier_skill",
]
NAMES += [f"net_benefit {x:g}r" for x in THRESHOLDS] + [
    "treat_all",
    "cost",
    "cost_always",
    "saved_never",
]
FIELDS = [
    "population",
    "rows",
    "n",
    "few",
    "interval",
    "simulations",
    "covered",
    "below",
    "above",
    "width",
    "truth",
]

Rng = np.random.Generator
Array = np.ndarray
# from uniform numbers to log-odds of the prediction and of the event
Law = Callable[[Array], tuple[Array, Array]]


def choice(odds: list[float], true: list[float]) -> Law:
    """Equally many rows at some predictions."""

    def draw(uniform: Array) -> tuple[Array, Array]:
        at = (len(odds) * uniform).astype(int)
        return np.array(odds)[at], np.array(true)[at]

    return draw


def normal(
    mean: float, spread: float, true: Callable[[Array], Array], rate: float | None = None
) -> Law:
    """Normal log-odds; the true ones are moved so that the event has a rate, if one is given."""
    shift = 0.0
    if rate is not None:
        at, low, high = true(mean + spread * ndtri(_GRID)), -30.0, 30.0
        for _ in range(50):
            shift = (low + high) / 2
            low, high = (shift, high) if expit(at + shift).mean() < rate else (low, shift)

    def draw(uniform: Array) -> tuple[Array, Array]:
        odds = mean + spread * ndtri(uniform)
        return odds, true(odds) + shift

    return draw


@cache
def laws(n: int) -> dict[str, Law]:
    """Populations by name; those with few events depend on the number of rows."""
    found = {
        "calibrated": normal(0.0, 1.2, lambda x: x),
        "overconfident": normal(0.0, 2.0, lambda x: x / 2),
        "inverted": normal(0.0, 1.0, lambda x: -x),
        "saturated": choice([-3.89, 3.89], [-0.847, 0.847]),
        "three values": choice([-1.73, -0.4, 0.85], [-1.3, -0.9, 0.85]),
        "waves": normal(0.0, 1.5, lambda x: x + np.sin(4 * x)),
        "nearly constant": normal(-1.0, 0.01, lambda x: x),
        "strong": normal(0.0, 6.0, lambda x: x),
    }
    for k in EVENTS:
        middle, rate = float(np.log(k / n)), k / n
        if rate < 1 / 4:
            name = f"{k} event{'s' * (k > 1)}"
            found[name] = normal(middle, 1.0, lambda x: x, rate)
            found[f"{name}, too extreme"] = normal(middle, 2.0, lambda x: x / 3, rate)
            found[f"{name}, bent"] = normal(middle, 1.0, partial(_bent, middle), rate)
    return found


def _bent(middle: float, odds: Array) -> Array:
    """Predictions that tell high risks from all others, and no more."""
    return np.where(odds > middle + 1, 1.0, -2.0)


def rows_of(kind: str, odds: Array, true: Array, rng: Rng) -> tuple[Array, dict[str, Any]]:
    """Outcomes with the given log-odds, and the groups or weights of the rows."""
    n = len(odds)
    if kind == "weights":
        return rng.random(n) < expit(true), {
            "sample_weight": np.where(rng.random(n) < 0.05, 50.0, 1.0)
        }
    if kind == "rows":
        return rng.random(n) < expit(true), {}
    count, unequal = int(kind.split()[1]), "unequal" in kind
    size = rng.gamma(1.0, size=count) + 0.05 if unequal else np.ones(count)
    group = rng.choice(count, n, p=size / size.sum()) if unequal else np.arange(n) % count
    # Outcomes of a group share a normal number: the chance of the event is that of each row still.
    shared = np.sqrt(0.15) * rng.normal(size=count)[group] + np.sqrt(0.85) * rng.normal(size=n)
    return ndtr(shared) < expit(true), {"groups": group}


def intervals(y: Array, p: Array, columns: dict[str, Any], mu: Array) -> dict[str, Any]:
    """Every interval by name, as (low, high); None where there is none."""
    sample = rainproof.Sample(y, p, **columns)
    units, prob = pooled_predictions(sample)
    found = _estimates(sample, units, prob)
    ends: list[Any] = [x and (x.low, x.high) for x in found]
    ends += list(zip(*net_benefits(units, prob, mu, LEVEL)[1:], strict=True))
    everyone = np.ones(len(prob))
    ends += list(zip(*net_benefits(units, everyone, mu[1:2], LEVEL)[1:], strict=True))
    for column, least, most in columns_of(sample.event, sample.prob):
        x = mean_interval(sample.units, column, least, most, LEVEL)
        ends.append((x.low, x.high))
    return dict(zip(NAMES, ends, strict=True))


def _estimates(sample: rainproof.Sample, units: Units, prob: Array) -> list[Any]:
    """AUROC, observed over expected, intercept and slope, Brier score and its skill."""
    return [
        auroc_interval(sample, units, prob, LEVEL),
        observed_expected(units, prob, LEVEL),
        calibration_intercept(units, prob, LEVEL),
        calibration_slope(units, prob, LEVEL),
        *brier(units, prob, LEVEL),
    ]


def columns_of(y: Array, p: Array) -> list[tuple[Array, float, float]]:
    """The cost of acting on the forecast, that of always acting, what never acting would save; and
    their ranges.
    """
    cost = np.where(p >= 1 / (1 + MISS), ~y * 1.0, y * MISS)
    return [(cost, 0.0, MISS), (~y * 1.0, 0.0, 1.0), (cost - y * MISS, -MISS, MISS)]


def truths(law: Law, mu: Array) -> dict[str, float]:
    """The values of the population, from many rows that carry their probabilities."""
    odds, true = law(_GRID)
    p, rate = expit(odds), expit(true)
    both = np.concatenate([p, p])
    sample = rainproof.Sample(
        np.repeat([0, 1], len(p)), both, sample_weight=np.concatenate([1 - rate, rate])
    )
    values = [x.value for x in _estimates(sample, sample.units, sample.prob)]
    values += [float((rate * (p >= t) - t / (1 - t) * (1 - rate) * (p >= t)).mean()) for t in mu]
    values += [float((rate - mu[1] / (1 - mu[1]) * (1 - rate)).mean())]
    values += [
        float(sample.units.share @ column) for column, _, _ in columns_of(sample.event, sample.prob)
    ]
    return dict(zip(NAMES, values, strict=True))


def cases() -> list[tuple[str, str, int]]:
    """Population, kind of rows, number of rows."""
    found = [(name, "rows", n) for n in SIZES for name in laws(n)]
    found += [
        (name, "weights", n)
        for n in (60, 200, 1_000)
        for name in ("calibrated", "saturated", "30 events")
    ]
    found += [("10 events", "weights", 1_000)]
    for count in GROUPS:
        kinds = [f"groups {count}", f"groups {count} unequal"]
        sizes = [n for n in (200, 1_000, 5_000) if n > 2 * count]
        names = ("calibrated", "saturated", "10 events", "30 events")
        found += [(name, kind, n) for kind in kinds for n in sizes for name in names]
    return [case for case in found if case[0] in laws(case[2])]


def one(name: str, kind: str, n: int, simulations: int) -> list[dict[str, Any]]:
    """Draw samples and count, for every interval; the same ones for the same case. Samples of one
    outcome are left.
    """
    law = laws(n)[name]
    mu = np.clip(np.array(THRESHOLDS) * float(expit(law(_GRID)[1]).mean()), 0.001, 0.9)
    truth = truths(law, mu)
    ends: dict[str, list[Any]] = {interval: [] for interval in NAMES}
    few = []
    for k in range(simulations):
        rng = np.random.default_rng([zlib.crc32(f"{name}{kind}".encode()), n, k])
        odds, true = law(rng.random(n))
        y, columns = rows_of(kind, odds, true, rng)
        if y.all() or not y.any():
            continue
        few.append(rainproof.Sample(y, expit(odds), **columns).units.rarer)
        for interval, found in intervals(y, expit(odds), columns, mu).items():
            if found is not None:
                ends[interval].append(found)
    lines = []
    for interval, found in ends.items():
        if not found:
            continue
        low, high = np.array(found).T
        t = truth[interval]
        below, above = int((high < t - 1e-9).sum()), int((low > t + 1e-9).sum())
        width = float(np.median(high - low))
        numbers = [len(found), len(found) - below - above, below, above, f"{width:.4g}", f"{t:.6g}"]
        lines.append(
            dict(
                zip(
                    FIELDS,
                    [name, kind, n, round(float(np.mean(few)), 1), interval, *numbers],
                    strict=True,
                )
            )
        )
    return lines


def main() -> None:
    """Write the table, case by case."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.intervals", description=__doc__
    )
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the simulations (default: %(default)s)"
    )
    parser.add_argument(
        "--only", default="", help="cases with this text in population, kind of rows and number"
    )
    options = parser.parse_args()
    done = set()
    if options.output.exists():
        with options.output.open(encoding="utf-8") as file:
            done = {(x["population"], x["rows"], int(x["n"])) for x in csv.DictReader(file)}
    with options.output.open("a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            table.writeheader()
        for name, kind, n in cases():
            if (name, kind, n) not in done and options.only in f"{name}, {kind}, {n}":
                print(f"{name}, {kind}, n = {n:,}", file=sys.stderr, flush=True)
                table.writerows(one(name, kind, n, max(2, round(SIMULATIONS * options.share))))
                file.flush()


if __name__ == "__main__":
    main()
