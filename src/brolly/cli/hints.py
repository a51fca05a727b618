"""The way out of an input error: what the command line can do about it, and the line of the file."""

from __future__ import annotations

import argparse
import csv
import gzip
import re
from contextlib import suppress

from brolly.engines.files import format_of
from brolly.engines.sources import expand
from brolly.errors import InputError

_MISSING = ("must not contain nulls (missing values)", "must not contain NaN")
_PLACE = re.compile(r"\[(\d+)\](?: of (?P<file>.+?))?(?: = .*)?$", re.DOTALL)


def hint(error: InputError, arguments: argparse.Namespace) -> str:
    """Return what to add to the message of an error in the rows of files."""
    line = _line(error, arguments)
    missing = error.rule is not None and error.rule.endswith(_MISSING) and hasattr(arguments, "drop_missing")
    way_out = "; --drop-missing leaves such rows out" if missing else ""
    return f"{'' if line is None else f' (line {line:,})'}{way_out}"


def _line(error: InputError, arguments: argparse.Namespace) -> int | None:
    """Return the line of the first offender in a text file, if all rows of the file are read."""
    place = None if error.first is None else _PLACE.search(error.first)
    if place is None or getattr(arguments, "where", None) is not None:
        return None
    with suppress(InputError, OSError, UnicodeError, csv.Error):
        path = place["file"] or expand(arguments.file)[0]
        kind = format_of(path)
        if kind.is_text:
            return _line_of_row(path, int(place[1]), "\t" if kind.name == "TSV" else ",")
    return None


def _line_of_row(path: str, row: int, separator: str) -> int | None:
    """Return the line on which a row ends, counted from 1; a header comes first, and empty lines are no rows."""
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter=separator)
        filled = -1  # the header
        for cells in reader:
            if cells:
                if filled == row:
                    return reader.line_num
                filled += 1
    return None
