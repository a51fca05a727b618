"""Curves over decision thresholds and over grids.

Diagrams of event rates are in `diagrams`, values with intervals in `intervals`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.decisions.regret_curves import RegretCurve
from rainproof.decisions.tasks import DecisionTask, show_threshold
from rainproof.decisions.values import ForecastValue, RiskCoverage
from rainproof.inference.bands import NullBand
from rainproof.inference.switches import SwitchGuarantee
from rainproof.inference.targets import ProvenThreshold
from rainproof.measures.scdl import SoftBinnedProfile
from rainproof.plots import style
from rainproof.plots.style import (
    BLUE,
    GREEN,
    GREY,
    HEADROOM,
    MIN_TOP,
    ORANGE,
    PALE,
    VERMILION,
    Mark,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MAX_POINTS = 1 << 12  # of a curve that is drawn: more than there are pixels
_BETWEEN = style.logit_points(40, 2001)  # log odds to 40: thresholds of any event in a table


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
        ax.fill_between(
            band.thresholds,
            0,
            band.regret_high,
            color=PALE,
            linewidth=0,
            label=f"calibrated ({style.level_text(band.confidence_level)})",
        )
    ax.plot(curve.threshold, curve.regret, color=BLUE, linewidth=1.5, label="forecast")
    worst = curve.worst
    if worst.regret > 0:
        style.draw_marks(
            ax,
            [worst.threshold],
            [worst.regret],
            Mark(VERMILION, "D"),
            label=f"largest, at {worst.threshold:.3g}",
        )
    label: str | None = "your decision"
    for threshold in thresholds:
        ax.axvline(threshold, color=GREEN, linestyle=":", linewidth=2, label=label)
        label = None  # once in the legend
    ax.set(xlim=style.span(curve.threshold_range), xlabel="threshold", ylabel="regret per row")
    ax.set_ylim(0, HEADROOM * max(ax.dataLim.ymax, MIN_TOP))
    title = "Regret curve"
    if curve.grid is not None:
        title += f", rounded to 1/{curve.grid}"
    ax.set_title(title)
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
    band = result.band()
    shown = slice(None, None, 1 + len(band["threshold"]) // _MAX_POINTS)
    threshold = band["threshold"][shown]
    ax.fill_between(
        threshold,
        band["low"][shown],
        band["high"][shown],
        color=PALE,
        linewidth=0,
        label=f"{style.level_text(result.confidence_level)} for each threshold (estimate)",
    )
    ax.axhline(0, color=GREY, linestyle="-.", linewidth=1)
    ax.plot(threshold, band["loss"][shown], color=BLUE, linewidth=1.5, label="loss by the switch")
    _mark_task(ax, result, result.worst_task, "largest loss", Mark(VERMILION, "D"))
    _mark_task(ax, result, result.best_task, "largest gain", Mark(GREEN, "^"))
    ax.set(xlim=_thresholds_of_switch(result), xlabel="threshold", ylabel="loss per row")
    bottom = ax.dataLim.ymin
    height = max(ax.dataLim.ymax - bottom, MIN_TOP)
    # a narrow margin below, and above more than usual: the legend is higher by a line
    ax.set_ylim(bottom - 0.05 * height, bottom + height + (HEADROOM - 0.9) * height)
    ax.set_title("Switching to the new forecast")
    style.legend(ax, "upper left")
    return ax


def _mark_task(
    ax: Axes, result: SwitchGuarantee, task: DecisionTask | None, what: str, mark: Mark
) -> None:
    """Mark the thresholds of a decision on the curve of losses by the switch."""
    if task is None:
        return
    thresholds = list(task.thresholds)
    label = f"{what}, at {' and '.join(map(show_threshold, thresholds))}"
    losses = result.curve(thresholds)
    style.draw_marks(ax, thresholds, losses, mark, clip_on=False, label=label)


def _thresholds_of_switch(result: SwitchGuarantee) -> tuple[float, float]:
    """Return the range of thresholds to draw: beyond the last one at which a single forecast acts
    both say the same.
    """
    curve = result.curve
    if curve.within is not None:
        return style.span(curve.within)
    differs = curve.only.any(axis=0)
    last = float(curve.edges[1:][differs].max(initial=0.0))
    if last == 0:
        return 0.0, 1.0
    return 0.0, min(1.0, 1.05 * last)  # with a margin


class _Line(NamedTuple):
    """How a line of `forecast_value` is drawn."""

    values: Floats
    colour: str
    dashes: str
    width: float
    label: str


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
    ax = style.as_axes(ax)
    recalibrated = "recalibrated"
    if value.recalibration == "isotonic":
        recalibrated += " on these rows (isotonic), an upper estimate"
    elif value.recalibration == "cross-fitted":
        recalibrated += " (cross-validated)"
    on_logits = style.is_rare(value.event_rate) and value.threshold_range is None
    lines = (
        _Line(value.value_perfect, GREY, "--", 1, "perfect foresight"),
        _Line(value.value_recalibrated, GREEN, ":", 1.5, recalibrated),
        _Line(value.value, BLUE, "-", 1.5, "forecast as it is"),
    )
    _draw_values(ax, value.threshold, lines, on_logits=on_logits)
    ax.axhline(0, color=GREY, linestyle="-.", linewidth=1, label="no forecast")
    if on_logits:
        ax.set_xscale("logit")
        ax.set_xlim(style.rare_span(value.event_rate, 100))
    else:
        ax.set_xlim(style.span(value.threshold_range))
    top = float(value.value_perfect.max())
    if top == 0:  # all outcomes are the same
        top = MIN_TOP
    ax.set(ylim=(-0.5 * top, 1.65 * top))  # far below 0 is of no interest; the legend is above
    ax.set(xlabel="threshold", ylabel="value per row, beside no forecast")
    title = "Value of the forecast"
    if value.grid is not None:
        title += f", compressed to 1/{value.grid}"
    ax.set_title(title)
    style.legend(ax, "upper right")
    return ax


def _draw_values(ax: Axes, threshold: Floats, lines: Sequence[_Line], *, on_logits: bool) -> None:
    """Draw lines of straight pieces through their values at thresholds, of which many are thinned
    out.
    """
    shown = _thinned(len(threshold))
    between = _BETWEEN if on_logits else _BETWEEN[:0]
    drawn_at = np.concatenate([threshold[shown], between])
    order = np.argsort(drawn_at, kind="stable")
    marker = "o" if len(threshold) == 1 else None  # a line needs two points
    for line in lines:
        values = np.concatenate([line.values[shown], np.interp(between, threshold, line.values)])
        ax.plot(
            drawn_at[order],
            values[order],
            color=line.colour,
            linestyle=line.dashes,
            linewidth=line.width,
            marker=marker,
            label=line.label,
        )


def _thinned(points: int) -> NDArray[np.int64]:
    """Return the places of points that are drawn; the last one is among them."""
    step = 1 + points // _MAX_POINTS
    return np.append(np.arange(0, points - 1, step), points - 1)


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
    ax = style.as_axes(ax)
    m = found.grids
    ax.plot(
        m,
        1 / m,
        color=ORANGE,
        linestyle="--",
        marker="s",
        markersize=4,
        label="1/m, from rounding",
    )
    positive = found.losses > 0  # as the axis is logarithmic
    ax.plot(
        m[positive],
        found.losses[positive],
        color=BLUE,
        marker="o",
        markersize=4,
        label="SCDL on the grid 1/m",
    )
    title = "SCDL by grid"
    if math.isinf(found.m_star):
        title += ": perfectly calibrated rows"
    else:
        at_most = "" if found.resolved else "at most "
        label = f"SCDL {at_most}{found.value:.3g}, m* = {found.m_star}"
        ax.axvline(found.m_star, color=VERMILION, linestyle=":", linewidth=1)
        style.draw_marks(ax, [found.m_star], [found.value], Mark(VERMILION, "D"), label=label)
    style.grid_axis(ax, int(m[-1]))
    ax.set_yscale("log")
    style.log_axis(ax.yaxis)
    ax.set(xlabel="m (grid 1/m)", ylabel="share of what is at stake", title=title)
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
    ax.plot(
        np.insert(curve.coverage, 0, 0.0),
        np.insert(curve.risk, 0, curve.risk[0]),
        color=BLUE,
        drawstyle="steps-pre",
        label="answer the most confident first",
    )
    ax.axhline(
        float(curve.risk[-1]),
        color=GREY,
        linestyle="--",
        linewidth=1,
        label="answer at random, or always",
    )
    top = max(float(curve.risk.max()), MIN_TOP)
    ax.set(xlim=(0, 1), ylim=(0, HEADROOM * top))
    ax.set(xlabel="coverage: share answered", ylabel="risk: share of answers wrong")
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
    _draw_rate(ax, found, "precision", found.precisions, BLUE, "-")
    _draw_rate(ax, found, "recall", found.recalls, GREEN, "--")
    _draw_rate(ax, found, "false_positive_rate", found.false_positive_rates, ORANGE, "-.")
    title = "No threshold is proven"
    if found.threshold is not None:
        title = "A proven threshold"
        label = f"flagged, from {found.threshold:.4g} on"
        ax.axvspan(found.threshold, 1, color=PALE, alpha=0.5, linewidth=0, label=label)
        ax.axvline(found.threshold, color=VERMILION, linewidth=2)
    # of rare events all predictions can be small; with a margin
    right = min(1.0, 1.1 * float(found.thresholds[0]))
    if right == 0:
        right = 1.0
    ax.set(xlim=(0, right), ylim=(0, HEADROOM), yticks=np.linspace(0, 1, 6))
    ax.set(xlabel="threshold", ylabel="measured on these rows", title=title)
    style.legend(ax, "upper left", ncols=2)
    return ax


def _draw_rate(
    ax: Axes, proven: ProvenThreshold, name: str, rates: Floats, colour: str, dashes: str
) -> None:
    """Draw a rate at each threshold, and its target where there is one."""
    ax.plot(
        proven.thresholds,
        rates,
        color=colour,
        linestyle=dashes,
        drawstyle="steps-post",
        label=name.replace("_", " "),
    )
    if name in proven.targets:
        label = None
        if name == next(iter(proven.targets)):  # once in the legend
            label = "asked for"
        ax.axhline(proven.targets[name], color=colour, linestyle=":", label=label)
