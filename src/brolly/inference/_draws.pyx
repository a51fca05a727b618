"""Random numbers by the row, straight from NumPy's bit generators: the capsule of one, used by one thread."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from numpy.random cimport bitgen_t

import numpy as np

cdef double TWO_32 = 4294967296.0

ctypedef fused whole:
    uint8_t
    int64_t


def repeats(capsule, int64_t n):
    """Draw n rows of n with replacement (n < 2^32): how often each was drawn.

    Lemire's multiplication: the upper half of 32 random bits times n is the row, the lower half tells the few draws
    to repeat so that all rows are equally likely. A byte holds each count: that a row comes 256 times has a
    probability below 1/256!.
    """
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    result = np.zeros(n, np.uint8)
    cdef uint8_t[::1] out = result
    cdef int64_t left = n
    cdef uint32_t least = <uint32_t>((<uint64_t>1 << 32) % <uint64_t>n)
    cdef uint64_t bits, scaled
    with nogil:
        while left > 0:
            bits = source.next_uint64(source.state)
            scaled = <uint64_t>(<uint32_t>bits) * <uint64_t>n
            if <uint32_t>scaled >= least:
                out[scaled >> 32] += 1
                left -= 1
            scaled = (bits >> 32) * <uint64_t>n
            if left > 0 and <uint32_t>scaled >= least:
                out[scaled >> 32] += 1
                left -= 1
    return result


def tosses(capsule, const whole[::1] repeated, const double[::1] chance):
    """Heads in so many tosses of each coin, chances rounded to 32 bits.

    Each toss takes the next 32 bits, whatever came before: one seed gives close results for close chances.
    """
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Py_ssize_t size = repeated.shape[0], r
    result = np.empty(size, np.asarray(repeated).dtype)
    cdef whole[::1] out = result
    cdef whole k, heads
    cdef uint64_t bits = 0, bar
    cdef bint half = False
    with nogil:
        for r in range(size):
            heads = 0
            bar = <uint64_t>(chance[r] * TWO_32 + 0.5)
            for k in range(repeated[r]):
                if half:
                    bits = bits >> 32
                else:
                    bits = source.next_uint64(source.state)
                half = not half
                heads += <uint64_t>(<uint32_t>bits) < bar
            out[r] = heads
    return result
