"""The parts of the page that are words and tables, written out so that they can be read without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

Dict = Mapping[str, Any]


class Column(NamedTuple):
    """One column of a table: its head, how to get the value from a row, and how to show it."""

    head: str
    value: Callable[[Any], Any]
    shown: Callable[[Any], str] | None = None  # None: the value is text


def number(value: float | None) -> str:
    """Three digits, as much as anyone can use."""
    return "\u2013" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """A share in percent."""
    return "\u2013" if share is None else f"{100 * share:.3g}%"


def count(value: float) -> str:
    """A number of things: 12,345."""
    return f"{value:,.0f}"


def interval(low: float | None, high: float | None, confidence_level: float) -> str:
    """The interval in words, or nothing where there is none."""
    return (
        "" if low is None or high is None else f"{percent(confidence_level)} interval {number(low)} to {number(high)}"
    )


def items(texts: Iterable[str]) -> str:
    """List items of plain text."""
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def table(caption: str, name: str, columns: Sequence[Column], rows: Sequence[Any], *, mark: str | None = None) -> str:
    """A table that scripts make sortable and downloadable; numbers are kept whole beside what is shown.

    Rows are marked with the class `mark` where they have a true value of that name.
    """
    head = "".join(f'<th scope="col"{_kind(column)}>{escape(column.head)}</th>' for column in columns)
    body = []
    for index, row in enumerate(rows):
        flag = f' class="{mark}"' if mark is not None and row[mark] else ""
        body.append(f'<tr data-row="{index}"{flag}>{"".join(_cell(column, row) for column in columns)}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table class="{name}" data-name="{name}"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def folded(summary: str, inside: str) -> str:
    """Something that is there for whoever opens it."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def columns_of(arrays: Dict, *names: str) -> list[dict[str, Any]]:
    """Arrays of the same length as rows."""
    return [dict(zip(names, row, strict=True)) for row in zip(*(arrays[name] for name in names), strict=True)]


def _kind(column: Column) -> str:
    return "" if column.shown is None else ' class="number"'


def _cell(column: Column, row: Any) -> str:
    value = column.value(row)
    if column.shown is None:
        return f'<td class="text">{escape(str(value))}</td>'
    exact = "" if value is None else repr(value)
    return f'<td class="number" data-value="{escape(exact)}">{escape(column.shown(value))}</td>'
