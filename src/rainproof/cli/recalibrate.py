"""``rainproof recalibrate``: fit a map from predictions to better ones, with a certificate."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rainproof.assessment import words
from rainproof.assessment.assessing import collect_warnings
from rainproof.assessment.clinical import is_reversed
from rainproof.assessment.words import check_event
from rainproof.cli.options import (
    add_by,
    add_columns,
    add_confidence,
    add_fractional,
    add_groups,
    add_quiet,
    add_seed,
    check_result,
    files_read,
    new_command,
)
from rainproof.cli.output import say
from rainproof.cli.repeats import note_repeated_ids
from rainproof.cli.results import add_plot, check_plot, draw, rows_read, say_paragraphs, written
from rainproof.cli.rows import read_rows_to_divide
from rainproof.core.result import rows, wrapped
from rainproof.core.sample import Sample
from rainproof.core.segments import FEW_ROWS, Segments
from rainproof.errors import InputError
from rainproof.inference.performance import auroc
from rainproof.recalibration.export import as_text
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.recalibrator import Recalibrator, candidate_table, choice, segment_table

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Recalibrate predicted probabilities: fit a map from past predictions to better
ones, and prove what it does on rows that it was not fitted to.

Several methods are tried. With --by, a segment gets a map of its own where rows
held out prove a gain.
"""
_EPILOG = """\
examples:
  rainproof recalibrate past.csv --prob probability --outcome rained -o map.json
  rainproof recalibrate 'loans/*.parquet' --prob p --outcome status \\
      --pos-label default --by region -o map.json

'rainproof apply' applies the map to a file; 'rainproof policy --map' acts on it.
Files are read in pieces: they may be larger than memory, except with --groups.
Exit code: 0 if there is a map, 2 if there is an error (one line on stderr).
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "fit a map from predictions to better ones, with a certificate"
    parser = new_command(commands, run, "recalibrate", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser)
    add_by(parser)
    add_groups(parser)
    add_fractional(parser)
    names = ", ".join(METHODS)
    parser.add_argument(
        "--methods", metavar="M", nargs="+", choices=METHODS, help=f"what to choose from (default: all): {names}"
    )
    add_confidence(parser, "confidence level of each bound (default: 0.95)")
    add_seed(parser)
    add_plot(parser, "the map")
    parser.add_argument("--json", action="store_true", help="print the map as JSON instead of text")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the map to write, as JSON")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the files, fit the map, and write it."""
    check_result(arguments)
    check_plot(arguments)
    found, groups, by = read_rows_to_divide(arguments)
    _check_weights(found)
    note_repeated_ids(arguments)
    recalibrator = Recalibrator(
        arguments.methods or "auto", confidence_level=arguments.confidence_level, rng=arguments.seed
    )
    with collect_warnings() as notes:
        recalibrator.fit(found, groups=groups, by=by)
    sample = found.pooled if isinstance(found, Segments) else found
    if not arguments.quiet and recalibrator.candidates_:
        _warn(sample, None if groups is None else len(np.unique(groups)))
    recalibrator.save(arguments.output)
    if arguments.plot is not None:
        draw(recalibrator, arguments.plot)
    if arguments.json:
        say(sys.stdout, as_text(recalibrator.to_dict()))
    elif not arguments.quiet:
        read_ = rows_read(files_read(arguments), sample, arguments.weight)
        say_paragraphs([read_, *map(words.note, notes)])
        _say(recalibrator, arguments.by or [])
        paths = [("Map", arguments.output), ("Picture", arguments.plot)]
        say_paragraphs(written(what, path) for what, path in paths if path is not None)
    return 0


def _warn(sample: Sample, groups: int | None) -> None:
    """Say on stderr if the labels seem reversed, which a map would learn, or if the rows are few."""
    area = auroc(sample)
    said = [check_event(area, "--pos-label")] if is_reversed(sample, area, groups) else []
    n = sample._whole_rows
    if n < FEW_ROWS:
        said.append(f"only {rows(n)}: much of the map can be due to chance; the certificate says what is proven of it")
    for text_ in said:
        say(sys.stderr, f"{wrapped(f'rainproof: warning: {text_}')}\n")


def _say(recalibrator: Recalibrator, by: list[str]) -> None:
    """Print the choice, the certificate and the segments."""
    method, candidates = recalibrator.method_, recalibrator.candidates_
    say_paragraphs([choice(method, candidates)])
    tables = [candidate_table(method, candidates), segment_table(by, recalibrator.segments_)]
    say(sys.stdout, f"\n{tables[0]}\n" if tables[0] else "")
    say_paragraphs(str(recalibrator.certificate_).splitlines())
    say(sys.stdout, f"\n{tables[1]}\n" if tables[1] else "")


def _check_weights(found: Sample | Segments) -> None:
    """Refuse weights that differ, in the words of the command line."""
    samples = found.values() if isinstance(found, Segments) else [found]
    if not all(sample.grid is None or sample._cells.has_equal_weights for sample in samples):
        raise InputError(
            "--weight must have the same value in every row here, as rows of files are pooled before they are divided: "
            "for unequal weights use Python, rainproof.Recalibrator().fit(p, y, sample_weight=w)"
        )
