"""The pass over the rows, by each of the instructions that this processor has, against exact
arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from helpers.cases import for_each
from numpy.typing import NDArray

from rainproof.core._scan import collect, scan, use_instructions

LEVELS = [level for level in range(3) if use_instructions(level)]
BLOCK = 32  # of the kernel
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
Array = NDArray[Any]


@pytest.fixture(params=LEVELS, autouse=True)
def _instructions(request: pytest.FixtureRequest) -> Iterator[None]:
    assert use_instructions(request.param)
    yield
    use_instructions(LEVELS[-1])


def awkward(rng: np.random.Generator, m: int, n: int) -> Array:
    """Predictions at grid points, beside them, near 0 and 1, and elsewhere."""
    grid = rng.integers(0, m + 1, n) / m
    kinds = [
        grid,
        np.nextafter(grid, 0),
        np.minimum(np.nextafter(grid, 1), 1),
        rng.random(n),
        rng.random(n) ** 40,
    ]
    kinds += [np.full(n, x) for x in (0.0, -0.0, 1.0, 1e-12, 5e-324, 1 - 2**-53)]
    return np.choose(rng.integers(0, len(kinds), n), kinds)


def exact(prob: Array, label: Array, m: int) -> dict[int, tuple[int, Fraction]]:
    """Rows and rise by slot; offsets in the lowest cell are rounded to 2^-52."""
    sums: dict[int, tuple[int, Fraction]] = {}
    for p, y in zip(prob.tolist(), label.tolist(), strict=True):
        cell, offset = divmod(Fraction(p) * m, 1)
        slot = 2 * int(cell) + int(y)
        rows, rise = sums.get(slot, (0, Fraction(0)))
        sums[slot] = rows + 1, rise + rounded(offset)
    return sums


def rounded(offset: Fraction) -> Fraction:
    return Fraction(round(offset * 2**52), 2**52)


def scanned(prob: Array, label: Array, m: int) -> dict[int, tuple[int, Fraction]]:
    table = np.zeros((2 * m + 2, 2), np.uint64)
    assert scan(prob, label, None, m, table, 0, len(prob))
    slot, count, _, rise, _ = collect(table)
    return {
        int(s): (int(c), Fraction(float(a)) + Fraction(float(b)))
        for s, c, a, b in zip(slot, count, *rise, strict=True)
    }


def spread(values: Array, step: int) -> Array:
    """The same values, so many places apart in memory; backwards if negative."""
    wide = np.zeros(len(values) * abs(step), values.dtype)[:: abs(step)]
    wide = wide if step > 0 else wide[::-1]
    wide[:] = values
    return wide


@for_each("n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK + 7])
@for_each("m", [2, 4, 16, 64, 1 << 20])
def test_sums_are_exact(n: int, m: int) -> None:
    rng = np.random.default_rng(n + m)
    prob, label = awkward(rng, m, n), rng.integers(0, 2, n)
    assert scanned(prob, label, m) == exact(prob, label, m)


@for_each("steps", [(1, 1), (2, 1), (1, 3), (-1, -2)])
@for_each("labels", [*INTEGERS, "f4", "f8"])
@for_each("probs", ["f4", "f8"])
def test_every_type_and_layout(probs: str, labels: str, steps: tuple[int, int]) -> None:
    m, n = 16, 6 * BLOCK + 5
    rng = np.random.default_rng(7)
    prob, label = awkward(rng, m, n).astype(probs), rng.integers(0, 2, n).astype(labels)
    assert scanned(spread(prob, steps[0]), spread(label, steps[1]), m) == exact(prob, label, m)


@for_each("at", [0, BLOCK - 1, BLOCK, 3 * BLOCK, 4 * BLOCK + 2])
@for_each("value", [np.nan, np.inf, -np.inf, -5e-324, -1.0, 1 + 2**-52, 1e300])
def test_a_bad_prediction_is_noticed(value: float, at: int) -> None:
    m, n = 4, 4 * BLOCK + 3
    label = np.zeros(n, np.int64)
    for prob in (np.full(n, 0.3), np.full(n, 0.3, np.float32)):
        with np.errstate(over="ignore"):
            prob[at] = value
        bad = not 0 <= prob[at] <= 1  # a float32 may be rounded into [0, 1]
        for labels in (label, label.astype(np.uint8), label.astype(float)):
            assert scan(prob, labels, None, m, np.zeros((2 * m + 2, 2), np.uint64), 0, n) is not bad
            assert scan(prob, labels, None, m, None, 0, n) is not bad


@for_each("at", [0, BLOCK - 1, BLOCK, 3 * BLOCK, 4 * BLOCK + 2])
@for_each("labels", [*INTEGERS, "f4", "f8"])
def test_a_bad_label_is_noticed(labels: str, at: int) -> None:
    m, n = 4, 4 * BLOCK + 3
    prob = np.full(n, 0.3)
    dtype = np.dtype(labels)
    wrong = (
        (np.nan, np.inf, 0.5, 2, -1)
        if dtype.kind == "f"
        else (2, np.iinfo(dtype).max, np.iinfo(dtype).min or 3)
    )
    for value in wrong:
        label = np.zeros(n, dtype)
        label[at] = value
        assert not scan(prob, label, None, m, np.zeros((2 * m + 2, 2), np.uint64), 0, n)
        assert not scan(prob, label, None, m, None, 0, n)


@pytest.mark.parametrize("prob", [0.0, 0.25, 0.5 - 2**-54, 1 - 2**-53, 1.0])
def test_a_slot_takes_more_rows_than_a_quick_one(prob: float) -> None:
    """All rows in one slot, with the largest offset and the smallest, beyond the 2^24 that a quick
    slot takes.
    """
    m, n = 2, (1 << 25) + BLOCK + 1
    table = np.zeros((2 * m + 2, 2), np.uint64)
    # without memory for the rows
    one = np.broadcast_to(np.float64(prob), n), np.broadcast_to(np.uint8(1), n)
    assert scan(*one, None, m, table, 0, n)
    (slot,), (count,), _, rise, _ = collect(table)
    cell, offset = divmod(Fraction(prob) * m, 1)
    assert (slot, count) == (2 * cell + 1, n)
    assert Fraction(rise[0, 0]) + Fraction(rise[1, 0]) == n * rounded(offset)


@for_each("m", [3, 10, 15, 100])
def test_bins_by_their_cuts(m: int) -> None:
    """Rows beside the cuts go to the bins that a comparison with the cuts gives, and keep their
    predictions.
    """
    rng = np.random.default_rng(m)
    cut = np.array([-1.0, *(k / m for k in range(1, m + 1)), 2.0])
    edges = cut[rng.integers(1, m + 1, 20 * m)]
    prob = np.concatenate(
        [edges, np.nextafter(edges, 0), np.minimum(np.nextafter(edges, 1), 1), rng.random(20 * m)]
    )
    label = rng.integers(0, 2, len(prob))
    table = np.zeros((2 * m + 2, 2), np.uint64)
    assert scan(prob, label, None, m, table, 0, len(prob), cut)
    slot, count, _, rise, _ = collect(table)
    inside = [
        (prob > low) & (prob <= high) & (label == y) for low, high in pairwise(cut) for y in (0, 1)
    ]
    found = np.zeros((2, len(inside)))
    found[:, slot] = count, ((slot >> 1) * count + rise[0]) / m
    assert found[0].tolist() == [here.sum() for here in inside]
    np.testing.assert_allclose(found[1], [prob[here].sum() for here in inside], rtol=1e-12)
