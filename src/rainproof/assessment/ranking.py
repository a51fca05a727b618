"""Which of several forecasts? What each costs, and what anybody gains and loses by switching between every two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rainproof.assessment.costs import Cost, mean_cost, paid, simple_actions
from rainproof.assessment.result import Assessment
from rainproof.assessment.verdict import Verdict
from rainproof.core.arrays import Floats
from rainproof.core.sample.sample import Sample
from rainproof.core.shown import Shown
from rainproof.core.text import aligned, at_least, at_most, finite
from rainproof.decisions.finite_task import FiniteTask
from rainproof.decisions.task import DecisionTask
from rainproof.inference.discrimination import auroc
from rainproof.inference.forecasts import Forecasts
from rainproof.inference.switching import SwitchGuarantee
from rainproof.measures.scores import brier_score, log_score


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing(Shown):
    """One of several forecasts, on all rows as it is.

    Attributes
    ----------
    name, grade : str
        The forecast, and the grade of its verdict.
    cost : Cost or None
        The cost per case of the user's own decision; None without a decision, or if it has no list of actions.
    cost_recalibrated : Cost or None
        The same on the recalibrated forecast, as in `TaskResult`.
    brier_score, log_score : float
        Proper scores: lower is better.
    auroc : float or None
        The area under the ROC curve (discrimination): 0.5 is noise, 1 is perfect. None if all outcomes are the same.
    """

    name: str
    grade: str
    cost: Cost | None
    cost_recalibrated: Cost | None
    brier_score: float
    log_score: float
    auroc: float | None

    @classmethod
    def of(cls, a: Assessment, sample: Sample, rows: Forecasts, task: DecisionTask | None) -> Standing:
        """Compute the costs and scores of a forecast."""
        cost = None
        if isinstance(task, FiniteTask):
            cost = mean_cost(_costs(task, rows), -task.matrix, rows, a.confidence_level)
        return cls(
            name=str(a.name),
            grade=a.verdict.grade,
            cost=cost,
            cost_recalibrated=None if a.task is None else a.task.cost_recalibrated,
            brier_score=brier_score(sample),
            log_score=log_score(sample),
            auroc=auroc(sample),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "grade": self.grade,
            "cost": self.cost and self.cost.to_dict(),
            "cost_recalibrated": self.cost_recalibrated and self.cost_recalibrated.to_dict(),
            "brier_score": self.brier_score,
            "log_score": finite(self.log_score),
            "auroc": self.auroc,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceCost(Shown):
    """A rule that needs no forecast, for comparison.

    Attributes
    ----------
    name : {"always act", "never act", "perfect foresight"}
        The rule.
    cost : Cost
        The cost per case of the user's own decision, on the same rows as that of the forecasts.
    """

    name: str
    cost: Cost

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "cost": self.cost.to_dict()}


_REFERENCES = {"always act": "cost_always", "never act": "cost_never", "perfect foresight": "cost_perfect"}


def references(task: DecisionTask | None, rows: Forecasts, confidence_level: float) -> tuple[ReferenceCost, ...]:
    """What always and never acting, and perfect foresight, cost; nothing if the decision has no list of actions."""
    if not isinstance(task, FiniteTask):
        return ()
    actions = simple_actions(task, rows)
    found = {
        name: mean_cost(paid(task, actions[rule], rows), -task.matrix, rows, confidence_level)
        for name, rule in _REFERENCES.items()
    }
    return tuple(ReferenceCost(name=name, cost=cost) for name, cost in found.items() if cost is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair(Shown):
    """Two forecasts compared. The intervals of all pairs hold at once, and so do all bounds on switches.

    Attributes
    ----------
    a, b : str
        The names of the forecasts.
    cost_difference : Cost or None
        The cost of a minus that of b per case, with an approximate interval, on the same rows where they are.
    to_b, to_a : SwitchGuarantee or None
        What anybody loses and gains by switching from a to b, and from b to a. None on different rows.
    """

    a: str
    b: str
    cost_difference: Cost | None
    to_b: SwitchGuarantee | None
    to_a: SwitchGuarantee | None

    @property
    def better(self) -> str | None:
        """The better forecast: the one that costs less, if there are costs; else the one to switch to.

        None if the interval contains 0, or if it is not proven that somebody gains more than anybody loses.
        """
        if self.cost_difference is not None:
            low, high = self.cost_difference.low, self.cost_difference.high
            return self.a if high < 0 else self.b if low > 0 else None
        return self.b if _proven(self.to_b) else self.a if _proven(self.to_a) else None

    def __str__(self) -> str:
        switches = [_switch(x, y, s) for x, y, s in ((self.a, self.b, self.to_b), (self.b, self.a, self.to_a)) if s]
        return " ".join([*self._cost_words(), *(switches or [f"{self.a} and {self.b} are on different rows."])])

    def _cost_words(self) -> list[str]:
        cost = self.cost_difference
        if cost is None:
            return []
        if self.better is None:
            return [
                f"{self.a} and {self.b} do not differ in cost beyond chance: the difference is {cost.mean:.4g} per "
                f"case ({cost.low:.4g} to {cost.high:.4g})."
            ]
        less, more = (self.a, self.b) if self.better == self.a else (self.b, self.a)
        low, high = sorted((abs(cost.low), abs(cost.high)))
        return [f"{less} costs {abs(cost.mean):.4g} less per case than {more} ({low:.4g} to {high:.4g})."]

    def to_dict(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "cost_difference": self.cost_difference and self.cost_difference.to_dict(),
            "to_b": self.to_b and _bounds(self.to_b),
            "to_a": self.to_a and _bounds(self.to_a),
            "better": self.better,
            "text": str(self),
        }


def _bounds(found: SwitchGuarantee) -> dict[str, Any]:
    names = ("harm", "gain", "harm_bound", "gain_at_least", "confidence_level")
    return {name: getattr(found, name) for name in names}


def _proven(found: SwitchGuarantee | None) -> bool:
    """Whether somebody provably gains more by a switch than anybody loses."""
    return found is not None and found.gain_at_least is not None and found.gain_at_least > found.harm_bound


def _switch(old: str, new: str, found: SwitchGuarantee) -> str:
    gain = (
        f"some decision gains at least {at_least(found.gain_at_least)} of what is at stake"
        if found.gain_at_least
        else "no gain is proven"
    )
    return f"From {old} to {new}: {gain}, none loses more than {at_most(found.harm_bound)}."


def cost_difference(
    task: DecisionTask | None, a: Forecasts, b: Forecasts, confidence_level: float, *, paired: bool
) -> Cost | None:
    """The cost of a minus that of b, row by row where the rows are the same."""
    if not isinstance(task, FiniteTask):
        return None
    one, other = _costs(task, a), _costs(task, b)
    if paired:
        most = float(np.ptp(task.matrix, axis=0).max())
        return mean_cost(one - other, np.array([-most, most]), a, confidence_level)
    found = [mean_cost(cost, -task.matrix, rows, confidence_level) for cost, rows in ((one, a), (other, b))]
    if found[0] is None or found[1] is None:
        return None
    mean = found[0].mean - found[1].mean
    half = math.hypot(*(max(cost.high - cost.mean, cost.mean - cost.low) for cost in found if cost is not None))
    return Cost(mean=mean, low=mean - half, high=mean + half)


def _costs(task: FiniteTask, rows: Forecasts) -> Floats:
    """The cost of each row, if the action is taken that is best should the probability be right."""
    return paid(task, task.best_index(rows.prob), rows)


def ranked(standings: tuple[Standing, ...], pairs: tuple[Pair, ...]) -> tuple[str, ...]:
    """The names from best to worst: by cost; without costs by proven switches, and then by the Brier score."""

    def place(one: Standing) -> tuple[float, float]:
        if one.cost is not None:
            return one.cost.mean, one.brier_score
        wins = sum(pair.better == one.name for pair in pairs)
        losses = sum(pair.better not in (None, one.name) for pair in pairs if one.name in (pair.a, pair.b))
        return losses - wins, one.brier_score

    return tuple(one.name for one in sorted(standings, key=place))


def _without_forecast(
    first: Standing, standings: tuple[Standing, ...], others: tuple[ReferenceCost, ...]
) -> str | None:
    """What to say if always or never acting costs no more than the cheapest forecast."""
    without = min(others[:2], key=lambda rule: rule.cost.mean, default=None)
    if without is None or first.cost is None or without.cost.mean > first.cost.mean:
        return None
    rule = "Always acting" if without.name == "always act" else "Never acting"
    known = [(one.cost_recalibrated.mean, one.name) for one in standings if one.cost_recalibrated is not None]
    cost, name = min(known, default=(math.inf, ""))
    better = f" Recalibrated, {name} costs {cost:.4g} (an estimate)." if cost < without.cost.mean else ""
    return (
        f"{rule} costs least on these rows, {without.cost.mean:.4g} per case: no forecast as it is gains you anything; "
        f"the cheapest is {first.name}, {first.cost.mean:.4g}.{better}"
    )


def headline(
    best: str | None, first: Standing, standings: tuple[Standing, ...], others: tuple[ReferenceCost, ...]
) -> str:
    """Which forecast, in a sentence; `first` is the first of the ranking, `others` are rules without a forecast."""
    names = [one.name for one in standings]
    if first.cost is not None:
        span = f"{first.cost.mean:.4g} per case"
        without = _without_forecast(first, standings, others)
        if without is not None:
            return without
        if best is not None:
            return f"For your costs the best of {len(names)} forecasts is {best}: {span}."
        return f"No forecast is proven to cost least; on these rows it is {first.name}, {span}."
    if best is not None:
        return (
            f"{best} is the best of {len(names)} forecasts: by switching to it some decision gains more than any loses."
        )
    rest = "the other" if len(names) == 2 else "all others"
    return f"No forecast is proven better than {rest} for all costs: state your costs to rank them."


def next_step(
    best: str | None, name: str, verdict: Verdict, standings: tuple[Standing, ...], others: tuple[ReferenceCost, ...]
) -> str | None:
    """What to do with the first forecast of the ranking; None if nothing tells it from the others."""
    own = next(one for one in standings if one.name == name)
    if best is None and own.cost is None:
        return None
    if _without_forecast(own, standings, others) is not None:
        return f"{name}: {verdict.next_step}"
    found = f"{name}: {verdict.headline} {verdict.next_step}"
    known = [(one.cost_recalibrated.mean, one.name) for one in standings if one.cost_recalibrated is not None]
    cost, other = min(known, default=(math.inf, ""))
    if own.cost is None or other == name or cost >= own.cost.mean:
        return found
    return f"{found} Recalibrated, {other} may cost less: {cost:.4g} per case (an estimate)."


def table(standings: tuple[Standing, ...], ranking: tuple[str, ...], others: tuple[ReferenceCost, ...]) -> str:
    """The standings as lines of text, best first, and below them the rules without a forecast."""
    by_name = {one.name: one for one in standings}
    shown = columns(standings)
    lines = [("forecast", *(head for head, _ in shown))]
    lines += [(name, *(show(by_name[name]) for _, show in shown)) for name in ranking]
    lines += [(f"({rule.name})", interval(rule.cost), *("" for _ in shown[1:])) for rule in others]
    return "\n".join(aligned(lines, left=1))


def interval(cost: Cost | None) -> str:
    """A cost with its interval."""
    return "" if cost is None else f"{cost.mean:.4g} ({cost.low:.4g} to {cost.high:.4g})"


def columns(standings: tuple[Standing, ...]) -> list[tuple[str, Any]]:
    """The columns of the table beside the names: heads, and how to show a cell; the cost comes first."""
    costs = [
        ("cost per case", lambda s: interval(s.cost)),
        ("recalibrated", lambda s: "" if s.cost_recalibrated is None else f"{s.cost_recalibrated.mean:.4g}"),
    ]
    return [
        *(costs if any(s.cost is not None for s in standings) else []),
        ("Brier", lambda s: f"{s.brier_score:.4g}"),
        ("log", lambda s: f"{s.log_score:.4g}"),
        ("AUROC", lambda s: "" if s.auroc is None else f"{s.auroc:.3f}"),
        ("grade", lambda s: s.grade),
    ]
