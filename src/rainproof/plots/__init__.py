"""Pictures of results, with Matplotlib; nothing is computed here.

One function per panel: each takes a result and, as `ax`, the axes to draw into (new ones by default), and returns the
axes. The results' own method ``plot`` calls it. `overview` draws four panels of an assessment in one figure.
Matplotlib's settings are followed and not changed.
"""

from typing import TYPE_CHECKING

from rainproof.plots.curves import decision_curve, forecast_value, grid_choice, profile, regret, risk_coverage, switch
from rainproof.plots.diagrams import clinical, net_benefit, overview, recalibration, reliability, risk_distribution
from rainproof.plots.intervals import calibration_test, comparison, costs, grades, measures, segments, timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

__all__ = [
    "calibration_test",
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
    "timeline",
]
