"""``brolly monitor``: a forecast over time, and when it changed."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly import __version__
from brolly.cli.output import one_line, say
from brolly.cli.progress import Progress
from brolly.core.atomic_write import atomic_output, check_output, write_atomic
from brolly.engines.store import load_samples
from brolly.errors import InputError
from brolly.inference.monitoring import Timeline, monitor

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Print what acting on a forecast can cost, period by period, and when it changed.

The folder holds one stored sample for each period (see 'brolly store'), whose
names put them in order: 2026-03-02.parquet. A change is marked where a test
says that chance alone would hardly explain it, not where a number crosses a
threshold.
"""
_EPILOG = """\
examples:
  brolly monitor days
  brolly monitor days --window 28 --plot timeline.png

Exit code: 0, or 1 with --fail-on-change if a change was found, or 2 if there is
an error (one line says which).
"""
CHANGED = 1


def add_command(commands: Commands) -> None:
    """Describe the command and its options."""
    parser = commands.add_parser(
        "monitor",
        help="print SCDL and its guarantee over time, and when the forecast changed",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument("folder", metavar="DIR", help="a folder of stored samples, one .parquet file a period")
    parser.add_argument("--window", metavar="N", type=int, default=1, help="merge the last N periods (default: 1)")
    parser.add_argument(
        "--confidence-level", metavar="C", type=float, default=0.95, help="of each bound (default: 0.95)"
    )
    parser.add_argument(
        "--alpha", metavar="A", type=float, default=0.01, help="how often no change may be called one (default: 0.01)"
    )
    parser.add_argument(
        "--independent-rows",
        action="store_true",
        help="rows of a period do not depend on each other: finds smaller changes, from fewer periods",
    )
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="of the random rearrangements (default: 0)")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="also draw it, as .png, .svg or .pdf")
    parser.add_argument("--fail-on-change", action="store_true", help="exit with code 1 if a change was found")
    parser.add_argument("--json", action="store_true", help="print the result as JSON instead of a table")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="also write the result as JSON to this file")
    parser.add_argument("--quiet", action="store_true", help="print neither the table nor progress")


def run(arguments: argparse.Namespace) -> int:
    """Load, monitor, and say what came out."""
    for path in (arguments.output, arguments.plot):
        if path is not None:
            check_output(path)
    if arguments.plot is not None and arguments.plot.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"--plot must name a .png, .svg or .pdf file; it is {str(arguments.plot)!r}")
    samples = load_samples(arguments.folder)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress:
        timeline = monitor(
            samples,
            window=arguments.window,
            confidence_level=arguments.confidence_level,
            alpha=arguments.alpha,
            shuffle="rows" if arguments.independent_rows else "periods",
            rng=arguments.seed,
            progress=progress,
        )
    document = json.dumps({"brolly": __version__, **timeline.to_dict()}, indent=2, allow_nan=False) + "\n"
    if arguments.output is not None:
        write_atomic(arguments.output, document)
    if arguments.plot is not None:
        _draw(timeline, arguments.plot)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        say(sys.stdout, "".join(f"{one_line(line)}\n" for line in [*str(timeline).splitlines(), *_last(timeline)]))
    return CHANGED if arguments.fail_on_change and timeline.changes else 0


def _last(timeline: Timeline) -> list[str]:
    """What it comes to, in a line."""
    if not timeline.changes:
        return ["", "No change that chance would not explain."]
    since = timeline.changes[-1].label
    return ["", f"The last change was at {since}: judge the forecast by what came since."]


def _draw(timeline: Timeline, path: Path) -> None:
    from brolly.plots.monitoring_plot import timeline as draw
    from brolly.plots.style import new_figure

    figure = new_figure(figsize=(8, 4.5))
    draw(timeline, figure.add_subplot())
    with atomic_output(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], bbox_inches="tight")
