"""The soft-binned decision loss of a rounded sample over all thresholds."""

from libc.stdint cimport int64_t

import numpy as np


cdef inline Py_ssize_t first_at_least(const int64_t* i, Py_ssize_t size, double x) noexcept nogil:
    """Return the place of the first of the increasing i that is >= x (size if none is)."""
    cdef Py_ssize_t low = 0, high = size, middle
    if i[size - 1] - i[0] == size - 1:  # without gaps the place is known
        x -= <double>i[0]
        if not x > 0:
            return 0
        if x >= <double>size:
            return size
        low = <Py_ssize_t>x
        return low + (<double>low < x)
    while low < high:
        middle = (low + high) // 2
        if <double>i[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


cdef double loss_at(const int64_t[::1] j, const double[::1] pi, const double[::1] s,
                    double m, double i) noexcept nogil:
    """Evaluate the definition at one threshold: sum_{j<=i} (s_j - pi_j (i+1)/m)+ + sum_{j>i} (pi_j i/m - s_j)+."""
    cdef Py_ssize_t b
    cdef double total = 0.0, loss, above = (i + 1) / m, below = i / m
    for b in range(j.shape[0]):
        if j[b] <= i:
            loss = s[b] - pi[b] * above
        else:
            loss = pi[b] * below - s[b]
        total += loss if loss > 0 else 0.0
    return total


def worst_threshold(const int64_t[::1] j, const double[::1] pi, const double[::1] s, int64_t m):
    """Return the largest loss over the thresholds i = 0..m, and the smallest i that attains it.

    Between two neighbouring bins every term is convex in i, so only the thresholds i = j and
    i = j - 1 can be the worst. Bin j adds (s_j - pi_j/m) - pi_j (i/m) to those from j up to m q_j - 1,
    or -s_j + pi_j (i/m) to those from m q_j up to j - 1: two difference arrays, summed in one sweep.
    The loss at the worst threshold is then evaluated by its definition, so it has no rounding error
    from the sweep. O(bins) if bins are neighbours, O(bins log bins) otherwise.
    """
    cdef Py_ssize_t bins = j.shape[0], b, at, start, stop, size = 0, winner = 0
    cdef double best = -1.0, constant = 0.0, slope = 0.0, value, step = 1.0 / <double>m, mq
    candidate_array = np.empty(2 * bins, np.int64)
    change_array = np.zeros((2 * bins + 1, 2))
    cdef int64_t[::1] candidate = candidate_array
    cdef double[:, ::1] change = change_array
    with nogil:
        for b in range(bins):
            if j[b] > 0 and (size == 0 or candidate[size - 1] < j[b] - 1):
                candidate[size] = j[b] - 1
                size += 1
            candidate[size] = j[b]
            size += 1
        at = 0
        for b in range(bins):
            while candidate[at] < j[b]:
                at += 1
            if pi[b] <= 0:
                continue
            mq = s[b] / pi[b] * <double>m
            if mq > j[b]:
                start = at
                stop = first_at_least(&candidate[0], size, mq - 1)
                constant, slope = s[b] - pi[b] * step, -pi[b]
            else:
                start = first_at_least(&candidate[0], size, mq)
                stop = at
                constant, slope = -s[b], pi[b]
            if start < stop:
                change[start, 0] += constant
                change[start, 1] += slope
                change[stop, 0] -= constant
                change[stop, 1] -= slope
        constant = slope = 0.0
        for b in range(size):
            constant += change[b, 0]
            slope += change[b, 1]
            value = constant + slope * (<double>candidate[b] * step)
            if value > best:
                best = value
                winner = b
        value = loss_at(j, pi, s, <double>m, <double>candidate[winner])
    return value, candidate[winner]
