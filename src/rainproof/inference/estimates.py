r"""Means with approximate intervals that hold where events are few, from what each row adds to them.

An estimate is a mean of what rows add to it (their influence), so its variance V is a sum of
squares over draws. Where events are few, V is itself uncertain, and it is small together with the
estimate. With the third power sum K the variance at another value t of the quantity is about
:math:`V + (t - \hat t) K / V`, and the interval has all t with :math:`(t - \hat t)^2 \le q^2 (V +
(t - \hat t) K / V)`. For a count of events this is the score interval of Poisson's law, for a rate
nearly Wilson's; q is Student's quantile for the effective number of draws.

A draw is what was drawn independently of all else: a row, or a group of rows. Estimates that take
more than a mean are in modules of their own: `rainproof.inference.logistic_estimates`, `auroc` and
`net_benefits`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rainproof.core.arrays import Floats, Ints
from rainproof.core.result import Interval
from rainproof.core.sample import Sample
from rainproof.core.units import Units

# cases at either end of what is possible, added to those seen: without an event V would be 0
UNSEEN = 0.5
_LEAST_FREEDOM = 0.1  # degrees of freedom of Student's law, for a single draw
_LEAST_LEFT = 1e-12  # of the squares about a mean, relative: less is a single draw, up to rounding
_LEAST_SQUARES = 1e-24  # of what rows reach, relative: less is 0 up to rounding (1e-12, squared)
_TINY = 1e-100  # a variance of outcomes, of weights that differ by such a factor
_ROUNDING = 1e-9  # of a sum of shares, by which 20 equal groups may seem to be fewer
_HARDLY = 1e-6  # below a whole number of groups, by rounding
# effective groups with the rarer outcome: of fewer no limit theorem says anything
FEW_CLUSTERS = 20.0


def skewed_ends(second: Any, third: Any, quantile: float) -> tuple[Floats, Floats]:
    """The lowest and highest distance from an estimate, from sums of squares and of third powers
    over draws.
    """
    has_spread = (second > 0) & (second < np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = quantile**2 / 2 * np.where(has_spread, third / second, 0.0)
    half = np.sqrt(shift**2 + quantile**2 * second)
    return shift - half, shift + half


class Shares(NamedTuple):
    """The entries with one outcome: weights as shares of theirs, which add up to 1."""

    share: Floats
    unit: Floats  # of one row
    group: Ints | None


class Powers(NamedTuple):
    """Sums of powers of the shares of all draws."""

    squares: float
    cubes: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Influence:
    """What an interval needs of the entries of a sample, and the interval of a mean of what they add.

    Attributes
    ----------
    prob : ndarray
        The prediction of each entry.
    event : ndarray of bool
        Whether it has the event.
    share : ndarray
        Its weight, as a share of all.
    unit : ndarray
        The share of one row: an entry may stand for many.
    group : ndarray or None
        The number of its group, if rows were drawn in groups.
    groups : int or None
        The number of groups.
    stratified : bool
        Whether the number of rows with each outcome is given, and their weight with it.
    clustered : bool
        Whether groups have several rows, which may depend on each other.
    """

    prob: Floats
    event: NDArray[np.bool_]
    share: Floats
    unit: Floats
    group: Ints | None = None
    groups: int | None = None
    stratified: bool = False
    clustered: bool = False

    @classmethod
    def of(cls, sample: Sample, *, pool: bool = True) -> Influence:
        """Pool equal predictions where rows have no weights and no groups, which sorts them; not if
        `pool` is False.

        A compressed sample does not keep the weights of its rows: they count as `effective_n` equal
        ones.
        """
        units = sample.units
        rows_weigh_alike = units.counts is not None or not units.has_weights
        if pool and units.unit is None and rows_weigh_alike:
            table = sample.distinct()
            mass = np.concatenate([table.negative, table.positive])
            occupied = mass > 0
            prob = np.tile(table.prob, 2)[occupied]
            event = np.repeat([False, True], len(table.prob))[occupied]
            share = mass[occupied] / sample.total_weight
            unit = _shares_of_a_row(units, event)
        else:
            prob = sample.prob
            event = units.event
            share = units.share
            unit = units.single
        return cls(
            prob=prob,
            event=event,
            share=share,
            unit=unit,
            group=units.unit,
            groups=sample.groups,
            stratified=sample.design.strata is not None,
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
    def _powers(self) -> Powers:
        share = self.share
        unit = self.unit
        if self.group is not None:
            share = np.bincount(self.group, self.share).astype(np.float64, copy=False)
            unit = share
        return Powers(float(share @ unit), float((share * unit) @ unit))

    @property
    def effective_draws(self) -> float:
        """How many draws of equal weight are as many as these: rows, or groups."""
        return 1 / self._powers.squares

    def effective(self, outcome: bool) -> float:
        """How many draws of equal weight with an outcome are as many as these: rows, or groups
        where it occurs.
        """
        share, unit, group = self.with_outcome(outcome)
        if not len(share):
            return 0.0
        if group is None:
            return 1 / float(share @ unit)
        by_group = np.bincount(group, share).astype(np.float64)
        return 1 / float(by_group @ by_group)

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
        rarer = "rows without the event"
        if self.effective(outcome=True) == self.fewest:
            rarer = "events"
        clusters = math.floor(self.fewest + _HARDLY)
        noun = "cluster" if clusters == 1 else "clusters"
        return f"{rarer} in only {clusters} effective {noun}"

    @cached_property
    def largest_group(self) -> float:
        """The share of the largest group."""
        assert self.group is not None
        return float(np.bincount(self.group, self.share).max())

    def _correlation(self, rate: Floats) -> float:
        """The correlation of two outcomes of a group whose events have these rates, pooled over
        pairs of rows.

        A group has a weight as if each of its rows were in one pair.
        """
        assert self.group is not None
        others = np.maximum(np.bincount(self.group, self.share > 0) - 1, 1)
        seen = self._products_of_pairs(self.share * (self.event - rate), others)
        possible = self._products_of_pairs(self.share * np.sqrt(rate * (1 - rate)), others)
        return min(max(seen / possible, 0.0), 1.0) if possible > 0 else 0.0

    def _products_of_pairs(self, amount: Floats, others: Ints) -> float:
        """The sum of the products of the amounts of two rows of a group, over how many others each
        row has there.
        """
        assert self.group is not None
        products = np.bincount(self.group, amount) ** 2 - np.bincount(self.group, amount**2)
        return float((products / others).sum())

    def moved_by(self, change: float) -> Floats:
        """The predictions, all nearer to 0 or all nearer to 1, so that their mean changes by this."""
        mean = float(self.share @ self.prob)
        if change <= 0:
            factor = max(mean + change, 0.0) / mean if mean > 0 else 1.0
            return self.prob * factor
        factor = max(1 - mean - change, 0.0) / (1 - mean) if mean < 1 else 1.0
        return 1 - (1 - self.prob) * factor

    def model_variance(self, rate: Floats, factor: Floats | float = 1.0) -> float:
        """The variance of the mean of ``factor (y - rate)`` if the event has these rates: that of
        the binomial law.

        Outcomes of a group have the correlation that is pooled over all groups.
        """
        spread = factor * np.sqrt(rate * (1 - rate))
        if_independent = float((self.share * self.unit) @ spread**2)
        if not self.clustered or self.group is None:
            return if_independent
        if_same = float((np.bincount(self.group, self.share * spread) ** 2).sum())
        correlation = self._correlation(rate)
        return correlation * if_same + (1 - correlation) * if_independent

    def with_outcome(self, outcome: bool) -> Shares:
        """Return the entries of positive weight with an outcome."""
        counted = (self.event == outcome) & (self.share > 0)
        share = self.share[counted]
        total = share.sum()
        group = None if self.group is None else self.group[counted]
        return Shares(share / total, self.unit[counted] / total, group)

    def quantile(self, confidence_level: float) -> float:
        """Student's quantile for the effective number of draws."""
        freedom = max(self.effective_draws - 1, _LEAST_FREEDOM)
        return float(stdtrit(freedom, (1 + confidence_level) / 2))

    def inflated(self, second: Any) -> Any:
        """Squares of deviations from the mean of the rows, which are too small: n / (n - 1) for n
        equal draws.
        """
        squares, cubes = self._powers
        left = squares - 2 * cubes + squares**2
        if not left > _LEAST_LEFT * squares:
            return math.inf
        return second * squares / left

    def inflated_by_outcome(self, influence: Floats) -> Floats:
        """What rows add, with deviations from the mean of each outcome as large as those of more
        rows would be.
        """
        inflated = influence.copy()
        for outcome in (False, True):
            has_outcome = self.event == outcome
            share = self.share[has_outcome]
            mean = float(share @ influence[has_outcome] / share.sum())
            factor = math.sqrt(inflation(self.effective(outcome)))
            inflated[has_outcome] = mean + (influence[has_outcome] - mean) * factor
        return inflated

    def moments(self, influence: Floats, unseen: tuple[float, ...] = ()) -> tuple[float, float]:
        """The variance and third moment of an estimate, from what each row adds to it (of mean
        about 0).

        `unseen` has what rows could add that are not among these.
        """
        if self.stratified:
            return self._moments_within_outcomes(influence, unseen)
        centred = influence - float(self.share @ influence)
        square = self.share * self.unit
        over_rows = float(square @ influence**2)
        if self.group is None:
            second = over_rows
            third = float((square * self.unit) @ (centred * centred * centred))
        else:
            second = float((np.bincount(self.group, self.share * influence) ** 2).sum())
            third = float((np.bincount(self.group, self.share * centred) ** 3).sum())
        reach = max((abs(amount) for amount in unseen), default=0.0)
        far = np.array(unseen) * self.unseen_share(second, over_rows, reach)
        second = self.inflated(second) + UNSEEN * float((far**2).sum())
        return second, third + UNSEEN * float((far**3).sum())

    def _moments_within_outcomes(
        self, influence: Floats, unseen: tuple[float, ...]
    ) -> tuple[float, float]:
        """The same where the number of rows with each outcome is given: sums of powers about the
        mean of each.

        A row of an outcome that is not among these adds what the extreme ones do; where all add the
        same, `unseen`.
        """
        second = 0.0
        third = 0.0
        for outcome in (False, True):
            has_outcome = self.event == outcome
            share = self.share[has_outcome]
            unit = self.unit[has_outcome]
            mean = float(share @ influence[has_outcome] / share.sum())
            deviation = influence[has_outcome] - mean
            if np.ptp(deviation) > 0:
                reach = np.array([deviation.min(), deviation.max()])
            else:
                reach = np.array([amount - mean for amount in unseen])
            reach = reach * unit[0]
            square = share * unit
            variance = inflation(self.effective(outcome)) * float(square @ deviation**2)
            second += variance + UNSEEN * float((reach**2).sum())
            third += float((square * unit) @ deviation**3) + UNSEEN * float((reach**3).sum())
        return second, third

    def unseen_share(self, over_draws: Any, over_rows: Any, reach: Any) -> Any:
        """The share of a case that is not among the rows: that of a row, and more the more alike
        rows of a group are.

        The first two are the sums of squares over draws and over rows, of what reaches to `reach`
        at most. Where they are 0 up to rounding, the case is a whole draw. Where few groups have
        the rarer outcome, what is not among the rows may be a group like the largest.
        """
        if self.few_clusters:
            return np.full(np.shape(over_draws), self.largest_group)
        row = float(self.share @ self.unit)
        has_spread = np.asarray(over_rows) > _LEAST_SQUARES * row * reach**2
        infinite = np.full(np.shape(over_rows), np.inf)
        ratio = np.divide(over_draws, over_rows, out=infinite, where=has_spread)
        return np.clip(row * ratio, row, max(row, self._powers.squares))

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
        second, third = self.moments(influence, unseen)
        low, high = self.ends(
            np.float64(second),
            np.float64(third),
            confidence_level,
            symmetric=symmetric or self.clustered,
        )
        if model is not None:
            variance, slope = model
            quantile = self.quantile(confidence_level)
            shift = quantile**2 / 2 * slope
            half = math.sqrt(shift**2 + quantile**2 * variance)
            low = min(low, shift - half)
            high = max(high, shift + half)
        return Interval(
            value=value,
            low=value + float(low),
            high=value + float(high),
            confidence_level=confidence_level,
        )

    def ends(
        self, second: Any, third: Any, confidence_level: float, *, symmetric: bool
    ) -> tuple[Any, Any]:
        """The distances of the ends of an interval from its estimate, by the variance and the third
        moment.
        """
        quantile = self.quantile(confidence_level)
        low, high = skewed_ends(second, third, quantile)
        if not symmetric:
            return low, high
        half = quantile * np.sqrt(second)
        return np.minimum(low, -half), np.maximum(high, half)

    def of_outcomes(
        self, without: Floats, with_event: Floats
    ) -> tuple[Floats, tuple[float, float]]:
        """What each row adds, from what it adds without the event and with it; and the ends of what
        one could add.
        """
        counted: Any = self.share > 0
        columns = (without, with_event)
        least = min(float(column.min(where=counted, initial=np.inf)) for column in columns)
        most = max(float(column.max(where=counted, initial=-np.inf)) for column in columns)
        return np.where(self.event, with_event, without), (least, most)

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
        are_amounts = bool(np.ndim(most))
        interval = self.interval(
            mean, column - mean, unseen, confidence_level, symmetric=are_amounts
        )
        return interval.within(float(np.min(least)), float(np.max(most)))

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
    influence, unseen = rows.of_outcomes(rows.prob - value, rows.prob - 1 - value)
    # the least variance is that of a forecast whose mean is the event rate
    variance = rows.model_variance(rows.moved_by(-value))
    slope = 0.0
    if value != 0:
        slope = (variance - rows.model_variance(rows.prob)) / value
    interval = rows.interval(value, influence, unseen, confidence_level, model=(variance, slope))
    return interval.within(-1.0, 1.0)


def distance_from_calibration(rows: Influence) -> tuple[float, float]:
    """The mean prediction less the event rate, and its standard error for a calibrated forecast."""
    difference = rows.prob - rows.event
    value = float(rows.share @ difference)
    variance, third = rows.moments(difference - value)
    if rows.clustered:
        # what the variance would be at a difference of 0 (module docstring), and that of the model
        if_calibrated = variance
        if 0 < variance < math.inf:
            if_calibrated = variance - value * third / variance
        variance = max(variance, if_calibrated, rows.model_variance(rows.prob))
    return value, math.sqrt(variance)


def observed_expected(rows: Influence, confidence_level: float) -> Interval | None:
    """The number of events over the sum of the predictions; None if all predictions are 0."""
    expected = float(rows.share @ rows.prob)
    rate = float(rows.share @ rows.event)
    if expected == 0:
        return None
    ratio = rate / expected
    influence, unseen = rows.of_outcomes(-ratio * rows.prob, 1 - ratio * rows.prob)
    interval = rows.interval(rate, influence, unseen, confidence_level)
    return Interval(
        value=ratio,
        low=max(interval.low, 0.0) / expected,
        high=interval.high / expected,
        confidence_level=confidence_level,
    )


def brier(rows: Influence, confidence_level: float) -> tuple[Interval, Interval | None]:
    """The Brier score, and its skill: the share by which it is below that of the event rate as a
    forecast.

    The skill is a mean over events mostly, so squares are those of deviations from the mean of each
    outcome.
    """
    event = rows.event.astype(np.float64)
    score = rows.mean((event - rows.prob) ** 2, 0.0, 1.0, confidence_level)
    rate = float(rows.share @ event)
    score_of_rate = float(rows.share @ (event - rate) ** 2)
    if rows.one_class or score_of_rate < _TINY:
        return score, None
    ratio = score.value / score_of_rate
    added = []
    for outcome in (0, 1):
        by_score = score.value - (outcome - rows.prob) ** 2
        by_rate = ratio * (1 - 2 * rate) * (outcome - rate)
        added.append((by_score + by_rate) / score_of_rate)
    influence, unseen = rows.of_outcomes(added[0], added[1])
    influence = rows.inflated_by_outcome(influence)
    skill = rows.interval(1 - ratio, influence, unseen, confidence_level, symmetric=True)
    return score, skill.within(-math.inf, 1.0)


def is_few(effective: float | None) -> bool:
    """Whether groups that are as many as so many of equal weight are too few; None are no groups."""
    return effective is not None and effective < FEW_CLUSTERS * (1 - _ROUNDING)


def inflation(n: float) -> float:
    """The factor n / (n - 1) of squares about a mean of n draws; 2 for fewer than two."""
    n = max(n, 2.0)
    return n / (n - 1)


def _shares_of_a_row(units: Units, event: NDArray[np.bool_]) -> Floats:
    """The share of one row with each of these outcomes, where rows of an outcome weigh the same."""
    if units.design.strata is None:
        return np.full(len(event), 1 / units.effective_n)
    rate = units.event_rate
    return np.where(event, rate / units.events, (1 - rate) / (units.cases - units.events))


def _is_clustered(sample: Sample) -> bool:
    """Whether groups that were named have several rows with weight; parts of a row are one."""
    if sample.groups is None:
        return False
    counted = sample.mass > 0
    if sample.units.is_second_part is not None:
        counted = counted & ~sample.units.is_second_part
    return sample.groups < int(np.count_nonzero(counted))
