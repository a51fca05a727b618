"""Smooth ECE against its integral in closed form, the stated error bound, and its relations."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ece_oracle as oracle
from helpers.cases import for_each
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.measures import expected_calibration_error, smooth_ece
from rainproof.measures.smooth import _cosine_coefficients, _smoothed_error, _split_error

GRIDS = [2**k for k in range(3, 15)]


def make(seed, n=None):
    """A random sample of some kind, with ties or weights or neither, and biases of some size."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 60))
    p = [
        rng.random(n),
        rng.beta(0.3, 0.3, n),
        rng.integers(0, 11, n) / 10,
        rng.uniform(0.4, 0.6, n),
    ][seed % 4]
    y = (rng.random(n) < [p, p**2, 1 - p][seed % 3]).astype(int)
    return y, p, rng.choice([1.0, 2.0, 0.1, 50.0], n) if seed % 2 else None


def smoothed(sample, s, g, tolerance=1e-7):
    """smECE_s on the grid 1/g."""
    return _smoothed_error(_cosine_coefficients(sample, g), s, tolerance)


@for_seeds(40)
def test_it_is_its_definition(seed):
    y, p, w = make(seed)
    got = smooth_ece(y, p, sample_weight=w)
    if got > 2e-3:
        assert got == pytest.approx(oracle.smooth_ece(y, p, w, points=1000), abs=1e-5)
    else:
        assert oracle.smoothed(y, p, got + 1e-5, w) <= got + 2e-5


@for_each("seed", range(8))
def test_a_smaller_tolerance_is_kept_too(seed):
    y, p, w = make(seed, n=25)
    exact = oracle.smooth_ece(y, p, w, points=1000)
    errors = []
    for tolerance in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8):
        errors.append(abs(smooth_ece(y, p, sample_weight=w, tolerance=tolerance) - exact))
        assert errors[-1] <= tolerance
    assert errors[-1] < errors[0] or errors[0] < 1e-8


@for_seeds(12)
def test_the_error_bound_of_the_grid_holds_and_it_converges(seed):
    y, p, w = make(seed, n=30)
    sample = rainproof.Sample(y, p, sample_weight=w)
    ece = expected_calibration_error(sample)
    for s in (0.3, 0.05, 0.01):
        exact = oracle.smoothed(y, p, s, w, points=1000)
        errors = [abs(smoothed(sample, s, g) - exact) for g in GRIDS]
        for g, error in zip(GRIDS, errors, strict=True):
            assert error <= _split_error(g, s, ece) + 1e-7
        assert errors[-1] < 1e-6
        # the square of a step 2,048 times smaller
        assert errors[-1] <= errors[0] / 1000 or errors[0] < 1e-6


def test_the_modes_of_one_row():
    """Row (y, p) = (0, j/g): a_k = -p cos(pi k p), and at k past the grid the cosines fold back."""
    cosines = _cosine_coefficients(rainproof.Sample([0], [0.375]), 8)
    np.testing.assert_allclose(cosines, -0.375 * np.cos(np.pi * np.arange(9) * 0.375), atol=1e-15)
    assert smoothed(rainproof.Sample([0], [0.375]), 0.01, 8) == pytest.approx(0.375, abs=1e-12)


@for_each("p", [0.0, 0.25, 0.3, 1.0])
@for_each("q", [0.0, 0.5, 1.0])
def test_biases_of_one_sign_are_not_blurred_away(p, q):
    """The kernel keeps mass inside [0, 1], so smECE_s = |q - p| for every s, and is its own fixed
    point.
    """
    assert smooth_ece([0, 1], [p, p], sample_weight=[1 - q, q]) == pytest.approx(
        abs(q - p), abs=1e-12
    )
    assert smooth_ece([1, 1, 1], [p, p / 2, p / 3]) == pytest.approx(
        1 - p * (1 + 1 / 2 + 1 / 3) / 3, abs=1e-9
    )


def test_two_opposite_biases():
    """+-a at a distance of 2 d, far from the ends: smECE_s = 2 a erf(d / (s sqrt 2)) in closed
    form.
    """
    from scipy.optimize import brentq
    from scipy.special import erf

    p = np.array([0.48, 0.52, 0.0])
    y, w = np.array([1, 0, 0]), np.array([1.0, 1.0, 60.0])
    a = 0.52 / 62
    expected = brentq(lambda s: 2 * a * erf(0.02 / (s * np.sqrt(2))) - s, 1e-4, 1)
    assert smooth_ece(y, p, sample_weight=w, tolerance=1e-8) == pytest.approx(expected, abs=1e-8)


def test_perfect_calibration_is_zero():
    assert smooth_ece([0, 1, 0], [0, 1, 0]) == 0.0
    assert smooth_ece([0, 0, 0, 1] * 5, [0.25] * 20) == 0.0
    # many rows, unsorted
    assert smooth_ece(np.tile(np.arange(10) < 3, 2000), np.full(20_000, 0.3)) == 0.0


def test_hairs_between_opposite_biases():
    """Far too close for any grid: below 1e-4, and 0 once below 5e-6."""
    y = np.array([0, 1] * 100)
    assert smooth_ece(y, np.where(y == 1, 0.5, 0.5 + 1e-12)) == 0.0
    value = smooth_ece(y, np.where(y == 1, 0.5, 0.5 + 1e-7))
    # the first term in the distance, over s, equals s
    exact = np.sqrt(1e-7 * 0.5 * np.sqrt(2 / np.pi))
    assert abs(value - exact) <= 1e-4


def test_a_value_near_the_smallest():
    assert smooth_ece([0], [2e-5]) == pytest.approx(2e-5, abs=1e-8)
    assert smooth_ece([0], [8e-6]) == 0.0  # ECE is within the tolerance of 0
    assert smooth_ece([0], [8e-6], tolerance=1e-6) == pytest.approx(8e-6, abs=1e-8)
    assert smooth_ece([0, 1, 0], [3e-6, 1 - 3e-6, 3e-6], tolerance=1e-6) == 0.0


@for_each("n", [1 << 15, 1 << 19])
def test_many_rows_take_another_way_to_the_same(n):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    for y in (rng.random(n) < p, rng.random(n) < p**2):
        few = rainproof.Sample(y, p).compress(1 << 20)
        assert smooth_ece(y, p) == pytest.approx(smooth_ece(few), abs=1e-13)
        assert smooth_ece(y, p) == pytest.approx(smooth_ece(y, p, tolerance=1e-6), abs=1e-5)


@given(samples(max_size=12))
def test_relations(sample):
    """smECE <= ECE; smCE <= (1 + 0.798 E|y - p|) smECE; smECE^2 <= max(smECE, 0.798) smCE."""
    y, p, w = sample
    value = smooth_ece(y, p, sample_weight=w)
    slack = 2e-5 if value > 1.5e-4 else 2e-4
    smce = oracle.smooth_calibration_error(y, p, w)
    assert value <= expected_calibration_error(y, p, sample_weight=w) + 1e-12
    assert abs(np.average(y - p, weights=w)) <= value + slack
    assert smce <= (1 + np.sqrt(2 / np.pi) * np.average(np.abs(y - p), weights=w)) * value + slack
    assert value**2 <= max(value, np.sqrt(2 / np.pi)) * smce + slack


@given(samples(), st.floats(0.01, 0.5))
def test_more_blur_never_adds_error(sample, s):
    y, p, w = sample
    sample = rainproof.Sample(y, p, sample_weight=w)
    one, two, three = (smoothed(sample, width, 1 << 12, 1e-6) for width in (s, 1.01 * s, 2 * s))
    assert three - 1e-6 <= two <= one + 1e-6
    assert one <= expected_calibration_error(sample) + 1e-6


@given(samples(), st.integers(1, 20).map(lambda k: 2**k))
def test_compression(sample, m):
    y, p, w = sample
    whole = rainproof.Sample(y, p, sample_weight=w)
    small = whole.compress(m)
    one, two = smooth_ece(whole), smooth_ece(small)
    e = np.average(np.abs(y - p), weights=w)
    bound = _split_error(m, max(one, two), e) if max(one, two) else 0.0
    slack = 2e-5 if one > 1.5e-4 else 2e-4
    assert abs(one - two) <= min(bound, (8 * m**2) ** (-1 / 3) + 1 / m) + slack


@given(samples(), st.integers(6, 12).map(lambda k: 2**k))
def test_compression_keeps_every_coarser_grid(sample, m):
    y, p, w = sample
    whole = rainproof.Sample(y, p, sample_weight=w)
    one, two = (_cosine_coefficients(s, 64) for s in (whole, whole.compress(m)))
    np.testing.assert_allclose(one, two, atol=1e-13)


@for_each("tolerance", [0, 1e-10, 0.2, -1e-3, "1e-3", True, None])
def test_a_bad_tolerance_is_refused(tolerance):
    with pytest.raises(
        rainproof.InputError,
        match=f"^tolerance must be a number from 1e-9 to 0.1; it is {tolerance!r}$",
    ):
        smooth_ece([0, 1], [0.1, 0.9], tolerance=tolerance)
