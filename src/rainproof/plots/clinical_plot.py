"""Pictures for clinical prediction models: net benefit of models, risk distribution, and the core set in one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.assessment.clinical import ClinicalPerformance
from rainproof.assessment.components import BARS, Histogram
from rainproof.inference.net_benefit import NetBenefit
from rainproof.plots.reliability_diagram import reliability
from rainproof.plots.style import BLUE, GREEN, GREY, ORANGE, VERMILION, as_axes, legend, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (BLUE, GREEN, VERMILION, "#CC79A7", "#56B4E9", "#F0E442")
_LINES: tuple[Any, ...] = ("-", ":", (0, (8, 2)), (0, (1, 3)), (0, (4, 1, 1, 1, 1, 1)), (0, (12, 2, 1, 2)))
_LEAST = 1e-3


def net_benefit(found: NetBenefit, ax: Axes | None = None) -> Axes:
    """Draw decision curves: the net benefit of each model at each threshold, beside treating all and none.

    Bands are intervals for each threshold by itself.

    Parameters
    ----------
    found : NetBenefit
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    ax.plot(found.threshold, found.treat_all, color=ORANGE, linestyle="--", linewidth=1.5, label="treat all")
    ax.axhline(0, color=GREY, linestyle="-.", linewidth=1, label="treat none")
    for k, name in enumerate(found.names):
        colour, line = _COLOURS[k % len(_COLOURS)], _LINES[k % len(_LINES)]
        ax.fill_between(found.threshold, found.low[k], found.high[k], color=colour, alpha=0.15, linewidth=0)
        ax.plot(found.threshold, found.value[k], color=colour, linestyle=line, linewidth=1.5, label=plain(name))
    top = max(float(found.value.max()), float(found.treat_all.max()), _LEAST)
    ax.set(xlim=(0, 1), ylim=(-0.15 * top, 1.1 * top), xlabel="threshold", ylabel="net benefit per row")
    ax.set_title("Decision curve")
    legend(ax, "upper right")
    return ax


def risk_distribution(found: Histogram, ax: Axes | None = None) -> Axes:
    """Draw the distribution of predictions among rows with the event (above) and without it (below).

    Each side is scaled by its own highest bar: with rare events the upper side would be invisible otherwise.

    Parameters
    ----------
    found : Histogram
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    sides = (("with the event", found.share_events, BLUE, 1), ("without", found.share - found.share_events, ORANGE, -1))
    for label, share, colour, sign in sides:
        height = sign * share / max(float(share.max()), np.finfo(float).tiny)
        ax.bar(found.edges[:-1], height, np.diff(found.edges), align="edge", color=colour, linewidth=0, label=label)
    ax.axhline(0, color=GREY, linewidth=1)
    some = np.flatnonzero(found.share)  # narrow bars: all risks are low, or all high
    ends = (found.edges[some[0]], found.edges[some[-1] + 1]) if len(found.share) > BARS else (0, 1)
    ax.set(xlim=ends, ylim=(-1.1, 1.35), yticks=[], xlabel="prediction", ylabel="share of rows")
    ax.set_title("Risk distribution by outcome")
    legend(ax, "upper right", ncols=2)
    return ax


def clinical(found: ClinicalPerformance) -> Figure:
    """Draw the calibration plot, the decision curve and the risk distribution in one figure.

    Parameters
    ----------
    found : ClinicalPerformance

    Returns
    -------
    matplotlib Figure
    """
    figure = new_figure(figsize=(13, 4.3))
    axes = figure.subplots(1, 3)
    reliability(found.reliability, axes[0])
    net_benefit(found.net_benefit, axes[1])
    risk_distribution(found.risk_distribution, axes[2])
    return figure
