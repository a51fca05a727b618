"""Pictures of results, with Matplotlib; nothing is computed here.

One function per panel: each takes a result and, as `ax`, the axes to draw into (new ones by default), and returns the
axes. The results' own method ``plot`` calls it. `overview` draws four panels of an assessment in one figure.
Matplotlib's settings are followed and not changed.
"""

from typing import TYPE_CHECKING

from rainproof.plots.clinical_plot import clinical, net_benefit, risk_distribution
from rainproof.plots.grade_plot import grades
from rainproof.plots.grid_curves import grid_choice, profile
from rainproof.plots.interval_plots import comparison, costs, measures, segments
from rainproof.plots.monitoring_plot import timeline
from rainproof.plots.null_histogram import calibration_test
from rainproof.plots.overview_figure import overview
from rainproof.plots.recalibration_plot import recalibration
from rainproof.plots.reliability_diagram import reliability
from rainproof.plots.risk_coverage_plot import risk_coverage
from rainproof.plots.threshold_curves import decision_curve, regret, switch
from rainproof.plots.value_plot import forecast_value

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
