"""The losses of a sample on one grid: what the profile, the grid choice, the guarantee and the regret curve share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from rainproof.core._fixed_loss import worst_threshold
from rainproof.core.grid.rounded import RoundedSample
from rainproof.core.regret import RegretCurve, Swaps


@dataclass(frozen=True, eq=False)
class GridLoss:
    """A sample with its predictions rounded to one grid; each loss is computed once, when it is first asked for.

    Attributes
    ----------
    rounded : RoundedSample
    total : float
        The weight of all rows.
    """

    rounded: RoundedSample
    total: float
    _curves: dict[Swaps, RegretCurve] = field(default_factory=dict, repr=False)

    @cached_property
    def worst(self) -> tuple[float, int]:
        """The largest sum over the rows that a threshold ``i/m`` loses, and the first such i: SCDL_m times `total`."""
        rounded = self.rounded
        return worst_threshold(rounded.index, rounded.weight, rounded.positive, rounded.m)

    @property
    def bound(self) -> float:
        """The paper's bound on `loss`: ``2 SCDL_m + 2/m``, at most 1 (Theorem 4.2)."""
        return min(2 * self.worst[0] / self.total + 2 / self.rounded.m, 1.0)

    def curve(self, swaps: Swaps = "all") -> RegretCurve:
        """Return the regret curve of the rounded sample."""
        if swaps not in self._curves:
            self._curves[swaps] = RegretCurve.from_rounded(self.rounded, swaps)
        return self._curves[swaps]

    @property
    def loss(self) -> float:
        """CDL(S_m): the largest share of what is at stake that any decision loses on the rounded predictions."""
        return self.curve().loss
