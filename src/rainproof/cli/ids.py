"""Columns that are named like ids, in the head of a file: rows that may depend on each other, or
that ids tell apart.

Only names can tell an id from another column, and only the first rows are looked at: before all
rows are read, as both are of one open file.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import NamedTuple

from rainproof.cli.output import option_words, shell_line
from rainproof.cli.reading import note
from rainproof.core.text import rows as rows_text
from rainproof.io.source_errors import need_pyarrow

# id, uuid or guid as a word of the name (patient_id, gameId), or what commonly has several rows.
_ID = re.compile(
    r"(?i)(^|[_\W])(id|uuid|guid)$|^id[_\W]|(?-i:[a-z]I[dD]$)"
    r"|^(patient|subject|person|customer|client|user|household|player|game|match|session|trajectory|episode)$"
)


class _IdColumn(NamedTuple):
    """A column that is named like ids."""

    name: str
    distinct: int  # values
    values: int  # that are not missing


def _id_columns(arguments: argparse.Namespace) -> Iterator[_IdColumn]:
    """Yield the columns that are named like ids and are none of those that were named."""
    need_pyarrow()
    head = arguments.opened.head
    if head is None:
        return
    named = {arguments.outcome, arguments.weight, *(getattr(arguments, "by", None) or ())}
    for name, column in zip(head.schema.names, head.columns, strict=True):
        if _ID.search(name) and name not in named:
            values = column.drop_null()
            yield _IdColumn(name, len(values.unique()), len(values))


def repeated_ids(arguments: argparse.Namespace) -> str | None:
    """Return what to say about a column of ids whose values repeat; None if there is none, or if
    groups are given.
    """
    if arguments.groups is not None:
        return None
    for column in _id_columns(arguments):
        if 1 < column.distinct < column.values:
            held = f"{column.name!r} has {column.distinct:,} values in {rows_text(column.values)}"
            remedy = shell_line(option_words("--groups", [column.name]))
            return (
                f"{held}: if rows with the same value depend on each other, bounds and intervals "
                f"can be too narrow; {remedy} allows for that"
            )
    return None


def note_repeated_ids(arguments: argparse.Namespace) -> None:
    """Say it on stderr, for commands whose result has no place for it."""
    if not arguments.quiet:
        note(arguments, repeated_ids(arguments))


def id_column(arguments: argparse.Namespace) -> str | None:
    """Return the column of ids that have a value of their own in each row, if there is one."""
    for column in _id_columns(arguments):
        if column.distinct == column.values:
            return column.name
    return None
