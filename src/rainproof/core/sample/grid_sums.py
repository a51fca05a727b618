"""The sums of a sample on any grid, from the cheapest source that has them; each is computed once."""

from __future__ import annotations

from rainproof.core._fixed_loss import worst_on_grid
from rainproof.core.arrays import Floats
from rainproof.core.grid.cell_accumulator import sum_cells
from rainproof.core.grid.cells import LARGEST_GRID, CellSums, CellTable
from rainproof.core.grid.rounded import RoundedSample, Rounding
from rainproof.core.grid_loss import GridLoss
from rainproof.core.input.rows import Rows
from rainproof.core.sample.bins import BinSums
from rainproof.core.sample.distinct import FINEST_GRID, DistinctTable

_QUICK_GRID = 1 << 16  # a table of 32 bytes a cell; up to here a finer grid costs each row little
_QUICK_WEIGHTED_GRID = 1 << 12  # of 96 bytes a cell
_KEPT_POINTS = 1 << 14  # grid points of the losses that are kept, of some hundred bytes each
_MANY_ROWS = 1 << 18  # from here on another pass, at a finer grid, is cheaper than sorting


class GridSums:
    """What `Sample` knows of its rows on grids: the passes over them, and what follows from these."""

    n: int
    total_weight: float
    _first_grid: int
    _passes: dict[int, CellTable]
    _distinct: DistinctTable | None
    _sums: dict[int, CellSums]
    _by_grid: dict[tuple[int, Rounding], GridLoss]
    _losses: dict[tuple[int, bool], tuple[float, int]]
    _rows: Rows | None

    def _pass(self, m: int) -> CellTable:
        """Return the sums of a pass over the rows at `m`, which are kept."""
        if m not in self._passes:
            assert self._rows is not None
            self._passes[m] = sum_cells(self._rows, m)
        return self._passes[m]

    @property
    def _cells(self) -> CellTable:
        """The sums of a compressed sample, or of the first pass over the rows."""
        return self._pass(self._first_grid)

    def _grids(self) -> list[int]:
        """Return the grids of the sums that `_cell_sums` chooses from, from the cheapest to the finest.

        For many rows up to three further passes come before the sort that the finest grid needs. A compressed sample
        has its own grid only.
        """
        if self._rows is None:
            return [self._first_grid]
        if len(self._rows.prob) < _MANY_ROWS:
            return [self._first_grid, FINEST_GRID]
        finer = {*(_grid(fineness, self.n, LARGEST_GRID) for fineness in (5, 16)), LARGEST_GRID, FINEST_GRID}
        return [self._first_grid, *sorted(grid for grid in finer if grid > self._first_grid)]

    def _cell_sums(self, m: int) -> CellSums:
        """Return the sums on a grid at least as fine as ``1/m``, the cheapest to compute.

        The grid depends on `m` and the rows alone, so that no earlier call, nor one in another thread, can
        change the last bit.
        """
        first = self._first_grid
        grid = first if m <= first else next((g for g in self._grids() if g >= m), FINEST_GRID)
        found = self._sums.get(grid)
        if found is None:
            table = self._pass(grid) if grid < FINEST_GRID else self._distinct_table()
            found = self._sums[grid] = table.sums()
        return found

    def _on_grid(self, m: int, rounding: Rounding = "soft") -> GridLoss:
        """Return the sample rounded to ``1/m``, with its losses; it is kept unless it is large."""
        found = self._by_grid.get((m, rounding))
        if found is None:
            found = GridLoss(RoundedSample.from_sums(self._cell_sums(m), m, rounding), self.total_weight)
            if len(found.rounded.index) <= _KEPT_POINTS:
                self._by_grid[m, rounding] = found
        return found

    def _worst(self, m: int, soft: bool) -> tuple[float, int]:
        """Return the same loss as `_on_grid`'s `GridLoss.worst`, without the rounded sample; it is kept."""
        found = self._losses.get((m, soft))
        if found is None:
            # The first row of a table's pairs is the sum itself.
            sums = self._cells if m <= self._first_grid else self._cell_sums(m)
            found = self._losses[m, soft] = worst_on_grid(sums.slot, sums.weight, sums.rise, sums.m, m, soft)
        return found

    def _cell_table(self, m: int) -> CellTable:
        """Return sums, counts and squared weights on a grid as fine as ``1/m`` (or on that of the compression)."""
        return self._cells if self._rows is None else self._pass(max(m, self._first_grid))

    def _bin_sums(self, n: int, edges: Floats) -> BinSums:
        """Return the sums in bins of width ``1/n``, by one pass over the rows (see `BinSums` for the edges).

        After compression all predictions of a cell go to the bin of their mean.
        """
        if self._rows is None:
            return BinSums.from_distinct(self._distinct_table(), edges)
        return BinSums.from_rows(self._rows, n, edges)

    def _distinct_table(self) -> DistinctTable:
        """Return the sample with equal predictions pooled, in increasing order; it is kept.

        After compression all predictions of a cell are replaced by their mean.
        """
        if self._distinct is None:
            rows = self._rows
            self._distinct = (
                DistinctTable.from_cells(self._cells)
                if rows is None
                else DistinctTable.from_rows(rows.label, rows.prob, rows.weight)
            )
        return self._distinct


def first_grid(rows: Rows) -> int:
    """Return the grid of the first pass: for many rows, one just fine enough if predictions are calibrated."""
    n, quick = len(rows.prob), _QUICK_GRID if rows.weight is None else _QUICK_WEIGHTED_GRID
    return _grid(8, max(64, n), quick) if n < _MANY_ROWS else _grid(5, n, quick)


def _grid(fineness: int, n: int, finest: int) -> int:
    """Return a grid for n rows: of calibrated predictions, SCDL is balanced at a few times sqrt(n) cells."""
    exponent = (fineness**2 * n - 1).bit_length()  # 2^exponent is the next power of two; its root is what is asked for
    return min(finest, 1 << (exponent + 1) // 2)
