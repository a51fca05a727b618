"""What a verdict rests on: is the forecast honest, is it useful, what would recalibration gain; and
the grade.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.core.design import Design
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Interval, Result, result_class
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample
from rainproof.core.units import Units
from rainproof.core.validation import BaseRate, ThresholdRange
from rainproof.inference.estimates import (
    inflated_by_outcome,
    influence_by_outcome,
    interval_by_influence,
    mean_interval,
    typical_size,
)
from rainproof.inference.guarantees import Guarantee
from rainproof.recalibration.certificate import Certificate
from rainproof.recalibration.selection import CrossFit, cross_fit
from rainproof.verdict.calibration import Calibration
from rainproof.verdict.grades import Findings, Grade, grade


class Rule(StrEnum):
    """A way to decide: on the forecast as it is or changed, or without one."""

    AS_IS = "as is"
    RECALIBRATED = "recalibrated"
    CUTOFF = "cut-off"
    ALWAYS = "always"
    NEVER = "never"
    FIXED = "always the same"
    PERFECT = "perfect"


WITHOUT = (Rule.ALWAYS, Rule.NEVER, Rule.FIXED)
"""The rules that need no forecast."""

RARE = 0.05  # an outcome: fewer than this share of the rows have it
_USELESS = 0.1  # skill: a forecast that surely has less is not worth using
# single thresholds on the predictions that are tried, spread over those of either outcome
_CUTOFFS = 50
_TINY = 1e-100  # an event rate, where weights differ by such a factor
_DEALS = 3  # of few rows
_MANY = 2000  # draws that one deal is enough for
# more are compressed first: resampling rows would take minutes and tell nothing more
MANY_ROWS = 1 << 18
_NOTHING = 1e-12  # skill of rounding alone
SLIGHT = 0.05  # of the tolerance: recalibration that surely gains no more can wait


def skill(
    units: Units,
    acts: Floats,
    threshold: float | Floats | None,
    confidence_level: float,
    stake: float | Floats = 1.0,
) -> Interval | None:
    r"""The value of acting on some rows over no forecast, as a share of what perfect foresight
    would gain.

    `acts` has how much each row is acted on: 0 or 1, or a mean of such. The threshold may be that
    of each row, and so the `stake`: what a false alarm and a miss cost together.

    Notes
    -----
    With the threshold :math:`\mu`, the stake s and the acts A, the value of acting is
    :math:`E[s (y-\mu) A] - \max(0, E[s (y-\mu)])` and foresight gains :math:`\min(E[s \mu (1-y)],
    E[s (1-\mu) y])`. Without a threshold it is the event rate :math:`\pi`, where the ratio is
    :math:`E[(y - \pi) A] / (\pi (1 - \pi))`: the share of events acted on less that of other rows.
    None if all outcomes are the same, or if foresight gains nothing.

    Acting in no case, or in all, gains nothing. Whatever else does gains at most the share of the
    other outcome that it finds, of which none was seen among k draws: so the upper end is that of
    Clopper and Pearson for 0 of k.
    """
    rate = float(units.share @ units.event)
    share = units.share
    if units.one_outcome or min(rate, 1 - rate) < _TINY:
        return None
    if threshold is None:
        hits = float(share[units.event] @ acts[units.event]) / rate
        alarms = float(share[~units.event] @ acts[~units.event]) / (1 - rate)
        value = hits - alarms
        each = [(alarms - acts) / (1 - rate), (acts - hits) / rate]
    else:
        low = float(share @ (stake * (units.event - threshold))) <= 0
        taken = acts if low else acts - 1
        foresight = [stake * ((1 - threshold) * y if low else threshold * (1 - y)) for y in (0, 1)]
        best = float(share @ np.where(units.event, foresight[1], foresight[0]))
        if best == 0:
            return None
        value = float(share @ (stake * (units.event - threshold) * taken)) / best
        each = [(stake * (y - threshold) * taken - value * foresight[y]) / best for y in (0, 1)]
    # all rows are treated alike
    if max(abs(value), *(float(np.abs(x * share).max()) for x in each)) < _NOTHING:
        draws = units.rarer if threshold is None else units.effective(outcome=low)
        high = 1 - (1 - confidence_level) ** (1 / draws)
        return Interval(value=0.0, low=0.0, high=high, confidence_level=confidence_level)
    relative, ends = influence_by_outcome(units, each[0] / stake, each[1] / stake)
    influence = inflated_by_outcome(units, relative * stake)
    unseen = tuple(end * typical_size(units, stake) for end in ends)
    varies = bool(np.ptp(stake))
    found = interval_by_influence(
        units, value, influence, unseen, confidence_level, symmetric=varies
    )
    return found.within(-math.inf, 1.0)


def skill_at_best(
    units: Units, prob: Floats, threshold: float | None, confidence_level: float
) -> Interval | None:
    """The skill of acting from a single threshold on the predictions on, where its interval reaches
    highest.

    The best monotone recalibration acts from some prediction on. With few rows the maps that are
    fitted may miss it, and act in no case, say, which has a narrow interval. The true skill of the
    best one is above this interval only if it is above its own. Acting in all cases, from the
    lowest prediction on, has no skill. None if nothing else is left.
    """
    seen = units.share > 0
    tried = []
    for outcome in (False, True):
        distinct = np.unique(prob[seen & (units.event == outcome)])
        if len(distinct):
            spread = np.linspace(0, len(distinct) - 1, min(len(distinct), _CUTOFFS // 2))
            tried.append(distinct[np.round(spread).astype(np.int64)])
    cutoffs = np.unique(np.concatenate(tried))
    few, few_prob = _between(units, prob, cutoffs)
    found = [
        skill(few, (few_prob >= cutoff) * 1.0, threshold, confidence_level)
        for cutoff in cutoffs[1:]
    ]
    return max(
        (interval for interval in found if interval is not None),
        key=lambda one: one.high,
        default=None,
    )


def _between(units: Units, prob: Floats, cutoffs: Floats) -> tuple[Units, Floats]:
    """The units between the same cutoffs, with the same outcome and weight, as one entry; with
    clusters, or weights, as before. Also a prediction of each entry.

    They are acted on together, so every estimate and every interval is that of the rows.
    """
    alike = all(np.ptp(units.single[units.event == outcome]) == 0 for outcome in (False, True))
    if units.unit is not None or not alike:
        return units, prob
    kind = 2 * np.searchsorted(cutoffs, prob, "right") + units.event
    _, first, place = np.unique(kind, return_index=True, return_inverse=True)
    share = np.bincount(place, units.share).astype(np.float64)
    rows = Rows(units.event[first].view(np.uint8), prob[first], share)
    return units.pooled(rows, units.single[first]), rows.prob


@result_class
class Gain(Result):
    """What recalibration gains, by maps that were not fitted to the rows that they are judged on.

    Attributes
    ----------
    share : Interval
        In the yes-or-no decision that gains most: a share of what is at stake. The decision was
        chosen on other rows.
    threshold : float
        An example of such a decision: the one that gains most on all rows acts from this
        probability on.
    mean_prediction : float
        What the recalibrated probabilities say on average.
    log_score, brier_score : float
        By how much the scores of the recalibrated probabilities are better; below 0 they are worse.
    """

    _shown: ClassVar = ("share", "threshold")

    share: Interval
    threshold: float
    mean_prediction: float
    log_score: float
    brier_score: float


class Crossed(NamedTuple):
    """Rows with predictions by maps that were not fitted to them.

    Attributes
    ----------
    whole : Sample
        The rows, or cells, before they are dealt.
    rows : Sample
        The rows; of a compressed sample, those of each cell, outcome and fold.
    deals : list of CrossFit
        Their folds and recalibrated predictions; several for few rows, so that no estimate rests on
        one of them.
    cells : CrossFit or None
        Of a compressed sample, the same for each cell and outcome.
    """

    whole: Sample
    rows: Sample
    deals: list[CrossFit]
    cells: CrossFit | None = None

    @classmethod
    def of(cls, sample: Sample, rng: np.random.Generator, marks: Floats | None = None) -> Crossed:
        """Deal the rows of a sample that is in order.

        With `marks`, cells that the maps do not tell apart, and that lie between the same marks,
        are one in `rows`.
        """
        if sample.grid is None:
            deals = _DEALS if sample.n_draws < _MANY else 1
            return cls(sample, sample, [cross_fit(sample, rng) for _ in range(deals)])
        cross = cross_fit(sample, rng)
        whole = sample.at_cell_means()
        said = cross.prob.copy()
        # maps are fitted at the middle of cells, which round predictions miss
        said[cross.entry] = whole.prob
        numbers = cross.fold
        first = np.arange(len(whole.prob))
        if marks is not None:
            # odd on a mark
            place = sum(marks.searchsorted(whole.prob, side) for side in ("left", "right"))
            alike = 2 * (cross.entry * (2 * len(marks) + 1) + place) + whole.event
            _, first, kind = np.unique(alike, return_index=True, return_inverse=True)
            numbers = np.stack([np.bincount(kind, one) for one in numbers]).astype(np.int64)
        fold, kept = np.nonzero(numbers)
        counts = numbers[fold, kept]
        at = first[kept]
        weight = whole.mass / np.asarray(whole.counts)  # of a row, which a base rate sets
        rows = Rows(whole.y_true[at], whole.prob[at], counts * weight[at], cases=counts)
        design = Design(strata=sample.design.strata)
        found = Sample.from_rows(rows, design, n=sample.n, total_weight=float(sample.n))
        return cls(
            whole, found, [replace(cross, prob=said, fold=fold, entry=cross.entry[at])], cross
        )

    def mean(self, column: Callable[[CrossFit], NDArray[Any]]) -> Floats:
        """The mean over deals of a column that each of them has."""
        return np.asarray(np.mean([column(deal) for deal in self.deals], axis=0, dtype=np.float64))

    def acts(self, threshold: float | Floats | None) -> Floats:
        """How much each row is acted on, recalibrated.

        Without a threshold it is the event rate of the other folds, which is high where that of the
        fold is low: so acts count less their mean in the fold.
        """
        if threshold is not None:
            return self.mean(lambda deal: deal.better >= threshold)
        mass = self.rows.mass

        def centred(deal: CrossFit) -> Floats:
            acts = (deal.better > deal.rate[deal.fold]) * 1.0
            total = np.maximum(np.bincount(deal.fold, mass), np.finfo(float).tiny)
            n = self.rows.n / len(deal.weight)
            return (acts - (np.bincount(deal.fold, mass * acts) / total)[deal.fold]) * (
                n / max(n - 1, 1.0)
            )

        return self.mean(centred)


class CrossFitted(NamedTuple):
    """Rows with the predictions of maps that were not fitted to them, without the maps.

    Attributes
    ----------
    rows : Sample
        The rows of `Crossed`.
    predictions : tuple of ndarray
        The recalibrated predictions of each deal of the folds.
    """

    rows: Sample
    predictions: tuple[Floats, ...]

    @classmethod
    def of(cls, crossed: Crossed) -> CrossFitted:
        """Keep what a curve over all thresholds needs."""
        return cls(crossed.rows, tuple(deal.better for deal in crossed.deals))

    def table(self) -> DistinctTable:
        """The rows by recalibrated prediction; each deal counts equally, so that values are means
        over deals.
        """
        deals = len(self.predictions)
        event = np.tile(self.rows.event, deals)
        share = np.tile(self.rows.mass / deals, deals)
        return DistinctTable.from_rows(event, np.concatenate(self.predictions), share).occupied()


def gain_by_recalibration(crossed: Crossed, at: Floats, confidence_level: float) -> Gain:
    """Estimate what recalibration gains in decisions with the thresholds `at`."""
    units = crossed.rows.units
    prob = crossed.rows.prob
    stakes = np.maximum(at, 1 - at)
    everywhere = np.zeros(len(at))

    def gained(deal: CrossFit) -> Floats:
        nonlocal everywhere
        chosen = np.empty(len(deal.weight))
        as_is = [_payoffs(deal.prob, weight, at) for weight in deal.weight]
        for f, weight in enumerate(deal.weight):
            others = [g for g in range(len(deal.weight)) if g != f]
            gains = sum(_payoffs(deal.inner[f, g], deal.weight[g], at) - as_is[g] for g in others)
            chosen[f] = at[int(np.argmax(gains / stakes))]
            everywhere = everywhere + _payoffs(deal.value[f], weight, at) - as_is[f]
        mu = chosen[deal.fold]
        changed = (deal.better >= mu) * 1.0 - (prob >= mu)
        return np.asarray((units.event - mu) * changed / np.maximum(mu, 1 - mu))

    share = mean_over_folds(
        units, crossed.mean(gained), len(crossed.deals[0].weight), confidence_level
    )
    new = zip(*(_scores(crossed.rows, deal.better) for deal in crossed.deals), strict=True)
    log, brier = (
        sum(n) / len(n) - old
        for n, old in zip(new, _scores(crossed.whole, crossed.whole.prob), strict=True)
    )
    return Gain(
        share=share,
        threshold=float(at[int(np.argmax(everywhere / stakes))]),
        mean_prediction=float(units.share @ crossed.mean(lambda deal: deal.better)),
        log_score=log,
        brier_score=brier,
    )


def _scores(rows: Sample, p: Floats) -> tuple[float, float]:
    """The mean log score, and less the Brier score, of predictions for some rows."""
    mass = rows.mass
    event = rows.event
    some = rows.mass > 0
    with np.errstate(divide="ignore"):
        each = np.log(np.where(event, p, 1 - p)), -((p - event) ** 2)
    log, brier = (float(mass[some] @ column[some]) / rows.total_weight for column in each)
    return log, brier


def mean_over_folds(units: Units, gained: Floats, folds: int, confidence_level: float) -> Interval:
    """Estimate the mean of gains, in [-1, 1], by maps and decisions that were chosen on the other
    folds.

    Folds share the rows that chose, so they err together: with K folds the variance is that of the
    rows times 1 + K / (K - 1), by the correction of Nadeau and Bengio (2003),
    doi:10.1023/A:1024068626366.
    """
    alone = mean_interval(units, gained, -1.0, 1.0, confidence_level)
    wider = math.sqrt(1 + folds / (folds - 1))
    low, high = (alone.value + wider * (end - alone.value) for end in (alone.low, alone.high))
    return replace(alone, low=low, high=high).within(-1.0, 1.0)


def _payoffs(value: Floats, weight: Floats, at: Floats) -> Floats:
    """The sum over rows of ``y - mu`` where the value is at least mu, for each threshold."""
    reached = np.searchsorted(at, value, "right")
    negative, positive = (
        np.bincount(reached, row, len(at) + 1)[::-1].cumsum()[-2::-1] for row in weight
    )
    return np.asarray(positive * (1 - at) - negative * at)


class Savings(Protocol):
    """What ways of acting cost, and what they save over acting on the original and on the
    recalibrated forecast.
    """

    @property
    def costs(self) -> Mapping[Rule, Interval]: ...
    @property
    def saved(self) -> Mapping[Rule, Interval]: ...
    @property
    def saved_recalibrated(self) -> Mapping[Rule, Interval]: ...
    @property
    def simplest(self) -> Rule | None: ...


@result_class
class RangeCosts(Result):
    """What ways of acting cost per case, on average over the decisions of a range of thresholds.

    Every threshold of the range counts the same; at the threshold t a false alarm costs t, and a
    miss 1 - t.

    Attributes
    ----------
    costs : dict of Rule to Interval
        The cost, with an approximate interval: of acting on the forecast "as is", on the
        "recalibrated" one (by maps that were fitted to other rows), "always", "never", and with
        "perfect" foresight.
    saved : dict of Rule to Interval
        What "recalibrated", "always" and "never" save over acting on the forecast as it is; below 0
        they cost more.
    saved_recalibrated : dict of Rule to Interval
        What "always" and "never" save over acting on the recalibrated forecast.
    without_forecast : Interval
        What the better of always and never acting at each threshold costs: always below the event
        rate, never above it.
    """

    costs: Mapping[Rule, Interval]
    saved: Mapping[Rule, Interval]
    saved_recalibrated: Mapping[Rule, Interval]
    without_forecast: Interval

    @property
    def simplest(self) -> Rule | None:
        """The cheaper of always and never acting."""
        return simplest(self.costs)


def simplest(costs: Mapping[Rule, Interval]) -> Rule | None:
    """The cheapest rule without a forecast; None if they have no cost."""
    known = [rule for rule in WITHOUT if rule in costs]
    return min(known, key=lambda rule: costs[rule].value, default=None)


def saving(known: Savings, rule: Rule | None, other: Rule) -> Interval | None:
    """What one rule saves over another one per case, where that was estimated."""
    over = {Rule.AS_IS: known.saved, Rule.RECALIBRATED: known.saved_recalibrated}
    if rule is None:
        return None
    if rule in over and other in over[rule]:
        return over[rule][other]
    if rule is not Rule.AS_IS and other in over and rule in over[other]:
        return reversed_saving(over[other][rule])
    return None


def reversed_saving(saved: Interval) -> Interval:
    """What the second of two rules saves over the first."""
    return replace(saved, value=0.0 - saved.value, low=0.0 - saved.high, high=0.0 - saved.low)


def standard_error(found: Interval) -> float:
    """The standard error that an interval stands for, by the quantile of the normal
    distribution.
    """
    return (found.high - found.low) / 2 / NormalDist().inv_cdf((1 + found.confidence_level) / 2)


def next_to_none(*skills: Interval | None) -> bool:
    """Whether each of the skills that are known is surely next to none."""
    return all(one.high < _USELESS for one in skills if one is not None)


@result_class
class Evidence(Result):
    """What a verdict rests on.

    Attributes
    ----------
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows depend on each other.
    confidence_level, tolerance : float
        As for `assess`.
    calibration : Calibration
        Is it honest, and how is it off.
    skill, skill_as_is : Interval or None
        Is it useful: the value of the recalibrated forecast, and of the forecast as it is, over no
        forecast, as a share of what perfect foresight would gain, at the user's threshold, among
        more than two actions in the user's task, else at the event rate. The maps were fitted to
        other rows. None if all outcomes are the same, or if rows of unequal weight are compressed.
    skill_at_best : Interval or None
        The skill of the best single threshold on the original predictions: of those tried, the one
        whose interval reaches highest. Only where the other two are surely below 0.1, and there is
        one threshold for all cases.
    range_costs : RangeCosts or None
        What ways of acting cost in the decisions of a `threshold_range`. None without one, or with
        a task, which has its own costs.
    auroc : float or None
        The area under the ROC curve on these rows.
    gain : Gain or None
        What recalibration gains. None where no map can be fitted.
    guarantee, rounded_guarantee : Guarantee
        What no decision loses more than, acting on the probabilities as they are, and rounded at
        random.
    certificate : Certificate or None
        What is proven of the map that is deployed; None where rows are too few to spare some for
        it.
    saved : Interval or None
        What recalibration saves per case in the user's own decision; None without costs.
    constant : bool
        Whether all predictions are equal, in decisions whose costs are the same in every case.
    is_reversed : bool
        Whether the event, or the forecast, may be the wrong way round.
    events : int or None
        The number of rows with the rarer outcome, if it is rare and rows have no weights.
    base_rate : float, tuple of float or None
        The event rate of the population, or its range, if it was stated.
    by_rank : bool
        Whether a capacity is used up and costs are the same in every case, so that only the order
        of the probabilities counts, and recalibration is not shown to improve it.
    chosen : bool
        Whether rows may have been chosen by outcome, as many with the event as without it.
    """

    n: int
    groups: int | None
    confidence_level: float
    tolerance: float
    calibration: Calibration
    skill: Interval | None
    skill_as_is: Interval | None
    auroc: float | None
    gain: Gain | None
    guarantee: Guarantee
    rounded_guarantee: Guarantee
    certificate: Certificate | None
    saved: Interval | None = None
    constant: bool = False
    is_reversed: bool = False
    events: int | None = None
    base_rate: BaseRate | None = None
    by_rank: bool = False
    chosen: bool = False
    skill_at_best: Interval | None = None
    range_costs: RangeCosts | None = None

    @property
    def rare(self) -> bool:
        """Whether one of the outcomes is rare."""
        return 0 < self.rarer < RARE

    @property
    def rarer(self) -> float:
        """The share of the rarer outcome: what perfect foresight is worth, of what is at stake,
        where it is most.
        """
        return min(self.calibration.event_rate, 1 - self.calibration.event_rate)

    @property
    def within(self) -> ThresholdRange | None:
        """The range that the thresholds of the decisions lie in; None if it is about every
        decision.
        """
        return self.guarantee.threshold_range

    @property
    def max_weight(self) -> float | None:
        """The largest weight that a row (with groups, a group) can have, if it was stated."""
        return self.guarantee.max_weight

    @property
    def indivisible(self) -> bool:
        """Whether rows are compressed and of unequal weight, so that nothing but losses can be
        estimated.
        """
        return self.gain is None and self.skill is None and not self.constant and self.rarer > 0

    @property
    def useful(self) -> bool:
        """Whether skill is shown: its interval is above 0."""
        return self.skill is not None and self.skill.low > 0

    @property
    def useless(self) -> bool:
        """Whether the forecast is a constant, or no skill is shown and there can only be next to
        none.

        That holds of the recalibrated forecast, of the original, and of the best single threshold
        on it. With costs, the recalibrated one must also cost no less than the best fixed action,
        by the estimate.
        """
        # without a map there is no telling
        if self.constant or self.skill is None or self.gain is None:
            return self.constant
        none = not self.useful and next_to_none(self.skill, self.skill_as_is, self.skill_at_best)
        return none and (self.saved is None or self.skill.value <= 0)

    @property
    def negligible(self) -> bool:
        """Whether recalibration surely gains next to nothing in any decision."""
        return self.gain is not None and self.gain.share.high < self._slight

    @property
    def _slight(self) -> float:
        """A gain that can wait, as a share of what is at stake: less where an outcome is rare."""
        return SLIGHT * self.tolerance * 2 * self.rarer

    @property
    def better(self) -> bool:
        """Whether recalibrated probabilities are better: by log score; in a range surely, or not
        just a little.

        In a range they must not have a negative skill: always, or never, acting is then better.
        """
        if self.gain is None:
            return False
        if self.within is None:
            return self.gain.log_score > 0
        if self.skill is not None and self.skill.value < 0:
            return False
        gain = self.gain.share
        return gain.low > 0 or gain.value >= self._slight

    @property
    def findings(self) -> Findings:
        """What the grade rests on."""
        off_elsewhere = self.within is not None and not self.better
        next_to_nothing = self.negligible or off_elsewhere
        return Findings(
            decidable=self.rarer > 0,
            useless=self.useless,
            useful=self.useful,
            rejected=self.calibration.rejected,
            better=self.better,
            negligible=self.negligible,
            costs_more=self.costs_more,
            harmless=next_to_nothing and self.guarantee.bound <= self.tolerance,
        )

    @property
    def costs_more(self) -> bool:
        """Whether recalibration surely pays nothing in the user's decision, over the original or
        over no forecast.
        """
        if self.by_rank:
            return True
        if self.saved is None:
            return False
        return self.saved.high <= 0 or (self.skill is not None and self.skill.high < 0)

    @property
    def grade(self) -> Grade:
        """The verdict in a word: the first that applies of avoid, recalibrate, use, unknown."""
        return grade(self.findings)
