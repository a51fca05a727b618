"""Lazy frames: the compression as one narwhals expression, which the engine of the frame runs."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from rainproof.core.door import no_outcome
from rainproof.core.segments import COLUMNS, OLD_CELL, OTHER_LABELS, as_columns, violation_code
from rainproof.errors import InputError, RainproofError
from rainproof.io.files import check_columns, first_line
from rainproof.io.where import Condition, fold

if TYPE_CHECKING:
    from rainproof.io.reading import ColumnSpec

_WORDS = {"true": True, "false": False, "1": True, "0": False}
_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def read_frame(source: Any, spec: ColumnSpec, m: int, name: str) -> dict[str, Any]:
    """Return the groups of the rows of a lazy frame, which messages call `name`."""
    frame = nw.from_native(nw.to_native(source, pass_through=True)).lazy()
    check_columns(name, spec.all_columns(), frame.collect_schema().names())
    # The in-memory engine of Polars would compute all columns first; the streaming engine takes rows in batches.
    polars = {"backend": "polars", "engine": "streaming"}
    options: dict[str, Any] = polars if frame.implementation.is_polars() else {"backend": "pyarrow"}
    try:
        return as_columns(nw.to_native(grouped(frame, spec, m).collect(**options)))
    except RainproofError:
        raise
    except Exception as error:  # each engine has its own exceptions
        raise InputError(f"cannot read {name}: {first_line(error)}") from error


def grouped(frame: nw.LazyFrame[Any], spec: ColumnSpec, m: int) -> nw.LazyFrame[Any]:
    """Return the groups that `rainproof.core.segments` describes, as a lazy frame."""
    schema = dict(frame.collect_schema())
    _check_types(schema, spec)
    if spec.where is not None:
        frame = frame.filter(condition(spec.where, schema))
    placed = _placed(_checked(frame, spec, schema), spec, m)
    weight = nw.col("rainproof_w")
    one = nw.col("rainproof_one")
    sums = [
        one.sum().alias("rainproof_count"),
        weight.sum().alias("rainproof_weight"),
        nw.col("rainproof_rise").sum(),
        nw.col("rainproof_squares").sum(),
    ]
    if spec.has_other_labels:
        sums += [
            nw.col("rainproof_other").min().alias("rainproof_least"),
            nw.col("rainproof_other").max().alias("rainproof_most"),
        ]
    keys = ["rainproof_cell", "rainproof_outcome", *spec.group_columns()]
    table = placed.group_by(*keys).agg(*sums).with_columns(rainproof_grid=nw.lit(m))
    return table.select(*COLUMNS, *(OTHER_LABELS if spec.has_other_labels else ()), *spec.group_columns())


def _check_types(schema: dict[str, Any], spec: ColumnSpec) -> None:
    """Refuse columns that are not numbers: each engine would convert them in another way."""
    for column in spec.value_columns():
        kind = schema[column]
        if column == spec.outcome and spec.pos_label is not None:
            continue
        if not (kind.is_numeric() or kind == nw.Boolean):
            words = "text" if kind == nw.String else f"values of type {kind}"
            if column == spec.outcome:
                raise no_outcome(column, words)
            raise InputError(f"{column} must hold numbers; it holds {words}")


def _checked(frame: nw.LazyFrame[Any], spec: ColumnSpec, schema: dict[str, Any]) -> nw.LazyFrame[Any]:
    """Select the columns as doubles; with `pos_label` the outcome is 1 or 0."""
    outcome = nw.col(spec.outcome)
    columns = {letter: nw.col(name).cast(nw.Float64) for letter, (_, name) in spec.roles().items() if letter != "y"}
    columns["y"] = outcome.cast(nw.Float64)
    if spec.pos_label is not None:
        kind, value = schema[spec.outcome], spec.pos_label
        message = f"pos_label must be a label of {spec.outcome}, which holds values of type {kind}; it is {value!r}"
        label = _converted(value, kind, message)
        # Null for a null label: not every engine returns null for a comparison with null.
        columns["y"] = nw.when(~outcome.is_null()).then((outcome == label).cast(nw.Float64))
        if spec.has_other_labels:
            columns["other"] = nw.when(outcome != label).then(outcome)
    return frame.select(*spec.by, *(column.alias(f"rainproof_{name}") for name, column in columns.items()))


def _converted(value: Any, kind: Any, message: str) -> Any:
    """Convert a value, which may be text, to the type of a column, or raise the message."""
    text = isinstance(value, str)
    try:
        if kind == nw.Boolean:
            return value if isinstance(value, bool) else _WORDS[value.lower()]
        if kind.is_numeric() and not isinstance(value, bool):
            return (int if kind.is_integer() else float)(value) if text else value
        if kind == nw.Date:
            return datetime.date.fromisoformat(value)
        if kind == nw.Datetime:
            return datetime.datetime.fromisoformat(value)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(message) from None
    if not text:
        raise InputError(message)
    return value


def _bad(spec: ColumnSpec) -> nw.Expr:
    """Return the negative code of the first rule that a row breaks; 0 for a good row."""
    columns = {role: nw.col(f"rainproof_{letter}") for letter, (role, _) in spec.roles().items()}
    cases = [(column.is_null(), role, "null") for role, column in columns.items()]
    # NaN is tested explicitly: engines sort it differently, and DuckDB decides comparisons by statistics without it.
    for role, x in columns.items():
        if role in ("prob", "old"):
            cases += [(x.is_nan(), role, "nan"), ((x < 0) | (x > 1), role, "range")]
        else:
            wrong = ~((x == 0) | (x == 1)) if role == "label" else (x < 0) | (x == math.inf)
            cases.append((x.is_nan() | wrong, role, "rule"))
    bad = nw.lit(0)
    for test, role, rule in reversed(cases):
        bad = nw.when(test).then(nw.lit(violation_code(role, rule))).otherwise(bad)
    return bad


def _placed(frame: nw.LazyFrame[Any], spec: ColumnSpec, m: int) -> nw.LazyFrame[Any]:
    """Compute the cell of each row, its offset above the lower edge of the cell, and its terms of the sums."""
    good, scaled = nw.col("rainproof_bad") == 0, nw.col("rainproof_p") * m
    zero = nw.lit(0.0)
    weighted = spec.weight is not None
    weight = nw.when(good).then(nw.col("rainproof_w")).otherwise(zero) if weighted else nw.lit(1.0)
    counts = ~good | (nw.col("rainproof_w") > 0) if weighted else None
    others = ["rainproof_other"] if spec.has_other_labels else []
    frame = frame.with_columns(rainproof_bad=_bad(spec))
    old = nw.when(good).then((nw.col("rainproof_q") * m).floor()).otherwise(zero).cast(nw.Int64).alias(OLD_CELL)
    frame = frame.select(
        *(spec.by if spec.old is None else [old]),
        *others,
        nw.when(good).then(scaled.floor()).otherwise(nw.col("rainproof_bad")).cast(nw.Int64).alias("rainproof_cell"),
        nw.when(good).then(nw.col("rainproof_y")).otherwise(zero).cast(nw.Int64).alias("rainproof_outcome"),
        nw.when(good).then(scaled - scaled.floor()).otherwise(zero).alias("rainproof_rise"),
        weight.alias("rainproof_w"),
        (nw.lit(1) if counts is None else nw.when(counts).then(nw.lit(1)).otherwise(nw.lit(0)))
        .cast(nw.Int64)
        .alias("rainproof_one"),
    )
    if not weighted:
        return frame.with_columns(rainproof_squares=nw.col("rainproof_w"))
    w = nw.col("rainproof_w")
    return frame.with_columns(rainproof_rise=w * nw.col("rainproof_rise"), rainproof_squares=w * w)


def condition(where: Condition, schema: dict[str, Any]) -> nw.Expr:
    """Return a condition as an expression, which is false or null for a null and for NaN."""

    def leaf(part: Condition) -> nw.Expr:
        column, kind = nw.col(part.column), schema[part.column]
        if part.op.endswith("null"):
            return ~column.is_null() if part.negated else column.is_null()
        if part.op.endswith("nan"):
            nan = column.is_nan() if kind.is_float() else column.is_null() & ~column.is_null()
            return column.is_null() | ~nan if part.negated else nan
        message = f"where cannot compare {part.column}, which holds values of type {kind}, with "
        values = [_converted(value, kind, f"{message}{value!r}") for value in part.values]
        # Not is_in, for which Polars needs the type of the column.
        compare = _COMPARE.get(part.op, operator.eq)
        test: nw.Expr = reduce(operator.or_, (compare(column, value) for value in values))
        test = ~test if part.negated else test
        return test & ~column.is_nan() if kind.is_float() else test

    both: Callable[[nw.Expr, nw.Expr], nw.Expr] = operator.and_
    either: Callable[[nw.Expr, nw.Expr], nw.Expr] = operator.or_
    return fold(where, leaf, both, either)
