"""Bins of a table of predictions: of equal width, or of equal weight.

Here is where bins begin and end. Their sums are NumPy's `add.reduceat`, or those of
`core.distinct`, which bins rows in one pass. What is said of a bin (a rate, an interval, a
correction) is the callers' business, and so are soft bins, which are grids.
"""

from __future__ import annotations

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.core.distinct import DistinctTable

# Share of all weight by which a running sum may be off: 2^11 times the rounding of one addition.
# Ten of thirty rows of weight 0.1 are a third, whatever doubles make of the two sums.
_ROUNDING = 2.0**-42


def equal_width_edges(n_bins: int) -> Floats:
    """Return the edges of bins of equal width, from 0 to 1: the doubles nearest to k/n."""
    return np.arange(n_bins + 1) / n_bins


def equal_weight_edges(table: DistinctTable, n_bins: int) -> Floats:
    """Return the inner edges of bins of nearly equal weight: quantiles of the predictions.

    The k-th one is the smallest prediction with at least a share ``k / n_bins`` of the weight at or
    below it, up to rounding.
    """
    weight_below = np.cumsum(table.negative + table.positive)
    share = np.arange(1, n_bins) / n_bins
    edge = np.searchsorted(weight_below, weight_below[-1] * (share - _ROUNDING))
    return np.asarray(table.prob[edge])


def equal_weight_bins(weight: Floats, n_bins: int) -> Ints:
    """Return the first entry of each bin of nearly equal weight, given the weights of entries.

    An entry is never split: it is in the bin that the middle of its weight lies in, so that heavy
    entries go where most of them is. Bins without an entry are left out.
    """
    middle = np.cumsum(weight) - weight / 2
    weight_below_bin = np.arange(n_bins) * (weight.sum() / n_bins)
    first = np.unique(middle.searchsorted(weight_below_bin))
    return first[first < len(weight)]
