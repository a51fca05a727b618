"""Sums by bin, for any bins of equal width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, freeze
from rainproof.core.grid._scan import absorb, collect
from rainproof.core.grid.cell_accumulator import scan_in_threads
from rainproof.core.input.rows import Rows
from rainproof.core.sample.distinct import DistinctTable


@dataclass(frozen=True, slots=True, eq=False)
class BinSums:
    """Weight, weight of events and sum of ``w p`` in each bin.

    Bins are given by their inner edges: bin ``k`` holds the predictions above ``edges[k - 1]`` up to and
    including ``edges[k]``; the first bin starts with 0 and the last ends with 1.
    """

    weight: Floats
    positive: Floats
    prob: Floats

    def __post_init__(self) -> None:
        freeze(self.weight, self.positive, self.prob)

    @classmethod
    def from_distinct(cls, table: DistinctTable, edges: Floats) -> BinSums:
        """Make it from pooled predictions, for any edges; an entry of the table is never split."""
        start = np.concatenate([[0], np.searchsorted(table.prob, edges, side="right")])
        some = np.diff(start, append=len(table.prob)) > 0
        weight = table.negative + table.positive
        sums = np.zeros((3, len(start)))
        for found, column in zip(sums, (weight, table.positive, weight * table.prob), strict=True):
            found[some] = np.add.reduceat(column, start[some])
        return cls(*sums)

    @classmethod
    def from_rows(cls, rows: Rows, n: int, edges: Floats) -> BinSums:
        """Make it from the rows in one pass, for edges ``1/n, 2/n, ...`` (the nearest doubles or their neighbours).

        Each row goes to exactly its bin, and each ``p`` is read to within ``2^-52``. Without weights the sums
        depend on neither the order of the rows nor the number of threads.
        """
        cut = np.full(n + 2, 2.0)
        cut[0] = -1.0
        cut[1 : len(edges) + 1] = edges
        table, *others = scan_in_threads(rows, n, cut)
        for other in others:
            absorb(table, other)
        slot, _, (weight, _), (rise, _), _ = collect(table)
        at = slot >> 1
        return cls._added(at, len(edges) + 1, weight, np.where(slot & 1, weight, 0.0), (at * weight + rise) / n)

    @classmethod
    def _added(cls, at: NDArray[np.int64], bins: int, *columns: Floats) -> BinSums:
        return cls(*(np.bincount(at, column, bins).astype(np.float64, copy=False) for column in columns))
