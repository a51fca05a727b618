"""Text files with separated columns: CSV and its relatives."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any

from rainproof.errors import InputError
from rainproof.io.locations import Batches, Location
from rainproof.io.opening import HEAD_ROWS, OpenFile, ReadOptions
from rainproof.io.source_errors import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from rainproof.io.formats import Write

BLOCK_BYTES = 1 << 20  # read at a time; the longest line must fit
# At the start, where Parquet, spreadsheets and compressed files have zero bytes.
_BINARY_CHECK_BYTES = 1 << 12


class TextFile(OpenFile):
    """An open text file, whose values are read as text: how they are read as numbers is decided,
    and errors counted, later.

    Parameters
    ----------
    file : Location
        The file.
    options : ReadOptions
        How its text is cut into values.
    usual_separators : str
        What may separate its columns: the first that is in its first line does.
    """

    def __init__(self, file: Location, options: ReadOptions, *, usual_separators: str) -> None:
        self._file = file
        self._stream = file.stream()
        # Two blocks: Arrow parses the first, and sees by the second where its last row ends.
        self._start = [self._stream.read_buffer(BLOCK_BYTES) for _ in range(2)]
        first_block = self._start[0].to_pybytes()
        if b"\0" in first_block[:_BINARY_CHECK_BYTES]:
            raise InputError(
                f"{file.name} does not hold text, though its name says so: "
                "is it Parquet, compressed, a spreadsheet or UTF-16?"
            )
        self._separator = options.sep or find_separator(first_block, usual_separators)
        with self._parse_errors(), self._parsed_start() as header:
            self._names: list[str] = header.schema.names
        # With several columns an empty line lacks its separators: it is no row.
        keeps_empty = options.keep_missing and len(self._names) == 1
        self._empty_lines_above = _empty_lines_above(first_block) if keeps_empty else None

    def head(self) -> pa.RecordBatch | None:
        """Return the rows of the first block."""
        import pyarrow as pa

        as_text = dict.fromkeys(self._names, pa.string())
        with self._parse_errors(), self._parsed_start(column_types=as_text) as batches:
            batch = next(iter(batches), None)
        if batch is None:
            self._refuse_unclosed()  # the header may have taken in all rows
        return None if batch is None else batch.slice(0, HEAD_ROWS)

    def batches(self, columns: list[str], others: bool) -> Batches:
        """Yield the rows.

        With `others` every value is kept as it is, for a copy; without, an empty one is null.
        """
        import pyarrow as pa

        # Here, as it needs NumPy: help of the command does without it.
        from rainproof.io.unclosed_quotes import LineCounter, find_unclosed

        check_columns(self._file.name, columns, self._names)
        conversions: dict[str, Any] = {}
        if not others:
            conversions["include_columns"] = columns
            conversions["strings_can_be_null"] = True
            conversions["null_values"] = [""]
        # As text: Arrow's own guess of a type is made on the first block and fails on later ones.
        conversions["column_types"] = dict.fromkeys(self._names if others else columns, pa.string())
        # Arrow reads a value with an open quote to the end of the file: fewer rows than lines show
        # it.
        lines = LineCounter(self._start, self._stream)
        rows = 1  # the header
        with (
            self._parse_errors(),
            self._parsed(
                pa.PythonFile(lines, mode="r"),
                empty_lines_above=self._empty_lines_above,
                **conversions,
            ) as batches,
        ):
            for batch in batches:
                rows += batch.num_rows
                yield batch
        if not lines.has_quotes:
            return
        # With as many rows as lines no value takes in a line end: only the last line may have a
        # quote that is not closed.
        is_last_unclosed = find_unclosed([lines.last_line], self._separator) is not None
        if rows != lines.lines or is_last_unclosed:
            self._refuse_unclosed()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _parsed_start(self, **conversions: Any) -> Any:
        """Open Arrow's reader of the start of the file, of whose blocks the first one is whole."""
        import pyarrow as pa

        start = b"".join([block.to_pybytes() for block in self._start])
        return self._parsed(pa.BufferReader(start), **conversions)

    def _parsed(
        self, stream: Any, *, empty_lines_above: int | None = None, **conversions: Any
    ) -> Any:
        """Open Arrow's reader of CSV.

        Empty lines are no rows, unless it is said how many of them stand above the header.
        """
        from pyarrow import csv

        return csv.open_csv(
            stream,
            read_options=csv.ReadOptions(block_size=BLOCK_BYTES, skip_rows=empty_lines_above or 0),
            parse_options=csv.ParseOptions(
                delimiter=self._separator,
                newlines_in_values=True,
                ignore_empty_lines=empty_lines_above is None,
            ),
            convert_options=csv.ConvertOptions(**conversions),
        )

    @contextmanager
    def _parse_errors(self) -> Iterator[None]:
        """Find what is wrong where Arrow cannot parse the file."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid:
            # A value whose quote is not closed may be longer than a block, or take in half of a
            # line.
            self._refuse_unclosed()
            first_block = self._start[0].to_pybytes()
            if len(first_block) == BLOCK_BYTES and b"\n" not in first_block:
                rule = f"its first line is longer than {BLOCK_BYTES:,} bytes"
                raise InputError(f"cannot read {self._file.name}: {rule}") from None
            raise

    def _refuse_unclosed(self) -> None:
        """Refuse a text file with a quote that is not closed; this reads it again."""
        from rainproof.io.unclosed_quotes import find_unclosed

        with self._file.stream() as stream:
            blocks = iter(partial(stream.read, BLOCK_BYTES), b"")
            place = find_unclosed(blocks, self._separator)
        if place is None:
            return
        line = 1 + _line_ends_before(self._file, place)
        raise InputError(
            f"line {line:,} of {self._file.name} has a quote that is not closed, and would take in "
            'the lines below it: close it, or write it twice ("") where it belongs to the text'
        )


def find_separator(start: bytes, usual_separators: str) -> str:
    """Return the first of the usual separators that is in the first line of a text file."""
    # A block may end inside of a character; errors are for who reads the rows.
    text = start.decode("utf-8", "replace")
    outside_quotes = "".join(text.split('"')[::2])  # what is between quotes separates nothing
    lines = [line for line in outside_quotes.splitlines() if line]
    if lines:
        for separator in usual_separators:
            if separator in lines[0]:
                return separator
    return usual_separators[0]


def _empty_lines_above(start: bytes) -> int:
    """Count the empty lines above the header."""
    line_ends = len(start) - len(start.lstrip(b"\r\n"))
    return start[:line_ends].count(b"\n")


def _line_ends_before(file: Location, place: int) -> int:
    """Count the line ends in the first bytes of a file; \\r\\n is one."""
    line_ends = 0
    last_byte = b""  # of the block before: it may be the \r of a \r\n
    with file.stream() as stream:
        while place and (block := stream.read(min(place, BLOCK_BYTES))):
            place -= len(block)
            line_ends += block.count(b"\n") + block.count(b"\r")
            line_ends -= (last_byte + block).count(b"\r\n")
            last_byte = block[-1:]
    return line_ends


def lines_of_rows(file: Location, options: ReadOptions, *, usual_separators: str) -> Iterator[int]:
    """Yield the line on which each row ends, counted from 1, for messages; this reads the file
    again.

    A header comes first, and empty lines are no rows.
    """
    separator = options.sep
    if separator is None:
        with file.stream() as stream:
            separator = find_separator(stream.read(BLOCK_BYTES), usual_separators)
    with TextIOWrapper(file.stream(), encoding="utf-8", newline="") as text:
        reader = csv.reader(text, delimiter=separator)
        header = next((cells for cells in reader if cells), [])
        keeps_empty = options.keep_missing and len(header) == 1
        for cells in reader:
            if cells or keeps_empty:
                yield reader.line_num


@contextmanager
def write_text_file(file: IO[bytes], separator: str) -> Iterator[Write]:
    """Write lines of text with a header; a value is quoted only if it must be, and a missing one is
    empty.
    """
    yield _LineWriter(file, separator).write


class _LineWriter:
    """Writes the names of the columns, then a line for each row."""

    def __init__(self, file: IO[bytes], separator: str) -> None:
        self._file = file
        self._separator = separator
        self._has_header = False

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch."""
        import pyarrow as pa

        names = batch.schema.names
        if not self._has_header:
            self._append(names, [pa.array([name], pa.large_string()) for name in names])
            self._has_header = True
        self._append(names, batch.columns)

    def _append(self, names: list[str], columns: list[pa.Array]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        values = [self._quoted(column, name) for name, column in zip(names, columns, strict=True)]
        # Whole columns at once, not row by row.
        separator = pa.scalar(self._separator, pa.large_string())
        lines: list[str] = pc.binary_join_element_wise(*values, separator).to_pylist()
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def _quoted(self, column: pa.Array, name: str) -> pa.Array:
        """Return a column as text, with quotes where a value would break the lines."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            values = pc.fill_null(pc.cast(column, pa.large_string()), "")
        except pa.ArrowException:
            held = f"it holds values of type {column.type}"
            raise InputError(f"{name} cannot be written as text: {held}") from None
        is_special = pc.match_substring_regex(values, f'[{self._separator}"\r\n]')
        if not pc.any(is_special).as_py():
            return values
        quote = pa.scalar('"', pa.large_string())
        nothing = pa.scalar("", pa.large_string())
        doubled = pc.replace_substring(values, '"', '""')
        quoted = pc.binary_join_element_wise(quote, doubled, quote, nothing)
        return pc.if_else(is_special, quoted, values)
