"""``brolly store``: compress the rows of files to one small file, for ``brolly monitor`` and for merging."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.cli.columns import add_columns, check_result, read
from brolly.cli.output import one_line, say
from brolly.engines.store import save_sample

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Compress the predictions and outcomes in files to one small Parquet file.

All that brolly computes can be computed from it, whatever the number of rows.
Stored samples can be merged: write one a day, and monitor them.
"""
_EPILOG = """\
examples:
  brolly store today.parquet --prob p --outcome y -o days/2026-03-02.parquet
  brolly monitor days --window 7
"""


def add_command(commands: Commands) -> None:
    """Describe the command and its options."""
    parser = commands.add_parser(
        "store",
        help="compress files to one small file that can be merged and monitored",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_columns(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the .parquet file to write")
    parser.add_argument("--quiet", action="store_true", help="print neither words nor progress")


def run(arguments: argparse.Namespace) -> int:
    """Read, compress, write."""
    check_result(arguments)
    sample = read(arguments)
    save_sample(sample, arguments.output)
    if not arguments.quiet:
        rows = "1 row" if sample.n == 1 else f"{sample.n:,} rows"
        say(sys.stdout, f"{rows}, compressed to {len(sample.y_prob):,}, written to {one_line(str(arguments.output))}\n")
    return 0
