"""``brolly report``: one page that a manager can read and a statistician can trust."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.assessment.assess import assess
from brolly.assessment.result import Assessment
from brolly.assessment.text import wrapped
from brolly.cli.colour import coloured
from brolly.cli.columns import add_columns, check_result, files_read, read
from brolly.cli.options import add_costs, task_of
from brolly.cli.output import one_line, say
from brolly.cli.progress import Progress
from brolly.errors import BrollyWarning, InputError
from brolly.report import to_html

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Write a report on the predicted probabilities in files: one HTML page.

The verdict in words comes first, then pictures, tables and the method. A slider
asks what a false alarm and a miss cost you, and says what to do. The page works
in any browser without a network, and can be mailed as it is.
"""
_EPILOG = """\
examples:
  brolly report rain.csv --prob probability --outcome rained -o report.html --open
  brolly report rain.csv --prob probability --outcome rained --by city \\
      --cost-fp 35 --cost-fn 65 -o report.html
  brolly report loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount -o report.html --json > numbers.json

Files are read in pieces: they may be larger than memory.
Exit code: 0 if there is a report, 2 if there is an error (one line says which).
"""
COLOURS = {"trust": "green", "care": "yellow", "distrust": "red", "unknown": "bold"}


def add_command(commands: Commands) -> None:
    """Describe the command and its options."""
    parser = commands.add_parser(
        "report",
        help="write a report on the probabilities in files: one HTML page",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_columns(parser)
    parser.add_argument("--by", metavar="COL", nargs="+", help="also judge each segment: each value of these columns")
    add_costs(parser)
    parser.add_argument("--title", metavar="TEXT", help="what to call the report (the file's name if not said)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another seed draws other resamples")
    add_page(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the page to write (.html)")


def add_page(parser: argparse.ArgumentParser) -> None:
    """What may become of a page, and what is said of it."""
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON instead of the verdict")
    parser.add_argument("--quiet", action="store_true", help="print neither words nor progress")


def run(arguments: argparse.Namespace) -> int:
    """Read the file, assess it, and write the page."""
    task = task_of(arguments)
    if arguments.seed < 0:
        raise InputError(f"--seed must not be negative, but is {arguments.seed}")
    check_result(arguments)
    rows = read(arguments, by=arguments.by)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, quietly():
        assessment = assess(rows, task=task, rng=arguments.seed, progress=progress)
    title = arguments.title or f"{files_read(arguments)}: {arguments.prob}"
    finish(assessment, arguments, arguments.output, title)
    return 0


def quietly() -> warnings.catch_warnings[None]:
    """Without warnings: the assessment keeps them, and the page says them."""
    return warnings.catch_warnings(action="ignore", category=BrollyWarning)


def finish(assessment: Assessment, arguments: argparse.Namespace, path: Path, title: str) -> None:
    """Write the page, say what is in it, and open it if that is wanted."""
    to_html(assessment, path, title=title)
    if arguments.json:
        say(sys.stdout, json.dumps(assessment.to_dict(), indent=2, allow_nan=False) + "\n")
    elif not arguments.quiet:
        say(sys.stdout, f"{_verdict(assessment)}{wrapped(f'Report written to {one_line(str(path))}')}\n")
    if arguments.open and not webbrowser.open(path.resolve().as_uri()):
        raise InputError(f"no browser was found to open {path}")


def _verdict(assessment: Assessment) -> str:
    """The verdict as it is printed, its first sentence set off."""
    verdict = assessment.verdict
    said = [wrapped(one_line(sentence.text)) for sentence in verdict.sentences]
    headline = coloured(wrapped(one_line(verdict.headline)), COLOURS[verdict.grade], sys.stdout)
    return "".join(f"{text}\n" for text in (headline, "", *said))
