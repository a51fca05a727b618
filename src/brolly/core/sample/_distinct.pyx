"""Equal predictions, which are neighbours after sorting, are added up."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy

from brolly.core._double_double cimport add_exactly

import numpy as np


cdef enum:
    FEW = 24  # keys of a bucket that are moved to their places one by one; more are sorted before


def sorted_keys(const double[:] prob, const uint8_t[::1] event):
    """Return the keys of fewer than 2^31 rows in increasing order.

    Each key goes to one of n buckets of equal width, which takes two passes over the rows; then it has only a few keys
    to pass. A bucket of many, where predictions are close or equal, is sorted on its own.
    """
    cdef Py_ssize_t n = prob.shape[0], r, k
    cdef double buckets = <double>n, p
    cdef uint64_t key
    cdef int32_t begin, end
    result, ends = np.empty(n, np.uint64), np.zeros(n + 2, np.int32)
    cdef uint64_t[::1] out = result
    cdef int32_t[::1] at = ends  # where the next key of each bucket goes, after it is counted
    with nogil:
        for r in range(n):
            at[<Py_ssize_t>(prob[r] * buckets) + 1] += 1
        for k in range(n + 1):
            at[k + 1] += at[k]
        for r in range(n):
            p = prob[r] + 0.0  # -0.0 becomes 0.0
            memcpy(&key, &p, sizeof(key))
            k = <Py_ssize_t>(p * buckets)
            out[at[k]] = key << 1 | event[r]
            at[k] += 1
        begin = 0
        for k in range(n + 1):
            end = at[k]
            if end - begin > FEW:
                with gil:
                    result[begin:end].sort()
            begin = end
        for r in range(1, n):
            key, k = out[r], r
            while k > 0 and out[k - 1] > key:
                out[k] = out[k - 1]
                k -= 1
            out[k] = key
    return result


def pool(uint64_t[::1] key, const double[::1] weight):
    """Return the weight by outcome of each distinct prediction; keys are sorted, and `weight` None counts rows.

    A key holds the bits of a prediction, shifted up by one, and the outcome in the lowest bit. Predictions
    of weight zero are left out. Sums keep the rounding error of each addition. Distinct predictions take the place of
    the keys.
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
    sum_array, low_array = np.zeros((2, size)), np.zeros((2, size * weighted))
    cdef double[:, ::1] sums = sum_array, low = low_array
    cdef Py_ssize_t y
    with nogil:
        for r in range(n):
            if weighted:
                w = weight[r]
                if w == 0:
                    continue
            y, bits = key[r] & 1, key[r] >> 1
            if at < 0 or bits != key[at]:
                at += 1
                key[at] = bits
            if weighted:
                add_exactly(&sums[y, at], &low[y, at], w)
            else:
                sums[y, at] += 1.0  # whole numbers have no rounding errors
    if weighted:
        sum_array += low_array
    prob = np.asarray(key).view(np.float64)
    return prob if size == n else prob[:size].copy(), sum_array[0], sum_array[1]
