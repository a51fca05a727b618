"""Smooth calibration error (smCE): the largest bias against a Lipschitz function of the prediction."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from rainproof.core.sample.sample import Sample, as_sample
from rainproof.measures._lipschitz import lipschitz_gain


def smooth_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Compute the smooth calibration error (smCE), which is close to the distance to calibration.

    It is within a factor of two of the smallest mean change that would make the predictions calibrated
    (`lower_distance_to_calibration`), it is continuous in the predictions, and chance changes it little. But
    it bounds no loss of those who act on the predictions directly: they can lose its square root.

    Not to be confused with the smooth *ECE* of Blasiok and Nakkiran, which some packages call
    ``smooth_calibration_error`` as well: that one is `smooth_ece`.

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
        smCE of the sample, exact up to rounding.

    Notes
    -----
    .. math:: \mathrm{smCE} = \sup_w \mathrm{E}[(y - p)\, w(p)]

    over the 1-Lipschitz functions :math:`w: [0, 1] \to [-1, 1]`. Exact in O(n log n), by dynamic programming over the
    distinct predictions that keeps the slopes of the value function sorted.

    `Sample.compress` moves it by at most :math:`2/m`: a prediction moves by less than :math:`1/m`, which changes
    :math:`y - p` by that much and, as w is 1-Lipschitz, w(p) as well, and neither :math:`|y - p|` nor :math:`|w|`
    exceeds 1.

    References
    ----------
    Kakade, Foster (2008), "Deterministic calibration and Nash equilibrium", doi:10.1016/j.jcss.2007.04.017.
    Blasiok, Gopalan, Hu, Nakkiran (2023), arXiv:2211.16886: distCal/2 <= smCE <= 2 distCal.
    arXiv:2605.17749: Definition 2.3, Table 1, Appendix A (what it does not bound).

    Examples
    --------
    >>> import rainproof
    >>> rainproof.smooth_calibration_error([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5])
    0.25
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    table = sample._distinct_table()
    residual = table.positive * (1 - table.prob) - table.negative * table.prob  # the sum of w (y - p)
    return min(1.0, lipschitz_gain(table.prob, residual) / sample.total_weight)
