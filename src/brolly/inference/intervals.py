"""Confidence intervals for every measure, honest near calibration and far from it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from brolly.core.sample.sample import Sample, as_sample
from brolly.errors import FewRowsWarning, InputError
from brolly.inference.interval_methods import Basic, IntervalMethod, Percentile, PopulationPath, invert
from brolly.inference.resampling import Progress, Seed, as_seed, check_resamples, check_share, draw_many
from brolly.inference.resampling_units import Atoms, Rng, as_atoms
from brolly.inference.statistic import Measuring, Statistic, as_statistic

Method = Literal["auto", "inversion", "percentile", "basic", "subsampling"]

_METHODS = ("auto", "inversion", "percentile", "basic", "subsampling")
_FEW = 30


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ConfidenceInterval:
    """Between which values a measure lies in the population that the rows came from.

    Attributes
    ----------
    estimate : float
        The measure of the sample. Chance adds to it, so near calibration it can lie above the interval.
    low, high : float
        The interval.
    confidence_level : float
        How often such intervals are right, as far as the method goes.
    method : {"inversion", "percentile", "basic", "subsampling"}
        How it was made.
    measure : str
        Which measure.
    corrected : float
        The estimate without what chance adds to it.
    n_resamples : int
        How many samples were drawn (of each population, for "inversion").
    n : int
        The number of rows.
    seed : int or None
        The seed, where it was given as one.
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
    _law: IntervalMethod = field(repr=False)
    _range: tuple[float, float] = field(repr=False)

    @property
    def bias(self) -> float:
        """How much chance adds to the estimate, by the method's account."""
        return self.estimate - self.corrected

    def at(self, confidence_level: float) -> ConfidenceInterval:
        """The interval of another level, from the same draws."""
        low, high = _ends(self._law, self._range, confidence_level)
        return replace(self, confidence_level=confidence_level, low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON."""
        numbers = ("estimate", "low", "high", "confidence_level", "corrected", "bias")
        facts = ("method", "measure", "n_resamples", "n", "seed")
        return {
            "result": "confidence_interval",
            **{name: getattr(self, name) for name in (*numbers, *facts)},
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return (
            f"ConfidenceInterval(low={self.low:.6g}, high={self.high:.6g}, confidence_level={self.confidence_level:g}, "
            f"estimate={self.estimate:.6g}, measure={self.measure!r}, method={self.method!r}, n={self.n})"
        )

    def __str__(self) -> str:
        lines = [
            f"{self.measure} lies between {self.low:.4g} and {self.high:.4g} in the population, with "
            f"{self.confidence_level:.0%} confidence ({self.method}).",
            f"Of the sample's own {self.estimate:.4g} about {self.bias:.2g} is chance.",
            *(f"Note: {note}." for note in self.warnings),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).split("\n"))


def confidence_interval(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    measure: str | Measuring = "soft_binned_cdl",
    confidence_level: float = 0.95,
    method: Method = "auto",
    n_resamples: int = 199,
    rng: Seed = None,
    progress: Progress | None = None,
) -> ConfidenceInterval:
    r"""A confidence interval for a measure: what the sample says about the population.

    The value on a sample is too large: chance looks like miscalibration, and near calibration it is most of the value.
    Bootstrap intervals add that chance a second time and are badly wrong there. The default method compares the
    sample instead with samples from populations whose value is known, so that chance is on both sides.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        Rows of the same group (patient, site, day) depend on each other: whole groups are drawn.
    measure : str or callable
        A name of `list_measures()`, or a function that takes one `Sample`.
    confidence_level : float
        How often the interval is to be right.
    method : {"auto", "inversion", "percentile", "basic", "subsampling"}
        "auto" takes "inversion"; "percentile" for scores, which have no boundary; "subsampling" with `groups`.
    n_resamples : int
        How many samples are drawn; by "inversion" from each of nine populations.
    rng : None, int or numpy.random.Generator
        The source of chance; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of samples drawn so far and in all.

    Returns
    -------
    ConfidenceInterval

    Warns
    -----
    FewRowsWarning
        With fewer than 30 rows, or groups.

    Notes
    -----
    *inversion.* The bias :math:`\hat r(p)` of the predictions is estimated: for each distinct prediction if they are
    few, else as a curve that is linear between the points of a grid of about :math:`n^{1/3}` cells. On the line of
    populations with the predictions of the sample and event probabilities :math:`q_\lambda(p) = p + \lambda \hat r(p)`,
    cut at 0 and 1, :math:`\lambda = 0` is calibrated and :math:`\lambda = 1` as estimated. Each has a known value
    :math:`\theta(\lambda)`, and drawing predictions and outcomes anew from it shows what the plug-in
    :math:`\hat\theta` would be on n rows. (For ECE and CDL the predictions are kept, as drawing one twice would pool
    its rows.) The interval has the values of those populations for which the observed :math:`\hat\theta` lies between
    the tails; `corrected` is where it is the median. So the low end is 0 where a test like `calibration_test` does
    not reject, and upward bias of any size, even that of ECE and CDL which does not vanish, is accounted for. It is
    not distribution-free: what is miscalibrated at a scale finer than the curve can show, among as many distinct
    predictions as rows, no sample can tell from chance.

    *percentile*, *basic*: the bootstrap of rows (or groups) and its quantiles, or the reflected ones. Right for scores
    and far from calibration, wrong near it. *subsampling*: :math:`b = N^{0.7}` of N rows or groups without
    replacement, deviations scaled by :math:`\sqrt{b/(N-b)}` (Politis and Romano); it needs no smoothness, but many
    groups, and deviations that shrink like :math:`N^{-1/2}`.

    docs/inference-resampling.md has the measured coverage of each.

    References
    ----------
    Politis, Romano (1994), "Large Sample Confidence Regions Based on Subsamples under Minimal Assumptions",
    doi:10.1214/aos/1176325770. Andrews (2000), "Inconsistency of the Bootstrap when a Parameter is on the Boundary of
    the Parameter Space", doi:10.1111/1468-0262.00114. DiCiccio, Romano (1990), "Nonparametric Confidence Limits by
    Resampling Methods and Least Favorable Families", doi:10.2307/1403474.

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> calibrated = rng.random(1000) < p
    >>> found = brolly.confidence_interval(calibrated, p, n_resamples=99, rng=0)
    >>> found.low, found.at(0.5).low
    (0.0, 0.0)
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    statistic = as_statistic(measure)
    confidence_level, size = check_share(confidence_level, "confidence_level"), check_resamples(n_resamples)
    chosen = _choose(method, statistic, grouped=groups is not None)
    generator, seed = as_seed(rng)
    atoms = as_atoms(sample, groups)
    law = _law(chosen, sample, atoms, statistic, size, generator, progress)
    limits = statistic.measure.range if statistic.measure else (-np.inf, np.inf)
    low, high = _ends(law, limits, confidence_level)
    return ConfidenceInterval(
        estimate=float(statistic.function(sample)),
        low=low,
        high=high,
        confidence_level=confidence_level,
        method=chosen,
        measure=statistic.name,
        corrected=float(np.clip(law.corrected, *limits)),
        n_resamples=size,
        n=sample.n,
        seed=seed,
        warnings=few_rows(atoms),
        _law=law,
        _range=limits,
    )


def few_rows(atoms: Atoms) -> tuple[str, ...]:
    """Warn where there is too little to resample."""
    if atoms.units >= _FEW:
        return ()
    what = "row" if atoms.group is None else "group"
    many = f"1 {what} is" if atoms.units == 1 else f"{atoms.units} {what}s are"
    note = FewRowsWarning(f"{many} few to resample: the interval can be far from its level")
    warnings.warn(note, stacklevel=3)
    return (str(note),)


def _choose(method: str, statistic: Statistic, *, grouped: bool) -> str:
    if method not in _METHODS:
        raise InputError(f"method must be one of {', '.join(_METHODS)}; it is {method!r}")
    if method == "inversion" and grouped:
        raise InputError("method must not be 'inversion' with groups: outcomes of a group cannot be redrawn one by one")
    if method != "auto":
        return method
    if grouped:
        return "subsampling"
    return "inversion" if statistic.bounded else "percentile"


def _law(
    method: str,
    sample: Sample,
    atoms: Atoms,
    statistic: Statistic,
    size: int,
    rng: Rng,
    progress: Progress | None,
) -> IntervalMethod:
    evaluate, threads = statistic.on(atoms), statistic.threads
    if method == "inversion":
        return invert(
            PopulationPath(sample, atoms, evaluate, keep=statistic.pools),
            size,
            rng,
            progress,
            threads=statistic.threads,
        )
    observed = evaluate(atoms.observed())
    if method == "subsampling":
        some = max(1, min(atoms.units - 1, round(atoms.units**0.7)))
        draws = draw_many(lambda stream: [evaluate(atoms.subsample(stream, some))], size, rng, progress)
        return Basic(observed, np.sort(draws[:, 0]), math.sqrt(some / max(1, atoms.units - some)))
    draws = draw_many(lambda stream: [evaluate(atoms.resample(stream))], size, rng, progress, threads=threads)
    return (Basic if method == "basic" else Percentile)(observed, np.sort(draws[:, 0]))


def _ends(law: IntervalMethod, limits: tuple[float, float], confidence_level: float) -> tuple[float, float]:
    low, high = np.clip(law.ends(check_share(confidence_level, "confidence_level")), *limits)
    return float(low), float(high)
