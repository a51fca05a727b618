"""What ways to recalibrate, and rainproof's advice, cost on real data.

    pip install --no-deps -r benchmarks/studies/real_data/requirements.txt
    python -m benchmarks.studies.real_data.study maps /tmp/maps.csv --cache /tmp/predictions
    python -m benchmarks.studies.real_data.study probcal /tmp/probcal.csv --cache /tmp/predictions
    python -m benchmarks.studies.real_data.study advice /tmp/advice.csv --cache /tmp/predictions
    python -m benchmarks.studies.real_data.page /tmp/maps.csv /tmp/probcal.csv /tmp/advice.csv

The first three lines may be stopped at any time: started again, they go on where they were. A cost
is that of acting where a value is at least 1 / (1 + cost of a miss), a false alarm costing 1, in
percent of the cost of the better fixed rule (always or never act) on the same rows.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.real_data.maps import (
    CUT_OFF,
    MAPS,
    ORIGINAL,
    SLOW_MAPS,
    Map,
    cut_off,
    log_odds,
)
from benchmarks.studies.real_data.models import MODELS
from benchmarks.studies.real_data.sets import Table, installed
from benchmarks.studies.real_data.splits import SIZES, Drawn, draw, kinds, predictions

MISSES = (1 / 3, 1.0, 3.0, 9.0, 19.0)
"""What a miss costs, where a false alarm costs 1."""

ADVICE = "advice"
SLOPES = "slopes"
_FEWEST_OF_AN_OUTCOME = 10  # held out, for a slope
_RESAMPLES = 99

Line = dict[str, Any]


class Cell(NamedTuple):
    """One draw of rows that recalibrate and rows that judge, of the predictions of one model."""

    table: Table
    split: str
    model: str
    n: int
    repeat: int

    @property
    def key(self) -> tuple[str, ...]:
        """Return what names it in a file."""
        return (self.table.name, self.split, self.model, str(self.n), str(self.repeat))

    def seed(self) -> int:
        """Return the seed of its draw: always the same."""
        return crc32(" ".join(self.key).encode())

    def draw(self, cache: Path) -> Drawn | None:
        """Draw its rows; None where too few are left."""
        p, y = predictions(self.table, self.split, self.model, cache)
        rng = np.random.default_rng(self.seed())
        return draw(p, y, n=self.n, in_time=self.split == "time", rng=rng)


def cells(sizes: Iterable[int], repeats: int, halves: str = "AB") -> Iterator[Cell]:
    """Yield the cells of the tables of these halves that are installed."""
    tables = [table for table in installed() if table.half in halves]
    for n in sizes:
        for repeat in range(repeats):
            for table in tables:
                for split in kinds(table):
                    for model in MODELS:
                        yield Cell(table, split, model, n, repeat)


def cost(acts: NDArray[np.bool_], event: NDArray[np.int64], miss: float) -> float:
    """Return the cost of acting on some rows, in percent of that of the better fixed rule."""
    alarms = np.count_nonzero(acts & (event == 0))
    misses = np.count_nonzero(~acts & (event == 1))
    always = np.count_nonzero(event == 0)
    never = miss * np.count_nonzero(event == 1)
    return float(100 * (alarms + miss * misses) / min(always, never))


def costs_of_maps(drawn: Drawn, maps: dict[str, Map]) -> Iterator[Line]:
    """Yield a line for each way, with its costs; without costs where it failed."""
    for name, fitted in maps.items():
        line: Line = {"way": name}
        try:
            value = fitted(drawn.y, drawn.p, drawn.new)
        except Exception as error:  # of another package: counted on the page
            yield line | {"note": repr(error)[:80]}
            continue
        for miss in MISSES:
            line[f"{miss:.3g}"] = f"{cost(value >= 1 / (1 + miss), drawn.event, miss):.3f}"
        yield line
    if ORIGINAL in maps:
        line = {"way": CUT_OFF}
        for miss in MISSES:
            acts = drawn.new >= cut_off(drawn.y, drawn.p, miss)
            line[f"{miss:.3g}"] = f"{cost(acts, drawn.event, miss):.3f}"
        yield line


def costs_of_advice(drawn: Drawn, miss: float) -> Line:
    """Return what the advice costs, and what each of its alternatives would have cost."""
    import rainproof

    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=miss)
    a = rainproof.assess(drawn.y, drawn.p, task=task, measures=[], n_resamples=_RESAMPLES)
    threshold = 1 / (1 + miss)
    new = drawn.new
    mapped = new if a.recalibrator is None else a.recalibrator.predict(new)
    acts = {
        "as is": new >= threshold,
        "recalibrated": mapped >= threshold,
        "always": np.ones(len(new), bool),
        "never": np.zeros(len(new), bool),
        "cut-off": new >= cut_off(drawn.y, drawn.p, miss),
    }
    rule = "as is" if a.verdict.rule is None else str(a.verdict.rule.value)
    advised = acts.get(rule)
    if advised is None:  # a single threshold on the original predictions
        assert a.task is not None
        advised = new >= float(a.task.best_threshold or 2)
    line: Line = {"miss": f"{miss:.3g}", "grade": str(a.verdict.grade), "rule": rule}
    line[ADVICE] = f"{cost(advised, drawn.event, miss):.3f}"
    for name, acted in acts.items():
        line[name] = f"{cost(acted, drawn.event, miss):.3f}"
    return line


def lines_of(cell: Cell, part: str, cache: Path, ways: Sequence[str] = ()) -> list[Line]:
    """Measure one cell: one line for each way, or one of the advice for one cost of a miss."""
    if part == SLOPES:
        slope = slope_of(cell, cache)
        return [] if slope is None else [slope]
    drawn = cell.draw(cache)
    if drawn is None:
        return []
    if part == ADVICE:
        miss = MISSES[cell.seed() % len(MISSES)]
        return [costs_of_advice(drawn, miss)]
    maps = SLOW_MAPS if part == "probcal" else MAPS
    if ways:
        maps = {name: maps[name] for name in ways}
    return list(costs_of_maps(drawn, maps))


def slope_of(cell: Cell, cache: Path) -> Line | None:
    """Return the slope and the shift at the mean log odds of the line that a model needs, fitted to
    all its held-out rows; None where they have too few of an outcome.
    """
    from sklearn.linear_model import LogisticRegression

    p, y = predictions(cell.table, cell.split, cell.model, cache)
    events = int(y.sum()) if len(p) else 0
    if min(events, len(y) - events) < _FEWEST_OF_AN_OUTCOME:
        return None
    score = log_odds(p)
    centre = score.mean()
    line = LogisticRegression(C=1e6, max_iter=500).fit((score - centre)[:, np.newaxis], y)
    shift = line.intercept_[0] - centre
    return {"slope": f"{line.coef_[0, 0]:.3f}", "shift": f"{shift:.3f}"}


KEYS = ("table", "split", "model", "n", "repeat")
_MAP_COLUMNS = ("way", *(f"{miss:.3g}" for miss in MISSES), "note")
COLUMNS = {
    "maps": _MAP_COLUMNS,
    "probcal": _MAP_COLUMNS,
    SLOPES: ("slope", "shift"),
    ADVICE: (
        "miss",
        "grade",
        "rule",
        ADVICE,
        "as is",
        "recalibrated",
        "always",
        "never",
        "cut-off",
    ),
}


def main(arguments: list[str] | None = None) -> None:
    """Measure what is not yet in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=tuple(COLUMNS))
    parser.add_argument("path", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="folder of predictions")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, choices=SIZES)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--half", choices=("A", "B", "AB"), default="AB", help="of the tables")
    parser.add_argument("--ways", nargs="+", default=(), help="those of maps (default: all)")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    columns = KEYS + COLUMNS[options.part]
    done = set()
    if options.path.exists():
        with options.path.open(encoding="utf-8") as file:
            done = {tuple(line[key] for key in KEYS) for line in csv.DictReader(file)}
    with options.path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if not file.tell():
            writer.writeheader()
        for cell in cells(options.sizes, options.repeats, options.half):
            if cell.key in done:
                continue
            head = dict(zip(KEYS, cell.key, strict=True))
            writer.writerows(
                head | line for line in lines_of(cell, options.part, options.cache, options.ways)
            )
            file.flush()
            print(*cell.key, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
