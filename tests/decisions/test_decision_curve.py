"""The decision curve, from its definition: true positives per row, less false positives at the odds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.strategies import samples
from hypothesis import given
from numpy.testing import assert_allclose

import rainproof


@given(samples(max_size=10))
def test_net_benefit_by_definition(sample):
    y, p, w = sample
    weight = np.ones(len(p)) if w is None else np.asarray(w, float)
    y, p = np.asarray(y) == 1, np.asarray(p, float)
    curve = rainproof.regret_curve(y, p, sample_weight=w)
    found = curve.decision_curve([0.0, 0.25, 0.5, 0.9])
    for mu, forecast, best, always in zip(found.threshold, found.forecast, found.best, found.always, strict=True):
        benefit = weight * np.where(y, 1.0, -mu / (1 - mu)) / weight.sum()
        assert forecast == pytest.approx(benefit[p >= mu].sum(), abs=1e-12)
        assert always == pytest.approx(benefit.sum(), abs=1e-12)
        own = sum(max(0.0, benefit[p == value].sum()) for value in set(p.tolist()))
        assert best == pytest.approx(own, abs=1e-12)  # each distinct prediction acts where that pays


def test_thresholds_grid_and_json():
    y, p = [0, 1, 1, 0, 1], [0.1, 0.4, 0.6, 0.7, 0.9]
    found = rainproof.regret_curve(y, p, grid=4).decision_curve()
    assert_allclose(found.threshold, np.arange(100) / 100)
    assert (found.grid, found.n) == (4, 5)
    assert repr(found) == "DecisionCurve(grid=4, n=5)"
    shown = found.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    with pytest.raises(ValueError, match="read-only"):
        found.forecast[0] = 1


@pytest.mark.parametrize("threshold", [[], [1.0], [-0.1], [np.nan]])
def test_thresholds_must_be_below_1(threshold):
    with pytest.raises(rainproof.InputError, match=r"^threshold must be some numbers in \[0, 1\)$"):
        rainproof.regret_curve([0, 1], [0.2, 0.8]).decision_curve(threshold)
