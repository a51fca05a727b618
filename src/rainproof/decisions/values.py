"""What a forecast is worth at each threshold, and what answering rather than abstaining risks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.alignment import check_aligned
from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats, Ints, read_only
from rainproof.core.cells import sum_cells
from rainproof.core.columns import ColumnNames
from rainproof.core.curve import flagged
from rainproof.core.curve import recalibrated as isotonic_blocks
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.text import percent, these_rows
from rainproof.core.validation import ThresholdRange, as_columns, check_probabilities, check_range
from rainproof.decisions.tasks import show_threshold

Recalibration = Literal["isotonic", "given", "cross-fitted"]

# Values up to this share of the largest value of perfect foresight are rounding error.
_ROUNDING = 1e-12


def in_true_positives(amount: Floats, threshold: Floats) -> Floats:
    """Return a curve in true positives: over ``1 - mu``, at mu = 1 the limit from the left."""
    if threshold[-1] < 1:
        return read_only(amount / (1 - threshold))
    inner = amount[:-1] / (1 - threshold[:-1])
    last = math.copysign(math.inf, amount[-1])
    if amount[-1] == 0:  # the last piece is a line to 0: its ratio to 1 - mu is constant
        last = inner[-1]
    return read_only(np.append(inner, last))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ForecastValue(Result):
    """What a forecast is worth on these rows, at every decision threshold mu. Call it with
    thresholds.

    The value is per row, where a false alarm costs mu and a miss 1 - mu. The curves are linear
    between the points; where one jumps the threshold occurs twice, with both values.

    Attributes
    ----------
    threshold : ndarray
        The thresholds, from 0 to 1, or from end to end of the range.
    value : ndarray
        What acting on the predictions gains over no forecast: the better of always and never
        acting.
    value_recalibrated : ndarray
        The same after recalibration.
    value_perfect : ndarray
        The same for perfect foresight: the most that any forecast can gain.
    relative : ndarray
        The relative value, ``value / value_perfect``: 1 is perfect, 0 as good as no forecast,
        negative worse. Limits where nothing is at stake (thresholds 0 and 1); NaN if all outcomes
        are the same.
    event_rate : float
        The share of events among the rows.
    recalibration : {"isotonic", "given", "cross-fitted"}
        What `value_recalibrated` is of: the isotonic regression on these same rows, an upper
        estimate; the recalibrated predictions that were given; or, in an assessment, those by maps
        that were fitted to other rows.
    grid : int or None
        The grid of the sample, if it is compressed.
    threshold_range : ThresholdRange or None
        The range of thresholds asked for; None for all.
    n : int
        The number of rows.
    """

    _kind = "forecast_value"
    threshold: Floats
    value: Floats
    value_recalibrated: Floats
    value_perfect: Floats
    relative: Floats
    event_rate: float
    recalibration: Recalibration
    grid: int | None
    threshold_range: ThresholdRange | None
    n: int

    @property
    def net_benefit(self) -> Floats:
        """The net benefit of acting on the predictions, in true positives per row: the units of
        decision curves.

        It is ``(value + max(0, event_rate - mu)) / (1 - mu)``; at mu = 1 the limit from the left.
        """
        with_always = self.value + np.maximum(0.0, self.event_rate - self.threshold)
        return in_true_positives(with_always, self.threshold)

    def __call__(self, threshold: ArrayLike) -> Any:
        """Return the value of acting on predictions that are at least the threshold, in [0, 1] or
        in the range.
        """
        mu = check_probabilities(threshold, "threshold", self.threshold_range)
        return self.interpolated(mu, self.value)

    def interpolated(self, threshold: Floats, column: Floats) -> Any:
        """Return one of the curves, such as `value_recalibrated`, at thresholds that were checked
        already.
        """
        # At a jump this is the first of its two points: the value from the left, where predictions
        # equal to the threshold are acted on.
        right = np.searchsorted(self.threshold, threshold)
        left = np.maximum(right - 1, 0)
        width = self.threshold[right] - self.threshold[left]
        share = np.ones(np.shape(threshold))
        np.divide(threshold - self.threshold[left], width, out=share, where=width > 0)
        value = (1 - share) * column[left] + share * column[right]
        # From the threshold 0 on every row is acted on, as without a forecast.
        return np.where(threshold == 0, 0.0, value)[()]

    def thinned(self, points: int) -> ForecastValue:
        """The same with about so many points of the curves, from 0 to 1: as many as a chart can
        show.
        """
        chosen = np.unique(np.linspace(0, len(self.threshold) - 1, points).astype(np.int64))
        names = ("threshold", "value", "value_recalibrated", "value_perfect", "relative")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def __str__(self) -> str:
        cases = these_rows(self.n)
        if self.threshold_range is not None:
            cases += f", for decisions {self.threshold_range},"
        comparison = "better than no forecast (always or never acting, whichever is better)"
        better = self._where(1.0)
        if better is None:
            comparison = f"never {comparison}"
        else:
            comparison += f" at {better}"
        sentences = [f"On {cases} the forecast is {comparison}."]
        known = np.flatnonzero(np.isfinite(self.relative))
        if not known.size:
            sentences.append("All outcomes are the same, so no forecast can be.")
        elif self.relative[known].max() > _ROUNDING:
            sentences.append(self._largest_relative_value(known))
        sentences.append(f"It is worse than no forecast at {self._where_worse()}.")
        return " ".join(sentences)

    def _largest_relative_value(self, known: Ints) -> str:
        """Say how large the relative value is at most: of equal ones, where most is at stake."""
        largest = self.relative[known].max()
        equal = known[self.relative[known] >= largest - _ROUNDING]
        best = int(equal[self.value_perfect[equal].argmax()])
        share = percent(round(float(self.relative[best]), 3))
        threshold = show_threshold(self.threshold[best])
        return (
            f"Its largest relative value is {share} of what perfect foresight gains, at the "
            f"threshold {threshold}."
        )

    def _where_worse(self) -> str:
        """Say at which thresholds the forecast is worse than none, and how much at most."""
        worse = self._where(-1.0)
        if worse is None:
            return "no threshold"
        lowest = int(self.value.argmin())
        false_alarm = show_threshold(self.threshold[lowest])
        miss = show_threshold(1 - self.threshold[lowest])
        loss = (
            f"by {-self.value[lowest]:.3g} per row, "
            f"where a false alarm costs {false_alarm} and a miss {miss}"
        )
        if len(self.value) == 1:
            return f"{worse}, {loss}"
        return f"{worse}; most at {false_alarm}: {loss}"

    def _where(self, sign: float) -> str | None:
        """Name the thresholds where the value is positive (sign 1) or negative (sign -1); None if
        there are none.

        The range that is named first is the one in which the value adds up to most.
        """
        largest = float(self.value_perfect.max())
        if largest == 0:  # all outcomes are the same
            largest = 1.0
        negligible = _ROUNDING * largest
        if len(self.value) == 1:
            if sign * self.value[0] > negligible:
                return f"the threshold {show_threshold(self.threshold[0])}"
            return None
        positive = _positive_ranges(self.threshold, sign * self.value, negligible)
        if positive is None:
            return None
        low = show_threshold(positive.low)
        high = show_threshold(positive.high)
        text = f"thresholds from {low} to {high}"
        if positive.others == 0:
            return text
        ranges = "range" if positive.others == 1 else "ranges"
        return f"{text} (and in {positive.others} other {ranges})"


class _PositiveRanges(NamedTuple):
    """The ranges of thresholds in which a value is positive: the main one, and how many others."""

    low: float
    high: float
    others: int


def _positive_ranges(threshold: Floats, value: Floats, negligible: float) -> _PositiveRanges | None:
    """Find where a curve of straight pieces is positive; None if it is nowhere.

    The main range is the one over which the value adds up to most.
    """
    highest = np.maximum(value[:-1], value[1:])
    piece = np.flatnonzero((highest > negligible) & (threshold[:-1] < threshold[1:]))
    if not piece.size:
        return None
    start = value[piece]
    end = value[piece + 1]
    left = threshold[piece]
    right = threshold[piece + 1]
    # A piece on which the value changes its sign counts from its zero, or up to it.
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = left + (right - left) * (start / (start - end))
    left = np.where(start < 0, zero, left)
    right = np.where(end < 0, zero, right)
    twice_area = (right - left) * (np.maximum(start, 0.0) + np.maximum(end, 0.0))
    # Pieces that touch are one range.
    range_number = np.append(0, np.cumsum(left[1:] > right[:-1]))
    areas = np.bincount(range_number, twice_area)
    main = (areas >= areas.max() * (1 - _ROUNDING)).argmax()  # the first of equals
    inside = np.flatnonzero(range_number == main)
    return _PositiveRanges(float(left[inside[0]]), float(right[inside[-1]]), len(areas) - 1)


def forecast_value(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    recalibrated: ArrayLike | None = None,
    threshold_range: float | tuple[float, float] | None = None,
) -> ForecastValue:
    r"""Compute what a forecast is worth at each decision threshold, on these rows.

    A calibration error says how far predictions are off. This says what they are good for: how much
    those who act if the prediction is at least their threshold gain, compared with the better of
    always and never acting. It stands beside what the recalibrated forecast gains, and perfect
    foresight.

    Explained in docs/guide/decisions.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).
    recalibrated : array_like of shape (n,), optional
        Recalibrated predictions of the same rows, best from a map that was fitted on other rows.
        Default: the isotonic regression on these rows themselves. No monotone map is worth more on
        these rows, so its value is an upper estimate: expect less on new rows. Not for compressed
        samples.
    threshold_range : float or (float, float), optional
        One threshold, or the range of thresholds, ends included. Default: all.

    Returns
    -------
    ForecastValue
        `value` at each `threshold`, `relative` (as a share of perfect foresight), `plot()`; prints
        where the forecast is worth something and where it is worse than none.

    Notes
    -----
    At threshold :math:`\mu` a false alarm costs :math:`\mu` and a miss :math:`1 - \mu`. With
    :math:`\pi` the event rate, never acting gains 0 and always acting :math:`\pi - \mu`, so

    .. math:: V(\mu) = \mathrm{E}[(y - \mu) 1\{p > \mu\}] - \max(0, \pi - \mu), \qquad
        e(\mu) = \min(\mu (1 - \pi), (1 - \mu) \pi)

    are the values of the forecast and of perfect foresight, and :math:`V/e` the relative value. Net
    benefit of decision curves is :math:`(V + \max(0, \pi - \mu)) / (1 - \mu)`. The gap between
    `value` and the value of the isotonic regression is the regret curve for monotone swaps; where V
    is negative, -V is the one for constant swaps.

    The curves are exact: linear between the predictions, the recalibrated predictions and
    :math:`\pi`. O(n log n). A compressed sample counts all predictions of a cell as equal to their
    mean. These are values on these rows, not bounds for the population.

    References
    ----------
    Richardson (2000), "Skill and relative economic value of the ECMWF ensemble prediction system",
    doi:10.1002/qj.49712656313. Vickers, Elkin (2006), "Decision curve analysis",
    doi:10.1177/0272989X06295361. Ehm, Gneiting, Jordan, Krüger (2016), doi:10.1111/rssb.12154 (the
    curve over thresholds: Murphy diagrams).

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < 0.3 * p
    >>> v = rainproof.forecast_value(y, p)
    >>> v([0.1, 0.2, 0.5]).round(4)
    array([ 0.01  , -0.0121, -0.1342])
    >>> print(v)
    On these 2,000 rows the forecast is better than no forecast (always or never acting, whichever
    is better) at thresholds from 0.00019 to 0.1809. Its largest relative value is 15.3% of what
    perfect foresight gains, at the threshold 0.1535. It is worse than no forecast at thresholds
    from 0.1809 to 0.9995; most at 0.6232: by 0.144 per row, where a false alarm costs 0.6232 and a
    miss 0.3768.
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    check_aligned(("y_true", y_true), ("y_prob", y_prob), ("recalibrated", recalibrated))
    within = check_range(threshold_range)
    if recalibrated is None:
        return value_beside(sample, isotonic_blocks(sample.distinct()), "isotonic", within)
    return value_beside(sample, _table(sample, recalibrated), "given", within)


def value_beside(
    sample: Sample,
    recalibrated: DistinctTable,
    recalibration: Recalibration,
    within: ThresholdRange | None,
) -> ForecastValue:
    """Return the value of the predictions beside that of recalibrated ones, of rows with the same
    event rate.
    """
    table = sample.distinct()
    positive = float(table.positive.sum())
    negative = float(table.negative.sum())
    event_rate = positive / (positive + negative)
    # Between these all curves are linear. At the event rate the better of always and never changes.
    edges = np.unique(np.concatenate([[0.0, event_rate, 1.0], table.prob, recalibrated.prob]))
    skipped = 0
    if within is not None:
        inside = edges[(edges > within.low) & (edges < within.high)]
        # The piece before the range ends in the value from the left at the lower end of the range.
        edges = np.unique([np.nextafter(within.low, 0.0), *within, *inside])
        skipped = 1 if within.low > 0 else 0
    threshold = np.repeat(edges, 2)[1 + skipped : -1]
    value, relative = _values(table, edges, event_rate)
    value_recalibrated, _ = _values(recalibrated, edges, event_rate)
    non_event_rate = negative / (positive + negative)
    return ForecastValue(
        threshold=threshold,
        value=value[skipped:],
        value_recalibrated=value_recalibrated[skipped:],
        value_perfect=np.minimum(threshold * non_event_rate, (1 - threshold) * event_rate),
        relative=relative[skipped:],
        event_rate=event_rate,
        recalibration=recalibration,
        grid=sample.grid,
        threshold_range=within,
        n=sample.n,
    )


def value_at(table: DistinctTable, threshold: Floats) -> Floats:
    """Return the value at some thresholds, of acting from them on, without the whole curve."""
    hits, false_alarms, misses, _ = flagged(table, threshold)
    always_acting = np.maximum(hits + misses - threshold, 0.0)
    value: Floats = hits * (1 - threshold) - false_alarms * threshold - always_acting
    return value


def _table(sample: Sample, recalibrated: ArrayLike) -> DistinctTable:
    """Return the distinct predictions of the rows after recalibration, with their outcomes."""
    sample.require_rows("recalibrated needs")
    names = ColumnNames(prob="recalibrated")
    rows = as_columns(sample.y_true, recalibrated, sample.sample_weight, None, names=names)
    sum_cells(rows, 2)  # which refuses bad values
    return DistinctTable.from_rows(rows.outcome, rows.prob, rows.weight)


def _values(table: DistinctTable, edges: Floats, event_rate: float) -> tuple[Floats, Floats]:
    """Return the value and the relative value on both sides of the pieces between the edges: right
    of each edge but the last, and left of the next, in turn.
    """
    starts = edges[:-1]
    ends = edges[1:]
    below_rate = ends <= event_rate
    value_right, relative_right = _values_at(table, starts, below_rate, event_rate, ties=False)
    value_left, relative_left = _values_at(table, ends, below_rate, event_rate, ties=True)
    value = np.stack([value_right, value_left], axis=1).ravel()
    relative = np.stack([relative_right, relative_left], axis=1).ravel()
    return value, relative


def _values_at(
    table: DistinctTable,
    mu: Floats,
    below_rate: NDArray[np.bool_],
    event_rate: float,
    *,
    ties: bool,
) -> tuple[Floats, Floats]:
    """Return the value and the relative value at thresholds; with `ties`, a prediction equal to the
    threshold is acted on.

    Below the event rate the alternative is always to act, so that the rows that are not acted on
    decide: those without the event save mu, events lose 1 - mu. Above it the alternative is never
    to act, and those that are acted on decide. So no large numbers cancel, and divided by the value
    of foresight nothing is lost at thresholds near 0 and 1.
    """
    hits, false_alarms, misses, correct_rejections = flagged(table, mu, ties=ties)
    correct = np.where(below_rate, correct_rejections, hits)
    errors = np.where(below_rate, misses, false_alarms)
    gain = np.where(below_rate, mu, 1 - mu)  # by a correct one, over the alternative
    loss = np.where(below_rate, 1 - mu, mu)  # by an error
    # All rows with the outcome of the correct ones. 1 - event_rate would lose digits where almost
    # every row is an event.
    possible = correct + np.where(below_rate, false_alarms, misses)
    if not 0 < event_rate < 1:
        possible = np.full(len(mu), np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lost = np.where(errors > 0, errors * (loss / gain), 0.0)
        relative = (correct - lost) / possible
    return correct * gain - errors * loss, relative


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class RiskCoverage(Result):
    """Risk against coverage, on these rows, for whoever answers from a threshold on and abstains
    below it.

    Attributes
    ----------
    threshold : ndarray
        The distinct predictions, from the largest down.
    coverage : ndarray
        The share of rows that are answered: those with a prediction of at least the threshold.
    risk : ndarray
        The share of the answered rows whose answer is wrong.
    area : float
        The area under the curve (AURC): the average risk over all coverages. It is small if few
        answers are wrong, or if the wrong ones have the smallest predictions; a calibrated forecast
        can have a large one.
    n : int
        The number of rows.
    """

    _kind = "risk_coverage"
    threshold: Floats
    coverage: Floats
    risk: Floats
    area: float
    n: int


def risk_coverage(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> RiskCoverage:
    r"""Compute how often one answers, and how often the answer is wrong, at each threshold of
    confidence.

    The event is that the answer is right, and the prediction is the stated confidence in it. The
    curve describes these rows; it says how well confidence orders the answers, not whether it is
    calibrated. To choose the threshold from what a wrong answer costs, state the decision:
    ``DecisionTask.from_costs(false_positive=penalty, false_negative=1, actions=["abstain",
    "answer"])``.

    Explained in docs/guide/language-models.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        Whether the answer is right: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The stated probability that it is, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row.
    pos_label : object, optional
        The label of a right answer, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).

    Returns
    -------
    RiskCoverage

    Notes
    -----
    With weights :math:`w_i`, the coverage at t is :math:`\phi(t) = \sum_{p_i \ge t} w_i / \sum_i
    w_i`, and the risk is :math:`\sum_{p_i \ge t} w_i (1 - y_i) / \sum_{p_i \ge t} w_i`. Rows with
    equal predictions are answered together. The area is :math:`\sum_t (\phi(t) - \phi(t+))\,
    \mathrm{risk}(t)` over the distinct predictions t. A compressed sample answers cell by cell.

    References
    ----------
    Geifman, El-Yaniv (2017), arXiv:1705.08500. Geifman, Uziel, El-Yaniv (2019), arXiv:1805.08206
    (the area).

    Examples
    --------
    >>> import rainproof
    >>> curve = rainproof.decisions.risk_coverage([1, 1, 0, 1, 0], [0.9, 0.8, 0.8, 0.6, 0.3])
    >>> curve.coverage.tolist()
    [0.2, 0.6, 0.8, 1.0]
    >>> curve.risk.round(3).tolist()
    [0.0, 0.333, 0.25, 0.4]
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    table = sample.distinct()
    wrong = np.cumsum(table.negative[::-1])
    correct = np.cumsum(table.positive[::-1])
    answered = wrong + correct
    coverage = answered / answered[-1]
    risk = wrong / answered
    return RiskCoverage(
        threshold=table.prob[::-1].copy(),
        coverage=coverage,
        risk=risk,
        area=float(np.diff(coverage, prepend=0.0) @ risk),
        n=sample.n,
    )
