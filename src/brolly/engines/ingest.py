"""Arrow record batches become a sample: in bounded memory, with errors that speak of all the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from brolly.core.input.rows import ColumnNames, as_rows
from brolly.core.sample.accumulator import Accumulator
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import Segments
from brolly.engines.accumulators import RowAccumulator
from brolly.engines.column_spec import ColumnSpec
from brolly.engines.columns import Array, ColumnReader, EventColumn, NumberColumn, split_nulls
from brolly.errors import InputError


class BatchIngest(ABC):
    """Take record batches one after the other.

    A value that breaks a rule does not end that: the values that break it in the batches to come are
    counted first, so that the one error which `finish` raises speaks of all the rows.

    Parameters
    ----------
    names : ColumnNames
        What the columns are called, for messages.
    """

    def __init__(self, names: ColumnNames) -> None:
        self.rows = 0
        self._names = names
        self._start = 0
        self._error: InputError | None = None
        self._count = 0

    def begin(self, source: str) -> None:
        """What comes next is from this one of several sources: rows are counted anew in messages."""
        self._start = self.rows
        self._names = replace(self._names, source=source)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch; raises at once only what further rows could not change."""
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
        """Raise the error that the rows add up to, if there is one."""
        if self._error is not None:
            raise _recounted(self._error, self._count)

    @abstractmethod
    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        """Do with good rows what is to be done, or raise the first thing that is wrong."""

    @abstractmethod
    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        """Every rule that a batch breaks: values that break one are left out for the next."""


class BinaryIngest(BatchIngest):
    """All the rows, given to something that adds them up.

    Parameters
    ----------
    spec : ColumnSpec
        Where to find what.
    accumulator : RowAccumulator
        What adds the rows up.
    parse : bool
        Whether text stands for numbers, as in a CSV file; text in a typed source is just text.
    """

    def __init__(self, spec: ColumnSpec, accumulator: RowAccumulator, *, parse: bool) -> None:
        assert isinstance(spec.prob, str)
        super().__init__(ColumnNames(label=spec.outcome, prob=spec.prob, weight=spec.weight or ""))
        self._accumulator = accumulator
        self._prob: ColumnReader = NumberColumn(spec.prob, parse=parse)
        self._outcome: ColumnReader = NumberColumn(spec.outcome, parse=parse, outcome=True)
        if spec.pos_label is not None:
            self._outcome = EventColumn(spec.outcome, pos_label=spec.pos_label, parse=parse)
        self._weight = None if spec.weight is None else NumberColumn(spec.weight, parse=parse)

    def result(self) -> Sample | Segments:
        """What the rows add up to."""
        return self._accumulator.result()

    def violations(self, batch: pa.RecordBatch) -> Iterator[InputError]:
        """Every rule that a batch breaks, to be counted over batches that are elsewhere too."""
        return self._violations(batch, self._names)

    def others(self) -> frozenset[Any]:
        """Labels that are not the event, where `pos_label` says which is: one, or two of too many."""
        column = self._outcome
        return frozenset([*column.others, *column.strange[:1]]) if isinstance(column, EventColumn) else frozenset()

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        prob = read_column(self._prob, batch, names)
        label = read_column(self._outcome, batch, names)
        weight = None if self._weight is None else read_column(self._weight, batch, names)
        self._accumulator.add(as_rows(label, prob, weight, names=names), batch)

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from prob_violations(self._prob, batch, names)
        label, errors = parts(self._outcome, batch, names)
        yield from errors
        yield from refusal(label, np.zeros(len(label)), None, names)
        yield from weight_violations(self._weight, batch, names)


def weight_violations(column: ColumnReader | None, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
    """Every rule that the weights of a batch break."""
    if column is not None:
        weight, errors = parts(column, batch, names)
        yield from errors
        yield from refusal(np.zeros(len(weight)), np.zeros(len(weight)), weight, names)


def prob_violations(column: ColumnReader, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
    """Every rule that the predictions of a batch break."""
    prob, errors = parts(column, batch, names)
    yield from errors
    number = ~np.isnan(prob)
    for some in (prob[~number], prob[number]):
        yield from refusal(np.zeros(len(some)), some, None, names)


def parts(column: ColumnReader, batch: pa.RecordBatch, names: ColumnNames) -> tuple[Array, list[InputError]]:
    """The values that core can judge, and what is wrong with the others."""
    values, nulls = split_nulls(column.name, batch.column(column.name), names)
    array, error = column.read(values, names)
    return array, [e for e in (nulls, error) if e is not None]


def read_column(column: ColumnReader, batch: pa.RecordBatch, names: ColumnNames) -> Array:
    """All the values, or the first thing that is wrong."""
    array, errors = parts(column, batch, names)
    if errors:
        raise errors[0]
    return array


def refusal(label: Array, prob: Array, weight: Array | None, names: ColumnNames) -> Iterator[InputError]:
    """What core has to say against these rows, if anything."""
    try:
        Accumulator(2).update(label, prob, sample_weight=weight, names=names)
    except InputError as error:
        yield error


def _recounted(error: InputError, count: int) -> InputError:
    """The same error for `count` values, where it was made for those of one batch."""
    first = error.first or ""
    hint = str(error).partition(f"the first is {first}")[2]
    return InputError.from_offenders(error.rule or "", count, first, hint=hint)
