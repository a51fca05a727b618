"""``rainproof report``: the assessment of the predictions in files, as one HTML page."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rainproof.assessment.result import Assessment
from rainproof.cli.assess import assess_files, say_verdict
from rainproof.cli.options import add_assessment, add_columns, add_quiet, files_read, new_command
from rainproof.cli.output import say
from rainproof.cli.results import say_paragraphs, written
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Write a report on the predicted probabilities in files: one HTML page.

The verdict comes first, then charts, tables and the method. A slider takes what
a false alarm and a miss cost, and gives advice for that threshold. The page
works in any browser without a network and can be mailed as it is.
"""
_EPILOG = """\
examples:
  rainproof report rain.csv --prob probability --outcome rained -o report.html --open
  rainproof report rain.csv --prob probability --outcome rained --by city \\
      --cost-fp 35 --cost-fn 65 -o report.html
  rainproof report loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount -o report.html --json > numbers.json
  rainproof report visits.csv --prob risk --outcome died --groups patient \\
      --preset clinical -o report.html

Files are read in pieces: they may be larger than memory.
Exit code: 0 if there is a report, 2 if there is an error (one line on stderr).
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "write a report on the probabilities in files: one HTML page"
    parser = new_command(commands, run, "report", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser, guess=True)
    add_assessment(parser)
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the name of the file)")
    parser.add_argument(
        "--preset",
        choices=["clinical"],
        help="clinical: measures and plots of the STRATOS core set first, and the TRIPOD+AI items they serve",
    )
    add_page(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the page to write (.html)")
    add_quiet(parser)


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add what to do with the page, and what to print."""
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON instead of the verdict")


def run(arguments: argparse.Namespace) -> int:
    """Assess the files and write the page."""
    assessment = assess_files(arguments)
    title = arguments.title or f"{files_read(arguments)}: {arguments.prob}"
    finish(assessment, arguments, arguments.output, title, arguments.preset)
    return 0


def finish(
    assessment: Assessment,
    arguments: argparse.Namespace,
    path: Path,
    title: str,
    preset: Literal["clinical"] | None = None,
) -> None:
    """Write the page, print the verdict, and open the page if asked to."""
    assessment.to_html(path, title=title, preset=preset)
    if arguments.json:
        more = {"clinical": assessment.clinical.to_dict()} if preset else {}
        say(sys.stdout, json.dumps({**assessment.to_dict(), **more}, indent=2, allow_nan=False) + "\n")
    elif not arguments.quiet:
        say_verdict(assessment)
        say_paragraphs([written("Report", path)])
    if arguments.open:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            raise InputError(f"no browser was found to open {path}")
