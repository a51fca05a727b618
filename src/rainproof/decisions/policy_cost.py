"""What a rounding policy costs on past rows, beside acting on the probabilities as they are and acting alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.core.grid.rounded import split
from rainproof.core.sample.sample import Sample
from rainproof.decisions.finite_task import as_finite
from rainproof.decisions.policy import RoundingPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyCost:
    """The expected cost per case of a policy on these rows, beside that of simpler ways to act.

    The cost of an action is its payoff below that of the best action for the outcome: for a task from costs, the cost
    of a false alarm or a miss. The numbers are those of these rows: estimates for new ones.

    Attributes
    ----------
    policy : float
        Of the policy, on average over its random rounding.
    unrounded : float
        Of the best action at each probability as it is (recalibrated first, if the policy does so).
    always : dict of str to float
        Of each action if it is taken in every case.
    random_share : float
        The share of the rows (of their weight) that can get either of two actions, depending on the rounding.
    """

    policy: float
    unrounded: float
    always: dict[str, float]
    random_share: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "unrounded": self.unrounded,
            "always": self.always,
            "random_share": self.random_share,
        }


def policy_cost(policy: RoundingPolicy, sample: Sample) -> PolicyCost:
    """Compute the costs per case; rows of a compressed sample count as equal to the mean of their cell."""
    task = as_finite(policy.task, "policy_cost")
    table = sample._distinct_table()
    total = table.negative.sum() + table.positive.sum()
    share = np.stack([table.negative, table.positive], axis=1) / total
    cost = (task.matrix.max(axis=0) - task.matrix).T  # by outcome and action
    paid = share @ cost  # by prediction and action
    unrounded, random = without_rounding(policy, table.prob)
    outcomes = np.array([table.negative.sum(), table.positive.sum()]) / total
    return PolicyCost(
        policy=float((policy.probabilities(table.prob) * paid).sum()),
        unrounded=float(np.take_along_axis(paid, unrounded[:, None], axis=1).sum()),
        always=dict(zip(task.actions, (outcomes @ cost).tolist(), strict=True)),
        random_share=float(share[random].sum()),
    )


def without_rounding(policy: RoundingPolicy, p: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the best action at each probability as it is, and whether the rounding decides between two actions."""
    task = as_finite(policy.task, "without_rounding")
    prob: Floats = p.astype(np.float64) if policy.recalibration is None else policy.recalibration.apply(p)
    cell, up = split(prob, policy.grid, soft=policy.rounding == "soft")
    below, above = policy._choices[cell], policy._choices[np.minimum(cell + 1, policy.grid)]
    return task.best_index(prob), (up > 0) & (below != above)
