"""Isotonic regression: neighbours whose frequencies fall are pooled until none do."""

from libc.stdint cimport int64_t

import numpy as np


def pool_violators(const double[::1] negative, const double[::1] positive):
    """The blocks of the isotonic fit: how many entries each has, and its weight by outcome.

    Entries come in increasing order of their prediction. Each is a block of its own at first; while the
    block before has a frequency at least as high, the two become one (pool adjacent violators). An entry
    is added once and a block dissolved at most once, so the cost is O(entries). Blocks hold sums rather
    than frequencies: whole weights are pooled without rounding error, and the frequencies compared are the
    ones the caller gets from the same sums, so they increase strictly from block to block.
    """
    cdef Py_ssize_t n = negative.shape[0], k, top = -1
    cdef double zeros, ones, rate
    size_array, sum_array, rate_array = np.empty(n, np.int64), np.empty((2, n)), np.empty(n)
    cdef int64_t[::1] size = size_array
    cdef double[:, ::1] sums = sum_array
    cdef double[::1] rates = rate_array
    cdef int64_t members
    with nogil:
        for k in range(n):
            members, zeros, ones = 1, negative[k], positive[k]
            rate = ones / (zeros + ones)
            while top >= 0 and rates[top] >= rate:
                members += size[top]
                zeros += sums[0, top]
                ones += sums[1, top]
                rate = ones / (zeros + ones)
                top -= 1
            top += 1
            size[top], sums[0, top], sums[1, top], rates[top] = members, zeros, ones, rate
    return size_array[: top + 1], sum_array[0, : top + 1], sum_array[1, : top + 1]
