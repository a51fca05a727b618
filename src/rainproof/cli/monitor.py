"""``rainproof monitor``: SCDL and its guarantee over time, and when the forecast changed."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rainproof import __version__
from rainproof.cli.inputs import prepared
from rainproof.cli.options import (
    add_column_names,
    add_confidence,
    add_json,
    add_quiet,
    check_result,
    new_command,
    probability,
    read,
)
from rainproof.cli.output import one_line, say
from rainproof.cli.progress import Progress
from rainproof.cli.results import add_plot, check_plot, draw, say_paragraphs, write_json
from rainproof.core.result import percent, rows
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.errors import InputError
from rainproof.inference.monitoring import DetectedChange, Timeline, monitor
from rainproof.io.store import load_samples

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Print SCDL and the guaranteed expected loss period by period, and when the
forecast stopped being calibrated.

A folder holds one stored sample for each period (see 'rainproof store'), ordered by
name: 2026-03-02.parquet. Of files of rows, --by names the column of periods; they
are ordered as numbers, or else as text: 2026-03-02. Alarms are raised by a
sequential test, not by a limit on SCDL: it may run every night. By default the
rows of a period may all depend on each other.
"""
_EPILOG = """\
examples:
  rainproof monitor days
  rainproof monitor days --window 28 --plot timeline.png
  rainproof monitor flights.csv --by day --prob p --outcome late

Exit code: 0, or 1 with --fail-on-change if a change was found, or 2 if there is
an error (one line on stderr).
"""
CHANGED = 1
_OF_ROWS = (
    "prob",
    "outcome",
    "weight",
    "trials",
    "pos_label",
    "where",
    "sep",
    "percent",
    "confidence_words",
    "drop_missing",
)  # options
_UNORDERED = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}.*", re.DOTALL)  # 3/2/2026


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "print SCDL and its guarantee over time, and when the forecast changed"
    parser = new_command(commands, run, "monitor", summary, _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="+",
        help="a folder of stored samples, one .parquet file a period; or with --by files, as for 'rainproof store'",
    )
    parser.add_argument("--by", metavar="COL", help="column of periods, if files of rows are given")
    add_column_names(parser, guess=True)
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
    """Monitor a folder of stored samples, or the rows of files by period."""
    if arguments.by is None:
        _check_folder(arguments)
        return _monitor(arguments)
    arguments.file = arguments.source
    with prepared(arguments):
        return _monitor(arguments)


def _check_folder(arguments: argparse.Namespace) -> None:
    """Say what to type for files of rows; refuse options that stored samples have no use for."""
    first = arguments.source[0]
    if len(arguments.source) > 1 or Path(first).is_file():
        files = one_line(shlex.join(arguments.source))
        raise InputError(
            f"{first} is not a folder of stored samples: for files of rows name the column of periods, such as "
            f"'rainproof monitor {files} --by day'"
        )
    for name in _OF_ROWS:
        if getattr(arguments, name) not in (None, False):
            raise InputError(f"--{name.replace('_', '-')} is for files of rows, with --by; {first} is a folder")


def _monitor(arguments: argparse.Namespace) -> int:
    """Read the samples, monitor them, and print the timeline."""
    check_result(arguments)
    check_plot(arguments)
    samples = load_samples(arguments.source[0]) if arguments.by is None else _periods(arguments)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress:
        timeline = monitor(
            samples,
            window=arguments.window,
            confidence_level=arguments.confidence_level,
            alpha=arguments.alpha,
            independent_rows=arguments.independent_rows,
            progress=progress,
        )
    document = write_json({"rainproof": __version__, **timeline.to_dict()}, arguments.output)
    if arguments.plot is not None:
        draw(timeline, arguments.plot)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        say(sys.stdout, "".join(f"{one_line(line)}\n" for line in str(timeline).splitlines()))
        say_paragraphs(["", *map(one_line, _summary(timeline))])
    return CHANGED if arguments.fail_on_change and timeline.changes else 0


def _periods(arguments: argparse.Namespace) -> dict[str, Sample]:
    """Read the rows of each period, in order of time."""
    found = read(arguments, by=[arguments.by])
    assert isinstance(found, Segments)
    missing = found.counts.get(None, 0)
    if missing:
        quoted = arguments.by.replace('"', '""')
        present = shlex.quote(f'"{quoted}" is not null')
        raise InputError(
            f"--by {arguments.by} must not be missing; it is in {rows(missing)}: leave them out with --where {present}"
        )
    for label in found:
        if isinstance(label, str) and _UNORDERED.fullmatch(label):
            raise InputError(f"--by {arguments.by} must be in order as text, such as 2026-03-02; it has {label!r}")
    with suppress(TypeError, ValueError):  # numbers in text files are text
        return {str(label): found[label] for label in sorted(found, key=float)}
    return {str(label): sample for label, sample in found.items()}


def _summary(timeline: Timeline) -> list[str]:
    """The changes, the next step, and what the columns say."""
    limit = f"{1 / timeline.alpha:,.4g}"
    said = [f"No alarm: the evidence against calibration stays below {limit}."]
    if timeline.changes:
        said = [
            *(f"Not calibrated since about {c.label} ({_alarms(c)}): {c.bet}." for c in timeline.changes),
            "Next: assess the rows since then ('rainproof assess') and recalibrate ('rainproof recalibrate').",
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


def _alarms(change: DetectedChange) -> str:
    if change.alarms == 1:
        return f"1 alarm, at {change.alarm}"
    return f"{change.alarms} alarms, the first at {change.alarm}, the last at {change.last_alarm}"
