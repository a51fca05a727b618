"""The verdict in words, for people who must decide and have never heard of swap regret."""

from __future__ import annotations

import textwrap
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path

from brolly.cli.output import one_line
from brolly.core.sample import Sample
from brolly.measures.soft_binned import SoftBinnedProfile

_WIDTH = 80
_CALIBRATED = (
    "The probabilities match what happened on these rows, as closely as this can be measured: nobody who acts "
    "on them, whatever the decision and its costs, would gain by changing actions in hindsight."
)
_NO_PROMISE = (
    "That is too far off to promise anything: somebody who acts on these probabilities may lose up to all that "
    "is at stake per case, compared with the best change of actions in hindsight."
)
_SCOPE = (
    "This describes these rows only. Part of it is chance (the fewer the rows, the larger the part), "
    "and new rows can differ."
)


def verdict(
    file: str,
    sample: Sample,
    profile: SoftBinnedProfile,
    *,
    weight: str | None = None,
    table: str = "",
    limit: str = "",
    output: Path | None = None,
) -> str:
    """What the result says of these rows, and no more; the last line says where it was written."""
    worst = profile.worst_threshold if _is_resolved(sample, profile) else None
    bound = "" if _is_resolved(sample, profile) else "at most "
    paragraphs = [
        rows_read(file, sample, weight),
        f"SCDL {bound}{profile.value:.3g}   (0 is perfect, 0.5 is the worst)",
        "",
        _meaning(profile),
        *([] if worst is None else [_hurt_most(profile, *worst)]),
        _SCOPE,
        *(f"Note: {note}." for note in profile.warnings),
    ]
    last = [limit] if limit else []
    last += [] if output is None else [f"Result written to {one_line(str(output))}"]
    return table.join("".join(f"{wrapped(text)}\n" for text in part) for part in (paragraphs, last))


def rows_read(file: str, sample: Sample, weight: str | None) -> str:
    """What was read, in a line."""
    rows = "1 row" if sample.n == 1 else f"{sample.n:,} rows"
    if weight is not None:
        rows += f" weighted by {one_line(weight)} (effectively {sample.effective_n:,.0f})"
    return f"{one_line(file)}: {rows}, event rate {100 * sample.event_rate:.3g}%"


def _meaning(profile: SoftBinnedProfile) -> str:
    if profile.m_star == float("inf"):
        return _CALIBRATED
    if profile.regret_bound >= 1:
        return _NO_PROMISE
    how = "at random to a neighbouring" if profile.rounding == "soft" else "down to a"
    return (
        f"Round each probability {how} multiple of 1/{profile.m_star}, and act on the rounded value: then, on "
        f"these rows, no decision, whatever its costs, loses more than {at_most(profile.regret_bound)} of what "
        "is at stake per case (best minus worst outcome), compared with the best change of actions in hindsight."
    )


def _is_resolved(sample: Sample, profile: SoftBinnedProfile) -> bool:
    """Whether the value is that of the rows, and not just the least that the compression can tell."""
    return sample.m is None or 2 * profile.m_star <= sample.m


def _hurt_most(profile: SoftBinnedProfile, low: float, high: float) -> str:
    digits = max(2, len(str(profile.m_star)))
    return f"Hurt most: those who act above a probability between {low:.{digits}f} and {high:.{digits}f}."


def at_most(share: float) -> str:
    """A bound in percent to three digits: rounded up, so that it stays a bound."""
    percent = Decimal(100 * share).normalize(Context(prec=3, rounding=ROUND_CEILING))
    return f"{percent:f}%"


def wrapped(text: str) -> str:
    """The text in lines that fit a terminal."""
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
