"""Risk and coverage, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.strategies import samples
from hypothesis import given

import rainproof


@given(samples())
def test_risk_and_coverage_from_the_definition(sample):
    y, p, w = (None if part is None else np.asarray(part, float) for part in sample)
    curve = rainproof.decisions.risk_coverage(y, p, sample_weight=w)
    weight = np.ones(len(p)) if w is None else w
    p, y, weight = (part[weight > 0] for part in (p, y, weight))
    thresholds = sorted(set(p.tolist()), reverse=True)
    coverage = [weight[p >= t].sum() / weight.sum() for t in thresholds]
    risk = [(weight * (1 - y))[p >= t].sum() / weight[p >= t].sum() for t in thresholds]
    steps = np.diff([0.0, *coverage])
    np.testing.assert_allclose(curve.threshold, thresholds, rtol=1e-6)
    np.testing.assert_allclose(curve.coverage, coverage, atol=1e-9)
    np.testing.assert_allclose(curve.risk, risk, atol=1e-9)
    assert curve.area == pytest.approx(float(steps @ risk), abs=1e-9)


def test_confidence_that_orders_the_answers_has_a_smaller_area():
    y = np.array([1, 1, 1, 0, 0])
    good, bad = (
        rainproof.decisions.risk_coverage(y, [0.9, 0.8, 0.7, 0.6, 0.5]),
        rainproof.decisions.risk_coverage(y, [0.5, 0.6, 0.7, 0.8, 0.9]),
    )
    same = rainproof.decisions.risk_coverage(y, [0.6] * 5)
    assert good.area == pytest.approx((0 + 0 + 0 + 1 / 4 + 2 / 5) / 5)
    assert same.area == pytest.approx(0.4)
    assert good.area < same.area < bad.area
    assert repr(same) == "RiskCoverage(area=0.4, n=5)"
    assert good.to_dict()["result"] == "risk_coverage"
    assert rainproof.decisions.risk_coverage(["r", "w"], [0.9, 0.1], pos_label="r").area == 0.25


def test_abstaining_is_a_task():
    task = rainproof.DecisionTask.from_costs(
        false_positive=3, false_negative=1, actions=["abstain", "answer"]
    )
    assert task.thresholds == (0.75,)
    assert task.best_response([0.7, 0.75]).tolist() == ["abstain", "answer"]
