"""The segments of an assessment, each tested with allowance for the number of segments."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import aligned, wrapped
from rainproof.decisions.tasks import DecisionTask, if_listed
from rainproof.errors import FEW_ROWS, FewRowsWarning, RainproofWarning
from rainproof.inference.estimates import is_few
from rainproof.inference.guarantees import Guarantee, guarantee
from rainproof.inference.segments import adjusted, segment_tests
from rainproof.measures.scdl import soft_binned_cdl
from rainproof.verdict.calibration import effective_clusters, grouped_test
from rainproof.verdict.costs import segment_costs
from rainproof.verdict.evidence import Crossed
from rainproof.verdict.renderer import PYTHON
from rainproof.verdict.segment_statements import segment_lines, segment_order, segment_status

_BOUNDED = 500  # segments that get a guarantee


@result_class
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
    effective_clusters : float or None
        How many groups of equal weight have the rarer outcome: ``(sum e)^2 / sum e^2``, with e the
        weight of the rows of a group that have it. Below 20 the test is one by bets, which rarely
        rejects.
    share : float
        The share of the weight of all rows.
    mean_prediction, event_rate : float
        What the predictions say on average, and how often the event happened.
    value : float
        SCDL of the segment's rows.
    loss, loss_bound : float or None
        The largest loss of any decision that acts on the probabilities as they are, against any
        monotone recalibration: on the segment's rows, and in its population at most, at ``1 - fdr``
        confidence for each segment by itself. None for small segments, and beyond the 500 with the
        smallest p-values.
    p_value, q_value : float or None
        Of the test of perfect calibration, by itself: the test that all rows together get, so with
        groups that of groups. And the smallest false discovery rate that flags the segment. None
        for small segments. `segment_tests` also has intervals of SCDL.
    cost, cost_without : float or None
        The cost per case of the user's own decision on the segment's rows: acting on the forecast
        as it is, and without a forecast (by the action that is best for all of them). None without
        a decision that has a list of actions.
    small : bool
        Whether the segment has too few rows to be tested.
    flagged : bool
        Whether the segment is miscalibrated beyond chance, at the table's false discovery rate.
    mean_recalibrated : float or None
        The mean of the recalibrated predictions: of maps for all segments together, each fitted to
        rows of other folds.
    p_value_recalibrated, q_value_recalibrated : float or None
        Of the same test, of the recalibrated predictions. They are None where nothing calls for
        recalibration, as calibration is rejected neither for all rows nor for any segment; and
        where no map can be fitted.
    flagged_recalibrated : bool or None
        Whether the segment is miscalibrated beyond chance after recalibration.
    """

    _also: ClassVar = ("label", "status")

    key: tuple[str, ...]
    n: int
    groups: int | None = None
    effective_clusters: float | None = None
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
    mean_recalibrated: float | None = None
    p_value_recalibrated: float | None = None
    q_value_recalibrated: float | None = None
    flagged_recalibrated: bool | None = None

    @property
    def by_bets(self) -> bool:
        """Whether so few clusters have the rarer outcome that the p-value is that of bets."""
        return is_few(self.effective_clusters)

    @property
    def label(self) -> str:
        """The name of the segment in one line."""
        return " / ".join(self.key)

    @property
    def status(self) -> str:
        """The result of the test in words."""
        return PYTHON.text(segment_status(self))


@result_class
class SegmentTable(Result):
    """The segments of an assessment.

    Attributes
    ----------
    by : tuple of str
        The names of the columns that segment the rows.
    fdr : float
        The false discovery rate: the expected share of calibrated segments among those flagged is
        at most this.
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
    def recalibrated(self) -> bool:
        """Whether segments were tested after recalibration too."""
        return any(s.flagged_recalibrated is not None for s in self.rows)

    @property
    def flagged_recalibrated(self) -> tuple[Segment, ...]:
        """The segments that are miscalibrated beyond chance after recalibration, the largest
        difference first.

        Differences of the mean from the event rate count as those of rows do, in standard errors.
        """

        def difference(segment: Segment) -> float:
            assert segment.mean_recalibrated is not None
            return abs(segment.mean_recalibrated - segment.event_rate) * math.sqrt(segment.n)

        return tuple(
            sorted((s for s in self.rows if s.flagged_recalibrated), key=difference, reverse=True)
        )

    @property
    def small(self) -> int:
        """The number of segments with too few rows to be tested."""
        return sum(s.small for s in self.rows)

    def first(self, n: int) -> tuple[Segment, ...]:
        """Return the `n` segments with the smallest p-values: the largest loss first, small
        segments last.
        """
        kept = sorted(self.rows, key=lambda s: (s.small, _least_p_value(s), -s.value))[:n]
        return tuple(sorted(kept, key=by_loss))

    def __str__(self) -> str:
        order = PYTHON.passage(segment_order(self))
        return "\n".join([*aligned(segment_lines(self), left=1), wrapped(order)])

    def __repr__(self) -> str:
        return (
            f"SegmentTable({len(self.rows)} segments, {len(self.flagged)} flagged, {self.small} "
            "small)"
        )


def by_loss(segment: Segment) -> tuple[bool, float, float]:
    """The largest loss first. SCDL comes second: it moves in steps, and many segments share a
    value.
    """
    return segment.small, -(segment.loss or 0.0), -segment.value


def _least_p_value(segment: Segment) -> float:
    """The smaller p-value of the two tests, of the original and of the recalibrated predictions."""
    tested = [segment.p_value, segment.p_value_recalibrated]
    return min((p for p in tested if p is not None), default=1.0)


def judge_segments(
    segments: Segments,
    sample: Sample,
    crossed: Crossed | None,
    *,
    miscalibrated: bool,
    fdr: float,
    task: DecisionTask | None,
    bounds: Mapping[str, Any],
    rng: np.random.Generator,
    step: Callable[[], None],
) -> SegmentTable:
    """Test every segment that is large enough, by the test that all rows together get.

    If all rows together are `miscalibrated`, or a segment is, segments are tested after
    recalibration too. `sample` has all rows, `crossed` their recalibrated predictions; `bounds` has
    the options of the guarantees.
    """
    columns = _tests(segments, fdr, rng, step)
    after: dict[str, Floats] = {}
    if crossed is not None and (miscalibrated or (columns["q_value"] <= fdr).any()):
        recalibrated = recalibrated_segments(segments, sample, crossed)
        tests = _tests(recalibrated, fdr, rng, _no_step)
        after = {f"{name}_recalibrated": tests[name] for name in ("p_value", "q_value")}
        after["mean_recalibrated"] = np.array(
            [own.mean_prediction for own in recalibrated.values()]
        )
    losses = _losses(segments, columns["p_value"], {"confidence_level": 1 - fdr, **bounds})
    listed = if_listed(task)
    rows = []
    for k, (key, own) in enumerate(segments.items()):
        numbers: dict[str, Any] = {
            name: None if np.isnan(column[k]) else float(column[k])
            for name, column in (columns | after).items()
        }
        q_value = numbers["q_value"]
        q_value_recalibrated = numbers.get("q_value_recalibrated")
        rows.append(
            Segment(
                key=tuple(map(str, key)) if isinstance(key, tuple) else (str(key),),
                n=own.n,
                groups=own.groups,
                effective_clusters=effective_clusters(own),
                share=own.total_weight / sample.total_weight,
                mean_prediction=own.mean_prediction,
                event_rate=own.event_rate,
                small=own.n < FEW_ROWS,
                flagged=q_value is not None and q_value <= fdr,
                flagged_recalibrated=None
                if q_value_recalibrated is None
                else q_value_recalibrated <= fdr,
                loss=losses[k].plug_in if k in losses else None,
                loss_bound=losses[k].bound if k in losses else None,
                **({} if listed is None else segment_costs(own, listed)),
                **numbers,
            )
        )
    return SegmentTable(by=segments.by, fdr=fdr, min_rows=FEW_ROWS, rows=tuple(rows))


def _tests(
    segments: Segments, fdr: float, rng: np.random.Generator, step: Callable[[], None]
) -> dict[str, Floats]:
    """The value, p-value and q-value of each segment."""
    if any(sample.units.unit is not None for sample in segments.values()):
        return _grouped_tests(segments, step)
    tests = segment_tests(segments, fdr=fdr, rng=rng, progress=lambda *_: step())
    return {name: getattr(tests, name) for name in ("value", "p_value", "q_value")}


def _no_step() -> None:
    """The tests after recalibration are not counted as steps: whether there are any is seen
    late.
    """


def recalibrated_segments(segments: Segments, sample: Sample, crossed: Crossed) -> Segments:
    """The segments with recalibrated predictions: of maps for all rows together, fitted to other
    folds.
    """
    if sample.grid is None:
        assert segments.whole is not None
        whole = segments.whole.with_predictions(crossed.mean(lambda deal: deal.pooled[deal.entry]))
        return Segments.from_places(whole, segments.by, segments.places)
    assert crossed.cells is not None
    found = {}
    for key, own in segments.items():
        cells = own.pooled(sample.grid)
        place = np.searchsorted(sample.cells.slot, cells.cells.slot)
        found[key] = cells.with_predictions(crossed.cells.pooled[crossed.cells.entry[place]])
    return Segments.from_samples(found, segments.by)


def _grouped_tests(segments: Segments, step: Callable[[], None]) -> dict[str, Floats]:
    """Test each segment over its own groups, or over rows whose outcomes are shares: neither can be
    redrawn by row.
    """
    value, p_value = np.full((2, len(segments)), np.nan)
    # about single segments
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):
        for k, sample in enumerate(segments.values()):
            value[k] = soft_binned_cdl(sample)
            p_value[k] = grouped_test(sample) if sample.n >= FEW_ROWS else np.nan
            step()
    return {"value": value, "p_value": p_value, "q_value": adjusted(p_value, "bh")}


def _losses(segments: Segments, p_value: Floats, options: dict[str, Any]) -> dict[int, Guarantee]:
    """The guarantee of acting as is, for tested segments with the smallest p-values, by
    position.
    """
    keys = list(segments)
    found = {}
    for k in np.argsort(p_value)[:_BOUNDED].tolist():  # NaN, of those not tested, is last
        if np.isfinite(p_value[k]):
            with warnings.catch_warnings(action="ignore", category=FewRowsWarning):
                found[k] = guarantee(segments[keys[k]], response="as_is", **options)
    return found
