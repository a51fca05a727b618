"""Isotonic regression of outcomes on predictions: the best recalibration that keeps their order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rainproof.core._isotonic import pool_violators
from rainproof.core.arrays import Floats
from rainproof.core.sample.distinct import DistinctTable

_ABOVE_0 = np.nextafter(0.0, 1.0)
_BELOW_1 = np.nextafter(1.0, 0.0)


def isotonic(table: DistinctTable) -> Floats:
    r"""Compute the isotonic regression of the outcome on the prediction.

    It is the non-decreasing :math:`h` with the smallest :math:`E (h(p) - y)^2`. The same :math:`h` is optimal
    for every proper score and for every threshold.

    Parameters
    ----------
    table : DistinctTable
        Distinct predictions in increasing order, with their weight by outcome.

    Returns
    -------
    ndarray of shape (k,)
        :math:`h` at each entry of the table: non-decreasing, 0 only in blocks without events and 1 only in
        blocks of events, for any weights.

    Notes
    -----
    O(k) by pooling adjacent violators. Unlike SciPy's, this kernel pools sums by outcome rather than means:
    counts stay integers, and a weight of the rarer outcome that is too small to change the mean is not
    lost. NumPy stays the only dependency.

    References
    ----------
    Ayer, Brunk, Ewing, Reid, Silverman (1955), doi:10.1214/aoms/1177728423 (the algorithm).
    Brümmer, du Preez (2013), arXiv:1304.2331 (one solution for all proper scores).
    """
    blocks, size = _blocks(table)
    return np.repeat(blocks.prob, size)


def recalibrated(table: DistinctTable) -> DistinctTable:
    """Replace the predictions by `isotonic` of them: one entry for each distinct value."""
    return _blocks(table)[0]


def merged(table: DistinctTable) -> DistinctTable:
    """Replace all predictions by the event rate: one entry."""
    return _with_frequencies(table.negative.sum(keepdims=True), table.positive.sum(keepdims=True))


def _blocks(table: DistinctTable) -> tuple[DistinctTable, NDArray[np.int64]]:
    size, negative, positive = pool_violators(table.negative, table.positive)
    return _with_frequencies(negative, positive), size


def _with_frequencies(negative: Floats, positive: Floats) -> DistinctTable:
    """Return entries that predict their own event rate: 0 only without events, 1 only without non-events.

    A quotient that rounds to 0 or 1 although both outcomes occur is moved to the next double.
    """
    low, high = np.where(positive > 0, _ABOVE_0, 0.0), np.where(negative > 0, _BELOW_1, 1.0)
    prob = np.clip(positive / (negative + positive), low, high)
    return DistinctTable(prob=prob, negative=negative, positive=positive)
