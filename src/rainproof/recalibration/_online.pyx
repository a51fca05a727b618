"""Predict from a grid so that no outcomes, whatever they are, can make the predictions biased (docs/theory/online.md).

For each point i/m of the grid: `number` of rounds that predicted it, `bias` = sum of y - i/m over them, `margin` = the
bias that is tolerated for lack of finer points: half a step of the grid for each round in which a coin chose the point,
because it was too low and the next one too high or the other way round. A point is too low (+1) or too high (-1) if its
bias is larger than its margin by more than sqrt(number + 1), else it is in order (0).
"""

from libc.math cimport exp, expm1, fabs, floor, log, log2, sqrt
from libc.stdint cimport int8_t, int64_t, uint8_t, uint64_t

import numpy as np

cdef extern from *:
    """
    #include <stdint.h>
    #define GAMMA UINT64_C(0x9E3779B97F4A7C15)
    #define MIX_1 UINT64_C(0xBF58476D1CE4E5B9)
    #define MIX_2 UINT64_C(0x94D049BB133111EB)
    """
    const uint64_t GAMMA
    const uint64_t MIX_1
    const uint64_t MIX_2

cdef Py_ssize_t FINEST = 1 << 16  # a grid that grows stops here, after 10^12 outcomes


cdef inline uint64_t splitmix(uint64_t z) noexcept nogil:
    """The first output of SplitMix64 from state z."""
    z += GAMMA
    z = (z ^ (z >> 30)) * MIX_1
    z = (z ^ (z >> 27)) * MIX_2
    return z ^ (z >> 31)


cdef class Walk:
    """The state of an online forecast. A coin depends on the seed and on its number alone."""

    cdef readonly Py_ssize_t grid
    cdef readonly bint grows
    cdef bint tossed  # whether a coin chose between two points in the last round
    cdef readonly uint64_t seed
    cdef readonly int64_t coins, n, events
    cdef uint64_t key
    cdef readonly object bias, margin, number
    cdef double[::1] _bias, _margin
    cdef int64_t[::1] _number
    cdef int8_t[::1] _sign

    def __init__(self, Py_ssize_t grid, bint grows, uint64_t seed):
        self.grid, self.grows, self.seed, self.key = grid, grows, seed, splitmix(seed)
        self._hold(np.zeros(grid + 1), np.zeros(grid + 1), np.zeros(grid + 1, np.int64))

    def restore(self, int64_t coins, int64_t n, int64_t events, bias, margin, number):
        """Continue from a stored state."""
        self.coins, self.n, self.events = coins, n, events
        self._hold(bias, margin, number)

    cdef void _hold(self, bias, margin, number):
        cdef Py_ssize_t i
        self.bias, self.margin, self.number = bias, margin, number
        self._bias, self._margin, self._number = bias, margin, number
        self._sign = np.zeros(self.grid + 1, np.int8)
        for i in range(self.grid + 1):
            self._judge(i)

    cdef inline void _judge(self, Py_ssize_t i) noexcept:
        cdef double beyond = self._margin[i] + sqrt(<double>self._number[i] + 1.0)
        self._sign[i] = 1 if self._bias[i] > beyond else -1 if -self._bias[i] > beyond else 0

    cdef inline double _toss(self) noexcept:
        """The next uniform number in [0, 1)."""
        cdef double u = <double><int64_t>(splitmix(self.key + <uint64_t>self.coins * GAMMA) >> 11) * 2.0 ** -53
        self.coins += 1
        return u

    cdef inline double _log_weight(self, Py_ssize_t i) noexcept:
        """ln of exp((r + 1)^2 / 3(n + 1)) - exp((r - 1)^2 / 3(n + 1)), with r the bias beyond the margin."""
        cdef double r = fabs(self._bias[i]) - self._margin[i], room = 3.0 * (<double>self._number[i] + 1.0)
        return (r + 1.0) * (r + 1.0) / room + log(-expm1(-4.0 * r / room))

    cdef inline double _share(self, Py_ssize_t low) noexcept:
        """The share of a point that is too low, where the next one is too high: weights times shares are equal."""
        return 1.0 / (1.0 + exp(self._log_weight(low) - self._log_weight(low + 1)))

    cdef inline Py_ssize_t _lower(self, Py_ssize_t i) noexcept:
        """Walk to the nearest point in order, or the lower one of two between which one goes from too low to too high.

        The first point cannot be too high, and the last one not too low, so the walk ends within the grid.
        """
        if self._sign[i] > 0:
            while self._sign[i] > 0:
                i += 1
            return i if self._sign[i] == 0 else i - 1
        while self._sign[i] < 0:
            i -= 1
        return i

    cdef Py_ssize_t _choose(self, double x) noexcept:
        """Two coins for each prediction, used or not, so that the coins of a round do not depend on those before."""
        cdef double place = self.grid * x, down = floor(place), u = self._toss(), v = self._toss()
        cdef Py_ssize_t i = self._lower(<Py_ssize_t>down + (u < place - down))
        self.tossed = self._sign[i] != 0
        return i + (self.tossed and v >= self._share(i))

    cdef void _learn(self, Py_ssize_t i, double margin, bint y):
        self._bias[i] += y - <double>i / self.grid
        self._margin[i] += margin
        self._number[i] += 1
        self._judge(i)
        self.n += 1
        self.events += y
        if self.grows and self.grid < FINEST and self.n >= (self.grid * log2(self.grid)) ** 2:
            self._refine()

    cdef void _refine(self):
        """Twice as many points; the old ones keep what they know."""
        self.grid *= 2
        finer = [np.zeros(self.grid + 1), np.zeros(self.grid + 1), np.zeros(self.grid + 1, np.int64)]
        for new, old in zip(finer, (self.bias, self.margin, self.number)):
            new[::2] = old
        bias, margin, number = finer
        self._hold(bias, margin, number)

    cpdef double base(self):
        """The event rate so far: what a forecast without a model starts from."""
        return (self.events + 0.5) / (self.n + 1.0)

    def predict(self, double x):
        """Return the number of the point to predict, the grid, and whether a coin chose: in one call, for threads."""
        cdef Py_ssize_t i = self._choose(x)
        return i, self.grid, bool(self.tossed)

    def update(self, Py_ssize_t i, Py_ssize_t grid, bint tossed, bint y):
        """Learn the outcome of a round that predicted the point i of a grid, this one or one before."""
        self._learn(i * (self.grid // grid), 0.5 / grid if tossed else 0.0, y)

    def run(self, const double[::1] p, const uint8_t[::1] y):
        """Predict and learn row by row; from the event rate so far if there are no p."""
        cdef Py_ssize_t r, i
        cdef bint own = p.shape[0] == 0
        result = np.empty(y.shape[0])
        cdef double[::1] out = result
        for r in range(y.shape[0]):
            i = self._choose(self.base() if own else p[r])
            out[r] = <double>i / self.grid
            self._learn(i, 0.5 / self.grid if self.tossed else 0.0, y[r] != 0)
        return result

    def shares(self, double x):
        """Return the probability of each point to be the next prediction."""
        cdef double place = self.grid * x, down = floor(place), share, lower
        cdef Py_ssize_t start, i, step
        result = np.zeros(self.grid + 1)
        cdef double[::1] out = result
        for step in range(2):
            share = place - down if step else 1.0 - (place - down)
            start = <Py_ssize_t>down + step
            if share > 0:
                i = self._lower(start)
                lower = 1.0 if self._sign[i] == 0 else self._share(i)
                out[i] += share * lower
                if lower < 1.0:
                    out[i + 1] += share * (1.0 - lower)
        return result
