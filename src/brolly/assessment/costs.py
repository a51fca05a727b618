"""What the user's own decision costs per case: now, recalibrated, and by simple rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student

from brolly.core.arrays import Floats
from brolly.core.piecewise import PiecewiseMap
from brolly.core.sample.distinct import DistinctTable
from brolly.core.sample.sample import Sample
from brolly.decisions.finite_task import FiniteTask
from brolly.decisions.swap import SwapRegret, swap_regret
from brolly.decisions.task import DecisionTask
from brolly.recalibration.training import HeldOut, Training

if TYPE_CHECKING:
    from brolly.plots import Axes

NAMES = ("cost", "cost_recalibrated", "cost_best_cutoff", "cost_always", "cost_never", "cost_perfect")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """The mean cost per case, in the units of the task, with an approximate confidence interval (Student)."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "low": self.low, "high": self.high}


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """The user's own decision: what it costs, and its swap regret on these rows.

    The costs are of rows that neither the map nor the cut-off was fitted to. Acting on the forecast means: take the
    action that is best if the probability is right.

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
        foresight. None for tasks without a list of actions, and where the rows cannot be divided; `cost_best_cutoff`
        also for tasks with more than two actions.
    best_threshold : float or None
        The cut-off of `cost_best_cutoff`, chosen on the other rows.
    n : int
        The number of rows that the costs are of.
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
    best_threshold: float | None = None
    n: int = 0

    @classmethod
    def of(
        cls, sample: Sample, task: DecisionTask, grid: int, split: Split | None, confidence_level: float
    ) -> TaskResult:
        """Compute the regret on all rows, and the costs on those held out."""
        regret = swap_regret(sample, task=task)
        on = sample._on_grid(grid).rounded
        table = DistinctTable(on.index / grid, np.maximum(on.weight - on.positive, 0.0), on.positive)
        rounded = swap_regret(Sample._from_distinct(table, sample.n), task=task)
        if split is None or not isinstance(task, FiniteTask):
            return cls(task=task, regret=regret, rounded=rounded, grid=grid)
        cutoff = _best_cutoff(task, split.fitted) if len(task.order) == 2 else None
        actions = _actions(task, split, cutoff)
        costs = {name: _cost(task, action, split.held, confidence_level) for name, action in actions.items()}
        return cls(task=task, regret=regret, rounded=rounded, grid=grid, best_threshold=cutoff, n=split.held.n, **costs)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the costs into axes (default: new ones); see `brolly.plots.costs`."""
        from brolly.plots import costs

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
            **{name: (found := getattr(self, name)) and found.to_dict() for name in NAMES},
            "best_threshold": self.best_threshold,
            "cost_rows": self.n,
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Split:
    """Rows that a map was fitted to, rows held out, and the map."""

    fitted: Training
    held: HeldOut
    map: PiecewiseMap


def _actions(task: FiniteTask, split: Split, cutoff: float | None) -> dict[str, Any]:
    """The index of the action for each row held out, by rule."""
    prob, event = split.held.prob, split.held.event
    low, high = task.order[0], task.order[-1]
    best = task.matrix.argmax(axis=0)
    actions = {
        "cost": task.best_index(prob),
        "cost_recalibrated": task.best_index(split.map(prob)),
        "cost_always": np.full(len(prob), high),
        "cost_never": np.full(len(prob), low),
        "cost_perfect": best[event.astype(np.intp)],
    }
    if cutoff is not None:
        actions["cost_best_cutoff"] = np.where(prob >= cutoff, high, low)
    return actions


def _best_cutoff(task: FiniteTask, rows: Training) -> float:
    """The prediction from which acting cost least on the rows that the map was fitted to; 2 is never."""
    negative, positive = rows.weight.sum(axis=0)
    low, high = task.matrix[list(task.order)]
    gain = negative * (high[0] - low[0]) + positive * (high[1] - low[1])  # of acting, by prediction
    total = np.append(np.cumsum(gain[::-1])[::-1], 0.0)
    return float(np.append(rows.prob, 2.0)[int(np.argmax(total))])


def _cost(task: FiniteTask, action: Any, held: HeldOut, confidence_level: float) -> Cost | None:
    cost = -task.matrix[action, held.event.astype(np.intp)]
    return mean_cost(cost, -task.matrix, held, confidence_level)


def mean_cost(cost: Floats, possible: Floats, held: HeldOut, confidence_level: float) -> Cost | None:
    """The mean and a Student interval; draws are rows or groups. None from a single one.

    `possible` holds the costs that a case can have.
    """
    weight = _weights(held)
    total = float(weight.sum())
    mean = float(weight @ cost) / total
    share = weight * (cost - mean) / total
    if held.counts is not None:
        n, square = held.n, float((held.counts * ((cost - mean) / total) ** 2).sum())
    elif held.group is not None:
        sums = np.bincount(held.group, share)
        n, square = len(np.unique(held.group)), float(sums @ sums)
    else:
        n, square = held.n, float(share @ share)
    if n < 2:
        return None
    # One more case at the far end of the costs: without an event among the rows the interval would have no width.
    square += float(np.abs(possible - mean).max() / n) ** 2
    half = float(student.ppf((1 + confidence_level) / 2, n - 1)) * math.sqrt(square * n / (n - 1))
    return Cost(mean=mean, low=max(mean - half, float(possible.min())), high=min(mean + half, float(possible.max())))


def _weights(held: HeldOut) -> Floats:
    if held.counts is not None:
        return held.counts.astype(np.float64)
    return np.ones(len(held.prob)) if held.weight is None else held.weight
