"""File formats: how each is read in batches and written. A new format is one entry of `FORMATS`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from brolly.engines.checks import check_columns, hide_password, read_errors
from brolly.engines.prefetch import prefetch
from brolly.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from brolly.engines.file_writers import TableWriter

_CSV_BLOCK = 1 << 20  # bytes; the longest line must fit
_PARQUET_BATCH = 1 << 18  # rows
_PARQUET_BUFFER = 1 << 20  # bytes; without it a row group is read at once


def _rows_unknown(path: str) -> int:  # noqa: ARG001 - of no use here
    return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFormat:
    """One file format.

    Attributes
    ----------
    name : str
        Its name.
    suffixes : tuple of str
        How the names of its files end; ``.gz`` at the end stands for compression.
    is_text : bool
        Whether all values are text, to be read as numbers.
    read : callable
        ``read(path, columns, others)`` yields record batches of these columns, or with `others` of all columns.
    writer : callable
        ``writer(file)`` returns a writer to an open binary file.
    count : callable
        ``count(path)`` returns the number of rows that the file states; 0 if it states none.
    """

    name: str
    suffixes: tuple[str, ...]
    is_text: bool
    read: Callable[[str, list[str], bool], Iterator[pa.RecordBatch]]
    writer: Callable[[IO[bytes]], TableWriter]
    count: Callable[[str], int] = _rows_unknown


def format_of(path: str) -> FileFormat:
    """Return the format that the name of a file states."""
    for one in FORMATS:
        if path.lower().endswith(one.suffixes):
            return one
    *suffixes, last = (suffix for one in FORMATS for suffix in one.suffixes)
    rule = f"the name of the file must end in {', '.join(suffixes)} or {last}"
    raise InputError(f"{rule}; it is {hide_password(path)!r}")


def describe_formats() -> str:
    """Return the formats and their suffixes, for a help text."""
    *formats, last = (f"{one.name} ({', '.join(one.suffixes)})" for one in FORMATS)
    return f"{', '.join(formats)} or {last}"


def file_batches(path: str, columns: list[str], *, others: bool = False) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file: these columns, or with `others` all columns. The next batch is read meanwhile."""
    read = format_of(path).read
    with read_errors(path):
        yield from prefetch(read(path, columns, others))


def open_writer(path: Path, target: Path) -> TableWriter:
    """Return a writer to the file `path`, in the format that the name of `target` states."""
    writer = format_of(str(target)).writer
    file = path.open("wb")
    if not target.name.lower().endswith(".gz"):
        return writer(file)
    from brolly.engines.file_writers import gzip_file

    return writer(gzip_file(file))


def _open(path: str) -> Any:
    """Open a file for Arrow, which takes names that are not UTF-8 only as bytes."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path))


def _read_text(path: str, columns: list[str], others: bool, *, separator: str) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a text file as text; how it is read as numbers is decided, and errors counted, later.

    With `others` every value is kept as it is; without, text that means a missing value is null.
    """
    import pyarrow as pa
    from pyarrow import csv

    compression = "gzip" if path.lower().endswith(".gz") else None

    def read(**options: Any) -> pa.RecordBatchReader:
        return csv.open_csv(
            pa.input_stream(_open(path), compression=compression),
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(**options),
        )

    with pa.input_stream(_open(path), compression=compression) as file:
        start = file.read(_CSV_BLOCK)
    if b"\0" in start[: 1 << 12]:  # Parquet, spreadsheets and compressed files all have zero bytes
        raise InputError(
            f"{path} does not hold text, though its name says so: is it Parquet, compressed, a spreadsheet or UTF-16?"
        )
    try:
        with read() as header:
            available = header.schema.names
    except pa.ArrowInvalid:
        if len(start) == _CSV_BLOCK and b"\n" not in start:
            raise InputError(f"cannot read {path}: its first line is longer than {_CSV_BLOCK:,} bytes") from None
        raise
    check_columns(path, columns, available)
    options = {} if others else {"include_columns": columns, "strings_can_be_null": True}
    with read(column_types=dict.fromkeys(available if others else columns, pa.string()), **options) as batches:
        yield from batches


def _text_writer(file: IO[bytes], *, separator: str) -> TableWriter:
    from brolly.engines.file_writers import TextWriter

    return TextWriter(file, separator)


def _read_parquet(path: str, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    with (
        _open(path) as source,
        parquet.ParquetFile(source, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as file,
    ):
        check_columns(path, columns, file.schema_arrow.names)
        yield from file.iter_batches(_PARQUET_BATCH, columns=None if others else columns)


def _parquet_writer(file: IO[bytes]) -> TableWriter:
    from pyarrow import parquet

    from brolly.engines.file_writers import ArrowWriter

    return ArrowWriter(file, parquet.ParquetWriter)


def _count_parquet(path: str) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with _open(path) as source:
            return int(parquet.read_metadata(source).num_rows)
    except (OSError, pa.ArrowException):  # which reading the file raises again
        return 0


def _read_feather(path: str, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with _open(path) as file:
        with pa.ipc.open_file(file) as header:
            available = header.schema.names
        check_columns(path, columns, available)
        fields = None if others else [available.index(name) for name in columns]
        with pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields)) as batches:
            for at in range(batches.num_record_batches):
                yield batches.get_batch(at)


def _feather_writer(file: IO[bytes]) -> TableWriter:
    import pyarrow as pa

    from brolly.engines.file_writers import ArrowWriter

    return ArrowWriter(file, pa.ipc.new_file)


FORMATS: tuple[FileFormat, ...] = (
    FileFormat(
        name="CSV",
        suffixes=(".csv", ".csv.gz"),
        is_text=True,
        read=partial(_read_text, separator=","),
        writer=partial(_text_writer, separator=","),
    ),
    FileFormat(
        name="TSV",
        suffixes=(".tsv", ".tsv.gz"),
        is_text=True,
        read=partial(_read_text, separator="\t"),
        writer=partial(_text_writer, separator="\t"),
    ),
    FileFormat(
        name="Parquet",
        suffixes=(".parquet", ".pq"),
        is_text=False,
        read=_read_parquet,
        writer=_parquet_writer,
        count=_count_parquet,
    ),
    FileFormat(
        name="Feather", suffixes=(".feather", ".arrow"), is_text=False, read=_read_feather, writer=_feather_writer
    ),
)
