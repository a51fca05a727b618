"""Reading: the columns that a caller passes to `Sample`, checked and added up in one pass.

What is read is what a sample holds. The rules on single columns are in `rainproof.core.validation`
and below it; arguments of other functions are in `rainproof.core.arguments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.alignment import check_aligned, check_same_length
from rainproof.core.arrays import Array
from rainproof.core.cells import sum_cells
from rainproof.core.classes import read_classes
from rainproof.core.columns import USUAL_NAMES, ColumnNames, Columns
from rainproof.core.conversion import as_probabilities
from rainproof.core.design import INDEPENDENT_CASES, Design
from rainproof.core.labels import named_columns, numbered_groups, segment_column
from rainproof.core.rows import Rows, top_label
from rainproof.core.tables import Tables, first_grid
from rainproof.core.validation import as_columns, split_shares
from rainproof.errors import InputError

Read = tuple[Rows, Design, Tables, tuple[str, ...]]
"""What a sample holds: rows, their design, their tables, and the names of several forecasts. It is
no class, which would cost a sample of 20 rows 4% more time.
"""


def read_columns(columns: Columns) -> Read:
    """Check columns of predictions of one event, and add them up: one pass over the rows."""
    first = sum_cells(columns, first_grid(columns))  # refuses bad values
    rows = Rows(columns.outcome, columns.prob, columns.weight)
    if rows.weight is None:
        n = len(rows.prob)
        total_weight = float(n)
    else:
        n = int(first.count.sum())  # rows of weight zero are not counted
        total_weight = first.total_weight(columns.names.weight)
    return rows, INDEPENDENT_CASES, Tables(rows, n, total_weight, first), ()


def read_forecasts(
    y_true: ArrayLike,
    forecasts: Mapping[Any, ArrayLike],
    sample_weight: ArrayLike | None,
    pos_label: Any,
) -> Read:
    """Read several forecasts of the same cases."""
    named = _named_forecasts(y_true, forecasts)
    first, *further = named
    names = ColumnNames(prob=first)  # a message is about the forecast with the bad value
    columns = as_columns(y_true, named[first], sample_weight, pos_label, names=names)
    rows, design, tables, _ = read_columns(columns)
    others = {name: _further_forecast(name, named[name], rows.outcome) for name in further}
    return rows.replace(others=others or None), design, tables, tuple(named)


def read_shares(
    y_true: ArrayLike,
    y_prob: ArrayLike | Mapping[str, ArrayLike],
    sample_weight: ArrayLike | None,
) -> Read:
    """Read one or several forecasts of cases whose outcomes are shares of the event."""
    forecasts = y_prob if isinstance(y_prob, Mapping) else {"y_prob": y_prob}
    named = _named_forecasts(y_true, forecasts)
    first, *further = named
    columns, case = split_shares(y_true, named[first], sample_weight, ColumnNames(prob=first))
    rows, _, tables, _ = read_columns(columns)
    is_first_part = np.append(True, case[1:] != case[:-1])
    n = int(np.count_nonzero(is_first_part & (np.asarray(columns.weight) > 0)))
    # any outcome of the cases before they were split: it is checked already
    whole = np.zeros(int(case[-1]) + 1, np.uint8)
    others = {name: _further_forecast(name, named[name], whole)[case] for name in further}
    divided = rows.replace(cases=is_first_part.astype(np.uint8), unit=case, others=others or None)
    tables = Tables(rows, n, tables.total_weight, tables.cells)
    names = tuple(named) if forecasts is y_prob else ()
    return divided, Design(shares=True), tables, names


def read_class_table(
    y_true: ArrayLike,
    y_prob: Any,
    sample_weight: ArrayLike | None,
    labels: Sequence[Any] | None,
    names: ColumnNames = USUAL_NAMES,
) -> Read:
    """Read predictions with a column for each class; two classes stay two, and are no event."""
    check_aligned((names.label, y_true), (names.prob, y_prob), (names.weight, sample_weight))
    occurred, prob, classes = read_classes(y_true, y_prob, labels, names)
    # counts and weights are those of the event that the most likely class occurs
    event, largest = top_label(occurred, prob)
    columns = as_columns(event, largest, sample_weight, names=names)
    top_rows, design, tables, _ = read_columns(columns)
    rows = top_rows.replace(outcome=occurred, prob=prob, classes=tuple(classes))
    return rows, design, tables, ()


def attach(
    rows: Rows, design: Design, groups: Any, by: Any, *columns: tuple[str, Any]
) -> tuple[Rows, Design]:
    """Return the same cases with the group and the segment of each, as the caller gives them
    beside other columns.
    """
    n = len(rows)
    case: Any = slice(None)  # each entry is a case
    if design.shares:
        case = rows.case_of_entry()
        n = int(case[-1]) + 1
    segments = () if by is None else named_columns(by)
    check_aligned(*columns, ("groups", groups), *segments)
    if groups is not None:
        rows = rows.replace(unit=numbered_groups(groups, n)[case])
        design = replace(design, clusters="cases")
    if by is not None:
        rows = rows.replace(segment=segment_column(by, n).take(case))
    return rows, design


def _named_forecasts(y_true: Any, forecasts: Mapping[Any, Any]) -> dict[str, Any]:
    """Return forecasts by their names as text, after checking that their rows are aligned."""
    named = {str(name): prob for name, prob in forecasts.items()}
    if not named or len(named) < len(forecasts):
        names = [str(name) for name in forecasts]
        raise InputError(
            f"y_prob must name at least one forecast, and each once; the names are {names}"
        )
    check_aligned(("y_true", y_true), *named.items())
    return named


def _further_forecast(name: str, prob: ArrayLike, outcome: Array) -> Array:
    """Return the checked predictions of another forecast for cases with these outcomes."""
    read = as_probabilities(prob, name)
    check_same_length("y_true", outcome, name, read)
    Columns(outcome, read, None, ColumnNames(prob=name)).check()
    return read
