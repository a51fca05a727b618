"""Record batches go out again, as text or Parquet, with columns added on the way."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from brolly.core.atomic_write import write_errors
from brolly.core.input.rows import ColumnNames, explain_probabilities
from brolly.engines.columns import Array, IdColumn, NumberColumn
from brolly.engines.files import is_parquet, separator_of
from brolly.engines.ingest import BatchIngest, prob_violations, read_column, read_values
from brolly.errors import InputError

Answer = Callable[[Array, Array | None], Array]

_MISSING = pa.array(csv.ConvertOptions().null_values)  # what stands for no value when text is read


class Table(Protocol):
    """A file that batches of one schema are written to."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class TextWriter:
    """Rows of text, a value quoted only where it must be; what is missing is an empty text."""

    def __init__(self, file: IO[bytes], separator: str) -> None:
        self._file = file
        self._separator = separator
        self._begun = False

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._begun:
            self._begun = True
            names = [pa.array([name]) for name in batch.schema.names]
            self._file.write(self._lines(pa.record_batch(names, names=batch.schema.names)))
        self._file.write(self._lines(batch))

    def close(self) -> None:
        self._file.close()

    def _lines(self, batch: pa.RecordBatch) -> bytes:
        cells = [self._cells(column, name) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
        lines: list[str] = pc.binary_join_element_wise(*cells, _text(self._separator)).to_pylist()
        return "".join(f"{line}\n" for line in lines).encode()

    def _cells(self, column: pa.Array, name: str) -> pa.Array:
        try:
            text = pc.fill_null(pc.cast(column, pa.large_string()), "")
        except pa.ArrowException:
            raise InputError(f"{name} cannot go into a text file: it holds values of type {column.type}") from None
        special = pc.match_substring_regex(text, f'[{self._separator}"\r\n]')
        if not pc.any(special).as_py():
            return text
        doubled = pc.replace_substring(text, '"', '""')
        quoted = pc.binary_join_element_wise(_text('"'), doubled, _text('"'), _text(""))
        return pc.if_else(special, quoted, text)


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())


class ArrowWriter:
    """Parquet or Feather, with the schema of the first batch."""

    def __init__(self, file: IO[bytes], writer: Callable[[IO[bytes], pa.Schema], Any]) -> None:
        self._file = file
        self._make = writer
        self._writer: Any = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._writer = self._make(self._file, batch.schema)
        self._writer.write_batch(batch)

    def close(self) -> None:
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            self._file.close()


def open_table(path: Path, target: Path) -> Table:
    """A table at `path` of the kind that the name of `target` says."""
    separator = separator_of(str(target))
    if separator is None:
        return ArrowWriter(path.open("wb"), parquet.ParquetWriter if is_parquet(str(target)) else pa.ipc.new_file)
    if not target.name.lower().endswith(".gz"):
        return TextWriter(path.open("wb"), separator)
    # With neither name nor time inside: the same rows make the same file.
    return TextWriter(cast("IO[bytes]", _Zipped(path.open("wb"))), separator)


class _Zipped(gzip.GzipFile):
    """Compressed text, closed together with the file below."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(filename="", fileobj=file, mode="wb", mtime=0)
        self._below = file

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._below.close()


class ColumnAppender(BatchIngest):
    """Each batch is written with the answers to its predictions beside it.

    Parameters
    ----------
    path, target : str, Path
        What the files are called, for messages.
    prob, ids : str, str or None
        The columns of predictions and of what rows are called.
    answers : mapping of str to callable
        For each new column what computes it.
    table : Table
        Where the rows go.
    """

    def __init__(
        self, path: str, target: Path, *, prob: str, ids: str | None, answers: Mapping[str, Answer], table: Table
    ) -> None:
        super().__init__(ColumnNames(prob=prob))
        self._path, self._target = path, target
        self._parse = separator_of(path) is not None
        self._prob = NumberColumn(prob, parse=self._parse)
        self._ids = None if ids is None else IdColumn(ids)
        self._answers = answers
        self._table = table

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        self._must_be_new(batch.schema.names)
        asked = self._asked(batch)
        prob = read_column(self._prob, asked, names)
        error = explain_probabilities(prob, names)
        if error is not None:
            raise error
        ids = None if self._ids is None else read_column(self._ids, asked, names)
        for name, answer in self._answers.items():
            batch = batch.append_column(name, pa.array(answer(prob, ids)))
        with write_errors(self._target):
            self._table.write(batch)

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        asked = self._asked(batch)
        yield from prob_violations(self._prob, asked, names)
        if self._ids is not None:
            yield from read_values(self._ids, asked, names)[1]

    def _asked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns to read; text that stands for no value is null there, though the batch keeps it."""
        asked = {c.name: batch.column(c.name) for c in (self._prob, self._ids) if c is not None}
        if self._parse:
            for name, text in asked.items():
                asked[name] = pc.if_else(pc.is_in(text, _MISSING), None, text)
        return pa.record_batch(asked)

    def _must_be_new(self, there: list[str]) -> None:
        for name in self._answers:
            if name in there:
                raise InputError(f"{self._path} has a column {name!r} already: rename it, to make room for the answer")
