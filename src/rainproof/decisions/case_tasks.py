"""Decisions between two actions whose costs differ from case to case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, freeze
from rainproof.core.sample import Sample
from rainproof.core.validation import (
    as_numbers,
    check_aligned,
    check_probabilities,
    check_same_length,
    one_column,
)
from rainproof.decisions.action_swaps import ActionSwap, Per, best_swaps
from rainproof.decisions.tasks import FiniteTask, ListedTask, response_probabilities
from rainproof.errors import InputError


def case_costs(costs: Mapping[str, Any], columns: Mapping[str, Any]) -> Floats:
    """Check the costs of each case, and return them as columns; those that are no columns are the
    same in all.
    """
    check_aligned(*columns.items())
    arrays = {name: one_column(as_numbers(column, name)) for name, column in columns.items()}
    for name, array in arrays.items():
        if array.ndim != 1 or not len(array):
            raise InputError(
                f"{name} must be a number, or one-dimensional; its shape is {array.shape}"
            )
        bad = np.flatnonzero(~((array >= 0) & (array < np.inf)))
        if bad.size:
            rule = f"{name} must be finite and not negative"
            missing = bool(np.isnan(array[bad[0]]))
            raise InputError.from_offenders(
                rule, bad.size, f"{name}[{bad[0]}]", array[bad[0]], missing=missing
            )
    for (name, array), (other, others) in pairwise(arrays.items()):
        check_same_length(name, array, other, others)
    n = len(next(iter(arrays.values())))
    found = np.empty((n, 2))
    for k, (name, cost) in enumerate(costs.items()):
        found[:, k] = arrays.get(name, cost)
    free = np.flatnonzero(~found.any(axis=1))
    if free.size:
        rule = "false_positive and false_negative must not both be 0 in a case: nothing is at stake"
        raise InputError.from_offenders(rule, free.size, f"case {free[0]}")
    with np.errstate(over="ignore"):
        if np.isinf(found.sum(axis=1)).any():
            raise InputError(
                "false_positive and false_negative must add up to less than the largest double: rescale them"
            )
    freeze(found)
    return found


# what the right and the wrong action pay, of what a case costs
_UNIT = np.array([[0.0, -1.0], [-1.0, 0.0]])


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
    order: ClassVar[tuple[int, ...]] = (0, 1)
    actions: tuple[str, ...]
    _costs: Floats
    # as they were given, with their index
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
        found: Floats = self.false_positive / (self.false_positive + self.false_negative)
        return found

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The threshold, where all cases have the same; else empty."""
        each = self.case_thresholds
        return (float(each[0]),) if (each == each[0]).all() else ()

    @property
    def scale(self) -> float:
        """What is at stake: the largest cost of a case."""
        return float(self._costs.max())

    @property
    def by_case(self) -> Floats:
        """The payoffs as an array of shape (2, 2, n): by action, outcome and case."""
        return _UNIT[:, :, None] * self._costs.T

    def best_index(self, p: ArrayLike) -> NDArray[np.intp]:
        """Return the index in `actions` of the best action of each case at its probability."""
        return (self._checked(p) >= self.case_thresholds).astype(np.intp)

    def best_response(self, p: ArrayLike) -> Any:
        """Return the name of the best action of each case at its probability: as many as there are
        cases.
        """
        return np.array(self.actions)[self.best_index(p)]

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return the payoff of an action in each case, by name, when the outcome is `y`."""
        unit = FiniteTask(
            actions=self.actions,
            payoffs=((0.0, -1.0), (-1.0, 0.0)),
            order=self.order,
            thresholds=(0.5,),
        )
        return unit.payoff(action, y) * np.where(
            np.asarray(y) == 1, self.false_negative, self.false_positive
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a summary in built-in types, ready for JSON: the costs themselves are not in it."""
        spread = {
            name: {
                "least": float(column.min()),
                "mean": float(column.mean()),
                "most": float(column.max()),
            }
            for name, column in zip(
                ("false_positive", "false_negative"), self._costs.T, strict=True
            )
        }
        return {
            "actions": [*self.actions],
            "n": len(self._costs),
            **spread,
            "thresholds": [*self.thresholds],
            "task": self.task,
        }

    @classmethod
    def _from_dict(cls, _data: Mapping[str, Any]) -> CaseTask:
        raise InputError(
            "a task with costs of each case is not stored: make it again from the costs"
        )

    def _choices(self, p: Floats) -> NDArray[Any]:
        # no table of probabilities has them: see `RoundingPolicy.decide`
        return np.zeros(len(p), np.uint8)

    def _decode(self, choices: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.array(self.actions)[choices])

    def _check_aligned(self, *columns: tuple[str, Any]) -> None:
        check_aligned(*columns, *self._columns.items())

    def _checked(self, p: ArrayLike) -> Floats:
        self._check_aligned(("p", p))
        prob = check_probabilities(p, "p")
        if prob.shape != (len(self._costs),):
            cases = f"{len(self._costs):,} cases that the task has costs of"
            raise InputError(
                f"p must have one value for each of the {cases}; its shape is {prob.shape}"
            )
        return prob

    def _beside(self, sample: Sample, *columns: tuple[str, Any]) -> Sample:
        known = sample._costs is self._costs
        return (
            sample if known else sample._with_costs(self._costs, *columns, *self._columns.items())
        )

    def _on(self, sample: Sample) -> CaseTask:
        assert sample._costs is not None
        return (
            self
            if sample._costs is self._costs
            else CaseTask(actions=self.actions, _costs=sample._costs)
        )

    def _swaps(
        self, sample: Sample, per: Per, response: Any
    ) -> tuple[float, tuple[ActionSwap, ...]]:
        """Sum what wrong actions cost by action taken and outcome (per prediction, also by the
        action best there).
        """
        own, prob, event = self._on(sample), sample.prob, sample.event.astype(np.intp)
        taken = (
            np.eye(2)[own.best_index(prob)]
            if response is None
            else response_probabilities(own, response, prob)
        )
        _, at = (
            np.unique(prob, return_inverse=True)
            if per == "prediction"
            else ((), np.zeros(len(prob), np.intp))
        )
        stake = sample.mass * own._costs[np.arange(len(prob)), event]
        places = 2 * at + event
        mass, weight = np.zeros((2, 2, at.max() + 1, 2))  # by action, prediction and outcome
        for a in (0, 1):
            for table, column in ((mass, stake), (weight, sample.mass)):
                table[a] = np.bincount(places, column * taken[:, a], table[a].size).reshape(-1, 2)
        if per == "prediction":
            best = np.stack([mass[:, :, 1] < mass[:, :, 0], mass[:, :, 1] >= mass[:, :, 0]], axis=1)
            mass, weight = best @ mass, best @ weight
        return best_swaps(self, _UNIT, mass, weight, sample.total_weight, per)

    def __repr__(self) -> str:
        return f"DecisionTask(actions={self.actions!r}, costs of {len(self._costs):,} cases, scale={self.scale:.6g})"

    def __str__(self) -> str:
        alarm, miss, at = (_from_to(column) for column in (*self._costs.T, self.case_thresholds))
        low, high = map(repr, self.actions)
        return (
            f"2 actions, costs of {len(self._costs):,} cases, a false alarm {alarm} and a miss {miss}: {low} below the "
            f"threshold of the case ({at}), {high} from it on."
        )


def _from_to(column: Floats) -> str:
    least, most = float(column.min()), float(column.max())
    return f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
