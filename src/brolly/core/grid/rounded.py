"""The sample with its predictions rounded to a grid: the distribution the guarantees speak of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from brolly.core.arrays import Floats, freeze
from brolly.core.grid._cells import bins
from brolly.core.grid.cells import CellSums
from brolly.errors import InputError

Rounding = Literal["soft", "hard"]


def check_rounding(rounding: str) -> bool:
    """True for soft rounding, False for hard."""
    if rounding not in ("soft", "hard"):
        raise InputError(f"rounding must be 'soft' or 'hard'; it is {rounding!r}")
    return rounding == "soft"


@dataclass(frozen=True, slots=True, eq=False)
class RoundedSample:
    """The occupied bins ``j`` of the grid ``j/m``: their weight and the weight of events in them.

    ``weight / total`` is the paper's ``pi_j`` and ``positive / weight`` its ``q_j``; both are kept as
    sums, so an empty bin needs no special case.
    """

    m: int
    index: NDArray[np.int64]
    weight: Floats
    positive: Floats

    def __post_init__(self) -> None:
        freeze(self.index, self.weight, self.positive)

    @classmethod
    def from_sums(cls, sums: CellSums, m: int, rounding: Rounding = "soft") -> RoundedSample:
        """Round to ``1/m``, a grid no finer than that of the sums."""
        shift = sums.m.bit_length() - m.bit_length()
        index, weight, positive = bins(sums.slot, sums.weight, sums.rise, shift, check_rounding(rounding))
        return cls(m=m, index=index, weight=weight, positive=positive)
