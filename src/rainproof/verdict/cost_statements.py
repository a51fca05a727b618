"""What is stated of costs: what a way of acting costs beside the others, and which ones cost less.

The same of one event and of several classes, of the user's own decision and of a range of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rainproof.core.result import Interval
from rainproof.verdict.evidence import Rule, saving
from rainproof.verdict.statements import Statement, say
from rainproof.verdict.values import Listing, Money, Name, Ranged, money

if TYPE_CHECKING:
    from rainproof.verdict.classes import ClassTaskResult
    from rainproof.verdict.costs import TaskResult
    from rainproof.verdict.evidence import Savings
    from rainproof.verdict.grades import Grade

REASON = "reason"
Doing = Callable[[Rule], Statement]


def way(form: str, rule: Rule, task: TaskResult | ClassTaskResult | None) -> Statement:
    """What a way of acting is called: as the "head" of a column, as what one is "doing", or by its
    name ("way").
    """
    if task is not None and rule in (Rule.ALWAYS, Rule.FIXED):
        if task.task.profile.fixed:
            return say("way of always", action=Name(repr(task.fixed_action)))
        if task.capacity is not None:
            return say(f"{form} at random")
    return say(f"{form} {rule}")


def costs_shown(known: Savings, *, apart: bool = True) -> dict[Rule, Money]:
    """The costs with as many digits as tell the smallest, a hundredth of the largest, or (`apart`)
    what the map surely saves.
    """
    sizes = [abs(cost.value) for cost in known.costs.values() if cost.value] or [1.0]
    least = max(min(sizes), max(sizes) / 100)
    saved = known.saved.get(Rule.RECALIBRATED)
    if apart and saved is not None and saved.low > 0:
        least = min(least, saved.value)
    return {rule: money(cost.value, least) for rule, cost in known.costs.items()}


def your_cost(known: Savings, rule: Rule, doing: Doing, *, shown: bool = True) -> list[Statement]:
    """What a way of acting costs beside the forecast as it is, or beside none, if it is `shown`
    which is less.
    """
    simplest = known.simplest
    own = known.costs[rule].value
    without: dict[str, Any] = {}
    if simplest is not None:
        cost = known.costs[simplest].value
        apart = cost - own if rule is Rule.AS_IS else known.saved[rule].value
        without = {
            "without": money(cost, apart),
            "simplest": doing(simplest),
            "less": _which_is_less(known, rule, simplest, shown=shown),
        }
        if rule is Rule.AS_IS:
            return [say("cost_as_is", REASON, now=money(own, apart), **without)]
    found = [_change(known, rule, doing)]
    if names_simplest(known, rule, shown=shown):
        found.append(say("cost_without", REASON, **without))
    return found


def _change(known: Savings, rule: Rule, doing: Doing) -> Statement:
    """What the cost is now, and by the rule."""
    before = known.costs[Rule.AS_IS].value
    saved = known.saved[rule]
    apart = saved.value
    if apart == 0:
        return say("cost_same", REASON, before=money(before), doing=doing(rule))
    key = "cost_rises"
    if saved.high > 0:
        key = "cost_falls" if saved.low > 0 else "cost_unclear"
    return say(
        key,
        REASON,
        before=money(before, apart),
        now=money(known.costs[rule].value, apart),
        doing=doing(rule),
        saves=Ranged(money(apart), money(saved.low, apart), money(saved.high, apart)),
    )


def names_simplest(known: Savings, rule: Rule, *, shown: bool = True) -> bool:
    """Whether the statement about the cost names the cheapest way to act without the forecast."""
    simplest = known.simplest
    if simplest is None or simplest is rule:
        return False
    costs = known.costs
    most = max(costs[Rule.AS_IS].value, costs[rule].value)
    return rule is Rule.AS_IS or costs[simplest].value <= most or not shown


def _which_is_less(known: Savings, rule: Rule, simplest: Rule, *, shown: bool) -> Statement:
    """What to say where acting without the forecast costs less by the estimates, or may do so."""
    if known.costs[simplest].value < known.costs[rule].value:
        saved = saving(known, rule, simplest)
        if saved is None or saved.low <= 0:
            return say("less_not_established")
        return say("less_but_skill")
    return say("nothing" if shown else "less_unclear")


def cheaper(
    known: Savings,
    own: float,
    left_out: Sequence[Rule | None],
    why: Callable[[Rule], str],
    doing: Doing,
    amounts: Mapping[Rule, Money],
    own_amount: str,
) -> list[Statement]:
    """The ways of acting that cost less than the one advised, by the estimates, and why they are
    not advised; those that cost as much in the digits that are shown have no reason.
    """
    less = []
    same = []
    for rule, cost in known.costs.items():
        if rule in left_out or cost.value >= own:
            continue
        if str(amounts[rule]) == own_amount:
            same.append(doing(rule))
        else:
            values = {"name": doing(rule), "amount": amounts[rule], "why": say(why(rule))}
            less.append(say("cheaper_way", **values))
    found = []
    if less:
        found.append(say("cheaper", REASON, ways=Listing(less, "; ")))
    if same:
        found.append(say("as_cheap", REASON, ways=Listing(same, "; ")))
    return found


def why_not(grade: Grade, saved: Interval | None, *, rejected: bool) -> str:
    """Why the evidence does not speak for a way of acting that is estimated to save something."""
    if grade == "avoid":
        return "why_next_to_nothing"
    if saved is None or saved.low <= 0:
        return "why_not_established"
    return "why_any_decision" if rejected else "why_not_rejected"
