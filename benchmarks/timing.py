"""Wall time: the best of several rounds, in each of which everyone has a turn."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from benchmarks.contestants import Contestant
from benchmarks.data import Data
from benchmarks.machine import version
from benchmarks.tables import figures

Cell = float | str  # a number, or the reason why there is none

_SHORTEST = 0.005  # seconds; quicker calls are repeated within a turn until the clock can tell them
_LEAST = 5.0  # seconds; rounds go on until then, as a burst of other work can outlast many short rounds
_AHEAD = 10  # the first tenth of the rows foretells how long all of them take


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Let this process use so many cores only; brolly starts no more threads than that."""
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
    """Seconds per call."""
    with at_most(contestant.threads):
        start = time.perf_counter()
        for _ in range(calls):
            contestant.call(data)
        return (time.perf_counter() - start) / calls


def excuse(contestant: Contestant) -> str | None:
    """Why a contestant cannot start at all, if so."""
    if contestant.peer is not None and version(contestant.peer) is None:
        return "not installed"
    if contestant.threads is not None and not hasattr(os, "sched_setaffinity"):
        return "threads cannot be limited here"
    return None


def race(contestants: Sequence[Contestant], data: Data, *, repeats: int, budget: float) -> dict[str, Cell]:
    """Seconds per call by contestant; the rounds are interleaved so that a noisy machine hits all alike.

    Before the first round each makes two calls on the first tenth of the rows. They are the warm-up (imports,
    thread pools), and whoever would by the better of them need more than `budget` seconds is left out.
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
            cells[one.name] = math.inf if expected <= budget else f"over budget (about {figures(expected)} s)"
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
    turn(contestant, ahead.head(1000))  # imports must not count as the contestant's time
    return min(turn(contestant, ahead) for _ in range(2)) * n / len(ahead)


def _guarded(contestant: Contestant, measure: partial[float]) -> Cell:
    """A peer that fails is reported in its place and stops nobody else; an error of brolly is an error."""
    try:
        return measure()
    except Exception as error:
        if contestant.peer is None:
            raise
        print(f"{contestant.name}: {error}", file=sys.stderr)
        return f"failed ({type(error).__name__})"
