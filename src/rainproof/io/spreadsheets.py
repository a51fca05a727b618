"""Spreadsheets of any program: the first sheet, whose first row has the names of the columns."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from rainproof.errors import InputError, RainproofWarning
from rainproof.io.column_types import BatchBuilder, as_integers, as_text
from rainproof.io.locations import Batches, Location
from rainproof.io.opening import HEAD_ROWS, ROWS_PER_BATCH, OpenFile, ReadOptions
from rainproof.io.source_errors import check_columns, need

if TYPE_CHECKING:
    import pyarrow as pa


class Spreadsheet(OpenFile):
    """The first sheet of an open spreadsheet; empty rows are no rows."""

    def __init__(self, file: Location, _options: ReadOptions) -> None:
        calamine = need(
            "python_calamine", "reading a spreadsheet", "python-calamine", "python-calamine"
        )
        try:
            with file.open() as stream:
                workbook = calamine.load_workbook(stream)
                rows = workbook.get_sheet_by_index(0).to_python()
        except calamine.CalamineError as error:
            raise InputError(f"cannot read {file.name}: {error}") from None
        filled = [row for row in rows if any(value != "" for value in row)]
        if not filled:
            raise InputError(f"the first sheet of {file.name} is empty")
        self._file = file
        self._sheet = workbook.sheets_metadata[0]
        self._is_hidden = self._sheet.visible != calamine.SheetVisibleEnum.Visible
        self._names = [as_text(name) or "" for name in filled[0]]
        self._rows = filled[1:]

    def head(self) -> pa.RecordBatch | None:
        """Return the first rows."""
        return self._table(None).slice(0, HEAD_ROWS) if self._rows else None

    def batches(self, columns: list[str], others: bool) -> Batches:
        """Yield the rows."""
        # Here, as who looks at the head alone is not told.
        if self._is_hidden:
            name = self._sheet.name
            text = f"the first sheet of {self._file.name}, {name!r}, is hidden; its rows are read"
            warnings.warn(text, RainproofWarning, stacklevel=3)
        check_columns(self._file.name, columns, self._names)
        table = self._table(None if others else columns)
        for start in range(0, table.num_rows, ROWS_PER_BATCH):
            yield table.slice(start, ROWS_PER_BATCH)

    def close(self) -> None:
        """Do nothing: the file is closed once its cells are decoded."""

    def _table(self, columns: list[str] | None) -> pa.RecordBatch:
        """Return all rows, with these columns or with all, as one batch: a column has one type."""
        # By place, as a name that nobody asks for may be there twice.
        places = list(range(len(self._names)))
        if columns is not None:
            places = [self._names.index(name) for name in columns]
        names = [self._names[place] for place in places]
        cells = [_cells(self._rows, place) for place in places]
        return BatchBuilder(self._file.name).build(names, cells)


def _cells(rows: list[list[Any]], place: int) -> list[Any]:
    """Return the cells of a column: empty ones as None.

    All numbers of a spreadsheet are doubles: they are integers if all of the column are whole.
    """
    cells = [None if row[place] == "" else row[place] for row in rows]
    return as_integers(cells)
