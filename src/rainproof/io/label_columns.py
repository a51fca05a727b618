"""Columns of labels: the outcome with its event, segments and groups."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from rainproof.core.arrays import Ints
from rainproof.core.columns import ColumnNames
from rainproof.core.labels import Codes, Key, as_label, number_rows
from rainproof.core.validation import refuse_misspelt_event
from rainproof.errors import InputError
from rainproof.io.arrow_arrays import Array, array_of_one, as_numpy, decoded
from rainproof.io.column_types import is_text
from rainproof.io.text_numbers import TRUE_AND_FALSE

_PLAIN_NUMBER = r"^-?(0|[1-9]\d*)(\.\d+)?$"  # 01 is a label, not the number 1
# Of a label to the one that was asked for, as difflib measures it: one letter of four may differ.
_MIN_SIMILARITY = 0.75


class EventColumn:
    """A column of two labels of any type, read as 1 for the event and 0 for the other.

    Parameters
    ----------
    name : str
        The name of the column.
    pos_label : object
        The label of the event. Text is converted to the type of the column, for the command line.
    parse : bool
        Whether the column is from a text file. There text as `pos_label` is compared as text,
        without the spaces around it; a number or a bool also matches text such as 1.0 or true.

    Attributes
    ----------
    others : list
        The labels besides the event that were seen; all but the first are refused.
    """

    def __init__(self, name: str, *, pos_label: Any, parse: bool) -> None:
        self.name = name
        self.others: list[Any] = []
        self._pos_label = pos_label
        self._parse = parse
        self._first_other: Any = None  # as it is written in the source
        self._event_occurs = False

    def read(self, values: pa.Array, names: ColumnNames) -> tuple[Array, InputError | None]:
        """Return the outcomes of rows with one of the two labels, and what is wrong with the
        others.

        `values` has no nulls.
        """
        event_label = self._event_label(values.type)
        # Distinct labels are few: each is compared once, and rows are looked up by its number.
        codes, written = encode_labels(values, self.name)
        labels = [self._meaning(label) for label in written]
        is_event = np.array([label == event_label for label in labels], np.bool_)[codes]
        self._event_occurs |= bool(is_event.any())
        if not self.others and not is_event.all():
            # The first label that is not the event is the other one, for all batches.
            code = codes[np.argmin(is_event)]
            self.others.append(labels[code])
            self._first_other = written[code]
        allowed_other = self.others[:1]
        is_other = np.array([label in allowed_other for label in labels], np.bool_)[codes]
        is_further = ~(is_event | is_other)
        error = None
        if is_further.any():
            first = int(np.argmax(is_further))
            self.others.append(labels[codes[first]])
            further = written[codes[first]]
            error = InputError.from_offenders(
                f"{self.name} must hold {self._pos_label!r} and one other label "
                f"({self._first_other!r})",
                int(is_further.sum()),
                names.at(self.name, first),
                repr(further),
                labels=(self._first_other, further),
            )
        return is_event[~is_further].view(np.uint8), error

    def check_event(self) -> None:
        """Refuse, after all rows, a column without the event whose one label is nearly the event's.

        Nearly: it differs in capitals or spaces only.
        """
        if not self._event_occurs:
            refuse_misspelt_event(self.name, self._pos_label, self._first_other)

    def _event_label(self, arrow_type: pa.DataType) -> Any:
        """Return the label of the event as a value of the column."""
        try:
            label = array_of_one(self._pos_label).cast(arrow_type)[0].as_py()
        except pa.ArrowException:
            raise InputError(
                f"pos_label must be a label of {self.name}, which holds values of type "
                f"{arrow_type}; it is {self._pos_label!r}"
            ) from None
        return self._meaning(label)

    def _meaning(self, label: Any) -> Any:
        """Return what a label of a text file is compared as: text, or a number."""
        if not self._parse or not isinstance(label, str):
            return label
        text = label.strip()
        if isinstance(self._pos_label, str):
            return text
        text = TRUE_AND_FALSE.get(text.lower(), text)
        return float(text) if re.match(_PLAIN_NUMBER, text) else text


def suggest_label(pos_label: Any, labels: Iterable[Any]) -> str:
    """Return the question whether a similar label was meant, as the end of a message; empty if
    there is none.
    """
    by_plain_text = {label.strip().casefold(): label for label in labels if isinstance(label, str)}
    wanted = str(pos_label).strip().casefold()
    close = difflib.get_close_matches(wanted, by_plain_text, n=1, cutoff=_MIN_SIMILARITY)
    if not close:
        return ""
    return f"; did you mean {by_plain_text[close[0]]!r}?"


def encode_labels(values: pa.Array, name: str) -> tuple[Ints, list[Any]]:
    """Return the number of each row's label, and the labels.

    Values that cannot be labels are refused.
    """
    # Some types have no equality, and some dates Python does not have.
    with suppress(pa.ArrowException, OverflowError):
        codes = values.dictionary_encode(null_encoding="encode")
        return as_numpy(codes.indices), codes.dictionary.to_pylist()
    raise _no_labels(name, values.type)


def segment_labels(column: pa.Array, name: str) -> Codes:
    """Return a column of segments or groups as numbers and labels; null and NaN are None."""
    column = decoded(column)
    arrow_type = column.type
    if pa.types.is_timestamp(arrow_type):  # nanoseconds would become a type of pandas
        column = column.cast(pa.timestamp("us", arrow_type.tz), safe=False)
    elif is_text(arrow_type) or pa.types.is_null(arrow_type):
        column = column.cast(pa.large_string())
    elif pa.types.is_nested(arrow_type) or "binary" in str(arrow_type):
        raise _no_labels(name, arrow_type)
    codes, labels = encode_labels(column, name)
    return codes, [as_label(label) for label in labels]


def segment_numbers(known: dict[Key, int], columns: Sequence[str], batch: pa.RecordBatch) -> Ints:
    """Return the number of each row's segment, or group: the same labels in these columns have the
    same.

    New segments get the next numbers in `known`.
    """
    codes = [segment_labels(batch.column(name), name) for name in columns]
    return number_rows(known, codes, batch.num_rows)


def as_segment(key: Key) -> Any:
    """Return the name of a segment: its label, or with several columns the tuple of labels."""
    return key if len(key) > 1 else key[0]


def _no_labels(name: str, arrow_type: pa.DataType) -> InputError:
    rule = f"{name} must hold labels, which are text, numbers or dates"
    return InputError(f"{rule}; it holds values of type {arrow_type}")
