"""A map applied to a sample: exactly for rows, cell by cell for a compressed one."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.piecewise import PiecewiseMap

RNG = np.random.default_rng(0)
P, Y, W = RNG.random(2000), RNG.integers(0, 2, 2000), RNG.random(2000)
P[:3] = 0.0, 1.0, 0.5
LINE = PiecewiseMap.from_ends(np.array([0.0, 1.0]), np.array([1.0]), np.array([0.25]))


@for_each("weight", [None, W])
def test_rows_and_cells(weight):
    sample = rainproof.Sample(Y, P, sample_weight=weight)
    rows = sample.map(LINE)
    np.testing.assert_array_equal(rows.y_prob, LINE(P))
    expected = rainproof.Sample(Y, LINE(P), sample_weight=weight)
    assert rainproof.measures.brier_score(rows) == rainproof.measures.brier_score(expected)
    cells = sample.compress(1 << 16).map(LINE)
    assert (cells.n, cells.grid) == (2000, 1 << 16)
    assert cells.event_rate == pytest.approx(expected.event_rate)
    assert cells.effective_n == pytest.approx(expected.effective_n)
    found, wanted = (
        rainproof.measures.soft_binned_profile(rows).value for rows in (cells, expected)
    )
    # rows of a cell are pooled, so none moves by more
    assert found == pytest.approx(wanted, abs=2**-16)


def test_the_ends():
    whole = PiecewiseMap.steps(np.array([0.5]), np.array([0.0, 1.0]))
    found = rainproof.Sample([0, 1, 1, 0], [0.1, 0.9, 0.2, 1.0]).compress(4).map(whole)
    assert sorted(zip(found.y_prob.tolist(), found.y_true.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
