"""Errors in the rows of files: on which line they are, and which option is the way out."""

from __future__ import annotations

import argparse
import csv
from contextlib import suppress

from rainproof.cli.output import shell_word
from rainproof.errors import InputError

_WAYS_OUT = {
    "drop_missing": "; --drop-missing leaves such rows out",
    "keep_missing": "; --keep-missing copies such rows with nothing in the new columns",
}


def explained(error: InputError, arguments: argparse.Namespace) -> str:
    """Return the text of an error in the words of the command line."""
    line = _line(error, arguments)
    place = "" if line is None else f" (line {line:,})"
    problem = error.problem.replace("(pos_label names", "(--pos-label names")
    if error.parameter:
        problem = f"{_flag(error.parameter)}{problem.removeprefix(error.parameter)}"
    return f"{problem}{place}{error.hint}{_remedy(error, arguments)}"


def _flag(parameter: str) -> str:
    """Return the option that stands for a parameter."""
    return f"--{parameter.replace('_', '-')}"


def _remedy(error: InputError, arguments: argparse.Namespace) -> str:
    """Return what to do about it on the command line."""
    if error.missing:
        return "".join(text for option, text in _WAYS_OUT.items() if hasattr(arguments, option))
    pos_label = getattr(arguments, "pos_label", None)
    if error.labels and pos_label is not None:
        from rainproof.io.label_columns import suggest_label  # which imports PyArrow

        return suggest_label(pos_label, error.labels)
    option, value = error.option or ("", None)
    if not hasattr(arguments, option):
        return error.remedy
    flag = _flag(option)
    if value is None:
        return f"name the event with {flag}"
    return f"add {flag} {shell_word(value)}" if value else f"add {flag}"


def _line(error: InputError, arguments: argparse.Namespace) -> int | None:
    """Return the line of the first offender in a text file, if all rows of the file are read."""
    place = error.place
    if place is None or getattr(arguments, "where", None) is not None:
        return None
    with suppress(InputError, OSError, UnicodeError, csv.Error):
        for file in arguments.opened.files:
            # Without a name it is the only file.
            if place.source in ("", file.name):
                line: int | None = file.line_of(place.row)
                return line
    return None
