"""Options that several commands share, and what follows from them: reading the files, building the decision."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from rainproof.cli.progress import Progress
from rainproof.core.files import check_output, read_json
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.decisions.tasks import DecisionTask, is_number
from rainproof.errors import InputError
from rainproof.io.databases import is_database
from rainproof.io.files import describe_formats, expand
from rainproof.io.reading import scan

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]


def new_command(
    commands: Commands, run: Callable[[argparse.Namespace], int], name: str, summary: str, description: str, epilog: str
) -> argparse.ArgumentParser:
    """Add a command: its name, the function that runs it, and its help texts."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    return parser


RECALIBRATED = "_recalibrated"  # ends the name of the column that 'rainproof apply' adds
_FORECAST = {"--prob": "column of predicted probabilities, from 0 to 1"}


def add_columns(
    parser: argparse.ArgumentParser, forecasts: Mapping[str, str] = _FORECAST, *, guess: bool = False
) -> None:
    """Add the files, their columns and the selection of rows.

    `forecasts` are the options for predictions; with `guess` columns that are not named are guessed.
    """
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="+",
        help=f"{describe_formats()} files, or quoted patterns such as 'data/*.parquet', also in an object store "
        "(s3://, gs://, abfs://); or one table of a database (postgresql://user@host/name#table, sqlite:///, "
        "duckdb:///); - is standard input, whose format is recognised",
    )
    add_column_names(parser, forecasts, guess=guess)


def add_column_names(
    parser: argparse.ArgumentParser, forecasts: Mapping[str, str] = _FORECAST, *, guess: bool = False
) -> None:
    """Add the columns of files and the selection of rows, as `add_columns` does."""
    guessed = "; guessed if left out" if guess else ""
    for option, words in forecasts.items():
        parser.add_argument(option, metavar="COL", required=not guess, help=words + guessed)
    words = f"column of outcomes: 0 or 1, true or false{guessed}"
    parser.add_argument("--outcome", metavar="COL", required=not guess, help=words)
    parser.add_argument("--weight", metavar="COL", help="column of row weights")
    parser.add_argument(
        "--trials",
        metavar="COL",
        help="column of trials: a row is so many rows, and --outcome is the number of them with the event",
    )
    parser.add_argument("--pos-label", metavar="LABEL", help="the outcome that is the event, where it is not 1")
    parser.add_argument(
        "--where", metavar="CONDITION", help="which rows to use, such as \"p is not null and region = 'north'\""
    )
    add_reading(parser)
    parser.add_argument(
        "--drop-missing", action="store_true", help="leave out rows with a missing value in a column that is read"
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add how the values of files are read."""
    parser.add_argument(
        "--sep", metavar="CHAR", type=_separator, help="what separates columns of text files (default: recognised)"
    )
    parser.add_argument("--percent", action="store_true", help="probabilities are in percent, from 0 to 100")
    parser.add_argument(
        "--confidence-words",
        metavar="FILE",
        help='JSON file with the probability of each word in --prob: {"almost certain": 0.95, "unlikely": 0.2}',
    )


def add_by(parser: argparse.ArgumentParser) -> None:
    """Add the columns that segment the rows."""
    parser.add_argument("--by", metavar="COL", nargs="+", help="columns that segment the rows")


def add_groups(parser: argparse.ArgumentParser) -> None:
    """Add the column of groups."""
    parser.add_argument(
        "--groups",
        metavar="COL",
        help="column of groups (patient, site, day): rows of a group may depend on each other; "
        "all rows are then kept in memory, about 20 bytes each",
    )


def add_fractional(parser: argparse.ArgumentParser) -> None:
    """Add the option that outcomes are shares."""
    parser.add_argument(
        "--fractional",
        action="store_true",
        help="outcomes are shares of the event, from 0 to 1 (a drawn match is 0.5): a row counts as two weighted rows "
        "of one group; all rows are kept in memory",
    )


def add_costs(parser: argparse.ArgumentParser) -> None:
    """Add the costs of the user's own decision."""
    parser.add_argument("--cost-fp", metavar="COST", type=_cost, help="cost of a false alarm (act, but no event)")
    parser.add_argument("--cost-fn", metavar="COST", type=_cost, help="cost of a miss (wait, but the event happens)")


def add_assessment(parser: argparse.ArgumentParser) -> None:
    """Add the options of an assessment."""
    add_by(parser)
    add_groups(parser)
    add_fractional(parser)
    add_costs(parser)
    add_confidence(parser, "confidence level of the guarantee, the intervals and the test (default: 0.95)")
    add_seed(parser)


def add_confidence(parser: argparse.ArgumentParser, words: str) -> None:
    """Add the confidence level."""
    parser.add_argument("--confidence-level", metavar="C", type=probability, default=0.95, help=words)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add the seed of the random numbers."""
    parser.add_argument("--seed", metavar="N", type=_seed, default=0, help="seed of the random numbers (default: 0)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the options that give the result as JSON."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON instead of text")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="also write the result as JSON to this file")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add the option to print nothing."""
    parser.add_argument("--quiet", action="store_true", help="print neither text nor progress")


def probability(text: str) -> float:
    """Read a number strictly between 0 and 1; errors then name the option, not the library's parameter."""
    return _number(text, 0.0, 1.0, "a number above 0 and below 1")


def _cost(text: str) -> float:
    return _number(text, 0.0, math.inf, "a positive, finite number")


def _number(text: str, low: float, high: float, rule: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low < number < high:
        raise argparse.ArgumentTypeError(f"must be {rule}; it is {text!r}")
    return number


def _separator(text: str) -> str:
    character = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise argparse.ArgumentTypeError(f"must be one character, such as ';' or tab; it is {text!r}")
    return character


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to 2**64 - 1; it is {text!r}")
    return int(text)


def task_of(arguments: argparse.Namespace, actions: Sequence[str] = ("wait", "act")) -> DecisionTask | None:
    """Return the decision that the costs describe, or None where none are given."""
    costs = (arguments.cost_fp, arguments.cost_fn)
    if costs == (None, None):
        return None
    if None in costs:
        raise InputError("--cost-fp and --cost-fn must be given together: their ratio sets the threshold")
    return DecisionTask.from_costs(false_positive=costs[0], false_negative=costs[1], actions=actions)


def check_result(arguments: argparse.Namespace) -> None:
    """Refuse, before the work, an output that cannot be written or is one of the files to read."""
    if arguments.output is not None:
        check_output(arguments.output, *local_files(arguments))


def local_files(arguments: argparse.Namespace) -> list[Path]:
    """List the files to read that are on this machine."""
    given = getattr(arguments, "file", [])  # a folder of stored samples is none
    named = given if isinstance(given, list) else [given]
    return [Path(path) for path in expand([name for name in named if "://" not in name])]


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how rows are read, as arguments of `scan` and its relatives."""
    return {
        "weight": arguments.weight,
        "pos_label": arguments.pos_label,
        "where": arguments.where,
        "percent": arguments.percent,
        "confidence_words": words_of(arguments),
        "trials": arguments.trials,
        "sep": arguments.sep,
    }


def words_of(arguments: argparse.Namespace) -> dict[str, float] | None:
    """Return the probability of each word, if there is a file of them."""
    if arguments.confidence_words is None:
        return None

    def read(data: Any, _: bytes) -> dict[str, float]:
        if not isinstance(data, dict) or not all(is_number(value) for value in data.values()) or not data:
            raise InputError('it must be one object of words and numbers, such as {"almost certain": 0.95}')
        return data

    return read_json(arguments.confidence_words, "table of words", read)


@overload
def read(arguments: argparse.Namespace) -> Sample: ...
@overload
def read(arguments: argparse.Namespace, *, by: list[str] | None) -> Sample | Segments: ...
def read(arguments: argparse.Namespace, *, by: list[str] | None = None) -> Sample | Segments:
    """Read the rows of the files named, with progress on a terminal."""
    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        found: Sample | Segments = scan(
            arguments.file, arguments.prob, arguments.outcome, by=by, progress=progress, **reading(arguments)
        )
    return found


def add_rewriting(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the file that is copied with new columns, and how it is read."""
    parser.add_argument("file", metavar="FILE", help=f"the file {what}; - is standard input")
    parser.add_argument("--prob", metavar="COL", required=True, help=_FORECAST["--prob"])
    add_reading(parser)
    parser.add_argument(
        "--keep-missing",
        action="store_true",
        help="copy rows without a probability, with nothing in the new columns (otherwise they are an error)",
    )


def rewriting(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how the file is read, as arguments of `append_columns`."""
    if "://" in arguments.file and is_database(arguments.file):
        raise InputError("FILE must be a file: a table of a database is changed there (see Recalibrator.to_sql)")
    options = {name: getattr(arguments, name) for name in ("prob", "sep", "keep_missing", "percent")}
    return {**options, "confidence_words": words_of(arguments)}


def files_read(arguments: argparse.Namespace) -> str:
    """Name the file, or the first of several and their number."""
    first: str = "standard input" if arguments.shown[0] == "-" else arguments.shown[0]
    return first if len(arguments.shown) == 1 else f"{first} and {len(arguments.shown) - 1} more"
