"""Figures 1 to 3: the example's curves, and each measure against a swap regret; and how every part
is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper.constructions import Floats
from paper.model import ExampleModel
from paper.results import Cell, Chunk, PartResult, Runner, Table, new_file, spans
from paper.tables import ALPHAS, EVALUATED, FITTED, READINGS
from rainproof import DecisionTask, MissingExtraError, Sample, list_measures, swap_regret
from rainproof.measures import Measure

THRESHOLD = 0.35
TASK = DecisionTask.from_costs(false_positive=THRESHOLD, false_negative=1 - THRESHOLD)
REGRETS = ("per action", "per prediction", "in 10 bins", "by true means")
TRUE_ECE = "ECE, by true means"
SHOWN = ("smCE", "Cutoff", "bECE, 10 bins", TRUE_ECE, "SCDL")
_CHUNK = 5
_LEVEL = 0.95

MEASURES: dict[str, Measure] = {
    **{name: measure for name, (_, measure) in READINGS.items()},
    **{
        m.symbol: m
        for m in list_measures().values()
        if m not in [measure for _, measure in READINGS.values()]
    },
}

_CURVES = (
    "One logistic regression for each alpha, fitted to 500 rows: the event probability (which "
    "is E[Y | f(x)], as f is monotone), the predictor f, and 1 - f. At alpha = 1 the best "
    "predictor is constant; the sign of the fitted slope is chance."
)
_SCATTER = (
    "For each of many random alphas, uniform on [0, 1], a regression is fitted to 500 rows and "
    "evaluated on 1,000 new ones: each measure against the swap regret of the best response to "
    "the prediction, in the task U(a, y) = 1 - 0.35 (1 - y) a - 0.65 y (1 - a). Intervals for "
    "the Spearman correlation are those of Bonett and Wright (2000) at 95%. The paper prints "
    "its correlations inside the figures, which our source of it lacks; the table has what its "
    "text says.",
    "The paper does not say how it computes swap regret. Four readings: swaps per action, as "
    "its definition has it (for f most are 0); per prediction, which fits each outcome where "
    "predictions are distinct; one swap for each of 10 bins of the prediction; and per "
    "prediction, judged by the true event rate E[Y | f(x)] of the rows, with ECE computed "
    "likewise, as the mean of |E[Y | f(x)] - f(x)|. The last fits every sentence of the text: "
    "for f all measures but smCE are highly correlated; for 1 - f Cutoff is not correlated and "
    "'just upper bounds' the regret, ECE is highly and SCDL moderately correlated. This is "
    "inferred; the authors' code was not seen.",
)
_SAID = {
    "f": {
        "smCE": "not highly correlated",
        "Cutoff": "highly correlated",
        "bECE": "highly correlated",
        "SCDL": "highly correlated",
    },
    "1-f": {
        "smCE": "",
        "Cutoff": "no longer correlated, just upper bounds",
        "bECE": "highly correlated",
        "SCDL": "moderately correlated",
    },
}


def figure1(_runner: Runner, *, repeats: int, seed: int) -> PartResult:
    """Compute the curves of Figure 1 for the four alphas."""
    x = np.linspace(0, 1, 101)
    rows: list[dict[str, Cell]] = []
    for k, alpha in enumerate(ALPHAS):
        model = ExampleModel(alpha)
        f = model.fit(FITTED, np.random.default_rng([seed, 1, k]))
        columns = np.stack([x, model.mean(x), f(x), f.flip()(x)], axis=1).tolist()
        rows.extend(
            dict(zip(("alpha", "x", "E[Y|x]", "f(x)", "1-f(x)"), [alpha, *c], strict=True))
            for c in columns
        )
    return PartResult(
        name="figure1",
        title="Figure 1: prediction curves",
        words=(_CURVES,),
        tables=(Table.of("figure1", "The curves at 101 points", rows, printed=False),),
        pictures=("figure1",),
        settings={"repeats": repeats, "seed": seed},
    )


def figure2(runner: Runner, *, repeats: int, seed: int) -> PartResult:
    """Compute each measure and the swap regret for the predictor f."""
    return _scatter(
        runner,
        "figure2",
        "Figure 2: measures against swap regret, predictor f",
        False,
        repeats,
        seed,
    )


def figure3(runner: Runner, *, repeats: int, seed: int) -> PartResult:
    """Compute each measure and the swap regret for the predictor 1 - f."""
    return _scatter(
        runner,
        "figure3",
        "Figure 3: measures against swap regret, predictor 1 - f",
        True,
        repeats,
        seed,
    )


def _scatter(
    runner: Runner, name: str, title: str, flipped: bool, repeats: int, seed: int
) -> PartResult:
    chunks = [
        Chunk(f"seed{seed}-{a:06d}-{b:06d}", draw_points, (seed, flipped, a, b))
        for a, b in spans(repeats, _CHUNK)
    ]
    points = [row for chunk in runner(name, chunks) for row in chunk]
    rows = [
        _compared(points, regret, measure, flipped)
        for regret in REGRETS
        for measure in (*MEASURES, TRUE_ECE)
    ]
    title = f"Spearman correlation over {repeats} values of alpha"
    others = [row for row in rows if not _row_of(str(row["measure"]))]
    tables = (
        Table.of(
            f"{name}_correlations", title, [row for row in rows if _row_of(str(row["measure"]))]
        ),
        Table.of(f"{name}_others", f"{title}, other measures", others, printed=False),
        Table.of(f"{name}_points", "The points", points, printed=False),
    )
    return PartResult(
        name=name,
        title=title,
        words=_SCATTER,
        tables=tables,
        pictures=(name, f"{name}_all"),
        settings={"repeats": repeats, "seed": seed},
    )


def _compared(
    points: list[dict[str, float]], regret: str, measure: str, flipped: bool
) -> dict[str, Cell]:
    """Compare a measure with a reading of the regret."""
    values, regrets = ([point[column] for point in points] for column in (measure, _column(regret)))
    r, low, high = spearman(values, regrets)
    above = sum(value >= other for value, other in zip(values, regrets, strict=True)) / len(points)
    said = _SAID["1-f" if flipped else "f"].get(_row_of(measure), "")
    names = (
        "swap regret",
        "measure",
        "Spearman",
        "low",
        "high",
        "share at least the regret",
        "the paper says",
    )
    return dict(zip(names, (regret, measure, r, low, high, above, said), strict=True))


def _row_of(measure: str) -> str:
    """Return the measure of the paper that this is a reading of; empty if of none."""
    return "bECE" if measure == TRUE_ECE else READINGS[measure][0] if measure in READINGS else ""


def _column(regret: str) -> str:
    return f"swap regret {regret}"


def draw_points(seed: int, flipped: bool, start: int, stop: int) -> list[dict[str, float]]:
    """Compute points start..stop: alpha, every regret, every measure. f and 1 - f share their
    rows.
    """
    points = []
    for index in range(start, stop):
        rng = np.random.default_rng([seed, 3, index])
        alpha = float(rng.random())
        model = ExampleModel(alpha)
        f = model.fit(FITTED, rng)
        x, y = model.sample(EVALUATED, rng)
        points.append(
            {"alpha": alpha, **_judge(f.flip()(x) if flipped else f(x), y, model.mean(x))}
        )
    return points


def _judge(p: Floats, y: NDArray[np.bool_], truth: Floats) -> dict[str, float]:
    """Compute regrets and measures; `truth` is E[Y | f(x)], the event rate at x, as f is one to
    one.
    """
    sample = Sample(y, p)
    regrets = (
        swap_regret(sample, task=TASK, per="action").in_units,
        swap_regret(sample, task=TASK, per="prediction").in_units,
        binned_regret(p, y),
        float(np.where(p >= THRESHOLD, THRESHOLD - truth, truth - THRESHOLD).clip(0).mean()),
    )
    return {
        **{_column(regret): value for regret, value in zip(REGRETS, regrets, strict=True)},
        **{name: measure(sample) for name, measure in MEASURES.items()},
        TRUE_ECE: float(np.abs(truth - p).mean()),
    }


def binned_regret(p: Floats, y: NDArray[np.bool_], n_bins: int = 10) -> float:
    """Compute the regret of the figures' task against the best action for each of `n_bins` equal
    bins of p.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.figures import binned_regret
    >>> round(binned_regret(np.array([0.5, 0.55, 0.9]), np.array([False, False, True])), 6)  # not to act at 0.5 to 0.6
    0.233333
    """
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    acted = p >= THRESHOLD
    gain = y - THRESHOLD  # of acting against not acting
    own, act = (np.bincount(bins, weight) for weight in (gain * acted, gain))
    return float((np.maximum(own, np.maximum(act, 0)) - own).sum()) / len(p)


def spearman(
    a: ArrayLike, b: ArrayLike, confidence_level: float = _LEVEL
) -> tuple[float, float, float]:
    """Compute Spearman's rank correlation and an interval: Fisher's z, variance of Bonett and
    Wright (2000).

    Examples
    --------
    >>> from paper.figures import spearman
    >>> [round(v, 3) for v in spearman([1, 2, 3, 4, 5, 6, 7], [2, 1, 4, 3, 6, 5, 7])]
    [0.893, 0.27, 0.989]
    """
    from scipy.stats import norm, rankdata

    ranks = rankdata([np.asarray(a), np.asarray(b)], axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    size = np.sqrt((ranks**2).sum(axis=1))
    if not size.all() or ranks.shape[1] < 4:
        return math.nan, math.nan, math.nan
    r = float(ranks[0] @ ranks[1] / (size[0] * size[1]))
    r = max(-1.0, min(1.0, r))
    if abs(r) > 1 - 1e-12:
        return r, r, r
    half = float(norm.ppf((1 + confidence_level) / 2)) * math.sqrt(
        (1 + r * r / 2) / (ranks.shape[1] - 3)
    )
    return r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


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
    with new_file(path) as temporary:
        figure.savefig(
            temporary,
            format=kind,
            dpi=110,
            metadata={"Date": None} if kind == "svg" else {"Software": None},
        )
    return path


def _curves(result: PartResult) -> Any:
    figure, axes = _figure(2, 2, 6.4, 4.8)
    rows = result.tables[0].records()
    for ax, alpha in zip(axes, sorted({_number(row["alpha"]) for row in rows}), strict=True):
        of = [row for row in rows if row["alpha"] == alpha]
        for column, colour, line in (
            ("E[Y|x]", _GREY, "--"),
            ("f(x)", _INK, "-"),
            ("1-f(x)", _RED, "-"),
        ):
            ax.plot(
                [row["x"] for row in of],
                [row[column] for row in of],
                line,
                color=colour,
                label=column,
            )
        ax.set(title=f"alpha = {alpha:g}", xlabel="x", ylim=(-0.02, 1.02))
    axes[0].legend(frameon=False)
    return figure


def _panels(result: PartResult, names: Sequence[str], regrets: Sequence[str], columns: int) -> Any:
    *both, last = (table.records() for table in result.tables)
    points, correlations = (
        last,
        {(row["swap regret"], row["measure"]): row for rows in both for row in rows},
    )
    panels = [(name, regret) for regret in regrets for name in names]
    rows = -(-len(panels) // columns)
    figure, axes = _figure(rows, columns, 2.6 * columns, 2.3 * rows)
    for ax, (name, regret) in zip(axes, panels, strict=False):
        colour = [_number(p["alpha"]) for p in points]
        x, y = ([p[column] for p in points] for column in (name, f"swap regret {regret}"))
        ax.scatter(
            x, y, c=colour, cmap="Blues", vmin=-0.3, vmax=1, s=7, linewidths=0.2, edgecolors=_INK
        )
        r, low, high = (correlations[regret, name][what] for what in ("Spearman", "low", "high"))
        says = (
            "no correlation" if r is None else f"rank correlation {r:.2f} ({low:.2f} to {high:.2f})"
        )
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
        for population, colour in zip(
            populations, (_INK, _RED, "#6a9a3a", "#8064a2", "#e08a1e", _GREY), strict=False
        ):
            of = [
                p
                for p in points
                if p["measure"] == name and p["population"] == population and p["mean error"]
            ]
            ax.plot(
                [p["T"] for p in of],
                [p["mean error"] for p in of],
                ".-",
                color=colour,
                lw=1,
                label=population,
            )
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
            ax.plot(
                [row["m"] for row in of],
                [row[column] for row in of],
                ".-",
                color=colour,
                label=column,
            )
        ax.set(xscale="log", yscale="log", title=name, xlabel="grid m")
    axes[0].legend(frameon=False)
    return figure


def _named(result: PartResult, name: str) -> Table:
    return next(table for table in result.tables if table.name == name)


def _number(cell: Any) -> float:
    return float(cell)


_PICTURES: dict[str, Any] = {
    "figure1": _curves,
    "figure2": lambda result: _panels(result, SHOWN, REGRETS, 5),
    "figure2_all": lambda result: _panels(result, list(MEASURES), REGRETS[-1:], 5),
    "figure3": lambda result: _panels(result, SHOWN, REGRETS, 5),
    "figure3_all": lambda result: _panels(result, list(MEASURES), REGRETS[-1:], 5),
    "table1": _exponents,
    "beyond": _grids,
}
