"""Slow, obvious versions of what rainproof computes, written straight from the definitions.

Nothing here is imported by rainproof. Where doubles would blur the comparison the oracle counts in
exact fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction


def rounded(y, p, w, m, rounding="soft"):
    """pi_j and s_j = pi_j q_j for j = 0..m, as exact fractions (Definition 1.1 of the paper)."""
    total = sum(map(Fraction, w))
    pi, s = [Fraction(0)] * (m + 1), [Fraction(0)] * (m + 1)
    for yt, pt, wt in zip(y, p, w, strict=True):
        at = Fraction(pt) * m
        low = math.floor(at)
        up = at - low if rounding == "soft" else Fraction(0)
        for j, share in ((low, 1 - up), (low + 1, up)):
            if share:
                pi[j] += share * Fraction(wt) / total
                s[j] += share * Fraction(wt) / total * int(yt)
    return pi, s


def fixed_loss(pi, s, m, i):
    """SCFDL_{m,i} (Definition 3.1), bin by bin."""
    total = Fraction(0)
    for j in range(m + 1):
        if pi[j] == 0:
            continue
        q = s[j] / pi[j]
        gap = q - Fraction(i + 1, m) if j <= i else Fraction(i, m) - q
        total += pi[j] * max(gap, Fraction(0))
    return total


def loss(y, p, w, m, rounding="soft"):
    """SCDL_m: the largest SCFDL_{m,i}, in O(m^2)."""
    pi, s = rounded(y, p, w, m, rounding)
    return max(fixed_loss(pi, s, m, i) for i in range(m + 1))


def scdl(y, p, w=None, rounding="soft", largest=64):
    """SCDL as the infimum of max(SCDL_m, 1/m) over m = 2, 4, ..., largest.

    Grids past `largest` cannot have the minimum once max(SCDL_m, 1/m) stops being 1/m, as SCDL_m
    does not fall; the caller picks `largest` so that this has happened.
    """
    w = [1] * len(p) if w is None else w
    best, m = None, 2
    while m <= largest:
        value = max(loss(y, p, w, m, rounding), Fraction(1, m))
        best = value if best is None else min(best, value)
        if value > Fraction(1, m):
            return float(best)
        m *= 2
    raise AssertionError(f"not balanced up to m = {largest}")
