"""The share of samples for which `harm_bound` of `switch_guarantee` fails, and how sharp it is.

    python -m benchmarks.studies.switching docs/data/switching.csv

Draws samples from twelve populations meant to break the bound, whose largest loss by the switch is
known exactly. Counts the samples whose `harm_bound` is below the loss: at a confidence of 95%, and
at 50%, where a failure is easiest to see. (`benchmarks.studies.proofs` is about `gain_at_least`.)
Beside `harm_bound`: Hoeffding's bound, and on some of the samples the upper end of a bootstrap, the
quantile of the largest loss among resampled rows (or groups).
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.populations import Floats, logit_scaled
from benchmarks.studies.tables import written
from rainproof.core.switch_curve import SwitchCurve
from rainproof.inference.switches import harm_bound

SIZES = (100, 1_000, 10_000)
FEWER = {10_000: 200}  # at most so many samples of so many rows
BOOTSTRAPPED = {100: 100, 1_000: 50, 10_000: 20}  # samples with a bootstrap
RESAMPLES = 199
LEVELS = (0.95, 0.5)
GROUP = 10  # rows of a group: one pair of predictions, and in half of the groups one outcome


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two predictions for rows that come with probability `mass`, where the event has probability
    `rate`.
    """

    name: str
    old: Floats
    new: Floats
    rate: Floats
    mass: Floats
    rows: str = "independent"

    def draw(
        self, n: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], Floats, Floats, dict[str, Any]]:
        """Draw n rows: outcomes, both predictions, and the options of `switch_guarantee`."""
        size, options = n, {}
        chance = rng.random(n)
        if self.rows == "groups":
            size = n // GROUP
            group = np.repeat(np.arange(size), GROUP)
            chance = np.where((rng.random(size) < 0.5)[group], rng.random(size)[group], chance)
            options["groups"] = group
        elif self.rows == "fixed weights":
            # the quantiles of a Pareto distribution without a variance
            options["sample_weight"] = ((np.arange(n) + 0.5) / n) ** -0.6
        at = rng.choice(len(self.mass), size, p=self.mass)
        at = at[group] if self.rows == "groups" else at
        return chance < self.rate[at], self.old[at], self.new[at], options

    def truth(self) -> float:
        """The largest loss by the switch."""
        outcome, weight = (
            np.repeat([0, 1], len(self.mass)),
            np.r_[self.mass * (1 - self.rate), self.mass * self.rate],
        )
        forecasts = {"old": np.tile(self.old, 2), "new": np.tile(self.new, 2)}
        return (
            rainproof.Sample(outcome, forecasts, sample_weight=weight)
            .curve("old", "new")
            .chord()
            .loss
        )


def pairs() -> dict[str, Pair]:
    """All by name."""
    x = (np.arange(1024) + 0.5) / 1024
    three, thirds = np.array([0.1, 0.5, 0.9]), np.repeat(1 / 3, 3)
    steps = np.where(np.arange(1024) // 16 % 2, 0.2, -0.2)
    one = np.ones(1)
    made: dict[str, tuple[Floats, Floats, Floats]] = {  # old, new, rate
        "recalibrated": (x, x**1.5, x**1.5),
        "miscalibrated": (x**1.5, x, x**1.5),
        "overconfident": (x, logit_scaled(x, 2.0), x),
        "rare": (x / 20, x / 50, x / 50),
        "constant": (x, np.full(1024, 0.5), x),
        "inverted": (x, 1 - x, x),
        "alternating": (x, np.clip(x + steps, 0, 1), np.clip(x + steps, 0, 1)),
        "identical": (x, x, x),
        "three values": (three, np.array([0.5, 0.1, 0.9]), np.array([0.2, 0.4, 0.95])),
        "certain": (one, 0 * one, 0.5 * one),
    }
    found = {
        name: Pair(name=name, old=old, new=new, rate=rate, mass=np.full(len(old), 1 / len(old)))
        for name, (old, new, rate) in made.items()
    }
    hard = {"groups": "three values", "fixed weights": "three values"}
    for rows, name in hard.items():
        base = found[name]
        found[rows] = Pair(
            name=rows, old=base.old, new=base.new, rate=base.rate, mass=thirds, rows=rows
        )
    return found


def bootstrap(
    y: NDArray[np.bool_],
    old: Floats,
    new: Floats,
    options: dict[str, Any],
    rng: np.random.Generator,
) -> Any:
    """The largest loss by the switch on resampled rows, or groups of rows."""
    weight, size = options.get("sample_weight"), GROUP if "groups" in options else 1
    found = []
    for _ in range(RESAMPLES):
        at = (
            size * rng.integers(0, len(y) // size, len(y) // size)[:, None] + np.arange(size)
        ).ravel()
        part = None if weight is None else weight[at]
        found.append(2 * SwitchCurve._from_rows(y[at], old[at], new[at], part).chord().value)
    return np.array(found)


def one(pair: Pair, n: int, repeats: int) -> Iterator[dict[str, Any]]:
    """Draw `repeats` samples and count, a line for each level; always the same ones for the same
    arguments.
    """
    rng = np.random.default_rng([zlib.crc32(pair.name.encode()), n])
    harm = pair.truth()
    found: dict[float, list[list[float]]] = {level: [] for level in LEVELS}
    ends: dict[float, list[float]] = {level: [] for level in LEVELS}
    for k in range(repeats):
        *rows, options = pair.draw(n, rng)
        # a seed that is not needed any more, so that samples are those of the committed table
        rng.integers(1 << 32)
        sample = rainproof.Sample(rows[0], {"old": rows[1], "new": rows[2]}, **options)
        curve, effective_n = sample.curve("old", "new"), min(sample.effective_n, sample.n_draws)
        plug_in = curve.chord().loss
        redrawn = (
            bootstrap(*rows, options, rng)
            if k < min(repeats, BOOTSTRAPPED.get(n, repeats))
            else None
        )
        for level in LEVELS:
            slack = np.sqrt(2 * np.log(1 / (1 - level)) / effective_n)
            found[level].append(
                [plug_in, harm_bound(curve, sample, 1 - level), min(1.0, plug_in + slack)]
            )
            if redrawn is not None:
                ends[level].append(float(np.quantile(redrawn, level)))
    for level in LEVELS:
        measured, bound, hoeffding = np.array(found[level]).T
        yield {
            "population": pair.name, "n": n, "repeats": repeats, "confidence_level": level,
            "true_harm": f"{harm:.6f}", "violations_harm": int((bound < harm).sum()),
            "violations_hoeffding": int((hoeffding < harm).sum()),
            "bootstrapped": len(ends[level]), "violations_bootstrap": int((np.array(ends[level]) < harm).sum()),
            "plug_in": f"{measured.mean():.6f}", "harm_bound": f"{bound.mean():.6f}",
            "hoeffding": f"{hoeffding.mean():.6f}", "bootstrap": f"{np.mean(ends[level]):.6f}",
        }  # fmt: skip


def study(repeats: int, sizes: Iterable[int] = SIZES) -> Iterator[dict[str, Any]]:
    """A line for each number of rows, population and level."""
    for n in sizes:
        for pair in pairs().values():
            yield from one(pair, n, min(repeats, FEWER.get(n, repeats)))


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.switching", description=__doc__
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args(arguments)
    for line in written(options.path, study(options.repeats, options.sizes)):
        print(line["n"], line["population"], line["confidence_level"], file=sys.stderr)


if __name__ == "__main__":
    main()
