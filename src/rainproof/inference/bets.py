"""Bets against a forecast: each is a recalibration that would have predicted better if the forecast is miscalibrated.

If the forecast is calibrated, ``E[y | p, past] = p``, no bet gains in expectation. A bet on one row multiplies a
wealth by ``q(y) / p(y)``, with q the recalibrated prediction. A bet on a batch of rows, whose outcomes may depend on
each other, multiplies it by ``1 + L mean(c(p) (y - p))``, with ``c = (q - p) / (p (1 - p))`` and L so small that it
stays positive whatever the outcomes are.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.core.grid.cells import mean_prediction
from rainproof.core.sample.sample import Sample

SLOPES = (0.4, 0.6, 0.8, 1.0, 1.25, 1.67, 2.5)
INTERCEPTS = (-0.8, -0.3, 0.0, 0.3, 0.8)
LEVELS = (1, 2, 4, 8, 16)  # the numbers of equal cells of [0, 1]
SHIFTS = (-1.6, -0.8, -0.4, -0.2, 0.2, 0.4, 0.8, 1.6)
_MAPS = np.array(list(product(SLOPES, INTERCEPTS)))
_CELLS = [(level, cell) for level in LEVELS for cell in range(level)]
COUNT = len(_MAPS) + len(_CELLS) * len(SHIFTS)
# The share of the largest bet on a batch: one half for the maps; the more the larger the shift, for the cells.
_BY_SHIFT = {0.2: 1 / 8, 0.4: 1 / 4, 0.8: 1 / 2, 1.6: 15 / 16}
_SIZES = np.array([0.5] * len(_MAPS) + [_BY_SHIFT[abs(s)] for _ in _CELLS for s in SHIFTS])
_GRID = 64  # bets on batches are constant in its cells
_FIRST = np.concatenate([[0], np.cumsum(LEVELS)])[:-1]  # the number of the first cell of each level


class Bet(NamedTuple):
    """One of the bets, for people: what it says is wrong with the forecast."""

    slope: float  # of the log odds
    shift: float  # of the log odds
    low: float  # the predictions it is about
    high: float

    def __str__(self) -> str:
        where = "" if (self.low, self.high) == (0, 1) else f" between {self.low:g} and {self.high:g}"
        said = []
        if self.slope != 1:
            far = "too extreme" if self.slope < 1 else "not extreme enough"
            said.append(f"{far} (log odds times {self.slope:g})")
        if self.shift:
            way = "low" if self.shift > 0 else "high"
            said.append(f"too {way} (log odds {self.shift:+g})")
        return f"predictions{where} are {' and '.join(said) or 'right'}"


def bet(k: int) -> Bet:
    """Return what the k-th bet says."""
    if k < len(_MAPS):
        slope, shift = _MAPS[k].tolist()
        return Bet(slope, shift, 0.0, 1.0)
    cell, shift_at = divmod(k - len(_MAPS), len(SHIFTS))
    level, at = _CELLS[cell]
    return Bet(1.0, SHIFTS[shift_at], at / level, (at + 1) / level)


def row_bets(p: Floats, event: Floats) -> Floats:
    """Return the logarithm of what each bet multiplies the wealth by, for each row: shape (n, COUNT).

    Where p is 0 or 1 no bet moves, and the caller must look at outcomes that such predictions exclude.
    """
    found = np.zeros((len(p), COUNT))
    inside = np.flatnonzero((p > 0) & (p < 1))
    p, event = p[inside, None], event[inside, None]
    odds = np.log(p) - np.log1p(-p)
    found[inside, : len(_MAPS)] = _log_ratio(odds, _MAPS[:, 0] * odds + _MAPS[:, 1], event)
    shifted = _log_ratio(odds, odds + SHIFTS, event)
    columns = np.arange(len(SHIFTS))
    for level, first in zip(LEVELS, _FIRST.tolist(), strict=True):
        cell = np.minimum((level * p[:, 0]).astype(np.int64), level - 1)
        at = len(_MAPS) + len(SHIFTS) * (first + cell)
        found[inside[:, None], at[:, None] + columns] = shifted
    return found


def _log_ratio(odds: Floats, new: Floats, event: Floats) -> Floats:
    """``ln q(y)/p(y)`` from the log odds of both, without overflow."""
    found: Floats = np.logaddexp(0, odds) - np.logaddexp(0, new) + event * (new - odds)
    return found


def batch_bets(sample: Sample) -> Floats:
    """Return the logarithm of what each bet multiplies the wealth by, for a batch of rows.

    The rows may depend on each other. The bets use the sums of weights and predictions in cells, which are known
    before the outcomes.
    """
    cell, weight, expected, events = _sums(sample)
    slope = _directions(min(_GRID, sample.grid or _GRID))[:, cell]
    gain = slope @ (events - expected)
    worst = np.maximum(slope, 0) @ expected + np.maximum(-slope, 0) @ (weight - expected)
    size = np.divide(_SIZES, worst, out=np.zeros(COUNT), where=worst > 0)
    return np.asarray(np.log1p(size * gain))


def independent_bets(sample: Sample) -> Floats:
    """The same for rows of equal weight that are independent given the past: not far from the product over the rows.

    Within a cell a bet shifts all log odds by one s. Its rows multiply the wealth by exp(s y) / (1 - p + p exp(s))
    each. The logarithm of the denominator is concave in p, so its sum is at most that of as many rows at their mean.
    """
    cell, weight, expected, events = _sums(sample)
    rows = sample.n * weight
    middle = (cell + 0.5) / min(_GRID, sample.grid or _GRID)
    odds = np.log(middle) - np.log1p(-np.minimum(middle, 0.999))
    shift = np.zeros((COUNT, len(cell)))
    shift[: len(_MAPS)] = (_MAPS[:, :1] - 1) * odds + _MAPS[:, 1:]
    for k, (level, at) in enumerate(_CELLS):
        first = len(_MAPS) + k * len(SHIFTS)
        inside = np.minimum((level * middle).astype(np.int64), level - 1) == at
        shift[first : first + len(SHIFTS), inside] = np.array(SHIFTS)[:, None]
    mean = np.clip(expected / weight, 0, 1)
    return np.asarray((shift * (sample.n * events)).sum(axis=1) - np.log1p(mean * np.expm1(shift)) @ rows)


def _sums(sample: Sample) -> tuple[Ints, Floats, Floats, Floats]:
    """The cells, and for each the weight, the sum of the predictions and the sum of the outcomes, of total weight 1."""
    m = min(_GRID, sample.grid or _GRID)
    cells = sample._cell_table(m).coarsen(m)
    cell, event = cells.slot >> 1, cells.slot & 1 == 1
    weight = cells.weight[0] / sample.total_weight
    mean = mean_prediction(m, cell, cells.rise[0], cells.weight[0])
    at, index = np.unique(cell, return_inverse=True)
    parts = (weight, weight * mean, weight * event)
    sums = [np.bincount(index, part, len(at)).astype(np.float64) for part in parts]
    return at, sums[0], sums[1], sums[2]


def _directions(m: int) -> Floats:
    """``c(p)`` of each bet in the middle of each cell of the grid; 0 where p is 1."""
    if m not in _KNOWN:
        middle = (np.arange(m) + 0.5) / m
        ratio = row_bets(np.repeat(middle, 2), np.tile([0.0, 1.0], m)).reshape(m, 2, COUNT)
        gap = np.exp(ratio[:, 1]) - np.exp(ratio[:, 0])  # 1 + c (1 - p) less 1 - c p
        _KNOWN[m] = np.concatenate([gap, np.zeros((1, COUNT))]).T.copy()
    return _KNOWN[m]


_KNOWN: dict[int, Floats] = {}
