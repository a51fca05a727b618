"""The methods of recalibration of one event: each fits one map to predictions and outcomes.

A new method is a formula (`_FORMULAS`, `_USUAL_MAPS`) or a shape (`_SHAPES`). How methods are
weighed against each other is in `selection`, what several classes need beside them in
`class_scaling`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.curve import isotonic_blocks
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import PiecewiseMap
from rainproof.errors import InputError
from rainproof.fits.bins import equal_weight_bins
from rainproof.fits.logistic import NormalPrior, fit_logistic_with_prior

NEAREST = 1e-9
"""Predictions nearer to 0 or 1 count like this one: their log odds would outweigh all others."""

PRIOR_PRECISION = 1 / 4**2
"""Of coefficients around those of the identity, with a standard deviation of 4: it is weak, but
no data can send them to infinity."""

POOLS_PER_LOG_ODDS = 64
"""Predictions in one pool differ by at most 1.6% of their odds."""

# A standard deviation of 1/2 around "no correction": the few rows of a segment change little.
_SEGMENT_PRIOR = NormalPrior(mean=np.array([1.0, 0.0]), precision=1 / 0.5**2)
_LARGEST_LOG_ODDS = 36.0  # of 1 - 2**-52, the largest value below 1 that a map has
_PRIOR_ROWS = 1.0  # rows of the overall event rate that are added to each bin
_HALF_ROW = 0.5  # added to either outcome, so that no rate is 0 or 1

IDENTITY = PiecewiseMap(np.array([0.0, 1.0]), np.zeros(1), np.ones(1))

Method = Callable[[DistinctTable], PiecewiseMap]
"""Fits a map to distinct predictions in increasing order, with the number of rows of each outcome.
"""


# Logistic regressions. Columns are ``log p``, ``-log(1 - p)`` and 1, and a method is the rows of
# combinations of them that its coefficients multiply: of one slope for both logarithms, the first
# two columns add up to the log odds.
_LOG_ODDS = np.array([1.0, 1.0, 0.0])
_INTERCEPT = np.array([0.0, 0.0, 1.0])


class Formula(NamedTuple):
    """What a logistic regression fits: log odds as a linear function of the columns."""

    combinations: Floats  # of the columns, that the coefficients multiply
    prior: NormalPrior  # of the coefficients
    fixed: Floats | None = None  # a combination that is added as it is


def _around_identity(*combinations: Floats) -> Formula:
    """Return a formula whose slopes are around 1 and whose intercepts are around 0."""
    table = np.stack(combinations)
    is_slope = np.sign(table[:, 0] + table[:, 1])
    return Formula(table, NormalPrior(is_slope, PRIOR_PRECISION))


_FORMULAS = {
    "logistic": _around_identity(_LOG_ODDS, _INTERCEPT),
    "beta": _around_identity(*np.eye(3)),
    "temperature": _around_identity(_LOG_ODDS),
    "intercept": _around_identity(_INTERCEPT)._replace(fixed=_LOG_ODDS),
}

# The two kinds of maps that models usually need, by the slopes of those of half A of
# docs/benchmarks/study-real-data.md: nearly calibrated ones, and ones whose log odds are several
# times too large, such as naive Bayes. Deviations are those of no rows: what a model does may be
# unusual, and the prior is wider with more rows.
_ROWS_OF_PRIORS = 300  # with so many, variances are doubled


class _UsualMap(NamedTuple):
    """A prior of a line in the log odds: of its slope, and of its shift at their mean."""

    slope: float
    slope_deviation: float
    shift_deviation: float


_USUAL_MAPS = {
    "calibrated_prior": _UsualMap(slope=0.9, slope_deviation=0.25, shift_deviation=0.7),
    "overconfident_prior": _UsualMap(slope=0.3, slope_deviation=0.2, shift_deviation=1.0),
}


def _usual_formula(usual: _UsualMap, prob: Floats, weight: Floats) -> Formula:
    """Return a line in the log odds with a prior, whose coefficients count its deviations.

    `weight` has the number of rows by table, outcome and prediction.
    """
    rows = weight.sum(axis=(0, 1))
    inside = np.clip(prob, *_finite_ends(prob[rows > 0]))
    centre = float(rows @ log_odds(inside) / rows.sum()) * _INTERCEPT
    wider = np.sqrt(1 + rows.sum() / len(weight) / _ROWS_OF_PRIORS)
    slope_deviation = usual.slope_deviation * wider
    slope = slope_deviation * (_LOG_ODDS - centre)
    shift = usual.shift_deviation * wider * _INTERCEPT
    prior = NormalPrior(np.array([usual.slope / slope_deviation, 0.0]), precision=1.0)
    return Formula(np.stack([slope, shift]), prior, fixed=centre)


LOGISTIC = (*_FORMULAS, *_USUAL_MAPS)
"""The methods that are logistic regressions."""


def _formula(name: str, prob: Floats, weight: Floats) -> Formula:
    """Return what a method fits to tables of predictions."""
    if name in _USUAL_MAPS:
        return _usual_formula(_USUAL_MAPS[name], prob, weight)
    return _FORMULAS[name]


def _columns(p: Floats, least: float, most: float) -> Floats:
    """Return ``log p``, ``-log(1 - p)`` and 1; `p` is clipped to [least, most]."""
    p = np.clip(p, least, most)
    return np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)])


def _finite_ends(prob: Floats) -> tuple[float, float]:
    """Return what predictions of 0 and of 1 count like, as their log odds are infinite.

    Predictions are in increasing order. Where rows have the prediction 0, it counts like half of
    the next one: nearer to 0, few rows would decide where the curve goes. Where none has, the curve
    goes on as far as log odds are of use.
    """
    inside = prob[(prob > 0) & (prob < 1)]
    lowest = inside[0] if len(inside) else 0.5
    highest = inside[-1] if len(inside) else 0.5
    least = lowest / 2 if prob[0] == 0 else 0.0
    most = (1 + highest) / 2 if prob[-1] == 1 else 1.0
    return max(float(least), NEAREST), min(float(most), 1 - NEAREST)


def _fit_columns(prob: Floats, weight: Floats, formula: Formula) -> Floats:
    """Fit the coefficients of `_columns` to each of several tables of the same predictions.

    `weight` has the number of rows by table, outcome and prediction.
    """
    occupied = weight.any(axis=(0, 1))
    prob = prob[occupied]
    weight = weight[:, :, occupied]
    columns, pooled = _pool_neighbours(_columns(prob, *_finite_ends(prob)), weight)
    combinations = formula.combinations
    fitted = fit_logistic_with_prior(
        combinations @ columns,
        pooled[:, 0],
        pooled[:, 1],
        formula.prior,
        offset=None if formula.fixed is None else formula.fixed @ columns,
    )
    coefficients: Floats = fitted @ combinations
    if formula.fixed is not None:
        coefficients += formula.fixed
    # a map that falls somewhere would reverse the order of predictions
    has_two_slopes = (combinations[:, 0] != combinations[:, 1]).any()
    if has_two_slopes:
        _drop_negative_slopes(coefficients, prob, weight, combinations)
    return coefficients


def _drop_negative_slopes(
    coefficients: Floats, prob: Floats, weight: Floats, combinations: Floats
) -> None:
    """Fit tables with a negative slope again, without it: the most likely curve that rises.

    The loss is convex, so that a slope that is negative where it is free is 0 where it must not be
    negative (Kull, Silva Filho and Flach 2017, doi:10.1214/17-EJS1338SI).
    """
    is_negative = coefficients[:, :2] < 0
    for pattern in np.unique(is_negative[is_negative.any(axis=1)], axis=0):
        tables = (is_negative == pattern).all(axis=1)
        left = combinations[~combinations[:, :2][:, pattern].any(axis=1)]
        coefficients[tables] = _fit_columns(prob, weight[tables], _around_identity(*left))


def _pool_neighbours(columns: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Average columns over neighbours with nearly the same log odds; sum their rows."""
    log_odds = columns[0] + columns[1]
    first = np.flatnonzero(np.diff(np.floor(POOLS_PER_LOG_ODDS * log_odds), prepend=-np.inf))
    total = weight.sum(axis=(0, 1))
    means = np.add.reduceat(columns * total, first, axis=1) / np.add.reduceat(total, first)
    return means, np.add.reduceat(weight, first, axis=2)


def _logistic(table: DistinctTable, name: str) -> PiecewiseMap:
    least, most = _finite_ends(table.prob)
    weight = np.stack([table.negative, table.positive])[np.newaxis]
    formula = _formula(name, table.prob, weight)
    (coefficients,) = _fit_columns(table.prob, weight, formula)
    return PiecewiseMap.tabulate(
        lambda p: inner_expit(coefficients @ _columns(p, least, most)), (), least, most
    )


def inner_expit(score: Floats) -> Floats:
    """Return probabilities a little off 0 and 1: no map makes these of other predictions."""
    return 1 / (1 + np.exp(-np.clip(score, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)))


def log_odds(p: Floats) -> Floats:
    """Return the log odds of predictions; those beyond `NEAREST` count like it."""
    inside = np.clip(p, NEAREST, 1 - NEAREST)
    return np.log(inside) - np.log1p(-inside)


def correction(whole: PiecewiseMap, table: DistinctTable) -> PiecewiseMap:
    """Correct a map for the rows of one segment: a logistic regression on the log odds it gives."""

    def columns(p: Floats) -> Floats:
        return np.stack([log_odds(whole.apply(p)), np.ones_like(p)])

    (coefficients,) = fit_logistic_with_prior(
        columns(table.prob),
        table.negative[np.newaxis],
        table.positive[np.newaxis],
        _SEGMENT_PRIOR,
    )
    return PiecewiseMap.tabulate(
        lambda p: inner_expit(coefficients @ columns(p)), whole.edges, NEAREST, 1 - NEAREST
    )


# Shapes: maps that are drawn through points, or made of steps.


class Shape(NamedTuple):
    """Straight lines between points, level beyond them; or steps, with one value more than places.

    The first of these values is below the first place, the next from there on, and so on.
    """

    places: Floats  # predictions in increasing order
    values: Floats

    @property
    def has_steps(self) -> bool:
        """Whether it is made of steps."""
        return len(self.values) > len(self.places)

    def at(self, prob: Floats) -> Floats:
        """Return the values at predictions in increasing order."""
        if not self.has_steps:
            return np.interp(prob, self.places, self.values)
        ends = np.concatenate([[0], prob.searchsorted(self.places), [len(prob)]])
        return np.repeat(self.values, np.diff(ends))

    def as_map(self) -> PiecewiseMap:
        """Draw it as a map."""
        if self.has_steps:
            return PiecewiseMap.steps(self.places, self.values)
        edges = np.concatenate([[0.0], self.places, [1.0]])
        start = np.append(self.values[:1], self.values)
        end = np.append(self.values, self.values[-1:])
        return PiecewiseMap.from_ends(edges, start, end)


def _isotonic(table: DistinctTable) -> Shape:
    """Isotonic regression, with lines between the mean predictions of its blocks: without ties."""
    blocks = isotonic_blocks(table)
    total = blocks.negative + blocks.positive
    rate = blocks.positive / total
    # Blocks without events, or of events alone, exist only at the ends; half a row keeps their
    # values off 0 and 1, but not beyond those of their neighbours.
    inner = rate[(rate > 0) & (rate < 1)]
    # rates of 0 and 1 become those of half a row among one more, if no other rate is nearer
    low = min(_HALF_ROW / (total[0] + 1), inner.min(initial=1.0))
    high = max(1 - _HALF_ROW / (total[-1] + 1), inner.max(initial=0.0))
    return Shape(blocks.prob, np.clip(rate, low, high))


def _bins(table: DistinctTable, n_bins: int) -> Shape:
    """The event rate in bins of equal weight, with a row of the overall rate added to each."""
    total = table.negative + table.positive
    first = equal_weight_bins(total, n_bins)
    positive = np.add.reduceat(table.positive, first)
    weight = np.add.reduceat(total, first)
    between = (table.prob[first[1:] - 1] + table.prob[first[1:]]) / 2
    rate = (positive + _PRIOR_ROWS * _event_rate(table)) / (weight + _PRIOR_ROWS)
    return Shape(between, rate)


def _constant(table: DistinctTable) -> Shape:
    return Shape(np.zeros(0), np.array([_event_rate(table)]))


def _event_rate(table: DistinctTable) -> float:
    """Return the event rate, with half a row of either outcome added: neither 0 nor 1."""
    positive = table.positive.sum()
    total = table.negative.sum() + positive
    return float((positive + _HALF_ROW) / (total + 2 * _HALF_ROW))


BINS = {"bins_8": 8, "bins_32": 32, "bins_128": 128}
"""The number of bins of the methods that are made of bins."""

_SHAPES: dict[str, Callable[[DistinctTable], Shape]] = {
    "isotonic": _isotonic,
    **{name: partial(_bins, n_bins=n_bins) for name, n_bins in BINS.items()},
    "constant": _constant,
}


def _drawn(table: DistinctTable, name: str) -> PiecewiseMap:
    return _SHAPES[name](table).as_map()


def _none(_: DistinctTable) -> PiecewiseMap:
    return IDENTITY


METHODS: dict[str, Method] = {
    **{name: partial(_logistic, name=name) for name in LOGISTIC},
    "none": _none,
    **{name: partial(_drawn, name=name) for name in _SHAPES},
}
"""Every method by name."""

FORMULAS = (*LOGISTIC, "none")
"""The methods whose maps mean something where there were no rows: a formula continues as a formula.
"""


def fitted_values(methods: Sequence[str], prob: Floats, weight: Floats) -> Floats:
    """Fit methods to several tables of the same predictions: the values there.

    They are by method, table and prediction; those of logistic regressions are not yet drawn with
    straight pieces. `weight` has the number of rows by table, outcome and prediction.
    """
    values = np.empty((len(methods), len(weight), len(prob)))
    tables = [DistinctTable(prob, *outcomes).occupied() for outcomes in weight]
    columns = _columns(prob, *_finite_ends(prob[weight.any(axis=(0, 1))]))
    for value, name in zip(values, methods, strict=True):
        if name in LOGISTIC:
            formula = _formula(name, prob, weight)
            value[:] = inner_expit(_fit_columns(prob, weight, formula) @ columns)
        elif name == "none":
            value[:] = prob
        else:
            value[:] = [_SHAPES[name](table).at(prob) for table in tables]
    return values


def check_shape(pieces: PiecewiseMap, method: str) -> None:
    """Refuse a map that cannot be of this method."""
    if method in LOGISTIC:
        _check(pieces.rises or pieces.falls, "rise or fall", method)
    elif method == "isotonic":
        _check(pieces.rises, "rise", method)
    elif method == "none":
        is_identity = (pieces.apply(pieces.edges) == pieces.edges).all()
        _check(pieces.rises and bool(is_identity), "be p itself", method)
    elif method == "constant":
        _check(pieces.rises and pieces.falls, "be level", method)


def _check(is_right: bool, shape: str, method: str) -> None:
    if not is_right:
        raise InputError(f"'map' must {shape} everywhere, as the method is {method!r}")
