"""Compute the parts of an assessment, each once, from the sample alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from brolly.assessment import text
from brolly.assessment.advice import ThresholdAdvice, advise, thresholds
from brolly.assessment.components import DataSummary, Estimate, Histogram, TaskResult
from brolly.assessment.rate_intervals import rate_intervals
from brolly.assessment.reliability import Reliability, for_resampling, shown_grid
from brolly.assessment.result import Assessment
from brolly.assessment.segments import SegmentTable, judge_segments
from brolly.assessment.verdict import Evidence, Sentence, judge
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import Segments
from brolly.decisions.curve import RegretProfile, regret_curve
from brolly.decisions.grid import choose_grid
from brolly.decisions.task import DecisionTask
from brolly.errors import FewRowsWarning, InputError
from brolly.inference.bands import NullBand, null_band
from brolly.inference.calibration_test import CalibrationTest, calibration_test
from brolly.inference.guarantee import guarantee
from brolly.inference.guarantee_result import Guarantee
from brolly.inference.intervals import confidence_interval
from brolly.inference.loss_at_least import LossAtLeast, loss_at_least
from brolly.inference.soft_bins import soft_bins
from brolly.measures.catalogue import CATALOGUE
from brolly.measures.measure import Measure
from brolly.measures.soft_binned import soft_binned_profile

_DRAWS = 99  # samples that the intervals of the other measures are made of, from each population tried
_STEPS = 5  # of the computation beside measures and segments


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The options of `assess`, checked."""

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
        seed: int | None,
    ) -> Settings:
        """Check the options and put them together."""
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
            seed=seed,
        )

    def steps(self, segments: Segments | None) -> int:
        """Count the steps for progress."""
        return _STEPS + len(self.measures) + (0 if segments is None else len(segments))


def compute(
    sample: Sample, segments: Segments | None, settings: Settings, rng: np.random.Generator, step: Callable[[], None]
) -> Assessment:
    """Compute an assessment, calling `step` after each part; what it warns of is added by `with_warnings`."""
    level = settings.confidence_level
    profile, choice = soft_binned_profile(sample), choose_grid(sample)
    curve = regret_curve(sample, grid=shown_grid(choice, sample))
    bound = guarantee(sample, confidence_level=level)
    assert bound.grid is not None  # the response is "rounded"
    own = None if settings.task is None else TaskResult.of(sample, settings.task, bound.grid)
    step()
    # From coarser cells the draws of SCDL would be slow and tell less, so it is drawn from the whole sample.
    test = calibration_test(sample, n_resamples=settings.n_resamples, rng=rng)
    step()
    interval = _loss_interval(sample, curve, level, rng)
    step()
    reliability, null, advice = _against_chance(sample, curve, settings, rng)
    step()
    estimates = tuple(_estimate(measure, sample, level, rng, step) for measure in settings.measures)
    table = None
    if segments is not None:
        fdr = round(1 - level, 12)
        table = judge_segments(segments, sample.total_weight, profile.value, fdr=fdr, rng=rng, step=step)
    least = _least(sample, level, rng)
    step()
    evidence = _evidence(sample, settings, bound, least, curve, interval, test)
    return Assessment(
        name=None,
        summary=DataSummary.of(sample),
        verdict=judge(evidence, _more(evidence, own, table)),
        measures=estimates,
        reliability=reliability,
        histogram=Histogram.of(sample),
        regret=curve,
        null_band=null,
        loss_interval=interval,
        loss_at_least=least,
        profile=profile,
        grid_choice=choice,
        guarantee=bound,
        test=test,
        advice=advice,
        task=own,
        segments=table,
        confidence_level=level,
        tolerance=settings.tolerance,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
        warnings=(),
    )


def with_warnings(a: Assessment, notes: tuple[str, ...]) -> Assessment:
    """Return the assessment with warnings, which the verdict states at its end."""
    sentences = (Sentence(about="note", text=text.note(note)) for note in notes)
    return replace(a, warnings=notes, verdict=replace(a.verdict, sentences=(*a.verdict.sentences, *sentences)))


def _evidence(
    sample: Sample,
    settings: Settings,
    bound: Guarantee,
    least: LossAtLeast | None,
    curve: RegretProfile,
    interval: tuple[float, float],
    test: CalibrationTest,
) -> Evidence:
    assert curve.grid is not None
    assert bound.grid is not None  # the response is "rounded"
    return Evidence(
        n=sample.n,
        confidence_level=settings.confidence_level,
        tolerance=settings.tolerance,
        grid=bound.grid,
        bound=bound.bound,
        slack=bound.slack,
        at_least=None if least is None else least.bound,
        at_least_thresholds=() if least is None or least.task is None else least.task.thresholds,
        shown_grid=curve.grid,
        loss=curve.loss,
        loss_low=interval[0],
        loss_high=interval[1],
        worst_thresholds=() if curve.worst_task is None else curve.worst_task.thresholds,
        p_value=test.p_value,
        chance_value=test.null_quantile(settings.confidence_level),
        one_class=sample.event_rate in (0.0, 1.0),
    )


def _more(evidence: Evidence, task: TaskResult | None, segments: SegmentTable | None) -> tuple[Sentence, ...]:
    """What the verdict says about the user's own decision and the segments."""
    more = []
    if task is not None:
        more.append(Sentence(about="task", text=text.own_decision(task.regret, rejected=evidence.rejected)))
    if segments is not None:
        more.append(Sentence(about="segments", text=text.segments(segments)))
    return tuple(more)


def _least(sample: Sample, confidence_level: float, rng: np.random.Generator) -> LossAtLeast | None:
    """Prove a loss from below; None for compressed samples of unequal weights, which cannot be split in halves."""
    if sample.grid is not None and not sample._cell_table(sample.grid).has_equal_weights:
        return None
    return loss_at_least(sample, confidence_level=confidence_level, rng=rng)


def _loss_interval(
    sample: Sample, curve: RegretProfile, confidence_level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Estimate the largest loss of any decision in the population, acting on the grid of the regret curve."""
    grid = curve.grid
    assert grid is not None
    interval = confidence_interval(
        for_resampling(sample),
        measure=lambda redrawn: redrawn._on_grid(grid).loss,
        confidence_level=confidence_level,
        n_resamples=_DRAWS,
        rng=rng,
    )
    return max(interval.low, 0.0), min(interval.high, 1.0)


def _against_chance(
    sample: Sample, curve: RegretProfile, settings: Settings, rng: np.random.Generator
) -> tuple[Reliability, NullBand, tuple[ThresholdAdvice, ...]]:
    """Compute the bins and the regret beside what chance shows, and the advice for each threshold."""
    level, grid = settings.confidence_level, curve.grid
    assert grid is not None
    bins = soft_bins(sample, grid, confidence_level=level)
    at = thresholds(settings.task.thresholds if settings.task else ())
    null = null_band(for_resampling(sample), grid=grid, bins=grid, thresholds=at, confidence_level=level, rng=rng)
    rates, columns = rate_intervals(sample, confidence_level=level), (at, curve(at), null.regret_high)
    advice = tuple(
        advise(rates, mu, regret=regret, null_high=high)
        for mu, regret, high in zip(*(column.tolist() for column in columns), strict=True)
    )
    return Reliability.of(bins, null), null, advice


def _estimate(
    measure: Measure, sample: Sample, confidence_level: float, rng: np.random.Generator, step: Callable[[], None]
) -> Estimate:
    low = high = None
    if measure.has_interval:
        whole = measure.name == "soft_binned_cdl"
        rows, draws = (sample, 2 * _DRAWS + 1) if whole else (for_resampling(sample), _DRAWS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewRowsWarning)  # the interval of the loss has warned of what matters
            interval = confidence_interval(
                rows, measure=measure.name, confidence_level=confidence_level, n_resamples=draws, rng=rng
            )
        low, high = interval.low, interval.high
    step()
    return Estimate(measure=measure, value=measure(sample), low=low, high=high)
