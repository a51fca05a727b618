"""Local search for the distribution on which a quantity is largest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rainproof.paper.constructions import Distribution

_CLIMBERS = 3
_MOST_POINTS = 6


def worst_distribution(
    objective: Callable[[Distribution], float],
    rng: np.random.Generator,
    effort: int,
    starts: Sequence[Distribution] = (),
) -> tuple[float, Distribution]:
    """Maximize an objective over distributions in about `effort` evaluations, besides those of `starts`.

    Half of the evaluations are random distributions (predictions anywhere, on grids, close together, at the ends; event
    rates that agree, disagree or are 0 and 1). The other half is a local search from the best three of these and of
    `starts`, by random changes of all sizes, of one prediction at a time. NaN counts as minus infinity.

    Returns
    -------
    tuple
        The largest value, and the distribution that has it.
    """
    some = [*starts, *(random_distribution(rng) for _ in range(max(2, effort // 2)))]
    tried = [_judged(objective, dist) for dist in some]
    tried.sort(key=lambda pair: -pair[0])
    best = tried[0]
    for start in tried[:_CLIMBERS]:
        best = max(best, _climb(objective, start, rng, effort // (2 * _CLIMBERS)), key=lambda pair: pair[0])
    return best


def random_distribution(rng: np.random.Generator, points: int | None = None) -> Distribution:
    """Draw a distribution of a few predictions; ties, grid points and extremes are common."""
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
    return Distribution.of(at, rng.dirichlet(np.full(k, 10 ** rng.uniform(-1, 1))) + 1e-12, frequency)


def changed(dist: Distribution, rng: np.random.Generator) -> Distribution:
    """Change one random entry of a distribution, by a random amount."""
    size = 10 ** -rng.uniform(0, 4)
    at, weight, frequency = (column.copy() for column in (dist.at, dist.weight, dist.frequency))
    k = int(rng.integers(len(at)))
    match rng.integers(3):
        case 0:
            at[k] = _moved(at[k], size, rng)
        case 1:
            frequency[k] = _moved(frequency[k], size, rng)
        case _:
            weight[k] *= np.exp(rng.normal() * 3 * size)
    return Distribution.of(at, weight, frequency)


def _moved(value: float, size: float, rng: np.random.Generator) -> float:
    return float(np.clip(value + rng.normal() * size, 0, 1))


def _judged(objective: Callable[[Distribution], float], dist: Distribution) -> tuple[float, Distribution]:
    value = objective(dist)
    return (value if value == value else -np.inf), dist


def _climb(
    objective: Callable[[Distribution], float], start: tuple[float, Distribution], rng: np.random.Generator, steps: int
) -> tuple[float, Distribution]:
    best = start
    for _ in range(steps):
        step = _judged(objective, changed(best[1], rng))
        if step[0] >= best[0]:  # equal values too, to leave plateaus
            best = step
    return best


def ratio(above: float, below: float) -> float:
    """Return a ratio; NaN if the denominator is 0 up to rounding."""
    return above / below if below > 1e-9 else float("nan")


def one_moved(dist: Distribution) -> tuple[Distribution, Distribution, float]:
    """Return two distributions that differ in the first prediction, and the mean difference of the predictions.

    The first prediction moves to the place of the last one, whose weight and event rate are not used.
    """
    if len(dist.at) < 2:
        return dist, dist, 0.0
    first = Distribution.of(dist.at[:-1], dist.weight[:-1], dist.frequency[:-1])
    second = Distribution(np.r_[dist.at[-1], first.at[1:]], first.weight, first.frequency)
    return first, second, float(first.weight[0] * abs(dist.at[-1] - dist.at[0]))


def paired(dist: Distribution) -> tuple[Distribution, Distribution, float]:
    """Return two distributions with equal outcomes and different predictions, and the mean difference of these.

    The first half of the predictions is paired with the second half, whose event rates are not used.
    """
    half = len(dist.at) // 2
    if half == 0:
        return dist, dist, 0.0
    first = Distribution.of(dist.at[:half], dist.weight[:half], dist.frequency[:half])
    second = Distribution(dist.at[half : 2 * half], first.weight, first.frequency)
    return first, second, float(first.weight @ np.abs(first.at - second.at))
