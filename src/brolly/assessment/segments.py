"""The segments of an assessment: each with its value, and judged with regard to how many were looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.input.labels import SegmentIndex, code_labels
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import FEW_ROWS, Segments
from brolly.errors import InputError
from brolly.inference.calibration_test import calibration_test
from brolly.inference.intervals import confidence_interval
from brolly.inference.segments import adjusted
from brolly.measures.soft_binned import soft_binned_cdl

MEASURE = "soft_binned_cdl"
_FIRST_LOOK, _LOOK_AGAIN = 199, 0.1
_MOST_DRAWS = 99_999
_INTERVALS = 50  # segments that an interval is worked out for: as many as anyone looks at


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
        The interval of SCDL.
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
        The false discovery rate: the share of flagged segments that may be flagged by chance.
    rows : tuple of Segment
    """

    by: tuple[str, ...]
    fdr: float
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
    segments: Segments,
    total: float,
    *,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.Generator,
    step: Callable[[], None],
) -> SegmentTable:
    """Test every segment that is large enough, and flag with the false discovery rate ``1 - confidence``.

    Two looks: most segments need few draws to be seen to be fine; those with a p-value up to 0.1 are drawn again,
    afresh and so often that a single bad one among all can be flagged. The p-value of the last look is valid: to be at
    most x the second must be, for x up to 0.1, and the first for larger ones. Intervals are for those with the smallest
    p-values.
    """
    fdr = 1 - confidence_level
    small = set(segments.small())
    judged = [key for key in segments if key not in small]
    again = max(n_resamples, min(_MOST_DRAWS, math.ceil(2 * len(judged) / fdr)))
    tests = {}
    for key in judged:
        tests[key] = calibration_test(segments[key], measure=MEASURE, n_resamples=_FIRST_LOOK, rng=rng)
        if tests[key].p_value <= _LOOK_AGAIN:
            tests[key] = calibration_test(segments[key], measure=MEASURE, n_resamples=again, rng=rng)
        step()
    p_values = np.array([tests[key].p_value for key in judged])
    q_values = dict(zip(judged, adjusted(p_values, "bh").tolist(), strict=True))
    rows = []
    near = sorted(judged, key=lambda key: tests[key].p_value)[:_INTERVALS]
    for key in segments:
        sample = segments[key]
        found: dict[str, Any] = {}
        if key in tests:
            test, q = tests[key], q_values[key]
            found = {"null_mean": test.null_mean, "p_value": test.p_value, "q_value": q, "flagged": q <= fdr + 1e-12}
        if key in near:
            interval = confidence_interval(sample, measure=MEASURE, confidence_level=confidence_level, rng=rng)
            found |= {"low": interval.low, "high": interval.high}
        rows.append(
            Segment(
                key=tuple(map(str, key)) if isinstance(key, tuple) else (str(key),),
                n=sample.n,
                share=sample.total_weight / total,
                event_rate=sample.event_rate,
                value=soft_binned_cdl(sample),
                small=key in small,
                **found,
            )
        )
    return SegmentTable(by=segments.by, fdr=fdr, rows=tuple(rows))


def _labels(name: str, column: ArrayLike, n: int) -> NDArray[Any]:
    labels = np.asarray(column)
    if labels.ndim != 1 or len(labels) != n:
        raise InputError(f"{name} must hold one label for each of the {n:,} rows; its shape is {labels.shape}")
    return labels
