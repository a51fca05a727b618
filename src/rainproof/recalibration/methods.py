"""The methods of recalibration: each fits one map to predictions and outcomes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rainproof.core._isotonic import pool_violators
from rainproof.core.arrays import Floats
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import PiecewiseMap

_NEAREST = 1e-9  # predictions nearer to 0 or 1 count like this one: their logits would outweigh all others
_PRIOR = 1 / 4**2  # of the coefficients around those of the identity: weak, but no data can send them to infinity
_SEGMENT_PRIOR = 1 / 0.5**2
_STEPS = 50
_PRECISION = 1e-10

IDENTITY = PiecewiseMap(np.array([0.0, 1.0]), np.zeros(1), np.ones(1))

Method = Callable[[DistinctTable], PiecewiseMap]
"""Fits a map to distinct predictions in increasing order, with the number of rows of each outcome."""


def _rate(table: DistinctTable) -> float:
    """The event rate, with half a row of either outcome added: neither 0 nor 1."""
    positive, total = table.positive.sum(), table.negative.sum() + table.positive.sum()
    return float((positive + 0.5) / (total + 1))


def _logistic(table: DistinctTable, columns: tuple[tuple[float, float], ...], shift: bool) -> PiecewiseMap:
    """A logistic regression on ``log p`` and ``-log(1 - p)``, each column a combination of the two.

    The coefficients have a normal prior around the identity, with a standard deviation of 4.
    """
    inside = table.prob[(table.prob > 0) & (table.prob < 1)]
    low, high = (float(inside[0]), float(inside[-1])) if len(inside) else (0.5, 0.5)
    nearest, farthest = max(low / 2, _NEAREST), 1 - max((1 - high) / 2, _NEAREST)

    def design(p: Floats) -> Floats:
        p = np.clip(p, nearest, farthest)
        both = np.stack([np.log(p), -np.log1p(-p)])
        rows = [a * both[0] + b * both[1] for a, b in columns]
        return np.stack([*rows, np.ones_like(p)] if shift else rows)

    centre = np.array([1.0] * len(columns) + [0.0] * shift)
    coefficients = _newton(*_pooled(design(table.prob), table), centre, _PRIOR)
    if len(columns) == 2 and (coefficients[:2] < 0).any():  # not monotone: one slope for both
        return _logistic(table, ((1.0, 1.0),), shift)
    return PiecewiseMap.tabulate(lambda p: expit(coefficients @ design(p)), (), max(low, _NEAREST), high)


def _pooled(x: Floats, table: DistinctTable) -> tuple[Floats, Floats, Floats]:
    """Average columns over neighbours that differ by less than 1/64 in the first one; sum the rows of each outcome."""
    first = np.flatnonzero(np.diff(np.floor(64 * x[0]), prepend=-np.inf))
    total = table.negative + table.positive
    negative, positive, all_ = (np.add.reduceat(w, first) for w in (table.negative, table.positive, total))
    return np.add.reduceat(x * total, first, axis=1) / all_, negative, positive


def expit(x: Floats) -> Floats:
    """The logistic function."""
    return 1 / (1 + np.exp(-np.clip(x, -700, 700)))


def _newton(x: Floats, negative: Floats, positive: Floats, centre: Floats, prior: float) -> Floats:
    """The most likely coefficients of a logistic regression with a normal prior of this precision."""

    def cost(beta: Floats) -> float:
        score = beta @ x
        loss = negative @ np.logaddexp(0, score) + positive @ np.logaddexp(0, -score)
        return float(loss + prior / 2 * ((beta - centre) ** 2).sum())

    beta, total = centre, negative + positive
    now = cost(beta)
    for _ in range(_STEPS):
        rate = expit(beta @ x)
        slope = x @ (total * rate - positive) + prior * (beta - centre)
        curvature = (x * (total * rate * (1 - rate))) @ x.T + prior * np.eye(len(beta))
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        while (then := cost(beta - size * step)) > now and size > _PRECISION:
            size /= 2
        beta = beta - size * step if then <= now else beta
        if now - then <= _PRECISION * (1 + now):
            break
        now = then
    return beta


def _isotonic(table: DistinctTable) -> PiecewiseMap:
    """Isotonic regression, with straight lines between the mean predictions of its blocks: no ties where it rises."""
    size, negative, positive = pool_violators(table.negative, table.positive)
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    total = negative + positive
    centre = np.add.reduceat(table.prob * (table.negative + table.positive), first) / total
    value = positive / total
    # Blocks without events, or of events alone, exist only at the ends; half a row keeps their values off 0 and 1.
    low, high = 0.5 / (total[0] + 1), 1 - 0.5 / (total[-1] + 1)
    inner = value[(value > 0) & (value < 1)]
    value = np.clip(value, min(low, inner.min(initial=low)), max(high, inner.max(initial=high)))
    return PiecewiseMap.from_ends(
        np.concatenate([[0.0], centre, [1.0]]), np.append(value[:1], value), np.append(value, value[-1:])
    )


def _bins(table: DistinctTable, n_bins: int) -> PiecewiseMap:
    """The event rate in bins of equal weight, with one row of the overall rate added to each."""
    total = table.negative + table.positive
    middle = np.cumsum(total) - total / 2
    bin_ = np.minimum((middle / total.sum() * n_bins).astype(np.int64), n_bins - 1)
    first = np.flatnonzero(np.diff(bin_, prepend=-1))
    positive, weight = np.add.reduceat(table.positive, first), np.add.reduceat(total, first)
    cuts = (table.prob[first[1:] - 1] + table.prob[first[1:]]) / 2
    return PiecewiseMap.steps(cuts, (positive + _rate(table)) / (weight + 1))


METHODS: dict[str, Method] = {
    "logistic": partial(_logistic, columns=((1.0, 1.0),), shift=True),
    "beta": partial(_logistic, columns=((1.0, 0.0), (0.0, 1.0)), shift=True),
    "temperature": partial(_logistic, columns=((1.0, 1.0),), shift=False),
    "none": lambda _: IDENTITY,
    "isotonic": _isotonic,
    "bins_8": partial(_bins, n_bins=8),
    "bins_32": partial(_bins, n_bins=32),
    "bins_128": partial(_bins, n_bins=128),
    "constant": lambda table: PiecewiseMap.steps(np.zeros(0), np.array([_rate(table)])),
}
"""Every method by name: first the one that is best on average where few rows cannot tell."""


def correction(whole: PiecewiseMap, table: DistinctTable) -> PiecewiseMap:
    """Correct a map for the rows of one segment: a logistic regression on the logits of its values.

    The coefficients have a normal prior around "no correction", with a standard deviation of 1/2: few rows change
    little.
    """

    def design(p: Floats) -> Floats:
        value = np.clip(whole.apply(p), _NEAREST, 1 - _NEAREST)
        return np.stack([np.log(value) - np.log1p(-value), np.ones_like(p)])

    x = design(table.prob)
    coefficients = _newton(x, table.negative, table.positive, np.array([1.0, 0.0]), _SEGMENT_PRIOR)
    low, high = max(float(table.prob[0]), _NEAREST), float(table.prob[-1])
    return PiecewiseMap.tabulate(lambda p: expit(coefficients @ design(p)), whole.edges, low, max(low, high))
