"""The sample: rows that were checked, or their exact compression."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import read_only
from rainproof.core.grid.cell_accumulator import sum_cells
from rainproof.core.grid.cells import CellTable, check_grid
from rainproof.core.input.multiclass import check_view, read_classes, top_label
from rainproof.core.input.rows import ColumnNames, Rows, as_rows
from rainproof.core.sample.distinct import DistinctTable
from rainproof.core.sample.grid_sums import GridSums, first_grid
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.core.sample.segments import Segments


class Sample(GridSums):
    """Predicted probabilities and outcomes, checked once, or their exact compression.

    Every function of rainproof takes either ``(y_true, y_prob)`` or one `Sample`. Making a sample reads the rows
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
    >>> import rainproof
    >>> s = rainproof.Sample([0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3])
    >>> s
    Sample(n=4, events=2)
    >>> rainproof.soft_binned_cdl(s)
    0.078125
    """

    grid: int | None
    sample_weight: NDArray[Any] | None
    counts: NDArray[np.int64] | None
    _second: NDArray[np.bool_] | None = None  # of rows that `split_outcomes` split: the second part of the row before

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
        self._hold(sum_cells(rows, first_grid(rows)), rows, rows.names.weight)

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
        >>> import rainproof
        >>> y, p = ["cat", "dog", "eel"], [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
        >>> rainproof.Sample.from_multiclass(y, p, view="top-label", labels=["cat", "dog", "eel"])
        Sample(n=3, events=2)
        >>> rainproof.Sample.from_multiclass(y, p, view="one-vs-rest", labels=["cat", "dog", "eel"])["dog"]
        Sample(n=3, events=1)
        """
        from rainproof.core.sample.segments import Segments

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
    def _from_distinct(cls, table: DistinctTable, n: int, label: NDArray[np.uint8] | None = None) -> Self:
        """Make a sample of `n` rows that are pooled and sorted already, without checking or sorting them again.

        This is for resampling, which draws many samples with the same predictions. `label` has the outcomes, if every
        entry of the table is one row.
        """
        self = object.__new__(cls)
        negative, positive = float(table.negative.sum()), float(table.positive.sum())
        if label is None:
            weight = np.stack([table.negative, table.positive], axis=1).ravel()
            outcome = np.tile(np.array([0, 1], np.uint8), len(table.prob))
            rows = Rows(label=outcome, prob=np.repeat(table.prob, 2), weight=weight, names=ColumnNames())
        else:
            rows = Rows(label=label, prob=table.prob, weight=None, names=ColumnNames())
        self.n, self.total_weight, self.event_rate = n, negative + positive, positive / (negative + positive)
        self.effective_n = float(n)
        self._events = round(self.event_rate * n)
        self._first_grid = first_grid(rows)
        self._rows, self._distinct, self._passes = rows, table, {}
        self._sums, self._by_grid, self._losses = {}, {}, {}
        self._show(rows)
        return self

    @classmethod
    def from_table(cls, rows: Any) -> Self:
        """Read the result of a `rainproof.sql` statement, wherever it was run, as a compressed sample.

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
        from rainproof.core.sample.groupby_result import read_table  # which imports this module

        sums = read_table(rows)
        if sums.by:
            raise InputError(f"rows are of segments by {', '.join(sums.by)}: read them with Segments.from_table")
        return cls._from_cells(sums.store.cells(0))

    def _hold(self, cells: CellTable, rows: Rows | None, weight_name: str) -> None:
        if rows is not None and rows.weight is None:
            self.n, self.total_weight = len(rows), float(len(rows))
        else:
            self.n, self.total_weight = int(cells.count.sum()), cells.total_weight(weight_name)
        self._first_grid = cells.m
        self._passes = {cells.m: cells}
        self._rows = rows
        self._distinct, self._sums, self._by_grid, self._losses = None, {}, {}, {}
        if rows is None:
            self.grid, self.sample_weight, self.counts = cells.m, cells.weight[0], cells.count
        else:
            self._show(rows)

    def _show(self, rows: Rows) -> None:
        self.grid = self.counts = None
        self.sample_weight = None if rows.weight is None else read_only(rows.weight)

    @cached_property
    def y_true(self) -> NDArray[Any]:
        """The outcomes, 0 or 1."""
        label = self._cells.rows()[0] if self._rows is None else self._rows.label
        return read_only(label.view(np.int8) if label.dtype == np.uint8 else label)  # signed: 2 y - 1 must not be 255

    @cached_property
    def y_prob(self) -> NDArray[Any]:
        """The predicted probabilities of the event."""
        return read_only(self._cells.rows()[1] if self._rows is None else self._rows.prob)

    @cached_property
    def _events(self) -> int:
        """The number of rows with the event."""
        cells = self._cells
        return int(cells.count[cells.slot & 1 == 1].sum())

    @cached_property
    def event_rate(self) -> float:
        """The weighted share of rows with the event."""
        if self._events in (0, self.n):
            return self._events / self.n
        cells = self._cells
        return float(cells.weight[0][cells.slot & 1 == 1].sum()) / self.total_weight

    @cached_property
    def effective_n(self) -> float:
        """The effective sample size ``(sum w)^2 / sum w^2``."""
        return self.total_weight**2 / float(self._cells.squares.sum())

    @property
    def _weighted(self) -> bool:
        """Whether rows have weights, other than the numbers of rows in cells."""
        weights = self.sample_weight
        return weights is not None and (self.counts is None or not np.array_equal(weights, self.counts))

    @property
    def _whole_rows(self) -> int:
        """The number of rows, where the two parts of a row that `split_outcomes` split count once."""
        return self.n if self._second is None else self.n - int(self._second.sum())

    def __reduce__(self) -> tuple[Any, ...]:
        state = None if self._second is None else {"_second": self._second}
        return type(self)._from_parts, (self._cells, self._rows), state  # not what can be computed from them again

    def _with_own_rows(self) -> Self:
        """The same with copies of the rows, for results of which a part is computed later: callers reuse arrays."""
        if self._rows is None:
            return self
        kept = copy.copy(self)
        kept._hold(self._cells, self._rows.copied(), self._rows.names.weight)
        kept._distinct = self._distinct
        return kept

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
