"""Every numbered statement of the paper, with a numerical check, the tightest constant found, and
wrong measures.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from paper.constructions import Distribution, exact_distance
from paper.results import Cell, Chunk, PartResult, Runner, Table
from rainproof import DecisionTask, InputError, soft_binned_cdl, swap_regret
from rainproof.measures import (
    calibration_decision_loss,
    cutoff_calibration_error,
    expected_calibration_error,
    smooth_calibration_error,
)

Function = Callable[..., float]


def _regret(dist: Distribution, task: DecisionTask, response: Any = None) -> float:
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
    **{
        f"{name} {how}": (name, _changed(TRUE[name], change))
        for name in TRUE
        for how, change in _CHANGES.items()
    },
    **_OTHERS,
}


class Measures:
    """All measures as functions of a distribution, one of them replaced by a mutant.

    A check of a statement computes measures through this object alone. So the same check can be run
    on a wrong measure, and `used` tells which mutants concern it.

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
    >>> from paper.claims import grouped
    >>> grouped(["CDL x 1.1", "CDL -> Cutoff", "smCE x 3"])
    'CDL: x 1.1, -> Cutoff. smCE: x 3'
    """
    found: dict[str, list[str]] = {}
    for mutant in mutants:
        name = MUTANTS[mutant][0]
        found.setdefault(name, []).append(mutant.removeprefix(name + " "))
    return ". ".join(f"{name}: {', '.join(changes)}" for name, changes in found.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The largest value found for one quantity of a statement, and its limit.

    Attributes
    ----------
    quantity : str
        The quantity that was maximized.
    observed : float
        The largest value found.
    limit : float or None
        The limit that the statement gives; None if the paper leaves the constant open.
    held : bool
        Whether the statement held.
    run : str
        What was run.
    """

    quantity: str
    observed: float
    limit: float | None
    held: bool
    run: str


Check = Callable[[np.random.Generator, int, Measures], list[Finding]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A statement of the paper and its check.

    Attributes
    ----------
    name : str
        As the paper numbers it.
    says : str
        What it states.
    check : callable
        A function of a random generator, an effort (about how many distributions to try) and the
        measures, that returns findings.
    note : str
        A slip in the paper's text, or a remark on the result.
    """

    name: str
    says: str
    check: Check
    note: str = ""


CLAIMS: dict[str, Claim] = {}
# statement and quantity of what is known not to hold as printed
KNOWN_SLIPS = {("Lemma 8.2", "how many T fail")}

_MUTANT_EFFORT = 20
_WORDS = (
    "One row for each quantity that a numbered statement bounds. Where the paper writes O(.) or "
    "Omega(.), the limit is an explicit constant that we derived from its proof (see the page "
    "on derivations); a few constants stay open and have no limit. 'Observed' is the largest "
    "value found (where said, the smallest), by a local search from random distributions and "
    "from those that are tight in theory, or by simulation. A search cannot prove a statement; "
    "a counterexample would disprove it. Slips in the text are noted; none affects a result, "
    "except that Lemma 8.2 does not hold for T = 2 and T = 4 as stated.",
    "The second table is about the checks themselves: every check was run again on wrong "
    "measures (scaled, square-rooted, or replaced by another measure; one at a time). 'Fails "
    "for' lists those for which the statement did not hold: what the check can notice. 'Holds "
    "for' lists the others of the measures in the statement. Scaling is not noticed where the "
    "statement leaves a constant open, and need not be where its constant is not attained. "
    "'Tightest' is the largest share of a limit that was observed: 1 is attained.",
)


def claim(name: str, says: str, note: str = "") -> Callable[[Check], Check]:
    """Register a check under the paper's number of the statement."""

    def register(check: Check) -> Check:
        CLAIMS[name] = Claim(name=name, says=says, check=check, note=note)
        return check

    return register


def at_most(quantity: str, observed: float, limit: float, run: str, slack: float = 1e-9) -> Finding:
    """Return a finding for a quantity with a limit; it may exceed it by `slack`, for rounding
    errors.
    """
    return Finding(
        quantity=quantity,
        observed=observed,
        limit=limit,
        held=bool(observed <= limit + slack),
        run=run,
    )


def open_constant(quantity: str, observed: float, run: str, *, held: bool = True) -> Finding:
    """Return a finding for a constant that the paper leaves open."""
    return Finding(
        quantity=quantity,
        observed=observed,
        limit=None,
        held=held and bool(np.isfinite(observed)),
        run=run,
    )


def all_claims() -> dict[str, Claim]:
    """Return every claim, in the order of the paper."""
    for module in ("bounds", "actions", "rates"):
        import_module(f"paper.claims_{module}")  # registers its checks
    return {name: CLAIMS[name] for name in sorted(CLAIMS, key=_place)}


_PLACES = {"Example 1": "1.01", "Example 2": "1.02", "Remark 1": "6.2"}


def _place(name: str) -> str:
    """Return the sort key: sections, then appendices; examples and remarks in their section."""
    return _PLACES.get(name, name.split()[1])


def check_claim(name: str, seed: int, effort: int, mutant: str = "") -> list[dict[str, Cell]]:
    """Run the check of one claim; the same seed and effort give the same numbers."""
    return _check(name, seed, effort, Measures(mutant))


def _check(name: str, seed: int, effort: int, measures: Measures) -> list[dict[str, Cell]]:
    one = all_claims()[name]
    findings = one.check(
        np.random.default_rng([seed, 4, zlib.crc32(name.encode())]), effort, measures
    )
    return [
        {
            "statement": one.name,
            "quantity": finding.quantity,
            "observed": finding.observed,
            "limit": finding.limit,
            "held": finding.held,
            "what was run": finding.run,
        }
        for finding in findings
    ]


def cover_claim(
    name: str, seed: int, effort: int
) -> dict[str, list[dict[str, Cell]] | dict[str, Cell]]:
    """Run the check of one claim on the measures and on all mutants of those that it uses."""
    measures = Measures()
    rows = _check(name, seed, effort, measures)
    mutants = {
        mutant: bool(unexpected(check_claim(name, seed, _MUTANT_EFFORT, mutant)))
        for mutant in measures.mutants()
    }
    shares = [
        abs(float(row["observed"] or 0)) / float(row["limit"]) for row in rows if row["limit"]
    ]
    one = all_claims()[name]
    summary: dict[str, Cell] = {
        "statement": name,
        "says": one.says,
        "checked": "; ".join(str(row["quantity"]) for row in rows),
        "held": not unexpected(rows),
        "tightest": max(shares) if shares else None,
        "fails for": grouped([mutant for mutant, noticed in mutants.items() if noticed]),
        "holds for": grouped([mutant for mutant, noticed in mutants.items() if not noticed]),
        "note": one.note,
    }
    return {"rows": rows, "summary": summary}


def unexpected(rows: Sequence[Mapping[str, Cell]]) -> list[Mapping[str, Cell]]:
    """Return the rows whose statement did not hold, except for the known slips."""
    return [
        row
        for row in rows
        if not row["held"] and (row["statement"], row["quantity"]) not in KNOWN_SLIPS
    ]


def claims(runner: Runner, *, repeats: int, seed: int, only: Sequence[str] = ()) -> PartResult:
    """Check all statements or some; `repeats` is the effort for each."""
    known = all_claims()
    for name in only:
        if name not in known:
            raise InputError(f"there is no statement {name!r}; there are: {', '.join(known)}")
    names = list(only) or list(known)
    chunks = [
        Chunk(f"seed{seed}-effort{repeats}-{_file(name)}", cover_claim, (name, seed, repeats))
        for name in names
    ]
    found = runner("claims", chunks)
    rows = [row for one in found for row in one["rows"]]
    held = sum(bool(row["held"]) for row in rows)
    title = (
        f"{held} of {len(rows)} quantities stayed within what the paper says ({len(names)} "
        "statements)"
    )
    return PartResult(
        name="claims",
        title="Claims: every numbered statement, checked",
        words=_WORDS,
        tables=(
            Table.of("claims", title, rows),
            Table.of(
                "coverage",
                "Which wrong measures each check notices",
                [one["summary"] for one in found],
            ),
        ),
        settings={"repeats": repeats, "seed": seed, "only": list(only)},
    )


def _file(name: str) -> str:
    return "".join(c if c.isalnum() or c == "." else "-" for c in name)
