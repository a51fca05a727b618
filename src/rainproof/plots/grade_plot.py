"""Predicted and observed default rates by rating grade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.inference.grades import GradeTable
from rainproof.plots.style import BLUE, GREEN, GREY, ORANGE, VERMILION, as_axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LIGHTS = {"green": (GREEN, "o"), "yellow": (ORANGE, "s"), "red": (VERMILION, "D")}


def grades(found: GradeTable, ax: Axes | None = None) -> Axes:
    """Draw observed against predicted default rates, with Jeffreys intervals, on logit axes.

    Rates of 0 and 1 lie at the ends of the axes.

    Parameters
    ----------
    found : GradeTable
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    values = np.concatenate([found.prob, found.event_rate, found.low, found.high])
    inner = values[(values > 0) & (values < 1)]
    low, high = (inner.min() / 2, (1 + inner.max()) / 2) if inner.size else (0.01, 0.99)
    ax.plot([low, high], [low, high], color=GREY, linewidth=1, linestyle="--", label="as predicted")
    x, y, bottom, top = (np.clip(v, low, high) for v in (found.prob, found.event_rate, found.low, found.high))
    ax.vlines(x, bottom, top, color=BLUE, linewidth=1.2)
    lights = np.array(found.lights)
    for light, (colour, marker) in _LIGHTS.items():
        at = lights == light
        if at.any():
            mark: dict[str, Any] = {"marker": marker, "color": colour, "linestyle": "none", "label": light}
            ax.plot(x[at], y[at], **mark)
    ax.set_xscale("logit")
    ax.set_yscale("logit")
    ax.set(xlim=(low, high), ylim=(low, high), xlabel="predicted default rate", ylabel="observed default rate")
    ax.set_title("Default rates by grade")
    legend(ax, "upper left")
    return ax
