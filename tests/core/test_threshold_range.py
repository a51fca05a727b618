"""Decisions whose thresholds lie in a range: against a linear program over their tasks, and what is
refused.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.regret_oracle import pooled, solve, threshold_regret
from helpers.seeds import for_seeds

import rainproof
from rainproof.measures import calibration_decision_loss

PLACES = np.array([0.0, 5e-324, 1e-12, 0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 0.9, 1.0])
BETWEEN = np.array([0.02, 0.07, 0.15, 0.22, 0.4, 0.6, 0.95])


def draw(rng):
    """Few rows with many ties, and a range whose ends are predictions, lie between them, or are one
    number.
    """
    n = int(rng.integers(1, 30))
    p = rng.choice(PLACES, n) if rng.random() < 0.7 else rng.random(n)
    y, w = rng.integers(0, 2, n), rng.choice([0.0, 0.5, 1.0, 7.0], n) + (np.arange(n) == 0)
    ends = np.sort(rng.choice(np.r_[p, PLACES, BETWEEN], 2))
    if rng.random() < 0.2 and 0 < ends[0] < 1:
        ends[1] = ends[0]
    ends = np.array([0.05, 0.2]) if ends[0] == ends[1] and not 0 < ends[0] < 1 else ends
    return y, p, w, tuple(ends.tolist())


def thresholds(at, low, high):
    """The sides of thresholds whose task has a threshold in the range: (threshold, whether equal
    predictions act).
    """
    mu = np.unique(np.r_[low, high, at[(at > low) & (at < high)], np.linspace(low, high, 7)])
    return [(x, True) for x in mu] + [(x, False) for x in mu if x < high]


def largest(points):
    """The best mixture of losses at thresholds that a task with payoffs in [0, 1] can be."""
    mu, loss = np.array(points, float).T
    return solve(loss, np.array([1 - mu, mu]), np.ones(2), upper=None)


@for_seeds(100)
def test_cdl_of_a_range_is_that_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    y, p, w, (low, high) = draw(rng)
    at, weight, events = pooled(y, p, w)
    for swaps in ("all", "monotone", "constant"):
        sides = thresholds(np.r_[at, events / weight], low, high)
        expected = largest(
            [(mu, threshold_regret(at, weight, events, mu, above, swaps)) for mu, above in sides]
        )
        found = calibration_decision_loss(
            y, p, sample_weight=w, swaps=swaps, threshold_range=(low, high)
        )
        assert found == pytest.approx(expected, abs=1e-9)


@for_seeds(60)
def test_the_curve_of_a_range_has_its_values_its_loss_and_its_worst_task(seed):
    rng = np.random.default_rng(seed)
    y, p, w, (low, high) = draw(rng)
    at, weight, events = pooled(y, p, w)
    for swaps in ("all", "monotone", "constant"):
        curve = rainproof.regret_curve(
            y, p, sample_weight=w, swaps=swaps, threshold_range=(low, high)
        )
        whole = (low, high) == (0, 1)
        assert (curve.threshold_range is None) == whole
        assert curve.loss == calibration_decision_loss(
            y, p, sample_weight=w, swaps=swaps, threshold_range=[low, high]
        )
        assert curve.threshold[0] == low
        assert curve.threshold[-1] == high
        if not whole:
            assert curve.regret[-1] == pytest.approx(
                threshold_regret(at, weight, events, high, True, swaps), abs=1e-12
            )
            assert curve.regret[0] == pytest.approx(
                threshold_regret(at, weight, events, low, True, swaps), abs=1e-12
            )
        assert curve.worst.regret == pytest.approx(max(curve.regret.max(), 0.0), abs=1e-12)
        assert low <= curve.worst.threshold <= high or curve.worst.regret == 0
        inner = rng.uniform(low, high, 5)
        sides = [
            [threshold_regret(at, weight, events, mu, x, swaps) for x in {True, mu == high}]
            for mu in inner
        ]
        assert curve(inner) == pytest.approx([max(both) for both in sides], abs=1e-12)
        assert np.interp(inner, curve.threshold, curve.regret) == pytest.approx(
            curve(inner), abs=1e-9
        )
        if curve.worst_task is not None:
            assert all(low <= mu <= high for mu in curve.worst_task.thresholds)
            if swaps == "all":
                swap = rainproof.swap_regret(
                    y, p, curve.worst_task, sample_weight=w, per="prediction"
                )
                assert swap.value * curve.worst_task.scale == pytest.approx(curve.loss, abs=1e-9)


@for_seeds(40)
def test_the_whole_range_is_what_it_was_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    y, p, w, _ = draw(rng)
    for whole in ((0, 1), [0.0, 1.0], np.array([0, 1]), None):
        curve = rainproof.regret_curve(y, p, sample_weight=w, threshold_range=whole)
        assert curve.to_dict() == rainproof.regret_curve(y, p, sample_weight=w).to_dict()
        value = rainproof.forecast_value(y, p, sample_weight=w, threshold_range=whole)
        assert value.to_dict() == rainproof.forecast_value(y, p, sample_weight=w).to_dict()


def test_one_low_threshold_is_its_regret_over_what_is_at_stake():
    y, p = [0, 0, 1, 0, 1], [0.1, 0.1, 0.1, 0.3, 0.6]
    # From 0.1 on all are acted on; only the third to fifth row would be: 0.1 and 0.3 are swapped as
    # wholes.
    assert calibration_decision_loss(y, p, threshold_range=0.1) == pytest.approx(0.1 / 5 / 0.9)
    curve = rainproof.regret_curve(y, p, threshold_range=0.3)
    assert curve.threshold.tolist() == [0.3]
    # The forecast acts on two rows, of which one has the event; the rows at 0.1 would gain 1 - 3 *
    # 0.3.
    assert curve.loss == pytest.approx((1 - 3 * 0.3 + 0.3) / 5 / 0.7)
    assert curve.worst_task.thresholds == (0.3,)


@for_seeds(60)
def test_the_value_of_a_range_is_a_part_of_the_whole_curve(seed):
    rng = np.random.default_rng(seed)
    y, p, w, (low, high) = draw(rng)
    whole = rainproof.forecast_value(y, p, sample_weight=w)
    part = rainproof.forecast_value(y, p, sample_weight=w, threshold_range=(low, high))
    at = np.unique(np.clip(np.r_[low, high, rng.uniform(low, high, 6), p], low, high))
    assert part(at) == pytest.approx(whole(at), abs=1e-12)
    assert part.threshold[0] == low
    assert part.threshold[-1] == high
    for name in ("value_recalibrated", "value_perfect", "relative"):
        inner = at[(at > low) & ~np.isin(at, p)]
        there = [np.interp(inner, v.threshold, getattr(v, name)) for v in (part, whole)]
        assert there[0] == pytest.approx(there[1], abs=1e-9, nan_ok=True) or name == "relative"
    net = part.net_benefit[-1]
    acts = w[(p >= high) & (y == 1)].sum() - (
        w[(p >= high) & (y == 0)].sum() * high / (1 - high) if high < 1 else 0
    )
    assert high == 1 or net == pytest.approx(acts / w.sum(), abs=1e-12)
    assert str(part)


def test_values_and_curves_say_which_decisions_they_are_about():
    y, p = [0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]
    assert "No decision with a threshold between 5% and 25% loses" in str(
        rainproof.regret_curve(y, p, threshold_range=(0.05, 0.25))
    )
    assert "for decisions with the threshold 25%, the forecast is" in str(
        rainproof.forecast_value(y, p, threshold_range=0.25)
    )
    curve = rainproof.regret_curve(y, p, threshold_range=(0.05, 0.25))
    assert curve.to_dict()["threshold_range"] == {"low": 0.05, "high": 0.25}
    with pytest.raises(
        rainproof.InputError, match=r"threshold must lie in \[0.05, 0.25\]; 1 value does not"
    ):
        curve([0.1, 0.5])


BAD = [
    (0.2, 0.05), (-0.1, 0.5), (0.1, 1.5), (0.1, float("nan")), float("nan"), "5%", ("a", "b"), "ab", (0.1,),
    (0.1, 0.2, 0.3), (), 0, 1, (0, 0), (1, 1), True, (False, True), {0.1, 0.2}, [[0.1, 0.2]], np.array(0.1), 1 + 2j,
    (0.1, float("inf")), (None, 0.5), np.array([[0.1], [0.2]]), b"ab",
]  # fmt: skip


@for_each("bad", BAD)
def test_what_is_no_range_is_refused(bad):
    with pytest.raises(
        rainproof.InputError,
        match="threshold_range must be a number above 0 and below 1, or a pair",
    ):
        calibration_decision_loss([0, 1], [0.2, 0.3], threshold_range=bad)
