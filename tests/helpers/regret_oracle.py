"""The decision loss by linear programs and by enumeration, straight from what it means.

Nothing here knows of the concave envelope, of isotonic regression, or that a swap goes to a
frequency.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


def pooled(y, p, w=None):
    """The distinct predictions, increasing, with the share of weight of each and of its events."""
    w = np.ones(len(p)) if w is None else np.asarray(w, float)
    at = np.unique(np.asarray(p)[w > 0])
    weight = np.array([w[p == x].sum() for x in at]) / w.sum()
    events = np.array([w[(p == x) & (y == 1)].sum() for x in at]) / w.sum()
    return at, weight, events


def by_menus(y, p, w, swaps):
    """The largest regret over menus of actions with payoffs in [0, 1], and over swaps of the class:
    one LP.

    Each distinct prediction i has an action a_i that is a best response to it, among all actions;
    in hindsight it gets an action b_i of the same menu. Variables: the payoffs (U(., 0), U(., 1))
    of the a_i, then of the b_i. All swaps: the b_i are free. Monotone: a higher prediction gets an
    action at least as good for the event, that is, U(b, 1) - U(b, 0) does not fall. Constant: there
    is one b.
    """
    at, weight, events = pooled(y, p, w)
    k = len(at)
    targets = 1 if swaps == "constant" else k
    actions = k + targets
    gain = np.zeros((actions, 2))
    for i in range(k):
        mass = np.array([weight[i] - events[i], events[i]])
        gain[k + (0 if swaps == "constant" else i)] += mass
        gain[i] -= mass
    rows = []
    for i in range(k):
        for other in range(actions):
            if other != i:
                row = np.zeros((actions, 2))
                row[other], row[i] = (1 - at[i], at[i]), (at[i] - 1, -at[i])
                rows.append(row.ravel())
    if swaps == "monotone":
        for i in range(k - 1):
            row = np.zeros((actions, 2))
            row[k + i], row[k + i + 1] = (-1, 1), (1, -1)
            rows.append(row.ravel())
    return solve(gain.ravel(), np.array(rows), np.zeros(len(rows)), upper=1)


def by_thresholds(y, p, w, swaps):
    """The largest mixture of threshold regrets that a task with payoffs in [0, 1] can be: an LP
    over nu.

    Thresholds at the predictions, at the frequencies and on a grid, each with the larger of its
    regrets when predictions equal to it count as below and as above.
    """
    at, weight, events = pooled(y, p, w)
    mu = np.unique(np.concatenate([at, events / weight, np.linspace(0, 1, 21)]))
    regret = [
        max(threshold_regret(at, weight, events, x, above, swaps) for above in (False, True))
        for x in mu
    ]
    return solve(regret, np.array([1 - mu, mu]), np.ones(2), upper=None)


def threshold_regret(at, weight, events, mu, above, swaps):
    """What is lost by acting where p > mu (`above`: p >= mu), over all sets of predictions to act
    on instead.
    """
    gain = events - weight * mu  # of acting on each distinct prediction
    acted = at >= mu if above else at > mu
    if swaps == "all":
        best = sum(max(g, 0 * g) for g in gain)
    elif swaps == "monotone":
        best = max(sum(gain[cut:]) for cut in range(len(at) + 1))
    else:
        best = max(sum(gain), 0 * gain[0])
    return max(best - sum(g for g, act in zip(gain, acted, strict=True) if act), 0 * gain[0])


def solve(gain, rows, limits, upper):
    result = linprog(
        -np.asarray(gain),
        A_ub=rows if len(rows) else None,
        b_ub=limits if len(rows) else None,
        bounds=(0, upper),
        method="highs-ds",
    )
    assert result.success, result.message
    return -result.fun


def exact_pooled(y, p, w=None):
    """`pooled` in fractions."""
    w = [1] * len(p) if w is None else w
    total, table = sum(map(Fraction, map(float, w))), {}
    for yt, pt, wt in zip(y, p, w, strict=True):
        if wt:
            weight, events = table.get(Fraction(float(pt)), (Fraction(0), Fraction(0)))
            share = Fraction(float(wt)) / total
            table[Fraction(float(pt))] = weight + share, events + share * int(yt)
    at = sorted(table)
    return tuple(
        np.array(column, dtype=object)
        for column in (at, [table[x][0] for x in at], [table[x][1] for x in at])
    )


def exact_curve(at, weight, events, swaps):
    """The corners (mu, larger side of the regret) at 0, 1 and every prediction and frequency, in
    fractions.
    """
    places = {Fraction(0), Fraction(1), *at, *(events / weight)}
    regret = {
        mu: max(threshold_regret(at, weight, events, mu, above, swaps) for above in (False, True))
        for mu in places
    }
    return sorted(regret.items())


def exact_loss(at, weight, events, swaps):
    """Twice the highest of all chords over 1/2, in fractions: what the LP's vertices are."""
    half = Fraction(1, 2)
    corners = exact_curve(at, weight, events, swaps)
    best = max((value for mu, value in corners if mu == half), default=Fraction(0))
    for a, low in corners:
        for b, high in corners:
            if a < half < b:
                best = max(best, (low * (b - half) + high * (half - a)) / (b - a))
    return 2 * best
