"""``rainproof apply``: add recalibrated probabilities to a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rainproof.cli.options import (
    RECALIBRATED,
    add_quiet,
    add_rewriting,
    files_read,
    local_files,
    new_command,
    rewriting,
)
from rainproof.cli.output import one_line
from rainproof.cli.progress import Progress
from rainproof.cli.results import say_paragraphs, written
from rainproof.core.arrays import Floats, Ints
from rainproof.core.files import check_output
from rainproof.core.result import rows as rows_text
from rainproof.core.result import wrapped
from rainproof.errors import InputError
from rainproof.io.files import describe_formats, need_pyarrow
from rainproof.recalibration.export import columns_of
from rainproof.recalibration.recalibrator import Recalibrator, load_recalibrator

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Apply a map to each row of a file of predicted probabilities.

The file is copied with a column of recalibrated probabilities added.
"""
_EPILOG = f"""\
examples:
  rainproof recalibrate past.csv --prob probability --outcome rained -o map.json
  rainproof apply today.csv --map map.json --prob probability -o better.csv

{
    wrapped(
        f"Files are {describe_formats()}. They are read in batches, so they may be larger than memory. The output "
        "appears when it is complete, and never if anything goes wrong."
    )
}
Exit code: 0 if all is done, 2 if there is an error (one line on stderr).
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "apply a map of 'rainproof recalibrate' to each row of a file"
    parser = new_command(commands, run, "apply", summary, _DESCRIPTION, _EPILOG)
    add_rewriting(parser, "of predicted probabilities")
    parser.add_argument("--map", metavar="FILE", required=True, help="the map, as written by 'rainproof recalibrate'")
    parser.add_argument(
        "--by", metavar="COL", nargs="+", help="columns of the map's segments (default: the names it was fitted with)"
    )
    parser.add_argument("--column", metavar="NAME", help="name of the new column (default: COL_recalibrated)")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the file to write")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Apply the map to the file."""
    need_pyarrow()
    from rainproof.io.rows import append_columns  # which imports PyArrow

    recalibrator = load_recalibrator(arguments.map)
    names = recalibrator._by or ()
    by = columns_of(names if arguments.by is None else arguments.by, names)
    check_output(arguments.output, *local_files(arguments), Path(arguments.map))
    column = f"{arguments.prob}{RECALIBRATED}" if arguments.column is None else arguments.column
    if not column:
        raise InputError("--column must not be empty")
    compute = _Recalibrated(recalibrator)
    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        rows = append_columns(
            arguments.file,
            arguments.output,
            by=by,
            new_columns={column: compute},
            progress=progress,
            **rewriting(arguments),
        )
    if not arguments.quiet:
        done, missing = compute.rows, rows - compute.rows
        means = f", mean {compute.before / done:.4g} before and {compute.after / done:.4g} after" if done else ""
        said = [f"{one_line(files_read(arguments))}: {rows_text(done)} recalibrated{means}"]
        if missing:
            said.append(f"{rows_text(missing)} without a probability: copied, with nothing in the new column")
        if compute.unknown:
            new = rows_text(compute.unknown)
            said.append(f"{new} in segments that the map has not seen: the map of all rows is used")
        say_paragraphs([*said, written("Result", arguments.output)])
    return 0


class _Recalibrated:
    """The new column, with sums of what was done."""

    def __init__(self, recalibrator: Recalibrator) -> None:
        self._recalibrator = recalibrator
        self._known = {segment.segment for segment in recalibrator.segments_}
        self.before = self.after = 0.0
        self.rows = self.unknown = 0

    def __call__(self, prob: NDArray[Any], places: Mapping[Any, Ints] | None) -> Floats:
        value = self._recalibrator._predict(prob, places or {})
        self.rows += len(prob)
        self.before += float(np.sum(prob, dtype=np.float64))
        self.after += float(value.sum())
        self.unknown += sum(len(rows) for key, rows in (places or {}).items() if key not in self._known)
        return value
