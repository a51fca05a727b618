r"""Swaps that need not be monotone: the largest loss when hindsight's correction may fall a few times.

The class :math:`K_r`: functions h such that, for each threshold, :math:`\{p : h(p) > \mu\}` is a union of at most r
intervals of predictions, of which one reaches up to 1. So h crosses no level downwards more than r - 1 times: r = 1 are
the nondecreasing functions, and r large enough is every function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.core.regret import RegretCurve, ends_of_chord
from rainproof.core.sample.distinct import DistinctTable
from rainproof.errors import InputError

_CLOSE = 1e-13  # of the envelope: what rounding adds to a sum of a million rows
_FORCE = 4.0  # more than all gains together


def check_count(value: int, name: str) -> int:
    """Check a number of intervals."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a positive integer; it is {value!r}")
    return int(value)


def best_set(gain: Floats, r: int) -> NDArray[np.bool_]:
    """Return the set of entries with the largest total gain that rises at most r times and falls at most r - 1 times.

    With W the prefix sums and F_k(t) the most that k closed intervals gain among the first t entries,
    ``F_k(t) = max_{s <= t} W(s) + max_{u <= s} (F_{k-1}(u) - W(u))``: r passes of running maxima, O(n r).
    """
    prefix = np.concatenate([[0.0], np.cumsum(gain)])
    most = [np.zeros(len(prefix))]
    while len(most) < r:
        step = np.maximum.accumulate(prefix + np.maximum.accumulate(most[-1] - prefix))
        if np.array_equal(step, most[-1]):  # more intervals gain nothing
            break
        most.append(step)
    chosen = np.zeros(len(gain), np.bool_)
    stop = len(gain)
    for k in range(len(most) - 1, -1, -1):
        if k < len(most) - 1:  # where the interval ends; the last one ends with the table
            stop = int(np.argmax((prefix + np.maximum.accumulate(most[k] - prefix))[: stop + 1]))
        start = int(np.argmax((most[k] - prefix)[: stop + 1]))
        chosen[start:stop] = True
        stop = start
    return chosen


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalLoss:
    """The largest regret of any task with payoffs in [0, 1] against swaps of the class K_r.

    Attributes
    ----------
    value : float
        An upper bound; the regret itself if it equals `attained`.
    attained : float
        The regret of one task against one swap of the class: a lower bound.
    """

    value: float
    attained: float


@dataclass(frozen=True, slots=True)
class _Curve:
    """The regret R_r(mu) = M(mu) - G(mu): M is the most that a set of the class gains, G what the predictions gain."""

    table: DistinctTable
    total: float
    r: int

    def gain(self, mu: float) -> Floats:
        """Return what acting at each distinct prediction gains over not acting."""
        gain: Floats = (self.table.positive * (1 - mu) - self.table.negative * mu) / self.total
        return gain

    def best(self, mu: float) -> NDArray[np.bool_]:
        """Return the best set for a threshold."""
        return best_set(self.gain(mu), self.r)

    def acting(self, mu: Floats) -> Floats:
        """Return G(mu) = E[(y - mu) 1{p > mu}], or its limit from the left if that is smaller."""
        p = self.table.prob
        events, others = (
            c.sum() - np.concatenate([[0.0], np.cumsum(c)]) for c in (self.table.positive, self.table.negative)
        )
        sides = (
            events[at] * (1 - mu) - others[at] * mu for at in (np.searchsorted(p, mu, s) for s in ("left", "right"))
        )
        smaller: Floats = np.minimum(*sides) / self.total
        return smaller

    def regret(self, mu: float, chosen: NDArray[np.bool_]) -> float:
        """Return what a set gains over the predictions; sums over the entries that differ, so that little cancels."""
        gain, p = self.gain(mu), self.table.prob
        sides = (gain[chosen & ~above].sum() - gain[above & ~chosen].sum() for above in (p > mu, p >= mu))
        return max(0.0, *map(float, sides))


def interval_loss(table: DistinctTable, r: int) -> IntervalLoss:
    """Compute the largest regret of any bounded task against swaps of the class K_r, or bounds on it.

    At one threshold the best set is found exactly (`best_set`), and as for other classes the largest regret over tasks
    is at most twice the concave envelope of the curve at 1/2. Two thresholds carry it. If the best set of the higher
    one is contained in that of the lower, one function of the class has both as its upper level sets, and the bound
    is attained. If not, `attained` is what remains when one set is chosen within the other.

    M is convex, so that its values at some thresholds bound it between them. The search evaluates it only where this
    bound carries the envelope, until the two ends of the chord are exact: some tens of sets, each O(n r).
    """
    loosest = RegretCurve.from_table(table).loss
    if 2 * r > len(table.prob):
        return IntervalLoss(value=loosest, attained=loosest)  # every set of entries has at most r intervals
    strictest = RegretCurve.from_table(table, "monotone").loss
    curve = _Curve(table, float(table.negative.sum() + table.positive.sum()), r)
    mu = np.concatenate([[0.0], table.prob, [1.0]])
    acting = curve.acting(mu)
    known = {0.0: float(table.positive.sum()) / curve.total, 1.0: 0.0}
    while True:
        at = sorted(known)
        bound = np.maximum(np.interp(mu, at, [known[x] for x in at]) - acting, 0.0)
        a, b, share = ends_of_chord(mu, bound)
        ends = float(mu[a]), float(mu[b])
        sets = [curve.best(x) for x in ends]
        exact = [curve.regret(x, chosen) for x, chosen in zip(ends, sets, strict=True)]
        gap = share * (bound[a] - exact[0]) + (1 - share) * (bound[b] - exact[1])
        if gap < _CLOSE or known.keys() >= set(ends):  # the second in case that rounding alone keeps a gap
            break
        known |= {x: max(0.0, float(curve.gain(x)[chosen].sum())) for x, chosen in zip(ends, sets, strict=True)}
    value = 2 * (share * exact[0] + (1 - share) * exact[1])
    attained = value if not (sets[1] & ~sets[0]).any() else 2 * _nested(curve, ends, share, sets, exact)
    value = min(max(value, strictest), loosest)  # which it leaves by rounding alone
    return IntervalLoss(value=value, attained=min(max(attained, strictest), value))


def _nested(
    curve: _Curve, ends: tuple[float, float], share: float, sets: list[NDArray[np.bool_]], exact: list[float]
) -> float:
    """Return the larger regret of two pairs of nested sets: each of the best sets, and the best that fits it."""
    within = best_set(np.where(sets[0], curve.gain(ends[1]), -_FORCE), curve.r)
    around = best_set(np.where(sets[1], _FORCE, curve.gain(ends[0])), curve.r)
    return max(
        share * exact[0] + (1 - share) * curve.regret(ends[1], within),
        share * curve.regret(ends[0], around) + (1 - share) * exact[1],
    )
