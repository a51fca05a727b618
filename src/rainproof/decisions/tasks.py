"""Decision tasks: the actions of a decision, and what each is worth with the event and without it.

Here are what all kinds of task have in common, and the kinds whose payoffs are the same in every
case. Costs of each case are in `case_tasks`, several classes in `class_tasks`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.alignment import check_aligned
from rainproof.core.arrays import Floats
from rainproof.core.conversion import as_numbers, is_number
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.validation import check_probabilities
from rainproof.decisions.action_swaps import ActionSwap, BestSwaps, Per, best_swaps
from rainproof.decisions.payoffs import (
    action_index,
    action_names,
    as_rows,
    check_envelope,
    check_matrix,
    check_names,
    upper_envelope,
)
from rainproof.decisions.profiles import MatrixPayoffs, TaskProfile, single_threshold
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.decisions.case_tasks import CaseTask


def decision_with(thresholds: Sequence[float]) -> str:
    """Describe a decision by its thresholds: "a decision with threshold 0.2 (a miss costs 4 times a
    false alarm)".
    """
    shown = [show_threshold(threshold) for threshold in thresholds]
    if len(shown) == 1:
        return f"a decision with threshold {shown[0]}{_cost_ratio(thresholds[0])}"
    return f"a decision among {len(shown) + 1} actions with thresholds {' and '.join(shown)}"


def show_threshold(threshold: float) -> str:
    """Format a threshold; it may lie a last bit beside the prediction that it stands for."""
    return f"{round(threshold, 12):.4g}"


def _cost_ratio(threshold: float) -> str:
    """Say how the costs of the two errors compare; empty where one of them costs nothing.

    A false alarm costs the threshold, a miss 1 minus it.
    """
    if not 1e-12 < threshold < 1 - 1e-12:  # 0 or 1, but for the last digits
        return ""
    ratio = threshold / (1 - threshold)
    if 0.98 < ratio < 1.02:  # as much, in the two digits that are printed
        return " (a false alarm costs as much as a miss)"
    if ratio > 1:
        return f" (a false alarm costs {ratio:.2g} times a miss)"
    return f" (a miss costs {1 / ratio:.2g} times a false alarm)"


_WAIT_OR_ACT = ("wait", "act")


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
    There are three kinds of tasks about one event: `FiniteTask` has a list of actions, `CaseTask`
    two actions with costs of each case, `QuadraticTask` all numbers in [0, 1]. To add another,
    write a subclass that implements the abstract methods below, add it to the list in `from_dict`,
    and give it a constructor here.

    References
    ----------
    arXiv:2605.17749, Section 1.1 (tasks and best response); Section 9 has
    ``DecisionTask.threshold(0.35)``.

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
    task: ClassVar[str]  # the name of the kind, as in files
    per_case: ClassVar[bool] = False  # whether the payoffs differ from case to case

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
        *unnamed: Any,
        false_positive: Any,
        false_negative: Any,
        actions: Sequence[str] = _WAIT_OR_ACT,
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
        columns = {}  # of the costs that differ from case to case
        for name, cost in costs.items():
            if hasattr(cost, "__len__") and not isinstance(cost, str):
                columns[name] = cost
            elif not is_number(cost) or not 0 < cost < math.inf:
                raise InputError(f"{name} must be a positive, finite cost; it is {cost!r}")
        if columns:
            from rainproof.decisions.case_tasks import CaseTask, case_costs

            names = check_names(actions, 2)
            return CaseTask(actions=names, _costs=case_costs(costs, columns), _columns=columns)
        # Waiting costs a miss if the event happens, acting a false alarm if it does not.
        payoffs = [[0.0, -false_negative], [-false_positive, 0.0]]
        return DecisionTask.from_payoffs(payoffs, actions=actions)

    @staticmethod
    def threshold(threshold: float, *, actions: Sequence[str] = _WAIT_OR_ACT) -> FiniteTask:
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
        >>> plans = ["go out", "take an umbrella", "stay in"]
        >>> print(rainproof.DecisionTask.from_payoffs(payoffs, actions=plans))
        3 actions, 80 at stake: 'go out' below 0.1071, 'take an umbrella' from 0.1071,
        'stay in' from 0.4444.
        """
        matrix = check_matrix(payoffs, classes=True)
        if actions is None:
            actions = _numbered_actions(len(matrix))
        names = check_names(actions, len(matrix))
        if matrix.shape[1] > 2:
            from rainproof.decisions.class_tasks import ClassTask

            return ClassTask(actions=names, payoffs=as_rows(matrix))  # type: ignore[return-value]
        order, thresholds = upper_envelope(matrix)
        return FiniteTask(
            actions=names, payoffs=as_rows(matrix), order=order, thresholds=thresholds
        )

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
        >>> task = rainproof.DecisionTask.from_cost_matrix(
        ...     [[0, 9], [1, 0]], actions=["wait", "act"], abstain=0.5
        ... )
        >>> print(task)
        3 actions, 9 at stake: 'wait' below 0.05556, 'abstain' from 0.05556, 'act' from 0.5.
        """
        # Subtracted from 0, so that no cost is a payoff of 0 and not of -0.
        payoffs = 0.0 - check_matrix(costs, "costs", classes=True)
        names = _numbered_actions(len(payoffs)) if actions is None else list(actions)
        if abstain is not None:
            if not is_number(abstain) or not math.isfinite(abstain):
                raise InputError(f"abstain must be a finite cost; it is {abstain!r}")
            payoffs = np.vstack([payoffs, np.full(payoffs.shape[1], -abstain)])
            names = [*names, "abstain"]
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
        from rainproof.decisions.case_tasks import CaseTask
        from rainproof.decisions.class_tasks import ClassTask

        kinds: list[Any] = [FiniteTask, QuadraticTask, CaseTask, ClassTask]
        name = None
        if isinstance(data, Mapping):
            name = data.get("task")
        for kind in kinds:
            if kind.task == name:
                task: DecisionTask = kind.from_content(data)
                return task
        names = " or ".join(repr(kind.task) for kind in kinds)
        raise InputError(f"a task must be a dict with 'task' either {names}; it has {name!r}")

    @property
    @abstractmethod
    def scale(self) -> float:
        """What is at stake (see Attributes)."""

    @property
    @abstractmethod
    def profile(self) -> TaskProfile:
        """What distinguishes this decision from those of other kinds."""

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
    def from_content(cls, data: Mapping[str, Any]) -> DecisionTask:
        """Read what `to_dict` of this kind of task wrote; `from_dict` finds the kind."""

    @abstractmethod
    def action_codes(self, p: Floats) -> NDArray[Any]:
        """Encode the best action at each probability, as a policy stores it; `decode` reads the
        codes.
        """

    @abstractmethod
    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the actions that `action_codes` encoded."""

    @abstractmethod
    def find_swaps(self, sample: Sample, per: Per, response: Any) -> BestSwaps:
        """Compute the swap regret as a share of `scale`, and the swaps that would have saved it."""

    def check_aligned(self, *columns: tuple[str, Any]) -> None:
        """Refuse columns, with their names, whose rows are labelled differently from one another,
        or from the costs of each case.
        """
        check_aligned(*columns)

    def add_costs(self, sample: Sample, *_columns: tuple[str, Any]) -> Sample:
        """Return the sample with the costs of each case beside its rows, if the task has any.

        The columns are what the caller made the sample of, with their names: their rows must be
        labelled as those of the costs.
        """
        return sample

    def for_rows(self, _sample: Sample) -> Self:
        """Return the task for the rows of a sample: with the costs that stand beside them, if the
        task has costs of each case.
        """
        return self

    def case_stakes(self, _sample: Sample) -> tuple[Floats, Floats] | None:
        """Return the threshold of each row of a sample, and what a false alarm and a miss cost
        there together; None where these are the same in every case.
        """
        return None


def _numbered_actions(count: int) -> list[str]:
    """Return the names of actions that were given none."""
    return [f"action {number}" for number in range(count)]


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


_BLOCK = 1 << 16  # predictions for which a response is asked together
_SUM_TOLERANCE = 1e-9  # by which the probabilities of a response may miss a sum of 1


def response_probabilities(task: ListedTask, response: Any, p: Floats) -> Floats:
    """Ask a response for its probabilities of each action at these predictions, and check them."""
    if not callable(getattr(response, "probabilities", None)):
        raise InputError(
            f"response must be an object with a method probabilities(p); it is {response!r}"
        )
    its_task = getattr(response, "task", None)
    if isinstance(its_task, DecisionTask) and its_task.actions != task.actions:
        raise InputError(
            f"response must choose among the task's actions {task.actions}; "
            f"its task has {its_task.actions}"
        )
    prob = as_numbers(response.probabilities(p), "response.probabilities")
    shape = (len(p), len(task.actions))
    if prob.shape != shape:
        raise InputError(
            f"response.probabilities must give shape {shape}: a row for each prediction, "
            f"a column for each action; it gives {prob.shape}"
        )
    valid = (prob >= 0).all(axis=1) & (np.abs(prob.sum(axis=1) - 1) <= _SUM_TOLERANCE)
    bad = np.flatnonzero(~valid)
    if bad.size:
        rule = "response.probabilities must be probabilities that add up to 1"
        place = f"at p = {p[bad[0]]}"
        raise InputError.from_offenders(rule, bad.size, place, prob[bad[0]].tolist())
    return prob


class ListedTask(DecisionTask):
    """A decision with a list of actions, of which some are best at some probability."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def order(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def by_case(self) -> Floats:
        """The payoffs as an array of shape (actions, 2, cases): by action, outcome and case.

        There is one case where the payoffs are the same in all.
        """

    @abstractmethod
    def best_index(self, p: ArrayLike) -> NDArray[np.intp]:
        """Return the index in `actions` of the best action at each probability."""

    def best_response(self, p: ArrayLike) -> Any:
        """Return the name of the best action at each probability; of a single one, one name."""
        return action_names(self.actions, self.best_index(p))

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the names of the actions that `action_codes` encoded."""
        return np.take(np.array(self.actions), codes, mode="clip")  # all codes are in range


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class FiniteTask(MatrixPayoffs, ListedTask):
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
    The expected payoff of an action is a line in p; the best response follows the upper envelope of
    the lines. Ties go to the action that is best at higher p (at p = 1, at lower p). An action that
    is best nowhere, or at single probabilities only, is never chosen: see `dominated`. Of actions
    with equal payoffs only the first is chosen.
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
    def profile(self) -> TaskProfile:
        """What distinguishes this decision from those of other kinds."""
        actions = len(self.order)
        return TaskProfile(
            threshold=single_threshold(self.thresholds),
            actions=actions,
            ranked=actions == 2,
            fixed=actions > 2,
        )

    @property
    def dominated(self) -> tuple[str, ...]:
        """The actions that are never chosen: at every probability another is at least as good."""
        chosen = set(self.order)
        return tuple(name for index, name in enumerate(self.actions) if index not in chosen)

    @property
    def by_case(self) -> Floats:
        """The payoffs as an array of shape (k, 2, 1): by action, outcome and case, here the same in
        all.
        """
        return self.matrix[:, :, None]

    def best_index(self, p: ArrayLike) -> NDArray[np.intp]:
        """Return the index in `actions` of the best action at each probability."""
        place = np.searchsorted(np.array(self.thresholds), check_probabilities(p, "p"), "right")
        return np.asarray(np.array(self.order)[place])

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return the payoff of an action, by name, when the outcome is `y`; arrays of both are
        broadcast.
        """
        outcome = match_outcomes(np.asarray(action, dtype=object), y)
        index = action_index(self.actions, action)
        return self.matrix[index, outcome.astype(np.intp)]

    @classmethod
    def from_content(cls, data: Mapping[str, Any]) -> FiniteTask:
        """Read what `to_dict` wrote."""
        for key in ("actions", "payoffs", "order", "thresholds"):
            if not isinstance(data.get(key), list):
                raise InputError(f"a task of actions must have the list {key!r}")
        matrix = check_matrix(data["payoffs"])
        return cls(
            actions=check_names(data["actions"], len(matrix)),
            payoffs=as_rows(matrix),
            order=tuple(data["order"]),
            thresholds=tuple(data["thresholds"]),
        )

    def action_codes(self, p: Floats) -> NDArray[Any]:
        """Encode the best action at each probability by its index, in a byte if that is enough."""
        return self.best_index(p).astype(np.uint8 if len(self.actions) <= 256 else np.intp)

    def find_swaps(self, sample: Sample, per: Per, response: Any) -> BestSwaps:
        """Find the best replacement of each action taken, or of each group."""
        mass = self._masses(sample.distinct(), response, per)
        return best_swaps(self, self.matrix, mass, mass, sample.total_weight, per)

    def _masses(self, table: DistinctTable, response: Any, per: Per) -> Floats:
        """Sum the weight without and with the event by action taken (per prediction, also by the
        action best there).
        """
        actions = len(self.actions)
        groups = actions if per == "prediction" else 1
        mass = np.zeros((actions, groups, 2))
        for start in range(0, len(table.prob), _BLOCK):
            block = slice(start, start + _BLOCK)
            prob = table.prob[block]
            outcomes = np.stack([table.negative[block], table.positive[block]], axis=1)
            # Hindsight knows the event rate at each prediction, and groups it by the best action.
            group = np.zeros(len(prob), np.intp)
            if per == "prediction":
                group = self.best_index(outcomes[:, 1] / outcomes.sum(axis=1))
            if response is None:
                np.add.at(mass, (self.best_index(prob), group), outcomes)
                continue
            # A random response takes each action with a share of the weight.
            taken = response_probabilities(self, response, prob)
            for number in range(groups):
                taken_in_group = taken * (group == number)[:, None]
                mass[:, number] += taken_in_group.T @ outcomes
        return mass

    def __repr__(self) -> str:
        thresholds = ", ".join(map(show_threshold, self.thresholds))
        if len(self.thresholds) == 1:
            thresholds += ","
        return (
            f"DecisionTask(actions={self.actions!r}, thresholds=({thresholds}), "
            f"scale={self.scale:.6g})"
        )

    def __str__(self) -> str:
        first, *later = [repr(self.actions[index]) for index in self.order]
        shown = [show_threshold(threshold) for threshold in self.thresholds]
        ranges = [f"{first} below {shown[0]}"] if shown else [f"{first} always"]
        for name, threshold in zip(later, shown, strict=True):
            ranges.append(f"{name} from {threshold}")
        text = f"{len(self.actions)} actions, {self.scale:.6g} at stake: {', '.join(ranges)}"
        if not self.dominated:
            return f"{text}."
        return f"{text}; never {', '.join(map(repr, self.dominated))}."


def if_listed(task: DecisionTask | None) -> ListedTask | None:
    """Return the task if it has a list of actions, whose costs can be estimated; else None."""
    if isinstance(task, ListedTask):
        return task
    return None


def as_listed(task: DecisionTask, what: str) -> ListedTask:
    """Accept a task with a list of actions."""
    if not isinstance(task, ListedTask):
        raise InputError(f"{what} needs a task with a list of actions; it is {task!r}")
    return task


def as_finite(task: DecisionTask, what: str) -> FiniteTask:
    """Accept a task with a list of actions whose payoffs are the same in every case."""
    listed = as_listed(task, what)
    if not isinstance(listed, FiniteTask):
        raise InputError(
            f"{what} needs costs that are the same in every case: this task has those of each"
        )
    return listed


def as_two_actions(task: DecisionTask, what: str) -> ListedTask:
    """Accept a task with two actions, of which either is best at some probability."""
    if not isinstance(task, ListedTask) or len(task.order) != 2:
        raise InputError(f"{what} needs a task with two actions; it is {task!r}")
    return task


def expected_gain(task: ListedTask, p: Floats) -> Floats:
    """Return what the second action is expected to gain over the first in each case, if the
    probabilities are right.
    """
    first = task.order[0]
    second = task.order[-1]
    without_event, with_event = task.by_case[second] - task.by_case[first]
    gain: Floats = (1 - p) * without_event + p * with_event
    return gain


_MOST_SWAPS = 100  # that a quadratic task returns: each distinct prediction has one


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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

    @property
    def profile(self) -> TaskProfile:
        """What distinguishes this decision from those of other kinds."""
        return TaskProfile()

    def best_response(self, p: ArrayLike) -> Any:
        """Return the probabilities themselves."""
        return check_probabilities(p, "p")[()]

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return ``1 - (action - y)**2``; arrays of both are broadcast."""
        stated = check_probabilities(action, "action")
        return 1 - (stated - match_outcomes(stated, y)) ** 2

    @classmethod
    def from_content(cls, _data: Mapping[str, Any]) -> QuadraticTask:
        """Return the task: there is only one of this kind."""
        return cls()

    def action_codes(self, p: Floats) -> NDArray[Any]:
        """Return the probabilities themselves, which are the actions."""
        return p

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the codes themselves."""
        return codes

    def find_swaps(self, sample: Sample, _per: Per, response: Any) -> BestSwaps:
        """Each distinct prediction is an action, best replaced by its event rate, per action and
        per prediction.
        """
        if response is not None:
            raise InputError(f"response needs a task with a list of actions; it is {self!r}")
        table = sample.distinct()
        weight = table.negative + table.positive
        event_rate = table.positive / weight
        saved = weight * (table.prob - event_rate) ** 2 / sample.total_weight
        swaps = []
        # The largest first; all of them count, but thousands would not be read.
        for row in np.argsort(-saved, kind="stable")[:_MOST_SWAPS].tolist():
            if saved[row] > 0:
                swap = ActionSwap(
                    action=float(table.prob[row]),
                    replacement=float(event_rate[row]),
                    saves=float(saved[row]),
                    in_units=float(saved[row]),
                    weight=float(weight[row]),
                    share=float(weight[row]) / sample.total_weight,
                )
                swaps.append(swap)
        return float(saved.sum()), tuple(swaps)

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
            "task must be about one event here: of several classes use task.best_response; it is "
            f"{task!r}"
        )
    if not isinstance(task, DecisionTask):
        raise InputError(f"task must be a DecisionTask; it is {task!r}")
    return task
