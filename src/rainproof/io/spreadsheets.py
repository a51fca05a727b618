"""Spreadsheets of any program: the first sheet, whose first row has the names of the columns."""

from __future__ import annotations

import warnings
from typing import Any

from rainproof.errors import InputError, RainproofWarning
from rainproof.io.column_types import BatchBuilder, as_integers, as_text
from rainproof.io.locations import Batches, Location
from rainproof.io.source_errors import check_columns, need

ROWS_PER_BATCH = 1 << 16


def read_spreadsheet(file: Location, columns: list[str], others: bool) -> Batches:
    """Yield the rows of the first sheet; empty rows are no rows.

    With `others` it has all columns.
    """
    rows = _filled_rows(file)
    available = [as_text(name) or "" for name in rows[0]]
    check_columns(file.name, columns, available)
    names = available if others else columns
    places = range(len(available)) if others else [available.index(name) for name in columns]
    cells = [_cells(rows[1:], place) for place in places]
    # As a whole: a column has one type.
    table = BatchBuilder(file.name).build(names, cells)
    for start in range(0, table.num_rows, ROWS_PER_BATCH):
        yield table.slice(start, ROWS_PER_BATCH)


def _filled_rows(file: Location) -> list[list[Any]]:
    """Return the rows of the first sheet that are not empty."""
    calamine = need(
        "python_calamine", "reading a spreadsheet", "python-calamine", "python-calamine"
    )
    try:
        with file.open() as stream:
            workbook = calamine.load_workbook(stream)
            rows = workbook.get_sheet_by_index(0).to_python()
    except calamine.CalamineError as error:
        raise InputError(f"cannot read {file.name}: {error}") from None
    sheet = workbook.sheets_metadata[0]
    if sheet.visible != calamine.SheetVisibleEnum.Visible:
        text = f"the first sheet of {file.name}, {sheet.name!r}, is hidden; its rows are read"
        warnings.warn(text, RainproofWarning, stacklevel=3)
    filled = [row for row in rows if any(value != "" for value in row)]
    if not filled:
        raise InputError(f"the first sheet of {file.name} is empty")
    return filled


def _cells(rows: list[list[Any]], place: int) -> list[Any]:
    """Return the cells of a column: empty ones as None.

    All numbers of a spreadsheet are doubles: they are integers if all of the column are whole.
    """
    cells = [None if row[place] == "" else row[place] for row in rows]
    return as_integers(cells)
