"""``brolly completion``: what makes a shell complete commands, options and files after Tab."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from brolly.cli.output import say
from brolly.errors import MissingExtraError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Print what makes a shell complete brolly's commands, options and files.
"""
_EPILOG = """\
examples:
  source <(brolly completion bash)                     (in ~/.bashrc)
  brolly completion zsh > ~/.zfunc/_brolly             (a folder in your $fpath)
  brolly completion fish > ~/.config/fish/completions/brolly.fish

Needs shtab: pip install 'brolly[completion]'. What it prints needs nothing.
"""


def add_command(commands: Commands) -> None:
    """Describe the command and its options."""
    parser = commands.add_parser(
        "completion",
        help="print what makes your shell complete after Tab",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell that you use")


def run(arguments: argparse.Namespace) -> int:
    """Have the script made from the parser itself, so that it cannot lag behind."""
    if find_spec("shtab") is None:
        raise MissingExtraError("completion", "shtab", "completion")
    shtab = import_module("shtab")
    _complete_files(arguments.whole, shtab)
    say(sys.stdout, shtab.complete(arguments.whole, arguments.shell))
    return 0


def _complete_files(parser: argparse.ArgumentParser, shtab: Any) -> None:
    """Tell it which arguments are files and folders: those that are called so."""
    places = {"FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY}
    for action in parser._actions:
        if action.metavar in places:
            vars(action)["complete"] = places[action.metavar]
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, shtab)
