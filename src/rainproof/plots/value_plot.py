"""What a forecast is worth at each threshold, beside recalibration and perfect foresight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.decisions.forecast_value import ForecastValue
from rainproof.plots.style import BLUE, GREEN, GREY, RARE, as_axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 1e-3  # a curve that is 0 everywhere still needs an axis
_POINTS = 1 << 12  # of a curve that is drawn: more than there are pixels


def forecast_value(value: ForecastValue, ax: Axes | None = None) -> Axes:
    """Draw what a forecast is worth for each threshold, beside recalibration and perfect foresight.

    The value is per row; no forecast (the better of always and never acting) is worth 0. For events that are rare, or
    nearly certain, thresholds are on a logit axis around the event rate.

    Parameters
    ----------
    value : ForecastValue
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax, curve = as_axes(ax), value.curve
    recalibrated = "recalibrated"
    if value.recalibration == "isotonic":
        recalibrated += " on these rows (isotonic), an upper estimate"
    rarer = min(curve.event_rate, 1 - curve.event_rate)
    rare = 0 < rarer < RARE
    # On a logit axis the pieces are not straight: points in between.
    between = 1 / (1 + np.exp(np.linspace(40, -40, 2001))) if rare else np.zeros(0)
    points = len(curve.threshold)
    shown = np.append(np.arange(0, points - 1, 1 + points // _POINTS), points - 1)
    threshold = np.concatenate([curve.threshold[shown], between])
    order = np.argsort(threshold, kind="stable")

    def draw(values: Floats, color: str, style: str, width: float, label: str) -> None:
        every = np.concatenate([values[shown], np.interp(between, curve.threshold, values)])
        ax.plot(threshold[order], every[order], color=color, linestyle=style, linewidth=width, label=label)

    draw(curve.value_perfect, GREY, "--", 1, "perfect foresight")
    draw(curve.value_recalibrated, GREEN, ":", 1.5, recalibrated)
    draw(curve.value, BLUE, "-", 1.5, "forecast as it is")
    ax.axhline(0, color=GREY, linestyle="-.", linewidth=1, label="no forecast")
    if rare:
        ax.set_xscale("logit")
        ax.set_xlim((rarer / 100, 0.5) if curve.event_rate < 0.5 else (0.5, 1 - rarer / 100))
    else:
        ax.set_xlim(0, 1)
    top = float(curve.value_perfect.max()) or _LEAST
    ax.set(ylim=(-0.5 * top, 1.65 * top), xlabel="threshold", ylabel="value per row, beside no forecast")
    ax.set_title(
        "Value of the forecast" if value.grid is None else f"Value of the forecast, compressed to 1/{value.grid}"
    )
    legend(ax, "upper right")
    return ax
