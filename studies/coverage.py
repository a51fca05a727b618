"""How often the intervals of `confidence_interval` hold the population's value, near calibration and far from it.

    python -m studies.coverage docs/data/coverage.csv

Draws samples from populations whose value is known and counts. With 39 resamples the tails of the 95% and of the 90%
interval are whole numbers of draws, so that few draws cost width but no coverage. What the file holds already is not
done again: an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import brolly
from studies.populations import Population, populations

SIMULATIONS = {200: 100, 2_000: 60, 20_000: 12}  # by number of rows
FAR = ("calibrated", "slightly overconfident", "overconfident", "nonmonotone")
LEVELS = (0.9, 0.95)
SLOW = ("smooth_ece", "interval_calibration_error", "lower_distance_to_calibration")
MEASURES = [name for name in brolly.measures() if name not in (*SLOW, "log_score")]
BESIDE = ("soft_binned_cdl", "binned_calibration_error", "cutoff_calibration_error")  # also by the plain bootstrap
FIELDS = [
    "population",
    "n",
    "measure",
    "method",
    "simulations",
    "covered_90",
    "covered_95",
    "below_low",
    "above_high",
    "width_95",
    "truth",
    "mean_estimate",
    "mean_corrected",
]


def cases() -> dict[str, Population]:
    """Calibrated, nearly so, and far from it."""
    some = populations()
    base = some["calibrated"]
    near = replace(base, name="slightly overconfident", about="a tenth closer to one half", rate=0.05 + 0.9 * base.prob)
    return {p.name: p for p in (base, near, *(some[name] for name in FAR if name in some and name != base.name))}


def one(population: Population, n: int, measure: str, method: str, simulations: int) -> dict[str, Any]:
    """Draw samples and count; always the same ones for the same population and number of rows."""
    truth = brolly.measures()[measure](population.sample)
    held = np.zeros(len(LEVELS))
    sides, found = np.zeros(2), []
    for k in range(simulations):
        rng = np.random.default_rng([zlib.crc32(population.name.encode()), n, k])
        y, p = population.draw(n, rng)
        interval = brolly.confidence_interval(y, p, measure=measure, method=method, n_resamples=39, rng=rng)
        for at, level in enumerate(LEVELS):
            ends = interval.at(level)
            held[at] += ends.low - 1e-9 <= truth <= ends.high + 1e-9
        sides += [truth < ends.low - 1e-9, truth > ends.high + 1e-9]
        found.append((ends.high - ends.low, ends.estimate, ends.corrected))
    width, estimate, corrected = np.mean(found, axis=0)
    counts = [*held, *sides]
    numbers = [f"{x:.6g}" for x in (width, truth, estimate, corrected)]
    return dict(
        zip(FIELDS, [population.name, n, measure, method, simulations, *map(int, counts), *numbers], strict=True)
    )


def main() -> None:
    """Write the table line by line."""
    parser = argparse.ArgumentParser(prog="python -m studies.coverage", description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of the simulations (default: %(default)s)")
    parser.add_argument("--measures", nargs="+", default=MEASURES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = set()
    if options.output.exists():
        with options.output.open(encoding="utf-8") as file:
            done = {(x["population"], int(x["n"]), x["measure"], x["method"]) for x in csv.DictReader(file)}
    with options.output.open("a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            table.writeheader()
        for n, simulations in SIMULATIONS.items():
            for population in cases().values():
                for measure in options.measures:
                    for method in ("auto", "percentile") if measure in BESIDE else ("auto",):
                        if (population.name, n, measure, method) not in done:
                            print(f"n = {n:,}, {population.name}, {measure}, {method}", file=sys.stderr, flush=True)
                            size = max(2, round(simulations * options.share))
                            table.writerow(one(population, n, measure, method, size))
                            file.flush()


if __name__ == "__main__":
    main()
