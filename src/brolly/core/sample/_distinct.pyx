"""Equal predictions, which are neighbours after sorting, are added up."""

from libc.stdint cimport uint64_t

from brolly.core._double_double cimport add_exactly

import numpy as np


def pool(const uint64_t[::1] key, const double[::1] weight):
    """Return the weight by outcome of each distinct prediction; keys are sorted, and `weight` None counts rows.

    A key holds the bits of a prediction, shifted up by one, and the outcome in the lowest bit. Predictions
    of weight zero are left out. Sums keep the rounding error of each addition.
    """
    cdef Py_ssize_t n = key.shape[0], r, size = 0, at = -1
    cdef bint weighted = weight is not None
    cdef uint64_t bits = 0
    cdef double w
    with nogil:
        for r in range(n):
            if weighted and weight[r] == 0:
                continue
            if size == 0 or key[r] >> 1 != bits:
                bits = key[r] >> 1
                size += 1
    prob_array, sum_array, low_array = np.empty(size, np.uint64), np.zeros((2, size)), np.zeros((2, size * weighted))
    cdef uint64_t[::1] prob = prob_array
    cdef double[:, ::1] sums = sum_array, low = low_array
    cdef Py_ssize_t y
    with nogil:
        for r in range(n):
            if weighted:
                w = weight[r]
                if w == 0:
                    continue
            if at < 0 or key[r] >> 1 != prob[at]:
                at += 1
                prob[at] = key[r] >> 1
            y = key[r] & 1
            if weighted:
                add_exactly(&sums[y, at], &low[y, at], w)
            else:
                sums[y, at] += 1.0  # whole numbers have no rounding errors
    if weighted:
        sum_array += low_array
    return prob_array.view(np.float64), sum_array[0], sum_array[1]
