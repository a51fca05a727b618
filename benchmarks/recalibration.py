"""Time and memory of recalibration: `python -m benchmarks.recalibration --output
docs/benchmarks/speed.md`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rainproof
from benchmarks.data import Data, make_data
from benchmarks.machine import Company, describe
from benchmarks.memory import extra_memory
from benchmarks.page import write_part
from benchmarks.tables import Table, figures, size
from benchmarks.timed_functions import Contestant
from benchmarks.timing import Cell
from rainproof.core.distinct import DistinctTable
from rainproof.recalibration.methods import METHODS

SIZES = (10**5, 10**6)
LARGE = 10**7
_INTRODUCTION = """# Recalibration

Minima over rounds in which each runs once, in one process: of processor time, which other programs affect little, and
of wall time. Predictions are uniform, and events happen with probability p^1.3. A fit includes sorting. Compare ratios.
This part is written by `python -m benchmarks.recalibration --output docs/benchmarks/speed.md`; it needs scikit-learn.

Targets, set before measuring: each fit no slower than isotonic regression in scikit-learn; the whole
`Recalibrator.fit` at n = 1e5 within 20 of them; predictions within 5 times `np.interp`.
"""


def _method(name: str, data: Data) -> Any:
    return METHODS[name](DistinctTable.from_rows(data.y, data.p, None))


def _fit(data: Data) -> Any:
    return rainproof.Recalibrator(rng=0).fit(data.p, data.y)


def _isotonic(data: Data) -> Any:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(data.p, data.y)


_KNOTS = np.linspace(0, 1, 101)
_MAPS = {
    name: METHODS[name](DistinctTable.from_rows(d.y, d.p, None))
    for d in [make_data(20_000)]
    for name in METHODS
}


def _interp(data: Data) -> Any:
    return np.interp(data.p, _KNOTS, _KNOTS**1.3)


def _predict(name: str, data: Data) -> Any:
    return _MAPS[name](data.p)


ISOTONIC = Contestant("scikit-learn IsotonicRegression.fit", _isotonic, peer="scikit-learn")
FIT = Contestant("rainproof Recalibrator.fit", _fit)
FITS = tuple(
    Contestant(f"rainproof {name}, one fit", partial(_method, name))
    for name in METHODS
    if name != "none"
)
INTERP = Contestant("np.interp, 101 points", _interp)
PREDICT = tuple(
    Contestant(
        f"rainproof predict, {name} ({len(_MAPS[name].start)} pieces)", partial(_predict, name)
    )
    for name in ("logistic", "beta", "isotonic", "bins_128")
)
CONTESTANTS = (ISOTONIC, FIT, *FITS, INTERP, *PREDICT)


def main() -> None:
    """Measure, print, and write the part of the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recalibration", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="rounds at least; the best counts")
    parser.add_argument("--output", type=Path, help="write it into this Markdown file as well")
    options = parser.parse_args()
    company, tables = Company(), []
    for n in SIZES:
        print(f"fits, n = {size(n)}", file=sys.stderr, flush=True)
        times = _times((ISOTONIC, FIT, *FITS), make_data(n), options.repeats)
        memory = {one.name: extra_memory(one, n, calibrated=False) for one in (ISOTONIC, FIT)}
        tables.append(_table(f"Fit, n = {size(n)}", times, memory))
    print(f"predictions, n = {size(LARGE)}", file=sys.stderr, flush=True)
    times = _times((INTERP, *PREDICT), make_data(LARGE), options.repeats)
    memory = {one.name: extra_memory(one, LARGE, calibrated=False) for one in (INTERP, *PREDICT)}
    tables.append(_table(f"Predictions, n = {size(LARGE)}", times, memory))
    machine = [*describe(("scikit-learn",)), ("other programs meanwhile", str(company))]
    lines = "\n".join(f"- {name}: {value}" for name, value in machine)
    page = f"{_INTRODUCTION}\n{lines}\n" + "".join(f"\n{table.markdown()}\n" for table in tables)
    print(page)
    if options.output:
        write_part(options.output, "recalibration", page)


def _times(
    contestants: Sequence[Contestant], data: Data, repeats: int
) -> dict[str, tuple[float, float]]:
    """Return seconds of processor time and of wall time."""
    found: dict[str, tuple[float, float]] = {}
    for one in contestants:
        one.call(data.head(1000))  # so that imports are not measured
    for _ in range(repeats):
        for one in contestants:
            start = time.process_time(), time.perf_counter()
            one.call(data)
            took = time.process_time() - start[0], time.perf_counter() - start[1]
            before = found.get(one.name, took)
            found[one.name] = min(before[0], took[0]), min(before[1], took[1])
    return found


def _table(title: str, times: dict[str, tuple[float, float]], memory: dict[str, Cell]) -> Table:
    """Milliseconds, the ratio of processor time to the first line, and peak memory where it was
    measured.
    """
    first = next(iter(times.values()))[0]
    rows = []
    for name, (processor, wall) in times.items():
        extra = memory.get(name, "")
        megabytes = extra if isinstance(extra, str) else figures(extra / 1e6)
        rows.append(
            [
                name,
                figures(processor * 1e3),
                figures(processor / first),
                figures(wall * 1e3),
                megabytes,
            ]
        )
    return Table(
        title,
        "",
        ["", "processor ms", "ratio to the first", "wall ms", "peak MB beyond the inputs"],
        rows,
    )


if __name__ == "__main__":
    main()
