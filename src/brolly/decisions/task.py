"""The decision task: what can be done, and what each action is worth when the event happens and when it does not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Floats, Frozen, freeze
from brolly.decisions.payoffs import (
    check_envelope,
    check_matrix,
    check_names,
    check_probabilities,
    is_number,
    upper_envelope,
)
from brolly.errors import InputError

_TWO = ("wait", "act")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ThresholdMixture(Frozen):
    """A task as a mixture of thresholds: its regret is that of the thresholds, added up with these weights.

    Attributes
    ----------
    threshold : ndarray
        The thresholds.
    weight : ndarray
        The weight of each, as a share of the task's scale.
    density : float
        The weight per unit of threshold that lies on all of [0, 1] besides; 0 for finitely many actions.
    """

    threshold: Floats
    weight: Floats
    density: float

    def __post_init__(self) -> None:
        freeze(self.threshold, self.weight)

    def __repr__(self) -> str:
        return f"ThresholdMixture({len(self.threshold)} thresholds, density={self.density:g})"


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionTask:
    r"""What is at stake: the actions there are, and what each is worth with the event and without it.

    Make one with `from_costs`, `threshold`, `from_payoffs` or `quadratic`. Whoever trusts a probability p
    takes the action with the largest expected payoff, ``task.best_response(p)``; what that costs in
    hindsight is `brolly.swap_regret`.

    Attributes
    ----------
    actions : tuple of str
        The names of the actions; empty for `quadratic`, where every number in [0, 1] is one.
    payoffs : tuple of pairs
        For each action its payoff without the event and with it.
    order : tuple of int
        Which actions are best somewhere, from low probabilities to high.
    thresholds : tuple of float
        The probabilities at which the best action changes, increasing: from ``thresholds[i]`` on
        ``order[i + 1]`` is better than ``order[i]``.

    Notes
    -----
    The expected payoff of an action is a line in p; the best response follows the upper envelope of the
    lines. Ties go to the action that a higher p would choose (at p = 1, where there is none, to that of a
    lower p). An action that is best nowhere, or at single probabilities only, is never chosen: see
    `dominated`. Of actions with equal payoffs the first stands for all.

    References
    ----------
    arXiv:2605.17749, Section 1.1 (tasks and best response); Section 9 has ``DecisionTask.threshold(0.35)``.

    Examples
    --------
    >>> import brolly
    >>> task = brolly.DecisionTask.from_costs(false_positive=35, false_negative=65)
    >>> print(task)
    A choice of 2 actions, 65 at stake: 'wait' below 0.35, 'act' from there on.
    >>> task.best_response([0.2, 0.35, 0.9]).tolist()
    ['wait', 'act', 'act']
    """

    actions: tuple[str, ...]
    payoffs: tuple[tuple[float, float], ...]
    order: tuple[int, ...]
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.actions or self.payoffs or self.order or self.thresholds:
            check_names(self.actions, len(self.payoffs))
            check_envelope(check_matrix(self.payoffs), self.order, self.thresholds)

    @classmethod
    def from_costs(cls, *, false_positive: float, false_negative: float, actions: Sequence[str] = _TWO) -> DecisionTask:
        """Two actions: what a false alarm costs, and what a miss costs.

        Acting without the event costs `false_positive`, waiting with it `false_negative`, all else nothing.
        The threshold is ``false_positive / (false_positive + false_negative)``: the dearer the miss, the
        earlier one acts.

        Parameters
        ----------
        false_positive, false_negative : float
            Costs in any unit, both positive and finite.
        actions : pair of str
            What the two are called, the one for low probabilities first.

        Examples
        --------
        >>> import brolly
        >>> brolly.DecisionTask.from_costs(false_positive=35, false_negative=65).thresholds
        (0.35,)
        """
        costs = {"false_positive": false_positive, "false_negative": false_negative}
        for name, cost in costs.items():
            if not is_number(cost) or not 0 < cost < math.inf:
                raise InputError(f"{name} must be a positive, finite cost; it is {cost!r}")
        return cls.from_payoffs([[0.0, -false_negative], [-false_positive, 0.0]], actions=check_names(actions, 2))

    @classmethod
    def threshold(cls, threshold: float, *, actions: Sequence[str] = _TWO) -> DecisionTask:
        """Two actions, the second from the probability `threshold` on: the paper's task, for any threshold.

        ``U = 1 - mu (1-y) a - (1-mu) y (1-a)``: a false alarm costs mu and a miss 1 - mu, of payoffs in [0, 1].
        Its regret in these units, predictions told apart, is the regret curve at mu.

        Parameters
        ----------
        threshold : float
            The threshold, above 0 and below 1: at the ends there would be nothing to decide.
        actions : pair of str
            What the two are called, the one for low probabilities first.

        Examples
        --------
        >>> import brolly
        >>> brolly.DecisionTask.threshold(0.35)
        DecisionTask(actions=('wait', 'act'), thresholds=(0.35,), scale=0.65)
        """
        if not is_number(threshold) or not 0 < threshold < 1:
            raise InputError(f"threshold must lie in (0, 1); it is {threshold!r}")
        mu = float(threshold)
        payoffs = ((1.0, mu), (1 - mu, 1.0))
        return cls(actions=check_names(actions, 2), payoffs=payoffs, order=(0, 1), thresholds=(mu,))

    @classmethod
    def from_payoffs(cls, payoffs: ArrayLike, *, actions: Sequence[str] | None = None) -> DecisionTask:
        """Any number of actions: for each its payoff without the event and with it, in any unit.

        Parameters
        ----------
        payoffs : array_like of shape (k, 2)
            ``payoffs[a][y]``; finite, and not the same for all actions. Costs are negative payoffs.
        actions : sequence of k str, optional
            What the actions are called; "action 0", "action 1" and so on if not said.

        Examples
        --------
        >>> import brolly
        >>> payoffs = [[10, -50], [4, 0], [-20, 30]]
        >>> print(brolly.DecisionTask.from_payoffs(payoffs, actions=["go out", "take an umbrella", "stay in"]))
        A choice of 3 actions, 80 at stake: 'go out' below 0.1071, 'take an umbrella' from there to 0.4444,
        'stay in' from there on.
        """
        matrix = check_matrix(payoffs)
        named = [f"action {a}" for a in range(len(matrix))] if actions is None else actions
        names = check_names(named, len(matrix))
        order, thresholds = upper_envelope(matrix)
        rows = tuple((float(low), float(high)) for low, high in matrix)
        return cls(actions=names, payoffs=rows, order=order, thresholds=thresholds)

    @classmethod
    def quadratic(cls) -> DecisionTask:
        """Every number in [0, 1] is an action, with payoff ``1 - (a - y)**2``: the best is to say p itself.

        Examples
        --------
        >>> import brolly
        >>> print(brolly.DecisionTask.quadratic())
        The action is a number in [0, 1], 1 at stake: its payoff is 1 - (action - outcome)^2.
        """
        return cls(actions=(), payoffs=(), order=(), thresholds=())

    @property
    def is_quadratic(self) -> bool:
        """Whether the actions are all numbers in [0, 1]."""
        return not self.actions

    @property
    def matrix(self) -> Floats:
        """The payoffs as a read-only array of shape (k, 2)."""
        matrix = np.array(self._finite("payoff matrix").payoffs)
        freeze(matrix)
        return matrix

    @property
    def scale(self) -> float:
        """What is at stake: how far the choice of action can move the payoff, for the outcome where it is most.

        The largest payoff minus the smallest, over all actions, for one outcome. What an outcome brings
        whatever one does is not at stake, and moves no regret.
        """
        return 1.0 if self.is_quadratic else float(np.ptp(self.matrix, axis=0).max())

    @property
    def dominated(self) -> tuple[str, ...]:
        """The actions that are never chosen, as others are at least as good at every probability."""
        return tuple(name for a, name in enumerate(self.actions) if a not in self.order)

    def best_response(self, p: ArrayLike) -> Any:
        """The name of the best action at each probability, or the best number for a quadratic task.

        Parameters
        ----------
        p : array_like
            Probabilities, of any shape.

        Returns
        -------
        ndarray of the same shape, or a single name for a single probability
        """
        if self.is_quadratic:
            return check_probabilities(p)[()]
        index = self.best_index(p)
        return self.actions[int(index)] if index.ndim == 0 else np.array(self.actions)[index]

    def best_index(self, p: ArrayLike) -> NDArray[np.intp]:
        """The number of the best action at each probability: `best_response` as a place in `actions`."""
        thresholds = np.array(self._finite("numbered actions").thresholds)
        place = np.searchsorted(thresholds, check_probabilities(p), "right")
        return np.asarray(np.array(self.order)[place])

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """What an action is worth when the outcome is `y`; arrays of both are matched up.

        Parameters
        ----------
        action : str or array_like of str
            Names of actions (numbers in [0, 1] for a quadratic task).
        y : array_like
            Outcomes: 0 or 1.
        """
        outcome = np.asarray(y)
        if not np.isin(outcome, (0, 1)).all():
            raise InputError(f"y must be 0 or 1; it is {y!r}")
        chosen = check_probabilities(action, "action") if self.is_quadratic else np.asarray(action, dtype=object)
        try:
            np.broadcast_shapes(chosen.shape, outcome.shape)
        except ValueError:
            raise InputError(
                f"action and y must match up; their shapes are {chosen.shape} and {outcome.shape}"
            ) from None
        if self.is_quadratic:
            return 1 - (chosen - outcome) ** 2
        index = np.array([self._index(name) for name in chosen.ravel()], np.intp).reshape(chosen.shape)
        return self.matrix[index, outcome.astype(np.intp)]

    def mixture(self) -> ThresholdMixture:
        r"""The thresholds that the task is made of, each with its weight.

        With predictions told apart, the regret (as a share of `scale`) is :math:`\int R(\mu-)\,d\nu`: R is the
        regret curve (`brolly.regret_curve`), at each threshold in its limit from the left, as ties go up. The
        weight at a threshold is the change of ``U(a, 1) - U(a, 0)`` there. It never has
        :math:`\int (1-\mu)\,d\nu` or :math:`\int \mu\,d\nu` above 1.
        """
        if self.is_quadratic:
            return ThresholdMixture(threshold=np.zeros(0), weight=np.zeros(0), density=2.0)
        chosen = self.matrix[list(self.order)]
        weight = np.diff(chosen[:, 1] - chosen[:, 0]) / self.scale
        return ThresholdMixture(threshold=np.array(self.thresholds), weight=weight, density=0.0)

    def to_dict(self) -> dict[str, Any]:
        """The task in built-in types, ready for JSON; `from_dict` reads it."""
        if self.is_quadratic:
            return {"task": "quadratic"}
        return {
            "task": "actions",
            "actions": list(self.actions),
            "payoffs": [list(row) for row in self.payoffs],
            "order": list(self.order),
            "thresholds": list(self.thresholds),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DecisionTask:
        """The task that `to_dict` wrote, to the last bit."""
        kind = data.get("task") if isinstance(data, Mapping) else None
        if kind == "quadratic":
            return cls.quadratic()
        if kind != "actions":
            raise InputError(f"a task must be a dict with 'task' either 'actions' or 'quadratic'; it has {kind!r}")
        missing = [key for key in ("actions", "payoffs", "order", "thresholds") if not isinstance(data.get(key), list)]
        if missing:
            raise InputError(f"a task of actions must have the list {missing[0]!r}")
        matrix = check_matrix(data["payoffs"])
        return cls(
            actions=check_names(data["actions"], len(matrix)),
            payoffs=tuple((float(low), float(high)) for low, high in matrix),
            order=tuple(data["order"]),
            thresholds=tuple(data["thresholds"]),
        )

    def _finite(self, what: str) -> DecisionTask:
        if self.is_quadratic:
            raise InputError(f"a quadratic task has no {what}: every number in [0, 1] is an action")
        return self

    def _index(self, name: Any) -> int:
        if name not in self.actions:
            raise InputError(f"action must be one of {', '.join(map(repr, self.actions))}; it is {name!r}")
        return self.actions.index(name)

    def __repr__(self) -> str:
        if self.is_quadratic:
            return "DecisionTask.quadratic()"
        shown = ", ".join(map(_short, self.thresholds)) + ("," if len(self.thresholds) == 1 else "")
        return f"DecisionTask(actions={self.actions!r}, thresholds=({shown}), scale={self.scale:.6g})"

    def __str__(self) -> str:
        if self.is_quadratic:
            return "The action is a number in [0, 1], 1 at stake: its payoff is 1 - (action - outcome)^2."
        chosen = [repr(self.actions[a]) for a in self.order]
        ends = [_short(mu) for mu in self.thresholds]
        parts = [f"{chosen[0]} below {ends[0]}" if ends else f"{chosen[0]} always"]
        parts += [f"{name} from there to {end}" for name, end in zip(chosen[1:], ends[1:], strict=False)]
        parts += [f"{chosen[-1]} from there on"] if ends else []
        never = f"; never {', '.join(map(repr, self.dominated))}" if self.dominated else ""
        return f"A choice of {len(self.actions)} actions, {self.scale:.6g} at stake: {', '.join(parts)}{never}."


def _short(mu: float) -> str:
    return f"{round(mu, 12):.4g}"  # a threshold may lie a last bit beside a prediction
