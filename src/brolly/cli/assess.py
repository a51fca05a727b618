"""``brolly assess``: can the probabilities in this file be acted on?"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly import __version__
from brolly.cli.columns import add_columns, check_result, files_read, read
from brolly.cli.output import say
from brolly.cli.segments import Limit, Part, segment_table
from brolly.cli.verdict import verdict
from brolly.core.atomic_write import write_atomic
from brolly.core.grid.rounded import Rounding
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import FEW_ROWS, Segments
from brolly.errors import BrollyWarning, InputError
from brolly.measures.soft_binned import SoftBinnedProfile, soft_binned_profile

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Say what anyone can lose by acting on the predicted probabilities in files.

The verdict is the Soft-Binned Calibration Decision Loss (SCDL): 0 is perfect,
0.5 is the worst. If it is small, everyone can act on the probabilities,
whatever their decision and its costs.
"""
_EPILOG = """\
examples:
  brolly assess rain.csv --prob probability --outcome rained
  brolly assess loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount --json
  brolly assess 'data/*.parquet' --prob p --outcome y --by region \\
      --fail-above 0.03

Files are read in pieces: they may be larger than memory.
Exit code: 0 if there is a verdict, 1 if SCDL is above what --fail-above allows,
2 if there is an error (one line says which).
"""
ABOVE = 1


def add_command(commands: Commands) -> None:
    """Describe the command and its options."""
    parser = commands.add_parser(
        "assess",
        help="say what anyone can lose by acting on the probabilities in a file",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_columns(parser)
    parser.add_argument("--by", metavar="COL", nargs="+", help="also one verdict for each value of these columns")
    parser.add_argument(
        "--rounding",
        choices=["soft", "hard"],
        default="soft",
        help="how probabilities are rounded to a grid: at random without bias (soft, the default) or down (hard)",
    )
    parser.add_argument(
        "--fail-above",
        metavar="SCDL",
        type=float,
        help="exit with code 1 if SCDL is above this, for all rows or (with --by) for any segment of 100 rows or more",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON instead of words")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="also write the result as JSON to this file")
    parser.add_argument("--quiet", action="store_true", help="print neither words nor progress")


def run(arguments: argparse.Namespace) -> int:
    """Read the files, measure, and say what came out."""
    if arguments.fail_above is not None and not arguments.fail_above >= 0:
        raise InputError(f"--fail-above must be a number that is not negative; it is {arguments.fail_above}")
    check_result(arguments)
    read_in = read(arguments, by=arguments.by)
    sample = read_in.pooled if isinstance(read_in, Segments) else read_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrollyWarning)  # the profile keeps them, and the verdict says them
        profile = soft_binned_profile(sample, rounding=arguments.rounding)
        parts = _parts(read_in, arguments.rounding)
    limit = None if arguments.fail_above is None else Limit(arguments.fail_above, profile, parts)
    document = json.dumps(_document(arguments, sample, profile, parts, limit), indent=2, allow_nan=False) + "\n"
    if arguments.output is not None:
        write_atomic(arguments.output, document)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        table = segment_table(read_in.by, parts) if isinstance(read_in, Segments) else ""
        said = "" if limit is None else str(limit)
        words = verdict(
            files_read(arguments),
            sample,
            profile,
            weight=arguments.weight,
            table=table,
            limit=said,
            output=arguments.output,
        )
        say(sys.stdout, words)
    return ABOVE if limit is not None and limit.is_passed else 0


def _parts(read_in: Sample | Segments, rounding: Rounding) -> list[Part]:
    """A profile of each segment, if there are any."""
    if not isinstance(read_in, Segments):
        return []
    return [
        Part(
            key=key if isinstance(key, tuple) else (key,),
            event_rate=sample.event_rate,
            profile=soft_binned_profile(sample, rounding=rounding),
            few=sample.n < FEW_ROWS,
        )
        for key, sample in read_in.items()
    ]


def _document(
    arguments: argparse.Namespace, sample: Sample, profile: SoftBinnedProfile, parts: list[Part], limit: Limit | None
) -> dict[str, Any]:
    """The result as it goes into a file: what was read, and what was found."""
    document = {
        "brolly": __version__,
        "file": arguments.file[0] if len(arguments.file) == 1 else arguments.file,
        "prob": arguments.prob,
        "outcome": arguments.outcome,
        "weight": arguments.weight,
        "pos_label": arguments.pos_label,
        "where": arguments.where,
        "event_rate": sample.event_rate,
        "effective_n": sample.effective_n,
        **profile.to_dict(),
    }
    if limit is not None:
        document |= {"fail_above": limit.value, "above": limit.is_passed}
    if arguments.by is not None:
        document |= {"by": arguments.by, "segments": [part.to_dict(arguments.by) for part in parts]}
    return document
