"""How an assessment comes about: every part worked out once, from the sample alone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from brolly.assessment.advice import ThresholdAdvice, advise, thresholds
from brolly.assessment.components import DataSummary, Estimate, Histogram, RegretBand, Reliability, TaskResult
from brolly.assessment.result import Assessment
from brolly.assessment.segments import SegmentTable, judge_segments
from brolly.assessment.verdict import Evidence, Sentence, about_segments, about_task, judge
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import Segments
from brolly.decisions.curve import RegretProfile, regret_curve
from brolly.decisions.grid import GridChoice, choose_grid
from brolly.decisions.task import DecisionTask
from brolly.decisions.text import decision_with
from brolly.errors import FewRowsWarning, InputError
from brolly.inference.bands import null_band
from brolly.inference.calibration_test import CalibrationTest, calibration_test
from brolly.inference.guarantee import Guarantee, guarantee
from brolly.inference.intervals import confidence_interval
from brolly.inference.soft_bins import soft_bins
from brolly.measures.catalogue import CATALOGUE
from brolly.measures.measure import Measure
from brolly.measures.soft_binned import SoftBinnedProfile, soft_binned_profile

_COARSEST, _FINEST = 8, 128  # grids whose bins make a picture
_DRAWS = 99  # samples that the intervals of the other measures are made of, from each population looked at
_CELLS = 1 << 11  # what they are drawn from: it moves no measure by more than about 1/2048, and each draw is a ms
_STEPS = 5  # of the work beside measures and segments


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What was asked for."""

    task: DecisionTask | None
    confidence_level: float
    tolerance: float
    n_resamples: int
    measures: tuple[Measure, ...]
    seed: int | None

    @classmethod
    def checked(
        cls,
        task: DecisionTask | None,
        confidence_level: float,
        tolerance: float,
        n_resamples: int,
        measures: Iterable[str] | None,
        rng: Any,
    ) -> Settings:
        """The settings, if they can be met."""
        if task is not None and not isinstance(task, DecisionTask):
            raise InputError(f"task must be a DecisionTask; it is {task!r}")
        for name, value in {"confidence_level": confidence_level, "tolerance": tolerance}.items():
            if not isinstance(value, int | float | np.number) or not 0 < value < 1:
                raise InputError(f"{name} must lie in (0, 1); it is {value!r}")
        names = [measures] if isinstance(measures, str) else CATALOGUE if measures is None else list(measures)
        unknown = [name for name in names if name not in CATALOGUE]
        if unknown:
            rule = "measures must be names that brolly.list_measures() lists"
            raise InputError.from_offenders(rule, len(unknown), repr(unknown[0]))
        return cls(
            task=task,
            confidence_level=float(confidence_level),
            tolerance=float(tolerance),
            n_resamples=n_resamples,
            measures=tuple(CATALOGUE[name] for name in CATALOGUE if name in names),
            seed=int(rng) if isinstance(rng, int | np.integer) else None,
        )

    def steps(self, segments: Segments | None) -> int:
        """How many steps the work has."""
        return _STEPS + len(self.measures) + (0 if segments is None else len(segments))


@dataclass(frozen=True, kw_only=True, slots=True)
class AssessmentParts:
    """All parts, before they are put into words."""

    settings: Settings
    sample: Sample
    profile: SoftBinnedProfile
    choice: GridChoice
    curve: RegretProfile
    promise: Guarantee
    test: CalibrationTest
    at_worst: tuple[float, float]
    reliability: Reliability
    band: RegretBand
    advice: tuple[ThresholdAdvice, ...]
    task: TaskResult | None
    estimates: tuple[Estimate, ...]
    segments: SegmentTable | None

    def assessment(self, notes: tuple[str, ...]) -> Assessment:
        """The whole, with the verdict."""
        settings, sample = self.settings, self.sample
        return Assessment(
            name=None,
            summary=DataSummary.of(sample),
            verdict=judge(self._evidence(), self._more(notes)),
            measures=self.estimates,
            reliability=self.reliability,
            histogram=Histogram.of(sample),
            regret=self.curve,
            regret_band=self.band,
            loss_interval=self.at_worst,
            profile=self.profile,
            grid_choice=self.choice,
            guarantee=self.promise,
            test=self.test,
            advice=self.advice,
            task=self.task,
            segments=self.segments,
            resolved=sample.grid is None or 2 * self.profile.m_star <= sample.grid,
            confidence_level=settings.confidence_level,
            tolerance=settings.tolerance,
            n_resamples=settings.n_resamples,
            seed=settings.seed,
            warnings=notes,
        )

    def _evidence(self) -> Evidence:
        worst = self.curve.worst_task
        return Evidence(
            n=self.sample.n,
            confidence_level=self.settings.confidence_level,
            tolerance=self.settings.tolerance,
            grid=self.reliability.grid,
            loss=self.curve.loss,
            at_least=self.at_worst[0],
            bound=self.promise.bound,
            bound_grid=self.promise.grid,
            slack=self.promise.slack,
            p_value=self.test.p_value,
            chance_value=self.test.null_quantile(self.settings.confidence_level),
            one_class=self.sample.event_rate in (0.0, 1.0),
            whom=None if worst is None else decision_with(worst.thresholds),
        )

    def _more(self, notes: tuple[str, ...]) -> tuple[Sentence, ...]:
        more = [Sentence(about="note", text=f"Note: {note}.") for note in notes]
        if self.task is not None:
            off = self._evidence().off
            more.append(about_task(self.task.task, self.task.regret.value, self.task.advice[:2], off=off))
        if self.segments is not None:
            flagged = tuple(segment.label for segment in self.segments.flagged)
            more.append(about_segments(len(self.segments.rows), flagged, self.segments.small))
        return tuple(more)


def compute_parts(
    sample: Sample, segments: Segments | None, settings: Settings, rng: np.random.Generator, step: Callable[[], None]
) -> AssessmentParts:
    """Every part of an assessment, in the order of what it costs."""
    confidence_level = settings.confidence_level
    profile, choice = soft_binned_profile(sample), choose_grid(sample)
    grid = shown_grid(choice, sample)
    promise = guarantee(sample, confidence_level=confidence_level)
    own = None if settings.task is None else TaskResult.of(sample, settings.task, promise.grid)
    step()
    # SCDL is drawn from all there is: from coarser cells its draws would not balance, which is slow and says less.
    test = calibration_test(sample, n_resamples=settings.n_resamples, rng=rng)
    step()
    at_worst = confidence_interval(
        _fewer(sample), measure=_loss_on(grid), confidence_level=confidence_level, n_resamples=_DRAWS, rng=rng
    )
    step()
    reliability, band, advice = _against_chance(sample, grid, settings, rng)
    step()
    estimates = tuple(_estimate(measure, sample, confidence_level, rng, step) for measure in settings.measures)
    fdr = round(1 - confidence_level, 12)
    table = None if segments is None else judge_segments(segments, sample.total_weight, fdr=fdr, rng=rng, step=step)
    step()
    return AssessmentParts(
        settings=settings,
        sample=sample,
        profile=profile,
        choice=choice,
        curve=regret_curve(sample, grid=grid),
        promise=promise,
        test=test,
        at_worst=(max(at_worst.low, 0.0), min(at_worst.high, 1.0)),
        reliability=reliability,
        band=band,
        advice=advice,
        task=own,
        estimates=estimates,
        segments=table,
    )


def shown_grid(choice: GridChoice, sample: Sample) -> int:
    """The coarsest grid that loses no more than the best one, within a standard error: its bins say the most each."""
    close = choice.losses <= choice.loss + 1 / math.sqrt(sample.effective_n)
    grid = int(choice.grids[close][0])
    return min(max(grid, _COARSEST), _FINEST, sample.grid or _FINEST)


def _fewer(sample: Sample) -> Sample:
    """What can be redrawn a thousand times: the rows if they are few, else their compression."""
    return sample.compress(_CELLS) if (sample.grid or sample.n) > _CELLS else sample


def _loss_on(grid: int) -> Callable[[Sample], float]:
    """What the worst decision loses that acts on predictions rounded to ``1/grid``."""
    return lambda sample: sample._on_grid(grid).loss


def _against_chance(
    sample: Sample, grid: int, settings: Settings, rng: np.random.Generator
) -> tuple[Reliability, RegretBand, tuple[ThresholdAdvice, ...]]:
    """What is seen in each bin and at each threshold, beside what chance would show."""
    confidence_level = settings.confidence_level
    bins = soft_bins(sample, grid, confidence_level=confidence_level)
    at = thresholds(settings.task.thresholds if settings.task else ())
    null = null_band(_fewer(sample), grid=grid, bins=grid, thresholds=at, confidence_level=confidence_level, rng=rng)
    place = np.searchsorted(null.at, bins.prediction)
    reliability = Reliability(bins=bins, null_low=null.rate_low[place], null_high=null.rate_high[place])
    band = RegretBand(threshold=at, low=null.regret_low, high=null.regret_high, highest=null.regret_limit)
    pairs = zip(at.tolist(), band.high.tolist(), strict=True)
    return reliability, band, tuple(advise(bins, mu, high) for mu, high in pairs)


def _estimate(
    measure: Measure, sample: Sample, confidence_level: float, rng: np.random.Generator, step: Callable[[], None]
) -> Estimate:
    low = high = None
    if measure.has_interval:
        rows, draws = (sample, 2 * _DRAWS + 1) if measure.name == "soft_binned_cdl" else (_fewer(sample), _DRAWS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewRowsWarning)  # the interval of the loss has warned of what matters
            interval = confidence_interval(
                rows, measure=measure.name, confidence_level=confidence_level, n_resamples=draws, rng=rng
            )
        low, high = interval.low, interval.high
    step()
    return Estimate(measure=measure, value=measure(sample), low=low, high=high)
