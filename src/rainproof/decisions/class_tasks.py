"""Decisions whose payoff depends on which of several classes occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import validation
from rainproof.core.arrays import Floats, Ints, read_only
from rainproof.core.classes import ClassSample
from rainproof.core.result import Result
from rainproof.decisions.action_swaps import ActionSwap, best_swaps
from rainproof.decisions.payoffs import action_index, check_matrix, check_names
from rainproof.errors import InputError

_BLOCK = 1 << 16  # rows whose payoffs are computed together


class ClassTask(Result):
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
    >>> task = rainproof.DecisionTask.from_cost_matrix(costs, actions=["cat", "dog", "eel"], abstain=1.5)
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
    def matrix(self) -> Floats:
        """The payoffs as a read-only array of shape (actions, classes)."""
        return read_only(np.array(self.payoffs))

    @property
    def scale(self) -> float:
        """What is at stake: the largest payoff minus the smallest, for the class where this is
        largest.
        """
        return float(np.ptp(self.matrix, axis=0).max())

    def best_response(self, p: ArrayLike) -> Any:
        """Return the name of the best action for each row of probabilities, or one name for one
        row.
        """
        index = self.best_index(p)
        return self.actions[int(index)] if index.ndim == 0 else np.array(self.actions)[index]

    def best_index(self, p: ArrayLike) -> Ints:
        """Return the index in `actions` of the best action for each row of probabilities."""
        table = np.atleast_2d(validation.as_numbers(p, "p"))
        if table.ndim != 2 or table.shape[1] != len(self.payoffs[0]):
            raise InputError(
                f"p must have {len(self.payoffs[0])} columns, one for each class; its shape is {table.shape}"
            )
        for error in validation.violations(table, validation.ColumnNames(prob="p")):
            raise error
        found = self._best(table)
        return found.reshape(np.shape(p)[:-1])

    def _best(self, prob: NDArray[Any]) -> Ints:
        """The best actions for probabilities that were checked already."""
        blocks = (prob[start : start + _BLOCK] for start in range(0, len(prob), _BLOCK))
        best = [
            (block.astype(np.float64, copy=False) @ self.matrix.T).argmax(axis=1)
            for block in blocks
        ]
        return np.concatenate([np.zeros(0, np.int64), *best])

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return the payoff of an action, by name, where the class with the number `y` occurs;
        arrays are broadcast.
        """
        index, which = action_index(self.actions, action), np.asarray(y)
        if not np.isin(which, np.arange(len(self.payoffs[0]))).all():
            raise InputError(
                f"y must be the number of a class, from 0 to {len(self.payoffs[0]) - 1}; it is {y!r}"
            )
        return self.matrix[index, which.astype(np.intp)]

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> ClassTask:
        matrix = check_matrix(data.get("payoffs", ()), classes=True)
        return cls(
            actions=check_names(data.get("actions", ()), len(matrix)), payoffs=as_payoffs(matrix)
        )

    def _check(self, sample: ClassSample) -> None:
        if len(sample.classes) != len(self.payoffs[0]):
            raise InputError(
                f"task must have a payoff for each of {len(sample)} classes; it has {len(self.payoffs[0])}"
            )

    def _swaps(self, sample: ClassSample) -> tuple[float, tuple[ActionSwap, ...]]:
        """Find the best replacement of each action taken: those that save anything, the best first."""
        self._check(sample)
        mass = np.zeros_like(self.matrix)
        np.add.at(mass, (self._best(sample.prob), sample.which), sample.mass)
        return best_swaps(
            self, self.matrix, mass[:, None], mass[:, None], sample.total_weight, "action"
        )

    def __repr__(self) -> str:
        return f"DecisionTask(actions={self.actions!r}, classes={len(self.payoffs[0])}, scale={self.scale:.6g})"

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.actions))
        return f"{len(self.actions)} actions in {len(self.payoffs[0])} classes, {self.scale:.6g} at stake: {names}."


def as_payoffs(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    """Return a matrix of payoffs as a task keeps it."""
    return tuple(tuple(row) for row in matrix.tolist())
