"""Sums by bin: every row goes to its bin, for every type, memory layout and distance to an edge."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof.core.distinct import bin_table

LEFT_CLOSED = st.booleans()


def edges_of(n, left_closed):
    """The inner edges k/n, each of the bin below it; or of the bin above, where n/n is an edge
    too.
    """
    return np.nextafter(np.arange(1, n + 1) / n, 0) if left_closed else np.arange(1, n) / n


def expected(y, p, w, edges):
    at = np.searchsorted(edges, np.asarray(p, float), side="left")
    w = np.ones(len(p)) if w is None else np.asarray(w, float)
    return [np.bincount(at, column, len(edges) + 1) for column in (w, w * y, w * p)]


def check(y, p, w, n, left_closed, rtol=1e-12):
    edges = edges_of(n, left_closed)
    got = rainproof.Sample(y, p, sample_weight=w).tables.bin_sums(n, edges)
    weight, positive, prob = expected(y, p, w, edges)
    assert_allclose(got[0], weight, rtol=rtol)
    assert_allclose(got[1], positive, rtol=rtol)
    assert_allclose(got[2], prob, rtol=rtol, atol=2.0**-52 * weight.sum())


@given(samples(), st.integers(1, 40), LEFT_CLOSED)
def test_sums_are_their_definition(sample, n, left_closed):
    y, p, w = sample
    check(y, p, w, n, left_closed)


@for_each("left_closed", [False, True])
@for_each("n", [1, 2, 3, 7, 10, 15, 16, 49, 100, 1000, 12345, 1 << 20])
def test_predictions_on_an_edge_and_beside_it(n, left_closed):
    """Every edge k/n and the doubles next to it; m p is rounded, but the bin is right."""
    k = (
        np.arange(n + 1)
        if n < 1e5
        else np.unique(np.random.default_rng(n).integers(0, n + 1, 5000))
    )
    at = k / n
    p = np.concatenate([at, np.nextafter(at, 0), np.nextafter(at, 1), k * (1 / n)]).clip(0, 1)
    y = np.arange(len(p)) % 3 == 0
    got = rainproof.Sample(y, p).tables.bin_sums(n, edges_of(n, left_closed))
    weight, positive, _ = expected(y, p, None, edges_of(n, left_closed))
    assert_array_equal(got[0], weight)
    assert_array_equal(got[1], positive)
    check(y, p, np.where(y, 0.7, 1.9), n, left_closed)


@for_each("n", [15, 10, 7])
def test_floats_of_half_the_size(n):
    p = np.concatenate([np.arange(n + 1) / n, np.random.default_rng(0).random(500)]).astype(
        np.float32
    )
    y = np.arange(len(p)) % 2
    check(y, p, None, n, False)
    check(y, p, np.full(len(p), 0.3, np.float32), n, True)


def test_rows_are_read_where_they_are():
    rng = np.random.default_rng(0)
    table = rng.random((700, 3))
    y = (rng.random(1400) < 0.4).astype(np.int16)[::2]
    check(y, table[:, 1], table[:, 2], 15, False)
    check(y[::-1], table[::-1, 1], None, 15, True)


@for_each("weighted", [False, True])
def test_many_rows_in_threads(weighted):
    rng = np.random.default_rng(1)
    n = 1 << 20
    p = np.where(rng.random(n) < 0.5, rng.random(n), np.round(rng.random(n), 1))
    y = rng.random(n) < p
    check(y, p, rng.random(n) if weighted else None, 10, False, rtol=1e-11)


def test_a_row_of_weight_zero_is_no_row():
    sums = rainproof.Sample([1, 0, 1], [0.1, 0.5, 0.9], sample_weight=[1, 0, 2]).tables.bin_sums(
        3, np.array([1 / 3, 2 / 3])
    )
    assert_array_equal(sums[0], [1, 0, 2])
    assert_array_equal(sums[1], [1, 0, 2])


def test_a_compressed_cell_goes_where_its_mean_goes():
    sample = rainproof.Sample([0, 1, 1], [0.26, 0.3, 0.49]).compress(4)
    sums = sample.tables.bin_sums(3, np.array([1 / 3, 2 / 3]))
    assert_array_equal(sums[0], [0, 3, 0])
    assert sums[2][1] == pytest.approx(1.05)


def test_any_edges_of_pooled_predictions():
    table = rainproof.Sample([0, 1, 1, 0], [0.2, 0.4, 0.4, 0.8]).distinct()
    sums = bin_table(table, np.array([0.4, 0.4, 0.5]))
    assert_array_equal(sums[0], [3, 0, 0, 1])
    assert_array_equal(sums[1], [2, 0, 0, 0])
