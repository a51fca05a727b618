"""What ``rainproof policy`` says about a policy: its guarantee, where it acts at random, and what both cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rainproof.cli.output import one_line
from rainproof.core.result import aligned, at_most, wrapped
from rainproof.decisions.policies import PolicyCost, RoundingPolicy
from rainproof.decisions.tasks import FiniteTask, show_threshold

_ROUNDING = 1e-9  # costs within this share of what is at stake count as equal


@dataclass(frozen=True, kw_only=True, slots=True)
class FinerGrid:
    """The next finer grid: its loss on these rows, and what the policy would cost on it."""

    grid: int
    loss: float
    cost: float

    def to_dict(self) -> dict[str, Any]:
        return {"grid": self.grid, "loss": self.loss, "cost": self.cost}


@dataclass(frozen=True, kw_only=True, slots=True)
class MadePolicy:
    """A policy between two actions, with its loss and its costs on the rows that it was made from."""

    policy: RoundingPolicy
    task: FiniteTask
    pooled: int | None  # the grid that the rows were compressed to, if they are many
    loss: float
    cost: PolicyCost
    finer: FinerGrid | None

    @property
    def between(self) -> tuple[float, float] | None:
        """The multiples of 1/grid around the threshold: the rounding decides what is done between them."""
        above = int(self.policy._choices.searchsorted(1))  # the first point where the second action is best
        # A threshold that is 0 in double precision has no point below it.
        return ((above - 1) / self.policy.grid, above / self.policy.grid) if above else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "grid": self.policy.grid,
            "loss": self.loss,
            "random_between": None if self.between is None else list(self.between),
            "cost": self.cost.to_dict(),
            "finer": None if self.finer is None else self.finer.to_dict(),
            "policy": self.policy.to_dict(),
        }

    def guarantee(self) -> str:
        """What the policy promises, on these rows: what rounding buys."""
        # Pooling to a finer grid changes no loss on this one, unless a map is applied in between.
        pooled = "" if self.pooled is None or self.policy.recalibration is None else f", pooled to 1/{self.pooled},"
        return (
            f"Grid 1/{self.policy.grid}: on these rows{pooled} no decision that rests on {self._probabilities} rounded "
            f"to it, whatever its costs, loses more than {at_most(self.loss)} of what is at stake per case "
            "(best minus worst outcome), compared with the best change of actions in hindsight."
        )

    def randomness(self, *, weighted: bool) -> str:
        """Where the action is random, and for how many of these rows."""
        if self.between is None:
            return "The rounding is random, but it changes no action at this threshold."
        low, high = self.between
        whose = "recalibrated probability" if self.policy.recalibration is not None else "probability"
        share = f"{100 * self.cost.random_share:.3g}% of these rows{' by weight' * weighted}"
        return (
            f"The rounding is random: a row with a {whose} between {low:.6g} and {high:.6g} may get either action, "
            f"depending on its id. That is {share}. All others get the action that the threshold says."
        )

    def cost_table(self) -> str:
        """The expected cost per case of the policy, without rounding, and of always doing the same."""
        miss, alarm = (self.task.matrix.max(axis=0) - self.task.matrix)[[0, 1], [1, 0]].tolist()
        named = {
            "this policy, on average over its rounding": self.cost.policy,
            f"{self._second} from {show_threshold(self.task.thresholds[0])} on, without rounding": self.cost.unrounded,
            **{f"always {_quoted(name)}": cost for name, cost in reversed(self.cost.always.items())},
        }
        lines = aligned([[f"  {name}", f"{cost:.4g}"] for name, cost in named.items()], left=1)
        pooled = "" if self.pooled is None else f" pooled to 1/{self.pooled}"
        units = f"a false alarm costs {alarm:g}, a miss {miss:g}"
        head = f"Cost per case on these rows{pooled}, an estimate for new ones ({units}):"
        return "\n".join([wrapped(head), *lines, ""])

    def price(self, grade: str | None) -> list[str]:
        """What rounding costs and buys, the way to round less, and what costs less."""
        extra, least = self.cost.policy - self.cost.unrounded, _ROUNDING * self.task.scale
        said = self._price(extra) if extra > least else [_no_price(extra, least)]
        name, alike = min(self.cost.always.items(), key=lambda item: item[1])
        if alike <= min(self.cost.policy, self.cost.unrounded) + least:
            said.append(f"Always {_quoted(name)} costs no more than either on these rows.")
        elif extra > least and grade == "use":
            start = show_threshold(self.task.thresholds[0])
            said.append(
                f"'rainproof assess' grades these probabilities \"use\" and recommends {self._second} from {start} on, "
                "which needs no policy. Use this policy if you need its guarantee."
            )
        return said

    def _price(self, extra: float) -> list[str]:
        said = [
            f"Rounding costs {extra:.4g} per case here. It buys the guarantee above, for every decision and against "
            "every change of actions; without rounding, 'rainproof assess' has one that covers corrections that "
            "keep the ranking only."
        ]
        if self.finer is not None:
            said.append(
                f"A finer grid rounds less, but its guarantee is no better: --grid {self.finer.grid} costs "
                f"{self.finer.cost:.4g} per case, with {at_most(self.finer.loss)} instead of {at_most(self.loss)}."
            )
        return said

    @property
    def _second(self) -> str:
        return _quoted(self.task.actions[1])

    @property
    def _probabilities(self) -> str:
        return "probabilities" if self.policy.recalibration is None else "the recalibrated probabilities"


def _no_price(extra: float, least: float) -> str:
    if extra >= -least:
        return "On these rows rounding costs nothing."
    chance = "If the probabilities are calibrated this is chance, as rounding cannot save on average."
    return f"On these rows rounding costs {-extra:.4g} per case less than no rounding. {chance}"


def _quoted(name: str) -> str:
    return one_line(repr(name))
