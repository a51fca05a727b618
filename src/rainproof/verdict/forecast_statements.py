"""What is stated of several forecasts: which one to take, and how every two of them compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rainproof.core.result import Interval
from rainproof.verdict.cost_statements import way
from rainproof.verdict.details import notes
from rainproof.verdict.evidence import Rule, reversed_saving
from rainproof.verdict.facts import EventFacts
from rainproof.verdict.ladders import ON_FORECAST, step
from rainproof.verdict.renderer import PYTHON
from rainproof.verdict.statements import Statement, Step, say
from rainproof.verdict.values import (
    Bound,
    Listing,
    Name,
    Number,
    Option,
    estimated,
)

if TYPE_CHECKING:
    from rainproof.inference.switches import SwitchGuarantee
    from rainproof.verdict.rankings import AssessmentSet, PairwiseComparison, RankedForecast

HEADLINE = "headline"
Cells = tuple[tuple[Any, ...], ...]


def facts_of(found: AssessmentSet, name: str) -> EventFacts:
    """What is stated of one of several forecasts."""
    a = found[name]
    return EventFacts(a.evidence, a.task, a.verdict.rule)


def _shared(found: AssessmentSet) -> EventFacts:
    """What is stated of the rows and decisions, which all forecasts share."""
    first = found.assessments[0]
    return EventFacts(first.evidence, first.task, None)


# Every two forecasts.


def pair(found: PairwiseComparison) -> list[Statement]:
    """How two forecasts compare."""
    statements = []
    if found.cost_difference is not None:
        statements.append(_difference(found, found.cost_difference))
    if found.to_b is None and found.to_a is None:
        return [*statements, say("not_paired", a=Name(found.a), b=Name(found.b))]
    if found.to_b is not None:
        statements.append(_switch(found.a, found.b, found.to_b))
    if found.to_a is not None:
        statements.append(_switch(found.b, found.a, found.to_a))
    return statements


def _difference(found: PairwiseComparison, cost: Interval) -> Statement:
    if found.better is None:
        return say("costs_alike", a=Name(found.a), b=Name(found.b), by=estimated(cost))
    worse = found.a
    if found.better == found.a:
        worse = found.b
        cost = reversed_saving(cost)
    return say("costs_less", better=Name(found.better), worse=Name(worse), by=estimated(cost))


def _switch(old: str, new: str, found: SwitchGuarantee) -> Statement:
    gain = say("switch_not_proven")
    if found.gain_at_least:
        which = say("nothing")
        if found.threshold_range is not None:
            which = say("in_range", range=found.threshold_range)
        at_least = Bound(found.gain_at_least, is_upper=False)
        gain = say("switch_gains", which=which, at_least=at_least)
    harm = Bound(found.harm_bound)
    return say("switch", old=Name(old), new=Name(new), gain=gain, harm=harm)


def pairs(found: AssessmentSet) -> Cells:
    """What a switch to the better of every two brings, as rows of a table with its head."""
    place = found.ranking.index
    heads = ["from", "to"]
    lines = []
    for one in found.pairs:
        forward = place(one.b) < place(one.a)
        old, new, switch = (one.a, one.b, one.to_b) if forward else (one.b, one.a, one.to_a)
        line: list[Any] = [Name(old), Name(new)]
        if one.cost_difference is not None:
            saved = one.cost_difference if forward else reversed_saving(one.cost_difference)
            line.append(estimated(saved))
        if switch is not None:
            gain: Any = say("not_proven")
            if switch.gain_at_least:
                gain = Bound(switch.gain_at_least, is_upper=False)
            line += [gain, Bound(switch.harm_bound)]
        lines.append(tuple(line))
    first = found.pairs[0]
    if first.cost_difference is not None:
        heads.append("saves")
    if first.to_b is not None:
        heads += ["gains", "loses"]
    return tuple(say(f"column {head}") for head in heads), *lines


def pair_limits(found: AssessmentSet) -> list[Statement]:
    """What the comparisons of all pairs rest on, and how they hold."""
    shared = _shared(found)
    keys = ["pairs_all"]
    if found.pairs[0].cost_difference is not None:
        keys.append("pairs_costs")
    if found.pairs[0].to_b is not None:
        keys.append("pairs_switches")
    keys.append("pairs_independent")
    if shared.sizes is not None:
        keys.append("pairs_sizes")
    if shared.stated_rate:
        keys.append("population")
    return shared.state_all("pair", keys)


# Which one to take.


def best_forecast(found: AssessmentSet) -> list[Statement]:
    """Which of several forecasts to take, and how, in a sentence or two."""
    taken = found.taken
    name = found.first.name if taken is None else taken.name
    one = found[name]
    if len(found) == 1 or one.evidence.rarer == 0:
        return one.verdict.about(HEADLINE)
    if one.evidence.is_reversed:
        verdict = Listing(one.verdict.about(HEADLINE), " ")
        return [say("of_forecast", HEADLINE, name=Name(name), verdict=verdict)]
    if taken is None:
        return [_without(found)]
    return _take(found, taken)


def _without(found: AssessmentSet) -> Statement:
    forecasts = len(found)
    simplest = simplest_rule(found)
    if simplest is None:
        return say("without", HEADLINE, forecasts=forecasts)
    return say("without_by_cost", HEADLINE, forecasts=forecasts, **_simply(found, simplest))


def _take(found: AssessmentSet, taken: RankedForecast) -> list[Statement]:
    """The forecast to take, and what speaks for it."""
    shared = _shared(found)
    recalibrated = taken.rule is Rule.RECALIBRATED
    is_best = found.best == taken.name
    values = {
        "taken": _named(taken),
        "size": _size(taken),
        "estimated": say("an_estimate" if recalibrated else "nothing"),
        "as_good": _as_good(found, taken),
        "which": shared.fact("which"),
        "forecasts": len(found),
    }
    if found.first.cost is None:
        if is_best and not recalibrated:
            return [say("take_best_forecast", HEADLINE, **values)]
        every = say("every_threshold" if shared.within is None else "every_threshold_also")
        least = say("take_least_brier", HEADLINE, every=every, **values)
        return [least, say("other_for_costs", HEADLINE, costs=Option("costs"))]
    if recalibrated:
        return [say("take_recalibrated", HEADLINE, **values), _as_they_are(found)]
    clear = say("nothing" if is_best else "take_not_clear")
    return [say("take_for_costs", HEADLINE, clear=clear, **values)]


def _named(one: RankedForecast) -> Statement | Name:
    """A forecast, and whether it is to be recalibrated."""
    name = Name(one.name)
    return say("taken_recalibrated", name=name) if one.rule is Rule.RECALIBRATED else name


def _size(one: RankedForecast) -> Statement | Number:
    """What a forecast costs as its verdict advises to act on it; without costs its Brier score."""
    if one.advised_cost is None:
        return Number(one.advised_brier, ".4g")
    return say("per_case", cost=estimated(one.advised_cost).value)


def _as_good(found: AssessmentSet, taken: RankedForecast) -> Statement:
    """The other forecasts that no shown digit tells from the one to take."""
    size = PYTHON.shown(_size(taken))
    same = []
    for one in found.standings:
        used = one is not taken and one.rule in ON_FORECAST
        if used and PYTHON.shown(_size(one)) == size:
            same.append(_named(one))
    return say("as_good", names=Listing(same, "; ")) if same else say("nothing")


def _as_they_are(found: AssessmentSet) -> Statement:
    """What costs least if nothing is recalibrated."""
    first = found.first
    simplest = simplest_rule(found)
    assert first.cost is not None  # the question is about costs
    values = {"first": Name(first.name), "first_cost": estimated(first.cost).value}
    if simplest is not None and found.references[simplest].value <= first.cost.value:
        simple = _simply(found, simplest)
        values |= {"doing": simple["doing"], "simple_cost": simple["cost"]}
        return say("none_gains_as_is", HEADLINE, **values)
    key = "least_as_is" if found.best == first.name else "least_as_is_unclear"
    return say(key, HEADLINE, **values)


def simplest_rule(found: AssessmentSet) -> Rule | None:
    """The cheapest rule without a forecast, if there are costs of the same rows."""
    costs = found.references
    known = set(costs) - {Rule.PERFECT}
    return min(known, key=lambda rule: (costs[rule].value, rule), default=None)


def _simply(found: AssessmentSet, rule: Rule) -> dict[str, Any]:
    """What such a rule does, and what that costs."""
    cost = estimated(found.references[rule]).value
    return {"doing": way("doing", rule, found.assessments[0].task), "cost": cost}


def next_step(found: AssessmentSet) -> list[Statement]:
    """What to do now, with the forecast to take."""
    if len(found) == 1:
        return found.assessments[0].verdict.about("next")
    if found.taken is not None:
        name = found.taken.name
        return [say("next_with", "next", name=Name(name), step=step(facts_of(found, name)))]
    # Each is to be avoided, or gains nothing over a rule without a forecast.
    facts = facts_of(found, found.ranking[0])
    facts.rule = simplest_rule(found)
    facts.grade = "avoid"
    return [say("next", "next", step=step(facts))]


def steps(found: AssessmentSet) -> tuple[Step, ...]:
    """What there is code, or a command line, for."""
    if len(found) == 1:
        return found.assessments[0].verdict.steps
    if found.taken is None:
        return ()
    name = found.taken.name
    return tuple(one._replace(forecast=name) for one in found[name].verdict.steps)


# The table.


def standings(found: AssessmentSet) -> Cells:
    """The rows of a table, with its head: the forecasts, best first, and below them the rules
    without a forecast.
    """
    by_name = {standing.name: standing for standing in found.standings}
    ranked = [by_name[name] for name in found.ranking]
    priced = any(one.cost is not None for one in ranked)
    columns: dict[str, Callable[[RankedForecast], Any]] = {"forecast": lambda one: Name(one.name)}
    if priced:
        columns["cost"] = lambda one: "" if one.cost is None else estimated(one.cost)
        columns["recalibrated"] = _recalibrated_cost
    columns["brier"] = lambda one: Number(one.brier_score, ".4g")
    if not priced:
        columns["recalibrated"] = lambda one: _number(one.brier_recalibrated, ".4g")
    columns["log"] = lambda one: Number(one.log_score, ".4g")
    columns["auroc"] = lambda one: _number(one.auroc, ".3f")
    columns["grade"] = lambda one: one.grade
    lines = [tuple(column(one) for column in columns.values()) for one in ranked]
    task = found.assessments[0].task
    empty = [""] * (len(columns) - 2)
    if task is not None:
        for rule, cost in found.references.items():
            name = say("reference", name=way("way", rule, task))
            lines.append((name, estimated(cost), *empty))
    return tuple(say(f"column {name}") for name in columns), *lines


def _recalibrated_cost(one: RankedForecast) -> Any:
    cost = one.cost_recalibrated
    return "" if cost is None else estimated(cost).value


def _number(value: float | None, form: str) -> Number | str:
    return "" if value is None else Number(value, form)


def about_standings(found: AssessmentSet) -> Iterator[Statement]:
    """What the numbers of that table are."""
    yield say("about_scores", "table")
    if any(math.isinf(one.log_score) for one in found.standings):
        yield say("about_infinite", "table")
    yield from notes(dict.fromkeys(text for a in found.assessments for text in a.warnings))
