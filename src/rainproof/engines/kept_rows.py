"""Rows of a source kept in memory, for statements that a compressed sample does not allow: groups, parts of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rainproof.core.arrays import Ints
from rainproof.core.input.labels import SegmentIndex
from rainproof.core.input.rows import ColumnNames, Rows
from rainproof.core.sample.sample import Sample
from rainproof.core.sample.shares import explain_shares, split_outcomes
from rainproof.engines.accumulators import SampleAccumulator, encoded_labels
from rainproof.engines.column_spec import ColumnSpec
from rainproof.engines.columns import split_nulls
from rainproof.engines.ingest import BinaryIngest, read_values
from rainproof.engines.scan import Progress, feed
from rainproof.engines.sources import local_sources
from rainproof.errors import InputError


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The rows of a source, in its order, the number of each row's group, and its labels in columns of segments."""

    sample: Sample
    groups: NDArray[Any] | None
    by: Mapping[str, NDArray[Any]] | None = None


class _TooManyError(Exception):
    """There are more rows than may be kept."""


def keep_rows(
    source: Any,
    prob: str,
    outcome: str,
    *,
    weight: str | None = None,
    groups: str | None = None,
    by: Sequence[str] = (),
    where: Any = None,
    pos_label: Any = None,
    at_most: int | None = None,
    percent: bool = False,
    confidence_words: Mapping[str, float] | None = None,
    trials: str | None = None,
    fractional: bool = False,
    sep: str | None = None,
    progress: Progress | None = None,
) -> KeptRows | None:
    """Read the rows of a source as `scan` does, and keep them: about 20 bytes each.

    Parameters
    ----------
    source, prob, outcome, weight, where, pos_label, percent, confidence_words, trials, sep, progress
        As for `scan`; for rows in this process.
    groups : str, optional
        The column of groups.
    by : sequence of str
        The columns of segments, whose labels are kept; not with `fractional`.
    at_most : int, optional
        With more rows than this, stop and return None.
    fractional : bool
        Whether outcomes are shares of the event, which `split_outcomes` then splits; the parts of a row are a group.
    """
    spec = ColumnSpec.from_arguments(
        prob,
        outcome,
        weight=weight,
        by=list(dict.fromkeys(name for name in (groups, *by) if name is not None)) or None,
        where=where,
        pos_label=pos_label,
        percent=percent,
        confidence_words=confidence_words,
        trials=trials,
    )
    if fractional and not (pos_label is None and trials is None):
        raise InputError("fractional outcomes cannot be combined with pos_label or trials")
    sources = local_sources(source, spec.all_columns(), spec.native, sep=sep)
    keeper = _Keeper(spec, groups, by, None if fractional else at_most, fractional=fractional)
    try:
        feed(sources, spec, _KeepingIngest(spec, keeper, parse=sources[0].parse), progress)
    except _TooManyError:
        return None
    return keeper.kept()


class _Keeper(SampleAccumulator):
    """The rows of all batches; a coarse grid is enough to check their values."""

    def __init__(
        self, spec: ColumnSpec, groups: str | None, by: Sequence[str], at_most: int | None, *, fractional: bool
    ) -> None:
        super().__init__(spec, 2)
        self.fractional = fractional
        self.column = groups
        self._at_most = at_most
        self._index = SegmentIndex()
        self._parts: list[Rows] = []
        self._groups: list[Ints] = []
        self._labels: dict[str, list[NDArray[Any]]] = {name: [] for name in by}
        self._n = 0

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        if self.fractional:
            error = explain_shares(rows.label, rows.names)
            if error is not None:
                raise error
            super().add(replace(rows, label=np.zeros(len(rows), np.uint8)), batch)
        else:
            super().add(rows, batch)
        self._n += len(rows)
        if self._at_most is not None and self._n > self._at_most:
            raise _TooManyError
        self._parts.append(rows)
        if self.column is not None:
            codes = [encoded_labels(batch.column(self.column), self.column)]
            self._groups.append(self._index.number_rows(codes, batch.num_rows))
        for name, labels in self._labels.items():
            number, distinct = encoded_labels(batch.column(name), name)
            labels.append(np.array(distinct, object)[number])

    def kept(self) -> KeptRows:
        """All rows."""
        names = self._parts[0].names

        def column(name: str) -> Any:
            found = [getattr(part, name) for part in self._parts]
            return None if found[0] is None else np.concatenate(found)

        rows = Rows(label=column("label"), prob=column("prob"), weight=column("weight"), names=names)
        groups = None if self.column is None else np.concatenate(self._groups)
        if self.fractional:
            return KeptRows(*split_outcomes(rows.label, rows.prob, sample_weight=rows.weight, groups=groups))
        by = {name: np.concatenate(labels) for name, labels in self._labels.items()}
        return KeptRows(Sample._from_rows(rows), groups, by or None)


class _KeepingIngest(BinaryIngest):
    """Rows with a group, which must not be missing."""

    def __init__(self, spec: ColumnSpec, keeper: _Keeper, *, parse: bool) -> None:
        super().__init__(spec, keeper, parse=parse)
        self._group, self._fractional = keeper.column, keeper.fractional

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        for error in self._missing(batch, names):
            raise error
        super()._take(batch, names)

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from super()._violations(batch, names)
        if self._fractional:
            shares, _ = read_values(self._outcome, batch, names)
            error = explain_shares(shares, names)
            yield from [] if error is None else [error]
        yield from self._missing(batch, names)

    def _missing(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        if self._group is not None:
            _, error = split_nulls(self._group, batch.column(self._group), names)
            if error is not None:
                yield error
