"""Two forecasts for the same rows, compressed: the sums by cell of both predictions and outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Frozen, Ints
from rainproof.core.grid.cells import CellTable
from rainproof.core.grid.hashed_cells import slot_count
from rainproof.core.sample.sample import Sample
from rainproof.core.sample.segments import GroupedCells


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairedSample(Frozen):
    """Two forecasts for the same rows, compressed to a grid: the result of `scan` for two columns of predictions.

    It has a number of rows and of weights for each pair of cells ``[k/m, (k + 1)/m)``, one of each forecast, and each
    outcome. So it knows what anybody decides who acts from a threshold ``k/m`` on, and `switch_guarantee` takes it
    instead of rows. Samples of the same grid can be added (``a + b``, or ``sum``): the result is that of the rows of
    both.

    Examples
    --------
    >>> import rainproof
    >>> rows = {"old": [0.1, 0.8, 0.6], "new": [0.2, 0.9, 0.4], "y": [0, 1, 0]}
    >>> rainproof.scan(rows, ["old", "new"], "y")
    PairedSample(n=3, events=1, grid=1024)
    """

    _table: CellTable  # slot: the cell of the old prediction times slot_count(m), plus the slot of the new one

    @classmethod
    def _from_grouped(cls, sums: GroupedCells) -> PairedSample:
        """Make it from sums by segment, where a segment is a cell of the old prediction."""
        m = sums.store.m
        tables = [sums.store.cells(number) for number in range(len(sums.keys))]
        cells = [int(str(label)) for (label,) in sums.keys]
        slots = [slot_count(m) * cell + table.slot for cell, table in zip(cells, tables, strict=True)]
        Sample._from_cells(
            CellTable.join(m, tables, [table.slot for table in tables]), sums.weight_name
        )  # which checks
        return cls(CellTable.join(m, tables, slots))

    @property
    def grid(self) -> int:
        """The grid m of the compression."""
        return self._table.m

    @property
    def n(self) -> int:
        """The number of rows (of positive weight)."""
        return int(self._table.count.sum())

    @property
    def events(self) -> int:
        """The number of rows with the event."""
        return int(self._table.count[self._table.slot & 1 == 1].sum())

    def _cells(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """The cells of both predictions, and the outcome, of each entry."""
        old, slot = np.divmod(self._table.slot, slot_count(self.grid))
        return old.astype(np.int32), (slot >> 1).astype(np.int32), slot & 1 == 1

    def _sums(self) -> tuple[Ints, Floats, Floats]:
        """The number of rows, their weight, and the sum of their squared weights, of each entry."""
        return self._table.count, self._table.weight[0], self._table.squares

    def _has_equal_weights(self) -> bool:
        return self._table.has_equal_weights

    def __add__(self, other: object) -> PairedSample:
        return PairedSample(self._table.merge(other._table)) if isinstance(other, PairedSample) else NotImplemented

    def __radd__(self, other: object) -> PairedSample:
        return self if type(other) is int and other == 0 else NotImplemented  # the start value of `sum`

    def __repr__(self) -> str:
        return f"PairedSample(n={self.n}, events={self.events}, grid={self.grid})"
