"""Sums by (segment, slot), few of which are occupied: a hash table with linear probing.

An entry is a row of the table: its key plus one (0 marks a free entry), then the sums of a slot as
in `rainproof.core._scan`. A key is ``segment * width + slot``.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cimport numpy as cnp

from rainproof.core._slots cimport Slot, WeightedSlot, add_row, add_weighted_row, fetch_slot

import numpy as np

cnp.import_array()

cdef enum:
    BLOCK = 32

cdef struct Entry:
    uint64_t key
    Slot sums

cdef struct WeightedEntry:
    uint64_t key
    WeightedSlot sums


cdef inline Py_ssize_t place(uint64_t key, Py_ssize_t size) noexcept nogil:
    """Return where the search for a key starts; `size` is a power of two."""
    # Fibonacci hashing: neighbouring cells of a segment are placed far apart.
    return <Py_ssize_t>((key * <uint64_t>0x9E3779B97F4A7C15) >> 20) & (size - 1)


cdef inline Py_ssize_t home(const uint64_t* table, Py_ssize_t size, Py_ssize_t fields,
                            uint64_t key) noexcept nogil:
    """Return the place of a key, or of the free entry where it belongs."""
    cdef Py_ssize_t at = place(key, size)
    while table[at * fields] != 0 and table[at * fields] != key:
        at = (at + 1) & (size - 1)
    return at


def add(cnp.ndarray table not None, Py_ssize_t used, Py_ssize_t most, const int64_t[::1] segment,
        const int32_t[::1] slot, const uint64_t[::1] offset, const double[::1] weight,
        Py_ssize_t width, Py_ssize_t start, Py_ssize_t part, Py_ssize_t parts):
    """Add the rows from `start` on whose segment is `part` modulo `parts`, until `most` entries are
    used.

    Returns the row where it stopped and the number of entries used. Rows of weight zero are left
    out.
    """
    cdef Py_ssize_t size = table.shape[0]
    cdef Py_ssize_t fields = table.shape[1]
    cdef Py_ssize_t row = start
    cdef Py_ssize_t rows = slot.shape[0]
    cdef Py_ssize_t at, n, b, end
    cdef uint64_t* keys = <uint64_t*>cnp.PyArray_BYTES(table)
    cdef Entry* plain = <Entry*>keys
    cdef WeightedEntry* heavy = <WeightedEntry*>keys
    cdef bint weighted = weight is not None
    cdef uint64_t[BLOCK] key
    cdef Py_ssize_t[BLOCK] which
    with nogil:
        while row < rows:
            # In blocks: the entries are fetched from memory before the first is needed.
            n = 0
            end = row
            while end < rows and n < BLOCK:
                if (
                    <uint32_t>segment[end] % <uint32_t>parts == <uint32_t>part
                    and (not weighted or weight[end] > 0)
                ):
                    key[n] = <uint64_t>(segment[end] * width + slot[end] + 1)
                    which[n] = end
                    fetch_slot(keys + place(key[n], size) * fields)
                    n += 1
                end += 1
            for b in range(n):
                at = home(keys, size, fields, key[b])
                row = which[b]
                if keys[at * fields] == 0:
                    if used >= most:
                        break
                    keys[at * fields] = key[b]
                    used += 1
                if weighted:
                    add_weighted_row(&heavy[at].sums, offset[row], weight[row])
                else:
                    add_row(&plain[at].sums, offset[row])
            else:
                row = end
                continue
            break
    return row, used


def rehash(cnp.ndarray old not None, cnp.ndarray new not None):
    """Move all entries to a larger table."""
    cdef Py_ssize_t size = new.shape[0]
    cdef Py_ssize_t fields = new.shape[1]
    cdef Py_ssize_t r, at, f
    cdef const uint64_t* source = <const uint64_t*>cnp.PyArray_BYTES(old)
    cdef uint64_t* target = <uint64_t*>cnp.PyArray_BYTES(new)
    with nogil:
        for r in range(old.shape[0]):
            if source[r * fields] != 0:
                at = home(target, size, fields, source[r * fields])
                for f in range(fields):
                    target[at * fields + f] = source[r * fields + f]
