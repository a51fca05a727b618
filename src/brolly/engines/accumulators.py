"""What rows of record batches are added to: one sample, or one for each segment."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from brolly.core.arrays import Ints
from brolly.core.grid.cell_accumulator import CellAccumulator
from brolly.core.grid.cells import check_grid
from brolly.core.grid.hashed_cells import HashedCells
from brolly.core.input.labels import Codes, SegmentIndex, as_label
from brolly.core.input.rows import Rows
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import GroupedCells, Segments
from brolly.engines.columns import as_numpy, is_text
from brolly.errors import InputError


class RowAccumulator(Protocol):
    """Adds rows up."""

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        """Take checked columns, and the batch that they are from."""

    def result(self) -> Sample | Segments: ...


class SampleAccumulator:
    """One sample of all rows."""

    def __init__(self, m: int) -> None:
        self._cells = CellAccumulator(check_grid(m))

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:  # noqa: ARG002 - nothing but the rows is needed
        self._cells.add(rows)

    def result(self) -> Sample:
        return Sample._from_cells(self._cells.cells())


class SegmentAccumulator:
    """One sample for each segment.

    Parameters
    ----------
    by : tuple of str
        The columns that tell segments apart.
    m : int
        The grid of the compression.
    weighted : bool
        Whether the rows have weights.
    """

    def __init__(self, by: tuple[str, ...], m: int, *, weighted: bool) -> None:
        self._by = by
        self._index = SegmentIndex()
        self._cells = HashedCells(check_grid(m), weighted=weighted)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        self._cells.add(rows, segment_numbers(self._index, batch, self._by))

    def result(self) -> Sample | Segments:
        return GroupedCells(by=self._by, keys=self._index.keys, store=self._cells.packed()).result()


def segment_numbers(index: SegmentIndex, batch: pa.RecordBatch, by: tuple[str, ...]) -> Ints:
    """Return the number of each row's segment; without columns in `by` all rows are one segment."""
    return index.number_rows([_encoded(batch.column(name), name) for name in by], batch.num_rows)


def _encoded(column: pa.Array, name: str) -> Codes:
    """Return a column as numbers and their labels; null and NaN are the label None."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_timestamp(kind):  # nanoseconds would come as a type of pandas
        column = pc.cast(column, pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise InputError(f"by needs text, numbers or dates; {name} holds values of type {kind}")
    elif is_text(kind) or pa.types.is_null(kind):
        column = column.cast(pa.large_string())
    encoded = column.dictionary_encode(null_encoding="encode")
    return as_numpy(encoded.indices), [as_label(value) for value in encoded.dictionary.to_pylist()]
