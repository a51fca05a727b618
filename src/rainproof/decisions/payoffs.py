"""Payoffs and names of actions: what is checked of them, and which action is best where.

A matrix has a row for each action, and its payoff without the event and with it (or in each of
several classes). What a decision does with them is in `tasks`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.core.conversion import as_numbers, is_number, refuse_masked
from rainproof.errors import InputError

# Share of what is at stake by which another action may beat the one that thresholds choose: far
# above the rounding of a threshold, far below any payoff that matters.
_ENVELOPE_TOLERANCE = 1e-9
_UNSAFE = re.compile("[\0\ud800-\udfff]")  # arrays end text at NUL, files cannot hold surrogates


def upper_envelope(matrix: Floats) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the actions that are best somewhere, from low probabilities to high, and the
    thresholds between them.

    Actions are added by increasing payoff with the event; one leaves the envelope if the next is no
    worse without the event, or overtakes the one before it no later. Of equal actions the first is
    kept. O(k log k).
    """
    without_event: list[float] = matrix[:, 0].tolist()
    with_event: list[float] = matrix[:, 1].tolist()

    def crossing(lower: int, upper: int) -> float:
        """Return the probability from which the upper action is as good as the lower one."""
        # Neither is negative, so that the threshold lies in [0, 1] whatever is rounded.
        loss = without_event[lower] - without_event[upper]
        gain = with_event[upper] - with_event[lower]
        return loss / (loss + gain)

    def rank(action: int) -> tuple[float, float, int]:
        return with_event[action], without_event[action], -action

    order: list[int] = []
    for action in sorted(range(len(matrix)), key=rank):
        # No worse with either outcome: the last one is best nowhere.
        while order and without_event[order[-1]] <= without_event[action]:
            order.pop()
        # Takes over no later than the last one would: the last one is best nowhere.
        while len(order) > 1 and crossing(order[-2], action) <= crossing(order[-2], order[-1]):
            order.pop()
        order.append(action)
    crossings = [crossing(lower, upper) for lower, upper in pairwise(order)]
    thresholds = accumulate(crossings, max)  # rounding might reverse two of them
    return tuple(order), tuple(thresholds)


def check_envelope(matrix: Floats, order: Sequence[int], thresholds: Sequence[float]) -> None:
    """Check that order and thresholds are the best response to these payoffs."""
    ends = [0.0, *thresholds, 1.0]
    are_actions = all(type(action) is int and 0 <= action < len(matrix) for action in order)
    are_numbers = all(is_number(threshold) for threshold in thresholds)
    is_valid = are_actions and are_numbers and len(order) == len(thresholds) + 1
    if not is_valid or not all(low <= high for low, high in pairwise(ends)):
        raise InputError(
            "thresholds must increase in [0, 1], one less than the actions in order; "
            f"they are {list(thresholds)} for {list(order)}"
        )
    best, best_thresholds = upper_envelope(matrix)
    tolerance = _ENVELOPE_TOLERANCE * np.ptp(matrix, axis=0).max()
    # An action is chosen between two thresholds. Payoffs are linear in the probability: another
    # action that is not better at either end is not better between them.
    for mu in (np.array(ends[:-1]), np.array(ends[1:])):
        rival = np.array(best)[np.searchsorted(best_thresholds, mu, "right")]
        without_event, with_event = (matrix[rival] - matrix[list(order)]).T
        gain = (1 - mu) * without_event + mu * with_event
        worst = int(gain.argmax())
        if gain[worst] > tolerance:
            rivals = f"at {mu[worst]:.6g} action {rival[worst]} beats action {order[worst]}"
            raise InputError(f"thresholds must be where the payoffs cross; {rivals}")


def check_names(actions: Sequence[str], count: int) -> tuple[str, ...]:
    """Check the names of this many actions, all different, and return them."""
    names: tuple[str, ...] = ()
    if isinstance(actions, Iterable) and not isinstance(actions, str):
        names = tuple(actions)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InputError(f"actions must be a list of names; it is {actions!r}")
    unsafe = [name for name in names if _UNSAFE.search(name)]
    if unsafe:
        raise InputError(
            f"actions must have names that UTF-8 can encode, without NUL; {unsafe[0]!r} is not one"
        )
    if len(names) != count:
        raise InputError(f"actions must name each of the {count} actions; it has {len(names)}")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"actions must have different names; {twice[0]!r} occurs twice")
    return tuple(str(name) for name in names)


def check_matrix(payoffs: ArrayLike, name: str = "payoffs", *, classes: bool = False) -> Floats:
    """Check a pair of payoffs for each of at least two actions, not all equal, and return them as
    an array.

    With `classes` there may be more than two payoffs of each, one for each class.
    """
    if classes:
        rule = (
            f"{name} must have shape (actions, classes): for each action a number for each class, "
            "of one event two"
        )
    else:
        rule = f"{name} must have shape (actions, 2): without the event and with it"
    refuse_masked(payoffs, name)
    try:
        matrix = as_numbers(payoffs, name).copy()
    except InputError:
        raise InputError(f"{rule}; rows differ in length, or a value is no finite number") from None
    if matrix.ndim != 2 or matrix.shape[1] < 2 or (matrix.shape[1] > 2 and not classes):
        raise InputError(f"{rule}; it is {matrix.shape}")
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        action, outcome = bad[0].tolist()
        raise InputError.from_offenders(
            f"{name} must be finite",
            len(bad),
            f"{name}[{action}][{outcome}]",
            matrix[action, outcome],
        )
    if len(matrix) < 2:
        raise InputError(f"{name} must have at least two actions; there is {len(matrix)}")
    # What is at stake with either outcome: later sums of it must be doubles too.
    with np.errstate(over="ignore"):
        total_stake = np.ptp(matrix, axis=0).sum()
    if total_stake == 0:
        raise InputError(f"{name} must differ between actions: nothing is at stake")
    if np.isinf(total_stake):
        raise InputError(f"{name} must differ by less than the largest double: rescale them")
    return matrix


def action_index(actions: tuple[str, ...], action: Any) -> NDArray[np.intp]:
    """Return the index of each of these actions, which are given by name."""
    names = np.asarray(action, dtype=object)
    unknown = [name for name in names.ravel() if name not in actions]
    if unknown:
        known = ", ".join(map(repr, actions))
        raise InputError(f"action must be one of {known}; it is {unknown[0]!r}")
    index = [actions.index(name) for name in names.ravel()]
    return np.array(index, np.intp).reshape(names.shape)


def action_names(actions: tuple[str, ...], index: NDArray[np.intp]) -> Any:
    """Return the names of actions by their index; of a single index, the name itself."""
    return actions[int(index)] if index.ndim == 0 else np.array(actions)[index]


def as_rows(matrix: Floats) -> Any:
    """Return a matrix of payoffs as a task stores it: a tuple for each action."""
    return tuple(tuple(row) for row in matrix.tolist())
