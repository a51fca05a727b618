"""The sample: its input, its attributes, and the exactness of compression."""

from __future__ import annotations

import inspect
import pickle
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each
from helpers.strategies import powers, samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof

RNG = np.random.default_rng(20)
P = RNG.random(1000)
Y = (RNG.random(1000) < P**1.5).astype(np.int64)
W = RNG.exponential(size=1000)


def table(sample, grid=2**16):
    cells = sample.compress(grid).cells
    return cells.slot, cells.count, cells.weight, cells.rise


def same(a, b, grid=2**16):
    for left, right in zip(table(a, grid), table(b, grid), strict=True):
        assert_array_equal(left, right)


@for_each(
    "dtype",
    ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "f2", "O", ">i4", "g"],
)
def test_label_types_give_the_same_sums(dtype):
    same(rainproof.Sample(Y.astype(dtype), P), rainproof.Sample(Y, P))


@for_each("dtype", ["f4", "f8", "f2", ">f8", "O", "g"])
def test_prediction_types_are_read_for_what_they_are(dtype):
    p = P.astype(dtype)
    same(rainproof.Sample(Y, p), rainproof.Sample(Y, p.astype(np.float64)))


@for_each("dtype", ["f4", "f8", "f2", "i4", "u1", "?"])
def test_weight_types(dtype):
    w = (10 * W).astype(dtype)
    same(
        rainproof.Sample(Y, P, sample_weight=w),
        rainproof.Sample(Y, P, sample_weight=w.astype(np.float64)),
    )


@for_each(
    "convert",
    [
        list,
        tuple,
        pd.Series,
        lambda a: pd.Series(a).array,
        lambda a: np.ma.masked_array(a),
        memoryview,
    ],
)
def test_containers(convert):
    same(
        rainproof.Sample(convert(Y), convert(P), sample_weight=convert(W)),
        rainproof.Sample(Y, P, sample_weight=W),
    )


def test_integer_and_boolean_predictions():
    same(rainproof.Sample(Y, Y), rainproof.Sample(Y, Y.astype(float)))
    same(rainproof.Sample(Y, Y.astype(bool)), rainproof.Sample(Y, Y.astype(float)))


def test_strided_reversed_and_unaligned_rows_are_read_in_place():
    both = np.empty((1000, 3))
    both[:] = np.stack([Y, P, W], axis=1)
    for view in (np.s_[:], np.s_[::-1], np.s_[::7]):
        same(
            rainproof.Sample(both[view, 0], both[view, 1], sample_weight=both[view, 2]),
            rainproof.Sample(Y[view], P[view], sample_weight=W[view]),
        )
    packed = np.zeros(1000, np.dtype([("pad", "u1"), ("p", "f8"), ("y", "i4")]))
    packed["p"], packed["y"] = P, Y
    same(rainproof.Sample(packed["y"], packed["p"]), rainproof.Sample(Y, P))
    same(
        rainproof.Sample(np.broadcast_to(np.int8(1), 5), np.broadcast_to(0.25, 5)),
        rainproof.Sample([1] * 5, [0.25] * 5),
    )


def test_rows_are_used_in_place_and_never_changed():
    p, y, w = P.copy(), Y.copy(), W.copy()
    for array in (p, y, w):
        array.flags.writeable = False
    sample = rainproof.Sample(y, p, sample_weight=w)
    assert np.shares_memory(sample.y_prob, p)
    assert np.shares_memory(sample.y_true, y)
    assert np.shares_memory(sample.sample_weight, w)
    assert not rainproof.Sample(Y.copy(), P.copy()).y_prob.flags.writeable
    rainproof.soft_binned_cdl(y, p, sample_weight=w)
    for before, after in ((P, p), (Y, y), (W, w)):
        assert_array_equal(before, after)


def test_pos_label():
    words = np.where(Y == 1, "yes", "no")
    same(rainproof.Sample(words, P, pos_label="yes"), rainproof.Sample(Y, P))
    same(rainproof.Sample(words.astype(object), P, pos_label="yes"), rainproof.Sample(Y, P))
    same(rainproof.Sample(Y + 1, P, pos_label=2), rainproof.Sample(Y, P))
    same(rainproof.Sample(Y, P, pos_label=0), rainproof.Sample(1 - Y, P))
    same(
        rainproof.Sample(["no", "no"], [0.1, 0.2], pos_label="yes"),
        rainproof.Sample([0, 0], [0.1, 0.2]),
    )
    same(
        rainproof.Sample(["yes", "yes"], [0.1, 0.2], pos_label="yes"),
        rainproof.Sample([1, 1], [0.1, 0.2]),
    )


def test_what_a_sample_knows_of_itself():
    sample = rainproof.Sample(Y, P, sample_weight=W)
    assert sample.n == 1000
    assert sample.grid is None
    assert sample.counts is None
    assert sample.total_weight == pytest.approx(W.sum(), rel=1e-14)
    assert sample.event_rate == pytest.approx(np.average(Y, weights=W), rel=1e-14)
    assert sample.effective_n == pytest.approx(W.sum() ** 2 / (W**2).sum(), rel=1e-13)
    assert repr(sample) == f"Sample(n=1000, events={Y.sum()}, total_weight={W.sum():.6g})"
    assert repr(rainproof.Sample(Y, P)) == f"Sample(n=1000, events={Y.sum()})"
    compressed = sample.compress(64)
    assert (compressed.n, compressed.grid) == (1000, 64)
    assert compressed.effective_n == pytest.approx(sample.effective_n, rel=1e-13)
    assert (
        repr(compressed) == f"Sample(n=1000, events={Y.sum()}, grid=64, total_weight={W.sum():.6g})"
    )
    assert rainproof.Sample([0, 1, 1], [0.5, 0.5, 0.5], sample_weight=[1, 0, 2]).n == 2


def test_compression_follows_its_definition():
    m = 32
    compressed = rainproof.Sample(Y, P, sample_weight=W).compress(m)
    rows = {}
    for y, p, w in zip(Y, P, W, strict=True):
        k = (int(np.floor(m * p)), int(y))
        total, mass, count = rows.get(k, (0.0, 0.0, 0))
        rows[k] = total + w * p, mass + w, count + 1
    expected = [
        (k[1], total / mass, mass, count) for k, (total, mass, count) in sorted(rows.items())
    ]
    got = zip(
        compressed.y_true,
        compressed.y_prob,
        compressed.sample_weight,
        compressed.counts,
        strict=True,
    )
    assert_allclose(list(got), expected, rtol=1e-13)


@given(samples(), st.integers(1, 20).map(lambda k: 2**k), st.randoms(use_true_random=False))
def test_compress_and_merge_in_any_order_and_split(sample, m, random):
    """The sums of a sample do not depend on how its rows came together: not in one bit,
    unweighted.
    """
    y, p, w = sample
    whole = rainproof.Sample(y, p, sample_weight=w).compress(m)
    order = list(range(len(p)))
    random.shuffle(order)
    parts, stream = [], rainproof.Accumulator(m)
    while order:
        size = random.randint(1, len(order))
        take, order = order[:size], order[size:]
        weight = None if w is None else w[take]
        if w is None or weight.sum() > 0:
            parts.append(rainproof.Sample(y[take], p[take], sample_weight=weight).compress(m))
            stream.update(y[take], p[take], sample_weight=weight)
    merged = parts[0]
    for part in parts[1:]:
        merged = merged + part
    for other in (merged, stream.sample(), pickle.loads(pickle.dumps(merged))):
        assert other.n == whole.n
        for left, right in zip(table(other, m), table(whole, m), strict=True):
            assert_allclose(
                left,
                right,
                rtol=0 if w is None else 1e-15,
                atol=0 if w is None else 1e-16 * whole.total_weight,
            )
        assert rainproof.soft_binned_cdl(other) == pytest.approx(
            rainproof.soft_binned_cdl(whole), abs=1e-15
        )


@given(samples(weighted=False), powers, st.integers(0, 10))
def test_coarsening_is_what_a_coarser_pass_gives(sample, m, extra):
    """To the last bit, but for the lowest cell, where each pass rounds offsets to 2^-52 of its
    own.
    """
    y, p, _ = sample
    fine, coarse = (
        rainproof.Sample(y, p).compress(m << extra).compress(m),
        rainproof.Sample(y, p).compress(m),
    )
    assert_array_equal(fine.cells.slot, coarse.cells.slot)
    assert_array_equal(fine.counts, coarse.counts)
    lowest = coarse.cells.slot < 2
    assert_array_equal(fine.cells.rise[:, ~lowest], coarse.cells.rise[:, ~lowest])
    assert_allclose(
        fine.cells.rise.sum(0),
        coarse.cells.rise.sum(0),
        rtol=0,
        atol=len(p) * 2.0**-53 * (1 + 2.0**-extra),
    )


def test_sums_of_many_equal_predictions_have_no_drift():
    """Adding 0.1 a million times in doubles is off by 1e-6; here it is exact."""
    n = 1_000_000
    cells = rainproof.Sample(np.zeros(n, np.int8), np.full(n, 0.6)).compress(2).cells
    assert Fraction(cells.rise[0, 0]) + Fraction(cells.rise[1, 0]) == n * (2 * Fraction(0.6) - 1)
    weighted = rainproof.Sample(
        np.zeros(n, np.int8), np.full(n, 0.1), sample_weight=np.full(n, 0.1)
    ).compress(2)
    assert weighted.total_weight == 0.1 * n


def test_one_thread_or_many_give_the_same_bits(monkeypatch):
    n = 1_100_000
    p = RNG.random(n)
    y = RNG.random(n) < p
    w = RNG.random(n)
    results = []
    for threads in (1, 2, 4):
        monkeypatch.setattr(
            "rainproof.core.cells.available_threads", lambda threads=threads: threads
        )
        results.append(
            (
                table(rainproof.Sample(y, p), 1024),
                table(rainproof.Sample(y, p, sample_weight=w), 1024),
            )
        )
    for plain, weighted in results[1:]:
        for left, right in zip(plain, results[0][0], strict=True):
            assert_array_equal(left, right)
        for left, right in zip(weighted, results[0][1], strict=True):
            assert_allclose(left[..., :], right, rtol=1e-14, atol=1e-12)


def test_adding_needs_compression_and_one_grid():
    rows = rainproof.Sample([0, 1], [0.2, 0.8])
    with pytest.raises(
        rainproof.InputError,
        match=r"only compressed samples can be added: call compress\(grid\) on both",
    ):
        rows + rows.compress(4)
    with pytest.raises(
        rainproof.InputError, match="they have grid = 4 and grid = 8: compress the finer one again"
    ):
        rows.compress(4) + rows.compress(8)
    with pytest.raises(
        rainproof.InputError, match="compressed to grid = 4 cannot be made finer; grid is 8"
    ):
        rows.compress(4).compress(8)
    with pytest.raises(TypeError):
        rows + 1


def test_a_weighted_and_an_unweighted_sample_merge():
    y, p = [0, 1, 1], [0.2, 0.8, 0.4]
    merged = rainproof.Sample(y, p).compress(8) + rainproof.Sample(
        y, p, sample_weight=[2, 2, 2]
    ).compress(8)
    once = rainproof.Sample(y, p, sample_weight=[3, 3, 3]).compress(8)
    assert_array_equal(merged.sample_weight, once.sample_weight)
    assert_array_equal(merged.y_prob, once.y_prob)
    assert_array_equal(merged.counts, 2 * once.counts)


def test_distinct_pools_ties_in_order():
    sample = rainproof.Sample([1, 0, 0, 1], [0.7, 0.3, 0.7, -0.0], sample_weight=[1, 2, 3, 4])
    table = sample.distinct()
    assert sample.distinct() is table  # sorted once
    assert_array_equal(table.prob, [0, 0.3, 0.7])
    assert_array_equal(table.negative, [0, 2, 3])
    assert_array_equal(table.positive, [4, 0, 1])


def test_distinct_over_several_chunks(monkeypatch):
    monkeypatch.setattr("rainproof.core.distinct._CHUNK", 7)
    p = np.round(P, 2)
    few = rainproof.Sample(Y, p, sample_weight=W).distinct()
    values, which = np.unique(p, return_inverse=True)
    assert_array_equal(few.prob, values)
    assert_allclose(few.positive, np.bincount(which, W * Y), rtol=1e-14)
    assert_allclose(few.negative, np.bincount(which, W * (1 - Y)), rtol=1e-13, atol=1e-15)


def test_distinct_after_compression_pools_each_cell_at_its_mean():
    table = (
        rainproof.Sample([1, 0, 0, 1], [0.75, 0.8, 0.3, 0.9], sample_weight=[1, 2, 3, 4])
        .compress(4)
        .distinct()
    )
    assert_allclose(table.prob, [0.3, (0.75 + 1.6 + 3.6) / 7], rtol=1e-15)
    assert_array_equal(table.negative, [3, 2])
    assert_array_equal(table.positive, [0, 5])


def test_a_perfectly_calibrated_sample_is_known_to_its_resolution_when_compressed():
    y = np.tile(np.arange(1000) < 100, 1000)
    assert (
        rainproof.soft_binned_cdl(rainproof.Sample(y, np.full(len(y), 0.1)).compress()) == 2.0**-16
    )


def test_a_share_of_events_is_never_more_than_all():
    rng = np.random.default_rng(0)
    n = 300_000
    sample = rainproof.Sample(np.ones(n), 1 - 4e-4 * rng.random(n), sample_weight=rng.random(n))
    with pytest.warns(rainproof.OneClassWarning, match="every outcome is 1"):
        rainproof.measures.soft_binned_profile(sample)
    assert sample.event_rate == 1.0


def test_the_table_behind_a_sample_is_as_fine_as_asked():
    """With counts and squared weights, for bounds; what is compressed stays as it is."""
    sample = rainproof.Sample([0, 1, 1], [0.1, 0.1, 0.7], sample_weight=[1.0, 2.0, 3.0])
    table = sample.tables.cell_table(2)
    assert table.m >= 2
    assert table.squares.tolist() == [1.0, 4.0, 9.0]
    fine = sample.tables.cell_table(2**15)
    assert fine.m == 2**15
    assert (fine.slot >> 1).tolist() == [int(0.1 * 2**15)] * 2 + [int(0.7 * 2**15)]
    assert sample.compress(4).tables.cell_table(64).m == 4


def many_rows(n=2**18):
    rng = np.random.default_rng(4)
    p = rng.random(n) ** 8
    return rng.random(n) < p, p


def test_what_was_asked_before_does_not_show():
    y, p = many_rows()
    asked = rainproof.Sample(y, p)
    asked.tables.cell_sums(2**18)  # a finer pass
    for m in (4, 64, 2**13):
        mine, fresh = asked.tables.cell_sums(m), rainproof.Sample(y, p).tables.cell_sums(m)
        assert mine[0] == fresh[0]
        assert_array_equal(mine[3], fresh[3])


def test_a_weight_too_small_to_be_squared_is_no_fault():
    sample = rainproof.Sample([0, 1, 1], [0.1, 0.5, 0.9], sample_weight=[1, 1e-170, 1]).compress(8)
    assert sample.cells.fault() is None
    assert sample.effective_n == 2


def test_what_a_sample_shows_is_documented():
    """Whatever has no underscore has a docstring; the table of the page names what exists."""
    shown = [name for name in dir(rainproof.Sample) if not name.startswith("_")]
    assert [name for name in shown if not inspect.getdoc(getattr(rainproof.Sample, name))] == []
    page = (Path(__file__).parents[2] / "docs" / "reference" / "data.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith("| `Sample` |")]
    assert set(re.findall(r"`(\w+)\(", row)) <= set(shown)
