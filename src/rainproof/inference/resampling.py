"""Resampling in blocks: seeds, numbers of draws, threads and progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rainproof.core.arrays import Floats, freeze
from rainproof.core.threads import run_in_threads
from rainproof.errors import InputError

Seed = int | np.random.Generator | None
Rng = np.random.Generator
Progress = Callable[[int, int], None]

BLOCK = 32  # draws that share a stream of random numbers
_INTERVAL_DRAWS = 199


def as_seed(rng: Seed) -> tuple[np.random.Generator, int | None]:
    """Return the generator, and the seed if `rng` is one."""
    if isinstance(rng, np.random.Generator):
        return rng, None
    if rng is None:
        return np.random.default_rng(), None
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InputError(f"rng must be None, a non-negative integer or a numpy.random.Generator; it is {rng!r}")
    return np.random.default_rng(int(rng)), int(rng)


def check_resamples(n_resamples: int, minimum: int = 19) -> int:
    """Return a valid number of draws."""
    whole = isinstance(n_resamples, int | np.integer) and not isinstance(n_resamples, bool)
    if not whole or not minimum <= n_resamples <= 10**7:
        raise InputError(f"n_resamples must be an integer from {minimum} to 10,000,000; it is {n_resamples!r}")
    return int(n_resamples)


def interval_resamples(n_resamples: int | None, tail: float) -> int:
    """Return the number of draws for an interval: 199 by default, more if needed for one draw in a tail that small."""
    if n_resamples is None:
        return max(_INTERVAL_DRAWS, math.ceil((1 - 1e-9) / tail) - 1)
    return check_resamples(n_resamples)


def is_share(value: object) -> bool:
    """Return whether a value is a number strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, float | int | np.floating):
        return False
    return bool(0 < value < 1)


def check_share(value: float, name: str) -> float:
    """Return a number strictly between 0 and 1."""
    if not is_share(value):
        raise InputError(f"{name} must be a number between 0 and 1, both excluded; it is {value!r}")
    return float(value)


def spawned(rng: Rng, size: int) -> list[Rng]:
    """A stream of random numbers for each block of so many draws."""
    return rng.spawn(len(range(0, size, BLOCK)))


def draw_many(
    one: Callable[[np.random.Generator], Sequence[float] | Floats],
    size: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
    *,
    width: int = 1,
    threads: int = 1,
) -> Floats:
    """Call `one` `size` times, each block of calls with its own stream of random numbers; one row per call."""

    def some(stream: np.random.Generator, times: int) -> list[Sequence[float] | Floats]:
        return [one(stream) for _ in range(times)]

    return draw_batches(some, size, rng, progress, width=width, threads=threads)


def draw_batches(
    some: Callable[[np.random.Generator, int], Sequence[Sequence[float] | Floats] | Floats],
    size: int,
    rng: Rng | list[Rng],
    progress: Progress | None = None,
    *,
    width: int = 1,
    threads: int = 1,
    at_once: int = BLOCK,
) -> Floats:
    """Call `some` for up to `at_once` draws at a time until there are `size`; each block has its own random numbers.

    `rng` can be the streams of the blocks (`spawned`). The result does not depend on the number of threads: every block
    has its stream before any of them is drawn. Nor does it depend on `at_once` if `some` takes random numbers draw by
    draw.
    """
    found = np.empty((size, width))
    starts = range(0, size, BLOCK)
    streams, done = rng if isinstance(rng, list) else spawned(rng, size), [0] * len(starts)
    threads = min(threads, len(starts))
    failed = False

    def work(part: int) -> bool:
        nonlocal failed
        try:
            for k in range(part, len(starts), threads):
                if failed:  # an error or Ctrl-C in another thread: the rest is not needed any more
                    break
                rows = found[starts[k] : starts[k] + BLOCK]
                for at in range(0, len(rows), at_once):
                    batch = rows[at : at + at_once]
                    batch[:] = some(streams[k], len(batch))
                done[k] = len(rows)
                if progress is not None and part == 0 and sum(done) < size:
                    progress(sum(done), size)
        except BaseException:
            failed = True
            raise
        return True

    run_in_threads(work, threads)
    if progress is not None:
        progress(size, size)
    return found


class DrawnLater:
    """Values that are drawn when they are first asked for."""

    def __init__(self, draw: Callable[[], Floats]) -> None:
        self._draw = draw

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values}  # not the rows

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        freeze(self.values)

    @cached_property
    def values(self) -> Floats:
        """All of them."""
        values = self._draw()
        freeze(values)
        return values


def shifted(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    """Report the progress of one part of several."""
    progress(before + done, total)


def quantile(sorted_draws: Floats, share: float) -> float:
    """Return the smallest draw that at least this share of the draws does not exceed."""
    at = int(np.ceil(share * len(sorted_draws))) - 1
    return float(sorted_draws[min(max(at, 0), len(sorted_draws) - 1)])
