"""Interval calibration error against its definition with every offset tried, and its relations."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ece_oracle as oracle
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.measures import (
    calibration_decision_loss,
    expected_calibration_error,
    interval_calibration_error,
)
from rainproof.measures._interval import mean_window_biases
from rainproof.measures.binned import residuals

powers = st.integers(1, 20).map(lambda k: 2**k)


def random_interval(sample, width):
    """RintCE by the production path."""
    table = sample.distinct()
    prefix = np.concatenate([[0.0], np.cumsum(residuals(table) / sample.total_weight)])
    # four at a time, in any order: each as if it were alone
    others = width * np.array([1.0, 0.3, 4.0, 0.01])
    return float(mean_window_biases(table.prob, prefix, others)[0])


@given(samples(max_size=12), st.integers(0, 53))
def test_the_mean_over_all_offsets(sample, k):
    y, p, w = sample
    got = random_interval(rainproof.Sample(y, p, sample_weight=w), 2.0**-k)
    assert got == pytest.approx(float(oracle.random_interval(y, p, 2.0**-k, w)), abs=1e-14)


@given(samples(max_size=8))
def test_it_is_its_definition(sample):
    y, p, w = sample
    got = interval_calibration_error(y, p, sample_weight=w)
    expected = float(oracle.interval(y, p, w, finest=16))
    assert expected - 2.0**-16 <= got <= expected + 1e-14  # the oracle stops at bins of that width


@for_seeds(18)
def test_it_is_its_definition_on_larger_samples(seed):
    """On multiples of 2^-10, bins narrower than that change nothing but their own width."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    p = rng.integers(0, 2**10 + 1, n) / 2**10 if seed % 3 else np.round(rng.random(n) * 16) / 16
    y = (rng.random(n) < [p, p**2, 1 - p][seed % 3]).astype(int)
    w = rng.choice([1.0, 2.0, 0.1], n) if seed % 2 else None
    expected = float(oracle.interval(y, p, w, finest=11))
    assert interval_calibration_error(y, p, sample_weight=w) == pytest.approx(expected, abs=1e-13)


def test_by_hand():
    """Half events at 1/2, the others 1/8 above: a window of 1/4 holds one alone for 1/8 + 1/8, both
    for 1/8.

    Biases are 1/4 and -5/16 of all rows, so RintCE(1/4) = 4 (1/8 1/4 + 1/8 1/16 + 1/8 5/16) = 5/16,
    and the sum with the width 9/16; with 1/2 it is 2 (1/8 1/4 + 3/8 1/16 + 1/8 5/16) + 1/2 = 11/16.
    ECE is 9/16 too.
    """
    y, p = [1, 0], [0.5, 0.625]
    sample = rainproof.Sample(y, p)
    assert random_interval(sample, 0.25) == 5 / 16
    assert random_interval(sample, 0.5) == 3 / 16
    assert random_interval(sample, 2.0**-4) == 9 / 16
    assert interval_calibration_error(y, p) == 9 / 16


def test_wide_bins_can_win():
    """Many small neighbouring biases cancel: the best bins are wide enough to average over them."""
    p = 0.5 + (np.arange(64) - 32) / 1024
    y = np.arange(64) % 2
    value = interval_calibration_error(y, p)
    assert value == pytest.approx(float(oracle.interval(y, p, finest=11)), abs=1e-14)
    assert value < expected_calibration_error(y, p) / 4


def test_ends_of_the_range():
    assert interval_calibration_error([0, 1, 0], [0, 1, 0]) == 0.0
    assert interval_calibration_error([0], [1]) == 1.0
    assert interval_calibration_error([0, 0], [5e-324, 1e-12]) == pytest.approx(5e-13, rel=1e-12)
    assert interval_calibration_error([0, 1] * 8, [0.5] * 16) == 0.0


@given(samples(max_size=12))
def test_relations(sample):
    """smCE <= SintCE <= ECE."""
    y, p, w = sample
    value = interval_calibration_error(y, p, sample_weight=w)
    assert value <= expected_calibration_error(y, p, sample_weight=w) + 1e-14
    assert oracle.smooth_calibration_error(y, p, w) <= value + 1e-8


@given(samples(), st.integers(1, 12), st.floats(0, 1, exclude_max=True))
def test_what_it_promises(sample, k, share):
    """CDL of predictions moved to the middle of their bin: at most 2 (bias + width / 2), for every
    offset.
    """
    y, p, w = sample
    width = 2.0**-k
    bins = np.floor((p - share * width) / width).astype(int)
    middle = np.clip((bins + 0.5 + share) * width, 0, 1)
    bias = np.abs(np.bincount(bins + 1, (y - p) * (1 if w is None else w))).sum() / (
        len(p) if w is None else w.sum()
    )
    assert calibration_decision_loss(y, middle, sample_weight=w) <= 2 * (bias + width / 2) + 1e-12


@given(samples(), st.integers(0, 52))
def test_narrower_bins_show_no_less(sample, k):
    y, p, w = sample
    sample = rainproof.Sample(y, p, sample_weight=w)
    assert random_interval(sample, 2.0**-k) <= random_interval(sample, 2.0 ** -(k + 1)) + 1e-14


@given(samples(), st.integers(0, 2**32 - 1))
def test_a_calibrated_sample_moved_by_a_little(sample, seed):
    """SintCE <= 3 sqrt(d) + d, where d is how far the predictions of a calibrated sample were
    moved.
    """
    _, p, _ = sample
    rng = np.random.default_rng(seed)
    y, p, w = np.repeat([0, 1], len(p)), np.tile(p, 2), np.concatenate([1 - p, p]) + 1e-300
    moved = np.clip(p + rng.uniform(-1, 1, len(p)) * 10.0 ** rng.uniform(-9, 0), 0, 1)
    d = np.average(np.abs(moved - p), weights=w)
    assert interval_calibration_error(y, moved, sample_weight=w) <= 3 * np.sqrt(d) + d + 1e-12


@given(samples(), powers)
def test_compression(sample, m):
    y, p, w = sample
    whole = rainproof.Sample(y, p, sample_weight=w)
    small = whole.compress(m)
    e = np.average(np.abs(y - p), weights=w)
    assert (
        abs(interval_calibration_error(whole) - interval_calibration_error(small))
        <= 3 * np.sqrt(e / m) + 1e-13
    )
    for k in range(1, 12):
        moved = abs(random_interval(whole, 2.0**-k) - random_interval(small, 2.0**-k))
        assert moved <= 2 * e / (m * 2.0**-k) + 1e-13


def test_compression_can_cost_the_root_of_the_cell():
    """Opposite biases in one cell: all of about 2 sqrt(1/(2 m)) is gone."""
    m = 1 << 12
    y, p = [1, 0], [0.5 + 0.01 / m, 0.5 + 0.99 / m]
    sample = rainproof.Sample(y, p)
    assert interval_calibration_error(sample) > 1.2 / np.sqrt(m)
    assert interval_calibration_error(sample.compress(m)) < 1 / m


def test_random_offsets_agree():
    """The average of many offsets drawn at random, for a sample with a bias that is not at the
    ends.
    """
    rng = np.random.default_rng(5)
    p = rng.beta(2, 3, 400)
    y = rng.random(400) < p**2
    for width in (0.25, 0.0625):
        drawn = [
            np.abs(np.bincount(((p - r) / width + 1).astype(int), y - p)).sum() / 400
            for r in rng.uniform(0, width, 4000)
        ]
        assert random_interval(rainproof.Sample(y, p), width) == pytest.approx(
            np.mean(drawn), abs=5 * np.std(drawn) / 63
        )
