"""Labels of rows: tests for missing ones, and numbers for distinct ones."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Ints
from rainproof.errors import InputError

Key = tuple[Hashable, ...]
"""A segment: its label in each of the columns that define segments."""

Codes = tuple[Ints, Sequence[Hashable]]
"""A column of labels: a number for each row, and the label that each number stands for."""

_FEW_COMBINATIONS = 1 << 20  # up to here a table of all combinations is faster than sorting


def is_missing(value: Any) -> bool:
    """Whether a label is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)  # NaN and NaT differ from themselves
    except Exception:  # pandas.NA refuses to be a bool
        return True


def plain(value: Any) -> Any:
    """Return a NumPy scalar as the built-in type that it stands for, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def as_label(value: Any) -> Any:
    """Return a label as a built-in type; None if it is missing."""
    return None if is_missing(value) else plain(value)


def label_order(key: Any) -> tuple[Any, ...]:
    """Return a sort key for a label or a tuple of labels: types that cannot be compared stay apart, None is last."""
    labels = key if isinstance(key, tuple) else (key,)
    return tuple((v is None, "" if isinstance(v, bool | int | float) else type(v).__name__, v) for v in labels)


def code_labels(column: Iterable[Any]) -> Codes:
    """Number the distinct labels of a column in their order; missing ones share the label None, which is last."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "biufUS":
            values, codes = np.unique(column, return_inverse=True)
            return codes.reshape(-1), [as_label(value) for value in values.tolist()]
        if column.dtype.kind == "M" and np.datetime_data(column.dtype)[0] in ("ns", "ps", "fs", "as"):
            column = column.astype("M8[us]")  # finer ones convert to int only
    found: dict[Hashable, int] = {}
    try:
        codes = np.array([found.setdefault(as_label(value), len(found)) for value in column], np.int64)
        labels = sorted(found, key=label_order)
    except TypeError as error:  # a label that cannot be hashed, or two that have no order
        raise InputError(f"labels of groups and segments must be plain values; {error}") from error
    rank = np.empty(len(labels), np.int64)
    rank[[found[label] for label in labels]] = np.arange(len(labels))
    return rank[codes], labels


class SegmentIndex:
    """Numbers for segments, in the order in which they are first seen."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}

    @property
    def keys(self) -> list[Key]:
        """The segments in the order of their numbers."""
        return list(self._numbers)

    def number(self, keys: Iterable[Key]) -> Ints:
        """Return the number of each of these segments; new ones get the next numbers."""
        numbers = self._numbers
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)

    def number_rows(self, columns: Sequence[Codes], rows: int) -> Ints:
        """Return the number of each row's segment; without columns all rows are one segment, ``()``."""
        codes, labels = [code for code, _ in columns], [label for _, label in columns]
        combinations = math.prod(map(len, labels))
        if combinations > np.iinfo(np.int64).max:
            raise InputError("by has more combinations of labels than can be numbered: name fewer columns")
        combined = np.zeros(rows, np.int64)
        for code, label in zip(codes, labels, strict=True):
            combined = combined * len(label) + code
        if combinations <= max(_FEW_COMBINATIONS, rows):
            used = np.flatnonzero(np.bincount(combined, minlength=combinations))
            numbers = np.zeros(combinations, np.int64)
            numbers[used] = self.number(_keys(used, labels))
            result: Ints = numbers[combined]
            return result
        used, at = np.unique(combined, return_inverse=True)
        return self.number(_keys(used, labels))[at.reshape(-1)]


def _keys(used: Ints, labels: Sequence[Sequence[Hashable]]) -> Iterable[Key]:
    """Return the labels that numbered combinations stand for."""
    columns: list[list[Hashable]] = []
    for values in reversed(labels):
        used, at = np.divmod(used, len(values))
        columns.append([values[i] for i in at.tolist()])
    return zip(*reversed(columns), strict=True) if columns else [()] * len(used)


def as_labels(column: ArrayLike, name: str, n: int) -> NDArray[Any]:
    """Return one label for each row as an array; a list keeps labels of several types as they are."""
    labels = np.asarray(column)
    if labels.shape != (n,):
        raise InputError(f"{name} must hold one label for each of the {n:,} rows; its shape is {labels.shape}")
    if labels.dtype.kind in "US" and isinstance(column, list | tuple):  # NumPy would write numbers as text
        objects = np.empty(n, object)
        objects[:] = column
        return objects
    return labels


def rows_by_segment(by: ArrayLike | Mapping[str, ArrayLike], n: int) -> tuple[tuple[str, ...], dict[Any, Ints]]:
    """Return the names of the columns that define segments, and the rows of each segment.

    A segment is a label; with several columns, a tuple of labels.
    """
    if isinstance(by, Mapping) and not by:
        raise InputError("by must name at least one column")
    columns = {f"by[{name!r}]": column for name, column in by.items()} if isinstance(by, Mapping) else {"by": by}
    codes = [code_labels(as_labels(column, name, n)) for name, column in columns.items()]
    names = tuple(map(str, by)) if isinstance(by, Mapping) else ("segment",)
    return names, places_of_segments(codes, n)


def places_of_segments(columns: Sequence[Codes], n: int) -> dict[Any, Ints]:
    """Return the rows of each segment: a label, or with several columns a tuple of labels."""
    index = SegmentIndex()
    at = index.number_rows(columns, n)
    places = np.split(np.argsort(at, kind="stable"), np.cumsum(np.bincount(at))[:-1])
    keys = [key if len(key) > 1 else key[0] for key in index.keys]
    return dict(zip(keys, places, strict=n > 0))  # without rows there is one place, of none
