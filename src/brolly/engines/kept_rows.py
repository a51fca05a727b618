"""Rows of a source kept in memory, for statements that a compressed sample does not allow: groups, parts of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from brolly.core.arrays import Ints
from brolly.core.input.labels import SegmentIndex
from brolly.core.input.rows import ColumnNames, Rows
from brolly.core.sample.sample import Sample
from brolly.engines.accumulators import SampleAccumulator, encoded_labels
from brolly.engines.column_spec import ColumnSpec
from brolly.engines.columns import split_nulls
from brolly.engines.ingest import BinaryIngest
from brolly.engines.scan import Progress, feed
from brolly.engines.sources import local_sources
from brolly.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptRows:
    """The rows of a source, in its order, and the number of each row's group."""

    sample: Sample
    groups: Ints | None


class _TooManyError(Exception):
    """There are more rows than may be kept."""


def keep_rows(
    source: Any,
    prob: str,
    outcome: str,
    *,
    weight: str | None = None,
    groups: str | None = None,
    where: Any = None,
    pos_label: Any = None,
    at_most: int | None = None,
    percent: bool = False,
    sep: str | None = None,
    progress: Progress | None = None,
) -> KeptRows | None:
    """Read the rows of a source as `scan` does, and keep them: about 20 bytes each.

    Parameters
    ----------
    source, prob, outcome, weight, where, pos_label, percent, sep, progress
        As for `scan`; for rows in this process.
    groups : str, optional
        The column of groups.
    at_most : int, optional
        With more rows than this, stop and return None.
    """
    spec = ColumnSpec.from_arguments(
        prob, outcome, weight=weight, by=groups, where=where, pos_label=pos_label, percent=percent
    )
    sources = local_sources(source, spec.all_columns(), spec.native, sep=sep)
    keeper = _Keeper(spec, groups, at_most)
    try:
        feed(sources, spec, _KeepingIngest(spec, keeper, parse=sources[0].parse), progress)
    except _TooManyError:
        return None
    return keeper.kept()


class _Keeper(SampleAccumulator):
    """The rows of all batches; a coarse grid is enough to check their values."""

    def __init__(self, spec: ColumnSpec, groups: str | None, at_most: int | None) -> None:
        super().__init__(spec, 2)
        self.column = groups
        self._at_most = at_most
        self._index = SegmentIndex()
        self._parts: list[Rows] = []
        self._groups: list[Ints] = []
        self._n = 0

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        super().add(rows, batch)
        self._n += len(rows)
        if self._at_most is not None and self._n > self._at_most:
            raise _TooManyError
        self._parts.append(rows)
        if self.column is not None:
            codes = [encoded_labels(batch.column(self.column), self.column)]
            self._groups.append(self._index.number_rows(codes, batch.num_rows))

    def kept(self) -> KeptRows:
        """All rows."""
        names = self._parts[0].names

        def column(name: str) -> Any:
            found = [getattr(part, name) for part in self._parts]
            return None if found[0] is None else np.concatenate(found)

        rows = Rows(label=column("label"), prob=column("prob"), weight=column("weight"), names=names)
        groups = None if self.column is None else np.concatenate(self._groups)
        return KeptRows(sample=Sample._from_rows(rows), groups=groups)


class _KeepingIngest(BinaryIngest):
    """Rows with a group, which must not be missing."""

    def __init__(self, spec: ColumnSpec, keeper: _Keeper, *, parse: bool) -> None:
        super().__init__(spec, keeper, parse=parse)
        self._group = keeper.column

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        for error in self._missing(batch, names):
            raise error
        super()._take(batch, names)

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from super()._violations(batch, names)
        yield from self._missing(batch, names)

    def _missing(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        if self._group is not None:
            _, error = split_nulls(self._group, batch.column(self._group), names)
            if error is not None:
                yield error
