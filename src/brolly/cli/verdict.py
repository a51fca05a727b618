"""The verdict in words, for people who must decide and have never heard of swap regret."""

from __future__ import annotations

from pathlib import Path

from brolly.assessment import text as sentences
from brolly.cli.output import one_line
from brolly.core.sample.sample import Sample
from brolly.core.text import rows
from brolly.measures.soft_binned import SoftBinnedProfile


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
        sentences.scdl(profile),
        *([] if worst is None else [sentences.scdl_threshold(profile, *worst)]),
        sentences.SCOPE,
        *(f"Note: {note}." for note in profile.warnings),
    ]
    last = [limit] if limit else []
    last += [] if output is None else [f"Result written to {one_line(str(output))}"]
    return table.join("".join(f"{sentences.wrapped(text)}\n" for text in part) for part in (paragraphs, last))


def rows_read(file: str, sample: Sample, weight: str | None) -> str:
    """What was read, in a line."""
    read = rows(sample.n)
    if weight is not None:
        read += f" weighted by {one_line(weight)} (effectively {sample.effective_n:,.0f})"
    return f"{one_line(file)}: {read}, event rate {100 * sample.event_rate:.3g}%"


def _is_resolved(sample: Sample, profile: SoftBinnedProfile) -> bool:
    """Whether the value is that of the rows, and not just the least that the compression can tell."""
    return sample.grid is None or 2 * profile.m_star <= sample.grid
