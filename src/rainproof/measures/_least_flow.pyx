"""The least flow along two lines that makes a sample calibrated, by an interior-point method.

The program (see `rainproof.measures.distance`), for masses b_l(v) on line l = 0, 1 at the points
v = 0, 1, ..., g, in units of the grid:

    minimise the sum of all flows >= 0 and arriving masses beta >= 0 with
    b_l(v) = (flows out - flows in) + c_l(v) beta(v),   c = (1 - v/g, v/g);
    its dual: maximise sum b_l(v) u_l(v) with |u_l(v + 1) - u_l(v)| <= 1 and c_0 u_0 + c_1 u_1 <= 0.

The method is primal-dual: Mehrotra's predictor and corrector, from a centred point. u satisfies its
rules all the way, so sum b u never exceeds the least flow, and the flows exceed it by no more than
the gap between the two. Each step solves a system whose matrix is block tridiagonal with blocks of
2 x 2: two chains of springs, of stiffness w_l(e) between neighbours, tied to each other and to the
ground at each point by the rank-one stiffness t c c'. It is eliminated from v = 0 on as springs in
series and in parallel, R(v) = t c c' + (W^-1 + R(v - 1)^-1)^-1, without a subtraction of like
numbers, so that stiffnesses of any ratio keep their digits. O(g) per step, and about 20 steps.
"""

from libc.math cimport fabs

import numpy as np

cdef enum:
    ROWS = 5  # of x and s, see Program

cdef double SHARE = 0.995  # of the longest step, so that x and s stay positive

cdef struct Springs:  # the matrix R = r (1, k)' (1, k) + d (0, 1)' (0, 1)
    double r
    double k
    double d
    double lean  # c_1 - c_0 k


cdef inline void adjoint(Py_ssize_t g, const double* x, double* out) noexcept nogil:
    """out = A' x: the masses from which flows and arriving masses come."""
    cdef Py_ssize_t v, n = g + 1
    cdef double c
    for v in range(n):
        c = <double>v / g
        out[v] = (1 - c) * x[4 * n + v]
        out[n + v] = c * x[4 * n + v]
        if v > 0:
            out[v] += x[v - 1] - x[n + v - 1]
            out[n + v] += x[2 * n + v - 1] - x[3 * n + v - 1]
        if v < g:
            out[v] -= x[v] - x[n + v]
            out[n + v] -= x[2 * n + v] - x[3 * n + v]


cdef inline double flow_to(Py_ssize_t g, const double* mass, const double* arriving) noexcept nogil:
    """Return the total flow from the masses to where they arrive.

    What is left at the end counts as moved along the whole line, twice.
    """
    cdef Py_ssize_t v, n = g + 1
    cdef double c, along0 = 0.0, along1 = 0.0, total = 0.0
    for v in range(n):
        c = <double>v / g
        along0 += mass[v] - (1 - c) * arriving[v]
        along1 += mass[n + v] - c * arriving[v]
        total += (fabs(along0) + fabs(along1)) * (1 if v < g else 2 * g)
    return total


cdef inline double both(Springs r, double a, double b) noexcept nogil:
    """Return the determinant of R + W."""
    return (a + r.r) * (b + r.d) + a * r.r * r.k * r.k


cdef inline double divide(Springs r, double c, double a, double b, double* y,
                          double* z) noexcept nogil:
    """Replace (y, z) by (R + W)^-1 (y, z); return (1 - c) y + c z.

    It is not added up from the two, as the sum would lose digits.
    """
    cdef double total = both(r, a, b)
    cdef double side = r.r * (z[0] - r.k * y[0])
    cdef double first = (b + r.d) * y[0]
    cdef double second = a * z[0]
    y[0] = (first - r.k * side) / total
    z[0] = (second + side) / total
    return ((1 - c) * first + c * second + r.lean * side) / total


cdef inline void pass_on(Springs r, const double* w, double* u, Py_ssize_t v,
                         Py_ssize_t n) noexcept nogil:
    """Add to the right-hand side at v + 1 what comes from v."""
    cdef double y = u[v]
    cdef double z = u[n + v]
    divide(r, 0.0, w[v], w[n + v], &y, &z)
    u[v + 1] += w[v] * y
    u[n + v + 1] += w[n + v] * z


cdef void eliminate(Py_ssize_t g, const double* x, const double* s, double* w, Springs* found,
                    double* u) noexcept nogil:
    """Compute the stiffnesses w along the lines and R at each point, and pass u on meanwhile."""
    cdef Py_ssize_t v, n = g + 1
    cdef double c0, c1, t, a, b, turn
    cdef Springs r
    r.r = r.k = r.d = r.lean = 0.0
    for v in range(n):
        if v > 0:  # in series with the springs from v - 1
            a = w[v - 1]
            b = w[n + v - 1]
            r.r *= a * (b + r.d) / both(r, a, b)
            r.k *= b / (b + r.d)
            r.d *= b / (b + r.d)
        c1 = <double>v / g  # in parallel with those to the ground
        c0 = 1 - c1
        t = x[4 * n + v] / s[4 * n + v]
        turn = c1 - c0 * r.k
        a = r.r + t * c0 * c0
        r.d += t * (r.r / a) * turn * turn
        r.lean = r.r / a * turn
        r.k = (r.r * r.k + t * c0 * c1) / a
        r.r = a
        found[v] = r
        if v < g:
            w[v] = x[v] / s[v] + x[n + v] / s[n + v]
            w[n + v] = x[2 * n + v] / s[2 * n + v] + x[3 * n + v] / s[3 * n + v]
            pass_on(r, w, u, v, n)


cdef void solve(Py_ssize_t g, const double* w, const Springs* springs, double* u,
                double* out) noexcept nogil:
    """Replace the right-hand side u, passed on to the end, by the solution, and set out = A u."""
    cdef Py_ssize_t v, n = g + 1
    cdef double y, z
    out[4 * n + g] = divide(springs[g], 1.0, 0.0, 0.0, &u[g], &u[n + g])
    for v in range(g - 1, -1, -1):
        u[v] += w[v] * u[v + 1]
        u[n + v] += w[n + v] * u[n + v + 1]
        out[4 * n + v] = divide(springs[v], <double>v / g, w[v], w[n + v], &u[v], &u[n + v])
        y = u[v + 1] - u[v]
        z = u[n + v + 1] - u[n + v]
        out[v] = y
        out[n + v] = -y
        out[2 * n + v] = z
        out[3 * n + v] = -z


cdef inline double longest(Py_ssize_t size, const double* at, const double* step) noexcept nogil:
    """Return the largest share of a step that keeps all numbers positive, at most 1."""
    cdef Py_ssize_t k
    cdef double worst = 1.0
    for k in range(size):
        if step[k] < -at[k] * worst:
            worst = -step[k] / at[k]
    return 1 / worst


cdef struct Program:
    Py_ssize_t g
    double* mass  # b on line 0, then on line 1
    double* u
    double* du
    double* w  # stiffnesses along the lines
    double* missing  # b - A' x
    # flows on line 0 towards 1, on line 0 towards 0, the same on line 1, and masses that arrive
    double* x
    double* s  # the slack of the rules for u: 1 - differences, and -c u
    double* dx
    double* ds
    double* rc
    Springs* springs


cdef double gap(Program p, double* lower) noexcept nogil:
    """Compute `missing` and sum b u; return by how much the flow exceeds it."""
    cdef Py_ssize_t k, n = p.g + 1
    lower[0] = 0.0
    adjoint(p.g, p.x, p.missing)
    for k in range(2 * n):
        p.missing[k] = p.mass[k] - p.missing[k]
        lower[0] += p.mass[k] * p.u[k]
    return flow_to(p.g, p.mass, p.x + 4 * n) - lower[0]


cdef double predict(Program p) noexcept nogil:
    """Compute the step to x s = 0, without the curvature; return the x s to aim at instead."""
    cdef Py_ssize_t k, size = ROWS * (p.g + 1)
    cdef double now = 0.0, ahead = 0.0, forth, along
    for k in range(2 * (p.g + 1)):
        p.du[k] = p.mass[k]
    eliminate(p.g, p.x, p.s, p.w, p.springs, p.du)
    solve(p.g, p.w, p.springs, p.du, p.rc)
    for k in range(size):
        p.ds[k] = -p.rc[k]
        p.dx[k] = p.x[k] * (p.rc[k] / p.s[k] - 1)
    forth = longest(size, p.x, p.dx)
    along = longest(size, p.s, p.ds)
    for k in range(size):
        now += p.x[k] * p.s[k]
        ahead += (p.x[k] + forth * p.dx[k]) * (p.s[k] + along * p.ds[k])
    return (ahead / now) * (ahead / now) * ahead / (5 * p.g + 1)


cdef void correct(Program p, double aim) noexcept nogil:
    """Make the step to x s = aim, with the curvature that the prediction found."""
    cdef Py_ssize_t k
    cdef Py_ssize_t n = p.g + 1
    cdef Py_ssize_t size = ROWS * n
    cdef double forth, along
    for k in range(size):
        p.rc[k] = (aim - p.dx[k] * p.ds[k]) / p.s[k] - p.x[k]
    for k in range(4):
        p.rc[k * n + p.g] = 0.0  # padding
    adjoint(p.g, p.rc, p.du)
    for k in range(2 * n):
        p.du[k] = p.missing[k] - p.du[k]
    for k in range(p.g):
        pass_on(p.springs[k], p.w, p.du, k, n)
    solve(p.g, p.w, p.springs, p.du, p.ds)
    for k in range(size):
        p.dx[k] = p.rc[k] + p.x[k] / p.s[k] * p.ds[k]
        p.ds[k] = -p.ds[k]
    forth = SHARE * longest(size, p.x, p.dx)
    along = SHARE * longest(size, p.s, p.ds)
    for k in range(size):
        p.x[k] += forth * p.dx[k]
        p.s[k] += along * p.ds[k]
    for k in range(2 * n):
        p.u[k] += along * p.du[k]


def least_flow(const double[::1] negative, const double[::1] positive, double tolerance, int steps):
    """Return a lower and an upper bound on the least total flow, in units of the whole line.

    They differ by at most `tolerance`, unless the number of `steps` did not suffice. The masses
    must not be negative, must sum to about 1, and neither line may be empty.
    """
    cdef Py_ssize_t g = negative.shape[0] - 1
    cdef Py_ssize_t n = g + 1
    cdef Py_ssize_t k
    cdef double[:, ::1] lines = np.zeros((5, 2 * n))
    cdef double[:, ::1] rows = np.zeros((5, ROWS * n))
    cdef double[:, ::1] springs = np.zeros((n, 4))
    cdef Program p
    cdef double lower = 0.0, apart = 0.0
    cdef int step
    p.g = g
    p.springs = <Springs*>&springs[0, 0]
    p.mass = &lines[0, 0]
    p.u = &lines[1, 0]
    p.du = &lines[2, 0]
    p.w = &lines[3, 0]
    p.missing = &lines[4, 0]
    p.x = &rows[0, 0]
    p.s = &rows[1, 0]
    p.dx = &rows[2, 0]
    p.ds = &rows[3, 0]
    p.rc = &rows[4, 0]
    with nogil:
        for k in range(n):
            p.mass[k] = negative[k]
            p.mass[n + k] = positive[k]
            p.u[k] = p.u[n + k] = -0.1 * g
            p.x[4 * n + k] = 1.0 / g
            p.s[4 * n + k] = 0.1 * g
        for k in range(4 * n):  # the last of a line is padding, without flow
            p.x[k] = 0.0 if k % n == g else 0.1
            p.s[k] = 1.0
        for step in range(steps):
            apart = gap(p, &lower)
            if apart <= tolerance * g:
                break
            correct(p, predict(p))
    return lower / g, (lower + apart) / g
