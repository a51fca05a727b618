"""Segments side by side, and the limit that a pipeline sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from brolly.cli.output import one_line
from brolly.core.text import at_most
from brolly.measures.soft_binned import SoftBinnedProfile

_WIDEST = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One segment and its profile; with few rows it is shown and not judged."""

    key: tuple[Any, ...]
    event_rate: float
    profile: SoftBinnedProfile
    few: bool

    def to_dict(self, by: list[str]) -> dict[str, Any]:
        """For JSON: dates and the like in words."""
        segment = dict(zip(by, map(_plain, self.key), strict=True))
        return {"segment": segment, "event_rate": self.event_rate, "few_rows": self.few, **self.profile.to_dict()}


@dataclass(frozen=True, slots=True)
class Limit:
    """What `--fail-above` allows, and what came out."""

    value: float
    whole: SoftBinnedProfile
    parts: list[Part]

    @property
    def is_passed(self) -> bool:
        return self.whole.value > self.value or bool(self._above())

    def _above(self) -> list[Part]:
        return [part for part in self.parts if not part.few and part.profile.value > self.value]

    def __str__(self) -> str:
        if not self.is_passed:
            return f"Passed: SCDL is not above {self.value:g}."
        where = ["all rows"] if self.whole.value > self.value else []
        above = len(self._above())
        where += [f"{above:,} of {len(self.parts):,} segments"] if above else []
        return f"FAILED: SCDL is above {self.value:g} for {' and '.join(where)}."


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no word for infinity
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _cell(value: Any) -> str:
    """A name that leaves the rest of its line where it can be seen."""
    name = "(none)" if value is None else one_line(str(value))
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 3]}..."


def segment_table(by: tuple[str, ...], parts: list[Part]) -> str:
    """A line for each segment."""
    head = (*map(_cell, by), "rows", "events", "SCDL", "act on", "loses at most", "")
    rows = [
        (
            *map(_cell, part.key),
            f"{part.profile.n:,}",
            f"{100 * part.event_rate:.3g}%",
            f"{part.profile.value:.3g}",
            f"1/{part.profile.m_star}",
            at_most(min(1.0, part.profile.regret_bound)),
            "few rows: not judged" if part.few else "",
        )
        for part in parts
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        cells = [f"{v:<{w}}" if i < len(by) else f"{v:>{w}}" for i, (v, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join([*cells[:-1], row[-1]]).rstrip())
    return "\n" + "\n".join(lines) + "\n\n"
