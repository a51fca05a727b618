"""``brolly assess``: can the probabilities in these files be acted on? What `brolly.assess` says, in words or JSON."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.assessment.assess import assess
from brolly.assessment.result import Assessment
from brolly.assessment.text import wrapped
from brolly.cli.colour import coloured
from brolly.cli.columns import add_columns, check_result, read
from brolly.cli.options import add_questions, task_of
from brolly.cli.output import one_line, say
from brolly.cli.progress import Progress
from brolly.core.atomic_write import write_atomic
from brolly.errors import BrollyWarning, InputError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Assess the predicted probabilities in files: can they be acted on?

The verdict says whether they match the outcomes, what anybody can lose by
acting on them, and for whom that is most; for these rows and, with the stated
confidence, for the population that the rows came from.
"""
_EPILOG = """\
examples:
  brolly assess rain.csv --prob probability --outcome rained
  brolly assess rain.csv --prob probability --outcome rained --by city \\
      --cost-fp 35 --cost-fn 65
  brolly assess loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount --json

Files are read in pieces: they may be larger than memory. 'brolly measure' is a
quick look without resampling, 'brolly report' writes the same as an HTML page.
Exit code: 0 if there is a verdict, 2 if there is an error (one line says which).
"""
COLOURS = {"trust": "green", "care": "yellow", "distrust": "red", "unknown": "bold"}


def add_command(commands: Commands) -> None:
    """Describe the command and its options."""
    parser = commands.add_parser(
        "assess",
        help="say what anybody can lose by acting on the probabilities in files",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_columns(parser)
    add_questions(parser)
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON instead of the verdict")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="also write all numbers as JSON to this file")
    parser.add_argument("--quiet", action="store_true", help="print neither words nor progress")


def run(arguments: argparse.Namespace) -> int:
    """Read the files, assess them, and say what came out."""
    assessment = assess_files(arguments)
    document = json.dumps(assessment.to_dict(), indent=2, allow_nan=False) + "\n"
    if arguments.output is not None:
        write_atomic(arguments.output, document)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        written = "" if arguments.output is None else f"Result written to {one_line(str(arguments.output))}\n"
        say(sys.stdout, verdict_of(assessment) + written)
    return 0


def assess_files(arguments: argparse.Namespace) -> Assessment:
    """The assessment of the files that were named, with progress on a terminal."""
    task = task_of(arguments)
    if arguments.seed < 0:
        raise InputError(f"--seed must not be negative, but is {arguments.seed}")
    check_result(arguments)
    rows = read(arguments, by=arguments.by)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, quietly():
        return assess(
            rows,
            task=task,
            confidence_level=arguments.confidence_level,
            tolerance=arguments.tolerance,
            rng=arguments.seed,
            progress=progress,
        )


def quietly() -> warnings.catch_warnings[None]:
    """Without warnings: the assessment keeps them, and the verdict says them."""
    return warnings.catch_warnings(action="ignore", category=BrollyWarning)


def verdict_of(assessment: Assessment) -> str:
    """The verdict as it is printed, its first sentence set off."""
    verdict = assessment.verdict
    said = [wrapped(one_line(sentence.text)) for sentence in verdict.sentences]
    headline = coloured(wrapped(one_line(verdict.headline)), COLOURS[verdict.grade], sys.stdout)
    return "".join(f"{text}\n" for text in (headline, "", *said))
