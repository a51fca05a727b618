"""The options that several commands share, each written once, and how they combine.

A command names the options of `SHARED` that it takes. One that says how rows are read reaches the
library under its own name: a new one is an entry here and a parameter of `rainproof.scan`.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable, Container, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from rainproof.core.files import behind_links, check_output, check_replaced, check_suffix
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


def typed(rule: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the type of an option: its errors name the option and the rule, not the library's
    parameter.
    """

    def checked(text: str) -> Any:
        try:
            return read(text)
        except (ArithmeticError, ValueError):  # also an `InputError`
            raise argparse.ArgumentTypeError(f"must be {rule}; it is {text!r}") from None

    return checked


def _inside(number: float, high: float) -> float:
    """Return a number above 0 and below a limit."""
    if not 0 < number < high:
        raise ValueError
    return number


def _shares(text: str) -> list[float]:
    """Read one share, such as 0.005 or 0.5%, or several with commas between them."""
    return [
        float(Decimal(part.strip().removesuffix("%")) / (100 if "%" in part else 1))
        for part in text.split(",")
    ]


def _share(text: str) -> float:
    bare = text.strip()
    return _inside(float(f"{bare[:-1].strip()}e-2" if bare.endswith("%") else bare), 1.0)


def _cost(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return _inside(number, math.inf)


def _threshold_range(text: str) -> Any:
    from rainproof.core.validation import check_range

    ends = _shares(text)
    return check_range(ends[0] if len(ends) == 1 else ends)


def _base_rate(text: str) -> Any:
    from rainproof.core.validation import check_base_rate

    low, high = check_base_rate(_shares(text))
    return low if low == high else (low, high)


def _capacity(text: str) -> float:
    from rainproof.core.validation import check_capacity

    (number,) = _shares(text)
    return _inside(number, 1.0) if "%" in text else check_capacity(number)


def _separator(text: str) -> str:
    character = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise ValueError
    return character


def whole(text: str, known: Container[int]) -> int:
    """Read a whole number that is one of those that are known."""
    if not text.isdecimal() or int(text) not in known:
        raise ValueError
    return int(text)


def named(text: str) -> str:
    """Return the name of a file; an empty one, as of a variable that is not set, would be the
    current folder.
    """
    if not text:
        raise ValueError
    return text


def _local(text: str) -> str:
    """Return the name of a file on this machine: an address is none, and a folder of its name could
    hold a password.
    """
    if "://" in text:
        raise ValueError
    return named(text)


source = typed("the name of a file", named)
file_name = typed("the name of a file on this machine", _local)
path = typed("the name of a file on this machine", lambda text: Path(_local(text)))
folder = typed("the name of a folder on this machine", lambda text: Path(_local(text)))
probability = typed("a number above 0 and below 1", lambda text: _inside(float(text), 1.0))
share = typed("a share such as 0.9 or 90%", _share)
_RANGE = "a number above 0 and below 1, or two from 0 to 1, the smaller one first, such as 5%,20%"
_RATE = "a number above 0 and below 1, such as 0.5%, or two, the smaller one first, such as 0.3%,1%"
_CASES = "a share of the cases below 1, such as 2% or 0.02, or a whole number of them, such as 200"

_ROW_OPTIONS: dict[str, dict[str, Any]] = {
    "--weight": {"metavar": "COL", "help": "column of row weights"},
    "--trials": {
        "metavar": "COL",
        "help": "column of trials: a row is so many rows, and --outcome is the number of them with the event",
    },
    "--pos-label": {"metavar": "LABEL", "help": "the outcome that is the event, where it is not 1"},
    "--base-rate": {
        "metavar": "RATE",
        "type": typed(_RATE, _base_rate),
        "help": "event rate where the forecast will be used, such as 0.5%% (or a range, 0.3%%,1%%), if these rows have "
        "another one: everything is then about that population, if predictions, given the outcome, are distributed as "
        "in these rows",
    },
    "--where": {
        "metavar": "CONDITION",
        "help": "which rows to use, such as \"p is not null and region = 'north'\"",
    },
    "--drop-missing": {
        "action": "store_true",
        "help": "leave out rows with a missing value in a column that is read, also in those of --by and --groups",
    },
}
"""How rows with outcomes are read."""

_TEXT_OPTIONS: dict[str, dict[str, Any]] = {
    "--sep": {
        "metavar": "CHAR",
        "type": typed("one character, such as ';' or tab", _separator),
        "help": "what separates columns of text files (default: recognised)",
    },
}
"""How text is cut into values: each is the field of `rainproof.io.opening.ReadOptions` of its name."""

_VALUE_OPTIONS: dict[str, dict[str, Any]] = {
    "--percent": {"action": "store_true", "help": "probabilities are in percent, from 0 to 100"},
    "--confidence-words": {
        "metavar": "FILE",
        "type": file_name,
        "help": 'JSON file with the probability of each word in --prob: {"almost certain": 0.95, "unlikely": 0.2}',
    },
}
"""How values of any file are read."""

_COST = {
    "metavar": "COST",
    "type": typed("a positive, finite number, or the name of a column", _cost),
}

SHARED: dict[str, dict[str, Any]] = {
    "file": {
        "metavar": "FILE",
        "type": source,
        "nargs": "+",
        "help": "FORMATS files, or quoted patterns such as 'data/*.parquet', also in an object store "
        "(s3://, gs://, abfs://); or one table of a database (postgresql://user@host/name#table, sqlite:///, "
        "duckdb:///); - is standard input, whose format is recognised",
    },
    "--prob": {"metavar": "COL", "help": "column of predicted probabilities, from 0 to 1"},
    "--classes": {
        "metavar": "COL",
        "nargs": "+",
        "help": "columns of predicted probabilities, one for each of several classes, in place of --prob; --outcome "
        "has the name of the column of the class that occurred, or its number from 0; all rows are kept in memory",
    },
    "--cost-matrix": {
        "metavar": "FILE",
        "type": file_name,
        "help": "with --classes: JSON file of what your decision costs, an object with 'costs' (a list for each "
        "action: what it costs in each class) and, if you like, the names 'actions' and what it costs to 'abstain'",
    },
    "--old": {"metavar": "COL", "help": "column of the probabilities that are in use, from 0 to 1"},
    "--new": {"metavar": "COL", "help": "column of the probabilities that may replace them"},
    "--outcome": {"metavar": "COL", "help": "column of outcomes: 0 or 1, true or false"},
    **_ROW_OPTIONS,
    **_TEXT_OPTIONS,
    **_VALUE_OPTIONS,
    "--keep-missing": {
        "action": "store_true",
        "help": "copy rows without a probability or a cost, with nothing in the new columns (otherwise they are an "
        "error)",
    },
    "--by": {"metavar": "COL", "nargs": "+", "help": "columns that segment the rows"},
    "--groups": {
        "metavar": "COL",
        "nargs": "+",
        "help": "columns of groups (patient; or site and day): rows with the same values in them may depend on each "
        "other; all rows are then kept in memory, about 20 bytes each",
    },
    "--max-weight": {
        "metavar": "W",
        "type": typed("a positive, finite number", lambda text: _inside(float(text), math.inf)),
        "help": "largest weight that a group (else a row) can have, known beforehand; without weights, its number of "
        "rows: what is proven then holds whatever the sizes of groups depend on",
    },
    "--fractional": {
        "action": "store_true",
        "help": "outcomes are shares of the event, from 0 to 1 (a drawn match is 0.5), each of one row; "
        "all rows are kept in memory",
    },
    "--cost-fp": {
        **_COST,
        "help": "cost of a false alarm (act, but no event): a number or a column",
    },
    "--cost-fn": {
        **_COST,
        "help": "cost of a miss (wait, but the event happens): a number or a column",
    },
    "--capacity": {
        "metavar": "N",
        "type": typed(_CASES, _capacity),
        "help": "the most cases that can be acted on, with costs, where it gains most: a share, such as 2%%, or "
        "a number, such as 200",
    },
    "--threshold-range": {
        "metavar": "LOW,HIGH",
        "type": typed(_RANGE, _threshold_range),
        "help": "speak of decisions with these thresholds alone: two numbers, such as 5%%,20%%, or one, such as 10%%",
    },
    "--confidence-level": {
        "metavar": "C",
        "type": probability,
        "default": 0.95,
        "help": "confidence level of the guarantee, the intervals and the test (default: 0.95)",
    },
    "--seed": {
        "metavar": "N",
        "type": typed("an integer from 0 to 2**64 - 1", lambda text: whole(text, range(1 << 64))),
        "default": 0,
        "help": "seed of the random numbers (default: 0)",
    },
    "--plot": {"metavar": "FILE", "type": path, "help": "also draw the result: .png, .svg or .pdf"},
    "--json": {"action": "store_true", "help": "print the result as JSON instead of text"},
    "--output": {
        "metavar": "FILE",
        "type": path,
        "help": "also write the result as JSON to this file",
    },
    "--force": {
        "action": "store_true",
        "help": "replace existing files, whatever they hold (else only those that rainproof wrote as such)",
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
    *(
        "--trials",
        "--pos-label",
        "--base-rate",
        "--by",
        "--max-weight",
        "--fractional",
        "--cost-fp",
        "--cost-fn",
    ),
    *(
        "--threshold-range",
        "--capacity",
        "--preset",
        "--plot",
        "--policy",
        "--rounded",
        "--rounding",
    ),
    "--fail-above",
)
_PICTURES = (".png", ".svg", ".pdf")
# files that are read beside the rows
_BESIDE = ("map", "policy", "confidence_words", "cost_matrix")


def new_command(
    commands: Commands, add: Callable[[Commands], None], summary: str, one: str | None = None
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
    one : str, optional
        When its exit code is 1.
    """
    description, examples, epilog = (
        textwrap.dedent(f"    {add.__doc__ or ''}").strip().partition("\nexamples:\n")
    )
    codes = f"Exit code: 0, {'' if one is None else f'1 {one}, '}2 if there is an error (one line on stderr)."
    parser: argparse.ArgumentParser = commands.add_parser(
        add.__name__.removeprefix("add_").replace("_", "-"),
        help=summary,
        description=description,
        epilog=f"{examples.lstrip()}{epilog}\n\n{wrapped(codes)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(suffixes=(".json",), writes="result")
    return parser


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
    one_of = (
        parser.add_mutually_exclusive_group(required=not guess) if "--classes" in names else None
    )
    for name in names:
        option, flags = dict(SHARED[name]), ["-o", name] if name == "--output" else [name]
        # by now
        option["help"] = words.get(dest(name), option["help"]).replace(
            "FORMATS", describe_formats()
        )
        alternative = one_of is not None and name in ("--prob", "--classes")
        if guess and (alternative or name in _COLUMNS):
            option["help"] += "; guessed if left out"
        elif name in _COLUMNS and not alternative:
            option["required"] = True
        (one_of if one_of is not None and alternative else parser).add_argument(*flags, **option)


def add_output(
    parser: argparse.ArgumentParser, words: str, writes: str | None, *suffixes: str
) -> None:
    """Add the file that a command writes, which it needs a name for, its kind, and what the name
    may end in.
    """
    parser.set_defaults(suffixes=suffixes, writes=writes)
    parser.add_argument("-o", "--output", metavar="FILE", type=path, required=True, help=words)
    add_shared(parser, "--force")


def add_copied(parser: argparse.ArgumentParser) -> None:
    """Add the file that is copied with new columns, and how it is read."""
    words = f"{describe_formats()} file of predicted probabilities, which may be larger than memory; - is standard input"
    parser.add_argument("file", metavar="FILE", type=source, help=words)
    words = (
        "columns of predicted probabilities, one for each of several classes, in place of --prob"
    )
    add_shared(parser, *NEW_CASES, "--keep-missing", classes=words)


def dest(name: str) -> str:
    """Return the name of an option in the arguments."""
    return name.lstrip("-").replace("-", "_")


def inference(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how sure and about which decisions a statement is, and its seed, as arguments of the
    library.
    """
    named = {
        "confidence_level": "confidence_level",
        "threshold_range": "threshold_range",
        "rng": "seed",
    }
    return {
        parameter: getattr(arguments, name)
        for parameter, name in named.items()
        if hasattr(arguments, name)
    }


def check_together(arguments: argparse.Namespace) -> None:
    """Refuse shared options that cannot be combined."""
    named = {
        name for name in map(dest, SHARED) if getattr(arguments, name, None) not in (None, False)
    }
    if "fractional" in named and named & {"pos_label", "trials"}:
        raise InputError(
            "--fractional cannot be combined with --pos-label or --trials: outcomes are shares already"
        )
    if "classes" in named:
        if len(set(arguments.classes)) < max(3, len(arguments.classes)):
            raise InputError(
                "--classes must name three different columns or more: two classes are one event (--prob)"
            )
        for name in _OF_ONE_EVENT:
            if getattr(arguments, dest(name), None) not in (None, False, "soft"):
                raise InputError(f"{name} is for one event: it cannot be combined with --classes")
    elif "cost_matrix" in named:
        raise InputError(
            "--cost-matrix needs --classes: for one event, state --cost-fp and --cost-fn"
        )
    if named >= {"plot", "output"} and behind_links(arguments.plot) == behind_links(
        arguments.output
    ):
        raise InputError(
            f"--plot and --output must be different files; both are {str(arguments.plot)!r}"
        )


def check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse, before the work, a file that cannot be written, is one of those to read, or holds
    something else.
    """
    plot: Path | None = getattr(arguments, "plot", None)
    output: Path | None = getattr(arguments, "output", None)
    if plot is not None and plot.suffix not in _PICTURES:
        raise InputError(f"--plot must name a .png, .svg or .pdf file; it is {str(plot)!r}")
    beside = (getattr(arguments, name, None) for name in _BESIDE)
    named = as_list(getattr(arguments, "file", None) or getattr(arguments, "source", None))
    local = expand([name for name in named if "://" not in name])
    sources = [Path(path) for path in (*local, *beside) if path is not None]
    for path, kind in ((output, arguments.writes), (plot, "picture")):
        # the folder of a sample is made
        if path is not None and (kind != "sample" or path.parent.exists()):
            check_output(path, *sources)
            check_suffix(path, "--output", *(arguments.suffixes if path is output else _PICTURES))
            check_replaced(path, kind, overwrite=arguments.force, how="--force")


def as_list(value: Any) -> list[Any]:
    """Return the values of an option that takes one or several, or none."""
    return value if isinstance(value, list) else [] if value is None else [value]


def files_read(arguments: argparse.Namespace) -> str:
    """Name the file, or the first of several and their number."""
    first: str = "standard input" if arguments.shown[0] == "-" else arguments.shown[0]
    return first if len(arguments.shown) == 1 else f"{first} and {len(arguments.shown) - 1} more"


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
    return list(
        dict.fromkeys(cost for cost in costs_of(arguments).values() if isinstance(cost, str))
    )


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

    costs = costs_of(arguments)
    if not costs:
        return None
    alarm, miss = (columns[cost] if isinstance(cost, str) else cost for cost in costs.values())
    task: DecisionTask = DecisionTask.from_costs(
        false_positive=alarm, false_negative=miss, actions=actions
    )
    return task
