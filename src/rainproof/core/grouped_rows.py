"""Grouped rows: the result of the GROUP BY statement that compresses a table where it is.

A row has the sums of one (segment, cell, outcome), or counts rows that break a rule. Databases,
Spark and Dask return them in forms of their own, and may name columns in upper case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.core.cells import ROUNDING, CellTable, check_grid, slot_count
from rainproof.core.columns import OUTCOME_RULE, WEIGHT_RULE, ColumnNames
from rainproof.core.labels import Key, code_labels, is_missing, label_order, number_rows
from rainproof.core.sample import Sample
from rainproof.core.segment_sums import SegmentSums
from rainproof.core.segments import Segments, from_sums
from rainproof.core.validation import refuse_misspelt_event
from rainproof.errors import InputError

_INTEGER_COLUMNS = ("grid", "cell", "outcome", "count")
_SUM_COLUMNS = ("weight", "rise", "squares")
COLUMNS = tuple(f"rainproof_{name}" for name in (*_INTEGER_COLUMNS, *_SUM_COLUMNS))
OLD_CELL = "rainproof_old"
"""The cell of another forecast, by which rows are grouped like by a segment."""
OTHER_LABELS = ("rainproof_least", "rainproof_most")
"""The least and the largest of the labels that are not the event: there may be one."""

_LARGEST_COUNT = 2**53  # doubles have all whole numbers up to here

_RULES_ON_NUMBERS = {
    "null": "must not contain nulls (missing values)",
    "text": "must hold numbers",
    "nan": "must not contain NaN",
    "range": "must lie in [0, 1]",
}
VIOLATIONS = {
    ("prob", "null"): _RULES_ON_NUMBERS["null"],
    ("label", "null"): _RULES_ON_NUMBERS["null"],
    ("weight", "null"): _RULES_ON_NUMBERS["null"],
    ("prob", "text"): _RULES_ON_NUMBERS["text"],
    ("label", "text"): _RULES_ON_NUMBERS["text"],
    ("weight", "text"): _RULES_ON_NUMBERS["text"],
    ("prob", "nan"): _RULES_ON_NUMBERS["nan"],
    ("prob", "range"): _RULES_ON_NUMBERS["range"],
    ("label", "rule"): OUTCOME_RULE,
    ("weight", "rule"): WEIGHT_RULE,
    **{("old", kind): rule for kind, rule in _RULES_ON_NUMBERS.items()},
}
"""The rules, by column and kind. A row that breaks several counts for the first."""


def violation_code(column: str, kind: str) -> int:
    """Return the negative cell that counts the rows breaking this rule."""
    return -1 - list(VIOLATIONS).index((column, kind))


def named_rules(names: ColumnNames) -> list[str]:
    """Return the rules, in their order, with the name of the column in front."""
    return [f"{getattr(names, column)} {rule}" for (column, _), rule in VIOLATIONS.items()]


def raise_violation(counts: Mapping[str, int], names: ColumnNames) -> None:
    """Raise the first rule that some rows break; `counts` is by rule, with the name of the column
    in front.
    """
    for (_, kind), rule in zip(VIOLATIONS, named_rules(names), strict=True):
        if counts.get(rule):
            raise InputError.from_offenders(rule, counts[rule], missing=kind in ("null", "nan"))


def read_table(table: Any, by: Sequence[str] | None = None) -> Sample | Segments:
    """Read the result of a `rainproof.io.sql` statement, in any form that a database or a library
    returns it.
    """
    columns = columns_of_table(table, by)
    segments = []
    for name in list(columns):
        if name.lower() in (*COLUMNS, *OTHER_LABELS):
            columns[name.lower()] = columns.pop(name)
        else:
            segments.append(name)
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise InputError(
            "rows must have the columns of rainproof.io.sql's statement; "
            f"they lack {', '.join(missing)}"
        )
    if by is None:
        by = segments
    elif sorted(by) != sorted(segments):
        raise InputError(
            f"by must name the columns of the segments; they are {segments}, and by is {list(by)}"
        )
    return from_grouped(columns, tuple(by), ColumnNames())


def from_grouped(
    columns: Mapping[str, Any],
    by: tuple[str, ...],
    names: ColumnNames,
    *,
    pos_label: Any = None,
    forecasts: tuple[str, ...] = (),
) -> Sample | Segments:
    """Check grouped rows, given column by column in any order, and add up equal ones."""
    integers = {name: _as_integers(columns, name) for name in _INTEGER_COLUMNS}
    sums = [_as_doubles(columns, name) for name in _SUM_COLUMNS]
    grid = _check_integers(integers)
    cell = integers["cell"]
    outcome = integers["outcome"]
    count = integers["count"]
    rules = named_rules(names)
    # negative cells count rows that break a rule: see `violation_code`
    violations = {rule: int(count[cell == -1 - k].sum()) for k, rule in enumerate(rules)}
    raise_violation(violations, names)
    _check_other_labels(columns, names, pos_label, occurs=bool(outcome.any()))
    is_counted = count > 0  # rows of weight zero do not count
    count = count[is_counted]
    sums = [amount[is_counted] for amount in sums]
    _check_sums(count, *sums)
    numbers: dict[Key, int] = {}
    labels = [code_labels(columns[name]) for name in by]
    segment = number_rows(numbers, labels, len(is_counted))[is_counted]
    slot = slot_count(grid) * segment + 2 * cell[is_counted] + outcome[is_counted]
    table = CellTable.from_doubles(grid, slot, count, *sums)
    return from_sums(by, list(numbers), SegmentSums.from_table(table), names.weight, forecasts)


def _check_integers(integers: Mapping[str, Ints]) -> int:
    """Check the columns of integers, and return the grid."""
    grids = integers["grid"]
    if not len(grids):
        raise InputError("the table has columns but no rows")
    # tables of two grids may have been concatenated
    grid = check_grid(int(grids[0]), "rainproof_grid")
    if (grids != grid).any():
        other = int(grids[grids != grid][0])
        raise InputError(
            f"rainproof_grid must be the same in every row; it is {grid:,} and {other:,}"
        )
    ranges = {
        "cell": (-len(VIOLATIONS), grid),
        "outcome": (0, 1),
        "count": (0, _LARGEST_COUNT),
    }
    for name, (low, high) in ranges.items():
        column = integers[name]
        outside = column[(column < low) | (column > high)]
        if len(outside):
            raise InputError(
                f"rainproof_{name} must lie between {low} and {high:,}; it is {outside[0]}"
            )
    return grid


def _check_other_labels(
    columns: Mapping[str, Any], names: ColumnNames, pos_label: Any, *, occurs: bool
) -> None:
    """Check the labels besides the event's; `occurs` is whether the event does."""
    labels: list[Any] = []
    for name in OTHER_LABELS:
        labels += columns.get(name, ())
    # a row is neither the event nor another
    if labels and not occurs and all(is_missing(label) for label in labels):
        raise InputError(f"{names.label} could not be compared with pos_label; it is {pos_label!r}")
    check_other_label(labels, names, pos_label, occurs=occurs)


def check_other_label(
    labels: Iterable[Any], names: ColumnNames, pos_label: Any, *, occurs: bool
) -> None:
    """Refuse more than one label besides the event's, and one that is the event's, misspelt, if
    that never occurs.
    """
    different = {label for label in labels if not is_missing(label)}
    others = sorted(different, key=label_order)
    if len(others) > 1:
        event = "the event" if pos_label is None else repr(pos_label)
        raise InputError(
            f"{names.label} must hold {event} and one other label; "
            f"it holds {others[0]!r} and {others[-1]!r} too"
        )
    if others and not occurs:
        refuse_misspelt_event(names.label, pos_label, others[0])


def _check_sums(count: Ints, weight: Floats, rise: Floats, squares: Floats) -> None:
    if (weight <= 0).any() or (squares <= 0).any():
        raise InputError(
            "rainproof_weight and rainproof_squares must be positive where rainproof_count is"
        )
    if ((rise < 0) | (rise > weight * (1 + ROUNDING))).any():
        raise InputError("rainproof_rise must lie between 0 and rainproof_weight")
    # The first since weights are not negative, the second by Cauchy and Schwarz.
    is_too_large = squares > weight**2 * (1 + ROUNDING)
    is_too_small = squares * count < weight**2 * (1 - ROUNDING)
    if (is_too_large | is_too_small).any():
        raise InputError(
            "rainproof_squares must lie between rainproof_weight^2 / rainproof_count and "
            "rainproof_weight^2"
        )


def columns_of_table(table: Any, by: Sequence[str] | None = None) -> dict[str, Any]:
    """Return columns by name from a table, a cursor, or an iterable of rows that are mappings or
    tuples.
    """
    if isinstance(table, Mapping):
        return dict(table)
    if hasattr(table, "column_names"):  # PyArrow
        return {name: table.column(name).to_pylist() for name in table.column_names}
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas, Polars
        return {str(name): table[name].to_numpy() for name in table.columns}
    names = None
    # a cursor of any Python database driver
    if hasattr(table, "description") and hasattr(table, "fetchall"):
        names = [column[0] for column in table.description or ()]
        table = table.fetchall()
    if not isinstance(table, Iterable):
        raise InputError(
            "rows must be the result of rainproof.io.sql's statement; "
            f"they are of type {type(table).__name__}"
        )
    rows = list(table)
    if rows and names is None:
        names = _names_of_columns(rows[0], by)
    names = names or [*COLUMNS, *(by or ())]
    if rows and hasattr(rows[0], "keys"):
        rows = [[row[name] for name in names] for row in rows]
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def _names_of_columns(row: Any, by: Sequence[str] | None) -> list[str]:
    """Return the names that a row has for its values, or that are usual in their order."""
    if hasattr(row, "keys"):
        return list(row.keys())
    # named tuples and SQLAlchemy, Spark
    fields = getattr(row, "_fields", None) or getattr(row, "__fields__", None)
    names = list(fields or [*COLUMNS, *(by or ())])
    if len(names) != len(row):
        raise InputError(
            f"rows must have the {len(names)} columns of rainproof.io.sql's statement in its "
            f"order, those of by last; they have {len(row)}"
        )
    return names


def _as_integers(columns: Mapping[str, Any], name: str) -> Ints:
    # as doubles or decimals, as databases return sums of integers
    array = _as_doubles(columns, name)
    if (array != np.floor(array)).any() or (np.abs(array) > _LARGEST_COUNT).any():
        raise InputError(f"rainproof_{name} must hold integers")
    return array.astype(np.int64)


def _as_doubles(columns: Mapping[str, Any], name: str) -> Floats:
    try:
        array = np.asarray(columns[f"rainproof_{name}"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"rainproof_{name} must hold numbers; {error}") from error
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(f"rainproof_{name} must hold finite numbers")
    return array
