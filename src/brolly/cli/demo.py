"""``brolly demo``: a report on rain forecasts that come with brolly."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from brolly.assessment.assess import assess
from brolly.cli.assess import without_warnings
from brolly.cli.demo_data import as_csv, forecasts
from brolly.cli.next_step import recalibrate_lines, with_commands
from brolly.cli.options import add_quiet, new_command
from brolly.cli.output import one_line, say
from brolly.cli.progress import Progress
from brolly.cli.report import add_page, finish
from brolly.core.atomic_write import check_output, write_atomic, write_errors
from brolly.decisions.task import DecisionTask

if TYPE_CHECKING:
    from brolly.cli.options import Commands

_DESCRIPTION = """\
Write a report on 2,000 rain forecasts that come with brolly.

The forecaster is overconfident. The forecasts (rain.csv) and the report
(report.html) are written to a folder. An umbrella for nothing (a false alarm)
costs 35, getting wet (a miss) costs 65.
"""
_EPILOG = """\
examples:
  brolly demo --open
  brolly demo build/demo --quiet

The same as
  brolly report brolly-demo/rain.csv --prob probability --outcome rained \\
      --by city --cost-fp 35 --cost-fn 65 -o brolly-demo/report.html
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "write a report on forecasts that come with brolly"
    parser = new_command(commands, run, "demo", summary, _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path("brolly-demo"),
        help="default: brolly-demo",
    )
    add_page(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the forecasts and the report."""
    data, page = arguments.folder / "rain.csv", arguments.folder / "report.html"
    with write_errors(arguments.folder):
        arguments.folder.mkdir(parents=True, exist_ok=True)
    check_output(page)
    rows = forecasts()
    write_atomic(data, as_csv(rows))
    if not arguments.quiet and not arguments.json:
        say(sys.stdout, f"{one_line(str(data))}: {len(rows):,} rain forecasts in four cities\n\n")
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, without_warnings():
        assessment = assess(
            [row.rained for row in rows],
            [row.probability for row in rows],
            by={"city": [row.city for row in rows]},
            task=DecisionTask.from_costs(false_positive=35, false_negative=65, actions=("no umbrella", "umbrella")),
            rng=0,
            progress=progress,
        )
    assessment = with_commands(assessment, recalibrate_lines([str(data)], "probability", "rained"))
    finish(assessment, arguments, page, "Rain forecasts in four cities (brolly demo)")
    return 0
