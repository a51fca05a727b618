"""Diagrams of one forecast: reliability, the map that recalibrates it, its risks, and an overview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.text import percent
from rainproof.inference.performance import NetBenefit
from rainproof.plots import style
from rainproof.plots.curves import forecast_value, regret
from rainproof.plots.intervals import costs, measures
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.verdict.classes import ClassAssessment
from rainproof.verdict.clinical import ClinicalPerformance
from rainproof.verdict.result import Assessment
from rainproof.verdict.summaries import BARS, Histogram, Reliability
from rainproof.verdict.words import says_and_happens

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_UNDER, _TOP = -0.2, 1.03  # event rates from 0 to 1, and a strip for the histogram


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
    ax, bins = style.as_axes(ax), found.bins
    ax.plot(
        [0, 1], [0, 1], color=style.GREY, linewidth=1, linestyle="--", label="perfect calibration"
    )
    _band(ax, found)
    errors = np.stack([bins.event_rate - bins.low, bins.high - bins.event_rate]).clip(0)
    how: dict[str, Any] = {
        "color": style.BLUE,
        "linewidth": 1.2,
        "capsize": 0,
        "linestyle": "none",
        "zorder": 3,
    }
    ax.errorbar(bins.mean_prediction, bins.event_rate, yerr=errors, **how)
    for off, label in ((False, "event rate"), (True, "event rate, beyond chance")):
        at = found.off == off
        if at.any():
            mark: dict[str, Any] = (
                {"marker": "D", "color": style.VERMILION}
                if off
                else {"marker": "o", "color": style.BLUE}
            )
            mark |= {"linestyle": "none", "markersize": 5, "label": label, "zorder": 4}
            ax.plot(
                bins.mean_prediction[at],
                bins.event_rate[at],
                markerfacecolor=style.VERMILION if off else "white",
                **mark,
            )
    if recalibration is not None:
        _map(ax, recalibration)
    _axes(ax, found)
    ax.set_title(f"Reliability diagram, grid 1/{bins.grid}")
    style.legend(ax, "upper left")
    return ax


def _axes(ax: Axes, found: Reliability) -> None:
    """Plain axes with the histogram, or logit axes."""
    bins = found.bins
    rate = float(bins.share @ bins.event_rate)
    rarer = min(rate, 1 - rate)
    if 0 < rarer < style.RARE:
        ends = (rarer / 30, 0.5) if rate < 0.5 else (0.5, 1 - rarer / 30)
        inner = bins.mean_prediction[(bins.mean_prediction > 0) & (bins.mean_prediction < 1)]
        low, high = min(ends[0], inner.min(initial=0.5)) / 1.2, max(ends[1], inner.max(initial=0.5))
        ax.set_xscale("logit", nonpositive="clip")
        ax.set_yscale("logit", nonpositive="clip")
        ax.set(xlim=(low, (1 + high) / 2), ylim=(low, (1 + high) / 2))
    else:
        _histogram(ax, found)
        ax.set(xlim=(-0.02, 1.02), ylim=(_UNDER, _TOP))
        ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.set(xlabel="mean prediction", ylabel="event rate")


def _map(ax: Axes, recalibration: PiecewiseMap) -> None:
    """Each piece from its lower edge to its upper one."""
    edges, start, slope = recalibration.edges, recalibration.start, recalibration.slope
    x = np.repeat(edges, 2)[1:-1]
    y = np.stack([start, start + slope * np.diff(edges)], axis=1).ravel()
    ax.plot(
        x, y, color=style.GREEN, linestyle=":", linewidth=2, label="recalibration map", zorder=5
    )


def _band(ax: Axes, found: Reliability) -> None:
    bins = found.bins
    if len(bins.prediction) == 1:  # a band has no width over a single point
        x = bins.mean_prediction[0]
        ax.plot(
            [x, x],
            [found.null_low[0], found.null_high[0]],
            color=style.PALE,
            linewidth=8,
            solid_capstyle="butt",
        )
        return
    label = f"calibrated ({100 * bins.confidence_level:.4g}%)"
    ax.fill_between(
        bins.mean_prediction,
        found.null_low,
        found.null_high,
        color=style.PALE,
        linewidth=0,
        label=label,
        zorder=1,
    )


def _histogram(ax: Axes, found: Reliability) -> None:
    """Bars in the strip that the panel keeps free below 0."""
    under = ax.inset_axes((0, 0, 1, -_UNDER / (_TOP - _UNDER) * 0.85), sharex=ax, zorder=0)
    under.bar(
        found.bins.mean_prediction,
        found.bins.share,
        width=0.9 / found.grid,
        color="0.7",
        linewidth=0,
    )
    under.set_axis_off()
    under.set_label("share of rows")


_BETWEEN = style.logit_points(25, 1001)  # on logit axes, pieces are not straight
_SHOWN = 50  # maps of segments


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
    ax, rates = style.as_axes(ax), recalibrator.held_out_rates_
    rarer = 0.5 if rates is None else min(rates.overall, 1 - rates.overall)
    rare = 0 < rarer < style.RARE
    diagonal = np.concatenate([[0.0], _BETWEEN, [1.0]])
    ax.plot(diagonal, diagonal, color=style.GREY, linewidth=1, linestyle="--", label="unchanged")
    for number, own in enumerate(list(recalibrator.segment_maps_.values())[:_SHOWN]):
        ax.plot(
            *_curve(own), color=style.PALE, linewidth=1, label="" if number else "maps of segments"
        )
    ax.plot(
        *_curve(recalibrator.map_),
        color=style.BLUE,
        linewidth=1.5,
        label=f"map ({recalibrator.method_})",
    )
    low, high = 0.0, 1.0
    if rates is not None:
        level = percent(recalibrator.confidence_level)
        label = "event rate, rows held out" + (
            "" if rates.grouped else f" ({level}, each by itself)"
        )
        errors = (
            None
            if rates.grouped
            else np.stack([rates.event_rate - rates.low, rates.high - rates.event_rate])
        )
        how: dict[str, Any] = {"color": style.VERMILION, "fmt": "o", "markersize": 4, "zorder": 3}
        ax.errorbar(rates.prediction, rates.event_rate, yerr=errors, label=label, **how)
        if rare:
            low, high = _limits(
                np.concatenate([rates.prediction, rates.event_rate, rates.low, rates.high])
            )
            ax.set(xscale="logit", yscale="logit")
    ax.set(
        xlim=(low, high), ylim=(low, high), xlabel="prediction", ylabel="recalibrated prediction"
    )
    ax.set_title("Recalibration")
    style.legend(ax, "upper left")
    return ax


def _curve(pieces: PiecewiseMap) -> tuple[Floats, Floats]:
    """Points on the map, at either side of each edge too."""
    edges = pieces.edges
    x = np.unique(np.concatenate([edges, np.nextafter(edges[1:], 0), _BETWEEN]))
    return x, pieces.apply(x)


def _limits(values: Floats) -> tuple[float, float]:
    inside = values[(values > 0) & (values < 1)]
    odds = inside / (1 - inside)
    low, high = odds.min() / 2, odds.max() * 2
    return float(low / (1 + low)), float(high / (1 + high))


_COLOURS = (style.BLUE, style.GREEN, style.VERMILION, "#CC79A7", "#56B4E9", "#F0E442")
_LINES: tuple[Any, ...] = (
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
    ax.plot(
        found.threshold,
        found.treat_all,
        color=style.ORANGE,
        linestyle="--",
        linewidth=1.5,
        label="treat all",
    )
    ax.axhline(0, color=style.GREY, linestyle="-.", linewidth=1, label="treat none")
    for k, name in enumerate(found.names):
        colour, line = _COLOURS[k % len(_COLOURS)], _LINES[k % len(_LINES)]
        ax.fill_between(
            found.threshold, found.low[k], found.high[k], color=colour, alpha=0.15, linewidth=0
        )
        ax.plot(
            found.threshold,
            found.value[k],
            color=colour,
            linestyle=line,
            linewidth=1.5,
            label=style.plain(name),
        )
    top = max(float(found.value.max()), float(found.treat_all.max()), style.LEAST)
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
    sides = (
        ("with the event", found.share_events, style.BLUE, 1),
        ("without", found.share - found.share_events, style.ORANGE, -1),
    )
    for label, share, colour, sign in sides:
        height = sign * share / max(float(share.max()), np.finfo(float).tiny)
        ax.bar(
            found.edges[:-1],
            height,
            np.diff(found.edges),
            align="edge",
            color=colour,
            linewidth=0,
            label=label,
        )
    ax.axhline(0, color=style.GREY, linewidth=1)
    some = np.flatnonzero(found.share)  # narrow bars: all risks are low, or all high
    ends = (found.edges[some[0]], found.edges[some[-1] + 1]) if len(found.share) > BARS else (0, 1)
    ax.set(xlim=ends, ylim=(-1.1, 1.35), yticks=[], xlabel="prediction", ylabel="share of rows")
    ax.set_title("Risk distribution by outcome")
    style.legend(ax, "upper right", ncols=2)
    return ax


def clinical(found: ClinicalPerformance) -> Figure:
    """Draw the calibration plot, the decision curve and the risk distribution in one figure.

    Parameters
    ----------
    found : ClinicalPerformance

    Returns
    -------
    matplotlib Figure
    """
    figure = style.new_figure(figsize=(13, 4.3))
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
    ['Reliability diagram, grid 1/8', 'Value of the forecast', 'Regret curve, rounded to 1/8', 'Measures']
    """
    figure = style.new_figure(figsize=figsize, dpi=dpi)
    panels = figure.subplots(2, 2)
    changed = a.recalibrator is not None and a.recalibrator.method_ != "none"
    reliability(
        a.reliability,
        panels[0, 0],
        recalibration=a.recalibrator.map_ if a.recalibrator and changed else None,
    )
    forecast_value(a.value, panels[0, 1])
    regret(
        a.regret,
        panels[1, 0],
        band=a.null_band,
        thresholds=a.task.task.thresholds if a.task else (),
    )
    if a.task is not None and a.task.cost is not None:
        costs(a.task, panels[1, 1])
    else:
        measures(a.measures, panels[1, 1])
    figure.suptitle(
        a.verdict.headline if a.name is None else style.plain(f"{a.name}: {a.verdict.headline}")
    )
    return figure


_MOST_CLASSES = 12


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
    shown = sorted(a.classes, key=lambda one: one.calibration.p_value)[:_MOST_CLASSES]
    across = min(len(shown), 4)
    down = -(-len(shown) // across)
    figure = style.new_figure(figsize=(2.6 * across + 0.6, 2.7 * down + 0.9), dpi=dpi)
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for ax, one in zip(panels.ravel(), shown, strict=False):
        c, rates = one.calibration, one.reliability
        colour = style.VERMILION if c.rejected else style.BLUE
        ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=1, linestyle="--")
        if rates is not None:
            errors = np.stack([rates.event_rate - rates.low, rates.high - rates.event_rate]).clip(0)
            how: dict[str, Any] = {
                "color": colour,
                "marker": "o",
                "markersize": 4,
                "linestyle": "none",
            }
            ax.errorbar(
                rates.prediction, rates.event_rate, yerr=None if rates.grouped else errors, **how
            )
        said, happened = says_and_happens(c)
        ax.set_title(
            style.plain(f"{one.label}: says {said}, happens {happened}"), fontsize="medium"
        )
    for ax in panels.ravel()[len(shown) :]:
        ax.set_visible(False)
    figure.supxlabel("predicted probability of the class")
    figure.supylabel("how often it occurred")
    figure.suptitle(a.verdict.headline, wrap=True)
    return figure
