"""The search for m*, and the losses it uses, against plain ones: equal to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
_FINEST = 2**14


def scdl(sample, m, rounding):
    """SCDL_m by way of the rounded sample."""
    return sample.on_grid(m, rounding).worst[0] / sample.total_weight


@given(samples(), st.sampled_from(["soft", "hard"]))
def test_it_finds_the_first_grid_whatever_it_tries(sample, rounding):
    y, p, w = sample
    ours = rainproof.Sample(y, p, sample_weight=w)
    profile = rainproof.measures.soft_binned_profile(ours, rounding=rounding)
    m = 2
    while m < _FINEST and scdl(ours, 2 * m, rounding) < (1 - 1e-12) / m:
        m *= 2
    if m < _FINEST:
        assert profile.m_star == m
        assert profile.value == max(scdl(ours, m, rounding), 1 / m)
    else:
        assert profile.m_star >= m
    for grid in (2, 64, 2**10):
        assert ours.tables.worst(grid, rounding == "soft") == ours.on_grid(grid, rounding).worst


@for_each("n", [100, 1000, 30_000])
@for_each("power", [1.0, 1.02, 1.3, 3.0])
def test_it_needs_few_grids(n, power):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    sample = rainproof.Sample(rng.random(n) < p**power, p)
    rainproof.soft_binned_cdl(sample)
    assert len(sample.tables.losses) <= 4
