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
from brolly.core.grid.hashed_cells import Sliced, slots_of
from brolly.core.input.labels import Key, SegmentIndex
from brolly.core.input.rows import Names
from brolly.core.sample.groupby_result import OFFENCES, check_others, refusal
from brolly.core.sample.segments import GroupedCells
from brolly.engines.accumulators import SampleAccumulator, SegmentAccumulator
from brolly.engines.arrow_where import keep
from brolly.engines.column_spec import Roles
from brolly.engines.columns import is_text
from brolly.engines.files import find
from brolly.engines.ingest import Intake
from brolly.engines.sources import local_sources
from brolly.errors import InputError

_MERGED = 8  # partial sums that one task merges


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What one partition, or several, add up to; small, and what travels."""

    keys: list[Key]
    table: CellTable
    rows: int = 0
    offences: Counter[str] = field(default_factory=Counter)  # by rule
    others: frozenset[Any] = frozenset()  # labels that are not the event


class _SampleAccumulator(SampleAccumulator):
    """The sums of a partition, before they become a sample."""

    def part(self) -> tuple[list[Key], CellTable]:
        return [()], self._tally.cells()


class _SegmentAccumulator(SegmentAccumulator):
    """The same with segments, whose numbers are the partition's own."""

    def part(self) -> tuple[list[Key], CellTable]:
        keys, sums = self._index.keys, self._groups.packed()
        return keys, _one_table([sums.cells(number) for number in range(len(keys))], sums.m)


def _one_table(tables: list[CellTable], m: int) -> CellTable:
    """The tables of segments in order as one, with slots as `Sliced` has them."""
    if not tables:
        return CellTable.empty(m)
    return CellTable(
        m=m,
        slot=np.concatenate([slots_of(m) * number + table.slot for number, table in enumerate(tables)]),
        count=np.concatenate([table.count for table in tables]),
        weight=np.concatenate([table.weight for table in tables], axis=1),
        rise=np.concatenate([table.rise for table in tables], axis=1),
        squares=np.concatenate([table.squares for table in tables]),
    )


def read_partitions(frame: Any, roles: Roles, m: int) -> GroupedCells:
    """The sums of all rows of a Dask frame, by whatever scheduler Dask is set to use."""
    from dask.base import compute
    from dask.delayed import delayed

    what = "the Dask frame"
    find(what, roles.needed(), [str(column) for column in frame.columns])
    compress, together = delayed(compress_part, pure=False), delayed(merge_parts, pure=False)
    parts = [compress(part, roles, m) for part in frame[roles.needed()].to_delayed()]
    while len(parts) > 1:
        parts = [together(parts[at : at + _MERGED]) for at in range(0, len(parts), _MERGED)]
    (part,) = compute(*parts)  # type: ignore[no-untyped-call]
    _refuse(part, roles)
    if not part.rows:
        raise InputError(f"{what} has columns but no rows{'' if roles.where is None else ' that where leaves'}")
    return GroupedCells(by=roles.by, keys=part.keys, store=Sliced(part.table))


def compress_part(frame: Any, roles: Roles, m: int) -> Part:
    """The sums of one partition, a pandas frame; or if it has bad rows, how many of each kind."""
    sink = _SegmentAccumulator(roles.by, m, weighted=roles.weight is not None) if roles.by else _SampleAccumulator(m)
    intake = Intake(roles, sink, parse=False)
    try:
        for batch in _batches(frame, roles):
            intake.add(batch)
        intake.finish()
    except InputError as error:
        if not error.count:
            raise
        counts: Counter[str] = Counter()
        for batch in _batches(frame, roles):
            counts.update({e.rule or "": e.count for e in intake.offences(batch)})
        return Part(keys=[], table=CellTable.empty(m), offences=counts, others=intake.others())
    keys, table = sink.part()
    return Part(keys=keys, table=table, rows=intake.rows, others=intake.others())


def merge_parts(parts: list[Part]) -> Part:
    """The sums of several parts; a segment may be in any of them."""
    index = SegmentIndex()
    tables = []
    for part in parts:
        number = index.number(part.keys)
        segment, slot = np.divmod(part.table.slot, slots_of(part.table.m))
        tables.append(replace(part.table, slot=slots_of(part.table.m) * number[segment] + slot))
    return Part(
        keys=index.keys,
        table=reduce(CellTable.merge, tables),
        rows=sum(part.rows for part in parts),
        offences=sum((part.offences for part in parts), Counter()),
        others=frozenset().union(*(part.others for part in parts)),
    )


def _batches(frame: Any, roles: Roles) -> Iterator[pa.RecordBatch]:
    """The rows that count; none of an empty partition, whose columns may have lost their types."""
    for source in local_sources(frame, roles.needed(), None):
        for batch in source.batches():
            kept = batch if roles.where is None else keep(roles.where, batch)
            if kept.num_rows:
                yield _without_words(kept, roles)


def _without_words(batch: pa.RecordBatch, roles: Roles) -> pa.RecordBatch:
    """Booleans among nulls, which Dask turns into the texts True and False, as booleans again."""
    labels = batch.column(roles.outcome)
    if roles.pos_label is not None or not is_text(labels.type):
        return batch
    if not set(labels.unique().to_pylist()) <= {"True", "False", None}:
        return batch
    at = batch.schema.get_field_index(roles.outcome)
    return batch.set_column(at, roles.outcome, pc.equal(labels, pa.scalar("True", labels.type)))


def _refuse(part: Part, roles: Roles) -> None:
    names = Names(label=roles.outcome, prob=str(roles.prob), weight=roles.weight or "")
    order = [f"{getattr(names, role)} {words}" for (role, _), words in OFFENCES.items()]
    for rule in order:
        if part.offences[rule]:
            raise refusal(rule, part.offences[rule])
    check_others(part.others, names, roles.pos_label)  # of which a partition may have seen too few
