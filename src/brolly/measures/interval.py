"""Interval calibration error: binned error with the width of the bins paid for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brolly.core.sample.sample import Sample, as_sample
from brolly.measures._interval import mean_window_bias
from brolly.measures.expected import residuals

_FINEST = 53  # bins of width 2^-53 are as narrow as doubles near 1 can tell


def interval_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Interval calibration error: the best trade of bias in the bins against their width.

    A binned error without the bins to choose: narrow bins show more bias, wide ones blur more, and this is
    the smallest sum of both. Whoever replaces each prediction by the middle of its bin before acting on
    it, with bins of the best width that start at a random place, gives up at most twice this share of what
    is at stake, whatever the decision. And moving every prediction to the frequency of its bin makes them
    calibrated: so this bounds the distance to calibration from above.

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
        The surrogate interval calibration error SintCE of the sample.

    Notes
    -----
    Of the quantities of Blasiok et al. this is the *surrogate* SintCE. Their intCE minimises the
    binned error plus the mean width of the bins over all partitions into intervals; SintCE takes bins
    of one dyadic width that start at a random place, and is never less:

    .. math:: \mathrm{SintCE} = \inf_{k \ge 0} \bigl( \mathrm{RintCE}_{2^{-k}} + 2^{-k} \bigr), \qquad
        \mathrm{RintCE}_\epsilon = \mathbb{E}_{r \sim U[0, \epsilon)} \sum_{j \in \mathbb{Z}}
        \bigl|\,\mathbb{E}[(y - p)\,1\{r + j\epsilon \le p < r + (j+1)\epsilon\}]\,\bigr|.

    The expectation over the offset r is exact, no random numbers are drawn: all bins at all offsets are
    all windows of that width, so

    .. math:: \mathrm{RintCE}_\epsilon = \frac1\epsilon \int_{-\epsilon}^{1}
        \bigl|\,\mathbb{E}[(y - p)\,1\{x \le p < x + \epsilon\}]\,\bigr|\, dx,

    an integral of a step function, which one walk over the sorted predictions adds up. Halving the
    width never lowers RintCE (a window is two half as wide), and it tends to ECE, which is the limit in the
    infimum. So from some width on, both narrower bins, for their bias, and wider ones, for their width,
    cannot beat the best sum so far. O(n log n) for the sort that all measures of a sample share, then O(n)
    for each width looked at, mostly fewer than ten of them.

    With d the lower distance to calibration, :math:`d \le \mathrm{SintCE} \le 3 \sqrt d + d` (with a
    calibrated :math:`p'` near p, :math:`\mathrm{RintCE}_\epsilon \le d + 2 d/\epsilon`, as a random edge parts p from
    :math:`p'` with probability :math:`|p - p'|/\epsilon`). Also smCE <= SintCE <= ECE. On T rows of a
    perfectly calibrated forecaster it is about :math:`T^{-1/3}`.

    `Sample.compress(m)` moves each prediction by less than 1/m and keeps the sum of the residuals of a
    cell, so it moves :math:`\mathrm{RintCE}_\epsilon` by at most :math:`2 e/(m \epsilon)`, where
    :math:`e = \mathbb{E}|y - p|`; hence SintCE by at most :math:`3\sqrt{e/m}`, whatever the sample (one may
    take a width of about :math:`\sqrt{2e/m}` instead of a smaller one), and by :math:`2e/(m\epsilon)` where
    the best width is a larger :math:`\epsilon`.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), "A Unifying Theory of Distance from Calibration",
    doi:10.1145/3564246.3585182, arXiv:2211.16886: interval calibration error and its surrogate.

    Examples
    --------
    >>> import brolly
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> brolly.interval_calibration_error(y, p)
    0.375
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    table = sample._distinct_table()
    residual = residuals(table) / sample.total_weight
    prefix = np.concatenate([[0.0], np.cumsum(residual)])
    best = float(np.abs(residual).sum())  # ECE, the limit of ever narrower bins; so a width of 1 cannot win
    start = min(_FINEST, 1 + round(np.log2(sample.n) / 3))  # where chance alone would balance
    for k in range(start, _FINEST + 1):
        bias = mean_window_bias(table.prob, prefix, 2.0**-k)
        best = min(best, bias + 2.0**-k)
        if bias >= best:
            break
    for k in range(start - 1, 0, -1):
        if 2.0**-k >= best:
            break
        best = min(best, mean_window_bias(table.prob, prefix, 2.0**-k) + 2.0**-k)
    return best
