"""Population values of measures in the example model: quadrature, with a bound on the error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.sample.sample import Sample
from rainproof.measures.catalogue import CATALOGUE
from rainproof.measures.measure import Measure
from rainproof.paper.model import ExampleModel, LogisticPredictor, interval_means

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

    Interval ends include all points where the prediction is on a grid (which makes rounding to that grid exact), and no
    interval is longer than ``1/cells``.
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
    def of(cls, model: ExampleModel, predictor: LogisticPredictor, cells: int, grids: tuple[int, ...]) -> Cut:
        """Build the partition for these grids in p and ``cells`` equal intervals in x."""
        edges = np.unique(np.concatenate([np.linspace(0, 1, cells + 1), *(_level(predictor, g) for g in grids)]))
        low, high = edges[:-1], edges[1:]

        def product(x: Floats) -> Floats:
            return predictor(x) * model.mean(x)

        prob, events = predictor.mean(low, high), interval_means(model.mean, low, high)
        both = interval_means(product, low, high)
        with np.errstate(invalid="ignore", divide="ignore"):  # the quotient is not used where events are impossible
            given_event = np.where(events > 0, both / events, prob)
            given_none = np.where(events < 1, (prob - both) / (1 - events), prob)
        bounds = predictor(np.stack([low, high]))
        between = np.minimum(bounds[0], bounds[1]), np.maximum(bounds[0], bounds[1])
        return cls(
            low=low,
            high=high,
            mass=high - low,
            prob=np.clip(prob, *between),  # rounding could move a mean past the end, into the next bin
            events=np.clip(events, 0.0, 1.0),
            prob_given_event=np.clip(given_event, *between),
            prob_given_none=np.clip(given_none, *between),
            width=float(np.abs(bounds[1] - bounds[0]).max()),
            rise=float(np.abs(model.mean(high) - model.mean(low)).max())
            + 4 * model.alpha * float((high - low).max()) ** 2,
        )

    def sample(self) -> Sample:
        """Return a sample with one prediction per interval: its mean, with the event rate of the interval."""
        return self._sample(self.prob, self.prob)

    def sample_by_outcome(self) -> Sample:
        """Return a sample with two predictions per interval: the mean given the event and given no event.

        Random rounding to a grid is linear within an interval, so it gives the same result as on the population.
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
    Each interval of x is replaced by its mean prediction, with its event rate. This moves each p by at most d, the
    largest width of an interval in p. The effect on each measure:

    - SCDL, soft and hard, and binned ECE: none. Their grid points are interval ends, and rounding is linear in
      between (each outcome has its own mean prediction).
    - smCE: at most 2d, because :math:`(y - p) w(p)` changes by at most 2 |p - p'| for a 1-Lipschitz w.
    - ATB: at most 4d, because :math:`(y - p)(y' - p')(1 - |p - p'|)` changes by at most 4d.
    - distCal: at most d, plus 1/grid for the grid of the linear program.
    - ECE: the absolute value of a mean instead of the mean absolute value. They differ only in intervals where
      :math:`\mathrm{E}[y|x] - f(x)` changes sign, at most five (its third derivative has two zeros), by at most its
      range there.
    - Cutoff: the cutoff can fall inside an interval; at most the largest |bias| of two intervals.
    - CDL: the regret at a threshold changes by the weight of the interval it falls into, and by the range of the event
      rate where that crosses the threshold, at most twice. With monotone swaps, by the weight of two intervals; with
      constant swaps, of one.
    - Brier and log score: d times their largest slope in p.

    For smooth ECE, the interval error and quantile bins no bound is proved here (NaN): compare the values for several
    `cells`.

    Examples
    --------
    >>> from rainproof.paper import ExampleModel, population_values
    >>> model = ExampleModel(0.0)
    >>> population_values(model, model.limit(), "soft_binned_cdl")["soft_binned_cdl"].value < 0.02
    True
    """
    chosen = {name: CATALOGUE[name] for name in names} if names else dict(CATALOGUE)
    return {name: population_value(model, predictor, measure, cells=cells) for name, measure in chosen.items()}


def population_value(
    model: ExampleModel, predictor: LogisticPredictor, measure: Measure, *, cells: int = 1 << 14
) -> PopulationValue:
    """Compute one measure, with its options, on the population."""
    bins = int(measure.options.get("n_bins", 15))
    cut = Cut.of(model, predictor, cells, (_SOFT, bins))
    soft = measure.symbol.startswith("SCDL")
    value = measure(cut.sample_by_outcome() if soft else cut.sample())
    bound = _BOUNDS.get(measure.name.partition("[")[0], _unknown)
    error = _unknown(cut, predictor, measure) if "quantile" in measure.name else bound(cut, predictor, measure)
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
    """Return the rounding error if m* is among the grids of the partition, else a bound of order 1/m."""
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
    "lower_distance_to_calibration": lambda cut, _p, m: cut.width + 1 / m.options.get("grid", 1024) + 1e-8,
    "expected_calibration_error": lambda cut, _p, _m: 5 * float(cut.mass.max()) * (cut.width + cut.rise) + _ADDING,
    "binned_calibration_error": _exact,
    "cutoff_calibration_error": lambda cut, _p, _m: 2 * _largest_bias(cut) + _ADDING,
    "two_bin_calibration_error": lambda cut, _p, _m: 4 * cut.width + _ADDING,
    "brier_score": lambda cut, _p, _m: 2 * cut.width + _ADDING,
    "log_score": _log,
}
