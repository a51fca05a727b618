"""The sums of rows on a grid: small, mergeable, and sufficient for the soft-binned measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from rainproof.core._cells import pool
from rainproof.core._scan import absorb, collect, scan
from rainproof.core.arrays import (
    Array,
    Bools,
    Cells,
    Floats,
    Frozen,
    Ints,
    add_pairs,
    available_threads,
    run_in_threads,
    sums_by,
)
from rainproof.core.columns import Columns
from rainproof.core.rows import Rows
from rainproof.errors import InputError

LARGEST_GRID = 1 << 20
_SMALLEST_TOTAL = 1e-150  # the squares of smaller total weights would underflow
ROUNDING = 1e-9
"""Relative differences of sums of weights that rounding explains: each term of a plain sum adds up
to 2**-53, so nine million rows of a slot do not reach it.
"""
_ROWS_PER_THREAD = 1 << 18  # starting a thread for fewer costs more than it saves


def check_power_of_two(value: int, name: str, largest: int) -> int:
    """Check a power of two, and return it as an int."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not 2 <= value <= largest or value & (value - 1):
        raise InputError(f"{name} must be a power of two from 2 to {largest:,}; it is {value!r}")
    return int(value)


def check_grid(m: int, name: str = "grid", compressed: int | None = None) -> int:
    """Check a grid, also that it is no finer than that of a compressed sample, and return it as an
    int.
    """
    grid = check_power_of_two(m, name, LARGEST_GRID)
    if compressed is not None and grid > compressed:
        raise InputError(
            f"{name} must not exceed {compressed:,}, the grid of the compressed sample; it is "
            f"{grid:,}"
        )
    return grid


def slot_count(m: int) -> int:
    """Return the number of slots of a grid: entry ``segment * slot_count(m) + slot`` is a slot of
    that segment.
    """
    return 2 * (m + 1)


def mean_prediction(m: int, cell: Ints, rise: Floats, weight: Floats) -> Floats:
    """Return the mean prediction in each cell: its lower edge plus the mean offset."""
    return cell / m + (rise / weight) / m


Sums = tuple[int, Ints, Floats, Floats]
"""A grid m, its slots in increasing order, and weight and rise of each: the input of the
soft-binned measures.
"""


# not frozen, which would cost a small sample more time than its rows
@dataclass(slots=True, eq=False)
class CellTable(Frozen):
    """The sums of the rows in each occupied slot of the grid ``1/m``.

    Slot ``2 k + y`` holds the rows of outcome ``y`` with ``floor(m p) = k``. Their rise is the sum
    of ``w (m p - k)``, how far they lie above the lower edge of the cell. Weight and rise are pairs
    (see `rainproof.core.arrays`), so tables merge without rounding error, in any order.
    """

    m: int
    slot: Ints
    count: Ints
    weight: Floats  # shape (2, k)
    rise: Floats  # shape (2, k)
    squares: Floats  # sums of squared weights

    # columns that `Rows` can have and cells never do
    classes: ClassVar[tuple[Any, ...]] = ()
    unit: ClassVar[None] = None
    segment: ClassVar[None] = None
    costs: ClassVar[None] = None
    beside: ClassVar[None] = None

    @property
    def grid(self) -> int:
        """The grid of the compression."""
        return self.m

    @property
    def event(self) -> Bools:
        """Whether the cases of each slot have the event."""
        event: Bools = self.slot & 1 == 1
        return event

    @classmethod
    def empty(cls, m: int) -> CellTable:
        """Make a table without rows."""
        none = np.zeros(0, np.int64)
        no_pairs = np.zeros((2, 0))
        return cls(m, slot=none, count=none, weight=no_pairs, rise=no_pairs, squares=np.zeros(0))

    @classmethod
    def from_dense(cls, m: int, table: Array) -> CellTable:
        """Make it from the occupied slots of a table that `rainproof.core._scan` filled."""
        self = object.__new__(cls)  # the arrays are read-only already
        self.m = m
        self.slot, self.count, self.weight, self.rise, self.squares = collect(table)
        return self

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows have the same weight, up to rounding."""
        weight = self.weight[0]
        mean_weight = weight / self.count
        # equal within each slot, by Cauchy and Schwarz, and then between the slots
        within = np.allclose(self.squares * self.count, weight**2, rtol=ROUNDING, atol=0)
        return bool(within and np.ptp(mean_weight) <= ROUNDING * mean_weight.max())

    def total_weight(self, name: str) -> float:
        """Return the weight of all rows, or raise if it is not usable; `name` is what the caller
        calls the weights.
        """
        total = float(self.weight[0].sum())
        if math.isnan(total):  # the result of an overflow
            total = math.inf
        if total == 0:
            raise InputError(f"{name} must not be zero for every row")
        largest_total = 1 / _SMALLEST_TOTAL
        if not _SMALLEST_TOTAL < total < largest_total:
            raise InputError(
                f"{name} must have a sum between {_SMALLEST_TOTAL} and {largest_total}; "
                f"it is {total}: only the ratios of weights matter, so rescale them"
            )
        return total

    def fault(self) -> str | None:
        """Return what is wrong with a table from outside, which no rows could have given; None if
        it is sound.
        """
        if not len(self.slot):
            return "it has no rows"
        if ((self.slot < 0) | (self.slot >= slot_count(self.m))).any():
            return f"a cell lies outside 0 to {self.m:,}"
        if (np.diff(self.slot) <= 0).any():
            return "its cells are not in increasing order"
        if (self.count <= 0).any():
            return "a count is not positive"
        return self._fault_of_sums()

    def _fault_of_sums(self) -> str | None:
        weight = self.weight[0]
        rise = self.rise[0]
        squares = self.squares
        if not all(np.isfinite(sums).all() for sums in (self.weight, self.rise, squares)):
            return "a sum is not finite"
        # the squares of tiny weights underflow to 0
        has_square = (weight / self.count) ** 2 > 0
        if ((weight <= 0) | (squares < 0) | ((squares == 0) & has_square)).any():
            return "a weight is not positive"
        # By Cauchy and Schwarz, and as no weight is negative. A sum of rounded squares may overstep
        # it a little; below `tiny` squares lose their digits.
        tiny = self.count * np.finfo(float).tiny
        is_too_large = squares > weight**2 * (1 + ROUNDING)
        is_too_small = squares * self.count < weight**2 * (1 - ROUNDING) - tiny
        if (is_too_large | is_too_small).any():
            return "squares do not fit weight and count"
        # An offset lies in [0, 1), and is 0 for p = 1; a rounded sum may reach the upper end.
        is_one = self.slot >> 1 == self.m
        if ((rise < 0) | (rise > weight) | (is_one & (rise != 0))).any():
            return "a rise lies outside its cell"
        return None

    def merge(self, other: CellTable) -> CellTable:
        """Return the sums of the rows of both."""
        if self.m != other.m:
            raise InputError(
                "samples must be compressed to the same grid to be added; "
                f"they have grid = {self.m:,} and grid = {other.m:,}: "
                f"compress the finer one again with grid={min(self.m, other.m)}"
            )
        if not len(self.slot) or not len(other.slot):
            return self if len(self.slot) else other
        return self.join(self.m, [self, other], [self.slot, other.slot])

    @classmethod
    def join(cls, m: int, tables: Sequence[CellTable], slots: Sequence[Ints]) -> CellTable:
        """Add up tables after renumbering their slots."""
        if not tables:
            return cls.empty(m)
        return cls.pooled(
            m,
            np.concatenate(slots),
            np.concatenate([table.count for table in tables]),
            np.concatenate([table.weight for table in tables], axis=1),
            np.concatenate([table.rise for table in tables], axis=1),
            np.concatenate([table.squares for table in tables]),
        )

    def coarsen(self, m: int) -> CellTable:
        """Return the sums on a coarser grid: exactly those of a pass over the rows at `m`."""
        if m > self.m:
            raise InputError(
                f"a sample compressed to grid = {self.m:,} cannot be made finer; grid is {m:,}"
            )
        cell = self.slot >> 1
        rise = self.rise
        for _ in range(self.m.bit_length() - m.bit_length()):
            # The rows of an odd cell lie one cell width further above the lower edge of the pair.
            rise = np.where(cell & 1, add_pairs(rise, self.weight), rise) / 2
            cell = cell >> 1
        return self.pooled(
            m, 2 * cell + (self.slot & 1), self.count, self.weight, rise, self.squares
        )

    @classmethod
    def pooled(cls, m: int, slot: Ints, *columns: Array) -> CellTable:
        """Make it from entries in any order, some of them of the same slot."""
        order = np.argsort(slot, kind="stable")  # two sorted runs, merged in linear time
        in_order = [np.take(column, order, axis=-1) for column in columns]
        slot, count, weight, rise, squares = pool(slot[order], *in_order)
        return cls(m=m, slot=slot, count=count, weight=weight, rise=rise, squares=squares)

    @classmethod
    def from_doubles(
        cls, m: int, slot: Ints, count: Ints, weight: Floats, rise: Floats, squares: Floats
    ) -> CellTable:
        """Make it from entries in any order, some of them of the same slot, whose sums are plain
        doubles.
        """
        zero = np.zeros_like(weight)
        return cls.pooled(m, slot, count, np.stack([weight, zero]), np.stack([rise, zero]), squares)

    def sums(self) -> Sums:
        """Return the sums as plain doubles."""
        return self.m, self.slot, self.weight[0], self.rise[0]

    def entries(self) -> Rows:
        """Return an entry of rows for each slot, at the mean prediction."""
        weight = self.weight[0]
        return Rows(
            outcome=(self.slot & 1).astype(np.uint8),
            prob=mean_prediction(self.m, self.slot >> 1, self.rise[0], weight),
            weight=weight,
            cases=self.count,
        )

    def pair_cells(self) -> tuple[Cells, Cells]:
        """Return the cells of the first and of the second forecast, where slots are of two (see
        `rainproof.core.segment_sums.SegmentSums.joined`).
        """
        first, slot = np.divmod(self.slot, slot_count(self.m))
        return first.astype(np.int32), (slot >> 1).astype(np.int32)

    def sum_of_predictions(self) -> float:
        """Return the sum of ``w p`` over all rows."""
        return float((self.slot >> 1) @ self.weight[0] + self.rise[0].sum()) / self.m

    def count_events(self) -> tuple[int, int]:
        """Return how many cases there are, and how many of them have the event."""
        return int(self.count.sum()), int(self.count[self.event].sum())

    def weighed_by_outcome(self, without: float, with_event: float) -> CellTable:
        """Return the same cases with a weight by outcome."""
        weight = self.count * np.where(self.event, with_event, without)
        return replace(
            self,
            weight=np.stack([weight, np.zeros_like(weight)]),
            rise=self.rise * (weight / self.weight[0]),
            squares=weight**2 / self.count,
        )

    def without_outcomes(self) -> CellTable:
        """Return predictions and weights, and no event."""
        return self.pooled(self.m, self.slot & ~1, self.count, self.weight, self.rise, self.squares)

    def with_predictions(self, prob: Floats, m: int) -> CellTable:
        """Return the same cases on a grid ``1/m``, with one prediction for each slot."""
        scaled = m * prob
        cell = np.floor(scaled).astype(np.int64)
        weight = self.weight[0]
        slot = 2 * cell + (self.slot & 1)
        return self.from_doubles(
            m, slot, self.count, weight, weight * (scaled - cell), self.squares
        )

    def thinned(self, counts: Ints) -> CellTable:
        """Return so many cases of each slot, of weight 1, at the lower edge of the cell."""
        occupied = counts > 0
        count = counts[occupied].astype(np.int64, copy=False)
        weight = np.stack([count.astype(np.float64), np.zeros(len(count))])
        return CellTable(
            m=self.m,
            slot=self.slot[occupied],
            count=count,
            weight=weight,
            rise=np.zeros_like(weight),
            squares=weight[0],
        )


Table = Array
"""A dense table of slots that `rainproof.core._scan` fills."""


def _empty_table(rows: Rows | Columns, m: int) -> Table:
    """Return a table for these rows, which is wider where they have weights (see
    `rainproof.core._slots`).
    """
    if rows.weight is None:
        return np.zeros((slot_count(m), 2), np.uint64)
    return np.zeros((slot_count(m), 6), np.float64)


def scan_in_threads(rows: Rows | Columns, m: int, cut: Floats | None = None) -> list[Table]:
    """Add the rows to new tables, one for each thread; the kernel releases the GIL.

    The tables are those of the grid ``1/m``, or of the bins that `cut` defines (see
    `rainproof.core._scan`).
    """
    n = len(rows.prob)
    parts = n // max(_ROWS_PER_THREAD, 4 * m)
    if parts < 2:  # what only threads need would take a small sample longer than its rows
        table = _empty_table(rows, m)
        if not scan(rows.prob, rows.outcome, rows.weight, m, table, 0, n, cut):
            raise _as_read(rows).explain()
        return [table]
    threads = min(available_threads(), parts)
    tables = [_empty_table(rows, m) for _ in range(threads)]

    def work(part: int) -> bool:
        start = n * part // threads
        stop = n * (part + 1) // threads
        return scan(rows.prob, rows.outcome, rows.weight, m, tables[part], start, stop, cut)

    if not run_in_threads(work, threads):
        raise _as_read(rows).explain()
    return tables


def _as_read(rows: Rows | Columns) -> Columns:
    """Return rows, which may be read again, as columns with names for messages."""
    return rows if isinstance(rows, Columns) else Columns(rows.outcome, rows.prob, rows.weight)


def scanned(rows: Rows | Columns, m: int, cut: Floats | None = None) -> Table:
    """Add the rows to one new table, in one pass; there must be some."""
    if not len(rows.prob):
        names = _as_read(rows).names
        raise InputError(f"{names.label} and {names.prob} must not be empty")
    first, *others = scan_in_threads(rows, m, cut)
    for table in others:
        absorb(first, table)
    return first


def sum_cells(rows: Rows | Columns, m: int) -> CellTable:
    """Return the sums of these rows on the grid ``1/m``, in one pass."""
    return CellTable.from_dense(m, scanned(rows, m))


Rounding = Literal["soft", "hard"]


def check_rounding(rounding: str) -> bool:
    """Accept "soft" (True) or "hard" (False)."""
    if rounding not in ("soft", "hard"):
        raise InputError(f"rounding must be 'soft' or 'hard'; it is {rounding!r}")
    return rounding == "soft"


def split(prob: Floats, m: int, *, soft: bool = True) -> tuple[Ints, Floats]:
    """Return the cell ``k = floor(m p)`` of each prediction, and which share ``m p - k`` of it is
    rounded up to k + 1.

    Soft rounding leaves the share ``1 - (m p - k)`` at k, so that the mean is p; hard rounding
    leaves all of it.
    """
    scaled = prob * m
    cell = np.floor(scaled)
    # in place: a new array costs more than the subtraction
    if soft:
        scaled -= cell
    else:
        scaled -= scaled  # no share of a prediction goes up
    return cell.astype(np.int64), scaled


def sum_on_grid(cell: Ints, low: Floats, high: Floats, m: int) -> Floats:
    """Sum `low` at the grid point of each cell and `high` at the next: one sum for each of 0, 1,
    ..., m.
    """
    places = np.concatenate([cell, cell + 1])
    amounts = np.concatenate([low, high])
    # nothing is lost beyond m: a prediction of 1 is not rounded up
    return sums_by(places, amounts, m + 2)[: m + 1]
