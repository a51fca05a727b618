"""Tables of databases, and frames of Spark, which run the statement of `rainproof.io.sql`.

A new database is an entry of `SCHEMES`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rainproof.core.segments import as_columns
from rainproof.core.validation import no_outcome
from rainproof.errors import InputError, RainproofError
from rainproof.io.column_types import Batches
from rainproof.io.conditions import Condition
from rainproof.io.files import (
    check_columns,
    first_line,
    hide_password,
    need,
    need_pyarrow,
    without_password,
)
from rainproof.io.queries import Dialect, find_dialect, statement, table_parts

if TYPE_CHECKING:
    from rainproof.io.scanning import ColumnSpec

_FETCHED = 1 << 16  # rows at a time
_BOOLEAN = 16  # the number of a type in PostgreSQL
_NUMBERS = {20, 21, 23, 700, 701, 1700}
_REAL = 700  # PostgreSQL's type of single precision
# types of floating-point numbers in Spark, DuckDB and PostgreSQL
_FLOATS = {"float", "double", _REAL, 701}
_SPARK_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean"}


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
    ``"postgresql://user@host/name#schema.predictions"``. A database given by its address is opened for reading
    only.

    Examples
    --------
    >>> import rainproof, sqlite3
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute("CREATE TABLE predictions (p REAL, y INTEGER)")
    >>> _ = db.executemany("INSERT INTO predictions VALUES (?, ?)", [(0.1, 0), (0.8, 1), (0.6, 1), (0.3, 0)])
    >>> rainproof.scan(rainproof.io.Table(db, "predictions"))
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
    """Whether a source is the address of a database."""
    return isinstance(source, str) and "://" in source and _scheme(source) in SCHEMES


def read_database(source: Table | str, spec: ColumnSpec, m: int) -> dict[str, Any]:
    """Return the groups of a table, made by one statement that the database runs."""
    table = source if isinstance(source, Table) else _parse_address(source)
    with _open(table) as (connection, dialect), _database_errors(table):
        _, types = _described(connection, dialect, table)
        check_columns(str(table), spec.all_columns(), list(types))
        if dialect.name == "postgresql":
            spec = _adapt_postgresql(spec, types)
        if spec.where is not None:
            spec = replace(spec, where=_with_numbers(spec.where, types))
        with _cursor(connection) as cursor:
            cursor.execute(statement(table.name, spec, m, dialect))
            # DuckDB returns columns many times as fast as rows, but dates in columns have another
            # type.
            numbers = not spec.by and spec.pos_label is None
            return as_columns(
                cursor.fetchnumpy() if numbers and hasattr(cursor, "fetchnumpy") else cursor
            )


def read_spark(frame: Any, spec: ColumnSpec, m: int) -> dict[str, Any]:
    """Return the groups of a frame of Spark, made by the same statement, which runs where the rows
    are.
    """
    need_pyarrow()
    name, view, session = (
        "the frame of pyspark",
        f"rainproof_{os.urandom(8).hex()}",
        frame.sparkSession,
    )
    check_columns(name, spec.all_columns(), frame.columns)
    types = dict(frame.dtypes)
    _check_spark(spec, types)
    try:
        spec = spec if spec.where is None else replace(spec, where=_with_numbers(spec.where, types))
        frame.createTempView(view)
        groups = session.sql(statement(view, spec, m, find_dialect("spark"))).toArrow()
    except RainproofError:
        raise
    except Exception as error:
        raise InputError(f"cannot read {name}: {first_line(error)}") from error
    finally:
        session.catalog.dropTempView(view)
    return as_columns(groups)


def _check_spark(spec: ColumnSpec, types: dict[str, str]) -> None:
    """Refuse columns that are not numbers, of which Spark would convert some."""
    for column in spec.value_columns():
        kind, is_outcome = types[column], column == spec.outcome
        if kind.partition("(")[0] in _SPARK_NUMBERS or (is_outcome and spec.pos_label is not None):
            continue
        words = "text" if kind == "string" else f"values of type {kind}"
        raise (
            no_outcome(column, words)
            if is_outcome
            else InputError(f"{column} must hold numbers; it holds {words}")
        )


def _with_numbers(where: Condition, types: dict[str, Any]) -> Condition:
    """Write text that floating-point numbers are compared with as numbers: they are doubles, and
    NaN is left out.
    """
    if where.op in ("and", "or"):
        return replace(where, values=tuple(_with_numbers(part, types) for part in where.values))
    kind = types[where.column]
    if kind not in _FLOATS and str(kind).lower() not in _FLOATS:
        return where
    return replace(where, values=tuple(map(_as_number, where.values)))


def _as_number(value: Any) -> Any:
    """Return text that is a finite number as the number, anything else as it is."""
    with suppress(ValueError):
        if isinstance(value, str) and math.isfinite(float(value)):
            return float(value)
    return value


def table_rows(source: str, columns: list[str] | None) -> Iterator[Any]:
    """Yield the rows of a table by its address, as record batches: these columns, or all of them."""
    table = _parse_address(source)
    with _open(table) as (connection, dialect), _database_errors(table):
        name, types = _described(connection, dialect, table)
        names = list(types) if columns is None else columns
        check_columns(str(table), names, list(types))
        # psycopg would read 0.1 of single precision as the double of that name.
        quoted = {column: dialect.identifier(column) for column in names}
        quoted |= {
            column: dialect.double.format(quoted[column])
            for column in names
            if types[column] == _REAL
        }
        listed = ", ".join(quoted.values())
        with _cursor(connection, stream=True) as cursor:
            cursor.execute(f"SELECT {listed} FROM {name}")  # noqa: S608 - the names are quoted
            batches = Batches(str(table))
            while rows := cursor.fetchmany(_FETCHED):
                yield batches.batch(names, [list(column) for column in zip(*rows, strict=True)])


def _parse_address(address: str) -> Table:
    database, mark, name = address.rpartition("#")
    if not mark or not name:
        rule = "the address of a database must end in # and the name of a table"
        raise InputError(f"{rule}; it is {hide_password(address)!r}")
    return Table(database, name)


def _scheme(address: str) -> str:
    return address.partition("://")[0].lower()


@contextmanager
def _open(table: Table) -> Iterator[tuple[Any, Dialect]]:
    """Yield a connection and its dialect; one that was opened here is closed again."""
    if not isinstance(table.database, str):
        driver = type(table.database).__module__.partition(".")[0]
        if table.dialect is None and driver not in DRIVERS:
            raise InputError(
                f"dialect must be given: a connection of {driver} does not say which SQL it takes"
            )
        yield table.database, find_dialect(table.dialect or DRIVERS[driver])
        return
    if re.search(r"://[^:@/]*:[^@]*[/?#@].*@", table.database):
        # Drivers would read it as another host or port, and their message would show a part of the
        # password.
        raise InputError(
            f"a password with one of / ? # @ must have it written as %2F %3F %23 %40 in {table}"
        )
    if not is_database(table.database):
        schemes = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise InputError(f"the address of a database must begin with {schemes}; it is {table}")
    dialect, connect = SCHEMES[_scheme(table.database)]
    with _database_errors(table):
        connection = connect(table.database)
    with closing(connection):
        yield connection, find_dialect(table.dialect or dialect)


def _connect_postgresql(address: str) -> Any:
    psycopg = need("psycopg", "reading a PostgreSQL table", "psycopg", "'psycopg[binary]'")
    connection = psycopg.connect(address)
    connection.read_only = True
    return connection


def _adapt_postgresql(spec: ColumnSpec, types: dict[str, Any]) -> ColumnSpec:
    """Refuse text, which PostgreSQL would cast to numbers, and compare booleans, which it would not
    cast.
    """
    for column in spec.value_columns():
        if column == spec.outcome and (spec.pos_label is not None or types[column] == _BOOLEAN):
            continue
        if isinstance(types[column], int) and types[column] not in _NUMBERS:
            raise InputError(f"{column} must hold numbers; it holds values of another type")
    if types[spec.outcome] == _BOOLEAN and spec.pos_label is None:
        return replace(spec, pos_label=True)
    return spec


def _connect_sqlite(address: str) -> Any:
    import sqlite3

    return sqlite3.connect(f"{_file(address).absolute().as_uri()}?mode=ro", uri=True)


def _connect_duckdb(address: str) -> Any:
    duckdb = need("duckdb", "reading a DuckDB table", "duckdb", "duckdb")
    return duckdb.connect(str(_file(address)), read_only=True)


def _file(address: str) -> Path:
    """Return the file in sqlite:///relative/path or sqlite:////absolute/path."""
    path = Path(address.partition("://")[2].removeprefix("/"))
    if not path.is_file():
        raise InputError(
            f"there is no file {str(path)!r} for the database {hide_password(address)}"
        )
    return path


@contextmanager
def _database_errors(table: Table) -> Iterator[None]:
    """Raise what goes wrong inside as an `InputError` of one line that names the table."""
    try:
        yield
    except RainproofError:
        raise
    except Exception as error:  # each driver has its own exceptions
        if isinstance(table.database, str) and hide_password(table.database) != table.database:
            # The driver's message and its traceback may show a part of the password.
            raise InputError(
                f"cannot read {table}: {without_password(error, table.database)}"
            ) from None
        raise InputError(f"cannot read {table}: {first_line(error)}") from error


@contextmanager
def _cursor(connection: Any, *, stream: bool = False) -> Iterator[Any]:
    """Yield what runs a statement: in DuckDB the connection, as its cursors do not see its
    temporary tables.

    With `stream` rows are fetched as they are asked for: a cursor of psycopg without a name would
    fetch all at once.
    """
    driver = type(connection).__module__
    if driver.endswith("duckdb"):
        yield connection
    else:
        named = stream and driver.startswith("psycopg")
        with closing(connection.cursor("rainproof") if named else connection.cursor()) as cursor:
            yield cursor


def _described(connection: Any, dialect: Dialect, table: Table) -> tuple[str, dict[str, Any]]:
    """Return the quoted name of a table, and its columns with their types in the driver's terms."""
    name = dialect.identifier(*table_parts(table.name))
    with _cursor(connection) as cursor:
        cursor.execute(f"SELECT * FROM {name} WHERE 1 = 0")  # noqa: S608 - the name is quoted
        return name, {column[0]: column[1] for column in cursor.description}


SCHEMES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "postgresql": ("postgresql", _connect_postgresql),
    "postgres": ("postgresql", _connect_postgresql),
    "sqlite": ("sqlite", _connect_sqlite),
    "duckdb": ("duckdb", _connect_duckdb),
}
"""By what an address begins with: the dialect of the database, and what opens it for reading only.
"""

DRIVERS = dict.fromkeys(("psycopg", "psycopg2", "pg8000"), "postgresql")
DRIVERS |= {
    "sqlite3": "sqlite",
    "adbc_driver_sqlite": "sqlite",
    "duckdb": "duckdb",
    "_duckdb": "duckdb",
}
"""The dialect of the connections of each package."""
