"""File formats: how each is read in batches and written. A new format is one entry of `FORMATS`."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from rainproof.engines.checks import check_columns, hide_password
from rainproof.engines.locations import Location
from rainproof.engines.prefetch import prefetch
from rainproof.engines.records import JsonLinesWriter, read_json_lines, read_spreadsheet
from rainproof.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_CSV_BLOCK = 1 << 20  # bytes; the longest line must fit
_PARQUET_BATCH = 1 << 18  # rows
_PARQUET_BUFFER = 1 << 20  # bytes; without it a row group is read at once


class TableWriter(Protocol):
    """A file that batches of one schema are written to."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch."""

    def close(self) -> None:
        """Complete the file and close it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFormat:
    """One file format."""

    name: str
    suffixes: tuple[str, ...]  # of file names; .gz at the end means that the file is compressed
    is_text: bool  # whether text is read as numbers
    separators: str = ""  # of the columns of a text file: the first that is in its first line
    # The file, the columns, whether to read all others too.
    read: Callable[[Location, list[str], bool], Iterator[pa.RecordBatch]]
    writer: Callable[[IO[bytes]], TableWriter] | None  # None if files are read only
    count: Callable[[Location], int] = lambda _: 0  # the number of rows that a file states, 0 if it states none


def format_of(path: str) -> FileFormat:
    """Return the format that the name of a file states."""
    name = (path.partition("?")[0] if Location(path).is_stored else path).lower()
    for one in FORMATS:
        if name.endswith(one.suffixes):
            return one
    *suffixes, last = (suffix for one in FORMATS for suffix in one.suffixes)
    rule = f"the name of the file must end in {', '.join(suffixes)} or {last}"
    raise InputError(f"{rule}; it is {hide_password(path)!r}")


def describe_formats() -> str:
    """Return the formats and their suffixes, for a help text."""
    *formats, last = (f"{one.name} ({', '.join(one.suffixes)})" for one in FORMATS)
    return f"{', '.join(formats)} or {last}"


def file_batches(file: Location, columns: list[str], *, others: bool = False) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file: these columns, or with `others` all columns. The next batch is read meanwhile."""
    read = format_of(file.path).read
    with file.errors():
        yield from prefetch(read(file, columns, others))


def check_writable(target: Path) -> Callable[[IO[bytes]], TableWriter]:
    """Return what writes the format that the name of a file states, or refuse one that is read only."""
    kind = format_of(str(target))
    if kind.writer is None:
        raise InputError(f"{kind.name} files are read, but not written: write .csv or .parquet; it is {str(target)!r}")
    return kind.writer


def open_writer(path: Path, target: Path) -> TableWriter:
    """Return a writer to the file `path`, in the format that the name of `target` states."""
    writer = check_writable(target)
    file = path.open("wb")
    return writer(cast("IO[bytes]", _GzipFile(file)) if target.name.lower().endswith(".gz") else file)


def separator_of(file: Location) -> str:
    """Return what separates the columns of a text file: as stated, or the first usual one in its first line."""
    separators = format_of(file.path).separators
    if file.sep is not None:
        return file.sep
    with file.stream() as stream:
        start = stream.read(_CSV_BLOCK).decode("utf-8", "replace")
    outside = "".join(start.split('"')[::2])  # what is between quotes separates nothing
    header = next((line for line in outside.splitlines() if line), "")
    return next((one for one in separators if one in header), separators[0])


def _read_text(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a text file as text; how it is read as numbers is decided, and errors counted, later.

    With `others` every value is kept as it is; without, text that means a missing value is null.
    """
    import pyarrow as pa
    from pyarrow import csv

    with file.stream() as stream:
        start = stream.read(_CSV_BLOCK)
    if b"\0" in start[: 1 << 12]:  # Parquet, spreadsheets and compressed files all have zero bytes
        raise InputError(
            f"{file.name} does not hold text, though its name says so: "
            "is it Parquet, compressed, a spreadsheet or UTF-16?"
        )
    separator = separator_of(file)

    def read(**options: Any) -> pa.RecordBatchReader:
        return csv.open_csv(
            file.stream(),
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(**options),
        )

    try:
        with read() as header:
            available = header.schema.names
    except pa.ArrowInvalid:
        if len(start) == _CSV_BLOCK and b"\n" not in start:
            raise InputError(f"cannot read {file.name}: its first line is longer than {_CSV_BLOCK:,} bytes") from None
        raise
    check_columns(file.name, columns, available)
    options = {} if others else {"include_columns": columns, "strings_can_be_null": True}
    with read(column_types=dict.fromkeys(available if others else columns, pa.string()), **options) as batches:
        yield from batches


class _TextWriter:
    """Lines of text with a header; a value is quoted only if it must be, and a missing one is empty."""

    def __init__(self, file: IO[bytes], separator: str) -> None:
        self._file = file
        self._separator = separator
        self._has_header = False

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        if not self._has_header:
            self._has_header = True
            names = [pa.array([name]) for name in batch.schema.names]
            self._file.write(self._lines(pa.record_batch(names, names=batch.schema.names)))
        self._file.write(self._lines(batch))

    def close(self) -> None:
        self._file.close()

    def _lines(self, batch: pa.RecordBatch) -> bytes:
        import pyarrow.compute as pc

        values = [self._text(column, name) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
        lines: list[str] = pc.binary_join_element_wise(*values, _scalar(self._separator)).to_pylist()
        return "".join(f"{line}\n" for line in lines).encode()

    def _text(self, column: pa.Array, name: str) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

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
    import pyarrow as pa

    return pa.scalar(value, pa.large_string())


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


class _ArrowWriter:
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


def _read_parquet(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    with (
        file.open() as source,
        parquet.ParquetFile(source, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as table,
    ):
        check_columns(file.name, columns, table.schema_arrow.names)
        yield from table.iter_batches(_PARQUET_BATCH, columns=None if others else columns)


def _make_parquet(file: IO[bytes], schema: pa.Schema) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema)


def _count_parquet(file: Location) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with file.open() as source:
            return int(parquet.read_metadata(source).num_rows)
    except (OSError, pa.ArrowException):  # which reading the file raises again
        return 0


def _read_feather(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with file.open() as source:
        with pa.ipc.open_file(source) as header:
            available = header.schema.names
        check_columns(file.name, columns, available)
        fields = None if others else [available.index(name) for name in columns]
        with pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=fields)) as batches:
            for at in range(batches.num_record_batches):
                yield batches.get_batch(at)


def _make_feather(file: IO[bytes], schema: pa.Schema) -> Any:
    import pyarrow as pa

    return pa.ipc.new_file(file, schema)


def _text_format(name: str, suffix: str, separators: str) -> FileFormat:
    return FileFormat(
        name=name,
        suffixes=(suffix, f"{suffix}.gz"),
        is_text=True,
        separators=separators,
        read=_read_text,
        writer=partial(_TextWriter, separator=separators[0]),
    )


FORMATS: tuple[FileFormat, ...] = (
    _text_format("CSV", ".csv", ",;\t|"),
    _text_format("TSV", ".tsv", "\t"),
    _text_format("text", ".txt", "\t;|, "),
    FileFormat(
        name="Parquet",
        suffixes=(".parquet", ".pq"),
        is_text=False,
        read=_read_parquet,
        writer=partial(_ArrowWriter, make=_make_parquet),
        count=_count_parquet,
    ),
    FileFormat(
        name="Feather",
        suffixes=(".feather", ".arrow"),
        is_text=False,
        read=_read_feather,
        writer=partial(_ArrowWriter, make=_make_feather),
    ),
    FileFormat(
        name="JSON lines",
        suffixes=(".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
        is_text=True,
        read=read_json_lines,
        writer=JsonLinesWriter,
    ),
    FileFormat(
        name="spreadsheet",
        suffixes=(".xlsx", ".xlsb", ".xls", ".ods"),
        is_text=True,
        read=read_spreadsheet,
        writer=None,
    ),
)
