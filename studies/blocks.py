"""How often `find_changes` raises a false alarm on days that resemble the day before, by the length of the blocks.

    python -m studies.blocks docs/data/blocks.csv

120 days of 100 rows. Every day has an effect on the log odds, of standard deviation 0.4 and with autocorrelation rho
from day to day (AR(1)). Without a change every alarm is false; for the power the log odds move by 0.6 half-way.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rainproof

DAYS, ROWS, SPREAD, SHIFT = 120, 100, 0.4, 0.6
BLOCKS = (1, 5, 10, 20)
CASES = ((0.0, 0.0), (0.5, 0.0), (0.8, 0.0), (0.0, SHIFT))  # autocorrelation and change
ALPHA, RESAMPLES, GRID = 0.05, 99, 64


def days(rho: float, shift: float, rng: np.random.Generator) -> dict[str, rainproof.Sample]:
    """One sample a day."""
    effect = np.zeros(DAYS)
    effect[0] = rng.normal()
    for day in range(1, DAYS):
        effect[day] = rho * effect[day - 1] + np.sqrt(1 - rho**2) * rng.normal()
    found = {}
    for day, moved in enumerate(SPREAD * effect + shift * (np.arange(DAYS) >= DAYS // 2)):
        p = rng.random(ROWS)
        rate = 1 / (1 + (1 - p) / p * np.exp(-moved))
        found[f"{day:03d}"] = rainproof.Sample((rng.random(ROWS) < rate).astype(np.int8), p).compress(GRID)
    return found


def study(simulations: int) -> Iterator[dict[str, Any]]:
    """A line for each case and length of blocks."""
    for rho, shift in CASES:
        print(f"rho = {rho}, change {shift}", file=sys.stderr, flush=True)
        alarms = dict.fromkeys(BLOCKS, 0)
        for k in range(simulations):
            samples = days(rho, shift, np.random.default_rng([k, round(10 * rho), round(10 * shift)]))
            for block in BLOCKS:
                found = rainproof.inference.find_changes(
                    samples, alpha=ALPHA, shuffle=block, n_resamples=RESAMPLES, rng=k
                )
                alarms[block] += bool(found)
        for block, count in alarms.items():
            yield {
                "block": block, "rho": rho, "change": shift, "days": DAYS, "simulations": simulations, "alarms": count,
                "alpha": ALPHA,
            }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m studies.blocks", description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--simulations", type=int, default=200)
    options = parser.parse_args(arguments)
    lines = list(study(options.simulations))
    with options.output.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(lines)


if __name__ == "__main__":
    main()
