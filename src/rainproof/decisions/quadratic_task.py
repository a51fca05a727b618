"""The quadratic task: the action is a number in [0, 1], and being off costs the square."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.core.input.rows import check_probabilities
from rainproof.core.sample.sample import Sample
from rainproof.decisions.swap import Per, Response, Swap
from rainproof.decisions.task import DecisionTask, ThresholdMixture, match_outcomes
from rainproof.errors import InputError

_SHOWN = 100  # swaps that are kept


@dataclass(frozen=True, slots=True, repr=False)
class QuadraticTask(DecisionTask):
    """The decision to state a number a in [0, 1], with payoff ``1 - (a - y)**2``; see `DecisionTask.quadratic`."""

    kind: ClassVar[str] = "quadratic"
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

    def mixture(self) -> ThresholdMixture:
        """Return the mixture of all thresholds in equal parts."""
        return ThresholdMixture(threshold=np.zeros(0), weight=np.zeros(0), density=2.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the task in built-in types, ready for JSON; `DecisionTask.from_dict` reads it."""
        return {"task": self.kind}

    @classmethod
    def _from_dict(cls, _data: Mapping[str, Any]) -> QuadraticTask:
        return cls()

    def _choices(self, p: Floats) -> NDArray[Any]:
        return p

    def _decode(self, choices: NDArray[Any]) -> NDArray[Any]:
        return choices

    def _swaps(self, sample: Sample, _per: Per, response: Response | None) -> tuple[float, tuple[Swap, ...]]:
        """Each distinct prediction is an action, best replaced by its event rate, per action and per prediction."""
        if response is not None:
            raise InputError(f"response needs a task with a list of actions; it is {self!r}")
        table = sample._distinct_table()
        weight = table.negative + table.positive
        best = table.positive / weight
        saves = weight * (table.prob - best) ** 2 / sample.total_weight
        first = np.argsort(-saves, kind="stable")[:_SHOWN]
        columns = (column[first].tolist() for column in (table.prob, best, saves, weight))
        swaps = tuple(
            Swap(action=p, replacement=q, saves=saved, in_units=saved, weight=w, share=w / sample.total_weight)
            for p, q, saved, w in zip(*columns, strict=True)
            if saved > 0
        )
        return float(saves.sum()), swaps

    def __repr__(self) -> str:
        return "DecisionTask.quadratic()"

    def __str__(self) -> str:
        return "The action is a number in [0, 1], 1 at stake: its payoff is 1 - (action - outcome)^2."
