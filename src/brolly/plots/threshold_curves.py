"""The regret curve: what trusting the forecast costs, for every threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brolly.assessment.result import Assessment
from brolly.plots.style import BLUE, GREEN, PALE, VERMILION, as_axes, caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROOM = 1.35  # height over the highest point, for the legend
_LEAST = 1e-3  # a curve that is 0 all along still needs an axis


def regret(a: Assessment, ax: Axes | None = None) -> Axes:
    """What following the forecast gave up per row, for whoever acts from each threshold on.

    A false alarm costs the threshold and a miss one minus it. Where the curve is within the grey band, a perfectly
    calibrated forecast with as many rows would show as much. The diamond marks the threshold that is hurt most, the
    dotted lines those of your own task.

    Parameters
    ----------
    a : Assessment
    ax : matplotlib Axes, optional
        Where to draw; new axes if not said.

    Returns
    -------
    matplotlib Axes
    """
    ax, curve, band = as_axes(ax), a.regret, a.regret_band
    label = f"if calibrated ({100 * a.confidence_level:.4g}%)"
    ax.fill_between(band.threshold, 0, band.high, color=PALE, linewidth=0, label=label)
    ax.plot(curve.threshold, curve.regret, color=BLUE, linewidth=1.5, label="this forecast")
    if curve.worst.regret > 0:
        mark: dict[str, Any] = {"marker": "D", "color": VERMILION, "linestyle": "none"}
        ax.plot([curve.worst.threshold], [curve.worst.regret], label=f"hurt most: {curve.worst.threshold:.3g}", **mark)
    for k, mu in enumerate(a.task.task.thresholds if a.task else ()):
        ax.axvline(mu, color=GREEN, linestyle=":", linewidth=2, label="_" * (k > 0) + "your decision")
    ax.set(xlim=(0, 1), xlabel="threshold: act from this probability on", ylabel="regret per row")
    ax.set_ylim(0, _ROOM * max(ax.dataLim.ymax, _LEAST))
    ax.set_title(caption(a.name, f"Regret, rounded to 1/{curve.grid}"))
    ax.legend(loc="upper left", fontsize="small", framealpha=0.8, ncols=2)
    return ax
