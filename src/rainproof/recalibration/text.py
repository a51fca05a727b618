"""A fitted recalibrator in words: the method and why, the candidates, the certificate, the segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rainproof.core.text import aligned, at_least, at_most, short, wrapped
from rainproof.recalibration.segments import SegmentMap
from rainproof.recalibration.selection import Candidate

_SHOWN = 12  # segments
_WIDEST = 40  # characters of a segment's name


def choice(method: str, candidates: Sequence[Candidate]) -> str:
    """The method, and why."""
    if not candidates:
        return "Method 'none': nothing could be fitted to these rows, so the probabilities stay as they are."
    if len(candidates) == 1:
        return f"Method {method!r}, the only one that was tried."
    return (
        f"Method {method!r}: the first whose shortfall is within one standard error of the smallest one. The "
        "shortfall is the most that any decision maker loses by a method's map in place of another's, as a share of "
        "what is at stake; an estimate by cross-validation."
    )


def candidate_table(method: str, candidates: Sequence[Candidate]) -> str:
    """A line for each method; the one chosen has a star."""
    rows = [
        (
            f"{'*' if c.method == method else ' '} {c.method}",
            f"{100 * c.shortfall:.3g}%",
            f"{100 * c.standard_error:.2g}%",
            f"{c.brier_score:.4f}",
        )
        for c in candidates
    ]
    return _table(("  method", "shortfall", "std. error", "Brier score"), rows) if rows else ""


def segment_table(by: Sequence[str], segments: Sequence[SegmentMap]) -> str:
    """A line for each segment: what it uses, the gain by its own map, and the loss by it beside no recalibration."""
    ordered = sorted(segments, key=lambda segment: -segment.gain_at_least)
    rows = [
        (
            _name(segment.segment),
            "own map" if segment.corrected else "map of all rows",
            at_least(segment.gain_at_least) if segment.corrected else "",
            at_most(segment.harm_bound),
            f"{segment.n:,}",
        )
        for segment in ordered[:_SHOWN]
    ]
    if not rows:
        return ""
    more = len(segments) - len(rows)
    head = (_name(tuple(by)), "uses", "gain at least", "loss at most", "rows held out")
    rest = f"and {more:,} more segments\n" if more else ""
    words = (
        "Gain: by the segment's own map beside the map of all rows. Loss: by the map that is used beside the original "
        "probabilities. Both are shares of what is at stake. Each column holds for all segments at once."
    )
    return f"{_table(head, rows)}{rest}{wrapped(words)}\n"


def _name(key: Any) -> str:
    labels = key if isinstance(key, tuple) else (key,)
    name = ", ".join("(none)" if label is None else str(label) for label in labels)
    name = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return short(name, _WIDEST)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "".join(f"{line}\n" for line in aligned([head, *rows], left=1))
