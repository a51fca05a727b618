"""Curves over decision thresholds: the regret curve, the decision curve, and the loss by a switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rainproof.decisions.curve import RegretProfile
from rainproof.decisions.decision_curve import DecisionCurve
from rainproof.decisions.text import show_threshold
from rainproof.inference.bands import NullBand
from rainproof.inference.switching import SwitchGuarantee
from rainproof.plots.style import BLUE, GREEN, GREY, HEADROOM, ORANGE, PALE, VERMILION, as_axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 1e-3  # a curve that is 0 everywhere still needs an axis
_POINTS = 1 << 12  # of a curve that is drawn: more than there are pixels


def regret(
    curve: RegretProfile, ax: Axes | None = None, *, band: NullBand | None = None, thresholds: Sequence[float] = ()
) -> Axes:
    """Draw a regret curve: the loss per row from acting on the predictions, for each threshold.

    A false alarm costs the threshold, a miss 1 minus the threshold. The diamond marks the largest regret.

    Parameters
    ----------
    curve : RegretProfile
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.
    band : NullBand, optional
        The band of calibrated forecasts, drawn in grey.
    thresholds : sequence of float
        Thresholds to mark, such as those of your own decision.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    if band is not None:
        label = f"calibrated ({100 * band.confidence_level:.4g}%)"
        ax.fill_between(band.thresholds, 0, band.regret_high, color=PALE, linewidth=0, label=label)
    ax.plot(curve.threshold, curve.regret, color=BLUE, linewidth=1.5, label="forecast")
    if curve.worst.regret > 0:
        mark: dict[str, Any] = {"marker": "D", "color": VERMILION, "linestyle": "none"}
        label = f"largest, at {curve.worst.threshold:.3g}"
        ax.plot([curve.worst.threshold], [curve.worst.regret], label=label, **mark)
    for k, threshold in enumerate(thresholds):
        ax.axvline(threshold, color=GREEN, linestyle=":", linewidth=2, label="_" * (k > 0) + "your decision")
    ax.set(xlim=(0, 1), xlabel="threshold", ylabel="regret per row")
    ax.set_ylim(0, HEADROOM * max(ax.dataLim.ymax, _LEAST))
    ax.set_title("Regret curve" if curve.grid is None else f"Regret curve, rounded to 1/{curve.grid}")
    legend(ax, "upper left", ncols=2)
    return ax


def decision_curve(curve: DecisionCurve, ax: Axes | None = None) -> Axes:
    """Draw a decision curve: the net benefit of acting on the predictions, for each threshold.

    Parameters
    ----------
    curve : DecisionCurve
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    ax.plot(curve.threshold, curve.best, color=GREEN, linestyle=":", linewidth=1.5, label="best swap in hindsight")
    ax.plot(curve.threshold, curve.forecast, color=BLUE, linewidth=1.5, label="forecast")
    ax.plot(curve.threshold, curve.always, color=ORANGE, linestyle="--", linewidth=1.5, label="always act")
    ax.axhline(0, color=GREY, linestyle="-.", linewidth=1, label="never act")
    top = max(float(curve.best.max()), _LEAST)
    ax.set(xlim=(0, 1), ylim=(-0.15 * top, 1.1 * top), xlabel="threshold", ylabel="net benefit per row")
    ax.set_title("Decision curve" if curve.grid is None else f"Decision curve, rounded to 1/{curve.grid}")
    legend(ax, "upper right")
    return ax


def switch(result: SwitchGuarantee, ax: Axes | None = None) -> Axes:
    """Draw the loss per row by switching to the new forecast, for each threshold; gains are below 0.

    The band is an estimate: the normal approximation, for each threshold by itself. Markers show the thresholds of the
    decisions that lose and gain most on these rows.

    Parameters
    ----------
    result : SwitchGuarantee
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    band, curve = result.band(), result.curve
    shown = slice(None, None, 1 + len(band.threshold) // _POINTS)
    mu, loss = band.threshold[shown], band.loss[shown]
    label = f"{100 * result.confidence_level:.4g}% for each threshold (estimate)"
    ax.fill_between(mu, band.low[shown], band.high[shown], color=PALE, linewidth=0, label=label)
    ax.axhline(0, color=GREY, linestyle="-.", linewidth=1)
    ax.plot(mu, loss, color=BLUE, linewidth=1.5, label="loss by the switch")
    tasks = (("largest loss", result.worst_task, "D", VERMILION), ("largest gain", result.best_task, "^", GREEN))
    for name, task, marker, color in tasks:
        if task is not None:
            at = list(task.thresholds)
            label = f"{name}, at {' and '.join(map(show_threshold, at))}"
            ax.plot(at, curve(at), marker=marker, color=color, linestyle="none", clip_on=False, label=label)
    last = float(curve.edges[1:][curve.only.any(axis=0)].max(initial=0.0))  # beyond it both forecasts say the same
    ax.set(xlim=(0, min(1.0, 1.05 * last) or 1.0), xlabel="threshold", ylabel="loss per row")
    low, high = ax.dataLim.ymin, max(ax.dataLim.ymax, ax.dataLim.ymin + _LEAST)
    ax.set_ylim(low - 0.05 * (high - low), high + (HEADROOM - 0.9) * (high - low))
    ax.set_title("Switching to the new forecast")
    legend(ax, "upper left")
    return ax
