"""The parts: histogram, rows, the user's own task."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given
from numpy.testing import assert_allclose

import rainproof
from rainproof.verdict.costs import TaskResult
from rainproof.verdict.summaries import DataSummary, Estimate, Histogram


@given(samples(max_size=15))
def test_the_histogram_is_numpys(sample):
    y, p, w = sample
    s = rainproof.Sample(y, p, sample_weight=w)
    weights = np.ones(len(p)) if w is None else w
    for part in (s, s.compress(256)):
        found = Histogram.of(part)
        total, _ = np.histogram(p, found.edges, weights=weights)
        events, _ = np.histogram(p, found.edges, weights=weights * (np.asarray(y) == 1))
        assert_allclose(found.share, total / weights.sum(), atol=1e-12)
        assert_allclose(found.share_events, events / weights.sum(), atol=1e-12)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_the_histogram_of_a_coarse_compression_has_fewer_bars():
    assert len(Histogram.of(rainproof.Sample([0, 1], [0.2, 0.8]).compress(16)).share) == 16


@for_each("weight, weighted", [(None, False), ([1.0, 1.0, 1.0], True), ([1.0, 2.0, 1.0], True)])
def test_rows_tell_weights(weight, weighted):
    sample = rainproof.Sample([0, 1, 1], [0.2, 0.8, 0.9], sample_weight=weight)
    rows = DataSummary.of(sample)
    assert (rows.n, rows.weighted, rows.compressed) == (3, weighted, None)
    assert rows.events == pytest.approx(sample.event_rate * sample.total_weight)
    again = DataSummary.of(sample.compress(8))
    assert (again.n, again.compressed) == (3, 8)
    assert again.weighted == (weight == [1.0, 2.0, 1.0])


def test_a_task_is_measured_as_acted_on():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    sample = rainproof.Sample(rng.random(500) < 0.5 + (p - 0.5) / 4, p)
    task = rainproof.DecisionTask.from_costs(
        false_positive=10, false_negative=40, actions=("wait", "treat")
    )
    found = TaskResult.of(sample, task, 8, None, 0.95)
    assert found.regret == rainproof.swap_regret(sample, task=task)
    shown = found.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    assert shown["grid"] == 8
    assert shown["task"]["thresholds"] == [0.2]
    assert shown["regret"]["swaps"][0]["action"] == "wait"


def test_infinity_is_no_json():
    measure = rainproof.list_measures()["log_score"]
    shown = Estimate.of(measure, np.inf).to_dict()
    assert (shown["value"], shown["range"]) == (None, [0, None])
    assert shown["score"]
