"""What the user's own decision costs: each rule by its definition; what was fitted is judged on other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers.interval_oracle import slow_interval
from scipy.stats import t as student

import rainproof
from rainproof.assessment.costs import LABELS, Rule, TaskResult
from rainproof.recalibration.methods import IDENTITY
from rainproof.recalibration.selection import Division, divide, read_rows

TASK = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)


@dataclass(frozen=True)
class Parts:
    """Rows in parts, and the map that was fitted to some of them."""

    division: Division
    map: rainproof.recalibration.PiecewiseMap

    @property
    def held(self):
        return self.division.held_out[0]


def split(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = rng.random(n) < p**2
    return fitted(rainproof.Sample(y, p), seed)


def fitted(sample, seed=0):
    r = rainproof.Recalibrator("logistic", rng=seed)
    return sample, Parts(r._fit(sample, hold_out=True), r.map_)


def cost_of(act, y):
    return np.where(act, ~y * 1.0, y * 9.0)


def result(sample, parts, task=TASK):
    division, pieces = (None, IDENTITY) if parts is None else (parts.division, parts.map)
    return TaskResult.of(sample, task, 8, division, pieces, 0.95)


def test_every_rule_costs_what_it_says():
    """All on all rows; the map and the cut-off on the rows held out, by regression on the cost of the forecast."""
    sample, parts = split()
    found = result(sample, parts)
    assert (found.n, found.n_held_out) == (400, 100)
    p, y = sample.y_prob, sample.y_true == 1
    simple = {"cost": p >= 0.1, "cost_always": p >= 0, "cost_never": p > 1, "cost_perfect": y}
    for name, act in simple.items():
        assert getattr(found, name).value == pytest.approx(cost_of(act, y).mean()), name
    q, z = parts.held.prob, parts.held.event
    now, old = cost_of(p >= 0.1, y), cost_of(q >= 0.1, z)
    for name, act in {"cost_recalibrated": parts.map(q) >= 0.1, "cost_best_cutoff": q >= found.best_threshold}.items():
        slope = np.clip(np.polyfit(old, cost_of(act, z), 1)[0], 0, 1)
        got, rest = getattr(found, name), cost_of(act, z) - slope * old
        assert got.value == pytest.approx(slope * now.mean() + rest.mean()), name
        added = slope * (now - now.mean()) / 400
        added[[int(np.flatnonzero(p == one)[0]) for one in q]] += (rest - rest.mean()) / 100
        second, third = (
            (added**2).sum() + 9**2 / 100**2,
            (added**3).sum(),
        )  # with half a case that costs 9 more, or less
        shift = student.ppf(0.975, 99) ** 2 * third / second / 2
        half = np.sqrt(shift**2 + student.ppf(0.975, 99) ** 2 * second)
        expected = max(got.value + shift - half, 0), got.value + shift + half
        assert (got.low, got.high) == pytest.approx(expected, rel=0.02, abs=0.01), name
    assert list(found.costs) == list(Rule)
    for rule, got in found.costs.items():
        assert got.confidence_level == 0.95
        assert 0 <= got.low <= got.value < got.high or rule is Rule.PERFECT
    assert (found.cost_perfect.value, found.cost_perfect.high) == (0, 0)  # the right action costs nothing
    assert found.cost_always.high <= 1  # no case costs more
    told = found.to_dict()
    assert [told["costs"][rule] for rule in Rule] == [
        told[f"cost{rest}"] for rest in ("", "_recalibrated", "_best_cutoff", "_always", "_never", "_perfect")
    ]
    assert found.errors == (1, 9)


def test_savings_are_differences_with_intervals_that_hold_together():
    sample, parts = split()
    found = result(sample, parts)
    p, y, q, z = sample.y_prob, sample.y_true == 1, parts.held.prob, parts.held.event
    rules = {
        "recalibrated": cost_of(q >= 0.1, z) - cost_of(parts.map(q) >= 0.1, z),
        "always": cost_of(p >= 0.1, y) - cost_of(p >= 0, y),
        "never": cost_of(p >= 0.1, y) - cost_of(p > 1, y),
    }
    for name, saved in rules.items():
        got = found.saved[Rule(name)]
        assert got.confidence_level == pytest.approx(1 - 0.05 / 3)
        expected = slow_interval(saved, -9.0, 9.0, confidence_level=1 - 0.05 / 3)
        assert (got.value, got.low, got.high) == pytest.approx(expected)
        assert found.to_dict()["saved"][name] == got.to_dict()
    assert Rule.AS_IS not in found.saved
    assert found.simplest is (Rule.NEVER if cost_of(p > 1, y).mean() < cost_of(p >= 0, y).mean() else Rule.ALWAYS)
    saved = cost_of(q > 1 if found.simplest is Rule.NEVER else q >= 0, z) - cost_of(parts.map(q) >= 0.1, z)
    got = found.saved_over_simple
    expected = slow_interval(saved, -9.0, 9.0, confidence_level=1 - 0.05 / 2)
    assert (got.value, got.low, got.high) == pytest.approx(expected)
    assert found.to_dict()["saved_over_simple"] == got.to_dict()


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
    where = f"{LABELS[Rule.CUTOFF]} (act from {found.best_threshold:.3g} on)"
    assert names == [where if rule is Rule.CUTOFF else LABELS[rule] for rule in Rule]
    cost = found.cost
    assert lines[2].split()[4:] == [f"{cost.value:.4g}", f"({cost.low:.4g}", "to", f"{cost.high:.4g})"]
    assert str(replace(found, best_threshold=2.0)).splitlines()[4].startswith("Best cut-off (never act) ")
    quadratic = result(rainproof.Sample([0, 1], [0.1, 0.9]), None, rainproof.DecisionTask.quadratic())
    assert str(quadratic).startswith("The action is a number")


def test_the_cutoff_is_the_best_on_the_rows_that_the_map_was_fitted_to():
    _, parts = split()
    prob, (negative, positive) = parts.division.prob, parts.division.weight.sum(axis=0)
    cost = [negative[prob >= c].sum() + 9 * positive[prob < c].sum() for c in [*prob, 2.0]]
    found = result(rainproof.Sample([0, 1], [0.1, 0.9]), parts)
    assert found.best_threshold == [*prob, 2.0][int(np.argmin(cost))]


def test_groups_make_the_intervals_wider():
    rng = np.random.default_rng(0)
    p = np.repeat(rng.random(200), 5)
    y = np.repeat(rng.random(200) < p[::5], 5)
    narrow, wide = (result(*fitted(rainproof.Sample(y, p, groups=groups))) for groups in (None, np.arange(1000) // 5))
    for name in ("cost", "cost_recalibrated"):
        (low, high), (lowest, highest) = ((getattr(x, name).low, getattr(x, name).high) for x in (narrow, wide))
        assert highest - lowest > 1.5 * (high - low), name


def test_a_compressed_sample_costs_what_its_rows_cost():
    rng = np.random.default_rng(1)
    p = rng.integers(0, 256, 2000) / 256
    sample = rainproof.Sample(rng.random(2000) < p, p).compress(256)
    division, _ = divide(read_rows(sample, None, None, None, None, None), rng)
    held = division.held_out[0]
    found = result(sample, Parts(division, rainproof.recalibration.PiecewiseMap.steps(np.zeros(0), np.array([1.0]))))
    rows = sample._floor()
    y, q = np.repeat(rows.event, rows.counts), np.repeat(rows.prob, rows.counts)
    cost = cost_of(q >= 0.1, y)
    assert found.cost.value == pytest.approx(cost.mean())
    error = cost.std(ddof=1) / np.sqrt(len(cost))
    half = (found.cost.high - found.cost.low) / 2
    assert half == pytest.approx(1.961 * np.hypot(error, 9 / len(cost)), rel=0.01)
    z, r = np.repeat(held.event, held.counts), np.repeat(held.prob, held.counts)
    old, new = cost_of(r >= 0.1, z), 1.0 - z  # the map says 1: always act
    slope = np.clip(np.polyfit(old, new, 1)[0], 0, 1)
    assert found.cost_recalibrated.value == pytest.approx(new.mean() + slope * (cost.mean() - old.mean()))


def test_the_intervals_cover():
    """On 200 samples of a rare event: about 95%, and no interval without width where no event was seen."""
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        y = rng.random(400) < 0.03
        sample = rainproof.Sample(y, np.full(400, 0.03))
        division, _ = divide(read_rows(sample, None, None, None, None, None), rng)
        found = result(
            sample, Parts(division, rainproof.recalibration.PiecewiseMap.steps(np.zeros(0), np.array([0.03])))
        ).cost_never
        assert found.high > found.low
        inside += found.low <= 0.27 <= found.high
    assert inside >= 180


def test_there_are_no_costs_without_actions_or_rows():
    sample, parts = split()
    assert result(sample, parts, rainproof.DecisionTask.quadratic()).cost is None
    uneven = rainproof.Sample(sample.y_true, sample.y_prob, sample_weight=1 + sample.y_prob).compress()
    assert result(uneven, None).cost is None  # its rows cannot be told apart
    undivided = result(sample, None)
    assert undivided.cost == result(sample, parts).cost
    assert (undivided.cost_recalibrated, undivided.n_held_out) == (None, 0)
    three = rainproof.DecisionTask.from_payoffs([[0, -10], [-1, -4], [-5, 0]])
    found = result(sample, parts, three)
    assert (found.best_threshold, found.cost_best_cutoff) == (None, None)
    assert found.cost_recalibrated.value <= max(found.cost_always.value, found.cost_never.value)
