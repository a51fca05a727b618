"""What is stated of single thresholds, and of SCDL by itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rainproof.inference.assumptions import if_drawn
from rainproof.verdict.statements import Statement, say
from rainproof.verdict.values import Bound, Count, Level, Name, Number

if TYPE_CHECKING:
    from rainproof.measures.scdl import SoftBinnedProfile
    from rainproof.verdict.advice import PredictionSwap, ThresholdAdvice
    from rainproof.verdict.evidence import Evidence

_NAMED = 3  # ranges that a sentence names


def advice_limits(e: Evidence) -> Statement:
    """What is proven of the advice for all thresholds, and what that rests on."""
    drawn = if_drawn(
        e.groups, "the forecast", e.base_rate, e.max_weight, weighted=e.guarantee.weighted
    )
    return say("advice_limits", level=Level(e.confidence_level), drawn_so=Name(drawn))


def advice(found: ThresholdAdvice) -> list[Statement]:
    """What to do at a threshold."""
    if not found.swaps:
        return [say("no_advice")]
    statements = [_range(swap, found.threshold) for swap in found.swaps[:_NAMED]]
    more = len(found.swaps) - _NAMED
    if more > 0:
        statements.append(say("more_ranges", count=Count(more)))
    return [*statements, say("follow_elsewhere")]


def _range(swap: PredictionSwap, threshold: float) -> Statement:
    """A range of predictions where the other action is better."""
    numbers = {"low": swap.low, "high": swap.high, "threshold": threshold}
    return say(swap.do, **{name: Number(number, ".3g") for name, number in numbers.items()})


def scdl(profile: SoftBinnedProfile) -> Statement:
    """The meaning of the value of SCDL on these rows."""
    if profile.m_star == math.inf:
        return say("scdl_none")
    if profile.regret_bound >= 1:
        return say("scdl_large")
    how = say("rounded_soft" if profile.rounding == "soft" else "rounded_down")
    bound = Bound(profile.regret_bound)
    return say("scdl", how=how, grid=Name(profile.m_star), bound=bound)


def scdl_threshold(profile: SoftBinnedProfile, low: float, high: float) -> Statement:
    """Between which thresholds the loss is largest."""
    form = f".{max(2, len(str(profile.m_star)))}f"
    return say("scdl_threshold", low=Number(low, form), high=Number(high, form))
