"""A task with a list of actions: a payoff for each with the event and without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, freeze
from rainproof.core.input.rows import as_numbers, check_probabilities
from rainproof.core.sample.distinct import DistinctTable
from rainproof.core.sample.sample import Sample
from rainproof.decisions.payoffs import check_envelope, check_matrix, check_names
from rainproof.decisions.swap import Per, Response, Swap
from rainproof.decisions.task import DecisionTask, ThresholdMixture, match_outcomes
from rainproof.decisions.text import show_threshold
from rainproof.errors import InputError

_BLOCK = 1 << 16  # predictions that a response is asked for together
_NAMED = 1 << 15  # rows whose actions are named together: what is made for them stays in the second cache
_SURE = 1e-9  # how far from 1 the probabilities of a response may add up
_ROUNDING = 8 * np.finfo(np.float64).eps  # a gain below this share of the terms it is the difference of is rounding


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class FiniteTask(DecisionTask):
    r"""A decision between finitely many actions; create one with `DecisionTask.from_costs` and its relatives.

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

    kind: ClassVar[str] = "actions"
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
        matrix = np.array(self.payoffs)
        freeze(matrix)
        return matrix

    @property
    def scale(self) -> float:
        """What is at stake: the largest payoff minus the smallest, for the outcome where this is larger."""
        return float(np.ptp(self.matrix, axis=0).max())

    @property
    def dominated(self) -> tuple[str, ...]:
        """The actions that are never chosen: at every probability another is at least as good."""
        return tuple(name for a, name in enumerate(self.actions) if a not in self.order)

    def best_response(self, p: ArrayLike) -> Any:
        """Return the name of the best action at each probability, or one name for one probability."""
        index = self.best_index(p)
        return self.actions[int(index)] if index.ndim == 0 else np.array(self.actions)[index]

    def best_index(self, p: ArrayLike) -> NDArray[np.intp]:
        """Return the index in `actions` of the best action at each probability."""
        place = np.searchsorted(np.array(self.thresholds), check_probabilities(p, "p"), "right")
        return np.asarray(np.array(self.order)[place])

    def payoff(self, action: Any, y: ArrayLike) -> Any:
        """Return the payoff of an action, by name, when the outcome is `y`; arrays of both are broadcast."""
        names = np.asarray(action, dtype=object)
        outcome = match_outcomes(names, y)
        index = np.array([self._index(name) for name in names.ravel()], np.intp).reshape(names.shape)
        return self.matrix[index, outcome.astype(np.intp)]

    def mixture(self) -> ThresholdMixture:
        """Return the thresholds, each weighted by the change of ``U(a, 1) - U(a, 0)`` there as a share of `scale`."""
        chosen = self.matrix[list(self.order)]
        weight = np.diff(chosen[:, 1] - chosen[:, 0]) / self.scale
        return ThresholdMixture(threshold=np.array(self.thresholds), weight=weight, density=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the task in built-in types, ready for JSON; `DecisionTask.from_dict` reads it."""
        return {
            "task": self.kind,
            "actions": list(self.actions),
            "payoffs": [list(row) for row in self.payoffs],
            "order": list(self.order),
            "thresholds": list(self.thresholds),
        }

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> FiniteTask:
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

    def _choices(self, p: Floats) -> NDArray[Any]:
        return self.best_index(p).astype(np.uint8 if len(self.actions) <= 256 else np.intp)

    def _decode(self, choices: NDArray[Any]) -> NDArray[Any]:
        labels = np.array(self.actions)
        out = np.empty(len(choices), labels.dtype)
        for start in range(0, len(choices), _NAMED):
            block = slice(start, start + _NAMED)
            np.take(labels, choices[block], out=out[block], mode="clip")  # checked already; 'raise' would copy
        return out

    def _swaps(self, sample: Sample, per: Per, response: Response | None) -> tuple[float, tuple[Swap, ...]]:
        mass = self._masses(sample._distinct_table(), response, per)
        swaps = self._best_swaps(mass, per, sample.total_weight)
        return math.fsum(swap.saves for swap in swaps), swaps

    def _masses(self, table: DistinctTable, response: Response | None, per: Per) -> Floats:
        """Sum the weight without and with the event by action taken (per prediction, also by the action best there)."""
        k = len(self.actions)
        mass = np.zeros((k, k if per == "prediction" else 1, 2))
        for start in range(0, len(table.prob), _BLOCK):
            block = slice(start, start + _BLOCK)
            outcomes = np.stack([table.negative[block], table.positive[block]], axis=1)
            best = self.best_index(outcomes[:, 1] / outcomes.sum(axis=1)) if per == "prediction" else 0
            group = np.broadcast_to(best, len(outcomes))
            if response is None:
                np.add.at(mass, (self.best_index(table.prob[block]), group), outcomes)
                continue
            taken = self._response(response, table.prob[block])
            for g in range(mass.shape[1]):
                mass[:, g] += (taken * (group == g)[:, None]).T @ outcomes
        return mass

    def _response(self, response: Response, p: Floats) -> Floats:
        """Ask a response for its probabilities of each action at these predictions, and check them."""
        if not callable(getattr(response, "probabilities", None)):
            raise InputError(f"response must be an object with a method probabilities(p); it is {response!r}")
        theirs = getattr(response, "task", self)
        if isinstance(theirs, DecisionTask) and theirs.actions != self.actions:
            raise InputError(
                f"response must choose among the task's actions {self.actions}; its task has {theirs.actions}"
            )
        taken = as_numbers(response.probabilities(p), "response.probabilities")
        if taken.shape != (len(p), len(self.actions)):
            raise InputError(
                f"response.probabilities must give shape {(len(p), len(self.actions))}: a row for each prediction, a "
                f"column for each action; it gives {taken.shape}"
            )
        bad = np.flatnonzero(~((taken >= 0).all(axis=1) & (np.abs(taken.sum(axis=1) - 1) <= _SURE)))
        if bad.size:
            rule = "response.probabilities must be probabilities that add up to 1"
            raise InputError.from_offenders(rule, bad.size, f"at p = {p[bad[0]]}", taken[bad[0]].tolist())
        return taken

    def _best_swaps(self, mass: Floats, per: Per, total: float) -> tuple[Swap, ...]:
        """Find the best replacement of each action taken, or of each group; those that save anything, best first."""
        payoffs = self.matrix
        change = payoffs[None] - payoffs[:, None]  # from action a to action b, by outcome
        # Shares, not weights: heavy rows times large payoffs would be too large for a double.
        terms = (mass / total)[:, :, None] * change[:, None]
        gain = terms.sum(axis=3)
        real = gain > _ROUNDING * np.abs(terms).sum(axis=3)
        best = gain.argmax(axis=2) if per == "action" else np.broadcast_to(np.arange(mass.shape[1]), mass.shape[:2])
        found = []
        for a, g in np.ndindex(mass.shape[:2]):
            if real[a, g, b := best[a, g]]:
                saved, weight = float(gain[a, g, b]), float(mass[a, g].sum())
                found.append(
                    Swap(
                        action=self.actions[a],
                        replacement=self.actions[b],
                        saves=saved / self.scale,
                        in_units=saved,
                        weight=weight,
                        share=weight / total,
                    )
                )
        return tuple(sorted(found, key=lambda swap: -swap.saves))

    def _index(self, name: Any) -> int:
        if name not in self.actions:
            raise InputError(f"action must be one of {', '.join(map(repr, self.actions))}; it is {name!r}")
        return self.actions.index(name)

    def __repr__(self) -> str:
        shown = ", ".join(map(show_threshold, self.thresholds)) + ("," if len(self.thresholds) == 1 else "")
        return f"DecisionTask(actions={self.actions!r}, thresholds=({shown}), scale={self.scale:.6g})"

    def __str__(self) -> str:
        first, *later = (repr(self.actions[a]) for a in self.order)
        ends = list(map(show_threshold, self.thresholds))
        parts = [f"{first} below {ends[0]}" if ends else f"{first} always"]
        parts += [f"{name} from {end}" for name, end in zip(later, ends, strict=True)]
        never = f"; never {', '.join(map(repr, self.dominated))}" if self.dominated else ""
        return f"{len(self.actions)} actions, {self.scale:.6g} at stake: {', '.join(parts)}{never}."


def as_finite(task: DecisionTask, what: str) -> FiniteTask:
    """Accept a task with a list of actions."""
    if not isinstance(task, FiniteTask):
        raise InputError(f"{what} needs a task with a list of actions; it is {task!r}")
    return task
