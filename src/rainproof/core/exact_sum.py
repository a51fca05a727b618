"""Sums of doubles without any rounding, so that the order of the terms cannot show."""

from __future__ import annotations

import numpy as np

from rainproof.core._exact_sum import add
from rainproof.core.arrays import Floats


class ExactSum:
    """The sum of finite doubles (fewer than 2**31) as an integer, in units of the smallest double."""

    def __init__(self) -> None:
        self._bins = np.zeros((1 << 12, 2), np.uint64)  # by sign and exponent

    def add(self, values: Floats) -> None:
        """Add an array."""
        add(values, self._bins)

    def units(self) -> int:
        """The sum in units of ``2**-1074``. A ratio of two such integers is rounded once."""
        total = 0
        for at in np.flatnonzero(self._bins.any(axis=1)).tolist():
            low, high = self._bins[at].tolist()
            shifted = (low + (high << 32)) << max((at & 0x7FF) - 1, 0)
            total += -shifted if at >> 11 else shifted
        return total
