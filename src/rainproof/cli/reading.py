"""What a command reads: files and standard input, the rows in them, and notes on what is wrong with them.

NumPy, PyArrow and the rest of rainproof are imported by the functions that need them: help and wrong arguments do not.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import gzip
import re
import shlex
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from rainproof.cli.options import SHARED, VALUES, as_list, dest
from rainproof.cli.output import Progress, one_line, say
from rainproof.core.files import read_json
from rainproof.core.text import rows as rows_text
from rainproof.errors import InputError
from rainproof.io.files import Location, expand, format_of, hide_password, need_pyarrow, separator_of

if TYPE_CHECKING:
    from rainproof.core.sample import Sample
    from rainproof.core.segments import Segments

STDIN = "-"
_MAGIC = {b"PAR1": ".parquet", b"ARRO": ".feather", b"PK\3\4": ".xlsx", b"{": ".jsonl"}  # the first bytes of a file
_GZIP = b"\x1f\x8b"
RECALIBRATED = "_recalibrated"  # ends the name of the column that 'rainproof apply' adds
_WAYS_OUT = {
    "drop_missing": "; --drop-missing leaves such rows out",
    "keep_missing": "; --keep-missing copies such rows with nothing in the new columns",
}
_LOOKED_AT = 1 << 16  # rows
_ID = re.compile(
    r"(?i)(^|[_\W])(id|uuid|guid)$|^id[_\W]|(?-i:[a-z]I[dD]$)"
    r"|^(patient|subject|person|customer|client|user|household|player|game|match|session|trajectory|episode)$"
)


@contextmanager
def prepared(arguments: argparse.Namespace) -> Iterator[None]:
    """Complete the arguments of a command that reads rows; errors in the rows then name the way out.

    What was read from standard input is removed at the end.
    """
    given = getattr(arguments, "file", None) or []
    files: list[str] = as_list(given)
    arguments.shown = [hide_password(file) for file in files]
    if not files:
        yield
        return
    if files.count(STDIN) > 1:
        raise InputError("- (standard input) can be read once only")
    with tempfile.TemporaryDirectory(prefix="rainproof-") if STDIN in files else nullcontext("") as folder:
        copy = _copied(Path(folder)) if folder else ""
        names = [copy if file == STDIN else file for file in files]
        arguments.file = names[0] if isinstance(given, str) else names
        try:
            _complete(arguments)
            yield
        except InputError as error:
            message = said(error, arguments)
            raise InputError(message.replace(copy, "standard input") if copy else message) from error


class _NoPandas:
    """Tells who looks for pandas that it is not there."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def import_lightly() -> None:
    """Keep NumPy, SciPy and PyArrow from importing what no command needs, a quarter of the time of a small assessment.

    For a process that is nothing but this command: PyArrow asks once whether there is pandas, to tell its columns from
    lists, and then takes none any more. SciPy asks NumPy for every name, also those that stand for large modules.
    """
    sys.meta_path.insert(0, _NoPandas)
    with suppress(ImportError):  # a table of a database can be read without PyArrow
        import pyarrow as pa

        pa.array([])
    sys.meta_path.remove(_NoPandas)
    import numpy as np

    vars(np).update(dict.fromkeys(("f2py", "testing")))  # an import of one of them replaces it


def _copied(folder: Path) -> str:
    """Copy standard input to a file, as some formats are read from their end; its first bytes state the format."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- reads standard input, but nothing is piped into it")
    path = folder / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    start, end = _start(path), ""
    if start.startswith(_GZIP):
        start, end = _start(path, gzip.open), ".gz"
    suffix = next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), ".csv")
    return str(path.rename(path.with_suffix(suffix + end)))


def _start(path: Path, opener: Callable[..., Any] = open) -> bytes:
    try:
        with opener(path, "rb") as file:
            start: bytes = file.read(4)
            return start
    except (OSError, EOFError, zlib.error):  # reading the rows raises it again
        return b""


def _complete(arguments: argparse.Namespace) -> None:
    """Guess the columns that were not named, and leave out rows with missing values if asked to."""
    if hasattr(arguments, "outcome") and (arguments.outcome is None or getattr(arguments, "prob", "") is None):
        need_pyarrow()
        from rainproof.cli.guess import guess_columns  # which imports PyArrow

        guess = guess_columns(arguments)
        if not arguments.quiet:
            say(sys.stderr, f"rainproof: note: taking {one_line(str(guess))}\n")
        if arguments.prob is None:
            arguments.prob = guess.prob
        arguments.outcome = guess.outcome
    if getattr(arguments, "drop_missing", False):
        from rainproof.io.where import Complete

        needed = (dest(name) for name, option in SHARED.items() if option.needed)
        columns = [column for name in needed for column in as_list(getattr(arguments, name, None))]
        arguments.where = Complete(columns, arguments.where)


@contextmanager
def _progress(arguments: argparse.Namespace) -> Iterator[Progress]:
    """Show progress on a terminal while rows are read, and then say how many were left out."""
    try:
        with Progress(sys.stderr, quiet=arguments.quiet) as progress:
            yield progress
    finally:
        left_out = getattr(arguments.where, "counts", None)
        if left_out is not None and not arguments.quiet:
            dropped, total = left_out
            have, are = ("row has", "is") if dropped == 1 else ("rows have", "are")
            say(
                sys.stderr,
                f"rainproof: note: {dropped:,} of {total:,} {have} a missing value and {are} left out\n",
            )


def _reading(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return how rows are read, as arguments of `scan` and its relatives."""
    options = {dest(name): getattr(arguments, dest(name)) for name in names}
    return {**options, "confidence_words": _words(arguments)}


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how rows with outcomes are read, as arguments of `scan` and its relatives."""
    return _reading(arguments, (name for name, option in SHARED.items() if option.reads is not None))


def rewriting(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how the file is read that is copied with new columns, as arguments of `append_columns`."""
    from rainproof.io.databases import is_database

    if "://" in arguments.file and is_database(arguments.file):
        raise InputError("FILE must be a file: a table of a database is changed there (see Recalibrator.to_sql)")
    return _reading(arguments, ("--prob", *VALUES, "--keep-missing"))


def _words(arguments: argparse.Namespace) -> dict[str, float] | None:
    """Return the probability of each word, if there is a file of them."""
    from rainproof.decisions.tasks import is_number

    def words(data: Any, _: bytes) -> dict[str, float]:
        if not isinstance(data, dict) or not all(is_number(value) for value in data.values()) or not data:
            raise InputError('it must be one object of words and numbers, such as {"almost certain": 0.95}')
        return data

    path = arguments.confidence_words
    return None if path is None else read_json(path, "table of words", words)


@overload
def read(arguments: argparse.Namespace, prob: str | Sequence[str]) -> Sample: ...
@overload
def read(arguments: argparse.Namespace, prob: str, *, by: list[str] | None) -> Sample | Segments: ...
def read(arguments: argparse.Namespace, prob: str | Sequence[str], *, by: list[str] | None = None) -> Sample | Segments:
    """Read the rows of the files named and compress them, with progress on a terminal; `prob` may be two forecasts."""
    from rainproof.io.reading import scan

    with _progress(arguments) as progress:
        found: Sample | Segments = scan(
            arguments.file, prob, arguments.outcome, by=by, progress=progress, **reading(arguments)
        )
    return found


def read_rows(arguments: argparse.Namespace) -> Sample | Segments:
    """Return the rows as `rainproof.assess` would get them in Python, with groups and segments: many are compressed."""
    from rainproof.assessment.assessing import MANY_ROWS

    return _keep(arguments, arguments.prob, at_most=MANY_ROWS, by=getattr(arguments, "by", None) or ())


def keep(arguments: argparse.Namespace, prob: Sequence[str]) -> Sample:
    """Return all rows with the predictions in several columns."""
    from rainproof.core.sample import Sample

    kept = _keep(arguments, prob)
    assert isinstance(kept, Sample)
    return kept


def _keep(arguments: argparse.Namespace, prob: str | Sequence[str], **options: Any) -> Sample | Segments:
    need_pyarrow()
    from rainproof.io.rows import keep_rows  # which imports PyArrow

    with _progress(arguments) as progress:
        return keep_rows(
            arguments.file,
            prob,
            arguments.outcome,
            groups=as_list(arguments.groups),
            fractional=getattr(arguments, "fractional", False),
            progress=progress,
            **options,
            **reading(arguments),
        )


def said(error: InputError, arguments: argparse.Namespace) -> str:
    """Say an error in the rows of files: on which line it is, and which option is the way out."""
    line = _line(error, arguments)
    place = "" if line is None else f" (line {line:,})"
    return f"{error.problem}{place}{error.hint}{_remedy(error, arguments)}"


def _remedy(error: InputError, arguments: argparse.Namespace) -> str:
    """Return what to do about it on the command line."""
    if error.missing:
        return "".join(words for option, words in _WAYS_OUT.items() if hasattr(arguments, option))
    option, value = error.option or ("", None)
    pos_label = getattr(arguments, "pos_label", None)
    if error.labels and pos_label is not None:
        return meant_label(pos_label, (label for label in error.labels if isinstance(label, str)))
    if not hasattr(arguments, option):
        return error.remedy
    flag = f"--{option.replace('_', '-')}"
    if value is None:
        return f"name the event with {flag}"
    return f"add {flag} {shlex.quote(value)}" if value else f"add {flag}"


def meant_label(pos_label: str, labels: Iterable[str]) -> str:
    """Return the question whether a label was meant that differs in capitals or a letter; nothing if there is none."""
    plain = {label.strip().casefold(): label for label in labels}
    close = difflib.get_close_matches(pos_label.strip().casefold(), plain, n=1, cutoff=0.75)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def _line(error: InputError, arguments: argparse.Namespace) -> int | None:
    """Return the line of the first offender in a text file, if all rows of the file are read."""
    place = error.place
    if place is None or getattr(arguments, "where", None) is not None:
        return None
    with suppress(InputError, OSError, UnicodeError, csv.Error):
        file = Location(place.source or expand(as_list(arguments.file))[0], getattr(arguments, "sep", None))
        kind = format_of(file.path)
        if kind.is_text and "://" not in file.path:
            lines = _lines_of_table(file) if kind.separators else _lines_of_json(file)
            return next((line for row, line in enumerate(lines) if row == place.row), None)
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
                    f"{name!r} has {distinct:,} values in {rows_text(len(known))}: if rows with the same value depend "
                    f"on each other, bounds and intervals are too narrow; --groups {shlex.quote(name)} allows for that"
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
