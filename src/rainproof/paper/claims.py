"""Every numbered statement of the paper, with a numerical check and the tightest constant found."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from rainproof.errors import InputError
from rainproof.paper.chunks import Chunk, Runner
from rainproof.paper.mutants import Measures, grouped
from rainproof.paper.results import Cell, PartResult, Table


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
        A function of a random generator, an effort (about how many distributions to try) and the measures, that returns
        findings.
    note : str
        A slip in the paper's text, or a remark on the result.
    """

    name: str
    says: str
    check: Check
    note: str = ""


CLAIMS: dict[str, Claim] = {}
KNOWN_SLIPS = {("Lemma 8.2", "how many T fail")}  # statement and quantity of what is known not to hold as printed

_MUTANT_EFFORT = 20
_WORDS = (
    "One row for each quantity that a numbered statement bounds. Where the paper writes O(.) or Omega(.), the limit is "
    "an explicit constant that we derived from its proof (see the page on derivations); a few constants stay open and "
    "have no limit. 'Observed' is the largest value found (where said, the smallest), by a local search from random "
    "distributions and from those that are tight in theory, or by simulation. A search cannot prove a statement; a "
    "counterexample would disprove it. Slips in the text are noted; none affects a result, except that Lemma 8.2 does "
    "not hold for T = 2 and T = 4 as stated.",
    "The second table is about the checks themselves: every check was run again on wrong measures (scaled, "
    "square-rooted, or replaced by another measure; one at a time). 'Fails for' lists those for which the statement "
    "did not hold: what the check can notice. 'Holds for' lists the others of the measures in the statement. Scaling "
    "is not noticed where the statement leaves a constant open, and need not be where its constant is not attained. "
    "'Tightest' is the largest share of a limit that was observed: 1 is attained.",
)


def claim(name: str, says: str, note: str = "") -> Callable[[Check], Check]:
    """Register a check under the paper's number of the statement."""

    def register(check: Check) -> Check:
        CLAIMS[name] = Claim(name=name, says=says, check=check, note=note)
        return check

    return register


def at_most(quantity: str, observed: float, limit: float, run: str, slack: float = 1e-9) -> Finding:
    """Return a finding for a quantity with a limit; it may exceed it by `slack`, for rounding errors."""
    return Finding(quantity=quantity, observed=observed, limit=limit, held=bool(observed <= limit + slack), run=run)


def open_constant(quantity: str, observed: float, run: str, *, held: bool = True) -> Finding:
    """Return a finding for a constant that the paper leaves open."""
    return Finding(quantity=quantity, observed=observed, limit=None, held=held and bool(np.isfinite(observed)), run=run)


def all_claims() -> dict[str, Claim]:
    """Return every claim, in the order of the paper."""
    for module in ("basics", "actions", "continuity", "rates", "experiments"):
        import_module(f"rainproof.paper.claims_{module}")  # registers its checks
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
    findings = one.check(np.random.default_rng([seed, 4, zlib.crc32(name.encode())]), effort, measures)
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


def cover_claim(name: str, seed: int, effort: int) -> dict[str, list[dict[str, Cell]] | dict[str, Cell]]:
    """Run the check of one claim on the measures and on all mutants of those that it uses."""
    measures = Measures()
    rows = _check(name, seed, effort, measures)
    mutants = {
        mutant: bool(unexpected(check_claim(name, seed, _MUTANT_EFFORT, mutant))) for mutant in measures.mutants()
    }
    shares = [abs(float(row["observed"] or 0)) / float(row["limit"]) for row in rows if row["limit"]]
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
    return [row for row in rows if not row["held"] and (row["statement"], row["quantity"]) not in KNOWN_SLIPS]


def claims(runner: Runner, *, repeats: int, seed: int, only: Sequence[str] = ()) -> PartResult:
    """Check all statements or some; `repeats` is the effort for each."""
    known = all_claims()
    for name in only:
        if name not in known:
            raise InputError(f"there is no statement {name!r}; there are: {', '.join(known)}")
    names = list(only) or list(known)
    chunks = [Chunk(f"seed{seed}-effort{repeats}-{_file(name)}", cover_claim, (name, seed, repeats)) for name in names]
    found = runner("claims", chunks)
    rows = [row for one in found for row in one["rows"]]
    held = sum(bool(row["held"]) for row in rows)
    title = f"{held} of {len(rows)} quantities stayed within what the paper says ({len(names)} statements)"
    return PartResult(
        name="claims",
        title="Claims: every numbered statement, checked",
        words=_WORDS,
        tables=(
            Table.of("claims", title, rows),
            Table.of("coverage", "Which wrong measures each check notices", [one["summary"] for one in found]),
        ),
        settings={"repeats": repeats, "seed": seed, "only": list(only)},
    )


def _file(name: str) -> str:
    return "".join(c if c.isalnum() or c == "." else "-" for c in name)
