"""Acting on predictions with noise added: its distribution, its actions, and the bounds on its
largest loss.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.stats import kstest, laplace, norm

import rainproof
from paper.constructions import Distribution, random_distribution
from paper.noise import NoisyPolicy
from paper.question1 import noise_gap

TASK = rainproof.DecisionTask.threshold(0.35)
KINDS = ["laplace", "gaussian"]


def fold(t):
    """Reflect at 0 and 1 until it is inside, one reflection at a time."""
    while not 0 <= t <= 1:
        t = -t if t < 0 else 2 - t
    return t


@for_each("kind", KINDS)
@for_each("scale", [1e-3, 0.1, 0.7, 1.0])
def test_the_distribution_is_that_of_reflected_noise(kind, scale):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 41)
    for p in (0.0, 1e-12, 0.3, 1.0):
        policy = NoisyPolicy(TASK, scale, kind)
        below = policy._below(np.array([p]), x)[0]
        assert below[0] == 0
        assert below[-1] == pytest.approx(1, abs=1e-15)
        law = laplace(p, scale) if kind == "laplace" else norm(p, scale)
        expected = sum(law.cdf(2 * k + x) - law.cdf(2 * k - x) for k in range(-40, 41))
        np.testing.assert_allclose(below, expected, atol=1e-14)
        drawn = [
            fold(t)
            for t in p + scale * (rng.laplace if kind == "laplace" else rng.normal)(size=400)
        ]
        assert (
            kstest(drawn, lambda t, of=policy, p=p: of._below(np.array([p]), t)[0]).statistic < 0.09
        )


@for_each("kind", KINDS)
def test_actions_are_drawn_with_their_probabilities(kind):
    # the third is never best
    task = rainproof.DecisionTask.from_payoffs([[1, 0], [0.7, 0.6], [0.2, 0.3], [0, 1]])
    policy = NoisyPolicy(task, 0.2, kind)
    for p in (0.0, 0.37, 0.99):
        shares = policy.probabilities([p])[0]
        assert shares.sum() == pytest.approx(1, abs=1e-15)
        assert shares[2] == 0
        actions = policy.decide(np.full(4000, p), rng=1)
        for action, share in zip(task.actions, shares, strict=True):
            assert np.mean(actions == action) == pytest.approx(
                share, abs=4 * math.sqrt(0.25 / 4000)
            )
    assert np.array_equal(policy.decide([0.4, 0.5], rng=3), policy.decide([0.4, 0.5], rng=3))
    stated = NoisyPolicy(rainproof.DecisionTask.quadratic(), 1.0, kind).decide(
        np.linspace(0, 1, 500), rng=0
    )
    assert 0 <= stated.min() < 0.05 < 0.95 < stated.max() <= 1


@for_each("kind", KINDS)
@for_each("seed", range(6))
def test_the_bounds_hold_for_the_noise_cut_much_finer(kind, seed):
    """With 64 times as many cells the lower bound is far more exact: it must stay between the
    coarse ones.
    """
    rng = np.random.default_rng(seed)
    sample, scale = random_distribution(rng).sample(), 10 ** -rng.uniform(0, 1.5)
    policy = NoisyPolicy(TASK, scale, kind)
    fine = policy.loss_bounds(sample, cells=1 << 14)
    assert fine[1] - fine[0] < 2e-3 / scale
    for cells in (2, 7, 64, 256):
        low, high = policy.loss_bounds(sample, cells=cells)
        assert low - 1e-12 <= fine[0] <= fine[1]
        assert fine[0] <= high


@for_each("kind", KINDS)
def test_no_task_loses_more_than_the_upper_bound(kind):
    """Regret of tasks against swaps of their actions, by swap_regret; and one task that nearly
    attains the bound.
    """
    rng = np.random.default_rng(5)
    for _ in range(20):
        sample, scale = random_distribution(rng).sample(), 0.1
        low, high = NoisyPolicy(TASK, scale, kind).loss_bounds(sample)
        for _ in range(5):
            task = rainproof.DecisionTask.from_payoffs(rng.random((4, 2)))
            regret = rainproof.swap_regret(
                sample, task=task, response=NoisyPolicy(task, scale, kind)
            )
            assert regret.in_units <= high + 1e-12
        assert 0 <= low <= high <= 1


@for_each("kind", KINDS)
def test_smooth_calibration_bounds_the_loss(kind):
    slope, cost = {"laplace": (1.0, 1 / math.e), "gaussian": (math.sqrt(2 / math.pi), 0.339943)}[
        kind
    ]
    rng = np.random.default_rng(6)
    for _ in range(60):
        sample = random_distribution(rng).sample()
        smooth = rainproof.measures.smooth_calibration_error(sample)
        scale = min(1.0, max(1e-3, math.sqrt(smooth) * 10 ** rng.uniform(-0.3, 0.3)))
        low, _ = NoisyPolicy(TASK, scale, kind).loss_bounds(sample, cells=512)
        assert low <= 2 * (max(1, slope / scale) * smooth + cost * scale) + 1e-12


def test_noise_costs_a_calibrated_prediction_what_the_proof_says():
    x = np.linspace(0, 5, 100_001)
    assert (x * 2 * norm.sf(x)).max() == pytest.approx(0.339943, abs=1e-6)
    assert (x * 2 * norm.sf(x)).max() < 0.339943
    assert (x * 2 * laplace.sf(x)).max() == pytest.approx(1 / math.e)


@for_each("eps", [1e-2, 1e-3])
def test_smooth_ece_bounds_the_loss_of_noise_of_its_width_but_not_by_twice_its_value(eps):
    sample = noise_gap(eps).sample()
    value = rainproof.measures.smooth_ece(sample)
    assert value == pytest.approx(eps, rel=0.01)
    low, _ = NoisyPolicy(TASK, value, "gaussian").loss_bounds(sample)
    assert 2.2 * value < low < 2.68 * value


def test_many_predictions_are_done_in_blocks(monkeypatch):
    rng = np.random.default_rng(7)
    sample = rainproof.Sample(rng.random(300) < 0.5, rng.random(300))
    whole = NoisyPolicy(TASK, 0.1).loss_bounds(sample, cells=100)
    monkeypatch.setattr("paper.noise._BLOCK", 700)
    assert NoisyPolicy(TASK, 0.1).loss_bounds(sample, cells=100) == pytest.approx(whole, abs=1e-14)


def test_little_noise_is_no_noise():
    law = Distribution.of([0.2, 0.45, 0.8], [0.3, 0.3, 0.4], [0.5, 0.1, 0.7])
    low, high = NoisyPolicy(TASK, 1e-4).loss_bounds(law.sample(), cells=1 << 15)
    assert low == pytest.approx(
        rainproof.measures.calibration_decision_loss(law.sample()), abs=2e-3
    )
    assert low <= high


@for_each(
    "arguments, message",
    [
        (("a", 0.1), "task must be a DecisionTask; it is 'a'"),
        ((TASK, 0), "scale must be a number above 0 and at most 1; it is 0"),
        ((TASK, 1.5), "scale must be a number above 0 and at most 1; it is 1.5"),
        ((TASK, math.nan), "scale must be a number above 0"),
        ((TASK, True), "scale must be a number above 0"),
        ((TASK, 0.1, "cauchy"), "kind must be 'laplace' or 'gaussian'; it is 'cauchy'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(rainproof.InputError, match=message):
        NoisyPolicy(*arguments)


def test_bad_input_is_refused():
    policy = NoisyPolicy(TASK, 0.1)
    with pytest.raises(rainproof.InputError, match=r"p must lie in \[0, 1\]"):
        policy.probabilities([1.2])
    with pytest.raises(
        rainproof.InputError, match="cells must be an integer of at least 2; it is 1"
    ):
        policy.loss_bounds(rainproof.Sample([0, 1], [0.1, 0.9]), cells=1)
    with pytest.raises(
        rainproof.InputError, match="probabilities needs a task with a list of actions"
    ):
        NoisyPolicy(rainproof.DecisionTask.quadratic(), 0.1).probabilities([0.5])
