"""Assessments with costs of each case: every rule against sums over rows, and equal costs against
one number.
"""

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import DecisionTask, assess, assess_many
from rainproof.verdict.costs import Rule


def population(n=900, seed=3):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(1, 6, n), 2)
    y = rng.random(n) < p**1.3
    return y, p, np.round(np.exp(rng.normal(3, 1, n)), 2)


def numbers(value, path=""):
    """All numbers of a document by their place, but for the task itself."""
    if isinstance(value, dict):
        return {
            k: v
            for key, part in value.items()
            if key != "task" or path == ""
            for k, v in numbers(part, f"{path}/{key}").items()
        }
    if isinstance(value, list):
        return {
            k: v for i, part in enumerate(value) for k, v in numbers(part, f"{path}/{i}").items()
        }
    return {path: value} if isinstance(value, float) else {}


@for_each("columns", ["none", "weights and segments", "groups"])
def test_equal_costs_give_the_numbers_of_one_number(columns):
    y, p, _ = population()
    n = len(y)
    extra = {
        "none": {},
        "weights and segments": {"sample_weight": 1.0 + np.arange(n) % 3, "by": np.arange(n) % 2},
        "groups": {"groups": np.arange(n) // 3},
    }[columns]
    costs = (8, 40), (8, np.full(n, 40.0))
    one, each = (
        numbers(
            assess(
                y, p, task=DecisionTask.from_costs(false_positive=fp, false_negative=fn), **extra
            ).to_dict()
        )
        for fp, fn in costs
    )
    assert one.keys() == each.keys()
    assert len(one) > 1000
    assert {
        path: value
        for path, value in each.items()
        if abs(value - one[path]) > 1e-12 * max(1, abs(value))
    } == {}


def test_costs_are_sums_over_rows():
    y, p, amount = population()
    weight = 1.0 + np.arange(len(y)) % 4
    fp = np.where(amount > 30, 6.0, 2.0)
    a = assess(
        y,
        p,
        task=DecisionTask.from_costs(false_positive=fp, false_negative=amount),
        sample_weight=weight,
    )
    act = p >= fp / (fp + amount)
    by_hand = {
        Rule.AS_IS: np.where(act, fp * ~y, amount * y),
        Rule.ALWAYS: fp * ~y,
        Rule.NEVER: amount * y,
        Rule.PERFECT: np.zeros(len(y)),
    }
    for rule, cost in by_hand.items():
        found = a.task.costs[rule]
        assert found.value == pytest.approx(np.average(cost, weights=weight), abs=1e-12)
        assert found.low <= found.value <= found.high
    assert a.task.totals[Rule.NEVER] == pytest.approx(
        len(y) * np.average(amount * y, weights=weight)
    )
    saved = a.task.saved[Rule.NEVER]
    assert saved.value == pytest.approx(a.task.cost.value - a.task.cost_never.value)
    assert a.task.acted[Rule.AS_IS] == pytest.approx(np.average(act, weights=weight))
    cuts = [
        np.average(np.where(p >= cut, fp * ~y, amount * y), weights=weight) for cut in np.unique(p)
    ]
    assert a.task.best_threshold == np.unique(p)[int(np.argmin(cuts))]
    without = min(a.task.cost_always.value, a.task.cost_never.value)
    assert a.evidence.skill_as_is.value == pytest.approx(1 - a.task.cost.value / without, abs=1e-12)


def test_the_order_of_rows_changes_nothing():
    y, p, amount = population(400)
    order = np.random.default_rng(0).permutation(len(y))

    def found(at):
        task = DecisionTask.from_costs(false_positive=5, false_negative=amount[at])
        return numbers(assess(y[at], p[at], task=task, measures=[]).to_dict())

    assert found(order) == found(np.arange(len(y)))


def test_segments_have_the_costs_of_their_rows():
    y, p, amount = population()
    by = np.arange(len(y)) % 3
    a = assess(
        y,
        p,
        by=by,
        task=DecisionTask.from_costs(false_positive=5, false_negative=amount),
        measures=[],
    )
    cost = np.where(p >= 5 / (5 + amount), 5 * ~y, amount * y)
    for one in a.segments.rows:
        own = by == int(one.key[0])
        assert one.cost == pytest.approx(cost[own].mean(), abs=1e-12)
        assert one.cost_without == pytest.approx(
            min((5 * ~y[own]).mean(), (amount * y)[own].mean()), abs=1e-12
        )


def test_forecasts_are_ranked_by_the_costs_of_each_case():
    y, p, amount = population()
    task = DecisionTask.from_costs(false_positive=5, false_negative=amount)
    forecasts = {"sharp": p, "flat": np.full(len(y), 0.1)}
    found = assess_many(y, forecasts, task=task, measures=[], n_resamples=99)
    cost = {
        name: np.where(q >= 5 / (5 + amount), 5 * ~y, amount * y) for name, q in forecasts.items()
    }
    for one in found.standings:
        assert one.cost.value == pytest.approx(cost[one.name].mean(), abs=1e-12)
    difference = found.pairs[0].cost_difference
    assert difference.value == pytest.approx((cost["sharp"] - cost["flat"]).mean(), abs=1e-12)
    assert found.references[Rule.NEVER].value == pytest.approx((amount * y).mean())
    with pytest.raises(rainproof.InputError, match="there are 900 for 899 rows"):
        assess_many(y[1:], {"sharp": p[1:]}, task=task)


def test_the_verdict_names_the_threshold_of_each_case_and_how_many_it_flags():
    y, p, amount = population()
    a = assess(
        y, p, task=DecisionTask.from_costs(false_positive=5, false_negative=amount), measures=[]
    )
    flagged = a.task.acted[a.verdict.rule]
    assert "act on each case from its own threshold on" in a.verdict.next_step
    assert f"That flags {100 * flagged:.0f}% of the cases." in a.verdict.next_step
    assert a.verdict.threshold is None
    assert [row[0] for row in a.verdict.table[1:4]] == [
        "cost per case",
        "cost in total",
        "cases acted on",
    ]
    said = " ".join(s.text for s in a.verdict.sentences)
    assert "Guarantees are about decisions whose costs are the same in every case." in said
    assert "at the threshold of each case" in said


def test_a_report_offers_no_policy_of_single_cases():
    y, p, amount = population(300)
    a = assess(
        y,
        p,
        task=DecisionTask.from_costs(false_positive=5, false_negative=amount),
        measures=["brier_score"],
    )
    page = a.to_html()
    assert "costs of 300 cases" in page
    assert "policy.json" not in page


def test_events_without_any_stake_have_no_skill():
    y, p, _ = population(200)
    task = DecisionTask.from_costs(false_positive=5, false_negative=np.where(y, 0.0, 7.0))
    a = assess(y, p, task=task, measures=[], n_resamples=99)
    assert a.evidence.skill is None
    assert a.task.cost_never.value == 0


def test_a_compressed_sample_of_unequal_weights_still_says_how_many_are_flagged():
    y, p, _ = population(500)
    weight = 1.0 + np.arange(500) % 4
    sample = rainproof.Sample(y, p, sample_weight=weight).compress(2**10)
    a = assess(
        sample,
        task=DecisionTask.from_costs(false_positive=1, false_negative=9),
        measures=[],
        n_resamples=99,
    )
    assert a.task.acted == {Rule.AS_IS: pytest.approx(np.average(p >= 0.1, weights=weight))}
    assert "That flags" in a.verdict.next_step


def test_a_constant_tells_cases_apart_where_their_costs_differ():
    """The event rate is enough to act where a false alarm is cheap."""
    rng = np.random.default_rng(1)
    y, alarm = rng.random(900) < 0.3, rng.choice([1.0, 2.0, 5.0], 900)
    task = rainproof.DecisionTask.from_costs(false_positive=alarm, false_negative=4.0)
    a = rainproof.assess(y, np.full(900, 0.3), task=task, measures=[])
    assert (a.verdict.grade, a.verdict.rule) == ("use", "as is")
    assert a.task.cost.value < min(a.task.cost_always.value, a.task.cost_never.value)
    assert a.task.acted["as is"] == np.mean(alarm / (alarm + 4) <= 0.3)
