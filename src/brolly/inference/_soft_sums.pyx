"""Amounts at sorted predictions, shared out among the points of a grid; SCDL of many samples on that grid."""

from libc.stdint cimport int64_t, uint8_t

import numpy as np

from brolly.core._fixed_loss cimport loss_at, worst

ctypedef fused number:
    uint8_t
    int64_t
    double


cdef enum:
    ROOM = 256  # numbers that are multiplied before their products are added


cdef double dot(const number* amount, const double* each, Py_ssize_t size) noexcept nogil:
    """The sum of amount_r each_r.

    Four sums run side by side, as one addition need not wait for the one before it; their order is always the same.
    """
    cdef double[ROOM] product
    cdef double b0 = 0, b1 = 0, b2 = 0, b3 = 0
    cdef Py_ssize_t r = 0, k, some
    while r < size:
        some = min(<Py_ssize_t>ROOM, size - r)
        for k in range(some):
            product[k] = <double>amount[r + k] * each[r + k]
        k = 0
        while k + 4 <= some:
            b0 += product[k]
            b1 += product[k + 1]
            b2 += product[k + 2]
            b3 += product[k + 3]
            k += 4
        while k < some:
            b0 += product[k]
            k += 1
        r += some
    return (b0 + b1) + (b2 + b3)


def soft_sums(const int64_t[::1] start, const double[::1] rise, const number[:, ::1] amount, double[:, ::1] out):
    """out_ij = sum of amount_ir (1 - |m p_r - j|)+ over the predictions, for each sample i and j = 0..m.

    The predictions from start[k] up to start[k + 1] are those in cell k, and rise is m p - k. Cells often have fewer
    predictions than are multiplied at once: products are made beyond their ends, and added up within.
    """
    cdef Py_ssize_t cells = start.shape[0] - 1, n = amount.shape[1], i, k, r, j, first, last, stop
    cdef double[ROOM] product
    cdef double a0, a1, b0, b1, b2, b3, carried
    cdef int64_t whole
    cdef const number* row
    with nogil:
        for i in range(amount.shape[0]):
            row = &amount[i, 0]
            whole, a0, a1, b0, b1, b2, b3, carried = 0, 0, 0, 0, 0, 0, 0, 0
            k = r = last = 0
            while k < cells:
                if r == start[k + 1]:
                    b0 = (b0 + b1) + (b2 + b3)
                    out[i, k] = carried + ((a0 + a1) + <double>whole - b0)
                    carried = b0
                    whole, a0, a1, b0, b1, b2, b3 = 0, 0, 0, 0, 0, 0, 0
                    k += 1
                    continue
                if r == last:
                    first, last = r, min(r + ROOM, n)
                    for j in range(last - first):
                        product[j] = <double>row[first + j] * rise[first + j]
                stop = min(<Py_ssize_t>start[k + 1], last)
                while r + 4 <= stop:
                    j = r - first
                    b0 += product[j]
                    b1 += product[j + 1]
                    b2 += product[j + 2]
                    b3 += product[j + 3]
                    if number is double:
                        a0 += row[r] + row[r + 2]
                        a1 += row[r + 1] + row[r + 3]
                    else:
                        whole += row[r] + row[r + 1] + row[r + 2] + row[r + 3]
                    r += 4
                while r < stop:
                    b0 += product[r - first]
                    if number is double:
                        a0 += row[r]
                    else:
                        whole += row[r]
                    r += 1


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
    cdef Py_ssize_t i
    result = np.empty(amount.shape[0])
    cdef double[::1] out = result
    with nogil:
        for i in range(amount.shape[0]):
            out[i] = dot(&amount[i, 0], &each[0], each.shape[0])
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
    cdef int64_t e = finest - 2, at, further, fine
    cdef double loss, finer
    exponents, losses = np.zeros(samples, np.int64), np.zeros(samples)
    cdef int64_t[::1] exponent = exponents, place = np.arange(size), candidate = np.empty(2 * size, np.int64)
    cdef double[::1] found = losses, change = np.empty(4 * size + 2)
    cdef double[:, ::1] sums = np.empty((2, 2 * size + finest - 2))
    with nogil:
        sums[0, size + finest - 2 :] = weight
        for fine in range(finest - 1, 0, -1):
            halve(&sums[0, first(fine + 1)], &sums[0, first(fine)], 1 << fine, soft)
        for i in range(samples):
            sums[1, size + finest - 2 :] = positive[i]
            for fine in range(finest - 1, 0, -1):
                halve(&sums[1, first(fine + 1)], &sums[1, first(fine)], 1 << fine, soft)
            # Start where the sample before balances, and walk: the finer a grid, the more its loss costs.
            loss = loss_on(sums, e + 1, place, candidate, change, &at)
            if loss >= bar[e]:
                while e > 0:
                    e -= 1
                    loss = loss_on(sums, e + 1, place, candidate, change, &at)
                    if loss < bar[e]:
                        break
            else:
                while e < finest - 2:
                    finer = loss_on(sums, e + 2, place, candidate, change, &further)
                    if finer >= bar[e + 1]:
                        break
                    e, loss, at = e + 1, finer, further
                if e == finest - 2 and not reaches(sums, finest, place, candidate, change, 2 * at, bar[finest - 1]):
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
