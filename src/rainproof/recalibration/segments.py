"""Maps for segments: the map of all rows, corrected where rows of the segment prove a gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rainproof.core.piecewise import PiecewiseMap
from rainproof.inference.forecasts import Forecasts
from rainproof.inference.switch_gain import gain_of_choice
from rainproof.inference.switching import harm_bound
from rainproof.recalibration.methods import IDENTITY, correction
from rainproof.recalibration.training import Training

_FEWEST = 50  # rows to fit a correction to


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentMap:
    """What is used in one segment, and what is proven of it.

    Attributes
    ----------
    segment : label, or tuple of labels
        The segment.
    corrected : bool
        Whether it has a map of its own: rows held out proved that somebody gains by it, beside the map of all rows.
    gain_at_least : float
        In the population of the segment somebody gains at least this by the correction; 0 if none is proven.
    harm_bound : float
        In the population of the segment nobody loses more than this by the map that is used, in place of the original
        probabilities. For all segments at once, with the confidence of the certificate.
    n : int
        The number of rows held out that `harm_bound` is from.
    """

    segment: Any
    corrected: bool
    gain_at_least: float
    harm_bound: float
    n: int


def correct(
    whole: PiecewiseMap, segments: Mapping[Any, Training], confidence_level: float
) -> tuple[dict[Any, PiecewiseMap], tuple[SegmentMap, ...]]:
    """Fit a correction for each segment; keep those whose gain is proven on the rows held out for that choice."""
    level = 1 - (1 - confidence_level) / max(len(segments), 1)  # all segments at once
    maps, found = {}, []
    for key, rows in segments.items():
        certified, decided = rows.held_out
        own, gain = whole, 0.0
        if _enough(rows) and decided.n:
            own = correction(whole, rows.table())
            pairs = decided.pairs(whole(decided.prob), own(decided.prob))
            gain = gain_of_choice(rows.pairs(whole, own).draws(), pairs.draws(), 1 - level).at_least
        if gain > 0:
            maps[key] = own
        used = own if gain > 0 else whole
        harm = 0.0 if used is IDENTITY else _harm(certified, used, 1 - level)
        found.append(SegmentMap(segment=key, corrected=gain > 0, gain_at_least=gain, harm_bound=harm, n=certified.n))
    return maps, tuple(found)


def _enough(rows: Training) -> bool:
    negative, positive = rows.weight.sum(axis=(0, 2))
    return bool(negative + positive >= _FEWEST and negative > 0 and positive > 0)


def _harm(held: Forecasts, used: PiecewiseMap, delta: float) -> float:
    pairs = held.pairs(held.prob, used(held.prob))
    return harm_bound(pairs.curve(), *pairs.sizes(), delta) if held.n else 1.0
