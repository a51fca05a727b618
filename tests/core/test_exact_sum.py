"""Sums without rounding, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rainproof.core._exact_sum import add
from rainproof.core.arrays import EXACT_BINS, exact_units

numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30)


@given(numbers, st.integers(0, 30))
def test_any_doubles_in_any_parts(values, cut):
    array, found = np.array(values, np.float64), np.zeros(EXACT_BINS, np.uint64)
    add(array[:cut], found)
    add(array[cut:], found)
    assert exact_units(found) == sum(map(Fraction, values)) * 2**1074
