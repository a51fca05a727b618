"""Parts of an assessment that no function outside it returns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.core.arrays import Floats, freeze
from rainproof.core.sample.sample import Sample
from rainproof.core.shown import Shown
from rainproof.core.text import finite
from rainproof.errors import RainproofWarning
from rainproof.measures.measure import Measure

if TYPE_CHECKING:
    from rainproof.plots import Axes

BARS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSummary(Shown):
    """The size of what was assessed.

    Attributes
    ----------
    n : int
        The number of rows; a row whose outcome is a share (`split_outcomes`) counts once.
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
        effective_n, weighted = sample.effective_n, sample._weighted
        if sample._second is not None and sample.sample_weight is not None:
            weight = np.add.reduceat(sample.sample_weight, np.flatnonzero(~sample._second))  # of whole rows
            effective_n = sample.total_weight**2 / float(weight @ weight)
            weighted = not np.allclose(weight, weight[0], rtol=1e-12)
        return cls(
            n=sample._whole_rows,
            events=sample.event_rate * sample.total_weight,
            event_rate=sample.event_rate,
            total_weight=sample.total_weight,
            effective_n=effective_n,
            weighted=weighted,
            compressed=sample.grid,
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate(Shown):
    """The value of a measure on these rows; `confidence_interval` says what it is in the population.

    Attributes
    ----------
    measure : Measure
        The measure: its name, symbol, range and whose regret a small value bounds.
    value : float
        The value on these rows.
    """

    measure: Measure
    value: float

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
            "actionable": m.actionable,
            "range": [m.range[0], finite(m.range[1])],
            "reference": m.reference,
            "score": self.is_score,
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Histogram(Shown):
    """The distribution of the predictions: the share of rows between edges, and of rows with the event."""

    edges: Floats
    share: Floats
    share_events: Floats

    def __post_init__(self) -> None:
        freeze(self.edges, self.share, self.share_events)

    @classmethod
    def of(cls, sample: Sample, bars: int = BARS) -> Histogram:
        """Count rows by bar; exact for compressed samples too. A prediction of 1 is in the last bar."""
        bars = min(bars, sample.grid or bars)
        cells = sample.compress(bars)
        assert cells.sample_weight is not None
        at = np.minimum((cells.y_prob * bars).astype(np.intp), bars - 1)
        weight = cells.sample_weight / sample.total_weight
        return cls(
            edges=np.arange(bars + 1) / bars,
            share=np.bincount(at, weight, bars).astype(np.float64, copy=False),
            share_events=np.bincount(at, weight * (cells.y_true == 1), bars).astype(np.float64, copy=False),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it by outcome into axes (default: new ones) and return them; see `rainproof.plots.risk_distribution`."""
        from rainproof.plots import risk_distribution

        return risk_distribution(self, ax)

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in self.__slots__}


class MeasureValues:
    """The values of measures on one sample, computed when they are first asked for: the verdict needs none of them."""

    def __init__(self, measures: Sequence[Measure], sample: Sample) -> None:
        self._measures, self._sample = measures, sample

    def __getstate__(self) -> dict[str, Any]:
        return {"estimates": self.estimates}  # not the rows

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """All of them; values that need care are not warned of again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RainproofWarning)
            return tuple(Estimate(measure=measure, value=measure(self._sample)) for measure in self._measures)
