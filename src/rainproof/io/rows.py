"""Single rows of a source: kept for statements that sums do not allow, left out, or copied with new columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from rainproof.core.arrays import Ints
from rainproof.core.door import (
    ColumnNames,
    Rows,
    SegmentIndex,
    explain_probabilities,
    explain_shares,
    places_of_segments,
)
from rainproof.core.files import atomic_output, write_errors
from rainproof.core.sample import Sample, as_sample
from rainproof.errors import InputError
from rainproof.io.columns import (
    Array,
    IdColumn,
    NumberColumn,
    as_mask,
    is_text,
    split_nulls,
    without_views,
)
from rainproof.io.files import Location, TableWriter, check_writable, file_batches, format_of, open_writer
from rainproof.io.filters import filter_batch
from rainproof.io.ingest import (
    BatchIngest,
    BinaryIngest,
    SampleAccumulator,
    encoded_labels,
    prob_violations,
    read_column,
    read_values,
)
from rainproof.io.reading import Progress, feed
from rainproof.io.sources import local_sources
from rainproof.io.where import ColumnSpec, columns_of, parse


def without_missing(columns: list[str], where: str | None) -> str:
    """Return the condition that none of the columns is missing, beside another condition."""
    quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
    parts = [f"{column} is not null and {column} is not nan" for column in quoted]
    return " and ".join([*([] if where is None else [f"({where})"]), *parts])


def count_missing(source: Any, columns: list[str], where: str | None, *, sep: str | None = None) -> tuple[int, int]:
    """Return how many of the rows that meet `where` miss a value in one of the columns, and how many there are."""
    given = None if where is None else parse(where)
    complete = parse(without_missing(columns, None))
    needed = list(dict.fromkeys([*columns, *(() if given is None else sorted(columns_of(given)))]))
    total = kept = 0
    for one in local_sources(source, needed, None, sep=sep):
        for batch in one.batches():
            rows = without_views(batch)
            rows = rows if given is None else filter_batch(given, rows)
            total += rows.num_rows
            kept += filter_batch(complete, rows).num_rows if rows.num_rows else 0
    return total - kept, total


class _TooManyError(Exception):
    """There are more rows than may be kept."""


def keep_rows(
    source: Any,
    prob: str | Sequence[str],
    outcome: str,
    *,
    weight: str | None = None,
    groups: str | Sequence[str] = (),
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
) -> Sample | None:
    """Read the rows of a source as `scan` does, and keep them: about 20 bytes each.

    Parameters
    ----------
    source, prob, outcome, weight, where, pos_label, percent, confidence_words, trials, sep, progress
        As for `scan`; for rows in this process. Several columns in `prob` are several forecasts.
    groups : str or sequence of str
        The columns of groups: rows that are the same in all of them are one.
    by : sequence of str
        The columns of segments.
    at_most : int, optional
        With more rows than this, stop and return None.
    fractional : bool
        Whether outcomes are shares of the event.
    """
    first, *others = [prob] if isinstance(prob, str) else prob
    if len({first, *others}) <= len(others):
        raise InputError(f"the forecasts must be different columns; they are {', '.join([first, *others])}")
    groups = (groups,) if isinstance(groups, str) else tuple(groups)
    spec = ColumnSpec.from_arguments(
        first,
        outcome,
        weight=weight,
        by=list(dict.fromkeys([*groups, *by])) or None,
        where=where,
        pos_label=pos_label,
        percent=percent,
        confidence_words=confidence_words,
        trials=trials,
    )
    if fractional and not (pos_label is None and trials is None):
        raise InputError("fractional outcomes cannot be combined with pos_label or trials")
    needed = list(dict.fromkeys([*spec.all_columns(), *others]))
    sources = local_sources(source, needed, spec.native, sep=sep)
    readers = [
        NumberColumn(name, parse=sources[0].parse, percent=percent, confidence_words=confidence_words)
        for name in others
    ]
    keeper = _Keeper(spec, groups, by, None if fractional else at_most, readers, fractional=fractional)
    try:
        feed(sources, spec, _KeepingIngest(spec, keeper, parse=sources[0].parse), progress)
    except _TooManyError:
        return None
    return keeper.kept()


class _Keeper(SampleAccumulator):
    """The rows of all batches; a coarse grid is enough to check their values."""

    def __init__(
        self,
        spec: ColumnSpec,
        groups: Sequence[str],
        by: Sequence[str],
        at_most: int | None,
        readers: Sequence[NumberColumn] = (),
        *,
        fractional: bool,
    ) -> None:
        super().__init__(spec, 2)
        self.readers = readers  # of further forecasts
        self._others: dict[str, list[Array]] = {reader.name: [] for reader in readers}
        self.fractional = fractional
        self.columns = groups  # of groups
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
        for reader in self.readers:
            self._others[reader.name].append(read_column(reader, batch, replace(rows.names, prob=reader.name)))
        if self.columns:
            codes = [encoded_labels(batch.column(name), name) for name in self.columns]
            self._groups.append(self._index.number_rows(codes, batch.num_rows))
        for name, labels in self._labels.items():
            number, distinct = encoded_labels(batch.column(name), name)
            labels.append(np.array(distinct, object)[number])

    def kept(self) -> Sample:
        """All rows."""

        def column(name: str) -> Any:
            found = [getattr(part, name) for part in self._parts]
            return None if found[0] is None else np.concatenate(found)

        groups = np.concatenate(self._groups) if self.columns else None
        by = {name: np.concatenate(labels) for name, labels in self._labels.items()} or None
        label, prob, weight = column("label"), column("prob"), column("weight")
        if self.fractional or self._others:
            others = {name: np.concatenate(values) for name, values in self._others.items()}
            several = {self._parts[0].names.prob: prob, **others} if others else prob
            return Sample(label, several, sample_weight=weight, groups=groups, by=by, fractional=self.fractional)
        rows = Rows(label=label, prob=prob, weight=weight, names=self._parts[0].names)
        return as_sample(Sample._from_rows(rows), groups=groups, by=by)


class _KeepingIngest(BinaryIngest):
    """Rows with a group, which must not be missing."""

    def __init__(self, spec: ColumnSpec, keeper: _Keeper, *, parse: bool) -> None:
        super().__init__(spec, keeper, parse=parse)
        self._groups, self._fractional, self._readers = keeper.columns, keeper.fractional, keeper.readers

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        for error in (*self._missing(batch, names), *self._of_others(batch, names)):
            raise error
        super()._take(batch, names)

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from super()._violations(batch, names)
        if self._fractional:
            shares, _ = read_values(self._outcome, batch, names)
            error = explain_shares(shares, names)
            yield from [] if error is None else [error]
        yield from self._missing(batch, names)
        yield from self._of_others(batch, names)

    def _of_others(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        for reader in self._readers:
            yield from prob_violations(reader, batch, replace(names, prob=reader.name))

    def _missing(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        for group in self._groups:
            _, error = split_nulls(group, batch.column(group), names)
            if error is not None:
                yield error


NewColumn = Callable[[Array, Any], Array]
"""Computes a column from the array of probabilities and that of ids (or None); with `by`, the rows of each segment."""

_NULLS = pa.array(csv.ConvertOptions().null_values)  # text that means a missing value


def append_columns(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    prob: str,
    ids: str | None = None,
    by: Sequence[str] = (),
    new_columns: Mapping[str, NewColumn],
    sep: str | None = None,
    keep_missing: bool = False,
    percent: bool = False,
    confidence_words: Mapping[str, float] | None = None,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Copy a file of predictions, add columns that are computed from them, and return the number of rows.

    Memory does not grow with the file. The output appears under its name once it is complete; if anything
    goes wrong, what was there before stays.

    Parameters
    ----------
    path : str or path-like
        The file to read, in any format that `scan` reads.
    output : str or path-like
        The file to write, in the format that its name states. The columns of a text file stay text, in
        Parquet too.
    prob : str
        The column of predicted probabilities.
    ids : str, optional
        The column of row ids: integers or text.
    by : sequence of str
        Instead of ids: the columns that segment the rows, as for `scan`.
    new_columns : mapping of str to callable
        How to compute each new column, by its name.
    sep : str, optional
        What separates the columns of a text file. Default: recognised.
    keep_missing : bool
        Whether a row without a probability is copied with nothing in the new columns, instead of being an error.
    percent : bool
        Whether the probabilities are in percent.
    confidence_words : mapping of str to float, optional
        The probability that each word in the column stands for.
    progress : callable, optional
        Called after each batch with the number of rows read so far.

    Raises
    ------
    InputError
        As for `scan`; also if the file has a column of the same name already, or the output cannot be
        written.
    """
    if prob == ids:
        raise InputError(f"prob and ids must be different columns; both are {prob}")
    columns = [prob, *([] if ids is None else [ids]), *by]
    file, target = Location(os.fspath(path), sep), Path(output)
    check_writable(target)  # before a file is made
    with atomic_output(target) as temporary:
        with write_errors(target):
            writer = open_writer(temporary, target)
        try:
            appender = _ColumnAppender(
                file,
                target,
                prob=prob,
                ids=ids,
                by=by,
                new_columns=new_columns,
                keep_missing=keep_missing,
                percent=percent,
                confidence_words=confidence_words,
                writer=writer,
            )
            for batch in file_batches(file, list(dict.fromkeys(columns)), others=True):
                appender.add(batch)
                if progress is not None:
                    progress(appender.rows)
            if not appender.rows:
                raise InputError(f"{file.name} has columns but no rows")
            appender.finish()
            with write_errors(target):
                writer.close()
        except BaseException:
            with suppress(OSError):  # the first error is the one to report
                writer.close()
            raise
    return appender.rows


class _ColumnAppender(BatchIngest):
    """Writes each batch with the new columns beside its own."""

    def __init__(
        self,
        file: Location,
        target: Path,
        *,
        prob: str,
        ids: str | None,
        by: Sequence[str],
        new_columns: Mapping[str, NewColumn],
        keep_missing: bool,
        percent: bool,
        confidence_words: Mapping[str, float] | None,
        writer: TableWriter,
    ) -> None:
        super().__init__(ColumnNames(prob=prob))
        self._keep_missing = keep_missing
        self._name, self._target = file.name, target
        self._is_text = format_of(file.path).is_text
        self._prob = NumberColumn(prob, parse=self._is_text, percent=percent, confidence_words=confidence_words)
        self._ids = None if ids is None else IdColumn(ids)
        self._by = by
        self._new_columns = new_columns
        self._writer = writer

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        for name in self._new_columns:
            if name in batch.schema.names:
                raise InputError(f"{self._name} has a column {name!r} already: rename it, as the new one is called so")
        inputs, there = self._inputs(batch)
        prob = read_column(self._prob, inputs, names)
        error = explain_probabilities(prob, names)
        if error is not None:
            raise error
        others: Any = None if self._ids is None else read_column(self._ids, inputs, names)[there]
        if self._by:
            labels = [encoded_labels(inputs.column(name).filter(pa.array(there)), name) for name in self._by]
            others = places_of_segments(labels, int(there.sum()))
        places = pa.array(np.cumsum(there) - 1, mask=~there)
        for name, compute in self._new_columns.items():
            batch = batch.append_column(name, pa.array(compute(prob[there], others)).take(places))
        with write_errors(self._target):
            self._writer.write(batch)

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        inputs, _ = self._inputs(batch)
        yield from prob_violations(self._prob, inputs, names)
        if self._ids is not None:
            yield from read_values(self._ids, inputs, names)[1]

    def _inputs(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Any]:
        """Return the columns to read, and which rows have a probability; a missing one that may be kept is read as 0.

        Text that means a missing value is null here, though the batch keeps it.
        """
        names = [*(c.name for c in (self._prob, self._ids) if c is not None), *self._by]
        inputs = {name: batch.column(name) for name in names}
        if self._is_text:
            for name, text in inputs.items():
                if is_text(text.type):
                    inputs[name] = pc.if_else(pc.is_in(text, _NULLS), None, text)
        there = np.ones(batch.num_rows, np.bool_)
        if self._keep_missing:
            prob = inputs[self._prob.name]
            if pa.types.is_floating(prob.type):
                prob = pc.if_else(pc.is_nan(prob), None, prob)
            there = as_mask(prob.is_valid())
            inputs[self._prob.name] = pc.fill_null(prob, "0" if is_text(prob.type) else 0)
        return pa.record_batch(inputs), there
