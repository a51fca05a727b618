"""Decisions whose payoff depends on which of several classes occurs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Ints
from rainproof.core.classes import violations
from rainproof.core.columns import ColumnNames
from rainproof.core.conversion import as_numbers
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.decisions.action_swaps import BestSwaps, best_swaps
from rainproof.decisions.payoffs import (
    action_index,
    action_names,
    as_rows,
    check_matrix,
    check_names,
)
from rainproof.decisions.profiles import MatrixPayoffs, TaskProfile
from rainproof.errors import InputError

_BLOCK = 1 << 16  # rows whose expected payoffs are computed together: memory for one block


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ClassTask(MatrixPayoffs, Result):
    """A decision whose payoff depends on which of several classes occurs.

    Create one with `DecisionTask.from_payoffs` or `DecisionTask.from_cost_matrix`, with a column
    for each class. Whoever trusts the probabilities takes the action with the largest expected
    payoff, the first of equals.

    Attributes
    ----------
    actions : tuple of str
        The names of the actions.
    payoffs : tuple of tuples
        For each action its payoff in each class, in the order of the columns of the predictions.
    scale : float
        What is at stake: the largest payoff minus the smallest, over all actions, for the class
        where this difference is largest.

    Examples
    --------
    >>> import rainproof
    >>> costs = [[0, 5, 5], [5, 0, 2], [5, 2, 0]]
    >>> animals = ["cat", "dog", "eel"]
    >>> task = rainproof.DecisionTask.from_cost_matrix(costs, actions=animals, abstain=1.5)
    >>> task
    DecisionTask(actions=('cat', 'dog', 'eel', 'abstain'), classes=3, scale=5)
    >>> task.best_response([[0.9, 0.05, 0.05], [0.6, 0.3, 0.1], [0.1, 0.5, 0.4]]).tolist()
    ['cat', 'abstain', 'dog']
    """

    _also = ("task",)
    task: ClassVar[str] = "classes"
    actions: tuple[str, ...]
    payoffs: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_names(self.actions, len(check_matrix(self.payoffs, classes=True)))

    @property
    def profile(self) -> TaskProfile:
        """What distinguishes this decision from those about one event."""
        return TaskProfile(actions=len(self.actions), fixed=True)

    def best_response(self, p: ArrayLike) -> Any:
        """Return the name of the best action for each row of probabilities, or one name for one
        row.
        """
        return action_names(self.actions, self.best_index(p))

    def best_index(self, p: ArrayLike) -> Ints:
        """Return the index in `actions` of the best action for each row of probabilities."""
        prob = np.atleast_2d(as_numbers(p, "p"))
        if prob.ndim != 2 or prob.shape[1] != self._class_count:
            raise InputError(
                f"p must have {self._class_count} columns, one for each class; "
                f"its shape is {prob.shape}"
            )
        error = next(violations(prob, ColumnNames(prob="p")), None)
        if error is not None:
            raise error
        return self.best_checked(prob).reshape(np.shape(p)[:-1])

    def best_checked(self, prob: NDArray[Any]) -> Ints:
        """Return the index of the best action for each row of probabilities that were checked
        already, such as those of a sample.
        """
        best = np.empty(len(prob), np.int64)
        for start in range(0, len(prob), _BLOCK):
            block = slice(start, start + _BLOCK)
            expected = prob[block].astype(np.float64, copy=False) @ self.matrix.T
            best[block] = expected.argmax(axis=1)  # the first of equals
        return best

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return the payoff of an action, by name, where the class with the number `y` occurs;
        arrays are broadcast.
        """
        index = action_index(self.actions, action)
        number = np.asarray(y)
        if not np.isin(number, np.arange(self._class_count)).all():
            last = self._class_count - 1
            raise InputError(f"y must be the number of a class, from 0 to {last}; it is {y!r}")
        return self.matrix[index, number.astype(np.intp)]

    @classmethod
    def from_content(cls, data: Mapping[str, Any]) -> ClassTask:
        """Read what `to_dict` wrote."""
        matrix = check_matrix(data.get("payoffs", ()), classes=True)
        names = check_names(data.get("actions", ()), len(matrix))
        return cls(actions=names, payoffs=as_rows(matrix))

    def check_classes(self, sample: Sample) -> None:
        """Refuse a sample with another number of classes."""
        if len(sample.classes) != self._class_count:
            raise InputError(
                f"task must have a payoff for each of {len(sample.classes)} classes; "
                f"it has {self._class_count}"
            )

    def find_swaps(self, sample: Sample) -> BestSwaps:
        """Find the best replacement of each action taken."""
        self.check_classes(sample)
        mass = np.zeros((len(self.actions), 1, self._class_count))  # all rows are one group
        np.add.at(mass[:, 0], (self.best_checked(sample.prob), sample.which), sample.mass)
        return best_swaps(self, self.matrix, mass, mass, sample.total_weight, "action")

    @property
    def _class_count(self) -> int:
        return len(self.payoffs[0])

    def __repr__(self) -> str:
        return (
            f"DecisionTask(actions={self.actions!r}, classes={self._class_count}, "
            f"scale={self.scale:.6g})"
        )

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.actions))
        return (
            f"{len(self.actions)} actions in {self._class_count} classes, "
            f"{self.scale:.6g} at stake: {names}."
        )


def check_class_task(task: object, classes: int) -> ClassTask | None:
    """Accept a task about several classes, or none."""
    if isinstance(task, ClassTask) or task is None:
        return task
    raise InputError(f"task must have a payoff for each of {classes} classes; it is {task!r}")
