"""Which of two forecasters is better calibrated, and could that be chance?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brolly.core.arrays import Floats
from brolly.core.sample.sample import Sample, as_sample
from brolly.errors import InputError
from brolly.inference._draws import repeats
from brolly.inference.interval_methods import Basic
from brolly.inference.resampling import Progress, Seed, as_seed, check_resamples, check_share, draw_many
from brolly.inference.resampling_units import Rng, as_atoms, as_groups, by_row
from brolly.inference.statistic import Measuring, Statistic, as_statistic

_ROUNDING = 1e-12  # a difference this much smaller than the observed one counts as no smaller
_SWAPPED = "within each row (or group) the two forecasts could be swapped and nothing would change"
_EQUAL = "both samples come from populations with the same value (bootstrap, not exact)"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Comparison:
    """How two forecasters differ in a measure.

    Attributes
    ----------
    difference : float
        The measure of a less that of b: below 0 where a is better.
    low, high : float
        Its confidence interval.
    p_value : float
        How often chance gives as large a difference, if the hypothesis `null` is true.
    null : str
        That hypothesis, in words.
    value_a, value_b : float
        The measure of each.
    paired : bool
        Whether both forecast the same rows.
    confidence_level, measure, n_a, n_b, n_resamples, seed
        As asked for; the number of rows of each.
    """

    difference: float
    low: float
    high: float
    p_value: float
    null: str
    value_a: float
    value_b: float
    paired: bool
    confidence_level: float
    measure: str
    n_a: int
    n_b: int
    n_resamples: int
    seed: int | None

    @property
    def better(self) -> str | None:
        """Whose value is lower beyond doubt, "a" or "b"; None where the interval holds 0."""
        return None if self.low <= 0 <= self.high else "a" if self.high < 0 else "b"

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON."""
        names = (
            "difference",
            "low",
            "high",
            "p_value",
            "null",
            "value_a",
            "value_b",
            "paired",
            "confidence_level",
            "measure",
        )
        more = ("n_a", "n_b", "n_resamples", "seed", "better")
        return {
            "result": "compare",
            "method": "basic bootstrap",
            **{name: getattr(self, name) for name in (*names, *more)},
        }

    def __repr__(self) -> str:
        return (
            f"Comparison(difference={self.difference:.6g}, low={self.low:.6g}, high={self.high:.6g}, "
            f"p_value={self.p_value:.4g}, measure={self.measure!r}, paired={self.paired}, n={self.n_a})"
        )

    def __str__(self) -> str:
        verdict = "cannot be told apart" if self.better is None else f"{self.better} is better"
        return (
            f"{self.measure}: {self.value_a:.4g} (a) against {self.value_b:.4g} (b); {verdict}.\n"
            f"The difference {self.difference:.4g} lies between {self.low:.4g} and {self.high:.4g} with "
            f"{self.confidence_level:.0%} confidence (p = {self.p_value:.3g})."
        )

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).split("\n"))


def compare(
    y_true: ArrayLike | Sample,
    y_prob_a: ArrayLike | Sample,
    y_prob_b: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    paired: bool = True,
    measure: str | Measuring = "soft_binned_cdl",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Comparison:
    r"""Compare two forecasters in any measure: difference, interval, p-value.

    Two values from the same rows move together by chance, so their difference is known better than either. Small
    differences in calibration can be chance even where each value is far from 0; this tells.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes of the rows that both forecast; or the first of two independent samples.
    y_prob_a : array_like of shape (n,), or Sample
        The predictions of a; or the second sample.
    y_prob_b : array_like of shape (n,), optional
        The predictions of b.
    sample_weight, pos_label
        As for `soft_binned_cdl`.
    groups : array_like of shape (n,), optional
        Rows of the same group depend on each other: whole groups are drawn, and swapped.
    paired : bool
        False for two samples, ``compare(sample_a, sample_b, paired=False)``, which must have no rows in common. A
        compressed sample no longer knows its rows, so two of them cannot be paired.
    measure : str or callable
        A name of `list_measures()`, or a function that takes one `Sample`.
    confidence_level : float
        How often the interval is to be right.
    n_resamples : int
        How many samples are drawn for the interval, and as many for the p-value.
    rng : None, int or numpy.random.Generator
        The source of chance; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of samples drawn so far and in all.

    Returns
    -------
    Comparison

    Notes
    -----
    *Interval.* Rows (or groups) are drawn with replacement, the same for both, and the interval is
    :math:`[2d - q_{1-\alpha/2}, 2d - q_{\alpha/2}]` with the quantiles of the redrawn differences: the basic
    bootstrap, which takes off the part of the upward bias that the two do not share. It is a large-sample statement.

    *p-value, paired.* In each row (or group) the two predictions are swapped with probability 1/2, and
    :math:`(1 + \#\{|d^*| \ge |d|\})/(B + 1)`. If which forecast is whose is a coin toss given the outcomes, that is
    exact for every n and measure. The hypothesis is that the forecasters cannot be told apart, more than that their
    values agree: where they differ in sharpness, trust the interval.

    *p-value, independent samples.* Twice the share of redrawn differences on the far side of 0, in the basic bootstrap.
    The samples' values must be comparable: both carry the upward bias of their own size.

    References
    ----------
    Fisher (1935), *The Design of Experiments*, section 21 (randomisation within pairs). Davison, Hinkley (1997),
    *Bootstrap Methods and their Application*, doi:10.1017/CBO9780511802843, chapters 4 and 5.

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> found = brolly.compare(y, p**2, p, measure="cutoff_calibration_error", n_resamples=199, rng=0)
    >>> found.better, found.p_value
    ('b', 0.005)
    """
    statistic, size = as_statistic(measure), check_resamples(n_resamples)
    confidence_level, (generator, seed) = check_share(confidence_level, "confidence_level"), as_seed(rng)
    if isinstance(y_true, Sample) or isinstance(y_prob_a, Sample):
        a, b = _independent(y_true, y_prob_a, y_prob_b, paired, groups, sample_weight, pos_label)
    else:
        if not paired:
            raise InputError("paired=False needs two Samples: compare(sample_a, sample_b, paired=False)")
        a = as_sample(y_true, y_prob_a, sample_weight=sample_weight, pos_label=pos_label)
        b = as_sample(y_true, y_prob_b, sample_weight=sample_weight, pos_label=pos_label)
    one = _together(a, b, statistic, groups) if paired else _apart(a, b, statistic)
    draws = draw_many(one, size, generator, progress, width=2)
    value_a, value_b = float(statistic.function(a)), float(statistic.function(b))
    difference = value_a - value_b
    redrawn = draws[:, 0]
    low, high = Basic(difference, np.sort(redrawn)).ends(confidence_level)
    if paired:
        as_large = int((np.abs(draws[:, 1]) >= abs(difference) - _ROUNDING).sum())
        p_value = (1 + as_large) / (size + 1)
    else:
        p_value = _two_sided(redrawn - difference, difference)
    return Comparison(
        difference=difference,
        low=low,
        high=high,
        p_value=p_value,
        null=_SWAPPED if paired else _EQUAL,
        value_a=value_a,
        value_b=value_b,
        paired=paired,
        confidence_level=confidence_level,
        measure=statistic.name,
        n_a=a.n,
        n_b=b.n,
        n_resamples=size,
        seed=seed,
    )


def _independent(
    first: ArrayLike | Sample, second: ArrayLike | Sample, third: ArrayLike | None, paired: bool, *rows: Any
) -> tuple[Sample, Sample]:
    if not isinstance(first, Sample) or not isinstance(second, Sample) or third is not None:
        raise InputError("pass either y_true and two arrays of predictions, or two Samples and nothing else")
    if paired:
        raise InputError(
            "two Samples do not know which of their rows belong together: pass paired=False if they have none in "
            "common, or y_true and both arrays of predictions"
        )
    if any(option is not None for option in rows):
        raise InputError("groups, sample_weight and pos_label go with arrays: a Sample brings its own")
    return first, second


def _together(
    a: Sample, b: Sample, statistic: Statistic, groups: ArrayLike | None
) -> Callable[[Rng], tuple[float, float]]:
    """Redrawn differences: of rows drawn with replacement, and of forecasts swapped at random."""
    atoms_a, atoms_b = by_row(a), by_row(b)
    evaluate_a, evaluate_b = statistic.on(atoms_a), statistic.on(atoms_b)
    rows_a, rows_b = atoms_a.row, atoms_b.row
    assert rows_a is not None
    assert rows_b is not None
    n = len(a.y_prob)
    unit = np.arange(n) if groups is None else as_groups(groups, n, np.arange(n))
    units = int(unit.max()) + 1
    y, p_a, p_b = a.y_true, a.y_prob.astype(np.float64), b.y_prob.astype(np.float64)

    def one(stream: Rng) -> tuple[float, float]:
        times = repeats(stream.bit_generator.capsule, units)[unit]
        redrawn = evaluate_a(atoms_a.times(times[rows_a])) - evaluate_b(atoms_b.times(times[rows_b]))
        swap = (stream.random(units) < 0.5)[unit]
        mixed = (np.where(swap, p_b, p_a), np.where(swap, p_a, p_b))
        one, other = (statistic.function(Sample(y, p, sample_weight=a.sample_weight)) for p in mixed)
        return redrawn, float(one) - float(other)

    return one


def _apart(a: Sample, b: Sample, statistic: Statistic) -> Callable[[Rng], tuple[float, float]]:
    """Redrawn differences of two samples that have nothing to do with each other."""
    atoms_a, atoms_b = as_atoms(a), as_atoms(b)
    evaluate_a, evaluate_b = statistic.on(atoms_a), statistic.on(atoms_b)

    def one(stream: Rng) -> tuple[float, float]:
        return evaluate_a(atoms_a.resample(stream)) - evaluate_b(atoms_b.resample(stream)), 0.0

    return one


def _two_sided(deviation: Floats, difference: float) -> float:
    """Twice the share of deviations as large as the difference, on its side."""
    sides = deviation >= difference, deviation <= difference
    tails = [(1 + int(side.sum())) / (len(deviation) + 1) for side in sides]
    return min(1.0, 2 * min(tails))
