"""Rows with missing values: how many there are, and the condition that leaves them out."""

from __future__ import annotations

from typing import Any

from rainproof.engines.arrow_where import filter_batch
from rainproof.engines.columns import without_views
from rainproof.engines.sources import local_sources
from rainproof.engines.where import columns_of, parse


def without_missing(columns: list[str], where: str | None) -> str:
    """Return the condition that none of the columns is missing, beside another condition."""
    quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
    parts = [f"{column} is not null and {column} is not nan" for column in quoted]
    return " and ".join([*([] if where is None else [f"({where})"]), *parts])


def count_missing(source: Any, columns: list[str], where: str | None, *, sep: str | None = None) -> tuple[int, int]:
    """Return how many of the rows that meet `where` miss a value in one of the columns, and how many there are."""
    given = None if where is None else parse(where)
    complete = parse(without_missing(columns, None))
    needed = list(dict.fromkeys([*columns, *(() if given is None else sorted(columns_of(given)))]))
    total = kept = 0
    for one in local_sources(source, needed, None, sep=sep):
        for batch in one.batches():
            rows = without_views(batch)
            rows = rows if given is None else filter_batch(given, rows)
            total += rows.num_rows
            kept += filter_batch(complete, rows).num_rows if rows.num_rows else 0
    return total - kept, total
