"""What an assessment is made of beside the results of the rooms below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brolly.core.arrays import Floats, freeze
from brolly.core.sample.sample import Sample
from brolly.decisions.policy import RoundingPolicy
from brolly.decisions.swap import SwapRegret, swap_regret
from brolly.decisions.task import DecisionTask
from brolly.inference.soft_bins import SoftBins
from brolly.measures.measure import Measure

_BARS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSummary:
    """What was assessed, in numbers.

    Attributes
    ----------
    n : int
        The number of rows.
    events : float
        The weight of the rows where the event happened: their number, where rows have no weights.
    event_rate, total_weight, effective_n : float
        As of a `Sample`.
    weighted : bool
        Whether rows count differently.
    compressed : int or None
        The grid of the compression, if the sample came compressed.
    """

    n: int
    events: float
    event_rate: float
    total_weight: float
    effective_n: float
    weighted: bool
    compressed: int | None

    @classmethod
    def of(cls, sample: Sample) -> DataSummary:
        weights, counts = sample.sample_weight, sample.counts
        return cls(
            n=sample.n,
            events=sample.event_rate * sample.total_weight,
            event_rate=sample.event_rate,
            total_weight=sample.total_weight,
            effective_n=sample.effective_n,
            weighted=weights is not None and (counts is None or not np.array_equal(weights, counts)),
            compressed=sample.grid,
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A measure's value on these rows, and between which values the population's lies.

    Attributes
    ----------
    measure : Measure
        Which measure: its name, symbol, range and what a small value promises.
    value : float
        On these rows.
    low, high : float or None
        Between which values that of the population lies, at the assessment's confidence. Near calibration chance
        is most of the value, which then lies above them. None where they would take minutes to work out.
    """

    measure: Measure
    value: float
    low: float | None
    high: float | None

    @property
    def is_score(self) -> bool:
        """Whether it also rewards telling cases apart, so that it cannot stand on one axis with the others."""
        return self.measure.kind == "score"

    def to_dict(self) -> dict[str, Any]:
        m = self.measure
        return {
            "name": m.name,
            "symbol": m.symbol,
            "value": _finite(self.value),
            "low": _finite(self.low),
            "high": _finite(self.high),
            "promise": m.actionable,
            "range": [m.range[0], _finite(m.range[1])],
            "reference": m.reference,
            "score": self.is_score,
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Histogram:
    """How the predictions are spread: the share of rows between neighbouring edges, and of those with the event."""

    edges: Floats
    share: Floats
    share_events: Floats

    def __post_init__(self) -> None:
        freeze(self.edges, self.share, self.share_events)

    @classmethod
    def of(cls, sample: Sample) -> Histogram:
        """Exact for a compressed sample too: its cells fit the bars. A prediction of 1 is in the last."""
        bars = min(_BARS, sample.grid or _BARS)
        cells = sample.compress(bars)
        assert cells.sample_weight is not None
        at = np.minimum((cells.y_prob * bars).astype(np.intp), bars - 1)
        weight = cells.sample_weight / sample.total_weight
        return cls(
            edges=np.arange(bars + 1) / bars,
            share=np.bincount(at, weight, bars).astype(np.float64, copy=False),
            share_events=np.bincount(at, weight * (cells.y_true == 1), bars).astype(np.float64, copy=False),
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Reliability:
    """How often it happened against what was said, and where a perfectly calibrated forecast would be.

    Attributes
    ----------
    bins : SoftBins
        For each soft bin its prediction, its share of the rows, its event rate with intervals.
    null_low, null_high : ndarray
        Between which values the event rate of a perfectly calibrated forecast with these predictions lies, in each bin
        with the assessment's confidence.
    """

    bins: SoftBins
    null_low: Floats
    null_high: Floats

    def __post_init__(self) -> None:
        freeze(self.null_low, self.null_high)

    @property
    def grid(self) -> int:
        """The bins stand at the multiples of ``1/grid``."""
        return self.bins.grid

    @property
    def off(self) -> NDArray[np.bool_]:
        """Which bins miss the band of calibration with the intervals of all bins taken together."""
        off: NDArray[np.bool_] = (self.bins.low_all > self.null_high) | (self.bins.high_all < self.null_low)
        return off

    def to_dict(self) -> dict[str, Any]:
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
            "method": "Clopper-Pearson at the effective number of rows; _all: shared among the bins (Bonferroni)",
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RegretBand:
    """The regret curve that a perfectly calibrated forecast with these predictions would show by chance.

    Attributes
    ----------
    threshold : ndarray
    low, high : ndarray
        Between which values its regret lies at each threshold, with the assessment's confidence.
    highest : float
        What it stays below at all thresholds at once.
    """

    threshold: Floats
    low: Floats
    high: Floats
    highest: float

    def __post_init__(self) -> None:
        freeze(self.threshold, self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        return {
            "null_threshold": self.threshold.tolist(),
            "null_low": self.low.tolist(),
            "null_high": self.high.tolist(),
            "null_highest": self.highest,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """What the user's own decision gave up: as they would act on the predictions, and through the rounding policy.

    Attributes
    ----------
    task : DecisionTask
    regret : SwapRegret
        Of taking the action that is best if the prediction is right.
    rounded : SwapRegret
        Of acting through a `RoundingPolicy` on the chosen grid; for a quadratic task the same as `regret`.
    grid : int
        That grid.
    """

    task: DecisionTask
    regret: SwapRegret
    rounded: SwapRegret
    grid: int

    @classmethod
    def of(cls, sample: Sample, task: DecisionTask, grid: int) -> TaskResult:
        regret = swap_regret(sample, task=task)
        rounded = swap_regret(sample, task=task, response=RoundingPolicy(task, grid)) if task.actions else regret
        return cls(task=task, regret=regret, rounded=rounded, grid=grid)

    @property
    def advice(self) -> tuple[str, ...]:
        """Which change of habit would have saved it, the best first."""
        return self.regret.advice

    def to_dict(self) -> dict[str, Any]:
        found = self.regret.to_dict()
        return {
            "task": self.task.to_dict(),
            "words": str(self.task),
            "thresholds": list(self.task.thresholds),
            "actions": list(self.task.actions),
            "value": self.regret.value,
            "in_units": self.regret.in_units,
            "scale": self.task.scale,
            "swaps": found["swaps"],
            "swap_words": list(self.advice),
            "rounded": {"grid": self.grid, "value": self.rounded.value, "in_units": self.rounded.in_units},
        }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
