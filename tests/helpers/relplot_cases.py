"""Samples on which smooth ECE is compared with relplot; made from a seed, so that only its answers
are stored.

Predictions keep 0.01 away from 0 and 1: relplot reflects its grid there in a way that counts the
end points once, where the reflected kernel has them twice, and so loses half of what lies on them.
"""

from __future__ import annotations

import numpy as np

SIZES = (50, 1_000, 20_000)


def forecasts(rng, n):
    """Predictions by name: spread out, near the ends, in few steps, in the middle, mostly low."""
    columns = {
        "uniform": rng.random(n),
        "ends": rng.beta(0.3, 0.3, n),
        "steps": rng.integers(0, 11, n) / 10,
        "middle": rng.uniform(1 / 3, 2 / 3, n),
        "low": rng.beta(1, 20, n),
    }
    return {name: 0.01 + 0.98 * p for name, p in columns.items()}


OUTCOMES = {
    "calibrated": lambda p: p,
    "too sure": lambda p: 0.5 + 0.6 * (p - 0.5),
    "squared": lambda p: p**2,
    "wave": lambda p: np.clip(p + 0.15 * np.sin(9 * p), 0, 1),
}


def cases():
    """Name, outcomes and predictions of each case."""
    for n in SIZES:
        for i, outcome in enumerate(OUTCOMES):
            rng = np.random.default_rng([n, i])
            for name, p in forecasts(rng, n).items():
                y = (rng.random(n) < OUTCOMES[outcome](p)).astype(int)
                yield f"{name}, {outcome}, {n}", y, p
