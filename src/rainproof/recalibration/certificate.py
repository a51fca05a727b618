"""What rows that no map was fitted to show and prove of a recalibration.

The certificates are here, of one event and of several classes, and the event rates that a picture
of the map shows. Which segments get a map of their own is decided in `segment_maps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from rainproof.core.arrays import Floats
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import at_least, at_most, percent
from rainproof.core.text import rows as rows_text
from rainproof.core.validation import BaseRate, ThresholdRange
from rainproof.decisions.class_tasks import ClassTask
from rainproof.fits.bins import equal_weight_bins
from rainproof.inference.assumptions import KEEPS_RANKING, if_drawn
from rainproof.inference.class_bounds import harm_bound as class_harm_bound
from rainproof.inference.class_bounds import loss_bound, mean_at_least, switch_curves
from rainproof.inference.guarantees import guarantee
from rainproof.inference.resampling import by_outcome
from rainproof.inference.switch_gains import gain_of_choice
from rainproof.inference.switches import harm_bound
from rainproof.recalibration.maps import ClassMap

_CELLS = 1 << 16  # of recalibrated predictions of a compressed sample
_CHOOSING_ROWS = 1 << 13  # enough to choose a class and a decision
_BINS = 10  # of the event rates in a picture


@result_class
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
        rounded = ""
        if self.grid:
            rounded = (
                f", for probabilities rounded down to multiples of 1/{self.grid} before the map"
            )
        drawn = if_drawn(
            self.groups, "the map", self.base_rate, self.max_weight, weighted=self.weighted
        )
        return (
            f"{_basis(self.n)}\n"
            f"{self._switch(which)}\n"
            "Acting on the recalibrated probabilities as they are loses at most "
            f"{at_most(self.loss_bound)} in any decision{which}, {KEEPS_RANKING}.\n"
            f"Each statement holds with {percent(self.confidence_level)} confidence{rounded}, if "
            f"{drawn}."
        )

    def _switch(self, which: str) -> str:
        """Say what acting on the map in place of the original probabilities does."""
        if self.harm_bound == 0:
            return "The probabilities stay as they are: no decision loses or gains."
        if self.gain_at_least > 0:
            gains = f"Some decision{which} gains at least {at_least(self.gain_at_least)}."
        else:
            gains = (
                f"These rows do not prove a gain in any decision{which}, which is not to say that "
                "there is none: `assess` estimates it from all rows."
            )
        return (
            f"No decision{which} loses more than {at_most(self.harm_bound)} by acting on the "
            f"recalibrated probabilities instead of the original ones. {gains}"
        )


def _basis(n: int) -> str:
    return (
        f"From {rows_text(n)} that the map was not fitted to, in expectation, in shares of what is "
        "at stake:"
    )


class HeldOut(NamedTuple):
    """Rows held out, and the map that is used for them."""

    rows: Sample
    map: PiecewiseMap


def certify(
    held_out: Sequence[HeldOut],
    chooser: Sample | None,
    confidence_level: float,
    within: ThresholdRange | None = None,
) -> Certificate:
    """Prove what maps do to the rows held out; without a chooser they change nothing anywhere.

    The task that gains is named by the rows that the map was fitted to, the chooser's, so that all
    rows held out bound its gain.
    """
    # Segments without rows held out prove nothing; of none with rows, one says so.
    occupied = [part for part in held_out if part.rows.n]
    held_out = occupied or held_out[:1]
    moved = []
    pairs = []
    for rows, map_ in held_out:
        value = map_(rows.prob)
        moved.append(rows.with_predictions(value, _CELLS))
        pairs.append(rows.with_forecasts(old=rows.prob, new=value))
    promise = guarantee(
        Sample.concat(moved),
        response="as_is",
        confidence_level=confidence_level,
        threshold_range=within,
    )
    pair = Sample.concat(pairs)
    delta = 1 - confidence_level
    harm_bounds = [0.0]
    harms = []
    gains = []
    for end in pair.scenarios():  # of a range of base rates
        curve = end.curve("old", "new").restricted(within)
        harms.append(curve.chord().loss)
        gains.append(curve.chord(back=True).loss)
        if chooser is not None:
            harm_bounds.append(harm_bound(curve, end, delta))
    gain_estimate = 0.0
    gain_at_least = 0.0
    if chooser is not None:
        gain_estimate, gain_at_least = gain_of_choice(chooser, pair, delta, within=within)
    return Certificate(
        harm_bound=max(harm_bounds),
        gain_at_least=gain_at_least,
        gain_estimate=gain_estimate,
        harm=max(harms),
        gain=max(gains),
        loss_bound=promise.bound,
        confidence_level=confidence_level,
        threshold_range=within,
        n=pair.n,
        groups=pair.groups,
        grid=held_out[0].rows.grid,
        base_rate=pair.base_rate,
        max_weight=promise.max_weight,
        weighted=pair.units.has_weights,
    )


@result_class
class ClassCertificate(Result):
    """What is proven of acting on recalibrated probabilities of several classes, from rows that no
    map was fitted to.

    Losses and gains are shares of what is at stake. Each bound holds with the confidence by itself.

    Attributes
    ----------
    harm_bound : float
        In the population no decision about any one class ("is it a dog or not") loses more than
        this by acting on the recalibrated probability in place of the original one, in expectation:
        for all classes and decisions at once.
    gain_at_least : float
        In the population there is a decision about `gain_class` that gains at least this, in
        expectation; 0 if the rows prove no gain.
    gain_class : label
        The class that gains most on the rows that the map was fitted to.
    harm : float
        On these rows, exactly: the most that any such decision loses.
    loss_bound : float
        In the population no decision about any one class that acts on its recalibrated probability
        loses more than this, in expectation, compared with any monotone recalibration of it: for
        all classes and decisions at once.
    saving : float or None
        With a task: what acting on the recalibrated probabilities saves per case on these rows, in
        its units: an estimate without bias. Below 0 it costs more.
    saving_at_least : float or None
        What it saves per case at least, in the population; 0 if the rows prove no saving.
    confidence_level : float
        Of each of the bounds by itself.
    n : int
        The number of rows behind the certificate.
    groups : int or None
        The number of groups, if rows depend on each other.
    weighted : bool
        Whether rows have weights, equal ones too: other cases may have others.
    """

    harm_bound: float
    gain_at_least: float
    gain_class: Any
    harm: float
    loss_bound: float
    saving: float | None
    saving_at_least: float | None
    confidence_level: float
    n: int
    groups: int | None
    weighted: bool = False

    def __str__(self) -> str:
        if self.gain_at_least > 0:
            gain = at_least(self.gain_at_least)
            gains = (
                f"There is a decision about {str(self.gain_class)!r} that gains at least {gain}."
            )
        else:
            gains = "These rows do not prove a gain in any decision."
        lines = [
            _basis(self.n),
            f"No decision about any one class loses more than {at_most(self.harm_bound)} by "
            f"acting on the recalibrated probability instead of the original one. {gains}",
            "Acting on the recalibrated probability of a class as it is loses at most "
            f"{at_most(self.loss_bound)} in any decision about it, {KEEPS_RANKING}.",
        ]
        if self.saving is not None and self.saving_at_least is not None:
            proven = "not proven"
            if self.saving_at_least > 0:
                proven = f"at least {self.saving_at_least:.4g}"
            lines.append(
                f"In the task it saves {self.saving:.4g} per case (an estimate; {proven})."
            )
        drawn = if_drawn(self.groups, "the map", weighted=self.weighted)
        lines.append(
            f"Each statement holds with {percent(self.confidence_level)} confidence, for all "
            f"classes and decisions at once, if {drawn}."
        )
        return "\n".join(lines)


def certify_classes(
    held: Sample,
    chooser: Sample,
    map_: ClassMap,
    confidence_level: float,
    task: ClassTask | None,
) -> ClassCertificate:
    """Prove what a map does to the rows held out.

    The class and the decision that gain are named by the chooser's rows, which the map was fitted
    to, in random order.
    """
    delta = 1 - confidence_level
    value = map_.apply(held.prob)
    bound, harm = class_harm_bound(held, value, delta)
    # The rows that choose must not be those that prove: else the bound would have to hold for any
    # choice.
    chooser = chooser.take(np.arange(min(len(chooser.which), _CHOOSING_ROWS)))
    choosing_value = map_.apply(chooser.prob)
    curves = switch_curves(chooser, choosing_value)
    best = int(np.argmax([curve.chord(back=True).loss for curve in curves]))
    chooser_pair = _pair_of_class(chooser, choosing_value, best)
    held_pair = _pair_of_class(held, value, best)
    saving = None
    saving_at_least = None
    if task is not None:
        original = task.matrix[task.best_checked(held.prob), held.which]
        gain = task.matrix[task.best_checked(value), held.which] - original
        saving = float(held.mass @ gain / held.mass.sum())
        saving_at_least = task.scale * mean_at_least(gain / task.scale, held, delta)
    return ClassCertificate(
        harm_bound=bound,
        gain_at_least=gain_of_choice(chooser_pair, held_pair, delta).at_least,
        gain_class=map_.classes[best],
        harm=harm,
        loss_bound=loss_bound(held.with_predictions(value), delta).bound,
        saving=saving,
        saving_at_least=saving_at_least,
        confidence_level=confidence_level,
        n=held.n,
        groups=held.groups,
        weighted=held.units.has_weights,
    )


def _pair_of_class(sample: Sample, value: Floats, number: int) -> Sample:
    """Return one class against the rest, with its original and its recalibrated predictions."""
    event = sample.one_class(number)
    return event.with_forecasts(old=event.prob, new=np.ascontiguousarray(value[:, number]))


@result_class
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
    if held.design.strata is not None:
        drawn = held_out_rates(held.as_drawn(), confidence_level)
        return None if drawn is None else _at_base_rate(drawn, held)
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
        grouped=held.units.unit is not None,
        overall=float(weight @ event / weight.sum()),
    )


def _at_base_rate(drawn: HeldOutRates, held: Sample) -> HeldOutRates:
    """Move rates to the base rate, by one factor of the odds."""
    units = by_outcome(held)
    return replace(
        drawn,
        overall=held.event_rate,
        event_rate=units.there(drawn.event_rate),
        low=units.there(drawn.low),
        high=units.there(drawn.high),
    )


def _wilson(rate: Floats, n: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a rate that was observed in n rows (1927)."""
    z = float(ndtri((1 + confidence_level) / 2))
    widened = 1 + z**2 / n
    centre = (rate + z**2 / (2 * n)) / widened
    half = z / widened * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    return np.clip(centre - half, 0, rate), np.clip(centre + half, rate, 1)
