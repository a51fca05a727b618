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
    label_order,
    places_of_segments,
)
from rainproof.core.files import atomic_output, write_errors
from rainproof.core.sample import Sample, as_sample
from rainproof.core.segments import Segments, from_sums
from rainproof.errors import InputError
from rainproof.io.columns import (
    Array,
    IdColumn,
    NumberColumn,
    as_mask,
    is_text,
    split_nulls,
)
from rainproof.io.databases import is_database
from rainproof.io.files import Location, TableWriter, check_writable, file_batches, format_of, open_writer
from rainproof.io.ingest import (
    BatchIngest,
    BinaryIngest,
    RowAccumulator,
    SampleAccumulator,
    encoded_labels,
    make_accumulator,
    prob_violations,
    read_column,
    read_values,
)
from rainproof.io.reading import GRID, Progress, feed, scan
from rainproof.io.sources import local_sources
from rainproof.io.where import ColumnSpec


class _TooManyError(Exception):
    """There are more rows than may be kept, and a database has them."""


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
) -> Sample | Segments:
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
        With more rows than this, return what `scan` returns: they are compressed in the same pass, and those of a
        database by the database. Rows with groups, with several forecasts or with shares are always kept.
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
    at_most = None if groups or others or fractional else at_most
    elsewhere = spec.is_plain and is_database(source[0] if isinstance(source, list) else source)
    keeper = _Keeper(spec, groups, by, at_most, readers, fractional=fractional, elsewhere=elsewhere)
    try:
        feed(sources, spec, _KeepingIngest(spec, keeper, parse=sources[0].parse), progress)
    except _TooManyError:
        options: dict[str, Any] = {"weight": weight, "where": where, "pos_label": pos_label, "progress": progress}
        return scan(source, first, outcome, by=spec.by or None, **options)
    return keeper.result()


class _Keeper(SampleAccumulator):
    """The rows of all batches, or the sums of too many; a coarse grid is enough to check values that are kept."""

    def __init__(
        self,
        spec: ColumnSpec,
        groups: Sequence[str],
        by: Sequence[str],
        at_most: int | None,
        readers: Sequence[NumberColumn] = (),
        *,
        fractional: bool,
        elsewhere: bool,
    ) -> None:
        super().__init__(2)
        self._spec, self._elsewhere = spec, elsewhere
        self._sums: RowAccumulator | None = None
        self.readers = readers  # of further forecasts
        self._others: dict[str, list[Array]] = {reader.name: [] for reader in readers}
        self.fractional = fractional
        self.columns = groups
        self._at_most = at_most
        self._parts: list[Rows] = []
        self._groups = _Numbers(groups)
        self._segments = _Numbers(by)
        self._replayed: list[pa.RecordBatch] = []  # the columns of segments, while there may be too many rows
        self._n = 0

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        if self._sums is not None:
            self._sums.add(rows, batch)
            return
        if self.fractional:
            error = explain_shares(rows.label, rows.names)
            if error is not None:
                raise error
            super().add(replace(rows, label=np.zeros(len(rows), np.uint8)), batch)
        else:
            super().add(rows, batch)
        self._n += len(rows)
        self._parts.append(rows)
        if self._at_most is not None:
            self._replayed.append(batch.select(self._segments.columns))
            if self._n > self._at_most:
                self._compress()
                return
        for reader in self.readers:
            self._others[reader.name].append(read_column(reader, batch, replace(rows.names, prob=reader.name)))
        self._groups.add(batch)
        self._segments.add(batch)

    def _compress(self) -> None:
        """Go over from rows to sums."""
        if self._elsewhere:
            raise _TooManyError
        self._sums = make_accumulator(self._spec, GRID)
        for rows, batch in zip(self._parts, self._replayed, strict=True):
            self._sums.add(rows, batch)
        self._parts, self._replayed = [], []

    def result(self) -> Sample | Segments:
        """All rows, or their sums."""
        if self._sums is not None:
            return from_sums(self._spec.by, *self._sums.sums(), self._spec.names.weight)

        def column(name: str) -> Any:
            found = [getattr(part, name) for part in self._parts]
            return None if found[0] is None else np.concatenate(found)

        groups, by = self._groups.all(), self._segments.all()
        self._groups = _Numbers(())  # their labels take more memory than the rows
        label, prob, weight = column("label"), column("prob"), column("weight")
        if self.fractional or self._others:
            others = {name: np.concatenate(values) for name, values in self._others.items()}
            several = {self._parts[0].names.prob: prob, **others} if others else prob
            found = Sample(label, several, sample_weight=weight, groups=groups, by=by, fractional=self.fractional)
        else:
            rows = Rows(label=label, prob=prob, weight=weight, names=self._parts[0].names)
            found = as_sample(Sample._from_rows(rows), groups=groups, by=by)
        if found._segments is not None:
            found._segments = tuple(self._segments.columns), self._segments.named(found._segments[1])
        return found


class _Numbers:
    """What rows are divided by, as numbers: 4 bytes a row, whatever the labels are."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._index = SegmentIndex()
        self._parts: list[NDArray[np.int32]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        if self.columns:
            codes = [encoded_labels(batch.column(name), name) for name in self.columns]
            self._parts.append(self._index.number_rows(codes, batch.num_rows).astype(np.int32))

    def all(self) -> NDArray[np.int32] | None:
        """The number of each row, if there are columns."""
        return np.concatenate(self._parts) if self.columns else None

    def named(self, places: Mapping[Any, Ints]) -> dict[Any, Ints]:
        """Places by label instead of number, in the order of labels."""
        labels = {key if len(key) > 1 else key[0]: number for number, key in enumerate(self._index.keys)}
        return {label: places[labels[label]] for label in sorted(labels, key=label_order)}


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
