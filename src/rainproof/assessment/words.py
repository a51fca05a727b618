"""The sentences of an assessment, each made from fields of a result; no code reads a sentence back."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

from rainproof.core.text import KEEPS_RANKING, WIDTH, at_least, at_most, percent, rows, short, these_rows

if TYPE_CHECKING:
    from rainproof.assessment.advice import PredictionSwap, ThresholdAdvice
    from rainproof.assessment.costs import TaskResult
    from rainproof.assessment.segments import Segment, SegmentTable
    from rainproof.assessment.verdict import Evidence
    from rainproof.measures.scdl import SoftBinnedProfile


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
        return f"All outcomes on {these_rows(e.n)} are the same."
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
        return f"All outcomes on {these_rows(e.n)} are the same: nothing is known about the other outcome. {single}"
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


_COLUMN = 22  # where the answers of the table begin


def answer_line(question: str, value: str, meaning: str) -> str:
    """One line of the table of answers, wrapped under its own column."""
    head = f"{question:<{_COLUMN}}"
    filled = f"{value} {meaning}"
    return textwrap.fill(
        filled,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * _COLUMN,
        break_long_words=False,
        break_on_hyphens=False,
    )


def worth_answer(e: Evidence, task: TaskResult | None = None) -> dict[str, str]:
    """Is it useful?"""
    own = _useful_to_you(task)
    if e.worth is None:
        return {"value": "unknown:", "meaning": "compressed rows of unequal weight cannot be divided."}
    if not e.worth.proven:
        return {"value": "not proven:", "meaning": f"no gain over no forecast is proven at any threshold.{own}"}
    where = f"where it helps most ({at_threshold(e.worth.relative_threshold).removeprefix('at a ')})"
    return {
        "value": f"at least {at_least(e.worth.relative_at_least)}",
        "meaning": f"of perfect foresight's gain over no forecast, {where}.{own}",
    }


def _useful_to_you(task: TaskResult | None) -> str:
    """Whether the forecast as it is costs the user less than no forecast, as far as an approximate interval tells."""
    plain = None if task is None else task.simplest
    saved = None if task is None or plain is None else task.saved(plain)
    if plain is None or saved is None:
        return ""
    rule = RULES[plain]
    if saved.low <= 0 <= saved.high:
        return f" For your costs, {rule} may cost no more."
    return f" As it is, {rule} costs you less." if saved.low > 0 else f" For your costs, {rule} costs more."


def loss_answer(e: Evidence) -> dict[str, str]:
    """What does miscalibration cost?"""
    lost = f"of what is at stake, {KEEPS_RANKING}."
    rates = f"Mean prediction {_share(e.mean_prediction)}, event rate {_share(e.event_rate)}."
    return {"value": f"at most {at_most(min(e.as_is.bound, 1.0))}", "meaning": lost, "detail": rates}


def recalibration_answer(e: Evidence) -> dict[str, str]:
    """What would recalibration gain?"""
    c = e.certificate
    if c is None:
        return {"value": "unknown:", "meaning": "compressed rows of unequal weight cannot be divided."}
    if e.method == "none":
        return {"value": "no change:", "meaning": "no map did better than the probabilities as they are."}
    if e.grade == "avoid" and e.ignored is not None:
        over = f"; over the forecast as it is at least {at_least(c.gain_at_least)} in some decision"
        most = f"of what is at stake in any decision{over if c.gain_at_least > 0 else ''}."
        return {"value": f"at most {at_most(e.ignored)} over no forecast,", "meaning": most}
    if e.grade == "use":
        most = (
            f"no decision gains more than about {estimate(c.gain_estimate)} of what is at stake ({e.method}, estimate)."
        )
        return {"value": "not needed:", "meaning": most}
    if c.gain_at_least == 0:
        harm = f"it loses at most {at_most(c.harm_bound)} of what is at stake in any decision ({e.method})."
        return {"value": "nothing proven;", "meaning": harm}
    gain = (
        f"of what is at stake in some decision (estimate; at least {at_least(c.gain_at_least)} proven); none loses "
        f"over {at_most(c.harm_bound)} ({e.method})."
    )
    return {"value": f"about {estimate(c.gain_estimate)}", "meaning": gain}


def cost_answer(task: TaskResult) -> dict[str, str]:
    """What does it cost you?"""
    assert task.cost is not None
    better = task.cost_recalibrated
    recalibrated = "" if better is None else f" recalibrated {better.mean:.4g} ({better.low:.4g} to {better.high:.4g});"
    others = {"always acting": task.cost_always, "never": task.cost_never}
    named = ", ".join(f"{name} {cost.mean:.4g}" for name, cost in others.items() if cost is not None)
    entered = "" if task.errors is None else " False alarm {:g}, miss {:g}.".format(*task.errors)
    return {
        "value": f"{task.cost.mean:.4g} per case",
        "meaning": f"as it is ({task.cost.low:.4g} to {task.cost.high:.4g});{recalibrated} {named}.{entered}",
    }


def _share(share: float) -> str:
    """A share of rows in percent, to three digits."""
    return percent(float(f"{share:.3g}"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """How to take a next step.

    Attributes
    ----------
    recalibrate : tuple of str
        Code, or command lines, that recalibrate the forecast.
    other_event : str
        The option that makes the other outcome the event.
    """

    recalibrate: tuple[str, ...]
    other_event: str


PYTHON = Means(recalibrate=("a.recalibrator.predict(p)",), other_event="pos_label")
_RULES = {  # of equals, the simplest comes first
    "cost_always": "always acting costs least, {} per case: the forecast gains you nothing",
    "cost_never": "never acting costs least, {} per case: the forecast gains you nothing",
    "cost": "acting on the probabilities as they are costs least, {} per case",
    "cost_recalibrated": "acting on the recalibrated probabilities costs least, {} per case",
}
_THRESHOLD = "false-alarm cost / (false-alarm + miss cost)"
_MEANWHILE = {
    "cost_always": "always act, whatever the probability",
    "cost_never": "never act, whatever the probability",
    "cost": "use the probabilities as they are{act}",
    "cost_recalibrated": "recalibrate ({method}, as below){act}",
    "without": "decide without these probabilities{simple}",
}


def next_step(e: Evidence, task: TaskResult | None, means: Means = PYTHON) -> str:
    """What to do now."""
    if e.is_reversed:
        return f"Next: {check_event(e.auroc, means.other_event)}"
    own = cheapest(task, recalibrated=e.grade == "recalibrate")
    if e.grade == "use":
        return _use(task, own)
    if e.grade == "recalibrate":
        return f"Next: apply the map ({e.method}), as below{_with_map(e, task, own)}"
    if e.grade == "avoid":
        return f"Next: use another forecast. Without one, {_simple(e)}.{_without(task)}"
    rule = meanwhile(e, task)
    act, simple = _act(task, recalibrated=rule == "cost_recalibrated"), f": {_simple(e)}" * (e.foresight > 0)
    do = _MEANWHILE[rule].format(method=e.method, act=act, simple=simple)
    if not e.useful and rule != "cost_recalibrated" and not _priced(e, task):  # a guess: data come first
        return f"Next: get more data. {_more_data(e)} Until then {do}{_why(e, task, rule)}"
    return f"Next: until there is more data, {do}{_why(e, task, rule)} {_more_data(e)}"


def check_event(auroc: float | None, option: str) -> str:
    """What to say about a forecast that is reversed (`is_reversed`), given the option that names the event."""
    return (
        f"check which outcome is the event: higher predictions go with fewer events (AUROC {auroc:.2g}). "
        f"{other_event(option)}"
    )


def other_event(option: str) -> str:
    """What may have been meant by reversed labels."""
    return f"Did you mean 1 - p, or the other outcome as the event ({option})?"


def commands(e: Evidence, task: TaskResult | None, means: Means = PYTHON) -> tuple[str, ...]:
    """The code or command lines of the next step."""
    applies = e.grade == "recalibrate" or (e.grade == "unknown" and meanwhile(e, task) == "cost_recalibrated")
    return means.recalibrate if applies and not e.is_reversed else ()


def meanwhile(e: Evidence, task: TaskResult | None) -> str:
    """The rule to follow until there is a verdict, by the name of its cost; "without" is to ignore the forecast.

    With costs it is the rule that costs least by the estimate, which for recalibration comes from few rows: it must
    clearly cost less, or the test reject calibration. A forecast that is proven useful and safe gives way only
    to a rule that clearly costs less. Without costs it is a forecast that is proven useful, or whose Brier score on
    these rows is below that of the event rate; recalibrated, if it is miscalibrated and that seems to gain.
    """
    known, safe = _costs(task), e.useful and e.safe
    if task is not None and _priced(e, task):
        if not e.miscalibrated and not _clearly_saves(task, "cost_recalibrated"):
            known.pop("cost_recalibrated", None)
        name = _first(known)
        return "cost" if safe and not _clearly_saves(task, name) else name
    if safe:
        return "cost"
    if e.better_recalibrated:
        return "cost_recalibrated"
    return "cost" if e.useful or e.brier_score < e.brier_without else "without"


def _act(task: TaskResult | None, *, recalibrated: bool = False) -> str:
    """From which probability on to act: the one threshold of the task, or the rule for it."""
    if task is not None and len(task.task.thresholds) != 1:
        return ""
    threshold = _THRESHOLD if task is None else f"{task.task.thresholds[0]:.3g}"
    return f", and act on cases with a {'recalibrated ' * recalibrated}probability of at least {threshold}"


def _simple(e: Evidence) -> str:
    """What to do without a forecast."""
    rate = f"{100 * e.event_rate:.3g}% (the event rate)"
    return f"always act if your threshold ({_THRESHOLD}) is below {rate}, otherwise never"


def _with_map(e: Evidence, task: TaskResult | None, own: tuple[str, str] | None) -> str:
    """What the user's costs say where recalibration is proven to gain."""
    act = _act(task, recalibrated=True)
    if task is None or own is None:
        return f"{act}."
    return f"{act}. {_own_costs(e, task, own[0])}" if own[0] == "cost_recalibrated" else f". For your costs {own[1]}"


def _why(e: Evidence, task: TaskResult | None, rule: str) -> str:
    """What speaks for the rule, as far as it is known."""
    if task is not None and _priced(e, task):
        return f". {_own_costs(e, task, rule)}"
    if rule == "cost_recalibrated":
        assert e.certificate is not None
        gain = estimate(e.certificate.gain_estimate)
        return f". That is the better guess, with an estimated gain of {gain} of what is at stake."
    if e.useful and e.safe:
        return (
            f". With {percent(e.confidence_level)} confidence that loses at most {at_most(e.as_is.bound)} of what is "
            "at stake in any decision."
        )
    if e.useful:
        assert e.worth is not None
        return f". They are proven useful {at_threshold(e.worth.relative_threshold)}; elsewhere that is a guess."
    if e.foresight == 0:
        return "."
    than = "closer" if rule == "cost" else "no closer"
    scores = f"Brier score {e.brier_score:.3g} against {e.brier_without:.3g}"
    rate = "the event rate of the other rows"  # for each row
    return f". That is a guess: on these rows they come {than} to the outcomes than {rate} does ({scores})."


def _own_costs(e: Evidence, task: TaskResult, rule: str) -> str:
    """What the rule costs the user beside simpler ones, and what it saves."""
    known, saved = _costs(task), task.saved(rule)
    best = _first(known)
    if rule == "cost" != best:
        both = f"{known[rule]:.4g} per case, {RULES[best]} {known[best]:.4g}"
        return f"For your costs that costs {both} (estimates that do not tell which is less)."
    if saved is None:
        return f"For your costs that costs least, {known[rule]:.4g} per case (an estimate)."
    compared = sorted({rule, "cost", task.simplest or rule}, key=lambda name: (known[name], name != rule))
    costs = ", ".join(f"{RULES[name]} {known[name]:.4g}" for name in compared)
    # An interval above 0 can stand beside a verdict that nothing is proven.
    about = ", for these costs; a verdict must hold for all" if e.grade == "unknown" and saved.low > 0 else ""
    doubt = "" if saved.low > 0 else ", so perhaps nothing"
    return (
        f"Your cost per case: {costs}. That saves {saved.low:.3g} to {saved.high:.3g} over as it is (approximate"
        f"{about}){doubt}.{_not_cheaper(task, rule)}"
    )


def _not_cheaper(task: TaskResult, rule: str) -> str:
    """That recalibration may cost as much as the better of always and never acting."""
    saved, plain = task.saved_over_simple, task.simplest
    if rule != "cost_recalibrated" or plain is None or saved is None or saved.low > 0:
        return ""
    return f" Recalibrated is not proven cheaper than {RULES[plain]}."


def cheapest(task: TaskResult | None, *, recalibrated: bool) -> tuple[str, str] | None:
    """The rule that costs least, and a sentence about it.

    Where recalibration is not the verdict (`recalibrated`), it must clearly cost less than acting on the forecast as it
    is, if that costs less than no forecast.
    """
    known = _costs(task)
    if task is None or not known:
        return None
    name = _first(known)
    if name == "cost_recalibrated" and not recalibrated and _helps(known) and not _clearly_saves(task, name):
        both = f"{known['cost']:.4g} per case as they are, {known[name]:.4g} recalibrated"
        return "cost", f"acting on the probabilities costs {both} (estimates that do not tell which is less)."
    return name, f"{_RULES[name].format(f'{known[name]:.4g}')} (an estimate)."


def _priced(e: Evidence, task: TaskResult | None) -> bool:
    """Whether the user's costs tell rules apart."""
    return bool(_costs(task)) and e.foresight > 0


def _costs(task: TaskResult | None) -> dict[str, float]:
    """The cost of each rule that has one."""
    return {} if task is None else {name: cost.mean for name in _RULES if (cost := getattr(task, name)) is not None}


def _first(known: dict[str, float]) -> str:
    """The rule that costs least."""
    least = min(known.values())
    return next(name for name, cost in known.items() if cost <= least + 1e-12 * abs(least))


def _helps(known: dict[str, float]) -> bool:
    """Whether acting on the forecast as it is costs less than always and never acting."""
    return _first({name: cost for name, cost in known.items() if name != "cost_recalibrated"}) == "cost"


def _clearly_saves(task: TaskResult, rule: str) -> bool:
    """Whether a rule clearly costs less than acting on the forecast as it is: the interval of the saving is above 0."""
    saved = task.saved(rule)
    return saved is not None and saved.low > 0


def _use(task: TaskResult | None, own: tuple[str, str] | None) -> str:
    """What to do with a forecast that can be used as it is."""
    costs = _costs(task)
    if own is not None and not _helps(costs):
        return f"Next, for your costs: {own[1]}"
    own_threshold = _act(task).removeprefix(", and ")
    rule = f" ({_THRESHOLD})" * bool(own_threshold)
    rule = ": 10% if a miss costs 9 times a false alarm" if task is None else rule
    found = f"Next: {own_threshold or 'act on these probabilities'}{rule}."
    if own is None or own[0] != "cost_recalibrated":
        return found
    less = f"{costs['cost_recalibrated']:.4g} instead of {costs['cost']:.4g} per case (an estimate)"
    return f"{found} Recalibrated, they would cost you a little less: {less}."


def _without(task: TaskResult | None) -> str:
    """What costs the user less without a forecast."""
    if task is None or task.cost_always is None or task.cost_never is None:
        return ""
    (least, rule), (more, other) = sorted([(task.cost_always.mean, "always"), (task.cost_never.mean, "never")])
    return f" For your costs {rule} acting costs {least:.4g} per case, {other} acting {more:.4g} (estimates)."


def _more_data(e: Evidence) -> str:
    """How much data a verdict needs, as far as these rows tell."""
    if e.foresight == 0:
        return "A verdict needs rows with both outcomes."
    if e.rows_needed is None:
        what = "rows" if e.rarer is None else rarer(e, 2)
        where = "" if e.groups is None else ", in new groups"
        return f"A verdict needs more {what}{where}; these do not tell how many."
    most = "about" if e.useful else "more than"
    groups = "" if e.groups is None else f" in {_rounded(e.groups * e.rows_needed / e.n)} groups"
    now = f"{e.n:,}" if e.groups is None else f"{e.n:,} in {e.groups:,}"
    return f"A verdict needs {most} {_rounded(e.rows_needed)} rows{groups} in all (an estimate; there are {now})."


def _rounded(number: float) -> str:
    """A number to two digits."""
    return f"{float(f'{number:.2g}'):,.0f}"
