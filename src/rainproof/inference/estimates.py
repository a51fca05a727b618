r"""Means with approximate intervals that hold where events are few, from what each case adds to
them.

An estimate is a mean of what cases add to it (their influence), so its variance V is a sum of
squares over units. Where events are few, V is itself uncertain, and it is small together with the
estimate. With the third power sum K the variance at another value t of the quantity is about
:math:`V + (t - \hat t) K / V`, and the interval has all t with :math:`(t - \hat t)^2 \le q^2 (V +
(t - \hat t) K / V)`. For a count of events this is the score interval of Poisson's law, for a rate
nearly Wilson's; q is Student's quantile for the effective number of units. What clusters that lack
an outcome may hide is in `rainproof.inference.absent_outcomes`.

Predictions and other columns have a value for each entry of the units (`rainproof.core.units`).
Estimates that take more than a mean are in modules of their own:
`rainproof.inference.logistic_estimates`, `auroc` and `net_benefits`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from rainproof.core.arrays import Floats, Ints, sums_by
from rainproof.core.result import Interval
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample
from rainproof.core.units import Units
from rainproof.inference.absent_outcomes import EventGain, absences

# cases at either end of what is possible, added to those seen: without an event V would be 0
UNSEEN = 0.5
_LEAST_FREEDOM = 0.1  # degrees of freedom of Student's law, for a single unit
_LEAST_LEFT = 1e-12  # of the squares about a mean, relative: less is a single unit, up to rounding
_LEAST_SQUARES = 1e-24  # of what cases reach, relative: less is 0 up to rounding (1e-12, squared)
# a variance of outcomes that is above 0 only because weights differ by such a factor
_LEAST_OUTCOME_VARIANCE = 1e-100
_ROUNDING = 1e-9  # of a sum of shares, by which 20 equal clusters may seem to be fewer
_BELOW_WHOLE = 1e-6  # clusters that a whole number of them may lack by rounding
# effective clusters with the rarer outcome: of fewer no limit theorem says anything
FEW_CLUSTERS = 20.0


def skewed_ends(
    second: Any, third: Any, quantile: Any, shift: Floats | float = 0.0
) -> tuple[Any, Any]:
    """The lowest and highest distance from an estimate, from sums of squares and of third powers
    over units.

    With a shift, it is the quantity less this that was estimated.
    """
    # without spread, or of a single unit, there is nothing to lean on
    has_spread = (second > 0) & (second < np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(has_spread, third / second, 0.0)
    return score_ends(second, slope, quantile, shift)


def score_ends(
    variance: Any, slope: Any, quantile: Any, shift: Floats | float = 0.0
) -> tuple[Any, Any]:
    """The lowest and highest distance from an estimate whose variance grows by the slope with it
    (module docstring).
    """
    bend = quantile**2 / 2 * slope
    at_shift = np.maximum(variance + slope * shift, 0.0)
    half = np.sqrt(bend**2 + quantile**2 * at_shift)
    return shift + bend - half, shift + bend + half


def pooled_predictions(sample: Sample) -> tuple[Units, Floats]:
    """The units of a sample and their predictions; where cases weigh alike, those with the same
    prediction and outcome are one entry.
    """
    units = sample.units
    if not units.weigh_alike:
        return units, sample.prob
    table = sample.distinct()
    mass = np.concatenate([table.negative, table.positive])
    occupied = mass > 0
    # the entries without the event come first, each in the order of predictions
    prob = np.tile(table.prob, 2)[occupied]
    event = np.repeat([False, True], len(table.prob))[occupied]
    rows = Rows(event.view(np.uint8), prob, mass[occupied] / sample.total_weight)
    return units.pooled(rows, units.single_of(event)), prob


def is_few(effective: float | None) -> bool:
    """Whether clusters that are as many as so many of equal weight are too few; None are no
    clusters.
    """
    return effective is not None and effective < FEW_CLUSTERS * (1 - _ROUNDING)


def has_few_clusters(units: Units) -> bool:
    """Whether too few clusters have the rarer outcome to estimate a variance from them."""
    return units.clustered and is_few(units.rarer)


def rarer_in(units: Units) -> str:
    """In how many effective clusters the rarer outcome is, in words."""
    rarer = "rows without the event"
    if units.effective(outcome=True) == units.rarer:
        rarer = "events"
    clusters = math.floor(units.rarer + _BELOW_WHOLE)
    noun = "cluster" if clusters == 1 else "clusters"
    return f"{rarer} in only {clusters} effective {noun}"


def largest_share(units: Units) -> float:
    """The share of the largest unit."""
    return float(units.unit_share.max())


def effective_units(units: Units) -> float:
    """How many units of equal weight are as many as these."""
    squares, _ = units.powers
    return 1 / squares


def student_quantile(units: Units, confidence_level: float) -> float:
    """Student's quantile for the effective number of units."""
    return float(_student_quantiles(units, confidence_level))


def _student_quantiles(units: Units, confidence_level: Any) -> Any:
    """Student's quantile for each of several levels."""
    freedom = max(effective_units(units) - 1, _LEAST_FREEDOM)
    return stdtrit(freedom, (1 + confidence_level) / 2)


def inflation(n: float) -> float:
    """The factor n / (n - 1) of squares about a mean of n units; 2 for fewer than two."""
    n = max(n, 2.0)
    return n / (n - 1)


def inflated(units: Units, second: Any) -> Any:
    """Squares of deviations from the mean of the units, which are too small: n / (n - 1) for n
    equal ones.
    """
    squares, cubes = units.powers
    # what is left of squares about the mean: the sum of s^2 (1 - 2 s + sum s^2), for shares s
    left = squares - 2 * cubes + squares**2
    if not left > _LEAST_LEFT * squares:
        return math.inf
    return second * squares / left


def inflated_by_outcome(units: Units, influence: Floats) -> Floats:
    """What cases add, with deviations from the mean of each outcome as large as those of more cases
    would be.
    """
    widened = influence.copy()
    for outcome in (False, True):
        has_outcome = units.event == outcome
        share = units.share[has_outcome]
        mean = float(share @ influence[has_outcome] / share.sum())
        factor = math.sqrt(inflation(units.effective(outcome=outcome)))
        widened[has_outcome] = mean + (influence[has_outcome] - mean) * factor
    return widened


def moments(units: Units, influence: Floats, unseen: tuple[float, ...] = ()) -> tuple[float, float]:
    """The variance and third moment of an estimate, from what each case adds to it (of mean about
    0).

    `unseen` has what cases could add that are not among these.
    """
    if units.design.strata is not None:
        return _moments_within_outcomes(units, influence, unseen)
    centred = influence - float(units.share @ influence)
    square = units.share * units.single
    over_cases = float(square @ influence**2)
    if units.unit is None:
        second = over_cases
        # products, as the third power of an array takes many times as long
        third = float((square * units.single) @ (centred * centred * centred))
    else:  # of whole clusters, as their cases may depend on each other in any way
        second = float((units.sums(units.share * influence) ** 2).sum())
        third = float((units.sums(units.share * centred) ** 3).sum())
    reach = max((abs(amount) for amount in unseen), default=0.0)
    far = np.array(unseen) * unseen_share(units, second, over_cases, reach)
    second = inflated(units, second) + UNSEEN * float((far**2).sum())
    return second, third + UNSEEN * float((far**3).sum())


def _moments_within_outcomes(
    units: Units, influence: Floats, unseen: tuple[float, ...]
) -> tuple[float, float]:
    """The same where the number of cases with each outcome is given: sums of powers about the mean
    of each.

    A case of an outcome that is not among these adds what the extreme ones do; where all add the
    same, `unseen`.
    """
    second = 0.0
    third = 0.0
    for outcome in (False, True):
        has_outcome = units.event == outcome
        share = units.share[has_outcome]
        single = units.single[has_outcome]
        mean = float(share @ influence[has_outcome] / share.sum())
        deviation = influence[has_outcome] - mean
        if np.ptp(deviation) > 0:
            reach = np.array([deviation.min(), deviation.max()])
        else:
            reach = np.array([amount - mean for amount in unseen])
        reach = reach * single[0]
        square = share * single
        variance = inflation(units.effective(outcome=outcome)) * float(square @ deviation**2)
        second += variance + UNSEEN * float((reach**2).sum())
        third += float((square * single) @ deviation**3) + UNSEEN * float((reach**3).sum())
    return second, third


def unseen_share(units: Units, over_units: Any, over_cases: Any, reach: Any) -> Any:
    """The share of a case that is not among these: that of a case, and more the more alike cases of
    a unit are.

    The first two are the sums of squares over units and over cases, of what reaches to `reach` at
    most. Where they are 0 up to rounding, the case is a whole unit. Where few clusters have the
    rarer outcome, what is not among the cases may be a cluster like the largest.
    """
    if has_few_clusters(units):
        return np.full(np.shape(over_units), largest_share(units))
    case = float(units.share @ units.single)
    has_spread = np.asarray(over_cases) > _LEAST_SQUARES * case * reach**2
    infinite = np.full(np.shape(over_cases), np.inf)
    ratio = np.divide(over_units, over_cases, out=infinite, where=has_spread)
    squares, _ = units.powers
    return np.clip(case * ratio, case, max(case, squares))


def model_variance(units: Units, rate: Floats, factor: Floats | float = 1.0) -> float:
    """The variance of the mean of ``factor (y - rate)`` if the event has these rates: that of the
    binomial law.

    Outcomes of a cluster have the correlation that is pooled over all clusters.
    """
    spread = factor * np.sqrt(rate * (1 - rate))
    if_independent = float((units.share * units.single) @ spread**2)
    if not units.clustered:
        return if_independent
    if_same = float((units.sums(units.share * spread) ** 2).sum())
    correlation = _correlation(units, rate)
    return correlation * if_same + (1 - correlation) * if_independent


def _correlation(units: Units, rate: Floats) -> float:
    """The correlation of two outcomes of a cluster whose events have these rates, pooled over pairs
    of cases.

    A cluster has a weight as if each of its cases were in one pair.
    """
    cluster = units.unit
    assert cluster is not None
    # how many others each case has there; a case alone is in no pair
    others = np.maximum(sums_by(cluster, units.share > 0) - 1, 1)
    seen = products_of_pairs(cluster, units.share * (units.event - rate)) / others
    possible = products_of_pairs(cluster, units.share * np.sqrt(rate * (1 - rate))) / others
    total = float(possible.sum())
    if not total > 0:
        return 0.0
    return min(max(float(seen.sum()) / total, 0.0), 1.0)


def products_of_pairs(cluster: Ints, amount: Floats) -> Floats:
    """The sum of the products of the amounts of two cases, over ordered pairs of each cluster."""
    return sums_by(cluster, amount) ** 2 - sums_by(cluster, amount**2)


class ModelVariance(NamedTuple):
    """The least variance that a model of the outcomes lets an estimate have."""

    at_estimate: float
    slope: float  # what the variance gains where the quantity is larger by 1


def interval_by_influence(
    units: Units,
    value: float,
    influence: Floats,
    unseen: tuple[float, ...],
    confidence_level: float,
    *,
    symmetric: bool = False,
    model: ModelVariance | None = None,
    event: EventGain | None = None,
) -> Interval:
    """The interval of an estimate, from what each case adds to it, and could add.

    With `symmetric`, and where cases depend on each other, it has all values that are in the skewed
    interval or in the symmetric one. With a `model` it has also those of an interval with the least
    variance. With the gain by an `event` it allows for clusters that lack an outcome by chance.
    """
    second, third = moments(units, influence, unseen)

    def ends(level: Any, shift: Floats | float) -> tuple[Any, Any]:
        low, high = interval_ends(
            units, np.float64(second), np.float64(third), level, symmetric=symmetric, shift=shift
        )
        if model is None:
            return low, high
        quantile = _student_quantiles(units, level)
        low_of_model, high_of_model = score_ends(model.at_estimate, model.slope, quantile, shift)
        return np.minimum(low, low_of_model), np.maximum(high, high_of_model)

    low, high = ends(confidence_level, 0.0)
    if event is not None and may_lack_outcomes(units):
        quantile = student_quantile(units, confidence_level)
        absent = absences(units, event, math.sqrt(second), quantile)
        shift, level = absent.too_high.plausible(confidence_level)
        low = ends(level, -shift)[0].min()
        shift, level = absent.too_low.plausible(confidence_level)
        high = ends(level, shift)[1].max()
    return Interval(
        value=value,
        low=value + float(low),
        high=value + float(high),
        confidence_level=confidence_level,
    )


def interval_ends(
    units: Units,
    second: Any,
    third: Any,
    confidence_level: Any,
    *,
    symmetric: bool = False,
    shift: Floats | float = 0.0,
) -> tuple[Any, Any]:
    """The distances of the ends of an interval from its estimate, by the variance and the third
    moment.
    """
    quantile = _student_quantiles(units, confidence_level)
    low, high = skewed_ends(second, third, quantile, shift)
    if not symmetric and not units.clustered:
        return low, high
    half = quantile * np.sqrt(second)
    return np.minimum(low, shift - half), np.maximum(high, shift + half)


def may_lack_outcomes(units: Units) -> bool:
    """Whether clusters that lack an outcome by chance can mislead.

    They do not where cases are independent. Where few clusters have the rarer outcome, intervals
    allow for a cluster that was not seen. Where the number of cases with each outcome is given,
    predictions do not say how probable it is.
    """
    return units.clustered and units.design.strata is None and not has_few_clusters(units)


def influence_by_outcome(
    units: Units, without: Floats, with_event: Floats
) -> tuple[Floats, tuple[float, float]]:
    """What each case adds, from what it adds without the event and with it; and the ends of what
    one could add.
    """
    counted: Any = units.share > 0
    columns = (without, with_event)
    least = min(float(column.min(where=counted, initial=np.inf)) for column in columns)
    most = max(float(column.max(where=counted, initial=-np.inf)) for column in columns)
    return np.where(units.event, with_event, without), (least, most)


def mean_interval(
    units: Units,
    column: Floats,
    least: float | Floats,
    most: float | Floats,
    confidence_level: float,
    *,
    event: EventGain | None = None,
) -> Interval:
    """The mean of a column whose values lie between two numbers, or in each case between two of its
    own.

    Those of cases are amounts, with a long tail that few cases show: a case that is not among these
    has the root mean square of theirs, and the interval is not only the skewed one, whose low end a
    large amount moves up.
    """
    value = float(units.share @ column)
    unseen = (-typical_size(units, least - value), typical_size(units, most - value))
    are_amounts = bool(np.ndim(most))
    found = interval_by_influence(
        units,
        value,
        column - value,
        unseen,
        confidence_level,
        symmetric=are_amounts,
        event=event,
    )
    return found.within(float(np.min(least)), float(np.max(most)))


def typical_size(units: Units, amount: float | Floats) -> float:
    """The root mean square of amounts that cases have; of a number, its size."""
    if np.ndim(amount):
        return np.float64(np.sqrt(units.share @ np.square(amount)))
    return np.float64(np.abs(amount))  # whose square is infinite where that of a float raises


def prediction_less_outcome(units: Units, prob: Floats, confidence_level: float) -> Interval:
    """The mean prediction less the event rate."""
    difference = prob - units.event
    if not units.clustered:
        return mean_interval(units, difference, -1.0, 1.0, confidence_level)
    value = float(units.share @ difference)
    influence, unseen = influence_by_outcome(units, prob - value, prob - 1 - value)
    # the least variance is that of a forecast whose mean is the event rate
    variance = model_variance(units, _moved_by(units, prob, -value))
    slope = 0.0
    if value != 0:
        slope = (variance - model_variance(units, prob)) / value
    found = interval_by_influence(
        units,
        value,
        influence,
        unseen,
        confidence_level,
        model=ModelVariance(variance, slope),
        event=EventGain(prob, -1.0),
    )
    return found.within(-1.0, 1.0)


def _moved_by(units: Units, prob: Floats, change: float) -> Floats:
    """The predictions, all nearer to 0 or all nearer to 1, so that their mean changes by this."""
    value = float(units.share @ prob)
    factor = 1.0  # where all are at that end already
    if change <= 0:
        if value > 0:
            factor = max(value + change, 0.0) / value
        return prob * factor
    if value < 1:
        factor = max(1 - value - change, 0.0) / (1 - value)
    return 1 - (1 - prob) * factor


def distance_from_calibration(units: Units, prob: Floats) -> tuple[float, float]:
    """The mean prediction less the event rate, and its standard error for a calibrated forecast."""
    difference = prob - units.event
    value = float(units.share @ difference)
    variance, third = moments(units, difference - value)
    if units.clustered:
        # what the variance would be at a difference of 0 (module docstring), and that of the model
        if_calibrated = variance
        if 0 < variance < math.inf:
            if_calibrated = variance - value * third / variance
        variance = max(variance, if_calibrated, model_variance(units, prob))
    return value, math.sqrt(variance)


def p_value_of_mean(units: Units, prob: Floats, freedom: float) -> float | None:
    """A p-value of calibration from the mean prediction less the event rate; None without a
    standard error.
    """
    value, error = distance_from_calibration(units, prob)
    if not 0 < error < math.inf:
        return None
    distance = abs(value)
    if not may_lack_outcomes(units):
        return 2 * float(stdtr(freedom, -distance / error))
    absent = absences(units, EventGain(prob, -1.0), error, distance / error)
    by_chance = absent.too_high if value > 0 else absent.too_low
    return by_chance.p_value(distance, error, freedom)


def observed_expected(units: Units, prob: Floats, confidence_level: float) -> Interval | None:
    """The number of events over the sum of the predictions; None if all predictions are 0."""
    expected = float(units.share @ prob)
    rate = float(units.share @ units.event)
    if expected == 0:
        return None
    ratio = rate / expected
    influence, unseen = influence_by_outcome(units, -ratio * prob, 1 - ratio * prob)
    event = EventGain(prob, 1.0)
    of_rate = interval_by_influence(units, rate, influence, unseen, confidence_level, event=event)
    return Interval(
        value=ratio,
        low=max(of_rate.low, 0.0) / expected,
        high=of_rate.high / expected,
        confidence_level=confidence_level,
    )


def brier(units: Units, prob: Floats, confidence_level: float) -> tuple[Interval, Interval | None]:
    """The Brier score, and its skill: the share by which it is below that of the event rate as a
    forecast.

    The skill is a mean over events mostly, so squares are those of deviations from the mean of each
    outcome.
    """
    event = units.event.astype(np.float64)
    score = mean_interval(units, (event - prob) ** 2, 0.0, 1.0, confidence_level)
    rate = float(units.share @ event)
    score_of_rate = float(units.share @ (event - rate) ** 2)
    if units.one_outcome or score_of_rate < _LEAST_OUTCOME_VARIANCE:
        return score, None
    ratio = score.value / score_of_rate
    added = []
    for outcome in (0, 1):
        by_score = score.value - (outcome - prob) ** 2
        by_rate = ratio * (1 - 2 * rate) * (outcome - rate)
        added.append((by_score + by_rate) / score_of_rate)
    influence, unseen = influence_by_outcome(units, added[0], added[1])
    influence = inflated_by_outcome(units, influence)
    skill = interval_by_influence(
        units, 1 - ratio, influence, unseen, confidence_level, symmetric=True
    )
    return score, skill.within(-math.inf, 1.0)
