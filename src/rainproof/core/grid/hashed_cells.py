"""Sums of rows by segment on one grid, in memory that grows with the occupied slots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Ints
from rainproof.core.grid import _hashed_cells
from rainproof.core.grid._scan import collect, locate
from rainproof.core.grid.cells import CellTable
from rainproof.core.input.rows import Rows
from rainproof.core.threads import available_threads, run_in_threads
from rainproof.errors import InputError

_START = 1 << 12  # entries of a new table
_LOAD = 0.8  # share of a table that may be in use; fuller ones are slow to search
_FULL = 1 << 36  # rows that one entry takes before its counters could overflow
_ROWS_PER_THREAD = 1 << 14
_CHUNK = 1 << 18  # entries added at a time when all segments are pooled
_COUNT = np.uint64((1 << 40) - 1)  # the bits of an unweighted entry that count rows


def slot_count(m: int) -> int:
    """Return the number of slots of a grid: entry ``segment * slot_count(m) + slot`` is a slot of that segment."""
    return 2 * (m + 1)


class HashedCells:
    """The sums of rows by segment; a batch with a bad row adds none of its rows.

    An occupied (segment, cell, outcome) takes 24 bytes, with weights 56, in a hash table that is between 40%
    and 80% full. Thread k of n has the segments whose number is k modulo n. Unweighted sums are exact, so they
    equal those of a `CellAccumulator` for each segment.
    """

    def __init__(self, m: int, *, weighted: bool) -> None:
        self.m = m
        self.rows = 0
        self._fields = 7 if weighted else 3
        threads = available_threads()
        self._tables = [np.zeros((_START, self._fields), np.uint64) for _ in range(threads)]
        self._used = [0] * threads

    def add(self, rows: Rows, segment: Ints) -> None:
        """Check the rows and add each to the segment of that number, or raise and change nothing."""
        if self.rows + len(rows) > _FULL:
            raise InputError(f"segments take up to {_FULL:,} rows in one pass: split the data, or do without by")
        slot, offset = np.empty(len(rows), np.int32), np.empty(len(rows), np.uint64)
        weight = None if rows.weight is None else np.ascontiguousarray(rows.weight, np.float64)
        good = weight is None or not len(weight) or (weight.min() >= 0 and weight.max() < np.inf)
        if not locate(rows.prob, rows.label, self.m, slot, offset) or not good:
            raise rows.explain()
        self.rows += len(rows)

        def work(part: int) -> bool:
            return self._fill(part, segment, slot, offset, weight)

        parts = len(self._tables)
        if len(rows) < _ROWS_PER_THREAD:
            all(map(work, range(parts)))
        else:
            run_in_threads(work, parts)

    def _fill(
        self,
        part: int,
        segment: Ints,
        slot: NDArray[np.int32],
        offset: NDArray[np.uint64],
        weight: NDArray[np.float64] | None,
    ) -> bool:
        """Add the rows of one thread's segments to its table, which grows as needed; always return True."""
        row, rows, width, parts = 0, len(slot), slot_count(self.m), len(self._tables)
        while True:
            table, used = self._tables[part], self._used[part]
            most = int(_LOAD * len(table))
            row, self._used[part] = _hashed_cells.add(
                table, used, most, segment, slot, offset, weight, width, row, part, parts
            )
            if row == rows:
                return True
            self._tables[part] = np.zeros((2 * len(table), self._fields), np.uint64)
            _hashed_cells.rehash(table, self._tables[part])

    def packed(self) -> PackedCells:
        """Return the sums so far, in order; the hash tables are dropped one by one, to save memory."""
        parts = []
        while self._tables:
            table = self._tables.pop(0)
            table = table[table[:, 0] != 0]
            order = np.argsort(table[:, 0])
            key = table[:, 0][order].astype(np.int64) - 1
            sums = table[order, 1:]
            parts.append((key, sums if self._fields == 3 else sums.view(np.float64)))
        return PackedCells(self.m, parts)


class PackedCells:
    """The sums of `HashedCells`: for each thread those of its segments, sorted by segment and slot."""

    def __init__(self, m: int, parts: list[tuple[Ints, NDArray[Any]]]) -> None:
        self.m = m
        self._parts = parts

    def cells(self, segment: int) -> CellTable:
        """Return the sums of one segment."""
        key, sums = self._parts[segment % len(self._parts)]
        first = segment * slot_count(self.m)
        low, high = np.searchsorted(key, [first, first + slot_count(self.m)])
        return self._table(key[low:high] - first, sums[low:high])

    def counts(self, segments: int) -> Ints:
        """Return the number of rows of each segment."""
        found = np.zeros(segments, np.int64)
        for key, sums in self._parts:
            rows = sums[:, 0] & _COUNT if sums.dtype == np.uint64 else sums[:, 0]
            found += np.bincount(key // slot_count(self.m), rows, segments).astype(np.int64)
        return found

    def chunks(self) -> Iterator[CellTable]:
        """Yield the sums of all segments together, in tables that are to be merged."""
        for key, sums in self._parts:
            for low in range(0, len(key), _CHUNK):
                chunk = slice(low, low + _CHUNK)
                # Coarsening to the same grid adds up equal slots.
                yield self._table(key[chunk] % slot_count(self.m), sums[chunk]).coarsen(self.m)

    def _table(self, slot: Ints, sums: NDArray[Any]) -> CellTable:
        _, count, weight, rise, squares = collect(sums)
        return CellTable(m=self.m, slot=slot, count=count, weight=weight, rise=rise, squares=squares)


class SlicedCells:
    """The same from one table, whose slots are ``segment * slot_count(m) + slot``."""

    def __init__(self, table: CellTable) -> None:
        self.m = table.m
        self._all = table

    def cells(self, segment: int) -> CellTable:
        width, a = slot_count(self.m), self._all
        at = slice(*np.searchsorted(a.slot, [segment * width, (segment + 1) * width]))
        return self._part(at, a.slot[at] - segment * width)

    def counts(self, segments: int) -> Ints:
        return np.bincount(self._all.slot // slot_count(self.m), self._all.count, segments).astype(np.int64)

    def chunks(self) -> Iterator[CellTable]:
        yield self._part(slice(None), self._all.slot % slot_count(self.m)).coarsen(self.m)

    def _part(self, at: slice, slot: Ints) -> CellTable:
        a = self._all
        # The kernels read contiguous arrays.
        weight, rise = np.ascontiguousarray(a.weight[:, at]), np.ascontiguousarray(a.rise[:, at])
        return CellTable(m=a.m, slot=slot, count=a.count[at], weight=weight, rise=rise, squares=a.squares[at])
