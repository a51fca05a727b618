"""One figure with four panels: what ``a.plot()`` draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brolly.assessment.result import Assessment
from brolly.plots.grid_curves import profile
from brolly.plots.interval_plots import measures
from brolly.plots.reliability_diagram import reliability
from brolly.plots.style import new_figure
from brolly.plots.threshold_curves import regret

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def overview(a: Assessment, *, figsize: tuple[float, float] = (11.0, 8.5), dpi: float | None = None) -> Figure:
    """The four panels in one figure: reliability, regret, profile, measures.

    Parameters
    ----------
    a : Assessment
    figsize : tuple of float
        Width and height in inches.
    dpi : float, optional
        Dots per inch; Matplotlib's default if None.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import brolly
    >>> a = brolly.assess([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.4] * 50)
    >>> figure = brolly.plots.overview(a)
    >>> [ax.get_title() for ax in figure.axes]
    ['Reliability, in steps of 1/8', 'Regret, rounded to 1/8', 'Balance', 'Measures']
    """
    figure = new_figure(figsize=figsize, dpi=dpi)
    panels = figure.subplots(2, 2)
    for ax, draw in zip(panels.flat, (reliability, regret, profile, measures), strict=True):
        draw(a, ax)
    figure.suptitle(a.verdict.headline)
    return figure
