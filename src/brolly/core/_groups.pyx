"""Sums by (segment, slot), of which few are occupied: a table that finds its entries by hashing.

An entry is a row of the table: first its key plus one (0 marks a free entry), then the sums of a slot just as
`brolly.core._scan` keeps them. A key is ``segment * width + slot``. Entries are looked for from where the
key's hash points, one after the other.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

cimport numpy as cnp

import numpy as np

cnp.import_array()

cdef struct Entry:
    uint64_t key
    uint64_t head
    uint64_t rise

cdef struct WeightedEntry:
    uint64_t key
    double rows
    double weight
    double weight_low
    double rise
    double rise_low
    double squares


cdef inline Py_ssize_t home(const uint64_t* table, Py_ssize_t size, Py_ssize_t width, uint64_t key) noexcept nogil:
    """Where the key is, or the free entry where it belongs; `size` is a power of two."""
    # Fibonacci hashing: neighbouring cells of a segment land far apart.
    cdef Py_ssize_t at = <Py_ssize_t>((key * <uint64_t>0x9E3779B97F4A7C15) >> 20) & (size - 1)
    while table[at * width] != 0 and table[at * width] != key:
        at = (at + 1) & (size - 1)
    return at


cdef inline void add_exactly(double* total, double* low, double x) noexcept nogil:
    """total + low += x, with the rounding error of the sum moved into `low` (Knuth's TwoSum)."""
    cdef double s = total[0] + x
    cdef double part = s - total[0]
    low[0] += (total[0] - (s - part)) + (x - part)
    total[0] = s


def add(cnp.ndarray table not None, Py_ssize_t used, Py_ssize_t most, const int64_t[::1] segment, const int32_t[::1] slot,
        const uint64_t[::1] offset, const double[::1] weight, Py_ssize_t width, Py_ssize_t start,
        Py_ssize_t part, Py_ssize_t parts):
    """Add the rows from `start` on whose segment is `part` modulo `parts`, until `most` entries are used.

    Returns the row it came to and the entries used. Rows of weight zero are no rows.
    """
    cdef Py_ssize_t size = table.shape[0], fields = table.shape[1], row, rows = slot.shape[0], at
    cdef uint64_t* keys = <uint64_t*>cnp.PyArray_BYTES(table)
    cdef Entry* plain = <Entry*>keys
    cdef WeightedEntry* heavy = <WeightedEntry*>keys
    cdef bint weighted = weight is not None
    cdef uint64_t key
    with nogil:
        row = start
        while row < rows:
            if segment[row] % parts != part or (weighted and not weight[row] > 0):
                row += 1
                continue
            key = <uint64_t>(segment[row] * width + slot[row] + 1)
            at = home(keys, size, fields, key)
            if keys[at * fields] == 0:
                if used >= most:
                    break
                keys[at * fields] = key
                used += 1
            if weighted:
                heavy[at].rows += 1
                heavy[at].squares += weight[row] * weight[row]
                add_exactly(&heavy[at].weight, &heavy[at].weight_low, weight[row])
                add_exactly(&heavy[at].rise, &heavy[at].rise_low, weight[row] * (<double>offset[row] * 2.0 ** -52))
            else:
                plain[at].rise += offset[row]
                plain[at].head += 1 + (<uint64_t>(plain[at].rise < offset[row]) << 40)
            row += 1
    return row, used


def rehash(cnp.ndarray old not None, cnp.ndarray new not None):
    """Move all entries to a larger table."""
    cdef Py_ssize_t size = new.shape[0], fields = new.shape[1], r, at, f
    cdef const uint64_t* source = <const uint64_t*>cnp.PyArray_BYTES(old)
    cdef uint64_t* target = <uint64_t*>cnp.PyArray_BYTES(new)
    with nogil:
        for r in range(old.shape[0]):
            if source[r * fields] != 0:
                at = home(target, size, fields, source[r * fields])
                for f in range(fields):
                    target[at * fields + f] = source[r * fields + f]
