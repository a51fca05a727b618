"""The facts that statements about an assessment are made of: each number once, with its digits.

A template has places for facts. Most are a line of `NUMBERS` (where the number is, and what it is)
or of `PARTS` (a part of a sentence, and what it needs to be said); the others are properties. Which
statements are made is decided in `ladders`, and `templates` has their words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rainproof.core.result import Interval
from rainproof.decisions.profiles import TaskProfile
from rainproof.inference.assumptions import population
from rainproof.verdict.cost_statements import cheaper, costs_shown, way, why_not
from rainproof.verdict.evidence import MANY_ROWS, Rule, saving
from rainproof.verdict.statements import Statement, places, say
from rainproof.verdict.templates import TEMPLATES
from rainproof.verdict.values import (
    Bound,
    Count,
    Level,
    Listing,
    Money,
    Name,
    Number,
    Option,
    PValue,
    Share,
    estimated,
    estimated_share,
    money,
    shares_apart,
)

if TYPE_CHECKING:
    from rainproof.verdict.calibration import Calibration
    from rainproof.verdict.costs import TaskResult
    from rainproof.verdict.evidence import Evidence

NOTHING = say("nothing")
LIKELY = 0.2  # above this p-value nothing is worth a look: every fifth calibrated forecast has less
# In the example of a threshold one error costs as much as the other, or so many times as much and
# one time more; then ten times as many.
_TIMES = (1, 4, 9)
_TENS = 6


def averages(calibration: Calibration) -> tuple[Share, Share]:
    """The mean prediction and the event rate, in the same digits wherever they are shown."""
    return shares_apart(calibration.mean_prediction, calibration.event_rate)


def where_off(calibration: Calibration) -> Statement:
    """What was predicted and what was observed, where predictions are off."""
    worst = calibration.most_biased
    key = "where_in_places"
    if calibration.direction in ("too high", "too low", "none") or worst is None:
        predicted, observed = averages(calibration)
        key = "where_on_average"
    else:
        predicted, observed = shares_apart(worst.mean_prediction, worst.event_rate)
    return say(key, predicted=predicted, observed=observed)


def mismatch(calibration: Calibration) -> Statement:
    """How the predictions are off, in the numbers that people know."""
    return say(f"mismatch {calibration.direction}", where=where_off(calibration))


def span(skill: Interval) -> Statement:
    """The interval of a skill; it has no ends of one draw, no width where every row is treated as
    foresight would.
    """
    if math.isinf(skill.low):
        return say("span_of_one_draw")
    if skill.high - skill.low < 1e-12:
        return say("span_of_none")
    return say("span", low=two_decimals(skill.low), high=two_decimals(skill.high))


def gains(gain: Interval) -> Statement:
    """What recalibrating gains in a decision."""
    key = "gains_about"
    if gain.low <= 0:
        key = "gains_perhaps" if gain.value > 0 else "gains_at_most"
    level = Level(gain.confidence_level)
    return say(key, gain=estimated_share(gain), most=at_least_nothing(gain.high), level=level)


def reversal(auroc: float) -> Statement:
    """What shows that the event, or the forecast, may be the wrong way round."""
    return say("reversal", auroc_roughly=Number(auroc, ".2g"))


def other_event() -> Statement:
    """What may have been meant by reversed labels."""
    return say("other_event", pos_label=Option("other_event"))


def check_event(auroc: float | None) -> Statement:
    """What to say about a forecast that is reversed."""
    assert auroc is not None  # as it was compared
    return say("check_event", reversal=reversal(auroc), other_event=other_event())


def rows(count: float) -> Statement:
    """So many rows."""
    return say("rows", count=Count(count))


def groups(count: int) -> Statement:
    """So many groups."""
    return say("groups", count=Count(count))


def two_decimals(value: float) -> Number:
    """A number without a unit, such as a skill."""
    return Number(value, ".2f")


def whole(value: float) -> Number:
    """A number without decimals."""
    return Number(value, ",.0f")


def at_least_nothing(share: float) -> Share:
    """A share that is 0 at least."""
    return Share(max(share, 0.0))


def proven_gain(share: float) -> Bound:
    """A lower bound of a gain."""
    return Bound(share, is_upper=False)


def capped(bound: float) -> Bound:
    """A bound of a loss: all that is at stake at most."""
    return Bound(min(bound, 1.0))


def quoted(name: Any) -> Name:
    """A name in quotation marks."""
    return Name(repr(name))


NUMBERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    # Rows, and how they were drawn.
    "rows": (rows, "judged.n"),
    "all_rows": (Count, "judged.n"),
    "these_rows": (lambda count: say("these_rows", count=Count(count)), "judged.n"),
    "drawn": (Count, "units"),
    "groups": (groups, "judged.groups"),
    "clusters": (whole, "judged.groups"),
    "most": (lambda weight: Name(f"{weight:,.12g}"), "judged.max_weight"),
    "population": (lambda rate: Name(population(rate)), "judged.base_rate"),
    "middle_rate": (lambda rate: Level(float(f"{rate:.3g}")), "calibration.event_rate"),
    # How predictions are off.
    "p": (PValue, "calibration.p_value"),
    "mismatch": (mismatch, "calibration"),
    "where_off": (where_off, "calibration"),
    "worst_predicted": (Share, "calibration.most_biased.mean_prediction"),
    "worst_events": (whole, "calibration.most_biased.events"),
    "worst_n": (whole, "calibration.most_biased.n"),
    "events": (Count, "judged.events"),
    "only_outcome": (whole, "calibration.event_rate"),
    "rarer": (Share, "judged.rarer"),
    "reversal": (reversal, "judged.auroc"),
    # Skill and gains.
    "auroc": (lambda area: Number(area, ".3f"), "judged.auroc"),
    "skill": (two_decimals, "judged.skill.value"),
    "skill_as_is": (two_decimals, "judged.skill_as_is.value"),
    "skill_span": (span, "judged.skill"),
    "skill_most": (at_least_nothing, "judged.skill.high"),
    "skill_level": (Level, "judged.skill.confidence_level"),
    "gain": (estimated_share, "judged.gain.share"),
    "gains": (gains, "judged.gain.share"),
    "gain_threshold": (Share, "judged.gain.threshold"),
    # What is proven.
    "level": (Level, "judged.confidence_level"),
    "bound": (Bound, "judged.guarantee.bound"),
    "capped_bound": (capped, "judged.guarantee.bound"),
    "plug_in": (Bound, "judged.guarantee.plug_in"),
    "grid": (Name, "judged.rounded_guarantee.grid"),
    "rounded_bound": (Bound, "judged.rounded_guarantee.bound"),
    "certified_rows": (rows, "certificate.n"),
    "gain_at_least": (proven_gain, "certificate.gain_at_least"),
    "harm": (Bound, "certificate.harm_bound"),
    "map_loss": (Bound, "certificate.loss_bound"),
    # The decision.
    "range_low": (Level, "within.low"),
    "range_high": (Level, "within.high"),
    "threshold": (Share, "profile.threshold"),
    "capacity": (Share, "task.capacity"),
    "cutoff": (Share, "task.best_threshold"),
    "cost": (money, "task.cost.value"),
    "task_rows": (rows, "task.n"),
    "action": (quoted, "task.fixed_action"),
}
# The key of a part of a sentence, and the fact without which it is left out.
PARTS: dict[str, tuple[str, str]] = {
    "off": ("off", "judged"),
    "still_off": ("still_off", "judged"),
    "which": ("in_range", "within"),
    "in_decisions": ("in_decisions", "within"),
    "of_these": ("of_these", "within"),
    "in_groups": ("in_groups", "judged.groups"),
    "and_sizes": ("and_sizes", "sizes"),
    "sizes_in_brackets": ("sizes_in_brackets", "sizes"),
    "raw": ("skill_raw", "judged.skill_as_is"),
    "held_out": ("held_out", "certificate"),
}


class JudgedFacts:
    """What is stated of one event and of several classes alike.

    Where several classes have other words, a template has another key, with the `variant` behind a
    comma.
    """

    variant = ""
    numbers = NUMBERS
    parts = PARTS
    certificate: Any
    groups_option = Option("groups")
    base_rate = Option("base_rate")
    pos_label = Option("other_event")
    max_weight = Option("max_weight")
    many = Count(MANY_ROWS)

    def __init__(self, judged: Any, task: Any, rule: Rule | None, clusters: int | None) -> None:
        # Evidence or an assessment of classes, and the result of its task: only such facts are
        # asked for as the ladder has seen to exist.
        self.judged = judged
        self.task = task
        self.rule = rule
        self.clusters = clusters  # independent units, where rows are not
        self.units = judged.n if clusters is None else clusters
        self.unit = "rows" if clusters is None else "groups"
        self.draws = rows(judged.n) if clusters is None else groups(clusters)
        self.findings = judged.findings
        self.grade = judged.grade
        self.profile = TaskProfile() if task is None else task.task.profile
        self.capacity: Any = None if task is None else task.capacity

    def state(self, key: str, about: str = "") -> Statement:
        """Make a statement of these facts."""
        own = f"{key}, {self.variant}"
        if own in TEMPLATES:
            key = own
        return Statement(key, about, {name: self.fact(name) for name in places(key)})

    def state_all(self, about: str, keys: Iterable[str]) -> list[Statement]:
        """Make several statements about one thing."""
        return [self.state(key, about) for key in keys]

    def fact(self, name: str) -> Any:
        """What a template has a place for."""
        if name in self.numbers:
            kind, path = self.numbers[name]
            return kind(attrgetter(path)(self))
        if name in self.parts:
            key, needed = self.parts[name]
            return NOTHING if attrgetter(needed)(self) is None else self.state(key)
        return getattr(self, name)

    @property
    def sizes(self) -> Statement | None:
        """What is assumed of the sizes of groups, or of weights; nothing if there are none."""
        weighted = self.judged.guarantee.weighted
        if self.judged.groups is None:
            return self.state("fixed_weights") if weighted else None
        return self.state("fixed_both" if weighted else "fixed_sizes")

    @property
    def doing(self) -> Statement:
        """What one does who acts as is advised."""
        return self.doing_by(self.rule or Rule.AS_IS)

    def doing_by(self, rule: Rule) -> Statement:
        """What one does who acts by a rule."""
        return way("doing", rule, self.task)

    def head(self, rule: Rule) -> Statement:
        """The head of the column of a rule."""
        return way("head", rule, self.task)

    @property
    def amounts(self) -> dict[Rule, Money]:
        """What each way of acting costs, in the digits of the table."""
        return costs_shown(self.task)

    @property
    def costs(self) -> Listing:
        """What each way of acting costs, with its interval."""
        ways = []
        for rule, cost in self.task.costs.items():
            name = way("way", rule, self.task)
            ways.append(say("cost_of_way", name=name, cost=estimated(cost)))
        return Listing(ways, "; ")


class EventFacts(JudgedFacts):
    """What is stated of one event."""

    advice_on_costs = ()

    def __init__(self, e: Evidence, task: TaskResult | None, rule: Rule | None) -> None:
        super().__init__(e, task, rule, None if e.groups in (None, e.n) else e.groups)
        self.calibration: Any = e.calibration
        self.predicted, self.observed = averages(e.calibration)
        self.within: Any = e.within
        self.range = e.within
        self.is_reversed = e.is_reversed
        self.indivisible = e.indivisible
        self.by_rank = e.by_rank
        self.has_losses = not e.constant
        self.by_weight = e.auroc is not None
        self.likely = e.calibration.p_value > LIKELY
        self.chosen = e.chosen
        self.stated_rate = e.base_rate is not None
        self.certificate: Any = None if e.gain is None else e.certificate
        self.events_are_rarer = e.calibration.event_rate < 0.5

    # Which decisions.

    @property
    def one_threshold(self) -> bool:
        """Whether the decisions are those with one threshold."""
        return self.within is not None and self.within.low == self.within.high

    @property
    def rate_in_range(self) -> bool:
        """Whether the event rate is a threshold of the decisions."""
        low, high = self.within or (0.0, 1.0)
        return bool(low <= self.calibration.event_rate <= high)

    @property
    def nearest(self) -> Share:
        """The threshold of the range that is nearest to the event rate."""
        low, high = self.within
        return Share(low if self.calibration.event_rate < low else high)

    @property
    def best_decision(self) -> Statement:
        """The decision that an estimate of what recalibration gains is about."""
        return self.state(self._decision_key)

    @property
    def _decision_key(self) -> str:
        if self.within is None:
            return "decision"
        return "decision_at" if self.one_threshold else "decision_in_range"

    @property
    def decision(self) -> Statement:
        """The same with an example, where some decision surely gains."""
        if self.one_threshold or self.judged.gain.share.low <= 0:
            return self.best_decision
        return self.state(f"{self._decision_key}_like")

    @property
    def has_fixed_action(self) -> bool:
        """Whether there are costs of always taking one of several actions."""
        return self.profile.fixed and bool(self.task.costs)

    @property
    def where(self) -> Statement:
        """The decision that skill is about."""
        if self.has_fixed_action:
            return say("where_in_task")
        where = self.state(self._where_key)
        return where if self.capacity is None else say("where_within_capacity", where=where)

    @property
    def _where_key(self) -> str:
        if self.profile.per_case:
            return "where_per_case"
        if self.profile.threshold is not None:
            return "where_own"
        return "where_rate" if self.rate_in_range else "where_nearest"

    @property
    def over(self) -> Statement:
        """What skill is measured over."""
        if self.has_fixed_action:
            return say("over_fixed")
        return say("over_always_or_never" if self.capacity is None else "over_random_or_never")

    # Parts of sentences.

    @property
    def over_groups(self) -> Statement:
        if self.calibration.by_bets:
            return say("by_bets")
        return NOTHING if self.clusters is None else say("over_groups")

    @property
    def foresight(self) -> Statement:
        return self._rarity(self.judged.gain.share.high)

    @property
    def rarity(self) -> Statement:
        return self._rarity(0.0)

    def _rarity(self, gained: float) -> Statement:
        """Why shares of what is at stake are small where an outcome is rare: so is what there is to
        gain.
        """
        # More than that can only be gained over harm that the forecast does.
        if not self.judged.rare or gained > self.judged.rarer:
            return NOTHING
        return self.state("rare_events" if self.events_are_rarer else "rare_others")

    @property
    def no_skill(self) -> Statement:
        """Why skill is not defined."""
        if self.judged.rarer > 0:
            return say("indivisible")
        return say("one_outcome_alike_by_weight" if self.by_weight else "one_outcome_alike")

    @property
    def proven(self) -> Statement:
        """What the map is proven to gain."""
        return self.state("gain_proven" if self.certificate.gain_at_least > 0 else "no_gain_proven")

    @property
    def rounded_loss(self) -> Statement:
        is_bounded = self.judged.rounded_guarantee.bound < 1
        return self.state("rounded_loss" if is_bounded else "no_rounded_loss")

    @property
    def validated(self) -> Statement:
        """Which numbers are cross-validated."""
        if self.judged.gain is None or self.judged.constant:
            return NOTHING
        has_cutoff = self.task is not None and Rule.CUTOFF in self.task.costs
        return say("validated_cutoff" if has_cutoff else "validated")

    @property
    def sizes(self) -> Statement | None:
        if self.judged.max_weight is not None:
            return self.state(
                "no_heavier_row" if self.judged.groups is None else "no_heavier_group"
            )
        return None if self.stated_rate else super().sizes

    @property
    def middle(self) -> Statement:
        is_range = isinstance(self.judged.base_rate, tuple)
        return self.state("middle_of_range") if is_range else NOTHING

    @property
    def these_came_from(self) -> Statement:
        return NOTHING if self.stated_rate else say("these_came_from")

    @property
    def drawn_so(self) -> Statement:
        """How rows must have been drawn for the statements to hold."""
        if self.judged.groups is not None:
            return self.state("groups_drawn")
        if self.judged.max_weight is not None:
            return self.state("drawn_independently")
        return self.state("drawn_from_outcomes" if self.stated_rate else "drawn_from_acted_on")

    @property
    def intervals(self) -> Statement:
        found = say("intervals" if self.judged.max_weight is None else "intervals_fixed")
        return found if self.clusters is None else say("intervals_clustered", intervals=found)

    # What the ladders ask.

    @property
    def why_not_correct(self) -> str:
        """Why a forecast that is off may be used as it is."""
        saved = self.judged.saved
        if self.by_rank:
            return "correcting_keeps_order"
        if self.judged.negligible:
            return "correcting_gains_little"
        if self.within is not None and (saved is None or saved.high > 0):
            return "correcting_gains_elsewhere"
        return "correcting_costs"

    @property
    def unclear(self) -> list[str]:
        """What is seen where rows are too few for a verdict."""
        found = f"too_few_{self.unit}"
        if self.judged.events is not None:
            found = "too_few_events" if self.events_are_rarer else "too_few_others"
        return [found, "is_still_off" if self.calibration.rejected else self.looks]

    @property
    def looks(self) -> str:
        """What seems to be off where chance can explain it."""
        if self.likely or self.calibration.most_biased is None:
            return "looks_off"
        return "looks_off_in_places"

    @property
    def act(self) -> list[str]:
        """How to act."""
        rule = self.rule
        if rule is None:
            if self.rate_in_range or self.within is None:
                return ["act_by_rate"]
            always = self.within.high < self.calibration.event_rate
            return ["always_act" if always else "never_act"]
        if rule is Rule.FIXED:
            return ["always_take"]
        if rule is Rule.ALWAYS and self.capacity is not None:
            return ["act_at_random"]
        if rule in (Rule.ALWAYS, Rule.NEVER):
            return [f"{rule}_act"]
        return self._act_on_forecast

    @property
    def _act_on_forecast(self) -> list[str]:
        if self.task is None:
            if self.within is None:
                return ["act_from_own"]
            return ["act_from_stated" if self.one_threshold else "act_between"]
        if self.capacity is not None and self.rule in self.task.one_more:
            return self._act_within_capacity
        flags = ["flags"] if self.rule in self.task.acted else []
        if self.profile.threshold is not None:
            return ["act_from", *flags]
        return ["act_per_case", *flags] if self.profile.per_case else ["take_best"]

    @property
    def _act_within_capacity(self) -> list[str]:
        """What to do within a capacity, and what one more case is worth."""
        if self.task.acted[self.rule] < self.capacity - 1e-9:
            return ["act_where_it_pays"]
        which = "act_on_largest_gain" if self.profile.per_case else "act_on_highest"
        by_map = self.one_more_rule is Rule.RECALIBRATED
        return [which, "one_more_recalibrated" if by_map else "one_more"]

    @property
    def estimates(self) -> list[str]:
        """Which numbers are estimates."""
        skill = self.judged.skill is not None and not self.judged.constant
        found = ["skill_estimated"] if skill else []
        if self.judged.range_costs is not None or (self.task is not None and self.task.costs):
            found = ["costs_and_skill_estimated" if skill else "costs_estimated"]
        return found if self.judged.range_costs is None else [*found, "range_costs"]

    @property
    def cutoff_is_best(self) -> bool:
        """Whether the best cut-off costs less than every other rule, by more than rounding."""
        best = self.task.best_threshold
        costs = self.task.costs
        if self.grade == "avoid" or Rule.CUTOFF not in costs or best is None or best > 1:
            return False
        amounts = self.amounts
        for rule in set(costs) - {Rule.CUTOFF, Rule.PERFECT}:
            if costs[rule].value <= costs[Rule.CUTOFF].value:
                return False
            if str(amounts[rule]) == str(amounts[Rule.CUTOFF]):
                return False
        return True

    @property
    def cheaper_in_range(self) -> list[Statement]:
        """What costs less in the decisions of a range."""
        known = self.judged.range_costs
        rule = self.rule
        if known is None or self.judged.constant:
            return []
        amounts = costs_shown(known)
        own = known.without_forecast if rule is None else known.costs[rule]
        own_amount = "" if rule is None else str(amounts[rule])

        def why(other: Rule) -> str:
            saved = saving(known, rule, other)
            if self.grade == "recalibrate" and saved is not None and saved.low > 0:
                return "why_most_at_stake"
            return why_not(self.grade, saved, rejected=self.calibration.rejected)

        left_out = [rule, Rule.PERFECT]
        return cheaper(known, own.value, left_out, why, self.doing_by, amounts, own_amount)

    @property
    def is_grouped(self) -> bool:
        """Whether it is said what rows, or groups of them, are taken to be."""
        return self.judged.groups is not None or self.judged.max_weight is not None

    def is_shown(self, skill: Interval | None) -> bool:
        """Whether it is shown that acting on the forecast gains over acting without it."""
        return skill is None or skill.low > 0 or self.grade == "avoid"

    # The user's own decision.

    def head(self, rule: Rule) -> Statement:
        if rule is Rule.CUTOFF and (self.task.best_threshold or math.inf) <= 1:
            return self.state("head cut-off from")
        return super().head(rule)

    @property
    def acted(self) -> Share:
        return Share(self.task.acted[self.rule])

    @property
    def cutoff_cost(self) -> Money:
        return self.amounts[Rule.CUTOFF]

    @property
    def one_more_by_rule(self) -> dict[Rule, float]:
        """What one more case gains, by probabilities that are not shown to be off where there are
        such.
        """
        if self.task is None:
            return {}
        found = dict(self.task.one_more)
        if self.calibration.rejected and Rule.RECALIBRATED in found:
            found.pop(Rule.AS_IS, None)
        return found

    @property
    def one_more_rule(self) -> Rule:
        """The probabilities by which it is said what one more case gains."""
        rule = self.rule
        return rule if rule is not None and rule in self.one_more_by_rule else Rule.RECALIBRATED

    @property
    def one_more(self) -> Money:
        return money(self.one_more_by_rule[self.one_more_rule])

    @property
    def entered(self) -> Statement:
        """The costs of the errors, as the user entered them."""
        if self.profile.per_case:
            return say("entered_per_case")
        if self.task.errors is None:
            return NOTHING
        false_alarm, miss = self.task.errors
        return say("entered", false_alarm=Number(false_alarm, "g"), miss=Number(miss, "g"))

    @property
    def example(self) -> Statement:
        """A threshold of round numbers near the event rate, and the costs that it belongs to."""
        rate = self.calibration.event_rate
        odds = (1 - rate) / rate
        often = max(odds, 1 / odds)
        known = [(times + 1) * 10**tens - 1 for tens in range(_TENS) for times in _TIMES]
        times = min(known, key=lambda number: abs(math.log(number / often)))
        if times == 1:
            return say("example_even")
        key = "example_miss"
        threshold = 1 / (1 + times)
        if odds <= 1:
            key = "example_alarm"
            threshold = times / (1 + times)
        return say(key, at=Level(threshold), times=whole(times))
