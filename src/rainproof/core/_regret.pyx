"""The regret curve of a distinct table: its limits at many thresholds at once, and the chord over
1/2.
"""

from libc.math cimport fabs, nextafter
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

cdef enum:
    # blocks of 128 thresholds are cleared when the first entry falls there, and skipped if none
    # does
    BITS = 7
    # that are added up at a time, so that rounding errors do not grow with their number
    TERMS = 512

cdef double UNSURE = 1e-9  # share of a height, far more than rounding can change


cdef inline Py_ssize_t first_at_least(const double* at, const Py_ssize_t* guide, double buckets,
                                      double x) noexcept nogil:
    """Return the first of the increasing `at` that is >= x; `guide` bounds the search."""
    cdef Py_ssize_t bucket = <Py_ssize_t>(x * buckets), middle
    cdef Py_ssize_t low = guide[bucket]
    cdef Py_ssize_t high = guide[bucket + 1]
    while low < high:
        middle = (low + high) // 2
        if at[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


# A point of the upper convex hull: its distance from 1/2, its height and its number.
cdef struct Corner:
    double x, value
    Py_ssize_t at


# The curve, swept from left to right: entries whose p has passed, less those whose h has.
cdef struct Sweep:
    const double* p
    const double* negative
    const double* positive
    const double* h
    const double* at
    # of each threshold: the events and others whose h lies before it, and of those with h at it
    double* crossed
    uint8_t* some  # whether a block of `crossed` has any
    Py_ssize_t n, size
    double total


cdef inline Py_ssize_t place(Sweep* s, const Py_ssize_t* guide, double buckets,
                             double h) noexcept nogil:
    """Where in `crossed` entries with this h are subtracted."""
    cdef Py_ssize_t k = first_at_least(s.at, guide, buckets, h)
    if not s.some[k >> BITS]:
        s.some[k >> BITS] = 1
        memset(s.crossed + (k >> BITS << BITS) * 4, 0, (4 << BITS) * sizeof(double))
    return 4 * k + (2 if k < s.size and s.at[k] == h else 0)


cdef void prepare(Sweep* s, Py_ssize_t* guide, Py_ssize_t buckets) noexcept nogil:
    """Assign every h to its threshold."""
    cdef Py_ssize_t j, k, none, every, inner = 0
    cdef double last = -1.0, h, up, events = 0.0, others = 0.0
    cdef double none_events = 0.0, none_others = 0.0, every_events = 0.0, every_others = 0.0
    # only a threshold of 0 has the entries with h = 0 to itself
    cdef bint alone = s.size > 0 and s.at[0] == 0
    for k in range(s.size - 1, -1, -1):
        guide[<Py_ssize_t>(s.at[k] * <double>buckets)] = k
    for k in range(buckets, -1, -1):
        guide[k] = min(guide[k], guide[k + 1])
    none = place(s, guide, <double>buckets, 0.0)
    every = place(s, guide, <double>buckets, 1.0)
    for j in range(s.n):
        h = s.h[j]
        if h == s.p[j]:
            continue
        # all where no prediction repeats; nobody could guess if 0 or 1
        if h * (1.0 - h) <= 0 and (alone or h > 0):
            up = <double>(h > 0)
            every_events += up * s.positive[j]
            every_others += up * s.negative[j]
            none_events += (1.0 - up) * s.positive[j]
            none_others += (1.0 - up) * s.negative[j]
            continue
        if h != last:
            s.crossed[inner] = events
            s.crossed[inner + 1] = others
            last = h
            # h may lie below 0 by rounding
            inner = place(s, guide, <double>buckets, h if h > 0 else 0.0)
            events = s.crossed[inner]
            others = s.crossed[inner + 1]
        events += s.positive[j]
        others += s.negative[j]
    s.crossed[inner] = events
    s.crossed[inner + 1] = others
    if alone:
        s.crossed[none] = none_events
        s.crossed[none + 1] = none_others
    s.crossed[every] = every_events
    s.crossed[every + 1] = every_others


cdef inline double not_below_0(double x) noexcept nogil:
    return x if x > 0 else 0.0  # fmax would be a call


cdef inline void pass_by(const Sweep* s, Py_ssize_t* next, double* events,
                         double* others) noexcept nogil:
    if s.h[next[0]] != s.p[next[0]]:
        events[0] += s.positive[next[0]]
        others[0] += s.negative[next[0]]
    next[0] += 1


cdef void sweep(const Sweep* s, double* left, double* right) noexcept nogil:
    """Compute both limits at every threshold, block by block: first the sums in a row, then the
    limits side by side.
    """
    cdef double[1 << BITS] events_left, others_left, events_right, others_right
    cdef double events = 0.0, others = 0.0, mu, total = s.total
    cdef Py_ssize_t start = 0, size, next = 0, i
    cdef const double* at
    cdef const double* crossed
    while start < s.size:
        size = min(s.size - start, <Py_ssize_t>1 << BITS)
        at = s.at + start
        crossed = s.crossed + 4 * start if s.some[start >> BITS] else NULL
        for i in range(size):
            while next < s.n and s.p[next] < at[i]:
                pass_by(s, &next, &events, &others)
            if crossed != NULL:
                events -= crossed[4 * i]
                others -= crossed[4 * i + 1]
            events_left[i] = events
            others_left[i] = others
            while next < s.n and s.p[next] == at[i]:
                pass_by(s, &next, &events, &others)
            if crossed != NULL:
                events -= crossed[4 * i + 2]
                others -= crossed[4 * i + 3]
            events_right[i] = events
            others_right[i] = others
        for i in range(size):
            mu = at[i]
            left[start + i] = (
                not_below_0(events_left[i] * (1.0 - mu) - others_left[i] * mu) / total
            )
            right[start + i] = (
                not_below_0(events_right[i] * (1.0 - mu) - others_right[i] * mu) / total
            )
        start += size


cdef object begin(Sweep* s, const double[::1] p, const double[::1] negative,
                  const double[::1] positive, const double[::1] h, const double[::1] at,
                  double total):
    """Set out; return the arrays that the sweep uses."""
    cdef Py_ssize_t size = at.shape[0]
    cdef Py_ssize_t buckets = 1
    # a few thresholds in each bucket, so that the table fits into the cache
    while 4 * buckets < size:
        buckets *= 2
    cdef Py_ssize_t[::1] guide = np.full(buckets + 2, size, np.intp)
    cdef double[::1] crossed = np.empty(((size >> BITS) + 1) << (BITS + 2))
    cdef uint8_t[::1] some = np.zeros((size >> BITS) + 1, np.uint8)
    s.p = &p[0]
    s.negative = &negative[0]
    s.positive = &positive[0]
    s.h = &h[0]
    s.at = &at[0]
    s.crossed = &crossed[0]
    s.some = &some[0]
    s.n = p.shape[0]
    s.size = size
    s.total = total
    with nogil:
        prepare(s, &guide[0], buckets)
    return crossed, some


def limits(const double[::1] p, const double[::1] negative, const double[::1] positive,
           const double[::1] h, const double[::1] at, double total):
    """Return the left limit and the value of the curve at each of the increasing thresholds `at`.

    With g_j(mu) = positive_j (1 - mu) - negative_j mu, the weight times (q_j - mu), the curve is

        R(mu) = max(0, sum_j g_j(mu) (1{p_j <= mu} - 1{h_j <= mu})) / total,

    so two running sums, of positive and of negative weight, give all thresholds in one sweep: an
    entry is added at its p and subtracted at its h. The p are in order. Each h is assigned to the
    first threshold at or past it, with "at" and "past" kept apart, as only the latter counts in the
    left limit. That threshold is found through a table of buckets of width 1/buckets and a short
    search; a binary search over all thresholds would miss the processor's caches some twenty times.
    O(entries + thresholds), or O(entries log thresholds) if most thresholds fall into few buckets.
    An entry with h = p adds exactly 0.
    """
    cdef Sweep s
    left_array = np.empty(at.shape[0])
    right_array = np.empty(at.shape[0])
    cdef double[::1] left = left_array
    cdef double[::1] right = right_array
    kept = begin(&s, p, negative, positive, h, at, total)
    with nogil:
        sweep(&s, &left[0], &right[0])
    return left_array, right_array


def swapped(const double[::1] negative, const double[::1] positive, const double[::1] h,
            Py_ssize_t below, double mu, bint above):
    """Return the weight of events and of others among the first `below` entries with h over mu, and
    among the rest with h under it; `above` counts h = mu as over.
    """
    cdef double[4] found
    cdef double bar = nextafter(mu, -1.0) if above else mu
    with nogil:
        chosen(&negative[0], &positive[0], &h[0], 0, below, bar, True, found)
        chosen(&negative[0], &positive[0], &h[0], below, h.shape[0], bar, False, found + 2)
    return found[0], found[1], found[2], found[3]


cdef void chosen(const double* negative, const double* positive, const double* h, Py_ssize_t start,
                 Py_ssize_t stop, double bar, bint over, double* sums) noexcept nogil:
    """The weight of events and of others among entries whose h is over the bar, or is not. No
    branch to be guessed.
    """
    cdef Py_ssize_t j, end
    cdef double events, others, more_events, more_others, one, two
    cdef double least = 0.0 if over else 1.0
    cdef double sign = 1.0 if over else -1.0
    sums[0] = sums[1] = 0.0
    while start < stop:
        end = min(stop, start + TERMS)
        # side by side: an addition waits for the one before it
        events = others = more_events = more_others = 0.0
        j = start
        while j + 2 <= end:
            one = least + sign * <double>(h[j] > bar)
            two = least + sign * <double>(h[j + 1] > bar)
            events += one * positive[j]
            more_events += two * positive[j + 1]
            others += one * negative[j]
            more_others += two * negative[j + 1]
            j += 2
        if j < end:
            one = least + sign * <double>(h[j] > bar)
            events += one * positive[j]
            others += one * negative[j]
        sums[0] += events + more_events
        sums[1] += others + more_others
        start = end


cdef inline Py_ssize_t add_corner(Corner* hull, Py_ssize_t top, double x, double value,
                                  Py_ssize_t at) noexcept nogil:
    """Add the next point to a hull of `top` points; return how many it has then."""
    cdef const Corner* a
    cdef const Corner* b
    if top > 0 and x == hull[top - 1].x:
        if value <= hull[top - 1].value:
            return top
        top -= 1
    while top > 1:
        a = &hull[top - 2]
        b = &hull[top - 1]
        if (b.x - a.x) * (value - a.value) < (x - a.x) * (b.value - a.value):
            break
        top -= 1
    hull[top].x = x
    hull[top].value = value
    hull[top].at = at
    return top + 1


cdef inline Py_ssize_t highest(const double* value, Py_ssize_t start,
                               Py_ssize_t stop) noexcept nogil:
    """The first of the largest."""
    cdef Py_ssize_t k, at = start
    cdef double most = value[start]
    for k in range(start + 1, stop):
        most = value[k] if value[k] > most else most
    while at < stop - 1 and value[at] != most:
        at += 1
    return at


cdef inline const Corner* over_half(const Corner* hull) noexcept nogil:
    """The last corner that is not right of 1/2, which is followed by the other end of its edge."""
    cdef Py_ssize_t k = 0
    while hull[k + 1].x <= 0:
        k += 1
    return &hull[k]


cdef inline bint below(const Corner* edge, double x, double value) noexcept nogil:
    """Whether a point lies certainly below the line through an edge, whatever the rounding."""
    cdef double rise = (edge[1].value - edge[0].value) / (edge[1].x - edge[0].x) * (x - edge[0].x)
    return value < edge[0].value + rise - UNSURE * (fabs(edge[0].value) + fabs(rise))


cdef bint take(const double* mu, const double* most, Py_ssize_t size, const Corner* edge,
               uint8_t* taken) noexcept nogil:
    """Mark the blocks that may reach the line through an edge; return whether any is new."""
    cdef Py_ssize_t block
    cdef double start, stop
    cdef bint new = False
    for block in range((size - 1 >> BITS) + 1):
        if not taken[block]:
            start = mu[block << BITS] - 0.5
            stop = mu[min(block + 1 << BITS, size) - 1] - 0.5
            taken[block] = not (below(edge, start, most[block]) and below(edge, stop, most[block]))
            new |= taken[block]
    return new


cdef void build(const double* mu, const double* value, Py_ssize_t size, const uint8_t* taken,
                Corner* hull) noexcept nogil:
    """Build the hull of the points of all blocks that are taken."""
    cdef Py_ssize_t block, k, corners = 0
    for block in range((size - 1 >> BITS) + 1):
        if taken[block]:
            for k in range(block << BITS, min(block + 1 << BITS, size)):
                corners = add_corner(hull, corners, mu[k] - 0.5, value[k], k)


cdef const Corner* top_edge(const double* mu, const double* value, Py_ssize_t size, double* most,
                            uint8_t* taken, Corner* hull) noexcept nogil:
    """Return the edge over 1/2 of the hull: first that of the highest points of blocks, then of
    blocks that reach it.

    A block that lies below the edge has no part in it. If one reaches above the second edge, all
    are taken.
    """
    cdef Py_ssize_t block, k, blocks = (size - 1 >> BITS) + 1
    cdef Py_ssize_t corners = add_corner(hull, 0, mu[0] - 0.5, value[0], 0)
    for block in range(blocks):
        k = highest(value, block << BITS, min(block + 1 << BITS, size))
        most[block] = value[k]
        corners = add_corner(hull, corners, mu[k] - 0.5, value[k], k)
    add_corner(hull, corners, mu[size - 1] - 0.5, value[size - 1], size - 1)
    take(mu, most, size, over_half(hull), taken)
    build(mu, value, size, taken, hull)
    if take(mu, most, size, over_half(hull), taken):
        memset(taken, 1, blocks)
        build(mu, value, size, taken, hull)
    return over_half(hull)


def bridge(const double[::1] mu, const double[::1] value):
    """Return the two points whose chord is highest at mu = 1/2, or twice the point at 1/2 if it is
    higher.

    They are the edge over 1/2 of the upper convex hull, which is built from left to right. `mu` is
    increasing (ties allowed), from 0 to 1. Distances are taken from 1/2, where rounding does no
    harm: predictions like 1e-300 and 1e-310 coincide here, and the higher of them counts.
    O(points).
    """
    cdef Py_ssize_t size = mu.shape[0], a, b
    cdef const Corner* edge
    cdef uint8_t[::1] taken = np.zeros((size >> BITS) + 1, np.uint8)
    cdef double[::1] most = np.empty((size >> BITS) + 1)
    cdef Corner* hull = <Corner*>malloc(size * sizeof(Corner))
    if hull == NULL:
        raise MemoryError
    with nogil:
        edge = top_edge(&mu[0], &value[0], size, &most[0], &taken[0], hull)
        a = edge[0].at
        b = edge[1].at
        if edge[0].x == 0:
            b = a
        free(hull)
    return a, b
