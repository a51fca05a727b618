"""Containers of rows in this process: data frames, tables, relations and mappings of each library.

A new container is one entry of `CONTAINERS`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rainproof.errors import InputError
from rainproof.io.source_errors import check_columns, first_line, type_name

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 1 << 20  # from memory: enough for every core
_DATASET_ROWS_PER_BATCH = 1 << 18  # each row group that is being read is in memory, too
_WIDE_INTEGERS = ("Int128", "UInt128")  # types of Polars that Arrow does not have


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


_NAMES_IN_SCHEMA = attrgetter("schema.names")
_NAMES_IN_FRAME = attrgetter("columns")


def _names_in_lazy_frame(source: Any) -> list[str]:
    """Return the columns of a lazy frame, which finds out only now whether it can be computed."""
    import polars

    try:
        names: list[str] = source.collect_schema().names()
    except polars.exceptions.PolarsError as error:
        raise _unreadable_frame(error) from error
    return names


def _unreadable_frame(error: Exception) -> InputError:
    return InputError(f"cannot read the frame of Polars: {first_line(error)}")


def _table_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows of a table of PyArrow."""
    table = source.select(columns) if native is None else source
    return filtered(iter(table.to_batches(ROWS_PER_BATCH)), native)


def _batch_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows of one batch of PyArrow."""
    import pyarrow as pa

    return _table_batches(pa.Table.from_batches([source]), columns, native)


def _stream_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a reader of PyArrow."""
    for batch in filtered(iter(source), native):
        yield batch.select(columns)


def _dataset_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows of a dataset of PyArrow."""
    scanner = source.scanner(
        columns=columns,
        filter=_checked_expression(native),
        batch_size=_DATASET_ROWS_PER_BATCH,
        # Few ahead, as each row group that is being read is in memory.
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
    # NumPy's letters for booleans, integers of both kinds and floating-point numbers.
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
        raise _unreadable_frame(error) from error


def _duckdb_batches(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Return the rows of a relation of DuckDB."""
    quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
    selected = source if native is None else source.filter(native)
    relation = selected.project(", ".join(quoted))
    # DuckDB has renamed it; older versions have the older names.
    names = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")
    known = [name for name in names if hasattr(relation, name)]
    read = getattr(relation, known[0])
    return iter(read(ROWS_PER_BATCH))


CONTAINERS: tuple[Container, ...] = (
    Container("pyarrow", "Table", "the table", _NAMES_IN_SCHEMA, _table_batches, has_length=True),
    Container(
        "pyarrow", "RecordBatch", "the table", _NAMES_IN_SCHEMA, _batch_batches, has_length=True
    ),
    Container("pyarrow", "RecordBatchReader", "the stream", _NAMES_IN_SCHEMA, _stream_batches),
    Container("pyarrow.dataset", "Dataset", "the dataset", _NAMES_IN_SCHEMA, _dataset_batches),
    Container(
        "pandas", "DataFrame", "the data frame", _NAMES_IN_FRAME, _pandas_batches, has_length=True
    ),
    Container(
        "polars", "DataFrame", "the data frame", _NAMES_IN_FRAME, _polars_batches, has_length=True
    ),
    Container("polars", "LazyFrame", "the lazy frame", _names_in_lazy_frame, _polars_batches),
    Container("duckdb", "DuckDBPyRelation", "the relation", _NAMES_IN_FRAME, _duckdb_batches),
)


def container_of(source: Any) -> Container | None:
    """Return the container that a source is; None if it is none of them."""
    for container in CONTAINERS:
        # A source cannot be from a library that was not imported.
        library = sys.modules.get(container.library)
        if library is None:
            continue
        if isinstance(source, getattr(library, container.type_name, ())):
            return container
    return None


def as_table(source: Mapping[str, Any], columns: list[str]) -> pa.Table:
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

    from rainproof.core.conversion import as_numbers
    from rainproof.io.arrow_arrays import as_arrow

    mask = None
    array = np.asarray(values)  # without the mask, if there is one
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        return pa.array(values) if mask is None else pa.array(array, mask=mask)
    if array.dtype.itemsize > np.dtype(np.float64).itemsize:
        array = as_numbers(array, name)
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return as_arrow(array) if mask is None else pa.array(array, mask=mask)


def filtered(batches: Iterator[pa.RecordBatch], native: Any) -> Iterator[pa.RecordBatch]:
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
        rule = "where must be text, or an expression of the library that holds the rows"
        raise InputError(f"{rule}; it is of type {type_name(native)}")
    return native
