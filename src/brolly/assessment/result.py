"""The assessment: one object that holds all there is to say about a forecast."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.assessment.advice import ThresholdAdvice
from brolly.assessment.components import DataSummary, Estimate, Histogram, RegretBand, Reliability, TaskResult
from brolly.assessment.segments import SegmentTable
from brolly.assessment.verdict import Verdict
from brolly.core.atomic_write import write_atomic
from brolly.decisions.curve import RegretProfile
from brolly.decisions.grid import GridChoice
from brolly.decisions.text import decision_with
from brolly.inference.calibration_test import CalibrationTest
from brolly.inference.guarantee import Guarantee
from brolly.measures.soft_binned import SoftBinnedProfile

if TYPE_CHECKING:
    from brolly.plots import Figure

SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Assessment:
    """All there is to say about a forecast: print it for the verdict, ``plot()`` it, write it with ``to_html(path)``.

    Attributes
    ----------
    name : str or None
        What the forecast is called, if `assess_many` was told.
    summary : DataSummary
        What was assessed: ``n``, ``event_rate`` and so on.
    verdict : Verdict
        What may be said of it in words: ``grade``, ``headline``, ``sentences``.
    measures : tuple of Estimate
        Every measure: ``value``, ``low``, ``high``, ``measure.actionable``; ``a["soft_binned_cdl"]`` is one by name.
    reliability : Reliability
        How often it happened against what was said, in the soft bins of `shown_grid`, with intervals and the band of a
        perfectly calibrated forecast.
    histogram : Histogram
        How the predictions are spread.
    regret : RegretProfile
        The regret curve on the same grid: what trusting the forecast costs at each threshold, and whom it hurts most.
    regret_band : RegretBand
        What a perfectly calibrated forecast would show.
    loss_interval : tuple of float
        Between which values the worst decision's loss on new rows lies, acting on the same grid.
    profile : SoftBinnedProfile
        SCDL on each grid, and where it balances.
    grid_choice : GridChoice
        The loss of acting on each grid.
    guarantee : Guarantee
        What nobody loses more than on new rows.
    test : CalibrationTest
        Of perfect calibration.
    advice : tuple of ThresholdAdvice
        For about two hundred thresholds what to do differently.
    task : TaskResult or None
        What the user's own decision gave up.
    segments : SegmentTable or None
        The same for each segment.
    resolved : bool
        Whether SCDL is that of the rows, and not just the least that the compression can tell.
    confidence_level, tolerance : float
        At which level it speaks; which share of the stakes may be lost before it matters.
    n_resamples : int
        How many draws the test took.
    seed : int or None
        Of the random numbers, if one was given.
    warnings : tuple of str
        Reasons to read it with care.
    """

    name: str | None
    summary: DataSummary
    verdict: Verdict
    measures: tuple[Estimate, ...]
    reliability: Reliability
    histogram: Histogram
    regret: RegretProfile
    regret_band: RegretBand
    loss_interval: tuple[float, float]
    profile: SoftBinnedProfile
    grid_choice: GridChoice
    guarantee: Guarantee
    test: CalibrationTest
    advice: tuple[ThresholdAdvice, ...]
    task: TaskResult | None
    segments: SegmentTable | None
    resolved: bool
    confidence_level: float
    tolerance: float
    n_resamples: int
    seed: int | None
    warnings: tuple[str, ...]

    @property
    def shown_grid(self) -> int:
        """The grid of the reliability diagram, the regret curve and the advice."""
        return self.reliability.grid

    def __getitem__(self, name: str) -> Estimate:
        return {e.measure.name: e for e in self.measures}[name]

    def advice_at(self, threshold: float) -> ThresholdAdvice:
        """The advice for whoever acts from a threshold on (the nearest that there is advice for)."""
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
        """`to_dict` as JSON, written to `path` (whole or not at all) if one is given."""
        return as_json(self.to_dict(), path)

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON."""
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
            "guarantee": {**self.guarantee.to_dict(), "words": str(self.guarantee)},
            "test": self._test(),
            "advice": {
                "grid": self.shown_grid,
                "thresholds": [found.to_dict() for found in self.advice],
                "words": self._said("precision"),
            },
            "task": self.task and self.task.to_dict(),
            "segments": self.segments and self.segments.to_dict(),
        }

    def _regret(self) -> dict[str, Any]:
        worst = self.regret.worst_task
        words = None if worst is None else decision_with(worst.thresholds)
        low, high = self.loss_interval
        ends = {"loss_low": low, "loss_high": high}
        return {**self.regret.to_dict(), **ends, **self.regret_band.to_dict(), "worst_task_words": words}

    def _profile(self) -> dict[str, Any]:
        scdl = {e.measure.name: e for e in self.measures}.get("soft_binned_cdl")
        return {
            **self.profile.to_dict(),
            "low": scdl and scdl.low,
            "high": scdl and scdl.high,
            "reciprocals": (1 / self.profile.grids).tolist(),
            "resolved": self.resolved,
        }

    def _test(self) -> dict[str, Any]:
        high = self.test.null_quantile(self.confidence_level)
        return {**self.test.to_dict(), "null_high": high, "words": self._said("trust")}

    def _said(self, about: str) -> str:
        return next(sentence.text for sentence in self.verdict.sentences if sentence.about == about)

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
        head = "<tr><th>measure</th><th>value</th><th>interval</th><th>a small value bounds the regret of</th></tr>"
        name = "" if self.name is None else f"<h4>{escape(self.name)}</h4>"
        return f"<div>{name}{self.verdict._repr_html_()}<table>{head}{rows}</table></div>"


def as_json(document: dict[str, Any], path: str | Path | None) -> str:
    """A result as JSON, written if a path is given."""
    text = json.dumps(document, allow_nan=False, indent=1)
    if path is not None:
        write_atomic(Path(path), text + "\n")
    return text


def _span(e: Estimate) -> str:
    return "" if e.low is None or e.high is None else f"{e.low:.4g} to {e.high:.4g}"
