"""Decisions in words."""

from __future__ import annotations

from helpers.cases import for_each

import rainproof
from rainproof.decisions.tasks import decision_with


@for_each(
    "thresholds, words",
    [
        ((0.5,), "a decision with threshold 0.5 (a false alarm costs as much as a miss)"),
        ((0.75,), "a decision with threshold 0.75 (a false alarm costs 3 times a miss)"),
        ((0.35,), "a decision with threshold 0.35 (a miss costs 1.9 times a false alarm)"),
        ((5e-324,), "a decision with threshold 0"),
        ((0.125, 0.8125), "a decision among 3 actions with thresholds 0.125 and 0.8125"),
    ],
)
def test_a_decision_by_its_thresholds(thresholds, words):
    assert decision_with(thresholds) == words


def test_decisions_with_the_largest_loss_on_real_curves():
    three = rainproof.regret_curve([1, 1, 0, 0], [0.2, 0.6, 0.6, 0.6]).worst_task
    assert (
        decision_with(three.thresholds) == "a decision among 3 actions with thresholds 0.2 and 0.6"
    )
    at_the_end = rainproof.regret_curve([0, 0], [1.0, 1.0]).worst_task
    assert decision_with(at_the_end.thresholds) == "a decision with threshold 1"
