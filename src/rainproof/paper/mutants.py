"""The measures that the statements are about, and wrong ones that a check must notice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from rainproof.core.regret import RegretCurve
from rainproof.decisions.curve import worst_task
from rainproof.decisions.swap import Response, swap_regret
from rainproof.decisions.task import DecisionTask
from rainproof.measures.cutoff import cutoff_calibration_error
from rainproof.measures.decision_loss import calibration_decision_loss
from rainproof.measures.expected import expected_calibration_error
from rainproof.measures.smooth_calibration import smooth_calibration_error
from rainproof.measures.soft_binned import soft_binned_cdl
from rainproof.paper.constructions import Distribution
from rainproof.paper.exact_distance import exact_distance

Function = Callable[..., float]


def _regret(dist: Distribution, task: DecisionTask, response: Response | None = None) -> float:
    return swap_regret(dist.sample(), task=task, response=response).in_units


def _bin(dist: Distribution, m: int, j: int, *, events: bool, soft: bool = True) -> float:
    """Return pi_j, or pi_j q_j."""
    rounded = dist.rounded(m, soft=soft)
    return float((rounded.positive if events else rounded.weight)[rounded.index == j].sum())


TRUE: dict[str, Function] = {
    "ECE": lambda dist: expected_calibration_error(dist.sample()),
    "CDL": lambda dist: calibration_decision_loss(dist.sample()),
    "smCE": lambda dist: smooth_calibration_error(dist.sample()),
    "Cutoff": lambda dist: cutoff_calibration_error(dist.sample()),
    "distCal": lambda dist: exact_distance(dist)[0],
    "SCDL": lambda dist: soft_binned_cdl(dist.sample()),
    "SCDL_m": lambda dist, m: dist.soft_loss(m),
    "CDL(D_m)": lambda dist, m: dist.decision_loss(m),
    "regret": _regret,
    "pi_j": partial(_bin, events=False),
    "pi_j q_j": partial(_bin, events=True),
}
_CHANGES: dict[str, Callable[[float], float]] = {
    "x 1.1": lambda value: 1.1 * value,
    "x 0.9": lambda value: 0.9 * value,
    "x 3": lambda value: 3 * value,
    "square root": math.sqrt,
}
_OTHERS: dict[str, tuple[str, Function]] = {
    "SCDL -> CDL": ("SCDL", TRUE["CDL"]),
    "SCDL -> Cutoff": ("SCDL", TRUE["Cutoff"]),
    "SCDL -> SCDL_16": ("SCDL", lambda dist: dist.soft_loss(16)),
    "SCDL -> rounded down": ("SCDL", lambda dist: soft_binned_cdl(dist.sample(), rounding="hard")),
    "SCDL + 0.01": ("SCDL", lambda dist: soft_binned_cdl(dist.sample()) + 0.01),
    "SCDL_m -> CDL": ("SCDL_m", lambda dist, _m: TRUE["CDL"](dist)),
    "SCDL_m -> Cutoff": ("SCDL_m", lambda dist, _m: TRUE["Cutoff"](dist)),
    "SCDL_m -> CDL(D_m)": ("SCDL_m", TRUE["CDL(D_m)"]),
    "SCDL_m -> rounded down": ("SCDL_m", lambda dist, m: dist.soft_loss(m, soft=False)),
    "CDL -> SCDL": ("CDL", TRUE["SCDL"]),
    "CDL -> Cutoff": ("CDL", TRUE["Cutoff"]),
    "CDL + 0.01": ("CDL", lambda dist: TRUE["CDL"](dist) + 0.01),
    "pi_j -> rounded down": ("pi_j", partial(_bin, events=False, soft=False)),
    "pi_j q_j -> rounded down": ("pi_j q_j", partial(_bin, events=True, soft=False)),
    "smCE -> Cutoff": ("smCE", TRUE["Cutoff"]),
    "Cutoff -> smCE": ("Cutoff", TRUE["smCE"]),
}


def _changed(function: Function, change: Callable[[float], float]) -> Function:
    return lambda *arguments: change(function(*arguments))


MUTANTS: dict[str, tuple[str, Function]] = {
    **{f"{name} {how}": (name, _changed(TRUE[name], change)) for name in TRUE for how, change in _CHANGES.items()},
    **_OTHERS,
}


class Measures:
    """All measures as functions of a distribution, one of them replaced by a mutant.

    A check of a statement computes measures through this object alone. So the same check can be run on a wrong measure,
    and `used` tells which mutants concern it.

    Parameters
    ----------
    mutant : str
        A name in ``MUTANTS``; empty: no mutant.
    """

    def __init__(self, mutant: str = "") -> None:
        self._functions = dict(TRUE)
        if mutant:
            name, function = MUTANTS[mutant]
            self._functions[name] = function
        self.used: set[str] = set()

    def __call__(self, name: str, *arguments: Any) -> float:
        """Compute a measure by its name in ``TRUE``."""
        self.used.add(name)
        return self._functions[name](*arguments)

    def mutants(self) -> list[str]:
        """Return the mutants of the measures that were used."""
        return [mutant for mutant, (name, _) in MUTANTS.items() if name in self.used]


def grouped(mutants: Iterable[str]) -> str:
    """Return a list of mutants, by measure.

    Examples
    --------
    >>> from rainproof.paper.mutants import grouped
    >>> grouped(["CDL x 1.1", "CDL -> Cutoff", "smCE x 3"])
    'CDL: x 1.1, -> Cutoff. smCE: x 3'
    """
    found: dict[str, list[str]] = {}
    for mutant in mutants:
        name = MUTANTS[mutant][0]
        found.setdefault(name, []).append(mutant.removeprefix(name + " "))
    return ". ".join(f"{name}: {', '.join(changes)}" for name, changes in found.items())


def hardest_task(dist: Distribution, m: int) -> DecisionTask | None:
    """Return the task with the largest regret for those who act on predictions rounded to 1/m; None without any."""
    return worst_task(RegretCurve.from_rounded(dist.rounded(m)).chord)
