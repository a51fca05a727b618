"""Texts and labels in SQL, on real databases: nothing gets out of its quotes, and each text matches
itself alone.
"""

from __future__ import annotations

import datetime
import sqlite3
from decimal import Decimal

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof

TEXTS = [
    "plain",
    "it's",
    "a\\b",
    "\\",
    "'",
    "\\'",
    "x\\' OR 1=1) -- ",
    "x' OR 1=1) -- ",
    "\\\\'",
    "%_",
    "caf\u00e9",
]
P = [(k + 1) / 16 for k in range(len(TEXTS))]


def matched(run, text, dialect):
    """How many rows a condition on the text leaves, and how many are events with the text as the
    label.
    """
    condition = "r = '" + text.replace("'", "''") + "'"
    where = rainproof.Sample.from_table(
        run(rainproof.io.sql("texts", "p", "y", 16, where=condition, dialect=dialect))
    )
    statement = rainproof.io.sql(
        "texts", "p", "r", 16, pos_label=text, where=condition, dialect=dialect
    )
    label = rainproof.Sample.from_table(run(statement))
    assert where.y_prob.tolist() == [P[TEXTS.index(text)]]
    return where.n, label.n * label.event_rate


def fill(execute, double):
    execute("DROP TABLE IF EXISTS texts")
    execute(f"CREATE TABLE texts (p {double}, y integer, r varchar(40))")


@for_each("text", TEXTS)
def test_sqlite_and_duckdb(text):
    import duckdb

    for connection, dialect in (
        (sqlite3.connect(":memory:"), "sqlite"),
        (duckdb.connect(), "duckdb"),
    ):
        fill(connection.execute, "double precision")
        connection.executemany(
            "INSERT INTO texts VALUES (?, 1, ?)", list(zip(P, TEXTS, strict=True))
        )
        assert matched(connection.execute, text, dialect) == (1, 1)
        connection.close()


@for_each("standard", ["on", "off"])
def test_postgresql_whatever_its_setting(postgresql_connection, standard):
    fill(postgresql_connection.execute, "double precision")
    with postgresql_connection.cursor() as cursor:
        cursor.executemany("INSERT INTO texts VALUES (%s, 1, %s)", list(zip(P, TEXTS, strict=True)))
    postgresql_connection.execute("SET escape_string_warning = off")
    postgresql_connection.execute(f"SET standard_conforming_strings = {standard}")
    for text in TEXTS:
        assert matched(postgresql_connection.execute, text, "postgresql") == (1, 1)


@for_each("escaped", ["true", "false"])
def test_spark_whatever_its_setting(spark, escaped):
    schema = "p double, y int, r string"
    spark.createDataFrame(
        [(p, 1, r) for p, r in zip(P, TEXTS, strict=True)], schema
    ).createOrReplaceTempView("texts")
    spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    try:
        for text in ("it's", "a\\b", "x\\' OR 1=1) -- "):
            assert matched(lambda statement: spark.sql(statement).collect(), text, "spark") == (
                1,
                1,
            )
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")


def test_a_backslash_means_nothing_certain_in_plain_sql():
    for options in ({"where": "r = 'a\\b'"}, {"pos_label": "a\\b"}):
        with pytest.raises(
            rainproof.InputError, match="text must not contain a backslash in dialect 'ansi'"
        ):
            rainproof.io.sql("texts", "p", "y", **options)


@for_each(
    "label, written",
    [
        (np.int64(2), "2"),
        (np.float64(0.5), "0.5"),
        (np.bool_(True), "TRUE"),
        (np.str_("a"), "'a'"),
        (2, "2"),
    ],
)
def test_numpy_labels_are_written_as_what_they_hold(label, written):
    assert f'"y" = {written} THEN' in rainproof.io.sql("texts", "p", "y", pos_label=label)


@for_each(
    "label", [Decimal("1.5"), datetime.date(2026, 1, 1), float("nan"), float("inf"), b"a", (1,)]
)
def test_other_labels_are_refused(label):
    with pytest.raises(
        rainproof.InputError,
        match="pos_label must be text, a finite number or a bool in SQL; it is",
    ):
        rainproof.io.sql("texts", "p", "y", pos_label=label)


@for_each(
    "name",
    [
        "rainproof_p",
        "rainproof_y",
        "Rainproof_Cell",
        "rainproof_outcome",
        "rainproof_bad",
        "rainproof_rise",
    ],
)
def test_a_segment_is_not_called_as_a_sum_is(name):
    for ask in (
        lambda: rainproof.io.sql("texts", "p", "y", by=name),
        lambda: rainproof.scan({"p": [0.5], "y": [1]}, by=name),
    ):
        with pytest.raises(
            rainproof.InputError,
            match=f"by must not name columns that begin with rainproof_.* '{name}'",
        ):
            ask()


def test_large_integers_are_compared_with_doubles_as_doubles():
    """Above 2**53 integers lie between doubles; SQLite would compare them exactly."""
    large = 1 << 53
    numbers = [large, large + 1, large + 2, 7]
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (p REAL, y INTEGER, k INTEGER)")
    connection.executemany("INSERT INTO t VALUES (0.5, 1, ?)", [(number,) for number in numbers])
    sources = [rainproof.io.Table(connection, "t"), {"p": [0.5] * 4, "y": [1] * 4, "k": numbers}]
    for where, rows in {
        f"k = {large}.0": 2,
        f"k <= {large}.0": 3,
        f"k in ({large}.0, 7.0)": 3,
        f"k = {large + 1}": 1,
        "k < 7.5": 1,
    }.items():
        assert [rainproof.scan(source, where=where).n for source in sources] == [rows, rows], where
    connection.close()
