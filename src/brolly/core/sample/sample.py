"""The sample: rows checked once, or their exact compression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Floats, freeze
from brolly.core.grid.cell_accumulator import sum_cells
from brolly.core.grid.cells import LARGEST_GRID, CellSums, CellTable, check_grid
from brolly.core.grid.rounded import RoundedSample, Rounding
from brolly.core.grid_loss import GridLoss
from brolly.core.input.multiclass import as_matrix, check_labels, check_view, numbered, top_label, violations
from brolly.core.input.rows import ColumnNames, Rows, as_rows
from brolly.core.sample.bins import BinSums
from brolly.core.sample.distinct import FINEST_GRID, DistinctTable
from brolly.errors import InputError

if TYPE_CHECKING:
    from brolly.core.sample.segments import Segments

_QUICK_GRID = 1 << 12  # the finest grid whose table still lives in the processor's second cache
_KEPT_POINTS = 1 << 14  # of a grid whose losses are kept: some hundred bytes each
_MANY_ROWS = 1 << 18  # from here on one more pass, at a finer grid, is cheaper than a sort
_LIGHTEST = 1e-150  # weights outside this range could not be squared


class Sample:
    """Predicted probabilities and what happened, checked once; or their exact compression.

    Every function of brolly takes either ``(y_true, y_prob)`` or one `Sample`. Making a sample reads
    the rows once; what is asked of it later mostly needs no second look at them.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The outcomes: 0 or 1 (bool, integer or float), or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts; finite, not negative, not all zero.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.

    Attributes
    ----------
    n : int
        The number of rows (of positive weight), also after compression.
    total_weight : float
        The sum of the weights; `n` where there are none.
    event_rate : float
        The weighted share of rows where the event happened.
    effective_n : float
        How many equally weighted rows would tell as much: ``(sum w)^2 / sum w^2``.
    grid : int or None
        The grid of the compression, None while the sample holds its rows.
    y_true, y_prob, sample_weight, counts : ndarray
        The rows; after compression one row for each occupied (cell, outcome), where `counts` says how
        many rows stand behind it. Before it `counts` is None, and `sample_weight` where none was given.

    Notes
    -----
    The arrays are used in place, not copied: do not change them while the sample is in use.

    Examples
    --------
    >>> import brolly
    >>> s = brolly.Sample([0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3])
    >>> s
    Sample(n=4, events=2)
    >>> brolly.soft_binned_cdl(s)
    0.078125
    """

    grid: int | None
    y_true: NDArray[Any]
    y_prob: NDArray[Any]
    sample_weight: NDArray[Any] | None
    counts: NDArray[np.int64] | None
    _passes: dict[int, CellTable]
    _distinct: DistinctTable | None
    _fine: CellSums | None
    _by_grid: dict[tuple[int, Rounding], GridLoss]
    _rows: Rows | None

    def __init__(
        self,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
    ) -> None:
        rows = as_rows(y_true, y_prob, sample_weight, pos_label)
        self._hold(sum_cells(rows, _grid(8, max(64, len(rows)), _QUICK_GRID)), rows, rows.names.weight)

    @overload
    @classmethod
    def from_multiclass(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        view: Literal["top-label"],
        labels: Sequence[Any] | None = ...,
        sample_weight: ArrayLike | None = ...,
    ) -> Sample: ...
    @overload
    @classmethod
    def from_multiclass(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        view: Literal["one-vs-rest"],
        labels: Sequence[Any] | None = ...,
        sample_weight: ArrayLike | None = ...,
    ) -> Segments: ...
    @classmethod
    def from_multiclass(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        view: Literal["top-label", "one-vs-rest"],
        labels: Sequence[Any] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Sample | Segments:
        """Several classes, seen as one event each.

        Parameters
        ----------
        y_true : array_like of shape (n,)
            The class of each row: 0, 1, ... by column of `y_prob`, or one of `labels`.
        y_prob : array_like of shape (n, k)
            The predicted probability of each class; every row sums to 1 (within 1e-4).
        view : {"top-label", "one-vs-rest"}
            "top-label" asks whether the class called most likely (the first of equals) came true: for those who
            act on the winner and its probability alone. "one-vs-rest" asks it of each class on its own.
        labels : sequence of length k, optional
            What the classes are called, in the order of the columns.
        sample_weight : array_like of shape (n,), optional
            How much each row counts.

        Returns
        -------
        Sample or Segments
            One sample for "top-label"; for "one-vs-rest" a mapping from class to sample.

        Examples
        --------
        >>> import brolly
        >>> y, p = ["cat", "dog", "eel"], [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
        >>> brolly.Sample.from_multiclass(y, p, view="top-label", labels=["cat", "dog", "eel"])
        Sample(n=3, events=2)
        >>> brolly.Sample.from_multiclass(y, p, view="one-vs-rest", labels=["cat", "dog", "eel"])["dog"]
        Sample(n=3, events=1)
        """
        from brolly.core.sample.segments import Segments

        check_view(view)
        names = ColumnNames()
        prob = as_matrix(y_prob, names)
        called = None if labels is None else check_labels(labels, prob.shape[1])
        which = numbered(y_true, prob.shape[1], called, names)
        if len(which) != len(prob):
            raise InputError(f"y_true and y_prob must have the same length; they have {len(which):,} and {len(prob):,}")
        for error in violations(prob, names):
            raise error
        if view == "top-label":
            return cls(*top_label(which, prob), sample_weight=sample_weight)
        keys = range(prob.shape[1]) if called is None else called
        samples = {key: cls(which == k, prob[:, k], sample_weight=sample_weight) for k, key in enumerate(keys)}
        return Segments.from_samples(samples, by=["class"])

    @classmethod
    def _from_cells(cls, cells: CellTable, weight_name: str = "sample_weight") -> Self:
        """Make a compressed sample of its sums."""
        return cls._from_parts(cells, None, weight_name)

    @classmethod
    def _from_parts(cls, cells: CellTable, rows: Rows | None, weight_name: str = "sample_weight") -> Self:
        self = object.__new__(cls)
        self._hold(cells, rows, weight_name)
        return self

    @classmethod
    def _from_distinct(cls, table: DistinctTable, n: int) -> Self:
        """A sample whose rows are pooled and in order already: nothing is checked or sorted again.

        For those who draw many samples with the same predictions; `n` says how many rows stand behind it.
        """
        self = object.__new__(cls)
        negative, positive = float(table.negative.sum()), float(table.positive.sum())
        weight = np.stack([table.negative, table.positive], axis=1).ravel()
        label = np.tile(np.array([0, 1], np.uint8), len(table.prob))
        rows = Rows(label=label, prob=np.repeat(table.prob, 2), weight=weight, names=ColumnNames())
        self.n, self.total_weight, self.event_rate = n, negative + positive, positive / (negative + positive)
        self.effective_n = float(n)
        self._events = round(self.event_rate * n)
        self._first = _grid(8, max(64, len(rows)), _QUICK_GRID)
        self._passes, self._by_grid, self._rows, self._distinct, self._fine = {}, {}, rows, table, None
        self._show(rows)
        return self

    @classmethod
    def from_table(cls, rows: Any) -> Self:
        """A compressed sample from what the statement of `brolly.sql` gave, wherever it was run.

        Parameters
        ----------
        rows : table, cursor or iterable
            A pandas, Polars or PyArrow table, a database cursor, a mapping of columns, or rows that are mappings
            or tuples in the statement's order. Rows of several segments are for `Segments.from_table`.

        Raises
        ------
        InputError
            Where the rows are not what the statement gives, or count predictions, outcomes or weights that break
            a rule: which, and how many.
        """
        from brolly.core.sample.groupby_result import read_table  # which knows samples

        sums = read_table(rows)
        if sums.by:
            raise InputError(f"rows are of segments by {', '.join(sums.by)}: read them with Segments.from_table")
        return cls._from_cells(sums.store.cells(0))

    def _hold(self, cells: CellTable, rows: Rows | None, weight_name: str) -> None:
        total = float(cells.weight[0].sum())
        total = math.inf if math.isnan(total) else total  # what an overflow leaves behind
        if total == 0:
            raise InputError(f"{weight_name} must not be zero for every row")
        if not _LIGHTEST < total < 1 / _LIGHTEST:
            raise InputError(
                f"{weight_name} must have a sum between {_LIGHTEST} and {1 / _LIGHTEST}; it is {total}: "
                "only the ratios of weights matter, so rescale them"
            )
        self.total_weight = total
        self.n = int(cells.count.sum())
        event = cells.slot & 1 == 1
        self._events = int(cells.count[event].sum())
        weight = cells.weight[0]
        self.event_rate = self._events / self.n if self._events in (0, self.n) else float(weight[event].sum()) / total
        self.effective_n = total**2 / float(cells.squares.sum())
        self._first = cells.m
        self._passes = {cells.m: cells}
        self._rows = rows
        self._distinct, self._fine, self._by_grid = None, None, {}
        if rows is None:
            self.grid = cells.m
            self.y_true, self.y_prob, self.sample_weight, self.counts = cells.rows()
            freeze(self.y_true, self.y_prob)
        else:
            self._show(rows)

    def _show(self, rows: Rows) -> None:
        self.grid = self.counts = None
        self.y_true, self.y_prob = _read_only(rows.label), _read_only(rows.prob)
        self.sample_weight = None if rows.weight is None else _read_only(rows.weight)

    def _pass(self, m: int) -> CellTable:
        """The sums of a pass over the rows at `m`; what was made once is kept, and never replaced."""
        if m not in self._passes:
            assert self._rows is not None
            self._passes[m] = sum_cells(self._rows, m)
        return self._passes[m]

    @property
    def _cells(self) -> CellTable:
        """The sums of a compressed sample, or of the first pass over the rows."""
        return self._pass(self._first)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._from_parts, (self._cells, self._rows)  # the rows once, and nothing that follows from them

    def compress(self, grid: int = 2**16) -> Sample:
        """Replace all rows of one outcome in one cell ``[k/m, (k+1)/m)`` by a single weighted row.

        `soft_binned_cdl` and its profile are the same as on the rows for every grid up to `grid`, whatever
        the number of rows. Each other measure says in its Notes how far this can move it: most by
        about ``1/m``, those that tell all predictions apart (CDL, ECE) down to what cells tell apart. The
        result has at most ``2 (m + 1)`` rows, and ``a.compress(grid) + b.compress(grid)`` is the sample of all
        rows of both (``sum`` adds many).

        Parameters
        ----------
        grid : int
            A power of two, up to 2**20.
        """
        grid = check_grid(grid)
        return Sample._from_cells(self._cells.coarsen(grid) if self._rows is None else sum_cells(self._rows, grid))

    def __add__(self, other: object) -> Sample:
        if not isinstance(other, Sample):
            return NotImplemented
        if self.grid is None or other.grid is None:
            raise InputError("only compressed samples can be added: call compress(grid) on both first")
        return Sample._from_cells(self._cells.merge(other._cells))

    def __radd__(self, other: object) -> Sample:
        return self if type(other) is int and other == 0 else NotImplemented  # where `sum` starts

    def _grids(self) -> list[int]:
        """The grids at which `_cell_sums` changes its way, from the cheapest to the finest.

        For many rows two more passes come before the sort that the finest grid needs. A compressed
        sample knows its own grid and nothing finer.
        """
        if self._rows is None:
            return [self._first]
        passes = [_grid(16, self.n, LARGEST_GRID), LARGEST_GRID] if len(self._rows) >= _MANY_ROWS else []
        return [self._first, *passes, FINEST_GRID]

    def _cell_sums(self, m: int) -> CellSums:
        """The sums on some grid at least as fine as ``1/m``, by the cheapest way there is.

        Which grid that is depends on `m` and the rows alone: what was asked before, or is being asked by
        another thread, cannot show in the last bit.
        """
        grid = next((g for g in self._grids() if g >= m), FINEST_GRID)
        if grid < FINEST_GRID:
            return self._pass(grid).sums()
        if self._fine is None:
            self._fine = self._distinct_table().sums()
        return self._fine

    def _on_grid(self, m: int, rounding: Rounding = "soft") -> GridLoss:
        """The sample rounded to ``1/m``, with its losses; made once, and kept unless it is large."""
        found = self._by_grid.get((m, rounding))
        if found is None:
            found = GridLoss(RoundedSample.from_sums(self._cell_sums(m), m, rounding), self.total_weight)
            if len(found.rounded.index) <= _KEPT_POINTS:
                self._by_grid[m, rounding] = found
        return found

    def _cell_table(self, m: int) -> CellTable:
        """The sums with counts and squared weights, on a grid as fine as ``1/m`` (or the compression's own)."""
        return self._cells if self._rows is None else self._pass(max(m, self._first))

    def _bin_sums(self, n: int, edges: Floats) -> BinSums:
        """The sums in bins of width ``1/n``, in one pass over the rows (see `BinSums` for the edges).

        After compression all predictions of a cell go where their mean goes.
        """
        if self._rows is None:
            return BinSums.from_distinct(self._distinct_table(), edges)
        return BinSums.from_rows(self._rows, n, edges)

    def _distinct_table(self) -> DistinctTable:
        """The sample with equal predictions pooled, in increasing order (made once, then kept).

        After compression all predictions of a cell count as equal, at their mean.
        """
        if self._distinct is None:
            rows = self._rows
            self._distinct = (
                DistinctTable.from_cells(self._cells)
                if rows is None
                else DistinctTable.from_rows(rows.label, rows.prob, rows.weight)
            )
        return self._distinct

    def __repr__(self) -> str:
        cells = self._cells
        grid = "" if self.grid is None else f", grid={self.grid}"
        weighted = "" if np.array_equal(cells.weight[0], cells.count) else f", total_weight={self.total_weight:.6g}"
        return f"Sample(n={self.n}, events={self._events}{grid}{weighted})"


def as_sample(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Sample:
    """What every function calls first: take a `Sample` as it is, or make one of the rows."""
    if isinstance(y_true, Sample):
        if y_prob is not None or sample_weight is not None or pos_label is not None:
            raise InputError("a Sample brings its own predictions, weights and labels: pass it alone")
        return y_true
    if y_prob is None:
        raise InputError("y_prob is missing: pass y_true and y_prob, or one Sample")
    return Sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)


def _grid(fineness: int, n: int, finest: int) -> int:
    """A grid for n rows: chance alone balances SCDL at a grid of a few times sqrt(n) cells."""
    return min(finest, 1 << math.ceil(math.log2(fineness * math.sqrt(n))))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
