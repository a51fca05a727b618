"""The sums of numbered segments on one grid, which every engine gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rainproof.core import _hashed_cells
from rainproof.core._scan import collect, locate
from rainproof.core.accumulator import Accumulator
from rainproof.core.arrays import Array, Ints, available_threads, run_in_threads
from rainproof.core.cells import CellTable, slot_count
from rainproof.core.columns import Columns
from rainproof.errors import InputError

_FIRST_ENTRIES = 1 << 12  # of a new table
_MAX_LOAD = 0.8  # share of a table that may be in use; fuller ones are slow to search
_MAX_ROWS = 1 << 36  # rows that one entry takes before its counters could overflow
_ROWS_PER_THREAD = 1 << 14  # starting threads for fewer costs more than it saves
_CHUNK = 1 << 18  # entries unpacked at a time when all segments are pooled
_COUNT_BITS = np.uint64((1 << 40) - 1)  # of an unweighted entry: those that count rows
# numbers of 8 bytes in an entry of a table
_FIELDS = 3  # key, count and rise
_WEIGHTED_FIELDS = 7  # key, count, squares, and pairs for weight and rise


class _TablePart(NamedTuple):
    """Sums in the order of their keys, as one table whose slots are the keys."""

    key: Ints  # ``segment * slot_count(m) + slot``
    sums: CellTable

    @property
    def chunk(self) -> int:
        """The number of entries that are pooled at a time: all of them."""
        return max(1, len(self.key))

    def counts(self) -> Array:
        """Return the number of rows of each entry."""
        return self.sums.count

    def table(self, entries: slice, slot: Ints) -> CellTable:
        """Return some of the entries as a table with these slots."""
        sums = self.sums
        return CellTable(
            m=sums.m,
            slot=slot,
            count=sums.count[entries],
            # for the kernels
            weight=np.ascontiguousarray(sums.weight[:, entries]),
            rise=np.ascontiguousarray(sums.rise[:, entries]),
            squares=sums.squares[entries],
        )


class _PackedPart(NamedTuple):
    """The sums of one thread's segments in the order of their keys, as the kernel packs them: in
    less than half the memory of a table.
    """

    key: Ints  # ``segment * slot_count(m) + slot``
    sums: Array  # an entry a row
    m: int

    @property
    def chunk(self) -> int:
        """The number of entries that are unpacked and pooled at a time."""
        return _CHUNK

    def counts(self) -> Array:
        """Return the number of rows of each entry."""
        count: Array = self.sums[:, 0]
        return count & _COUNT_BITS if count.dtype == np.uint64 else count

    def table(self, entries: slice, slot: Ints) -> CellTable:
        """Return some of the entries as a table with these slots."""
        _, count, weight, rise, squares = collect(self.sums[entries])
        return CellTable(
            m=self.m, slot=slot, count=count, weight=weight, rise=rise, squares=squares
        )


_Part = _TablePart | _PackedPart


class SegmentSums:
    """The sums of numbered segments on one grid.

    While rows are added, an occupied (segment, cell, outcome) takes 24 bytes, with weights 56, in a
    hash table that is between 40% and 80% full. Thread k of n has the segments whose number is k
    modulo n. The first question about the sums sorts them, after which no more rows can be added.
    Unweighted sums are exact, so they equal those of a `Accumulator` for each segment; where there
    is but `one`, it is an `Accumulator`.
    """

    def __init__(self, m: int, *, weighted: bool, one: bool = False) -> None:
        self.m = m
        self.rows = 0
        self._one = Accumulator(m) if one else None
        self._fields = _WEIGHTED_FIELDS if weighted else _FIELDS
        threads = available_threads()
        self._tables = [np.zeros((_FIRST_ENTRIES, self._fields), np.uint64) for _ in range(threads)]
        self._used = [0] * threads
        self._sorted: list[_Part] = []

    @classmethod
    def from_table(cls, table: CellTable) -> SegmentSums:
        """Make them from one table, whose slots are ``segment * slot_count(m) + slot``."""
        sums = cls(table.m, weighted=True)
        sums._tables = []
        sums._sorted = [_TablePart(table.slot, table)]
        return sums

    def add(self, columns: Columns, segment: Ints | None = None) -> None:
        """Check the rows and add each to the segment of its number, or change nothing and raise."""
        assert self._tables, "the sums are sorted already"
        if self._one is not None:
            self._one.add_columns(columns)
            return
        assert segment is not None
        n = len(columns)
        if self.rows + n > _MAX_ROWS:
            raise InputError(
                f"segments take up to {_MAX_ROWS:,} rows in one pass: "
                "split the data, or do without by"
            )
        weight = None
        is_good = True
        if columns.weight is not None:
            weight = np.ascontiguousarray(columns.weight, np.float64)
            is_good = not n or (weight.min() >= 0 and weight.max() < np.inf)
        slot = np.empty(n, np.int32)
        offset = np.empty(n, np.uint64)
        if not locate(columns.prob, columns.outcome, self.m, slot, offset) or not is_good:
            raise columns.explain()
        self.rows += n

        parts = len(self._tables)
        width = slot_count(self.m)

        def work(part: int) -> bool:
            """Add the rows of one thread's segments to its table, which grows as needed."""
            row = 0
            while True:
                table = self._tables[part]
                used = self._used[part]
                most = int(_MAX_LOAD * len(table))
                row, self._used[part] = _hashed_cells.add(
                    table, used, most, segment, slot, offset, weight, width, row, part, parts
                )
                if row == n:
                    return True
                self._tables[part] = np.zeros((2 * len(table), self._fields), np.uint64)
                _hashed_cells.rehash(table, self._tables[part])

        if n >= _ROWS_PER_THREAD:
            run_in_threads(work, parts)
            return
        for part in range(parts):
            work(part)

    def _parts(self) -> list[_Part]:
        """Return the sums in order, by thread."""
        if self._one is not None:
            cells = self._one.sums()
            self._sorted = [_TablePart(cells.slot, cells)]
            self._one = None
            self._tables = []
        while self._tables:  # dropped one by one, to save memory
            table = self._tables.pop(0)
            table = table[table[:, 0] != 0]
            order = np.argsort(table[:, 0])
            key = table[:, 0][order].astype(np.int64) - 1
            sums: Array = table[order, 1:]
            if self._fields == _WEIGHTED_FIELDS:
                sums = sums.view(np.float64)
            self._sorted.append(_PackedPart(key, sums, self.m))
        return self._sorted

    def cells(self, segment: int) -> CellTable:
        """Return the sums of one segment."""
        parts = self._parts()
        part = parts[segment % len(parts)]
        first = segment * slot_count(self.m)
        start, stop = np.searchsorted(part.key, [first, first + slot_count(self.m)])
        entries = slice(start, stop)
        return part.table(entries, part.key[entries] - first)

    def counts(self, segments: int) -> Ints:
        """Return the number of rows (of positive weight) in each segment."""
        total = np.zeros(segments, np.int64)
        for part in self._parts():
            segment = part.key // slot_count(self.m)
            total += np.bincount(segment, part.counts(), segments).astype(np.int64)
        return total

    def joined(self, numbers: Sequence[int]) -> CellTable:
        """Return one table of all segments, as `from_table` takes it, after giving them these
        numbers.
        """
        tables = [self.cells(segment) for segment in range(len(numbers))]
        slots = [
            slot_count(self.m) * number + table.slot
            for number, table in zip(numbers, tables, strict=True)
        ]
        return CellTable.join(self.m, tables, slots)

    def pooled(self) -> CellTable:
        """Return the sums of all segments together."""
        total = CellTable.empty(self.m)
        for part in self._parts():
            for start in range(0, len(part.key), part.chunk):
                entries = slice(start, start + part.chunk)
                table = part.table(entries, part.key[entries] % slot_count(self.m))
                # Coarsening to the same grid adds up equal slots.
                total = total.merge(table.coarsen(self.m))
        return total
