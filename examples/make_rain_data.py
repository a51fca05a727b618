"""Make a small data set: an overconfident rain forecaster in four cities, 2,000 forecasts in all.

The forecaster sees which days are wet, but says 97% where 80% would do, and 11% where 30% would do.
The same file comes out every time.

    python examples/make_rain_data.py rain.csv
"""

from __future__ import annotations

import csv
import datetime
import math
import random
import sys
from pathlib import Path

CITIES = {"Bergen": 0.65, "Hamburg": 0.5, "Lisbon": 0.3, "Porto": 0.4}  # how often it rains
DAYS = 500
OVERCONFIDENCE = 2.5  # by how much the log-odds are stretched; 1 would be a calibrated forecaster


def forecasts() -> list[tuple[str, str, float, int]]:
    """One row per day and city: date, city, predicted probability of rain, whether it rained."""
    rng = random.Random(7)  # noqa: S311 - weather, not secrets
    start = datetime.date(2024, 1, 1)
    rows = []
    for day in range(DAYS):
        for city, often in CITIES.items():
            log_odds = math.log(often / (1 - often)) + rng.gauss(0, 1.2)
            rained = rng.random() < 1 / (1 + math.exp(-log_odds))
            said = 1 / (1 + math.exp(-OVERCONFIDENCE * log_odds))
            rows.append(((start + datetime.timedelta(day)).isoformat(), city, round(said, 3), int(rained)))
    return rows


def main(path: Path) -> None:
    """Write them as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["date", "city", "probability", "rained"])
        writer.writerows(forecasts())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python examples/make_rain_data.py FILE")
    main(Path(sys.argv[1]))
