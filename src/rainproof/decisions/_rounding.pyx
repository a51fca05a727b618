"""Reproducible rounding: an id and a seed give a uniform number, the same on every machine.

The generator is SplitMix64 (Steele, Lea & Flood 2014, with Stafford's Mix13 as its finaliser),
because its x-th output can be computed directly: the seed selects a stream, and the id a position
in it. With S(z) the first output of the generator started from state z, and in integers modulo
2^64:

    x = the id itself, if it is an integer or text that spells one; else FNV-1a of its UTF-8 bytes
    h = S(S(seed) + x gamma)    the x-th output, counted from 0, of the generator from S(seed)
    u = (h >> 11) 2^-53

and p is rounded up exactly if u < m p - floor(m p). docs/reference/formats.md has the complete
definition and values for testing other implementations.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from operator import index

import numpy as np

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define BLOCK 64  /* rows that are checked, then rounded while in cache */
    #define UNITS 9007199254740992.0               /* 2^53 */
    #define GAMMA UINT64_C(0x9E3779B97F4A7C15)
    #define MIX_1 UINT64_C(0xBF58476D1CE4E5B9)
    #define MIX_2 UINT64_C(0x94D049BB133111EB)
    #define FNV_BASIS UINT64_C(0xCBF29CE484222325)
    #define FNV_PRIME UINT64_C(0x00000100000001B3)
    #define ONE UINT64_C(0x3FF0000000000000)       /* the bits of 1.0 */
    static inline uint64_t bits_of(double x) {
        uint64_t u;
        memcpy(&u, &x, 8);
        return u;
    }
    """
    const Py_ssize_t BLOCK
    const double UNITS
    const uint64_t GAMMA
    const uint64_t MIX_1
    const uint64_t MIX_2
    const uint64_t FNV_BASIS
    const uint64_t FNV_PRIME
    const uint64_t ONE
    uint64_t bits_of(double x) noexcept nogil

cdef uint64_t LARGEST = <uint64_t>0 - 1
cdef uint64_t LOWEST = <uint64_t>1 << 63  # as a magnitude: of -2^63

ctypedef fused choice:
    uint8_t
    Py_ssize_t
    double


cdef inline uint64_t splitmix(uint64_t z) noexcept nogil:
    """S(z)."""
    z += GAMMA
    z = (z ^ (z >> 30)) * MIX_1
    z = (z ^ (z >> 27)) * MIX_2
    return z ^ (z >> 31)


cdef inline double draw(uint64_t x, uint64_t key) noexcept nogil:
    """The top 53 bits of h: the uniform number in units of 2^-53."""
    return <double><int64_t>(splitmix(key + x * GAMMA) >> 11)  # processors convert signed integers


def key_of(uint64_t seed):
    """Return S(seed), the start of the stream: neighbouring seeds have distant ones."""
    return splitmix(seed)


def uniforms(const uint64_t[::1] x, uint64_t key):
    """Return the uniform number of each x, in [0, 1)."""
    cdef Py_ssize_t r
    cdef double[::1] u = np.empty(x.shape[0])
    for r in range(x.shape[0]):
        u[r] = draw(x[r], key) * 2.0 ** -53
    return u.base


cdef inline bint within(const double* p, Py_ssize_t n) noexcept nogil:
    """Return whether n predictions all lie in [0, 1]."""
    cdef Py_ssize_t r
    cdef uint64_t bad = 0, u
    for r in range(n):
        u = bits_of(p[r] + 0.0)  # turns -0.0 into 0.0
        bad |= u | (ONE - u)  # the top bit is set when p < 0, p > 1 or p is NaN
    return bad >> 63 == 0


cdef bint chosen(const double[::1] p, const uint64_t[::1] x, uint64_t key, Py_ssize_t m, bint soft,
                 const choice[::1] table, choice[::1] out):
    cdef Py_ssize_t r
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t stop
    cdef Py_ssize_t n = p.shape[0]
    cdef double scaled, scale = <double>m
    cdef int64_t k
    cdef bint good = True
    with nogil:
        while good and start < n:
            stop = min(start + BLOCK, n)
            good = within(&p[start], stop - start)
            for r in range(start, stop if good else start):
                scaled = p[r] * scale
                k = <int64_t>scaled
                if soft:
                    # Both sides are exact: m is a power of two, and 53 bits fit a double.
                    k += draw(x[r], key) < (scaled - <double>k) * UNITS
                out[r] = table[k]
            start = stop
    return good


def choose(const double[::1] p, const uint64_t[::1] x, uint64_t key, Py_ssize_t m, bint soft,
           table, out):
    """Round each p to k/m (soft rounding: by its x), and look k up in the table of m + 1 choices.

    Returns False if a p is outside [0, 1] or NaN; then `out` is undefined.
    """
    kind = table.dtype.kind
    if kind == "u":
        return chosen[uint8_t](p, x, key, m, soft, table, out)
    if kind == "i":
        return chosen[Py_ssize_t](p, x, key, m, soft, table, out)
    return chosen[double](p, x, key, m, soft, table, out)


cdef bint as_integer(const uint8_t* s, Py_ssize_t n, uint64_t* x) noexcept nogil:
    """Set x to the integer from -2^63 to 2^64 - 1 that the bytes spell; return whether they do."""
    cdef Py_ssize_t r, first = n > 0 and s[0] == c'-'
    cdef uint64_t value = 0
    cdef uint8_t digit
    if n == first or n > 20 or (s[first] == c'0' and n > 1):
        return False
    for r in range(first, n):
        digit = s[r] - <uint8_t>c'0'
        if digit > 9 or value > (LARGEST - digit) // 10:
            return False
        value = 10 * value + digit
    if first and value > LOWEST:
        return False
    x[0] = 0 - value if first else value
    return True


cdef uint64_t name(const uint8_t* s, Py_ssize_t n) noexcept nogil:
    """Return x of an id that is text: its integer, or FNV-1a of the bytes."""
    cdef Py_ssize_t r
    cdef uint64_t x = FNV_BASIS
    if as_integer(s, n, &x):
        return x
    for r in range(n):
        x = (x ^ s[r]) * FNV_PRIME
    return x


def name_bytes(const uint8_t[:, ::1] text, uint64_t[::1] out):
    """x of each row of bytes, without the zero bytes at its end."""
    cdef Py_ssize_t r, n
    with nogil:
        for r in range(text.shape[0]):
            n = text.shape[1]
            while n and text[r, n - 1] == 0:
                n -= 1
            out[r] = name(&text[r, 0], n)
    return True


cdef inline Py_ssize_t encode(uint32_t c, uint8_t* to) noexcept nogil:
    """The UTF-8 bytes of a code point; their number, 0 if it has none."""
    if c < 0x80:
        to[0] = <uint8_t>c
        return 1
    if c < 0x800:
        to[0] = <uint8_t>(0xC0 | c >> 6)
        to[1] = <uint8_t>(0x80 | c & 0x3F)
        return 2
    if 0xD800 <= c < 0xE000 or c > 0x10FFFF:
        return 0
    if c < 0x10000:
        to[0] = <uint8_t>(0xE0 | c >> 12)
        to[1] = <uint8_t>(0x80 | c >> 6 & 0x3F)
        to[2] = <uint8_t>(0x80 | c & 0x3F)
        return 3
    to[0] = <uint8_t>(0xF0 | c >> 18)
    to[1] = <uint8_t>(0x80 | c >> 12 & 0x3F)
    to[2] = <uint8_t>(0x80 | c >> 6 & 0x3F)
    to[3] = <uint8_t>(0x80 | c & 0x3F)
    return 4


def name_text(const uint32_t[:, ::1] text, uint64_t[::1] out):
    """x of each row of code points without the zeros at its end; False if one has no UTF-8."""
    cdef Py_ssize_t r, i, n, size, width
    cdef bint good = True
    cdef uint8_t* buffer = <uint8_t*>malloc(4 * text.shape[1] + 1)
    if buffer == NULL:
        raise MemoryError
    with nogil:
        for r in range(text.shape[0]):
            n = text.shape[1]
            while n and text[r, n - 1] == 0:
                n -= 1
            size = 0
            for i in range(n):
                width = encode(text[r, i], buffer + size)
                good = good and width > 0
                size += width
            out[r] = name(buffer, size)
    free(buffer)
    return good


def name_objects(values, uint64_t[::1] out):
    """x of each Python object; False if one is neither an integer in range nor text nor bytes."""
    cdef Py_ssize_t r = 0
    cdef bytes raw
    try:
        for value in values:
            if isinstance(value, (str, bytes)):
                raw = value.encode() if isinstance(value, str) else value
                out[r] = name(<const uint8_t*>PyBytes_AS_STRING(raw), PyBytes_GET_SIZE(raw))
            elif isinstance(value, bool):
                return False
            else:
                value = index(value)
                out[r] = <uint64_t>(<long long>value) if value < 0 else <uint64_t>value
            r += 1
    except (OverflowError, TypeError, UnicodeEncodeError):
        return False
    return True
