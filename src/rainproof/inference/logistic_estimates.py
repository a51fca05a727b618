"""The intercept and slope of a logistic recalibration, with intervals: too high or too low, too
extreme or not extreme enough.

The fit is that of `rainproof.fits.logistic`; how influence makes an interval is in
`rainproof.inference.estimates`. Recalibration itself fits maps of its own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from rainproof.core.arrays import Floats
from rainproof.core.result import Interval
from rainproof.core.units import Units
from rainproof.fits.logistic import fit_logistic
from rainproof.inference.absent_outcomes import EventGain
from rainproof.inference.estimates import (
    has_few_clusters,
    influence_by_outcome,
    interval_by_influence,
    model_variance,
    moments,
    student_quantile,
    typical_size,
)

# fits for an end of the intercept: its variance is that of the fit before, which has hardly moved
_PASSES = 2
_MOST_LEVERAGE = 0.9  # of a unit: residuals are divided by what is left (HC3)


class _Fit(NamedTuple):
    """A logistic regression: coefficients, and the fitted event rate of each entry."""

    coefficients: Floats
    rate: Floats


def calibration_intercept(units: Units, prob: Floats, confidence_level: float) -> Interval | None:
    """The intercept, at slope 1, of a logistic regression on the logit of the predictions.

    Its ends are those at which the mean prediction would be an end of the interval of the event
    rate, as the residuals give it. None without log odds, or if it is too far from 0 to be
    computed, as it is for predictions of 1e-300.
    """
    log_odds = _log_odds(units, prob)
    if log_odds is None:
        return None
    fit = _fit(units, np.ones((1, len(log_odds))), log_odds, units.event.astype(np.float64))
    if fit is None:
        return None
    event = EventGain(prob, 1.0)
    low = _intercept_at_end(units, log_odds, fit, event, confidence_level, upper=False)
    high = _intercept_at_end(units, log_odds, fit, event, confidence_level, upper=True)
    return Interval(
        value=float(fit.coefficients[0]),
        low=low,
        high=high,
        confidence_level=confidence_level,
    )


def _intercept_at_end(
    units: Units,
    log_odds: Floats,
    fit: _Fit,
    event: EventGain,
    confidence_level: float,
    *,
    upper: bool,
) -> float:
    """The intercept at which the mean prediction is an end of the event rate, or infinite."""
    unreached = math.inf if upper else -math.inf
    ones = np.ones((1, len(log_odds)))
    observed = float(units.share @ units.event)
    for _ in range(_PASSES):
        influence, unseen = influence_by_outcome(units, -fit.rate, 1 - fit.rate)
        interval = interval_by_influence(
            units, observed, influence, unseen, confidence_level, event=event
        )
        end = interval.high if upper else interval.low
        if not 0 < end < 1:
            return unreached
        moved = _fit(units, ones, log_odds, end, fit.coefficients)
        if moved is None:
            return unreached
        fit = moved
    return float(fit.coefficients[0])


def calibration_slope(units: Units, prob: Floats, confidence_level: float) -> Interval | None:
    """The slope of a logistic regression on the logit; its variance is the larger of the model's
    and the residuals'.

    None without log odds, if all predictions are equal, or if they separate the outcomes.
    """
    log_odds = _log_odds(units, prob)
    if log_odds is None or not np.ptp(log_odds[units.share > 0]) > 0:
        return None
    columns = np.stack([log_odds, np.ones(len(log_odds))])
    fit = _fit(units, columns, np.zeros(len(log_odds)), units.event.astype(np.float64))
    if fit is None:
        return None
    value = float(fit.coefficients[0])
    variance = _variance_of_first(units, columns, fit.rate)
    half = student_quantile(units, confidence_level) * math.sqrt(variance)
    return Interval(
        value=value, low=value - half, high=value + half, confidence_level=confidence_level
    )


def log_score_gains(units: Units, prob: Floats) -> tuple[float, float] | None:
    """What the log score gains by the best intercept at slope 1, and beyond that by the best slope.

    The parts of the gain of a logistic recalibration: the mean first, then the spread. None if one
    cannot be fitted.
    """
    log_odds = _log_odds(units, prob)
    if log_odds is None:
        return None
    ones = np.ones(len(log_odds))
    event = units.event.astype(np.float64)
    mean = _fit(units, ones[np.newaxis], log_odds, event)
    both = _fit(units, np.stack([log_odds, ones]), np.zeros(len(log_odds)), event)
    if mean is None or both is None:
        return None
    slope, intercept = both.coefficients
    sign = np.where(units.event, 1.0, -1.0)

    def log_score(fitted: Floats) -> float:
        return float(units.share @ log_expit(sign * fitted))

    original = log_score(log_odds)
    # each gain is that of one coefficient more
    shifted = log_score(mean.coefficients[0] + log_odds)
    recalibrated = log_score(slope * log_odds + intercept)
    return shifted - original, recalibrated - shifted


def _log_odds(units: Units, prob: Floats) -> Floats | None:
    """Of each prediction; None if one with weight is 0 or 1, or if all outcomes are the same."""
    counted = units.share > 0
    if units.one_outcome or (counted & ((prob <= 0) | (prob >= 1))).any():
        return None
    prob = np.where(counted, prob, 0.5)
    return np.log(prob) - np.log1p(-prob)


def _fit(
    units: Units,
    columns: Floats,
    offset: Floats,
    target: Floats | float,
    start: Floats | None = None,
) -> _Fit | None:
    """Fit a logistic regression; None if there is none, or only coefficients far from 0."""
    negative = units.share * (1 - target)
    positive = units.share * target
    coefficients = fit_logistic(columns, negative, positive, offset=offset, start=start)
    if coefficients is None:
        return None
    return _Fit(coefficients, expit(coefficients @ columns + offset))


def _variance_of_first(units: Units, columns: Floats, rate: Floats) -> float:
    """The variance of the first coefficient, with residuals as they would be on units that were
    left out of the fit (HC3).
    """
    inverse = np.linalg.inv(_curvature(columns, units.share, rate))
    pull = inverse @ columns  # of each case on the coefficients, by its residual
    leverage = units.single * rate * (1 - rate) * (columns * pull).sum(axis=0)
    if units.unit is not None:  # a cluster is left out as a whole
        leverage = units.sums(leverage)[units.unit]
    left = 1 - np.minimum(leverage, _MOST_LEVERAGE)
    influence = pull[0] * (units.event - rate) / left
    unseen: tuple[float, ...] = ()
    if has_few_clusters(units):
        unseen = (typical_size(units, pull[0] * rate), typical_size(units, pull[0] * (1 - rate)))
    by_residuals = moments(units, influence, unseen)[0]
    if units.clustered:
        return max(by_residuals, model_variance(units, rate, pull[0]))
    if units.design.strata is not None:
        # where weights depend on the outcomes, residuals alone tell
        return max(by_residuals, 0.0)
    score_variance = _curvature(columns, units.share * units.single, rate)
    return max(by_residuals, float((inverse @ score_variance @ inverse)[0, 0]))


def _curvature(columns: Floats, share: Floats, rate: Floats) -> NDArray[np.float64]:
    """The negative second derivative of the weighted log-likelihood."""
    return (columns * (share * rate * (1 - rate))) @ columns.T
