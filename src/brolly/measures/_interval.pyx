"""The bias in a sliding window over the predictions."""

from libc.math cimport fabs


def mean_window_bias(const double[::1] prob, const double[::1] prefix, double width):
    """Return the integral of |bias of the window [x, x + width)| over all x, divided by the width.

    `prob` increases; `prefix[i]` is the bias of the first i predictions together, so the window that
    the first `inside` predictions have entered and the first `gone` of them have left has bias
    prefix[inside] - prefix[gone]. It changes only where a prediction enters, at p - width, or leaves, at
    p: two pointers move through both increasing sequences. O(predictions), exact up to rounding.
    """
    cdef Py_ssize_t n = prob.shape[0], inside = 0, gone = 0
    cdef double x = 0.0, bias, enters, leaves, total = 0.0
    cdef bint enter
    with nogil:
        while inside < n:
            bias = fabs(prefix[inside] - prefix[gone])
            enters = prob[inside] - width
            leaves = prob[gone]
            enter = enters <= leaves
            inside += enter
            gone += 1 - enter
            enters = enters if enter else leaves
            total += bias * (enters - x)
            x = enters
        while gone < n:
            total += fabs(prefix[n] - prefix[gone]) * (prob[gone] - x)
            x = prob[gone]
            gone += 1
    return total / width
