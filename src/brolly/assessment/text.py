"""The sentences of an assessment, each made from fields of a result; no code reads a sentence back."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

from brolly.core.text import at_least, at_most, percent, rows, short
from brolly.decisions.text import decision_with

if TYPE_CHECKING:
    from brolly.assessment.advice import PredictionSwap, ThresholdAdvice
    from brolly.assessment.assess_many import Pair
    from brolly.assessment.segments import Segment, SegmentTable
    from brolly.assessment.verdict import Evidence
    from brolly.decisions.swap import SwapRegret
    from brolly.measures.soft_binned import SoftBinnedProfile

WIDTH = 80
STAKES = "what is at stake per case (best minus worst outcome)"
FIXED_CHANGE = "compared with the best fixed change of actions ('where I would do this, do that')"
SCOPE = (
    "This describes these rows only. Part of it is chance (the fewer the rows, the larger the part), and new rows can "
    "differ."
)
ADVICE_METHOD = (
    "Advice against the forecast is right for all thresholds at once with the stated confidence. It is about the "
    "average over the range of predictions named, not about each prediction in it."
)
_NAMED = 3  # ranges, swaps or segments that a sentence names
_CALIBRATED = (
    "The probabilities match the outcomes of these rows as closely as can be measured: nobody who acts on them, "
    "whatever the decision and its costs, would gain by changing actions in hindsight."
)


def wrapped(text: str) -> str:
    """Break a text into lines that fit a terminal."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def p_value(value: float) -> str:
    """Format a p-value to two digits, rounded up."""
    return f"{Decimal(str(value)).normalize(Context(prec=2, rounding=ROUND_CEILING)):f}"


def note(warning: str) -> str:
    """A warning as a sentence of the verdict."""
    return f"Note: {warning}."


# The verdict.


def headline(e: Evidence) -> str:
    """The verdict in a sentence."""
    if e.grade == "trust":
        small = ": they are miscalibrated, but the expected loss is small for every decision" if e.rejected else ""
        return f"You can act on these probabilities, rounded to multiples of 1/{e.grid}{small}."
    if e.grade == "distrust":
        return "Do not act on these probabilities as they are."
    if e.grade == "care":
        return "Act on these probabilities with care: they are miscalibrated beyond chance."
    return "No sign of miscalibration, but these rows are too few for a useful guarantee."


def calibration(e: Evidence) -> str:
    """The result of the test."""
    p = p_value(e.p_value)
    if e.rejected:
        return (
            f"The test rejects perfect calibration (p = {p}): if the probabilities were right, chance would produce a "
            f"mismatch as large as on these rows with probability {p} at most."
        )
    return (
        f"The test does not reject perfect calibration (p = {p}): chance alone can explain the mismatch on these rows. "
        "That does not prove that the probabilities are right."
    )


def guaranteed(e: Evidence) -> str:
    """The guarantee: a bound on the expected loss against the best fixed change of actions."""
    level = percent(e.confidence_level)
    if e.bound >= 1:
        return f"With {level} confidence these rows guarantee nothing: the expected loss may be all that is at stake."
    return (
        f"Round each probability at random to a neighbouring multiple of 1/{e.grid}, and act on the rounded value: "
        f"then, with {level} confidence, the expected loss of every decision, whatever its costs, is at most "
        f"{at_most(e.bound)} of {STAKES}, {FIXED_CHANGE}. This is an average over the population that these rows "
        "came from; chance comes on top in any batch of new rows."
    )


def loss(e: Evidence) -> str:
    """The loss on these rows, an estimate for the population, and what is proven from below."""
    level = percent(e.confidence_level)
    seen = (
        f"On these rows, rounded to 1/{e.shown_grid}, the largest loss of any decision is {at_most(e.loss)} of what is "
        f"at stake; for the population the estimate is {at_least(e.loss_low)} to {at_most(e.loss_high)} ({level} "
        "interval by inversion of a test, not a proof)."
    )
    if e.at_least is None:
        return seen
    if e.at_least == 0:
        return f"{seen} These rows do not prove that anybody loses in expectation."
    return (
        f"{seen} With {level} confidence, somebody who acts on the probabilities as they are loses at least "
        f"{at_least(e.at_least)} in expectation: {decision_with(e.at_least_thresholds)}."
    )


def decision(e: Evidence) -> str:
    """Which decision has the largest loss on these rows."""
    doubt = "" if e.rejected else ", perhaps by chance"
    return f"Largest loss on these rows{doubt}: {decision_with(e.worst_thresholds)}."


def limits(e: Evidence) -> str:
    """What these rows cannot show, and how the statements hold."""
    level = percent(e.confidence_level)
    single = f"Each statement holds with {level} confidence by itself, not all of them together."
    if e.one_class:
        return f"All outcomes on these {rows(e.n)} are the same: nothing is known about the other outcome. {single}"
    unseen = (
        f"On {rows(e.n)} a perfectly calibrated forecast shows an SCDL of up to {e.chance_value:.2g} by chance, so "
        "smaller errors cannot be detected"
    )
    if e.bound >= 1:
        return f"{unseen}. {single}"
    return f"{unseen}; of the {at_most(e.bound)} guaranteed, {at_most(e.slack)} allow for chance. {single}"


def own_decision(regret: SwapRegret, *, rejected: bool) -> str:
    """What the user's own decision lost on these rows, and which changes of actions would have saved it."""
    if not regret.swaps:
        return "Your decision: no fixed change of actions would have saved anything on these rows."
    doubt = "" if rejected else " Chance may explain it."
    return (
        f"Your decision lost {at_most(regret.value)} of the {regret.task.scale:.4g} at stake on these rows, "
        f"{FIXED_CHANGE}. {' '.join(regret.advice[:2])}{doubt}"
    )


# Segments.


def segments(table: SegmentTable) -> str:
    """How many segments are miscalibrated beyond chance, allowing for how many were tested."""
    tested = len(table.rows) - table.small
    few = f" {_count(table.small, 'segment has', 'segments have')} too few rows to be tested." if table.small else ""
    if not tested:
        return few.strip()
    names = [short(segment.label) for segment in table.flagged]
    if not names:
        return f"Of {_count(tested, 'segment', 'segments')} tested, none is miscalibrated beyond chance.{few}"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    are = "is" if len(names) == 1 else "are"
    return (
        f"Of {_count(tested, 'segment', 'segments')} tested, {len(names):,} {are} miscalibrated beyond chance (false "
        f"discovery rate {percent(table.fdr)}): {', '.join(names[:_NAMED])}{more}.{few}"
    )


def segment_status(segment: Segment) -> str:
    """The result of the test of one segment."""
    if segment.small:
        return "too few rows to be tested"
    return "miscalibrated beyond chance" if segment.flagged else "no sign of miscalibration"


# Advice.


def advice(found: ThresholdAdvice) -> str:
    """What to do at a threshold."""
    if not found.swaps:
        return "Follow the forecast: these rows do not prove another action better at this threshold."
    named = " ".join(_range(swap, found.threshold) for swap in found.swaps[:_NAMED])
    more = len(found.swaps) - _NAMED
    rest = f" And {more} more such range{'s' * (more > 1)}." if more > 0 else ""
    return f"{named}{rest} Elsewhere follow the forecast."


def _range(swap: PredictionSwap, threshold: float) -> str:
    where = f"For predictions from {swap.low:.3g} to {swap.high:.3g}"
    if swap.do == "wait":
        return f"{where} do not act, although the forecast says to: the event rate there is below {threshold:.3g}."
    return f"{where} act, although the forecast says not to: the event rate there is above {threshold:.3g}."


# Forecasts side by side.


def best_of(names: Sequence[str], best: str | None) -> str:
    """Which of several forecasts is the best calibrated."""
    if best is None:
        others = "the other" if len(names) == 2 else "all others"
        return f"No forecast is better calibrated than {others} beyond chance."
    return f"{best} is the best calibrated of {len(names)} forecasts."


def pair(found: Pair) -> str:
    """How two forecasts compare."""
    c = found.comparison
    where = "on the same rows" if c.paired else "on different rows"
    low, high = sorted((abs(c.low), abs(c.high)))
    if found.better is None:
        span = f"{c.difference:.2g} (interval {c.low:.2g} to {c.high:.2g})"
        return f"{found.a} and {found.b} do not differ beyond chance {where}: the difference in SCDL is {span}."
    worse = found.b if found.better == found.a else found.a
    span = f"{abs(c.difference):.2g} (interval {low:.2g} to {high:.2g})"
    return f"{found.better} is better calibrated than {worse} {where}: its SCDL is lower by {span}."


# SCDL by itself.


def scdl(profile: SoftBinnedProfile) -> str:
    """The meaning of the value of SCDL on these rows."""
    if profile.m_star == float("inf"):
        return _CALIBRATED
    hindsight = "compared with the best change of actions in hindsight"
    if profile.regret_bound >= 1:
        return (
            "That is too large to bound any loss: somebody who acts on these probabilities may lose up to all that is "
            f"at stake per case, {hindsight}."
        )
    how = "at random to a neighbouring" if profile.rounding == "soft" else "down to a"
    return (
        f"Round each probability {how} multiple of 1/{profile.m_star}, and act on the rounded value: then, on these "
        f"rows, no decision, whatever its costs, loses more than {at_most(profile.regret_bound)} of {STAKES}, "
        f"{hindsight}."
    )


def scdl_threshold(profile: SoftBinnedProfile, low: float, high: float) -> str:
    """Between which thresholds the loss is largest."""
    digits = max(2, len(str(profile.m_star)))
    return f"Largest loss: decisions with a threshold between {low:.{digits}f} and {high:.{digits}f}."


def _count(n: int, one: str, many: str) -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {many}"
