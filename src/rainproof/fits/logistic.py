"""Logistic regression by Newton's method, for maps, calibration slopes and bets.

Here is the fit alone; what its columns are, and what its coefficients mean, is the callers'
business. The softmax regression of several classes is in `recalibration`: it is fitted to rows in
blocks, with a curvature from some of them. The online recalibrator has its own steps in a kernel:
it never sees all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rainproof.core.arrays import Floats

MAX_COEFFICIENT = 30.0
"""Change of the log odds by one unit of a column: larger ones are those of separated outcomes.

The odds are multiplied by 1e13, which no sample can show.
"""

_MAX_STEPS = 50  # a fit that has a maximum takes about ten
# Share of the loss that a step gains, as its derivatives predict: a step that gains less is the
# last one.
_TOLERANCE = 1e-10  # enough for maps
_PRINTED_TOLERANCE = 1e-20  # for coefficients that are printed: exact up to rounding
# Changes of log odds by a step. If it changes none by more than D, it multiplies no curvature by
# more than exp(D) on its way. So it gains at least 2 - 2 (exp(D) - 1 - D) / D^2 times what the
# derivatives predict: 0.2 times for D = 1.5, and the loss need not be looked at.
_SAFE_CHANGE = 1.5
_LARGEST_CHANGE = 1e4  # steps are cut to this: where curvatures nearly vanish they are longer
# A last step that still changes log odds by more has no maximum ahead: where outcomes are separated
# the loss converges to 0, but the changes to 1.
_DIVERGING_CHANGE = 0.5
_SINGULAR_CONDITION = 1e15  # condition number of a matrix that doubles do not tell from singular


class NormalPrior(NamedTuple):
    """Before outcomes are seen, coefficients are normal around `mean`, all with one precision."""

    mean: Floats
    precision: float  # 1 / variance


def fit_logistic(
    x: Floats,
    negative: Floats,
    positive: Floats,
    *,
    offset: Floats | None = None,
    start: Floats | None = None,
) -> Floats | None:
    """Fit the most likely coefficients of ``logit(rate) = coefficients @ x + offset``.

    Parameters
    ----------
    x : ndarray of shape (columns, entries)
        What the log odds are a combination of.
    negative, positive : ndarray of shape (entries,)
        The weight of the rows without and with the event: at least 0, whole or not.
    offset : ndarray of shape (entries,), optional
        What is added to the log odds.
    start : ndarray of shape (columns,), optional
        A first guess. Default: zeros.

    Returns
    -------
    ndarray of shape (columns,), or None
        None if there is no maximum, because the columns separate the outcomes or are linearly
        dependent, or if a coefficient is beyond `MAX_COEFFICIENT`.
    """
    flat = NormalPrior(np.zeros(len(x)), precision=0.0)
    loss = _Loss(x, negative[np.newaxis], positive[np.newaxis], flat, offset)
    first = np.zeros(len(x)) if start is None else start
    try:
        fit = _minimize(loss, first[np.newaxis], _PRINTED_TOLERANCE)
    except np.linalg.LinAlgError:  # no curvature at all in some direction
        return None
    if not fit.converged or fit.last_change > _DIVERGING_CHANGE:
        return None
    if np.abs(fit.coefficients).max() > MAX_COEFFICIENT:
        return None
    curvature = loss.curvature(loss.rate(fit.coefficients))[0]
    if np.linalg.cond(curvature) >= _SINGULAR_CONDITION:
        return None
    return np.asarray(fit.coefficients[0])


def fit_logistic_with_prior(
    x: Floats,
    negative: Floats,
    positive: Floats,
    prior: NormalPrior,
    *,
    offset: Floats | None = None,
) -> Floats:
    """Fit the most likely coefficients of ``logit(rate) = coefficients @ x + offset``, given a
    prior.

    Several tables of weights are fitted at once, each by itself; with a prior every table has
    exactly one maximum.

    Parameters
    ----------
    x : ndarray of shape (columns, entries)
        What the log odds are a combination of.
    negative, positive : ndarray of shape (tables, entries)
        The weight of the rows without and with the event: at least 0, whole or not.
    prior : NormalPrior
        The prior of the coefficients, with a precision above 0.
    offset : ndarray of shape (entries,), optional
        What is added to the log odds.

    Returns
    -------
    ndarray of shape (tables, columns)
    """
    start = prior.mean[np.newaxis]
    if len(negative) > 1:  # tables are much alike: the fit to all of them is near to each
        together = _Loss(x, _pooled(negative), _pooled(positive), prior, offset)
        start = _minimize(together, start, _TOLERANCE).coefficients
    start = np.repeat(start, len(negative), axis=0)
    return _minimize(_Loss(x, negative, positive, prior, offset), start, _TOLERANCE).coefficients


def _pooled(weight: Floats) -> Floats:
    """Add up the weights of all tables, as one table."""
    return np.asarray(weight.sum(axis=0, keepdims=True))


class _Loss:
    """Minus the logarithm of likelihood times prior, in nats, for each table of weights."""

    def __init__(
        self,
        x: Floats,
        negative: Floats,
        positive: Floats,
        prior: NormalPrior,
        offset: Floats | None = None,
    ) -> None:
        self._x = x
        self._negative = negative
        self._positive = positive
        self._total = negative + positive
        self._prior = prior
        self._offset = offset
        self._reach = np.abs(x).max(axis=1)  # of each column
        size = len(x)
        # of each two columns, shape (entries, columns^2)
        self._products = (x[:, np.newaxis] * x).reshape(size * size, -1).T
        self._prior_curvature = prior.precision * np.eye(size)

    def value(self, coefficients: Floats) -> Floats:
        """Return the loss of each table."""
        score = self._score(coefficients)
        # log(1 + exp(score)), by an exponential that does not overflow
        surprise = np.log(1 + np.exp(-np.abs(score)))
        surprise += np.maximum(score, 0)  # of a row without the event; with it, less the score
        log_likelihood = (self._positive * score).sum(axis=1) - (self._total * surprise).sum(axis=1)
        distance = ((coefficients - self._prior.mean) ** 2).sum(axis=1)
        return np.asarray(self._prior.precision / 2 * distance - log_likelihood)

    def rate(self, coefficients: Floats) -> Floats:
        """Return the event rate at each entry: 1 / (1 + exp(-score))."""
        score = self._score(coefficients)
        # exp(min(score, 0)) / (1 + exp(-|score|)): neither exponential overflows. In place, as new
        # arrays of many entries would take longer than the arithmetic.
        divisor = np.abs(score)
        np.negative(divisor, out=divisor)
        np.exp(divisor, out=divisor)
        divisor += 1
        np.minimum(score, 0, out=score)
        np.exp(score, out=score)
        score /= divisor
        return score

    def curvature(self, rate: Floats) -> Floats:
        """Return the second derivatives, shape (tables, columns, columns)."""
        size = len(self._x)
        variance = self._total * rate
        variance *= 1 - rate
        curvature = (variance @ self._products).reshape(-1, size, size)
        return curvature + self._prior_curvature

    def newton_step(self, coefficients: Floats) -> _NewtonStep:
        """Return the step to the minimum of the quadratic with the same derivatives."""
        rate = self.rate(coefficients)
        excess = self._total * rate
        excess -= self._positive
        slope = excess @ self._x.T + self._prior.precision * (coefficients - self._prior.mean)
        step = np.linalg.solve(self.curvature(rate), -slope[..., np.newaxis])[..., 0]
        return _NewtonStep(
            coefficients=np.asarray(step),
            expected_gain=-(slope * step).sum(axis=1) / 2,
            largest_change=np.abs(step) @ self._reach,
        )

    def _score(self, coefficients: Floats) -> Floats:
        """Return the log odds at each entry, as a new array."""
        score = np.asarray(coefficients @ self._x)
        if self._offset is not None:
            score += self._offset
        return score


class _NewtonStep(NamedTuple):
    coefficients: Floats  # what is added to those of each table
    expected_gain: Floats  # what it takes off the loss of each table, by the derivatives
    largest_change: Floats  # of a log odds of each table, at most


class _Fit(NamedTuple):
    coefficients: Floats
    last_change: float  # of a log odds of any table, by the last step
    converged: bool


def _minimize(loss: _Loss, start: Floats, tolerance: float) -> _Fit:
    """Take Newton steps until one gains at most the tolerance, a share of the loss, in all tables.

    One nat is added to the loss, which can converge to 0.
    """
    coefficients = start
    value = loss.value(coefficients)
    for _ in range(_MAX_STEPS):
        step = loss.newton_step(coefficients)
        is_last = step.expected_gain <= tolerance * (1 + value)
        if step.largest_change.max() <= _SAFE_CHANGE:
            coefficients = coefficients + step.coefficients
            value = value - step.expected_gain
        else:
            coefficients, value = _shortened_step(loss, coefficients, step)
        if is_last.all():
            break
    return _Fit(coefficients, float(step.largest_change.max()), converged=bool(is_last.all()))


def _shortened_step(loss: _Loss, coefficients: Floats, step: _NewtonStep) -> tuple[Floats, Floats]:
    """Halve steps until no loss rises; return the coefficients and the losses that are reached."""
    if np.isinf(step.largest_change).any():
        raise np.linalg.LinAlgError("a curvature is 0 up to rounding")
    value = loss.value(coefficients)
    length = np.minimum(1.0, _LARGEST_CHANGE / step.largest_change)[:, np.newaxis]
    reached = loss.value(coefficients + length * step.coefficients)
    while (is_worse := reached > value).any():
        length[is_worse] /= 2
        reached = loss.value(coefficients + length * step.coefficients)
    return coefficients + length * step.coefficients, reached
