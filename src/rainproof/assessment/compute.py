"""Compute the parts of an assessment, each once, from the sample alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from rainproof.assessment import text
from rainproof.assessment.advice import RARE, ThresholdAdvice, advise, thresholds
from rainproof.assessment.clinical import ClinicalValues
from rainproof.assessment.components import DataSummary, Histogram, MeasureValues
from rainproof.assessment.costs import Split, TaskResult
from rainproof.assessment.discrimination import is_reversed
from rainproof.assessment.rate_intervals import rate_intervals
from rainproof.assessment.reliability import GRIDS, Reliability, for_resampling, shown_grid
from rainproof.assessment.result import Assessment
from rainproof.assessment.segments import SegmentTable, judge_segments
from rainproof.assessment.verdict import Evidence, Sentence, judge
from rainproof.core.arrays import Ints
from rainproof.core.sample.sample import Sample
from rainproof.core.sample.segments import Segments
from rainproof.decisions.curve import RegretProfile, regret_curve
from rainproof.decisions.decision_curve import Acted
from rainproof.decisions.forecast_value import ForecastValue, forecast_value
from rainproof.decisions.grid import choose_grid
from rainproof.decisions.task import DecisionTask
from rainproof.errors import InputError
from rainproof.inference.bands import NullBand, null_band
from rainproof.inference.calibration_test import quick_test
from rainproof.inference.discrimination import auroc
from rainproof.inference.forecasts import Forecasts
from rainproof.inference.grouped_test import grouped_p_value
from rainproof.inference.guarantee import guarantee
from rainproof.inference.guarantee_result import Guarantee
from rainproof.inference.soft_bins import soft_bins
from rainproof.inference.switch_inputs import Pairs
from rainproof.inference.switching import harm_bound
from rainproof.inference.worth import Worth, worth, worth_of_choice
from rainproof.measures.catalogue import CATALOGUE
from rainproof.measures.measure import Measure
from rainproof.measures.scores import brier_score
from rainproof.measures.soft_binned import soft_binned_profile
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.recalibrator import Recalibrator

_STEPS = 6  # of the computation beside segments
_SHAPES = ("isotonic", "logistic")  # maps that show what a forecast is worth where a constant was chosen


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
            rule = "measures must be names that rainproof.list_measures() lists"
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
        return _STEPS + (0 if segments is None else len(segments))


def compute(
    sample: Sample,
    segments: Segments | None,
    group: Ints | None,
    settings: Settings,
    rng: np.random.Generator,
    step: Callable[[], None],
) -> Assessment:
    """Compute an assessment, calling `step` after each part; what it warns of is added by `with_warnings`."""
    level, sample = settings.confidence_level, sample._with_own_rows()
    summary = DataSummary.of(sample)
    as_is = guarantee(sample, confidence_level=level, groups=group, response="as_is")
    rounded = _rounded(sample, group, level)
    assert rounded.grid is not None
    curve = regret_curve(sample, grid=rounded.grid)
    step()
    recalibration = _recalibrate(sample, group, level, rng)
    step()
    test = None if group is not None else quick_test(sample, settings.n_resamples, rng)
    step()
    reliability, null, advice = _against_chance(sample, group, curve, settings, rng)
    step()
    profile, table = soft_binned_profile(sample), None
    if segments is not None:
        fdr = round(1 - level, 12)
        table = judge_segments(
            segments, sample.total_weight, profile.value, fdr=fdr, task=settings.task, rng=rng, step=step
        )
    own = None
    if settings.task is not None:
        own = TaskResult.of(sample, settings.task, rounded.grid, recalibration.rows, recalibration.split, level)
    step()
    evidence = Evidence(
        n=summary.n,
        event_rate=summary.event_rate,
        mean_prediction=float(reliability.bins.share @ reliability.bins.mean_prediction),
        brier_score=brier_score(sample),
        confidence_level=level,
        tolerance=settings.tolerance,
        worth=recalibration.worth,
        worth_recalibrated=recalibration.worth_recalibrated,
        as_is=as_is,
        rounded=rounded,
        method=None if recalibration.recalibrator is None else recalibration.recalibrator.method_,
        certificate=None if recalibration.recalibrator is None else recalibration.recalibrator.certificate_,
        ignored=recalibration.ignored,
        test=test,
        groups=as_is.groups,
        auroc=(area := auroc(sample)),
        is_reversed=is_reversed(sample, area, as_is.groups),
        p_grouped=None if group is None else grouped_p_value(Forecasts.all_of(sample, group)),
        rarer=_rarer(summary),
        constant=sample.grid is None and bool(np.ptp(sample.y_prob) == 0),
    )
    value = _value(sample, recalibration.recalibrator)
    step()
    return Assessment(
        name=None,
        summary=summary,
        verdict=judge(evidence, own, _more(table, group)),
        evidence=evidence,
        _measure_values=MeasureValues(settings.measures, sample),
        _clinical_values=ClinicalValues(sample, group, np.array([a.threshold for a in advice]), level, reliability),
        reliability=reliability,
        histogram=Histogram.of(sample),
        value=value,
        regret=curve,
        null_band=null,
        profile=profile,
        guarantee=as_is,
        rounded_guarantee=rounded,
        recalibrator=recalibration.recalibrator,
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


def _rounded(sample: Sample, group: Ints | None, level: float) -> Guarantee:
    """The guarantee for rounding to the grid that is shown: the bounds hold for all grids at once."""
    grid, finest = shown_grid(choose_grid(sample), sample), min(sample.grid or GRIDS[-1], GRIDS[-1])
    tried = [m for m in GRIDS if m <= finest] or [finest]
    found = guarantee(sample, confidence_level=level, groups=group, grid=tried)
    at = tried.index(grid)
    return replace(found, grid=grid, bound=float(found.bounds[at]), plug_in=float(found.plug_ins[at]))


def with_warnings(a: Assessment, notes: tuple[str, ...]) -> Assessment:
    """Return the assessment with warnings, which the verdict states at its end."""
    sentences = (Sentence(about="note", text=text.note(note)) for note in notes)
    return replace(a, warnings=notes, verdict=replace(a.verdict, sentences=(*a.verdict.sentences, *sentences)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Recalibration:
    """The recalibrator, what the forecast is worth as it is and recalibrated, and the rows in parts."""

    recalibrator: Recalibrator | None = None
    worth: Worth | None = None
    worth_recalibrated: Worth | None = None
    ignored: float | None = None
    rows: Forecasts | None = None
    split: Split | None = None


def _recalibrate(sample: Sample, group: Ints | None, level: float, rng: np.random.Generator) -> _Recalibration:
    """Recalibrate, and compare three forecasts: none (the event rate), as it is, recalibrated."""
    if sample.grid is not None and not sample._cells.has_equal_weights:
        return _Recalibration()  # rows of unequal weight that are compressed cannot be divided
    found = Recalibrator(confidence_level=level, rng=rng).fit(
        sample, groups=group
    )  # with a seed: the same as by itself
    (stream,) = rng.spawn(1)
    everything = Forecasts.all_of(sample, group)
    value = worth(everything, level, stream)
    fitted = found._training
    if fitted is None:
        return _Recalibration(recalibrator=found, worth=value, rows=everything)
    held = fitted.held_out[0]
    useful = found.map_
    if found.method_ == "constant":
        candidates = [c for c in found.candidates_ if c.method in _SHAPES]
        useful = METHODS[min(candidates, key=lambda c: c.shortfall).method](fitted.table())
    chooser = Forecasts(
        event=np.repeat([False, True], len(fitted.prob)),
        prob=np.tile(useful.apply(fitted.prob), 2),
        weight=fitted.weight.sum(axis=0).ravel(),
    )
    recalibrated = useful(held.prob)
    pairs = held.pairs(recalibrated, METHODS["constant"](fitted.table())(held.prob))
    return _Recalibration(
        recalibrator=found,
        worth=value,
        worth_recalibrated=worth_of_choice(chooser, replace(held, prob=recalibrated), level),
        ignored=_ignored(everything, pairs, 1 - level),
        rows=everything,
        split=Split(fitted=fitted, held=held, map=found.map_),
    )


def _ignored(rows: Forecasts, pairs: Pairs, delta: float) -> float:
    """No decision loses more than this by ignoring the recalibrated forecast.

    If all predictions are equal, others are at most as likely as an event that n draws have not shown.
    """
    if np.ptp(rows.prob) == 0:
        return float(-np.expm1(math.log(delta) / rows.pairs(rows.prob, rows.prob).sizes()[0]))
    return harm_bound(pairs.curve(), *pairs.sizes(), delta)


def _rarer(summary: DataSummary) -> int | None:
    """The number of rows with the rarer outcome, if it is rare."""
    share = min(summary.event_rate, 1 - summary.event_rate)
    return None if summary.weighted or share >= RARE else round(share * summary.n)


def _value(sample: Sample, recalibrator: Recalibrator | None) -> ForecastValue:
    """What the forecast is worth on these rows, as it is and recalibrated by the map."""
    if recalibrator is None or sample.grid is not None:
        return forecast_value(sample)
    rows = (sample.y_true, sample.y_prob)
    return forecast_value(*rows, sample_weight=sample.sample_weight, recalibrated=recalibrator.predict(sample.y_prob))


def _more(segments: SegmentTable | None, group: Ints | None) -> tuple[Sentence, ...]:
    """What the verdict says about segments."""
    if segments is None:
        return ()
    return (Sentence(about="segments", text=text.segments(segments, groups=group is not None)),)


def _against_chance(
    sample: Sample, group: Ints | None, curve: RegretProfile, settings: Settings, rng: np.random.Generator
) -> tuple[Reliability, NullBand, tuple[ThresholdAdvice, ...]]:
    """Compute the bins and the regret beside what chance shows, and the advice for each threshold."""
    level, grid = settings.confidence_level, curve.grid
    assert grid is not None
    bins = soft_bins(sample, grid, confidence_level=level)
    at = thresholds(settings.task.thresholds if settings.task else (), sample.event_rate)
    null = null_band(for_resampling(sample), grid=grid, bins=grid, thresholds=at, confidence_level=level, rng=rng)
    rates = rate_intervals(sample, confidence_level=level, group=group)
    acted = Acted.at(sample._distinct_table(), at, ties=True)
    columns = (at, curve(at), acted.true_positive - acted.false_positive * at / (1 - at), null.regret_high)
    advice = tuple(
        advise(rates, mu, regret=regret, net_benefit=benefit, null_high=high)
        for mu, regret, benefit, high in zip(*(column.tolist() for column in columns), strict=True)
    )
    return Reliability.of(bins, null), null, advice
