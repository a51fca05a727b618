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
# a monotone recalibration
KEEPS_RANKING = "compared with the best correction that keeps the ranking"


SAME_GIVEN_OUTCOME = (
    "predictions, given the outcome, are distributed there as where these rows came from"
)
"""What a base rate assumes."""


def population(base_rate: float | tuple[float, float]) -> str:
    """Name the population that a base rate describes."""
    if isinstance(base_rate, tuple):
        return f"a population with a base rate between {percent(base_rate[0])} and {percent(base_rate[1])}"
    return f"a population with a base rate of {percent(base_rate)}"


INDEPENDENT = "not depend on predictions or outcomes"
"""What is assumed of weights and of sizes of groups, where the largest weight is not stated."""


def what_varies(groups: int | None, *, weighted: bool) -> str:
    """Name what must be fixed where the largest weight is not stated; nothing if all rows count
    alike.
    """
    names = ["sizes"] * (groups is not None) + ["weights"] * weighted
    return " and ".join(names)


def no_heavier(groups: int | None, max_weight: float) -> str:
    """What a stated largest weight of a draw assumes."""
    return f"no {'row' if groups is None else 'group'} can weigh more than {max_weight:,.12g}"


def if_drawn(
    groups: int | None,
    used: str,
    base_rate: float | tuple[float, float] | None = None,
    max_weight: float | None = None,
    *,
    weighted: bool = False,
) -> str:
    """What a proof rests on, after "if", and which population it is about.

    `weighted` says whether rows have weights. Without a stated largest weight, these (and the
    sizes of groups) must be fixed: if they go with the predictions, a few heavy rows that the
    sample happens to lack can make up most of the population, also where all weights that it has
    are equal.
    """
    one, many = ("row", "rows") if groups is None else ("group", f"{groups:,} groups of rows")
    drawn = f"the {many} were drawn independently"
    if base_rate is not None:
        about = f"{population(base_rate)}, and assumes that {SAME_GIVEN_OUTCOME}"
        return f"{drawn} given their outcomes. All of this is about {about}"
    if max_weight is not None:
        about = f"the population in which each {one} counts with its weight"
        return f"{drawn}, and {no_heavier(groups, max_weight)}. All of this is about {about}"
    found = f"{drawn} from the population in which {used} will be used"
    fixed = what_varies(groups, weighted=weighted)
    return f"{found}, and their {fixed} do {INDEPENDENT}" if fixed else found


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
    found = Decimal(f"{value:.12g}").quantize(
        Decimal(1).scaleb(-decimals), ROUND_HALF_UP, Context(prec=400)
    )
    return f"{found if found else abs(found):,f}"


_SMALLEST_P = 0.001
"""A p-value below this is printed as "p < 0.001": no decision hangs on how far below it is."""


def p_value(value: float) -> str:
    """Format a p-value to two digits, rounded up, so that it is nowhere printed smaller than it is."""
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
    return "1 row" if n == 1 else f"{n:,.6g} rows" if n < 1e6 else f"{n:,.0f} rows"


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
    table = [list(map(one_line, row)) for row in table]
    to_left = range(left) if isinstance(left, int) else left
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    cells = (
        [
            c.ljust(w) if k in to_left else c.rjust(w)
            for k, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        for row in table
    )
    return ["  ".join(row).rstrip() for row in cells]


def html_element(tag: str, inside: str, **attributes: str) -> str:
    """Return an element of HTML around what is HTML already; an underscore in the name of an
    attribute is a dash.
    """
    named = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return f"<{tag}{named}>{inside}</{tag}>"


def html_rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return the rows of a table in HTML: the first holds the names of the columns, if there are
    any.
    """
    rows = [*([("th", head)] if head else []), *(("td", row) for row in body)]
    return "".join(
        html_element("tr", "".join(html_element(tag, escape(one_line(cell))) for cell in row))
        for tag, row in rows
    )


def finite(value: float | None) -> float | None:
    """Return a number for JSON: None where it is infinite or NaN."""
    return value if value is not None and math.isfinite(value) else None


def json_key(key: Any) -> Any:
    """Return the name of a segment for JSON: a list for several columns; text for dates, infinities
    and the like.
    """
    if isinstance(key, tuple):
        return [json_key(value) for value in key]
    plain = (
        key is None
        or isinstance(key, bool | int | str)
        or (isinstance(key, float) and math.isfinite(key))
    )
    return key if plain else str(key)


def _percent(share: float, rounding: str) -> str:
    return f"{Decimal(100 * share).normalize(Context(prec=3, rounding=rounding)):f}%"


def wrapped(text: str) -> str:
    """Break a paragraph into lines that fit a terminal; line ends in it are of names, and escaped."""
    return textwrap.fill(one_line(text), WIDTH, break_long_words=False, break_on_hyphens=False)


_MOST = 9  # rows of a table
_FEW = 4  # a longer list is a column
_ABOUT = ("result", "format", "version")  # of the file, not of the result


def html_text(text: str) -> str:
    """Return each line of a text as a paragraph; lines that are columns stay aligned."""
    parts, columns = list[str](), False
    for line in text.split("\n"):
        before, columns = columns, "  " in line.strip() or (columns and line.startswith("  "))
        if columns and before:
            parts[-1] = f"{parts[-1].removesuffix('</pre>')}\n{escape(line)}</pre>"
        elif columns or line.strip():
            parts.append(
                f"<pre>{escape(line)}</pre>" if columns else f"<p>{escape(line.strip())}</p>"
            )
    return "".join(parts)


def html_fields(told: Mapping[str, Any]) -> str:
    """Return what `to_dict` told: single values in one table, lists of one length as columns of
    another.
    """
    single, columns, tables = [], dict[int, dict[str, list[Any]]](), []
    for name, value in told.items():
        words = name.replace("_", " ")
        if isinstance(value, list) and value and isinstance(value[0], dict):
            tables.append(_records(value))
        elif isinstance(value, list) and len(value) > _FEW:
            columns.setdefault(len(value), {})[words] = value
        elif name not in _ABOUT:
            single.append(f"<tr><th>{escape(words)}</th><td>{escape(cell(value))}</td></tr>")
    for size in sorted(columns):
        if size - 1 in columns:  # edges: each row begins at one
            columns[size - 1] = {
                name: edges[:-1] for name, edges in columns.pop(size).items()
            } | columns[size - 1]
    for size, named in columns.items():
        at = sorted({round(k * (size - 1) / (_MOST - 1)) for k in range(_MOST)})
        tables.append(
            _table(list(named), [[column[k] for column in named.values()] for k in at], size)
        )
    return (f"<table>{''.join(single)}</table>" if single else "") + "".join(tables)


def _records(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first rows, without columns that are empty."""
    head = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    body = [[row[name] for name in head] for row in rows[:_MOST]]
    return _table([name.replace("_", " ") for name in head], body, len(rows))


def _table(head: list[str], body: list[list[Any]], size: int) -> str:
    some = f"<caption>{len(body)} of {size:,} rows</caption>" if len(body) < size else ""
    return (
        f"<table>{some}{html_rows(head, [[cell(value) for value in row] for row in body])}</table>"
    )


def cell(value: Any) -> str:
    """Return a value as the cell of a table."""
    if value is None:
        return "\u2013"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{one_line(str(name))} {cell(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    return short(one_line(str(value)), 120)
