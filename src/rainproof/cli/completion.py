"""``rainproof completion``: a script that makes a shell complete commands, options and files."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rainproof.cli.options import new_command
from rainproof.cli.output import say
from rainproof.errors import MissingExtraError

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Print a script that makes a shell complete rainproof's commands, options and files.
"""
_EPILOG = """\
examples:
  source <(rainproof completion bash)                     (in ~/.bashrc)
  rainproof completion zsh > ~/.zfunc/_rainproof             (a folder in your $fpath)
  rainproof completion fish > ~/.config/fish/completions/rainproof.fish

Needs shtab: pip install shtab. The script itself needs nothing.
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "print a completion script for your shell"
    parser = new_command(commands, run, "completion", summary, _DESCRIPTION, _EPILOG)
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="your shell")


def run(arguments: argparse.Namespace) -> int:
    """Make the script from the parser itself, so that the two cannot differ."""
    if find_spec("shtab") is None:
        raise MissingExtraError("completion", "shtab", "shtab")
    shtab = import_module("shtab")
    _complete_files(arguments.parser, shtab)
    say(sys.stdout, shtab.complete(arguments.parser, arguments.shell))
    return 0


def _complete_files(parser: argparse.ArgumentParser, shtab: Any) -> None:
    """Mark the arguments that are files and folders, by their metavar."""
    places = {"FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY}
    for action in parser._actions:
        if action.metavar in places:
            vars(action)["complete"] = places[action.metavar]
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, shtab)
