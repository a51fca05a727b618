"""Accumulators: bounded memory, refused batches change nothing, and the result is that of the
rows.
"""

from __future__ import annotations

import pickle
import sys
import threading

import numpy as np
import pytest
from helpers.cases import for_each
from numpy.testing import assert_array_equal

import rainproof

RNG = np.random.default_rng(30)
P = RNG.random(5000)
Y = (RNG.random(5000) < P).astype(np.int8)
W = RNG.random(5000)


@for_each("size", [1, 7, 64, 700, 5000])
@for_each("m", [4, 64, 2**16])
def test_batches_of_any_size_give_the_sample_of_all_rows(size, m):
    stream = rainproof.Accumulator(m)
    for start in range(0, 5000, size):
        stream.update(Y[start : start + size], P[start : start + size])
    whole = rainproof.Sample(Y, P).compress(m)
    assert stream.n == whole.n == 5000
    for name in ("y_true", "y_prob", "sample_weight", "counts"):
        assert_array_equal(getattr(stream.sample(), name), getattr(whole, name))


@for_each("warm", [False, True])
@for_each("size", [3, 5000])
@for_each("weighted", [False, True])
def test_a_bad_batch_changes_nothing(warm, size, weighted):
    stream = rainproof.Accumulator(16)
    good = {"sample_weight": W[:10]} if weighted else {}
    stream.update(Y[:10], P[:10], **good)
    if warm:
        stream.update(Y[:10], P[:10], **good)
    before = stream.sample()
    spoiled = P[:size].copy()
    spoiled[-1] = np.nan
    with pytest.raises(rainproof.InputError, match="y_prob must not contain NaN; 1 value"):
        stream.update(Y[:size], spoiled, sample_weight=W[:size] if weighted else None)
    assert stream.n == before.n
    assert_array_equal(stream.sample().y_prob, before.y_prob)
    assert_array_equal(stream.sample().sample_weight, before.sample_weight)


def test_weighted_and_unweighted_batches_mix():
    stream = (
        rainproof.Accumulator(4096)
        .update(Y[:100], P[:100])
        .update(Y[100:], P[100:], sample_weight=W[100:])
    )
    w = np.concatenate([np.ones(100), W[100:]])
    assert rainproof.soft_binned_cdl(stream.sample()) == pytest.approx(
        rainproof.soft_binned_cdl(Y, P, sample_weight=w), abs=1e-13
    )


def test_sums_travel_between_processes():
    left, right = (
        rainproof.Accumulator(256).update(Y[:999], P[:999]),
        rainproof.Accumulator(256).update(Y[999:], P[999:]),
    )
    both = pickle.loads(pickle.dumps(left)) + pickle.loads(pickle.dumps(right))
    both.update(Y[:5], P[:5])
    assert both.n == 5005
    again = rainproof.Sample(np.concatenate([Y, Y[:5]]), np.concatenate([P, P[:5]])).compress(256)
    assert_array_equal(both.sample().y_prob, again.y_prob)
    assert left.n == 999


def test_pos_label_stays_with_it():
    stream = rainproof.Accumulator(8, pos_label="rain")
    stream.update(["rain", "dry"], [0.7, 0.2])
    other = pickle.loads(pickle.dumps(stream)).update(["dry"], [0.1])
    assert (stream + other).update(["rain"], [0.9]).sample().event_rate == 3 / 6


def test_an_empty_accumulator_has_no_sample():
    with pytest.raises(rainproof.InputError, match="the accumulator holds no rows yet"):
        rainproof.Accumulator().sample()
    stream = rainproof.Accumulator().update([], [])
    with pytest.raises(rainproof.InputError, match="the accumulator holds no rows yet"):
        stream.sample()
    with pytest.raises(rainproof.InputError, match="sample_weight must not be zero for every row"):
        stream.update([1], [0.5], sample_weight=[0]).sample()
    assert stream.update([1, 0], [0.5, 0.5], sample_weight=[0, 2]).n == stream.sample().n == 1


def test_what_cannot_be_added():
    with pytest.raises(TypeError):
        rainproof.Accumulator() + 1
    with pytest.raises(
        rainproof.InputError,
        match="must have the same pos_label to be added; they have 'a' and None",
    ):
        rainproof.Accumulator(4, pos_label="a") + rainproof.Accumulator(4)
    with pytest.raises(rainproof.InputError, match="must be compressed to the same grid"):
        rainproof.Accumulator(4).update([1], [0.5]) + rainproof.Accumulator(8).update([1], [0.5])


def test_a_full_table_is_settled_and_goes_on(monkeypatch):
    monkeypatch.setattr("rainproof.core.accumulator._MAX_ROWS_IN_TABLE", 100)
    stream = rainproof.Accumulator(64)
    for start in range(0, 5000, 60):
        stream.update(Y[start : start + 60], P[start : start + 60])
    assert_array_equal(stream.sample().y_prob, rainproof.Sample(Y, P).compress(64).y_prob)


def test_memory_does_not_grow_with_the_rows():
    stream = rainproof.Accumulator(64)
    for _ in range(20):
        stream.update(Y, P)
    assert [table.nbytes for table in stream._tables.values()] == [2 * 65 * 16]


def test_repr():
    assert repr(rainproof.Accumulator(8).update([1], [0.5])) == "Accumulator(n=1, grid=8)"


def test_the_other_label_is_the_same_in_all_batches():
    days = [rainproof.Accumulator(8, pos_label="rain") for _ in range(3)]
    days[0].update(["rain"], [0.5]).update(["rain", "dry"], [0.5, 0.1]).update(["dry"], [0.2])
    with pytest.raises(
        rainproof.InputError,
        match="y_true must hold 'rain' and one other label; there are 'dry' and 'snow'",
    ):
        days[0].update(["snow", "rain"], [0.2, 0.3])
    assert days[0].n == 4
    days[1].update(["snow"], [0.2])
    for other in (days[1], pickle.loads(pickle.dumps(days[1]))):
        with pytest.raises(
            rainproof.InputError,
            match="the same other label to be added; there are 'dry' and 'snow'",
        ):
            days[0] + other
    both = days[0] + days[2].update(["rain"], [0.9])
    with pytest.raises(rainproof.InputError, match="there are 'dry' and 'snow'"):
        both.update(["snow"], [0.2])


def test_many_are_added_by_sum():
    batches = [([0, 1], [0.1, 0.8]), ([1], [0.6]), ([0], [0.3])]
    together = sum(rainproof.Accumulator(8).update(*batch) for batch in batches)
    samples = sum(rainproof.Sample(*batch).compress(8) for batch in batches)
    assert together.n == samples.n == 4
    assert_array_equal(together.sample().y_prob, samples.y_prob)
    for many in (together, samples):
        for start in (1, False, 0.0):
            with pytest.raises(TypeError, match="unsupported operand"):
                start + many


def test_threads_that_share_one_lose_no_rows():
    rng, before = np.random.default_rng(0), sys.getswitchinterval()
    p = rng.random(1000)
    y = (rng.random(1000) < p).astype(int)
    shared = rainproof.Accumulator(1024)
    shared.update(y, p)  # so that its tables are there, and are added to in place
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=lambda: [shared.update(y, p) for _ in range(50)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert (shared.n, shared.sample().n, int(shared.sample().counts.sum())) == (401_000,) * 3
