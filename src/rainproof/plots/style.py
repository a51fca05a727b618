"""What the panels share: colours, new axes, and Matplotlib loaded only when something is drawn."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.validation import ThresholdRange
from rainproof.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


Corner = Literal["best", "upper left", "upper right", "lower right"]

# Okabe and Ito's colours, which colour-blind readers can tell apart; line styles and markers differ
# as well.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
GREY, PALE = "0.45", "0.85"
HEADROOM = 1.35  # height of a panel over its highest point, for the legend
LEAST = 1e-3  # a curve that is 0 everywhere still needs an axis
RARE = 0.05  # with a lower event rate (or one as near to 1) probabilities are drawn on a logit axis
_PLAIN_TICKS = 1 << 12  # finer grids are easier to read as powers of two


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
    """Say what is wrong if Matplotlib cannot be imported: it refuses an unknown backend when it is."""
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
    """Return the ends of an axis of thresholds: those of the range, unless it is one of them."""
    return within if within is not None and within.low < within.high else (0.0, 1.0)


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


Row = tuple[str, float | None, float | None, float | None, str]
"""Its name, a value, the ends of its interval, and the kind of its mark."""


def draw_rows(
    ax: Axes, rows: Sequence[Row], marks: Mapping[str, tuple[str, str]], xlabel: str
) -> None:
    """Draw values in rows from the top, with colour and marker of the kind of each, and explain the
    kinds below.
    """
    for y, (_, value, low, high, kind) in zip(reversed(range(len(rows))), rows, strict=True):
        if value is not None:
            draw_value(ax, y, value, low, high, *marks[kind])
    ax.set_yticks(np.arange(len(rows))[::-1], [plain(name) for name, *_ in rows])
    ax.set(xlabel=xlabel, ylim=(-0.7 - 0.25 * len(rows), len(rows) - 0.3))
    least = min([0.0, *(low for _, _, low, _, _ in rows if low is not None)])
    ax.set_xlim(left=least - 0.01 * (ax.get_xlim()[1] - least))  # marks at 0 are whole
    ax.grid(axis="x", alpha=0.3)
    for label, (colour, marker) in marks.items():
        ax.plot([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=label)
    legend(ax, "lower right")


def draw_value(
    ax: Axes, y: int, value: float, low: float | None, high: float | None, colour: str, marker: str
) -> None:
    """Draw a value in its row, with a line for its interval if it has one."""
    if low is not None and high is not None:
        ax.plot([low, high], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
    ax.plot([value], [y], color=colour, marker=marker, linestyle="none", markersize=5)


def logit_points(ends: float, points: int) -> Floats:
    """Return probabilities evenly spread over logits: on a logit axis, straight pieces are drawn
    through them.
    """
    return np.asarray(1 / (1 + np.exp(np.linspace(ends, -ends, points))))
