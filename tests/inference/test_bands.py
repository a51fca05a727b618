"""Bands of calibrated forecasters."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof

P = np.random.default_rng(0).random(800)


def test_the_rates_have_the_spread_of_soft_bins():
    """Var of the rate in bin j is sum w^2 p (1 - p) / (sum w)^2, with hat weights w."""
    band = rainproof.inference.null_band(
        np.zeros(800), P, bins=8, n_resamples=400, rng=0, confidence_level=0.9
    )
    w = np.maximum(0, 1 - np.abs(8 * P[:, None] - np.arange(9)))
    mean = (w * P[:, None]).sum(axis=0) / w.sum(axis=0)
    spread = np.sqrt((w**2 * (P * (1 - P))[:, None]).sum(axis=0)) / w.sum(axis=0)
    inner = slice(1, -1)
    assert ((band.rate_low + band.rate_high) / 2)[inner] == pytest.approx(
        mean[inner], abs=0.25 * spread.max()
    )
    assert (band.rate_high - band.rate_low)[inner] == pytest.approx(
        2 * 1.645 * spread[inner], rel=0.2
    )


@for_each("options", [{"grid": 16}, {"swaps": "monotone"}, {"grid": 8, "swaps": "constant"}])
def test_calibrated_forecasters_stay_within(options):
    band = rainproof.inference.null_band(
        np.zeros(800), P, n_resamples=199, rng=1, thresholds=[0.25, 0.5, 0.75], **options
    )
    rng, inside, below = np.random.default_rng(2), 0.0, 0
    for _ in range(100):
        curve = rainproof.regret_curve((rng.random(800) < P).astype(int), P, **options)
        regret = curve(band.thresholds)
        inside += np.mean(
            (band.regret_low <= regret + 1e-12) & (regret <= band.regret_high + 1e-12)
        )
        below += regret.max() <= band.regret_limit
    assert inside / 100 > 0.88
    assert below / 100 > 0.87


@for_each("prob", [P, np.full(300, 0.3), np.repeat([0.0, 0.02, 1.0], 100), P[:20]])
def test_the_gain_of_calibrated_forecasters_stays_within(prob):
    """Straight from the definition: cost of no forecast less cost of acting from the threshold
    on.
    """
    at = np.array([0.02, 0.3, 0.5, 0.9])
    band = rainproof.inference.null_band(
        np.zeros(len(prob)), prob, n_resamples=400, rng=1, thresholds=at, confidence_level=0.9
    )
    rng, inside = np.random.default_rng(2), np.zeros(len(at))
    for _ in range(300):
        y = (rng.random(len(prob)) < prob)[:, None]
        cost = np.where(prob[:, None] >= at, at * ~y, (1 - at) * y).mean(axis=0)
        gain = np.minimum((at * ~y).mean(axis=0), ((1 - at) * y).mean(axis=0)) - cost
        inside += (band.value_low <= gain + 1e-12) & (gain <= band.value_high + 1e-12)
    assert (inside / 300 > 0.84).all()
    assert (band.value_low <= band.value_high).all()


def test_the_result_says_it_all():
    p = np.array([0.1, 0.1, 0.9])
    band = rainproof.inference.null_band([0, 0, 1], p, bins=8, n_resamples=19, rng=3)
    assert np.isnan(band.rate_low[4])
    assert len(band.thresholds) == 101
    said = json.loads(json.dumps(band.to_dict()))
    assert (said["seed"], said["confidence_level"], said["n"], said["rate_low"][4]) == (
        3,
        0.95,
        3,
        None,
    )
    assert repr(band).startswith("NullBand(regret_limit=")
    with pytest.raises(ValueError, match="read-only"):
        band.regret_low[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        band.value_high[0] = 1


@for_each("thresholds", [[], [0.5, 1.5], [np.nan]])
def test_thresholds_that_cannot_be(thresholds):
    with pytest.raises(
        rainproof.InputError, match=r"thresholds must be numbers in \[0, 1\], at least one"
    ):
        rainproof.inference.null_band([0, 1], [0.4, 0.6], thresholds=thresholds)
