"""Expected Calibration Error (ECE): the mean distance from each distinct prediction to its event rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats
from rainproof.core.sample.distinct import DistinctTable
from rainproof.core.sample.sample import Sample, as_sample


def residuals(table: DistinctTable) -> Floats:
    """Return the sum of ``w (y - p)`` at each distinct prediction."""
    sums = table.negative + table.positive
    sums *= table.prob
    return np.subtract(table.positive, sums, out=sums)  # in one array: a new one costs more than the arithmetic


def expected_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Compute the Expected Calibration Error: the mean distance from each distinct prediction to its event rate.

    Whoever acts on the predictions loses at most twice this share of what is at stake, whatever the decision. But it
    is useful only where predictions repeat, as with forecasts in steps of 10%: where all predictions are distinct it
    compares each with a single outcome, and is large for a perfectly calibrated forecaster too.
    `binned_calibration_error` is what most software calls ECE.

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
        ECE of the sample.

    Notes
    -----
    With :math:`P(v)` the share of the rows that have prediction :math:`v`, and :math:`q(v)` the event rate among them,

    .. math:: \mathrm{ECE} = \mathbb{E}\,|q(p) - p| = \sum_v P(v)\,|q(v) - v|.

    Equal predictions are pooled first, by one sort that all measures of a sample share: O(n log n), then
    O(n).

    It is not continuous: predictions of 0.5 with an event rate of 1/2 have ECE 0, but 1/2 if the predictions of
    events are larger by the smallest amount. So a sample says little about the population when predictions hardly
    repeat, and `Sample.compress` can lower it by any amount: it pools the predictions of a cell, which gives
    :math:`\sum_k |\mathbb{E}[(y - p) 1_{\mathrm{cell}\ k}]|`. By the triangle inequality this is at most ECE, and it
    equals ECE where no cell has two different predictions.

    References
    ----------
    Foster, Vohra (1997), "Calibrated learning and correlated equilibrium", Games and Economic Behavior
    21, 40-55; Definition 2.1 of arXiv:2605.17749. Hu, Wu (2024), "Predict to minimize swap regret for all
    payoff-bounded tasks", doi:10.1109/FOCS61266.2024.00024: ECE^2 <= CDL <= 2 ECE (there Lemma 2.1).

    Examples
    --------
    >>> import rainproof
    >>> rainproof.expected_calibration_error([0, 0, 0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5, 0.75, 0.75])
    0.25
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    residual = residuals(sample._distinct_table())
    return float(np.abs(residual, out=residual).sum()) / sample.total_weight
