"""Which cases to act on if there is no capacity for all: those with the largest expected gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.alignment import check_same_length
from rainproof.core.arrays import Floats
from rainproof.core.piecewise import checked_probabilities
from rainproof.core.result import Result
from rainproof.core.validation import check_capacity
from rainproof.decisions._rounding import key_of, uniforms
from rainproof.decisions.ids import as_ids, check_seed, explain_ids, id_numbers
from rainproof.decisions.tasks import DecisionTask, as_two_actions, check_task, expected_gain
from rainproof.errors import InputError

# A share of the cases: 0.29 of 100 is 28.999999999999996 in doubles, and means 29.
_SHARE_ROUNDING = 1e-12
_EVERY_BIT = 2**64 - 1  # of a seed


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Selection(Result):
    """Which cases to act on where not all can be.

    Attributes
    ----------
    action : ndarray of str
        The action of each case.
    wanted : int
        The number of cases that would be acted on without a limit.
    acted : int
        The number of cases that are acted on.
    one_more : float
        What acting on one more case would gain, in the units of the task, if its probability is
        right: the first one that is left out. 0 if there is none.
    """

    action: NDArray[Any]
    wanted: int
    acted: int
    one_more: float


def decide(
    p: ArrayLike,
    task: DecisionTask,
    ids: ArrayLike | None = None,
    *,
    capacity: float | None = None,
    seed: int = 0,
) -> Selection:
    """Decide each case on its original probability; at most `capacity` of them can be acted on.

    Acted on are the cases with the largest expected gain of the second action over the first; for a
    task from costs ``p * false_negative - (1 - p) * false_positive``. Cases where the first action
    is best are never among them: with enough capacity this is ``task.best_response(p)``. A lottery
    decides between equal gains.

    Explained in docs/guide/capacity.md.

    Parameters
    ----------
    p : array_like of shape (n,)
        Probabilities, in [0, 1]: all cases that compete for the capacity, such as those of a day.
    task : DecisionTask
        The decision, with two actions; its costs may be those of each case.
    ids : array_like of shape (n,), optional
        The id of each case: integers or text, as for `RoundingPolicy`. Required with `capacity`:
        the lottery draws a number from id and seed, so it does not depend on the order of the
        cases.
    capacity : int or float, optional
        The number of cases that can be acted on, or their share, below 1 (default: all).
    seed : int
        From 0 to 2**64 - 1. Another seed draws the lottery anew.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import rainproof
    >>> misses = [20, 100, 500, 40]
    >>> task = rainproof.DecisionTask.from_costs(false_positive=5, false_negative=misses)
    >>> p, ids = [0.9, 0.3, 0.05, 0.1], [1, 2, 3, 4]
    >>> selection = rainproof.decisions.decide(p, task, ids, capacity=2)
    >>> selection.action.tolist(), selection.wanted, round(selection.one_more, 2)
    (['wait', 'act', 'act', 'wait'], 3, 17.5)
    """
    two_actions = as_two_actions(check_task(task), "decide")
    task.check_aligned(("p", p), ("ids", ids))
    prob = checked_probabilities(p).astype(np.float64)
    first, second = two_actions.order
    # Without a limit this is the best response.
    acts = two_actions.best_index(prob) == second
    wanted = int(acts.sum())
    one_more = 0.0
    if capacity is not None:
        allowed = allowed_cases(capacity, len(prob))
        if ids is None:
            raise InputError(
                "ids is missing: with a capacity, a lottery by id decides between equal gains"
            )
        gain = expected_gain(two_actions, prob)
        lottery = _draws(ids, prob, seed)
        # The largest gain comes first, and of equal gains the lowest draw. The lottery keeps the
        # order of the rows, which may have a meaning, out of the decision.
        candidates = np.flatnonzero(acts)
        queue = candidates[np.lexsort((lottery[candidates], -gain[candidates]))]
        acts[queue[allowed:]] = False
        if wanted > allowed:  # else no case is left out
            one_more = float(gain[queue[allowed]])
    action = np.array(two_actions.actions)[np.where(acts, second, first)]
    return Selection(action=action, wanted=wanted, acted=int(acts.sum()), one_more=one_more)


def allowed_cases(capacity: float, n: int) -> int:
    """Return how many of n cases can be acted on; a capacity below 1 is a share of them."""
    limit = check_capacity(capacity)
    if limit >= 1:
        return int(limit)
    return int(limit * n + _SHARE_ROUNDING * n)


def _draws(ids: ArrayLike, prob: Floats, seed: int) -> Floats:
    """Return the number that each case draws in the lottery, in [0, 1): the lowest are acted on."""
    array = as_ids(ids)
    check_same_length("p", prob, "ids", array)
    numbers = id_numbers(array)
    if numbers is None:
        error = explain_ids(array)
        assert error is not None
        raise error
    # A policy with this seed rounds by other numbers: those that it rounds up draw low ones.
    return uniforms(numbers, key_of(check_seed(seed) ^ _EVERY_BIT))
