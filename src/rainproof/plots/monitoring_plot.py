"""A forecast over time: SCDL and the guarantee, window by window, and when the forecast changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rainproof.inference.monitoring import Timeline
from rainproof.plots.style import BLUE, HEADROOM, ORANGE, VERMILION, as_axes, legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = 8  # period names that fit under the axis


def timeline(line: Timeline, ax: Axes | None = None) -> Axes:
    """Draw SCDL and the guaranteed expected loss of each window, and where the forecast was not calibrated.

    Parameters
    ----------
    line : Timeline
        What `rainproof.monitor` returned.
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    at = range(len(line.windows))
    bounds = [math.nan if w.bound is None else w.bound for w in line.windows]
    label = f"expected loss of every decision, at most ({100 * line.confidence_level:.4g}%)"
    ax.plot(at, bounds, color=ORANGE, linestyle="--", marker="s", markersize=3, label=label)
    ax.plot(at, [w.value for w in line.windows], color=BLUE, marker="o", markersize=3, label="SCDL on these rows")
    for number, change in enumerate(line.changes):
        first = number == 0
        last = next(k for k, w in enumerate(line.windows) if w.label == change.last_alarm)
        ax.axvspan(change.index - 0.5, last + 0.5, color=VERMILION, alpha=0.12, lw=0)
        ax.axvline(change.index - 0.5, color=VERMILION, linestyle=":", label="not calibrated since" if first else None)
        ax.axvline(change.alarm_index, color=VERMILION, lw=1, label="first alarm" if first else None)
        ax.annotate(
            plain(change.label),
            (change.index - 0.5, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -86),
            textcoords="offset points",
            color=VERMILION,
            fontsize="small",
        )
    step = -(-len(line.windows) // _LABELS)
    ax.set_xticks(list(at)[::step], [plain(w.label) for w in line.windows][::step], rotation=30, ha="right")
    ax.set_ylim(0, HEADROOM * ax.dataLim.ymax)
    windows = "one period" if line.length == 1 else f"the last {line.length} periods"
    ax.set(ylabel="share of what is at stake", title=f"SCDL over {windows}")
    legend(ax, "upper left")
    return ax
