"""Rows of other engines: pitfalls of each engine, and what must not run on it."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.errors import InputError

rng = np.random.default_rng(3)
N = 500
P = rng.random(N)
Y = (rng.random(N) < P).astype(int)
W = rng.random(N)
NAN = float("nan")


@for_each("spoil, message", [
        ({"p": np.where(P < 0.1, NAN, 0.5)}, f"p must not contain NaN; {(P < 0.1).sum()} values do"),
        # All other values alike: their statistics decide every comparison.
        ({"y": np.where(P < 0.1, NAN, 1.0)}, f"y must be 0 or 1 (pos_label names the event among other labels); "
         f"{(P < 0.1).sum()} values do not"),
        ({"w": np.where(P < 0.1, NAN, 1.0)}, f"w must be finite and not negative; {(P < 0.1).sum()} values do not"),
    ])  # fmt: skip
def test_statistics_of_parquet_leave_nan_out(tmp_path, spoil, message):
    """DuckDB decides p <= 1 from the statistics of a Parquet file, which leave NaN out."""
    pq.write_table(pa.table({"p": P, "y": Y, "w": W} | spoil), tmp_path / "a.parquet")
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW v AS SELECT * FROM '{tmp_path}/a.parquet'")
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        rainproof.scan(rainproof.io.Table(connection, "v"), weight="w")
    (name,) = spoil
    assert (
        rainproof.scan(
            rainproof.io.Table(connection, "v"), weight="w", where=f"{name} <= 1 and w > 0"
        ).n
        == (P >= 0.1).sum()
    )


def test_cells_are_rounded_down_and_sums_are_of_doubles(spark):
    """A cast to an integer rounds on DuckDB; a sum of float32 would keep seven digits."""
    p = np.full(100_000, 0.7 / 256, np.float32)
    table = pa.table({"p": p, "y": np.zeros(len(p), np.int8)})
    connection = duckdb.connect()
    connection.register("t", table)
    for source in (rainproof.io.Table(connection, "t"), spark.createDataFrame(table)):
        sample = rainproof.scan(source, grid=256)
        assert sample.counts.tolist() == [100_000]
        assert abs(sample.y_prob[0] / float(p[0]) - 1) < 1e-12


def test_a_frame_of_narwhals_is_what_it_wraps(spark):
    expected = rainproof.Sample(Y, P, sample_weight=W).compress(256)
    table = pa.table({"p": P, "y": Y, "w": W})
    for frame in (pl.from_arrow(table), pl.from_arrow(table).lazy(), spark.createDataFrame(table)):
        sample = rainproof.scan(nw.from_native(frame), weight="w", grid=256)
        np.testing.assert_array_equal(sample.counts, expected.counts)
        np.testing.assert_allclose(sample.y_prob, expected.y_prob, rtol=1e-12)


def dask_frame(**columns):
    import dask.dataframe as dd

    return dd.from_pandas(pd.DataFrame(columns), npartitions=4)


def test_dask_turns_booleans_among_nulls_into_text():
    y = pd.Series([*(Y[1:] == 1).tolist(), None], dtype=object)
    frame = dask_frame(p=P, y=y)
    assert str(frame.dtypes["y"]) != "object"
    assert repr(rainproof.scan(frame, where="y is not null")) == repr(
        rainproof.Sample(Y[1:], P[:-1]).compress()
    )
    with pytest.raises(
        InputError, match=r"^y must not contain nulls \(missing values\); 1 value does$"
    ):
        rainproof.scan(frame)
    with pytest.raises(InputError, match=r"^y must be 0 or 1; it holds text such as"):
        rainproof.scan(dask_frame(p=P, y=np.where(Y, "true", "False")))


def test_dask_looks_at_all_partitions():
    """The second label is another one in each half, which no partition can know."""
    labels = np.where(Y, "yes", np.where(np.arange(N) < N // 2, "no", "never"))
    with pytest.raises(
        InputError, match=r"^y must hold 'yes' and one other label; it holds 'never' and 'no' too$"
    ):
        rainproof.scan(dask_frame(p=P, y=labels), pos_label="yes")
    with pytest.raises(
        InputError, match=r"^y must hold 'yes' and one other label; it holds 'never' and 'no' too$"
    ):
        rainproof.scan(
            dask_frame(p=P, y=np.where(Y, "yes", np.where(P < 0.3, "never", "no"))), pos_label="yes"
        )
    p = P.copy()
    p[[0, 1, 400]], y = 2.0, np.where(np.arange(N) == 450, 2, Y)
    with pytest.raises(InputError, match=r"^p must lie in \[0, 1\]; 3 values do not$") as caught:
        rainproof.scan(dask_frame(p=p, y=y))
    assert caught.value.count == 3


def test_many_partitions_and_none_that_counts():
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame({"p": P, "y": Y, "r": np.arange(N) % 7}), npartitions=70)
    segments = rainproof.scan(frame, by="r", grid=256)
    assert {key: sample.n for key, sample in segments.items()} == {
        r: len(range(r, N, 7)) for r in range(7)
    }
    expected = rainproof.Sample(Y, P).compress(256)
    # merged without rounding
    np.testing.assert_array_equal(segments.pooled.y_prob, expected.y_prob)
    with pytest.raises(
        InputError, match=r"^the Dask frame has columns but no rows that meet where$"
    ):
        rainproof.scan(frame, where="p > 2")
    with pytest.raises(InputError, match=r"^the Dask frame has columns but no rows$"):
        rainproof.scan(frame[frame.p > 2])


@for_each(
    "options, message",
    [
        ({"prob": "t"}, "t must hold numbers; it holds text"),
        ({"prob": "d"}, "d must hold numbers; it holds values of type date"),
        (
            {"outcome": "t"},
            "t must be 0 or 1; it holds text: pass pos_label to say which label is the event",
        ),
        ({"weight": "t"}, "t must hold numbers; it holds text"),
        ({"prob": "q"}, "the frame of pyspark has no column 'q'; it has 'p', 'y', 't', 'd', 'b'"),
        ({"pos_label": "two"}, "cannot read the frame of pyspark: "),
        (
            {"outcome": "t", "pos_label": "a"},
            "t must hold 'a' and one other label; it holds 'b' and 'c' too",
        ),
        ({"where": "p > 2"}, "the table has columns but no rows"),
        ({"where": "d > 2"}, "cannot read the frame of pyspark: "),
        ({"where": "p > 'one'"}, "cannot read the frame of pyspark: "),
        (
            {"prob": ("p", "t"), "view": "top-label"},
            "view, labels, percent, confidence_words, trials and drop_missing",
        ),
        (
            {"prob": ("p", "t", "d")},
            "prob must be one column for rows of another engine: it does not read several",
        ),
        ({"where": pl.col("p") > 0}, "where must be text for rows of another engine"),
    ],
)
def test_what_spark_is_refused(spark, options, message):
    day = datetime.date(2026, 1, 1)
    rows = [(0.1, 0, "a", day, True), (0.2, 1, "b", day, False), (0.7, 1, "c", day, True)]
    frame = spark.createDataFrame(rows, ["p", "y", "t", "d", "b"])
    with pytest.raises(InputError, match=re.escape(message)):
        rainproof.scan(frame, **options)
    # with those that other tests leave
    views = [row.viewName for row in spark.sql("SHOW VIEWS").collect()]
    assert not [name for name in views if re.fullmatch("rainproof_[0-9a-f]{16}", name)]


@for_each("label, kind", [("true", bool), (True, bool), ("1.0", float), ("1", int), (1, int)])
def test_a_label_is_read_as_the_column(spark, label, kind):
    frame = spark.createDataFrame(pa.table({"p": P, "y": Y.astype(kind)}))
    assert rainproof.scan(frame, pos_label=label, grid=256).event_rate == Y.mean()


def test_a_label_that_spark_takes_for_null_is_refused(spark):
    """Without ANSI rules it compares a number with such text to null, in every row."""
    frame = spark.createDataFrame(pa.table({"p": P, "y": Y}))
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(
            InputError, match=r"^y could not be compared with pos_label; it is 'two'$"
        ):
            rainproof.scan(frame, pos_label="two", grid=256)
        assert rainproof.scan(frame, pos_label="1", grid=256).event_rate == Y.mean()
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_conditions_mean_the_same(spark):
    """Every kind of leaf, for nulls and NaN, in this process, on DuckDB and on Spark: the answer by
    hand.
    """
    x = [1.0, 2.0, None, NAN, 3.0]
    cases = {
        "x = 2": [1], "x != 2": [0, 4], "x <> 2": [0, 4], "x < 2": [0], "x <= 2": [0, 1], "x > 2": [4],
        "x >= 2": [1, 4],
        "x in (1, 3)": [0, 4], "x not in (1, 3)": [1], "not x in (1, 3)": [1], "x is null": [2],
        "x is not null": [0, 1, 3, 4],
        "x is nan": [3], "x is not nan": [0, 1, 2, 4], "k is not nan": [0, 1, 2, 3, 4], "k is nan or k = 4": [4],
        "t = 'b'": [1], "t not in ('a', 'b')": [3, 4], "f = true": [0], "f != true": [1, 3, 4],
        "d >= '2026-01-04'": [3, 4], "s < '2026-01-01 01:30:00'": [0, 1], "k = '2'": [2], "x = '2.0'": [1],
        "x > 1 and (t = 'b' or f = false)": [1, 4], "not (x > 1 and t = 'b')": [0, 3, 4],
    }  # fmt: skip
    columns = {"p": [0.1, 0.2, 0.3, 0.4, 0.5], "y": [0, 1, 0, 1, 1], "x": x, "k": [0, 1, 2, 3, 4]}
    columns |= {"t": ["a", "b", None, "c", "d"], "f": [True, False, None, False, False]}
    columns["d"] = [datetime.date(2026, 1, 1 + day) for day in range(5)]
    columns["s"] = [datetime.datetime(2026, 1, 1, hour) for hour in range(5)]
    table, connection = pa.table(columns), duckdb.connect()
    connection.register("t", table)
    sources = (
        table,
        connection.table("t"),
        rainproof.io.Table(connection, "t"),
        spark.createDataFrame(table),
    )
    for where, kept in cases.items():
        expected = [columns["p"][row] for row in kept]
        for source in sources:
            found = rainproof.scan(source, where=where, grid=256)
            np.testing.assert_allclose(np.sort(found.y_prob), expected, err_msg=where)
    # Spark takes NaN for the largest number
    assert rainproof.scan(sources[-1], where="x > '2.0' or x is null").n == 2


def test_spark_keeps_the_rows_where_they_are(spark):
    """One job whose plan is the engine's own, whose result has at most 2 (m + 1) rows."""
    spark.createDataFrame(pa.table({"p": P, "y": Y})).repartition(3).createOrReplaceTempView(
        "forecasts"
    )
    plan = spark.sql(rainproof.io.sql("forecasts", "p", "y", 16, dialect="spark"))
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert "HashAggregate" in text
    assert "Python" not in text
    assert plan.count() <= 2 * (16 + 1)


def test_asking_whose_rows_they_are_imports_nothing():
    code = """
import sys
from rainproof.io import scanning as pushdown
assert not pushdown.is_remote({"p": [1]})
assert pushdown.is_remote("postgresql://host/db#t")
loaded = {m.partition(".")[0] for m in sys.modules}
heavy = {"narwhals", "pandas", "polars", "pyarrow", "duckdb", "dask", "pyspark", "psycopg", "sqlite3"}
sys.exit(" ".join(loaded & heavy) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
