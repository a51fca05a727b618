"""The segments of an assessment: each with its value, and judged with regard to how many were looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.input.labels import SegmentIndex, code_labels
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import FEW_ROWS, Segments
from brolly.errors import InputError
from brolly.inference.segments import segment_tests

MEASURE = "soft_binned_cdl"
_INTERVALS = 50  # segments that get an interval: as many as anyone looks at


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """One segment.

    Attributes
    ----------
    key : tuple of str
        Its value in each of the columns.
    n : int
        Its rows.
    share : float
        Its share of all weight.
    event_rate : float
    value : float
        SCDL of its rows.
    null_mean : float or None
        What SCDL would be on average if it were perfectly calibrated; None for small segments, as all below.
    low, high : float or None
        The interval of SCDL, at the level that the table states.
    p_value, q_value : float or None
        Of perfect calibration, on its own; and the smallest false discovery rate at which it is flagged.
    small : bool
        Whether it has too few rows to be judged.
    flagged : bool
        Whether it is off by more than chance explains, allowing for the number of segments.
    """

    key: tuple[str, ...]
    n: int
    share: float
    event_rate: float
    value: float
    null_mean: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    q_value: float | None = None
    small: bool
    flagged: bool = False

    @property
    def label(self) -> str:
        """Its name in a line."""
        return " / ".join(self.key)

    @property
    def words(self) -> str:
        """What may be said of it."""
        if self.small:
            return "too few rows to be judged"
        return "off by more than chance explains" if self.flagged else "no sign of a mismatch beyond chance"

    def to_dict(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in self.__slots__}
        return {"label": self.label, **shown, "key": list(self.key), "words": self.words}


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SegmentTable:
    """All segments.

    Attributes
    ----------
    by : tuple of str
        What the columns are called.
    fdr : float
        The false discovery rate: the expected share of calibrated segments among those flagged is at most this.
    interval_level : float or None
        The confidence level of each interval: on average at most a share `fdr` of the intervals shown miss.
    rows : tuple of Segment
    """

    by: tuple[str, ...]
    fdr: float
    interval_level: float | None
    rows: tuple[Segment, ...]

    @property
    def flagged(self) -> tuple[Segment, ...]:
        """The segments that are off by more than chance explains, the largest value first."""
        return tuple(sorted((s for s in self.rows if s.flagged), key=lambda s: -s.value))

    @property
    def small(self) -> int:
        """How many segments are too small to be judged."""
        return sum(s.small for s in self.rows)

    def largest(self, most: int) -> tuple[Segment, ...]:
        """At most so many, those with the smallest p-values kept; the largest value first, small segments last."""
        kept = sorted(self.rows, key=lambda s: (s.small, 1.0 if s.p_value is None else s.p_value, -s.value))[:most]
        return tuple(sorted(kept, key=lambda s: (s.small, -s.value)))

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON."""
        return {
            "by": list(self.by),
            "measure": MEASURE,
            "method": "Benjamini-Hochberg",
            "fdr": self.fdr,
            "interval_level": self.interval_level,
            "few_rows": FEW_ROWS,
            "rows": [s.to_dict() for s in self.rows],
        }

    def __repr__(self) -> str:
        return f"SegmentTable({len(self.rows)} segments, {len(self.flagged)} flagged, {self.small} small)"


def split(columns: Sequence[NDArray[Any] | None], pos_label: Any, by: ArrayLike | Mapping[str, ArrayLike]) -> Segments:
    """The rows of each segment as a sample, from outcomes, predictions and weights that were checked as a whole."""
    y_true, y_prob, weight = columns
    assert y_true is not None
    assert y_prob is not None
    if isinstance(by, Mapping) and not by:
        raise InputError("by must name at least one column")
    names = {f"by[{name!r}]": column for name, column in by.items()} if isinstance(by, Mapping) else {"by": by}
    index, n = SegmentIndex(), len(y_prob)
    at = index.number_rows([code_labels(_labels(name, column, n)) for name, column in names.items()], n)
    places = np.split(np.argsort(at, kind="stable"), np.cumsum(np.bincount(at))[:-1])
    samples = {}
    for key, rows in zip(index.keys, places, strict=True):
        own = None if weight is None else weight[rows]
        if own is None or (own > 0).any():  # a segment whose rows all have weight zero has no rows
            sample = Sample(y_true[rows], y_prob[rows], sample_weight=own, pos_label=pos_label)
            samples[key if len(key) > 1 else key[0]] = sample
    return Segments.from_samples(samples, tuple(map(str, by)) if isinstance(by, Mapping) else ("segment",))


def judge_segments(
    segments: Segments, total: float, *, fdr: float, rng: np.random.Generator, step: Callable[[], None]
) -> SegmentTable:
    """Test every segment that is large enough; intervals for those with the smallest p-values (`segment_tests`)."""
    tests = segment_tests(segments, fdr=fdr, intervals=_INTERVALS, rng=rng, progress=lambda *_: step())
    names = ("null_mean", "low", "high", "p_value", "q_value")
    columns = zip(*(getattr(tests, name).tolist() for name in names), strict=True)
    rows = [
        Segment(
            key=tuple(map(str, key)) if isinstance(key, tuple) else (str(key),),
            n=sample.n,
            share=sample.total_weight / total,
            event_rate=sample.event_rate,
            value=value,
            small=sample.n < tests.min_rows,
            flagged=bool(numbers[-1] <= fdr),
            **{name: None if x != x else x for name, x in zip(names, numbers, strict=True)},
        )
        for (key, sample), value, numbers in zip(segments.items(), tests.value.tolist(), columns, strict=True)
    ]
    return SegmentTable(by=segments.by, fdr=fdr, interval_level=tests.interval_level, rows=tuple(rows))


def _labels(name: str, column: ArrayLike, n: int) -> NDArray[Any]:
    labels = np.asarray(column)
    if labels.ndim != 1 or len(labels) != n:
        raise InputError(f"{name} must hold one label for each of the {n:,} rows; its shape is {labels.shape}")
    return labels
