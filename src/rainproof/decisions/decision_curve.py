"""The decision curve: the net benefit of acting on the predictions at each threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rainproof.core.arrays import Floats, Frozen, freeze
from rainproof.core.sample.distinct import DistinctTable
from rainproof.core.shown import Shown

if TYPE_CHECKING:
    from rainproof.plots import Axes


class Acted(NamedTuple):
    """The share of the weight on both sides of each threshold: what is acted on, and what is not."""

    true_positive: Floats
    false_positive: Floats
    false_negative: Floats
    true_negative: Floats

    @classmethod
    def at(cls, table: DistinctTable, threshold: Floats, *, ties: bool) -> Acted:
        """Act on predictions above the thresholds, and with `ties` on those equal to them."""
        total = float(table.negative.sum()) + float(table.positive.sum())
        first = np.searchsorted(table.prob, threshold, "left" if ties else "right")  # that is acted on
        above = [np.append(np.cumsum(mass[::-1])[::-1], 0.0) / total for mass in (table.positive, table.negative)]
        below = [np.insert(np.cumsum(mass), 0, 0.0) / total for mass in (table.positive, table.negative)]
        return cls(*(share[first] for share in (*above, *below)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DecisionCurve(Shown, Frozen):
    """Net benefit against threshold, on these rows: true positives per row, less false positives at the odds.

    Never acting has a net benefit of 0 at every threshold.

    Attributes
    ----------
    threshold : ndarray
        The thresholds mu, in [0, 1).
    forecast : ndarray
        The net benefit of acting if the prediction is at least mu.
    best : ndarray
        The net benefit after the best swap of predictions in hindsight: `forecast` plus the regret over 1 - mu.
    always : ndarray
        The net benefit of always acting.
    grid : int or None
        The grid that predictions are rounded to; None if they are not rounded.
    n : int
        The number of rows.
    """

    threshold: Floats
    forecast: Floats
    best: Floats
    always: Floats
    grid: int | None
    n: int

    def __post_init__(self) -> None:
        freeze(self.threshold, self.forecast, self.best, self.always)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve into axes (default: new ones) and return them; see `rainproof.plots.decision_curve`."""
        from rainproof.plots import decision_curve

        return decision_curve(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return built-in types, ready for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("threshold", "forecast", "best", "always")}
        return {"result": "decision_curve", "grid": self.grid, "n": self.n, **arrays}

    def __repr__(self) -> str:
        return f"DecisionCurve({len(self.threshold)} thresholds, grid={self.grid}, n={self.n})"
