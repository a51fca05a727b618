"""Sources of rows that are read in this process, as Arrow record batches: containers, files, and
tables of databases row by row.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from rainproof.errors import InputError
from rainproof.io.containers import as_table, container_of, filtered
from rainproof.io.databases import is_database, table_rows
from rainproof.io.formats import format_of
from rainproof.io.locations import Batches, Location, expand
from rainproof.io.opening import OpenFile, ReadOptions
from rainproof.io.prefetching import prefetch
from rainproof.io.source_errors import (
    check_columns,
    first_line,
    hide_password,
    need_pyarrow,
    type_name,
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
    rows : callable or None
        Returns their number, 0 if it is not stated; None if it is not known in advance.
    parse : bool
        Whether text is read as numbers.
    """

    name: str
    batches: Callable[[], Iterator[pa.RecordBatch]]
    rows: Callable[[], int] | None = None
    parse: bool = False


class NamedFile:
    """A file by its name: opened when its head or its rows are first asked for, and closed after
    its last row.

    Parameters
    ----------
    path : str
        The path, or the address of an object.
    options : ReadOptions
        How its text is cut into values.
    """

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.location = Location(path)
        self.format = format_of(path)
        self._options = options
        self._file: OpenFile | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.location.name

    def rows(self, *, keep_open: bool) -> int:
        """Return the number of rows that the file states; 0 if it states none."""
        if not self.format.states_rows:
            return 0
        was_open = self._file is not None
        try:
            return self._opened().rows
        except InputError:  # which reading the rows raises again
            return 0
        finally:
            if not (was_open or keep_open):
                self.close()

    def head(self) -> pa.RecordBatch | None:
        """Return the first rows with all columns, before the rows are read; None if there are
        none.
        """
        with self.location.errors():
            return self._opened().head()

    def batches(self, columns: list[str], *, others: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the rows: these columns, or with `others` all columns. The next batch is read
        meanwhile.
        """
        with self.location.errors():
            file = self._opened()
            self._file = None  # from now on it is closed by who reads it
            yield from prefetch(_closing(file, file.batches(columns, others)))

    def line_of(self, row: int) -> int | None:
        """Return the line of a row; None where rows have no lines."""
        if self.format.lines is None or self.location.is_stored:
            return None
        lines = self.format.lines(self.location, self._options)
        return next(islice(lines, row, None), None)

    def close(self) -> None:
        """Close the file, if its rows have not been read."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> OpenFile:
        if self._file is None:
            with self.location.errors():
                self._file = self.format.open(self.location, self._options)
        return self._file


def _closing(file: OpenFile, batches: Batches) -> Batches:
    """Yield batches, and close the file in the thread that has read it."""
    with closing(file):
        yield from batches


class NamedSource:
    """What names stand for: files, of which each is opened once, or the one table of a database.

    Its head and its rows are read from the same open file; a database answers a query for each.

    Parameters
    ----------
    names : sequence of str
        Names of files, patterns, or the address of a table.
    options : ReadOptions
        How the text of files is cut into values.
    """

    def __init__(self, names: Sequence[str], options: ReadOptions) -> None:
        self._names = names
        self._options = options
        is_table = len(names) == 1 and is_database(names[0])
        self.address: str | None = names[0] if is_table else None  # of a table
        self._files: list[NamedFile] = []

    @property
    def files(self) -> list[NamedFile]:
        """The files, in order; none for a table."""
        if self.address is None and not self._files:
            if any(is_database(name) for name in self._names):
                raise InputError(
                    "the address of a database must be alone, not one of several files"
                )
            self._files = [NamedFile(path, self._options) for path in expand(self._names)]
        return self._files

    @property
    def name(self) -> str:
        """What messages call the table, or the first file."""
        return self.files[0].name if self.address is None else hide_password(self.address)

    @cached_property
    def head(self) -> pa.RecordBatch | None:
        """The first rows of the table, or of the first file, with all columns; None if there are
        none.
        """
        if self.address is None:
            return self.files[0].head()
        return next(table_rows(self.address, None), None)

    def close(self) -> None:
        """Close the files that are open."""
        for file in self._files:
            file.close()


def named_source(source: Any, options: ReadOptions) -> Any:
    """Return the files or the table that names stand for; any other source as it is."""
    if isinstance(source, str | os.PathLike):
        source = [source]
    if not isinstance(source, Sequence) or not source:
        return source
    if not all(isinstance(name, str | os.PathLike) for name in source):
        return source
    return NamedSource([os.fspath(name) for name in source], options)


def local_sources(source: Any, columns: list[str], native: Any) -> list[Source]:
    """Return the source, or one for each file of a pattern or a list.

    Parameters
    ----------
    source : object
        What `scan` takes, if its rows are read in this process; or a `NamedSource`.
    columns : list of str
        The columns to read.
    native : object
        The condition on rows as an expression of the source's own library, or None.
    """
    need_pyarrow()
    source = named_source(source, ReadOptions())
    if isinstance(source, NamedSource):
        return _named_sources(source, columns, native)
    container = container_of(source)
    if container is not None:
        check_columns(container.name, columns, list(container.columns(source)))
        rows = partial(len, source) if container.has_length and native is None else None
        return [Source(container.name, partial(container.read, source, columns, native), rows)]
    # After the containers, most of which have a stream too: those take conditions of their library.
    if hasattr(source, "__arrow_c_stream__"):
        return local_sources(_reader_of(source), columns, native)
    if isinstance(source, Mapping):
        return local_sources(as_table(source, columns), columns, native)
    raise InputError(
        "source must be a data frame, an Arrow table, a mapping of arrays, a file name or a list "
        f"of them; it is of type {type_name(source)}"
    )


def _reader_of(source: Any) -> pa.RecordBatchReader:
    """Return the rows of another library, which may have no columns, as a Series, or may fail."""
    import pyarrow as pa

    try:
        return pa.RecordBatchReader.from_stream(source)
    except Exception as error:  # streams of other libraries raise anything
        raise InputError(
            f"source must be a table with columns; it is of type {type_name(source)}, which "
            f"cannot be read as one: {first_line(error)}"
        ) from error


def _named_sources(source: NamedSource, columns: list[str], native: Any) -> list[Source]:
    if source.address is not None:
        if native is not None:
            raise InputError(
                'where must be text for a table of a database, such as "p is not null"'
            )
        return [Source(source.name, partial(table_rows, source.address, columns))]
    # A text file has labels such as 1 as text, a typed one as numbers: they would not be equal.
    are_text = source.files[0].format.is_text
    if any(file.format.is_text != are_text for file in source.files):
        raise InputError(
            "files read together must be all text (CSV) or all typed (Parquet, Feather)"
        )

    def batches(file: NamedFile) -> Iterator[pa.RecordBatch]:
        return filtered(file.batches(columns, others=native is not None), native)

    # Not all of many files can be open at once.
    is_one = len(source.files) == 1
    return [
        Source(file.name, partial(batches, file), partial(file.rows, keep_open=is_one), are_text)
        for file in source.files
    ]
