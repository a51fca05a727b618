"""The kind of the values of a column: it has one from its first row to its last, over all batches
and files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rainproof.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT, _NUMBERS, _BOOLS, _TIMES = "text", "numbers", "true and false", "dates and times"
_OTHERS = "lists, objects or bytes"


def kind_of(kind: pa.DataType) -> str | None:
    """Return the kind of values of an Arrow type; None if there are none."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return None
    if str(kind) in ("string", "large_string", "string_view"):
        return _TEXT
    if pa.types.is_boolean(kind):
        return _BOOLS
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _NUMBERS
    return _TIMES if pa.types.is_temporal(kind) else _OTHERS


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
    return _TIMES if isinstance(value, date | time | timedelta) else _OTHERS


def as_text(value: Any) -> str | None:
    """Return a value as text, where others of its column are text: a number as it is shown, a date
    as 2026-03-02.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return str(value.date()) if value.time() == time() and value.tzinfo is None else str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return str(int(value))
    if isinstance(value, date | time | timedelta | Decimal):
        return str(value)
    return json.dumps(value, default=str, ensure_ascii=False)


class KindCheck:
    """Refuses a column that holds values of another kind in later batches, or in other files.

    Parameters
    ----------
    columns : sequence of str
        The columns whose values are labels, or are compared with others.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._known: dict[str, str] = {}

    def check(self, batch: pa.RecordBatch, row: int, source: str) -> None:
        """Check a batch that begins at a row of a source, whose name is empty where there is one
        source.
        """
        for name in self._columns:
            kind = kind_of(batch.schema.field(name).type)
            known = self._known.setdefault(name, kind) if kind is not None else kind
            if known != kind:
                raise _two_kinds(Place(name, row, source), known, kind)

    def check_labels(self, keys: Sequence[Sequence[Any]]) -> None:
        """Check labels of Python, of which a key has one for each column."""
        for at, name in enumerate(self._columns):
            kinds = sorted({kind for key in keys if (kind := kind_of_value(key[at])) is not None})
            if len(kinds) > 1:
                raise InputError(
                    f"{name} must hold values of one type; it holds {kinds[0]} and {kinds[1]}"
                )


def _two_kinds(place: Place, known: str | None, kind: str | None) -> InputError:
    """Return the error for a column that holds values of another kind from a place on."""
    rule = f"{place.column} must hold values of one type"
    return InputError(f"{rule}; it holds {known}, and {kind} from {place} on", place=place)


class Batches:
    """Makes record batches of Python values; each column has one kind, as long as they come from
    one source.

    Where text and other values stand in the first batch, or text comes first, all are text. Text
    that comes after a batch without it is refused, as that batch has been read already.

    Parameters
    ----------
    source : str
        The name of the source.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._rows = 0
        self._known: dict[str, str] = {}

    def batch(self, names: Sequence[str], columns: Sequence[list[Any]]) -> pa.RecordBatch:
        """Return the next rows."""
        import pyarrow as pa

        arrays = [self._array(name, values) for name, values in zip(names, columns, strict=True)]
        self._rows += len(arrays[0]) if arrays else 0
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    def _array(self, name: str, values: list[Any]) -> pa.Array:
        import pyarrow as pa

        known = self._known.get(name)
        array = _one_type(values)
        kind = _TEXT if array is None else kind_of(array.type)
        if kind is not None and known not in (None, kind, _TEXT):
            self._refuse(name, values, known)
        if kind is not None:
            self._known.setdefault(name, kind)
        if array is not None and (known != _TEXT or kind == _TEXT):
            return array
        return pa.array([as_text(value) for value in values], pa.string())

    def _refuse(self, name: str, values: list[Any], known: str | None) -> None:
        kinds = [kind_of_value(value) for value in values]
        others = [at for at, kind in enumerate(kinds) if kind not in (None, known)]
        first = others[0] if others else 0
        # too large, or with other entries
        kind = kinds[first] if others else f"{known} of another type"
        raise _two_kinds(Place(name, self._rows + first, self._source), known, kind)


def _one_type(values: list[Any]) -> pa.Array | None:
    """Return values as an Arrow array, or None if they are of several types."""
    import pyarrow as pa

    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None
    # Arrow takes a number among dates for a day, and of a time among dates the day alone.
    is_mixed = (
        pa.types.is_temporal(array.type)
        and len({type(value) for value in values if value is not None}) > 1
    )
    return None if is_mixed else array
