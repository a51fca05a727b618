"""Which cases to act on where not all can be."""

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import validation
from rainproof.core.piecewise import checked_probabilities
from rainproof.core.result import Result
from rainproof.decisions._rounding import (
    key_of,
    uniforms,
)
from rainproof.decisions.ids import as_ids, check_seed, explain_ids, names
from rainproof.decisions.tasks import (
    DecisionTask,
    as_two_actions,
    check_task,
    expected_gain,
)
from rainproof.errors import InputError


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
    """Decide each case on its probability as it is, where at most `capacity` of them can be acted
    on.

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
    >>> task = rainproof.DecisionTask.from_costs(false_positive=5, false_negative=[20, 100, 500, 40])
    >>> found = rainproof.decisions.decide([0.9, 0.3, 0.05, 0.1], task, ids=[1, 2, 3, 4], capacity=2)
    >>> found.action.tolist(), found.wanted, round(found.one_more, 2)
    (['wait', 'act', 'act', 'wait'], 3, 17.5)
    """
    two = as_two_actions(check_task(task), "decide")
    task._check_aligned(("p", p), ("ids", ids))
    prob = checked_probabilities(p).astype(np.float64)
    acts = two.best_index(prob) == two.order[-1]
    one_more, wanted = 0.0, int(acts.sum())
    if capacity is not None:
        most = places(capacity, len(prob))
        if ids is None:
            raise InputError(
                "ids is missing: with a capacity, a lottery by id decides between equal gains"
            )
        named = as_ids(ids)
        validation.check_same_length("p", prob, "ids", named)
        words = names(named)
        if words is None:
            raise cast("InputError", explain_ids(named))
        gain, some = expected_gain(two, prob), np.flatnonzero(acts)
        # Not the numbers by which a policy of this seed rounds: those rounded up have low ones.
        draw = uniforms(words, key_of(check_seed(seed) ^ _LOTTERY))
        line = some[np.lexsort((draw[some], -gain[some]))]
        acts[line[most:]] = False
        one_more = float(gain[line[most]]) if wanted > most else 0.0
    action = np.array(two.actions)[np.where(acts, two.order[-1], two.order[0])]
    return Selection(action=action, wanted=wanted, acted=int(acts.sum()), one_more=one_more)


def places(capacity: float, n: int) -> int:
    """The number of n cases that a capacity, a share below 1 or a number, allows to act on."""
    most = validation.check_capacity(capacity)
    return int(most if most >= 1 else most * n + _ROUNDING * n)


_LOTTERY = 2**64 - 1  # which changes every bit of a seed
_ROUNDING = 1e-12  # shares of cases within this count as equal
