"""Bounds for decisions whose thresholds lie in a range: the suprema by linear programs, and what
they prove.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.regret_oracle import solve
from helpers.seeds import for_seeds

import rainproof
from rainproof.core.validation import ThresholdRange
from rainproof.inference.bound_inputs import BoundInputs
from rainproof.inference.proven_gains import worth

PLACES = np.array([0.0, 1e-12, 0.0625, 0.1, 0.125, 0.25, 0.5, 0.75, 0.9, 1.0])
ENDS = np.array([0.0, 0.05, 0.0625, 0.1, 0.125, 0.2, 0.5, 0.6, 0.9, 1.0])


def draw_range(rng):
    low, high = np.sort(rng.choice(ENDS, 2)).tolist()
    low, high = (0.1, 0.1) if low == high else (low, high)
    return (0.05, 0.9) if (low, high) == (0, 1) else (low, high)


def sides(at, low, high):
    """The thresholds that tasks of the range mix, and whether a prediction equal to one acts."""
    mu = np.unique(np.r_[low, high, at[(at > low) & (at < high)]])
    return [(x, True) for x in mu] + [(x, False) for x in mu if x < high]


def largest(points):
    mu, loss = np.array(points, float).T
    return solve(np.maximum(loss, 0.0), np.array([1 - mu, mu]), np.ones(2), upper=None)


def charged_by_swaps(evidence, extra, mu, acts, monotone):
    """The largest sum of v g + charge |g| at one threshold: over all swaps, or over all other
    cut-offs.
    """
    others, events = evidence.shares
    up = (events + extra[1]) * (1 - mu) - (others - extra[0]) * mu
    down = (others + extra[0]) * mu - (events - extra[1]) * (1 - mu)
    if not monotone:
        return np.maximum(np.where(acts, down, up), 0.0).sum()
    first = int(np.argmax(acts)) if acts.any() else len(acts)
    return max(
        [up[k:first].sum() for k in range(first)]
        + [down[first:k].sum() for k in range(first, len(acts) + 1)]
    )


@for_seeds(60)
def test_the_charged_loss_of_a_range_is_that_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    p, y = rng.choice(PLACES, n), rng.integers(0, 2, n)
    low, high = draw_range(rng)
    sample, within = rainproof.Sample(y, p), ThresholdRange(low, high)
    for evidence in (
        BoundInputs.rounded(sample, 8, None, within),
        BoundInputs.as_is(sample, None, within),
    ):
        tilt = float(rng.uniform(0.1, 3.0) * n)
        extra = evidence.charge(tilt)
        points = []
        for mu, above in sides(evidence.prob, low, high):
            acts = evidence.prob >= mu if above else evidence.prob > mu
            points.append((mu, charged_by_swaps(evidence, extra, mu, acts, evidence.monotone)))
        assert evidence.charged_loss(tilt) == pytest.approx(largest(points), abs=1e-9)


def difference(y, a, b, w, mu, side):
    act_a, act_b = ((p >= mu) if side else (p > mu) for p in (a, b))
    return float(np.sum(w * (y - mu) * (act_a.astype(float) - act_b)) / np.sum(w))


@for_seeds(60)
def test_harm_and_gain_of_a_range_are_those_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    a, b = rng.choice(PLACES, (2, n)) if rng.random() < 0.7 else rng.random((2, n))
    y, w = rng.integers(0, 2, n), rng.choice([0.5, 1.0, 7.0], n)
    low, high = draw_range(rng)
    found = rainproof.switch_guarantee(y, a, b, sample_weight=w, threshold_range=(low, high))
    points = sides(np.r_[a, b], low, high)
    both = (found.worst_task, found.harm, a, b), (found.best_task, found.gain, b, a)
    for task, value, first, second in both:
        expected = largest([(mu, difference(y, first, second, w, mu, side)) for mu, side in points])
        assert value == pytest.approx(expected, abs=1e-9)
        if task is not None:
            assert all(low <= mu <= high for mu in task.thresholds)
            lost = task.payoff(task.best_response(first), y) - task.payoff(
                task.best_response(second), y
            )
            assert np.sum(w * lost) / np.sum(w) == pytest.approx(value, abs=1e-9)
    band = found.band()
    assert band["threshold"][[0, -1]].tolist() == [low, high]
    assert band["loss"][0] == pytest.approx(difference(y, a, b, w, low, low > 0), abs=1e-9)
    assert band["loss"][-1] == pytest.approx(difference(y, a, b, w, high, True), abs=1e-9)
    at = np.r_[low, high, rng.uniform(low, high, 4)]
    assert found.curve(at) == pytest.approx(
        [difference(y, a, b, w, mu, True) for mu in at], abs=1e-12
    )


def overconfident_above(n, seed=0):
    """Calibrated up to 1/2, and far too high above."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < np.where(p > 0.5, 0.5, p)).astype(int), p


def test_bounds_of_a_range_know_nothing_of_other_decisions():
    y, p = overconfident_above(6000)
    better = np.minimum(p, 0.5)
    everywhere, low, high = (
        rainproof.switch_guarantee(y, p, better, threshold_range=some)
        for some in (None, (0.05, 0.3), (0.55, 0.9))
    )
    assert everywhere.gain_at_least > 0.05
    assert high.gain_at_least > 0.05
    assert low.harm == low.gain == low.gain_at_least == 0
    assert low.harm_bound < everywhere.harm_bound
    for response in ("as_is", "rounded"):
        bounds = [
            rainproof.guarantee(y, p, response=response, threshold_range=some).bound
            for some in (None, (0.5, 0.95), (0.05, 0.4), 0.2)
        ]
        assert bounds[0] >= bounds[1] > 4 * bounds[2] > 4 * bounds[3] > 0
    losses = [
        rainproof.inference.loss_at_least(y, p, threshold_range=some)
        for some in (None, (0.6, 0.9), (0.05, 0.3))
    ]
    assert losses[0].bound > 0.05
    assert losses[1].bound > 0.05
    assert losses[2].bound == 0
    assert all(0.6 <= mu <= 0.9 for mu in losses[1].task.thresholds)
    found = [
        worth(rainproof.Sample(y, p), 0.95, 0, some) for some in (None, ThresholdRange(0.11, 0.12))
    ]
    assert found[0].relative_at_least > found[1].relative_at_least > 0
    assert 0.11 <= found[1].relative_threshold <= 0.12


def test_the_whole_range_changes_no_bound():
    y, p = overconfident_above(800)
    for whole in ((0, 1), [0.0, 1.0]):
        for options in ({}, {"response": "as_is"}, {"anytime": True}, {"method": "hoeffding"}):
            found = rainproof.guarantee(y, p, threshold_range=whole, **options)
            assert found.to_dict() == rainproof.guarantee(y, p, **options).to_dict()
        switched = rainproof.switch_guarantee(y, p, p**2, threshold_range=whole)
        assert switched.to_dict() == rainproof.switch_guarantee(y, p, p**2).to_dict()
        assert rainproof.inference.loss_at_least(
            y, p, threshold_range=whole
        ) == rainproof.inference.loss_at_least(y, p)


def test_the_ends_of_a_range_of_cells_are_multiples_of_their_width():
    y, p = overconfident_above(3000)
    pair = rainproof.scan({"a": p, "b": np.minimum(p, 0.6), "y": y}, ["a", "b"], "y", grid=64)
    found = rainproof.switch_guarantee(pair, threshold_range=0.7)
    assert found.threshold_range == (44 / 64, 45 / 64)
    floor = [np.floor(64 * q) / 64 for q in (p, np.minimum(p, 0.6))]
    expected = max(
        difference(y, floor[1], floor[0], np.ones(3000), mu, True) / mu for mu in (44 / 64, 45 / 64)
    )
    assert found.gain == pytest.approx(expected, abs=1e-12)
    assert 0 < found.gain_at_least < found.gain
    assert "between 68.75% and 70.3125% and whose thresholds are multiples of 1/64" in str(found)


def test_results_say_which_decisions_they_are_about():
    y, p = overconfident_above(500)
    found = rainproof.guarantee(y, p, response="as_is", threshold_range=(0.05, 0.2))
    assert (
        "every decision with a threshold between 5% and 20% that acts on these probabilities"
        in str(found)
    )
    assert "threshold_range=(0.05, 0.2)" in repr(found)
    assert "every decision with the threshold 10% that acts" in str(
        rainproof.guarantee(y, p, threshold_range=0.1)
    )
    switched = str(rainproof.switch_guarantee(y, p, p**2, threshold_range=(0.05, 0.2)))
    assert "no decision with a threshold between 5% and 20% loses more than" in switched
    with pytest.raises(rainproof.InputError, match="threshold_range must be"):
        rainproof.guarantee(y, p, threshold_range=(0.3, 0.1))
    with pytest.raises(rainproof.InputError, match="threshold_range must be"):
        rainproof.switch_guarantee(y, p, p, threshold_range=1.5)
