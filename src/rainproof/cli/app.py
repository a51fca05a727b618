"""The command itself: its arguments, the table of commands, and errors in one line."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

# Nothing heavy up here: help should not wait for NumPy. The module of a command is imported when it
# runs.
from rainproof import __version__
from rainproof.cli import commands
from rainproof.cli.help_layout import overview, sections, usage_of
from rainproof.cli.options import check_outputs, check_together, dest
from rainproof.cli.output import coloured_help, let_go, one_line, say
from rainproof.cli.reading import STDIN, prepared
from rainproof.core.files import replace_now, together
from rainproof.errors import InputError, RainproofError, hide_passwords
from rainproof.io.source_errors import need

FAILED = 2  # as argparse has it for wrong arguments
UNFORESEEN = 70  # as in sysexits.h; no command uses it for anything else
NOBODY_READS = 141  # 128 + SIGPIPE

COMMANDS = {
    "assess": "assessing",
    "assess-many": "assessing",
    "measure": "measuring",
    "report": "assessing",
    "recalibrate": "recalibrating",
    "apply": "recalibrating",
    "stream": "recalibrating",
    "threshold": "deciding",
    "policy": "deciding",
    "decide": "deciding",
    "switch": "deciding",
    "store": "measuring",
    "monitor": "monitoring",
    "demo": "demo",
    "completion": "app",
}
"""The module of each, whose function `run_NAME` runs it, in the order of the help;
`commands.add_NAME` adds it.
"""

_ONE_CLASS = "in Python, rainproof.scan(FILE, classes=[...], outcome=...) has that of each class"
_DESCRIPTION = "What can a decision lose by acting on these predicted probabilities?"


class _Parser(argparse.ArgumentParser):
    """Report wrong arguments in one line, and print help in colour where there are colours.

    Parameters
    ----------
    summary : str
        What the list of commands says of it.
    most_used : sequence of str
        The options that its help begins with.
    options : Any
        What argparse takes.
    """

    def __init__(self, *, summary: str = "", most_used: Sequence[str] = (), **options: Any) -> None:
        super().__init__(**options)
        self.summary = summary
        self.most_used = most_used
        # From Python 3.14 on it has colours of its own; ours are the same everywhere.
        self.color = False

    def actions(self) -> list[argparse.Action]:
        """List the arguments, which argparse has no public name for."""
        return self._actions

    def option_names(self) -> set[str]:
        """Return the options, with their dashes."""
        names: set[str] = set()
        for action in self.actions():
            names.update(action.option_strings)
        return names

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see '{self.prog} --help')")

    def format_help(self) -> str:
        """Return the help, with the options under headings."""
        # The only options that exclude each other are --prob and --classes.
        needs_prob = any(group.required for group in self._mutually_exclusive_groups)
        formatter = self._get_formatter()
        usage = usage_of(self.prog, self.actions(), needs_prob=needs_prob)
        formatter.add_usage(usage, [], [])
        formatter.add_text(self.description)
        for heading, actions in sections(self.actions(), self.most_used).items():
            formatter.start_section(heading)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def print_help(self, file: Any = None) -> None:
        stream = file or sys.stdout
        say(stream, coloured_help(self.format_help(), stream))


class _Tool(_Parser):
    """The parser of the tool, whose help is the list of its commands."""

    parser_of: Mapping[str, _Parser]

    def format_help(self) -> str:
        """Return the list of commands, in groups."""
        summaries = {name: parser.summary for name, parser in self.parser_of.items()}
        return overview(self.prog, self.description or "", summaries)


def run(argv: Sequence[str] | None, settle: Callable[[], None]) -> int:
    """Run a command and return its exit code; the files that it writes get their names at its end,
    after `settle`.
    """
    try:
        with together():
            try:
                status = _run(argv)
                if sys.stdout is not None:
                    # A reader that is gone is noticed here, not while Python shuts down.
                    sys.stdout.flush()
            except BrokenPipeError:
                let_go(sys.stdout)
                # The files are as good as they would be with a reader.
                status = NOBODY_READS
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
        reason = type(error).__name__
        if str(error):
            reason = f"{reason}: {error}"
        report = "please report it with what RAINPROOF_TRACEBACK=1 shows"
        _fail(f"unforeseen {reason:.300} (a fault of rainproof; {report})")
        return UNFORESEEN


def _run(argv: Sequence[str] | None) -> int:
    words = _with_command(list(sys.argv[1:] if argv is None else argv))
    parser, parser_of = make_parsers(_first(words))
    try:
        # Before argparse, which would name an option that is misspelt only after the missing ones.
        _check_options(parser, parser_of, words)
        arguments, unknown = parser.parse_known_args(words)
    except SystemExit:  # --help and --version have said what was asked
        return 0
    command = arguments.command
    if command is None:
        parser.print_help(sys.stderr)
        return FAILED
    if unknown:
        parser_of[command].error(f"unrecognized arguments: {' '.join(unknown)}")
    module = import_module(f"rainproof.cli.{COMMANDS[command]}")
    run_command: Callable[[argparse.Namespace], int] = getattr(module, f"run_{dest(command)}")
    # What is wrong with the options is said before standard input is waited for.
    check_together(arguments)
    with prepared(arguments):
        check_outputs(arguments)
        return run_command(arguments)


def _check_options(parser: _Parser, parser_of: dict[str, _Parser], words: list[str]) -> None:
    """Refuse an option that the command, or what is before it, does not have, and name the one that
    may be meant.
    """
    command = _first(words)
    is_command = command in parser_of
    asked = parser_of.get(command, parser)
    known = asked.option_names()
    # Before a command there is one word at most: without a command nothing else is read.
    asked_words = words[1:] if is_command else words[:1]
    for word in asked_words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if not name.startswith("--") or " " in word or name in known:
            continue
        close = difflib.get_close_matches(name, known, n=1)
        if name == "--classes" and is_command:
            hint = f": {command} is about one event; {_ONE_CLASS}"
        elif close:
            hint = f"; did you mean {close[0]}?"
        elif is_command:
            hint = ""
        else:
            hint = " before the command"
        asked.error(f"there is no option {name}{hint}")


def _first(words: list[str]) -> str:
    """The first word, which is a command or a file; empty if there is none."""
    return words[0] if words else ""


def _with_command(words: list[str]) -> list[str]:
    """Assess a file that is given without a command; refuse a word that is neither."""
    first = _first(words)
    if first != STDIN and (not first or first.startswith("-") or first in COMMANDS):
        return words
    if first == STDIN or "." in first or "/" in first or Path(first).is_file():
        return ["assess", *words]
    close = difflib.get_close_matches(first, COMMANDS, n=1)
    hint = f"commands are {', '.join(COMMANDS)}"
    if close:
        hint = f"did you mean {close[0]!r}?"
    problem = f"{one_line(first)!r} is neither a command nor a file"
    raise InputError(f"{problem}; {hint} (see 'rainproof --help')")


def make_parsers(command: str) -> tuple[_Parser, dict[str, _Parser]]:
    """Return the parser, and that of each command.

    A command needs its own parser alone, which takes less time; help and completion need all.
    """
    names: Iterable[str] = COMMANDS
    if command in COMMANDS and command != "completion":
        names = [command]
    parser = _Tool(prog="rainproof", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"rainproof {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name in names:
        getattr(commands, f"add_{dest(name)}")(subparsers)
    parser_of: dict[str, _Parser] = subparsers.choices
    parser.parser_of = parser_of
    parser.set_defaults(parser=parser, parsers=[parser, *parser_of.values()])  # for completion
    return parser, parser_of


def _fail(message: str) -> int:
    with suppress(OSError):  # if even that cannot be said, the exit code says it
        say(sys.stderr, f"rainproof: error: {one_line(hide_passwords(message))}\n")
    return FAILED


def run_completion(arguments: argparse.Namespace) -> int:
    """Make the script from the parser itself, so that the two cannot differ."""
    shtab = need("shtab", "completion", "shtab", "shtab")
    # shtab is told by an attribute of an argument that it is a file or a folder.
    places = {"FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY}
    for parser in arguments.parsers:
        for action in parser.actions():
            if action.metavar in places:
                action.complete = places[action.metavar]
    say(sys.stdout, shtab.complete(arguments.parser, arguments.shell))
    return 0
