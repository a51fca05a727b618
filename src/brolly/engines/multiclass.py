"""Several classes in record batches: a column of predictions for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from brolly.core.arrays import Ints
from brolly.core.grid.cells import check_grid
from brolly.core.grid.hashed_cells import HashedCells
from brolly.core.input.labels import SegmentIndex
from brolly.core.input.multiclass import check_labels, check_view, top_label, unknown_label, violations
from brolly.core.input.rows import ColumnNames, as_rows
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import GroupedCells, Segments
from brolly.engines.accumulators import RowAccumulator, SampleAccumulator, SegmentAccumulator, segment_numbers
from brolly.engines.column_spec import ColumnSpec
from brolly.engines.columns import Array, NumberColumn, as_numpy, is_text, split_nulls
from brolly.engines.ingest import BatchIngest, parts, read_column, weight_violations
from brolly.errors import InputError


class ClassAccumulator:
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
        self._cells = HashedCells(check_grid(m), weighted=weighted)

    def add_classes(
        self, which: Ints, prob: Array, weight: Array | None, batch: pa.RecordBatch, names: ColumnNames
    ) -> None:
        """Take each row once for each class."""
        segment = segment_numbers(self._index, batch, self._by) * len(self._labels)
        for k in range(len(self._labels)):
            self._cells.add(as_rows(which == k, prob[:, k], weight, names=names), segment + k)

    def result(self) -> Sample | Segments:
        keys = [(*key, label) for key in self._index.keys for label in self._labels]
        return GroupedCells(by=(*self._by, "class"), keys=keys, store=self._cells.packed()).result()


class MulticlassIngest(BatchIngest):
    """All the rows, seen as top labels or as each class against the rest.

    Parameters
    ----------
    spec : ColumnSpec
        Where to find what.
    labels : list or None
        What the outcome column calls the classes; None for the names of the columns, or 0, 1, ...
    accumulator : RowAccumulator or ClassAccumulator
        What adds the rows up.
    parse : bool
        Whether text stands for numbers.
    """

    def __init__(
        self, spec: ColumnSpec, labels: list[Any] | None, accumulator: RowAccumulator | ClassAccumulator, *, parse: bool
    ) -> None:
        super().__init__(ColumnNames(label=spec.outcome, prob=", ".join(spec.prob), weight=spec.weight or ""))
        self._accumulator = accumulator
        self._outcome = spec.outcome
        self._labels = labels
        self._parse = parse
        self._columns = [NumberColumn(name, parse=parse) for name in spec.prob]
        self._weight = None if spec.weight is None else NumberColumn(spec.weight, parse=parse)

    def result(self) -> Sample | Segments:
        """What the rows add up to."""
        return self._accumulator.result()

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
        read = [parts(column, batch, names) for column in self._columns]
        for _, errors in read:
            yield from errors
        if all(len(values) == batch.num_rows for values, _ in read):
            yield from violations(np.column_stack([values for values, _ in read]).astype(np.float64), names)
        yield from self._which(batch, names)[1]
        yield from weight_violations(self._weight, batch, names)

    def _which(self, batch: pa.RecordBatch, names: ColumnNames) -> tuple[Ints, list[InputError]]:
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


def multiclass_ingest(
    spec: ColumnSpec, m: int, view: str | None, labels: Sequence[Any] | None, *, parse: bool
) -> MulticlassIngest:
    """What takes the rows of several classes."""
    if isinstance(spec.prob, str) or len(spec.prob) < 2:
        raise InputError(f"prob must name a column for each class with view and labels; it is {spec.prob!r}")
    if view is None:
        raise InputError("view must say how to see several classes: 'top-label' or 'one-vs-rest'")
    if spec.pos_label is not None:
        raise InputError("pos_label is for two classes; say with labels what several are called")
    called = None if labels is None else check_labels(labels, len(spec.prob))
    weighted = spec.weight is not None
    accumulator: RowAccumulator | ClassAccumulator
    if check_view(view) == "one-vs-rest":
        accumulator = ClassAccumulator(spec.by, called or list(spec.prob), m, weighted=weighted)
    else:
        accumulator = SegmentAccumulator(spec.by, m, weighted=weighted) if spec.by else SampleAccumulator(m)
    return MulticlassIngest(spec, called, accumulator, parse=parse)
