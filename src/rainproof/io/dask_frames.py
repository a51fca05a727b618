"""Dask frames: rows are compressed partition by partition where they are, and the sums merged in a
tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rainproof.core.cells import CellTable, slot_count
from rainproof.core.grouped_rows import check_other_label, raise_violation
from rainproof.core.labels import Key, number_segments
from rainproof.core.sample import Sample
from rainproof.core.segment_sums import SegmentSums
from rainproof.core.segments import Segments, from_sums
from rainproof.errors import InputError
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.column_types import check_kinds_of_labels, is_text
from rainproof.io.compressing import RowCompressor
from rainproof.io.filtering import filter_batch
from rainproof.io.source_errors import check_columns
from rainproof.io.sources import local_sources

_PARTS_MERGED = 8  # by one task


class PartialSums(NamedTuple):
    """The sums of one or several partitions, small enough to be sent to others."""

    segments: list[Key]
    table: CellTable  # of all segments, as `SegmentSums.from_table` takes it
    rows: int
    violations: Counter[str]  # how many rows break which rule
    other_labels: frozenset[Any]  # besides pos_label


def read_partitions(frame: Any, spec: ColumnSpec, m: int) -> Sample | Segments:
    """Compress the rows of a Dask frame, computed by the scheduler that Dask is set to use."""
    name = "the Dask frame"
    check_columns(name, spec.all_columns(), [str(column) for column in frame.columns])
    sums = _computed_sums(frame[spec.all_columns()], spec, m)
    raise_violation(sums.violations, spec.names)
    # Each partition may have another label: none of them alone breaks the rule.
    event_occurs = bool((sums.table.slot & 1).any())
    check_other_label(sums.other_labels, spec.names, spec.pos_label, occurs=event_occurs)
    if not sums.rows:
        where = "" if spec.where is None else " that meet where"
        raise InputError(f"{name} has columns but no rows{where}")
    check_kinds_of_labels(spec.by, sums.segments)
    return from_sums(
        spec.group_columns(),
        sums.segments,
        SegmentSums.from_table(sums.table),
        spec.names.weight,
        spec.forecasts,
    )


def _computed_sums(frame: Any, spec: ColumnSpec, m: int) -> PartialSums:
    """Return the sums of all partitions, merged in a tree."""
    from dask.base import compute
    from dask.delayed import delayed

    # Not pure: Dask would hash the arguments, which are rows, to name each task.
    compress = delayed(compress_partition, pure=False)
    merge = delayed(merge_partial_sums, pure=False)
    parts = [compress(partition, spec, m) for partition in frame.to_delayed()]
    while len(parts) > 1:
        starts = range(0, len(parts), _PARTS_MERGED)
        parts = [merge(parts[start : start + _PARTS_MERGED]) for start in starts]
    computed: tuple[PartialSums, ...] = compute(*parts)  # type: ignore[no-untyped-call]
    return computed[0]


def compress_partition(frame: Any, spec: ColumnSpec, m: int) -> PartialSums:
    """Return the sums of one partition, a pandas frame; if rows break rules, only how many break
    which.
    """
    compressor = RowCompressor(spec, m, parse=False)
    try:
        for batch in _batches(frame, spec):
            compressor.add(batch)
        compressor.finish()
    except InputError as error:
        if not error.count:
            raise
        violations = _count_violations(compressor, frame, spec)
        empty = CellTable.empty(m)
        return PartialSums([], empty, 0, violations, compressor.other_labels())
    keys, sums = compressor.sums()
    table = sums.joined(range(len(keys)))
    return PartialSums(keys, table, compressor.rows, Counter(), compressor.other_labels())


def merge_partial_sums(parts: Sequence[PartialSums]) -> PartialSums:
    """Add up several parts; a segment may be in any of them."""
    m = parts[0].table.m
    known: dict[Key, int] = {}
    slots = []
    rows = 0
    violations: Counter[str] = Counter()
    other_labels: set[Any] = set()
    for part in parts:
        number = number_segments(known, part.segments)
        segment, slot = np.divmod(part.table.slot, slot_count(m))
        slots.append(slot_count(m) * number[segment] + slot)
        rows += part.rows
        violations += part.violations
        other_labels |= part.other_labels
    table = CellTable.join(m, [part.table for part in parts], slots)
    return PartialSums(list(known), table, rows, violations, frozenset(other_labels))


def _count_violations(compressor: RowCompressor, frame: Any, spec: ColumnSpec) -> Counter[str]:
    """Count the rows of a partition that break each rule."""
    counts: Counter[str] = Counter()
    for batch in _batches(frame, spec):
        violations = compressor.violations(batch, spec.names)
        counts.update({error.rule or "": error.count for error in violations})
    return counts


def _batches(frame: Any, spec: ColumnSpec) -> Iterator[pa.RecordBatch]:
    """Yield the rows that meet the condition; an empty partition has none, and may have lost its
    column types.
    """
    for source in local_sources(frame, spec.all_columns(), None):
        for batch in source.batches():
            selected = batch if spec.where is None else filter_batch(spec.where, batch)
            if selected.num_rows:
                yield _restore_booleans(selected, spec)


def _restore_booleans(batch: pa.RecordBatch, spec: ColumnSpec) -> pa.RecordBatch:
    """Undo that Dask turns booleans among nulls into the texts True and False."""
    labels = batch.column(spec.outcome)
    if spec.pos_label is not None or not is_text(labels.type):
        return batch
    if not set(labels.unique().to_pylist()) <= {"True", "False", None}:
        return batch
    number = batch.schema.get_field_index(spec.outcome)
    is_true = pc.equal(labels, pa.scalar("True", labels.type))
    return batch.set_column(number, spec.outcome, is_true)
