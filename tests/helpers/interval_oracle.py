"""The interval of a mean from its definition, draw by draw: the oracle of
`rainproof.inference.estimates`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t as student


def slow_interval(x, least, most, *, weights=None, groups=None, event=None, confidence_level=0.95):
    """The mean of a column whose values lie between two numbers, and the ends of its interval.

    Where groups have several rows their outcomes, `event`, tell whether enough groups have the
    rarer one.
    """
    weights = np.ones(len(x)) if weights is None else np.asarray(weights, float)
    clustered = groups is not None and len(np.unique(groups[weights > 0])) < np.count_nonzero(
        weights
    )
    groups = np.arange(len(x)) if groups is None else np.asarray(groups)
    share = weights / weights.sum()
    mean = float(share @ x)
    added = share * (np.asarray(x, float) - mean)
    draws = [groups == g for g in np.unique(groups)]
    sums = [added[some].sum() for some in draws]
    sizes = [share[some].sum() for some in draws]
    squares, row = sum(s**2 for s in sizes), sum(s**2 for s in share)
    left = squares - 2 * sum(s**3 for s in sizes) + squares**2
    if left <= 1e-12 * squares:
        return mean, least, most
    second, third, alone = (
        sum(u**2 for u in sums),
        sum(u**3 for u in sums),
        sum(u**2 for u in added),
    )
    case = (
        min(max(row * second / alone, row), squares)
        if alone > 1e-24 * row * (most - least) ** 2
        else squares
    )
    if clustered:
        seen = [[share[some & (event == y)].sum() for some in draws] for y in (0, 1)]
        effective = [sum(of) ** 2 / sum(s**2 for s in of) if sum(of) > 0 else 0.0 for of in seen]
        case = max(sizes) if min(effective) < 20 else case
    far = [(end - mean) * case for end in (least, most)]
    variance = second * squares / left + sum(f**2 for f in far) / 2
    moved = third + sum(f**3 for f in far) / 2
    q = student.ppf((1 + confidence_level) / 2, max(1 / squares - 1, 0.1))
    # The roots of d^2 = q^2 (variance + d third / variance)
    shift = q**2 * (moved / variance) / 2 if variance > 0 else 0.0
    half = math.sqrt(shift**2 + q**2 * variance)
    low, high = shift - half, shift + half
    if clustered:
        low, high = min(low, -q * math.sqrt(variance)), max(high, q * math.sqrt(variance))
    return mean, max(mean + low, least), min(mean + high, most)
