"""The command that watches a forecast over time: ``rainproof monitor``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rainproof import __version__
from rainproof.cli.commands import OF_ROWS
from rainproof.cli.options import dest, is_stated, refuse_cost_columns, task_of
from rainproof.cli.output import finish, one_line, say, say_paragraphs, shell_line, watched
from rainproof.cli.printed import Screen
from rainproof.cli.reading import prepared, read
from rainproof.core import documents, files
from rainproof.errors import InputError
from rainproof.inference.monitoring import monitor
from rainproof.inference.monitoring_results import MonitoringResult
from rainproof.io.conditions import quoted_column

CHANGED = 1  # exit code while in alarm, so that a job can act on it
_STATE = "monitor state"
# Periods that are numbers are compared as numbers; others are text, in quotes.
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def run_monitor(arguments: argparse.Namespace) -> int:
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
        named = shell_line(arguments.source)
        raise InputError(
            f"{first} is not a folder of stored samples: for files of rows name the column of "
            f"periods, such as 'rainproof monitor {named} --by day'"
        )
    for name in (*OF_ROWS, "--segments"):
        if is_stated(arguments, dest(name)):
            raise InputError(f"{name} is for files of rows, with --by; {first} is a folder")


def _monitor(arguments: argparse.Namespace) -> int:
    """Read the samples, monitor them, and print the timeline."""
    refuse_cost_columns(arguments, "periods are compressed, and keep no costs of single cases")
    told = None if arguments.state is None else _told(arguments.state)
    if arguments.by is None:
        samples = documents.load(arguments.source[0])
    else:
        by = [arguments.by, *(arguments.segments or ())]
        samples = read(arguments, arguments.prob, by=by)
    with watched(arguments) as progress:
        timeline = monitor(
            samples,
            window=arguments.window,
            every=arguments.every,
            confidence_level=arguments.confidence_level,
            alpha=arguments.alpha,
            dependent=arguments.dependent_rows,
            task=task_of(arguments),
            progress=progress,
        )

    def document() -> dict[str, Any]:
        return {"rainproof": __version__, **timeline.to_dict()}

    finish(arguments, document, partial(_say_timeline, arguments, timeline), timeline)
    alarms = _alarms(timeline)
    periods = [window.label for window in timeline.windows]
    is_failed = bool(alarms)
    if arguments.fail_on == "new" and told is None:
        is_failed = timeline.newest_judged in alarms.values()
    elif arguments.fail_on == "new" and told is not None:
        # Of stored days the newest that was told may have been removed.
        newest_told = periods.index(told["newest"]) if told["newest"] in periods else -1
        is_failed = any(
            name not in told["alarms"] or period > newest_told for name, period in alarms.items()
        )
    if arguments.state is not None:
        news = {"newest": periods[timeline.newest_judged], "alarms": list(alarms)}
        files.write_atomic(arguments.state, documents.as_text(documents.document(_STATE, 1, news)))
    return CHANGED if is_failed and arguments.fail_on is not None else 0


def _say_timeline(arguments: argparse.Namespace, timeline: MonitoringResult) -> None:
    """Print the table of periods, and what it means."""
    lines = [f"{one_line(line)}\n" for line in timeline.table().splitlines()]
    say(sys.stdout, "".join(lines))
    commands: Sequence[str] = []
    if timeline.since is not None:
        commands = _recalibrate_since(arguments, timeline.since)
    for line in ["", *timeline.sentences(dependent="--dependent-rows", commands=commands)]:
        if line.startswith(" "):
            say(sys.stdout, f"{one_line(line)}\n")  # a command, to be copied
        else:
            say_paragraphs([one_line(line)])


def _told(path: Path) -> dict[str, Any]:
    """What the last run said: its newest period, and the alarms at that time. Refuse a file that is
    anything else.
    """
    files.check_output(path)
    documents.check_replaced(path, _STATE, overwrite=False, how="no option")
    if not path.exists() or not path.stat().st_size:
        return {"newest": None, "alarms": []}
    checked = partial(documents.check_document, kind=_STATE, version=1, keys=("newest", "alarms"))
    return documents.read_json(path, _STATE, checked)


def _alarms(timeline: MonitoringResult) -> dict[str, int]:
    """The position of the period that raised each alarm that lasts; the name of that of all rows is
    empty.
    """
    alarms = {}
    if timeline.in_alarm:
        alarms[""] = timeline.changes[-1].alarm_index
    for segment, change in timeline.segments_in_alarm.items():
        alarms[segment] = change.alarm_index
    return alarms


def _recalibrate_since(arguments: argparse.Namespace, since: str) -> Sequence[str]:
    """The command lines that recalibrate on the rows since a period."""
    if arguments.by is None:
        folder = arguments.source[0]
        samples = f"sum(s for day, s in rainproof.load({folder!r}).items() if day >= {since!r})"
        code = f"import rainproof; rainproof.Recalibrator().fit({samples}).save('map.json')"
        return [shell_line(["python", "-c", code])]
    label = since
    if not _NUMBER.fullmatch(since):
        doubled = since.replace("'", "''")
        label = f"'{doubled}'"
    return Screen.of(arguments).where(f"{quoted_column(arguments.by)} >= {label}").recalibrate()
