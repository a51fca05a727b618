"""Sources of rows that are read in this process, as Arrow record batches: containers, files, and
tables of databases row by row.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rainproof.errors import InputError, RainproofWarning
from rainproof.io.containers import as_table, container_of, filtered
from rainproof.io.databases import is_database, table_rows
from rainproof.io.formats import file_batches, format_of
from rainproof.io.locations import Location, expand
from rainproof.io.source_errors import (
    check_columns,
    first_line,
    hide_password,
    need_pyarrow,
)

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[int, int], object]
"""Takes the number of rows read so far, and their number in total (0 if it is unknown)."""


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
    container = container_of(source)
    if container is not None:
        check_columns(container.name, columns, list(container.columns(source)))
        rows = len(source) if container.has_length and native is None else 0
        return [Source(container.name, partial(container.read, source, columns, native), rows)]
    # After the containers, most of which have a stream too: those take conditions of their library.
    if hasattr(source, "__arrow_c_stream__"):
        return local_sources(_reader_of(source), columns, native)
    if isinstance(source, Mapping):
        return local_sources(as_table(source, columns), columns, native)
    held = _type_name(source)
    raise InputError(
        "source must be a data frame, an Arrow table, a mapping of arrays, a file name or a list "
        f"of them; it is of type {held}"
    )


def _reader_of(source: Any) -> pa.RecordBatchReader:
    """Return the rows of another library, which may have no columns, as a Series, or may fail."""
    import pyarrow as pa

    try:
        return pa.RecordBatchReader.from_stream(source)
    except Exception as error:  # streams of other libraries raise anything
        raise InputError(
            f"source must be a table with columns; it is of type {_type_name(source)}, which "
            f"cannot be read as one: {first_line(error)}"
        ) from error


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


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
        return filtered(file_batches(file, columns, others=native is not None), native)

    sources = []
    for file, known in zip(files, formats, strict=True):
        rows = 0 if known.count_rows is None else known.count_rows(file)
        sources.append(Source(file.name, partial(batches, file), rows, are_text))
    return sources
