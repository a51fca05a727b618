"""What is stated of several classes: the same ladders as for one event, with facts of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rainproof.core.result import Interval
from rainproof.verdict import ladders
from rainproof.verdict.cost_statements import REASON, costs_shown
from rainproof.verdict.details import loss_cells, notes, skill_cells, tabulated
from rainproof.verdict.evidence import SLIGHT, Rule
from rainproof.verdict.facts import NOTHING, NUMBERS, PARTS, JudgedFacts, gains, mismatch, quoted
from rainproof.verdict.segment_statements import and_more
from rainproof.verdict.statements import Statement, say
from rainproof.verdict.values import Count, Listing, Money, Name, PValue, money
from rainproof.verdict.verdict import Verdict, advised_rule, first_screen

if TYPE_CHECKING:
    from rainproof.verdict.classes import ClassAssessment

_NAMED = 3  # classes, or changes of actions, that a sentence names
_EMPTY = {Rule.AS_IS: ""}  # a line of the table that stands there without a number


class ClassFacts(JudgedFacts):
    """What is stated of several classes."""

    variant = "classes"
    numbers = NUMBERS | {
        "p": (PValue, "worst.calibration.p_value"),
        "mismatch": (mismatch, "worst.calibration"),
        "worst": (lambda label: quoted(str(label)), "worst.label"),
        "gains": (gains, "most_gained.gain"),
        "gain_class": (lambda label: quoted(str(label)), "most_gained.label"),
        "task_rows": NUMBERS["rows"],
    }
    parts = PARTS | {
        "which": ("about_one_class", "judged"),
        "raw": ("nothing", "judged"),
        "decision": ("decision", "judged"),
        "over": ("over_fixed", "judged"),
        "so_many_groups": ("so_many_groups", "judged"),
    }
    is_reversed = indivisible = by_rank = by_weight = likely = chosen = stated_rate = False
    within = None
    foresight = rarity = NOTHING
    cutoff_is_best = False
    has_losses = True
    cheaper_in_range = ()
    looks = "looks_off"

    def __init__(self, a: ClassAssessment, rule: Rule | None) -> None:
        super().__init__(a, a.task, rule, a.groups)
        self.classes = len(a.classes)
        self.rejected = len(a.rejected)
        self.certificate = a.recalibrator.certificate_
        self.is_grouped = a.groups is not None
        if self.is_grouped:
            self.draws = self.state("so_many_groups")
        self.how = say("exactly" if a.exact else "approximately")
        self.where = say("where_named" if a.task is None else "where_in_task")
        self.estimates = ["skill_estimated" if a.task is None else "costs_and_skill_estimated"]
        self.unclear = [f"too_few_{self.unit}"]
        costs_more = self.findings.costs_more
        self.why_not_correct = "correcting_costs" if costs_more else "correcting_gains_little"

    @property
    def worst(self) -> Any:
        """The class that is most surely off."""
        return self.judged[self.judged.rejected[0]]

    @property
    def classes_off(self) -> Statement:
        """Which classes are off."""
        labels = [quoted(str(label)) for label in self.judged.rejected[:_NAMED]]
        key = "some_classes_off" if self.rejected < self.classes else "all_classes_off"
        names = and_more(Listing(labels), self.rejected)
        return say(key, count=Count(self.rejected), classes=self.classes, names=names)

    @property
    def most_gained(self) -> Any:
        """The class that gains most by recalibration."""
        known = [one for one in self.judged.classes if one.gain is not None]
        return max(known, key=lambda one: one.gain.value)

    def is_shown(self, _skill: Interval | None) -> bool:
        """Whether it is shown that acting on the forecast gains: it is not asked of classes."""
        return True

    @property
    def act(self) -> list[str]:
        """How to act."""
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
            actions = {"replacement": quoted(swap.replacement), "action": quoted(swap.action)}
            swaps.append(say("swap", **actions))
        saved = money(sum(swap.in_units for swap in found))
        key = "swaps_without_map" if self.rule is Rule.RECALIBRATED else "swaps"
        return [say(key, REASON, swaps=Listing(swaps), saved=saved)]


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
        lines.append((say("line cost"), f.amounts or _EMPTY))
    lines.append((say("line skill"), skill_cells(f) or _EMPTY))
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
