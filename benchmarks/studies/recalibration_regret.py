"""What acting on a recalibrated forecast costs, in random populations, beside simpler rules.

    python -m benchmarks.studies.recalibration_regret docs/data/recalibration-regret.csv

A population has predictions with their true event rates, of one of five kinds: calibrated, off by a
linear function of the log odds, by waves or by steps, or useless. A sample of n rows is drawn from
it, every rule makes of it what it can, and the expected cost of the actions is that in the
population: a false alarm costs 1, a miss 1, 2, 5, 10 or 20. Regret is the cost beyond that of
acting on the true event rates, as a share of the cost of the better fixed rule (always or never
act).
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

import rainproof
from benchmarks.studies.populations import Floats, Population
from benchmarks.studies.tables import write
from rainproof.core.distinct import DistinctTable
from rainproof.recalibration.division import divide
from rainproof.recalibration.fitting import own_stream
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.selection import mean_map, mean_weights

KINDS = ("calibrated", "linear", "waves", "steps", "useless")
SIZES = (200, 1_000, 5_000)
MISSES = (1, 2, 5, 10, 20)  # what a miss costs, where a false alarm costs 1
POPULATIONS = 40  # of each kind, at each size
OURS, MEAN, BY_BRIER = (
    "rainproof",
    "mean of the maps, by log loss",
    "mean of the maps, by Brier score",
)
_POINTS = 4096


def population(kind: str, rng: np.random.Generator) -> Population:
    """Draw a population: the event rate, the spread of risks, and how predictions are off."""
    rate = float(np.exp(rng.uniform(np.log(0.03), np.log(0.5))))
    score = rng.uniform(0.5, 2.5) * ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
    true = score
    if kind == "waves":
        size, length, start = rng.uniform(0.3, 1.0), rng.uniform(1, 4), rng.uniform(0, 2 * np.pi)
        true = score + size * np.sin(length * score + start)
    elif kind == "steps":
        part = np.searchsorted(
            np.sort(rng.random(rng.integers(2, 8))), (np.arange(_POINTS) + 0.5) / _POINTS
        )
        true = (np.bincount(part, score) / np.maximum(np.bincount(part), 1))[part]
    elif kind == "useless":
        true = 0 * score
    level = brentq(lambda c: expit(c + true).mean() - rate, -30, 30)
    said = level + score
    if kind == "linear":
        said = rng.normal(0, 0.7) + np.exp(rng.normal(0, 0.5)) * said
    elif kind == "useless":
        said = logit(rate) + score
    mass = np.full(_POINTS, 1 / _POINTS)
    return Population(name=kind, about="", prob=expit(said), mass=mass, rate=expit(level + true))


def cost(acts: NDArray[np.bool_], rate: Floats) -> Floats:
    """The expected cost in the population of acting where `acts` says so, by what a miss costs."""
    return np.where(acts, 1 - rate, np.array(MISSES)[:, None] * rate).mean(axis=1)


def best_cutoffs(p: Floats, y: NDArray[Any]) -> Floats:
    """The prediction from which acting costs least on the same rows, by what a miss costs."""
    from_, at = np.unique(p, return_inverse=True)
    total, events = np.bincount(at), np.bincount(at, y)
    misses = np.append(0, np.cumsum(events))  # below each cut-off; the last one is never to act
    alarms = np.append(0, np.cumsum((total - events)[::-1]))[::-1]
    return np.append(from_, 2.0)[(alarms + np.outer(MISSES, misses)).argmin(axis=1)]


def regrets(kind: str, n: int, number: int) -> dict[str, float]:
    """The regret of each rule in one population, the mean over what a miss costs."""
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng([KINDS.index(kind), n, number])
    whole = population(kind, rng)
    y, p = whole.draw(n, rng)
    while not 0 < y.sum() < n:
        y, p = whole.draw(n, rng)
    threshold = 1 / (1 + np.array(MISSES, float))[:, None]
    sample = rainproof.Sample(y, p)
    rows, _ = divide(sample, own_stream(0, sample), hold_out=False)
    everything, candidates = mean_map(rows, list(METHODS))
    table = DistinctTable.from_rows(y.astype(np.uint8), p, None)
    by_brier = mean_weights(2 * n * np.array([c.brier_score for c in candidates]))
    best = min(candidates, key=lambda c: c.log_loss).method
    value = {
        "as is": whole.prob,
        "Platt, all rows": METHODS["logistic"](table).apply(whole.prob),
        "isotonic, all rows": IsotonicRegression(out_of_bounds="clip")
        .fit(p, y)
        .predict(whole.prob),
        "one map, by log loss": METHODS[best](table).apply(whole.prob),
        BY_BRIER: sum(
            share * METHODS[name](table).apply(whole.prob)
            for name, share in zip(METHODS, by_brier, strict=True)
            if share
        ),
        MEAN: everything(whole.prob),
        OURS: rainproof.Recalibrator().fit(p, y).map_(whole.prob),
    }
    acts = {rule: one > threshold for rule, one in value.items()}
    acts["best cut-off on the same rows"] = whole.prob >= best_cutoffs(p, y)[:, None]
    rate = whole.rate
    fixed = np.minimum(1 - rate.mean(), np.array(MISSES) * rate.mean())
    oracle = cost(rate > threshold, rate)
    return {rule: float(((cost(one, rate) - oracle) / fixed).mean()) for rule, one in acts.items()}


def study(populations: int = POPULATIONS) -> Iterator[dict[str, Any]]:
    """A line for each size, kind and rule."""
    for n in SIZES:
        for kind in KINDS:
            found = defaultdict(list)
            for number in range(populations):
                for rule, regret in regrets(kind, n, number).items():
                    found[rule].append(regret)
            for rule, some in found.items():
                error = np.std(some, ddof=1) / len(some) ** 0.5
                head = {"n": n, "kind": kind, "rule": rule, "populations": len(some)}
                yield head | {"regret": f"{np.mean(some):.6f}", "error": f"{error:.6f}"}
            print(n, kind, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    write(parser.parse_args(arguments).path, study())


if __name__ == "__main__":
    main()
