"""``brolly report``: one page that a manager can read and a statistician can trust."""

from __future__ import annotations

import argparse
import json
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.assessment.result import Assessment
from brolly.assessment.text import wrapped
from brolly.cli.assess import assess_files, verdict_of
from brolly.cli.columns import add_columns, files_read
from brolly.cli.options import add_questions
from brolly.cli.output import one_line, say
from brolly.errors import InputError
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
    add_questions(parser)
    parser.add_argument("--title", metavar="TEXT", help="what to call the report (the file's name if not said)")
    add_page(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the page to write (.html)")


def add_page(parser: argparse.ArgumentParser) -> None:
    """What may become of a page, and what is said of it."""
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON instead of the verdict")
    parser.add_argument("--quiet", action="store_true", help="print neither words nor progress")


def run(arguments: argparse.Namespace) -> int:
    """Read the file, assess it, and write the page."""
    assessment = assess_files(arguments)
    title = arguments.title or f"{files_read(arguments)}: {arguments.prob}"
    finish(assessment, arguments, arguments.output, title)
    return 0


def finish(assessment: Assessment, arguments: argparse.Namespace, path: Path, title: str) -> None:
    """Write the page, say what is in it, and open it if that is wanted."""
    to_html(assessment, path, title=title)
    if arguments.json:
        say(sys.stdout, json.dumps(assessment.to_dict(), indent=2, allow_nan=False) + "\n")
    elif not arguments.quiet:
        say(sys.stdout, f"{verdict_of(assessment)}{wrapped(f'Report written to {one_line(str(path))}')}\n")
    if arguments.open and not webbrowser.open(path.resolve().as_uri()):
        raise InputError(f"no browser was found to open {path}")
