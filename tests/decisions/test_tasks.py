"""Tasks: best response, thresholds, mixture, and what bad tasks are told."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.decision_oracle import best_action, mixture_weights, tasks
from helpers.strategies import probabilities
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof import DecisionTask
from rainproof.core.curve import SwapCurve
from rainproof.decisions.profiles import TaskProfile

SHAPE = (
    "payoffs must have shape (actions, classes): for each action a number for each class, "
    "of one event two"
)
INCREASE = "thresholds must increase in [0, 1], one less than the actions in order; they are"
KINDS = "a task must be a dict with 'task' either 'actions' or 'quadratic' or 'cases' or 'classes'"
UMBRELLA = [[10, -50], [4, 0], [-20, 30]]


def test_costs_make_a_threshold():
    task = DecisionTask.from_costs(false_positive=35, false_negative=65)
    assert task.thresholds == (0.35,)
    assert task.actions == ("wait", "act")
    assert task.scale == 65
    assert (
        task.payoff("act", 0),
        task.payoff("wait", 1),
        task.payoff("act", 1),
        task.payoff("wait", 0),
    ) == (
        -35,
        -65,
        0,
        0,
    )
    assert task.best_response(0.35) == "act"
    assert task.best_response(math.nextafter(0.35, 0)) == "wait"
    assert (
        DecisionTask.from_costs(
            false_positive=1, false_negative=3, actions=["a", "b"]
        ).best_response(0.25)
        == "b"
    )


def test_the_papers_task():
    """U = 1 - 0.35 (1-y) a - 0.65 y (1-a), r*(p) = 1{p >= 0.35}."""
    task = DecisionTask.threshold(0.35)
    for a, name in enumerate(task.actions):
        for y in (0, 1):
            assert task.payoff(name, y) == pytest.approx(
                1 - 0.35 * (1 - y) * a - 0.65 * y * (1 - a), abs=1e-15
            )
    p = np.array([0.0, 0.2, math.nextafter(0.35, 0), 0.35, 0.9, 1.0])
    assert_array_equal(task.best_index(p), p >= 0.35)
    assert task.scale == 0.65


@given(st.floats(1e-300, 1, exclude_max=True))
def test_every_threshold_is_kept_to_the_last_bit(mu):
    task = DecisionTask.threshold(mu)
    assert task.thresholds == (mu,)
    assert task.best_index([math.nextafter(mu, 0), mu]).tolist() == [0, 1]


def test_several_actions_by_hand():
    """10 - 60 p against 4 - 4 p cross at 6/56; 4 - 4 p against -20 + 50 p at 24/54."""
    task = DecisionTask.from_payoffs(UMBRELLA, actions=["go", "umbrella", "stay"])
    assert_allclose(task.thresholds, [6 / 56, 24 / 54], rtol=1e-15)
    assert task.order == (0, 1, 2)
    assert task.scale == 80
    assert task.best_response([[0.0, 0.2], [0.5, 1.0]]).tolist() == [
        ["go", "umbrella"],
        ["stay", "stay"],
    ]
    assert_allclose(mixture_weights(task), [56 / 80, 54 / 80])
    assert_array_equal(task.matrix, UMBRELLA)
    assert not task.matrix.flags.writeable


def test_payoffs_of_many_rows():
    task = DecisionTask.from_payoffs(UMBRELLA, actions=["go", "umbrella", "stay"])
    assert_array_equal(task.payoff(["go", "stay", "stay"], [1, 0, 1]), [-50, -20, 30])
    assert_array_equal(task.payoff("go", [0, 1]), [10, -50])
    assert_array_equal(DecisionTask.quadratic().payoff([0.5, 0.25], [1, 0]), [0.75, 0.9375])


@given(tasks(max_actions=6), st.lists(probabilities, min_size=1, max_size=8))
def test_the_best_response_is_the_best(task, asked):
    """Within rounding of the best payoff everywhere, and the definition's action where there is no
    near tie.
    """
    for p, a in zip(asked, task.best_index(asked).tolist(), strict=True):
        expected = [
            (1 - Fraction(p)) * Fraction(u) + Fraction(p) * Fraction(v) for u, v in task.payoffs
        ]
        best = best_action(task.payoffs, p)
        assert float(expected[best] - expected[a]) <= 1e-12 * task.scale
        if min((abs(p - mu) for mu in task.thresholds), default=1) > 1e-12:
            assert a == best
        assert task.best_response(p) == task.actions[a]


@given(tasks(max_actions=6))
def test_thresholds_and_dominated_actions(task):
    assert list(task.thresholds) == sorted(task.thresholds)
    assert all(0 <= mu <= 1 for mu in task.thresholds)
    assert len(task.order) == len(task.thresholds) + 1
    assert set(task.dominated) == {
        name for a, name in enumerate(task.actions) if a not in task.order
    }
    asked = np.linspace(0, 1, 101)
    assert not set(task.best_response(asked)) & set(task.dominated)


@given(tasks(max_actions=5))
def test_the_mixture_fits_the_scale(task):
    weight, threshold = mixture_weights(task), np.array(task.thresholds)
    assert np.all(weight > 0)
    assert weight @ (1 - threshold) <= 1 + 1e-12
    assert weight @ threshold <= 1 + 1e-12


def test_ties_go_up_dominated_and_equal_actions_are_never_chosen():
    task = DecisionTask.from_payoffs([[0, 0], [4, 0], [0, 4], [2, 2], [4, 0], [4, -1], [0, 4]])
    assert task.order == (1, 2)  # 'action 3' is best at 1/2 alone, with the others
    assert task.thresholds == (0.5,)
    assert task.dominated == ("action 0", "action 3", "action 4", "action 5", "action 6")
    assert task.best_response([0, 0.5, 1]).tolist() == ["action 1", "action 2", "action 2"]
    assert str(task) == (
        "7 actions, 5 at stake: 'action 1' below 0.5, 'action 2' from 0.5; "
        "never 'action 0', 'action 3', 'action 4', 'action 5', 'action 6'."
    )


def test_an_action_that_is_always_best():
    task = DecisionTask.from_payoffs([[1, 1], [1, 0], [0, 1]], actions=["good", "bad", "worse"])
    assert (task.order, task.thresholds, task.dominated) == ((0,), (), ("bad", "worse"))
    assert task.best_response([0, 1]).tolist() == ["good", "good"]
    assert str(task) == "3 actions, 1 at stake: 'good' always; never 'bad', 'worse'."
    assert repr(task) == "DecisionTask(actions=('good', 'bad', 'worse'), thresholds=(), scale=1)"
    assert rainproof.swap_regret([0, 1], [0.2, 0.4], task).value == 0


def test_what_an_outcome_brings_anyway_is_not_at_stake():
    task = DecisionTask.from_payoffs([[0, 1000], [-1, 1002]])
    assert (task.scale, task.thresholds) == (2, (1 / 3,))


def test_quadratic():
    task = DecisionTask.quadratic()
    assert isinstance(task, rainproof.decisions.QuadraticTask)
    assert isinstance(task, DecisionTask)
    assert (task.actions, task.thresholds, task.scale) == ((), (), 1.0)
    assert hash(task) == hash(DecisionTask.quadratic())
    assert pickle.loads(pickle.dumps(task)) == task
    assert_array_equal(task.best_response([0.25, 0.5]), [0.25, 0.5])
    assert task.best_response(0.25) == 0.25
    assert repr(task) == "DecisionTask.quadratic()"
    assert (
        str(task)
        == "The action is a number in [0, 1], 1 at stake: its payoff is 1 - (action - outcome)^2."
    )
    assert DecisionTask.from_dict(task.to_dict()) == task
    with pytest.raises(
        rainproof.InputError,
        match=r"^action must lie in \[0, 1\]; 1 value does not, the first is action = 2",
    ):
        task.payoff(2, 0)


@given(tasks(max_actions=5))
def test_a_task_survives_json_to_the_last_bit(task):
    assert isinstance(task, rainproof.decisions.FiniteTask)
    assert isinstance(task, DecisionTask)
    for again in (
        DecisionTask.from_dict(json.loads(json.dumps(task.to_dict()))),
        pickle.loads(pickle.dumps(task)),
    ):
        assert again == task
        assert hash(again) == hash(task)
        assert again != DecisionTask.quadratic()


def test_a_task_is_one_of_its_types():
    with pytest.raises(TypeError, match="abstract"):
        DecisionTask()


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError, match="thresholds"):
        DecisionTask.threshold(0.5).thresholds = (0.25,)


@for_each(
    "make, message",
    [
        (
            lambda: DecisionTask.from_costs(false_positive=0, false_negative=1),
            "false_positive must be a positive, finite cost; it is 0",
        ),
        (
            lambda: DecisionTask.from_costs(false_positive=1, false_negative=-2.5),
            "false_negative must be a positive, finite cost; it is -2.5",
        ),
        (
            lambda: DecisionTask.from_costs(false_positive=math.nan, false_negative=1),
            "false_positive must be a positive, finite cost; it is nan",
        ),
        (
            lambda: DecisionTask.from_costs(false_positive=1, false_negative=math.inf),
            "false_negative must be a positive, finite cost; it is inf",
        ),
        (
            lambda: DecisionTask.from_costs(false_positive=True, false_negative=1),
            "false_positive must be a positive, finite cost; it is True",
        ),
        (
            lambda: DecisionTask.from_costs(false_positive=1, false_negative="2"),
            "false_negative must be a positive, finite cost; it is '2'",
        ),
        (
            lambda: DecisionTask.from_costs(false_positive=1e308, false_negative=1e308),
            "payoffs must differ by less than the largest double: rescale them",
        ),
        (
            lambda: DecisionTask.from_costs(false_positive=1, false_negative=1, actions=["a"]),
            "actions must name each of the 2 actions; it has 1",
        ),
        (lambda: DecisionTask.threshold(0), "threshold must lie in (0, 1); it is 0"),
        (lambda: DecisionTask.threshold(1.0), "threshold must lie in (0, 1); it is 1.0"),
        (lambda: DecisionTask.threshold(1.5), "threshold must lie in (0, 1); it is 1.5"),
        (lambda: DecisionTask.threshold(math.nan), "threshold must lie in (0, 1); it is nan"),
        (lambda: DecisionTask.threshold("0.5"), "threshold must lie in (0, 1); it is '0.5'"),
        (
            lambda: DecisionTask.threshold(0.5, actions=["a", "b", "c"]),
            "actions must name each of the 2 actions; it has 3",
        ),
        (
            lambda: DecisionTask.from_payoffs([[1, 2]]),
            "payoffs must have at least two actions; there is 1",
        ),
        (
            lambda: DecisionTask.from_payoffs([[1, 2], [1, 2], [1, 2]]),
            "payoffs must differ between actions: nothing is at stake",
        ),
        (
            lambda: DecisionTask.from_payoffs([[1, 2], [math.nan, math.inf]]),
            "payoffs must be finite; 2 values do not, the first is payoffs[1][0] = nan",
        ),
        (
            lambda: DecisionTask.from_payoffs([1, 2]),
            f"{SHAPE}; it is (2,)",
        ),
        (
            lambda: DecisionTask.from_payoffs([[1], [2]]),
            f"{SHAPE}; it is (2, 1)",
        ),
        (
            lambda: DecisionTask.from_payoffs([[1, 2], [1]]),
            f"{SHAPE}; rows differ in length, or a value is no finite number",
        ),
        (
            lambda: DecisionTask.from_payoffs([[1e308, 0], [-1e308, 1]]),
            "payoffs must differ by less than the largest double: rescale them",
        ),
        (
            lambda: DecisionTask.from_payoffs([[0, 1], [1, 0]], actions=["a", "a"]),
            "actions must have different names; 'a' occurs twice",
        ),
        (
            lambda: DecisionTask.from_payoffs([[0, 1], [1, 0]], actions="ab"),
            "actions must be a list of names; it is 'ab'",
        ),
        (
            lambda: DecisionTask.from_payoffs([[0, 1], [1, 0]], actions=["a", 1]),
            "actions must be a list of names; it is ['a', 1]",
        ),
        (
            lambda: DecisionTask.from_payoffs([[0, 1], [1, 0]], actions=["a", ""]),
            "actions must be a list of names; it is ['a', '']",
        ),
        (
            lambda: DecisionTask.threshold(0.5).best_response([0.5, 1.5, math.nan]),
            "p must lie in [0, 1]; 2 values do not, the first is p[1] = 1.5",
        ),
        (
            lambda: DecisionTask.threshold(0.5).best_index(-1),
            "p must lie in [0, 1]; 1 value does not, the first is p = -1.0",
        ),
        (
            lambda: DecisionTask.threshold(0.5).payoff("go", 1),
            "action must be one of 'wait', 'act'; it is 'go'",
        ),
        (lambda: DecisionTask.threshold(0.5).payoff("act", 2), "y must be 0 or 1; it is 2"),
        (
            lambda: DecisionTask.from_dict({}),
            f"{KINDS}; it has None",
        ),
        (
            lambda: DecisionTask.from_dict([1]),
            f"{KINDS}; it has None",
        ),
        (
            lambda: DecisionTask.from_dict({"task": "actions", "actions": ["a", "b"]}),
            "a task of actions must have the list 'payoffs'",
        ),
    ],
)
def test_bad_tasks_are_told_what_is_wrong(make, message):
    with pytest.raises(rainproof.InputError) as caught:
        make()
    assert str(caught.value) == message


@for_each(
    "change, message",
    [
        (
            {"thresholds": [0.4]},
            "thresholds must be where the payoffs cross; at 0.4 action 1 beats action 0",
        ),
        (
            {"order": [1, 0]},
            "thresholds must be where the payoffs cross; at 0 action 0 beats action 1",
        ),
        (
            {"order": [0]},
            f"{INCREASE} [0.35] for [0]",
        ),
        (
            {"order": [0, 2]},
            f"{INCREASE} [0.35] for [0, 2]",
        ),
        (
            {"thresholds": [1.5]},
            f"{INCREASE} [1.5] for [0, 1]",
        ),
        (
            {"thresholds": ["x"]},
            f"{INCREASE} ['x'] for [0, 1]",
        ),
        ({"actions": ["a", "b", "c"]}, "actions must name each of the 2 actions; it has 3"),
    ],
)
def test_a_task_that_was_tampered_with(change, message):
    with pytest.raises(rainproof.InputError) as caught:
        DecisionTask.from_dict({**DecisionTask.threshold(0.35).to_dict(), **change})
    assert str(caught.value) == message


def test_the_threshold_task_is_the_curve_at_its_threshold():
    """In its own units, with ties counted as above."""
    rng = np.random.default_rng(1)
    p = np.round(rng.random(200), 2)
    sample = rainproof.Sample(rng.random(200) < p**2, p)
    curve = SwapCurve.from_table(sample.distinct())
    for mu in (0.1, 0.35, 0.5, 0.77):
        regret = rainproof.swap_regret(sample, task=DecisionTask.threshold(mu), per="prediction")
        assert regret.in_units == pytest.approx(curve.points([mu])[1][0], abs=1e-14)


TASK = DecisionTask.threshold(0.35)
MASKED = np.ma.array([0.1, 0.9], mask=[False, True])


@for_each(
    "call, message",
    [
        (lambda: TASK.best_response("often"), "p must hold numbers; it holds strings"),
        (
            lambda: TASK.best_response(MASKED),
            "p must not contain masked values; 1 value does, the first is p[1]",
        ),
        (
            lambda: TASK.payoff(["wait", "act"], [0, 1, 1]),
            "action and y must match up; their shapes are (2,) and (3,)",
        ),
        (
            lambda: DecisionTask.quadratic().payoff("0.5", 1),
            "action must hold numbers; it holds strings",
        ),
        (
            lambda: DecisionTask.threshold(0.5, actions=None),
            "actions must be a list of names; it is None",
        ),
        (
            lambda: DecisionTask.threshold(0.5, actions=["a", "a\0"]),
            "actions must have names that UTF-8 can encode, without NUL; 'a\\x00' is not one",
        ),
        (
            lambda: DecisionTask.threshold(0.5, actions=["a", "\ud800"]),
            "actions must have names that UTF-8 can encode, without NUL; '\\ud800' is not one",
        ),
        (
            lambda: DecisionTask.from_payoffs(np.ma.array([[1, 2], [3, 0]], mask=[[0, 0], [1, 0]])),
            "payoffs must not contain masked values; 1 value does, the first is payoffs[2]",
        ),
        *(
            (
                lambda payoffs=payoffs: DecisionTask.from_payoffs(payoffs),
                f"{SHAPE}; rows differ in length, or a value is no finite number",
            )
            for payoffs in ([["1", "2"], ["3", "0"]], [[10**400, 1], [0, 2]])
        ),
    ],
)
def test_what_numpy_would_take_for_something_else_is_refused(call, message):
    with pytest.raises(rainproof.InputError) as caught:
        call()
    assert str(caught.value) == message


def test_a_cost_too_large_for_a_double_is_refused():
    with pytest.raises(
        rainproof.InputError, match="false_negative must be a positive, finite cost"
    ):
        DecisionTask.from_costs(false_positive=1, false_negative=10**400)


def test_truth_values_number_no_actions():
    data = TASK.to_dict() | {"order": [False, True]}
    with pytest.raises(rainproof.InputError, match="thresholds must increase"):
        DecisionTask.from_dict(data)


def test_many_actions_do_not_take_for_ever():
    """Each of 8,000 actions is best somewhere; with a comparison of all pairs this took half a
    minute.
    """
    angle = np.linspace(0.1, 1.4, 8000)
    task = DecisionTask.from_payoffs(np.column_stack([np.cos(angle), np.sin(angle)]))
    assert len(task.thresholds) == 7999
    assert DecisionTask.from_dict(task.to_dict()) == task


def test_thresholds_may_be_off_by_rounding_alone():
    """At 1/2 + d the second action is better by d, of 1/2 at stake: up to a share of 1e-9 that is
    rounding.
    """
    parts = {"actions": ("wait", "act"), "payoffs": ((1.0, 0.5), (0.5, 1.0)), "order": (0, 1)}
    for off in (4e-10, -4e-10):
        assert rainproof.decisions.FiniteTask(**parts, thresholds=(0.5 + off,)).thresholds == (
            0.5 + off,
        )
    for off in (6e-10, -6e-10):
        with pytest.raises(
            rainproof.InputError,
            match=r"thresholds must be where the payoffs cross; at 0\.5 action",
        ):
            rainproof.decisions.FiniteTask(**parts, thresholds=(0.5 + off,))


def test_costs_without_names_are_refused_with_their_names():
    """Which of two numbers is the false alarm cannot be seen."""
    for unnamed, named in (((1, 5), {}), ((1,), {"false_positive": 1, "false_negative": 5})):
        with pytest.raises(TypeError, match=r"false_positive.*false_negative"):
            DecisionTask.from_costs(*unnamed, **named)


def test_a_task_describes_itself():
    """What others ask of a kind of task, in place of its class."""
    costs = {"false_positive": 1, "false_negative": 3}
    cases = {"false_positive": 1, "false_negative": [3, 1]}
    three = [[0, -4], [-1, -1], [-3, 0]]
    profiles = {
        "two actions": DecisionTask.from_costs(**costs).profile,
        "cases": DecisionTask.from_costs(**cases).profile,
        "three actions": DecisionTask.from_payoffs(three).profile,
        "one best action": DecisionTask.from_payoffs([[1, 1], [0, 0]]).profile,
        "numbers": DecisionTask.quadratic().profile,
        "classes": DecisionTask.from_payoffs([[0, -1, -2], [-1, 0, 0]]).profile,
    }
    assert profiles == {
        "two actions": TaskProfile(threshold=0.25, actions=2, ranked=True),
        "cases": TaskProfile(per_case=True, actions=2),
        "three actions": TaskProfile(actions=3, fixed=True),
        "one best action": TaskProfile(actions=1),
        "numbers": TaskProfile(),
        "classes": TaskProfile(actions=2, fixed=True),
    }
