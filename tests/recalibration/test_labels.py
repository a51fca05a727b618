"""What the label of a segment says counts, not its type: in predict, in files and in SQL."""

from __future__ import annotations

import sqlite3
from contextlib import chdir, closing
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.core.labels import spelled
from rainproof.core.piecewise import PiecewiseMap

SAME = {
    "1": [1, 1.0, "1", "1.0", np.int64(1), np.uint8(1), np.float32(1), Decimal(1), Decimal("1.00")],
    "2": [2, 2.0, "2", "2.0", np.int64(2), np.float64(2)],
    "-3": [-3, -3.0, "-3", "-3.0"],
    "0": [0, 0.0, -0.0, "0", "0.0"],
    "2.5": [2.5, "2.5", np.float64(2.5), Decimal("2.50")],
    "12345678": [12345678, 12345678.0, "12345678"],
    "10000000000000000": [10**16, 1e16, "10000000000000000"],
    "-10000000000000000": [-1e16, -(10**16)],
    "1500000000000000": [15 * 10**14, 1.5e15],
    "9007199254740993": [2**53 + 1, str(2**53 + 1)],
    "True": [True, np.True_, "True", "true", "TRUE"],
    "False": [False, "False", "false", "FALSE"],
    "01": ["01"],
    "1.50": ["1.50"],
    "1.5": ["1.5", 1.5],
    "inf": [float("inf"), "inf"],
    "1_0": ["1_0"],
    " 1": [" 1"],
    "north": ["north", np.str_("north")],
    "2026-01-01": ["2026-01-01", np.datetime64("2026-01-01")],
    None: [None, float("nan"), np.nan, np.datetime64("NaT")],
}


def test_what_labels_say():
    """Each row of the table is one segment, and no two rows are the same."""
    for said, labels in SAME.items():
        assert [spelled(label) for label in labels] == [said] * len(labels)


FITTED = {
    "as numbers": [1, 2, -3, 0, 2.5, 12345678, 10**16, "01", "north", None],
    "as floats": [1.0, 2.0, -3.0, 0.0, 2.5, 12345678.0, 1e16, "01", "north", None],
    "as text": ["1", "2", "-3", "0", "2.5", "12345678", "10000000000000000", "01", "north", None],
    "with bools": [True, False, 2, "1.50", "1.5"],
    "with bools as text": ["true", "False", "2", "1.50", 1.5],
}


def fitted(labels):
    """A map whose value in each segment is a constant of its own."""
    column = np.empty(50 * len(labels), object)
    column[:] = [*labels] * 50
    p = np.linspace(0, 1, len(column))
    r = rainproof.Recalibrator("none", rng=0).fit(p, p > 0.5, by={"s": column})
    assert len(r.segments_) == len(labels)
    r.segment_maps_ = {
        (spelled(label),): PiecewiseMap.steps(np.zeros(0), np.array([VALUES[label_text(label)]]))
        for label in labels
    }
    r.segments_ = tuple(replace(segment, corrected=True) for segment in r.segments_)
    return r


def label_text(label):
    return str(spelled(label))


VALUES = {str(said): (k + 1) / 64 for k, said in enumerate(SAME)}


@for_each("labels", FITTED.values())
def test_every_spelling_gets_the_map_of_its_segment(tmp_path, labels):
    """In Python, as fitted and as loaded."""
    r = fitted(labels)
    r.save(tmp_path / "map.json")
    for made in (r, rainproof.load(tmp_path / "map.json")):
        for label in labels:
            for other in SAME[spelled(label)]:
                column = np.empty(1, object)
                column[0] = other
                assert made.predict([0.2], by={"s": column})[0] == VALUES[label_text(label)]
                assert made.predict([0.2], by={"s": [other]})[0] == VALUES[label_text(label)]


COLUMNS = {
    "VARCHAR": [
        "1",
        "1.0",
        "2",
        "-3",
        "0",
        "2.5",
        "12345678",
        "01",
        "north",
        "true",
        "True",
        "1.50",
        None,
        "new",
    ],
    "BIGINT": [1, 2, -3, 0, 12345678, 10**16, None, 7],
    "DOUBLE": [1.0, 2.0, -3.0, 0.0, 2.5, 1.5, 12345678.0, 1e16, None, 7.0],
    "BOOLEAN": [True, False, None],
}


def check_sql(select, r, dialect):
    """`select` gives the value of an expression for each label in a column "s" of a type, beside a
    "p" of 0.2.
    """
    said = {spelled(segment.segment) for segment in r.segments_}
    for kind, labels in COLUMNS.items():
        found = select(r.to_sql("p", by="s", dialect=dialect), kind, labels)
        pooled = select(r.to_sql("p", by="s", dialect=dialect, unseen="pooled"), kind, labels)
        texts = [spelled(label) for label in labels]
        # there True is 1: it stands for what is a segment
        if dialect == "sqlite" and kind in ("BOOLEAN", "BIGINT"):
            texts = [{"True": "1", "False": "0"}.get(text, text) for text in texts]
            texts = [
                text if text in said else {"1": "True", "0": "False"}.get(text, text)
                for text in texts
            ]
        expected = [VALUES[str(text)] if text in said else None for text in texts]
        assert found == expected, (dialect, kind)
        assert pooled == [0.2 if value is None else value for value in expected]


@for_each("labels", FITTED.values())
def test_sql_on_columns_of_every_type(labels):
    r = fitted(labels)
    with duckdb.connect() as db, closing(sqlite3.connect(":memory:")) as lite:

        def select(connection, expression, kind, labels):
            connection.execute("DROP TABLE IF EXISTS t")
            connection.execute(f"CREATE TABLE t (k INTEGER, p DOUBLE PRECISION, s {kind})")
            connection.executemany("INSERT INTO t VALUES (?, 0.2, ?)", list(enumerate(labels)))
            return [
                v
                for (v,) in connection.execute(f"SELECT {expression} FROM t ORDER BY k").fetchall()
            ]

        for dialect in ("duckdb", "ansi"):
            check_sql(partial(select, db), r, dialect)
        check_sql(partial(select, lite), r, "sqlite")


def test_postgresql_and_spark_spell_doubles_in_their_own_ways():
    """As PostgreSQL 16 and Spark 4 do: CAST(1e16 AS TEXT), CAST(CAST(12345678 AS DOUBLE) AS
    STRING).
    """
    r = fitted([12345678, 10**16, -(10**16), 15 * 10**14])
    expression = r.to_sql("p", by="s")
    for text in (
        "12345678.0",
        "1.2345678E7",
        "1e+16",
        "1.0E16",
        "-1e+16",
        "-1.0E16",
        "1.5e+15",
        "1.5E15",
    ):
        assert f"'{text}'" in expression


N = 2000


def rows(labels):
    """Half of the rows of each label; the forecast is right for the second, and the wrong way round
    for the first.
    """
    rng = np.random.default_rng(0)
    p, at = rng.random(N).round(6), np.arange(N) % 2
    y = (rng.random(N) < np.where(at == 0, 1 - p, p)).astype(int)
    column = np.empty(N, object)
    column[:] = [labels[i] for i in at]
    return p, y, column


def test_true_is_not_one():
    r = fitted((True, 2))
    with pytest.raises(rainproof.InputError, match=r"segments that the map has not seen \(1\)"):
        r.predict([0.2], by={"s": [1]})
    both = fitted(("True", 1))
    assert len({both.predict([0.2], by={"s": [label]})[0] for label in (True, 1)}) == 2


@for_each("pair", [(1, "1"), ("1.0", "1"), ("true", "True"), (True, "TRUE")])
def test_two_spellings_of_one_segment_are_refused(pair):
    p, y, column = rows(pair)
    with pytest.raises(
        rainproof.InputError, match=r"by must spell each segment in one way; .* mean the same"
    ):
        rainproof.Recalibrator("logistic", rng=0).fit(p, y, by={"s": column})


def test_unseen_segments_are_refused_unless_asked_for():
    r = fitted(("north", 2))
    by = {"s": ["north", "c", "d", "e", "f", "north"]}
    with pytest.raises(
        rainproof.InputError,
        match=r"^by has 4 rows of segments that the map has not seen \(c, d, e, ...\): unseen='pooled'",
    ):
        r.predict([0.2] * 6, by=by)
    found = r.predict([0.2] * 6, by=by, unseen="pooled")
    assert (found[1:5] == r.map_([0.2])).all()
    assert found[0] == r.predict([0.2], by={"s": ["north"]})[0]
    with pytest.raises(rainproof.InputError, match="unseen must be 'error' or 'pooled'"):
        r.to_sql("p", by="s", unseen="whole")


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_where_nothing_was_fitted_no_segment_is_new():
    r = rainproof.Recalibrator().fit([0.2, 0.8], [0, 1], by=["a", "b"])
    assert r.predict([0.2], by=["c"]) == [0.2]
    with duckdb.connect() as db:
        assert db.execute(
            f"SELECT {r.to_sql('p', by='s')} FROM (SELECT 0.2 AS p, 'c' AS s)"
        ).fetchone() == (0.2,)


def test_many_segments_stay_shallow():
    """Within the limit of SQLite, 1,000 levels, however many segments use the map of all rows."""
    p = np.random.default_rng(0).random(4000)
    r = rainproof.Recalibrator("none", rng=0).fit(
        p, p > 0.5, by={"a": np.arange(4000) % 2000, "b": np.arange(4000) % 2}
    )
    db = sqlite3.connect(":memory:")
    expression = r.to_sql("p", by=["a", "b"], dialect="sqlite")
    found = db.execute(
        f"SELECT {expression} FROM (SELECT 0.2 p, 1999 a, 1 b UNION ALL SELECT 0.2, 1999, 0)"
    ).fetchall()
    assert found == [(0.2,), (None,)]
    db.close()


WRITTEN = {
    "csv": lambda labels: [str(label) for label in labels],
    "integers": lambda labels: pa.array(labels, pa.int32()),
    "floats": lambda labels: pa.array([float(label) for label in labels]),
    "texts": lambda labels: pa.array([str(label) for label in labels]),
    "decimals": lambda labels: pa.array([Decimal(label) for label in labels], pa.decimal128(5, 2)),
    "dictionary": lambda labels: pa.array([str(label) for label in labels]).dictionary_encode(),
}


def written(kind, name, p, y, labels):
    """A file of rows whose labels have this type; the name of the file."""
    if kind == "csv":
        lines = "".join(
            f"{a},{b},{c}\n" for a, b, c in zip(p, y, WRITTEN[kind](labels), strict=True)
        )
        Path(f"{name}.csv").write_text("p,y,s\n" + lines)
        return f"{name}.csv"
    pq.write_table(pa.table({"p": p, "y": y, "s": WRITTEN[kind](labels)}), f"{name}.parquet")
    return f"{name}.parquet"


@cache
def one_fit():
    p, y, _ = rows((1, 2))
    return rainproof.Recalibrator("logistic", rng=0).fit(p, y, by=[1 + k % 2 for k in range(N)])


@pytest.fixture(scope="module", params=["csv", "integers", "floats", "texts"])
def recalibrated(request, tmp_path_factory):
    """The map of a file whose labels have one type."""
    folder = tmp_path_factory.mktemp("recalibrated")
    p, y, _ = rows((1, 2))
    with chdir(folder):
        past = written(request.param, "past", p, y, [1 + k % 2 for k in range(N)])
        fit = ["--outcome", "y", "--by", "s", "--methods", "logistic", "-o", "map.json"]
        assert main(["recalibrate", past, "--prob", "p", "--quiet", *fit]) == 0
    return folder / "map.json"


@for_each("then", WRITTEN)
def test_files_of_every_type(tmp_path, monkeypatch, capsys, recalibrated, then):
    """Recalibrate a file whose labels have one type, apply the map to one whose labels have
    another.
    """
    monkeypatch.chdir(tmp_path)
    p, y, _ = rows((1, 2))
    labels = [1 + k % 2 for k in range(N)]
    today = written(then, "today", p[:50], y[:50], labels[:50])
    apply = ["--prob", "p", "--quiet", "--map", str(recalibrated), "-o", "out.parquet"]
    assert main(["apply", today, *apply]) == 0
    assert capsys.readouterr() == ("", "")
    r = rainproof.load(recalibrated)
    expected = one_fit().predict(p[:50], by=labels[:50])
    assert any(segment.corrected for segment in r.segments_)
    np.testing.assert_array_equal(r.predict(p[:50], by={"s": labels[:50]}), expected)
    np.testing.assert_array_equal(pq.read_table("out.parquet")["p_recalibrated"], expected)
    labels[3] = 7
    today = written(then, "today", p[:50], y[:50], labels[:50])
    before = Path("out.parquet").read_bytes()
    assert main(["apply", today, *apply, "--force"]) == 2
    assert "by has 1 row of segments that the map has not seen" in capsys.readouterr().err
    assert Path("out.parquet").read_bytes() == before
    assert main(["apply", today, *apply, "--force", "--unseen", "pooled"]) == 0
    assert pq.read_table("out.parquet")["p_recalibrated"][3].as_py() == r.map_(p[3:4])[0]


def test_true_and_one_in_one_column_are_refused():
    """They are equal in Python, so that one of them would get the other's map."""
    p = np.random.default_rng(0).random(400)
    mixed = np.array([True, 1] * 200, object)
    for by in (mixed, mixed[::-1]):
        with pytest.raises(
            rainproof.InputError, match="must not mix bools with 0 and 1: write them as text"
        ):
            rainproof.Recalibrator("logistic", rng=0).fit(p, p > 0.5, by={"s": by})
