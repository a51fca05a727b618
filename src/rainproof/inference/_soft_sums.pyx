"""Amounts at sorted predictions, shared out among the points of a grid; SCDL of many samples on
that grid.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

from rainproof.core._fixed_loss cimport loss_at, worst

ctypedef fused number:
    uint8_t
    int64_t
    double


cdef enum:
    ROOM = 256  # numbers that are multiplied before their products are added


cdef double dot(const number* amount, const double* each, Py_ssize_t size) noexcept nogil:
    """The sum of amount_r each_r.

    Four sums run side by side, as one addition need not wait for the one before it; their order is
    always the same.
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


def placed(const double[::1] prob, const uint8_t[::1] outcome, int64_t m, bint soft):
    """Place increasing predictions on the grid 1/m: return where the predictions of each cell
    start, and their rises.

    A rise is the share m p - k that is rounded up from k, the cell; 0 if rounding is not soft. With
    outcomes (None: all alike), those of 1 come after those of 0: there are cells 0..m of the one
    kind and then of the other.
    """
    cdef Py_ssize_t n = prob.shape[0]
    cdef Py_ssize_t kinds = 1 if outcome is None else 2
    cdef Py_ssize_t r, k
    cdef Py_ssize_t y = 0
    cdef double scaled
    cdef Py_ssize_t[2] at
    at[0] = at[1] = 0
    starts = np.zeros(kinds * (m + 1) + 1, np.int64)
    rises = np.empty(n)
    cdef int64_t[::1] start = starts
    cdef double[::1] rise = rises
    with nogil:
        if kinds == 2:
            for r in range(n):
                at[1] += not outcome[r]
        for r in range(n):
            if kinds == 2:
                y = outcome[r]
            scaled = prob[r] * m
            k = <Py_ssize_t>scaled
            rise[at[y]] = scaled - k if soft else 0.0
            at[y] += 1
            start[y * (m + 1) + k + 1] += 1
        for k in range(kinds * (m + 1)):
            start[k + 1] += start[k]
    return starts, rises


cdef void share_out(const int64_t[::1] start, const double[::1] rise, const number* row,
                    double* out) noexcept nogil:
    """Write out_j = sum of row_r (1 - |m p_r - j|)+ over the predictions.

    The predictions from start[k] up to start[k + 1] are those in cell k. Cells often have fewer
    predictions than are multiplied at once: products are made beyond their ends, and added up
    within. Of two kinds of outcomes, nothing is carried from the one to the other: in the last
    cell, m, predictions are 1, and their rise is 0.
    """
    cdef Py_ssize_t cells = start.shape[0] - 1
    cdef Py_ssize_t n = rise.shape[0]
    cdef Py_ssize_t k = 0
    cdef Py_ssize_t r = 0
    cdef Py_ssize_t j
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t last = 0
    cdef Py_ssize_t stop
    cdef double[ROOM] product
    cdef double a0 = 0, a1 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0, carried = 0
    cdef int64_t whole = 0
    while k < cells:
        if r == start[k + 1]:
            b0 = (b0 + b1) + (b2 + b3)
            out[k] = carried + ((a0 + a1) + <double>whole - b0)
            carried = b0
            whole = 0
            a0 = 0
            a1 = 0
            b0 = 0
            b1 = 0
            b2 = 0
            b3 = 0
            k += 1
            continue
        if r == last:
            first = r
            last = min(r + ROOM, n)
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


cdef object soft_sums_of(const int64_t[::1] start, const double[::1] rise,
                         const number[:, ::1] amount, double[:, ::1] out):
    cdef Py_ssize_t i
    with nogil:
        for i in range(amount.shape[0]):
            share_out(start, rise, &amount[i, 0], &out[i, 0])


def soft_sums(const int64_t[::1] start, const double[::1] rise, amount, double[:, ::1] out):
    """Share out each row of amounts among the points of the grid (see `placed`)."""
    kind = amount.dtype.kind
    if kind == "u":
        return soft_sums_of[uint8_t](start, rise, amount, out)
    if kind == "i":
        return soft_sums_of[int64_t](start, rise, amount, out)
    return soft_sums_of[double](start, rise, amount, out)


def soft_sums_with(const int64_t[::1] cell, const double[::1] rise, const double[::1] shared,
                   const int64_t[::1] row, const uint8_t[:, ::1] outcome):
    """The sums of samples that share most of their rows: one sample a row of the result, a column
    of `outcome`.

    `shared` has the sums of what they share, `row` the numbers of the other rows, `outcome` whether
    a sample has them. Only where neighbouring samples differ is anything added.
    """
    cdef Py_ssize_t points = shared.shape[0]
    cdef Py_ssize_t samples = outcome.shape[1]
    cdef Py_ssize_t h, i, j, r
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


cdef object run_sums_of(const number[:, ::1] amount, const int64_t[::1] start):
    cdef Py_ssize_t n = amount.shape[1]
    cdef Py_ssize_t runs = start.shape[0]
    cdef Py_ssize_t i, k, r, stop
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


def run_sums(amount, const int64_t[::1] start):
    """The sums of the amounts from start[k] up to start[k + 1], for each row of amounts."""
    kind = amount.dtype.kind
    if kind == "u":
        return run_sums_of[uint8_t](amount, start)
    if kind == "i":
        return run_sums_of[int64_t](amount, start)
    return run_sums_of[double](amount, start)


cdef object weighted_sums_of(const number[:, ::1] amount, const double[::1] each):
    cdef Py_ssize_t i
    result = np.empty(amount.shape[0])
    cdef double[::1] out = result
    with nogil:
        for i in range(amount.shape[0]):
            out[i] = dot(&amount[i, 0], &each[0], each.shape[0])
    return result


def weighted_sums(amount, const double[::1] each):
    """The sum of amount_ir each_r for each row i of amounts."""
    kind = amount.dtype.kind
    if kind == "u":
        return weighted_sums_of[uint8_t](amount, each)
    if kind == "i":
        return weighted_sums_of[int64_t](amount, each)
    return weighted_sums_of[double](amount, each)


# Sums on the grids 2, 4, ..., 2^finest, the coarsest first, and room for the search of the worst
# threshold. All of it is one block of memory, which starts at `place`.
cdef struct Search:
    int64_t finest
    int64_t* place
    int64_t* candidate
    double* change
    double* weight
    double* events


cdef Search make_search(int64_t finest) except *:
    """Get the memory; the caller frees it."""
    cdef Search made
    cdef Py_ssize_t size = (<Py_ssize_t>1 << finest) + 1, j
    made.finest = finest
    made.place = <int64_t*>malloc(
        size * 3 * sizeof(int64_t) + (4 * size + 2 + 2 * first(finest + 1)) * sizeof(double)
    )
    if made.place == NULL:
        raise MemoryError
    made.candidate = made.place + size
    made.change = <double*>(made.candidate + 2 * size)
    made.weight = made.change + 4 * size + 2
    made.events = made.weight + first(finest + 1)
    for j in range(size):
        made.place[j] = j
    return made


cdef inline Py_ssize_t first(int64_t e) noexcept nogil:
    """Where the sums on the grid 2^e begin: those on all coarser grids, from 1 on, are before them.
    """
    return (<Py_ssize_t>1 << e) + e - 1


cdef void coarsen(double* sums, int64_t finest, bint soft) noexcept nogil:
    """Fill in the sums on all coarser grids: those at every other point go half to each neighbour,
    or all down.
    """
    cdef double* fine
    cdef double* coarse
    cdef double up, carried
    cdef int64_t e
    cdef Py_ssize_t j
    for e in range(finest - 1, 0, -1):
        fine = sums + first(e + 1)
        coarse = sums + first(e)
        carried = 0.0
        for j in range(<Py_ssize_t>1 << e):
            up = 0.5 * fine[2 * j + 1] if soft else 0.0
            coarse[j] = fine[2 * j] + (up if soft else fine[2 * j + 1]) + carried
            carried = up
        coarse[1 << e] = fine[2 << e] + carried


cdef double loss_on(const Search* of, int64_t e, int64_t* threshold) noexcept nogil:
    """The loss on the grid 2^e, and where it is."""
    cdef int64_t m = <int64_t>1 << e
    return worst(of.place, of.weight + first(e), of.events + first(e), m + 1, m, of.candidate,
                 of.change, threshold)


cdef bint reaches(const Search* of, int64_t e, int64_t guess, double bar) noexcept nogil:
    """Whether the loss on the grid 2^e is at least `bar`: mostly it is at a threshold near the
    worst of another grid.
    """
    cdef int64_t m = <int64_t>1 << e, threshold
    if loss_at(of.place, of.weight + first(e), of.events + first(e), m + 1, <double>m,
               <double>guess) >= bar:
        return True
    return loss_on(of, e, &threshold) >= bar


cdef int64_t balanced(const Search* of, const double[::1] bar, int64_t start,
                      double* loss) noexcept nogil:
    """The first grid m = 2^e, e = 1, 2, ..., whose successor 2m has at least the loss bar[e]; 0 if
    there is none.

    Losses never decrease with m, so not all are needed: the search starts at e = `start` and walks,
    as the finer a grid, the more its loss costs.
    """
    cdef int64_t e = start, at, further
    cdef double finer
    loss[0] = loss_on(of, e, &at)
    if loss[0] >= bar[e - 1]:
        while e > 1:
            e -= 1
            loss[0] = loss_on(of, e, &at)
            if loss[0] < bar[e - 1]:
                break
        return e
    while e < of.finest - 1:
        finer = loss_on(of, e + 1, &further)
        if finer >= bar[e]:
            return e
        e = e + 1
        loss[0] = finer
        at = further
    return e if reaches(of, e + 1, 2 * at, bar[e]) else 0


def balance(const double[::1] weight, const double[:, ::1] positive, bint soft,
            const double[::1] bar):
    """For each sample the first grid m = 2^e, e = 1, 2, ..., whose successor 2m has at least the
    loss bar[e].

    Return e (0 if there is none) and the loss on the grid m. `weight` is shared by all samples; its
    grid, and that of `positive`, is 2^len(bar), 8 or more.
    """
    cdef Py_ssize_t samples = positive.shape[0]
    cdef Py_ssize_t size = weight.shape[0]
    cdef Py_ssize_t i
    cdef int64_t start = bar.shape[0] - 1
    exponents = np.zeros(samples, np.int64)
    losses = np.zeros(samples)
    cdef int64_t[::1] exponent = exponents
    cdef double[::1] loss = losses
    cdef Search of = make_search(bar.shape[0])
    with nogil:
        memcpy(of.weight + first(of.finest), &weight[0], size * sizeof(double))
        coarsen(of.weight, of.finest, soft)
        for i in range(samples):
            memcpy(of.events + first(of.finest), &positive[i, 0], size * sizeof(double))
            coarsen(of.events, of.finest, soft)
            exponent[i] = balanced(&of, bar, start, &loss[i])
            start = exponent[i] or start
        free(of.place)
    return exponents, losses


def balance_repeated(const int64_t[::1] start, const double[::1] rise, const uint8_t[::1] times,
                     bint soft, const double[::1] bar):
    """The result of `balance` for one sample: rows that are `placed` by outcome, each repeated so
    many times.
    """
    cdef Search of = make_search(bar.shape[0])
    cdef Py_ssize_t size = (start.shape[0] - 1) // 2, j
    cdef double* weight = of.weight + first(of.finest)
    cdef double* events = of.events + first(of.finest)
    cdef double loss
    cdef int64_t exponent
    with nogil:
        # 2 size sums: for rows without the event, and with it
        share_out(start, rise, &times[0], of.change)
        for j in range(size):
            events[j] = of.change[size + j]
            weight[j] = of.change[j] + events[j]
        coarsen(of.weight, of.finest, soft)
        coarsen(of.events, of.finest, soft)
        exponent = balanced(&of, bar, of.finest - 1, &loss)
        free(of.place)
    return exponent, loss
