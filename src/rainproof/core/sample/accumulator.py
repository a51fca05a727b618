"""A compressed sample that takes further rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.grid.cell_accumulator import CellAccumulator
from rainproof.core.grid.cells import CellTable, check_grid
from rainproof.core.input.rows import as_rows
from rainproof.core.sample.sample import Sample
from rainproof.errors import InputError


class Accumulator:
    """Compress rows batch by batch, in memory that depends on `grid` alone.

    Accumulators of the same `grid` can be added, and pickled for other processes. The result does not depend
    on how the rows were split nor on their order (with weights, except for the last bit).

    Parameters
    ----------
    grid : int
        The grid of the compression (see `Sample.compress`): a power of two, up to 2**20.
    pos_label : object, optional
        The label of the event, where labels are not 0 and 1.

    Examples
    --------
    >>> import rainproof
    >>> monday, tuesday = rainproof.Accumulator(), rainproof.Accumulator()
    >>> monday.update([0, 1], [0.1, 0.8]).update([1], [0.6])
    Accumulator(n=3, grid=65536)
    >>> tuesday.update([0], [0.3])
    Accumulator(n=1, grid=65536)
    >>> rainproof.soft_binned_cdl((monday + tuesday).sample())
    0.078125
    """

    __slots__ = ("_cells", "_other", "_seen", "grid", "n", "pos_label")

    def __init__(self, grid: int = 2**16, *, pos_label: Any = None) -> None:
        self.grid = check_grid(grid)
        self.pos_label = pos_label
        self.n = 0  # rows of positive weight
        self._seen = 0
        self._other: Any = None  # the label besides pos_label, once one was seen
        self._cells = CellAccumulator(self.grid)

    def update(self, y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Accumulator:
        """Add a batch of rows; a batch with a bad row is refused and changes nothing."""
        rows = as_rows(y_true, y_prob, sample_weight, self.pos_label)
        other = _one_label(
            self._other, rows.other, f"{rows.names.label} must hold {self.pos_label!r} and one other label"
        )
        self._cells.add(rows)
        self._other = other
        self._seen += len(rows)
        self.n += len(rows) if rows.weight is None else int(np.count_nonzero(rows.weight))
        return self

    def __add__(self, other: object) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        if self.pos_label != other.pos_label:
            raise InputError(
                f"accumulators must have the same pos_label to be added; they have {self.pos_label!r} and "
                f"{other.pos_label!r}"
            )
        both = Accumulator(self.grid, pos_label=self.pos_label)
        both._other = _one_label(self._other, other._other, "accumulators must have the same other label to be added")
        both._take(self._cells.cells().merge(other._cells.cells()), self.n + other.n)
        return both

    def __radd__(self, other: object) -> Accumulator:
        return self if type(other) is int and other == 0 else NotImplemented  # the start value of `sum`

    def sample(self) -> Sample:
        """Return the compressed sample of all rows so far."""
        if not self._seen:
            raise InputError("the accumulator holds no rows yet")
        return Sample._from_cells(self._cells.cells())

    def _take(self, cells: CellTable, n: int) -> None:
        self._cells.merge(cells)
        self.n += n
        self._seen += n

    def __getstate__(self) -> dict[str, Any]:
        return {
            "grid": self.grid,
            "pos_label": self.pos_label,
            "other": self._other,
            "n": self.n,
            "cells": self._cells.cells(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Accumulator.__init__(self, state["grid"], pos_label=state["pos_label"])
        self._other = state["other"]
        self._take(state["cells"], state["n"])

    def __repr__(self) -> str:
        return f"Accumulator(n={self.n}, grid={self.grid})"


def _one_label(one: Any, another: Any, rule: str) -> Any:
    """Return the label that is not None; refuse two different ones."""
    if one is not None and another is not None and one != another:
        raise InputError(f"{rule}; there are {one!r} and {another!r}")
    return another if one is None else one
