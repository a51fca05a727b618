"""Commands that compare forecasts: ``rainproof compare`` ranks several, ``rainproof switch`` replaces one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rainproof import __version__
from rainproof.cli.options import COSTS, RESULT, ROWS, add_shared, check_outputs, new_command, task_of
from rainproof.cli.output import (
    Progress,
    coloured,
    draw,
    one_line,
    say,
    say_paragraphs,
    without_warnings,
    write_json,
    written,
)
from rainproof.cli.reading import keep, note_repeated_ids, read
from rainproof.core.text import wrapped
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.assessment.rankings import AssessmentSet
    from rainproof.cli.options import Commands
    from rainproof.inference.switches import SwitchGuarantee

_COMPARE = """\
Compare the forecasts in several columns of files: which one for your costs?

With --cost-fp and --cost-fn forecasts are ranked by what your decision costs per
case, with intervals, beside always acting, never acting and perfect foresight.
Without them, by proven switches: a forecast is better if by switching to it
some decision gains more than any loses. Proper scores (Brier,
log), discrimination (AUROC) and the grade of each forecast stand beside. A
calibration error ranks nothing: a constant can be perfectly calibrated.
"""
_COMPARE_MORE = """\
examples:
  rainproof compare rain.csv --prob p_2025 p_2026 --outcome rained
  rainproof compare loans.parquet --prob a b c --outcome defaulted \\
      --cost-fp 1 --cost-fn 20 --groups customer

In Python: rainproof.assess_many. (rainproof.compare is the difference in one
measure.)
All rows are kept in memory, about 20 bytes for each row and forecast.
Exit code: 0 if there is a result, 2 if there is an error (one line on stderr).
"""


def add_compare(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "which of several forecasts, for your costs or for all"
    parser = new_command(commands, run_compare, "compare", summary, _COMPARE, _COMPARE_MORE)
    level = "confidence level of each forecast's verdict, and of all comparisons together (default: 0.95)"
    parser.add_argument(
        "--prob", metavar="COL", nargs="+", required=True, help="columns of predicted probabilities, two or more"
    )
    add_shared(parser, "file", *ROWS, "--groups", "--fractional", *COSTS, guess=True)
    add_shared(parser, "--confidence-level", "--seed", *RESULT, confidence_level=level)


def run_compare(arguments: argparse.Namespace) -> int:
    """Read the files, compare the forecasts, and print the ranking."""
    from rainproof.assessment.rankings import assess_many

    task = task_of(arguments)
    check_outputs(arguments)
    names: list[str] = arguments.prob
    if len(names) < 2 or len(set(names)) < len(names):
        apart = len(names) == 1 or len(arguments.shown) > 1
        way_out = ": put the forecasts in one file, one column each" if apart else ""
        raise InputError(f"--prob must name two or more different columns; it is {' '.join(names)}{way_out}")
    sample = keep(arguments, names)
    note_repeated_ids(arguments)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, without_warnings():
        found = assess_many(
            sample,
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


_SWITCH = """\
Should a new forecast replace an old one? Print the most that any decision
loses, and gains, by acting on the new one: on these rows, and with a stated
confidence in the population that they were drawn from.

Decisions are those whose thresholds are multiples of 1/1024 (all decisions with
--groups). The rows, or groups, must be independent, and neither forecast may have
been fitted on them.
"""
_SWITCH_MORE = """\
examples:
  rainproof switch rain.csv --old p_2025 --new p_2026 --outcome rained
  rainproof switch 'data/*.parquet' --old p --new q --outcome y --plot switch.png

Files are read in pieces: they may be larger than memory, except with --groups.
Exit code: 0 if there is a result, 2 if there is an error (one line on stderr).
"""


def add_switch(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "what decisions lose and gain if a new forecast replaces an old one"
    parser = new_command(commands, run_switch, "switch", summary, _SWITCH, _SWITCH_MORE)
    level = "confidence level of each of the two bounds (default: 0.95)"
    add_shared(parser, "file", "--old", "--new", *ROWS, "--groups")
    add_shared(parser, "--confidence-level", "--seed", confidence_level=level)
    add_shared(parser, "--plot", *RESULT, plot="also draw the loss at each threshold: .png, .svg or .pdf")


def run_switch(arguments: argparse.Namespace) -> int:
    """Read the files and print the bounds."""
    check_outputs(arguments)
    note_repeated_ids(arguments)
    found = _guarantee(arguments)
    document = write_json({"rainproof": __version__, **found.to_dict()}, arguments.output)
    if arguments.plot is not None:
        draw(found, arguments.plot)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        paths: list[tuple[str, Path | None]] = [("Result", arguments.output), ("Picture", arguments.plot)]
        said = [one_line(line) for line in str(found).splitlines()]
        say_paragraphs([*said, *(written(what, path) for what, path in paths if path is not None)])
    return 0


def _guarantee(arguments: argparse.Namespace) -> SwitchGuarantee:
    """The bounds; rows in groups are kept, others are compressed while they are read."""
    from rainproof.inference.switches import switch_guarantee

    sample = (read if arguments.groups is None else keep)(arguments, [arguments.old, arguments.new])
    return switch_guarantee(sample, confidence_level=arguments.confidence_level, rng=arguments.seed)
