"""The facts that statements about an assessment are made of: each number once, with its digits.

Which of them are stated is decided in `ladders`; what is stated is in `templates`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rainproof.core.result import Interval
from rainproof.decisions.profiles import TaskProfile
from rainproof.inference.assumptions import population, what_varies
from rainproof.verdict.cost_statements import cheaper, costs_shown, way, why_not
from rainproof.verdict.evidence import MANY_ROWS, Rule, saving
from rainproof.verdict.statements import Facts, Statement, say
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
    from rainproof.verdict.classes import ClassAssessment, ClassTaskResult
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
    if calibration.direction in ("too high", "too low", "none") or worst is None:
        predicted, observed = averages(calibration)
        return say("where_on_average", predicted=predicted, observed=observed)
    predicted, observed = shares_apart(worst.mean_prediction, worst.event_rate)
    return say("where_in_places", predicted=predicted, observed=observed)


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
    return say("span", low=Number(skill.low, ".2f"), high=Number(skill.high, ".2f"))


def gains(gain: Interval) -> Statement:
    """What recalibrating gains in a decision."""
    values: dict[str, Any] = {
        "gain": estimated_share(gain),
        "most": Share(max(gain.high, 0.0)),
        "level": Level(gain.confidence_level),
    }
    if gain.low > 0:
        return say("gains_about", **values)
    return say("gains_perhaps" if gain.value > 0 else "gains_at_most", **values)


def skill_cell(skill: Interval) -> Number:
    """A skill in a table: what is rounded to 0 has no sign."""
    return Number(round(skill.value, 2) + 0.0, ".2f")


class JudgedFacts(Facts):
    """What is stated of one event and of several classes alike."""

    is_reversed = False
    indivisible = False
    by_rank = False
    likely = False
    by_weight = False
    within: Any = None
    chosen = False
    stated_rate = False
    judged_range = False
    has_losses = True
    names_other_rule = False
    groups_option = Option("groups")
    base_rate = Option("base_rate")
    pos_label = Option("other_event")
    many = Count(MANY_ROWS)
    max_weight: Any = Option("max_weight")

    # Evidence or an assessment of classes, and the result of its task: a template names only facts
    # that the ladder has seen to exist.
    judged: Any
    task: Any

    def __init__(
        self,
        judged: Evidence | ClassAssessment,
        task: TaskResult | ClassTaskResult | None,
        rule: Rule | None,
        clusters: int | None,
    ) -> None:
        self.judged = judged
        self.task = task
        self.rule = rule
        self.clusters = clusters  # independent units, where rows are not
        self.findings = judged.findings
        self.grade = judged.grade
        self.profile = TaskProfile() if task is None else task.task.profile
        self.level = Level(judged.confidence_level)
        self.rows = say("rows", count=Count(judged.n))
        self.all_rows = Count(judged.n)
        self.these_rows = say("these_rows", count=Count(judged.n))
        self.drawn = Count(judged.n if clusters is None else clusters)
        self.draws = self.rows if clusters is None else say("groups", count=self.drawn)
        self.unit = "rows" if clusters is None else "groups"

    @property
    def bound(self) -> Bound:
        return Bound(self.judged.guarantee.bound)

    @property
    def capped_bound(self) -> Bound:
        return Bound(min(self.judged.guarantee.bound, 1.0))

    @property
    def skill(self) -> Number:
        return Number(self.judged.skill.value, ".2f")

    @property
    def skill_span(self) -> Statement:
        return span(self.judged.skill)

    @property
    def skill_most(self) -> Share:
        return Share(max(self.judged.skill.high, 0.0))

    @property
    def skill_level(self) -> Level:
        return Level(self.judged.skill.confidence_level)

    @property
    def off(self) -> Statement:
        return self.state("off")

    @property
    def still_off(self) -> Statement:
        return self.state("still_off")

    @property
    def foresight(self) -> Statement:
        return NOTHING

    rarity = foresight

    @property
    def sizes(self) -> Statement | None:
        """What is assumed of the sizes of groups, or of weights; nothing if there are none."""
        groups = self.judged.groups
        weighted = self.judged.guarantee.weighted
        if not what_varies(groups, weighted=weighted):
            return None
        key = "fixed_weights"
        if groups is not None:
            key = "fixed_both" if weighted else "fixed_sizes"
        return self.state(key)

    @property
    def and_sizes(self) -> Statement:
        return NOTHING if self.sizes is None else say("and", more=self.sizes)

    @property
    def in_groups(self) -> Statement:
        groups = self.judged.groups
        if groups is None:
            return NOTHING
        return say("in_groups", groups=say("groups", count=Count(groups)))

    @property
    def held_out(self) -> Statement:
        return NOTHING if self.certificate is None else self.state("held_out")

    @property
    def certificate(self) -> Any:
        """What is proven of the map, if anything is."""
        raise NotImplementedError

    @property
    def certified_rows(self) -> Statement:
        return say("rows", count=Count(self.certificate.n))

    @property
    def action(self) -> Name:
        return Name(repr(self.task.fixed_action))

    @property
    def doing(self) -> Statement:
        return way("doing", self.rule or Rule.AS_IS, self.task)

    @property
    def task_rows(self) -> Statement:
        return self.rows

    # What the ladders ask where one event and several classes differ.

    @property
    def why_not_correct(self) -> str:
        """Why a forecast that is off may be used as it is."""
        raise NotImplementedError

    @property
    def unclear(self) -> list[str]:
        """What is seen where rows are too few for a verdict."""
        raise NotImplementedError

    @property
    def act(self) -> list[str]:
        """How to act."""
        raise NotImplementedError

    @property
    def estimates(self) -> list[str]:
        """Which numbers are estimates."""
        raise NotImplementedError

    @property
    def amounts(self) -> dict[Rule, Money]:
        """What each way of acting costs, in the digits of the table."""
        raise NotImplementedError

    @property
    def cheaper_in_range(self) -> list[Statement]:
        """What costs less in the decisions of a range."""
        return []

    @property
    def advice_on_costs(self) -> list[Statement]:
        """What could be done otherwise in the user's own decision."""
        return []

    @property
    def cutoff_is_best(self) -> bool:
        """Whether the best cut-off costs less than every other rule."""
        return False

    @property
    def looks(self) -> str:
        """What seems to be off where chance can explain it."""
        raise NotImplementedError

    @property
    def is_grouped(self) -> bool:
        """Whether it is said what rows, or groups of them, are taken to be."""
        return self.judged.groups is not None

    def is_shown(self, _skill: Interval | None) -> bool:
        """Whether it is shown that acting on the forecast gains over acting without it."""
        return True

    def doing_by(self, rule: Rule) -> Statement:
        """What one does who acts by a rule."""
        return way("doing", rule, self.task)

    def head(self, rule: Rule) -> Statement:
        """The head of the column of a rule."""
        return way("head", rule, self.task)

    @property
    def costs(self) -> Listing:
        """What each way of acting costs, with its interval."""
        ways = [
            say("cost_of_way", name=way("way", rule, self.task), cost=estimated(cost))
            for rule, cost in self.task.costs.items()
        ]
        return Listing(ways, "; ")

    @property
    def raw(self) -> Statement:
        return NOTHING

    @property
    def validated(self) -> Statement:
        return NOTHING


class EventFacts(JudgedFacts):
    """What is stated of one event."""

    def __init__(self, e: Evidence, task: TaskResult | None, rule: Rule | None) -> None:
        super().__init__(e, task, rule, None if e.groups in (None, e.n) else e.groups)
        self.calibration: Any = e.calibration
        self.within = e.within
        self.range = e.within
        self.is_reversed = e.is_reversed
        self.indivisible = e.indivisible
        self.by_rank = e.by_rank
        self.by_weight = e.auroc is not None
        self.likely = e.calibration.p_value > LIKELY
        self.predicted, self.observed = averages(e.calibration)
        self.p = PValue(e.calibration.p_value)
        self.chosen = e.chosen
        self.stated_rate = e.base_rate is not None
        self.judged_range = e.range_costs is not None
        self.has_losses = not e.constant
        self.names_other_rule = True

    # How it is off.

    @property
    def where_off(self) -> Statement:
        return where_off(self.calibration)

    @property
    def mismatch(self) -> Statement:
        return mismatch(self.calibration)

    @property
    def worst_predicted(self) -> Share:
        return Share(self.calibration.most_biased.mean_prediction)

    @property
    def worst_events(self) -> Number:
        return Number(self.calibration.most_biased.events, ",.0f")

    @property
    def worst_n(self) -> Number:
        return Number(self.calibration.most_biased.n, ",.0f")

    @property
    def reversal(self) -> Statement:
        return reversal(self.judged.auroc)

    @property
    def events(self) -> Count:
        return Count(self.judged.events or 0)

    @property
    def only_outcome(self) -> Number:
        return Number(self.calibration.event_rate, ".0f")

    @property
    def over_groups(self) -> Statement:
        if self.calibration.by_bets:
            return say("by_bets")
        return NOTHING if self.clusters is None else say("over_groups")

    # Which decisions.

    @property
    def one_threshold(self) -> bool:
        """Whether the decisions are those with one threshold."""
        return self.within is not None and self.within.low == self.within.high

    @property
    def which(self) -> Statement:
        """Which decisions a statement is about, after the word; nothing if about every one."""
        return NOTHING if self.within is None else self.state("in_range")

    @property
    def in_decisions(self) -> Statement:
        return NOTHING if self.within is None else self.state("in_decisions")

    @property
    def of_these(self) -> Statement:
        return NOTHING if self.within is None else say("of_these")

    @property
    def range_low(self) -> Level:
        return Level(self.within.low)

    @property
    def range_high(self) -> Level:
        return Level(self.within.high)

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
    def where(self) -> Statement:
        """The decision that skill is about."""
        if self.profile.fixed and self.task is not None and self.task.costs:
            return say("where_in_task")
        where = self.state(self._where_key)
        if self.task is None or self.task.capacity is None:
            return where
        return say("where_within_capacity", where=where)

    @property
    def _where_key(self) -> str:
        if self.profile.per_case:
            return "where_per_case"
        if self.profile.threshold is not None:
            return "where_own"
        return "where_rate" if self.rate_in_range else "where_nearest"

    @property
    def rate_in_range(self) -> bool:
        """Whether the event rate is a threshold of the decisions."""
        low, high = self.within or (0.0, 1.0)
        return bool(low <= self.calibration.event_rate <= high)

    @property
    def nearest(self) -> Share:
        low, high = self.within
        return Share(low if self.calibration.event_rate < low else high)

    # Skill and gains.

    @property
    def auroc(self) -> Number:
        return Number(self.judged.auroc, ".3f")

    @property
    def gain(self) -> Any:
        return estimated_share(self.judged.gain.share)

    @property
    def gains(self) -> Statement:
        return gains(self.judged.gain.share)

    @property
    def gain_threshold(self) -> Share:
        return Share(self.judged.gain.threshold)

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
    def events_are_rarer(self) -> bool:
        return bool(self.calibration.event_rate < 0.5)

    @property
    def rarer(self) -> Share:
        return Share(self.judged.rarer)

    @property
    def over(self) -> Statement:
        """What skill is measured over."""
        if self.profile.fixed and self.task is not None and self.task.costs:
            return say("over_fixed")
        limited = self.task is not None and self.task.capacity is not None
        return say("over_random_or_never" if limited else "over_always_or_never")

    @property
    def raw(self) -> Statement:
        skill = self.judged.skill_as_is
        return NOTHING if skill is None else say("skill_raw", value=Number(skill.value, ".2f"))

    @property
    def no_skill(self) -> Statement:
        """Why skill is not defined."""
        if self.judged.rarer > 0:
            return say("indivisible")
        return say("one_outcome_alike_by_weight" if self.by_weight else "one_outcome_alike")

    # The map.

    @property
    def certificate(self) -> Any:
        return None if self.judged.gain is None else self.judged.certificate

    @property
    def proven(self) -> Statement:
        if self.certificate.gain_at_least > 0:
            return self.state("gain_proven")
        return say("no_gain_proven")

    @property
    def gain_at_least(self) -> Bound:
        return Bound(self.certificate.gain_at_least, is_upper=False)

    @property
    def harm(self) -> Bound:
        return Bound(self.certificate.harm_bound)

    @property
    def map_loss(self) -> Bound:
        return Bound(self.certificate.loss_bound)

    # What the ladders ask.

    @property
    def why_not_correct(self) -> str:
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
        if self.rule is None:
            if self.rate_in_range or self.within is None:
                return ["act_by_rate"]
            always = self.within.high < self.calibration.event_rate
            return ["always_act" if always else "never_act"]
        if self.rule is Rule.FIXED:
            return ["always_take"]
        limited = self.task is not None and self.task.capacity is not None
        if self.rule is Rule.ALWAYS and limited:
            return ["act_at_random"]
        if self.rule in (Rule.ALWAYS, Rule.NEVER):
            return [f"{self.rule}_act"]
        return self._act_on_forecast

    @property
    def _act_on_forecast(self) -> list[str]:
        if self.task is None:
            if self.within is None:
                return ["act_from_own"]
            return ["act_from_stated" if self.one_threshold else "act_between"]
        if self.task.capacity is not None and self.rule in self.task.one_more:
            return self._act_within_capacity
        flags = ["flags"] if self.rule in self.task.acted else []
        if self.profile.threshold is not None:
            return ["act_from", *flags]
        return ["act_per_case", *flags] if self.profile.per_case else ["take_best"]

    @property
    def _act_within_capacity(self) -> list[str]:
        """What to do within a capacity, and what one more case is worth."""
        if self.task.acted[self.rule] < self.task.capacity - 1e-9:
            return ["act_where_it_pays"]
        which = "act_on_largest_gain" if self.profile.per_case else "act_on_highest"
        by_map = self.one_more_rule is Rule.RECALIBRATED
        return [which, "one_more_recalibrated" if by_map else "one_more"]

    @property
    def estimates(self) -> list[str]:
        costs = self.judged_range or (self.task is not None and bool(self.task.costs))
        skill = self.judged.skill is not None and not self.judged.constant
        if costs:
            return ["costs_and_skill_estimated" if skill else "costs_estimated"]
        return ["skill_estimated"] if skill else []

    @property
    def amounts(self) -> dict[Rule, Money]:
        return costs_shown(self.task)

    @property
    def cutoff_is_best(self) -> bool:
        """Whether the best cut-off costs less than every other rule, by more than rounding."""
        best = self.task.best_threshold
        costs = self.task.costs
        if self.grade == "avoid" or Rule.CUTOFF not in costs or best is None or best > 1:
            return False
        least = costs[Rule.CUTOFF].value
        shown = {rule: str(amount) for rule, amount in self.amounts.items()}
        others = set(costs) - {Rule.CUTOFF, Rule.PERFECT}
        return all(
            costs[rule].value > least and shown[rule] != shown[Rule.CUTOFF] for rule in others
        )

    @property
    def cheaper_in_range(self) -> list[Statement]:
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
        return self.judged.groups is not None or self.judged.max_weight is not None

    def head(self, rule: Rule) -> Statement:
        if rule is Rule.CUTOFF:
            best = self.task.best_threshold
            if best is not None and best <= 1:
                return self.state("head cut-off from")
        return super().head(rule)

    def is_shown(self, skill: Interval | None) -> bool:
        return skill is None or skill.low > 0 or self.grade == "avoid"

    # The user's own decision.

    @property
    def threshold(self) -> Share:
        return Share(self.profile.threshold or 0.0)

    @property
    def capacity(self) -> Share:
        return Share(self.task.capacity)

    @property
    def acted(self) -> Share:
        return Share(self.task.acted[self.rule])

    @property
    def cutoff(self) -> Share:
        return Share(self.task.best_threshold)

    @property
    def cutoff_cost(self) -> Money:
        return costs_shown(self.task)[Rule.CUTOFF]

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
        return say(key, at=Level(threshold), times=Name(f"{times:,}"))

    @property
    def cost(self) -> Money:
        return money(self.task.cost.value)

    @property
    def entered(self) -> Statement:
        """The costs of the errors, as the user entered them."""
        if self.profile.per_case:
            return say("entered_per_case")
        if self.task.errors is None:
            return NOTHING
        alarm, miss = self.task.errors
        return say("entered", false_alarm=Number(alarm, "g"), miss=Number(miss, "g"))

    @property
    def task_rows(self) -> Statement:
        return say("rows", count=Count(self.task.n))

    # What the numbers rest on.

    @property
    def sizes(self) -> Statement | None:
        if self.judged.max_weight is not None:
            key = "no_heavier_row" if self.judged.groups is None else "no_heavier_group"
            return say(key, max_weight=Name(f"{self.judged.max_weight:,.12g}"))
        if self.judged.base_rate is not None:
            return None
        return super().sizes

    @property
    def validated(self) -> Statement:
        """Which numbers are cross-validated."""
        if self.judged.gain is None or self.judged.constant:
            return NOTHING
        if self.task is not None and Rule.CUTOFF in self.task.costs:
            return say("validated_cutoff")
        return say("validated")

    @property
    def population(self) -> Name:
        return Name(population(self.judged.base_rate))

    @property
    def middle(self) -> Statement:
        if not isinstance(self.judged.base_rate, tuple):
            return NOTHING
        rate = Level(float(f"{self.calibration.event_rate:.3g}"))
        return say("middle_of_range", middle=rate)

    @property
    def drawn_so(self) -> Statement:
        """How rows must have been drawn for the statements to hold."""
        e = self.judged
        more = NOTHING if self.sizes is None else say("in_brackets", more=self.sizes)
        if e.groups is not None:
            return say("groups_drawn", clusters=Name(f"{e.groups:,}"), more=more)
        how = "from_acted_on" if e.base_rate is None else "given_outcomes"
        before = [] if e.max_weight is not None else [say(how)]
        return say("drawn_independently", rows=self.rows, more=Listing([*before, more], ""))

    @property
    def intervals(self) -> Statement:
        found = say("intervals" if self.judged.max_weight is None else "intervals_fixed")
        return found if self.clusters is None else say("intervals_clustered", intervals=found)

    @property
    def plug_in(self) -> Bound:
        return Bound(self.judged.guarantee.plug_in)

    @property
    def these_came_from(self) -> Statement:
        return say("these_came_from") if self.judged.base_rate is None else NOTHING

    @property
    def grid(self) -> Name:
        return Name(self.judged.rounded_guarantee.grid)

    @property
    def rounded_loss(self) -> Statement:
        if self.judged.rounded_guarantee.bound < 1:
            return self.state("rounded_loss")
        return say("no_rounded_loss")

    @property
    def rounded_bound(self) -> Bound:
        return Bound(self.judged.rounded_guarantee.bound)


def reversal(auroc: float | None) -> Statement:
    """What shows that the event, or the forecast, may be the wrong way round."""
    return say("reversal", auroc_roughly=Number(auroc or 0.0, ".2g"))


def other_event() -> Statement:
    """What may have been meant by reversed labels."""
    return say("other_event", pos_label=Option("other_event"))


def check_event(auroc: float | None) -> Statement:
    """What to say about a forecast that is reversed."""
    return say("check_event", reversal=reversal(auroc), other_event=other_event())
