from libc.stdint cimport int64_t


cdef double worst(const int64_t* j, const double* pi, const double* s, Py_ssize_t bins, int64_t m,
                  int64_t* candidate, double* change, int64_t* threshold) noexcept nogil
cdef double loss_at(const int64_t* j, const double* pi, const double* s, Py_ssize_t bins,
                    double m, double i) noexcept nogil
