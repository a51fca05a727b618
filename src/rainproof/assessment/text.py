"""The sentences of an assessment, each made from fields of a result; no code reads a sentence back."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

from rainproof.core.text import KEEPS_RANKING, at_least, at_most, percent, rows, short

if TYPE_CHECKING:
    from rainproof.assessment.advice import PredictionSwap, ThresholdAdvice
    from rainproof.assessment.costs import TaskResult
    from rainproof.assessment.segments import Segment, SegmentTable
    from rainproof.assessment.verdict import Evidence
    from rainproof.measures.soft_binned import SoftBinnedProfile

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
OWN_MAPS = "Try a map for each: recalibrate --by."
RULES = {
    "cost": "as it is",
    "cost_recalibrated": "recalibrated",
    "cost_always": "always acting",
    "cost_never": "never acting",
}
_NAMED = 3  # ranges, swaps or segments that a sentence names
_CALIBRATED = (
    "The probabilities match the outcomes of these rows as closely as can be measured: no decision that rests on "
    "them, whatever its costs, would gain by changing actions in hindsight."
)


def p_value(value: float) -> str:
    """Format a p-value to two digits, rounded up."""
    return f"{Decimal(str(value)).normalize(Context(prec=2, rounding=ROUND_CEILING)):f}"


def note(warning: str) -> str:
    """A warning as a sentence of the verdict."""
    return f"Note: {warning}."


# The verdict.


def headline(e: Evidence) -> str:
    """The verdict in a sentence."""
    if e.is_reversed:
        return "Check which outcome is the event: higher probabilities go with fewer events."
    if e.grade == "use":
        return "Use these probabilities as they are."
    if e.grade == "recalibrate":
        return "Recalibrate these probabilities before you use them."
    if e.grade == "avoid":
        return "Do not use these probabilities: they say little that the event rate does not say."
    if e.foresight == 0:
        return "There is one outcome only: no verdict."
    if e.useful and e.safe:
        return "These rows do not tell whether to recalibrate these probabilities first."
    few = "few rows" if e.rarer is None else f"few {rarer(e, 2)} ({e.rarer:,})"
    return (
        f"Miscalibrated probabilities, and too {few} for a verdict." if e.miscalibrated else f"Too {few} for a verdict."
    )


def reason(e: Evidence) -> str:
    """Why."""
    level = f"With {percent(e.confidence_level)} confidence"
    if e.grade == "use":
        assert e.worth is not None
        return (
            f"{level}, they gain at least {at_least(e.worth.relative_at_least)} of what perfect foresight would gain "
            f"{at_threshold(e.worth.relative_threshold)}, and acting on them loses at most {at_most(e.as_is.bound)} of "
            f"what is at stake in any decision, {KEEPS_RANKING}."
        )
    if e.grade == "recalibrate":
        assert e.certificate is not None
        return (
            f"Acting on the recalibrated probabilities gains about {estimate(e.certificate.gain_estimate)} of what is "
            f"at stake in some decision (estimate). {level}, it gains at least "
            f"{at_least(e.certificate.gain_at_least)} in some decision and loses at most "
            f"{at_most(e.certificate.harm_bound)} in any."
        )
    if e.grade == "avoid":
        assert e.ignored is not None
        same = f"Every prediction is {e.mean_prediction:.3g}. " if e.constant else ""
        return (
            f"{same}{level}, ignoring them, even recalibrated, loses at most {at_most(e.ignored)} of what is at stake "
            f"in any decision; perfect foresight would be worth up to {at_least(e.foresight)}."
        )
    if e.foresight == 0:
        return f"All outcomes on these {rows(e.n)} are the same."
    useful = e.useful or (e.improvable and e.useful_recalibrated)
    missing = [] if useful else ["that these probabilities gain over no forecast at any threshold"]
    if e.improvable and not e.improves:
        assert e.certificate is not None
        gain = estimate(e.certificate.gain_estimate)
        missing.append(f"that recalibration gains, although it seems to (about {gain} of what is at stake)")
    if not e.improvable and not e.safe:
        missing.append(f"that acting on them loses at most {percent(e.tolerance)} of what is at stake")
    groups = "" if e.groups in (None, e.n) else f" in {e.groups:,} groups"
    only = "" if e.rarer is None else f" with only {e.rarer:,} {rarer(e, e.rarer)}"
    return f"{rows(e.n)}{groups}{only} do not prove {' or '.join(missing)}."


def rarer(e: Evidence, count: int) -> str:
    """What so many rows with the rarer outcome are called."""
    many = "s" * (count != 1)
    return f"event{many}" if e.event_rate < 0.5 else f"case{many} without the event"


def estimate(share: float) -> str:
    """An estimate in percent, to two digits."""
    return percent(float(f"{share:.2g}"))


def at_threshold(threshold: float | None) -> str:
    """Where a gain is proven: act from this probability on."""
    return "at some threshold" if threshold is None else f"at a threshold of about {100 * threshold:.2g}%"


def worth(e: Evidence) -> str:
    """What the forecast is worth, as it is and recalibrated."""
    if e.worth is None:
        return "What the forecast is worth was not computed: compressed rows of unequal weight cannot be divided."
    level = percent(e.confidence_level)
    if not e.worth.proven:
        found = (
            "These rows do not prove that this forecast gains over the better of always and never acting at any "
            "threshold."
        )
    else:
        found = (
            f"With {level} confidence, this forecast gains at least {at_least(e.worth.relative_at_least)} of what "
            "perfect foresight would gain over no forecast (the better of always and never acting), "
            f"{at_threshold(e.worth.relative_threshold)}, in expectation."
        )
    better = e.worth_recalibrated
    if better is None or not better.proven:
        return found
    return f"{found} Recalibrated: at least {at_least(better.relative_at_least)}."


def as_is(e: Evidence) -> str:
    """The guarantee for acting on the probabilities as they are."""
    level, g = percent(e.confidence_level), e.as_is
    if g.bound >= 1:
        return f"With {level} confidence these rows guarantee nothing: the expected loss may be all that is at stake."
    return (
        f"Acting on the probabilities as they are, with {level} confidence, the expected loss of every decision, "
        f"whatever its costs, is at most {at_most(g.bound)} of {STAKES}, {KEEPS_RANKING} (a map of the "
        f"probability that never falls). On these rows it is {at_most(g.plug_in)}; the rest allows for chance. This is "
        "an average over the population that these rows came from; chance comes on top in any batch of new rows."
    )


def rounded(e: Evidence) -> str:
    """The guarantee for acting on rounded probabilities, against all changes of actions."""
    g = e.rounded
    if g.bound >= 1:
        return f"Rounded at random to multiples of 1/{g.grid}, they have no guarantee either."
    return (
        f"Rounded at random to multiples of 1/{g.grid}, the expected loss is at most {at_most(g.bound)}, "
        f"{FIXED_CHANGE}, monotone or not."
    )


def recalibration(e: Evidence) -> str:
    """What recalibration would gain, and cost."""
    c = e.certificate
    if c is None:
        return "Recalibration was not tried: compressed rows of unequal weight cannot be divided."
    if e.method == "none":
        return "Recalibration: no map did better in cross-validation than the probabilities as they are."
    gain = f"it gains at least {at_least(c.gain_at_least)} of what is at stake in some decision"
    return (
        f"Recalibration ({e.method}), on {rows(c.n)} that the map was not fitted to: "
        f"{gain if c.gain_at_least > 0 else 'no gain is proven'}, and it loses at most {at_most(c.harm_bound)} in any. "
        f"Acting on the recalibrated probabilities loses at most {at_most(c.loss_bound)} in any decision, "
        f"{KEEPS_RANKING}."
    )


def costs(task: TaskResult) -> str:
    """The costs of the user's own decision, by rule."""
    names = {
        "acting on the forecast": task.cost,
        "on the recalibrated forecast": task.cost_recalibrated,
        "from the best single cut-off on": task.cost_best_cutoff,
        "always": task.cost_always,
        "never": task.cost_never,
        "with perfect foresight": task.cost_perfect,
    }
    shown = "; ".join(
        f"{name} {cost.mean:.4g} ({cost.low:.4g} to {cost.high:.4g})"
        for name, cost in names.items()
        if cost is not None
    )
    return (
        f"Your decision, cost per case on {rows(task.n)}, with approximate intervals: {shown}. Those of the "
        f"map and the cut-off were measured on {rows(task.n_held_out)} that they were not fitted to."
    )


def calibration(e: Evidence) -> str:
    """The result of the test."""
    assert e.p_value is not None
    p = p_value(e.p_value)
    groups = "" if e.test is not None else ", whatever the dependence within groups"
    if e.miscalibrated:
        return (
            f"The test rejects perfect calibration (p = {p}{groups}): if the probabilities were right, chance would "
            f"produce a mismatch as large as on these rows with probability {p} at most."
        )
    return (
        f"The test does not reject perfect calibration (p = {p}{groups}): chance alone can explain the mismatch on "
        "these rows. That does not prove that the probabilities are right."
    )


def limits(e: Evidence) -> str:
    """What the statements rest on, and how they hold."""
    level = percent(e.confidence_level)
    drawn = (
        f"the {rows(e.n)}"
        if e.groups is None
        else f"the {e.groups:,} groups of rows (the intervals and bands of the charts treat rows as independent)"
    )
    single = f"Each statement holds with {level} confidence by itself, if {drawn} were drawn independently."
    if e.foresight == 0:
        return f"All outcomes on these {rows(e.n)} are the same: nothing is known about the other outcome. {single}"
    return single


# Segments.


def segments(table: SegmentTable, *, groups: bool = False) -> str:
    """How many segments are miscalibrated beyond chance, allowing for how many were tested, but not for groups."""
    tested = len(table.rows) - table.small
    few = f" {_count(table.small, 'segment has', 'segments have')} too few rows to be tested." if table.small else ""
    if not tested:
        return few.strip()
    names = [short(segment.label) for segment in table.flagged]
    if not names:
        return f"Of {_count(tested, 'segment', 'segments')} tested, none is miscalibrated beyond chance.{few}"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    are = "is" if len(names) == 1 else "are"
    alone = " for independent rows" if groups else ""
    return (
        f"Of {_count(tested, 'segment', 'segments')} tested, {len(names):,} {are} miscalibrated beyond chance (false "
        f"discovery rate {percent(table.fdr)}{alone}): {', '.join(names[:_NAMED])}{more}.{few} {OWN_MAPS}"
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


# SCDL by itself.


def scdl(profile: SoftBinnedProfile) -> str:
    """The meaning of the value of SCDL on these rows."""
    if profile.m_star == float("inf"):
        return _CALIBRATED
    hindsight = "compared with the best change of actions in hindsight"
    if profile.regret_bound >= 1:
        return (
            "That is too large to bound any loss: acting on these probabilities may lose up to all that is at stake "
            f"per case, {hindsight}."
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
