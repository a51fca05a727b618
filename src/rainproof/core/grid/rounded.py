"""Predictions rounded to a grid: the weights of the rounding, and the rounded sample that the guarantees are about.

Every rounding of single predictions goes through `split` and `sum_on_grid`. The same arithmetic is compiled in three
kernels that work on other data: `_cells.bins` on the sums of cells, `decisions/_rounding` on rows that are sent up or
down by a hash, `inference/_soft_sums` on redrawn amounts at predictions that stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rainproof.core.arrays import Floats, Ints, freeze
from rainproof.core.grid._cells import bins
from rainproof.core.grid.cells import CellSums
from rainproof.errors import InputError

Rounding = Literal["soft", "hard"]


def check_rounding(rounding: str) -> bool:
    """Accept "soft" (True) or "hard" (False)."""
    if rounding not in ("soft", "hard"):
        raise InputError(f"rounding must be 'soft' or 'hard'; it is {rounding!r}")
    return rounding == "soft"


def split(prob: Floats, m: int, *, soft: bool = True) -> tuple[Ints, Floats]:
    """Return the cell ``k = floor(m p)`` of each prediction, and which share ``m p - k`` of it is rounded up to k + 1.

    Soft rounding leaves the share ``1 - (m p - k)`` at k, so that the mean is p; hard rounding leaves all of it.
    """
    scaled = prob * m
    cell = np.floor(scaled)
    scaled -= cell if soft else scaled  # in place: a new array costs more than the subtraction
    return cell.astype(np.int64), scaled


def sum_on_grid(cell: Ints, low: Floats, high: Floats, m: int) -> Floats:
    """Sum `low` at the grid point of each cell and `high` at the next: one sum for each of 0, 1, ..., m."""
    places, amounts = np.concatenate([cell, cell + 1]), np.concatenate([low, high])
    sums: Floats = np.bincount(places, amounts, m + 2)[: m + 1].astype(np.float64, copy=False)
    return sums  # nothing is lost beyond m: a prediction of 1 is not rounded up


@dataclass(frozen=True, slots=True, eq=False)
class RoundedSample:
    """The occupied points ``j/m`` of a grid: the weight rounded to each, and the weight of events.

    ``weight / total`` is the paper's ``pi_j`` and ``positive / weight`` its ``q_j``; sums are kept, not ratios, so that
    an empty bin needs no special case.
    """

    m: int
    index: Ints
    weight: Floats
    positive: Floats

    def __post_init__(self) -> None:
        freeze(self.index, self.weight, self.positive)

    @classmethod
    def from_sums(cls, sums: CellSums, m: int, rounding: Rounding = "soft") -> RoundedSample:
        """Round to the grid ``1/m``, which must not be finer than that of the sums."""
        shift = sums.m.bit_length() - m.bit_length()
        index, weight, positive = bins(sums.slot, sums.weight, sums.rise, m, shift, check_rounding(rounding))
        return cls(m=m, index=index, weight=weight, positive=positive)
