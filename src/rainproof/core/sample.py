"""The sample: rows that were checked, or their exact compression.

A sample is a store (`rainproof.core.rows` or `rainproof.core.cells`), a design
(`rainproof.core.design`), and what is computed of them when first asked for: tables for measures
(`rainproof.core.tables`), units for inference (`rainproof.core.units`). Here is what makes one
sample of another; nothing is estimated here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import order
from rainproof.core.alignment import check_aligned, check_same_length
from rainproof.core.arrays import Floats, Ints, read_only
from rainproof.core.cells import CellTable, Rounding, check_grid, slot_count, sum_cells
from rainproof.core.classes import class_columns, one_event, read_classes, refuse_for_classes
from rainproof.core.columns import USUAL_NAMES, ColumnNames, Columns
from rainproof.core.conversion import as_probabilities
from rainproof.core.curve import RoundedSample, SwitchCurve
from rainproof.core.design import Design, OutcomeStrata, Store, count_events, weighed_by_outcome
from rainproof.core.distinct import DistinctTable
from rainproof.core.files import save_table
from rainproof.core.labels import label_order, named_columns, numbered_groups, segment_column
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.rows import Array, Rows, SegmentColumn, top_label
from rainproof.core.tables import Tables, first_grid
from rainproof.core.units import Deal, Units
from rainproof.core.validation import (
    BaseRate,
    as_columns,
    check_base_rate,
    check_max_weight,
    split_shares,
)
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.core.segments import Segments

_AS_DRAWN = Design()
_SHOWN = 10  # classes that are named


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
        (`pos_label`, if the columns have names); of more, ``sample[label]`` is the sample of one
        class against all others, and `top_label` that of the most likely class.
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
    store: Store
    design: Design
    tables: Tables
    forecasts: tuple[str, ...]
    is_ordered = False  # whether the rows are in the order of `in_order`

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
        base_rate: BaseRate | None = None,
        labels: Sequence[Any] | None = None,
    ) -> None:
        classes = class_columns(y_prob)
        if labels is not None and classes < 2:
            raise InputError(
                "labels name the classes of predictions with a column for each; y_prob has one column"
            )
        if classes > 2:
            for_one_event = {
                "by": by,
                "fractional": fractional or None,
                "pos_label": pos_label,
                "base_rate": base_rate,
            }
            refuse_for_classes(for_one_event, classes)
            made = Sample.from_classes(
                y_true, y_prob, sample_weight=sample_weight, groups=groups, labels=labels
            )
            self._become(made)
            self.top_label = made.top_label
            return
        forecasts = y_prob if isinstance(y_prob, Mapping) else {"y_prob": y_prob}
        if fractional and pos_label is not None:
            raise InputError(
                "fractional outcomes cannot be combined with pos_label: they are shares of the event"
            )
        if fractional:
            made = Sample._read_shares(y_true, forecasts, sample_weight)
        elif isinstance(y_prob, Mapping):
            made = Sample._read_forecasts(y_true, forecasts, sample_weight, pos_label)
        else:
            columns = as_columns(y_true, y_prob, sample_weight, pos_label, labels=labels)
            if groups is None and by is None and base_rate is None:
                self._read(columns)
                return
            made = Sample.from_columns(columns)
        if groups is not None or by is not None:
            given = ("y_true", y_true), next(iter(forecasts.items()))
            made = attach(made, groups, by, *given)
        if base_rate is not None:
            made = made.with_base_rate(base_rate)
        self._become(made)
        if forecasts is not y_prob:
            self.forecasts = ()

    def _become(self, sample: Sample) -> None:
        self._begin(
            sample.store,
            sample.design,
            sample.n,
            sample.total_weight,
            sample.tables,
            sample.forecasts,
        )

    def _begin(
        self,
        store: Store,
        design: Design,
        n: int,
        total_weight: float,
        tables: Tables,
        forecasts: tuple[str, ...],
    ) -> None:
        self.store = store
        self.design = design
        self.n = n
        self.total_weight = total_weight
        self.tables = tables
        self.forecasts = forecasts

    @classmethod
    def _made(
        cls,
        store: Store,
        design: Design,
        n: int,
        total_weight: float,
        tables: Tables | None = None,
        forecasts: tuple[str, ...] = (),
    ) -> Self:
        """Make a sample of what was read, checked and counted."""
        sample = object.__new__(cls)
        if tables is None:
            tables = Tables(store, n, total_weight)
        sample._begin(store, design, n, total_weight, tables, forecasts)
        return sample

    def __getstate__(self) -> tuple[Any, ...]:
        # Not the tables, which can be computed again.
        facts = None
        if self.n:
            facts = (self.units.events, self.units.event_rate, self.units.effective_n)
        return self.store, self.design, self.n, self.total_weight, self.forecasts, facts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        store, design, n, total_weight, forecasts, facts = state
        tables = Tables(store, n, total_weight)
        self._begin(store, design, n, total_weight, tables, forecasts)
        if facts is not None:
            self.units.events, self.units.event_rate, self.units.effective_n = facts

    @classmethod
    def _read_forecasts(
        cls,
        y_true: ArrayLike,
        forecasts: Mapping[Any, ArrayLike],
        sample_weight: ArrayLike | None,
        pos_label: Any,
    ) -> Self:
        """Read several forecasts of the same cases."""
        named = _named_forecasts(y_true, forecasts)
        first, *further = named
        names = ColumnNames(prob=first)
        made = cls.from_columns(
            as_columns(y_true, named[first], sample_weight, pos_label, names=names)
        )
        rows = made.rows
        others = {name: _further_forecast(name, named[name], rows.outcome) for name in further}
        return made.with_columns(rows.replace(others=others), forecasts=tuple(named))

    @classmethod
    def _read_shares(
        cls,
        y_true: ArrayLike,
        forecasts: Mapping[Any, ArrayLike],
        sample_weight: ArrayLike | None,
    ) -> Self:
        """Read one or several forecasts of cases whose outcomes are shares of the event."""
        named = _named_forecasts(y_true, forecasts)
        first, *further = named
        names = ColumnNames(prob=first)
        columns, case = split_shares(y_true, named[first], sample_weight, names)
        made = cls.from_columns(columns)
        is_first_part = np.append(True, case[1:] != case[:-1])
        rows = made.rows.replace(cases=is_first_part.astype(np.uint8), unit=case)
        n = int(np.count_nonzero(is_first_part & (np.asarray(columns.weight) > 0)))
        whole = np.zeros(
            int(case[-1]) + 1, np.uint8
        )  # any outcome of the cases before they were split
        others = {name: _further_forecast(name, named[name], whole)[case] for name in further}
        return cls._made(
            rows.replace(others=others or None),
            Design(shares=True),
            n,
            made.total_weight,
            Tables(rows, n, made.total_weight, made.tables.cells),
            tuple(named),
        )

    @classmethod
    def from_columns(cls, columns: Columns) -> Self:
        """Check columns that a caller gave, and make a sample of them: one pass over the rows."""
        sample = object.__new__(cls)
        sample._read(columns)
        return sample

    def _read(self, columns: Columns) -> None:
        first = sum_cells(columns, first_grid(columns))
        rows = Rows(columns.outcome, columns.prob, columns.weight)
        if rows.weight is None:
            n = len(rows.prob)
            total_weight = float(n)
        else:
            n = int(first.count.sum())
            total_weight = first.total_weight(columns.names.weight)
        self._begin(rows, _AS_DRAWN, n, total_weight, Tables(rows, n, total_weight, first), ())

    @classmethod
    def from_classes(
        cls,
        y_true: ArrayLike,
        y_prob: Any,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        labels: Sequence[Any] | None = None,
        names: ColumnNames = USUAL_NAMES,
    ) -> Self:
        """Read predictions with a column for each class; two classes stay two, and are no event."""
        given = (names.label, y_true), (names.prob, y_prob)
        check_aligned(*given, (names.weight, sample_weight))
        occurred, prob, classes = read_classes(y_true, y_prob, labels, names)
        event, largest = top_label(occurred, prob)
        columns = as_columns(event, largest, sample_weight, names=names)
        top: Sample = cls.from_columns(columns)
        if groups is not None:
            top = attach(top, groups, None, *given)
        rows = top.rows.replace(outcome=occurred, prob=prob, classes=tuple(classes))
        sample = cls._made(rows, top.design, top.n, top.total_weight)
        sample.top_label = top
        return sample

    @classmethod
    def from_rows(
        cls,
        rows: Rows,
        design: Design = _AS_DRAWN,
        *,
        n: int,
        total_weight: float,
        forecasts: tuple[str, ...] = (),
    ) -> Self:
        """Make a sample of rows that were checked and counted already: passes over them wait until
        they are needed.
        """
        return cls._made(rows, design, n, total_weight, forecasts=forecasts)

    @classmethod
    def from_cells(
        cls,
        cells: CellTable,
        design: Design = _AS_DRAWN,
        *,
        forecasts: tuple[str, ...] = (),
        weight_name: str = "sample_weight",
    ) -> Self:
        """Make a compressed sample of its sums; those of two forecasts are by pairs of cells (see
        `pair_cells`).
        """
        n, total_weight = int(cells.count.sum()), cells.total_weight(weight_name)
        return cls._made(cells, design, n, total_weight, forecasts=forecasts)

    @classmethod
    def from_distinct(
        cls, table: DistinctTable, n: int, outcome: NDArray[np.uint8] | None = None
    ) -> Self:
        """Make a sample of `n` cases that are pooled and sorted already, without checking or sorting
        them again.

        This is for resampling, which draws many samples with the same predictions. `outcome` has
        the outcomes, if every entry of the table is one case.
        """
        if outcome is None:
            rows = Rows(
                outcome=np.tile(np.array([0, 1], np.uint8), len(table.prob)),
                prob=np.repeat(table.prob, 2),
                weight=table.by_outcome().ravel(),
            )
        else:
            rows = Rows(outcome, table.prob)
        positive = float(table.positive.sum())
        total_weight = float(table.negative.sum()) + positive
        tables = Tables.of_distinct(rows, n, total_weight, table)
        sample = cls._made(rows, _AS_DRAWN, n, total_weight, tables)
        units = sample.units
        units.event_rate = positive / total_weight
        units.events = round(units.event_rate * n)
        units.effective_n = float(n)
        return sample

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
        from rainproof.core.grouped_rows import read_table  # which imports this module

        found = read_table(rows)
        if not isinstance(found, Sample):
            raise InputError(
                f"rows are of segments by {', '.join(found.by)}: read them with Segments.from_table"
            )
        return cls.from_cells(found.cells)

    @property
    def rows(self) -> Rows:
        """The rows of a sample that is not compressed."""
        assert isinstance(self.store, Rows)
        return self.store

    @property
    def cells(self) -> CellTable:
        """The sums of a compressed sample, or of the first pass over the rows."""
        self.require_one_event()
        return self.tables.cells

    @property
    def grid(self) -> int | None:
        """The grid of the compression; None for a sample that holds its rows."""
        return self.store.m if isinstance(self.store, CellTable) else None

    @cached_property
    def entries(self) -> Rows:
        """The rows; of a compressed sample an entry for each cell and outcome, at the mean
        prediction.
        """
        return self.store if isinstance(self.store, Rows) else self.store.entries()

    @cached_property
    def units(self) -> Units:
        """What inference takes: the independent units, whatever the design."""
        # of several classes, the first pass over the rows is that of the most likely class
        tables = self.top_label.tables if self.classes else self.tables
        return Units(self.store, self.design, tables, self.n, self.total_weight)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of several classes; none in a sample of one event."""
        return (self.store.classes or ()) if isinstance(self.store, Rows) else ()

    @cached_property
    def top_label(self) -> Sample:
        """The largest probability of each row, and whether that class occurred."""
        self._require_classes("top_label")
        return self._made(self.rows.of_top_label(), self.design, self.n, self.total_weight)

    @property
    def which(self) -> Ints:
        """The number of the class that occurred in each row."""
        self._require_classes("which")
        return read_only(self.rows.outcome)

    @cached_property
    def rates(self) -> Floats:
        """The weighted share of rows of each class."""
        self._require_classes("rates")
        rates = np.bincount(self.rows.outcome, self.sample_weight, len(self.classes))
        return rates / self.total_weight

    @cached_property
    def y_true(self) -> NDArray[Any]:
        """The outcomes, 0 or 1; of several classes the number of the class."""
        outcome = self.entries.outcome
        # signed: 2 y - 1 must not be 255
        return read_only(outcome.view(np.int8) if outcome.dtype == np.uint8 else outcome)

    @cached_property
    def y_prob(self) -> NDArray[Any]:
        """The predicted probabilities of the event; of several classes a column for each."""
        self.require_one_forecast()
        return read_only(self.entries.prob)

    @cached_property
    def sample_weight(self) -> NDArray[Any] | None:
        """The weight of each row; None if there are none."""
        weight = self.entries.weight
        return None if weight is None else read_only(weight)

    @property
    def counts(self) -> Ints | None:
        """How many rows each entry of a compressed sample stands for."""
        return self.units.counts

    @property
    def event(self) -> NDArray[np.bool_]:
        """Whether each row has the event."""
        self.require_one_event()
        return self.units.event

    @property
    def prob(self) -> Floats:
        """The predictions as doubles; those of several classes as they were given."""
        return self.y_prob if self.classes else np.asarray(self.y_prob, np.float64)

    @property
    def mass(self) -> Floats:
        """The weight of each row; 1 without weights."""
        return self.units.mass

    @property
    def events(self) -> int:
        """The number of rows with the event."""
        self.require_one_event()
        return self.units.events

    @property
    def event_rate(self) -> float:
        """The weighted share of rows with the event."""
        self.require_one_event()
        return self.units.event_rate

    @property
    def base_rate(self) -> BaseRate | None:
        """The event rate of the population, or its range, if stated."""
        return None if self.design.strata is None else self.design.strata.base_rate

    @property
    def n_draws(self) -> int:
        """The number of independent draws: of groups with some weight, else of rows."""
        return self.units.n

    @property
    def groups(self) -> int | None:
        """The number of groups, if rows were drawn in groups."""
        return self.units.n if self.design.clustered else None

    @property
    def effective_n(self) -> float:
        """The number of draws of equal weight that are as many: ``(sum w)^2 / sum w^2`` over draws."""
        return self.units.effective_n

    @cached_property
    def mean_prediction(self) -> float:
        """The weighted mean of the predictions."""
        cells = self.cells
        scaled = float((cells.slot >> 1) @ cells.weight[0] + cells.rise[0].sum())
        return scaled / cells.m / self.total_weight

    @cached_property
    def digest(self) -> int:
        """One number for the rows, in whatever order they come, which decides how an integer seed
        deals them.

        It is of predictions, outcomes and relative weights, each to 25 binary digits, and of which
        rows belong together; not of names, segments, costs, a base rate, nor of how columns are
        stored. Of a compressed sample it is of the sums.
        """
        if self.classes:
            predictions = list(self.rows.prob.T)
        elif not self.forecasts:
            predictions = [self.prob]
        elif isinstance(self.store, Rows):
            predictions = [self.predictions(name) for name in self.forecasts]
        else:  # the lower edges of cells
            predictions = [cell / self.store.m for cell in self.pair_cells()]
        return self.units.digest_of(predictions)

    def predictions(self, forecast: str) -> Floats:
        """Return the predictions of one of several forecasts, as doubles."""
        first = self.forecasts[0]
        prob = self.rows.prob if forecast == first else (self.rows.others or {})[forecast]
        return np.ascontiguousarray(prob, np.float64)

    def pair_cells(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the cells of the first and of the second forecast, of each entry of a compressed
        sample of two.
        """
        first, slot = np.divmod(self.cells.slot, slot_count(self.cells.m))
        return first.astype(np.int32), (slot >> 1).astype(np.int32)

    def __iter__(self) -> Iterator[Any]:
        """Go through the labels of the classes, or the names of the forecasts."""
        return iter(self.classes or self.forecasts)

    def one_class(self, number: int) -> Sample:
        """Return the same rows with the event that the class of this number occurs."""
        return self._made(self.rows.of_class(number), self.design, self.n, self.total_weight)

    def __getitem__(self, name: Any) -> Sample:
        """Return the sample of one of several forecasts or classes, for the same rows."""
        if self.classes:
            if name not in self.classes:
                known = ", ".join(map(repr, self.classes))
                raise KeyError(f"{name!r} is not among the classes {known}")
            return self.one_class(self.classes.index(name))
        if name not in self.forecasts:
            known = ", ".join(self.forecasts) or "one forecast without a name"
            raise KeyError(f"{name!r} is not among the forecasts of the sample: {known}")
        if not isinstance(self.store, Rows):
            raise InputError(
                "a sample of two forecasts that is compressed keeps pairs of cells: scan each by itself"
            )
        first = self.forecasts[0]
        prob = self.store.prob if name == first else (self.store.others or {})[name]
        return self._with_prob(self.store.replace(prob=prob, others=None), ())

    def require_one_forecast(self) -> None:
        """Refuse several forecasts, for what is about one."""
        if len(self.forecasts) > 1:
            names = ", ".join(map(repr, self.forecasts))
            raise InputError(
                f"the sample has several forecasts, {names}: choose one, as sample[{self.forecasts[0]!r}]"
            )

    def _require_classes(self, name: str) -> None:
        if not self.classes:
            raise AttributeError(f"a sample of one event has no attribute {name!r}")

    def require_one_event(self) -> None:
        """Refuse several classes, for what is about one event."""
        if self.classes:
            raise one_event(len(self.classes), "the sample")

    def require_rows(self, what: str) -> None:
        """Refuse a compressed sample, for what needs its rows one by one."""
        if self.grid is not None:
            raise InputError(f"{what} rows: a compressed sample does not keep them")

    def with_costs(self, costs: Floats, *columns: tuple[str, Any]) -> Self:
        """Return the same cases with the costs of each, which were checked; `columns` are all that
        the caller gave.
        """
        self.require_rows("costs of each case need")
        if self.is_ordered or self.rows.costs is not None:
            raise InputError(
                "costs of each case go with the rows as they came: pass them with the sample of these rows"
            )
        check_aligned(*columns)
        case = self.units.case_of_entry
        n = int(case[-1]) + 1
        if len(costs) != n:
            raise InputError(
                f"costs of each case must be as many as the rows; there are {len(costs):,} for {n:,} rows"
            )
        return self.with_columns(self.rows.replace(costs=costs[case]))

    def with_segment_labels(self, by: Sequence[str], labels: Sequence[Any]) -> Self:
        """Return the same cases with the labels of their segments, which so far are numbers."""
        segment = self.rows.segment
        assert segment is not None
        found = [labels[number] for number in segment.labels]
        in_order = sorted(range(len(found)), key=lambda k: label_order(found[k]))
        rank = np.empty(len(found), np.int64)
        rank[in_order] = np.arange(len(found))
        named = SegmentColumn(tuple(by), tuple(found[k] for k in in_order), rank[segment.number])
        return self.with_columns(self.rows.replace(segment=named))

    @property
    def columns_beside(self) -> Mapping[str, Array]:
        """The columns of a file that were read with the cases, an entry a case."""
        beside = (isinstance(self.store, Rows) and self.store.beside) or {}
        second = self.units.is_second_part
        if second is None:
            return beside
        return {name: column[~second] for name, column in beside.items()}

    def with_columns_beside(self, beside: Mapping[str, Array]) -> Self:
        """Return the same cases with columns of a file that were read with them, an entry a case."""
        if self.design.shares:
            case = self.units.case_of_entry
            beside = {name: column[case] for name, column in beside.items()}
        return self.with_columns(self.rows.replace(beside=beside))

    def with_columns(
        self, store: Store, design: Design | None = None, forecasts: tuple[str, ...] | None = None
    ) -> Self:
        """Return the same outcomes, predictions and weights, of which the sums stay valid, with
        other columns.
        """
        design = self.design if design is None else design
        forecasts = self.forecasts if forecasts is None else forecasts
        sample = self._made(store, design, self.n, self.total_weight, self.tables, forecasts)
        sample.units = self.units.of_same_cases(store, design)
        return sample

    def with_forecasts(self, **prob: Floats) -> Self:
        """Return the same cases with other forecasts, by name, which were checked already.

        An entry of a compressed sample stays one entry.
        """
        first, *further = prob
        rows = self.entries.replace(
            prob=prob[first], others={name: prob[name] for name in further} or None
        )
        sample = self._with_prob(rows, tuple(prob))
        sample.is_ordered = self.is_ordered or self.grid is not None
        return sample

    def with_predictions(self, prob: Floats, grid: int | None = None) -> Sample:
        """Return the same cases with other predictions, which were checked already.

        Those of cells are pooled on the grid of the sample, or on `grid`.
        """
        if self.grid is None:
            return self._with_prob(self.rows.replace(prob=prob, others=None), ())
        m = self.grid if grid is None else grid
        outcome, _, weight, count = self.cells.rows()
        scaled = m * prob
        cell = np.floor(scaled).astype(np.int64)
        rise = weight * (scaled - cell)
        cells = CellTable.from_doubles(
            m, 2 * cell + outcome, count, weight, rise, self.cells.squares
        )
        return Sample.from_cells(cells, self.design)

    def _with_prob(self, rows: Rows, forecasts: tuple[str, ...]) -> Self:
        """Return the same cases with other predictions; their sums stay those of the first pass."""
        sample = self._made(rows, self.design, self.n, self.total_weight, forecasts=forecasts)
        if isinstance(self.store, Rows):
            sample.units = self.units
        else:
            sample.units = self.units.of_same_cases(rows, self.design)
        return sample

    def map(self, pieces: PiecewiseMap, grid: int | None = None) -> Sample:
        """Apply a map to the predictions.

        Of a compressed sample it is applied to the mean prediction of each cell and outcome, as
        rows are pooled there; the result is compressed to its grid, or to `grid`.
        """
        self.require_one_event()
        return self.with_predictions(pieces(self.y_prob), grid)

    def without_outcomes(self) -> Sample:
        """Return the same predictions and weights without an event, for what must not depend on
        outcomes.
        """
        if isinstance(self.store, CellTable):
            cells = self.store
            columns = cells.count, cells.weight, cells.rise, cells.squares
            return Sample.from_cells(CellTable.pooled(cells.m, cells.slot & ~1, *columns))
        rows = self.store
        weight = None if self.design.strata is not None else rows.weight
        return Sample.from_rows(
            Rows(np.zeros(len(rows), np.uint8), rows.prob, weight),
            n=self.n,
            total_weight=self.total_weight,
        )

    def ungrouped(self) -> Sample:
        """The same rows, each taken as a draw of its own."""
        if not self.design.clustered and not self.design.shares:
            return self
        design = replace(self.design, clusters="none", shares=False)
        if isinstance(self.store, CellTable):
            return self.with_columns(self.store, design)
        return self.with_columns(self.store.replace(unit=None, cases=None), design)

    def with_single_cases(self) -> Sample:
        """Return the same rows as independent draws, if each group is one row; else the sample as it
        is.

        Their groups are still counted: other samples of the population may have larger ones, so
        what is assumed of sizes is assumed here too.
        """
        unit = self.entries.unit
        if unit is None or self.design.shares or len(np.unique(unit)) < len(unit):
            return self
        design = replace(self.design, clusters="single cases")
        return self.with_columns(self.rows.replace(unit=None), design)

    def with_base_rate(self, base_rate: BaseRate) -> Self:
        """Return the same rows for a population with this base rate; of a range, with the weights of
        its middle in log odds.
        """
        self.require_one_event()
        strata = OutcomeStrata(*check_base_rate(base_rate))
        segments = isinstance(self.store, Rows) and self.store.segment is not None
        for taken, what in (
            (self.units.has_weights, "sample_weight"),
            (self.design.clustered, "groups"),
            (self.design.shares, "fractional outcomes"),
            (segments, "by"),
        ):
            if taken:
                raise InputError(
                    f"base_rate cannot be combined with {what}: rows must be independent, and weigh alike"
                )
        return self._settled(self.store, replace(self.design, strata=strata))

    def with_max_weight(self, max_weight: float | None) -> Self:
        """State the largest weight that a unit of the population can have; None if it is not known."""
        if max_weight is None:
            return self
        if self.design.strata is not None:
            raise InputError(
                "base_rate cannot be combined with max_weight: the rows of an outcome weigh alike"
            )
        stated = check_max_weight(max_weight, self.units.largest_weight)
        design = replace(self.design, max_weight=stated)
        sample = self.with_columns(self.store, design)
        sample.is_ordered = self.is_ordered
        return sample

    def scenarios(self) -> list[Self]:
        """Return the sample at both ends of the range of base rates; alone if there is none."""
        designs = self.design.scenarios()
        if designs == (self.design,):
            return [self]
        return [self._settled(self.store, design) for design in designs]

    def middle(self) -> Self:
        """Return the sample at one base rate, that in the middle of a range."""
        design = self.design.middle()
        return self if design == self.design else self._settled(self.store, design)

    def as_drawn(self) -> Self:
        """Return the rows without a base rate."""
        store = weighed_by_outcome(self.store, 1.0, 1.0)
        sample = self._made(
            store, self.design.as_drawn(), self.n, float(self.n), forecasts=self.forecasts
        )
        sample.is_ordered = self.is_ordered
        return sample

    def _settled(self, store: Store, design: Design) -> Self:
        """Return these cases with the weights that a base rate sets."""
        n, events = count_events(store)
        settled = design.settle(store)
        sample = self._made(settled, design, n, float(n), forecasts=self.forecasts)
        # some of the rows may have been taken in any order
        sample.is_ordered = self.is_ordered and store is self.store
        sample.units.events = events
        return sample

    def take(self, index: Any) -> Self:
        """Return some of the rows, by their places or by a mask, with all their columns.

        Rows of a case, or of a group, are to be taken together. Weights that a base rate sets are
        set anew.
        """
        return self._counted(self.rows.take(index))

    def _counted(self, rows: Rows) -> Self:
        """Return a sample of rows that were checked, after counting them: one pass if they have
        weights.
        """
        if self.design.strata is not None:
            return self._settled(rows, self.design)
        first = None
        counted = rows.of_top_label() if rows.classes else rows
        if rows.weight is None:
            n, total_weight = len(rows), float(len(rows))
        elif not rows.weight.any():
            n, total_weight = 0, 0.0
        else:
            first = sum_cells(counted, first_grid(counted))
            total_weight = first.total_weight("sample_weight")
            if rows.cases is None:
                n = int(first.count.sum())
            else:
                n = int(rows.cases[rows.weight > 0].sum())
        tables = Tables(counted, n, total_weight, first)
        if not rows.classes:
            return self._made(rows, self.design, n, total_weight, tables, self.forecasts)
        sample = self._made(rows, self.design, n, total_weight)
        sample.top_label = self._made(counted, self.design, n, total_weight, tables)
        return sample

    @classmethod
    def concat(cls, parts: Sequence[Sample]) -> Sample:
        """Return all cases of samples that were taken from one; cells are added."""
        parts = [part for part in parts if part.n] or parts[:1]
        first = parts[0]
        if len(parts) == 1:
            return first
        if first.grid is not None:
            total = sum(parts[1:], first)
            return total.with_columns(total.store, first.design)
        rows = Rows.concat([part.rows for part in parts])
        if first.design.strata is not None:
            return first._settled(rows, first.design)  # noqa: SLF001
        n = sum(part.n for part in parts)
        total_weight = sum(part.total_weight for part in parts)
        return cls._made(rows, first.design, n, total_weight, forecasts=first.forecasts)

    def without_segments(self) -> Self:
        """Return the same cases without the segments they are in."""
        if not isinstance(self.store, Rows) or self.store.segment is None:
            return self
        return self.with_columns(self.store.replace(segment=None))

    def by_segment(self) -> Segments:
        """Return a sample for each segment of `by`, as a mapping."""
        from rainproof.core.segments import Segments

        segment = self.store.segment if isinstance(self.store, Rows) else None
        if segment is None:
            raise InputError(
                "the sample has no segments: make it with by, or scan the source with by"
            )
        places = segment.places()
        weight = self.sample_weight
        if weight is not None:
            places = {label: index for label, index in places.items() if weight[index].any()}
        return Segments.from_places(self, segment.by, places)

    def in_order(self) -> Sample:
        """Return the same rows in an order that does not depend on how they came, and so does
        nothing drawn from them (see `rainproof.core.order`).

        Groups are numbered in this order. A compressed sample is in order already. The rows are
        copied.
        """
        if not isinstance(self.store, Rows) or self.is_ordered:
            return self
        rows = self.store
        # without the weights of a base rate: they are alike for rows that are alike
        if self.classes:
            places, unit = order.class_order(rows, self.units)
            ordered = rows.take(places).replace(unit=unit)
        elif all(column is None for column in (*rows.extra(), self.units.relative_weight())):
            ordered = order.sort_plain(rows, self.event)
        else:
            places, unit = order.canonical_order(rows, self.units)
            ordered = rows.take(places).replace(unit=unit)
        sample = self._counted(ordered)
        if (
            rows.weight is None and not self.classes
        ):  # sums without weights are the same in any order
            sample.tables = self.tables.of_same_cases(ordered)
        sample.is_ordered = True
        return sample

    def curve(self, old: str, new: str) -> SwitchCurve:
        """What acting on one of several forecasts in place of another loses at each threshold."""
        if isinstance(self.store, CellTable):
            cells = self.store
            first, second = self.pair_cells()
            unequal = None if cells.has_equal_weights else cells.squares
            return SwitchCurve._from_cells(  # noqa: SLF001
                first, second, cells.slot & 1 == 1, cells.weight[0], cells.m, unequal
            )
        a, b = self.predictions(old), self.predictions(new)
        event, weight, unit = self.event, self.sample_weight, self.rows.unit
        if self.counts is not None and self.design.strata is None:
            curve = SwitchCurve._from_rows(event, a, b, self.counts.astype(np.float64))  # noqa: SLF001
            return replace(curve, squares=None)
        if weight is not None:
            # By a power of two, so that squares of weights neither vanish nor overflow.
            counted = weight > 0
            largest = math.frexp(float(weight.max()))[1]
            weight = np.ldexp(weight.astype(np.float64), -largest)
            if not counted.all():
                event, a, b, weight = event[counted], a[counted], b[counted], weight[counted]
                unit = None if unit is None else unit[counted]
        together = None if unit is None else np.bincount(unit, weight)[unit].astype(np.float64)
        return SwitchCurve._from_rows(event, a, b, weight, together)  # noqa: SLF001

    def at_edges(self) -> Sample:
        """Return cells with their predictions rounded down to the grid, and as many equal draws as
        cases; rows stay as they are.

        What is drawn from cells must not depend on where the rows lie within them.
        """
        return self if self.grid is None else self.thinned(self.cells.count)

    def at_cell_means(self) -> Sample:
        """Return an entry for each cell and outcome, with as many equal draws as cases, at the mean
        prediction of the cell; rows stay as they are.

        For what cases gain by acting from a threshold on: round predictions are often equal to it,
        and do not act at the lower edge of their cell.
        """
        if self.grid is None:
            return self
        cell = np.unique(self.cells.slot >> 1, return_inverse=True)[1]
        floored = self.at_edges()
        return floored._with_prob(floored.entries.replace(prob=self.distinct().prob[cell]), ())  # noqa: SLF001

    def thinned(self, counts: Ints) -> Sample:
        """Return so many cases of each cell and outcome, at the lower edge of the cell."""
        cells = self.cells
        occupied = counts > 0
        if not self.units.divisible:
            raise InputError(
                "unequal weights need rows: a compressed sample cannot be split row by row"
            )
        count = counts[occupied].astype(np.int64, copy=False)
        weight = np.stack([count.astype(np.float64), np.zeros(len(count))])
        table = CellTable(
            cells.m, cells.slot[occupied], count, weight, np.zeros_like(weight), weight[0]
        )
        if not len(count):
            empty = Sample._made(table, _AS_DRAWN, 0, 0.0)
            empty.units.event_rate = math.nan
            return empty
        if self.design.strata is not None:
            return self._settled(table, self.design)
        return Sample.from_cells(table, self.design)

    def deal(
        self, *, folds: int, held_out: Sequence[float] = (), rng: np.random.Generator | None = None
    ) -> Deal:
        """Deal whole draws at random to parts (see `rainproof.core.units.Units.deal`)."""
        return self.units.deal(folds, held_out, rng)

    def part(self, deal: Deal, number: int) -> Sample:
        """Return one part of a deal; of cells, at their lower edges (see `at_edges`)."""
        if deal.counts is not None:
            return self.thinned(deal.counts[number])
        return self.take(deal.part == number)

    def split(
        self, *, folds: int, held_out: Sequence[float] = (), rng: np.random.Generator | None = None
    ) -> list[Sample]:
        """Divide the draws at random: shares of them are held out, and the rest are dealt to equal
        folds.

        Returns the folds, then the parts that are held out. Of cells the counts are divided; every
        part is then at the lower edges (see `at_edges`).
        """
        deal = self.deal(folds=folds, held_out=held_out, rng=rng)
        return [self.part(deal, number) for number in range(folds + len(held_out))]

    def on_grid(self, grid: int, rounding: Rounding = "soft") -> RoundedSample:
        """Return the sample rounded to multiples of ``1/grid``, with its losses; it is kept unless
        it is large.
        """
        self.require_one_event()
        return self.tables.on_grid(grid, rounding)

    def distinct(self) -> DistinctTable:
        """Return the sample with equal predictions pooled, in increasing order; it is kept.

        After compression all predictions of a cell are replaced by their mean.
        """
        self.require_one_event()
        return self.tables.distinct()

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
        if self.design.clusters == "cases":
            raise InputError(
                "groups need rows: compress ungrouped(), if rows may be taken as independent"
            )
        if self.design.shares:
            raise InputError(
                "outcomes that are shares of the event need rows: cells would count a row twice"
            )
        if isinstance(self.store, Rows) and self.store.costs is not None:
            raise InputError("costs of each case need rows: cells do not keep them")
        return self.pooled(check_grid(grid))

    def pooled(self, grid: int) -> Sample:
        """The same as `compress`, for what does not depend on which rows belong together."""
        self.require_one_event()
        self.require_one_forecast()
        if isinstance(self.store, CellTable):
            cells = self.store.coarsen(grid)
        else:
            cells = sum_cells(self.store, grid)
        return Sample.from_cells(cells, self.design.of_cells())

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
        self.require_one_event()
        if self.design.strata is not None:
            raise InputError(
                "a sample with a base_rate cannot be saved: save the rows, and state the rate when you use it"
            )
        save_table(self, path, grid, overwrite=overwrite)

    def __add__(self, other: object) -> Sample:
        if not isinstance(other, Sample):
            return NotImplemented
        if self.grid is None or other.grid is None:
            self.require_one_event()
            raise InputError(
                "only compressed samples can be added: call compress(grid) on both first"
            )
        if self.design.strata is not None or other.design.strata is not None:
            raise InputError(
                "samples with a base_rate cannot be added: add them first, then state the rate"
            )
        if self.forecasts != other.forecasts:
            raise InputError("samples must have the same forecasts to be added")
        return Sample.from_cells(self.cells.merge(other.cells), forecasts=self.forecasts)

    def __radd__(self, other: object) -> Sample:
        # the start value of `sum`
        return self if type(other) is int and other == 0 else NotImplemented

    def __repr__(self) -> str:
        if self.classes:
            shown = repr(self.classes) if len(self.classes) <= _SHOWN else f"{len(self.classes):,}"
            groups = "" if self.groups is None else f", groups={self.groups}"
            return f"Sample(n={self.n}, classes={shown}{groups})"
        cells = self.cells
        if self.design.shares:
            about = [f"n={self.n}", f"event_rate={self.event_rate:.6g}"]
            uneven = self.units.has_weights
        else:
            about = [f"n={self.n}", f"events={self.events}"]
            uneven = not np.array_equal(cells.weight[0], cells.count)
        if self.grid is not None:
            about.append(f"grid={self.grid}")
        if self.design.strata is not None:
            about.append(f"base_rate={self.base_rate}")
        elif uneven:
            about.append(f"total_weight={self.total_weight:.6g}")
        if self.groups is not None:
            about.append(f"groups={self.groups}")
        if self.forecasts:
            about.append(f"forecasts={self.forecasts}")
        return f"Sample({', '.join(about)})"

    # Private names that verdict and command line still use.

    def _parts(
        self, *, folds: int, held_out: Sequence[float] = (), rng: np.random.Generator | None = None
    ) -> Ints:
        deal = self.deal(folds=folds, held_out=held_out, rng=rng)
        part = deal.part if deal.counts is None else deal.counts
        assert part is not None
        return part

    @property
    def _costs(self) -> Floats | None:
        return self.store.costs if isinstance(self.store, Rows) else None

    @property
    def _segments(self) -> Any:
        return self.store.segment if isinstance(self.store, Rows) else None


def attach(sample: Sample, groups: Any, by: Any, *columns: tuple[str, Any]) -> Sample:
    """Return the same cases with the group and the segment of each, as the caller gives them
    beside other columns.
    """
    sample.require_rows("by needs" if groups is None else "groups need")
    if sample.design.strata is not None:
        raise InputError(
            "groups and by cannot be combined with base_rate: given the outcomes, rows must be independent"
        )
    rows = sample.rows
    design = sample.design
    case = sample.units.case_of_entry if design.shares else None
    n = len(rows) if case is None else int(case[-1]) + 1
    given = () if by is None else named_columns(by)
    check_aligned(*columns, ("groups", groups), *given)
    if groups is not None:
        unit = numbered_groups(groups, n)
        rows = rows.replace(unit=unit if case is None else unit[case])
        design = replace(design, clusters="cases")
    if by is not None:
        segment = segment_column(by, n)
        rows = rows.replace(segment=segment if case is None else segment.take(case))
    return sample.with_columns(rows, design)


def _named_forecasts(y_true: Any, forecasts: Mapping[Any, Any]) -> dict[str, Any]:
    """Return forecasts by their names as text, after checking that their rows are aligned."""
    named = {str(name): prob for name, prob in forecasts.items()}
    if not named or len(named) < len(forecasts):
        names = [str(name) for name in forecasts]
        raise InputError(
            f"y_prob must name at least one forecast, and each once; the names are {names}"
        )
    check_aligned(("y_true", y_true), *named.items())
    return named


def _further_forecast(name: str, prob: ArrayLike, outcome: Array) -> Array:
    """Return the checked predictions of another forecast for cases with these outcomes."""
    read = as_probabilities(prob, name)
    check_same_length("y_true", outcome, name, read)
    Columns(outcome, read, None, ColumnNames(prob=name)).check()
    return read


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
    names: ColumnNames = USUAL_NAMES,
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
        y_true.require_one_event()
        y_true.require_one_forecast()
        if groups is not None and y_true.design.clustered:
            raise InputError("the Sample has groups already: pass it alone")
        sample = y_true
        given = []
    else:
        if y_prob is None:
            raise InputError("y_prob is missing: pass y_true and y_prob, or one Sample")
        columns = as_columns(y_true, y_prob, sample_weight, pos_label, names=names)
        sample = Sample.from_columns(columns)
        given = [(columns.names.label, y_true), (columns.names.prob, y_prob)]
    if attached:
        sample = attach(sample, groups, by, *given)
    return with_rate(sample, base_rate, rates=rates)


def with_rate(sample: Sample, base_rate: Any, *, rates: bool = False) -> Sample:
    """State the base rate of a sample, or refuse one that it has."""
    if base_rate is not REFUSED and base_rate is not None:
        if sample.design.strata is not None:
            raise InputError("the Sample has a base_rate already: pass it alone")
        sample = sample.with_base_rate(base_rate)
    if sample.design.strata is not None:
        sample.design.require("this", unstratified=base_rate is REFUSED, one_rate=not rates)
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
        y_true.require_one_event()
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


def as_classes(
    y_true: Any,
    y_prob: Any = None,
    *,
    names: ColumnNames = USUAL_NAMES,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    labels: Sequence[Any] | None = None,
    **for_one_event: Any,
) -> Sample | None:
    """Return a sample of several classes as it is, or make one of the rows; None if they are about
    one event.

    What is for one event alone, such as `pos_label`, is refused with several classes.
    """
    if isinstance(y_true, Sample):
        if not y_true.classes:
            return None
        columns = {"sample_weight": sample_weight, "groups": groups, "labels": labels}
        for name, value in {"y_prob": y_prob, **columns, **for_one_event}.items():
            if value is not None:
                raise InputError(f"{name} must not be given with a Sample, which holds it already")
        return y_true
    classes = class_columns(y_prob)
    if classes < 3:
        return None
    refuse_for_classes(for_one_event, classes)
    return Sample.from_classes(
        y_true, y_prob, sample_weight=sample_weight, groups=groups, labels=labels, names=names
    )
