"""The numbers that clinical prediction models are judged by: calibration in the large, slope, and the Brier score."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit

from rainproof.core.arrays import Floats
from rainproof.inference.influence import Entries, IntervalEstimate

_STEPS, _PRECISION = 100, 1e-12
_SINGULAR = 1e15  # the condition number of a matrix that cannot be told from one without inverse
_FAR = 30.0  # coefficients beyond this are those of outcomes that the predictions separate


def observed_expected(entries: Entries, confidence_level: float) -> IntervalEstimate | None:
    """The number of events over the sum of the predictions; None if all predictions are 0."""
    share, event, prob = entries.share, entries.event, entries.prob
    expected, rate = float(share @ prob), float(share @ event)
    if expected == 0:
        return None
    ratio = rate / expected
    if ratio == 0:  # no event: the exact upper limit of the event rate
        n = 1 / float(entries.square.sum())
        high = float(betaincinv(1, n, (1 + confidence_level) / 2)) / expected
        return IntervalEstimate(value=0.0, low=0.0, high=high, confidence_level=confidence_level)
    error = entries.standard_error(event / rate - prob / expected)  # of its logarithm
    return IntervalEstimate.on_scale(ratio, error, confidence_level, math.log, math.exp)


def brier(entries: Entries, confidence_level: float) -> tuple[IntervalEstimate, IntervalEstimate | None]:
    """The Brier score, and its skill: the share by which it is below that of the event rate as a forecast."""
    share, event = entries.share, entries.event.astype(np.float64)
    loss = (event - entries.prob) ** 2
    score, rate = float(share @ loss), float(share @ event)
    found = IntervalEstimate.on_scale(score, entries.standard_error(loss - score), confidence_level).within(0.0, 1.0)
    if entries.one_class:
        return found, None
    spread = float(share @ (event - rate) ** 2)
    influence = (loss - score - score / spread * (1 - 2 * rate) * (event - rate)) / spread
    skill = IntervalEstimate.on_scale(1 - score / spread, entries.standard_error(influence), confidence_level)
    return found, skill.within(-math.inf, 1.0)


def calibration_line(
    entries: Entries, confidence_level: float
) -> tuple[IntervalEstimate, IntervalEstimate | None] | None:
    """The calibration intercept (at slope 1) and the slope of a logistic regression on the logit of the predictions.

    None if a prediction with weight is 0 or 1, if all outcomes are the same, or if the intercept is too far from 0 to
    be computed, as it is for predictions of 1e-300. The slope is None where there is none:
    if all predictions are equal, or if they separate the outcomes.
    """
    prob, some = entries.prob, entries.share > 0
    if entries.one_class or ((prob[some] <= 0) | (prob[some] >= 1)).any():
        return None
    prob = np.where(some, prob, 0.5)
    logit = np.log(prob) - np.log1p(-prob)
    ones = np.ones((1, len(prob)))
    intercept = _fit(entries, ones, logit, confidence_level)
    if intercept is None:
        return None
    both = np.stack([logit, ones[0]])
    slope = _fit(entries, both, np.zeros(len(prob)), confidence_level) if np.ptp(logit[some]) > 0 else None
    return intercept, slope


def _fit(entries: Entries, x: Floats, offset: Floats, confidence_level: float) -> IntervalEstimate | None:
    """The first coefficient of a logistic regression; its error is the model's, or that of groups."""
    share, event = entries.share, entries.event.astype(np.float64)
    beta = np.zeros(len(x))
    for _ in range(_STEPS):
        rate = expit(beta @ x + offset)
        curvature = _curvature(x, share, rate)
        if not np.linalg.cond(curvature) < _SINGULAR or np.abs(beta).max() > _FAR:
            return None
        step = np.linalg.solve(curvature, x @ (share * (event - rate)))
        step *= min(1.0, 2.0 / max(float(np.abs(step @ x).max()), 1e-300)) if np.abs(step @ x).max() > _FAR else 1.0
        beta = beta + step
        if float(np.abs(step).max()) <= _PRECISION * (1 + float(np.abs(beta).max())):
            break
    else:
        return None
    inverse = np.linalg.inv(curvature)
    if entries.group is None:
        error = math.sqrt(float((inverse @ _curvature(x, entries.square, rate) @ inverse)[0, 0]))
    else:
        error = entries.standard_error((inverse @ x)[0] * (event - rate))
    return IntervalEstimate.on_scale(float(beta[0]), error, confidence_level)


def _curvature(x: Floats, share: Floats, rate: Floats) -> NDArray[np.float64]:
    return (x * (share * rate * (1 - rate))) @ x.T
