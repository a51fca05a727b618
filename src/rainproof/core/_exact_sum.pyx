"""Sums of doubles without any rounding, so that the order of the terms cannot show."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy


def add(const double[::1] values, uint64_t[:, ::1] bins not None):
    """Add finite doubles to `bins`: for each sign and exponent the sums of the lower and of the
    upper mantissa bits.
    """
    cdef Py_ssize_t k
    cdef uint64_t bits, mantissa
    with nogil:
        for k in range(values.shape[0]):
            memcpy(&bits, &values[k], sizeof(double))
            mantissa = bits & ((<uint64_t>1 << 52) - 1)
            bits >>= 52
            if bits & <uint64_t>0x7FF:
                mantissa |= <uint64_t>1 << 52
            bins[bits, 0] += mantissa & <uint64_t>0xFFFFFFFF
            bins[bits, 1] += mantissa >> 32
