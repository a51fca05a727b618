"""Rows kept in memory: the same rows, checks and groups as those that are compressed."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.io.kept_rows import keep_rows
from rainproof.io.scanning import aggregate

ROWS = {
    "p": [0.25, 0.5, 1.0, 0.0, 0.75],
    "y": ["no", "yes", "yes", "no", "no"],
    "w": [1.0, 2.0, 3.0, 0.0, 0.5],
    "who": ["ann", "bob", "ann", "eve", "bob"],
}


def labels_of(kept):
    """The columns of segments, and the segment of each row in its order."""
    places = kept.rows.segment.places()
    found = {row: key for key, at in places.items() for row in at.tolist()}
    assert sum(map(len, places.values())) == len(found) == kept.n
    return kept.rows.segment.by, [found[row] for row in range(kept.n)]


def test_rows_weights_and_groups_in_their_order():
    kept = keep_rows(ROWS, "p", "y", weight="w", groups="who", pos_label="yes")
    np.testing.assert_array_equal(kept.y_prob, ROWS["p"])
    np.testing.assert_array_equal(kept.y_true, [0, 1, 1, 0, 0])
    np.testing.assert_array_equal(kept.sample_weight, ROWS["w"])
    np.testing.assert_array_equal(kept.units.unit, [0, 1, 0, 2, 1])
    assert kept.grid is None


def test_labels_of_segments_in_their_order():
    rows = {**ROWS, "site": ["a", None, "b", "a", "b"], "year": [7, 7, 8, 8, 7]}
    kept = keep_rows(rows, "p", "y", groups="who", by=("site", "year"), pos_label="yes")
    assert labels_of(kept) == (("site", "year"), list(zip(rows["site"], rows["year"], strict=True)))
    # groups that are segments
    again = keep_rows(rows, "p", "y", groups="who", by=("who",), pos_label="yes")
    assert labels_of(again) == (("who",), rows["who"])
    np.testing.assert_array_equal(again.units.unit, [0, 1, 0, 2, 1])
    assert keep_rows(ROWS, "p", "y", pos_label="yes").rows.segment is None


def test_batches_and_files_are_joined(tmp_path):
    for name, rows in (("a", "p,y,g\n0.1,1,7\n0.2,0,8\n"), ("b", "p,y,g\n0.3,1,8\n0.4,0,9\n")):
        (tmp_path / f"{name}.csv").write_text(rows)
    kept = keep_rows(str(tmp_path / "*.csv"), "p", "y", groups="g", where="p > 0.15")
    np.testing.assert_array_equal(kept.y_prob, [0.2, 0.3, 0.4])
    np.testing.assert_array_equal(kept.units.unit, [0, 0, 1])


def test_no_more_than_allowed():
    numbers = {"p": ROWS["p"], "y": [0, 1, 1, 0, 0]}
    assert keep_rows(numbers, "p", "y", at_most=5).grid is None
    assert keep_rows(numbers, "p", "y").groups is None
    rows = {**numbers, "q": ROWS["p"], "who": ROWS["who"]}
    for always in ({"groups": "who"}, {"fractional": True}, {"prob": ["p", "q"]}):
        assert keep_rows(rows, **{"prob": "p", "outcome": "y", "at_most": 4, **always}).grid is None


@for_each("by", [(), ("site",), ("site", "year")])
@for_each("weight", [None, "w"])
def test_too_many_are_compressed_in_the_same_pass(tmp_path, by, weight):
    """Those of the first file are kept when the second one makes them too many."""
    rng = np.random.default_rng(2)
    for name in "abc":
        rows = (
            f"{rng.random()},{k % 2},{k % 5},{'xyz'[k % 3] if k % 7 else ''},{k % 4}\n"
            for k in range(50)
        )
        (tmp_path / f"{name}.csv").write_text("p,y,w,site,year\n" + "".join(rows))
    files, options = str(tmp_path / "*.csv"), {"weight": weight, "by": list(by)}
    found = keep_rows(files, "p", "y", at_most=70, **options)
    expected = rainproof.scan(files, **{**options, "by": list(by) or None})
    assert type(found) is type(expected)
    pairs = [(found[key], expected[key]) for key in expected] if by else []
    pairs.append((found.pooled, expected.pooled) if by else (found, expected))
    for one, other in pairs:
        assert one.grid == other.grid == 1 << 16
        for column in ("y_true", "y_prob", "sample_weight", "counts"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    kept = keep_rows(files, "p", "y", at_most=150, **options)
    assert (kept.rows.segment is not None) == bool(by)
    if by:
        assert kept.by_segment().counts == expected.counts


def test_errors_are_counted_over_rows_that_are_kept_and_others(tmp_path):
    for name, bad in (("a", "0.5"), ("b", "2"), ("c", "3")):
        (tmp_path / f"{name}.csv").write_text(f"p,y\n0.1,1\n{bad},0\n")
    for at_most in (1, 3, 5, 6):
        error = r"p must lie in \[0, 1\]; 2 values do not, the first is p\[1\] of .*b.csv = 2.0"
        with pytest.raises(rainproof.InputError, match=error):
            keep_rows(str(tmp_path / "*.csv"), "p", "y", at_most=at_most)


def test_a_database_compresses_too_many_itself(tmp_path, monkeypatch):
    numbers = {"p": ROWS["p"], "y": [0, 1, 1, 0, 0], "who": ROWS["who"]}
    with sqlite3.connect(tmp_path / "rows.db") as db:
        db.execute("CREATE TABLE rows (p REAL, y INTEGER, who TEXT)")
        db.executemany("INSERT INTO rows VALUES (?, ?, ?)", zip(*numbers.values(), strict=True))
    db.close()
    address, asked = f"sqlite:///{tmp_path / 'rows.db'}#rows", []
    monkeypatch.setattr(
        "rainproof.io.scanning.aggregate", lambda *args, **_: asked.append(args) or aggregate(*args)
    )
    for at_most, engine in ((5, 0), (4, 1)):
        found = keep_rows([address], "p", "y", by=["who"], at_most=at_most)
        assert len(asked) == engine
    assert found.counts == {"ann": 2, "bob": 2, "eve": 1}
    assert keep_rows(address, "p", "y", where="y = 1", drop_missing=True, at_most=1).n == 2
    assert len(asked) == 1  # as missing values are dropped in this process


@for_each(
    "column, values, error",
    [
        (
            "p",
            [0.5, 2.0, 3.0],
            r"p must lie in \[0, 1\]; 2 values do not, the first is p\[1\] = 2.0",
        ),
        ("y", [0, 2, 1], r"y must be 0 or 1 .*; 1 value does not, the first is y\[1\] = 2"),
        (
            "g",
            ["a", None, None],
            r"g must not contain nulls \(missing values\); 2 values do, the first is g\[1\]",
        ),
    ],
)
def test_the_same_errors_as_scan(column, values, error):
    rows = {"p": [0.1, 0.2, 0.3], "y": [0, 1, 1], "g": ["a", "b", "c"], column: values}
    with pytest.raises(rainproof.InputError, match=error):
        keep_rows(rows, "p", "y", groups="g")


def test_errors_are_counted_over_all_files(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("p,y,g\n0.1,1,\n0.2,0,8\n")
    with pytest.raises(
        rainproof.InputError,
        match=r"g must not contain nulls .*; 2 values do, the first is g\[0\] of ",
    ):
        keep_rows(str(tmp_path / "*.csv"), "p", "y", groups="g")


@for_each("by", [None, "r"])
def test_a_label_that_differs_in_capitals_alone_is_an_error_as_in_python(tmp_path, by):
    path = tmp_path / "a.csv"
    path.write_text("p,y,r\n0.5,yes,a\n0.25,yes,b\n")
    with pytest.raises(
        rainproof.InputError, match=r"^y must hold 'Yes', which never occurs; every label is 'yes'$"
    ):
        rainproof.scan(path, by=by, pos_label="Yes")
    with pytest.raises(rainproof.InputError, match="which never occurs"):
        keep_rows(path, "p", "y", pos_label="Yes")
    assert rainproof.scan(path, pos_label="no").event_rate == 0
    path.write_text("p,y,r\n0.5,yes,a\n0.25,Yes,b\n")
    assert rainproof.scan(path, pos_label="Yes").event_rate == 0.5
