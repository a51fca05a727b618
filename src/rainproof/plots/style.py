"""What the panels share: colours, axes, legends, and marks with the lines of their intervals.

Matplotlib is imported when something is drawn. What only one panel needs stays beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats
from rainproof.core.validation import ThresholdRange
from rainproof.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


Corner = Literal["best", "upper left", "upper right", "lower right"]

# Okabe and Ito's colours, which colour-blind readers can tell apart. Line styles and markers
# differ as well, for prints in grey.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
GREY = "0.45"
PALE = "0.85"

HEADROOM = 1.35  # height of a panel over its highest point, for the legend
MIN_TOP = 1e-3  # of an axis: a curve that is 0 everywhere needs one too
_RARE = 0.05  # event rate: on a plain axis, most points of rarer events are in a corner
_PLAIN_TICKS = 1 << 12  # finer grids are easier to read as powers of two


class Mark(NamedTuple):
    """How a point is drawn."""

    colour: str
    marker: str


class Row(NamedTuple):
    """A line of `draw_rows`: a value with its interval, where it has them, and its kind."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    kind: str


def new_figure(*, figsize: tuple[float, float] | None = None, dpi: float | None = None) -> Figure:
    """Make a figure in pyplot's list, so that notebooks and ``plt.show()`` show it."""
    with _matplotlib():
        import matplotlib.pyplot as plt
    return plt.figure(layout="constrained", figsize=figsize, dpi=dpi)


def figure_for_a_file(*, figsize: tuple[float, float]) -> Figure:
    """Make a figure that is saved and never shown: it needs no backend with windows."""
    with _matplotlib():
        from matplotlib.figure import Figure
    return Figure(layout="constrained", figsize=figsize)


@contextmanager
def _matplotlib() -> Iterator[None]:
    """Say what is wrong if Matplotlib cannot be imported, or refuses the backend as it is."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError("drawing", "Matplotlib", "matplotlib") from error
    except ValueError as error:
        backend = os.environ.get("MPLBACKEND")
        if backend is None:
            raise
        raise InputError(
            f"MPLBACKEND must name a backend of Matplotlib, such as agg; it is {backend!r}"
        ) from error


def as_axes(ax: Axes | None) -> Axes:
    """Return the user's axes, or new ones."""
    return new_figure().add_subplot() if ax is None else ax


def grid_axis(ax: Axes, finest: int) -> None:
    """Make the x axis one of grids: 2, 4, 8 and so on."""
    ax.set_xscale("log", base=2)
    if finest <= _PLAIN_TICKS:
        ax.xaxis.set_major_formatter("{x:g}")


def span(within: ThresholdRange | None) -> tuple[float, float]:
    """Return the ends of an axis of thresholds: those of the range, unless it is a single one."""
    if within is None or within.low == within.high:
        return 0.0, 1.0
    return within


def is_rare(event_rate: float) -> bool:
    """Return whether probabilities are drawn on a logit axis: of events that are rare, or nearly
    certain.
    """
    return 0 < min(event_rate, 1 - event_rate) < _RARE


def rare_span(event_rate: float, divisor: float) -> tuple[float, float]:
    """Return the ends of a logit axis: 1/2, and a part of the rate of the rarer outcome."""
    if event_rate < 0.5:
        return event_rate / divisor, 0.5
    return 0.5, 1 - (1 - event_rate) / divisor


def log_axis(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers: 0.02, 0.05, 0.1."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def legend(ax: Axes, loc: Corner = "best", ncols: int = 1) -> None:
    """Add a legend that leaves the picture visible."""
    ax.legend(loc=loc, fontsize="small", framealpha=0.8, ncols=ncols)


def plain(text: str) -> str:
    """Escape dollar signs, which would start a formula."""
    return text.replace("$", r"\$")


def level_text(level: float) -> str:
    """Write a confidence level: 95%, 99.9%."""
    return f"{100 * level:.4g}%"


def interior(values: Floats) -> Floats:
    """Return the probabilities that a logit axis can show: those between 0 and 1."""
    inside: Floats = values[(values > 0) & (values < 1)]
    return inside


def logit_points(last: float, points: int) -> Floats:
    """Return probabilities evenly spread over logits, from minus the last one to it.

    On logit axes straight pieces are not straight: they are drawn through these points.
    """
    return np.asarray(1 / (1 + np.exp(np.linspace(last, -last, points))))


def draw_diagonal(ax: Axes, along: ArrayLike, label: str | None = None) -> None:
    """Draw the line on which both coordinates are equal, through these points."""
    ax.plot(along, along, color=GREY, linewidth=1, linestyle="--", label=label)


def draw_marks(ax: Axes, x: ArrayLike, y: ArrayLike, mark: Mark, **options: Any) -> None:
    """Draw points that no line connects."""
    ax.plot(x, y, color=mark.colour, marker=mark.marker, linestyle="none", **options)


def draw_rows(ax: Axes, rows: Sequence[Row], marks: Mapping[str, Mark], xlabel: str) -> None:
    """Draw values in rows from the top, with the mark of the kind of each, and explain the kinds
    below.
    """
    height = len(rows)
    for place, row in enumerate(rows):
        if row.value is not None:
            draw_value(ax, height - 1 - place, row.value, row.low, row.high, marks[row.kind])
    ax.set_yticks(np.arange(height)[::-1], [plain(row.name) for row in rows])
    ax.set(xlabel=xlabel, ylim=(-0.7 - 0.25 * height, height - 0.3))  # the legend is below
    lows = [row.low for row in rows if row.low is not None]
    leftmost = min([0.0, *lows])
    width = ax.get_xlim()[1] - leftmost
    ax.set_xlim(left=leftmost - 0.01 * width)  # marks at 0 are whole
    ax.grid(axis="x", alpha=0.3)
    for kind, mark in marks.items():
        draw_marks(ax, [], [], mark, markersize=5, label=kind)
    legend(ax, "lower right")


def draw_value(
    ax: Axes, y: int, value: float, low: float | None, high: float | None, mark: Mark
) -> None:
    """Draw a value in its row, with a line for its interval if it has one."""
    if low is not None and high is not None:
        ax.plot([low, high], [y, y], color=mark.colour, linewidth=2, solid_capstyle="butt")
    draw_marks(ax, [value], [y], mark, markersize=5)
