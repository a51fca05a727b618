"""Labels of groups, segments and classes: what they say, their order, and their numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Array, Ints
from rainproof.core.conversion import as_array, one_column
from rainproof.core.rows import SegmentColumn
from rainproof.errors import InputError, Place

Key = tuple[Hashable, ...]
"""A segment: its label in each of the columns that define segments."""

Codes = tuple[Ints, Sequence[Hashable]]
"""A column of labels: a number for each row, and the label that each number stands for."""

_TABLE_ENTRIES = 1 << 20  # combinations of labels up to which a table is faster than sorting
_SPELLINGS_OF_BOOLS = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}
_TYPES_THAT_NUMPY_SORTS = "biufUS"  # bools, integers, doubles and text
_UNITS_BELOW_MICROSECONDS = ("ns", "ps", "fs", "as")


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


def spelled(label: Any) -> str | None:
    """Return what a label says, whatever its type: 1, 1.0 and "1" are the same, and so are True,
    "True" and "true".

    True is not 1; "01" and "1.50" are text. None is a missing label.
    """
    label = as_label(label)
    if label is None:
        return None
    # databases give numbers as decimals, with zeros at the end
    text = str(float(label) if isinstance(label, Decimal) else label)
    try:
        number = float(text)
    except ValueError:
        return _SPELLINGS_OF_BOOLS.get(text, text)
    is_whole = text == repr(number) and number.is_integer()
    return str(int(number)) if is_whole else text


def spelled_key(key: Any) -> tuple[str | None, ...]:
    """Return what the label of a segment says, or each of several labels."""
    return tuple(spelled(label) for label in as_tuple(key))


def as_tuple(key: Any) -> tuple[Any, ...]:
    """Return the labels of a segment, of one column or of several."""
    return key if isinstance(key, tuple) else (key,)


def is_plain_label(label: Any) -> bool:
    """Whether a label is text, a finite number, a bool or None: what JSON and SQL have."""
    if isinstance(label, float):
        return math.isfinite(label)
    return label is None or isinstance(label, str | bool | int)


def check_label(label: Any, where: str) -> None:
    """Refuse a label that other programs would not understand."""
    if not is_plain_label(label):
        raise InputError(
            f"segments must be text, finite numbers, bools or None {where}; one is {label!r}"
        )


def label_order(key: Any) -> tuple[Any, ...]:
    """Return a sort key for a label or a tuple of labels: types that cannot be compared stay apart,
    None is last.
    """
    order = []
    for label in as_tuple(key):
        type_name = "" if isinstance(label, bool | int | float) else type(label).__name__
        order.append((label is None, type_name, label))
    return tuple(order)


def code_labels(column: Iterable[Any]) -> Codes:
    """Number the distinct labels of a column in their order; missing ones share the label None,
    which is last.
    """
    if isinstance(column, np.ndarray):
        if column.dtype.kind in _TYPES_THAT_NUMPY_SORTS:
            values, codes = np.unique(column, return_inverse=True)
            return codes.reshape(-1), [as_label(value) for value in values.tolist()]
        is_date = column.dtype.kind == "M"
        if is_date and np.datetime_data(column.dtype)[0] in _UNITS_BELOW_MICROSECONDS:
            column = column.astype("M8[us]")  # finer ones convert to int only
    number: dict[Hashable, int] = {}
    try:
        numbers = [number.setdefault(as_label(value), len(number)) for value in column]
        codes = np.array(numbers, np.int64)
        labels, rank = _in_order(list(number))
    except TypeError as error:  # a label that cannot be hashed, or two that have no order
        raise InputError(f"labels of groups and segments must be plain values; {error}") from error
    _refuse_bools_beside_numbers(column, number)
    return rank[codes], labels


def _in_order(labels: Sequence[Any]) -> tuple[list[Any], Ints]:
    """Return labels in their order, and the place of each there."""
    order = sorted(range(len(labels)), key=lambda place: label_order(labels[place]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return [labels[place] for place in order], rank


def _refuse_bools_beside_numbers(column: Iterable[Any], labels: Iterable[Hashable]) -> None:
    """Refuse True beside 1, and False beside 0: they are equal, but do not say the same."""
    if not {0, 1} & set(labels):
        return
    are_bools = set()
    for value in column:
        label = plain(value)
        if isinstance(label, bool | int | float) and label in (0, 1):
            are_bools.add(isinstance(label, bool))
    if len(are_bools) > 1:
        raise InputError(
            "labels of groups and segments must not mix bools with 0 and 1: write them as text"
        )


def number_segments(known: dict[Key, int], keys: Iterable[Key]) -> Ints:
    """Return the number of each of these segments among those that are known; new ones get the next
    numbers.
    """
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def number_rows(known: dict[Key, int], columns: Sequence[Codes], rows: int) -> Ints:
    """Return the number of each row's segment; without columns all rows are one segment, ``()``."""
    if not columns:
        keys: list[Key] = [()] if rows else []
        return np.repeat(number_segments(known, keys), rows)
    combinations = math.prod(len(labels) for _, labels in columns)
    if combinations > np.iinfo(np.int64).max:
        raise InputError(
            "by has more combinations of labels than can be numbered: name fewer columns"
        )
    # one number for each combination: digits in the bases of the columns' labels
    combined = np.zeros(rows, np.int64)
    for codes, labels in columns:
        combined = combined * len(labels) + codes
    if combinations <= max(_TABLE_ENTRIES, rows):
        occurring = np.flatnonzero(np.bincount(combined, minlength=combinations))
        place = np.zeros(combinations, np.int64)
        place[occurring] = np.arange(len(occurring))
        of_row = place[combined]
    else:
        occurring, of_row = np.unique(combined, return_inverse=True)
    numbers: Ints = number_segments(known, _keys(occurring, columns))[of_row.reshape(-1)]
    return numbers


def _keys(combined: Ints, columns: Sequence[Codes]) -> Iterable[Key]:
    """Return the labels of combinations, which are numbers in the base of the columns' labels."""
    labels_by_column: list[list[Hashable]] = []
    for _, labels in reversed(columns):
        combined, code = np.divmod(combined, len(labels))
        labels_by_column.append([labels[k] for k in code.tolist()])
    return zip(*reversed(labels_by_column), strict=True)


def as_labels(column: ArrayLike, name: str, n: int) -> Array:
    """Return one label for each row as an array."""
    labels = one_column(as_array(column, name))
    if labels.shape != (n,):
        raise InputError(
            f"{name} must hold one label for each of the {n:,} rows; its shape is {labels.shape}"
        )
    return labels


def named_columns(by: Any) -> list[tuple[str, Any]]:
    """Return the columns of segments, with the names that messages use."""
    if isinstance(by, Mapping):
        return [(f"by[{name!r}]", column) for name, column in by.items()]
    return [("by", by)]


def segment_column(by: ArrayLike | Mapping[str, ArrayLike], n: int) -> SegmentColumn:
    """Return the segment of each row: a label, or with several columns a tuple of labels."""
    if isinstance(by, Mapping) and not by:
        raise InputError("by must name at least one column")
    codes = [code_labels(as_labels(column, name, n)) for name, column in named_columns(by)]
    names = tuple(str(name) for name in by) if isinstance(by, Mapping) else ("segment",)
    return numbered_segments(names, codes, n)


def numbered_segments(by: tuple[str, ...], columns: Sequence[Codes], n: int) -> SegmentColumn:
    """Return the segment of each row, given its labels in the columns `by` by their numbers."""
    known: dict[Key, int] = {}
    number = number_rows(known, columns, n)
    return SegmentColumn(by, tuple(single(key) for key in known), number)


def named_segments(
    segment: SegmentColumn, by: Sequence[str], labels: Sequence[Any]
) -> SegmentColumn:
    """Return segments whose labels are numbers so far with the labels that these stand for."""
    unsorted = [labels[number] for number in segment.labels]
    in_order, rank = _in_order(unsorted)
    return SegmentColumn(tuple(by), tuple(in_order), rank[segment.number])


def single(key: Key) -> Any:
    """Return the label of a segment of one column; of several columns the tuple of labels."""
    return key if len(key) > 1 else key[0]


def numbered_groups(groups: ArrayLike, n: int) -> Ints:
    """Return the number of each row's group, from 0 on."""
    array = one_column(as_array(groups, "groups"))
    if array.shape != (n,):
        raise InputError(
            f"groups must have one entry for each of the {n:,} rows; its shape is {array.shape}"
        )
    numbers, labels = code_labels(array)
    if labels and labels[-1] is None:  # missing labels are last
        is_none = numbers == len(labels) - 1
        first = Place("groups", int(is_none.argmax()))
        rule = "groups must not contain missing values"
        raise InputError.from_offenders(rule, int(is_none.sum()), first, missing=True)
    return numbers
