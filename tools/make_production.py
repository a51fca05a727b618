"""Replay the flights of 2013 day by day: draw the picture of docs/guide/production.md and print its
numbers.

    python tools/make_production.py

Needs ``pip install '.[files,paper]' pandas``. A model of January and February predicts
every flight from March to December on the day before. Everything is seeded.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingClassifier

import rainproof

ROOT = Path(__file__).parent.parent
TRAINED, MAPPED = 2, 4  # the last month of the model, and of the rows that a map is fitted to
ALPHA = 0.01


def forecasts() -> pd.DataFrame:
    """Return the flights from March on, in order of time, with the probability of being late."""
    example = runpy.run_path(str(ROOT / "examples" / "flights.py"))
    table = example["flights"]()
    known = table[example["_KNOWN"]].copy()
    for name in ("carrier", "origin", "dest"):
        known[name] = known[name].astype("category").cat.codes
    past = table["month"] <= TRAINED
    model = HistGradientBoostingClassifier(categorical_features=[0, 1, 2], random_state=0)
    model.fit(known[past], table["late"][past])
    rest = table.loc[~past, ["date", "month", "late"]]
    return rest.assign(model=model.predict_proba(known[~past])[:, 1]).sort_values(
        "date", kind="stable"
    )


def monthly(table: pd.DataFrame) -> np.ndarray:
    """Recalibrate each month by a map fitted to the two months before."""
    out = table["model"].to_numpy().copy()
    for month in range(MAPPED + 1, 13):
        past, now = (
            table["month"].between(month - 2, month - 1),
            (table["month"] == month).to_numpy(),
        )
        out[now] = (
            rainproof.Recalibrator(rng=0)
            .fit(table["model"][past], table["late"][past])
            .predict(out[now])
        )
    return out


def days(table: pd.DataFrame, column: str) -> dict[str, rainproof.Sample]:
    """Return a compressed sample for each day."""
    found = table.groupby(table["date"].dt.strftime("%Y-%m-%d"))
    return {day: rainproof.Sample(rows["late"], rows[column]).compress(1024) for day, rows in found}


def draw(table: pd.DataFrame, lines: dict[str, rainproof.results.MonitoringResult]) -> None:
    """Draw mean prediction and event rate by week, and the two timelines."""
    figure = Figure(figsize=(9, 10), layout="constrained")
    top, *rest = figure.subplots(3, 1)
    weeks = table.groupby(table["date"].dt.to_period("W").dt.start_time)
    for column, label, style in (
        ("late", "late", {"color": "black", "lw": 2}),
        ("model", "model of January and February", {"color": "#0072B2"}),
        ("monthly", "recalibrated each month", {"color": "#E69F00", "ls": "--"}),
        ("at once", "online, outcomes at once", {"color": "#009E73", "marker": "o", "ms": 3}),
        ("at night", "online, outcomes at night", {"color": "#CC79A7", "ls": ":"}),
    ):
        top.plot(weeks[column].mean(), label=label, **style)
    top.set(
        ylabel="share of flights, mean prediction",
        title="Late flights out of New York by week, 2013",
        ylim=(0, None),
    )
    top.legend(frameon=False, fontsize="small", ncols=2)
    for ax, (name, line) in zip(rest, lines.items(), strict=True):
        line.plot(ax)
        ax.set_title(f"{name}: {ax.get_title()}")
        ax.legend(loc="upper left", fontsize="small", ncols=5)
    figure.savefig(ROOT / "docs" / "pictures" / "production.png", dpi=110)


def main() -> None:
    """Replay, draw and print."""
    table = forecasts()
    spring = table["month"] <= MAPPED
    fitted = rainproof.Recalibrator(rng=0).fit(table["model"][spring], table["late"][spring])
    made = {
        "once": fitted.predict(table["model"].to_numpy()),
        "monthly": monthly(table),
        "at once": rainproof.OnlineRecalibrator().run(table["model"], table["late"]),
        "at night": rainproof.OnlineRecalibrator().run(
            table["model"], table["late"], batch=table["date"]
        ),
    }
    table = table.assign(**made)
    first = rainproof.assess(table["late"][spring], table["model"][spring], n_resamples=199, rng=0)
    print(first.verdict.headline, fitted.method_, fitted.certificate_, sep="\n")
    lines = {}
    for name in ("model", *made):
        y, p = table["late"].to_numpy()[~spring], table[name].to_numpy()[~spring]
        lines[name] = line = rainproof.monitor(
            days(table[~spring], name), window=14, alpha=ALPHA, dependent=True
        )
        loss = rainproof.choose_grid(y, p, max_grid=32).losses[-1]
        scores = [
            measure(y, p)
            for measure in (rainproof.measures.brier_score, rainproof.measures.log_score)
        ]
        print(
            f"{name}: CDL {loss:.4f}  Brier {scores[0]:.4f}  log {scores[1]:.4f}  {len(y):,} "
            "flights"
        )
        for c in line.changes:
            print(f"   alarm {c.alarm}: {c}")
    draw(
        table[~spring],
        {"The model": lines["model"], "Online, outcomes at night": lines["at night"]},
    )


if __name__ == "__main__":
    main()
