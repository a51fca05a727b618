"""Arrow record batches become a sample: in bounded memory, with errors that speak of all the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from brolly.core.input.rows import Names, as_rows
from brolly.core.sample.accumulator import Accumulator
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import Segments
from brolly.engines.accumulators import Sink
from brolly.engines.column_spec import Roles
from brolly.engines.columns import Array, Column, Events, Numbers, split_nulls
from brolly.errors import InputError


class Batches(ABC):
    """Take record batches one after the other.

    A value that breaks a rule does not end that: the values that break it in the batches to come are
    counted first, so that the one error which `finish` raises speaks of all the rows.

    Parameters
    ----------
    names : Names
        What the columns are called, for messages.
    """

    def __init__(self, names: Names) -> None:
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
            self._count += sum(e.count for e in self._offences(batch, names) if e.rule == self._error.rule)
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
    def _take(self, batch: pa.RecordBatch, names: Names) -> None:
        """Do with good rows what is to be done, or raise the first thing that is wrong."""

    @abstractmethod
    def _offences(self, batch: pa.RecordBatch, names: Names) -> Iterator[InputError]:
        """Every rule that a batch breaks: values that break one are left out for the next."""


class Intake(Batches):
    """All the rows, given to something that adds them up.

    Parameters
    ----------
    roles : Roles
        Where to find what.
    sink : Sink
        What adds the rows up.
    parse : bool
        Whether text stands for numbers, as in a CSV file; text in a typed source is just text.
    """

    def __init__(self, roles: Roles, sink: Sink, *, parse: bool) -> None:
        assert isinstance(roles.prob, str)
        super().__init__(Names(label=roles.outcome, prob=roles.prob, weight=roles.weight or ""))
        self._sink = sink
        self._prob: Column = Numbers(roles.prob, parse=parse)
        self._outcome: Column = Numbers(roles.outcome, parse=parse, outcome=True)
        if roles.pos_label is not None:
            self._outcome = Events(roles.outcome, pos_label=roles.pos_label, parse=parse)
        self._weight = None if roles.weight is None else Numbers(roles.weight, parse=parse)

    def result(self) -> Sample | Segments:
        """What the rows add up to."""
        return self._sink.result()

    def offences(self, batch: pa.RecordBatch) -> Iterator[InputError]:
        """Every rule that a batch breaks, to be counted over batches that are elsewhere too."""
        return self._offences(batch, self._names)

    def others(self) -> frozenset[Any]:
        """Labels that are not the event, where `pos_label` says which is: one, or two of too many."""
        column = self._outcome
        return frozenset([*column.others, *column.strange[:1]]) if isinstance(column, Events) else frozenset()

    def _take(self, batch: pa.RecordBatch, names: Names) -> None:
        prob = whole_column(self._prob, batch, names)
        label = whole_column(self._outcome, batch, names)
        weight = None if self._weight is None else whole_column(self._weight, batch, names)
        self._sink.add(as_rows(label, prob, weight, names=names), batch)

    def _offences(self, batch: pa.RecordBatch, names: Names) -> Iterator[InputError]:
        yield from prob_offences(self._prob, batch, names)
        label, errors = parts(self._outcome, batch, names)
        yield from errors
        yield from refusal(label, np.zeros(len(label)), None, names)
        yield from weight_offences(self._weight, batch, names)


def weight_offences(column: Column | None, batch: pa.RecordBatch, names: Names) -> Iterator[InputError]:
    """Every rule that the weights of a batch break."""
    if column is not None:
        weight, errors = parts(column, batch, names)
        yield from errors
        yield from refusal(np.zeros(len(weight)), np.zeros(len(weight)), weight, names)


def prob_offences(column: Column, batch: pa.RecordBatch, names: Names) -> Iterator[InputError]:
    """Every rule that the predictions of a batch break."""
    prob, errors = parts(column, batch, names)
    yield from errors
    number = ~np.isnan(prob)
    for some in (prob[~number], prob[number]):
        yield from refusal(np.zeros(len(some)), some, None, names)


def parts(column: Column, batch: pa.RecordBatch, names: Names) -> tuple[Array, list[InputError]]:
    """The values that core can judge, and what is wrong with the others."""
    values, nulls = split_nulls(column.name, batch.column(column.name), names)
    array, error = column.read(values, names)
    return array, [e for e in (nulls, error) if e is not None]


def whole_column(column: Column, batch: pa.RecordBatch, names: Names) -> Array:
    """All the values, or the first thing that is wrong."""
    array, errors = parts(column, batch, names)
    if errors:
        raise errors[0]
    return array


def refusal(label: Array, prob: Array, weight: Array | None, names: Names) -> Iterator[InputError]:
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
