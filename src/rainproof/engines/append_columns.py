"""A copy of a file with columns added, read and written in batches; it is written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rainproof.core.atomic_write import atomic_output, write_errors
from rainproof.core.input.labels import places_of_segments
from rainproof.core.input.rows import ColumnNames, explain_probabilities
from rainproof.engines.accumulators import encoded_labels
from rainproof.engines.columns import Array, IdColumn, NumberColumn, as_mask, is_text
from rainproof.engines.files import TableWriter, check_writable, file_batches, format_of, open_writer
from rainproof.engines.ingest import BatchIngest, prob_violations, read_column, read_values
from rainproof.engines.locations import Location
from rainproof.errors import InputError

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
