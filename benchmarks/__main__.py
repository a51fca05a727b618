"""``python -m benchmarks``: measure, print the tables, and optionally write the page."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from benchmarks import measures, resampling
from benchmarks.data import make_data
from benchmarks.machine import Company, describe
from benchmarks.memory import extra_memory
from benchmarks.page import write_page
from benchmarks.results import SMALL, TARGET_SIZE, Measured, Results, Times, over
from benchmarks.tables import size
from benchmarks.timed_functions import (
    BINCOUNT,
    BY_THREADS,
    CALIBRATED,
    CONTESTANTS,
    FLOOR,
    PEERS,
    RAINPROOF,
    Contestant,
)
from benchmarks.timing import Cell, race

_TYPES = (
    ("int64", "float64"),
    ("uint8", "float64"),
    ("bool", "float64"),
    ("float64", "float64"),
    ("int64", "float32"),
)


def main() -> None:
    """Measure what the options select."""
    options = _options()
    company = Company()
    middle = max((n for n in options.sizes if n <= TARGET_SIZE), default=min(options.sizes))
    results = Results(
        miscalibrated=_measured(CONTESTANTS, options, middle, calibrated=False),
        calibrated=_measured(CALIBRATED, options, middle, calibrated=True),
        small=_small_times(options),
        measures=_measure_times(options),
        switch_memory=extra_memory(measures.SWITCH, measures.SWITCH_SIZE, calibrated=False),
        against_program=_against_program(),
        resampling=_resampling_times(options),
        types=_type_times(options, middle),
        middle=middle,
    )
    machine = [
        *describe(options.peers),
        ("other programs meanwhile", str(company)),
        (
            "rounds",
            f"{options.repeats} or more; {_fewer(options)} or more for the tables of every measure",
        ),
        ("budget", f"{options.budget:g} s a call"),
    ]
    tables = results.tables()
    print("\n".join(f"{name}: {value}" for name, value in machine))
    for table in tables:
        print(f"\n{table.text()}")
    if options.output:
        write_page(options.output, machine, tables)


def _measured(
    contestants: Sequence[Contestant], options: argparse.Namespace, middle: int, *, calibrated: bool
) -> Measured:
    chosen = [one for one in contestants if one.peer is None or one.peer in options.peers]
    kind = "calibrated" if calibrated else "miscalibrated"
    times: Times = {}
    for n in options.sizes:
        _say(f"time, {kind}, n = {size(n)}")
        times[n] = race(
            chosen,
            make_data(n, calibrated=calibrated),
            repeats=options.repeats,
            budget=options.budget,
        )
    memory: dict[str, Cell] = {}
    for one in chosen:
        _say(f"memory, {kind}, n = {size(middle)}, {one.name}")
        took = times[middle][one.name]
        # Who was not timed, for whatever reason, is not run here either.
        memory[one.name] = (
            took if isinstance(took, str) else extra_memory(one, middle, calibrated=calibrated)
        )
    return Measured(times, memory)


def _small_times(options: argparse.Namespace) -> Times:
    """Time small samples, where fixed costs count."""
    _say("time, small samples")
    return {
        n: race((BINCOUNT, RAINPROOF), make_data(n), repeats=options.repeats, budget=options.budget)
        for n in SMALL
    }


def _fewer(options: argparse.Namespace) -> int:
    """The rounds of jobs that take long."""
    return min(3, int(options.repeats))


def _measure_times(options: argparse.Namespace) -> Times:
    """Time every measure, at sizes where the exact ones fit easily in memory."""
    chosen = [one for one in measures.CONTESTANTS if one.peer is None or one.peer in options.peers]
    times: Times = {}
    for n in (n for n in options.sizes if n <= TARGET_SIZE):
        _say(f"time, every measure, n = {size(n)}")
        times[n] = race(chosen, make_data(n), repeats=_fewer(options), budget=options.budget)
    return times


def _against_program() -> dict[str, Cell]:
    _say(f"time, smCE as a linear program, n = {size(measures.LP_SIZE)}")
    return race(measures.AGAINST_LP, make_data(measures.LP_SIZE), repeats=1, budget=60.0)


def _resampling_times(options: argparse.Namespace) -> dict[str, Cell]:
    """Measure seconds per redrawn sample."""
    _say(f"time, resampling, n = {size(resampling.SIZE)}")
    chosen = [
        e
        for e in resampling.ENTRIES
        if e.contestant.peer is None or e.contestant.peer in options.peers
    ]
    data = make_data(resampling.SIZE, calibrated=True)
    times = race(
        [e.contestant for e in chosen], data, repeats=options.repeats, budget=options.budget
    )
    return {e.contestant.name: over(times[e.contestant.name], e.draws) for e in chosen}


def _type_times(options: argparse.Namespace, n: int) -> dict[str, tuple[Cell, Cell, Cell]]:
    data = make_data(n)
    found = {}
    for label, prob in _TYPES:
        _say(f"time, y {label}, p {prob}, n = {size(n)}")
        contestants = (FLOOR, *BY_THREADS.values())
        times = race(
            contestants, data.cast(label, prob), repeats=options.repeats, budget=options.budget
        )
        found[f"{label}, {prob}"] = (
            times[FLOOR.name],
            times[BY_THREADS[1].name],
            times[RAINPROOF.name],
        )
    return found


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time and memory of rainproof and of other packages.",
    )
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=_size,
        default=[10**k for k in range(4, 8)],
        help="rows, such as 1e6",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=7,
        help="rounds at least; the best counts (default: %(default)s)",
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=["all", "none", *PEERS],
        default=["all"],
        metavar="PEER",
        help=f"all, none, or some of {', '.join(PEERS)} (default: all)",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=10.0,
        help="seconds one call may take (default: %(default)s)",
    )
    parser.add_argument(
        "--output", type=Path, help="write the tables to this Markdown file as well"
    )
    options = parser.parse_args()
    options.sizes = sorted(set(options.sizes))
    options.peers = [peer for peer in PEERS if peer in options.peers or "all" in options.peers]
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    return options


def _size(text: str) -> int:
    n = int(float(text))
    if n < 1 or n != float(text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of rows")
    return n


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # what peers say about their own dependencies
    main()
