"""Calibration Decision Loss (CDL) and the U-calibration error: the largest regret of any bounded decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.core.curve import SwapCurve, Swaps, envelope
from rainproof.core.distinct import DistinctTable
from rainproof.core.sample import Sample, as_sample
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
    loosest = SwapCurve.from_table(table).loss
    if 2 * r > len(table.prob):
        return IntervalLoss(value=loosest, attained=loosest)  # every set of entries has at most r intervals
    strictest = SwapCurve.from_table(table, "monotone").loss
    curve = _Curve(table, float(table.negative.sum() + table.positive.sum()), r)
    mu = np.concatenate([[0.0], table.prob, [1.0]])
    acting = curve.acting(mu)
    known = {0.0: float(table.positive.sum()) / curve.total, 1.0: 0.0}
    while True:
        at = sorted(known)
        bound = np.maximum(np.interp(mu, at, [known[x] for x in at]) - acting, 0.0)
        chord = envelope(mu, bound)
        share, ends = chord.share, (chord.mu_a, chord.mu_b)
        sets = [curve.best(x) for x in ends]
        exact = [curve.regret(x, chosen) for x, chosen in zip(ends, sets, strict=True)]
        gap = chord.value - share * exact[0] - (1 - share) * exact[1]
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


def calibration_decision_loss(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    swaps: Swaps | int = "all",
) -> float:
    r"""Compute the Calibration Decision Loss (CDL): the largest loss of any decision on these rows.

    The decision maker takes the action that is best if the predictions are right. In hindsight, replacing each
    distinct prediction by another number would have led to better actions. CDL is how much better, as a share of what
    is at stake, for the decision with the largest gain. It describes these rows only: where every prediction is
    distinct, hindsight knows the outcome of each, so CDL of a perfectly calibrated forecaster stays far from 0 at
    every sample size. To learn about new rows use `soft_binned_cdl`, or fewer swaps here.

    Between 0 and 1; 0 is perfect.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    swaps : {"all", "monotone", "constant"} or int
        How hindsight may change the predictions: each distinct one to a number of its own (CDL as in the paper), all
        by one nondecreasing function, or all to one number (`u_calibration_error`). Each class contains the next, so
        the loss decreases in this order. A number r is between the first two: all by one function that falls
        through no level more than r - 1 times (1 is "monotone"). For fixed r the value can be estimated from a sample.

    Returns
    -------
    float
        CDL of the sample, exact up to rounding. For a number of `swaps` it is an upper bound, and exact unless the
        best corrections for two thresholds contradict each other (see Notes).

    Notes
    -----
    ===================== ==============================================================================
    P, q                  weight (share of the total) and event rate of a distinct prediction p
    h(p)                  the best replacement of p: q ("all"), the isotonic regression of the outcome on p
                          ("monotone"), the overall event rate ("constant")
    R(mu)                 regret of a decision maker who is indifferent at the probability mu
    R^                    concave envelope of R on [0, 1]
    ===================== ==============================================================================

    .. math:: R(\mu) = \mathrm{E}[(y - \mu) (1\{h(p) > \mu\} - 1\{p > \mu\})]_+, \qquad
        \mathrm{CDL} = 2 \widehat R(\tfrac12),

    where a jump of R counts with its larger side. Any decision with payoffs in [0, 1] is a mixture of thresholds
    :math:`\nu` with :math:`\int (1-\mu)\,d\nu \le 1` and :math:`\int \mu\,d\nu \le 1`, its regret is
    :math:`\int R\,d\nu`, and the largest such integral is, by duality, twice the envelope at 1/2. For monotone swaps
    the isotonic h is best for all thresholds at once.

    Between neighbouring predictions R is convex, so the envelope depends only on its values at the distinct p: a
    sort, one sweep and one hull, O(n log n).

    A number r of `swaps` allows functions h for which :math:`\{p : h(p) > \mu\}` is, for every :math:`\mu`, a union of
    at most r intervals of predictions, one of which reaches up to 1. (The class :math:`M_r` of Gopalan et al. does not
    ask for the last: r contains their :math:`M_{r-1}` and lies in their :math:`M_r`.) At each threshold the best such
    set is found exactly, by r running maxima, and two thresholds carry the envelope. If the best set of the higher one
    is contained in that of the lower, one h has both, and the value is exact. This failed in 0.6% of 6,000 random
    distributions of 4 to 11 predictions, where a single h still attains at least 97% of the value. O(n r) for
    each of some tens of sets. :math:`\mathrm{CDL} \le 2\,\mathrm{Cutoff}` with r `intervals`.

    Known relations: :math:`\sup R \le \mathrm{CDL} \le 2 \sup R` and
    :math:`\mathrm{ECE}^2 \le \mathrm{CDL} \le 2\,\mathrm{ECE}` (all swaps); for monotone swaps
    :math:`\mathrm{CDL} \le 2\,\mathrm{Cutoff}`; SCDL and every :math:`\mathrm{SCDL}_m` are at most CDL (all swaps).

    ``Sample.compress(m)`` moves predictions by less than 1/m and makes those of a cell equal. With C and C' the loss
    before and after, and w the largest share of the weight in a cell with more than one distinct prediction:

    - all classes: :math:`C' \le C + (2 + 2C)/m`, so compression never adds more than 4/m. A threshold
      inside a cell is, after compression, the same as one at the cell's edge: it moves by less than 1/m, so
      R there by less than 1/m, and the envelope at a place less than 1/m from 1/2 is at most (1 + 2/m) times
      that at 1/2; and swaps of whole cells are swaps.
    - "constant": :math:`C \le C' + (2 + 2C')/m + w/2`; "monotone": :math:`C \le C' + (2 + 2C')/m + w`. The
      cell that contains the threshold, and for monotone swaps the one in which the best h crosses it, gain from being
      divided at most :math:`\mu (1-\mu) \le 1/4` times their weight.
    - "all": no such bound. Hindsight no longer distinguishes the predictions of a cell, and C' may be
      near 0 where C is large. What remains, :math:`\mathrm{SCDL}_m \le C' \le 2\,\mathrm{SCDL}_m + 4/m` with the
      hard-binned :math:`\mathrm{SCDL}_m` of the rows, is the loss of those who act on the cell alone. Where no cell
      has two distinct predictions nothing changes.

    References
    ----------
    Hu, Wu (2024), "Predict to Minimize Swap Regret for All Payoff-Bounded Tasks", FOCS 2024,
    doi:10.1109/FOCS61266.2024.00024, arXiv:2404.13503: the definition, and sup R <= CDL <= 2 sup R.
    Bairaktari, Hu, Nguyen, Ullman (2026), arXiv:2605.17749: Definition 2.2, Lemmas 2.1 and 2.2, and Example 2
    (why it cannot be tested).
    Rossellini, Soloff, Barber, Ren, Willett (2025), "Can a Calibration Metric be Both Testable and
    Actionable?", COLT 2025: monotone swaps and the cutoff calibration error.
    Gopalan, Stavropoulos, Talwar, Tankala (2025), "Efficient Calibration for Decision Making", arXiv:2511.13699:
    CDL relative to a class of swaps, and the class of unions of r intervals.

    Examples
    --------
    The event always follows the low predictions and never the high ones:

    >>> import rainproof
    >>> y, p = [1, 1, 0, 0], [0.25, 0.25, 0.75, 0.75]
    >>> [rainproof.calibration_decision_loss(y, p, swaps=swaps) for swaps in ("all", "monotone", "constant")]
    [1.0, 0.75, 0.75]

    The event follows every other prediction. A function that may fall once corrects more of them than one that may not:

    >>> y, p = [1, 0, 1, 0], [0.3, 0.4, 0.6, 0.7]
    >>> [round(rainproof.calibration_decision_loss(y, p, swaps=swaps), 3) for swaps in ("monotone", 2, "all")]
    [0.35, 0.5, 0.7]

    Where every prediction equals its event rate, no decision loses anything:

    >>> rainproof.calibration_decision_loss([1, 0, 0, 0, 0, 1, 1, 1, 1, 0], [0.2] * 5 + [0.8] * 5)
    0.0
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    if isinstance(swaps, str):
        return SwapCurve.from_table(sample.distinct(), swaps).loss
    return interval_loss(sample.distinct(), check_count(swaps, "swaps")).value


def u_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Compute the U-calibration error: the largest loss of any decision against always taking one fixed action.

    Acting on the predictions may turn out worse than always taking the single action that is best on average. The
    difference is the external regret; this is its largest value over all decisions, as a share of what is at stake.
    If it is 0, no decision maker would have been better off ignoring the forecast; the forecast need not be
    calibrated.

    Between 0 and 1; 0 is perfect.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.

    Returns
    -------
    float
        The U-calibration error of the sample.

    Notes
    -----
    `calibration_decision_loss` with ``swaps="constant"``: with :math:`\bar y` the overall event rate,

    .. math:: 2 \widehat R(\tfrac12), \qquad
        R(\mu) = \big[ (\bar y - \mu)_+ - \mathrm{E}[(y - \mu) 1\{p > \mu\}] \big]_+,

    twice the concave envelope of R at 1/2. Payoffs lie in [0, 1] and the regret is a mean over rows; the original
    paper sums over rounds and uses scores in another interval, so multiply accordingly. Cost and effect of
    ``Sample.compress(m)`` are as there (up by at most (2 + 2 value)/m, down by at most that plus half the share of
    the heaviest cell). It is the weakest of the three: a forecast whose errors no constant corrects has error 0.

    References
    ----------
    Kleinberg, Paes Leme, Schneider, Teng (2023), "U-Calibration: Forecasting for an Unknown Agent", COLT
    2023, arXiv:2307.00168.

    Examples
    --------
    >>> import rainproof
    >>> rainproof.u_calibration_error([1, 1, 0, 0], [0.25, 0.25, 0.75, 0.75])
    0.75

    Underconfident, but in the right direction: no constant does better, though other forecasts would.

    >>> y, p = [0, 0, 1, 1], [0.4, 0.4, 0.6, 0.6]
    >>> rainproof.u_calibration_error(y, p), round(rainproof.calibration_decision_loss(y, p), 12)
    (0.0, 0.4)
    """
    return calibration_decision_loss(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, swaps="constant")
