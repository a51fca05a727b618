"""Amounts at sorted predictions, shared out among the points of a grid; SCDL of many samples on that grid."""

from libc.stdint cimport int64_t, uint8_t

import numpy as np

from brolly.core._fixed_loss cimport loss_at, worst

ctypedef fused number:
    uint8_t
    int64_t
    double


cdef int64_t whole_sum(const number* row, Py_ssize_t r, Py_ssize_t stop) noexcept nogil:
    """Whole numbers may be added in any order, many at a time."""
    cdef int64_t total = 0
    while r < stop:
        total += <int64_t>row[r]
        r += 1
    return total


def soft_sums(const int64_t[::1] start, const double[::1] rise, const number[:, ::1] amount, double[:, ::1] out):
    """out_ij = sum of amount_ir (1 - |m p_r - j|)+ over the predictions, for each sample i and j = 0..m.

    The predictions from start[k] up to start[k + 1] are those in cell k, and rise is m p - k. Four sums run side by
    side, as one addition need not wait for the one before it; the order of additions is always the same.
    """
    cdef Py_ssize_t cells = start.shape[0] - 1, i, k, r, stop
    cdef double a0, a1, a2, a3, b0, b1, b2, b3, carried
    cdef const number* row
    with nogil:
        for i in range(amount.shape[0]):
            row = &amount[i, 0]
            carried = 0.0
            for k in range(cells):
                a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
                r, stop = start[k], start[k + 1]
                if number is not double:
                    a0 = <double>whole_sum(row, r, stop)
                while r + 4 <= stop:
                    b0 += <double>row[r] * rise[r]
                    b1 += <double>row[r + 1] * rise[r + 1]
                    b2 += <double>row[r + 2] * rise[r + 2]
                    b3 += <double>row[r + 3] * rise[r + 3]
                    if number is double:
                        a0 += row[r]
                        a1 += row[r + 1]
                        a2 += row[r + 2]
                        a3 += row[r + 3]
                    r += 4
                while r < stop:
                    b0 += <double>row[r] * rise[r]
                    if number is double:
                        a0 += row[r]
                    r += 1
                b0 = (b0 + b1) + (b2 + b3)
                out[i, k] = carried + ((a0 + a1) + (a2 + a3) - b0)
                carried = b0


def soft_sums_with(const int64_t[::1] cell, const double[::1] rise, const double[::1] shared,
                   const int64_t[::1] row, const uint8_t[:, ::1] outcome):
    """The sums of samples that share most of their rows: one sample a row of the result, a column of `outcome`.

    `shared` has the sums of what they share, `row` the numbers of the other rows, `outcome` whether a sample has them.
    Only where neighbouring samples differ is anything added.
    """
    cdef Py_ssize_t points = shared.shape[0], samples = outcome.shape[1], h, i, j, r
    cdef uint8_t before, now
    cdef double sign
    result = np.zeros((samples, points))
    cdef double[:, ::1] out = result
    with nogil:
        for h in range(row.shape[0]):
            r = row[h]
            before = 0
            for i in range(samples):
                now = outcome[h, i]
                if now != before:
                    sign = 1.0 if now else -1.0
                    out[i, cell[r]] += sign * (1 - rise[r])
                    if rise[r] > 0:  # a prediction of 1 has no point above it
                        out[i, cell[r] + 1] += sign * rise[r]
                    before = now
        for j in range(points):
            out[0, j] += shared[j]
        for i in range(1, samples):
            for j in range(points):
                out[i, j] += out[i - 1, j]
    return result


def run_sums(const number[:, ::1] amount, const int64_t[::1] start):
    """The sums of the amounts from start[k] up to start[k + 1], for each row of amounts."""
    cdef Py_ssize_t n = amount.shape[1], runs = start.shape[0], i, k, r, stop
    cdef double total
    result = np.empty((amount.shape[0], runs))
    cdef double[:, ::1] out = result
    with nogil:
        for i in range(amount.shape[0]):
            for k in range(runs):
                stop = start[k + 1] if k + 1 < runs else n
                total = 0.0
                for r in range(start[k], stop):
                    total += <double>amount[i, r]
                out[i, k] = total
    return result


def weighted_sums(const number[:, ::1] amount, const double[::1] each):
    """The sum of amount_ir each_r for each row i of amounts."""
    cdef Py_ssize_t n = amount.shape[1], i, r
    cdef double a0, a1, a2, a3
    result = np.empty(amount.shape[0])
    cdef double[::1] out = result
    cdef const number* row
    with nogil:
        for i in range(amount.shape[0]):
            row = &amount[i, 0]
            a0 = a1 = a2 = a3 = 0.0
            r = 0
            while r + 4 <= n:
                a0 += <double>row[r] * each[r]
                a1 += <double>row[r + 1] * each[r + 1]
                a2 += <double>row[r + 2] * each[r + 2]
                a3 += <double>row[r + 3] * each[r + 3]
                r += 4
            while r < n:
                a0 += <double>row[r] * each[r]
                r += 1
            out[i] = (a0 + a1) + (a2 + a3)
    return result


cdef void halve(const double* fine, double* coarse, Py_ssize_t cells, bint soft) noexcept nogil:
    """The sums on the grid of every second point: those between go half to each neighbour, or all down."""
    cdef Py_ssize_t j
    cdef double up, carried = 0.0
    for j in range(cells):
        up = 0.5 * fine[2 * j + 1] if soft else 0.0
        coarse[j] = fine[2 * j] + (up if soft else fine[2 * j + 1]) + carried
        carried = up
    coarse[cells] = fine[2 * cells] + carried


def balance(const double[::1] weight, const double[:, ::1] positive, bint soft, const double[::1] bar):
    """For each sample the first grid m = 2^e, e = 1, 2, ..., whose successor 2m has at least the loss bar[e].

    Return e (0 if there is none) and the loss on the grid m. Losses never decrease with m, so not all are needed.
    `weight` is shared by all samples; its grid, and that of `positive`, is 2^len(bar), 8 or more.
    """
    cdef Py_ssize_t samples = positive.shape[0], finest = bar.shape[0], size = weight.shape[0], i
    cdef int64_t e, at
    cdef double loss
    exponents, losses = np.zeros(samples, np.int64), np.zeros(samples)
    cdef int64_t[::1] exponent = exponents, place = np.arange(size), candidate = np.empty(2 * size, np.int64)
    cdef double[::1] found = losses, change = np.empty(4 * size + 2)
    cdef double[:, ::1] sums = np.empty((2, 2 * size + finest - 2))
    with nogil:
        sums[0, size + finest - 2 :] = weight
        for e in range(finest - 1, 0, -1):
            halve(&sums[0, first(e + 1)], &sums[0, first(e)], 1 << e, soft)
        for i in range(samples):
            sums[1, size + finest - 2 :] = positive[i]
            for e in range(finest - 1, 0, -1):
                halve(&sums[1, first(e + 1)], &sums[1, first(e)], 1 << e, soft)
            # Most samples balance near the finest grid, whose loss costs most: start one below, and then walk.
            e = finest - 2
            loss = loss_on(sums, e + 1, place, candidate, change, &at)
            if loss >= bar[e]:
                while e > 0:
                    e -= 1
                    loss = loss_on(sums, e + 1, place, candidate, change, &at)
                    if e == 0 or loss < bar[e]:
                        break
            elif not reaches(sums, finest, place, candidate, change, 2 * at, bar[finest - 1]):
                continue
            exponent[i], found[i] = e + 1, loss
    return exponents, losses


cdef inline Py_ssize_t first(int64_t e) noexcept nogil:
    """Where the sums on the grid 2^e begin: those on all coarser grids, from 1 on, are before them."""
    return (<Py_ssize_t>1 << e) + e - 1


cdef double loss_on(const double[:, ::1] sums, int64_t e, const int64_t[::1] place, int64_t[::1] candidate,
                    double[::1] change, int64_t* threshold) noexcept nogil:
    """The loss on the grid 2^e, and where it is."""
    cdef int64_t m = <int64_t>1 << e
    return worst(&place[0], &sums[0, first(e)], &sums[1, first(e)], m + 1, m, &candidate[0], &change[0], threshold)


cdef bint reaches(const double[:, ::1] sums, int64_t e, const int64_t[::1] place, int64_t[::1] candidate,
                  double[::1] change, int64_t guess, double bar) noexcept nogil:
    """Whether the loss on the grid 2^e is at least `bar`: mostly it is at a threshold near the worst of another grid."""
    cdef int64_t m = <int64_t>1 << e, threshold
    if loss_at(&place[0], &sums[0, first(e)], &sums[1, first(e)], m + 1, <double>m, <double>guess) >= bar:
        return True
    return loss_on(sums, e, place, candidate, change, &threshold) >= bar
