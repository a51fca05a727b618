"""Decisions between two actions whose costs differ from case to case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.alignment import check_aligned, check_same_length
from rainproof.core.arrays import Floats, freeze
from rainproof.core.conversion import as_numbers, one_column
from rainproof.core.sample import Sample
from rainproof.core.validation import check_probabilities
from rainproof.decisions.action_swaps import BestSwaps, Per, best_swaps
from rainproof.decisions.payoffs import action_index
from rainproof.decisions.profiles import TaskProfile, single_threshold
from rainproof.decisions.tasks import ListedTask, match_outcomes, response_probabilities
from rainproof.errors import InputError

# What the right and the wrong action pay, by action and outcome, as a share of what a case costs.
_UNIT_PAYOFFS = np.array([[0.0, -1.0], [-1.0, 0.0]])


def case_costs(costs: Mapping[str, Any], columns: Mapping[str, Any]) -> Floats:
    """Check the costs of each case, and return them as an array of shape (cases, 2).

    `costs` are those of a false positive and a false negative. `columns` are those of the two that
    differ from case to case; the other one is the same in all.
    """
    check_aligned(*columns.items())
    arrays = {name: one_column(as_numbers(column, name)) for name, column in columns.items()}
    for name, array in arrays.items():
        # A cost of 0 is allowed here: what a miss costs can be an amount, and some amounts are 0.
        if array.ndim != 1 or not len(array):
            raise InputError(
                f"{name} must be a number, or one-dimensional; its shape is {array.shape}"
            )
        bad = np.flatnonzero(~((array >= 0) & (array < np.inf)))
        if bad.size:
            first = bad[0]
            raise InputError.from_offenders(
                f"{name} must be finite and not negative",
                bad.size,
                f"{name}[{first}]",
                array[first],
                missing=bool(np.isnan(array[first])),
            )
    name, array = next(iter(arrays.items()))
    for other_name, other_array in arrays.items():
        check_same_length(name, array, other_name, other_array)
    table = np.empty((len(array), 2))
    for outcome, (name, cost) in enumerate(costs.items()):
        table[:, outcome] = arrays.get(name, cost)
    # Without any cost a case has no threshold.
    free = np.flatnonzero(~table.any(axis=1))
    if free.size:
        rule = "false_positive and false_negative must not both be 0 in a case: nothing is at stake"
        raise InputError.from_offenders(rule, free.size, f"case {free[0]}")
    # Each threshold is a cost over the sum of the two.
    with np.errstate(over="ignore"):
        if np.isinf(table.sum(axis=1)).any():
            raise InputError(
                "false_positive and false_negative must add up to less than the largest double: "
                "rescale them"
            )
    freeze(table)
    return table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class CaseTask(ListedTask):
    """A decision between two actions with costs of each case; see `DecisionTask.from_costs` with
    arrays.

    It goes with the rows that its costs are of, in their order: ``assess(y, p, task=task)`` keeps
    the costs beside the rows. A case is acted on from its own threshold on, ``false_positive /
    (false_positive + false_negative)``. Neither it nor a policy of it can be stored, and a
    compressed sample keeps no costs of single cases.

    Attributes
    ----------
    actions : tuple of str
        The names of the two actions, the one for low probabilities first.
    false_positive, false_negative : ndarray
        What a false alarm and a miss cost in each case.
    case_thresholds : ndarray
        The threshold of each case.
    thresholds : tuple of float
        The threshold, where all cases have the same; else empty.
    """

    task: ClassVar[str] = "cases"
    per_case: ClassVar[bool] = True
    order: ClassVar[tuple[int, ...]] = (0, 1)
    actions: tuple[str, ...]
    _costs: Floats  # a column for false positives, one for false negatives
    # The columns of costs as they were given: a frame's labels must be those of the predictions.
    _columns: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def false_positive(self) -> Floats:
        """What a false alarm costs in each case."""
        return self._costs[:, 0]

    @property
    def false_negative(self) -> Floats:
        """What a miss costs in each case."""
        return self._costs[:, 1]

    @property
    def case_thresholds(self) -> Floats:
        """The threshold of each case."""
        threshold: Floats = self.false_positive / (self.false_positive + self.false_negative)
        return threshold

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The threshold, where all cases have the same; else empty."""
        threshold = self.case_thresholds
        if (threshold != threshold[0]).any():
            return ()
        return (float(threshold[0]),)

    @property
    def profile(self) -> TaskProfile:
        """What distinguishes this decision from those of other kinds."""
        return TaskProfile(
            threshold=single_threshold(self.thresholds), per_case=True, actions=len(self.order)
        )

    @property
    def scale(self) -> float:
        """What is at stake: the largest cost of a case."""
        return float(self._costs.max())

    @property
    def by_case(self) -> Floats:
        """The payoffs as an array of shape (2, 2, n): by action, outcome and case."""
        return _UNIT_PAYOFFS[:, :, None] * self._costs.T

    def best_index(self, p: ArrayLike) -> NDArray[np.intp]:
        """Return the index in `actions` of the best action of each case at its probability."""
        self.check_aligned(("p", p))
        prob = check_probabilities(p, "p")
        if prob.shape != (len(self._costs),):
            cases = f"{len(self._costs):,} cases that the task has costs of"
            raise InputError(
                f"p must have one value for each of the {cases}; its shape is {prob.shape}"
            )
        # At its threshold a case is acted on, as with equal costs.
        return (prob >= self.case_thresholds).astype(np.intp)

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return the payoff of an action in each case, by name, when the outcome is `y`."""
        outcome = match_outcomes(np.asarray(action, dtype=object), y)
        index = action_index(self.actions, action)
        cost = np.where(outcome == 1, self.false_negative, self.false_positive)
        return _UNIT_PAYOFFS[index, outcome.astype(np.intp)] * cost

    def to_dict(self) -> dict[str, Any]:
        """Return a summary in built-in types, ready for JSON, without the costs of single cases."""
        return {
            "actions": [*self.actions],
            "n": len(self._costs),
            "false_positive": _summary(self.false_positive),
            "false_negative": _summary(self.false_negative),
            "thresholds": [*self.thresholds],
            "task": self.task,
        }

    @classmethod
    def from_content(cls, _data: Mapping[str, Any]) -> CaseTask:
        """Refuse what `to_dict` wrote: it has no costs of single cases."""
        raise InputError(
            "a task with costs of each case is not stored: make it again from the costs"
        )

    def action_codes(self, p: Floats) -> NDArray[Any]:
        """Return codes without a meaning: the best action follows from the case too, not from the
        probability alone (see `RoundingPolicy.decide`).
        """
        return np.zeros(len(p), np.uint8)

    def check_aligned(self, *columns: tuple[str, Any]) -> None:
        """Refuse columns whose rows are labelled differently from those of the costs."""
        check_aligned(*columns, *self._columns.items())

    def add_costs(self, sample: Sample, *columns: tuple[str, Any]) -> Sample:
        """Return the sample with the costs of each case beside its rows."""
        # A sample that was assessed before has them already.
        if sample.grid is None and sample.rows.costs is self._costs:
            return sample
        return sample.with_costs(self._costs, *columns, *self._columns.items())

    def for_rows(self, sample: Sample) -> CaseTask:
        """Return the task with the costs that stand beside the rows of a sample."""
        costs = sample.rows.costs
        assert costs is not None
        if costs is self._costs:
            return self
        return CaseTask(actions=self.actions, _costs=costs)

    def case_stakes(self, sample: Sample) -> tuple[Floats, Floats]:
        """Return the threshold of each row of a sample, and what a false alarm and a miss cost
        there together.
        """
        task = self.for_rows(sample)
        return task.case_thresholds, task.false_positive + task.false_negative

    def find_swaps(self, sample: Sample, per: Per, response: Any) -> BestSwaps:
        """Find the best replacement of each action taken (per prediction, of each action at the
        predictions where another one would have been best).
        """
        task = self.for_rows(sample)
        prob = sample.prob
        event = sample.event
        if response is None:
            taken = np.eye(2)[task.best_index(prob)]
        else:
            taken = response_probabilities(task, response, prob)
        prediction = np.zeros(len(prob), np.intp)
        if per == "prediction":
            prediction = np.unique(prob, return_inverse=True)[1]
        # What the case costs if its action is wrong.
        stake = sample.mass * np.where(event, task.false_negative, task.false_positive)
        # Sums by action taken, prediction and outcome; each prediction has a slot for either one.
        costs, weight = np.zeros((2, 2, prediction.max() + 1, 2))
        slot = 2 * prediction + event
        for action in (0, 1):
            for sums, amount in ((costs, stake), (weight, sample.mass)):
                # An action is taken with a share of each case: its probability.
                part = amount * taken[:, action]
                sums[action] = np.bincount(slot, part, sums[action].size).reshape(-1, 2)
        if per == "prediction":
            # Where the second action would have been best. Predictions with the same best action
            # are one group, whose sums these products are.
            acts = costs[:, :, 1] >= costs[:, :, 0]
            group = np.stack([~acts, acts], axis=1)
            costs = group @ costs
            weight = group @ weight
        return best_swaps(self, _UNIT_PAYOFFS, costs, weight, sample.total_weight, per)

    def __repr__(self) -> str:
        return (
            f"DecisionTask(actions={self.actions!r}, costs of {len(self._costs):,} cases, "
            f"scale={self.scale:.6g})"
        )

    def __str__(self) -> str:
        false_alarm = _range(self.false_positive)
        miss = _range(self.false_negative)
        threshold = _range(self.case_thresholds)
        first, second = self.actions
        return (
            f"2 actions, costs of {len(self._costs):,} cases, "
            f"a false alarm {false_alarm} and a miss {miss}: "
            f"{first!r} below the threshold of the case ({threshold}), {second!r} from it on."
        )


def _summary(column: Floats) -> dict[str, float]:
    """Return the least, the mean and the largest cost."""
    return {
        "least": float(column.min()),
        "mean": float(column.mean()),
        "most": float(column.max()),
    }


def _range(column: Floats) -> str:
    """Write the range of a column, or its value if that is the same in every case."""
    least = column.min()
    most = column.max()
    if least == most:
        return f"{least:.4g}"
    return f"{least:.4g} to {most:.4g}"
