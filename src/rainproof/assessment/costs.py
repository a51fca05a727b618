"""What the user's own decision costs per case: now, recalibrated, and by simple rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from rainproof.core.arrays import Floats
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Shown
from rainproof.core.sample import Sample
from rainproof.core.text import rows as count_rows
from rainproof.decisions.swaps import SwapRegret, swap_regret
from rainproof.decisions.tasks import DecisionTask, FiniteTask
from rainproof.recalibration.selection import Division

if TYPE_CHECKING:
    from rainproof.plots import Axes


LABELS = {
    "cost": "Forecast as it is",
    "cost_recalibrated": "Recalibrated",
    "cost_best_cutoff": "Best cut-off",
    "cost_always": "Always act",
    "cost_never": "Never act",
    "cost_perfect": "Perfect foresight",
}
_SAVED = {f"cost_{rule}": f"saved_{rule}" for rule in ("recalibrated", "always", "never")}
_COSTS = (*LABELS, *_SAVED.values(), "saved_over_simple")
_WIDEST = max(map(len, LABELS.values()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost(Shown):
    """The mean cost per case, in the units of the task, with an approximate confidence interval (Student)."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "low": self.low, "high": self.high}


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult(Shown):
    """The user's own decision: what it costs, and its swap regret on these rows.

    The costs of recalibration and of the best cut-off are estimated on rows that neither was fitted to, by regression
    on the cost of the forecast as it is, which all rows tell. The others are of all rows. Acting on the forecast means:
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
    cost, cost_recalibrated, cost_best_cutoff, cost_always, cost_never, cost_perfect : Cost or None
        The cost per case of acting on the forecast as it is, on the recalibrated forecast, from the best single
        cut-off on, always (the action for the highest probabilities), never (that for the lowest), and with perfect
        foresight. None for tasks without a list of actions; `cost_recalibrated` and `cost_best_cutoff` also where the
        rows cannot be divided, `cost_best_cutoff` for tasks with more than two actions.
    saved_recalibrated, saved_always, saved_never : Cost or None
        What these rules save per case over acting on the forecast as it is; below 0 they cost more. The three intervals
        hold together at the confidence level (Bonferroni), approximately. None where there is no such cost.
    saved_over_simple : Cost or None
        What the recalibrated forecast saves per case over the cheaper of always and never acting, on the rows held out.
        The interval allows for the choice of that rule (Bonferroni).
    best_threshold : float or None
        The cut-off of `cost_best_cutoff`, chosen on the rows that are not held out.
    n, n_held_out : int
        The number of rows that the costs are of, and of those that measured the change by recalibration and cut-off.
    """

    task: DecisionTask
    regret: SwapRegret
    rounded: SwapRegret
    grid: int
    cost: Cost | None = None
    cost_recalibrated: Cost | None = None
    cost_best_cutoff: Cost | None = None
    cost_always: Cost | None = None
    cost_never: Cost | None = None
    cost_perfect: Cost | None = None
    saved_recalibrated: Cost | None = None
    saved_always: Cost | None = None
    saved_never: Cost | None = None
    saved_over_simple: Cost | None = None
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
        on = sample.on_grid(grid).rounded
        table = DistinctTable(on.index / grid, np.maximum(on.weight - on.positive, 0.0), on.positive)
        rounded = swap_regret(Sample._from_distinct(table, sample.n), task=task)
        if not isinstance(task, FiniteTask) or not sample._divisible:
            return cls(task=task, regret=regret, rounded=rounded, grid=grid)
        rows = sample._floor()
        simple = simple_actions(task, rows)
        costs = {
            name: mean_cost(paid(task, action, rows), -task.matrix, rows, confidence_level)
            for name, action in simple.items()
        }
        together = 1 - (1 - confidence_level) / len(_SAVED)
        costs |= {_SAVED[name]: _saved(task, rows, simple[name], together) for name in ("cost_always", "cost_never")}
        cutoff = None
        if split is not None:
            held = split.held_out[0]
            cutoff = _best_cutoff(task, split) if len(task.order) == 2 else None
            fitted = _fitted_actions(task, held.prob, pieces, cutoff)
            for name, action in fitted.items():
                costs[name] = _changed_cost(task, rows, held, action, confidence_level)
            recalibrated = fitted["cost_recalibrated"]
            costs["saved_recalibrated"] = _saved(task, held, recalibrated, together)
            costs["saved_over_simple"] = _saved_over_simple(task, rows, held, recalibrated, confidence_level)
        return cls(
            task=task,
            regret=regret,
            rounded=rounded,
            grid=grid,
            best_threshold=cutoff,
            n=rows.n,
            n_held_out=0 if split is None else split.held_out[0].n,
            **costs,
        )

    @property
    def errors(self) -> tuple[float, float] | None:
        """What a false alarm and a miss cost, where there are two actions and the right one costs nothing."""
        if not isinstance(self.task, FiniteTask) or len(self.task.order) != 2:
            return None
        (spared, missed), (alarm, hit) = self.task.matrix[list(self.task.order)].tolist()
        return (-alarm, -missed) if spared == hit == 0 else None

    @property
    def simplest(self) -> str | None:
        """The cheaper of always and never acting, by the name of its cost; None if they have none."""
        known = {name: cost.mean for name in ("cost_always", "cost_never") if (cost := getattr(self, name)) is not None}
        return min(known, key=known.__getitem__) if known else None

    def saved(self, name: str) -> Cost | None:
        """What a rule, by the name of its cost, saves over acting on the forecast as it is; None for that itself."""
        found: Cost | None = getattr(self, _SAVED[name]) if name in _SAVED else None
        return found

    def __str__(self) -> str:
        if self.cost is None:
            return f"{self.task}\n{self.regret}"
        lines = [
            f"{label:<{_WIDEST}}  {cost.mean:10.4g}  ({cost.low:.4g} to {cost.high:.4g}){self._where(name)}"
            for name, label in LABELS.items()
            if (cost := getattr(self, name)) is not None
        ]
        return "\n".join([str(self.task), f"Cost per case, from {count_rows(self.n)}:", *lines])

    def _where(self, name: str) -> str:
        """The cut-off, beside its cost."""
        cut = self.best_threshold
        if cut is None or name != "cost_best_cutoff":
            return ""
        return f", act from {cut:.3g} on" if cut <= 1 else ", never act"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the costs into axes (default: new ones); see `rainproof.plots.costs`."""
        from rainproof.plots import costs

        return costs(self, ax)

    def to_dict(self) -> dict[str, Any]:
        found = self.regret.to_dict()
        return {
            "task": self.task.to_dict(),
            "text": str(self.task),
            "thresholds": list(self.task.thresholds),
            "actions": list(self.task.actions),
            "value": self.regret.value,
            "in_units": self.regret.in_units,
            "scale": self.task.scale,
            "swaps": found["swaps"],
            "rounded": {"grid": self.grid, "value": self.rounded.value, "in_units": self.rounded.in_units},
            **{name: (found := getattr(self, name)) and found.to_dict() for name in _COSTS},
            "best_threshold": self.best_threshold,
            "cost_rows": self.n,
            "held_out_rows": self.n_held_out,
        }


def simple_actions(task: FiniteTask, rows: Sample) -> dict[str, Any]:
    """The index of the action for each row, by rules that are not fitted."""
    best = task.matrix.argmax(axis=0)
    return {
        "cost": task.best_index(rows.prob),
        "cost_always": np.full(len(rows.prob), task.order[-1]),
        "cost_never": np.full(len(rows.prob), task.order[0]),
        "cost_perfect": best[rows.event.astype(np.intp)],
    }


def segment_costs(sample: Sample, task: FiniteTask) -> dict[str, float]:
    """What acting on the forecast costs per case on some rows, and the better of always and never acting."""
    table = sample.distinct()
    mass = np.stack([table.negative, table.positive], axis=1) / sample.total_weight
    forecast = -float((mass * task.matrix[task.best_index(table.prob)]).sum())
    rules = [-float(mass.sum(axis=0) @ task.matrix[task.order[end]]) for end in (0, -1)]
    return {"cost": forecast + 0.0, "cost_without": min(rules) + 0.0}  # no -0


def _fitted_actions(task: FiniteTask, prob: Floats, pieces: PiecewiseMap, cutoff: float | None) -> dict[str, Any]:
    """The index of the action for each row held out, by rules that were fitted to the others."""
    actions = {"cost_recalibrated": task.best_index(pieces(prob))}
    if cutoff is not None:
        actions["cost_best_cutoff"] = np.where(prob >= cutoff, task.order[-1], task.order[0])
    return actions


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


def mean_cost(cost: Floats, possible: Floats, rows: Sample, confidence_level: float) -> Cost | None:
    """The mean and a Student interval; draws are rows or groups. None from a single one.

    `possible` holds the costs that a case can have.
    """
    (mean,), square, n = _spread(rows, cost)
    if n < 2:
        return None
    # One more case at the far end of the costs: without an event among the rows the interval would have no width.
    square += (np.abs(possible - mean).max() / n) ** 2
    return _interval(mean, square[0, 0] * n / (n - 1), n - 1, possible, confidence_level)


def _saved_over_simple(
    task: FiniteTask, rows: Sample, held: Sample, action: Any, confidence_level: float
) -> Cost | None:
    """What an action for each row held out saves over the cheaper, on all rows, of always and never acting."""
    simple = {end: float(rows.mass @ paid(task, task.order[end], rows)) for end in (-1, 0)}
    least = task.order[min(simple, key=simple.__getitem__)]
    return _saved(task, held, action, 1 - (1 - confidence_level) / len(simple), over=np.full(len(held.prob), least))


def _saved(task: FiniteTask, rows: Sample, action: Any, confidence_level: float, over: Any = None) -> Cost | None:
    """What an action for each row saves over another, by default over acting on the forecast as it is."""
    other = task.best_index(rows.prob) if over is None else over
    saved = paid(task, other, rows) - paid(task, action, rows)
    most = float(np.ptp(task.matrix, axis=0).max())
    return mean_cost(saved, np.array([-most, most]), rows, confidence_level)


def _changed_cost(task: FiniteTask, rows: Sample, held: Sample, action: Any, confidence_level: float) -> Cost | None:
    """The cost of a fitted rule on rows held out, by regression on that of the forecast, which all rows tell."""
    possible = -task.matrix
    (mean,), square, n = _spread(rows, paid(task, task.best_index(rows.prob), rows))
    old, new = paid(task, task.best_index(held.prob), held), paid(task, action, held)
    _, product, k = _spread(held, old, new)
    if k < 2:
        return None
    slope = float(np.clip(product[0, 1] / product[0, 0], 0.0, 1.0)) if product[0, 0] > 0 else 1.0
    (_, rest), product, k = _spread(held, old, new - slope * old)
    share = held.mass.sum() / rows.mass.sum()
    most = np.ptp(task.matrix, axis=0).max()
    variance = slope**2 * square[0, 0] * n / (n - 1) + (product[1, 1] + 2 * slope * share * product[0, 1]) * k / (k - 1)
    variance += (np.abs(possible - mean).max() / n) ** 2 + (most / k) ** 2  # one more case, as in `mean_cost`
    return _interval(slope * mean + rest, max(variance, 0.0), k - 1, possible, confidence_level)


def _interval(mean: float, variance: float, freedom: int, possible: Floats, confidence_level: float) -> Cost:
    half = float(stdtrit(freedom, (1 + confidence_level) / 2)) * math.sqrt(variance)
    low, mean, high = np.clip([mean - half, mean, mean + half], possible.min(), possible.max()).tolist()
    return Cost(mean=mean + 0.0, low=low + 0.0, high=high + 0.0)  # no -0


def _spread(rows: Sample, *columns: Floats) -> tuple[list[float], Floats, int]:
    """The means of columns, the sums over draws of products of their deviations, and the number of draws."""
    weight = rows.mass
    means = [float(weight @ column) / float(weight.sum()) for column in columns]
    parts = np.array([weight * (x - mean) / weight.sum() for x, mean in zip(columns, means, strict=True)])
    if rows.counts is not None:
        return means, (parts / weight) @ parts.T, rows.n
    if rows._group is not None:
        group = np.unique(rows._group, return_inverse=True)[1]
        parts = np.array([np.bincount(group, part) for part in parts])
    return means, parts @ parts.T, parts.shape[1]
