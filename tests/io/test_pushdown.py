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

import rainproof
from rainproof.errors import InputError
from rainproof.io import reading as pushdown
from rainproof.io.frames import grouped
from rainproof.io.reading import ColumnSpec
from rainproof.io.where import parse

rng = np.random.default_rng(3)
N = 500
P = rng.random(N)
Y = (rng.random(N) < P).astype(int)
W = rng.random(N)
NAN = float("nan")


def one_sample(source, m=256, where=None, **spec):
    """By the expression, also for frames that `scan` reads in this process."""
    condition = None if where is None else parse(where)
    return pushdown.aggregate(source, ColumnSpec(prob="p", outcome="y", where=condition, **spec), m)


def lazy_frames(tmp_path, **columns):
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "a.parquet")
    yield pl.from_arrow(table).lazy()
    yield pl.scan_parquet(tmp_path / "a.parquet")
    with duckdb.connect() as connection:
        yield connection.from_arrow(table)
        yield connection.read_parquet(str(tmp_path / "a.parquet"))
    yield nw.from_native(pl.from_arrow(table)).lazy()


def test_the_expression_on_other_lazy_frames(tmp_path):
    expected = rainproof.Sample(Y, P, sample_weight=W).compress(256)
    for frame in lazy_frames(tmp_path, p=P, y=Y, w=W, r=Y % 2 == 0):
        sample = one_sample(frame, weight="w")
        np.testing.assert_array_equal(sample.counts, expected.counts)
        np.testing.assert_allclose(sample.y_prob, expected.y_prob, rtol=1e-12)
        assert one_sample(frame, by=("r",)).counts == {True: int((Y == 0).sum()), False: int(Y.sum())}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"p": np.where(P < 0.1, NAN, 0.5)}, f"p must not contain NaN; {(P < 0.1).sum()} values do"),
        # All other values alike: their statistics decide every comparison.
        ({"y": np.where(P < 0.1, NAN, 1.0)}, f"y must be 0 or 1 (pos_label names the event among other labels); "
         f"{(P < 0.1).sum()} values do not"),
        ({"w": np.where(P < 0.1, NAN, 1.0)}, f"w must be finite and not negative; {(P < 0.1).sum()} values do not"),
    ],
)  # fmt: skip
def test_statistics_of_parquet_leave_nan_out(tmp_path, spoil, message):
    """DuckDB decides p <= 1 from the statistics of a Parquet file, which leave NaN out."""
    columns = {"p": P, "y": Y, "w": W} | spoil
    for frame in lazy_frames(tmp_path, **columns):
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            one_sample(frame, weight="w")
        (name,) = spoil
        kept = one_sample(frame, weight="w", where=f"{name} <= 1 and w > 0")
        assert kept.n == (P >= 0.1).sum()
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW v AS SELECT * FROM '{tmp_path}/a.parquet'")
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        rainproof.scan(rainproof.io.Table(connection, "v"), weight="w")
    (name,) = spoil
    assert (
        rainproof.scan(rainproof.io.Table(connection, "v"), weight="w", where=f"{name} <= 1 and w > 0").n
        == (P >= 0.1).sum()
    )


def test_counts_are_wide_and_rows_are_streamed(monkeypatch):
    """Polars counts in 32 bits, and its in-memory engine would compute all columns first."""
    frame = nw.from_native(pl.LazyFrame({"p": P, "y": Y}))
    schema = grouped(frame, ColumnSpec(prob="p", outcome="y"), 256).collect_schema()
    assert schema["rainproof_count"] == nw.Int64
    assert schema["rainproof_cell"] == nw.Int64
    seen, collect = [], pl.LazyFrame.collect
    monkeypatch.setattr(pl.LazyFrame, "collect", lambda self, **how: seen.append(how) or collect(self, **how))
    assert one_sample(pl.LazyFrame({"p": P, "y": Y})).n == N
    assert [how["engine"] for how in seen] == ["streaming"]


def test_cells_are_rounded_down_and_sums_are_of_doubles(tmp_path):
    """A cast to an integer rounds on DuckDB; a sum of float32 would keep seven digits."""
    p = np.full(100_000, 0.7 / 256, np.float32)
    for frame in lazy_frames(tmp_path, p=p, y=np.zeros(len(p), np.int8)):
        sample = one_sample(frame)
        assert sample.counts.tolist() == [100_000]
        assert abs(sample.y_prob[0] / float(p[0]) - 1) < 1e-12


def dask_frame(**columns):
    import dask.dataframe as dd

    return dd.from_pandas(pd.DataFrame(columns), npartitions=4)


def test_dask_turns_booleans_among_nulls_into_text():
    y = pd.Series([*(Y[1:] == 1).tolist(), None], dtype=object)
    frame = dask_frame(p=P, y=y)
    assert str(frame.dtypes["y"]) != "object"
    assert repr(rainproof.scan(frame, where="y is not null")) == repr(rainproof.Sample(Y[1:], P[:-1]).compress())
    with pytest.raises(InputError, match=r"^y must not contain nulls \(missing values\); 1 value does$"):
        rainproof.scan(frame)
    with pytest.raises(InputError, match=r"^y must be 0 or 1; it holds text such as"):
        rainproof.scan(dask_frame(p=P, y=np.where(Y, "true", "False")))


def test_dask_looks_at_all_partitions():
    """The second label is another one in each half, which no partition can know."""
    labels = np.where(Y, "yes", np.where(np.arange(N) < N // 2, "no", "never"))
    with pytest.raises(InputError, match=r"^y must hold 'yes' and one other label; it holds 'never' and 'no' too$"):
        rainproof.scan(dask_frame(p=P, y=labels), pos_label="yes")
    with pytest.raises(InputError, match=r"^y must hold 'yes' and one other label; it holds 'never' and 'no' too$"):
        rainproof.scan(dask_frame(p=P, y=np.where(Y, "yes", np.where(P < 0.3, "never", "no"))), pos_label="yes")
    p = P.copy()
    p[[0, 1, 400]], y = 2.0, np.where(np.arange(N) == 450, 2, Y)
    with pytest.raises(InputError, match=r"^p must lie in \[0, 1\]; 3 values do not$") as caught:
        rainproof.scan(dask_frame(p=p, y=y))
    assert caught.value.count == 3


def test_many_partitions_and_none_that_counts():
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame({"p": P, "y": Y, "r": np.arange(N) % 7}), npartitions=70)
    segments = rainproof.scan(frame, by="r", grid=256)
    assert {key: sample.n for key, sample in segments.items()} == {r: len(range(r, N, 7)) for r in range(7)}
    expected = rainproof.Sample(Y, P).compress(256)
    np.testing.assert_array_equal(segments.pooled.y_prob, expected.y_prob)  # merged without rounding
    with pytest.raises(InputError, match=r"^the Dask frame has columns but no rows that meet where$"):
        rainproof.scan(frame, where="p > 2")
    with pytest.raises(InputError, match=r"^the Dask frame has columns but no rows$"):
        rainproof.scan(frame[frame.p > 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prob": "t"}, "t must hold numbers; it holds text"),
        ({"prob": "d"}, "d must hold numbers; it holds values of type Date"),
        ({"outcome": "t"}, "t must be 0 or 1; it holds text: pass pos_label to say which label is the event"),
        ({"weight": "t"}, "t must hold numbers; it holds text"),
        ({"prob": "q"}, "the frame of polars has no column 'q'; it has 'p', 'y', 't', 'd'"),
        ({"pos_label": "two"}, "pos_label must be a label of y, which holds values of type Int64; it is 'two'"),
        ({"outcome": "b", "pos_label": "two"}, "pos_label must be a label of b, which holds values of type Boolean"),
        ({"outcome": "t", "pos_label": "a"}, "t must hold 'a' and one other label; it holds 'b' and 'c' too"),
        ({"where": parse("p > 2")}, "the table has columns but no rows"),
        ({"where": parse("d > 2")}, "where cannot compare d, which holds values of type Date, with 2"),
        ({"where": parse("p = true")}, "where cannot compare p, which holds values of type Float64, with True"),
        ({"where": parse("y in ('one')")}, "where cannot compare y, which holds values of type Int64, with 'one'"),
        ({"prob": "broken"}, "cannot read the frame of polars: "),
        ({"outcome": "d", "pos_label": 1}, "pos_label must be a label of d, which holds values of type Date; it is 1"),
        (
            {"outcome": "t", "pos_label": 1},
            "pos_label must be a label of t, which holds values of type String; it is 1",
        ),
        ({"prob": ("p", "t")}, "prob must be one column for rows of another engine: it does not read several classes"),
        ({"native": pl.col("p") > 0}, "where must be text for rows of another engine"),
    ],
)
def test_what_an_expression_is_refused(options, message):
    columns = {"p": [0.1, 0.2, 0.7], "y": [0, 1, 1], "t": ["a", "b", "c"], "d": [0, 1, 2], "b": [True, False, True]}
    frame = pl.LazyFrame(columns).with_columns(pl.col("d").cast(pl.Date), broken=pl.col("t").cast(pl.Float64))
    with pytest.raises(InputError, match=re.escape(message)):
        pushdown.aggregate(frame, ColumnSpec(**({"prob": "p", "outcome": "y"} | options)), 256)


@pytest.mark.parametrize(
    ("label", "kind"), [("true", bool), ("0", bool), (True, bool), ("1.0", float), ("1", int), (1, int)]
)
def test_a_label_is_read_as_the_column(label, kind):
    sample = pushdown.aggregate(
        pl.LazyFrame({"p": P, "y": Y.astype(kind)}), ColumnSpec(prob="p", outcome="y", pos_label=label), 256
    )
    assert sample.event_rate == (1 - Y.mean() if label == "0" else Y.mean())


def test_conditions_mean_the_same(tmp_path):
    """Every kind of leaf, for nulls and NaN, on the expression and on SQL: the answer by hand."""
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
    frame = pl.LazyFrame(columns)
    connection = duckdb.connect()
    connection.register("t", pa.table(columns))
    for where, kept in cases.items():
        expected = [columns["p"][row] for row in kept]
        for source in (frame, connection.table("t"), rainproof.io.Table(connection, "t")):
            np.testing.assert_allclose(np.sort(one_sample(source, where=where).y_prob), expected, err_msg=where)
        here = rainproof.scan(pa.table(columns), where=where, grid=256)
        np.testing.assert_allclose(np.sort(here.y_prob), expected, err_msg=where)


def test_spark_keeps_the_rows_where_they_are(spark):
    """One job whose plan is the engine's own, whose result has at most 2 (m + 1) rows."""
    frame = spark.createDataFrame(pa.table({"p": P, "y": Y})).repartition(3)
    plan = nw.to_native(grouped(nw.from_native(frame), ColumnSpec(prob="p", outcome="y"), 16))
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert "HashAggregate" in text
    assert "Python" not in text
    assert plan.count() <= 2 * (16 + 1)
    with pytest.raises(InputError, match=r"^the frame of pyspark has no column 'q'"):
        rainproof.scan(frame, "q")


def test_without_narwhals_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals.stable.v2", None)
    with pytest.raises(rainproof.MissingExtraError, match=r"narwhals: pip install narwhals pyarrow$"):
        pushdown.aggregate(pl.LazyFrame({"p": P, "y": Y}), ColumnSpec(prob="p", outcome="y"), 256)


def test_asking_whose_rows_they_are_imports_nothing():
    code = """
import sys
from rainproof.io import reading as pushdown
assert not pushdown.is_remote({"p": [1]})
assert pushdown.is_remote("postgresql://host/db#t")
loaded = {m.partition(".")[0] for m in sys.modules}
heavy = {"narwhals", "pandas", "polars", "pyarrow", "duckdb", "dask", "pyspark", "psycopg", "sqlite3"}
sys.exit(" ".join(loaded & heavy) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
