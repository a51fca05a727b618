"""Isotonic regression against its definition, in exact fractions."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.isotonic_oracle import best_partition, max_min
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given
from numpy.testing import assert_array_equal

import rainproof
from rainproof.core.curve import isotonic, merged, recalibrated
from rainproof.core.distinct import DistinctTable


def table(negative, positive):
    size = len(negative)
    return DistinctTable(
        prob=np.arange(1, size + 1) / (size + 1),
        negative=np.array(negative, float),
        positive=np.array(positive, float),
    )


# --- the definition -----------------------------------------------------------------------------


@for_seeds(300)
def test_isotonic_is_the_best_of_all_partitions(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 8))
    negative, positive = rng.integers(0, 4, (2, size)).astype(float)
    negative[(negative == 0) & (positive == 0)] = 1
    if seed % 2:
        negative, positive = (
            negative * rng.choice([0.1, 1, 7.5], size),
            positive * rng.choice([0.1, 1, 1e3], size),
        )
    expected = best_partition(negative, positive)
    assert expected == max_min(negative, positive)  # the oracles agree with each other
    np.testing.assert_allclose(
        isotonic(table(negative, positive)), np.array(expected, float), rtol=1e-14
    )


@given(samples())
def test_isotonic_is_the_formula_on_awkward_samples(sample):
    y, p, w = sample
    entries = rainproof.Sample(y, p, sample_weight=w).distinct()
    expected = [float(h) for h in max_min(entries.negative, entries.positive)]
    np.testing.assert_allclose(isotonic(entries), expected, rtol=1e-14)


def test_by_hand():
    """Frequencies 1/4, 1, 1/3, 0, 1: the middle three have 3 events in 9, the last stands alone."""
    entries = table([3, 0, 4, 2, 0], [1, 1, 2, 0, 5])
    assert_array_equal(isotonic(entries), [1 / 4, 1 / 3, 1 / 3, 1 / 3, 1])


# --- properties ---------------------------------------------------------------------------------


@given(samples())
def test_the_fit_never_falls_and_is_sure_only_where_all_outcomes_agree(sample):
    y, p, w = sample
    entries = rainproof.Sample(y, p, sample_weight=w).distinct()
    fit, fitted, constant = isotonic(entries), recalibrated(entries), merged(entries)
    assert (np.diff(fit) >= 0).all()
    assert not entries.positive[fit == 0].any()
    assert not entries.negative[fit == 1].any()
    assert_array_equal(fitted.prob, np.unique(fit))
    assert_array_equal(isotonic(fitted), fitted.prob)  # a second fit changes nothing
    assert len(constant.prob) == 1
    for other in (fitted, constant):  # the same rows
        assert other.negative.sum() == pytest.approx(entries.negative.sum(), rel=1e-15)
        assert other.positive.sum() == pytest.approx(entries.positive.sum(), rel=1e-15)


def test_frequencies_that_rise_stay_and_ones_that_fall_become_their_mean():
    size = 50_000
    count = np.arange(size) + 1.0
    assert_array_equal(isotonic(table(size + 1 - count, count)), count / (size + 1))
    assert_array_equal(isotonic(table(count, size + 1 - count)), np.full(size, 0.5))


@for_each("negative, positive", [(1e-20, 1.0), (1.0, 1e-20), (1e-320, 1e120), (1e140, 1e-320)])
def test_an_outcome_too_light_to_show_in_the_mean_is_not_forgotten(negative, positive):
    (fit,) = isotonic(table([negative], [positive]))
    assert 0 < fit < 1
    assert fit == pytest.approx(1.0 if positive > negative else 0.0, abs=1e-15)
