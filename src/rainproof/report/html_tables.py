"""Tables and lists of the page, written out so that they can be read without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from rainproof.core.text import finite, short


class Column(NamedTuple):
    """One column of a table: its head, how to get the value from a row, and how to show it."""

    head: str
    value: Callable[[Any], Any]
    shown: Callable[[Any], str] | None = None  # None: the value is text; short: a name, whose cell has a title if cut


def number(value: float | None) -> str:
    """Format a number to three digits."""
    return "\u2013" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Format a share in percent."""
    return "\u2013" if share is None else f"{100 * share:.3g}%"


def count(value: float) -> str:
    """Format a number of things: 12,345."""
    return f"{value:,.0f}"


def items(texts: Iterable[str]) -> str:
    """Return list items of plain text."""
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def table(
    caption: str,
    name: str,
    columns: Sequence[Column],
    rows: Sequence[Any],
    *,
    flagged: Callable[[Any], bool] = lambda _: False,
    order: Iterable[int] | None = None,
) -> str:
    """Return a table that scripts make sortable and downloadable; cells keep numbers at full precision.

    Rows for which `flagged` is true get the class of that name. `order` is that of the rows, by index.
    """
    head = "".join(f'<th scope="col"{_kind(column)}>{escape(column.head)}</th>' for column in columns)
    body = []
    for index in range(len(rows)) if order is None else order:
        row = rows[index]
        flag = ' class="flagged"' if flagged(row) else ""
        body.append(f'<tr data-row="{index}"{flag}>{"".join(_cell(column, row) for column in columns)}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table class="{name}" data-name="{name}"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def folded(summary: str, inside: str) -> str:
    """Return something that readers can unfold."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def keys(lines: Iterable[tuple[str, str]]) -> str:
    """The keys of a chart: each name beside its line, or band."""
    found = "".join(
        f'<li><svg width="22" height="10" aria-hidden="true"><path class="key-{kind}" d="M0,5H22"/></svg>'
        f"{escape(name)}</li>"
        for kind, name in lines
    )
    return f'<ul class="keys">{found}</ul>'


def _kind(column: Column) -> str:
    return "" if column.shown in (None, short) else ' class="number"'


def _cell(column: Column, row: Any) -> str:
    value = column.value(row)
    if column.shown is None:
        return f'<td class="text">{escape(str(value))}</td>'
    if column.shown is short:
        title = "" if short(value) == value else f' title="{escape(value)}"'
        return f'<td class="text"{title}>{escape(short(value))}</td>'
    value = finite(value)  # an infinite log score has no digits
    exact = "" if value is None else repr(value)
    return f'<td class="number" data-value="{escape(exact)}">{escape(column.shown(value))}</td>'
