"""Periods in which outcomes are missing more often than in the others, so that those that are known
may be special.

Outcomes that come late are not known at random: an event is often known at once, its absence when a
time limit has passed. Of the last days the known outcomes are then mostly events, however good the
forecast is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import gammaln

from rainproof.core.arrays import Floats

LEVEL = 0.001  # chance of naming any period, if outcomes are missing at one rate in all of them
LEAST_DIFFERENCE = 0.01  # of the share of missing outcomes: less changes an event rate by little
# Difference as a share of the rarer outcome, where that is less: all late outcomes may have it.
LEAST_OF_RARER = 0.1
_MOST_TERMS = 100_000  # of a tail: hundreds of standard deviations of a thousand million rows


def late_periods(
    known: Mapping[str, int], missing: Mapping[str, int], rarer: float
) -> tuple[str, ...]:
    """Return the periods in which outcomes are missing more often than in the others, in their
    order.

    Parameters
    ----------
    known, missing : mapping
        How many rows of each period have an outcome, and how many have none.
    rarer : float
        The share of the rarer outcome among those that are known.

    Notes
    -----
    Each period is compared with all others together by the exact test of Fisher, one-sided, at a
    level of `LEVEL` divided by the number of periods. Besides, the shares must differ by
    `LEAST_DIFFERENCE`, or by `LEAST_OF_RARER` of the rarer outcome. Periods that are found are left
    out, and the rest is compared again, until none is found: many late periods must not hide one
    another.
    """
    order = list(dict.fromkeys([*known, *missing]))
    missing_in = {period: missing.get(period, 0) for period in order}
    rows_in = {period: known.get(period, 0) + missing_in[period] for period in order}
    level = LEVEL / max(1, len(order))
    least = min(LEAST_DIFFERENCE, LEAST_OF_RARER * rarer)
    late = set[str]()
    while True:
        rest = [period for period in order if period not in late]
        n_all = sum(rows_in[period] for period in rest)
        missing_all = sum(missing_in[period] for period in rest)
        newly_late = set[str]()
        for period in rest:
            n = rows_in[period]
            absent = missing_in[period]
            others = n_all - n
            is_more = others > 0 and absent / n - (missing_all - absent) / others > least
            if is_more and more_missing_p_value(n, absent, n_all, missing_all) <= level:
                newly_late.add(period)
        if not newly_late:
            return tuple(period for period in order if period in late)
        late |= newly_late


def more_missing_p_value(n: int, missing: int, n_all: int, missing_all: int) -> float:
    """The chance that at least so many of n rows are among the missing ones, if those are drawn at
    random from all.
    """
    k = np.arange(missing, min(n, missing_all, missing + _MOST_TERMS) + 1, dtype=np.float64)

    def log_choose(total: float, some: Floats) -> Floats:
        return np.asarray(gammaln(total + 1) - gammaln(some + 1) - gammaln(total - some + 1))

    log_chance = log_choose(missing_all, k) + log_choose(n_all - missing_all, n - k)
    log_chance = log_chance - log_choose(n_all, np.array(float(n)))
    return min(1.0, float(np.exp(log_chance[n - k <= n_all - missing_all]).sum()))
