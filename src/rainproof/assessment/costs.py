"""What the user's own decision costs per case: now, recalibrated, and by simple rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Interval, Result
from rainproof.core.sample import Sample
from rainproof.core.text import aligned
from rainproof.core.text import rows as count_rows
from rainproof.decisions.swaps import SwapRegret, swap_regret
from rainproof.decisions.tasks import DecisionTask, FiniteTask
from rainproof.inference.estimates import Influence
from rainproof.recalibration.selection import Division


class Rule(StrEnum):
    """A way to decide: on the forecast as it is or changed, or without one."""

    AS_IS = "as is"
    RECALIBRATED = "recalibrated"
    CUTOFF = "cut-off"
    ALWAYS = "always"
    NEVER = "never"
    PERFECT = "perfect"


LABELS = {
    Rule.AS_IS: "Forecast as it is",
    Rule.RECALIBRATED: "Recalibrated",
    Rule.CUTOFF: "Best cut-off",
    Rule.ALWAYS: "Always act",
    Rule.NEVER: "Never act",
    Rule.PERFECT: "Perfect foresight",
}
_WITHOUT = (Rule.ALWAYS, Rule.NEVER)  # which need no forecast


class TaskResult(Result):
    """The user's own decision: what it costs, and its swap regret on these rows.

    The costs of recalibration and of the best cut-off are estimated on rows that neither was fitted to, by regression
    on the cost of the forecast as it is, which all rows show. The others are of all rows. Acting on the forecast means:
    take the action that is best if the probability is right.

    Attributes
    ----------
    task : DecisionTask
    regret : SwapRegret
        The swap regret of taking the best action for each prediction.
    rounded : SwapRegret
        The same with a `RoundingPolicy` on `grid`.
    grid : int
        The grid of the guarantee.
    costs : dict of Rule to Interval
        The cost per case, in the units of the task, with an approximate interval: of acting on the forecast
        "as is", on the "recalibrated" forecast, from the best single "cut-off" on, "always" (the action for the highest
        probabilities), "never" (that for the lowest), and with "perfect" foresight. Empty for tasks without a list of
        actions; without "recalibrated" and "cut-off" where the rows cannot be divided, and without "cut-off" for tasks
        with more than two actions.
    saved : dict of Rule to Interval
        What "recalibrated", "always" and "never" save per case over acting on the forecast as it is; below 0 they cost
        more. The three intervals hold together at the confidence level (Bonferroni), approximately.
    saved_over_simple : Interval or None
        What the recalibrated forecast saves per case over the cheaper of always and never acting, on the rows held out.
        The interval allows for the choice of that rule (Bonferroni).
    best_threshold : float or None
        The cut-off of `cost_best_cutoff`, chosen on the rows that are not held out.
    n, n_held_out : int
        The number of rows that the costs are of, and of those that measured the change by recalibration and cut-off.
    cost, cost_recalibrated, cost_best_cutoff, cost_always, cost_never, cost_perfect : Interval or None
        The entries of `costs`; None where there is none.
    """

    _also: ClassVar = (
        "text",
        "scale",
        "cost",
        "cost_recalibrated",
        "cost_best_cutoff",
        "cost_always",
        "cost_never",
        "cost_perfect",
    )
    _shown: ClassVar = ("cost", "cost_recalibrated", "n", "n_held_out")

    task: DecisionTask
    regret: SwapRegret
    rounded: SwapRegret
    grid: int
    costs: Mapping[Rule, Interval] = field(default_factory=dict)
    saved: Mapping[Rule, Interval] = field(default_factory=dict)
    saved_over_simple: Interval | None = None
    best_threshold: float | None = None
    n: int = 0
    n_held_out: int = 0

    @classmethod
    def of(
        cls,
        sample: Sample,
        task: DecisionTask,
        grid: int,
        split: Division | None,
        pieces: PiecewiseMap,
        confidence_level: float,
    ) -> TaskResult:
        """Compute the regret and the costs, on all rows and on those that were held out from fitting a map."""
        regret = swap_regret(sample, task=task)
        on = sample.on_grid(grid)
        table = DistinctTable(on.index / grid, np.maximum(on.weight - on.positive, 0.0), on.positive)
        rounded = swap_regret(Sample._from_distinct(table, sample.n), task=task)
        if not isinstance(task, FiniteTask) or not sample._divisible:
            return cls(task=task, regret=regret, rounded=rounded, grid=grid)
        rows = sample._floor()
        actions = simple_actions(task, rows)
        together = 1 - (1 - confidence_level) / 3  # the savings
        costs = {rule: rule_cost(task, rule, action, rows, confidence_level) for rule, action in actions.items()}
        saved = {rule: _saved(task, rows, actions[rule], together) for rule in _WITHOUT}
        held, cutoff, over_simple = None, None, None
        if split is not None:
            held = split.held_out[0]
            cutoff = _best_cutoff(task, split) if len(task.order) == 2 else None
            recalibrated = task.best_index(pieces(held.prob))
            costs[Rule.RECALIBRATED] = _changed_cost(task, rows, held, recalibrated, confidence_level)
            if cutoff is not None:
                acted = np.where(held.prob >= cutoff, task.order[-1], task.order[0])
                costs[Rule.CUTOFF] = _changed_cost(task, rows, held, acted, confidence_level)
            saved[Rule.RECALIBRATED] = _saved(task, held, recalibrated, together)
            over_simple = _saved_over_simple(task, rows, held, recalibrated, confidence_level)
        return cls(
            task=task,
            regret=regret,
            rounded=rounded,
            grid=grid,
            costs={rule: cost for rule in Rule if (cost := costs.get(rule)) is not None},
            saved={rule: less for rule in Rule if (less := saved.get(rule)) is not None},
            saved_over_simple=over_simple,
            best_threshold=cutoff,
            n=rows.n,
            n_held_out=0 if held is None else held.n,
        )

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
    def cost_perfect(self) -> Interval | None:
        """The cost per case of perfect foresight."""
        return self.costs.get(Rule.PERFECT)

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
        """What a false alarm and a miss cost, where there are two actions and the right one costs nothing."""
        if not isinstance(self.task, FiniteTask) or len(self.task.order) != 2:
            return None
        (spared, missed), (alarm, hit) = self.task.matrix[list(self.task.order)].tolist()
        return (-alarm, -missed) if spared == hit == 0 else None

    @property
    def simplest(self) -> Rule | None:
        """The cheaper of always and never acting; None if they have no cost."""
        known = [rule for rule in _WITHOUT if rule in self.costs]
        return min(known, key=lambda rule: self.costs[rule].value, default=None)

    def label(self, rule: Rule) -> str:
        """What a rule is called in a table; the cut-off with its value."""
        if rule is not Rule.CUTOFF or self.best_threshold is None:
            return LABELS[rule]
        where = f"act from {self.best_threshold:.3g} on" if self.best_threshold <= 1 else "never act"
        return f"{LABELS[rule]} ({where})"

    def __str__(self) -> str:
        if not self.costs:
            return f"{self.task}\n{self.regret}"
        lines = [
            (self.label(rule), f"{cost.value:.4g}", f"({cost.low:.4g} to {cost.high:.4g})")
            for rule, cost in self.costs.items()
        ]
        return "\n".join([self.text, f"Cost per case, from {count_rows(self.n)}:", *aligned(lines, left=(0, 2))])


def simple_actions(task: FiniteTask, rows: Sample) -> dict[Rule, Any]:
    """The index of the action for each row, by rules that are not fitted."""
    best = task.matrix.argmax(axis=0)
    return {
        Rule.AS_IS: task.best_index(rows.prob),
        Rule.ALWAYS: np.full(len(rows.prob), task.order[-1]),
        Rule.NEVER: np.full(len(rows.prob), task.order[0]),
        Rule.PERFECT: best[rows.event.astype(np.intp)],
    }


def segment_costs(sample: Sample, task: FiniteTask) -> dict[str, float]:
    """What acting on the forecast costs per case on some rows, and the better of always and never acting."""
    table = sample.distinct()
    mass = np.stack([table.negative, table.positive], axis=1) / sample.total_weight
    forecast = -float((mass * task.matrix[task.best_index(table.prob)]).sum())
    rules = [-float(mass.sum(axis=0) @ task.matrix[task.order[end]]) for end in (0, -1)]
    return {"cost": forecast + 0.0, "cost_without": min(rules) + 0.0}  # no -0


def _best_cutoff(task: FiniteTask, rows: Division) -> float:
    """The prediction from which acting cost least on the rows that the map was fitted to; 2 is never."""
    negative, positive = rows.weight.sum(axis=0)
    low, high = task.matrix[list(task.order)]
    gain = negative * (high[0] - low[0]) + positive * (high[1] - low[1])  # of acting, by prediction
    total = np.append(np.cumsum(gain[::-1])[::-1], 0.0)
    return float(np.append(rows.prob, 2.0)[int(np.argmax(total))])


def paid(task: FiniteTask, action: Any, rows: Sample) -> Floats:
    """The cost of each row by its action."""
    cost: Floats = -task.matrix[action, rows.event.astype(np.intp)]
    return cost


def mean_cost(cost: Floats, possible: Floats, rows: Sample, confidence_level: float) -> Interval | None:
    """The mean with an interval; draws are rows or groups. None from a single one.

    `possible` holds the costs that a case can have.
    """
    if rows.n_draws < 2:
        return None
    return _plain(Influence.of(rows, pool=False).mean(cost, possible.min(), possible.max(), confidence_level))


def rule_cost(task: FiniteTask, rule: Rule, action: Any, rows: Sample, confidence_level: float) -> Interval | None:
    """The cost of a rule that is not fitted; a case can cost what its actions can cost."""
    possible = {Rule.ALWAYS: task.matrix[task.order[-1]], Rule.NEVER: task.matrix[task.order[0]]}
    possible[Rule.PERFECT] = task.matrix.max(axis=0)
    return mean_cost(paid(task, action, rows), -possible.get(rule, task.matrix), rows, confidence_level)


def _saved_over_simple(
    task: FiniteTask, rows: Sample, held: Sample, action: Any, confidence_level: float
) -> Interval | None:
    """What an action for each row held out saves over the cheaper, on all rows, of always and never acting."""
    simple = {end: float(rows.mass @ paid(task, task.order[end], rows)) for end in (-1, 0)}
    least = task.order[min(simple, key=simple.__getitem__)]
    return _saved(task, held, action, 1 - (1 - confidence_level) / len(simple), over=np.full(len(held.prob), least))


def _saved(task: FiniteTask, rows: Sample, action: Any, confidence_level: float, over: Any = None) -> Interval | None:
    """What an action for each row saves over another, by default over acting on the forecast as it is."""
    other = task.best_index(rows.prob) if over is None else over
    saved = paid(task, other, rows) - paid(task, action, rows)
    most = float(np.ptp(task.matrix, axis=0).max())
    return mean_cost(saved, np.array([-most, most]), rows, confidence_level)


def _changed_cost(
    task: FiniteTask, rows: Sample, held: Sample, action: Any, confidence_level: float
) -> Interval | None:
    """The cost of a fitted rule on rows held out, by regression on that of the forecast, which all rows show."""
    if held.n_draws < 2:
        return None
    everything, part = Influence.of(rows, pool=False), Influence.of(held, pool=False)
    paid_by_all, old = (paid(task, task.best_index(some.prob), some) for some in (rows, held))
    new = paid(task, action, held)
    mean, mean_old, mean_new = float(everything.share @ paid_by_all), float(part.share @ old), float(part.share @ new)
    spread, apart = part.moments(old - mean_old)[0], part.moments(old - mean_old - new + mean_new)[0]
    both = part.moments(old - mean_old + new - mean_new)[0]
    slope = float(np.clip((both - apart) / (4 * spread), 0.0, 1.0)) if 0 < spread < np.inf else 1.0
    # A row held out adds to both means; what it adds to that of all rows is taken out there.
    share = held.mass.sum() / rows.mass.sum()
    known, rest = slope * (paid_by_all - mean), new - mean_new - slope * (old - mean_old)
    shared = share * slope * (old - mean)
    most = float(np.ptp(task.matrix, axis=0).max())
    moments = np.array(everything.moments(known)) - part.moments(shared) + part.moments(shared + rest, (-most, most))
    value = slope * mean + mean_new - slope * mean_old
    low, high = part.ends(max(moments[0], 0.0), moments[1], confidence_level)
    found = Interval(value=value, low=value + low, high=value + high, confidence_level=confidence_level)
    return _plain(found.within(-task.matrix.max(), -task.matrix.min()))


def _plain(found: Interval) -> Interval:
    """The same without -0."""
    return replace(found, value=found.value + 0.0, low=found.low + 0.0, high=found.high + 0.0)
