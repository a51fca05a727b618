from libc.stdint cimport uint8_t, uint16_t
from numpy.random cimport bitgen_t


cdef void toss(bitgen_t* source, const uint16_t* first, const double* rest, Py_ssize_t n,
               uint8_t* out) noexcept nogil
