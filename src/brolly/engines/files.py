"""CSV and Parquet files, read a batch at a time into a sample."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.core.sample import Sample
from brolly.errors import BrollyError, InputError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa

    from brolly.engines.arrow import Batches

_TEXT = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}  # what separates the columns
_PARQUET = (".parquet", ".pq")
_CSV_BLOCK = 1 << 20  # bytes; the longest line must fit
_PARQUET_BATCH = 1 << 18  # rows
_PARQUET_BUFFER = 1 << 20  # bytes; without it a row group is read whole
_SHOWN_COLUMNS = 10


def read_file(
    path: str | os.PathLike[str],
    *,
    prob: str,
    outcome: str,
    weight: str | None = None,
    pos_label: Any = None,
    m: int = 2**16,
    progress: Callable[[int], object] | None = None,
) -> Sample:
    """The sample of all rows in a CSV or Parquet file, however large the file.

    Reads the columns that are needed, a batch at a time, in memory that does not grow with the file.
    The result is compressed (see `Sample.compress`): `soft_binned_cdl` is the same as on the rows for
    every grid up to `m`.

    Parameters
    ----------
    path : str or path-like
        A file whose name ends in .csv, .csv.gz, .tsv, .tsv.gz, .parquet or .pq.
    prob : str
        The column of predicted probabilities.
    outcome : str
        The column of outcomes: 0 and 1, true and false, or any two labels with `pos_label`.
    weight : str, optional
        The column that says how much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1. Text is read as the type of the column.
    m : int
        The grid of the compression: a power of two, up to 2**20.
    progress : callable, optional
        Called with the number of rows read so far, after each batch.

    Raises
    ------
    InputError
        Where the file cannot be read, lacks a column, or holds a value that breaks a rule. Rows are
        counted from 0, without the header; counts are of the whole file.
    MissingExtraError
        Where PyArrow is not installed.
    """
    need_pyarrow()
    from brolly.engines.arrow import Intake, Roles

    roles = Roles(prob=prob, outcome=outcome, weight=weight)
    path = os.fspath(path)
    intake = Intake(roles, m=m, pos_label=pos_label, parse=separator_of(path) is not None)
    feed(path, roles.columns(), intake, progress)
    return intake.sample()


def need_pyarrow() -> None:
    """Say how to install what reads files, where it is not."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("reading CSV and Parquet files", "pyarrow", "files") from None


def feed(
    path: str,
    columns: list[str],
    into: Batches,
    progress: Callable[[int], object] | None = None,
    *,
    others: bool = False,
) -> None:
    """Give all rows of a file to `into`, a batch at a time: these columns, or with `others` all there are."""
    separator = separator_of(path)
    with reading(path):
        if separator is None:
            batches = _parquet_batches(path, columns, others)
        else:
            batches = _csv_batches(path, columns, separator, others)
        for batch in batches:
            into.add(batch)
            if progress is not None:
                progress(into.rows)
    if not into.rows:
        raise InputError(f"{path} has columns but no rows")


def separator_of(path: str) -> str | None:
    """What separates the columns of a text file; None for Parquet. The name decides."""
    name = path.lower()
    for suffix, separator in _TEXT.items():
        if name.endswith(suffix):
            return separator
    if name.endswith(_PARQUET):
        return None
    raise InputError(f"the name of the file must end in {', '.join(_TEXT)}, .parquet or .pq; it is {path!r}")


@contextmanager
def reading(path: str) -> Iterator[None]:
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


def _csv_batches(path: str, columns: list[str], separator: str, others: bool) -> Iterator[pa.RecordBatch]:
    """The columns of a text file as text: what it stands for is decided, and counted, later.

    All columns are given just as they are, without a null; of `columns` alone, what stands for none is null.
    """
    import pyarrow as pa
    from pyarrow import csv

    compression = "gzip" if path.lower().endswith(".gz") else None

    def read(**options: Any) -> pa.RecordBatchReader:
        return csv.open_csv(
            pa.input_stream(path, compression=compression),
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(**options),
        )

    _must_be_text(path, compression)
    with read() as header:
        there = header.schema.names
        _find(path, columns, there)
    options = {} if others else {"include_columns": columns, "strings_can_be_null": True}
    with read(column_types=dict.fromkeys(there if others else columns, pa.string()), **options) as batches:
        yield from batches


def _must_be_text(path: str, compression: str | None) -> None:
    """A text file has no zero bytes; Parquet, spreadsheets and compressed files all have some."""
    import pyarrow as pa

    with pa.input_stream(path, compression=compression) as file:
        if b"\0" in file.read(1 << 12):
            raise InputError(
                f"{path} does not hold text, though its name says so: "
                "is it Parquet, compressed, a spreadsheet or UTF-16?"
            )


def _parquet_batches(path: str, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    with parquet.ParquetFile(path, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as file:
        _find(path, columns, file.schema_arrow.names)
        yield from file.iter_batches(_PARQUET_BATCH, columns=None if others else columns)


def _find(path: str, columns: list[str], there: list[str]) -> None:
    """Each column must be there once."""
    for name in columns:
        if there.count(name) > 1:
            raise InputError(f"{path} has {there.count(name)} columns called {name!r}; it must have one")
        if name not in there:
            plain = {other.strip().lower(): other for other in there}
            close = difflib.get_close_matches(name.strip().lower(), plain, n=1)
            meant = f" (did you mean {plain[close[0]]!r}?)" if close else ""
            listed = ", ".join(map(repr, there[:_SHOWN_COLUMNS]))
            more = f" and {len(there) - _SHOWN_COLUMNS:,} more" if len(there) > _SHOWN_COLUMNS else ""
            raise InputError(f"{path} has no column {name!r}{meant}; it has {listed}{more}")
