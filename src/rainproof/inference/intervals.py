"""Confidence intervals for measures, by resampling.

Populations that intervals by inversion draw from are in `rainproof.inference.populations`;
intervals of means, without resampling, in `rainproof.inference.estimates`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.result import Interval, result_class
from rainproof.core.sample import Sample
from rainproof.errors import FewRowsWarning, InputError
from rainproof.inference.estimates import has_few_clusters, rarer_in
from rainproof.inference.options import (
    Progress,
    Rng,
    Seed,
    as_seed,
    check_share,
    interval_resamples,
)
from rainproof.inference.populations import ENOUGH_ROWS, PopulationPath, repeats_often
from rainproof.inference.resampling import (
    Drawing,
    Resampler,
    as_resampler,
    by_outcome,
    draw_batches,
    each_time,
    quantile,
)
from rainproof.inference.statistics import Measuring, Statistic, as_statistic, bootstrapped

# populations from calibrated to far beyond the estimate. Of few distinct predictions the measure
# has plateaus, where quantiles are far from straight between populations: there are more
_POPULATIONS = 9
_POPULATIONS_IF_REPEATED = 33
_SPACING = 1.5  # power of a population's place in the path: they are closer near calibration
# samples of the farthest population that must all have more than was observed; it is then doubled
_PILOTS = 12
_FARTHEST = 2.0**12  # step of the path at which doubling ends
_FEWEST_UNITS = 10  # rows or groups; with fewer nothing is claimed
_FEW_UNITS = 30  # rows or groups; with fewer a warning is given
_FEW_EVENTS = 20  # or non-events; with fewer a warning is given


Ends = Callable[[float], tuple[float, float]]
"""The ends of an interval, as a function of its confidence level."""

Draws = Callable[..., Floats]
"""A function that calls another for each draw: one row for each call."""


class Resampling(NamedTuple):
    """What a method makes an interval from."""

    sample: Sample
    atoms: Resampler
    statistic: Statistic
    rng: Rng
    draw: Draws


class Estimated(NamedTuple):
    """What a method makes of it."""

    corrected: float  # the estimate without the part that chance adds
    ends: Ends


def _percentile(resampling: Resampling) -> Estimated:
    """Draw rows (or clusters) with replacement: the quantiles."""
    estimate, draws = _bootstrap(resampling)
    return Estimated(2 * estimate - float(draws.mean()), partial(percentile_ends, draws))


def _basic(resampling: Resampling) -> Estimated:
    """Draw rows (or clusters) with replacement: the quantiles, reflected at the estimate."""
    estimate, draws = _bootstrap(resampling)
    return Estimated(2 * estimate - float(draws.mean()), partial(basic_ends, estimate, draws, 1.0))


def _bootstrap(resampling: Resampling) -> tuple[float, Floats]:
    """The measure of the sample, and of samples of its rows (or clusters), increasing."""
    atoms = resampling.atoms
    evaluate = resampling.statistic.on(atoms)
    draw_one = bootstrapped(evaluate, atoms)
    estimate = evaluate(atoms.observed())

    def draw(stream: Rng) -> list[float]:
        return [draw_one(stream)]

    return estimate, np.sort(resampling.draw(draw)[:, 0])


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


def _inversion(resampling: Resampling) -> Estimated:
    """Draw samples of populations from the calibrated one to one whose samples all have more than
    was observed.
    """
    path = PopulationPath(resampling.sample, resampling.atoms, resampling.statistic)
    pilot = resampling.rng.spawn(1)[0]
    farthest = 1.0
    while farthest < _FARTHEST:
        draw = path.sampler(farthest)
        if all(draw(pilot)[0] > path.observed for _ in range(_PILOTS)):
            break
        farthest *= 2
    populations = _POPULATIONS
    if repeats_often(resampling.sample, resampling.atoms):
        populations = _POPULATIONS_IF_REPEATED
    place = np.linspace(0.0, 1.0, populations)
    steps = (2 * farthest * place**_SPACING).tolist()
    draws = np.sort(resampling.draw(path.sampler(*steps), width=populations).T, axis=1)
    values = np.maximum.accumulate([path.value(step) for step in steps])
    # of the population whose samples have more than was observed half of the time
    corrected = where_observed(path.observed, values, draws, 0.5)
    return Estimated(corrected, partial(inversion_ends, path.observed, values, draws))


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
    quantiles = np.array([quantile(row, share) for row in draws])
    # samples of worse populations have more, but for the noise of few draws
    quantiles = np.maximum.accumulate(quantiles)
    above = int(np.searchsorted(quantiles, observed, "right" if last else "left"))
    if above == 0:
        return float(values[0])
    if above == len(quantiles):
        return float(values[-1])
    below = above - 1
    fraction = (observed - quantiles[below]) / (quantiles[above] - quantiles[below])
    # It is the quantile of one of the two: the end could be anywhere between them, so it is the
    # outer one, that is the other population.
    if fraction in (0.0, 1.0):
        fraction = 1.0 - fraction
    return float(values[below] + fraction * (values[above] - values[below]))


def no_ends(_: float) -> tuple[float, float]:
    """Return the whole line: nothing is claimed."""
    return -math.inf, math.inf


METHODS: dict[str, Callable[[Resampling], Estimated]] = {
    "inversion": _inversion,
    "percentile": _percentile,
    "basic": _basic,
}
"""What each method makes of draws."""


@result_class
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
        sample = (
            f"The sample has {self.estimate:.4g}, of which chance explains about {self.bias:.2g}"
        )
        if self.estimate > self.high:
            sample += ": it lies above the interval, as chance adds to it"
        lines = [
            f"{self.measure} is between {self.low:.4g} and {self.high:.4g} in the population, with "
            f"{100 * self.confidence_level:.4g}% confidence ({self.method}).",
            f"{sample}.",
        ]
        lines += [f"Note: {note}." for note in self.warnings]
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
    *inversion.* The bias :math:`\hat r(p)` of the predictions is estimated: for each distinct
    prediction if they have 20 rows each, else as a curve that is linear between the points of a
    grid of about :math:`n^{1/3}` cells; estimates no larger than their noise are shrunk to 0. A
    path of populations has the predictions of the sample and the event probabilities
    :math:`q_\lambda(p) = p + \lambda \hat r(p)` for :math:`\lambda \le 1`, from calibrated to as
    estimated. Beyond 1 it moves in the direction in which the measure grows fastest, relative to
    what the sample can tell apart (the least favourable family). Each population has a known value
    :math:`\theta(\lambda)`; samples drawn from it show which plug-in values :math:`\hat\theta` are
    to be expected on n rows. (For ECE and CDL the predictions are kept, as drawing one twice would
    pool its rows.) The interval has the values of those populations for which the observed
    :math:`\hat\theta` is in neither tail; `corrected` is the value for which it is the median. So
    the low end is 0 where a test like `calibration_test` does not reject, and an upward bias of any
    size, even that of ECE and CDL, which does not vanish, is accounted for.

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
    Andrews (2000), "Inconsistency of the Bootstrap when a Parameter is on the Boundary of the
    Parameter Space", doi:10.1111/1468-0262.00114. DiCiccio, Romano (1990), "Nonparametric
    Confidence Limits by Resampling Methods and Least Favorable Families", doi:10.2307/1403474.

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
    sample = as_sample(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        pos_label=pos_label,
        groups=groups,
        base_rate=base_rate,
    )
    statistic = as_statistic(measure)
    confidence_level = check_share(confidence_level, "confidence_level")
    size = interval_resamples(n_resamples, (1 - confidence_level) / 2)
    if method not in ("auto", *METHODS):
        raise InputError(f"method must be one of auto, {', '.join(METHODS)}; it is {method!r}")
    generator, seed = as_seed(rng, sample)
    is_stratified = sample.design.strata is not None
    atoms = by_outcome(sample) if is_stratified else as_resampler(sample)
    notes = _doubts(sample, atoms, statistic)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    if method == "auto":
        method = "inversion" if statistic.bounded else "percentile"
    if method == "inversion" and is_stratified:
        raise InputError(
            "base_rate cannot be combined with method 'inversion', the default for measures of "
            "calibration: its populations do not fit rows that were chosen by outcome; pass "
            "method='basic', which is wrong near calibration, or use guarantee and calibration_test"
        )
    value = float(statistic.function(sample))

    def draw(draw_one: Drawing, width: int = 1) -> Floats:
        return draw_batches(
            each_time(draw_one), size, generator, progress, width=width, threads=statistic.threads
        )

    estimated = Estimated(value, no_ends)
    if atoms.units >= _FEWEST_UNITS and not has_few_clusters(sample.units):
        estimated = METHODS[method](Resampling(sample, atoms, statistic, generator, draw))
    ends = partial(_clipped, estimated.ends, statistic.limits)
    low, high = ends(confidence_level)
    return ConfidenceInterval(
        value=value,
        low=low,
        high=high,
        confidence_level=confidence_level,
        method=method,
        measure=statistic.name,
        corrected=float(np.clip(estimated.corrected, *statistic.limits)),
        n_resamples=size,
        n=sample.n,
        seed=seed,
        warnings=tuple(str(note) for note in notes),
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
    unit = "row" if atoms.group is None else "group"
    units = f"{atoms.units} {unit}s are"
    if atoms.units == 1:
        units = f"1 {unit} is"
    events = int(atoms.events.sum())
    non_events = atoms.n - events
    n_rarer = min(events, non_events)
    rarer = "events" if events <= non_events else "non-events"
    if atoms.units < _FEWEST_UNITS:
        notes.append(f"{units} too few to resample: the interval is the whole range of the measure")
    elif has_few_clusters(sample.units):
        notes.append(
            f"{rarer_in(sample.units)} are too few to resample: the interval is the whole range "
            "of the measure"
        )
    elif atoms.units < _FEW_UNITS:
        notes.append(f"{units} few to resample: the interval can be far from its level")
    elif statistic.bounded and n_rarer < _FEW_EVENTS:
        notes.append(
            f"{n_rarer} {rarer} are few to resample: the interval can be far from its level"
        )
    if statistic.pools and not repeats_often(sample, atoms):
        notes.append(
            f"{statistic.name} compares each distinct prediction with its own rows, here fewer "
            f"than {ENOUGH_ROWS}: errors that alternate between predictions cannot be told from "
            "chance"
        )
    return [FewRowsWarning(note) for note in notes]
