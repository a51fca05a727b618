"""Sources of rows in this process: data frames, tables, mappings and files, as Arrow record batches.

A new container is one entry of `CONTAINERS`.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rainproof.errors import InputError, RainproofWarning
from rainproof.io.databases import is_database, table_rows
from rainproof.io.formats import file_batches, format_of
from rainproof.io.locations import Location, expand
from rainproof.io.source_errors import check_columns, first_line, hide_password, need_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[int, int], object]
"""Takes the number of rows read so far, and their number in total (0 if it is unknown)."""

ROWS_PER_BATCH = 1 << 20  # from memory: enough for every core
_WIDE_INTEGERS = ("Int128", "UInt128")  # types of Polars that Arrow does not have


@dataclass(frozen=True, slots=True)
class Source:
    """One source of rows.

    Attributes
    ----------
    name : str
        What messages call it.
    batches : callable
        Yields the rows, once.
    rows : int
        Their number; 0 if it is not known in advance.
    parse : bool
        Whether text is read as numbers.
    """

    name: str
    batches: Callable[[], Iterator[pa.RecordBatch]]
    rows: int = 0
    parse: bool = False


def local_sources(
    source: Any, columns: list[str], native: Any, *, sep: str | None = None
) -> list[Source]:
    """Return the source, or one for each file of a pattern or a list.

    Parameters
    ----------
    source : object
        What `scan` takes, if its rows are read in this process.
    columns : list of str
        The columns to read.
    native : object
        The condition on rows as an expression of the source's own library, or None.
    sep : str, optional
        What separates the columns of text files.
    """
    need_pyarrow()
    names = _names_of_files(source)
    if names:
        return _named_sources(names, columns, native, sep)
    container = _container_of(source)
    if container is not None:
        check_columns(container.name, columns, list(container.columns(source)))
        rows = len(source) if container.has_length and native is None else 0
        return [Source(container.name, partial(container.read, source, columns, native), rows)]
    if hasattr(source, "__arrow_c_stream__"):
        import pyarrow as pa

        return local_sources(pa.RecordBatchReader.from_stream(source), columns, native)
    if isinstance(source, Mapping):
        return local_sources(_as_table(source, columns), columns, native)
    held = f"{type(source).__module__}.{type(source).__qualname__}"
    raise InputError(
        "source must be a data frame, an Arrow table, a mapping of arrays, a file name or a list "
        f"of them; it is of type {held}"
    )


def first_rows(names: Sequence[str], sep: str | None = None) -> tuple[str, pa.RecordBatch | None]:
    """Return the name and the first batch, with all columns, of the first file or of the table of a
    database.
    """
    if is_database(names[0]):
        return hide_password(names[0]), next(table_rows(names[0], None), None)
    file = Location(expand(names)[0], sep)
    # Reading all rows repeats the warnings.
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):
        return file.name, next(file_batches(file, [], others=True), None)


def _names_of_files(source: Any) -> list[str]:
    """Return the names of files, or the address of a table; nothing if the source is neither."""
    is_several = isinstance(source, Sequence) and not isinstance(source, str)
    names = source if is_several else [source]
    if not all(isinstance(name, str | os.PathLike) for name in names):
        return []
    return [os.fspath(name) for name in names]


def _named_sources(
    names: list[str], columns: list[str], native: Any, sep: str | None
) -> list[Source]:
    """Return files, or the one table of a database."""
    if not any(is_database(name) for name in names):
        return _files(names, columns, native, sep)
    if len(names) > 1:
        raise InputError("the address of a database must be alone, not one of several files")
    if native is not None:
        raise InputError('where must be text for a table of a database, such as "p is not null"')
    return [Source(hide_password(names[0]), partial(table_rows, names[0], columns))]


def _files(patterns: list[str], columns: list[str], native: Any, sep: str | None) -> list[Source]:
    files = [Location(path, sep) for path in expand(patterns)]
    formats = [format_of(file.path) for file in files]
    are_text = formats[0].is_text
    if any(known.is_text != are_text for known in formats):
        raise InputError(
            "files read together must be all text (CSV) or all typed (Parquet, Feather)"
        )

    def batches(file: Location) -> Iterator[pa.RecordBatch]:
        return _filtered(file_batches(file, columns, others=native is not None), native)

    sources = []
    for file, known in zip(files, formats, strict=True):
        rows = 0 if known.count_rows is None else known.count_rows(file)
        sources.append(Source(file.name, partial(batches, file), rows, are_text))
    return sources


def _table_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows of a table of PyArrow."""
    table = source.select(columns) if native is None else source
    return _filtered(iter(table.to_batches(ROWS_PER_BATCH)), native)


def _batch_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows of one batch of PyArrow."""
    import pyarrow as pa

    return _table_batches(pa.Table.from_batches([source]), columns, native)


def _stream_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a reader of PyArrow."""
    for batch in _filtered(iter(source), native):
        yield batch.select(columns)


def _dataset_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows of a dataset of PyArrow."""
    scanner = source.scanner(
        columns=columns,
        filter=_checked_expression(native),
        batch_size=1 << 18,
        # Few batches ahead, as each row group that is being read is in memory.
        batch_readahead=2,
        fragment_readahead=1,
    )
    return iter(scanner.to_reader())


def _pandas_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a frame of pandas; `native` is a mask, as pandas takes it."""
    import pyarrow as pa

    frame = source if native is None else source[native]
    for start in range(0, len(frame), ROWS_PER_BATCH):
        part = frame.iloc[start : start + ROWS_PER_BATCH]
        arrays = [_pandas_column(part[name], name) for name in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=columns)


def _pandas_column(column: Any, name: str) -> pa.Array:
    """Return a column of pandas; NaN of NumPy is not a missing value, other types have nulls."""
    is_numeric = getattr(column.dtype, "kind", "O") in "biuf"
    is_numpy = is_numeric and isinstance(column.to_numpy().dtype, type(column.dtype))
    if is_numpy or hasattr(column, "sparse"):
        return _as_array(column.to_numpy(), name)
    return _as_array(column, name, from_pandas=True)


def _polars_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a frame, or of a lazy one, of which collecting at once can take a hundred
    times the memory.
    """
    import polars

    frame = (source if native is None else source.filter(native)).select(columns)
    try:
        schema = frame.collect_schema()
        wide = [name for name, dtype in schema.items() if str(dtype) in _WIDE_INTEGERS]
        if wide:
            frame = frame.with_columns(polars.col(wide).cast(polars.Int64))
        if isinstance(frame, polars.DataFrame):
            parts = frame.iter_slices(ROWS_PER_BATCH)
        elif hasattr(frame, "collect_batches"):
            parts = frame.collect_batches(chunk_size=ROWS_PER_BATCH, engine="streaming")
        else:
            raise InputError(
                "reading a LazyFrame in batches needs Polars 1.34 or newer: update it, or collect "
                "the frame"
            )
        for part in parts:
            yield from part.to_arrow(compat_level=polars.CompatLevel.oldest()).to_batches()
    except polars.exceptions.PolarsError as error:
        raise InputError(f"cannot read the frame of Polars: {first_line(error)}") from error


def _duckdb_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows of a relation of DuckDB."""
    quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
    filtered = source if native is None else source.filter(native)
    relation = filtered.project(", ".join(quoted))
    # DuckDB has renamed it; older versions have the older names.
    names = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")
    known = [name for name in names if hasattr(relation, name)]
    read = getattr(relation, known[0])
    return iter(read(ROWS_PER_BATCH))


def _as_table(source: Mapping[str, Any], columns: list[str]) -> pa.Table:
    """Return the columns of a mapping of arrays."""
    import pyarrow as pa

    check_columns("the mapping", columns, list(source))
    arrays = [_as_array(source[name], name) for name in columns]
    try:
        return pa.Table.from_arrays(arrays, names=columns)
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the mapping must hold columns of one length: {reason}") from None


def _as_array(values: Any, name: str, *, from_pandas: bool = False) -> pa.Array:
    """Return a column as Arrow has it: numbers on their own memory where possible, masked values as
    nulls.

    With `from_pandas` NaN is a null too.
    """
    import pyarrow as pa

    try:
        if from_pandas:
            return pa.array(values, from_pandas=True)
        return _converted(values, name)
    except InputError:
        raise
    except Exception as error:  # the conversions of other libraries raise anything
        rule = f"{name} must hold values of one type that Arrow has"
        raise InputError(f"{rule}; {first_line(error)}") from error


def _converted(values: Any, name: str) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    from rainproof.core import validation
    from rainproof.io.arrow_arrays import as_arrow

    is_masked = isinstance(values, np.ma.MaskedArray)
    mask = np.ma.getmaskarray(values) if is_masked else None
    array = np.ma.getdata(values) if is_masked else np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        return pa.array(array, mask=mask) if is_masked else pa.array(values)
    if array.dtype.itemsize > np.dtype(np.float64).itemsize:
        array = validation.as_numbers(array, name)
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return pa.array(array, mask=mask) if is_masked else as_arrow(array)


def _filtered(batches: Iterator[pa.RecordBatch], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows that meet an expression of PyArrow; all rows without one."""
    expression = _checked_expression(native)
    return batches if expression is None else _meeting(batches, expression)


def _meeting(batches: Iterator[pa.RecordBatch], expression: Any) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        # As a table: PyArrow before 19 cannot filter a batch to nothing.
        yield from pa.Table.from_batches([batch]).filter(expression).to_batches()


def _checked_expression(native: Any) -> Any:
    """Check a condition on Arrow data or files, which must be an expression of PyArrow."""
    if native is None:
        return None
    import pyarrow.compute as pc

    if not isinstance(native, pc.Expression):
        held = f"{type(native).__module__}.{type(native).__qualname__}"
        rule = "where must be text, or an expression of the library that holds the rows"
        raise InputError(f"{rule}; it is of type {held}")
    return native


def _names_in_schema(source: Any) -> list[str]:
    names: list[str] = source.schema.names
    return names


def _names_in_frame(source: Any) -> Sequence[Any]:
    columns: Sequence[Any] = source.columns
    return columns


def _names_in_lazy_frame(source: Any) -> list[str]:
    names: list[str] = source.collect_schema().names()
    return names


@dataclass(frozen=True, slots=True)
class Container:
    """A type that holds rows in this process.

    Attributes
    ----------
    library, type_name : str
        The module and the type.
    name : str
        What messages call it.
    columns : callable
        Returns the names of its columns.
    read : callable
        Yields its rows as record batches: the source, the columns, and the condition as an
        expression of its library.
    has_length : bool
        Whether it knows how many rows it has.
    """

    library: str
    type_name: str
    name: str
    columns: Callable[[Any], Sequence[Any]]
    read: Callable[[Any, list[str], Any], Iterator[pa.RecordBatch]]
    has_length: bool = False


CONTAINERS: tuple[Container, ...] = (
    Container("pyarrow", "Table", "the table", _names_in_schema, _table_batches, has_length=True),
    Container(
        "pyarrow", "RecordBatch", "the table", _names_in_schema, _batch_batches, has_length=True
    ),
    Container("pyarrow", "RecordBatchReader", "the stream", _names_in_schema, _stream_batches),
    Container("pyarrow.dataset", "Dataset", "the dataset", _names_in_schema, _dataset_batches),
    Container(
        "pandas", "DataFrame", "the data frame", _names_in_frame, _pandas_batches, has_length=True
    ),
    Container(
        "polars", "DataFrame", "the data frame", _names_in_frame, _polars_batches, has_length=True
    ),
    Container("polars", "LazyFrame", "the lazy frame", _names_in_lazy_frame, _polars_batches),
    Container("duckdb", "DuckDBPyRelation", "the relation", _names_in_frame, _duckdb_batches),
)


def _container_of(source: Any) -> Container | None:
    """Return the container that a source is."""
    for container in CONTAINERS:
        # A source cannot be from a library that was not imported.
        library = sys.modules.get(container.library)
        if library is None:
            continue
        if isinstance(source, getattr(library, container.type_name, ())):
            return container
    return None
