"""The area under the ROC curve, and an interval that holds where events are few."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from rainproof.core.arrays import Floats
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Interval
from rainproof.core.sample import Sample
from rainproof.core.units import Units
from rainproof.inference.estimates import (
    UNSEEN,
    effective_units,
    has_few_clusters,
    inflation,
    largest_share,
    student_quantile,
)
from rainproof.inference.options import bisected

_HALVINGS = 40  # of the distance from the area to 0 or 1, where an end is looked for
# rows of the rarer outcome at which the variance of the rows counts as much as that of the model
_ROWS_OF_EQUAL_TRUST = 20.0


def auroc(sample: Sample) -> float | None:
    """The area under the ROC curve; None if all outcomes are the same."""
    table = sample.distinct()
    others = np.flatnonzero(table.negative)
    events = np.flatnonzero(table.positive)
    if not len(others) or not len(events):
        return None
    # separated outcomes exactly: sums of weights are so up to rounding
    if others[-1] < events[0]:
        return 1.0
    if events[-1] < others[0]:
        return 0.0
    negative, positive = _shares_by_outcome(table)
    return min(float(positive @ (negative.cumsum() - negative / 2)), 1.0)


def _shares_by_outcome(table: DistinctTable) -> tuple[Floats, Floats]:
    """The share of each prediction among the rows without the event, and among those with it."""
    return table.negative / table.negative.sum(), table.positive / table.positive.sum()


def auroc_interval(
    sample: Sample, units: Units, prob: Floats, confidence_level: float
) -> Interval | None:
    """The area under the ROC curve with its interval; None if all outcomes are the same.

    The interval has all values that are in DeLong's, symmetric on the logit scale, or in the score
    interval of Hanley and McNeil's variance, which is scaled to DeLong's the more, the more rows
    have the rarer outcome.
    """
    area = auroc(sample)
    if area is None:
        return None
    if area in (0.0, 1.0):
        return _interval_if_separated(area, units, confidence_level)
    delong = _delong(sample, units, prob, area)
    quantile = student_quantile(units, confidence_level)
    # on the logit scale, on which the interval stays within 0 and 1
    middle = logit(area)
    half = quantile * math.sqrt(delong.variance) / (area * (1 - area))
    model_variance = _pairs_variance(area, delong.n_without, delong.n_events)
    trust = units.rarer / (units.rarer + _ROWS_OF_EQUAL_TRUST)
    scale = (delong.variance / model_variance) ** trust

    def is_outside(value: float) -> bool:
        variance = _pairs_variance(value, delong.n_without, delong.n_events)
        return bool((value - area) ** 2 > quantile**2 * scale * variance)

    low = min(expit(middle - half), bisected(is_outside, area, 0.0, _HALVINGS))
    high = max(expit(middle + half), bisected(is_outside, area, 1.0, _HALVINGS))
    return Interval(value=area, low=float(low), high=float(high), confidence_level=confidence_level)


def _interval_if_separated(area: float, units: Units, confidence_level: float) -> Interval:
    """The areas at which so many independent pairs are all in order, or none is, often enough."""
    pairs = units.rarer
    if units.unit is not None:  # two clusters make a pair, whatever their outcomes
        pairs = min(pairs, effective_units(units) / 2)
    end = ((1 - confidence_level) / 2) ** (1 / max(pairs, 1.0))
    if area == 1.0:
        return Interval(value=area, low=end, high=1.0, confidence_level=confidence_level)
    return Interval(value=area, low=0.0, high=1 - end, confidence_level=confidence_level)


class _DeLong(NamedTuple):
    """The variance of an area from its rows, and how many effective ones there are."""

    variance: float
    n_without: float
    n_events: float


def _delong(sample: Sample, units: Units, prob: Floats, area: float) -> _DeLong:
    """The variance from the share of the other outcome that each row is on the right side of."""
    table = sample.distinct()
    negative, positive = _shares_by_outcome(table)
    # at each distinct prediction; ties count as half
    events_above = np.cumsum(positive[::-1])[::-1] - positive / 2
    others_below = np.cumsum(negative) - negative / 2
    influence = np.zeros(len(prob))
    variance = 0.0
    unseen = 0.0
    effective_n = []
    for outcome, on_right_side in ((False, events_above), (True, others_below)):
        counted = (units.event == outcome) & (units.share > 0)
        total = units.share[counted].sum()
        share = units.share[counted] / total
        single = units.single[counted] / total
        place = np.searchsorted(table.prob, prob[counted])
        widening = math.sqrt(inflation(units.effective(outcome=outcome)))
        deviation = (on_right_side[place] - area) * widening
        variance += float((share * single) @ deviation**2)
        influence[counted] = share * deviation
        effective_n.append(1 / float(share @ single))
        # one more group like the largest, of rows with this outcome, as far off as rows are
        if has_few_clusters(units):
            largest = largest_share(units)
            weight = largest / (largest + float(total))
            unseen += 2 * UNSEEN * weight**2 * float(share @ deviation**2)
    if units.unit is not None:
        sums = units.sums(influence)
        variance = float(sums @ sums) + unseen
    return _DeLong(variance, n_without=effective_n[0], n_events=effective_n[1])


def _pairs_variance(area: float, n_without: float, n_events: float) -> float:
    """The variance of the area for so many rows of exponential scores (Hanley and McNeil;
    Newcombe's method 5).
    """
    mean_n = (n_without + n_events) / 2
    pairs_with_a_common_row = (1 - area) / (2 - area) + area / (1 + area)
    of_pairs = area * (1 - area) * (1 + (mean_n - 1) * pairs_with_a_common_row)
    return of_pairs / (n_without * n_events)
