r"""The curve of losses over decision thresholds, its envelope, and the decision that loses most.

What decisions lose at each threshold by acting on one forecast, a, in place of another, b, is

.. math:: D(\mu) = \mathrm{E}[(y - \mu)(1\{b > \mu\} - 1\{a > \mu\})],

where a false alarm costs mu and a miss 1 - mu. Every task with payoffs in [0, 1] is a mixture
``nu`` of thresholds with ``int (1 - mu) dnu <= 1`` and ``int mu dnu <= 1``, and its loss is ``int D
dnu``. The dual of this linear program is twice the value at 1/2 of the lowest line above D and 0,
which is twice their concave envelope. There are two constraints, so two thresholds suffice: a
`Chord` has them. Tasks whose thresholds lie in a range are the mixtures of these thresholds alone:
the same with D set to 0 outside the range.

A kind of curve is a class that evaluates it fast: `SwapCurve` if b is a function of a, such as the
event rate of each prediction, `SwitchCurve` for any two forecasts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core._fixed_loss import worst_threshold
from rainproof.core._isotonic import pool_violators
from rainproof.core._regret import bridge, limits, swapped
from rainproof.core.arrays import Floats, Frozen, Ints
from rainproof.core.conversion import as_numbers
from rainproof.core.distinct import DistinctTable
from rainproof.core.validation import ThresholdRange, check_probabilities
from rainproof.errors import InputError

_ABOVE_0 = np.nextafter(0.0, 1.0)
_BELOW_1 = np.nextafter(1.0, 0.0)


def isotonic(table: DistinctTable) -> Floats:
    r"""Compute the isotonic regression of the outcome on the prediction.

    It is the non-decreasing :math:`h` with the smallest :math:`E (h(p) - y)^2`. The same :math:`h`
    is optimal for every proper score and for every threshold.

    Parameters
    ----------
    table : DistinctTable
        Distinct predictions in increasing order, with their weight by outcome.

    Returns
    -------
    ndarray of shape (k,)
        :math:`h` at each entry of the table: non-decreasing, 0 only in blocks without events and 1
        only in blocks of events, for any weights.

    Notes
    -----
    O(k) by pooling adjacent violators. Unlike SciPy's, this kernel pools sums by outcome rather
    than means: counts stay integers, and a weight of the rarer outcome that is too small to change
    the mean is not lost.

    References
    ----------
    Ayer, Brunk, Ewing, Reid, Silverman (1955), doi:10.1214/aoms/1177728423 (the algorithm).
    Brümmer, du Preez (2013), arXiv:1304.2331 (one solution for all proper scores).
    """
    size, negative, positive = pool_violators(table.negative, table.positive)
    return np.repeat(_with_frequencies(negative, positive).prob, size)


def isotonic_blocks(table: DistinctTable) -> DistinctTable:
    """Pool the entries on which `isotonic` is level: one entry each, at the mean prediction."""
    size, negative, positive = pool_violators(table.negative, table.positive)
    first = np.cumsum(size) - size  # of the entries of each block
    predicted = np.add.reduceat(table.prob * (table.negative + table.positive), first)
    return DistinctTable(predicted / (negative + positive), negative, positive)


def recalibrated(table: DistinctTable) -> DistinctTable:
    """Replace the predictions by `isotonic` of them: one entry for each distinct value."""
    _, negative, positive = pool_violators(table.negative, table.positive)
    return _with_frequencies(negative, positive)


def merged(table: DistinctTable) -> DistinctTable:
    """Replace all predictions by the event rate: one entry."""
    return _with_frequencies(table.negative.sum(keepdims=True), table.positive.sum(keepdims=True))


def _with_frequencies(negative: Floats, positive: Floats) -> DistinctTable:
    """Return entries that predict their own event rate: 0 only without events, 1 only without
    non-events.

    A quotient that rounds to 0 or 1 although both outcomes occur is moved to the next double.
    """
    low = np.where(positive > 0, _ABOVE_0, 0.0)
    high = np.where(negative > 0, _BELOW_1, 1.0)
    prob = np.clip(positive / (negative + positive), low, high)
    return DistinctTable(prob, negative, positive)


Swaps = Literal["all", "monotone", "constant"]


def check_swaps(swaps: str) -> None:
    """Check the name of a class of swaps."""
    if swaps not in ("all", "monotone", "constant"):
        raise InputError(f"swaps must be 'all', 'monotone' or 'constant'; it is {swaps!r}")


def recalibrate(table: DistinctTable, swaps: Swaps) -> Floats:
    """Return the best recalibration h(p) of each distinct prediction within a class of swaps.

    It is the event rate of each prediction (all swaps), the isotonic regression of the outcome on
    the prediction (monotone swaps), or the overall event rate (constant swaps). Each is optimal in
    its class for every threshold.
    """
    check_swaps(swaps)
    if swaps == "all":
        return table.positive / (table.positive + table.negative)
    if swaps == "monotone":
        return isotonic(table)
    return np.full(len(table.prob), float(table.positive.sum()) / table.total)


Points = tuple[Floats, Floats, Floats]
"""Increasing thresholds, and the limits of a curve there from the left and from the right (its
value).
"""


def corners(prob: Floats, within: ThresholdRange | None) -> Floats:
    """Return where a curve that is convex between the predictions can touch its envelope: there,
    and at the ends.
    """
    if within is None:
        return np.concatenate([[0.0], prob, [1.0]])  # with predictions of 0 or 1 twice: no harm
    low, high = within
    inside = prob[np.searchsorted(prob, low, "right") : np.searchsorted(prob, high)]
    # a single threshold is both ends, and one corner
    ends = [high, 1.0] if low < high else [1.0]
    return np.concatenate([[0.0, low], inside, ends])


def cut(points: Points, within: ThresholdRange | None) -> Points:
    """Set a curve to 0 outside a range: whoever has its end as the threshold acts on predictions
    from there on.
    """
    if within is None:
        return points
    mu, left, right = points
    inside = (mu >= within.low) & (mu <= within.high)
    # to the right of the upper end the curve is 0 already
    left = np.where(inside, left, 0.0)
    right = np.where(inside & (mu < within.high), right, 0.0)
    return mu, left, right


@dataclass(frozen=True, kw_only=True, slots=True)
class Chord:
    """The edge over 1/2 of the curve's concave envelope: the mixture of two thresholds with the
    largest regret.

    Attributes
    ----------
    mu_a, mu_b : float
        The thresholds, ``mu_a <= 1/2 <= mu_b``; both are 1/2 if that one alone is the worst.
    share : float
        The weight of `mu_a` in the mixture: ``share * mu_a + (1 - share) * mu_b = 1/2``.
    regret_a, regret_b : float
        The larger limit of the curve at each.
    above_a, above_b : bool
        Whether the larger limit is the one from the left, where a prediction equal to the threshold
        counts as above it.
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
        """The concave envelope at 1/2: half the largest regret over all tasks with payoffs in [0,
        1].
        """
        return self.share * self.regret_a + (1 - self.share) * self.regret_b

    @property
    def loss(self) -> float:
        """The largest loss of a task with payoffs in [0, 1]: twice the concave envelope at 1/2."""
        return min(2 * self.value, 1.0)  # which it exceeds by rounding alone


def envelope(mu: Floats, value: Floats, above: Callable[[int], bool] = lambda _: True) -> Chord:
    """Return the edge over 1/2 of the concave envelope of a curve: the decision task with the
    largest loss.

    `value` has the larger limit of the curve at increasing thresholds, and `above` says for each
    place whether that is the one from the left.
    """
    a, b = bridge(mu, value)
    mu_a = float(mu[a])
    mu_b = float(mu[b])
    share = 1.0  # 1/2 alone is the worst
    if mu_a < mu_b:
        share = (mu_b - 0.5) / (mu_b - mu_a)
    return Chord(
        mu_a=mu_a,
        mu_b=mu_b,
        share=share,
        regret_a=float(value[a]),
        regret_b=float(value[b]),
        above_a=above(a),
        above_b=above(b),
    )


@dataclass(frozen=True, eq=False)  # without slots: what is computed once is kept on the curve
class SwapCurve(Frozen):
    r"""The expected loss of acting on ``p`` instead of ``h(p)``, as a function of the decision
    threshold ``mu``.

    .. math:: R(\mu) = \mathrm{E}[(y - \mu) (1\{h(p) > \mu\} - 1\{p > \mu\})]_+

    A distinct prediction of weight P and event rate q adds ``P (q - mu)`` for ``p <= mu < h``, or
    ``P (mu - q)`` for ``h <= mu < p``. The curve is piecewise linear, with kinks and jumps at the p
    and the h, and continuous from the right. Between two neighbouring p it is convex, as the
    largest of the linear functions that the swaps of the class give, so it can touch its concave
    envelope only at the p, at 0 and at 1, and at the ends of the range that it is restricted to.
    """

    table: DistinctTable
    recalibrated: Floats
    swaps: Swaps
    total: float
    within: ThresholdRange | None = None

    @classmethod
    def from_table(cls, table: DistinctTable, swaps: Swaps = "all") -> SwapCurve:
        """Make the curve of a sample."""
        return cls(table, recalibrate(table, swaps), swaps, table.total)

    def restricted(self, within: ThresholdRange | None) -> SwapCurve:
        """The curve of decisions with a threshold in the range."""
        return self if within is None else replace(self, within=within)

    def points(self, mu: ArrayLike) -> Points:
        """Evaluate both limits of the curve at the distinct thresholds, in increasing order."""
        return self._limits(np.unique(check_probabilities(mu, "threshold", self.within)))

    def __call__(self, mu: ArrayLike) -> Floats:
        """Evaluate the larger limit of the curve at thresholds in its range, in any order and
        shape.
        """
        thresholds, left, right = self.points(mu)
        places = np.searchsorted(thresholds, as_numbers(mu, "threshold"))
        value: Floats = np.maximum(left, right)[places]
        return value

    @cached_property
    def corners(self) -> Points:
        """The curve at 0, 1, each distinct prediction and the ends of its range, where it can touch
        its envelope.
        """
        return self._limits(corners(self.table.prob, self.within))

    def breakpoints(self) -> Points:
        """Evaluate the curve at every p and h of its range: between two of them it is a line from
        `right` to `left`.

        Except for constant swaps, where the line may be negative at one end and the curve is 0
        there.
        """
        low, high = self.within or (0.0, 1.0)
        mu = np.unique(np.concatenate([[low, high], self.table.prob, self.recalibrated]))
        return self._limits(mu[(mu >= low) & (mu <= high)])

    def regret(self, mu: float, *, above: bool = False) -> float:
        """Evaluate the curve at one threshold by its definition; `above` asks for the limit from
        the left.

        The gains of swaps up and of swaps down are summed separately. Neither can be negative, so
        no large numbers cancel, and a swap of a prediction to itself adds exactly 0.
        """
        table = self.table
        # predictions before this place do not act
        below = int(np.searchsorted(table.prob, mu, "left" if above else "right"))
        up_events, up_others, down_events, down_others = swapped(
            table.negative, table.positive, self.recalibrated, below, mu, above
        )
        gain_up = up_events * (1 - mu) - up_others * mu
        gain_down = down_others * mu - down_events * (1 - mu)
        return (max(0.0, gain_up) + max(0.0, gain_down)) / self.total

    def _limits(self, mu: Floats) -> Points:
        """Evaluate the curve at increasing thresholds, ties allowed."""
        table = self.table
        left, right = limits(
            table.prob, table.negative, table.positive, self.recalibrated, mu, self.total
        )
        return cut((mu, left, right), self.within)

    @cached_property
    def chord(self) -> Chord:
        """The concave envelope at 1/2, with the regret at its ends evaluated by definition."""
        # the corners are summed from one end to the other, which is quick, and rounds more
        mu, left, right = self.corners
        chord = envelope(mu, np.maximum(left, right), lambda k: bool(left[k] > right[k]))
        low, high = self.within or (0.0, 1.0)

        def regret(threshold: float, above: bool) -> float:
            inside = low <= threshold <= high
            return self.regret(threshold, above=above) if inside else 0.0

        return replace(
            chord,
            regret_a=regret(chord.mu_a, chord.above_a),
            regret_b=regret(chord.mu_b, chord.above_b),
        )


@dataclass(frozen=True, eq=False)
class RoundedSample(Frozen):
    """The occupied points ``j/m`` of a grid: the weight rounded to each, and the weight of events.

    ``weight / total`` is the paper's ``pi_j`` and ``positive / weight`` its ``q_j``; sums are kept,
    not ratios, so that an empty bin needs no special case. `total` is the weight of all rows. Each
    loss is computed once, when it is first asked for.
    """

    m: int
    index: Ints
    weight: Floats
    positive: Floats
    total: float
    _curves: dict[Swaps, SwapCurve] = field(default_factory=dict, repr=False)

    @cached_property
    def worst(self) -> tuple[float, int]:
        """The largest sum over the rows that a threshold ``i/m`` loses, and the first such i:
        SCDL_m times `total`.
        """
        return worst_threshold(self.index, self.weight, self.positive, self.m)

    @property
    def bound(self) -> float:
        """The paper's bound on `loss`: ``2 SCDL_m + 2/m``, at most 1 (Theorem 4.2)."""
        return min(2 * self.worst[0] / self.total + 2 / self.m, 1.0)

    def curve(self, swaps: Swaps = "all") -> SwapCurve:
        """Return the regret curve of the rounded predictions: that of D_m, if rounding is soft."""
        if swaps not in self._curves:
            occupied = self.weight > 0
            positive = self.positive[occupied]
            # the two sums are rounded separately
            negative = np.maximum(self.weight[occupied] - positive, 0.0)
            table = DistinctTable(self.index[occupied] / self.m, negative, positive)
            self._curves[swaps] = SwapCurve.from_table(table, swaps)
        return self._curves[swaps]

    @property
    def loss(self) -> float:
        """CDL(S_m): the largest share of what is at stake that any decision loses on the rounded
        predictions.
        """
        return self.curve().chord.loss


def flagged(
    table: DistinctTable, threshold: Floats, *, ties: bool = True
) -> tuple[Floats, Floats, Floats, Floats]:
    """Act on predictions above thresholds, and with `ties` on those equal to them.

    Returns shares of the weight: true positives, false positives, false negatives and true
    negatives.
    """
    total = table.total
    first_flagged = np.searchsorted(table.prob, threshold, "left" if ties else "right")
    true_positives = _sums_from(table.positive)[first_flagged] / total
    false_positives = _sums_from(table.negative)[first_flagged] / total
    false_negatives = _sums_below(table.positive)[first_flagged] / total
    true_negatives = _sums_below(table.negative)[first_flagged] / total
    return true_positives, false_positives, false_negatives, true_negatives


def _sums_below(mass: Floats) -> Floats:
    """Add up what is before each entry, and before the end."""
    sums = np.zeros(len(mass) + 1)
    np.cumsum(mass, out=sums[1:])
    return sums


def _sums_from(mass: Floats) -> Floats:
    """Add up each entry and what is after it; 0 at the end."""
    return _sums_below(mass[::-1])[::-1]
