"""Wall time: the minimum over rounds, in each of which every contestant runs once."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from benchmarks.data import Data
from benchmarks.machine import version
from benchmarks.tables import figures
from benchmarks.timed_functions import Contestant

Cell = float | str  # a number, or the reason why there is none

_SHORTEST = 0.005  # seconds; shorter calls are repeated within a round
_LEAST = 5.0  # seconds; minimum duration of all rounds, as other work can outlast many short ones
_AHEAD = 10  # the time is estimated from the first tenth of the rows


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Restrict this process to a number of cores; rainproof starts no more threads."""
    if threads is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:threads])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def turn(contestant: Contestant, data: Data, calls: int = 1) -> float:
    """Return seconds per call."""
    with at_most(contestant.threads):
        start = time.perf_counter()
        for _ in range(calls):
            contestant.call(data)
        return (time.perf_counter() - start) / calls


def excuse(contestant: Contestant) -> str | None:
    """Return the reason why a contestant cannot run, or None."""
    if contestant.peer is not None and version(contestant.peer) is None:
        return "not installed"
    if contestant.threads is not None and not hasattr(os, "sched_setaffinity"):
        return "threads cannot be limited here"
    return None


def race(
    contestants: Sequence[Contestant], data: Data, *, repeats: int, budget: float
) -> dict[str, Cell]:
    """Return seconds per call by contestant; the rounds are interleaved so that noise affects all
    alike.

    Before the first round each makes two calls on the first tenth of the rows, as a warm-up and to
    estimate its time. A contestant whose estimate exceeds `budget` seconds is left out.
    """
    cells: dict[str, Cell] = {}
    calls: dict[str, int] = {}
    ahead = data.head(math.ceil(len(data) / _AHEAD))
    for one in contestants:
        reason = excuse(one)
        cells[one.name] = reason or _guarded(one, partial(_expected, one, ahead, len(data)))
        expected = cells[one.name]
        if isinstance(expected, float):
            calls[one.name] = max(1, math.ceil(_SHORTEST / expected))
            cells[one.name] = (
                math.inf if expected <= budget else f"over budget (about {figures(expected)} s)"
            )
    start, rounds = time.perf_counter(), 0
    while rounds < repeats or time.perf_counter() - start < _LEAST:
        for one in contestants:
            best = cells[one.name]
            if isinstance(best, float):
                seconds = _guarded(one, partial(turn, one, data, calls[one.name]))
                cells[one.name] = min(best, seconds) if isinstance(seconds, float) else seconds
        rounds += 1
    return cells


def _expected(contestant: Contestant, ahead: Data, n: int) -> float:
    turn(contestant, ahead.head(1000))  # so that imports are not measured
    return min(turn(contestant, ahead) for _ in range(2)) * n / len(ahead)


def _guarded(contestant: Contestant, measure: partial[float]) -> Cell:
    """Report a failing peer in its cell and go on; an error of rainproof is raised."""
    try:
        return measure()
    except Exception as error:
        if contestant.peer is None:
            raise
        print(f"{contestant.name}: {error}", file=sys.stderr)
        return f"failed ({type(error).__name__})"
