"""What the rows show: their number, the distribution of predictions, values of measures, and
reliability.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.cells import check_grid
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.validation import BaseRate
from rainproof.decisions.grid_choice import GridChoice, choose_grid
from rainproof.fits.bins import equal_width_edges
from rainproof.inference.bands import NullBand, SoftBins, null_band, soft_bins
from rainproof.inference.options import Seed
from rainproof.measures.catalogue import CATALOGUE, Measure

BARS = 64


@result_class
class DataSummary(Result):
    """The size of what was assessed.

    Attributes
    ----------
    n : int
        The number of rows; a row whose outcome is a share counts once.
    events : float
        The weight of the rows with the event: their number, where rows have no weights.
    event_rate, total_weight, effective_n : float
        As for a `Sample`.
    weighted : bool
        Whether the rows have unequal weights.
    compressed : int or None
        The grid of the compression, if the sample is compressed.
    base_rate : float, tuple of float or None
        The event rate of the population, or its range, if it was stated. Then `events` counts rows,
        and `event_rate` is the base rate (the middle of a range, in log odds).
    """

    n: int
    events: float
    event_rate: float
    total_weight: float
    effective_n: float
    weighted: bool
    compressed: int | None
    base_rate: BaseRate | None = None

    @classmethod
    def of(cls, sample: Sample) -> DataSummary:
        return cls(
            n=sample.n,
            events=sample.event_rate * sample.total_weight
            if sample.design.strata is None
            else float(sample.events),
            event_rate=sample.event_rate,
            total_weight=sample.total_weight,
            effective_n=sample.effective_n,
            weighted=sample.units.has_weights,
            compressed=sample.grid,
            base_rate=sample.base_rate,
        )


@result_class
class Estimate(Result):
    """The value of a measure on these rows; `confidence_interval` says what it is in the
    population.

    Attributes
    ----------
    name, symbol : str
        The measure, as `list_measures` names it, and as papers do.
    value : float
        The value on these rows.
    actionable : str
        Whose regret a small value bounds.
    range : tuple of float
        The smallest and the largest possible value.
    reference : str
        Where the measure was defined.
    score : bool
        Whether the measure also rewards discrimination, so that it shares no axis with the others.
    """

    _shown: ClassVar = ("name", "value")

    name: str
    symbol: str
    value: float
    actionable: str
    range: tuple[float, float]
    reference: str
    score: bool

    @classmethod
    def of(cls, measure: Measure, value: float) -> Estimate:
        """Put the value beside what the measure is."""
        return cls(
            name=measure.name,
            symbol=measure.symbol,
            value=value,
            actionable=measure.actionable,
            range=measure.range,
            reference=measure.reference,
            score=measure.kind == "score",
        )

    @property
    def measure(self) -> Measure:
        """The measure."""
        return CATALOGUE[self.name]


@result_class
class Histogram(Result):
    """The distribution of the predictions: the share of rows between edges, and of rows with the
    event.
    """

    edges: Floats
    share: Floats
    share_events: Floats

    @classmethod
    def of(cls, sample: Sample, bars: int = BARS) -> Histogram:
        """Count rows by bar; exact for compressed samples too. A prediction of 1 is in the last
        bar.
        """
        bars = min(bars, sample.grid or bars)
        cells = sample.tables.cell_table(bars).coarsen(bars)
        at = np.minimum(cells.slot >> 1, bars - 1)
        weight = cells.weight[0] / sample.total_weight
        return cls(
            edges=equal_width_edges(bars),
            share=np.bincount(at, weight, bars).astype(np.float64, copy=False),
            share_events=np.bincount(at, weight * (cells.slot & 1), bars).astype(
                np.float64, copy=False
            ),
        )


GRIDS = (8, 16, 32, 64, 128)  # whose bins make a readable picture
# cells to draw from: moves no measure by more than about 1/2048, and a draw takes a millisecond
_CELLS = 1 << 11


@result_class
class Reliability(Result):
    """Event rates against predictions in soft bins, and where those of a calibrated forecast would
    lie.

    Attributes
    ----------
    bins : SoftBins
        For each soft bin the prediction, the share of rows, the event rate and its intervals.
    null_low, null_high : ndarray
        Between these the event rate of a perfectly calibrated forecast with the same predictions
        lies, in each bin by itself, with the confidence level of the bins.
    """

    method: ClassVar[str] = (
        "Clopper-Pearson at the effective number of rows; for all bins at once by Bonferroni"
    )
    bins: SoftBins
    null_low: Floats
    null_high: Floats

    @classmethod
    def of(cls, bins: SoftBins, null: NullBand) -> Reliability:
        """Put the bins beside the band of calibrated forecasts."""
        at = np.searchsorted(null.at, bins.prediction)
        return cls(bins=bins, null_low=null.rate_low[at], null_high=null.rate_high[at])

    @property
    def grid(self) -> int:
        """The bins stand at the multiples of ``1/grid``."""
        return self.bins.grid

    @property
    def off(self) -> NDArray[np.bool_]:
        """Which bins miss the band of calibrated forecasts, by intervals that hold for all bins at
        once.
        """
        return np.asarray(
            (self.bins.low_all > self.null_high) | (self.bins.high_all < self.null_low)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the diagram in built-in types, ready for JSON."""
        bins = self.bins
        names = ("prediction", "share", "event_rate", "low", "high", "low_all", "high_all")
        return {
            "grid": bins.grid,
            **{name: getattr(bins, name).tolist() for name in names},
            "rows": (bins.share * bins.n).tolist(),
            "null_mean": bins.mean_prediction.tolist(),
            "null_low": self.null_low.tolist(),
            "null_high": self.null_high.tolist(),
            "off": self.off.tolist(),
            "method": self.method,
        }

    def __repr__(self) -> str:
        bins = self.bins
        return (
            f"Reliability(grid={bins.grid}, {len(bins.prediction)} bins, {self.off.sum()} off, "
            f"n={bins.n})"
        )


def reliability_curve(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    grid: int | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 199,
    rng: Seed = None,
) -> Reliability:
    r"""Compute a reliability diagram: how often the event happened, for each predicted probability.

    The bins are soft: a prediction between two multiples of ``1/grid`` counts in both, in
    proportion to how near it is. So no point jumps when a prediction crosses an edge. Each event
    rate has an interval, and each bin the band in which a perfectly calibrated forecast with these
    predictions would lie.

    Explained in docs/guide/clinical.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.
    grid : int, optional
        The bins stand at multiples of ``1/grid``: a power of two. Default: the coarsest grid from 8
        to 128 on which acting loses no more than on the best grid, within one standard error.
    confidence_level : float
        Of the intervals and of the band.
    n_resamples : int
        How many calibrated forecasts are drawn for the band.
    rng : None, int or numpy.random.Generator
        The source of randomness for the band; the same seed gives the same band.

    Returns
    -------
    Reliability
        Draw it with ``.plot()``.

    Notes
    -----
    A row moves the loss on a grid by at most 2/n, so its standard error is at most :math:`1/\sqrt
    n` (Efron and Stein). Of all grids whose loss is that close to the smallest, the coarsest has
    the most rows in each bin. Of more than 2048 rows the band is drawn from their compression to
    2048 cells.

    References
    ----------
    Brocker, Smith (2007), doi:10.1175/WAF993.1 (the band). Efron, Stein (1981),
    doi:10.1214/aos/1176345462.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < 0.5 + (p - 0.5) / 4       # overconfident
    >>> rainproof.clinical.reliability_curve(y, p, rng=0)
    Reliability(grid=8, 9 bins, 6 off, n=2000)
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    sample.design.require("reliability_curve", independent=True)
    steps = (
        shown_grid(choose_grid(sample), sample)
        if grid is None
        else check_grid(grid, compressed=sample.grid)
    )
    bins = soft_bins(sample, steps, confidence_level=confidence_level)
    null = null_band(
        for_resampling(sample),
        grid=steps,
        bins=steps,
        thresholds=[0.5],
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
    )
    return Reliability.of(bins, null)


def shown_grid(choice: GridChoice, sample: Sample) -> int:
    """Return the coarsest grid that loses no more than the best one, within a standard error."""
    close = choice.losses <= choice.loss + 1 / math.sqrt(sample.effective_n)
    grid = int(choice.grids[close][0])
    return min(max(grid, GRIDS[0]), GRIDS[-1], sample.grid or GRIDS[-1])


def for_resampling(sample: Sample) -> Sample:
    """Return a sample that is cheap to redraw: the rows if they are few, else their compression."""
    return sample.pooled(_CELLS) if (sample.grid or sample.n) > _CELLS else sample
