"""Swaps of actions: what the best change of each action would have saved.

Every kind of task computes its swap regret with these; `swap_regrets` is what users call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.result import Result

if TYPE_CHECKING:
    from rainproof.decisions.class_tasks import ClassTask
    from rainproof.decisions.tasks import ListedTask

# Relative: what a swap saves is a difference, and rounding if it is below this share of its terms.
_ROUNDING = 8 * np.finfo(np.float64).eps

Per = Literal["action", "prediction"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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


BestSwaps = tuple[float, tuple[ActionSwap, ...]]
"""What the best replacements of all actions save together, as a share of what is at stake; and
those that save anything, the best first.
"""


def best_swaps(
    task: ListedTask | ClassTask,
    payoffs: Floats,
    mass: Floats,
    weight: Floats,
    total_weight: float,
    per: Per,
) -> BestSwaps:
    """Find the best replacement of each action.

    `mass` and `weight` have the shape (actions, groups, outcomes), by the action that was taken:
    what the payoffs (actions, outcomes) are multiplied with, and the weight of the rows. Per action
    there is one group. Per prediction there is one for each action: the predictions where it would
    have been best, so that each group has one replacement.
    """
    scale = task.scale
    change = payoffs[None] - payoffs[:, None]  # by action taken, replacement and outcome
    # Shares, not weights: heavy rows times large payoffs would be too large for a double.
    terms = (mass / total_weight) * change
    saved = terms.sum(axis=2)
    worthwhile = saved > _ROUNDING * np.abs(terms).sum(axis=2)
    if per == "action":
        # An action has one replacement everywhere: the best of those that save anything.
        best = np.arange(len(payoffs)) == saved.argmax(axis=1)[:, None]
        worthwhile &= best
    swaps = []
    for taken, replacement in np.argwhere(worthwhile).tolist():
        group = 0 if per == "action" else replacement
        in_units = float(saved[taken, replacement])
        swap_weight = float(weight[taken, group].sum())
        swap = ActionSwap(
            action=task.actions[taken],
            replacement=task.actions[replacement],
            saves=in_units / scale,
            in_units=in_units,
            weight=swap_weight,
            share=swap_weight / total_weight,
        )
        swaps.append(swap)
    swaps.sort(key=lambda swap: -swap.saves)
    return math.fsum(swap.saves for swap in swaps), tuple(swaps)
