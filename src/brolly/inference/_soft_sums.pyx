"""Amounts at sorted predictions, shared out among the points of a grid."""

from libc.stdint cimport int64_t, uint8_t

import numpy as np

ctypedef fused number:
    uint8_t
    int64_t
    double


def soft_sums(const int64_t[::1] start, const double[::1] rise, const number[::1] amount, double[::1] out):
    """out_j = sum of amount_r (1 - |m p_r - j|)+ over the predictions, for j = 0..m.

    The predictions from start[k] up to start[k + 1] are those in cell k, and rise is m p - k. Four sums run side by
    side, as one addition need not wait for the one before it; the order of additions is always the same.
    """
    cdef Py_ssize_t cells = start.shape[0] - 1, k, r, stop
    cdef double a0, a1, a2, a3, b0, b1, b2, b3, x, carried = 0.0
    with nogil:
        for k in range(cells):
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            r, stop = start[k], start[k + 1]
            while r + 4 <= stop:
                x = <double>amount[r]
                a0 += x
                b0 += x * rise[r]
                x = <double>amount[r + 1]
                a1 += x
                b1 += x * rise[r + 1]
                x = <double>amount[r + 2]
                a2 += x
                b2 += x * rise[r + 2]
                x = <double>amount[r + 3]
                a3 += x
                b3 += x * rise[r + 3]
                r += 4
            while r < stop:
                x = <double>amount[r]
                a0 += x
                b0 += x * rise[r]
                r += 1
            b0 = (b0 + b1) + (b2 + b3)
            out[k] = carried + ((a0 + a1) + (a2 + a3) - b0)
            carried = b0


def halved(const double[:, ::1] fine, bint soft):
    """The sums on the grid of every second point: those between go half to each neighbour, or all down."""
    cdef Py_ssize_t rows = fine.shape[0], cells = fine.shape[1] // 2, i, j
    cdef double up, carried
    result = np.empty((rows, cells + 1))
    cdef double[:, ::1] out = result
    with nogil:
        for i in range(rows):
            carried = 0.0
            for j in range(cells):
                up = 0.5 * fine[i, 2 * j + 1] if soft else 0.0
                out[i, j] = fine[i, 2 * j] + (up if soft else fine[i, 2 * j + 1]) + carried
                carried = up
            out[i, cells] = fine[i, 2 * cells] + carried
    return result
