"""Tables as aligned text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a note, and rows of text; the first column is the name."""

    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = [
            "  ".join(
                _pad(cell, w, i == 0) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in lines
        ]
        return "\n".join(
            [self.title, *([self.note] if self.note else []), "", *(line.rstrip() for line in body)]
        )

    def markdown(self) -> str:
        rule = ["---", *["---:"] * (len(self.head) - 1)]
        rows = ["| " + " | ".join(row) + " |" for row in (self.head, rule, *self.rows)]
        return "\n".join([f"## {self.title}", "", *([self.note, ""] if self.note else []), *rows])


def _pad(cell: str, width: int, left: bool) -> str:
    return cell.ljust(width) if left else cell.rjust(width)


def size(n: int) -> str:
    """Format 10,000,000 as 1e7, other numbers in full."""
    zeros = len(str(n)) - 1
    return f"1e{zeros}" if n == 10**zeros and zeros >= 4 else f"{n:,}"


def figures(x: float) -> str:
    """Format with three significant digits, without powers of ten."""
    if x >= 100:
        return f"{x:,.0f}"
    return f"{x:.1f}" if x >= 10 else f"{x:.2f}" if x >= 1 else f"{x:.3f}"
