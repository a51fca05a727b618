"""The result of a GROUP BY: a row for each segment, cell and outcome, checked before it becomes a sample.

The columns are `COLUMNS`, then `OTHER_LABELS` where labels are not 0 and 1, then those of the segments. A negative
cell counts rows that break a rule, the one that `VIOLATIONS` lists at that place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.core.grid.cells import check_grid
from rainproof.core.input.labels import SegmentIndex, code_labels, is_missing
from rainproof.core.input.rows import LABEL_RULE, WEIGHT_RULE, ColumnNames
from rainproof.core.sample.segments import GroupedCells
from rainproof.errors import InputError

COLUMNS = tuple(f"rainproof_{c}" for c in ("grid", "cell", "outcome", "count", "weight", "rise", "squares"))
OLD_CELL = "rainproof_old"  # the cell of another forecast, by which rows are grouped like by a segment
OTHER_LABELS = ("rainproof_least", "rainproof_most")  # of the labels that are not the event: there may be one

# A row that breaks several rules counts for the first.
VIOLATIONS = {
    ("prob", "null"): "must not contain nulls (missing values)",
    ("label", "null"): "must not contain nulls (missing values)",
    ("weight", "null"): "must not contain nulls (missing values)",
    ("prob", "text"): "must hold numbers",
    ("label", "text"): "must hold numbers",
    ("weight", "text"): "must hold numbers",
    ("prob", "nan"): "must not contain NaN",
    ("prob", "range"): "must lie in [0, 1]",
    ("label", "rule"): LABEL_RULE,
    ("weight", "rule"): WEIGHT_RULE,
    ("old", "null"): "must not contain nulls (missing values)",
    ("old", "text"): "must hold numbers",
    ("old", "nan"): "must not contain NaN",
    ("old", "range"): "must lie in [0, 1]",
}
_ROUNDING = 1e-9  # by how much sums of doubles may exceed bounds that exact sums keep

Columns = Mapping[str, Any]


def violation_code(column: str, kind: str) -> int:
    """Return the negative cell that counts the rows breaking this rule."""
    return -1 - list(VIOLATIONS).index((column, kind))


def raise_violation(counts: Mapping[str, int], names: ColumnNames) -> None:
    """Raise the first rule that some rows break; `counts` is by rule, with the name of the column in front."""
    for (column, _), words in VIOLATIONS.items():
        rule = f"{getattr(names, column)} {words}"
        if counts.get(rule):
            raise InputError.from_offenders(rule, counts[rule])


def read_table(rows: Any, by: Sequence[str] | None = None) -> GroupedCells:
    """Read the result of a `rainproof.sql` statement, in any form that a database or a library returns it."""
    columns = as_columns(rows, by)
    lower = {name.lower(): name for name in columns}  # some databases return names in upper case
    missing = [name for name in COLUMNS if name not in lower]
    if missing:
        raise InputError(f"rows must have the columns of rainproof.sql's statement; they lack {', '.join(missing)}")
    known = {name: columns[lower[name]] for name in (*COLUMNS, *OTHER_LABELS) if name in lower}
    segments = [name for name in columns if name.lower() not in known]
    if by is not None and sorted(by) != sorted(segments):
        raise InputError(f"by must name the columns of the segments; they are {segments}, and by is {list(by)}")
    keys = {name: columns[name] for name in (segments if by is None else by)}
    return from_grouped({**known, **keys}, tuple(keys), ColumnNames())


def from_grouped(columns: Columns, by: tuple[str, ...], names: ColumnNames, *, pos_label: Any = None) -> GroupedCells:
    """Check grouped rows, given column by column, and return their sums."""
    integers = {name: _integers(name, columns[f"rainproof_{name}"]) for name in ("grid", "cell", "outcome", "count")}
    sums = {name: _doubles(name, columns[f"rainproof_{name}"]) for name in ("weight", "rise", "squares")}
    grids, cell, outcome, count = integers.values()
    if not len(grids):
        raise InputError("the table has columns but no rows")
    grid = check_grid(int(grids[0]), "rainproof_grid")
    if (grids != grid).any():
        other = int(grids[grids != grid][0])
        raise InputError(f"rainproof_grid must be the same in every row; it is {grid:,} and {other:,}")
    for name, low, high in (("cell", -len(VIOLATIONS), grid), ("outcome", 0, 1), ("count", 0, 2**53)):
        outside = (integers[name] < low) | (integers[name] > high)
        if outside.any():
            raise InputError(
                f"rainproof_{name} must lie between {low} and {high:,}; it is {integers[name][outside][0]}"
            )
    rules = [f"{getattr(names, column)} {words}" for (column, _), words in VIOLATIONS.items()]
    raise_violation({rule: int(count[cell == -1 - k].sum()) for k, rule in enumerate(rules)}, names)
    check_other_label((label for name in OTHER_LABELS if name in columns for label in columns[name]), names, pos_label)
    keep = count > 0  # rows of weight zero do not count
    _check_sums(count[keep], *(column[keep] for column in sums.values()))
    index = SegmentIndex()
    segment = index.number_rows([code_labels(columns[name]) for name in by], len(keep))
    parts = (segment, cell, outcome, count, *sums.values())
    kept = (part[keep] for part in parts)
    return GroupedCells.from_columns(grid, by, index.keys, *kept, weight_name=names.weight)


def as_columns(rows: Any, by: Sequence[str] | None = None) -> dict[str, Any]:
    """Return columns by name from a table, a cursor, or an iterable of rows that are mappings or tuples."""
    if isinstance(rows, Mapping):
        return dict(rows)
    if hasattr(rows, "column_names"):  # PyArrow
        return {name: rows.column(name).to_pylist() for name in rows.column_names}
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):  # pandas, Polars
        return {str(name): rows[name].to_numpy() for name in rows.columns}
    names = None
    if hasattr(rows, "description") and hasattr(rows, "fetchall"):  # a cursor of any Python database driver
        names = [column[0] for column in rows.description or ()]
        rows = rows.fetchall()
    if not isinstance(rows, Iterable):
        raise InputError(
            f"rows must be the result of rainproof.sql's statement; they are of type {type(rows).__name__}"
        )
    rows = list(rows)
    if rows and names is None:
        names = _names(rows[0], by)
    return _transpose(rows, names or [*COLUMNS, *(by or ())])


def _names(row: Any, by: Sequence[str] | None) -> list[str]:
    if hasattr(row, "keys"):
        return list(row.keys())
    fields = getattr(row, "_fields", None) or getattr(row, "__fields__", None)  # named tuples and SQLAlchemy, Spark
    names = list(fields or [*COLUMNS, *(by or ())])
    if len(names) != len(row):
        raise InputError(
            f"rows must have the {len(names)} columns of rainproof.sql's statement in its order, those of by last; "
            f"they have {len(row)}"
        )
    return names


def _transpose(rows: list[Any], names: list[str]) -> dict[str, Any]:
    if rows and hasattr(rows[0], "keys"):
        rows = [[row[name] for name in names] for row in rows]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def _integers(name: str, values: Any) -> Ints:
    array = _doubles(name, values)
    if (array != np.floor(array)).any() or (np.abs(array) > 2.0**53).any():
        raise InputError(f"rainproof_{name} must hold integers")
    return array.astype(np.int64)


def _doubles(name: str, values: Any) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"rainproof_{name} must hold numbers; {error}") from error
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(f"rainproof_{name} must hold finite numbers")
    return array


def check_other_label(labels: Iterable[Any], names: ColumnNames, pos_label: Any = None) -> None:
    """Refuse more than one label besides the event's."""
    found = sorted({label for label in labels if not is_missing(label)})
    if len(found) > 1:
        event = "the event" if pos_label is None else repr(pos_label)
        raise InputError(
            f"{names.label} must hold {event} and one other label; it holds {found[0]!r} and {found[-1]!r} too"
        )


def _check_sums(count: Ints, weight: Floats, rise: Floats, squares: Floats) -> None:
    if (weight <= 0).any() or (squares <= 0).any():
        raise InputError("rainproof_weight and rainproof_squares must be positive where rainproof_count is")
    if ((rise < 0) | (rise > weight * (1 + _ROUNDING))).any():
        raise InputError("rainproof_rise must lie between 0 and rainproof_weight")
    # The first since weights are not negative, the second by Cauchy and Schwarz.
    if ((squares > weight**2 * (1 + _ROUNDING)) | (squares * count < weight**2 * (1 - _ROUNDING))).any():
        raise InputError(
            "rainproof_squares must lie between rainproof_weight^2 / rainproof_count and rainproof_weight^2"
        )
