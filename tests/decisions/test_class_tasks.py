"""Decisions about several classes: best responses, costs and swaps against brute force, by row."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import DecisionTask

rng = np.random.default_rng(8)
ANIMALS = ["cat", "dog", "eel", "fox"]


def rows(n, k, rng):
    p = rng.dirichlet(np.full(k, 0.6), n)
    return (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=k - 1), np.roll(
        p, 1, axis=1
    )


def brute_force(u, p, y, w):
    """The swap regret by the definition: try every replacement of every action."""
    taken = []
    for row in p.tolist():
        expected = [
            sum(Fraction(q) * Fraction(pay) for q, pay in zip(row, line, strict=True))
            for line in u.tolist()
        ]
        taken.append(expected.index(max(expected)))
    total, best = 0.0, {}
    for a in set(taken):
        at = np.array(taken) == a
        gains = [float((w[at] * (u[b, y[at]] - u[a, y[at]])).sum()) for b in range(len(u))]
        if max(gains) > 1e-12:
            total += max(gains)
            best[f"action {a}"] = f"action {int(np.argmax(gains))}"
    return taken, total / w.sum(), best


@for_each("seed", range(6))
def test_best_response_and_swap_regret_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    k, actions, n = 3 + seed % 3, 2 + seed, 250
    y, p = rows(n, k, rng)
    p[5:9] = p[4]
    w = rng.random(n) if seed % 2 else np.ones(n)
    u = rng.normal(size=(actions, k)) * 10.0 ** rng.integers(-3, 4)
    task = DecisionTask.from_payoffs(u)
    taken, regret, best = brute_force(u, p, y, w)
    assert task.best_index(p).tolist() == taken
    assert task.best_response(p[0]) == f"action {taken[0]}"
    found = rainproof.swap_regret(y, p, task, sample_weight=w)
    assert found.in_units == pytest.approx(regret, rel=1e-12, abs=1e-12 * task.scale)
    assert found.best_swap == best
    assert found.value == pytest.approx(regret / np.ptp(u, axis=0).max(), rel=1e-12, abs=1e-12)
    assert rainproof.swap_regret(rainproof.Sample(y, p, sample_weight=w), task=task) == found
    assert task.payoff(task.best_response(p), y) == pytest.approx(u[taken, y])


def test_two_columns_are_the_task_of_one_event():
    assert DecisionTask.from_cost_matrix(
        [[0, 65], [35, 0]], actions=["wait", "act"]
    ) == DecisionTask.from_costs(false_positive=35, false_negative=65)
    y, p = rows(300, 2, rng)
    task = DecisionTask.threshold(0.3)
    assert rainproof.swap_regret(y, p, task) == rainproof.swap_regret(y, p[:, 1], task)


def test_abstain_costs_the_same_in_every_class():
    costs = 1 - np.eye(4)
    task = DecisionTask.from_cost_matrix(costs, actions=ANIMALS, abstain=0.2)
    p = [[0.85, 0.05, 0.05, 0.05], [0.79, 0.2, 0.01, 0.0], [0.25] * 4, [0, 0, 0, 1]]
    assert task.best_response(p).tolist() == ["cat", "abstain", "abstain", "fox"]
    assert task.payoff("abstain", [0, 3]).tolist() == [-0.2, -0.2]
    said = np.array([[0.9, 0.05, 0.03, 0.02]] * 10)
    advice = rainproof.swap_regret([0] * 5 + [1] * 3 + [2, 3], said, task)
    assert advice.best_swap == {"cat": "abstain"}
    assert advice.in_units == pytest.approx(0.3, rel=1e-12)
    assert (
        str(advice).splitlines()[1]
        == "  Replace 'cat' by 'abstain': saves 30.00% of what is at stake, on 10 rows."
    )


def test_the_first_of_equals_is_taken():
    u = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    for order in itertools.permutations(range(3)):
        assert (
            DecisionTask.from_payoffs(u[list(order)]).best_response([0.5, 0.25, 0.25])
            == f"action {order.index(0)}"
        )
    assert DecisionTask.from_payoffs(u).best_response([0.25, 0.5, 0.25]) == "action 1"
    assert DecisionTask.from_payoffs(u).best_index([[0.25, 0.25, 0.5], [0.5, 0.5, 0]]).tolist() == [
        2,
        0,
    ]


def test_a_task_comes_back_from_json():
    task = DecisionTask.from_payoffs(rng.normal(size=(3, 4)), actions=["a", "b", "c"])
    again = DecisionTask.from_dict(json.loads(json.dumps(task.to_dict())))
    assert again == task
    assert repr(task) == f"DecisionTask(actions=('a', 'b', 'c'), classes=4, scale={task.scale:.6g})"
    assert str(task).startswith("3 actions in 4 classes, ")
    with pytest.raises(rainproof.InputError, match=r"payoffs must have shape \(actions, classes\)"):
        DecisionTask.from_dict({"task": "classes", "actions": ["a"]})
    with pytest.raises(
        rainproof.InputError, match="actions must name each of the 3 actions; it has 1"
    ):
        DecisionTask.from_dict({**task.to_dict(), "actions": ["a"]})


def test_what_is_refused():
    task, (y, p), four = (
        DecisionTask.from_cost_matrix(1 - np.eye(3)),
        rows(50, 3, rng),
        rows(9, 4, rng),
    )
    cases = {
        "p must have 3 columns, one for each class; its shape is": lambda: task.best_response(
            p[:, :2]
        ),
        "p must sum to 1 in each row": lambda: task.best_response(p / 2),
        "p must not contain NaN": lambda: task.best_response(p * np.nan),
        "action must be one of .*; it is 'dog'": lambda: task.payoff("dog", 1),
        "y must be the number of a class, from 0 to 2": lambda: task.payoff("action 1", 3),
        "task must have a payoff for each of 4 classes; it has 3": lambda: rainproof.swap_regret(
            *four, task
        ),
        "y_prob must have a column for each class of the task, 3": lambda: rainproof.swap_regret(
            y > 1, p[:, 0], task
        ),
        "several classes have swap regret by action": lambda: rainproof.swap_regret(
            y, p, task, per="prediction"
        ),
        "task must be about one event here: of several classes use task.best_response": lambda: (
            rainproof.RoundingPolicy(task, 8)
        ),
        "has 3 classes, but this is about one event": lambda: rainproof.swap_regret(
            y, p, DecisionTask.threshold(0.2)
        ),
        "pos_label is for predictions of one event": lambda: rainproof.swap_regret(
            y, p, task, pos_label=1
        ),
        "abstain must be a finite cost": lambda: DecisionTask.from_cost_matrix(
            1 - np.eye(3), abstain=np.inf
        ),
        r"payoffs must have shape \(actions, classes\).* it is \(2, 1\)": lambda: (
            DecisionTask.from_payoffs([[1], [2]])
        ),
        r"costs must have shape \(actions, classes\): for each action a number for each class.* "
        r"it is \(3,\)": lambda: DecisionTask.from_cost_matrix([0, 1, 2]),
        "costs must have shape .* rows differ in length": lambda: DecisionTask.from_cost_matrix(
            [[0, 1, 2], [1, 0]]
        ),
        "payoffs must differ between actions": lambda: DecisionTask.from_payoffs([[1, 2, 3]] * 2),
    }
    for message, call in cases.items():
        with pytest.raises(rainproof.InputError, match=message):
            call()
