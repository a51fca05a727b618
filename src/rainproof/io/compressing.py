"""Rows of one event, added up as they are read: with one forecast, or with two of the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rainproof.core.arrays import Ints
from rainproof.core.columns import ColumnNames, Columns
from rainproof.core.labels import Key
from rainproof.core.sample import Sample
from rainproof.core.segment_sums import SegmentSums
from rainproof.core.segments import Segments, from_sums
from rainproof.core.validation import as_columns
from rainproof.errors import InputError
from rainproof.io.arrow_arrays import Array, as_arrow
from rainproof.io.batches import BatchConsumer
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.column_types import MAX_EXACT_INTEGER
from rainproof.io.label_columns import EventColumn, segment_numbers
from rainproof.io.number_columns import (
    NumberColumn,
    amount_column,
    amount_columns,
    forecast_columns,
)
from rainproof.io.violations import (
    Violations,
    amount_violations,
    broken_rule,
    forecast_violations,
    raise_first,
    read_amounts,
    read_column,
    read_forecast,
    read_values,
)

TRIALS_PER_PIECE = 1 << 20  # rows that are made of trials at a time


class RowsRead(NamedTuple):
    """Rows of a batch, which are not checked yet, and what stands beside them."""

    columns: Columns
    others: dict[str, Array]  # the predictions of each other forecast
    costs: dict[str, Array]  # of each case, by column


class RowCompressor(BatchConsumer):
    """Adds up rows with one column of predictions, or with two of them.

    Parameters
    ----------
    spec : ColumnSpec
        The columns.
    m : int
        The grid of the sums.
    parse : bool
        Whether text is read as numbers, as in a CSV file.
    """

    def __init__(self, spec: ColumnSpec, m: int, *, parse: bool) -> None:
        super().__init__(spec.names)
        self.spec = spec
        self._m = m
        is_one = not spec.by and not spec.others  # which needs no table of segments
        self.segment_sums = SegmentSums(m, weighted=spec.weight is not None, one=is_one)
        self.segments: dict[Key, int] = {}  # the number of each
        forecasts = forecast_columns([str(spec.prob), *spec.others], spec, parse=parse)
        self.prob, *self._others = forecasts
        self._percent_columns = forecasts
        self.outcome: NumberColumn | EventColumn
        if spec.pos_label is None:
            self.outcome = NumberColumn(spec.outcome, "outcomes", parse=parse)
        else:
            self.outcome = EventColumn(spec.outcome, pos_label=spec.pos_label, parse=parse)
        self._weight = amount_column(spec.weight, parse=parse)
        self._trials = amount_column(spec.trials, parse=parse)
        self._costs = amount_columns(spec.costs, parse=parse)

    def sums(self) -> tuple[list[Key], SegmentSums]:
        """Return the labels of the segments, and the sums of all rows by segment."""
        if self._others:
            # The cell of the old forecast takes the place of the segment.
            cells_of_old: list[Key] = [(cell,) for cell in range(self._m + 1)]
            return cells_of_old, self.segment_sums
        if self.spec.by:
            return list(self.segments), self.segment_sums
        return [()], self.segment_sums

    def result(self) -> Sample | Segments:
        """Return the compressed rows."""
        self.check_event()
        keys, sums = self.sums()
        spec = self.spec
        compressed = from_sums(spec.group_columns(), keys, sums, spec.names.weight, spec.forecasts)
        return self.missing_outcomes.attached_to(compressed)

    def other_labels(self) -> frozenset[Any]:
        """Return the labels besides `pos_label` that were found: one is allowed, two are enough to
        refuse.
        """
        if isinstance(self.outcome, EventColumn):
            return frozenset(self.outcome.others[:2])
        return frozenset()

    def take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        """Check the rows of a batch and add them up; of trials, a row for each."""
        prob = read_column(self.prob, batch, names)
        label = read_column(self.outcome, batch, names)
        weight = None if self._weight is None else read_column(self._weight, batch, names)
        others = {column.name: read_forecast(column, batch, names) for column in self._others}
        costs = {column.name: read_amounts(column, batch, names) for column in self._costs}
        if self._trials is None:
            columns = as_columns(label, prob, weight, names=names)
            self._add_rows(RowsRead(columns, others, costs), batch)
            return
        trials = read_column(self._trials, batch, names)
        # Before rows are made of trials: a row that breaks a rule counts once.
        raise_first(broken_rule(np.zeros(len(prob)), prob, weight, names))
        raise_first(self._count_violations(label, trials, names))
        for row, outcome in single_trials(label, trials):
            weight_of_trials = None if weight is None else weight[row]
            columns = as_columns(outcome, prob[row], weight_of_trials, names=names)
            others_of_trials = {name: values[row] for name, values in others.items()}
            costs_of_trials = {name: values[row] for name, values in costs.items()}
            read = RowsRead(columns, others_of_trials, costs_of_trials)
            self._add_rows(read, batch.take(as_arrow(row)))

    def violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Violations:
        """Yield every rule that a batch breaks."""
        yield from forecast_violations(self.prob, batch, names)
        label, errors = read_values(self.outcome, batch, names)
        yield from errors
        if self._trials is None:
            yield from broken_rule(label, np.zeros(len(label)), None, names)
        else:
            trials, errors = read_values(self._trials, batch, names)
            yield from errors
            if len(trials) == len(label):  # no value was left out, so they belong together
                yield from self._count_violations(label, trials, names)
        if self._weight is not None:
            yield from amount_violations(self._weight, batch, names)
        for column in self._others:
            yield from forecast_violations(column, batch, names)
        for column in self._costs:
            yield from amount_violations(column, batch, names)

    def _add_rows(self, read: RowsRead, batch: pa.RecordBatch) -> None:
        """Check rows, and add them up by segment; with another forecast by its cell.

        `batch` has the labels of the rows.
        """
        segment = None
        if self.spec.old is not None:
            old_prob = read.others[self.spec.old].astype(np.float64)
            segment = (self._m * old_prob).astype(np.int64)
        elif self.spec.by:
            segment = segment_numbers(self.segments, self.spec.by, batch)
        self.segment_sums.add(read.columns, segment)

    def check_event(self) -> None:
        """Refuse, after all rows, a column in which the event is misspelt."""
        if isinstance(self.outcome, EventColumn):
            self.outcome.check_event()

    def _count_violations(self, events: Array, trials: Array, names: ColumnNames) -> Violations:
        """Yield the error for numbers of events that are not whole, or above those of trials."""
        are_whole = (np.floor(events) == events) & (np.floor(trials) == trials)
        are_in_range = (events >= 0) & (events <= trials) & (trials < MAX_EXACT_INTEGER)
        is_good = are_whole & are_in_range
        if is_good.all():
            return
        first = int(np.argmin(is_good))
        yield InputError.from_offenders(
            f"{names.label} must be a whole number of events, at most the number of trials in "
            f"{self.spec.trials}",
            int((~is_good).sum()),
            names.at(names.label, first),
            f"{events[first]:g} of {trials[first]:g}",
        )


def single_trials(events: Array, trials: Array) -> Iterator[tuple[Ints, Array]]:
    """Yield the row and the outcome of each trial, some at a time: of each row first those with the
    event.
    """
    counts = np.stack([events, trials - events], axis=1).ravel()
    # A row has two parts: its events, of even number, and its other trials.
    ends = np.cumsum(counts.astype(np.int64))
    total = int(ends[-1])
    for start in range(0, total, TRIALS_PER_PIECE):
        trial = np.arange(start, min(start + TRIALS_PER_PIECE, total))
        part = np.searchsorted(ends, trial, "right")
        row = part >> 1
        is_event = (part & 1) == 0
        yield row, is_event.view(np.uint8)
