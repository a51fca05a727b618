"""Averaged two-bin calibration error: squared bias below and above a random cutoff; lies do not lower it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.sample.sample import Sample, as_sample
from rainproof.measures._interval import running_sums
from rainproof.measures.expected import residuals


def two_bin_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Compute the averaged two-bin calibration error (ATB): squared bias below and above a random cutoff.

    It is *truthful*: a forecaster who knows the probabilities of these rows, and is judged by this number, expects
    the smallest value by reporting them. Most measures of calibration reward lies: on a few rows, ECE and SCDL
    are smaller on average if the predictions are shifted towards each other. Use it to reward or to rank forecasters
    by calibration alone. It bounds no loss of decisions by itself.

    Between 0 and 1; 0 is perfect. It is a mean of squares: compare its square root with other measures.

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
        ATB of the sample.

    Notes
    -----
    With :math:`C(b) = \mathbb{E}[(y - p)\, 1\{p \le b\}]` and :math:`B = C(1)`,

    .. math:: \mathrm{ATB} = \int_0^1 \bigl( C(b)^2 + (B - C(b))^2 \bigr)\, db
        = \mathbb{E}\bigl[ (y - p)(y' - p')(1 - |p - p'|) \bigr],

    where :math:`(p', y')` is a second row, drawn independently (it may be the same one). C is a step function, so the
    integral is a finite sum: exact, O(n log n) for the sort that all measures of a sample share and O(n) after it.

    *Truthful.* Let the outcomes be independent with probabilities :math:`q_t`, for fixed rows and weights that sum to
    1. Whatever the predictions, each outcome is in one of the two bins, so the variances of the two sums add up to
    :math:`V = \sum_t w_t^2 q_t (1 - q_t)`, and the expected value is V plus ATB with :math:`q_t` in place of
    :math:`y_t`. The second term is 0 for :math:`p = q`. It is also 0 for predictions that pool rows and report their
    mean probability, and for no others. So on T rows of a calibrated forecaster the expected value is exactly V, at
    most 1/(4T).

    *Relation to smCE*: :math:`\tfrac25\, \mathrm{smCE}^2 \le \mathrm{ATB} \le \mathrm{smCE}`. (The second form
    is :math:`\mathbb{E}[(y - p)\,w(p)]` with a weight w that is 1-Lipschitz and in [-1, 1]. For the other side,
    :math:`\mathbb{E}[(y-p)\,w(p)] = \tfrac12 (w(0) + w(1)) B + \tfrac12 \int w' (B - 2C)`, at most
    :math:`\int (|B| + \tfrac12 |B - 2C|)`; the integrand is at most :math:`\sqrt{5/2}` times the root of
    :math:`C^2 + (B - C)^2 = \tfrac12 (B^2 + (B - 2C)^2)`.)

    `Sample.compress(m)` changes it by at most 2/m: C keeps its values at the ends of the cells, and inside a cell
    it moves by at most the cell's share of the weight, which the integrand doubles at most.

    References
    ----------
    Hartline, Hu, Wu (2025), "A Perfectly Truthful Calibration Measure", arXiv:2508.13100.

    Examples
    --------
    Every prediction is too low by 1/4, so C rises from 0 to 1/4 in two equal steps:

    >>> import rainproof
    >>> rainproof.two_bin_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    0.046875
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    table = sample._distinct_table()
    residual = residuals(table)
    residual /= sample.total_weight
    below = running_sums(residual)
    above = below[-1] - below
    squares = np.multiply(below, below, out=below)
    squares += np.multiply(above, above, out=above)
    squares *= np.diff(table.prob, prepend=0.0, append=1.0)
    return min(float(squares.sum()), 1.0)  # which it exceeds by rounding alone
