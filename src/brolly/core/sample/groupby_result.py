"""What a GROUP BY gives back: a row for each segment, cell and outcome, checked before it becomes a sample.

The columns are `COLUMNS`, then `OTHER_LABELS` where labels are not 0 and 1, then those of the segments. A cell below
zero counts rows that break a rule: which, `VIOLATIONS` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brolly.core.grid.cells import check_grid
from brolly.core.input.labels import SegmentIndex, code_labels, is_missing
from brolly.core.input.rows import LABEL_RULE, WEIGHT_RULE, ColumnNames
from brolly.core.sample.segments import GroupedCells
from brolly.errors import InputError

COLUMNS = tuple(f"brolly_{c}" for c in ("m", "cell", "outcome", "count", "weight", "rise", "squares"))
OTHER_LABELS = ("brolly_least", "brolly_most")  # the labels that are not the event: only one may be

# In this order: a row that breaks several rules counts for the first.
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
}
_ROUNDING = 1e-9  # by how much a sum of doubles may overstep what exact sums cannot

Columns = Mapping[str, Any]


def violation_code(role: str, kind: str) -> int:
    """The cell, below zero, that rows of this offence go to."""
    return -1 - list(VIOLATIONS).index((role, kind))


def refusal(rule: str, count: int) -> InputError:
    """The error of so many values, of which none comes first: rows that are elsewhere have no order."""
    values = "1 value does" if count == 1 else f"{count:,} values do"
    return InputError(f"{rule}; {values}{'' if ' must not ' in rule else ' not'}", rule=rule, count=count)


def refuse(counts: Mapping[int, int], names: ColumnNames) -> None:
    """Raise the first offence that some rows commit; `counts` is by code."""
    for code in sorted(counts, reverse=True):
        (role, _), words = list(VIOLATIONS.items())[-1 - code]
        if counts[code]:
            raise refusal(f"{getattr(names, role)} {words}", counts[code])


def read_table(rows: Any, by: Sequence[str] | None = None) -> GroupedCells:
    """The sums in what the statement of `brolly.sql` gave, in whatever form it came."""
    columns = as_columns(rows, by)
    there = {name.lower(): name for name in columns}  # some databases shout
    missing = [name for name in COLUMNS if name not in there]
    if missing:
        raise InputError(f"rows must have the columns of brolly.sql's statement; they lack {', '.join(missing)}")
    known = {name: columns[there[name]] for name in (*COLUMNS, *OTHER_LABELS) if name in there}
    segments = [name for name in columns if name.lower() not in known]
    if by is not None and sorted(by) != sorted(segments):
        raise InputError(f"by must name the columns of the segments; they are {segments}, and by is {list(by)}")
    keys = {name: columns[name] for name in (segments if by is None else by)}
    return from_grouped({**known, **keys}, tuple(keys), ColumnNames())


def from_grouped(columns: Columns, by: tuple[str, ...], names: ColumnNames, *, pos_label: Any = None) -> GroupedCells:
    """The sums in grouped rows, column by column, with everything checked that can be."""
    whole = {name: _integers(name, columns[f"brolly_{name}"]) for name in ("m", "cell", "outcome", "count")}
    sums = {name: _doubles(name, columns[f"brolly_{name}"]) for name in ("weight", "rise", "squares")}
    if not len(whole["m"]):
        raise InputError("the table has columns but no rows")
    m = check_grid(int(whole["m"][0]))
    if (whole["m"] != m).any():
        raise InputError(f"rows must be of one grid; they have m = {m:,} and m = {_first_other(whole['m'], m):,}")
    _check_whole(m, whole)
    refuse(_violations(whole), names)
    check_other_label((label for name in OTHER_LABELS if name in columns for label in columns[name]), names, pos_label)
    keep = whole["count"] > 0  # rows of weight zero are no rows
    _check_sums(keep, whole["count"], sums)
    index = SegmentIndex()
    segment = index.number_rows([code_labels(columns[name]) for name in by], len(keep))
    parts = (segment, whole["cell"], whole["outcome"], whole["count"], *sums.values())
    return GroupedCells.from_columns(m, by, index.keys, *(part[keep] for part in parts))


def as_columns(rows: Any, by: Sequence[str] | None = None) -> dict[str, Any]:
    """Columns by name from a table, a cursor, or an iterable of rows that are mappings or tuples."""
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
        raise InputError(f"rows must be the result of brolly.sql's statement; they are of type {type(rows).__name__}")
    rows = list(rows)
    if rows and names is None:
        names = _names(rows[0], by)
    return _transposed(rows, names or [*COLUMNS, *(by or ())])


def _names(row: Any, by: Sequence[str] | None) -> list[str]:
    if hasattr(row, "keys"):
        return list(row.keys())
    fields = getattr(row, "_fields", None) or getattr(row, "__fields__", None)  # named tuples and SQLAlchemy, Spark
    names = list(fields or [*COLUMNS, *(by or ())])
    if len(names) != len(row):
        raise InputError(
            f"rows must have the columns of brolly.sql's statement in its order, then those that by names: "
            f"{len(names)}; they have {len(row)}"
        )
    return names


def _transposed(rows: list[Any], names: list[str]) -> dict[str, Any]:
    if rows and hasattr(rows[0], "keys"):
        rows = [[row[name] for name in names] for row in rows]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def _integers(name: str, values: Any) -> NDArray[np.int64]:
    array = _doubles(name, values)
    if (array != np.floor(array)).any() or (np.abs(array) > 2.0**53).any():
        raise InputError(f"brolly_{name} must hold integers")
    return array.astype(np.int64)


def _doubles(name: str, values: Any) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"brolly_{name} must hold numbers; {error}") from error
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(f"brolly_{name} must hold finite numbers")
    return array


def _first_other(values: NDArray[np.int64], value: int) -> int:
    return int(values[values != value][0])


def _check_whole(m: int, whole: Mapping[str, NDArray[np.int64]]) -> None:
    for name, low, high in (("cell", -len(VIOLATIONS), m), ("outcome", 0, 1), ("count", 0, 2**53)):
        wrong = (whole[name] < low) | (whole[name] > high)
        if wrong.any():
            raise InputError(f"brolly_{name} must lie between {low} and {high:,}; it is {whole[name][wrong][0]}")


def _violations(whole: Mapping[str, NDArray[np.int64]]) -> dict[int, int]:
    bad = whole["cell"] < 0
    codes = whole["cell"][bad]
    return {int(code): int(whole["count"][bad][codes == code].sum()) for code in np.unique(codes)}


def check_other_label(labels: Iterable[Any], names: ColumnNames, pos_label: Any = None) -> None:
    """Besides the event there may be one label."""
    found = sorted({label for label in labels if not is_missing(label)})
    if len(found) > 1:
        event = "the event" if pos_label is None else repr(pos_label)
        raise InputError(
            f"{names.label} must hold {event} and one other label; it holds {found[0]!r} and {found[-1]!r} too"
        )


def _check_sums(keep: NDArray[np.bool_], count: NDArray[np.int64], sums: Mapping[str, NDArray[np.float64]]) -> None:
    weight, rise, squares = (sums[name][keep] for name in ("weight", "rise", "squares"))
    if (weight <= 0).any() or (squares <= 0).any():
        raise InputError("brolly_weight and brolly_squares must be positive where brolly_count is")
    if ((rise < 0) | (rise > weight * (1 + _ROUNDING))).any():
        raise InputError("brolly_rise must lie between 0 and brolly_weight")
    # Cauchy and Schwarz, and that weights are not negative.
    if ((squares > weight**2 * (1 + _ROUNDING)) | (squares * count[keep] < weight**2 * (1 - _ROUNDING))).any():
        raise InputError("brolly_squares must lie between brolly_weight squared and its share of one row")
