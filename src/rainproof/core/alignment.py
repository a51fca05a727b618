"""Alignment: columns that a caller passes side by side belong to the same rows.

Rows are paired by position. So columns of different length are refused, and pandas objects whose
indexes say that their rows are not the same.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from rainproof.core.arrays import Array
from rainproof.errors import InputError


def check_same_length(name: str, values: Array, other: str, others: Array) -> None:
    """Refuse two columns of different length."""
    if len(values) != len(others):
        raise InputError(
            f"{name} and {other} must have the same length; they have {len(values):,} and "
            f"{len(others):,}"
        )


def check_aligned(*columns: tuple[str, Any]) -> None:
    """Refuse pandas objects, given with their names, whose rows have different labels.

    That is, the same labels in another order, or two indexes that differ and of which neither is
    the default one.
    """
    indexed: list[tuple[str, Any]] = []
    for name, column in columns:
        index = getattr(column, "index", None)  # lists have a method of this name
        if hasattr(index, "equals"):
            indexed.append((name, index))
    for (name, index), (other, other_index) in combinations(indexed, 2):
        if index.equals(other_index):
            continue
        # a default index says nothing of the rows: it may have been reset
        is_reordered = _is_reordered(index, other_index)
        if is_reordered or not (_is_default(index) or _is_default(other_index)):
            difference = "the same index in another order" if is_reordered else "different indexes"
            raise InputError(
                f"{name} and {other} have {difference}: align them first, "
                f"or pass {other}.to_numpy() to pair rows by position"
            )


def _is_reordered(index: Any, other: Any) -> bool:
    """Whether two indexes hold the same labels, in whatever order."""
    if len(index) != len(other):
        return False
    try:
        return bool(index.sort_values().equals(other.sort_values()))
    except TypeError:  # labels that cannot be sorted
        return False


def _is_default(index: Any) -> bool:
    return getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1
