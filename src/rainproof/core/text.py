"""Numbers in sentences (percentages that stay bounds when rounded, counts of rows), names, and values in JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from typing import Any

WIDTH = 80  # of a line on a terminal
KEEPS_RANKING = "compared with the best correction that keeps the ranking"  # a monotone recalibration


def at_most(share: float) -> str:
    """Format an upper bound in percent to three digits, rounded up so that it stays a bound."""
    return _percent(share, ROUND_CEILING)


def at_least(share: float) -> str:
    """Format a lower bound in percent to three digits, rounded down so that it stays a bound."""
    return _percent(share, ROUND_FLOOR)


def percent(share: float) -> str:
    """Format a share as people write it: 95%, 99.9%."""
    return f"{round(100 * share, 6):g}%"


def rows(n: float) -> str:
    """Format a number of rows, which need not be whole where rows are weighted or split."""
    return "1 row" if n == 1 else f"{n:,.6g} rows" if n < 1e6 else f"{n:,.0f} rows"


def short(name: str, most: int = 60) -> str:
    """Return a name cut to at most so many characters, with dots at the end if it was longer."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def aligned(table: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Return the rows of a table as lines with columns of one width; the first `left` columns are aligned left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    cells = (
        [c.ljust(w) if k < left else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))]
        for row in table
    )
    return ["  ".join(row).rstrip() for row in cells]


def html_rows(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return the rows of a table in HTML: the first holds the names of the columns."""
    rows = [("th", head), *(("td", row) for row in body)]
    return "".join(f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in row)}</tr>" for tag, row in rows)


def finite(value: float | None) -> float | None:
    """Return a number for JSON: None where it is infinite or NaN."""
    return value if value is not None and math.isfinite(value) else None


def json_key(key: Any) -> Any:
    """Return the name of a segment for JSON: a list for several columns; text for dates, infinities and the like."""
    if isinstance(key, tuple):
        return [json_key(value) for value in key]
    plain = key is None or isinstance(key, bool | int | str) or (isinstance(key, float) and math.isfinite(key))
    return key if plain else str(key)


def _percent(share: float, rounding: str) -> str:
    return f"{Decimal(100 * share).normalize(Context(prec=3, rounding=rounding)):f}%"


def wrapped(text: str) -> str:
    """Break a text into lines that fit a terminal."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
