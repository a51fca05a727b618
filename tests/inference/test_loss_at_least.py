"""There is a decision that loses at least this: the core by its definition, hostile populations,
and what is named.
"""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.inference.lower_bounds import Wager, lower_bound
from rainproof.inference.wagers import Gains, Wagers, pooled_wager


def overconfident(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < 0.5 + (p - 0.5) / 4, p


def wager(stake, gain, scale=None, *, count=None, threshold=0.0):
    gain = np.atleast_2d(gain)
    stake = np.broadcast_to(np.asarray(stake, float), gain.shape[1:])
    scale = np.ones_like(gain) if scale is None else scale
    count = np.ones_like(stake) if count is None else count
    return Wager(stake, count, gain, scale, threshold)


def wealth(chains, share, bets, rate):
    """The mean over chains and bets of the product over all draws, one by one, against the better
    alternative.
    """
    found = []
    for chain, bet in itertools.product(chains, bets):
        product = 1.0
        for block in chain:
            # always acting is the better one
            a = int(len(block.gain) > 1 and block.threshold <= rate)
            for k in range(len(block.stake)):
                net = block.gain[a, k] - share * block.scale[a, k]
                product *= (1 + bet * block.stake[k] * net) ** block.count[k]
        found.append(product)
    return np.mean(found)


@for_each("alternatives", [1, 2])
@for_each("seed", range(4))
def test_the_core_is_its_definition(seed, alternatives):
    """The wealth is 1/delta at the bound, whatever the event rate, and falls from there."""
    rng = np.random.default_rng([seed, alternatives])
    bets = np.array([0.5, 0.25, 0.125])
    chains = [
        [
            wager(
                rng.uniform(0.2, 1, size),
                rng.uniform(-0.3, 1, (alternatives, size)),
                rng.uniform(0.5, 1, (alternatives, size)),
                count=rng.integers(0, 9, size).astype(float),
                threshold=rng.choice([0.2, 0.5, 0.7]),
            )
            for size in rng.integers(1, 9, 4)
        ]
        for _ in range(3)
    ]
    delta = 0.3
    bound = lower_bound(chains, delta, bets)
    assert 0.01 < bound < 0.9
    rates = (0.0, 0.3, 0.6, 0.9)
    assert min(wealth(chains, bound, bets, rate) for rate in rates) == pytest.approx(
        1 / delta, rel=1e-6
    )
    assert min(wealth(chains, bound + 1e-4, bets, rate) for rate in rates) < 1 / delta
    # an order without bets keeps its stake
    assert lower_bound([*chains, []], delta, bets) < bound


def test_the_bound_fails_for_at_most_delta_of_all_samples():
    """All samples of five draws: what the last three bet on is chosen by the first two, among rules
    of equal mean.

    Each rule gains theta in the population, so no choice gains more. Two orders of the draws are
    averaged.
    """
    gain, weight, chance = (
        np.array([[-1.0, 0.25, 0.5, 1.0], [1.0, 0.5, 0.0, -0.2]]),
        np.array([1.0, 0.5, 1.0, 0.25]),
        np.array([0.1, 0.3, 0.2, 0.4]),
    )
    means = gain @ (chance * weight) / (chance @ weight)
    gain = gain - (means - means.min())[:, None]
    theta = means.min()
    failed = dict.fromkeys((0.5, 0.3, 0.1), 0.0)
    for drawn in itertools.product(range(4), repeat=5):
        chains = []
        for order in (list(drawn), list(drawn[::-1])):
            rule, later = int(np.argmax(gain[:, order[:2]].sum(axis=1))), order[2:]
            chains.append([wager(weight[later], gain[rule, later])])
        for delta in failed:
            found = lower_bound(chains, delta, np.array([0.5, 0.25]))
            failed[delta] += math.prod(chance[list(drawn)]) * (found > theta + 1e-9)
    assert all(share <= delta for delta, share in failed.items())
    assert failed[0.5] > 0


def test_pooled_stakes_prove_a_little_less():
    rng = np.random.default_rng(0)
    n = 3000  # more than are bet on one by one
    sample = rainproof.Sample(
        rng.random(n) < 0.5, rng.random(n), sample_weight=rng.pareto(2, n) + 1e-3
    )
    rows, at = Wagers.of(sample, np.random.default_rng(0)), np.arange(n)
    gain = np.array([[-0.4, 0.1, 0.6]])
    kind = rng.integers(0, 3, n)
    wager = rows.wager(at, np.ones(n), lambda at: Gains(kind[at], gain, np.ones((1, 3)), 0.0))
    assert len(wager.stake) < n / 5
    for bet, share in itertools.product((0.5, 0.03), (0.0, 0.05)):
        pooled = wager.count @ np.log1p(bet * wager.stake * (wager.gain[0] - share))
        net = bet * rows.stake * (gain[0, kind] - share)
        exact = np.log1p(net).sum()
        assert exact - 0.01 * net @ net < pooled < exact


@for_each("n", [1, 2, 10, 300])
def test_calibrated_rows_prove_nothing(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        p = rng.choice([0.1, 0.5, 0.9], n)
        found = rainproof.inference.loss_at_least(rng.random(n) < p, p, rng=rng)
        assert (found.bound, found.task, found.changes) == (0.0, None, ())
        assert "do not prove" in str(found)


POPULATIONS = {
    "constant": (np.array([0.37]), np.array([0.3])),
    "three values": (np.array([0.1, 0.5, 0.9]), np.array([0.3, 0.5, 0.6])),
    "inverted": (np.array([0.2, 0.8]), np.array([0.8, 0.2])),
    "rare": (np.array([0.01, 0.02]), np.array([0.05, 0.001])),
}


@for_each("name", POPULATIONS)
def test_it_rarely_exceeds_the_largest_loss_of_the_population(name):
    """CDL of the population is the most that any decision loses, so it must not lie below the
    bound.
    """
    values, rates = POPULATIONS[name]
    truth = rainproof.measures.calibration_decision_loss(
        np.tile([0, 1], len(values)),
        np.repeat(values, 2),
        sample_weight=np.stack([1 - rates, rates], 1).ravel(),
    )
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(8):
        p = rng.choice(len(values), 400)
        found = rainproof.inference.loss_at_least(
            rng.random(400) < rates[p], values[p], confidence_level=0.5
        )
        wrong += found.bound > truth
    assert wrong <= 4


def test_what_it_suggests_loses_that_much():
    """On many fresh rows, here, the suggested change of actions gains at least the bound for the
    suggested task.
    """
    y, p = overconfident(6000)
    found = rainproof.inference.loss_at_least(y, p)
    assert found.bound > 0.04
    fresh_y, fresh_p = overconfident(200_000, seed=1)
    action = found.task.best_response(fresh_p)
    better = action.copy()
    for change in found.changes:
        inside = (fresh_p >= change.low) & (fresh_p < change.high)
        assert set(action[inside]) == {change.action}
        better[inside] = change.replacement
    gain = found.task.payoff(better, fresh_y) - found.task.payoff(action, fresh_y)
    assert gain.mean() > found.bound


def test_the_same_rows_give_the_same_answer_compressed_or_in_any_order():
    y, p = overconfident(3000)
    rows, cells = (
        rainproof.inference.loss_at_least(sample, rng=4)
        for sample in (rainproof.Sample(y, p), rainproof.Sample(y, p).compress())
    )
    assert rows == cells
    order = np.random.default_rng(1).permutation(3000)
    assert rainproof.inference.loss_at_least(y[order], p[order], rng=4) == rows
    scaled = rainproof.inference.loss_at_least(y, p, sample_weight=np.full(3000, 0.5), rng=4)
    assert scaled.bound == pytest.approx(rows.bound, abs=1e-9)


def test_groups_and_weights_cost():
    y, p = overconfident(4000)
    plain = rainproof.inference.loss_at_least(y, p, rng=0).bound
    groups = rainproof.inference.loss_at_least(
        np.repeat(y, 3), np.repeat(p, 3), groups=np.repeat(np.arange(4000), 3), rng=0
    )
    assert groups.groups == 4000
    assert 0 < groups.bound < 1.5 * plain
    assert rainproof.inference.loss_at_least(y, p, max_weight=50, rng=0).bound < plain
    assert (
        rainproof.inference.loss_at_least(y, p, groups=np.arange(4000) // 400, rng=0).bound == 0
    )  # ten groups prove nothing


def test_the_result_is_small_and_ready_for_json():
    y, p = overconfident(2000)
    found = rainproof.inference.loss_at_least(y, p, rng=7)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (told["seed"], told["n"], told["groups"], told["bound"]) == (7, 2000, None, found.bound)
    assert told["changes"][0]["action"] in found.task.actions
    assert repr(found).startswith("LossAtLeast(bound=0.0")
    assert (
        "there is a decision that acts on these predictions as they are and loses at least"
        in str(found)
    )
    assert rainproof.inference.loss_at_least(y, p, rng=7) == found
    assert rainproof.inference.loss_at_least(y, p, rng=8).bound == pytest.approx(
        found.bound, rel=0.2
    )


def test_outcomes_that_are_shares_and_weights_of_zero():
    y, p = overconfident(900)
    share = np.where(np.arange(900) % 3 == 0, 0.5, y)
    found = rainproof.inference.loss_at_least(rainproof.Sample(share, p, fractional=True))
    order = np.random.default_rng(2).permutation(900)
    assert found.bound > 0
    assert (
        rainproof.inference.loss_at_least(rainproof.Sample(share[order], p[order], fractional=True))
        == found
    )
    weight = np.random.default_rng(3).uniform(0.5, 1, 900)
    more = [np.append(x, x[:50]) for x in (~y, p)]
    weighted = rainproof.inference.loss_at_least(~y, p, sample_weight=weight)
    assert (
        rainproof.inference.loss_at_least(*more, sample_weight=np.append(weight, np.zeros(50)))
        == weighted
    )


@for_each(
    "options, message",
    [
        ({"confidence_level": 1.0}, "confidence_level must be a number between 0 and 1"),
        (
            {"max_weight": 0.5},
            "max_weight must be finite, and at least the largest weight 1; it is 0.5",
        ),
        (
            {"max_weight": "big"},
            "max_weight must be finite, and at least the largest weight 1; it is 'big'",
        ),
        ({"groups": [1]}, "groups must have one entry for each of the 2 rows"),
        ({"rng": -1}, "rng must be None, a non-negative integer"),
    ],
)
def test_bad_calls_are_told_what_is_wrong(options, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.inference.loss_at_least([0, 1], [0.5, 0.5], **options)


def test_unequal_weights_and_groups_need_rows():
    sample = rainproof.Sample([0, 1], [0.5, 0.5], sample_weight=[1, 2]).compress()
    with pytest.raises(rainproof.InputError, match="unequal weights and groups need rows"):
        rainproof.inference.loss_at_least(sample)


def test_equal_gains_have_a_closed_form():
    """100 draws that gain 1, half of the stake on each: 100 ln(1 + (1 - r) / 2) = ln(1 / delta)."""
    chains = [[wager(np.ones(1), np.ones((1, 1)), count=np.array([100.0]))]]
    for delta in (0.3, 0.1, 0.01):
        found = lower_bound(chains, delta, np.array([0.5]))
        exact = 3 - 2 * math.exp(-math.log(delta) / 100)
        assert exact - 1e-9 < found <= exact
    assert lower_bound([], 0.05, np.array([0.5])) == 0


def test_draws_that_are_alike_are_one_bet():
    rng = np.random.default_rng(4)
    draws = rng.choice([0.1, 0.3, 0.7], (5, 4000))
    draws[0] = rng.choice([0.5, 1.0], 4000)
    draws[1:] += rng.normal(0, 1e-16, (4, 4000))  # as sums in another order have it
    pooled = pooled_wager(draws, 0.4)
    assert pooled.count.sum() == 4000
    assert len(pooled.count) == 2 * 3**4
    bets = np.array([0.5, 0.25])
    plain = Wager(draws[0], np.ones(4000), draws[1:3], draws[3:], 0.4)
    assert lower_bound([[pooled]], 0.05, bets) == pytest.approx(
        lower_bound([[plain]], 0.05, bets), abs=1e-11
    )


def test_draws_that_mix_to_the_same_number_are_not_one_bet():
    draws = np.array([[1.0, 1.0], [np.sqrt(5), 0.0], [0.0, np.sqrt(3)]]) / 4
    assert np.array_equal(pooled_wager(draws, 0.0).gain, draws[1:2])
