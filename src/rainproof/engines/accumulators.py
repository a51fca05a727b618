"""Sums of the rows of record batches: in one sample, or in one for each segment."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from rainproof.core.arrays import Ints
from rainproof.core.grid.cell_accumulator import CellAccumulator
from rainproof.core.grid.hashed_cells import HashedCells, SlicedCells
from rainproof.core.input.labels import Codes, SegmentIndex, as_label
from rainproof.core.input.rows import Rows
from rainproof.core.sample.segments import GroupedCells
from rainproof.engines.column_spec import ColumnSpec
from rainproof.engines.columns import as_numpy, is_text
from rainproof.errors import InputError


class RowAccumulator(Protocol):
    """Adds up rows."""

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch, whose columns of values were read already."""

    def grouped(self) -> GroupedCells:
        """Return the sums of all rows."""


def make_accumulator(spec: ColumnSpec, m: int) -> RowAccumulator:
    """Return an accumulator on the grid ``1/m``, by segment where `spec` names columns for that."""
    return SegmentAccumulator(spec, m) if spec.by else SampleAccumulator(spec, m)


class SampleAccumulator:
    """The sums of all rows in one sample."""

    def __init__(self, spec: ColumnSpec, m: int) -> None:
        self._names = spec.names
        self._cells = CellAccumulator(m)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:  # noqa: ARG002 - the rows are enough
        self._cells.add(rows)

    def grouped(self) -> GroupedCells:
        store = SlicedCells(self._cells.cells())
        return GroupedCells(by=(), keys=[()], store=store, weight_name=self._names.weight)


class SegmentAccumulator:
    """The sums of the rows of each segment."""

    def __init__(self, spec: ColumnSpec, m: int) -> None:
        self._spec = spec
        self._index = SegmentIndex()
        self._cells = HashedCells(m, weighted=spec.weight is not None)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        self._cells.add(rows, self._segments(batch))

    def grouped(self) -> GroupedCells:
        spec = self._spec
        return GroupedCells(
            by=spec.by, keys=self._index.keys, store=self._cells.packed(), weight_name=spec.names.weight
        )

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
