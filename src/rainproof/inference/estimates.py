r"""Estimates with approximate intervals that hold where events are few, from what each row adds to
an estimate.

An estimate is a mean of what rows add to it (their influence), so its variance V is a sum of
squares over draws. Where events are few, V is itself uncertain, and it is small together with the
estimate. With the third power sum K the variance at another value t of the quantity is about
:math:`V + (t - \hat t) K / V`, and the interval has all t with :math:`(t - \hat t)^2 \le q^2 (V +
(t - \hat t) K / V)`. For a count of events this is the score interval of Poisson's law, for a rate
nearly Wilson's; q is Student's quantile for the effective number of draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, stdtrit

from rainproof.core.arrays import Floats, Ints
from rainproof.core.result import Interval
from rainproof.core.sample import Sample
from rainproof.fits.logistic import fit_logistic
from rainproof.inference.options import bisected

# cases at either end of what is possible, added to those seen: without an event V would be 0
_UNSEEN = 0.5
_LEAST_FREEDOM = 0.1
_HALVINGS = 40
_PASSES = 2  # the variance at an end of the intercept is that of the end before
_TINY = 1e-100  # a variance of outcomes, of weights that differ by such a factor
# rows of the rarer outcome at which the variance of the rows counts as much as that of the model
_TRUST = 20.0
_ROUNDING = 1e-9  # of a sum of shares, by which 20 equal groups may seem to be fewer
_HARDLY = 1e-6  # below a whole number of groups, by rounding
# effective groups with the rarer outcome: of fewer no limit theorem says anything
FEW_CLUSTERS = 20.0


def skewed_ends(second: Any, third: Any, quantile: float) -> tuple[Floats, Floats]:
    """The lowest and highest distance from an estimate, from sums of squares and of third powers
    over draws.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = quantile**2 / 2 * np.where((second > 0) & (second < np.inf), third / second, 0.0)
    half = np.sqrt(shift**2 + quantile**2 * second)
    return shift - half, shift + half


@dataclass(frozen=True, kw_only=True, eq=False)
class Influence:
    """What an interval needs of rows: prediction, outcome, share of the weight, that of a single
    row, and the draw.
    """

    prob: Floats
    event: NDArray[np.bool_]
    share: Floats
    unit: Floats  # of one row: an entry may stand for many
    group: Ints | None = None
    groups: int | None = None
    # whether the number of rows with each outcome is given, and their weight with it
    stratified: bool = False
    clustered: bool = False  # whether groups have several rows, which may depend on each other

    @classmethod
    def of(cls, sample: Sample, *, pool: bool = True) -> Influence:
        """Pool equal predictions where rows have no weights and no groups, which sorts them; not if
        `pool` is False.

        A compressed sample does not keep the weights of its rows: they count as `effective_n` equal
        ones.
        """
        prob, event, mass, group = sample.prob, sample.event, sample.mass, sample._group
        equal = group is None and (sample.counts is not None or not sample._weighted)
        if equal and pool:
            table = sample.distinct()
            mass, event = (
                np.concatenate([table.negative, table.positive]),
                np.repeat([False, True], len(table.prob)),
            )
            prob, event, mass = np.tile(table.prob, 2)[mass > 0], event[mass > 0], mass[mass > 0]
        share = mass / sample.total_weight
        unit = np.full(len(share), 1 / sample.effective_n) if equal else share
        if (rates := sample._rates) is not None:
            rate, events = sample.event_rate, sample._events
            unit = np.where(event, rate / events, (1 - rate) / (sample.n - events))
        return cls(
            prob=prob,
            event=event,
            share=share,
            unit=unit,
            group=group,
            groups=sample.groups,
            stratified=rates is not None,
            clustered=_is_clustered(sample),
        )

    @property
    def one_class(self) -> bool:
        """Whether all outcomes are the same. The event rate does not tell: it may be 1 up to
        rounding.
        """
        event = self.event[self.share > 0]
        return bool(event.all() or not event.any())

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """The sums of squares and of third powers of the draws' shares."""
        share = self.share if self.group is None else np.bincount(self.group, self.share)
        unit = self.unit if self.group is None else share
        return float(share @ unit), float((share * unit) @ unit)

    def effective(self, outcome: bool) -> float:
        """How many draws of equal weight with an outcome are as many as these: rows, or groups
        where it occurs.
        """
        share, unit, group = self._of(outcome)
        if group is not None:
            share = unit = np.bincount(group, share).astype(np.float64)
        return 1 / float(share @ unit) if len(share) else 0.0

    @cached_property
    def fewest(self) -> float:
        """How many draws of equal weight have the rarer outcome."""
        return min(self.effective(False), self.effective(True))

    @property
    def few_clusters(self) -> bool:
        """Whether so few groups have the rarer outcome that no variance can be estimated from them."""
        return self.clustered and is_few(self.fewest)

    @property
    def rarer_in(self) -> str:
        """In how many effective groups the rarer outcome is, in words."""
        rarer = (
            "events" if self.effective(outcome=True) == self.fewest else "rows without the event"
        )
        seen = math.floor(self.fewest + _HARDLY)
        return f"{rarer} in only {seen} effective {'cluster' if seen == 1 else 'clusters'}"

    @cached_property
    def _heaviest(self) -> float:
        """The share of the largest group."""
        assert self.group is not None
        return float(np.bincount(self.group, self.share).max())

    def _correlation(self, rate: Floats) -> float:
        """The correlation of two outcomes of a group whose events have these rates, pooled over
        pairs of rows.

        A group has a weight as if each of its rows were in one pair.
        """
        assert self.group is not None
        off = self.event - rate
        most = np.sqrt(rate * (1 - rate))
        others = np.maximum(np.bincount(self.group, self.share > 0) - 1, 1)
        seen, possible = (
            float(
                ((np.bincount(self.group, x) ** 2 - np.bincount(self.group, x**2)) / others).sum()
            )
            for x in (self.share * off, self.share * most)
        )
        return min(max(seen / possible, 0.0), 1.0) if possible > 0 else 0.0

    def moved_by(self, change: float) -> Floats:
        """The predictions, all nearer to 0 or all nearer to 1, so that their mean changes by this."""
        mean = float(self.share @ self.prob)
        if change <= 0:
            kept = max(mean + change, 0.0) / mean if mean > 0 else 1.0
            return self.prob * kept
        kept = max(1 - mean - change, 0.0) / (1 - mean) if mean < 1 else 1.0
        return 1 - (1 - self.prob) * kept

    def model_variance(self, rate: Floats, factor: Floats | float = 1.0) -> float:
        """The variance of the mean of ``factor (y - rate)`` if the event has these rates: that of
        the binomial law.

        Outcomes of a group have the correlation that is pooled over all groups.
        """
        spread = factor * np.sqrt(rate * (1 - rate))
        alone = float((self.share * self.unit) @ spread**2)
        if not self.clustered or self.group is None:
            return alone
        together = float((np.bincount(self.group, self.share * spread) ** 2).sum())
        correlation = self._correlation(rate)
        return correlation * together + (1 - correlation) * alone

    def _of(self, outcome: bool) -> tuple[Floats, Floats, Ints | None]:
        """The shares among rows with an outcome, those of single rows, and the groups."""
        some = (self.event == outcome) & (self.share > 0)
        share = self.share[some]
        total = share.sum()
        return (
            share / total,
            self.unit[some] / total,
            None if self.group is None else self.group[some],
        )

    def quantile(self, confidence_level: float) -> float:
        """Student's quantile for the effective number of draws."""
        freedom = max(1 / self._sizes[0] - 1, _LEAST_FREEDOM)
        return float(stdtrit(freedom, (1 + confidence_level) / 2))

    def inflated(self, second: Any) -> Any:
        """Squares of deviations from the mean of the rows, which are too small: n / (n - 1) for n
        equal draws.
        """
        squares, cubes = self._sizes
        left = squares - 2 * cubes + squares**2
        return second * squares / left if left > 1e-12 * squares else math.inf

    def inflated_by_outcome(self, influence: Floats) -> Floats:
        """What rows add, with deviations from the mean of each outcome as large as those of more
        rows would be.
        """
        found = influence.copy()
        for outcome in (False, True):
            some = self.event == outcome
            mean = float(self.share[some] @ influence[some] / self.share[some].sum())
            found[some] = mean + (influence[some] - mean) * math.sqrt(_few(self.effective(outcome)))
        return found

    def moments(self, influence: Floats, unseen: tuple[float, ...] = ()) -> tuple[float, float]:
        """The variance and third moment of an estimate, from what each row adds to it (of mean
        about 0).

        `unseen` has what rows could add that are not among these.
        """
        if self.stratified:
            return self._within_outcomes(influence, unseen)
        centred = influence - float(self.share @ influence)
        square = self.share * self.unit
        second, third = (
            float(square @ influence**2),
            float((square * self.unit) @ (centred * centred * centred)),
        )
        alone = second
        if self.group is not None:
            second = float((np.bincount(self.group, self.share * influence) ** 2).sum())
            third = float((np.bincount(self.group, self.share * centred) ** 3).sum())
        far = np.array(unseen) * self.unseen_share(
            second, alone, max(map(abs, unseen), default=0.0)
        )
        return (
            self.inflated(second) + _UNSEEN * float((far**2).sum()),
            third + _UNSEEN * float((far**3).sum()),
        )

    def _within_outcomes(self, influence: Floats, unseen: tuple[float, ...]) -> tuple[float, float]:
        """The same where the number of rows with each outcome is given: sums of powers about the
        mean of each.

        A row of an outcome that is not among these adds what the extreme ones do; where all add the
        same, `unseen`.
        """
        second = third = 0.0
        for outcome in (False, True):
            some = self.event == outcome
            share, unit = self.share[some], self.unit[some]
            mean, square = float(share @ influence[some] / share.sum()), share * unit
            off = influence[some] - mean
            reach = np.array(
                [off.min(), off.max()] if np.ptp(off) > 0 else [x - mean for x in unseen]
            )
            reach = reach * unit[0]
            second += _few(self.effective(outcome)) * float(square @ off**2) + _UNSEEN * float(
                (reach**2).sum()
            )
            third += float((square * unit) @ off**3) + _UNSEEN * float((reach**3).sum())
        return second, third

    def unseen_share(self, second: Any, alone: Any, reach: Any) -> Any:
        """The share of a case that is not among the rows: that of a row, and more the more alike
        rows of a group are.

        `second` and `alone` are the sums of squares over draws and over rows, of what reaches to
        `reach` at most. Where they are 0 up to rounding, the case is a whole draw. Where few groups
        have the rarer outcome, what is not among the rows may be a group like the largest.
        """
        if self.few_clusters:
            return np.full(np.shape(second), self._heaviest)
        row, draw = float(self.share @ self.unit), self._sizes[0]
        some = np.asarray(alone) > 1e-24 * row * reach**2
        ratio = np.divide(second, alone, out=np.full(np.shape(alone), np.inf), where=some)
        return np.clip(row * ratio, row, max(row, draw))

    def interval(
        self,
        value: float,
        influence: Floats,
        unseen: tuple[float, ...],
        confidence_level: float,
        *,
        symmetric: bool = False,
        model: tuple[float, float] | None = None,
    ) -> Interval:
        """The interval of an estimate, from what each row adds to it, and could add.

        With `symmetric`, and where rows depend on each other, it has all values that are in the
        skewed interval or in the symmetric one. A `model` has the least variance at the estimate,
        and what it gains where the quantity is larger by 1.
        """
        second, third = map(np.float64, self.moments(influence, unseen))
        low, high = self.ends(
            second, third, confidence_level, symmetric=symmetric or self.clustered
        )
        if model is not None:
            variance, slope = model
            quantile = self.quantile(confidence_level)
            shift = quantile**2 / 2 * slope
            half = math.sqrt(shift**2 + quantile**2 * variance)
            low = min(low, shift - half)
            high = max(high, shift + half)
        low = float(low)
        high = float(high)
        return Interval(
            value=value, low=value + low, high=value + high, confidence_level=confidence_level
        )

    def ends(
        self, second: Any, third: Any, confidence_level: float, *, symmetric: bool
    ) -> tuple[Any, Any]:
        """The distances of the ends of an interval from its estimate, by the variance and the third
        moment.
        """
        quantile = self.quantile(confidence_level)
        low, high = skewed_ends(second, third, quantile)
        if symmetric:
            half = quantile * np.sqrt(second)
            low, high = np.minimum(low, -half), np.maximum(high, half)
        return low, high

    def of_outcomes(self, without: Floats, among: Floats) -> tuple[Floats, tuple[float, float]]:
        """What each row adds, from what it adds without the event and with it; and the ends of what
        one could add.
        """
        seen: Any = self.share > 0
        least = min(float(x.min(where=seen, initial=np.inf)) for x in (without, among))
        most = max(float(x.max(where=seen, initial=-np.inf)) for x in (without, among))
        return np.where(self.event, among, without), (least, most)

    def mean(
        self, column: Floats, least: float | Floats, most: float | Floats, confidence_level: float
    ) -> Interval:
        """The mean of a column whose values lie between two numbers, or in each row between two of
        its own.

        Those of rows are amounts, with a long tail that few rows show: a case that is not among the
        rows has the root mean square of theirs, and the interval is not only the skewed one, whose
        low end a large amount moves up.
        """
        mean = float(self.share @ column)
        unseen = (-self.size(least - mean), self.size(most - mean))
        found = self.interval(
            mean, column - mean, unseen, confidence_level, symmetric=bool(np.ndim(most))
        )
        return found.within(float(np.min(least)), float(np.max(most)))

    def size(self, amount: float | Floats) -> float:
        """The root mean square of amounts that rows have; of a number, its size."""
        if np.ndim(amount):
            return np.float64(np.sqrt(self.share @ np.square(amount)))
        return np.float64(np.abs(amount))  # whose square is infinite where that of a float raises


def prediction_less_outcome(rows: Influence, confidence_level: float) -> Interval:
    """The mean prediction less the event rate."""
    if not rows.clustered:
        return rows.mean(rows.prob - rows.event, -1.0, 1.0, confidence_level)
    value = float(rows.share @ (rows.prob - rows.event))
    added = rows.of_outcomes(rows.prob - value, rows.prob - 1 - value)
    here = rows.model_variance(rows.moved_by(-value))
    slope = 0.0 if value == 0 else (here - rows.model_variance(rows.prob)) / value
    found = rows.interval(value, *added, confidence_level, model=(here, slope))
    return found.within(-1.0, 1.0)


def distance_from_calibration(rows: Influence) -> tuple[float, float]:
    """The mean prediction less the event rate, and its standard error for a calibrated forecast."""
    off = rows.prob - rows.event
    value = float(rows.share @ off)
    second, third = rows.moments(off - value)
    if rows.clustered:
        skewed = second - value * third / second if 0 < second < math.inf else second
        second = max(second, skewed, rows.model_variance(rows.prob))
    return value, math.sqrt(second)


def observed_expected(rows: Influence, confidence_level: float) -> Interval | None:
    """The number of events over the sum of the predictions; None if all predictions are 0."""
    expected, rate = float(rows.share @ rows.prob), float(rows.share @ rows.event)
    if expected == 0:
        return None
    ratio = rate / expected
    found = rows.interval(
        rate, *rows.of_outcomes(-ratio * rows.prob, 1 - ratio * rows.prob), confidence_level
    )
    low, high = max(found.low, 0.0) / expected, found.high / expected
    return Interval(value=ratio, low=low, high=high, confidence_level=confidence_level)


def brier(rows: Influence, confidence_level: float) -> tuple[Interval, Interval | None]:
    """The Brier score, and its skill: the share by which it is below that of the event rate as a
    forecast.

    The skill is a mean over events mostly, so squares are those of deviations from the mean of each
    outcome.
    """
    event = rows.event.astype(np.float64)
    loss = (event - rows.prob) ** 2
    score = rows.mean(loss, 0.0, 1.0, confidence_level)
    rate = float(rows.share @ event)
    spread = float(rows.share @ (event - rate) ** 2)
    if rows.one_class or spread < _TINY:
        return score, None
    both = [
        (score.value - (y - rows.prob) ** 2 + score.value / spread * (1 - 2 * rate) * (y - rate))
        / spread
        for y in (0, 1)
    ]
    influence, unseen = rows.of_outcomes(*both)
    influence = rows.inflated_by_outcome(influence)
    skill = rows.interval(
        1 - score.value / spread, influence, unseen, confidence_level, symmetric=True
    )
    return score, skill.within(-math.inf, 1.0)


def is_few(effective: float | None) -> bool:
    """Whether groups that are as many as so many of equal weight are too few; None are no groups."""
    return effective is not None and effective < FEW_CLUSTERS * (1 - _ROUNDING)


def _is_clustered(sample: Sample) -> bool:
    """Whether groups that were named have several rows with weight; parts of a row are one."""
    if sample.groups is None:
        return False
    counted = sample.mass > 0
    if sample._second is not None:
        counted = counted & ~sample._second
    return sample.groups < int(np.count_nonzero(counted))


def _few(n: float) -> float:
    """n / (n - 1), and 2 for fewer than two."""
    return max(n, 2.0) / (max(n, 2.0) - 1)


def _log_odds(rows: Influence) -> Floats | None:
    """Of each prediction; None if one with weight is 0 or 1, or if all outcomes are the same."""
    prob, some = rows.prob, rows.share > 0
    if rows.one_class or ((prob[some] <= 0) | (prob[some] >= 1)).any():
        return None
    prob = np.where(some, prob, 0.5)
    return np.asarray(np.log(prob) - np.log1p(-prob))


def calibration_intercept(rows: Influence, confidence_level: float) -> Interval | None:
    """The intercept, at slope 1, of a logistic regression on the logit of the predictions.

    Its ends are those at which the mean prediction would be an end of the interval of the event
    rate, as the residuals give it. None without log odds, or if it is too far from 0 to be
    computed, as it is for predictions of 1e-300.
    """
    if (log_odds := _log_odds(rows)) is None:
        return None
    ones, event = np.ones((1, len(log_odds))), rows.event.astype(np.float64)
    observed = float(rows.share @ event)
    fitted = _fit(rows, ones, log_odds, event)
    if fitted is None:
        return None
    ends = []
    for name, beyond in (("low", -math.inf), ("high", math.inf)):
        at: tuple[Floats, Floats] | None = fitted
        for _ in range(_PASSES):
            if at is not None:
                rate = rows.interval(
                    observed, *rows.of_outcomes(-at[1], 1 - at[1]), confidence_level
                )
                end = getattr(rate, name)
                at = _fit(rows, ones, log_odds, end, at[0]) if 0 < end < 1 else None
        ends.append(beyond if at is None else float(at[0][0]))
    return Interval(
        value=float(fitted[0][0]), low=ends[0], high=ends[1], confidence_level=confidence_level
    )


def calibration_slope(rows: Influence, confidence_level: float) -> Interval | None:
    """The slope of a logistic regression on the logit; its variance is the larger of the model's
    and the residuals'.

    None without log odds, if all predictions are equal, or if they separate the outcomes.
    """
    log_odds = _log_odds(rows)
    if log_odds is None or not np.ptp(log_odds[rows.share > 0]) > 0:
        return None
    both = np.stack([log_odds, np.ones(len(log_odds))])
    slope = _fit(rows, both, np.zeros(len(log_odds)), rows.event.astype(np.float64))
    return None if slope is None else _slope(rows, both, *slope, confidence_level)


def log_score_gains(rows: Influence) -> tuple[float, float] | None:
    """What the log score gains by the best intercept at slope 1, and beyond that by the best slope.

    The parts of the gain of a logistic recalibration: the mean first, then the spread. None if one
    cannot be fitted.
    """
    if (log_odds := _log_odds(rows)) is None:
        return None
    ones, event = np.ones(len(log_odds)), rows.event.astype(np.float64)
    mean = _fit(rows, ones[np.newaxis], log_odds, event)
    both = _fit(rows, np.stack([log_odds, ones]), np.zeros(len(log_odds)), event)
    if mean is None or both is None:
        return None
    sign = np.where(rows.event, 1.0, -1.0)
    fits = (log_odds, mean[0][0] + log_odds, both[0][0] * log_odds + both[0][1])
    start, first, last = (float(rows.share @ log_expit(sign * fit)) for fit in fits)
    return first - start, last - first


def _fit(
    rows: Influence, x: Floats, offset: Floats, target: Floats | float, start: Floats | None = None
) -> tuple[Floats, Floats] | None:
    """The coefficients of a logistic regression, and the fitted rates; None if there are none, or
    far ones.
    """
    negative, positive = rows.share * (1 - target), rows.share * target
    beta = fit_logistic(x, negative, positive, offset=offset, start=start)
    return None if beta is None else (beta, expit(beta @ x + offset))


def _slope(
    rows: Influence, x: Floats, beta: Floats, rate: Floats, confidence_level: float
) -> Interval:
    """The first coefficient, with residuals as they would be on draws that were left out of the fit
    (HC3).
    """
    inverse = np.linalg.inv(_curvature(x, rows.share, rate))
    leverage = rows.unit * rate * (1 - rate) * (x * (inverse @ x)).sum(axis=0)
    if rows.group is not None:
        leverage = np.bincount(rows.group, leverage)[rows.group]
    influence = (inverse @ x)[0] * (rows.event - rate) / (1 - np.minimum(leverage, 0.9))
    model = 0.0  # where weights depend on the outcomes, residuals alone tell
    unseen: tuple[float, ...] = ()
    if rows.clustered:
        pull = (inverse @ x)[0]
        model = rows.model_variance(rate, pull)
        unseen = (rows.size(pull * rate), rows.size(pull * (1 - rate))) if rows.few_clusters else ()
    elif not rows.stratified:
        model = float((inverse @ _curvature(x, rows.share * rows.unit, rate) @ inverse)[0, 0])
    half = rows.quantile(confidence_level) * math.sqrt(
        max(rows.moments(influence, unseen)[0], model)
    )
    value = float(beta[0])
    return Interval(
        value=value, low=value - half, high=value + half, confidence_level=confidence_level
    )


def _curvature(x: Floats, share: Floats, rate: Floats) -> NDArray[np.float64]:
    return (x * (share * rate * (1 - rate))) @ x.T


def auroc(sample: Sample) -> float | None:
    """The area under the ROC curve; None if all outcomes are the same."""
    negative, positive = sample.distinct().negative, sample.distinct().positive
    others, events = np.flatnonzero(negative), np.flatnonzero(positive)
    if not len(others) or not len(events):
        return None
    # exactly: sums of weights are so up to rounding
    if others[-1] < events[0] or events[-1] < others[0]:
        return float(others[-1] < events[0])
    negative, positive = negative / negative.sum(), positive / positive.sum()
    return min(float(positive @ (negative.cumsum() - negative / 2)), 1.0)


def auroc_interval(sample: Sample, rows: Influence, confidence_level: float) -> Interval | None:
    """The area under the ROC curve with its interval; None if all outcomes are the same.

    The interval has all values that are in DeLong's, symmetric on the logit scale, or in the score
    interval of Hanley and McNeil's variance, which is scaled to DeLong's the more, the more rows
    have the rarer outcome.
    """
    area, table = auroc(sample), sample.distinct()
    if area is None:
        return None
    few = rows.fewest
    if area in (0.0, 1.0):
        pairs = few if rows.group is None else min(few, 1 / rows._sizes[0] / 2)
        low = ((1 - confidence_level) / 2) ** (1 / max(pairs, 1.0))
        ends = (low, 1.0) if area else (0.0, 1 - low)
        return Interval(value=area, low=ends[0], high=ends[1], confidence_level=confidence_level)
    negative, positive = (
        table.negative / table.negative.sum(),
        table.positive / table.positive.sum(),
    )
    beside = np.cumsum(positive[::-1])[::-1] - positive / 2, np.cumsum(negative) - negative / 2
    added, variance, counts = np.zeros(len(rows.prob)), 0.0, []
    unseen = 0.0
    for outcome in (False, True):
        some = (rows.event == outcome) & (rows.share > 0)
        share, unit, _ = rows._of(outcome)
        # the share that a row is right of
        side = beside[outcome][np.searchsorted(table.prob, rows.prob[some])]
        part = (side - area) * math.sqrt(_few(rows.effective(outcome)))
        variance += float((share * unit) @ part**2)
        added[some] = share * part
        counts.append(1 / float(share @ unit))
        # one more group like the largest, of rows with this outcome, as far off as rows are
        if rows.few_clusters:
            weight = rows._heaviest / (rows._heaviest + float(rows.share[some].sum()))
            unseen += 2 * _UNSEEN * weight**2 * float(share @ part**2)
    if rows.group is not None:
        sums = np.bincount(rows.group, added)
        variance = float(sums @ sums) + unseen
    quantile = rows.quantile(confidence_level)
    middle, half = logit(area), quantile * math.sqrt(variance) / (area * (1 - area))
    scale = (variance / _pairs_variance(area, *counts)) ** (few / (few + _TRUST))

    def outside(t: float) -> bool:
        return bool((t - area) ** 2 > quantile**2 * scale * _pairs_variance(t, *counts))

    low = min(expit(middle - half), bisected(outside, area, 0.0, _HALVINGS))
    high = max(expit(middle + half), bisected(outside, area, 1.0, _HALVINGS))
    return Interval(value=area, low=float(low), high=float(high), confidence_level=confidence_level)


def _pairs_variance(t: float, n: float, m: float) -> float:
    """The variance of the area t for n and m rows of exponential scores (Hanley and McNeil;
    Newcombe's method 5).
    """
    return t * (1 - t) * (1 + ((n + m) / 2 - 1) * ((1 - t) / (2 - t) + t / (1 + t))) / (n * m)


def net_benefits(
    rows: Influence, mu: Floats, confidence_level: float
) -> tuple[Floats, Floats, Floats]:
    """The net benefit at each threshold, and the ends of its interval.

    O(rows), and with groups thresholds times groups more.
    """
    up, place = np.unique(mu, return_inverse=True)
    odds = up / (1 - up)
    # a row is treated at this many thresholds, from the lowest
    cell = np.searchsorted(up, rows.prob, side="right")

    def treated(each: Floats) -> list[Floats]:
        """Sums over rows without the event and with it, from each threshold on."""
        cells = len(up) + 1
        sums = np.bincount(cell + cells * rows.event, each, 2 * cells).reshape(2, cells)
        return list(sums[:, ::-1].cumsum(axis=1)[:, -2::-1])

    alarms, hits = treated(rows.share)
    value = hits - odds * alarms
    square = rows.share * rows.unit
    cube = square * rows.unit
    (alarms2, hits2), (alarms3, hits3) = treated(square), treated(cube)
    second = (
        hits2 + odds**2 * alarms2 - 2 * value * (hits2 - odds * alarms2) + value**2 * square.sum()
    )
    third = hits3 - odds**3 * alarms3 - 3 * value * (hits3 + odds**2 * alarms3)
    third += 3 * value**2 * (hits3 - odds * alarms3) - value**3 * cube.sum()
    if rows.stratified:  # the shares of events and of others that are treated are independent
        ends, everyone = [], bool((rows.prob == 1).all())  # then nothing is left to chance
        for some, part, payoff in ((rows.event, hits, 1.0), (~rows.event, alarms, -odds)):
            unit, total = float(rows.unit[some][0]), float(rows.share[some].sum())
            rate = np.ones(len(up)) if everyone else np.clip(part / total, 0.0, 1.0)
            spread = (
                total * rate * (1 - rate) * _few(total / unit) + _UNSEEN * unit * (not everyone)
            ) * unit
            ends.append((payoff**2 * spread, payoff**3 * spread * unit * (1 - 2 * rate)))
        second, third = ends[0][0] + ends[1][0], ends[0][1] + ends[1][1]
    else:
        second = alone = np.maximum(second, 0.0)
        if rows.group is not None:
            second, third = _powers_of_groups(rows, cell, odds, value)
        far = np.stack([1 - value, -odds - value]) * rows.unseen_share(second, alone, 1 + odds)
        second = rows.inflated(second) + _UNSEEN * (far**2).sum(axis=0)
        third = third + _UNSEEN * (far**3).sum(axis=0)
    low, high = rows.ends(second, third, confidence_level, symmetric=rows.clustered)
    return value[place], np.maximum(value + low, -odds)[place], np.minimum(value + high, 1.0)[place]


def _powers_of_groups(
    rows: Influence, cell: Ints, odds: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """The sums over groups of squares and third powers at each threshold.

    From the highest threshold on, rows that are treated there are added to their groups.
    """
    group = rows.group
    assert group is not None
    count = int(group.max()) + 1
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(len(odds) + 2))
    hits, alarms, sums, spare = np.zeros((4, count))
    second, third = np.zeros((2, len(odds)))
    weight = np.bincount(group, rows.share, count)
    for k in range(len(odds) - 1, -1, -1):
        at = order[first[k + 1] : first[k + 2]]
        share, event = rows.share[at], rows.event[at]
        np.add.at(hits, group[at], share * event)
        np.add.at(alarms, group[at], share * ~event)
        # in place: new arrays for each threshold cost more than the sums
        np.multiply(weight, -value[k], out=sums)
        sums += hits
        sums -= np.multiply(alarms, odds[k], out=spare)
        second[k] = sums @ sums
        third[k] = np.multiply(sums, sums, out=spare) @ sums
    return second, third
