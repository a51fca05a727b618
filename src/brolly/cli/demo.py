"""``brolly demo``: what brolly does, on forecasts that come with it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.assessment.assess import assess
from brolly.cli.demo_data import as_csv, forecasts
from brolly.cli.output import one_line, say
from brolly.cli.progress import Progress
from brolly.cli.report import add_page, finish, quietly
from brolly.core.atomic_write import check_output, write_atomic, write_errors
from brolly.decisions.task import DecisionTask

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Show what brolly does, on 2,000 rain forecasts by somebody who is too sure.

Writes the forecasts (rain.csv) and a report on them (report.html) to a folder.
Taking an umbrella for nothing costs 35, getting wet 65.
"""
_EPILOG = """\
examples:
  brolly demo --open
  brolly demo build/demo --quiet

What it does is the same as
  brolly report brolly-demo/rain.csv --prob probability --outcome rained \\
      --by city --cost-fp 35 --cost-fn 65 -o brolly-demo/report.html
"""


def add_command(commands: Commands) -> None:
    """Describe the command and its options."""
    parser = commands.add_parser(
        "demo",
        help="show what brolly does, on forecasts that come with it",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", type=Path, default=Path("brolly-demo"), help="where to (brolly-demo)"
    )
    add_page(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the forecasts, and the report on them."""
    data, page = arguments.folder / "rain.csv", arguments.folder / "report.html"
    with write_errors(arguments.folder):
        arguments.folder.mkdir(parents=True, exist_ok=True)
    check_output(page)
    rows = forecasts()
    write_atomic(data, as_csv(rows))
    if not arguments.quiet and not arguments.json:
        say(sys.stdout, f"{one_line(str(data))}: {len(rows):,} rain forecasts in four cities\n\n")
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, quietly():
        assessment = assess(
            [row.rained for row in rows],
            [row.probability for row in rows],
            by={"city": [row.city for row in rows]},
            task=DecisionTask.from_costs(false_positive=35, false_negative=65, actions=("no umbrella", "umbrella")),
            progress=progress,
        )
    finish(assessment, arguments, page, "Rain forecasts in four cities (brolly demo)")
    return 0
