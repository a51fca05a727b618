"""What the panels share: colours, new axes, and Matplotlib loaded only when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brolly.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which the colour-blind can tell apart; line styles and markers say the same in grey.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
GREY, PALE = "0.45", "0.85"


def new_figure(*, figsize: tuple[float, float] | None = None, dpi: float | None = None) -> Figure:
    """Make a figure in pyplot's list, so that notebooks and ``plt.show()`` show it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("drawing", "Matplotlib", "plots") from error
    return plt.figure(layout="constrained", figsize=figsize, dpi=dpi)


def as_axes(ax: Axes | None) -> Axes:
    """The user's axes, or new ones."""
    return new_figure().add_subplot() if ax is None else ax


def percent_axis(axis: Any) -> None:
    """Show shares in percent."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=None))


def caption(name: str | None, title: str) -> str:
    """The title of a panel, with the name of the forecast where it has one."""
    return title if name is None else f"{plain(name)}: {title}"


def plain(text: str) -> str:
    """Text as it is: a dollar sign would start a formula."""
    return text.replace("$", r"\$")
