"""What a predictor is worth in the example model, known without a sample: quadrature, and how far it can be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from brolly.core.arrays import Floats
from brolly.core.sample.sample import Sample
from brolly.measures.catalogue import CATALOGUE
from brolly.measures.measure import Measure
from brolly.measures.soft_binned import soft_binned_cdl
from brolly.paper.model import ExampleModel, LogisticPredictor, interval_means

_SOFT = 1 << 12  # soft-binned losses are exact on all grids up to this
_ADDING = 1e-12  # what adding up this many doubles may lose


@dataclass(frozen=True, kw_only=True, slots=True)
class PopulationValue:
    """The value of a measure on the whole population.

    Attributes
    ----------
    name : str
        The measure, as the catalogue has it.
    value : float
        Its value.
    error : float
        How far from the truth it can be at most; NaN where no bound is known.
    cells : int
        Into how many intervals of x the population was cut.
    """

    name: str
    value: float
    error: float
    cells: int

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types."""
        return {"name": self.name, "value": self.value, "error": self.error, "cells": self.cells}


@dataclass(frozen=True, slots=True)
class Cut:
    """The population cut into intervals of x, in each of which the prediction and the mean move little.

    The intervals end where the prediction is a multiple of a grid's step (so that all that happens to
    such a grid is exact), and none is longer than ``1/cells``.
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
        """Cut for these grids in p, and for the quantiles of a grid of that size in x."""
        edges = np.unique(np.concatenate([np.linspace(0, 1, cells + 1), *(_level(predictor, g) for g in grids)]))
        low, high = edges[:-1], edges[1:]

        def product(x: Floats) -> Floats:
            return predictor(x) * model.mean(x)

        prob, events = predictor.mean(low, high), interval_means(model.mean, low, high)
        both = interval_means(product, low, high)
        with np.errstate(invalid="ignore", divide="ignore"):  # where nothing happens, nobody asks
            given_event = np.where(events > 0, both / events, prob)
            given_none = np.where(events < 1, (prob - both) / (1 - events), prob)
        bounds = predictor(np.stack([low, high]))
        between = np.minimum(bounds[0], bounds[1]), np.maximum(bounds[0], bounds[1])
        return cls(
            low=low,
            high=high,
            mass=high - low,
            prob=np.clip(prob, *between),  # a mean may round past the end, into the next bin
            events=np.clip(events, 0.0, 1.0),
            prob_given_event=np.clip(given_event, *between),
            prob_given_none=np.clip(given_none, *between),
            width=float(np.abs(bounds[1] - bounds[0]).max()),
            rise=float(np.abs(model.mean(high) - model.mean(low)).max())
            + 4 * model.alpha * float((high - low).max()) ** 2,
        )

    def sample(self) -> Sample:
        """One prediction for each interval: its mean, with the outcomes of the interval."""
        return self._sample(self.prob, self.prob)

    def sample_by_outcome(self) -> Sample:
        """Two predictions for each interval, the mean where the event happened and where it did not.

        Rounding to a grid at random is linear within an interval, so it does not see the difference from
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
    r"""The value of measures of the catalogue on the population, with a bound on the error.

    Parameters
    ----------
    model : ExampleModel
    predictor : LogisticPredictor
    *names : str
        Which measures of the catalogue; all if none is said.
    cells : int
        Into how many intervals of x the population is cut at least; the error falls with it.

    Returns
    -------
    dict of PopulationValue

    Notes
    -----
    X is cut into intervals, each of which is replaced by its mean prediction, with its own outcomes: the
    law of (p, y) with each p moved by at most the interval's width d in p. What that does to a measure:

    - SCDL, soft and hard, and binned ECE: nothing. Their grids' points are ends of intervals, and in
      between rounding is linear (the two outcomes keep a mean prediction each).
    - smCE: at most 2d, because :math:`(y - p) w(p)` moves by at most 2 |p - p'| for a 1-Lipschitz w.
    - distCal: at most d (move there first), and 1/grid for the linear program's own grid.
    - ECE: a sum of |means| in place of a mean of |.|: only intervals where :math:`\mathrm{E}[y|x] - f(x)` changes
      its sign lose, at most the range there; and it changes at most five times (its third derivative has two zeros).
    - Cutoff: an end within an interval, at most the largest |bias| of two intervals.
    - CDL: the regret of a threshold moves by the weight of the interval it falls into, and by the range of
      the mean outcome where that crosses it, at most twice. With monotone swaps, by the weight of two
      intervals; constant ones, of one.
    - Brier and log score: by their slopes in p.

    For smooth ECE, the interval error and quantile bins no bound is proved here (NaN): see how they change
    with `cells`.

    Examples
    --------
    >>> from brolly.paper import ExampleModel, population_values
    >>> model = ExampleModel(0.0)
    >>> population_values(model, model.limit(), "soft_binned_cdl")["soft_binned_cdl"].value < 0.02
    True
    """
    chosen = {name: CATALOGUE[name] for name in names} if names else dict(CATALOGUE)
    return {name: population_value(model, predictor, measure, cells=cells) for name, measure in chosen.items()}


def population_value(
    model: ExampleModel, predictor: LogisticPredictor, measure: Measure, *, cells: int = 1 << 14
) -> PopulationValue:
    """The same for one measure, with whatever options."""
    bins = int(measure.options.get("n_bins", 15))
    cut = Cut.of(model, predictor, cells, (_SOFT, bins))
    soft = measure.function is soft_binned_cdl
    value = measure(cut.sample_by_outcome() if soft else cut.sample())
    bound = _BOUNDS.get(measure.name.partition("[")[0], _unknown)
    error = _unknown(cut, predictor, measure) if "quantile" in measure.name else bound(cut, predictor, measure)
    return PopulationValue(name=measure.name, value=value, error=error, cells=len(cut.mass))


def _level(predictor: LogisticPredictor, grid: int) -> Floats:
    """Where in [0, 1] the prediction is a multiple of 1/grid."""
    if predictor.slope == 0:
        return np.empty(0)
    x = predictor.inverse(np.arange(1, grid) / grid)
    return x[(x > 0) & (x < 1)]


def _unknown(_cut: Cut, _predictor: LogisticPredictor, _measure: Measure) -> float:
    return float("nan")


def _exact(_cut: Cut, _predictor: LogisticPredictor, _measure: Measure) -> float:
    return _ADDING


def _soft(cut: Cut, predictor: LogisticPredictor, measure: Measure) -> float:
    """Nothing is lost while the balance is struck on a grid that the cut follows; else what 1/m leaves open."""
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
    "brier_score": lambda cut, _p, _m: 2 * cut.width + _ADDING,
    "log_score": _log,
}
