"""Rows sorted and pooled: one entry per distinct prediction."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given
from numpy.testing import assert_array_equal

import rainproof
from rainproof.core.distinct import DistinctTable

TINY = 5e-324
EDGES = np.array(
    [0.0, -0.0, TINY, 1e-300, 1e-12, 0.5, np.nextafter(0.5, 0), np.nextafter(1.0, 0), 1.0]
)


def assert_pooled(y, p):
    """From the definition: the rows of each prediction, counted by outcome."""
    table = DistinctTable.from_rows(y, p, None)
    values, which = np.unique(np.asarray(p, np.float64) + 0.0, return_inverse=True)
    assert_array_equal(table.prob, values)
    assert not np.signbit(table.prob).any()
    assert_array_equal(table.positive, np.bincount(which, np.asarray(y) == 1, len(values)))
    assert_array_equal(table.negative, np.bincount(which, np.asarray(y) == 0, len(values)))


@given(sample=samples())
def test_any_rows(sample):
    y, p, _ = sample
    assert_pooled(y, p)


@for_each("n", [1, 2, 25, 1000, 40_000])
@for_each(
    "kind",
    [
        "uniform",
        "constant",
        "three",
        "edges",
        "rare",
        "tiny",
        "crowded",
        "sorted",
        "falling",
        "hundredths",
    ],
)
@for_each("events", ["both", "none", "all"])
def test_predictions_that_fill_buckets_unevenly(n, kind, events):
    rng = np.random.default_rng(n)
    p = {
        "uniform": rng.random(n),
        "constant": np.full(n, 0.3),
        "three": rng.integers(1, 4, n) / 4,
        "edges": rng.choice(EDGES, n),
        "rare": rng.beta(0.5, 50, n),
        "tiny": 10.0 ** -rng.uniform(0, 320, n),
        "crowded": 0.7 + 1e-15 * rng.integers(0, 300, n),
        "sorted": np.sort(rng.random(n)),
        "falling": -np.sort(-rng.random(n)),
        "hundredths": np.round(rng.random(n), 2),
    }[kind]
    y = {"both": rng.integers(0, 2, n), "none": np.zeros(n, int), "all": np.ones(n, int)}[events]
    assert_pooled(y, p)


@for_each("dtype", ["f8", "f4", "f2", ">f8", ">f4"])
@for_each("label", ["i8", "u1", "?", "f8", ">i4"])
def test_every_kind_of_array(dtype, label):
    rng = np.random.default_rng(1)
    p, y = rng.random((500, 2)).astype(dtype), rng.integers(0, 2, (500, 2)).astype(label)
    assert_pooled(y[:, 1], p[:, 1])
    assert_pooled(y[::-1, 0], p[::-3, 0].repeat(3)[:500])
    aside = np.frombuffer(b"\0" + p[:, 0].tobytes(), np.uint8)[1:].view(dtype)  # not aligned
    assert_pooled(y[:, 0], aside)


def test_rows_are_left_as_they_are():
    y, p = np.array([1, 0, 0]), np.array([0.5, 0.5, -0.0])
    table = rainproof.Sample(y, p).distinct()
    assert_array_equal(table.prob, [0, 0.5])
    assert_array_equal(p, [0.5, 0.5, 0])
    assert np.signbit(p[2])
    assert not table.prob.flags.writeable


@for_each("value", [np.nan, np.inf, -np.inf, -1e-9, 1 + 1e-9, 1e300])
@for_each("weight", [None, np.ones(100)])
def test_predictions_that_were_changed_after_the_check(value, weight):
    p = np.linspace(0, 1, 100)
    sample = rainproof.Sample(np.arange(100) % 2, p, sample_weight=weight)
    p[50] = value
    with pytest.raises(
        rainproof.InputError, match="the predictions changed after they were checked"
    ):
        sample.distinct()


def test_predictions_that_change_between_two_passes():
    """Another thread writes valid predictions meanwhile: what is returned is a table of
    predictions, or an error.
    """
    n = 300_000
    low = np.random.default_rng(0).random(n) * 0.01
    p, y, stop = low.copy(), np.zeros(n, np.uint8), threading.Event()

    def write():
        while not stop.is_set():
            p[:] = 1 - low
            p[:] = low

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            with contextlib.suppress(rainproof.InputError):
                table = DistinctTable.from_rows(y, p, None)
                assert (np.diff(table.prob) > 0).all()
                assert 0 <= table.prob[0] <= table.prob[-1] <= 1
    finally:
        stop.set()
        writer.join()


def test_unweighted_rows_of_several_chunks(monkeypatch):
    monkeypatch.setattr("rainproof.core.distinct._CHUNK", 7)
    rng = np.random.default_rng(0)
    assert_pooled(rng.integers(0, 2, 100), np.round(rng.random(100), 1))
