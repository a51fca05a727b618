"""Arrow record batches become a sample: in bounded memory, with errors that speak of all the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from brolly.core.accumulator import Accumulator
from brolly.core.rows import Names
from brolly.core.sample import Sample
from brolly.engines.columns import Array, Column, Events, Numbers, split_nulls
from brolly.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class Roles:
    """Which column of the source is what."""

    prob: str
    outcome: str
    weight: str | None = None

    def __post_init__(self) -> None:
        columns = self.columns()
        if len(set(columns)) < len(columns):
            raise InputError(f"prob, outcome and weight must be different columns; they are {', '.join(columns)}")

    def columns(self) -> list[str]:
        return [self.prob, self.outcome, *([] if self.weight is None else [self.weight])]


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
        self._error: InputError | None = None
        self._count = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch; raises at once only what further rows could not change."""
        names = replace(self._names, first=self.rows)
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
    """The sample of all the rows.

    Parameters
    ----------
    roles : Roles
        Where to find what.
    m : int
        The grid of the compression.
    pos_label : object
        Which label is the event, or None for labels 0 and 1.
    parse : bool
        Whether text stands for numbers, as in a CSV file; text in a typed source is just text.
    """

    def __init__(self, roles: Roles, *, m: int, pos_label: Any, parse: bool) -> None:
        super().__init__(Names(label=roles.outcome, prob=roles.prob, weight=roles.weight or ""))
        self._accumulator = Accumulator(m)
        self._prob: Column = Numbers(roles.prob, parse=parse)
        self._outcome: Column = Numbers(roles.outcome, parse=parse, outcome=True)
        if pos_label is not None:
            self._outcome = Events(roles.outcome, pos_label=pos_label, parse=parse)
        self._weight = None if roles.weight is None else Numbers(roles.weight, parse=parse)

    def sample(self) -> Sample:
        """The sample of all rows, or the error that they add up to."""
        self.finish()
        try:
            return self._accumulator.sample()
        except InputError as error:  # of the weights' sum, which core calls by its own name
            raise InputError(str(error).replace("sample_weight", self._names.weight, 1)) from None

    def _take(self, batch: pa.RecordBatch, names: Names) -> None:
        prob = whole_column(self._prob, batch, names)
        label = whole_column(self._outcome, batch, names)
        weight = None if self._weight is None else whole_column(self._weight, batch, names)
        self._accumulator.update(label, prob, sample_weight=weight, names=names)

    def _offences(self, batch: pa.RecordBatch, names: Names) -> Iterator[InputError]:
        yield from prob_offences(self._prob, batch, names)
        label, errors = parts(self._outcome, batch, names)
        yield from errors
        yield from _refusal(label, np.zeros(len(label)), None, names)
        if self._weight is not None:
            weight, errors = parts(self._weight, batch, names)
            yield from errors
            yield from _refusal(np.zeros(len(weight)), np.zeros(len(weight)), weight, names)


def prob_offences(column: Column, batch: pa.RecordBatch, names: Names) -> Iterator[InputError]:
    """Every rule that the predictions of a batch break."""
    prob, errors = parts(column, batch, names)
    yield from errors
    number = ~np.isnan(prob)
    for some in (prob[~number], prob[number]):
        yield from _refusal(np.zeros(len(some)), some, None, names)


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


def _refusal(label: Array, prob: Array, weight: Array | None, names: Names) -> Iterator[InputError]:
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
