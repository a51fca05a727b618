"""The rows that bounds on decisions are computed from: outcomes, predictions, and which rows were drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.grid.cells import CellTable
from rainproof.core.sample.sample import Sample
from rainproof.inference.switch_inputs import Pairs

_COLUMNS = ("event", "prob", "weight", "group", "counts", "second")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Forecasts:
    """Predictions with their outcomes: one per draw, or `counts` of each; `weight` is None if all are 1."""

    event: NDArray[np.bool_]
    prob: Floats
    weight: Floats | None = None
    group: Ints | None = None
    counts: Ints | None = None
    grid: int | None = None  # of the cells of a compressed sample
    second: NDArray[np.bool_] | None = None  # as `Sample._second`

    @classmethod
    def all_of(cls, sample: Sample, group: Ints | None) -> Forecasts:
        """All rows of a sample."""
        if sample.grid is not None:
            return cls.from_cells(sample._cells, sample._cells.count)
        event, prob, weight = sample.y_true, sample.y_prob, sample.sample_weight
        return cls(
            event=np.asarray(event) == 1,
            prob=np.asarray(prob, np.float64),
            weight=None if weight is None else np.asarray(weight, np.float64),
            group=group,
            second=sample._second,
        )

    @classmethod
    def from_cells(cls, cells: CellTable, counts: Ints) -> Forecasts:
        """So many rows of each slot, at the lower edge of their cell: a mean would depend on the rows."""
        some = counts > 0
        slot = cells.slot[some]
        return cls(event=slot & 1 == 1, prob=(slot >> 1) / cells.m, counts=counts[some], grid=cells.m)

    @classmethod
    def join(cls, parts: Sequence[Forecasts]) -> Forecasts:
        """The rows of all parts."""

        def column(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if found[0] is None else np.concatenate(found)

        return cls(**{name: column(name) for name in _COLUMNS}, grid=parts[0].grid)

    @property
    def n(self) -> int:
        """The number of rows; the two parts of a row that was split count once."""
        parts = len(self.prob) if self.counts is None else int(self.counts.sum())
        return parts if self.second is None else parts - int(self.second.sum())

    def masses(self) -> Floats:
        """The weight of each entry."""
        mass = self.weight if self.counts is None else self.counts.astype(np.float64)
        return np.ones(len(self.prob)) if mass is None else mass

    def pairs(self, old: Floats, new: Floats) -> Pairs:
        """The rows with two predictions."""
        group = None if self.group is None else np.unique(self.group, return_inverse=True)[1].reshape(-1)
        return Pairs(self.event, old, new, self.weight, group, self.counts)

    def halves(self, rng: np.random.Generator) -> tuple[Forecasts, Forecasts]:
        """Toss a coin for each row, or each group."""
        if self.counts is not None:
            first = rng.binomial(self.counts, 0.5)
            one, other = (replace(self, counts=part).at(part > 0) for part in (first, self.counts - first))
            return one, other
        coins = rng.integers(0, 2, len(self.prob) if self.group is None else int(self.group.max()) + 1)
        heads = (coins if self.group is None else coins[self.group]) == 1
        return self.at(heads), self.at(~heads)

    def at(self, rows: NDArray[np.bool_] | Ints) -> Forecasts:
        """Some of the rows."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return replace(self, **{name: column[rows] for name, column in columns.items() if column is not None})
