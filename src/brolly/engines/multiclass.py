"""Several classes in record batches: a column of predictions for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from brolly.core.arrays import Ints
from brolly.core.grid.cells import check_grid
from brolly.core.grid.hashed_cells import Groups
from brolly.core.input.labels import SegmentIndex
from brolly.core.input.multiclass import check_labels, check_view, offences, top_label, unknown_label
from brolly.core.input.rows import Names, as_rows
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import GroupedCells, Segments
from brolly.engines.accumulators import SampleAccumulator, SegmentAccumulator, Sink, segment_numbers
from brolly.engines.column_spec import Roles
from brolly.engines.columns import Array, Numbers, as_numpy, is_text, split_nulls
from brolly.engines.ingest import Batches, parts, weight_offences, whole_column
from brolly.errors import InputError


class ByClass:
    """One sample for each class, and for each segment apart.

    Parameters
    ----------
    by : tuple of str
        The columns that tell segments apart; none for one segment.
    labels : list
        What the classes are called.
    m : int
        The grid of the compression.
    weighted : bool
        Whether the rows have weights.
    """

    def __init__(self, by: tuple[str, ...], labels: list[Any], m: int, *, weighted: bool) -> None:
        self._by = by
        self._labels = labels
        self._index = SegmentIndex()
        self._groups = Groups(check_grid(m), weighted=weighted)

    def add_classes(self, which: Ints, prob: Array, weight: Array | None, batch: pa.RecordBatch, names: Names) -> None:
        """Take each row once for each class."""
        segment = segment_numbers(self._index, batch, self._by) * len(self._labels)
        for k in range(len(self._labels)):
            self._groups.add(as_rows(which == k, prob[:, k], weight, names=names), segment + k)

    def result(self) -> Sample | Segments:
        keys = [(*key, label) for key in self._index.keys for label in self._labels]
        return GroupedCells(by=(*self._by, "class"), keys=keys, store=self._groups.packed()).result()


class ClassIntake(Batches):
    """All the rows, seen as top labels or as each class against the rest.

    Parameters
    ----------
    roles : Roles
        Where to find what.
    labels : list or None
        What the outcome column calls the classes; None for the names of the columns, or 0, 1, ...
    sink : Sink or ByClass
        What adds the rows up.
    parse : bool
        Whether text stands for numbers.
    """

    def __init__(self, roles: Roles, labels: list[Any] | None, sink: Sink | ByClass, *, parse: bool) -> None:
        super().__init__(Names(label=roles.outcome, prob=", ".join(roles.prob), weight=roles.weight or ""))
        self._sink = sink
        self._outcome = roles.outcome
        self._labels = labels
        self._parse = parse
        self._columns = [Numbers(name, parse=parse) for name in roles.prob]
        self._weight = None if roles.weight is None else Numbers(roles.weight, parse=parse)

    def result(self) -> Sample | Segments:
        """What the rows add up to."""
        return self._sink.result()

    def _take(self, batch: pa.RecordBatch, names: Names) -> None:
        prob = np.column_stack([whole_column(column, batch, names) for column in self._columns]).astype(np.float64)
        for error in offences(prob, names):
            raise error
        which, errors = self._which(batch, names)
        for error in errors:
            raise error
        weight = None if self._weight is None else whole_column(self._weight, batch, names)
        if isinstance(self._sink, ByClass):
            self._sink.add_classes(which, prob, weight, batch, names)
        else:
            self._sink.add(as_rows(*top_label(which, prob), weight, names=names), batch)

    def _offences(self, batch: pa.RecordBatch, names: Names) -> Iterator[InputError]:
        read = [parts(column, batch, names) for column in self._columns]
        for _, errors in read:
            yield from errors
        if all(len(values) == batch.num_rows for values, _ in read):
            yield from offences(np.column_stack([values for values, _ in read]).astype(np.float64), names)
        yield from self._which(batch, names)[1]
        yield from weight_offences(self._weight, batch, names)

    def _which(self, batch: pa.RecordBatch, names: Names) -> tuple[Ints, list[InputError]]:
        """Which class each row is of, and what is wrong with the others."""
        values, nulls = split_nulls(self._outcome, batch.column(self._outcome), names)
        encoded = values.dictionary_encode()
        shown = encoded.dictionary.to_pylist()
        known = self._known(values.type)
        index = as_numpy(encoded.indices)
        which = np.array([known.get(value, -1) for value in shown], np.int64)[index]
        errors = [] if nulls is None else [nulls]
        strange = which < 0
        if strange.any():
            first = int(strange.argmax())
            value, count, unnamed = shown[index[first]], int(strange.sum()), 0 in known and self._labels is None
            errors.append(unknown_label(value, first, count, len(self._columns), unnamed, names))
        return which, errors

    def _known(self, kind: pa.DataType) -> dict[Any, int]:
        """The number of each class by what the outcome column calls it; in a text file numbers are text too."""
        names: Sequence[Any] = [column.name for column in self._columns] if self._labels is None else self._labels
        numbers = {k: k for k in range(len(names))} if self._labels is None else {}
        if is_text(kind):
            return {**({str(k): k for k in numbers} if self._parse else {}), **{str(n): k for k, n in enumerate(names)}}
        return numbers or {name: k for k, name in enumerate(names)}


def class_intake(roles: Roles, m: int, view: str | None, labels: Sequence[Any] | None, *, parse: bool) -> ClassIntake:
    """What takes the rows of several classes."""
    if isinstance(roles.prob, str) or len(roles.prob) < 2:
        raise InputError(f"prob must name a column for each class with view and labels; it is {roles.prob!r}")
    if view is None:
        raise InputError("view must say how to see several classes: 'top-label' or 'one-vs-rest'")
    if roles.pos_label is not None:
        raise InputError("pos_label is for two classes; say with labels what several are called")
    called = None if labels is None else check_labels(labels, len(roles.prob))
    weighted = roles.weight is not None
    sink: Sink | ByClass
    if check_view(view) == "one-vs-rest":
        sink = ByClass(roles.by, called or list(roles.prob), m, weighted=weighted)
    else:
        sink = SegmentAccumulator(roles.by, m, weighted=weighted) if roles.by else SampleAccumulator(m)
    return ClassIntake(roles, called, sink, parse=parse)
