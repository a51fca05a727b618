"""A recalibrator in SQL gives the bits of `predict`, on real engines."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import rainproof
from rainproof.core.piecewise import PiecewiseMap
from rainproof.recalibration.methods import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.ExtrapolationWarning")

NAME = 'p" OR 1=1 -- `'  # of a column
BY = 'it\'s "a" `column`'
LABELS = ["it's", "a\\b", "plain"]
WRONG = [None, float("nan"), -1e-300, np.nextafter(1, 2), float("inf")]


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    return p, (rng.random(n) < p**1.7).astype(int)


@pytest.fixture(scope="module")
def fitted():
    """Each method, and a map that begins at 0, where the smallest doubles count."""
    found = {method: rainproof.Recalibrator(method, rng=0).fit(*draw(3000)) for method in METHODS}
    from_zero = rainproof.Recalibrator("none", rng=0).fit(*draw(200))
    edges, start, end = ([0.0, 0.25, 2 / 3, 1.0], [0.0, 0.5, 0.0], [0.3, 0.2, 0.9])
    from_zero.map_ = PiecewiseMap.from_ends(np.array(edges), np.array(start), np.array(end))
    falls = rainproof.Recalibrator("none", rng=0).fit(*draw(200))
    falls.map_ = PiecewiseMap.from_ends(
        np.array([0.0, 1e-9, 0.5, 1.0]), np.array([1.0, 0.0, 0.7]), np.array([0, 1, 0.0])
    )
    return {**found, "from zero": from_zero, "falls": falls}


@pytest.fixture(scope="module")
def segmented():
    p, y = draw(12_000)
    at = np.arange(12_000) % 4
    region = np.array([*LABELS, None], object)[at]
    year = np.where(at % 2, 2025, 2026)
    r = rainproof.Recalibrator("logistic", rng=0).fit(
        p, np.where(at < 2, 1 - y, y), by={"region": region, "year": year}
    )
    assert sum(segment.corrected for segment in r.segments_) >= 3
    return r


def predictions(r):
    edges, random = r.map_.edges, np.random.default_rng(1).random(300)
    near = [
        edges,
        np.nextafter(edges, 0),
        np.nextafter(edges, 1),
        random,
        random**30,
        random * 1e-309,
    ]
    return np.unique(np.clip(np.concatenate([*near, [0.0, 1.0, 1e-300, 5e-324, 0.1]]), 0, 1))


def check(select, fitted, dialect):
    """`select` gives the value of an expression for each of some numbers, in a column NAME."""
    for method, r in fitted.items():
        p = predictions(r)
        found = select(r.to_sql(NAME, dialect=dialect), [*p.tolist(), -0.0, *WRONG])
        np.testing.assert_array_equal(
            np.array(found[: len(p)]), r.predict(p), strict=True, err_msg=method
        )
        assert np.signbit(found[len(p)]) == np.signbit(r.predict([-0.0]))[0]
        assert found[-len(WRONG) :] == [None] * len(WRONG)


def check_segments(select, segmented, dialect):
    """`select` gives the value of an expression for rows with a text and a year, in the columns BY
    and "year".
    """
    regions = np.array([*LABELS, None, "new"], object).repeat(40)
    years = np.tile([2025, 2026], 100)
    p = np.random.default_rng(0).random(200)
    expected = segmented.predict(p, by={"region": regions, "year": years}, unseen="pooled")
    rows = list(zip(p.tolist(), regions.tolist(), years.tolist(), strict=True))
    for by in ([BY, "year"], {"year": "year", "region": BY}):
        found = select(segmented.to_sql(NAME, by=by, dialect=dialect, unseen="pooled"), rows)
        np.testing.assert_array_equal(np.array(found), expected, strict=True)
    seen = {segment.segment for segment in segmented.segments_}
    found = select(segmented.to_sql(NAME, by=[BY, "year"], dialect=dialect), rows)
    known = [
        value if (region, year) in seen else None
        for value, (_, region, year) in zip(expected, rows, strict=True)
    ]
    assert found == known
    assert None in known


def quoted(name, quote='"'):
    return quote + name.replace(quote, 2 * quote) + quote


class Database:
    """A connection with a cursor, and what it calls doubles and parameters."""

    def __init__(self, execute, many, mark="?"):
        self.execute, self.many, self.mark = execute, many, mark

    def select(self, expression, rows):
        wide = isinstance(rows[0], tuple)
        columns = {
            NAME: "double precision",
            **({BY: "varchar(40)", "year": "integer"} if wide else {}),
        }
        self.execute("DROP TABLE IF EXISTS forecasts")
        definition = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
        self.execute(f"CREATE TABLE forecasts (place integer, {definition})")
        marks = ", ".join([self.mark] * (1 + len(columns)))
        values = [(i, *(row if wide else (row,))) for i, row in enumerate(rows)]
        self.many("INSERT INTO forecasts VALUES ", f"({marks})", values)
        return [
            row[0]
            for row in self.execute(f"SELECT {expression} FROM forecasts ORDER BY place").fetchall()
        ]


def test_sqlite(fitted, segmented):
    connection = sqlite3.connect(":memory:")
    database = Database(
        connection.execute, lambda insert, marks, rows: connection.executemany(insert + marks, rows)
    )
    check(database.select, fitted, "sqlite")
    check_segments(database.select, segmented, "sqlite")
    connection.execute("CREATE TABLE whatever (p)")
    connection.executemany("INSERT INTO whatever VALUES (?)", [(1,), (0,), ("0.5",), (b"x",)])
    r = fitted["logistic"]
    found = [
        v
        for (v,) in connection.execute(
            f"SELECT {r.to_sql('p', dialect='sqlite')} FROM whatever"
        ).fetchall()
    ]
    assert found == [*r.predict([1, 0]), None, None]
    connection.close()


def test_duckdb(fitted, segmented):
    import duckdb

    connection = duckdb.connect()

    def many(insert, marks, rows):  # in one statement: DuckDB takes long for each
        connection.execute(
            insert + ", ".join([marks] * len(rows)), [value for row in rows for value in row]
        )

    database = Database(connection.execute, many)
    check(database.select, fitted, "duckdb")
    check(database.select, {"isotonic": fitted["isotonic"]}, "ansi")
    check_segments(database.select, segmented, "duckdb")
    r = fitted["isotonic"]
    for kind in ("DECIMAL(3, 1)", "FLOAT"):
        (found,) = connection.execute(
            f"SELECT {r.to_sql('p', dialect='duckdb')} FROM (SELECT 0.1::{kind} AS p)"
        ).fetchone()
        assert found == r.predict(np.array([0.1], np.float32 if kind == "FLOAT" else float))[0]
    connection.close()


def test_postgresql(postgresql_connection, fitted, segmented):
    def many(insert, marks, rows):
        postgresql_connection.cursor().executemany(insert + marks, rows)

    database = Database(postgresql_connection.execute, many, "%s")
    check(database.select, fitted, "postgresql")
    check_segments(database.select, segmented, "postgresql")


def test_spark(spark, fitted, segmented):
    def select(expression, rows):
        wide = isinstance(rows[0], tuple)
        names = [NAME, BY, "year"] if wide else [NAME]
        kinds = ["double", "string", "int"]
        schema = ", ".join(f"{quoted(n, '`')} {k}" for n, k in zip(names, kinds, strict=False))
        values = [
            (i, *(row if wide else (None if row is None else float(row),)))
            for i, row in enumerate(rows)
        ]
        spark.createDataFrame(values, f"place int, {schema}").createOrReplaceTempView("forecasts")
        found = spark.sql(f"SELECT {expression} AS q FROM forecasts ORDER BY place").collect()
        return [row["q"] for row in found]

    check(select, {name: fitted[name] for name in ("from zero", "falls")}, "spark")
    check_segments(select, segmented, "spark")


def test_many_pieces_stay_shallow():
    """As many as a million rows give, within the limits of SQLite: 1,000 levels and a million
    characters.
    """
    rng = np.random.default_rng(0)
    r = rainproof.Recalibrator("none", rng=0).fit(*draw(200))
    edges, values = np.sort(rng.random(4999)), np.sort(rng.random(5000))
    r.map_ = PiecewiseMap.from_ends(
        np.concatenate([[0.0], edges, [1.0]]), values, np.append(values[1:], 1.0)
    )
    statement = r.to_sql("p", dialect="sqlite")
    assert len(statement) < 1e6
    connection = sqlite3.connect(":memory:")
    p = rng.random(50)
    connection.execute("CREATE TABLE forecasts (p REAL)")
    connection.executemany("INSERT INTO forecasts VALUES (?)", [(float(v),) for v in p])
    found = connection.execute(f"SELECT {statement} FROM forecasts ORDER BY rowid").fetchall()
    assert [v for (v,) in found] == r.predict(p).tolist()
    connection.close()


def test_what_is_refused(fitted, segmented):
    r = fitted["logistic"]
    with pytest.raises(rainproof.InputError, match="dialect must be one of 'ansi'"):
        r.to_sql("p", dialect="oracle")
    with pytest.raises(rainproof.InputError, match="names must not contain a zero byte"):
        r.to_sql("p\0")
    with pytest.raises(
        rainproof.InputError,
        match="by must name nothing, as the map was fitted without segments; it names g",
    ):
        r.to_sql("p", by="g")
    with pytest.raises(
        rainproof.InputError, match="by must name one for each of region, year; it names nothing"
    ):
        segmented.to_sql("p")
    with pytest.raises(rainproof.InputError, match="by must name region, year; it names region"):
        segmented.to_sql("p", by={"region": "r"})
    with pytest.raises(rainproof.InputError, match="no map yet"):
        rainproof.Recalibrator().to_sql("p")
    p, y = draw(8000)
    by = np.repeat(np.array(["2026-01-01", "2026-01-02"], "M8[D]"), 4000)
    dates = rainproof.Recalibrator("logistic", rng=0).fit(
        p, np.where(np.arange(8000) < 4000, y, 1 - y), by=by
    )
    assert "'2026-01-01'" in dates.to_sql("p", by="day")  # dates as what they say
