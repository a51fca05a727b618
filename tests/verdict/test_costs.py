"""What the user's own decision costs: each rule by its definition; what was fitted is judged on
other rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.interval_oracle import slow_interval

import rainproof
from rainproof.core.piecewise import PiecewiseMap
from rainproof.verdict.costs import Rule, TaskResult
from rainproof.verdict.evidence import Crossed

TASK = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)
RULES = [rule for rule in Rule if rule is not Rule.FIXED]  # which two actions have
# any will do
MAP = PiecewiseMap.from_ends(np.array([0, 0.5, 1]), np.array([0, 0.05]), np.array([0.05, 0.9]))


def split(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return fitted(rainproof.Sample(rng.random(n) < p**2, p), seed)


def fitted(sample, seed=0):
    sample = sample.in_order()
    return sample, Crossed.of(sample, np.random.default_rng(seed))


def cost_of(act, y):
    return np.where(act, ~y * 1.0, y * 9.0)


def result(sample, crossed, task=TASK):
    return TaskResult.of(sample, task, 8, crossed, 0.95, deployed=MAP)


def acts_of(sample, crossed):
    """Whether each row is acted on by each rule, by deal; cut-offs are the best on the other folds,
    one by one.
    """
    p, y, cuts = sample.y_prob, sample.event, []
    for deal in crossed.deals:
        cut = np.empty(sample.n)
        for f in range(5):
            others = deal.fold != f
            candidates = [*p, 2.0]
            costs = [cost_of(p[others] >= c, y[others]).sum() for c in candidates]
            cut[~others] = candidates[int(np.argmin(costs))]
        cuts.append(p >= cut)
    return {
        Rule.AS_IS: [p >= 0.1],
        Rule.RECALIBRATED: [deal.better >= 0.1 for deal in crossed.deals],
        Rule.CUTOFF: cuts,
        Rule.ALWAYS: [p >= 0],
        Rule.NEVER: [p > 1],
        Rule.PERFECT: [y],
    }


def mean_cost_of(acts, y):
    return np.mean([cost_of(act, y) for act in acts], axis=0)


def test_every_rule_costs_what_it_says_on_all_rows():
    sample, crossed = split()
    found, y = result(sample, crossed), sample.event
    assert (found.n, len(crossed.deals)) == (400, 3)
    assert list(found.costs) == RULES
    limits = {Rule.ALWAYS: (0.0, 1.0), Rule.PERFECT: (0.0, 0.0)}
    shown = {
        Rule.RECALIBRATED: MAP(sample.y_prob) >= 0.1,
        Rule.CUTOFF: sample.y_prob >= found.best_threshold,
    }
    assert 0 < shown[Rule.RECALIBRATED].mean() < 1
    for rule, act in acts_of(sample, crossed).items():
        expected = slow_interval(mean_cost_of(act, y), *limits.get(rule, (0.0, 9.0)))
        got = found.costs[rule]
        assert (got.value, got.low, got.high) == pytest.approx(expected, abs=1e-12), rule
        assert found.acted[rule] == pytest.approx(np.mean(shown.get(rule, act)))
    told = found.to_dict()
    assert [told["costs"][rule] for rule in RULES] == [
        told[f"cost{rest}"]
        for rest in ("", "_recalibrated", "_best_cutoff", "_always", "_never", "_perfect")
    ]
    assert found.errors == (1, 9)


def test_savings_are_differences():
    sample, crossed = split()
    found, y, acts = result(sample, crossed), sample.event, acts_of(sample, crossed)
    for rule in (Rule.RECALIBRATED, Rule.ALWAYS, Rule.NEVER):
        saved = mean_cost_of(acts[Rule.AS_IS], y) - mean_cost_of(acts[rule], y)
        got = found.saved[rule]
        assert (got.value, got.low, got.high) == pytest.approx(slow_interval(saved, -9.0, 9.0))
    assert set(found.saved) == {Rule.RECALIBRATED, Rule.ALWAYS, Rule.NEVER}


def test_the_cutoff_that_is_shown_is_the_best_on_all_rows():
    sample, crossed = split()
    p, y = sample.y_prob, sample.event
    costs = [cost_of(p >= c, y).sum() for c in [*p, 2.0]]
    assert result(sample, crossed).best_threshold == [*p, 2.0][int(np.argmin(costs))]


def test_costs_of_right_actions_are_not_those_of_errors():
    sample, parts = split()
    task = rainproof.DecisionTask.from_payoffs([[0, -9], [-1, -1]], actions=["wait", "act"])
    assert result(sample, parts, task).errors is None
    three = rainproof.DecisionTask.from_payoffs([[0, -9], [-1, -2], [-3, 0]])
    assert result(sample, parts, three).errors is None


def test_the_result_prints_as_a_table():
    found = result(*split())
    lines = str(found).splitlines()
    assert lines[:2] == [str(TASK), "Cost per case, from 400 rows:"]
    names = [line.split("  ")[0] for line in lines[2:]]
    where = f"Best cut-off (act from {found.best_threshold:.3g} on)"
    assert names == [where if rule is Rule.CUTOFF else found.name(rule) for rule in RULES]
    assert [found.name(rule) for rule in RULES] == [
        "Forecast as it is",
        "Recalibrated",
        "Best cut-off",
        "Always act",
        "Never act",
        "Perfect foresight",
    ]
    cost = found.cost
    assert lines[2].split()[4:] == [
        f"{cost.value:.4g}",
        f"({cost.low:.4g}",
        "to",
        f"{cost.high:.4g})",
    ]
    assert (
        str(replace(found, best_threshold=2.0))
        .splitlines()[4]
        .startswith("Best cut-off (never act) ")
    )
    quadratic = result(
        rainproof.Sample([0, 1], [0.1, 0.9]), None, rainproof.DecisionTask.quadratic()
    )
    assert str(quadratic).startswith("The action is a number")


def test_cutoffs_at_repeated_predictions_act_on_them():
    """The mean of 800 rows of 0.3 is not 0.3 in doubles; the cut-off must be."""
    rng = np.random.default_rng(8)
    p = rng.choice([0.1, 0.3, 0.7], 2000)
    sample, crossed = fitted(rainproof.Sample(rng.random(2000) < p, p))
    found = result(sample, crossed, rainproof.DecisionTask.threshold(0.25))
    assert found.best_threshold == 0.3
    assert found.acted[Rule.CUTOFF] == pytest.approx((p >= 0.3).mean())


def test_groups_make_the_intervals_wider():
    rng = np.random.default_rng(0)
    p = np.repeat(rng.random(200), 5)
    y = np.repeat(rng.random(200) < p[::5], 5)
    narrow, wide = (
        result(*fitted(rainproof.Sample(y, p, groups=groups)))
        for groups in (None, np.arange(1000) // 5)
    )
    for name in ("cost", "cost_recalibrated"):
        (low, high), (lowest, highest) = (
            (getattr(x, name).low, getattr(x, name).high) for x in (narrow, wide)
        )
        assert highest - lowest > 1.5 * (high - low), name


def test_a_compressed_sample_costs_what_its_rows_cost():
    rng = np.random.default_rng(1)
    p = rng.integers(0, 256, 2000) / 256
    sample, crossed = fitted(rainproof.Sample(rng.random(2000) < p, p).compress(256))
    found, times = result(sample, crossed), crossed.rows.counts
    (deal,) = crossed.deals
    y, q, better = (
        np.repeat(column, times) for column in (crossed.rows.event, crossed.rows.prob, deal.better)
    )
    assert len(y) == 2000
    for rule, act in {Rule.AS_IS: q >= 0.1, Rule.RECALIBRATED: better >= 0.1}.items():
        got = found.costs[rule]
        assert (got.value, got.low, got.high) == pytest.approx(
            slow_interval(cost_of(act, y), 0.0, 9.0)
        )


def test_the_intervals_cover():
    """On 200 samples of a rare event: about 95%, and no interval without width where no event was
    seen.
    """
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        sample = rainproof.Sample(rng.random(400) < 0.03, np.full(400, 0.03))
        found = result(sample, None).cost_never
        assert found.high > found.low
        inside += found.low <= 0.27 <= found.high
    assert inside >= 180


def test_there_are_no_costs_without_actions_or_rows():
    sample, crossed = split()
    assert result(sample, crossed, rainproof.DecisionTask.quadratic()).cost is None
    uneven = rainproof.Sample(
        sample.y_true, sample.y_prob, sample_weight=1 + sample.y_prob
    ).compress()
    assert result(uneven, None).cost is None  # its rows cannot be told apart
    undivided = result(sample, None)
    assert undivided.cost == result(sample, crossed).cost
    assert undivided.cost_recalibrated is None
    three = rainproof.DecisionTask.from_payoffs([[0, -10], [-1, -4], [-5, 0]])
    found = result(sample, crossed, three)
    assert (found.best_threshold, found.cost_best_cutoff, found.acted) == (None, None, {})
    assert found.cost_recalibrated.value <= found.cost_fixed.value + 0.1


@for_each("threshold", [0.2, 0.35, 0.7, 0.95])
@for_each("grid", [1024, 2**16])
def test_round_predictions_act_from_a_threshold_on_that_they_equal_also_of_cells(threshold, grid):
    rng = np.random.default_rng(9)
    p = rng.choice(np.arange(1, 20) / 20, 4000)
    y = rng.random(4000) < p**1.4
    task = rainproof.DecisionTask.from_costs(false_positive=threshold, false_negative=1 - threshold)
    sample = rainproof.Sample(y, p)
    a = rainproof.assess(sample.compress(grid), task=task, n_resamples=19)
    expected = np.where(p >= threshold, ~y * threshold, y * (1 - threshold)).mean()
    assert a.task.cost.value == pytest.approx(expected, abs=1e-12)
    assert a.task.acted[Rule.AS_IS] == pytest.approx(np.mean(p >= threshold), abs=1e-12)
    without = min((~y * threshold).mean(), (y * (1 - threshold)).mean())
    assert a.evidence.skill_as_is.value == pytest.approx(1 - expected / without, abs=1e-9)
    cuts = np.append(np.arange(1, 20) / 20, 2.0)
    costs = [np.where(p >= cut, ~y * threshold, y * (1 - threshold)).mean() for cut in cuts]
    assert a.task.best_threshold == cuts[int(np.argmin(costs))]
    # Rows are dealt three times, cells once.
    found = rainproof.assess(sample, task=task, n_resamples=19)
    assert a.task.cost_best_cutoff.value == pytest.approx(
        found.task.cost_best_cutoff.value, abs=0.003
    )
    assert a.evidence.gain.share.value == pytest.approx(found.evidence.gain.share.value, abs=0.01)
    assert a.verdict.grade == found.verdict.grade
