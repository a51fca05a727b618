"""Corrections of predictions that are fitted to find a loss, or a threshold: simple maps.

They only choose what is then proven on other rows, so they need not be good maps: those that people
act on are in `rainproof.recalibration`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit

from rainproof.core.arrays import Floats
from rainproof.core.curve import isotonic
from rainproof.core.distinct import DistinctTable
from rainproof.fits.bins import equal_weight_bins
from rainproof.fits.logistic import NormalPrior, fit_logistic_with_prior

Fit = Callable[[Floats, Floats], Floats]
"""Fits a map to each of several tables of the same predictions, in increasing order.

The tables are weights of shape (tables, 2, predictions), without and with the event. Returned is
what each map makes of the predictions, of shape (tables, predictions); bins can leave [0, 1].
"""

_NEAREST = 1e-6  # log odds are of predictions at least this far from 0 and 1
_AROUND_IDENTITY = NormalPrior(mean=np.array([1.0, 0.0]), precision=1 / 16)  # slope, intercept
_BINS = 32
_PRIOR_ROWS = 4  # rows in each bin that lack nothing


def correct_by_logistic(prob: Floats, weight: Floats) -> Floats:
    """A logistic regression on the log odds, with a weak prior around the identity."""
    log_odds = logit(np.clip(prob, _NEAREST, 1 - _NEAREST))
    columns = np.stack([log_odds, np.ones_like(log_odds)])
    # predictions that no table has would take time and tell nothing
    occupied = weight.any(axis=(0, 1))
    negative = weight[:, 0, occupied]
    positive = weight[:, 1, occupied]
    coefficients = fit_logistic_with_prior(
        columns[:, occupied], negative, positive, _AROUND_IDENTITY
    )
    return np.asarray(expit(coefficients @ columns))


def correct_by_isotonic(prob: Floats, weight: Floats) -> Floats:
    """The isotonic regression, linear between the predictions."""
    corrected = np.empty((len(weight), len(prob)))
    for number, (negative, positive) in enumerate(weight):
        table = DistinctTable(prob, negative, positive).occupied()
        corrected[number] = np.interp(prob, table.prob, isotonic(table))
    return corrected


def correct_by_bins(prob: Floats, weight: Floats) -> Floats:
    """Add in each of 32 bins of equal weight what the predictions there lack, as if some rows more
    lacked nothing.
    """
    corrected = np.empty((len(weight), len(prob)))
    for number, (negative, positive) in enumerate(weight):
        table = DistinctTable(prob, negative, positive).occupied()
        total = table.negative + table.positive
        first = equal_weight_bins(total, _BINS)
        lacking = np.add.reduceat(table.positive - total * table.prob, first)
        shift = lacking / (np.add.reduceat(total, first) + _PRIOR_ROWS)
        edges = table.prob[first[1:]]
        corrected[number] = prob + shift[np.searchsorted(edges, prob, "right")]
    return corrected


FITS: tuple[Fit, ...] = (correct_by_logistic, correct_by_isotonic, correct_by_bins)
