"""ECE and cutoff calibration error against their definitions, their closed forms and their
relations.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ece_oracle as oracle
from helpers.cases import for_each
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.measures import (
    calibration_decision_loss,
    cutoff_calibration_error,
    expected_calibration_error,
)

powers = st.integers(1, 20).map(lambda k: 2**k)


@given(samples())
def test_ece_is_its_definition(sample):
    y, p, w = sample
    assert expected_calibration_error(y, p, sample_weight=w) == pytest.approx(
        float(oracle.ece(y, p, w)), abs=1e-14
    )


@given(samples())
def test_cutoff_is_its_definition(sample):
    y, p, w = sample
    assert cutoff_calibration_error(y, p, sample_weight=w) == pytest.approx(
        float(oracle.cutoff(y, p, w)), abs=1e-14
    )


@for_seeds(20)
def test_larger_samples(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 150))
    p = [
        rng.random(n),
        rng.beta(0.2, 0.2, n),
        np.round(rng.random(n), 1),
        rng.integers(0, 33, n) / 32,
    ][seed % 4]
    y = (rng.random(n) < p**2).astype(int)
    w = rng.choice([1.0, 2.0, 0.1, 1e6], n) if seed % 2 else None
    assert expected_calibration_error(y, p, sample_weight=w) == pytest.approx(
        float(oracle.ece(y, p, w)), abs=1e-13
    )
    assert cutoff_calibration_error(y, p, sample_weight=w) == pytest.approx(
        float(oracle.cutoff(y, p, w)), abs=1e-13
    )


def test_by_hand():
    """0.2 comes true once in four, 0.9 twice in two: biases 1 - 0.8 and 2 - 1.8 of six rows."""
    y, p = [0, 0, 0, 1, 1, 1], [0.2, 0.2, 0.2, 0.2, 0.9, 0.9]
    assert expected_calibration_error(y, p) == pytest.approx(0.4 / 6, abs=1e-15)
    assert cutoff_calibration_error(y, p) == pytest.approx(0.4 / 6, abs=1e-15)
    # Biases 3/4, -1/2, -1/4, 1/4 of four rows: the worst range is the first prediction alone, or
    # the next two.
    y, p = [1, 0, 0, 1], [0.25, 0.5, 0.25 + 0.5 - 2**-50, 0.75]
    assert expected_calibration_error(y, p) == pytest.approx(
        (0.75 + 0.5 + 0.75 + 0.25) / 4, abs=1e-14
    )
    assert cutoff_calibration_error(y, p) == pytest.approx((0.5 + 0.75) / 4, abs=1e-14)


def test_ends_of_the_range():
    assert expected_calibration_error([0, 1, 0], [0, 1, 0]) == 0.0
    assert cutoff_calibration_error([0, 1, 0], [0, 1, 0]) == 0.0
    assert expected_calibration_error([0, 1], [1, 0]) == 1.0
    # one range holds both biases, which cancel
    assert cutoff_calibration_error([0, 1], [1, 0]) == 0.5
    assert cutoff_calibration_error([0, 0], [1, 1]) == 1.0


def test_a_hair_makes_ece_jump_but_not_cutoff():
    y = np.array([0, 1] * 500)
    apart = np.where(y == 1, 0.5, 0.5 - 1e-12)
    assert expected_calibration_error(y, np.full(1000, 0.5)) == 0.0
    assert expected_calibration_error(y, apart) == pytest.approx(0.5)
    # Events first, the others a hair above them: no better for cutoffs.
    assert cutoff_calibration_error(y, apart) == pytest.approx(0.25)


@for_each("epsilon", [1e-1, 1e-2, 1e-3, 1e-4])
def test_alternating_biases_of_appendix_b(epsilon):
    """m = floor(eps^(-1/3)) points of weight 3 eps and bias +-1/3 in turn, the rest at p = y = 0:
    cutoff is eps.
    """
    m = int(epsilon ** (-1 / 3))
    i = np.arange(1, m + 1)
    at = 1 / 3 + i / (3 * m)
    q = np.clip(at + (-1.0) ** i / 3, 0, 1)
    p = np.concatenate([[0], at, at])
    y = np.concatenate([[0], np.ones(m), np.zeros(m)])
    w = np.concatenate([[1 - 3 * m * epsilon], 3 * epsilon * q, 3 * epsilon * (1 - q)])
    assert cutoff_calibration_error(y, p, sample_weight=w) == pytest.approx(epsilon, rel=1e-12)
    assert expected_calibration_error(y, p, sample_weight=w) == pytest.approx(
        m * epsilon, rel=1e-12
    )


@given(samples())
def test_relations(sample):
    """|E[y - p]| <= cutoff <= ECE <= E|y - p|."""
    y, p, w = sample
    ece, cutoff = (
        f(y, p, sample_weight=w) for f in (expected_calibration_error, cutoff_calibration_error)
    )
    assert abs(np.average(y - p, weights=w)) <= cutoff + 1e-14
    assert cutoff <= ece + 1e-14
    assert ece <= np.average(np.abs(y - p), weights=w) + 1e-14


@given(samples())
def test_what_they_promise(sample):
    """CDL is at most 2 ECE, and against monotone swaps at most 2 cutoff."""
    y, p, w = sample
    everything, monotone = (
        calibration_decision_loss(y, p, sample_weight=w, swaps=swaps)
        for swaps in ("all", "monotone")
    )
    assert everything <= 2 * expected_calibration_error(y, p, sample_weight=w) + 1e-12
    assert monotone <= 2 * cutoff_calibration_error(y, p, sample_weight=w) + 1e-12


def cell_weights(p, w, m):
    """The share of the weight in each occupied cell."""
    w = np.ones(len(p)) if w is None else w
    share = np.bincount(np.unique(np.floor(p * m), return_inverse=True)[1], w)
    return share / w.sum()


@given(samples(), powers)
def test_compression(sample, m):
    y, p, w = sample
    whole = rainproof.Sample(y, p, sample_weight=w)
    small = whole.compress(m)
    fallen = expected_calibration_error(whole) - expected_calibration_error(small)
    assert fallen >= -1e-14
    kept = p if w is None else p[w > 0]
    if len(np.unique(kept)) == len(np.unique(np.floor(kept * m))):
        assert fallen == pytest.approx(0, abs=1e-14)
    fallen = cutoff_calibration_error(whole) - cutoff_calibration_error(small)
    assert -1e-14 <= fallen <= (1 + 1 / m) / 2 * cell_weights(p, w, m).max() + 1e-14


def test_the_bound_for_compression_is_reached():
    """Half events, then the others, in one cell around 1/2: nothing is left of a cutoff error of a
    quarter.
    """
    m = 1 << 20
    y, p = [1, 0], [0.5 + 0.1 / m, 0.5 + 0.9 / m]
    sample = rainproof.Sample(y, p)
    assert cutoff_calibration_error(sample) == pytest.approx(0.25, abs=1 / m)
    assert cutoff_calibration_error(sample.compress(m)) <= 1 / m
    # Events first in one cell, last in another: both ends of the range are lost, and a quarter of
    # each cell.
    y, p = [1, 0, 0, 1], [0.5 + 0.1 / m, 0.5 + 0.9 / m, 0.5 + 2.1 / m, 0.5 + 2.9 / m]
    sample = rainproof.Sample(y, p)
    assert cutoff_calibration_error(sample) - cutoff_calibration_error(
        sample.compress(m)
    ) == pytest.approx(0.5 * 0.5, abs=4 / m)
