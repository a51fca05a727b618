"""The regret curve of a distinct table: its limits at many thresholds at once, and the chord over 1/2."""

from libc.math cimport fmax

import numpy as np


cdef inline Py_ssize_t first_at_least(const double* at, const Py_ssize_t* guide, double buckets,
                                      double x) noexcept nogil:
    """Return the first of the increasing `at` that is >= x; `guide` bounds the search."""
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
    """Return the left limit and the value of the curve at each of the increasing thresholds `at`.

    With g_j(mu) = positive_j (1 - mu) - negative_j mu, the weight times (q_j - mu), the curve is

        R(mu) = max(0, sum_j g_j(mu) (1{p_j <= mu} - 1{h_j <= mu})) / total,

    so two running sums, of positive and of negative weight, give all thresholds in one sweep: an entry is
    added at its p and subtracted at its h. The p are in order. Each h is assigned to the first threshold at
    or past it, with "at" and "past" kept apart, as only the latter counts in the left limit. That threshold
    is found through a table of buckets of width 1/buckets and a short search; a binary search over all
    thresholds would miss the processor's caches some twenty times. O(entries + thresholds), or
    O(entries log thresholds) if most thresholds fall into few buckets. An entry with h = p adds exactly 0.
    """
    cdef Py_ssize_t n = p.shape[0], size = at.shape[0], buckets = 1, j, k
    while 4 * buckets < size:  # a few thresholds in each bucket, so that the table fits into the cache
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
    """Return the two points whose chord is highest at mu = 1/2, or twice the point at 1/2 if it is higher.

    They are the edge over 1/2 of the upper convex hull, which is built from left to right. `mu` is
    increasing (ties allowed), from 0 to 1. Distances are taken from 1/2, where rounding does no harm:
    predictions like 1e-300 and 1e-310 coincide here, and the higher of them counts. O(points).
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
