"""Pictures of an assessment or a timeline, with Matplotlib; nothing is computed here.

``reliability``, ``regret``, ``profile``, ``measures`` and ``segments`` each draw one panel of an assessment, into
your own axes or new ones; ``overview`` draws the first four in one figure; ``timeline`` draws what
`brolly.monitor` found. Matplotlib's settings are followed and not changed.
"""

from typing import TYPE_CHECKING

from brolly.plots.grid_curves import profile
from brolly.plots.interval_plots import measures, segments
from brolly.plots.monitoring_plot import timeline
from brolly.plots.overview_figure import overview
from brolly.plots.reliability_diagram import reliability
from brolly.plots.threshold_curves import regret

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

__all__ = ["measures", "overview", "profile", "regret", "reliability", "segments", "timeline"]
