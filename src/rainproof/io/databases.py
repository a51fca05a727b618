"""Tables of databases: opened for reading, compressed by one statement or read row by row.

A new database is an entry of `SCHEMES`, and one of `rainproof.io.dialects` if its SQL differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rainproof.core.grouped_rows import columns_of_table
from rainproof.errors import InputError, RainproofError
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.column_types import BatchBuilder
from rainproof.io.conditions import literals_as_numbers
from rainproof.io.dialects import Dialect, find_dialect
from rainproof.io.opening import ROWS_PER_BATCH
from rainproof.io.source_errors import (
    check_columns,
    first_line,
    hide_password,
    need,
    package_name,
    without_password,
)
from rainproof.io.sql_statement import statement, table_parts

# Types of PostgreSQL, by their numbers (OIDs): its catalogue, pg_type.dat.
_BOOLEAN = 16
_REAL = 700  # single precision
_DOUBLE = 701
_NUMBERS = {20, 21, 23, _REAL, _DOUBLE, 1700}  # also integers of three sizes, and numeric

# With a password that has a character which drivers would read as the end of a host or port.
_AMBIGUOUS_ADDRESS = r"://[^:@/]*:[^@]*[/?#@].*@"


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view in a database, to be read by `scan`; its rows stay there.

    Parameters
    ----------
    database : str or connection
        ``"postgresql://user@host/name"``, ``"sqlite:///file.db"``, ``"duckdb:///file.duckdb"``
        (four slashes before an absolute path), or an open connection of any Python database driver
        (DB-API 2.0), which stays open.
    name : str or sequence of str
        The table: ``"predictions"``, ``"schema.predictions"``, or its parts ``("schema", "a.b")``.
    dialect : str, optional
        The SQL dialect of the database (see `sql`). Default: the one of the address or the driver.

    Notes
    -----
    `scan` also takes the address and the table as one text,
    ``"postgresql://user@host/name#schema.predictions"``. A database given by its address is opened
    for reading only.

    Examples
    --------
    >>> import rainproof, sqlite3
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute("CREATE TABLE predictions (p REAL, y INTEGER)")
    >>> rows = [(0.1, 0), (0.8, 1), (0.6, 1), (0.3, 0)]
    >>> _ = db.executemany("INSERT INTO predictions VALUES (?, ?)", rows)
    >>> rainproof.scan(rainproof.io.Table(db, "predictions"))
    Sample(n=4, events=2, grid=65536)
    """

    database: Any
    name: str | Sequence[str]
    dialect: str | None = None

    def __str__(self) -> str:
        database = package_name(self.database)
        if isinstance(self.database, str):
            database = hide_password(self.database)
        return f"{'.'.join(table_parts(self.name))} of {database}"

    __repr__ = __str__


def is_database(source: object) -> bool:
    """Whether a source is the address of a database."""
    return isinstance(source, str) and "://" in source and _scheme(source) in SCHEMES


def read_database(source: Table | str, spec: ColumnSpec, m: int) -> dict[str, Any]:
    """Return the groups of a table, made by one statement that the database runs."""
    table = source if isinstance(source, Table) else _table_of(source)
    with _opened(table) as database, _database_errors(table):
        columns = _described(database, table)
        check_columns(str(table), spec.all_columns(), list(columns))
        if database.dialect.name == "postgresql":
            spec = _adapted_to_postgresql(spec, columns)
        if spec.where is not None:
            floats = [name for name, column_type in columns.items() if _is_float(column_type)]
            spec = replace(spec, where=literals_as_numbers(spec.where, floats))
        with _cursor(database.connection) as cursor:
            cursor.execute(statement(table.name, spec, m, database.dialect))
            # DuckDB returns columns many times as fast as rows, but dates in columns have another
            # type.
            has_only_numbers = not spec.by and spec.pos_label is None
            if has_only_numbers and hasattr(cursor, "fetchnumpy"):
                return columns_of_table(cursor.fetchnumpy())
            return columns_of_table(cursor)


def table_rows(address: str, columns: list[str] | None) -> Iterator[Any]:
    """Yield the rows of a table by its address: these columns, or all of them."""
    table = _table_of(address)
    with _opened(table) as database, _database_errors(table):
        available = _described(database, table)
        names = list(available) if columns is None else columns
        check_columns(str(table), names, list(available))
        dialect = database.dialect
        selected = []
        for name in names:
            column = dialect.identifier(name)
            if available[name] == _REAL:
                # psycopg would read 0.1 of single precision as the double of that name.
                column = dialect.double.format(column)
            selected.append(column)
        quoted = _quoted_name(table, dialect)
        query = f"SELECT {', '.join(selected)} FROM {quoted}"  # noqa: S608 - the names are quoted
        with _cursor(database.connection, stream=True) as cursor:
            cursor.execute(query)
            builder = BatchBuilder(str(table))
            while rows := cursor.fetchmany(ROWS_PER_BATCH):
                values = [list(column) for column in zip(*rows, strict=True)]
                yield builder.build(names, values)


def _table_of(address: str) -> Table:
    """Return the table that an address names after its #."""
    database, mark, name = address.rpartition("#")
    if not mark or not name:
        rule = "the address of a database must end in # and the name of a table"
        raise InputError(f"{rule}; it is {hide_password(address)!r}")
    return Table(database, name)


def _scheme(address: str) -> str:
    return address.partition("://")[0].lower()


class _Database(NamedTuple):
    """An open database."""

    connection: Any
    dialect: Dialect


@contextmanager
def _opened(table: Table) -> Iterator[_Database]:
    """Yield the database of a table; a connection that is opened here is closed again."""
    if not isinstance(table.database, str):
        driver = package_name(table.database)
        if table.dialect is None and driver not in DRIVERS:
            raise InputError(
                f"dialect must be given: a connection of {driver} does not say which SQL it takes"
            )
        # A connection of the caller stays open.
        yield _Database(table.database, find_dialect(table.dialect or DRIVERS[driver]))
        return
    if re.search(_AMBIGUOUS_ADDRESS, table.database):
        # The message of the driver would show a part of the password.
        raise InputError(
            f"a password with one of / ? # @ must have it written as %2F %3F %23 %40 in {table}"
        )
    if not is_database(table.database):
        schemes = ", ".join([f"{scheme}://" for scheme in SCHEMES])
        raise InputError(f"the address of a database must begin with {schemes}; it is {table}")
    scheme = SCHEMES[_scheme(table.database)]
    with _database_errors(table):
        connection = scheme.connect(table.database)
    with closing(connection):
        yield _Database(connection, find_dialect(table.dialect or scheme.dialect))


@contextmanager
def _database_errors(table: Table) -> Iterator[None]:
    """Raise what goes wrong inside as an `InputError` of one line that names the table."""
    try:
        yield
    except RainproofError:
        raise
    except Exception as error:  # each driver has its own exceptions
        address = table.database if isinstance(table.database, str) else ""
        if hide_password(address) != address:
            # The driver's message and its traceback may show a part of the password.
            reason = without_password(error, address)
            raise InputError(f"cannot read {table}: {reason}") from None
        raise InputError(f"cannot read {table}: {first_line(error)}") from error


@contextmanager
def _cursor(connection: Any, *, stream: bool = False) -> Iterator[Any]:
    """Yield what runs a statement.

    In DuckDB it is the connection, as its cursors do not see its temporary tables. With `stream`
    rows are fetched as they are asked for: a cursor of psycopg without a name would fetch all at
    once.
    """
    driver = type(connection).__module__
    if driver.endswith("duckdb"):
        yield connection
        return
    is_named = stream and driver.startswith("psycopg")
    with closing(connection.cursor("rainproof") if is_named else connection.cursor()) as cursor:
        yield cursor


def _quoted_name(table: Table, dialect: Dialect) -> str:
    return dialect.identifier(*table_parts(table.name))


def _described(database: _Database, table: Table) -> dict[str, Any]:
    """Return the columns of a table, with their types in the driver's terms."""
    name = _quoted_name(table, database.dialect)
    with _cursor(database.connection) as cursor:
        cursor.execute(f"SELECT * FROM {name} WHERE 1 = 0")  # noqa: S608 - the name is quoted
        return {column[0]: column[1] for column in cursor.description}


def _is_float(column_type: Any) -> bool:
    """Whether a driver's type is of floating-point numbers.

    The types of PostgreSQL are numbers, those of DuckDB have names, SQLite states none.
    """
    if isinstance(column_type, int):
        return column_type in (_REAL, _DOUBLE)
    return str(column_type).lower() in ("float", "double")


def _adapted_to_postgresql(spec: ColumnSpec, types: dict[str, Any]) -> ColumnSpec:
    """Refuse text, which PostgreSQL would cast to numbers.

    Compare booleans, which it would not cast, with true.
    """
    is_boolean = types[spec.outcome] == _BOOLEAN
    for column in spec.value_columns():
        is_compared = column == spec.outcome and (spec.pos_label is not None or is_boolean)
        # Other drivers, of tables that were given by a connection, state types in other ways.
        if is_compared or not isinstance(types[column], int):
            continue
        if types[column] not in _NUMBERS:
            raise InputError(f"{column} must hold numbers; it holds values of another type")
    if is_boolean and spec.pos_label is None:
        return replace(spec, pos_label=True)
    return spec


def _connect_postgresql(address: str) -> Any:
    psycopg = need("psycopg", "reading a PostgreSQL table", "psycopg", "'psycopg[binary]'")
    connection = psycopg.connect(address)
    connection.read_only = True  # the server then refuses whatever would change it
    return connection


def _connect_sqlite(address: str) -> Any:
    import sqlite3

    file = _file_of(address).absolute()
    return sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)


def _connect_duckdb(address: str) -> Any:
    duckdb = need("duckdb", "reading a DuckDB table", "duckdb", "duckdb")
    return duckdb.connect(str(_file_of(address)), read_only=True)


def _file_of(address: str) -> Path:
    """Return the file in sqlite:///relative/path or sqlite:////absolute/path."""
    path = Path(address.partition("://")[2].removeprefix("/"))
    if not path.is_file():
        database = hide_password(address)
        raise InputError(f"there is no file {str(path)!r} for the database {database}")
    return path


class Scheme(NamedTuple):
    """What the addresses of a database begin with."""

    dialect: str
    connect: Callable[[str], Any]  # opens the database of an address for reading only


SCHEMES: dict[str, Scheme] = {
    "postgresql": Scheme("postgresql", _connect_postgresql),
    "postgres": Scheme("postgresql", _connect_postgresql),
    "sqlite": Scheme("sqlite", _connect_sqlite),
    "duckdb": Scheme("duckdb", _connect_duckdb),
}

DRIVERS = {
    "psycopg": "postgresql",
    "psycopg2": "postgresql",
    "pg8000": "postgresql",
    "sqlite3": "sqlite",
    "adbc_driver_sqlite": "sqlite",
    "duckdb": "duckdb",
    "_duckdb": "duckdb",
}
"""The dialect of the connections of each package."""
