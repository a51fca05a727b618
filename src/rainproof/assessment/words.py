"""The sentences of an assessment, each made from fields of a result; no code reads a sentence back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from rainproof.assessment.costs import LABELS, Rule
from rainproof.core.result import Interval, Result
from rainproof.core.text import KEEPS_RANKING, at_least, at_most, percent, rows, short, these_rows

if TYPE_CHECKING:
    from rainproof.assessment.advice import PredictionSwap, ThresholdAdvice
    from rainproof.assessment.costs import TaskResult
    from rainproof.assessment.rankings import AssessmentSet, PairwiseComparison, RankedForecast
    from rainproof.assessment.segments import Segment, SegmentTable
    from rainproof.assessment.verdict import Evidence
    from rainproof.inference.switches import SwitchGuarantee
    from rainproof.measures.scdl import SoftBinnedProfile

About = Literal["worth", "loss", "recalibration", "cost", "rounded", "test", "segments", "limits", "note"]
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
_DOING = {
    Rule.AS_IS: "as it is",
    Rule.RECALIBRATED: "recalibrated",
    Rule.ALWAYS: "always acting",
    Rule.NEVER: "never acting",
}
_NAMED = 3  # ranges, swaps or segments that a sentence names
_CALIBRATED = (
    "The probabilities match the outcomes of these rows as closely as can be measured: no decision that rests on "
    "them, whatever its costs, would gain by changing actions in hindsight."
)
_INDIVISIBLE = "compressed rows of unequal weight cannot be divided."


class Voice(NamedTuple):
    """The words in which code and command lines differ; the default is Python.

    Attributes
    ----------
    recalibrate : tuple of str
        Code, or command lines, that recalibrate the forecast.
    other_event : str
        The parameter, or option, that makes the other outcome the event.
    own_maps : str
        The call, or command, that fits a map for each segment.
    """

    recalibrate: tuple[str, ...] = ("a.recalibrator.predict(p)",)
    other_event: str = "pos_label"
    own_maps: str = "Recalibrator().fit(p, y, by=...)"


PYTHON = Voice()
SHELL = Voice(recalibrate=(), other_event="--pos-label", own_maps="rainproof recalibrate --by")


class Statement(NamedTuple):
    """One sentence of a verdict, and what it is about."""

    about: About
    text: str


class KeyFigure(Result):
    """The answer to one of the questions that people come with.

    Attributes
    ----------
    about : {"worth", "loss", "recalibration", "cost"}
        The question.
    question : str
        In words.
    value : str
        The number, with its unit.
    meaning : str
        What the number is of.
    """

    about: About
    question: str
    value: str
    meaning: str
    _joint: str = " "  # between the two in a sentence
    _detail: str = ""  # what only the text says

    def __str__(self) -> str:
        return f"{self.value}{self._joint}{self.meaning}{self._detail}"


def p_value(value: float) -> str:
    """Format a p-value to two digits, rounded up."""
    return f"{Decimal(str(value)).normalize(Context(prec=2, rounding=ROUND_CEILING)):f}"


def note(warning: str) -> str:
    """A warning as a sentence of the verdict."""
    return f"Note: {warning}."


def interval(cost: Interval) -> str:
    """A cost with its interval."""
    return f"{cost.value:.4g} ({cost.low:.4g} to {cost.high:.4g})"


# The verdict.

_HEADLINES = {
    "use": "Use these probabilities as they are.",
    "recalibrate": "Recalibrate these probabilities before you use them.",
    "avoid": "Do not use these probabilities: they say little that the event rate does not say.",
}


def headline(e: Evidence) -> str:
    """The verdict in a sentence."""
    if e.is_reversed:
        return "Check which outcome is the event: higher probabilities go with fewer events."
    if e.grade != "unknown":
        return _HEADLINES[e.grade]
    if e.foresight == 0:
        return "There is one outcome only: no verdict."
    if e.useful and e.safe:
        return "These rows do not tell whether to recalibrate these probabilities first."
    few = "few rows" if e.rarer is None else f"few {rarer(e, 2)} ({e.rarer:,})"
    return f"{'Miscalibrated probabilities, and too' if e.miscalibrated else 'Too'} {few} for a verdict."


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
        return f"What the forecast is worth was not computed: {_INDIVISIBLE}"
    over = "the better of always and never acting"
    found = f"These rows do not prove that this forecast gains over {over} at any threshold."
    if e.worth.proven:
        found = (
            f"With {percent(e.confidence_level)} confidence, this forecast gains at least "
            f"{at_least(e.worth.relative_at_least)} of what perfect foresight would gain over no forecast ({over}), "
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
    g, what = e.rounded, "they have no guarantee either"
    if g.bound < 1:
        what = f"the expected loss is at most {at_most(g.bound)}, {FIXED_CHANGE}, monotone or not"
    return f"Rounded at random to multiples of 1/{g.grid}, {what}."


def recalibration(e: Evidence) -> str:
    """What recalibration would gain, and cost."""
    c = e.certificate
    if c is None:
        return f"Recalibration was not tried: {_INDIVISIBLE}"
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
    shown = "; ".join(f"{LABELS[rule].lower()} {interval(cost)}" for rule, cost in task.costs.items())
    return (
        f"Your decision, cost per case on {rows(task.n)}, with approximate intervals: {shown}. Those of the "
        f"map and the cut-off were measured on {rows(task.n_held_out)} that they were not fitted to."
    )


def calibration(e: Evidence) -> str:
    """The result of the test."""
    assert e.p_value is not None
    p = p_value(e.p_value)
    groups = "" if e.test is not None else ", whatever the dependence within groups"
    rejects, meaning = (
        "does not reject",
        ("chance alone can explain the mismatch on these rows. That does not prove that the probabilities are right."),
    )
    if e.miscalibrated:
        rejects, meaning = (
            "rejects",
            (
                "if the probabilities were right, chance would produce a mismatch as large as on these rows with "
                f"probability {p} at most."
            ),
        )
    return f"The test {rejects} perfect calibration (p = {p}{groups}): {meaning}"


def limits(e: Evidence) -> str:
    """What the statements rest on, and how they hold."""
    drawn = rows(e.n)
    if e.groups is not None:
        drawn = f"{e.groups:,} groups of rows (the intervals and bands of the charts treat rows as independent)"
    same = f"All outcomes on {these_rows(e.n)} are the same: nothing is known about the other outcome. "
    return (
        f"{same * (e.foresight == 0)}Each statement holds with {percent(e.confidence_level)} confidence by itself, "
        f"if the {drawn} were drawn independently."
    )


def details(
    e: Evidence, task: TaskResult | None, table: SegmentTable | None, notes: tuple[str, ...], voice: Voice
) -> Iterator[Statement]:
    """What the verdict rests on, in the order of reading."""
    yield Statement("worth", worth(e))
    yield Statement("loss", as_is(e))
    yield Statement("rounded", rounded(e))
    yield Statement("recalibration", recalibration(e))
    if task is not None and task.cost is not None:
        yield Statement("cost", costs(task))
    if e.p_value is not None:
        yield Statement("test", calibration(e))
    if table is not None:
        yield Statement("segments", segments(table, voice, groups=e.groups is not None))
    yield Statement("limits", limits(e))
    for warning in notes:
        yield Statement("note", note(warning))


# Segments.


def segments(table: SegmentTable, voice: Voice = PYTHON, *, groups: bool = False) -> str:
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
        f"discovery rate {percent(table.fdr)}{alone}): {', '.join(names[:_NAMED])}{more}.{few} Try "
        f"a map for each: {voice.own_maps}."
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
    do, says, side = ("do not act", "to", "below") if swap.do == "wait" else ("act", "not to", "above")
    return (
        f"For predictions from {swap.low:.3g} to {swap.high:.3g} {do}, although the forecast says {says}: the event "
        f"rate there is {side} {threshold:.3g}."
    )


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


# The answers.


def worth_answer(e: Evidence, task: TaskResult | None) -> KeyFigure:
    """Is it useful?"""
    value, joint, meaning = "unknown", ": ", _INDIVISIBLE
    if e.worth is not None and not e.worth.proven:
        value, meaning = "not proven", f"no gain over no forecast is proven at any threshold.{_useful_to_you(task)}"
    elif e.worth is not None:
        assert e.worth.relative_threshold is not None
        where = f"where it helps most (threshold of about {100 * e.worth.relative_threshold:.2g}%)"
        value, joint = f"at least {at_least(e.worth.relative_at_least)}", " "
        meaning = f"of perfect foresight's gain over no forecast, {where}.{_useful_to_you(task)}"
    return KeyFigure(about="worth", question="Is it useful?", value=value, meaning=meaning, _joint=joint)


def _useful_to_you(task: TaskResult | None) -> str:
    """Whether the forecast as it is costs the user less than no forecast, as far as an approximate interval tells."""
    plain = None if task is None else task.simplest
    if task is None or plain is None or plain not in task.saved:
        return ""
    saved, rule = task.saved[plain], _DOING[plain]
    if saved.low <= 0 <= saved.high:
        return f" For your costs, {rule} may cost no more."
    return f" As it is, {rule} costs you less." if saved.low > 0 else f" For your costs, {rule} costs more."


def loss_answer(e: Evidence) -> KeyFigure:
    """What does miscalibration cost?"""
    return KeyFigure(
        about="loss",
        question="Miscalibration costs",
        value=f"at most {at_most(min(e.as_is.bound, 1.0))}",
        meaning=f"of what is at stake, {KEEPS_RANKING}.",
        _detail=f" Mean prediction {_share(e.mean_prediction)}, event rate {_share(e.event_rate)}.",
    )


def recalibration_answer(e: Evidence) -> KeyFigure:
    """What would recalibration gain?"""
    c = e.certificate
    if c is None:
        value, joint, meaning = "unknown", ": ", _INDIVISIBLE
    elif e.method == "none":
        value, joint, meaning = "no change", ": ", "no map did better than the probabilities as they are."
    elif e.grade == "avoid" and e.ignored is not None:
        over = f"; over the forecast as it is at least {at_least(c.gain_at_least)} in some decision"
        value, joint = f"at most {at_most(e.ignored)} over no forecast", ", "
        meaning = f"of what is at stake in any decision{over if c.gain_at_least > 0 else ''}."
    elif e.grade == "use":
        gain = f"about {estimate(c.gain_estimate)} of what is at stake ({e.method}, estimate)"
        value, joint, meaning = "not needed", ": ", f"no decision gains more than {gain}."
    elif c.gain_at_least == 0:
        value, joint = "nothing proven", "; "
        meaning = f"it loses at most {at_most(c.harm_bound)} of what is at stake in any decision ({e.method})."
    else:
        value, joint = f"about {estimate(c.gain_estimate)}", " "
        meaning = (
            f"of what is at stake in some decision (estimate; at least {at_least(c.gain_at_least)} proven); none loses "
            f"over {at_most(c.harm_bound)} ({e.method})."
        )
    return KeyFigure(about="recalibration", question="Recalibration gains", value=value, meaning=meaning, _joint=joint)


def cost_answer(task: TaskResult, cost: Interval) -> KeyFigure:
    """What does it cost you? `cost` is that of the forecast as it is."""
    better = "" if task.cost_recalibrated is None else f" recalibrated {interval(task.cost_recalibrated)};"
    others = {"always acting": task.cost_always, "never": task.cost_never}
    named = ", ".join(f"{name} {other.value:.4g}" for name, other in others.items() if other is not None)
    entered = "" if task.errors is None else " False alarm {:g}, miss {:g}.".format(*task.errors)
    return KeyFigure(
        about="cost",
        question="Your cost",
        value=f"{cost.value:.4g} per case",
        meaning=f"as it is ({cost.low:.4g} to {cost.high:.4g});{better} {named}.{entered}",
    )


def answers(e: Evidence, task: TaskResult | None) -> Iterator[KeyFigure]:
    """The answers to the questions that people come with."""
    yield worth_answer(e, task)
    yield loss_answer(e)
    yield recalibration_answer(e)
    if task is not None and task.cost is not None:
        yield cost_answer(task, task.cost)


def _share(share: float) -> str:
    """A share of rows in percent, to three digits."""
    return percent(float(f"{share:.3g}"))


# The next step.


_RULES = {  # of equals, the simplest comes first
    Rule.ALWAYS: "always acting",
    Rule.NEVER: "never acting",
    Rule.AS_IS: "acting on the probabilities as they are",
    Rule.RECALIBRATED: "acting on the recalibrated probabilities",
}
_THRESHOLD = "false-alarm cost / (false-alarm + miss cost)"
_MEANWHILE = {
    Rule.ALWAYS: "always act, whatever the probability",
    Rule.NEVER: "never act, whatever the probability",
    Rule.AS_IS: "use the probabilities as they are{act}",
    Rule.RECALIBRATED: "recalibrate ({method}, as below){act}",
    None: "decide without these probabilities{simple}",
}


def next_step(e: Evidence, task: TaskResult | None, voice: Voice = PYTHON) -> str:
    """What to do now."""
    if e.is_reversed:
        return f"Next: {check_event(e.auroc, voice)}"
    own = cheapest(task, recalibrated=e.grade == "recalibrate")
    if e.grade == "use":
        return _use(task, own)
    if e.grade == "recalibrate":
        apply, act = f"Next: apply the map ({e.method}), as below", _act(task, ", and ", recalibrated=True)
        if task is None or own is None:
            return f"{apply}{act}."
        if own[0] is Rule.RECALIBRATED:
            return f"{apply}{act}. {_own_costs(e, task, own[0])}"
        return f"{apply}. For your costs {own[1]}"
    if e.grade == "avoid":
        return f"Next: use another forecast. Without one, {_simple(e)}.{_without(task)}"
    rule = meanwhile(e, task)
    act = _act(task, ", and ", recalibrated=rule is Rule.RECALIBRATED)
    do = _MEANWHILE[rule].format(method=e.method, act=act, simple=f": {_simple(e)}" * (e.foresight > 0))
    if not e.useful and rule is not Rule.RECALIBRATED and not _priced(e, task):  # a guess: data come first
        return f"Next: get more data. {_more_data(e)} Until then {do}{_why(e, task, rule)}"
    return f"Next: until there is more data, {do}{_why(e, task, rule)} {_more_data(e)}"


def check_event(auroc: float | None, voice: Voice) -> str:
    """What to say about a forecast that is reversed (`is_reversed`)."""
    fewer = f"higher predictions go with fewer events (AUROC {auroc:.2g})"
    return f"check which outcome is the event: {fewer}. {other_event(voice)}"


def other_event(voice: Voice) -> str:
    """What may have been meant by reversed labels."""
    return f"Did you mean 1 - p, or the other outcome as the event ({voice.other_event})?"


def commands(e: Evidence, task: TaskResult | None, voice: Voice = PYTHON) -> tuple[str, ...]:
    """The code or command lines of the next step."""
    applies = e.grade == "recalibrate" or (e.grade == "unknown" and meanwhile(e, task) is Rule.RECALIBRATED)
    return voice.recalibrate if applies and not e.is_reversed else ()


def meanwhile(e: Evidence, task: TaskResult | None) -> Rule | None:
    """The rule to follow until there is a verdict; None is to ignore the forecast.

    With costs it is the rule that costs least by the estimate, which for recalibration comes from few rows: it must
    clearly cost less, or the test reject calibration. A forecast that is proven useful and safe gives way only
    to a rule that clearly costs less. Without costs it is a forecast that is proven useful, or whose Brier score on
    these rows is below that of the event rate; recalibrated, if it is miscalibrated and that seems to gain.
    """
    known, safe = _costs(task), e.useful and e.safe
    if task is not None and _priced(e, task):
        if not e.miscalibrated and not _clearly_saves(task, Rule.RECALIBRATED):
            known.pop(Rule.RECALIBRATED, None)
        rule = _first(known)
        return Rule.AS_IS if safe and not _clearly_saves(task, rule) else rule
    if safe:
        return Rule.AS_IS
    if e.better_recalibrated:
        return Rule.RECALIBRATED
    return Rule.AS_IS if e.useful or e.brier_score < e.brier_without else None


def _act(task: TaskResult | None, before: str = "", *, recalibrated: bool = False) -> str:
    """From which probability on to act, if one says it: the one threshold of the task, or the rule for it."""
    if task is not None and len(task.task.thresholds) != 1:
        return ""
    threshold = _THRESHOLD if task is None else f"{task.task.thresholds[0]:.3g}"
    return f"{before}act on cases with a {'recalibrated ' * recalibrated}probability of at least {threshold}"


def _simple(e: Evidence) -> str:
    """What to do without a forecast."""
    rate = f"{100 * e.event_rate:.3g}% (the event rate)"
    return f"always act if your threshold ({_THRESHOLD}) is below {rate}, otherwise never"


def _why(e: Evidence, task: TaskResult | None, rule: Rule | None) -> str:
    """What speaks for the rule, as far as it is known."""
    if task is not None and rule is not None and _priced(e, task):
        return f". {_own_costs(e, task, rule)}"
    if rule is Rule.RECALIBRATED:
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
    than = "closer" if rule is Rule.AS_IS else "no closer"
    scores = f"Brier score {e.brier_score:.3g} against {e.brier_without:.3g}"
    rate = "the event rate of the other rows"  # for each row
    return f". That is a guess: on these rows they come {than} to the outcomes than {rate} does ({scores})."


def _own_costs(e: Evidence, task: TaskResult, rule: Rule) -> str:
    """What the rule costs the user beside simpler ones, and what it saves."""
    known, saved = _costs(task), task.saved.get(rule)
    best = _first(known)
    if rule is Rule.AS_IS and best is not rule:
        both = f"{known[rule]:.4g} per case, {_DOING[best]} {known[best]:.4g}"
        return f"For your costs that costs {both} (estimates that do not tell which is less)."
    if saved is None:
        return f"For your costs that costs least, {known[rule]:.4g} per case (an estimate)."
    compared = sorted({rule, Rule.AS_IS, task.simplest or rule}, key=lambda other: (known[other], other is not rule))
    costs = ", ".join(f"{_DOING[other]} {known[other]:.4g}" for other in compared)
    # An interval above 0 can stand beside a verdict that nothing is proven.
    about = ", for these costs; a verdict must hold for all" if e.grade == "unknown" and saved.low > 0 else ""
    doubt = "" if saved.low > 0 else ", so perhaps nothing"
    also, plain, over = "", task.simplest, task.saved_over_simple
    if rule is Rule.RECALIBRATED and plain is not None and over is not None and over.low <= 0:
        also = f" Recalibrated is not proven cheaper than {_DOING[plain]}."
    return (
        f"Your cost per case: {costs}. That saves {saved.low:.3g} to {saved.high:.3g} over as it is (approximate"
        f"{about}){doubt}.{also}"
    )


def cheapest(task: TaskResult | None, *, recalibrated: bool) -> tuple[Rule, str] | None:
    """The rule that costs least, and a sentence about it.

    Where recalibration is not the verdict (`recalibrated`), it must clearly cost less than acting on the forecast as it
    is, if that costs less than no forecast.
    """
    known = _costs(task)
    if task is None or not known:
        return None
    rule = _first(known)
    if rule is Rule.RECALIBRATED and not recalibrated and _helps(known) and not _clearly_saves(task, rule):
        both = f"{known[Rule.AS_IS]:.4g} per case as they are, {known[rule]:.4g} recalibrated"
        return Rule.AS_IS, f"acting on the probabilities costs {both} (estimates that do not tell which is less)."
    nothing = ": the forecast gains you nothing" * (rule in (Rule.ALWAYS, Rule.NEVER))
    return rule, f"{_RULES[rule]} costs least, {known[rule]:.4g} per case{nothing} (an estimate)."


def _priced(e: Evidence, task: TaskResult | None) -> bool:
    """Whether the user's costs tell rules apart."""
    return bool(_costs(task)) and e.foresight > 0


def _costs(task: TaskResult | None) -> dict[Rule, float]:
    """The cost of each rule that has one."""
    return {} if task is None else {rule: task.costs[rule].value for rule in _RULES if rule in task.costs}


def _first(known: dict[Rule, float]) -> Rule:
    """The rule that costs least."""
    least = min(known.values())
    return next(rule for rule, cost in known.items() if cost <= least + 1e-12 * abs(least))


def _helps(known: dict[Rule, float]) -> bool:
    """Whether acting on the forecast as it is costs less than always and never acting."""
    return _first({rule: cost for rule, cost in known.items() if rule is not Rule.RECALIBRATED}) is Rule.AS_IS


def _clearly_saves(task: TaskResult, rule: Rule) -> bool:
    """Whether a rule clearly costs less than acting on the forecast as it is: the interval of the saving is above 0."""
    return rule in task.saved and task.saved[rule].low > 0


def _use(task: TaskResult | None, own: tuple[Rule, str] | None) -> str:
    """What to do with a forecast that can be used as it is."""
    costs = _costs(task)
    if own is not None and not _helps(costs):
        return f"Next, for your costs: {own[1]}"
    act = _act(task)
    rule = ": 10% if a miss costs 9 times a false alarm" if task is None else f" ({_THRESHOLD})" * bool(act)
    found = f"Next: {act or 'act on these probabilities'}{rule}."
    if own is None or own[0] is not Rule.RECALIBRATED:
        return found
    less = f"{costs[Rule.RECALIBRATED]:.4g} instead of {costs[Rule.AS_IS]:.4g} per case (an estimate)"
    return f"{found} Recalibrated, they would cost you a little less: {less}."


def _without(task: TaskResult | None) -> str:
    """What costs the user less without a forecast."""
    if task is None or task.cost_always is None or task.cost_never is None:
        return ""
    (least, rule), (more, other) = sorted([(task.cost_always.value, "always"), (task.cost_never.value, "never")])
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


# Several forecasts.


def pair(found: PairwiseComparison) -> str:
    """How two forecasts compare."""
    ways = ((found.a, found.b, found.to_b), (found.b, found.a, found.to_a))
    switches = [_switch(old, new, by) for old, new, by in ways if by is not None]
    said = switches or [f"{found.a} and {found.b} are on different rows."]
    return " ".join(said if found.cost_difference is None else [_difference(found, found.cost_difference), *said])


def _difference(found: PairwiseComparison, cost: Interval) -> str:
    if found.better is None:
        difference = f"the difference is {cost.value:.4g} per case ({cost.low:.4g} to {cost.high:.4g})"
        return f"{found.a} and {found.b} do not differ in cost beyond chance: {difference}."
    more = found.b if found.better == found.a else found.a
    low, high = sorted((abs(cost.low), abs(cost.high)))
    return f"{found.better} costs {abs(cost.value):.4g} less per case than {more} ({low:.4g} to {high:.4g})."


def _switch(old: str, new: str, found: SwitchGuarantee) -> str:
    gain = "no gain is proven"
    if found.gain_at_least:
        gain = f"some decision gains at least {at_least(found.gain_at_least)} of what is at stake"
    return f"From {old} to {new}: {gain}, none loses more than {at_most(found.harm_bound)}."


def pair_limits(found: AssessmentSet) -> str:
    """What the comparisons of all pairs rest on, and how they hold."""
    level = percent(found.confidence_level)
    costs = f"all intervals of differences in cost hold at once with about {level} confidence; "
    return (
        f"Over all pairs, {costs if found.pairs[0].cost_difference else ''}all bounds on switches hold at once with "
        f"{level} confidence. Rows (or groups) must be independent, and no forecast fitted on them."
    )


def _simple_is_cheapest(found: AssessmentSet, first: RankedForecast) -> str | None:
    """What to say if always or never acting costs no more than the cheapest forecast."""
    simple = [rule for rule in (Rule.ALWAYS, Rule.NEVER) if rule in found.references]
    if not simple or first.cost is None:
        return None
    rule = min(simple, key=lambda rule: found.references[rule].value)
    least = found.references[rule].value
    if least > first.cost.value:
        return None
    cost, name = _cheapest_recalibrated(found)
    better = f" Recalibrated, {name} costs {cost:.4g} (an estimate)." if cost < least else ""
    return (
        f"{_DOING[rule].capitalize()} costs least on these rows, {least:.4g} per case: no forecast as it is gains you "
        f"anything; the cheapest is {first.name}, {first.cost.value:.4g}.{better}"
    )


def _cheapest_recalibrated(found: AssessmentSet) -> tuple[float, str]:
    """The smallest cost of a recalibrated forecast, and its name."""
    known = [(one.cost_recalibrated.value, one.name) for one in found.standings if one.cost_recalibrated is not None]
    return min(known, default=(math.inf, ""))


def best_forecast(found: AssessmentSet) -> str:
    """Which of several forecasts, in a sentence."""
    first, many = found.first, len(found)
    if first.cost is not None:
        cost = f"{first.cost.value:.4g} per case"
        if (without := _simple_is_cheapest(found, first)) is not None:
            return without
        if found.best is not None:
            return f"For your costs the best of {many} forecasts is {found.best}: {cost}."
        return f"No forecast is proven to cost least; on these rows it is {first.name}, {cost}."
    if found.best is not None:
        gains = "by switching to it some decision gains more than any loses"
        return f"{found.best} is the best of {many} forecasts: {gains}."
    rest = "the other" if many == 2 else "all others"
    return f"No forecast is proven better than {rest} for all costs: state your costs to rank them."


def first_step(found: AssessmentSet) -> str | None:
    """What to do with the first forecast of the ranking; None if nothing tells it from the others."""
    first = found.first
    verdict = found[first.name].verdict
    if found.best is None and first.cost is None:
        return None
    if _simple_is_cheapest(found, first) is not None:
        return f"{first.name}: {verdict.next_step}"
    said = f"{first.name}: {verdict.headline} {verdict.next_step}"
    cost, other = _cheapest_recalibrated(found)
    if first.cost is None or other == first.name or cost >= first.cost.value:
        return said
    return f"{said} Recalibrated, {other} may cost less: {cost:.4g} per case (an estimate)."


def standings(found: AssessmentSet) -> list[list[str]]:
    """The rows of a table, with its head: the forecasts, best first, and below them the rules without a forecast."""
    one = {standing.name: standing for standing in found.standings}
    ranked = [one[name] for name in found.ranking]
    costs: Mapping[str, list[str]] = {
        "cost per case": ["" if s.cost is None else interval(s.cost) for s in ranked],
        "recalibrated": ["" if s.cost_recalibrated is None else f"{s.cost_recalibrated.value:.4g}" for s in ranked],
    }
    columns = {
        "forecast": [s.name for s in ranked],
        **(costs if any(s.cost is not None for s in ranked) else {}),
        "Brier": [f"{s.brier_score:.4g}" for s in ranked],
        "log": [f"{s.log_score:.4g}" for s in ranked],
        "AUROC": ["" if s.auroc is None else f"{s.auroc:.3f}" for s in ranked],
        "grade": [s.grade for s in ranked],
    }
    lines = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    empty = [""] * (len(columns) - 2)
    return lines + [[f"({LABELS[r].lower()})", interval(cost), *empty] for r, cost in found.references.items()]
