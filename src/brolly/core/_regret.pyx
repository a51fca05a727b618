"""The regret curve of a distinct table: its limits at many thresholds at once, and the chord over 1/2."""

from libc.math cimport fmax

import numpy as np


cdef inline Py_ssize_t first_at_least(const double* at, const Py_ssize_t* guide, double buckets,
                                      double x) noexcept nogil:
    """The first of the increasing `at` that is >= x: `guide` says between which two to look."""
    cdef Py_ssize_t bucket = <Py_ssize_t>(x * buckets), middle
    cdef Py_ssize_t low = guide[bucket], high = guide[bucket + 1]
    while low < high:
        middle = (low + high) // 2
        if at[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def limits(const double[::1] p, const double[::1] negative, const double[::1] positive,
           const double[::1] h, const double[::1] at, double total):
    """Left limit and value of the curve at each of the increasing thresholds `at`.

    With g_j(mu) = positive_j (1 - mu) - negative_j mu, the weight times (q_j - mu), the curve is

        R(mu) = max(0, sum_j g_j(mu) (1{p_j <= mu} - 1{h_j <= mu})) / total,

    so a pair of running sums, of positive and of negative weight, gives all thresholds in one sweep: an
    entry is added where the sweep passes its p and taken off where it passes its h. The p are in order;
    what happens at an h is kept with the first threshold at or past it, apart for "at" and "past", as
    only the latter counts in the left limit. That threshold is found through a table of buckets, each a
    step of 1/buckets: one look and a short search, where a binary search over all would miss the
    processor's caches some twenty times. O(entries + thresholds) unless the thresholds crowd into few
    buckets, O(entries log thresholds) at worst. An entry with h = p adds nothing, not even rounding.
    """
    cdef Py_ssize_t n = p.shape[0], size = at.shape[0], buckets = 1, j, k
    while 4 * buckets < size:  # a few thresholds to each, so that the table stays in cache
        buckets *= 2
    guide_array = np.full(buckets + 2, size, np.intp)
    past_array, exact_array = np.zeros((size + 1, 2)), np.zeros((size + 1, 2))
    left_array, right_array = np.empty(size), np.empty(size)
    cdef Py_ssize_t[::1] guide = guide_array
    cdef double[:, ::1] past = past_array, exact = exact_array
    cdef double[::1] left = left_array, right = right_array
    cdef double mu, events = 0.0, others = 0.0
    with nogil:
        for k in range(size - 1, -1, -1):
            guide[<Py_ssize_t>(at[k] * <double>buckets)] = k
        for k in range(buckets, -1, -1):
            guide[k] = min(guide[k], guide[k + 1])
        for j in range(n):
            if h[j] == p[j]:
                continue
            k = first_at_least(&at[0], &guide[0], <double>buckets, h[j])
            if k < size and at[k] == h[j]:
                exact[k, 0] += positive[j]
                exact[k, 1] += negative[j]
            else:
                past[k, 0] += positive[j]
                past[k, 1] += negative[j]
        j = 0
        for k in range(size):
            mu = at[k]
            while j < n and p[j] < mu:
                if h[j] != p[j]:
                    events += positive[j]
                    others += negative[j]
                j += 1
            events -= past[k, 0]
            others -= past[k, 1]
            left[k] = fmax(0.0, events * (1.0 - mu) - others * mu) / total
            while j < n and p[j] == mu:
                if h[j] != p[j]:
                    events += positive[j]
                    others += negative[j]
                j += 1
            events -= exact[k, 0]
            others -= exact[k, 1]
            right[k] = fmax(0.0, events * (1.0 - mu) - others * mu) / total
    return left_array, right_array


def bridge(const double[::1] mu, const double[::1] value):
    """The two points whose chord is highest over mu = 1/2; one point twice if it lies at 1/2 and on top.

    The upper hull of the points, left to right, dropping each point that lies on or below the line from
    the one before it to the next; then the edge over 1/2. `mu` is increasing (ties allowed), from 0 to 1.
    Distances are taken from 1/2, where rounding them does no harm: predictions like 1e-300 and 1e-310
    are one place here, and the higher of them counts. O(points).
    """
    cdef Py_ssize_t size = mu.shape[0], top = 0, k, a, b
    hull_array = np.empty(size, np.intp)
    cdef Py_ssize_t[::1] hull = hull_array
    cdef double x, xa, xb
    with nogil:
        for k in range(size):
            x = mu[k] - 0.5
            if top > 0 and x == mu[hull[top - 1]] - 0.5:
                if value[k] <= value[hull[top - 1]]:
                    continue
                top -= 1
            while top > 1:
                a, b = hull[top - 2], hull[top - 1]
                xa, xb = mu[a] - 0.5, mu[b] - 0.5
                if (xb - xa) * (value[k] - value[a]) < (x - xa) * (value[b] - value[a]):
                    break
                top -= 1
            hull[top] = k
            top += 1
        k = 0
        while mu[hull[k]] < 0.5:
            k += 1
    if mu[hull[k]] == 0.5:
        return hull[k], hull[k]
    return hull[k - 1], hull[k]
