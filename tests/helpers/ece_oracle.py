"""Slow, obvious versions of ECE and its relatives, straight from the definitions; in exact
fractions where they are.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from scipy.optimize import brentq, linprog
from scipy.special import ndtr


def pooled(y, p, w=None):
    """Distinct predictions with their E[(y - p) 1{p}] and weight, increasing, as fractions."""
    w = [1] * len(p) if w is None else w
    total, table = sum(map(Fraction, w)), {}
    for yt, pt, wt in zip(y, p, w, strict=True):
        bias, weight = table.get(float(pt), (0, 0))
        share = Fraction(float(wt)) / total
        table[float(pt)] = bias + share * (int(yt) - Fraction(float(pt))), weight + share
    return sorted((Fraction(v), bias, weight) for v, (bias, weight) in table.items() if weight)


def ece(y, p, w=None):
    return sum(abs(bias) for _, bias, _ in pooled(y, p, w))


def cutoff(y, p, w=None):
    """The largest |E[(y - p) 1{a <= p <= b}]|, over all pairs of predictions."""
    biases = [bias for _, bias, _ in pooled(y, p, w)]
    return max(abs(bias) for a in range(len(biases)) for bias in accumulate(biases[a:]))


def binned(y, p, m, w=None):
    """sum_k |E[(y - p) 1{p in (e_{k-1}, e_k]}]| with edges k/m as doubles, the first bin closed on
    both sides.
    """
    edges = [Fraction(k / m) for k in range(1, m)]
    return by_edges(y, p, edges, w)


def by_edges(y, p, edges, w=None):
    bins = [Fraction(0)] * (len(edges) + 1)
    for v, bias, _ in pooled(y, p, w):
        bins[sum(edge < v for edge in edges)] += bias
    return sum(map(abs, bins))


def rounded(y, p, m, w=None):
    """2 E|E[y | p'] - p'| with p' the largest double j/m up to p."""
    w = [1] * len(p) if w is None else w
    down = [max(j / m for j in range(m + 1) if j / m <= v) for v in p]
    return 2 * ece(y, down, w)


def quantile_edges(y, p, m, w=None):
    """For k = 1 .. m - 1 the smallest prediction with a share of at least k/m at or below it."""
    table = pooled(y, p, w)
    below, edges = Fraction(0), []
    for v, _, weight in table:
        below += weight
        while len(edges) < m - 1 and below >= Fraction(len(edges) + 1, m) - Fraction(1, 2**42):
            edges.append(v)
    return edges


def smoothed(y, p, s, w=None, points=4000):
    """smECE_s, exactly: between its zeros r_s is integrated in closed form."""
    table = pooled(y, p, w)
    bias = np.array([float(b) for _, b, _ in table])
    at = np.array([float(v) for v, _, _ in table])
    images = np.concatenate([sign * at + 2 * j for j in range(-5, 6) for sign in (1, -1)])
    near = (images > -9 * s) & (images < 1 + 9 * s)
    images, bias = images[near], np.tile(bias, 22)[near]

    def r(t):
        return np.exp(-0.5 * ((np.asarray(t)[..., None] - images) / s) ** 2) @ bias

    def integral(t):
        return float(ndtr((t - images) / s) @ bias)

    grid = np.linspace(0, 1, points + 1)
    values = r(grid)
    zeros = [
        brentq(r, grid[i], grid[i + 1], xtol=1e-14)
        for i in np.flatnonzero(values[:-1] * values[1:] < 0)
    ]
    return sum(abs(integral(b) - integral(a)) for a, b in pairwise([0.0, *zeros, 1.0]))


def smooth_ece(y, p, w=None, points=4000):
    """The s with smECE_s = s."""
    if smoothed(y, p, 1e-3, w, points) <= 1e-3:
        raise AssertionError("the oracle is for values above 1e-3")
    return brentq(lambda s: smoothed(y, p, s, w, points) - s, 1e-3, 1 + 1e-9, xtol=1e-10)


def smooth_calibration_error(y, p, w=None):
    """smCE as a linear program: Lipschitz between neighbours is Lipschitz throughout."""
    table = pooled(y, p, w)
    bias, at = np.array([float(b) for _, b, _ in table]), [float(v) for v, _, _ in table]
    n = len(at)
    steps = np.eye(n)[1:] - np.eye(n)[:-1]
    gaps = np.diff(at)
    found = linprog(-bias, A_ub=np.vstack([steps, -steps]) if n > 1 else None,
                    b_ub=np.concatenate([gaps, gaps]) if n > 1 else None, bounds=(-1, 1))  # fmt: skip
    return -found.fun
