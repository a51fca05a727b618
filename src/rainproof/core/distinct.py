"""Rows with equal predictions pooled, in increasing order, and their sums in bins of any width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rainproof.core._distinct import pool, sorted_keys
from rainproof.core.arrays import Array, Floats, Frozen, sums_by
from rainproof.core.cells import CellTable, Sums, mean_prediction, scanned
from rainproof.core.columns import Columns
from rainproof.core.rows import Rows
from rainproof.errors import InputError

FINEST_GRID = 1 << 50
"""The finest grid in use: doubles near 1 are hardly finer."""

_BITS_OF_ONE = np.float64(1.0).view(np.uint64)
_CHANGED = "the predictions changed after they were checked"
# rows sorted at a time: with few distinct predictions memory stays near that of a chunk
_CHUNK = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class DistinctTable(Frozen):
    """One entry per distinct prediction: its value, and the weight of its rows by outcome."""

    prob: Floats
    negative: Floats
    positive: Floats

    @classmethod
    def from_rows(cls, label: Array, prob: Array, weight: Array | None) -> DistinctTable:
        """Pool equal predictions; predictions of weight zero are left out."""
        parts = []
        for start in range(0, len(prob), _CHUNK):
            rows = slice(start, start + _CHUNK)
            if weight is None:
                parts.append(pool(_sorted(prob[rows], label[rows]), None))
            else:
                key = _key(prob[rows], label[rows])
                parts.append(_sort_and_pool(key, weight[rows].astype(np.float64)))
        if len(parts) > 1:  # predictions that several parts have are pooled once more
            columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
            distinct, negative, positive = columns
            key = np.concatenate([_key(distinct, np.zeros(1)), _key(distinct, np.ones(1))])
            parts = [_sort_and_pool(key, np.concatenate([negative, positive]))]
        return cls(*parts[0])

    @classmethod
    def from_cells(cls, cells: CellTable) -> DistinctTable:
        """Make one entry per cell, at the mean of its predictions."""
        weight = cells.weight[0]
        occupied, place = np.unique(cells.slot >> 1, return_inverse=True)
        negative = sums_by(place, np.where(cells.event, 0.0, weight))
        positive = sums_by(place, np.where(cells.event, weight, 0.0))
        rise = sums_by(place, cells.rise[0])
        prob = mean_prediction(cells.m, occupied, rise, negative + positive)
        return cls(prob, negative, positive)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.negative.sum()) + float(self.positive.sum())

    def occupied(self) -> DistinctTable:
        """Return the entries that have some weight."""
        occupied = self.negative + self.positive > 0
        if occupied.all():
            return self
        return DistinctTable(self.prob[occupied], self.negative[occupied], self.positive[occupied])

    def by_outcome(self) -> Floats:
        """Return the weight without and with the event, one row per prediction."""
        return np.stack([self.negative, self.positive], axis=1)

    def sums(self) -> Sums:
        """Return weight and rise by slot on the finest grid, from which those of every coarser grid
        follow.
        """
        scaled = self.prob * FINEST_GRID
        cell = np.floor(scaled)
        slot = np.repeat(2 * cell.astype(np.int64), 2)
        slot[1::2] += 1  # each prediction without the event, then with it
        weight = self.by_outcome()
        return FINEST_GRID, slot, weight.ravel(), (weight * (scaled - cell)[:, None]).ravel()


def _sorted(prob: Array, label: Array) -> NDArray[np.uint64]:
    """Return the keys of rows in increasing order: see `_key`."""
    # others, as of another byte order, are converted
    kind = np.float32 if prob.dtype == np.float32 else np.float64
    key = sorted_keys(np.require(prob, kind, "A"), (label == 1).view(np.uint8))
    if key is None:
        raise InputError(_CHANGED)
    return key


def _key(prob: Array, label: Array) -> NDArray[np.uint64]:
    """Return prediction and outcome as one integer, which sorts like the pair.

    The bits of a double in [0, 1] sort like the double, and its two highest bits are 0, so that the
    outcome can be the lowest bit.
    """
    # a copy, in which -0.0 is 0.0
    key: NDArray[np.uint64] = (prob + np.float64(0.0)).view(np.uint64)
    if key.max() > _BITS_OF_ONE:  # as the bits of negative numbers and of NaN are
        raise InputError(_CHANGED)
    key <<= np.uint64(1)
    key |= (label == 1).view(np.uint8)
    return key


def _sort_and_pool(key: NDArray[np.uint64], weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct predictions in order, and the sum of the weights by outcome of each."""
    order = np.argsort(key)
    return pool(key[order], weight[order])


def bin_table(table: DistinctTable, edges: Floats) -> Floats:
    """Return the weight, the weight of events and the sum of ``w p`` in each bin; an entry of the
    table is never split.

    Bins are given by their inner edges: bin ``k`` holds the predictions above ``edges[k - 1]`` up
    to and including ``edges[k]``; the first bin starts with 0 and the last ends with 1.
    """
    start = np.concatenate([[0], np.searchsorted(table.prob, edges, side="right")])
    # `reduceat` gives an empty part the entry after it, and not 0
    occupied = np.diff(start, append=len(table.prob)) > 0
    weight = table.negative + table.positive
    columns = np.stack([weight, table.positive, weight * table.prob])
    sums = np.zeros((3, len(start)))
    sums[:, occupied] = np.add.reduceat(columns, start[occupied], axis=1)
    return sums


def bin_rows(rows: Rows | Columns, n: int, edges: Floats) -> Floats:
    """Return the sums of `bin_table` for rows, in one pass, with edges ``1/n, 2/n, ...`` (the
    nearest doubles or their neighbours).

    Each row goes to exactly its bin, and each ``p`` is read to within ``2^-52``. Without weights
    the sums depend on neither the order of the rows nor the number of threads.
    """
    cut = np.full(n + 2, 2.0)  # beyond the edges: above all predictions
    cut[0] = -1.0  # below all of them
    cut[1 : len(edges) + 1] = edges
    cells = CellTable.from_dense(n, scanned(rows, n, cut))
    weight = cells.weight[0]
    number = cells.slot >> 1
    columns = (weight, np.where(cells.event, weight, 0.0), (number * weight + cells.rise[0]) / n)
    return np.stack([np.bincount(number, column, len(edges) + 1) for column in columns])
