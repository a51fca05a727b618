"""Tables of databases: the statement of `brolly.sql` runs there, and its groups are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from brolly.core.sample.groupby_result import as_columns
from brolly.engines.column_spec import ColumnSpec
from brolly.engines.dialects import Dialect, find_dialect
from brolly.engines.files import check_columns, hide_password
from brolly.engines.sql import statement, table_parts
from brolly.errors import BrollyError, InputError, MissingExtraError

_SCHEMES = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite", "duckdb": "duckdb"}
_DRIVERS = {
    "sqlite3": "sqlite",
    "adbc_driver_sqlite": "sqlite",
    "psycopg": "postgresql",
    "psycopg2": "postgresql",
    "pg8000": "postgresql",
    "duckdb": "duckdb",
    "_duckdb": "duckdb",
}
_BOOLEAN = 16  # PostgreSQL's number of a type
_NUMBERS = {20, 21, 23, 700, 701, 1700}


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view in a database, for `scan`: its rows stay there.

    Parameters
    ----------
    database : str or connection
        ``"postgresql://user@host/name"``, ``"sqlite:///file.db"``, ``"duckdb:///file.duckdb"`` (four slashes before
        an absolute path), or an open connection of any Python database driver (DB-API 2.0), which stays open.
    name : str or sequence of str
        The table: ``"predictions"``, ``"schema.predictions"``, or its parts ``("schema", "a.b")``.
    dialect : str, optional
        Whose SQL the database speaks (see `sql`), where the driver does not tell.

    Notes
    -----
    The text ``"postgresql://user@host/name#schema.predictions"`` says the same in one word, for a command line.
    A database that is given by its address is opened for reading only.

    Examples
    --------
    >>> import brolly, sqlite3
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute("CREATE TABLE predictions (p REAL, y INTEGER)")
    >>> _ = db.executemany("INSERT INTO predictions VALUES (?, ?)", [(0.1, 0), (0.8, 1), (0.6, 1), (0.3, 0)])
    >>> brolly.scan(brolly.Table(db, "predictions"))
    Sample(n=4, events=2, grid=65536)
    """

    database: Any
    name: str | Sequence[str]
    dialect: str | None = None

    def __str__(self) -> str:
        where = type(self.database).__module__.partition(".")[0]
        if isinstance(self.database, str):
            where = hide_password(self.database)
        return f"{'.'.join(table_parts(self.name))} of {where}"

    __repr__ = __str__


def is_database(source: object) -> bool:
    """Whether a text is the address of a database."""
    return isinstance(source, str) and source.partition("://")[0].lower() in _SCHEMES and "://" in source


def read_database(source: Table | str, spec: ColumnSpec, m: int) -> dict[str, Any]:
    """The groups of a table, by one statement that the database runs."""
    table = source if isinstance(source, Table) else _parsed(source)
    with _open(table) as (connection, dialect), _database_errors(table):
        name = dialect.identifier(*table_parts(table.name))
        types = _types(connection, f"SELECT * FROM {name} WHERE 1 = 0")  # noqa: S608 - the name is quoted
        check_columns(str(table), spec.all_columns(), list(types))
        if dialect.name == "postgresql":
            spec = _typed(spec, types)
        with _cursor(connection) as cursor:
            cursor.execute(statement(table.name, spec, m, dialect))
            # DuckDB has columns, which are many times as fast as rows; of other types than ours where dates are keys.
            numbers = not spec.by and spec.pos_label is None and dialect.name == "duckdb"
            return as_columns(cursor.fetchnumpy() if numbers and hasattr(cursor, "fetchnumpy") else cursor)


def _parsed(address: str) -> Table:
    database, mark, name = address.rpartition("#")
    if not mark or not name:
        rule = "the address of a database must end in # and the name of a table"
        raise InputError(f"{rule}; it is {hide_password(address)!r}")
    return Table(database, name)


@contextmanager
def _open(table: Table) -> Iterator[tuple[Any, Dialect]]:
    """A connection, closed again if it was opened here."""
    if isinstance(table.database, str) and re.search(r"://[^:@/]*:[^@]*[/?#@].*@", table.database):
        # Drivers would read it as another host or port, and say so with a part of the password.
        raise InputError(f"a password with one of / ? # @ must have it written as %2F %3F %23 %40 in {table}")
    if isinstance(table.database, str):
        kind = _SCHEMES[table.database.partition("://")[0].lower()] if is_database(table.database) else None
        if kind is None:
            raise InputError(
                f"the address of a database must begin with {', '.join(f'{s}://' for s in _SCHEMES)}; it is {table}"
            )
        with _database_errors(table):
            connection = _CONNECT[kind](table.database)
        with closing(connection):
            yield connection, find_dialect(table.dialect or kind)
        return
    driver = type(table.database).__module__.partition(".")[0]
    if table.dialect is None and driver not in _DRIVERS:
        raise InputError(f"dialect must be given, as a connection of {driver} does not tell whose SQL it speaks")
    yield table.database, find_dialect(table.dialect or _DRIVERS[driver])


def _to_postgresql(address: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("reading a PostgreSQL table", "psycopg", "postgresql") from None
    connection = psycopg.connect(address)
    connection.read_only = True
    return connection


def _to_sqlite(address: str) -> Any:
    import sqlite3

    return sqlite3.connect(f"{_file(address).absolute().as_uri()}?mode=ro", uri=True)


def _to_duckdb(address: str) -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("reading a DuckDB table", "duckdb", "duckdb") from None
    return duckdb.connect(str(_file(address)), read_only=True)


_CONNECT = {"postgresql": _to_postgresql, "sqlite": _to_sqlite, "duckdb": _to_duckdb}


def _file(address: str) -> Path:
    """The file in sqlite:///relative/path and sqlite:////absolute/path."""
    path = Path(address.partition("://")[2].removeprefix("/"))
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r} for the database {hide_password(address)}")
    return path


@contextmanager
def _database_errors(table: Table) -> Iterator[None]:
    """Whatever the database has against it is said in one line that names the table."""
    try:
        yield
    except BrollyError:
        raise
    except Exception as error:  # every driver has a tree of its own
        raise InputError(f"cannot read {table}: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """The first line that says something, of what another library says at length."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


@contextmanager
def _cursor(connection: Any) -> Iterator[Any]:
    """What runs a statement: in DuckDB the connection, as its cursors do not see its temporary tables."""
    if type(connection).__module__.endswith("duckdb"):
        yield connection
    else:
        with closing(connection.cursor()) as cursor:
            yield cursor


def _types(connection: Any, text: str) -> dict[str, Any]:
    """The columns, and what the driver says of their types."""
    with _cursor(connection) as cursor:
        cursor.execute(text)
        return {column[0]: column[1] for column in cursor.description}


def _typed(spec: ColumnSpec, types: dict[str, Any]) -> ColumnSpec:
    """PostgreSQL makes numbers of text but not of booleans: the other way round from what is wanted."""
    for column in spec.value_columns():
        if column == spec.outcome and (spec.pos_label is not None or types[column] == _BOOLEAN):
            continue
        if isinstance(types[column], int) and types[column] not in _NUMBERS:
            raise InputError(f"{column} must hold numbers; it holds values of another type")
    if types[spec.outcome] == _BOOLEAN and spec.pos_label is None:
        return replace(spec, pos_label=True)
    return spec
