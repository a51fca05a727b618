"""The largest correlation with a 1-Lipschitz function.

It is found by trimming a sorted multiset of slopes from both ends.
"""

from libc.math cimport fabs, fmin
from libc.stdint cimport int64_t, uint8_t

from rainproof.core._double_double cimport add_exactly

import numpy as np

cdef enum:
    BITS = 6  # a block has 64 entries
    LEVELS = 11  # more than 64-bit indices can need


cdef struct Index:
    # Which places of an array are taken: a flag for each, and for each block the number of blocks
    # or places below it that are not empty. `start[level]` is where a level begins in `count`.
    uint8_t* count
    Py_ssize_t start[LEVELS]


cdef inline void take(Index* index, Py_ssize_t at) noexcept nogil:
    """Mark an empty place as taken."""
    cdef int level = 0
    while index.count[index.start[level] + at] == 0:
        index.count[index.start[level] + at] = 1
        at >>= BITS
        level += 1
    index.count[index.start[level] + at] += 1


cdef inline void leave(Index* index, Py_ssize_t at) noexcept nogil:
    """Mark a taken place as empty, while others are taken."""
    cdef int level = 0
    while index.count[index.start[level] + at] == 1:
        index.count[index.start[level] + at] = 0
        at >>= BITS
        level += 1
    index.count[index.start[level] + at] -= 1


cdef inline Py_ssize_t following(Index* index, Py_ssize_t at, int step) noexcept nogil:
    """Return the nearest taken place above (step 1) or below (step -1); there must be one."""
    cdef int level = 0
    cdef Py_ssize_t block
    while True:  # up, until a block has more to that side
        block = at >> BITS
        at += step
        while at >> BITS == block and index.count[index.start[level] + at] == 0:
            at += step
        if at >> BITS == block:
            break
        at = block
        level += 1
    while level > 0:  # and down again, keeping to the near side
        level -= 1
        at <<= BITS
        if step < 0:
            at += (1 << BITS) - 1
        while index.count[index.start[level] + at] == 0:
            at += step
    return at


cdef void trim(Index* index, double[::1] weight, const double[::1] x, Py_ssize_t* low,
               Py_ssize_t* high, double excess, double* gain) noexcept nogil:
    """Take `excess` off the lowest and off the highest places; add the differences to the gain."""
    cdef double cut
    while excess > 0:
        if low[0] == high[0]:
            weight[low[0]] -= 2 * excess
            return
        cut = fmin(excess, fmin(weight[low[0]], weight[high[0]]))
        gain[0] += cut * (x[high[0]] - x[low[0]])
        excess -= cut
        weight[low[0]] -= cut
        weight[high[0]] -= cut
        if weight[low[0]] == 0:
            leave(index, low[0])
            low[0] = following(index, low[0], 1)
        if weight[high[0]] == 0:
            leave(index, high[0])
            high[0] = following(index, high[0], -1)


def sums_before(const double[::1] r):
    """Return the sums of the first 0, 1, ..., n entries, with the rounding errors of additions."""
    cdef Py_ssize_t n = r.shape[0], i
    cdef double total = 0.0, error = 0.0
    result = np.empty(n + 1)
    cdef double[::1] sums = result
    with nogil:
        sums[0] = 0.0
        for i in range(n):
            add_exactly(&total, &error, r[i])
            sums[i + 1] = total + error
    return result


def lipschitz_gain(const double[::1] p, const double[::1] r):
    """Return max sum_k r_k w(p_k) over 1-Lipschitz w: [0, 1] -> [-1, 1], for increasing p.

    O(n log n). Let f_k(x) be the largest gain of the first k terms with w(p_k) = x: concave and
    piecewise linear on [-1, 1]. It is represented by the multiset of its slopes, each with the
    length of its piece. A gap d to the next p lets w change by d: a flat piece of length 2 d joins
    the multiset, and d is cut off at both ends of [-1, 1], from the highest and the lowest slopes.
    The term r x adds r to all slopes. So a slope is the sum of the terms since its piece joined,
    and the order of the pieces is that of the sums at which they joined, which one sort gives in
    advance. The multiset is an array in that order, and pieces leave it only at its ends.

    A cut of length d raises f(-1) by d times the highest slope and f(1) by -d times the lowest, r x
    changes f(-1) + f(1) by nothing, and max f = (f(-1) + f(1))/2 + half the integral of |slope|.
    Every contribution is thus non-negative: nothing cancels. Lengths are kept halved.
    """
    cdef Py_ssize_t n = p.shape[0]
    cdef Py_ssize_t i, low, high
    cdef Py_ssize_t size = n
    cdef Py_ssize_t stop = 0
    cdef int level = 0
    cdef double gain = 0.0
    cdef Index index
    sums_array = sums_before(r)
    order_array = np.argsort(sums_array[:n])
    x_array = sums_array[order_array]
    rank_array = np.empty(n, np.int64)
    rank_array[order_array] = np.arange(n)
    weight_array = np.zeros(n)
    cdef const double[::1] x = x_array
    cdef const int64_t[::1] rank = rank_array
    cdef double[::1] weight = weight_array
    cdef double total = sums_array[n]
    while True:
        index.start[level] = stop
        level += 1
        if size == 1 and level > 1:
            break
        size = (size - 1 >> BITS) + 1
        stop += size << BITS
    count_array = np.zeros(stop + 1, np.uint8)
    cdef uint8_t[::1] count = count_array
    index.count = &count[0]
    count[stop] = 1  # so that marking ends at the root
    with nogil:
        low = high = rank[0]
        weight[low] = 1.0
        take(&index, low)
        for i in range(1, n):
            take(&index, rank[i])
            weight[rank[i]] = p[i] - p[i - 1]
            low = min(low, rank[i])
            high = max(high, rank[i])
            trim(&index, weight, x, &low, &high, 0.5 * (p[i] - p[i - 1]), &gain)
        for i in range(n):
            gain += weight[i] * fabs(total - x[i])
    return gain
