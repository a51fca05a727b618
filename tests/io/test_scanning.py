"""Scans: the same sample from every container, segments and classes in one pass, no needless
imports.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.file_writing import write_csv, write_parquet
from helpers.samples import assert_same

import rainproof
from rainproof.io import containers, scanning

rng = np.random.default_rng(20261115)
# kept: older versions close one that nothing but a relation refers to
CONNECTION = duckdb.connect()
N = 900
P = rng.random(N).round(5)
P[:4] = 0.0, 1.0, 0.5, -0.0
Y = (rng.random(N) < P**1.3).astype(np.int64)
W = rng.random(N).round(3)
REGION = rng.choice(["north", "south", None], N, p=[0.5, 0.4, 0.1])
MONTH = rng.integers(1, 4, N)
COLUMNS = {"p": P, "y": Y, "w": W, "region": REGION.tolist(), "month": MONTH, "extra": np.arange(N)}
TABLE = pa.table(COLUMNS)


class Streaming:
    """Rows behind the Arrow C stream interface, as another library may pass them."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def write_feather(path, table, **options):
    feather.write_feather(table, path, **options)
    return path


def write_pieces(folder, table):
    """Three files, the last without rows; the pattern that names them."""
    folder.mkdir()
    for name, start, stop in (("a", 0, 400), ("b", 400, N), ("c", N, N)):
        pq.write_table(table.slice(start, stop - start), folder / f"{name}.parquet")
    return folder


def lazy_on_disk(folder, table):
    pq.write_table(table, folder / "lazy.parquet", row_group_size=100)
    return pl.scan_parquet(folder / "lazy.parquet")


def polars_in_chunks(table):
    return pl.concat(
        [pl.from_arrow(table.slice(0, 7)), pl.from_arrow(table.slice(7))], rechunk=False
    )


def relation_on_disk(folder):
    return CONNECTION.read_parquet(str(write_parquet(folder / "d.parquet", **COLUMNS)))


def text_of(folder, table):
    columns = {
        name: ["" if v is None else v for v in column] for name, column in table.to_pydict().items()
    }
    return write_csv(folder / "a.csv", **columns)


SOURCES = {
    "mapping": lambda t, _: {name: t[name].to_numpy(zero_copy_only=False) for name in t.column_names},
    "lists": lambda t, _: t.to_pydict(),
    "pandas": lambda t, _: t.to_pandas(),
    "pandas of arrow types": lambda t, _: t.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas with an index": lambda t, _: t.to_pandas().set_index(np.arange(t.num_rows)[::-1]),
    "pandas nullable": lambda t, _: t.to_pandas().convert_dtypes(),
    "polars": lambda t, _: pl.from_arrow(t),
    "polars in chunks": lambda t, _: polars_in_chunks(t),
    "polars lazy": lambda t, _: pl.from_arrow(t).lazy(),
    "polars lazy from a file": lambda t, folder: lazy_on_disk(folder, t),
    "table": lambda t, _: t,
    "batch": lambda t, _: t.combine_chunks().to_batches()[0],
    "reader": lambda t, _: pa.RecordBatchReader.from_batches(t.schema, t.to_batches(100)),
    "dataset": lambda t, folder: ds.dataset(write_pieces(folder / "d", t)),
    "dataset in memory": lambda t, _: ds.dataset(t),
    "duckdb": lambda t, folder: CONNECTION.from_arrow(t),
    "duckdb from a file": lambda t, folder: relation_on_disk(folder),
    "any stream": lambda t, _: Streaming(t),
    "csv": lambda t, folder: text_of(folder, t),
    "parquet": lambda t, folder: write_parquet(folder / "a.parquet", **COLUMNS),
    "feather": lambda t, folder: write_feather(folder / "a.feather", t, chunksize=64),
    "plain feather": lambda t, folder: str(write_feather(folder / "a.arrow", t, compression="uncompressed")),
    "pattern": lambda t, folder: str(write_pieces(folder / "d", t) / "*.parquet"),
    "list of files": lambda t, folder: sorted(write_pieces(folder / "d", t).iterdir()),
    "list of patterns": lambda t, folder: [f"{write_pieces(folder / 'd', t)}/[ab].*", folder / "d" / "c.parquet"],
}  # fmt: skip


def source_of(name, folder, table=TABLE):
    """Return the rows as a source of this name, with its files in a new folder."""
    folder.mkdir()
    return SOURCES[name](table, folder)


@for_each("name", SOURCES)
def test_the_same_sample_from_everywhere(name, tmp_path):
    source = source_of(name, tmp_path / name)
    assert_same(rainproof.scan(source), rainproof.Sample(Y, P).compress())


@for_each("name", SOURCES)
def test_weights_from_everywhere(name, tmp_path):
    source = source_of(name, tmp_path / name)
    sample = rainproof.scan(source, weight="w", grid=1024)
    expected = rainproof.Sample(Y, P, sample_weight=W).compress(1024)
    np.testing.assert_array_equal(sample.counts, expected.counts)
    np.testing.assert_allclose(sample.sample_weight, expected.sample_weight, rtol=1e-15)
    np.testing.assert_allclose(sample.y_prob, expected.y_prob, rtol=1e-15)


@for_each("name", SOURCES)
def test_segments_from_everywhere(name, tmp_path):
    """One pass gives what a scan of each segment's rows gives, bit for bit."""
    source = source_of(name, tmp_path / name)
    found = rainproof.scan(source, by=["region", "month"])
    # a text file calls its months '1', '2', '3'
    plain = {(r, int(m)): of for (r, m), of in found.items()}
    assert len(plain) == 9
    for region in ("north", "south", None):
        for month in (1, 2, 3):
            of = np.equal(REGION, region) & np.equal(MONTH, month)
            assert_same(plain[region, month], rainproof.Sample(Y[of], P[of]).compress())
    assert_same(found.pooled, rainproof.Sample(Y, P).compress())
    assert list(found)[-1][0] is None


@for_each("name", SOURCES)
def test_conditions_from_everywhere(name, tmp_path):
    source = source_of(name, tmp_path / name)
    of = ((REGION == "north") & (MONTH >= 2)) | (P > 0.9)
    sample = rainproof.scan(source, where="region = 'north' and month >= 2 or p > 0.9")
    assert_same(sample, rainproof.Sample(Y[of], P[of]).compress())


@for_each("kind", ["float32", "bool", "uint8", "text"])
@for_each(
    "name",
    ["mapping", "pandas", "polars", "polars lazy", "table", "duckdb", "any stream", "feather"],
)
def test_types(name, kind, tmp_path):
    p, y, options = P, Y, {}
    if kind == "float32":
        p = P.astype(np.float32)
    elif kind == "text":
        y, options = pa.array(np.where(Y, "yes", "no").tolist()), {"pos_label": "yes"}
    else:
        y = Y.astype(kind)
    table = TABLE.set_column(0, "p", pa.array(p)).set_column(1, "y", pa.array(y))
    assert_same(
        rainproof.scan(SOURCES[name](table, tmp_path), **options), rainproof.Sample(Y, p).compress()
    )


HOLES = [*P[:-2].tolist(), None, None]
RULES = {
    "null": (
        HOLES,
        r"p must not contain nulls \(missing values\); 2 values do, the first is p\[898\]",
    ),
    "NaN": (
        [*P[:-1].tolist(), np.nan],
        r"p must not contain NaN; 1 value does, the first is p\[899\]",
    ),
    "range": (
        [*P[:-1].tolist(), 1.5],
        r"p must lie in \[0, 1\]; 1 value does not, the first is p\[899\] = 1.5",
    ),
}


@for_each("rule", RULES)
@for_each("name", ["polars", "polars lazy", "table", "duckdb", "any stream", "feather", "pattern"])
def test_what_breaks_a_rule_is_counted_and_where_can_drop_it(rule, name, tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "ROWS_PER_BATCH", 100)
    column, message = RULES[rule]
    table = TABLE.set_column(0, "p", pa.array(column, pa.float64()))
    if name == "pattern":
        message = re.sub(r"\[(\d+)\\]", lambda m: f"[{int(m[1]) - 400}\\] of .*b.parquet", message)
    for number, options in enumerate(({}, {"by": "month"})):
        source = source_of(name, tmp_path / f"{rule} {name} {number}", table)
        with pytest.raises(rainproof.InputError, match=f"^{message}$"):
            rainproof.scan(source, **options)
    source = source_of(name, tmp_path / f"{rule} {name}", table)
    kept = rainproof.scan(source, where="p is not null and p is not nan and p <= 1")
    good = [i for i, p in enumerate(column) if p is not None and 0 <= p <= 1]
    assert_same(kept, rainproof.Sample(Y[good], P[good]).compress())


def test_missing_values_in_pandas():
    """NumPy's NaN is called NaN, a missing value of other types a null."""
    frame = pd.DataFrame({"p": [0.5, np.nan, 0.25], "y": [0, 1, 1]})
    with pytest.raises(
        rainproof.InputError, match=r"^p must not contain NaN; 1 value does, the first is p\[1\]$"
    ):
        rainproof.scan(frame)
    for y in (
        pd.array([0, None, 1], "Int64"),
        pd.array([True, None, False], "boolean"),
        [0, None, 1.0],
    ):
        holes = pd.DataFrame(
            {
                "p": [0.5, 0.75, 0.25],
                "y": pd.Series(y, dtype=object if isinstance(y, list) else None),
            }
        )
        with pytest.raises(
            rainproof.InputError,
            match=r"^y must not contain nulls \(missing values\); 1 value does",
        ):
            rainproof.scan(holes)
        assert rainproof.scan(holes, where="y is not null").n == 2
    categories = pd.DataFrame(
        {"p": [0.5, 0.75], "y": pd.Categorical(["a", "b"]), "by": pd.Categorical(["x", None])}
    )
    assert list(rainproof.scan(categories, by="by", pos_label="a")) == ["x", None]


def test_keys_of_every_type():
    day = datetime.date(2026, 5, 17)
    table = pa.table(
        {
            "p": [0.5] * 4,
            "y": [0, 1, 0, 1],
            "date": [day, None, day, day],
            "time": pa.array([0, 1_000, None, 0], pa.timestamp("ns")),
            "number": [0.0, -0.0, float("nan"), None],
            "flag": [True, None, False, True],
            "category": pa.array(["x", None, "x", "y"]).dictionary_encode(),
            "nothing": pa.nulls(4),
        }
    )
    assert list(rainproof.scan(table, by="date")) == [day, None]
    start = datetime.datetime(1970, 1, 1)
    assert list(rainproof.scan(table, by="time")) == [
        start,
        start + datetime.timedelta(microseconds=1),
        None,
    ]
    assert rainproof.scan(table, by="number").counts == {0.0: 2, None: 2}
    assert list(rainproof.scan(table, by="flag")) == [False, True, None]
    assert rainproof.scan(table, by=["category", "flag"]).counts == {
        ("x", False): 1,
        ("x", True): 1,
        ("y", True): 1,
        (None, None): 1,
    }
    assert rainproof.scan(table, by="nothing").counts == {None: 4}
    for kind, values in (("list<item: int64>", [[1]] * 4), ("binary", [b"x"] * 4)):
        odd = table.append_column("odd", pa.array(values))
        message = rf"^odd must hold labels, which are text, numbers or dates; it holds values of type .*{kind[:4]}"
        with pytest.raises(rainproof.InputError, match=message):
            rainproof.scan(odd, by="odd")


def test_more_combinations_than_rows():
    """Keys that are nearly all different, in two columns: combinations are sorted rather than
    counted.
    """
    n = 1100  # more than 2^20 combinations
    shuffled = np.random.default_rng(0)
    a = shuffled.permutation(n)
    b = shuffled.permutation(n)
    found = rainproof.scan(
        {"p": np.full(n, 0.5), "y": np.zeros(n, int), "a": a, "b": b}, by=("a", "b")
    )
    assert list(found) == sorted(zip(a.tolist(), b.tolist(), strict=True))
    assert set(found.counts.values()) == {1}
    columns = [f"c{i}" for i in range(10)]
    wide = {
        "p": np.full(100, 0.5),
        "y": np.zeros(100, int),
        **{name: np.arange(100) for name in columns},
    }
    message = "^by has more combinations of labels than can be numbered: name fewer columns$"
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.scan(wide, by=columns)


def test_native_conditions(tmp_path):
    of = P > 0.25
    expected = rainproof.Sample(Y[of], P[of]).compress()
    for name, where in (
        ("polars", pl.col("p") > 0.25),
        ("polars lazy", pl.col("p") > 0.25),
        ("pandas", of),
        ("table", pc.field("p") > 0.25),
        ("any stream", pc.field("p") > 0.25),
        ("mapping", pc.field("p") > 0.25),
        ("dataset", pc.field("p") > 0.25),
        ("parquet", pc.field("p") > 0.25),
        ("duckdb", duckdb.ColumnExpression("p") > 0.25),
    ):
        assert_same(rainproof.scan(SOURCES[name](TABLE, tmp_path), where=where), expected)
    # a column not asked for
    extra = rainproof.scan(SOURCES["feather"](TABLE, tmp_path), where=pc.field("extra") < 10)
    assert extra.n == 10
    with pytest.raises(
        rainproof.InputError,
        match=r"^where must be text, or an expression .*; it is of type builtins.int$",
    ):
        rainproof.scan(TABLE, where=3)


CLASSES = rng.dirichlet([1, 2, 3], N)
KIND = np.array([rng.choice(3, p=row) for row in CLASSES])
BIRDS = ["crow", "duck", "hen"]


@for_each("name", ["csv", "parquet", "polars", "table"])
@for_each(
    "spelling, labels",
    [
        (KIND, None),
        (np.array(BIRDS)[KIND], None),
        (KIND + 1, [1, 2, 3]),
        (np.array(list("abc"))[KIND], list("abc")),
    ],
)
def test_several_classes(name, spelling, labels, tmp_path):
    columns = {
        **{bird: CLASSES[:, k] for k, bird in enumerate(BIRDS)},
        "kind": spelling,
        "w": W,
        "month": MONTH,
    }
    table = pa.table({key: pa.array(values.tolist()) for key, values in columns.items()})
    write = {
        "csv": lambda: write_csv(tmp_path / "a.csv", **columns),
        "parquet": lambda: write_parquet(tmp_path / "a.pq", **columns),
    }
    source = write[name]() if name in write else SOURCES[name](table, tmp_path)
    options = {"prob": BIRDS, "outcome": "kind", "labels": labels}
    expected = rainproof.Sample(KIND, CLASSES)
    assert_same(rainproof.scan(source, view="top-label", **options), expected.top_label.compress())
    rest = rainproof.scan(source, view="one-vs-rest", **options)
    assert rest.by == ("class",)
    assert list(rest) == (labels or BIRDS)
    for key, label in zip(rest, expected.classes, strict=True):
        assert_same(rest[key], expected[label].compress())
    by = rainproof.scan(source, view="top-label", by="month", weight="w", **options)
    first = next(iter(by))
    assert by[first].n == (MONTH == 1).sum()
    both = rainproof.scan(source, view="one-vs-rest", by="month", **options)
    assert both.by == ("month", "class")
    key = next(iter(both))
    assert_same(
        both[key], rainproof.Sample(KIND[MONTH == 1] == 0, CLASSES[MONTH == 1, 0]).compress()
    )


def classes_with(**changes):
    columns = {bird: CLASSES[:, k].tolist() for k, bird in enumerate(BIRDS)} | {
        "kind": KIND.tolist(),
        "w": W.tolist(),
    }
    for name, (row, value) in changes.items():
        columns[name][row] = value
    return pa.table(columns)


def test_rules_for_several_classes(monkeypatch):
    monkeypatch.setattr(containers, "ROWS_PER_BATCH", 100)

    def refuse(table, message, **options):
        with pytest.raises(rainproof.InputError, match=f"^{message}$"):
            rainproof.scan(
                table, prob=BIRDS, outcome="kind", **{"view": "top-label", "weight": "w", **options}
            )

    refuse(
        classes_with(duck=(150, None)),
        r"duck must not contain nulls \(missing values\); 1 value does, the first is duck\[150\]",
    )
    twice = pa.concat_tables(
        [classes_with(crow=(150, 0.9)), classes_with(crow=(650, 0.9), duck=(20, None))]
    )
    refuse(
        twice,
        r"crow, duck, hen must sum to 1 in each row \(within 0.0001\); 2 values do not, the first is .*\[150\] = .*",
    )
    refuse(
        classes_with(kind=(3, 7)),
        r"kind must be from 0 to 2; 1 value does not, the first is kind\[3\] = 7; pass labels .*",
    )
    refuse(
        classes_with(kind=(3, None)),
        r"kind must not contain nulls \(missing values\); 1 value does, the first is kind\[3\]",
    )
    refuse(
        classes_with(w=(3, -1.0)),
        r"w must be finite and not negative; 1 value does not, the first is w\[3\] = -1.0",
    )
    for view in ("all", "rows", None):
        rule = "view must be 'top-label' or 'one-vs-rest' with several columns of predictions"
        refuse(classes_with(), f"{rule}; it is {view!r}", view=view)
    refuse(
        classes_with(),
        "pos_label is for two classes; give the labels of several with labels",
        pos_label=1,
    )
    refuse(
        classes_with(),
        r"labels must name each of the 3 classes once; they are \['a'\]",
        labels=["a"],
    )
    with pytest.raises(
        rainproof.InputError,
        match=r"^prob must name a column for each class with view and labels; it is 'p'$",
    ):
        rainproof.scan(TABLE, view="top-label")


WRONG = {
    "type": (3, {}, "source must be a data frame, an Arrow table, a mapping of arrays, a file name or a list of them; "
             "it is of type builtins.int"),
    "empty list": ([], {}, "source must be a data frame, .*; it is of type builtins.list"),
    "column": (TABLE, {"prob": "P"}, r"the table has no column 'P' \(did you mean 'p'\?\); it has 'p', 'y', .*"),
    "by": (TABLE, {"by": "regio"}, r"the table has no column 'regio' \(did you mean 'region'\?\); .*"),
    "where": (TABLE, {"where": "q > 1"}, r"the table has no column 'q'; .*"),
    "no by": (TABLE, {"by": []}, "by must name at least one column"),
    "twice": (TABLE, {"by": "p"}, "prob, outcome and weight and by must be different columns; they are p, y, p"),
    "pattern": ("no/*.parquet", {}, r"no file matches 'no/\*.parquet'"),
    "two kinds": (["a.csv", "b.parquet"], {}, r"files read together must be all text \(CSV\) or all typed \(.*\)"),
    "no rows": (TABLE.slice(0, 0), {}, "the table has columns but no rows"),
    "none left": (TABLE, {"where": "p > 2"}, "the table has columns but no rows that meet where"),
    "lengths": ({"p": [0.5], "y": [0, 1]}, {}, "the mapping must hold columns of one length: .*"),
    "grid": (TABLE, {"grid": 3}, "grid must be a power of two from 2 to 1,048,576; it is 3"),
    "weights": ({"p": [0.5], "y": [1], "w": [0.0]}, {"weight": "w"}, "w must not be zero for every row"),
    "segments": ({"p": [0.5], "y": [1], "w": [0], "s": [1]}, {"weight": "w", "by": "s"}, "w must not be zero .*"),
    "no name": (TABLE, {"outcome": None}, "outcome must be the name of a column, as text; it is None"),
    "date": ({"p": [datetime.date(2026, 1, 1)], "y": [1]}, {}, "p must hold numbers; it holds values of type date32.*"),
}  # fmt: skip


@for_each("case", WRONG)
def test_what_is_wrong_is_said(case):
    source, options, message = WRONG[case]
    with pytest.raises(rainproof.InputError, match=f"^{message}$"):
        rainproof.scan(source, **options)


def test_files_without_rows_and_files_that_are_something_else(tmp_path):
    folder = write_pieces(tmp_path / "d", TABLE.slice(0, 0))
    with pytest.raises(
        rainproof.InputError, match=r"^each of the 3 files has columns but no rows$"
    ):
        rainproof.scan(f"{folder}/*")
    (folder / "b.parquet").write_bytes((folder / "b.parquet").read_bytes()[:-20])
    with pytest.raises(rainproof.InputError, match=r"^cannot read .*b.parquet: "):
        rainproof.scan(f"{folder}/*")
    (tmp_path / "a.feather").write_text("p,y\n0.5,1\n" * 9)
    with pytest.raises(rainproof.InputError, match=r"^cannot read .*a.feather: Not an Arrow file$"):
        rainproof.scan(tmp_path / "a.feather")


def test_columns_without_a_value_and_labels_that_are_dates():
    message = r"^p must not contain nulls \(missing values\); 3 values do, the first is p\[0\]$"
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.scan(pa.table({"p": pa.nulls(3, pa.float64()), "y": [0, 1, 1]}))
    day = datetime.date(2026, 5, 17)
    dates = pa.table({"p": [0.5, 0.25], "y": [day, day + datetime.timedelta(1)]})
    assert rainproof.scan(dates, pos_label=day).event_rate == 0.5


def test_a_lazy_frame_is_never_collected_whole(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    with pytest.raises(
        rainproof.InputError, match=r"^reading a LazyFrame in batches needs Polars 1.34"
    ):
        rainproof.scan(pl.from_arrow(TABLE).lazy())


def test_names_that_are_no_utf8(tmp_path):
    for name, write in (("\udcff.csv", write_csv), ("\udcff.parquet", None)):
        path = tmp_path / name
        if write is None:
            with path.open("wb") as file:
                pq.write_table(TABLE, file)
        else:
            write(path, p=P, y=Y)
        assert rainproof.scan(path).n == N


def test_a_pattern_is_a_name_where_a_file_has_it(tmp_path):
    assert rainproof.scan(write_parquet(tmp_path / "a[1].parquet", p=P, y=Y)).n == N


def test_progress_counts_rows_before_the_condition(monkeypatch):
    monkeypatch.setattr(containers, "ROWS_PER_BATCH", 300)
    seen = []
    rainproof.scan(TABLE, where="p > 0.5", progress=lambda *call: seen.append(call))
    assert seen == [(300, 900), (600, 900), (900, 900)]


def test_rows_elsewhere_are_left_to_their_engine():
    """Addresses of databases are; files, and rows of this process, are read here."""
    assert scanning.is_remote("postgresql://here/there")
    assert not scanning.is_remote(TABLE)
    assert not scanning.is_remote("a.csv")
    message = r"^the address of a database must end in # and the name of a table"
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.scan("postgresql://here/there")
    with pytest.raises(rainproof.InputError, match=r"^cannot read"):
        rainproof.scan("a.csv")


@for_each(
    "make, options, absent",
    [
        ("import polars; source = polars.DataFrame(columns)", "", "pandas pyspark duckdb dask"),
        (
            "import polars; source = polars.DataFrame(columns).lazy()",
            ", by='g', where='p > 0.1'",
            "pandas pyspark dask",
        ),
        (
            "import polars; source = Streaming(polars.DataFrame(columns))",
            ", pos_label='1'",
            "pandas",
        ),
        ("source = 'a.csv'", ", by='g', where=\"g = 'a'\"", "pandas polars duckdb pyspark dask"),
        ("source = 'a.parquet'", ", weight='w'", "pandas polars duckdb pyspark dask"),
        # not needed for numbers
        ("source = 'a.parquet'", ", outcome='w'", "pandas pyarrow.compute"),
    ],
)
def test_scanning_imports_no_library_that_does_not_hold_the_rows(make, options, absent, tmp_path):
    """pandas alone would take a second, and PyArrow imports it wherever it is installed."""
    write_csv(tmp_path / "a.csv", p=[0.25, 0.75], y=[0, 1], g=["a", "b"])
    write_parquet(tmp_path / "a.parquet", p=[0.25, 0.75], y=[False, True], w=[0, 1])
    code = f"""
import sys, rainproof
columns = {{"p": [0.25, 0.75], "y": [0, 1], "g": ["a", "b"]}}
class Streaming:
    def __init__(self, frame): self.__arrow_c_stream__ = frame.__arrow_c_stream__
{make}
rainproof.scan(source{options})
print(*[name for name in {absent.split()!r} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")
    assert Path(pd.__file__).exists()
