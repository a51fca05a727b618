"""Bins of equal width and of equal weight."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rainproof.core.distinct import DistinctTable
from rainproof.fits.bins import equal_weight_bins, equal_weight_edges, equal_width_edges

weights = st.lists(st.integers(1, 9), min_size=1, max_size=40)


def table(weight):
    """Distinct predictions of these weights, all without the event."""
    n = len(weight)
    prob = (np.arange(n) + 1) / (n + 1)
    return DistinctTable(prob, np.array(weight, float), np.zeros(n))


def test_edges_of_equal_width_are_the_doubles_nearest_to_the_fractions():
    for n_bins in (1, 2, 3, 10, 49):
        exact = [float(Fraction(k, n_bins)) for k in range(n_bins + 1)]
        assert_array_equal(equal_width_edges(n_bins), exact)


def test_edges_of_equal_weight_are_quantiles():
    """The smallest prediction with at least so much weight at or below it, also by rounded sums."""
    assert_array_equal(equal_weight_edges(table([1, 1, 1, 1]), 2), [2 / 5])
    assert_array_equal(equal_weight_edges(table([1, 1, 1, 1, 1]), 2), [3 / 6])
    assert_array_equal(equal_weight_edges(table([9, 1]), 3), [1 / 3, 1 / 3])
    assert_array_equal(equal_weight_edges(table([0.1] * 30), 3), [10 / 31, 20 / 31])
    assert_array_equal(equal_weight_edges(table([2, 3]), 1), [])


@given(weights, st.integers(1, 50))
def test_an_entry_is_in_the_bin_of_the_middle_of_its_weight(weight, n_bins):
    first = equal_weight_bins(np.array(weight, float), n_bins)
    found = np.searchsorted(first, np.arange(len(weight)), "right") - 1
    middle = np.cumsum(weight) - np.array(weight) / 2
    total = sum(weight)
    bins = [Fraction(m) * n_bins // total for m in middle]
    ranks = np.unique(bins, return_inverse=True)[1]  # bins without an entry are left out
    on_an_edge = any(Fraction(m) * n_bins % total == 0 for m in middle)
    if not on_an_edge:  # which rounding may move to either side
        assert_array_equal(found, ranks)
    assert first[0] == 0
    assert (np.diff(first) > 0).all()


def test_bins_of_entries_of_equal_weight_have_as_many():
    for n, n_bins in ((32, 8), (3000, 10), (7, 7)):
        first = equal_weight_bins(np.ones(n), n_bins)
        assert_array_equal(first, np.arange(n_bins) * n // n_bins)


def test_there_are_no_more_bins_than_entries():
    assert_array_equal(equal_weight_bins(np.ones(3), 100), [0, 1, 2])
    assert_array_equal(equal_weight_bins(np.array([1e9, 1.0]), 100), [0, 1])
    assert_array_equal(equal_weight_bins(np.array([5.0]), 8), [0])
