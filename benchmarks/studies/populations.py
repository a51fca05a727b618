"""Populations with known values of every measure, to draw samples from.

Each is a table of predictions, with the mass and the true event rate of each. Where the predictions
are meant to be continuous the table has many points; it is the population, not an approximation of
one, so what rainproof computes from it as a weighted sample is the population's value up to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import rainproof

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Predictions `prob` that come with probability `mass`, where the event has probability
    `rate`.
    """

    name: str
    about: str
    prob: Floats
    mass: Floats
    rate: Floats

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int8], Floats]:
        """Draw n rows independently: outcomes and predictions."""
        at = np.minimum(
            np.searchsorted(self._cumulated, rng.random(n), "right"), len(self.prob) - 1
        )
        return (rng.random(n) < self.rate[at]).astype(np.int8), self.prob[at]

    @cached_property
    def _cumulated(self) -> Floats:
        return np.cumsum(self.mass) / self.mass.sum()

    @cached_property
    def sample(self) -> rainproof.Sample:
        """The population itself, as a weighted sample: for the exact value of any measure."""
        outcome = np.repeat([0, 1], len(self.prob))
        weight = np.concatenate([self.mass * (1 - self.rate), self.mass * self.rate])
        return rainproof.Sample(outcome, np.tile(self.prob, 2), sample_weight=weight)

    def losses(self, largest: int) -> dict[int, float]:
        """CDL(D_m) by m: the largest expected loss of a decision on predictions rounded to 1/m."""
        choice = rainproof.choose_grid(self.sample, max_grid=largest)
        return dict(zip(choice.grids.tolist(), choice.losses.tolist(), strict=True))


def logit_scaled(p: Floats, slope: float) -> Floats:
    """Multiply the log odds."""
    return p**slope / (p**slope + (1 - p) ** slope)


def _continuous() -> list[tuple[str, str, Callable[[Floats], Floats], Callable[[Floats], Floats]]]:
    """Name, description, density and event rate as functions of the prediction."""

    def uniform(p: Floats) -> Floats:
        return np.ones_like(p)

    def bell(p: Floats) -> Floats:
        return (p * (1 - p)) ** 2

    return [
        ("calibrated", "uniform predictions, calibrated", uniform, lambda p: p),
        ("bell", "predictions near one half, calibrated", bell, lambda p: p),
        ("overconfident", "predictions twice as far from one half as the truth", uniform, lambda p: 0.25 + p / 2),
        ("underconfident", "the true log odds are twice the predicted", bell, lambda p: logit_scaled(p, 2.0)),
        ("nonmonotone", "the rate oscillates around p", uniform, lambda p: p + 0.1 * np.sin(8 * np.pi * p) * p),
        ("skewed", "mostly low predictions, all too high", lambda p: p**-0.5 * (1 - p) ** 2, lambda p: p**1.3),
        ("rare", "events at 1%, predictions a third too low", lambda p: np.exp(-p / 0.0075), lambda p: 4 * p / 3),
        ("quadratic", "the paper's truth, half a parabola", uniform, lambda p: (1 - 2 * p) ** 2 / 2 + p / 2),
    ]  # fmt: skip


def populations(points: int = 4096) -> dict[str, Population]:
    """All of them by name; the continuous ones on so many points."""
    at = (np.arange(points) + 0.5) / points
    made = []
    for name, about, density, rate in _continuous():
        weight = density(at)
        made.append((name, about, at, weight / weight.sum(), np.clip(rate(at), 0.0, 1.0)))
    tenths = np.arange(11) / 10
    counts = np.array([4, 7, 9, 11, 12, 14, 12, 11, 9, 7, 4]) / 100
    off = np.array([0, 3, -3, 3, -3, 3, -3, 3, -3, 3, 0]) / 100
    one, two, mostly = np.array([0.5]), np.array([0.3, 0.6]), np.array([0.7, 0.3])
    made += [
        ("discrete", "tenths, off by 0.03 up and down in turn", tenths, counts, tenths + off),
        ("two points", "0.3 and 0.6, both off", two, mostly, np.array([0.25, 0.7])),
        ("one point", "always 1/2 where the event rate is 0.52", one, np.ones(1), np.array([0.52])),
    ]
    return {
        name: Population(name=name, about=about, prob=prob, mass=mass, rate=rate)
        for name, about, prob, mass, rate in made
    }
