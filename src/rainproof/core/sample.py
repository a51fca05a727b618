"""The sample: rows that were checked, or their exact compression."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core._fixed_loss import worst_on_grid
from rainproof.core.arrays import Floats, Ints, read_only
from rainproof.core.cells import (
    LARGEST_GRID,
    CellAccumulator,
    CellSums,
    CellTable,
    RoundedSample,
    Rounding,
    check_grid,
    sum_cells,
)
from rainproof.core.curve import GridLoss
from rainproof.core.distinct import FINEST_GRID, BinSums, DistinctTable
from rainproof.core.door import ColumnNames, Rows, as_labels, as_numbers, as_rows, check_view, read_classes, top_label
from rainproof.core.piecewise import PiecewiseMap
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.core.segments import Segments


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
        from rainproof.core.segments import Segments

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
        from rainproof.core.segments import read_table  # which imports this module

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


def mapped(sample: Sample, pieces: PiecewiseMap) -> Sample:
    """Apply a map to the predictions of a sample.

    Of a compressed sample it is applied to the mean prediction of each cell and outcome, as rows are pooled there.
    """
    if sample.grid is None:
        return Sample(sample.y_true, pieces(sample.y_prob), sample_weight=sample.sample_weight)
    cells = sample._cells
    event, prob, weight, count = cells.rows()
    value = cells.m * pieces.apply(prob)
    cell = np.floor(value).astype(np.int64)
    zero = np.zeros_like(weight)
    rise = np.stack([weight * (value - cell), zero])
    table = CellTable.pooled(cells.m, 2 * cell + event, count, np.stack([weight, zero]), rise, cells.squares)
    return Sample._from_cells(table)


def split_outcomes(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
) -> tuple[Sample, NDArray[Any]]:
    """Split rows whose outcome is a share of the event, such as a drawn match, into two weighted rows each.

    A row with outcome 0.3 becomes a row with the event, of weight 0.3, and a row without it, of weight 0.7. All
    averages are then those of the shares. The two are one draw, not two: pass the groups that are returned to
    whatever says something about the population.

    Explained in docs/guide/data.md.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The share of the event in each row, in [0, 1].
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row.
    groups : array_like of shape (n,), optional
        The group of each row, if rows depend on each other. Default: each row is a group of its own.

    Returns
    -------
    sample : Sample
        The rows with outcomes 0 and 1.
    groups : ndarray
        The group of each of them.

    Notes
    -----
    `guarantee` and its relatives with these groups hold: what a group contributes is the average of two values of the
    same bounded function, so it has the same bounds as a row. Without the groups a drawn match would count as two
    matches, and nothing would be proven. `calibration_test` takes no groups: it is not for such rows.

    Examples
    --------
    >>> import rainproof
    >>> sample, groups = rainproof.split_outcomes([1, 0.5, 0], [0.7, 0.6, 0.2])   # a win, a draw, a defeat
    >>> sample
    Sample(n=4, events=2, total_weight=3)
    >>> sample.event_rate, groups.tolist()
    (0.5, [0, 1, 1, 2])
    """
    shares = as_numbers(y_true, "y_true")
    rows = as_rows(np.zeros(shares.shape), y_prob, sample_weight)
    error = explain_shares(shares, rows.names)
    if error is not None:
        raise error
    at, label, part = _parts(shares)
    weight = part if rows.weight is None else part * rows.weight[at]
    own = np.arange(len(shares)) if groups is None else as_labels(groups, "groups", len(shares))
    sample = Sample(label, rows.prob[at], sample_weight=weight)
    sample._second = np.append(False, at[1:] == at[:-1]) & (weight > 0)  # rows of weight zero do not count
    return sample, own[at]


def explain_shares(shares: NDArray[Any], names: ColumnNames) -> InputError | None:
    """Return the error for outcomes that are no shares, if there are any."""
    bad = ~((shares >= 0) & (shares <= 1))
    if not bad.any():
        return None
    first = int(bad.argmax())
    rule = f"{names.label} must be a share of the event, in [0, 1]"
    return InputError.from_offenders(rule, int(bad.sum()), names.at(names.label, first), shares[first])


def _parts(shares: NDArray[np.float64]) -> tuple[Ints, NDArray[np.uint8], NDArray[np.float64]]:
    """Return the row, the outcome and the share of each part: one of a sure outcome, else two, with the event first."""
    both = (shares > 0) & (shares < 1)
    at = np.repeat(np.arange(len(shares)), np.where(both, 2, 1))
    second = np.zeros(len(at), np.bool_)
    second[1:] = at[1:] == at[:-1]
    label = np.where(both[at], ~second, shares[at] == 1)
    part = np.where(label, shares[at], 1 - shares[at])
    return at, label.view(np.uint8), part


class Accumulator:
    """Compress rows batch by batch, in memory that depends on `grid` alone.

    Accumulators of the same `grid` can be added, and pickled for other processes. The result does not depend
    on how the rows were split nor on their order (with weights, except for the last bit).

    Parameters
    ----------
    grid : int
        The grid of the compression (see `Sample.compress`): a power of two, up to 2**20.
    pos_label : object, optional
        The label of the event, where labels are not 0 and 1.

    Examples
    --------
    >>> import rainproof
    >>> monday, tuesday = rainproof.Accumulator(), rainproof.Accumulator()
    >>> monday.update([0, 1], [0.1, 0.8]).update([1], [0.6])
    Accumulator(n=3, grid=65536)
    >>> tuesday.update([0], [0.3])
    Accumulator(n=1, grid=65536)
    >>> rainproof.soft_binned_cdl((monday + tuesday).sample())
    0.078125
    """

    __slots__ = ("_cells", "_other", "_seen", "grid", "n", "pos_label")

    def __init__(self, grid: int = 2**16, *, pos_label: Any = None) -> None:
        self.grid = check_grid(grid)
        self.pos_label = pos_label
        self.n = 0  # rows of positive weight
        self._seen = 0
        self._other: Any = None  # the label besides pos_label, once one was seen
        self._cells = CellAccumulator(self.grid)

    def update(self, y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Accumulator:
        """Add a batch of rows; a batch with a bad row is refused and changes nothing."""
        rows = as_rows(y_true, y_prob, sample_weight, self.pos_label)
        other = _one_label(
            self._other, rows.other, f"{rows.names.label} must hold {self.pos_label!r} and one other label"
        )
        self._cells.add(rows)
        self._other = other
        self._seen += len(rows)
        self.n += len(rows) if rows.weight is None else int(np.count_nonzero(rows.weight))
        return self

    def __add__(self, other: object) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        if self.pos_label != other.pos_label:
            raise InputError(
                f"accumulators must have the same pos_label to be added; they have {self.pos_label!r} and "
                f"{other.pos_label!r}"
            )
        both = Accumulator(self.grid, pos_label=self.pos_label)
        both._other = _one_label(self._other, other._other, "accumulators must have the same other label to be added")
        both._take(self._cells.cells().merge(other._cells.cells()), self.n + other.n)
        return both

    def __radd__(self, other: object) -> Accumulator:
        return self if type(other) is int and other == 0 else NotImplemented  # the start value of `sum`

    def sample(self) -> Sample:
        """Return the compressed sample of all rows so far."""
        if not self._seen:
            raise InputError("the accumulator holds no rows yet")
        return Sample._from_cells(self._cells.cells())

    def _take(self, cells: CellTable, n: int) -> None:
        self._cells.merge(cells)
        self.n += n
        self._seen += n

    def __getstate__(self) -> dict[str, Any]:
        return {
            "grid": self.grid,
            "pos_label": self.pos_label,
            "other": self._other,
            "n": self.n,
            "cells": self._cells.cells(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Accumulator.__init__(self, state["grid"], pos_label=state["pos_label"])
        self._other = state["other"]
        self._take(state["cells"], state["n"])

    def __repr__(self) -> str:
        return f"Accumulator(n={self.n}, grid={self.grid})"


def _one_label(one: Any, another: Any, rule: str) -> Any:
    """Return the label that is not None; refuse two different ones."""
    if one is not None and another is not None and one != another:
        raise InputError(f"{rule}; there are {one!r} and {another!r}")
    return another if one is None else one
