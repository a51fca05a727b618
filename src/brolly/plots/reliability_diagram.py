"""The reliability diagram: how often it happened, where the forecast said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brolly.assessment.result import Assessment
from brolly.plots.style import BLUE, GREY, PALE, VERMILION, as_axes, caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNDER, _TOP = -0.2, 1.03  # the event rate from 0 to 1, and a strip for the histogram


def reliability(a: Assessment, ax: Axes | None = None) -> Axes:
    """How often the event happened against the prediction, in the soft bins of the chosen grid.

    Points on the diagonal are right. The grey band is where a perfectly calibrated forecast with these predictions
    would have its points, each with the assessment's confidence; the bars are the intervals of the event rates. Points
    that all intervals together place off the band of the diagonal are filled. The histogram under it shows how many
    rows there are.

    Parameters
    ----------
    a : Assessment
    ax : matplotlib Axes, optional
        Where to draw; new axes if not said. The histogram is drawn into the lowest part of the same axes.

    Returns
    -------
    matplotlib Axes
    """
    ax, bins = as_axes(ax), a.reliability.bins
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="perfect")
    _band(ax, a)
    errors = np.stack([bins.event_rate - bins.low, bins.high - bins.event_rate]).clip(0)
    style: dict[str, Any] = {"color": BLUE, "linewidth": 1.2, "capsize": 0, "linestyle": "none", "zorder": 3}
    ax.errorbar(bins.prediction, bins.event_rate, yerr=errors, **style)
    for off, label in ((False, "event rate"), (True, "event rate, surely off")):
        at = a.reliability.off == off
        if at.any():
            mark: dict[str, Any] = {"marker": "D", "color": VERMILION} if off else {"marker": "o", "color": BLUE}
            mark |= {"linestyle": "none", "markersize": 5, "label": label, "zorder": 4}
            ax.plot(bins.prediction[at], bins.event_rate[at], markerfacecolor=VERMILION if off else "white", **mark)
    _histogram(ax, a)
    ax.set(xlim=(-0.02, 1.02), ylim=(_UNDER, _TOP), xlabel="prediction", ylabel="how often it happened")
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.set_title(caption(a.name, f"Reliability, in steps of 1/{bins.grid}"))
    ax.legend(loc="upper left", fontsize="small", framealpha=0.8)
    return ax


def _band(ax: Axes, a: Assessment) -> None:
    bins, null = a.reliability.bins, a.reliability
    if len(bins.prediction) == 1:  # a band has no width over a single point
        x = bins.prediction[0]
        ax.plot([x, x], [null.null_low[0], null.null_high[0]], color=PALE, linewidth=8, solid_capstyle="butt")
        return
    label = f"if calibrated ({100 * a.confidence_level:.4g}%)"
    ax.fill_between(bins.prediction, null.null_low, null.null_high, color=PALE, linewidth=0, label=label, zorder=1)


def _histogram(ax: Axes, a: Assessment) -> None:
    """Bars in the strip that the panel keeps free under 0."""
    under = ax.inset_axes((0, 0, 1, -_UNDER / (_TOP - _UNDER) * 0.85), sharex=ax, zorder=0)
    edges = a.histogram.edges
    under.bar(edges[:-1], a.histogram.share, width=np.diff(edges), align="edge", color="0.7", linewidth=0)
    under.set_axis_off()
    under.set_label("histogram")
