"""The cost of a policy, against the definition: both outcomes of the rounding of each row, one by
one.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import DecisionTask, RoundingPolicy, Sample
from rainproof.decisions.policies import policy_cost

TASKS = {
    "low threshold": DecisionTask.from_costs(false_positive=1, false_negative=20),
    "on the grid": DecisionTask.threshold(0.25, actions=["go", "stay"]),
    "three actions": DecisionTask.from_payoffs(
        [[10, -50], [4, 0], [-20, 30]], actions=["out", "umbrella", "in"]
    ),
    "one is never best": DecisionTask.from_payoffs([[1, 0], [0.1, 0.1], [0, 1]]),
}
EDGES = [0.0, 1.0, 1e-12, 1 - 2**-53, 0.25, 0.3125, 0.1875, 1 / 21, 0.0625, 0.0625, 0.5]


def samples():
    rng = np.random.default_rng(7)
    p = np.concatenate([EDGES, rng.random(12), rng.beta(1, 20, 9)])
    y = (rng.random(len(p)) < p).astype(int)
    return {
        "usual": Sample(y, p),
        "inverted": Sample(1 - y, p),
        "no event": Sample(np.zeros(len(p), int), p),
        "events only": Sample(np.ones(len(p), int), p),
        "one row": Sample([1], [0.04]),
        "constant": Sample(y, np.full(len(p), 0.03)),
        "three values": Sample(y, np.array([0.01, 0.05, 0.7])[np.arange(len(p)) % 3]),
        "heavy weights": Sample(y, p, sample_weight=np.where(np.arange(len(p)) % 9, 1e-9, 1e140)),
        "zero weights": Sample(y, p, sample_weight=np.arange(len(p)) % 2),
    }


def oracle(policy, sample):
    """The costs row by row, in exact arithmetic up to the payoffs; the share of rows of which
    rounding decides.
    """
    task, m = policy.task, policy.grid
    weight = np.ones(sample.n) if sample.sample_weight is None else sample.sample_weight
    total = math.fsum(weight)
    paid, plain, always, random = [], [], {name: [] for name in task.actions}, []
    for y, p, w in zip(sample.y_true, sample.y_prob, weight, strict=True):
        best = max(task.payoff(name, y) for name in task.actions)
        cost = {name: float(best - task.payoff(name, y)) for name in task.actions}
        acted_on = float(p if policy.recalibration is None else policy.recalibration([p])[0])
        low = math.floor(Fraction(acted_on) * m)
        up = Fraction(acted_on) * m - low if policy.rounding == "soft" else Fraction(0)
        outcomes = {low: 1 - up, low + 1: up}
        taken = {k: task.best_response(k / m) for k, chance in outcomes.items() if chance}
        paid.append(w * math.fsum(float(outcomes[k]) * cost[name] for k, name in taken.items()))
        plain.append(w * cost[task.best_response(acted_on)])
        random.append(w * (len(set(taken.values())) > 1))
        for name in always:
            always[name].append(w * cost[name])
    sums = [math.fsum(values) / total for values in (paid, plain, random)]
    return *sums, {name: math.fsum(values) / total for name, values in always.items()}


@for_each("task", TASKS)
@for_each("case", samples())
def test_against_the_definition(task, case):
    sample, bent = samples()[case], rainproof.Recalibrator("logistic", rng=0)
    rng = np.random.default_rng(0)
    p = rng.random(400)
    bent.fit(p, rng.random(400) < p**2)
    for options in ({}, {"rounding": "hard"}, {"recalibration": bent.map_}):
        for grid in (2, 16, 1024):
            policy = RoundingPolicy(TASKS[task], grid, **options)
            found = policy_cost(policy, sample)
            paid, plain, random, always = oracle(policy, sample)
            close = {"rel": 1e-9, "abs": 1e-12}
            assert found.policy == pytest.approx(paid, **close)
            assert found.unrounded == pytest.approx(plain, **close)
            assert found.random_share == pytest.approx(random, **close)
            assert found.always == pytest.approx(always, **close)
            assert list(found.always) == list(policy.task.actions)


def test_it_is_the_mean_of_what_is_decided():
    rng = np.random.default_rng(1)
    p = np.repeat(rng.beta(1, 12, 50), 2000)
    y = rng.random(len(p)) < p
    policy = RoundingPolicy(TASKS["low threshold"], 16)
    cost = -policy.task.payoff(policy.decide(p, np.arange(len(p))), y)
    assert abs(policy_cost(policy, Sample(y, p)).policy - cost.mean()) < 4 * cost.std() / math.sqrt(
        len(p)
    )


def test_compressed_rows_on_the_grid_cost_the_same():
    rng = np.random.default_rng(2)
    p = rng.integers(0, 257, 500) / 256
    sample = Sample(rng.random(500) < p, p)
    policy = RoundingPolicy(TASKS["low threshold"], 16)
    rows, cells = policy_cost(policy, sample), policy_cost(policy, sample.compress(256))
    assert cells.policy == pytest.approx(rows.policy)
    assert cells.unrounded == pytest.approx(rows.unrounded)
    assert (
        cells.to_dict().keys()
        == rows.to_dict().keys()
        == {"policy", "unrounded", "always", "random_share"}
    )


def test_where_rounding_decides():
    policy = RoundingPolicy(DecisionTask.threshold(0.25), 16)
    unrounded, random = policy.without_rounding(
        np.array([0.1875, 0.2, 0.25, 0.26, 1.0], np.float32)
    )
    assert unrounded.tolist() == [0, 0, 1, 1, 1]
    assert random.tolist() == [False, True, False, False, False]


@for_each("threshold", [1e-9, 1 / 21, 0.25, 0.3, 0.5, 1 - 1e-9])
def test_elsewhere_the_threshold_decides(threshold):
    """What `rainproof policy` says of two actions; the rounding decides in one cell only."""
    rng = np.random.default_rng(3)
    p = np.concatenate(
        [EDGES, rng.random(2000), threshold + rng.normal(0, 1e-9, 50).clip(-1e-9, 1e-9)]
    ).clip(0, 1)
    policy = RoundingPolicy(DecisionTask.threshold(threshold), 16)
    unrounded, random = policy.without_rounding(p)
    above = math.ceil(Fraction(threshold) * 16)
    np.testing.assert_array_equal(random, ((above - 1) / 16 < p) & (p < above / 16))
    same = policy.decide_index(p, np.arange(len(p))) == unrounded
    assert same[~random].all()
    assert not same[random].all()


def test_a_task_without_a_list_of_actions():
    policy = RoundingPolicy(DecisionTask.quadratic(), 16)
    with pytest.raises(
        rainproof.InputError, match="policy_cost needs a task with a list of actions"
    ):
        policy_cost(policy, Sample([0, 1], [0.2, 0.7]))
