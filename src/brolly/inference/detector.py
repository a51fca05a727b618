"""When did a forecast change? An e-detector: bets against the forecast that started in any period, all added up."""

from __future__ import annotations

import math

import numpy as np

from brolly.core.arrays import Floats
from brolly.inference.bets import COUNT


class Detector:
    """Add up what bets against the forecast have won that put in 1 in each period (Shiryaev and Roberts).

    While the forecast is calibrated the sum grows by 1 a period in expectation, so it reaches ``1/alpha`` after
    ``1/alpha`` periods or more, on average. Then it starts anew.
    """

    def __init__(self, alpha: float) -> None:
        self._limit = -math.log(alpha)
        self._begin()

    def _begin(self) -> None:
        self._each = np.full(COUNT, -math.inf)
        self._factors: list[Floats] = []

    def update(self, factors: Floats) -> tuple[float, int, int] | None:
        """Learn the logarithms of what the bets of a period multiply their money by.

        If their sum reaches the limit return it, the number of periods since the change seems to have begun (the
        start from which the bets together have won most), and the bet that won most.
        """
        self._each = np.logaddexp(0.0, self._each) + factors
        self._factors.append(factors)
        top = float(self._each.max())
        self.log_sum = top + math.log(float(np.exp(self._each - top).mean()))
        if self.log_sum < self._limit:
            return None
        best, found = int(self._each.argmax()), math.exp(min(self.log_sum, 700.0))
        won = [float(np.logaddexp.reduce(part)) for part in np.cumsum(self._factors[::-1], axis=0)]
        self._begin()
        return found, int(np.argmax(won)) + 1, best
