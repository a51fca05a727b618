"""The reliability diagram: the bins of `soft_bins`, beside what calibrated forecasts show."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cases import for_each
from numpy.testing import assert_array_equal

import rainproof
from rainproof.inference.bands import soft_bins
from rainproof.verdict.summaries import shown_grid


def rows(n=1500, bend=lambda p: 0.5 + (p - 0.5) / 4):
    rng = np.random.default_rng(3)
    p = rng.random(n)
    return rng.random(n) < bend(p), p


def test_the_bins_are_those_of_soft_bins_on_the_grid_asked_for():
    y, p = rows()
    found = rainproof.clinical.reliability_curve(y, p, grid=16, confidence_level=0.9, rng=0)
    expected = soft_bins(rainproof.Sample(y, p), 16, confidence_level=0.9)
    assert found.grid == 16
    for name in ("prediction", "event_rate", "low", "high", "share"):
        assert_array_equal(getattr(found.bins, name), getattr(expected, name))
    assert repr(found) == f"Reliability(grid=16, 17 bins, {found.off.sum()} off, n=1500)"
    shown = found.to_dict()
    assert json.loads(json.dumps(shown)) == shown


def test_the_default_grid_and_band_are_those_of_an_assessment():
    y, p = rows()
    a = rainproof.assess(y, p, measures=[], n_resamples=19, rng=0)
    found = rainproof.clinical.reliability_curve(y, p, rng=0)
    sample = rainproof.Sample(y, p)
    assert found.grid == a.shown_grid == shown_grid(rainproof.choose_grid(sample), sample)
    np.testing.assert_allclose(found.null_high, a.reliability.null_high, atol=0.05)


def test_the_band_holds_a_calibrated_forecast_and_not_an_overconfident_one():
    assert not rainproof.clinical.reliability_curve(*rows(bend=lambda p: p), rng=0).off.any()
    assert rainproof.clinical.reliability_curve(*rows(), rng=0).off.any()


def test_options_have_their_effect():
    y, p = rows()
    w = np.random.default_rng(0).exponential(size=len(p))
    plain = rainproof.clinical.reliability_curve(y, p, grid=8, rng=0)
    weighted = rainproof.clinical.reliability_curve(
        np.where(y, "yes", "no"), p, grid=8, sample_weight=w, pos_label="yes", rng=0
    )
    assert not np.array_equal(weighted.bins.event_rate, plain.bins.event_rate)
    again = rainproof.clinical.reliability_curve(y, p, grid=8, rng=0)
    assert_array_equal(again.null_low, plain.null_low)
    assert not np.array_equal(
        rainproof.clinical.reliability_curve(y, p, grid=8, rng=1).null_low, plain.null_low
    )
    assert not np.array_equal(
        rainproof.clinical.reliability_curve(y, p, grid=8, n_resamples=99, rng=0).null_low,
        plain.null_low,
    )


@for_each(
    "grid, message",
    [
        (3, "grid must be a power of two"),
        (64, "grid must not exceed 16, the grid of the compressed sample; it is 64"),
    ],
)
def test_grids_that_cannot_be(grid, message):
    y, p = rows(200)
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.clinical.reliability_curve(rainproof.Sample(y, p).compress(16), grid=grid)
