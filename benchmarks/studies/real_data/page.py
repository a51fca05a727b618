"""Write docs/benchmarks/study-real-data.md: ``python -m benchmarks.studies.real_data.page
[FILES]``.

Files of `benchmarks.studies.real_data.study`, if given, are first put into docs/data: one line for
each model of each table, the mean over draws and costs of a miss. The tables are written from
there.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.studies.real_data.maps import CUT_OFF, PLATT, RAINPROOF
from benchmarks.studies.real_data.models import MODELS
from benchmarks.studies.real_data.sets import LICENSES, TABLES, Table, installed, read
from benchmarks.studies.real_data.splits import kinds
from benchmarks.studies.tables import DATA, Lines, filled, markdown, write
from benchmarks.studies.tables import read as read_data

MAPS_FILE = "real-data-maps.csv"
ADVICE_FILE = "real-data-advice.csv"
SLOPES_FILE = "real-data-slopes.csv"
TABLES_FILE = "real-data-tables.csv"
PAGE = DATA.parent / "benchmarks" / "study-real-data.md"

TIE = 0.5  # points: a smaller difference is a tie
FAR = 5.0  # points above Platt that need a reason

_GROUP = ("table", "split", "model", "n")
_ALTERNATIVES = ("advice", "as is", "recalibrated", "always", "never", "cut-off")


# From the files of the study to docs/data.


def collect(files: Sequence[Path]) -> None:
    """Put files of the study into docs/data."""
    names = {table.name for table in TABLES}
    maps: Lines = []
    advice: Lines = []
    slopes: Lines = []
    kinds_of_lines = {"way": maps, "miss": advice, "slope": slopes}
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in csv.DictReader(lines):
                if line["table"] in names:
                    (kind,) = kinds_of_lines.keys() & line.keys()
                    kinds_of_lines[kind].append(line)
    if maps:
        write(DATA / MAPS_FILE, _means_of_maps(maps))
    if advice:
        platt = {_key(line): line for line in maps if line["way"] == PLATT}
        write(DATA / ADVICE_FILE, [_short(line, platt.get(_key(line))) for line in advice])
    if slopes:
        write(DATA / SLOPES_FILE, _quartiles(half_of(slopes, "A")))
    write(DATA / TABLES_FILE, [_described(table) for table in installed()])


def _means_of_maps(lines: Lines) -> list[dict[str, Any]]:
    """Return the mean cost of each way, over draws and costs of a miss, by table, split and
    model.
    """
    costs: dict[tuple[str, ...], dict[str, list[float]]] = {}
    ways = list(dict.fromkeys(line["way"] for line in lines))
    for line in lines:
        values = [value for name, value in line.items() if name[0].isdigit()]
        by_way = costs.setdefault(tuple(line[name] for name in _GROUP), {})
        if line["note"] == "":
            by_way.setdefault(line["way"], []).append(float(np.mean([float(x) for x in values])))
    means = []
    for key, by_way in costs.items():
        mean: dict[str, Any] = dict(zip(_GROUP, key, strict=True))
        for way in ways:
            mean[way] = f"{np.mean(by_way[way]):.1f}" if way in by_way else ""
        means.append(mean)
    return means


def _key(line: dict[str, str]) -> tuple[str, ...]:
    return tuple(line[name] for name in (*_GROUP, "repeat"))


def _short(line: dict[str, str], platt: dict[str, str] | None) -> dict[str, str]:
    """Return a line of the advice with fewer digits, and the cost of Platt's map beside it."""
    short = dict(line)
    for name in _ALTERNATIVES:
        short[name] = f"{float(line[name]):.1f}"
    short[PLATT] = "" if platt is None else f"{float(platt[line['miss']]):.1f}"
    return short


def _quartiles(lines: Lines) -> list[dict[str, Any]]:
    """Return the quartiles of slopes and shifts, by kind of model and of all."""
    found = []
    for model in (*MODELS, "all"):
        some = [line for line in lines if model in (line["model"], "all")]
        summary: dict[str, Any] = {"model": model, "lines": len(some)}
        for name in ("slope", "shift"):
            quartiles = np.quantile([float(line[name]) for line in some], [0.25, 0.5, 0.75])
            for label, value in zip(("lower", "median", "upper"), quartiles, strict=True):
                summary[f"{name}_{label}"] = f"{value:.2f}"
        found.append(summary)
    return found


def _described(table: Table) -> dict[str, Any]:
    rows = read(table)
    return {
        "table": table.name,
        "distribution": table.distribution,
        "license": LICENSES[table.distribution],
        "event": table.event.replace("`", ""),
        "rows": len(rows.y),
        "event_rate": f"{rows.y.mean():.3f}",
        "splits": ", ".join(kinds(table)),
        "half": table.half,
    }


# From docs/data to the page.


class Difference(NamedTuple):
    """The mean difference of two ways over tables."""

    mean: float
    error: float
    wins: int
    ties: int
    losses: int

    def text(self) -> str:
        """Return it as a cell."""
        counts = f"({self.wins}/{self.ties}/{self.losses})"
        return f"{self.mean:+.2f} ± {self.error:.2f} {counts}"


def difference(lines: Lines, way: str, other: str) -> Difference | None:
    """Return how much more a way costs than another, each table counting once."""
    by_table: dict[str, list[float]] = {}
    for line in lines:
        if line[way] and line[other]:
            gap = float(line[way]) - float(line[other])
            by_table.setdefault(line["table"], []).append(gap)
    if len(by_table) < 2:
        return None
    gaps = np.array([np.mean(gaps) for gaps in by_table.values()])
    return Difference(
        mean=float(gaps.mean()),
        error=float(gaps.std(ddof=1) / len(gaps) ** 0.5),
        wins=int((gaps < -TIE).sum()),
        ties=int((np.abs(gaps) <= TIE).sum()),
        losses=int((gaps > TIE).sum()),
    )


def _level(lines: Lines, way: str) -> str:
    """Return the mean cost of a way, each table counting once."""
    by_table: dict[str, list[float]] = {}
    for line in lines:
        if line[way]:
            by_table.setdefault(line["table"], []).append(float(line[way]))
    if not by_table:
        return ""
    return f"{np.mean([np.mean(costs) for costs in by_table.values()]):.2f}"


def half_of(lines: Lines, half: str) -> Lines:
    """Return the lines of the tables of one half, with predictions of a model."""
    halves = {table.name: table.half for table in TABLES}
    return [line for line in lines if halves.get(line["table"]) == half]


def _sizes(lines: Lines) -> list[str]:
    return sorted({line["n"] for line in lines}, key=int)


def _of_size(lines: Lines, n: str) -> Lines:
    return [line for line in lines if line["n"] == n]


def _heads(lines: Lines) -> list[str]:
    heads = []
    for n in _sizes(lines):
        count = len({line["table"] for line in _of_size(lines, n)})
        heads.append(f"n = {int(n):,} ({count} tables)")
    return heads


def _row(name: str, lines: Lines, sizes: Sequence[str], way: str, other: str) -> list[str]:
    cells = []
    for n in sizes:
        found = difference(_of_size(lines, n), way, other)
        cells.append("" if found is None else found.text())
    return [name, *cells]


def _ways(half: str) -> str:
    lines = half_of(read_data(MAPS_FILE), half)
    sizes = _sizes(lines)
    ways = [name for name in lines[0] if name not in _GROUP]
    rows = [[f"{PLATT}, itself", *(_level(_of_size(lines, n), PLATT) for n in sizes)]]
    for way in ways:
        if way != PLATT:
            name = f"**{way}**" if way == RAINPROOF else way
            rows.append(_row(name, lines, sizes, way, PLATT))
    return markdown(["cost beyond Platt's, points", *_heads(lines)], rows)


def ways() -> str:
    """Every way beside Platt scaling, on the half that judges."""
    return _ways("B")


def ways_of_the_other_half() -> str:
    """The same on the half on which choices are made."""
    return _ways("A")


def others() -> str:
    """Rainproof's map beside each of the others, on the half that judges."""
    lines = half_of(read_data(MAPS_FILE), "B")
    ways = [name for name in lines[0] if name not in (*_GROUP, RAINPROOF)]
    sizes = _sizes(lines)
    rows = [_row(way, lines, sizes, RAINPROOF, way) for way in ways]
    return markdown(["cost of rainproof's map beyond that of", *_heads(lines)], rows)


def models() -> str:
    """Rainproof's map beside Platt scaling, by kind of model."""
    return _by("model", list(MODELS))


def by_split() -> str:
    """The same by the way rows are divided."""
    return _by("split", ["random", "time", "site"])


def _by(column: str, values: Sequence[str]) -> str:
    lines = half_of(read_data(MAPS_FILE), "B")
    sizes = _sizes(lines)
    rows = []
    for value in values:
        some = [line for line in lines if line[column] == value]
        rows.append(_row(value, some, sizes, RAINPROOF, PLATT))
    return markdown([column, *(f"n = {int(n):,}" for n in sizes)], rows)


def far_above() -> str:
    """The tables where rainproof's map is far above Platt scaling with 100 rows."""
    lines = _of_size(read_data(MAPS_FILE), "100")
    halves = {table.name: table.half for table in TABLES}
    rows = []
    for name in sorted({line["table"] for line in lines}):
        some = [line for line in lines if line["table"] == name]
        gaps = np.array([float(line[RAINPROOF]) - float(line[PLATT]) for line in some])
        if gaps.mean() > FAR:
            worst = some[int(gaps.argmax())]
            draws = f"{worst['model']}, {worst['split']} ({gaps.max():+.1f})"
            rows.append([name, halves[name], f"{gaps.mean():+.1f}", str(len(some)), draws])
    return markdown(["table", "half", "mean", "models and splits", "largest"], rows)


def advice() -> str:
    """The advice beside its alternatives, on the half that judges, at the same costs of a miss."""
    lines = half_of(read_data(ADVICE_FILE), "B")
    sizes = _sizes(lines)
    names = {
        "recalibrated": "its own map",
        PLATT: PLATT,
        "cut-off": CUT_OFF,
        "as is": "the original predictions",
    }
    rows = [_row(name, lines, sizes, "advice", way) for way, name in names.items()]
    rows.append(_row("its own map beyond Platt's", lines, sizes, "recalibrated", PLATT))
    return markdown(["cost of the advice beyond that of", *_heads(lines)], rows)


def advice_by_grade() -> str:
    """What each grade advised, and what that cost beyond the map."""
    lines = half_of(read_data(ADVICE_FILE), "B")
    rows = []
    for key in sorted({(line["grade"], line["rule"]) for line in lines}):
        cells = []
        for n in _sizes(lines):
            all_of_size = _of_size(lines, n)
            some = [line for line in all_of_size if (line["grade"], line["rule"]) == key]
            gaps = [float(line["advice"]) - float(line["recalibrated"]) for line in some]
            share = len(some) / len(all_of_size)
            cells.append(f"{share:.0%}; {np.mean(gaps):+.2f}" if some else "")
        rows.append([*key, *cells])
    sizes = [f"n = {int(n):,}" for n in _sizes(lines)]
    return markdown(["verdict", "rule", *sizes], rows)


def slopes() -> str:
    """The lines in the log odds that models of half A need."""
    rows = []
    for line in read_data(SLOPES_FILE):
        cells = [line["model"], line["lines"]]
        for name in ("slope", "shift"):
            low, high = line[f"{name}_lower"], line[f"{name}_upper"]
            cells.append(f"{line[f'{name}_median']} ({low} to {high})")
        rows.append(cells)
    return markdown(["model", "models", "slope", "shift at the mean log odds"], rows)


def tables() -> str:
    """All tables."""
    rows = []
    for line in read_data(TABLES_FILE):
        rate = f"{float(line['event_rate']):.1%}"
        event = f"`{line['event']}`"
        cells = (line["table"], line["license"], event, f"{int(line['rows']):,}", rate)
        rows.append([*cells, line["splits"], line["half"]])
    return markdown(["table", "license", "event", "rows", "rate", "splits", "half"], rows)


BLOCKS: tuple[Callable[[], str], ...] = (
    ways,
    others,
    models,
    by_split,
    far_above,
    advice,
    advice_by_grade,
    ways_of_the_other_half,
    slopes,
    tables,
)


def main(arguments: list[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*")
    options = parser.parse_args(arguments)
    if options.files:
        collect(options.files)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), BLOCKS), encoding="utf-8")


if __name__ == "__main__":
    main()
