"""What a verdict rests on: the paragraphs behind it, the answers to four questions, and the
table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rainproof.verdict.cost_statements import costs_shown
from rainproof.verdict.evidence import Rule
from rainproof.verdict.facts import EventFacts, JudgedFacts, capped, two_decimals
from rainproof.verdict.segment_statements import segment_statements
from rainproof.verdict.statements import Statement, say
from rainproof.verdict.values import Bound, Level, Name, Share, money

if TYPE_CHECKING:
    from rainproof.inference.proven_gains import ProvenGain
    from rainproof.verdict.segments import SegmentTable

Cells = Mapping[Rule, Any]


def details(f: EventFacts, segments: SegmentTable | None) -> list[Statement]:
    """What the verdict rests on, in the order of reading."""
    e = f.judged
    found = [f.state("rejected" if f.findings.rejected else "not_rejected_by_test", "calibration")]
    found += f.state_all("skill", _skill(f))
    found += f.state_all("recalibration", _recalibration(f))
    if f.task is not None and f.task.cost is not None:
        keys = ["costs", "costs_judged"]
        if f.profile.per_case:
            keys.append("same_in_every_case")
        found += f.state_all("cost", keys)
    found.append(f.state("no_bound" if e.guarantee.bound >= 1 else "bound", "loss"))
    found.append(f.state("rounded", "rounded"))
    if segments is not None:
        found += segment_statements(segments, advised=f.grade == "recalibrate")
    found.append(f.state("limits", "limits"))
    return found


def notes(warnings: Iterable[str]) -> list[Statement]:
    """Warnings as statements."""
    return [say("note", "note", text=Name(text)) for text in warnings]


def _skill(f: EventFacts) -> list[str]:
    if f.judged.skill is None:
        return ["no_skill"]
    return ["skill"] if f.judged.auroc is None else ["skill", "auroc"]


def _recalibration(f: EventFacts) -> list[str]:
    if f.judged.gain is None:
        return ["not_tried"]
    return ["gain_estimated", "map_of_all" if f.certificate is None else "map_proven"]


class Answer(NamedTuple):
    """The answer to one of the questions that people come with; the question is what it is
    about.
    """

    about: str
    value: Statement
    meaning: Statement


def answers(f: EventFacts) -> list[Answer]:
    """The answers to the questions that people come with."""
    value = say("not_rejected")
    if f.findings.rejected:
        value = say(f"direction {f.calibration.direction}")
    found = [Answer("calibration", value, f.state("answer_calibration"))]
    skill = Answer("skill", say("not_defined"), f.no_skill)
    if f.judged.skill is not None:
        skill = Answer("skill", f.state("skill_value"), f.state("answer_skill"))
    found.append(skill)
    if f.task is not None and f.task.cost is not None:
        found.append(Answer("cost", _cost_value(f), f.state("answer_cost")))
    found.append(Answer("loss", f.state("loss_value"), f.state("answer_loss")))
    return found


def _cost_value(f: EventFacts) -> Statement:
    """What the user's own decision costs, and what it would cost by the rule that is advised."""
    before = f.task.cost.value
    now = f.task.costs.get(f.rule or Rule.AS_IS, f.task.cost).value
    if before == now:
        return f.state("cost_value")
    return say("cost_change", before=money(before, before - now), now=money(now, before - now))


# The table.


def tabulated(
    f: JudgedFacts, rules: Iterable[Rule], lines: Iterable[tuple[Statement, Cells]]
) -> tuple[tuple[Any, ...], ...]:
    """A column for each way of acting, a line for each number that some of them have."""
    rules = list(rules)
    body = [(name, *(cells.get(rule, "") for rule in rules)) for name, cells in lines if cells]
    return (("", *map(f.head, rules)), *body) if body else ()


def table(f: EventFacts) -> tuple[tuple[Any, ...], ...]:
    """A column for each way of acting, a row for each number; the first row has the heads. Nothing
    of a constant.
    """
    e = f.judged
    task = f.task
    known = e.range_costs if task is None or not task.costs else task
    rules = [Rule.AS_IS] if e.gain is None else [Rule.AS_IS, Rule.RECALIBRATED]
    lines: list[tuple[Statement, Cells]] = []
    if known is not None:
        rules = [rule for rule in Rule if rule in known.costs]
        lines = _of_costs(f) if known is task else [(_mean_cost(f), costs_shown(known))]
    if e.constant:  # whatever is done by it is one of the rules without it
        rules = [rule for rule in rules if rule not in _ON_FORECAST]
    else:
        lines += _of_forecast(f)
    return tabulated(f, rules, lines)


_ON_FORECAST = (Rule.AS_IS, Rule.RECALIBRATED, Rule.CUTOFF)


def _mean_cost(f: EventFacts) -> Statement:
    return say("line cost" if f.one_threshold else "line mean cost")


def _of_costs(f: EventFacts) -> list[tuple[Statement, Cells]]:
    """The lines of the table about the user's own decision."""
    acted = {rule: Share(share) for rule, share in f.task.acted.items()}
    totals: Cells = {}
    if f.profile.per_case:
        totals = {rule: Name(f"{total:,.0f}") for rule, total in f.task.totals.items()}
    one_more = {rule: money(gain) for rule, gain in f.one_more_by_rule.items()}
    return [
        (say("line cost"), f.amounts),
        (say("line total"), totals),
        (say("line acted"), acted),
        (say("line one more"), one_more),
    ]


def _of_forecast(f: EventFacts) -> list[tuple[Statement, Cells]]:
    """The lines of the table about the forecast, as it is and recalibrated."""
    e = f.judged
    mean = {Rule.AS_IS: f.predicted}
    if e.gain is not None:
        mean[Rule.RECALIBRATED] = Share(e.gain.mean_prediction, f.observed.digits)
    return [
        (f.state("line mean"), mean),
        (say("line skill"), skill_cells(f)),
        (say("line loss" if f.within is None else "line loss in range"), loss_cells(f)),
    ]


def skill_cells(f: JudgedFacts) -> Cells:
    """The skill, as it is and recalibrated."""
    skills = {Rule.AS_IS: f.judged.skill_as_is, Rule.RECALIBRATED: f.judged.skill}
    # What is rounded to 0 has no sign.
    return {
        rule: two_decimals(round(skill.value, 2) + 0.0)
        for rule, skill in skills.items()
        if skill is not None
    }


def loss_cells(f: JudgedFacts) -> Cells:
    """What is proven of the loss; of the map on fewer rows, which is marked."""
    found: dict[Rule, Any] = {Rule.AS_IS: f.fact("capped_bound")}
    if f.certificate is not None:
        found[Rule.RECALIBRATED] = say("marked", value=capped(f.certificate.loss_bound))
    return found


def worth(found: ProvenGain | None, confidence_level: float) -> Statement:
    """What the forecast is proven to be worth over no forecast."""
    if found is None:
        return say("no_worth")
    decisions = found.threshold_range
    if not found.proven:
        which = say("nothing") if decisions is None else say("in_range", range=decisions)
        return say("worth_not_proven", which=which)
    where = say("at_a_threshold")
    if decisions is not None:
        where = say("a_decision_for", range=decisions)
    at_least = Bound(found.relative_at_least, is_upper=False)
    return say("worth", level=Level(confidence_level), where=where, at_least=at_least)
