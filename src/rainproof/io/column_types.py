"""The kind of values in a column: one for the whole source, over all its batches and files."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rainproof.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa

MISSING_WORDS = frozenset(
    {
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "n/a",
        "nan",
        "null",
    }
)
"""What PyArrow takes for a missing value in text, beside nothing at all."""

# The kinds, as messages name them.
_TEXT = "text"
_NUMBERS = "numbers"
_BOOLS = "true and false"
_TIMES = "dates and times"
_OTHERS = "lists, objects or bytes"

_PRECISIONS = {  # by the names of Arrow
    "double": "numbers of double precision",
    "float": "numbers of single precision",
    "halffloat": "numbers of half precision",
}

MAX_EXACT_INTEGER = 1 << 53
"""A double has all integers up to this one: its significand has 53 bits (IEEE 754)."""


def is_text(arrow_type: pa.DataType) -> bool:
    """Whether an Arrow type is text."""
    return str(arrow_type) in ("string", "large_string", "string_view")


def kind_of_type(arrow_type: pa.DataType) -> str | None:
    """Return the kind of values of an Arrow type; None if there are none."""
    import pyarrow as pa

    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if pa.types.is_null(arrow_type):
        return None
    if is_text(arrow_type):
        return _TEXT
    if pa.types.is_boolean(arrow_type):
        return _BOOLS
    is_real = pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type)
    if is_real or pa.types.is_integer(arrow_type):
        return _NUMBERS
    if pa.types.is_temporal(arrow_type):
        return _TIMES
    return _OTHERS


def kind_of_labels(arrow_type: pa.DataType) -> str | None:
    """Return the kind of labels of an Arrow type; None if they equal the labels of every type.

    It is finer than the kind of values where labels of two types look alike and are not equal, so
    that one segment would be two: a day is not its midnight, and 0.1 of single precision is another
    number than 0.1 of double precision. Integers equal numbers of any type.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if pa.types.is_integer(arrow_type):
        return None
    if pa.types.is_floating(arrow_type):
        return _PRECISIONS[str(arrow_type)]
    if pa.types.is_decimal(arrow_type):
        return "decimal numbers"
    if pa.types.is_timestamp(arrow_type):
        return _TIMES if arrow_type.tz is None else f"{_TIMES} with a time zone"
    if pa.types.is_date(arrow_type):
        return "dates"
    if pa.types.is_time(arrow_type):
        return "times of day"
    if pa.types.is_duration(arrow_type):
        return "durations"
    return kind_of_type(arrow_type)


def kind_of_value(value: Any) -> str | None:
    """Return the kind of a value of Python; None if it is missing."""
    if value is None:
        return None
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, bool):
        return _BOOLS
    if isinstance(value, int | float | Decimal):
        return _NUMBERS
    if isinstance(value, date | time | timedelta):
        return _TIMES
    return _OTHERS


def as_text(value: Any) -> str | None:
    """Return a value as text, where others of its column are text.

    A number is written as it is shown, a day as 2026-03-02; NaN is missing.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime):
        is_day = value.time() == time() and value.tzinfo is None
        return str(value.date()) if is_day else str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_EXACT_INTEGER:
        return str(int(value))
    if isinstance(value, date | time | timedelta | Decimal):
        return str(value)
    return json.dumps(value, default=str, ensure_ascii=False)


def as_integers(values: list[Any]) -> list[Any]:
    """Return doubles as integers if all of them are whole; None stays None."""
    for value in values:
        if value is None:
            continue
        if not isinstance(value, float) or not value.is_integer():
            return values
        if abs(value) >= MAX_EXACT_INTEGER:
            return values
    return [None if value is None else int(value) for value in values]


class KindCheck:
    """Refuses a column whose values are of another kind in a later batch, or in another file.

    Parameters
    ----------
    columns : sequence of str
        The columns whose values are labels, or are compared with others.
    labels : sequence of str
        Those of them that have the labels of segments or groups.
    """

    def __init__(self, columns: Sequence[str], labels: Sequence[str] = ()) -> None:
        self._columns = columns
        self._labels = labels
        self._kinds: dict[str, str] = {}
        self._kinds_of_labels: dict[str, str] = {}

    def check(self, batch: pa.RecordBatch, first_row: int, source: str) -> None:
        """Check the next batch.

        Parameters
        ----------
        batch : RecordBatch
            The rows.
        first_row : int
            The number of its first row in the source.
        source : str
            The name of the source; empty where there is one source only.
        """
        for name in self._columns:
            kind = kind_of_type(batch.schema.field(name).type)
            self._check_kind(self._kinds, kind, Place(name, first_row, source))
        for name in self._labels:
            kind = kind_of_labels(batch.schema.field(name).type)
            self._check_kind(self._kinds_of_labels, kind, Place(name, first_row, source))

    def _check_kind(self, kinds: dict[str, str], kind: str | None, place: Place) -> None:
        """Refuse another kind than that of earlier batches."""
        if kind is None:
            return
        known = kinds.setdefault(place.column, kind)
        if known != kind:
            raise _another_kind(known, kind, place)


def check_kinds_of_labels(columns: Sequence[str], keys: Sequence[Sequence[Any]]) -> None:
    """Refuse labels of several kinds in one column; a key has a label for each column."""
    for number, name in enumerate(columns):
        kinds = {kind_of_value(key[number]) for key in keys}
        present = sorted(kind for kind in kinds if kind is not None)
        if len(present) > 1:
            both = f"{present[0]} and {present[1]}"
            raise InputError(f"{name} must hold values of one type; it holds {both}")


def _another_kind(known: str, kind: str, place: Place) -> InputError:
    """Return the error for a column that holds values of another kind from a place on."""
    rule = f"{place.column} must hold values of one type"
    return InputError(f"{rule}; it holds {known}, and {kind} from {place} on", place=place)


class BatchBuilder:
    """Makes record batches of Python values; each column is of one kind over all batches.

    Where a column of the first batch holds text and other values, all are read as text; also where
    text comes first and other values later. Text after a batch of other values is refused, as that
    batch has been read already.

    Parameters
    ----------
    source : str
        The name of the source.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._rows = 0
        self._kinds: dict[str, str] = {}

    def build(self, names: Sequence[str], columns: Sequence[list[Any]]) -> pa.RecordBatch:
        """Return the next rows."""
        import pyarrow as pa

        arrays = [self._array(name, values) for name, values in zip(names, columns, strict=True)]
        if arrays:
            self._rows += len(arrays[0])
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    def _array(self, name: str, values: list[Any]) -> pa.Array:
        import pyarrow as pa

        array = _array_of_one_type(values)
        kind = _TEXT if array is None else kind_of_type(array.type)
        known = self._kinds.get(name)
        # Earlier batches have been passed on, so their values cannot become text any more.
        if known is not None and known != _TEXT and kind not in (None, known):
            raise self._first_of_another_kind(name, values, known)
        if kind is not None:
            self._kinds.setdefault(name, kind)
        was_text = known == _TEXT and kind != _TEXT
        if array is None or was_text:
            return pa.array([as_text(value) for value in values], pa.string())
        return array

    def _first_of_another_kind(self, name: str, values: list[Any], known: str) -> InputError:
        for row, value in enumerate(values):
            kind = kind_of_value(value)
            if kind not in (None, known):
                return _another_kind(known, str(kind), self._place(name, row))
        # The kind of each value is known, but not its type: a number is too large for the type of
        # the others, or a list has entries of another type.
        return _another_kind(known, f"{known} of another type", self._place(name, 0))

    def _place(self, name: str, row: int) -> Place:
        return Place(name, self._rows + row, self._source)


def _array_of_one_type(values: list[Any]) -> pa.Array | None:
    """Return values as an Arrow array, or None if they are of several types."""
    import pyarrow as pa

    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None
    if pa.types.is_temporal(array.type):
        # Arrow takes a number among dates for a day, and of a time among dates only the day.
        types = {type(value) for value in values if value is not None}
        if len(types) > 1:
            return None
    return array
