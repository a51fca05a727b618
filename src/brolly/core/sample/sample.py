"""The sample: rows that were checked, or their exact compression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Floats, freeze, read_only
from brolly.core.grid.cell_accumulator import sum_cells
from brolly.core.grid.cells import LARGEST_GRID, CellSums, CellTable, check_grid
from brolly.core.grid.rounded import RoundedSample, Rounding
from brolly.core.grid_loss import GridLoss
from brolly.core.input.multiclass import check_view, read_classes, top_label
from brolly.core.input.rows import ColumnNames, Rows, as_rows
from brolly.core.sample.bins import BinSums
from brolly.core.sample.distinct import FINEST_GRID, DistinctTable
from brolly.errors import InputError

if TYPE_CHECKING:
    from brolly.core.sample.segments import Segments

_QUICK_GRID = 1 << 12  # the finest grid whose table fits into the second-level cache
_KEPT_POINTS = 1 << 14  # grid points of the losses that are kept, of some hundred bytes each
_MANY_ROWS = 1 << 18  # from here on another pass, at a finer grid, is cheaper than sorting
_LIGHTEST = 1e-150  # the squares of smaller total weights would underflow


class Sample:
    """Predicted probabilities and outcomes, checked once, or their exact compression.

    Every function of brolly takes either ``(y_true, y_prob)`` or one `Sample`. Making a sample reads the rows
    once; most measures of it need no further pass over them.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The outcomes: 0 or 1 (bool, integer or float), or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weights of the rows: finite, not negative, not all zero.
    pos_label : object, optional
        The label of the event, where labels are not 0 and 1.

    Attributes
    ----------
    n : int
        The number of rows (of positive weight), also after compression.
    total_weight : float
        The sum of the weights; `n` without weights.
    event_rate : float
        The weighted share of rows with the event.
    effective_n : float
        The effective sample size ``(sum w)^2 / sum w^2``.
    grid : int or None
        The grid of the compression; None for a sample that holds its rows.
    y_true, y_prob, sample_weight, counts : ndarray
        The rows. After compression there is one for each occupied (cell, outcome), and `counts` is the number
        of rows it stands for. Otherwise `counts` is None, and so is `sample_weight` unless it was given.

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
        self._read(as_rows(y_true, y_prob, sample_weight, pos_label))

    @classmethod
    def _from_rows(cls, rows: Rows) -> Self:
        """Make a sample of rows whose columns have other names."""
        self = object.__new__(cls)
        self._read(rows)
        return self

    def _read(self, rows: Rows) -> None:
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
        """Make samples of binary events from predictions for several classes.

        Parameters
        ----------
        y_true : array_like of shape (n,)
            The class of each row: 0, 1, ... by column of `y_prob`, or one of `labels`.
        y_prob : array_like of shape (n, k)
            The predicted probability of each class; every row sums to 1 (within 1e-4).
        view : {"top-label", "one-vs-rest"}
            "top-label": the event is that the most likely class (the first of equals) occurs, for decisions that
            use this class and its probability alone. "one-vs-rest": one event for each class.
        labels : sequence of length k, optional
            The labels of the classes, in the order of the columns. Default: 0, 1, ...
        sample_weight : array_like of shape (n,), optional
            The weights of the rows.

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
        which, prob, called = read_classes(y_true, y_prob, labels, ColumnNames())
        if view == "top-label":
            return cls(*top_label(which, prob), sample_weight=sample_weight)
        samples = {key: cls(which == k, prob[:, k], sample_weight=sample_weight) for k, key in enumerate(called)}
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
        """Make a sample of `n` rows that are pooled and sorted already, without checking or sorting them again.

        This is for resampling, which draws many samples with the same predictions.
        """
        self = object.__new__(cls)
        negative, positive = float(table.negative.sum()), float(table.positive.sum())
        weight = np.stack([table.negative, table.positive], axis=1).ravel()
        label = np.tile(np.array([0, 1], np.uint8), len(table.prob))
        rows = Rows(label=label, prob=np.repeat(table.prob, 2), weight=weight, names=ColumnNames())
        self.n, self.total_weight, self.event_rate = n, negative + positive, positive / (negative + positive)
        self.effective_n = float(n)
        self._events = round(self.event_rate * n)
        self._first_grid = _grid(8, max(64, len(rows)), _QUICK_GRID)
        self._passes, self._by_grid, self._rows, self._distinct, self._fine = {}, {}, rows, table, None
        self._show(rows)
        return self

    @classmethod
    def from_table(cls, rows: Any) -> Self:
        """Read the result of a `brolly.sql` statement, wherever it was run, as a compressed sample.

        Parameters
        ----------
        rows : table, cursor or iterable
            A pandas, Polars or PyArrow table, a database cursor, a mapping of columns, or an iterable of rows
            that are mappings or tuples in the statement's order. For segments see `Segments.from_table`.

        Raises
        ------
        InputError
            If the rows are not the result of such a statement, or if predictions, outcomes or weights in the
            database break a rule; the message has their count.
        """
        from brolly.core.sample.groupby_result import read_table  # which imports this module

        sums = read_table(rows)
        if sums.by:
            raise InputError(f"rows are of segments by {', '.join(sums.by)}: read them with Segments.from_table")
        return cls._from_cells(sums.store.cells(0))

    def _hold(self, cells: CellTable, rows: Rows | None, weight_name: str) -> None:
        total = float(cells.weight[0].sum())
        total = math.inf if math.isnan(total) else total  # the result of an overflow
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
        self._first_grid = cells.m
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
        self.y_true, self.y_prob = read_only(rows.label), read_only(rows.prob)
        self.sample_weight = None if rows.weight is None else read_only(rows.weight)

    @property
    def _weighted(self) -> bool:
        """Whether rows have weights, other than the numbers of rows in cells."""
        weights = self.sample_weight
        return weights is not None and (self.counts is None or not np.array_equal(weights, self.counts))

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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._from_parts, (self._cells, self._rows)  # not what can be computed from them again

    def compress(self, grid: int = 2**16) -> Sample:
        """Replace all rows of one outcome in one cell ``[k/m, (k+1)/m)`` by a single weighted row.

        `soft_binned_cdl` and its profile stay the same for every grid up to `grid`. The Notes of each other
        measure bound its change: most change by about ``1/m``; CDL and ECE, which depend on each distinct
        prediction, become those of the cells. The result has at most ``2 (m + 1)`` rows, and
        ``a.compress(grid) + b.compress(grid)`` is the sample of the rows of both (``sum`` adds many).

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
        return self if type(other) is int and other == 0 else NotImplemented  # the start value of `sum`

    def _grids(self) -> list[int]:
        """Return the grids of the sums that `_cell_sums` chooses from, from the cheapest to the finest.

        For many rows two further passes come before the sort that the finest grid needs. A compressed sample
        has its own grid only.
        """
        if self._rows is None:
            return [self._first_grid]
        passes = [_grid(16, self.n, LARGEST_GRID), LARGEST_GRID] if len(self._rows) >= _MANY_ROWS else []
        return [self._first_grid, *passes, FINEST_GRID]

    def _cell_sums(self, m: int) -> CellSums:
        """Return the sums on a grid at least as fine as ``1/m``, the cheapest to compute.

        The grid depends on `m` and the rows alone, so that no earlier call, nor one in another thread, can
        change the last bit.
        """
        grid = next((g for g in self._grids() if g >= m), FINEST_GRID)
        if grid < FINEST_GRID:
            return self._pass(grid).sums()
        if self._fine is None:
            self._fine = self._distinct_table().sums()
        return self._fine

    def _on_grid(self, m: int, rounding: Rounding = "soft") -> GridLoss:
        """Return the sample rounded to ``1/m``, with its losses; it is kept unless it is large."""
        found = self._by_grid.get((m, rounding))
        if found is None:
            found = GridLoss(RoundedSample.from_sums(self._cell_sums(m), m, rounding), self.total_weight)
            if len(found.rounded.index) <= _KEPT_POINTS:
                self._by_grid[m, rounding] = found
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
    """Return a `Sample` as it is, or make one of the rows: the first line of every public function."""
    if isinstance(y_true, Sample):
        if y_prob is not None or sample_weight is not None or pos_label is not None:
            raise InputError("a Sample holds predictions, weights and labels already: pass it alone")
        return y_true
    if y_prob is None:
        raise InputError("y_prob is missing: pass y_true and y_prob, or one Sample")
    return Sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)


def _grid(fineness: int, n: int, finest: int) -> int:
    """Return a grid for n rows: of calibrated predictions, SCDL is balanced at a few times sqrt(n) cells."""
    return min(finest, 1 << math.ceil(math.log2(fineness * math.sqrt(n))))
