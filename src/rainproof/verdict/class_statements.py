"""What is stated of several classes: the same ladders as for one event, with facts of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rainproof.core.result import Interval
from rainproof.verdict import ladders
from rainproof.verdict.calibration import Calibration
from rainproof.verdict.cost_statements import REASON, costs_shown
from rainproof.verdict.details import loss_cells, notes, skill_cells, tabulated
from rainproof.verdict.evidence import SLIGHT, Rule
from rainproof.verdict.facts import JudgedFacts, gains, mismatch
from rainproof.verdict.segment_statements import and_more
from rainproof.verdict.statements import Statement, say
from rainproof.verdict.values import Count, Listing, Money, Name, PValue, money
from rainproof.verdict.verdict import Verdict, advised_rule, first_screen

if TYPE_CHECKING:
    from rainproof.verdict.classes import ClassAssessment

_NAMED = 3  # classes, or changes of actions, that a sentence names


class ClassFacts(JudgedFacts):
    """What is stated of several classes."""

    variant = "classes"

    def __init__(self, a: ClassAssessment, rule: Rule | None) -> None:
        super().__init__(a, a.task, rule, a.groups)
        self.classes = len(a.classes)
        self.rejected = len(a.rejected)

    # How it is off.

    @property
    def worst_calibration(self) -> Calibration:
        """That of the class which is most surely off."""
        found: Calibration = self.judged[self.judged.rejected[0]].calibration
        return found

    @property
    def classes_off(self) -> Statement:
        labels = [Name(repr(str(label))) for label in self.judged.rejected]
        key = "some_classes_off" if self.rejected < self.classes else "all_classes_off"
        names = and_more(Listing(labels[:_NAMED]), self.rejected)
        return say(key, count=Count(self.rejected), classes=self.classes, names=names)

    @property
    def worst(self) -> Name:
        return Name(repr(str(self.judged.rejected[0])))

    @property
    def mismatch(self) -> Statement:
        return mismatch(self.worst_calibration)

    @property
    def p(self) -> PValue:
        return PValue(self.worst_calibration.p_value)

    @property
    def how(self) -> Statement:
        return say("exactly" if self.judged.exact else "approximately")

    @property
    def why_not_correct(self) -> str:
        return "correcting_costs" if self.findings.costs_more else "correcting_gains_little"

    @property
    def unclear(self) -> list[str]:
        return [f"too_few_{self.unit}"]

    # What it gains.

    @property
    def which(self) -> Statement:
        return say("about_one_class")

    @property
    def most_gained(self) -> tuple[Any, Interval]:
        """The class that gains most by recalibration, and how much."""
        known = [one for one in self.judged.classes if one.gain is not None]
        found = max(known, key=lambda one: one.gain.value)
        return found.label, found.gain

    @property
    def gain_class(self) -> Name:
        return Name(repr(str(self.most_gained[0])))

    @property
    def gains(self) -> Statement:
        return gains(self.most_gained[1])

    @property
    def decision(self) -> Statement:
        return self.state("decision")

    @property
    def where(self) -> Statement:
        return say("where_named" if self.task is None else "where_in_task")

    @property
    def over(self) -> Statement:
        return say("over_fixed")

    @property
    def certificate(self) -> Any:
        return self.judged.recalibrator.certificate_

    # The user's own decision.

    @property
    def act(self) -> list[str]:
        if self.rule is Rule.ALWAYS:
            return ["always_take"]
        if self.grade == "avoid":
            return []
        return ["act_on_them" if self.task is None else "take_cheapest"]

    @property
    def amounts(self) -> dict[Rule, Money]:
        return costs_shown(self.task, apart=False)

    @property
    def advice_on_costs(self) -> list[Statement]:
        """The advice of swap regret, by action, where it is worth a word."""
        worth = SLIGHT * self.judged.tolerance
        found = [swap for swap in self.task.regret.swaps if swap.saves > worth][:_NAMED]
        if not found or self.rule is Rule.ALWAYS:
            return []
        swaps = []
        for swap in found:
            replacement = Name(repr(swap.replacement))
            swaps.append(say("swap", replacement=replacement, action=Name(repr(swap.action))))
        saved = money(sum(swap.in_units for swap in found))
        key = "swaps_without_map" if self.rule is Rule.RECALIBRATED else "swaps"
        return [say(key, REASON, swaps=Listing(swaps), saved=saved)]

    @property
    def estimates(self) -> list[str]:
        return ["skill_estimated" if self.task is None else "costs_and_skill_estimated"]


def judge_classes(a: ClassAssessment) -> Verdict:
    """Return the verdict that an assessment of several classes allows."""
    without = None if a.task is None else Rule.ALWAYS
    rule = advised_rule(a.findings, a.task, without)
    f = ClassFacts(a, rule)
    return Verdict(
        grade=a.grade,
        rule=rule,
        threshold=None,
        _statements=(*first_screen(f), *_details(f), *notes(a.warnings)),
        _steps=ladders.steps(f),
        _cells=_table(f),
    )


def _table(f: ClassFacts) -> tuple[tuple[Any, ...], ...]:
    """A column for each way of acting, a row for each number, as for one event."""
    a = f.judged
    rules = [Rule.AS_IS] if a.log_loss_gain is None else [Rule.AS_IS, Rule.RECALIBRATED]
    lines: list[tuple[Statement, Any]] = []
    if a.task is not None:
        rules = list(a.task.costs)
        lines.append((say("line cost"), f.amounts))
    lines.append((say("line skill"), skill_cells(f) or {Rule.AS_IS: ""}))
    if a.log_loss is not None:
        gain = 0.0 if a.log_loss_gain is None else a.log_loss_gain.value
        losses = {Rule.AS_IS: a.log_loss.value, Rule.RECALIBRATED: a.log_loss.value - gain}
        least = min(abs(gain) or 1.0, *losses.values())
        shown = {rule: money(loss, least) for rule, loss in losses.items()}
        lines.append((say("line log loss"), shown))
    lines.append((say("line loss of class"), loss_cells(f)))
    return tabulated(f, rules, lines)


def _details(f: ClassFacts) -> list[Statement]:
    """What the verdict rests on, in the order of reading."""
    found = [f.state("tested_classes", "calibration")]
    if f.judged.skill is not None:
        found.append(f.state("skill", "skill"))
    if f.task is not None:
        found.append(f.state("costs", "cost"))
    found.append(_told(f.judged.guarantee, "loss"))
    if f.certificate is not None:
        found.append(_told(f.certificate, "recalibration"))
    return found


def _told(result: Any, about: str) -> Statement:
    """What another result says of itself, in one line."""
    return say("told", about, text=Name(str(result).replace("\n", " ")))
