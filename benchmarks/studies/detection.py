"""How long `monitor` runs before a false alarm, and how soon it finds a change and dates it.

    python -m benchmarks.studies.detection docs/data

writes five tables, all at ``alpha = 0.01``:

- ``detection-false.csv``: calibrated series of eight kinds. How many alarms there are (at most one
  in 100 days is promised, on average).
- ``detection-shift.csv``: log odds that are off by 0.8 from some day on, 400 rows a day: how soon
  it is found, and how far off the day is on which it is said to have begun.
- ``detection-delay.csv``: days of 200 rows that change on day 50 in six ways; the median delay
  beside rivals: probcal's monitor if that package is installed, a two-sided CUSUM of each day's
  standardised residuals (k = 0.5, h = 3.5: by Siegmund's approximation 100 days to a false alarm),
  and a score test of each day's rows for mean and slope, with Bonferroni's correction of 5% over
  all days.
- ``detection-storm.csv``: series with one day on which all outcomes are events.
- ``detection-stored.csv``: how often ten periods of 40 rows that are off by 0.4 are found out
  together: stored on a grid and merged, or row by row.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.anytime import write
from benchmarks.studies.populations import logit_scaled
from rainproof.inference.bets import RangeSums
from rainproof.inference.detector import Detector

Floats = NDArray[np.float64]
Day = tuple[NDArray[np.bool_], Floats]
ROWS, ALPHA, CHANGE, LONGEST, COIN = 200, 0.01, 50, 150, "one coin a day"


def odds_to_p(odds: Floats) -> Floats:
    """The probabilities of log odds."""
    return np.asarray(1 / (1 + np.exp(-odds)))


def log_odds(p: Floats) -> Floats:
    """The log odds of probabilities."""
    return np.asarray(np.log(p) - np.log1p(-p))


def calm(name: str, days: int, rng: np.random.Generator) -> Iterator[Day]:
    """Calibrated days."""
    level, rate = 0.0, 0.3
    for day in range(days):
        level = 0.9 * level + rng.normal(0, 0.5)
        n = int(rng.geometric(1 / ROWS)) if name == "days of any size" else ROWS
        p = {
            "rare events": lambda n=n: rng.exponential(0.01, n).clip(0, 1),
            "seasonal": lambda n=n, day=day: odds_to_p(
                2 * math.sin(2 * math.pi * day / 90) + rng.normal(0, 0.7, n)
            ),
            "drifting predictions": lambda n=n, day=day: odds_to_p(
                4 * day / days - 3 + rng.normal(0, 0.7, n)
            ),
            "days resemble the day before": lambda n=n, level=level: odds_to_p(
                level + rng.normal(0, 0.7, n)
            ),
            "yesterday's rate": lambda n=n, rate=rate: np.full(n, rate),
        }.get(name, lambda n=n: rng.random(n))()
        y = (rng.random() if name == COIN else rng.random(n)) < p
        rate = min(max(float(y.mean()), 0.05), 0.95)
        yield y, p


CALM = (
    "independent",
    "rare events",
    "seasonal",
    "drifting predictions",
    "days resemble the day before",
    "yesterday's rate",
    "days of any size",
    COIN,
)


def sums(day: Day, grid: int = 1 << 16) -> RangeSums:
    """What the detector sees of a day."""
    return RangeSums.of(rainproof.Sample(*day).compress(grid))


def false_alarms(repeats: int, days: int) -> Iterator[dict[str, Any]]:
    """A line for each kind of calibrated series, and choice."""
    for name in CALM:
        for dependent in (False, True):
            if name == COIN and not dependent:
                continue  # its rows are dependent
            rng = np.random.default_rng([zlib.crc32(name.encode()), dependent])
            alarms = inside = 0
            for _ in range(repeats):
                detector = Detector(ALPHA, dependent=dependent)
                for day in calm(name, days, rng):
                    turned = detector.update(sums(day))
                    alarms += turned and detector.alarm is not None
                    inside += detector.alarm is not None
            rows = "dependent" if dependent else "one after the other"
            yield {
                "series": name,
                "rows": rows,
                "days": repeats * days,
                "alarms": alarms,
                "days_in_alarm": inside,
            }


def shifts(repeats: int) -> Iterator[dict[str, Any]]:
    """How soon a shift is found, and how well it is dated."""
    for shift, rows, dependent in (
        (0.8, 400, False),
        (0.4, 400, False),
        (0.8, 100, False),
        (0.8, 400, True),
    ):
        rng = np.random.default_rng([int(100 * shift), rows, dependent])
        delay, off = list[float](), list[int]()
        for _ in range(repeats):
            detector = Detector(ALPHA, dependent=dependent)
            for at in range(LONGEST):
                p = rng.beta(2, 5, rows)
                y = rng.random(rows) < (p if at < CHANGE // 2 else odds_to_p(log_odds(p) + shift))
                if (
                    detector.update(sums((y, p)))
                    and detector.alarm is not None
                    and at >= CHANGE // 2
                ):
                    delay.append(at - CHANGE // 2 + 1)
                    off.append(abs(at + 1 - detector.lasting - CHANGE // 2))
                    break
            else:
                delay.append(math.inf)
        yield {
            "shift": shift,
            "rows": rows,
            "choice": "dependent" if dependent else "one after the other",
            "repeats": repeats,
            "median_delay": float(np.median(delay)),
            "found_within_3": sum(d <= 3 for d in delay),
            "dated_within_3": sum(d <= 3 for d in off),
        }


def wrong(name: str, rng: np.random.Generator, changed: bool) -> Day:
    """A day of 200 rows, changed in one of six ways."""
    p = (
        rng.exponential(0.02, ROWS).clip(1e-6, 0.99)
        if name.startswith("rare")
        else rng.random(ROWS)
    )
    q = {
        "log odds + 0.8": lambda: odds_to_p(log_odds(p) + 0.8),
        "too low by 0.05": lambda: np.clip(p + 0.05, 0, 1),
        "overconfident, factor 2": lambda: logit_scaled(p, 0.5),
        "alternating by 0.1": lambda: np.clip(
            p + np.where(np.floor(16 * p) % 2 == 0, 0.1, -0.1), 0, 1
        ),
        "rare, half as often": lambda: p / 2,
        "one range off by 0.2": lambda: np.where((p > 0.5) & (p < 0.625), p - 0.2, p),
    }[name]()
    return rng.random(ROWS) < (q if changed else p), p


WRONG = (
    "log odds + 0.8",
    "too low by 0.05",
    "overconfident, factor 2",
    "alternating by 0.1",
    "rare, half as often",
    "one range off by 0.2",
)


def monitored(*, dependent: bool) -> Callable[[Day], bool]:
    """A detector that says when an alarm begins."""
    detector = Detector(ALPHA, dependent=dependent)
    return lambda day: detector.update(sums(day)) and detector.alarm is not None


def cusum() -> Callable[[Day], bool]:
    """Page's CUSUM of standardised residuals of each day, for both signs."""
    state = np.zeros(2)

    def update(day: Day) -> bool:
        y, p = day
        z = float((y - p).sum() / math.sqrt((p * (1 - p)).sum()))
        state[:] = np.maximum(0, state + np.array([z - 0.5, -z - 0.5]))
        alarm = bool((state >= 3.5).any())
        state[:] *= not alarm
        return alarm

    return update


def daily() -> Callable[[Day], bool]:
    """A score test of the mean and the slope of each day's residuals, at 5% over all days."""
    critical = -2 * math.log(0.05 / LONGEST)  # of chi-squared with 2 degrees of freedom

    def update(day: Day) -> bool:
        y, p = day
        x = np.stack([np.ones(len(p)), log_odds(p)])
        score, variance = x @ (y - p), (x * (p * (1 - p))) @ x.T
        return bool(score @ np.linalg.solve(variance, score) >= critical)

    return update


def probcal() -> Callable[[Day], bool]:
    """probcal's monitor at 5%, which starts anew after an alarm."""
    from probcal.monitor import CalibrationMonitor

    held = [CalibrationMonitor(alpha=0.05, plug_in_window=20)]

    def update(day: Day) -> bool:
        y, p = day
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alarm = bool(held[0].update(y.astype(int), p.clip(1e-9, 1 - 1e-9)).alarm)
        if alarm:
            held[0] = CalibrationMonitor(alpha=0.05, plug_in_window=20)
        return alarm

    return update


def delays(repeats: int) -> Iterator[dict[str, Any]]:
    """A line for each change: the median delay of each method, and its alarms before the change."""
    methods: dict[str, Callable[[], Callable[[Day], bool]]] = {
        "monitor": lambda: monitored(dependent=False),
        "dependent": lambda: monitored(dependent=True),
        "cusum": cusum,
        "daily": daily,
    }
    if importlib.util.find_spec("probcal"):
        methods["probcal"] = probcal
    for name in WRONG:
        line: dict[str, Any] = {"change": name, "repeats": repeats}
        for method, make in methods.items():
            rng = np.random.default_rng(zlib.crc32(name.encode()))  # the same series for each
            found, early = [], 0
            for _ in range(repeats):
                update = make()
                early += sum(update(wrong(name, rng, changed=False)) for _ in range(CHANGE))
                after = np.random.default_rng(rng.integers(1 << 32))
                alarms = (update(wrong(name, after, changed=True)) for _ in range(LONGEST - CHANGE))
                found.append(next((day for day, alarm in enumerate(alarms, 1) if alarm), math.inf))
            line |= {method: float(np.median(found)), f"{method}_early": early}
        yield line


def storms(repeats: int) -> Iterator[dict[str, Any]]:
    """Series of 30 days with one on which everything happens."""
    for dependent in (False, True):
        rng = np.random.default_rng(7)
        alarms = 0
        for _ in range(repeats):
            update = monitored(dependent=dependent)
            found = []
            for day in range(30):
                p = rng.beta(2, 8, ROWS)
                found.append(
                    update((np.ones(ROWS, bool) if day == 15 else rng.random(ROWS) < p, p))
                )
            alarms += any(found)
        rows = "dependent" if dependent else "one after the other"
        yield {"rows": rows, "repeats": repeats, "series_with_an_alarm": alarms}


def stored(repeats: int) -> Iterator[dict[str, Any]]:
    """How often ten periods together are found out, by what is kept of them."""
    kept: dict[str, list[float]] = {}
    for shape in ("usual", "rare"):
        rng = np.random.default_rng(11)
        for _ in range(repeats):
            parts = []
            for _ in range(10):
                p = rng.beta(2, 5, 40) if shape == "usual" else rng.beta(1, 60, 40)
                parts.append(
                    (
                        rng.random(40)
                        < odds_to_p(log_odds(p) + (0.4 if shape == "usual" else 1.0)),
                        p,
                    )
                )
            y, p = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
            row_by_row = rainproof.SequentialTest().update(y, p).e_value
            kept.setdefault(f"{shape}, rows", []).append(row_by_row)
            for grid in (64, 1024, 1 << 16):
                merged = reduce(add, [rainproof.Sample(*part).compress(grid) for part in parts])
                detector = Detector(ALPHA, dependent=False)
                detector.update(RangeSums.of(merged))
                kept.setdefault(f"{shape}, stored on 1/{grid}", []).append(detector.evidence)
    for name, evidence in kept.items():
        shape, _, what = name.partition(", ")
        yield {
            "predictions": shape,
            "kept": what,
            "repeats": repeats,
            "found": sum(value >= 1 / ALPHA for value in evidence),
            "median_log_evidence": round(float(np.median(np.log(evidence))), 3),
        }


def main(arguments: list[str] | None = None) -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.detection", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=100, help="series of each kind that change")
    parser.add_argument(
        "--days", type=int, default=4_000, help="days of each kind that is calibrated"
    )
    options = parser.parse_args(arguments)
    tables = {
        "shift": shifts(options.repeats),
        "storm": storms(options.repeats // 2),
        "stored": stored(options.repeats),
        "delay": delays(max(1, options.repeats // 5)),
        "false": false_alarms(10, options.days // 10),
    }
    for name, lines in tables.items():
        write(options.folder / f"detection-{name}.csv", lines)


if __name__ == "__main__":
    main()
