"""What is stated of segments: how many are off, which most, before and after recalibration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rainproof.core.text import one_line, p_cell, short
from rainproof.verdict.statements import Statement, say
from rainproof.verdict.values import Count, Level, Listing, Name, Number, Option, shares_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rainproof.verdict.segments import Segment, SegmentTable

_ABOUT = "segments"
_NAMED = 3  # segments that a sentence names


def segment_statements(found: SegmentTable, *, advised: bool = True) -> list[Statement]:
    """How many segments are off beyond chance, allowing for how many were tested; and which most,
    before and after.

    Where recalibration is not `advised`, what it would leave is said to be so.
    """
    tested = len(found.rows) - found.small
    few = []
    if found.small:
        few.append(say("segments_small", _ABOUT, count=Count(found.small)))
    if not tested:
        return few + _all_on_one_side(found)
    sparse = [segment for segment in found.rows if segment.by_bets and not segment.small]
    if sparse:
        fewest = min(sparse, key=_effective_clusters)
        values = {"fewest": label(fewest), "few_clusters": few_clusters(fewest)}
        few.append(say("segments_few_clusters", _ABOUT, count=Count(len(sparse)), **values))
    by = Name(one_line(", ".join(found.by)))
    segments = say("of_segments", segments=say("segments", count=Count(tested)), by=by)
    after = _after_recalibration(found, segments, tested, advised=advised)
    # Nothing can be fitted to one outcome, and nothing is left that one map for all corrects.
    one_outcome = {segment.event_rate for segment in found.rows} in ({0.0}, {1.0})
    mended = found.recalibrated and not found.flagged_recalibrated
    own = []
    if not one_outcome and not mended:
        own.append(say("own_maps", _ABOUT, own_maps=Option("own_maps")))
    if not found.flagged:
        none = say("no_segment_off", _ABOUT, segments=segments)
        return [none, *after, *few, *own] if found.flagged_recalibrated else [none, *few]
    worst = found.flagged[0]
    predicted, observed = shares_apart(worst.mean_prediction, worst.event_rate)
    off = say(
        "all_segments_off" if len(found.flagged) == tested else "segments_off",
        _ABOUT,
        count=Count(len(found.flagged)),
        segments=segments,
        fdr=Level(found.fdr),
        worst=label(worst),
        predicted=predicted,
        observed=observed,
    )
    return [off, *after, *few, *own]


def _all_on_one_side(found: SegmentTable) -> list[Statement]:
    """Whether all segments, too small to be tested, are off to the same side."""
    off = [segment.mean_prediction - segment.event_rate for segment in found.rows]
    if len(off) < 2 or min(off) <= 0 <= max(off):
        return []
    return [say("all_say_more" if off[0] > 0 else "all_say_less", _ABOUT, count=Count(len(off)))]


def _after_recalibration(
    found: SegmentTable, segments: Statement, tested: int, *, advised: bool
) -> list[Statement]:
    """How many segments are off after recalibration, and which most."""
    if not found.recalibrated:
        return []
    left = found.flagged_recalibrated
    when = "after" if advised else "if"
    if not left:
        return [say(f"{when} none", _ABOUT)]
    worst = left[0]
    assert worst.mean_recalibrated is not None
    predicted, observed = shares_apart(worst.mean_recalibrated, worst.event_rate)
    first = say("worst_after", name=label(worst), predicted=predicted, observed=observed)
    names: Any = Listing([first, *map(label, left[1:_NAMED])])
    which = say("so_many", count=Name(f"{len(left):,}"), segments=segments)
    if 1 < len(left) == tested:
        which = say("all_of", segments=segments)
    still = all(segment.flagged for segment in left)
    values = {"count": Count(len(left)), "which": which, "names": and_more(names, len(left))}
    return [say(f"{when} still" if still else f"{when} some", _ABOUT, **values)]


def and_more(names: Listing, count: int) -> Listing | Statement:
    """Names, and how many more there are."""
    if count <= len(names.items):
        return names
    return say("names_and_more", names=names, more=Name(f"{count - len(names.items):,}"))


def label(segment: Segment) -> Name:
    """The name of a segment in a sentence."""
    return Name(one_line(short(segment.label)))


def _effective_clusters(segment: Segment) -> float:
    """How many clusters of equal weight have the rarer outcome; infinitely many where there are
    none.
    """
    return math.inf if segment.effective_clusters is None else segment.effective_clusters


def few_clusters(segment: Segment) -> Statement:
    """In how few clusters the rarer outcome is."""
    key = "few_events" if segment.event_rate <= 1 / 2 else "few_others"
    return say(key, clusters=Number(_effective_clusters(segment), ".0f"))


def segment_status(segment: Segment) -> Statement:
    """The result of the test of one segment."""
    if segment.small:
        return say("status small")
    if segment.by_bets and not segment.flagged:
        return say("status few clusters", few_clusters=few_clusters(segment))
    before = "off" if segment.flagged else "calm"
    after = segment.flagged_recalibrated
    if after is None or not (after or segment.flagged):
        return say(f"status {before}")
    return say(f"status {before}, after {'off' if after else 'calm'}")


def segment_lines(found: SegmentTable, most: int = 20) -> list[list[str]]:
    """The segments as lines of a table with its head, those most off first."""
    costs = any(segment.cost is not None for segment in found.rows)
    heads = {}
    if found.small < len(found.rows):
        heads = {"p_value": "p", "q_value": "q"}
    if found.recalibrated:
        heads["q_value_recalibrated"] = "q after"
    lines = [[", ".join(found.by), "rows", "says", "happens", *heads.values()]]
    if costs:
        lines[0].append("cost")
    for segment in found.first(most):
        said = map(str, shares_apart(segment.mean_prediction, segment.event_rate))
        line = [short(segment.label, 40), f"{segment.n:,}", *said]
        for name in heads:
            number = getattr(segment, name)
            line.append("" if number is None else p_cell(number))
        if costs:
            line.append("" if segment.cost is None else f"{segment.cost:.3g}")
        lines.append(line)
    return lines


def segment_order(found: SegmentTable) -> Sequence[Statement]:
    """Which segments come first, and how one can be off that happens as often as it says."""
    statements = [say("segment_order")]
    for segment in found.flagged:
        rate = segment.event_rate
        if (segment.mean_prediction - rate) ** 2 * segment.n < 4 * rate * (1 - rate):
            statements.append(say("segments_alike"))
            break
    if found.recalibrated:
        statements.append(say("segments_after"))
    return statements
