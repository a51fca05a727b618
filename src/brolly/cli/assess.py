"""``brolly assess``: the verdict of `brolly.assess` on the predictions in files."""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import TYPE_CHECKING

from brolly.assessment.assess import assess
from brolly.assessment.result import Assessment
from brolly.assessment.text import wrapped
from brolly.cli.colour import coloured
from brolly.cli.options import (
    add_assessment,
    add_columns,
    add_json,
    add_quiet,
    check_result,
    new_command,
    read,
    task_of,
)
from brolly.cli.output import one_line, say
from brolly.cli.progress import Progress
from brolly.cli.results import say_paragraphs, write_json, written
from brolly.errors import BrollyWarning

if TYPE_CHECKING:
    from brolly.cli.options import Commands

_DESCRIPTION = """\
Assess the predicted probabilities in files: can people act on them, and what is
the expected loss if they do?

Prints the verdict of brolly.assess: a guarantee for every decision, a test of
calibration, the loss on these rows. 'brolly report' writes the same as a page
with charts; 'brolly measure' is a quick look without resampling.
"""
_EPILOG = """\
examples:
  brolly assess rain.csv --prob probability --outcome rained
  brolly assess loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount --cost-fp 1 --cost-fn 9 --json
  brolly assess 'data/*.parquet' --prob p --outcome y --by region

Files are read in pieces: they may be larger than memory.
Exit code: 0 if there is a verdict, 2 if there is an error (one line on stderr).
"""
COLOURS = {"use": "green", "recalibrate": "yellow", "avoid": "red", "unknown": "bold"}


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "assess the probabilities in files: verdict, guarantee, test"
    parser = new_command(commands, run, "assess", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser)
    add_assessment(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Assess the files and print the verdict."""
    assessment = assess_files(arguments)
    document = write_json(assessment.to_dict(), arguments.output)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        say_verdict(assessment)
        say_paragraphs([] if arguments.output is None else [written("Result", arguments.output)])
    return 0


def assess_files(arguments: argparse.Namespace) -> Assessment:
    """Read the files and assess them, with progress on a terminal."""
    task = task_of(arguments)
    check_result(arguments)
    rows = read(arguments, by=arguments.by)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, without_warnings():
        return assess(
            rows, task=task, confidence_level=arguments.confidence_level, rng=arguments.seed, progress=progress
        )


def without_warnings() -> warnings.catch_warnings[None]:
    """Ignore the warnings of brolly: the verdict states them."""
    return warnings.catch_warnings(action="ignore", category=BrollyWarning)


def say_verdict(assessment: Assessment) -> None:
    """Print the verdict, its headline in the colour of the grade."""
    verdict = assessment.verdict
    headline = coloured(wrapped(one_line(verdict.headline)), COLOURS[verdict.grade], sys.stdout)
    say(sys.stdout, f"{headline}\n\n")
    say_paragraphs(one_line(sentence.text) for sentence in verdict.sentences)
