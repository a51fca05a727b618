"""The largest loss of any decision on these rows, in hindsight: CDL and U-calibration."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.curve import SwapCurve, Swaps
from rainproof.core.sample import Sample
from rainproof.core.validation import check_range


def calibration_decision_loss(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    swaps: Swaps = "all",
    threshold_range: float | tuple[float, float] | None = None,
) -> float:
    r"""Compute the Calibration Decision Loss (CDL): the largest loss of any decision on these rows.

    The decision maker takes the action that is best if the predictions are right. In hindsight,
    replacing each distinct prediction by another number would have led to better actions. CDL is
    how much better, as a share of what is at stake, for the decision with the largest gain. It
    describes these rows only: where every prediction is distinct, hindsight knows the outcome of
    each, so CDL of a perfectly calibrated forecaster stays far from 0 at every sample size. To
    learn about new rows use `soft_binned_cdl`, or fewer swaps here.

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
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).
    swaps : {"all", "monotone", "constant"}
        How hindsight may change the predictions: each distinct one to a number of its own (CDL as
        in the paper), all by one nondecreasing function, or all to one number
        (`u_calibration_error`). Each class contains the next, so the loss decreases in this order.
    threshold_range : float or (float, float), optional
        The largest loss of decisions with one threshold, or whose thresholds all lie in this range,
        ends included. Default: of every decision.

    Returns
    -------
    float
        CDL of the sample, exact up to rounding.

    Notes
    -----
    ======  ========================================================================================
    symbol  meaning
    ======  ========================================================================================
    P, q    weight (share of the total) and event rate of a distinct prediction p
    h(p)    the best replacement of p: q ("all"), the isotonic regression of the outcome on p
            ("monotone"), the overall event rate ("constant")
    R(mu)   regret of a decision maker who is indifferent at the probability mu
    R^      concave envelope of R on [0, 1]
    ======  ========================================================================================

    .. math:: R(\mu) = \mathrm{E}[(y - \mu) (1\{h(p) > \mu\} - 1\{p > \mu\})]_+, \qquad
        \mathrm{CDL} = 2 \widehat R(\tfrac12),

    where a jump of R counts with its larger side. Any decision with payoffs in [0, 1] is a mixture
    of thresholds :math:`\nu` with :math:`\int (1-\mu)\,d\nu \le 1` and :math:`\int \mu\,d\nu \le
    1`, its regret is :math:`\int R\,d\nu`, and the largest such integral is, by duality, twice the
    envelope at 1/2. For monotone swaps the isotonic h is best for all thresholds at once. With a
    `threshold_range`, R is set to 0 outside of it; a decision with the threshold t acts on
    predictions of at least t.

    Between neighbouring predictions R is convex, so the envelope depends only on its values at the
    distinct p: a sort, one sweep and one hull, O(n log n).

    Known relations: :math:`\sup R \le \mathrm{CDL} \le 2 \sup R` and :math:`\mathrm{ECE}^2 \le
    \mathrm{CDL} \le 2\,\mathrm{ECE}` (all swaps); for monotone swaps :math:`\mathrm{CDL} \le
    2\,\mathrm{Cutoff}`; SCDL and every :math:`\mathrm{SCDL}_m` are at most CDL (all swaps).

    ``Sample.compress(m)`` moves predictions by less than 1/m and makes those of a cell equal. With
    C and C' the loss before and after, and w the largest share of the weight in a cell with more
    than one distinct prediction:

    - all classes: :math:`C' \le C + (2 + 2C)/m`, so compression never adds more than 4/m. A
      threshold inside a cell is, after compression, the same as one at the cell's edge: it moves by
      less than 1/m, so R there by less than 1/m, and the envelope at a place less than 1/m from 1/2
      is at most (1 + 2/m) times that at 1/2; and swaps of whole cells are swaps.
    - "constant": :math:`C \le C' + (2 + 2C')/m + w/2`; "monotone": :math:`C \le C' + (2 + 2C')/m +
      w`. The cell that contains the threshold, and for monotone swaps the one in which the best h
      crosses it, gain from being divided at most :math:`\mu (1-\mu) \le 1/4` times their weight.
    - "all": no such bound. Hindsight no longer distinguishes the predictions of a cell, and C' may
      be near 0 where C is large. What remains, :math:`\mathrm{SCDL}_m \le C' \le 2\,\mathrm{SCDL}_m
      + 4/m` with the hard-binned :math:`\mathrm{SCDL}_m` of the rows, is the loss of those who act
      on the cell alone. Where no cell has two distinct predictions nothing changes.

    References
    ----------
    Hu, Wu (2024), "Predict to Minimize Swap Regret for All Payoff-Bounded Tasks", FOCS 2024,
    doi:10.1109/FOCS61266.2024.00024, arXiv:2404.13503: the definition, and sup R <= CDL <= 2 sup R.
    Bairaktari, Hu, Nguyen, Ullman (2026), arXiv:2605.17749: Definition 2.2, Lemmas 2.1 and 2.2, and
    Example 2 (why it cannot be tested).
    Rossellini, Soloff, Barber, Ren, Willett (2025), "Can a Calibration Metric be Both Testable and
    Actionable?", COLT 2025: monotone swaps and the cutoff calibration error.
    Gopalan, Stavropoulos, Talwar, Tankala (2025), "Efficient Calibration for Decision Making",
    arXiv:2511.13699: CDL relative to a class of swaps.

    Examples
    --------
    The event always follows the low predictions and never the high ones:

    >>> from rainproof.measures import calibration_decision_loss
    >>> y, p = [1, 1, 0, 0], [0.25, 0.25, 0.75, 0.75]
    >>> [calibration_decision_loss(y, p, swaps=swaps) for swaps in ("all", "monotone", "constant")]
    [1.0, 0.75, 0.75]

    Where every prediction equals its event rate, no decision loses anything:

    >>> calibration_decision_loss([1, 0, 0, 0, 0, 1, 1, 1, 1, 0], [0.2] * 5 + [0.8] * 5)
    0.0
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    curve = SwapCurve.from_table(sample.distinct(), swaps)
    return curve.restricted(check_range(threshold_range)).chord.loss


def u_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> float:
    r"""Compute the U-calibration error: the largest loss of any decision against always taking one
    fixed action.

    Acting on the predictions may turn out worse than always taking the single action that is best
    on average. The difference is the external regret; this is its largest value over all decisions,
    as a share of what is at stake. If it is 0, no decision maker would have been better off
    ignoring the forecast; the forecast need not be calibrated.

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
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).

    Returns
    -------
    float
        The U-calibration error of the sample.

    Notes
    -----
    `calibration_decision_loss` with ``swaps="constant"``: with :math:`\bar y` the overall event
    rate,

    .. math:: 2 \widehat R(\tfrac12), \qquad
        R(\mu) = \big[ (\bar y - \mu)_+ - \mathrm{E}[(y - \mu) 1\{p > \mu\}] \big]_+,

    twice the concave envelope of R at 1/2. Payoffs lie in [0, 1] and the regret is a mean over
    rows; the original paper sums over rounds and uses scores in another interval, so multiply
    accordingly. Cost and effect of ``Sample.compress(m)`` are as there (up by at most (2 + 2
    value)/m, down by at most that plus half the share of the heaviest cell). It is the weakest of
    the three: a forecast whose errors no constant corrects has error 0.

    References
    ----------
    Kleinberg, Paes Leme, Schneider, Teng (2023), "U-Calibration: Forecasting for an Unknown Agent",
    COLT 2023, arXiv:2307.00168.

    Examples
    --------
    >>> from rainproof.measures import calibration_decision_loss, u_calibration_error
    >>> u_calibration_error([1, 1, 0, 0], [0.25, 0.25, 0.75, 0.75])
    0.75

    Underconfident, but in the right direction: no constant does better, though other forecasts
    would.

    >>> y, p = [0, 0, 1, 1], [0.4, 0.4, 0.6, 0.6]
    >>> u_calibration_error(y, p), round(calibration_decision_loss(y, p), 12)
    (0.0, 0.4)
    """
    return calibration_decision_loss(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        pos_label=pos_label,
        base_rate=base_rate,
        swaps="constant",
    )
