"""The share of samples for which the bounds of ``guarantee(response="as_is")`` fail.

    python -m benchmarks.studies.violation_as_is docs/data/violation-as-is.csv

Draws samples from ten populations meant to break it, whose losses against every monotone
recalibration are known, and counts those for which the bound is below the loss: at a confidence of
95%, and at 50%, where a failure is easiest to see. Three of them have rows in groups, heavy fixed
weights, and weights that depend on the predictions.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.populations import Floats, Population, populations
from benchmarks.studies.tables import write

SIZES = (100, 1_000, 10_000)
FEWER = {10_000: 200}  # at most so many samples of so many rows
LEVELS = (0.95, 0.5)
GROUP = 10  # rows of a group: one prediction, and half of the groups one outcome
# the weight of predictions above 0.9 where weights depend on them; the others weigh 1/2
LARGEST = 10.0


@dataclass(frozen=True)
class Case:
    """A population, and how rows are drawn from it."""

    name: str
    population: Population
    rows: str = "independent"

    def draw(
        self, n: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int8], Floats, dict[str, Any]]:
        """Draw n rows: outcomes, predictions, and the options that `guarantee` needs."""
        if self.rows == "groups":
            return self._groups(n, rng)
        y, p = self.population.draw(n, rng)
        # the quantiles of a Pareto distribution without a variance
        if self.rows == "fixed weights":
            return y, p, {"sample_weight": ((np.arange(n) + 0.5) / n) ** -0.6}
        if self.rows == "importance weights":
            return y, p, {"sample_weight": importance(p), "max_weight": LARGEST}
        return y, p, {}

    def _groups(
        self, n: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int8], Floats, dict[str, Any]]:
        group = np.repeat(np.arange(n // GROUP), GROUP)
        at = rng.choice(
            len(self.population.prob),
            n // GROUP,
            p=self.population.mass / self.population.mass.sum(),
        )
        together = rng.random(n // GROUP) < 0.5
        chance = np.where(together[group], rng.random(n // GROUP)[group], rng.random(n))
        at = at[group]
        return (
            (chance < self.population.rate[at]).astype(np.int8),
            self.population.prob[at],
            {"groups": group},
        )

    def truth(self) -> float:
        """The largest expected loss of a decision maker, compared with the best monotone
        recalibration.
        """
        sample = self.population.sample
        weight = sample.sample_weight * (
            importance(sample.y_prob) if self.rows == "importance weights" else 1.0
        )
        return rainproof.measures.calibration_decision_loss(
            sample.y_true, sample.y_prob, sample_weight=weight, swaps="monotone"
        )


def importance(p: Floats) -> Floats:
    """Weights that depend on the predictions."""
    return np.where(p > 0.9, LARGEST, 0.5)


def cases() -> dict[str, Case]:
    """All by name."""
    known = populations()
    at, three = (np.arange(64) + 0.5) / 64, np.array([0.1, 0.5, 0.9])
    made = {
        "inverted": (
            known["calibrated"].prob,
            known["calibrated"].mass,
            1 - known["calibrated"].prob,
        ),
        "alternating": (
            at,
            np.full(64, 1 / 64),
            np.clip(at + np.where(np.arange(64) % 2, 0.2, -0.2), 0, 1),
        ),
        "three values": (three, np.array([0.3, 0.4, 0.3]), np.array([0.2, 0.4, 0.95])),
        "constant": (three[1:2], np.ones(1), np.array([0.75])),
    }
    own = {
        name: Population(name=name, about=name, prob=prob, mass=mass, rate=rate)
        for name, (prob, mass, rate) in made.items()
    }
    plain = {
        "calibrated": known["calibrated"],
        "overconfident": known["overconfident"],
        "rare": known["rare"],
        **own,
    }
    found = {name: Case(name, population) for name, population in plain.items()}
    hard = {
        "groups": own["constant"],
        "fixed weights": own["three values"],
        "importance weights": own["inverted"],
    }
    return found | {kind: Case(kind, population, kind) for kind, population in hard.items()}


def one(case: Case, n: int, repeats: int) -> Iterator[dict[str, Any]]:
    """Draw `repeats` samples and count, at each level; always the same ones for the same
    arguments.
    """
    rng, truth = np.random.default_rng([zlib.crc32(case.name.encode()), n]), case.truth()
    found: dict[float, list[tuple[float, float, float]]] = {level: [] for level in LEVELS}
    for _ in range(repeats):
        y, p, options = case.draw(n, rng)
        for level in LEVELS:
            g = rainproof.guarantee(y, p, response="as_is", confidence_level=level, **options)
            found[level].append((g.bound, g.hoeffding, g.plug_in))
    for level, rows in found.items():
        bound, hoeffding, plug_in = np.array(rows).T
        yield {
            "population": case.name,
            "n": n,
            "repeats": repeats,
            "confidence_level": level,
            "violations_adaptive": int((bound < truth - 1e-12).sum()),
            "violations_hoeffding": int((hoeffding < truth - 1e-12).sum()),
            "truth": f"{truth:.6f}",
            "plug_in": f"{plug_in.mean():.6f}",
            "bound_adaptive": f"{bound.mean():.6f}",
            "bound_hoeffding": f"{hoeffding.mean():.6f}",
        }


def study(repeats: int, sizes: Iterable[int] = SIZES) -> Iterator[dict[str, Any]]:
    """A line for each population, number of rows and confidence level."""
    for n in sizes:
        for case in cases().values():
            yield from one(case, n, min(repeats, FEWER.get(n, repeats)))


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.FewRowsWarning)
    lines = []
    for line in study(options.repeats, options.sizes):
        lines.append(line)
        print(*line.values(), file=sys.stderr)
    write(options.path, lines)


if __name__ == "__main__":
    main()
