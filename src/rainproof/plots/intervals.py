"""Values with intervals: measures, costs, segments, grades, comparisons and periods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.assessment.costs import LABELS, Rule, TaskResult
from rainproof.assessment.segments import SegmentTable
from rainproof.assessment.summaries import Estimate
from rainproof.core.text import short
from rainproof.inference.comparisons import Comparison
from rainproof.inference.grades import GradeTable
from rainproof.inference.monitoring import MonitoringResult
from rainproof.inference.tests import CalibrationTest
from rainproof.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST = 40  # segments that can be read in one picture
_LONGEST = 22  # letters of a name that leave space for the picture


def measures(estimates: Sequence[Estimate], ax: Axes | None = None) -> Axes:
    """Draw measures of calibration on these rows; colour shows whose regret a small value bounds.

    Scores (Brier and log) are left out: they also reward discrimination, and share no axis with the others.

    Parameters
    ----------
    estimates : sequence of Estimate
        Such as ``Assessment.measures``.
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    shown = [e for e in estimates if not e.score]
    for y, e in zip(reversed(range(len(shown))), shown, strict=True):
        colour, marker = (style.BLUE, "o") if e.measure.bounds == "all" else (style.GREY, "s")
        style.draw_value(ax, y, e.value, None, None, colour, marker)
    style.name_rows(ax, [style.plain(e.symbol) for e in shown], "value (0 is perfect)")
    style.explain_marks(
        ax, {"bounds the regret of every decision": (style.BLUE, "o"), "of some decisions only": (style.GREY, "s")}
    )
    ax.set_title("Measures")
    return ax


def costs(found: TaskResult, ax: Axes | None = None) -> Axes:
    """Draw the cost per case of one's own decision with its interval, for each way to decide.

    Parameters
    ----------
    found : TaskResult
        Such as ``Assessment.task``.
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    for y, (rule, cost) in zip(reversed(range(len(found.costs))), found.costs.items(), strict=True):
        colour, marker = (style.BLUE, "o") if rule in (Rule.AS_IS, Rule.RECALIBRATED) else (style.GREY, "s")
        style.draw_value(ax, y, cost.value, cost.low, cost.high, colour, marker)
    style.name_rows(ax, [LABELS[rule] for rule in found.costs], "cost per case")
    ax.set_xlim(left=min([0.0, *(cost.low for cost in found.costs.values())]))
    style.explain_marks(ax, {"acting on each forecast": (style.BLUE, "o"), "other rules": (style.GREY, "s")})
    ax.set_title("Cost of your decision")
    return ax


def segments(table: SegmentTable, ax: Axes | None = None) -> Axes:
    """Draw the largest loss of any decision in each segment, and its bound in the population, the largest first.

    Losses are of acting on the probabilities as they are, against any monotone recalibration. Diamonds are
    miscalibrated beyond chance, at the table's false discovery rate; segments without a mark have too few rows. Of more
    than forty segments those with the smallest p-values are drawn.

    Parameters
    ----------
    table : SegmentTable
        Such as ``Assessment.segments``.
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    shown = table.first(_MOST)
    for y, s in zip(reversed(range(len(shown))), shown, strict=True):
        if s.loss is not None:
            style.draw_value(
                ax, y, s.loss, s.loss, s.loss_bound, *((style.VERMILION, "D") if s.flagged else (style.BLUE, "o"))
            )
    style.name_rows(
        ax, [style.plain(f"{short(s.label, _LONGEST)} ({s.n:,})") for s in shown], "loss, of what is at stake"
    )
    style.explain_marks(
        ax,
        {"on these rows; line: to the bound": (style.BLUE, "o"), "miscalibrated beyond chance": (style.VERMILION, "D")},
    )
    more = len(table.rows) - len(shown)
    ax.set_title("Segments" + (f" ({more} more not shown)" if more else ""))
    return ax


def comparison(found: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the difference of two forecasts in a measure with its interval, and their values.

    Parameters
    ----------
    found : Comparison
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    ax.axvline(0, color=style.GREY, linestyle="--", linewidth=1)
    style.draw_value(ax, 2, found.value_a, None, None, style.BLUE, "o")
    style.draw_value(ax, 1, found.value_b, None, None, style.BLUE, "s")
    style.draw_value(
        ax, 0, found.difference, found.low, found.high, style.GREY if found.better is None else style.VERMILION, "D"
    )
    ax.set_yticks([2, 1, 0], ["a", "b", "a minus b"])
    ax.set(xlabel=style.plain(found.measure), ylim=(-0.7, 2.7))
    ax.grid(axis="x", alpha=0.3)
    result = "no difference beyond chance" if found.better is None else f"{found.better} is better"
    ax.set_title(f"{result} ({100 * found.confidence_level:.4g}% interval, p = {found.p_value:.2g})")
    return ax


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
    ax = style.as_axes(ax)
    label = f"{test.n_resamples:,} calibrated forecasts"
    heights, *_ = ax.hist(test.null, bins="auto", color=style.PALE, edgecolor="0.6", linewidth=0.5, label=label)
    ax.axvline(
        test.null_mean, color=style.BLUE, linestyle="--", linewidth=1.5, label=f"their mean: {test.null_mean:.3g}"
    )
    ax.axvline(test.value, color=style.VERMILION, linewidth=2, label=f"these rows: {test.value:.3g}")
    ax.set(xlabel=style.plain(test.measure), ylabel="forecasts", ylim=(0, style.HEADROOM * max(heights)))
    ax.set_title(f"Test of calibration (p = {test.p_value:.2g})")
    style.legend(ax)
    return ax


_LIGHTS = {"green": (style.GREEN, "o"), "yellow": (style.ORANGE, "s"), "red": (style.VERMILION, "D")}


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
    ax = style.as_axes(ax)
    values = np.concatenate([found.prob, found.event_rate, found.low, found.high])
    inner = values[(values > 0) & (values < 1)]
    low, high = (inner.min() / 2, (1 + inner.max()) / 2) if inner.size else (0.01, 0.99)
    ax.plot([low, high], [low, high], color=style.GREY, linewidth=1, linestyle="--", label="as predicted")
    x, y, bottom, top = (np.clip(v, low, high) for v in (found.prob, found.event_rate, found.low, found.high))
    ax.vlines(x, bottom, top, color=style.BLUE, linewidth=1.2)
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
    style.legend(ax, "upper left")
    return ax


_LABELS = 8  # period names that fit under the axis


def timeline(line: MonitoringResult, ax: Axes | None = None) -> Axes:
    """Draw SCDL and the guaranteed expected loss of each window, and where the forecast was not calibrated.

    Parameters
    ----------
    line : MonitoringResult
        What `rainproof.monitor` returned.
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    at = range(len(line.windows))
    bounds = [math.nan if w.bound is None else w.bound for w in line.windows]
    label = f"expected loss of every decision, at most ({100 * line.confidence_level:.4g}%)"
    ax.plot(at, bounds, color=style.ORANGE, linestyle="--", marker="s", markersize=3, label=label)
    ax.plot(at, [w.value for w in line.windows], color=style.BLUE, marker="o", markersize=3, label="SCDL on these rows")
    for number, change in enumerate(line.changes):
        first = number == 0
        last = next(k for k, w in enumerate(line.windows) if w.label == change.last_alarm)
        ax.axvspan(change.index - 0.5, last + 0.5, color=style.VERMILION, alpha=0.12, lw=0)
        ax.axvline(
            change.index - 0.5, color=style.VERMILION, linestyle=":", label="not calibrated since" if first else None
        )
        ax.axvline(change.alarm_index, color=style.VERMILION, lw=1, label="first alarm" if first else None)
        ax.annotate(
            style.plain(change.label),
            (change.index - 0.5, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -86),
            textcoords="offset points",
            color=style.VERMILION,
            fontsize="small",
        )
    step = -(-len(line.windows) // _LABELS)
    ax.set_xticks(list(at)[::step], [style.plain(w.label) for w in line.windows][::step], rotation=30, ha="right")
    ax.set_ylim(0, style.HEADROOM * ax.dataLim.ymax)
    windows = "one period" if line.length == 1 else f"the last {line.length} periods"
    ax.set(ylabel="share of what is at stake", title=f"SCDL over {windows}")
    style.legend(ax, "upper left")
    return ax
