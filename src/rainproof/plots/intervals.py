"""Values with intervals: measures, costs, segments, grades, comparisons and periods.

What is drawn over thresholds is in `curves`, diagrams of event rates in `diagrams`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rainproof.core.text import p_value, short
from rainproof.errors import InputError
from rainproof.inference.calibration_tests import CalibrationTest
from rainproof.inference.comparisons import Comparison
from rainproof.inference.monitoring_results import DetectedChange, MonitoringResult
from rainproof.inference.rating_grades import GradeTable
from rainproof.plots import style
from rainproof.plots.style import BLUE, GREEN, GREY, HEADROOM, ORANGE, PALE, VERMILION, Mark, Row
from rainproof.verdict.costs import Rule, TaskResult
from rainproof.verdict.segments import SegmentTable
from rainproof.verdict.summaries import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MAX_SEGMENTS = 40  # that can be read in one picture
_LONGEST_NAME = 22  # letters of a segment's name that leave space for the picture
_MAX_PERIOD_NAMES = 8  # that fit under the axis


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
    of_every_decision = "bounds the regret of every decision"
    of_some_decisions = "of some decisions only"
    marks = {of_every_decision: Mark(BLUE, "o"), of_some_decisions: Mark(GREY, "s")}
    rows = []
    for estimate in estimates:
        if not estimate.score:
            kind = of_some_decisions
            if estimate.measure.bounds == "all":
                kind = of_every_decision
            rows.append(Row(estimate.symbol, estimate.value, None, None, kind))
    style.draw_rows(ax, rows, marks, "value (0 is perfect)")
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
    forecast = "acting on each forecast"
    other = "other rules"
    marks = {forecast: Mark(BLUE, "o"), other: Mark(GREY, "s")}
    rows = []
    for rule, cost in found.costs.items():
        kind = forecast if rule in (Rule.AS_IS, Rule.RECALIBRATED) else other
        rows.append(Row(found.name(rule), cost.value, cost.low, cost.high, kind))
    style.draw_rows(ax, rows, marks, "cost per case")
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
    usual = "on these rows; line: to the bound"
    flagged = "miscalibrated beyond chance"
    marks = {usual: Mark(BLUE, "o"), flagged: Mark(VERMILION, "D")}
    shown = table.first(_MAX_SEGMENTS)
    rows = []
    for segment in shown:
        name = f"{short(segment.label, _LONGEST_NAME)} ({segment.n:,})"
        kind = flagged if segment.flagged else usual
        rows.append(Row(name, segment.loss, segment.loss, segment.loss_bound, kind))
    style.draw_rows(ax, rows, marks, "loss, of what is at stake")
    title = "Segments"
    left_out = len(table.rows) - len(shown)
    if left_out:
        title += f" ({left_out} more not shown)"
    ax.set_title(title)
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
    if found.better is None:
        result = "no difference beyond chance"
        colour = GREY
    else:
        result = f"{found.better} is better"
        colour = VERMILION
    ax.axvline(0, color=GREY, linestyle="--", linewidth=1)
    style.draw_value(ax, 2, found.value_a, None, None, Mark(BLUE, "o"))
    style.draw_value(ax, 1, found.value_b, None, None, Mark(BLUE, "s"))
    style.draw_value(ax, 0, found.difference, found.low, found.high, Mark(colour, "D"))
    ax.set_yticks([2, 1, 0], ["a", "b", "a minus b"])
    ax.set(xlabel=style.plain(found.measure), ylim=(-0.7, 2.7))
    ax.grid(axis="x", alpha=0.3)
    level = style.level_text(found.confidence_level)
    ax.set_title(f"{result} ({level} interval, {p_value(found.p_value)})")
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
    heights, *_ = ax.hist(
        test.null,
        bins="auto",
        color=PALE,
        edgecolor="0.6",
        linewidth=0.5,
        label=f"{test.n_resamples:,} calibrated forecasts",
    )
    ax.axvline(
        test.null_mean,
        color=BLUE,
        linestyle="--",
        linewidth=1.5,
        label=f"their mean: {test.null_mean:.3g}",
    )
    ax.axvline(test.value, color=VERMILION, linewidth=2, label=f"these rows: {test.value:.3g}")
    ax.set(xlabel=style.plain(test.measure), ylabel="forecasts")
    ax.set(ylim=(0, HEADROOM * max(heights)))
    ax.set_title(f"Test of calibration ({p_value(test.p_value)})")
    style.legend(ax)
    return ax


_LIGHTS = {
    "green": Mark(GREEN, "o"),
    "yellow": Mark(ORANGE, "s"),
    "red": Mark(VERMILION, "D"),
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
    rates = [found.prob, found.event_rate, found.low, found.high]
    inside = style.interior(np.concatenate(rates))
    low = 0.01
    high = 0.99
    if inside.size:  # half way to 0 and to 1
        low = inside.min() / 2
        high = (1 + inside.max()) / 2
    style.draw_diagonal(ax, [low, high], "as predicted")
    predicted, observed, bottom, top = np.clip(rates, low, high)
    ax.vlines(predicted, bottom, top, color=BLUE, linewidth=1.2)
    lights = np.array(found.lights)
    for light, mark in _LIGHTS.items():
        has_light = lights == light
        if has_light.any():
            style.draw_marks(ax, predicted[has_light], observed[has_light], mark, label=light)
    ax.set(xscale="logit", yscale="logit", xlim=(low, high), ylim=(low, high))
    ax.set(xlabel="predicted default rate", ylabel="observed default rate")
    ax.set_title("Default rates by grade")
    style.legend(ax, "upper left")
    return ax


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
    below = _axes_below(ax)
    _draw_windows(line, ax, below)
    for number, change in enumerate(line.changes):
        _draw_change(line, change, ax, named=number == 0)
        _draw_change(line, change, below, named=False)
    ax.tick_params(labelbottom=False)
    step = math.ceil(len(line.windows) / _MAX_PERIOD_NAMES)
    labels = [style.plain(window.label) for window in line.windows[::step]]
    below.set_xticks(range(0, len(line.windows), step), labels, rotation=30, ha="right")
    ax.set_ylabel("share of rows")
    below.set_ylabel("loss, share\nof the stakes")
    for panel in (ax, below):
        panel.set_ylim(0, HEADROOM * panel.dataLim.ymax)
    style.legend(ax, "upper left", ncols=2)
    style.legend(below, "upper left")
    windows = "Each period"
    if line.length > 1:
        windows = f"Last {line.length} periods"
    state = "no alarm now"
    if line.since is not None:
        state = f"in alarm since {short(line.since, 20)}"
    ax.set_title(style.plain(f"{windows}: {state}"))
    return ax


def _axes_below(ax: Axes) -> Axes:
    """Divide the place of the axes: return new ones in its lower part, with the same x axis."""
    place = ax.get_subplotspec()
    figure = ax.get_figure()
    if place is None or figure is None:
        raise InputError(
            "ax must be of a grid of axes, as subplots() makes them: the loss is drawn below"
        )
    parts = place.subgridspec(2, 1, height_ratios=(5, 3))
    ax.set_subplotspec(parts[0])
    below: Axes = figure.add_subplot(parts[1], sharex=ax)
    return below


def _draw_windows(line: MonitoringResult, ax: Axes, below: Axes) -> None:
    """Draw predictions and event rates of each window, and the loss in the axes below."""
    windows = line.windows
    number = range(len(windows))
    predicted = [window.mean_prediction for window in windows]
    observed = [window.event_rate for window in windows]
    losses = [window.value for window in windows]
    ax.plot(number, observed, color="black", marker="o", markersize=3, label="happens")
    ax.plot(number, predicted, color=BLUE, linewidth=2, label="says")
    if not line.dependent:
        # None becomes NaN, and a gap in the line.
        bounds = np.array([window.bound for window in windows], np.float64)
        label = f"at most ({style.level_text(line.confidence_level)})"
        below.plot(number, bounds, color=ORANGE, linestyle="--", label=label)
    below.plot(number, losses, color="black", marker="o", markersize=3, label="loss on these rows")


def _draw_change(line: MonitoringResult, change: DetectedChange, ax: Axes, *, named: bool) -> None:
    """Shade the windows of a change, and mark when the alarm was raised and when it ended.

    The legend has the names of the first change alone.
    """
    hidden = "" if named else "_"  # a legend leaves out labels that begin with it
    last = change.ended_index
    if last is None:
        last = len(line.windows) - 1
    ax.axvspan(
        change.index - 0.5,
        last + 0.5,
        color=VERMILION,
        alpha=0.12,
        linewidth=0,
        label=f"{hidden}not calibrated (estimate)",
    )
    ax.axvline(
        change.alarm_index,
        color=VERMILION,
        linewidth=1.5,
        linestyle=":",
        label=f"{hidden}alarm",
    )
    if change.recovered_index is not None:
        ax.axvline(
            change.recovered_index,
            color=GREEN,
            linewidth=1.5,
            linestyle="-.",
            label=f"{hidden}recovered",
        )
