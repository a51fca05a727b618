"""Parts of an assessment that no function outside it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brolly.core.arrays import Floats, freeze
from brolly.core.sample.distinct import DistinctTable
from brolly.core.sample.sample import Sample
from brolly.core.text import finite
from brolly.decisions.swap import SwapRegret, swap_regret
from brolly.decisions.task import DecisionTask
from brolly.measures.measure import Measure

_BARS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSummary:
    """The size of what was assessed.

    Attributes
    ----------
    n : int
        The number of rows.
    events : float
        The weight of the rows with the event: their number, where rows have no weights.
    event_rate, total_weight, effective_n : float
        As for a `Sample`.
    weighted : bool
        Whether the rows have unequal weights.
    compressed : int or None
        The grid of the compression, if the sample is compressed.
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
        return cls(
            n=sample.n,
            events=sample.event_rate * sample.total_weight,
            event_rate=sample.event_rate,
            total_weight=sample.total_weight,
            effective_n=sample.effective_n,
            weighted=sample._weighted,
            compressed=sample.grid,
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """The value of a measure on these rows, and a confidence interval for the population.

    Attributes
    ----------
    measure : Measure
        The measure: its name, symbol, range and whose regret a small value bounds.
    value : float
        The value on these rows.
    low, high : float or None
        The interval for the population's value, at the assessment's confidence level. Near calibration most of the
        value on few rows is chance, and it lies above its interval. None where computing it would take minutes.
    """

    measure: Measure
    value: float
    low: float | None
    high: float | None

    @property
    def is_score(self) -> bool:
        """Whether the measure also rewards discrimination, so that it shares no axis with the others."""
        return self.measure.kind == "score"

    def to_dict(self) -> dict[str, Any]:
        m = self.measure
        return {
            "name": m.name,
            "symbol": m.symbol,
            "value": finite(self.value),
            "low": finite(self.low),
            "high": finite(self.high),
            "actionable": m.actionable,
            "range": [m.range[0], finite(m.range[1])],
            "reference": m.reference,
            "score": self.is_score,
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Histogram:
    """The distribution of the predictions: the share of rows between edges, and of rows with the event."""

    edges: Floats
    share: Floats
    share_events: Floats

    def __post_init__(self) -> None:
        freeze(self.edges, self.share, self.share_events)

    @classmethod
    def of(cls, sample: Sample) -> Histogram:
        """Count rows by bar; exact for compressed samples too. A prediction of 1 is in the last bar."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """The loss of the user's own decision: acting on the predictions as they are, and on rounded ones.

    Attributes
    ----------
    task : DecisionTask
    regret : SwapRegret
        The swap regret of taking the best action for each prediction.
    rounded : SwapRegret
        The same with a `RoundingPolicy` on `grid`, in expectation over the rounding.
    grid : int
        The grid of the guarantee.
    """

    task: DecisionTask
    regret: SwapRegret
    rounded: SwapRegret
    grid: int

    @classmethod
    def of(cls, sample: Sample, task: DecisionTask, grid: int) -> TaskResult:
        regret = swap_regret(sample, task=task)
        on = sample._on_grid(grid).rounded
        table = DistinctTable(on.index / grid, np.maximum(on.weight - on.positive, 0.0), on.positive)
        rounded = swap_regret(Sample._from_distinct(table, sample.n), task=task)
        return cls(task=task, regret=regret, rounded=rounded, grid=grid)

    def to_dict(self) -> dict[str, Any]:
        found = self.regret.to_dict()
        return {
            "task": self.task.to_dict(),
            "text": str(self.task),
            "thresholds": list(self.task.thresholds),
            "actions": list(self.task.actions),
            "value": self.regret.value,
            "in_units": self.regret.in_units,
            "scale": self.task.scale,
            "swaps": found["swaps"],
            "rounded": {"grid": self.grid, "value": self.rounded.value, "in_units": self.rounded.in_units},
        }
