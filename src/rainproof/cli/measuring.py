"""Commands that measure: ``rainproof measure``, and over time ``store`` and ``monitor``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rainproof import __version__
from rainproof.cli.commands import OF_ROWS
from rainproof.cli.options import (
    dest,
    files_read,
    refuse_cost_columns,
    task_of,
)
from rainproof.cli.output import (
    finish,
    one_line,
    rows_read,
    say,
    say_paragraphs,
    shell_line,
    watched,
)
from rainproof.cli.printed import Screen
from rainproof.cli.reading import prepared, read, read_classes
from rainproof.core import files
from rainproof.core.segments import Segments
from rainproof.core.text import aligned, at_most, json_key, rows, short
from rainproof.errors import FEW_ROWS, InputError
from rainproof.inference.monitoring import monitor
from rainproof.inference.monitoring_results import MonitoringResult
from rainproof.io.conditions import quoted_column
from rainproof.measures.catalogue import measure_all
from rainproof.measures.class_measures import measure_classes
from rainproof.measures.scdl import SoftBinnedProfile, soft_binned_profile
from rainproof.verdict import words
from rainproof.verdict.assessing import collect_warnings

ABOVE = 1
_WIDEST = 40  # characters of a segment's name in the table


def run_measure(arguments: argparse.Namespace) -> int:
    """Read the files, measure, and print the values."""
    limit = arguments.fail_above
    if limit is not None and not limit >= 0:
        raise InputError(f"--fail-above must be a number that is not negative; it is {limit}")
    if arguments.classes:
        with collect_warnings():
            several = measure_classes(read_classes(arguments))
        about = f"{one_line(files_read(arguments))}: {rows(several.n)}, {len(several.classes)} classes\n\n"
        finish(
            arguments,
            lambda: {"rainproof": __version__, **several.to_dict()},
            lambda: say(sys.stdout, f"{about}{several.table()}\n"),
        )
        return 0
    found = read(arguments, arguments.prob, by=arguments.by)
    sample = found.pooled if isinstance(found, Segments) else found
    with collect_warnings() as notes:
        profile, values = (
            soft_binned_profile(sample, rounding=arguments.rounding),
            measure_all(sample),
        )
    parts = found if isinstance(found, Segments) else {}
    with collect_warnings():  # segments with few rows are marked
        profiles = {
            key: soft_binned_profile(part, rounding=arguments.rounding)
            for key, part in parts.items()
        }
    too_high = [
        one
        for one in profiles.values()
        if one.n >= FEW_ROWS and limit is not None and one.value > limit
    ]
    passed = limit is not None and (profile.value > limit or bool(too_high))

    def document() -> dict[str, Any]:
        made = {
            "rainproof": __version__,
            "file": arguments.shown[0] if len(arguments.shown) == 1 else arguments.shown,
            **{
                name: getattr(arguments, name)
                for name in ("prob", "outcome", "weight", "pos_label", "where", "drop_missing")
            },
            "event_rate": sample.event_rate,
            "effective_n": sample.effective_n,
            **profile.to_dict(),
            "measures": values.to_dict()["values"],
        }
        if limit is not None:
            made |= {"fail_above": limit, "above": passed}
        if arguments.by is not None:
            made |= {"by": arguments.by, "segments": []}
            for key, one in profiles.items():
                segment = dict(zip(arguments.by, map(json_key, _labels(key)), strict=True))
                about = {
                    "segment": segment,
                    "event_rate": parts[key].event_rate,
                    "small": one.n < FEW_ROWS,
                }
                made["segments"].append({**about, **one.to_dict()})
        return made

    def text() -> None:
        first = rows_read(files_read(arguments), sample, arguments.weight)
        say_paragraphs([first, *description(profile), *map(words.note, notes)])
        width = max(map(len, values))
        say(
            sys.stdout,
            "\n" + "".join(f"{name:<{width}}  {value:.4f}\n" for name, value in values.items()),
        )
        say(sys.stdout, segment_table(found, profiles) if isinstance(found, Segments) else "")
        where = ["all rows"] * (limit is not None and profile.value > limit)
        where += [f"{len(too_high):,} of {len(parts):,} segments"] if too_high else []
        if limit is not None:
            above = f"FAILED: SCDL is above {limit:g} for {' and '.join(where)}."
            say_paragraphs([above if passed else f"Passed: SCDL is not above {limit:g}."])

    finish(arguments, document, text)
    return ABOVE if passed else 0


def description(profile: SoftBinnedProfile) -> list[str]:
    """SCDL and what it says about these rows."""
    bound = "" if profile.resolved else "at most "
    worst = profile.worst_threshold if profile.resolved else None
    return [
        f"SCDL {bound}{profile.value:.3g}   (0 is perfect, 0.5 is the worst)",
        "",
        words.scdl(profile),
        *([] if worst is None else [words.scdl_threshold(profile, *worst)]),
        words.SCOPE,
    ]


def _labels(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _cell(value: Any) -> str:
    """A name, shortened so that the rest of its line can be seen."""
    return "(none)" if value is None else short(one_line(str(value)), _WIDEST)


def segment_table(found: Segments, profiles: Mapping[Any, SoftBinnedProfile]) -> str:
    """A line for each segment; small ones are shown, but not held against a limit."""
    head = (*map(_cell, found.by), "rows", "event rate", "SCDL", "grid", "loss at most", "")
    lines = [
        (
            *map(_cell, _labels(key)),
            f"{profile.n:,}",
            f"{100 * found[key].event_rate:.3g}%",
            f"{profile.value:.3g}",
            f"1/{profile.m_star}",
            at_most(min(1.0, profile.regret_bound)),
            "few rows" if profile.n < FEW_ROWS else "",
        )
        for key, profile in profiles.items()
    ]
    return "\n".join(["", *aligned([head, *lines], left=len(found.by)), "", ""])


def run_store(arguments: argparse.Namespace) -> int:
    """Read, compress, write."""
    sample = read(arguments, arguments.prob)
    files.make_folder(arguments.output.parent)
    sample.save(arguments.output, overwrite=arguments.force)
    if not arguments.quiet:
        size = f"compressed to {len(sample.y_prob):,}, written to {one_line(str(arguments.output))}"
        say(sys.stdout, f"{rows(sample.n)}, {size}\n")
    return 0


CHANGED = 1
_STATE = "monitor state"
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
            f"{first} is not a folder of stored samples: for files of rows name the column of periods, such as "
            f"'rainproof monitor {named} --by day'"
        )
    for name in (*OF_ROWS, "--segments"):
        if getattr(arguments, dest(name)) not in (None, False):
            raise InputError(f"{name} is for files of rows, with --by; {first} is a folder")


def _monitor(arguments: argparse.Namespace) -> int:
    """Read the samples, monitor them, and print the timeline."""
    refuse_cost_columns(arguments, "periods are compressed, and keep no costs of single cases")
    told = None if arguments.state is None else _told(arguments.state)
    by = [arguments.by, *(arguments.segments or ())]
    samples = (
        files.load(arguments.source[0])
        if arguments.by is None
        else read(arguments, arguments.prob, by=by)
    )
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

    def text() -> None:
        say(sys.stdout, "".join(f"{one_line(line)}\n" for line in timeline.table().splitlines()))
        commands = (
            _recalibrate_since(arguments, timeline.since) if timeline.since is not None else []
        )
        for line in ["", *timeline.sentences(dependent="--dependent-rows", commands=commands)]:
            if line.startswith(" "):
                say(sys.stdout, f"{one_line(line)}\n")  # a command, to be copied
            else:
                say_paragraphs([one_line(line)])

    finish(arguments, lambda: {"rainproof": __version__, **timeline.to_dict()}, text, timeline)
    alarms = _alarms(timeline)
    labels = [window.label for window in timeline.windows]
    failed = bool(alarms)
    if arguments.fail_on == "new" and told is None:
        failed = timeline.newest_judged in alarms.values()
    elif arguments.fail_on == "new" and told is not None:
        known = labels.index(told["newest"]) if told["newest"] in labels else -1
        failed = any(name not in told["alarms"] or at > known for name, at in alarms.items())
    if arguments.state is not None:
        state = files.document(
            _STATE, 1, {"newest": labels[timeline.newest_judged], "alarms": list(alarms)}
        )
        files.write_atomic(arguments.state, files.as_text(state))
    return CHANGED if failed and arguments.fail_on is not None else 0


def _told(path: Path) -> dict[str, Any]:
    """What the last run said: its newest period, and the alarms at that time. Refuse a file that is
    anything else.
    """
    files.check_output(path)
    files.check_replaced(path, _STATE, overwrite=False, how="no option")
    if not path.exists() or not path.stat().st_size:
        return {"newest": None, "alarms": []}
    return files.read_json(
        path,
        _STATE,
        lambda data: files.check_document(data, _STATE, version=1, keys=("newest", "alarms")),
    )


def _alarms(timeline: MonitoringResult) -> dict[str, int]:
    """The position of the period that raised each alarm that lasts; the name of that of all rows is
    empty.
    """
    whole = {"": timeline.changes[-1].alarm_index} if timeline.in_alarm else {}
    return whole | {name: change.alarm_index for name, change in timeline.segments_in_alarm.items()}


def _recalibrate_since(arguments: argparse.Namespace, since: str) -> Sequence[str]:
    """The command lines that recalibrate on the rows since a period."""
    if arguments.by is None:
        chosen = f"sum(s for day, s in rainproof.load({arguments.source[0]!r}).items() if day >= {since!r})"
        return [
            shell_line(
                [
                    "python",
                    "-c",
                    f"import rainproof; rainproof.Recalibrator().fit({chosen}).save('map.json')",
                ]
            )
        ]
    label = since if _NUMBER.fullmatch(since) else "'{}'".format(since.replace("'", "''"))
    return Screen.of(arguments).where(f"{quoted_column(arguments.by)} >= {label}").recalibrate()
