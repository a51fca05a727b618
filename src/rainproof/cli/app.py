"""The command itself: its arguments, the table of commands, and errors in one line."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

# Nothing heavy up here: help should not wait for NumPy. The module of a command is imported when it
# runs.
from rainproof import __version__
from rainproof.cli import commands
from rainproof.cli.options import check_outputs, check_together
from rainproof.cli.output import coloured_help, let_go, one_line, say
from rainproof.cli.reading import STDIN, prepared
from rainproof.core.files import replace_now, together
from rainproof.errors import InputError, RainproofError, hide_passwords
from rainproof.io.source_errors import need

FAILED = 2
UNFORESEEN = 70  # as in sysexits.h; no command uses it for anything else
NOBODY_READS = 141  # 128 + SIGPIPE

COMMANDS = {
    "assess": "assessing",
    "assess-many": "assessing",
    "measure": "measuring",
    "report": "assessing",
    "recalibrate": "recalibrating",
    "apply": "recalibrating",
    "policy": "deciding",
    "decide": "deciding",
    "switch": "deciding",
    "threshold": "deciding",
    "store": "measuring",
    "monitor": "measuring",
    "stream": "recalibrating",
    "demo": "assessing",
    "completion": "app",
}
"""The module of each, whose function `run_NAME` runs it, in the order of the help;
`commands.add_NAME` adds it.
"""

_ONE_CLASS = "in Python, rainproof.scan(FILE, classes=[...], outcome=...) has that of each class"
_DESCRIPTION = "What can a decision lose by acting on these predicted probabilities?"
_EPILOG = """\
examples:
  rainproof demo --open
  rainproof rain.csv                    (assess it, with columns that are guessed)
  rainproof measure rain.csv --prob probability --outcome rained
  rainproof assess rain.csv --prob probability --outcome rained
  rainproof report rain.csv --prob probability --outcome rained -o report.html
  rainproof recalibrate rain.csv --prob probability --outcome rained -o map.json

'rainproof COMMAND --help' explains a command, with examples.
"""


class _Parser(argparse.ArgumentParser):
    """Report wrong arguments in one line, and print help in colour where there are colours."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # from Python 3.14 on it has colours of its own; ours are the same everywhere
        self.color = False

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see '{self.prog} --help')")

    def print_help(self, file: Any = None) -> None:
        stream = file or sys.stdout
        say(stream, coloured_help(self.format_help(), stream))


def run(argv: Sequence[str] | None, settle: Callable[[], None]) -> int:
    """Run a command and return its exit code; the files that it writes get their names at its end,
    after `settle`.
    """
    try:
        with together():
            try:
                status = _run(argv)
                if sys.stdout is not None:
                    # a reader that is gone is noticed here, not while Python shuts down
                    sys.stdout.flush()
            except BrokenPipeError:
                let_go(sys.stdout)
                status = NOBODY_READS  # the files are as good as they would be with a reader
            settle()
            replace_now()
            return status
    except RainproofError as error:
        return _fail(str(error))
    except OSError as error:
        let_go(sys.stdout)
        return _fail(f"cannot write: {error.strerror}")
    except Exception as error:
        if os.environ.get("RAINPROOF_TRACEBACK"):
            raise
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _fail(
            f"unforeseen {reason:.300} (a fault of rainproof; please report it with what RAINPROOF_TRACEBACK=1 shows)"
        )
        return UNFORESEEN


def _run(argv: Sequence[str] | None) -> int:
    given = _with_command(sys.argv[1:] if argv is None else list(argv))
    parser, parsers = _parser(given[0] if given else "")
    try:
        _check_options(parser, parsers, given)
        arguments, unknown = parser.parse_known_args(given)
    except SystemExit:  # --help and --version have said what was asked
        return 0
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return FAILED
    if unknown:
        parsers[arguments.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    module = import_module(f"rainproof.cli.{COMMANDS[arguments.command]}")
    command: Callable[[argparse.Namespace], int] = getattr(
        module, f"run_{arguments.command.replace('-', '_')}"
    )
    check_together(arguments)
    with prepared(arguments):
        check_outputs(arguments)
        return command(arguments)


def _check_options(parser: _Parser, parsers: dict[str, _Parser], given: list[str]) -> None:
    """Refuse an option that the command, or what is before it, does not have, and name the one that
    may be meant.
    """
    asked = parsers.get(given[0] if given else "", parser)
    for word in given[:1] if asked is parser else given[1:]:
        name = word.partition("=")[0]
        if word == "--":
            return
        known = asked._option_string_actions
        if name.startswith("--") and " " not in word and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = (
                f"; did you mean {close[0]}?"
                if close
                else " before the command"
                if asked is parser
                else ""
            )
            if name == "--classes" and asked is not parser:
                meant = f": {given[0]} is about one event; {_ONE_CLASS}"
            asked.error(f"there is no option {name}{meant}")


def _with_command(argv: list[str]) -> list[str]:
    """Assess a file that is given without a command; refuse a word that is neither."""
    word = argv[0] if argv else ""
    if word != STDIN and (not word or word.startswith("-") or word in COMMANDS):
        return argv
    if word == STDIN or "." in word or "/" in word or Path(word).is_file():
        return ["assess", *argv]
    close = difflib.get_close_matches(word, COMMANDS, n=1)
    meant = f"did you mean {close[0]!r}?" if close else f"commands are {', '.join(COMMANDS)}"
    raise InputError(
        f"{one_line(word)!r} is neither a command nor a file; {meant} (see 'rainproof --help')"
    )


def _parser(command: str) -> tuple[_Parser, dict[str, _Parser]]:
    """Return the parser, and that of each command: of one, or of all for help and completion."""
    some = [command] if command in COMMANDS and command != "completion" else COMMANDS
    parser = _Parser(
        prog="rainproof",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(parser=parser)  # for completion, which is made from it
    parser.add_argument("--version", action="version", version=f"rainproof {__version__}")
    adding = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in some:
        getattr(commands, f"add_{name.replace('-', '_')}")(adding)
    return parser, adding.choices


def _fail(message: str) -> int:
    with suppress(OSError):  # if even that cannot be said, the exit code says it
        say(sys.stderr, f"rainproof: error: {one_line(hide_passwords(message))}\n")
    return FAILED


def run_completion(arguments: argparse.Namespace) -> int:
    """Make the script from the parser itself, so that the two cannot differ."""
    shtab = need("shtab", "completion", "shtab", "shtab")
    _complete_files(arguments.parser, shtab)
    say(sys.stdout, shtab.complete(arguments.parser, arguments.shell))
    return 0


def _complete_files(parser: argparse.ArgumentParser, shtab: Any) -> None:
    """Mark the arguments that are files and folders, by their metavar."""
    places = {"FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY}
    for action in parser._actions:
        if action.metavar in places:
            action.complete = places[action.metavar]  # type: ignore[attr-defined]  # as shtab asks
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, shtab)
