"""The lower distance to calibration without a grid: the reference for Theorems 2.3 and 6.1."""

from __future__ import annotations

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.errors import RainproofError
from rainproof.paper.constructions import Distribution

_CLOSE = 1e-9
_ROUNDS = 60


def exact_distance(dist: Distribution) -> tuple[float, float]:
    """Return lower and upper bounds on the lower distance to calibration, as close as the solver can tell.

    Parameters
    ----------
    dist : Distribution
        Of up to a few hundred predictions.

    Returns
    -------
    tuple of float
        The distance is at least the first and at most the second; they differ by about 1e-9.

    Notes
    -----
    Mass is moved along two lines, one per outcome, to points v where the shares v and 1 - v arrive. The dual is a pair
    of 1-Lipschitz functions f1 and f0 with ``v f1(v) + (1 - v) f0(v) <= 0`` for every v in [0, 1]; it maximizes their
    mean over the rows. The linear program has the points found so far (at first the predictions, 0 and 1), and its
    value is an upper bound. Between two of them the smallest 1-Lipschitz continuation of each function is linear in
    pieces, so the constraint is a quadratic in v, and where it is violated most is known. That point is added, until no
    violation exceeds 1e-9. Lowering both functions by the largest violation makes them feasible: the value minus it is
    a lower bound.

    Examples
    --------
    >>> from rainproof.paper.constructions import Distribution
    >>> from rainproof.paper.exact_distance import exact_distance
    >>> low, high = exact_distance(Distribution.of([0.3, 0.7], [0.5, 0.5], [0.5, 0.5]))
    >>> 0 <= high - low < 1e-8
    True
    """
    pooled = dist.pooled()
    at = np.unique(np.r_[0.0, pooled.at, 1.0])
    for _ in range(_ROUNDS):
        value, none, event = _solve(at, pooled)
        violated, where = _violations(at, none, event)
        worst = max(0.0, float(violated.max()))
        if worst <= _CLOSE:
            break
        at = np.unique(np.r_[at, where[violated > _CLOSE / 2]])
    return max(0.0, value - worst), value


def _solve(at: Floats, dist: Distribution) -> tuple[float, Floats, Floats]:
    """Return the least flow with arrivals at these points, and the two dual functions there."""
    from scipy import sparse  # imported here, as it takes longer to import than rainproof
    from scipy.optimize import linprog

    n, gap = len(at), np.diff(at)
    place = np.searchsorted(at, dist.at)
    mass = np.zeros((2, n))
    mass[:, place] = dist.weight * (1 - dist.frequency), dist.weight * dist.frequency
    edges = sparse.diags([np.ones(n - 1), -np.ones(n - 1)], [0, -1], shape=(n, n - 1))
    both_ways = sparse.hstack([edges, -edges])
    arriving = sparse.vstack([sparse.diags(1 - at), sparse.diags(at)])
    balance = sparse.hstack([arriving, sparse.block_diag([both_ways, both_ways])]).tocsr()
    cost = np.concatenate([np.zeros(n), np.tile(gap, 4)])
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_eq=balance, b_eq=mass.ravel(), method="highs-ds", options=exact)
    if found.status != 0:
        raise RainproofError(f"the linear program behind the lower distance was not solved: {found.message}")
    none, event = np.split(np.asarray(found.eqlin.marginals, np.float64), 2)
    return max(0.0, float(found.fun)), none, event


def _violations(at: Floats, none: Floats, event: Floats) -> tuple[Floats, Floats]:
    """Return for each interval the largest ``v f1(v) + (1 - v) f0(v)``, and where."""
    low, high = at[:-1], at[1:]
    valleys = [(low + high + f[:-1] - f[1:]) / 2 for f in (none, event)]  # where each function turns up
    candidates = [*valleys]
    for up0 in (-1, 1):
        for up1 in (-1, 1):  # each function falls from the left or rises to the right: a quadratic with a top
            start0, start1 = ((f[:-1] + low) if up < 0 else (f[1:] - high) for f, up in ((none, up0), (event, up1)))
            with np.errstate(divide="ignore", invalid="ignore"):
                top = (start1 - start0 + up0) / (2 * (up0 - up1))
            candidates.append(top)
    v = np.clip(np.nan_to_num(np.stack(candidates), nan=0.0), low, high)
    f0, f1 = (np.maximum(f[:-1] - (v - low), f[1:] - (high - v)) for f in (none, event))
    values = v * f1 + (1 - v) * f0
    best = values.argmax(axis=0)
    each = np.arange(len(low))
    return values[best, each], v[best, each]
