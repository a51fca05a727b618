"""How often recalibrated probabilities, named as the better guess where nothing is proven, are nearer to the true ones.

python -m studies.better_guess
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np

import brolly
from studies.grades import POPULATIONS

SIZES = (40, 100, 300, 1000, 5000)


def study(simulations: int, sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[str, int, int, int]]:
    """For each population and size: how often it was said, and how often rightly."""
    for number, (name, (predict, rate)) in enumerate(POPULATIONS.items()):
        for n in sizes:
            said = right = 0
            for k in range(simulations):
                rng = np.random.default_rng([number, n, k])
                p = predict(rng.random(n))
                true = rate(p)
                a = brolly.assess(rng.random(n) < true, p, measures=[], n_resamples=199, rng=k)
                if a.evidence.better_recalibrated and a.recalibrator is not None:
                    said += 1
                    right += bool(((a.recalibrator.predict(p) - true) ** 2).mean() < ((p - true) ** 2).mean())
            yield name, n, said, right


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=20)
    warnings.simplefilter("ignore")
    total = np.zeros(2, np.int64)
    for name, n, said, right in study(parser.parse_args(arguments).simulations):
        print(f"{name}, {n} rows: said {said} times, right {right} times", flush=True)
        total += said, right
    print(f"all: said {total[0]} times, right {total[1]} times")


if __name__ == "__main__":
    main()
