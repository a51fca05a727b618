"""Numbers, tables and paragraphs as text and as HTML."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Container, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from html import escape
from typing import Any

from rainproof.errors import one_line as one_line  # for all text that has names of users in it

WIDTH = 80  # of a line on a terminal


def at_most(share: float) -> str:
    """Format an upper bound in percent to three digits, rounded up so that it stays a bound."""
    return _percent(share, ROUND_CEILING)


def at_least(share: float) -> str:
    """Format a lower bound in percent to three digits, rounded down so that it stays a bound."""
    return _percent(share, ROUND_FLOOR)


def rounded(value: float, decimals: int) -> str:
    """Format a number with so many decimals; a half goes up, also where the last bits of a sum are
    below it.

    What is rounded to 0 has no sign.
    """
    # through 12 digits, as a sum of tenths can lie below the half that it stands for
    unit = Decimal(1).scaleb(-decimals)
    number = Decimal(f"{value:.12g}").quantize(unit, ROUND_HALF_UP, Context(prec=400))
    if number == 0:
        number = abs(number)
    return f"{number:,f}"


_SMALLEST_P = 0.001
"""A p-value below this is printed as "p < 0.001": no decision hangs on how far below it is."""


def p_value(value: float) -> str:
    """Format a p-value to two digits, rounded up: it is nowhere printed smaller than it is."""
    if value < _SMALLEST_P:
        return f"p < {_SMALLEST_P}"
    return f"p = {_two_digits_up(value)}"


def p_cell(value: float) -> str:
    """Format a p-value in the same way for a column of them, which has its name in the head."""
    if value < _SMALLEST_P:
        return f"< {_SMALLEST_P}"
    return _two_digits_up(value)


def _two_digits_up(value: float) -> str:
    return f"{Decimal(str(value)).normalize(Context(prec=2, rounding=ROUND_CEILING)):f}"


def percent(share: float) -> str:
    """Format a share as people write it: 95%, 99.9%."""
    return f"{round(100 * share, 6):g}%"


def rows(n: float) -> str:
    """Format a number of rows, which need not be whole where rows are weighted or split."""
    if n == 1:
        return "1 row"
    return f"{n:,.6g} rows" if n < 1e6 else f"{n:,.0f} rows"


def these_rows(n: float) -> str:
    """Name the rows that a sentence is about."""
    return "this row" if n == 1 else f"these {rows(n)}"


def short(name: str, most: int = 60) -> str:
    """Return a name cut to at most so many characters, with dots at the end if it was longer."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def aligned(table: Sequence[Sequence[str]], left: int | Container[int] = 0) -> list[str]:
    """Return the rows of a table as lines with columns of one width; no cell can break them.

    The columns numbered in `left`, or the first `left` columns, are aligned left, the others right.
    """
    to_left = range(left) if isinstance(left, int) else left
    columns = []
    for number, column in enumerate(zip(*table, strict=True)):
        cells = [one_line(cell) for cell in column]
        width = max(len(cell) for cell in cells)
        adjust = str.ljust if number in to_left else str.rjust
        columns.append([adjust(cell, width) for cell in cells])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def html_element(tag: str, inside: str, **attributes: str) -> str:
    """Return an element of HTML around what is HTML already; an underscore in the name of an
    attribute is a dash.
    """
    start = tag
    for key, value in attributes.items():
        name = key.strip("_").replace("_", "-")
        start += f' {name}="{escape(value)}"'
    return f"<{start}>{inside}</{tag}>"


def html_rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return the rows of a table in HTML: the first holds the names of the columns, if there are
    any.
    """
    rows = [_html_row("td", row) for row in body]
    if head:
        rows.insert(0, _html_row("th", head))
    return "".join(rows)


def _html_row(tag: str, row: Sequence[str]) -> str:
    cells = [html_element(tag, escape(one_line(cell))) for cell in row]
    return html_element("tr", "".join(cells))


def finite(value: float | None) -> float | None:
    """Return a number for JSON: None where it is infinite or NaN."""
    return value if value is not None and math.isfinite(value) else None


def json_key(key: Any) -> Any:
    """Return the name of a segment for JSON: a list for several columns; text for dates, infinities
    and the like.
    """
    if isinstance(key, tuple):
        return [json_key(value) for value in key]
    if isinstance(key, float) and not math.isfinite(key):
        return str(key)
    return key if key is None or isinstance(key, bool | int | float | str) else str(key)


def _percent(share: float, rounding: str) -> str:
    return f"{Decimal(100 * share).normalize(Context(prec=3, rounding=rounding)):f}%"


def wrapped(text: str) -> str:
    """Break a paragraph into lines that fit a terminal; line ends in names are escaped."""
    return textwrap.fill(one_line(text), WIDTH, break_long_words=False, break_on_hyphens=False)


_ROWS_SHOWN = 9  # of a table: the ends, and some between
_MAX_LIST_IN_CELL = 4  # values; a longer list is a column
_KEYS_OF_FILES = ("result", "format", "version")  # they are about the file, not about the result


def html_text(text: str) -> str:
    """Return each line of a text as a paragraph; lines that are columns stay aligned."""
    parts: list[str] = []
    in_columns = False
    for line in text.split("\n"):
        was_in_columns = in_columns
        in_columns = "  " in line.strip() or (in_columns and line.startswith("  "))
        if in_columns and was_in_columns:
            parts[-1] = f"{parts[-1].removesuffix('</pre>')}\n{escape(line)}</pre>"
        elif in_columns:
            parts.append(html_element("pre", escape(line)))
        elif line.strip():
            parts.append(html_element("p", escape(line.strip())))
    return "".join(parts)


def html_fields(fields: Mapping[str, Any]) -> str:
    """Return what `to_dict` returned: single values in one table, lists of one length as columns of
    another.
    """
    single = []
    tables = []
    columns: dict[int, dict[str, list[Any]]] = {}  # by their length
    for name, value in fields.items():
        words = name.replace("_", " ")
        if isinstance(value, list) and value and isinstance(value[0], dict):
            tables.append(_records(value))
        elif isinstance(value, list) and len(value) > _MAX_LIST_IN_CELL:
            columns.setdefault(len(value), {})[words] = value
        elif name not in _KEYS_OF_FILES:
            cells = html_element("th", escape(words)) + html_element("td", escape(cell(value)))
            single.append(html_element("tr", cells))
    if single:
        tables.insert(0, html_element("table", "".join(single)))
    for size in sorted(columns):
        if size - 1 in columns:  # edges: each row begins at one
            starts = {name: edges[:-1] for name, edges in columns.pop(size).items()}
            columns[size - 1] = starts | columns[size - 1]
    for size, named in columns.items():
        places = sorted({round(k * (size - 1) / (_ROWS_SHOWN - 1)) for k in range(_ROWS_SHOWN)})
        shown = {name: [column[place] for place in places] for name, column in named.items()}
        tables.append(_table(shown, size))
    return "".join(tables)


def _records(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first rows, without columns that are empty."""
    columns = {}
    for name in rows[0]:
        column = [row[name] for row in rows]
        if any(value is not None for value in column):
            columns[name.replace("_", " ")] = column[:_ROWS_SHOWN]
    return _table(columns, len(rows))


def _table(columns: Mapping[str, list[Any]], size: int) -> str:
    """A table of some of `size` rows, given by columns of one length."""
    cells = [[cell(value) for value in column] for column in columns.values()]
    body = list(zip(*cells, strict=True))
    inside = html_rows(list(columns), body)
    if len(body) < size:
        inside = f"<caption>{len(body)} of {size:,} rows</caption>{inside}"
    return html_element("table", inside)


def cell(value: Any) -> str:
    """Return a value as the cell of a table."""
    if value is None:
        return "\u2013"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join([f"{one_line(str(name))} {cell(part)}" for name, part in value.items()])
    if isinstance(value, list):
        return ", ".join([cell(part) for part in value])
    return short(one_line(str(value)), 120)
