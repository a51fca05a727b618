"""The sentences of an assessment, each made from fields of a result; no code reads a sentence back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from rainproof.core.result import Interval, Result
from rainproof.core.text import (
    at_least,
    at_most,
    one_line,
    p_cell,
    p_value,
    percent,
    rounded,
    rows,
    short,
    these_rows,
)
from rainproof.inference.assumptions import (
    INDEPENDENT,
    KEEPS_RANKING,
    SAME_GIVEN_OUTCOME,
    if_drawn,
    no_heavier,
    population,
    what_varies,
)
from rainproof.verdict.evidence import MANY_ROWS, Rule, saving

if TYPE_CHECKING:
    from rainproof.inference.proven_gains import ProvenGain
    from rainproof.inference.switches import SwitchGuarantee
    from rainproof.measures.scdl import SoftBinnedProfile
    from rainproof.verdict.advice import PredictionSwap, ThresholdAdvice
    from rainproof.verdict.calibration import Calibration
    from rainproof.verdict.costs import TaskResult
    from rainproof.verdict.evidence import Evidence, Savings
    from rainproof.verdict.grades import Grade
    from rainproof.verdict.rankings import AssessmentSet, PairwiseComparison, RankedForecast
    from rainproof.verdict.segments import Segment, SegmentTable

About = Literal[
    "calibration",
    "skill",
    "loss",
    "rounded",
    "recalibration",
    "cost",
    "worth",
    "segments",
    "limits",
    "note",
]
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
HEADS = {rule: rule.value for rule in Rule} | {
    Rule.AS_IS: "as they are",
    Rule.CUTOFF: "best cut-off",
}
DOING = HEADS | {Rule.ALWAYS: "always acting", Rule.NEVER: "never acting"}
_NAMED = 3  # ranges, swaps or segments that a sentence names
_CALIBRATED = (
    "The probabilities match the outcomes of these rows as closely as can be measured: no decision that rests on "
    "them, whatever its costs, would gain by changing actions in hindsight."
)
_INDIVISIBLE = "compressed rows of unequal weight cannot be divided."
_NOT_OF_CASES = " Guarantees are about decisions whose costs are the same in every case."
_RANGE_COSTS = "At a threshold t of the range a false alarm costs t, a miss 1 - t; every threshold counts the same."
# above this p-value nothing is worth a look: every fifth calibrated forecast has a smaller one
_LIKELY = 0.2
# as much as the other error an error may cost in an example; then ten times as much, and so on
_TIMES = (1, 4, 9)


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
    groups : str
        The parameter, or option, that says which rows belong together.
    costs : str
        The parameter, or the options, that state costs.
    base_rate : str
        The parameter, or option, that states the event rate of the population.
    max_weight : str
        The parameter, or option, that states the largest weight of a group.
    decide : tuple of tuple of str
        Code, or command lines, that act on new cases within a capacity: on their probabilities as
        they are, and recalibrated.
    assess : str
        The command line that makes this assessment; empty if it was made in Python.
    """

    recalibrate: tuple[str, ...] = ("a.recalibrator.predict(p_new)",)
    other_event: str = "pos_label"
    own_maps: str = "Recalibrator().fit(p, y, by=...)"
    groups: str = "groups="
    costs: str = "task="
    base_rate: str = "base_rate="
    max_weight: str = "max_weight="
    decide: tuple[tuple[str, ...], tuple[str, ...]] = (
        ("rainproof.decisions.decide(p_new, task, ids, capacity=capacity)",),
        (
            "rainproof.decisions.decide(a.recalibrator.predict(p_new), task, ids, capacity=capacity)",
        ),
    )
    assess: str = ""


PYTHON = Voice()
SHELL = Voice(
    *((), "--pos-label", "rainproof recalibrate with --by", "--groups", "--cost-fp and --cost-fn"),
    *("--base-rate", "--max-weight", ((), ())),
)


class Statement(NamedTuple):
    """One sentence of a verdict, and what it is about."""

    about: About
    text: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class KeyFigure(Result):
    """The answer to one of the questions that people come with.

    Attributes
    ----------
    about : {"calibration", "skill", "cost", "loss"}
        The question.
    question : str
        In words.
    value : str
        The answer, or the number with its unit.
    meaning : str
        What the number is of.
    """

    about: About
    question: str
    value: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.value}, {self.meaning}"


# Numbers.


def share(value: float, digits: int = 2) -> str:
    """A share in percent, to two significant digits; near 100% as many as its complement has."""
    points = round(100 * value, 9)
    near = min(abs(points), abs(100 - points)) if points > 50 else abs(points)
    if not 0 < near < 10:
        return f"{rounded(points, digits - 2)}%"
    return f"{rounded(points, digits - 1 - math.floor(math.log10(near)))}%"


def digits_apart(said: float, happened: float) -> int:
    """As many digits as show that two shares differ."""
    return next((d for d in (2, 3, 4) if share(said, d) != share(happened, d)), 2)


def two_shares(said: float, happened: float) -> tuple[str, str]:
    """Two shares, with as many digits as show that they differ."""
    digits = digits_apart(said, happened)
    return share(said, digits), share(happened, digits)


def span(found: Interval) -> str:
    """The interval of a share."""
    return f"{share(found.low)} to {share(found.high)}"


def skill_span(found: Interval) -> str:
    """The interval of a skill; it has no ends of one draw, no width where every row is treated as
    foresight would.
    """
    if math.isinf(found.low):
        return "no interval: all weight is on one group or row"
    if found.high - found.low < 1e-12:
        return "no interval: no row is treated wrongly"
    return f"{found.low:.2f} to {found.high:.2f}"


def money(amount: float, difference: float = 0.0) -> str:
    """A cost with as many decimals as two digits of a difference need; two digits of its own
    without one.
    """
    scale = abs(difference) or abs(amount) or 1.0
    return rounded(amount, min(max(0, 1 - math.floor(math.log10(scale))), 12))


def interval(cost: Interval) -> str:
    """A cost with its interval, with as many decimals as two digits of its error need."""
    if (by := (cost.high - cost.low) / 2) == 0:
        return f"{cost.value:.3g}"
    return f"{money(cost.value, by)} ({money(cost.low, by)} to {money(cost.high, by)})"


def draws(e: Evidence) -> str:
    """How many rows there are, or groups."""
    return rows(e.n) if e.groups in (None, e.n) else _count(e.groups or 0, "group", "groups")


def note(warning: str) -> str:
    """A warning as a sentence of the verdict."""
    return f"Note: {warning}."


def _count(n: int, one: str, many: str) -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {many}"


# The verdict.


def says_and_happens(c: Calibration) -> tuple[str, str]:
    """The mean prediction and the event rate, in the same digits wherever they are shown."""
    return two_shares(c.mean_prediction, c.event_rate)


def how_off(c: Calibration) -> str:
    """How the predictions are off, in the numbers that people know."""
    said, happened = says_and_happens(c)
    if c.direction in ("too high", "too low", "none") or c.most_biased is None:
        where = f"they say {said} on average, it happens {happened}"
    else:
        said, happened = two_shares(c.most_biased.mean_prediction, c.most_biased.event_rate)
        where = f"where they say {said}, it happens {happened}"
    what = {"none": "", "uneven": "off in places: "}.get(c.direction, f"{c.direction}: ")
    return f"{what}{where}"


def looks(c: Calibration) -> str:
    """What seems to be off where chance can explain it."""
    worst = c.most_biased
    if worst is None or c.p_value > _LIKELY:
        return f"{how_off(c).capitalize()}; that can be chance ({p_value(c.p_value)})."
    seen = f"{worst.events:,.0f} of {worst.n:,.0f} cases"
    return (
        f"Where they say {share(worst.mean_prediction)}, it happened in {seen}, but chance could do that "
        f"({p_value(c.p_value)})."
    )


def _which(e: Evidence) -> str:
    """Which decisions a statement is about, after the word; nothing if about every one."""
    return "" if e.within is None else f" {e.within}"


def _best_decision(e: Evidence) -> str:
    """The decision that an estimate of what recalibration gains is about."""
    return f"decision{_which(e)}{'' if _one_threshold(e) else ' that gains most'}"


def _one_threshold(e: Evidence) -> bool:
    return e.within is not None and e.within.low == e.within.high


def headline(e: Evidence, task: TaskResult | None) -> str:
    """The verdict, for which decisions, and whether the forecast is honest."""
    said = _headline(e, task)
    if e.within is None or e.rarer == 0 or e.is_reversed:
        return said
    return f"For decisions {e.within}: {said[0].lower()}{said[1:]}"


def _headline(e: Evidence, task: TaskResult | None) -> str:
    c, unit = e.calibration, "groups" if e.groups not in (None, e.n) else "rows"
    if e.rarer == 0:
        return (
            f"{'There' if e.auroc is None else 'By weight there'} is one outcome only: no verdict."
        )
    if e.is_reversed:
        return f"Check which outcome is the event: the higher the probability, the rarer it is (AUROC {e.auroc:.2g})."
    off = f"{how_off(c)} (not chance: {p_value(c.p_value)})"
    if e.indivisible:
        said = f"These probabilities are {off}." if c.rejected else looks(c)
        return f"{said} No grade: of compressed rows of unequal weight, skill, costs and a map cannot be estimated."
    if e.grade == "recalibrate" and e.saved is not None and e.saved.low <= 0:
        return f"These probabilities are {off}. {mends(e.saved)}"
    if e.grade == "recalibrate":
        return f"Recalibrate first. These probabilities are {off}."
    if e.grade == "avoid" and e.constant:
        said, happened = says_and_happens(c)
        return f"Do without them. They say {said} for every case; it happens in {happened}."
    if e.grade == "avoid":
        if task is not None and len(task.task.thresholds) == 1:
            at = share(task.task.thresholds[0])
            return f"You can do without them: at your threshold ({at}) they gain next to nothing."
        if task is not None and Rule.FIXED in task.costs:
            return "You can do without them: in your decision they gain next to nothing."
        if task is not None and task.task.profile.per_case:
            return (
                "You can do without them: at the threshold of each case they gain next to nothing."
            )
        if e.within is not None:
            return "Do without them. They gain next to nothing, even recalibrated by the maps tried here."
        higher = "Where they are higher, the event is hardly more frequent"
        return f"Do without them. {higher}, even recalibrated by the maps tried here."
    if e.grade == "use" and not c.rejected:
        clear = "clear " * (c.p_value <= _LIKELY)
        return f"Use them. {draws(e)} show no {clear}sign of miscalibration: {how_off(c)} ({p_value(c.p_value)})."
    if e.grade == "use":
        rather = "gains next to nothing" if e.negligible else "does not lower your cost"
        if e.within is not None and not e.negligible and (e.saved is None or e.saved.high > 0):
            rather = "shows no gain in these decisions"
        if e.by_rank:
            rather = "is not shown to improve their order, which alone counts within your capacity"
        return f"Use them. They are {off}, but correcting that {rather}."
    if c.rejected and not e.by_rank:
        return f"These probabilities are {off}, but {draws(e)} are too few to be sure that a correction helps."
    seen = f"They are {off}." if c.rejected else looks(c)
    if e.events is None:
        return f"Too few {unit} to be sure ({e.n if unit == 'rows' else e.groups:,}). {seen}"
    return f"Too few {_rarer(e)[1]} to be sure ({e.events:,} in {draws(e)}). {seen}"


def mends(saved: Interval) -> str:
    """What recalibrating does where it is not shown to lower the user's cost."""
    if saved.value < 0:
        return "For your costs it is not clear whether recalibrating pays."
    return "Recalibrating mends that; whether it lowers your cost is not clear."


def _rarer(e: Evidence) -> tuple[str, str]:
    """What rows with the rarer outcome are called, one and many."""
    if e.calibration.event_rate < 0.5:
        return "event", "events"
    return "case without the event", "cases without the event"


def reason(e: Evidence, task: TaskResult | None, rule: Rule | None) -> str:
    """The money, if there are costs; else the size of the effect in one number."""
    if e.rarer == 0:
        one = f"{e.calibration.event_rate:.0f}"
        return (
            f"All outcomes on {these_rows(e.n)} are {one}."
            if e.auroc is None
            else f"Almost all of the weight of {these_rows(e.n)} has the outcome {one}; the rest is too small to count."
        )
    if task is not None and rule is not None and rule in task.costs:
        doing = {one: _doing(task, one) for one in DOING}
        cutoff = "" if e.grade == "avoid" else _cutoff(task)
        own_skill = e.skill_as_is if rule is Rule.AS_IS else e.skill  # in this very decision
        shown = own_skill is None or own_skill.low > 0 or e.grade == "avoid"
        named = [Rule.CUTOFF] if cutoff else []
        others = cheaper(task, rule, doing, _costs_shown(task), partial(_against, e), named)
        return f"{your_cost(task, rule, doing, shown=shown)}{cutoff}{others}"
    return f"{_effect(e)}{_range_cheaper(e, rule)}"


def _effect(e: Evidence) -> str:
    """The size of the effect in one number."""
    if e.grade == "recalibrate" and e.gain is not None:
        gain = e.gain.share
        example = (
            ""
            if _one_threshold(e) or gain.low <= 0
            else f" (such as: act from {share(e.gain.threshold)} on)"
        )
        return f"In the {_best_decision(e)}{example}, {gains(gain)}{_foresight(e, gain.high)}."
    if e.grade == "use" or e.skill is None:
        return f"{_loss(e)}{_foresight(e, 0.0)}."
    if e.grade == "avoid":
        if e.constant:
            return "A constant says nothing about a single case that the event rate does not say."
        return little_skill(e.skill)
    return skill_found(e.skill)


def little_skill(skill: Interval) -> str:
    """How little the recalibrated forecast gains."""
    most = f"at most {share(max(skill.high, 0.0))} of what perfect foresight would gain over no forecast"
    level = percent(skill.confidence_level)
    return f"Recalibrated by the maps tried, they gain {most} (upper end of a {level} interval)."


def skill_found(skill: Interval) -> str:
    """The skill, and whether it is shown."""
    number = f"skill {skill.value:.2f} ({skill_span(skill)}); 1 is perfect, 0 is none."
    return (
        f"S{number[1:]}"
        if skill.low > 0
        else f"It is not clear whether they gain over no forecast: {number}"
    )


def gains(gain: Interval) -> str:
    """What recalibrating gains in a decision."""
    if gain.low > 0:
        return f"recalibrating gains about {share(gain.value)} of what is at stake ({span(gain)})"
    most, level = f"at most {share(max(gain.high, 0.0))}", percent(gain.confidence_level)
    if gain.value > 0:
        most = (
            f"about {share(gain.value)} of what is at stake (nothing, or {most}: {level} interval)"
        )
        return f"recalibrating gains {most}"
    return f"recalibrating gains {most} of what is at stake ({level} interval)"


def _foresight(e: Evidence, gained: float) -> str:
    """Why shares of what is at stake are small where an outcome is rare: so is what there is to
    gain.
    """
    # more than that can only be gained over harm that the forecast does
    if not e.rare or gained > e.rarer:
        return ""
    return f"; {_rarer(e)[1]} are rare: even perfect foresight gains at most {share(e.rarer)} over no forecast"


def _loss(e: Evidence) -> str:
    level = percent(e.confidence_level)
    if e.guarantee.bound >= 1:
        return f"{draws(e)} guarantee nothing: the expected loss may be all that is at stake"
    most = f"at most {at_most(e.guarantee.bound)} of what is at stake in any decision{_which(e)}"
    return f"Acting on them loses {most} ({level} confidence)"


def _doing(task: TaskResult | None, rule: Rule) -> str:
    if task is not None and rule is Rule.FIXED:
        return _name(task, rule)
    return (
        "acting at random"
        if rule is Rule.ALWAYS and task is not None and task.capacity is not None
        else DOING[rule]
    )


def _name(task: TaskResult, rule: Rule) -> str:
    """What a rule is called inside a sentence; actions keep their capitals."""
    name = task.name(rule)
    return f"{name[0].lower()}{name[1:]}"


def your_cost(known: Savings, rule: Rule, doing: Mapping[Rule, str], *, shown: bool = True) -> str:
    """What a way of acting costs beside the forecast as it is, or beside none, if it is `shown`
    which is less.
    """
    costs = {one: cost.value for one, cost in known.costs.items()}
    simplest = known.simplest
    if rule is Rule.AS_IS:
        assert simplest is not None  # it has costs
        own, simple = (money(costs[one], costs[simplest] - costs[rule]) for one in (rule, simplest))
        less = _which_is_less(known, rule, simplest, shown=shown)
        return (
            f"Your cost is {own} per case; without them it is {simple} ({doing[simplest]}){less}."
        )
    saved, before = known.saved[rule], costs[Rule.AS_IS]
    now, then, low, high = (
        money(x, saved.value) for x in (costs[rule], before, saved.low, saved.high)
    )
    without = ""
    if simplest is not None and _names_simplest(known, rule, shown=shown):
        less = _which_is_less(known, rule, simplest, shown=shown)
        without = (
            f" Without them it is {money(costs[simplest], saved.value)} ({doing[simplest]}){less}."
        )
    if saved.value == 0:
        return f"Your cost is {money(before)} per case, {doing[rule]} or as they are.{without}"
    if saved.low > 0:
        return f"Your cost falls from {then} to {now} per case, {doing[rule]} (saves {low} to {high}).{without}"
    clear = "it is not clear which is less" if saved.high > 0 else "that costs more"
    return f"Your cost is {then} per case as they are, {now} {doing[rule]}; {clear} (saves {low} to {high}).{without}"


def _names_simplest(known: Savings, rule: Rule, *, shown: bool) -> bool:
    """Whether the sentence about the cost names the cheapest way to act without the forecast."""
    simplest = known.simplest
    if simplest is None or simplest is rule:
        return False
    costs = known.costs
    most = max(costs[Rule.AS_IS].value, costs[rule].value)
    return rule is Rule.AS_IS or costs[simplest].value <= most or not shown


def _which_is_less(known: Savings, rule: Rule, simplest: Rule, *, shown: bool) -> str:
    """What to say where acting without the forecast costs less by the estimates, or may do so."""
    if known.costs[simplest].value < known.costs[rule].value:
        saved = saving(known, rule, simplest)
        why = (
            "but that is not established"
            if saved is None or saved.low <= 0
            else "but recalibrated they have skill"
        )
        return f", which is less by the estimates, {why}"
    return "" if shown else "; it is not clear which is less"


def cheaper(
    known: Savings,
    rule: Rule,
    doing: Mapping[Rule, str],
    amounts: Mapping[Rule, str],
    against: Callable[[Rule, Interval | None], str],
    named: Sequence[Rule] = (),
) -> str:
    """The ways of acting that cost less than the one advised, by the estimates, and why they are
    not advised.

    Those that `your_cost` names are left out, as are those that are `named` elsewhere.
    """
    known_already = {rule, Rule.AS_IS, Rule.PERFECT, *named}
    if known.simplest is not None and _names_simplest(known, rule, shown=True):
        known_already.add(known.simplest)
    others = [other for other in known.costs if other not in known_already]
    less = [other for other in others if known.costs[other].value < known.costs[rule].value]
    ways = {other: (doing[other], against(other, saving(known, rule, other))) for other in less}
    return _less_by_estimate(ways, amounts, amounts[rule])


def _less_by_estimate(
    ways: Mapping[Rule, tuple[str, str]], amounts: Mapping[Rule, str], own: str
) -> str:
    """The ways of acting and the reasons against them, by whether their amounts as shown differ
    from that advised.
    """
    less = [
        f"{name} {amounts[rule]} ({why})"
        for rule, (name, why) in ways.items()
        if amounts[rule] != own
    ]
    same = [name for rule, (name, _) in ways.items() if amounts[rule] == own]
    said = f" Less by the estimates, but not advised: {'; '.join(less)}." if less else ""
    return said + (f" As much: {'; '.join(same)}." if same else "")


def _against(e: Evidence, other: Rule, saved: Interval | None) -> str:
    """Why a way of acting is not advised that costs less by the estimate."""
    if other is Rule.CUTOFF:
        return "for these costs alone"
    return not_advised(e.grade, saved, rejected=e.calibration.rejected)


def not_advised(grade: Grade, saved: Interval | None, *, rejected: bool) -> str:
    """Why the evidence does not speak for a way of acting that is estimated to save something."""
    if grade == "avoid":
        return "next to nothing is gained"
    if saved is None or saved.low <= 0:
        return "not established"
    return (
        "correcting gains next to nothing in any decision"
        if rejected
        else "calibration is not rejected"
    )


def _range_cheaper(e: Evidence, rule: Rule | None) -> str:
    """The same on average over the decisions of a range."""
    known = e.range_costs
    if known is None or e.constant:
        return ""
    own = known.without_forecast if rule is None else known.costs[rule]
    amounts = _range_costs(e)
    ways: dict[Rule, tuple[str, str]] = {}
    for other, cost in known.costs.items():
        if other not in (rule, Rule.PERFECT) and cost.value < own.value:
            saved = saving(known, rule, other)
            why = not_advised(e.grade, saved, rejected=e.calibration.rejected)
            if e.grade == "recalibrate" and saved is not None and saved.low > 0:
                why = "recalibration gains where most is at stake"
            ways[other] = (DOING[other], why)
    return _less_by_estimate(ways, amounts, "" if rule is None else amounts[rule])


def _cutoff(task: TaskResult) -> str:
    """The best cut-off, where it costs less than every other rule, by more than rounding."""
    costs, shown, at = task.costs, _costs_shown(task), task.best_threshold
    if Rule.CUTOFF not in costs or at is None or at > 1:
        return ""
    others = [rule for rule in costs if rule not in (Rule.CUTOFF, Rule.PERFECT)]
    if any(
        costs[rule].value <= costs[Rule.CUTOFF].value or shown[rule] == shown[Rule.CUTOFF]
        for rule in others
    ):
        return ""
    return f" Without a map: acting from {share(at)} on as they are costs least, {shown[Rule.CUTOFF]} by the estimate."


def costs_shown(by_rule: Mapping[Rule, Interval], saved: Interval | None = None) -> dict[Rule, str]:
    """The costs with as many digits as tell the smallest, a hundredth of the largest, or what is
    surely `saved`.
    """
    sizes = [abs(cost.value) for cost in by_rule.values() if cost.value] or [1.0]
    digits = max(min(sizes), max(sizes) / 100)
    if saved is not None and saved.low > 0:
        digits = min(digits, saved.value)
    return {rule: money(cost.value, digits) for rule, cost in by_rule.items()}


def _range_costs(e: Evidence) -> dict[Rule, str]:
    """The costs in the decisions of a range, for the table."""
    if e.range_costs is None:
        return {}
    return costs_shown(e.range_costs.costs, e.range_costs.saved.get(Rule.RECALIBRATED))


def _costs_shown(task: TaskResult) -> dict[Rule, str]:
    return costs_shown(task.costs, task.saved.get(Rule.RECALIBRATED))


def next_step(e: Evidence, task: TaskResult | None, rule: Rule | None, voice: Voice) -> str:
    """What to do now, from which threshold on, and how many cases that flags."""
    return f"Next: {_step(e, task, rule, voice, e.grade)}"


def _step(
    e: Evidence, task: TaskResult | None, rule: Rule | None, voice: Voice, grade: Grade
) -> str:
    if e.rarer == 0:
        return "get rows with both outcomes."
    if e.is_reversed:
        return other_event(voice)
    if e.indivisible:
        rows_instead = f"for a grade, assess rows that are not compressed: {MANY_ROWS:,}, drawn at random, or fewer."
        limited = task is not None and task.capacity is not None
        return rows_instead if limited else f"{rows_instead} Until then {_act(e, task, rule)}"
    first = "apply the map, then " * (rule is Rule.RECALIBRATED)
    if grade == "avoid":
        first = "use another forecast. Until then "
    if grade == "unknown":
        first = (
            f"until there are more {'groups' if e.groups not in (None, e.n) else 'rows'}, {first}"
        )
    return f"{_chosen(e, voice)}{first}{_act(e, task, rule)}"


def _chosen(e: Evidence, voice: Voice) -> str:
    """What comes first if rows may have been chosen by outcome: everything is about another
    population then.
    """
    if not e.chosen:
        return ""
    happens = says_and_happens(e.calibration)[1]
    state = (
        f"assess them again with the event rate where the forecast will be used ({voice.base_rate})"
    )
    return f"if rows were chosen by outcome ({happens} have the event), {state}: all of this is about {happens}. Else "


def _act(e: Evidence, task: TaskResult | None, rule: Rule | None) -> str:
    if rule is Rule.ALWAYS and task is not None and task.capacity is not None:
        return f"act on {share(task.capacity)} of the cases, whichever."
    if rule is Rule.FIXED and task is not None:
        return f"always take {task.fixed_action!r}."
    if rule in (Rule.ALWAYS, Rule.NEVER):
        return f"{rule.value} act."
    if (
        rule is None
        and e.within is not None
        and not e.within.low <= e.calibration.event_rate <= e.within.high
    ):
        return f"{'always' if e.within.high < e.calibration.event_rate else 'never'} act."
    if rule is None:
        rate = f"{says_and_happens(e.calibration)[1]} (the event rate)"
        return f"act always if you act from less than {rate} on, else never."
    if task is None:
        if e.within is None:
            return f"act from your own threshold on ({_example(e.calibration.event_rate)})."
        low, high = map(percent, e.within)
        return (
            f"act from {low} on."
            if low == high
            else f"act from your own threshold on, between {low} and {high}."
        )
    flagged = f" That flags {share(task.acted[rule])} of the cases." if rule in task.acted else ""
    if task.capacity is not None and rule in task.one_more:
        return _within_capacity(e, task, rule, task.capacity)
    if len(task.task.thresholds) == 1:
        return f"act from {share(task.task.thresholds[0])} on.{flagged}"
    if task.task.profile.per_case:
        own = (
            "what a false alarm costs there, divided by what a false alarm and a miss cost together"
        )
        return f"act on each case from its own threshold on: {own}.{flagged}"
    return "take the action that is best for the probability."


def _example(rate: float) -> str:
    """A threshold of round numbers near the event rate, and the costs that it belongs to."""
    odds = (1 - rate) / rate
    often = max(odds, 1 / odds)
    known = [(k + 1) * 10**tens - 1 for tens in range(6) for k in _TIMES]
    times = min(known, key=lambda k: abs(math.log(k / often)))
    if times == 1:
        return "50% if a miss costs as much as a false alarm"
    one, other = ("a miss", "a false alarm") if odds > 1 else ("a false alarm", "a miss")
    at = 1 / (1 + times) if odds > 1 else times / (1 + times)
    return f"{percent(at)} if {one} costs {times:,} times {other}"


def _one_more(e: Evidence, task: TaskResult) -> dict[Rule, float]:
    """What one more case gains, by probabilities that are not shown to be off where there are such."""
    off = e.calibration.rejected and Rule.RECALIBRATED in task.one_more
    return {rule: gain for rule, gain in task.one_more.items() if not (off and rule is Rule.AS_IS)}


def _within_capacity(e: Evidence, task: TaskResult, rule: Rule, capacity: float) -> str:
    """What to do within a capacity, and what one more case is worth."""
    most = share(capacity)
    if task.acted[rule] < capacity - 1e-9:
        flags = (
            f"That flags {share(task.acted[rule])} of the cases, less than your capacity of {most}"
        )
        return f"act wherever it pays by the probabilities. {flags}."
    worth = _one_more(e, task)
    by = rule if rule in worth else Rule.RECALIBRATED
    better = "recalibrated " * (by is Rule.RECALIBRATED)
    more = f"One more case would gain about {money(worth[by])}, by the {better}probabilities"
    which = "with the highest probabilities"
    if task.task.profile.per_case:
        formula = "the probability times what a miss costs, less 1 minus the probability times what a false alarm costs"
        which = f"where it gains most ({formula})"
    return f"act on the {most} of the cases {which}. {more}."


def commands(
    e: Evidence, task: TaskResult | None, rule: Rule | None, voice: Voice = PYTHON
) -> tuple[str, ...]:
    """The code or command lines of the next step."""
    if e.is_reversed or e.indivisible or rule not in (Rule.AS_IS, Rule.RECALIBRATED):
        return ()
    better = rule is Rule.RECALIBRATED
    if task is not None and task.capacity is not None:
        return voice.decide[better]
    return voice.recalibrate if better else ()


def check_event(auroc: float | None, voice: Voice) -> str:
    """What to say about a forecast that is reversed (`is_reversed`)."""
    fewer = f"the higher the probability, the rarer it is (AUROC {auroc:.2g})"
    return f"check which outcome is the event: {fewer}. {other_event(voice)}"


def other_event(voice: Voice) -> str:
    """What may have been meant by reversed labels."""
    return f"Did you mean 1 - p, or the other outcome as the event ({voice.other_event})?"


def table(e: Evidence, task: TaskResult | None) -> list[list[str]]:
    """A column for each way of acting, a row for each number; the first row has the heads. Nothing
    of a constant.
    """
    rules, body, heads = (
        [Rule.AS_IS, *[Rule.RECALIBRATED] * (e.gain is not None)],
        _of_costs(e, task),
        dict(HEADS),
    )
    if task is not None and body:
        rules = [rule for rule in Rule if rule in task.costs]
        if task.best_threshold is not None and task.best_threshold <= 1:
            heads[Rule.CUTOFF] += f" {share(task.best_threshold)}"
        heads[Rule.ALWAYS] = "always" if task.capacity is None else "at random"
        heads[Rule.FIXED] = _name(task, Rule.FIXED)
    elif e.range_costs is not None:
        rules = [rule for rule in Rule if rule in e.range_costs.costs]
        heads |= {Rule.ALWAYS: "always", Rule.NEVER: "never"}
        body = [("cost per case, mean over the range", _range_costs(e))]
        if _one_threshold(e):
            body = [("cost per case", _range_costs(e))]
    if e.constant:  # whatever is done by it is one of the rules without it
        rules = [
            rule for rule in rules if rule in (Rule.ALWAYS, Rule.NEVER, Rule.FIXED, Rule.PERFECT)
        ]
    else:
        body += _of_forecast(e)
    lines = [[name, *(cells.get(rule, "") for rule in rules)] for name, cells in body if cells]
    return [["", *(heads[rule] for rule in rules)], *lines] if lines else []


def _of_costs(e: Evidence, task: TaskResult | None) -> list[tuple[str, dict[Rule, str]]]:
    """The lines of the table about the user's own decision."""
    if task is None or not task.costs:
        return []
    acted = {rule: share(acted) for rule, acted in task.acted.items()}
    totals = (
        {rule: f"{total:,.0f}" for rule, total in task.totals.items()}
        if task.task.profile.per_case
        else {}
    )
    worth = {rule: money(gain) for rule, gain in _one_more(e, task).items()}
    lines = {"cost per case": _costs_shown(task), "cost in total": totals, "cases acted on": acted}
    return [*lines.items(), ("one more case gains", worth)]


def _of_forecast(e: Evidence) -> list[tuple[str, dict[Rule, str]]]:
    """The lines of the table about the forecast, as it is and recalibrated."""
    c = e.calibration
    as_is, happens = says_and_happens(c)
    said, loss = {Rule.AS_IS: as_is}, {Rule.AS_IS: at_most(min(e.guarantee.bound, 1.0))}
    if e.gain is not None:
        said[Rule.RECALIBRATED] = share(
            e.gain.mean_prediction, digits_apart(c.mean_prediction, c.event_rate)
        )
    if e.certificate is not None and e.gain is not None:
        loss[Rule.RECALIBRATED] = f"{at_most(min(e.certificate.loss_bound, 1.0))}*"
    skills = {Rule.AS_IS: e.skill_as_is, Rule.RECALIBRATED: e.skill}
    return [
        (f"say on average (happens {happens})", said),
        (
            "skill (1 perfect, 0 none)",
            {rule: f"{round(x.value, 2) + 0.0:.2f}" for rule, x in skills.items() if x is not None},
        ),
        (
            "any decision loses at most" if e.within is None else "these decisions lose at most",
            loss,
        ),
    ]


def basis(e: Evidence, task: TaskResult | None, advised: Rule | None, voice: Voice) -> str:
    """What the numbers rest on."""
    drawn = f", taken as independent draws from the cases you will act on (rows that belong together: {voice.groups})"
    if e.base_rate is not None:
        drawn = ", taken as independent draws given their outcomes"
    elif e.groups is None and e.max_weight is None:
        drawn += f"; {sizes}" if (sizes := _sizes(e, voice)) else ""
    else:
        some = "" if e.groups is None else f" in {_count(e.groups, 'group', 'groups')}"
        drawn = f"{some}, taken as independent; {_sizes(e, voice)}"
    but = " (for your costs: as they are)" * (e.grade == "recalibrate" and advised is Rule.AS_IS)
    said = f"Grade: {e.grade}{but}. {rows(e.n)}{drawn}."
    shown = ["costs"] * bool((task is not None and task.costs) or e.range_costs is not None)
    shown += [f"skill ({_where(e, task)})"] * (e.skill is not None and not e.constant)
    if shown:
        of = " and ".join(shown)
        said += f" {of[0].upper()}{of[1:]} {'are estimates' if of.startswith('costs') else 'is an estimate'}"
        chosen = "recalibrated" + ", best cut-off" * (
            task is not None and Rule.CUTOFF in task.costs
        )
        said += f"{f' ({chosen}: cross-validated)' * (e.gain is not None and not e.constant)}."
    if e.range_costs is not None:
        said += f" {_RANGE_COSTS}"
    said += _population(e)
    if e.constant:
        return said
    kept = ""
    if e.certificate is not None and e.gain is not None:
        kept = f" (*: from {rows(e.certificate.n)} that the map was not fitted to, which prove less than all {e.n:,})"
    level = percent(e.confidence_level)
    stakes = "what is at stake" + (f" in decisions {e.within}" if e.within is not None else "")
    alike = _NOT_OF_CASES * (task is not None and task.task.profile.per_case)
    return f"{said} Losses are shares of {stakes}, proven at {level} confidence{kept}, {KEEPS_RANKING}.{alike}"


def _sizes(e: Evidence, voice: Voice) -> str:
    """What is assumed of the sizes of groups, or of weights; nothing if there are none."""
    if e.max_weight is not None:
        return f"{no_heavier(e.groups, e.max_weight)}, as stated"
    if e.base_rate is not None:
        return ""
    fixed = what_varies(e.groups, weighted=e.guarantee.weighted)
    such = ", such as survey or cost weights," * (fixed == "weights")
    return f"{fixed}{such} must {INDEPENDENT}, else state {voice.max_weight}" if fixed else ""


def _where(e: Evidence, task: TaskResult | None) -> str:
    """The decision that skill is about."""
    own, rate = () if task is None else task.task.thresholds, e.calibration.event_rate
    if task is not None and Rule.FIXED in task.costs:
        return "in your task"
    if task is not None and task.task.profile.per_case:
        where = "at the threshold of each case"
    elif len(own) == 1:
        where = f"at your threshold, {share(own[0])}"
    elif e.within is not None and not e.within.low <= rate <= e.within.high:
        near = e.within.low if rate < e.within.low else e.within.high
        where = f"at the threshold {share(near)}, of your range the nearest to the event rate"
    else:
        where = f"at the threshold {says_and_happens(e.calibration)[1]}, the event rate"
    return where if task is None or task.capacity is None else f"{where}, within the capacity"


def _population(e: Evidence) -> str:
    """Which population all numbers are about, if it is not that of the rows, and what that assumes."""
    if e.base_rate is None:
        return ""
    middle = f"; of a range, estimates are for {percent(float(f'{e.calibration.event_rate:.3g}'))}"
    return (
        f" All numbers are about {population(e.base_rate)}, if {SAME_GIVEN_OUTCOME}"
        f"{middle if isinstance(e.base_rate, tuple) else ''}."
    )


def answers(e: Evidence, task: TaskResult | None, rule: Rule | None) -> Iterator[KeyFigure]:
    """The answers to the questions that people come with."""
    c = e.calibration
    verdict = c.direction.capitalize() if c.rejected else "No sign against it"
    happens = f"{how_off(c).partition(': ')[2] or how_off(c)} ({p_value(c.p_value)})."
    yield KeyFigure(about="calibration", question="Calibrated?", value=verdict, meaning=happens)
    value, meaning = "not defined", _no_skill(e)
    if e.skill is not None:
        value = f"{e.skill.value:.2f}"
        meaning = (
            f"recalibrated ({skill_span(e.skill)}), {_where(e, task)}; 1 is perfect, 0 is none."
        )
    yield KeyFigure(about="skill", question="Skill", value=value, meaning=meaning)
    if task is not None and task.cost is not None:
        before, now = task.cost.value, task.costs.get(rule or Rule.AS_IS, task.cost).value
        entered = (
            "" if task.errors is None else " False alarm {:g}, miss {:g}.".format(*task.errors)
        )
        entered = " Costs of each case." if task.task.profile.per_case else entered
        value = money(before)
        if before != now:
            value = f"{money(before, before - now)} \u2192 {money(now, before - now)}"
        how = _doing(task, rule or Rule.AS_IS)
        yield KeyFigure(
            about="cost", question="Your cost", value=value, meaning=f"per case, {how}.{entered}"
        )
    most = f"at most {at_most(min(e.guarantee.bound, 1.0))}"
    meaning = (
        f"of what is at stake in any decision{_which(e)}, acting on them as they are "
        f"({percent(e.confidence_level)} confidence)."
    )
    yield KeyFigure(about="loss", question="Guarantee: loses", value=most, meaning=meaning)


def _tested(e: Evidence) -> str:
    c = e.calibration
    p, groups = (
        p_value(c.p_value),
        "" if e.groups in (None, e.n) else ", over groups, approximately",
    )
    if c.by_bets:
        groups = ", by bets on whole clusters"
    if c.rejected:
        return (
            f"The test rejects perfect calibration ({p}{groups}): they are {how_off(c)}. If the probabilities were "
            "right, a mismatch as large as on these rows would be that unlikely."
        )
    return (
        f"The test does not reject perfect calibration ({p}{groups}): chance alone can explain the mismatch on these "
        "rows. That does not prove that the probabilities are right."
    )


def _no_skill(e: Evidence) -> str:
    """Why skill is not defined."""
    if e.rarer > 0:
        return _INDIVISIBLE
    return f"all outcomes are the same{', by weight' * (e.auroc is not None)}."


def _skill(e: Evidence, task: TaskResult | None) -> str:
    if e.skill is None:
        return f"Skill is not defined: {_no_skill(e)}"
    raw = "" if e.skill_as_is is None else f"; as they are {e.skill_as_is.value:.2f}"
    area = "" if e.auroc is None else f" AUROC {e.auroc:.3f}."
    simple = f"the better of {'always' if task is None or task.capacity is None else 'acting at random'} and never acting"
    if task is not None and Rule.FIXED in task.costs:
        simple = "the best fixed action"
    return (
        f"Skill {e.skill.value:.2f} ({skill_span(e.skill)}), recalibrated{raw}: what acting on them "
        f"gains over no forecast ({simple}), as a share of what perfect foresight would "
        f"gain, {_where(e, task)}. Maps are judged on rows that they were not fitted to.{area}"
    )


def _as_is(e: Evidence) -> str:
    level, g = percent(e.confidence_level), e.guarantee
    if g.bound >= 1:
        return f"With {level} confidence these rows guarantee nothing: the expected loss may be all that is at stake."
    return (
        f"Acting on the probabilities as they are, with {level} confidence, the expected loss of every "
        f"decision{_which(e)}, whatever its costs, is at most {at_most(g.bound)} of {STAKES}, {KEEPS_RANKING} (a map "
        f"of the probability that never falls). On these rows it is {at_most(g.plug_in)}; the rest allows for chance. "
        f"This is an average over the population{' that these rows came from' * (e.base_rate is None)}; chance comes "
        "on top in any batch of new rows."
    )


def _rounded(e: Evidence) -> str:
    g, what = e.rounded_guarantee, "they have no guarantee either"
    if g.bound < 1:
        these = " of these decisions" * (e.within is not None)
        what = f"the expected loss{these} is at most {at_most(g.bound)}, {FIXED_CHANGE}, monotone or not"
    return f"Rounded at random to multiples of 1/{g.grid}, {what}."


def _recalibration(e: Evidence) -> str:
    if e.gain is None:
        return "Recalibration was not tried: no map can be fitted to these rows."
    gain, c = e.gain.share, e.certificate
    found = (
        f"Recalibration gains {share(gain.value)} ({span(gain)}) of what is at stake in the yes-or-no "
        f"{_best_decision(e)} (estimate: maps and decision were chosen on other rows than those that judge them)."
    )
    if c is None:
        return f"{found} The map is fitted to all rows, so nothing is proven of it: they are too few to spare some."
    proven = (
        f"there is a decision{_which(e)} that gains at least {at_least(c.gain_at_least)}"
        if c.gain_at_least > 0
        else "no gain is proven"
    )
    return (
        f"{found} Of the map itself, on {rows(c.n)} that it was not fitted to: {proven}, and every "
        f"decision{_which(e)} loses at most {at_most(c.harm_bound)} by using it. Acting on the recalibrated "
        f"probabilities loses at most {at_most(c.loss_bound)} in any decision{_which(e)}, {KEEPS_RANKING}."
    )


def _all_costs(task: TaskResult) -> str:
    shown = "; ".join(f"{_name(task, rule)} {interval(cost)}" for rule, cost in task.costs.items())
    return (
        f"Your decision, cost per case on {rows(task.n)}, with approximate intervals: {shown}. Maps and cut-offs are "
        f"judged on rows that they were not fitted to.{_NOT_OF_CASES * task.task.profile.per_case}"
    )


def worth(found: ProvenGain | None, confidence_level: float) -> str:
    """What the forecast is proven to be worth over no forecast."""
    if found is None:
        return f"What the forecast is worth was not computed: {_INDIVISIBLE}"
    over = "the better of always and never acting"
    if not found.proven:
        which = "" if found.threshold_range is None else f" {found.threshold_range}"
        return f"These rows do not prove that there is a decision{which} that gains by this forecast over {over}."
    where = (
        "a threshold at"
        if found.threshold_range is None
        else f"a decision {found.threshold_range} for"
    )
    return (
        f"With {percent(confidence_level)} confidence, there is {where} which this forecast, as it is, gains at "
        f"least {at_least(found.relative_at_least)} of what perfect foresight would gain over no forecast ({over}), in "
        "expectation."
    )


def limits(e: Evidence, voice: Voice) -> str:
    """What the statements rest on, and how they hold."""
    drawn = f"{rows(e.n)} were drawn independently from the cases that will be acted on"
    if e.base_rate is not None:
        drawn = f"{rows(e.n)} were drawn independently given their outcomes"
    intervals = "intervals do so approximately"
    if e.max_weight is not None:
        intervals += ", where weights are such as in these rows"
        drawn = f"{rows(e.n)} were drawn independently"
    if e.groups is not None:
        drawn = f"{e.groups:,} groups of rows were drawn independently"
    if e.groups not in (None, e.n):
        intervals += "; those, and the bands, of the charts treat rows as independent"
    if sizes := _sizes(e, voice):
        drawn += f" ({sizes})"
    return f"Each statement holds with {percent(e.confidence_level)} confidence by itself, if the {drawn}; {intervals}."


def details(
    e: Evidence,
    task: TaskResult | None,
    found: SegmentTable | None,
    notes: tuple[str, ...],
    voice: Voice,
) -> Iterator[Statement]:
    """What the verdict rests on, in the order of reading."""
    yield Statement("calibration", _tested(e))
    yield Statement("skill", _skill(e, task))
    yield Statement("recalibration", _recalibration(e))
    if task is not None and task.cost is not None:
        yield Statement("cost", _all_costs(task))
    yield Statement("loss", _as_is(e))
    yield Statement("rounded", _rounded(e))
    if found is not None:
        yield Statement("segments", segments(found, voice, advised=e.grade == "recalibrate"))
    yield Statement("limits", limits(e, voice))
    for warning in notes:
        yield Statement("note", note(warning))


# Segments.


def segments(found: SegmentTable, voice: Voice = PYTHON, *, advised: bool = True) -> str:
    """How many segments are off beyond chance, allowing for how many were tested; and which most,
    before and after.

    Where recalibration is not `advised`, what it would leave is said to be so.
    """
    tested, flagged = len(found.rows) - found.small, found.flagged
    few = (
        f" {_count(found.small, 'segment has', 'segments have')} too few rows to be tested."
        if found.small
        else ""
    )
    if not tested:
        off = [one.mean_prediction - one.event_rate for one in found.rows]
        if len(off) > 1 and (min(off) > 0 or max(off) < 0):
            few += (
                f" In all {len(off):,} they say {'more' if off[0] > 0 else 'less'} than happened."
            )
        return few.strip()
    if sparse := [one for one in found.rows if one.by_bets and not one.small]:
        fewest = min(sparse, key=_effective_clusters)
        few += (
            f" {_count(len(sparse), 'segment has', 'segments have')} too few clusters to tell anything but a very "
            f"large difference: {one_line(short(fewest.label))} has {_few_clusters(fewest)}."
        )
    by = f"{_count(tested, 'segment', 'segments')} ({one_line(', '.join(found.by))})"
    after = f" {_after_recalibration(found, by, advised=advised)}" if found.recalibrated else ""
    own = f" To fit a map of its own to each that gains by it: {voice.own_maps}."
    # nothing is left that one map for all does not correct
    if found.recalibrated and not found.flagged_recalibrated:
        own = ""
    # nothing can be fitted to one outcome
    if {one.event_rate for one in found.rows} in ({0.0}, {1.0}):
        own = ""
    if not flagged and not found.flagged_recalibrated:
        return f"None of {by} is off beyond chance.{few}"
    if not flagged:
        return f"None of {by} is off beyond chance.{after}{few}{own}"
    many = (
        f"All {by} are"
        if len(flagged) == tested
        else f"{len(flagged):,} of {by} {'is' if len(flagged) == 1 else 'are'}"
    )
    worst = flagged[0]
    label = one_line(short(worst.label))
    said, happened = two_shares(worst.mean_prediction, worst.event_rate)
    return (
        f"{many} off beyond chance (false discovery rate {percent(found.fdr)}), most {label}: says "
        f"{said}, happens {happened}.{after}{few}{own}"
    )


def _after_recalibration(found: SegmentTable, by: str, *, advised: bool) -> str:
    """How many segments are off after recalibration, and which most."""
    left = found.flagged_recalibrated
    still = "still " if all(one.flagged for one in left) else ""
    if advised:
        when, is_, are = "After recalibration", f"is {still}off", f"are {still}off"
    else:
        when, is_, are = "If it were recalibrated", f"would {still}be off", f"would {still}be off"
    if not left:
        return f"{when}, none {'is' if advised else 'would be'} off beyond chance."
    worst = left[0]
    assert worst.mean_recalibrated is not None
    said, happened = two_shares(worst.mean_recalibrated, worst.event_rate)
    first = f"{one_line(short(worst.label))} (predicted {said} on average, observed {happened})"
    names = ", ".join([first, *(one_line(short(one.label)) for one in left[1:_NAMED])])
    more = f" and {len(left) - _NAMED:,} more" if len(left) > _NAMED else ""
    many = f"{len(left):,} of {by}"
    if len(left) > 1 and len(left) == len(found.rows) - found.small:
        many = f"all {by}"
    return f"{when}, {many} {is_ if len(left) == 1 else are}: {names}{more}."


def _effective_clusters(segment: Segment) -> float:
    """How many clusters of equal weight have the rarer outcome; infinitely many where there are
    none.
    """
    return math.inf if segment.effective_clusters is None else segment.effective_clusters


def _few_clusters(segment: Segment) -> str:
    """In how few clusters the rarer outcome is."""
    outcome = "events" if segment.event_rate <= 1 / 2 else "non-events"
    return f"{outcome} in only {_effective_clusters(segment):.0f} effective clusters"


def segment_status(segment: Segment) -> str:
    """The result of the test of one segment."""
    if segment.small:
        return "too few rows to be tested"
    if segment.by_bets and not segment.flagged:
        return f"too few clusters to tell: {_few_clusters(segment)}"
    status = "miscalibrated beyond chance" if segment.flagged else "no sign of miscalibration"
    if segment.flagged_recalibrated is None or segment.flagged_recalibrated == segment.flagged:
        return f"{status}, also after recalibration" if segment.flagged_recalibrated else status
    return f"{status}, but after recalibration {'there is' if segment.flagged_recalibrated else 'no longer'}"


def segment_lines(found: SegmentTable, most: int = 20) -> list[list[str]]:
    """The segments as lines of a table with its head, those most off first."""
    costs = any(one.cost is not None for one in found.rows)
    tested = ["p_value", "q_value"] if found.small < len(found.rows) else []
    heads = [name.removesuffix("_value") for name in tested]
    if found.recalibrated:
        tested.append("q_value_recalibrated")
        heads.append("q after")
    lines = [[", ".join(found.by), "rows", "says", "happens", *heads, *["cost"] * costs]]
    for one in found.first(most):
        numbers = ("" if x is None else p_cell(x) for x in (getattr(one, name) for name in tested))
        cost = [] if not costs else ["" if one.cost is None else f"{one.cost:.3g}"]
        both = two_shares(one.mean_prediction, one.event_rate)
        lines.append([short(one.label, 40), f"{one.n:,}", *both, *numbers, *cost])
    return lines


def segment_order(found: SegmentTable) -> str:
    """Which segments come first, and how one can be off that happens as often as it says."""
    alike = [
        (one.mean_prediction - one.event_rate) ** 2 * one.n
        < 4 * one.event_rate * (1 - one.event_rate)
        for one in found.flagged
    ]
    how = (
        " Where both shares are about the same, some probabilities are too high and others too low."
    )
    after = (
        " q after: of the recalibrated predictions (five-fold cross-validated)."
        * found.recalibrated
    )
    return f"First come those where a decision can lose most.{how * any(alike)}{after}"


# Advice.


def advice_limits(e: Evidence) -> str:
    """What is proven of the advice for all thresholds, and what that rests on."""
    drawn = if_drawn(
        e.groups, "the forecast", e.base_rate, e.max_weight, weighted=e.guarantee.weighted
    )
    return (
        f"The better action is proven for all thresholds at once with {percent(e.confidence_level)} confidence, on "
        f"average over each outlined range, if {drawn}."
    )


def advice(found: ThresholdAdvice) -> str:
    """What to do at a threshold."""
    if not found.swaps:
        return "These rows do not prove any action better, at this threshold, than the one that the forecast says."
    named = " ".join(_range(swap, found.threshold) for swap in found.swaps[:_NAMED])
    more = len(found.swaps) - _NAMED
    rest = f" And {more} more such range{'s' * (more > 1)}." if more > 0 else ""
    return f"{named}{rest} Elsewhere follow the forecast."


def _range(swap: PredictionSwap, threshold: float) -> str:
    do, says, side = (
        ("do not act", "to", "below") if swap.do == "wait" else ("act", "not to", "above")
    )
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
    return (
        f"Largest loss: decisions with a threshold between {low:.{digits}f} and {high:.{digits}f}."
    )


# Several forecasts.


def pair(found: PairwiseComparison) -> str:
    """How two forecasts compare."""
    ways = ((found.a, found.b, found.to_b), (found.b, found.a, found.to_a))
    switches = [_switch(old, new, by) for old, new, by in ways if by is not None]
    said = switches or [
        f"{found.a} and {found.b} are compared as independent samples: it is not known which rows belong together."
    ]
    return " ".join(
        said
        if found.cost_difference is None
        else [_difference(found, found.cost_difference), *said]
    )


def _difference(found: PairwiseComparison, cost: Interval) -> str:
    if found.better is None:
        return f"{found.a} and {found.b} do not differ in cost beyond chance: by {interval(cost)} per case."
    more = found.b if found.better == found.a else found.a
    less = cost if found.better == found.b else _negative(cost)
    return f"{found.better} costs less per case than {more}: by {interval(less)}."


def _negative(cost: Interval) -> Interval:
    return replace(cost, value=0.0 - cost.value, low=0.0 - cost.high, high=0.0 - cost.low)


def _switch(old: str, new: str, found: SwitchGuarantee) -> str:
    gain = "no gain is proven"
    if found.gain_at_least:
        which = "" if found.threshold_range is None else f" {found.threshold_range}"
        gain = f"there is a decision{which} that gains at least {at_least(found.gain_at_least)} of what is at stake"
    return f"From {old} to {new}: {gain}, none loses more than {at_most(found.harm_bound)}."


def pairs(found: AssessmentSet) -> list[list[str]]:
    """What a switch to the better of every two brings, as rows of a table with its head."""
    place, lines = found.ranking.index, []
    for one in found.pairs:
        forth = place(one.b) < place(one.a)
        old, new, by = (one.a, one.b, one.to_b) if forth else (one.b, one.a, one.to_a)
        line = {"from": old, "to": new}
        if one.cost_difference is not None:
            line["saves per case"] = interval(
                one.cost_difference if forth else _negative(one.cost_difference)
            )
        if by is not None:
            line["gains at least"] = (
                at_least(by.gain_at_least) if by.gain_at_least else "not proven"
            )
            line["loses at most"] = at_most(by.harm_bound)
        lines.append(line)
    return [list(lines[0]), *(list(line.values()) for line in lines)]


def pair_limits(found: AssessmentSet) -> str:
    """What the comparisons of all pairs rest on, and how they hold."""
    level, some = percent(found.confidence_level), found.pairs[0]
    costs = f"What a switch saves: all intervals hold at once with about {level} confidence. "
    switches = (
        f"Gains and losses: there is a decision{_of_range(found)} that gains at least, and none that loses more than, "
        f"this share of what is at stake by the switch; all bounds hold at once with {level} confidence. "
    )
    e = found.assessments[0].evidence
    sizes = f" {sizes.capitalize()}." if (sizes := _sizes(e, found._voice)) else ""
    return (
        f"All forecasts as they are. {costs * (some.cost_difference is not None)}"
        f"{switches * (some.to_b is not None)}Rows (or groups) must be independent, and no forecast fitted on them."
        f"{sizes}{_population(e)}"
    )


def _of_range(found: AssessmentSet) -> str:
    """Which decisions forecasts are compared for, after the word; nothing if for every one."""
    return _which(found.assessments[0].evidence)


def best_forecast(found: AssessmentSet) -> str:
    """Which of several forecasts to take, and how, in a sentence or two."""
    taken, many = found.taken, len(found)
    costs, one = (
        found.first.cost is not None,
        found[found.first.name if taken is None else taken.name],
    )
    if one.evidence.rarer == 0:
        return one.verdict.headline
    if one.evidence.is_reversed:
        return f"{one.name}: {one.verdict.headline}"
    if taken is None and (simplest := _simplest(found)) is not None:
        how, cost = _simply(found, simplest)
        return f"Do without them: none of {many} forecasts gains you anything over {how}, {_per_case(cost)}."
    if taken is None:
        return f"Do without them: none of {many} forecasts tells cases with the event from others."
    name, how = taken.name, ", recalibrated" * (taken.rule is Rule.RECALIBRATED)
    estimate = " (an estimate)" * bool(how)
    size, same = _size(taken), _as_good(found, taken)
    if not costs:
        if found.best == name and not how:
            return f"Take {name}: a switch to it gains more in one decision{_of_range(found)} than it loses in any."
        every = "all thresholds" + ", also those outside the range" * bool(_of_range(found))
        least = (
            f"its Brier score (the cost averaged over {every}) is the least, {size}{estimate}{same}"
        )
        return f"Take {name}{how}: {least}. For your own costs it may be another ({found._voice.costs})."
    if not how:
        clear = (
            "" if found.best == name else "; it is not clear whether it costs less than all others"
        )
        return f"For your costs, take {name}: {size}, the least of {many} forecasts{clear}{same}."
    return f"For your costs, take {name}{how}: {size}{estimate}{same}. {_as_they_are(found)}"


def _size(one: RankedForecast) -> str:
    """What a forecast costs as its verdict advises to act on it; without costs its Brier score."""
    return f"{one.advised_brier:.4g}" if one.advised_cost is None else _per_case(one.advised_cost)


def _as_good(found: AssessmentSet, taken: RankedForecast) -> str:
    """The other forecasts that no shown digit tells from the one to take."""
    others = (
        one
        for one in found.standings
        if one is not taken and one.rule in (Rule.AS_IS, Rule.RECALIBRATED)
    )
    same = [
        f"{one.name}{', recalibrated' * (one.rule is Rule.RECALIBRATED)}"
        for one in others
        if _size(one) == _size(taken)
    ]
    return f"; as good: {'; '.join(same)}" if same else ""


def _as_they_are(found: AssessmentSet) -> str:
    """What costs least if nothing is recalibrated."""
    first, simplest = found.first, _simplest(found)
    assert first.cost is not None  # the question is about costs
    if simplest is not None and found.references[simplest].value <= first.cost.value:
        doing, cost = _simply(found, simplest)
        without = f"{doing} costs {_per_case(cost)}, the cheapest of them, {first.name}"
        return f"As they are, none gains you anything: {without}, {_per_case(first.cost)}."
    clear = "" if found.best == first.name else " (not clear)"
    return f"As they are, {first.name} costs least{clear}, {_per_case(first.cost)}."


def _per_case(cost: Interval) -> str:
    return f"{interval(cost).partition(' ')[0]} per case"


def _simplest(found: AssessmentSet) -> Rule | None:
    """The cheapest rule without a forecast, if there are costs of the same rows."""
    costs = found.references
    return min(
        set(costs) - {Rule.PERFECT}, key=lambda rule: (costs[rule].value, rule), default=None
    )


def _simply(found: AssessmentSet, rule: Rule) -> tuple[str, Interval]:
    """What such a rule does, and what that costs."""
    return _doing(found.assessments[0].task, rule), found.references[rule]


def first_step(found: AssessmentSet) -> str:
    """What to do now, with the forecast to take."""
    # each is to be avoided, or gains nothing over a rule without a forecast
    if found.taken is None:
        a = found[found.ranking[0]]
        return f"Next: {_step(a.evidence, a.task, _simplest(found), a._voice, 'avoid')}"
    name, a = found.taken.name, found[found.taken.name]
    return f"Next, with {name}: {_step(a.evidence, a.task, a.verdict.rule, a._voice, a.evidence.grade)}"


def first_commands(found: AssessmentSet) -> tuple[str, ...]:
    """The code or command lines of the next step."""
    if found.taken is None:
        return ()
    name, lines = found.taken.name, found[found.taken.name].verdict.commands
    return (f"s[{name!r}].recalibrator.predict(p_new)",) if lines == PYTHON.recalibrate else lines


def standings(found: AssessmentSet) -> list[list[str]]:
    """The rows of a table, with its head: the forecasts, best first, and below them the rules
    without a forecast.
    """
    one = {standing.name: standing for standing in found.standings}
    ranked = [one[name] for name in found.ranking]
    costs: Mapping[str, list[str]] = {
        "cost per case": ["" if s.cost is None else interval(s.cost) for s in ranked],
        "recalibrated": [
            "" if (x := s.cost_recalibrated) is None else interval(x).partition(" ")[0]
            for s in ranked
        ],
    }
    priced = any(s.cost is not None for s in ranked)
    better = ["" if s.brier_recalibrated is None else f"{s.brier_recalibrated:.4g}" for s in ranked]
    columns = {
        "forecast": [s.name for s in ranked],
        **(costs if priced else {}),
        "Brier": [f"{s.brier_score:.4g}" for s in ranked],
        **({} if priced else {"recalibrated": better}),
        "log": [f"{s.log_score:.4g}" for s in ranked],
        "AUROC": ["" if s.auroc is None else f"{s.auroc:.3f}" for s in ranked],
        "grade": [s.grade for s in ranked],
    }
    lines = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    empty = [""] * (len(columns) - 2)
    task = found.assessments[0].task
    rules = found.references.items()
    return lines + [
        [f"({_name(task, r)})", interval(cost), *empty] for r, cost in rules if task is not None
    ]


def about_standings(found: AssessmentSet) -> Iterator[str]:
    """What the numbers of that table are."""
    yield "Recalibrated: estimates, by maps that were fitted to other rows. Brier, log: lower is better."
    if any(math.isinf(one.log_score) for one in found.standings):
        yield "log inf: an event was given probability 0, or a case without it probability 1."
    yield from dict.fromkeys(note(warning) for a in found.assessments for warning in a.warnings)
