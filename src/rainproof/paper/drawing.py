"""The figures, drawn from the tables of a part; nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rainproof.core.atomic_write import atomic_output
from rainproof.errors import MissingExtraError
from rainproof.paper.figures import MEASURES, REGRETS, SHOWN
from rainproof.paper.results import PartResult, Table

_STYLE = {
    "svg.hashsalt": "rainproof",
    "svg.fonttype": "none",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_INK, _RED, _GREY = "#1f4e79", "#c0504d", "#888888"


def draw(result: PartResult, folder: Path) -> list[Path]:
    """Write each figure of a part as PNG and SVG, and return the paths."""
    files = []
    for name in result.pictures:
        with _rc():
            figure = _PICTURES[name](result)
            files += [_save(figure, folder / f"{name}.{kind}") for kind in ("png", "svg")]
    return files


def _rc() -> Any:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("drawing", "Matplotlib", "matplotlib") from error
    return mpl.rc_context(_STYLE)  # type: ignore[arg-type,unused-ignore]


def _figure(rows: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    # fixed margins, in inches: automatic layout takes seconds
    figure.subplots_adjust(
        left=0.6 / width,
        right=1 - 0.15 / width,
        bottom=0.5 / height,
        top=1 - 0.3 / height,
        wspace=0.75 / (width / columns - 0.75),
        hspace=0.75 / (height / rows - 0.75),
    )
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def _save(figure: Any, path: Path) -> Path:
    kind = path.suffix[1:]
    with atomic_output(path) as temporary:
        figure.savefig(
            temporary, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else {"Software": None}
        )
    return path


def _curves(result: PartResult) -> Any:
    figure, axes = _figure(2, 2, 6.4, 4.8)
    rows = result.tables[0].records()
    for ax, alpha in zip(axes, sorted({_number(row["alpha"]) for row in rows}), strict=True):
        of = [row for row in rows if row["alpha"] == alpha]
        for column, colour, line in (("E[Y|x]", _GREY, "--"), ("f(x)", _INK, "-"), ("1-f(x)", _RED, "-")):
            ax.plot([row["x"] for row in of], [row[column] for row in of], line, color=colour, label=column)
        ax.set(title=f"alpha = {alpha:g}", xlabel="x", ylim=(-0.02, 1.02))
    axes[0].legend(frameon=False)
    return figure


def _scatter(result: PartResult, names: Sequence[str], regrets: Sequence[str], columns: int) -> Any:
    *both, last = (table.records() for table in result.tables)
    points, correlations = last, {(row["swap regret"], row["measure"]): row for rows in both for row in rows}
    panels = [(name, regret) for regret in regrets for name in names]
    rows = -(-len(panels) // columns)
    figure, axes = _figure(rows, columns, 2.6 * columns, 2.3 * rows)
    for ax, (name, regret) in zip(axes, panels, strict=False):
        colour = [_number(p["alpha"]) for p in points]
        x, y = ([p[column] for p in points] for column in (name, f"swap regret {regret}"))
        ax.scatter(x, y, c=colour, cmap="Blues", vmin=-0.3, vmax=1, s=7, linewidths=0.2, edgecolors=_INK)
        r, low, high = (correlations[regret, name][what] for what in ("Spearman", "low", "high"))
        says = "no correlation" if r is None else f"rank correlation {r:.2f} ({low:.2f} to {high:.2f})"
        ax.set_title(says, fontsize=7)
        ax.set(xlabel=name, ylabel=f"swap regret {regret}")
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    return figure


def _exponents(result: PartResult) -> Any:
    """Plot the error against the number of rows for each measure, one line per population."""
    points = _named(result, "table1_errors").records()
    names = list(dict.fromkeys(str(p["measure"]) for p in points))
    rows = -(-(len(names) + 1) // 6)  # one place for the legend
    figure, axes = _figure(rows, 6, 15, 2.3 * rows)
    populations = list(dict.fromkeys(str(p["population"]) for p in points))
    for ax, name in zip(axes, names, strict=False):
        for population, colour in zip(populations, (_INK, _RED, "#6a9a3a", "#8064a2", "#e08a1e", _GREY), strict=False):
            of = [p for p in points if p["measure"] == name and p["population"] == population and p["mean error"]]
            ax.plot([p["T"] for p in of], [p["mean error"] for p in of], ".-", color=colour, lw=1, label=population)
        ax.set(xscale="log", yscale="log", title=name, xlabel="rows")
    for ax in axes[len(names) :]:
        ax.set_axis_off()
    axes[-1].legend(*axes[0].get_legend_handles_labels(), loc="center", frameon=False)
    return figure


def _grids(result: PartResult) -> Any:
    """Plot the exact loss of each grid and the paper's bound."""
    rows = _named(result, "beyond_grids").records()
    names = list(dict.fromkeys(str(row["forecasts"]) for row in rows))
    figure, axes = _figure(1, len(names), 2.8 * len(names), 2.8)
    for ax, name in zip(axes, names, strict=True):
        of = [row for row in rows if row["forecasts"] == name]
        for column, colour in (("CDL(S_m), exact", _INK), ("2 SCDL_m + 2/m", _RED)):
            ax.plot([row["m"] for row in of], [row[column] for row in of], ".-", color=colour, label=column)
        ax.set(xscale="log", yscale="log", title=name, xlabel="grid m")
    axes[0].legend(frameon=False)
    return figure


def _named(result: PartResult, name: str) -> Table:
    return next(table for table in result.tables if table.name == name)


def _number(cell: Any) -> float:
    return float(cell)


_PICTURES: dict[str, Any] = {
    "figure1": _curves,
    "figure2": lambda result: _scatter(result, SHOWN, REGRETS, 5),
    "figure2_all": lambda result: _scatter(result, list(MEASURES), REGRETS[-1:], 5),
    "figure3": lambda result: _scatter(result, SHOWN, REGRETS, 5),
    "figure3_all": lambda result: _scatter(result, list(MEASURES), REGRETS[-1:], 5),
    "table1": _exponents,
    "beyond": _grids,
}
