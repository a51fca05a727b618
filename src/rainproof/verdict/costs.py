"""What the user's own decision costs per case: now, recalibrated, and by simple rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Interval, Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import aligned
from rainproof.core.text import rows as count_rows
from rainproof.core.validation import ThresholdRange
from rainproof.decisions.swap_regrets import SwapRegret, swap_regret
from rainproof.decisions.tasks import DecisionTask, ListedTask, expected_gain, if_listed
from rainproof.inference.absent_outcomes import EventGain
from rainproof.inference.estimates import (
    interval_by_influence,
    mean_interval,
    typical_size,
)
from rainproof.recalibration.selection import CrossFit
from rainproof.verdict.cost_statements import way
from rainproof.verdict.evidence import WITHOUT, Crossed, RangeCosts, simplest
from rainproof.verdict.evidence import Rule as Rule
from rainproof.verdict.renderer import PYTHON
from rainproof.verdict.statements import say
from rainproof.verdict.values import Number

_ROUNDING = 1e-9  # a chance nearer to 1 is 1
_NOTHING = 1e-12  # of the largest difference in cost: less is saved by rounding alone


@result_class
class TaskResult(Result):
    """The user's own decision: what it costs by each way of acting, and its swap regret on these
    rows.

    All costs are of the same rows, all of them. For "recalibrated" and "cut-off" each fifth of the
    rows is judged by a map, or a cut-off, that was fitted to the others. Acting on the forecast
    means: take the action that is best if the probability is right.

    Attributes
    ----------
    task : DecisionTask
    regret : SwapRegret
        The swap regret of taking the best action for each prediction.
    grid : int
        The grid of the guarantee.
    costs : dict of Rule to Interval
        The cost per case, in the units of the task, with an approximate interval: of acting on the
        forecast "as is", on the "recalibrated" forecast, from the best single "cut-off" on (one for
        all cases), "always" (the action for the highest probabilities), "never" (that for the
        lowest), and with "perfect" foresight. Empty for tasks without a list of actions; without
        "recalibrated" and "cut-off" where no map can be fitted. For tasks with more than two
        actions without "cut-off", and with "always the same" action, `fixed_action`, in place of
        "always" and "never".
    saved : dict of Rule to Interval
        What "recalibrated" and the rules without a forecast save per case over acting on the
        forecast as it is; below 0 they cost more. Each interval holds by itself.
    saved_recalibrated : dict of Rule to Interval
        What the rules without a forecast save per case over acting on the recalibrated forecast.
        Empty without that.
    acted : dict of Rule to float
        The share of cases acted on by each rule, on these rows: by the map that
        `Assessment.recalibrator` has, and from `best_threshold` on. Empty for tasks with more than
        two actions.
    capacity : float or None
        The largest share of cases that can be acted on; None if all can. With a capacity the
        forecast, as it is or recalibrated, and perfect foresight act on the cases with the largest
        (expected) gain, on average over the lottery between equal ones; "always" is on as many
        cases at random, and there is no "cut-off".
    one_more : dict of Rule to float
        What acting on one more case would gain, if the probabilities that a rule acts on are right:
        the gain of the first case that is left out; 0 if none is. Empty without a capacity.
    best_threshold : float or None
        The cut-off that costs least on all rows; 2 is never.
    fixed_action : str or None
        The action that costs least on these rows if it is always taken; None for tasks with two
        actions.
    n : int
        The number of rows.
    cost, cost_recalibrated, cost_best_cutoff : Interval or None
        The entries of `costs`; None where there is none.
    cost_always, cost_never, cost_fixed, cost_perfect : Interval or None
        The entries of `costs`; None where there is none.
    totals : dict of Rule to float
        The cost by each rule of as many cases as there are rows.
    """

    _also: ClassVar = (
        "text",
        "scale",
        "cost",
        "cost_recalibrated",
        "cost_best_cutoff",
        "cost_always",
        "cost_never",
        "cost_fixed",
        "cost_perfect",
        "totals",
    )
    _shown: ClassVar = ("cost", "cost_recalibrated", "n")

    task: DecisionTask
    regret: SwapRegret
    grid: int
    costs: Mapping[Rule, Interval] = field(default_factory=dict)
    saved: Mapping[Rule, Interval] = field(default_factory=dict)
    saved_recalibrated: Mapping[Rule, Interval] = field(default_factory=dict)
    acted: Mapping[Rule, float] = field(default_factory=dict)
    capacity: float | None = None
    one_more: Mapping[Rule, float] = field(default_factory=dict)
    best_threshold: float | None = None
    fixed_action: str | None = None
    n: int = 0
    # within a capacity, or among more than two actions
    _skill: Mapping[Rule, Interval] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        sample: Sample,
        task: DecisionTask,
        grid: int,
        crossed: Crossed | None,
        confidence_level: float,
        capacity: float | None = None,
        deployed: PiecewiseMap | None = None,
    ) -> TaskResult:
        """Compute the regret of a sample, and the costs on its rows, which are in folds where a map
        can be fitted.

        Costs are judged on other rows; what is acted on is that by the map that is `deployed`, and
        by the cut-off.
        """
        task = task.for_rows(sample)
        regret = swap_regret(sample, task=task)
        listed = if_listed(task)
        if listed is None or not sample.units.divisible:
            flagged = {}
            if listed is not None and capacity is None and listed.profile.actions == 2:
                acts = listed.best_index(sample.prob) == listed.order[-1]
                flagged[Rule.AS_IS] = float(sample.mass @ acts) / sample.total_weight
            return cls(task=task, regret=regret, grid=grid, acted=flagged, capacity=capacity)
        task = listed
        rows = sample.at_cell_means() if crossed is None else crossed.rows
        actions = simple_actions(task, rows)
        cutoff = None
        two = task.profile.actions == 2
        cost = {rule: paid(task, action, rows) for rule, action in actions.items()}
        acted = {rule: action == task.order[-1] for rule, action in actions.items() if two}
        one_more = dict[Rule, float]()
        if crossed is not None:
            cost[Rule.RECALIBRATED] = crossed.mean(
                lambda deal: paid(task, task.best_index(deal.better), rows)
            )
        added = dict[Rule, Floats]()
        if rows.units.clustered and capacity is None:
            added = _added_by_rules(task, actions, crossed, rows)
        if capacity is not None:
            cost, acted, one_more = _limited(task, rows, crossed, capacity)
        elif crossed is not None and two:
            first = crossed.deals[0]
            acted[Rule.CUTOFF] = first.entry >= _best_cutoff(_gains(task, first, rows).sum(axis=0))
            cutoff = float(rows.prob[acted[Rule.CUTOFF] & (rows.mass > 0)].min(initial=2.0))
            cost[Rule.CUTOFF] = crossed.mean(
                lambda deal: paid(task, _from_cutoffs(task, deal, rows), rows)
            )
            if deployed is not None:
                acted[Rule.RECALIBRATED] = task.best_index(deployed(rows.prob)) == task.order[-1]
        costs = {
            rule: rule_cost(
                task,
                rule,
                cost[rule],
                rows,
                confidence_level,
                limited=capacity is not None,
                added=added.get(rule),
            )
            for rule in Rule
            if rule in cost
        }
        most = differences(task)
        mass = rows.mass / rows.mass.sum()
        return cls(
            task=task,
            regret=regret,
            grid=grid,
            costs={rule: cost for rule, cost in costs.items() if cost is not None},
            saved=savings(cost, Rule.AS_IS, most, rows, confidence_level, added),
            saved_recalibrated=savings(
                cost, Rule.RECALIBRATED, most, rows, confidence_level, added
            ),
            acted={rule: min(float(mass @ acted[rule]), 1.0) for rule in Rule if rule in acted},
            capacity=capacity,
            one_more=one_more,
            best_threshold=cutoff,
            fixed_action=task.actions[int(actions[Rule.FIXED][0])]
            if Rule.FIXED in actions
            else None,
            n=rows.n,
            _skill=_skills(task, cost, rows, confidence_level)
            if capacity is not None or Rule.FIXED in cost
            else {},
        )

    @property
    def skills(self) -> Mapping[Rule, Interval]:
        """The skill of acting on the forecast, as it is and recalibrated, within a capacity or
        among more than two actions; nothing in other decisions.
        """
        return self._skill

    @property
    def cost(self) -> Interval | None:
        """The cost per case of acting on the forecast as it is."""
        return self.costs.get(Rule.AS_IS)

    @property
    def cost_recalibrated(self) -> Interval | None:
        """The cost per case of acting on the recalibrated forecast."""
        return self.costs.get(Rule.RECALIBRATED)

    @property
    def cost_best_cutoff(self) -> Interval | None:
        """The cost per case of acting from the best single cut-off on."""
        return self.costs.get(Rule.CUTOFF)

    @property
    def cost_always(self) -> Interval | None:
        """The cost per case of always acting."""
        return self.costs.get(Rule.ALWAYS)

    @property
    def cost_never(self) -> Interval | None:
        """The cost per case of never acting."""
        return self.costs.get(Rule.NEVER)

    @property
    def cost_fixed(self) -> Interval | None:
        """The cost per case of always taking `fixed_action`."""
        return self.costs.get(Rule.FIXED)

    @property
    def cost_perfect(self) -> Interval | None:
        """The cost per case of perfect foresight."""
        return self.costs.get(Rule.PERFECT)

    @property
    def totals(self) -> dict[Rule, float]:
        """The cost by each rule of as many cases as there are rows."""
        return {rule: cost.value * self.n for rule, cost in self.costs.items()}

    @property
    def text(self) -> str:
        """The decision in words."""
        return str(self.task)

    @property
    def scale(self) -> float:
        """What is at stake, in the units of the task."""
        return self.task.scale

    @property
    def errors(self) -> tuple[float, float] | None:
        """What a false alarm and a miss cost, where there are two actions and the right one costs
        nothing.
        """
        # not those of single cases
        task = if_listed(self.task)
        if task is None or task.profile.per_case or task.profile.actions != 2:
            return None
        (spared, missed), (alarm, hit) = task.by_case[list(task.order), :, 0].tolist()
        return (-alarm, -missed) if spared == hit == 0 else None

    @property
    def by_rank(self) -> bool:
        """Whether only the order of the probabilities counts, and recalibration is not shown to
        improve it.
        """
        left_out = [self.one_more.get(rule, 1.0) > 0 for rule in (Rule.AS_IS, Rule.RECALIBRATED)]
        saved = self.saved.get(Rule.RECALIBRATED)
        full = self.capacity is not None and self.task.profile.ranked and all(left_out)
        return full and (saved is None or saved.low <= 0)

    @property
    def simplest(self) -> Rule | None:
        """The cheapest rule without a forecast; None if they have no cost."""
        return simplest(self.costs)

    def name(self, rule: Rule) -> str:
        """What a rule is called."""
        return PYTHON.text(say("name", way=way("way", rule, self)))

    def label(self, rule: Rule) -> str:
        """What a rule is called in a table; the cut-off with its value."""
        best = self.best_threshold
        if rule is not Rule.CUTOFF or best is None:
            return self.name(rule)
        key = "cutoff_from" if best <= 1 else "cutoff_never"
        return PYTHON.text(say(key, cutoff=Number(best, ".3g")))

    def __str__(self) -> str:
        if not self.costs:
            return f"{self.task}\n{self.regret}"
        lines = [
            (self.label(rule), f"{cost.value:.4g}", f"({cost.low:.4g} to {cost.high:.4g})")
            for rule, cost in self.costs.items()
        ]
        return "\n".join(
            [self.text, f"Cost per case, from {count_rows(self.n)}:", *aligned(lines, left=(0, 2))]
        )


def _same_for_all(task: ListedTask, rows: Sample) -> dict[Rule, int]:
    """The index of the action of each rule without a forecast: of more than two actions the best on
    these rows.
    """
    if task.profile.fixed:
        payoffs = task.by_case[:, :, 0] @ (1 - rows.event_rate, rows.event_rate)
        return {Rule.FIXED: int(payoffs.argmax())}
    return {Rule.ALWAYS: task.order[-1], Rule.NEVER: task.order[0]}


def simple_actions(task: ListedTask, rows: Sample) -> dict[Rule, Any]:
    """The index of the action for each row, by rules that are not fitted."""
    return {
        Rule.AS_IS: task.best_index(rows.prob),
        **{
            rule: np.full(len(rows.prob), action)
            for rule, action in _same_for_all(task, rows).items()
        },
        Rule.PERFECT: _of_rows(task.by_case.argmax(axis=0), rows),
    }


def _limited(
    task: ListedTask, rows: Sample, crossed: Crossed | None, capacity: float
) -> tuple[dict[Rule, Floats], dict[Rule, Floats], dict[Rule, float]]:
    """What each row costs by each rule within a capacity, how much it is acted on, and what one
    more would gain.

    Where the capacity is used up, which cases have a place depends on all rows: one that is acted
    on takes the place of another, so what is gained there is part of its cost (which changes the
    variance of the mean, not the mean).
    """
    cost = dict[Rule, Floats]()
    acted = dict[Rule, Floats]()
    one_more = dict[Rule, float]()
    wait, act = (paid(task, action, rows) for action in (task.order[0], task.order[-1]))
    mass = rows.mass / rows.mass.sum()

    def add(rule: Rule, *gains: Floats) -> None:
        places = [acts_within(gain, mass, capacity) for gain in gains]
        acted[rule] = np.mean([acts for acts, _ in places], axis=0)
        one_more[rule] = float(np.mean([worth for _, worth in places]))
        lost = np.mean([worth * (acts - float(mass @ acts)) for acts, worth in places], axis=0)
        cost[rule] = wait + acted[rule] * (act - wait) + lost

    def gain(p: Floats) -> Floats:
        return np.where(
            task.best_index(p) == task.order[-1], expected_gain(task, p).clip(min=0), -1.0
        )

    add(Rule.AS_IS, gain(rows.prob))
    if crossed is not None:
        add(Rule.RECALIBRATED, *(gain(deal.better) for deal in crossed.deals))
    add(Rule.PERFECT, wait - act)
    acted[Rule.ALWAYS] = np.full(len(mass), capacity)
    acted[Rule.NEVER] = np.zeros(len(mass))
    for rule in (Rule.ALWAYS, Rule.NEVER):
        cost[rule] = wait + acted[rule] * (act - wait)
    return cost, acted, one_more


def _skills(
    task: ListedTask, cost: Mapping[Rule, Floats], rows: Sample, confidence_level: float
) -> dict[Rule, Interval]:
    """What forecasts gain over the best simple rule, as a share of what foresight gains, all within
    any capacity.

    As what a row adds to this share is bounded by its stake, a case that is not among the rows
    counts with that.
    """
    if rows.n_draws < 2:
        return {}
    units = rows.units
    found = dict[Rule, Interval]()
    simple = min(
        (cost[rule] for rule in WITHOUT if rule in cost),
        key=lambda column: float(units.share @ column),
    )
    best = float(units.share @ (simple - cost[Rule.PERFECT]))
    stake = np.ptp(task.by_case, axis=0).max(axis=0)
    reach = typical_size(units, stake * np.ones(len(simple)))
    for rule in (Rule.AS_IS, Rule.RECALIBRATED):
        if rule in cost and best > 0:
            value = float(units.share @ (simple - cost[rule])) / best
            adds = (simple - cost[rule] - value * (simple - cost[Rule.PERFECT])) / best
            unseen = (-reach / best, reach / best)
            interval = interval_by_influence(
                units, value, adds, unseen, confidence_level, symmetric=True
            )
            found[rule] = interval.within(-math.inf, 1.0)
    return found


def acts_within(gain: Floats, mass: Floats, capacity: float) -> tuple[Floats, float]:
    """How much each row is acted on, if a share of all can be: those with the largest gain that is
    not negative.

    Rows with equal gains have equal chances. Also what the first one that is left out would gain, 0
    if none is.
    """
    value, at = np.unique(-gain, return_inverse=True)  # the largest gain first
    weight = np.bincount(at, mass) * (value <= 0)
    before = np.cumsum(weight) - weight
    chance = np.divide(capacity - before, weight, out=np.zeros(len(value)), where=weight > 0).clip(
        0, 1
    )
    out = np.flatnonzero((chance < 1 - _ROUNDING) & (weight > 0))
    return chance[at], -float(value[out[0]]) if len(out) else 0.0


def _of_rows(by_outcome: NDArray[Any], rows: Sample) -> NDArray[Any]:
    """What each row has, of an array by outcome and, at the end, by case (or the same in all)."""
    return np.asarray(np.where(rows.event, by_outcome[..., 1, :], by_outcome[..., 0, :]))


def segment_costs(sample: Sample, task: ListedTask) -> dict[str, float]:
    """What acting on the forecast costs per case on some rows, and the best fixed action there."""
    if task.profile.per_case:
        own = task.for_rows(sample)
        share = sample.mass / sample.total_weight
        forecast = float(share @ paid(own, own.best_index(sample.prob), sample))
        fixed = [float(share @ paid(own, action, sample)) for action in own.order]
    else:
        table = sample.distinct()
        payoffs = task.by_case[:, :, 0]
        mass = np.stack([table.negative, table.positive], axis=1) / sample.total_weight
        forecast = -float((mass * payoffs[task.best_index(table.prob)]).sum())
        fixed = [-float(mass.sum(axis=0) @ payoffs[action]) for action in task.order]
    return {"cost": forecast + 0.0, "cost_without": min(fixed) + 0.0}  # no -0


def _best_cutoff(gain: Floats) -> int:
    """The place of the prediction from which acting costs least, given what acting gains at each;
    the last is never.
    """
    return int(np.argmax(np.append(np.cumsum(gain[::-1])[::-1], 0.0)))


def _gains(task: ListedTask, deal: CrossFit, rows: Sample) -> Floats:
    """What acting gains over not acting, summed by fold and prediction."""
    if task.profile.per_case:
        gain = rows.mass * (paid(task, 0, rows) - paid(task, 1, rows))
        folds = deal.weight.shape[0]
        size = len(deal.prob)
        found: Floats = np.bincount(deal.fold * size + deal.entry, gain, folds * size).astype(
            np.float64
        )
        return found.reshape(folds, size)
    low, high = task.by_case[list(task.order), :, 0]
    return np.tensordot(deal.weight, high - low, (1, 0)).astype(np.float64, copy=False)


def _from_cutoffs(task: ListedTask, deal: CrossFit, rows: Sample) -> Any:
    """The action of each row from the cut-off on that is best on the other folds."""
    gains = _gains(task, deal, rows)
    cuts = [_best_cutoff(gains.sum(axis=0) - own) for own in gains]
    return np.where(deal.entry >= np.array(cuts)[deal.fold], task.order[-1], task.order[0])


def paid(task: ListedTask, action: Any, rows: Sample) -> Floats:
    """The cost of each row by its action."""
    payoffs = np.broadcast_to(task.by_case, (*task.by_case.shape[:2], len(rows.prob)))
    return np.asarray(-payoffs[action, rows.event.astype(np.intp), np.arange(len(rows.prob))])


def added_by_event(task: ListedTask, action: Any, rows: Sample) -> Floats:
    """What the event adds to the cost of each row by its action."""
    payoffs = np.broadcast_to(task.by_case, (*task.by_case.shape[:2], len(rows.prob)))
    row = np.arange(len(rows.prob))
    return np.asarray(payoffs[action, 0, row] - payoffs[action, 1, row])


def _added_by_rules(
    task: ListedTask, actions: Mapping[Rule, Any], crossed: Crossed | None, rows: Sample
) -> dict[Rule, Floats]:
    """What the event adds to the cost of each row by the rules that do not know it."""
    added = dict[Rule, Floats]()
    for rule, action in actions.items():
        if rule is not Rule.PERFECT:
            added[rule] = added_by_event(task, action, rows)
    if crossed is not None:
        added[Rule.RECALIBRATED] = crossed.mean(
            lambda deal: added_by_event(task, task.best_index(deal.better), rows)
        )
        if task.profile.actions == 2:
            added[Rule.CUTOFF] = crossed.mean(
                lambda deal: added_by_event(task, _from_cutoffs(task, deal, rows), rows)
            )
    return added


def mean_cost(
    cost: Floats,
    possible: Floats,
    rows: Sample,
    confidence_level: float,
    added: Floats | None = None,
) -> Interval | None:
    """The mean with an interval; draws are rows or groups. None from a single one.

    `possible` holds the costs that a case can have, in its last dimension those of each case (or
    one for all). With what the event has `added` to each cost, the interval allows for clusters
    that lack an outcome by chance.
    """
    if rows.n_draws < 2:
        return None
    ends = possible.reshape(-1, possible.shape[-1])
    varies = bool(np.ptp(ends, axis=1).any())
    least, most = (end if varies else float(end[0]) for end in (ends.min(axis=0), ends.max(axis=0)))
    event = None if added is None else EventGain(rows.prob, added)
    return _plain(mean_interval(rows.units, cost, least, most, confidence_level, event=event))


def differences(task: ListedTask) -> Floats:
    """By how much two ways of acting can differ in cost at most, either way round; of each case, or
    one for all.
    """
    most = np.ptp(task.by_case, axis=0).max(axis=0)
    return np.stack([-most, most])


def rule_cost(
    task: ListedTask,
    rule: Rule,
    cost: Floats,
    rows: Sample,
    confidence_level: float,
    *,
    limited: bool = False,
    added: Floats | None = None,
) -> Interval | None:
    """The mean cost of a rule; a case can cost what its actions can cost (limited by a capacity,
    either of them).

    `added` is what the event adds to the cost of each row.
    """
    payoffs = task.by_case
    possible = {Rule.NEVER: payoffs[task.order[0]]}
    if not limited:
        possible |= {same: payoffs[action] for same, action in _same_for_all(task, rows).items()}
        possible[Rule.PERFECT] = payoffs.max(axis=0)
    # the stated rate alone sets it
    if rows.design.strata is not None and rule in possible and not task.profile.per_case:
        value = float(rows.mass @ cost) / rows.total_weight + 0.0
        return Interval(value=value, low=value, high=value, confidence_level=confidence_level)
    return mean_cost(cost, -possible.get(rule, payoffs), rows, confidence_level, added)


def savings(
    cost: Mapping[Rule, Floats],
    over: Rule,
    most: Floats,
    rows: Sample,
    confidence_level: float,
    added: Mapping[Rule, Floats] = MappingProxyType({}),
) -> dict[Rule, Interval]:
    """What the rules after `over` save per case over it, from what each row costs by each rule, and
    what the event adds to this.

    The recalibrated forecast is compared with the original, and both with the rules without a
    forecast.
    """
    found = dict[Rule, Interval]()
    for rule in (Rule.RECALIBRATED, *WITHOUT):
        if over not in cost or rule not in cost or rule is over:
            continue
        gain = None
        if over in added and rule in added:
            gain = added[over] - added[rule]
        difference = mean_cost(cost[over] - cost[rule], most, rows, confidence_level, gain)
        saved = _of_note(difference, most)
        if saved is not None:
            found[rule] = saved
    return found


def range_costs(
    sample: Sample, crossed: Crossed | None, within: ThresholdRange, confidence_level: float
) -> RangeCosts | None:
    """Compute what ways of acting cost per case, on average over the decisions of a range; None
    from a single draw.
    """
    rows = sample.at_cell_means() if crossed is None else crossed.rows
    if rows.n_draws < 2:
        return None
    prob = rows.prob
    always = np.full(len(prob), 1.0)
    cost = {Rule.AS_IS: _over_range(prob, rows.event, within)}
    if crossed is not None:
        cost[Rule.RECALIBRATED] = crossed.mean(
            lambda deal: _over_range(deal.better, rows.event, within)
        )
    cost[Rule.ALWAYS] = _over_range(always, rows.event, within)
    cost[Rule.NEVER] = _over_range(-always, rows.event, within)
    cost[Rule.PERFECT] = np.zeros(len(prob))
    added = dict[Rule, Floats]()
    if rows.units.clustered:
        added[Rule.AS_IS] = _added_over_range(prob, within)
        if crossed is not None:
            added[Rule.RECALIBRATED] = crossed.mean(
                lambda deal: _added_over_range(deal.better, within)
            )
        added[Rule.ALWAYS] = _added_over_range(always, within)
        added[Rule.NEVER] = _added_over_range(-always, within)
    middle = sum(within) / 2
    largest = max(middle, 1 - middle)
    possible = np.array([[0.0], [largest]])
    most = np.array([[-largest], [largest]])
    costs = {
        rule: mean_cost(column, possible, rows, confidence_level, added.get(rule))
        for rule, column in cost.items()
    }
    # who predicts the event rate acts by the better of both
    rate = np.full(len(prob), rows.event_rate)
    without = mean_cost(
        _over_range(rate, rows.event, within),
        possible,
        rows,
        confidence_level,
        _added_over_range(rate, within) if rows.units.clustered else None,
    )
    assert without is not None  # there are draws
    return RangeCosts(
        without_forecast=without,
        costs={rule: found for rule, found in costs.items() if found is not None},
        saved=savings(cost, Rule.AS_IS, most, rows, confidence_level, added),
        saved_recalibrated=savings(cost, Rule.RECALIBRATED, most, rows, confidence_level, added),
    )


def _over_range(prob: Floats, event: NDArray[np.bool_], within: ThresholdRange) -> Floats:
    """What acting on predictions costs in each row, on average over the thresholds of a range.

    At the threshold t a false alarm costs t and a miss 1 - t. A prediction p acts at the thresholds
    up to p: so a false alarm costs the integral of t from the lowest threshold to p, a miss that of
    1 - t from p to the highest.
    """
    low, high = within
    if low == high:
        return np.where(event, (1 - low) * (prob < low), low * (prob >= low))
    reached = np.clip(prob, low, high)
    false_alarm = (reached**2 - low**2) / 2
    miss = ((1 - reached) ** 2 - (1 - high) ** 2) / 2
    return np.where(event, miss, false_alarm) / (high - low)


def _added_over_range(prob: Floats, within: ThresholdRange) -> Floats:
    """What the event adds to this cost."""
    event = np.ones(len(prob), dtype=np.bool_)
    return np.asarray(_over_range(prob, event, within) - _over_range(prob, ~event, within))


def _of_note(found: Interval | None, possible: Floats) -> Interval | None:
    """The same where it is not 0 up to rounding, whose sign would choose a rule."""
    if found is None or abs(found.value) > _NOTHING * float(np.abs(possible).max()):
        return found
    return replace(found, value=0.0, low=min(found.low, 0.0), high=max(found.high, 0.0))


def _plain(found: Interval) -> Interval:
    """The same without -0."""
    return replace(found, value=found.value + 0.0, low=found.low + 0.0, high=found.high + 0.0)
