"""Online recalibration beside the model itself, and recalibrations that are refitted on a window of
past rows.

    python -m benchmarks.studies.online docs/data

Streams of a model's predictions, or of two models'; then the same with late outcomes; then
adversaries that know the state and all probabilities, but not the coins. Writes online.csv,
online-late.csv and online-adversaries.csv. Needs scikit-learn, and streamcal for one of the
methods, which is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import expit, logit, ndtr

import rainproof
from benchmarks.studies.anytime import write
from rainproof.core.distinct import DistinctTable
from rainproof.recalibration.methods import METHODS

try:
    from streamcal import StreamingIsotonicCalibrator
except ImportError:
    StreamingIsotonicCalibrator = None

Floats = NDArray[np.float64]
Models = dict[str, Floats]
SIZES = (10_000, 100_000, 1_000_000)
LARGEST_SLOW = 100_000  # rows of the longest stream for which the slow methods are run
WINDOW, STEP = 5_000, 300  # rows that a window has, and rows after which a map is fitted anew
GRID = 32  # of the calibration decision loss
THRESHOLDS = (0.02, 0.2, 0.5)


def autoregressive(rho: float, n: int, rng: np.random.Generator) -> Floats:
    """A stationary series with standard normal values."""
    noise = math.sqrt(1 - rho**2) * rng.standard_normal(n)
    noise[0] = rng.standard_normal()
    return lfilter([1], [1, -rho], noise)


def streams(n: int, rng: np.random.Generator) -> dict[str, tuple[Models, NDArray[np.bool_]]]:
    """Predictions in order of time, and outcomes."""
    p, u, time = rng.random(n), rng.random(n), np.arange(n) / n
    rare = np.minimum(np.exp(rng.normal(np.log(0.008), 0.7, n)), 0.9)
    noise = rng.standard_normal(n)
    chances = {
        "calibrated": p,
        "overconfident": 0.25 + p / 2,
        "drifting": p ** (0.5 + 1.5 * time),
        "flipping": np.where(time < 0.5, p, 1 - p),
        "alternating": np.clip(p + np.where(np.floor(16 * p) % 2 == 0, 0.1, -0.1), 0, 1),
        "seasonal, 10 periods": np.clip(p + 0.15 * np.sin(20 * np.pi * time), 0, 1),
        "seasonal, 100 periods": np.clip(p + 0.15 * np.sin(200 * np.pi * time), 0, 1),
        "wandering": expit(logit(p) + 1.5 * autoregressive(0.999, n, rng)),
    }
    found = {name: ({"model": p}, u < chance) for name, chance in chances.items()}
    found["autocorrelated"] = {"model": p}, ndtr(autoregressive(0.9, n, rng)) < p
    found["rare"] = {"model": rare}, u < rare
    found["rare, doubled"] = {"model": rare}, u < 2 * rare
    found["replaced half-way"] = {"model": np.where(time < 0.5, p, 0.4 + p / 2)}, u < p
    # as good all the time as the first one is not after a third of it
    second = expit(logit(p) + noise)
    first = np.where(time < 1 / 3, p, rng.random(n))
    found["two models, one fails"] = {"model": first, "second model": second}, u < p
    return found


def by_batches(p: Floats, fitted: Callable[[slice, slice], Floats]) -> Floats:
    """Predictions for some rows at a time, by a map of the rows before them."""
    out = p.copy()
    for start in range(STEP, len(p), STEP):
        out[start : start + STEP] = fitted(
            slice(max(0, start - WINDOW), start), slice(start, start + STEP)
        )
    return out


def rolling(method: str, p: Floats, y: NDArray[np.bool_]) -> Floats:
    """A map fitted anew, now and then, to the last rows."""

    def fitted(past: slice, now: slice) -> Floats:
        at, index = np.unique(p[past], return_inverse=True)
        ones = np.bincount(index, y[past], len(at)).astype(np.float64)
        return METHODS[method](DistinctTable(at, np.bincount(index) - ones, ones))(p[now])

    return by_batches(p, fitted)


def streamcal(p: Floats, y: NDArray[np.bool_]) -> Floats:
    """Another library's online calibrator, with the settings that its first page shows."""
    map_ = StreamingIsotonicCalibrator(n_bins=50, decay=0.9, prior_weight=1.0)

    def fitted(past: slice, now: slice) -> Floats:
        last = slice(past.stop - STEP, past.stop)
        map_.update(p[last], y[last].astype(int))
        return np.asarray(map_.calibrate(p[now]))

    return by_batches(p, fitted)


def mixed(models: Models, y: NDArray[np.bool_]) -> Floats:
    """Where the walks of the online recalibrator start."""
    online, out = rainproof.OnlineRecalibrator(), np.empty(len(y))
    for row, (p, outcome) in enumerate(
        zip(np.column_stack(list(models.values())).tolist(), y.tolist(), strict=True)
    ):
        named = dict(zip(models, p, strict=True))
        out[row] = online.mixture(named)
        online.predict(named)
        online.update(outcome)
    return out


def scores(p: Floats, y: NDArray[np.bool_]) -> dict[str, str]:
    """CDL after rounding to 1/32, Brier score, log score, and the mean cost of acting from each
    threshold on.
    """
    with np.errstate(divide="ignore"):
        log = -np.log(np.where(y, p, 1 - p)).mean()
    sample = rainproof.Sample(y, p)
    costs = {f"cost_{t}": np.where(p >= t, t * ~y, (1 - t) * y).mean() for t in THRESHOLDS}
    found = {"brier": rainproof.measures.brier_score(sample), "log": log, **costs}
    loss = rainproof.choose_grid(sample, max_grid=GRID).losses[-1]
    return {"cdl": f"{loss:.5f}", **{name: f"{value:.6f}" for name, value in found.items()}}


def recalibrations(sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """A line for each stream, number of rows and method."""
    for n in sizes:
        for name, (models, y) in streams(n, np.random.default_rng(n)).items():
            p = models["model"]
            methods: dict[str, Callable[[], Floats]] = {
                m: lambda own=own: own for m, own in models.items()
            }
            methods["online"] = lambda models=models, y=y: rainproof.OnlineRecalibrator().run(
                models, y
            )
            if n <= LARGEST_SLOW:
                methods["mixture"] = lambda models=models, y=y: mixed(models, y)
            methods["rolling isotonic"] = lambda p=p, y=y: rolling("isotonic", p, y)
            methods["rolling Platt"] = lambda p=p, y=y: rolling("logistic", p, y)
            if n <= LARGEST_SLOW and StreamingIsotonicCalibrator is not None:
                methods["streamcal"] = lambda p=p, y=y: streamcal(p, y)
            for method, call in methods.items():
                yield {"stream": name, "n": n, "method": method, **scores(call(), y)}


def delayed(models: Models, y: NDArray[np.bool_], rounds: int) -> Floats:
    """Each outcome so many predictions after its own."""
    online, out = rainproof.OnlineRecalibrator(), np.empty(len(y))
    for row, p in enumerate(np.column_stack(list(models.values())).tolist()):
        out[row] = online.predict(dict(zip(models, p, strict=True)), id=row)
        if row >= rounds:
            online.update(bool(y[row - rounds]), id=row - rounds)
    return out


def late(n: int) -> Iterator[dict[str, Any]]:
    """A line for each stream and way in which outcomes are late."""
    for name, (models, y) in streams(n, np.random.default_rng(n)).items():
        for model, p in models.items():
            yield {"stream": name, "n": n, "outcomes": model, **scores(p, y)}
        for batch in (1, 10, 100, 1_000):
            made = rainproof.OnlineRecalibrator().run(models, y, np.arange(n) // batch)
            yield {"stream": name, "n": n, "outcomes": f"batches of {batch}", **scores(made, y)}
        yield {
            "stream": name,
            "n": n,
            "outcomes": "100 rounds later",
            **scores(delayed(models, y, 100), y),
        }


NO_MODEL = 0.5  # what a model says that knows nothing


def adversaries() -> dict[str, Callable[[rainproof.OnlineRecalibrator, list[int]], bool]]:
    """Outcomes by all that is known before the coins."""

    def potential(f: rainproof.OnlineRecalibrator, y: int) -> float:
        """What the proof bounds, at the points that can be predicted, if the outcome is y."""
        shares, walk = f.probabilities(NO_MODEL), f._walk
        at = np.flatnonzero(shares)
        beyond = np.maximum(np.abs(walk.bias[at] + y - f.points[at]) - walk.margin[at], 0)
        return float(shares[at] @ np.exp(beyond**2 / (6 * (walk.spread[at] + 1))))

    return {
        "opposite of the mean": lambda f, _: f.probabilities(NO_MODEL) @ f.points < 0.5,
        "largest potential of the proof": lambda f, _: potential(f, 1) > potential(f, 0),
        "opposite of the likeliest": lambda f, _: (
            f.points[f.probabilities(NO_MODEL).argmax()] < 0.5
        ),
        "opposite of the last": lambda _, past: not (past and past[-1]),
        "opposite of the rate": lambda _, past: sum(past[-50:]) < 25,
        "blocks of 100": lambda _, past: len(past) // 100 % 2 == 0,
    }


def attacks(sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """CDL of forecasts without a model at several numbers of rounds of one series."""
    for name, adversary in adversaries().items():
        f = rainproof.OnlineRecalibrator(rng=1)
        past: list[int] = []
        made: list[float] = []
        for t in range(1, max(sizes) + 1):
            y = int(adversary(f, past))
            made.append(f.predict(NO_MODEL))
            f.update(y)
            past.append(y)
            if t in sizes:
                loss = rainproof.measures.calibration_decision_loss(past, made)
                scaled = loss * math.sqrt(t) / math.log(t)
                yield {
                    "adversary": name,
                    "n": t,
                    "grid": f.grid,
                    "cdl": f"{loss:.5f}",
                    "scaled": f"{scaled:.3f}",
                }


def main(arguments: list[str] | None = None) -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument(
        "--rounds", type=int, nargs="+", default=(1_000, 10_000, 100_000, 1_000_000)
    )
    options = parser.parse_args(arguments)
    write(options.folder / "online.csv", recalibrations(tuple(options.rows)))
    write(options.folder / "online-late.csv", late(sorted(options.rows)[len(options.rows) // 2]))
    write(options.folder / "online-adversaries.csv", attacks(tuple(options.rounds)))


if __name__ == "__main__":
    main()
