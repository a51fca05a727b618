"""The assessment of a forecast: the verdict, and everything that it rests on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.assessment.advice import ThresholdAdvice
from brolly.assessment.components import DataSummary, Estimate, Histogram, TaskResult
from brolly.assessment.reliability import Reliability
from brolly.assessment.segments import SegmentTable
from brolly.assessment.text import ADVICE_METHOD
from brolly.assessment.verdict import Verdict
from brolly.core.atomic_write import write_atomic
from brolly.decisions.curve import RegretProfile
from brolly.decisions.grid import GridChoice
from brolly.inference.bands import NullBand
from brolly.inference.calibration_test import CalibrationTest
from brolly.inference.guarantee_result import Guarantee
from brolly.inference.loss_at_least import LossAtLeast
from brolly.measures.soft_binned import SoftBinnedProfile

if TYPE_CHECKING:
    from brolly.plots import Figure

SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Assessment:
    """What `assess` returns: print it for the verdict, draw it with ``plot()``, write a report with ``to_html(path)``.

    Attributes
    ----------
    name : str or None
        The name of the forecast, in `assess_many`.
    summary : DataSummary
        The size of the sample: ``n``, ``event_rate`` and so on.
    verdict : Verdict
        The verdict in words: ``grade``, ``headline``, ``sentences``.
    measures : tuple of Estimate
        Every measure: ``value``, ``low``, ``high``, ``measure``; ``a["soft_binned_cdl"]`` is one by name.
    reliability : Reliability
        The reliability diagram on `shown_grid`.
    histogram : Histogram
        The distribution of the predictions.
    regret : RegretProfile
        The regret curve on `shown_grid`: the loss at each threshold, and the decision with the largest loss.
    null_band : NullBand
        The regret and the event rates that a perfectly calibrated forecast with these predictions shows by chance.
    loss_interval : tuple of float
        An interval of the largest loss of any decision in the population, acting on `shown_grid`: an estimate by
        `confidence_interval`, not a proof.
    loss_at_least : LossAtLeast or None
        A proven lower bound of somebody's expected loss, acting on the predictions as they are. None for compressed
        samples of unequal weights.
    profile : SoftBinnedProfile
        SCDL on each grid, and the grid m* that decides its value.
    grid_choice : GridChoice
        The loss of acting on each grid.
    guarantee : Guarantee
        A proven upper bound of everybody's expected loss, acting on rounded predictions.
    test : CalibrationTest
        The test of perfect calibration.
    advice : tuple of ThresholdAdvice
        What to do differently, for about two hundred thresholds.
    task : TaskResult or None
        The loss of the user's own decision.
    segments : SegmentTable or None
        SCDL of each segment, tested with allowance for their number.
    confidence_level, tolerance : float
        The confidence level of each statement; the expected loss, as a share of the stakes, that is acceptable.
    n_resamples : int
        The number of resamples of the test.
    seed : int or None
        The seed of the random numbers, if one was given.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    name: str | None
    summary: DataSummary
    verdict: Verdict
    measures: tuple[Estimate, ...]
    reliability: Reliability
    histogram: Histogram
    regret: RegretProfile
    null_band: NullBand
    loss_interval: tuple[float, float]
    loss_at_least: LossAtLeast | None
    profile: SoftBinnedProfile
    grid_choice: GridChoice
    guarantee: Guarantee
    test: CalibrationTest
    advice: tuple[ThresholdAdvice, ...]
    task: TaskResult | None
    segments: SegmentTable | None
    confidence_level: float
    tolerance: float
    n_resamples: int
    seed: int | None
    warnings: tuple[str, ...]

    @property
    def shown_grid(self) -> int:
        """The grid of the reliability diagram and of the regret curve."""
        return self.reliability.grid

    def __getitem__(self, name: str) -> Estimate:
        return {e.measure.name: e for e in self.measures}[name]

    def advice_at(self, threshold: float) -> ThresholdAdvice:
        """Return the advice for the nearest threshold that there is advice for."""
        return min(self.advice, key=lambda found: abs(found.threshold - threshold))

    def plot(self, *, figsize: tuple[float, float] = (11.0, 8.5), dpi: float | None = None) -> Figure:
        """Draw the four panels of `brolly.plots.overview` in one Matplotlib figure (`figsize` in inches)."""
        from brolly.plots import overview

        return overview(self, figsize=figsize, dpi=dpi)

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str:
        """Return the report as one self-contained HTML page, and write it to `path` if one is given."""
        from brolly.report import to_html

        return to_html(self, path, title=title)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as JSON, and write it to `path` if one is given (completely or not at all)."""
        return as_json(self.to_dict(), path)

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment in built-in types, ready for JSON."""
        return {
            "result": "assessment",
            "schema": SCHEMA,
            "brolly": version("brolly"),
            "name": self.name,
            **self.summary.to_dict(),
            "confidence_level": self.confidence_level,
            "tolerance": self.tolerance,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "warnings": list(self.warnings),
            "verdict": self.verdict.to_dict(),
            "measures": [e.to_dict() for e in self.measures],
            "reliability": self.reliability.to_dict(),
            "histogram": self.histogram.to_dict(),
            "regret": self._regret(),
            "profile": self._profile(),
            "grid_choice": self.grid_choice.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "loss_at_least": self.loss_at_least and self.loss_at_least.to_dict(),
            "test": {**self.test.to_dict(), "null_high": self.test.null_quantile(self.confidence_level)},
            "advice": {
                "method": ADVICE_METHOD,
                "thresholds": [found.to_dict() for found in self.advice],
            },
            "task": self.task and self.task.to_dict(),
            "segments": self.segments and self.segments.to_dict(),
        }

    def _regret(self) -> dict[str, Any]:
        low, high = self.loss_interval
        null = self.null_band
        return {
            **self.regret.to_dict(),
            "loss_low": low,
            "loss_high": high,
            "null_threshold": null.thresholds.tolist(),
            "null_low": null.regret_low.tolist(),
            "null_high": null.regret_high.tolist(),
            "null_highest": null.regret_limit,
        }

    def _profile(self) -> dict[str, Any]:
        scdl = {e.measure.name: e for e in self.measures}.get("soft_binned_cdl")
        return {
            **self.profile.to_dict(),
            "low": scdl and scdl.low,
            "high": scdl and scdl.high,
            "reciprocals": (1 / self.profile.grids).tolist(),
            "resolved": self.profile.resolved,
        }

    def __repr__(self) -> str:
        name = "" if self.name is None else f"{self.name!r}, "
        scdl = f"SCDL={self.profile.value:.6g}, bound={self.guarantee.bound:.6g}, p_value={self.test.p_value:.3g}"
        return f"Assessment({name}{self.verdict.grade!r}, {scdl}, n={self.summary.n})"

    def __str__(self) -> str:
        return str(self.verdict)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(e.measure.symbol)}</td><td>{e.value:.4g}</td><td>{_span(e)}</td>"
            f"<td>{escape(e.measure.actionable)}</td></tr>"
            for e in self.measures
        )
        head = "<tr><th>measure</th><th>value</th><th>interval</th><th>whose regret a small value bounds</th></tr>"
        name = "" if self.name is None else f"<h4>{escape(self.name)}</h4>"
        return f"<div>{name}{self.verdict._repr_html_()}<table>{head}{rows}</table></div>"


def as_json(document: dict[str, Any], path: str | Path | None) -> str:
    """Return a document as JSON, and write it if a path is given."""
    text = json.dumps(document, allow_nan=False, indent=1)
    if path is not None:
        write_atomic(Path(path), text + "\n")
    return text


def _span(e: Estimate) -> str:
    return "" if e.low is None or e.high is None else f"{e.low:.4g} to {e.high:.4g}"
