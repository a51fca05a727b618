"""Conditions (see `rainproof.io.where`) on Arrow record batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rainproof.errors import InputError
from rainproof.io.columns import is_text, single
from rainproof.io.where import Comparison, Condition, IsIn, IsMissing, Literal, fold

_OPS = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_FALSE = single(False)[0]


def filter_batch(condition: Condition, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows for which the condition is true."""
    return batch.filter(fold(condition, lambda leaf: _mask(leaf, batch), pc.and_, pc.or_))


def _mask(leaf: Comparison | IsIn | IsMissing, batch: pa.RecordBatch) -> pa.BooleanArray:
    values = batch.column(leaf.column)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if isinstance(leaf, IsMissing):
        missing = values.is_null() if leaf.kind == "null" else _is_nan(values)
        return pc.invert(missing) if leaf.negated else missing
    there = pc.and_(values.is_valid(), pc.invert(_is_nan(values)))
    if isinstance(leaf, Comparison):
        return pc.and_(there, _compared(values, leaf.op, leaf.value, leaf.column))
    found = [_compared(values, "=", value, leaf.column) for value in leaf.values]
    one_of = found[0]
    for mask in found[1:]:
        one_of = pc.or_(one_of, mask)
    return pc.and_(there, pc.invert(one_of) if leaf.negated else one_of)


def _is_nan(values: pa.Array) -> pa.BooleanArray:
    """Return where values are NaN, or text that means NaN."""
    if pa.types.is_floating(values.type):
        mask = pc.is_nan(values)
    elif is_text(values.type):
        mask = pc.match_substring_regex(values, r"(?i)^\s*[+-]?nan\s*$")
    else:
        return pc.invert(pc.or_(values.is_null(), values.is_valid()))
    return pc.coalesce(mask, _FALSE)


def _compared(values: pa.Array, op: str, value: Literal, column: str) -> pa.BooleanArray:
    """Compare a column with a literal; false for nulls."""
    try:
        return pc.coalesce(_OPS[op](*_alike(values, value)), _FALSE)
    except pa.ArrowException:
        raise InputError(
            f"where cannot compare {column}, which holds values of type {values.type}, with {value!r}"
        ) from None


def _alike(values: pa.Array, value: Literal) -> tuple[pa.Array, Any]:
    """Convert a column and a literal to comparable types; text is converted to the type of the other."""
    if is_text(values.type):
        if isinstance(value, bool):
            return pc.utf8_lower(pc.utf8_trim_whitespace(values)), _as(str(value).lower(), values.type)
        if not isinstance(value, str):
            return pc.cast(pc.utf8_trim_whitespace(values), pa.float64()), single(value)[0]
        return values, _as(value, values.type)
    return values, _as(value, values.type) if isinstance(value, str) else single(value)[0]


def _as(value: str, kind: pa.DataType) -> Any:
    return pc.cast(single(value), kind)[0]
