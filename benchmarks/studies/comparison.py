"""How often the intervals of `compare` contain the difference of the populations, also with
clusters.

    python -m benchmarks.studies.comparison docs/data/comparison.csv

Two pairs of forecasts that are equally calibrated but have different biases on a sample: calibrated
predictions against the constant 1/2, and mirror images, 0.9 x + 0.1 and 0.9 x where x is right.
Without clusters, and with 40 clusters whose outcomes are correlated; in every second sample a
cluster has one prediction. For measures of miscalibration the difference is covered if both
intervals contain their values, which is counted (as in `benchmarks.studies.coverage`): a lower
bound. For scores `compare` itself is called.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

import rainproof
from benchmarks.studies.coverage import held
from benchmarks.studies.populations import Floats, populations
from benchmarks.studies.tables import write

ROWS, CLUSTERS, CORRELATION = 400, 40, 0.3  # the correlation is that of the latent normal variables
MEASURES = (
    "soft_binned_cdl",
    "cutoff_calibration_error",
    "smooth_calibration_error",
    "brier_score",
)
PAIRS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "calibrated against 1/2": (lambda x: x, lambda x: np.full(len(x), 0.5)),
    "mirror images": (lambda x: 0.9 * x + 0.1, lambda x: 0.9 * x),
}


def draw(clustered: bool, k: int, rng: np.random.Generator) -> tuple[Floats, Any, Any]:
    """The true event probabilities, the outcomes, and the clusters if there are any."""
    if not clustered:
        x = rng.random(ROWS)
        return x, (rng.random(ROWS) < x).astype(np.int8), None
    group = np.repeat(np.arange(CLUSTERS), ROWS // CLUSTERS)
    x = rng.random(CLUSTERS)[group] if k % 2 else rng.random(ROWS)
    latent = np.sqrt(CORRELATION) * rng.normal(size=CLUSTERS)[group] + np.sqrt(
        1 - CORRELATION
    ) * rng.normal(size=ROWS)
    return x, (ndtr(latent) < x).astype(np.int8), group


def one(pair: str, measure: str, clustered: bool, simulations: int) -> dict[str, Any]:
    """Draw samples and count."""
    base = populations()["calibrated"].sample
    truths = [
        rainproof.list_measures()[measure](
            base.y_true, forecast(base.y_prob), sample_weight=base.sample_weight
        )
        for forecast in PAIRS[pair]
    ]
    covered = 0
    for k in range(simulations):
        rng = np.random.default_rng([zlib.crc32(pair.encode()), clustered, k])
        x, y, group = draw(clustered, k, rng)
        if measure == "brier_score":
            found = rainproof.compare(
                y, *(f(x) for f in PAIRS[pair]), groups=group, measure=measure, rng=rng
            )
            covered += found.low <= truths[0] - truths[1] <= found.high
        else:
            options: dict[str, Any] = {"levels": (0.975,), "resamples": 79}
            both = zip(PAIRS[pair], truths, strict=True)
            samples = ((rainproof.Sample(y, f(x), groups=group), truth) for f, truth in both)
            covered += all(
                held(sample, measure, truth, rng, **options)[0] for sample, truth in samples
            )
    return {
        "pair": pair,
        "measure": measure,
        "n": ROWS,
        "clusters": CLUSTERS if clustered else 0,
        "simulations": simulations,
        "covered_95": covered,
    }


def study(simulations: int, measures: tuple[str, ...] = MEASURES) -> Iterator[dict[str, Any]]:
    """A line for each measure, pair, and with or without clusters."""
    for measure in measures:
        for pair in PAIRS:
            for clustered in (False, True):
                print(
                    measure, pair, "clusters" if clustered else "rows", file=sys.stderr, flush=True
                )
                yield one(pair, measure, clustered, simulations)


def main(arguments: list[str] | None = None) -> None:
    """Write the table line by line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.comparison", description=__doc__
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--measures", nargs="+", default=MEASURES)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    write(options.output, study(options.simulations, tuple(options.measures)))


if __name__ == "__main__":
    main()
