"""The methods of recalibration: each fits one map to predictions and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from rainproof.core._isotonic import pool_violators
from rainproof.core.arrays import Floats
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import PiecewiseMap
from rainproof.errors import InputError
from rainproof.fits.bins import equal_weight_bins
from rainproof.fits.logistic import NormalPrior, fit_logistic_with_prior

# predictions nearer to 0 or 1 count like this one: their logits would outweigh all others
NEAREST = 1e-9
_LARGEST_LOGIT = 36.0  # that of 1 - 2**-52, the largest value below 1 that a map has
# of the coefficients around those of the identity: weak, but no data can send them to infinity
_PRIOR = 1 / 4**2
_SEGMENT_PRIOR = 1 / 0.5**2

IDENTITY = PiecewiseMap(np.array([0.0, 1.0]), np.zeros(1), np.ones(1))

Method = Callable[[DistinctTable], PiecewiseMap]
"""Fits a map to distinct predictions in increasing order, with the number of rows of each outcome.
"""


def _rate(table: DistinctTable) -> float:
    """The event rate, with half a row of either outcome added: neither 0 nor 1."""
    positive, total = table.positive.sum(), table.negative.sum() + table.positive.sum()
    return float((positive + 0.5) / (total + 1))


def _columns(p: Floats, least: float, most: float) -> Floats:
    """``log p``, ``-log(1 - p)`` and 1, of which curves are combinations; `p` is clipped to [least,
    most].
    """
    p = np.clip(p, least, most)
    return np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)])


def _finite_ends(prob: Floats) -> tuple[float, float]:
    """The predictions that 0 and 1 count like, as their logits are infinite, given predictions in
    increasing order.

    Where rows have the prediction 0, it counts like half of the next one: nearer to 0, few rows
    would decide where the curve goes. Where none has, the curve goes on as far as logits are of
    use.
    """
    inside = prob[(prob > 0) & (prob < 1)]
    low, high = (inside[0], inside[-1]) if len(inside) else (0.5, 0.5)
    least = low / 2 if prob[0] == 0 else 0.0
    most = (1 + high) / 2 if prob[-1] == 1 else 1.0
    return max(float(least), NEAREST), min(float(most), 1 - NEAREST)


def _coefficients(prob: Floats, weight: Floats, slopes: Floats) -> Floats:
    """Fit a logistic function of combinations of `_columns` to each of several tables of the same
    predictions.

    Coefficients are combinations of the rows of `slopes`, with a normal prior around the identity,
    with a standard deviation of 4. `weight` has the number of rows by table, outcome and
    prediction.
    """
    some = weight.any(axis=(0, 1))
    prob, weight = prob[some], weight[:, :, some]
    x, pooled = _pooled(_columns(prob, *_finite_ends(prob)), weight)
    x, centre = slopes @ x, np.sign(slopes[:, 0] + slopes[:, 1])
    prior = NormalPrior(centre, _PRIOR)
    found: Floats = fit_logistic_with_prior(x, pooled[:, 0], pooled[:, 1], prior) @ slopes
    if (slopes[:, 0] != slopes[:, 1]).any():  # slopes of their own for log p and -log(1 - p)
        _drop_negative(found, prob, weight, slopes)
    return found


def _drop_negative(found: Floats, prob: Floats, weight: Floats, slopes: Floats) -> None:
    """Fit tables with a negative slope again, without it: the most likely curve that rises (Kull et
    al. 2017).

    The cost is convex, so that a slope that is negative where it is free is 0 where it must not be
    negative.
    """
    is_negative = found[:, :2] < 0
    for pattern in np.unique(is_negative[is_negative.any(axis=1)], axis=0):
        tables = (is_negative == pattern).all(axis=1)
        kept = slopes[~slopes[:, :2][:, pattern].any(axis=1)]
        found[tables] = _coefficients(prob, weight[tables], kept)


_ONE_SLOPE = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
LOGISTIC = {"logistic": _ONE_SLOPE, "beta": np.eye(3), "temperature": _ONE_SLOPE[:1]}
"""The slopes of the methods that are logistic regressions."""


def _logistic(table: DistinctTable, name: str) -> PiecewiseMap:
    least, most = _finite_ends(table.prob)
    (found,) = _coefficients(
        table.prob, np.stack([table.negative, table.positive])[None], LOGISTIC[name]
    )
    return PiecewiseMap.tabulate(lambda p: expit(found @ _columns(p, least, most)), (), least, most)


def _pooled(x: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Average columns over neighbours whose logits differ by less than 1/64; sum the rows of each
    table and outcome.
    """
    first = np.flatnonzero(np.diff(np.floor(64 * (x[0] + x[1])), prepend=-np.inf))
    total = weight.sum(axis=(0, 1))
    return np.add.reduceat(x * total, first, axis=1) / np.add.reduceat(
        total, first
    ), np.add.reduceat(weight, first, 2)


def expit(x: Floats) -> Floats:
    """The logistic function, a little off 0 and 1: no map makes them of other predictions."""
    return 1 / (1 + np.exp(-np.clip(x, -_LARGEST_LOGIT, _LARGEST_LOGIT)))


def log_odds(p: Floats) -> Floats:
    """The log odds of predictions, of which those nearer to 0 or 1 than 1e-9 count like these."""
    inside = np.clip(p, NEAREST, 1 - NEAREST)
    found: Floats = np.log(inside) - np.log1p(-inside)
    return found


Shape = tuple[Floats, Floats]
"""Places in increasing order, and values: straight lines between as many values, level beyond them;
or steps, if there is one value more: the first below the first place, the next from there on, and
so on."""


def _values(shape: Shape, prob: Floats) -> Floats:
    """Return the values at predictions in increasing order."""
    at, value = shape
    if len(value) == len(at):
        return np.interp(prob, at, value)
    ends = np.concatenate([[0], prob.searchsorted(at), [len(prob)]])
    return np.repeat(value, ends[1:] - ends[:-1])


def _pieces(shape: Shape) -> PiecewiseMap:
    """Draw it as a map."""
    at, value = shape
    if len(value) > len(at):
        return PiecewiseMap.steps(at, value)
    start, end = np.append(value[:1], value), np.append(value, value[-1:])
    return PiecewiseMap.from_ends(np.concatenate([[0.0], at, [1.0]]), start, end)


def _isotonic(table: DistinctTable) -> Shape:
    """Isotonic regression, with straight lines between the mean predictions of its blocks: no ties
    where it rises.
    """
    size, negative, positive = pool_violators(table.negative, table.positive)
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    total = negative + positive
    centre = np.add.reduceat(table.prob * (table.negative + table.positive), first) / total
    value = positive / total
    # Blocks without events, or of events alone, exist only at the ends; half a row keeps their
    # values off 0 and 1.
    low, high = 0.5 / (total[0] + 1), 1 - 0.5 / (total[-1] + 1)
    inner = value[(value > 0) & (value < 1)]
    return centre, np.clip(
        value, min(low, inner.min(initial=low)), max(high, inner.max(initial=high))
    )


def _bins(table: DistinctTable, n_bins: int) -> Shape:
    """The event rate in bins of equal weight, with one row of the overall rate added to each."""
    total = table.negative + table.positive
    first = equal_weight_bins(total, n_bins)
    positive, weight = np.add.reduceat(table.positive, first), np.add.reduceat(total, first)
    cuts = (table.prob[first[1:] - 1] + table.prob[first[1:]]) / 2
    return cuts, (positive + _rate(table)) / (weight + 1)


_SHAPES: dict[str, Callable[[DistinctTable], Shape]] = {
    "isotonic": _isotonic,
    "bins_8": partial(_bins, n_bins=8),
    "bins_32": partial(_bins, n_bins=32),
    "bins_128": partial(_bins, n_bins=128),
    "constant": lambda table: (np.zeros(0), np.array([_rate(table)])),
}


def _drawn(table: DistinctTable, name: str) -> PiecewiseMap:
    return _pieces(_SHAPES[name](table))


FORMULAS = (*LOGISTIC, "none")
"""The methods whose maps mean something where there were no rows: a formula continues as a formula.
"""

METHODS: dict[str, Method] = {
    **{name: partial(_logistic, name=name) for name in LOGISTIC},
    "none": lambda _: IDENTITY,
    **{name: partial(_drawn, name=name) for name in _SHAPES},
}
"""Every method by name."""


_SHAPES_OF: dict[str, tuple[str, Callable[[PiecewiseMap], bool]]] = {
    **dict.fromkeys(LOGISTIC, ("rise or fall", lambda pieces: pieces.rises or pieces.falls)),
    "isotonic": ("rise", lambda pieces: pieces.rises),
    "none": (
        "be p itself",
        lambda pieces: pieces.rises and bool((pieces.apply(pieces.edges) == pieces.edges).all()),
    ),
    "constant": ("be level", lambda pieces: pieces.rises and pieces.falls),
}


def check_shape(pieces: PiecewiseMap, method: str) -> None:
    """Refuse a map that cannot be of this method."""
    shape, has_it = _SHAPES_OF.get(method, ("", lambda _: True))
    if not has_it(pieces):
        raise InputError(f"'map' must {shape} everywhere, as the method is {method!r}")


def fitted_values(methods: Sequence[str], prob: Floats, weight: Floats) -> Floats:
    """Fit methods to several tables of the same predictions: the values there, by method, table and
    prediction.

    Those of logistic regressions are not yet drawn with straight pieces. `weight` has the number of
    rows by table, outcome and prediction.
    """
    found = np.empty((len(methods), len(weight), len(prob)))
    tables = [DistinctTable(prob, *outcomes).occupied() for outcomes in weight]
    x = _columns(prob, *_finite_ends(prob[weight.any(axis=(0, 1))]))
    for value, name in zip(found, methods, strict=True):
        if name in LOGISTIC:
            value[:] = expit(_coefficients(prob, weight, LOGISTIC[name]) @ x)
        elif name == "none":
            value[:] = prob
        else:
            value[:] = [_values(_SHAPES[name](table), prob) for table in tables]
    return found


def correction(whole: PiecewiseMap, table: DistinctTable) -> PiecewiseMap:
    """Correct a map for the rows of one segment: a logistic regression on the logits of its values.

    The coefficients have a normal prior around "no correction", with a standard deviation of 1/2:
    few rows change little.
    """

    def logits(p: Floats) -> Floats:
        return np.stack([log_odds(whole.apply(p)), np.ones_like(p)])

    prior = NormalPrior(np.array([1.0, 0.0]), _SEGMENT_PRIOR)
    (coefficients,) = fit_logistic_with_prior(
        logits(table.prob), table.negative[np.newaxis], table.positive[np.newaxis], prior
    )
    return PiecewiseMap.tabulate(
        lambda p: expit(coefficients @ logits(p)), whole.edges, NEAREST, 1 - NEAREST
    )
