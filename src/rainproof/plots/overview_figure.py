"""One figure with four panels of an assessment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rainproof.assessment.result import Assessment
from rainproof.plots.interval_plots import costs, measures
from rainproof.plots.reliability_diagram import reliability
from rainproof.plots.style import new_figure, plain
from rainproof.plots.threshold_curves import regret
from rainproof.plots.value_plot import forecast_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def overview(a: Assessment, *, figsize: tuple[float, float] = (11.0, 8.5), dpi: float | None = None) -> Figure:
    """Draw the reliability diagram, the value of the forecast, the regret curve and the costs of an assessment.

    Without a task the measures of calibration take the place of the costs.

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
    >>> import rainproof
    >>> a = rainproof.assess([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.4] * 50)
    >>> figure = rainproof.plots.overview(a)
    >>> [ax.get_title() for ax in figure.axes]
    ['Reliability diagram, grid 1/8', 'Value of the forecast', 'Regret curve, rounded to 1/8', 'Measures']
    """
    figure = new_figure(figsize=figsize, dpi=dpi)
    panels = figure.subplots(2, 2)
    changed = a.recalibrator is not None and a.recalibrator.method_ != "none"
    reliability(a.reliability, panels[0, 0], recalibration=a.recalibrator.map_ if a.recalibrator and changed else None)
    forecast_value(a.value, panels[0, 1])
    regret(a.regret, panels[1, 0], band=a.null_band, thresholds=a.task.task.thresholds if a.task else ())
    if a.task is not None and a.task.cost is not None:
        costs(a.task, panels[1, 1])
    else:
        measures(a.measures, panels[1, 1])
    figure.suptitle(a.verdict.headline if a.name is None else plain(f"{a.name}: {a.verdict.headline}"))
    return figure
