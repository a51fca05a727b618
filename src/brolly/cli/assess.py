"""``brolly assess``: can the probabilities in this file be acted on?"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly import __version__
from brolly.cli.output import say
from brolly.cli.progress import Progress
from brolly.cli.verdict import verdict
from brolly.core.sample import Sample
from brolly.core.whole import check_output, write_whole
from brolly.engines.files import read_file
from brolly.errors import BrollyWarning
from brolly.measures.soft_binned import SoftBinnedProfile, soft_binned_profile

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Say what anyone can lose by acting on the predicted probabilities in a file.

The verdict is the Soft-Binned Calibration Decision Loss (SCDL): 0 is perfect,
0.5 is the worst. If it is small, everyone can act on the probabilities,
whatever their decision and its costs.
"""
_EPILOG = """\
examples:
  brolly assess rain.csv --prob probability --outcome rained
  brolly assess loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount --json

The file is read in pieces: it may be larger than memory.
Exit code: 0 if there is a verdict, 2 if there is an error (one line says which).
"""


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
    parser.add_argument("file", metavar="FILE", help="a CSV (.csv, .csv.gz, .tsv) or Parquet (.parquet, .pq) file")
    parser.add_argument("--prob", metavar="COL", required=True, help="column of predicted probabilities, from 0 to 1")
    parser.add_argument("--outcome", metavar="COL", required=True, help="column of outcomes: 0 or 1, true or false")
    parser.add_argument("--weight", metavar="COL", help="column that says how much each row counts")
    parser.add_argument("--pos-label", metavar="LABEL", help="the outcome that is the event, where it is not 1")
    parser.add_argument(
        "--rounding",
        choices=["soft", "hard"],
        default="soft",
        help="how probabilities are rounded to a grid: at random without bias (soft, the default) or down (hard)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON instead of words")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="also write the result as JSON to this file")
    parser.add_argument("--quiet", action="store_true", help="print neither words nor progress")


def run(arguments: argparse.Namespace) -> int:
    """Read the file, measure, and say what came out."""
    if arguments.output is not None:
        check_output(arguments.output, Path(arguments.file))
    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        sample = read_file(
            arguments.file,
            prob=arguments.prob,
            outcome=arguments.outcome,
            weight=arguments.weight,
            pos_label=arguments.pos_label,
            progress=progress,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrollyWarning)  # the profile keeps them, and the verdict says them
        profile = soft_binned_profile(sample, rounding=arguments.rounding)
    document = json.dumps(_document(arguments, sample, profile), indent=2, allow_nan=False) + "\n"
    if arguments.output is not None:
        write_whole(arguments.output, document)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        say(sys.stdout, verdict(arguments.file, sample, profile, weight=arguments.weight, output=arguments.output))
    return 0


def _document(arguments: argparse.Namespace, sample: Sample, profile: SoftBinnedProfile) -> dict[str, Any]:
    """The result as it goes into a file: what was read, and what was found."""
    return {
        "brolly": __version__,
        "file": arguments.file,
        "prob": arguments.prob,
        "outcome": arguments.outcome,
        "weight": arguments.weight,
        "pos_label": arguments.pos_label,
        "event_rate": sample.event_rate,
        "effective_n": sample.effective_n,
        **profile.to_dict(),
    }
