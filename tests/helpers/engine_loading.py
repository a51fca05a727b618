"""The same rows in every engine: one function for each, from an Arrow table to a source for
`scan`.
"""

from __future__ import annotations

import itertools
import sqlite3

import pyarrow as pa

import rainproof

_names = (f"t{number}" for number in itertools.count())

_POSTGRESQL = {
    pa.float64(): "double precision",
    pa.float32(): "real",
    pa.int64(): "bigint",
    pa.int8(): "smallint",
    pa.bool_(): "boolean",
    pa.string(): "text",
    pa.decimal128(12, 8): "numeric(12, 8)",
}
_SQLITE = {pa.string(): "TEXT", pa.int64(): "INTEGER", pa.int8(): "INTEGER", pa.bool_(): "BOOLEAN"}


def numpy(table, request):
    return {
        name: column.to_numpy() if not column.null_count else column.to_pylist()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def pyarrow(table, request):
    return table


def pandas(table, request):
    import pandas as pd

    return table.to_pandas(types_mapper=pd.ArrowDtype)


def pandas_numpy(table, request):
    """NumPy's types, of which only floats can say that a value is missing, and not how it is."""
    return table.to_pandas()


def polars(table, request):
    import polars as pl

    return pl.from_arrow(table)


def polars_lazy(table, request):
    return polars(table, request).lazy()


def duckdb(table, request):
    import duckdb

    connection = duckdb.connect()
    # older versions close one that nothing but a relation remembers
    request.addfinalizer(connection.close)
    return connection.from_arrow(table)


def duckdb_table(table, request):
    import duckdb

    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE predictions AS SELECT * FROM given")
    return rainproof.io.Table(connection, "predictions")


def dask(table, request):
    """Four partitions, the last of them empty."""
    import dask.dataframe as dd
    import pandas as pd

    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    third = max(1, len(frame) // 3)
    parts = [
        frame.iloc[:third],
        frame.iloc[third : 2 * third],
        frame.iloc[2 * third :],
        frame.iloc[:0],
    ]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])


def spark(table, request):
    return request.getfixturevalue("spark").createDataFrame(table).repartition(3)


def postgresql(table, request):
    """A table beside others of the same server."""
    name = next(_names)
    connection = request.getfixturevalue("postgresql_connection")
    kinds = ", ".join(f'"{field.name}" {_POSTGRESQL[field.type]}' for field in table.schema)
    connection.execute(f"CREATE TABLE {name} ({kinds})")
    with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
        for row in table.to_pylist():
            copy.write_row(tuple(row.values()))
    return rainproof.io.Table(request.getfixturevalue("postgresql"), name)


def sqlite(table, request):
    path = request.getfixturevalue("tmp_path") / f"{next(_names)}.db"
    kinds = ", ".join(f'"{field.name}" {_SQLITE.get(field.type, "REAL")}' for field in table.schema)
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE predictions ({kinds})")
        places = ", ".join("?" * table.num_columns)
        rows = (tuple(_plain(value) for value in row.values()) for row in table.to_pylist())
        connection.executemany(f"INSERT INTO predictions VALUES ({places})", rows)
    connection.close()
    return f"sqlite:///{path}#predictions"


def _plain(value):
    return float(value) if type(value).__name__ == "Decimal" else value


ENGINES = {
    function.__name__: function
    for function in (
        *(numpy, pyarrow, pandas, pandas_numpy, polars, polars_lazy, duckdb),
        *(duckdb_table, dask, spark, postgresql, sqlite),
    )
}
