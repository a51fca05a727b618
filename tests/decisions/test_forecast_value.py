"""The value of a forecast, from its definition: at random thresholds, and on both sides of every
prediction.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.isotonic_oracle import row_fit
from helpers.strategies import probabilities, samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof import forecast_value
from rainproof.core.curve import SwapCurve
from rainproof.decisions.values import value_at

BETTER = "better than no forecast (always or never acting, whichever is better)"


def shares(y, w):
    weight = np.ones(len(y)) if w is None else np.asarray(w, float)
    return weight / weight.sum()


def by_definition(y, p, w, mu, *, ties):
    """What acting above a threshold gains over the better of always and never acting."""
    gain = shares(y, w) * (y - mu)
    return gain[p >= mu if ties else p > mu].sum() - max(0.0, gain.sum())


def isotonic(y, p, w):
    fit = row_fit(y, p, np.ones(len(p)) if w is None else w)
    return np.array([math.nan if x is None else float(x) for x in fit])


def both_sides(curve):
    """The curve's points by piece: (threshold, index, whether predictions equal to the threshold
    are acted on).
    """
    return [(mu, k, k % 2 == 1) for k, mu in enumerate(curve.threshold)]


@given(samples(max_size=12))
def test_every_point_by_definition(rows):
    y, p, w = rows
    v = forecast_value(y, p, sample_weight=w)
    curve, foresight = v, y.astype(float)
    assert (curve.threshold[0], curve.threshold[-1], len(curve.threshold) % 2) == (0, 1, 0)
    for mu, k, ties in both_sides(curve):
        assert curve.value[k] == pytest.approx(by_definition(y, p, w, mu, ties=ties), abs=1e-12)
        # at 0 act on no 0, at 1 on every 1
        perfect = by_definition(y, foresight, w, mu, ties=mu > 0)
        assert curve.value_perfect[k] == pytest.approx(perfect, abs=1e-12)
    assert {0.0, 1.0, *p[shares(y, w) > 0]} <= set(curve.threshold)
    assert np.all(curve.value <= curve.value_perfect + 1e-12)
    assert np.all(curve.value_recalibrated >= curve.value - 1e-12)
    assert np.all(curve.value_recalibrated >= -1e-12)


@given(samples(max_size=12), st.lists(probabilities, min_size=1, max_size=6))
def test_random_thresholds_by_definition(rows, asked):
    """Straight lines between the points are the curves; calling it acts on predictions equal to the
    threshold.
    """
    y, p, w = rows
    v = forecast_value(y, p, sample_weight=w)
    assert_allclose(v(asked), [by_definition(y, p, w, mu, ties=True) for mu in asked], atol=1e-12)
    fit = isotonic(y, p, w)
    some = ~np.isnan(fit)
    for mu in (x for x in asked if np.abs(v.threshold - x).min() > 1e-9):
        expected = by_definition(y[some], fit[some], shares(y, w)[some], mu, ties=True)
        found = np.interp(mu, v.threshold, v.value_recalibrated)
        assert found == pytest.approx(expected, abs=1e-12)


@given(samples(max_size=12), st.lists(probabilities, min_size=1, max_size=6))
def test_some_thresholds_without_the_curve(rows, asked):
    y, p, w = rows
    sample = rainproof.Sample(y, p, sample_weight=w)
    found = value_at(sample.distinct(), np.array(asked))
    assert_allclose(found, forecast_value(sample)(asked), atol=1e-12)


@given(samples(max_size=12))
def test_the_gaps_are_regret_curves(rows):
    """Recalibration gains the regret for monotone swaps; what is below no forecast is that for
    constant swaps.
    """
    y, p, w = rows
    curve, table = (
        forecast_value(y, p, sample_weight=w),
        rainproof.Sample(y, p, sample_weight=w).distinct(),
    )
    edges = np.append(curve.threshold[::2], 1.0)
    for swaps, gap in (
        ("monotone", curve.value_recalibrated - curve.value),
        ("constant", np.maximum(-curve.value, 0.0)),
    ):
        _, left, right = SwapCurve.from_table(table, swaps).points(edges)
        assert_allclose(gap[::2], right[:-1], atol=1e-12)
        assert_allclose(gap[1::2], left[1:], atol=1e-12)


@given(samples(max_size=12))
def test_relative_value_and_net_benefit(rows):
    y, p, w = rows
    v = forecast_value(y, p, sample_weight=w)
    curve, rate = v, v.event_rate
    for mu, k, ties in both_sides(curve):
        if 0 < rate < 1 and curve.value_perfect[k] > 1e-300:  # a rate may round to 0 or 1
            expected = by_definition(y, p, w, mu, ties=ties) / curve.value_perfect[k]
            # the definition cancels where little is at stake
            close = 1e-9 + 1e-12 / curve.value_perfect[k]
            assert v.relative[k] == pytest.approx(expected, rel=1e-9, abs=close)
    assert np.isnan(v.relative).all() if rate in (0, 1) else np.all(v.relative <= 1 + 1e-9)
    inner = curve.threshold < 1 - 1e-9
    gain = [by_definition(y, p, w, mu, ties=ties) for mu, _, ties in both_sides(curve)]
    gain = (np.array(gain) + np.maximum(0, rate - curve.threshold))[inner]
    rest = 1 - curve.threshold[inner]  # near 0 it magnifies the rounding of the gain
    close = 1e-9 + 1e-6 * np.abs(gain / rest) + 1e-15 / rest
    assert np.all(np.abs(curve.net_benefit[inner] - gain / rest) <= close)


def test_relative_value_keeps_its_digits_where_almost_every_row_is_an_event():
    """A forecast that tells the few others apart is perfect, not a little better."""
    v = forecast_value([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], sample_weight=[1.9, 1.0, 1e9, 1.5])
    assert v.relative.max() == 1.0


def test_by_hand():
    """Two of four events, at 0.2, 0.4, 0.6, 0.8 the outcomes 0, 1, 0, 1; e(1/2) = 1/4.

    At 1/2 acting on 0.6 and 0.8 gains (-1/2 + 1/2)/4 = 0. Between 0.6 and 0.8: (1 - mu)/4 of e = (1
    - mu)/2, one half. At 0.3: 0.3/4 of the row not acted on, of e = 0.15. At 0.6 the false alarm is
    acted on: (1 - 2 mu)/4 = -0.05.
    """
    v = forecast_value([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8])
    assert_allclose(
        v([0.3, 0.5, 0.6, 0.7, 0.8, 0.9]), [0.075, 0, -0.05, 0.075, 0.05, 0], atol=1e-15
    )
    assert_allclose(v.threshold, np.repeat([0, 0.2, 0.4, 0.5, 0.6, 0.8, 1], 2)[1:-1])
    assert_allclose(v.value, [0, 0, 0.05, 0.1, -0.05, 0, 0, -0.05, 0.1, 0.05, 0, 0], atol=1e-15)
    assert_allclose(v.relative, [0, 0, 0.5, 0.5, -0.25, 0, 0, -0.25, 0.5, 0.5, 0, 0], atol=1e-15)
    assert repr(v) == "ForecastValue(event_rate=0.5, recalibration='isotonic', n=4)"
    assert str(v) == (
        f"On these 4 rows the forecast is {BETTER} at thresholds from 0.2 to 0.4 "
        "(and in 1 other range). Its largest relative value is 50% of what perfect foresight "
        "gains, at the threshold 0.4. It is worse than no forecast at thresholds from 0.4 to 0.6; "
        "most at 0.4: by 0.05 per row, where a false alarm costs 0.4 and a miss 0.6."
    )
    assert v._repr_html_() == f"<p>{v}</p>"


def test_the_range_with_most_value_is_named():
    rng = np.random.default_rng(1)
    risk = rng.beta(1.2, 6, 5000)
    infected, score = rng.random(5000) < risk, np.round(risk**0.5, 2)
    v, said = forecast_value(infected, score), {}
    mu = (np.arange(50_000) + 0.5) / 50_000
    for sign in (1, -1):
        value = np.maximum(sign * v(mu), 0.0)
        breaks = np.flatnonzero(np.diff(value > 0)) + 1
        runs = np.split(np.arange(len(mu)), breaks)
        run = max(runs, key=lambda run: value[run].sum())
        said[sign] = sum(value[r[0]] > 0 for r in runs), f"{mu[run[0]]:.3f}", f"{mu[run[-1]]:.3f}"
    assert said == {1: (4, "0.010", "0.188"), -1: (3, "0.191", "0.800")}
    assert (
        "whichever is better) at thresholds from 0.01 to 0.1882 (and in 3 other ranges). " in str(v)
    )
    assert (
        "worse than no forecast at thresholds from 0.1909 to 0.8 (and in 2 other ranges); "
        in str(v)
    )


def test_limits_where_nothing_is_at_stake():
    """A 0 that comes true is worth ever less near 0, but ever more than all that is at stake there
    is lost.
    """
    v = forecast_value([1, 0, 0, 1], [0.0, 0.0, 0.5, 1.0])
    assert (v.relative[0], v.relative[-1]) == (-math.inf, 0.5)
    assert v.net_benefit[-1] == pytest.approx(0.25)
    good = forecast_value([0, 0, 0, 1], [0.0, 0.0, 0.5, 0.5])
    assert_allclose(good.relative[[0, -1]], [2 / 3, 0])
    assert forecast_value([0, 1], [1.0, 1.0]).net_benefit[-1] == -math.inf
    assert good(0) == 0
    assert forecast_value([0, 1], [5e-324, 1.0]).relative[1] == 0  # no threshold is too small


@for_each(
    "y, p, text",
    [
        (
            [1, 0, 1],
            [1.0, 0.0, 1.0],
            "at thresholds from 0 to 1. Its largest relative value is 100% of what perfect "
            "foresight gains, at the threshold 0.6667. It is worse than no forecast at no "
            "threshold.",
        ),
        (
            [0, 1],
            [0.5, 0.5],
            f"On these 2 rows the forecast is never {BETTER}. "
            "It is worse than no forecast at no threshold.",
        ),
        (
            [1],
            [0.5],
            f"On this row the forecast is never {BETTER}. "
            "All outcomes are the same, so no forecast can be. "
            "It is worse than no forecast at thresholds from 0.5 to 1; most at 0.5: by 0.5 per "
            "row, where a false alarm costs 0.5 and a miss 0.5.",
        ),
        (
            [0, 0],
            [0.0, 0.0],
            "All outcomes are the same, so no forecast can be. "
            "It is worse than no forecast at no threshold.",
        ),
        (
            [1, 0],
            [0.0, 1.0],
            "It is worse than no forecast at thresholds from 0 to 1; most at 0: by 0.5 per row, "
            "where a false alarm costs 0 and a miss 1.",
        ),
    ],
)
def test_what_it_says(y, p, text):
    assert text in str(forecast_value(y, p))


def test_one_class_has_no_relative_value():
    for outcome in (0, 1):
        v = forecast_value([outcome] * 3, [0.0, 0.5, 1.0])
        assert np.isnan(v.relative).all()
        assert v.value_perfect.max() == 0
        assert v.value.min() < 0
        assert repr(v) == f"ForecastValue(event_rate={outcome}, recalibration='isotonic', n=3)"
        assert v.to_dict()["relative"] == [None] * len(v.relative)


def test_recalibrated_predictions_of_the_same_rows():
    rng = np.random.default_rng(2)
    p = np.round(rng.random(300), 2)
    y, w = (rng.random(300) < p**2).astype(int), rng.exponential(size=300)
    v = forecast_value(y, p, sample_weight=w, recalibrated=p**2)
    assert v.recalibration == "given"
    own = forecast_value(y, p**2, sample_weight=w)
    for mu, k, ties in both_sides(v):
        assert v.value_recalibrated[k] == pytest.approx(
            by_definition(y, p**2, w, mu, ties=ties), abs=1e-12
        )
    assert_allclose(
        own([0.1, 0.33, 0.7]), [by_definition(y, p**2, w, mu, ties=True) for mu in (0.1, 0.33, 0.7)]
    )
    sample = rainproof.Sample(y, p, sample_weight=w)
    assert_array_equal(
        forecast_value(sample, recalibrated=p**2).value_recalibrated, v.value_recalibrated
    )
    assert forecast_value(sample).recalibration == "isotonic"


def test_labels_weights_and_compression():
    rng = np.random.default_rng(3)
    p = rng.random(500)
    y = rng.random(500) < p
    named = forecast_value(np.where(y, "yes", "no"), p, pos_label="yes")
    assert_array_equal(named.value, forecast_value(y, p).value)
    twice = forecast_value(y, p, sample_weight=np.full(500, 2.0))
    assert_allclose(twice.value, named.value, atol=1e-15)
    cells = forecast_value(rainproof.Sample(y, p).compress(1024))
    assert (cells.grid, cells.n, named.grid) == (1024, 500, None)
    assert cells(0.3) == pytest.approx(named(0.3), abs=1 / 500 + 1 / 1024)


def test_results_are_read_only_and_json():
    v = forecast_value([0, 1, 1], [0.0, 0.0, 0.7])
    assert not v.relative.flags.writeable
    assert not v.value.flags.writeable
    shown = v.to_dict()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert (shown["n"], shown["recalibration"], shown["relative"][0]) == (3, "isotonic", None)
    assert_array_equal(shown["value_perfect"], v.value_perfect)


@for_each(
    "recalibrated, message",
    [
        ([0.2], "y_true and recalibrated must have the same length; they have 2 and 1"),
        (
            [0.2, 1.5],
            "recalibrated must lie in [0, 1]; 1 value does not, the first is recalibrated[1] = 1.5",
        ),
        ([0.2, math.nan], "recalibrated must"),
    ],
)
def test_bad_recalibrations_are_told_what_is_wrong(recalibrated, message):
    with pytest.raises(rainproof.InputError) as caught:
        forecast_value([0, 1], [0.2, 0.7], recalibrated=recalibrated)
    assert message in str(caught.value)


def test_a_compressed_sample_has_no_rows_to_recalibrate():
    sample = rainproof.Sample([0, 1], [0.2, 0.7]).compress(8)
    with pytest.raises(
        rainproof.InputError,
        match=r"^recalibrated needs rows: a compressed sample does not keep them$",
    ):
        forecast_value(sample, recalibrated=[0.2, 0.7])
    with pytest.raises(rainproof.InputError, match=r"^threshold must lie in \[0, 1\]"):
        forecast_value(sample)(1.5)
