"""Decision tasks: the actions of a decision, and what each is worth with the event and without it."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, freeze, read_only
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.validation import (
    as_numbers,
    check_aligned,
    check_probabilities,
    check_same_length,
    one_column,
    refuse_masked,
)
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.decisions.classes import ClassTask


def decision_with(thresholds: Sequence[float]) -> str:
    """Describe a decision by its thresholds: "a decision with threshold 0.2 (a miss costs 4 times a
    false alarm)".
    """
    ends = list(map(show_threshold, thresholds))
    if len(ends) == 1:
        return f"a decision with threshold {ends[0]}{_cost_ratio(thresholds[0])}"
    return f"a decision among {len(ends) + 1} actions with thresholds {' and '.join(ends)}"


def show_threshold(threshold: float) -> str:
    """Format a threshold; it may lie a last bit beside the prediction that it stands for."""
    return f"{round(threshold, 12):.4g}"


def _cost_ratio(threshold: float) -> str:
    """A false alarm costs the threshold, a miss 1 minus it."""
    if not 1e-12 < threshold < 1 - 1e-12:
        return ""
    ratio = threshold / (1 - threshold)
    if 0.98 < ratio < 1.02:
        return " (a false alarm costs as much as a miss)"
    if ratio > 1:
        return f" (a false alarm costs {ratio:.2g} times a miss)"
    return f" (a miss costs {1 / ratio:.2g} times a false alarm)"


# by how much another action may beat the chosen one, as a share of what is at stake
_TOLERANCE = 1e-9


def upper_envelope(matrix: Floats) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the actions that are best somewhere, from low probabilities to high, and the
    thresholds between them.

    Actions are added by increasing payoff with the event; one leaves the envelope if the next is no
    worse without the event, or overtakes the one before it no later. Of equal actions the first is
    kept. O(k log k).
    """
    low: list[float] = matrix[:, 0].tolist()
    high: list[float] = matrix[:, 1].tolist()

    def takes_over(a: int, b: int) -> float:
        return (low[a] - low[b]) / ((low[a] - low[b]) + (high[b] - high[a]))

    order: list[int] = []
    for b in sorted(range(len(low)), key=lambda a: (high[a], low[a], -a)):
        while order and low[order[-1]] <= low[b]:
            order.pop()
        while len(order) > 1 and takes_over(order[-2], b) <= takes_over(order[-2], order[-1]):
            order.pop()
        order.append(b)
    # rounding might reverse two of them
    thresholds = accumulate((takes_over(a, b) for a, b in pairwise(order)), max)
    return tuple(order), tuple(thresholds)


def check_envelope(matrix: Floats, order: Sequence[int], thresholds: Sequence[float]) -> None:
    """Check that order and thresholds are the best response to these payoffs."""
    places = [0.0, *thresholds, 1.0]
    fit = all(type(a) is int and 0 <= a < len(matrix) for a in order) and all(
        map(is_number, thresholds)
    )
    if not fit or len(places) != len(order) + 1 or not all(a <= b for a, b in pairwise(places)):
        raise InputError(
            f"thresholds must increase in [0, 1], one less than the actions in order; they are {list(thresholds)} "
            f"for {list(order)}"
        )
    best, changes = upper_envelope(matrix)
    at, tolerance = np.array(places), _TOLERANCE * np.ptp(matrix, axis=0).max()
    # payoffs are linear: what is not better at the ends of a piece is not better inside
    for mu in (at[:-1], at[1:]):
        rival = np.array(best)[np.searchsorted(changes, mu, "right")]
        gap = matrix[rival] - matrix[list(order)]
        better = (1 - mu) * gap[:, 0] + mu * gap[:, 1]
        piece = int(better.argmax())
        if better[piece] > tolerance:
            at_worst = f"at {mu[piece]:.6g} action {rival[piece]} beats action {order[piece]}"
            raise InputError(f"thresholds must be where the payoffs cross; {at_worst}")


def is_number(x: Any) -> bool:
    """Return whether x is a real number that a double can hold, and not a bool."""
    if isinstance(x, bool) or not isinstance(x, int | float | np.integer | np.floating):
        return False
    return not isinstance(x, int) or abs(x) <= sys.float_info.max


def check_names(actions: Sequence[str], count: int) -> tuple[str, ...]:
    """Check the names of this many actions, all different, and return them."""
    names = () if isinstance(actions, str) or not isinstance(actions, Iterable) else tuple(actions)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InputError(f"actions must be a list of names; it is {actions!r}")
    # Arrays and files would change them.
    strange = [name for name in names if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in name)]
    if strange:
        raise InputError(
            f"actions must have names that UTF-8 can encode, without NUL; {strange[0]!r} is not one"
        )
    if len(names) != count:
        raise InputError(f"actions must name each of the {count} actions; it has {len(names)}")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"actions must have different names; {twice[0]!r} occurs twice")
    return tuple(map(str, names))


def check_matrix(payoffs: ArrayLike, name: str = "payoffs", *, classes: bool = False) -> Floats:
    """Check a pair of payoffs for each of at least two actions, not all equal, and return them as
    an array.

    With `classes` there may be more than two payoffs of each, one for each class.
    """
    rule = f"{name} must have shape (actions, 2): without the event and with it"
    if classes:
        rule = f"{name} must have shape (actions, classes): for each action a number for each class, of one event two"
    refuse_masked(payoffs, name)
    try:
        matrix = as_numbers(payoffs, name).copy()
    except InputError:
        raise InputError(f"{rule}; rows differ in length, or a value is no finite number") from None
    if matrix.ndim != 2 or matrix.shape[1] < 2 or (matrix.shape[1] > 2 and not classes):
        raise InputError(f"{rule}; it is {matrix.shape}")
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        a, y = bad[0].tolist()
        raise InputError.from_offenders(
            f"{name} must be finite", len(bad), f"{name}[{a}][{y}]", matrix[a, y]
        )
    if len(matrix) < 2:
        raise InputError(f"{name} must have at least two actions; there is {len(matrix)}")
    with np.errstate(over="ignore"):
        spread = np.ptp(matrix, axis=0)
        total = spread.sum()
    if total == 0:
        raise InputError(f"{name} must differ between actions: nothing is at stake")
    if np.isinf(total):
        raise InputError(f"{name} must differ by less than the largest double: rescale them")
    return matrix


Per = Literal["action", "prediction"]


class ActionSwap(Result):
    """One change of actions: wherever `action` was taken, take `replacement`.

    Attributes
    ----------
    action, replacement : str (float for a quadratic task)
        The action taken, and the better one.
    saves : float
        What the swap saves per row, over all rows, as a share of what is at stake.
    in_units : float
        The same in the units of the payoffs.
    weight : float
        The weight of the rows with this action: their number, where rows have no weights (the
        expected number, if the response is random).
    share : float
        The same as a share of the weight of all rows.
    """

    action: Any
    replacement: Any
    saves: float
    in_units: float
    weight: float
    share: float


_TWO = ("wait", "act")


class DecisionTask(Result, ABC):
    r"""A decision: its actions, and the payoff of each with the event and without it.

    Create one with `from_costs`, `threshold`, `from_payoffs` or `quadratic`. Whoever trusts a
    probability p takes the action with the largest expected payoff, ``task.best_response(p)``;
    `rainproof.swap_regret` computes what that costs in hindsight.

    Attributes
    ----------
    actions : tuple of str
        The names of the actions; empty for `quadratic`, where every number in [0, 1] is one.
    thresholds : tuple of float
        The probabilities at which the best action changes, increasing; empty for `quadratic`.
    scale : float
        What is at stake: the largest payoff minus the smallest, over all actions, for the outcome
        where this difference is largest. What an outcome pays whatever one does is not at stake,
        and moves no regret.

    Notes
    -----
    There are three types of tasks: `FiniteTask` has a list of actions, `CaseTask` two actions with costs of each case,
    `QuadraticTask` all numbers in [0, 1]. To add another, write a subclass that implements the abstract methods below,
    add it to the list in `from_dict`, and give it a constructor here. Nothing else has to change.

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
    _also = ("task",)
    task: ClassVar[str]  # the type

    if TYPE_CHECKING:

        @property
        def actions(self) -> tuple[str, ...]: ...
        @property
        def thresholds(self) -> tuple[float, ...]: ...

    @staticmethod
    @overload
    def from_costs(
        *, false_positive: float, false_negative: float, actions: Sequence[str] = ...
    ) -> FiniteTask: ...
    @staticmethod
    @overload
    def from_costs(
        *, false_positive: ArrayLike, false_negative: ArrayLike, actions: Sequence[str] = ...
    ) -> FiniteTask | CaseTask: ...
    @staticmethod
    def from_costs(
        *unnamed: Any, false_positive: Any, false_negative: Any, actions: Sequence[str] = _TWO
    ) -> FiniteTask | CaseTask:
        """Create a task with two actions from the cost of a false alarm and the cost of a miss.

        Acting without the event costs `false_positive`, waiting with the event `false_negative`,
        all else nothing. The threshold is ``false_positive / (false_positive + false_negative)``:
        the more a miss costs, the lower the probability from which one acts.

        Parameters
        ----------
        false_positive, false_negative : float, or array_like of shape (n,)
            Costs in any unit: numbers, positive and finite; or, for either or both, an array with
            the cost of each case, such as the amount of each transaction: finite, not negative, and
            not both 0 in any case. Each case then has a threshold of its own, and the task goes
            with these rows only, in this order (a `CaseTask`).
        actions : pair of str
            The names of the two actions, the one for low probabilities first.

        Examples
        --------
        >>> import rainproof
        >>> rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65).thresholds
        (0.35,)
        >>> task = rainproof.DecisionTask.from_costs(false_positive=5, false_negative=[20, 495])
        >>> task.best_response([0.1, 0.1]).tolist()
        ['wait', 'act']
        """
        if unnamed:  # without both names Python itself says which are missing
            raise TypeError(
                "from_costs takes no unnamed costs: false_positive=..., false_negative=..."
            )
        costs = {"false_positive": false_positive, "false_negative": false_negative}
        columns = {
            name: cost
            for name, cost in costs.items()
            if hasattr(cost, "__len__") and not isinstance(cost, str)
        }
        for name, cost in costs.items():
            if name not in columns and (not is_number(cost) or not 0 < cost < math.inf):
                raise InputError(f"{name} must be a positive, finite cost; it is {cost!r}")
        if columns:
            return CaseTask(
                actions=check_names(actions, 2), _costs=case_costs(costs, columns), _columns=columns
            )
        payoffs = [[0.0, -false_negative], [-false_positive, 0.0]]
        return DecisionTask.from_payoffs(payoffs, actions=actions)

    @staticmethod
    def threshold(threshold: float, *, actions: Sequence[str] = _TWO) -> FiniteTask:
        """Create a task with two actions, the second best from the probability `threshold` on.

        ``U = 1 - mu (1-y) a - (1-mu) y (1-a)``: with payoffs in [0, 1], a false alarm costs mu and
        a miss 1 - mu. If every distinct prediction may be swapped, its regret in these units is the
        regret curve at mu.

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
        if not is_number(threshold) or not 0 < threshold < 1:
            raise InputError(f"threshold must lie in (0, 1); it is {threshold!r}")
        mu = float(threshold)
        payoffs = ((1.0, mu), (1 - mu, 1.0))
        return FiniteTask(
            actions=check_names(actions, 2), payoffs=payoffs, order=(0, 1), thresholds=(mu,)
        )

    @staticmethod
    def from_payoffs(payoffs: ArrayLike, *, actions: Sequence[str] | None = None) -> FiniteTask:
        """Create a task with any number of actions from their payoffs without the event and with
        it.

        Parameters
        ----------
        payoffs : array_like of shape (k, 2), or (k, classes)
            ``payoffs[a][y]`` in any unit; finite, and not the same for all actions. Costs are
            negative payoffs. With more than two columns, one for each class, the task is a
            `ClassTask`.
        actions : sequence of k str, optional
            The names of the actions (default: "action 0", "action 1" and so on).

        Examples
        --------
        >>> import rainproof
        >>> payoffs = [[10, -50], [4, 0], [-20, 30]]
        >>> print(rainproof.DecisionTask.from_payoffs(payoffs, actions=["go out", "take an umbrella", "stay in"]))
        3 actions, 80 at stake: 'go out' below 0.1071, 'take an umbrella' from 0.1071, 'stay in' from 0.4444.
        """
        matrix = check_matrix(payoffs, classes=True)
        named = [f"action {a}" for a in range(len(matrix))] if actions is None else actions
        names = check_names(named, len(matrix))
        if matrix.shape[1] > 2:
            from rainproof.decisions.classes import ClassTask, as_payoffs

            return ClassTask(actions=names, payoffs=as_payoffs(matrix))  # type: ignore[return-value]
        order, thresholds = upper_envelope(matrix)
        rows = tuple((float(low), float(high)) for low, high in matrix)
        return FiniteTask(actions=names, payoffs=rows, order=order, thresholds=thresholds)

    @staticmethod
    def from_cost_matrix(
        costs: ArrayLike, *, actions: Sequence[str] | None = None, abstain: float | None = None
    ) -> FiniteTask:
        """Create a task from the cost of each action in each class.

        Parameters
        ----------
        costs : array_like of shape (k, classes)
            ``costs[a][y]`` in any unit, in the order of the columns of the predictions. With more
            than two classes the task is a `ClassTask`.
        actions : sequence of k str, optional
            The names of the actions (default: "action 0", "action 1" and so on).
        abstain : float, optional
            What it costs to leave a case to others, whatever its class: one more action, "abstain".

        Examples
        --------
        >>> import rainproof
        >>> task = rainproof.DecisionTask.from_cost_matrix([[0, 9], [1, 0]], actions=["wait", "act"], abstain=0.5)
        >>> print(task)
        3 actions, 9 at stake: 'wait' below 0.05556, 'abstain' from 0.05556, 'act' from 0.5.
        """
        payoffs = 0.0 - check_matrix(costs, "costs", classes=True)
        names = [f"action {a}" for a in range(len(payoffs))] if actions is None else list(actions)
        if abstain is not None:
            if not is_number(abstain) or not math.isfinite(abstain):
                raise InputError(f"abstain must be a finite cost; it is {abstain!r}")
            payoffs, names = (
                np.vstack([payoffs, np.full(payoffs.shape[1], -abstain)]),
                [*names, "abstain"],
            )
        return DecisionTask.from_payoffs(payoffs, actions=names)

    @staticmethod
    def quadratic() -> QuadraticTask:
        """Create the task whose actions are all numbers a in [0, 1], with payoff ``1 - (a -
        y)**2``.

        The best response to a probability is the probability itself.

        Examples
        --------
        >>> import rainproof
        >>> print(rainproof.DecisionTask.quadratic())
        The action is a number in [0, 1], 1 at stake: its payoff is 1 - (action - outcome)^2.
        """
        return QuadraticTask()

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> DecisionTask:
        """Read the task that `to_dict` wrote, exact to the last bit."""
        from rainproof.decisions.classes import ClassTask

        types: list[Any] = [FiniteTask, QuadraticTask, CaseTask, ClassTask]
        kind = data.get("task") if isinstance(data, Mapping) else None
        for found in types:
            if kind == found.task:
                task: DecisionTask = found._from_dict(data)
                return task
        kinds = " or ".join(repr(known.task) for known in types)
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

    @classmethod
    @abstractmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> DecisionTask:
        """Read what `to_dict` of this type wrote."""

    @abstractmethod
    def _choices(self, p: Floats) -> NDArray[Any]:
        """Encode the best action at each probability, as a policy stores it; `_decode` reads the
        codes.
        """

    @abstractmethod
    def _decode(self, choices: NDArray[Any]) -> NDArray[Any]:
        """Return the actions that stand behind entries of `_choices`."""

    @abstractmethod
    def _swaps(
        self, sample: Sample, per: Per, response: Any
    ) -> tuple[float, tuple[ActionSwap, ...]]:
        """Compute the swap regret as a share of `scale`, and the swaps that would have saved it,
        best first.
        """

    def _check_aligned(self, *columns: tuple[str, Any]) -> None:
        """Refuse columns whose rows have other labels than those beside them, or than the costs of
        each case.
        """
        check_aligned(*columns)

    def _beside(self, sample: Sample, *_columns: tuple[str, Any]) -> Sample:
        """Return the sample with what the task has for each of its rows; `columns` are what the
        caller made it of.
        """
        return sample

    def _on(self, _sample: Sample) -> Self:
        """Return the task for the rows of a sample, in their order."""
        return self


def match_outcomes(action: NDArray[Any], y: ArrayLike) -> NDArray[Any]:
    """Accept outcomes, of a shape that fits the actions."""
    outcome = np.asarray(y)
    if not np.isin(outcome, (0, 1)).all():
        raise InputError(f"y must be 0 or 1; it is {y!r}")
    try:
        np.broadcast_shapes(action.shape, outcome.shape)
    except ValueError:
        raise InputError(
            f"action and y must match up; their shapes are {action.shape} and {outcome.shape}"
        ) from None
    return outcome


_BLOCK = 1 << 16  # predictions that a response is asked for together
_SURE = 1e-9  # how far from 1 the probabilities of a response may add up
# a gain below this share of the terms it is the difference of is rounding
_ROUNDING = 8 * np.finfo(np.float64).eps


class FiniteTask(DecisionTask):
    r"""A decision between finitely many actions; create one with `DecisionTask.from_costs` and its
    relatives.

    Attributes
    ----------
    actions : tuple of str
        The names of the actions.
    payoffs : tuple of pairs
        For each action its payoff without the event and with it.
    order : tuple of int
        The actions that are best at some probability, from low probabilities to high.
    thresholds : tuple of float
        The probabilities at which the best action changes, increasing: from ``thresholds[i]`` on
        ``order[i + 1]`` is better than ``order[i]``.

    Notes
    -----
    The expected payoff of an action is a line in p; the best response follows the upper envelope of the
    lines. Ties go to the action that is best at higher p (at p = 1, at lower p). An action that is best nowhere, or at
    single probabilities only, is never chosen: see `dominated`. Of actions with equal payoffs only the first is chosen.
    """

    task: ClassVar[str] = "actions"
    actions: tuple[str, ...]
    payoffs: tuple[tuple[float, float], ...]
    order: tuple[int, ...]
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        check_names(self.actions, len(self.payoffs))
        check_envelope(check_matrix(self.payoffs), self.order, self.thresholds)

    @property
    def matrix(self) -> Floats:
        """The payoffs as a read-only array of shape (k, 2)."""
        return read_only(np.array(self.payoffs))

    @property
    def scale(self) -> float:
        """What is at stake: the largest payoff minus the smallest, for the outcome where this is
        larger.
        """
        return float(np.ptp(self.matrix, axis=0).max())

    @property
    def dominated(self) -> tuple[str, ...]:
        """The actions that are never chosen: at every probability another is at least as good."""
        return tuple(name for a, name in enumerate(self.actions) if a not in self.order)

    @property
    def by_case(self) -> Floats:
        """The payoffs as an array of shape (k, 2, 1): by action, outcome and case, here the same in
        all.
        """
        return self.matrix[:, :, None]

    def best_response(self, p: ArrayLike) -> Any:
        """Return the name of the best action at each probability, or one name for one probability."""
        index = self.best_index(p)
        return self.actions[int(index)] if index.ndim == 0 else np.array(self.actions)[index]

    def best_index(self, p: ArrayLike) -> NDArray[np.intp]:
        """Return the index in `actions` of the best action at each probability."""
        place = np.searchsorted(np.array(self.thresholds), check_probabilities(p, "p"), "right")
        return np.asarray(np.array(self.order)[place])

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return the payoff of an action, by name, when the outcome is `y`; arrays of both are
        broadcast.
        """
        outcome, index = (
            match_outcomes(np.asarray(action, dtype=object), y),
            action_index(self.actions, action),
        )
        return self.matrix[index, outcome.astype(np.intp)]

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> FiniteTask:
        missing = [
            key
            for key in ("actions", "payoffs", "order", "thresholds")
            if not isinstance(data.get(key), list)
        ]
        if missing:
            raise InputError(f"a task of actions must have the list {missing[0]!r}")
        matrix = check_matrix(data["payoffs"])
        return cls(
            actions=check_names(data["actions"], len(matrix)),
            payoffs=tuple((float(low), float(high)) for low, high in matrix),
            order=tuple(data["order"]),
            thresholds=tuple(data["thresholds"]),
        )

    def _choices(self, p: Floats) -> NDArray[Any]:
        return self.best_index(p).astype(np.uint8 if len(self.actions) <= 256 else np.intp)

    def _decode(self, choices: NDArray[Any]) -> NDArray[Any]:
        return np.take(np.array(self.actions), choices, mode="clip")  # which are checked already

    def _swaps(
        self, sample: Sample, per: Per, response: Any
    ) -> tuple[float, tuple[ActionSwap, ...]]:
        """Find the best replacement of each action taken, or of each group: those that save
        anything.
        """
        mass = self._masses(sample.distinct(), response, per)
        return best_swaps(self, self.matrix, mass, mass, sample.total_weight, per)

    def _masses(self, table: DistinctTable, response: Any, per: Per) -> Floats:
        """Sum the weight without and with the event by action taken (per prediction, also by the
        action best there).
        """
        k = len(self.actions)
        mass = np.zeros((k, k if per == "prediction" else 1, 2))
        for start in range(0, len(table.prob), _BLOCK):
            block = slice(start, start + _BLOCK)
            outcomes = np.stack([table.negative[block], table.positive[block]], axis=1)
            best = (
                self.best_index(outcomes[:, 1] / outcomes.sum(axis=1)) if per == "prediction" else 0
            )
            group = np.broadcast_to(best, len(outcomes))
            if response is None:
                np.add.at(mass, (self.best_index(table.prob[block]), group), outcomes)
                continue
            taken = _asked(self, response, table.prob[block])
            for g in range(mass.shape[1]):
                mass[:, g] += (taken * (group == g)[:, None]).T @ outcomes
        return mass

    def __repr__(self) -> str:
        shown = ", ".join(map(show_threshold, self.thresholds)) + (
            "," if len(self.thresholds) == 1 else ""
        )
        return (
            f"DecisionTask(actions={self.actions!r}, thresholds=({shown}), scale={self.scale:.6g})"
        )

    def __str__(self) -> str:
        first, *later = (repr(self.actions[a]) for a in self.order)
        ends = list(map(show_threshold, self.thresholds))
        parts = [f"{first} below {ends[0]}" if ends else f"{first} always"]
        parts += [f"{name} from {end}" for name, end in zip(later, ends, strict=True)]
        never = f"; never {', '.join(map(repr, self.dominated))}" if self.dominated else ""
        return f"{len(self.actions)} actions, {self.scale:.6g} at stake: {', '.join(parts)}{never}."


def action_index(actions: tuple[str, ...], action: Any) -> NDArray[np.intp]:
    """Return the index of each of these actions, which are given by name."""
    names = np.asarray(action, dtype=object)
    for name in names.ravel():
        if name not in actions:
            raise InputError(
                f"action must be one of {', '.join(map(repr, actions))}; it is {name!r}"
            )
    return np.array([actions.index(name) for name in names.ravel()], np.intp).reshape(names.shape)


def best_swaps(
    task: FiniteTask | CaseTask | ClassTask,
    payoffs: Floats,
    mass: Floats,
    weight: Floats,
    total: float,
    per: Per,
) -> tuple[float, tuple[ActionSwap, ...]]:
    """Find the best replacement of each action, or of each group: those that save anything, and
    what they save.

    `mass` is by action taken, group and outcome, for the payoffs to be multiplied with; `weight` is
    that of the rows.
    """
    scale = task.scale
    change = payoffs[None] - payoffs[:, None]  # from action a to action b, by outcome
    # Shares, not weights: heavy rows times large payoffs would be too large for a double.
    terms = (mass / total) * change
    gain = terms.sum(axis=2)
    real = gain > _ROUNDING * np.abs(terms).sum(axis=2)
    # Per action the best of all; per prediction a group is that of the action best there.
    pairs = (
        enumerate(gain.argmax(axis=1).tolist())
        if per == "action"
        else zip(*np.nonzero(real), strict=True)
    )
    found = []
    for a, b in pairs:
        if real[a, b]:
            saved, rows = float(gain[a, b]), float(weight[a, 0 if per == "action" else b].sum())
            swap = ActionSwap(
                action=task.actions[a],
                replacement=task.actions[b],
                saves=saved / scale,
                in_units=saved,
                weight=rows,
                share=rows / total,
            )
            found.append(swap)
    swaps = tuple(sorted(found, key=lambda swap: -swap.saves))
    return math.fsum(swap.saves for swap in swaps), swaps


def _asked(task: FiniteTask | CaseTask, response: Any, p: Floats) -> Floats:
    """Ask a response for its probabilities of each action at these predictions, and check them."""
    if not callable(getattr(response, "probabilities", None)):
        raise InputError(
            f"response must be an object with a method probabilities(p); it is {response!r}"
        )
    theirs = getattr(response, "task", task)
    if isinstance(theirs, DecisionTask) and theirs.actions != task.actions:
        raise InputError(
            f"response must choose among the task's actions {task.actions}; its task has {theirs.actions}"
        )
    taken = as_numbers(response.probabilities(p), "response.probabilities")
    if taken.shape != (len(p), len(task.actions)):
        raise InputError(
            f"response.probabilities must give shape {(len(p), len(task.actions))}: a row for each prediction, a "
            f"column for each action; it gives {taken.shape}"
        )
    bad = np.flatnonzero(~((taken >= 0).all(axis=1) & (np.abs(taken.sum(axis=1) - 1) <= _SURE)))
    if bad.size:
        rule = "response.probabilities must be probabilities that add up to 1"
        raise InputError.from_offenders(
            rule, bad.size, f"at p = {p[bad[0]]}", taken[bad[0]].tolist()
        )
    return taken


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


class CaseTask(DecisionTask):
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
        taken = np.eye(2)[own.best_index(prob)] if response is None else _asked(own, response, prob)
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


_ONE_COST = "needs costs that are the same in every case: this task has those of each"


def as_finite(task: DecisionTask, what: str) -> FiniteTask:
    """Accept a task with a list of actions whose payoffs are the same in every case."""
    if isinstance(task, CaseTask):
        raise InputError(f"{what} {_ONE_COST}")
    if not isinstance(task, FiniteTask):
        raise InputError(f"{what} needs a task with a list of actions; it is {task!r}")
    return task


def as_two_actions(task: DecisionTask, what: str) -> FiniteTask | CaseTask:
    """Accept a task with two actions, of which either is best at some probability."""
    if not isinstance(task, FiniteTask | CaseTask) or len(task.order) != 2:
        raise InputError(f"{what} needs a task with two actions; it is {task!r}")
    return task


def expected_gain(task: FiniteTask | CaseTask, p: Floats) -> Floats:
    """What the second action is expected to gain over the first in each case, if the probabilities
    are right.
    """
    change = task.by_case[task.order[-1]] - task.by_case[task.order[0]]
    found: Floats = (1 - p) * change[0] + p * change[1]
    return found


_SHOWN = 100  # swaps that are kept


class QuadraticTask(DecisionTask):
    """The decision to state a number a in [0, 1], with payoff ``1 - (a - y)**2``; see
    `DecisionTask.quadratic`.
    """

    task: ClassVar[str] = "quadratic"
    actions = ()
    thresholds = ()

    @property
    def scale(self) -> float:
        """What is at stake: 1."""
        return 1.0

    def best_response(self, p: ArrayLike) -> Any:
        """Return the probabilities themselves."""
        return check_probabilities(p, "p")[()]

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return ``1 - (action - y)**2``; arrays of both are broadcast."""
        stated = check_probabilities(action, "action")
        return 1 - (stated - match_outcomes(stated, y)) ** 2

    @classmethod
    def _from_dict(cls, _data: Mapping[str, Any]) -> QuadraticTask:
        return cls()

    def _choices(self, p: Floats) -> NDArray[Any]:
        return p

    def _decode(self, choices: NDArray[Any]) -> NDArray[Any]:
        return choices

    def _swaps(
        self, sample: Sample, _per: Per, response: Any
    ) -> tuple[float, tuple[ActionSwap, ...]]:
        """Each distinct prediction is an action, best replaced by its event rate, per action and
        per prediction.
        """
        if response is not None:
            raise InputError(f"response needs a task with a list of actions; it is {self!r}")
        table = sample.distinct()
        weight = table.negative + table.positive
        best = table.positive / weight
        saves = weight * (table.prob - best) ** 2 / sample.total_weight
        first = np.argsort(-saves, kind="stable")[:_SHOWN]
        columns = (column[first].tolist() for column in (table.prob, best, saves, weight))
        swaps = tuple(
            ActionSwap(
                action=p,
                replacement=q,
                saves=saved,
                in_units=saved,
                weight=w,
                share=w / sample.total_weight,
            )
            for p, q, saved, w in zip(*columns, strict=True)
            if saved > 0
        )
        return float(saves.sum()), swaps

    def __repr__(self) -> str:
        return "DecisionTask.quadratic()"

    def __str__(self) -> str:
        return (
            "The action is a number in [0, 1], 1 at stake: its payoff is 1 - (action - outcome)^2."
        )


def check_task(task: object) -> DecisionTask:
    """Accept a task about one event."""
    if getattr(task, "task", None) == "classes":
        raise InputError(
            f"task must be about one event here: of several classes use task.best_response; it is {task!r}"
        )
    if not isinstance(task, DecisionTask):
        raise InputError(f"task must be a DecisionTask; it is {task!r}")
    return task
