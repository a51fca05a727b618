"""What the user's own decision costs: each rule by its definition, on rows that nothing was fitted to."""

from __future__ import annotations

import numpy as np
import pytest

import brolly
from brolly.assessment.costs import NAMES, Cost, Split, TaskResult
from brolly.recalibration.training import FitRows

TASK = brolly.DecisionTask.from_costs(false_positive=1, false_negative=9)


def split(n=400, seed=0, **options):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = rng.random(n) < p**2
    r = brolly.Recalibrator("logistic", rng=seed).fit(p, y, **options)
    fitted = r._training
    return brolly.Sample(y, p), Split(fitted=fitted, held=fitted.held_out[0], map=r.map_)


def cost_of(act, y):
    return np.where(act, ~y * 1.0, y * 9.0)


def test_every_rule_costs_what_it_says():
    sample, parts = split()
    found = TaskResult.of(sample, TASK, 8, parts, 0.95)
    p, y = parts.held.prob, parts.held.event
    rules = {
        "cost": p >= 0.1,
        "cost_recalibrated": parts.map(p) >= 0.1,
        "cost_best_cutoff": p >= found.best_threshold,
        "cost_always": np.ones(100, bool),
        "cost_never": np.zeros(100, bool),
        "cost_perfect": y,
    }
    assert found.n == 100
    for name in NAMES:
        got = getattr(found, name)
        assert got.mean == pytest.approx(cost_of(rules[name], y).mean()), name
        assert got.low <= got.mean < got.high
        assert got.low >= 0
    assert found.cost_perfect.mean == 0
    assert set(NAMES) < set(found.to_dict())


def test_the_cutoff_is_the_best_on_the_rows_that_the_map_was_fitted_to():
    _, parts = split()
    negative, positive = parts.fitted.weight.sum(axis=0)
    cost = [
        negative[parts.fitted.prob >= c].sum() + 9 * positive[parts.fitted.prob < c].sum()
        for c in [*parts.fitted.prob, 2.0]
    ]
    found = TaskResult.of(brolly.Sample([0, 1], [0.1, 0.9]), TASK, 8, parts, 0.95)
    assert found.best_threshold == [*parts.fitted.prob, 2.0][int(np.argmin(cost))]


def test_groups_make_the_intervals_wider():
    rng = np.random.default_rng(0)
    p = np.repeat(rng.random(200), 5)
    y = np.repeat(rng.random(200) < p[::5], 5)
    narrow, wide = (
        TaskResult.of(
            brolly.Sample(y, p), TASK, 8, Split(fitted=r._training, held=r._training.held_out[0], map=r.map_), 0.95
        )
        for r in (
            brolly.Recalibrator("logistic", rng=0).fit(p, y),
            brolly.Recalibrator("logistic", rng=0).fit(p, y, groups=np.arange(1000) // 5),
        )
    )
    assert wide.cost.high - wide.cost.low > 1.5 * (narrow.cost.high - narrow.cost.low)


def test_a_compressed_sample_costs_what_its_rows_cost():
    rng = np.random.default_rng(1)
    p = rng.integers(0, 256, 2000) / 256
    sample = brolly.Sample(rng.random(2000) < p, p)
    fitted, _ = FitRows.read(sample.compress(256), None, None, None, None, None).split(rng)
    held = fitted.held_out[0]
    found = TaskResult.of(
        sample, TASK, 8, Split(fitted=fitted, held=held, map=brolly.Recalibrator("none").fit(sample).map_), 0.95
    )
    y, q = np.repeat(held.event, held.counts), np.repeat(held.prob, held.counts)
    cost = cost_of(q >= 0.1, y)
    assert found.cost.mean == pytest.approx(cost.mean())
    error = cost.std(ddof=1) / np.sqrt(len(cost))
    assert (found.cost.high - found.cost.low) / 2 == pytest.approx(1.965 * np.hypot(error, 9 / len(cost)), rel=0.03)


def test_the_intervals_cover():
    """On 200 samples of a rare event: about 95%, and no interval without width where no event was seen."""
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        y = rng.random(400) < 0.03
        sample = brolly.Sample(y, np.full(400, 0.03))
        fitted, _ = FitRows.read(np.full(400, 0.03), y, None, None, None, None).split(rng)
        parts = Split(
            fitted=fitted, held=fitted.held_out[0], map=brolly.PiecewiseMap.steps(np.zeros(0), np.array([0.03]))
        )
        found = TaskResult.of(sample, TASK, 8, parts, 0.95).cost_never
        assert found.high > found.low
        inside += found.low <= 0.27 <= found.high
    assert inside >= 180


def test_there_are_no_costs_without_actions_or_rows():
    sample, parts = split()
    assert TaskResult.of(sample, brolly.DecisionTask.quadratic(), 8, parts, 0.95).cost is None
    assert TaskResult.of(sample, TASK, 8, None, 0.95).cost is None
    three = brolly.DecisionTask.from_payoffs([[0, -10], [-1, -4], [-5, 0]])
    found = TaskResult.of(sample, three, 8, parts, 0.95)
    assert (found.best_threshold, found.cost_best_cutoff) == (None, None)
    assert found.cost_recalibrated.mean <= max(found.cost_always.mean, found.cost_never.mean)
    assert Cost(mean=1.0, low=0.5, high=1.5).to_dict() == {"mean": 1.0, "low": 0.5, "high": 1.5}
