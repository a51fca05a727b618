"""The share of samples for which bounds about a range of thresholds fail, and how much sharper they
are.

    python -m benchmarks.studies.threshold_range docs/data/threshold-range.csv
    python -m benchmarks.studies.threshold_range docs/data/threshold-range-weights.csv --weights

Draws samples from the populations of the other studies, whose losses in every range are known, and
counts those for which an upper bound is below the loss, or a lower bound above it, for a clinic's
range of thresholds, for one threshold and for every decision. The switch is from the predictions to
their squares. With ``--weights`` it compares maps for a range: the mean of methods weighted by
their log loss, or by the part of it that thresholds in the range make up.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

import rainproof
from benchmarks.studies.populations import Floats, Population, populations
from benchmarks.studies.tables import write
from rainproof.recalibration.division import FOLDS, divide
from rainproof.recalibration.methods import METHODS, fitted_values
from rainproof.recalibration.selection import mean_weights

RANGES: tuple[Any, ...] = (None, (0.05, 0.2), 0.1)
LEVELS = (0.95, 0.5)
LONGER = 4  # one in so many samples has the bounds that take longer
EVERY = 10  # samples for every decision, whose bounds other studies count: for comparison


def truths(population: Population, threshold_range: Any) -> dict[str, float]:
    """What each bound is about, in the population."""
    loss, p = rainproof.measures.calibration_decision_loss, population.prob
    outcome, weight = population.sample.y_true, population.sample.sample_weight
    p = np.tile(p, 2)
    switch = rainproof.switch_guarantee(
        outcome, p, p**2, sample_weight=weight, threshold_range=threshold_range
    )
    return {
        "as is": loss(population.sample, swaps="monotone", threshold_range=threshold_range),
        "rounded": rainproof.regret_curve(
            population.sample, grid=16, threshold_range=threshold_range
        ).loss,
        "loss at least": loss(population.sample, threshold_range=threshold_range),
        "switch: harm": switch.harm,
        "switch: gain": switch.gain,
    }


def bounds(y: Any, p: Any, options: dict[str, Any], *, every: bool) -> dict[str, float]:
    """The bounds from one sample; those that take longer only if `every`."""
    found = {
        "as is": rainproof.guarantee(y, p, response="as_is", **options).bound,
        "rounded": rainproof.guarantee(y, p, grid=16, **options).bound,
    }
    if every:
        switch = rainproof.switch_guarantee(y, p, p**2, **options)
        found["loss at least"] = rainproof.inference.loss_at_least(y, p, **options).bound
        found["switch: harm"], found["switch: gain"] = (
            switch.harm_bound,
            switch.gain_at_least or 0.0,
        )
    return found


def study(repeats: int, n: int) -> Iterator[dict[str, Any]]:
    """A line for each population, range, level and bound."""
    for name, population in populations().items():
        for threshold_range in RANGES:
            true = truths(population, threshold_range)
            for level in LEVELS:
                rng = np.random.default_rng(zlib.crc32(f"{name} {n}".encode()))
                seen: dict[str, list[float]] = {kind: [] for kind in true}
                for k in range(repeats if threshold_range is not None else min(repeats, EVERY)):
                    y, p = population.draw(n, rng)
                    options = {"threshold_range": threshold_range, "confidence_level": level}
                    for kind, bound in bounds(y, p, options, every=k % LONGER == 0).items():
                        seen[kind].append(bound)
                for kind, values in seen.items():
                    lower = kind in ("loss at least", "switch: gain")
                    over = np.array(values) - true[kind]
                    wrong = int(np.sum((over if lower else -over) > 1e-9))
                    yield {
                        "population": name,
                        "n": n,
                        "range": "every" if threshold_range is None else threshold_range,
                        "confidence_level": level,
                        "bound": kind,
                        "repeats": len(values),
                        "violations": wrong,
                        "truth": f"{true[kind]:.6f}",
                        "mean": f"{np.mean(values):.6f}",
                    }


def random_population(rng: np.random.Generator, points: int = 20_000) -> tuple[Floats, Floats]:
    """Predictions and true event rates: calibrated, or off in one of five ways."""
    kind = rng.integers(6)
    rate, spread = rng.uniform(0.05, 0.4), rng.uniform(0.6, 1.8)
    x = logit(rate) + spread * rng.standard_normal(points)
    p = expit(x)
    if kind == 1:
        return p, expit(rng.uniform(0.4, 0.9) * x + rng.normal(0, 0.6))
    if kind == 2:
        return p, expit(rng.uniform(1.1, 1.8) * x + rng.normal(0, 0.6))
    if kind == 3:
        return p, np.clip(p + 0.08 * np.sin(rng.uniform(8, 25) * p), 0.005, 0.995)
    if kind == 4:
        return p, np.where(p > rng.uniform(0.15, 0.5), p * rng.uniform(0.4, 0.8), p)
    return p, p if kind == 0 else np.clip(p ** rng.uniform(0.6, 2), 0.002, 0.998)


def excess(seed: int, n: int, low: float, high: float) -> tuple[float, float] | None:
    """The largest loss in the range over the best possible, by weights everywhere and in the
    range.
    """
    rng, names = np.random.default_rng(seed), list(METHODS)
    prob, rate = random_population(rng)
    at = rng.integers(len(prob), size=n)
    y = (rng.random(n) < rate[at]).astype(int)
    if y.min() == y.max():
        return None
    rows, _ = divide(rainproof.Sample(y, prob[at]), np.random.default_rng(0), hold_out=False)
    kept = ((1 - np.eye(FOLDS)) @ rows.weight.reshape(FOLDS, -1)).reshape(
        -1, *rows.weight.shape[1:]
    )
    value, nearest = fitted_values(names, rows.prob, kept), 0.5 / (rows.weight.sum() + 1)
    maps, mu = (
        np.array([METHODS[name](rows.table()).apply(prob) for name in names]),
        np.linspace(low, high, 9)[:, None],
    )

    def lost(ends: tuple[float, float]) -> float:
        inside = np.clip(value, max(nearest, ends[0]), min(1 - nearest, ends[1]))
        logs = np.log1p(-inside), np.log(inside)
        loss = sum(
            -log[:, f] @ rows.weight[f, y] for f in range(FOLDS) for y, log in enumerate(logs)
        )
        acts = mean_weights(np.asarray(loss)) @ maps >= mu
        gain = (
            np.mean((rate - mu) * ((rate >= mu) * 1.0 - acts), axis=1)
            / np.maximum(mu, 1 - mu)[:, 0]
        )
        return float(gain.max())

    return lost((0.0, 1.0)), lost((low, high))


def compare_weights() -> Iterator[dict[str, Any]]:
    """A line for each range and number of rows."""
    for low, high in ((0.05, 0.2), (0.1, 0.12), (0.3, 0.6)):
        for n, repeats in ((200, 150), (1000, 150), (5000, 80)):
            found = [
                pair for seed in range(repeats) if (pair := excess(seed, n, low, high)) is not None
            ]
            everywhere, inside = np.mean(found, axis=0)
            line = {"low": low, "high": high, "n": n, "populations": len(found)}
            yield line | {"everywhere": f"{everywhere:.6f}", "in_range": f"{inside:.6f}"}


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument(
        "--weights", action="store_true", help="compare the weights of maps, not bounds"
    )
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    lines = list(compare_weights() if chosen.weights else study(chosen.repeats, chosen.rows))
    write(chosen.path, lines)


if __name__ == "__main__":
    main(sys.argv[1:])
