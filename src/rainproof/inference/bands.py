"""Event rates in soft bins with intervals, and what calibrated forecasts show by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.cells import check_grid, split, sum_on_grid
from rainproof.core.curve import SwapCurve, Swaps, check_swaps
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.decisions.values import value_at
from rainproof.errors import InputError
from rainproof.inference._soft_sums import placed
from rainproof.inference.options import (
    Progress,
    Rng,
    Seed,
    as_seed,
    check_resamples,
    check_share,
    spawned,
)
from rainproof.inference.resampling import Resampler, as_resampler, by_outcome, draw_batches
from rainproof.inference.statistics import drawn_table, on_grid

_CELLS_PER_BIN = 64  # of the compression: within a cell the hat weight hardly changes
_SMALLEST_SHAPE = 1e-300  # of a beta distribution, where no event was seen


@result_class
class SoftBins(Result):
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
        The mean of the predictions in each: the expected event rate of a perfectly calibrated
        forecast.
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
    Row t counts in bin j with :math:`u_t = w_t (1 - |m p_t - j|)_+`. The rate
    :math:`q_j = \sum u_t y_t / \sum u_t` is a weighted mean, as precise as that of
    :math:`n_j = (\sum u_t)^2 / \sum u_t^2` rows of weight 1. The interval is that of Clopper and
    Pearson for :math:`n_j q_j` events in :math:`n_j` rows, neither of which need be whole (Korn and
    Graubard): for whole rows it covers with at least this confidence at every sample size, for the
    weighted mean approximately. For all bins at once the error probability is divided equally among
    them (Bonferroni).

    The sums of squares and of predictions are those of a compression to 64 cells per bin (or that
    of the sample, if coarser), where all rows of a cell have the hat weight of their mean.

    References
    ----------
    Clopper, Pearson (1934), doi:10.1093/biomet/26.4.404. Korn, Graubard (1998), "Confidence
    intervals for proportions with small expected number of positive counts estimated from survey
    data", Survey Methodology 24, 193-201.

    Examples
    --------
    >>> import rainproof
    >>> from rainproof.inference.bands import soft_bins
    >>> bins = soft_bins(rainproof.Sample([0] * 9 + [1], [0.25] * 10), 4)
    >>> bins.event_rate, bins.low.round(4), bins.high.round(4)
    (array([0.1]), array([0.0025]), array([0.445]))
    """
    check_grid(grid, compressed=sample.grid)
    if sample.design.strata is not None:
        drawn = soft_bins(sample.as_drawn(), grid, confidence_level=confidence_level)
        return _at_base_rate(sample, drawn)
    rounded = sample.on_grid(grid)
    occupied = rounded.weight > 0
    index = rounded.index[occupied]
    weight = rounded.weight[occupied]
    rate = np.clip(rounded.positive[occupied] / weight, 0.0, 1.0)
    sums = _sums(sample, grid)
    squares = sums.squared_weight[index]
    # the cells see nothing of a bin that only the last bit of a prediction reaches: it counts as
    # one row
    effective = np.divide(weight**2, squares, out=np.ones_like(weight), where=squares > 0)
    effective = np.maximum(1.0, effective)
    # a bin reaches from the one before to the one after it
    lowest = np.clip(index - 1, 0, grid) / grid
    highest = np.clip(index + 1, 0, grid) / grid
    low, high = clopper_pearson(rate, effective, 1 - confidence_level)
    low_all, high_all = clopper_pearson(rate, effective, (1 - confidence_level) / len(index))
    return SoftBins(
        grid=grid,
        prediction=index / grid,
        share=weight / sample.total_weight,
        effective=effective,
        mean_prediction=np.clip(sums.prediction[index] / weight, lowest, highest),
        event_rate=rate,
        low=low,
        high=high,
        low_all=low_all,
        high_all=high_all,
        confidence_level=confidence_level,
        n=sample.n,
    )


def _at_base_rate(sample: Sample, drawn: SoftBins) -> SoftBins:
    """Move rates and their intervals from the event rate of the rows to the base rate: by one
    factor of the odds.
    """
    rounded = sample.on_grid(drawn.grid)
    occupied = rounded.weight > 0
    weight = rounded.weight[occupied]
    predictions = _sums(sample, drawn.grid).prediction[rounded.index[occupied]]
    there = by_outcome(sample).there
    return replace(
        drawn,
        share=weight / sample.total_weight,
        mean_prediction=np.clip(predictions / weight, 0.0, 1.0),
        event_rate=there(drawn.event_rate),
        low=there(drawn.low),
        high=there(drawn.high),
        low_all=there(drawn.low_all),
        high_all=there(drawn.high_all),
    )


class _BinSums(NamedTuple):
    """Sums in every bin of a grid."""

    squared_weight: Floats
    prediction: Floats  # times the weight


def _sums(sample: Sample, grid: int) -> _BinSums:
    """The sums in every bin of the grid, from cells much finer than it."""
    table = sample.tables.cell_table(_CELLS_PER_BIN * grid)
    entries = table.entries()
    predicted = table.weight[0] * entries.prob
    squares = table.squares
    cell, up = split(entries.prob, grid)
    squared_weight = sum_on_grid(cell, squares * (1 - up) ** 2, squares * up**2, grid)
    prediction = sum_on_grid(cell, predicted * (1 - up), predicted * up, grid)
    return _BinSums(squared_weight, prediction)


def clopper_pearson(rate: Floats, n: Floats, error_probability: float) -> tuple[Floats, Floats]:
    """Return the ends of Clopper and Pearson's intervals for rates of n rows each."""
    tail = error_probability / 2
    events = rate * n
    others = n - events
    low = betaincinv(np.maximum(events, _SMALLEST_SHAPE), others + 1, tail)
    high = betaincinv(events + 1, np.maximum(others, _SMALLEST_SHAPE), 1 - tail)
    return np.where(events > 0, low, 0.0), np.where(events < n, high, 1.0)


@result_class
class NullBand(Result):
    """What a calibrated forecaster with these predictions shows by chance: two curves, and the
    reliability diagram.

    Attributes
    ----------
    thresholds : ndarray
        Decision thresholds.
    regret_low, regret_high : ndarray
        The band of the regret curve, at each threshold by itself.
    regret_limit : float
        The value that the whole regret curve (at these thresholds) does not exceed with probability
        `confidence_level`.
    value_low, value_high : ndarray
        The band of the gain over no forecast (`forecast_value`), at each threshold by itself.
    at : ndarray
        The points ``j / bins``.
    rate_low, rate_high : ndarray
        The band of the event rate in the soft bin at each point, by itself; NaN where there are no
        rows.
    bins : int
        The number of soft bins, less one.
    grid : int or None
        The grid that predictions are rounded to before the regret curve is computed.
    swaps, confidence_level, n_resamples, n, seed
        As asked for; the number of rows.
    """

    _kind = "null_band"
    _also = ("method",)
    _shown = ("regret_limit", "bins", "confidence_level", "n")
    method: ClassVar[str] = "predictions kept, outcomes redrawn"
    thresholds: Floats
    regret_low: Floats
    regret_high: Floats
    regret_limit: float
    value_low: Floats
    value_high: Floats
    at: Floats
    rate_low: Floats
    rate_high: Floats
    bins: int
    grid: int | None
    swaps: Swaps
    confidence_level: float
    n_resamples: int
    n: int
    seed: int | None


def null_band(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    thresholds: ArrayLike | None = None,
    grid: int | None = None,
    swaps: Swaps = "all",
    bins: int = 16,
    confidence_level: float = 0.95,
    n_resamples: int = 199,
    rng: Seed = None,
    progress: Progress | None = None,
) -> NullBand:
    """Compute bands for the regret curve, the decision curve and the reliability diagram of a
    calibrated forecaster.

    A curve within the band is no evidence of miscalibration. A curve outside of it is, at a
    threshold that was chosen in advance. For the worst of many thresholds use `regret_limit` or
    `calibration_test`. Outcomes are drawn independently: where rows depend on each other, the bands
    are too narrow.

    Explained in docs/guide/inference.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label, base_rate
        As for `calibration_test`; the outcomes are not used, but for the event rate with a
        `base_rate`.
    thresholds : array_like, optional
        The thresholds of the curves. Default: 0, 0.01, ..., 1.
    grid, swaps
        As for `regret_curve`.
    bins : int
        The grid of the soft bins of the reliability diagram: a power of two.
    confidence_level : float
        The probability that a calibrated forecaster stays within the band, at each point by itself.
    n_resamples : int
        The number of calibrated forecasters drawn. 199 draws are enough for a band that is drawn,
        not tested.
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of forecasters drawn so far and in total.

    Returns
    -------
    NullBand

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> p = np.random.default_rng(0).random(1000)
    >>> band = rainproof.inference.null_band(np.zeros(1000), p, bins=4, n_resamples=99, rng=0)
    >>> bool(((band.rate_low < band.at) & (band.at < band.rate_high))[1:-1].all())
    True
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    sample.design.require("null_band", independent=True)
    confidence_level = check_share(confidence_level, "confidence_level")
    size = check_resamples(n_resamples)
    bins = check_grid(bins)
    check_swaps(swaps)
    if grid is not None:
        check_grid(grid)
    generator, seed = as_seed(rng, sample.without_outcomes())
    if thresholds is None:
        thresholds = np.linspace(0, 1, 101)
    mu = np.unique(np.asarray(thresholds, np.float64))
    if mu.size == 0 or not ((mu >= 0) & (mu <= 1)).all():
        raise InputError("thresholds must be numbers in [0, 1], at least one")
    streams = spawned(generator, size)
    band = band_of_chance(
        sample, mu, grid, bins, confidence_level, size, streams, swaps=swaps, progress=progress
    )
    return replace(band, seed=seed)


def band_of_chance(
    sample: Sample,
    mu: Floats,
    grid: int | None,
    bins: int,
    confidence_level: float,
    size: int,
    streams: list[Rng],
    *,
    swaps: Swaps = "all",
    progress: Progress | None = None,
) -> NullBand:
    """Draw the bands from given streams of random numbers; the arguments are checked already."""
    resampler = as_resampler(sample) if sample.design.strata is None else by_outcome(sample)
    redraw = _curves(resampler, mu, grid, swaps, bins)
    n_thresholds = len(mu)
    draws = draw_batches(redraw, size, streams, progress, width=2 * n_thresholds + bins + 1)
    tails = [(1 - confidence_level) / 2, (1 + confidence_level) / 2]
    lowest, highest = np.quantile(draws, tails, axis=0)
    ends = [n_thresholds, 2 * n_thresholds]  # of the regret curve, and of the value
    low = np.split(lowest, ends)
    high = np.split(highest, ends)
    largest_regret = draws[:, :n_thresholds].max(axis=1)
    return NullBand(
        thresholds=mu,
        regret_low=low[0],
        regret_high=high[0],
        regret_limit=float(np.quantile(largest_regret, confidence_level)),
        value_low=low[1],
        value_high=high[1],
        at=np.arange(bins + 1) / bins,
        rate_low=low[2],
        rate_high=high[2],
        bins=bins,
        grid=grid,
        swaps=swaps,
        confidence_level=confidence_level,
        n_resamples=size,
        n=sample.n,
        seed=None,
    )


def _curves(
    resampler: Resampler, mu: Floats, grid: int | None, swaps: Swaps, bins: int
) -> Callable[[Rng, int], NDArray[np.float64]]:
    """Return a function that redraws outcomes and evaluates everything: one resample a row."""
    prob = resampler.distinct
    coin = resampler.coin(resampler.prob)
    bin_places = placed(prob, None, bins, True)
    if grid is not None:
        grid_places = placed(prob, None, grid, True)
        multiples = np.arange(grid + 1) / grid

    def redraw(stream: Rng, times: int) -> Floats:
        draws = [resampler.redraw(stream, coin) for _ in range(times)]
        positive = np.stack([draw.positive for draw in draws])
        weight = resampler.weight[None]
        if draws[0].weight is not None:  # it depends on the outcomes
            weight = np.stack([np.asarray(draw.weight) for draw in draws])
        tables = _tables(prob, weight, positive)
        rounded = tables
        if grid is not None:
            rounded = _tables(
                multiples, on_grid(grid_places, weight), on_grid(grid_places, positive)
            )
        regret = [SwapCurve.from_table(table, swaps)(mu) for table in rounded]
        value = [value_at(table, mu) for table in tables]
        weight_of_bin = on_grid(bin_places, weight)
        with np.errstate(invalid="ignore"):  # there are no rows in some bins
            rates = on_grid(bin_places, positive) / weight_of_bin
        rates = np.where(weight_of_bin > 0, rates, np.nan)
        return np.concatenate([regret, value, rates], axis=1)

    return redraw


def _tables(prob: Floats, weight: Floats, positive: NDArray[Any]) -> list[DistinctTable]:
    """The table of each resample: the weight of each prediction, and the part with the event."""
    weights = np.broadcast_to(weight, positive.shape)
    return [
        drawn_table(prob, of_draw, events)
        for of_draw, events in zip(weights, positive, strict=True)
    ]
