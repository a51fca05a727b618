"""What the bets of `SequentialTest` are worth after each row.

The wealth of a bet is ``worth * 2^(512 scale)`` with a worth between 2^-256 and 2^256: it neither
overflows nor vanishes, a row multiplies it without a logarithm, and rows in several pieces give the
same bits.
"""

from libc.math cimport exp, floor, log, log1p
from libc.stdint cimport int64_t

cdef enum:
    MOST = 64  # ranges of predictions, with one for the maps

cdef double HIGH = 2.0**256
cdef double LOW = 2.0**-256
cdef double STEP = 2.0**512
cdef double LOG_STEP = 512 * 0.6931471805599453
cdef double TINY = 1e-60  # odds of smaller predictions could overflow


cdef inline bint multiply(double* worth, int64_t* scale, double factor) noexcept nogil:
    """Multiply a wealth by a factor between 1e-100 and 1e100; return whether its scale changed."""
    worth[0] *= factor
    if worth[0] > HIGH:
        worth[0] /= STEP
        scale[0] += 1
        return True
    if worth[0] < LOW:
        worth[0] *= STEP
        scale[0] -= 1
        return True
    return False


cdef inline void multiply_by_exp(double* worth, int64_t* scale, double power) noexcept nogil:
    """Multiply a wealth by any exponential."""
    cdef double steps = floor(power / LOG_STEP + 0.5)
    scale[0] += <int64_t>steps
    power -= steps * LOG_STEP
    # Two factors, as one of 2^256 need not leave the worth within twice that.
    multiply(worth, scale, exp(power / 2))
    multiply(worth, scale, exp(power / 2))


cdef inline double summed(const double* worth, const int64_t* scale, int64_t top,
                          Py_ssize_t size) noexcept nogil:
    """The sum of some wealths, divided by 2^(512 top); those of a scale two below the largest do
    not count.
    """
    cdef double total = 0
    cdef Py_ssize_t k
    for k in range(size):
        if scale[k] == top:
            total += worth[k]
        elif scale[k] == top - 1:
            total += worth[k] / STEP
    return total


def learn(
    const double[::1] p,
    const double[::1] event,
    const double[::1] slopes,
    const double[::1] intercepts,
    const double[::1] shifts,
    const int64_t[::1] levels,
    double[::1] worth,
    int64_t[::1] scale,
    double[::1] log_mean,
):
    """Multiply the wealth of each bet by q(y)/p(y), row by row, and write the logarithm of the mean
    wealth after each.

    The bets are a map for each slope and intercept, and then each shift in each of ``level`` equal
    ranges of [0, 1]. Where p is 0 or 1 no bet moves.
    """
    cdef Py_ssize_t n = p.shape[0]
    cdef Py_ssize_t many = shifts.shape[0]
    cdef Py_ssize_t kinds = intercepts.shape[0]
    cdef Py_ssize_t maps = slopes.shape[0] * kinds
    cdef Py_ssize_t count = worth.shape[0]
    cdef Py_ssize_t r, i, j, k, first, cell
    cdef Py_ssize_t parts = 1 + (count - maps) // many
    cdef double x, odds, power, a, total
    cdef double[MOST] part
    cdef double[32] tilt
    cdef double[32] factor
    cdef int64_t top = 0
    cdef bint moved = True  # the scale of some bet changed, so that all sums are to be taken again
    assert parts <= MOST and kinds <= 32 and many <= 16
    for j in range(kinds):
        tilt[j] = exp(intercepts[j])
    for j in range(many):
        factor[16 + j] = exp(shifts[j])
    with nogil:
        for r in range(n):
            x = p[r]
            if 0 < x < TINY:
                moved = True
                odds = log(x) - log1p(-x)
                # the maps, and what the ranges that hold x have in common
                for k in range(maps + many):
                    i = k // kinds
                    j = k % kinds
                    if k < maps:
                        power = slopes[i] * odds + intercepts[j]
                    else:
                        power = odds + shifts[k - maps]
                    power = event[r] * (power - odds) - log1p(exp(power)) - log1p(-x)
                    if k < maps:
                        multiply_by_exp(&worth[k], &scale[k], power)
                    else:
                        first = maps + k - maps
                        for i in range(levels.shape[0]):
                            multiply_by_exp(&worth[first], &scale[first], power)
                            first += levels[i] * many
            elif 0 < x < 1:
                odds = log(x) - log1p(-x)
                for i in range(slopes.shape[0]):
                    power = exp(slopes[i] * odds)
                    for j in range(kinds):
                        a = power * tilt[j]
                        a = a / ((1 + a) * x) if event[r] else 1 / ((1 + a) * (1 - x))
                        moved |= multiply(&worth[i * kinds + j], &scale[i * kinds + j], a)
                for j in range(many):
                    factor[j] = (factor[16 + j] if event[r] else 1.0) / (1 - x + x * factor[16 + j])
                first = maps
                for i in range(levels.shape[0]):
                    cell = min(<Py_ssize_t>(levels[i] * x), levels[i] - 1)
                    k = first + cell * many
                    for j in range(many):
                        moved |= multiply(&worth[k + j], &scale[k + j], factor[j])
                    if not moved:
                        part[1 + (k - maps) // many] = summed(&worth[k], &scale[k], top, many)
                    first += levels[i] * many
                if not moved:
                    part[0] = summed(&worth[0], &scale[0], top, maps)
            if moved:
                top = scale[0]
                for k in range(count):
                    top = max(top, scale[k])
                part[0] = summed(&worth[0], &scale[0], top, maps)
                for k in range(1, parts):
                    part[k] = summed(&worth[maps + (k - 1) * many], &scale[maps + (k - 1) * many],
                                     top, many)
                moved = False
            total = 0
            for k in range(parts):
                total += part[k]
            log_mean[r] = log(total / count) + top * LOG_STEP
