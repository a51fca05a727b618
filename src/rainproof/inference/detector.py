"""When did a forecast change? An e-detector: what each bet against the forecast has won since its best start."""

from __future__ import annotations

import math

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.inference.bets import COUNT


class Detector:
    """The mean, over the bets, of what 1 has become since the start that was best for the bet (Page's CUSUM).

    It is at most what 1 put on the bets in *each* period is worth altogether. While the forecast is calibrated that
    sum grows by 1 a period in expectation, so the mean reaches ``1/alpha`` after ``1/alpha`` periods or more, on
    average. Then it starts anew. The sum itself would reach it even if no bet ever wins anything.
    """

    def __init__(self, alpha: float) -> None:
        self._limit = -math.log(alpha)
        self._begin()

    def _begin(self) -> None:
        self._each = np.full(COUNT, -math.inf)
        self._factors: list[Floats] = []

    def update(self, factors: Floats) -> tuple[float, int, int] | None:
        """Learn the logarithms of what the bets of a period multiply their money by.

        If the mean reaches the limit return it, the number of periods since the change seems to have begun (the
        start from which the bets together have won most), and the bet that won most.
        """
        self._each = np.maximum(0.0, self._each) + factors
        self._factors.append(factors)
        top = float(self._each.max())
        self.log_mean = top + math.log(float(np.exp(self._each - top).mean()))
        if self.log_mean < self._limit:
            return None
        best, found = int(self._each.argmax()), math.exp(min(self.log_mean, 700.0))
        won = [float(np.logaddexp.reduce(part)) for part in np.cumsum(self._factors[::-1], axis=0)]
        self._begin()
        return found, int(np.argmax(won)) + 1, best
