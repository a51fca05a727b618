"""How a task describes itself to whoever estimates its costs or writes about it.

What a task computes is in its class. Whoever wants to know what kind it is asks for its profile,
so that a new kind needs no change elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rainproof.core.arrays import Floats, read_only


class TaskProfile(NamedTuple):
    """What distinguishes decisions of one kind from those of another.

    Attributes
    ----------
    threshold : float or None
        The probability from which on to act, if there is one for all cases.
    per_case : bool
        Whether costs differ from case to case.
    actions : int
        How many actions are best at some probability; 0 where every number is an action.
    ranked : bool
        Whether a capacity is best used by the order of the probabilities alone.
    fixed : bool
        Whether what is done without a forecast is one fixed action of several, in place of always
        and never acting.
    """

    threshold: float | None = None
    per_case: bool = False
    actions: int = 0
    ranked: bool = False
    fixed: bool = False


def single_threshold(thresholds: tuple[float, ...]) -> float | None:
    """Return the threshold from which on to act, if it is the only one."""
    if len(thresholds) == 1:
        return thresholds[0]
    return None


class MatrixPayoffs:
    """What tasks with a matrix of payoffs, the same in every case, have in common."""

    __slots__ = ()
    payoffs: tuple[tuple[float, ...], ...]

    @property
    def matrix(self) -> Floats:
        """The payoffs as a read-only array, with a row for each action."""
        return read_only(np.array(self.payoffs))

    @property
    def scale(self) -> float:
        """What is at stake: the largest payoff minus the smallest, for the outcome where this is
        largest.
        """
        return float(np.ptp(self.matrix, axis=0).max())
