"""The soft-binned decision loss of a rounded sample over all thresholds."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cimport numpy as cnp

from rainproof.core._rounding cimport most_bins, round_slots

import numpy as np

cnp.import_array()


cdef inline Py_ssize_t first_at_least(const int64_t* i, Py_ssize_t size, bint dense,
                                      double x) noexcept nogil:
    """Return the place of the first of the increasing i that is >= x (size if none is); `dense`:
    i is 0, 1, 2, ...
    """
    cdef Py_ssize_t low = 0, high = size, middle
    if dense:  # the place is known
        x = x if x > 0 else 0.0
        x = x if x < <double>size else <double>size
        low = <Py_ssize_t>x
        return low + (<double>low < x)
    while low < high:
        middle = (low + high) // 2
        if <double>i[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


cdef double loss_at(const int64_t* j, const double* pi, const double* s, Py_ssize_t bins,
                    double m, double i) noexcept nogil:
    """Evaluate the definition at one threshold.

    It is sum_{j<=i} (s_j - pi_j (i+1)/m)+ + sum_{j>i} (pi_j i/m - s_j)+.
    """
    cdef Py_ssize_t b
    cdef double total = 0.0
    cdef double loss
    cdef double above = (i + 1) / m
    cdef double below = i / m
    for b in range(bins):
        if j[b] <= i:
            loss = s[b] - pi[b] * above
        else:
            loss = pi[b] * below - s[b]
        total += loss if loss > 0 else 0.0
    return total


cdef inline void add(double* pair, double constant, double slope) noexcept nogil:
    """Both at once: compilers join the two additions only if no store comes between them."""
    cdef double first = pair[0]
    cdef double second = pair[1]
    first += constant
    second += slope
    pair[0] = first
    pair[1] = second


cdef double worst(const int64_t* j, const double* pi, const double* s, Py_ssize_t bins, int64_t m,
                  int64_t* candidate, double* change, int64_t* threshold) noexcept nogil:
    """The largest loss over all thresholds, as `worst_threshold`.

    `candidate` has room for 2 bins numbers, `change` for 4 bins + 2.
    """
    cdef Py_ssize_t b, at = 0, edge, start, stop, size = 0, winner = 0
    cdef double best = -1.0
    cdef double constant, slope, value
    cdef double step = 1.0 / <double>m
    cdef double mq, inside
    cdef bint dense, over
    dense = j[0] == 0 and j[bins - 1] == bins - 1
    if dense:  # every threshold is a candidate
        size = bins
    else:
        for b in range(bins):
            if j[b] > 0 and (size == 0 or candidate[size - 1] < j[b] - 1):
                candidate[size] = j[b] - 1
                size += 1
            candidate[size] = j[b]
            size += 1
    memset(change, 0, (2 * size + 2) * sizeof(double))
    for b in range(bins):
        at = b if dense else at
        while not dense and candidate[at] < j[b]:
            at += 1
        if pi[b] <= 0:
            continue
        mq = s[b] / pi[b] * <double>m
        # No branches: which side the event rate is on is as good as random, and a wrong guess costs
        # more than both.
        over = mq > <double>j[b]
        edge = first_at_least(candidate, size, dense, mq - over)
        start = at if over else edge
        stop = edge if over else at
        inside = 1.0 if start < stop else 0.0
        constant = (s[b] - pi[b] * step if over else -s[b]) * inside
        slope = (-pi[b] if over else pi[b]) * inside
        add(&change[2 * start], constant, slope)
        add(&change[2 * stop], -constant, -slope)
    constant = slope = 0.0
    for b in range(size):
        constant += change[2 * b]
        slope += change[2 * b + 1]
        value = constant + slope * (<double>(b if dense else candidate[b]) * step)
        if value > best:
            best = value
            winner = b
    threshold[0] = winner if dense else candidate[winner]
    return loss_at(j, pi, s, bins, <double>m, <double>threshold[0])


def worst_threshold(const int64_t[::1] j, const double[::1] pi, const double[::1] s, int64_t m):
    """Return the largest loss over the thresholds i = 0..m, and the smallest i that attains it.

    Between two neighbouring bins every term is convex in i, so only the thresholds i = j and
    i = j - 1 can be the worst. Bin j adds (s_j - pi_j/m) - pi_j (i/m) to those from j up to
    m q_j - 1, or -s_j + pi_j (i/m) to those from m q_j up to j - 1: two difference arrays, summed
    in one sweep.
    The loss at the worst threshold is then evaluated by its definition, so it has no rounding error
    from the sweep. O(bins) if bins are neighbours, O(bins log bins) otherwise.
    """
    cdef Py_ssize_t bins = j.shape[0]
    cdef int64_t threshold = 0
    cdef double value
    cdef int64_t[::1] candidate = np.empty(2 * bins, np.int64)
    cdef double[::1] change = np.empty(4 * bins + 2)
    with nogil:
        value = worst(&j[0], &pi[0], &s[0], bins, m, &candidate[0], &change[0], &threshold)
    return value, threshold


def worst_on_grid(cnp.ndarray slot not None, cnp.ndarray weight not None, cnp.ndarray rise not None,
                  int64_t grid, int64_t m, bint soft):
    """Return the same for the rows of these slots of a grid, rounded to the grid 1/m, which is not
    finer.

    The arrays are contiguous, of int64 and of float64; as they are not converted, a small sample
    costs little.
    """
    cdef Py_ssize_t slots = cnp.PyArray_DIM(slot, 0)
    cdef Py_ssize_t most = most_bins(slots, m)
    cdef Py_ssize_t bins
    cdef const int64_t* places = <const int64_t*>cnp.PyArray_DATA(slot)
    cdef const double* weights = <const double*>cnp.PyArray_DATA(weight)
    cdef const double* rises = <const double*>cnp.PyArray_DATA(rise)
    cdef double loss
    cdef int64_t i
    cdef int shift = 0
    while m << shift < grid:
        shift += 1
    cdef size_t size = (
        most * (3 * sizeof(int64_t) + 2 * sizeof(double)) + (4 * most + 2) * sizeof(double)
    )
    cdef int64_t* index = <int64_t*>malloc(size)
    if index == NULL:
        raise MemoryError
    cdef int64_t* candidate = index + most
    cdef double* pi = <double*>(candidate + 2 * most)
    cdef double* s = pi + most
    with nogil:
        bins = round_slots(places, weights, rises, slots, shift, soft, index, pi, s)
        loss = worst(index, pi, s, bins, m, candidate, s + most, &i)
        free(index)
    return loss, i
