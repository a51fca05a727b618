"""Options that the functions share: seeds and their streams, numbers of draws, levels, progress.

What checks rows is in `rainproof.core.validation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rainproof.core.digests import Digested, stream_for
from rainproof.errors import InputError

Rng = np.random.Generator
Seed = int | Rng | None
Progress = Callable[[int, int], None]

BLOCK = 32  # draws that share a stream of random numbers
_MOST_DRAWS = 10**7
_INTERVAL_DRAWS = 199  # by default: of a 95% interval each tail has 5 of the 200 gaps between them
_ROUNDING = 1e-9  # of one over a tail, relative, which does not ask for a draw more


def as_seed(rng: Seed, *rows: Digested) -> tuple[Rng, int | None]:
    """Return the generator that deals or redraws these rows, and the seed if `rng` is one.

    The random numbers of a seed are those of the seed and the rows (see `rainproof.core.digests`).
    """
    if isinstance(rng, np.random.Generator):
        return rng, None
    if rng is None:
        return np.random.default_rng(), None
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InputError(
            f"rng must be None, a non-negative integer or a numpy.random.Generator; it is {rng!r}"
        )
    return stream_for(int(rng), *rows), int(rng)


def check_resamples(n_resamples: int, minimum: int = 19) -> int:
    """Return a valid number of draws."""
    is_whole = isinstance(n_resamples, int | np.integer) and not isinstance(n_resamples, bool)
    if not is_whole or not minimum <= n_resamples <= _MOST_DRAWS:
        raise InputError(
            f"n_resamples must be an integer from {minimum} to {_MOST_DRAWS:,}; it is "
            f"{n_resamples!r}"
        )
    return int(n_resamples)


def interval_resamples(n_resamples: int | None, tail: float) -> int:
    """Return the number of draws for an interval: 199 by default, more if needed for one draw in a
    tail that small.
    """
    if n_resamples is not None:
        return check_resamples(n_resamples)
    for_one_in_the_tail = math.ceil((1 - _ROUNDING) / tail) - 1
    return max(_INTERVAL_DRAWS, for_one_in_the_tail)


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
    """A stream of random numbers for each block of `size` draws."""
    return rng.spawn(len(range(0, size, BLOCK)))


def bisected(holds: Callable[[float], bool], no: float, yes: float, steps: int) -> float:
    """Where a condition begins to hold, between a number for which it does not and one for which it
    does.
    """
    for _ in range(steps):
        middle = (no + yes) / 2
        if holds(middle):
            yes = middle
        else:
            no = middle
    return yes


def counter(progress: Progress | None, total: int) -> Callable[[], None]:
    """Return a function to call after each step."""
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return step


def shifted(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    """Report the progress of one part of several."""
    progress(before + done, total)
