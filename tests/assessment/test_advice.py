"""Advice at a threshold: the swaps by definition, in runs, and only the sure ones in words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

import brolly
from brolly.assessment.advice import PredictionSwap, ThresholdAdvice, advise, thresholds
from brolly.inference.soft_bins import soft_bins


@given(samples(max_size=12), st.sampled_from([0.001, 0.1, 0.25, 0.3, 0.5, 0.75, 0.9]))
def test_the_regret_is_that_of_the_rounding_policy_with_predictions_told_apart(sample, mu):
    """A threshold task in these units, each bin a prediction of its own: the curve's limit from the left."""
    y, p, w = sample
    s = brolly.Sample(y, p, sample_weight=w)
    found = advise(soft_bins(s, 8), mu, 0.0)
    curve = brolly.regret_curve(s, grid=8)._curve
    assert found.regret == pytest.approx(curve.regret(mu, above=True), abs=1e-9)
    assert found.regret == pytest.approx(sum(swap.saves for swap in found.swaps), abs=1e-12)


@given(samples(max_size=12), st.sampled_from([0.1, 0.3, 0.5, 0.8]))
def test_each_bin_is_in_the_run_that_the_definition_puts_it_in(sample, mu):
    y, p, w = sample
    bins = soft_bins(brolly.Sample(y, p, sample_weight=w), 8)
    found = advise(bins, mu, 0.0)
    share = 0.0
    for j, q, pi, low, high in zip(
        bins.prediction, bins.event_rate, bins.share, bins.low_all, bins.high_all, strict=True
    ):
        acts = j >= mu
        wrong = q < mu - 1e-12 if acts else q > mu + 1e-12
        sure = high < mu if acts else low > mu
        inside = [s for s in found.swaps if (s.says == "act") == acts and s.sure == sure and s.low <= j <= s.high]
        assert bool(inside) >= wrong
        share += pi * wrong
    assert sum(swap.share for swap in found.swaps) == pytest.approx(share)
    for swap in found.swaps:
        assert (swap.says, swap.do) in (("act", "wait"), ("wait", "act"))
        assert 0 <= swap.low <= swap.high <= 1
        assert swap.low >= mu if swap.says == "act" else swap.high <= mu


def test_the_sentence_of_the_report():
    """A forecast that says 0.3 to 0.4 where it happens one time in ten, 200 rows at each of the bins."""
    p = np.repeat([0.125, 0.375, 0.5, 0.75], 400)
    rate = np.repeat([0.1, 0.1, 0.1, 0.75], 400)
    y = np.tile(np.arange(400) / 400, 4) < rate
    found = advise(soft_bins(brolly.Sample(y, p), 8), 0.35, 0.01)
    assert str(found) == (
        "Between 0.35 and 0.562 you should not act, though the forecast says so. Elsewhere follow the forecast."
    )
    (swap,) = found.swaps
    assert (swap.low, swap.high, swap.sure) == (0.35, 0.5625, True)
    assert swap.saves == pytest.approx(0.5 * 0.25)
    assert found.share_of_stakes == pytest.approx(0.125 / 0.65)
    assert found.beyond_chance


def test_acting_where_the_forecast_says_wait():
    p, y = np.repeat([0.125, 0.875], 200), np.ones(400)
    found = advise(soft_bins(brolly.Sample(y, p), 8), 0.5, 0.0)
    assert str(found).startswith("Between 0.0625 and 0.188 you should act, though the forecast says not to.")


def test_what_is_not_sure_is_not_advised():
    found = advise(soft_bins(brolly.Sample([0, 0, 1], [0.5, 0.5, 0.5]), 8), 0.4, 0.5)
    assert str(found) == (
        "Follow the forecast: another action would have been better at some predictions (by 11.2% of what is at "
        "stake), but which is not sure."
    )
    assert not found.beyond_chance


def test_nothing_to_change():
    found = advise(soft_bins(brolly.Sample([0, 1], [0.5, 0.5]), 8), 0.5, 0.0)
    assert found.swaps == ()
    assert str(found) == "Follow the forecast: on these rows no other action would have been better."


@pytest.mark.parametrize(
    ("count", "ending"), [(3, ""), (4, " And 1 more such place."), (6, " And 3 more such places.")]
)
def test_a_sentence_carries_three_places(count, ending):
    swap = PredictionSwap(low=0.1, high=0.2, says="wait", do="act", sure=True, share=0.1, saves=0.01)
    found = ThresholdAdvice(threshold=0.5, regret=0.01 * count, null_high=0.0, swaps=(swap,) * count)
    text = str(found)
    assert text.count("Between") == 3
    assert text.endswith(f"though the forecast says not to.{ending} Elsewhere follow the forecast.")


def test_thresholds_hold_ones_own_and_rare_events():
    at = thresholds([1 / 3, 0.0, 1.0])
    assert 1 / 3 in at
    assert at.min() == 0.0005
    assert at.max() == 0.9995
    assert np.all(np.diff(at) > 0)
    assert {0.005, 0.35, 0.5, 0.995} <= set(at.tolist())


def test_the_dict_is_ready_for_json():
    found = advise(soft_bins(brolly.Sample([0, 0, 1], [0.5, 0.5, 0.5]), 8), 0.25, 0.125).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["cost_ratio"] == pytest.approx(1 / 3)
    assert found["text"].startswith("Follow")
    assert found["swaps"] == []
