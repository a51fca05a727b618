"""Measure how far the realized loss is from the expected loss, against the number of decisions.

The guarantee of `RoundingPolicy` is for the mean over the random rounding. This example rounds with
many seeds and writes by how much the largest regret of any decision, CDL of the rounded rows,
exceeds its mean-rounding value CDL(D_m). The excess decreases like one over the square root of the
number of decisions (Theorem 4.4 of arXiv:2605.17749 has that rate, times log m).

    python examples/deviation.py deviation.csv
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import rainproof

M = 16
SIZES = (250, 1_000, 4_000, 16_000, 64_000)
SEEDS = 40
TASK = rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65)


def deviations(size: int) -> tuple[float, float, np.ndarray]:
    """Return the mean-rounding loss, the paper's bound, and the losses of `SEEDS` roundings."""
    rng = np.random.default_rng(size)
    p = rng.random(size)
    y = (rng.random(size) < p**1.2).astype(int)
    grid = rainproof.choose_grid(y, p, max_grid=M)
    policies = (rainproof.RoundingPolicy(TASK, M, seed=seed) for seed in range(SEEDS))
    rounded = [policy.round(p, np.arange(size)) for policy in policies]
    losses = np.array([rainproof.measures.calibration_decision_loss(y, some) for some in rounded])
    return float(grid.losses[-1]), float(grid.bounds[-1]), losses


def main(path: Path) -> None:
    """Write a line per size: the loss, its bound, and how far single roundings are above the
    loss.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["T", "m", "loss", "bound", "mean_deviation", "worst_deviation", "worst_times_root_T"]
        )
        for size in SIZES:
            loss, bound, losses = deviations(size)
            above = losses - loss
            numbers = (loss, bound, above.mean(), above.max(), above.max() * size**0.5)
            writer.writerow([size, M, *(f"{number:.6f}" for number in numbers)])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python examples/deviation.py FILE")
    main(Path(sys.argv[1]))
