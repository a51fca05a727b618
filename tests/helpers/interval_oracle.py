"""The interval of a mean from its definition, draw by draw: the oracle of `rainproof.inference.estimates`."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t as student


def slow_interval(x, least, most, *, weights=None, groups=None, confidence_level=0.95):
    """The mean of a column whose values lie between two numbers, and the ends of its interval."""
    weights = np.ones(len(x)) if weights is None else np.asarray(weights, float)
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
    second, third, alone = sum(u**2 for u in sums), sum(u**3 for u in sums), sum(u**2 for u in added)
    case = min(max(row * second / alone, row), squares) if alone > 1e-24 * row * (most - least) ** 2 else squares
    far = [(end - mean) * case for end in (least, most)]
    variance = second * squares / left + sum(f**2 for f in far) / 2
    moved = third + sum(f**3 for f in far) / 2
    q = student.ppf((1 + confidence_level) / 2, max(1 / squares - 1, 0.1))
    # The roots of d^2 = q^2 (variance + d third / variance)
    shift = q**2 * (moved / variance) / 2 if variance > 0 else 0.0
    half = math.sqrt(shift**2 + q**2 * variance)
    return mean, max(mean + shift - half, least), min(mean + shift + half, most)
