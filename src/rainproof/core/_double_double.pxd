"""Sums that keep their rounding error, for the kernels (rainproof.core.arrays has the same for
arrays).
"""


cdef inline void add_exactly(double* total, double* low, double x) noexcept nogil:
    """total + low += x, with the rounding error of the sum moved into `low` (Knuth's TwoSum)."""
    cdef double s = total[0] + x
    cdef double part = s - total[0]
    low[0] += (total[0] - (s - part)) + (x - part)
    total[0] = s
