"""Net benefit at many thresholds at once, with intervals; what it means is in
`rainproof.decisions`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.core.units import Units
from rainproof.inference.estimates import (
    UNSEEN,
    inflated,
    inflation,
    interval_ends,
    unseen_share,
)


class BenefitCurve(NamedTuple):
    """The net benefit at each threshold, and the ends of its interval."""

    value: Floats
    low: Floats
    high: Floats


def net_benefits(units: Units, prob: Floats, mu: Floats, confidence_level: float) -> BenefitCurve:
    """Compute the net benefit of acting on predictions at each threshold.

    O(entries), and with clusters thresholds times clusters more.
    """
    thresholds, place = np.unique(mu, return_inverse=True)
    odds = thresholds / (1 - thresholds)
    # an entry is treated at this many thresholds, from the lowest
    n_treated = np.searchsorted(thresholds, prob, side="right")
    alarms, hits = _sums_of_treated(units, n_treated, len(thresholds), units.share)
    value = hits - odds * alarms
    if units.design.strata is not None:
        second, third = _moments_within_outcomes(units, prob, odds, alarms, hits)
    else:
        second, third = _moments(units, n_treated, odds, value)
    low, high = interval_ends(units, second, third, confidence_level)
    # all alarms, and all hits, are the limits of what is possible
    low = np.maximum(value + low, -odds)
    high = np.minimum(value + high, 1.0)
    return BenefitCurve(value[place], low[place], high[place])


def _sums_of_treated(
    units: Units, n_treated: Ints, n_thresholds: int, amount: Floats
) -> tuple[Floats, Floats]:
    """The sums of an amount over the entries without the event, and with it, that are treated at
    each threshold.
    """
    cells = n_thresholds + 1
    sums = np.bincount(n_treated + cells * units.event, amount, 2 * cells).reshape(2, cells)
    # of those that are treated at as many thresholds or more; the last sum is of all entries
    treated = sums[:, ::-1].cumsum(axis=1)[:, -2::-1]
    return treated[0], treated[1]


def _moments(units: Units, n_treated: Ints, odds: Floats, value: Floats) -> tuple[Floats, Floats]:
    """The variance and third moment at each threshold: a hit is 1, an alarm minus the odds."""
    square = units.share * units.single
    alarms, hits = _sums_of_treated(units, n_treated, len(odds), square)
    over_cases = hits + odds**2 * alarms - 2 * value * (hits - odds * alarms)
    # the square of (hit - odds alarm - value), multiplied out; rounding can take it below 0
    over_cases = np.maximum(over_cases + value**2 * square.sum(), 0.0)
    if units.unit is None:
        second = over_cases
        cube = square * units.single
        alarms3, hits3 = _sums_of_treated(units, n_treated, len(odds), cube)
        third = hits3 - odds**3 * alarms3 - 3 * value * (hits3 + odds**2 * alarms3)
        third += 3 * value**2 * (hits3 - odds * alarms3) - value**3 * cube.sum()
    else:
        second, third = _powers_of_clusters(units, n_treated, odds, value)
    # one more hit, or one more alarm
    unseen = np.stack([1 - value, -odds - value])
    unseen = unseen * unseen_share(units, second, over_cases, 1 + odds)
    second = inflated(units, second) + UNSEEN * (unseen**2).sum(axis=0)
    return second, third + UNSEEN * (unseen**3).sum(axis=0)


def _moments_within_outcomes(
    units: Units, prob: Floats, odds: Floats, alarms: Floats, hits: Floats
) -> tuple[Floats, Floats]:
    """The same where the number of cases with each outcome is given: the shares of events and of
    others that are treated are independent.
    """
    if (prob == 1).all():  # everyone is treated: nothing is left to chance
        return np.zeros(len(odds)), np.zeros(len(odds))
    second = np.zeros(len(odds))
    third = np.zeros(len(odds))
    for has_outcome, treated, payoff in ((units.event, hits, 1.0), (~units.event, alarms, -odds)):
        unit = float(units.single[has_outcome][0])
        total = float(units.share[has_outcome].sum())
        rate = np.clip(treated / total, 0.0, 1.0)
        spread = (total * rate * (1 - rate) * inflation(total / unit) + UNSEEN * unit) * unit
        second += payoff**2 * spread
        third += payoff**3 * spread * unit * (1 - 2 * rate)
    return second, third


def _powers_of_clusters(
    units: Units, n_treated: Ints, odds: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """The sums over clusters of squares and third powers at each threshold.

    From the highest threshold on, entries that are treated there are added to their clusters.
    """
    cluster = units.unit
    assert cluster is not None
    n_clusters = int(cluster.max()) + 1
    order = np.argsort(n_treated, kind="stable")
    start = np.searchsorted(n_treated[order], np.arange(len(odds) + 2))
    weight = np.bincount(cluster, units.share, n_clusters)
    hits = np.zeros(n_clusters)
    alarms = np.zeros(n_clusters)
    sums = np.zeros(n_clusters)
    spare = np.zeros(n_clusters)
    second = np.zeros(len(odds))
    third = np.zeros(len(odds))
    for k in range(len(odds) - 1, -1, -1):
        entry = order[start[k + 1] : start[k + 2]]
        share = units.share[entry]
        event = units.event[entry]
        np.add.at(hits, cluster[entry], share * event)
        np.add.at(alarms, cluster[entry], share * ~event)
        # in place: new arrays for each threshold cost more than the sums
        np.multiply(weight, -value[k], out=sums)
        sums += hits
        sums -= np.multiply(alarms, odds[k], out=spare)
        second[k] = sums @ sums
        third[k] = np.multiply(sums, sums, out=spare) @ sums
    return second, third
