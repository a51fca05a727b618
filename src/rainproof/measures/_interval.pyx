"""The bias of the first predictions, and in a sliding window over them."""

from libc.math cimport fabs

import numpy as np

cdef enum:
    LANES = 4


cdef struct Window:
    Py_ssize_t inside, gone
    double width, x, total


cdef inline void move(Window* at, const double* prob, const double* prefix) noexcept nogil:
    """To where the next prediction enters or leaves. No branch: which of them it is cannot be guessed."""
    cdef double bias = fabs(prefix[at.inside] - prefix[at.gone])
    cdef double enters = prob[at.inside] - at.width, leaves = prob[at.gone]
    cdef bint enter = enters <= leaves
    at.inside += enter
    at.gone += 1 - enter
    enters = enters if enter else leaves
    at.total += bias * (enters - at.x)
    at.x = enters


def running_sums(const double[::1] values):
    """Return the sums of the first 0, 1, ..., n values, as `np.cumsum`, which takes twice as long, has them."""
    cdef Py_ssize_t i
    cdef double total = 0.0
    result = np.empty(values.shape[0] + 1)
    cdef double[::1] sums = result
    with nogil:
        sums[0] = 0.0
        for i in range(values.shape[0]):
            total += values[i]
            sums[i + 1] = total
    return result


def mean_window_biases(const double[::1] prob, const double[::1] prefix, const double[::1] widths):
    """Return the integral of |bias of the window [x, x + width)| over all x, divided by the width, for each of four.

    `prob` increases; `prefix[i]` is the bias of the first i predictions together, so the window that
    the first `inside` predictions have entered and the first `gone` of them have left has bias
    prefix[inside] - prefix[gone]. It changes only where a prediction enters, at p - width, or leaves, at
    p: two pointers move through both increasing sequences. O(predictions), exact up to rounding. Four windows take
    little longer than one: each step of one has to wait for the step before.
    """
    cdef Py_ssize_t n = prob.shape[0], i
    cdef Window[LANES] at
    result = np.empty(LANES)
    cdef double[::1] out = result
    with nogil:
        for i in range(LANES):
            at[i].inside = at[i].gone = 0
            at[i].width, at[i].x, at[i].total = widths[i], 0.0, 0.0
        while at[0].inside < n and at[1].inside < n and at[2].inside < n and at[3].inside < n:
            move(&at[0], &prob[0], &prefix[0])
            move(&at[1], &prob[0], &prefix[0])
            move(&at[2], &prob[0], &prefix[0])
            move(&at[3], &prob[0], &prefix[0])
        for i in range(LANES):
            while at[i].inside < n:
                move(&at[i], &prob[0], &prefix[0])
            while at[i].gone < n:
                at[i].total += fabs(prefix[n] - prefix[at[i].gone]) * (prob[at[i].gone] - at[i].x)
                at[i].x = prob[at[i].gone]
                at[i].gone += 1
            out[i] = at[i].total / at[i].width
    return result
