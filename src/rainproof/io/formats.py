"""The file formats: what the name of each ends in, and how its files are read and written.

A new format is one entry of `FORMATS`, and a module beside this one that reads it in batches.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rainproof.core.files import file_errors
from rainproof.errors import InputError
from rainproof.io.arrow_files import FeatherFile, ParquetFile, write_feather, write_parquet
from rainproof.io.json_files import (
    JsonFile,
    lines_of_objects,
    write_json_array,
    write_json_lines,
)
from rainproof.io.locations import Location
from rainproof.io.opening import OpenFile, ReadOptions
from rainproof.io.source_errors import hide_password
from rainproof.io.spreadsheets import Spreadsheet
from rainproof.io.text_files import TextFile, lines_of_rows, write_text_file

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[["pa.RecordBatch"], None]
"""Appends the rows of a batch to a file; all batches have one schema."""

OpenWriter = Callable[[IO[bytes]], AbstractContextManager[Write]]
"""Starts to write a file, which is complete at the end of the context."""


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """One file format.

    Attributes
    ----------
    name : str
        What help and messages call it.
    suffixes : tuple of str
        The ends of the names of its files; .gz at the end means that the file is compressed.
    open : callable
        Opens a file to read it.
    open_writer : callable or None
        What writes a file; None if files are read only.
    is_text : bool
        Whether text in a file is read as numbers.
    has_open_schema : bool
        Whether later rows of a file may have other columns, and values of other types.
    states_rows : bool
        Whether a file states the number of its rows.
    magic : bytes
        What a file begins with, by which standard input is told from a text file.
    lines : callable or None
        Yields the line of each row, for messages; None where rows have no lines.
    """

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[Location, ReadOptions], OpenFile]
    open_writer: OpenWriter | None
    is_text: bool = True
    has_open_schema: bool = False
    states_rows: bool = False
    magic: bytes = b""
    lines: Callable[[Location, ReadOptions], Iterator[int]] | None = None


def text_format(name: str, suffix: str, separators: str) -> FileFormat:
    """Return a format of text files with separated columns.

    The first of these separators that is in the first line of a file separates its columns.
    """
    return FileFormat(
        name=name,
        suffixes=(suffix, f"{suffix}.gz"),
        open=partial(TextFile, usual_separators=separators),
        open_writer=partial(write_text_file, separator=separators[0]),
        lines=partial(lines_of_rows, usual_separators=separators),
    )


_PARQUET = FileFormat(
    name="Parquet",
    suffixes=(".parquet", ".pq"),
    open=ParquetFile,
    open_writer=write_parquet,
    is_text=False,
    states_rows=True,
    magic=b"PAR1",
)

_FEATHER = FileFormat(
    name="Feather",
    suffixes=(".feather", ".arrow"),
    open=FeatherFile,
    open_writer=write_feather,
    is_text=False,
    magic=b"ARRO",
)

_JSON_LINES = FileFormat(
    name="JSON lines",
    suffixes=(".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
    open=JsonFile,
    open_writer=write_json_lines,
    has_open_schema=True,
    magic=b"{",
    lines=lines_of_objects,
)

_JSON = FileFormat(
    name="JSON",
    suffixes=(".json", ".json.gz"),
    open=JsonFile,
    open_writer=write_json_array,
    has_open_schema=True,
    magic=b"[",
)

_SPREADSHEET = FileFormat(
    name="spreadsheet",
    suffixes=(".xlsx", ".xlsb", ".xls", ".ods"),
    open=Spreadsheet,
    open_writer=None,
    magic=b"PK\3\4",
)

FORMATS: tuple[FileFormat, ...] = (
    text_format("CSV", ".csv", ",;\t|"),
    text_format("TSV", ".tsv", "\t"),
    text_format("text", ".txt", "\t;|, "),
    _PARQUET,
    _FEATHER,
    _JSON_LINES,
    _JSON,
    _SPREADSHEET,
)


def format_of(path: str) -> FileFormat:
    """Return the format that the name of a file states."""
    name = Location(path).lower_name
    # In any order, as no suffix is the end of another.
    for file_format in FORMATS:
        if name.endswith(file_format.suffixes):
            return file_format
    suffixes: list[str] = []
    for file_format in FORMATS:
        suffixes += file_format.suffixes
    rule = f"the name of the file must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}"
    raise InputError(f"{rule}; it is {hide_password(path)!r}")


def suffix_of(start: bytes) -> str:
    """Return the suffix of a file that begins with these bytes; of a CSV file, where none tells."""
    for file_format in FORMATS:
        if file_format.magic and start.startswith(file_format.magic):
            return file_format.suffixes[0]
    return FORMATS[0].suffixes[0]


def describe_formats() -> str:
    """Return the formats and their suffixes, for a help text."""
    described = [f"{known.name} ({', '.join(known.suffixes)})" for known in FORMATS]
    return f"{', '.join(described[:-1])} or {described[-1]}"


def check_writable(target: Path) -> OpenWriter:
    """Return what writes the format that the name of a file states, or refuse one that is read
    only.
    """
    file_format = format_of(str(target))
    if file_format.open_writer is None:
        rule = f"{file_format.name} files are read, but not written: write .csv or .parquet"
        raise InputError(f"{rule}; it is {str(target)!r}")
    return file_format.open_writer


@contextmanager
def open_writer(path: Path, target: Path) -> Iterator[Write]:
    """Yield what appends batches to the file `path`, in the format that the name of `target`
    states.
    """
    has_open_schema = format_of(str(target)).has_open_schema
    stack = ExitStack()
    schema: pa.Schema | None = None  # of the first batch
    rows = 0
    with file_errors(target):
        file: Any = stack.enter_context(path.open("wb"))
        if target.name.lower().endswith(".gz"):
            # With neither name nor time, so that equal rows make equal files.
            file = stack.enter_context(gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0))
        append = stack.enter_context(check_writable(target)(file))

    def write(batch: pa.RecordBatch) -> None:
        nonlocal schema, rows
        if schema is None:
            schema = batch.schema
        if not has_open_schema:
            batch = _of_schema(batch, schema, rows, target)
        with file_errors(target):
            append(batch)
        rows += batch.num_rows

    try:
        yield write
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            stack.close()
        raise
    with file_errors(target):
        stack.close()


def _of_schema(batch: pa.RecordBatch, schema: pa.Schema, rows: int, target: Path) -> pa.RecordBatch:
    """Return a batch with the columns of those that were written, or refuse it.

    `rows` is the number of rows that were written.
    """
    import pyarrow as pa

    remedy = "write .jsonl, which can have it"
    for name in batch.schema.names:
        if name not in schema.names:
            first = f"which first occurs after {rows:,} rows"
            raise InputError(f"{target} cannot have {name!r}, {first}: {remedy}")
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field, column in zip(schema, batch.columns, strict=True):
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException:
            held = f"values of type {field.type}, and of type {column.type} after {rows:,} rows"
            raise InputError(
                f"{target} cannot have {field.name!r}, which holds {held}: {remedy}"
            ) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)
