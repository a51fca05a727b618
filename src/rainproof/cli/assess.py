"""``rainproof assess``: the verdict of `rainproof.assess` on the predictions in files."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from rainproof.assessment.assessing import assess, with_warnings
from rainproof.assessment.result import Assessment
from rainproof.cli.colour import coloured
from rainproof.cli.next_step import chosen_options, reading_options, recalibrate_lines, with_commands
from rainproof.cli.options import (
    add_assessment,
    add_columns,
    add_json,
    add_quiet,
    check_result,
    new_command,
    task_of,
)
from rainproof.cli.output import one_line, say
from rainproof.cli.progress import Progress
from rainproof.cli.repeats import fitted_here, repeated_ids
from rainproof.cli.results import say_paragraphs, write_json, written
from rainproof.cli.rows import read_rows
from rainproof.core.result import wrapped
from rainproof.errors import RainproofWarning

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Assess the predicted probabilities in files: are they useful, are they honest, what
would recalibration gain, and what do they cost you?

Prints the verdict (use, recalibrate, avoid, or unknown), the reason, the next step
and a table of the answers. Each statement about the population is proven at the
confidence level, by itself. 'rainproof report' writes the same as a page with charts;
'rainproof measure' is a quick look at these rows only.
"""
_EPILOG = """\
examples:
  rainproof assess rain.csv --prob probability --outcome rained
  rainproof assess loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount --cost-fp 1 --cost-fn 9 --json
  rainproof assess 'data/*.parquet' --prob p --outcome y --by region
  rainproof assess visits.csv --prob p --outcome died --groups patient \\
      --fail-on avoid,recalibrate

Up to 262,144 rows are judged as they are, more are compressed while they are read:
files may be larger than memory, except with --groups.
Exit code: 0 if there is a verdict, 1 if --fail-on names its grade, 2 if there is an
error (one line on stderr).
"""
GRADED = 1
COLOURS = {"use": "green", "recalibrate": "yellow", "avoid": "red", "unknown": "bold"}
_ALWAYS = ("segments", "note")  # details that are printed without being asked for


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "is the forecast useful, honest, worth recalibrating? the verdict"
    parser = new_command(commands, run, "assess", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser, guess=True)
    add_assessment(parser)
    parser.add_argument(
        "--fail-on",
        metavar="GRADES",
        type=_grades,
        default=(),
        help="exit with code 1 if the verdict is one of these: avoid,recalibrate,unknown,use",
    )
    parser.add_argument("--verbose", action="store_true", help="also print the details behind the verdict")
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Assess the files and print the verdict."""
    assessment = assess_files(arguments)
    wanted = arguments.json or arguments.output is not None  # all numbers take longer than those that are printed
    document = write_json(assessment.to_dict(), arguments.output) if wanted else ""
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        say_verdict(assessment, verbose=arguments.verbose)
        say_paragraphs([] if arguments.output is None else [written("Result", arguments.output)])
    return GRADED if assessment.verdict.grade in arguments.fail_on else 0


def _grades(text: str) -> tuple[str, ...]:
    grades = tuple(part.strip() for part in text.split(","))
    unknown = [grade for grade in grades if grade not in COLOURS]
    if unknown:
        raise argparse.ArgumentTypeError(f"must name grades ({', '.join(COLOURS)}), with commas; it has {unknown[0]!r}")
    return grades


def assess_files(arguments: argparse.Namespace) -> Assessment:
    """Read the files and assess them, with progress on a terminal."""
    task = task_of(arguments)
    check_result(arguments)
    rows, groups = read_rows(arguments)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, without_warnings():
        found = assess(
            rows,
            task=task,
            groups=groups,
            confidence_level=arguments.confidence_level,
            rng=arguments.seed,
            progress=progress,
        )
    columns, ids = (arguments.prob, arguments.outcome), repeated_ids(arguments)
    groups_too = [] if ids is None else ["--groups", ids[0]]  # which the command lines should have
    options = ([*chosen_options(arguments), *groups_too], reading_options(arguments))
    lines = recalibrate_lines(arguments.shown, *columns, *options, missing=arguments.drop_missing)
    notes = tuple(note for note in (ids and ids[1], fitted_here(arguments)) if note is not None)
    if notes:
        found = replace(with_warnings(found, notes), warnings=(*found.warnings, *notes))
    return with_commands(found, lines)


def without_warnings() -> warnings.catch_warnings[None]:
    """Ignore the warnings of rainproof: the verdict states them."""
    return warnings.catch_warnings(action="ignore", category=RainproofWarning)


def say_verdict(assessment: Assessment, *, verbose: bool = False) -> None:
    """Print headline (in the colour of the grade), reason, next step and answers; with `verbose` all details."""
    verdict = assessment.verdict
    headline = coloured(wrapped(one_line(verdict.headline)), COLOURS[verdict.grade], sys.stdout)
    say(sys.stdout, f"{headline}\n{verdict.body()}\n")
    shown = [one_line(s.text) for s in verdict.sentences if verbose or s.about in _ALWAYS]
    say_paragraphs(["", *shown] if shown else [])
