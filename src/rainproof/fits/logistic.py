"""Logistic regression by Newton's method: of every map, slope and bet that is fitted to outcomes.

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
"""Coefficients beyond this are those of outcomes that the columns separate."""

_MAX_STEPS = 50  # a fit that has a maximum takes about ten
_GAIN = 1e-10  # share of the loss that the last step gains: enough for maps
_EXACT_GAIN = 1e-20  # the same for coefficients that are printed: exact up to rounding
# Change of a log odds. A step that changes none by more than D multiplies no curvature by more than
# exp(D) on its way, so it gains at least 2 - 2 (exp(D) - 1 - D) / D^2 times what is expected: 0.2
# times for 1.5.
_SAFE_CHANGE = 1.5
# The same: where curvatures nearly vanish, steps are cut to this.
_LARGEST_CHANGE = 1e4
# The same, by a last step. Where outcomes are separated losses converge to 0, and steps to 1.
_RUNS_AWAY = 0.5
_SINGULAR = 1e15  # condition number of a matrix that cannot be told from one without inverse


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
        fit = _minimize(loss, first[np.newaxis], _EXACT_GAIN)
    except np.linalg.LinAlgError:  # no curvature at all in some direction
        return None
    if not fit.converged or fit.last_change > _RUNS_AWAY:
        return None
    if np.abs(fit.coefficients).max() > MAX_COEFFICIENT:
        return None
    if np.linalg.cond(loss.curvature(loss.rate(fit.coefficients))[0]) >= _SINGULAR:
        return None
    return np.asarray(fit.coefficients[0])


def fit_logistic_with_prior(
    x: Floats, negative: Floats, positive: Floats, prior: NormalPrior
) -> Floats:
    """Fit the most likely coefficients of ``logit(rate) = coefficients @ x``, given a prior.

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

    Returns
    -------
    ndarray of shape (tables, columns)
    """
    start = prior.mean[np.newaxis]
    if len(negative) > 1:  # tables are much alike: the fit to all of them is near to each
        together = _Loss(x, _sum(negative), _sum(positive), prior)
        start = _minimize(together, start, _GAIN).coefficients
    start = np.repeat(start, len(negative), axis=0)
    return _minimize(_Loss(x, negative, positive, prior), start, _GAIN).coefficients


def _sum(weight: Floats) -> Floats:
    """Add up tables, as one table."""
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
        if_negative = np.log(1 + np.exp(-np.abs(score)))
        if_negative += np.maximum(score, 0)
        lost = (self._total * if_negative).sum(axis=1) - (self._positive * score).sum(axis=1)
        distance = ((coefficients - self._prior.mean) ** 2).sum(axis=1)
        return np.asarray(lost + self._prior.precision / 2 * distance)

    def rate(self, coefficients: Floats) -> Floats:
        """Return the event rate at each entry: 1 / (1 + exp(-score)).

        By exponentials that do not overflow, in place: of many entries, arrays take the time.
        """
        score = self._score(coefficients)
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
        return np.asarray(curvature + self._prior_curvature)

    def newton_step(self, coefficients: Floats) -> _Step:
        """Return the step to the minimum of the quadratic with the same derivatives."""
        rate = self.rate(coefficients)
        excess = self._total * rate
        excess -= self._positive
        slope = excess @ self._x.T + self._prior.precision * (coefficients - self._prior.mean)
        step = np.linalg.solve(self.curvature(rate), -slope[..., np.newaxis])[..., 0]
        return _Step(
            step=np.asarray(step),
            gain=-(slope * step).sum(axis=1) / 2,
            change=np.abs(step) @ self._reach,
        )

    def _score(self, coefficients: Floats) -> Floats:
        """Return the log odds at each entry, as a new array."""
        score = np.asarray(coefficients @ self._x)
        if self._offset is not None:
            score += self._offset
        return score


class _Step(NamedTuple):
    step: Floats  # of the coefficients of each table
    gain: Floats  # what it takes off the loss of a table, expected from the derivatives
    change: Floats  # of the log odds of a table, at most


class _Fit(NamedTuple):
    coefficients: Floats
    last_change: float
    converged: bool


def _minimize(loss: _Loss, start: Floats, gain: float) -> _Fit:
    """Take Newton steps until the last one gained hardly anything."""
    coefficients = start
    value = loss.value(coefficients)
    for _ in range(_MAX_STEPS):
        step = loss.newton_step(coefficients)
        is_last = step.gain <= gain * (1 + value)
        if step.change.max() <= _SAFE_CHANGE:
            coefficients = coefficients + step.step
            value = value - step.gain
        else:
            coefficients, value = _shortened_step(loss, coefficients, step)
        if is_last.all():
            break
    return _Fit(coefficients, float(step.change.max()), converged=bool(is_last.all()))


def _shortened_step(loss: _Loss, coefficients: Floats, step: _Step) -> tuple[Floats, Floats]:
    """Halve steps until no loss rises; return the coefficients and the losses that are reached."""
    if np.isinf(step.change).any():
        raise np.linalg.LinAlgError("a curvature is 0 up to rounding")
    value = loss.value(coefficients)
    share = np.minimum(1.0, _LARGEST_CHANGE / step.change)[:, np.newaxis]
    reached = loss.value(coefficients + share * step.step)
    while (is_worse := reached > value).any():
        share[is_worse] /= 2
        reached = loss.value(coefficients + share * step.step)
    return coefficients + share * step.step, reached
