"""The event rate in each soft bin, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rainproof.core.arrays import Floats, freeze
from rainproof.core.grid.cells import check_grid
from rainproof.core.grid.rounded import split, sum_on_grid
from rainproof.core.sample.sample import Sample

_FINE = 64  # cells of the compression per soft bin: within one the hat weight hardly changes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SoftBins:
    """The occupied soft bins of a grid, by increasing prediction.

    Attributes
    ----------
    grid : int
        The bins are at the multiples of ``1/grid``.
    prediction : ndarray
        The position of each bin: the rounded prediction.
    share : ndarray
        The share of all weight in each; they sum to 1.
    effective : ndarray
        The number of rows of equal weight that carry as much information about each bin.
    mean_prediction : ndarray
        The mean of the predictions in each: the expected event rate of a perfectly calibrated forecast.
    event_rate : ndarray
        The event rate in each.
    low, high : ndarray
        Its confidence interval, for each bin by itself.
    low_all, high_all : ndarray
        Its confidence interval, for all bins at once.
    confidence_level : float
    n : int
        The number of rows.
    """

    grid: int
    prediction: Floats
    share: Floats
    effective: Floats
    mean_prediction: Floats
    event_rate: Floats
    low: Floats
    high: Floats
    low_all: Floats
    high_all: Floats
    confidence_level: float
    n: int

    def __post_init__(self) -> None:
        freeze(self.prediction, self.share, self.effective, self.mean_prediction, self.event_rate)
        freeze(self.low, self.high, self.low_all, self.high_all)

    def __repr__(self) -> str:
        level = f"confidence_level={self.confidence_level:g}"
        return f"SoftBins(grid={self.grid}, {len(self.prediction)} bins, {level}, n={self.n})"


def soft_bins(sample: Sample, grid: int, *, confidence_level: float = 0.95) -> SoftBins:
    r"""Compute the event rate in each soft bin of a grid, with confidence intervals.

    Parameters
    ----------
    sample : Sample
    grid : int
        A power of two, no finer than the grid of a compressed sample.
    confidence_level : float
        Of the intervals.

    Returns
    -------
    SoftBins

    Notes
    -----
    Row t counts in bin j with :math:`u_t = w_t (1 - |m p_t - j|)_+`. The rate :math:`q_j = \sum u_t y_t / \sum u_t`
    is a weighted mean, as precise as that of :math:`n_j = (\sum u_t)^2 / \sum u_t^2` rows of weight 1. The interval is
    that of Clopper and Pearson for :math:`n_j q_j` events in :math:`n_j` rows, neither of which need be whole (Korn
    and Graubard): for whole rows it covers with at least this confidence at every sample size, for the weighted mean
    approximately. For all bins at once the error probability is divided equally among them (Bonferroni).

    The sums of squares and of predictions are those of a compression to 64 cells per bin (or that of the sample, if
    coarser), where all rows of a cell have the hat weight of their mean.

    References
    ----------
    Clopper, Pearson (1934), doi:10.1093/biomet/26.4.404. Korn, Graubard (1998), "Confidence intervals for proportions
    with small expected number of positive counts estimated from survey data", Survey Methodology 24, 193-201.

    Examples
    --------
    >>> import rainproof
    >>> from rainproof.inference.soft_bins import soft_bins
    >>> bins = soft_bins(rainproof.Sample([0] * 9 + [1], [0.25] * 10), 4)
    >>> bins.event_rate, bins.low.round(4), bins.high.round(4)
    (array([0.1]), array([0.0025]), array([0.445]))
    """
    check_grid(grid, compressed=sample.grid)
    rounded = sample._on_grid(grid).rounded
    some = rounded.weight > 0
    index, weight = rounded.index[some], rounded.weight[some]
    rate = np.clip(rounded.positive[some] / weight, 0.0, 1.0)
    squares, predictions = (column[index] for column in _sums(sample, grid))
    # the cells see nothing of a bin that only the last bit of a prediction reaches: it counts as one row
    effective = np.maximum(1.0, np.divide(weight**2, squares, out=np.ones_like(weight), where=squares > 0))
    low, high = clopper_pearson(rate, effective, 1 - confidence_level)
    low_all, high_all = clopper_pearson(rate, effective, (1 - confidence_level) / len(index))
    return SoftBins(
        grid=grid,
        prediction=index / grid,
        share=weight / sample.total_weight,
        effective=effective,
        mean_prediction=np.clip(predictions / weight, *np.clip([index - 1, index + 1], 0, grid) / grid),
        event_rate=rate,
        low=low,
        high=high,
        low_all=low_all,
        high_all=high_all,
        confidence_level=confidence_level,
        n=sample.n,
    )


def _sums(sample: Sample, grid: int) -> tuple[Floats, Floats]:
    """The sums of squared weights and of predictions in every bin of the grid, from cells much finer than it."""
    cells = sample._cell_table(_FINE * grid)
    _, prob, weight, _ = cells.rows()
    cell, up = split(prob, grid)
    squares = sum_on_grid(cell, cells.squares * (1 - up) ** 2, cells.squares * up**2, grid)
    return squares, sum_on_grid(cell, weight * prob * (1 - up), weight * prob * up, grid)


def clopper_pearson(rate: Floats, n: Floats, doubt: float) -> tuple[Floats, Floats]:
    """Return the ends of Clopper and Pearson's intervals for rates of n rows each, with error probability `doubt`."""
    from scipy.special import betaincinv

    events = rate * n
    low = betaincinv(np.maximum(events, 1e-300), n - events + 1, doubt / 2)
    high = betaincinv(events + 1, np.maximum(n - events, 1e-300), 1 - doubt / 2)
    return np.where(events > 0, low, 0.0), np.where(events < n, high, 1.0)
