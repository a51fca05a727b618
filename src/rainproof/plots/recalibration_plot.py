"""The map of a recalibrator beside the diagonal, and event rates of rows that it was not fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.text import percent
from rainproof.plots.style import BLUE, GREY, PALE, VERMILION, as_axes, legend
from rainproof.recalibration.recalibrator import Recalibrator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RARE = 0.05  # with a lower event rate (or one as near to 1) both axes are logit axes
_BETWEEN = 1 / (1 + np.exp(np.linspace(25, -25, 1001)))  # on logit axes, pieces are not straight
_SHOWN = 50  # maps of segments


def recalibration(recalibrator: Recalibrator, ax: Axes | None = None) -> Axes:
    """Draw the map of a recalibrator: the recalibrated probability against the original one.

    If it was fitted here, not loaded from a file, points are event rates of the rows held out, in bins of equal weight:
    a good map passes through them. For events that are rare, or nearly certain, both axes are logit axes then.

    Parameters
    ----------
    recalibrator : Recalibrator
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax, rates = as_axes(ax), recalibrator._rates
    rarer = 0.5 if rates is None else min(rates.overall, 1 - rates.overall)
    rare = 0 < rarer < _RARE
    diagonal = np.concatenate([[0.0], _BETWEEN, [1.0]])
    ax.plot(diagonal, diagonal, color=GREY, linewidth=1, linestyle="--", label="unchanged")
    for number, own in enumerate(list(recalibrator._maps.values())[:_SHOWN]):
        ax.plot(*_curve(own), color=PALE, linewidth=1, label="" if number else "maps of segments")
    ax.plot(*_curve(recalibrator.map_), color=BLUE, linewidth=1.5, label=f"map ({recalibrator.method_})")
    low, high = 0.0, 1.0
    if rates is not None:
        level = percent(recalibrator.certificate_.confidence_level)
        label = "event rate, rows held out" + ("" if rates.grouped else f" ({level}, each by itself)")
        errors = None if rates.grouped else np.stack([rates.event_rate - rates.low, rates.high - rates.event_rate])
        style: dict[str, Any] = {"color": VERMILION, "fmt": "o", "markersize": 4, "zorder": 3}
        ax.errorbar(rates.prediction, rates.event_rate, yerr=errors, label=label, **style)
        if rare:
            low, high = _limits(np.concatenate([rates.prediction, rates.event_rate, rates.low, rates.high]))
            ax.set(xscale="logit", yscale="logit")
    ax.set(xlim=(low, high), ylim=(low, high), xlabel="prediction", ylabel="recalibrated prediction")
    ax.set_title("Recalibration")
    legend(ax, "upper left")
    return ax


def _curve(pieces: PiecewiseMap) -> tuple[Floats, Floats]:
    """Points on the map, at either side of each edge too."""
    edges = pieces.edges
    x = np.unique(np.concatenate([edges, np.nextafter(edges[1:], 0), _BETWEEN]))
    return x, pieces.apply(x)


def _limits(values: Floats) -> tuple[float, float]:
    inside = values[(values > 0) & (values < 1)]
    odds = inside / (1 - inside)
    low, high = odds.min() / 2, odds.max() * 2
    return float(low / (1 + low)), float(high / (1 + high))
