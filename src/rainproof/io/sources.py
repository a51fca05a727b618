"""Rows in this process, as Arrow record batches. A new container is one entry of `_CONTAINERS`."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rainproof.errors import InputError, RainproofWarning
from rainproof.io.databases import is_database, table_rows
from rainproof.io.files import (
    Location,
    check_columns,
    expand,
    file_batches,
    first_line,
    format_of,
    hide_password,
    need_pyarrow,
)

if TYPE_CHECKING:
    import pyarrow as pa


_BATCH = 1 << 20  # rows in a batch from memory: enough for every core
_WIDE = ("Int128", "UInt128")  # integers of Polars that Arrow does not have


@dataclass(frozen=True, slots=True)
class Source:
    """One source of rows."""

    name: str  # in error messages
    batches: Callable[[], Iterator[pa.RecordBatch]]  # yields the rows, once
    rows: int = 0  # their number; 0 if it is not known in advance
    parse: bool = False  # whether text is read as numbers


def local_sources(
    source: Any, columns: list[str], native: Any, *, sep: str | None = None
) -> list[Source]:
    """Return the source, or one for each file of a pattern or a list.

    `native` is a condition as an expression of the source's own library, or None; `sep` separates
    the columns of text files.
    """
    need_pyarrow()
    several = isinstance(source, Sequence) and not isinstance(source, str)
    names = source if several else [source]
    if len(names) and all(isinstance(one, str | os.PathLike) for one in names):
        return _named([os.fspath(one) for one in names], columns, native, sep)
    for library, kind, name, available, read in _CONTAINERS:
        # the source cannot be from a library that was not imported
        module = sys.modules.get(library)
        known = module is not None and isinstance(source, getattr(module, kind, ()))
        if known:
            check_columns(name, columns, list(available(source)))
            rows = len(source) if kind in _COUNTED and native is None else 0
            return [Source(name, partial(read, source, columns, native), rows)]
    if hasattr(source, "__arrow_c_stream__"):
        import pyarrow as pa

        return local_sources(pa.RecordBatchReader.from_stream(source), columns, native)
    if isinstance(source, Mapping):
        return local_sources(_as_table(source, columns), columns, native)
    raise InputError(
        "source must be a data frame, an Arrow table, a mapping of arrays, a file name or a list of them; "
        f"it is of type {type(source).__module__}.{type(source).__qualname__}"
    )


def _named(names: list[str], columns: list[str], native: Any, sep: str | None) -> list[Source]:
    """Return files, or the one table of a database."""
    if not any(map(is_database, names)):
        return _files(names, columns, native, sep)
    if len(names) > 1:
        raise InputError("the address of a database must be alone, not one of several files")
    if native is not None:
        raise InputError('where must be text for a table of a database, such as "p is not null"')
    return [Source(hide_password(names[0]), partial(table_rows, names[0], columns))]


def first_rows(names: Sequence[str], sep: str | None = None) -> tuple[str, pa.RecordBatch | None]:
    """Return the name and the first batch, with all columns, of the first file or of the table of a
    database.
    """
    if is_database(names[0]):
        return hide_password(names[0]), next(table_rows(names[0], None), None)
    file = Location(expand(names)[0], sep)
    # reading all rows repeats them
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):
        return file.name, next(file_batches(file, [], others=True), None)


def _files(patterns: list[str], columns: list[str], native: Any, sep: str | None) -> list[Source]:
    files = [Location(path, sep) for path in expand(patterns)]
    formats = [format_of(file.path) for file in files]
    kinds = {one.is_text for one in formats}
    if len(kinds) > 1:
        raise InputError(
            "files read together must be all text (CSV) or all typed (Parquet, Feather)"
        )
    parse = kinds.pop()

    def batches(file: Location) -> Iterator[pa.RecordBatch]:
        return _filtered(file_batches(file, columns, others=native is not None), native)

    return [
        Source(file.name, partial(batches, file), one.count(file), parse)
        for file, one in zip(files, formats, strict=True)
    ]


def _arrow(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table, or of one batch."""
    import pyarrow as pa

    table = pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source
    return _filtered(
        iter((table if native is not None else table.select(columns)).to_batches(_BATCH)), native
    )


def _stream(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    for batch in _filtered(iter(source), native):
        yield batch.select(columns)


def _dataset(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    # Few batches ahead, as each row group that is being read is in memory.
    ahead = {"batch_size": 1 << 18, "batch_readahead": 2, "fragment_readahead": 1}
    return iter(source.scanner(columns=columns, filter=_expression(native), **ahead).to_reader())


def _pandas(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    def column(part: Any, name: str) -> pa.Array:
        # NaN of NumPy is not a missing value; other types have nulls.
        plain = getattr(part.dtype, "kind", "O") in "biuf" and isinstance(
            part.to_numpy().dtype, type(part.dtype)
        )
        is_numpy = plain or hasattr(part, "sparse")
        return _as_array(part.to_numpy() if is_numpy else part, name, from_pandas=not is_numpy)

    frame = source if native is None else source[native]  # a mask, as pandas takes it
    for start in range(0, len(frame), _BATCH):
        part = frame.iloc[start : start + _BATCH]
        yield pa.RecordBatch.from_arrays(
            [column(part[name], name) for name in columns], names=columns
        )


def _polars(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a frame, or of a lazy one, of which collecting at once can take a hundred
    times the memory.
    """
    import polars

    frame = (source if native is None else source.filter(native)).select(columns)
    try:
        wide = [name for name, kind in frame.collect_schema().items() if str(kind) in _WIDE]
        frame = frame.with_columns(polars.col(wide).cast(polars.Int64)) if wide else frame
        if isinstance(frame, polars.DataFrame):
            frames = frame.iter_slices(_BATCH)
        elif hasattr(frame, "collect_batches"):
            frames = frame.collect_batches(chunk_size=_BATCH, engine="streaming")
        else:
            raise InputError(
                "reading a LazyFrame in batches needs Polars 1.34 or newer: update it, or collect the frame"
            )
        for part in frames:
            yield from part.to_arrow(compat_level=polars.CompatLevel.oldest()).to_batches()
    except polars.exceptions.PolarsError as error:
        raise InputError(f"cannot read the frame of Polars: {first_line(error)}") from error


def _duckdb(source: Any, columns: list[str], native: Any) -> Iterator[pa.RecordBatch]:
    quoted = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
    relation = (source if native is None else source.filter(native)).project(quoted)
    # DuckDB has renamed it; older versions have the older names.
    names = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")
    read = next(getattr(relation, name) for name in names if hasattr(relation, name))
    return iter(read(_BATCH))


def _as_table(source: Mapping[str, Any], columns: list[str]) -> pa.Table:
    """Return the columns of a mapping of arrays."""
    import pyarrow as pa

    check_columns("the mapping", columns, list(source))
    arrays = [_as_array(source[name], name) for name in columns]
    try:
        return pa.Table.from_arrays(arrays, names=columns)
    except pa.ArrowException as error:
        raise InputError(
            f"the mapping must hold columns of one length: {' '.join(str(error).split())}"
        ) from None


def _as_array(values: Any, name: str, *, from_pandas: bool = False) -> pa.Array:
    """Return a column as Arrow has it: numbers on their own memory where possible, masked values as
    nulls.

    With `from_pandas` NaN is a null too.
    """
    try:
        return _converted(values, name, from_pandas=from_pandas)
    except InputError:
        raise
    except Exception as error:  # the conversions of other libraries raise anything
        raise InputError(
            f"{name} must hold values of one type that Arrow has; {first_line(error)}"
        ) from error


def _converted(values: Any, name: str, *, from_pandas: bool) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    from rainproof.core import validation
    from rainproof.io.columns import as_arrow

    if from_pandas:
        return pa.array(values, from_pandas=True)
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    array = np.ma.getdata(values) if mask is not None else np.asarray(values)
    if array.ndim == 1 and array.dtype.kind in "iuf":
        if array.dtype.itemsize > np.dtype(np.float64).itemsize:
            array = validation.as_numbers(array, name)
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        return as_arrow(array) if mask is None else pa.array(array, mask=mask)
    return pa.array(values) if mask is None else pa.array(array, mask=mask)


def _filtered(batches: Iterator[pa.RecordBatch], native: Any) -> Iterator[pa.RecordBatch]:
    expression = _expression(native)
    if expression is None:
        return batches
    import pyarrow as pa

    # PyArrow before 19 cannot filter a batch to nothing
    tables = (pa.Table.from_batches([batch]) for batch in batches)
    return (kept for table in tables for kept in table.filter(expression).to_batches())


def _expression(native: Any) -> Any:
    """Check a condition on Arrow data or files, which must be an expression of PyArrow."""
    if native is None:
        return None
    import pyarrow.compute as pc

    if not isinstance(native, pc.Expression):
        raise InputError(
            "where must be text, or an expression of the library that holds the rows; "
            f"it is of type {type(native).__module__}.{type(native).__qualname__}"
        )
    return native


_COUNTED = ("Table", "RecordBatch", "DataFrame")  # those that know how many rows they have
_SCHEMA, _COLUMNS = attrgetter("schema.names"), attrgetter("columns")

_CONTAINERS: tuple[
    tuple[
        str,
        str,
        str,
        Callable[[Any], Any],
        Callable[[Any, list[str], Any], Iterator[pa.RecordBatch]],
    ],
    ...,
] = (
    ("pyarrow", "Table", "the table", _SCHEMA, _arrow),
    ("pyarrow", "RecordBatch", "the table", _SCHEMA, _arrow),
    ("pyarrow", "RecordBatchReader", "the stream", _SCHEMA, _stream),
    ("pyarrow.dataset", "Dataset", "the dataset", _SCHEMA, _dataset),
    ("pandas", "DataFrame", "the data frame", _COLUMNS, _pandas),
    ("polars", "DataFrame", "the data frame", _COLUMNS, _polars),
    (
        "polars",
        "LazyFrame",
        "the lazy frame",
        lambda frame: frame.collect_schema().names(),
        _polars,
    ),
    ("duckdb", "DuckDBPyRelation", "the relation", _COLUMNS, _duckdb),
)
"""The library and the type of each, what messages call it, its columns, and its rows as record
batches.
"""
