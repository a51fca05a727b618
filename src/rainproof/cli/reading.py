"""What a command reads: files and standard input, the rows in them, and notes on what is wrong with
them.

NumPy, PyArrow and the rest of rainproof are imported by the functions that need them: help and
wrong arguments do not.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import re
import shutil
import sys
import warnings
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from rainproof.cli.options import SELECTION, VALUES, as_list, cost_columns, costs_of, dest
from rainproof.cli.output import (
    Progress,
    one_line,
    option_words,
    say,
    shell_line,
    shell_word,
    shown_progress,
)
from rainproof.core.files import read_json, temporary_folder
from rainproof.core.text import rows as rows_text
from rainproof.errors import InputError, RainproofWarning, hide_passwords
from rainproof.io.formats import suffix_of
from rainproof.io.opening import ReadOptions
from rainproof.io.source_errors import hide_password, need_pyarrow

STDIN = "-"
_START = 1 << 12  # bytes: blanks and a byte order mark may be before the first letter
_GZIP = b"\x1f\x8b"
RECALIBRATED = "_recalibrated"  # ends the name of the column that 'rainproof apply' adds
_WAYS_OUT = {
    "drop_missing": "; --drop-missing leaves such rows out",
    "keep_missing": "; --keep-missing copies such rows with nothing in the new columns",
}
_ID = re.compile(
    r"(?i)(^|[_\W])(id|uuid|guid)$|^id[_\W]|(?-i:[a-z]I[dD]$)"
    r"|^(patient|subject|person|customer|client|user|household|player|game|match|session|trajectory|episode)$"
)


@contextmanager
def prepared(arguments: argparse.Namespace) -> Iterator[None]:
    """Complete the arguments of a command that reads rows; errors in the rows then name the way
    out.

    What was read from standard input is removed at the end.
    """
    given = getattr(arguments, "file", None) or []
    files: list[str] = as_list(given)
    arguments.shown = [hide_password(file) for file in files]
    if not files:
        yield
        return
    from rainproof.io.sources import NamedSource  # which takes time to import

    if files.count(STDIN) > 1:
        raise InputError("- (standard input) can be read once only")
    with temporary_folder() if STDIN in files else nullcontext() as folder:
        copy = "" if folder is None else _copied(folder)
        names = [copy if file == STDIN else file for file in files]
        arguments.file = names[0] if isinstance(given, str) else names
        try:
            with closing(NamedSource(names, _read_options(arguments))) as arguments.opened:
                _complete(arguments)
                yield
        except InputError as error:
            message = said(error, arguments)
            raise InputError(
                message.replace(copy, "standard input") if copy else message
            ) from error


def _read_options(arguments: argparse.Namespace) -> ReadOptions:
    """Return how the text of files is cut into values: fields have the names of options."""
    names = [field.name for field in fields(ReadOptions)]
    given = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    return ReadOptions(**given)


def _copied(folder: Path) -> str:
    """Copy standard input to a file, as some formats are read from their end; its first bytes state
    the format.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- reads standard input, but nothing is piped into it")
    path = folder / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    start, end = _start(path), ""
    if start.startswith(_GZIP):
        start, end = _start(path, gzip.open), ".gz"
    return str(path.rename(path.with_suffix(suffix_of(start) + end)))


def _start(path: Path, opener: Callable[..., Any] = open) -> bytes:
    try:
        with opener(path, "rb") as file:
            start: bytes = file.read(_START)
            return start.removeprefix(BOM_UTF8).lstrip() if start.strip() else start
    except (OSError, EOFError, zlib.error):  # reading the rows raises it again
        return b""


def _complete(arguments: argparse.Namespace) -> None:
    """Guess the columns that were not named."""
    if getattr(arguments, "classes", None):
        if getattr(arguments, "outcome", "") is None:
            raise InputError("--outcome must name the column of the class that occurred")
    elif hasattr(arguments, "outcome") and (
        arguments.outcome is None or getattr(arguments, "prob", "") is None
    ):
        need_pyarrow()
        from rainproof.cli.guess import guess_columns  # which imports PyArrow

        note(arguments, f"taking {guess_columns(arguments)}")


@contextmanager
def _progress(arguments: argparse.Namespace) -> Iterator[Progress]:
    """Show progress on a terminal while rows are read, and then say what there is to say about
    them.
    """
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", RainproofWarning)
        try:
            with shown_progress(sys.stderr, quiet=arguments.quiet) as progress:
                yield progress
        finally:
            for one in notes:
                note(arguments, str(one.message))


def note(arguments: argparse.Namespace, text: str | None) -> None:
    """Say on stderr what has no place in the result, if there is anything to say."""
    if text is not None and not arguments.quiet:
        say(sys.stderr, f"rainproof: note: {one_line(hide_passwords(text))}\n")


def _reading(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return how rows are read, as arguments of `scan` and its relatives."""
    options = {
        dest(name): getattr(arguments, dest(name))
        for name in names
        if hasattr(arguments, dest(name))
    }
    return {**options, "confidence_words": _words(arguments)}


def copy_with(new_columns: dict[Any, Any], arguments: argparse.Namespace, **options: Any) -> int:
    """Copy the file with new columns, showing progress, and return the number of its rows."""
    need_pyarrow()
    from rainproof.io.new_columns import append_columns  # which imports PyArrow

    if arguments.opened.address is not None:
        raise InputError(
            "FILE must be a file: a table of a database is changed there (see Recalibrator.to_sql)"
        )
    options |= {
        "prob": arguments.classes or arguments.prob,
        **_reading(arguments, (*VALUES, "--keep-missing")),
    }
    with _progress(arguments) as progress:
        return append_columns(
            arguments.opened,
            arguments.output,
            new_columns=new_columns,
            progress=progress,
            **options,
        )


def _words(arguments: argparse.Namespace) -> dict[str, float] | None:
    """Return the probability of each word, if there is a file of them."""
    from rainproof.core.conversion import is_number

    def words(data: Any) -> dict[str, float]:
        if (
            not isinstance(data, dict)
            or not all(is_number(value) for value in data.values())
            or not data
        ):
            raise InputError(
                'it must be one object of words and numbers, such as {"almost certain": 0.95}'
            )
        return data

    path = arguments.confidence_words
    return None if path is None else read_json(path, "table of words", words)


def read(
    arguments: argparse.Namespace, prob: str | Sequence[str], *, by: list[str] | None = None
) -> Any:
    """Return the rows of the files, compressed: a `Sample`, of two forecasts if `prob` is two; with
    `by` `Segments`.
    """
    from rainproof.io.scanning import scan

    return _read_by(scan, arguments, prob, by=by)


def _read_by(
    reader: Callable[..., Any], arguments: argparse.Namespace, prob: Any, **options: Any
) -> Any:
    """Call `scan` or one of its relatives with how rows are read, and show its progress."""
    with _progress(arguments) as progress:
        how = _reading(arguments, (*SELECTION, *VALUES))
        return reader(
            arguments.opened, prob, arguments.outcome, progress=progress, **options, **how
        )


def keep(arguments: argparse.Namespace, prob: str | Sequence[str], **options: Any) -> Any:
    """Return all rows as they are, with groups, in a `Sample`; the predictions may be in several
    columns.
    """
    need_pyarrow()
    from rainproof.io.kept_rows import keep_rows  # which imports PyArrow

    check_costs(arguments)
    options |= {
        "groups": as_list(arguments.groups),
        "fractional": getattr(arguments, "fractional", False),
    }
    return _read_by(keep_rows, arguments, prob, costs=cost_columns(arguments), **options)


def check_costs(arguments: argparse.Namespace) -> None:
    """Refuse a cost that could be meant as a number or as a column."""
    costs = {name: cost for name, cost in costs_of(arguments).items() if not isinstance(cost, str)}
    batch = arguments.opened.head if costs else None
    for column in () if batch is None else batch.schema.names:
        number = math.nan
        with suppress(ValueError):
            number = float(column)
        for name in [name for name, cost in costs.items() if cost == number]:
            raise InputError(
                f"{name} is a number, and there is a column {column!r}: rename it, or give another number"
            )


def read_rows(arguments: argparse.Namespace) -> Any:
    """Return the rows as `rainproof.assess` would get them in Python, with groups and segments:
    many are compressed.
    """
    from rainproof.verdict import assessing

    return keep(
        arguments,
        arguments.prob,
        at_most=assessing.MANY_ROWS,
        by=getattr(arguments, "by", None) or (),
    )


def read_classes(arguments: argparse.Namespace) -> Any:
    """Return the rows of several classes."""
    need_pyarrow()
    from rainproof.io.kept_rows import keep_classes  # which imports PyArrow

    groups = as_list(getattr(arguments, "groups", None))
    return _read_by(keep_classes, arguments, arguments.classes, groups=groups)


def read_matrix(arguments: argparse.Namespace) -> Any:
    """Return the task of --cost-matrix, if there is one."""
    import numpy as np

    from rainproof.decisions.tasks import DecisionTask

    def task(data: Any) -> Any:
        if (
            not isinstance(data, dict)
            or "costs" not in data
            or not set(data) <= {"costs", "actions", "abstain"}
        ):
            raise InputError(
                "it must be one object with 'costs' and, if you like, 'actions' and 'abstain'"
            )
        made = DecisionTask.from_cost_matrix(**data)
        if np.shape(data["costs"])[1] != len(arguments.classes):
            raise InputError(
                f"it must have a cost for each of the {len(arguments.classes)} columns of --classes"
            )
        return made

    path = arguments.cost_matrix
    try:
        return None if path is None else read_json(path, "cost matrix", task)
    except InputError as error:
        if not Path(path).is_file():
            raise
        example = '{"costs": [[0, 9, 4], [1, 0, 2]], "actions": ["wait", "act"]}'
        raise InputError(f"{error} (a file for three classes: {example})") from error


def said(error: InputError, arguments: argparse.Namespace) -> str:
    """Say an error in the rows of files: on which line it is, and which option is the way out."""
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
        return "".join(words for option, words in _WAYS_OUT.items() if hasattr(arguments, option))
    option, value = error.option or ("", None)
    pos_label = getattr(arguments, "pos_label", None)
    if error.labels and pos_label is not None:
        from rainproof.io.label_columns import suggest_label  # which imports PyArrow

        return suggest_label(pos_label, error.labels)
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
        file = arguments.opened.files[0]
        if place.source:
            from rainproof.io.sources import NamedFile

            file = NamedFile(place.source, _read_options(arguments))
        line: int | None = file.line_of(place.row)
        return line
    return None


def _id_columns(arguments: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """Yield the columns that are named like ids and are none of those that were named: distinct
    values, and values.

    Only names can tell an id from another column, and only the first rows are looked at.
    """
    need_pyarrow()
    batch = arguments.opened.head
    if batch is None:
        return
    named = {arguments.outcome, arguments.weight, *(getattr(arguments, "by", None) or ())}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if _ID.search(name) and name not in named:
            known = column.drop_null()
            yield name, len(known.unique()), len(known)


def repeated_ids(arguments: argparse.Namespace) -> str | None:
    """Return what to say about a column of ids whose values repeat; None if there is none, or if
    groups are given.
    """
    if arguments.groups is not None:
        return None
    for name, distinct, known in _id_columns(arguments):
        if 1 < distinct < known:
            return (
                f"{name!r} has {distinct:,} values in {rows_text(known)}: if rows with the same value depend "
                "on each other, bounds and intervals can be too narrow; "
                f"{shell_line(option_words('--groups', [name]))} allows for that"
            )
    return None


def id_column(arguments: argparse.Namespace) -> str | None:
    """Return the column of ids that have a value of their own in each row, if there is one."""
    return next(
        (name for name, distinct, known in _id_columns(arguments) if distinct == known), None
    )


def fitted_here(arguments: argparse.Namespace) -> str | None:
    """Return what to say about a column that 'rainproof apply' has written; None about any other."""
    prob = next(
        (name for name in arguments.classes or [arguments.prob] if name.endswith(RECALIBRATED)),
        None,
    )
    if prob is None:
        return None
    return (
        f"{prob!r} is recalibrated: if its map was fitted to these rows, this verdict is too favourable; "
        "judge it on other rows, or by the certificate of 'rainproof recalibrate', if it printed one"
    )


def note_repeated_ids(arguments: argparse.Namespace) -> None:
    """Say it on stderr, for commands whose result has no place for it."""
    if not arguments.quiet:
        note(arguments, repeated_ids(arguments))
