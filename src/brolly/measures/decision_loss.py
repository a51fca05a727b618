"""Calibration Decision Loss (CDL) and the U-calibration error: the worst regret of any bounded decision."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from brolly.core.regret import RegretCurve, Swaps
from brolly.core.sample.sample import Sample, as_sample


def calibration_decision_loss(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    swaps: Swaps = "all",
) -> float:
    r"""Calibration Decision Loss: the most that anyone gave up on these rows by trusting the probabilities.

    Whoever took the action that is best if the probabilities are right would, in hindsight, have done better
    by taking each of them for another number. CDL is how much better, as a share of what is at stake, for
    the decision it matters to most. It speaks of these rows alone: where every prediction is distinct,
    hindsight knows the outcome of each, so CDL of a perfect forecaster stays far from 0 however many rows
    there are. For what to expect on new rows use `soft_binned_cdl`, or fewer swaps here.

    Between 0 and 1; 0 is perfect.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.
    swaps : {"all", "monotone", "constant"}
        What hindsight may change the predictions to: each distinct one to a number of its own (CDL as the
        paper has it), all by one nondecreasing function, or all to one number (`u_calibration_error`).
        Each class holds the next, so the loss falls in this order.

    Returns
    -------
    float
        CDL of the sample, exact up to rounding.

    Notes
    -----
    ===================== ==============================================================================
    :math:`P, q`          weight (share of the total) of a distinct prediction p, frequency of the event there
    :math:`h(p)`          what p is best swapped for: q ("all"), the isotonic regression of the outcome on p
                          ("monotone"), the overall frequency ("constant")
    :math:`R(\mu)`        regret of a decision maker who is indifferent at the probability :math:`\mu`
    :math:`\widehat R`    concave envelope of R on [0, 1]
    ===================== ==============================================================================

    .. math:: R(\mu) = \mathrm{E}[(y - \mu) (1\{h(p) > \mu\} - 1\{p > \mu\})]_+, \qquad
        \mathrm{CDL} = 2 \widehat R(\tfrac12),

    where a jump of R counts with its larger side. Any decision with payoffs in [0, 1] is a mixture of
    thresholds :math:`\nu` with :math:`\int (1-\mu)\,d\nu \le 1` and :math:`\int \mu\,d\nu \le 1`, its regret is
    :math:`\int R\,d\nu`, and the dual of the largest such integral is the envelope. For monotone swaps one
    isotonic h is the best for all thresholds at once.

    Between neighbouring predictions R is convex, so the envelope rests on its values at the distinct p
    alone: a sort, one sweep and one hull, O(n log n).

    Known relations: :math:`\sup R \le \mathrm{CDL} \le 2 \sup R` and
    :math:`\mathrm{ECE}^2 \le \mathrm{CDL} \le 2\,\mathrm{ECE}` (all swaps); for monotone swaps
    :math:`\mathrm{CDL} \le 2\,\mathrm{Cutoff}`; SCDL and every :math:`\mathrm{SCDL}_m` are at most CDL (all swaps).

    ``Sample.compress(m)`` moves predictions by less than 1/m and makes those of a cell one. With C and C'
    the loss before and after, and w the largest share of the weight that a cell with more than one distinct
    prediction holds:

    - all classes: :math:`C' \le C + (2 + 2C)/m`, so compression never adds more than 4/m. A threshold
      inside a cell is, after compression, the same as one at the cell's edge: it moves by less than 1/m, so
      R there by less than 1/m, and the envelope at a place less than 1/m from 1/2 is at most (1 + 2/m) times
      that at 1/2; and swaps of whole cells are swaps.
    - "constant": :math:`C \le C' + (2 + 2C')/m + w/2`; "monotone": :math:`C \le C' + (2 + 2C')/m + w`. The
      cell a threshold cuts, and for monotone swaps the one that the best cut of the predictions cuts, gain
      from the cut at most :math:`\mu (1-\mu) \le 1/4` times their weight.
    - "all": no such bound. Hindsight that told the predictions of a cell apart cannot any more, and C' may be
      near 0 where C is large. What is left, :math:`\mathrm{SCDL}_m \le C' \le 2\,\mathrm{SCDL}_m + 4/m` with
      the hard-binned :math:`\mathrm{SCDL}_m` of the rows, is the loss of those who act on the cell alone.
      Where no cell holds two distinct predictions nothing changes.

    References
    ----------
    Hu, Wu (2024), "Predict to Minimize Swap Regret for All Payoff-Bounded Tasks", FOCS 2024,
    doi:10.1109/FOCS61266.2024.00024, arXiv:2404.13503: the definition, and sup R <= CDL <= 2 sup R.
    Bairaktari, Hu, Nguyen, Ullman (2026), arXiv:2605.17749: Definition 2.2, Lemmas 2.1 and 2.2, and Example 2
    (why it cannot be tested).
    Rossellini, Soloff, Barber, Ren, Willett (2025), "Can a Calibration Metric be Both Testable and
    Actionable?", COLT 2025: monotone swaps and the cutoff calibration error.

    Examples
    --------
    Low forecasts that always come true and high ones that never do:

    >>> import brolly
    >>> y, p = [1, 1, 0, 0], [0.25, 0.25, 0.75, 0.75]
    >>> [brolly.calibration_decision_loss(y, p, swaps=swaps) for swaps in ("all", "monotone", "constant")]
    [1.0, 0.75, 0.75]

    Forecasts that come true as often as they say cost nobody anything:

    >>> brolly.calibration_decision_loss([1, 0, 0, 0, 0, 1, 1, 1, 1, 0], [0.2] * 5 + [0.8] * 5)
    0.0
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    return RegretCurve.from_table(sample._distinct_table(), swaps).loss


def u_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""U-calibration error: the most that anyone gave up against always taking one and the same action.

    Whoever acts on the probabilities may, in hindsight, have done worse than with the single action that
    is best on average: their external regret. This is the largest such regret, as a share of what is at
    stake, over all decisions. If it is 0, nobody would have been better off ignoring the forecast for a
    constant; that does not make the forecast calibrated, or the best use of it.

    Between 0 and 1; 0 is perfect.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.

    Returns
    -------
    float
        The U-calibration error of the sample.

    Notes
    -----
    `calibration_decision_loss` with ``swaps="constant"``: with :math:`\bar y` the overall frequency of the event,

    .. math:: 2 \widehat R(\tfrac12), \qquad
        R(\mu) = \big[ (\bar y - \mu)_+ - \mathrm{E}[(y - \mu) 1\{p > \mu\}] \big]_+,

    the concave envelope of R at 1/2. Payoffs lie in [0, 1] and the regret is a mean over rows; where the
    original sums over rounds, or lets scores lie in another interval, multiply accordingly. Cost, and how
    far ``Sample.compress(m)`` can move it (up by (2 + 2 value)/m, down by that and half the share of the
    heaviest cell), as there. It is the least demanding of the three: a forecast that is wrong in ways that
    no constant mends has error 0.

    References
    ----------
    Kleinberg, Paes Leme, Schneider, Teng (2023), "U-Calibration: Forecasting for an Unknown Agent", COLT
    2023, arXiv:2307.00168.

    Examples
    --------
    >>> import brolly
    >>> brolly.u_calibration_error([1, 1, 0, 0], [0.25, 0.25, 0.75, 0.75])
    0.75

    Too timid, but pointing the right way: no constant does better, though other forecasts would.

    >>> y, p = [0, 0, 1, 1], [0.4, 0.4, 0.6, 0.6]
    >>> brolly.u_calibration_error(y, p), round(brolly.calibration_decision_loss(y, p), 12)
    (0.0, 0.4)
    """
    return calibration_decision_loss(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, swaps="constant")
