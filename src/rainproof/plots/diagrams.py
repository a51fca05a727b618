"""Diagrams of one forecast: reliability, the map that recalibrates it, its risks, and an overview.

Curves over thresholds are in `curves`, values with intervals in `intervals`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.text import percent
from rainproof.inference.performance import NetBenefit
from rainproof.plots import style
from rainproof.plots.curves import forecast_value, regret
from rainproof.plots.intervals import costs, measures
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
from rainproof.recalibration.certificate import HeldOutRates
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.verdict.classes import ClassAssessment, ClassCalibration
from rainproof.verdict.clinical import ClinicalPerformance
from rainproof.verdict.facts import averages
from rainproof.verdict.result import Assessment
from rainproof.verdict.summaries import BARS, Histogram, Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# event rates go from 0 to 1; the histogram is in the strip below
_BOTTOM = -0.2
_TOP = 1.03


def reliability(
    found: Reliability, ax: Axes | None = None, *, recalibration: PiecewiseMap | None = None
) -> Axes:
    """Draw a reliability diagram: the event rate in soft bins against the mean prediction.

    A calibrated forecast follows the diagonal. Bars are the intervals of the event rates. The grey
    band is where a calibrated forecast with these predictions would lie, each bin by itself. Points
    are filled where the intervals of all bins at once miss that band. The strip at the bottom shows
    the share of rows in each bin. For events that are rare, or nearly certain, both axes are logit
    axes, without the strip; event rates of 0 and 1 are at their ends.

    Parameters
    ----------
    found : Reliability
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.
    recalibration : PiecewiseMap, optional
        The map to recalibrate with, such as ``Recalibrator.map_``, to draw beside the event rates.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    bins = found.bins
    style.draw_diagonal(ax, [0, 1], "perfect calibration")
    _draw_band(ax, found)
    ax.errorbar(
        bins.mean_prediction,
        bins.event_rate,
        yerr=_below_and_above(bins.event_rate, bins.low, bins.high).clip(0),
        color=BLUE,
        linewidth=1.2,
        capsize=0,
        linestyle="none",
        zorder=3,
    )
    _draw_rates(ax, found, ~found.off, Mark(BLUE, "o"), "white", "event rate")
    beyond = Mark(VERMILION, "D")
    _draw_rates(ax, found, found.off, beyond, VERMILION, "event rate, beyond chance")
    if recalibration is not None:
        _draw_map(ax, recalibration)
    _set_axes(ax, found)
    ax.set_title(f"Reliability diagram, grid 1/{bins.grid}")
    style.legend(ax, "upper left")
    return ax


def _below_and_above(rate: Floats, low: Floats, high: Floats) -> Floats:
    """Return the lengths of error bars below and above rates."""
    return np.stack([rate - low, high - rate])


def _draw_rates(
    ax: Axes, diagram: Reliability, chosen: NDArray[np.bool_], mark: Mark, inside: str, label: str
) -> None:
    """Draw the event rates of some bins, if there are any."""
    if chosen.any():
        style.draw_marks(
            ax,
            diagram.bins.mean_prediction[chosen],
            diagram.bins.event_rate[chosen],
            mark,
            markersize=5,
            markerfacecolor=inside,
            label=label,
            zorder=4,
        )


def _set_axes(ax: Axes, diagram: Reliability) -> None:
    """Make the axes plain ones with the histogram, or logit axes where events are rare."""
    bins = diagram.bins
    event_rate = float(bins.share @ bins.event_rate)
    if style.is_rare(event_rate):
        # rates of bins down to a thirtieth of that of all rows, and every mean prediction
        low, high = style.rare_span(event_rate, 30)
        inside = style.interior(bins.mean_prediction)
        low = min(low, inside.min(initial=0.5)) / 1.2
        high = (1 + max(high, inside.max(initial=0.5))) / 2
        ax.set_xscale("logit", nonpositive="clip")
        ax.set_yscale("logit", nonpositive="clip")
        ax.set(xlim=(low, high), ylim=(low, high))
    else:
        _draw_histogram(ax, diagram)
        ax.set(xlim=(-0.02, 1.02), ylim=(_BOTTOM, _TOP), yticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.set(xlabel="mean prediction", ylabel="event rate")


def _draw_map(ax: Axes, recalibration: PiecewiseMap) -> None:
    """Draw each piece from its lower edge to its upper one."""
    edges = recalibration.edges
    start = recalibration.start
    end = start + recalibration.slope * np.diff(edges)
    ax.plot(
        np.repeat(edges, 2)[1:-1],
        np.stack([start, end], axis=1).ravel(),
        color=GREEN,
        linestyle=":",
        linewidth=2,
        label="recalibration map",
        zorder=5,
    )


def _draw_band(ax: Axes, diagram: Reliability) -> None:
    """Draw where the event rates of calibrated forecasts lie."""
    bins = diagram.bins
    if len(bins.prediction) == 1:  # a band has no width over a single point
        x = bins.mean_prediction[0]
        ends = [diagram.null_low[0], diagram.null_high[0]]
        ax.plot([x, x], ends, color=PALE, linewidth=8, solid_capstyle="butt")
        return
    ax.fill_between(
        bins.mean_prediction,
        diagram.null_low,
        diagram.null_high,
        color=PALE,
        linewidth=0,
        label=f"calibrated ({style.level_text(bins.confidence_level)})",
        zorder=1,
    )


def _draw_histogram(ax: Axes, diagram: Reliability) -> None:
    """Draw bars in the strip that the panel keeps free below 0."""
    height = -_BOTTOM / (_TOP - _BOTTOM) * 0.85  # of the panel, with a gap below the points at 0
    under = ax.inset_axes((0, 0, 1, height), sharex=ax, zorder=0)
    under.bar(
        diagram.bins.mean_prediction,
        diagram.bins.share,
        width=0.9 / diagram.grid,
        color="0.7",
        linewidth=0,
    )
    under.set_axis_off()
    under.set_label("share of rows")


_BETWEEN = style.logit_points(25, 1001)  # log odds to 25: probabilities from 1e-11 on
_MAX_MAPS = 50  # of segments


def recalibration(recalibrator: Recalibrator, ax: Axes | None = None) -> Axes:
    """Draw the map of a recalibrator: the recalibrated probability against the original one.

    If it was fitted here, not loaded from a file, points are event rates of the rows held out, in
    bins of equal weight: a good map passes through them. For events that are rare, or nearly
    certain, both axes are logit axes then.

    Parameters
    ----------
    recalibrator : Recalibrator
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    style.draw_diagonal(ax, np.concatenate([[0.0], _BETWEEN, [1.0]]), "unchanged")
    label: str | None = "maps of segments"
    for segment_map in list(recalibrator.segment_maps_.values())[:_MAX_MAPS]:
        ax.plot(*_points_of(segment_map), color=PALE, linewidth=1, label=label)
        label = None  # once in the legend
    label = f"map ({recalibrator.method_})"
    ax.plot(*_points_of(recalibrator.map_), color=BLUE, linewidth=1.5, label=label)
    ends = (0.0, 1.0)
    rates = recalibrator.held_out_rates_
    if rates is not None:
        _draw_held_out_rates(ax, rates, recalibrator.confidence_level)
        if style.is_rare(rates.overall):
            ends = _logit_limits(rates)
            ax.set(xscale="logit", yscale="logit")
    ax.set(xlim=ends, ylim=ends, xlabel="prediction", ylabel="recalibrated prediction")
    ax.set_title("Recalibration")
    style.legend(ax, "upper left")
    return ax


def _draw_held_out_rates(ax: Axes, rates: HeldOutRates, confidence_level: float) -> None:
    """Draw event rates of rows held out, with intervals if the rows are independent."""
    label = "event rate, rows held out"
    errors = None
    if not rates.grouped:
        label += f" ({percent(confidence_level)}, each by itself)"
        errors = _below_and_above(rates.event_rate, rates.low, rates.high)
    ax.errorbar(
        rates.prediction,
        rates.event_rate,
        yerr=errors,
        color=VERMILION,
        fmt="o",
        markersize=4,
        label=label,
        zorder=3,
    )


def _points_of(pieces: PiecewiseMap) -> tuple[Floats, Floats]:
    """Return points on the map, at either side of each edge too."""
    edges = pieces.edges
    x = np.unique(np.concatenate([edges, np.nextafter(edges[1:], 0), _BETWEEN]))
    return x, pieces.apply(x)


def _logit_limits(rates: HeldOutRates) -> tuple[float, float]:
    """Return the ends of logit axes that show all of the rates, at half and twice the odds."""
    inside = style.interior(
        np.concatenate([rates.prediction, rates.event_rate, rates.low, rates.high])
    )
    odds = inside / (1 - inside)
    low = odds.min() / 2
    high = odds.max() * 2
    return float(low / (1 + low)), float(high / (1 + high))


# by model; colour and dashes go together, so that one of them is enough to tell models apart
_COLOURS = (BLUE, GREEN, VERMILION, "#CC79A7", "#56B4E9", "#F0E442")
_DASHES: tuple[Any, ...] = (
    "-",
    ":",
    (0, (8, 2)),
    (0, (1, 3)),
    (0, (4, 1, 1, 1, 1, 1)),
    (0, (12, 2, 1, 2)),
)


def net_benefit(found: NetBenefit, ax: Axes | None = None) -> Axes:
    """Draw decision curves: the net benefit of each model at each threshold, beside treating all
    and none.

    Bands are intervals for each threshold by itself.

    Parameters
    ----------
    found : NetBenefit
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    threshold = found.threshold
    ax.plot(
        threshold,
        found.treat_all,
        color=ORANGE,
        linestyle="--",
        linewidth=1.5,
        label="treat all",
    )
    ax.axhline(0, color=GREY, linestyle="-.", linewidth=1, label="treat none")
    for k, name in enumerate(found.names):
        colour = _COLOURS[k % len(_COLOURS)]
        dashes = _DASHES[k % len(_DASHES)]
        ax.fill_between(
            threshold, found.low[k], found.high[k], color=colour, alpha=0.15, linewidth=0
        )
        ax.plot(
            threshold,
            found.value[k],
            color=colour,
            linestyle=dashes,
            linewidth=1.5,
            label=style.plain(name),
        )
    top = max(float(found.value.max()), float(found.treat_all.max()), MIN_TOP)
    ax.set(xlim=(0, 1), ylim=(-0.15 * top, 1.1 * top))  # far below 0 no curve is of interest
    ax.set(xlabel="threshold", ylabel="net benefit per row", title="Decision curve")
    style.legend(ax, "upper right")
    return ax


def risk_distribution(found: Histogram, ax: Axes | None = None) -> Axes:
    """Draw the distribution of predictions among rows with the event (above) and without it
    (below).

    Each side is scaled by its own highest bar: with rare events the upper side would be invisible
    otherwise.

    Parameters
    ----------
    found : Histogram
    ax : matplotlib Axes, optional
        Where to draw. Default: new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = style.as_axes(ax)
    without = found.share - found.share_events
    _draw_bars(ax, found.edges, _scaled(found.share_events), BLUE, "with the event")
    _draw_bars(ax, found.edges, -_scaled(without), ORANGE, "without")
    ax.axhline(0, color=GREY, linewidth=1)
    ends: tuple[float, float] = (0.0, 1.0)
    if len(found.share) > BARS:  # narrow bars: all risks are low, or all high
        occupied = np.flatnonzero(found.share)
        ends = (found.edges[occupied[0]], found.edges[occupied[-1] + 1])
    ax.set(xlim=ends, ylim=(-1.1, HEADROOM), yticks=[])
    ax.set(xlabel="prediction", ylabel="share of rows", title="Risk distribution by outcome")
    style.legend(ax, "upper right", ncols=2)
    return ax


def _scaled(share: Floats) -> Floats:
    """Scale shares so that the largest is 1; all of them may be 0."""
    scaled: Floats = share / max(float(share.max()), np.finfo(float).tiny)
    return scaled


def _draw_bars(ax: Axes, edges: Floats, height: Floats, colour: str, label: str) -> None:
    """Draw a histogram from its edges."""
    ax.bar(edges[:-1], height, np.diff(edges), align="edge", color=colour, linewidth=0, label=label)


def clinical(found: ClinicalPerformance) -> Figure:
    """Draw the calibration plot, the decision curve and the risk distribution in one figure.

    Parameters
    ----------
    found : ClinicalPerformance

    Returns
    -------
    matplotlib Figure
    """
    figure = style.new_figure(figsize=(13, 4.3))  # inches: three panels side by side
    axes = figure.subplots(1, 3)
    reliability(found.reliability, axes[0])
    net_benefit(found.net_benefit, axes[1])
    risk_distribution(found.risk_distribution, axes[2])
    return figure


def overview(
    a: Assessment, *, figsize: tuple[float, float] = (11.0, 8.5), dpi: float | None = None
) -> Figure:
    """Draw the reliability diagram, the value of the forecast, the regret curve and the costs of an
    assessment.

    Without a task the measures of calibration take the place of the costs.

    Parameters
    ----------
    a : Assessment
    figsize : tuple of float
        Width and height in inches.
    dpi : float, optional
        Dots per inch. Default: Matplotlib's.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import rainproof
    >>> a = rainproof.assess([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.4] * 50)
    >>> figure = rainproof.plots.overview(a)
    >>> [ax.get_title() for ax in figure.axes]
    ['Reliability diagram, grid 1/8', 'Value of the forecast', 'Regret curve, rounded to 1/8',
    'Measures']
    """
    figure = style.new_figure(figsize=figsize, dpi=dpi)
    panels = figure.subplots(2, 2)
    map_ = None
    if a.recalibrator is not None and a.recalibrator.method_ != "none":
        map_ = a.recalibrator.map_
    reliability(a.reliability, panels[0, 0], recalibration=map_)
    forecast_value(a.value, panels[0, 1])
    thresholds: tuple[float, ...] = ()
    if a.task is not None:
        thresholds = a.task.task.thresholds
    regret(a.regret, panels[1, 0], band=a.null_band, thresholds=thresholds)
    if a.task is not None and a.task.cost is not None:
        costs(a.task, panels[1, 1])
    else:
        measures(a.measures, panels[1, 1])
    title = a.verdict.headline
    if a.name is not None:  # a name of the user, which may hold dollar signs
        title = style.plain(f"{a.name}: {title}")
    figure.suptitle(title)
    return figure


_MAX_CLASSES = 12  # as many as fit on a page
_MAX_ACROSS = 4  # panels in a row


def classes(a: ClassAssessment, *, dpi: float | None = None) -> Figure:
    """Draw a reliability diagram for each class, those that are most off first, at most twelve.

    Points are bins with equal numbers of rows, bars the intervals of their event rates, each by
    itself (not drawn where rows come in groups). A class that is off, and not by chance, is drawn
    in the colour of warnings.

    Parameters
    ----------
    a : ClassAssessment
    dpi : float, optional
        Dots per inch. Default: Matplotlib's.

    Returns
    -------
    matplotlib Figure
    """
    shown = sorted(a.classes, key=_p_value)[:_MAX_CLASSES]
    across = min(len(shown), _MAX_ACROSS)
    down = math.ceil(len(shown) / across)
    # inches: a panel and its title, and the labels that all panels share
    size = (2.6 * across + 0.6, 2.7 * down + 0.9)
    figure = style.new_figure(figsize=size, dpi=dpi)
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
    for ax, of_class in zip(panels, shown, strict=False):  # some panels can be left over
        _draw_class(ax, of_class)
    for ax in panels[len(shown) :]:
        ax.set_visible(False)
    figure.supxlabel("predicted probability of the class")
    figure.supylabel("how often it occurred")
    figure.suptitle(a.verdict.headline, wrap=True)
    return figure


def _p_value(of_class: ClassCalibration) -> float:
    """Return how likely it is that a calibrated class looks as much off."""
    return of_class.calibration.p_value


def _draw_class(ax: Axes, of_class: ClassCalibration) -> None:
    """Draw the reliability diagram of a class."""
    calibration = of_class.calibration
    rates = of_class.reliability
    style.draw_diagonal(ax, [0, 1])
    if rates is not None:
        errors = None
        if not rates.grouped:
            errors = _below_and_above(rates.event_rate, rates.low, rates.high).clip(0)
        ax.errorbar(
            rates.prediction,
            rates.event_rate,
            yerr=errors,
            color=VERMILION if calibration.rejected else BLUE,
            marker="o",
            markersize=4,
            linestyle="none",
        )
    says, happens = averages(calibration)
    title = style.plain(f"{of_class.label}: says {says}, happens {happens}")
    ax.set_title(title, fontsize="medium")
