"""A test of calibration: the measure of the sample among those of calibrated forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rainproof.inference.calibration_test import CalibrationTest
from rainproof.plots.style import BLUE, HEADROOM, PALE, VERMILION, as_axes, legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def calibration_test(test: CalibrationTest, ax: Axes | None = None) -> Axes:
    """Draw the histogram of the measure for calibrated forecasts, and the value of the sample.

    Parameters
    ----------
    test : CalibrationTest
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    label = f"{test.n_resamples:,} calibrated forecasts"
    heights, *_ = ax.hist(test.null, bins="auto", color=PALE, edgecolor="0.6", linewidth=0.5, label=label)
    ax.axvline(test.null_mean, color=BLUE, linestyle="--", linewidth=1.5, label=f"their mean: {test.null_mean:.3g}")
    ax.axvline(test.value, color=VERMILION, linewidth=2, label=f"these rows: {test.value:.3g}")
    ax.set(xlabel=plain(test.measure), ylabel="forecasts", ylim=(0, HEADROOM * max(heights)))
    ax.set_title(f"Test of calibration (p = {test.p_value:.2g})")
    legend(ax)
    return ax
