"""What a forecast is worth at each threshold, and what answering rather than abstaining risks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats, read_only
from rainproof.core.cells import sum_cells
from rainproof.core.curve import flagged
from rainproof.core.curve import recalibrated as isotonic_blocks
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import percent, these_rows
from rainproof.core.validation import (
    ColumnNames,
    ThresholdRange,
    as_rows,
    check_aligned,
    check_probabilities,
    check_range,
)
from rainproof.decisions.tasks import show_threshold

Recalibration = Literal["isotonic", "given", "cross-fitted"]

_ROUNDING = 1e-12  # values up to this share of the largest value of foresight are rounding error


def in_true_positives(amount: Floats, threshold: Floats) -> Floats:
    """Return a curve in true positives per row: over ``1 - mu``, at mu = 1 the limit from the left."""
    if threshold[-1] < 1:
        return read_only(amount / (1 - threshold))
    inner = amount[:-1] / (1 - threshold[:-1])
    # The last piece is a line; if it ends in 0, its ratio to 1 - mu is constant.
    last = math.copysign(math.inf, amount[-1]) if amount[-1] else inner[-1]
    return read_only(np.append(inner, last))


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
        return in_true_positives(
            self.value + np.maximum(0.0, self.event_rate - self.threshold), self.threshold
        )

    def __call__(self, threshold: ArrayLike) -> Any:
        """Return the value of acting on predictions that are at least the threshold, in [0, 1] or
        in the range.
        """
        return self._at(
            check_probabilities(threshold, "threshold", self.threshold_range), self.value
        )

    def thinned(self, points: int) -> ForecastValue:
        """The same with about so many points of the curves, from 0 to 1: as many as a chart can
        show.
        """
        some = np.unique(np.linspace(0, len(self.threshold) - 1, points).astype(np.int64))
        names = ("threshold", "value", "value_recalibrated", "value_perfect", "relative")
        return replace(self, **{name: getattr(self, name)[some] for name in names})

    def _at(self, mu: Floats, values: Floats) -> Any:
        """One of the curve's columns at thresholds."""
        at = self.threshold
        right = np.searchsorted(at, mu)  # the first point from mu on: a jump's value from the left
        left = np.maximum(right - 1, 0)
        share = np.divide(
            mu - at[left],
            at[right] - at[left],
            out=np.ones(np.shape(mu)),
            where=at[left] < at[right],
        )
        found = (1 - share) * values[left] + share * values[right]
        return np.where(mu == 0, 0.0, found)[()]  # from 0 on all is acted on, as without a forecast

    def __str__(self) -> str:
        better, worse = self._where(1.0), self._where(-1.0)
        than = "better than no forecast (always or never acting, whichever is better)"
        where = f"never {than}" if better is None else f"{than} at {better}"
        which = "" if self.threshold_range is None else f", for decisions {self.threshold_range},"
        said = [f"On {these_rows(self.n)}{which} the forecast is {where}."]
        some = np.flatnonzero(np.isfinite(self.relative))
        if some.size:  # among equal values, the one with most at stake
            equal = some[self.relative[some] >= self.relative[some].max() - _ROUNDING]
            best = int(equal[self.value_perfect[equal].argmax()])
            share, at = (
                percent(round(float(self.relative[best]), 3)),
                show_threshold(self.threshold[best]),
            )
            largest = f"Its largest relative value is {share} of what perfect foresight gains, at the threshold {at}."
            said += [largest] if self.relative[best] > _ROUNDING else []
        else:
            said.append("All outcomes are the same, so no forecast can be.")
        low = int(self.value.argmin())
        mu, miss = show_threshold(self.threshold[low]), show_threshold(1 - self.threshold[low])
        by = f"by {-self.value[low]:.3g} per row, where a false alarm costs {mu} and a miss {miss}"
        where = "no threshold" if worse is None else f"{worse}; most at {mu}: {by}"
        where = f"{worse}, {by}" if worse is not None and len(self.value) == 1 else where
        return " ".join([*said, f"It is worse than no forecast at {where}."])

    def _where(self, sign: float) -> str | None:
        """The thresholds at which the value has a sign, in words; None if there are none.

        The range that is named first is the one in which the value adds up to most.
        """
        least = _ROUNDING * (float(self.value_perfect.max()) or 1.0)
        if len(self.value) == 1:
            return (
                f"the threshold {show_threshold(self.threshold[0])}"
                if sign * self.value[0] > least
                else None
            )
        start, end = sign * self.value[:-1], sign * self.value[1:]
        left, right = self.threshold[:-1], self.threshold[1:]
        some = np.flatnonzero((np.maximum(start, end) > least) & (left < right))
        if not some.size:
            return None
        start, end, left, right = start[some], end[some], left[some], right[some]
        with np.errstate(divide="ignore", invalid="ignore"):
            root = left + (right - left) * (start / (start - end))
        left, right = np.where(start < 0, root, left), np.where(end < 0, root, right)
        # of the range that a piece belongs to
        number = np.append(0, np.cumsum(left[1:] > right[:-1]))
        area = np.bincount(number, (right - left) * (np.maximum(start, 0.0) + np.maximum(end, 0.0)))
        # the first of equals
        main = np.flatnonzero(number == (area >= area.max() * (1 - _ROUNDING)).argmax())
        first = (
            f"thresholds from {show_threshold(left[main[0]])} to {show_threshold(right[main[-1]])}"
        )
        others = len(area) - 1
        return first if not others else f"{first} (and in {others} other range{'s' * (others > 1)})"


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
    At threshold :math:`\mu` a false alarm costs :math:`\mu` and a miss :math:`1 - \mu`. With :math:`\pi` the event
    rate, never acting gains 0 and always acting :math:`\pi - \mu`, so

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
    doi:10.1002/qj.49712656313. Vickers, Elkin (2006), "Decision curve analysis", doi:10.1177/0272989X06295361.
    Ehm, Gneiting, Jordan, Krüger (2016), doi:10.1111/rssb.12154 (the curve over thresholds: Murphy diagrams).

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
    On these 2,000 rows the forecast is better than no forecast (always or never acting, whichever is better) at
    thresholds from 0.00019 to 0.1809. Its largest relative value is 15.3% of what perfect foresight gains, at the
    threshold 0.1535. It is worse than no forecast at thresholds from 0.1809 to 0.9995; most at 0.6232: by 0.144 per
    row, where a false alarm costs 0.6232 and a miss 0.3768.
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
    positive, negative = float(table.positive.sum()), float(table.negative.sum())
    rate = positive / (positive + negative)
    edges = np.unique(np.concatenate([[0.0, rate, 1.0], table.prob, recalibrated.prob]))
    first = 0
    # a piece before the range, which ends in the value from the left at its lower end
    if within is not None:
        inside, first = edges[(edges > within.low) & (edges < within.high)], int(within.low > 0)
        edges = np.unique([np.nextafter(within.low, 0.0), *within, *inside])
    value, relative = (column[first:] for column in _values(table, edges, rate))
    mu = np.repeat(edges, 2)[1 + first : -1]
    return ForecastValue(
        threshold=mu,
        value=value,
        value_recalibrated=_values(recalibrated, edges, rate)[0][first:],
        value_perfect=np.minimum(mu * (negative / (positive + negative)), (1 - mu) * rate),
        relative=relative,
        event_rate=rate,
        recalibration=recalibration,
        grid=sample.grid,
        threshold_range=within,
        n=sample.n,
    )


def value_at(table: DistinctTable, threshold: Floats) -> Floats:
    """Return the value at some thresholds, of acting from them on, without the whole curve."""
    hits, alarms, misses, _ = flagged(table, threshold)
    always = np.maximum(hits + misses - threshold, 0.0)
    value: Floats = hits * (1 - threshold) - alarms * threshold - always
    return value


def _table(sample: Sample, recalibrated: ArrayLike) -> DistinctTable:
    """The rows with other predictions."""
    sample._refuse_cells("recalibrated needs")
    names = ColumnNames(prob="recalibrated")
    read = as_rows(sample.y_true, recalibrated, sample.sample_weight, None, names=names)
    sum_cells(read, 2)  # which refuses bad values
    return DistinctTable.from_rows(read.label, read.prob, read.weight)


def _values(table: DistinctTable, edges: Floats, rate: float) -> tuple[Floats, Floats]:
    """Return the value and the relative value right of each edge but the last and left of the next,
    in turn.

    Below the event rate the alternative is always to act, so that the rows that are not acted on
    decide: those without the event save mu, events lose 1 - mu. Above it the alternative is never
    to act, and those that are acted on decide. So no large numbers cancel, and divided by the value
    of foresight nothing is lost at thresholds near 0 and 1.
    """
    found = []
    low = edges[1:] <= rate
    for ties, mu in ((False, edges[:-1]), (True, edges[1:])):
        hits, alarms, misses, rest = flagged(table, mu, ties=ties)
        saved, lost = np.where(low, rest, hits), np.where(low, misses, alarms)
        price, other = np.where(low, mu, 1 - mu), np.where(low, 1 - mu, mu)
        # All rows of the same outcome; 1 - rate would lose digits where almost every row is an
        # event.
        whole = saved + np.where(low, alarms, misses)
        whole = whole if 0 < rate < 1 else np.full(len(mu), np.nan)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = (saved - np.where(lost > 0, lost * (other / price), 0.0)) / whole
        found.append((saved * price - lost * other, relative))
    (right, right_relative), (left, left_relative) = found
    value, relative = (
        np.stack(pair, axis=1).ravel() for pair in ((right, left), (right_relative, left_relative))
    )
    return value, relative


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
    With weights :math:`w_i`, the coverage at t is :math:`\phi(t) = \sum_{p_i \ge t} w_i / \sum_i w_i`, and the risk
    is :math:`\sum_{p_i \ge t} w_i (1 - y_i) / \sum_{p_i \ge t} w_i`. Rows with equal predictions are answered together.
    The area is :math:`\sum_t (\phi(t) - \phi(t+))\, \mathrm{risk}(t)` over the distinct predictions t. A compressed
    sample answers cell by cell.

    References
    ----------
    Geifman, El-Yaniv (2017), arXiv:1705.08500. Geifman, Uziel, El-Yaniv (2019), arXiv:1805.08206 (the area).

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
    wrong, right = np.cumsum(table.negative[::-1]), np.cumsum(table.positive[::-1])
    answered = wrong + right
    coverage, risk = answered / answered[-1], wrong / answered
    return RiskCoverage(
        threshold=table.prob[::-1].copy(),
        coverage=coverage,
        risk=risk,
        area=float(np.diff(coverage, prepend=0.0) @ risk),
        n=sample.n,
    )
