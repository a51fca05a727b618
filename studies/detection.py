"""How long `monitor` runs before a false alarm, and how soon it finds a change.

    python -m studies.detection docs/data/detection.csv

Days of 200 rows, ``alpha = 0.01``. Calibrated series of 1,000 days: how many alarms there are (one in 100 days or more
is promised, on average). Then series that change on day 100: the delay of the alarm, and how far off the day is on
which it is said to have begun. For days whose rows may depend on each other, and for independent rows.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from rainproof.inference.sequential import Detector, batch_bets, independent_bets
from studies.anytime import write
from studies.populations import logit_scaled

Floats = NDArray[np.float64]
ROWS, ALPHA, CHANGE, LONGEST = 200, 0.01, 100, 400

CALM = ("independent rows", "one coin a day", "days resemble the day before", "rare events")
WRONG: dict[str, Callable[[Floats], Floats]] = {
    "too low by 0.05": lambda p: np.clip(p + 0.05, 0, 1),
    "overconfident, factor 2": lambda p: logit_scaled(p, 0.5),
    "event rate p^2": lambda p: p**2,
}


def calm(name: str, n: int, rng: np.random.Generator) -> Iterator[rainproof.Sample]:
    """Calibrated days."""
    level = 0.0
    for _ in range(n):
        level = 0.9 * level + rng.normal(0, 0.5)
        p = {
            "days resemble the day before": lambda level=level: logit_scaled(rng.random(ROWS), 1 + level**2),
            "rare events": lambda: rng.exponential(0.01, ROWS).clip(0, 1),
        }.get(name, lambda: rng.random(ROWS))()
        coin = rng.random() if name == "one coin a day" else rng.random(ROWS)
        yield rainproof.Sample(coin < p, p).compress(256)


def changing(truth: Callable[[Floats], Floats], rng: np.random.Generator) -> Iterator[rainproof.Sample]:
    """Days that are calibrated up to the change."""
    for day in range(LONGEST):
        p = rng.random(ROWS)
        yield rainproof.Sample(rng.random(ROWS) < (p if day < CHANGE else truth(p)), p).compress(256)


def alarms(days: Iterator[rainproof.Sample], *, independent: bool) -> list[tuple[int, int]]:
    """The days of the alarms, and where each is said to have begun."""
    detector, found = Detector(ALPHA), []
    for at, sample in enumerate(days):
        alarm = detector.update(independent_bets(sample) if independent else batch_bets(sample))
        if alarm is not None:
            found.append((at, at + 1 - alarm[1]))
    return found


def study(repeats: int, days: int) -> Iterator[dict[str, Any]]:
    """A line for each kind of series and of bets."""
    for name in (*CALM, *WRONG):
        for independent in (False, True):
            if independent and name == "one coin a day":
                continue  # they are not
            rng = np.random.default_rng([zlib.crc32(name.encode()), independent])
            line = {"series": name, "rows": "independent" if independent else "any", "repeats": repeats}
            if name in CALM:
                counts = [len(alarms(calm(name, days, rng), independent=independent)) for _ in range(repeats)]
                yield {**line, "days": days, "alarms": sum(counts), "false": "", "delay": "", "start": ""}
                continue
            found = [alarms(changing(WRONG[name], rng), independent=independent) for _ in range(repeats)]
            first = [next(((at, start) for at, start in one if at >= CHANGE), (LONGEST, LONGEST)) for one in found]
            yield {
                **line,
                "days": LONGEST,
                "alarms": "",
                "false": sum(at < CHANGE for one in found for at, _ in one),
                "delay": float(np.median([at - CHANGE + 1 for at, _ in first])),
                "start": float(np.median([abs(start - CHANGE) for _, start in first])),
            }


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--days", type=int, default=1_000)
    options = parser.parse_args(arguments)
    write(options.path, study(options.repeats, options.days))


if __name__ == "__main__":
    main()
