"""One pass over the rows: check every row, and add it to its slot.

A row (p, y) belongs to slot 2 k + y, where k = floor(m p) is its cell on the grid 1/m, and has the
offset f = m p - k above the lower edge of that cell. A slot holds the number of its rows and the
sum of their offsets, its *rise*. As m is a power of two, m p and f are exact.

Unweighted rows are added as integers, f in units of 2^-52 (cells above the lowest hold no finer
doubles), so the sums have no rounding error and depend on neither the order of the rows nor the
number of threads. Weighted rows are added in pairs of doubles that keep the error of each addition.

Bins whose number m is not a power of two are given by their cuts, as m p is rounded then: rows near
a cut are compared with it, so that k is right, and f is off by at most m 2^-52.

Rows are read in blocks, and a block is checked before any of its rows is added (see _rows.h).
Unweighted rows that are many for the size of the table are first added to *quick slots*, which need
no carry and so take half the time. They hold 2^24 rows, and are then emptied into the table.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cimport numpy as cnp

from rainproof.core._double_double cimport add_exactly
from rainproof.core._slots cimport (
    Slot,
    WeightedSlot,
    add_row,
    add_sums,
    add_weighted_row,
    fetch_slot,
)

import numpy as np

cnp.import_array()

cdef extern from "_rows.h" nogil:
    const int BLOCK
    const int QUICK_LOW
    const int QUICK_ROWS
    const int QUICK_FULL

    ctypedef struct Column:
        const char* at
        Py_ssize_t step
        Py_ssize_t size
        bint is_float

    ctypedef struct QuickSlot:
        uint64_t high
        uint64_t low

    ctypedef bint AddBlocks(const Column* prob, const Column* label, Py_ssize_t row,
                            Py_ssize_t blocks, double m, const double* cut,
                            QuickSlot* table) noexcept nogil

    uint64_t read_rows(const Column* prob, const Column* label, const Column* weight,
                       Py_ssize_t row, Py_ssize_t n, double m, const double* cut, int32_t* slot,
                       uint64_t* offset, double* weights) noexcept
    AddBlocks* add_blocks_by(int level) noexcept

cdef enum:
    # slots, of 16 bytes each: a larger table leaves every cache, and quick slots gain nothing
    LARGEST_QUICK = 1 << 20

cdef AddBlocks* add_blocks = add_blocks_by(2) or add_blocks_by(1) or add_blocks_by(0)


def use_instructions(int level):
    """Add rows by the instructions of this level (see `add_blocks_by`); return False if the
    processor lacks them.
    """
    global add_blocks
    cdef AddBlocks* found = add_blocks_by(level)
    add_blocks = found if found != NULL else add_blocks
    return found != NULL


cdef Py_ssize_t run_quickly(const Column* prob, const Column* label, double m, const double* cut,
                            Slot* table, Py_ssize_t slots, Py_ssize_t start,
                            Py_ssize_t stop) noexcept nogil:
    """Add whole blocks, by a table of quick slots; return the first row that was not added, or -1
    if one is bad.
    """
    cdef QuickSlot* quick = <QuickSlot*>calloc(slots, sizeof(QuickSlot))
    cdef Py_ssize_t row = start, blocks, r
    cdef uint64_t above, rise
    while quick != NULL and stop - row >= BLOCK:
        blocks = min(stop - row, <Py_ssize_t>QUICK_FULL) // BLOCK
        if not add_blocks(prob, label, row, blocks, m, cut, quick):
            row = -1
            break
        row += blocks * BLOCK
        for r in range(slots):
            above = quick[r].high & ((<uint64_t>1 << QUICK_ROWS) - 1)
            rise = (above << QUICK_LOW) + quick[r].low
            add_sums(&table[r], quick[r].high >> QUICK_ROWS,
                     (above >> (64 - QUICK_LOW)) + <uint64_t>(rise < quick[r].low), rise)
        memset(quick, 0, slots * sizeof(QuickSlot))
    free(quick)
    return row


cdef bint run(Column prob, Column label, Column weight, double m, const double* cut, char* table,
              Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Add the rows from start to stop; return False at the first bad block, without adding further
    rows.
    """
    cdef int32_t[BLOCK] slot
    cdef uint64_t[BLOCK] offset
    cdef double[BLOCK] weights
    cdef Py_ssize_t slots = 2 * <Py_ssize_t>m + 2
    cdef Py_ssize_t row = start
    cdef Py_ssize_t n, r
    cdef Py_ssize_t size = sizeof(Slot) if weight.at == NULL else sizeof(WeightedSlot)
    if table != NULL and weight.at == NULL and stop - start >= 4 * slots and slots <= LARGEST_QUICK:
        row = run_quickly(&prob, &label, m, cut, <Slot*>table, slots, start, stop)
        if row < 0:
            return False
    while row < stop:
        n = min(<Py_ssize_t>BLOCK, stop - row)
        if read_rows(&prob, &label, &weight, row, n, m, cut, slot, offset, weights):
            return False
        row += n
        if table == NULL:
            continue
        for r in range(n):  # all at once: parts of a large table may be in no cache
            fetch_slot(table + slot[r] * size)
        if weight.at == NULL:
            for r in range(n):
                add_row(<Slot*>table + slot[r], offset[r])
        else:
            for r in range(n):
                add_weighted_row(<WeightedSlot*>table + slot[r], offset[r], weights[r])
    return True


cdef Column column(cnp.ndarray a):
    cdef Column c
    c.at = cnp.PyArray_BYTES(a)
    c.step = cnp.PyArray_STRIDE(a, 0)
    c.size = cnp.PyArray_ITEMSIZE(a)
    c.is_float = cnp.PyArray_ISFLOAT(a)
    return c


def scan(cnp.ndarray prob not None, cnp.ndarray label not None, cnp.ndarray weight, Py_ssize_t m,
         cnp.ndarray table, Py_ssize_t start, Py_ssize_t stop, const double[::1] cut=None):
    """Check the rows from start to stop and add them to `table`; return False if a row breaks a
    rule.

    `table` has 2 (m + 1) slots: two uint64 each for unweighted rows, six doubles for weighted ones.
    If it is None the rows are only checked. After False its content is invalid.

    With `cut`, which has m + 2 numbers from below 0 to above 1, rows go to the bins
    (cut[k], cut[k + 1]] instead of the cells [k/m, (k + 1)/m). Every cut[k] up to 1 must be k/m or
    a neighbouring double (see `rainproof.core.distinct`).
    """
    cdef Column p = column(prob)
    cdef Column y = column(label)
    cdef Column w
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


def locate(cnp.ndarray prob not None, cnp.ndarray label not None, Py_ssize_t m, int32_t[::1] slot,
           uint64_t[::1] offset):
    """Compute slot and offset of each row without adding it; return False if a row breaks a rule.
    """
    cdef Column p = column(prob)
    cdef Column y = column(label)
    cdef Column w
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t rows = slot.shape[0]
    cdef Py_ssize_t n
    cdef uint64_t bad = 0
    w.at = NULL
    with nogil:
        while row < rows and not bad:
            n = min(<Py_ssize_t>BLOCK, rows - row)
            bad = read_rows(&p, &y, &w, row, n, <double>m, NULL, &slot[row], &offset[row], NULL)
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
                add_sums(&a[r], b[r].head, 0, b[r].rise)
            elif d[r].rows > 0:
                c[r].rows += d[r].rows
                c[r].squares += d[r].squares
                c[r].weight_low += d[r].weight_low
                c[r].rise_low += d[r].rise_low
                add_exactly(&c[r].weight, &c[r].weight_low, d[r].weight)
                add_exactly(&c[r].rise, &c[r].rise_low, d[r].rise)


def collect(cnp.ndarray table not None):
    """Return the occupied slots of a table: slot, count, weight, rise and squared weights.

    Weight and rise have two rows, as pairs `sum + low`; for an unweighted table they are exact. All
    are read-only.
    """
    cdef Py_ssize_t size = table.shape[0]
    cdef Py_ssize_t r
    cdef Py_ssize_t k = 0
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
            rows = plain[r].head & ((<uint64_t>1 << 40) - 1)
            carry = plain[r].head >> 40
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

