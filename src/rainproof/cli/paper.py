"""``rainproof paper``: recompute the tables, figures and statements of the paper."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rainproof.cli.options import add_quiet, add_seed, new_command
from rainproof.cli.output import one_line, say
from rainproof.cli.progress import Progress, bar

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Recompute the tables, figures and statements of the paper.

Bairaktari, Hu, Nguyen, Ullman: 'Testable and Actionable Calibration for Full
Swap Regret' (arXiv:2605.17749). Every number stands beside the printed one.
"""
_EPILOG = """\
examples:
  rainproof paper
  rainproof paper table2 figure3 claims
  rainproof paper table2 --repeats 1000 --seed 0
  rainproof paper claims --only "Lemma 4.3"

Writes one page, index.html, and for each part tables (CSV) and pictures (PNG,
SVG; they need Matplotlib: pip install matplotlib). A run that was stopped
goes on where it was. The same seed gives the same numbers.
Exit code: 0 if all was computed and every statement held but for the slips that
are known, 1 if another one did not hold, 2 if there is an error (one line on
stderr).
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "recompute the tables, figures and statements of the paper"
    parser = new_command(commands, run, "paper", summary, _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "parts",
        metavar="PART",
        nargs="*",
        help="what to compute: table1, table2, figure1, figure2, figure3, claims, ... (default: all)",
    )
    parser.add_argument("--repeats", metavar="N", type=int, help="number of repetitions (default: as in the paper)")
    add_seed(parser)
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="check this statement alone (claims)"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=Path("paper"), help="folder for the files (default: paper)"
    )
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compute, write, and print the tables."""
    from rainproof.paper.claims import unexpected  # here, as no other command needs the package
    from rainproof.paper.run import run_paper

    parts = arguments.parts or (["claims"] if arguments.only else [])
    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        done = run_paper(
            *parts,
            output=arguments.output,
            repeats=arguments.repeats,
            seed=arguments.seed,
            jobs=arguments.jobs,
            only=arguments.only,
            progress=lambda name, finished, total: progress.say(f"{name:<14} {bar(finished, total)}{finished}/{total}"),
        )
    if not arguments.quiet:
        for result in done.values():
            tables = [str(table) for table in result.tables if table.printed]
            say(sys.stdout, "\n\n".join([result.title, *tables]) + "\n\n")
        say(sys.stdout, f"Everything is on one page: {one_line(str(arguments.output / 'index.html'))}\n")
    return int(any(result.name == "claims" and unexpected(result.tables[0].records()) for result in done.values()))
