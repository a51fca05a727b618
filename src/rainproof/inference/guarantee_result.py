"""The result of `guarantee`, and its sentences."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, freeze
from rainproof.core.text import at_most, percent

Method = Literal["adaptive", "hoeffding"]
Response = Literal["rounded", "as_is"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Guarantee:
    """An upper bound on the expected loss of everybody who acts on the predictions.

    Attributes
    ----------
    response : {"rounded", "as_is"}
        How they act: on predictions rounded at random, compared with the best fixed change of actions; or on
        predictions as they are, compared with the best fixed monotone recalibration of them.
    grid : int or None
        For "rounded" the grid to act on: round predictions at random, without bias, to multiples of ``1/grid``. For
        "as_is" None; if the sample is compressed its grid, as predictions are then rounded down to multiples of
        ``1/grid``.
    bound : float
        The upper bound on the expected loss in the population, as a share of the range of the payoffs.
    plug_in : float
        The loss on the sample, in hindsight: CDL(S_m), or CDL with monotone swaps.
    slack : float
        The allowance for chance: ``bound - plug_in``.
    hoeffding : float
        The bound by Hoeffding's inequality alone, at the same confidence, on its own best grid (if any). For
        comparison only: the confidence does not cover the smaller of the two, and it is for a fixed number of rows.
    method : {"adaptive", "hoeffding"}
        The inequality of `bound`.
    anytime : bool
        Whether the bound holds at every number of rows at once, together with all others computed so.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows of a group depend on each other.
    max_weight : float or None
        The largest weight that a row (with groups, a group) can have, if it was stated.
    effective_n : float
        The number of independent rows of equal weight that carry as much information.
    grids : ndarray of int
        The grids considered; none for "as_is". The bounds hold for all of them at once.
    bounds, plug_ins : ndarray of float
        The bound and the loss on the sample for each of them.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    response: Response
    grid: int | None
    bound: float
    plug_in: float
    hoeffding: float
    method: Method
    anytime: bool
    confidence_level: float
    n: int
    groups: int | None
    max_weight: float | None
    effective_n: float
    grids: NDArray[np.int64]
    bounds: Floats
    plug_ins: Floats
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self.grids, self.bounds, self.plug_ins)

    @property
    def slack(self) -> float:
        """The allowance for chance: ``bound - plug_in``."""
        return self.bound - self.plug_in

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON."""
        return {
            "result": "guarantee",
            "method": self.method,
            "anytime": self.anytime,
            "confidence_level": self.confidence_level,
            "response": self.response,
            "grid": self.grid,
            "bound": self.bound,
            "plug_in": self.plug_in,
            "slack": self.slack,
            "hoeffding": self.hoeffding,
            "n": self.n,
            "groups": self.groups,
            "max_weight": self.max_weight,
            "effective_n": self.effective_n,
            "grids": self.grids.tolist(),
            "bounds": self.bounds.tolist(),
            "plug_ins": self.plug_ins.tolist(),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        acts = [f"grid={self.grid}"] if self.response == "rounded" else [f"response={self.response!r}"]
        acts += [f"grid={self.grid}"] * (self.response == "as_is" and self.grid is not None)
        how = f"confidence_level={self.confidence_level:g}, method={self.method!r}, n={self.n}"
        how += ", anytime=True" * self.anytime
        return f"Guarantee(bound={self.bound:.6g}, {', '.join(acts)}, plug_in={self.plug_in:.6g}, {how})"

    def __str__(self) -> str:
        said = self._rounded() if self.response == "rounded" else self._as_is()
        return "\n".join([*said, self._assumption(), *self.warnings])

    def _rounded(self) -> tuple[str, str]:
        """What is promised, and what it means, to those who round."""
        promise = (
            f"With {percent(self.confidence_level)} confidence, the expected loss of everybody who acts on these "
            f"predictions, rounded at random to multiples of 1/{self.grid}, is at most {at_most(self.bound)} of what "
            "is at stake (their best minus their worst payoff)."
        )
        meaning = (
            "This holds for all decision makers at once, whatever their actions and payoffs. The loss is compared with "
            "the best fixed change of actions ('where I would do this, do that') that uses the rounded predictions. "
            f"On the {self.n:,} rows it is {self.plug_in:.2%}; {self.slack:.2%} is the allowance for chance."
        )
        return promise, meaning

    def _as_is(self) -> tuple[str, str]:
        """The same to those who do not."""
        used, them = (
            ("probabilities as they are", "them")
            if self.grid is None
            else (f"probabilities, rounded down to multiples of 1/{self.grid},", "the rounded probabilities")
        )
        promise = (
            f"With {percent(self.confidence_level)} confidence, the expected loss of everybody who acts on these "
            f"{used} is at most {at_most(self.bound)} of what is at stake (their best minus their worst "
            f"payoff), compared with any monotone recalibration of {them}."
        )
        meaning = (
            "This holds for all decision makers at once, whatever their actions and payoffs. A monotone "
            "recalibration is one fixed function of the probability that never falls. Corrections that reverse the "
            f"order of some probabilities are not covered. On the {self.n:,} rows the loss is {self.plug_in:.2%}, "
            f"compared with the best monotone recalibration in hindsight; {self.slack:.2%} is the allowance for chance."
        )
        return promise, meaning

    def _assumption(self) -> str:
        one, what = ("row", "rows") if self.groups is None else ("group", f"{self.groups:,} groups of rows")
        fails = f"It fails for at most {percent(1 - self.confidence_level)} of such samples."
        if self.anytime:
            fails = (
                "It holds at every number of rows at once: one may look as often as one likes. "
                f"At most {percent(1 - self.confidence_level)} of such series of rows have a look at which it fails."
            )
        if self.max_weight is not None:
            needs = [f"the {what} were drawn independently", f"no {one} can weigh more than {self.max_weight:g}"]
            return (
                f"It is about the population in which each {one} counts with its weight. It assumes "
                f"{self._all(needs)}. Weights may depend on the predictions. {fails}"
            )
        drawn = f"the {what} were drawn independently from the population in which the predictions will be used"
        if self.effective_n >= (self.groups or self.n) * (1 - 1e-12):
            return f"It assumes {self._all([drawn])}. {fails}"
        given, void = (
            ("weights, such as survey or cost weights", "weights that depend on the predictions (importance weights)")
            if self.groups is None
            else ("sizes and weights of the groups", "groups whose size or weight depends on their rows")
        )
        return (
            f"It assumes {self._all([f'given fixed {given}, {drawn}'], comma=True)}. It does not hold for {void}, "
            f"unless max_weight is stated. {fails}"
        )

    def _all(self, needs: list[str], *, comma: bool = False) -> str:
        """List what is assumed, with the grids if any were tried."""
        if self.grids.size:
            grids = "the grid" if len(self.grids) == 1 else f"the {len(self.grids)} grids tried"
            listed = ", ".join(f"1/{m}" for m in self.grids.tolist())
            needs = [*needs, f"{grids} ({listed}) did not depend on them"]
        that = [f"that, {need}" if comma and not k else f"that {need}" for k, need in enumerate(needs)]
        return that[0] if len(that) == 1 else f"{', '.join(that[:-1])}, and {that[-1]}"

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in str(self).splitlines())
        if not self.grids.size:
            return lines
        rows = "".join(
            f"<tr><td>{m}{' *' * (m == self.grid)}</td><td>{plug_in:.4f}</td><td>{bound:.4f}</td></tr>"
            for m, plug_in, bound in zip(self.grids.tolist(), self.plug_ins.tolist(), self.bounds.tolist(), strict=True)
        )
        head = "<tr><th>grid</th><th>loss on the rows</th><th>bound</th></tr>"
        return f"{lines}<table>{head}{rows}</table>"
