"""What `switch_guarantee` needs to know of rows, or of a compressed sample of two forecasts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.grid.cell_accumulator import sum_cells
from rainproof.core.input.rows import ColumnNames, as_rows, refuse_reordered
from rainproof.core.sample.paired import PairedSample
from rainproof.decisions.switch_curve import SwitchCurve
from rainproof.errors import InputError
from rainproof.inference.clusters import numbered_groups
from rainproof.inference.switch_gain import PairDraws

_GRID = 1 << 10  # of the thresholds among which half of the rows chooses a task


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Checked rows of positive weight; weights are None if all are 1. With counts, each stands for so many rows."""

    event: NDArray[np.bool_]
    old: Floats
    new: Floats
    weight: Floats | None
    group: Ints | None
    counts: Ints | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.event) if self.counts is None else int(self.counts.sum())

    def by_group(self) -> Floats | None:
        """The weight of each group; None without groups."""
        return None if self.group is None else np.bincount(self.group, self.weight).astype(np.float64)

    def sizes(self) -> tuple[int, float]:
        """The number of independent draws, and the number of equal weight that allow the same Hoeffding bound."""
        each = self.weight if self.group is None else self.by_group()
        if each is None:
            return self.n, float(self.n)
        return len(each), min(float(each.sum() ** 2 / (each @ each)), float(len(each)))

    def curve(self) -> SwitchCurve:
        """The loss by the switch at each threshold."""
        if self.counts is not None:
            curve = SwitchCurve._from_rows(self.event, self.old, self.new, self.counts.astype(np.float64))
            return replace(curve, squares=None)
        together = self.by_group()
        group_weight = None if together is None else together[self.group]
        return SwitchCurve._from_rows(self.event, self.old, self.new, self.weight, group_weight)

    def draws(self) -> PairDraws:
        """The rows on the grid of thresholds that `gain_at_least` chooses from."""
        old, new = ((_GRID * p).astype(np.int32) for p in (self.old, self.new))
        weight = self.weight if self.counts is None else self.counts.astype(np.float64)
        weight = np.ones(len(old)) if weight is None else weight
        counts = self.counts is not None
        return PairDraws(m=_GRID, old=old, new=new, event=self.event, weight=weight, group=self.group, counts=counts)


@dataclass(frozen=True, slots=True, eq=False)
class PairedCells:
    """The same of a compressed sample: about thresholds on its grid."""

    sample: PairedSample

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.sample.n

    def sizes(self) -> tuple[int, float]:
        """As for `Pairs`."""
        n, (_, weight, squares) = self.n, self.sample._sums()
        return n, n if self.sample._has_equal_weights() else min(float(weight.sum() ** 2 / squares.sum()), float(n))

    def curve(self) -> SwitchCurve:
        """As for `Pairs`."""
        (old, new, event), (_, weight, squares) = self.sample._cells(), self.sample._sums()
        unequal = None if self.sample._has_equal_weights() else squares
        return SwitchCurve._from_cells(old, new, event, weight, self.sample.grid, unequal)

    def draws(self) -> PairDraws | None:
        """As for `Pairs`; None if weights are not equal, as such rows cannot be split into halves."""
        if not self.sample._has_equal_weights():
            return None
        (old, new, event), (count, *_) = self.sample._cells(), self.sample._sums()
        weight = count.astype(np.float64)
        return PairDraws(m=self.sample.grid, old=old, new=new, event=event, weight=weight, counts=True)


def read_pairs(
    y_true: ArrayLike,
    p_old: ArrayLike,
    p_new: ArrayLike,
    sample_weight: ArrayLike | None,
    pos_label: Any,
    groups: ArrayLike | None,
) -> Pairs:
    """Check the rows of both forecasts, each under its own name, and leave out those of weight zero."""
    columns = []
    refuse_reordered("p_old", p_old, "p_new", p_new)
    for name, prob in (("p_old", p_old), ("p_new", p_new)):
        refuse_reordered(name, prob, "groups", groups)
        read = as_rows(y_true, prob, sample_weight, pos_label, names=ColumnNames(prob=name))
        sum_cells(read, 2)  # which refuses bad values
        columns.append(read)
    old, new = (np.ascontiguousarray(read.prob, np.float64) for read in columns)
    event, weight = np.ascontiguousarray(columns[0].label == 1), columns[0].weight
    group = None if groups is None else numbered_groups(groups, len(event))
    if weight is not None:
        some = weight > 0
        if not some.any():
            raise InputError("sample_weight must not be zero for every row")
        # By a power of two, so that squares of weights neither vanish nor overflow.
        weight = np.ldexp(weight.astype(np.float64), -math.frexp(float(weight.max()))[1])
        if not some.all():
            event, old, new, weight = event[some], old[some], new[some], weight[some]
            group = None if group is None else np.unique(group[some], return_inverse=True)[1].reshape(-1)
    return Pairs(event, old, new, weight, group)
