"""What a command reads: files and standard input, and the rows in them.

What is said of errors in the rows is in `rainproof.cli.row_errors`, columns that look like ids are
in `rainproof.cli.ids`.

NumPy, PyArrow and the rest of rainproof are imported by the functions that need them: help and
wrong arguments do not.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import warnings
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

from rainproof.cli.options import SELECTION, VALUES, as_list, cost_columns, costs_of, dest
from rainproof.cli.output import Progress, one_line, say, shown_progress
from rainproof.cli.row_errors import explained
from rainproof.core.documents import read_json
from rainproof.core.files import temporary_folder
from rainproof.errors import InputError, RainproofWarning, hide_passwords
from rainproof.io.formats import suffix_of
from rainproof.io.opening import ReadOptions
from rainproof.io.source_errors import hide_password, need_pyarrow

STDIN = "-"
_START = 1 << 12  # bytes of standard input: blanks may be before what tells the format
_GZIP = b"\x1f\x8b"  # RFC 1952
RECALIBRATED = "_recalibrated"  # ends the name of the column that 'rainproof apply' adds


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
            message = explained(error, arguments)
            if copy:
                message = message.replace(copy, "standard input")
            raise InputError(message) from error


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
    # In pieces, as it may be larger than memory.
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    start = _start(path, open)
    suffix = suffix_of(start)
    if start.startswith(_GZIP):
        suffix = f"{suffix_of(_start(path, gzip.open))}.gz"
    return str(path.rename(path.with_suffix(suffix)))


def _start(path: Path, opener: Callable[..., Any]) -> bytes:
    """Return what a file begins with, without the blanks and the byte order mark before it."""
    try:
        with opener(path, "rb") as file:
            start: bytes = file.read(_START)
    except (OSError, EOFError, zlib.error):  # reading the rows raises it again
        return b""
    return start.removeprefix(BOM_UTF8).lstrip() if start.strip() else start


def _complete(arguments: argparse.Namespace) -> None:
    """Guess the columns that were not named."""
    if not hasattr(arguments, "outcome"):
        return
    if getattr(arguments, "classes", None):
        if arguments.outcome is None:
            raise InputError("--outcome must name the column of the class that occurred")
    elif arguments.outcome is None or getattr(arguments, "prob", "") is None:
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
            for warning in notes:
                note(arguments, str(warning.message))


def note(arguments: argparse.Namespace, text: str | None) -> None:
    """Say on stderr what has no place in the result, if there is anything to say."""
    if text is not None and not arguments.quiet:
        say(sys.stderr, f"rainproof: note: {one_line(hide_passwords(text))}\n")


def _reading(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return how rows are read, as arguments of `scan` and its relatives."""
    options = {}
    for name in map(dest, names):
        if hasattr(arguments, name):
            options[name] = getattr(arguments, name)
    return {**options, "confidence_words": _words(arguments)}


def copy_with(new_columns: dict[Any, Any], arguments: argparse.Namespace, **options: Any) -> int:
    """Copy the file with new columns, showing progress, and return the number of its rows."""
    need_pyarrow()
    from rainproof.io.new_columns import append_columns  # which imports PyArrow

    if arguments.opened.address is not None:
        raise InputError(
            "FILE must be a file: a table of a database is changed there (see Recalibrator.to_sql)"
        )
    options |= _reading(arguments, *VALUES, "--keep-missing")
    with _progress(arguments) as progress:
        return append_columns(
            arguments.opened,
            arguments.output,
            prob=arguments.classes or arguments.prob,
            new_columns=new_columns,
            progress=progress,
            **options,
        )


def _words(arguments: argparse.Namespace) -> dict[str, float] | None:
    """Return the probability of each word, if there is a file of them."""
    if arguments.confidence_words is None:
        return None
    from rainproof.core.conversion import is_number

    def words(data: Any) -> dict[str, float]:
        numbers = data.values() if isinstance(data, dict) else []
        if not numbers or not all(map(is_number, numbers)):
            example = '{"almost certain": 0.95}'
            raise InputError(f"it must be one object of words and numbers, such as {example}")
        return dict(data)

    return read_json(arguments.confidence_words, "table of words", words)


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
        options |= _reading(arguments, *SELECTION, *VALUES)
        return reader(arguments.opened, prob, arguments.outcome, progress=progress, **options)


def keep(arguments: argparse.Namespace, prob: str | Sequence[str], **options: Any) -> Any:
    """Return all rows as they are, with groups, in a `Sample`; the predictions may be in several
    columns.
    """
    need_pyarrow()
    from rainproof.io.kept_rows import keep_rows  # which imports PyArrow

    check_costs(arguments)
    return _read_by(
        keep_rows,
        arguments,
        prob,
        groups=as_list(arguments.groups),
        fractional=getattr(arguments, "fractional", False),
        costs=cost_columns(arguments),
        **options,
    )


def check_costs(arguments: argparse.Namespace) -> None:
    """Refuse a cost that could be meant as a number or as a column."""
    costs = costs_of(arguments).items()
    numbers = {option: cost for option, cost in costs if not isinstance(cost, str)}
    if not numbers or arguments.opened.head is None:
        return
    for column in arguments.opened.head.schema.names:
        for option, cost in numbers.items():
            if _is_written_as(cost, column):
                meaning = f"{option} is a number, and there is a column {column!r}"
                raise InputError(f"{meaning}: rename it, or give another number")


def _is_written_as(number: float, text: str) -> bool:
    """Whether a text means a number."""
    try:
        return float(text) == number
    except ValueError:
        return False


def read_rows(arguments: argparse.Namespace) -> Any:
    """Return the rows as `rainproof.assess` would get them in Python, of one event or of several
    classes, with groups and segments: many are compressed.
    """
    if getattr(arguments, "classes", None):
        return read_classes(arguments)
    from rainproof.verdict import assessing

    return keep(
        arguments,
        arguments.prob,
        at_most=assessing.MANY_ROWS,
        by=getattr(arguments, "by", None) or (),
    )


def pooled(rows: Any) -> Any:
    """Return all rows as one sample, where they were read by segment."""
    from rainproof.core.segments import Segments  # which imports NumPy

    return rows.pooled if isinstance(rows, Segments) else rows


def read_classes(arguments: argparse.Namespace) -> Any:
    """Return the rows of several classes."""
    need_pyarrow()
    from rainproof.io.kept_rows import keep_classes  # which imports PyArrow

    groups = as_list(getattr(arguments, "groups", None))
    return _read_by(keep_classes, arguments, arguments.classes, groups=groups)


def read_matrix(arguments: argparse.Namespace) -> Any:
    """Return the task of --cost-matrix, if there is one."""
    if arguments.cost_matrix is None:
        return None
    import numpy as np

    from rainproof.decisions.tasks import DecisionTask

    def task(data: Any) -> Any:
        is_matrix = isinstance(data, dict) and "costs" in data
        if not is_matrix or not set(data) <= {"costs", "actions", "abstain"}:
            raise InputError(
                "it must be one object with 'costs' and, if you like, 'actions' and 'abstain'"
            )
        task_of_matrix = DecisionTask.from_cost_matrix(**data)
        if np.shape(data["costs"])[1] != len(arguments.classes):
            raise InputError(
                f"it must have a cost for each of the {len(arguments.classes)} columns of --classes"
            )
        return task_of_matrix

    path = Path(arguments.cost_matrix)
    try:
        return read_json(path, "cost matrix", task)
    except InputError as error:
        if not path.is_file():
            raise
        example = '{"costs": [[0, 9, 4], [1, 0, 2]], "actions": ["wait", "act"]}'
        raise InputError(f"{error} (a file for three classes: {example})") from error


def fitted_here(arguments: argparse.Namespace) -> str | None:
    """Return what to say about a column that 'rainproof apply' has written; None about any
    other.
    """
    for name in arguments.classes or [arguments.prob]:
        if name.endswith(RECALIBRATED):
            return (
                f"{name!r} is recalibrated: if its map was fitted to these rows, this verdict is "
                "too favourable; judge it on other rows, or by the certificate of 'rainproof "
                "recalibrate', if it printed one"
            )
    return None
