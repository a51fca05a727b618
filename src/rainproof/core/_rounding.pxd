"""Rounding the rows of a grid's slots to a coarser grid."""

from libc.stdint cimport int64_t


cdef inline Py_ssize_t find(int64_t* index, double* weight, double* positive, Py_ssize_t* size,
                            int64_t j) noexcept nogil:
    """Return the place of bin j: one of the last two, as cells are in order, or a new one at the
    end.
    """
    cdef Py_ssize_t end = size[0]
    if end > 0 and index[end - 1] == j:
        return end - 1
    if end > 1 and index[end - 2] == j:
        return end - 2
    index[end] = j
    weight[end] = positive[end] = 0.0
    size[0] = end + 1
    return end


cdef inline Py_ssize_t most_bins(Py_ssize_t slots, int64_t m) noexcept nogil:
    """Return the size of arrays that hold the bins of any rows in so many slots."""
    return min(2 * slots, <Py_ssize_t>m + 1)


cdef inline Py_ssize_t round_slots(const int64_t* slot, const double* weight, const double* rise,
                                   Py_ssize_t slots, int shift, bint soft, int64_t* index,
                                   double* pi, double* s) noexcept nogil:
    """Fill index j, weight pi_j and weight of events s_j of the occupied bins, in order; return
    their number.

    The grid is 2^shift times coarser. A row with offset f in its coarse cell c goes to bin c with
    weight 1 - f and to bin c + 1 with weight f (soft), or to bin c (hard). O(slots).
    """
    cdef Py_ssize_t r, at, size = 0
    cdef int64_t cell, coarse
    cdef double up, w, scale = 2.0 ** -shift
    for r in range(slots):
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
    return size
