"""Columns of probabilities, outcomes and amounts: what is read as a number, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Literal

import numpy as np
import pyarrow as pa

from rainproof.core.columns import ColumnNames
from rainproof.core.validation import no_outcome
from rainproof.errors import InputError
from rainproof.io.arrow_arrays import Array, as_mask, as_numpy
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.column_types import is_text
from rainproof.io.text_numbers import (
    NUMBER,
    TRUE_AND_FALSE,
    numbers_of_words,
    replace_words,
    to_doubles,
    with_decimal_points,
)

_SHOWN_TEXTS = 3  # examples in an error message: two labels, and that there are more


class NumberColumn:
    """A column of numbers, or in a text file of text that is read as numbers.

    Parameters
    ----------
    name : str
        The name of the column.
    holds : {"probabilities", "outcomes", "amounts"}
        Outcomes may also be true or false, as text. Amounts may be large: text such as 1,234 is
        refused, as its comma may mark thousands.
    parse : bool
        Whether text is read as numbers, as in a CSV file.
    percent : bool
        Whether values are in percent.
    words : mapping, optional
        The numbers of words in the column, as text.

    Attributes
    ----------
    largest_percent : float
        The largest value that was read in percent; 0 where none is.

    Notes
    -----
    Text with a decimal comma or a percent sign is read too: ``59,2%`` is 0.592. Capitals and spaces
    around a word do not matter.
    """

    def __init__(
        self,
        name: str,
        holds: Literal["probabilities", "outcomes", "amounts"],
        *,
        parse: bool,
        percent: bool = False,
        words: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.largest_percent = 0.0
        self._holds = holds
        self._parse = parse
        self._percent = percent
        self._words = words or {}

    def read(self, values: pa.Array, names: ColumnNames) -> tuple[Array, InputError | None]:
        """Return the values that can be read, and what is wrong with the others.

        `values` has no nulls. What later rows cannot change, such as a column of dates, is raised
        at once.
        """
        array, error = self._numbers(values, names)
        if not self._percent:
            return array, error
        self.largest_percent = max(self.largest_percent, array.max(initial=0.0))
        return array / 100, error

    def _numbers(self, values: pa.Array, names: ColumnNames) -> tuple[Array, InputError | None]:
        arrow_type = values.type
        if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type):
            return as_numpy(values), None
        if pa.types.is_boolean(arrow_type):
            return as_numpy(values.cast(pa.uint8())), None
        if pa.types.is_decimal(arrow_type) or pa.types.is_null(arrow_type):
            # Through text, as Arrow's cast can miss the nearest double.
            return to_doubles(values.cast(pa.string())), None
        if not is_text(arrow_type):
            raise InputError(f"{self.name} must hold numbers; it holds values of type {arrow_type}")
        if self._words:
            return self._parsed(values, names)
        if not self._parse:
            raise self._holds_text(values)
        with suppress(pa.ArrowInvalid):
            return to_doubles(values), None
        return self._parsed(values, names)

    def _parsed(self, values: pa.Array, names: ColumnNames) -> tuple[Array, InputError | None]:
        """Read text with spaces, words or other text among the numbers."""
        import pyarrow.compute as pc  # here, as it takes long to import and numbers do not need it

        text = pc.utf8_trim_whitespace(values)
        if self._words:
            text = replace_words(text, self._words)
        elif self._holds == "outcomes":
            text = replace_words(text, TRUE_AND_FALSE)
        is_amount = self._holds == "amounts"
        text = with_decimal_points(text, percent=self._percent, unbounded=is_amount)
        matches = pc.match_substring_regex(text, NUMBER)
        is_number = as_mask(matches)
        if names.first == 0 and not is_number.any():
            raise self._holds_text(values)
        error = None
        if not is_number.all():
            rule = "must hold numbers"
            if self._words:
                rule = "must hold numbers or words of the table"
            count = int((~is_number).sum())
            first = int(np.argmin(is_number))
            place = names.at(self.name, first)
            value = repr(values[first].as_py())
            error = InputError.from_offenders(f"{self.name} {rule}", count, place, value)
        return to_doubles(text.filter(matches)), error

    def _holds_text(self, values: pa.Array) -> InputError:
        """Return the error for a column without a number."""
        labels = values.unique().slice(0, _SHOWN_TEXTS).to_pylist()
        examples = ", ".join(map(repr, labels))
        if self._holds == "outcomes":
            return no_outcome(self.name, f"text such as {examples}")
        problem = f"{self.name} must hold numbers; it holds text such as {examples}"
        if self._holds == "amounts":
            return InputError(problem)
        if len(labels) == 2:
            return InputError(problem, hint="; is it the outcome?")
        return InputError(
            problem,
            hint="; if these words say how likely it is, ",
            remedy="pass confidence_words={...}",
            option=("confidence_words", "FILE"),
        )


def forecast_columns(names: Iterable[str], spec: ColumnSpec, *, parse: bool) -> list[NumberColumn]:
    """Return columns of probabilities, which may be in percent or words, as `spec` says."""
    words = None
    if spec.confidence_words is not None:
        words = numbers_of_words(spec.confidence_words, percent=spec.percent)
    columns = []
    for name in names:
        column = NumberColumn(name, "probabilities", parse=parse, percent=spec.percent, words=words)
        columns.append(column)
    return columns


def amount_columns(names: Iterable[str], *, parse: bool) -> list[NumberColumn]:
    """Return columns of amounts, such as costs."""
    return [NumberColumn(name, "amounts", parse=parse) for name in names]


def amount_column(name: str | None, *, parse: bool) -> NumberColumn | None:
    """Return the column of amounts of this name, if there is one."""
    return None if name is None else NumberColumn(name, "amounts", parse=parse)
