"""Bands for plots: the curves and the reliability diagram that a calibrated forecaster shows by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, freeze
from rainproof.core.grid.cells import check_grid
from rainproof.core.regret import RegretCurve, Swaps, check_swaps
from rainproof.core.sample.distinct import DistinctTable
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.shown import Shown
from rainproof.core.text import finite
from rainproof.decisions.forecast_value import value_at
from rainproof.errors import InputError
from rainproof.inference.resampling import Progress, Seed, as_seed, check_resamples, check_share, draw_batches
from rainproof.inference.resampling_units import Atoms, Rng, as_atoms
from rainproof.inference.statistic import Places

_ARRAYS = ("thresholds", "regret_low", "regret_high", "value_low", "value_high", "at", "rate_low", "rate_high")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NullBand(Shown):
    """What a calibrated forecaster with these predictions shows by chance: two curves, and the reliability diagram.

    Attributes
    ----------
    thresholds : ndarray
        Decision thresholds.
    regret_low, regret_high : ndarray
        The band of the regret curve, at each threshold by itself.
    regret_limit : float
        The value that the whole regret curve (at these thresholds) does not exceed with probability `confidence_level`.
    value_low, value_high : ndarray
        The band of the gain over no forecast (`forecast_value`), at each threshold by itself.
    at : ndarray
        The points ``j / bins``.
    rate_low, rate_high : ndarray
        The band of the event rate in the soft bin at each point, by itself; NaN where there are no rows.
    bins : int
        The number of soft bins, less one.
    grid : int or None
        The grid that predictions are rounded to before the regret curve is computed.
    swaps, confidence_level, n_resamples, n, seed
        As asked for; the number of rows.
    """

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

    def __post_init__(self) -> None:
        freeze(*(getattr(self, name) for name in _ARRAYS))

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON (where NaN is None)."""
        facts = ("regret_limit", "bins", "grid", "swaps", "confidence_level", "n_resamples", "n", "seed")
        return {
            "result": "null_band",
            "method": "predictions kept, outcomes redrawn",
            **{name: list(map(finite, getattr(self, name).tolist())) for name in _ARRAYS},
            **{name: getattr(self, name) for name in facts},
        }

    def __repr__(self) -> str:
        return (
            f"NullBand(regret_limit={self.regret_limit:.6g}, thresholds={len(self.thresholds)}, bins={self.bins}, "
            f"confidence_level={self.confidence_level:g}, n={self.n})"
        )


def null_band(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    thresholds: ArrayLike | None = None,
    grid: int | None = None,
    swaps: Swaps = "all",
    bins: int = 16,
    confidence_level: float = 0.95,
    n_resamples: int = 199,
    rng: Seed = None,
    progress: Progress | None = None,
) -> NullBand:
    """Compute bands for the regret curve, the decision curve and the reliability diagram of a calibrated forecaster.

    A curve within the band is no evidence of miscalibration. A curve outside of it is, at a threshold that was chosen
    in advance. For the worst of many thresholds use `regret_limit` or `calibration_test`. Outcomes are drawn
    independently: where rows depend on each other, the bands are too narrow.

    Explained in docs/inference-resampling.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label
        As for `calibration_test`; the outcomes are not used.
    thresholds : array_like, optional
        The thresholds of the curves. Default: 0, 0.01, ..., 1.
    grid, swaps
        As for `regret_curve`.
    bins : int
        The grid of the soft bins of the reliability diagram: a power of two.
    confidence_level : float
        The probability that a calibrated forecaster stays within the band, at each point by itself.
    n_resamples : int
        The number of calibrated forecasters drawn. 199 draws are enough for a band that is drawn, not tested.
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
    >>> band = rainproof.null_band(np.zeros(1000), p, bins=4, n_resamples=99, rng=0)
    >>> bool(((band.rate_low < band.at) & (band.at < band.rate_high))[1:-1].all())
    True
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    confidence_level, size, bins = (
        check_share(confidence_level, "confidence_level"),
        check_resamples(n_resamples),
        check_grid(bins),
    )
    check_swaps(swaps)
    grid = grid if grid is None else check_grid(grid)
    mu = np.unique(np.asarray(np.linspace(0, 1, 101) if thresholds is None else thresholds, np.float64))
    if mu.size == 0 or not ((mu >= 0) & (mu <= 1)).all():
        raise InputError("thresholds must be numbers in [0, 1], at least one")
    generator, seed = as_seed(rng)
    k = len(mu)
    some = _curves(as_atoms(sample), mu, grid, swaps, bins)
    draws = draw_batches(some, size, generator, progress, width=2 * k + bins + 1)
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
        seed=seed,
    )


def _curves(
    atoms: Atoms, mu: Floats, grid: int | None, swaps: Swaps, bins: int
) -> Callable[[Rng, int], NDArray[np.float64]]:
    """Return a function that redraws outcomes and evaluates everything: one resample a row."""
    prob, weight, coin = atoms.distinct, atoms.weight, atoms.coin(atoms.prob)
    on_bins = Places(prob, weight, bins)
    on_grid = None if grid is None else Places(prob, weight, grid)

    def some(stream: Rng, times: int) -> Floats:
        positive = np.stack([atoms.redraw(stream, coin).positive for _ in range(times)])
        rows = rounded = _tables(prob, weight, positive)
        if on_grid is not None and grid is not None:
            rounded = _tables(np.arange(grid + 1) / grid, on_grid.weight, on_grid.sums(positive))
        regret = [RegretCurve.from_table(table, swaps)._sweep(mu).value for table in rounded]
        value = [value_at(table, mu) for table in rows]
        return np.concatenate([regret, value, event_rates(on_bins.weight, on_bins.sums(positive))], axis=1)

    return some


def _tables(prob: Floats, weight: Floats, positive: NDArray[Any]) -> list[DistinctTable]:
    """Return the table of each resample, a row of weights of events."""
    some = weight > 0
    negative = np.maximum(weight - positive, 0.0)  # two sums, rounded apart
    pairs = zip(negative, positive.astype(np.float64), strict=True)
    return [DistinctTable(prob[some], *(side[some] for side in pair)) for pair in pairs]


def event_rates(weight: Floats, positive: Floats) -> Floats:
    """Return the event rate in each soft bin, for each row of weights of events; NaN where there are no rows."""
    with np.errstate(invalid="ignore"):
        return np.where(weight > 0, positive / weight, np.nan)
