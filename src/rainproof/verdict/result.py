"""The assessment of a forecast: the verdict, and everything that it rests on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import field
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rainproof.core import VERSION
from rainproof.core.arrays import Floats
from rainproof.core.curve import flagged
from rainproof.core.documents import check_replaced
from rainproof.core.files import check_suffix, write_atomic
from rainproof.core.result import Result, once, plain, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import one_line
from rainproof.decisions.regret_curves import RegretCurve
from rainproof.decisions.values import ForecastValue, forecast_value, value_beside
from rainproof.errors import RainproofWarning
from rainproof.inference.bands import NullBand, band_of_chance, soft_bins
from rainproof.inference.calibration_tests import CalibrationTest
from rainproof.inference.guarantees import Guarantee
from rainproof.inference.proven_gains import ProvenGain, worth
from rainproof.measures.catalogue import Measure
from rainproof.measures.scdl import SoftBinnedProfile
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.verdict.advice import ThresholdAdvice, advise, rate_intervals, thresholds
from rainproof.verdict.calibration import Calibration
from rainproof.verdict.clinical import ClinicalPerformance, core_set
from rainproof.verdict.costs import TaskResult
from rainproof.verdict.evidence import CrossFitted, Evidence
from rainproof.verdict.renderer import PYTHON, Renderer
from rainproof.verdict.segments import SegmentTable
from rainproof.verdict.summaries import (
    DataSummary,
    Estimate,
    Histogram,
    Reliability,
    for_resampling,
)
from rainproof.verdict.verdict import Verdict, judge

SCHEMA = 3
BAND_DRAWS = 199  # enough for a band that is drawn, not tested
_POINTS = 801  # of a curve in JSON
ADVICE_METHOD = (
    "Advice against the forecast is right for all thresholds at once with the stated "
    "confidence. It is about the average over the range of predictions named, not about each "
    "prediction in it."
)


_WRITTEN = (  # as they are
    *(
        "name",
        "confidence_level",
        "tolerance",
        "n_resamples",
        "seed",
        "warnings",
        "verdict",
        "measures",
        "reliability",
    ),
    *("histogram", "guarantee", "rounded_guarantee", "task", "segments", "worth"),
)
# of the evidence
_ESTIMATES = ("calibration", "skill", "skill_as_is", "range_costs", "auroc", "gain")


class Reported(Result):
    """One assessment, or several: what has a report."""

    __slots__ = ()

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        preset: Literal["clinical"] | None = None,
        overwrite: bool = False,
        renderer: Renderer = PYTHON,
    ) -> str:
        """Return the report as one self-contained HTML page, and write it to `path` if one is
        given.

        The preset "clinical" has the core set of measures for clinical prediction models first. A
        file that is no report is replaced only with `overwrite`. The `renderer` says whether
        commands are those of Python or of a shell.
        """
        from rainproof.report import to_html

        options: Any = {"title": title, "preset": preset, "overwrite": overwrite}
        return to_html(self, path, renderer=renderer, **options)  # type: ignore[arg-type]

    def to_dict_by(self, renderer: Renderer) -> dict[str, Any]:
        """Return `to_dict` with the verdict in the words of a renderer: those of a shell, say."""
        verdict: Verdict = self.verdict  # type: ignore[attr-defined]
        return {**self.to_dict(), "verdict": verdict.rendered_by(renderer).to_dict()}

    def to_json(self, path: str | Path | None = None, *, overwrite: bool = False) -> str:
        """Return `to_dict` as JSON, and write it to `path` if one is given (completely or not at
        all).

        A file that holds no such result is replaced only with `overwrite`.
        """
        if path is not None:
            check_suffix(Path(path), "path", ".json")
            check_replaced(Path(path), "result", overwrite=overwrite)
        text = json.dumps(self.to_dict(), allow_nan=False, indent=1)
        if path is not None:
            write_atomic(Path(path), text + "\n")
        return text


@result_class
class Assessment(Reported):
    """What `assess` returns: print it for the verdict, draw it with ``plot()``, write a report with
    ``to_html(path)``.

    Attributes
    ----------
    name : str or None
        The name of the forecast, in `assess_many`.
    summary : DataSummary
        The size of the sample: ``n``, ``event_rate`` and so on.
    verdict : Verdict
        ``grade``, ``rule`` and ``threshold``; in words ``headline``, ``reason``, ``next_step``; and
        all details.
    calibration : Calibration
        Is it honest: ``p_value``, ``direction``, ``mean_prediction``, ``event_rate`` and so on.
    evidence : Evidence
        What the verdict rests on: calibration, skill, what recalibration gains, the guarantees.
    measures : tuple of Estimate
        Every measure: ``value``, ``measure``; ``a["soft_binned_cdl"]`` is one by name. These, and
        the next six, are computed when they are first asked for: the verdict needs none of them.
    worth : ProvenGain or None
        What the forecast as it is provably gains over no forecast at some threshold. None where
        rows of unequal weight are compressed.
    reliability : Reliability
        The reliability diagram on `shown_grid`.
    histogram : Histogram
        The distribution of the predictions.
    value : ForecastValue
        What the forecast is worth at each threshold on these rows, as it is and, cross-validated,
        recalibrated. A pickle or a deep copy has as many points as a chart can show.
    null_band : NullBand
        The gain over no forecast, the regret and the event rates that a perfectly calibrated
        forecast with these predictions shows by chance.
    advice : tuple of ThresholdAdvice
        What to do differently, for about two hundred thresholds.
    regret : RegretCurve
        The regret curve on `shown_grid`: the loss at each threshold, and the decision with the
        largest loss.
    profile : SoftBinnedProfile
        SCDL on each grid, and the grid m* that decides its value.
    guarantee : Guarantee
        A proven upper bound of the expected loss of every decision, acting on the probabilities as
        they are.
    rounded_guarantee : Guarantee
        The same, acting on probabilities that are rounded at random to `shown_grid`, against all
        changes of actions.
    recalibrator : Recalibrator or None
        The map to recalibrate with, and its certificate. None where rows of unequal weight are
        compressed.
    test : CalibrationTest
        The test of perfect calibration.
    task : TaskResult or None
        The loss of the user's own decision.
    segments : SegmentTable or None
        SCDL of each segment, tested with allowance for their number.
    confidence_level, tolerance : float
        The confidence level of each statement; the expected loss, as a share of what is at stake,
        that is acceptable.
    n_resamples : int
        The number of resamples of the test.
    seed : int or None
        The seed of the random numbers, if one was given.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    _later = (
        "measures",
        "worth",
        "null_band",
        "reliability",
        "advice",
        "value",
        "histogram",
        "clinical",
    )
    _from = ("_sample", "_measures", "_streams", "_crossed")
    name: str | None
    summary: DataSummary
    evidence: Evidence
    regret: RegretCurve
    profile: SoftBinnedProfile
    guarantee: Guarantee
    rounded_guarantee: Guarantee
    recalibrator: Recalibrator | None
    test: CalibrationTest | None
    task: TaskResult | None
    segments: SegmentTable | None
    confidence_level: float
    tolerance: float
    n_resamples: int
    seed: int | None
    warnings: tuple[str, ...]
    _sample: Sample = field(compare=False)
    _measures: Sequence[Measure] = field(compare=False)
    _streams: list[np.random.Generator] = field(compare=False)
    _crossed: CrossFitted | None = field(compare=False)
    _found: dict[str, Any] = field(default_factory=dict, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, (kind, values) = Reported.__reduce__(self)
        values["_found"]["value"] = self.value.thinned(_POINTS)
        return rebuild, (kind, values)

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return judge(self.evidence, self.task, self.segments, self.warnings)

    @property
    @once
    def measures(self) -> tuple[Estimate, ...]:
        """Every measure, on these rows; values that need care are not warned of again."""
        with warnings.catch_warnings(action="ignore", category=RainproofWarning):
            return tuple(Estimate.of(measure, measure(self._sample)) for measure in self._measures)

    @property
    def calibration(self) -> Calibration:
        """Is it honest, and how is it off."""
        return self.evidence.calibration

    @property
    @once
    def worth(self) -> ProvenGain | None:
        """What the forecast as it is provably gains over no forecast; None where draws cannot be
        told apart.
        """
        if not self._sample.units.divisible:
            return None
        stream = deepcopy(self._streams[0]).spawn(1)[0]
        within = self.regret.threshold_range
        return worth(self._sample.at_edges(), self.confidence_level, stream, within)

    @property
    @once
    def clinical(self) -> ClinicalPerformance:
        """What reports on clinical prediction models give (see `clinical_performance`)."""
        return core_set(self._sample, self._thresholds, self.confidence_level, self.reliability)

    @property
    @once
    def reliability(self) -> Reliability:
        """The reliability diagram on `shown_grid`."""
        bins = soft_bins(
            self._sample.ungrouped(), self.shown_grid, confidence_level=self.confidence_level
        )
        return Reliability.of(bins, self.null_band)

    @property
    @once
    def histogram(self) -> Histogram:
        """The distribution of the predictions."""
        return Histogram.of(self._sample)

    @property
    @once
    def value(self) -> ForecastValue:
        """What the forecast is worth at each threshold on these rows, as it is and,
        cross-validated, recalibrated.
        """
        sample = self._sample
        within = self.regret.threshold_range
        if self._crossed is not None:
            return value_beside(sample, self._crossed.table(), "cross-fitted", within)
        if self.recalibrator is not None:  # nothing can be fitted to so few rows, or to one outcome
            return value_beside(sample, sample.distinct(), "given", within)
        return forecast_value(sample, threshold_range=within)

    @property
    @once
    def null_band(self) -> NullBand:
        """What a perfectly calibrated forecast with these predictions shows by chance, for rows
        drawn one by one.
        """
        alone = for_resampling(self._sample.ungrouped())
        grid = self.shown_grid
        return band_of_chance(
            alone, self._thresholds, grid, grid, self.confidence_level, BAND_DRAWS, self._streams
        )

    @property
    @once
    def advice(self) -> tuple[ThresholdAdvice, ...]:
        """What to do differently, for about two hundred thresholds."""
        at = self._thresholds
        rates = rate_intervals(self._sample, confidence_level=self.confidence_level)
        hits, alarms, *_ = flagged(self._sample.distinct(), at)
        benefit = hits - alarms * at / (1 - at)
        columns = (at, self.regret(at), benefit, self.null_band.regret_high)
        return tuple(
            advise(rates, mu, regret=regret, net_benefit=benefit, null_high=high)
            for mu, regret, benefit, high in zip(
                *(column.tolist() for column in columns), strict=True
            )
        )

    @property
    def _thresholds(self) -> Floats:
        """Those that there is advice for."""
        own = self.task.task.thresholds if self.task else ()
        return thresholds(own, self._sample.event_rate, self.regret.threshold_range)

    @property
    def shown_grid(self) -> int:
        """The grid of the reliability diagram and of the regret curve."""
        assert self.rounded_guarantee.grid is not None
        return self.rounded_guarantee.grid

    def __getitem__(self, name: str) -> Estimate:
        return {e.measure.name: e for e in self.measures}[name]

    def advice_at(self, threshold: float) -> ThresholdAdvice:
        """Return the advice for the nearest threshold that there is advice for."""
        return min(self.advice, key=lambda found: abs(found.threshold - threshold))

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment in built-in types, ready for JSON."""
        return self.to_dict_by(PYTHON)

    def to_dict_by(self, renderer: Renderer) -> dict[str, Any]:
        """Return the same in the words of a renderer."""
        null = self.null_band
        found = self.recalibrator
        curve = self.value.thinned(_POINTS)  # no more points than a chart can show
        points = ("event_rate", "threshold", "value", "value_recalibrated", "value_perfect")
        chance = {"null_threshold": null.thresholds}
        told = {
            **{name: getattr(self, name) for name in _WRITTEN},
            "verdict": self.verdict.rendered_by(renderer),
            **{name: getattr(self.evidence, name) for name in _ESTIMATES},
            "regret": {
                **self.regret.to_dict(),
                **chance,
                "null_low": null.regret_low,
                "null_high": null.regret_high,
                "null_highest": null.regret_limit,
            },
            "profile": {
                **self.profile.to_dict(),
                "reciprocals": 1 / self.profile.grids,
                "resolved": self.profile.resolved,
            },
            "recalibration": found
            and {
                "method": found.method_,
                "map": found.map_,
                "certificate": found.certificate_,
                "candidates": found.candidates_,
            },
            "value": {
                **{name: getattr(curve, name) for name in points},
                **chance,
                "null_low": null.value_low,
                "null_high": null.value_high,
            },
            "test": self.test
            and {
                **self.test.to_dict(),
                "null_high": self.test.null_quantile(self.confidence_level),
            },
            "advice": {"method": ADVICE_METHOD, "thresholds": self.advice},
        }
        about = {
            "result": "assessment",
            "schema": SCHEMA,
            "rainproof": VERSION,
            **self.summary.to_dict(),
        }
        return about | {name: plain(value) for name, value in told.items()}

    def __repr__(self) -> str:
        name = "" if self.name is None else f"{self.name!r}, "
        return (
            f"Assessment({name}{self.verdict.grade!r}, bound={self.guarantee.bound:.6g}, "
            f"n={self.summary.n})"
        )

    def __str__(self) -> str:
        return str(self.verdict)

    def _repr_html_(self) -> str:
        name = "" if self.name is None else f"<h4>{escape(one_line(self.name))}</h4>"
        return f"<div>{name}{self.verdict._repr_html_()}</div>"
