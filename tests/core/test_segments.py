"""Segments from one pass equal the samples of their rows; pooled, they equal the sample of all
rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.core import segment_sums as hashed_cells
from rainproof.core.segment_sums import SegmentSums
from rainproof.core.segments import Segments, from_sums
from rainproof.core.validation import as_columns

rng = np.random.default_rng(61)


def assert_same(sample, expected):
    """Bit for bit."""
    assert repr(sample) == repr(expected)
    for name in ("y_true", "y_prob", "sample_weight", "counts"):
        np.testing.assert_array_equal(getattr(sample, name), getattr(expected, name), strict=True)


def assert_near(sample, expected):
    """Counts exactly, sums as closely as the order of additions allows."""
    np.testing.assert_array_equal(sample.y_true, expected.y_true, strict=True)
    np.testing.assert_array_equal(sample.counts, expected.counts, strict=True)
    np.testing.assert_allclose(sample.sample_weight, expected.sample_weight, rtol=1e-15)
    np.testing.assert_allclose(sample.y_prob, expected.y_prob, rtol=1e-15)


def rows(n, segments, *, weighted):
    p = rng.random(n)
    p[: n // 4] = rng.integers(0, 9, n // 4) / 8  # ties, 0, 1 and grid points
    p[-1] = 1e-12
    y = (rng.random(n) < p).astype(np.int8)
    w = np.where(rng.random(n) < 0.1, 0.0, 10.0 ** rng.uniform(-6, 6, n)) if weighted else None
    return y, p, w, rng.integers(0, segments, n)


def grouped(m, parts, *, weighted, by=("s",), keys=None):
    one = SegmentSums(m, weighted=weighted)
    for y, p, w, s in parts:
        one.add(as_columns(y, p, w), s)
    top = max(int(s.max()) for *_, s in parts) + 1
    return from_sums(by, keys or [(k,) for k in range(top)], one)


@for_each("threads", [1, 3])
@for_each("weighted", [False, True])
@for_each("m, segments", [(2, 1), (64, 40), (2**16, 7), (2**20, 5), (128, 900)])
def test_every_segment_is_the_sample_of_its_rows(monkeypatch, m, segments, weighted, threads):
    monkeypatch.setattr(hashed_cells, "available_threads", lambda: threads)
    monkeypatch.setattr(hashed_cells, "_FIRST_ENTRIES", 4)  # so that tables grow often
    monkeypatch.setattr(hashed_cells, "_ROWS_PER_THREAD", 1000)
    monkeypatch.setattr(hashed_cells, "_CHUNK", 100)
    parts = [rows(n, segments, weighted=weighted) for n in (2000, 3, 700)]
    found = grouped(m, parts, weighted=weighted)
    y, p, s = (np.concatenate([part[i] for part in parts]) for i in (0, 1, 3))
    w = np.concatenate([part[2] for part in parts]) if weighted else None
    assert isinstance(found, Segments)
    check = assert_near if weighted else assert_same
    for key, sample in found.items():
        of = s == key
        weight = None if w is None else w[of]
        check(sample, rainproof.Sample(y[of], p[of], sample_weight=weight).compress(m))
        assert found.counts[key] == sample.n
    check(found.pooled, rainproof.Sample(y, p, sample_weight=w).compress(m))
    assert found.pooled is found.pooled
    assert sum(found.counts.values()) == found.pooled.n


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.sampled_from([0.0, 1.0, 0.5, 1e-300, -0.0]) | st.floats(0, 1),
            st.integers(0, 3),
        ),
        min_size=1,
    )
)
def test_any_rows(some):
    y, p, s = (np.array(column) for column in zip(*some, strict=True))
    found = grouped(8, [(y, p, None, s)], weighted=False)
    assert list(found) == sorted(set(s.tolist()))
    for key in found:
        assert_same(found[key], rainproof.Sample(y[s == key], p[s == key]).compress(8))


def test_sums_that_came_as_a_table_are_the_same():
    """What another engine sends: entries in any order, the same one perhaps twice."""
    y, p, w, s = rows(900, 5, weighted=True)
    m = 16
    cell, count = np.floor(m * p).astype(int), (w > 0).astype(int)
    order = rng.permutation(len(p))[: len(p)]
    sums = {
        "cell": cell,
        "outcome": y,
        "count": count,
        "weight": w,
        "rise": w * (m * p - cell),
        "squares": w * w,
    }
    kept = order[count[order] > 0]
    columns = {
        f"rainproof_{name}": column[kept]
        for name, column in {"grid": np.full(900, m), **sums}.items()
    }
    labels = {
        "name": [f"k{k}" for k in s[kept]],
        "k": [None if k == 3 else int(k) for k in s[kept]],
    }
    found = Segments.from_table({**columns, **labels}, by=["name", "k"])
    assert found.by == ("name", "k")
    for k in range(5):
        expected = rainproof.Sample(y[s == k], p[s == k], sample_weight=w[s == k]).compress(m)
        sample = found[f"k{k}", None if k == 3 else k]
        np.testing.assert_array_equal(sample.counts, expected.counts)
        np.testing.assert_allclose(sample.y_prob, expected.y_prob, rtol=1e-12)
        np.testing.assert_allclose(sample.sample_weight, expected.sample_weight, rtol=1e-12)
    np.testing.assert_allclose(found.pooled.total_weight, w.sum(), rtol=1e-12)
    one = rainproof.Sample.from_table(columns)
    assert one.n == found.pooled.n


def test_a_bad_row_changes_nothing():
    one = SegmentSums(8, weighted=True)
    good, s = as_columns([0, 1], [0.2, 0.7], [1.0, 2.0]), np.array([0, 1])
    one.add(good, s)
    for y, p, w, message in (
        (
            [0, 1],
            [0.2, 1.5],
            [1.0, 1.0],
            r"^y_prob must lie in \[0, 1\]; 1 value does not, the first is y_prob\[1\] = 1.5$",
        ),
        (
            [0, 2],
            [0.2, 0.5],
            [1.0, 1.0],
            r"^y_true must be 0 or 1 .* the first is y_true\[1\] = 2;",
        ),
        (
            [0, 1],
            [0.2, 0.5],
            [1.0, np.nan],
            r"^sample_weight must be finite and not negative; 1 value does not",
        ),
        (
            [0, 1],
            [0.2, 0.5],
            [-1.0, 1.0],
            r"^sample_weight must be finite and not negative; 1 value does not",
        ),
    ):
        with pytest.raises(rainproof.InputError, match=message):
            one.add(as_columns(y, p, w), s)
    assert one.rows == 2
    one.add(as_columns([], [], []), np.zeros(0, np.int64))
    found = from_sums(("s",), [(0,), (1,)], one)
    assert found.counts == {0: 1, 1: 1}


def test_more_rows_than_can_be_counted(monkeypatch):
    monkeypatch.setattr(hashed_cells, "_MAX_ROWS", 3)
    one = SegmentSums(8, weighted=False)
    one.add(as_columns([0, 1], [0.2, 0.7], None), np.array([0, 1]))
    with pytest.raises(
        rainproof.InputError,
        match=r"^segments take up to 3 rows in one pass: split the data, or do with",
    ):
        one.add(as_columns([0, 1], [0.2, 0.7], None), np.array([0, 1]))


def test_segments_without_weight_are_none():
    y, p, s = [0, 1, 1], [0.2, 0.7, 0.1], np.array([0, 1, 1])
    assert list(grouped(8, [(y, p, [0.0, 1.0, 0.0], s)], weighted=True)) == [1]
    with pytest.raises(
        rainproof.InputError, match=r"^sample_weight must not be zero for every row$"
    ):
        grouped(8, [(y, p, [0.0, 0.0, 0.0], s)], weighted=True)


def test_the_mapping_is_in_order_and_none_comes_last():
    keys = [("b", 2), (None, 1), ("a", None), ("b", 1.5), ("a", True)]
    s = np.arange(5)
    found = grouped(8, [([1] * 5, [0.5] * 5, None, s)], weighted=False, by=("x", "n"), keys=keys)
    assert list(found) == [("a", True), ("a", None), ("b", 1.5), ("b", 2), (None, 1)]
    assert len(found) == 5
    assert ("b", 2) in found
    assert "b" not in found
    with pytest.raises(KeyError, match="north"):
        found["north"]
    assert repr(found) == "Segments(5 by x, n, n=5)"
    assert str(found).splitlines()[1:3] == [
        "a, True             1 rows  (few)",
        "a, None             1 rows  (few)",
    ]


def test_many_segments_print_in_few_lines():
    samples = {k: rainproof.Sample([0, 1] * 60, [0.5] * 120) for k in range(30)}
    lines = str(Segments.from_samples(samples, by=["k"])).splitlines()
    assert len(lines) == 14
    assert lines[-1] == "and 18 more"
    assert "few" not in lines[1]


def test_measures_and_small_segments():
    y, p, _, s = rows(800, 3, weighted=False)
    s[:30] = 3
    found = grouped(64, [(y, p, None, s)], weighted=False)
    assert found.small(10) == []
    assert found.small() == [3]
    values = found.map(rainproof.soft_binned_cdl, rounding="hard")
    assert values == {k: rainproof.soft_binned_cdl(found[k], rounding="hard") for k in range(4)}


def test_one_name_is_one_column_and_no_samples_are_refused():
    sample = rainproof.Sample([0, 1], [0.2, 0.7])
    assert Segments.from_samples({"n": sample}, by="region").by == ("region",)
    with pytest.raises(
        rainproof.InputError, match=r"^samples must hold at least one segment; it is empty$"
    ):
        Segments.from_samples({}, by="region")


def test_samples_of_different_grids_make_one_whole():
    y, p, _, s = rows(500, 2, weighted=False)
    mixed = {
        "a": rainproof.Sample(y[s == 0], p[s == 0]),
        "b": rainproof.Sample(y[s == 1], p[s == 1]).compress(32),
    }
    assert_same(Segments.from_samples(mixed, by=["x"]).pooled, rainproof.Sample(y, p).compress(32))
    plain = {k: rainproof.Sample(y[s == k], p[s == k]) for k in (0, 1)}
    assert_same(Segments.from_samples(plain, by=["x"]).pooled, rainproof.Sample(y, p).compress())
