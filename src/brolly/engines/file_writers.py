"""Writers of record batches to files, one batch after the other."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import IO, Any, Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc

from brolly.errors import InputError


class TableWriter(Protocol):
    """A file that batches of one schema are written to."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch."""

    def close(self) -> None:
        """Complete the file and close it."""


class TextWriter:
    """Lines of text with a header; a value is quoted only if it must be, and a missing one is empty."""

    def __init__(self, file: IO[bytes], separator: str) -> None:
        self._file = file
        self._separator = separator
        self._has_header = False

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._has_header:
            self._has_header = True
            names = [pa.array([name]) for name in batch.schema.names]
            self._file.write(self._lines(pa.record_batch(names, names=batch.schema.names)))
        self._file.write(self._lines(batch))

    def close(self) -> None:
        self._file.close()

    def _lines(self, batch: pa.RecordBatch) -> bytes:
        values = [self._text(column, name) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
        lines: list[str] = pc.binary_join_element_wise(*values, _scalar(self._separator)).to_pylist()
        return "".join(f"{line}\n" for line in lines).encode()

    def _text(self, column: pa.Array, name: str) -> pa.Array:
        try:
            text = pc.fill_null(pc.cast(column, pa.large_string()), "")
        except pa.ArrowException:
            raise InputError(f"{name} cannot be written as text: it holds values of type {column.type}") from None
        special = pc.match_substring_regex(text, f'[{self._separator}"\r\n]')
        if not pc.any(special).as_py():
            return text
        doubled = pc.replace_substring(text, '"', '""')
        quoted = pc.binary_join_element_wise(_scalar('"'), doubled, _scalar('"'), _scalar(""))
        return pc.if_else(special, quoted, text)


def _scalar(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())


class ArrowWriter:
    """A typed file, written by one of PyArrow's writers with the schema of the first batch."""

    def __init__(self, file: IO[bytes], make: Callable[[IO[bytes], pa.Schema], Any]) -> None:
        self._file = file
        self._make = make
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


def gzip_file(file: IO[bytes]) -> IO[bytes]:
    """Compress what is written to a file."""
    return cast("IO[bytes]", _GzipFile(file))


class _GzipFile(gzip.GzipFile):
    """Compressed with neither name nor time, so that equal rows make equal files; closes the file below it too."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(filename="", fileobj=file, mode="wb", mtime=0)
        self._below = file

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._below.close()
