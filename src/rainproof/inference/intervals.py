"""Confidence intervals for every measure, near calibration and far from it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.shown import Shown
from rainproof.core.text import finite
from rainproof.errors import FewRowsWarning, InputError
from rainproof.inference.interval_methods import METHODS, IntervalMethod, Nothing, Resampling
from rainproof.inference.population_path import ENOUGH_ROWS, repeats_often
from rainproof.inference.resampling import Progress, Seed, as_seed, check_share, interval_resamples
from rainproof.inference.resampling_units import as_atoms
from rainproof.inference.statistic import Measuring, as_statistic

_LEAST, _FEW = 10, 30  # rows or groups: with fewer nothing is claimed, or a warning is given
_FEW_EVENTS = 20


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ConfidenceInterval(Shown):
    """A confidence interval for the measure of the population that the rows came from.

    Attributes
    ----------
    estimate : float
        The measure of the sample. Chance adds to it, so near calibration it can lie above the interval.
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

    estimate: float
    low: float
    high: float
    confidence_level: float
    method: str
    measure: str
    corrected: float
    n_resamples: int
    n: int
    seed: int | None
    warnings: tuple[str, ...]
    _method: IntervalMethod = field(repr=False)
    _limits: tuple[float, float] = field(repr=False)

    @property
    def bias(self) -> float:
        """The part of the estimate that chance adds, according to the method."""
        return self.estimate - self.corrected

    def at(self, confidence_level: float) -> ConfidenceInterval:
        """Return the interval at another level, from the same draws."""
        low, high = _ends(self._method, self._limits, confidence_level)
        return replace(self, confidence_level=confidence_level, low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON; None where a number is not finite."""
        numbers = ("estimate", "low", "high", "confidence_level", "corrected", "bias")
        facts = ("method", "measure", "n_resamples", "n", "seed")
        return {
            "result": "confidence_interval",
            **{name: finite(getattr(self, name)) for name in numbers},
            **{name: getattr(self, name) for name in facts},
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return (
            f"ConfidenceInterval(low={self.low:.6g}, high={self.high:.6g}, "
            f"confidence_level={self.confidence_level:g}, estimate={self.estimate:.6g}, measure={self.measure!r}, "
            f"method={self.method!r}, n={self.n})"
        )

    def __str__(self) -> str:
        lines = [
            f"{self.measure} is between {self.low:.4g} and {self.high:.4g} in the population, with "
            f"{100 * self.confidence_level:.4g}% confidence ({self.method}).",
            f"The sample has {self.estimate:.4g}, of which chance explains about {self.bias:.2g}.",
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
    measure: str | Measuring = "soft_binned_cdl",
    confidence_level: float = 0.95,
    method: str = "auto",
    n_resamples: int | None = None,
    rng: Seed = None,
    progress: Progress | None = None,
) -> ConfidenceInterval:
    r"""Compute a confidence interval for a measure of the population.

    The value on a sample is too large: chance looks like miscalibration, and near calibration it is most of the value.
    Bootstrap intervals add that chance a second time and are badly wrong there. The default method compares the
    sample with samples from populations whose value is known, which have the same bias.

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
        The cluster of each row (patient, site, day): rows of a cluster depend on each other, and whole clusters are
        drawn.
    measure : str or callable
        A name of `list_measures()`, or a function that takes one `Sample`.
    confidence_level : float
        The share of such intervals that should contain the population's value.
    method : {"auto", "inversion", "percentile", "basic"}
        "auto" is "percentile" for scores and "inversion" for all other measures.
    n_resamples : int, optional
        The number of samples drawn; by "inversion" from each of nine populations. Default: 199, or as many as leave one
        in each tail.
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
        With fewer than 30 rows or groups (with fewer than 10 the interval is the whole range of the measure), or fewer
        than 20 events or non-events; and for ECE and CDL with fewer than 20 rows per distinct prediction.

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

    It is an estimate, not a proof. Errors that alternate at a scale finer than the curve, among as many distinct
    predictions as rows, cannot be told from chance by any method. With `groups`, clusters are drawn with their
    predictions, and outcomes have the same correlation within every cluster: the one seen, plus a standard error.

    *percentile*, *basic*: the bootstrap of rows (or clusters) and its quantiles, or the reflected ones. Right for
    scores and far from calibration, wrong near it.

    docs/inference-resampling.md has the measured coverage. Every draw costs one evaluation of the measure.

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
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    statistic = as_statistic(measure)
    confidence_level = check_share(confidence_level, "confidence_level")
    size = interval_resamples(n_resamples, (1 - confidence_level) / 2)
    if method not in ("auto", *METHODS):
        raise InputError(f"method must be one of auto, {', '.join(METHODS)}; it is {method!r}")
    generator, seed = as_seed(rng)
    of = Resampling(sample, as_atoms(sample, groups), statistic, size, generator, progress)
    notes = _doubts(of)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    chosen = method if method != "auto" else "inversion" if statistic.bounded else "percentile"
    fitted = (METHODS[chosen] if of.atoms.units >= _LEAST else Nothing).fit(of)
    low, high = _ends(fitted, statistic.limits, confidence_level)
    return ConfidenceInterval(
        estimate=float(statistic.function(sample)),
        low=low,
        high=high,
        confidence_level=confidence_level,
        method=chosen,
        measure=statistic.name,
        corrected=float(np.clip(fitted.corrected, *statistic.limits)),
        n_resamples=size,
        n=sample.n,
        seed=seed,
        warnings=tuple(map(str, notes)),
        _method=fitted,
        _limits=statistic.limits,
    )


def _doubts(of: Resampling) -> list[FewRowsWarning]:
    """Reasons why the interval can be far from its level."""
    atoms, statistic, notes = of.atoms, of.statistic, list[str]()
    what = "row" if atoms.group is None else "group"
    units = f"1 {what} is" if atoms.units == 1 else f"{atoms.units} {what}s are"
    events = int(atoms.events.sum())
    fewer, rarer = min((events, "events"), (atoms.n - events, "non-events"))
    if atoms.units < _LEAST:
        notes.append(f"{units} too few to resample: the interval is the whole range of the measure")
    elif atoms.units < _FEW:
        notes.append(f"{units} few to resample: the interval can be far from its level")
    elif statistic.bounded and fewer < _FEW_EVENTS:
        notes.append(f"{fewer} {rarer} are few to resample: the interval can be far from its level")
    if statistic.pools and not repeats_often(of.sample, atoms):
        notes.append(
            f"{statistic.name} compares each distinct prediction with its own rows, here fewer than {ENOUGH_ROWS}: "
            "errors that alternate between predictions cannot be told from chance"
        )
    return [FewRowsWarning(note) for note in notes]


def _ends(method: IntervalMethod, limits: tuple[float, float], confidence_level: float) -> tuple[float, float]:
    low, high = np.clip(method.ends(check_share(confidence_level, "confidence_level")), *limits)
    return float(low), float(high)
