"""The accumulator: rows compressed batch by batch."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core._scan import absorb, scan
from rainproof.core.arrays import Array
from rainproof.core.cells import CellTable, check_grid, scan_in_threads
from rainproof.core.columns import Columns
from rainproof.core.sample import Sample
from rainproof.core.validation import as_columns
from rainproof.errors import InputError

# unweighted rows in a table of an accumulator: half of what its counters hold (2**36 rows)
_MAX_ROWS_IN_TABLE = 1 << 35


class Accumulator:
    """Compress rows batch by batch, in memory that depends on `grid` alone.

    Accumulators of the same `grid` can be added, and pickled for other processes; threads can share
    one. The result does not depend on how the rows were split nor on their order (with weights,
    except for the last bit).

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

    __slots__ = (
        "_filled",
        "_lock",
        "_merged",
        "_other_label",
        "_seen",
        "_tables",
        "grid",
        "n",
        "pos_label",
    )

    def __init__(self, grid: int = 2**16, *, pos_label: Any = None) -> None:
        self.grid = check_grid(grid)
        self.pos_label = pos_label
        self.n = 0  # rows of positive weight
        self._seen = 0
        self._other_label: Any = None  # the label besides pos_label, once one was seen
        # A dense table for unweighted rows and one for weighted rows, 32 and 96 bytes a cell, made
        # when first needed.
        self._tables: dict[bool, Array] = {}
        self._filled = 0  # unweighted rows in the tables
        self._merged = CellTable.empty(self.grid)  # sums that were added
        self._lock = Lock()  # several threads may add their batches

    def update(
        self, y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> Accumulator:
        """Add a batch of rows; a batch with a bad row is refused and changes nothing."""
        self.add_columns(as_columns(y_true, y_prob, sample_weight, self.pos_label))
        return self

    def add_columns(self, rows: Columns) -> None:
        """Check the rows and add them, or raise and change nothing."""
        weighted = rows.weight is not None
        n = len(rows)
        with self._lock:
            rule = f"{rows.names.label} must hold {self.pos_label!r} and one other label"
            other_label = _agreed_label(self._other_label, rows.other, rule)
            if not weighted and self._filled + n > _MAX_ROWS_IN_TABLE:
                self._merged = self.sums()
                self._tables.clear()
                self._filled = 0
            if weighted not in self._tables or n >= 2 * self.grid:
                # New tables cost little beside so many rows, and are dropped if a row is bad.
                fresh = scan_in_threads(rows, self.grid)
                into = self._tables.setdefault(weighted, fresh[0])
                for table in fresh:
                    if table is not into:
                        absorb(into, table)
            else:
                rows.check()
                scan(rows.prob, rows.outcome, rows.weight, self.grid, self._tables[weighted], 0, n)
            self._other_label = other_label
            self._seen += n
            if rows.weight is None:
                self._filled += n
                self.n += n
            else:
                self.n += int(np.count_nonzero(rows.weight))

    def sums(self) -> CellTable:
        """Return the sums of all rows so far."""
        cells = self._merged
        for table in self._tables.values():
            cells = cells.merge(CellTable.from_dense(self.grid, table))
        return cells

    def __add__(self, other: object) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        if self.pos_label != other.pos_label:
            raise InputError(
                "accumulators must have the same pos_label to be added; they have "
                f"{self.pos_label!r} and {other.pos_label!r}"
            )
        both = Accumulator(self.grid, pos_label=self.pos_label)
        rule = "accumulators must have the same other label to be added"
        both._other_label = _agreed_label(self._other_label, other._other_label, rule)
        cells, n = self._snapshot()
        other_cells, other_n = other._snapshot()
        both._merged = cells.merge(other_cells)
        both.n = n + other_n
        both._seen = both.n
        return both

    def __radd__(self, other: object) -> Accumulator:
        # the start value of `sum`
        return self if type(other) is int and other == 0 else NotImplemented

    def sample(self) -> Sample:
        """Return the compressed sample of all rows so far."""
        if not self._seen:
            raise InputError("the accumulator holds no rows yet")
        return Sample.from_cells(self._snapshot()[0])

    def _snapshot(self) -> tuple[CellTable, int]:
        """The sums so far, and the number of rows behind them."""
        with self._lock:
            return self.sums(), self.n

    def __getstate__(self) -> dict[str, Any]:
        cells, n = self._snapshot()
        return {
            "grid": self.grid,
            "pos_label": self.pos_label,
            "other": self._other_label,
            "n": n,
            "cells": cells,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Accumulator.__init__(self, state["grid"], pos_label=state["pos_label"])
        self._other_label = state["other"]
        self._merged = state["cells"]
        self.n = state["n"]
        self._seen = self.n

    def __repr__(self) -> str:
        return f"Accumulator(n={self.n}, grid={self.grid})"


def _agreed_label(first: Any, second: Any, rule: str) -> Any:
    """Return the label that is not None; refuse two different ones."""
    if first is None:
        return second
    if second is not None and first != second:
        raise InputError(f"{rule}; there are {first!r} and {second!r}")
    return first
