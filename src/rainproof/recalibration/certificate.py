"""What rows that no map was fitted to show and prove of a recalibration, and of maps for segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from rainproof.core.arrays import Floats
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.text import KEEPS_RANKING, at_least, at_most, if_drawn, percent, rows
from rainproof.core.validation import BaseRate, ThresholdRange
from rainproof.fits.bins import equal_weight_bins
from rainproof.inference.guarantees import guarantee
from rainproof.inference.proofs import gain_of_choice
from rainproof.inference.resampling import by_outcome
from rainproof.inference.switches import harm_bound
from rainproof.recalibration.methods import IDENTITY, correction
from rainproof.recalibration.selection import Division


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Certificate(Result):
    """What is proven of acting on the recalibrated probabilities, from rows that no map was fitted
    to.

    All losses and gains are shares of what is at stake (a task's best minus its worst payoff), for
    every decision task at once, or for all those of a range of thresholds.

    Attributes
    ----------
    harm_bound : float
        In the population no decision loses more than this by acting on the recalibrated
        probabilities in place of the original ones, in expectation.
    gain_at_least : float
        In the population there is a decision that gains at least this, in expectation; 0 if the
        rows prove no gain.
    gain_estimate : float
        An estimate, without bias, of the gain of that decision, which the rows that the map was
        fitted to name.
    harm, gain : float
        On these rows, exactly: the most that any decision loses, and gains.
    loss_bound : float
        In the population no decision that acts on the recalibrated probabilities as they are loses
        more than this, in expectation, compared with any monotone recalibration of them
        (`guarantee` with ``response="as_is"``).
    threshold_range : ThresholdRange or None
        The decisions that all of this is about: those whose thresholds lie in this range; None if
        about every decision.
    confidence_level : float
        Of each of the three bounds by itself.
    n : int
        The number of rows behind the certificate.
    groups : int or None
        The number of groups, if rows depend on each other.
    grid : int or None
        From a compressed sample: the bounds are for predictions rounded down to multiples of
        ``1/grid`` before the map is applied. None if they are for the predictions themselves.
    base_rate : float, tuple of float or None
        The event rate of the population, or its range, if it was stated. The upper bounds hold for
        all of a range, the estimate is for its middle in log odds, and no gain is proven.
    max_weight : float or None
        The largest weight that a row (with groups, a group) can have, if it was stated.
    weighted : bool
        Whether rows have weights, equal ones too: other cases may have others.
    """

    harm_bound: float
    gain_at_least: float
    gain_estimate: float
    harm: float
    gain: float
    loss_bound: float
    threshold_range: ThresholdRange | None
    confidence_level: float
    n: int
    groups: int | None
    grid: int | None
    base_rate: BaseRate | None = None
    max_weight: float | None = None
    weighted: bool = False

    def __str__(self) -> str:
        which = "" if self.threshold_range is None else f" {self.threshold_range}"
        gains = (
            f"Some decision{which} gains at least {at_least(self.gain_at_least)}."
            if self.gain_at_least > 0
            else f"These rows do not prove a gain in any decision{which}, which is not to say that there is none: "
            "`assess` estimates it from all rows."
        )
        if self.harm_bound == 0:
            switched = "The probabilities stay as they are: no decision loses or gains."
        else:
            switched = (
                f"No decision{which} loses more than {at_most(self.harm_bound)} by acting on the recalibrated "
                f"probabilities instead of the original ones. {gains}"
            )
        rounded = (
            f", for probabilities rounded down to multiples of 1/{self.grid} before the map"
            if self.grid
            else ""
        )
        drawn = if_drawn(
            self.groups, "the map", self.base_rate, self.max_weight, weighted=self.weighted
        )
        return (
            f"From {rows(self.n)} that the map was not fitted to, in expectation, in shares of what is at stake:\n"
            f"{switched}\n"
            "Acting on the recalibrated probabilities as they are loses at most "
            f"{at_most(self.loss_bound)} in any decision{which}, {KEEPS_RANKING}.\n"
            f"Each statement holds with {percent(self.confidence_level)} confidence{rounded}, if {drawn}."
        )


def certify(
    held: Sequence[tuple[Sample, PiecewiseMap]],
    chooser: Sample | None,
    confidence_level: float,
    within: ThresholdRange | None = None,
    max_weight: float | None = None,
) -> Certificate:
    """Prove what maps do to the rows held out, each to some of them; without a chooser they change
    nothing anywhere.

    The task that gains is named by the rows that the map was fitted to, so all rows held out bound
    its gain.
    """
    held = [one for one in held if one[0].n] or held[:1]
    doubt, value = 1 - confidence_level, [pieces(part.prob) for part, pieces in held]
    moved = [part._moved(new, _GRID) for (part, _), new in zip(held, value, strict=True)]
    joined = Sample._join(moved)
    level: dict[str, Any] = {"confidence_level": confidence_level, "threshold_range": within}
    promise = guarantee(joined, response="as_is", max_weight=max_weight, **level)
    pair = Sample._join(
        [part._pair(part.prob, new) for (part, _), new in zip(held, value, strict=True)]
    )
    ends = pair._ends()  # of a range of base rates
    curves, proven, harm = (
        [end.curve("old", "new").restricted(within) for end in ends],
        (0.0, 0.0),
        0.0,
    )
    if chooser is not None:
        harm = max(
            harm_bound(*both, doubt, max_weight=max_weight)
            for both in zip(curves, ends, strict=True)
        )
        proven = gain_of_choice(chooser, pair, doubt, within=within, max_weight=max_weight)
    return Certificate(
        harm_bound=harm,
        gain_at_least=proven[1],
        gain_estimate=proven[0],
        harm=max(curve.chord().loss for curve in curves),
        gain=max(curve.chord(back=True).loss for curve in curves),
        loss_bound=promise.bound,
        **level,
        n=pair.n,
        groups=pair.groups,
        grid=held[0][0].grid,
        base_rate=pair.base_rate,
        max_weight=promise.max_weight,
        weighted=pair._weighted,
    )


_GRID = 1 << 16  # of recalibrated predictions of cells
_BINS = 10


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class HeldOutRates(Result):
    """The mean prediction and the event rate in bins of equal weight, with Wilson intervals, each
    bin by itself.

    Rows of a bin must be independent for the intervals; where rows come in groups, they are not
    drawn.

    Attributes
    ----------
    prediction, event_rate : ndarray
        The mean prediction and the event rate of each bin.
    low, high : ndarray
        The ends of the interval of the event rate.
    grouped : bool
        Whether rows come in groups, so that the intervals are too short.
    overall : float
        The event rate of all rows.
    """

    prediction: Floats
    event_rate: Floats
    low: Floats
    high: Floats
    grouped: bool
    overall: float


def held_out_rates(held: Sample, confidence_level: float) -> HeldOutRates | None:
    """Pool rows with neighbouring predictions; None without rows."""
    if held._rates is not None:  # rates move to the base rate by one factor of the odds
        found, units = held_out_rates(held._as_drawn(), confidence_level), by_outcome(held)
        rates: dict[str, Any] = {
            name: units.there(getattr(found, name)) for name in ("event_rate", "low", "high")
        }
        return found and replace(found, overall=held.event_rate, **rates)
    weight = held.mass
    if not weight.sum() > 0:
        return None
    order = np.argsort(held.prob, kind="stable")
    order = order[weight[order] > 0]
    prob = held.prob[order]
    event = held.event[order]
    weight = weight[order]
    squares = weight
    if held.sample_weight is not None and held.counts is None:
        weight = weight / weight.max()  # squares of tiny weights would underflow
        squares = weight**2
    distinct = np.flatnonzero(np.diff(prob, prepend=-1.0))  # equal predictions stay together
    first = distinct[equal_weight_bins(np.add.reduceat(weight, distinct), _BINS)]
    total = np.add.reduceat(weight, first)
    rate = np.add.reduceat(weight * event, first) / total
    effective_n = total**2 / np.maximum(np.add.reduceat(squares, first), np.finfo(float).tiny)
    low, high = _wilson(rate, effective_n, confidence_level)
    return HeldOutRates(
        prediction=np.add.reduceat(weight * prob, first) / total,
        event_rate=rate,
        low=low,
        high=high,
        grouped=held._group is not None,
        overall=float(weight @ event / weight.sum()),
    )


def _wilson(rate: Floats, n: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a rate that was observed in n rows (1927)."""
    z = float(ndtri((1 + confidence_level) / 2))
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    return np.clip(centre - half, 0, rate), np.clip(centre + half, rate, 1)


_FEWEST_IN_SEGMENT = 50  # rows to fit a correction to


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class SegmentMap(Result):
    """What is used in one segment, and what is proven of it.

    Attributes
    ----------
    segment : label, or tuple of labels
        The segment.
    corrected : bool
        Whether it has a map of its own: rows held out proved that a decision gains by it, beside
        the map of all rows.
    gain_at_least : float
        In the population of the segment there is a decision that gains at least this by the
        correction; 0 if none is proven.
    harm_bound : float
        In the population of the segment no decision loses more than this by the map that is used,
        in place of the original probabilities. For all segments at once, with the confidence of the
        certificate.
    n : int
        The number of rows held out that `harm_bound` is from; with none, nothing is proven.
    """

    segment: Any
    corrected: bool
    gain_at_least: float
    harm_bound: float
    n: int


def correct(
    whole: PiecewiseMap,
    segments: Mapping[Any, Division],
    confidence_level: float,
    within: ThresholdRange | None = None,
    max_weight: float | None = None,
) -> tuple[dict[Any, PiecewiseMap], tuple[SegmentMap, ...]]:
    """Fit a correction for each segment; keep those whose gain is proven on the rows held out for
    that choice.
    """
    level = 1 - (1 - confidence_level) / max(len(segments), 1)  # all segments at once
    maps, found = {}, []
    for key, part in segments.items():
        if not part.held_out:
            harm = 0.0 if whole is IDENTITY else 1.0
            found.append(
                SegmentMap(segment=key, corrected=False, gain_at_least=0.0, harm_bound=harm, n=0)
            )
            continue
        certified, decided = part.held_out
        used, gain = whole, 0.0
        negative, positive = part.weight.sum(axis=(0, 2))
        if (
            negative + positive >= _FEWEST_IN_SEGMENT
            and negative > 0
            and positive > 0
            and decided.n
        ):
            own = correction(whole, part.table())
            pair = decided._pair(whole(decided.prob), own(decided.prob))
            _, gain = gain_of_choice(
                part.pairs(whole, own), pair, 1 - level, within=within, max_weight=max_weight
            )
            if gain > 0:
                maps[key] = used = own
        harm = 0.0 if used is IDENTITY else _harm(certified, used, 1 - level, within, max_weight)
        found.append(
            SegmentMap(
                segment=key, corrected=gain > 0, gain_at_least=gain, harm_bound=harm, n=certified.n
            )
        )
    return maps, tuple(found)


def _harm(
    held: Sample,
    used: PiecewiseMap,
    delta: float,
    within: ThresholdRange | None,
    max_weight: float | None,
) -> float:
    pair = held._pair(held.prob, used(held.prob))
    return (
        harm_bound(pair.curve("old", "new").restricted(within), pair, delta, max_weight=max_weight)
        if held.n
        else 1.0
    )
