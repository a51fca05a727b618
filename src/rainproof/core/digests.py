"""One number for some rows, in whatever order they come: with an integer seed it decides how they
are dealt.

A deal that depends on the seed and the number of rows alone is a function of ranks: the same ranks
choose and prove in every sample of so many rows. Seeded with the seed and the digest of the rows,
each sample has a deal of its own, as if at random, and the same rows have the same deal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Array, Bools, Bytes, Floats, Ints

Codes = NDArray[np.uint64]

_DROPPED = 28
"""The last binary digits of a double that do not count: 24 of 52 are left after the leading 1, so
that numbers which differ by less than 6e-8 of themselves are mostly alike."""
_OFFSET = np.uint64(0x9E3779B)
"""Where numbers part, as a share of the last digit that counts: the golden ratio's. At a plain
half, predictions in single precision, and other round binary numbers, would lie on the border, and
the last bit would decide."""
_LAST = np.uint64((1 << _DROPPED) - 1)
"""The bits of the digits that do not count."""
_STEP = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio. Its multiples, mixed, are the factors of the columns."""
_ROWS_AT_ONCE = 1 << 14
"""Rows whose columns are hashed at a time, which stay in the cache of a processor."""


class Digested(Protocol):
    """Rows, however they are stored."""

    @property
    def digest(self) -> int:
        """One number for the rows, in whatever order they come."""


def stream_for(seed: int, *rows: Digested) -> np.random.Generator:
    """Return the random numbers of a seed for these rows: every deal and draw with an integer seed
    is from them.
    """
    return np.random.default_rng([seed, *[part.digest for part in rows]])


def rounded(column: Array) -> Codes:
    """Return numbers from 0 on, rounded to 25 binary digits, as integers in the same order."""
    # a copy, in which -0.0 is 0.0
    bits: Codes = (np.asarray(column, np.float64) + 0.0).view(np.uint64)
    bits += _OFFSET
    bits >>= np.uint64(_DROPPED)
    return bits


def exact(column: Array) -> Codes:
    """Return numbers from 0 on as integers in the same order, to the last bit."""
    return (np.asarray(column, np.float64) + 0.0).view(np.uint64)


def mixed(numbers: Codes) -> Codes:
    """Mix 64-bit numbers in place, one to one: each bit of the result depends on all bits.

    It is the last step of SplitMix64: Steele, Lea, Flood (2014), doi:10.1145/2660193.2660195, in
    the variant 13 of David Stafford.
    """
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    numbers *= np.uint64(0x94D049BB133111EB)
    numbers ^= numbers >> np.uint64(31)
    return numbers


@cache
def _factors(columns: int) -> Codes:
    """Return the factor of each column; the first columns have the same ones however many there
    are.
    """
    return mixed(np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(_STEP))


def hashed(codes: Sequence[Codes]) -> Codes:
    """Return one number for each row of several columns of integers."""
    factors = _factors(len(codes))
    total = codes[0] * factors[0]
    for column, factor in zip(codes[1:], factors[1:], strict=True):
        total += column * factor
    return mixed(total)


def of_rows(
    outcome: Array,
    columns: Sequence[Array],
    weight: Floats | None = None,
    *,
    to_the_bit: bool = False,
) -> Codes:
    """Return one number for each row, given its outcome (a whole number), its predictions and its
    relative weight.

    Predictions and weights are rounded, unless `to_the_bit`. No weights are the same as weights of
    1.
    """
    read = exact if to_the_bit else rounded
    of_row = np.empty(len(outcome), np.uint64)
    for start in range(0, len(outcome), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        codes = [outcome[block].astype(np.uint64)]
        codes += [read(column[block]) for column in columns]
        if weight is not None:  # 0 for a weight of 1, as if there were none
            codes.append(read(weight[block]) - read(np.ones(1)))
        of_row[block] = hashed(codes)
    return of_row


def of_units(rows: Codes, unit: Ints) -> Codes:
    """Return one number for each unit that several rows belong to, in whatever order; a row alone
    keeps its own.
    """
    size = np.bincount(unit)
    total = np.zeros(len(size), np.uint64)
    np.add.at(total, unit, rows)
    of_unit: Codes = np.where(size > 1, mixed(total.copy()), total)
    return of_unit[size > 0]


def of_all(units: Codes, counts: ArrayLike = 1) -> int:
    """Return one number for all units, in whatever order, each as often as it is counted."""
    total = (units * np.asarray(counts).astype(np.uint64)).sum(dtype=np.uint64)
    return int(mixed(np.array([total], np.uint64))[0])


def with_outcome(prob: Array, event: Bools) -> Ints:
    """Return predictions and outcomes as integers that sort by rounded prediction, outcome, and
    exact prediction.
    """
    bits = exact(prob)
    bits += _OFFSET  # at most 1, whose two highest bits are 0
    # the outcome goes between the digits that count and those that do not
    last = bits & _LAST
    bits -= last
    bits <<= np.uint64(1)
    bits |= last
    bits |= event.astype(np.uint64) << np.uint64(_DROPPED)
    return bits.view(np.int64)


def without_outcome(key: Ints) -> tuple[Bytes, Floats]:
    """Return the outcomes and predictions that `with_outcome` made integers of."""
    bits = key.view(np.uint64)
    last = bits & _LAST
    event = ((bits >> np.uint64(_DROPPED)) & np.uint64(1)).astype(np.uint8)
    bits = bits >> np.uint64(_DROPPED + 1) << np.uint64(_DROPPED)
    bits |= last
    bits -= _OFFSET
    return event, bits.view(np.float64)
