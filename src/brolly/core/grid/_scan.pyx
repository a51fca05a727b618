"""One pass over the rows: check every row, and add it to its slot.

A row (p, y) belongs to slot 2 k + y, where k = floor(m p) is its cell on the grid 1/m, and has the
offset f = m p - k above the lower edge of that cell. A slot holds the number of its rows and the sum
of their offsets, its *rise*. As m is a power of two, m p and f are exact.

Unweighted rows are added as integers, f in units of 2^-52 (cells above the lowest hold no finer
doubles), so the sums have no rounding error and depend on neither the order of the rows nor the
number of threads. Weighted rows are added in pairs of doubles that keep the error of each addition.

Bins whose number m is not a power of two are given by their cuts, as m p is rounded then: rows near
a cut are compared with it, so that k is right, and f is off by at most m 2^-52.

Rows are processed in blocks that fit into registers and the first-level cache. A block is checked
before any of its rows is added, while the processor fetches the next one.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

cimport cython
cimport numpy as cnp

from brolly.core._double_double cimport add_exactly
from brolly.core.grid._slots cimport Slot, WeightedSlot, add_row, add_weighted_row

import numpy as np

cnp.import_array()

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define BLOCK 64
    #define ONE UINT64_C(0x3FF0000000000000)       /* the bits of 1.0 */
    #define UNIT UINT64_C(0x0010000000000000)      /* 1, in units of 2^-52 */
    #define LARGEST UINT64_C(0x7FEFFFFFFFFFFFFF)   /* the bits of the largest finite double */
    static inline uint64_t bits_of(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
    """
    const int BLOCK
    const uint64_t ONE
    const uint64_t UNIT
    const uint64_t LARGEST
    uint64_t bits_of(double x) noexcept nogil

ctypedef fused integer:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused number:
    integer
    cython.floating

cdef struct Column:
    const char* at
    Py_ssize_t step
    int dtype


cdef inline const number* contiguous(const number* at, Py_ssize_t step, Py_ssize_t n, number* buffer) noexcept nogil:
    """Return the next n values, in place if they are contiguous, else copied to `buffer`."""
    cdef Py_ssize_t r
    if step == <Py_ssize_t>sizeof(number):
        return at
    for r in range(n):
        buffer[r] = (<const number*>(<const char*>at + r * step))[0]
    return buffer


cdef inline uint64_t place(const cython.floating* at, Py_ssize_t step, Py_ssize_t n, double m,
                           int32_t* slot, uint64_t* offset) noexcept nogil:
    """Compute slot and offset of n predictions; return non-zero if one is outside [0, 1] or NaN."""
    cdef cython.floating[BLOCK] buffer
    cdef const cython.floating* p = contiguous(at, step, n, buffer)
    cdef Py_ssize_t r
    cdef uint64_t bad = 0, u
    cdef double x, scaled
    cdef int32_t k
    for r in range(n):
        x = <double>p[r] + 0.0  # turns -0.0 into 0.0
        u = bits_of(x)
        bad |= u | (ONE - u)  # the top bit is set when x < 0, x > 1 or x is NaN
        scaled = (x if (x >= 0.0) & (x <= 1.0) else 0.0) * m  # no double outside can be turned into an integer
        k = <int32_t>scaled
        slot[r] = 2 * k
        offset[r] = bits_of(1.0 + (scaled - k)) - ONE
    return bad >> 63


cdef inline bint near_cut(const uint64_t* offset, Py_ssize_t n, double m) noexcept nogil:
    """Return whether one of n offsets is so close to 0 or 1 that rounding may have chosen the wrong bin.

    The product m p and the cut k/m are each off by at most half a unit in the last place, and f by
    another half of 2^-52: a margin of 2 m + 1 units of 2^-52 is twice their sum.
    """
    cdef uint64_t margin = 2 * <uint64_t>m + 1, near = 0
    cdef Py_ssize_t r
    for r in range(n):
        near |= ((offset[r] + margin) & (UNIT - 1)) - 2 * margin  # the top bit is set below 2 margin
    return near >> 63


cdef inline void settle(const cython.floating* at, Py_ssize_t step, Py_ssize_t n, const double* cut,
                        int32_t* slot, uint64_t* offset) noexcept nogil:
    """Correct the bins of n predictions to (cut[k], cut[k + 1]], by one bin at most."""
    cdef cython.floating[BLOCK] buffer
    cdef const cython.floating* p = contiguous(at, step, n, buffer)
    cdef Py_ssize_t r
    cdef int32_t k
    for r in range(n):
        k = slot[r] >> 1
        if p[r] <= cut[k]:
            slot[r] -= 2
            offset[r] += UNIT
        elif p[r] > cut[k + 1]:
            slot[r] += 2
            offset[r] = 0


cdef inline uint64_t mark(const number* at, Py_ssize_t step, Py_ssize_t n, int32_t* slot) noexcept nogil:
    """Add the labels to the slots; return non-zero if one is neither 0 nor 1."""
    cdef number[BLOCK] buffer
    cdef const number* y = contiguous(at, step, n, buffer)
    cdef Py_ssize_t r
    cdef uint64_t bad = 0
    cdef number seen = 0
    for r in range(n):
        if number in cython.floating:
            bad |= bits_of(y[r] * y[r] - y[r])  # y (y - 1) = 0 only for 0 and 1
            slot[r] += <int32_t>(y[r] == 1)
        else:
            seen |= y[r]
            slot[r] += <int32_t>(y[r] & 1)  # quicker to vectorise than y == 1, and the same for 0 and 1
    return bad | (<uint64_t>seen >> 1)


cdef inline uint64_t weigh(const cython.floating* at, Py_ssize_t step, Py_ssize_t n, double* weight) noexcept nogil:
    """Read n weights; return non-zero if one is negative, infinite or NaN."""
    cdef cython.floating[BLOCK] buffer
    cdef const cython.floating* w = contiguous(at, step, n, buffer)
    cdef Py_ssize_t r
    cdef uint64_t bad = 0, u
    for r in range(n):
        weight[r] = <double>w[r] + 0.0
        u = bits_of(weight[r])
        bad |= u | (LARGEST - u)
    return bad >> 63


cdef uint64_t read_prob(Column c, Py_ssize_t row, Py_ssize_t n, double m,
                        int32_t* slot, uint64_t* offset) noexcept nogil:
    cdef const char* at = c.at + row * c.step
    if c.dtype == cnp.NPY_FLOAT64:
        return place(<const double*>at, c.step, n, m, slot, offset)
    return place(<const float*>at, c.step, n, m, slot, offset)


cdef void read_bin(Column c, Py_ssize_t row, Py_ssize_t n, const double* cut,
                   int32_t* slot, uint64_t* offset) noexcept nogil:
    cdef const char* at = c.at + row * c.step
    if c.dtype == cnp.NPY_FLOAT64:
        settle(<const double*>at, c.step, n, cut, slot, offset)
    else:
        settle(<const float*>at, c.step, n, cut, slot, offset)


cdef uint64_t read_label(Column c, Py_ssize_t row, Py_ssize_t n, int32_t* slot) noexcept nogil:
    cdef const char* at = c.at + row * c.step
    if c.dtype == cnp.NPY_INT64:
        return mark(<const int64_t*>at, c.step, n, slot)
    if c.dtype == cnp.NPY_UINT8:
        return mark(<const uint8_t*>at, c.step, n, slot)
    if c.dtype == cnp.NPY_FLOAT64:
        return mark(<const double*>at, c.step, n, slot)
    if c.dtype == cnp.NPY_FLOAT32:
        return mark(<const float*>at, c.step, n, slot)
    if c.dtype == cnp.NPY_INT32:
        return mark(<const int32_t*>at, c.step, n, slot)
    if c.dtype == cnp.NPY_INT8:
        return mark(<const int8_t*>at, c.step, n, slot)
    if c.dtype == cnp.NPY_INT16:
        return mark(<const int16_t*>at, c.step, n, slot)
    if c.dtype == cnp.NPY_UINT16:
        return mark(<const uint16_t*>at, c.step, n, slot)
    if c.dtype == cnp.NPY_UINT32:
        return mark(<const uint32_t*>at, c.step, n, slot)
    return mark(<const uint64_t*>at, c.step, n, slot)


cdef uint64_t read_weight(Column c, Py_ssize_t row, Py_ssize_t n, double* weight) noexcept nogil:
    cdef const char* at = c.at + row * c.step
    if c.dtype == cnp.NPY_FLOAT64:
        return weigh(<const double*>at, c.step, n, weight)
    return weigh(<const float*>at, c.step, n, weight)


cdef bint run(Column prob, Column label, Column weight, double m, const double* cut, char* table,
              Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Add the rows from start to stop; return False at the first bad block, without adding further rows."""
    cdef int32_t[BLOCK] slot
    cdef uint64_t[BLOCK] offset
    cdef double[BLOCK] weights
    cdef Py_ssize_t row = start, n, r
    cdef uint64_t bad
    while row < stop:
        n = min(<Py_ssize_t>BLOCK, stop - row)
        bad = read_prob(prob, row, n, m, slot, offset)
        bad |= read_label(label, row, n, slot)
        if weight.at != NULL:
            bad |= read_weight(weight, row, n, weights)
        if bad:
            return False
        if cut != NULL and near_cut(offset, n, m):
            read_bin(prob, row, n, cut, slot, offset)
        if table == NULL:
            pass
        elif weight.at == NULL:
            for r in range(n):
                add_row(<Slot*>table + slot[r], offset[r])
        else:
            for r in range(n):
                add_weighted_row(<WeightedSlot*>table + slot[r], offset[r], weights[r])
        row += n
    return True


cdef Column column(cnp.ndarray a):
    cdef Column c
    c.at = cnp.PyArray_BYTES(a)
    c.step = cnp.PyArray_STRIDE(a, 0)
    c.dtype = cnp.PyArray_TYPE(a)
    # `long` and `long long` may have one size: read both as the integer of that size.
    if c.dtype in (cnp.NPY_LONG, cnp.NPY_LONGLONG):
        c.dtype = cnp.NPY_INT64 if cnp.PyArray_ITEMSIZE(a) == 8 else cnp.NPY_INT32
    elif c.dtype in (cnp.NPY_ULONG, cnp.NPY_ULONGLONG):
        c.dtype = cnp.NPY_UINT64 if cnp.PyArray_ITEMSIZE(a) == 8 else cnp.NPY_UINT32
    return c


def scan(cnp.ndarray prob not None, cnp.ndarray label not None, cnp.ndarray weight,
         Py_ssize_t m, cnp.ndarray table, Py_ssize_t start, Py_ssize_t stop, const double[::1] cut=None):
    """Check the rows from start to stop and add them to `table`; return False if a row breaks a rule.

    `table` has 2 (m + 1) slots: two uint64 each for unweighted rows, six doubles for weighted ones. If
    it is None the rows are only checked. After False its content is invalid.

    With `cut`, which has m + 2 numbers from below 0 to above 1, rows go to the bins (cut[k], cut[k + 1]]
    instead of the cells [k/m, (k + 1)/m). Every cut[k] up to 1 must be k/m or a neighbouring double (see
    `brolly.core.sample.bins`).
    """
    cdef Column p = column(prob), y = column(label), w
    cdef char* slots = NULL
    cdef const double* cuts = NULL
    cdef bint good
    w.at = NULL
    if weight is not None:
        w = column(weight)
    if table is not None:
        slots = cnp.PyArray_BYTES(table)
    if cut is not None:
        cuts = &cut[0]
    with nogil:
        good = run(p, y, w, <double>m, cuts, slots, start, stop)
    return good


def locate(cnp.ndarray prob not None, cnp.ndarray label not None, Py_ssize_t m, int32_t[::1] slot, uint64_t[::1] offset):
    """Compute slot and offset of each row without adding it; return False if a row breaks a rule."""
    cdef Column p = column(prob), y = column(label)
    cdef Py_ssize_t row = 0, rows = slot.shape[0], n
    cdef uint64_t bad = 0
    with nogil:
        while row < rows and not bad:
            n = min(<Py_ssize_t>BLOCK, rows - row)
            bad = read_prob(p, row, n, <double>m, &slot[row], &offset[row]) | read_label(y, row, n, &slot[row])
            row += n
    return not bad


def absorb(cnp.ndarray into not None, cnp.ndarray table not None):
    """Add a table to another of the same kind and grid."""
    cdef Py_ssize_t size = table.shape[0], r
    cdef bint weighted = cnp.PyArray_TYPE(table) == cnp.NPY_FLOAT64
    cdef Slot* a = <Slot*>cnp.PyArray_BYTES(into)
    cdef const Slot* b = <const Slot*>cnp.PyArray_BYTES(table)
    cdef WeightedSlot* c = <WeightedSlot*>cnp.PyArray_BYTES(into)
    cdef const WeightedSlot* d = <const WeightedSlot*>cnp.PyArray_BYTES(table)
    with nogil:
        for r in range(size):
            if not weighted:
                a[r].rise += b[r].rise
                a[r].head += b[r].head + (<uint64_t>(a[r].rise < b[r].rise) << 40)
            elif d[r].rows > 0:
                c[r].rows += d[r].rows
                c[r].squares += d[r].squares
                c[r].weight_low += d[r].weight_low
                c[r].rise_low += d[r].rise_low
                add_exactly(&c[r].weight, &c[r].weight_low, d[r].weight)
                add_exactly(&c[r].rise, &c[r].rise_low, d[r].rise)


def collect(cnp.ndarray table not None):
    """Return the occupied slots of a table: slot, count, weight, rise and squared weights.

    Weight and rise have two rows, as pairs `sum + low`; for an unweighted table they are exact. All are read-only.
    """
    cdef Py_ssize_t size = table.shape[0], r, k = 0
    cdef bint weighted = cnp.PyArray_TYPE(table) == cnp.NPY_FLOAT64
    cdef const Slot* plain = <const Slot*>cnp.PyArray_BYTES(table)
    cdef const WeightedSlot* heavy = <const WeightedSlot*>cnp.PyArray_BYTES(table)
    cdef double low
    cdef uint64_t rows, carry
    for r in range(size):
        k += heavy[r].rows > 0 if weighted else plain[r].head > 0
    # The C interface, as memoryviews would take longer than the rows of a small sample.
    cdef cnp.npy_intp[2] shape = [2, k]
    cdef cnp.ndarray slots = cnp.PyArray_EMPTY(1, shape + 1, cnp.NPY_INT64, 0)
    cdef cnp.ndarray counts = cnp.PyArray_EMPTY(1, shape + 1, cnp.NPY_INT64, 0)
    cdef cnp.ndarray weights = cnp.PyArray_ZEROS(2, shape, cnp.NPY_FLOAT64, 0)
    cdef cnp.ndarray rises = cnp.PyArray_ZEROS(2, shape, cnp.NPY_FLOAT64, 0)
    cdef cnp.ndarray all_squares = cnp.PyArray_EMPTY(1, shape + 1, cnp.NPY_FLOAT64, 0), made
    cdef int64_t* slot = <int64_t*>cnp.PyArray_DATA(slots)
    cdef int64_t* count = <int64_t*>cnp.PyArray_DATA(counts)
    cdef double* weight = <double*>cnp.PyArray_DATA(weights)
    cdef double* weight_low = weight + k
    cdef double* rise = <double*>cnp.PyArray_DATA(rises)
    cdef double* rise_low = rise + k
    cdef double* squares = <double*>cnp.PyArray_DATA(all_squares)
    k = 0
    for r in range(size):
        if weighted:
            if not heavy[r].rows > 0:
                continue
            count[k] = <int64_t>heavy[r].rows
            squares[k] = heavy[r].squares
            add_exactly(&weight[k], &weight_low[k], heavy[r].weight)
            add_exactly(&weight[k], &weight_low[k], heavy[r].weight_low)
            add_exactly(&rise[k], &rise_low[k], heavy[r].rise)
            add_exactly(&rise[k], &rise_low[k], heavy[r].rise_low)
        else:
            if plain[r].head == 0:
                continue
            rows, carry = plain[r].head & ((<uint64_t>1 << 40) - 1), plain[r].head >> 40
            count[k] = <int64_t>rows
            weight[k] = squares[k] = <double>rows
            rise[k] = <double>carry * 2.0 ** 12
            add_exactly(&rise[k], &rise_low[k], <double>(plain[r].rise >> 32) * 2.0 ** -20)
            rise_low[k] += <double>(plain[r].rise & <uint64_t>0xFFFFFFFF) * 2.0 ** -52
            low = rise_low[k]
            rise_low[k] = 0.0
            add_exactly(&rise[k], &rise_low[k], low)
        slot[k] = r
        k += 1
    for made in (slots, counts, weights, rises, all_squares):
        cnp.PyArray_CLEARFLAGS(made, cnp.NPY_ARRAY_WRITEABLE)
    return slots, counts, weights, rises, all_squares
