"""Conditions on Arrow batches: which rows meet them.

It is imported where there is a condition, as `pyarrow.compute` takes long to import.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rainproof.errors import InputError
from rainproof.io.arrow_arrays import array_of_one, decoded
from rainproof.io.column_types import is_text
from rainproof.io.conditions import Condition, translate
from rainproof.io.text_numbers import nulls_for_missing_words, with_decimal_points

_FUNCTIONS = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
"""The comparisons by their names in Arrow."""

# As Arrow and Python read NaN, with a sign and with spaces around it.
_NAN_TEXT = r"(?i)^\s*[+-]?nan\s*$"


def filter_batch(condition: Condition, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of a batch for which the condition is true."""

    def test(single: Condition) -> pa.BooleanArray:
        return _meets(single, batch.column(single.column))

    return batch.filter(translate(condition, test, pc.and_, pc.or_))


def _meets(test: Condition, column: pa.Array) -> pa.BooleanArray:
    """Return where a column meets a test; false for nulls and NaN, unless the test is for them."""
    values = decoded(column)
    if test.operator in ("null", "not null"):
        return values.is_valid() if test.negated else values.is_null()
    if test.operator in ("nan", "not nan"):
        return pc.invert(_is_nan(values)) if test.negated else _is_nan(values)
    if pa.types.is_null(values.type):
        return _nowhere(values)
    is_list = test.operator in ("in", "not in")
    comparison = "=" if is_list else test.operator
    matches = [_compare(values, comparison, value, test.column) for value in test.values]
    met = reduce(pc.or_, matches)
    if test.negated:
        met = pc.invert(met)
    # Also where the test is negated: a comparison with a null or NaN is false, and so is its
    # opposite.
    is_comparable = pc.and_(values.is_valid(), pc.invert(_is_nan(values)))
    return pc.and_(is_comparable, met)


def _without_nulls(mask: pa.BooleanArray) -> pa.BooleanArray:
    """Return a mask with false in place of null."""
    return pc.coalesce(mask, array_of_one(False)[0])


def _nowhere(values: pa.Array) -> pa.BooleanArray:
    """Return false for each value: none is both null and not null."""
    return pc.and_(values.is_null(), values.is_valid())


def _is_nan(values: pa.Array) -> pa.BooleanArray:
    """Return where values are NaN, or text that means NaN."""
    if pa.types.is_floating(values.type):
        return _without_nulls(pc.is_nan(values))
    if is_text(values.type):
        return _without_nulls(pc.match_substring_regex(values, _NAN_TEXT))
    return _nowhere(values)


def _compare(values: pa.Array, operator: str, literal: Any, column: str) -> pa.BooleanArray:
    """Compare a column with a literal; false for nulls.

    Numbers are compared as doubles where one of the two is a double. Text in the column is read as
    a number or a bool where the literal is one; text as literal is converted to the column's type.
    """
    arrow_type = values.type
    compare = getattr(pc, _FUNCTIONS[operator])
    try:
        if is_text(arrow_type) and isinstance(literal, bool):
            values = pc.utf8_lower(pc.utf8_trim_whitespace(values))
            literal = str(literal).lower()
        elif is_text(arrow_type) and not isinstance(literal, str):
            text = pc.utf8_trim_whitespace(nulls_for_missing_words(values))
            values = pc.cast(with_decimal_points(text, percent=False, unbounded=True), pa.float64())
        elif pa.types.is_floating(arrow_type):
            values = pc.cast(values, pa.float64())  # whatever the width
            if isinstance(literal, int) and not isinstance(literal, bool):
                literal = float(literal)
        elif pa.types.is_integer(arrow_type) and isinstance(literal, float):
            # Large integers are rounded, as databases do.
            values = pc.cast(values, pa.float64(), safe=False)
        elif pa.types.is_decimal(arrow_type) and isinstance(literal, float):
            # Through text, as a direct cast can miss the nearest double.
            values = pc.cast(pc.cast(values, pa.string()), pa.float64())
        compared = array_of_one(literal)
        if isinstance(literal, str):
            compared = pc.cast(compared, values.type)
        return _without_nulls(compare(values, compared[0]))
    except pa.ArrowException:
        raise InputError(
            f"where cannot compare {column}, which holds values of type {arrow_type}, "
            f"with {literal!r}"
        ) from None
