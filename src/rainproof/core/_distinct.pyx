"""Equal predictions, which are neighbours after sorting, are added up."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy

from rainproof.core._double_double cimport add_exactly

import numpy as np


cdef enum:
    FEW = 24  # keys of a bucket that are moved to their places one by one; more are sorted before

cdef uint64_t ONE = 0x3FF0000000000000  # the bits of 1.0

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t bucket(double p, Py_ssize_t n) noexcept nogil:
    """The bucket of a prediction: 1..n + 1; 0 if it is not in [0, 1]."""
    return <Py_ssize_t>(p * <double>n) + 1 if 0 <= p <= 1 else 0


cdef bint fill(const real[:] prob, const uint8_t[::1] event, uint64_t[::1] out,
               int32_t[::1] at) noexcept nogil:
    """Write the keys into buckets; at[k] is then the end of bucket k. Return False if predictions
    changed meanwhile.
    """
    cdef Py_ssize_t n = prob.shape[0], r, k
    cdef uint64_t key
    cdef double p
    for r in range(n):
        at[bucket(prob[r], n) + 1] += 1
    if at[1]:
        return False
    for k in range(n + 1):  # from the size of each bucket to where its next key goes
        at[k + 1] += at[k]
    for r in range(n):
        p = prob[r] + 0.0  # -0.0 becomes 0.0
        k = bucket(p, n)
        if k == 0 or at[k] == n:
            return False
        memcpy(&key, &p, sizeof(key))
        out[at[k]] = key << 1 | event[r]
        at[k] += 1
    return True


cdef bint settle(uint64_t[::1] out) noexcept nogil:
    """Move each key to its place; return False if that takes more steps than in buckets, or one is
    no prediction.
    """
    cdef Py_ssize_t n = out.shape[0]
    cdef Py_ssize_t r, k
    cdef Py_ssize_t steps = FEW * n
    cdef uint64_t key
    for r in range(1, n):
        key = out[r]
        k = r
        while k > 0 and out[k - 1] > key:
            out[k] = out[k - 1]
            k -= 1
        out[k] = key
        steps -= r - k
        if steps < 0:
            return False
    return out[n - 1] >> 1 <= ONE


cdef bint filled(const real[:] prob, const uint8_t[::1] event, uint64_t[::1] out, int32_t[::1] at):
    with nogil:
        return fill(prob, event, out, at)


def sorted_keys(prob, const uint8_t[::1] event):
    """Return the keys of fewer than 2^31 rows in increasing order.

    Each key goes to one of n + 1 buckets of equal width, which takes two passes over the rows; then
    it has only a few keys to pass. A bucket of many, where predictions are close or equal, is
    sorted on its own. Return None if predictions are not in [0, 1], or changed between the passes:
    the rows belong to the caller.
    """
    cdef Py_ssize_t n = event.shape[0]
    cdef Py_ssize_t k
    cdef Py_ssize_t begin = 0
    result = np.empty(n, np.uint64)
    cdef uint64_t[::1] out = result
    cdef int32_t[::1] at = np.zeros(n + 3, np.int32)
    cdef bint same
    if prob.itemsize == 4:
        same = filled[float](prob, event, out, at)
    else:
        same = filled[double](prob, event, out, at)
    with nogil:
        if same:
            for k in range(1, n + 2):
                if at[k] - begin > FEW:
                    with gil:
                        result[begin : at[k]].sort()
                begin = at[k]
            same = settle(out)
    return result if same else None


def pool(uint64_t[::1] key, const double[::1] weight):
    """Return the weight by outcome of each distinct prediction; keys are sorted, and `weight` None
    counts rows.

    A key holds the bits of a prediction, shifted up by one, and the outcome in the lowest bit.
    Predictions of weight zero are left out. Sums keep the rounding error of each addition. The
    distinct predictions are written over the keys.
    """
    cdef Py_ssize_t n = key.shape[0]
    cdef Py_ssize_t r
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t at = -1
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
    sum_array = np.zeros((2, size))
    low_array = np.zeros((2, size * weighted))
    cdef double[:, ::1] sums = sum_array
    cdef double[:, ::1] low = low_array
    cdef Py_ssize_t y
    with nogil:
        for r in range(n):
            if weighted:
                w = weight[r]
                if w == 0:
                    continue
            y = key[r] & 1
            bits = key[r] >> 1
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
