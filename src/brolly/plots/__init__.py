"""Pictures of results, with Matplotlib; nothing is computed here.

One function per panel: each takes a result and, as `ax`, the axes to draw into (new ones by default), and returns the
axes. The results' own method ``plot`` calls it. `overview` draws four panels of an assessment in one figure.
Matplotlib's settings are followed and not changed.
"""

from typing import TYPE_CHECKING

from brolly.plots.clinical_plot import clinical, net_benefit, risk_distribution
from brolly.plots.grade_plot import grades
from brolly.plots.grid_curves import grid_choice, profile
from brolly.plots.interval_plots import comparison, costs, measures, segments
from brolly.plots.monitoring_plot import timeline
from brolly.plots.null_histogram import calibration_test
from brolly.plots.overview_figure import overview
from brolly.plots.recalibration_plot import recalibration
from brolly.plots.reliability_diagram import reliability
from brolly.plots.risk_coverage_plot import risk_coverage
from brolly.plots.threshold_curves import decision_curve, regret, switch
from brolly.plots.value_plot import forecast_value

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
