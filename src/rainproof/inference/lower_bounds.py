"""Lower bounds on a gain in the population, by bets on draws: the formula, for plain numbers.

What is bet on, and how it is chosen, is in `rainproof.inference.wagers` and in the modules of each
claim: `proven_losses`, `proven_gains`, `switch_gains`. Upper bounds are in
`rainproof.inference.bounds`. The proof is in docs/theory/bounds.md, "Lower bounds".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.inference.options import bisected

_FINE = 1e-10  # of a gain in [0, 1]: the largest bound is less than 1 by this
_HALVINGS = 34  # of the search for a bound: 2^-34 is below `_FINE`
_BETS = 2.0 ** -np.arange(1.0, 21.0)  # shares of the stake; the least is the best of 10^12 draws


@dataclass(frozen=True, slots=True, eq=False)
class Wager:
    """Bets on the draws of one block; draws that are alike are one entry.

    Attributes
    ----------
    stake : ndarray of shape (entries,)
        The weight of each draw over the largest possible one.
    count : ndarray of shape (entries,)
        How many draws are alike.
    gain : ndarray of shape (alternatives, entries)
        What each draw gains over each alternative.
    scale : ndarray of shape (alternatives, entries)
        The multiple of the bound that is subtracted from it.
    threshold : float
        Of two alternatives, never and always acting, the second is the better one if the event rate
        is at least this.
    """

    stake: Floats
    count: Floats
    gain: Floats
    scale: Floats
    threshold: float


def lower_bound(chains: Sequence[Sequence[Wager]], delta: float, bets: Floats) -> float:
    """Bound a gain from below by bets on draws, block after block; each chain of blocks bets on all
    of them anew.

    It is the largest r in [0, 1] for which bets on ``gain - r scale``, some share of the stake on
    each draw, multiply it by more than ``1/delta``, on average over the chains and the bets. If
    what each block bets on was chosen without its rows and those after it, and every choice gains
    at most r, then that happens with probability at most `delta`. 0 if there is none. Every proven
    gain of rainproof is this bound.
    """
    blocks: list[Wager] = []
    for chain in chains:
        blocks.extend(chain)
    if not blocks:
        return 0.0
    stake = np.concatenate([block.stake for block in blocks])
    count = np.concatenate([block.count for block in blocks])
    gain = np.concatenate([block.gain for block in blocks], axis=1)
    scale = np.concatenate([block.scale for block in blocks], axis=1)
    threshold = np.array([block.threshold for block in blocks])
    sizes = [len(block.stake) for block in blocks]
    first_entry = np.cumsum([0, *sizes[:-1]])
    blocks_of_chain = np.repeat(np.eye(len(chains)), [len(chain) for chain in chains], axis=1)

    def evidence(bound: float) -> float:
        """The logarithm of the mean wealth times delta: against the better alternative, whichever
        that is.
        """
        # Formula (6); it falls in `bound`, as neither choices nor bets depend on it.
        net = stake * (gain - bound * scale)
        growth = count * np.log1p(bets[:, None, None] * net)
        by_block = np.add.reduceat(growth, first_entry, axis=2)  # of each bet and alternative
        if len(gain) == 1:
            wealth = blocks_of_chain @ by_block[:, 0].T
        else:
            # The event rate decides which alternative is the better one at each threshold. It is
            # not known, so the smallest wealth over all rates that make a difference counts.
            rates = np.append(-np.inf, np.unique(threshold))
            always_acts = threshold <= rates[:, None, None]
            against = np.where(always_acts, by_block[:, 1], by_block[:, 0])
            wealth = blocks_of_chain @ against.swapaxes(1, 2)
        wealth = wealth.reshape(-1, len(chains) * len(bets))
        # No chain or bet can gain if there is no such decision, so their mean cannot either.
        smallest = np.logaddexp.reduce(wealth, axis=1).min()
        return float(smallest) + math.log(delta / wealth.shape[1])

    def is_proven(bound: float) -> bool:
        return evidence(bound) > 0

    largest = 1 - _FINE
    if not is_proven(0.0):
        return 0.0
    if is_proven(largest):
        return largest
    return bisected(is_proven, largest, 0.0, _HALVINGS)


def bets_on(draws: int, delta: float) -> Floats:
    """The bets on so many draws, as shares of the stake.

    They are at most 1/2, so that no factor is negative, and not below what can be best for so many
    draws. They depend on nothing but their number.
    """
    smallest = math.sqrt(2 * math.log(1 / delta) / max(draws, 1))
    size = int(np.sum(smallest <= _BETS))
    return _BETS[: max(1, size)]
