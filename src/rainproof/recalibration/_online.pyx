"""Predict so that no outcomes, whatever they are, can make the predictions biased
(docs/theory/online.md).

A `Mixture` says where to start: the mean of the models and of their recalibrations, weighted by how
well each predicted. A `Walk` goes from there to a point that has not been too low or too high so
far. For each point: `bias` = sum of y - point over the rounds that predicted it; `margin` = the
bias that is tolerated for lack of points in between: half the step to the neighbour for each round
in which a coin chose the point, because it was too low and the next one too high or the other way
round; `spread` = sum of |y - point|, plus the margin. A point is too low (+1) or too high (-1) if
its bias is larger than its margin by more than sqrt(spread + 1), else it is in order (0).

Predictions that are made before an outcome of theirs is learnt are a batch. The `scale` D is a
power of two, 1 if each outcome is known before the next prediction, and about as large as batches
are, or as outcomes are late; biases and spreads are compared in units of D.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.math cimport exp, expm1, fabs, fmax, fmin, log, log2, pow, sqrt
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

cdef enum:
    LINES = 3
    TABLES = 2
    # of a mixture, for each model: itself, lines in its log odds, tables of event rates
    MEMBERS = 6
    CELLS = 16  # of a table, of equal width

cdef Py_ssize_t FINEST = 1 << 16  # a grid that grows stops here, after 10^12 outcomes
cdef Py_ssize_t OCTAVES = 30  # the first point is 2^-30, the last one 1 - 2^-30

cdef double FAR = OCTAVES * log(2.0)  # log odds beyond these are cut: no point is farther
cdef double LEAST = 1e-100  # weight of a member, so that the weights never vanish together
# share of what a line knows, each round
cdef double[LINES] FORGETTING = [0.0, 1.0 / 3000.0, 1.0 / 300.0]
cdef double RECENT = 1.0 / 60.0  # share of the last visit in the second table


def points(Py_ssize_t grid):
    """Return the points between 0 and 1, with steps of 1/grid at 1/2, and smaller ones where
    outcomes deviate less.

    From 2^-(k+1) to 2^-k, k = 1, 2, ..., the step is 2^-floor(k/2) / grid, but at most 2^-(k+1).
    """
    octaves = []
    for k in range(OCTAVES - 1, 0, -1):
        step = min(2.0 ** -(k // 2) / grid, 2.0 ** -(k + 1))
        octaves.append(np.arange(2.0 ** -(k + 1), 2.0**-k, step))
    low = np.concatenate(octaves)
    found = np.concatenate((low, [0.5], 1.0 - low[::-1]))
    found.setflags(write=False)
    return found


cdef inline uint64_t splitmix(uint64_t z) noexcept nogil:
    """The first output of SplitMix64 from state z."""
    z += GAMMA
    z = (z ^ (z >> 30)) * MIX_1
    z = (z ^ (z >> 27)) * MIX_2
    return z ^ (z >> 31)


cdef inline double logit(double p) noexcept nogil:
    return fmin(fmax(log(p / (1.0 - p)), -FAR), FAR)


cdef inline Py_ssize_t cell_of(double p) noexcept nogil:
    return min(<Py_ssize_t>(CELLS * p), CELLS - 1)


cdef class Mixture:
    """Members with weights: for each model itself, with half of the weight at first, and its
    recalibrations.

    `line` has intercept, slope and the three numbers of the matrix of a Newton step; `table` has
    the event rates of the cells, `visits` the numbers of their outcomes. Before batch s = 2, 3, ...
    a share 1/s of the weights goes back to where they were at first.
    """

    cdef readonly Py_ssize_t models
    # batches begun, predictions of the last one, and the scale D
    cdef readonly int64_t batches, made, scale
    cdef readonly int64_t oldest  # outcome since then, in predictions from its own on
    cdef readonly bint fresh  # whether an outcome has been learnt since the last prediction
    cdef readonly object weight, line, table, visits
    cdef double first_model, first_recalibration  # weights at first
    cdef double[:, ::1] _weight, _visits
    cdef double[:, :, ::1] _line, _table

    def __init__(self, Py_ssize_t models):
        self.models = models
        self.first_model = 0.5 / models
        self.first_recalibration = 0.5 / (MEMBERS - 1) / models
        weight = np.tile([self._prior(j) for j in range(MEMBERS)], (models, 1))
        line = np.tile([0.0, 1.0, 1.0, 0.0, 1.0], (models, LINES, 1))
        table = np.tile((np.arange(CELLS) + 0.5) / CELLS, (models, TABLES, 1))
        self.restore(0, 0, 1, 0, True, weight, line, table, np.zeros((models, CELLS)))

    def restore(self, int64_t batches, int64_t made, int64_t scale, int64_t oldest, bint fresh,
                weight, line, table, visits):
        """Continue from a stored state."""
        self.batches = batches
        self.made = made
        self.scale = scale
        self.oldest = oldest
        self.fresh = fresh
        self.weight = self._weight = weight
        self.line = self._line = line
        self.table = self._table = table
        self.visits = self._visits = visits

    cdef inline double _prior(self, Py_ssize_t j) noexcept:
        """The weight of a member at first: the model itself is the first one."""
        return self.first_model if j == 0 else self.first_recalibration

    cdef inline double _on_line(self, const double* line, double x) noexcept:
        """What a line with an intercept and a slope predicts, at log odds x."""
        return 1.0 / (1.0 + exp(-fmin(fmax(line[0] + line[1] * x, -FAR), FAR)))

    cdef bint begin(self) noexcept:
        """Count a prediction, and return whether the scale changed. The first after an outcome
        begins a batch.
        """
        cdef Py_ssize_t k, j
        cdef int64_t before = self.scale
        cdef double share
        if self.fresh:
            self.batches += 1
            share = 1.0 / self.batches
            for k in range(self.models):
                for j in range(MEMBERS):
                    self._weight[k, j] += share * (self._prior(j) - self._weight[k, j])
            if self.scale > 1 and 2 * max(self.made, self.oldest) <= self.scale:
                self.scale //= 2
            self.made = 0
            self.oldest = 0
            self.fresh = False
        self.made += 1
        if self.made > self.scale:
            self.scale *= 2
        return self.scale != before

    cdef bint note(self, int64_t age) noexcept:
        """Note how late an outcome is, and return whether the scale changed."""
        self.oldest = max(self.oldest, age)
        if age <= self.scale:
            return False
        self.scale *= 2
        return True

    cdef double mean(self, double* q) noexcept:
        """Fill in what the members predict, where q has the models' own predictions; return the
        next mean by weight.
        """
        cdef double share = 1.0 / (self.batches + 1.0) if self.fresh else 0.0
        cdef double total = 0.0, x
        cdef Py_ssize_t k, j, cell
        for k in range(self.models):
            x = logit(q[0])
            cell = cell_of(q[0])
            for j in range(LINES):
                q[1 + j] = self._on_line(&self._line[k, j, 0], x)
            for j in range(TABLES):
                q[1 + LINES + j] = self._table[k, j, cell]
            for j in range(MEMBERS):
                total += (self._weight[k, j] + share * (self._prior(j) - self._weight[k, j])) * q[j]
            q += MEMBERS
        return total

    cdef void learn(self, const double* q, bint y, bint last) noexcept:
        """Learn an outcome, where q is what the members predicted, in the last round or not: Bayes,
        with the power 1/D.
        """
        cdef double total = 0.0, chance
        cdef Py_ssize_t k, j
        for k in range(self.models):
            for j in range(MEMBERS):
                chance = q[MEMBERS * k + j] if y else 1.0 - q[MEMBERS * k + j]
                self._weight[k, j] *= chance if self.scale == 1 else pow(chance, 1.0 / self.scale)
                total += self._weight[k, j]
        total = 1.0 / total
        for k in range(self.models):
            for j in range(MEMBERS):
                self._weight[k, j] = max(self._weight[k, j] * total, LEAST)
            self._learn_model(k, q + MEMBERS * k, y, last and not self.fresh)
        self.fresh = True

    cdef void _learn_model(self, Py_ssize_t k, const double* predicted, double y,
                           bint same) noexcept:
        """Learn an outcome: a Newton step of each line, and the event rates of the cell.

        `predicted` is what the members predicted; where nothing was learnt since, a line is the
        `same` as it was then. A line has, behind intercept and slope, the second derivatives of its
        log loss: sums of s, s x and s x^2.
        """
        cdef double p = predicted[0]
        cdef double x = logit(p)
        cdef double q, s, keep, determinant
        cdef Py_ssize_t j, cell = cell_of(p)
        cdef double* line
        for j in range(LINES):
            line = &self._line[k, j, 0]
            q = predicted[1 + j] if same else self._on_line(line, x)
            s = q * (1.0 - q)
            keep = 1.0 - FORGETTING[j]
            line[2] = keep * line[2] + FORGETTING[j] + s
            line[3] = keep * line[3] + s * x
            line[4] = keep * line[4] + FORGETTING[j] + s * x * x
            determinant = line[2] * line[4] - line[3] * line[3]
            line[0] += (y - q) * (line[4] - line[3] * x) / determinant
            line[1] += (y - q) * (line[2] * x - line[3]) / determinant
        self._visits[k, cell] += 1.0
        s = 1.0 / (self._visits[k, cell] + 1.0)
        self._table[k, 0, cell] += s * (y - self._table[k, 0, cell])
        self._table[k, 1, cell] += fmax(s, RECENT) * (y - self._table[k, 1, cell])


cdef class Walk:
    """The state of an online forecast. A coin depends on the seed and on its number alone."""

    cdef readonly Mixture mixture
    cdef readonly Py_ssize_t grid
    cdef readonly bint grows
    cdef readonly uint64_t seed
    cdef readonly int64_t coins, n
    cdef readonly object points, bias, margin, spread
    cdef uint64_t key
    cdef Py_ssize_t last
    cdef const double[::1] _points
    cdef double[::1] _bias, _margin, _spread
    cdef int8_t[::1] _sign

    def __init__(self, Py_ssize_t grid, bint grows, uint64_t seed, Mixture mixture):
        self.grid = grid
        self.grows = grows
        self.seed = seed
        self.key = splitmix(seed)
        self.mixture = mixture
        self.restore(0, 0, *np.zeros((3, len(points(grid)))))

    def restore(self, int64_t coins, int64_t n, bias, margin, spread):
        """Continue from a stored state."""
        self.coins = coins
        self.n = n
        self.points = self._points = points(self.grid)
        self.bias = self._bias = bias
        self.margin = self._margin = margin
        self.spread = self._spread = spread
        self.last = self._points.shape[0] - 1
        self._sign = np.zeros(self.last + 1, np.int8)
        self._judge_all()

    cdef void _judge_all(self) noexcept:
        """Judge all points again, as the scale changed."""
        cdef Py_ssize_t i
        for i in range(self.last + 1):
            self._judge(i)

    cdef inline void _judge(self, Py_ssize_t i) noexcept:
        """Judge whether a point was too low (1), too high (-1), or neither.

        The first point is never too high and the last one never too low, so that every walk ends.
        """
        cdef double scale = self.mixture.scale, beyond
        beyond = self._margin[i] + sqrt(scale * (self._spread[i] + scale))
        self._sign[i] = (
            (self._bias[i] > beyond and i < self.last) - (-self._bias[i] > beyond and i > 0)
        )

    cdef inline double _toss(self) noexcept:
        """The next uniform number in [0, 1)."""
        cdef uint64_t bits = splitmix(self.key + <uint64_t>self.coins * GAMMA) >> 11
        cdef double u = <double><int64_t>bits * 2.0 ** -53
        self.coins += 1
        return u

    cdef inline double _log_weight(self, Py_ssize_t i) noexcept:
        """ln of exp((r + 1)^2 / 6(c + 1)) - exp((r - 1)^2 / 6(c + 1)), r the bias beyond the
        margin, c the spread.
        """
        cdef double r = (fabs(self._bias[i]) - self._margin[i]) / self.mixture.scale
        cdef double room = 6.0 * (self._spread[i] / self.mixture.scale + 1.0)
        return (r + 1.0) * (r + 1.0) / room + log(-expm1(-4.0 * r / room))

    cdef inline double _share(self, Py_ssize_t low) noexcept:
        """The chance of a point: 1 if it is in order; where it is too low and the next one too
        high, shares times weights are equal."""
        if self._sign[low] == 0:
            return 1.0
        return 1.0 / (1.0 + exp(self._log_weight(low) - self._log_weight(low + 1)))

    cdef inline Py_ssize_t _below(self, double x) noexcept:
        """The last point that is not above x; the first one if all are, and the one before the last
        if none is.
        """
        cdef Py_ssize_t low = 0, high = self.last, middle
        while high - low > 1:
            middle = (low + high) // 2
            if self._points[middle] <= x:
                low = middle
            else:
                high = middle
        return low

    cdef Py_ssize_t _end(self, double x) noexcept:
        """Walk from the point nearest to x to the next one in order, or to the lower one of two
        neighbours between which one goes from too low to too high."""
        cdef Py_ssize_t i = self._below(x)
        if x - self._points[i] > self._points[i + 1] - x:
            i += 1
        if self._sign[i] > 0:
            while self._sign[i] > 0:
                i += 1
            return i if self._sign[i] == 0 else i - 1
        while self._sign[i] < 0:
            i -= 1
        return i

    cdef double _predict(self, double* q, double* margin) noexcept:
        """Return a prediction, with a coin used or not, so that the coin of a round does not depend
        on those before.
        """
        cdef Py_ssize_t i
        cdef double u = self._toss()
        if self.mixture.begin():
            self._judge_all()
        i = self._end(self.mixture.mean(q))
        margin[0] = 0.0 if self._sign[i] == 0 else 0.5 * (self._points[i + 1] - self._points[i])
        return self._points[i + (u >= self._share(i))]

    cdef void _learn(self, double value, double margin, int64_t coin, const double* q, bint y):
        """Learn an outcome at the point that was predicted, and in the mixture."""
        cdef Py_ssize_t i = self._below(value)
        if self.mixture.note(self.coins - coin):
            self._judge_all()
        i += value > self._points[i]
        self._bias[i] += y - value
        self._margin[i] += margin
        self._spread[i] += fabs(y - value) + margin
        self._judge(i)
        self.mixture.learn(q, y, self.coins - coin == 1)
        self.n += 1
        if (
            self.grows
            and self.grid < FINEST
            and self.n >= self.mixture.scale * (self.grid * log2(self.grid)) ** 2
        ):
            self._refine()

    cdef void _refine(self):
        """Steps half as large; the old points keep what they know."""
        old = self.points
        self.grid *= 2
        finer = np.zeros((3, len(points(self.grid))))
        finer[:, np.searchsorted(points(self.grid), old)] = self.bias, self.margin, self.spread
        self.restore(self.coins, self.n, *finer)

    def mean(self, tuple p):
        """Return where the next walk starts, if the models say p."""
        cdef double[::1] q = np.empty(MEMBERS * self.mixture.models)
        cdef Py_ssize_t k
        for k in range(self.mixture.models):
            q[MEMBERS * k] = p[k]
        return self.mixture.mean(&q[0])

    def shares(self, double start):
        """Return the probability of each point to be the next prediction."""
        cdef Py_ssize_t i = self._end(start)
        cdef double share = self._share(i)
        result = np.zeros(self.last + 1)
        result[i] = share
        if share < 1.0:
            result[i + 1] = 1.0 - share
        return result

    def predict(self, tuple p):
        """Return the prediction, its margin, the number of its coin, and what the members
        predicted: one call, for threads.
        """
        members = PyBytes_FromStringAndSize(NULL, MEMBERS * self.mixture.models * sizeof(double))
        cdef double* q = <double*>PyBytes_AS_STRING(members)
        cdef Py_ssize_t k
        cdef double margin
        for k in range(self.mixture.models):
            q[MEMBERS * k] = p[k]
        value = self._predict(q, &margin)
        return value, margin, self.coins - 1, members

    def update(self, double value, double margin, int64_t coin, bytes members, bint y):
        """Learn the outcome of a prediction."""
        self._learn(value, margin, coin, <const double*>PyBytes_AS_STRING(members), y)

    def run(self, const double[:, ::1] p, const uint8_t[::1] y, const int64_t[::1] ends,
            Py_ssize_t longest):
        """Predict the rows of a batch and then learn them, batch by batch: each ends before one of
        the rows `ends`.
        """
        cdef int64_t coins = self.coins
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t b, r, k
        cdef Py_ssize_t width = MEMBERS * self.mixture.models
        result = np.empty(y.shape[0])
        cdef double[::1] made = result
        cdef double[::1] margin = np.empty(longest)
        cdef double[:, ::1] members = np.empty((longest, width))  # of the rows of a batch
        for b in range(ends.shape[0]):
            for r in range(start, ends[b]):
                for k in range(self.mixture.models):
                    members[r - start, MEMBERS * k] = p[r, k]
                made[r] = self._predict(&members[r - start, 0], &margin[r - start])
            for r in range(start, ends[b]):
                self._learn(made[r], margin[r - start], coins + r, &members[r - start, 0],
                            y[r] != 0)
            start = ends[b]
        return result
