"""The rows that every contestant gets: the same arrays, in the same run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SEED = 20260


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Outcomes, predictions and weights."""

    y: NDArray[Any]
    p: NDArray[Any]
    w: NDArray[Any]

    def __len__(self) -> int:
        return len(self.p)

    def head(self, n: int) -> Data:
        """The first n rows, not copied."""
        return Data(self.y[:n], self.p[:n], self.w[:n])

    def cast(self, label: str, prob: str) -> Data:
        """The same rows in other types."""
        return Data(self.y.astype(label), self.p.astype(prob), self.w)


def make_data(n: int, *, calibrated: bool = False) -> Data:
    """Uniform predictions; the event happens with probability p if `calibrated`, else with p**1.3.

    A perfectly calibrated forecaster is the hard case for rainproof: its SCDL balances on a fine
    grid.
    """
    rng = np.random.default_rng(_SEED)
    p = rng.random(n)
    chance = p if calibrated else p**1.3
    y = (rng.random(n) < chance).astype(np.int64)
    return Data(y, p, rng.random(n))
