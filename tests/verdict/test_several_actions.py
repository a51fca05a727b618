"""More than two actions: the rule without a forecast is the best fixed action, and skill is that of
the task.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.interval_oracle import slow_interval

import rainproof
from rainproof.plots import intervals
from rainproof.verdict.costs import Rule

COSTS = np.array([[0.0, 10.0], [4.0, 3.0], [10.0, 0.0]])
TASK = rainproof.DecisionTask.from_cost_matrix(COSTS, actions=["go", "Umbrella", "stay"])


def outcomes(p, seed=0):
    return np.random.default_rng(seed).random(len(p)) < p


def uniform(n, low=0.0, high=1.0):
    return np.random.default_rng(n).uniform(low, high, n)


def cost_of(action, y):
    return np.array([COSTS[a][int(event)] for a, event in zip(action, y, strict=True)])


def taken(p):
    """The action of least expected cost for each probability, one by one."""
    return [min(range(3), key=lambda a: (1 - q) * COSTS[a][0] + q * COSTS[a][1]) for q in p]


def assess(y, p, task=TASK, **options):
    return rainproof.assess(y, p, task=task, n_resamples=99, measures=[], **options)


@for_each("rate", [0.1, 0.5, 0.9])
def test_costs_and_skill_are_those_of_the_best_fixed_action(rate):
    p = np.clip(uniform(1500) + rate - 0.5, 0.01, 0.99)
    y = outcomes(p)
    found = assess(y, p)
    each = [cost_of([action] * 1500, y) for action in range(3)]
    fixed = min(range(3), key=lambda action: each[action].mean())
    own, best = cost_of(taken(p), y), COSTS.min(axis=0)[y.astype(int)]
    assert found.task.fixed_action == ["go", "Umbrella", "stay"][fixed]
    assert list(found.task.costs) == [Rule.AS_IS, Rule.RECALIBRATED, Rule.FIXED, Rule.PERFECT]
    columns = {
        Rule.AS_IS: (own, 0, 10),
        Rule.FIXED: (each[fixed], *sorted(COSTS[fixed])),
        Rule.PERFECT: (best, 0, 0),
    }
    for rule, (column, least, most) in columns.items():
        got = found.task.costs[rule]
        assert (got.value, got.low, got.high) == pytest.approx(
            slow_interval(column, least, most)
        ), rule
    saved = found.task.saved[Rule.FIXED]
    assert (saved.value, saved.low, saved.high) == pytest.approx(
        slow_interval(own - each[fixed], -10, 10)
    )
    assert found.task.simplest is Rule.FIXED
    assert found.task.cost_fixed == found.task.costs[Rule.FIXED]
    assert (found.task.cost_always, found.task.cost_never) == (None, None)

    for skill, cost in (
        (found.evidence.skill_as_is, "cost"),
        (found.evidence.skill, "cost_recalibrated"),
    ):
        expected = (each[fixed].mean() - getattr(found.task, cost).value) / (
            each[fixed] - best
        ).mean()
        assert skill.value == pytest.approx(expected)
    skill = found.evidence.skill_as_is
    spread = (each[fixed] - own - skill.value * (each[fixed] - best)).std() / (
        each[fixed] - best
    ).mean()
    assert (skill.high - skill.low) / 2 == pytest.approx(1.96 * spread / np.sqrt(1500), rel=0.05)


def test_the_interval_of_skill_covers_the_skill_of_the_population():
    grid = (np.arange(200_000) + 0.5) / 200_000
    expected = np.stack([(1 - grid) * cost[0] + grid * cost[1] for cost in COSTS])
    fixed = expected.mean(axis=1).min()
    truth = (fixed - expected.min(axis=0).mean()) / fixed  # foresight costs nothing
    inside = 0
    for seed in range(100):
        p = np.random.default_rng(seed + 1000).random(300)
        skill = assess(outcomes(p, seed), p).evidence.skill_as_is
        inside += skill.low <= truth <= skill.high
    assert inside >= 89  # of 95; fewer have a chance of 0.4%


def test_a_forecast_that_always_says_the_same_action_is_of_no_use():
    constant, near = np.full(3000, 0.5), uniform(3000, 0.45, 0.55)
    for p in (constant, near):
        said = str(found := assess(outcomes(p), p))
        assert (found.verdict.grade, found.verdict.rule, found.evidence.skill_as_is.value) == (
            "avoid",
            Rule.FIXED,
            0,
        )
        assert "Your cost is 3.5 per case, always 'Umbrella' or as they are.\n" in said
        assert "Next: use another forecast. Until then always take 'Umbrella'.\n" in said
        assert "always 'Umbrella'  perfect\n" in said
        assert "(the best fixed action), as" in (details := " ".join(found.verdict.details.split()))
        assert "would gain, in your task." in details
        assert "; always 'Umbrella' 3.4" in details
        assert "acting" not in said.replace("acting on them", "")
    assert "You can do without them: in your decision they gain next to nothing." in said
    assert "skill (in your task)" in " ".join(said.split())


def test_noise_is_advised_against_in_favour_of_the_best_fixed_action():
    p, payoffs = uniform(6000), np.array([[10, -50], [4, 0], [-20, 30]])
    y, few = outcomes(np.full(6000, 0.25)), np.arange(6000) < 600
    y[few] &= uniform(600) < 0.2  # where another action is the best
    found = assess(y, p, rainproof.DecisionTask.from_payoffs(payoffs), by=few)
    assert (found.verdict.grade, found.verdict.rule) == ("avoid", Rule.FIXED)
    assert found.verdict.next_step.endswith("Until then always take 'action 1'.")
    for segment in found.segments.rows:
        rows = few == (segment.key == ("True",))
        assert segment.cost_without == pytest.approx(
            -max((payoffs[a][y[rows] * 1]).mean() for a in range(3))
        )
    assert {round(s.cost_without) for s in found.segments.rows} == {-7, -3}


def test_a_useful_forecast_is_compared_with_the_best_fixed_action():
    p = uniform(2000)
    found = assess(y := outcomes(p), p)
    assert (found.verdict.grade, found.verdict.rule) == ("use", Rule.AS_IS)
    assert (
        f"without them it is {cost_of([1] * 2000, y).mean():.1f} (always 'Umbrella')."
        in found.verdict.reason
    )
    assert "Always 'Umbrella'" in str(found.task)
    names = [text.get_text() for text in intervals.costs(found.task).get_yticklabels()]
    assert sorted(names) == [
        "Always 'Umbrella'",
        "Forecast as it is",
        "Perfect foresight",
        "Recalibrated",
    ]
    told = json.loads(found.to_json())["task"]
    assert (told["fixed_action"], told["cost_fixed"]) == (
        "Umbrella",
        told["costs"]["always the same"],
    )


def test_several_forecasts_are_ranked_beside_the_best_fixed_action():
    y, noise = outcomes(uniform(2000)), {"one": uniform(2001)[:2000], "other": np.full(2000, 0.5)}
    found = rainproof.assess_many(y, noise, task=TASK, n_resamples=99, measures=[])
    assert list(found.references) == [Rule.FIXED, Rule.PERFECT]
    assert found.references[Rule.FIXED] == found["one"].task.cost_fixed
    assert found.taken is None
    assert "none of 2 forecasts gains you anything over always 'Umbrella', 3.5" in found.headline
    assert found.next_step.endswith("always take 'Umbrella'.")
    assert "\n(always 'Umbrella')" in str(found)


def test_the_stated_rate_of_the_event_chooses_the_action_and_sets_its_cost():
    p = uniform(2000)
    found = assess(outcomes(p), p, base_rate=0.05)
    assert (found.task.fixed_action, found.task.cost_fixed.value) == ("go", pytest.approx(0.5))
    assert found.task.cost_fixed.low == found.task.cost_fixed.high == found.task.cost_fixed.value


def test_where_two_of_three_actions_are_ever_best_there_is_a_threshold():
    p = uniform(500)
    found = assess(
        outcomes(p), p, rainproof.DecisionTask.from_cost_matrix([[0, 5], [3, 4], [1, 0]])
    )
    assert found.task.fixed_action is None
    assert {Rule.ALWAYS, Rule.NEVER, Rule.CUTOFF} <= set(found.task.costs)
    assert Rule.FIXED not in found.task.costs


def test_one_outcome_has_no_skill():
    with pytest.warns(rainproof.errors.RainproofWarning):
        found = assess(np.ones(40), uniform(40))
    assert found.evidence.skill is None
    assert (found.task.fixed_action, found.task.cost_fixed.value) == ("stay", 0)
