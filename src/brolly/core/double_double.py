"""Sums that keep their rounding error: a value is the unevaluated pair ``high + low``.

A pair is an array of shape ``(2, k)``, ``high`` first. Two doubles carry 106 bits, which is enough
for the integers that `brolly.core.grid._scan` counts in, so adding and halving them loses nothing and
the order of additions cannot show.
"""

from __future__ import annotations

import numpy as np

from brolly.core.arrays import Floats


def two_sum(high: Floats, low: Floats) -> Floats:
    """The pair for ``high + low``, with ``high`` the double nearest to it (Knuth's TwoSum)."""
    total = high + low
    part = total - high
    return np.stack([total, (high - (total - part)) + (low - part)])


def add(a: Floats, b: Floats) -> Floats:
    """The pair for ``a + b``."""
    high, low = two_sum(a[0], b[0])
    return two_sum(high, low + (a[1] + b[1]))
