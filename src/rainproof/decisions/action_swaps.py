"""Swaps of actions: what the best change of each action would have saved.

Every kind of task computes its swap regret with these; `swap_regrets` is what users call.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.result import Result

if TYPE_CHECKING:
    from rainproof.decisions.class_tasks import ClassTask
    from rainproof.decisions.tasks import ListedTask


# a gain below this share of the terms it is the difference of is rounding
_ROUNDING = 8 * np.finfo(np.float64).eps


Per = Literal["action", "prediction"]


class ActionSwap(Result):
    """One change of actions: wherever `action` was taken, take `replacement`.

    Attributes
    ----------
    action, replacement : str (float for a quadratic task)
        The action taken, and the better one.
    saves : float
        What the swap saves per row, over all rows, as a share of what is at stake.
    in_units : float
        The same in the units of the payoffs.
    weight : float
        The weight of the rows with this action: their number, where rows have no weights (the
        expected number, if the response is random).
    share : float
        The same as a share of the weight of all rows.
    """

    action: Any
    replacement: Any
    saves: float
    in_units: float
    weight: float
    share: float


def best_swaps(
    task: ListedTask | ClassTask,
    payoffs: Floats,
    mass: Floats,
    weight: Floats,
    total: float,
    per: Per,
) -> tuple[float, tuple[ActionSwap, ...]]:
    """Find the best replacement of each action, or of each group: those that save anything, and
    what they save.

    `mass` is by action taken, group and outcome, for the payoffs to be multiplied with; `weight` is
    that of the rows.
    """
    scale = task.scale
    change = payoffs[None] - payoffs[:, None]  # from action a to action b, by outcome
    # Shares, not weights: heavy rows times large payoffs would be too large for a double.
    terms = (mass / total) * change
    gain = terms.sum(axis=2)
    real = gain > _ROUNDING * np.abs(terms).sum(axis=2)
    # Per action the best of all; per prediction a group is that of the action best there.
    pairs = (
        enumerate(gain.argmax(axis=1).tolist())
        if per == "action"
        else zip(*np.nonzero(real), strict=True)
    )
    found = []
    for a, b in pairs:
        if real[a, b]:
            saved, rows = float(gain[a, b]), float(weight[a, 0 if per == "action" else b].sum())
            swap = ActionSwap(
                action=task.actions[a],
                replacement=task.actions[b],
                saves=saved / scale,
                in_units=saved,
                weight=rows,
                share=rows / total,
            )
            found.append(swap)
    swaps = tuple(sorted(found, key=lambda swap: -swap.saves))
    return math.fsum(swap.saves for swap in swaps), swaps
