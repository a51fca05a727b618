"""How help is laid out: the commands in groups, the options of a command under headings.

What an option or a command means is written in `rainproof.cli.options` and
`rainproof.cli.commands`. Nothing heavy is imported here, as help should not wait for NumPy.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from rainproof.core.text import WIDTH

COMMAND_GROUPS = {
    "Assess": ("assess", "assess-many", "measure", "report"),
    "Improve": ("recalibrate", "apply", "stream"),
    "Decide": ("threshold", "policy", "decide", "switch"),
    "Watch": ("store", "monitor"),
    "Other": ("demo", "completion"),
}
"""The commands, by what they are for."""

MOST_USED = "most used options"

HEADINGS = {
    "reading the data": (
        "file",
        "source",
        "--prob",
        "--old",
        "--new",
        "--outcome",
        "--where",
        "--drop-missing",
        "--keep-missing",
        "--sep",
        "--pos-label",
        "--trials",
        "--fractional",
        "--percent",
        "--confidence-words",
        "--base-rate",
    ),
    "several classes": ("--classes", "--cost-matrix"),
    "periods": ("--every", "--window"),
    "clusters and weights": ("--groups", "--dependent-rows", "--weight", "--max-weight"),
    "segments": ("--by", "--segments", "--unseen"),
    "costs and decisions": (
        "--cost-fp",
        "--cost-fn",
        "--threshold",
        "--precision",
        "--recall",
        "--false-positive-rate",
        "--capacity",
        "--threshold-range",
        "--policy",
        "--id",
        "--actions",
        "--grid",
    ),
    "recalibration": ("--map",),
    "method": ("--methods", "--rounding", "--confidence-level", "--alpha", "--seed"),
    "output": (
        "--output",
        "--json",
        "--plot",
        "--open",
        "--preset",
        "--rounded",
        "--verbose",
        "--fail-on",
        "--fail-above",
        "--state",
        "--force",
        "--quiet",
        "--help",
    ),
}
"""The options by heading, in the order of the help; a file to read is there by its name in the
arguments.
"""

_EXAMPLES = (
    "rainproof demo --open",
    "rainproof rain.csv",
    "rainproof measure rain.csv --prob probability --outcome rained",
)
_GLUE = "\0"  # in place of a blank where a line must not end
_INDENT = 10  # characters: the longest name of a group, its colon, and blanks
_NAME_WIDTH = 13  # characters: the longest name of a command, and blanks


class OptionLines(argparse.RawDescriptionHelpFormatter):
    """Print an option with several values as ``--by COL ...``."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs == "+":
            return f"{action.metavar} ..."
        return super()._format_args(action, default_metavar)


def overview(prog: str, description: str, summaries: Mapping[str, str]) -> str:
    """Return the help of the tool: its commands in groups, on one screen of 24 lines."""
    lines = [
        f"usage: {prog} [-h] [--version] COMMAND ...",
        "",
        description,
        f"'{prog} COMMAND --help' explains a command; '{prog} FILE' assesses a file.",
        "",
    ]
    for group, names in COMMAND_GROUPS.items():
        entries = [f"{name:{_NAME_WIDTH}}{summaries[name]}" for name in names]
        lines.extend(_beside(group, entries))
    lines.append("")
    lines.extend(_beside("examples", _EXAMPLES))
    return "\n".join(lines) + "\n"


def _beside(heading: str, entries: Iterable[str]) -> list[str]:
    """Return entries below each other, with a heading at the left of the first."""
    label = f"{heading}:"
    lines = []
    for entry in entries:
        lines.append(f"{label:{_INDENT}}{entry}")
        label = ""
    return lines


def usage_of(prog: str, actions: Iterable[argparse.Action], *, needs_prob: bool) -> str:
    """Return how a command is called: its files and what it needs; other options are listed below.

    Parameters
    ----------
    prog : str
        The tool and the command.
    actions : iterable of argparse actions
        The arguments of the command.
    needs_prob : bool
        Whether it needs --prob or --classes.
    """
    files = []
    options = []
    alternatives = []
    for action in actions:
        if not action.option_strings:
            files.append(_value_of(action))
        elif action.required:
            options.append(_option_of(action))
        elif needs_prob and action.dest in ("prob", "classes"):
            alternatives.append(_option_of(action))
    if alternatives:
        options.insert(0, f"({' | '.join(alternatives)})")
    # A line ends between two arguments, and never between an option and its value.
    parts = [part.replace(" ", _GLUE) for part in (*files, *options, "[options]")]
    indent = " " * len(f"usage: {prog} ")
    text = textwrap.fill(f"{indent}{' '.join(parts)}", WIDTH, subsequent_indent=indent)
    return f"{prog} {text.strip()}".replace(_GLUE, " ")


def _option_of(action: argparse.Action) -> str:
    return f"{action.option_strings[0]} {_value_of(action)}"


def _value_of(action: argparse.Action) -> str:
    """Return what stands for the values of an argument."""
    name = str(action.metavar or f"{{{','.join(action.choices or ())}}}")
    if action.nargs == "+":
        return f"{name} ..."
    if action.nargs == "?":
        return f"[{name}]"
    return name


def sections(
    actions: Iterable[argparse.Action], most_used: Sequence[str]
) -> dict[str, list[argparse.Action]]:
    """Return the arguments of a command by heading: those that most people use come first."""
    action_of = {}
    for action in actions:
        name = action.option_strings[-1] if action.option_strings else action.dest
        action_of[name] = action
    headings = {MOST_USED: most_used, **HEADINGS}
    named = {name for names in headings.values() for name in names}
    # What has no heading, such as the folder of 'demo', is the subject of its command.
    found = {"arguments": [action for name, action in action_of.items() if name not in named]}
    for heading, names in headings.items():
        found[heading] = [action_of.pop(name) for name in names if name in action_of]
    return found
