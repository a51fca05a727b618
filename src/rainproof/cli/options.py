"""The options that several commands share, each written once, and how they combine.

A command names the options of `SHARED` that it takes. One that says how rows are read reaches the
library under its own name: a new one is an entry here, and a field of `rainproof.io.opening` or a
parameter of `rainproof.scan`. What their values may be is in `rainproof.cli.option_types`.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from rainproof.cli import option_types
from rainproof.cli.help_layout import OptionLines
from rainproof.core.documents import check_replaced
from rainproof.core.files import behind_links, check_output, check_suffix
from rainproof.core.text import wrapped
from rainproof.errors import InputError
from rainproof.io.formats import describe_formats
from rainproof.io.locations import expand

if TYPE_CHECKING:
    from rainproof.decisions.tasks import DecisionTask


class Commands(Protocol):
    """The commands of a parser, which argparse has no public name for."""

    def add_parser(self, name: str, **options: Any) -> Any:
        """Add a command, and return its parser."""


_ROW_OPTIONS: dict[str, dict[str, Any]] = {
    "--weight": {"metavar": "COL", "help": "column of case weights"},
    "--trials": {
        "metavar": "COL",
        "help": "column of trials; --outcome then counts events",
    },
    "--pos-label": {"metavar": "LABEL", "help": "outcome that is the event, if it is not 1"},
    "--base-rate": {
        "metavar": "RATE",
        "type": option_types.base_rate,
        "help": (
            "event rate where the forecast will be used, if these rows have another one: 0.5%%, or "
            "a range, 0.3%%,1%%"
        ),
    },
    "--where": {
        "metavar": "CONDITION",
        "help": "rows to use, such as \"region = 'north'\"",
    },
    "--drop-missing": {
        "action": "store_true",
        "help": "leave out rows with missing values in the columns read",
    },
}
"""How rows with outcomes are read."""

_TEXT_OPTIONS: dict[str, dict[str, Any]] = {
    "--sep": {
        "metavar": "CHAR",
        "type": option_types.separator,
        "help": "column separator of text files (default: recognized)",
    },
}
"""How text is cut into values: each is the field of `rainproof.io.opening.ReadOptions` of its
name.
"""

_VALUE_OPTIONS: dict[str, dict[str, Any]] = {
    "--percent": {"action": "store_true", "help": "probabilities are percentages"},
    "--confidence-words": {
        "metavar": "FILE",
        "type": option_types.file_name,
        "help": 'JSON file of probabilities of words: {"almost certain": 0.95}',
    },
}
"""How values of any file are read."""

_COST = {
    "metavar": "COST",
    "type": option_types.cost,
}

SHARED: dict[str, dict[str, Any]] = {
    "file": {
        "metavar": "FILE",
        "type": option_types.source,
        "nargs": "+",
        "help": (
            "FORMATS files, patterns (data/*.parquet), objects in a store (s3://, gs://, "
            "abfs://), a database table (postgresql://user@host/name#table, sqlite:///, "
            "duckdb:///), or - for standard input"
        ),
    },
    "--prob": {"metavar": "COL", "help": "column of predicted probabilities, from 0 to 1"},
    "--classes": {
        "metavar": "COL",
        "nargs": "+",
        "help": (
            "columns of three or more class probabilities, instead of --prob; --outcome holds the "
            "name of the observed one, or its number from 0"
        ),
    },
    "--cost-matrix": {
        "metavar": "FILE",
        "type": option_types.file_name,
        "help": "with --classes: JSON file of costs, by action and class",
    },
    "--old": {"metavar": "COL", "help": "column of the probabilities in use, from 0 to 1"},
    "--new": {"metavar": "COL", "help": "column of the probabilities that may replace them"},
    "--outcome": {"metavar": "COL", "help": "column of outcomes: 0 or 1, true or false"},
    **_ROW_OPTIONS,
    **_TEXT_OPTIONS,
    **_VALUE_OPTIONS,
    "--keep-missing": {
        "action": "store_true",
        "help": (
            "copy rows without a probability or a cost, and leave their new columns empty "
            "(default: an error)"
        ),
    },
    "--by": {"metavar": "COL", "nargs": "+", "help": "columns of segments"},
    "--groups": {
        "metavar": "COL",
        "nargs": "+",
        "help": "columns of clusters, such as patient: cases in one may depend on each other",
    },
    "--max-weight": {
        "metavar": "W",
        "type": option_types.positive,
        "help": "largest possible weight of a cluster (or case), known beforehand",
    },
    "--fractional": {
        "action": "store_true",
        "help": "outcomes are shares of the event, from 0 to 1",
    },
    "--cost-fp": {
        **_COST,
        "help": "cost of a false positive (false alarm): number or column",
    },
    "--cost-fn": {
        **_COST,
        "help": "cost of a false negative (missed event): number or column",
    },
    "--capacity": {
        "metavar": "N",
        "type": option_types.capacity,
        "help": "with costs: most cases you can act on, a share (2%%) or a number (200)",
    },
    "--threshold-range": {
        "metavar": "LOW,HIGH",
        "type": option_types.threshold_range,
        "help": "only decisions with these thresholds: 5%%,20%%, or one, 10%%",
    },
    "--confidence-level": {
        "metavar": "C",
        "type": option_types.probability,
        "default": 0.95,
        "help": "confidence level of bounds, intervals and tests (default: 0.95)",
    },
    "--seed": {
        "metavar": "N",
        "type": option_types.seed,
        "default": 0,
        "help": "seed of random numbers (default: 0)",
    },
    "--plot": {
        "metavar": "FILE",
        "type": option_types.path,
        "help": "also draw the result: .png, .svg or .pdf",
    },
    "--json": {"action": "store_true", "help": "print JSON instead of text"},
    "--output": {
        "metavar": "FILE",
        "type": option_types.path,
        "help": "also write the result as JSON",
    },
    "--force": {
        "action": "store_true",
        "help": "also replace files that rainproof did not write",
    },
    "--quiet": {"action": "store_true", "help": "print neither text nor progress"},
}
"""What argparse is told of each option, by its name."""

TEXT = tuple(_TEXT_OPTIONS)
VALUES = tuple(_VALUE_OPTIONS)
SELECTION = tuple(_ROW_OPTIONS)
ROWS = ("--outcome", *SELECTION, *TEXT, *VALUES)
"""What a command takes that reads rows with outcomes."""
ROWS_AS_THEY_ARE = tuple(name for name in ROWS if name != "--base-rate")
"""The same for a command that is about the rows at the event rate that they have."""
NEW_CASES = ("--prob", "--classes", *TEXT, *VALUES)
"""What a command takes that reads one file of cases without outcomes."""
COSTS = ("--cost-fp", "--cost-fn")
RESULT = ("--json", "--output", "--force", "--quiet")
_COLUMNS = ("--prob", "--old", "--new", "--outcome")  # without which there is no forecast to judge
_OF_ONE_EVENT = (
    "--trials",
    "--pos-label",
    "--base-rate",
    "--by",
    "--max-weight",
    "--fractional",
    "--cost-fp",
    "--cost-fn",
    "--threshold-range",
    "--capacity",
    "--preset",
    "--plot",
    "--policy",
    "--rounded",
    "--rounding",
    "--fail-above",
)
"""What cannot be combined with --classes."""
# What matplotlib writes without more packages, and every page shows.
_PICTURES = (".png", ".svg", ".pdf")
_BESIDE = ("map", "policy", "confidence_words", "cost_matrix")
"""The arguments that name files which are read beside the rows."""


def new_command(
    commands: Commands,
    add: Callable[[Commands], None],
    summary: str,
    most_used: Sequence[str],
    one: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command.

    Parameters
    ----------
    commands : argparse subparsers
        Where to add it.
    add : callable
        The function ``add_NAME`` of the command: its docstring is the help text, which has examples
        at its end.
    summary : str
        What the list of commands says of it.
    most_used : sequence of str
        The five options that most people use: its help begins with them.
    one : str, optional
        When its exit code is 1.
    """
    # The first line of a docstring is not indented as the others are.
    text = textwrap.dedent(f"    {add.__doc__ or ''}").strip()
    description, _, rest = text.partition("\nexamples:\n")
    examples, _, epilog = rest.partition("\n\n")
    when_one = "" if one is None else f"1 {one}, "
    codes = f"Exit code: 0, {when_one}2 after an error."
    paragraphs = [*_paragraphs(epilog), f"{wrapped(codes)}\nMore: docs/reference/command-line.md"]
    ending = "\n\n".join(paragraphs)
    parser: argparse.ArgumentParser = commands.add_parser(
        add.__name__.removeprefix("add_").replace("_", "-"),
        help=summary,
        summary=summary,
        most_used=most_used,
        description="\n\n".join(_paragraphs(description)),
        epilog=f"examples:\n{examples}\n\n{ending}",
        formatter_class=OptionLines,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="show this help")
    parser.set_defaults(suffixes=(".json",), writes="result")
    return parser


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, each broken into lines that fit a terminal."""
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph:
            paragraphs.append(wrapped(" ".join(paragraph.split())))
    return paragraphs


def add_shared(
    parser: argparse.ArgumentParser, *names: str, guess: bool = False, **words: str
) -> None:
    """Add shared options to a command.

    Parameters
    ----------
    names : str
        The options, as in `SHARED`.
    guess : bool
        Whether the columns of predictions and outcomes are guessed if they are not named.
    words : str
        What an option means to this command, by its name in the arguments, where the table says
        something else.
    """
    either: Any = parser  # what takes --prob or --classes, of which one is given
    has_classes = "--classes" in names
    if has_classes:
        either = parser.add_mutually_exclusive_group(required=not guess)
    for name in names:
        option = dict(SHARED[name])
        # The formats are known only now: who uses the library may add to them.
        text = words.get(dest(name), option["help"])
        option["help"] = text.replace("FORMATS", describe_formats())
        is_alternative = has_classes and name in ("--prob", "--classes")
        if guess and name in _COLUMNS:
            option["help"] += " (default: guessed)"
        elif name in _COLUMNS and not is_alternative:
            option["required"] = True
        flags = ["-o", name] if name == "--output" else [name]
        target = either if is_alternative else parser
        target.add_argument(*flags, **option)


def add_output(
    parser: argparse.ArgumentParser, words: str, writes: str | None, *suffixes: str
) -> None:
    """Add the file that a command writes, which it needs a name for, its kind, and what the name
    may end in.
    """
    parser.set_defaults(suffixes=suffixes, writes=writes)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=option_types.path, required=True, help=words
    )
    force = str(SHARED["--force"]["help"])
    if writes is None:
        # Nothing in a copied file shows that rainproof wrote it.
        force = "replace an existing file"
    add_shared(parser, "--force", force=force)


def add_copied(parser: argparse.ArgumentParser) -> None:
    """Add the file that is copied with new columns, and how it is read."""
    words = f"{describe_formats()} file of predicted probabilities, or - for standard input"
    parser.add_argument("file", metavar="FILE", type=option_types.source, help=words)
    words = "columns of predicted probabilities of three classes or more, instead of --prob"
    add_shared(parser, *NEW_CASES, "--keep-missing", classes=words)


def dest(name: str) -> str:
    """Return the name of an option in the arguments."""
    return name.lstrip("-").replace("-", "_")


def inference(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how sure and about which decisions a statement is, and its seed, as arguments of the
    library.
    """
    options = {}
    for parameter in ("confidence_level", "threshold_range"):
        if hasattr(arguments, parameter):
            options[parameter] = getattr(arguments, parameter)
    if hasattr(arguments, "seed"):
        options["rng"] = arguments.seed
    return options


def check_together(arguments: argparse.Namespace) -> None:
    """Refuse shared options that cannot be combined."""
    stated = {name for name in map(dest, SHARED) if is_stated(arguments, name)}
    if "fractional" in stated and stated & {"pos_label", "trials"}:
        raise InputError(
            "--fractional cannot be combined with --pos-label or --trials: outcomes are shares "
            "already"
        )
    if "classes" in stated:
        _check_classes(arguments)
    elif "cost_matrix" in stated:
        raise InputError(
            "--cost-matrix needs --classes: for one event, state --cost-fp and --cost-fn"
        )
    if {"plot", "output"} <= stated:
        plot: Path = arguments.plot
        if behind_links(plot) == behind_links(arguments.output):
            raise InputError(f"--plot and --output must be different files; both are {str(plot)!r}")


def is_stated(arguments: argparse.Namespace, name: str) -> bool:
    """Whether a command has an option, and was given it (or has a value for it by default)."""
    return getattr(arguments, name, None) not in (None, False)


def _check_classes(arguments: argparse.Namespace) -> None:
    """Refuse columns that are not those of several classes, and options of one event."""
    columns = arguments.classes
    if len(columns) < 3 or len(set(columns)) < len(columns):
        raise InputError(
            "--classes must name three different columns or more: two classes are one event "
            "(--prob)"
        )
    for option in _OF_ONE_EVENT:
        name = dest(option)
        # Soft rounding is what 'rainproof measure' does by default.
        if is_stated(arguments, name) and getattr(arguments, name) != "soft":
            raise InputError(f"{option} is for one event: it cannot be combined with --classes")


def check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse, before the work, a file that cannot be written, is one of those to read, or holds
    something else.
    """
    plot: Path | None = getattr(arguments, "plot", None)
    output: Path | None = getattr(arguments, "output", None)
    if plot is not None and plot.suffix not in _PICTURES:
        raise InputError(f"--plot must name a .png, .svg or .pdf file; it is {str(plot)!r}")
    named = as_list(getattr(arguments, "file", None) or getattr(arguments, "source", None))
    sources = [Path(name) for name in expand([name for name in named if "://" not in name])]
    for name in _BESIDE:
        if is_stated(arguments, name):
            sources.append(Path(getattr(arguments, name)))
    # The folder of a sample is made.
    is_in_new_folder = arguments.writes == "sample" and not (output and output.parent.exists())
    if output is not None and not is_in_new_folder:
        check_output(output, *sources)
        check_suffix(output, "--output", *arguments.suffixes)
        check_replaced(output, arguments.writes, overwrite=arguments.force, how="--force")
    if plot is not None:
        check_output(plot, *sources)
        check_replaced(plot, "picture", overwrite=arguments.force, how="--force")


def as_list(value: Any) -> list[Any]:
    """Return the values of an option that takes one or several, or none."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def files_read(arguments: argparse.Namespace) -> str:
    """Name the file, or the first of several and their number."""
    first: str = arguments.shown[0]
    if first == "-":
        first = "standard input"
    others = len(arguments.shown) - 1
    return f"{first} and {others} more" if others else first


def costs_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the costs by option: numbers, or names of columns; empty where none are given."""
    costs = {name: getattr(arguments, dest(name), None) for name in COSTS}
    if all(cost is None for cost in costs.values()):
        return {}
    if None in costs.values():
        raise InputError(
            "--cost-fp and --cost-fn must be given together: their ratio sets the threshold"
        )
    return costs


def cost_columns(arguments: argparse.Namespace) -> list[str]:
    """Return the columns that hold costs of each case."""
    columns = [cost for cost in costs_of(arguments).values() if isinstance(cost, str)]
    return list(dict.fromkeys(columns))


def refuse_cost_columns(arguments: argparse.Namespace, why: str) -> None:
    """Refuse costs of each case, for what keeps none."""
    for name, cost in costs_of(arguments).items():
        if isinstance(cost, str):
            raise InputError(f"{name} must be a number here: {why}; it is the column {cost!r}")


def task_of(
    arguments: argparse.Namespace,
    actions: Sequence[str] = ("wait", "act"),
    columns: Mapping[str, Any] = MappingProxyType({}),
) -> DecisionTask | None:
    """Return the decision that the costs describe, or None where none are given; `columns` has
    those of each case.
    """
    from rainproof.decisions.tasks import DecisionTask

    costs = []
    for cost in costs_of(arguments).values():
        costs.append(columns[cost] if isinstance(cost, str) else cost)
    if not costs:
        return None
    false_positive, false_negative = costs
    task: DecisionTask = DecisionTask.from_costs(
        false_positive=false_positive, false_negative=false_negative, actions=actions
    )
    return task
