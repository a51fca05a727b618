"""From sources to what takes their rows, batch by batch: conditions, missing values, and errors
that are about all rows.

What is made of the rows is elsewhere: sums in `rainproof.io.compressing`, samples of single rows in
`rainproof.io.kept_rows`, copies with new columns in `rainproof.io.new_columns`.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from rainproof.core.arrays import Ints
from rainproof.core.columns import ColumnNames
from rainproof.core.labels import Key
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import rows as rows_text
from rainproof.errors import InputError, RainproofWarning
from rainproof.io.arrow_arrays import text_errors, without_views
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.column_types import KindCheck
from rainproof.io.label_columns import as_segment, segment_numbers
from rainproof.io.number_columns import NumberColumn
from rainproof.io.sources import Progress, Source
from rainproof.io.text_numbers import without_missing_words


class BatchConsumer(ABC):
    """Takes record batches, which come one after the other.

    After a value that breaks a rule, the values that break it in later batches are counted too, so
    that the one error that `finish` raises is about all rows.

    Parameters
    ----------
    names : ColumnNames
        The names of the columns, for error messages.
    """

    def __init__(self, names: ColumnNames) -> None:
        self.rows = 0
        self.missing_outcomes = MissingOutcomes()
        self.names = names
        self._source_start = 0  # the number of rows before those of the current source
        self._error: InputError | None = None
        self._percent_columns: Sequence[NumberColumn] = ()

    def begin(self, source: str) -> None:
        """Start with the next of several sources: messages name it, and count its rows from 0."""
        self._source_start = self.rows
        self.names = replace(self.names, source=source)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch; raise at once only what later rows cannot change."""
        names = replace(self.names, first=self.rows - self._source_start)
        self.rows += batch.num_rows
        if self._error is not None:
            # The batch is read for the count alone: the message is about the rule that was broken
            # first, and about all rows that break it.
            for error in self.violations(batch, names):
                if error.rule == self._error.rule:
                    self._error = self._error.revised(count=self._error.count + error.count)
            return
        try:
            self.take(batch, names)
        except InputError as error:
            if not error.count:  # such as a column of dates: no row can be better
                raise
            self._error = error

    def finish(self) -> None:
        """Raise the error of all batches together, if there is one.

        Warn of columns that are read in percent, and hardly are.
        """
        if self._error is not None:
            raise self._error
        for column in self._percent_columns:
            largest = column.largest_percent
            if 0 < largest <= 1:
                fact = f"{column.name} is read in percent, and its largest value is {largest:.3g}"
                doubt = f"if that means {100 * largest:.3g}%, it is not in percent"
                # Past `finish`, `feed` and `scan`: the line that calls `scan` is shown.
                warnings.warn(f"{fact}: {doubt}", RainproofWarning, stacklevel=4)

    @abstractmethod
    def take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        """Process the rows of a batch, or raise the first rule that they break."""

    @abstractmethod
    def violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        """Yield every rule that a batch breaks; values that break one are left out for the next."""


class MissingOutcomes:
    """How many rows of each segment are left out as they have no outcome."""

    def __init__(self) -> None:
        self._segments: dict[Key, int] = {}  # the number of each
        # Rows that were left out of each segment, by its number.
        self._counts: Ints = np.zeros(0, np.int64)

    def add(self, batch: pa.RecordBatch, by: Sequence[str]) -> None:
        """Count rows that are left out; `by` are the columns of segments."""
        segment = segment_numbers(self._segments, by, batch)
        # Segments that are new in this batch are numbered after those that were known.
        counts = np.bincount(segment, minlength=len(self._segments))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def attached_to(self, compressed: Sample | Segments) -> Sample | Segments:
        """Return the same segments, with the number of rows that were left out of each."""
        if isinstance(compressed, Segments) and self._segments:
            segments = [as_segment(key) for key in self._segments]
            counts = self._counts.tolist()
            compressed.missing_outcomes = dict(zip(segments, counts, strict=True))
        return compressed


def feed(
    sources: Sequence[Source],
    spec: ColumnSpec,
    consumer: BatchConsumer,
    progress: Progress | None,
) -> None:
    """Pass the rows that are asked for to the consumer, and raise what is wrong with them."""
    selection = _Selection(spec, consumer)
    total_rows = 0 if progress is None else _total_rows(sources)
    kinds = KindCheck(spec.label_columns(), labels=spec.by)
    rows_read = 0
    for source in sources:
        source_start = rows_read
        source_name = ""
        if len(sources) > 1:
            source_name = source.name
            consumer.begin(source_name)
        for batch in source.batches():
            with text_errors(batch):
                rows = without_views(batch)
                # Only text files write missing numbers in words; a typed file has nulls.
                if source.parse:
                    rows = without_missing_words(rows, spec.number_columns())
                kinds.check(rows, rows_read - source_start, source_name)
                rows_read += rows.num_rows
                selected = selection.select(rows)
                if selected.num_rows:
                    consumer.add(selected)
            if progress is not None:
                progress(rows_read, total_rows)
    # Before errors, which are about the rows that are left.
    selection.warn_of_incomplete()
    if not consumer.rows:
        name = sources[0].name if len(sources) == 1 else f"each of the {len(sources):,} files"
        is_filtered = rows_read > 0 or spec.native is not None
        where = " that meet where" if is_filtered else ""
        raise InputError(f"{name} has columns but no rows{where}")
    consumer.finish()


def _total_rows(sources: Sequence[Source]) -> int:
    """Return the number of rows of all sources; 0 if one of them does not state it."""
    total = 0
    for source in sources:
        rows = 0 if source.rows is None else source.rows()
        if not rows:
            return 0
        total += rows
    return total


class _Selection:
    """Selects the rows that meet the condition and, if asked for, miss no value.

    Those that miss one are counted.
    """

    def __init__(self, spec: ColumnSpec, consumer: BatchConsumer) -> None:
        self._spec = spec
        self._complete = spec.complete_rows()
        self._missing_outcomes = consumer.missing_outcomes
        self._rows = 0  # that meet the condition
        self._incomplete_rows = 0

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._spec.where is None and self._complete is None:
            return batch
        from rainproof.io.filtering import filter_batch  # here, as it takes long to import

        if self._spec.where is not None:
            batch = filter_batch(self._spec.where, batch)
        self._rows += batch.num_rows
        if self._complete is None or not batch.num_rows:
            return batch
        complete = filter_batch(self._complete, batch)
        if complete.num_rows < batch.num_rows:
            self._incomplete_rows += batch.num_rows - complete.num_rows
            # By segment, as monitoring judges a period only if it lacks no more outcomes than
            # others.
            if self._spec.by:
                without_outcome = filter_batch(self._spec.only_outcome_missing(), batch)
                self._missing_outcomes.add(without_outcome, self._spec.by)
        return complete

    def warn_of_incomplete(self) -> None:
        """Warn how many rows are left out as they miss a value."""
        if not self._incomplete_rows:
            return
        fault = "have a missing value and are left out"
        if self._incomplete_rows == 1:
            fault = "has a missing value and is left out"
        text = f"{self._incomplete_rows:,} of {rows_text(self._rows)} {fault}"
        warnings.warn(text, RainproofWarning, stacklevel=4)
