"""Arrays: their types, those of results, which are read-only, exact sums, groups in order, threads.

Nothing here knows what the numbers in an array mean.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cells = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]


def freeze(*arrays: Array) -> None:
    """Make the arrays of a result read-only."""
    for array in arrays:
        array.setflags(write=False)


def read_only(array: Array) -> Array:
    """Return a read-only view of an array of the caller, which stays as it is."""
    view = array.view()
    view.setflags(write=False)
    return view


class Frozen:
    """A frozen dataclass whose arrays are read-only, and stay so in copies, in other processes too.

    NumPy does not pickle that an array is read-only, so copies are built by the constructor.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:  # type: ignore[attr-defined]
            value = getattr(self, name)
            if type(value) is np.ndarray:
                value.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return _rebuild, (type(self), values)


def _rebuild(cls: type[Any], values: dict[str, Any]) -> Any:
    return cls(**values)


def two_sum(high: Floats, low: Floats) -> Floats:
    """Return the pair for ``high + low`` whose first part is the nearest double.

    It is Knuth's TwoSum: the pair has no rounding error.
    """
    total = high + low
    part = total - high
    error = (high - (total - part)) + (low - part)
    return np.stack([total, error])


def add_pairs(a: Floats, b: Floats) -> Floats:
    """Return the pair for ``a + b``."""
    high, low = two_sum(a[0], b[0])
    return two_sum(high, low + (a[1] + b[1]))


def sums_by(number: Ints | Cells, amount: Array | None, size: int = 0) -> Floats:
    """Return the sums of amounts (None: how many there are) by their numbers: those of units, cells
    or bins; at least so many.
    """
    return np.bincount(number, amount, size).astype(np.float64, copy=False)


_EXPONENT_BITS = 11  # of a double

EXACT_BINS = (2 << _EXPONENT_BITS, 2)
"""The shape of the integers that `rainproof.core._exact_sum.add` adds up to 2**31 doubles to: by
sign and exponent, the sums of the lower and of the upper bits.
"""


def exact_units(bins: NDArray[np.uint64]) -> int:
    """Return the sum of these doubles in units of ``2**-1074``; a ratio of two such integers is
    rounded once.
    """
    total = 0
    for number in np.flatnonzero(bins.any(axis=1)).tolist():
        low, high = bins[number].tolist()
        is_negative, exponent = divmod(number, 1 << _EXPONENT_BITS)
        units = (low + (high << 32)) << max(exponent - 1, 0)  # 0: doubles below the normal ones
        total += -units if is_negative else units
    return total


def places_of_groups(group: Ints, *kinds: Ints) -> Ints:
    """Return the place of each group in an order of what its rows are, whatever number it has.

    A kind is the same for rows that are alike; groups that one kind does not tell apart are in the
    order of the next. They are told apart by size, then by their sorted rows: neighbours are
    numbered in pairs, pairs in pairs, until each group is one number. Groups with the same rows are
    in any order.
    """
    size = np.bincount(group)
    keys = [_numbers_by_rows(group, kind, len(size)) for kind in reversed(kinds)]
    order = np.lexsort([*keys, size])
    places = np.empty(len(size), np.int64)
    places[order] = np.arange(len(size)) - np.count_nonzero(size == 0)
    return places


def _numbers_by_rows(group: Ints, kind: Ints, groups: int) -> Ints:
    """Return one number for the rows of each group: groups of one size have the same number if they
    have the same kinds of rows, as often.

    Each round halves the rows: two neighbours in a group become one row, whose kind is the rank of
    their pair of kinds. A group that is down to one row has its number.
    """
    numbers = np.zeros(groups, np.int64)
    order = np.argsort(group * (kind.max() + 1) + kind)
    group = group[order]
    kind = kind[order] + 1  # 0 stands for no row
    while len(group):
        has_right = np.append(group[1:] == group[:-1], False)
        first = np.flatnonzero(~np.roll(has_right, 1))  # the first row of each group
        size = np.diff(first, append=len(group))
        single = first[size == 1]
        numbers[group[single]] = kind[single]

        place_in_group = np.arange(len(group)) - np.repeat(first, size)
        is_left = place_in_group & 1 == 0
        is_left[single] = False
        left = np.flatnonzero(is_left)
        right_kind = np.where(has_right[left], np.roll(kind, -1)[left], 0)
        pair = kind[left] * (kind.max() + 1) + right_kind
        group = group[left]
        kind = np.unique(pair, return_inverse=True)[1] + 1
    return numbers


def available_threads() -> int:
    """Return the number of processors that this process may use (`taskset` and batch systems limit
    it).
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def run_in_threads(work: Callable[[int], bool], parts: int) -> bool:
    """Run ``work(part)`` for each part in a thread, the first in this one; return whether all
    returned True.

    Parts for which no thread can be started run in this thread, after the first. (A pool would not
    do: the part stays in its queue, and another thread may run it a second time.)
    """
    results = [False] * parts
    errors: list[BaseException] = []
    threads = []
    parts_here = [0]

    def run(part: int) -> None:
        try:
            results[part] = work(part)
        except BaseException as error:  # raised again below
            errors.append(error)

    try:
        for part in range(1, parts):
            thread = Thread(target=run, args=(part,))
            try:
                thread.start()
                threads.append(thread)
            except RuntimeError:  # a limit on processes or memory
                parts_here.append(part)
        for part in parts_here:
            results[part] = work(part)
    finally:
        for thread in threads:  # they write into the caller's arrays
            thread.join()
    if errors:
        raise errors[0]
    return all(results)
