"""The model of the paper's experiments, the logistic predictor fitted to it, and population values
by quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper.constructions import Floats
from rainproof import InputError, RainproofError, Sample, list_measures
from rainproof.measures import Measure

Seed = int | np.random.Generator | None

_STEPS = 100
_CLOSE = 1e-13  # size of the last Newton step


@dataclass(frozen=True, kw_only=True, slots=True)
class LogisticPredictor:
    r"""A predictor :math:`f(x) = 1 / (1 + e^{-(a + b x)})`, or :math:`1 - f`.

    Attributes
    ----------
    intercept, slope : float
        a and b.
    flipped : bool
        Whether the predictor is 1 - f, which the paper uses "to break monotonicity".

    Examples
    --------
    >>> from paper import LogisticPredictor
    >>> f = LogisticPredictor(intercept=0.0, slope=1.0)
    >>> float(f(0.0)), float(f.flip()(0.0))
    (0.5, 0.5)
    """

    intercept: float
    slope: float
    flipped: bool = False

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the prediction at x."""
        z = self._score(x)
        with np.errstate(over="ignore"):  # exp(-z) = inf gives the correct limit 0
            p: Floats = 1.0 / (1.0 + np.exp(-z))
        return p

    def flip(self) -> LogisticPredictor:
        """Return the predictor 1 - f."""
        return LogisticPredictor(
            intercept=self.intercept, slope=self.slope, flipped=not self.flipped
        )

    def inverse(self, p: ArrayLike) -> Floats:
        """Return the x at which the prediction is p, for 0 < p < 1 and a nonzero slope."""
        p = np.asarray(p, np.float64)
        logit = np.log(p) - np.log1p(-p)
        x: Floats = ((-logit if self.flipped else logit) - self.intercept) / self.slope
        return x

    def mean(self, low: ArrayLike, high: ArrayLike) -> Floats:
        """Return the mean prediction over each interval of x, by eight-point Gauss-Legendre
        quadrature.
        """
        return interval_means(self, low, high)

    def _score(self, x: ArrayLike) -> Floats:
        z = self.intercept + self.slope * np.asarray(x, np.float64)
        return -z if self.flipped else z


@dataclass(frozen=True, slots=True)
class ExampleModel:
    r"""The paper's example model: X uniform on [0, 1], and an event rate that mixes a parabola with
    a line.

    :math:`\mathrm{E}[Y \mid X = x] = \alpha (1 - 2x)^2 + (1 - \alpha) x`. At :math:`\alpha = 0` it
    increases with x, as a logistic regression does; at :math:`\alpha = 1` it decreases and
    increases again, as no monotone predictor does.

    Parameters
    ----------
    alpha : float
        The share of the parabola, in [0, 1].

    Notes
    -----
    No sample is needed to evaluate a predictor in this model: `population` computes every measure
    by quadrature, with a bound on the error.

    References
    ----------
    arXiv:2605.17749, Section 9, after Rossellini et al. (arXiv:2502.19851).

    Examples
    --------
    >>> from paper import ExampleModel
    >>> model = ExampleModel(0.5)
    >>> model.mean([0.0, 0.5, 1.0]).tolist()
    [0.5, 0.25, 1.0]
    >>> f = model.fit(500, rng=0)
    >>> value = model.population(f, "expected_calibration_error")["expected_calibration_error"]
    >>> f"{value.value:.4f} +- {value.error:.0e}"
    '0.1247 +- 6e-08'
    """

    alpha: float

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha must lie in [0, 1]; it is {self.alpha}")

    def mean(self, x: ArrayLike) -> Floats:
        """Return the probability of the event at x."""
        x = np.asarray(x, np.float64)
        return self.alpha * (1 - 2 * x) ** 2 + (1 - self.alpha) * x

    def sample(self, n: int, rng: Seed = None) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw n rows: feature x and outcome y."""
        generator = np.random.default_rng(rng)
        x = generator.random(n)
        return x, generator.random(n) < self.mean(x)

    def fit(self, n: int = 500, rng: Seed = None) -> LogisticPredictor:
        """Fit an unpenalized logistic regression to n new rows."""
        return fit_logistic(*self.sample(n, rng))

    def population(
        self, predictor: LogisticPredictor, *names: str, cells: int = 1 << 14
    ) -> dict[str, Any]:
        """Compute measures of the catalogue for this predictor on the population (see
        `population_values`).
        """
        return population_values(self, predictor, *names, cells=cells)

    def limit(self) -> LogisticPredictor:
        """Fit the same regression to the population: the limit of `fit` for many rows."""
        edges = np.linspace(0.0, 1.0, 4097)
        x = (edges[:-1] + edges[1:]) / 2
        y = np.repeat([0.0, 1.0], len(x))
        q = interval_means(self.mean, edges[:-1], edges[1:])
        return fit_logistic(np.tile(x, 2), y, weight=np.concatenate([1 - q, q]))


def fit_logistic(
    x: ArrayLike, y: ArrayLike, *, weight: ArrayLike | None = None
) -> LogisticPredictor:
    """Fit an unpenalized logistic regression of y on one feature x, by Newton's method.

    Parameters
    ----------
    x, y : array_like of shape (n,)
        The feature, and the outcome as 0 and 1.
    weight : array_like of shape (n,), optional
        The weight of each row.

    Returns
    -------
    LogisticPredictor

    Raises
    ------
    RainproofError
        If there is no finite optimum: one class only, or classes separated by a threshold on x.

    Examples
    --------
    >>> from paper import fit_logistic
    >>> f = fit_logistic([0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1])
    >>> round(float(f(0)), 6), round(float(f(1)), 6)
    (0.333333, 0.666667)
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    w = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)
    design = np.stack([np.ones(len(x)), x])
    beta = np.zeros(2)
    for _ in range(_STEPS):
        p = LogisticPredictor(intercept=float(beta[0]), slope=float(beta[1]))(x)
        gradient, curvature = design @ (w * (y - p)), (design * (w * p * (1 - p))) @ design.T
        if np.linalg.cond(curvature) > 1 / np.finfo(np.float64).eps:
            break
        step = np.linalg.solve(curvature, gradient)
        # limits the step where the likelihood is flat
        step /= max(1.0, float(np.abs(step).max()) / 10)
        beta = beta + step
        if np.abs(step).max() <= _CLOSE * (1 + np.abs(beta).max()):
            return LogisticPredictor(intercept=float(beta[0]), slope=float(beta[1]))
    raise RainproofError(
        "the logistic regression has no finite optimum: a threshold on x separates the classes, "
        "or x is constant"
    )


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def interval_means(function: Any, low: ArrayLike, high: ArrayLike) -> Floats:
    """Return the mean of a function over each interval, by eight-point Gauss-Legendre quadrature.

    For a logistic function on a short interval the error is below the rounding error of the sum.
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    at = low[..., None] + (high - low)[..., None] * (_NODES + 1) / 2
    means: Floats = function(at) @ (_WEIGHTS / 2)
    return means


_SOFT = 1 << 12  # SCDL_m is exact for all grids up to this
_ADDING = 1e-12  # rounding error of the sums


@dataclass(frozen=True, kw_only=True, slots=True)
class PopulationValue:
    """The value of a measure on the population.

    Attributes
    ----------
    name : str
        The measure's name in the catalogue.
    value : float
        Its value.
    error : float
        A bound on the error of `value`; NaN if none is known.
    cells : int
        The number of intervals of x in the quadrature.
    """

    name: str
    value: float
    error: float
    cells: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in built-in types."""
        return {"name": self.name, "value": self.value, "error": self.error, "cells": self.cells}


@dataclass(frozen=True, slots=True)
class Cut:
    """A partition of the population into short intervals of x.

    Interval ends include all points where the prediction is on a grid (which makes rounding to that
    grid exact), and no interval is longer than ``1/cells``.
    """

    low: Floats
    high: Floats
    mass: Floats
    prob: Floats  # the mean prediction of each
    events: Floats  # the mean outcome of each
    prob_given_event: Floats
    prob_given_none: Floats
    width: float  # of the widest, in p
    rise: float  # of the widest, in the mean outcome

    @classmethod
    def of(
        cls, model: ExampleModel, predictor: LogisticPredictor, cells: int, grids: tuple[int, ...]
    ) -> Cut:
        """Build the partition for these grids in p and ``cells`` equal intervals in x."""
        edges = np.unique(
            np.concatenate([np.linspace(0, 1, cells + 1), *(_level(predictor, g) for g in grids)])
        )
        low, high = edges[:-1], edges[1:]

        def product(x: Floats) -> Floats:
            return predictor(x) * model.mean(x)

        prob, events = predictor.mean(low, high), interval_means(model.mean, low, high)
        both = interval_means(product, low, high)
        # the quotient is not used where events are impossible
        with np.errstate(invalid="ignore", divide="ignore"):
            given_event = np.where(events > 0, both / events, prob)
            given_none = np.where(events < 1, (prob - both) / (1 - events), prob)
        bounds = predictor(np.stack([low, high]))
        between = np.minimum(bounds[0], bounds[1]), np.maximum(bounds[0], bounds[1])
        return cls(
            low=low,
            high=high,
            mass=high - low,
            # rounding could move a mean past the end, into the next bin
            prob=np.clip(prob, *between),
            events=np.clip(events, 0.0, 1.0),
            prob_given_event=np.clip(given_event, *between),
            prob_given_none=np.clip(given_none, *between),
            width=float(np.abs(bounds[1] - bounds[0]).max()),
            rise=float(np.abs(model.mean(high) - model.mean(low)).max())
            + 4 * model.alpha * float((high - low).max()) ** 2,
        )

    def sample(self) -> Sample:
        """Return a sample with one prediction per interval: its mean, with the event rate of the
        interval.
        """
        return self._sample(self.prob, self.prob)

    def sample_by_outcome(self) -> Sample:
        """Return a sample with two predictions per interval: the mean given the event and given no
        event.

        Random rounding to a grid is linear within an interval, so it gives the same result as on
        the population.
        """
        return self._sample(self.prob_given_none, self.prob_given_event)

    def _sample(self, none: Floats, event: Floats) -> Sample:
        y = np.repeat([0, 1], len(self.mass))
        weight = np.concatenate([self.mass * (1 - self.events), self.mass * self.events])
        return Sample(y, np.concatenate([none, event]), sample_weight=weight)


def population_values(
    model: ExampleModel, predictor: LogisticPredictor, *names: str, cells: int = 1 << 14
) -> dict[str, PopulationValue]:
    r"""Compute measures of the catalogue on the population, with a bound on the error.

    Parameters
    ----------
    model : ExampleModel
    predictor : LogisticPredictor
    *names : str
        Names of measures in the catalogue. Default: all.
    cells : int
        The least number of intervals of x; the error decreases with it.

    Returns
    -------
    dict of PopulationValue

    Notes
    -----
    Each interval of x is replaced by its mean prediction, with its event rate. This moves each p by
    at most d, the largest width of an interval in p. The effect on each measure:

    - SCDL, soft and hard, and binned ECE: none. Their grid points are interval ends, and rounding
      is linear in between (each outcome has its own mean prediction).
    - smCE: at most 2d, because :math:`(y - p) w(p)` changes by at most 2 |p - p'| for a 1-Lipschitz
      w.
    - ATB: at most 4d, because :math:`(y - p)(y' - p')(1 - |p - p'|)` changes by at most 4d.
    - distCal: at most d, plus 1/grid for the grid of the linear program.
    - ECE: the absolute value of a mean instead of the mean absolute value. They differ only in
      intervals where :math:`\mathrm{E}[y|x] - f(x)` changes sign, at most five (its third
      derivative has two zeros), by at most its range there.
    - Cutoff: the cutoff can fall inside an interval; at most the largest |bias| of two intervals.
    - CDL: the regret at a threshold changes by the weight of the interval it falls into, and by the
      range of the event rate where that crosses the threshold, at most twice. With monotone swaps,
      by the weight of two intervals; with constant swaps, of one.
    - Brier and log score: d times their largest slope in p.

    For smooth ECE and quantile bins no bound is proved here (NaN): compare the
    values for several `cells`.

    Examples
    --------
    >>> from paper import ExampleModel, population_values
    >>> model = ExampleModel(0.0)
    >>> population_values(model, model.limit(), "soft_binned_cdl")["soft_binned_cdl"].value < 0.02
    True
    """
    chosen = {name: list_measures()[name] for name in names or list_measures()}
    return {
        name: population_value(model, predictor, measure, cells=cells)
        for name, measure in chosen.items()
    }


def population_value(
    model: ExampleModel, predictor: LogisticPredictor, measure: Measure, *, cells: int = 1 << 14
) -> PopulationValue:
    """Compute one measure, with its options, on the population."""
    bins = int(measure.options.get("n_bins", 15))
    cut = Cut.of(model, predictor, cells, (_SOFT, bins))
    soft = measure.symbol.startswith("SCDL")
    value = measure(cut.sample_by_outcome() if soft else cut.sample())
    bound = _BOUNDS.get(measure.name.partition("[")[0], _unknown)
    error = (
        _unknown(cut, predictor, measure)
        if "quantile" in measure.name
        else bound(cut, predictor, measure)
    )
    return PopulationValue(name=measure.name, value=value, error=error, cells=len(cut.mass))


def _level(predictor: LogisticPredictor, grid: int) -> Floats:
    """Return the x in (0, 1) at which the prediction is a multiple of 1/grid."""
    if predictor.slope == 0:
        return np.empty(0)
    x = predictor.inverse(np.arange(1, grid) / grid)
    return x[(x > 0) & (x < 1)]


def _unknown(_cut: Cut, _predictor: LogisticPredictor, _measure: Measure) -> float:
    return float("nan")


def _exact(_cut: Cut, _predictor: LogisticPredictor, _measure: Measure) -> float:
    return _ADDING


def _soft(cut: Cut, predictor: LogisticPredictor, measure: Measure) -> float:
    """Return the rounding error if m* is among the grids of the partition, else a bound of order
    1/m.
    """
    value = measure(cut.sample_by_outcome())
    return _ADDING if value >= 4 / _SOFT else 4 / _SOFT + _exact(cut, predictor, measure)


def _largest_bias(cut: Cut) -> float:
    return float((cut.mass * (np.abs(cut.events - cut.prob) + cut.width + cut.rise)).max())


def _cdl(cut: Cut, _predictor: LogisticPredictor, _measure: Measure) -> float:
    return 4 * float(cut.mass.max()) * (1 + cut.rise) + _ADDING


def _log(cut: Cut, predictor: LogisticPredictor, _measure: Measure) -> float:
    ends = predictor(np.array([0.0, 1.0]))
    return cut.width / float(min(ends.min(), 1 - ends.max())) + _ADDING


_Bound = Callable[[Cut, LogisticPredictor, Measure], float]
_BOUNDS: dict[str, _Bound] = {
    "soft_binned_cdl": _soft,
    "calibration_decision_loss": _cdl,
    "u_calibration_error": _cdl,
    "smooth_calibration_error": lambda cut, _p, _m: 2 * cut.width + _ADDING,
    "lower_distance_to_calibration": lambda cut, _p, m: (
        cut.width + 1 / m.options.get("grid", 1024) + 1e-8
    ),
    "expected_calibration_error": lambda cut, _p, _m: (
        5 * float(cut.mass.max()) * (cut.width + cut.rise) + _ADDING
    ),
    "binned_calibration_error": _exact,
    "cutoff_calibration_error": lambda cut, _p, _m: 2 * _largest_bias(cut) + _ADDING,
    "two_bin_calibration_error": lambda cut, _p, _m: 4 * cut.width + _ADDING,
    "brier_score": lambda cut, _p, _m: 2 * cut.width + _ADDING,
    "log_score": _log,
}
