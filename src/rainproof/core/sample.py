"""The sample: rows that were checked, or their exact compression."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import digests, validation
from rainproof.core._cells import bins
from rainproof.core._fixed_loss import worst_on_grid
from rainproof.core._scan import absorb, scan
from rainproof.core.arrays import Floats, Ints, places_of_groups, read_only
from rainproof.core.cells import (
    LARGEST_GRID,
    CellTable,
    Rounding,
    Sums,
    check_grid,
    check_rounding,
    scan_in_threads,
    slot_count,
    sum_cells,
)
from rainproof.core.curve import RoundedSample, SwitchCurve
from rainproof.core.distinct import FINEST_GRID, DistinctTable, bin_rows, bin_table
from rainproof.core.files import save_table
from rainproof.core.piecewise import PiecewiseMap
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.core.segments import Segments


_QUICK_GRID = 1 << 16  # a table of 32 bytes a cell; up to here a finer grid costs each row little
_QUICK_WEIGHTED_GRID = 1 << 12  # of 96 bytes a cell
_KEPT_POINTS = 1 << 14  # grid points of the losses that are kept, of some hundred bytes each
_MATCHED = 1 << 17  # rows of an outcome in cells that are matched with those of the other
_FULL = 1 << 35  # unweighted rows in a table of an accumulator, half of what its counters hold
_MANY_ROWS = 1 << 18  # from here on another pass, at a finer grid, is cheaper than sorting


def first_grid(rows: validation.Rows) -> int:
    """Return the grid of the first pass: for many rows, one just fine enough if predictions are
    calibrated.
    """
    n, quick = len(rows.prob), _QUICK_GRID if rows.weight is None else _QUICK_WEIGHTED_GRID
    return _grid(8, max(64, n), quick) if n < _MANY_ROWS else _grid(5, n, quick)


def _grid(fineness: int, n: int, finest: int) -> int:
    """Return a grid for n rows: of calibrated predictions, SCDL is balanced at a few times sqrt(n)
    cells.
    """
    # 2^exponent is the next power of two; its root is what is asked for
    exponent = (fineness**2 * n - 1).bit_length()
    return min(finest, 1 << (exponent + 1) // 2)


class Sample:
    """Predicted probabilities and outcomes, checked once, or their exact compression.

    Every function of rainproof takes either ``(y_true, y_prob)`` or one `Sample`. Making a sample
    reads the rows once; most measures of it need no further pass over them.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The outcomes: 0 or 1 (bool, integer or float), or any two labels with `pos_label`.
    y_prob : array_like of shape (n,) or (n, k), or mapping of names to such
        The predicted probability of the event, in [0, 1]. A mapping has several forecasts for the
        same rows. A table has a column for each class: of two, the second is the event
        (`pos_label`, if the columns have names); of more, the result is a `ClassSample`.
    sample_weight : array_like of shape (n,), optional
        The weights of the rows: finite, not negative, not all zero.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent. A group is one draw.
    by : array_like of shape (n,), or mapping of names to such, optional
        The segment of each row; `by_segment` has a sample for each.
    fractional : bool
        Whether outcomes are shares of the event, in [0, 1]: a drawn match is 0.5, and remains one
        row and one draw.
    pos_label : object, optional
        The label of the event, where labels are not 0 and 1.
    base_rate : float or pair of float, optional
        The event rate of the population that the rows stand for, where theirs is another one: rows
        were undersampled (1:1, say), or the event is rarer where the forecast will be used. It
        needs predictions that, given the outcome, are distributed as in these rows. A pair is a
        range of rates, for what can take one: measures take one rate. Not together with weights,
        groups, segments or outcomes that are shares.
    labels : sequence of length k, optional
        The labels of the classes, in the order of the columns. Default: the names of a frame's
        columns, or 0, 1, ...

    Attributes
    ----------
    n : int
        The number of rows (of positive weight), also after compression.
    n_draws : int
        The number of independent draws: of groups, else of rows.
    groups : int or None
        The number of groups, if rows were drawn in groups.
    total_weight : float
        The sum of the weights; `n` without weights.
    event_rate : float
        The weighted share of rows with the event; the base rate, if one is stated (the middle of
        two, in log odds).
    base_rate : float, tuple of float or None
        The event rate of the population, or its range, if stated.
    effective_n : float
        The number of draws of equal weight that are as many: ``(sum w)^2 / sum w^2`` over draws.
    grid : int or None
        The grid of the compression; None for a sample that holds its rows.
    forecasts : tuple of str
        The names of the forecasts, if there are several: ``sample[name]`` is the sample of one.
    y_true, y_prob, sample_weight, counts : ndarray
        The rows. After compression there is one for each occupied (cell, outcome), and `counts` is
        the number of rows it stands for. Otherwise `counts` is None, and so is `sample_weight`
        unless it was given. A row whose outcome is a share is two here, one with the event and one
        without, with parts of its weight.
    event, prob, mass : ndarray
        The same as booleans, as doubles, and as weights that are 1 if there are none.
    mean_prediction : float
        The weighted mean of the predictions.
    digest : int
        One number for the rows, in whatever order they come, which decides how an integer seed
        deals them.

    Notes
    -----
    The arrays are used in place, not copied: do not change them while the sample is in use.

    With a `base_rate` r, each of the n1 rows with the event weighs ``r/n1`` and each of the n0
    others ``(1 - r)/n0``, times the number of rows: every measure is about a population with this
    rate. What is proven and tested takes into account that these weights depend on the outcomes.

    Examples
    --------
    >>> import rainproof
    >>> s = rainproof.Sample([0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3])
    >>> s
    Sample(n=4, events=2)
    >>> rainproof.soft_binned_cdl(s)
    0.078125
    >>> rainproof.Sample([1, 0.5, 0], [0.7, 0.6, 0.2], fractional=True)  # a win, a draw, a defeat
    Sample(n=3, event_rate=0.5)
    >>> rainproof.Sample([0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3], base_rate=0.01)
    Sample(n=4, events=2, base_rate=0.01)
    """

    n: int
    total_weight: float
    grid: int | None
    forecasts: tuple[str, ...] = ()
    sample_weight: NDArray[Any] | None
    counts: NDArray[np.int64] | None
    _rows: validation.Rows | None
    _first_grid: int
    _passes: dict[int, CellTable]
    _distinct: DistinctTable | None
    _sums: dict[int, Sums]
    _by_grid: dict[tuple[int, Rounding], RoundedSample]
    _losses: dict[tuple[int, bool], tuple[float, int]]
    _group: Ints | None = None  # the number of each row's draw, if a draw can have several rows
    _ordered = False  # whether the rows are in the order of `in_order`
    # whether the caller named groups; there is no `_group` if each is one row (`_of_single_rows`)
    _has_groups = False
    _second: NDArray[np.bool_] | None = None  # which rows are the second part of the row before
    _several: Mapping[str, NDArray[Any]] | None = None  # the predictions of each forecast
    # the names of `by`, and the rows of each segment
    _segments: tuple[tuple[str, ...], dict[Any, Ints]] | None = None
    # the range of base rates; two equal ones for a single rate
    _rates: tuple[float, float] | None = None
    _costs: Floats | None = None  # what a false alarm and a miss cost in each row
    # columns of a file that were read beside the rows, as they came
    _amounts: Mapping[str, NDArray[Any]] = {}

    def __new__(cls, y_true: Any, y_prob: Any, **columns: Any) -> Self:
        """Make a `ClassSample` of more than two classes."""
        if validation.class_columns(y_prob) > 2:
            from rainproof.core.classes import ClassSample

            return ClassSample._from_columns(y_true, y_prob, **columns)  # type: ignore[return-value]
        return object.__new__(cls)

    def __init__(
        self,
        y_true: ArrayLike,
        y_prob: ArrayLike | Mapping[str, ArrayLike],
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        by: ArrayLike | Mapping[str, ArrayLike] | None = None,
        fractional: bool = False,
        pos_label: Any = None,
        base_rate: validation.BaseRate | None = None,
        labels: Sequence[Any] | None = None,
    ) -> None:
        if labels is not None and validation.class_columns(y_prob) < 2:
            raise InputError(
                "labels name the classes of predictions with a column for each; y_prob has one column"
            )
        if isinstance(y_prob, Mapping) or fractional:
            self._read_special(y_true, y_prob, sample_weight, pos_label, fractional=fractional)
        else:
            self._read(validation.as_rows(y_true, y_prob, sample_weight, pos_label, labels=labels))
        if groups is not None or by is not None:
            first = (
                next(iter(y_prob.items())) if isinstance(y_prob, Mapping) else ("y_prob", y_prob)
            )
            self._attach(groups, by, ("y_true", y_true), first)
        if base_rate is not None:
            self.__dict__ = vars(self._at_rates(validation.check_base_rate(base_rate)))

    @classmethod
    def _from_rows(cls, rows: validation.Rows) -> Self:
        """Make a sample of rows whose columns have other names."""
        self = object.__new__(cls)
        self._read(rows)
        return self

    def _read(self, rows: validation.Rows) -> None:
        self._hold(sum_cells(rows, first_grid(rows)), rows, rows.names.weight)

    def _read_special(
        self,
        y_true: ArrayLike,
        y_prob: Any,
        sample_weight: ArrayLike | None,
        pos_label: Any,
        *,
        fractional: bool,
    ) -> None:
        """Read rows of several forecasts, or with outcomes that are shares."""
        named = y_prob if isinstance(y_prob, Mapping) else {"y_prob": y_prob}
        given = {str(name): prob for name, prob in named.items()}
        if not given or len(given) < len(named):
            names = [str(name) for name in named]
            raise InputError(
                f"y_prob must name at least one forecast, and each once; the names are {names}"
            )
        validation.check_aligned(("y_true", y_true), *given.items())
        (name, first), *others = given.items()
        at: Any = slice(None)
        if fractional:
            if pos_label is not None:
                raise InputError(
                    "fractional outcomes cannot be combined with pos_label: they are shares of the event"
                )
            rows, at = validation.split_shares(
                y_true, first, sample_weight, validation.ColumnNames(prob=name)
            )
            self._read(rows)
            self._group, self._second = at, np.append(False, at[1:] == at[:-1])
            self._second &= np.asarray(rows.weight) > 0  # rows of weight zero do not count
            self.n -= int(self._second.sum())
            whole = np.zeros(int(at[-1]) + 1, np.uint8)  # a row is not yet two parts
        else:
            rows = validation.as_rows(
                y_true, first, sample_weight, pos_label, names=validation.ColumnNames(prob=name)
            )
            self._read(rows)
            whole = rows.label
        if named is not y_prob:
            return
        several = {name: rows.prob}
        for other, prob in others:
            read = validation.as_probabilities(prob, other)
            validation.check_same_length("y_true", whole, other, read)
            validation.Rows(whole, read, None, validation.ColumnNames(prob=other)).check()
            several[other] = read[at]
        self.forecasts, self._several = tuple(given), several

    def _attach(self, groups: Any, by: Any, *columns: tuple[str, Any]) -> None:
        """Take the group and the segment of each row, as the caller gives them beside other
        columns.
        """
        self._refuse_cells("by needs" if groups is None else "groups need")
        if self._rates is not None:
            raise InputError(
                "groups and by cannot be combined with base_rate: given the outcomes, rows must be independent"
            )
        # the row that each part belongs to
        whole = self._group if self._second is not None else None
        n = len(self.y_true) if whole is None else int(whole[-1]) + 1
        validation.check_aligned(
            *columns, ("groups", groups), *(() if by is None else validation.named_columns(by))
        )
        if groups is not None:
            number = validation.numbered_groups(groups, n)
            self._group, self._has_groups = number if whole is None else number[whole], True
        if by is not None:
            names, places = validation.rows_by_segment(by, n)
            if whole is not None:
                numbers = np.empty(n, np.int64)
                for k, at in enumerate(places.values()):
                    numbers[at] = k
                places = {key: np.flatnonzero(numbers[whole] == k) for k, key in enumerate(places)}
            self._segments = names, places

    def _with_costs(self, costs: Floats, *columns: tuple[str, Any]) -> Self:
        """The same rows with the costs of each, which were checked; `columns` are all that the
        caller gave.
        """
        self._refuse_cells("costs of each case need")
        if self._ordered or self._costs is not None:
            raise InputError(
                "costs of each case go with the rows as they came: pass them with the sample of these rows"
            )
        validation.check_aligned(*columns)
        whole = (
            np.arange(len(self.y_true)) if self._second is None else np.cumsum(~self._second) - 1
        )
        n = int(whole[-1]) + 1
        if len(costs) != n:
            raise InputError(
                f"costs of each case must be as many as the rows; there are {len(costs):,} for {n:,} rows"
            )
        found = copy.copy(self)
        found._costs = costs[whole]
        return found

    @classmethod
    def _from_cells(
        cls, cells: CellTable, weight_name: str = "sample_weight", forecasts: tuple[str, ...] = ()
    ) -> Self:
        """Make a compressed sample of its sums; those of two forecasts are by pairs of cells (see
        `_pair_cells`).
        """
        self = object.__new__(cls)
        self._hold(cells, None, weight_name)
        self.forecasts = forecasts
        return self

    @classmethod
    def _from_distinct(
        cls, table: DistinctTable, n: int, label: NDArray[np.uint8] | None = None
    ) -> Self:
        """Make a sample of `n` rows that are pooled and sorted already, without checking or sorting
        them again.

        This is for resampling, which draws many samples with the same predictions. `label` has the
        outcomes, if every entry of the table is one row.
        """
        if label is None:
            weight = table.by_outcome().ravel()
            outcome = np.tile(np.array([0, 1], np.uint8), len(table.prob))
            rows = validation.Rows(
                label=outcome,
                prob=np.repeat(table.prob, 2),
                weight=weight,
                names=validation.ColumnNames(),
            )
        else:
            rows = validation.Rows(
                label=label, prob=table.prob, weight=None, names=validation.ColumnNames()
            )
        negative, positive = float(table.negative.sum()), float(table.positive.sum())
        self = cls._of_known(rows, n, negative + positive)
        self.event_rate, self.effective_n = positive / (negative + positive), float(n)
        self._events = round(self.event_rate * n)
        self._distinct = table
        return self

    @classmethod
    def _of_known(cls, rows: validation.Rows, n: int, total: float) -> Self:
        """Make a sample of rows that were checked and counted already; passes over them wait until
        they are needed.
        """
        self = object.__new__(cls)
        self.n, self.total_weight = n, total
        self._begin(first_grid(rows), {}, rows)
        return self

    @classmethod
    def from_table(cls, rows: Any) -> Self:
        """Read the result of a `rainproof.io.sql` statement, wherever it was run, as a compressed
        sample.

        Parameters
        ----------
        rows : table, cursor or iterable
            A pandas, Polars or PyArrow table, a database cursor, a mapping of columns, or an
            iterable of rows that are mappings or tuples in the statement's order. For segments see
            `Segments.from_table`.

        Raises
        ------
        InputError
            If the rows are not the result of such a statement, or if predictions, outcomes or
            weights in the database break a rule; the message has their count.
        """
        from rainproof.core.segments import read_table  # which imports this module

        found = read_table(rows)
        if not isinstance(found, Sample):
            raise InputError(
                f"rows are of segments by {', '.join(found.by)}: read them with Segments.from_table"
            )
        return cls._from_cells(found._cells)

    def _hold(self, cells: CellTable, rows: validation.Rows | None, weight_name: str) -> None:
        if rows is not None and rows.weight is None:
            self.n, self.total_weight = len(rows), float(len(rows))
        else:
            self.n, self.total_weight = int(cells.count.sum()), cells.total_weight(weight_name)
        self._begin(cells.m, {cells.m: cells}, rows)

    def _begin(self, grid: int, passes: dict[int, CellTable], rows: validation.Rows | None) -> None:
        """Start with what is known of the rows, or with the sums alone."""
        self._first_grid, self._passes, self._rows = grid, passes, rows
        self._distinct, self._sums, self._by_grid, self._losses = None, {}, {}, {}
        if rows is None:
            self.grid, self.sample_weight, self.counts = (
                grid,
                passes[grid].weight[0],
                passes[grid].count,
            )
        else:
            self.grid = self.counts = None
            self.sample_weight = None if rows.weight is None else read_only(rows.weight)

    @cached_property
    def y_true(self) -> NDArray[Any]:
        """The outcomes, 0 or 1."""
        label = self._cells.rows()[0] if self._rows is None else self._rows.label
        # signed: 2 y - 1 must not be 255
        return read_only(label.view(np.int8) if label.dtype == np.uint8 else label)

    @cached_property
    def y_prob(self) -> NDArray[Any]:
        """The predicted probabilities of the event."""
        self._refuse_several()
        return read_only(self._cells.rows()[1] if self._rows is None else self._rows.prob)

    @cached_property
    def event(self) -> NDArray[np.bool_]:
        """Whether each row has the event."""
        event: NDArray[np.bool_] = np.equal(self.y_true, 1)
        return event

    @property
    def base_rate(self) -> validation.BaseRate | None:
        """The event rate of the population, or its range, if stated."""
        if self._rates is None or self._rates[0] < self._rates[1]:
            return self._rates
        return self._rates[0]

    def _at_rates(self, rates: tuple[float, float]) -> Self:
        """The same rows for a population with this base rate; of a range, with the weights of its
        middle in log odds.

        Given the outcomes, rows are independent: that is what everything proven of such a sample
        rests on.
        """
        special = (
            self._weighted,
            self._has_groups,
            self._second is not None,
            self._segments is not None,
        )
        for taken, what in zip(
            special, ("sample_weight", "groups", "fractional outcomes", "by"), strict=True
        ):
            if taken:
                raise InputError(
                    f"base_rate cannot be combined with {what}: rows must be independent, and weigh alike"
                )
        events, others = self._events, self.n - self._events
        if not events or not others:
            raise InputError(
                f"base_rate needs rows of both outcomes; all {self.n:,} have {int(events > 0)}"
            )
        low, high = rates
        odds = math.sqrt(low / (1 - low)) * math.sqrt(high / (1 - high))
        rate = low if low == high else odds / (1 + odds)
        found = self._weighing(self.n * (1 - rate) / others, self.n * rate / events)
        found._rates, found._events, found.event_rate = rates, events, rate
        found.total_weight, found.effective_n = (
            float(self.n),
            1 / ((1 - rate) ** 2 / others + rate**2 / events),
        )
        return found

    def _weighing(self, without: float, with_event: float) -> Self:
        """The same rows with a weight by outcome; without weights if it is 1."""
        if self._rows is None:
            cells = self._cells
            weight = cells.count * np.where(cells.slot & 1, with_event, without)
            rise, squares = cells.rise * (weight / cells.weight[0]), weight**2 / cells.count
            table = replace(
                cells, weight=np.stack([weight, 0 * weight]), rise=rise, squares=squares
            )
            found = type(self)._from_cells(table, forecasts=self.forecasts)
            found.grid = self.grid  # None for pairs of recalibrated cells
        else:
            each = None if without == with_event == 1 else np.where(self.event, with_event, without)
            rows = replace(self._rows, weight=each)
            found = type(self)._of_known(rows, self.n, float(self.n))
            found.forecasts, found._ordered = self.forecasts, self._ordered
        found._several, found._costs, found._amounts = self._several, self._costs, self._amounts
        return found

    def _as_drawn(self) -> Self:
        """The rows without a base rate."""
        return self._weighing(1.0, 1.0)

    def _before_outcomes(self) -> Sample:
        """The same predictions and weights without an event, for what must not depend on outcomes."""
        if self._rows is None:
            cells = self._cells
            columns = cells.count, cells.weight, cells.rise, cells.squares
            return Sample._from_cells(CellTable.pooled(cells.m, cells.slot & ~1, *columns))
        weight = None if self._rates is not None else self._rows.weight
        rows = replace(self._rows, label=np.zeros(len(self.y_true), np.uint8), weight=weight)
        return Sample._of_known(rows, self.n, self.total_weight)

    def _ends(self) -> list[Sample]:
        """The sample at both ends of the range of base rates; alone if there is none."""
        rates = self._rates
        if rates is None or rates[0] == rates[1]:
            return [self]
        return [self._at_rates((rate, rate)) for rate in rates]

    def _matched(self, rng: np.random.Generator) -> Sample:
        """Draws of equal weight, each with the mean of the population: rows of either outcome,
        matched at random.

        There are as many as rows of the rarer outcome. Given the outcomes they are independent, and
        each is one group of rows, of which those with the event weigh the base rate. Of cells, a
        number of rows is drawn of each outcome, at the lower edges.
        """
        sample, at = self.in_order(), np.arange(len(self.y_true))
        several = sample._several
        if sample.grid is not None and sample.forecasts:
            cells = zip(sample.forecasts, sample._pair_cells(), strict=True)
            several = {name: cell / sample.grid for name, cell in cells}
        if sample.counts is not None:
            some = [np.where(sample.event == y, sample.counts, 0) for y in (False, True)]
            kept = (
                rng.multivariate_hypergeometric(c, min(int(c.sum()), _MATCHED), method="marginals")
                for c in some
            )
            at = np.repeat(at, sum(kept))
        event = sample.event[at]
        numbers = int(np.count_nonzero(~event)), int(np.count_nonzero(event))
        group, draws = np.empty(len(at), np.int64), min(numbers)
        for y in (False, True):
            group[event == y] = rng.permutation(numbers[y]) % draws
        size = np.bincount(2 * group + event, minlength=2 * draws)
        weight = np.where(event, self.event_rate, 1 - self.event_rate) / size[2 * group + event]
        if several is not None:
            prob = several[sample.forecasts[0]]
        else:
            prob = (
                (sample._cells.slot >> 1) / sample._cells.m
                if sample._rows is None
                else sample._rows.prob
            )
        rows = validation.Rows(event.view(np.uint8), prob[at], weight, validation.ColumnNames())
        found = Sample._of_known(rows, len(at), float(draws))
        found._group, found._has_groups = group, True
        if several is not None:
            found.forecasts, found._several = (
                sample.forecasts,
                {name: p[at] for name, p in several.items()},
            )
        return found

    def _middle(self) -> Sample:
        """The sample at one base rate, that in the middle of a range."""
        rate = self.event_rate
        return self if self._rates in (None, (rate, rate)) else self._at_rates((rate, rate))

    @property
    def prob(self) -> Floats:
        """The predictions as doubles."""
        return np.asarray(self.y_prob, np.float64)

    @property
    def mass(self) -> Floats:
        """The weight of each row; 1 without weights."""
        weight = self.sample_weight
        return np.ones(len(self.y_true)) if weight is None else np.asarray(weight, np.float64)

    @cached_property
    def _events(self) -> int:
        """The number of rows with the event."""
        cells = self._cells
        return int(cells.count[cells.slot & 1 == 1].sum())

    @cached_property
    def event_rate(self) -> float:
        """The weighted share of rows with the event."""
        if self._second is None and self._events in (0, self.n):
            return self._events / self.n
        cells = self._cells
        return float(cells.weight[0][cells.slot & 1 == 1].sum()) / self.total_weight

    @cached_property
    def mean_prediction(self) -> float:
        """The weighted mean of the predictions."""
        cells = self._cells
        return (
            float((cells.slot >> 1) @ cells.weight[0] + cells.rise[0].sum())
            / cells.m
            / self.total_weight
        )

    @cached_property
    def _draw_weight(self) -> Floats:
        """The weight of each group of rows."""
        assert self._group is not None
        return np.bincount(self._group, self.sample_weight).astype(np.float64, copy=False)

    @cached_property
    def n_draws(self) -> int:
        """The number of independent draws: of groups with some weight, else of rows."""
        return self.n if self._group is None else int(np.count_nonzero(self._draw_weight))

    @property
    def groups(self) -> int | None:
        """The number of groups, if rows were drawn in groups."""
        return self.n_draws if self._has_groups else None

    @cached_property
    def effective_n(self) -> float:
        """The number of draws of equal weight that are as many: ``(sum w)^2 / sum w^2`` over draws."""
        if self._group is not None:
            share = self._draw_weight / self.total_weight
            return 1 / float((share * share).sum())  # a dot product would start threads
        if (self._rows is not None and self._rows.weight is None) or (
            self.counts is not None and self.grid is None
        ):
            return float(self.n)
        return self.total_weight**2 / float(self._cells.squares.sum())

    @property
    def _weighted(self) -> bool:
        """Whether rows have weights, other than the numbers of rows in cells."""
        weights = self.sample_weight
        if self._rates is not None:
            return False
        if weights is None or self._second is None:
            return weights is not None and (
                self.counts is None or not np.array_equal(weights, self.counts)
            )
        whole = np.add.reduceat(weights, np.flatnonzero(~self._second))
        return not np.allclose(whole, whole[0], rtol=1e-12)

    @cached_property
    def digest(self) -> int:
        """One number for the rows, in whatever order they come, which decides how an integer seed
        deals them.

        It is of predictions, outcomes and relative weights, each to 25 binary digits, and of which
        rows belong together; not of names, segments, costs, a base rate, nor of how columns are
        stored. Of a compressed sample it is of the sums.
        """
        weight, counts = self.sample_weight, self.counts
        rows = digests.of_rows(self.event, self._all_predictions(), self._relative_weight())
        # rows of weight zero are no draws
        some = slice(None) if weight is None else np.flatnonzero(weight)
        if self._group is None and self._second is None:
            return digests.of_all(rows[some], 1 if counts is None else counts[some])
        whole = np.arange(len(rows)) if self._second is None else np.cumsum(~self._second) - 1
        units = digests.of_units(rows[some], whole[some])
        if self._has_groups:
            assert self._group is not None
            units = digests.of_units(
                units, self._group[some][np.flatnonzero(np.diff(whole[some], prepend=-1))]
            )
        return digests.of_all(units)

    def _relative_weight(self) -> Floats | None:
        """The weight of a row of each entry over the mean weight of a row; None without weights but
        those of a rate.
        """
        if self.sample_weight is None or self._rates is not None:
            return None
        each = self.mass if self.counts is None else self.mass / self.counts
        return each * (self.n / self.total_weight)

    def _all_predictions(self) -> list[Floats]:
        """The predictions of each forecast; of compressed pairs, the lower edges of their cells."""
        if self._several is not None:
            return [self._predictions(name) for name in self.forecasts]
        if self._rows is None and self.forecasts:
            return [cell / self._cells.m for cell in self._pair_cells()]
        return [self.prob]

    def __copy__(self) -> Self:
        found = object.__new__(type(self))
        vars(found).update(vars(self))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        # Not what can be computed again from the rows, or from the sums.
        kept = {name: value for name, value in vars(self).items() if name in _STATE}
        cells = None if self._rows is not None else self._cells
        return _restored, (type(self), cells, self._rows, kept)

    def __getitem__(self, name: str) -> Sample:
        """Return the sample of one of several forecasts, for the same rows."""
        if name not in self.forecasts:
            known = ", ".join(self.forecasts) or "one forecast without a name"
            raise KeyError(f"{name!r} is not among the forecasts of the sample: {known}")
        if self._several is None:
            raise InputError(
                "a sample of two forecasts that is compressed keeps pairs of cells: scan each by itself"
            )
        return self._with(self._several[name])

    def _with(self, prob: NDArray[Any]) -> Self:
        """The same rows with other predictions, which were checked already."""
        rows = validation.Rows(self.y_true, prob, self.sample_weight, validation.ColumnNames())
        found = type(self)._of_known(rows, self.n, self.total_weight)
        vars(found).update({name: value for name, value in vars(self).items() if name in _OF_ROWS})
        found.counts = self.counts
        return found

    def _at(self, at: Any) -> Self:
        """Some of the rows, by their places; none of them changes its group, and some must have
        weight.
        """
        assert self._rows is not None
        part = self._rows.at(at)
        if self._rates is not None:  # which sets the weights anew
            part = replace(part, weight=None)
        if part.weight is None or not part.weight.any():
            found = type(self)._of_known(
                part, 0 if part.weight is not None else len(part), float(len(part))
            )
        else:
            found = type(self)._from_rows(part)
        if self._second is not None:
            found._second = self._second[at]
            found.n -= int(found._second.sum())
        found._group, found._has_groups = (
            None if self._group is None else self._group[at],
            self._has_groups,
        )
        found._costs = None if self._costs is None else self._costs[at]
        if self._several is not None:
            found.forecasts, found._several = (
                self.forecasts,
                {name: p[at] for name, p in self._several.items()},
            )
        return found if self._rates is None else found._at_rates(self._rates)

    @classmethod
    def _join(cls, parts: Sequence[Sample]) -> Sample:
        """All rows of samples that were taken from one; cells are added, but for those of a
        `_pair`.
        """
        parts = [part for part in parts if part.n] or parts[:1]
        first = parts[0]
        if len(parts) == 1:
            return first
        if first.grid is not None:
            return sum(parts[1:], first)

        def column(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if found[0] is None else np.concatenate(found)

        several = None
        if first._several is not None:
            several = {
                name: np.concatenate([part._predictions(name) for part in parts])
                for name in first.forecasts
            }
        prob = column("y_prob") if several is None else several[first.forecasts[0]]
        rows = validation.Rows(
            column("y_true"), prob, column("sample_weight"), validation.ColumnNames()
        )
        found = cls._of_known(
            rows, sum(part.n for part in parts), sum(part.total_weight for part in parts)
        )
        found._group, found._has_groups, found._second = (
            column("_group"),
            first._has_groups,
            column("_second"),
        )
        found._costs = column("_costs")
        found.forecasts, found._several, found.counts = first.forecasts, several, column("counts")
        return found

    def _pair(self, old: Floats, new: Floats) -> Self:
        """The same rows with two forecasts, "old" and "new"."""
        found = copy.copy(self)
        for name in ("y_prob", "digest"):
            vars(found).pop(name, None)
        found.grid, found.forecasts, found._several = None, ("old", "new"), {"old": old, "new": new}
        return found

    def _refuse_several(self) -> None:
        """Refuse several forecasts, for what is about one."""
        if len(self.forecasts) > 1:
            names = ", ".join(map(repr, self.forecasts))
            raise InputError(
                f"the sample has several forecasts, {names}: choose one, as sample[{self.forecasts[0]!r}]"
            )

    def _refuse_draws(self, what: str) -> None:
        """Refuse rows that depend on each other, for what redraws the outcome of each row by
        itself.
        """
        if self._has_groups and self._group is not None:
            raise InputError(
                f"{what} takes no groups: it needs independent rows",
                hint="; ",
                remedy="assess(..., groups=...) and confidence_interval(..., groups=...) allow for groups",
            )
        if self._second is not None:
            raise InputError(
                f"{what} cannot take outcomes that are shares of the event: it redraws each as 0 or 1"
            )

    def _refuse_cells(self, what: str) -> None:
        """Refuse a compressed sample, for what needs its rows one by one."""
        if self.grid is not None:
            raise InputError(f"{what} rows: a compressed sample does not keep them")

    def _own(self) -> Self:
        """The same with copies of the rows, for results of which a part is computed later: callers
        reuse arrays.
        """
        if self._rows is None:
            return self
        kept = copy.copy(self)
        rows = kept._rows = copy.deepcopy(self._rows)
        kept.counts, kept.sample_weight = (
            None,
            None if rows.weight is None else read_only(rows.weight),
        )
        for name in ("y_true", "y_prob"):
            vars(kept).pop(name, None)
        return kept

    def ungrouped(self) -> Sample:
        """The same rows, each taken as a draw of its own."""
        if self._group is None and not self._has_groups:
            return self
        found = self._for_other_draws()
        found._group, found._has_groups, found._second = None, False, None
        return found

    def _of_single_rows(self) -> Sample:
        """The same rows as independent draws, if each group is one row; else the sample as it is.

        Their groups are still counted: other samples of the population may have larger ones, so
        what is assumed of sizes is assumed here too.
        """
        if (
            self._group is None
            or self._second is not None
            or len(np.unique(self._group)) < len(self._group)
        ):
            return self
        found = self.ungrouped()
        found._has_groups = True
        return found

    def _for_other_draws(self) -> Self:
        """A copy without what was counted over draws."""
        found = copy.copy(self)
        for name in ("n_draws", "_draw_weight", "effective_n", "digest", "_ordered"):
            vars(found).pop(name, None)
        return found

    def by_segment(self) -> Segments:
        """Return a sample for each segment of `by`, as a mapping."""
        from rainproof.core.segments import Segments

        if self._segments is None:
            raise InputError(
                "the sample has no segments: make it with by, or scan the source with by"
            )
        names, places = self._segments
        some = {
            key: at
            for key, at in places.items()
            if self.sample_weight is None or self.sample_weight[at].any()
        }
        return Segments.from_places(self, names, some)

    def map(self, pieces: PiecewiseMap, grid: int | None = None) -> Sample:
        """Apply a map to the predictions.

        Of a compressed sample it is applied to the mean prediction of each cell and outcome, as
        rows are pooled there; the result is compressed to its grid, or to `grid`.
        """
        return self._moved(pieces(self.y_prob), grid)

    def _moved(self, prob: Floats, grid: int | None = None) -> Sample:
        """The same rows with other predictions; those of cells are pooled on its grid, or on
        `grid`.
        """
        if self.grid is None:
            return self._with(prob)
        m = self.grid if grid is None else grid
        event, _, weight, count = self._cells.rows()
        value = m * prob
        cell = np.floor(value).astype(np.int64)
        rise = weight * (value - cell)
        cells = CellTable.from_doubles(
            m, 2 * cell + event, count, weight, rise, self._cells.squares
        )
        return self._of_same_outcomes(cells)

    def _of_same_outcomes(self, cells: CellTable) -> Sample:
        """The sums of the same rows, with other predictions or on another grid."""
        found = Sample._from_cells(cells)
        found._keep_rates(self)
        found._has_groups = self._has_groups
        return found

    def _keep_rates(self, other: Sample) -> None:
        """Take the base rate of a sample of the same rows, whose weights these have already."""
        if other._rates is not None:
            vars(self).update(
                {name: value for name, value in vars(other).items() if name in _OF_RATES}
            )

    def curve(self, old: str, new: str) -> SwitchCurve:
        """What acting on one of several forecasts in place of another loses at each threshold."""
        if self.forecasts and self._several is None:
            cells = self._cells
            first, second = self._pair_cells()
            unequal = None if cells.has_equal_weights else cells.squares
            return SwitchCurve._from_cells(
                first, second, cells.slot & 1 == 1, cells.weight[0], cells.m, unequal
            )
        a, b = (self._predictions(one) for one in (old, new))
        event, weight, group = self.event, self.sample_weight, self._group
        if self.counts is not None and self._rates is None:
            return replace(
                SwitchCurve._from_rows(event, a, b, self.counts.astype(np.float64)), squares=None
            )
        if weight is not None:
            # By a power of two, so that squares of weights neither vanish nor overflow.
            some, weight = (
                weight > 0,
                np.ldexp(weight.astype(np.float64), -math.frexp(float(weight.max()))[1]),
            )
            if not some.all():
                event, a, b, weight = event[some], a[some], b[some], weight[some]
                group = None if group is None else group[some]
        together = None if group is None else np.bincount(group, weight)[group].astype(np.float64)
        return SwitchCurve._from_rows(event, a, b, weight, together)

    def _predictions(self, forecast: str) -> Floats:
        """The predictions of one of several forecasts, as doubles."""
        assert self._several is not None
        return np.ascontiguousarray(self._several[forecast], np.float64)

    def _pair_cells(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The cells of the first and of the second forecast, of each entry of a compressed sample
        of two.
        """
        first, slot = np.divmod(self._cells.slot, slot_count(self._cells.m))
        return first.astype(np.int32), (slot >> 1).astype(np.int32)

    @property
    def _divisible(self) -> bool:
        """Whether its draws can be told apart, to divide them: rows, or cells whose rows have equal
        weights.
        """
        return self.grid is None or self._rates is not None or self._cells.has_equal_weights

    def in_order(self) -> Sample:
        """Return the same rows in an order that does not depend on how they came, and so does
        nothing drawn from them.

        Rows are sorted by prediction, outcome, weight, segment and costs; rows that are alike in
        all of that can take each other's place. Predictions and weights are first rounded to 25
        binary digits, so that the last bit decides only between rows that are alike in all else.
        Groups, which stay together, are sorted by their rows, not by their names, and numbered in
        this order. A compressed sample is in order already. The rows are copied.
        """
        if self._rows is None or self._ordered:
            return self
        # without those of a base rate: they are alike for rows that are alike
        weight = self._relative_weight()
        special = (weight, self._group, self._segments, self._several, self._costs)
        if all(column is None for column in special):
            key = digests.with_outcome(self.prob, self.event)
            key.sort()
            event, prob = digests.without_outcome(key)
            rows = validation.Rows(event, prob, None, self._rows.names)
            found = type(self)._of_known(rows, self.n, self.total_weight)
            found._ordered, found._has_groups = True, self._has_groups
            if self._rates is not None:
                return found._at_rates(self._rates)
            found._passes = dict(self._passes)  # sums without weights are the same in any order
            return found
        n, second = len(self.y_true), self._second
        # the row that each part belongs to
        whole = np.arange(n) if second is None else np.cumsum(~second) - 1
        first = np.flatnonzero(np.diff(whole, prepend=-1))
        names, places = self._segments or ((), {})
        labels, segment = sorted(places, key=validation.label_order), np.zeros(n, np.int64)
        for number, label in enumerate(labels):
            segment[places[label]] = number
        several = [self._rows.prob] if self._several is None else list(self._several.values())
        exact = [prob[first] for prob in several]  # keys are sorted by the last one first
        alike = [] if self._costs is None else [*self._costs[first].T]
        alike += [segment[first]] * bool(labels)
        if weight is not None:
            exact.append(self.mass[first])
            alike.append(digests.rounded(weight[first]))
        if second is not None:
            exact.append(np.bincount(whole, self.mass))
            alike.append(digests.rounded(np.bincount(whole, weight)))
        alike += [self.event[first], *(digests.rounded(prob) for prob in exact[: len(several)])]
        rank, at, group = np.empty(len(first), np.int64), np.lexsort([*exact, *alike]), self._group
        if group is not None and self._has_groups:
            # the same for rows that are alike
            kinds = [_ranks(at, alike), _ranks(at, [*exact, *alike])]
            # as hardly any rows differ in the last bits alone
            same = np.array_equal(kinds[0], kinds[1])
            group = places_of_groups(group[first], *kinds[same:])[group]
            at = np.argsort(group[first] * len(first) + kinds[1], kind="stable")
        rank[at] = np.arange(len(first))
        order = np.argsort(rank[whole], kind="stable")
        found = self._at(order)
        if group is not None:
            found._group = (group if self._has_groups else rank[whole])[order]
        found._ordered = True
        if self.sample_weight is None:
            found._passes = dict(self._passes)
        if labels:
            found._segments = (
                names,
                {label: np.flatnonzero(segment[order] == k) for k, label in enumerate(labels)},
            )
        return found

    def _floor(self) -> Sample:
        """Round the predictions of cells down to the grid, with as many equal draws as rows; rows
        stay as they are.

        What is drawn from cells must not depend on where the rows lie within them.
        """
        return self if self.grid is None else self._thinned(self._cells.count)

    def _as_said(self) -> Sample:
        """As many equal draws as rows, at the mean prediction of their cell; rows stay as they are.

        For what rows gain by acting from a threshold on: round predictions are often equal to it,
        and do not act at the lower edge of their cell.
        """
        if self.grid is None:
            return self
        at = np.unique(self._cells.slot >> 1, return_inverse=True)[1]
        return self._floor()._with(self.distinct().prob[at])

    def _thinned(self, counts: Ints) -> Sample:
        """So many rows of each cell and outcome, at the lower edge of the cell."""
        cells, some = self._cells, counts > 0
        if not self._divisible:
            raise InputError(
                "unequal weights need rows: a compressed sample cannot be split row by row"
            )
        count = counts[some].astype(np.int64, copy=False)
        weight = np.stack([count.astype(np.float64), np.zeros(len(count))])
        table = CellTable(
            cells.m, cells.slot[some], count, weight, np.zeros_like(weight), weight[0]
        )
        if not len(count):
            found = object.__new__(Sample)
            found.n, found.total_weight, found.event_rate = 0, 0.0, math.nan
            found._begin(cells.m, {cells.m: table}, None)
            return found
        found = Sample._from_cells(table)
        found._has_groups = self._has_groups
        return found if self._rates is None else found._at_rates(self._rates)

    def split(
        self, *, folds: int, held_out: Sequence[float] = (), rng: np.random.Generator | None = None
    ) -> list[Sample]:
        """Divide the draws at random: shares of them are held out, and the rest are dealt to equal
        folds.

        Returns the folds, then the parts that are held out. Of cells the counts are divided; every
        part is then at the lower edges (see `_floor`).
        """
        part = self._parts(folds=folds, held_out=held_out, rng=rng)
        if self.grid is not None:
            return [self._thinned(counts) for counts in part]
        return [self._at(part == number) for number in range(folds + len(held_out))]

    def _parts(
        self, *, folds: int, held_out: Sequence[float] = (), rng: np.random.Generator | None = None
    ) -> Ints:
        """How `split` divides: the number of the part of each row; of cells, the number of rows in
        each part.
        """
        rng = np.random.default_rng(rng)
        if self.grid is not None:
            fit = (1 - sum(held_out)) / folds
            return rng.multinomial(self._cells.count, [fit] * folds + list(held_out)).T

        def dealt(units: int) -> Ints:
            place = rng.permutation(units)
            part, start = place % folds, 0
            for number, share in enumerate(held_out):
                size = round(share * units)
                part = np.where((place >= start) & (place < start + size), folds + number, part)
                start += size
            return part

        if self._rates is not None:  # rows of each outcome by themselves: their numbers are given
            part = np.empty(len(self.y_true), np.int64)
            part[self.event], part[~self.event] = dealt(self._events), dealt(self.n - self._events)
            return part
        if self._group is not None:
            return dealt(int(self._group.max()) + 1)[self._group]
        return dealt(len(self.y_true))

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
        """Return the grids of the sums that `_cell_sums` chooses from, from the cheapest to the
        finest.

        For many rows up to three further passes come before the sort that the finest grid needs. A
        compressed sample has its own grid only.
        """
        if self._rows is None:
            return [self._first_grid]
        if len(self._rows.prob) < _MANY_ROWS:
            return [self._first_grid, FINEST_GRID]
        finer = {
            *(_grid(fineness, self.n, LARGEST_GRID) for fineness in (5, 16)),
            LARGEST_GRID,
            FINEST_GRID,
        }
        return [self._first_grid, *sorted(grid for grid in finer if grid > self._first_grid)]

    def _cell_sums(self, m: int) -> Sums:
        """Return the sums on a grid at least as fine as ``1/m``, the cheapest to compute.

        The grid depends on `m` and the rows alone, so that no earlier call, nor one in another
        thread, can change the last bit.
        """
        first = self._first_grid
        grid = first if m <= first else next((g for g in self._grids() if g >= m), FINEST_GRID)
        found = self._sums.get(grid)
        if found is None:
            table = self._pass(grid) if grid < FINEST_GRID else self.distinct()
            found = self._sums[grid] = table.sums()
        return found

    def on_grid(self, grid: int, rounding: Rounding = "soft") -> RoundedSample:
        """Return the sample rounded to multiples of ``1/grid``, with its losses; it is kept unless
        it is large.
        """
        found = self._by_grid.get((grid, rounding))
        if found is None:
            fine, slot, weight, rise = self._cell_sums(grid)
            shift = fine.bit_length() - grid.bit_length()
            points = bins(slot, weight, rise, grid, shift, check_rounding(rounding))
            found = RoundedSample(grid, *points, self.total_weight)
            if len(found.index) <= _KEPT_POINTS:
                self._by_grid[grid, rounding] = found
        return found

    def _worst(self, m: int, soft: bool) -> tuple[float, int]:
        """Return the same loss as `on_grid`'s `worst`, without the rounded sample; it is kept."""
        found = self._losses.get((m, soft))
        if found is None:
            # without `sums`: the first row of a table's pairs is the sum itself
            if m <= self._first_grid:
                cells = self._cells
                found = worst_on_grid(cells.slot, cells.weight, cells.rise, cells.m, m, soft)
            else:
                grid, slot, weight, rise = self._cell_sums(m)
                found = worst_on_grid(slot, weight, rise, grid, m, soft)
            self._losses[m, soft] = found
        return found

    def _cell_table(self, m: int) -> CellTable:
        """Return sums, counts and squared weights on a grid as fine as ``1/m`` (or on that of the
        compression).
        """
        return self._cells if self._rows is None else self._pass(max(m, self._first_grid))

    def _bin_sums(self, n: int, edges: Floats) -> Floats:
        """Return the sums in bins of width ``1/n``, by one pass over the rows (see `bin_table`).

        After compression all predictions of a cell go to the bin of their mean.
        """
        return (
            bin_table(self.distinct(), edges)
            if self._rows is None
            else bin_rows(self._rows, n, edges)
        )

    def distinct(self) -> DistinctTable:
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

    def compress(self, grid: int = 2**16) -> Sample:
        """Replace all rows of one outcome in one cell ``[k/m, (k+1)/m)`` by a single weighted row.

        `soft_binned_cdl` and its profile stay the same for every grid up to `grid`. The Notes of
        each other measure bound its change: most change by about ``1/m``; CDL and ECE, which depend
        on each distinct prediction, become those of the cells. The result has at most ``2 (m + 1)``
        rows, and ``a.compress(grid) + b.compress(grid)`` is the sample of the rows of both (``sum``
        adds many). Cells keep no groups, and no outcomes that are shares: what is said of them
        would be about more draws than there are.

        Parameters
        ----------
        grid : int
            A power of two, up to 2**20.
        """
        if self._has_groups and self._group is not None:
            raise InputError(
                "groups need rows: compress ungrouped(), if rows may be taken as independent"
            )
        if self._second is not None:
            raise InputError(
                "outcomes that are shares of the event need rows: cells would count a row twice"
            )
        if self._costs is not None:
            raise InputError("costs of each case need rows: cells do not keep them")
        return self._pooled(check_grid(grid))

    def _pooled(self, grid: int) -> Sample:
        """The same as `compress`, for what does not depend on which rows belong together."""
        self._refuse_several()
        return self._of_same_outcomes(
            self._cells.coarsen(grid) if self._rows is None else sum_cells(self._rows, grid)
        )

    def save(
        self, path: str | os.PathLike[str], *, grid: int = 2**16, overwrite: bool = False
    ) -> None:
        """Write the sample to a small Parquet file, completely or not at all; `rainproof.load`
        reads it.

        The file has one row for each occupied (cell, outcome), and comes back to the last bit.
        Samples of different days can be added after loading: the sum is the sample of all their
        rows. Needs PyArrow.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        grid : int
            A sample that holds rows is compressed to this grid first: a power of two, up to 2**20.
        overwrite : bool
            Whether it may replace a file that holds anything else. A stored sample is replaced in
            any case.

        Examples
        --------
        >>> import rainproof, tempfile, os
        >>> monday = rainproof.Sample([0, 1, 1], [0.1, 0.8, 0.6])
        >>> path = os.path.join(tempfile.mkdtemp(), "2026-03-02.parquet")
        >>> monday.save(path)
        >>> rainproof.load(path)
        Sample(n=3, events=2, grid=65536)
        """
        if self._rates is not None:
            raise InputError(
                "a sample with a base_rate cannot be saved: save the rows, and state the rate when you use it"
            )
        save_table(self, path, grid, overwrite=overwrite)

    def __add__(self, other: object) -> Sample:
        if not isinstance(other, Sample):
            return NotImplemented
        if self.grid is None or other.grid is None:
            raise InputError(
                "only compressed samples can be added: call compress(grid) on both first"
            )
        if self._rates is not None or other._rates is not None:
            raise InputError(
                "samples with a base_rate cannot be added: add them first, then state the rate"
            )
        if self.forecasts != other.forecasts:
            raise InputError("samples must have the same forecasts to be added")
        return Sample._from_cells(self._cells.merge(other._cells), forecasts=self.forecasts)

    def __radd__(self, other: object) -> Sample:
        # the start value of `sum`
        return self if type(other) is int and other == 0 else NotImplemented

    def __repr__(self) -> str:
        cells = self._cells
        rate = (
            f"events={self._events}"
            if self._second is None
            else f"event_rate={self.event_rate:.6g}"
        )
        grid = "" if self.grid is None else f", grid={self.grid}"
        uneven = (
            not np.array_equal(cells.weight[0], cells.count)
            if self._second is None
            else self._weighted
        )
        weighted = (
            f", total_weight={self.total_weight:.6g}" if uneven and self._rates is None else ""
        )
        weighted += "" if self._rates is None else f", base_rate={self.base_rate}"
        groups = "" if self.groups is None else f", groups={self.groups}"
        forecasts = f", forecasts={self.forecasts}" if self.forecasts else ""
        return f"Sample(n={self.n}, {rate}{grid}{weighted}{groups}{forecasts})"


def _ranks(order: Ints, keys: Sequence[NDArray[Any]]) -> Ints:
    """The ranks of rows that these keys sort in this order, the same for rows with the same keys."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(
        np.append(False, np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0))
    )
    return rank


_OF_RATES = ("_rates", "_events", "event_rate", "effective_n")
_OF_DRAWS = ("_group", "_has_groups", "_second", "_segments")
_OF_ROWS = (*_OF_DRAWS, *_OF_RATES, "_costs", "event", "n_draws", "_draw_weight")
_STATE = (*_OF_DRAWS, *_OF_RATES, "_costs", "_several", "forecasts", "n", "total_weight")


def _restored(
    cls: type[Sample], cells: CellTable | None, rows: validation.Rows | None, kept: dict[str, Any]
) -> Sample:
    """Make a sample again after pickling."""
    if rows is not None:
        found = cls._from_rows(rows)
    else:
        assert cells is not None
        found = cls._from_cells(cells)
    vars(found).update(kept)
    return found


REFUSED = object()
"""The base rate of a function that takes none."""


def as_sample(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    names: validation.ColumnNames | None = None,
    base_rate: Any = REFUSED,
    rates: bool = False,
) -> Sample:
    """Return a `Sample` as it is, or make one of the rows: the first line of every public function.

    A function that hands on no `base_rate` takes none; with `rates` it also takes a range of them.
    """
    attached = groups is not None or by is not None
    if isinstance(y_true, Sample):
        if y_prob is not None or sample_weight is not None or pos_label is not None:
            raise InputError(
                "a Sample holds predictions, weights and labels already: pass it alone"
            )
        y_true._refuse_several()
        if groups is not None and y_true._has_groups:
            raise InputError("the Sample has groups already: pass it alone")
        sample = y_true._for_other_draws() if attached else y_true
        columns = []
    else:
        if y_prob is None:
            raise _without_predictions(y_true)
        rows = validation.as_rows(y_true, y_prob, sample_weight, pos_label, names=names)
        sample = Sample._from_rows(rows)
        columns = [(rows.names.label, y_true), (rows.names.prob, y_prob)]
    if attached:
        sample._attach(groups, by, *columns)
    return with_rate(sample, base_rate, rates=rates)


def _without_predictions(y_true: Any) -> InputError:
    classes = getattr(y_true, "classes", None)
    if isinstance(classes, tuple):  # of a `ClassSample`
        return validation.one_event(len(classes), "the sample")
    return InputError("y_prob is missing: pass y_true and y_prob, or one Sample")


def with_rate(sample: Sample, base_rate: Any, *, rates: bool = False) -> Sample:
    """State the base rate of a sample, or refuse one that it has."""
    if base_rate is not REFUSED and base_rate is not None:
        if sample._rates is not None:
            raise InputError("the Sample has a base_rate already: pass it alone")
        sample = sample._at_rates(validation.check_base_rate(base_rate))
    if sample._rates is None:
        return sample
    if base_rate is REFUSED:
        raise InputError(
            "this takes no base_rate: it is about the rows as they are, at the event rate that they have"
        )
    if not rates and sample._rates[0] < sample._rates[1]:
        raise InputError(f"base_rate must be one number here; it is a range, {sample.base_rate}")
    return sample


def as_paired(
    y_true: Any,
    forecasts: Mapping[str, Any],
    *,
    base_rate: Any = REFUSED,
    rates: bool = False,
    **columns: Any,
) -> Sample:
    """Return a sample of two forecasts as it is, or make one of the rows; `columns` are other
    arguments of `Sample`.
    """
    if isinstance(y_true, Sample):
        given = [name for name, value in {**forecasts, **columns}.items() if value is not None]
        if given:
            raise InputError(f"{given[0]} must not be given with a Sample, which holds it already")
        if len(y_true.forecasts) != 2:
            raise InputError(
                f"the Sample must have two forecasts; it has {len(y_true.forecasts) or 1}"
            )
        return with_rate(y_true, base_rate, rates=rates)
    missing = [name for name, prob in forecasts.items() if prob is None]
    if missing:
        raise InputError(
            f"{missing[0]} is missing: pass outcomes and two forecasts, or one Sample of two forecasts"
        )
    return with_rate(Sample(y_true, forecasts, **columns), base_rate, rates=rates)


class Accumulator:
    """Compress rows batch by batch, in memory that depends on `grid` alone.

    Accumulators of the same `grid` can be added, and pickled for other processes; threads can share
    one. The result does not depend on how the rows were split nor on their order (with weights,
    except for the last bit).

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

    __slots__ = (
        "_filled",
        "_lock",
        "_merged",
        "_other",
        "_seen",
        "_tables",
        "grid",
        "n",
        "pos_label",
    )

    def __init__(self, grid: int = 2**16, *, pos_label: Any = None) -> None:
        self.grid = check_grid(grid)
        self.pos_label = pos_label
        self.n = 0  # rows of positive weight
        self._seen = 0
        self._other: Any = None  # the label besides pos_label, once one was seen
        # A dense table for unweighted rows and one for weighted rows, 32 and 96 bytes a cell, made
        # when first needed.
        self._tables: dict[bool, NDArray[Any]] = {}
        self._filled = 0  # unweighted rows in the tables
        self._merged = CellTable.empty(self.grid)  # sums that were added
        self._lock = Lock()  # several threads may add their batches

    def update(
        self, y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> Accumulator:
        """Add a batch of rows; a batch with a bad row is refused and changes nothing."""
        self._add(validation.as_rows(y_true, y_prob, sample_weight, self.pos_label))
        return self

    def _add(self, rows: validation.Rows) -> None:
        """Check the rows and add them, or raise and change nothing."""
        weighted, n = rows.weight is not None, len(rows)
        with self._lock:
            rule = f"{rows.names.label} must hold {self.pos_label!r} and one other label"
            other = _one_label(self._other, rows.other, rule)
            if not weighted and self._filled + n > _FULL:
                self._merged, self._filled = self._sums(), 0
                self._tables.clear()
            if weighted not in self._tables or n >= 2 * self.grid:
                # New tables cost little beside so many rows, and are dropped if a row is bad.
                fresh = scan_in_threads(rows, self.grid)
                into = self._tables.setdefault(weighted, fresh[0])
                for table in fresh:
                    if table is not into:
                        absorb(into, table)
            else:
                rows.check()
                scan(rows.prob, rows.label, rows.weight, self.grid, self._tables[weighted], 0, n)
            self._other = other
            self._filled += 0 if weighted else n
            self._seen += n
            self.n += n if rows.weight is None else int(np.count_nonzero(rows.weight))

    def _sums(self) -> CellTable:
        cells = self._merged
        for table in self._tables.values():
            cells = cells.merge(CellTable.from_dense(self.grid, table))
        return cells

    def __add__(self, other: object) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        if self.pos_label != other.pos_label:
            raise InputError(
                f"accumulators must have the same pos_label to be added; they have {self.pos_label!r} and "
                f"{other.pos_label!r}"
            )
        both = Accumulator(self.grid, pos_label=self.pos_label)
        both._other = _one_label(
            self._other, other._other, "accumulators must have the same other label to be added"
        )
        (mine, n), (theirs, more) = self._now(), other._now()
        both._merged, both.n, both._seen = mine.merge(theirs), n + more, n + more
        return both

    def __radd__(self, other: object) -> Accumulator:
        # the start value of `sum`
        return self if type(other) is int and other == 0 else NotImplemented

    def sample(self) -> Sample:
        """Return the compressed sample of all rows so far."""
        if not self._seen:
            raise InputError("the accumulator holds no rows yet")
        return Sample._from_cells(self._now()[0])

    def _now(self) -> tuple[CellTable, int]:
        """The sums so far, and the number of rows behind them."""
        with self._lock:
            return self._sums(), self.n

    def __getstate__(self) -> dict[str, Any]:
        cells, n = self._now()
        return {
            "grid": self.grid,
            "pos_label": self.pos_label,
            "other": self._other,
            "n": n,
            "cells": cells,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Accumulator.__init__(self, state["grid"], pos_label=state["pos_label"])
        self._other, self._merged = state["other"], state["cells"]
        self.n = self._seen = state["n"]

    def __repr__(self) -> str:
        return f"Accumulator(n={self.n}, grid={self.grid})"


def _one_label(one: Any, another: Any, rule: str) -> Any:
    """Return the label that is not None; refuse two different ones."""
    if one is not None and another is not None and one != another:
        raise InputError(f"{rule}; there are {one!r} and {another!r}")
    return another if one is None else one
