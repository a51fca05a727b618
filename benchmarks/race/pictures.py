"""Pictures of the pages, in one style."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any


@contextmanager
def figure(path: Path, width: float, height: float) -> Iterator[Any]:
    """A figure that is written when its block ends."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    yield fig
    for ax in fig.axes:
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=110, metadata={"Software": None})


def lines(ax: Any, series: Mapping[str, Sequence[tuple[int, float]]], ours: str) -> None:
    """Draw a line for each name by the number of rows; those whose name begins with `ours` stand
    out.
    """
    import matplotlib as mpl

    own, others = (
        cycle(["#1f4e9c", "#e07b00", "#167a5b", "#8c2d92", "#b22222"]),
        cycle(mpl.colormaps["tab20"].colors[2:]),
    )
    marks = cycle("os^vDPX*")
    for name, points in series.items():
        if points:
            mine = name.startswith(ours)
            style = (
                {"lw": 3, "ms": 8, "color": next(own)}
                if mine
                else {"lw": 1, "ms": 5, "ls": "--", "color": next(others)}
            )
            ax.plot(
                *zip(*points, strict=True),
                marker=next(marks),
                label=name,
                zorder=3 if mine else 2,
                **style,
            )
    sizes = sorted({x for points in series.values() for x, _ in points})
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{x:,}" for x in sizes])
    ax.minorticks_off()
    ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
