"""A forecast over time: what acting on it can cost, window by window, and when it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brolly.inference.monitoring import Timeline
from brolly.plots.style import BLUE, ORANGE, VERMILION, as_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = 8  # period names that fit under the axis


def timeline(line: Timeline, ax: Axes | None = None) -> Axes:
    """SCDL and its guarantee for each window, with a line where the forecast changed.

    Parameters
    ----------
    line : Timeline
        What `brolly.monitor` returned.
    ax : matplotlib Axes, optional
        Where to draw; new axes if not said.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    place = range(len(line.windows))
    promise = f"nobody loses more than this ({line.confidence_level:.0%})"
    ax.plot(
        place, [w.bound for w in line.windows], color=ORANGE, linestyle="--", marker="s", markersize=3, label=promise
    )
    ax.plot(place, [w.value for w in line.windows], color=BLUE, marker="o", markersize=3, label="SCDL")
    for number, change in enumerate(line.changes):
        ax.axvline(change.index - 0.5, color=VERMILION, linestyle=":", label="changed" if number == 0 else None)
        ax.annotate(
            plain(change.label),
            (change.index - 0.5, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -12),
            textcoords="offset points",
            color=VERMILION,
            fontsize="small",
        )
    step = -(-len(line.windows) // _LABELS)
    ax.set_xticks(list(place)[::step], [plain(w.label) for w in line.windows][::step], rotation=30, ha="right")
    ax.set_ylim(bottom=0)
    windows = "each period" if line.length == 1 else f"the last {line.length} periods"
    ax.set(ylabel="share of what is at stake", title=f"What acting can cost, {windows}")
    ax.legend(loc="best", fontsize="small", framealpha=0.8)
    return ax
