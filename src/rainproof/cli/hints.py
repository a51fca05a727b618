"""The way out of an input error: what the command line can do about it, and the line of the file."""

from __future__ import annotations

import argparse
import csv
import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import TextIOWrapper

from rainproof.errors import InputError
from rainproof.io.files import Location, expand, format_of, separator_of

_MISSING = ("must not contain nulls (missing values)", "must not contain NaN")
_PLACE = re.compile(r"\[(\d+)\](?: of (?P<file>.+?))?(?: = .*)?$", re.DOTALL)
_LABELS = re.compile(r" and one other label \((['\"])(.*)\1\)\n.* = (['\"])(.*)\3$", re.DOTALL)
_WAYS_OUT = {
    "drop_missing": "; --drop-missing leaves such rows out",
    "keep_missing": "; --keep-missing copies such rows with nothing in the new columns",
}


def hint(error: InputError, arguments: argparse.Namespace) -> str:
    """Return what to add to the message of an error in the rows of files."""
    line = _line(error, arguments)
    missing = error.rule is not None and error.rule.endswith(_MISSING)
    way_out = "".join(words for option, words in _WAYS_OUT.items() if missing and hasattr(arguments, option))
    return f"{'' if line is None else f' (line {line:,})'}{way_out}{_meant(error, arguments)}"


def meant_label(pos_label: str, labels: Iterable[str]) -> str:
    """Return the question whether a label was meant that differs in capitals or a letter; nothing if there is none."""
    plain = {label.strip().casefold(): label for label in labels}
    close = difflib.get_close_matches(pos_label.strip().casefold(), plain, n=1, cutoff=0.75)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def _meant(error: InputError, arguments: argparse.Namespace) -> str:
    """Ask so about the labels in an error: the one that was taken for the other label, and the first offender."""
    labels = _LABELS.search(f"{error.rule}\n{error.first}")
    pos_label = getattr(arguments, "pos_label", None)
    return "" if labels is None or pos_label is None else meant_label(pos_label, labels.group(2, 4))


def _line(error: InputError, arguments: argparse.Namespace) -> int | None:
    """Return the line of the first offender in a text file, if all rows of the file are read."""
    place = None if error.first is None else _PLACE.search(error.first)
    if place is None or getattr(arguments, "where", None) is not None:
        return None
    named = arguments.file if isinstance(arguments.file, list) else [arguments.file]
    with suppress(InputError, OSError, UnicodeError, csv.Error):
        file = Location(place["file"] or expand(named)[0], getattr(arguments, "sep", None))
        kind = format_of(file.path)
        if kind.is_text and "://" not in file.path:
            lines = _lines_of_table(file) if kind.separators else _lines_of_json(file)
            return next((line for row, line in enumerate(lines) if row == int(place[1])), None)
    return None


def _lines_of_table(file: Location) -> Iterator[int]:
    """Yield the line on which each row ends, counted from 1; a header comes first, and empty lines are no rows."""
    with TextIOWrapper(file.stream(), encoding="utf-8", newline="") as text:
        reader = csv.reader(text, delimiter=separator_of(file))
        filled = (reader.line_num for cells in reader if cells)
        next(filled, None)
        yield from filled


def _lines_of_json(file: Location) -> Iterator[int]:
    """Yield the line of each row of JSON lines; a spreadsheet is no text and raises a UnicodeError."""
    with TextIOWrapper(file.stream(), encoding="utf-8") as text:
        yield from (number for number, line in enumerate(text, 1) if line.strip())
