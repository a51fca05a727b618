"""The command line: read arguments, call the library, print the result."""

from __future__ import annotations

import argparse
import difflib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

# Nothing heavy up here: until `stoppable` is entered, Ctrl-C would print a traceback.
from rainproof import __version__
from rainproof.cli.colour import coloured_help
from rainproof.cli.inputs import STDIN, prepared
from rainproof.cli.output import let_go, one_line, say
from rainproof.cli.stopping import stoppable
from rainproof.errors import InputError, RainproofError

FAILED = 2
UNFORESEEN = 70  # as in sysexits.h; no command uses it for anything else
INTERRUPTED = 130  # 128 + SIGINT, as shells count; other signals likewise
NOBODY_READS = 141  # 128 + SIGPIPE

COMMANDS = (
    "assess", "compare", "measure", "report", "recalibrate", "apply", "policy", "decide", "switch", "store", "monitor",
    "stream", "demo", "completion",
)  # fmt: skip
"""Each is a module of this package, in the order of the help."""

_DESCRIPTION = "What can anyone lose by acting on these predicted probabilities?"
_EPILOG = """\
examples:
  rainproof demo --open
  rainproof rain.csv                    (assess it, with columns that are guessed)
  rainproof measure rain.csv --prob probability --outcome rained
  rainproof assess rain.csv --prob probability --outcome rained
  rainproof compare rain.csv --prob old new --outcome rained \\
      --cost-fp 1 --cost-fn 9
  rainproof report rain.csv --prob probability --outcome rained -o report.html
  rainproof recalibrate rain.csv --prob probability --outcome rained -o map.json
  rainproof apply today.csv --map map.json --prob probability -o better.csv
  rainproof policy rain.csv --prob probability --outcome rained \\
      --cost-fp 35 --cost-fn 65 -o policy.json
  rainproof decide today.csv --policy policy.json --prob probability --id city \\
      -o decided.csv
  rainproof switch rain.csv --old probability --new challenger --outcome rained

'rainproof COMMAND --help' explains a command.
"""


class _Parser(argparse.ArgumentParser):
    """Report wrong arguments in one line, and print help in colour where there are colours."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.color = False  # from Python 3.14 on it has colours of its own; ours are the same everywhere

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see '{self.prog} --help')")

    def print_help(self, file: Any = None) -> None:
        stream = file or sys.stdout
        say(stream, coloured_help(self.format_help(), stream))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 if a limit is passed, or 2 with one line of error.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, without the name of the program; those of this process if left out.
    """
    try:
        with stoppable(process=argv is None):
            status = _run(argv)
            if sys.stdout is not None:
                sys.stdout.flush()  # a reader that is gone is noticed here, not while Python shuts down
            return status
    except RainproofError as error:
        return _fail(str(error))
    except KeyboardInterrupt as stop:
        return 128 + stop.args[0] if stop.args else INTERRUPTED
    except BrokenPipeError:
        let_go(sys.stdout)
        return NOBODY_READS
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
    if argv is None:  # a process of its own
        gc.disable()  # what is imported is no garbage; to search it time and again would take a twentieth of a report
    parser = _parser(given[0] if given else "")
    if argv is None:
        gc.freeze()
        gc.enable()
    try:
        arguments = parser.parse_args(given)
    except SystemExit:  # --help and --version have said what was asked
        return 0
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return FAILED
    run: Callable[[argparse.Namespace], int] = arguments.run
    with prepared(arguments):
        return run(arguments)


def _with_command(argv: list[str]) -> list[str]:
    """Assess a file that is given without a command; refuse a word that is neither."""
    word = argv[0] if argv else ""
    if word != STDIN and (not word or word.startswith("-") or word in COMMANDS):
        return argv
    if word == STDIN or "." in word or "/" in word or Path(word).is_file():
        return ["assess", *argv]
    close = difflib.get_close_matches(word, COMMANDS, n=1)
    meant = f"did you mean {close[0]!r}?" if close else f"commands are {', '.join(COMMANDS)}"
    raise InputError(f"{one_line(word)!r} is neither a command nor a file; {meant} (see 'rainproof --help')")


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser with one command, as the others take time to import; with all for help and completion."""
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
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in some:
        import_module(f"rainproof.cli.{name}").add_command(commands)
    return parser


def _fail(message: str) -> int:
    with suppress(OSError):  # if even that cannot be said, the exit code says it
        say(sys.stderr, f"rainproof: error: {one_line(message)}\n")
    return FAILED
