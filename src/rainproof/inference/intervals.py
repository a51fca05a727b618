"""Confidence intervals for measures, by resampling."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.cells import split
from rainproof.core.result import Interval
from rainproof.core.sample import Sample, as_sample
from rainproof.errors import FewRowsWarning, InputError
from rainproof.inference.estimates import Influence
from rainproof.inference.options import (
    Progress,
    Rng,
    Seed,
    as_seed,
    check_share,
    interval_resamples,
)
from rainproof.inference.resampling import (
    Draw,
    Drawing,
    Resampler,
    as_resampler,
    by_outcome,
    draw_batches,
    each_time,
    quantile,
)
from rainproof.inference.statistics import Measuring, Statistic, as_statistic, bootstrapped

# populations from calibrated to far beyond the estimate; the more for few predictions
_STEPS, _FINE_STEPS = 9, 33
# samples of the farthest population that must all have more than was observed; it is then doubled
_PILOTS = 12
_FARTHEST = 2.0**12


Ends = Callable[[float], tuple[float, float]]
"""The ends of an interval, as a function of its confidence level."""

Draws = Callable[..., Floats]
"""A function that calls another for each draw: one row for each call."""


def _bootstrap(
    method: str, _: Sample, atoms: Resampler, statistic: Statistic, __: Rng, draw: Draws
) -> tuple[float, Ends]:
    """Draw rows (or clusters) with replacement: the quantiles, or those reflected at the estimate
    ("basic").
    """
    evaluate = statistic.on(atoms)
    one, estimate = bootstrapped(evaluate, atoms), evaluate(atoms.observed())
    draws = np.sort(draw(lambda stream: [one(stream)])[:, 0])
    ends = (
        partial(basic_ends, estimate, draws, 1.0)
        if method == "basic"
        else partial(percentile_ends, draws)
    )
    return 2 * estimate - float(draws.mean()), ends


def percentile_ends(draws: Floats, confidence_level: float) -> tuple[float, float]:
    """Return the quantiles of increasing draws."""
    tail = (1 - confidence_level) / 2
    return quantile(draws, tail), quantile(draws, 1 - tail)


def basic_ends(
    estimate: float, draws: Floats, scale: float, confidence_level: float
) -> tuple[float, float]:
    """Return the quantiles of increasing draws, reflected at the estimate; deviations are
    multiplied by `scale`.
    """
    low, high = percentile_ends(draws, confidence_level)
    return estimate - scale * (high - estimate), estimate - scale * (low - estimate)


def _inversion(
    sample: Sample, atoms: Resampler, statistic: Statistic, rng: Rng, draw: Draws
) -> tuple[float, Ends]:
    """Draw samples of populations from the calibrated one to one whose samples all have more than
    was observed.
    """
    path = PopulationPath(sample, atoms, statistic)
    farthest = 1.0
    (pilot,) = rng.spawn(1)
    while farthest < _FARTHEST:
        sampler = path.sampler(farthest)
        if all(sampler(pilot)[0] > path.observed for _ in range(_PILOTS)):
            break
        farthest *= 2
    # Of few distinct predictions the measure has plateaus, where quantiles are far from straight
    # between populations.
    many = _FINE_STEPS if repeats_often(sample, atoms) else _STEPS
    steps = (2 * farthest * np.linspace(0.0, 1.0, many) ** 1.5).tolist()
    draws = np.sort(draw(path.sampler(*steps), width=many).T, axis=1)
    values = np.maximum.accumulate([path.value(step) for step in steps])
    # corrected: the value of the population whose samples have more than was observed half of the
    # time
    return where_observed(path.observed, values, draws, 0.5), partial(
        inversion_ends, path.observed, values, draws
    )


def inversion_ends(
    observed: float, values: Floats, draws: Floats, confidence_level: float
) -> tuple[float, float]:
    """Return the values of the first and the last population for which the observed value is in no
    tail.

    `values` has the measure of each population of the path, and `draws` a row for each: the measure
    of samples of it, increasing. Values that samples share (SCDL is often a multiple of 1/m) count
    as being in either tail. An end that could lie anywhere between two populations is the outer
    one.
    """
    tail = (1 - confidence_level) / 2
    low = where_observed(observed, values, draws, 1 - tail)
    return low, where_observed(observed, values, draws, tail, last=True)


def where_observed(
    observed: float, values: Floats, draws: Floats, share: float, *, last: bool = False
) -> float:
    """Return the value of the first (or last) population of whose samples the observed value is
    this quantile.
    """
    seen = np.array([quantile(row, share) for row in draws])
    # samples of worse populations have more, but for the noise of few draws
    seen = np.maximum.accumulate(seen)
    at = int(np.searchsorted(seen, observed, "right" if last else "left"))
    if at in (0, len(seen)):
        return float(values[at and -1])
    inside = (observed - seen[at - 1]) / (seen[at] - seen[at - 1])
    if inside in (0.0, 1.0):
        inside = 1.0 - inside
    return float(values[at - 1] + inside * (values[at] - values[at - 1]))


def no_ends(_: float) -> tuple[float, float]:
    """Return the whole line: nothing is claimed."""
    return -math.inf, math.inf


METHODS: dict[str, Callable[..., tuple[float, Ends]]] = {
    "inversion": _inversion,
    **{method: partial(_bootstrap, method) for method in ("percentile", "basic")},
}
"""How each method makes of draws the estimate without the part that chance adds, and the ends of an
interval.
"""


ENOUGH_ROWS = 20  # rows per distinct prediction from which on each has a bias of its own
_PRIOR_ROWS = 2.0  # rows without bias that every estimate of a bias is diluted with
_MOST_NODES = 65  # at which a population is moved on its own
_MOST_PLACES = 2048  # predictions among which a direction is looked for
_UPHILL = 3  # steps along the gradient
_TINY = 1e-300


def repeats_often(sample: Sample, atoms: Resampler) -> bool:
    """Return whether distinct predictions have so many rows that the event rate of each can be
    seen.
    """
    return len(atoms.distinct) * ENOUGH_ROWS <= sample.ungrouped().effective_n


class PopulationPath:
    """Populations by step: calibrated at 0, as estimated at 1, and beyond 1 where the measure grows
    fastest.

    The bias of the predictions is estimated at nodes: the distinct predictions if they repeat
    often, else the points of a grid of about ``n^(1/3)`` cells, linear in between. Beyond step 1
    the path does not scale the estimated bias: that would scale noise and biases that the measure
    ignores, and samples of such populations would look worse than those of populations where one
    bias alone is large. It moves in the direction in which the measure is largest two standard
    errors away (the least favourable family of DiCiccio and Romano).

    With `keep` samples have the predictions of this one, and only outcomes are drawn. With
    clusters, whole clusters are drawn with their predictions, and two rows of a cluster share one
    random number with the probability that gives their outcomes the correlation seen in the sample.
    """

    def __init__(self, sample: Sample, atoms: Resampler, statistic: Statistic) -> None:
        self._atoms, self._statistic, self._keep = atoms, statistic, statistic.pools
        self._evaluate = statistic.on(atoms)
        self.observed = self._evaluate(atoms.observed())
        node, share, bias = estimated_bias(sample, atoms)
        self._bias = self._by_atom((share * bias[node]).sum(axis=0))
        # no bias to be seen: go where forecasters mostly err, towards 0 and 1
        if not self._bias.any():
            self._bias = (0.5 - atoms.prob) * math.sqrt(1 / sample.ungrouped().effective_n)
        self._rise = self._steepest(node, share)
        self._alike = 0.0 if atoms.group is None else self._correlation(atoms.group)

    def rate(self, step: float) -> Floats:
        """The event probability at each atom."""
        beyond = max(step - 1.0, 0.0)
        return np.clip(
            self._atoms.prob + min(step, 1.0) * self._bias + beyond * self._rise, 0.0, 1.0
        )

    def value(self, step: float) -> float:
        """The measure of that population."""
        # of a calibrated one: no grid would balance it
        if step == 0 and self._statistic.soft_binned:
            return 0.0
        return self._evaluate(self._atoms.expected(self.rate(step)))

    def sampler(self, *steps: float) -> Callable[[Rng], Floats]:
        """Return a function that draws the measure of a sample of each population.

        All come from the same random numbers: differences are not noise.
        """
        atoms = self._atoms
        outcomes = atoms.outcomes([self.rate(step) for step in steps], self._alike)

        def draw(stream: Rng) -> Floats:
            draws = outcomes(stream, atoms.count if self._keep else atoms.repeat(stream))
            return np.concatenate([self._evaluate.many(some) for some in draws])

        return draw

    def _correlation(self, group: Ints) -> float:
        """The correlation of the outcomes in a cluster: a moment estimate plus a standard error.

        The plain moment is too small: the estimated bias takes up part of what the rows of a
        cluster share.
        """
        unit = 1.0 if self._atoms.unit is None else self._atoms.unit
        rate = self.rate(1.0)
        off, spread = unit * (self._atoms.events - rate), unit * np.sqrt(rate * (1 - rate))
        seen, most = (np.bincount(group, x) ** 2 - np.bincount(group, x**2) for x in (off, spread))
        total = max(float(most.sum()), _TINY)
        alike = float(seen.sum()) / total
        error = math.sqrt(float(((seen - alike * most) ** 2).sum())) / total
        return min(max(alike + error, 0.0), 1.0)

    def _steepest(self, node: Ints, share: Floats) -> Floats:
        """The change of the event probabilities, two standard errors in all, that raises the
        measure most.

        The best change at a single node, then steps along the gradient from there, as long as they
        help. Predictions are pooled to at most 2,048 meanwhile: it is a direction that is looked
        for, not a value.
        """
        nodes = int(node.max()) + 1
        if nodes > _MOST_NODES:  # neighbours move together
            node, nodes = node * _MOST_NODES // nodes, _MOST_NODES
        moved = np.flatnonzero(error := 2 * self._standard_errors(node, share, nodes))
        if not len(moved):
            return self._bias
        values, single = self._trials(node, share, error)
        single = single[moved]
        trials = np.stack([single, -single], axis=1).reshape(-1, single.shape[1])
        tried = values(trials)
        best = len(tried) - 1 - int(np.argmax(tried[::-1]))
        if not tried[best] > values(np.zeros((1, single.shape[1])))[0] * (1 + 1e-9):
            return self._bias
        at, found = np.zeros(nodes), tried[best]
        at[moved[best // 2]] = error[moved[best // 2]] * (-1) ** best
        change = trials[best]
        for _ in range(_UPHILL):
            slope = values(change + single / 2) - values(change - single / 2)
            slope /= max(math.sqrt(float((slope**2).sum())), _TINY)
            further = (slope[:, None] * single).sum(axis=0)
            if not (value := values(further[None])[0]) > found * (1 + 1e-9):
                break
            found, change = value, further
            at[moved] = error[moved] * slope
        return self._by_atom((share * at[node]).sum(axis=0))

    def _trials(
        self, node: Ints, share: Floats, error: Floats
    ) -> tuple[Callable[[Floats], Floats], Floats]:
        """The measure as a function of changes of the event probabilities, one a row; the change by
        each node alone.
        """
        atoms, pool = self._atoms.pooled(_MOST_PLACES)
        evaluate = self._evaluate if atoms is self._atoms else self._statistic.on(atoms)
        weight, places, nodes = self._atoms.weight, len(atoms.distinct), len(error)
        held = np.bincount(pool, weight)
        rate = (
            np.bincount(pool, weight * (self._atoms.distinct + self._by_prediction(self._bias)))
            / held
        )
        single = np.bincount(
            (node * places + pool).ravel(), (share * weight).ravel(), nodes * places
        )

        def values(changes: Floats) -> Floats:
            return evaluate.many(Draw(None, held * np.clip(rate + changes, 0.0, 1.0)))

        return values, single.reshape(nodes, places) / held * error[:, None]

    def _standard_errors(self, node: Ints, share: Floats, nodes: int) -> Floats:
        atoms = self._atoms
        bias, prob = self._by_prediction(self._bias), atoms.distinct
        rate = np.clip(prob + bias, prob / 2, (1 + prob) / 2)  # no rate is known without error
        weight, noise = (
            np.bincount(node.ravel(), x.ravel(), nodes)
            for x in (share * atoms.weight, share * atoms.squares * rate * (1 - rate))
        )
        return np.asarray(np.sqrt(noise) / np.maximum(weight, _TINY))

    def _by_prediction(self, by_atom: Floats) -> Floats:
        return by_atom if self._atoms.start is None else by_atom[self._atoms.start]

    def _by_atom(self, by_prediction: Floats) -> Floats:
        start = self._atoms.start
        if start is None:
            return by_prediction
        return np.repeat(by_prediction, np.diff(np.append(start, len(self._atoms.prob))))


def estimated_bias(sample: Sample, atoms: Resampler) -> tuple[NDArray[np.int64], Floats, Floats]:
    """The two nodes next to each distinct prediction, its share of each, and the bias (event rate
    less prediction).

    A bias r whose noise has the variance v is shrunk to ``r (1 - v/r^2)+`` (James and Stein, a node
    at a time).
    """
    weight, positive, prob = (
        atoms.weight,
        atoms.observed().positive.astype(np.float64),
        atoms.distinct,
    )
    if repeats_often(sample, atoms):
        m, cell, up = len(prob) - 1, np.arange(len(prob)), np.zeros(len(prob))
    else:
        m = 1 << min(6, max(2, round(math.log2(sample.ungrouped().effective_n) / 3)))
        cell, up = split(prob, m)
    node, share = np.stack([cell, np.minimum(cell + 1, m)]), np.stack([1 - up, up])
    residual, noise, total = (
        np.bincount(node.ravel(), x.ravel(), m + 1)
        for x in (
            share * (positive - weight * prob),
            share**2 * atoms.squares * prob * (1 - prob),
            share * weight,
        )
    )
    kept = np.maximum(1 - noise / np.maximum(residual**2, _TINY), 0.0)
    each = sample.total_weight / sample.ungrouped().effective_n  # the weight of a row
    return node, share, kept * residual / (total + _PRIOR_ROWS * each)


_LEAST, _FEW = 10, 30  # rows or groups: with fewer nothing is claimed, or a warning is given
_FEW_EVENTS = 20


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ConfidenceInterval(Interval):
    """A confidence interval for the measure of the population that the rows came from.

    Attributes
    ----------
    value, estimate : float
        The measure of the sample. Chance adds to it, so near calibration it can lie above the
        interval.
    low, high : float
        The ends of the interval.
    confidence_level : float
        The share of such intervals that contain the population's value, as far as the method goes.
    method : str
        The method: "inversion", "percentile" or "basic".
    measure : str
        The measure.
    corrected : float
        The estimate without the part that chance adds.
    n_resamples : int
        The number of samples drawn (from each population, for "inversion").
    n : int
        The number of rows.
    seed : int or None
        The seed, if one was given.
    warnings : tuple of str
        Reasons to read the interval with care.
    """

    _kind = "confidence_interval"
    _also = ("estimate", "bias")
    _shown = ("low", "high", "confidence_level", "estimate", "measure", "method", "n")
    method: str
    measure: str
    corrected: float
    n_resamples: int
    n: int
    seed: int | None
    warnings: tuple[str, ...]
    _ends: Ends = field(compare=False)

    @property
    def estimate(self) -> float:
        """The measure of the sample: `value`."""
        return self.value

    @property
    def bias(self) -> float:
        """The part of the estimate that chance adds, according to the method."""
        return self.value - self.corrected

    def at(self, confidence_level: float) -> ConfidenceInterval:
        """Return the interval at another level, from the same draws."""
        low, high = self._ends(check_share(confidence_level, "confidence_level"))
        return replace(self, confidence_level=confidence_level, low=low, high=high)

    def __str__(self) -> str:
        lines = [
            f"{self.measure} is between {self.low:.4g} and {self.high:.4g} in the population, with "
            f"{100 * self.confidence_level:.4g}% confidence ({self.method}).",
            f"The sample has {self.estimate:.4g}, of which chance explains about {self.bias:.2g}"
            + (
                ": it lies above the interval, as chance adds to it."
                if self.estimate > self.high
                else "."
            ),
            *(f"Note: {note}." for note in self.warnings),
        ]
        return "\n".join(lines)


def confidence_interval(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    base_rate: float | None = None,
    measure: str | Measuring = "soft_binned_cdl",
    confidence_level: float = 0.95,
    method: str = "auto",
    n_resamples: int | None = None,
    rng: Seed = None,
    progress: Progress | None = None,
) -> ConfidenceInterval:
    r"""Compute a confidence interval for a measure of the population.

    The value on a sample is too large: chance looks like miscalibration, and near calibration it is
    most of the value. Bootstrap intervals add that chance a second time and are badly wrong there.
    The default method compares the sample with samples from populations whose value is known, which
    have the same bias.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The cluster of each row (patient, site, day): rows of a cluster depend on each other, and
        whole clusters are drawn.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`). The
        bootstrap then draws rows of each outcome by themselves; "inversion" does not take it.
    measure : str or callable
        A name of `list_measures()`, or a function that takes one `Sample`.
    confidence_level : float
        The share of such intervals that should contain the population's value.
    method : {"auto", "inversion", "percentile", "basic"}
        "auto" is "percentile" for scores and "inversion" for all other measures.
    n_resamples : int, optional
        The number of samples drawn; by "inversion" from each of nine populations (33 where
        predictions have 20 rows each). Default: 199, or as many as leave one in each tail.
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of samples drawn so far and in total.

    Returns
    -------
    ConfidenceInterval

    Warns
    -----
    FewRowsWarning
        With fewer than 30 rows or groups (with fewer than 10, or where fewer than 20 effective
        groups have the rarer outcome, the interval is the whole range of the measure), or fewer
        than 20 events or non-events; and for ECE and CDL with fewer than 20 rows per distinct
        prediction.

    Notes
    -----
    *inversion.* The bias :math:`\hat r(p)` of the predictions is estimated: for each distinct prediction if
    they have 20 rows each, else as a curve that is linear between the points of a grid of about :math:`n^{1/3}` cells;
    estimates no larger than their noise are shrunk to 0. A path of populations has the predictions of the sample and
    the event probabilities :math:`q_\lambda(p) = p + \lambda \hat r(p)` for :math:`\lambda \le 1`, from calibrated to
    as estimated. Beyond 1 it moves in the direction in which the measure grows fastest, relative to what the sample can
    tell apart (the least favourable family). Each population has a known value :math:`\theta(\lambda)`; samples drawn
    from it show which plug-in values :math:`\hat\theta` are to be expected on n rows. (For ECE and CDL the predictions
    are kept, as drawing one twice would pool its rows.) The interval has the values of those populations for which the
    observed :math:`\hat\theta` is in neither tail; `corrected` is the value for which it is the median. So the low end
    is 0 where a test like `calibration_test` does not reject, and an upward bias of any size, even that of ECE and CDL,
    which does not vanish, is accounted for.

    It is an estimate, not a proof. Errors that alternate at a scale finer than the curve, among as
    many distinct predictions as rows, cannot be told from chance by any method. With `groups`,
    clusters are drawn with their predictions, and outcomes have the same correlation within every
    cluster: the one seen, plus a standard error.

    *percentile*, *basic*: the bootstrap of rows (or clusters) and its quantiles, or the reflected
    ones. Right for scores and far from calibration, wrong near it.

    docs/benchmarks/study-tests.md has the measured coverage. Every draw costs one evaluation of the
    measure.

    References
    ----------
    Andrews (2000), "Inconsistency of the Bootstrap when a Parameter is on the Boundary of the Parameter Space",
    doi:10.1111/1468-0262.00114. DiCiccio, Romano (1990), "Nonparametric Confidence Limits by Resampling Methods and
    Least Favorable Families", doi:10.2307/1403474.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> calibrated = rng.random(1000) < p
    >>> found = rainproof.confidence_interval(calibrated, p, n_resamples=99, rng=0)
    >>> found.low, found.at(0.5).low
    (0.0, 0.0)
    """
    columns = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups}
    sample = as_sample(y_true, y_prob, **columns, base_rate=base_rate)
    statistic = as_statistic(measure)
    confidence_level = check_share(confidence_level, "confidence_level")
    size = interval_resamples(n_resamples, (1 - confidence_level) / 2)
    if method not in ("auto", *METHODS):
        raise InputError(f"method must be one of auto, {', '.join(METHODS)}; it is {method!r}")
    generator, seed = as_seed(rng, sample)
    atoms = as_resampler(sample) if sample._rates is None else by_outcome(sample)
    notes = _doubts(sample, atoms, statistic)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    chosen = method if method != "auto" else "inversion" if statistic.bounded else "percentile"
    if chosen == "inversion" and sample._rates is not None:
        raise InputError(
            "base_rate cannot be combined with method 'inversion', the default for measures of calibration: its "
            "populations do not fit rows that were chosen by outcome; pass method='basic', which is wrong near "
            "calibration, or use guarantee and calibration_test"
        )
    value = float(statistic.function(sample))

    def draw(one: Drawing, width: int = 1) -> Floats:
        return draw_batches(
            each_time(one), size, generator, progress, width=width, threads=statistic.threads
        )

    few = Influence.of(sample, pool=False).few_clusters
    fit = METHODS[chosen] if atoms.units >= _LEAST and not few else None
    corrected, ends = (
        (value, no_ends) if fit is None else fit(sample, atoms, statistic, generator, draw)
    )
    ends = partial(_clipped, ends, statistic.limits)
    low, high = ends(confidence_level)
    return ConfidenceInterval(
        value=value,
        low=low,
        high=high,
        confidence_level=confidence_level,
        method=chosen,
        measure=statistic.name,
        corrected=float(np.clip(corrected, *statistic.limits)),
        n_resamples=size,
        n=sample.n,
        seed=seed,
        warnings=tuple(map(str, notes)),
        _ends=ends,
    )


def _clipped(
    ends: Ends, limits: tuple[float, float], confidence_level: float
) -> tuple[float, float]:
    """The part of an interval where the measure can lie."""
    low, high = np.clip(ends(confidence_level), *limits)
    return float(low), float(high)


def _doubts(sample: Sample, atoms: Resampler, statistic: Statistic) -> list[FewRowsWarning]:
    """Reasons why the interval can be far from its level."""
    notes = list[str]()
    what = "row" if atoms.group is None else "group"
    units = f"1 {what} is" if atoms.units == 1 else f"{atoms.units} {what}s are"
    events = int(atoms.events.sum())
    fewer, rarer = min((events, "events"), (atoms.n - events, "non-events"))
    if atoms.units < _LEAST:
        notes.append(f"{units} too few to resample: the interval is the whole range of the measure")
    elif (rows := Influence.of(sample, pool=False)).few_clusters:
        notes.append(
            f"{rows.rarer_in} are too few to resample: the interval is the whole range of the measure"
        )
    elif atoms.units < _FEW:
        notes.append(f"{units} few to resample: the interval can be far from its level")
    elif statistic.bounded and fewer < _FEW_EVENTS:
        notes.append(f"{fewer} {rarer} are few to resample: the interval can be far from its level")
    if statistic.pools and not repeats_often(sample, atoms):
        notes.append(
            f"{statistic.name} compares each distinct prediction with its own rows, here fewer than {ENOUGH_ROWS}: "
            "errors that alternate between predictions cannot be told from chance"
        )
    return [FewRowsWarning(note) for note in notes]
