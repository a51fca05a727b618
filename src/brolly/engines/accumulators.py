"""What rows of record batches are added to: one sample, or one for each segment."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brolly.core.arrays import Ints
from brolly.core.grid.cell_accumulator import Tally
from brolly.core.grid.cells import check_grid
from brolly.core.grid.hashed_cells import Groups
from brolly.core.input.rows import Rows
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import GroupedCells, Key, Segments
from brolly.engines.columns import as_numpy, is_text
from brolly.errors import InputError

_FEW_COMBINATIONS = 1 << 20  # so many are counted sooner than sorted


class Sink(Protocol):
    """Adds rows up."""

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        """Take checked columns, and the batch that they are from."""

    def result(self) -> Sample | Segments: ...


class SampleAccumulator:
    """One sample of all rows."""

    def __init__(self, m: int) -> None:
        self._tally = Tally(check_grid(m))

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:  # noqa: ARG002 - nothing but the rows is needed
        self._tally.add(rows)

    def result(self) -> Sample:
        return Sample._from_cells(self._tally.cells())


class Segmenting:
    """Numbers for the combinations of values of some columns.

    Parameters
    ----------
    by : tuple of str
        The columns; without any, all rows are of one segment.
    """

    def __init__(self, by: tuple[str, ...]) -> None:
        self._by = by
        self._numbers: dict[Key, int] = {} if by else {(): 0}

    def all_keys(self) -> list[Key]:
        """The values that each number stands for."""
        return list(self._numbers)

    def numbers(self, batch: pa.RecordBatch) -> Ints:
        """The number of each row's segment; one met for the first time gets the next number."""
        if not self._by:
            return np.zeros(batch.num_rows, np.int64)
        codes, values = zip(*(_encoded(batch.column(name), name) for name in self._by), strict=True)
        combinations = math.prod(map(len, values))
        if combinations > np.iinfo(np.int64).max:
            raise InputError(f"by {', '.join(self._by)} tells apart more segments than can be numbered")
        together = codes[0].astype(np.int64)
        for code, value in zip(codes[1:], values[1:], strict=True):
            together = together * len(value) + code
        if combinations <= max(_FEW_COMBINATIONS, batch.num_rows):
            used = np.flatnonzero(np.bincount(together, minlength=combinations))
            table = np.zeros(combinations, np.int64)
            table[used] = self._known(used, values)
            numbers: Ints = table[together]
            return numbers
        used, at = np.unique(together, return_inverse=True)
        return self._known(used, values)[at]

    def _known(self, used: Ints, values: tuple[list[Hashable], ...]) -> Ints:
        numbers = self._numbers
        return np.array([numbers.setdefault(key, len(numbers)) for key in _keys(used, values)], np.int64)


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
        self._segmenting = Segmenting(by)
        self._groups = Groups(check_grid(m), weighted=weighted)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        self._groups.add(rows, self._segmenting.numbers(batch))

    def result(self) -> Sample | Segments:
        return GroupedCells(by=self._by, keys=self._segmenting.all_keys(), store=self._groups.packed()).result()


def _keys(used: Ints, values: tuple[list[Hashable], ...]) -> list[Key]:
    """The values that numbered combinations stand for."""
    columns = []
    for value in reversed(values):
        used, at = np.divmod(used, len(value))
        columns.append([value[i] for i in at.tolist()])
    return list(zip(*reversed(columns), strict=True))


def _encoded(column: pa.Array, name: str) -> tuple[Any, list[Hashable]]:
    """A column as numbers, and what they stand for; null and NaN both stand for no value."""
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
    values = [None if value != value else value for value in encoded.dictionary.to_pylist()]
    return as_numpy(encoded.indices), values
