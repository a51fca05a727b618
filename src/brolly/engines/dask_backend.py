"""Dask frames: the kernel runs on each partition where that is, and the sums are merged in a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brolly.core.grid.cells import CellTable
from brolly.core.grid.hashed_cells import SlicedCells, slot_count
from brolly.core.input.labels import Key, SegmentIndex
from brolly.core.input.rows import ColumnNames
from brolly.core.sample.groupby_result import VIOLATIONS, check_other_label, refusal
from brolly.core.sample.segments import GroupedCells
from brolly.engines.accumulators import SampleAccumulator, SegmentAccumulator
from brolly.engines.arrow_where import filter_batch
from brolly.engines.column_spec import ColumnSpec
from brolly.engines.columns import is_text
from brolly.engines.files import check_columns
from brolly.engines.ingest import BinaryIngest
from brolly.engines.sources import local_sources
from brolly.errors import InputError

_MERGED = 8  # partial sums that one task merges


@dataclass(frozen=True, kw_only=True, slots=True)
class PartialSums:
    """What one partition, or several, add up to; small, and what travels."""

    keys: list[Key]
    table: CellTable
    rows: int = 0
    violations: Counter[str] = field(default_factory=Counter)  # by rule
    others: frozenset[Any] = frozenset()  # labels that are not the event


class _SampleAccumulator(SampleAccumulator):
    """The sums of a partition, before they become a sample."""

    def part(self) -> tuple[list[Key], CellTable]:
        return [()], self._cells.cells()


class _SegmentAccumulator(SegmentAccumulator):
    """The same with segments, whose numbers are the partition's own."""

    def part(self) -> tuple[list[Key], CellTable]:
        keys, sums = self._index.keys, self._cells.packed()
        return keys, _one_table([sums.cells(number) for number in range(len(keys))], sums.m)


def _one_table(tables: list[CellTable], m: int) -> CellTable:
    """The tables of segments in order as one, with slots as `SlicedCells` has them."""
    if not tables:
        return CellTable.empty(m)
    return CellTable(
        m=m,
        slot=np.concatenate([slot_count(m) * number + table.slot for number, table in enumerate(tables)]),
        count=np.concatenate([table.count for table in tables]),
        weight=np.concatenate([table.weight for table in tables], axis=1),
        rise=np.concatenate([table.rise for table in tables], axis=1),
        squares=np.concatenate([table.squares for table in tables]),
    )


def read_partitions(frame: Any, spec: ColumnSpec, m: int) -> GroupedCells:
    """The sums of all rows of a Dask frame, by whatever scheduler Dask is set to use."""
    from dask.base import compute
    from dask.delayed import delayed

    what = "the Dask frame"
    check_columns(what, spec.needed(), [str(column) for column in frame.columns])
    compress, together = delayed(compress_partition, pure=False), delayed(merge_partial_sums, pure=False)
    parts = [compress(part, spec, m) for part in frame[spec.needed()].to_delayed()]
    while len(parts) > 1:
        parts = [together(parts[at : at + _MERGED]) for at in range(0, len(parts), _MERGED)]
    (part,) = compute(*parts)  # type: ignore[no-untyped-call]
    _refuse(part, spec)
    if not part.rows:
        raise InputError(f"{what} has columns but no rows{'' if spec.where is None else ' that where leaves'}")
    return GroupedCells(by=spec.by, keys=part.keys, store=SlicedCells(part.table))


def compress_partition(frame: Any, spec: ColumnSpec, m: int) -> PartialSums:
    """The sums of one partition, a pandas frame; or if it has bad rows, how many of each kind."""
    accumulator = (
        _SegmentAccumulator(spec.by, m, weighted=spec.weight is not None) if spec.by else _SampleAccumulator(m)
    )
    ingest = BinaryIngest(spec, accumulator, parse=False)
    try:
        for batch in _batches(frame, spec):
            ingest.add(batch)
        ingest.finish()
    except InputError as error:
        if not error.count:
            raise
        counts: Counter[str] = Counter()
        for batch in _batches(frame, spec):
            counts.update({e.rule or "": e.count for e in ingest.violations(batch)})
        return PartialSums(keys=[], table=CellTable.empty(m), violations=counts, others=ingest.others())
    keys, table = accumulator.part()
    return PartialSums(keys=keys, table=table, rows=ingest.rows, others=ingest.others())


def merge_partial_sums(parts: list[PartialSums]) -> PartialSums:
    """The sums of several parts; a segment may be in any of them."""
    index = SegmentIndex()
    tables = []
    for part in parts:
        number = index.number(part.keys)
        segment, slot = np.divmod(part.table.slot, slot_count(part.table.m))
        tables.append(replace(part.table, slot=slot_count(part.table.m) * number[segment] + slot))
    return PartialSums(
        keys=index.keys,
        table=reduce(CellTable.merge, tables),
        rows=sum(part.rows for part in parts),
        violations=sum((part.violations for part in parts), Counter()),
        others=frozenset().union(*(part.others for part in parts)),
    )


def _batches(frame: Any, spec: ColumnSpec) -> Iterator[pa.RecordBatch]:
    """The rows that count; none of an empty partition, whose columns may have lost their types."""
    for source in local_sources(frame, spec.needed(), None):
        for batch in source.batches():
            kept = batch if spec.where is None else filter_batch(spec.where, batch)
            if kept.num_rows:
                yield _without_words(kept, spec)


def _without_words(batch: pa.RecordBatch, spec: ColumnSpec) -> pa.RecordBatch:
    """Booleans among nulls, which Dask turns into the texts True and False, as booleans again."""
    labels = batch.column(spec.outcome)
    if spec.pos_label is not None or not is_text(labels.type):
        return batch
    if not set(labels.unique().to_pylist()) <= {"True", "False", None}:
        return batch
    at = batch.schema.get_field_index(spec.outcome)
    return batch.set_column(at, spec.outcome, pc.equal(labels, pa.scalar("True", labels.type)))


def _refuse(part: PartialSums, spec: ColumnSpec) -> None:
    names = ColumnNames(label=spec.outcome, prob=str(spec.prob), weight=spec.weight or "")
    order = [f"{getattr(names, role)} {words}" for (role, _), words in VIOLATIONS.items()]
    for rule in order:
        if part.violations[rule]:
            raise refusal(rule, part.violations[rule])
    check_other_label(part.others, names, spec.pos_label)  # of which a partition may have seen too few
