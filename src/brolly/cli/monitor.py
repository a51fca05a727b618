"""``brolly monitor``: SCDL and its guarantee over time, and when the forecast changed."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from brolly import __version__
from brolly.cli.options import add_confidence, add_json, add_quiet, new_command, probability
from brolly.cli.output import one_line, say
from brolly.cli.progress import Progress
from brolly.cli.results import add_plot, check_plot, draw, say_paragraphs, write_json
from brolly.core.atomic_write import check_output
from brolly.core.text import percent
from brolly.engines.store import load_samples
from brolly.inference.monitoring import Timeline, monitor

if TYPE_CHECKING:
    from brolly.cli.options import Commands

_DESCRIPTION = """\
Print SCDL and the guaranteed expected loss period by period, and when the
forecast stopped being calibrated.

The folder holds one stored sample for each period (see 'brolly store'), ordered
by name: 2026-03-02.parquet. Alarms are raised by a sequential test, not by a
limit on SCDL: it may run every night. By default the rows of a period may all
depend on each other.
"""
_EPILOG = """\
examples:
  brolly monitor days
  brolly monitor days --window 28 --plot timeline.png

Exit code: 0, or 1 with --fail-on-change if a change was found, or 2 if there is
an error (one line on stderr).
"""
CHANGED = 1


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "print SCDL and its guarantee over time, and when the forecast changed"
    parser = new_command(commands, run, "monitor", summary, _DESCRIPTION, _EPILOG)
    parser.add_argument("folder", metavar="DIR", help="a folder of stored samples, one .parquet file a period")
    parser.add_argument("--window", metavar="N", type=int, default=1, help="merge the last N periods (default: 1)")
    add_confidence(parser, "confidence level of each guarantee (default: 0.95)")
    parser.add_argument(
        "--alpha",
        metavar="A",
        type=probability,
        default=0.01,
        help="while the forecast is calibrated, 1/A periods or more to a false alarm on average (default: 0.01)",
    )
    parser.add_argument(
        "--independent-rows",
        action="store_true",
        help="rows of a period are independent: finds changes from far fewer periods",
    )
    add_plot(parser, "the timeline")
    parser.add_argument("--fail-on-change", action="store_true", help="exit with code 1 if a change was found")
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Load the samples, monitor them, and print the timeline."""
    if arguments.output is not None:
        check_output(arguments.output)
    check_plot(arguments)
    samples = load_samples(arguments.folder)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress:
        timeline = monitor(
            samples,
            window=arguments.window,
            confidence_level=arguments.confidence_level,
            alpha=arguments.alpha,
            independent_rows=arguments.independent_rows,
            progress=progress,
        )
    document = write_json({"brolly": __version__, **timeline.to_dict()}, arguments.output)
    if arguments.plot is not None:
        draw(timeline, arguments.plot)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        say(sys.stdout, "".join(f"{one_line(line)}\n" for line in str(timeline).splitlines()))
        say_paragraphs(["", *map(one_line, _summary(timeline))])
    return CHANGED if arguments.fail_on_change and timeline.changes else 0


def _summary(timeline: Timeline) -> list[str]:
    """The last change, the next step, and what the columns say."""
    limit = f"{1 / timeline.alpha:,.4g}"
    said = [f"No alarm: the evidence against calibration stays below {limit}."]
    if timeline.changes:
        last = timeline.changes[-1]
        alarms = "1 alarm" if last.alarms == 1 else f"{last.alarms} alarms, the last at {last.last_alarm}"
        said = [
            f"Not calibrated since about {last.label} ({alarms}): {last.bet}.",
            "Next: assess the rows since then ('brolly assess') and recalibrate ('brolly recalibrate').",
        ]
    return [
        *said,
        "",
        f"Alarm: the evidence against calibration reaches {limit}. While the forecast is calibrated, {limit} periods "
        "or more pass to a false alarm, on average.",
        "Loss at most: the expected loss of every decision, as a share of what is at stake per case (best minus worst "
        "outcome), by acting on probabilities rounded at random, compared with the best fixed change of actions; from "
        "all rows since the last change, if they are independent and from one population. It holds at all periods at "
        f"once with {percent(timeline.confidence_level)} confidence.",
    ]
