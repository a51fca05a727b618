"""The reliability diagram: event rate against prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.assessment.reliability import Reliability
from rainproof.core.piecewise import PiecewiseMap
from rainproof.plots.style import BLUE, GREEN, GREY, PALE, RARE, VERMILION, as_axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNDER, _TOP = -0.2, 1.03  # event rates from 0 to 1, and a strip for the histogram


def reliability(found: Reliability, ax: Axes | None = None, *, recalibration: PiecewiseMap | None = None) -> Axes:
    """Draw a reliability diagram: the event rate in soft bins against the mean prediction.

    A calibrated forecast follows the diagonal. Bars are the intervals of the event rates. The grey band is where a
    calibrated forecast with these predictions would lie, each bin by itself. Points are filled where the intervals of
    all bins at once miss that band. The strip at the bottom shows the share of rows in each bin. For events that are
    rare, or nearly certain, both axes are logit axes, without the strip; event rates of 0 and 1 are at their ends.

    Parameters
    ----------
    found : Reliability
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.
    recalibration : PiecewiseMap, optional
        The map to recalibrate with, such as ``Recalibrator.map_``, to draw beside the event rates.

    Returns
    -------
    matplotlib Axes
    """
    ax, bins = as_axes(ax), found.bins
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="perfect calibration")
    _band(ax, found)
    errors = np.stack([bins.event_rate - bins.low, bins.high - bins.event_rate]).clip(0)
    style: dict[str, Any] = {"color": BLUE, "linewidth": 1.2, "capsize": 0, "linestyle": "none", "zorder": 3}
    ax.errorbar(bins.mean_prediction, bins.event_rate, yerr=errors, **style)
    for off, label in ((False, "event rate"), (True, "event rate, beyond chance")):
        at = found.off == off
        if at.any():
            mark: dict[str, Any] = {"marker": "D", "color": VERMILION} if off else {"marker": "o", "color": BLUE}
            mark |= {"linestyle": "none", "markersize": 5, "label": label, "zorder": 4}
            ax.plot(
                bins.mean_prediction[at], bins.event_rate[at], markerfacecolor=VERMILION if off else "white", **mark
            )
    if recalibration is not None:
        _map(ax, recalibration)
    _axes(ax, found)
    ax.set_title(f"Reliability diagram, grid 1/{bins.grid}")
    legend(ax, "upper left")
    return ax


def _axes(ax: Axes, found: Reliability) -> None:
    """Plain axes with the histogram, or logit axes."""
    bins = found.bins
    rate = float(bins.share @ bins.event_rate)
    rarer = min(rate, 1 - rate)
    if 0 < rarer < RARE:
        ends = (rarer / 30, 0.5) if rate < 0.5 else (0.5, 1 - rarer / 30)
        inner = bins.mean_prediction[(bins.mean_prediction > 0) & (bins.mean_prediction < 1)]
        low, high = min(ends[0], inner.min(initial=0.5)) / 1.2, max(ends[1], inner.max(initial=0.5))
        ax.set_xscale("logit", nonpositive="clip")
        ax.set_yscale("logit", nonpositive="clip")
        ax.set(xlim=(low, (1 + high) / 2), ylim=(low, (1 + high) / 2))
    else:
        _histogram(ax, found)
        ax.set(xlim=(-0.02, 1.02), ylim=(_UNDER, _TOP))
        ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.set(xlabel="mean prediction", ylabel="event rate")


def _map(ax: Axes, recalibration: PiecewiseMap) -> None:
    """Each piece from its lower edge to its upper one."""
    edges, start, slope = recalibration.edges, recalibration.start, recalibration.slope
    x = np.repeat(edges, 2)[1:-1]
    y = np.stack([start, start + slope * np.diff(edges)], axis=1).ravel()
    ax.plot(x, y, color=GREEN, linestyle=":", linewidth=2, label="recalibration map", zorder=5)


def _band(ax: Axes, found: Reliability) -> None:
    bins = found.bins
    if len(bins.prediction) == 1:  # a band has no width over a single point
        x = bins.mean_prediction[0]
        ax.plot([x, x], [found.null_low[0], found.null_high[0]], color=PALE, linewidth=8, solid_capstyle="butt")
        return
    label = f"calibrated ({100 * bins.confidence_level:.4g}%)"
    ax.fill_between(
        bins.mean_prediction, found.null_low, found.null_high, color=PALE, linewidth=0, label=label, zorder=1
    )


def _histogram(ax: Axes, found: Reliability) -> None:
    """Bars in the strip that the panel keeps free below 0."""
    under = ax.inset_axes((0, 0, 1, -_UNDER / (_TOP - _UNDER) * 0.85), sharex=ax, zorder=0)
    under.bar(found.bins.mean_prediction, found.bins.share, width=0.9 / found.grid, color="0.7", linewidth=0)
    under.set_axis_off()
    under.set_label("share of rows")
