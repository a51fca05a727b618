"""What a command reads: standard input, columns that were not named, rows with missing values."""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rainproof.cli.hints import hint
from rainproof.cli.output import one_line, say
from rainproof.errors import InputError
from rainproof.io.files import hide_password, need_pyarrow

STDIN = "-"
_MAGIC = {b"PAR1": ".parquet", b"ARRO": ".feather", b"PK\3\4": ".xlsx", b"{": ".jsonl"}  # the first bytes of a file
_GZIP = b"\x1f\x8b"


@contextmanager
def prepared(arguments: argparse.Namespace) -> Iterator[None]:
    """Complete the arguments of a command that reads rows; errors in the rows then name the way out.

    What was read from standard input is removed at the end.
    """
    given = getattr(arguments, "file", None) or []
    files: list[str] = [given] if isinstance(given, str) else given
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
            message = str(error) + hint(error, arguments)
            raise InputError(message.replace(copy, "standard input") if copy else message) from error


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
        _drop_missing(arguments)


def _drop_missing(arguments: argparse.Namespace) -> None:
    """Add to the condition on rows that none of the columns is missing, and say how many rows are."""
    need_pyarrow()
    from rainproof.io.rows import count_missing, without_missing

    named = [getattr(arguments, name, None) for name in ("prob", "old", "new", "outcome", "weight", "groups", "trials")]
    columns = [c for name in named if name is not None for c in (name if isinstance(name, list) else [name])]
    dropped, total = count_missing(arguments.file, columns, arguments.where, sep=arguments.sep)
    if not arguments.quiet:
        rows = "row has" if dropped == 1 else "rows have"
        say(
            sys.stderr,
            f"rainproof: note: {dropped:,} of {total:,} {rows} a missing value and {'is' if dropped == 1 else 'are'} "
            "left out\n",
        )
    arguments.where = without_missing(columns, arguments.where)
