"""How predictions are off: in their mean, their spread or in places, whichever is clear, in the
numbers people know.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.optimize import minimize
from scipy.special import expit, logit

import rainproof
from rainproof.core.sample import Sample
from rainproof.inference.logistic_estimates import (
    calibration_intercept,
    calibration_slope,
    log_score_gains,
)
from rainproof.verdict.calibration import grouped_test, how_calibrated

N = 4000


def drawn(bend, seed=0, n=N):
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(0, 1.3, n))
    return rng.random(n) < bend(p), p


def _uneven(p):
    """Off by 0.06 and 0.2 in turns, so that neither the mean nor the slope is."""
    p[:] = np.array([0.2, 0.4, 0.6, 0.8])[np.arange(len(p)) % 4]
    return p + np.array([0.06, -0.2, 0.2, -0.06])[np.arange(len(p)) % 4]


@for_each(
    "bend, direction",
    [
        (lambda p: p**1.5, "too high"),
        (lambda p: p**0.6, "too low"),
        (lambda p: expit(0.4 * logit(p)), "too extreme"),
        (lambda p: expit(2.0 * logit(p)), "too timid"),
        (_uneven, "uneven"),
        (lambda p: p, "none"),
    ],
)
def test_each_direction_is_named(bend, direction):
    found = rainproof.assess(*drawn(bend), measures=[]).calibration
    assert found.direction == direction
    assert found.rejected == (direction != "none") == (found.p_value <= 0.05)


def test_of_mean_and_spread_the_one_that_costs_more_is_named():
    """Both are clear; what a logistic recalibration gains is divided as by a general optimiser."""
    rng = np.random.default_rng(3)
    odds = rng.normal(-0.4, 1.5, 3000)
    y = rng.random(3000) < expit(odds)

    def lost(a, b, x):
        return np.mean(np.logaddexp(0, a + b * x) - y * (a + b * x))

    directions = []
    for shift, stretch in ((0.8, 2.5), (1.5, 1.4), (-1.5, 1.4), (0.2, 0.5)):
        p = expit(shift + stretch * odds)
        found = how_calibrated(Sample(y, p), 0.001, 0.95)
        x = logit(p)
        mean = minimize(lambda a, x=x: lost(a[0], 1, x), [0.0]).fun
        first, then = (
            lost(0, 1, x) - mean,
            mean - minimize(lambda ab, x=x: lost(*ab, x), [0.0, 1.0]).fun,
        )
        gains = log_score_gains(Sample(y, p).units, p)
        assert gains == pytest.approx((first, then), abs=1e-6)
        assert (found.direction in ("too high", "too low")) == (first >= then)
        assert not found.difference.low <= 0 <= found.difference.high
        assert not found.slope.low <= 1 <= found.slope.high
        directions.append(found.direction)
    assert directions == ["too extreme", "too high", "too low", "too timid"]
    separated = Sample([0, 1, 1], [0.2, 0.7, 0.9])
    assert log_score_gains(separated.units, separated.prob) is None


def test_a_calibrated_forecast_has_no_direction_whatever_the_means_say():
    y, p = drawn(lambda p: p**1.5)
    assert how_calibrated(Sample(y, p), 0.2, 0.95).direction == "none"


def test_the_numbers_are_those_of_the_rows():
    y, p = drawn(lambda p: p**1.5)
    found = how_calibrated(Sample(y, p), 0.001, 0.95)
    assert (found.mean_prediction, found.event_rate) == pytest.approx((p.mean(), y.mean()))
    assert found.difference.value == pytest.approx(p.mean() - y.mean())
    half = 1.96 * np.std(p - y) / np.sqrt(N)
    assert (found.difference.high - found.difference.low) / 2 == pytest.approx(half, rel=0.01)
    clinical = rainproof.clinical_performance(y, p)
    # alike log odds are pooled
    assert found.slope.value == pytest.approx(clinical.calibration_slope.value, abs=2e-3)
    assert found.intercept.value == pytest.approx(clinical.calibration_intercept.value, abs=2e-3)


@for_each("direction", ["uneven", "too extreme", "too timid"])
def test_the_most_biased_range_is_the_run_of_tenths_farthest_off(direction):
    """Every run of tenths tried one by one; for extreme predictions those at an end, off in the
    right way.
    """
    bend = {
        "too extreme": lambda p: expit(0.4 * logit(p)),
        "too timid": lambda p: expit(2 * logit(p)),
    }
    y, p = drawn(bend.get(direction, lambda p: np.where((p > 0.3) & (p < 0.5), 0.1, p)), n=1000)
    found = rainproof.assess(y, p, measures=[]).calibration
    order = np.argsort(p)
    p, y = p[order], y[order]
    tenths, best = np.split(np.arange(1000), 10), (0.0, None)
    for i in range(10):
        for j in range(i, 10):
            at = np.concatenate(tenths[i : j + 1])
            off = (p[at] - y[at]).sum()
            far = off**2 / (p[at] * (1 - p[at])).sum()
            sign = 1 if found.direction == "too extreme" else -1
            at_end = (i == 0) != (j == 9) and (off if j == 9 else -off) * sign > 0
            if far > best[0] and (at_end or found.direction not in ("too extreme", "too timid")):
                best = far, at
    at = best[1]
    worst = found.most_biased
    assert (worst.low, worst.high, worst.n, worst.events) == pytest.approx(
        (p[at[0]], p[at[-1]], len(at), y[at].sum())
    )
    assert (worst.mean_prediction, worst.event_rate) == pytest.approx((p[at].mean(), y[at].mean()))


def test_predictions_of_0_and_1_can_be_too_extreme():
    p = np.tile([0.0, 1e-17, 1.0, 1.0], 125)
    y = np.concatenate([np.tile([0, 1, 1, 0], 62), np.tile([0, 0, 1, 1], 63)])
    found = rainproof.assess(y, p, measures=[]).calibration
    assert found.direction == "too extreme"
    assert found.slope.high < 1
    assert found.most_biased.mean_prediction in (0.0, 1.0)


def test_an_event_at_the_smallest_prediction_is_far_off():
    found = how_calibrated(Sample([1], [5e-324]), 0.001, 0.95)
    assert (found.most_biased.mean_prediction, found.most_biased.event_rate) == (5e-324, 1.0)


def test_what_is_right_everywhere_has_no_biased_range():
    found = how_calibrated(Sample([0, 1, 1], [0.0, 1.0, 1.0]), 1.0, 0.95)
    assert (found.most_biased, found.slope) == (None, None)


def test_rows_in_groups_and_weights_count_as_what_they_are():
    y, p = drawn(lambda p: p**1.5, n=600)
    groups = np.repeat(np.arange(60), 10)
    once, twice, thrice = (
        how_calibrated(
            Sample(np.tile(y, k), np.tile(p, k), groups=np.tile(np.arange(600), k)), 0.001, 0.95
        )
        for k in (1, 2, 3)
    )
    assert thrice.difference.low == pytest.approx(twice.difference.low, rel=1e-6)
    # one row is no group
    assert twice.difference.low == pytest.approx(once.difference.low, rel=0.05)
    assert thrice.slope.low == pytest.approx(twice.slope.low, rel=1e-6)
    assert twice.slope.low == pytest.approx(once.slope.low, rel=0.02)
    assert twice.most_biased.n == pytest.approx(2 * once.most_biased.n)
    weighted = how_calibrated(Sample(y, p, sample_weight=np.full(600, 3.0)), 0.001, 0.95)
    assert weighted.difference.low == pytest.approx(
        how_calibrated(Sample(y, p), 0.001, 0.95).difference.low
    )
    assert weighted.most_biased.n == pytest.approx(
        how_calibrated(Sample(y, p), 0.001, 0.95).most_biased.n
    )
    assert how_calibrated(Sample(y, p, groups=groups), 0.001, 0.95).direction == "too high"


def test_groups_are_tested_with_power_and_at_their_level():
    """Rows of forty groups share a part of their luck: 100 samples, calibrated and too high."""
    rejected = {"calibrated": 0, "too high": 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        group, odds = np.repeat(np.arange(40), 10), rng.normal(-0.5, 1, 400)
        luck = np.where(rng.random(400) < 0.3, rng.random(40)[group], rng.random(400))
        y = luck < expit(odds)
        for name, shift in (("calibrated", 0.0), ("too high", 1.0)):
            rejected[name] += grouped_test(Sample(y, expit(odds + shift), groups=group)) <= 0.05
    assert rejected["calibrated"] <= 9  # 5%, and two standard errors
    assert rejected["too high"] >= 80


def test_eight_groups_are_tested_by_bets():
    """Rows of eight groups share a part of their luck: what is plainly off is found, what is right
    is not.
    """
    rejected = {"calibrated": 0, "too high": 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        group, odds = np.repeat(np.arange(8), 50), rng.normal(-0.5, 1, 400)
        luck = np.where(rng.random(400) < 0.3, rng.random(8)[group], rng.random(400))
        y = luck < expit(odds)
        for name, shift in (("calibrated", 0.0), ("too high", 2.0)):
            rejected[name] += grouped_test(Sample(y, expit(odds + shift), groups=group)) <= 0.05
    assert rejected["calibrated"] <= 5
    assert rejected["too high"] >= 60


@pytest.mark.filterwarnings("ignore:events in only:rainproof.errors.FewRowsWarning")
def test_a_forecast_that_is_plainly_off_in_few_groups_is_recalibrated():
    """Eight hospitals: a map is fitted, without a certificate, and is nearer to the truth than the
    forecast.
    """
    rng = np.random.default_rng(0)
    odds = rng.normal(-1, 1, 400)
    y, groups = rng.random(400) < expit(odds), np.repeat(np.arange(8), 50)
    with pytest.warns(rainproof.FewRowsWarning, match="events in only 7 effective clusters"):
        a = rainproof.assess(y, expit(odds + 2), groups=groups, measures=[])
    assert (a.verdict.grade, a.calibration.direction) == ("recalibrate", "too high")
    assert a.recalibrator.certificate_ is None
    new = np.random.default_rng(1).normal(-1, 1, 4000)
    better = a.recalibrator.predict(expit(new + 2))
    assert np.abs(better - expit(new)).mean() < np.abs(expit(new + 2) - expit(new)).mean() / 4
    few = {"groups": groups % 4, "measures": []}
    with pytest.warns(
        rainproof.FewRowsWarning, match="groups has 4 groups: nothing is fitted to fewer than 5"
    ):
        nothing = rainproof.assess(y, expit(odds + 3), **few)
    assert nothing.verdict.grade == "unknown"
    assert "4 groups are too few to be sure that a correction" in nothing.verdict.headline
    with pytest.warns(rainproof.FewRowsWarning):
        rare = rainproof.assess(y, expit(odds) / 3, **few)
    assert rare.verdict.grade == "unknown"
    assert "even recalibrated" not in str(rare)


@for_each("base_rate", [0.02, 0.3])
@for_each("first", [0, 1])
def test_pooled_rows_weigh_by_their_own_outcome(base_rate, first):
    """At a base rate a case weighs by its outcome, whatever the first row has."""
    y, p = drawn(lambda p: p, n=1000)
    order = np.argsort(y != first, kind="stable")
    sample = Sample(y[order], p[order], base_rate=base_rate)
    found = how_calibrated(sample, 0.5, 0.95)
    slope = calibration_slope(sample.units, sample.prob, 0.95)
    intercept = calibration_intercept(sample.units, sample.prob, 0.95)
    for pooled, single in ((found.slope, slope), (found.intercept, intercept)):
        assert pooled.high - pooled.low == pytest.approx(single.high - single.low, rel=0.01)
