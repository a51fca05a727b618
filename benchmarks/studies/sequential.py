"""False alarms of `SequentialTest` over 10,000 looks, and how many rows it needs to find six kinds
of miscalibration.

    python -m benchmarks.studies.sequential docs/data/sequential-null.csv
    docs/data/sequential-power.csv

A series is a false alarm if the e-value reaches 20 at any of 10,000 looks. The rivals look after
every 100 rows: a fixed-n test of the mean of ``(y - p)(1, logit p)`` by its exact variance
(chi-squared, 2 degrees of freedom), repeated with Bonferroni's correction over the 100 looks
planned; and probcal's monitor, if that package is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.anytime import write
from benchmarks.studies.populations import logit_scaled

Floats = NDArray[np.float64]
LOOKS, STEP, ALPHA = 10_000, 100, 0.05


def feedback(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """Each prediction is the event rate of the last 20 outcomes, and right."""
    p, y, last = np.empty(n), np.empty(n, bool), [0, 1] * 10
    u = rng.random(n)
    for t in range(n):
        p[t] = min(max(sum(last) / 20, 0.05), 0.95)
        y[t] = u[t] < p[t]
        last[t % 20] = int(y[t])
    return p, y


def walk(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """The log odds of the predictions are an autoregression: neighbours are nearly equal."""
    odds = np.empty(n)
    odds[0] = rng.normal()
    steps = rng.normal(0, 0.1, n)
    for t in range(1, n):
        odds[t] = 0.995 * odds[t - 1] + steps[t]
    p = 1 / (1 + np.exp(-odds))
    return p, rng.random(n) < p


def right(p: Floats, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """Calibrated outcomes."""
    return p, rng.random(len(p)) < p


def calm(n: int, rng: np.random.Generator) -> dict[str, tuple[Floats, NDArray[np.bool_]]]:
    """Calibrated forecasts whose predictions depend on each other in time."""
    time = np.arange(n) / n
    return {
        "independent": right(rng.random(n), rng),
        "constant": right(np.full(n, 0.3), rng),
        "rare": right(rng.exponential(0.01, n).clip(0, 1), rng),
        "autoregression": walk(n, rng),
        "feedback": feedback(n, rng),
        "seasonal": right(0.5 + 0.4 * np.sin(2 * np.pi * 20 * time) * rng.random(n), rng),
        "drifting": right(rng.random(n) * (0.1 + 0.9 * time), rng),
    }


def storms(size: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """A batch with one coin for all: each row is right, and all outcomes depend on each other."""
    p = rng.beta(1, 4, size)
    return p, rng.random() < p


def batches(looks: int, rng: np.random.Generator) -> rainproof.SequentialTest:
    """Batches of 20 rows in one storm each."""
    test = rainproof.SequentialTest()
    for _ in range(looks):
        p, y = storms(20, rng)
        test.update(y, p, batch=True)
    return test


def false_alarms(repeats: int) -> Iterator[dict[str, Any]]:
    """A line for each kind of calibrated series."""
    rng = np.random.default_rng(0)
    found: dict[str, list[bool]] = {}
    for _ in range(repeats):
        for name, (p, y) in calm(LOOKS, rng).items():
            found.setdefault(name, []).append(
                rainproof.SequentialTest().update(y, p).rejects(ALPHA)
            )
    found["batches in one storm"] = [
        batches(LOOKS, rng).rejects(ALPHA) for _ in range(max(1, repeats // 10))
    ]
    found["batches, as if independent"] = []
    for _ in range(max(1, repeats // 10)):
        rows = [storms(20, rng) for _ in range(LOOKS // 20)]
        p, y = (np.concatenate(part) for part in zip(*rows, strict=True))
        found["batches, as if independent"].append(
            rainproof.SequentialTest().update(y, p).rejects(ALPHA)
        )
    for name, alarms in found.items():
        yield {"series": name, "looks": LOOKS, "repeats": len(alarms), "false_alarms": sum(alarms)}


def wrong(n: int, rng: np.random.Generator) -> dict[str, tuple[Floats, NDArray[np.bool_]]]:
    """Six kinds of miscalibration."""
    p, u, rare = rng.random(n), rng.random(n), rng.exponential(0.02, n).clip(0, 0.99)
    time = np.arange(n) / n
    return {
        "overconfident, factor 2": (p, u < logit_scaled(p, 0.5)),
        "too low by 0.05": (p, u < np.clip(p + 0.05, 0, 1)),
        "alternating by 0.1": (
            p,
            u < np.clip(p + np.where(np.floor(16 * p) % 2 == 0, 0.1, -0.1), 0, 1),
        ),
        "rare, half as often": (rare, u < rare / 2),
        "one range off by 0.2": (p, u < np.where((p > 0.5) & (p < 0.625), p - 0.2, p)),
        "worse with time": (p, u < (1 - time) * p + time * logit_scaled(p, 0.25)),
    }


def betting(p: Floats, y: NDArray[np.bool_]) -> float:
    """The row of the alarm."""
    wealth = rainproof.SequentialTest().update(y, p).log_wealth >= math.log(1 / ALPHA)
    return float(wealth.argmax() + 1) if wealth.any() else math.inf


def repeated(p: Floats, y: NDArray[np.bool_]) -> float:
    """The row of the first of the looks at which the fixed-n test rejects at ALPHA / looks."""
    inside = np.clip(p, 1e-9, 1 - 1e-9)
    part = np.stack([np.ones(len(p)), np.log(inside) - np.log1p(-inside)])
    critical = -2 * math.log(ALPHA / (len(p) // STEP))  # of chi-squared with 2 degrees of freedom
    for stop in range(STEP, len(p) + 1, STEP):
        x, q = part[:, :stop], inside[:stop]
        score = x @ (y[:stop] - p[:stop])
        variance = (x * (q * (1 - q))) @ x.T
        if score @ np.linalg.solve(variance, score) >= critical:
            return float(stop)
    return math.inf


def probcal(p: Floats, y: NDArray[np.bool_]) -> float:
    """The row of the alarm of probcal's monitor, with batches of 100 rows."""
    from probcal.monitor import CalibrationMonitor

    monitor = CalibrationMonitor(alpha=ALPHA, plug_in_window=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(0, len(p), STEP):
            part = slice(start, start + STEP)
            if monitor.update(y[part].astype(int), p[part].clip(1e-9, 1 - 1e-9)).alarm:
                return float(start + STEP)
    return math.inf


def delays(repeats: int) -> Iterator[dict[str, Any]]:
    """A line for each kind of miscalibration: the median row of the alarm."""
    rivals: dict[str, Callable[[Floats, NDArray[np.bool_]], float]] = {
        "betting": betting,
        "repeated": repeated,
    }
    if importlib.util.find_spec("probcal"):
        rivals["probcal"] = probcal
    for name in wrong(1, np.random.default_rng(0)):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        series = [wrong(LOOKS, rng)[name] for _ in range(repeats)]
        medians = {
            rival: float(np.median([test(p, y) for p, y in series]))
            for rival, test in rivals.items()
        }
        yield {"miscalibration": name, "repeats": repeats, **medians}


def main(arguments: list[str] | None = None) -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("null", type=Path)
    parser.add_argument("power", type=Path)
    parser.add_argument("--repeats", type=int, default=200)
    options = parser.parse_args(arguments)
    write(options.power, delays(max(1, options.repeats // 5)))
    write(options.null, false_alarms(options.repeats))


if __name__ == "__main__":
    main()
