"""What a recalibrator says of itself: the choice of its map, its methods, proofs and segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rainproof.core.text import aligned, at_least, at_most, short, wrapped
from rainproof.core.text import rows as rows_text
from rainproof.core.validation import ThresholdRange
from rainproof.recalibration.certificate import Certificate, ClassCertificate
from rainproof.recalibration.division import CERTIFIED_DRAWS
from rainproof.recalibration.fitting import MEAN
from rainproof.recalibration.segment_maps import SegmentMap
from rainproof.recalibration.selection import Candidate

_SHOWN_SEGMENTS = 12
_NAME_WIDTH = 40  # characters of a segment's name
_NAMED_SEGMENTS = 3  # in a message


def choice_text(method: str, candidates: Sequence[Candidate]) -> str:
    """Say what the map is, and why."""
    if not candidates:
        return (
            "Method 'none': nothing could be fitted to these rows, so the probabilities stay as "
            "they are."
        )
    if method != MEAN:
        return f"Method {method!r}, the only one that was tried."
    return (
        f"The map is the weighted mean of the maps of {len(candidates)} methods. The better a "
        "method predicts rows that it was not fitted to, by its log loss in cross-validation, the "
        "larger is its weight; one below 1% is 0."
    )


def candidate_table(candidates: Sequence[Candidate]) -> str:
    """Return a line for each method, those of the largest weight first."""
    if not candidates:
        return ""
    head = ("method", "weight", "log loss", "Brier score")
    lines = []
    for candidate in sorted(candidates, key=lambda candidate: -candidate.weight):
        weight = f"{100 * candidate.weight:.0f}%"
        losses = (f"{candidate.log_loss:.4f}", f"{candidate.brier_score:.4f}")
        lines.append((candidate.method, weight, *losses))
    return _table(head, lines)


def certificate_text(
    certificate: Certificate | ClassCertificate | None, n: int, groups: int | None
) -> str:
    """Return the certificate, or say why there is none, given what the map was fitted to."""
    if certificate is not None:
        return str(certificate)
    fitted = rows_text(n) if groups is None else f"{groups:,} groups of rows"
    draws = "rows" if groups is None else "groups"
    return (
        f"No certificate: the map is fitted to all {fitted}. With fewer than {CERTIFIED_DRAWS:,} "
        f"{draws} a certificate would say next to nothing, and cost a quarter of them."
    )


def segment_table(
    by: Sequence[str], segments: Sequence[SegmentMap], within: ThresholdRange | None = None
) -> str:
    """Return a line for each segment, those that gain most first.

    It has what the segment uses, the gain by its own map, and the loss by it beside no
    recalibration.
    """
    if not segments:
        return ""
    if not any(segment.n for segment in segments):
        words = (
            "Every segment uses the map of all rows: they are too few to prove that one gains by "
            "a map of its own."
        )
        return f"{wrapped(words)}\n"
    ordered = sorted(segments, key=lambda segment: -segment.gain_at_least)
    lines = [_segment_line(segment) for segment in ordered[:_SHOWN_SEGMENTS]]
    head = (_name(tuple(by)), "uses", "gain at least", "loss at most", "rows held out")
    more = len(segments) - len(lines)
    rest = f"and {more:,} more segments\n" if more else ""
    which = "" if within is None else f" in decisions {within}"
    words = (
        "Gain: by the segment's own map beside the map of all rows. Loss: by the map that is used "
        f"beside the original probabilities. Both are shares of what is at stake{which}. Each "
        "column holds for all segments at once."
    )
    return f"{_table(head, lines)}{rest}{wrapped(words)}\n"


def _segment_line(segment: SegmentMap) -> tuple[str, ...]:
    uses = "map of all rows"
    gain = ""
    if segment.corrected:
        uses = "own map"
        gain = at_least(segment.gain_at_least)
    return _name(segment.segment), uses, gain, at_most(segment.harm_bound), f"{segment.n:,}"


def unseen_text(new: Mapping[Any, int]) -> str:
    """Say which segments are new, given the number of rows of each."""
    names = [_name(key) for key in list(new)[:_NAMED_SEGMENTS]]
    if len(new) > _NAMED_SEGMENTS:
        names.append("...")
    count = rows_text(sum(new.values()))
    return f"by has {count} of segments that the map has not seen ({', '.join(names)})"


def _name(key: Any) -> str:
    labels = key if isinstance(key, tuple) else (key,)
    names = ["(none)" if label is None else str(label) for label in labels]
    return short(", ".join(names), _NAME_WIDTH)


def _table(head: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> str:
    return "".join(f"{line}\n" for line in aligned([head, *lines], left=1))
