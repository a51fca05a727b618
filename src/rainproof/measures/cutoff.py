"""Cutoff calibration error: the worst bias over all ranges of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.interval_swaps import check_count
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.measures._interval import running_sums
from rainproof.measures.expected import residuals


def cutoff_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    intervals: int = 1,
) -> float:
    r"""Compute the cutoff calibration error: the largest total bias over all ranges of predictions.

    Between any two cutoffs the number of events differs from its prediction by at most this share of all rows.
    Whoever acts on the predictions could gain at most twice this share of what is at stake by a monotone correction
    of them. Corrections that are not monotone can gain more; `soft_binned_cdl` bounds those as well.

    Between 0 and 1; 0 is perfect.

    Explained in docs/which-measure.md.

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
    intervals : int
        The number of ranges: the sum of the biases of at most so many disjoint ranges, each without its sign. 1 is
        the cutoff calibration error; with as many as there are distinct predictions it is ECE.

    Returns
    -------
    float
        The cutoff calibration error of the sample.

    Notes
    -----
    .. math:: \mathrm{Cutoff} = \sup_{0 \le a \le b \le 1}
        \bigl|\,\mathbb{E}[(y - p)\, 1\{a \le p \le b\}]\,\bigr|
        = \max_x C(x) - \min_x C(x), \qquad C(x) = \mathbb{E}[(y - p)\, 1\{p \le x\}],

    where the extrema include the empty sum 0. It is exact, O(n log n) for the sort that all measures of a sample
    share and O(n) after it. Equal predictions are pooled: no cutoff separates them, so the value does not depend on
    the order of the rows. (Kuiper statistics that add row by row do.)

    With r `intervals` it is :math:`\sup \sum_k |C(b_k) - C(a_k)|` over :math:`a_1 \le b_1 \le a_2 \le \dots \le b_r`,
    by r running maxima, O(n r). Twice this bounds the loss of every decision against swaps that fall through no level
    more than r - 1 times (`calibration_decision_loss` with ``swaps=r``): at each threshold such a swap changes the
    action on at most r ranges of predictions, and gains on each no more than its bias.

    It is the *cutoff calibration error* of Rossellini et al., which the paper identifies with the *step
    calibration error* of Qiao and Zhao. (Taken over the one-sided ranges :math:`p \le b` alone, a step error is
    :math:`\max_x |C(x)|`, between half of this and this.) For distinct predictions it is also the Kuiper
    form of the cumulative differences (ECCE-R).

    On T rows of a perfectly calibrated forecaster it is about :math:`T^{-1/2}`. Neighbouring biases of opposite sign
    cancel in it: it can be :math:`\epsilon` where acting on the predictions loses :math:`\Omega(\epsilon^{2/3})`.

    `Sample.compress(m)` can only lower it, by at most :math:`\frac12 (1 + \frac1m)` times the weight of the heaviest
    cell: between two cell boundaries C rises by at most :math:`(1-p) P_1`, the part of the events, and falls by at
    most :math:`p P_0`, the part of the other rows. It must do both to leave the range of the two boundary values, so
    by at most :math:`\frac14 (1 + \frac1m)(P_0 + P_1)` at either extreme.

    References
    ----------
    Rossellini, Soloff, Barber, Ren, Willett (2025), "Can a calibration metric be both testable and
    actionable?", arXiv:2502.19851 (cutoff calibration error). Qiao, Zhao (2025), "Truthfulness of
    Decision-Theoretic Calibration Measures", arXiv:2503.02384 (step calibration error). Definition 2.5,
    Table 1 and Appendix B of arXiv:2605.17749.

    Examples
    --------
    >>> import rainproof
    >>> rainproof.cutoff_calibration_error([0, 0, 1, 1], [0.25, 0.5, 0.5, 0.75])
    0.0625
    >>> rainproof.cutoff_calibration_error([1, 0, 1, 0], [0.25, 0.5, 0.5, 0.75], intervals=2)
    0.375
    """
    check_count(intervals, "intervals")
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    prefix = running_sums(residuals(sample._distinct_table()))
    if intervals == 1:
        return float(np.ptp(prefix)) / sample.total_weight
    most = np.zeros(len(prefix))  # the largest sum over ranges that end by each place
    for _ in range(min(intervals, len(prefix))):
        up, down = np.maximum.accumulate(most - prefix) + prefix, np.maximum.accumulate(most + prefix) - prefix
        most = np.maximum.accumulate(np.maximum(up, down))
    return float(most[-1]) / sample.total_weight
