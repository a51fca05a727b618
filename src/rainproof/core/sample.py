"""The sample: rows that were checked, or their exact compression.

A sample is a store (`rainproof.core.rows` or `rainproof.core.cells`), a design
(`rainproof.core.design`), and what is computed of them when first asked for: tables for measures
(`rainproof.core.tables`), units for inference (`rainproof.core.units`). Here is what makes one
sample of another; nothing is estimated here. What callers pass is read in `rainproof.core.reading`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.alignment import check_aligned
from rainproof.core.arrays import Array, Bools, Bytes, Floats, Ints, read_only
from rainproof.core.cells import CellTable, Rounding, check_grid, sum_cells
from rainproof.core.classes import class_columns, one_event, refuse_for_classes
from rainproof.core.columns import USUAL_NAMES, ColumnNames, Columns
from rainproof.core.curve import RoundedSample
from rainproof.core.design import INDEPENDENT_CASES, Design, OutcomeStrata, Store
from rainproof.core.distinct import DistinctTable
from rainproof.core.documents import save_table
from rainproof.core.labels import named_segments
from rainproof.core.order import in_order
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.reading import (
    attach,
    read_class_table,
    read_columns,
    read_forecasts,
    read_shares,
)
from rainproof.core.rows import Rows
from rainproof.core.switch_curve import SwitchCurve
from rainproof.core.tables import Tables
from rainproof.core.units import Deal, Units
from rainproof.core.validation import (
    BaseRate,
    as_columns,
    check_base_rate,
    check_max_weight,
)
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.core.segments import Segments

_CLASSES_SHOWN = 10  # by name


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
                "labels name the classes of predictions with a column for each; "
                "y_prob has one column"
            )
        if classes > 2:
            for_one_event = {
                "by": by,
                "fractional": fractional or None,
                "pos_label": pos_label,
                "base_rate": base_rate,
            }
            refuse_for_classes(for_one_event, classes)
            read = read_class_table(y_true, y_prob, sample_weight, labels)
        elif fractional:
            if pos_label is not None:
                raise InputError(
                    "fractional outcomes cannot be combined with pos_label: "
                    "they are shares of the event"
                )
            read = read_shares(y_true, y_prob, sample_weight)
        elif isinstance(y_prob, Mapping):
            read = read_forecasts(y_true, y_prob, sample_weight, pos_label)
        else:
            read = read_columns(as_columns(y_true, y_prob, sample_weight, pos_label, labels=labels))
        self._hold(*read)
        if groups is not None or by is not None:
            # messages call the predictions as the caller does
            forecasts = y_prob if isinstance(y_prob, Mapping) else {"y_prob": y_prob}
            first_forecast = next(iter(forecasts.items()))
            columns = (("y_true", y_true), first_forecast)
            self.store, self.design = attach(self.rows, self.design, groups, by, *columns)
        if base_rate is not None:
            # last, as it refuses rows that depend on each other
            settled = self.with_base_rate(base_rate)
            self._hold(settled.store, settled.design, settled.tables, settled.forecasts)
            self.units = settled.units

    def _hold(
        self, store: Store, design: Design, tables: Tables, forecasts: tuple[str, ...]
    ) -> None:
        self.store = store
        self.design = design
        self.tables = tables
        self.forecasts = forecasts
        self.n = tables.n
        self.total_weight = tables.total_weight

    @classmethod
    def _holding(
        cls,
        store: Store,
        design: Design,
        tables: Tables,
        forecasts: tuple[str, ...] = (),
    ) -> Sample:
        """Make a sample of what was read, checked and counted."""
        sample = object.__new__(cls)  # without `__init__`, which reads what a caller passes
        sample._hold(store, design, tables, forecasts)
        return sample

    def __getstate__(self) -> tuple[Any, ...]:
        # Not the tables, which can be computed again; but facts, as another pass may sum in another
        # order, and move the last bit.
        facts = None
        if self.n:
            facts = (self.units.events, self.units.event_rate, self.units.effective_n)
        return self.store, self.design, self.n, self.total_weight, self.forecasts, facts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        store, design, n, total_weight, forecasts, facts = state
        self._hold(store, design, Tables(store, n, total_weight), forecasts)
        if facts is not None:
            self.units.events, self.units.event_rate, self.units.effective_n = facts

    @classmethod
    def from_columns(cls, columns: Columns) -> Sample:
        """Check columns that a caller gave, and make a sample of them: one pass over the rows."""
        return cls._holding(*read_columns(columns))

    @classmethod
    def from_classes(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        labels: Sequence[Any] | None = None,
        names: ColumnNames = USUAL_NAMES,
    ) -> Sample:
        """Read predictions with a column for each class; two classes stay two, and are no event."""
        sample = cls._holding(*read_class_table(y_true, y_prob, sample_weight, labels, names))
        if groups is None:
            return sample
        columns = ((names.label, y_true), (names.prob, y_prob))
        return sample.with_columns(*attach(sample.rows, sample.design, groups, None, *columns))

    @classmethod
    def from_rows(
        cls,
        rows: Rows,
        design: Design = INDEPENDENT_CASES,
        *,
        n: int,
        total_weight: float,
        forecasts: tuple[str, ...] = (),
    ) -> Sample:
        """Make a sample of rows that were checked and counted already: passes over them wait until
        they are needed.
        """
        return cls._holding(rows, design, Tables(rows, n, total_weight), forecasts)

    @classmethod
    def from_cells(
        cls,
        cells: CellTable,
        design: Design = INDEPENDENT_CASES,
        *,
        forecasts: tuple[str, ...] = (),
        weight_name: str = "sample_weight",
    ) -> Sample:
        """Make a compressed sample of its sums; those of two forecasts are by pairs of cells (see
        `CellTable.pair_cells`).
        """
        n = int(cells.count.sum())
        tables = Tables(cells, n, cells.total_weight(weight_name))
        return cls._holding(cells, design, tables, forecasts)

    @classmethod
    def from_distinct(cls, table: DistinctTable, n: int, outcome: Bytes | None = None) -> Sample:
        """Make a sample of `n` cases that are pooled and sorted already: they are not checked or
        sorted again.

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
        total_weight = table.total
        tables = Tables.of_distinct(rows, n, total_weight, table)
        sample = cls._holding(rows, INDEPENDENT_CASES, tables)
        units = sample.units
        units.event_rate = positive / total_weight
        units.events = round(units.event_rate * n)
        units.effective_n = float(n)
        return sample

    @classmethod
    def from_table(cls, rows: Any) -> Sample:
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

        sample = read_table(rows)
        if not isinstance(sample, Sample):
            raise InputError(
                f"rows are of segments by {', '.join(sample.by)}: "
                "read them with Segments.from_table"
            )
        return sample

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
        return self.store.grid

    @cached_property
    def entries(self) -> Rows:
        """The rows; of a compressed sample an entry for each cell and outcome, at the mean
        prediction.
        """
        return self.store.entries()

    @cached_property
    def units(self) -> Units:
        """What inference takes: the independent units, whatever the design."""
        return Units(self.store, self.design, self.tables)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of several classes; none in a sample of one event."""
        return self.store.classes

    @cached_property
    def top_label(self) -> Sample:
        """The largest probability of each row, and whether that class occurred."""
        self._require_classes("top_label")
        event = self.tables.store  # its event is that the most likely class occurs
        assert isinstance(event, Rows)
        rows = self.rows.replace(outcome=event.outcome, prob=event.prob, classes=())
        return self._holding(rows, self.design, self.tables)

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
    def y_true(self) -> Array:
        """The outcomes, 0 or 1; of several classes the number of the class."""
        outcome = self.entries.outcome
        # signed: 2 y - 1 must not be 255
        return read_only(outcome.view(np.int8) if outcome.dtype == np.uint8 else outcome)

    @cached_property
    def y_prob(self) -> Array:
        """The predicted probabilities of the event; of several classes a column for each."""
        self.require_one_forecast()
        return read_only(self.entries.prob)

    @cached_property
    def sample_weight(self) -> Array | None:
        """The weight of each row; None if there are none."""
        weight = self.entries.weight
        return None if weight is None else read_only(weight)

    @property
    def counts(self) -> Ints | None:
        """How many rows each entry of a compressed sample stands for."""
        return self.units.counts

    @property
    def event(self) -> Bools:
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
        """The number of draws of equal weight that are as many: ``(sum w)^2 / sum w^2``."""
        return self.units.effective_n

    @cached_property
    def mean_prediction(self) -> float:
        """The weighted mean of the predictions."""
        return self.cells.sum_of_predictions() / self.total_weight

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
        else:
            predictions = self.lower_edges()
        return self.units.digest_of(predictions)

    def predictions(self, forecast: str) -> Floats:
        """Return the predictions of one of several forecasts, as doubles."""
        return np.ascontiguousarray(self._column_of(forecast), np.float64)

    def _column_of(self, forecast: str) -> Array:
        if forecast == self.forecasts[0]:
            return self.rows.prob
        return (self.rows.others or {})[forecast]

    def lower_edges(self) -> list[Floats]:
        """Return the predictions of each forecast of a compressed sample, at the lower edges of
        their cells.
        """
        cells = self.cells
        numbers = cells.pair_cells() if self.forecasts else (cells.slot >> 1,)
        return [number / cells.m for number in numbers]

    def columns_beside(self) -> Mapping[str, Array]:
        """Return the columns of a file that were read with the rows, an entry a case."""
        columns = self.store.beside or {}
        cases = self.entries.cases
        if cases is None or not self.design.shares:
            return columns
        return {name: column[cases > 0] for name, column in columns.items()}

    def __iter__(self) -> Iterator[Any]:
        """Go through the labels of the classes, or the names of the forecasts."""
        return iter(self.classes or self.forecasts)

    def one_class(self, number: int) -> Sample:
        """Return the same rows with the event that the class of this number occurs."""
        return self._with_sums(self.rows.of_class(number))

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
        if self.grid is not None:
            raise InputError(
                "a sample of two forecasts that is compressed keeps pairs of cells: "
                "scan each by itself"
            )
        return self._with_prob(self.rows.replace(prob=self._column_of(name), others=None))

    def require_one_forecast(self) -> None:
        """Refuse several forecasts, for what is about one."""
        if len(self.forecasts) > 1:
            names = ", ".join(map(repr, self.forecasts))
            raise InputError(
                f"the sample has several forecasts, {names}: "
                f"choose one, as sample[{self.forecasts[0]!r}]"
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

    def with_costs(self, costs: Floats, *columns: tuple[str, Any]) -> Sample:
        """Return the same cases with the costs of each, which were checked; `columns` are all that
        the caller gave.
        """
        self.require_rows("costs of each case need")
        # costs are paired with rows by place: rows in order have other places
        if self.is_ordered or self.rows.costs is not None:
            raise InputError(
                "costs of each case go with the rows as they came: "
                "pass them with the sample of these rows"
            )
        check_aligned(*columns)
        case = self.rows.case_of_entry()
        n = int(case[-1]) + 1
        if len(costs) != n:
            raise InputError(
                "costs of each case must be as many as the rows; "
                f"there are {len(costs):,} for {n:,} rows"
            )
        return self.with_columns(self.rows.replace(costs=costs[case]))

    def with_segment_labels(self, by: Sequence[str], labels: Sequence[Any]) -> Sample:
        """Return the same cases with the labels of their segments, which so far are numbers."""
        rows = self.rows
        assert rows.segment is not None
        return self.with_columns(rows.replace(segment=named_segments(rows.segment, by, labels)))

    def with_columns_beside(self, beside: Mapping[str, Array]) -> Sample:
        """Return the same cases with columns of a file that were read with them: one entry for each
        case.
        """
        if self.design.shares:
            case = self.rows.case_of_entry()
            beside = {name: column[case] for name, column in beside.items()}
        return self.with_columns(self.rows.replace(beside=beside))

    def with_columns(self, store: Store, design: Design | None = None) -> Sample:
        """Return the same outcomes, predictions and weights, of which the sums stay valid, with
        other columns.
        """
        design = self.design if design is None else design
        sample = self._holding(store, design, self.tables, self.forecasts)
        sample.units = self.units.of_same_cases(store, design)
        return sample

    def with_forecasts(self, **prob: Floats) -> Sample:
        """Return the same cases with other forecasts, by name, which were checked already.

        An entry of a compressed sample stays one entry.
        """
        first, *further = prob
        others = {name: prob[name] for name in further}
        sample = self._with_prob(self.entries.replace(prob=prob[first], others=others or None))
        sample.forecasts = tuple(prob)
        sample.is_ordered = self.is_ordered or self.grid is not None
        return sample

    def with_predictions(self, prob: Floats, grid: int | None = None) -> Sample:
        """Return the same cases with other predictions, which were checked already.

        Those of cells are pooled on the grid of the sample, or on `grid`.
        """
        if isinstance(self.store, CellTable):
            cells = self.store.with_predictions(prob, self.store.m if grid is None else grid)
            return Sample.from_cells(cells, self.design)
        return self._with_prob(self.store.replace(prob=prob, others=None))

    def _with_prob(self, rows: Rows) -> Sample:
        """Return the same cases with other predictions; their sums stay those of the first pass."""
        sample = self._with_sums(rows)
        if self.grid is None:
            sample.units = self.units
        else:
            sample.units = self.units.of_same_cases(rows, self.design)
        return sample

    def _with_sums(self, rows: Rows) -> Sample:
        """Return as many cases that weigh as much, with sums of their own and one forecast."""
        return self.from_rows(rows, self.design, n=self.n, total_weight=self.total_weight)

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
        store = self.store.without_outcomes()
        if isinstance(store, CellTable):
            return Sample.from_cells(store)
        if self.design.strata is not None:
            store = store.replace(weight=None)
        return Sample.from_rows(store, n=self.n, total_weight=self.total_weight)

    def ungrouped(self) -> Sample:
        """The same rows, each taken as a draw of its own."""
        if not self.design.clustered and not self.design.shares:
            return self
        design = replace(self.design, clusters="none", shares=False)
        if isinstance(self.store, CellTable):  # which knows no groups: only their design changes
            return self.with_columns(self.store, design)
        return self.with_columns(self.store.replace(unit=None, cases=None), design)

    def with_single_cases(self) -> Sample:
        """Return the same rows as independent draws, if each group is one row; else the same
        sample.

        Their groups are still counted: other samples of the population may have larger ones, so
        what is assumed of sizes is assumed here too.
        """
        unit = self.entries.unit
        if unit is None or self.design.shares or len(np.unique(unit)) < len(unit):
            return self
        design = replace(self.design, clusters="single cases")
        return self.with_columns(self.rows.replace(unit=None), design)

    def with_base_rate(self, base_rate: BaseRate) -> Sample:
        """Return the same rows for a population with this base rate; of a range, with the weights
        of its middle in log odds.
        """
        self.require_one_event()
        strata = OutcomeStrata(*check_base_rate(base_rate))
        for is_given, what in (
            (self.units.has_weights, "sample_weight"),
            (self.design.clustered, "groups"),
            (self.design.shares, "fractional outcomes"),
            (self.store.segment is not None, "by"),
        ):
            if is_given:
                raise InputError(
                    f"base_rate cannot be combined with {what}: "
                    "rows must be independent, and weigh alike"
                )
        return self._settled(self.store, replace(self.design, strata=strata))

    def with_max_weight(self, max_weight: float | None) -> Sample:
        """State the largest weight of a unit of the population; None if it is not known."""
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

    def scenarios(self) -> list[Sample]:
        """Return the sample at both ends of the range of base rates; alone if there is none."""
        designs = self.design.scenarios()
        if designs == (self.design,):
            return [self]
        return [self._settled(self.store, design) for design in designs]

    def middle(self) -> Sample:
        """Return the sample at one base rate, that in the middle of a range."""
        design = self.design.middle()
        return self if design == self.design else self._settled(self.store, design)

    def as_drawn(self) -> Sample:
        """Return the rows without a base rate."""
        store = self.store.weighed_by_outcome(1.0, 1.0)  # only the base rate gave them weights
        tables = Tables(store, self.n, float(self.n))
        sample = self._holding(store, self.design.as_drawn(), tables, self.forecasts)
        sample.is_ordered = self.is_ordered
        return sample

    def _settled(self, store: Store, design: Design) -> Sample:
        """Return these cases with the weights that a base rate sets."""
        n, events = store.count_events()
        settled = design.settle(store)
        sample = self._holding(settled, design, Tables(settled, n, float(n)), self.forecasts)
        # some of the rows may have been taken in any order
        sample.is_ordered = self.is_ordered and store is self.store
        sample.units.events = events
        return sample

    def take(self, index: Any) -> Sample:
        """Return some of the rows, by their places or by a mask, with all their columns.

        Rows of a case, or of a group, are to be taken together. Weights that a base rate sets are
        set anew.
        """
        return self._counted(self.rows.take(index))

    def _counted(self, rows: Rows) -> Sample:
        """Return a sample of rows that were checked, after counting them: one pass if they have
        weights.
        """
        if self.design.strata is not None:
            return self._settled(rows, self.design)
        return self._holding(rows, self.design, Tables.counted(rows), self.forecasts)

    @classmethod
    def concat(cls, parts: Sequence[Sample]) -> Sample:
        """Return all cases of samples that were taken from one; cells are added."""
        # a part without rows may be of another store; if all are, one of them is the result
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
        return cls.from_rows(
            rows,
            first.design,
            n=sum(part.n for part in parts),
            total_weight=sum(part.total_weight for part in parts),
            forecasts=first.forecasts,
        )

    def without_segments(self) -> Sample:
        """Return the same cases without the segments they are in."""
        if self.store.segment is None:
            return self
        return self.with_columns(self.rows.replace(segment=None))

    def by_segment(self) -> Segments:
        """Return a sample for each segment of `by`, as a mapping."""
        from rainproof.core.segments import Segments

        segment = self.store.segment
        if segment is None:
            raise InputError(
                "the sample has no segments: make it with by, or scan the source with by"
            )
        places = segment.places()
        weight = self.sample_weight
        if weight is not None:  # a segment whose rows weigh nothing is no sample
            places = {label: index for label, index in places.items() if weight[index].any()}
        return Segments.from_places(self, segment.by, places)

    def in_order(self) -> Sample:
        """Return the same rows in an order that does not depend on how they came, and so does
        nothing drawn from them (see `rainproof.core.order`).

        Groups are numbered in this order. A compressed sample is in order already. The rows are
        copied.
        """
        if self.grid is not None or self.is_ordered:
            return self
        sample = self._counted(in_order(self.rows, self.units))
        if self.rows.weight is None and not self.classes:
            # sums without weights are the same in any order
            sample.tables = self.tables.of_same_cases(sample.rows)
        sample.is_ordered = True
        return sample

    def curve(self, old: str, new: str) -> SwitchCurve:
        """What acting on one of several forecasts in place of another loses at each threshold."""
        if isinstance(self.store, CellTable):
            return SwitchCurve.of_pairs(self.store)
        return SwitchCurve.of_cases(self.units, self.predictions(old), self.predictions(new))

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
        return floored._with_prob(floored.entries.replace(prob=self.distinct().prob[cell]))  # noqa: SLF001

    def thinned(self, counts: Ints) -> Sample:
        """Return so many cases of each cell and outcome, at the lower edge of the cell."""
        if not self.units.divisible:
            raise InputError(
                "unequal weights need rows: a compressed sample cannot be split row by row"
            )
        cells = self.cells.thinned(counts)
        if not len(cells.slot):
            # parts of few cases can be empty; `from_cells` refuses a total weight of 0
            empty = Sample._holding(cells, INDEPENDENT_CASES, Tables(cells, 0, 0.0))
            empty.units.event_rate = math.nan
            return empty
        if self.design.strata is not None:
            return self._settled(cells, self.design)
        return Sample.from_cells(cells, self.design)

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
        if self.store.costs is not None:
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
                "a sample with a base_rate cannot be saved: "
                "save the rows, and state the rate when you use it"
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
        facts: dict[str, Any] = {"n": self.n}
        if self.classes:
            few = len(self.classes) <= _CLASSES_SHOWN
            facts["classes"] = self.classes if few else f"{len(self.classes):,}"
            has_weights = False
        elif self.design.shares:
            facts["event_rate"] = f"{self.event_rate:.6g}"
            has_weights = self.units.has_weights
        else:
            facts["events"] = self.events
            has_weights = not np.array_equal(self.cells.weight[0], self.cells.count)
        if self.grid is not None:
            facts["grid"] = self.grid
        if self.base_rate is not None:
            facts["base_rate"] = self.base_rate
        elif has_weights:
            facts["total_weight"] = f"{self.total_weight:.6g}"
        if self.groups is not None:
            facts["groups"] = self.groups
        if self.forecasts:
            facts["forecasts"] = self.forecasts
        return f"Sample({', '.join(f'{name}={fact}' for name, fact in facts.items())})"
