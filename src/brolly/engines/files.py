"""CSV, Parquet and Feather files, read a batch at a time."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.engines.prefetch import prefetch
from brolly.errors import BrollyError, InputError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa

    from brolly.engines.ingest import BatchIngest

_TEXT = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}  # what separates the columns
_PARQUET = (".parquet", ".pq")
_FEATHER = (".feather", ".arrow")
_CSV_BLOCK = 1 << 20  # bytes; the longest line must fit
_PARQUET_BATCH = 1 << 18  # rows
_PARQUET_BUFFER = 1 << 20  # bytes; without it a row group is read whole
_SHOWN_COLUMNS = 10


def hide_password(address: str) -> str:
    """An address as a message may show it: from the first colon of its authority to the last @, and in its query."""
    address = re.sub(r"(://[^:@]*:).*@", r"\1***@", address, flags=re.DOTALL)
    return re.sub(r"(?i)([?&]\w*passw\w*=)[^&#]*", r"\1***", address)


def need_pyarrow() -> None:
    """Say how to install what reads files, where it is not."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("reading data frames and files", "pyarrow", "files") from None


def feed(
    path: str,
    columns: list[str],
    into: BatchIngest,
    progress: Callable[[int], object] | None = None,
    *,
    others: bool = False,
) -> None:
    """Give all rows of a file to `into`, a batch at a time: these columns, or with `others` all there are."""
    for batch in file_batches(path, columns, others=others):
        into.add(batch)
        if progress is not None:
            progress(into.rows)
    if not into.rows:
        raise InputError(f"{path} has columns but no rows")


def file_batches(path: str, columns: list[str], *, others: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of a file: these columns, or with `others` all there are. The next batch is read meanwhile."""
    separator = separator_of(path)
    with read_errors(path):
        if separator is not None:
            batches = _csv_batches(path, columns, separator, others)
        elif is_parquet(path):
            batches = _parquet_batches(path, columns, others)
        else:
            batches = _feather_batches(path, columns, others)
        yield from prefetch(batches)


def count_rows(path: str) -> int:
    """How many rows a file says it has; 0 where it does not say, or cannot be read."""
    if not is_parquet(path):
        return 0
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with _opened(path) as source:
            return int(parquet.read_metadata(source).num_rows)
    except (OSError, pa.ArrowException):  # said when it is read
        return 0


def is_parquet(path: str) -> bool:
    """Whether the name says so."""
    return path.lower().endswith(_PARQUET)


def separator_of(path: str) -> str | None:
    """What separates the columns of a text file; None for a typed one. The name decides."""
    name = path.lower()
    for suffix, separator in _TEXT.items():
        if name.endswith(suffix):
            return separator
    if name.endswith((*_PARQUET, *_FEATHER)):
        return None
    known = ", ".join([*_TEXT, *_PARQUET, *_FEATHER[:-1]])
    raise InputError(f"the name of the file must end in {known} or {_FEATHER[-1]}; it is {hide_password(path)!r}")


@contextmanager
def read_errors(path: str) -> Iterator[None]:
    """Whatever goes wrong inside is said in one line that names the file."""
    import pyarrow as pa

    try:
        with Path(path).open("rb") as file:
            if not file.read(1):
                raise InputError(f"{path} is empty")
        yield
    except BrollyError:
        raise
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {path}: {' '.join(reason.split())}") from error


def _opened(path: str) -> Any:
    """The file for Arrow to read, which takes names that are no UTF-8 as bytes alone."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path))


def _csv_batches(path: str, columns: list[str], separator: str, others: bool) -> Iterator[pa.RecordBatch]:
    """The columns of a text file as text: what it stands for is decided, and counted, later.

    All columns are given just as they are, without a null; of `columns` alone, what stands for none is null.
    """
    import pyarrow as pa
    from pyarrow import csv

    compression = "gzip" if path.lower().endswith(".gz") else None

    def read(**options: Any) -> pa.RecordBatchReader:
        return csv.open_csv(
            pa.input_stream(_opened(path), compression=compression),
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(**options),
        )

    _must_be_text(path, compression)
    try:
        with read() as header:
            there = header.schema.names
    except pa.ArrowInvalid:
        with pa.input_stream(_opened(path), compression=compression) as file:
            start = file.read(_CSV_BLOCK)
        if len(start) == _CSV_BLOCK and b"\n" not in start:
            raise InputError(f"cannot read {path}: its first line is longer than {_CSV_BLOCK:,} bytes") from None
        raise
    check_columns(path, columns, there)
    options = {} if others else {"include_columns": columns, "strings_can_be_null": True}
    with read(column_types=dict.fromkeys(there if others else columns, pa.string()), **options) as batches:
        yield from batches


def _must_be_text(path: str, compression: str | None) -> None:
    """A text file has no zero bytes; Parquet, spreadsheets and compressed files all have some."""
    import pyarrow as pa

    with pa.input_stream(_opened(path), compression=compression) as file:
        if b"\0" in file.read(1 << 12):
            raise InputError(
                f"{path} does not hold text, though its name says so: "
                "is it Parquet, compressed, a spreadsheet or UTF-16?"
            )


def _parquet_batches(path: str, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    with (
        _opened(path) as source,
        parquet.ParquetFile(source, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as file,
    ):
        check_columns(path, columns, file.schema_arrow.names)
        yield from file.iter_batches(_PARQUET_BATCH, columns=None if others else columns)


def _feather_batches(path: str, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with _opened(path) as file:
        with pa.ipc.open_file(file) as whole:
            there = whole.schema.names
        check_columns(path, columns, there)
        fields = None if others else [there.index(name) for name in columns]
        with pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields)) as batches:
            for at in range(batches.num_record_batches):
                yield batches.get_batch(at)


def check_columns(source: str, columns: list[str], there: list[str]) -> None:
    """Each column must be there once."""
    for name in columns:
        if there.count(name) > 1:
            raise InputError(f"{source} has {there.count(name)} columns called {name!r}; it must have one")
        if name not in there:
            plain = {other.strip().lower(): other for other in there}
            close = difflib.get_close_matches(name.strip().lower(), plain, n=1)
            meant = f" (did you mean {plain[close[0]]!r}?)" if close else ""
            listed = ", ".join(map(repr, there[:_SHOWN_COLUMNS]))
            more = f" and {len(there) - _SHOWN_COLUMNS:,} more" if len(there) > _SHOWN_COLUMNS else ""
            raise InputError(f"{source} has no column {name!r}{meant}; it has {listed}{more}")
