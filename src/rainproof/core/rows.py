"""Rows: the columns of a sample, checked, and nothing else.

What is known of all columns together (how the cases were drawn, what they add up to) is not here:
see `rainproof.core.design` and `rainproof.core.units`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from rainproof.core.arrays import Array, Bytes, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class SegmentColumn:
    """The segment of each row: a number, and the label that each number stands for."""

    by: tuple[str, ...]  # the names of the columns that define segments
    labels: tuple[Any, ...]  # in order; with several columns each is a tuple of labels
    number: Ints

    def take(self, index: Any) -> SegmentColumn:
        """Return the segments of some rows."""
        return replace(self, number=self.number[index])

    @classmethod
    def concat(cls, parts: Sequence[SegmentColumn]) -> SegmentColumn:
        """Return the segments of the rows of several parts, one after the other."""
        known: dict[Any, int] = {}
        numbers = []
        for part in parts:
            new_numbers = [known.setdefault(label, len(known)) for label in part.labels]
            numbers.append(np.array(new_numbers, np.int64)[part.number])
        return cls(parts[0].by, tuple(known), np.concatenate(numbers))

    def places(self) -> dict[Any, Ints]:
        """Return the rows of each segment that has any."""
        order = np.argsort(self.number, kind="stable")
        size = np.bincount(self.number, minlength=len(self.labels))
        ends = np.cumsum(size)
        parts = zip(self.labels, ends - size, ends, strict=True)
        return {label: order[start:end] for label, start, end in parts if start < end}


# Not frozen: that would cost a sample of 20 rows 6% more time. Its arrays are not to be changed.
@dataclass(slots=True, eq=False)
class Rows:
    """Columns of one length, whose values are checked; None where a sample has no such column.

    An entry is one case; or one of the two parts of a case whose outcome is a share of the event,
    the second right after the first; or it stands for several cases that are alike.
    """

    outcome: Array  # 0 or 1, of any type that the kernels read in place; or the number of a class
    prob: Array  # the prediction; of several forecasts the first; of k classes shape (n, k)
    weight: Array | None = None  # as it counts
    cases: Ints | None = None  # how many the entry stands for; 0 is the second part of a case
    unit: Ints | None = None  # the number of the independent unit; None: each case is one
    segment: SegmentColumn | None = None
    costs: Floats | None = None  # of a false positive and of a false negative, shape (n, 2)
    others: Mapping[str, Array] | None = None  # the predictions of further forecasts
    beside: Mapping[str, Array] | None = None  # columns of a file that were read with these
    classes: tuple[Any, ...] = ()  # the labels of several classes, by their numbers
    grid: ClassVar[None] = None  # that of compressed cases, which these are not

    def __len__(self) -> int:
        return len(self.prob)

    def take(self, index: Any) -> Rows:
        """Return some of the rows, by their places or by a mask."""
        return Rows(*[_taken(column, index) for column in self._columns()])

    def replace(self, **columns: Any) -> Rows:
        """Return the same rows with other columns."""
        return replace(self, **columns)

    @classmethod
    def concat(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of several parts that have the same columns, one after the other."""
        columns = zip(*[part._columns() for part in parts], strict=True)  # noqa: SLF001
        return cls(*[_joined(column) for column in columns])

    def of_class(self, number: int) -> Rows:
        """Return the same cases with the event that the class of this number occurs."""
        event = (self.outcome == number).view(np.uint8)
        prob = np.ascontiguousarray(self.prob[:, number])
        return self.replace(outcome=event, prob=prob, classes=())

    def of_top_label(self) -> Rows:
        """Return the same cases with the event that the most likely class occurs."""
        event, prob = top_label(self.outcome, self.prob)
        return self.replace(outcome=event, prob=prob, classes=())

    @property
    def is_plain(self) -> bool:
        """Whether there are no columns besides outcome, prediction and weight."""
        further = self._columns()[3:-1]  # the last are the classes
        return not self.classes and all(column is None for column in further)

    def entries(self) -> Rows:
        """Return the rows, as those of compressed cases are returned."""
        return self

    def case_of_entry(self) -> Ints:
        """Return the number of the case that each entry belongs to."""
        if self.cases is None:
            return np.arange(len(self))
        return np.cumsum(self.cases > 0) - 1

    def count_events(self) -> tuple[int, int]:
        """Return how many cases there are, and how many of them have the event."""
        event = self.outcome == 1
        if self.cases is None:
            return len(event), int(np.count_nonzero(event))
        return int(self.cases.sum()), int(self.cases[event].sum())

    def weighed_by_outcome(self, without: float, with_event: float) -> Rows:
        """Return the same cases with a weight by outcome; without weights if all would be 1."""
        weight: Array | None = None
        if without != 1 or with_event != 1:
            weight = np.where(self.outcome == 1, with_event, without)
        if self.cases is not None:
            weight = self.cases * (1.0 if weight is None else weight)
        return self.replace(weight=weight)

    def without_outcomes(self) -> Rows:
        """Return predictions and weights, and no event."""
        return Rows(np.zeros(len(self), np.uint8), self.prob, self.weight)

    def _columns(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


def _taken(column: Any, index: Any) -> Any:
    """Return the entries of a column, of any kind that rows have."""
    if column is None:
        return None
    if isinstance(column, tuple):  # the labels of classes
        return column
    if isinstance(column, SegmentColumn):
        return column.take(index)
    if isinstance(column, Mapping):
        return {name: values[index] for name, values in column.items()}
    return column[index]


def _joined(parts: Sequence[Any]) -> Any:
    """Return one column of the same column of several parts."""
    first = parts[0]
    if first is None or isinstance(first, tuple):
        return first
    if isinstance(first, SegmentColumn):
        return SegmentColumn.concat(parts)
    if isinstance(first, Mapping):
        return {name: np.concatenate([part[name] for part in parts]) for name in first}
    return np.concatenate(parts)


def top_label(occurred: Ints, prob: Array) -> tuple[Bytes, Array]:
    """Return whether the most likely class (the first of equals) occurred, and its predicted
    probability.
    """
    top = prob.argmax(axis=1)
    return (top == occurred).view(np.uint8), prob[np.arange(len(prob)), top]
