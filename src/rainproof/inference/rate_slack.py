"""How far event rates in ranges of predictions may be off, by chance: for ranges chosen beforehand.

These are bounds in either direction, for weights and groups of all kinds; the bounds on the loss of
decisions are in `rainproof.inference.bounds`.
"""

from __future__ import annotations

import math

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.inference.bounds import ANYTIME_PRIORS, ANYTIME_TILTS

_MOST_TILTS = 22  # of groups; more are of ranges that hold less than 4^-21 of the squared sizes


def rate_slack(draws: Floats, doubt: float) -> Floats:
    """How far means of values in [0, 1] may be off, given how many draws of the largest possible
    weight they are of.

    Each mean is off by more, in either direction, with a probability of at most `doubt`, whatever
    weights depend on.
    """
    chance = np.log(2 / (doubt * ANYTIME_PRIORS))[:, None]
    tilt = ANYTIME_TILTS[:, None]
    return np.asarray((tilt / 8 + chance / (tilt * draws)).min(axis=0))


def slack_of_groups(weight: Floats, products: Floats, sizes: Floats, doubt: float) -> Floats:
    r"""How far weighted event rates in ranges of predictions may be off, for groups of fixed sizes.

    `weight` has the weight W of all rows in each range, `products` the sum over its rows of their
    weight times the size (the weight) of their group. Each rate is off by more, in either
    direction, with a probability of at most `doubt`.

    Notes
    -----
    Let q be the rate of the range in the population, T in [0, 1] the share of a group of size s
    that lies in the range, and r the rate there. If sizes do not depend on predictions or outcomes,
    ``T (r - q)`` has mean 0 given s, and

    .. math:: \exp(x T (r - q) - x^2 T / 8) \le 1 - T + T \exp(x (r - q) - x^2 / 8)

    has mean at most 1 (Hoeffding's lemma). So for each fixed tilt x the rate is off by more than
    ``x products / 8 W + log(2 / doubt) / (x W)`` with a probability of at most `doubt`. The best
    tilt depends on `products`, which depend on the rows. So several are tried, at equal shares of
    the error probability: the best one for a range that holds all rows, and its multiples by powers
    of 2, up to the best one for a range of the smallest group alone.
    """
    relative = sizes[sizes > 0] / sizes.max()
    squares = float((relative * relative).sum())
    tilts_tried = min(_MOST_TILTS, math.ceil(math.log(squares / relative.min() ** 2, 4)) + 1)
    chance = math.log(2 * tilts_tried / doubt)
    tilt = 2.0 ** np.arange(tilts_tried)[:, None] * math.sqrt(8 * chance / squares) / sizes.max()
    return np.asarray((tilt * products / 8 + chance / tilt).min(axis=0) / weight)
