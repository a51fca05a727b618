"""Interval calibration error: the binned error plus the width of the bins, for the best width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.sample.sample import Sample, as_sample
from rainproof.measures._interval import mean_window_biases, running_sums
from rainproof.measures.expected import residuals

_FINEST = 53  # bins of width 2^-53: doubles near 1 are no closer


def interval_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Compute the interval calibration error: the smallest sum of the bias in bins and the width of the bins.

    It is a binned error that needs no choice of bins: narrow bins show more bias, wide bins are less precise, and
    this is the smallest sum of both. Whoever replaces each prediction by the midpoint of its bin before acting on it,
    with bins of the best width at a random offset, loses at most twice this share of what is at stake, whatever the
    decision. It is also an upper bound on the distance to calibration, because replacing every prediction by the
    event rate of its bin makes the predictions calibrated.

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

    Returns
    -------
    float
        The surrogate interval calibration error SintCE of the sample.

    Notes
    -----
    Of the quantities of Blasiok et al. this is the *surrogate* SintCE. Their intCE minimises the
    binned error plus the mean width of the bins over all partitions into intervals; SintCE uses bins
    of one dyadic width at a random offset, and is never less:

    .. math:: \mathrm{SintCE} = \inf_{k \ge 0} \bigl( \mathrm{RintCE}_{2^{-k}} + 2^{-k} \bigr), \qquad
        \mathrm{RintCE}_\epsilon = \mathbb{E}_{r \sim U[0, \epsilon)} \sum_{j \in \mathbb{Z}}
        \bigl|\,\mathbb{E}[(y - p)\,1\{r + j\epsilon \le p < r + (j+1)\epsilon\}]\,\bigr|.

    The expectation over the offset r is exact, without random numbers: the bins of all offsets are all windows of
    that width, so

    .. math:: \mathrm{RintCE}_\epsilon = \frac1\epsilon \int_{-\epsilon}^{1}
        \bigl|\,\mathbb{E}[(y - p)\,1\{x \le p < x + \epsilon\}]\,\bigr|\, dx,

    the integral of a step function, computed in one pass over the sorted predictions. Halving the width never lowers
    RintCE (a window is the union of two half as wide), and RintCE tends to ECE as the width tends to 0. So the search
    stops where neither narrower bins (because of their bias) nor wider bins (because of their width) can be better.
    O(n log n) for the sort that all measures of a sample share, then O(n) for each width tried, usually fewer than
    ten.

    With d the lower distance to calibration, :math:`d \le \mathrm{SintCE} \le 3 \sqrt d + d` (with a calibrated
    :math:`p'` near p, :math:`\mathrm{RintCE}_\epsilon \le d + 2 d/\epsilon`, as a random edge separates p from
    :math:`p'` with probability :math:`|p - p'|/\epsilon`). Also smCE <= SintCE <= ECE. On T rows of a perfectly
    calibrated forecaster it is about :math:`T^{-1/3}`.

    `Sample.compress(m)` moves each prediction by less than 1/m and keeps the sum of the residuals of a cell, so it
    moves :math:`\mathrm{RintCE}_\epsilon` by at most :math:`2 e/(m \epsilon)`, where :math:`e = \mathbb{E}|y - p|`;
    hence SintCE by at most :math:`3\sqrt{e/m}`, whatever the sample (a width of about :math:`\sqrt{2e/m}` can replace
    a smaller one), and by :math:`2e/(m\epsilon)` where the best width is a larger :math:`\epsilon`.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), "A Unifying Theory of Distance from Calibration",
    doi:10.1145/3564246.3585182, arXiv:2211.16886: interval calibration error and its surrogate.

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> rainproof.interval_calibration_error(y, p)
    0.375
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    table = sample._distinct_table()
    residual = residuals(table)
    residual /= sample.total_weight
    prefix = running_sums(residual)
    best = float(np.abs(residual, out=residual).sum())  # ECE, the limit of narrow bins; a width of 1 cannot be better
    start = min(_FINEST, 1 + round(np.log2(sample.n) / 3))  # the best width of a calibrated forecaster, about
    biases: dict[int, float] = {}

    def bias(k: int) -> float:
        """The mean bias of windows of width 2^-k; four widths at a time, which costs little more than one."""
        if k not in biases:
            near = np.arange(4) + (k - 1 if k == start else k if k > start else k - 3)
            found = mean_window_biases(table.prob, prefix, np.ldexp(1.0, -near))
            biases.update(zip(near.tolist(), found.tolist(), strict=True))
        return biases[k]

    for k in range(start, _FINEST + 1):
        best = min(best, bias(k) + 2.0**-k)
        if bias(k) >= best:
            break
    for k in range(start - 1, 0, -1):
        if 2.0**-k >= best:
            break
        best = min(best, bias(k) + 2.0**-k)
    return best
