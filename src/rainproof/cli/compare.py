"""``rainproof compare``: which of several forecasts in files, for your costs or for everybody."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rainproof.assessment.rankings import AssessmentSet, assess_many
from rainproof.cli.assess import without_warnings
from rainproof.cli.colour import coloured
from rainproof.cli.options import (
    add_columns,
    add_confidence,
    add_costs,
    add_fractional,
    add_groups,
    add_json,
    add_quiet,
    add_seed,
    check_result,
    new_command,
    task_of,
)
from rainproof.cli.output import one_line, say
from rainproof.cli.progress import Progress
from rainproof.cli.repeats import note_repeated_ids
from rainproof.cli.results import say_paragraphs, write_json, written
from rainproof.cli.rows import keep
from rainproof.core.result import wrapped
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Compare the forecasts in several columns of files: which one for your costs?

With --cost-fp and --cost-fn forecasts are ranked by what your decision costs per
case, with intervals, beside always acting, never acting and perfect foresight.
Without them, by proven switches: a forecast is better if by switching to it
some decision gains more than any loses. Proper scores (Brier,
log), discrimination (AUROC) and the grade of each forecast stand beside. A
calibration error ranks nothing: a constant can be perfectly calibrated.
"""
_EPILOG = """\
examples:
  rainproof compare rain.csv --prob p_2025 p_2026 --outcome rained
  rainproof compare loans.parquet --prob a b c --outcome defaulted \\
      --cost-fp 1 --cost-fn 20 --groups customer

In Python: rainproof.assess_many. (rainproof.compare is the difference in one measure.)
All rows are kept in memory, about 20 bytes for each row and forecast.
Exit code: 0 if there is a result, 2 if there is an error (one line on stderr).
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "which of several forecasts, for your costs or for all"
    parser = new_command(commands, run, "compare", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser, {}, guess=True)
    parser.add_argument(
        "--prob", metavar="COL", nargs="+", required=True, help="columns of predicted probabilities, two or more"
    )
    add_groups(parser)
    add_fractional(parser)
    add_costs(parser)
    add_confidence(
        parser, "confidence level of each forecast's verdict, and of all comparisons together (default: 0.95)"
    )
    add_seed(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the files, compare the forecasts, and print the ranking."""
    task = task_of(arguments)
    check_result(arguments)
    names: list[str] = arguments.prob
    if len(names) < 2 or len(set(names)) < len(names):
        apart = len(names) == 1 or len(arguments.shown) > 1
        way_out = ": put the forecasts in one file, one column each" if apart else ""
        raise InputError(f"--prob must name two or more different columns; it is {' '.join(names)}{way_out}")
    kept = [keep(arguments, name) for name in names]
    note_repeated_ids(arguments)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, without_warnings():
        found = assess_many(
            {name: (rows.sample.y_true, rows.sample.y_prob) for name, rows in zip(names, kept, strict=True)},
            sample_weight=kept[0].sample.sample_weight,
            groups=kept[0].groups,
            task=task,
            confidence_level=arguments.confidence_level,
            rng=arguments.seed,
            progress=progress,
        )
    wanted = arguments.json or arguments.output is not None  # all numbers take longer than those that are printed
    document = write_json(found.to_dict(), arguments.output) if wanted else ""
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        _say(found)
        say_paragraphs([] if arguments.output is None else [written("Result", arguments.output)])
    return 0


def _say(found: AssessmentSet) -> None:
    """Print the best forecast, the table, and how every two compare."""
    headline = coloured(wrapped(one_line(found.headline)), "green" if found.best else "bold", sys.stdout)
    table = "\n".join(map(one_line, found.table().split("\n")))
    say(sys.stdout, f"{headline}\n\n{table}\n\n")
    say_paragraphs(map(one_line, found.sentences))
