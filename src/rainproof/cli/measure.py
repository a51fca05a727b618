"""``rainproof measure``: SCDL and all other measures on the rows of files, without resampling."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rainproof import __version__
from rainproof.assessment import words
from rainproof.assessment.assessing import collect_warnings
from rainproof.cli.options import add_by, add_columns, add_json, add_quiet, check_result, files_read, new_command, read
from rainproof.cli.output import one_line, say
from rainproof.cli.results import rows_read, say_paragraphs, write_json, written
from rainproof.core.cells import Rounding
from rainproof.core.result import at_most, json_key, short
from rainproof.core.sample import Sample
from rainproof.core.segments import FEW_ROWS, Segments
from rainproof.errors import InputError
from rainproof.measures.catalogue import Measurements, measure_all
from rainproof.measures.scdl import SoftBinnedProfile, soft_binned_profile

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Measure the calibration of the predicted probabilities in files: a quick look,
without resampling, at these rows only.

Prints the Soft-Binned Calibration Decision Loss (SCDL; 0 is perfect, 0.5 is the
worst), what it bounds, and all other measures. 'rainproof assess' tests and bounds
what is true beyond these rows.
"""
_EPILOG = """\
examples:
  rainproof measure rain.csv --prob probability --outcome rained
  rainproof measure 'data/*.parquet' --prob p --outcome y --by region \\
      --fail-above 0.03

Files are read in pieces: they may be larger than memory.
Exit code: 0, or 1 if SCDL is above what --fail-above allows, or 2 if there is an
error (one line on stderr).
"""
ABOVE = 1
_WIDEST = 40  # characters of a segment's name in the table


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "measure calibration on the rows of files, without resampling"
    parser = new_command(commands, run, "measure", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser, guess=True)
    add_by(parser)
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
        help=f"exit with code 1 if SCDL is above this, for all rows or for a segment of {FEW_ROWS} rows or more",
    )
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the files, measure, and print the values."""
    if arguments.fail_above is not None and not arguments.fail_above >= 0:
        raise InputError(f"--fail-above must be a number that is not negative; it is {arguments.fail_above}")
    check_result(arguments)
    found = read(arguments, by=arguments.by)
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
        "where": arguments.where,
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
