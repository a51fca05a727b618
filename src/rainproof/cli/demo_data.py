"""The forecasts of the demo: an overconfident rain forecaster in four cities, 2,000 forecasts in all.

The forecaster says 97% where it rains with probability 80%, and 11% where it rains with probability 30%. The rows are
the same every time.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import random
from typing import NamedTuple

CITIES = {"Bergen": 0.65, "Hamburg": 0.5, "Lisbon": 0.3, "Porto": 0.4}  # how often it rains
DAYS = 500
OVERCONFIDENCE = 2.5  # by how much the log-odds are stretched; 1 would be a calibrated forecaster


class Forecast(NamedTuple):
    """A forecast for a day in a city, and whether it rained."""

    date: str
    city: str
    probability: float
    rained: int


def forecasts() -> list[Forecast]:
    """One row per day and city."""
    rng = random.Random(7)  # noqa: S311 - weather, not secrets
    start = datetime.date(2024, 1, 1)
    rows = []
    for day in range(DAYS):
        for city, often in CITIES.items():
            log_odds = math.log(often / (1 - often)) + rng.gauss(0, 1.2)
            rained = rng.random() < 1 / (1 + math.exp(-log_odds))
            said = 1 / (1 + math.exp(-OVERCONFIDENCE * log_odds))
            date = (start + datetime.timedelta(day)).isoformat()
            rows.append(Forecast(date, city, round(said, 3), int(rained)))
    return rows


def as_csv(rows: list[Forecast]) -> str:
    """The rows as a CSV file with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Forecast._fields)
    writer.writerows(rows)
    return text.getvalue()
