"""Pictures of results, with Matplotlib; nothing is computed here.

One function per panel: each takes a result and, as `ax`, the axes to draw into (new ones by default), and returns the
axes. The results' own method ``plot`` calls it. `overview` draws four panels of an assessment in one figure.
Matplotlib's settings are followed and not changed.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rainproof.plots.curves import (
    decision_curve,
    forecast_value,
    grid_choice,
    profile,
    regret,
    risk_coverage,
    switch,
    threshold,
)
from rainproof.plots.diagrams import (
    classes,
    clinical,
    net_benefit,
    overview,
    recalibration,
    reliability,
    risk_distribution,
)
from rainproof.plots.intervals import calibration_test, comparison, costs, grades, measures, segments, timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

__all__ = [
    "calibration_test",
    "classes",
    "clinical",
    "comparison",
    "costs",
    "decision_curve",
    "forecast_value",
    "grades",
    "grid_choice",
    "measures",
    "net_benefit",
    "overview",
    "profile",
    "recalibration",
    "regret",
    "reliability",
    "risk_coverage",
    "risk_distribution",
    "segments",
    "switch",
    "threshold",
    "timeline",
]

_PANELS: dict[str, Callable[..., Any]] = {
    next(iter(draw.__annotations__.values())): draw for draw in map(globals().__getitem__, __all__)
}


def panel(kind: type) -> Callable[..., Any]:
    """Return the function above that draws a type of result: the one whose first parameter is of that type."""
    names = [base.__name__ for base in kind.__mro__]
    found = next((name for name in names if name in _PANELS), None)
    if found is None:
        raise TypeError(f"there is no picture of a {names[0]}")
    return _PANELS[found]
