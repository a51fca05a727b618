"""The options that say which column is what, and the reading that follows from them: the same for all commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import overload

from brolly.cli.progress import Progress
from brolly.core.atomic_write import check_output
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import Segments
from brolly.engines.files import describe_formats
from brolly.engines.scan import scan
from brolly.engines.sources import expand


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Describe the files, their columns and which rows count."""
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="+",
        help=f"{describe_formats()} files, or quoted patterns such as 'data/*.parquet'",
    )
    parser.add_argument("--prob", metavar="COL", required=True, help="column of predicted probabilities, from 0 to 1")
    parser.add_argument("--outcome", metavar="COL", required=True, help="column of outcomes: 0 or 1, true or false")
    parser.add_argument("--weight", metavar="COL", help="column that says how much each row counts")
    parser.add_argument("--pos-label", metavar="LABEL", help="the outcome that is the event, where it is not 1")
    parser.add_argument(
        "--where", metavar="CONDITION", help="which rows count, such as \"p is not null and region = 'north'\""
    )


def check_result(arguments: argparse.Namespace) -> None:
    """Refuse, before the work, a file for the result that cannot be written or is one of those to read."""
    if arguments.output is not None:
        check_output(arguments.output, *map(Path, expand(arguments.file)))


@overload
def read(arguments: argparse.Namespace) -> Sample: ...
@overload
def read(arguments: argparse.Namespace, *, by: list[str] | None) -> Sample | Segments: ...
def read(arguments: argparse.Namespace, *, by: list[str] | None = None) -> Sample | Segments:
    """The rows of the files that were named, with progress on a terminal."""
    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        return scan(
            arguments.file,
            arguments.prob,
            arguments.outcome,
            weight=arguments.weight,
            pos_label=arguments.pos_label,
            where=arguments.where,
            by=by,
            progress=progress,
        )


def files_read(arguments: argparse.Namespace) -> str:
    """What was read, in words: the file, or how many."""
    first: str = arguments.file[0]
    return first if len(arguments.file) == 1 else f"{first} and {len(arguments.file) - 1} more"
