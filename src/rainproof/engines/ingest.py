"""From Arrow record batches to sums of rows, in bounded memory, with errors that count over all rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from rainproof.core.arrays import Ints
from rainproof.core.grid.cell_accumulator import CellAccumulator
from rainproof.core.input.rows import ColumnNames, as_rows
from rainproof.core.sample.segments import GroupedCells
from rainproof.engines.accumulators import RowAccumulator
from rainproof.engines.column_spec import ColumnSpec
from rainproof.engines.columns import Array, ColumnReader, EventColumn, NumberColumn, as_arrow, split_nulls
from rainproof.errors import InputError

_TRIALS = 1 << 20  # rows made at a time
_MOST_TRIALS = 1 << 53  # of a row: whole numbers are exact up to here


class BatchIngest(ABC):
    """A consumer of record batches, which come one after the other.

    After a value that breaks a rule, the values that break it in later batches are counted too, so that the one
    error that `finish` raises is about all rows.

    Parameters
    ----------
    names : ColumnNames
        The names of the columns, for error messages.
    """

    def __init__(self, names: ColumnNames) -> None:
        self.rows = 0
        self._names = names
        self._start = 0
        self._error: InputError | None = None
        self._count = 0

    def begin(self, source: str) -> None:
        """Start with the next of several sources: messages name it, and count its rows from 0."""
        self._start = self.rows
        self._names = replace(self._names, source=source)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch; raise at once only what later rows cannot change."""
        names = replace(self._names, first=self.rows - self._start)
        self.rows += batch.num_rows
        if self._error is not None:
            self._count += sum(e.count for e in self._violations(batch, names) if e.rule == self._error.rule)
            return
        try:
            self._take(batch, names)
        except InputError as error:
            if not error.count:
                raise
            self._error, self._count = error, error.count

    def finish(self) -> None:
        """Raise the error of all batches together, if there is one."""
        error = self._error
        if error is not None:
            raise InputError.from_offenders(error.rule or "", self._count, error.first, hint=error.hint)

    @abstractmethod
    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        """Process the rows of a batch, or raise the first rule that they break."""

    @abstractmethod
    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        """Yield every rule that a batch breaks; values that break one are left out for the next."""


class BinaryIngest(BatchIngest):
    """Rows with one column of predictions, passed on to an accumulator.

    Parameters
    ----------
    spec : ColumnSpec
        The columns.
    accumulator : RowAccumulator
        What adds the rows up.
    parse : bool
        Whether text is read as numbers, as in a CSV file.
    """

    def __init__(self, spec: ColumnSpec, accumulator: RowAccumulator, *, parse: bool) -> None:
        super().__init__(spec.names)
        self._accumulator = accumulator
        self._prob: ColumnReader = NumberColumn(
            spec.names.prob, parse=parse, percent=spec.percent, confidence_words=spec.confidence_words
        )
        self._outcome: ColumnReader = NumberColumn(spec.outcome, parse=parse, outcome=True)
        if spec.pos_label is not None:
            self._outcome = EventColumn(spec.outcome, pos_label=spec.pos_label, parse=parse)
        self._weight = None if spec.weight is None else NumberColumn(spec.weight, parse=parse, unbounded=True)
        self._trials = None if spec.trials is None else NumberColumn(spec.trials, parse=parse, unbounded=True)

    def grouped(self) -> GroupedCells:
        """Return the sums of all rows."""
        return self._accumulator.grouped()

    def violations(self, batch: pa.RecordBatch) -> Iterator[InputError]:
        """Yield every rule that a batch breaks, to be counted over the batches of other processes too."""
        return self._violations(batch, self._names)

    def other_labels(self) -> frozenset[Any]:
        """Return the labels besides `pos_label` that were found: one is allowed, two are enough to refuse."""
        column = self._outcome
        return frozenset(column.others[:2]) if isinstance(column, EventColumn) else frozenset()

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        prob = read_column(self._prob, batch, names)
        label = read_column(self._outcome, batch, names)
        weight = None if self._weight is None else read_column(self._weight, batch, names)
        if self._trials is None:
            self._accumulator.add(as_rows(label, prob, weight, names=names), batch)
            return
        trials = read_column(self._trials, batch, names)
        for error in (*_rule_broken(np.zeros(len(prob)), prob, weight, names), *self._miscounted(label, trials, names)):
            raise error
        for row, event in single_trials(label, trials):
            some = None if weight is None else weight[row]
            self._accumulator.add(as_rows(event, prob[row], some, names=names), batch.take(as_arrow(row)))

    def _miscounted(self, events: Array, trials: Array, names: ColumnNames) -> Iterator[InputError]:
        """Yield the error for numbers of events that are not whole numbers from 0 to the number of trials."""
        assert self._trials is not None
        whole = (np.floor(events) == events) & (np.floor(trials) == trials)
        good = whole & (events >= 0) & (events <= trials) & (trials < _MOST_TRIALS)
        if not good.all():
            first = int(np.argmin(good))
            yield InputError.from_offenders(
                f"{names.label} must be a whole number of events, at most the number of trials in {self._trials.name}",
                int((~good).sum()),
                names.at(names.label, first),
                f"{events[first]:g} of {trials[first]:g}",
            )

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from prob_violations(self._prob, batch, names)
        label, errors = read_values(self._outcome, batch, names)
        yield from errors
        if self._trials is None:
            yield from _rule_broken(label, np.zeros(len(label)), None, names)
        else:
            trials, errors = read_values(self._trials, batch, names)
            yield from errors
            if len(trials) == len(label):
                yield from self._miscounted(label, trials, names)
        yield from weight_violations(self._weight, batch, names)


def single_trials(events: Array, trials: Array) -> Iterator[tuple[Ints, Array]]:
    """Yield the row and the outcome of each trial, some at a time: of each row first those with the event."""
    ends = np.cumsum(np.stack([events, trials - events], axis=1).ravel().astype(np.int64))
    for start in range(0, int(ends[-1]), _TRIALS):
        at = np.searchsorted(ends, np.arange(start, min(start + _TRIALS, int(ends[-1]))), "right")
        yield at >> 1, (at & 1 == 0).view(np.uint8)


def weight_violations(column: ColumnReader | None, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
    """Yield every rule that the weights of a batch break."""
    if column is not None:
        weight, errors = read_values(column, batch, names)
        yield from errors
        yield from _rule_broken(np.zeros(len(weight)), np.zeros(len(weight)), weight, names)


def prob_violations(column: ColumnReader, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
    """Yield every rule that the predictions of a batch break."""
    prob, errors = read_values(column, batch, names)
    yield from errors
    number = ~np.isnan(prob)
    for some in (prob[~number], prob[number]):
        yield from _rule_broken(np.zeros(len(some)), some, None, names)


def read_values(column: ColumnReader, batch: pa.RecordBatch, names: ColumnNames) -> tuple[Array, list[InputError]]:
    """Return the values that can be read, and what is wrong with the others."""
    values, nulls = split_nulls(column.name, batch.column(column.name), names)
    array, error = column.read(values, names)
    return array, [e for e in (nulls, error) if e is not None]


def read_column(column: ColumnReader, batch: pa.RecordBatch, names: ColumnNames) -> Array:
    """Return all values, or raise the first thing that is wrong."""
    array, errors = read_values(column, batch, names)
    if errors:
        raise errors[0]
    return array


def _rule_broken(label: Array, prob: Array, weight: Array | None, names: ColumnNames) -> Iterator[InputError]:
    """Yield the rule of `Sample` that these rows break, if any."""
    try:
        CellAccumulator(2).add(as_rows(label, prob, weight, names=names))
    except InputError as error:
        yield error
