"""``rainproof store``: compress the rows of files to one small file, for ``rainproof monitor`` and for merging."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rainproof.cli.options import add_columns, add_quiet, check_result, new_command, read
from rainproof.cli.output import one_line, say
from rainproof.core.files import write_errors
from rainproof.core.result import rows
from rainproof.io.store import save_sample

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Compress the predictions and outcomes in files to one small Parquet file.

Its size does not depend on the number of rows, and SCDL, the regret curve and
the guarantee are kept. Stored samples can be merged: store one a day, and
monitor them.
"""
_EPILOG = """\
examples:
  rainproof store today.parquet --prob p --outcome y -o days/2026-03-02.parquet
  rainproof monitor days --window 7
"""
_OUTPUT = "the .parquet file to write; a missing folder is made"


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "compress files to one small file that can be merged and monitored"
    parser = new_command(commands, run, "store", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help=_OUTPUT)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, compress, write."""
    folder = arguments.output.parent
    if folder.exists():
        check_result(arguments)
    sample = read(arguments)
    with write_errors(arguments.output):
        folder.mkdir(parents=True, exist_ok=True)
    save_sample(sample, arguments.output)
    if not arguments.quiet:
        size = f"compressed to {len(sample.y_prob):,}, written to {one_line(str(arguments.output))}"
        say(sys.stdout, f"{rows(sample.n)}, {size}\n")
    return 0
