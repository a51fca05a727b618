"""The statement: run by real databases in every dialect, with names and values quoted, and its
result checked.
"""

from __future__ import annotations

import re
import sqlite3

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.errors import InputError

rng = np.random.default_rng(7)
N = 200
P = rng.random(N)
Y = (rng.random(N) < P).astype(int)
AWKWARD = 'a "quoted" `name`, with; -- all'  # as the name of a column and of a table


def rows():
    return list(
        zip(P.tolist(), Y.tolist(), ["it's" if p < 0.5 else "other" for p in P], strict=True)
    )


@pytest.fixture
def sqlite():
    connection = sqlite3.connect(":memory:")
    quoted = '"' + AWKWARD.replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE {quoted} ({quoted} REAL, y INTEGER, r TEXT)")
    connection.executemany(f"INSERT INTO {quoted} VALUES (?, ?, ?)", rows())
    yield connection
    connection.close()


def test_names_are_nothing_but_names(sqlite):
    statement = rainproof.io.sql([AWKWARD], AWKWARD, "y", 64, dialect="sqlite")
    assert repr(rainproof.Sample.from_table(sqlite.execute(statement))) == repr(
        rainproof.Sample(Y, P).compress(64)
    )


def test_segments_and_conditions(sqlite):
    where = "r in ('it''s', 'nowhere')"
    statement = rainproof.io.sql([AWKWARD], AWKWARD, "y", 64, "r", where=where, dialect="sqlite")
    segments = rainproof.io.Segments.from_table(sqlite.execute(statement))
    assert segments.counts == {"it's": int((P < 0.5).sum())}
    assert repr(segments.pooled) == repr(rainproof.Sample(Y[P < 0.5], P[P < 0.5]).compress(64))


def test_the_plain_dialect_runs_on_the_strict_and_the_lenient(postgresql_connection):
    """What is common to PostgreSQL and DuckDB; NaN is told from numbers out of range on both."""
    import duckdb

    for connection, double in (
        (postgresql_connection, "double precision"),
        (duckdb.connect(), "double"),
    ):
        connection.execute(f"CREATE TABLE plain (p {double}, y integer, w {double})")
        connection.cursor().executemany(
            "INSERT INTO plain VALUES (%s, %s, 1)".replace(
                "%s", "?" if double == "double" else "%s"
            ),
            [(p, y) for p, y, _ in rows()],
        )
        ansi = rainproof.io.sql("plain", "p", "y", 64, weight="w")
        assert repr(rainproof.Sample.from_table(connection.execute(ansi))) == repr(
            rainproof.Sample(Y, P).compress(64)
        )
        connection.execute(
            "INSERT INTO plain VALUES (CAST('NaN' AS double precision), 1, 1), (0.5, 2, 1), (2, "
            "1, 1)"
        )
        with pytest.raises(InputError, match=r"^y_prob must not contain NaN; 1 value does$"):
            rainproof.Sample.from_table(connection.execute(ansi))
        kept = connection.execute(
            rainproof.io.sql("plain", "p", "y", 64, where="p <= 1 and y in (0, 1)")
        )
        assert rainproof.Sample.from_table(kept).n == N
        connection.execute("DROP TABLE plain")


def test_the_dialect_of_spark(spark):
    frame = spark.createDataFrame(
        [(*row, True) for row in rows()], ["p", "y", "r", "a `strange` b"]
    )
    frame.createOrReplaceTempView("rainproof_predictions")
    statement = rainproof.io.sql(
        "rainproof_predictions",
        "p",
        "y",
        64,
        ["r", "a `strange` b"],
        where="p >= 0.25",
        dialect="spark",
    )
    segments = rainproof.io.Segments.from_table(spark.sql(statement).collect())
    assert segments.counts == {
        (r, True): sum(p >= 0.25 and r == s for p, _, s in rows()) for r in ("it's", "other")
    }
    assert repr(segments.pooled) == repr(rainproof.Sample(Y[P >= 0.25], P[P >= 0.25]).compress(64))


def test_the_first_words():
    statement = rainproof.io.sql(
        "schema.table", "p", "y", where="not (a = true or b is null)", pos_label=False
    )
    assert 'FROM "schema"."table"\n  WHERE (("a" <> TRUE) AND ("b" IS NOT NULL))' in statement
    assert (
        'CASE WHEN "y" = FALSE THEN 1 WHEN "y" IS NOT NULL THEN 0 END AS rainproof_y' in statement
    )
    assert "65536 AS rainproof_grid" in statement
    assert "rainproof_least" not in statement


@for_each(
    "arguments, options, message",
    [
        (("t", "p", "y", 100), {}, "grid must be a power of two from 2 to 1,048,576; it is 100"),
        (("", "p", "y"), {}, "table must be the name of a table; it is ''"),
        (("a..b", "p", "y"), {}, "table must be the name of a table; it is 'a..b'"),
        (([], "p", "y"), {}, "table must be the name of a table; it is []"),
        ((None, "p", "y"), {}, "table must be the name of a table; it is None"),
        ((["a", 3], "p", "y"), {}, "table must be the name of a table; it is ['a', 3]"),
        (("t", "p", "p"), {}, "prob, outcome and weight must be different columns; they are p, p"),
        (("t", ["p", "q"], "y"), {}, "prob must be one column in SQL; it is ['p', 'q']"),
        (("t", "p", None), {}, "outcome must be the name of a column, as text; it is None"),
        (("t", "p", "y"), {"weight": 3}, "weight must be the name of a column, as text; it is 3"),
        (("t", "p", "y"), {"by": []}, "by must name at least one column"),
        (("t", "p", "y"), {"by": ["a", 3]}, "by must be the name of a column, as text; it is 3"),
        (("t", "p", "y"), {"where": 3}, "where must be text in SQL; it is 3"),
        (("t", "p\0", "y"), {}, "names must not contain a zero byte"),
        (("t", "p", "y"), {"pos_label": "\0"}, "text must not contain a zero byte"),
        (("t", "p", "y"), {"where": "p like 1"}, "where must be a condition"),
        (
            ("t", "p", "y"),
            {"dialect": "oracle"},
            "dialect must be one of 'ansi', 'duckdb', 'postgresql', 'spark', 'sqlite'; it is "
            "'oracle'",
        ),
    ],
)
def test_what_is_refused(arguments, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        rainproof.io.sql(*arguments, **options)
