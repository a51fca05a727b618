"""Two columns of predictions in record batches: the cell of the old one is the segment of a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from rainproof.core.grid.hashed_cells import HashedCells
from rainproof.core.input.rows import ColumnNames, Rows, explain_probabilities
from rainproof.core.sample.segments import GroupedCells
from rainproof.engines.accumulators import make_accumulator
from rainproof.engines.column_spec import ColumnSpec
from rainproof.engines.columns import NumberColumn
from rainproof.engines.ingest import BinaryIngest, prob_violations, read_column
from rainproof.errors import InputError


class PairAccumulator:
    """The sums of the rows by cell of the old prediction, as if each were a segment."""

    def __init__(self, spec: ColumnSpec, m: int, *, parse: bool) -> None:
        self._spec = spec
        self.column = NumberColumn(
            str(spec.old), parse=parse, percent=spec.percent, confidence_words=spec.confidence_words
        )
        self._cells = HashedCells(m, weighted=spec.weight is not None)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        names = replace(rows.names, prob=self.column.name)
        old = read_column(self.column, batch, names)
        error = explain_probabilities(old, names)
        if error is not None:
            raise error
        self._cells.add(rows, (self._cells.m * old.astype(np.float64)).astype(np.int64))

    def grouped(self) -> GroupedCells:
        keys = [(cell,) for cell in range(self._cells.m + 1)]
        return GroupedCells(by=("old",), keys=keys, store=self._cells.packed(), weight_name=self._spec.names.weight)


class PairIngest(BinaryIngest):
    """Rows with an old and a new prediction."""

    def __init__(self, spec: ColumnSpec, m: int, *, parse: bool) -> None:
        accumulator = PairAccumulator(spec, m, parse=parse)
        super().__init__(spec, accumulator, parse=parse)
        self._old = accumulator.column

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from super()._violations(batch, names)
        yield from prob_violations(self._old, batch, replace(names, prob=self._old.name))


def make_ingest(spec: ColumnSpec, m: int, *, parse: bool) -> BinaryIngest:
    """Return what reads one column of predictions, or two of them."""
    if spec.old is not None:
        return PairIngest(spec, m, parse=parse)
    return BinaryIngest(spec, make_accumulator(spec, m), parse=parse)
