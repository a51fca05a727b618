"""Values with intervals: the measures, the segments, and a comparison of two forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rainproof.assessment.components import Estimate
from rainproof.assessment.costs import LABELS, TaskResult
from rainproof.assessment.segments import SegmentTable
from rainproof.core.text import short
from rainproof.inference.comparison import Comparison
from rainproof.plots.style import BLUE, GREY, VERMILION, as_axes, legend, plain

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
    ax = as_axes(ax)
    shown = [e for e in estimates if not e.is_score]
    for y, e in zip(reversed(range(len(shown))), shown, strict=True):
        colour, marker = (BLUE, "o") if e.measure.bounds == "all" else (GREY, "s")
        _point(ax, y, e.value, None, None, colour, marker)
    _rows(ax, [plain(e.measure.symbol) for e in shown], "value (0 is perfect)")
    _keys(ax, {"bounds the regret of every decision": (BLUE, "o"), "of some decisions only": (GREY, "s")})
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
    ax = as_axes(ax)
    rules = [(name, cost) for name in LABELS if (cost := getattr(found, name)) is not None]
    for y, (name, cost) in zip(reversed(range(len(rules))), rules, strict=True):
        colour, marker = (BLUE, "o") if name in ("cost", "cost_recalibrated") else (GREY, "s")
        _point(ax, y, cost.mean, cost.low, cost.high, colour, marker)
    _rows(ax, [LABELS[name] for name, _ in rules], "cost per case")
    ax.set_xlim(left=min([0.0, *(cost.low for _, cost in rules)]))
    _keys(ax, {"acting on each forecast": (BLUE, "o"), "other rules": (GREY, "s")})
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
    ax = as_axes(ax)
    shown = table.first(_MOST)
    for y, s in zip(reversed(range(len(shown))), shown, strict=True):
        if s.loss is not None:
            _point(ax, y, s.loss, s.loss, s.loss_bound, *((VERMILION, "D") if s.flagged else (BLUE, "o")))
    _rows(ax, [plain(f"{short(s.label, _LONGEST)} ({s.n:,})") for s in shown], "loss, of what is at stake")
    _keys(ax, {"on these rows; line: to the bound": (BLUE, "o"), "miscalibrated beyond chance": (VERMILION, "D")})
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
    ax = as_axes(ax)
    ax.axvline(0, color=GREY, linestyle="--", linewidth=1)
    _point(ax, 2, found.value_a, None, None, BLUE, "o")
    _point(ax, 1, found.value_b, None, None, BLUE, "s")
    _point(ax, 0, found.difference, found.low, found.high, GREY if found.better is None else VERMILION, "D")
    ax.set_yticks([2, 1, 0], ["a", "b", "a minus b"])
    ax.set(xlabel=plain(found.measure), ylim=(-0.7, 2.7))
    ax.grid(axis="x", alpha=0.3)
    result = "no difference beyond chance" if found.better is None else f"{found.better} is better"
    ax.set_title(f"{result} ({100 * found.confidence_level:.4g}% interval, p = {found.p_value:.2g})")
    return ax


def _rows(ax: Axes, names: list[str], xlabel: str) -> None:
    """Name the rows from the top, and leave space for the legend below."""
    ax.set_yticks(np.arange(len(names))[::-1], names)
    ax.set(xlabel=xlabel, ylim=(-0.7 - 0.25 * len(names), len(names) - 0.3))
    ax.set_xlim(left=0)
    ax.grid(axis="x", alpha=0.3)


def _keys(ax: Axes, marks: dict[str, tuple[str, str]]) -> None:
    """Explain the marks, after the lines that have names of their own."""
    for label, (colour, marker) in marks.items():
        ax.plot([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=label)
    legend(ax, "lower right")


def _point(ax: Axes, y: int, value: float, low: float | None, high: float | None, colour: str, marker: str) -> None:
    if low is not None and high is not None:
        ax.plot([low, high], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
    ax.plot([value], [y], color=colour, marker=marker, linestyle="none", markersize=5)
