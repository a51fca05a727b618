"""Event rates in ranges of predictions, with intervals that hold for every range at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.sample.sample import Sample
from rainproof.inference.clusters import clustered
from rainproof.inference.soft_bins import clopper_pearson

_FINEST = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RateIntervals:
    """Occupied cells of predictions, and limits of the event rate in every run of neighbouring cells.

    Attributes
    ----------
    low, high : ndarray of shape (k,)
        The ends of each cell: it holds predictions from `low` to below `high` (the last one also 1).
    share, events : ndarray of shape (k,)
        Its share of the weight of all rows, and the part of that with the event.
    at_least, at_most : ndarray of shape (k, k)
        Entry ``[i, j]``, for ``i <= j``: the population's event rate in the cells from i to j lies between these, for
        all i and j at once with the confidence asked for.
    """

    low: Floats
    high: Floats
    share: Floats
    events: Floats
    at_least: Floats
    at_most: Floats


def rate_intervals(sample: Sample, *, confidence_level: float, group: Ints | None = None) -> RateIntervals:
    r"""Bound the event rate in every range of predictions that a fixed set of cells can form.

    Notes
    -----
    The cells have edges that are fixed before any row is seen: 1/128 wide, and near 0 and 1 eight to each halving of
    the distance, down to :math:`2^{-13}` (multiples of 1/m in a sample compressed to m cells). Given how many rows fall
    into each cell, the events in a run I of cells are binomial with :math:`q_I = P(y = 1 | p \in I)`. With k
    occupied cells there are :math:`J = k (k + 1) / 2` runs; Clopper and Pearson's interval at error
    :math:`\delta / J` for each covers all of them at once with probability :math:`1 - \delta` (Bonferroni).

    Where weights are unequal, Hoeffding's inequality takes the place of Clopper and Pearson's, given predictions and
    weights: it bounds the weighted mean of the rates at the rows' own predictions, also for weights that depend on the
    predictions. The same for groups of rows, each of which is one draw.
    """
    cuts = _edges(sample.grid)
    cells, table = len(cuts) - 1, sample._cell_table(_FINEST)
    if group is not None:
        table, _ = clustered(sample, table, group)
    cell = np.minimum(np.searchsorted(cuts, (table.slot >> 1) / table.m, "right") - 1, cells - 1)
    event = table.slot & 1 == 1

    def by_cell(values: NDArray[Any]) -> Floats:
        return np.bincount(cell, values, cells).astype(np.float64)

    weight, events, count = by_cell(table.weight[0]), by_cell(table.weight[0] * event), by_cell(table.count)
    some = np.flatnonzero(count)
    pairs = np.triu_indices(len(some))

    def runs(values: Floats) -> Floats:
        """The sums over the cells from i to j, for all pairs; no differences, in which small weights would vanish."""
        sums: Floats = np.cumsum(np.triu(np.broadcast_to(values[some], (len(some),) * 2)), axis=1)[pairs]
        return sums

    doubt = (1 - confidence_level) / len(pairs[0])
    rate = np.clip(runs(events) / runs(weight), 0.0, 1.0)
    if table.has_equal_weights:
        ends = clopper_pearson(rate, runs(count), doubt)
    else:
        slack = np.sqrt(math.log(2 / doubt) * runs(by_cell(table.squares)) / 2) / runs(weight)
        ends = np.maximum(rate - slack, 0.0), np.minimum(rate + slack, 1.0)
    at_least, at_most = np.zeros((len(some),) * 2), np.ones((len(some),) * 2)
    at_least[pairs], at_most[pairs] = ends
    total = sample.total_weight
    return RateIntervals(
        low=cuts[some],
        high=cuts[some + 1],
        share=weight[some] / total,
        events=events[some] / total,
        at_least=at_least,
        at_most=at_most,
    )


def _edges(grid: int | None) -> Floats:
    """Where cells begin, and 1: multiples of 1/grid, finer where events (or their absence) are rare."""
    near = np.ldexp(np.arange(8, 16) / 8, np.arange(-13, -4)[:, None]).ravel()  # from 2^-13 to 1/16
    cuts = np.unique(np.concatenate([np.arange(8, 121) / 128, near, 1 - near, [0.0, 1.0]]))
    fitting: Floats = cuts[cuts * min(grid or _FINEST, _FINEST) % 1 == 0]
    return fitting
