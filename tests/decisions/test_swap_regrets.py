"""Swap regret against all swap functions, the regret curve, and the paper's theorem."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from helpers import soft_binned_oracle
from helpers.cases import for_each
from helpers.decision_oracle import (
    Rounded,
    best_taken,
    brute_regret,
    mixture_weights,
    rounded_taken,
    tasks,
)
from helpers.strategies import powers, samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rainproof
from rainproof import DecisionTask, swap_regret
from rainproof.core.curve import SwapCurve

COSTS = DecisionTask.from_costs(false_positive=10, false_negative=40, actions=("wait", "treat"))
both_ways = for_each("per", ["action", "prediction"])


def integral(curve, task):
    """The regret curve against the task's mixture: limits from the left, as ties go up."""
    if task.actions:
        return (
            mixture_weights(task) @ curve.points(np.array(task.thresholds))[1]
            if task.thresholds
            else 0.0
        )
    mu, left, right = curve.breakpoints()  # a quadratic task has all thresholds in equal parts
    return 2 * (np.diff(mu) * (right[:-1] + left[1:]) / 2).sum()


def decided(task, p):
    """The actions taken, by the task itself: which last bit a threshold falls on is not what is
    tested here.
    """
    return np.eye(len(task.actions))[task.best_index(p)]


@given(samples(max_size=6), tasks())
def test_equals_brute_force_over_all_swap_functions(sample, task):
    y, p, w = sample
    expected = brute_regret(y, decided(task, p), w, task.payoffs)
    got = swap_regret(y, p, task, sample_weight=w)
    assert got.in_units == pytest.approx(float(expected), abs=1e-12 * task.scale)
    assert got.value == pytest.approx(float(expected) / task.scale, abs=1e-12)
    told_apart = brute_regret(y, decided(task, p), w, task.payoffs, labels=p)
    each = swap_regret(y, p, task, per="prediction", sample_weight=w)
    assert each.in_units == pytest.approx(float(told_apart), abs=1e-12 * task.scale)
    assert -1e-15 <= got.value <= each.value + 1e-12 <= 1 + 2e-12


@given(samples(max_size=5), tasks(), powers)
def test_a_random_response_equals_brute_force(sample, task, m):
    y, p, w = sample
    policy = Rounded(task, m)
    taken = rounded_taken(p, task.payoffs, m)
    for per, labels in (("action", None), ("prediction", p)):
        expected = brute_regret(y, taken, w, task.payoffs, labels)
        got = swap_regret(y, p, task, per=per, response=policy, sample_weight=w)
        assert got.in_units == pytest.approx(float(expected), abs=1e-12 * task.scale)


@given(samples(), tasks(max_actions=6))
def test_per_prediction_is_the_integral_of_the_curve(sample, task):
    y, p, w = sample
    curve = SwapCurve.from_table(rainproof.Sample(y, p, sample_weight=w).distinct())
    assert swap_regret(y, p, task, per="prediction", sample_weight=w).value == pytest.approx(
        integral(curve, task), abs=1e-12
    )


@given(samples())
def test_quadratic_is_the_mean_square_and_the_integral(sample):
    y, p, w = sample
    task = DecisionTask.quadratic()
    weight = np.ones(len(p)) if w is None else w
    q = np.array([weight[p == x] @ y[p == x] / max(weight[p == x].sum(), 1e-300) for x in p])
    got = swap_regret(y, p, task, sample_weight=w)
    assert got.value == pytest.approx(weight @ (p - q) ** 2 / weight.sum(), abs=1e-12)
    curve = SwapCurve.from_table(rainproof.Sample(y, p, sample_weight=w).distinct())
    assert got.value == pytest.approx(integral(curve, task), abs=1e-12)
    assert swap_regret(y, p, task, per="prediction", sample_weight=w).value == got.value
    assert sum(swap.saves for swap in got.swaps) == pytest.approx(got.value)


def test_no_bounded_task_loses_more_than_cdl():
    """2,000 random tasks of 2 to 5 actions, in any units."""
    rng = np.random.default_rng(5)
    closest = 0.0
    for _ in range(20):
        n = int(rng.integers(2, 60))
        p = np.round(rng.random(n), int(rng.integers(1, 3)))
        sample = rainproof.Sample(rng.random(n) < rng.random() * p ** rng.uniform(0.2, 4) + 0.1, p)
        loss = rainproof.measures.calibration_decision_loss(sample)
        for _ in range(100):
            payoffs = rng.random((int(rng.integers(2, 6)), 2)) * rng.choice([1, 100]) + rng.normal(
                0, 9, 2
            )
            value = swap_regret(
                sample, task=DecisionTask.from_payoffs(payoffs), per="prediction"
            ).value
            assert value <= loss + 1e-12
            closest = max(closest, value / loss)
    assert closest > 0.8  # they try


@given(samples(max_size=8), tasks(), powers)
def test_the_actionability_theorem(sample, task, m):
    """SR_Z of the rounded response <= CDL(D_m) <= 2 SCDL_m + 2/m (Theorem 4.2)."""
    y, p, w = sample
    weights = np.ones(len(p)) if w is None else w
    regret = swap_regret(y, p, task, response=Rounded(task, m), sample_weight=w).value
    loss = rainproof.regret_curve(y, p, grid=m, sample_weight=w).loss
    soft = float(soft_binned_oracle.loss(y, p, [float(x) for x in weights], m))
    assert regret <= loss + 1e-9
    assert loss <= 2 * soft + 2 / m + 1e-9


def test_by_hand():
    """Threshold 0.2: 6 rows are treated, 5 of them for nothing. Waiting costs 40 once instead of 10
    five times.
    """
    y, p = [0, 0, 0, 0, 0, 0, 1, 0], [0.1, 0.1, 0.3, 0.3, 0.3, 0.3, 0.3, 0.9]
    r = swap_regret(y, p, COSTS)
    assert (r.value, r.in_units, r.best_swap) == (10 / 40 / 8, 10 / 8, {"treat": "wait"})
    (swap,) = r.swaps
    assert (swap.action, swap.replacement, swap.saves, swap.weight, swap.share) == (
        "treat",
        "wait",
        1 / 32,
        6,
        0.75,
    )
    each = swap_regret(y, p, COSTS, per="prediction")
    # 0.3 comes true 1 time in 5, where it does not matter
    assert (each.in_units, each.swaps[0].weight) == (10 / 8, 1)
    assert repr(r) == "SwapRegret(value=0.03125, in_units=1.25, per='action', n=8, weighted=False)"
    assert str(r) == (
        "Swapping actions in hindsight saves 3.12% of what is at stake (1.25 per row) on 8 rows.\n"
        "  Replace 'treat' by 'wait': saves 3.12% of what is at stake, on 6 rows."
    )
    assert str(each) == (
        "Swapping predictions in hindsight saves 3.12% of what is at stake (1.25 per row) "
        "on 8 rows.\n"
        "  Replace 'treat' by 'wait' at some predictions: saves 3.12% of what is at stake, "
        "on 1 row."
    )
    assert r._repr_html_().count("<p>") == 2


def test_several_swaps_come_best_first():
    task = DecisionTask.from_payoffs(
        [[10, -50], [4, 0], [-20, 30]], actions=["go", "umbrella", "stay"]
    )
    y, p = [1, 1, 0, 0, 0, 1], [0.0, 0.0, 0.2, 0.9, 0.9, 0.9]
    r = swap_regret(y, p, task)
    assert [(s.action, s.replacement) for s in r.swaps] == [
        ("go", "stay"),
        ("stay", "umbrella"),
        ("umbrella", "go"),
    ]
    assert_allclose([s.in_units * 6 for s in r.swaps], [160, 18, 6])
    assert list(r.best_swap) == ["go", "stay", "umbrella"]
    assert r.in_units == pytest.approx(184 / 6)
    assert swap_regret(y, p, task, per="prediction").swaps == r.swaps


def test_where_predictions_differ_the_best_swap_is_the_one_that_saves_most():
    task = DecisionTask.from_payoffs(
        [[10, -50], [4, 0], [-20, 30]], actions=["go", "umbrella", "stay"]
    )
    y, p = [1, 1, 0, 0, 0], [0.2, 0.2, 0.3, 0.3, 0.3]
    r = swap_regret(y, p, task, per="prediction")
    assert [(s.action, s.replacement, s.weight) for s in r.swaps] == [
        ("umbrella", "stay", 2),
        ("umbrella", "go", 3),
    ]
    assert r.best_swap == {"umbrella": "stay"}


@both_ways
def test_a_calibrated_sample_costs_nothing_not_even_rounding(per):
    y = [1, 0, 0, 0, 0, 1, 1, 1, 1, 0]
    r = swap_regret(y, [0.2] * 5 + [0.8] * 5, COSTS, per=per)
    assert (r.value, r.swaps, r.best_swap) == (0, (), {})
    assert isinstance(r.value, float)
    assert str(r) == f"No swap of {per}s would have saved anything on 10 rows."
    assert (
        str(swap_regret([0], [0.0], COSTS))
        == "No swap of actions would have saved anything on 1 row."
    )


def test_weights_are_repetition_and_are_said():
    y, p, w = np.array([0, 1, 0]), np.array([0.3, 0.3, 0.1]), np.array([9, 2, 3])
    weighted = swap_regret(y, p, COSTS, sample_weight=w)
    repeated = swap_regret(np.repeat(y, w), np.repeat(p, w), COSTS)
    assert weighted.value == pytest.approx(repeated.value, abs=1e-15)
    assert (weighted.weighted, repeated.weighted) == (True, False)
    assert str(weighted).endswith("on 78.6% of the weight.")
    assert str(repeated).endswith("on 11 rows.")
    assert (
        swap_regret(np.array(["n", "y", "n"]), p, COSTS, pos_label="y", sample_weight=w) == weighted
    )


def test_compressed_samples():
    rng = np.random.default_rng(2)
    p = rng.random(3000)
    sample = rainproof.Sample(rng.random(3000) < p / 5, p)
    small = sample.compress(1 << 12)
    task = DecisionTask.threshold(0.25)  # on the grid: no cell is cut
    rows, cells = swap_regret(sample, task=task), swap_regret(small, task=task)
    assert cells.value == pytest.approx(rows.value, abs=1e-14)
    assert not cells.weighted
    assert cells.swaps[0].weight == rows.swaps[0].weight == (p >= 0.25).sum()
    heavier = rainproof.Sample(sample.y_true, p, sample_weight=p + 1).compress(64)
    assert swap_regret(heavier, task=task).weighted


def test_many_distinct_predictions_are_taken_in_blocks():
    rng = np.random.default_rng(3)
    p = rng.random(150_000)
    y = rng.random(150_000) < p**2
    task, sizes = DecisionTask.threshold(0.4), []

    class Counting:
        def probabilities(self, p):
            sizes.append(len(p))
            return np.eye(2)[task.best_index(p)]

    for per in ("action", "prediction"):
        expected = swap_regret(y, p, task, per=per)
        assert swap_regret(y, p, task, per=per, response=Counting()).value == pytest.approx(
            expected.value, abs=1e-12
        )
    acted = p >= 0.4
    assert swap_regret(y, p, task).in_units == pytest.approx(
        max(0, (0.4 - y[acted]).sum() / 150_000), abs=1e-12
    )
    assert max(sizes) <= 1 << 16


def test_a_quadratic_task_shows_the_swaps_that_save_most():
    rng = np.random.default_rng(4)
    p = rng.random(300)
    r = swap_regret(rng.random(300) < p, p, DecisionTask.quadratic())
    assert len(r.swaps) == 100
    assert all(swap.replacement in (0, 1) for swap in r.swaps)
    assert sum(s.saves for s in r.swaps) < r.value
    assert repr(r).startswith("SwapRegret(value=0.1")
    assert str(r).endswith("\n  ... and 90 more.")
    assert str(swap_regret([0, 1], [0.5, 0.5], DecisionTask.quadratic())) == (
        "No swap of actions would have saved anything on 2 rows."
    )
    assert "Replace 0.75 by 0: saves 56.25% of what is at stake, on 1 row." in str(
        swap_regret([0], [0.75], DecisionTask.quadratic())
    )


@both_ways
def test_to_dict_is_json(per):
    for task in (COSTS, DecisionTask.quadratic()):
        r = swap_regret([0, 1, 1, 0], [0.3, 0.1, 0.1, 0.4], task, per=per)
        data = json.loads(json.dumps(r.to_dict()))
        assert data["value"] == r.value
        assert data["per"] == per
        assert data["swaps"][0]["saves"] == r.swaps[0].saves
        assert DecisionTask.from_dict(data["task"]) == task


class Says:
    def __init__(self, *rows, task=None):
        self.rows = np.array(rows)
        if task is not None:
            self.task = task

    def probabilities(self, p):
        return self.rows


SAMPLE = rainproof.Sample([0, 1], [0.25, 0.5])
SURE = "response.probabilities must be probabilities that add up to 1"


@for_each(
    "call, message",
    [
        (
            lambda: swap_regret(SAMPLE, COSTS),
            "y_prob is a task: with a Sample, pass it by name, swap_regret(sample, task=task)",
        ),
        (lambda: swap_regret([0, 1], [0.25, 0.5]), "task must be a DecisionTask; it is None"),
        (lambda: swap_regret([0, 1], [0.25, 0.5], 0.35), "task must be a DecisionTask; it is 0.35"),
        (
            lambda: swap_regret([0, 1], task=COSTS),
            "y_prob is missing: pass y_true and y_prob, or one Sample",
        ),
        (
            lambda: swap_regret(SAMPLE, [0.5, 0.5], COSTS),
            "a Sample holds predictions, weights and labels already: pass it alone",
        ),
        (
            lambda: swap_regret(SAMPLE, task=COSTS, per="row"),
            "per must be 'action' or 'prediction'; it is 'row'",
        ),
        (
            lambda: swap_regret(SAMPLE, task=COSTS, response=Says([1, 0, 0], [1, 0, 0])),
            "response.probabilities must give shape (2, 2): a row for each prediction, "
            "a column for each action; it gives (2, 3)",
        ),
        (
            lambda: swap_regret(SAMPLE, task=COSTS, response=Says([0.5, 0.5], [0.5, 0.6])),
            f"{SURE}; 1 value does not, the first is at p = 0.5 = [0.5, 0.6]",
        ),
        (
            lambda: swap_regret(SAMPLE, task=COSTS, response=Says([-0.5, 1.5], [np.nan, 0.6])),
            f"{SURE}; 2 values do not, the first is at p = 0.25 = [-0.5, 1.5]",
        ),
        (
            lambda: swap_regret(
                SAMPLE, task=COSTS, response=Says([1, 0], [1, 0], task=DecisionTask.threshold(0.5))
            ),
            "response must choose among the task's actions ('wait', 'treat'); "
            "its task has ('wait', 'act')",
        ),
        (
            lambda: swap_regret(SAMPLE, task=DecisionTask.quadratic(), response=Says([1])),
            "response needs a task with a list of actions; it is DecisionTask.quadratic()",
        ),
    ],
)
def test_bad_calls_are_told_what_is_wrong(call, message):
    with pytest.raises(rainproof.InputError) as caught:
        call()
    assert str(caught.value) == message


def test_a_response_that_does_worse_than_it_could():
    """Always treating, where the event never happens: everything is lost that this outcome puts at
    stake.
    """
    r = swap_regret([0, 0], [0.0, 0.1], COSTS, response=Says([0, 1], [0, 1]))
    assert (r.in_units, r.best_swap) == (10, {"treat": "wait"})
    half = swap_regret([0, 0], [0.0, 0.1], COSTS, response=Says([0.5, 0.5], [0.5, 0.5]))
    assert_allclose([half.in_units, half.swaps[0].weight], [5, 1])
    assert best_taken([0.0, 0.5], COSTS.payoffs).tolist() == [[1, 0], [0, 1]]


@given(st.floats(0.01, 0.99))
def test_rounding_to_a_grid_needs_no_swap_if_the_forecast_is_right_on_it(mu):
    y, p = [1, 0, 0, 0, 1, 1, 1, 0], [0.25] * 4 + [0.75] * 4
    task = DecisionTask.threshold(mu)
    assert swap_regret(y, p, task, response=Rounded(task, 4)).value == pytest.approx(0, abs=1e-15)


@for_each("response", [len, "best", None.__class__])
def test_a_response_must_be_able_to_answer(response):
    with pytest.raises(
        rainproof.InputError,
        match=r"response must be an object with a method probabilities\(p\); it is ",
    ):
        swap_regret(SAMPLE, task=COSTS, response=response)


def test_a_response_must_answer_in_numbers():
    class Words:
        task = "another's"  # not ours to judge

        def probabilities(self, p):
            return ["mostly"] * len(p)

    with pytest.raises(
        rainproof.InputError, match=r"response\.probabilities must hold numbers; it holds strings"
    ):
        swap_regret(SAMPLE, task=COSTS, response=Words())


@for_each("per", ["action", "prediction"])
def test_heavy_rows_and_large_payoffs_do_not_overflow(per):
    task = DecisionTask.from_payoffs([[1e300, 0], [0, 1e300]])
    y, p = [0, 1, 0, 0], [0.1, 0.8, 0.8, 0.8]
    heavy = swap_regret(y, p, task, sample_weight=[1e140] * 4, per=per)
    assert heavy.value == swap_regret(y, p, task, per=per).value == 0.25


def test_memory_grows_with_the_square_of_the_actions():
    """Four hundred numbers to state: every pair of actions is looked at, not every three."""
    k, rng = 400, np.random.default_rng(0)
    stated = np.arange(k) / (k - 1)
    task = DecisionTask.from_payoffs(np.stack([1 - stated**2, 1 - (1 - stated) ** 2], axis=1))
    p = np.round(rng.random(5000), 2)
    y = rng.random(5000) < p**2
    quadratic = swap_regret(y, p, DecisionTask.quadratic())
    tracemalloc.start()
    try:
        found = {per: swap_regret(y, p, task, per=per) for per in ("action", "prediction")}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200 * k**2  # bytes; three indices would take 2 * 8 * k^3
    for regret in found.values():  # numbers in steps of 1/399 lose about what all numbers do
        assert regret.value == pytest.approx(quadratic.value, abs=1 / k)
        assert regret.value == pytest.approx(sum(swap.saves for swap in regret.swaps), abs=1e-12)
