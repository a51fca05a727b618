"""The search for the grid m* that decides SCDL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

TIE = 1e-12  # a loss this close to 1/m is equal to it: rounding must not decide which grid is m*
_FINEST = 1100  # an exponent beyond those of doubles


class GridSearch:
    """The search for m*, the smallest m = 2, 4, ... with SCDL_{2m} >= 1/m (Definition 3.2).

    Parameters
    ----------
    worst : callable
        Returns for a grid m the loss, as a sum over the rows, and its threshold i.
    grids : list of int
        The grids at which computing the loss becomes more expensive, increasing; none finer than the last is tried.
    total : float
        The weight of all rows.
    otherwise : int or float
        m* if no grid has SCDL_{2m} >= 1/m.
    """

    def __init__(
        self, worst: Callable[[int], tuple[float, int]], grids: Sequence[int], total: float, otherwise: int | float
    ) -> None:
        self._worst = worst
        self._total = total
        self.tried: dict[int, tuple[float, int]] = {}  # by grid m: SCDL_m and its threshold i
        self.m_star = self._find(grids, otherwise)

    @property
    def value(self) -> float:
        """SCDL."""
        return 0.0 if isinstance(self.m_star, float) else max(self.loss(self.m_star), 1 / self.m_star)

    def loss(self, m: int) -> float:
        """Return SCDL_m, computed once."""
        if m not in self.tried:
            loss, i = self._worst(m)
            self.tried[m] = loss / self._total, i
        return self.tried[m][0]

    def _find(self, grids: Sequence[int], otherwise: int | float) -> int | float:
        """Find m* on the cheapest grids first, as SCDL_m never decreases with m (Lemma 3.2).

        With ``e = _needed(SCDL_2m)``, ``m = 2^guess`` is fine enough if ``e <= guess``. Then no coarser grid than
        2^e is, as SCDL is no larger there; otherwise 2^e is, as SCDL is no smaller there.
        """
        low = 0  # exponents: 2^low is too coarse
        for grid in grids:
            high = grid.bit_length() - 2  # the finest that this grid can check
            found = high + 1  # the coarsest that is known to be fine enough, if any
            guess = min((low + high + 5) // 2, high)
            while low < min(found - 1, high):
                needed = _needed(self.loss(2 << guess))
                if needed <= guess:
                    low, found = max(low, needed - 1), guess
                    guess = low + 1
                else:
                    low, found = guess, min(found, needed)
                    guess = max(found - 1, low + 1)
            if found <= high:
                return 1 << found
        return otherwise


def balancing_loss(exponent: int | NDArray[np.int64]) -> Any:
    """Return the loss that grid 2m must have for m = 2^exponent to be fine enough: 1/m, or as good as."""
    return 0.5**exponent * (1 - TIE)


def _needed(loss: float) -> int:
    """Return the smallest exponent whose `balancing_loss` is at most this."""
    return 1 - math.frexp(loss / (1 - TIE))[1] if loss > 0 else _FINEST
