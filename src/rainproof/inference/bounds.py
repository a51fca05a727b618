"""Upper bounds on the expected loss in the population: the formulas, for plain numbers.

What a bound takes of a sample is in `rainproof.inference.bound_inputs`, lower bounds are in
`rainproof.inference.lower_bounds`. The proofs are in docs/theory/bounds.md. Notation: row i has
the share ``v_i`` of the weight, and ``g_i`` in [-1, 1] is the gain on it of the worst swap of the
worst task in the population; the loss in the population is the mean of g. Charged losses count
gains a little more and losses a little less, which pays for chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats
from rainproof.core.switch_curve import SwitchCurve
from rainproof.errors import InputError
from rainproof.inference.options import bisected

FACTORS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
"""The tilts of the mixture, over that of Hoeffding's bound, which is the best one if ``|g| = 1`` on
every row; the fewer rows have ``g != 0``, the larger the best tilt.
"""
PRIORS = np.array([4, 1, 1, 1, 1]) / 8
"""Their weights in the mixture: half is Hoeffding's, so no bound is above his at half the delta."""

ANYTIME_TILTS = 2.0 ** -np.arange(22)
"""Tilts per row where the number of rows is not fixed, so that none can depend on it; the smallest
is the best one for 10^13 rows.
"""
_ORDER = np.arange(22)
ANYTIME_PRIORS = 1 / ((_ORDER + 1.0) * (_ORDER + 2.0))
"""Their weights in the mixture, which add up to less than 1: the sum over all orders is 1."""

_TANH_GAP = 0.265  # not below the largest value of (x - tanh x) / x^2, which is 0.26498
_EQUAL = 1e-12  # relative difference of numbers of rows that only rounding of weights made
_FINE = 1e-12  # share of what is at stake: how far above its root a bound may end
_HALVINGS = 40  # of the search for a bound: 2^-40 is below `_FINE`
_NEWTON_STEPS = 100  # of the search for the mean gain on events; halving alone needs 41
_MAX_EVIDENCE = 30.0  # nats; beyond, where it may be infinite, a root is not interpolated from it


class GivenOutcomes(NamedTuple):
    """The outcomes of rows that were chosen by them; given the outcomes the rows are independent.

    With ``G_y`` the mean of g for outcome y in the population, its loss is ``r G_1 + (1 - r) G_0``,
    r the event rate, and the mean of ``exp(-tilt C)``, C the charged loss, is at most the product
    over outcomes of ``(1 - G_y tanh(tilt v_y))^(n_y)``, v_y the share of a row.
    """

    cases: Floats  # how many have each outcome: no event, event
    event_rate: float  # in the population

    @property
    def row_shares(self) -> Floats:
        """The share of the weight that a row of each outcome has."""
        rate = self.event_rate
        return np.array([1 - rate, rate]) / self.cases

    def charges(self, tilt: float) -> Floats:
        """Return the charge for chance per unit of share, by outcome."""
        scaled = tilt * self.row_shares
        return log_cosh(scaled) / scaled


class Charge(NamedTuple):
    """What is charged for chance on a gain or loss of one row."""

    rate: float
    by_square: bool  # per unit of squared share, and at most the share; else per unit of share


def hoeffding(plug_in: float, effective_n: float, delta: float) -> float:
    """Return ``CDL(S_m) + sqrt(2 ln(1/delta) / effective_n)``."""
    return min(1.0, plug_in + math.sqrt(2 * math.log(1 / delta) / effective_n))


def tilts(effective_n: float, delta: float) -> Floats:
    """Return the tilts of the adaptive bound: they depend on the number of rows only."""
    return FACTORS * np.sqrt(2 * np.log(1 / (PRIORS * delta)) * effective_n)


def pulls(tilt: Floats, n: float, effective_n: float) -> Floats:
    """``sum_i tanh(tilt v_i)`` for equal weights, else a bound from below."""
    if even(n, effective_n):
        return n * np.tanh(tilt / n)
    return np.maximum(tilt - _TANH_GAP * tilt**2 / effective_n, 0.0)


def charge_rate(n: float, effective_n: float, tilt: float) -> Charge:
    """Return the charge of each row, which is at least ``ln cosh(tilt v_i) / tilt``."""
    if even(n, effective_n):
        scaled = tilt / n
        return Charge(float(log_cosh(scaled)) / scaled, by_square=False)
    return Charge(tilt / 2, by_square=True)  # ln cosh x <= min(x^2 / 2, x)


def charged_switch(curve: SwitchCurve, n: float, effective_n: float, tilt: float) -> float:
    """The largest loss by a switch, with the charge for chance."""
    charge = charge_rate(n, effective_n, tilt)
    return 2 * curve.chord(charge.rate, by_square=charge.by_square).value


def log_cosh(x: ArrayLike) -> Floats:
    """``ln cosh x`` for x >= 0, without overflow and precise near 0."""
    x = np.asarray(x, np.float64)
    near = np.log1p(2 * np.sinh(np.minimum(x, 1.0) / 2) ** 2)  # cosh x = 1 + 2 sinh(x / 2)^2
    far = x + np.log1p(np.exp(-2 * x)) - math.log(2)
    return np.asarray(np.where(x < 1, near, far))


def even(n: float, effective_n: float) -> bool:
    """Whether all rows have the same weight, up to rounding."""
    return effective_n > n * (1 - _EQUAL)


def check_equal(n: float, effective_n: float) -> None:
    """Refuse unequal weights without a stated largest one, for which no bound at any time is
    proven.
    """
    if not even(n, effective_n):
        raise InputError(
            "anytime must be False where weights or sizes of groups differ (guarantee takes them "
            f"with max_weight): {n:,} draws count as {effective_n:,.1f} of equal weight"
        )


def upper_bound(
    charged_loss: Callable[[float], float],
    n: float,
    effective_n: float,
    delta: float,
    *,
    anytime: bool = False,
    outcomes: GivenOutcomes | None = None,
) -> float:
    """Return the smallest L such that a population with a larger loss gives such rows with
    probability at most delta.

    For each tilt ``exp(-tilt C) / (1 - L T / n)^n`` has mean at most 1 at the population's own loss
    L, with C the charged loss and T the sum of ``tanh(tilt v_i)``. So has their mixture, which
    therefore exceeds 1/delta with chance at most delta. Every upper bound of rainproof is this one.

    With `anytime`, for n equal draws, the tilt per draw does not depend on n, so that each factor
    of the mixture is a supermartingale in n, and the bound holds for every n at once. With
    `outcomes`, of a sample with a base rate, the tilts depend on the outcomes alone, which are
    given.
    """
    if anytime:
        tilt = np.asarray(n * ANYTIME_TILTS, np.float64)
        pull = n * np.tanh(ANYTIME_TILTS)
        priors = ANYTIME_PRIORS
    else:
        tilt = tilts(effective_n, delta)
        pull = pulls(tilt, n, effective_n)
        priors = PRIORS
    losses = np.array([charged_loss(value) for value in tilt.tolist()])
    paid = tilt * losses
    if outcomes is not None:
        return _upper_bound_given_outcomes(outcomes, paid, tilt, delta)
    return _upper_bound_of_paid(paid, pull, n, delta, priors)


def extremes(n: int, plug_in: float, delta: float) -> tuple[float, float]:
    """Return the smallest value of `upper_bound` for n equal rows, and the largest if CDL(S_m) is
    at most `plug_in`.

    The smallest is that of perfect predictions of 0 and 1. The largest is not above Hoeffding's
    bound at half the delta: gain and loss of a row are at most 1, so the rows pay at most ``n ln
    cosh(tilt / n)``.
    """
    tilt = tilts(n, delta)
    pull = pulls(tilt, n, n)
    most_paid = tilt * plug_in + n * log_cosh(tilt / n)
    smallest = _upper_bound_of_paid(0 * tilt, pull, n, delta)
    return smallest, _upper_bound_of_paid(most_paid, pull, n, delta)


def _upper_bound_of_paid(
    paid: Floats, pull: Floats, n: float, delta: float, priors: Floats = PRIORS
) -> float:
    """The smallest L in [0, 1] with ``sum of priors * exp(-paid - n ln(1 - L pull / n)) >=
    1/delta``; 1 if none has.
    """
    # so few that arrays would be slower
    terms: list[list[float]] = np.stack([paid, pull, priors], axis=1).tolist()

    def evidence(loss: float) -> float:
        """The logarithm of the mixture times delta."""
        power = [-cost - n * math.log1p(-loss * share / n) for cost, share, _ in terms]
        largest = max(power)  # so that no exponential overflows
        mean = sum(
            prior * math.exp(exponent - largest)
            for exponent, (_, _, prior) in zip(power, terms, strict=True)
        )
        return largest + math.log(mean) + math.log(delta)

    def is_excluded(loss: float) -> bool:
        return evidence(loss) >= 0

    largest = 1 - _FINE
    if not is_excluded(largest):
        return 1.0
    return bisected(is_excluded, 0.0, largest, _HALVINGS)


def _upper_bound_given_outcomes(
    outcomes: GivenOutcomes, paid: Floats, tilt: Floats, delta: float
) -> float:
    """The largest loss of all means ``G_0``, ``G_1`` in [-1, 1] for which the mixture does not
    exceed 1/delta.

    The mixture is convex in both, and at most 1 where both are 0, so of each loss the smallest
    mixture counts.
    """
    pull = np.tanh(tilt * outcomes.row_shares[:, None])
    mixture = _OutcomeMixture(outcomes, pull, np.log(PRIORS) - paid)

    def evidence(loss: float) -> float:
        return min(mixture.smallest(loss) + math.log(delta), _MAX_EVIDENCE)

    if evidence(1.0) <= 0:
        return 1.0
    from scipy.optimize import brentq  # which takes as long to import as a small assessment

    # The root is within `_FINE` of what is found, on either side; the bound must be above it.
    root = float(brentq(evidence, 0.0, 1.0, xtol=_FINE))
    return min(root + _FINE, 1.0)


class _MixturePoint(NamedTuple):
    """The logarithm of a mixture, and its derivatives in the mean gain on events."""

    log: float
    slope: float
    curvature: float


@dataclass(frozen=True, slots=True, eq=False)
class _OutcomeMixture:
    """The mixture of `upper_bound` for given outcomes, as a function of the loss and ``G_1``."""

    outcomes: GivenOutcomes
    pull: Floats  # tanh(tilt v_y), by outcome and tilt
    start: Floats  # logarithm of the prior, less what was paid, by tilt

    def smallest(self, loss: float) -> float:
        """Return the logarithm of the smallest mixture of all pairs of means with this loss.

        Newton's method, or an end that it points beyond, or half of the range that is left.
        """
        rate = self.outcomes.event_rate
        last = min(1.0, (loss + (1 - rate)) / rate)
        first = min(max(-1.0, (loss - (1 - rate)) / rate), last)
        low = first
        high = last
        mean = min(max(loss, first), last)
        untried_ends = {first, last}
        for _ in range(_NEWTON_STEPS):
            point = self._at(loss, mean)
            if point.log == math.inf:
                if mean not in (first, last) or high - low <= _FINE:
                    break
                mean = (low + high) / 2
                continue
            falls_beyond = (mean == first and point.slope > 0) or (mean == last and point.slope < 0)
            if falls_beyond or point.slope**2 <= _FINE * point.curvature or high - low <= _FINE:
                break
            if point.slope > 0:
                high = mean
            else:
                low = mean
            mean -= point.slope / point.curvature
            if not low < mean < high:
                end = low if mean <= low else high
                mean = end if end in untried_ends else (low + high) / 2
                untried_ends.discard(end)
        return point.log

    def _at(self, loss: float, mean_of_events: float) -> _MixturePoint:
        """The mixture where events gain so much on average, and other rows what the loss leaves."""
        cases, rate = self.outcomes
        mean_of_others = min((loss - rate * mean_of_events) / (1 - rate), 1.0)
        factor = 1 - np.array([[mean_of_others], [mean_of_events]]) * self.pull
        with np.errstate(divide="ignore"):
            power = self.start - cases @ np.log(factor)
        largest = float(power.max())
        if largest == math.inf:
            return _MixturePoint(largest, slope=math.nan, curvature=math.nan)
        share = np.exp(power - largest)
        total = share.sum()
        share /= total
        # The mean of other rows falls by the odds of an event where that of events rises by 1.
        by_outcome = (cases[:, None] * self.pull / factor) * [[-rate / (1 - rate)], [1.0]]
        by_tilt = by_outcome.sum(axis=0)
        slope = float(share @ by_tilt)
        squares = by_tilt**2 + (by_outcome**2 / cases[:, None]).sum(axis=0)
        curvature = float(share @ squares) - slope**2
        return _MixturePoint(largest + math.log(float(total)), slope, curvature)
