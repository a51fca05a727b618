"""What makes a verdict too favourable, noticed by the names of columns: ids that repeat, maps fitted to these rows."""

from __future__ import annotations

import argparse
import re
import shlex
import sys

from rainproof.cli.options import RECALIBRATED
from rainproof.cli.output import one_line, say
from rainproof.core.result import rows
from rainproof.io.files import need_pyarrow

_LOOKED_AT = 1 << 16  # rows
_ID = re.compile(
    r"(?i)(^|[_\W])(id|uuid|guid)$|^id[_\W]|(?-i:[a-z]I[dD]$)"
    r"|^(patient|subject|person|customer|client|user|household|player|game|match|session|trajectory|episode)$"
)


def repeated_ids(arguments: argparse.Namespace) -> tuple[str, str] | None:
    """Return a column of ids whose values repeat, and what to say; None if there is none, or if groups are given.

    Only names can tell an id from another column, and only the first rows are looked at.
    """
    if arguments.groups is not None:
        return None
    need_pyarrow()
    from rainproof.io.sources import first_rows  # which imports PyArrow

    _, batch = first_rows(arguments.file, arguments.sep)
    if batch is None:
        return None
    batch = batch.slice(0, _LOOKED_AT)
    named = {arguments.outcome, arguments.weight, *(getattr(arguments, "by", None) or ())}
    for name in batch.schema.names:
        if _ID.search(name) and name not in named:
            known = batch.column(name).drop_null()
            distinct = len(known.unique())
            if 1 < distinct < len(known):
                return name, (
                    f"{name!r} has {distinct:,} values in {rows(len(known))}: if rows with the same value depend on "
                    f"each other, bounds and intervals are too narrow; --groups {shlex.quote(name)} allows for that"
                )
    return None


def fitted_here(arguments: argparse.Namespace) -> str | None:
    """Return what to say about a column that 'rainproof apply' has written; None about any other."""
    if not arguments.prob.endswith(RECALIBRATED):
        return None
    return (
        f"{arguments.prob!r} is recalibrated: if its map was fitted to these rows, this verdict is too favourable; "
        "judge it on other rows, or by the certificate that 'rainproof recalibrate' printed"
    )


def note_repeated_ids(arguments: argparse.Namespace) -> None:
    """Say it on stderr, for commands whose result has no place for it."""
    found = None if arguments.quiet else repeated_ids(arguments)
    if found is not None:
        say(sys.stderr, f"rainproof: note: {one_line(found[1])}\n")
