"""From Arrow record batches to sums of rows, in bounded memory, with errors that count over all
rows.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rainproof.core import validation
from rainproof.core.arrays import Ints
from rainproof.core.classes import ClassSample
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments, SegmentSums, from_sums
from rainproof.core.text import rows as rows_text
from rainproof.core.validation import Codes, ColumnNames, Key, Rows
from rainproof.errors import InputError, RainproofWarning
from rainproof.io.column_types import KindCheck
from rainproof.io.columns import (
    LABELS,
    Array,
    EventColumn,
    NumberColumn,
    as_arrow,
    encoded,
    filter_batch,
    is_text,
    split_nulls,
    without_missing_words,
    without_views,
)
from rainproof.io.sources import Source

if TYPE_CHECKING:
    from rainproof.io.scanning import ColumnSpec

_TRIALS = 1 << 20  # rows made at a time
_MOST_TRIALS = 1 << 53  # of a row: whole numbers are exact up to here


def feed(
    sources: list[Source],
    spec: ColumnSpec,
    ingest: BatchIngest,
    progress: Callable[[int, int], object] | None,
) -> None:
    """Pass the rows that are asked for to `ingest`, and raise what is wrong with them."""
    total = sum(one.rows for one in sources) if all(one.rows for one in sources) else 0
    read = met = 0
    complete = spec.complete
    kinds = KindCheck(spec.label_columns())
    for one in sources:
        start = read
        if len(sources) > 1:
            ingest.begin(one.name)
        for batch in one.batches():
            rows = without_views(batch)
            if one.parse:
                rows = without_missing_words(rows, spec.number_columns())
            kinds.check(rows, read - start, one.name if len(sources) > 1 else "")
            read += batch.num_rows
            if spec.where is not None:
                rows = filter_batch(spec.where, rows)
            met += rows.num_rows
            if complete is not None and rows.num_rows:
                every = rows
                rows = filter_batch(complete, every)
                if spec.by and rows.num_rows < every.num_rows:
                    ingest.leave_out(filter_batch(spec.outcome_missing, every), spec.by)
            if rows.num_rows:
                ingest.add(rows)
            if progress is not None:
                progress(read, total)
    if met > ingest.rows:
        have, are = ("has", "is") if met - ingest.rows == 1 else ("have", "are")
        left_out = (
            f"{met - ingest.rows:,} of {rows_text(met)} {have} a missing value and {are} left out"
        )
        warnings.warn(left_out, RainproofWarning, stacklevel=3)
    if not ingest.rows:
        names = sources[0].name if len(sources) == 1 else f"each of the {len(sources):,} files"
        filtered = " that meet where" if read or spec.native is not None else ""
        raise InputError(f"{names} has columns but no rows{filtered}")
    ingest.finish()


def number_batch(known: dict[Key, int], columns: Sequence[str], batch: pa.RecordBatch) -> Ints:
    """Return the number of each row's segment, or group: rows with the same labels in the columns
    have the same.
    """
    codes = [encoded_labels(batch.column(name), name) for name in columns]
    return validation.number_rows(known, codes, batch.num_rows)


def missing_groups(
    groups: Sequence[str], batch: pa.RecordBatch, names: ColumnNames
) -> Iterator[InputError]:
    """Yield the error for each column of groups in which a value is missing."""
    for group in groups:
        _, error = split_nulls(group, batch.column(group), names)
        if error is not None:
            yield error


def encoded_labels(column: pa.Array, name: str) -> Codes:
    """Return a column as numbers and their labels; null and NaN are the label None."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_timestamp(kind):  # nanoseconds would become a type of pandas
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    elif is_text(kind) or pa.types.is_null(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_nested(kind) or "binary" in str(kind):
        raise InputError(f"{name} {LABELS}; it holds values of type {kind}")
    codes, labels = encoded(column, name)
    return codes, [validation.as_label(label) for label in labels]


class BatchIngest(ABC):
    """A consumer of record batches, which come one after the other.

    After a value that breaks a rule, the values that break it in later batches are counted too, so
    that the one error that `finish` raises is about all rows.

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
        self._probabilities: Sequence[NumberColumn] = ()
        self._late = dict[Key, int]()  # the number of each segment with rows without an outcome
        self._late_rows = np.zeros(0, np.int64)  # how many

    def leave_out(self, batch: pa.RecordBatch, by: Sequence[str]) -> None:
        """Count the rows of each segment that are left out as they have no outcome."""
        number = number_batch(self._late, by, batch)
        counts = np.bincount(number, minlength=len(self._late))
        counts[: len(self._late_rows)] += self._late_rows
        self._late_rows = counts

    def _with_missing(self, found: Sample | Segments) -> Sample | Segments:
        """The same segments, with the number of rows of each that were left out."""
        if isinstance(found, Segments) and self._late:
            keys = [key if len(key) > 1 else key[0] for key in self._late]
            found.missing_outcomes = dict(zip(keys, self._late_rows.tolist(), strict=True))
        return found

    def begin(self, source: str) -> None:
        """Start with the next of several sources: messages name it, and count its rows from 0."""
        self._start = self.rows
        self._names = replace(self._names, source=source)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch; raise at once only what later rows cannot change."""
        names = replace(self._names, first=self.rows - self._start)
        self.rows += batch.num_rows
        if self._error is not None:
            self._count += sum(
                e.count for e in self._violations(batch, names) if e.rule == self._error.rule
            )
            return
        try:
            self._take(batch, names)
        except InputError as error:
            if not error.count:
                raise
            self._error, self._count = error, error.count

    def finish(self) -> None:
        """Raise the error of all batches together, if there is one; warn of what hardly is in
        percent.
        """
        error = self._error
        if error is not None:
            raise error.revised(count=self._count)
        for one in self._probabilities:
            if 0 < one.largest <= 1:
                found = f"{one.name} is read in percent, and its largest value is {one.largest:.3g}"
                meant = f"if that means {100 * one.largest:.3g}%, it is not in percent"
                warnings.warn(f"{found}: {meant}", RainproofWarning, stacklevel=4)

    @abstractmethod
    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        """Process the rows of a batch, or raise the first rule that they break."""

    @abstractmethod
    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        """Yield every rule that a batch breaks; values that break one are left out for the next."""


class BinaryIngest(BatchIngest):
    """Rows with one column of predictions, or two of them, added up.

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
        self._spec, self._m = spec, m
        self._sums = SegmentSums(
            m, weighted=spec.weight is not None, one=not spec.by and not spec.others
        )
        self._segments = dict[Key, int]()
        columns = (str(spec.prob), *spec.others)
        self._prob, *self._others = (
            NumberColumn(name, "probabilities", spec, parse=parse) for name in columns
        )
        self._probabilities = [self._prob, *self._others]
        self._outcome: NumberColumn | EventColumn = NumberColumn(
            spec.outcome, "outcomes", spec, parse=parse
        )
        if spec.pos_label is not None:
            self._outcome = EventColumn(spec.outcome, pos_label=spec.pos_label, parse=parse)
        self._weight, self._trials = (
            None if name is None else NumberColumn(name, "amounts", spec, parse=parse)
            for name in (spec.weight, spec.trials)
        )
        self._costs = [NumberColumn(name, "amounts", spec, parse=parse) for name in spec.costs]

    def sums(self) -> tuple[list[Key], SegmentSums]:
        """Return the labels of the segments, and the sums of all rows by segment."""
        if self._others:
            return [(cell,) for cell in range(self._m + 1)], self._sums
        return [*self._segments] if self._spec.by else [()], self._sums

    def result(self) -> Sample | Segments:
        """Return the compressed rows."""
        self._check_event()
        found = from_sums(
            self._spec.group_columns(), *self.sums(), self._spec.names.weight, self._spec.forecasts
        )
        return self._with_missing(found)

    def _check_event(self) -> None:
        if isinstance(self._outcome, EventColumn):
            self._outcome.check_event()

    def other_labels(self) -> frozenset[Any]:
        """Return the labels besides `pos_label` that were found: one is allowed, two are enough to
        refuse.
        """
        column = self._outcome
        return frozenset(column.others[:2]) if isinstance(column, EventColumn) else frozenset()

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        prob = read_column(self._prob, batch, names)
        label = read_column(self._outcome, batch, names)
        weight = None if self._weight is None else read_column(self._weight, batch, names)
        others = [self._other(column, batch, names) for column in self._others]
        others += [read_amounts(column, batch, names) for column in self._costs]
        if self._trials is None:
            self._add(validation.as_rows(label, prob, weight, names=names), others, batch)
            return
        trials = read_column(self._trials, batch, names)
        for error in (
            *_rule_broken(np.zeros(len(prob)), prob, weight, names),
            *self._miscounted(label, trials, names),
        ):
            raise error
        for row, event in single_trials(label, trials):
            some = None if weight is None else weight[row]
            rows = validation.as_rows(event, prob[row], some, names=names)
            self._add(rows, [other[row] for other in others], batch.take(as_arrow(row)))

    def _other(self, column: NumberColumn, batch: pa.RecordBatch, names: ColumnNames) -> Array:
        """Return the predictions of another forecast, or raise what is wrong with them."""
        names = replace(names, prob=column.name)
        prob = read_column(column, batch, names)
        error = validation.explain_probabilities(prob, names)
        if error is not None:
            raise error
        return prob

    def _add(self, rows: Rows, others: list[Array], batch: pa.RecordBatch) -> None:
        """Check the rows and add them up; with another forecast by its cell, as if each were a
        segment.
        """
        segment = number_batch(self._segments, self._spec.by, batch) if self._spec.by else None
        self._sums.add(
            rows, (self._m * others[0].astype(np.float64)).astype(np.int64) if others else segment
        )

    def _miscounted(self, events: Array, trials: Array, names: ColumnNames) -> Iterator[InputError]:
        """Yield the error for numbers of events that are not whole numbers from 0 to the number of
        trials.
        """
        whole = (np.floor(events) == events) & (np.floor(trials) == trials)
        good = whole & (events >= 0) & (events <= trials) & (trials < _MOST_TRIALS)
        if not good.all():
            first = int(np.argmin(good))
            yield InputError.from_offenders(
                f"{names.label} must be a whole number of events, at most the number of trials in {self._spec.trials}",
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
        for column in self._others:
            yield from prob_violations(column, batch, replace(names, prob=column.name))
        for column in self._costs:
            yield from weight_violations(column, batch, replace(names, weight=column.name))


def single_trials(events: Array, trials: Array) -> Iterator[tuple[Ints, Array]]:
    """Yield the row and the outcome of each trial, some at a time: of each row first those with the
    event.
    """
    ends = np.cumsum(np.stack([events, trials - events], axis=1).ravel().astype(np.int64))
    for start in range(0, int(ends[-1]), _TRIALS):
        at = np.searchsorted(ends, np.arange(start, min(start + _TRIALS, int(ends[-1]))), "right")
        yield at >> 1, (at & 1 == 0).view(np.uint8)


def weight_violations(
    column: NumberColumn | None, batch: pa.RecordBatch, names: ColumnNames
) -> Iterator[InputError]:
    """Yield every rule that the weights of a batch break."""
    if column is not None:
        weight, errors = read_values(column, batch, names)
        yield from errors
        yield from _rule_broken(np.zeros(len(weight)), np.zeros(len(weight)), weight, names)


def read_amounts(column: NumberColumn, batch: pa.RecordBatch, names: ColumnNames) -> Array:
    """Return amounts that are finite and not negative, or raise the first thing that is wrong."""
    for error in weight_violations(column, batch, replace(names, weight=column.name)):
        raise error
    return read_column(column, batch, names)


def prob_violations(
    column: NumberColumn, batch: pa.RecordBatch, names: ColumnNames
) -> Iterator[InputError]:
    """Yield every rule that the predictions of a batch break."""
    prob, errors = read_values(column, batch, names)
    yield from errors
    number = ~np.isnan(prob)
    for some in (prob[~number], prob[number]):
        yield from _rule_broken(np.zeros(len(some)), some, None, names)


def class_violations(
    columns: Sequence[NumberColumn],
    batch: pa.RecordBatch,
    names: ColumnNames,
    there: Any = slice(None),
) -> Iterator[InputError]:
    """Yield every rule that the predictions of several classes break, in the rows where they are."""
    read = [read_values(column, batch, names) for column in columns]
    for _, errors in read:
        yield from errors
    if all(len(values) == batch.num_rows for values, _ in read):
        prob = np.full((batch.num_rows, len(columns)), 1 / len(columns))
        prob[there] = np.column_stack([values for values, _ in read])[there]
        yield from validation.violations(prob, names)


def read_values(
    column: NumberColumn | EventColumn, batch: pa.RecordBatch, names: ColumnNames
) -> tuple[Array, list[InputError]]:
    """Return the values that can be read, and what is wrong with the others."""
    values, nulls = split_nulls(column.name, batch.column(column.name), names)
    array, error = column.read(values, names)
    return array, [e for e in (nulls, error) if e is not None]


def read_column(
    column: NumberColumn | EventColumn, batch: pa.RecordBatch, names: ColumnNames
) -> Array:
    """Return all values, or raise the first thing that is wrong."""
    array, errors = read_values(column, batch, names)
    if errors:
        raise errors[0]
    return array


def _rule_broken(
    label: Array, prob: Array, weight: Array | None, names: ColumnNames
) -> Iterator[InputError]:
    """Yield the rule of `Sample` that these rows break, if any."""
    try:
        validation.as_rows(label, prob, weight, names=names).check()
    except InputError as error:
        yield error


class MulticlassIngest(BatchIngest):
    """Rows with a column of predictions for each class: kept, or added up by class or for the top
    label.

    Parameters
    ----------
    spec : ColumnSpec
        The columns.
    m : int
        The grid of the sums.
    view : str or None
        As in `scan`.
    labels : sequence or None
        The labels of the classes in the outcome column; None for the names of the columns, or 0, 1,
        ...
    parse : bool
        Whether text is read as numbers, as in a CSV file.
    keep : bool
        Whether rows are kept, whatever `view`, with the columns `by` as groups.
    """

    def __init__(
        self,
        spec: ColumnSpec,
        m: int,
        view: str | None,
        labels: Sequence[Any] | None,
        *,
        parse: bool,
        keep: bool = False,
    ) -> None:
        super().__init__(spec.names)
        if isinstance(spec.prob, str) or len(spec.prob) < 2:
            raise InputError(
                f"prob must name a column for each class with view and labels; it is {spec.prob!r}"
            )
        if spec.trials is not None:
            raise InputError("trials are for one event, not for several classes")
        if not keep and view not in ("top-label", "one-vs-rest"):
            rule = "view must be 'top-label' or 'one-vs-rest' with several columns of predictions"
            raise InputError(f"{rule}; it is {view!r}")
        if spec.pos_label is not None:
            raise InputError("pos_label is for two classes; give the labels of several with labels")
        self._labels = None if labels is None else validation.check_labels(labels, len(spec.prob))
        self._each, self._kept = view == "one-vs-rest", keep
        self._sums = SegmentSums(
            m, weighted=spec.weight is not None, one=not spec.by and not self._each
        )
        self._segments, self._parts = dict[Key, int](), list[tuple[Array, ...]]()
        self._by, self._outcome, self._parse = spec.by, spec.outcome, parse
        self._columns = [
            NumberColumn(name, "probabilities", spec, parse=parse) for name in spec.prob
        ]
        self._weight = (
            None if spec.weight is None else NumberColumn(spec.weight, "amounts", spec, parse=parse)
        )

    @property
    def _called(self) -> list[Any]:
        """The labels of the classes."""
        return self._labels or [column.name for column in self._columns]

    def result(self) -> Sample | Segments:
        """Return the compressed rows; a class is the last label of a segment."""
        keys, weight = [*self._segments], self._names.weight
        if not self._each:
            return self._with_missing(from_sums(self._by, keys, self._sums, weight))
        return from_sums(
            (*self._by, "class"),
            [(*key, k) for key in keys for k in self._called],
            self._sums,
            weight,
        )

    def kept(self) -> ClassSample:
        """Return all rows."""
        which, prob, weight, group = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        return ClassSample(
            np.array(self._called, object)[which],
            prob,
            sample_weight=None if self._weight is None else weight,
            groups=group if self._by else None,
            labels=self._called,
        )

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        for error in class_violations(self._columns, batch, names):
            raise error
        prob = np.column_stack(
            [read_column(column, batch, names) for column in self._columns]
        ).astype(np.float64)
        which, errors = self._which(batch, names)
        for error in (*errors, *self._ungrouped(batch, names)):
            raise error
        weight = None if self._weight is None else read_column(self._weight, batch, names)
        segment = number_batch(self._segments, self._by, batch)
        if self._each:
            for k in range(len(self._columns)):
                rows = validation.as_rows(which == k, prob[:, k], weight, names=names)
                self._sums.add(rows, segment * len(self._columns) + k)
            return
        top = validation.as_rows(*validation.top_label(which, prob), weight, names=names)
        if not self._kept:
            self._sums.add(top, segment)
            return
        top.check()
        self._parts.append(
            (which, prob, np.ones(len(which)) if weight is None else weight, segment)
        )

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from class_violations(self._columns, batch, names)
        yield from self._which(batch, names)[1]
        yield from self._ungrouped(batch, names)
        yield from weight_violations(self._weight, batch, names)

    def _ungrouped(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        """Yield the error for each column of groups in which a value is missing."""
        return missing_groups(self._by if self._kept else (), batch, names)

    def _which(self, batch: pa.RecordBatch, names: ColumnNames) -> tuple[Ints, list[InputError]]:
        """Return the class of each row, and what is wrong with the rows that have none."""
        values, nulls = split_nulls(self._outcome, batch.column(self._outcome), names)
        index, found = encoded(values, self._outcome)
        known = self._known(values.type)
        which = np.array([known.get(value, -1) for value in found], np.int64)[index]
        errors = [] if nulls is None else [nulls]
        unknown = which < 0
        if unknown.any():
            first = int(unknown.argmax())
            value, count, unnamed = (
                found[index[first]],
                int(unknown.sum()),
                0 in known and self._labels is None,
            )
            errors.append(
                validation.unknown_label(value, first, count, len(self._columns), unnamed, names)
            )
        return which, errors

    def _known(self, kind: pa.DataType) -> dict[Any, int]:
        """Return the number of each class by its label in the outcome column; in a text file
        numbers are text too.
        """
        names: Sequence[Any] = (
            [column.name for column in self._columns] if self._labels is None else self._labels
        )
        numbers = {k: k for k in range(len(names))} if self._labels is None else {}
        if is_text(kind):
            return {
                **({str(k): k for k in numbers} if self._parse else {}),
                **{str(n): k for k, n in enumerate(names)},
            }
        return numbers or {name: k for k, name in enumerate(names)}
