"""What a command reads: standard input, columns that were not named, rows with missing values."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from brolly.cli.hints import hint
from brolly.cli.output import one_line, say
from brolly.engines.checks import need_pyarrow
from brolly.errors import InputError

STDIN = "-"
_MAGIC = {b"PAR1": ".parquet", b"ARRO": ".feather", b"\x1f\x8b": ".csv.gz"}  # the first bytes of a file


@contextmanager
def prepared(arguments: argparse.Namespace) -> Iterator[None]:
    """Complete the arguments of a command that reads rows; errors in the rows then name the way out.

    What was read from standard input is removed at the end.
    """
    files: list[str] = arguments.file if isinstance(getattr(arguments, "file", None), list) else []
    arguments.shown = list(files)
    if not files:
        yield
        return
    if files.count(STDIN) > 1:
        raise InputError("- (standard input) can be read once only")
    with tempfile.TemporaryDirectory(prefix="brolly-") if STDIN in files else nullcontext("") as folder:
        copy = _copied(Path(folder)) if folder else ""
        arguments.file = [copy if file == STDIN else file for file in files]
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
    start = sys.stdin.buffer.read(4)
    suffix = next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), ".csv")
    path = folder / f"stdin{suffix}"
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return str(path)


def _complete(arguments: argparse.Namespace) -> None:
    """Guess the columns that were not named, and leave out rows with missing values if asked to."""
    if hasattr(arguments, "outcome") and (arguments.outcome is None or getattr(arguments, "prob", "") is None):
        need_pyarrow()
        from brolly.cli.guess import guess_columns  # which imports PyArrow

        prob, outcome = guess_columns(arguments.file, arguments.prob, arguments.outcome, arguments.pos_label)
        if not arguments.quiet:
            took = f"--prob {one_line(prob)} --outcome {one_line(outcome)}"
            say(sys.stderr, f"brolly: note: taking {took}\n")
        if arguments.prob is None:
            arguments.prob = prob
        arguments.outcome = outcome
    if getattr(arguments, "drop_missing", False):
        _drop_missing(arguments)


def _drop_missing(arguments: argparse.Namespace) -> None:
    """Add to the condition on rows that none of the columns is missing, and say how many rows are."""
    need_pyarrow()
    from brolly.engines.missing import count_missing, without_missing

    named = [getattr(arguments, name, None) for name in ("prob", "old", "new", "outcome", "weight", "groups")]
    columns = [c for name in named if name is not None for c in (name if isinstance(name, list) else [name])]
    dropped, total = count_missing(arguments.file, columns, arguments.where)
    if not arguments.quiet:
        rows = "row has" if dropped == 1 else "rows have"
        say(
            sys.stderr,
            f"brolly: note: {dropped:,} of {total:,} {rows} a missing value and {'is' if dropped == 1 else 'are'} "
            "left out\n",
        )
    arguments.where = without_missing(columns, arguments.where)
