"""The command that shows what a report is: ``rainproof demo``, with forecasts that it draws."""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import math
import random
import sys
from collections.abc import Sequence

from rainproof.cli.assessing import finish_report
from rainproof.cli.output import one_line, say, watched
from rainproof.cli.printed import Screen
from rainproof.core.documents import check_replaced
from rainproof.core.files import check_output, make_folder, write_atomic
from rainproof.decisions.tasks import DecisionTask
from rainproof.verdict.assessing import assess

CITIES = {"Bergen": 0.65, "Hamburg": 0.5, "Lisbon": 0.3, "Porto": 0.4}
"""How often it rains in each city."""

DAYS = 500
SPREAD = 1.2  # of the log-odds of rain from day to day: a standard deviation
OVERCONFIDENCE = 2.5  # by how much the log-odds are stretched; 1 would be a calibrated forecaster

FALSE_ALARM = 35  # what an umbrella for nothing costs
MISS = 65  # what getting wet costs


def run_demo(arguments: argparse.Namespace) -> int:
    """Write the forecasts and the report."""
    data = arguments.folder / "rain.csv"
    page = arguments.folder / "report.html"
    make_folder(arguments.folder)
    check_output(page)
    check_replaced(page, "report", overwrite=arguments.force, how="--force")
    rows = forecasts()
    text = as_csv(rows)
    is_same = data.is_file() and data.read_bytes() == text.encode()
    if not is_same:
        check_replaced(data, None, overwrite=arguments.force, how="--force")
    write_atomic(data, text)
    if not arguments.quiet and not arguments.json:
        say(sys.stdout, f"{one_line(str(data))}: {len(rows):,} rain forecasts in four cities\n\n")
    _, cities, probability, rained = zip(*rows, strict=True)
    task = DecisionTask.from_costs(
        false_positive=FALSE_ALARM, false_negative=MISS, actions=("no umbrella", "umbrella")
    )
    with watched(arguments) as progress:
        assessment = assess(
            rained, probability, by={"city": cities}, task=task, rng=0, progress=progress
        )
    options = {
        "--prob": ("probability",),
        "--outcome": ("rained",),
        "--by": ("city",),
        "--cost-fp": (str(FALSE_ALARM),),
        "--cost-fn": (str(MISS),),
    }
    renderer = Screen(files=(str(data),), options=options, exists=True).renderer()
    title = "Rain forecasts in four cities (rainproof demo)"
    finish_report(assessment, renderer, arguments, page, title)
    return 0


def forecasts() -> list[tuple[str, str, float, int]]:
    """One row per day and city: the date, the city, the forecast, and whether it rained."""
    rng = random.Random(7)  # noqa: S311 - weather, not secrets
    start = datetime.date(2024, 1, 1)
    rows = []
    for day in range(DAYS):
        date = start + datetime.timedelta(day)
        for city, share_of_rain in CITIES.items():
            log_odds = math.log(share_of_rain / (1 - share_of_rain)) + rng.gauss(0, SPREAD)
            rained = rng.random() < 1 / (1 + math.exp(-log_odds))
            forecast = 1 / (1 + math.exp(-OVERCONFIDENCE * log_odds))
            rows.append((date.isoformat(), city, round(forecast, 3), int(rained)))
    return rows


def as_csv(rows: Sequence[Sequence[object]]) -> str:
    """The rows as a CSV file with a header."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("date", "city", "probability", "rained"))
    lines.writerows(rows)
    return text.getvalue()
