"""The difference of two forecasts at each decision threshold: what switching from one to the other loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, Frozen, freeze
from rainproof.core.input.rows import check_probabilities
from rainproof.core.regret import Chord, ends_of_chord
from rainproof.core.threads import run_in_threads
from rainproof.decisions._switch import heights, keys, merge, sum_cells

Keys = NDArray[np.uint64]

_ROWS_PER_THREAD = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class SwitchCurve(Frozen):
    r"""The loss of switching from an old forecast to a new one, at each threshold. Call it with thresholds.

    :math:`D(\mu) = E[(y - \mu)(1\{p_{old} > \mu\} - 1\{p_{new} > \mu\})]`. It is linear on each of the pieces
    ``[edges[k], edges[k + 1])``, where the same rows are on different sides of the threshold.

    Attributes
    ----------
    edges : ndarray of shape (k + 1,)
        0, the distinct predictions of both forecasts on rows where they differ, and 1; or a grid of thresholds.
    only : ndarray of shape (4, k)
        The share of the weight of rows on which one forecast alone says to act, in each piece: the old one (without
        the event, with it), the new one (without the event, with it).
    squares : ndarray of shape (4, k) or None
        The same for the sums of squared shares, where weights are not equal or rows come in groups (then of the share
        of a row times that of its group).
    closed : bool
        Whether predictions are known by their cells alone. Then the curve is exact at the edges, for whoever acts from
        the threshold on; between them it is that of predictions rounded down to an edge.
    """

    edges: Floats
    only: Floats
    squares: Floats | None = None
    closed: bool = False

    def __post_init__(self) -> None:
        freeze(self.edges, self.only)
        if self.squares is not None:
            freeze(self.squares)

    @classmethod
    def _from_rows(
        cls,
        event: NDArray[np.bool_],
        old: Floats,
        new: Floats,
        weight: Floats | None = None,
        group_weight: Floats | None = None,
    ) -> SwitchCurve:
        """Make it from rows: outcomes, predictions, weights (default: 1), weights of their groups. O(n log n)."""
        sides = keys(event.view(np.uint8), old, new)
        if weight is None and group_weight is None:
            return cls(*merge(*_in_order(sides, None), float(len(event))))
        weight = np.ones(len(event)) if weight is None else weight
        each = np.stack([weight, weight * (weight if group_weight is None else group_weight)], axis=1)[old != new]
        return cls(*merge(*_in_order(sides, each), float(weight.sum())))

    @classmethod
    def _from_cells(
        cls,
        old: NDArray[np.int32],
        new: NDArray[np.int32],
        event: NDArray[np.bool_],
        weight: Floats,
        m: int,
        squares: Floats | None = None,
    ) -> SwitchCurve:
        """Make it from the cells ``floor(m p)`` of both predictions: exact at the thresholds ``k/m``. O(n + m)."""
        total, outcome = float(weight.sum()), event.view(np.uint8)
        only = sum_cells(old, new, outcome, weight, m) / total
        squared = None if squares is None else sum_cells(old, new, outcome, squares, m) / total**2
        return cls(np.arange(m + 1) / m, only, squared, closed=True)

    def __call__(self, threshold: ArrayLike) -> Any:
        """Return the loss by the switch for thresholds in [0, 1], if whoever acts does so from the threshold on."""
        mu = check_probabilities(threshold, "threshold")
        piece = np.maximum(np.searchsorted(self.edges, mu, "left") - 1, 0)
        loss = _line(self.only[:, piece], mu)
        return np.where(mu > 0, loss, 0.0)[()]  # from 0 on everybody acts on both

    def limits(self) -> Floats:
        """Return the curve at the start and at the end of each piece."""
        return _line(self.only, self._ends())

    def standard_error(self, effective_n: float) -> Floats:
        """Estimate the standard error of the curve at the start and at the end of each piece.

        It is from the squares of ``v_i (z_i - D)``, with v the share of a row and z its loss; for groups, whose rows
        may all depend on each other, from their upper bound.
        """
        mu, squares = self._ends(), self.only / effective_n if self.squares is None else self.squares
        second = (squares[1] + squares[3]) * (1 - mu) ** 2 + (squares[0] + squares[2]) * mu**2
        mean = self.limits()
        error: Floats = np.sqrt(np.maximum(second - 2 * mean * _line(squares, mu) + mean**2 / effective_n, 0.0))
        return error

    def _ends(self) -> Floats:
        return np.stack([self.edges[:-1], self.edges[1:]])

    def chord(self, charge: float = 0.0, *, by_square: bool = False, back: bool = False) -> Chord:
        """Return the task that loses most by the switch (`back`: by switching back), as a mixture of two thresholds.

        With `charge`, losses count more and gains less: by so many times the share of the rows, or their squared share.
        """
        squares = self.squares if by_square else None
        value = heights(self.edges, self.only, squares, charge, back, self.closed)
        a, b, share = ends_of_chord(self.edges, value)
        return Chord(
            mu_a=float(self.edges[a]),
            mu_b=float(self.edges[b]),
            share=share,
            regret_a=float(value[a]),
            regret_b=float(value[b]),
            above_a=self._acts_at(a, back),
            above_b=self._acts_at(b, back),
        )

    def _acts_at(self, edge: int, back: bool) -> bool:
        """Whether the loss at an edge is the larger one if predictions equal to it act."""
        if self.closed:
            return True
        mu, last = self.edges[edge], len(self.edges) - 1
        left = float(_line(self.only[:, edge - 1], mu)) if edge > 0 else 0.0
        right = float(_line(self.only[:, edge], mu)) if edge < last else 0.0
        return left <= right if back else left >= right


def _in_order(sides: tuple[Keys, Keys], each: Floats | None) -> tuple[Keys, Keys, Floats | None, Floats | None]:
    """Sort the places where rows begin and those where they cease to differ, with what each row adds."""
    found: list[tuple[Keys, Floats | None]] = [(side, None) for side in sides]

    def work(part: int) -> bool:
        side = sides[part]
        if each is None:
            side.sort()  # which is faster than an order
        else:
            order = np.argsort(side)
            found[part] = side[order], each[order]
        return True

    if len(sides[0]) < _ROWS_PER_THREAD:
        all(map(work, (0, 1)))
    else:
        run_in_threads(work, 2)
    return found[0][0], found[1][0], found[0][1], found[1][1]


def _line(only: Floats, mu: Any) -> Floats:
    """The loss of rows on one side only: missed events and further false alarms, less those that are avoided."""
    loss: Floats = (only[1] - only[3]) * (1 - mu) + (only[2] - only[0]) * mu
    return loss
