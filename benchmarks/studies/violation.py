"""The share of samples for which the bounds of `guarantee` fail.

    python -m benchmarks.studies.violation docs/data/violation.csv

Draws samples from populations whose losses CDL(D_m) are known exactly and counts those for which
the bound is below the loss on any of its grids. Twice: with the default settings, and in the
hardest setting, one grid and a confidence of 50%. With equal weights, and with weights for which
the effective number of rows is about half.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rainproof
from benchmarks.studies.populations import Population, populations

SIZES = (100, 300, 1_000, 3_000, 10_000, 100_000)
FEWER = {10_000: 200, 100_000: 50}  # at most so many samples of so many rows
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {"confidence_level": 0.95},
    "one grid": {"confidence_level": 0.5, "grid": 8},
}
METHODS = ("adaptive", "hoeffding")


def weights(kind: str, n: int) -> np.ndarray | None:
    """Weights fixed in advance: none, or the quantiles of an exponential distribution."""
    return None if kind == "equal" else -np.log((np.arange(n) + 0.5) / n)


def one(population: Population, n: int, kind: str, setting: str, repeats: int) -> dict[str, Any]:
    """Draw `repeats` samples and count; always the same ones for the same arguments."""
    rng = np.random.default_rng(
        [zlib.crc32(population.name.encode()), n, kind == "equal", setting == "default"]
    )
    weight, options = weights(kind, n), SETTINGS[setting]
    found: dict[str, list[tuple[bool, float, float, float]]] = {method: [] for method in METHODS}
    losses = population.losses(512)
    for _ in range(repeats):
        y, p = population.draw(n, rng)
        sample = rainproof.Sample(y, p, sample_weight=weight)
        for method in METHODS:
            g = rainproof.guarantee(sample, method=method, **options)
            truth = np.array([losses[m] for m in g.grids.tolist()])
            found[method].append(
                (bool((g.bounds < truth).any()), g.bound, g.plug_in, losses[g.grid])
            )
    means = {method: np.mean(rows, axis=0) for method, rows in found.items()}
    new, old = means["adaptive"], means["hoeffding"]
    return {
        "population": population.name,
        "weights": kind,
        "setting": setting,
        "n": n,
        "repeats": repeats,
        "allowed": round(1 - options["confidence_level"], 6),
        "violations_adaptive": round(new[0] * repeats),
        "violations_hoeffding": round(old[0] * repeats),
        "truth": f"{new[3]:.6f}",
        "plug_in": f"{new[2]:.6f}",
        "bound_adaptive": f"{new[1]:.6f}",
        "bound_hoeffding": f"{old[1]:.6f}",
        "bound_ratio": f"{new[1] / old[1]:.4f}",
        "slack_ratio": f"{(new[1] - new[2]) / (old[1] - old[2]):.4f}",
    }


def study(
    repeats: int, sizes: Iterable[int] = SIZES, kinds: Iterable[str] = ("equal", "uneven")
) -> Iterator[dict[str, Any]]:
    """A line for each population, weighting, setting and number of rows."""
    for n in sizes:
        for population in populations().values():
            for kind in kinds:
                for setting in SETTINGS:
                    yield one(population, n, kind, setting, min(repeats, FEWER.get(n, repeats)))


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.FewRowsWarning)
    with options.path.open("w", newline="", encoding="utf-8") as file:
        writer = None
        for line in study(options.repeats, options.sizes):
            writer = writer or csv.DictWriter(file, line, lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(line)
            file.flush()
            print(line["n"], line["population"], line["weights"], line["setting"], file=sys.stderr)


if __name__ == "__main__":
    main()
