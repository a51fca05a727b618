"""Decision tasks: the actions of a decision, and what each is worth with the event and without it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, Frozen, freeze
from rainproof.core.shown import Shown
from rainproof.decisions.payoffs import check_matrix, check_names, is_number, upper_envelope
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.core.sample.sample import Sample
    from rainproof.decisions.finite_task import FiniteTask
    from rainproof.decisions.quadratic_task import QuadraticTask
    from rainproof.decisions.swap import Per, Response, Swap

_TWO = ("wait", "act")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ThresholdMixture(Frozen):
    """A task as a mixture of thresholds: its regret is theirs, summed with these weights.

    Attributes
    ----------
    threshold : ndarray
        The thresholds.
    weight : ndarray
        The weight of each, as a share of the task's scale.
    density : float
        The weight per unit of threshold that is spread evenly over [0, 1]; 0 for a task with a list of actions.
    """

    threshold: Floats
    weight: Floats
    density: float

    def __post_init__(self) -> None:
        freeze(self.threshold, self.weight)

    def __repr__(self) -> str:
        return f"ThresholdMixture({len(self.threshold)} thresholds, density={self.density:g})"


class DecisionTask(Shown, ABC):
    r"""A decision: its actions, and the payoff of each with the event and without it.

    Create one with `from_costs`, `threshold`, `from_payoffs` or `quadratic`. Whoever trusts a probability p takes the
    action with the largest expected payoff, ``task.best_response(p)``; `rainproof.swap_regret` computes what that
    costs in hindsight.

    Attributes
    ----------
    actions : tuple of str
        The names of the actions; empty for `quadratic`, where every number in [0, 1] is one.
    thresholds : tuple of float
        The probabilities at which the best action changes, increasing; empty for `quadratic`.
    scale : float
        What is at stake: the largest payoff minus the smallest, over all actions, for the outcome where this difference
        is largest. What an outcome pays whatever one does is not at stake, and moves no regret.

    Notes
    -----
    There are two types of tasks: `FiniteTask` has a list of actions, `QuadraticTask` has all numbers in [0, 1]. To add
    a third, write a subclass in a module of its own that implements the abstract methods below, add it to the list in
    `from_dict`, and give it a constructor here. Nothing else has to change.

    References
    ----------
    arXiv:2605.17749, Section 1.1 (tasks and best response); Section 9 has ``DecisionTask.threshold(0.35)``.

    Examples
    --------
    >>> import rainproof
    >>> task = rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65)
    >>> print(task)
    2 actions, 65 at stake: 'wait' below 0.35, 'act' from 0.35.
    >>> task.best_response([0.2, 0.35, 0.9]).tolist()
    ['wait', 'act', 'act']
    """

    __slots__ = ()
    kind: ClassVar[str]  # stands under "task" in `to_dict`
    actions: tuple[str, ...]
    thresholds: tuple[float, ...]

    @staticmethod
    def from_costs(*, false_positive: float, false_negative: float, actions: Sequence[str] = _TWO) -> FiniteTask:
        """Create a task with two actions from the cost of a false alarm and the cost of a miss.

        Acting without the event costs `false_positive`, waiting with the event `false_negative`, all else nothing.
        The threshold is ``false_positive / (false_positive + false_negative)``: the more a miss costs, the
        lower the probability from which one acts.

        Parameters
        ----------
        false_positive, false_negative : float
            Costs in any unit, both positive and finite.
        actions : pair of str
            The names of the two actions, the one for low probabilities first.

        Examples
        --------
        >>> import rainproof
        >>> rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65).thresholds
        (0.35,)
        """
        costs = {"false_positive": false_positive, "false_negative": false_negative}
        for name, cost in costs.items():
            if not is_number(cost) or not 0 < cost < math.inf:
                raise InputError(f"{name} must be a positive, finite cost; it is {cost!r}")
        payoffs = [[0.0, -false_negative], [-false_positive, 0.0]]
        return DecisionTask.from_payoffs(payoffs, actions=check_names(actions, 2))

    @staticmethod
    def threshold(threshold: float, *, actions: Sequence[str] = _TWO) -> FiniteTask:
        """Create a task with two actions, the second best from the probability `threshold` on.

        ``U = 1 - mu (1-y) a - (1-mu) y (1-a)``: with payoffs in [0, 1], a false alarm costs mu and a miss 1 - mu.
        If every distinct prediction may be swapped, its regret in these units is the regret curve at mu.

        Parameters
        ----------
        threshold : float
            The threshold mu, above 0 and below 1.
        actions : pair of str
            The names of the two actions, the one for low probabilities first.

        Examples
        --------
        >>> import rainproof
        >>> rainproof.DecisionTask.threshold(0.35)
        DecisionTask(actions=('wait', 'act'), thresholds=(0.35,), scale=0.65)
        """
        from rainproof.decisions.finite_task import FiniteTask

        if not is_number(threshold) or not 0 < threshold < 1:
            raise InputError(f"threshold must lie in (0, 1); it is {threshold!r}")
        mu = float(threshold)
        payoffs = ((1.0, mu), (1 - mu, 1.0))
        return FiniteTask(actions=check_names(actions, 2), payoffs=payoffs, order=(0, 1), thresholds=(mu,))

    @staticmethod
    def from_payoffs(payoffs: ArrayLike, *, actions: Sequence[str] | None = None) -> FiniteTask:
        """Create a task with any number of actions from their payoffs without the event and with it.

        Parameters
        ----------
        payoffs : array_like of shape (k, 2)
            ``payoffs[a][y]`` in any unit; finite, and not the same for all actions. Costs are negative payoffs.
        actions : sequence of k str, optional
            The names of the actions (default: "action 0", "action 1" and so on).

        Examples
        --------
        >>> import rainproof
        >>> payoffs = [[10, -50], [4, 0], [-20, 30]]
        >>> print(rainproof.DecisionTask.from_payoffs(payoffs, actions=["go out", "take an umbrella", "stay in"]))
        3 actions, 80 at stake: 'go out' below 0.1071, 'take an umbrella' from 0.1071, 'stay in' from 0.4444.
        """
        from rainproof.decisions.finite_task import FiniteTask

        matrix = check_matrix(payoffs)
        named = [f"action {a}" for a in range(len(matrix))] if actions is None else actions
        names = check_names(named, len(matrix))
        order, thresholds = upper_envelope(matrix)
        rows = tuple((float(low), float(high)) for low, high in matrix)
        return FiniteTask(actions=names, payoffs=rows, order=order, thresholds=thresholds)

    @staticmethod
    def quadratic() -> QuadraticTask:
        """Create the task whose actions are all numbers a in [0, 1], with payoff ``1 - (a - y)**2``.

        The best response to a probability is the probability itself.

        Examples
        --------
        >>> import rainproof
        >>> print(rainproof.DecisionTask.quadratic())
        The action is a number in [0, 1], 1 at stake: its payoff is 1 - (action - outcome)^2.
        """
        from rainproof.decisions.quadratic_task import QuadraticTask

        return QuadraticTask()

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> DecisionTask:
        """Read the task that `to_dict` wrote, exact to the last bit."""
        from rainproof.decisions.finite_task import FiniteTask
        from rainproof.decisions.quadratic_task import QuadraticTask

        types: list[type[DecisionTask]] = [FiniteTask, QuadraticTask]
        kind = data.get("task") if isinstance(data, Mapping) else None
        for found in types:
            if kind == found.kind:
                return found._from_dict(data)
        kinds = " or ".join(repr(known.kind) for known in types)
        raise InputError(f"a task must be a dict with 'task' either {kinds}; it has {kind!r}")

    @property
    @abstractmethod
    def scale(self) -> float:
        """What is at stake (see Attributes)."""

    @abstractmethod
    def best_response(self, p: ArrayLike) -> Any:
        """Return the best action at each probability: its name, or a number for a quadratic task.

        Parameters
        ----------
        p : array_like
            Probabilities, of any shape.

        Returns
        -------
        ndarray of the same shape, or a single action for a single probability
        """

    @abstractmethod
    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return the payoff of an action when the outcome is `y`; arrays of both are broadcast.

        Parameters
        ----------
        action : str or array_like of str
            Names of actions (numbers in [0, 1] for a quadratic task).
        y : array_like
            Outcomes: 0 or 1.
        """

    @abstractmethod
    def mixture(self) -> ThresholdMixture:
        r"""Return the thresholds that the task is a mixture of, each with its weight.

        If every distinct prediction may be swapped, the regret as a share of `scale` is :math:`\int R(\mu-)\,d\nu`: R
        is the regret curve (`rainproof.regret_curve`), at each threshold its limit from the left, as ties go to the
        action for higher probabilities. Neither :math:`\int (1-\mu)\,d\nu` nor :math:`\int \mu\,d\nu` exceeds 1.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the task in built-in types, ready for JSON; `from_dict` reads it."""

    @classmethod
    @abstractmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> DecisionTask:
        """Read what `to_dict` of this type wrote."""

    @abstractmethod
    def _choices(self, p: Floats) -> NDArray[Any]:
        """Encode the best action at each probability, as a policy stores it; `_decode` reads the codes."""

    @abstractmethod
    def _decode(self, choices: NDArray[Any]) -> NDArray[Any]:
        """Return the actions that stand behind entries of `_choices`."""

    @abstractmethod
    def _swaps(self, sample: Sample, per: Per, response: Response | None) -> tuple[float, tuple[Swap, ...]]:
        """Compute the swap regret as a share of `scale`, and the swaps that would have saved it, best first."""


def match_outcomes(action: NDArray[Any], y: ArrayLike) -> NDArray[Any]:
    """Accept outcomes, of a shape that fits the actions."""
    outcome = np.asarray(y)
    if not np.isin(outcome, (0, 1)).all():
        raise InputError(f"y must be 0 or 1; it is {y!r}")
    try:
        np.broadcast_shapes(action.shape, outcome.shape)
    except ValueError:
        raise InputError(f"action and y must match up; their shapes are {action.shape} and {outcome.shape}") from None
    return outcome
