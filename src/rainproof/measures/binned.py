"""Binned calibration error: what most software calls ECE."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats
from rainproof.core.grid.cells import LARGEST_GRID
from rainproof.core.input.rows import as_rows
from rainproof.core.sample.bins import BinSums
from rainproof.core.sample.distinct import DistinctTable
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.errors import InputError
from rainproof.measures._interval import running_sums

Strategy = Literal["uniform", "quantile"]
Form = Literal["mean", "rounded"]

# Tolerance of quantiles, as a share of the weight: a third of thirty rows of weight 0.1 is ten rows, whatever the
# rounding of the sums.
_TOLERANCE = 2.0**-42


def binned_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    form: Form = "mean",
) -> float:
    r"""Compute the binned calibration error, which most software calls ECE.

    Predictions are sorted into bins, and in each bin the mean prediction is compared with the event rate. It is easy
    to explain and to plot, but the value depends on the bins, jumps when a prediction crosses an edge, and misses
    biases that cancel within a bin. So it bounds no loss of those who act on the predictions themselves. Those who
    first replace each prediction by the mean of its bin lose at most twice this share of what is at stake, whatever
    the decision. With ``form="rounded"``, the paper's binned ECE, those who first round down to a multiple of
    ``1/n_bins`` lose at most this share.

    Between 0 and 1 (up to 2 with ``form="rounded"``); 0 is perfect.

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
    n_bins : int
        The number of bins, from 1 to 2**20.
    strategy : {"uniform", "quantile"}
        "uniform" makes bins of equal width, "quantile" bins of equal weight (up to ties: equal predictions are in one
        bin).
    form : {"mean", "rounded"}
        "mean" compares the event rate of a bin with its mean prediction; "rounded" compares it with the predictions
        rounded down to a multiple of ``1/n_bins``, and doubles the result (uniform bins only).

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

    ==========  =========  ================================================================================
    strategy    form       bins
    ==========  =========  ================================================================================
    uniform     mean       [0, 1/m], (1/m, 2/m], ..., ((m-1)/m, 1], as scikit-learn's `calibration_curve`
                           has them (its edges, from `linspace`, can be off by one unit in the last place)
    uniform     rounded    [0, 1/m), [1/m, 2/m), ..., and {1} alone: m + 1 bins
    quantile    mean       [0, e_1], (e_1, e_2], ..., where e_k is the smallest prediction with at least a
                           share k/m (less 2^-42, for rounding) of the weight at or below it; can be empty
    ==========  =========  ================================================================================

    Scikit-learn interpolates between rows to find quantiles, which is not defined with weights. The bins are the same
    where predictions differ and m divides the number of rows; otherwise an edge can differ by one row.

    Uniform bins need one pass over the rows and no sort, quantile bins the sort that all measures of a sample share.
    The mean form is at most ECE. On T rows of a perfectly calibrated forecaster it is about :math:`\sqrt{m/T}`; with
    the best number of bins, including the error of rounding, it is about :math:`T^{-1/3}`.

    After `Sample.compress(M)` all predictions of a cell are replaced by their mean, so a cell that contains an inner
    edge falls into one bin. This changes the value by at most twice the weight of these cells, about :math:`2m/M`
    where predictions are spread out (four times in the rounded form, which doubles). Nothing changes if m is a power
    of two up to M, as no edge is then inside a cell.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), "Obtaining Well Calibrated Probabilities Using Bayesian Binning",
    doi:10.1609/aaai.v29i1.9602. Section 1 of arXiv:2605.17749: bECE, its bound and its rate (Table 1).

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 1, 1, 0, 1], [0.125, 0.25, 0.75, 0.75, 1.0]
    >>> rainproof.binned_calibration_error(y, p, n_bins=2)
    0.225
    >>> rainproof.binned_calibration_error(y, p, n_bins=2, form="rounded")
    0.4
    """
    m = _check(n_bins, strategy, form)
    edges = np.arange(1, m + 1) / m
    if strategy == "quantile":
        sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
        bins = BinSums.from_distinct(sample._distinct_table(), _quantiles(sample._distinct_table(), edges[:-1]))
        return float(np.abs(bins.positive - bins.prob).sum()) / sample.total_weight
    # In the rounded form an edge belongs to the bin above it, so the bin below ends at the next smaller double.
    inner = np.nextafter(edges, 0.0) if form == "rounded" else edges[:-1]
    bins, total = _sums(y_true, y_prob, sample_weight, pos_label, m, inner)
    if form == "rounded":
        predicted = bins.weight * np.concatenate([[0.0], edges])
        return 2 * float(np.abs(bins.positive - predicted).sum()) / total
    return float(np.abs(bins.positive - bins.prob).sum()) / total


def _sums(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None,
    sample_weight: ArrayLike | None,
    pos_label: Any,
    m: int,
    edges: Floats,
) -> tuple[BinSums, float]:
    """Return the sums by bin and the total weight; unweighted rows are checked and summed in one pass."""
    if not isinstance(y_true, Sample) and y_prob is not None and sample_weight is None:
        rows = as_rows(y_true, y_prob, None, pos_label)
        if len(rows):
            return BinSums.from_rows(rows, m, edges), float(len(rows))
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    return sample._bin_sums(m, edges), sample.total_weight


def _check(n_bins: int, strategy: str, form: str) -> int:
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or not 1 <= n_bins <= LARGEST_GRID:
        raise InputError(f"n_bins must be an integer from 1 to {LARGEST_GRID:,}; it is {n_bins!r}")
    if strategy not in ("uniform", "quantile"):
        raise InputError(f"strategy must be 'uniform' or 'quantile'; it is {strategy!r}")
    if form not in ("mean", "rounded"):
        raise InputError(f"form must be 'mean' or 'rounded'; it is {form!r}")
    if form == "rounded" and strategy == "quantile":
        raise InputError("form must be 'mean' with strategy='quantile': predictions are rounded to a uniform grid")
    return int(n_bins)


def _quantiles(table: DistinctTable, shares: Floats) -> Floats:
    """Return for each share the smallest prediction with that much of the weight at or below it."""
    below = running_sums(table.negative + table.positive)[1:]
    quantiles: Floats = table.prob[np.searchsorted(below, below[-1] * (shares - _TOLERANCE))]
    return quantiles
