"""The weights of rounding to a grid, against hats in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.strategies import probabilities
from hypothesis import given
from hypothesis import strategies as st

from rainproof.core.cells import split, sum_on_grid


@given(st.lists(probabilities, min_size=1, max_size=9), st.sampled_from([2, 8, 64]))
def test_soft_weights_are_hats(asked, m):
    cell, up = split(np.array(asked), m)
    pi = sum_on_grid(cell, 1 - up, up, m)
    hats = [
        sum(max(1 - abs(m * Fraction(p) - j), Fraction(0)) for p in asked) for j in range(m + 1)
    ]
    np.testing.assert_allclose(pi, np.array(hats, float), atol=1e-14)


def test_hard_rounding_goes_down():
    cell, up = split(np.array([0.0, 0.49, 0.5, 1.0]), 2, soft=False)
    assert cell.tolist() == [0, 0, 1, 2]
    assert not up.any()


def test_the_mean_is_kept_and_one_is_not_rounded_up():
    p = np.array([0.0, 0.3, 0.77, 1.0])
    cell, up = split(p, 4)
    assert (cell[-1], up[-1]) == (4, 0.0)
    assert (cell + up) / 4 == pytest.approx(p, abs=1e-16)
    assert sum_on_grid(cell, 1 - up, up, 4).sum() == pytest.approx(4)
