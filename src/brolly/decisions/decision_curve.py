"""The decision curve: the net benefit of acting on the predictions at each threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brolly.core.arrays import Floats, Frozen, freeze

if TYPE_CHECKING:
    from brolly.plots import Axes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DecisionCurve(Frozen):
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
        """Draw the curve into axes (default: new ones) and return them; see `brolly.plots.decision_curve`."""
        from brolly.plots import decision_curve

        return decision_curve(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return built-in types, ready for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("threshold", "forecast", "best", "always")}
        return {"result": "decision_curve", "grid": self.grid, "n": self.n, **arrays}

    def __repr__(self) -> str:
        return f"DecisionCurve({len(self.threshold)} thresholds, grid={self.grid}, n={self.n})"
