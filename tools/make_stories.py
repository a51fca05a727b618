"""Make the reports and pictures of docs/guide/stories.md.

The reports are pages of the site: MkDocs has them written on each build (tools/hooks.py), and they
are not committed. The pictures are: ``python tools/make_stories.py`` draws them again and prints
the numbers that the page quotes.

Needs ``pip install '.[files,paper]' pandas``. The simulated forecasters are those of
docs/guide/which-measure.md, the last story is examples/flights.py. Everything is seeded.
"""

from __future__ import annotations

import functools
import re
import runpy
import sys
import warnings
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import rainproof

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from make_pictures import samples  # noqa: E402 - a file beside this one, wherever it is run from

UMBRELLA = rainproof.DecisionTask.from_costs(
    false_positive=35, false_negative=65, actions=["leave it", "take it"]
)
REBOOK = rainproof.DecisionTask.from_costs(
    false_positive=30, false_negative=70, actions=["keep", "rebook"]
)
N_RESAMPLES = 199  # enough for p-values of 0.005, and quick enough for every build of the site


def simulated(name: str) -> rainproof.results.Assessment:
    """Assess one of the forecasters of docs/guide/which-measure.md."""
    return rainproof.assess(*samples()[name], task=UMBRELLA, n_resamples=N_RESAMPLES, rng=0)


@functools.cache
def flights() -> pd.DataFrame:
    """Return the flights of the last months with their predictions."""
    example = runpy.run_path(str(HERE.parent / "examples" / "flights.py"))
    table: pd.DataFrame = example["predictions"](example["flights"]())
    return table


def real() -> rainproof.results.Assessment:
    """Assess the flight forecast, by carrier."""
    table = flights()
    rows = table["late"].to_numpy(), table["probability"].to_numpy()
    carrier = {"carrier": table["carrier"].to_numpy(str)}
    # the report states them
    with warnings.catch_warnings(action="ignore", category=rainproof.RainproofWarning):
        return rainproof.assess(*rows, task=REBOOK, by=carrier, n_resamples=N_RESAMPLES, rng=0)


STORIES: dict[str, tuple[str, Callable[[], rainproof.results.Assessment]]] = {
    "calibrated": ("A calibrated forecaster", functools.partial(simulated, "calibrated")),
    "overconfident": ("An overconfident forecaster", functools.partial(simulated, "overconfident")),
    "alternating": (
        "A forecaster whose errors alternate",
        functools.partial(simulated, "alternating"),
    ),
    "flights": ("Will a flight out of New York be late?", real),
}


def changed() -> float:
    """Return when the code that makes pages was last changed."""
    code = [
        *Path(rainproof.__file__).parent.rglob("*.*"),
        *HERE.glob("*.py"),
        *(HERE.parent / "examples").rglob("*.py"),
    ]
    return max(file.stat().st_mtime for file in code if file.suffix != ".pyc")


def write_reports(folder: Path) -> list[Path]:
    """Write the report of each story, unless it is there and newer than the code that makes it."""
    folder.mkdir(parents=True, exist_ok=True)
    newest = changed()
    pages = []
    for name, (title, assess) in STORIES.items():
        page = folder / f"{name}.html"
        if not page.exists() or page.stat().st_mtime < newest:
            assess().to_html(page, title=title)
        pages.append(page)
    return pages


def misquoted(text: str, folder: Path) -> list[str]:
    """Return what docs/guide/stories.md quotes from a report that the report does not contain."""
    wrong = []
    for name, quote in re.findall(r"\(stories/(\w+)\.html\)[^>]*\n\n((?:> .*\n)+)", text):
        words = re.sub(r"<[^>]+>", " ", (folder / f"{name}.html").read_text(encoding="utf-8"))
        report = " ".join(unescape(words).split())
        pieces = re.sub(r"\s*\n> ", " ", quote.removeprefix("> ")).split("[...]")
        wrong += [f"{name}: {piece.strip()}" for piece in pieces if piece.strip() not in report]
    return wrong


def save(figure: Figure, name: str) -> None:
    """Write a picture without the date and version that would make every run differ."""
    figure.savefig(
        HERE.parent / "docs" / "guide" / "stories" / f"{name}.png",
        dpi=100,
        metadata={"Software": None},
    )


def draw(name: str, a: rainproof.results.Assessment) -> None:
    """Draw the reliability diagram and the regret curve of a story."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    a.reliability.plot(left)
    thresholds = a.task.task.thresholds if a.task else ()
    rainproof.plots.regret(a.regret, right, band=a.null_band, thresholds=thresholds)
    save(figure, name)


def draw_flights(a: rainproof.results.Assessment) -> None:
    """Draw the carriers and the days, and print what was found there."""
    table = flights()
    days = table.groupby(table["date"].dt.strftime("%Y-%m-%d"))
    stored = {
        day: rainproof.Sample(rows["late"], rows["probability"]).compress() for day, rows in days
    }
    line = rainproof.monitor(stored, window=14, dependent=True)
    for name, height, panel in (("flights-days", 5.6, line), ("flights-carriers", 5, a.segments)):
        figure = Figure(figsize=(9, height), layout="constrained")
        panel.plot(figure.subplots())
        save(figure, name)
    print(a.segments, *a.segments.rows, line, *line.changes, line.windows[-1], sep="\n")


def print_numbers(y: np.ndarray, p: np.ndarray, a: rainproof.results.Assessment) -> None:
    """Print the numbers in the tables of the page."""
    print(
        f"cutoff {rainproof.measures.cutoff_calibration_error(y, p):.3f}  SCDL "
        f"{rainproof.soft_binned_cdl(y, p):.3f}"
    )
    print(f"at 0.35: {a.advice_at(0.35)}")
    for swaps in ("all", "monotone"):
        loss = rainproof.measures.calibration_decision_loss(y, np.round(64 * p) / 64, swaps=swaps)
        print(f"largest loss against {swaps} swaps, predictions rounded to 1/64: {loss:.3f}")


def main() -> None:
    """Draw all pictures and print what the page quotes."""
    for name, (title, assess) in STORIES.items():
        a = assess()
        print(f"== {title}\n{a}\n")
        draw(name, a)
        if name == "flights":
            draw_flights(a)
        else:
            print_numbers(*samples()[name], a)


if __name__ == "__main__":
    main()
