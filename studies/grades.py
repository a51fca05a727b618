"""How often `assess` gives each grade, on populations whose right grade is known.

python -m studies.grades docs/data/grades.csv
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

import rainproof

SIZES = (100, 1000, 10_000, 100_000)
GRADES = ("use", "recalibrate", "avoid", "unknown")
Curve = Callable[[Any], Any]

# Predictions from uniform numbers, and the event rate at each prediction.
POPULATIONS: dict[str, tuple[Curve, Curve]] = {
    "calibrated": (lambda u: u, lambda p: p),
    "calibrated, weak": (lambda u: 0.3 + 0.1 * u, lambda p: p),
    "constant, right": (lambda u: 0 * u + 0.2, lambda p: p),
    "constant, wrong": (lambda u: 0 * u + 0.2, lambda p: 0 * p + 0.4),
    "noise": (lambda u: u, lambda p: 0 * p + 0.3),
    "rare, calibrated": (lambda u: 0.1 * u**4, lambda p: p),
    "rare, three times too low": (lambda u: 0.1 * u**4, lambda p: 3 * p),
    "rare, inverted": (lambda u: 0.1 * u**4, lambda p: 0.1 * (1 - (10 * p) ** 0.25) ** 4),
    "inverted": (lambda u: u, lambda p: 1 - p),
    "overconfident": (lambda u: u, lambda p: expit(0.4 * logit(np.clip(p, 1e-9, 1 - 1e-9)))),
    "too high": (lambda u: u, lambda p: p**1.5),
    "alternating": (lambda u: u, lambda p: np.clip(p + 0.15 * np.where(np.floor(10 * p) % 2, 1, -1), 0, 1)),
}


def study(simulations: int, sizes: tuple[int, ...] = SIZES) -> Iterator[dict[str, Any]]:
    """A line for each population and size."""
    for number, (name, (predict, rate)) in enumerate(POPULATIONS.items()):
        for n in sizes:
            print(f"{name}, {n} rows", file=sys.stderr, flush=True)
            found: Counter[str] = Counter()
            for k in range(simulations):
                rng = np.random.default_rng([number, n, k])
                p = predict(rng.random(n))
                y = rng.random(n) < rate(p)
                found[rainproof.assess(y, p, measures=[], n_resamples=19, rng=k).verdict.grade] += 1
            yield {"population": name, "n": n, "simulations": simulations, **{grade: found[grade] for grade in GRADES}}


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--simulations", type=int, default=20)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    lines = list(study(options.simulations))
    with options.path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
