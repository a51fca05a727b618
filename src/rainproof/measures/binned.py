"""Errors of event rates: for each prediction, in ranges of predictions, and in bins."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.cells import LARGEST_GRID
from rainproof.core.distinct import DistinctTable, bin_rows, bin_table
from rainproof.core.sample import Sample
from rainproof.core.validation import as_columns
from rainproof.errors import InputError
from rainproof.fits.bins import equal_weight_edges, equal_width_edges
from rainproof.measures._running_sums import running_sums


def residuals(table: DistinctTable) -> Floats:
    """Return the sum of ``w (y - p)`` at each distinct prediction."""
    sums = table.negative + table.positive
    sums *= table.prob
    # In place: a new array would take longer than the arithmetic.
    return np.subtract(table.positive, sums, out=sums)


def expected_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> float:
    r"""Compute the Expected Calibration Error: the mean distance from each distinct prediction to
    its event rate.

    Whoever acts on the predictions loses at most twice this share of what is at stake, whatever the
    decision. But it is useful only where predictions repeat, as with forecasts in steps of 10%:
    where all predictions are distinct it compares each with a single outcome, and is large for a
    perfectly calibrated forecaster too. `binned_calibration_error` is what most software calls ECE.

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
        ECE of the sample.

    Notes
    -----
    With :math:`P(v)` the share of the rows that have prediction :math:`v`, and :math:`q(v)` the
    event rate among them,

    .. math:: \mathrm{ECE} = \mathbb{E}\,|q(p) - p| = \sum_v P(v)\,|q(v) - v|.

    Equal predictions are pooled first, by one sort that all measures of a sample share: O(n log n),
    then O(n).

    It is not continuous: predictions of 0.5 with an event rate of 1/2 have ECE 0, but 1/2 if the
    predictions of events are larger by the smallest amount. So a sample says little about the
    population when predictions hardly repeat, and `Sample.compress` can lower it by any amount: it
    pools the predictions of a cell, which gives :math:`\sum_k |\mathbb{E}[(y - p) 1_{\mathrm{cell}\
    k}]|`. By the triangle inequality this is at most ECE, and it equals ECE where no cell has two
    different predictions.

    References
    ----------
    Foster, Vohra (1997), "Calibrated learning and correlated equilibrium", Games and Economic
    Behavior 21, 40-55; Definition 2.1 of arXiv:2605.17749. Hu, Wu (2024), "Predict to minimize swap
    regret for all payoff-bounded tasks", doi:10.1109/FOCS61266.2024.00024: ECE^2 <= CDL <= 2 ECE
    (there Lemma 2.1).

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 0, 0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5, 0.75, 0.75]
    >>> rainproof.measures.expected_calibration_error(y, p)
    0.25
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    residual = residuals(sample.distinct())
    # In place, as in `residuals`.
    return float(np.abs(residual, out=residual).sum()) / sample.total_weight


def cutoff_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> float:
    r"""Compute the cutoff calibration error: the largest total bias over all ranges of predictions.

    Between any two cutoffs the number of events differs from its prediction by at most this share
    of all rows. Whoever acts on the predictions could gain at most twice this share of what is at
    stake by a monotone correction of them. Corrections that are not monotone can gain more;
    `soft_binned_cdl` bounds those as well.

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
        The cutoff calibration error of the sample.

    Notes
    -----
    .. math:: \mathrm{Cutoff} = \sup_{0 \le a \le b \le 1}
        \bigl|\,\mathbb{E}[(y - p)\, 1\{a \le p \le b\}]\,\bigr|
        = \max_x C(x) - \min_x C(x), \qquad C(x) = \mathbb{E}[(y - p)\, 1\{p \le x\}],

    where the extrema include the empty sum 0. It is exact, O(n log n) for the sort that all
    measures of a sample share and O(n) after it. Equal predictions are pooled: no cutoff separates
    them, so the value does not depend on the order of the rows. (Kuiper statistics that add row by
    row do.)

    It is the *cutoff calibration error* of Rossellini et al., which the paper identifies with the
    *step calibration error* of Qiao and Zhao. (Taken over the one-sided ranges :math:`p \le b`
    alone, a step error is :math:`\max_x |C(x)|`, between half of this and this.) For distinct
    predictions it is also the Kuiper form of the cumulative differences (ECCE-R).

    On T rows of a perfectly calibrated forecaster it is about :math:`T^{-1/2}`. Neighbouring biases
    of opposite sign cancel in it: it can be :math:`\epsilon` where acting on the predictions loses
    :math:`\Omega(\epsilon^{2/3})`.

    `Sample.compress(m)` can only lower it, by at most :math:`\frac12 (1 + \frac1m)` times the
    weight of the heaviest cell: between two cell boundaries C rises by at most :math:`(1-p) P_1`,
    the part of the events, and falls by at most :math:`p P_0`, the part of the other rows. It must
    do both to leave the range of the two boundary values, so by at most :math:`\frac14 (1 +
    \frac1m)(P_0 + P_1)` at either extreme.

    References
    ----------
    Rossellini, Soloff, Barber, Ren, Willett (2025), "Can a calibration metric be both testable and
    actionable?", arXiv:2502.19851 (cutoff calibration error). Qiao, Zhao (2025), "Truthfulness of
    Decision-Theoretic Calibration Measures", arXiv:2503.02384 (step calibration error). Definition
    2.5, Table 1 and Appendix B of arXiv:2605.17749.

    Examples
    --------
    >>> import rainproof
    >>> rainproof.measures.cutoff_calibration_error([0, 0, 1, 1], [0.25, 0.5, 0.5, 0.75])
    0.0625
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    # The sum over a range of predictions is a difference of two of these.
    biases_below = running_sums(residuals(sample.distinct()))
    return float(np.ptp(biases_below)) / sample.total_weight


Strategy = Literal["uniform", "quantile"]
Form = Literal["mean", "rounded"]


def binned_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    form: Form = "mean",
) -> float:
    r"""Compute the binned calibration error, which most software calls ECE.

    Predictions are sorted into bins, and in each bin the mean prediction is compared with the event
    rate. It is easy to explain and to plot, but the value depends on the bins, jumps when a
    prediction crosses an edge, and misses biases that cancel within a bin. So it bounds no loss of
    those who act on the predictions themselves. Those who first replace each prediction by the mean
    of its bin lose at most twice this share of what is at stake, whatever the decision. With
    ``form="rounded"``, the paper's binned ECE, those who first round down to a multiple of
    ``1/n_bins`` lose at most this share.

    Between 0 and 1 (up to 2 with ``form="rounded"``); 0 is perfect.

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
    n_bins : int
        The number of bins, from 1 to 2**20.
    strategy : {"uniform", "quantile"}
        "uniform" makes bins of equal width, "quantile" bins of equal weight (up to ties: equal
        predictions are in one bin).
    form : {"mean", "rounded"}
        "mean" compares the event rate of a bin with its mean prediction; "rounded" compares it with
        the predictions rounded down to a multiple of ``1/n_bins``, and doubles the result (uniform
        bins only).

    Returns
    -------
    float
        The binned calibration error of the sample.

    Notes
    -----
    .. math:: \mathrm{mean:}\ \sum_k \bigl|\,\mathbb{E}[(y - p)\,1\{p \in B_k\}]\,\bigr|, \qquad
        \mathrm{rounded:}\ \mathrm{bECE}_m = 2\,\mathrm{ECE}(D_m)
        = 2 \sum_{j=0}^m \bigl|\,\mathbb{E}[(y - \tfrac jm)\,1\{\lfloor m p \rfloor = j\}]\,\bigr|,

    with m = `n_bins`. Edges are the doubles nearest to k/m.

    ========  =======  ========================================================================
    strategy  form     bins
    ========  =======  ========================================================================
    uniform   mean     [0, 1/m], (1/m, 2/m], ..., ((m-1)/m, 1], as `calibration_curve` of
                       scikit-learn has them (its edges, from `linspace`, can be off by one unit
                       in the last place)
    uniform   rounded  [0, 1/m), [1/m, 2/m), ..., and {1} alone: m + 1 bins
    quantile  mean     [0, e_1], (e_1, e_2], ..., where e_k is the smallest prediction with at
                       least a share k/m (less 2^-42, for rounding) of the weight at or below it;
                       can be empty
    ========  =======  ========================================================================

    Scikit-learn interpolates between rows to find quantiles, which is not defined with weights. The
    bins are the same where predictions differ and m divides the number of rows; otherwise an edge
    can differ by one row.

    Uniform bins need one pass over the rows and no sort, quantile bins the sort that all measures
    of a sample share. The mean form is at most ECE. On T rows of a perfectly calibrated forecaster
    it is about :math:`\sqrt{m/T}`; with the best number of bins, including the error of rounding,
    it is about :math:`T^{-1/3}`.

    After `Sample.compress(M)` all predictions of a cell are replaced by their mean, so a cell that
    contains an inner edge falls into one bin. This changes the value by at most twice the weight of
    these cells, about :math:`2m/M` where predictions are spread out (four times in the rounded
    form, which doubles). Nothing changes if m is a power of two up to M, as no edge is then inside
    a cell.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), "Obtaining Well Calibrated Probabilities Using Bayesian
    Binning", doi:10.1609/aaai.v29i1.9602. Section 1 of arXiv:2605.17749: bECE, its bound and its
    rate (Table 1).

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 1, 1, 0, 1], [0.125, 0.25, 0.75, 0.75, 1.0]
    >>> rainproof.measures.binned_calibration_error(y, p, n_bins=2)
    0.225
    >>> rainproof.measures.binned_calibration_error(y, p, n_bins=2, form="rounded")
    0.4
    """
    bins = _checked_bins(n_bins, strategy, form)
    edges = equal_width_edges(bins)
    inner_edges = edges[1:-1]  # each belongs to the bin below it
    if form == "rounded":
        # Each belongs to the bin above it: the bin below ends at the next smaller double.
        inner_edges = np.nextafter(edges[1:], 0.0)
    has_weights = sample_weight is not None or base_rate is not None
    if isinstance(y_true, Sample) or y_prob is None or has_weights or strategy == "quantile":
        sample = as_sample(
            y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
        )
        total_weight = sample.total_weight
        if strategy == "uniform":
            sums = sample.tables.bin_sums(bins, inner_edges)
        else:
            table = sample.distinct()
            sums = bin_table(table, equal_weight_edges(table, bins))
    else:
        # The pass that fills the bins checks the rows too: without a sample there is one pass less.
        rows = as_columns(y_true, y_prob, None, pos_label)
        sums = bin_rows(rows, bins, inner_edges)
        total_weight = float(len(rows))
    weight, positive, predicted = sums
    if form == "mean":
        return float(np.abs(positive - predicted).sum()) / total_weight
    return 2 * float(np.abs(positive - weight * edges).sum()) / total_weight


def _checked_bins(n_bins: int, strategy: str, form: str) -> int:
    """Check the options, and return the number of bins."""
    is_integer = isinstance(n_bins, int | np.integer) and not isinstance(n_bins, bool)
    if not is_integer or not 1 <= n_bins <= LARGEST_GRID:
        raise InputError(f"n_bins must be an integer from 1 to {LARGEST_GRID:,}; it is {n_bins!r}")
    if strategy not in ("uniform", "quantile"):
        raise InputError(f"strategy must be 'uniform' or 'quantile'; it is {strategy!r}")
    if form not in ("mean", "rounded"):
        raise InputError(f"form must be 'mean' or 'rounded'; it is {form!r}")
    if form == "rounded" and strategy == "quantile":
        raise InputError(
            "form must be 'mean' with strategy='quantile': predictions are rounded to a uniform "
            "grid"
        )
    return int(n_bins)


def two_bin_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> float:
    r"""Compute the averaged two-bin calibration error (ATB): squared bias below and above a random
    cutoff.

    It is *truthful*: a forecaster who knows the probabilities of these rows, and is judged by this
    number, expects the smallest value by reporting them. Most measures of calibration reward lies:
    on a few rows, ECE and SCDL are smaller on average if the predictions are shifted towards each
    other. Use it to reward or to rank forecasters by calibration alone. It bounds no loss of
    decisions by itself.

    Between 0 and 1; 0 is perfect. It is a mean of squares: compare its square root with other
    measures.

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
        ATB of the sample.

    Notes
    -----
    With :math:`C(b) = \mathbb{E}[(y - p)\, 1\{p \le b\}]` and :math:`B = C(1)`,

    .. math:: \mathrm{ATB} = \int_0^1 \bigl( C(b)^2 + (B - C(b))^2 \bigr)\, db
        = \mathbb{E}\bigl[ (y - p)(y' - p')(1 - |p - p'|) \bigr],

    where :math:`(p', y')` is a second row, drawn independently (it may be the same one). C is a
    step function, so the integral is a finite sum: exact, O(n log n) for the sort that all measures
    of a sample share and O(n) after it.

    *Truthful.* Let the outcomes be independent with probabilities :math:`q_t`, for fixed rows, and
    let the weights sum to 1. Whatever the predictions, each outcome is in one of the two bins, so
    the variances of the two sums add up to :math:`V = \sum_t w_t^2 q_t (1 - q_t)`. The expected
    value is V plus ATB with :math:`q_t` in place of :math:`y_t`. The second term is 0 for
    :math:`p = q`. It is also 0 for predictions that pool rows and report their mean probability,
    and for no others. So on T rows of a calibrated forecaster the expected value is exactly V, at
    most 1/(4T).

    *Relation to smCE*: :math:`\tfrac25\, \mathrm{smCE}^2 \le \mathrm{ATB} \le \mathrm{smCE}`. (The
    second form is :math:`\mathbb{E}[(y - p)\,w(p)]` with a weight w that is 1-Lipschitz and in [-1,
    1]. For the other side, :math:`\mathbb{E}[(y-p)\,w(p)] = \tfrac12 (w(0) + w(1)) B + \tfrac12
    \int w' (B - 2C)`, at most :math:`\int (|B| + \tfrac12 |B - 2C|)`; the integrand is at most
    :math:`\sqrt{5/2}` times the root of :math:`C^2 + (B - C)^2 = \tfrac12 (B^2 + (B - 2C)^2)`.)

    `Sample.compress(m)` changes it by at most 2/m: C keeps its values at the ends of the cells, and
    inside a cell it moves by at most the cell's share of the weight, which the integrand doubles at
    most.

    References
    ----------
    Hartline, Hu, Wu (2025), "A Perfectly Truthful Calibration Measure", arXiv:2508.13100.

    Examples
    --------
    Every prediction is too low by 1/4, so C rises from 0 to 1/4 in two equal steps:

    >>> import rainproof
    >>> rainproof.measures.two_bin_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    0.046875
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    table = sample.distinct()
    biases = residuals(table)
    biases /= sample.total_weight
    # The bias of each bin if the cutoff is before the first prediction, between the first two, ...
    below = running_sums(biases)
    above = below[-1] - below
    # In place, as in `residuals`.
    squares = np.multiply(below, below, out=below)
    squares += np.multiply(above, above, out=above)
    squares *= np.diff(table.prob, prepend=0.0, append=1.0)
    return min(float(squares.sum()), 1.0)  # rounding alone can exceed 1
