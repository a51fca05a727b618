"""A policy with a recalibration acts on recalibrated probabilities."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers.cases import for_each
from numpy.testing import assert_array_equal

import rainproof

MAP = rainproof.recalibration.PiecewiseMap.from_ends(
    np.array([0, 0.3, 1]), np.array([0.1, 0.7]), np.array([0.6, 0.5])
)


@for_each("rounding", ["soft", "hard"])
def test_a_recalibration_comes_first(rounding):
    task = rainproof.DecisionTask.from_payoffs([[10, -50], [4, 0.1], [-20, 1 / 3]])
    plain = rainproof.RoundingPolicy(task, 16, rounding=rounding, seed=3)
    policy = rainproof.RoundingPolicy(task, 16, rounding=rounding, seed=3, recalibration=MAP)
    p, ids = np.linspace(0, 1, 501), np.arange(501)
    for method in ("round", "decide", "decide_index"):
        assert_array_equal(
            getattr(policy, method)(p, ids), getattr(plain, method)(MAP(p), ids), strict=True
        )
    assert_array_equal(policy.probabilities(p), plain.probabilities(MAP(p)), strict=True)
    assert policy != plain
    assert repr(policy) == repr(plain)[:-1] + ", recalibration=...)"
    assert "Probabilities are recalibrated, then rounded " in str(policy)
    assert pickle.loads(pickle.dumps(policy)) == policy
    for method in (policy.probabilities, lambda p: policy.round(p, [1, 2])):
        with pytest.raises(
            rainproof.InputError, match=r"p must lie in \[0, 1\]; 1 value does not, the first"
        ):
            method([0.5, 1.5])
    with pytest.raises(
        rainproof.InputError, match="recalibration must be a PiecewiseMap; it is str"
    ):
        rainproof.RoundingPolicy(task, 16, recalibration="map.json")


def test_the_grid_is_chosen_for_recalibrated_predictions():
    rng = np.random.default_rng(0)
    p, half = (
        rng.random(3000),
        rainproof.recalibration.PiecewiseMap.steps(np.zeros(0), np.array([0.5])),
    )
    y = rng.random(3000) < 0.5
    task = rainproof.DecisionTask.threshold(0.3)
    expected = rainproof.choose_grid(y, half(p)).grid
    assert expected != rainproof.choose_grid(y, p).grid
    sample = rainproof.Sample(y, p)
    for rows in (sample, sample.compress()):
        assert rainproof.RoundingPolicy(task, sample=rows, recalibration=half).grid == expected
