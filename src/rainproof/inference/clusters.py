"""Groups of rows that depend on each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats, Ints
from rainproof.core.grid.cells import CellTable
from rainproof.core.grid.rounded import split
from rainproof.core.input.labels import code_labels
from rainproof.core.input.rows import refuse_masked
from rainproof.core.sample.sample import Sample
from rainproof.errors import InputError


def clustered(sample: Sample, cells: CellTable, groups: ArrayLike) -> tuple[CellTable, int]:
    """Replace each row's squared weight by its weight times that of its group; return the number of groups too.

    In a bound a group is one draw, and each of its rows counts like a row with the weight of the whole group.
    """
    weight, together, draws = group_weights(sample, groups)
    cell, _ = split(np.asarray(sample.y_prob, np.float64), cells.m)  # exact: m is a power of two
    at = np.searchsorted(cells.slot, 2 * cell + np.asarray(sample.y_true, np.int64))
    some = weight > 0
    products = np.bincount(at[some], (weight * together)[some], minlength=len(cells.slot))
    squares: Floats = products.astype(np.float64)
    return replace(cells, squares=squares), draws


def group_weights(sample: Sample, groups: ArrayLike) -> tuple[Floats, Floats, int]:
    """Return the weight of each row, that of its whole group, and the number of groups with some weight."""
    if sample.grid is not None:
        raise InputError("groups need rows: a compressed sample does not keep them")
    n = len(sample.y_prob)
    weight = np.ones(n) if sample.sample_weight is None else np.asarray(sample.sample_weight, np.float64)
    group = numbered_groups(groups, n)
    together: Floats = np.bincount(group, weight).astype(np.float64, copy=False)
    return weight, together[group], int(np.count_nonzero(together))


def numbered_groups(groups: ArrayLike, n: int) -> Ints:
    """Return the number of each row's group, from 0 on."""
    refuse_masked(groups, "groups")
    array = np.asarray(groups)
    if array.shape != (n,):
        raise InputError(f"groups must have one entry for each of the {n:,} rows; its shape is {array.shape}")
    numbers, labels = code_labels(array)
    if labels and labels[-1] is None:
        missing = numbers == len(labels) - 1
        first = f"groups[{int(missing.argmax())}]"
        raise InputError.from_offenders("groups must not contain missing values", int(missing.sum()), first)
    return numbers
