"""Curves over grids: SCDL on each grid, and the loss of acting on each grid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rainproof.decisions.grid import GridChoice
from rainproof.measures.soft_binned import SoftBinnedProfile
from rainproof.plots.style import BLUE, ORANGE, VERMILION, as_axes, grid_axis, legend, log_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def profile(found: SoftBinnedProfile, ax: Axes | None = None) -> Axes:
    """Draw SCDL on every grid 1/m, and 1/m itself: SCDL is where the two meet.

    Parameters
    ----------
    found : SoftBinnedProfile
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax, m = as_axes(ax), found.grids
    ax.plot(m, 1 / m, color=ORANGE, linestyle="--", marker="s", markersize=4, label="1/m, from rounding")
    some = found.losses > 0
    ax.plot(m[some], found.losses[some], color=BLUE, marker="o", markersize=4, label="SCDL on the grid 1/m")
    if not math.isinf(found.m_star):
        bound = "" if found.resolved else "at most "
        label = f"SCDL {bound}{found.value:.3g}, m* = {found.m_star}"
        ax.axvline(found.m_star, color=VERMILION, linestyle=":", linewidth=1)
        ax.plot([found.m_star], [found.value], marker="D", color=VERMILION, linestyle="none", label=label)
    grid_axis(ax, int(m[-1]))
    ax.set_yscale("log")
    log_axis(ax.yaxis)
    ax.set(xlabel="m (grid 1/m)", ylabel="share of what is at stake")
    ax.set_title("SCDL by grid" if not math.isinf(found.m_star) else "SCDL by grid: perfectly calibrated rows")
    legend(ax)
    return ax


def grid_choice(choice: GridChoice, ax: Axes | None = None) -> Axes:
    """Draw the largest loss of any decision on these rows, for predictions rounded to each grid.

    Parameters
    ----------
    choice : GridChoice
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax, m = as_axes(ax), choice.grids
    ax.plot(m, choice.bounds, color=ORANGE, linestyle="--", marker="s", markersize=4, label="the paper's bound")
    ax.plot(m, choice.losses, color=BLUE, marker="o", markersize=4, label="largest loss, exactly")
    label = f"smallest: {choice.loss:.3g} at m = {choice.grid}"
    ax.plot([choice.grid], [choice.loss], marker="D", color=VERMILION, linestyle="none", label=label)
    grid_axis(ax, int(m[-1]))
    ax.set_ylim(bottom=0)
    ax.set(xlabel="m (grid 1/m)", ylabel="share of what is at stake", title="Loss by grid")
    legend(ax)
    return ax
