"""Somebody loses at least this: the proof by enumeration, violations on hostile populations, and what it names."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import rainproof
from rainproof.inference import proofs as module


def overconfident(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < 0.5 + (p - 0.5) / 4, p


def test_the_bound_fails_for_at_most_delta_of_all_samples():
    """All samples of five draws from a population of four values, each with its weight, for several bets."""
    gain, weight, chance = (
        np.array([-1.0, 0.25, 0.5, 1.0]),
        np.array([1.0, 0.5, 1.0, 0.25]),
        np.array([0.1, 0.3, 0.2, 0.4]),
    )
    theta = chance @ (weight * gain) / (chance @ weight)
    for bet, delta in itertools.product((0.5, 0.25, 2.0**-5), (0.5, 0.3, 0.1)):
        failed = 0.0
        for drawn in itertools.product(range(4), repeat=5):
            at = list(drawn)
            if module.at_least(weight[at], gain[at], delta, bets=np.array([bet])) > theta + 1e-9:
                failed += math.prod(chance[at])
        assert failed <= delta


@pytest.mark.parametrize("n", [1, 2, 10, 300])
def test_calibrated_rows_prove_nothing(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
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


@pytest.mark.parametrize("name", POPULATIONS)
def test_it_rarely_exceeds_the_largest_loss_of_the_population(name):
    """CDL of the population is the most that any decision loses, so it must not lie below the bound."""
    values, rates = POPULATIONS[name]
    truth = rainproof.measures.calibration_decision_loss(
        np.tile([0, 1], len(values)), np.repeat(values, 2), sample_weight=np.stack([1 - rates, rates], 1).ravel()
    )
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(60):
        p = rng.choice(len(values), 800)
        found = rainproof.inference.loss_at_least(rng.random(800) < rates[p], values[p], confidence_level=0.5, rng=rng)
        wrong += found.bound > truth
    assert wrong <= 30


def test_what_it_names_loses_that_much():
    """On many fresh rows the named change of actions gains at least the bound for the named task."""
    y, p = overconfident(6000)
    found = rainproof.inference.loss_at_least(y, p, rng=0)
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


def test_a_compressed_sample_gives_the_same_answer():
    y, p = overconfident(3000)
    rows, cells = (
        rainproof.inference.loss_at_least(sample, rng=4)
        for sample in (rainproof.Sample(y, p), rainproof.Sample(y, p).compress())
    )
    assert rows == cells
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
    assert "there is a decision that acts on these predictions as they are and loses at least" in str(found)
    assert rainproof.inference.loss_at_least(y, p, rng=7) == found
    assert rainproof.inference.loss_at_least(y, p, rng=8) != found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 1.0}, "confidence_level must be a number between 0 and 1"),
        ({"max_weight": 0.5}, "max_weight must be finite, and at least the largest weight 1; it is 0.5"),
        ({"max_weight": "big"}, "max_weight must be finite, and at least the largest weight 1; it is 'big'"),
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


def test_a_bound_is_found_by_forty_halvings():
    """100 draws that gain 1, half of the stake on each: 100 ln(1 + (1 - r) / 2) = ln(1 / delta)."""
    found = np.array(
        [module.at_least(np.array([100.0]), np.ones(1), d, bets=np.array([0.5])) for d in (0.3, 0.1, 0.05, 0.01)]
    )
    assert found == pytest.approx(3 - 2 * np.exp(-np.log([0.3, 0.1, 0.05, 0.01]) / 100), abs=2.0**-40)
    assert (found * 2**40 == np.rint(found * 2**40)).all()
    assert (found * 2**40 % 2 == 1).any()
