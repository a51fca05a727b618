"""Maps of segments: a segment gets one of its own only where rows held out prove that it gains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rainproof.core.labels import spelled_key
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.validation import ThresholdRange
from rainproof.errors import InputError
from rainproof.inference.switch_gains import gain_of_choice
from rainproof.inference.switches import harm_bound
from rainproof.recalibration.division import Division
from rainproof.recalibration.methods import IDENTITY, correction

SpelledKey = tuple[str | None, ...]
"""What the labels of a segment say, one for each column; see `spelled_key`."""

_MIN_ROWS = 50  # to fit a correction to


@result_class
class SegmentMap(Result):
    """What is used in one segment, and what is proven of it.

    Attributes
    ----------
    segment : label, or tuple of labels
        The segment.
    corrected : bool
        Whether it has a map of its own: rows held out proved that a decision gains by it, beside
        the map of all rows.
    gain_at_least : float
        In the population of the segment there is a decision that gains at least this by the
        correction; 0 if none is proven.
    harm_bound : float
        In the population of the segment no decision loses more than this by the map that is used,
        in place of the original probabilities. For all segments at once, with the confidence of the
        certificate.
    n : int
        The number of rows held out that `harm_bound` is from; with none, nothing is proven.
    """

    segment: Any
    corrected: bool
    gain_at_least: float
    harm_bound: float
    n: int

    @property
    def key(self) -> SpelledKey:
        """What its labels say; its map is found by it."""
        return spelled_key(self.segment)


def check_spelling(keys: Iterable[Any]) -> None:
    """Refuse labels that say the same, such as 1 and "1": no other program could tell their
    segments apart.
    """
    seen: dict[SpelledKey, Any] = {}
    for key in keys:
        other = seen.setdefault(spelled_key(key), key)
        if other is not key:
            raise InputError(
                f"by must spell each segment in one way; {other!r} and {key!r} mean the same"
            )


def correct_segments(
    whole: PiecewiseMap,
    segments: Mapping[Any, Division],
    confidence_level: float,
    within: ThresholdRange | None = None,
) -> tuple[dict[Any, PiecewiseMap], tuple[SegmentMap, ...]]:
    """Fit a correction for each segment; keep those whose gain is proven on the rows held out for
    that choice.
    """
    level = 1 - (1 - confidence_level) / max(len(segments), 1)  # all segments at once
    about = _About(1 - level, within)
    maps: dict[Any, PiecewiseMap] = {}
    judged = []
    for key, part in segments.items():
        own = None
        gain = 0.0
        certified = None
        if part.held_out:
            certified, deciding = part.held_out
            own, gain = _proven_correction(whole, part, deciding, about)
        if own is not None:
            maps[key] = own
        judged.append(
            SegmentMap(
                segment=key,
                corrected=own is not None,
                gain_at_least=gain,
                harm_bound=_harm_bound(certified, maps.get(key, whole), about),
                n=0 if certified is None else certified.n,
            )
        )
    return maps, tuple(judged)


class _About(NamedTuple):
    """What the proofs are about, and how sure they are."""

    delta: float  # the probability with which each may fail
    within: ThresholdRange | None  # of the thresholds of decisions


def _proven_correction(
    whole: PiecewiseMap, part: Division, deciding: Sample, about: _About
) -> tuple[PiecewiseMap | None, float]:
    """Return the map of a segment and the gain that is proven of it; None if none is."""
    negative, positive = part.weight.sum(axis=(0, 2))
    is_enough = negative + positive >= _MIN_ROWS and negative > 0 and positive > 0
    if not is_enough or not deciding.n:
        return None, 0.0
    own = correction(whole, part.table())
    _, gain = gain_of_choice(
        part.pairs(whole, own),
        deciding.with_forecasts(old=whole(deciding.prob), new=own(deciding.prob)),
        about.delta,
        within=about.within,
    )
    return (own, gain) if gain > 0 else (None, 0.0)


def _harm_bound(held: Sample | None, used: PiecewiseMap, about: _About) -> float:
    """Bound what a decision loses by the map that is used, from rows that no choice has seen."""
    if used is IDENTITY:
        return 0.0
    if held is None or not held.n:  # nothing is known: a decision may lose all that is at stake
        return 1.0
    pair = held.with_forecasts(old=held.prob, new=used(held.prob))
    curve = pair.curve("old", "new").restricted(about.within)
    return harm_bound(curve, pair, about.delta)
