"""A p-value of calibration for rows in groups, by bets; for independent rows see
`rainproof.inference.calibration_tests`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logit

from rainproof.core.arrays import Floats
from rainproof.core.sample import Sample

# to 0 and 1 that log odds are told apart: beyond, a few rows would have all the weight
_NEAREST_PROBABILITY = 1e-3
_LARGEST_BET = 0.98  # of the wealth that a group can lose at most, so that no factor is 0
_LEVEL = 0.05  # of a test that the smallest bet is made for
# of what can be won: what can be lost counts as this much at least, for predictions next to 0
_LEAST_LOSS = 2.0**-40


def grouped_p_value(sample: Sample) -> float:
    r"""Return a p-value of perfect calibration that holds whatever the dependence within groups, at
    every size.

    Small values speak against calibration: the predictions are too high or too low on average, or
    too extreme or not extreme enough.

    Notes
    -----
    With :math:`f = 1`, with the log odds f of the prediction (clipped, less their mean), and with
    these times -1, let :math:`Z_g` be the sum of :math:`w f(p) (y - p)` over a group, and M the
    most that :math:`-Z_g` can be in any group. If each row has its event with probability p, the
    :math:`Z_g` have mean 0 given all predictions and are independent, so a wealth of 1 that is
    multiplied by :math:`1 + b Z_g / M` for every group is 1 in expectation. E is the mean of the
    wealth over the four functions and, for each, over bets b that halve from 0.98 to what suits so
    many groups. By Markov's inequality :math:`\min(1, 1/E)` is a p-value.
    """
    prob = sample.prob
    weight = sample.mass
    # weights over the largest, whose squares do not underflow
    spread = float(np.square(weight / weight.max()) @ (prob * (1 - prob)))
    if not spread > 0:  # every prediction with weight is 0 or 1
        is_impossible = (weight > 0) & (prob == 1.0 - sample.event)
        return 0.0 if is_impossible.any() else 1.0
    log_odds = logit(np.clip(prob, _NEAREST_PROBABILITY, 1 - _NEAREST_PROBABILITY))
    # of two parts of one row, with its event and without, it is that of the row
    variance = weight * prob * (1 - prob)
    # so that a bet on the spread says nothing of the mean
    centred = log_odds - float(variance @ log_odds) / float(variance.sum())
    too_low = np.ones(len(prob))
    logs = [log_wealth(sample, factor) for factor in (too_low, -too_low, centred, -centred)]
    # relative to the largest wealth, which may be too large for a number
    largest = max(float(log.max()) for log in logs)
    mean_wealth = sum(float(np.exp(log - largest).mean()) for log in logs) / len(logs)
    return min(1.0, math.exp(-(largest + math.log(mean_wealth))))


def log_wealth(sample: Sample, factor: Floats) -> Floats:
    """Return the logarithm of what each bet makes of 1, one step a group; the bets depend on
    predictions and weights alone.

    The smallest is the one at which so many groups, each of which adds half of the larger of what a
    group can lose and win at most, would be worth 1/level: where they add less, no bet is.

    Parameters
    ----------
    sample : Sample
        Rows in groups.
    factor : ndarray of shape (n,)
        The function of the predictions that residuals are multiplied by; it may be negative.
    """
    units = sample.units
    prob = sample.prob
    stake = sample.mass * factor
    most_lost = float(units.sums(np.maximum(stake * prob, -stake * (1 - prob))).max())
    most_won = float(units.sums(np.maximum(stake * (1 - prob), -stake * prob)).max())
    if most_won == 0:
        return np.zeros(1)
    most_lost = max(most_lost, _LEAST_LOSS * most_won)
    smallest_bet = min(1.0, math.sqrt(-2 * math.log(_LEVEL) / units.n))
    smallest_bet *= min(1.0, most_lost / most_won)
    halvings = math.ceil(-math.log2(smallest_bet))
    bets = _LARGEST_BET * 2.0 ** -np.arange(1 + halvings)
    gain = units.sums(stake * (sample.event - prob)) / most_lost
    return np.asarray(np.log1p(bets[:, np.newaxis] * gain).sum(axis=1))
