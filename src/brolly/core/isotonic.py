"""The best forecast that keeps the order of the predictions: isotonic regression of outcomes on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brolly.core._isotonic import pool_violators
from brolly.core.arrays import Floats
from brolly.core.sample.distinct import DistinctTable

_ABOVE_0 = np.nextafter(0.0, 1.0)
_BELOW_1 = np.nextafter(1.0, 0.0)


def isotonic(table: DistinctTable) -> Floats:
    r"""What each distinct prediction should have been, by a rule that never reverses two of them.

    The non-decreasing :math:`h` with the smallest :math:`E (h(p) - y)^2`. The same :math:`h` is best for
    every proper score and for every threshold at once.

    Parameters
    ----------
    table : DistinctTable
        Distinct predictions in increasing order, with their weight by outcome.

    Returns
    -------
    ndarray of shape (k,)
        :math:`h` at each entry of the table: non-decreasing, 0 only where no row of the block is an
        event and 1 only where all are, however lopsided the weights.

    Notes
    -----
    O(k) by pooling adjacent violators. It is its own kernel rather than SciPy's, so that NumPy stays
    the only dependency, and so that sums by outcome are pooled, not means: counts stay whole numbers,
    and a weight of the rarer outcome too small to show in the mean is not lost.

    References
    ----------
    Ayer, Brunk, Ewing, Reid, Silverman (1955), doi:10.1214/aoms/1177728423 (the algorithm).
    Brümmer, du Preez (2013), arXiv:1304.2331 (one solution for all proper scores).
    """
    blocks, size = _blocks(table)
    return np.repeat(blocks.prob, size)


def recalibrated(table: DistinctTable) -> DistinctTable:
    """The same rows with `isotonic` for their predictions: an entry for each distinct value of it."""
    return _blocks(table)[0]


def merged(table: DistinctTable) -> DistinctTable:
    """The same rows with the overall frequency of the event for their only prediction."""
    return _with_frequencies(table.negative.sum(keepdims=True), table.positive.sum(keepdims=True))


def _blocks(table: DistinctTable) -> tuple[DistinctTable, NDArray[np.int64]]:
    size, negative, positive = pool_violators(table.negative, table.positive)
    return _with_frequencies(negative, positive), size


def _with_frequencies(negative: Floats, positive: Floats) -> DistinctTable:
    """Entries that predict what happens: 0 only without events, 1 only without others.

    A quotient that would round to 0 or 1 although both outcomes are there is moved by one step.
    """
    low, high = np.where(positive > 0, _ABOVE_0, 0.0), np.where(negative > 0, _BELOW_1, 1.0)
    prob = np.clip(positive / (negative + positive), low, high)
    return DistinctTable(prob=prob, negative=negative, positive=positive)
