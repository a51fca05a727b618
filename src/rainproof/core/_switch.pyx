"""Two forecasts at every threshold: rows on one side only, and the loss by a switch."""

from libc.math cimport fmin
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy

from rainproof.core._double_double cimport add_exactly

import numpy as np


cdef inline double larger(double a, double b) noexcept nogil:
    """The larger one; `fmax` of the C library is a call, as it minds NaN."""
    return a if a > b else b


cdef inline uint64_t bits_of(double p) noexcept nogil:
    """The bits of a double in [0, 1], which sort like the double; the two highest are 0."""
    cdef uint64_t bits
    p += 0.0  # -0.0 becomes 0.0
    memcpy(&bits, &p, 8)
    return bits


def keys(const uint8_t[::1] event, const double[::1] old, const double[::1] new):
    """Return where each row begins and ceases to be on different sides, for rows with different
    predictions.

    A key holds the bits of a prediction, shifted up by two, and the kind of the row below: 0 and 1
    if only the old forecast acts (without the event, with it), 2 and 3 if only the new one does.
    """
    cdef Py_ssize_t n = event.shape[0]
    cdef Py_ssize_t r
    cdef Py_ssize_t size = 0
    start_array = np.empty(n, np.uint64)
    end_array = np.empty(n, np.uint64)
    cdef uint64_t[::1] start = start_array
    cdef uint64_t[::1] end = end_array
    cdef uint64_t a, b, kind
    with nogil:
        for r in range(n):
            a = bits_of(old[r])
            b = bits_of(new[r])
            if a == b:
                continue
            kind = 2 * (a < b) + event[r]
            start[size] = (b if b < a else a) << 2 | kind
            end[size] = (a if b < a else b) << 2 | kind
            size += 1
    return start_array[:size], end_array[:size]


def merge(const uint64_t[::1] start, const uint64_t[::1] end, const double[:, ::1] opened,
          const double[:, ::1] closed, double total):
    """Return the edges of the pieces, and what is on different sides in each piece, by kind of row.

    The keys are sorted. `opened` and `closed` have in the same order what each row adds, in two
    columns: its weight, which is counted in units of `total`, and a square, in units of
    ``total^2``. They are None if all weights are 1; then squares are not counted. Sums keep the
    rounding error of each addition, so a light row is not lost beside a heavy one.
    """
    cdef Py_ssize_t n = start.shape[0]
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t j = 0
    cdef Py_ssize_t k, kind
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t pieces = 1
    cdef uint64_t place, one = bits_of(1.0)
    cdef bint weighted = opened is not None
    with nogil:
        while j < n:  # the largest place is an end
            place = end[j] >> 2 if i == n or end[j] >> 2 < start[i] >> 2 else start[i] >> 2
            pieces += place != 0 and place != one
            while i < n and start[i] >> 2 == place:
                i += 1
            while j < n and end[j] >> 2 == place:
                j += 1
    edge_array = np.empty(pieces + 1, np.uint64)
    only_array = np.empty((4, pieces))
    square_array = np.empty((4, pieces if weighted else 0))
    cdef uint64_t[::1] edge = edge_array
    cdef double[:, ::1] only = only_array
    cdef double[:, ::1] squares = square_array
    cdef double[8] sums
    cdef double[8] low
    for k in range(8):
        sums[k] = low[k] = 0.0
    i = j = 0
    with nogil:
        edge[0] = 0
        edge[pieces] = one
        while at < pieces:
            place = edge[at]
            while i < n and start[i] >> 2 == place:
                kind = start[i] & 3
                if weighted:
                    add_exactly(&sums[kind], &low[kind], opened[i, 0])
                    add_exactly(&sums[kind + 4], &low[kind + 4], opened[i, 1])
                else:
                    sums[kind] += 1.0
                i += 1
            while j < n and end[j] >> 2 == place:
                kind = end[j] & 3
                if weighted:
                    add_exactly(&sums[kind], &low[kind], -closed[j, 0])
                    add_exactly(&sums[kind + 4], &low[kind + 4], -closed[j, 1])
                else:
                    sums[kind] -= 1.0
                j += 1
            for k in range(4):
                only[k, at] = larger(sums[k] + low[k], 0.0) / total
                if weighted:
                    squares[k, at] = larger(sums[k + 4] + low[k + 4], 0.0) / (total * total)
            at += 1
            if at < pieces:
                edge[at] = end[j] >> 2 if i == n or end[j] >> 2 < start[i] >> 2 else start[i] >> 2
    return edge_array.view(np.float64), only_array, square_array if weighted else None


def sum_cells(const int32_t[::1] old, const int32_t[::1] new, const uint8_t[::1] event,
              const double[::1] weight, Py_ssize_t m):
    """Return the weight on different sides between the thresholds ``k/m`` and ``(k + 1)/m``, by
    kind.

    A prediction is given by its cell ``floor(m p)``.
    """
    cdef Py_ssize_t r, k, kind
    only_array = np.zeros((4, m + 1))
    low_array = np.zeros((4, m + 1))
    cdef double[:, ::1] only = only_array
    cdef double[:, ::1] low = low_array
    cdef double[4] total
    cdef double[4] rest
    for kind in range(4):
        total[kind] = rest[kind] = 0.0
    with nogil:
        for r in range(old.shape[0]):
            if old[r] != new[r] and weight[r] != 0:
                kind = 2 * (old[r] < new[r]) + event[r]
                add_exactly(&only[kind, min(old[r], new[r])], &low[kind, min(old[r], new[r])],
                            weight[r])
                add_exactly(&only[kind, max(old[r], new[r])], &low[kind, max(old[r], new[r])],
                            -weight[r])
        for k in range(m):
            # side by side: each addition waits for the one before of its kind
            for kind in range(4):
                add_exactly(&total[kind], &rest[kind], only[kind, k])
                rest[kind] += low[kind, k]
                only[kind, k] = larger(total[kind] + rest[kind], 0.0)
    return np.ascontiguousarray(only_array[:, :m])


def heights(const double[::1] edges, const double[:, ::1] only, const double[:, ::1] squares,
            double charge, bint back, bint closed):
    """Return the loss by the switch (`back`: by switching back) at each edge: the larger of both
    limits, and 0.

    Losses count more and gains less by ``charge`` times the share, or by ``charge`` times
    `squares`, if given, and at most the share. If `closed`, predictions at a threshold act, which
    is the limit from the left.
    """
    cdef Py_ssize_t pieces = edges.shape[0] - 1, k
    cdef bint weighted = squares is not None
    value_array = np.empty(pieces + 1)
    cdef double[::1] value = value_array
    cdef double events = 0.0, others = 0.0, mu
    with nogil:
        for k in range(pieces + 1):
            mu = edges[k]
            value[k] = larger(events * (1 - mu) + others * mu, 0.0)
            if k == pieces:
                break
            events = only[1, k] - only[3, k]
            others = only[2, k] - only[0, k]
            if back:
                events = -events
                others = -others
            if weighted:
                events += (
                    fmin(charge * squares[1, k], only[1, k])
                    + fmin(charge * squares[3, k], only[3, k])
                )
                others += (
                    fmin(charge * squares[0, k], only[0, k])
                    + fmin(charge * squares[2, k], only[2, k])
                )
            else:
                events += charge * (only[1, k] + only[3, k])
                others += charge * (only[0, k] + only[2, k])
            if not closed:
                value[k] = larger(value[k], events * (1 - mu) + others * mu)
    return value_array
