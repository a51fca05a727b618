r"""What decisions lose at each threshold by a switch from one forecast to another.

It is the curve of `rainproof.core.curve` for two forecasts of the same cases, of which neither need
be a function of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core._switch import heights, keys, merge, sum_cells
from rainproof.core.arrays import Bools, Floats, Frozen, run_in_threads, sums_by
from rainproof.core.cells import CellTable
from rainproof.core.curve import Chord, envelope
from rainproof.core.units import Units
from rainproof.core.validation import ThresholdRange, check_probabilities

Keys = NDArray[np.uint64]

_ROWS_PER_THREAD = 1 << 16  # from here on sorting both sides at once is quicker


@dataclass(frozen=True, slots=True, eq=False)
class SwitchCurve(Frozen):
    r"""The loss of switching from an old forecast to a new one, at each threshold. Call it with
    thresholds.

    .. math:: D(\mu) = E[(y - \mu)(1\{p_{old} > \mu\} - 1\{p_{new} > \mu\})]

    It is linear on each of the pieces ``[edges[k], edges[k + 1])``, where the same rows are on
    different sides of the threshold.

    Attributes
    ----------
    edges : ndarray of shape (k + 1,)
        0, the distinct predictions of both forecasts on rows where they differ, and 1; or a grid of
        thresholds.
    only : ndarray of shape (4, k)
        The share of the weight of rows on which one forecast alone says to act, in each piece: the
        old one (without the event, with it), the new one (without the event, with it).
    squares : ndarray of shape (4, k) or None
        The same for the sums of squared shares, where weights are not equal or rows come in groups
        (then of the share of a row times that of its group).
    closed : bool
        Whether predictions are known by their cells alone. Then the curve is exact at the edges,
        for whoever acts from the threshold on. Between them whoever acts does so from the edge
        below on, as round predictions are often equal to the threshold.
    within : ThresholdRange or None
        The decisions that it is of, if not of all: it is 0 elsewhere. If it is `closed`, the ends
        are edges.
    """

    edges: Floats
    only: Floats
    squares: Floats | None = None
    closed: bool = False
    within: ThresholdRange | None = None

    @classmethod
    def of_cases(cls, units: Units, old: Floats, new: Floats) -> SwitchCurve:
        """Make it of the predictions of both forecasts for each entry. O(n log n)."""
        event = units.event
        weight = units.entries.weight
        unit = units.unit
        if units.counts is not None and units.design.strata is None:
            # entries of many cases that weigh alike: `squares` would be of entries
            curve = cls._from_rows(event, old, new, units.counts.astype(np.float64))
            return replace(curve, squares=None)
        if weight is not None:
            # By a power of two, so that squares of weights neither vanish nor overflow.
            largest = math.frexp(float(weight.max()))[1]
            weight = np.ldexp(weight.astype(np.float64), -largest)
            counted = weight > 0
            if not counted.all():
                event = event[counted]
                old = old[counted]
                new = new[counted]
                weight = weight[counted]
                unit = None if unit is None else unit[counted]
        unit_weight = None
        if unit is not None:  # rows of a unit may all depend on each other: bound their variance
            unit_weight = sums_by(unit, weight)[unit]
        return cls._from_rows(event, old, new, weight, unit_weight)

    @classmethod
    def of_pairs(cls, cells: CellTable) -> SwitchCurve:
        """Make it of the sums of compressed cases by pairs of cells ``floor(m p)``: exact at the
        thresholds ``k/m``. O(n + m).
        """
        old, new = cells.pair_cells()
        outcome = cells.event.view(np.uint8)
        weight = cells.weight[0]
        total = float(weight.sum())
        squares = None
        if not cells.has_equal_weights:
            squares = sum_cells(old, new, outcome, cells.squares, cells.m) / total**2
        return cls(
            edges=np.arange(cells.m + 1) / cells.m,
            only=sum_cells(old, new, outcome, weight, cells.m) / total,
            squares=squares,
            closed=True,
        )

    @classmethod
    def _from_rows(
        cls,
        event: Bools,
        old: Floats,
        new: Floats,
        weight: Floats | None = None,
        group_weight: Floats | None = None,
    ) -> SwitchCurve:
        """Make it from rows: outcomes, predictions, weights (default: 1), weights of their groups.
        O(n log n).
        """
        sides = keys(event.view(np.uint8), old, new)
        total = float(len(event))
        added = None  # by each row that the forecasts tell apart: its weight, and a square
        if weight is not None or group_weight is not None:
            weight = np.ones(len(event)) if weight is None else weight
            squares = weight * (weight if group_weight is None else group_weight)
            added = np.stack([weight, squares], axis=1)[old != new]
            total = float(weight.sum())
        ordered: list[tuple[Keys, Floats | None]] = [(side, added) for side in sides]

        def sort(part: int) -> bool:
            ordered[part] = _in_order(*ordered[part])
            return True

        if len(sides[0]) < _ROWS_PER_THREAD:  # starting a thread would cost more
            sort(0)
            sort(1)
        else:
            run_in_threads(sort, 2)
        (start, opened), (end, closed) = ordered
        return cls(*merge(start, end, opened, closed, total))

    def restricted(self, within: ThresholdRange | None) -> SwitchCurve:
        """The curve of decisions with a threshold in the range, if need be a little wider, up to
        the next edges.

        A row whose prediction is an end of the range acts there: the first piece begins at the
        double below it.
        """
        if within is None:
            return self
        edges = self.edges
        low, high = within
        if self.closed:
            low = edges[np.searchsorted(edges, low, "right") - 1]
            high = edges[np.searchsorted(edges, high)]
            inside = (edges[1:] >= low) & (edges[1:] <= high)
            piece = np.arange(len(inside))
        else:
            # whoever has the lower end as the threshold acts on predictions that are equal to it
            first = np.nextafter(low, 0.0)
            between = edges[(edges > first) & (edges < high)]
            start = np.unique(np.concatenate([[0.0, first, high], between]))
            start = start[start < 1]
            inside = (start >= first) & (start < high)
            piece = np.searchsorted(edges, start, "right") - 1
            edges = np.append(start, 1.0)

        def part(shares: Floats) -> Floats:
            return np.ascontiguousarray(shares[:, piece] * inside)

        squares = None if self.squares is None else part(self.squares)
        widened = ThresholdRange(float(low), float(high))
        return SwitchCurve(edges, part(self.only), squares, self.closed, widened)

    def __call__(self, threshold: ArrayLike) -> Any:
        """Return the loss by the switch at thresholds in its range, if whoever acts does so from
        the threshold on.
        """
        mu = check_probabilities(threshold, "threshold", self.within)
        first_acted = mu
        if self.closed:
            first_acted = self.edges[np.searchsorted(self.edges, mu, "right") - 1]
        piece = np.maximum(np.searchsorted(self.edges, first_acted, "left") - 1, 0)
        loss = _line(self.only[:, piece], mu)
        return np.where(first_acted > 0, loss, 0.0)[()]  # from 0 on both act on every row

    def limits(self) -> Floats:
        """Return the curve at the start and at the end of each piece."""
        return _line(self.only, self._ends())

    def standard_error(self, effective_n: float) -> Floats:
        """Estimate the standard error of the curve at the start and at the end of each piece.

        It is from the squares of ``v_i (z_i - D)``, with v the share of a row and z its loss; for
        groups, whose rows may all depend on each other, from their upper bound.
        """
        mu = self._ends()
        squares = self.only / effective_n if self.squares is None else self.squares
        second = (squares[1] + squares[3]) * (1 - mu) ** 2 + (squares[0] + squares[2]) * mu**2
        mean = self.limits()
        variance = second - 2 * mean * _line(squares, mu) + mean**2 / effective_n
        error: Floats = np.sqrt(np.maximum(variance, 0.0))  # rounding can make it negative
        return error

    def _ends(self) -> Floats:
        return np.stack([self.edges[:-1], self.edges[1:]])

    def chord(
        self, charge: float | Floats = 0.0, *, by_square: bool = False, back: bool = False
    ) -> Chord:
        """Return the task that loses most by the switch (`back`: by switching back), as a mixture
        of two thresholds.

        With `charge`, losses count more and gains less: by so many times the share of the rows, or
        their squared share; an array has the charge for rows without the event and for those with
        it.
        """
        squares = self.squares if by_square else None
        if isinstance(charge, np.ndarray):
            # the kernel knows one charge: rows of either outcome bring theirs as "squares"
            squares = self.only * np.tile(charge, 2)[:, None]
            charge = 1.0
        value = heights(self.edges, self.only, squares, charge, back, self.closed)
        return envelope(self.edges, value, lambda edge: self._acts_at(edge, back))

    def _acts_at(self, edge: int, back: bool) -> bool:
        """Whether the loss at an edge is the larger one if predictions equal to it act."""
        if self.closed:
            return True
        mu = self.edges[edge]
        left = 0.0
        right = 0.0
        if edge > 0:
            left = float(_line(self.only[:, edge - 1], mu))
        if edge < len(self.edges) - 1:
            right = float(_line(self.only[:, edge], mu))
        return left <= right if back else left >= right


def _in_order(side: Keys, added: Floats | None) -> tuple[Keys, Floats | None]:
    """Sort the places where rows begin, or cease, to differ, with what each row adds."""
    if added is None:
        side.sort()  # which is faster than an order
        return side, None
    order = np.argsort(side)
    return side[order], added[order]


def _line(only: Floats, mu: Any) -> Floats:
    """The loss of rows on one side only: missed events and further false alarms, less those that
    are avoided.
    """
    loss: Floats = (only[1] - only[3]) * (1 - mu) + (only[2] - only[0]) * mu
    return loss
