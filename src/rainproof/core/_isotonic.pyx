"""Isotonic regression by pooling adjacent violators."""

from libc.stdint cimport int64_t

import numpy as np


def pool_violators(const double[::1] negative, const double[::1] positive):
    """Return the blocks of the isotonic fit: the number of entries in each, and its weight by
    outcome.

    Entries are in increasing order of their prediction. Each starts as a block of its own; while
    the block before has an event rate at least as high, the two are merged. An entry is added once
    and a block merged at most once, so the cost is O(entries). Blocks hold sums rather than rates:
    integer weights are pooled without rounding error, and the rates that are compared are those
    that the caller computes from the same sums, so they increase strictly.
    """
    cdef Py_ssize_t n = negative.shape[0]
    cdef Py_ssize_t k
    cdef Py_ssize_t top = -1
    cdef double zeros, ones, rate
    size_array = np.empty(n, np.int64)
    sum_array = np.empty((2, n))
    rate_array = np.empty(n)
    cdef int64_t[::1] size = size_array
    cdef double[:, ::1] sums = sum_array
    cdef double[::1] rates = rate_array
    cdef int64_t members
    with nogil:
        for k in range(n):
            members = 1
            zeros = negative[k]
            ones = positive[k]
            rate = ones / (zeros + ones)
            while top >= 0 and rates[top] >= rate:
                members += size[top]
                zeros += sums[0, top]
                ones += sums[1, top]
                rate = ones / (zeros + ones)
                top -= 1
            top += 1
            size[top] = members
            sums[0, top] = zeros
            sums[1, top] = ones
            rates[top] = rate
    return size_array[: top + 1], sum_array[0, : top + 1], sum_array[1, : top + 1]
