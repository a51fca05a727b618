"""Typed files that PyArrow reads and writes: Parquet and Feather."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any

from rainproof.io.locations import Batches, Location
from rainproof.io.source_errors import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from rainproof.io.formats import Write

PARQUET_ROWS_PER_BATCH = 1 << 18
_PARQUET_BUFFER = 1 << 20  # bytes; without it a row group is read at once


def read_parquet(file: Location, columns: list[str], others: bool) -> Batches:
    """Yield the rows of a Parquet file: these columns, or with `others` all columns."""
    from pyarrow import parquet

    with (
        file.open() as source,
        parquet.ParquetFile(source, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as table,
    ):
        check_columns(file.name, columns, table.schema_arrow.names)
        chosen = None if others else columns
        yield from table.iter_batches(PARQUET_ROWS_PER_BATCH, columns=chosen)


def rows_of_parquet(file: Location) -> int:
    """Return the number of rows that a Parquet file states; 0 if it cannot be read."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with file.open() as source:
            return int(parquet.read_metadata(source).num_rows)
    except (OSError, pa.ArrowException):  # which reading the file raises again
        return 0


def read_feather(file: Location, columns: list[str], others: bool) -> Batches:
    """Yield the rows of a Feather file: these columns, or with `others` all columns."""
    import pyarrow as pa

    with file.open() as source:
        with pa.ipc.open_file(source) as header:
            available = header.schema.names
        check_columns(file.name, columns, available)
        places = None if others else [available.index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=places)
        with pa.ipc.open_file(source, options=options) as batches:
            for number in range(batches.num_record_batches):
                yield batches.get_batch(number)


@contextmanager
def write_parquet(file: IO[bytes]) -> Iterator[Write]:
    """Write a Parquet file with the schema of the first batch."""
    from pyarrow import parquet

    with _writing(file, parquet.ParquetWriter) as write:
        yield write


@contextmanager
def write_feather(file: IO[bytes]) -> Iterator[Write]:
    """Write a Feather file with the schema of the first batch."""
    import pyarrow as pa

    with _writing(file, pa.ipc.new_file) as write:
        yield write


@contextmanager
def _writing(file: IO[bytes], open_writer: Callable[..., Any]) -> Iterator[Write]:
    """Yield what writes batches by a writer of PyArrow, which is made for the first of them."""
    with ExitStack() as stack:
        writer: Any = None

        def write(batch: pa.RecordBatch) -> None:
            nonlocal writer
            if writer is None:
                writer = open_writer(file, batch.schema)
                stack.callback(writer.close)
            writer.write_batch(batch)

        yield write
