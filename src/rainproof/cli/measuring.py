"""Commands that measure and store: ``rainproof measure`` and ``store``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rainproof import __version__
from rainproof.cli.options import files_read
from rainproof.cli.output import finish, one_line, rows_read, say, say_paragraphs
from rainproof.cli.reading import pooled, read, read_classes
from rainproof.core.files import make_folder
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import aligned, at_most, json_key, short
from rainproof.core.text import rows as rows_text
from rainproof.errors import FEW_ROWS, InputError
from rainproof.measures.catalogue import Measurements, measure_all
from rainproof.measures.class_measures import measure_classes
from rainproof.measures.scdl import SoftBinnedProfile, soft_binned_profile
from rainproof.verdict.advice_statements import scdl, scdl_threshold
from rainproof.verdict.assessing import collect_warnings
from rainproof.verdict.details import notes as warnings_as_notes
from rainproof.verdict.renderer import PYTHON
from rainproof.verdict.statements import say as say_statement

ABOVE = 1  # exit code where SCDL passes --fail-above
_WIDEST = 40  # characters of a segment's name: the numbers beside it stay in sight


@dataclass(frozen=True)
class _Measured:
    """What was measured of all rows, and of each segment."""

    sample: Sample
    profile: SoftBinnedProfile
    values: Measurements
    segments: Segments | None
    profiles: Mapping[Any, SoftBinnedProfile]  # of segments
    limit: float | None  # that SCDL must not pass

    def passes_limit(self, profile: SoftBinnedProfile) -> bool:
        """Whether SCDL passes the limit, if there is one."""
        return self.limit is not None and profile.value > self.limit

    def segments_above(self) -> int:
        """Count the segments whose SCDL passes the limit; small ones are not held against it."""
        judged = [profile for profile in self.profiles.values() if profile.n >= FEW_ROWS]
        return sum(map(self.passes_limit, judged))


def run_measure(arguments: argparse.Namespace) -> int:
    """Read the files, measure, and print the values."""
    limit = arguments.fail_above
    if limit is not None and not limit >= 0:
        raise InputError(f"--fail-above must be a number that is not negative; it is {limit}")
    if arguments.classes:
        _measure_classes(arguments)
        return 0
    rows = read(arguments, arguments.prob, by=arguments.by)
    segments = rows if isinstance(rows, Segments) else None
    sample = pooled(rows)
    with collect_warnings() as notes:
        profile = soft_binned_profile(sample, rounding=arguments.rounding)
        values = measure_all(sample)
    profiles = {}
    with collect_warnings():  # segments with few rows are marked
        for key, part in (segments or {}).items():
            profiles[key] = soft_binned_profile(part, rounding=arguments.rounding)
    measured = _Measured(sample, profile, values, segments, profiles, limit)
    is_failed = measured.passes_limit(profile) or measured.segments_above() > 0

    def text() -> None:
        first = rows_read(files_read(arguments), sample, arguments.weight)
        say_paragraphs([first, *description(profile), *map(PYTHON.text, warnings_as_notes(notes))])
        width = max(map(len, values))
        lines = [f"{name:<{width}}  {value:.4f}\n" for name, value in values.items()]
        say(sys.stdout, "\n" + "".join(lines))
        if segments is not None:
            say(sys.stdout, segment_table(segments, profiles))
        if limit is not None:
            say_paragraphs([_outcome_of_limit(measured)])

    finish(arguments, partial(_document, arguments, measured, is_failed=is_failed), text)
    return ABOVE if is_failed else 0


def _measure_classes(arguments: argparse.Namespace) -> None:
    """Measure the forecasts of several classes, and print the values."""
    with collect_warnings():
        measured = measure_classes(read_classes(arguments))
    about = f"{rows_text(measured.n)}, {len(measured.classes)} classes"

    def document() -> dict[str, Any]:
        return {"rainproof": __version__, **measured.to_dict()}

    def text() -> None:
        file = one_line(files_read(arguments))
        say(sys.stdout, f"{file}: {about}\n\n{measured.table()}\n")

    finish(arguments, document, text)


def _document(
    arguments: argparse.Namespace, measured: _Measured, *, is_failed: bool
) -> dict[str, Any]:
    """Return what was measured, and of which rows, for JSON."""
    sample = measured.sample
    document: dict[str, Any] = {"rainproof": __version__, "file": arguments.shown}
    if len(arguments.shown) == 1:
        document["file"] = arguments.shown[0]
    for name in ("prob", "outcome", "weight", "pos_label", "where", "drop_missing"):
        document[name] = getattr(arguments, name)
    document["event_rate"] = sample.event_rate
    document["effective_n"] = sample.effective_n
    document |= measured.profile.to_dict()
    document["measures"] = measured.values.to_dict()["values"]
    if measured.limit is not None:
        document |= {"fail_above": measured.limit, "above": is_failed}
    if measured.segments is None:
        return document
    document["by"] = arguments.by
    document["segments"] = []
    for key, profile in measured.profiles.items():
        labels = map(json_key, _labels(key))
        about = {
            "segment": dict(zip(arguments.by, labels, strict=True)),
            "event_rate": measured.segments[key].event_rate,
            "small": profile.n < FEW_ROWS,
        }
        document["segments"].append({**about, **profile.to_dict()})
    return document


def _outcome_of_limit(measured: _Measured) -> str:
    """Say whether SCDL passes the limit, and where."""
    places = []
    if measured.passes_limit(measured.profile):
        places.append("all rows")
    above = measured.segments_above()
    if above:
        places.append(f"{above:,} of {len(measured.profiles):,} segments")
    if not places:
        return f"Passed: SCDL is not above {measured.limit:g}."
    return f"FAILED: SCDL is above {measured.limit:g} for {' and '.join(places)}."


def description(profile: SoftBinnedProfile) -> list[str]:
    """SCDL and what it says about these rows."""
    bound = "" if profile.resolved else "at most "
    worst = profile.worst_threshold if profile.resolved else None
    statements = [scdl(profile)]
    if worst is not None:
        statements.append(scdl_threshold(profile, *worst))
    statements.append(say_statement("these_rows_only"))
    return [
        f"SCDL {bound}{profile.value:.3g}   (0 is perfect, 0.5 is the worst)",
        "",
        *map(PYTHON.text, statements),
    ]


def _labels(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _cell(value: Any) -> str:
    """A name, shortened so that the rest of its line can be seen."""
    return "(none)" if value is None else short(one_line(str(value)), _WIDEST)


def segment_table(segments: Segments, profiles: Mapping[Any, SoftBinnedProfile]) -> str:
    """A line for each segment; small ones are shown, but not held against a limit."""
    head = ("rows", "event rate", "SCDL", "grid", "loss at most", "")
    lines = [(*map(_cell, segments.by), *head)]
    for key, profile in profiles.items():
        numbers = (
            f"{profile.n:,}",
            f"{100 * segments[key].event_rate:.3g}%",
            f"{profile.value:.3g}",
            f"1/{profile.m_star}",
            at_most(min(1.0, profile.regret_bound)),
            "few rows" if profile.n < FEW_ROWS else "",
        )
        lines.append((*map(_cell, _labels(key)), *numbers))
    return "\n".join(["", *aligned(lines, left=len(segments.by)), "", ""])


def run_store(arguments: argparse.Namespace) -> int:
    """Read, compress, write."""
    sample = read(arguments, arguments.prob)
    make_folder(arguments.output.parent)
    sample.save(arguments.output, overwrite=arguments.force)
    if not arguments.quiet:
        size = f"compressed to {len(sample.y_prob):,}, written to {one_line(str(arguments.output))}"
        say(sys.stdout, f"{rows_text(sample.n)}, {size}\n")
    return 0
