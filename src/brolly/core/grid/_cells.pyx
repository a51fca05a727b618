"""Sums of cells: equal cells added up, and predictions rounded to a coarser grid."""

from libc.stdint cimport int64_t

from brolly.core._double_double cimport add_exactly

import numpy as np


cdef inline Py_ssize_t find(int64_t[::1] index, double[::1] weight, double[::1] positive,
                            Py_ssize_t* size, int64_t j) noexcept nogil:
    """Return the place of bin j: one of the last two, as cells are in order, or a new one at the end."""
    cdef Py_ssize_t end = size[0]
    if end > 0 and index[end - 1] == j:
        return end - 1
    if end > 1 and index[end - 2] == j:
        return end - 2
    index[end] = j
    weight[end] = positive[end] = 0.0
    size[0] = end + 1
    return end


def bins(const int64_t[::1] slot, const double[::1] weight, const double[::1] rise, int shift, bint soft):
    """Round the rows of these slots to a grid 2^shift times coarser; O(slots).

    A row with offset f in its coarse cell c goes to bin c with weight 1 - f and to bin c + 1 with
    weight f (soft), or to bin c (hard). Returns the occupied bins in order: index j, weight pi_j and
    weight of events s_j.
    """
    cdef Py_ssize_t k = slot.shape[0], r, at, size = 0
    cdef int64_t cell, coarse
    cdef double up, w, scale = 2.0 ** -shift
    index_array = np.empty(2 * k, np.int64)
    pi_array, s_array = np.empty(2 * k), np.empty(2 * k)
    cdef int64_t[::1] index = index_array
    cdef double[::1] pi = pi_array, s = s_array
    with nogil:
        for r in range(k):
            cell = slot[r] >> 1
            coarse = cell >> shift
            w = weight[r]
            up = (rise[r] + <double>(cell - (coarse << shift)) * w) * scale if soft else 0.0
            at = find(index, pi, s, &size, coarse)
            pi[at] += w - up
            if slot[r] & 1:
                s[at] += w - up
            if up > 0:
                at = find(index, pi, s, &size, coarse + 1)
                pi[at] += up
                if slot[r] & 1:
                    s[at] += up
    return index_array[:size], pi_array[:size], s_array[:size]


cdef inline void add_pair(double[:, ::1] into, Py_ssize_t at, double high, double low) noexcept nogil:
    """Add a pair `high + low` to another; exact if 106 bits hold the sum (see brolly.core.double_double)."""
    cdef double total = into[0, at], error = 0.0
    add_exactly(&total, &error, high)
    low += into[1, at] + error
    into[0, at] = total + low
    into[1, at] = low - (into[0, at] - total)


def pool(const int64_t[::1] slot, const int64_t[::1] count, const double[:, ::1] weight,
         const double[:, ::1] rise, const double[::1] squares):
    """Add up neighbouring entries of the same slot; the result has every slot once, in the given order."""
    cdef Py_ssize_t k = slot.shape[0], r, at = -1, size = 0
    for r in range(k):
        size += r == 0 or slot[r] != slot[r - 1]
    slot_array, count_array = np.empty(size, np.int64), np.zeros(size, np.int64)
    weight_array, rise_array, squares_array = np.zeros((2, size)), np.zeros((2, size)), np.zeros(size)
    cdef int64_t[::1] slots = slot_array, counts = count_array
    cdef double[:, ::1] weights = weight_array, rises = rise_array
    cdef double[::1] sums = squares_array
    with nogil:
        for r in range(k):
            if r == 0 or slot[r] != slot[r - 1]:
                at += 1
                slots[at] = slot[r]
            counts[at] += count[r]
            sums[at] += squares[r]
            add_pair(weights, at, weight[0, r], weight[1, r])
            add_pair(rises, at, rise[0, r], rise[1, r])
    return slot_array, count_array, weight_array, rise_array, squares_array
