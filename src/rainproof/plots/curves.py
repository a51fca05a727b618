"""Curves over decision thresholds and over grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.decisions.regret_curves import RegretCurve
from rainproof.decisions.tasks import show_threshold
from rainproof.decisions.values import ForecastValue, RiskCoverage
from rainproof.inference.bands import NullBand
from rainproof.inference.switches import SwitchGuarantee
from rainproof.inference.targets import ProvenThreshold
from rainproof.measures.scdl import SoftBinnedProfile
from rainproof.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_POINTS = 1 << 12  # of a curve that is drawn: more than there are pixels


def regret(
    curve: RegretCurve,
    ax: Axes | None = None,
    *,
    band: NullBand | None = None,
    thresholds: Sequence[float] = (),
) -> Axes:
    """Draw a regret curve: the loss per row from acting on the predictions, for each threshold.

    A false alarm costs the threshold, a miss 1 minus the threshold. The diamond marks the largest
    regret.

    Parameters
    ----------
    curve : RegretCurve
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
    ax = style.as_axes(ax)
    if band is not None:
        label = f"calibrated ({100 * band.confidence_level:.4g}%)"
        ax.fill_between(
            band.thresholds, 0, band.regret_high, color=style.PALE, linewidth=0, label=label
        )
    ax.plot(curve.threshold, curve.regret, color=style.BLUE, linewidth=1.5, label="forecast")
    if curve.worst.regret > 0:
        mark: dict[str, Any] = {"marker": "D", "color": style.VERMILION, "linestyle": "none"}
        label = f"largest, at {curve.worst.threshold:.3g}"
        ax.plot([curve.worst.threshold], [curve.worst.regret], label=label, **mark)
    for k, threshold in enumerate(thresholds):
        ax.axvline(
            threshold,
            color=style.GREEN,
            linestyle=":",
            linewidth=2,
            label="_" * (k > 0) + "your decision",
        )
    ax.set(xlim=style.span(curve.threshold_range), xlabel="threshold", ylabel="regret per row")
    ax.set_ylim(0, style.HEADROOM * max(ax.dataLim.ymax, style.LEAST))
    ax.set_title(
        "Regret curve" if curve.grid is None else f"Regret curve, rounded to 1/{curve.grid}"
    )
    style.legend(ax, "upper left", ncols=2)
    return ax


def switch(result: SwitchGuarantee, ax: Axes | None = None) -> Axes:
    """Draw the loss per row by switching to the new forecast, for each threshold; gains are below
    0.

    The band is an estimate: the normal approximation, for each threshold by itself. Markers show
    the thresholds of the decisions that lose and gain most on these rows.

    Parameters
    ----------
    result : SwitchGuarantee
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    band, curve = result.band(), result.curve
    shown = slice(None, None, 1 + len(band["threshold"]) // _POINTS)
    mu, loss, low, high = (part[shown] for part in band.values())
    label = f"{100 * result.confidence_level:.4g}% for each threshold (estimate)"
    ax.fill_between(mu, low, high, color=style.PALE, linewidth=0, label=label)
    ax.axhline(0, color=style.GREY, linestyle="-.", linewidth=1)
    ax.plot(mu, loss, color=style.BLUE, linewidth=1.5, label="loss by the switch")
    tasks = (
        ("largest loss", result.worst_task, "D", style.VERMILION),
        ("largest gain", result.best_task, "^", style.GREEN),
    )
    for name, task, marker, color in tasks:
        if task is not None:
            at = list(task.thresholds)
            label = f"{name}, at {' and '.join(map(show_threshold, at))}"
            ax.plot(
                at,
                curve(at),
                marker=marker,
                color=color,
                linestyle="none",
                clip_on=False,
                label=label,
            )
    # beyond it both forecasts say the same
    last = float(curve.edges[1:][curve.only.any(axis=0)].max(initial=0.0))
    ends = (0, min(1.0, 1.05 * last) or 1.0) if curve.within is None else style.span(curve.within)
    ax.set(xlim=ends, xlabel="threshold", ylabel="loss per row")
    bottom, top = ax.dataLim.ymin, max(ax.dataLim.ymax, ax.dataLim.ymin + style.LEAST)
    ax.set_ylim(bottom - 0.05 * (top - bottom), top + (style.HEADROOM - 0.9) * (top - bottom))
    ax.set_title("Switching to the new forecast")
    style.legend(ax, "upper left")
    return ax


def forecast_value(value: ForecastValue, ax: Axes | None = None) -> Axes:
    """Draw what a forecast is worth for each threshold, beside recalibration and perfect foresight.

    The value is per row; no forecast (the better of always and never acting) is worth 0. For events
    that are rare, or nearly certain, thresholds are on a logit axis around the event rate.

    Parameters
    ----------
    value : ForecastValue
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax, curve = style.as_axes(ax), value
    recalibrated = "recalibrated"
    if value.recalibration == "isotonic":
        recalibrated += " on these rows (isotonic), an upper estimate"
    elif value.recalibration == "cross-fitted":
        recalibrated += " (cross-validated)"
    rarer = min(curve.event_rate, 1 - curve.event_rate)
    rare = 0 < rarer < style.RARE and curve.threshold_range is None
    # On a logit axis the pieces are not straight: points in between.
    between = style.logit_points(40, 2001) if rare else np.zeros(0)
    points = len(curve.threshold)
    shown = np.append(np.arange(0, points - 1, 1 + points // _POINTS), points - 1)
    threshold = np.concatenate([curve.threshold[shown], between])
    order = np.argsort(threshold, kind="stable")

    def draw(values: Floats, color: str, how: str, width: float, label: str) -> None:
        every = np.concatenate([values[shown], np.interp(between, curve.threshold, values)])
        drawn: dict[str, Any] = {
            "color": color,
            "linestyle": how,
            "linewidth": width,
            "label": label,
        }
        ax.plot(threshold[order], every[order], marker="o" if points == 1 else None, **drawn)

    draw(curve.value_perfect, style.GREY, "--", 1, "perfect foresight")
    draw(curve.value_recalibrated, style.GREEN, ":", 1.5, recalibrated)
    draw(curve.value, style.BLUE, "-", 1.5, "forecast as it is")
    ax.axhline(0, color=style.GREY, linestyle="-.", linewidth=1, label="no forecast")
    if rare:
        ax.set_xscale("logit")
        ax.set_xlim((rarer / 100, 0.5) if curve.event_rate < 0.5 else (0.5, 1 - rarer / 100))
    else:
        ax.set_xlim(style.span(curve.threshold_range))
    top = float(curve.value_perfect.max()) or style.LEAST
    ax.set(
        ylim=(-0.5 * top, 1.65 * top),
        xlabel="threshold",
        ylabel="value per row, beside no forecast",
    )
    ax.set_title(
        "Value of the forecast"
        if value.grid is None
        else f"Value of the forecast, compressed to 1/{value.grid}"
    )
    style.legend(ax, "upper right")
    return ax


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
    ax, m = style.as_axes(ax), found.grids
    ax.plot(
        m,
        1 / m,
        color=style.ORANGE,
        linestyle="--",
        marker="s",
        markersize=4,
        label="1/m, from rounding",
    )
    some = found.losses > 0
    ax.plot(
        m[some],
        found.losses[some],
        color=style.BLUE,
        marker="o",
        markersize=4,
        label="SCDL on the grid 1/m",
    )
    if not math.isinf(found.m_star):
        bound = "" if found.resolved else "at most "
        label = f"SCDL {bound}{found.value:.3g}, m* = {found.m_star}"
        ax.axvline(found.m_star, color=style.VERMILION, linestyle=":", linewidth=1)
        ax.plot(
            [found.m_star],
            [found.value],
            marker="D",
            color=style.VERMILION,
            linestyle="none",
            label=label,
        )
    style.grid_axis(ax, int(m[-1]))
    ax.set_yscale("log")
    style.log_axis(ax.yaxis)
    ax.set(xlabel="m (grid 1/m)", ylabel="share of what is at stake")
    ax.set_title(
        "SCDL by grid"
        if not math.isinf(found.m_star)
        else "SCDL by grid: perfectly calibrated rows"
    )
    style.legend(ax)
    return ax


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
    ax = style.as_axes(ax)
    always = float(curve.risk[-1])
    coverage, risk = np.insert(curve.coverage, 0, 0.0), np.insert(curve.risk, 0, curve.risk[0])
    ax.plot(
        coverage,
        risk,
        color=style.BLUE,
        drawstyle="steps-pre",
        label="answer the most confident first",
    )
    ax.axhline(
        always, color=style.GREY, linestyle="--", linewidth=1, label="answer at random, or always"
    )
    top = max(float(curve.risk.max()), style.LEAST)
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1.35 * top),
        xlabel="coverage: share answered",
        ylabel="risk: share of answers wrong",
    )
    ax.set_title(f"Risk and coverage (area {curve.area:.3g})")
    style.legend(ax, "upper left")
    return ax


def threshold(found: ProvenThreshold, ax: Axes | None = None) -> Axes:
    """Draw what is measured on these rows at each threshold, the targets, and the threshold that is
    proven.

    Parameters
    ----------
    found : ProvenThreshold
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    lines = {
        "precision": (found.precisions, style.BLUE, "-"),
        "recall": (found.recalls, style.GREEN, "--"),
        "false_positive_rate": (found.false_positive_rates, style.ORANGE, "-."),
    }
    for name, (values, colour, line) in lines.items():
        words = name.replace("_", " ")
        ax.plot(
            found.thresholds,
            values,
            color=colour,
            linestyle=line,
            drawstyle="steps-post",
            label=words,
        )
        if name in found.targets:
            label = "_" * (name != next(iter(found.targets))) + "asked for"
            ax.axhline(found.targets[name], color=colour, linestyle=":", label=label)
    if found.threshold is not None:
        label = f"flagged, from {found.threshold:.4g} on"
        ax.axvspan(found.threshold, 1, color=style.PALE, alpha=0.5, linewidth=0, label=label)
        ax.axvline(found.threshold, color=style.VERMILION, linewidth=2)
    # of rare events all predictions can be small
    right = min(1.0, 1.1 * float(found.thresholds[0]))
    ax.set(
        xlim=(0, right or 1),
        ylim=(0, style.HEADROOM),
        xlabel="threshold",
        ylabel="measured on these rows",
    )
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_title("A proven threshold" if found.threshold is not None else "No threshold is proven")
    style.legend(ax, "upper left", ncols=2)
    return ax
