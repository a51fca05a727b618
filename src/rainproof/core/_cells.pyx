"""Sums of cells: equal cells added up, and predictions rounded to a coarser grid."""

from libc.stdint cimport int64_t

from rainproof.core._double_double cimport add_exactly
from rainproof.core._rounding cimport most_bins, round_slots

import numpy as np


def bins(const int64_t[::1] slot, const double[::1] weight, const double[::1] rise, int64_t m,
         int shift, bint soft):
    """Round the rows of these slots to the grid 1/m, which is 2^shift times coarser; O(slots).

    Returns the occupied bins in order: index j, weight pi_j and weight of events s_j.
    """
    cdef Py_ssize_t size
    cdef Py_ssize_t slots = slot.shape[0]
    cdef Py_ssize_t most = most_bins(slots, m)
    index_array = np.empty(most, np.int64)
    pi_array = np.empty(most)
    s_array = np.empty(most)
    cdef int64_t[::1] index = index_array
    cdef double[::1] pi = pi_array
    cdef double[::1] s = s_array
    if not most:
        return index_array, pi_array, s_array
    with nogil:
        size = round_slots(&slot[0], &weight[0], &rise[0], slots, shift, soft, &index[0], &pi[0],
                           &s[0])
    return index_array[:size], pi_array[:size], s_array[:size]


cdef inline void add_pair(double[:, ::1] into, Py_ssize_t at, double high,
                          double low) noexcept nogil:
    """Add a pair `high + low` to another; exact if 106 bits hold the sum
    (see rainproof.core.arrays).
    """
    cdef double total = into[0, at]
    cdef double error = 0.0
    add_exactly(&total, &error, high)
    low += into[1, at] + error
    into[0, at] = total + low
    into[1, at] = low - (into[0, at] - total)


def pool(const int64_t[::1] slot, const int64_t[::1] count, const double[:, ::1] weight,
         const double[:, ::1] rise, const double[::1] squares):
    """Add up neighbouring entries of the same slot; the result has every slot once, in the given
    order.
    """
    cdef Py_ssize_t k = slot.shape[0]
    cdef Py_ssize_t r
    cdef Py_ssize_t at = -1
    cdef Py_ssize_t size = 0
    for r in range(k):
        size += r == 0 or slot[r] != slot[r - 1]
    slot_array = np.empty(size, np.int64)
    count_array = np.zeros(size, np.int64)
    weight_array = np.zeros((2, size))
    rise_array = np.zeros((2, size))
    squares_array = np.zeros(size)
    cdef int64_t[::1] slots = slot_array
    cdef int64_t[::1] counts = count_array
    cdef double[:, ::1] weights = weight_array
    cdef double[:, ::1] rises = rise_array
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
