"""Payoffs and names of actions: what is checked of them, and where which action is best."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.core.validation import (
    as_numbers,
    refuse_masked,
)
from rainproof.errors import InputError

# by how much another action may beat the chosen one, as a share of what is at stake
_TOLERANCE = 1e-9


def upper_envelope(matrix: Floats) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the actions that are best somewhere, from low probabilities to high, and the
    thresholds between them.

    Actions are added by increasing payoff with the event; one leaves the envelope if the next is no
    worse without the event, or overtakes the one before it no later. Of equal actions the first is
    kept. O(k log k).
    """
    low: list[float] = matrix[:, 0].tolist()
    high: list[float] = matrix[:, 1].tolist()

    def takes_over(a: int, b: int) -> float:
        return (low[a] - low[b]) / ((low[a] - low[b]) + (high[b] - high[a]))

    order: list[int] = []
    for b in sorted(range(len(low)), key=lambda a: (high[a], low[a], -a)):
        while order and low[order[-1]] <= low[b]:
            order.pop()
        while len(order) > 1 and takes_over(order[-2], b) <= takes_over(order[-2], order[-1]):
            order.pop()
        order.append(b)
    # rounding might reverse two of them
    thresholds = accumulate((takes_over(a, b) for a, b in pairwise(order)), max)
    return tuple(order), tuple(thresholds)


def check_envelope(matrix: Floats, order: Sequence[int], thresholds: Sequence[float]) -> None:
    """Check that order and thresholds are the best response to these payoffs."""
    places = [0.0, *thresholds, 1.0]
    fit = all(type(a) is int and 0 <= a < len(matrix) for a in order) and all(
        map(is_number, thresholds)
    )
    if not fit or len(places) != len(order) + 1 or not all(a <= b for a, b in pairwise(places)):
        raise InputError(
            f"thresholds must increase in [0, 1], one less than the actions in order; they are {list(thresholds)} "
            f"for {list(order)}"
        )
    best, changes = upper_envelope(matrix)
    at, tolerance = np.array(places), _TOLERANCE * np.ptp(matrix, axis=0).max()
    # payoffs are linear: what is not better at the ends of a piece is not better inside
    for mu in (at[:-1], at[1:]):
        rival = np.array(best)[np.searchsorted(changes, mu, "right")]
        gap = matrix[rival] - matrix[list(order)]
        better = (1 - mu) * gap[:, 0] + mu * gap[:, 1]
        piece = int(better.argmax())
        if better[piece] > tolerance:
            at_worst = f"at {mu[piece]:.6g} action {rival[piece]} beats action {order[piece]}"
            raise InputError(f"thresholds must be where the payoffs cross; {at_worst}")


def is_number(x: Any) -> bool:
    """Return whether x is a real number that a double can hold, and not a bool."""
    if isinstance(x, bool) or not isinstance(x, int | float | np.integer | np.floating):
        return False
    return not isinstance(x, int) or abs(x) <= sys.float_info.max


def check_names(actions: Sequence[str], count: int) -> tuple[str, ...]:
    """Check the names of this many actions, all different, and return them."""
    names = () if isinstance(actions, str) or not isinstance(actions, Iterable) else tuple(actions)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InputError(f"actions must be a list of names; it is {actions!r}")
    # Arrays and files would change them.
    strange = [name for name in names if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in name)]
    if strange:
        raise InputError(
            f"actions must have names that UTF-8 can encode, without NUL; {strange[0]!r} is not one"
        )
    if len(names) != count:
        raise InputError(f"actions must name each of the {count} actions; it has {len(names)}")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"actions must have different names; {twice[0]!r} occurs twice")
    return tuple(map(str, names))


def check_matrix(payoffs: ArrayLike, name: str = "payoffs", *, classes: bool = False) -> Floats:
    """Check a pair of payoffs for each of at least two actions, not all equal, and return them as
    an array.

    With `classes` there may be more than two payoffs of each, one for each class.
    """
    rule = f"{name} must have shape (actions, 2): without the event and with it"
    if classes:
        rule = f"{name} must have shape (actions, classes): for each action a number for each class, of one event two"
    refuse_masked(payoffs, name)
    try:
        matrix = as_numbers(payoffs, name).copy()
    except InputError:
        raise InputError(f"{rule}; rows differ in length, or a value is no finite number") from None
    if matrix.ndim != 2 or matrix.shape[1] < 2 or (matrix.shape[1] > 2 and not classes):
        raise InputError(f"{rule}; it is {matrix.shape}")
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        a, y = bad[0].tolist()
        raise InputError.from_offenders(
            f"{name} must be finite", len(bad), f"{name}[{a}][{y}]", matrix[a, y]
        )
    if len(matrix) < 2:
        raise InputError(f"{name} must have at least two actions; there is {len(matrix)}")
    with np.errstate(over="ignore"):
        spread = np.ptp(matrix, axis=0)
        total = spread.sum()
    if total == 0:
        raise InputError(f"{name} must differ between actions: nothing is at stake")
    if np.isinf(total):
        raise InputError(f"{name} must differ by less than the largest double: rescale them")
    return matrix


def action_index(actions: tuple[str, ...], action: Any) -> NDArray[np.intp]:
    """Return the index of each of these actions, which are given by name."""
    names = np.asarray(action, dtype=object)
    for name in names.ravel():
        if name not in actions:
            raise InputError(
                f"action must be one of {', '.join(map(repr, actions))}; it is {name!r}"
            )
    return np.array([actions.index(name) for name in names.ravel()], np.intp).reshape(names.shape)
