"""The default statistic of `calibration_test`: residuals along many functions of the prediction at once."""

from __future__ import annotations

import math

import numpy as np

from brolly.core.arrays import Floats
from brolly.inference._soft_sums import projected
from brolly.inference.resampling_units import Atoms, Coin, Draw, UnevenCells

_RUNS, _FUNCTIONS = 256, 64
_ORDERS = (1, 2, 4, 8, 16, 32)
_TINY = 1e-300
_ANGLES = 2048  # predictions as close as that share a pool: the variance of its events differs by less than 1e-6


class Combined:
    r"""Evidence against calibration of any kind: log10 of the mean of 1/p over tests of growing order.

    Residuals (events less weight times prediction) are summed in at most 256 runs of neighbouring predictions with
    equal shares of the variance, and projected on orthonormal functions of the prediction: a constant, the log odds,
    then cosines of growing frequency. Under calibration the projections z_1, z_2, ... are uncorrelated with variance 1.
    The tests are chi-squared tests of z_1, ..., z_k for k = 1, 2, 4, ..., 64, and of z_1 and z_2 each alone (shift and
    overconfidence are the most frequent errors). Their nominal p-values only weigh the parts: the exact p-value is that
    of the resampling test. An outcome that was predicted to be impossible makes the statistic infinite.
    """

    def __init__(self, atoms: Atoms) -> None:
        from scipy.special import gammaincc

        self._tail = gammaincc
        self._prob, self._weight = atoms.distinct, atoms.weight
        variance = atoms.squares * self._prob * (1 - self._prob)
        certain = variance <= 0
        self._certain = np.flatnonzero(certain)
        share = variance / max(float(variance.sum()), _TINY)
        before = np.cumsum(share) - share / 2
        self._start = np.flatnonzero(np.diff(np.minimum(before * _RUNS, _RUNS - 1).astype(np.int64), prepend=-1))
        odds = np.zeros(len(variance))
        inside = self._prob[~certain]
        odds[~certain] = np.log(inside) - np.log1p(-inside)
        held, at, odds = (np.add.reduceat(x, self._start) for x in (variance, before * share, odds * share))
        self._along = _orthonormal(held, at, odds)
        self._expected = np.add.reduceat(self._weight * self._prob, self._start)
        last = self._along.shape[1]
        self._orders = np.array([*(k for k in _ORDERS if k < last), *[last] * (last > 0)], np.int64)

    def __call__(self, draw: Draw) -> float:
        return float(self.many(Draw(draw.weight, draw.positive[None]))[0])

    def many(self, draw: Draw) -> Floats:
        """The statistic of each row of ``draw.positive``."""
        weight, expected = self._weight, self._expected
        if draw.weight is not None:
            weight = draw.weight.astype(np.float64)
            expected = np.add.reduceat(weight * self._prob, self._start)
        value = np.zeros(len(draw.positive))
        if len(self._orders):
            squared = projected(self._start, draw.positive, expected, self._along) ** 2
            order = np.concatenate([self._orders, [1] * squared[:, :2].shape[1]])
            total = np.concatenate([np.cumsum(squared, axis=1)[:, self._orders - 1], squared[:, :2]], axis=1)
            value = np.log10(np.mean(1 / np.maximum(self._tail(order / 2, total / 2), _TINY), axis=1))
        if len(self._certain):
            due = weight[self._certain] * self._prob[self._certain]
            value[(draw.positive[:, self._certain] != due).any(axis=1)] = math.inf
        return value


def with_fewer_cells(atoms: Atoms) -> Atoms:
    """Atoms with many rows each, pooled as far as `Combined` cannot tell: 1e8 rows in 65,536 cells to about 2,000.

    Events of a pool are drawn as one binomial number with its mean prediction. The variance is then too large by the
    share ``var(p) / (p (1 - p))`` of the predictions in it, below 1e-6 where they are closer than 1/2048 of a quarter
    turn on the scale of ``arcsin(sqrt(p))``. No pool reaches over a run, or holds both certain and other predictions.
    """
    prob = atoms.prob
    uneven = isinstance(atoms, UnevenCells) or atoms.unit is not None
    if uneven or len(prob) <= _ANGLES or isinstance(atoms.coin(prob), Coin):
        return atoms
    new = np.zeros(len(prob), np.bool_)
    new[Combined(atoms)._start] = True
    new[1:] |= np.diff((np.arcsin(np.sqrt(prob)) * (2 / np.pi * _ANGLES)).astype(np.int64)) > 0
    new[1:] |= np.diff((prob <= 0) | (prob >= 1))
    return atoms.merged(np.cumsum(new) - 1)


def _orthonormal(variance: Floats, at: Floats, odds: Floats) -> Floats:
    """Functions of the run, one a column, along which the residuals are uncorrelated with variance 1.

    Gram and Schmidt by hand, twice where rounding shows: LAPACK's own threads cost more than they gain at this size.
    """
    some = variance > 0  # runs of predictions that are all 0 or 1 have no residuals
    share = variance[some] / max(float(variance.sum()), _TINY)
    place, root = at[some] / share, np.sqrt(variance[some])
    made = np.empty((min(_FUNCTIONS, len(share)), len(share)))
    found = 0
    for k in range(2 * len(made) + 1):  # more than are needed: some may be combinations of those before
        if found == len(made):
            break
        function = odds[some] / share if k == 1 else np.cos(np.pi * place * max(k - 1, 0))
        column = function * root
        start = length = math.sqrt(float(column @ column))
        for _ in range(2):
            column = column - (made[:found] @ column) @ made[:found]
            before, length = length, math.sqrt(float(column @ column))
            if length > 0.5 * before:
                break
        if length > 1e-8 * start:
            made[found] = column / length
            found += 1
    along = np.zeros((len(some), found))
    along[some] = (made[:found] / root).T
    return along
