"""The core set for clinical prediction models: discrimination, calibration, overall performance,
clinical utility.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any, ClassVar, NamedTuple

from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.result import Interval, Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import aligned, html_rows, percent, rows
from rainproof.core.units import Units
from rainproof.inference.auroc import auroc_interval
from rainproof.inference.estimates import (
    brier,
    has_few_clusters,
    observed_expected,
    pooled_predictions,
    rarer_in,
)
from rainproof.inference.logistic_estimates import calibration_intercept, calibration_slope
from rainproof.inference.options import Seed, check_share
from rainproof.inference.performance import NetBenefit, check_thresholds, decision_curves
from rainproof.verdict.summaries import BARS, Histogram, Reliability, reliability_curve

# of the area under the ROC curve; noise can be below 1/2, but 1 - p is not far better then
_LOW = 0.4
_QUANTILE = 3.09  # of the normal distribution: noise is called reversed once in a thousand times


def is_reversed(sample: Sample, area: float | None) -> bool:
    """Whether higher predictions go with fewer events, beyond what chance shows."""
    if area is None or area > _LOW:
        return False
    n = min(sample.ungrouped().effective_n, sample.n_draws)
    events = n * sample.event_rate
    if sample.design.strata is not None:
        n = sample.n
        events = sample.events
    # 0 where the weights of the outcomes differ by more than rounding shows
    pairs = events * (n - events)
    # Mann-Whitney; less with ties
    return pairs > 0 and area < 0.5 - _QUANTILE * math.sqrt((n + 1) / (12 * pairs))


class ClinicalNumber(NamedTuple):
    """A number of the core set: the field that has it, its name in a table and on a tile, and the
    value of a perfect forecast.
    """

    field: str
    text: str
    short: str
    perfect: str


NUMBERS = (
    ClinicalNumber("auroc", "AUROC (C-statistic)", "AUROC", "1"),
    ClinicalNumber("observed_expected", "observed : expected events", "O:E ratio", "1"),
    ClinicalNumber("calibration_intercept", "calibration intercept", "Calibration intercept", "0"),
    ClinicalNumber("calibration_slope", "calibration slope", "Calibration slope", "1"),
    ClinicalNumber("brier_score", "Brier score", "Brier score", "0"),
    ClinicalNumber("brier_skill", "Brier skill (scaled Brier)", "Brier skill", "1"),
)

_RARE = 0.05  # a mean prediction below which bars are narrower
_MOST_BARS = 1024
# rows of an outcome, or groups where it occurs: with fewer the intervals were seen to fail
_FEW = 10


@result_class
class ClinicalPerformance(Result):
    """What reports on clinical prediction models are expected to give, in the order of the STRATOS
    core set.

    Intervals are approximate, each by itself. They do not use the statement "perfect" as a
    hypothesis.

    Attributes
    ----------
    auroc : Interval or None
        Discrimination. None if all outcomes are the same.
    observed_expected : Interval or None
        Events over the sum of the predictions: below 1, risks are predicted too high.
    calibration_intercept, calibration_slope : Interval or None
        Of the logistic regression of the outcome on the logit of the prediction; the intercept at
        slope 1. A slope below 1: predictions are too extreme. None where it does not exist (`notes`
        says why).
    brier_score, brier_skill : Interval or None
        The Brier score, and the share by which it is below that of the event rate as a forecast for
        every row.
    net_benefit : NetBenefit
        Clinical utility: the decision curve.
    reliability : Reliability
        The calibration plot.
    risk_distribution : Histogram
        The distribution of predictions, and that of rows with the event.
    event_rate : float
    confidence_level : float
    n : int
    groups : int or None
    notes : tuple of str
        Why a number is missing.
    """

    _kind: ClassVar = "clinical_performance"

    auroc: Interval | None
    observed_expected: Interval | None
    calibration_intercept: Interval | None
    calibration_slope: Interval | None
    brier_score: Interval
    brier_skill: Interval | None
    net_benefit: NetBenefit
    reliability: Reliability
    risk_distribution: Histogram
    event_rate: float
    confidence_level: float
    n: int
    groups: int | None
    notes: tuple[str, ...]

    def table(self) -> list[tuple[str, str, str]]:
        """Return name, estimate with interval, and the value of a perfect forecast, as text."""
        lines = []
        for number in NUMBERS:
            value = getattr(self, number.field)
            shown = "not defined" if value is None else str(value)
            lines.append((number.text, shown, number.perfect))
        return lines

    def __str__(self) -> str:
        lines = [(text, value, f"perfect: {perfect}") for text, value, perfect in self.table()]
        return "\n".join([self._caption(), *aligned(lines, left=3), *self.notes])

    def _repr_html_(self) -> str:
        lines = html_rows(["measure", "estimate", "perfect"], self.table())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><caption>{escape(self._caption())}</caption>{lines}</table>{notes}"

    def _caption(self) -> str:
        of = f" in {self.groups:,} groups" if self.groups is not None else ""
        level = percent(self.confidence_level)
        return (
            f"{rows(self.n)}{of}, event rate {percent(round(self.event_rate, 5))}; {level} "
            "intervals in brackets"
        )


def clinical_performance(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    rng: Seed = None,
) -> ClinicalPerformance:
    """Compute the core set of performance measures for a clinical prediction model.

    It is what TRIPOD+AI asks for and the STRATOS initiative recommends: AUROC, a calibration plot,
    net benefit with a decision curve, and the distribution of risks by outcome; with calibration
    intercept and slope, observed : expected and the Brier score beside them.

    Explained in docs/guide/clinical.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    thresholds : array_like, optional
        The thresholds of the decision curve, in (0, 1). Default: 0.01, 0.02, ..., 0.99.
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site): rows of a group may depend on each other, groups must
        be independent. The calibration plot treats rows as independent.
    confidence_level : float
        The level of the intervals.
    rng : None, int or Generator
        The source of randomness of the calibration plot's band.

    Returns
    -------
    ClinicalPerformance
        Prints the table; `plot()` draws the three pictures.

    Notes
    -----
    The intervals treat the model as fixed: for data that it was fitted to they are of no use. With
    ten rows of the rarer outcome or more about 95% of 95% intervals held in simulations, also where
    the slope is not 1, and about 91% with groups of very unequal sizes;
    docs/benchmarks/study-tests.md has the measured coverage. With fewer than ten rows (or groups) a
    note says not to rely on them; with fewer than 20 groups they allow for one more. The variance
    of an estimate is that of the residuals, and is larger for larger values of the quantity by as
    much as the residuals are skewed, as that of Wilson's interval is for a rate. `assess` says what
    to do with the forecast; this is for the report that reviewers expect.

    References
    ----------
    Van Calster and others (2025), "Evaluation of performance measures in predictive artificial
    intelligence models to support medical decisions" (STRATOS), arXiv:2412.10288. Collins and
    others (2024), "TRIPOD+AI statement", doi:10.1136/bmj-2023-078378.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> y = rng.random(4000) < p**2
    >>> print(rainproof.clinical_performance(y, p, rng=0))
    4,000 rows, event rate 32.85%; 95% intervals in brackets
    AUROC (C-statistic)         0.865 (0.853 to 0.876)   perfect: 1
    observed : expected events  0.661 (0.637 to 0.686)   perfect: 1
    calibration intercept       -1.05 (-1.12 to -0.968)  perfect: 0
    calibration slope           1.19 (1.11 to 1.27)      perfect: 1
    Brier score                 0.171 (0.165 to 0.177)   perfect: 0
    Brier skill (scaled Brier)  0.225 (0.188 to 0.261)   perfect: 1
    """
    level = check_share(confidence_level, "confidence_level")
    mu = check_thresholds(thresholds)
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, groups=groups
    )
    plot = reliability_curve(sample.ungrouped(), confidence_level=level, rng=rng)
    return core_set(sample, mu, level, plot)


def core_set(
    sample: Sample, mu: Floats, confidence_level: float, reliability: Reliability
) -> ClinicalPerformance:
    """Compute the numbers of the core set, the decision curve and the risk distribution, beside a
    calibration plot.
    """
    units, prob = pooled_predictions(sample)
    intercept = calibration_intercept(units, prob, confidence_level)
    slope = calibration_slope(units, prob, confidence_level)
    score, skill = brier(units, prob, confidence_level)
    found = auroc_interval(sample, units, prob, confidence_level)
    return ClinicalPerformance(
        auroc=found,
        observed_expected=observed_expected(units, prob, confidence_level),
        calibration_intercept=intercept,
        calibration_slope=slope,
        brier_score=score,
        brier_skill=skill,
        net_benefit=decision_curves(units, {"forecast": prob}, mu, confidence_level),
        reliability=reliability,
        risk_distribution=Histogram.of(sample, _bars(float(units.share @ prob))),
        event_rate=sample.event_rate,
        confidence_level=confidence_level,
        n=sample.n,
        groups=sample.groups,
        notes=_notes(found is None, units, intercept, slope),
    )


def _bars(mean: float) -> int:
    """How many bars show the distribution of predictions with this mean: near 0 and 1 narrow ones
    are needed.
    """
    rarer = max(min(mean, 1 - mean), 1e-9)
    return min(BARS << max(0, math.ceil(math.log2(_RARE / rarer))), _MOST_BARS)


def _notes(
    one_class: bool, units: Units, intercept: Interval | None, slope: Interval | None
) -> tuple[str, ...]:
    notes = []
    if one_class:
        notes = [
            (
                "All outcomes are the same: AUROC, calibration intercept and slope, and Brier "
                "skill are not defined."
            )
        ]
    elif intercept is None:
        both = "intercept and slope are" if slope is None else "intercept is"
        notes = [f"The calibration {both} not defined: some predictions are 0 or 1, or nearly so."]
    elif slope is None:
        notes = [
            (
                "The calibration slope is not defined: predictions are all equal, or separate the "
                "outcomes."
            )
        ]
    few = float(f"{units.rarer:.3g}")  # as it is printed: a sum of shares is ten up to rounding
    if few < _FEW:
        draws = ("group" if units.design.clustered else "row") + "s" * (few != 1)
        notes.append(f"Only {few:.3g} {draws} of the rarer outcome: do not rely on the intervals.")
    elif has_few_clusters(units):
        said = rarer_in(units)
        notes.append(
            f"{said[0].upper()}{said[1:]}: intervals allow for one more cluster, as large as the "
            "largest."
        )
    return tuple(notes)
