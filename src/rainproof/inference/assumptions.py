"""What proofs rest on, in words: how rows were drawn, and which population a bound is about.

These are parts of sentences, which results and verdicts share. What is assumed is decided where a
bound is computed.
"""

from __future__ import annotations

from rainproof.core.text import percent

KEEPS_RANKING = "compared with the best correction that keeps the ranking"
"""What a monotone recalibration is compared with."""

SAME_GIVEN_OUTCOME = (
    "predictions, given the outcome, are distributed there as where these rows came from"
)
"""What a base rate assumes."""


def population(base_rate: float | tuple[float, float]) -> str:
    """Name the population that a base rate describes."""
    if isinstance(base_rate, tuple):
        lowest, highest = base_rate
        return f"a population with a base rate between {percent(lowest)} and {percent(highest)}"
    return f"a population with a base rate of {percent(base_rate)}"


INDEPENDENT = "not depend on predictions or outcomes"
"""What is assumed of weights and of sizes of groups, where the largest weight is not stated."""


def what_varies(groups: int | None, *, weighted: bool) -> str:
    """Name what must be fixed where the largest weight is not stated; nothing if all rows count
    alike.
    """
    names = []
    if groups is not None:
        names.append("sizes")
    if weighted:
        names.append("weights")
    return " and ".join(names)


def no_heavier(groups: int | None, max_weight: float) -> str:
    """What a stated largest weight of a draw assumes."""
    draw = "row" if groups is None else "group"
    return f"no {draw} can weigh more than {max_weight:,.12g}"


def if_drawn(
    groups: int | None,
    used: str,
    base_rate: float | tuple[float, float] | None = None,
    max_weight: float | None = None,
    *,
    weighted: bool = False,
) -> str:
    """What a proof rests on, after "if", and which population it is about.

    `weighted` says whether rows have weights. Without a stated largest weight, these (and the
    sizes of groups) must be fixed: if they go with the predictions, a few heavy rows that the
    sample happens to lack can make up most of the population, also where all weights that it has
    are equal.
    """
    draw = "row"
    draws = "rows"
    if groups is not None:
        draw = "group"
        draws = f"{groups:,} groups of rows"
    drawn = f"the {draws} were drawn independently"
    if base_rate is not None:
        about = f"{population(base_rate)}, and assumes that {SAME_GIVEN_OUTCOME}"
        return f"{drawn} given their outcomes. All of this is about {about}"
    if max_weight is not None:
        about = f"the population in which each {draw} counts with its weight"
        return f"{drawn}, and {no_heavier(groups, max_weight)}. All of this is about {about}"
    drawn += f" from the population in which {used} will be used"
    fixed = what_varies(groups, weighted=weighted)
    if not fixed:
        return drawn
    return f"{drawn}, and their {fixed} do {INDEPENDENT}"
