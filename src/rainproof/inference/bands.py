"""Event rates in soft bins with intervals, and what calibrated forecasts show by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.core.cells import check_grid, split, sum_on_grid
from rainproof.core.curve import SwapCurve, Swaps, check_swaps
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result
from rainproof.core.sample import Sample, as_sample
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

_FINE = 64  # cells of the compression per soft bin: within one the hat weight hardly changes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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
    Row t counts in bin j with :math:`u_t = w_t (1 - |m p_t - j|)_+`. The rate :math:`q_j = \sum u_t y_t / \sum u_t`
    is a weighted mean, as precise as that of :math:`n_j = (\sum u_t)^2 / \sum u_t^2` rows of weight 1. The interval is
    that of Clopper and Pearson for :math:`n_j q_j` events in :math:`n_j` rows, neither of which need be whole (Korn
    and Graubard): for whole rows it covers with at least this confidence at every sample size, for the weighted mean
    approximately. For all bins at once the error probability is divided equally among them (Bonferroni).

    The sums of squares and of predictions are those of a compression to 64 cells per bin (or that
    of the sample, if coarser), where all rows of a cell have the hat weight of their mean.

    References
    ----------
    Clopper, Pearson (1934), doi:10.1093/biomet/26.4.404. Korn, Graubard (1998), "Confidence intervals for proportions
    with small expected number of positive counts estimated from survey data", Survey Methodology 24, 193-201.

    Examples
    --------
    >>> import rainproof
    >>> from rainproof.inference.bands import soft_bins
    >>> bins = soft_bins(rainproof.Sample([0] * 9 + [1], [0.25] * 10), 4)
    >>> bins.event_rate, bins.low.round(4), bins.high.round(4)
    (array([0.1]), array([0.0025]), array([0.445]))
    """
    check_grid(grid, compressed=sample.grid)
    if sample._rates is not None:
        return _at_base_rate(
            sample, soft_bins(sample._as_drawn(), grid, confidence_level=confidence_level)
        )
    rounded = sample.on_grid(grid)
    some = rounded.weight > 0
    index, weight = rounded.index[some], rounded.weight[some]
    rate = np.clip(rounded.positive[some] / weight, 0.0, 1.0)
    squares, predictions = (column[index] for column in _sums(sample, grid))
    # the cells see nothing of a bin that only the last bit of a prediction reaches: it counts as
    # one row
    effective = np.maximum(
        1.0, np.divide(weight**2, squares, out=np.ones_like(weight), where=squares > 0)
    )
    low, high = clopper_pearson(rate, effective, 1 - confidence_level)
    low_all, high_all = clopper_pearson(rate, effective, (1 - confidence_level) / len(index))
    return SoftBins(
        grid=grid,
        prediction=index / grid,
        share=weight / sample.total_weight,
        effective=effective,
        mean_prediction=np.clip(
            predictions / weight, *np.clip([index - 1, index + 1], 0, grid) / grid
        ),
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
    rounded, atoms = sample.on_grid(drawn.grid), by_outcome(sample)
    weight = rounded.weight[rounded.weight > 0]
    names = ("event_rate", "low", "high", "low_all", "high_all")
    rates: dict[str, Any] = {name: atoms.there(getattr(drawn, name)) for name in names}
    mean = np.clip(
        _sums(sample, drawn.grid)[1][rounded.index[rounded.weight > 0]] / weight, 0.0, 1.0
    )
    return replace(drawn, share=weight / sample.total_weight, mean_prediction=mean, **rates)


def _sums(sample: Sample, grid: int) -> tuple[Floats, Floats]:
    """The sums of squared weights and of predictions in every bin of the grid, from cells much
    finer than it.
    """
    cells = sample._cell_table(_FINE * grid)
    _, prob, weight, _ = cells.rows()
    cell, up = split(prob, grid)
    squares = sum_on_grid(cell, cells.squares * (1 - up) ** 2, cells.squares * up**2, grid)
    return squares, sum_on_grid(cell, weight * prob * (1 - up), weight * prob * up, grid)


def clopper_pearson(rate: Floats, n: Floats, doubt: float) -> tuple[Floats, Floats]:
    """Return the ends of Clopper and Pearson's intervals for rates of n rows each, with error
    probability `doubt`.
    """
    from scipy.special import betaincinv

    events = rate * n
    low = betaincinv(np.maximum(events, 1e-300), n - events + 1, doubt / 2)
    high = betaincinv(events + 1, np.maximum(n - events, 1e-300), 1 - doubt / 2)
    return np.where(events > 0, low, 0.0), np.where(events < n, high, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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
    sample._refuse_draws("null_band")
    confidence_level = check_share(confidence_level, "confidence_level")
    size, bins = check_resamples(n_resamples), check_grid(bins)
    check_swaps(swaps)
    grid = grid if grid is None else check_grid(grid)
    generator, seed = as_seed(rng, sample._before_outcomes())
    mu = np.unique(
        np.asarray(np.linspace(0, 1, 101) if thresholds is None else thresholds, np.float64)
    )
    if mu.size == 0 or not ((mu >= 0) & (mu <= 1)).all():
        raise InputError("thresholds must be numbers in [0, 1], at least one")
    streams = spawned(generator, size)
    found = band_of_chance(
        sample, mu, grid, bins, confidence_level, size, streams, swaps=swaps, progress=progress
    )
    return replace(found, seed=seed)


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
    k = len(mu)
    some = _curves(
        as_resampler(sample) if sample._rates is None else by_outcome(sample), mu, grid, swaps, bins
    )
    draws = draw_batches(some, size, streams, progress, width=2 * k + bins + 1)
    tails = np.quantile(draws, [(1 - confidence_level) / 2, (1 + confidence_level) / 2], axis=0)
    low, high = (np.split(tail, [k, 2 * k]) for tail in tails)
    return NullBand(
        thresholds=mu,
        regret_low=low[0],
        regret_high=high[0],
        regret_limit=float(np.quantile(draws[:, :k].max(axis=1), confidence_level)),
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
    atoms: Resampler, mu: Floats, grid: int | None, swaps: Swaps, bins: int
) -> Callable[[Rng, int], NDArray[np.float64]]:
    """Return a function that redraws outcomes and evaluates everything: one resample a row."""
    prob, weight, coin = atoms.distinct, atoms.weight, atoms.coin(atoms.prob)
    bin_places, grid_places = (placed(prob, None, m, True) for m in (bins, grid or bins))
    multiples = np.arange((grid or 0) + 1) / (grid or 1)

    def tables(at: Floats, weights: Floats, events: NDArray[Any]) -> list[DistinctTable]:
        return [
            drawn_table(at, *pair)
            for pair in zip(np.broadcast_to(weights, events.shape), events, strict=True)
        ]

    def some(stream: Rng, times: int) -> Floats:
        drawn = [atoms.redraw(stream, coin) for _ in range(times)]
        positive = np.stack([draw.positive for draw in drawn])
        each = weight[None]
        if drawn[0].weight is not None:  # it depends on the outcomes
            each = np.stack([np.asarray(draw.weight) for draw in drawn])
        rows = rounded = tables(prob, each, positive)
        if grid is not None:
            rounded = tables(multiples, on_grid(grid_places, each), on_grid(grid_places, positive))
        regret = [
            np.maximum(*SwapCurve.from_table(table, swaps)._sweep(mu)[1:]) for table in rounded
        ]
        value = [value_at(table, mu) for table in rows]
        held = on_grid(bin_places, each)
        with np.errstate(invalid="ignore"):  # there are no rows in some bins
            rates = np.where(held > 0, on_grid(bin_places, positive) / held, np.nan)
        return np.concatenate([regret, value, rates], axis=1)

    return some
