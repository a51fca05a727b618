"""The rate at which each measure of T rows approaches that of the population: the paper's Table 1,
measured.

    python -m benchmarks.studies.rates docs/data/rates.csv

For every measure of the catalogue, and for the paper's binned ECE with as many bins as the cube
root of T: the mean of ``|measure(S) - measure(D)|`` over samples S of T rows, against T, for a
calibrated and for an overconfident forecaster; and the slope of the line through the points on
log-log axes, with its standard error, in a second file (docs/data/rates-slopes.csv).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rainproof
from benchmarks.studies.populations import populations
from benchmarks.studies.tables import written
from paper.tables import fit_exponent

SIZES = (100, 316, 1_000, 3_162, 10_000, 31_623)
FORECASTERS = ("calibrated", "overconfident")
POINTS = 2**20  # hardly any two of T rows have the same prediction
CUBE_ROOT = "binned_calibration_error[rounded; T^1/3 bins]"
# measures that cost a linear program each: every tenth sample
SLOW = {"lower_distance_to_calibration": 10}


def study(
    repeats: int, sizes: Iterable[int] = SIZES, points: int = POINTS
) -> Iterator[dict[str, Any]]:
    """A line for each forecaster, measure and size: the mean deviation and its standard error."""
    sizes = tuple(sizes)
    everything = populations(points)
    for forecaster in FORECASTERS:
        population = everything[forecaster]
        limits = {
            name: measure(population.sample) for name, measure in rainproof.list_measures().items()
        }
        limits[CUBE_ROOT] = 2 * limits["expected_calibration_error"]
        for size in sizes:
            measures: dict[str, Callable[[rainproof.Sample], float]] = dict(
                rainproof.list_measures()
            )
            measures[CUBE_ROOT] = partial(_rounded, bins=round(size ** (1 / 3)))
            rng = np.random.default_rng([size, FORECASTERS.index(forecaster)])
            samples = [rainproof.Sample(*population.draw(size, rng)) for _ in range(repeats)]
            for name, measure in measures.items():
                off = np.array(
                    [abs(measure(s) - limits[name]) for s in samples[:: SLOW.get(name, 1)]]
                )
                yield {
                    "forecaster": forecaster,
                    "measure": name,
                    "T": size,
                    "repeats": len(off),
                    "population": f"{limits[name]:.6g}",
                    "deviation": f"{off.mean():.6g}",
                    "standard_error": f"{off.std(ddof=1) / len(off) ** 0.5:.3g}",
                }


def _rounded(sample: rainproof.Sample, bins: int) -> float:
    return rainproof.measures.binned_calibration_error(sample, form="rounded", n_bins=bins)


def slopes(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Least squares through (ln T, ln deviation); of two standard errors, from chance and from
    scatter, the larger.
    """
    for forecaster, name in dict.fromkeys((line["forecaster"], line["measure"]) for line in lines):
        some = [
            line for line in lines if (line["forecaster"], line["measure"]) == (forecaster, name)
        ]
        size, off, error = np.array(
            [[float(li[k]) for k in ("T", "deviation", "standard_error")] for li in some]
        ).T
        slope, doubt = fit_exponent(size, off, error)
        yield {
            "forecaster": forecaster,
            "measure": name,
            "slope": f"{slope:.3f}",
            "standard_error": f"{doubt:.3f}",
            "promised": "T^-1/3" if name == CUBE_ROOT else rainproof.list_measures()[name].testable,
        }


def write(path: Path, lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write lines as they come, and return them."""
    done: list[dict[str, Any]] = []
    for line in written(path, lines):
        done.append(line)
        print(*line.values(), file=sys.stderr)
    return done


def main(arguments: list[str] | None = None) -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--points", type=int, default=POINTS)
    options = parser.parse_args(arguments)
    lines = write(options.path, study(options.repeats, options.sizes, options.points))
    write(options.path.with_name(f"{options.path.stem}-slopes.csv"), slopes(lines))


if __name__ == "__main__":
    main()
