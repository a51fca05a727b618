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

Correction = Callable[[Floats], Floats]
"""A map of predictions to probabilities; bins can leave [0, 1]."""
Fit = Callable[[DistinctTable], Correction]
"""Fits a map to distinct predictions in increasing order, with the rows of each outcome."""

_NEAREST = 1e-6  # log odds are of predictions at least this far from 0 and 1
_AROUND_IDENTITY = NormalPrior(mean=np.array([1.0, 0.0]), precision=1 / 16)  # slope, intercept
_BINS = 32
_PRIOR_ROWS = 4  # rows in each bin that lack nothing


def fit_logistic_correction(table: DistinctTable) -> Correction:
    """A logistic regression on the log odds, with a weak prior around the identity."""
    negative = table.negative[np.newaxis]
    positive = table.positive[np.newaxis]
    columns = _log_odds_and_one(table.prob)
    (coefficients,) = fit_logistic_with_prior(columns, negative, positive, _AROUND_IDENTITY)

    def corrected(prob: Floats) -> Floats:
        return np.asarray(expit(coefficients @ _log_odds_and_one(prob)))

    return corrected


def fit_isotonic_correction(table: DistinctTable) -> Correction:
    """The isotonic regression, linear between the predictions."""
    rate = isotonic(table)

    def corrected(prob: Floats) -> Floats:
        return np.interp(prob, table.prob, rate)

    return corrected


def fit_bin_correction(table: DistinctTable) -> Correction:
    """Add in each of 32 bins of equal weight what the predictions there lack, as if some rows more
    lacked nothing.
    """
    total = table.negative + table.positive
    first = equal_weight_bins(total, _BINS)
    weight = np.add.reduceat(total, first)
    lacking = np.add.reduceat(table.positive - total * table.prob, first)
    shift = lacking / (weight + _PRIOR_ROWS)
    edges = table.prob[first[1:]]

    def corrected(prob: Floats) -> Floats:
        return np.asarray(prob + shift[np.searchsorted(edges, prob, "right")])

    return corrected


FITS: tuple[Fit, ...] = (fit_logistic_correction, fit_isotonic_correction, fit_bin_correction)


def _log_odds_and_one(prob: Floats) -> Floats:
    """The columns of the logistic regression."""
    log_odds = logit(np.clip(prob, _NEAREST, 1 - _NEAREST))
    return np.stack([log_odds, np.ones_like(log_odds)])
