"""The regret curve: the loss from acting on the predictions at each decision threshold, and the worst task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core._regret import bridge, limits, swapped
from rainproof.core.arrays import Floats, Frozen, freeze
from rainproof.core.grid.rounded import RoundedSample
from rainproof.core.input.rows import as_numbers, check_probabilities
from rainproof.core.isotonic import isotonic
from rainproof.core.sample.distinct import DistinctTable
from rainproof.errors import InputError

Swaps = Literal["all", "monotone", "constant"]


def check_swaps(swaps: str) -> None:
    """Check the name of a class of swaps."""
    if swaps not in ("all", "monotone", "constant"):
        raise InputError(f"swaps must be 'all', 'monotone' or 'constant'; it is {swaps!r}")


def recalibrate(table: DistinctTable, swaps: Swaps) -> Floats:
    """Return the best recalibration h(p) of each distinct prediction within a class of swaps.

    It is the event rate of each prediction (all swaps), the isotonic regression of the outcome on the
    prediction (monotone swaps), or the overall event rate (constant swaps). Each is optimal in its class for
    every threshold.
    """
    check_swaps(swaps)
    if swaps == "all":
        return table.positive / (table.positive + table.negative)
    if swaps == "monotone":
        return isotonic(table)
    events = float(table.positive.sum())
    return np.full(len(table.prob), events / (events + float(table.negative.sum())))


@dataclass(frozen=True, slots=True, eq=False)
class CurvePoints:
    """The curve at increasing thresholds: its limits from the left and from the right (its value)."""

    mu: Floats
    left: Floats
    right: Floats

    def __post_init__(self) -> None:
        freeze(self.mu, self.left, self.right)

    @property
    def value(self) -> Floats:
        """The larger limit: the supremum over thresholds arbitrarily close by."""
        return np.maximum(self.left, self.right)


@dataclass(frozen=True, kw_only=True, slots=True)
class Chord:
    """The edge over 1/2 of the curve's concave envelope: the mixture of two thresholds with the largest regret.

    Attributes
    ----------
    mu_a, mu_b : float
        The thresholds, ``mu_a <= 1/2 <= mu_b``; both are 1/2 if that one alone is the worst.
    share : float
        The weight of `mu_a` in the mixture: ``share * mu_a + (1 - share) * mu_b = 1/2``.
    regret_a, regret_b : float
        The larger limit of the curve at each.
    above_a, above_b : bool
        Whether the larger limit is the one from the left, where a prediction equal to the threshold counts
        as above it.
    """

    mu_a: float
    mu_b: float
    share: float
    regret_a: float
    regret_b: float
    above_a: bool
    above_b: bool

    @property
    def value(self) -> float:
        """The concave envelope at 1/2: half the largest regret over all tasks with payoffs in [0, 1]."""
        return self.share * self.regret_a + (1 - self.share) * self.regret_b


def ends_of_chord(mu: Floats, value: Floats) -> tuple[int, int, float]:
    """Return where the edge over 1/2 of a curve's concave envelope begins and ends, and the weight of its beginning."""
    a, b = bridge(mu, value)
    return a, b, _share(float(mu[a]), float(mu[b]))


def _share(mu_a: float, mu_b: float) -> float:
    """The weight of the first of two thresholds in a mixture with mean 1/2."""
    return 1.0 if mu_a == mu_b else (mu_b - 0.5) / (mu_b - mu_a)


@dataclass(frozen=True, eq=False)  # without slots: what is computed once is kept on the curve
class RegretCurve(Frozen):
    r"""The expected loss of acting on ``p`` instead of ``h(p)``, as a function of the decision threshold ``mu``.

    .. math:: R(\mu) = \mathrm{E}[(y - \mu) (1\{h(p) > \mu\} - 1\{p > \mu\})]_+

    A distinct prediction of weight P and event rate q adds ``P (q - mu)`` for ``p <= mu < h``, or
    ``P (mu - q)`` for ``h <= mu < p``. The curve is piecewise linear, with kinks and jumps at the p and the h,
    and continuous from the right. Between two neighbouring p it is convex, as the largest of the linear
    functions that the swaps of the class give, so it can touch its concave envelope only at the p, at 0 and
    at 1.

    Every task with payoffs in [0, 1] is a mixture ``nu`` of thresholds with ``int (1 - mu) dnu <= 1`` and
    ``int mu dnu <= 1``, and its regret is ``int R dnu``. The dual of this linear program is twice the value at
    1/2 of the lowest line above R, which is twice the concave envelope. There are two constraints, so two
    thresholds suffice; `chord` finds them.
    """

    table: DistinctTable
    recalibrated: Floats
    swaps: Swaps
    total: float

    def __post_init__(self) -> None:
        freeze(self.recalibrated)

    @classmethod
    def from_table(cls, table: DistinctTable, swaps: Swaps = "all") -> RegretCurve:
        """Make the curve of a sample."""
        recalibrated = recalibrate(table, swaps)
        total = float(table.negative.sum()) + float(table.positive.sum())
        return cls(table=table, recalibrated=recalibrated, swaps=swaps, total=total)

    @classmethod
    def from_rounded(cls, rounded: RoundedSample, swaps: Swaps = "all") -> RegretCurve:
        """Make the curve of the sample with its predictions rounded to a grid (D_m, if softly)."""
        some = rounded.weight > 0
        weight, positive = rounded.weight[some], rounded.positive[some]
        negative = np.maximum(weight - positive, 0.0)  # the two sums are rounded separately
        return cls.from_table(DistinctTable(rounded.index[some] / rounded.m, negative, positive), swaps)

    def points(self, mu: ArrayLike) -> CurvePoints:
        """Evaluate both limits of the curve at the distinct thresholds, in increasing order."""
        return self._sweep(np.unique(check_probabilities(mu, "threshold")))

    def __call__(self, mu: ArrayLike) -> Floats:
        """Evaluate the larger limit of the curve at thresholds in [0, 1], in any order and shape."""
        points = self.points(mu)
        value: Floats = points.value[np.searchsorted(points.mu, as_numbers(mu, "threshold"))]
        return value

    @cached_property
    def corners(self) -> CurvePoints:
        """The curve at 0, 1 and each distinct prediction, where it can touch its envelope or be largest."""
        return self._sweep(self._corners())

    def _corners(self) -> Floats:
        return np.concatenate([[0.0], self.table.prob, [1.0]])

    def breakpoints(self) -> CurvePoints:
        """Evaluate the curve at every p and h: between two of them it is the line from `right` to `left`.

        Except for constant swaps, where the line may be negative at one end and the curve is 0 there.
        """
        return self._sweep(np.unique(np.concatenate([[0.0, 1.0], self.table.prob, self.recalibrated])))

    def regret(self, mu: float, *, above: bool = False) -> float:
        """Evaluate the curve at one threshold by its definition; `above` asks for the limit from the left.

        The gains of swaps up and of swaps down are summed separately. Neither can be negative, so no large
        numbers cancel, and a swap of a prediction to itself adds exactly 0.
        """
        table, h = self.table, self.recalibrated
        below = int(np.searchsorted(table.prob, mu, "left" if above else "right"))
        up_events, up_others, down_events, down_others = swapped(table.negative, table.positive, h, below, mu, above)
        gain_up, gain_down = up_events * (1 - mu) - up_others * mu, down_others * mu - down_events * (1 - mu)
        return (max(0.0, gain_up) + max(0.0, gain_down)) / self.total

    def _sweep(self, mu: Floats) -> CurvePoints:
        """Evaluate the curve at increasing thresholds, ties allowed."""
        table = self.table
        left, right = limits(table.prob, table.negative, table.positive, self.recalibrated, mu, self.total)
        return CurvePoints(mu, left, right)

    @property
    def loss(self) -> float:
        """The largest regret of any task with payoffs in [0, 1]: twice the concave envelope at 1/2."""
        return min(2 * self.chord.value, 1.0)  # which it exceeds by rounding alone

    @cached_property
    def chord(self) -> Chord:
        """The concave envelope at 1/2: twice its value is the CDL, its two ends define the worst task."""
        points = self._sweep(self._corners())
        a, b = bridge(points.mu, points.value)
        above_a, above_b = (bool(points.left[k] > points.right[k]) for k in (a, b))
        mu_a, mu_b = float(points.mu[a]), float(points.mu[b])
        return Chord(
            mu_a=mu_a,
            mu_b=mu_b,
            share=_share(mu_a, mu_b),
            regret_a=self.regret(mu_a, above=above_a),
            regret_b=self.regret(mu_b, above=above_b),
            above_a=above_a,
            above_b=above_b,
        )
