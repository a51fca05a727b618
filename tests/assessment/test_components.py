"""The parts: histogram, rows, the user's own task."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.strategies import samples
from hypothesis import given
from numpy.testing import assert_allclose

import brolly
from brolly.assessment.components import DataSummary, Estimate, Histogram, TaskResult


@given(samples(max_size=15))
def test_the_histogram_is_numpys(sample):
    y, p, w = sample
    s = brolly.Sample(y, p, sample_weight=w)
    weights = np.ones(len(p)) if w is None else w
    for part in (s, s.compress(256)):
        found = Histogram.of(part)
        total, _ = np.histogram(p, found.edges, weights=weights)
        events, _ = np.histogram(p, found.edges, weights=weights * (np.asarray(y) == 1))
        assert_allclose(found.share, total / weights.sum(), atol=1e-12)
        assert_allclose(found.share_events, events / weights.sum(), atol=1e-12)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_the_histogram_of_a_coarse_compression_has_fewer_bars():
    assert len(Histogram.of(brolly.Sample([0, 1], [0.2, 0.8]).compress(16)).share) == 16


@pytest.mark.parametrize(("weight", "weighted"), [(None, False), ([1.0, 1.0, 1.0], True), ([1.0, 2.0, 1.0], True)])
def test_rows_tell_weights(weight, weighted):
    sample = brolly.Sample([0, 1, 1], [0.2, 0.8, 0.9], sample_weight=weight)
    rows = DataSummary.of(sample)
    assert (rows.n, rows.weighted, rows.compressed) == (3, weighted, None)
    assert rows.events == pytest.approx(sample.event_rate * sample.total_weight)
    again = DataSummary.of(sample.compress(8))
    assert (again.n, again.compressed) == (3, 8)
    assert again.weighted == (weight == [1.0, 2.0, 1.0])


def test_a_task_is_measured_as_acted_on_and_as_rounded():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    sample = brolly.Sample(rng.random(500) < 0.5 + (p - 0.5) / 4, p)
    task = brolly.DecisionTask.from_costs(false_positive=10, false_negative=40, actions=("wait", "treat"))
    found = TaskResult.of(sample, task, 8)
    assert found.regret == brolly.swap_regret(sample, task=task)
    assert found.rounded == brolly.swap_regret(sample, task=task, response=brolly.RoundingPolicy(task, 8))
    shown = found.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    assert shown["rounded"] == {"grid": 8, "value": found.rounded.value, "in_units": found.rounded.in_units}
    assert shown["thresholds"] == [0.2]
    assert shown["swaps"][0]["action"] == "wait"


def test_a_quadratic_task_has_no_rounding_of_its_own():
    found = TaskResult.of(brolly.Sample([0, 1, 1], [0.5, 0.5, 0.5]), brolly.DecisionTask.quadratic(), 8)
    assert found.rounded is found.regret
    assert found.to_dict()["value"] == pytest.approx(1 / 36)


def test_infinity_is_no_json():
    measure = brolly.list_measures()["log_score"]
    shown = Estimate(measure=measure, value=np.inf, low=0.1, high=np.inf).to_dict()
    assert (shown["value"], shown["low"], shown["high"], shown["range"]) == (None, 0.1, None, [0, None])
    assert shown["score"]
