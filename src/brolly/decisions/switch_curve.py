"""The difference of two forecasts at each decision threshold: what switching from one to the other loses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brolly.core._regret import bridge
from brolly.core.arrays import Floats, Frozen, freeze
from brolly.core.regret import Chord


@dataclass(frozen=True, slots=True, eq=False)
class SwitchCurve(Frozen):
    r"""The loss of switching from an old forecast to a new one, at each threshold.

    :math:`D(\mu) = E[(y - \mu)(1\{p_{old} > \mu\} - 1\{p_{new} > \mu\})]`. It is linear on each of the pieces
    ``[edges[k], edges[k + 1])``, where the same rows are on different sides of the threshold.

    Attributes
    ----------
    edges : ndarray of shape (k + 1,)
        0, the distinct predictions of both forecasts on rows where they differ, and 1.
    only_old, only_new : ndarray of shape (2, k)
        The share of the weight that acts on one forecast alone in each piece: without the event, with it.
    """

    edges: Floats
    only_old: Floats
    only_new: Floats

    def __post_init__(self) -> None:
        freeze(self.edges, self.only_old, self.only_new)

    @classmethod
    def from_rows(cls, event: NDArray[np.bool_], old: Floats, new: Floats, share: Floats) -> SwitchCurve:
        """From the outcomes, both predictions and the share of the weight of each row. O(n log n)."""
        differ = old != new
        event, old, new, share = event[differ], old[differ], new[differ], share[differ]
        places = np.concatenate([[0.0], np.minimum(old, new), np.maximum(old, new), [1.0]])
        order = np.argsort(places)
        ordered = places[order]
        first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        at = np.empty(len(places), np.intp)
        at[order] = np.cumsum(first) - 1
        starts, ends = at[1 : 1 + len(old)], at[1 + len(old) : -1]
        edges = ordered[first]
        only = np.empty((4, len(edges) - 1))
        kind = 2 * (old < new) + event
        for k in range(4):
            rows = kind == k
            begins = np.bincount(starts[rows], share[rows], len(edges))
            only[k] = np.cumsum(begins - np.bincount(ends[rows], share[rows], len(edges)))[:-1]
        return cls(edges, np.maximum(only[:2], 0.0), np.maximum(only[2:], 0.0))

    def reversed(self) -> SwitchCurve:
        """The curve of switching back."""
        return SwitchCurve(self.edges, self.only_new, self.only_old)

    def limits(self, losses: tuple[Floats, Floats] | None = None, gains: tuple[Floats, Floats] | None = None) -> Floats:
        """The curve at the start and at the end of each piece, with other weights for rows that lose or gain.

        `losses` weigh rows that the switch harms (an event that only the old forecast acts on, a false alarm of the new
        one), `gains` those that it helps; both as ``(only_old, only_new)``.
        """
        (lost_old, lost_new) = losses or (self.only_old, self.only_new)
        (won_old, won_new) = gains or (self.only_old, self.only_new)
        mu = np.stack([self.edges[:-1], self.edges[1:]])
        both: Floats = (lost_old[1] - won_new[1]) * (1 - mu) + (lost_new[0] - won_old[0]) * mu
        return both

    def chord(self, limits: Floats | None = None) -> Chord:
        """The task that loses most by the switch, as a mixture of two thresholds."""
        start, end = self.limits() if limits is None else limits
        right, left = np.append(start, 0.0), np.insert(end, 0, 0.0)
        value = np.maximum(np.maximum(left, right), 0.0)
        a, b = bridge(self.edges, value)
        share = 1.0 if a == b else float((self.edges[b] - 0.5) / (self.edges[b] - self.edges[a]))
        return Chord(
            mu_a=float(self.edges[a]),
            mu_b=float(self.edges[b]),
            share=share,
            regret_a=float(value[a]),
            regret_b=float(value[b]),
            above_a=bool(left[a] >= right[a]),
            above_b=bool(left[b] >= right[b]),
        )

    def variance(self) -> Floats:
        """The second moment of what a row loses, at the start and at the end of each piece."""
        mu = np.stack([self.edges[:-1], self.edges[1:]])
        either: Floats = self.only_old + self.only_new
        found: Floats = either[1] * (1 - mu) ** 2 + either[0] * mu**2
        return found
