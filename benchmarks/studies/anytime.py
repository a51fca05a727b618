"""How often a bound that holds at any time fails at some look, and what it costs.

    python -m benchmarks.studies.anytime docs/data/anytime.csv docs/data/anytime-price.csv

Rows of eight populations come one by one. After every ten of them ``guarantee(anytime=True)`` is
computed, 1,000 times, and a series counts as failed if the bound is below the true loss at any
look. Beside it the same looks at the bound for a fixed number of rows, which promises nothing then.
The second table has both bounds at one number of rows.
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

import rainproof
from benchmarks.studies.populations import Population
from benchmarks.studies.tables import written
from benchmarks.studies.violation_as_is import cases

NAMES = (
    "calibrated",
    "overconfident",
    "rare",
    "inverted",
    "alternating",
    "three values",
    "constant",
    "nearly constant",
)
LOOKS, STEP, GRID = 1_000, 10, 8
LEVELS = (0.5, 0.95)
SIZES = {1_000: 20, 10_000: 20, 100_000: 5, 1_000_000: 1}  # rows, and samples of so many


def populations() -> dict[str, Population]:
    """Eight of them; the last has a loss so small that chance decides at most looks."""
    known = {name: case.population for name, case in cases().items()}
    known["nearly constant"] = Population(
        name="nearly constant",
        about="",
        prob=np.array([0.5]),
        mass=np.ones(1),
        rate=np.array([0.51]),
    )
    return {name: known[name] for name in NAMES}


def looks(population: Population, repeats: int) -> Iterator[dict[str, Any]]:
    """Count the series in which a bound fails at some look."""
    rng = np.random.default_rng(zlib.crc32(population.name.encode()))
    truth = population.losses(GRID)[GRID]
    failed = {(level, anytime): 0 for anytime in (True, False) for level in LEVELS}
    for _ in range(repeats):
        some = dict.fromkeys(failed, False)
        y, p = population.draw(LOOKS * STEP, rng)
        so_far = rainproof.Accumulator(grid=GRID)
        for start in range(0, len(y), STEP):
            so_far.update(y[start : start + STEP], p[start : start + STEP])
            sample = so_far.sample()
            if sample.on_grid(GRID).loss >= truth:  # no bound is below the loss on the rows
                continue
            for level, anytime in failed:
                # A bound at 95% is not below that at 50%.
                if not some[level, anytime] and (
                    level == min(LEVELS) or some[min(LEVELS), anytime]
                ):
                    found = rainproof.guarantee(
                        sample, grid=GRID, confidence_level=level, anytime=anytime
                    )
                    some[level, anytime] = found.bound < truth - 1e-12
        failed = {key: count + some[key] for key, count in failed.items()}
    for level in LEVELS:
        yield {
            "population": population.name,
            "confidence_level": level,
            "series": repeats,
            "looks": LOOKS,
            "failed_anytime": failed[level, True],
            "failed_fixed": failed[level, False],
        }


def prices(population: Population) -> Iterator[dict[str, Any]]:
    """Both bounds, for both responses, at one number of rows."""
    rng = np.random.default_rng([zlib.crc32(population.name.encode()), 1])
    for n, repeats in SIZES.items():
        drawn = [rainproof.Sample(*population.draw(n, rng)) for _ in range(repeats)]
        for response in ("rounded", "as_is"):
            both = [
                np.mean(
                    [
                        rainproof.guarantee(s, response=response, anytime=anytime).bound
                        for s in drawn
                    ]
                )
                for anytime in (False, True)
            ]
            yield {
                "population": population.name,
                "response": response,
                "n": n,
                "samples": repeats,
                "fixed": f"{both[0]:.6f}",
                "anytime": f"{both[1]:.6f}",
                "ratio": f"{both[1] / both[0]:.4f}",
            }


def write(path: Path, lines: Iterator[dict[str, Any]]) -> None:
    """Write a table line by line, and show it."""
    for line in written(path, lines):
        print(*line.values(), file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("looks", type=Path)
    parser.add_argument("prices", type=Path)
    parser.add_argument("--repeats", type=int, default=40)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.FewRowsWarning)
    known = populations().values()
    write(options.prices, (line for population in known for line in prices(population)))
    write(
        options.looks, (line for population in known for line in looks(population, options.repeats))
    )


if __name__ == "__main__":
    main()
