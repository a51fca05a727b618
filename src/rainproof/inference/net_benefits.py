"""Net benefit at many thresholds at once, with intervals; what it means is in
`rainproof.decisions`.
"""

from __future__ import annotations

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.inference.estimates import UNSEEN, Influence, inflation


def net_benefits(
    rows: Influence, mu: Floats, confidence_level: float
) -> tuple[Floats, Floats, Floats]:
    """The net benefit at each threshold, and the ends of its interval.

    O(rows), and with groups thresholds times groups more.
    """
    thresholds, place = np.unique(mu, return_inverse=True)
    odds = thresholds / (1 - thresholds)
    # an entry is treated at this many thresholds, from the lowest
    n_treated = np.searchsorted(thresholds, rows.prob, side="right")
    alarms, hits = _sums_of_treated(rows, n_treated, len(thresholds), rows.share)
    value = hits - odds * alarms
    if rows.stratified:
        second, third = _moments_within_outcomes(rows, odds, alarms, hits)
    else:
        second, third = _moments(rows, n_treated, odds, value)
    low, high = rows.ends(second, third, confidence_level, symmetric=rows.clustered)
    low = np.maximum(value + low, -odds)
    high = np.minimum(value + high, 1.0)
    return value[place], low[place], high[place]


def _sums_of_treated(
    rows: Influence, n_treated: Ints, n_thresholds: int, amount: Floats
) -> tuple[Floats, Floats]:
    """The sums of an amount over the entries without the event, and with it, that are treated at
    each threshold.
    """
    cells = n_thresholds + 1
    sums = np.bincount(n_treated + cells * rows.event, amount, 2 * cells).reshape(2, cells)
    # of those that are treated at as many thresholds or more; the last sum is of all entries
    treated = sums[:, ::-1].cumsum(axis=1)[:, -2::-1]
    return treated[0], treated[1]


def _moments(
    rows: Influence, n_treated: Ints, odds: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """The variance and third moment at each threshold: of 1 for a hit, minus the odds for an alarm."""
    square = rows.share * rows.unit
    alarms, hits = _sums_of_treated(rows, n_treated, len(odds), square)
    over_rows = hits + odds**2 * alarms - 2 * value * (hits - odds * alarms)
    over_rows = np.maximum(over_rows + value**2 * square.sum(), 0.0)
    if rows.group is None:
        second = over_rows
        cube = square * rows.unit
        alarms3, hits3 = _sums_of_treated(rows, n_treated, len(odds), cube)
        third = hits3 - odds**3 * alarms3 - 3 * value * (hits3 + odds**2 * alarms3)
        third += 3 * value**2 * (hits3 - odds * alarms3) - value**3 * cube.sum()
    else:
        second, third = _powers_of_groups(rows, n_treated, odds, value)
    # one more hit, or one more alarm
    unseen = np.stack([1 - value, -odds - value])
    unseen = unseen * rows.unseen_share(second, over_rows, 1 + odds)
    second = rows.inflated(second) + UNSEEN * (unseen**2).sum(axis=0)
    return second, third + UNSEEN * (unseen**3).sum(axis=0)


def _moments_within_outcomes(
    rows: Influence, odds: Floats, alarms: Floats, hits: Floats
) -> tuple[Floats, Floats]:
    """The same where the number of rows with each outcome is given: the shares of events and of
    others that are treated are independent.
    """
    if (rows.prob == 1).all():  # everyone is treated: nothing is left to chance
        return np.zeros(len(odds)), np.zeros(len(odds))
    second = np.zeros(len(odds))
    third = np.zeros(len(odds))
    for has_outcome, treated, payoff in ((rows.event, hits, 1.0), (~rows.event, alarms, -odds)):
        unit = float(rows.unit[has_outcome][0])
        total = float(rows.share[has_outcome].sum())
        rate = np.clip(treated / total, 0.0, 1.0)
        spread = (total * rate * (1 - rate) * inflation(total / unit) + UNSEEN * unit) * unit
        second += payoff**2 * spread
        third += payoff**3 * spread * unit * (1 - 2 * rate)
    return second, third


def _powers_of_groups(
    rows: Influence, n_treated: Ints, odds: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """The sums over groups of squares and third powers at each threshold.

    From the highest threshold on, rows that are treated there are added to their groups.
    """
    group = rows.group
    assert group is not None
    n_groups = int(group.max()) + 1
    order = np.argsort(n_treated, kind="stable")
    start = np.searchsorted(n_treated[order], np.arange(len(odds) + 2))
    weight = np.bincount(group, rows.share, n_groups)
    hits = np.zeros(n_groups)
    alarms = np.zeros(n_groups)
    sums = np.zeros(n_groups)
    spare = np.zeros(n_groups)
    second = np.zeros(len(odds))
    third = np.zeros(len(odds))
    for k in range(len(odds) - 1, -1, -1):
        entry = order[start[k + 1] : start[k + 2]]
        share = rows.share[entry]
        event = rows.event[entry]
        np.add.at(hits, group[entry], share * event)
        np.add.at(alarms, group[entry], share * ~event)
        # in place: new arrays for each threshold cost more than the sums
        np.multiply(weight, -value[k], out=sums)
        sums += hits
        sums -= np.multiply(alarms, odds[k], out=spare)
        second[k] = sums @ sums
        third[k] = np.multiply(sums, sums, out=spare) @ sums
    return second, third
