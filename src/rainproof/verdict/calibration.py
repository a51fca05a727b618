"""Is the forecast honest: the test of calibration, and how the predictions are off, in the numbers
that people know.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from scipy.special import stdtr

from rainproof.core.arrays import Floats
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Interval, PredictionRange, Result, result_class
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample
from rainproof.core.units import Units
from rainproof.inference.estimates import (
    FEW_CLUSTERS,
    has_few_clusters,
    is_few,
    p_value_of_mean,
    prediction_less_outcome,
    rarer_in,
    student_quantile,
)
from rainproof.inference.grouped_test import grouped_p_value
from rainproof.inference.logistic_estimates import (
    calibration_intercept,
    calibration_slope,
    log_score_gains,
)

Direction = Literal["too high", "too low", "too extreme", "too timid", "uneven", "none"]

_LEVEL = 0.95  # of an interval that a standard error is read from
_LEAST_FREEDOM = 0.1
_BINS = 10  # of equal weight; ranges of predictions are runs of them
_NEAREST = 1e-6  # predictions nearer to 0 or 1 have log odds like this one
_A_UNIT = 64  # bins of log odds, in which rows that are alike otherwise are pooled


@result_class
class Calibration(Result):
    """Whether the predictions match the outcomes, and how they are off.

    Attributes
    ----------
    p_value : float
        Of the hypothesis that the forecast is calibrated. Exact for independent rows; with groups,
        or outcomes that are shares, approximate: of the mean and of the slope, by Student's law
        over groups. Where fewer than 20 effective groups have the rarer outcome it is that of bets
        on groups, which holds at any number of them.
    rejected : bool
        Whether the p-value is at most 1 minus the confidence level.
    direction : {"too high", "too low", "too extreme", "too timid", "uneven", "none"}
        How the predictions are off, if calibration is rejected: on average, or in their spread;
        else in places. Where both are clear, it is the one whose correction gains more in the log
        score: the best intercept at slope 1, or beyond it the best slope.
    mean_prediction, event_rate : float
        What the predictions say on average, and how often the event happened, on these rows.
    difference : Interval
        The first less the second, in the population.
    intercept, slope : Interval or None
        Of the logistic recalibration of the log odds; the intercept at slope 1. A slope below 1:
        too extreme. Predictions nearer than 1e-6 to 0 or 1 count as that far from them. None where
        there is none.
    most_biased : PredictionRange or None
        The range of predictions that is most off, in standard errors of a calibrated forecast; for
        predictions that are too extreme or too timid, the one at an end. None if all predictions
        are 0 or 1 and right.
    effective_clusters : float or None
        How many groups of equal weight with the rarer outcome are as many as these; None without
        groups.
    """

    _shown: ClassVar = ("direction", "p_value", "mean_prediction", "event_rate")

    p_value: float
    rejected: bool
    direction: Direction
    mean_prediction: float
    event_rate: float
    difference: Interval
    intercept: Interval | None
    slope: Interval | None
    most_biased: PredictionRange | None
    effective_clusters: float | None = None

    @property
    def by_bets(self) -> bool:
        """Whether so few clusters have the rarer outcome that the p-value is that of bets."""
        return is_few(self.effective_clusters)


def grouped_test(sample: Sample) -> float:
    """A p-value of calibration for rows in groups, or with outcomes that are shares.

    Where fewer than 20 effective groups have the rarer outcome it is that of bets on whole groups,
    which holds whatever the dependence and the number of groups, and rarely rejects. Else it is
    approximate: twice the smaller of two p-values by Student's law, that the mean prediction is the
    event rate, and that the slope of the logistic recalibration is 1, with variances over draws
    that are no less than those of a calibrated forecast. That of the mean allows for clusters that
    lack an outcome by chance (`rainproof.inference.absent_outcomes`).
    """
    if is_few(effective_clusters(sample)):
        return grouped_p_value(sample)
    freedom = max(sample.effective_n - 1, _LEAST_FREEDOM)
    p_values = [p_value_of_mean(sample.units, sample.prob, freedom)]
    units, inside = _inside(sample)
    slope = calibration_slope(units, inside, _LEVEL)
    if slope is not None:
        error = (slope.high - slope.low) / 2 / student_quantile(units, _LEVEL)
        if 0 < error < math.inf:
            p_values.append(2 * float(stdtr(freedom, -abs(slope.value - 1) / error)))
    return min(1.0, 2 * min((p_value for p_value in p_values if p_value is not None), default=1.0))


def effective_clusters(sample: Sample) -> float | None:
    """How many groups of equal weight have the rarer outcome, if there are groups: of one row each,
    too.
    """
    return None if sample.groups is None else sample.units.rarer


def few_clusters(sample: Sample) -> str | None:
    """What to say where so few groups have the rarer outcome that nothing is said by a limit
    theorem.
    """
    units = sample.units
    if units.one_outcome or not has_few_clusters(units):
        return None
    return (
        f"{rarer_in(units)}, fewer than {FEW_CLUSTERS:.0f}: the p-value is that of bets, which "
        "rarely reject, and intervals allow for one more cluster, as large as the largest, with "
        "either outcome"
    )


def how_calibrated(sample: Sample, p_value: float, confidence_level: float) -> Calibration:
    """Say how predictions are off: on average or in their spread, whichever is clear and more; else
    in places.
    """
    difference = prediction_less_outcome(sample.units, sample.prob, confidence_level)
    units, inside = _inside(sample)
    slope = calibration_slope(units, inside, confidence_level)
    rejected = p_value <= 1 - confidence_level
    mean = difference.low > 0 or difference.high < 0
    spread = slope is not None and (slope.high < 1 or slope.low > 1)
    clusters = effective_clusters(sample)
    # bets won on the mean or on the spread, whatever the intervals still allow
    if is_few(clusters):
        mean = slope is None or _mostly_mean(units, inside)
        spread = not mean
    direction: Direction = "none"
    if rejected and slope is not None and spread and not (mean and _mostly_mean(units, inside)):
        direction = "too extreme" if slope.value < 1 else "too timid"
    elif rejected and mean:
        direction = "too high" if difference.value > 0 else "too low"
    elif rejected:
        direction = "uneven"
    return Calibration(
        p_value=p_value,
        rejected=rejected,
        direction=direction,
        mean_prediction=sample.mean_prediction,
        event_rate=sample.event_rate,
        difference=replace(difference, value=sample.mean_prediction - sample.event_rate),
        intercept=calibration_intercept(units, inside, confidence_level),
        slope=slope,
        most_biased=_most_biased(sample.distinct(), sample.n / sample.total_weight, direction),
        effective_clusters=clusters,
    )


def _mostly_mean(units: Units, prob: Floats) -> bool:
    """Whether the log score gains at least as much by correcting the mean as it then gains by the
    spread.
    """
    gains = log_score_gains(units, prob)
    return gains is None or gains[0] >= gains[1]


def _inside(sample: Sample) -> tuple[Units, Floats]:
    """The units with predictions of finite log odds; equal draws are pooled where their log odds
    are alike.
    """
    units = sample.units
    if units.unit is not None or units.has_weights:
        return units, np.clip(sample.prob, _NEAREST, 1 - _NEAREST)
    table = sample.distinct()
    prob = np.clip(table.prob, _NEAREST, 1 - _NEAREST)
    first = np.flatnonzero(
        np.diff(np.floor(_A_UNIT * (np.log(prob) - np.log1p(-prob))), prepend=-np.inf)
    )
    weight = np.stack([table.negative, table.positive])
    total, said = (np.add.reduceat(column, first, axis=1) for column in (weight, weight * prob))
    some = total > 0
    event = np.broadcast_to([[False], [True]], total.shape)[some]
    pooled = said[some] / total[some]
    rows = Rows(event.view(np.uint8), pooled, total[some] / sample.total_weight)
    return units.pooled(rows, units.single_of(event)), pooled


def _most_biased(
    table: DistinctTable, scale: float, direction: Direction
) -> PredictionRange | None:
    """Of all runs of bins of equal weight, the one that is farthest off for its chance
    variation.
    """
    prob = table.prob
    weight = table.negative + table.positive
    middle = np.cumsum(weight) - weight / 2
    bin_ = np.minimum((middle / weight.sum() * _BINS).astype(np.int64), _BINS - 1)
    first = np.flatnonzero(np.diff(bin_, prepend=-1))
    columns = (weight, table.positive, weight * prob, weight * prob * (1 - prob))
    sums = [np.append(0.0, np.cumsum(np.add.reduceat(column, first))) for column in columns]
    start, stop = np.triu_indices(len(first))
    n, events, said, chance = (total[stop + 1] - total[start] for total in sums)
    off = said - events
    if direction in ("too extreme", "too timid"):
        sign = 1 if direction == "too extreme" else -1
        ends = np.where(stop == len(first) - 1, off, np.where(start == 0, -off, 0.0)) * sign
        off = np.where((start == 0) & (stop == len(first) - 1), 0.0, np.maximum(ends, 0.0))
    # predictions may be as small as 5e-324
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        far = np.where(np.abs(off) > 1e-12 * n, off**2 / np.maximum(chance, 0.0), 0.0)
    k = int(np.argmax(far))
    if not far[k] > 0:
        return None
    last = np.append(first[1:], len(prob)) - 1
    return PredictionRange(
        low=float(prob[first[start[k]]]),
        high=float(prob[last[stop[k]]]),
        mean_prediction=float(said[k] / n[k]),
        event_rate=float(np.clip(events[k] / n[k], 0.0, 1.0)),
        n=float(n[k] * scale),
        events=float(events[k] * scale),
    )
