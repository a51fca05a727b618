"""Event rates in soft bins: the rates by definition, the intervals by theirs, and how often they
cover.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import soft_binned_oracle
from helpers.strategies import samples
from hypothesis import given
from numpy.testing import assert_allclose
from scipy import stats

import rainproof
from rainproof.inference.bands import soft_bins


@given(samples(max_size=12))
def test_rates_shares_and_mean_predictions_are_the_definitions(sample):
    y, p, w = sample
    weights = [1.0] * len(p) if w is None else [float(x) for x in w]
    bins = soft_bins(rainproof.Sample(y, p, sample_weight=w), 4)
    pi, s = soft_binned_oracle.rounded(y, p, weights, 4)
    hat = (
        np.maximum(0, 1 - np.abs(4 * np.asarray(p)[:, None] - np.arange(5)))
        * np.array(weights)[:, None]
    )
    for prediction, share, rate, mean in zip(
        bins.prediction, bins.share, bins.event_rate, bins.mean_prediction, strict=True
    ):
        j = round(4 * prediction)
        assert share == pytest.approx(float(pi[j]), abs=1e-12)
        if pi[j] > 1e-9:  # in a bin that weighs nothing the rate is rounding error
            assert rate == pytest.approx(float(s[j] / pi[j]), abs=1e-6)
            # from cells of 1/256
            assert mean == pytest.approx(hat[:, j] @ p / hat[:, j].sum(), abs=1 / 256)
    assert bins.share.sum() == pytest.approx(1)
    assert np.all(np.diff(bins.prediction) > 0)
    assert np.all(
        (bins.low_all >= 0) & (bins.low_all <= bins.low) & (bins.low <= bins.event_rate + 1e-12)
    )
    assert np.all(
        (bins.event_rate - 1e-12 <= bins.high) & (bins.high <= bins.high_all) & (bins.high_all <= 1)
    )


def test_a_bin_that_only_the_last_bit_reaches_counts_as_one_row():
    """The fine cells round the mean of these two predictions to 1/2, so that nothing is left in the
    bin of 3/4.
    """
    bins = soft_bins(rainproof.Sample([0, 0], [0.5, np.nextafter(0.5, 1)]), 4)
    assert_allclose(bins.prediction, [0.5, 0.75])
    assert_allclose(bins.effective, [2, 1])
    assert_allclose(bins.mean_prediction, 0.5)
    assert_allclose(bins.low, 0)
    assert_allclose(bins.high, [1 - 0.025**0.5, 0.975])


def test_for_whole_rows_the_interval_is_clopper_and_pearsons():
    y, p = [1, 0, 0, 0, 0, 0, 1, 1, 1, 1], [0.25] * 6 + [0.75] * 4
    bins = soft_bins(rainproof.Sample(y, p), 4, confidence_level=0.9)
    exact = [stats.binomtest(k, n).proportion_ci(0.9, "exact") for k, n in ((1, 6), (4, 4))]
    assert_allclose(bins.low, [e.low for e in exact])
    assert_allclose(bins.high, [e.high for e in exact])
    shared = [stats.binomtest(k, n).proportion_ci(0.95, "exact") for k, n in ((1, 6), (4, 4))]
    assert_allclose(bins.low_all, [e.low for e in shared])
    assert_allclose(bins.high_all, [e.high for e in shared])


def test_weights_count_as_the_rows_that_tell_as_much():
    """Rows of weights 1 and 3, half in the bin each: (1/2 + 3/2)^2 / (1/4 + 9/4)."""
    bins = soft_bins(rainproof.Sample([0, 1], [0.375, 0.375], sample_weight=[1.0, 3.0]), 4)
    assert_allclose(bins.prediction, [0.25, 0.5])
    assert_allclose(bins.effective, [1.6, 1.6])
    assert_allclose(bins.event_rate, [0.75, 0.75])


def test_a_compressed_sample_gives_nearly_the_same():
    rng = np.random.default_rng(2)
    p = rng.random(3000)
    whole = rainproof.Sample(rng.random(3000) < p, p, sample_weight=rng.random(3000))
    bins, again = soft_bins(whole, 16), soft_bins(whole.compress(2**12), 16)
    for name in ("share", "event_rate", "effective", "mean_prediction", "low", "high"):
        assert_allclose(getattr(bins, name), getattr(again, name), rtol=1e-3)
    coarse = soft_bins(whole.compress(16), 16)
    assert_allclose(coarse.event_rate, bins.event_rate)


def test_a_grid_finer_than_the_compression_is_refused():
    with pytest.raises(
        rainproof.InputError,
        match="grid must not exceed 8, the grid of the compressed sample; it is 16",
    ):
        soft_bins(rainproof.Sample([0, 1], [0.2, 0.8]).compress(8), 16)


def test_intervals_cover_the_population():
    """Predictions uniform, events at the rate p^2: each bin's rate is known, and so how often the
    intervals hold it.
    """
    m, n, seen, all_seen, draws = 8, 400, 0.0, 0, 300
    x = (np.arange(200_000) + 0.5) / 200_000
    hat = np.maximum(0, 1 - np.abs(m * x - np.arange(m + 1)[:, None]))
    true = (hat * x**2).sum(axis=1) / hat.sum(axis=1)
    rng = np.random.default_rng(3)
    for _ in range(draws):
        p = rng.random(n)
        bins = soft_bins(rainproof.Sample(rng.random(n) < p**2, p), m, confidence_level=0.9)
        at = np.round(bins.prediction * m).astype(int)
        seen += np.mean((bins.low <= true[at]) & (true[at] <= bins.high)) / draws
        all_seen += bool(np.all((bins.low_all <= true[at]) & (true[at] <= bins.high_all)))
    assert seen >= 0.9
    assert all_seen / draws >= 0.9


def test_it_says_what_it_is():
    bins = soft_bins(rainproof.Sample([0, 1], [0.2, 0.8]), 4)
    assert repr(bins) == "SoftBins(grid=4, confidence_level=0.95, n=2)"
    with pytest.raises(ValueError, match="read-only"):
        bins.low[0] = 0
