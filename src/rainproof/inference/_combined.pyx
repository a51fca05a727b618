"""The statistic "combined": functions of the prediction, and the evidence of many samples along
them.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, cos, erfc, exp, fmax, fmin, log, log10, log1p, sqrt
from libc.string cimport memcpy
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from numpy.random cimport bitgen_t

import numpy as np

from rainproof.inference._draws cimport toss

cdef enum:
    RUNS = 256
    FUNCTIONS = 64

cdef double PI = 3.141592653589793
cdef double TINY = 1e-300
cdef double[FUNCTIONS] STEP  # 1/(1 + i/2)
for _i in range(FUNCTIONS):
    STEP[_i] = 1 / (1 + 0.5 * _i)
cdef int32_t[RUNS] EVERY
for _i in range(RUNS):
    EVERY[_i] = _i

ctypedef fused number:
    uint8_t
    int64_t
    double

cdef extern from *:
    """
    /* Elements are independent, so both versions give the same bits:
       see -ffp-contract=off in meson.build. */
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    __attribute__((target_clones("avx2", "default")))
    #endif
    static void add_rows(double *__restrict out, const double *__restrict factor,
                         const int32_t *__restrict which, const double *__restrict rows,
                         Py_ssize_t count, Py_ssize_t width, Py_ssize_t stride) {
        Py_ssize_t i = 0, j;
        for (; i + 4 <= count; i += 4) {
            const double a = factor[i];
            const double b = factor[i + 1];
            const double c = factor[i + 2];
            const double d = factor[i + 3];
            const double *p = rows + which[i] * stride;
            const double *q = rows + which[i + 1] * stride;
            const double *r = rows + which[i + 2] * stride;
            const double *s = rows + which[i + 3] * stride;
            for (j = 0; j < width; j++)
                out[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j]);
        }
        for (; i < count; i++)
            for (j = 0; j < width; j++)
                out[j] += factor[i] * rows[which[i] * stride + j];
    }
    """
    # out_j += the sum over i of factor_i times element j of the row which_i
    void add_rows(double* out, const double* factor, const int32_t* which, const double* rows,
                  Py_ssize_t count, Py_ssize_t width, Py_ssize_t stride) noexcept nogil


def functions(const double[::1] prob, const double[::1] weight, const double[::1] squares,
              Py_ssize_t most):
    """Runs of neighbouring predictions with equal shares of the variance, and functions of the run.

    Return the first prediction of each run, its expected weight of events, the places of
    predictions that are certain, and a column for each function. Functions are a constant, the log
    odds, then cosines of growing frequency, made orthonormal: the sums of residuals times a
    function are uncorrelated and have variance 1. Combinations of earlier functions are left out.
    `squares` are sums of squared weights.
    """
    cdef Py_ssize_t n = prob.shape[0]
    cdef Py_ssize_t room = min(n, RUNS)
    cdef Py_ssize_t runs = 0
    cdef Py_ssize_t some = 0
    cdef Py_ssize_t sure = 0
    cdef Py_ssize_t r, k
    cdef int64_t now, last = -1
    cdef double total = 0.0, before = 0.0, share, place
    starts = np.empty(room, np.int64)
    sums = np.zeros((5, room))
    unmoved = np.empty(n, np.int64)
    cdef int64_t[::1] start = starts
    cdef int64_t[::1] certain = unmoved
    # place, log odds, standard deviation, share of the variance, expected events
    cdef double[:, ::1] of_run = sums
    with nogil:
        for r in range(n):
            total += squares[r] * prob[r] * (1 - prob[r])
        total = fmax(total, TINY)
        for r in range(n):
            share = squares[r] * prob[r] * (1 - prob[r]) / total
            place = before + share / 2
            now = <int64_t>fmin(place * RUNS, RUNS - 1)
            if now != last:
                start[runs] = r
                runs = runs + 1
                last = now
            k = runs - 1
            of_run[4, k] += weight[r] * prob[r]
            if share > 0:
                of_run[0, k] += place * share
                of_run[1, k] += (log(prob[r]) - log1p(-prob[r])) * share
                of_run[3, k] += share
            elif prob[r] <= 0 or prob[r] >= 1:  # others have a share of 0 by rounding alone
                certain[sure] = r
                sure += 1
            before += share
        for k in range(runs):
            share = of_run[3, k]
            if share > 0:
                of_run[0, k] /= share
                of_run[1, k] /= share
                of_run[2, k] = sqrt(share * total)
                some += 1
    along = orthonormal(of_run, runs, min(most, FUNCTIONS, some))
    return starts[:runs], sums[4, :runs], unmoved[:sure], along


cdef orthonormal(const double[:, ::1] of_run, Py_ssize_t runs, Py_ssize_t size):
    """Gram and Schmidt, twice where rounding shows: a row for each run, and in it the functions."""
    cdef const double* place = &of_run[0, 0]
    cdef const double* root = &of_run[2, 0]  # 0 where no residual is: so are the functions
    cdef Py_ssize_t wide = full(size)
    cdef Py_ssize_t tall = full(runs)
    cdef Py_ssize_t found = 0
    cdef Py_ssize_t i, j, k
    cdef double start, length, before
    along = np.zeros((runs, wide))
    work = np.zeros((size + 4, tall))
    cdef double[:, ::1] out = along
    cdef double[:, ::1] works = work
    cdef double* turn = &works[size, 0]
    cdef double* now = &works[size + 1, 0]
    cdef double* earlier = &works[size + 2, 0]
    cdef double* column = &works[size + 3, 0]
    cdef double[FUNCTIONS] part
    with nogil:
        for k in range(runs):
            earlier[k] = cos(PI * place[k])
            turn[k] = 2 * earlier[k]
            now[k] = 1.0
        i = 0
        # more than are needed: some may be combinations of those before
        while found < size and i <= 2 * size:
            for k in range(runs):
                column[k] = (of_run[1, k] if i == 1 else now[k]) * root[k]
            if i != 1:  # cos((i + 1) x) = 2 cos(x) cos(i x) - cos((i - 1) x)
                for k in range(runs):
                    earlier[k] = turn[k] * now[k] - earlier[k]
                earlier, now = now, earlier
            i += 1
            start = length = norm(column, runs)
            for _ in range(2):
                for j in range(full(found)):
                    part[j] = 0.0
                add_rows(part, column, EVERY, &out[0, 0], runs, full(found), wide)
                for j in range(found):
                    part[j] = -part[j]
                add_rows(column, part, EVERY, &works[0, 0], found, tall, tall)
                before = length
                length = norm(column, runs)
                if length > 0.5 * before:
                    break
            if length > 1e-8 * start:
                length = 1 / length
                for k in range(runs):
                    out[k, found] = works[found, k] = column[k] * length
                found += 1
        for k in range(runs):
            length = 1 / root[k] if root[k] > 0 else 0.0
            for j in range(found):
                out[k, j] *= length
    return along[:, :found]


cdef inline Py_ssize_t full(Py_ssize_t size) noexcept nogil:
    """Whole vectors of four: rows are filled up with zeros."""
    return (size + 3) & ~3


cdef double norm(const double* vector, Py_ssize_t size) noexcept nogil:
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t k
    for k in range(0, full(size), 4):
        a += vector[k] * vector[k]
        b += vector[k + 1] * vector[k + 1]
        c += vector[k + 2] * vector[k + 2]
        d += vector[k + 3] * vector[k + 3]
    return sqrt((a + b) + (c + d))


cdef object evidence_of(const int64_t[::1] start, const number[:, ::1] amount,
                        const double[::1] expected, const double[:, :] along,
                        const int64_t[::1] certain, const double[::1] due):
    cdef Py_ssize_t samples = amount.shape[0], i, k
    cdef const number* row
    cdef double[FUNCTIONS] mean
    result = np.empty(samples)
    cdef double[::1] out = result
    with nogil:
        project(mean, expected, along)
        for i in range(samples):
            row = &amount[i, 0]
            out[i] = combined(row, amount.shape[1], start, mean, along)
            for k in range(certain.shape[0]):
                if row[certain[k]] != due[k]:
                    out[i] = INFINITY
    return result


def evidence(const int64_t[::1] start, amount, const double[::1] expected, const double[:, :] along,
             const int64_t[::1] certain, const double[::1] due):
    """log10 of the mean of 1/p over the tests, for each row of amounts; infinite where a certain
    amount is not due.
    """
    kind = amount.dtype.kind
    if kind == "u":
        return evidence_of[uint8_t](start, amount, expected, along, certain, due)
    if kind == "i":
        return evidence_of[int64_t](start, amount, expected, along, certain, due)
    return evidence_of[double](start, amount, expected, along, certain, due)


def until(capsule, const double[::1] prob, const int64_t[::1] count, const int64_t[::1] events,
          const int64_t[::1] start, const double[::1] expected, const double[:, :] along,
          const int64_t[::1] certain, int64_t hits, int64_t most):
    """Redraw the events until the evidence was so many times at least that of the observed ones, or
    `most` times.

    Return the number of draws and of hits.
    """
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t runs = start.shape[0]
    cdef Py_ssize_t k, r, i, stop
    cdef int64_t drawn = 0, seen = 0
    cdef double bar, scaled
    cdef double[FUNCTIONS] mean
    for r in range(count.shape[0]):
        n += count[r]
    cdef uint8_t[::1] heads = np.empty(n, np.uint8)
    cdef uint16_t[::1] first = np.empty(n, np.uint16)
    cdef double[::1] rest = np.empty(n)
    cdef int64_t[::1] start_row = np.empty(runs, np.int64)
    with nogil:
        for k in range(certain.shape[0]):
            if events[certain[k]] != count[certain[k]] * prob[certain[k]]:
                drawn = most  # the evidence is infinite, and that of no draw is
        project(mean, expected, along)
        bar = combined(&events[0], events.shape[0], start, mean, along)
        k = i = 0
        for r in range(count.shape[0]):
            if k < runs and start[k] == r:
                start_row[k] = i
                k += 1
            scaled = prob[r] * 65536.0
            stop = i + count[r]
            while i < stop:
                first[i] = <uint16_t>fmin(scaled, 65535.0)
                rest[i] = scaled - first[i]
                i += 1
        while seen < hits and drawn < most:
            toss(source, &first[0], &rest[0], n, &heads[0])
            drawn += 1
            seen += not combined(&heads[0], n, start_row, mean, along) < bar
    return drawn, seen


cdef void project(double* out, const double[::1] expected, const double[:, :] along) noexcept nogil:
    """Less the expected amounts along each function."""
    cdef double[RUNS] negative
    cdef Py_ssize_t k
    for k in range(FUNCTIONS):
        out[k] = 0.0
    for k in range(expected.shape[0]):
        negative[k] = -expected[k]
    if along.shape[1]:
        add_rows(out, negative, EVERY, &along[0, 0], along.shape[0], full(along.shape[1]),
                 along.strides[0] // 8)


cdef double combined(const number* row, Py_ssize_t n, const int64_t[::1] start, const double* mean,
                     const double[:, :] along) noexcept nogil:
    """log10 of the mean of 1/p over the tests, for one sample."""
    cdef double[RUNS] amount
    cdef int32_t[RUNS] which
    cdef double[FUNCTIONS] z
    cdef Py_ssize_t runs = start.shape[0]
    cdef Py_ssize_t size = along.shape[1]
    cdef Py_ssize_t some = 0
    cdef Py_ssize_t tests = 0
    cdef Py_ssize_t order, j, k, r, stop
    cdef int64_t whole
    cdef double total, inverse = 0.0
    if size == 0:
        return 0.0
    for k in range(runs):
        r = start[k]
        stop = start[k + 1] if k + 1 < runs else n
        total = row[r]
        r += 1
        if r < stop:
            if number is double:
                while r < stop:
                    total += row[r]
                    r += 1
            else:  # whole numbers may be added in any order, many at a time
                whole = 0
                while r < stop:
                    whole += row[r]
                    r += 1
                total += <double>whole
        amount[some] = total
        which[some] = <int32_t>k
        some += total != 0  # with few rows many runs have no event
    memcpy(z, mean, sizeof(z))
    add_rows(z, amount, which, &along[0, 0], some, full(size), along.strides[0] // 8)
    total = 0.0
    for j in range(size):
        z[j] *= z[j]
        total += z[j]
        if j < 2:
            inverse += 1 / tail(1, z[j])
            tests += 1
        if j == 0:  # the first alone is also the test of order 1
            inverse *= 2
            tests *= 2
            order = 2
        elif j + 1 == order or j + 1 == size:
            inverse += 1 / tail(j + 1, total)
            tests += 1
            order *= 2
    return log10(inverse / tests)


cdef double tail(Py_ssize_t order, double x) noexcept nogil:
    """The probability that a chi-squared variable of this order is at least x; no less than 1e-300.

    It grows with every second order by the next term of a series, from erfc(sqrt(x / 2)) for order
    1.
    """
    cdef double half = x / 2
    cdef double total = 0.0
    cdef double term, small
    cdef Py_ssize_t i
    if half > 1000:  # below 1e-300 for every order up to 64; and no power overflows
        return TINY
    if order > 1:
        term = 1.0 if order % 2 == 0 else sqrt(half) * 1.1283791670955126  # 2 / sqrt(pi)
        for i in range(order // 2):
            total += term
            term *= half * STEP[2 * i + order % 2]
        # used twice: it must not underflow before the sum makes it large again
        small = exp(-half / 2)
        total = total * small * small
    if order % 2:
        total += erfc(sqrt(half))
    return TINY if total < TINY else total
