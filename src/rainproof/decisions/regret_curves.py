"""What acting on the predictions costs at each threshold, and the decision that loses most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.cells import check_grid
from rainproof.core.curve import Chord, SwapCurve, Swaps
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.text import rows
from rainproof.core.validation import ThresholdRange, check_range
from rainproof.decisions.tasks import FiniteTask, decision_with
from rainproof.decisions.values import in_true_positives

_LOSS_ROUNDING = 1e-15  # share of what is at stake: losses up to this are rounding error


class WorstThreshold(NamedTuple):
    """The highest point of a regret curve."""

    threshold: float
    regret: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class RegretCurve(Result):
    """The regret curve: the loss at every decision threshold. Call it with thresholds.

    Attributes
    ----------
    threshold, regret : ndarray
        The points of the curve, which is linear between them; at a jump the threshold occurs twice,
        with both values.
    worst : WorstThreshold
        ``worst.threshold`` and ``worst.regret``: the highest point of the curve (the first, if
        there are several).
    loss : float
        The largest loss of any decision, as a share of what is at stake: CDL for ``swaps="all"``.
    worst_task : FiniteTask or None
        The decision with this loss, with payoffs in [0, 1]; None if no decision loses anything (up
        to rounding).
    swaps : {"all", "monotone", "constant"}
        The changes of predictions that hindsight may make.
    grid : int or None
        The grid that predictions are rounded to; None if they are not rounded.
    threshold_range : ThresholdRange or None
        The decisions that all of this is about: those with thresholds from ``threshold_range.low``
        to ``threshold_range.high``; None if about every decision.
    n : int
        The number of rows.
    """

    _kind = "regret_curve"
    _shown = ("loss", "worst", "swaps", "grid", "threshold_range", "n")
    threshold: Floats
    regret: Floats
    worst: WorstThreshold
    loss: float
    worst_task: FiniteTask | None
    swaps: Swaps
    grid: int | None
    threshold_range: ThresholdRange | None
    n: int
    _curve: SwapCurve

    def __call__(self, threshold: ArrayLike) -> Any:
        """Return the regret at thresholds in [0, 1], or in the range; at a jump, the larger one."""
        return self._curve(threshold)[()]

    @property
    def net_benefit(self) -> Floats:
        """The net benefit lost at each threshold mu: ``regret / (1 - mu)``, the units of decision
        curves.

        Decision curve analysis counts in true positives per row; a false positive costs the odds
        ``mu / (1 - mu)``. At mu = 1 it is the limit from the left, infinite if the regret is not 0.
        """
        return in_true_positives(self.regret, self.threshold)

    def __str__(self) -> str:
        decision = "No decision"
        if self.threshold_range is not None:
            decision = f"No decision {self.threshold_range}"
        loss = "anything"
        if self.worst_task is not None:
            loss = f"more than {self.loss:.2%} of what is at stake"
        grid = "" if self.grid is None else f" rounded to 1/{self.grid}"
        summary = (
            f"{decision} loses {loss} by acting on these predictions{grid} "
            f"({rows(self.n)}, {self.swaps} swaps)."
        )
        if self.worst_task is None:
            return summary
        return f"{summary}\nLargest loss: {decision_with(self.worst_task.thresholds)}."


def regret_curve(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    grid: int | None = None,
    swaps: Swaps = "all",
    threshold_range: float | tuple[float, float] | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> RegretCurve:
    r"""Compute the loss of acting on the predictions at each decision threshold, and the decision
    that loses most.

    Whoever acts if the prediction is at least mu loses ``curve(mu)`` per row, where a false alarm
    costs mu and a miss 1 - mu, compared with the best swap of predictions in hindsight.
    ``curve.worst`` is the threshold with the largest loss, ``curve.worst_task`` the decision of any
    kind with the largest loss, and ``curve.loss`` this loss.

    Between 0 and 1; 0 is perfect.

    Explained in docs/guide/decisions.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    grid : int, optional
        A power of two m: round the predictions to multiples of 1/m at random, without bias, before
        acting on them (the paper's :math:`D_m`). Default: no rounding. If all predictions are
        distinct, hindsight then knows the outcome of each, and the curve is high even for a
        perfectly calibrated forecaster.
    swaps : {"all", "monotone", "constant"}
        The changes that hindsight may make: each distinct prediction on its own, all by one
        nondecreasing function, or all to one number.
    threshold_range : float or (float, float), optional
        The curve, and the largest loss, of decisions with one threshold, or whose thresholds all
        lie in this range, ends included. Default: of every decision.
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).

    Returns
    -------
    RegretCurve

    Notes
    -----
    With q the event rate at a distinct prediction p and h(p) its best replacement,

    .. math:: R(\mu) = \mathrm{E}[(y - \mu)(1\{h(p) > \mu\} - 1\{p > \mu\})]_+, \qquad
        \text{loss} = 2 \widehat R(\tfrac12),

    twice the concave envelope of R at 1/2 (see `calibration_decision_loss`). The chord of the
    envelope over 1/2, from :math:`\mu_a` to :math:`\mu_b` with :math:`l \mu_a + (1-l) \mu_b = 1/2`,
    is the worst task: payoffs without and with the event (1, 0) below :math:`\mu_a`, :math:`(1 - 2
    l \mu_a, 2 l (1 - \mu_a))` between, and (0, 1) from :math:`\mu_b` on. If one threshold alone is
    worst, there are two actions. Where the regret requires a prediction equal to a threshold to
    count as below it, the threshold of the task is the next double. With a `threshold_range`, R is
    set to 0 outside of it before the envelope is taken.

    O(n log n), or O(m) after one pass over the rows with a `grid`. A compressed sample gives the
    exact curve on each grid up to its own; without `grid`, all predictions of a cell count as
    equal.

    References
    ----------
    Hu, Wu (2024), arXiv:2404.13503 (thresholds suffice up to a factor 2). arXiv:2605.17749, Lemmas
    2.1 and 2.2.
    Vickers, Elkin (2006), "Decision curve analysis", doi:10.1177/0272989X06295361 (net benefit).

    Examples
    --------
    >>> import rainproof
    >>> curve = rainproof.regret_curve([1, 1, 0, 0], [0.2, 0.6, 0.6, 0.6])
    >>> curve
    RegretCurve(loss=0.55, worst=(0.6, 0.3), swaps='all', n=4)
    >>> print(curve)
    No decision loses more than 55.00% of what is at stake by acting on these predictions (4 rows,
    all swaps).
    Largest loss: a decision among 3 actions with thresholds 0.2 and 0.6.
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    within = check_range(threshold_range)
    if grid is None:
        curve = SwapCurve.from_table(sample.distinct(), swaps)
    else:
        grid = check_grid(grid, compressed=sample.grid)
        curve = sample.on_grid(grid).curve(swaps)
    curve = curve.restricted(within)
    points, regret = _outline(curve)
    threshold, left, right = curve.corners
    # At a jump the larger side counts: some decision has its threshold just there.
    larger_side = np.maximum(left, right)
    highest = int(larger_side.argmax())
    return RegretCurve(
        threshold=points,
        regret=regret,
        worst=WorstThreshold(float(threshold[highest]), float(larger_side[highest])),
        loss=curve.chord.loss,
        worst_task=worst_task(curve.chord),
        swaps=swaps,
        grid=grid,
        threshold_range=within,
        n=sample.n,
        _curve=curve,
    )


def _outline(curve: SwapCurve) -> tuple[Floats, Floats]:
    """Return the thresholds and regrets that a chart connects: both sides of each jump, and where a
    piece is cut off at 0.
    """
    edges, left, right = curve.breakpoints()
    # At 0 every row is acted on, whatever the forecast: a curve of all thresholds starts after it.
    skipped = 1 if curve.within is None else 0
    threshold = np.repeat(edges, 2)[skipped:-1]
    regret = np.stack([left, right], axis=1).ravel()[skipped:-1]
    if curve.swaps != "constant":
        return threshold, regret
    starts = edges[:-1]
    zero = _zeros_of_pieces(curve, starts)
    inside = (zero > starts) & (zero < edges[1:])
    place = 2 * np.flatnonzero(inside) + 2 - skipped
    return np.insert(threshold, place, zero[inside]), np.insert(regret, place, 0.0)


def _zeros_of_pieces(curve: SwapCurve, starts: Floats) -> Floats:
    """Return the threshold at which the line of each piece of the curve for constant swaps is 0.

    A piece is the positive part of ``events (1 - mu) - others mu``. Here events and others are the
    weights of the rows with and without the event that the best constant prediction acts on, minus
    those that the predictions act on.
    """
    table = curve.table
    first_above = np.searchsorted(table.prob, starts, "right")
    constant_acts = curve.recalibrated[0] > starts

    def excess(mass: Floats) -> Floats:
        """Return the mass that the constant acts on, minus that the predictions act on."""
        from_each_on = np.append(np.cumsum(mass[::-1])[::-1], 0.0)  # by prediction
        by_constant = np.where(constant_acts, from_each_on[0], 0.0)
        return np.asarray(by_constant - from_each_on[first_above])

    events = excess(table.positive)
    others = excess(table.negative)
    with np.errstate(divide="ignore", invalid="ignore"):  # a level line has no zero
        zero: Floats = events / (events + others)
    return zero


def worst_task(chord: Chord) -> FiniteTask | None:
    """Return the task that a chord stands for; if one end loses nothing or has no share, it has two
    actions.
    """
    if chord.value <= _LOSS_ROUNDING:
        return None
    # Payoffs without the event and with it. Each action is best on its side of the thresholds.
    below = (1.0, 0.0)
    between = (1 - 2 * chord.share * chord.mu_a, 2 * chord.share * (1 - chord.mu_a))
    above = (0.0, 1.0)
    threshold_a = _threshold_of_task(chord.mu_a, above=chord.above_a)
    threshold_b = _threshold_of_task(chord.mu_b, above=chord.above_b)
    loses_a = chord.share > 0 and chord.regret_a > 0
    loses_b = chord.share < 1 and chord.regret_b > 0
    if loses_a and loses_b:
        return FiniteTask(
            actions=("below", "between", "above"),
            payoffs=(below, between, above),
            order=(0, 1, 2),
            thresholds=(threshold_a, threshold_b),
        )
    payoffs = (between, above)
    threshold = threshold_b
    if loses_a:
        payoffs = (below, between)
        threshold = threshold_a
    return FiniteTask(
        actions=("below", "above"), payoffs=payoffs, order=(0, 1), thresholds=(threshold,)
    )


def _threshold_of_task(mu: float, *, above: bool) -> float:
    """Return the threshold of a task at which predictions of mu count as above mu, or below it."""
    if above:
        return mu
    # In a task ties go to the upper action: from the next double on, they do not.
    return math.nextafter(mu, 2.0)
