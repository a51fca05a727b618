"""Risk against coverage, for answers that may be withheld."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rainproof.decisions.risk_coverage import RiskCoverage
from rainproof.plots.style import BLUE, GREY, as_axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def risk_coverage(curve: RiskCoverage, ax: Axes | None = None) -> Axes:
    """Draw the share of wrong answers against the share of rows that are answered.

    Parameters
    ----------
    curve : RiskCoverage
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    always = float(curve.risk[-1])
    coverage, risk = np.insert(curve.coverage, 0, 0.0), np.insert(curve.risk, 0, curve.risk[0])
    ax.plot(coverage, risk, color=BLUE, drawstyle="steps-pre", label="answer the most confident first")
    ax.axhline(always, color=GREY, linestyle="--", linewidth=1, label="answer at random, or always")
    top = max(float(curve.risk.max()), 1e-3)
    ax.set(xlim=(0, 1), ylim=(0, 1.35 * top), xlabel="coverage: share answered", ylabel="risk: share of answers wrong")
    ax.set_title(f"Risk and coverage (area {curve.area:.3g})")
    legend(ax, "upper left")
    return ax
