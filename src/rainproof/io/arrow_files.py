"""Typed files that PyArrow reads and writes: Parquet and Feather."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any

from rainproof.io.locations import Batches, Location
from rainproof.io.opening import HEAD_ROWS, OpenFile, ReadOptions
from rainproof.io.source_errors import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from rainproof.io.formats import Write

# More than of Python values, as typed columns take less memory.
PARQUET_ROWS_PER_BATCH = 1 << 18
_PARQUET_BUFFER_BYTES = 1 << 20  # without a buffer a row group is read at once


class ParquetFile(OpenFile):
    """An open Parquet file."""

    def __init__(self, file: Location, _options: ReadOptions) -> None:
        from pyarrow import parquet

        self._file = file
        self._source = file.open()
        self._table = parquet.ParquetFile(
            self._source, buffer_size=_PARQUET_BUFFER_BYTES, pre_buffer=False
        )
        self.rows = self._table.metadata.num_rows  # of the footer, which is read anyway

    def head(self) -> pa.RecordBatch | None:
        """Return the first rows."""
        return next(self._table.iter_batches(HEAD_ROWS), None)

    def batches(self, columns: list[str], others: bool) -> Batches:
        """Yield the rows."""
        check_columns(self._file.name, columns, self._table.schema_arrow.names)
        chosen = None if others else columns
        yield from self._table.iter_batches(PARQUET_ROWS_PER_BATCH, columns=chosen)

    def close(self) -> None:
        """Close the file."""
        self._table.close()
        self._source.close()


class FeatherFile(OpenFile):
    """An open Feather file."""

    def __init__(self, file: Location, _options: ReadOptions) -> None:
        import pyarrow as pa

        self._file = file
        self._source = file.open()
        self._table = pa.ipc.open_file(self._source)

    def head(self) -> pa.RecordBatch | None:
        """Return the first rows."""
        if not self._table.num_record_batches:
            return None
        return self._table.get_batch(0).slice(0, HEAD_ROWS)

    def batches(self, columns: list[str], others: bool) -> Batches:
        """Yield the rows."""
        import pyarrow as pa

        available = self._table.schema.names
        check_columns(self._file.name, columns, available)
        table = self._table
        if not others:
            # Arrow is told of the columns when it opens a file; the bytes are those that are open.
            places = [available.index(name) for name in columns]
            options = pa.ipc.IpcReadOptions(included_fields=places)
            table = pa.ipc.open_file(self._source, options=options)
        for number in range(table.num_record_batches):
            yield table.get_batch(number)

    def close(self) -> None:
        """Close the file."""
        self._source.close()


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
