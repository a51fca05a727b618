"""Tables: the sums of a sample on grids, which its measures read.

They are made of outcomes, predictions and weights alone, when a measure first asks for them, and
kept; so samples with the same such columns can share them. Which grid a question needs is decided
here, and nowhere else. No measure is computed here.
"""

from __future__ import annotations

from typing import Self

from rainproof.core._cells import bins
from rainproof.core._fixed_loss import worst_on_grid
from rainproof.core.arrays import Floats
from rainproof.core.cells import (
    LARGEST_GRID,
    CellTable,
    Rounding,
    Sums,
    check_rounding,
    sum_cells,
)
from rainproof.core.columns import Columns
from rainproof.core.curve import RoundedSample
from rainproof.core.design import Store
from rainproof.core.distinct import FINEST_GRID, DistinctTable, bin_rows, bin_table
from rainproof.core.rows import Rows

# The finest grids of a first pass: a finer one costs each row little up to here.
_QUICK_GRID = 1 << 16  # cells of 32 bytes
_QUICK_WEIGHTED_GRID = 1 << 12  # cells of 96 bytes
_MANY_ROWS = 1 << 18  # from here on another pass, at a finer grid, is cheaper than sorting
_KEPT_POINTS = 1 << 14  # grid points of the losses that are kept, of some hundred bytes each


def first_grid(rows: Rows | Columns) -> int:
    """Return the grid of the first pass: for many rows, one just fine enough if predictions are
    calibrated.
    """
    n = len(rows.prob)
    finest = _QUICK_GRID if rows.weight is None else _QUICK_WEIGHTED_GRID
    if n < _MANY_ROWS:
        return _grid(8, max(64, n), finest)
    return _grid(5, n, finest)


def _grid(fineness: int, n: int, finest: int) -> int:
    """Return a grid of at least ``fineness * sqrt(n)`` cells, a power of two up to `finest`.

    Of n rows with calibrated predictions, SCDL is balanced at a few times sqrt(n) cells.
    """
    # the next power of two, of which the grid is the root, rounded up
    exponent = (fineness**2 * n - 1).bit_length()
    return min(finest, 1 << (exponent + 1) // 2)


class Tables:
    """The sums of one store (rows, or the cells of compressed ones) on grids, made once each.

    Threads may share it: which table answers a question depends on the question and the rows alone,
    so no earlier call can change the last bit of an answer.

    Attributes
    ----------
    store : Rows or CellTable
        What they are made of; of several classes, the rows of the most likely class.
    n : int
        The number of cases (of positive weight).
    total_weight : float
        The sum of their weights, from the first pass over the rows: sums in another order differ in
        the last bit.
    first_grid : int
        The grid of the compression, or of the first pass over the rows.
    passes : dict
        The sums on the grid of each pass so far.
    losses : dict
        The losses that `worst` has found so far, by grid and rounding.
    """

    __slots__ = (
        "_distinct",
        "_rounded",
        "_sums",
        "first_grid",
        "losses",
        "n",
        "passes",
        "store",
        "total_weight",
    )
    first_grid: int

    def __init__(
        self, store: Store, n: int, total_weight: float, first: CellTable | None = None
    ) -> None:
        """Start with the first pass over the rows, if they were read, or with the cells."""
        if isinstance(store, Rows):
            if store.classes:  # sums are of one event
                store = store.of_top_label()
            self.first_grid = first_grid(store) if first is None else first.m
        else:
            first = store
            self.first_grid = store.m
        self.store: Store = store
        self.n = n
        self.total_weight = total_weight
        self.passes: dict[int, CellTable] = {} if first is None else {first.m: first}
        self._distinct: DistinctTable | None = None
        self._sums: dict[int, Sums] = {}
        self._rounded: dict[tuple[int, Rounding], RoundedSample] = {}
        self.losses: dict[tuple[int, bool], tuple[float, int]] = {}

    @classmethod
    def of_distinct(cls, rows: Rows, n: int, total_weight: float, table: DistinctTable) -> Self:
        """Start with equal predictions pooled, as those of a resample are."""
        tables = cls(rows, n, total_weight)
        tables._distinct = table
        return tables

    @classmethod
    def counted(cls, rows: Rows) -> Tables:
        """Count rows that were checked; with weights by a first pass over them."""
        if rows.weight is None:
            return cls(rows, len(rows), float(len(rows)))
        if not rows.weight.any():
            return cls(rows, 0, 0.0)
        event = rows.of_top_label() if rows.classes else rows
        first = sum_cells(event, first_grid(event))
        if rows.cases is None:
            n = int(first.count.sum())
        else:  # parts of a case, or entries of several
            n = int(rows.cases[rows.weight > 0].sum())
        return cls(event, n, first.total_weight("sample_weight"), first)

    def of_same_cases(self, rows: Rows) -> Tables:
        """Return tables of the same unweighted rows in another order: their sums are the same."""
        tables = Tables(rows, self.n, self.total_weight)
        tables.passes = dict(self.passes)
        return tables

    def pass_at(self, m: int) -> CellTable:
        """Return the sums of a pass over the rows at the grid ``1/m``."""
        cells = self.passes.get(m)
        if cells is None:
            assert isinstance(self.store, Rows)
            cells = self.passes[m] = sum_cells(self.store, m)
        return cells

    @property
    def cells(self) -> CellTable:
        """The sums of compressed rows, or of the first pass over the rows."""
        return self.pass_at(self.first_grid)

    def grids(self) -> list[int]:
        """Return the grids of the sums that `cell_sums` chooses from, from the cheapest to the
        finest.

        For many rows up to three further passes come before the sort that the finest grid needs. A
        compressed sample has its own grid only.
        """
        if isinstance(self.store, CellTable):
            return [self.first_grid]
        if len(self.store.prob) < _MANY_ROWS:
            return [self.first_grid, FINEST_GRID]
        passes = {_grid(5, self.n, LARGEST_GRID), _grid(16, self.n, LARGEST_GRID), LARGEST_GRID}
        finer = sorted(grid for grid in passes if grid > self.first_grid)
        return [self.first_grid, *finer, FINEST_GRID]

    def cell_sums(self, m: int) -> Sums:
        """Return the sums on a grid at least as fine as ``1/m``, the cheapest to compute."""
        grid = self.first_grid  # of which the sums are there
        if m > grid:
            grid = next((finer for finer in self.grids() if finer >= m), FINEST_GRID)
        sums = self._sums.get(grid)
        if sums is None:
            table = self.pass_at(grid) if grid < FINEST_GRID else self.distinct()
            sums = self._sums[grid] = table.sums()
        return sums

    def cell_table(self, m: int) -> CellTable:
        """Return sums, counts and squared weights on a grid as fine as ``1/m`` (or on that of the
        compression).
        """
        if isinstance(self.store, CellTable):
            return self.cells
        return self.pass_at(max(m, self.first_grid))

    def on_grid(self, grid: int, rounding: Rounding) -> RoundedSample:
        """Return the rows rounded to multiples of ``1/grid``, with their losses; it is kept unless
        it is large.
        """
        rounded = self._rounded.get((grid, rounding))
        if rounded is None:
            fine, slot, weight, rise = self.cell_sums(grid)
            shift = fine.bit_length() - grid.bit_length()
            points = bins(slot, weight, rise, grid, shift, check_rounding(rounding))
            rounded = RoundedSample(grid, *points, self.total_weight)
            if len(rounded.index) <= _KEPT_POINTS:
                self._rounded[grid, rounding] = rounded
        return rounded

    def worst(self, m: int, soft: bool) -> tuple[float, int]:
        """Return the same loss as `on_grid`'s `worst`, without the rounded sample; it is kept."""
        loss = self.losses.get((m, soft))
        if loss is None:
            # without `sums`: the first row of a table's pairs is the sum itself
            if m <= self.first_grid:
                cells = self.cells
                loss = worst_on_grid(cells.slot, cells.weight, cells.rise, cells.m, m, soft)
            else:
                grid, slot, weight, rise = self.cell_sums(m)
                loss = worst_on_grid(slot, weight, rise, grid, m, soft)
            self.losses[m, soft] = loss
        return loss

    def bin_sums(self, n: int, edges: Floats) -> Floats:
        """Return the sums in bins of width ``1/n``, by one pass over the rows (see `bin_table`).

        After compression all predictions of a cell go to the bin of their mean.
        """
        if isinstance(self.store, CellTable):
            return bin_table(self.distinct(), edges)
        return bin_rows(self.store, n, edges)

    def distinct(self) -> DistinctTable:
        """Return equal predictions pooled, in increasing order.

        After compression all predictions of a cell are replaced by their mean.
        """
        if self._distinct is None:
            if isinstance(self.store, CellTable):
                self._distinct = DistinctTable.from_cells(self.store)
            else:
                rows = self.store
                self._distinct = DistinctTable.from_rows(rows.outcome, rows.prob, rows.weight)
        return self._distinct
