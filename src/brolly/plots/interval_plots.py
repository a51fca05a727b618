"""Values side by side, each with its interval: the measures, and the segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brolly.assessment.result import Assessment
from brolly.errors import InputError
from brolly.plots.style import BLUE, GREY, ORANGE, VERMILION, as_axes, caption, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 40  # segments that can be read in one picture
_LONGEST = 22  # letters of a name that leave room for the picture


def measures(a: Assessment, ax: Axes | None = None) -> Axes:
    """Every measure of calibration with its interval, and whose regret a small value bounds.

    The two scores (Brier and log) are left out: they also reward telling cases apart, and share no axis with these.

    Parameters
    ----------
    a : Assessment
    ax : matplotlib Axes, optional
        Where to draw; new axes if not said.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    shown = [e for e in a.measures if not e.is_score]
    at = np.arange(len(shown))[::-1]
    for y, e in zip(at, shown, strict=True):
        everyone = e.measure.bounds == "all"
        _point(ax, y, e.value, e.low, e.high, BLUE if everyone else GREY, "o" if everyone else "s")
    ax.set_yticks(at, [plain(e.measure.symbol) for e in shown])
    ax.set(xlabel="value (0 is perfect)", ylim=(-0.7 - 0.25 * len(shown), len(shown) - 0.3))  # room for the legend
    ax.set_xlim(left=0)
    ax.grid(axis="x", alpha=0.3)
    _legend(ax, {"bounds everyone's regret": (BLUE, "o"), "that of some, or by a root": (GREY, "s")})
    ax.set_title(caption(a.name, "Measures"))
    return ax


def segments(a: Assessment, ax: Axes | None = None) -> Axes:
    """SCDL of every segment with its interval, the largest first.

    Diamonds are off by more than chance explains, allowing for how many segments were looked at; crosses have too few
    rows to be judged. Of more than forty segments those are shown that have the smallest p-values.

    Parameters
    ----------
    a : Assessment
        Of rows with segments (``by=``).
    ax : matplotlib Axes, optional
        Where to draw; new axes if not said.

    Returns
    -------
    matplotlib Axes
    """
    if a.segments is None:
        raise InputError("the assessment has no segments: pass by= to assess")
    ax = as_axes(ax)
    shown = a.segments.first(_MOST)
    at = np.arange(len(shown))[::-1]
    for y, s in zip(at, shown, strict=True):
        colour, marker = (GREY, "x") if s.small else (VERMILION, "D") if s.flagged else (BLUE, "o")
        _point(ax, y, s.value, s.low, s.high, colour, marker)
    line: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "linewidth": 1.5}
    ax.axvline(a.profile.value, label=f"all rows: {a.profile.value:.3g}", **line)
    ax.set_yticks(at, [plain(f"{_short(s.label)} ({s.n:,})") for s in shown])
    ax.set(xlabel="SCDL (0 is perfect)", ylim=(-0.7 - 0.25 * len(shown), len(shown) - 0.3))  # room for the legend
    ax.set_xlim(left=0)
    ax.grid(axis="x", alpha=0.3)
    _legend(ax, {"off by more than chance": (VERMILION, "D"), "too few rows": (GREY, "x")})
    more = len(a.segments.rows) - len(shown)
    ax.set_title(caption(a.name, "Segments" + (f" ({more} more not shown)" if more else "")))
    return ax


def _legend(ax: Axes, marks: dict[str, tuple[str, str]]) -> None:
    """What the marks mean, after the lines that have names of their own."""
    for label, (colour, marker) in marks.items():
        ax.plot([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=label)
    ax.legend(loc="lower right", fontsize="small", framealpha=0.8)


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _point(ax: Axes, y: Any, value: float, low: float | None, high: float | None, colour: str, marker: str) -> None:
    if low is not None and high is not None:
        ax.plot([low, high], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
    ax.plot([value], [y], color=colour, marker=marker, linestyle="none", markersize=5)
