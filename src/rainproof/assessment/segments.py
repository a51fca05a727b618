"""The segments of an assessment, each tested with allowance for the number of segments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from rainproof.assessment import words
from rainproof.assessment.calibration import grouped_test
from rainproof.assessment.costs import ActionTask, segment_costs
from rainproof.core.arrays import Floats
from rainproof.core.result import Result
from rainproof.core.segments import FEW_ROWS, Segments
from rainproof.core.text import aligned, wrapped
from rainproof.decisions.tasks import DecisionTask
from rainproof.errors import FewRowsWarning, RainproofWarning
from rainproof.inference.estimates import Influence
from rainproof.inference.guarantees import Guarantee, guarantee
from rainproof.inference.segments import adjusted, segment_tests
from rainproof.measures.scdl import soft_binned_cdl

_BOUNDED = 500  # segments that get a guarantee
FEW_GROUPS = 20.0  # effective groups with the rarer outcome: of fewer no limit theorem says anything


class Segment(Result):
    """One segment of an assessment.

    Attributes
    ----------
    key : tuple of str
        The segment's value in each of the columns.
    n : int
        The number of rows.
    groups : int or None
        The number of groups that these rows are in, if rows of a group may depend on each other.
    effective_groups : float or None
        How many groups of equal weight have the rarer outcome: ``(sum e)^2 / sum e^2``, with e the weight of the rows
        of a group that have it. Below 20 no approximate test is possible.
    share : float
        The share of the weight of all rows.
    mean_prediction, event_rate : float
        What the predictions say on average, and how often the event happened.
    value : float
        SCDL of the segment's rows.
    loss, loss_bound : float or None
        The largest loss of any decision that acts on the probabilities as they are, against any monotone recalibration:
        on the segment's rows, and in its population at most, at ``1 - fdr`` confidence for each segment by itself. None
        for small segments, and beyond the 500 with the smallest p-values.
    p_value, q_value : float or None
        Of the test of perfect calibration, by itself: the test that all rows together get, so with groups that of
        groups. And the smallest false discovery rate that flags the segment. None for small segments. `segment_tests`
        also has intervals of SCDL.
    cost, cost_without : float or None
        The cost per case of the user's own decision on the segment's rows: acting on the forecast as it is, and
        without a forecast (by the action that is best for all of them). None without a decision that has a list of
        actions.
    small : bool
        Whether the segment has too few rows to be tested.
    flagged : bool
        Whether the segment is miscalibrated beyond chance, at the table's false discovery rate.
    """

    _also: ClassVar = ("label", "status")

    key: tuple[str, ...]
    n: int
    groups: int | None = None
    effective_groups: float | None = None
    share: float
    mean_prediction: float
    event_rate: float
    value: float
    loss: float | None = None
    loss_bound: float | None = None
    p_value: float | None = None
    q_value: float | None = None
    cost: float | None = None
    cost_without: float | None = None
    small: bool
    flagged: bool = False

    @property
    def few_groups(self) -> bool:
        """Whether too few groups have the rarer outcome for an approximate test."""
        return self.effective_groups is not None and self.effective_groups < FEW_GROUPS

    @property
    def label(self) -> str:
        """The name of the segment in one line."""
        return " / ".join(self.key)

    @property
    def status(self) -> str:
        """The result of the test in words."""
        return words.segment_status(self)


class SegmentTable(Result):
    """The segments of an assessment.

    Attributes
    ----------
    by : tuple of str
        The names of the columns that segment the rows.
    fdr : float
        The false discovery rate: the expected share of calibrated segments among those flagged is at most this.
    min_rows : int
        Segments with fewer rows are not tested.
    rows : tuple of Segment
        One for each segment.
    """

    _also: ClassVar = ("measure", "method")
    measure: ClassVar[str] = "soft_binned_cdl"
    method: ClassVar[str] = "Benjamini-Hochberg"

    by: tuple[str, ...]
    fdr: float
    min_rows: int
    rows: tuple[Segment, ...]

    @property
    def flagged(self) -> tuple[Segment, ...]:
        """The segments that are miscalibrated beyond chance, the largest loss first."""
        return tuple(sorted((s for s in self.rows if s.flagged), key=by_loss))

    @property
    def small(self) -> int:
        """The number of segments with too few rows to be tested."""
        return sum(s.small for s in self.rows)

    def first(self, n: int) -> tuple[Segment, ...]:
        """Return the `n` segments with the smallest p-values: the largest loss first, small segments last."""
        kept = sorted(self.rows, key=lambda s: (s.small, 1.0 if s.p_value is None else s.p_value, -s.value))[:n]
        return tuple(sorted(kept, key=by_loss))

    def __str__(self) -> str:
        return "\n".join([*aligned(words.segment_lines(self), left=1), wrapped(words.segment_order(self))])

    def __repr__(self) -> str:
        return f"SegmentTable({len(self.rows)} segments, {len(self.flagged)} flagged, {self.small} small)"


def by_loss(segment: Segment) -> tuple[bool, float, float]:
    """The largest loss first. SCDL comes second: it moves in steps, and many segments share a value."""
    return segment.small, -(segment.loss or 0.0), -segment.value


def judge_segments(
    segments: Segments,
    total: float,
    *,
    fdr: float,
    task: DecisionTask | None,
    bounds: Mapping[str, Any],
    rng: np.random.Generator,
    step: Callable[[], None],
) -> SegmentTable:
    """Test every segment that is large enough, by the test that all rows together get.

    `total` is the weight of all rows together; `bounds` has the options of the guarantees.
    """
    if any(sample._group is not None for sample in segments.values()):
        columns = _grouped_tests(segments, step)
    else:
        tests = segment_tests(segments, fdr=fdr, rng=rng, progress=lambda *_: step())
        columns = {name: getattr(tests, name) for name in ("value", "p_value", "q_value")}
    losses = _losses(segments, columns["p_value"], {"confidence_level": 1 - fdr, **bounds})
    rows = []
    for k, (key, sample) in enumerate(segments.items()):
        numbers: dict[str, Any] = {
            name: None if np.isnan(column[k]) else float(column[k]) for name, column in columns.items()
        }
        q_value = numbers["q_value"]
        rows.append(
            Segment(
                key=tuple(map(str, key)) if isinstance(key, tuple) else (str(key),),
                n=sample.n,
                groups=sample.groups,
                effective_groups=Influence.of(sample, pool=False).fewest if sample._has_groups else None,
                share=sample.total_weight / total,
                mean_prediction=sample.mean_prediction,
                event_rate=sample.event_rate,
                small=sample.n < FEW_ROWS,
                flagged=q_value is not None and q_value <= fdr,
                loss=losses[k].plug_in if k in losses else None,
                loss_bound=losses[k].bound if k in losses else None,
                **(segment_costs(sample, task) if isinstance(task, ActionTask) else {}),
                **numbers,
            )
        )
    return SegmentTable(by=segments.by, fdr=fdr, min_rows=FEW_ROWS, rows=tuple(rows))


def _grouped_tests(segments: Segments, step: Callable[[], None]) -> dict[str, Floats]:
    """Test each segment over its own groups, or over rows whose outcomes are shares: neither can be redrawn by row."""
    value, p_value = np.full((2, len(segments)), np.nan)
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):  # about single segments
        for k, sample in enumerate(segments.values()):
            value[k] = soft_binned_cdl(sample)
            p_value[k] = grouped_test(sample) if sample.n >= FEW_ROWS else np.nan
            step()
    return {"value": value, "p_value": p_value, "q_value": adjusted(p_value, "bh")}


def _losses(segments: Segments, p_value: Floats, options: dict[str, Any]) -> dict[int, Guarantee]:
    """The guarantee of acting as is, for tested segments with the smallest p-values, by position."""
    keys, found = list(segments), {}
    for k in np.argsort(p_value)[:_BOUNDED].tolist():  # NaN, of those not tested, is last
        if np.isfinite(p_value[k]):
            with warnings.catch_warnings(action="ignore", category=FewRowsWarning):
                found[k] = guarantee(segments[keys[k]], response="as_is", **options)
    return found
