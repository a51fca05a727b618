"""Dask frames: rows are compressed partition by partition where they are, and the sums merged in a
tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rainproof.core.cells import CellTable, slot_count
from rainproof.core.sample import Sample
from rainproof.core.segments import (
    Segments,
    SegmentSums,
    check_other_label,
    from_sums,
    raise_violation,
)
from rainproof.core.validation import Key, number_segments
from rainproof.errors import InputError
from rainproof.io.column_types import KindCheck
from rainproof.io.columns import filter_batch, is_text
from rainproof.io.files import check_columns
from rainproof.io.ingest import BinaryIngest
from rainproof.io.sources import local_sources

if TYPE_CHECKING:
    from rainproof.io.scanning import ColumnSpec

_MERGED = 8  # partial sums that one task merges


PartialSums = tuple[list[Key], CellTable, int, Counter[str], frozenset[Any]]
"""Of one or several partitions: the segments, the table of their sums (as `SegmentSums.from_table`
takes it), the number of rows, how many break which rule, and the labels besides pos_label; small
enough to be sent to others."""


def read_partitions(frame: Any, spec: ColumnSpec, m: int) -> Sample | Segments:
    """Compress the rows of a Dask frame, computed by the scheduler that Dask is set to use."""
    from dask.base import compute
    from dask.delayed import delayed

    name = "the Dask frame"
    check_columns(name, spec.all_columns(), [str(column) for column in frame.columns])
    compress, merge = (
        delayed(compress_partition, pure=False),
        delayed(merge_partial_sums, pure=False),
    )
    parts = [compress(part, spec, m) for part in frame[spec.all_columns()].to_delayed()]
    while len(parts) > 1:
        parts = [merge(parts[at : at + _MERGED]) for at in range(0, len(parts), _MERGED)]
    ((keys, table, rows, violations, others),) = compute(*parts)  # type: ignore[no-untyped-call]
    raise_violation(violations, spec.names)
    occurs = bool((table.slot & 1).any())
    # each partition may have another
    check_other_label(others, spec.names, spec.pos_label, occurs=occurs)
    if not rows:
        raise InputError(
            f"{name} has columns but no rows{'' if spec.where is None else ' that meet where'}"
        )
    KindCheck(spec.by).check_labels(keys if spec.by else [])
    return from_sums(
        spec.group_columns(), keys, SegmentSums.from_table(table), spec.names.weight, spec.forecasts
    )


def compress_partition(frame: Any, spec: ColumnSpec, m: int) -> PartialSums:
    """Return the sums of one partition, a pandas frame; if rows break rules, only how many break
    which.
    """
    ingest = BinaryIngest(spec, m, parse=False)
    try:
        for batch in _batches(frame, spec):
            ingest.add(batch)
        ingest.finish()
    except InputError as error:
        if not error.count:
            raise
        counts: Counter[str] = Counter()
        for batch in _batches(frame, spec):
            counts.update({e.rule or "": e.count for e in ingest._violations(batch, spec.names)})
        return [], CellTable.empty(m), 0, counts, ingest.other_labels()
    keys, sums = ingest.sums()
    return keys, sums.joined(range(len(keys))), ingest.rows, Counter(), ingest.other_labels()


def merge_partial_sums(parts: list[PartialSums]) -> PartialSums:
    """Add up several parts; a segment may be in any of them."""
    known: dict[Key, int] = {}
    slots, m = [], parts[0][1].m
    for keys, table, *_ in parts:
        number = number_segments(known, keys)
        segment, slot = np.divmod(table.slot, slot_count(m))
        slots.append(slot_count(m) * number[segment] + slot)
    _, tables, rows, violations, others = zip(*parts, strict=True)
    joined = CellTable.join(m, tables, slots)
    return [*known], joined, sum(rows), sum(violations, Counter()), frozenset().union(*others)


def _batches(frame: Any, spec: ColumnSpec) -> Iterator[pa.RecordBatch]:
    """Yield the rows that meet the condition; an empty partition has none, and may have lost its
    column types.
    """
    for source in local_sources(frame, spec.all_columns(), None):
        for batch in source.batches():
            kept = batch if spec.where is None else filter_batch(spec.where, batch)
            if kept.num_rows:
                yield _restore_booleans(kept, spec)


def _restore_booleans(batch: pa.RecordBatch, spec: ColumnSpec) -> pa.RecordBatch:
    """Undo that Dask turns booleans among nulls into the texts True and False."""
    labels = batch.column(spec.outcome)
    if spec.pos_label is not None or not is_text(labels.type):
        return batch
    if not set(labels.unique().to_pylist()) <= {"True", "False", None}:
        return batch
    at = batch.schema.get_field_index(spec.outcome)
    return batch.set_column(at, spec.outcome, pc.equal(labels, pa.scalar("True", labels.type)))
