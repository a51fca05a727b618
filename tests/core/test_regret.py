"""The regret curve against its definition in fractions, and the kernels under it."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from helpers import soft_binned_oracle
from helpers.cases import for_each
from helpers.regret_oracle import exact_curve, exact_loss, exact_pooled, threshold_regret
from helpers.seeds import for_seeds
from helpers.strategies import powers, probabilities, samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof.core._regret import bridge
from rainproof.core.curve import RoundedSample, SwapCurve
from rainproof.core.distinct import DistinctTable

SWAPS = ("all", "monotone", "constant")
every_class = pytest.mark.parametrize("swaps", SWAPS)
classes = st.sampled_from(SWAPS)


def curve_of(y, p, w=None, swaps="all"):
    return SwapCurve.from_table(rainproof.Sample(y, p, sample_weight=w).distinct(), swaps)


def random_rows(rng, n):
    p = np.round(rng.beta(0.5, 0.7, n), int(rng.integers(1, 6)))
    return (rng.random(n) < 0.2 + 0.5 * p).astype(int), p, rng.choice([0.5, 1.0, 3.0], n)


# --- the curve ----------------------------------------------------------------------------------


@given(samples(max_size=10), classes, st.lists(probabilities, min_size=1, max_size=5))
def test_both_limits_are_the_definition_anywhere(sample, swaps, asked):
    """At thresholds of any kind, in one sweep and one by one: with equal predictions below and
    above.
    """
    y, p, w = sample
    curve, table = curve_of(y, p, w, swaps), exact_pooled(y, p, w)
    found = curve.points([*asked, *p])
    assert_array_equal(found[0], np.unique([*asked, *p]))
    for mu, left, right in zip(*(column.tolist() for column in found), strict=True):
        for above, swept in ((True, left), (False, right)):
            expected = (
                float(threshold_regret(*table, Fraction(mu), above, swaps))
                if mu > 0 or not above
                else 0.0
            )
            assert swept == pytest.approx(expected, abs=1e-14)
            assert curve.regret(mu, above=above) == pytest.approx(swept, abs=1e-14)


@every_class
@for_each("seed", range(5))
def test_the_sweep_agrees_with_the_definition_on_larger_samples(swaps, seed):
    rng = np.random.default_rng(seed)
    curve = curve_of(*random_rows(rng, 3_000), swaps)
    mu, left, right = curve.breakpoints()
    for k in rng.integers(0, len(mu), 60):
        for above, swept in ((True, left[k]), (False, right[k])):
            assert swept == pytest.approx(curve.regret(mu[k], above=above), abs=1e-13)


@every_class
def test_crowded_predictions(swaps):
    """All predictions within a millionth: the search has to look inside one bucket."""
    rng = np.random.default_rng(3)
    p = 0.3 + 1e-6 * rng.random(500)
    curve = curve_of(rng.integers(0, 2, 500), p, swaps=swaps)
    mu, left, right = curve.corners
    for k in range(0, len(mu), 7):
        assert left[k] == pytest.approx(curve.regret(mu[k], above=True), abs=1e-14)
        assert right[k] == pytest.approx(curve.regret(mu[k]), abs=1e-14)


@given(samples(max_size=8), classes)
def test_between_breakpoints_the_curve_is_a_line(sample, swaps):
    y, p, w = sample
    curve = curve_of(y, p, w, swaps)
    mu, left, right = curve.breakpoints()
    assert (mu[0], mu[-1]) == (0, 1)
    for k in range(len(mu) - 1):
        middle = mu[k] / 2 + mu[k + 1] / 2
        # there the positive part has a kink too
        if mu[k] < middle < mu[k + 1] and swaps != "constant":
            assert curve(middle) == pytest.approx((right[k] + left[k + 1]) / 2, abs=1e-14)


@given(samples(max_size=8), classes)
def test_between_predictions_the_curve_is_convex(sample, swaps):
    """Why the corners are enough for the envelope and for the largest regret."""
    y, p, w = sample
    curve = curve_of(y, p, w, swaps)
    mu, left, right = curve.breakpoints()
    value = np.maximum(left, right)
    assert np.maximum(*curve.corners[1:]).max() == pytest.approx(value.max(), abs=1e-15)
    a, b = bridge(mu, value)
    share = 1.0 if a == b else (mu[b] - 0.5) / (mu[b] - mu[a])
    envelope = share * value[a] + (1 - share) * value[b]
    assert curve.chord.value == pytest.approx(envelope, abs=1e-15)


def test_by_hand():
    """Weight 1/4 at 0.2 (frequency 1) and 3/4 at 0.6 (frequency 1/3): a jump up, a kink, a jump
    down.

    R = 0 below 0.2, (1 - mu)/4 up to 1/3, then (1 - mu)/4 + 3/4 (mu - 1/3) = mu/2 up to 0.6, (1 -
    mu)/4 after.
    """
    curve = curve_of([1, 1, 0, 0], [0.2, 0.6, 0.6, 0.6])
    mu, left, right = curve.breakpoints()
    assert_allclose(mu, [0, 0.2, 1 / 3, 0.6, 1])
    assert_allclose(left, [0, 0, 1 / 6, 0.3, 0], atol=1e-16)
    assert_allclose(right, [0, 0.2, 1 / 6, 0.1, 0], atol=1e-16)
    assert_allclose(np.maximum(left, right), [0, 0.2, 1 / 6, 0.3, 0], atol=1e-16)
    chord = curve.chord
    assert (chord.mu_a, chord.mu_b, chord.above_a, chord.above_b) == (0.2, 0.6, False, True)
    assert (chord.share, chord.regret_a, chord.regret_b) == pytest.approx((0.25, 0.2, 0.3))
    assert chord.value == pytest.approx(0.275)


def test_by_hand_with_fewer_swaps():
    """The same rows: 0.2 and 0.6 may only go to their common frequency 1/2, as 1 > 1/3.

    R = (1 - mu)/4 on [0.2, 0.5), then 3/4 (mu - 1/3) on [0.5, 0.6), for both classes.
    """
    for swaps in ("monotone", "constant"):
        curve = curve_of([1, 1, 0, 0], [0.2, 0.6, 0.6, 0.6], swaps=swaps)
        mu, left, right = curve.breakpoints()
        assert_allclose(mu, [0, 0.2, 0.5, 0.6, 1])
        assert_allclose(left, [0, 0, 0.125, 0.2, 0], atol=1e-16)
        assert_allclose(right, [0, 0.2, 0.125, 0, 0], atol=1e-16)
        assert curve.chord.value == pytest.approx(0.2)


def test_a_jump_where_a_prediction_is_right_on_average():
    """0.5 is the mean of its isotonic block: left of it the swap up gains, right of it the swap
    down, not alike.
    """
    curve = curve_of([1, 1, 0, 1, 0, 0], [0.2, 0.5, 0.5, 0.5, 0.8, 0.8], swaps="monotone")
    assert_array_equal(curve.recalibrated, [0.5, 0.5, 0.5])
    assert_allclose(curve.points(0.5)[1:], [[0.5 / 6], [1 / 6]])


@every_class
def test_nobody_loses_anything_to_a_calibrated_sample_not_even_rounding(swaps):
    counts = [(1, 3), (1, 5), (3, 10), (1, 49), (7, 11), (2, 3)]
    y = np.concatenate([np.arange(n) < k for k, n in counts])
    p = np.repeat([k / n for k, n in counts], [n for _, n in counts])
    curve = curve_of(y, p, swaps=swaps)
    mu, left, right = curve.breakpoints()
    assert not np.maximum(left, right).any()
    assert not any(curve.regret(x, above=above) for x in mu for above in (False, True))


@every_class
def test_asking_in_any_order_and_shape(swaps):
    rng = np.random.default_rng(0)
    curve = curve_of(*random_rows(rng, 40), swaps)
    mu = np.array([[0.9, 0.1, 0.1], [1.0, 0.0, 0.5]])
    got = curve(mu)
    assert got.shape == mu.shape
    for asked, value in zip(mu.ravel(), got.ravel(), strict=True):
        expected = max(curve.regret(asked, above=True), curve.regret(asked))
        assert value == pytest.approx(expected, abs=1e-15)
        assert curve(asked).shape == ()
        assert float(curve(asked)) == value
    assert curve([]).shape == (0,)


@for_each(
    "mu, message",
    [
        (1.5, r"^threshold must lie in \[0, 1\]; 1 value does not, the first is threshold = 1\.5$"),
        (
            [0.5, -0.25, 2.0],
            r"^threshold must lie in \[0, 1\]; 2 values do not, the first is threshold\[1\] = -0\.25$",
        ),
        (
            [np.nan, 0.5],
            r"^threshold must lie in \[0, 1\]; 1 value does not, the first is threshold\[0\] = nan$",
        ),
    ],
)
def test_thresholds_outside_are_refused(mu, message):
    curve = curve_of([0, 1], [0.25, 0.5])
    with pytest.raises(rainproof.InputError, match=message):
        curve(mu)
    with pytest.raises(rainproof.InputError, match=message):
        curve.points(mu)


def test_results_are_read_only():
    curve = curve_of([0, 1], [0.25, 0.5])
    for array in (curve.recalibrated, curve.table.prob):
        assert not array.flags.writeable
    asked = np.array([0.25, 0.75])
    curve.points(asked)
    assert asked.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError, match="total"):
        curve.total = 2.0


# --- the rounded distribution -------------------------------------------------------------------


@given(samples(max_size=8), powers, classes, st.sampled_from(["soft", "hard"]))
def test_the_curve_of_the_rounded_sample(sample, m, swaps, rounding):
    """The exact loss of D_m, from its definition in fractions."""
    y, p, w = sample
    w = np.ones(len(p)) if w is None else w
    curve = rainproof.Sample(y, p, sample_weight=w).on_grid(m, rounding).curve(swaps)
    pi, s = soft_binned_oracle.rounded(y, p, [float(x) for x in w], m, rounding)
    some = [j for j in range(m + 1) if pi[j]]
    table = (
        np.array([Fraction(j, m) for j in some], dtype=object),
        np.array([pi[j] for j in some], dtype=object),
        np.array([s[j] for j in some], dtype=object),
    )
    assert 2 * curve.chord.value == pytest.approx(float(exact_loss(*table, swaps)), abs=1e-13)


def test_empty_bins_and_rounded_sums_of_a_rounded_sample():
    rounded = RoundedSample(
        m=4,
        index=np.array([0, 1, 3]),
        weight=np.array([1.0, 0.0, 2.0]),
        positive=np.array([1.0 + 2**-52, 0.0, 1.0]),  # more events than rows, by rounding
        total=3.0,
    )
    curve = rounded.curve()
    assert_array_equal(curve.table.prob, [0, 0.75])
    assert_array_equal(curve.table.negative, [0, 1])
    assert_array_equal(curve.recalibrated, [1, 0.5])


# --- the envelope -------------------------------------------------------------------------------


@given(samples(max_size=8), classes)
def test_the_chord_is_the_highest_over_one_half(sample, swaps):
    y, p, w = sample
    table = exact_pooled(y, p, w)
    chord = curve_of(y, p, w, swaps).chord
    assert 2 * chord.value == pytest.approx(float(exact_loss(*table, swaps)), abs=1e-15)
    assert chord.mu_a <= 0.5 <= chord.mu_b
    assert chord.share * chord.mu_a + (1 - chord.share) * chord.mu_b == pytest.approx(
        0.5, abs=1e-15
    )
    corners = dict(exact_curve(*table, swaps))
    assert chord.regret_a == pytest.approx(float(corners[Fraction(chord.mu_a)]), abs=1e-15)
    assert chord.regret_b == pytest.approx(float(corners[Fraction(chord.mu_b)]), abs=1e-15)


@for_seeds(30)
def test_bridge_against_all_pairs(seed):
    rng = np.random.default_rng(seed)
    # ties, often at 1/2
    inner = np.round(rng.random(int(rng.integers(0, 60))), int(rng.integers(1, 4)))
    mu = np.sort([0.0, 1.0, *inner])
    value = np.round(rng.random(len(mu)), int(rng.integers(1, 5)))  # many points on one line
    left, right = np.flatnonzero(mu < 0.5), np.flatnonzero(mu > 0.5)
    best = max(value[mu == 0.5], default=0.0)
    for a in left:
        for b in right:
            best = max(
                best, (value[a] * (mu[b] - 0.5) + value[b] * (0.5 - mu[a])) / (mu[b] - mu[a])
            )
    a, b = bridge(mu, value)
    got = (
        value[a]
        if a == b
        else (value[a] * (mu[b] - 0.5) + value[b] * (0.5 - mu[a])) / (mu[b] - mu[a])
    )
    assert got == pytest.approx(best, abs=1e-15)


@for_each("shape", ["noise", "walk", "parabola", "peak", "steps", "zero"])
@for_each("size", [126, 127, 1000, 5000])
def test_bridge_of_many_points_is_the_edge_of_the_whole_hull(size, shape):
    """Most points are left out before the hull is built: it must have the same edge, whatever the
    curve.
    """
    rng = np.random.default_rng(size)
    for power in (0.3, 1, 1, 3):
        mu = np.sort([0.0, 1.0, *rng.random(size) ** power])
        noise = rng.random(len(mu))
        value = {
            "noise": noise * np.exp(-10 * abs(mu - 0.5)),
            "walk": abs(np.cumsum(noise - 0.5)),
            "parabola": mu * (1 - mu),
            "peak": 1 - np.sqrt(abs(mu - noise[0])) * (1 + noise) / 2,
            "steps": np.round(20 * mu * (1 - mu) + noise) / 20,
            "zero": np.zeros(len(mu)),
        }[shape]
        assert bridge(mu, value) == edge_over_half(mu.tolist(), value.tolist())


def edge_over_half(mu, value):
    """The same edge from the hull of all points, by its definition."""
    hull = []
    for k in range(len(mu)):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (mu[b] - mu[a]) * (value[k] - value[a]) < (mu[k] - mu[a]) * (value[b] - value[a]):
                break
            hull.pop()
        hull.append(k)
    return next((a, a if mu[a] == 0.5 else b) for a, b in pairwise(hull) if mu[a] <= 0.5 < mu[b])


@for_each("seed", [178, 654, 694, 1030, 1033, 1108, 1320, 1616])
def test_bridge_finds_an_end_far_below_the_first_edge(seed):
    """In these curves a block that the first edge leaves out reaches above the second."""
    rng = np.random.default_rng(seed)
    mu = np.sort([0.0, 1.0, *rng.random(400)])
    value = rng.random(len(mu)) ** 50
    assert bridge(mu, value) == edge_over_half(mu.tolist(), value.tolist())


def test_one_threshold_where_the_envelope_rests_on_one_half():
    """Weight 1 at 1/2, never: R = mu up to 1/2, so the worst task is a plain choice between two
    actions.
    """
    chord = curve_of([0, 0], [0.5, 0.5]).chord
    assert (chord.mu_a, chord.mu_b, chord.share, chord.value) == (0.5, 0.5, 1.0, 0.5)
    assert chord.above_a
    assert chord.above_b


def test_predictions_too_small_to_tell_apart():
    """Products of distances like 5e-324 would all be 0; seen from 1/2 such places are one, and the
    higher counts.
    """
    mu = np.array([0.0, 5e-324, 1e-323, 0.75, 1 - 2**-53, 1.0])
    assert bridge(mu, np.array([0.0, 1.0, 0.5, 0.25, 0.25, 0.0])) == (1, 4)
    assert bridge(mu, np.array([0.0, 0.5, 1.0, 0.25, 0.0, 0.5])) == (2, 5)


# --- what predictions are swapped for -----------------------------------------------------------


def test_what_each_class_swaps_for():
    table = DistinctTable(
        np.array([0.1, 0.5, 0.7]), np.array([1.0, 3.0, 1.0]), np.array([1.0, 1.0, 3.0])
    )
    assert_array_equal(SwapCurve.from_table(table, "all").recalibrated, [0.5, 0.25, 0.75])
    assert_array_equal(SwapCurve.from_table(table, "monotone").recalibrated, [1 / 3, 1 / 3, 0.75])
    assert_array_equal(SwapCurve.from_table(table, "constant").recalibrated, [0.5, 0.5, 0.5])


@given(samples(max_size=10))
def test_the_classes_are_nested_threshold_by_threshold(sample):
    y, p, w = sample
    mu = np.unique([0, 1, *p, *np.linspace(0, 1, 9)])
    values = [curve_of(y, p, w, swaps)(mu) for swaps in SWAPS]
    for larger, smaller in pairwise(values):
        assert np.all(smaller <= larger + 1e-15)


def test_an_unknown_class_is_refused():
    with pytest.raises(
        rainproof.InputError, match=r"^swaps must be 'all', 'monotone' or 'constant'; it is 'some'$"
    ):
        curve_of([0, 1], [0.25, 0.5], swaps="some")
