"""The regret curve of a distinct table: its limits at many thresholds at once, and the chord over 1/2."""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

cdef enum:
    BITS = 7  # blocks of 128 thresholds are cleared when the first entry falls there, and skipped if none does
    TERMS = 512  # that are added up at a time, so that rounding errors do not grow with their number


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


# A point of the upper convex hull: its distance from 1/2, its height, its number, and which limit it is.
cdef struct Corner:
    double x, value
    Py_ssize_t at
    bint above


# The curve, swept from left to right: entries whose p has passed, less those whose h has.
cdef struct Sweep:
    const double* p
    const double* negative
    const double* positive
    const double* h
    const double* at
    double* crossed  # of each threshold: the events and others whose h lies before it, and of those with h at it
    uint8_t* some  # whether a block of `crossed` has any
    Py_ssize_t n, size, next
    double events, others, total, left, right


cdef inline Py_ssize_t place(Sweep* s, const Py_ssize_t* guide, double buckets, double h) noexcept nogil:
    """Where in `crossed` entries with this h are subtracted."""
    cdef Py_ssize_t k = first_at_least(s.at, guide, buckets, h)
    if not s.some[k >> BITS]:
        s.some[k >> BITS] = 1
        memset(s.crossed + (k >> BITS << BITS) * 4, 0, (4 << BITS) * sizeof(double))
    return 4 * k + (2 if k < s.size and s.at[k] == h else 0)


cdef void prepare(Sweep* s, Py_ssize_t* guide, Py_ssize_t buckets) noexcept nogil:
    """Assign every h to its threshold."""
    cdef Py_ssize_t j, k, inner = 0
    cdef Py_ssize_t[2] ends
    cdef double last = -1.0, h
    for k in range(s.size - 1, -1, -1):
        guide[<Py_ssize_t>(s.at[k] * <double>buckets)] = k
    for k in range(buckets, -1, -1):
        guide[k] = min(guide[k], guide[k + 1])
    ends[0], ends[1] = place(s, guide, <double>buckets, 0.0), place(s, guide, <double>buckets, 1.0)
    for j in range(s.n):
        h = s.h[j]
        if h == s.p[j]:
            continue
        if h <= 0 or h >= 1:  # all of them where no prediction repeats: no search, whose branches nobody can guess
            k = ends[<Py_ssize_t>h]
        else:
            if h != last:
                last, inner = h, place(s, guide, <double>buckets, h)
            k = inner
        s.crossed[k] += s.positive[j]
        s.crossed[k + 1] += s.negative[j]


cdef inline double not_below_0(double x) noexcept nogil:
    return x if x > 0 else 0.0  # fmax would be a call


cdef inline void advance(Sweep* s, Py_ssize_t k) noexcept nogil:
    """Compute both limits at the next threshold."""
    cdef double mu = s.at[k]
    cdef bint some = s.some[k >> BITS]
    while s.next < s.n and s.p[s.next] < mu:
        pass_by(s)
    if some:
        s.events -= s.crossed[4 * k]
        s.others -= s.crossed[4 * k + 1]
    s.left = not_below_0(s.events * (1.0 - mu) - s.others * mu) / s.total
    while s.next < s.n and s.p[s.next] == mu:
        pass_by(s)
    if some:
        s.events -= s.crossed[4 * k + 2]
        s.others -= s.crossed[4 * k + 3]
    s.right = not_below_0(s.events * (1.0 - mu) - s.others * mu) / s.total


cdef inline void pass_by(Sweep* s) noexcept nogil:
    if s.h[s.next] != s.p[s.next]:
        s.events += s.positive[s.next]
        s.others += s.negative[s.next]
    s.next += 1


cdef object begin(Sweep* s, const double[::1] p, const double[::1] negative, const double[::1] positive,
                  const double[::1] h, const double[::1] at, double total):
    """Set out; return the arrays that the sweep uses."""
    cdef Py_ssize_t size = at.shape[0], buckets = 1
    while 4 * buckets < size:  # a few thresholds in each bucket, so that the table fits into the cache
        buckets *= 2
    cdef Py_ssize_t[::1] guide = np.full(buckets + 2, size, np.intp)
    cdef double[::1] crossed = np.empty(((size >> BITS) + 1) << (BITS + 2))
    cdef uint8_t[::1] some = np.zeros((size >> BITS) + 1, np.uint8)
    s.p, s.negative, s.positive, s.h, s.at = &p[0], &negative[0], &positive[0], &h[0], &at[0]
    s.crossed, s.some = &crossed[0], &some[0]
    s.n, s.size, s.next, s.events, s.others, s.total = p.shape[0], size, 0, 0.0, 0.0, total
    with nogil:
        prepare(s, &guide[0], buckets)
    return crossed, some


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
    cdef Sweep s
    cdef Py_ssize_t k
    left_array, right_array = np.empty(at.shape[0]), np.empty(at.shape[0])
    cdef double[::1] left = left_array, right = right_array
    kept = begin(&s, p, negative, positive, h, at, total)
    with nogil:
        for k in range(s.size):
            advance(&s, k)
            left[k], right[k] = s.left, s.right
    return left_array, right_array


def highest_chord(const double[::1] p, const double[::1] negative, const double[::1] positive,
                  const double[::1] h, const double[::1] at, double total):
    """Return the `bridge` over the larger limits of the curve at `at`, and at which ends that is the left one."""
    cdef Sweep s
    cdef Corner first, second
    cdef Py_ssize_t k, top = 0
    kept = begin(&s, p, negative, positive, h, at, total)
    cdef Corner* hull = <Corner*>malloc(s.size * sizeof(Corner))
    if hull == NULL:
        raise MemoryError
    with nogil:
        for k in range(s.size):
            advance(&s, k)
            top = add_corner(hull, top, s.at[k] - 0.5, s.left if s.left > s.right else s.right, k, s.left > s.right)
        k = over_half(hull)
        first, second = hull[k if hull[k].x == 0 else k - 1], hull[k]
        free(hull)
    return first.at, second.at, bool(first.above), bool(second.above)


def swapped(const double[::1] negative, const double[::1] positive, const double[::1] h, Py_ssize_t below, double mu,
            bint above):
    """Return the weight of events and of others among the first `below` entries with h over mu, and among the rest
    with h under it; `above` counts h = mu as over.
    """
    cdef double[4] found
    with nogil:
        chosen(&negative[0], &positive[0], &h[0], 0, below, mu, above, True, found)
        chosen(&negative[0], &positive[0], &h[0], below, h.shape[0], mu, above, False, found + 2)
    return found[0], found[1], found[2], found[3]


cdef void chosen(const double* negative, const double* positive, const double* h, Py_ssize_t start, Py_ssize_t stop,
                 double mu, bint above, bint over, double* sums) noexcept nogil:
    """The weight of events and of others among entries whose h is over mu, or is not. No branch has to be guessed."""
    cdef Py_ssize_t j, end
    cdef double events, others, more_events, more_others, counts
    sums[0] = sums[1] = 0.0
    while start < stop:
        end = min(stop, start + TERMS)
        events = others = more_events = more_others = 0.0  # side by side: an addition waits for the one before it
        j = start
        while j + 2 <= end:
            counts = <double>(((h[j] > mu) | (above & (h[j] == mu))) == over)
            events += counts * positive[j]
            others += counts * negative[j]
            counts = <double>(((h[j + 1] > mu) | (above & (h[j + 1] == mu))) == over)
            more_events += counts * positive[j + 1]
            more_others += counts * negative[j + 1]
            j += 2
        if j < end:
            counts = <double>(((h[j] > mu) | (above & (h[j] == mu))) == over)
            events += counts * positive[j]
            others += counts * negative[j]
        sums[0] += events + more_events
        sums[1] += others + more_others
        start = end


cdef inline Py_ssize_t add_corner(Corner* hull, Py_ssize_t top, double x, double value, Py_ssize_t at,
                                  bint above) noexcept nogil:
    """Add the next point to a hull of `top` points; return how many it has then."""
    cdef const Corner* a
    cdef const Corner* b
    if top > 0 and x == hull[top - 1].x:
        if value <= hull[top - 1].value:
            return top
        top -= 1
    while top > 1:
        a, b = &hull[top - 2], &hull[top - 1]
        if (b.x - a.x) * (value - a.value) < (x - a.x) * (b.value - a.value):
            break
        top -= 1
    hull[top].x, hull[top].value, hull[top].at, hull[top].above = x, value, at, above
    return top + 1


cdef inline Py_ssize_t over_half(const Corner* hull) noexcept nogil:
    """The first point of the hull that is not left of 1/2."""
    cdef Py_ssize_t k = 0
    while hull[k].x < 0:
        k += 1
    return k


def bridge(const double[::1] mu, const double[::1] value):
    """Return the two points whose chord is highest at mu = 1/2, or twice the point at 1/2 if it is higher.

    They are the edge over 1/2 of the upper convex hull, which is built from left to right. `mu` is
    increasing (ties allowed), from 0 to 1. Distances are taken from 1/2, where rounding does no harm:
    predictions like 1e-300 and 1e-310 coincide here, and the higher of them counts. O(points).
    """
    cdef Py_ssize_t size = mu.shape[0], top = 0, k, a, b
    cdef Corner* hull = <Corner*>malloc(size * sizeof(Corner))
    if hull == NULL:
        raise MemoryError
    with nogil:
        for k in range(size):
            top = add_corner(hull, top, mu[k] - 0.5, value[k], k, False)
        k = over_half(hull)
        a, b = hull[k if hull[k].x == 0 else k - 1].at, hull[k].at
        free(hull)
    return a, b
