"""Rows that are kept one by one, for results that sums do not allow: groups, several forecasts,
shares, costs of each case, several classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from rainproof.core.arguments import as_sample
from rainproof.core.columns import ColumnNames, Columns, explain_shares
from rainproof.core.labels import Key
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.validation import BaseRate
from rainproof.errors import InputError
from rainproof.io.arrow_arrays import Array
from rainproof.io.batches import feed
from rainproof.io.class_batches import ClassKeeper
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.compressing import RowCompressor, RowsRead
from rainproof.io.label_columns import as_segment, segment_numbers
from rainproof.io.opening import ReadOptions
from rainproof.io.scanning import DEFAULT_GRID, is_remote, scan, with_base_rate
from rainproof.io.sources import Progress, local_sources, named_source
from rainproof.io.violations import Violations, null_violations, raise_first, read_values


class _TooManyRowsError(Exception):
    """There are more rows than may be kept, and a database has them."""


def keep_rows(
    source: Any,
    prob: str | Sequence[str],
    outcome: str,
    *,
    groups: str | Sequence[str] = (),
    by: Sequence[str] = (),
    at_most: int | None = None,
    fractional: bool = False,
    base_rate: BaseRate | None = None,
    costs: Sequence[str] = (),
    progress: Progress | None = None,
    **reading: Any,
) -> Sample | Segments:
    """Read the rows of a source as `scan` does, and keep them: about 20 bytes each.

    Parameters
    ----------
    source, prob, outcome, base_rate, progress
        As for `scan`; for rows in this process, or of a `NamedSource`. Several columns in `prob`
        are several forecasts.
    groups : str or sequence of str
        The columns of groups: rows that are the same in all of them are one.
    by : sequence of str
        The columns of segments.
    at_most : int, optional
        With more rows than this, return what `scan` returns: they are compressed in the same pass,
        and those of a database by the database. Rows with groups, several forecasts, shares or
        costs are always kept.
    fractional : bool
        Whether outcomes are shares of the event.
    costs : sequence of str
        The columns of costs of each case; the sample has them, by their names, beside its rows.
    reading
        The other options of `scan` that say how rows are read: `weight`, `where`, `pos_label`, ...
    """
    forecasts = [prob] if isinstance(prob, str) else prob
    first, *others = forecasts
    groups = [groups] if isinstance(groups, str) else list(groups)
    label_columns = list(dict.fromkeys([*groups, *by])) or None
    spec = ColumnSpec.from_arguments(first, outcome, by=label_columns, **reading)
    spec = replace(spec, others=tuple(others), costs=tuple(costs))
    if fractional and not (spec.pos_label is None and spec.trials is None):
        raise InputError("fractional outcomes cannot be combined with pos_label or trials")
    source = named_source(source, ReadOptions())
    sources = local_sources(source, spec.all_columns(), spec.native)
    # What sums do not have.
    if groups or others or fractional or costs:
        at_most = None
    keeper = _RowKeeper(
        spec,
        groups,
        by,
        at_most,
        parse=sources[0].parse,
        fractional=fractional,
        database_compresses=spec.is_plain and is_remote(source),
    )
    try:
        feed(sources, spec, keeper, progress)
    except _TooManyRowsError:
        # The database reads its table again, and sums the rows without sending them.
        compressed = scan(source, first, outcome, by=spec.by or None, progress=progress, **reading)
        return with_base_rate(compressed, base_rate)
    return with_base_rate(keeper.result(), base_rate)


class _RowKeeper(RowCompressor):
    """Keeps the rows of all batches; adds them up once they are too many.

    Parameters
    ----------
    spec, parse
        As for `RowCompressor`; `spec.by` has the columns of groups and of segments.
    groups, by
        The columns of groups, and those of segments.
    at_most : int or None
        The number of rows that are kept; with more, all are added up.
    fractional : bool
        Whether outcomes are shares of the event.
    database_compresses : bool
        Whether the rows are in a database, which can add them up itself.
    """

    def __init__(
        self,
        spec: ColumnSpec,
        groups: Sequence[str],
        by: Sequence[str],
        at_most: int | None,
        *,
        parse: bool,
        fractional: bool,
        database_compresses: bool,
    ) -> None:
        super().__init__(spec, DEFAULT_GRID, parse=parse)
        self._groups = groups
        self._by = by
        self._at_most = at_most
        self._fractional = fractional
        self._database_compresses = database_compresses
        self._is_compressed = False
        self._rows_kept = 0
        # Of each batch. Groups and segments are numbers: 4 bytes a row, whatever their labels.
        self._parts: list[Rows] = []
        self._segment_parts: list[Array] = []
        self._group_numbers: dict[Key, int] = {}

    def take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        """Check the rows of a batch and keep them."""
        raise_first(null_violations(self._groups, batch, names))
        super().take(batch, names)

    def violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Violations:
        """Yield every rule that a batch breaks."""
        yield from super().violations(batch, names)
        if self._fractional:
            shares, _ = read_values(self.outcome, batch, names)
            error = explain_shares(shares, names)
            if error is not None:
                yield error
        yield from null_violations(self._groups, batch, names)

    def result(self) -> Sample | Segments:
        """Return all rows, or their sums."""
        if self._is_compressed:
            return super().result()
        self.check_event()
        self._group_numbers = {}  # labels of groups can take more memory than the rows
        sample = self._sample_of(Rows.concat(self._parts))
        if self._by:
            labels = [as_segment(key) for key in self.segments]
            sample = sample.with_segment_labels(self._by, labels)
        return sample

    def _sample_of(self, rows: Rows) -> Sample:
        """Return the sample of all rows; its segments are numbers."""
        segment = np.concatenate(self._segment_parts) if self._by else None
        if self._fractional or rows.others:
            prob: Array | dict[str, Array] = rows.prob
            if rows.others:
                prob = {self.prob.name: rows.prob, **rows.others}
            sample = Sample(
                rows.outcome,
                prob,
                sample_weight=rows.weight,
                groups=rows.unit,
                by=segment,
                fractional=self._fractional,
            )
        else:
            columns = Columns(rows.outcome, rows.prob, rows.weight, self.spec.names)
            sample = as_sample(Sample.from_columns(columns), groups=rows.unit, by=segment)
        return sample.with_columns_beside(rows.beside or {})

    def _add_rows(self, read: RowsRead, batch: pa.RecordBatch) -> None:
        if self._is_compressed:
            super()._add_rows(read, batch)
            return
        columns = read.columns
        self._check(columns)
        self._rows_kept += len(columns)
        if self._at_most is not None and self._rows_kept > self._at_most:
            self._compress()
            super()._add_rows(read, batch)
            return
        rows = Rows(columns.outcome, columns.prob, columns.weight)
        rows.others = read.others or None
        rows.beside = read.costs or None
        if self._groups:
            number = segment_numbers(self._group_numbers, self._groups, batch)
            rows.unit = number.astype(np.int32)
        if self._by:
            number = segment_numbers(self.segments, self._by, batch)
            self._segment_parts.append(number.astype(np.int32))
        self._parts.append(rows)

    def _check(self, rows: Columns) -> None:
        if not self._fractional:
            rows.check()
            return
        error = explain_shares(rows.outcome, rows.names)
        if error is not None:
            raise error
        # The kernel takes outcomes of 0 and 1; here it looks at predictions and weights.
        replace(rows, outcome=np.zeros(len(rows), np.uint8)).check()

    def _compress(self) -> None:
        """Go over from rows to sums."""
        if self._database_compresses:
            raise _TooManyRowsError
        self._is_compressed = True
        for number, rows in enumerate(self._parts):
            segment = self._segment_parts[number].astype(np.int64) if self._by else None
            self.segment_sums.add(Columns(rows.outcome, rows.prob, rows.weight), segment)
        self._parts = []


def keep_classes(
    source: Any,
    classes: Sequence[str],
    outcome: str,
    *,
    labels: Sequence[Any] | None = None,
    groups: Sequence[str] = (),
    base_rate: BaseRate | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Sample:
    """Read rows with a column of predictions for each class, and keep them: 8 bytes for each
    prediction.

    The parameters are those of `scan` and `keep_rows`. Two classes are one event, the second of
    them.
    """
    if base_rate is not None:
        raise InputError("base_rate is for one event, not for several classes")
    spec = ColumnSpec.from_arguments(
        list(classes), outcome, by=list(groups) or None, labels=tuple(labels or ()), **reading
    )
    sources = local_sources(source, spec.all_columns(), spec.native)
    keeper = ClassKeeper(spec, labels, parse=sources[0].parse)
    feed(sources, spec, keeper, progress)
    sample = keeper.result()
    return sample if len(sample.classes) > 2 else sample.one_class(1)
