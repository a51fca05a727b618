"""Random numbers for rows, directly from NumPy's bit generators: one generator per thread."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport exp, fabs, floor, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from numpy.random cimport bitgen_t

import numpy as np

cdef double TWO_32 = 4294967296.0

cdef double[10] TAIL = [
    0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509, 0.01664469118982119,
    0.01387612882307075, 0.01189670994589177, 0.01041126526197209, 0.009255462182712733, 0.008330563433362871,
]

ctypedef fused whole:
    uint8_t
    int64_t


def repeats(capsule, int64_t n):
    """Draw n rows of n with replacement (n < 2^32); return the count of each.

    Lemire's multiplication: the upper half of 32 random bits times n is the row; the lower half shows which few draws
    have to be repeated so that all rows are equally likely. Counts are bytes: 256 draws of one row have a
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
    """Number of heads in repeated tosses of each coin, with probabilities rounded to 32 bits.

    Each toss takes the next 32 bits: with one seed, close probabilities give close results.
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


def compared(capsule, const uint16_t[::1] first, const double[::1] rest):
    """One toss of each coin, 1 for heads: 16 random bits are compared with the first bits of its probability.

    If they are equal, once in 65,536 times, a random number is compared with the rest of it.
    """
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Py_ssize_t n = first.shape[0], r, k, size
    result = np.empty(n, np.uint8)
    cdef uint8_t[::1] out = result
    cdef uint64_t[64] words  # 256 tosses are compared at once
    cdef uint16_t* bits = <uint16_t*>words
    cdef uint16_t equal
    with nogil:
        for r in range(0, n, 256):
            size = n - r if n - r < 256 else 256
            for k in range((size + 3) // 4):
                words[k] = source.next_uint64(source.state)
            equal = 0
            for k in range(size):
                out[r + k] = bits[k] < first[r + k]
                equal |= bits[k] == first[r + k]
            if equal:
                for k in range(size):
                    if bits[k] == first[r + k]:
                        out[r + k] = source.next_double(source.state) < rest[r + k]
    return result


def added_up(const uint8_t[::1] heads, const int32_t[::1] owner, Py_ssize_t size):
    """Sum the heads of each owner."""
    result = np.zeros(size, np.int64)
    cdef int64_t[::1] out = result
    cdef Py_ssize_t r
    with nogil:
        for r in range(heads.shape[0]):
            out[owner[r]] += heads[r]
    return result


cdef double tail(double k) noexcept nogil:
    """log k! less Stirling's formula for it."""
    if k < 10:
        return TAIL[<int>k]
    cdef double square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


cdef double inverted(bitgen_t* source, double n, double p) noexcept nogil:
    """Binomial variable by inversion from 0 on: for few expected heads."""
    cdef double first = exp(n * log1p(-p)), odds = p / (1 - p), chance, u, k
    while True:
        u, chance, k = source.next_double(source.state), first, 0.0
        while u > chance and k < n:
            u -= chance
            k += 1
            chance *= odds * (n - k + 1) / k
            if k > 110:  # reached by rounding only: the probability of so many is below 1e-60
                break
        else:
            return k


cdef double rejected(bitgen_t* source, double n, double p) noexcept nogil:
    """Binomial variable by transformed rejection (Hormann 1993, algorithm BTRS), for n p of 10 or more and p up to 1/2."""
    cdef double spread = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spread
    cdef double a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5, box = 0.92 - 4.2 / b
    cdef double u, v, us, k, m, odds, bar
    while True:
        u = source.next_double(source.state) - 0.5
        v = source.next_double(source.state)
        us = 0.5 - fabs(u)
        k = floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= box:
            return k
        if k < 0 or k > n:
            continue
        odds, m = p / (1 - p), floor((n + 1) * p)
        bar = (
            (m + 0.5) * log((m + 1) / (odds * (n - m + 1)))
            + (n + 1) * log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * log(odds * (n - k + 1) / (k + 1))
            + tail(m) + tail(n - m) - tail(k) - tail(n - k)
        )
        if log(v * (2.83 + 5.1 / b) * spread / (a / (us * us) + b)) <= bar:
            return k


cdef int64_t binomial(bitgen_t* source, int64_t n, double p) noexcept nogil:
    cdef double small = min(p, 1 - p), k
    if n <= 0 or small <= 0:
        return n if p >= 1 and n > 0 else 0
    if n * small < 10:
        k = inverted(source, <double>n, small)
    else:
        k = rejected(source, <double>n, small)
    return <int64_t>k if p <= 0.5 else n - <int64_t>k


def binomials(capsule, const int64_t[::1] count, const double[::1] chance):
    """Number of heads in repeated tosses of each coin."""
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    result = np.empty(count.shape[0], np.int64)
    cdef int64_t[::1] out = result
    cdef Py_ssize_t r
    with nogil:
        for r in range(count.shape[0]):
            out[r] = binomial(source, count[r], chance[r])
    return result


def multinomial(capsule, const int64_t[::1] count):
    """Draw as many rows as there are, with replacement; return the count of each place."""
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    result = np.empty(count.shape[0], np.int64)
    cdef int64_t[::1] out = result
    cdef Py_ssize_t r
    cdef int64_t left = 0, places
    with nogil:
        for r in range(count.shape[0]):
            left += count[r]
        places = left
        for r in range(count.shape[0]):
            out[r] = binomial(source, left, <double>count[r] / <double>places) if count[r] else 0
            left -= out[r]
            places -= count[r]
    return result
