"""Methods of recalibration of several classes: temperature, vector and matrix scaling, and others.

Scaling is a softmax regression on the logarithms of the probabilities, of which each row has one
for every class (Guo, Pleiss, Sun and Weinberger 2017, arXiv:1706.04599; the prior of a matrix is
that of Kull et al. 2019, arXiv:1910.12656). The fit works on blocks of rows, as rows may be many
and classes too. What the fitted maps do is in `maps`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.distinct import DistinctTable
from rainproof.recalibration.maps import (
    UNCHANGED,
    ClassPart,
    blocks,
    logarithms,
    scores,
    softmax,
)
from rainproof.recalibration.method_names import has_class_maps
from rainproof.recalibration.methods import METHODS, PRIOR_PRECISION

MOST_CLASSES = {"vector": 100, "matrix": 20}
"""The largest number of classes that a method is fitted to: curvatures of more parameters take
long.
"""

CURVATURE_ROWS = 1 << 13
"""Rows that the curvature is computed from; the slope is from all."""

# The prior precision of what other classes add to one, all of them together.
_OFF_DIAGONAL_PRECISION = 1 / 0.5**2
_LEAST_SCALE = 0.1  # of slopes that a prior is for: scores that say nothing have one near 0
_PRIOR_ROWS = 0.5  # rows that are added to the outcomes, divided equally among the classes
_MAX_STEPS = 100
_GAIN = 1e-7  # nats that are left to gain
_LEAST_SHARE = 1e-6  # of a step


class ClassRows(NamedTuple):
    """Rows that maps of several classes are fitted to, in random order."""

    prob: NDArray[Any]  # of shape (n, k), as they came
    logs: Floats  # their `logarithms`
    outcome: Ints  # the number of the class that occurred
    weight: Floats

    def take(self, index: Ints) -> ClassRows:
        """Return some of the rows."""
        return ClassRows(
            self.prob[index], self.logs[index], self.outcome[index], self.weight[index]
        )

    @classmethod
    def of(cls, prob: NDArray[Any], outcome: Ints, weight: Floats) -> ClassRows:
        """Compute the logarithms once for all fits."""
        return cls(prob, logarithms(prob), outcome, weight)


def fit_classes(method: str, rows: ClassRows) -> ClassPart:
    """Fit one map, of weight 1."""
    k = rows.prob.shape[1]
    if method == "none":
        return UNCHANGED
    if method == "constant":
        rate = np.bincount(rows.outcome, rows.weight, k) + _PRIOR_ROWS / k
        return ClassPart(method=method, weight=1.0, intercept=rate / rate.sum())
    if has_class_maps(method):
        maps = []
        for number in range(k):
            event = (rows.outcome == number).view(np.uint8)
            table = DistinctTable.from_rows(event, rows.prob[:, number], rows.weight)
            maps.append(METHODS[method](table))
        return ClassPart(method=method, weight=1.0, maps=tuple(maps))
    temperature = _fit_scaling(_Temperature(k), rows)
    if method == "temperature":
        return temperature
    assert temperature.slope is not None
    scale = max(temperature.slope.item(), _LEAST_SCALE)
    if method == "vector":
        return _fit_scaling(_Vector(k, scale), rows)
    return _fit_scaling(_Matrix(k, scale), rows)


# Families of slopes and intercepts: parameters in one array, with the mean and the precision of a
# normal prior of each. The prior of slopes is around a scale and as wide as it: that of the best
# temperature, so that it says as much of a forecast that is too confident as of one that is not.
# `expand` makes parameters the slope and the intercept. `slope` is the derivative of the loss of
# rows, given predictions minus outcomes. `curvature` is the second derivative: the variance, by the
# predictions, of what parameters multiply in the scores.


class _Temperature:
    """One slope for all classes."""

    method = "temperature"

    def __init__(self, k: int) -> None:
        self.mean = np.ones(1)
        self.precision = np.full(1, PRIOR_PRECISION)
        self._no_intercept = np.zeros(k)

    def expand(self, parameters: Floats) -> tuple[Floats, Floats]:
        return parameters, self._no_intercept

    def slope(self, excess: Floats, logs: Floats) -> Floats:
        return np.array([np.einsum("ij,ij", excess, logs)])

    def curvature(self, prob: Floats, logs: Floats, weight: Floats) -> Floats:
        mean = np.einsum("ij,ij->i", prob, logs)
        mean_square = np.einsum("ij,ij,ij->i", prob, logs, logs)
        return np.array([[weight @ (mean_square - mean**2)]])


class _Vector:
    """A slope and an intercept for each class: first all slopes."""

    method = "vector"

    def __init__(self, k: int, scale: float) -> None:
        self._k = k
        self.mean = np.append(np.full(k, scale), np.zeros(k))
        self.precision = np.repeat([PRIOR_PRECISION / scale**2, PRIOR_PRECISION], k)

    def expand(self, parameters: Floats) -> tuple[Floats, Floats]:
        return parameters[: self._k], parameters[self._k :]

    def slope(self, excess: Floats, logs: Floats) -> Floats:
        return np.append(np.einsum("ij,ij->j", excess, logs), excess.sum(axis=0))

    def curvature(self, prob: Floats, logs: Floats, weight: Floats) -> Floats:
        # the covariance within each row: the products of means are subtracted
        slope_terms = prob * logs
        mean = np.hstack([slope_terms, prob]) * np.sqrt(weight)[:, np.newaxis]
        curvature: Floats = -(mean.T @ mean)
        slopes = np.arange(self._k)
        intercepts = self._k + slopes
        curvature[slopes, slopes] += weight @ (slope_terms * logs)
        mixed = weight @ slope_terms
        curvature[slopes, intercepts] += mixed
        curvature[intercepts, slopes] += mixed
        curvature[intercepts, intercepts] += weight @ prob
        return curvature


class _Matrix:
    """Every logarithm in every score: by class the slopes of all classes, then the intercept.

    The prior shrinks what other classes add to one, the more of them there are.
    """

    method = "matrix"

    def __init__(self, k: int, scale: float) -> None:
        self._k = k
        own = np.diag(np.full(k, scale))
        self.mean = np.column_stack([own, np.zeros(k)]).ravel()
        others = max(PRIOR_PRECISION, _OFF_DIAGONAL_PRECISION * (k - 1))
        slopes = np.where(np.eye(k) == 1, PRIOR_PRECISION, others) / scale**2
        self.precision = np.column_stack([slopes, np.full(k, PRIOR_PRECISION)]).ravel()

    def expand(self, parameters: Floats) -> tuple[Floats, Floats]:
        by_class = parameters.reshape(self._k, self._k + 1)
        return np.ascontiguousarray(by_class[:, :-1]), by_class[:, -1]

    def slope(self, excess: Floats, logs: Floats) -> Floats:
        return np.column_stack([excess.T @ logs, excess.sum(axis=0)]).ravel()

    def curvature(self, prob: Floats, logs: Floats, weight: Floats) -> Floats:
        columns = np.column_stack([logs, np.ones(len(logs))])
        mean = (prob[:, :, np.newaxis] * columns[:, np.newaxis, :]).reshape(len(logs), -1)
        mean *= np.sqrt(weight)[:, np.newaxis]
        curvature: Floats = -(mean.T @ mean)
        for number in range(self._k):
            own = slice(number * (self._k + 1), (number + 1) * (self._k + 1))
            share = (weight * prob[:, number])[:, np.newaxis]
            curvature[own, own] += (columns * share).T @ columns
        return curvature


_Scaling = _Temperature | _Vector | _Matrix


def _fit_scaling(family: _Scaling, rows: ClassRows) -> ClassPart:
    """Fit the most likely slope and intercept, by Newton's method with halved steps.

    Rows must be in random order: the curvature is from the first of many.
    """
    logs = rows.logs[:CURVATURE_ROWS]
    weight = rows.weight[:CURVATURE_ROWS]
    # The curvature of few rows is that of all but for a factor: a wrong one costs steps, and the
    # result is as exact.
    all_by_few = rows.weight.sum() / max(weight.sum(), np.finfo(float).tiny)
    parameters = family.mean
    loss, slope = _loss_and_slope(family, parameters, rows)
    for _ in range(_MAX_STEPS):
        prob = softmax(scores(*family.expand(parameters), logs))
        curvature = all_by_few * family.curvature(prob, logs, weight) + np.diag(family.precision)
        step = np.linalg.solve(curvature, slope)
        # Half of the product is what the step would gain if the loss were quadratic.
        if float(slope @ step) / 2 < _GAIN:
            break
        share = 1.0
        reached, slope = _loss_and_slope(family, parameters - step, rows)
        while reached > loss and share > _LEAST_SHARE:
            share /= 2
            reached, slope = _loss_and_slope(family, parameters - share * step, rows)
        if reached > loss:
            break
        parameters = parameters - share * step
        loss = reached
    slopes, intercept = family.expand(parameters)
    return ClassPart(
        method=family.method, weight=1.0, slope=np.asarray(slopes), intercept=intercept
    )


def _loss_and_slope(family: _Scaling, parameters: Floats, rows: ClassRows) -> tuple[float, Floats]:
    """Return minus the logarithm of likelihood times prior, in nats, and its derivatives."""
    distance = parameters - family.mean
    loss = float(family.precision @ distance**2) / 2
    slope = np.zeros(len(parameters))
    for block in blocks(rows.logs):
        prob = softmax(scores(*family.expand(parameters), rows.logs[block]))
        weight = rows.weight[block]
        occurred = np.arange(len(prob)), rows.outcome[block]
        loss -= float(weight @ np.log(np.maximum(prob[occurred], np.finfo(float).tiny)))
        excess = prob
        excess[occurred] -= 1
        excess *= weight[:, np.newaxis]
        slope += family.slope(excess, rows.logs[block])
    return loss, slope + family.precision * distance
