"""Periods of time: the rows that a caller hands over, as one compressed sample for each period.

Which labels are in order of time is decided in `rainproof.inference.period_labels`; what the
samples show is for `rainproof.inference.monitoring`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import reduce
from operator import add
from typing import Any, Literal, NamedTuple

from rainproof.core.arguments import REFUSED, with_rate
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import rows
from rainproof.errors import InputError
from rainproof.inference.period_labels import are_numbers, check_text_order

Every = Literal["hour", "day", "week", "month"]
"""The length of a period into which times are merged."""

SampleOrSegments = Sample | Segments
Periods = SampleOrSegments | Mapping[str, SampleOrSegments] | Sequence[tuple[str, SampleOrSegments]]

_LABEL_LENGTH = {"hour": 13, "day": 10, "week": 10, "month": 7}  # characters of 2026-03-02 14:05
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d.*)?", re.DOTALL)
_FINEST_GRID = 1 << 16  # of the cells that rows are compressed to


class PeriodSamples(NamedTuple):
    """The compressed samples of all periods, in order of time.

    Attributes
    ----------
    whole : dict of str to Sample
        All rows of each period.
    by_segment : dict of str to dict
        The rows of each period in each segment; empty without segments.
    missing_outcomes : dict of str to int
        How many rows of a period were left out as they have no outcome, where any were.
    """

    whole: dict[str, Sample]
    by_segment: dict[str, dict[str, Sample]]
    missing_outcomes: dict[str, int]


class _Part(NamedTuple):
    """Rows of one period, and of one segment if there are segments."""

    label: Any
    segment: str | None
    sample: Sample


def read_periods(samples: Periods, every: Every | None, *, dependent: bool) -> PeriodSamples:
    """Return a compressed sample for each period, in order of time, and for each segment.

    Parameters
    ----------
    samples : Segments, Sample with `by`, mapping or sequence
        As for `monitor`.
    every : {"hour", "day", "week", "month"}, optional
        The length of the periods into which times are merged.
    dependent : bool
        Whether a period is one observation; unequal weights need that.
    """
    if every not in (None, *_LABEL_LENGTH):
        raise InputError(f"every must be 'hour', 'day', 'week', 'month' or None; it is {every!r}")
    parts = list(_parts(samples.by_segment() if isinstance(samples, Sample) else samples))
    if not parts:
        raise InputError("samples must not be empty")
    grids = [part.sample.grid for part in parts if part.sample.grid is not None]
    grid = min(grids, default=_FINEST_GRID)

    whole: dict[str, list[Sample]] = {}
    by_segment: dict[str, dict[str, list[Sample]]] = {}
    for part in parts:
        with_rate(part.sample, REFUSED)
        period = _period_of(part.label, every)
        rows_of_part = part.sample.ungrouped() if dependent else part.sample
        compressed = rows_of_part.compress(grid)
        if not dependent and not compressed.cells.has_equal_weights:
            raise InputError(f"rows of unequal weights, as in {period}, need dependent=True")
        whole.setdefault(period, []).append(compressed)
        if part.segment is not None:
            of_segment = by_segment.setdefault(part.segment, {})
            of_segment.setdefault(period, []).append(compressed)

    def merged(of_periods: Mapping[str, list[Sample]]) -> dict[str, Sample]:
        return {period: reduce(add, of_periods[period]) for period in whole if period in of_periods}

    return PeriodSamples(
        merged(whole),
        {segment: merged(of_periods) for segment, of_periods in by_segment.items()},
        _missing_outcomes(samples, every),
    )


def _missing_outcomes(samples: Periods, every: Every | None) -> dict[str, int]:
    """How many rows of each period were left out as they have no outcome."""
    if not isinstance(samples, Segments):
        return {}
    missing: dict[str, int] = {}
    for key, count in samples.missing_outcomes.items():
        label = key[0] if len(samples.by) > 1 else key
        period = _period_of(label, every)
        missing[period] = missing.get(period, 0) + count
    return missing


def _parts(samples: Any) -> Iterator[_Part]:
    """The parts of the rows, in order of time."""
    if isinstance(samples, Segments):
        yield from _parts_of_segments(samples)
        return
    if not isinstance(samples, Mapping | Sequence) or isinstance(samples, str):
        raise InputError(
            "samples must be segments, or have a label and a Sample for each period; it is "
            f"{samples!r}"
        )
    if isinstance(samples, Mapping):
        labels = [str(label) for label in samples]
        if labels == sorted(labels):  # as `load` puts the files of a folder
            check_text_order("samples", labels)
    pairs = samples.items() if isinstance(samples, Mapping) else samples
    for number, pair in enumerate(pairs):
        is_pair = isinstance(pair, tuple) and len(pair) == 2
        if not is_pair or not isinstance(pair[1], Sample | Segments):
            raise InputError(
                f"samples must have a label and a Sample for each period; period {number} is "
                f"{pair!r}"
            )
        label, rows_of_period = pair
        if isinstance(rows_of_period, Sample):
            yield _Part(label, None, rows_of_period)
            continue
        for key, sample in rows_of_period.items():
            names = key if isinstance(key, tuple) else (key,)
            yield _Part(label, ", ".join(map(str, names)), sample)


def _parts_of_segments(segments: Segments) -> Iterator[_Part]:
    """The parts of segments whose first name is the period, in order of time."""
    name, *further_names = segments.by
    label_of = {key: key[0] if further_names else key for key in segments}
    n_without_label = sum(segments.counts[key] for key in segments if label_of[key] is None)
    if n_without_label:
        raise InputError(
            f"{name} must not be missing; it is in {rows(n_without_label)}", missing=True
        )
    keys = list(segments)
    labels = list(dict.fromkeys(label_of.values()))
    if all(isinstance(label, str) for label in labels):
        if are_numbers(labels):  # numbers in text files are text
            keys.sort(key=lambda key: float(label_of[key]))
        else:
            check_text_order(name, labels)
    for key in keys:
        segment = ", ".join(map(str, key[1:])) if further_names else None
        yield _Part(label_of[key], segment, segments[key])


def _period_of(label: Any, every: Every | None) -> str:
    """The period that a label, or a time if times are merged, belongs to."""
    time = str(label)
    if every is None:
        return time
    if not _TIME.fullmatch(time):
        raise InputError(f"every={every!r} needs times such as 2026-03-02 14:05; {time!r} is none")
    if every == "week":
        day = date.fromisoformat(time[:10])
        monday = day - timedelta(day.weekday())
        return str(monday)
    return time[: _LABEL_LENGTH[every]].replace("T", " ")
