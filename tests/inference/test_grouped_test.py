"""A p-value of calibration for rows in groups: its definition, and that it holds whatever their
dependence.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from rainproof.core.sample import Sample
from rainproof.inference.grouped_test import grouped_p_value, log_wealth


def p_value(y, p, group, weight=None):
    return grouped_p_value(Sample(y, p, sample_weight=weight, groups=group))


def by_definition(y, p, group, weight):
    """The bets, row by row and group by group."""
    rows = list(zip(y, p, group, weight, strict=True))
    if not sum((w / max(weight)) ** 2 * q * (1 - q) for _, q, _, w in rows) > 0:
        return 0.0 if any(w > 0 and q == 1 - t for t, q, _, w in rows) else 1.0
    odds, share = logit(np.clip(p, 0.001, 0.999)), weight * np.asarray(p) * (1 - np.asarray(p))
    # to the bit: what is 0 stays 0
    away = (odds - float(share @ odds) / float(share.sum())).tolist()
    wealth, count = [], len({name for _, _, name, w in rows if w > 0})
    for f in ([1.0] * len(rows), [-1.0] * len(rows), away, [-x for x in away]):
        gain, loss, win = {}, {}, {}
        for (t, q, name, w), g in zip(rows, f, strict=True):
            gain[name] = gain.get(name, 0.0) + w * g * (t - q)
            loss[name] = loss.get(name, 0.0) - min(w * g * (1 - q), -w * g * q)
            win[name] = win.get(name, 0.0) + max(w * g * (1 - q), -w * g * q)
        best = max(win.values())
        most = max(max(loss.values()), best / 2**40)
        bets = [0.98]
        while best > 0 and bets[-1] > 0.98 * min(1.0, math.sqrt(2 * math.log(20) / count)) * min(
            1.0, most / best
        ):
            bets.append(bets[-1] / 2)
        wealth.append(
            sum(
                math.prod(1 + b * x / most for x in gain.values()) if best > 0 else 1.0
                for b in bets
            )
        )
        wealth[-1] /= len(bets)
    return min(1.0, len(wealth) / sum(wealth))


@given(samples(max_size=12), st.integers(1, 4))
def test_it_is_the_inverse_of_what_the_bets_are_worth(sample, groups):
    y, p, w = sample
    weight = np.ones(len(y)) if w is None else np.asarray(w, float)
    group = np.arange(len(y)) % groups
    found = p_value(y, p, group, weight)
    assert found == pytest.approx(
        by_definition(y, p, group.tolist(), weight.tolist()), rel=1e-6, abs=1e-12
    )
    assert 0 <= found <= 1


def test_bets_on_a_calibrated_forecast_are_worth_1_in_expectation():
    """Of all outcomes of three groups, each with one coin: weighed by their probability."""
    p, group = np.array([0.1, 0.1, 0.6, 0.6, 0.6, 0.3]), np.array([0, 0, 1, 1, 1, 2])
    rate = np.array([0.1, 0.6, 0.3])
    expected = 0.0
    for coins in product([0, 1], repeat=3):
        chance = float(np.prod(np.where(coins, rate, 1 - rate)))
        sample = Sample(np.array(coins)[group], p, groups=group)
        wealth = [np.exp(log_wealth(sample, sign * np.ones(6))).mean() for sign in (1, -1)]
        expected += chance * float(np.mean(wealth))
    assert expected == pytest.approx(1.0)


PREDICTIONS = {
    "wide": lambda z: 1 / (1 + np.exp(-2 * z)),
    "constant": lambda z: 0 * z + 0.3,
    "rare": lambda z: 0.01 / (1 + np.exp(-2 * z)),
    "three values": lambda z: np.where(z < -0.5, 0.2, np.where(z < 0.5, 0.5, 0.9)),
}


@for_each("name", PREDICTIONS)
@for_each("share", [0.0, 1.0])
def test_calibrated_forecasts_are_rejected_rarely_even_if_a_group_has_one_coin(name, share):
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(200):
        size = np.ceil(rng.lognormal(1, 1, 40)).astype(int)  # some groups are large
        group = np.repeat(np.arange(40), size)
        p = PREDICTIONS[name](rng.normal(size=40)[group] + 0.5 * rng.normal(size=len(group)))
        coin = np.where(
            rng.random(40)[group] < share, rng.random(40)[group], rng.random(len(group))
        )
        rejected += p_value(coin < p, p, group, rng.choice([1.0, 9.0], len(group))) <= 0.05
    assert rejected <= 10  # 5%; Markov's inequality has slack


@for_each("slope", [3.0, 1 / 3])
def test_forecasts_that_are_too_extreme_or_too_timid_are_rejected(slope):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(200), 5)
    odds = rng.normal(size=1000) + rng.normal(size=200)[group]
    y = rng.random(1000) < 1 / (1 + np.exp(-odds))
    assert p_value(y, 1 / (1 + np.exp(-slope * odds)), group) < 0.01
    assert p_value(y, 1 / (1 + np.exp(-odds)), group) > 0.05


def test_certain_predictions_that_fail_are_impossible():
    assert p_value([1, 0], [0.0, 0.0], [0, 1]) == 0.0
    assert p_value([0, 1], [0.0, 1.0], [0, 1]) == 1.0


def test_a_weight_next_to_nothing_is_no_evidence():
    weight = np.array([1.0, 1e-170, 1e-170, 1.0])  # its square is 0 beside the largest
    assert p_value([1, 0, 1, 0], [1.0, 0.5, 0.5, 0.0], [0, 0, 1, 1], weight) == 1.0
    assert p_value([1, 0, 1, 1], [1.0, 0.5, 0.5, 0.0], [0, 0, 1, 1], weight) == 0.0


def test_a_row_in_two_parts_counts_as_one():
    rng = np.random.default_rng(4)
    y, p, group, weight = (
        rng.random(60),
        rng.beta(0.3, 0.6, 60),
        np.repeat(np.arange(20), 3),
        rng.exponential(size=60),
    )
    parts = np.concatenate([weight * y, weight * (1 - y)])
    found = p_value(np.repeat([1, 0], 60), np.tile(p, 2), np.tile(group, 2), parts)
    assert found < 1
    assert found == pytest.approx(
        by_definition(y.tolist(), p.tolist(), group.tolist(), weight.tolist()), rel=1e-9
    )
