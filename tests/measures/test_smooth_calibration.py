"""smCE against the linear program that defines it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import rainproof
from rainproof.measures._lipschitz import lipschitz_gain, sums_before


def by_linear_program(p, r):
    """max sum r w over |w| <= 1 and |w_k - w_j| <= |p_k - p_j|; on a line, neighbours suffice."""
    n = len(p)
    steps = (
        sparse.diags([-np.ones(n - 1), np.ones(n - 1)], [0, 1], shape=(n - 1, n))
        if n > 1
        else np.zeros((0, n))
    )
    rules = sparse.vstack([steps, -steps]) if n > 1 else None
    gaps = np.tile(np.diff(p), 2) if n > 1 else None
    return -linprog(-np.asarray(r), A_ub=rules, b_ub=gaps, bounds=(-1, 1), method="highs").fun


def residuals(y, p, w):
    w = np.ones(len(p)) if w is None else w
    distinct, which = np.unique(p, return_inverse=True)
    return distinct, np.bincount(which, w * (y - p)) / w.sum()


@for_seeds(300)
def test_smce_is_its_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    p = np.round(rng.random(n) * rng.choice([1, 0.2]), int(rng.choice([1, 2, 9])))
    y = (rng.random(n) < rng.random(n) ** 2).astype(int)
    w = rng.choice([1.0, 3.0, 0.1, 100.0], n) if seed % 2 else None
    got = rainproof.measures.smooth_calibration_error(y, p, sample_weight=w)
    assert got == pytest.approx(by_linear_program(*residuals(y, p, w)), abs=1e-10)


@for_seeds(100)
def test_any_terms_not_only_residuals(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    p = np.unique(np.round(rng.random(n), 2))
    r = (
        rng.normal(size=len(p)) * rng.choice([1e-3, 1, 10], len(p))
        if seed % 2
        else rng.choice([-1.0, 0, 0.5], len(p))
    )
    assert lipschitz_gain(p, r) == pytest.approx(by_linear_program(p, r), rel=1e-9, abs=1e-9)


@for_each("n", [63, 64, 65, 4095, 4096, 4097, 9000])
def test_sizes_around_the_blocks_of_the_index(n):
    rng = np.random.default_rng(n)
    p = np.sort(rng.random(n))
    r = ((rng.random(n) < p) - p) / n
    assert lipschitz_gain(p, r) == pytest.approx(by_linear_program(p, r), abs=1e-9)


def test_one_prediction():
    assert rainproof.measures.smooth_calibration_error([0, 1, 1, 1, 1], [0.3] * 5) == pytest.approx(
        0.5, abs=1e-16
    )


def test_two_predictions_with_opposite_residuals_by_hand():
    """w may differ by the gap alone: the gain is (1/2)(0.6) times a gap below 2."""
    for gap in (0.0, 0.05, 0.3):
        p = np.array([0.4 - gap / 2, 0.4 + gap / 2])
        gain = lipschitz_gain(p, np.array([-0.3, 0.3]))
        assert gain == pytest.approx(0.3 * gap, abs=1e-16)


def test_the_best_witness_is_not_a_constant():
    """Residuals + - + at 0, 1/2, 1: w = (1, 1/2, 1) gains 0.3 - 0.1 + 0.3, more than any constant's
    0.4.
    """
    gain = lipschitz_gain(np.array([0.0, 0.5, 1.0]), np.array([0.3, -0.2, 0.3]))
    assert gain == pytest.approx(0.3 - 0.2 * 0.5 + 0.3)


def test_calibrated_is_zero():
    y = [0, 1, 1, 0, 0, 0, 1, 1, 1, 0]
    assert (
        rainproof.measures.smooth_calibration_error(
            y[:2] + y[2:6] + y[6:], [0.5] * 2 + [0.25] * 4 + [0.75] * 4
        )
        <= 1e-16
    )


@given(samples())
def test_at_most_ece_and_the_same_seen_from_the_other_side(sample):
    y, p, w = sample
    value = rainproof.measures.smooth_calibration_error(y, p, sample_weight=w)
    assert value <= np.abs(residuals(y, p, w)[1]).sum() + 1e-14
    assert rainproof.measures.smooth_calibration_error(
        1 - y, 1 - p, sample_weight=w
    ) == pytest.approx(value, abs=1e-12)


@given(samples(), st.integers(0, 2**32 - 1))
def test_continuous_in_the_predictions(sample, seed):
    """Moving each p by d moves y - p by d and w(p) by d, with |y - p| and |w| at most 1: 2 E d."""
    y, p, w = sample
    rng = np.random.default_rng(seed)
    moved = np.clip(p + rng.uniform(-1, 1, len(p)) * 10.0 ** rng.uniform(-9, 0), 0, 1)
    distance = np.average(np.abs(moved - p), weights=w)
    one, two = (
        rainproof.measures.smooth_calibration_error(y, q, sample_weight=w) for q in (p, moved)
    )
    assert abs(one - two) <= 2 * distance + 1e-14


@given(samples(), st.integers(1, 12).map(lambda k: 2**k))
def test_compression_moves_it_by_two_over_m(sample, m):
    y, p, w = sample
    whole = rainproof.Sample(y, p, sample_weight=w)
    one, two = (
        rainproof.measures.smooth_calibration_error(whole),
        rainproof.measures.smooth_calibration_error(whole.compress(m)),
    )
    assert abs(one - two) <= 2 / m + 1e-14


def test_prefix_sums_keep_their_error():
    assert sums_before(np.full(1_000_000, 0.1))[-1] == 100_000
