"""The counterexamples of the appendices against every response, not only those that one thinks of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.measures.cutoff import cutoff_calibration_error
from rainproof.measures.smooth_calibration import smooth_calibration_error
from rainproof.paper.constructions import Distribution, cutoff_gap, smooth_gap
from rainproof.paper.results import Cell

_ROUNDS = 60
_CLOSE = 1e-3  # of the value: the program ends when its two bounds are this close
_LEAST = 1e-12  # probabilities below this are rounding errors of the linear program


@dataclass(frozen=True, kw_only=True, slots=True)
class BestResponse:
    """The smallest worst regret of any response with actions on a grid, for the squared loss.

    Attributes
    ----------
    low, high : float
        Bounds on it: of the last linear program, and the regret of the response found.
    every : float
        A lower bound for every response with actions anywhere in [0, 1].
    """

    low: float
    high: float
    every: float


def best_response(law: Distribution, eps: float, actions: int) -> BestResponse:
    """Find the response that does best against `law`, its mirror image, and one prediction with a bias of eps.

    A response is a matrix x of the probabilities of each action a at each prediction p. The regret on a law is, per
    action, the perspective function ``(sum_p w x (a - q))^2 / sum_p w x``, which is convex in x and the largest of the
    linear functions ``sum_p w x (a - b)(a + b - 2 q)`` over replacements b. So the smallest worst regret is a convex
    program. It is solved by linear programs, each with the best replacements of the last response as new constraints:
    their values are lower bounds. On a law with one prediction the best replacement is its event rate, so its
    constraint is linear from the start.

    Rounding the actions of any response to the grid changes the root of its regret by at most half a step, as
    conditional expectation is a contraction; this gives `every`.
    """
    grid: Floats = np.linspace(0, 1, actions)
    mirror = np.where(law.at > 0, 2 * law.at - law.frequency, law.frequency)
    laws = [law, Distribution(law.at, law.weight, np.clip(mirror, 0, 1))]
    shape = len(law.at), actions
    ones = [(k, (grid - rate) ** 2) for k, p in enumerate(law.at) for rate in (p - eps, p + eps) if 0 <= rate <= 1]
    cuts: list[tuple[int, int, Floats]] = []
    low, high, x = 0.0, math.inf, np.exp(-((grid - law.at[:, None]) ** 2) / eps ** (2 / 3))
    x /= x.sum(axis=1, keepdims=True)
    for _ in range(_ROUNDS):
        worst = max(float(cost @ x[k]) for k, cost in ones)
        for one in range(2):
            regret, new = _regret_and_cuts(laws[one], x, grid)
            worst = max(worst, regret)
            cuts += [(one, a, cut) for a, cut in new]
        high = min(high, worst)
        if high - low <= _CLOSE * high:
            break
        low, x = _solve(shape, cuts, ones)
    every = max(0.0, math.sqrt(low) - 0.5 / (actions - 1)) ** 2
    return BestResponse(low=low, high=high, every=every)


def _regret_and_cuts(law: Distribution, x: Floats, grid: Floats) -> tuple[float, list[tuple[int, Floats]]]:
    """Return the regret of a response, and for each action the linear function that touches the regret there."""
    mass = law.weight[:, None] * x
    taken, events = mass.sum(axis=0), (mass * law.frequency[:, None]).sum(axis=0)
    some = np.flatnonzero(taken > _LEAST)
    rate = events[some] / taken[some]
    cuts = [
        (int(a), law.weight * (grid[a] - b) * (grid[a] + b - 2 * law.frequency))
        for a, b in zip(some, rate, strict=True)
    ]
    return float((taken[some] * (grid[some] - rate) ** 2).sum()), cuts


def _solve(
    shape: tuple[int, int], cuts: list[tuple[int, int, Floats]], ones: list[tuple[int, Floats]]
) -> tuple[float, Floats]:
    """Solve the linear program: variables x, the regret of each action on each of two laws, and the worst regret z."""
    from scipy import sparse
    from scipy.optimize import linprog

    points, actions = shape
    size = points * actions
    place: NDArray[np.intp] = np.arange(points) * actions
    rows = [np.full(points + 1, r) for r in range(len(cuts))]
    columns = [np.append(place + a, size + one * actions + a) for one, a, _ in cuts]
    values = [np.append(cut, -1.0) for *_, cut in cuts]
    for one in range(2):  # the regrets of all actions add up to at most z
        rows.append(np.full(actions + 1, len(cuts) + one))
        columns.append(np.append(size + one * actions + np.arange(actions), size + 2 * actions))
        values.append(np.append(np.ones(actions), -1.0))
    for k, (p, squared) in enumerate(ones):
        rows.append(np.full(actions + 1, len(cuts) + 2 + k))
        columns.append(np.append(p * actions + np.arange(actions), size + 2 * actions))
        values.append(np.append(squared, -1.0))
    above = sparse.csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))))
    sums = sparse.hstack(
        [sparse.kron(sparse.eye(points), np.ones((1, actions))), sparse.csr_array((points, 2 * actions + 1))]
    )
    cost = np.zeros(size + 2 * actions + 1)
    cost[-1] = 1.0
    found = linprog(cost, above, np.zeros(above.shape[0]), sums, np.ones(points), method="highs")
    x = np.maximum(found.x[:size].reshape(shape), 0.0)
    return float(found.fun), x / x.sum(axis=1, keepdims=True)


def cutoff_against_all(eps: float, per_point: int) -> dict[str, Cell]:
    """Return a row on Theorem B.1: the best response to its law and to one biased prediction, by a convex program."""
    points, law = cutoff_gap(eps)
    found = best_response(law, eps, 3 * points * per_point + 1)
    return {
        "measure": "Cutoff",
        "eps": eps,
        "value of the measure": cutoff_calibration_error(law.sample()),
        "smallest regret of any response": found.every,
        "of the best found": found.high,
        "best / eps": found.high / eps,
        "best / eps^power": found.high / eps ** (2 / 3),
        "power": 2 / 3,
    }


def smooth_against_all(eps: float) -> dict[str, Cell]:
    """Return a row on Theorem A.1, where a response is one number: the probability of action 1 at 1/2 - sqrt(eps).

    Taking action 0 there loses on the first law, which has half its weight there, and action 1 on the second; the best
    response makes both equal.
    """
    root, (first, second) = math.sqrt(eps), smooth_gap(eps)
    zero = float(first.frequency[0]) - (1 - root) * float(1 - first.frequency[0])  # what action 0 loses on the first
    one = (1 - root) * float(1 - second.frequency[0]) - float(second.frequency[0])
    least = 1 / (2 / zero + 1 / one)
    return {
        "measure": "smCE",
        "eps": eps,
        "value of the measure": max(smooth_calibration_error(law.sample()) for law in (first, second)),
        "smallest regret of any response": least,
        "of the best found": least,
        "best / eps": least / eps,
        "best / eps^power": least / root,
        "power": 1 / 2,
    }
