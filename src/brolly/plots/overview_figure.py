"""One figure with four panels of an assessment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brolly.assessment.result import Assessment
from brolly.plots.grid_curves import profile
from brolly.plots.interval_plots import measures
from brolly.plots.reliability_diagram import reliability
from brolly.plots.style import new_figure, plain
from brolly.plots.threshold_curves import regret

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def overview(a: Assessment, *, figsize: tuple[float, float] = (11.0, 8.5), dpi: float | None = None) -> Figure:
    """Draw the reliability diagram, the regret curve, SCDL by grid and the measures of an assessment.

    Parameters
    ----------
    a : Assessment
    figsize : tuple of float
        Width and height in inches.
    dpi : float, optional
        Dots per inch. Default: Matplotlib's.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import brolly
    >>> a = brolly.assess([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.4] * 50)
    >>> figure = brolly.plots.overview(a)
    >>> [ax.get_title() for ax in figure.axes]
    ['Reliability diagram, grid 1/8', 'Regret curve, rounded to 1/8', 'SCDL by grid', 'Measures']
    """
    figure = new_figure(figsize=figsize, dpi=dpi)
    panels = figure.subplots(2, 2)
    reliability(a.reliability, panels[0, 0])
    regret(a.regret, panels[0, 1], band=a.null_band, thresholds=a.task.task.thresholds if a.task else ())
    profile(a.profile, panels[1, 0])
    measures(a.measures, panels[1, 1])
    figure.suptitle(a.verdict.headline if a.name is None else plain(f"{a.name}: {a.verdict.headline}"))
    return figure
