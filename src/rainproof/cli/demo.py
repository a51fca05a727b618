"""``rainproof demo``: a report on rain forecasts that come with rainproof."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rainproof.assessment.assessing import assess
from rainproof.cli.assess import without_warnings
from rainproof.cli.demo_data import as_csv, forecasts
from rainproof.cli.next_step import recalibrate_lines, with_commands
from rainproof.cli.options import add_quiet, new_command
from rainproof.cli.output import one_line, say
from rainproof.cli.progress import Progress
from rainproof.cli.report import add_page, finish
from rainproof.core.files import check_output, write_atomic, write_errors
from rainproof.decisions.tasks import DecisionTask

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Write a report on 2,000 rain forecasts that come with rainproof.

The forecaster is overconfident. The forecasts (rain.csv) and the report
(report.html) are written to a folder. An umbrella for nothing (a false alarm)
costs 35, getting wet (a miss) costs 65.
"""
_EPILOG = """\
examples:
  rainproof demo --open
  rainproof demo build/demo --quiet

The same as
  rainproof report rainproof-demo/rain.csv --prob probability --outcome rained \\
      --by city --cost-fp 35 --cost-fn 65 -o rainproof-demo/report.html
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "write a report on forecasts that come with rainproof"
    parser = new_command(commands, run, "demo", summary, _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path("rainproof-demo"),
        help="default: rainproof-demo",
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
    finish(assessment, arguments, page, "Rain forecasts in four cities (rainproof demo)")
    return 0
