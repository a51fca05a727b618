"""Several classes in record batches: one column of predictions for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from rainproof.core.arrays import Ints
from rainproof.core.input.multiclass import check_labels, check_view, top_label, unknown_label, violations
from rainproof.core.input.rows import ColumnNames, as_rows
from rainproof.core.sample.segments import GroupedCells
from rainproof.engines.accumulators import RowAccumulator, SegmentAccumulator, make_accumulator
from rainproof.engines.column_spec import ColumnSpec
from rainproof.engines.columns import Array, NumberColumn, as_numpy, is_text, split_nulls
from rainproof.engines.ingest import BatchIngest, read_column, read_values, weight_violations
from rainproof.errors import InputError


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

    def grouped(self) -> GroupedCells:
        """Return the sums of all rows; a class is the last label of a segment."""
        sums = super().grouped()
        keys = [(*key, label) for key in sums.keys for label in self._labels]
        return replace(sums, by=(*sums.by, "class"), keys=keys)


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
        self._outcome = spec.outcome
        self._labels = labels
        self._parse = parse
        self._columns = [
            NumberColumn(name, parse=parse, percent=spec.percent, confidence_words=spec.confidence_words)
            for name in spec.prob
        ]
        self._weight = None if spec.weight is None else NumberColumn(spec.weight, parse=parse, unbounded=True)

    def grouped(self) -> GroupedCells:
        """Return the sums of all rows."""
        return self._accumulator.grouped()

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
