"""Which statements a verdict makes: ladders of conditions that end in keys of templates.

One event and several classes go through the same ladders; where their words differ, the template
has a variant. What a statement says is in `templates`, its numbers are in `facts`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from rainproof.verdict.cost_statements import (
    REASON,
    cheaper,
    names_simplest,
    why_not,
    your_cost,
)
from rainproof.verdict.evidence import Rule, saving
from rainproof.verdict.statements import Statement, Step, say
from rainproof.verdict.values import Listing

if TYPE_CHECKING:
    from rainproof.verdict.class_statements import ClassFacts
    from rainproof.verdict.facts import EventFacts

    Judged: TypeAlias = EventFacts | ClassFacts

HEADLINE = "headline"
ON_FORECAST = (Rule.AS_IS, Rule.RECALIBRATED)


# The headline.


def headline(f: Judged) -> list[Statement]:
    """The verdict, for which decisions, and whether the forecast is honest."""
    found = f.state_all(HEADLINE, _headline(f))
    if f.within is None or f.is_reversed or not f.findings.decidable:
        return found
    return [say("for_decisions", HEADLINE, range=f.within, verdict=Listing(found, " "))]


def _headline(f: Judged) -> Iterable[str]:
    rejected = f.findings.rejected
    saved = f.judged.saved
    if not f.findings.decidable:
        return ["one_outcome_by_weight" if f.by_weight else "one_outcome"]
    if f.is_reversed:
        return ["reversed"]
    if f.indivisible:
        return ["is_off" if rejected else f.looks, "no_grade"]
    if f.grade == "recalibrate":
        if saved is None or saved.low > 0:
            return ["recalibrate_first", "is_off"]
        return ["is_off", "may_not_pay" if saved.value < 0 else "mends"]
    if f.grade == "avoid":
        return _to_avoid(f)
    if f.grade == "use":
        if rejected:
            return ["use_them", f.why_not_correct]
        return ["use_them", "no_sign" if f.likely else "no_clear_sign"]
    if rejected and not f.by_rank:
        return ["too_few_to_correct"]
    return f.unclear


def _to_avoid(f: Judged) -> list[str]:
    if f.judged.constant:
        return ["do_without", "constant"]
    if f.profile.threshold is not None:
        return ["useless_at_threshold"]
    if f.profile.fixed:
        return ["useless_in_task"]
    if f.profile.per_case:
        return ["useless_per_case"]
    return ["do_without", "useless" if f.within is None else "useless_in_range"]


# The reason.


def reason(f: Judged) -> list[Statement]:
    """The money, if there are costs; else the size of the effect in one number."""
    if not f.findings.decidable:
        return [f.state("almost_all_weight" if f.by_weight else "all_outcomes", REASON)]
    if f.task is not None and f.rule is not None and f.rule in f.task.costs:
        return [*_own_cost(f, f.rule), *f.advice_on_costs]
    return [f.state(_effect(f), REASON), *f.cheaper_in_range]


def _own_cost(f: Judged, rule: Rule) -> list[Statement]:
    """What the advised way of acting costs in the user's own decision, and what costs less."""
    task = f.task
    own_skill = f.judged.skill_as_is if rule is Rule.AS_IS else f.judged.skill
    amounts = f.amounts
    left_out = [rule, Rule.AS_IS, Rule.PERFECT]
    if names_simplest(task, rule):
        left_out.append(task.simplest)
    found = your_cost(task, rule, f.doing_by, shown=f.is_shown(own_skill))
    if f.cutoff_is_best:
        left_out.append(Rule.CUTOFF)
        found.append(f.state("cutoff_costs_least", REASON))

    def why(other: Rule) -> str:
        if other is Rule.CUTOFF:
            return "why_one_ratio"
        return why_not(f.grade, saving(task, rule, other), rejected=f.findings.rejected)

    own = task.costs[rule].value
    return found + cheaper(task, own, left_out, why, f.doing_by, amounts, str(amounts[rule]))


def _effect(f: Judged) -> str:
    """The size of the effect in one number."""
    skill = f.judged.skill
    if f.grade == "recalibrate":
        return "gain"
    if f.grade == "use" or skill is None:
        return "guarantees_nothing" if f.judged.guarantee.bound >= 1 else "loses_at_most"
    if f.grade == "avoid":
        return "constant_says_nothing" if f.judged.constant else "little_skill"
    return "skill_shown" if skill.low > 0 else "skill_unclear"


# The next step.


def next_step(f: Judged) -> list[Statement]:
    """What to do now, from which threshold on, and how many cases that flags."""
    return [say("next", "next", step=step(f))]


def step(f: Judged) -> Listing:
    """The step itself."""
    return Listing(f.state_all("", _step(f)), " ")


def _step(f: Judged) -> list[str]:
    if not f.findings.decidable:
        return ["get_both_outcomes"]
    if f.is_reversed:
        return ["other_event"]
    if f.indivisible:
        return ["assess_rows", "until_then", *f.act] if f.capacity is None else ["assess_rows"]
    keys = ["if_chosen_by_outcome"] if f.chosen else []
    if f.grade == "avoid":
        keys.append("use_another")
        return [*keys, "until_then", *f.act] if f.act else keys
    if f.grade == "unknown":
        keys.append(f"until_more_{f.unit}")
    if f.rule is Rule.RECALIBRATED:
        keys.append("apply_map")
    return keys + f.act


def steps(f: Judged) -> tuple[Step, ...]:
    """What there is code, or a command line, for."""
    if f.is_reversed or f.indivisible or f.rule not in ON_FORECAST:
        return ()
    recalibrated = f.rule is Rule.RECALIBRATED
    if f.capacity is not None:
        return (Step("decide", recalibrated),)
    return (Step("recalibrate", recalibrated),) if recalibrated else ()


# What it rests on.


def basis(f: Judged) -> list[Statement]:
    """What the numbers rest on."""
    for_costs = f.grade == "recalibrate" and f.rule is Rule.AS_IS
    keys = ["grade_for_costs" if for_costs else "grade", _how_drawn(f), *f.estimates]
    if f.stated_rate:
        keys.append("population")
    if f.has_losses:
        keys.append("losses")
        if f.profile.per_case:
            keys.append("same_in_every_case")
    return f.state_all("basis", keys)


def _how_drawn(f: Judged) -> str:
    if f.stated_rate:
        return "drawn_given_outcomes"
    return "drawn_in_groups" if f.is_grouped else "drawn"
