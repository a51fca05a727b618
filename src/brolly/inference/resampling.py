"""Many redrawn samples, a block at a time: seeds and progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from brolly.core.arrays import Floats
from brolly.errors import InputError

Seed = int | np.random.Generator | None
Rng = np.random.Generator
Progress = Callable[[int, int], None]

_BLOCK = 32  # samples that share a stream of random numbers


def as_seed(rng: Seed) -> tuple[np.random.Generator, int | None]:
    """The generator, and the seed where one can be named."""
    if isinstance(rng, np.random.Generator):
        return rng, None
    if rng is None:
        return np.random.default_rng(), None
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InputError(f"rng must be None, a non-negative integer or a numpy.random.Generator; it is {rng!r}")
    return np.random.default_rng(int(rng)), int(rng)


def check_resamples(n_resamples: int, least: int = 19) -> int:
    """Accept a number of samples to draw."""
    whole = isinstance(n_resamples, int | np.integer) and not isinstance(n_resamples, bool)
    if not whole or not least <= n_resamples <= 10**7:
        raise InputError(f"n_resamples must be an integer from {least} to 10,000,000; it is {n_resamples!r}")
    return int(n_resamples)


def is_share(value: object) -> bool:
    """Whether it is a number strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, float | int | np.floating):
        return False
    return bool(0 < value < 1)


def check_share(value: float, name: str) -> float:
    """Accept a number strictly between 0 and 1."""
    if not is_share(value):
        raise InputError(f"{name} must be a number between 0 and 1, both excluded; it is {value!r}")
    return float(value)


def draw_many(
    one: Callable[[np.random.Generator], Sequence[float] | Floats],
    size: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
    *,
    width: int = 1,
    threads: int = 1,
) -> Floats:
    """Call `one` so often, each block of calls with its own stream of random numbers; a row for each call.

    What comes out does not depend on the number of threads: blocks have their streams before any of them is drawn.
    """
    found = np.empty((size, width))
    starts = range(0, size, _BLOCK)
    if threads == 1 or len(starts) == 1:
        for start in starts:
            (stream,) = rng.spawn(1)
            _fill(found[start : start + _BLOCK], one, stream)
            if progress is not None:
                progress(min(start + _BLOCK, size), size)
        return found
    with ThreadPoolExecutor(min(threads, len(starts))) as pool:
        blocks = [pool.submit(_fill, found[start : start + _BLOCK], one, *rng.spawn(1)) for start in starts]
        try:
            for start, block in zip(starts, blocks, strict=True):
                block.result()
                if progress is not None:
                    progress(min(start + _BLOCK, size), size)
        finally:  # an error or Ctrl-C: the blocks that no thread has begun are not wanted any more
            for block in blocks:
                block.cancel()
    return found


def _fill(rows: Floats, one: Callable[[np.random.Generator], Sequence[float] | Floats], stream: Rng) -> None:
    for k in range(len(rows)):
        rows[k] = one(stream)


def quantile(sorted_draws: Floats, share: float) -> float:
    """The draw that at least this share of them does not exceed."""
    at = int(np.ceil(share * len(sorted_draws))) - 1
    return float(sorted_draws[min(max(at, 0), len(sorted_draws) - 1)])
