"""Values with intervals: measures, costs, segments, grades, comparisons and periods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.core.text import p_value, short
from rainproof.errors import InputError
from rainproof.inference.calibration_tests import CalibrationTest
from rainproof.inference.comparisons import Comparison
from rainproof.inference.monitoring_results import MonitoringResult
from rainproof.inference.rating_grades import GradeTable
from rainproof.plots import style
from rainproof.verdict.costs import Rule, TaskResult
from rainproof.verdict.segments import SegmentTable
from rainproof.verdict.summaries import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST = 40  # segments that can be read in one picture
_LONGEST = 22  # letters of a name that leave space for the picture


def measures(estimates: Sequence[Estimate], ax: Axes | None = None) -> Axes:
    """Draw measures of calibration on these rows; colour shows whose regret a small value bounds.

    Scores (Brier and log) are left out: they also reward discrimination, and share no axis with the
    others.

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
    every, some = "bounds the regret of every decision", "of some decisions only"
    shown = [e for e in estimates if not e.score]
    rows = [
        (e.symbol, e.value, None, None, every if e.measure.bounds == "all" else some) for e in shown
    ]
    style.draw_rows(
        ax, rows, {every: (style.BLUE, "o"), some: (style.GREY, "s")}, "value (0 is perfect)"
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
    forecast, other = "acting on each forecast", "other rules"
    rows = [
        (
            found.name(rule),
            c.value,
            c.low,
            c.high,
            forecast if rule in (Rule.AS_IS, Rule.RECALIBRATED) else other,
        )
        for rule, c in found.costs.items()
    ]
    style.draw_rows(
        ax, rows, {forecast: (style.BLUE, "o"), other: (style.GREY, "s")}, "cost per case"
    )
    ax.set_title("Cost of your decision")
    return ax


def segments(table: SegmentTable, ax: Axes | None = None) -> Axes:
    """Draw the largest loss of any decision in each segment, and its bound in the population, the
    largest first.

    Losses are of acting on the probabilities as they are, against any monotone recalibration.
    Diamonds are miscalibrated beyond chance, at the table's false discovery rate; segments without
    a mark have too few rows. Of more than forty segments those with the smallest p-values are
    drawn.

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
    plain, off = "on these rows; line: to the bound", "miscalibrated beyond chance"
    names = [f"{short(s.label, _LONGEST)} ({s.n:,})" for s in shown]
    rows = [
        (x, s.loss, s.loss, s.loss_bound, off if s.flagged else plain)
        for x, s in zip(names, shown, strict=True)
    ]
    style.draw_rows(
        ax,
        rows,
        {plain: (style.BLUE, "o"), off: (style.VERMILION, "D")},
        "loss, of what is at stake",
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
        ax,
        0,
        found.difference,
        found.low,
        found.high,
        style.GREY if found.better is None else style.VERMILION,
        "D",
    )
    ax.set_yticks([2, 1, 0], ["a", "b", "a minus b"])
    ax.set(xlabel=style.plain(found.measure), ylim=(-0.7, 2.7))
    ax.grid(axis="x", alpha=0.3)
    result = "no difference beyond chance" if found.better is None else f"{found.better} is better"
    ax.set_title(
        f"{result} ({100 * found.confidence_level:.4g}% interval, {p_value(found.p_value)})"
    )
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
    heights, *_ = ax.hist(
        test.null, bins="auto", color=style.PALE, edgecolor="0.6", linewidth=0.5, label=label
    )
    ax.axvline(
        test.null_mean,
        color=style.BLUE,
        linestyle="--",
        linewidth=1.5,
        label=f"their mean: {test.null_mean:.3g}",
    )
    ax.axvline(
        test.value, color=style.VERMILION, linewidth=2, label=f"these rows: {test.value:.3g}"
    )
    ax.set(
        xlabel=style.plain(test.measure),
        ylabel="forecasts",
        ylim=(0, style.HEADROOM * max(heights)),
    )
    ax.set_title(f"Test of calibration ({p_value(test.p_value)})")
    style.legend(ax)
    return ax


_LIGHTS = {
    "green": (style.GREEN, "o"),
    "yellow": (style.ORANGE, "s"),
    "red": (style.VERMILION, "D"),
}


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
    ax.plot(
        [low, high],
        [low, high],
        color=style.GREY,
        linewidth=1,
        linestyle="--",
        label="as predicted",
    )
    x, y, bottom, top = (
        np.clip(v, low, high) for v in (found.prob, found.event_rate, found.low, found.high)
    )
    ax.vlines(x, bottom, top, color=style.BLUE, linewidth=1.2)
    lights = np.array(found.lights)
    for light, (colour, marker) in _LIGHTS.items():
        at = lights == light
        if at.any():
            mark: dict[str, Any] = {
                "marker": marker,
                "color": colour,
                "linestyle": "none",
                "label": light,
            }
            ax.plot(x[at], y[at], **mark)
    ax.set_xscale("logit")
    ax.set_yscale("logit")
    ax.set(
        xlim=(low, high),
        ylim=(low, high),
        xlabel="predicted default rate",
        ylabel="observed default rate",
    )
    ax.set_title("Default rates by grade")
    style.legend(ax, "upper left")
    return ax


_LABELS = 8  # period names that fit under the axis


def timeline(line: MonitoringResult, ax: Axes | None = None) -> Axes:
    """Draw what the forecast says and what happens in each window, below it the loss, and when it
    was in alarm.

    Parameters
    ----------
    line : MonitoringResult
        What `rainproof.monitor` returned.
    ax : matplotlib Axes, optional
        Where to draw; the axes of the loss are made below. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    spec, figure = ax.get_subplotspec(), ax.get_figure()
    if spec is None or figure is None:
        raise InputError(
            "ax must be of a grid of axes, as subplots() makes them: the loss is drawn below"
        )
    parts = spec.subgridspec(2, 1, height_ratios=(5, 3))
    ax.set_subplotspec(parts[0])
    below = figure.add_subplot(parts[1], sharex=ax)
    at = range(len(line.windows))
    dots: dict[str, Any] = {"marker": "o", "markersize": 3}
    ax.plot(at, [w.event_rate for w in line.windows], color="black", label="happens", **dots)
    ax.plot(at, [w.mean_prediction for w in line.windows], color=style.BLUE, lw=2, label="says")
    if not line.dependent:
        bounds = [math.nan if w.bound is None else w.bound for w in line.windows]
        label = f"at most ({100 * line.confidence_level:.4g}%)"
        below.plot(at, bounds, color=style.ORANGE, linestyle="--", label=label)
    below.plot(
        at, [w.value for w in line.windows], color="black", label="loss on these rows", **dots
    )
    for number, change in enumerate(line.changes):
        labels = (
            ("not calibrated (estimate)", "alarm", "recovered")
            if number == 0
            else (None, None, None)
        )
        end = len(line.windows) - 1 if change.ended_index is None else change.ended_index
        for one in (ax, below):
            named = labels if one is ax else (None, None, None)
            one.axvspan(
                change.index - 0.5,
                end + 0.5,
                color=style.VERMILION,
                alpha=0.12,
                lw=0,
                label=named[0],
            )
            one.axvline(
                change.alarm_index, color=style.VERMILION, lw=1.5, linestyle=":", label=named[1]
            )
            if change.recovered_index is not None:
                one.axvline(
                    change.recovered_index,
                    color=style.GREEN,
                    lw=1.5,
                    linestyle="-.",
                    label=named[2],
                )
    step = -(-len(line.windows) // _LABELS)
    ax.tick_params(labelbottom=False)
    below.set_xticks(
        list(at)[::step],
        [style.plain(w.label) for w in line.windows][::step],
        rotation=30,
        ha="right",
    )
    for one, what in ((ax, "share of rows"), (below, "loss, share\nof the stakes")):
        one.set_ylim(0, style.HEADROOM * one.dataLim.ymax)
        one.set_ylabel(what)
        style.legend(one, "upper left", 1 if one is below else 2)
    windows = "Each period" if line.length == 1 else f"Last {line.length} periods"
    state = f"in alarm since {short(line.since, 20)}" if line.since is not None else "no alarm now"
    ax.set_title(style.plain(f"{windows}: {state}"))
    return ax
