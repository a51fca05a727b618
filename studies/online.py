"""Online recalibration beside the model itself and recalibrations that are refitted on a window of past rows.

    python -m studies.online docs/data/online.csv docs/data/online-adversaries.csv

Five streams of a model's predictions (calibrated, overconfident, drifting, flipping half-way, alternately too high and
too low), then adversaries that know the state and all probabilities, but not the coins.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from rainproof.core.distinct import DistinctTable
from rainproof.recalibration.methods import METHODS
from studies.anytime import write
from studies.populations import logit_scaled

Floats = NDArray[np.float64]
SIZES = (20_000, 1_000_000)
WINDOW, REFITS = 5_000, 100  # rows that a window has, and how often a map is fitted anew
GRID = 32
NEAREST = 1 / (2 * GRID)  # of 0 and 1 in the log score, for all alike: points of the grid can be 0 and 1


def streams(n: int, rng: np.random.Generator) -> dict[str, tuple[Floats, NDArray[np.bool_]]]:
    """Predictions in order of time, and outcomes."""
    p, u, time = rng.random(n), rng.random(n), np.arange(n) / n
    chances = {
        "calibrated": p,
        "overconfident": 0.25 + p / 2,
        "drifting": logit_scaled(p, 1.0) ** (0.5 + 1.5 * time),
        "flipping": np.where(time < 0.5, p, 1 - p),
        "alternating": np.clip(p + np.where(np.floor(16 * p) % 2 == 0, 0.1, -0.1), 0, 1),
    }
    return {name: (p, u < chance) for name, chance in chances.items()}


def rolling(method: str, p: Floats, y: NDArray[np.bool_]) -> Floats:
    """A map fitted anew, now and then, on the last rows."""
    out, step = p.copy(), len(p) // REFITS
    for start in range(step, len(p), step):
        part = slice(max(0, start - WINDOW), start)
        at, index = np.unique(p[part], return_inverse=True)
        ones = np.bincount(index, y[part], len(at)).astype(np.float64)
        fitted = METHODS[method](DistinctTable(at, np.bincount(index) - ones, ones))
        out[start : start + step] = fitted(p[start : start + step])
    return out


def scores(p: Floats, y: NDArray[np.bool_]) -> dict[str, str]:
    """CDL after rounding to 1/32, Brier score and log score."""
    sample = rainproof.Sample(y, p)
    choice = rainproof.choose_grid(sample, max_grid=GRID)
    log_score = rainproof.measures.log_score(y, np.clip(p, NEAREST, 1 - NEAREST))
    return {
        "cdl": f"{choice.losses[-1]:.5f}",
        "brier": f"{rainproof.measures.brier_score(sample):.5f}",
        "log": f"{log_score:.5f}",
    }


def recalibrations() -> Iterator[dict[str, Any]]:
    """A line for each stream, number of rows and method."""
    for n in SIZES:
        for name, (p, y) in streams(n, np.random.default_rng(n)).items():
            methods: dict[str, Callable[[], Floats]] = {
                "model": lambda p=p: p,
                "online": lambda p=p, y=y: rainproof.OnlineRecalibrator(GRID, rng=1).run(p, y),
                "rolling isotonic": lambda p=p, y=y: rolling("isotonic", p, y),
                "rolling Platt": lambda p=p, y=y: rolling("logistic", p, y),
            }
            for method, call in methods.items():
                yield {"stream": name, "n": n, "method": method, **scores(call(), y)}


def adversaries() -> dict[str, Callable[[rainproof.recalibration.OnlineForecaster, list[int]], bool]]:
    """Outcomes by all that is known before the coins."""

    def mean(f: rainproof.recalibration.OnlineForecaster) -> float:
        shares = f.probabilities()
        return float(shares @ np.arange(len(shares))) / f.grid

    def potential(f: rainproof.recalibration.OnlineForecaster, y: int) -> float:
        """What the proof bounds, at the points that can be predicted, if the outcome is y."""
        shares, walk = f.probabilities(), f._walk
        at = np.flatnonzero(shares)
        beyond = np.maximum(np.abs(walk.bias[at] + y - at / f.grid) - walk.margin[at], 0)
        return float(shares[at] @ np.exp(beyond**2 / (3 * (walk.number[at] + 1))))

    return {
        "opposite of the mean": lambda f, _: mean(f) < 0.5,
        "largest potential of the proof": lambda f, _: potential(f, 1) > potential(f, 0),
        "opposite of the likeliest": lambda f, _: f.probabilities().argmax() < f.grid / 2,
        "opposite of the last": lambda _, past: not (past and past[-1]),
        "opposite of the rate": lambda _, past: sum(past[-50:]) < 25,
        "blocks of 100": lambda _, past: len(past) // 100 % 2 == 0,
    }


def attacks(sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """CDL of forecasts without a model at several numbers of rounds of one series."""
    for name, adversary in adversaries().items():
        f = rainproof.recalibration.OnlineForecaster(rng=1)
        past: list[int] = []
        made: list[float] = []
        for t in range(1, max(sizes) + 1):
            y = int(adversary(f, past))
            made.append(f.predict())
            f.update(y)
            past.append(y)
            if t in sizes:
                loss = rainproof.measures.calibration_decision_loss(past, made)
                scaled = loss * math.sqrt(t) / math.log(t)
                yield {"adversary": name, "n": t, "grid": f.grid, "cdl": f"{loss:.5f}", "scaled": f"{scaled:.3f}"}


def main(arguments: list[str] | None = None) -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("streams", type=Path)
    parser.add_argument("adversaries", type=Path)
    parser.add_argument("--rounds", type=int, nargs="+", default=(1_000, 10_000, 100_000, 1_000_000))
    options = parser.parse_args(arguments)
    write(options.streams, recalibrations())
    write(options.adversaries, attacks(tuple(options.rounds)))


if __name__ == "__main__":
    main()
