"""Search for the distribution on which an inequality is tightest: random ones, and then uphill."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brolly.paper.constructions import Law

_CLIMBERS = 3
_MOST_POINTS = 6


def worst_law(objective: Callable[[Law], float], rng: np.random.Generator, effort: int) -> tuple[float, Law]:
    """The largest value of an objective that was found over laws, in about `effort` evaluations, and where.

    Half the effort goes into random laws (predictions anywhere, on grids, next to each other, at the ends;
    outcomes that agree, disagree or are certain), half into climbing from the best three, by random
    changes of all sizes. NaN counts as nothing.
    """
    tried = [_judged(objective, random_law(rng)) for _ in range(max(2, effort // 2))]
    tried.sort(key=lambda pair: -pair[0])
    best = tried[0]
    for start in tried[:_CLIMBERS]:
        best = max(best, _climb(objective, start, rng, effort // (2 * _CLIMBERS)), key=lambda pair: pair[0])
    return best


def random_law(rng: np.random.Generator, points: int | None = None) -> Law:
    """A law of a few predictions, drawn so that ties, grid points and extremes are common."""
    k = int(rng.integers(1, _MOST_POINTS + 1)) if points is None else points
    at = rng.random(k)
    match rng.integers(4):
        case 0:
            grid = 2 ** int(rng.integers(1, 6))
            at = np.round(at * grid) / grid
        case 1:
            at = np.clip(rng.random() + (at - 0.5) * 10 ** -rng.uniform(0, 3), 0, 1)
        case 2:
            at = at ** float(rng.uniform(0.2, 5))
    frequency = rng.random(k)
    match rng.integers(4):
        case 0:
            frequency = np.round(frequency)
        case 1:
            frequency = np.clip(at + rng.normal(size=k) * 10 ** -rng.uniform(0, 3), 0, 1)
        case 2:
            frequency = np.full(k, frequency[0])
    return Law.of(at, rng.dirichlet(np.full(k, 10 ** rng.uniform(-1, 1))) + 1e-12, frequency)


def changed(law: Law, rng: np.random.Generator) -> Law:
    """The law with one of its numbers changed, a little or a lot."""
    size = 10 ** -rng.uniform(0, 4)
    at, weight, frequency = (column.copy() for column in (law.at, law.weight, law.frequency))
    k = int(rng.integers(len(at)))
    match rng.integers(3):
        case 0:
            at[k] = _moved(at[k], size, rng)
        case 1:
            frequency[k] = _moved(frequency[k], size, rng)
        case _:
            weight[k] *= np.exp(rng.normal() * 3 * size)
    return Law.of(at, weight, frequency)


def _moved(value: float, size: float, rng: np.random.Generator) -> float:
    return float(np.clip(value + rng.normal() * size, 0, 1))


def _judged(objective: Callable[[Law], float], law: Law) -> tuple[float, Law]:
    value = objective(law)
    return (value if value == value else -np.inf), law


def _climb(
    objective: Callable[[Law], float], start: tuple[float, Law], rng: np.random.Generator, steps: int
) -> tuple[float, Law]:
    best = start
    for _ in range(steps):
        step = _judged(objective, changed(best[1], rng))
        if step[0] >= best[0]:  # sideways too: plateaus are common
            best = step
    return best


def ratio(above: float, below: float) -> float:
    """A ratio that is nothing where both sides vanish up to rounding."""
    return above / below if below > 1e-9 else float("nan")


def paired(law: Law) -> tuple[Law, Law, float]:
    """Two laws of the same outcomes with different predictions, and by how much these differ on average.

    The first half of the predictions moves to the second half; the second half's outcomes are not used.
    """
    half = len(law.at) // 2
    if half == 0:
        return law, law, 0.0
    first = Law.of(law.at[:half], law.weight[:half], law.frequency[:half])
    second = Law(law.at[half : 2 * half], first.weight, first.frequency)
    return first, second, float(first.weight @ np.abs(first.at - second.at))
