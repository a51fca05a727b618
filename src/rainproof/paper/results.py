"""The result of one part: tables, figures and text, and their files."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rainproof.core.atomic_write import write_atomic

Cell = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table of values with named columns.

    Attributes
    ----------
    name : str
        The name of its file, without ending.
    title : str
        The caption.
    columns : tuple of str
    rows : tuple of tuples
        Text, numbers and booleans; None for no value.
    printed : bool
        Whether the page and the command show it; if not (points of a picture), it is in its CSV file alone.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    printed: bool = True

    @classmethod
    def of(cls, name: str, title: str, rows: Sequence[Mapping[str, Cell]], *, printed: bool = True) -> Table:
        """Build a table from records that all have the same fields."""
        columns = tuple(rows[0])
        cells = tuple(tuple(row[c] for c in columns) for row in rows)
        return cls(name=name, title=title, columns=columns, rows=cells, printed=printed)

    def records(self) -> list[dict[str, Cell]]:
        """Return each row as a dict."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_csv(self) -> str:
        """Return the table as CSV, numbers in full precision."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        return out.getvalue()

    def to_markdown(self, *columns: str) -> str:
        """Return some columns as a table in Markdown."""
        rows = [columns, ["---"] * len(columns)]
        rows += [[re.sub(r"[|*]", r"\\\g<0>", shown(row[column])) for column in columns] for row in self.records()]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def __str__(self) -> str:
        rows = [self.columns, *([shown(cell) for cell in row] for row in self.rows)]
        widths = [min(60, max(map(len, column))) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c[:60].ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.title, lines[0], "-" * max(map(len, lines)), *lines[1:]])


@dataclass(frozen=True, kw_only=True, slots=True)
class PartResult:
    """The result of one part of the paper.

    Attributes
    ----------
    name, title : str
    words : tuple of str
        Paragraphs of explanation.
    tables : tuple of Table
    pictures : tuple of str
        Names of the figures' files, without ending.
    settings : mapping
        Repeats and seed.
    """

    name: str
    title: str
    words: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in built-in types, ready for JSON."""
        tables = [
            {
                "name": t.name,
                "title": t.title,
                "columns": list(t.columns),
                "rows": [list(map(_plain, r)) for r in t.rows],
                "printed": t.printed,
            }
            for t in self.tables
        ]
        return {
            "name": self.name,
            "title": self.title,
            "words": list(self.words),
            "tables": tables,
            "pictures": list(self.pictures),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> PartResult:
        """Build the result from what `to_dict` returned."""
        tables = tuple(
            Table(
                name=t["name"],
                title=t["title"],
                columns=tuple(t["columns"]),
                rows=tuple(map(tuple, t["rows"])),
                printed=t["printed"],
            )
            for t in found["tables"]
        )
        words, pictures = tuple(found["words"]), tuple(found["pictures"])
        name, title, settings = found["name"], found["title"], found["settings"]
        return cls(name=name, title=title, words=words, tables=tables, pictures=pictures, settings=settings)

    def write(self, folder: Path) -> list[Path]:
        """Write a CSV file per table and one JSON file, and return their paths."""
        files = []
        for table in self.tables:
            write_atomic(folder / f"{table.name}.csv", table.to_csv())
            files.append(folder / f"{table.name}.csv")
        write_atomic(folder / f"{self.name}.json", json.dumps(self.to_dict(), indent=1) + "\n")
        return [*files, folder / f"{self.name}.json"]

    def __repr__(self) -> str:
        return f"PartResult(name={self.name!r}, tables={len(self.tables)}, pictures={len(self.pictures)})"

    def __str__(self) -> str:
        return "\n\n".join([self.title, *self.words, *(str(table) for table in self.tables if table.printed)])


def _plain(cell: Cell) -> Cell:
    """Replace NaN and infinity by None, as JSON has neither."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def shown(cell: Cell) -> str:
    """Format a cell for display."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "NO"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)
