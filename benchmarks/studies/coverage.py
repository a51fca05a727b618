"""How often the intervals of `confidence_interval` contain the population's value, near calibration
and far from it.

    python -m benchmarks.studies.coverage docs/data/coverage.csv

Draws samples from populations whose value is known and counts. The interval by inversion contains
the true value if the observed value is in neither tail for the population on the path that has that
value: so only samples of that one are drawn, a sixth of the work (the tests check that it agrees
with the intervals themselves). With 39 resamples the tails of the 95% and of the 90% interval are
whole numbers of draws, so few draws cost width but no coverage. The widths are those of the first
few intervals in full. Lines that are in the file already are not computed again: an interrupted run
continues where it stopped.
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

import rainproof
from benchmarks.studies.populations import Population, populations
from rainproof.inference.populations import PopulationPath
from rainproof.inference.resampling import as_resampler, quantile
from rainproof.inference.statistics import as_statistic

SIMULATIONS = {200: 200, 2_000: 200}  # by number of rows
FAR = ("overconfident", "nonmonotone")
LEVELS = (0.9, 0.95)
MEASURES = [
    "soft_binned_cdl",
    "soft_binned_cdl[hard]",
    "cutoff_calibration_error",
    "smooth_calibration_error",
    "calibration_decision_loss",
    "calibration_decision_loss[monotone]",
    "expected_calibration_error",
    "binned_calibration_error",
    "binned_calibration_error[quantile]",
    "binned_calibration_error[rounded]",
    "u_calibration_error",
    "smooth_ece",
]  # all but the lower distance, which costs too much, and scores
LARGE = (
    "soft_binned_cdl",
    "cutoff_calibration_error",
    "smooth_calibration_error",
    "binned_calibration_error",
)
# also by the plain bootstrap
BESIDE = ("soft_binned_cdl", "binned_calibration_error", "cutoff_calibration_error")
FIELDS = ["population", "n", "measure", "method", "simulations", "covered_90", "covered_95"]
FIELDS += ["width_95", "estimate", "corrected", "truth"]  # means, but for the truth
RESAMPLES = 39
WIDTHS = 4


def cases() -> dict[str, Population]:
    """Calibrated, nearly so, and far from it; two where one bias alone is large; and few events."""
    some = populations()
    base = some["calibrated"]
    region = (base.prob > 0.6) & (base.prob < 0.75)
    three = {
        "prob": np.array([0.15, 0.4, 0.7]),
        "mass": np.array([0.3, 0.4, 0.3]),
        "rate": np.array([0.2, 0.3, 0.7]),
    }
    made = [
        base,
        replace(
            base,
            name="slightly overconfident",
            about="a tenth closer to one half",
            rate=0.05 + 0.9 * base.prob,
        ),
        *(some[name] for name in FAR),
        replace(
            base,
            name="one region",
            about="0.2 too high from 0.6 to 0.75",
            rate=base.prob - 0.2 * region,
        ),
        Population(name="three predictions", about="one of them 0.1 too high", **three),
        replace(
            base,
            name="rare",
            about="1 event in 20 rows, calibrated",
            prob=base.prob / 10,
            rate=base.prob / 10,
        ),
        replace(
            base,
            name="rare, too low",
            about="3 events where 2 are predicted",
            prob=base.prob / 10,
            rate=0.15 * base.prob,
        ),
    ]
    return {population.name: population for population in made}


def held(
    sample: rainproof.Sample,
    measure: str,
    truth: float,
    rng: np.random.Generator,
    *,
    levels: tuple[float, ...] = LEVELS,
    resamples: int = RESAMPLES,
) -> list[bool]:
    """Whether the intervals by inversion, at each of the levels, contain the true value."""
    statistic, atoms = as_statistic(measure), as_resampler(sample)
    path = PopulationPath(sample, atoms, statistic)
    low, high = 0.0, 1.0
    if path.value(0.0) < truth:
        while path.value(high) < truth and high < 2**12:
            high *= 2
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if path.value(middle) < truth else (low, middle)
    else:
        high = 0.0
    draw = path.sampler(high)
    draws = np.sort([draw(rng)[0] for _ in range(resamples)])
    tails = [(1 - level) / 2 for level in levels]
    low_enough = [path.observed <= quantile(draws, 1 - tail) for tail in tails]
    # no population has less, so that an observed value however small leaves this one inside
    if high == 0.0:
        return low_enough
    return [
        fine and quantile(draws, tail) <= path.observed
        for fine, tail in zip(low_enough, tails, strict=True)
    ]


def one(
    population: Population, n: int, measure: str, method: str, simulations: int
) -> dict[str, Any]:
    """Draw samples and count; always the same ones for the same population and number of rows."""
    truth = rainproof.list_measures()[measure](population.sample)
    covered, found = np.zeros(len(LEVELS)), []
    for k in range(simulations):
        rng = np.random.default_rng([zlib.crc32(population.name.encode()), n, k])
        sample = rainproof.Sample(*population.draw(n, rng))
        if method == "inversion":
            covered += held(sample, measure, truth, rng)
        if method != "inversion" or k < WIDTHS:
            interval = rainproof.confidence_interval(
                sample, measure=measure, method=method, n_resamples=39, rng=rng
            )
            ends = [interval.at(confidence_level) for confidence_level in LEVELS]
            found.append((ends[-1].high - ends[-1].low, interval.estimate, interval.corrected))
            if method != "inversion":
                covered += [end.low - 1e-9 <= truth <= end.high + 1e-9 for end in ends]
    numbers = [f"{x:.6g}" for x in (*np.mean(found, axis=0), truth)]
    return dict(
        zip(
            FIELDS,
            [population.name, n, measure, method, simulations, *map(int, covered), *numbers],
            strict=True,
        )
    )


def main() -> None:
    """Write the table line by line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.coverage", description=__doc__
    )
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the simulations (default: %(default)s)"
    )
    parser.add_argument("--measures", nargs="+", default=MEASURES)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIMULATIONS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = set()
    if options.output.exists():
        with options.output.open(encoding="utf-8") as file:
            done = {
                (x["population"], int(x["n"]), x["measure"], x["method"])
                for x in csv.DictReader(file)
            }
    with options.output.open("a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            table.writeheader()
        for n, simulations in ((n, SIMULATIONS[n]) for n in options.sizes):
            for population in cases().values():
                for measure in (m for m in options.measures if n <= 200 or m in LARGE):
                    for method in (
                        ("inversion", "percentile")
                        if n <= 200 and measure in BESIDE
                        else ("inversion",)
                    ):
                        if (population.name, n, measure, method) not in done:
                            print(
                                f"n = {n:,}, {population.name}, {measure}, {method}",
                                file=sys.stderr,
                                flush=True,
                            )
                            size = max(2, round(simulations * options.share))
                            table.writerow(one(population, n, measure, method, size))
                            file.flush()


if __name__ == "__main__":
    main()
