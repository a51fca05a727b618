"""Double-double arithmetic: a value is the unevaluated sum ``high + low`` of two doubles.

Pairs are arrays of shape ``(2, k)``, ``high`` first. Their 106 bits hold the integers that
`rainproof.core.grid._scan` counts in, so sums and halves of them are exact and do not depend on the order of
the additions.
"""

from __future__ import annotations

import numpy as np

from rainproof.core.arrays import Floats


def two_sum(high: Floats, low: Floats) -> Floats:
    """Return the pair for ``high + low`` whose first part is the nearest double (Knuth's TwoSum)."""
    total = high + low
    part = total - high
    return np.stack([total, (high - (total - part)) + (low - part)])


def add(a: Floats, b: Floats) -> Floats:
    """Return the pair for ``a + b``."""
    high, low = two_sum(a[0], b[0])
    return two_sum(high, low + (a[1] + b[1]))
