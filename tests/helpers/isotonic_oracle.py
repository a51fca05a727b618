"""Isotonic regression the slow way, in exact fractions: shared by the tests of all that rests on
it.
"""

from __future__ import annotations

import itertools
from fractions import Fraction


def best_partition(negative, positive):
    """Try every way to cut the entries into runs that share a value: the best is the isotonic fit.

    On its level sets the fit is the mean of its run, so it is among those with increasing means.
    """
    zeros, ones = list(map(Fraction, negative)), list(map(Fraction, positive))
    best, fit = None, None
    for cuts in itertools.product([False, True], repeat=len(zeros) - 1):
        edges = [0, *(k + 1 for k, cut in enumerate(cuts) if cut), len(zeros)]
        runs = [(sum(zeros[a:b]), sum(ones[a:b]), b - a) for a, b in itertools.pairwise(edges)]
        means = [one / (zero + one) for zero, one, _ in runs]
        if any(a >= b for a, b in itertools.pairwise(means)):
            continue
        loss = sum(
            zero * h**2 + one * (1 - h) ** 2 for (zero, one, _), h in zip(runs, means, strict=True)
        )
        if best is None or loss < best:
            best, fit = (
                loss,
                [h for (_, _, size), h in zip(runs, means, strict=True) for _ in range(size)],
            )
    return fit


def max_min(negative, positive):
    """The same by a formula: over starts the highest, over ends the lowest mean of a run with the
    entry.
    """
    zeros = [Fraction(0), *itertools.accumulate(map(Fraction, negative))]
    ones = [Fraction(0), *itertools.accumulate(map(Fraction, positive))]
    size = len(negative)
    fit = [Fraction(0)] * size
    for a in range(size):
        lowest = Fraction(2)
        for k in range(size - 1, a - 1, -1):  # the lowest mean of runs from a to k or further
            events = ones[k + 1] - ones[a]
            lowest = min(lowest, events / (events + zeros[k + 1] - zeros[a]))
            fit[k] = max(fit[k], lowest)
    return fit


def row_fit(y, p, w):
    """The fit for each row, equal predictions in one group; None for rows without weight."""
    groups = {}
    for yt, pt, wt in zip(y, p, w, strict=True):
        if wt:
            groups.setdefault(pt, [Fraction(0), Fraction(0)])[int(yt)] += Fraction(wt)
    at = sorted(groups)
    fit = dict(zip(at, max_min(*zip(*(groups[x] for x in at), strict=True)), strict=True))
    return [fit[pt] if wt else None for pt, wt in zip(p, w, strict=True)]
