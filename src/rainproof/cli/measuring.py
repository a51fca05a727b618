"""Commands that measure: ``rainproof measure``, and over time ``rainproof store`` and ``rainproof monitor``."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rainproof import __version__
from rainproof.cli.options import (
    RESULT,
    ROWS,
    add_output,
    add_shared,
    check_outputs,
    dest,
    files_read,
    new_command,
    probability,
)
from rainproof.cli.output import Progress, draw, one_line, rows_read, say, say_paragraphs, write_json, written
from rainproof.cli.reading import prepared, read
from rainproof.core.files import check_replaced, load, write_errors
from rainproof.core.text import at_most, json_key, percent, rows, short
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.cli.options import Commands
    from rainproof.core.cells import Rounding
    from rainproof.core.sample import Sample
    from rainproof.core.segments import Segments
    from rainproof.inference.monitoring import DetectedChange, MonitoringResult
    from rainproof.measures.catalogue import Measurements
    from rainproof.measures.scdl import SoftBinnedProfile

_MEASURE = """\
Measure the calibration of the predicted probabilities in files: a quick look,
without resampling, at these rows only.

Prints the Soft-Binned Calibration Decision Loss (SCDL; 0 is perfect, 0.5 is the
worst), what it bounds, and all other measures. 'rainproof assess' tests and
bounds what is true beyond these rows.
"""
_MEASURE_MORE = """\
examples:
  rainproof measure rain.csv --prob probability --outcome rained
  rainproof measure 'data/*.parquet' --prob p --outcome y --by region \\
      --fail-above 0.03

Files are read in pieces: they may be larger than memory.
Exit code: 0, or 1 if SCDL is above what --fail-above allows, or 2 if there is an
error (one line on stderr).
"""
ABOVE = 1
_FEW_ROWS = 100  # as rainproof.core.segments has it, which imports NumPy
_WIDEST = 40  # characters of a segment's name in the table


def add_measure(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "measure calibration on the rows of files, without resampling"
    parser = new_command(commands, run_measure, "measure", summary, _MEASURE, _MEASURE_MORE)
    add_shared(parser, "file", "--prob", *ROWS, "--by", guess=True)
    parser.add_argument(
        "--rounding",
        choices=["soft", "hard"],
        default="soft",
        help="how SCDL rounds probabilities: at random without bias (soft, the default) or down (hard)",
    )
    parser.add_argument(
        "--fail-above",
        metavar="SCDL",
        type=float,
        help=f"exit with code 1 if SCDL is above this, for all rows or for a segment of {_FEW_ROWS} rows or more",
    )
    add_shared(parser, *RESULT)


def run_measure(arguments: argparse.Namespace) -> int:
    """Read the files, measure, and print the values."""
    from rainproof.assessment import words
    from rainproof.assessment.assessing import collect_warnings
    from rainproof.core.segments import Segments
    from rainproof.measures.catalogue import measure_all
    from rainproof.measures.scdl import soft_binned_profile

    if arguments.fail_above is not None and not arguments.fail_above >= 0:
        raise InputError(f"--fail-above must be a number that is not negative; it is {arguments.fail_above}")
    check_outputs(arguments)
    found = read(arguments, arguments.prob, by=arguments.by)
    sample = found.pooled if isinstance(found, Segments) else found
    with collect_warnings() as notes:
        profile, values = soft_binned_profile(sample, rounding=arguments.rounding), measure_all(sample)
    with collect_warnings():  # segments with few rows are marked
        parts = _parts(found, arguments.rounding)
    limit = None if arguments.fail_above is None else Limit(arguments.fail_above, profile, parts)
    document = write_json(_document(arguments, sample, profile, values, parts, limit), arguments.output)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        say_paragraphs(
            [
                rows_read(files_read(arguments), sample, arguments.weight),
                *description(profile),
                *map(words.note, notes),
            ]
        )
        say(sys.stdout, measure_table(values) + (segment_table(found.by, parts) if isinstance(found, Segments) else ""))
        last = [] if limit is None else [str(limit)]
        say_paragraphs(last if arguments.output is None else [*last, written("Result", arguments.output)])
    return ABOVE if limit is not None and limit.is_passed else 0


def description(profile: SoftBinnedProfile) -> list[str]:
    """SCDL and what it says about these rows."""
    from rainproof.assessment import words

    bound = "" if profile.resolved else "at most "
    worst = profile.worst_threshold if profile.resolved else None
    return [
        f"SCDL {bound}{profile.value:.3g}   (0 is perfect, 0.5 is the worst)",
        "",
        words.scdl(profile),
        *([] if worst is None else [words.scdl_threshold(profile, *worst)]),
        words.SCOPE,
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One segment and its profile; small ones are shown, but not held against a limit."""

    key: tuple[Any, ...]
    event_rate: float
    profile: SoftBinnedProfile
    small: bool

    def to_dict(self, by: list[str]) -> dict[str, Any]:
        """Return the segment in built-in types, ready for JSON; dates and the like as text."""
        segment = dict(zip(by, map(json_key, self.key), strict=True))
        return {"segment": segment, "event_rate": self.event_rate, "small": self.small, **self.profile.to_dict()}


@dataclass(frozen=True, slots=True)
class Limit:
    """What `--fail-above` allows, and what was measured."""

    value: float
    pooled: SoftBinnedProfile
    parts: list[Part]

    @property
    def is_passed(self) -> bool:
        return self.pooled.value > self.value or bool(self._above())

    def _above(self) -> list[Part]:
        return [part for part in self.parts if not part.small and part.profile.value > self.value]

    def __str__(self) -> str:
        if not self.is_passed:
            return f"Passed: SCDL is not above {self.value:g}."
        where = ["all rows"] if self.pooled.value > self.value else []
        above = len(self._above())
        where += [f"{above:,} of {len(self.parts):,} segments"] if above else []
        return f"FAILED: SCDL is above {self.value:g} for {' and '.join(where)}."


def _parts(found: Sample | Segments, rounding: Rounding) -> list[Part]:
    """The profile of each segment, if there are any."""
    from rainproof.core.segments import FEW_ROWS, Segments
    from rainproof.measures.scdl import soft_binned_profile

    if not isinstance(found, Segments):
        return []
    return [
        Part(
            key=key if isinstance(key, tuple) else (key,),
            event_rate=sample.event_rate,
            profile=soft_binned_profile(sample, rounding=rounding),
            small=sample.n < FEW_ROWS,
        )
        for key, sample in found.items()
    ]


def _document(
    arguments: argparse.Namespace,
    sample: Sample,
    profile: SoftBinnedProfile,
    values: Measurements,
    parts: list[Part],
    limit: Limit | None,
) -> dict[str, Any]:
    """The result for JSON: what was read, and what was measured."""
    document = {
        "rainproof": __version__,
        "file": arguments.shown[0] if len(arguments.shown) == 1 else arguments.shown,
        "prob": arguments.prob,
        "outcome": arguments.outcome,
        "weight": arguments.weight,
        "pos_label": arguments.pos_label,
        "where": None if arguments.where is None else str(arguments.where),
        "event_rate": sample.event_rate,
        "effective_n": sample.effective_n,
        **profile.to_dict(),
        "measures": values.to_dict()["values"],
    }
    if limit is not None:
        document |= {"fail_above": limit.value, "above": limit.is_passed}
    if arguments.by is not None:
        document |= {"by": arguments.by, "segments": [part.to_dict(arguments.by) for part in parts]}
    return document


def measure_table(values: Measurements) -> str:
    """A line for each measure."""
    width = max(map(len, values))
    return "\n" + "".join(f"{name:<{width}}  {value:.4f}\n" for name, value in values.items())


def _cell(value: Any) -> str:
    """A name, shortened so that the rest of its line can be seen."""
    return "(none)" if value is None else short(one_line(str(value)), _WIDEST)


def segment_table(by: tuple[str, ...], parts: list[Part]) -> str:
    """A line for each segment."""
    head = (*map(_cell, by), "rows", "event rate", "SCDL", "grid", "loss at most", "")
    lines = [
        (
            *map(_cell, part.key),
            f"{part.profile.n:,}",
            f"{100 * part.event_rate:.3g}%",
            f"{part.profile.value:.3g}",
            f"1/{part.profile.m_star}",
            at_most(min(1.0, part.profile.regret_bound)),
            "few rows" if part.small else "",
        )
        for part in parts
    ]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    shown = []
    for line in (head, *lines):
        cells = [f"{v:<{w}}" if i < len(by) else f"{v:>{w}}" for i, (v, w) in enumerate(zip(line, widths, strict=True))]
        shown.append("  ".join([*cells[:-1], line[-1]]).rstrip())
    return "\n" + "\n".join(shown) + "\n\n"


_STORE = """\
Compress the predictions and outcomes in files to one small Parquet file.

Its size does not depend on the number of rows, and SCDL, the regret curve and
the guarantee are kept. Stored samples can be merged: store one a day, and
monitor them.
"""
_STORE_MORE = """\
examples:
  rainproof store today.parquet --prob p --outcome y -o days/2026-03-02.parquet
  rainproof monitor days --window 7
"""


def add_store(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "compress files to one small file that can be merged and monitored"
    parser = new_command(commands, run_store, "store", summary, _STORE, _STORE_MORE)
    add_shared(parser, "file", "--prob", *ROWS)
    add_output(parser, "the .parquet file to write; a missing folder is made")
    add_shared(parser, "--quiet")


def run_store(arguments: argparse.Namespace) -> int:
    """Read, compress, write."""
    folder = arguments.output.parent
    if folder.exists():
        check_outputs(arguments)
        check_replaced(arguments.output, "sample")
    sample = read(arguments, arguments.prob)
    with write_errors(arguments.output):
        folder.mkdir(parents=True, exist_ok=True)
    sample.save(arguments.output)
    if not arguments.quiet:
        size = f"compressed to {len(sample.y_prob):,}, written to {one_line(str(arguments.output))}"
        say(sys.stdout, f"{rows(sample.n)}, {size}\n")
    return 0


_MONITOR = """\
Print SCDL and the guaranteed expected loss period by period, and when the
forecast stopped being calibrated.

A folder holds one stored sample for each period (see 'rainproof store'), ordered
by name: 2026-03-02.parquet. Of files of rows, --by names the column of periods;
they are ordered as numbers, or else as text: 2026-03-02. Alarms are raised by a
sequential test, not by a limit on SCDL: it may run every night. By default the
rows of a period may all depend on each other.
"""
_MONITOR_MORE = """\
examples:
  rainproof monitor days
  rainproof monitor days --window 28 --plot timeline.png
  rainproof monitor flights.csv --by day --prob p --outcome late

Exit code: 0, or 1 with --fail-on-change if a change was found, or 2 if there is
an error (one line on stderr).
"""
CHANGED = 1
_OF_ROWS = ("--prob", *ROWS)
_UNORDERED = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}.*", re.DOTALL)  # 3/2/2026


def add_monitor(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "print SCDL and its guarantee over time, and when the forecast changed"
    parser = new_command(commands, run_monitor, "monitor", summary, _MONITOR, _MONITOR_MORE)
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="+",
        help="a folder of stored samples, one .parquet file a period; or with --by files, as for 'rainproof store'",
    )
    parser.add_argument("--by", metavar="COL", help="column of periods, if files of rows are given")
    add_shared(parser, *_OF_ROWS, guess=True)
    parser.add_argument("--window", metavar="N", type=int, default=1, help="merge the last N periods (default: 1)")
    add_shared(parser, "--confidence-level", confidence_level="confidence level of each guarantee (default: 0.95)")
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
    add_shared(parser, "--plot", plot="also draw the timeline: .png, .svg or .pdf")
    parser.add_argument("--fail-on-change", action="store_true", help="exit with code 1 if a change was found")
    add_shared(parser, *RESULT)


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
        files = one_line(shlex.join(arguments.source))
        raise InputError(
            f"{first} is not a folder of stored samples: for files of rows name the column of periods, such as "
            f"'rainproof monitor {files} --by day'"
        )
    for name in _OF_ROWS:
        if getattr(arguments, dest(name)) not in (None, False):
            raise InputError(f"{name} is for files of rows, with --by; {first} is a folder")


def _monitor(arguments: argparse.Namespace) -> int:
    """Read the samples, monitor them, and print the timeline."""
    from rainproof.inference.monitoring import monitor

    check_outputs(arguments)
    samples = load(arguments.source[0]) if arguments.by is None else _periods(arguments)
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
    from rainproof.core.segments import Segments

    found = read(arguments, arguments.prob, by=[arguments.by])
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


def _summary(timeline: MonitoringResult) -> list[str]:
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
