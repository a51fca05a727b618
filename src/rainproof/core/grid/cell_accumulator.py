"""Sums of rows on one grid, which take further rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.grid._scan import absorb, scan
from rainproof.core.grid.cells import CellTable
from rainproof.core.input.rows import Rows
from rainproof.core.threads import available_threads, run_in_threads
from rainproof.errors import InputError

_ROWS_PER_THREAD = 1 << 18  # starting a thread for fewer costs more than it saves
_FULL = 1 << 35  # rows in an unweighted table, half of what its counters hold

Table = NDArray[Any]


class CellAccumulator:
    """The sums of rows on the grid ``1/m``; a batch with a bad row adds none of its rows.

    The state is one dense table for unweighted rows and one for weighted rows, each made when first needed
    (``32 (m + 1)`` and ``96 (m + 1)`` bytes), and the sums that were merged in.
    """

    __slots__ = ("_filled", "_merged", "_tables", "m")

    def __init__(self, m: int) -> None:
        self.m = m
        self._tables: dict[bool, Table] = {}  # by whether the rows are weighted
        self._filled = 0  # unweighted rows in the tables
        self._merged = CellTable.empty(m)

    def add(self, rows: Rows) -> None:
        """Check the rows and add them, or raise and change nothing."""
        weighted = rows.weight is not None
        if not weighted and self._filled + len(rows) > _FULL:
            self._settle()
        if weighted not in self._tables or len(rows) >= 2 * self.m:
            # New tables cost little beside so many rows, and are dropped if a row is bad.
            self._absorb(weighted, scan_in_threads(rows, self.m))
        else:
            self._scan_or_raise(rows, None)
            self._scan_or_raise(rows, self._tables[weighted])
        self._filled += 0 if weighted else len(rows)

    def merge(self, other: CellTable) -> None:
        """Add other sums on the same grid."""
        self._merged = self._merged.merge(other)

    def cells(self) -> CellTable:
        """Return the sums so far."""
        cells = self._merged
        for table in self._tables.values():
            cells = cells.merge(CellTable.from_dense(self.m, table))
        return cells

    def _settle(self) -> None:
        self._merged = self.cells()
        self._tables.clear()
        self._filled = 0

    def _absorb(self, weighted: bool, fresh: list[Table]) -> None:
        into = self._tables.setdefault(weighted, fresh[0])
        for table in fresh:
            if table is not into:
                absorb(into, table)

    def _scan_or_raise(self, rows: Rows, table: Table | None) -> None:
        if not scan(rows.prob, rows.label, rows.weight, self.m, table, 0, len(rows)):
            raise rows.explain()


def scan_in_threads(rows: Rows, m: int, cut: NDArray[np.float64] | None = None) -> list[Table]:
    """Add the rows to new tables, one for each thread; the kernel releases the GIL.

    The tables are those of the grid ``1/m``, or of the bins that `cut` defines (see `rainproof.core.grid._scan`).
    """
    n = len(rows.prob)
    most = n // max(_ROWS_PER_THREAD, 4 * m)
    threads = min(available_threads(), most) if most > 1 else 1
    if threads == 1:  # without what only threads need: for a small sample that would take longer than its rows
        tables = [_new_table(rows, m)]
        good = scan(rows.prob, rows.label, rows.weight, m, tables[0], 0, n, cut)
    else:
        tables, good = _scan_parts(rows, m, cut, threads)
    if not good:
        raise rows.explain()
    return tables


def _scan_parts(rows: Rows, m: int, cut: NDArray[np.float64] | None, threads: int) -> tuple[list[Table], bool]:
    n, tables = len(rows), [_new_table(rows, m) for _ in range(threads)]

    def work(part: int) -> bool:
        start, stop = n * part // threads, n * (part + 1) // threads
        return scan(rows.prob, rows.label, rows.weight, m, tables[part], start, stop, cut)

    return tables, run_in_threads(work, threads)


def _new_table(rows: Rows, m: int) -> Table:
    return np.zeros((2 * m + 2, 2), np.uint64) if rows.weight is None else np.zeros((2 * m + 2, 6))


def sum_cells(rows: Rows, m: int) -> CellTable:
    """Return the sums of these rows on the grid ``1/m``, in one pass."""
    if not len(rows.prob):
        raise InputError(f"{rows.names.label} and {rows.names.prob} must not be empty")
    first, *others = scan_in_threads(rows, m)
    for table in others:
        absorb(first, table)
    return CellTable.from_dense(m, first)
