"""The reliability diagram: event rate against prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brolly.assessment.reliability import Reliability
from brolly.plots.style import BLUE, GREY, PALE, VERMILION, as_axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNDER, _TOP = -0.2, 1.03  # event rates from 0 to 1, and a strip for the histogram


def reliability(found: Reliability, ax: Axes | None = None) -> Axes:
    """Draw a reliability diagram: the event rate in soft bins against the prediction.

    A calibrated forecast follows the diagonal. Bars are the intervals of the event rates. The grey band is where a
    calibrated forecast with these predictions would lie, each bin by itself. Points are filled where the intervals of
    all bins at once miss that band. The strip at the bottom shows the share of rows in each bin.

    Parameters
    ----------
    found : Reliability
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax, bins = as_axes(ax), found.bins
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="perfect calibration")
    _band(ax, found)
    errors = np.stack([bins.event_rate - bins.low, bins.high - bins.event_rate]).clip(0)
    style: dict[str, Any] = {"color": BLUE, "linewidth": 1.2, "capsize": 0, "linestyle": "none", "zorder": 3}
    ax.errorbar(bins.prediction, bins.event_rate, yerr=errors, **style)
    for off, label in ((False, "event rate"), (True, "event rate, beyond chance")):
        at = found.off == off
        if at.any():
            mark: dict[str, Any] = {"marker": "D", "color": VERMILION} if off else {"marker": "o", "color": BLUE}
            mark |= {"linestyle": "none", "markersize": 5, "label": label, "zorder": 4}
            ax.plot(bins.prediction[at], bins.event_rate[at], markerfacecolor=VERMILION if off else "white", **mark)
    _histogram(ax, found)
    ax.set(xlim=(-0.02, 1.02), ylim=(_UNDER, _TOP), xlabel="prediction", ylabel="event rate")
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.set_title(f"Reliability diagram, grid 1/{bins.grid}")
    legend(ax, "upper left")
    return ax


def _band(ax: Axes, found: Reliability) -> None:
    bins = found.bins
    if len(bins.prediction) == 1:  # a band has no width over a single point
        x = bins.prediction[0]
        ax.plot([x, x], [found.null_low[0], found.null_high[0]], color=PALE, linewidth=8, solid_capstyle="butt")
        return
    label = f"calibrated ({100 * bins.confidence_level:.4g}%)"
    ax.fill_between(bins.prediction, found.null_low, found.null_high, color=PALE, linewidth=0, label=label, zorder=1)


def _histogram(ax: Axes, found: Reliability) -> None:
    """Bars in the strip that the panel keeps free below 0."""
    under = ax.inset_axes((0, 0, 1, -_UNDER / (_TOP - _UNDER) * 0.85), sharex=ax, zorder=0)
    under.bar(found.bins.prediction, found.bins.share, width=0.9 / found.grid, color="0.7", linewidth=0)
    under.set_axis_off()
    under.set_label("share of rows")
