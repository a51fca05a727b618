"""The balance: the loss on each grid against the width of its cells, and where they meet."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from brolly.assessment.result import Assessment
from brolly.plots.style import BLUE, ORANGE, VERMILION, as_axes, caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLAIN = 1 << 12  # finer grids are better read as powers of two


def profile(a: Assessment, ax: Axes | None = None) -> Axes:
    """SCDL on every grid, and one over the grid: the first grows, the second falls, and SCDL is where they meet.

    Parameters
    ----------
    a : Assessment
    ax : matplotlib Axes, optional
        Where to draw; new axes if not said.

    Returns
    -------
    matplotlib Axes
    """
    ax, profile = as_axes(ax), a.profile
    m = profile.grids
    ax.plot(m, 1 / m, color=ORANGE, linestyle="--", marker="s", markersize=4, label="1/m, the rounding")
    some = profile.losses > 0
    ax.plot(m[some], profile.losses[some], color=BLUE, marker="o", markersize=4, label="SCDL$_m$, the loss")
    if not math.isinf(profile.m_star):
        # Where the value is only a bound (a compression too coarse to tell) the mark says so.
        bound = "" if profile.resolved else "at most "
        label = f"m* = {profile.m_star}, SCDL {bound}{profile.value:.3g}"
        ax.axvline(profile.m_star, color=VERMILION, linestyle=":", linewidth=1)
        ax.plot([profile.m_star], [profile.value], marker="D", color=VERMILION, linestyle="none", label=label)
    ax.set_xscale("log", base=2)
    if m[-1] <= _PLAIN:
        ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yscale("log")
    ax.set(xlabel="grid: predictions rounded to 1/m", ylabel="loss")
    ax.set_title(caption(a.name, "Balance" if not math.isinf(profile.m_star) else "Balance: perfectly calibrated rows"))
    ax.legend(loc="best", fontsize="small", framealpha=0.8)
    return ax
