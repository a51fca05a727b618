"""From Arrow record batches to sums of rows, in bounded memory, with errors that count over all rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from rainproof.core.arrays import Ints
from rainproof.core.cells import CellAccumulator
from rainproof.core.door import (
    Codes,
    ColumnNames,
    Key,
    Rows,
    SegmentIndex,
    as_label,
    as_rows,
    check_labels,
    check_view,
    explain_probabilities,
    top_label,
    unknown_label,
    violations,
)
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments, SegmentSums, from_sums
from rainproof.errors import InputError
from rainproof.io.columns import (
    Array,
    ColumnReader,
    EventColumn,
    NumberColumn,
    as_arrow,
    as_numpy,
    is_text,
    split_nulls,
)
from rainproof.io.where import ColumnSpec


class RowAccumulator(Protocol):
    """Adds up rows."""

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch, whose columns of values were read already."""

    def sums(self) -> tuple[Sequence[Key], SegmentSums]:
        """Return the labels of the segments, and the sums of all rows by segment."""


def make_accumulator(spec: ColumnSpec, m: int) -> RowAccumulator:
    """Return an accumulator on the grid ``1/m``, by segment where `spec` names columns for that."""
    return SegmentAccumulator(spec, m) if spec.by else SampleAccumulator(m)


class SampleAccumulator:
    """The sums of all rows in one sample."""

    def __init__(self, m: int) -> None:
        self._cells = CellAccumulator(m)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:  # noqa: ARG002 - the rows are enough
        self._cells.add(rows)

    def sums(self) -> tuple[Sequence[Key], SegmentSums]:
        return [()], SegmentSums.from_table(self._cells.cells())


class SegmentAccumulator:
    """The sums of the rows of each segment."""

    def __init__(self, spec: ColumnSpec, m: int) -> None:
        self._spec = spec
        self._index = SegmentIndex()
        self._cells = SegmentSums(m, weighted=spec.weight is not None)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        self._cells.add(rows, self._segments(batch))

    def sums(self) -> tuple[Sequence[Key], SegmentSums]:
        return self._index.keys, self._cells

    def _segments(self, batch: pa.RecordBatch) -> Ints:
        columns = [encoded_labels(batch.column(name), name) for name in self._spec.by]
        return self._index.number_rows(columns, batch.num_rows)


def encoded_labels(column: pa.Array, name: str) -> Codes:
    """Return a column as numbers and their labels; null and NaN are the label None."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_timestamp(kind):  # nanoseconds would become a type of pandas
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise InputError(f"by must name columns of text, numbers or dates; {name} holds values of type {kind}")
    elif is_text(kind) or pa.types.is_null(kind):
        column = column.cast(pa.large_string())
    encoded = column.dictionary_encode(null_encoding="encode")
    return as_numpy(encoded.indices), [as_label(value) for value in encoded.dictionary.to_pylist()]


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
            raise error.revised(count=self._count)

    @abstractmethod
    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        """Process the rows of a batch, or raise the first rule that they break."""

    @abstractmethod
    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        """Yield every rule that a batch breaks; values that break one are left out for the next."""


def _predictions(name: str, spec: ColumnSpec, *, parse: bool) -> NumberColumn:
    """Return what reads a column of predictions."""
    return NumberColumn(name, parse=parse, percent=spec.percent, confidence_words=spec.confidence_words)


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
        self._spec = spec
        self._accumulator = accumulator
        self._prob: ColumnReader = _predictions(spec.names.prob, spec, parse=parse)
        self._outcome: ColumnReader = NumberColumn(spec.outcome, parse=parse, outcome=True)
        if spec.pos_label is not None:
            self._outcome = EventColumn(spec.outcome, pos_label=spec.pos_label, parse=parse)
        self._weight = None if spec.weight is None else NumberColumn(spec.weight, parse=parse, unbounded=True)
        self._trials = None if spec.trials is None else NumberColumn(spec.trials, parse=parse, unbounded=True)

    def sums(self) -> tuple[Sequence[Key], SegmentSums]:
        """Return the labels of the segments, and the sums of all rows by segment."""
        return self._accumulator.sums()

    def result(self) -> Sample | Segments:
        """Return the compressed rows."""
        return from_sums(self._spec.group_columns(), *self.sums(), self._spec.names.weight, self._spec.forecasts)

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


class PairAccumulator:
    """The sums of the rows by cell of the old prediction, as if each were a segment."""

    def __init__(self, spec: ColumnSpec, m: int, *, parse: bool) -> None:
        self._spec = spec
        self.column = _predictions(str(spec.old), spec, parse=parse)
        self._cells = SegmentSums(m, weighted=spec.weight is not None)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        names = replace(rows.names, prob=self.column.name)
        old = read_column(self.column, batch, names)
        error = explain_probabilities(old, names)
        if error is not None:
            raise error
        self._cells.add(rows, (self._cells.m * old.astype(np.float64)).astype(np.int64))

    def sums(self) -> tuple[Sequence[Key], SegmentSums]:
        return [(cell,) for cell in range(self._cells.m + 1)], self._cells


class PairIngest(BinaryIngest):
    """Rows with an old and a new prediction."""

    def __init__(self, spec: ColumnSpec, m: int, *, parse: bool) -> None:
        accumulator = PairAccumulator(spec, m, parse=parse)
        super().__init__(spec, accumulator, parse=parse)
        self._old = accumulator.column

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from super()._violations(batch, names)
        yield from prob_violations(self._old, batch, replace(names, prob=self._old.name))


def make_ingest(spec: ColumnSpec, m: int, *, parse: bool) -> BinaryIngest:
    """Return what reads one column of predictions, or two of them."""
    if spec.old is not None:
        return PairIngest(spec, m, parse=parse)
    return BinaryIngest(spec, make_accumulator(spec, m), parse=parse)


class ClassAccumulator(SegmentAccumulator):
    """The sums of the rows by class, and by segment where there are segments."""

    def __init__(self, spec: ColumnSpec, labels: list[Any], m: int) -> None:
        super().__init__(spec, m)
        self._labels = labels

    def add_classes(
        self, which: Ints, prob: Array, weight: Array | None, batch: pa.RecordBatch, names: ColumnNames
    ) -> None:
        """Add each row once for each class."""
        segment = self._segments(batch) * len(self._labels)
        for k in range(len(self._labels)):
            self._cells.add(as_rows(which == k, prob[:, k], weight, names=names), segment + k)

    def sums(self) -> tuple[Sequence[Key], SegmentSums]:
        """Return the segments and their sums; a class is the last label of a segment."""
        return [(*key, label) for key in self._index.keys for label in self._labels], self._cells


class MulticlassIngest(BatchIngest):
    """Rows with a column of predictions for each class, passed on to an accumulator.

    Parameters
    ----------
    spec : ColumnSpec
        The columns.
    labels : list or None
        The labels of the classes in the outcome column; None for the names of the columns, or 0, 1, ...
    accumulator : RowAccumulator
        What adds up the rows: a `ClassAccumulator` each class against the rest, any other the top label.
    parse : bool
        Whether text is read as numbers, as in a CSV file.
    """

    def __init__(
        self,
        spec: ColumnSpec,
        labels: list[Any] | None,
        accumulator: RowAccumulator,
        *,
        parse: bool,
    ) -> None:
        super().__init__(spec.names)
        self._accumulator = accumulator
        self._by = (*spec.by, "class") if isinstance(accumulator, ClassAccumulator) else spec.by
        self._outcome = spec.outcome
        self._labels = labels
        self._parse = parse
        self._columns = [_predictions(name, spec, parse=parse) for name in spec.prob]
        self._weight = None if spec.weight is None else NumberColumn(spec.weight, parse=parse, unbounded=True)

    def result(self) -> Sample | Segments:
        """Return the compressed rows."""
        return from_sums(self._by, *self._accumulator.sums(), self._names.weight)

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        prob = np.column_stack([read_column(column, batch, names) for column in self._columns]).astype(np.float64)
        for error in violations(prob, names):
            raise error
        which, errors = self._which(batch, names)
        for error in errors:
            raise error
        weight = None if self._weight is None else read_column(self._weight, batch, names)
        if isinstance(self._accumulator, ClassAccumulator):
            self._accumulator.add_classes(which, prob, weight, batch, names)
        else:
            self._accumulator.add(as_rows(*top_label(which, prob), weight, names=names), batch)

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        read = [read_values(column, batch, names) for column in self._columns]
        for _, errors in read:
            yield from errors
        if all(len(values) == batch.num_rows for values, _ in read):
            yield from violations(np.column_stack([values for values, _ in read]).astype(np.float64), names)
        yield from self._which(batch, names)[1]
        yield from weight_violations(self._weight, batch, names)

    def _which(self, batch: pa.RecordBatch, names: ColumnNames) -> tuple[Ints, list[InputError]]:
        """Return the class of each row, and what is wrong with the rows that have none."""
        values, nulls = split_nulls(self._outcome, batch.column(self._outcome), names)
        encoded = values.dictionary_encode()
        found = encoded.dictionary.to_pylist()
        known = self._known(values.type)
        index = as_numpy(encoded.indices)
        which = np.array([known.get(value, -1) for value in found], np.int64)[index]
        errors = [] if nulls is None else [nulls]
        unknown = which < 0
        if unknown.any():
            first = int(unknown.argmax())
            value, count, unnamed = found[index[first]], int(unknown.sum()), 0 in known and self._labels is None
            errors.append(unknown_label(value, first, count, len(self._columns), unnamed, names))
        return which, errors

    def _known(self, kind: pa.DataType) -> dict[Any, int]:
        """Return the number of each class by its label in the outcome column; in a text file numbers are text too."""
        names: Sequence[Any] = [column.name for column in self._columns] if self._labels is None else self._labels
        numbers = {k: k for k in range(len(names))} if self._labels is None else {}
        if is_text(kind):
            return {**({str(k): k for k in numbers} if self._parse else {}), **{str(n): k for k, n in enumerate(names)}}
        return numbers or {name: k for k, name in enumerate(names)}


def multiclass_ingest(
    spec: ColumnSpec, m: int, view: str | None, labels: Sequence[Any] | None, *, parse: bool
) -> MulticlassIngest:
    """Check the arguments of `scan` for several classes, and return what reads the rows."""
    if isinstance(spec.prob, str) or len(spec.prob) < 2:
        raise InputError(f"prob must name a column for each class with view and labels; it is {spec.prob!r}")
    if view is None:
        raise InputError("view must be 'top-label' or 'one-vs-rest' with several columns of predictions")
    if spec.pos_label is not None:
        raise InputError("pos_label is for two classes; give the labels of several with labels")
    called = None if labels is None else check_labels(labels, len(spec.prob))
    one_vs_rest = check_view(view) == "one-vs-rest"
    accumulator = ClassAccumulator(spec, called or list(spec.prob), m) if one_vs_rest else make_accumulator(spec, m)
    return MulticlassIngest(spec, called, accumulator, parse=parse)
