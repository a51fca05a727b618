"""Files of single values rather than columns, JSON lines and spreadsheets, as Arrow record batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from rainproof.engines.checks import check_columns
from rainproof.engines.locations import Location
from rainproof.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 1 << 16  # rows


def read_json_lines(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with one JSON object a line; a key that a line does not have is a missing value."""
    with file.stream() as stream:
        records = _objects(file, stream)
        names: list[str] | None = None
        while batch := list(islice(records, _BATCH)):
            if names is None:
                available = list(dict.fromkeys(name for one in batch for name in one))
                check_columns(file.name, columns, available)
                names = available if others else columns
            yield as_batch(names, [[one.get(name) for one in batch] for name in names])


def _objects(file: Location, stream: Any) -> Iterator[Mapping[str, Any]]:
    number = 0
    rest = b""
    while block := stream.read(1 << 20):
        *lines, rest = (rest + block).split(b"\n")
        yield from _parsed(file, lines, number)
        number += len(lines)
    yield from _parsed(file, [rest], number)


def _parsed(file: Location, lines: Sequence[bytes], before: int) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(lines, before + 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number:,} of {file.name} must be JSON: {error}") from None
        if not isinstance(record, dict):
            raise InputError(f'line {number:,} of {file.name} must be a JSON object such as {{"p": 0.7, "y": 1}}')
        yield record


class JsonLinesWriter:
    """One JSON object a line; a missing value is null."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch."""
        lines = (json.dumps(row, default=str, ensure_ascii=False) for row in batch.to_pylist())
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_spreadsheet(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the first sheet, whose first row has the names of the columns; empty rows are no rows."""
    try:
        import python_calamine
    except ImportError:
        raise MissingExtraError("reading a spreadsheet", "python-calamine", "python-calamine") from None
    try:
        with file.open() as stream:
            rows = python_calamine.load_workbook(stream).get_sheet_by_index(0).to_python()
    except python_calamine.CalamineError as error:
        raise InputError(f"cannot read {file.name}: {error}") from None
    filled = [row for row in rows if any(value != "" for value in row)]
    if not filled:
        raise InputError(f"the first sheet of {file.name} is empty")
    available = [str(name) for name in filled[0]]
    check_columns(file.name, columns, available)
    names = available if others else columns
    places = [available.index(name) for name in names]
    for start in range(1, len(filled), _BATCH):
        part = filled[start : start + _BATCH]
        yield as_batch(names, [_cells([row[at] for row in part]) for at in places])


def _cells(values: list[Any]) -> list[Any]:
    """Return the cells of a column: empty ones as None, and numbers, which are all doubles, as integers if all are."""
    cells = [None if value == "" else value for value in values]
    if all(cell is None or (isinstance(cell, float) and cell.is_integer() and abs(cell) < 1 << 53) for cell in cells):
        return [None if cell is None else int(cell) for cell in cells]
    return cells


def as_batch(names: Sequence[str], columns: Sequence[list[Any]]) -> pa.RecordBatch:
    """Return columns of Python values; one with values of types that do not go together is text."""
    import pyarrow as pa

    def column(values: list[Any]) -> pa.Array:
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError):
            texts = [None if v is None else v if isinstance(v, str) else json.dumps(v, default=str) for v in values]
            return pa.array(texts, pa.string())

    return pa.RecordBatch.from_arrays([column(values) for values in columns], names=list(names))
