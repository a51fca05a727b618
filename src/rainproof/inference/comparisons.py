"""Compare two forecasters in a measure: difference, confidence interval and p-value."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rainproof.core.arguments import REFUSED, as_paired, with_rate
from rainproof.core.arrays import sums_by
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import p_value
from rainproof.errors import FewRowsWarning, InputError
from rainproof.inference import intervals, options
from rainproof.inference._draws import repeats
from rainproof.inference._soft_sums import weighted_sums
from rainproof.inference.estimates import has_few_clusters, rarer_in
from rainproof.inference.intervals import ConfidenceInterval, Ends
from rainproof.inference.populations import ENOUGH_ROWS, repeats_often
from rainproof.inference.resampling import (
    as_resampler,
    draw_batches,
    drawn_together,
    each_time,
    with_groups_in_order,
)
from rainproof.inference.statistics import Measuring, Statistic, as_statistic
from rainproof.measures.scores import LOSSES

_BOTH = "both intervals of confidence_interval at once (Bonferroni)"
_DIFFERENCES = "basic bootstrap of the difference, with Student's allowance for few rows or groups"
_SCORE_DRAWS = 999  # of the difference of two scores: draws of means cost little
_HALVINGS = 20  # of the search for a p-value: to 1e-6
_NORMAL_QUANTILE = 1.959964  # of 97.5%


@result_class
class Comparison(Result):
    """The difference of two forecasters in a measure.

    Attributes
    ----------
    difference : float
        The measure of a less that of b: below 0 if a is better.
    low, high : float
        The confidence interval of the difference in the population.
    p_value : float
        Of the hypothesis that both have the same value in the population: the smallest ``1 -
        confidence_level`` whose interval excludes 0, as far as the number of draws can tell.
    value_a, value_b : float
        The measure of each.
    paired : bool
        Whether both forecast the same rows.
    method : str
        How the interval was made.
    confidence_level, measure, n_a, n_b, n_resamples, seed
        As asked for; the number of rows of each.
    """

    _kind = "compare"
    _also = ("better",)
    _shown = ("difference", "low", "high", "p_value", "measure", "paired", "n_a", "n_b")
    difference: float
    low: float
    high: float
    p_value: float
    value_a: float
    value_b: float
    paired: bool
    method: str
    confidence_level: float
    measure: str
    n_a: int
    n_b: int
    n_resamples: int
    seed: int | None

    @property
    def better(self) -> str | None:
        """The forecaster with the lower value, "a" or "b"; None if the interval contains 0."""
        if self.low <= 0 <= self.high:
            return None
        return "a" if self.high < 0 else "b"

    def __str__(self) -> str:
        verdict = f"{self.better} is better"
        if self.better is None:
            verdict = "no difference is established"
        return (
            f"{self.measure}: {self.value_a:.4g} (a) against {self.value_b:.4g} (b); {verdict}.\n"
            f"The difference is between {self.low:.4g} and {self.high:.4g} in the population with "
            f"{100 * self.confidence_level:.4g}% confidence ({p_value(self.p_value)})."
        )


def compare(
    y_true: ArrayLike | Sample,
    y_prob_a: ArrayLike | Sample | None = None,
    y_prob_b: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    paired: bool = True,
    measure: str | Measuring = "soft_binned_cdl",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: options.Seed = None,
    progress: options.Progress | None = None,
) -> Comparison:
    r"""Compare two forecasters in a measure: difference, confidence interval and p-value.

    For proper scores (`brier_score`, `log_score`) on the same rows the difference is known better
    than either value, and this finds small differences. Measures of miscalibration are biased
    upward by chance, for each forecast by a different amount, so their difference says little by
    itself; here both biases are allowed for, and only clear differences are found.

    Explained in docs/guide/inference.md.

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
        The cluster of each row (patient, site, day): rows of a cluster depend on each other, and
        whole clusters are drawn.
    paired : bool
        False for two samples, ``compare(sample_a, sample_b, paired=False)``, which must have no
        rows in common. A compressed sample does not keep its rows, so two of them cannot be paired.
    measure : str or callable
        A name of `list_measures()`, or a function that takes one `Sample`. ECE and CDL are refused
        unless distinct predictions have 20 rows each: their bias does not vanish.
    confidence_level : float
        The share of such intervals that should contain the difference in the population.
    n_resamples : int, optional
        The number of samples drawn. Default: 999 for scores; for all other measures, where every
        forecast takes nine times as many, 199 or as many as leave one in each tail.
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of samples drawn so far and in total.

    Returns
    -------
    Comparison

    Notes
    -----
    *Measures of miscalibration.* With the intervals :math:`[l_a, h_a]` and :math:`[l_b, h_b]` of
    `confidence_interval`, each at the level :math:`1 - \alpha/2`, the interval is
    :math:`[l_a - h_b,\ h_a - l_b]`. If each contains its value with probability
    :math:`1 - \alpha/2`, the difference is inside with probability :math:`1 - \alpha`, however the
    two forecasts depend on each other (Bonferroni). So it is as good as those intervals, near
    calibration and far from it, with clusters, weights and compressed samples. Pairing gains
    nothing here.

    *Scores.* The difference is a mean over rows. Rows (or clusters) are drawn with replacement, the
    same for both, and the basic bootstrap interval is widened by :math:`\sqrt{G/(G-1)}\,
    t_{G-1}(0.975) / 1.96` for G rows or clusters. Independent samples are drawn each on its own.

    Where a value is not finite (an infinite log score, a measure that is NaN), and where fewer than
    20 effective groups have the rarer outcome (a warning says so), nothing is claimed: the interval
    is infinite, ``p_value`` is 1 and `better` is None. Rows of weight zero change nothing.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> found = rainproof.compare(y, p**2, p, measure="cutoff_calibration_error", rng=0)
    >>> found.better, found.p_value
    ('b', 0.02)
    """
    statistic = as_statistic(measure)
    confidence_level = options.check_share(confidence_level, "confidence_level")
    columns = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups}
    if isinstance(y_prob_a, Sample) or (isinstance(y_true, Sample) and not y_true.forecasts):
        a, b = _two_samples(y_true, y_prob_a, y_prob_b, columns, paired=paired)
        generator, seed = options.as_seed(rng, a, b)
    else:
        if not paired:
            raise InputError(
                "paired=False needs two Samples: compare(sample_a, sample_b, paired=False)"
            )
        forecasts = {"y_prob_a": y_prob_a, "y_prob_b": y_prob_b}
        both = with_groups_in_order(as_paired(y_true, forecasts, **columns))
        name_of_a, name_of_b = both.forecasts
        a = both[name_of_a]
        b = both[name_of_b]
        generator, seed = options.as_seed(rng, both)
    value_a = float(statistic.function(a))
    value_b = float(statistic.function(b))
    if statistic.bounded:
        _refuse_lasting_bias(statistic, a, b)
        draws = options.interval_resamples(n_resamples, (1 - confidence_level) / 4)
        smallest_p_value = 4 / (draws + 1)
    else:
        draws = _SCORE_DRAWS if n_resamples is None else options.check_resamples(n_resamples)
        smallest_p_value = 2 / (draws + 1)
    if not math.isfinite(value_a - value_b):
        ends: Ends = intervals.no_ends
    elif statistic.bounded:
        level = (1 + confidence_level) / 2
        ends = _ends_by_both(a, b, measure, level, draws, generator, progress)
    else:
        if paired:
            change = _together(a, b, statistic)
        else:
            change = _apart(a, b, statistic)
        difference = value_a - value_b
        ends = _ends_by_draws(
            a, b, change, difference, draws, generator, progress, threads=statistic.threads
        )
    low, high = ends(confidence_level)
    return Comparison(
        difference=value_a - value_b,
        low=low,
        high=high,
        p_value=_p_value(ends, smallest_p_value),
        value_a=value_a,
        value_b=value_b,
        paired=paired,
        method=_BOTH if statistic.bounded else _DIFFERENCES,
        confidence_level=confidence_level,
        measure=statistic.name,
        n_a=a.n,
        n_b=b.n,
        n_resamples=draws,
        seed=seed,
    )


def _two_samples(
    a: Any, b: Any, y_prob_b: Any, columns: Mapping[str, Any], *, paired: bool
) -> tuple[Sample, Sample]:
    """Return two independent samples, or refuse what else was given with them."""
    if not isinstance(a, Sample) or not isinstance(b, Sample) or y_prob_b is not None:
        raise InputError(
            "pass either y_true and two arrays of predictions, or two Samples and nothing else"
        )
    if paired:
        raise InputError(
            "two Samples do not know which of their rows belong together: pass paired=False if "
            "they have none in common, or y_true and both arrays of predictions"
        )
    if any(column is not None for column in columns.values()):
        raise InputError(
            "groups, sample_weight and pos_label go with arrays: a Sample brings its own, as in "
            "Sample(y_true, y_prob, groups=...)"
        )
    a.require_one_event()
    b.require_one_event()
    return with_rate(a, REFUSED), with_rate(b, REFUSED)


def _refuse_lasting_bias(statistic: Statistic, *samples: Sample) -> None:
    """Refuse a measure whose value on a sample need not come close to that of the population."""
    if not statistic.pools:
        return
    if not all(repeats_often(sample, as_resampler(sample)) for sample in samples):
        raise InputError(
            f"measure must not be {statistic.name!r} with fewer than {ENOUGH_ROWS} rows per "
            "distinct prediction: its bias does not vanish there; use 'brier_score', "
            "'soft_binned_cdl' or 'binned_calibration_error'"
        )


def _ends_by_both(
    a: Sample,
    b: Sample,
    measure: str | Measuring,
    level: float,
    draws: int,
    generator: options.Rng,
    progress: options.Progress | None,
) -> Ends:
    """The ends of the difference by an interval of each, at a level at which both hold."""
    both = []
    for number, sample in enumerate((a, b)):
        progress_of_both = None
        if progress is not None:
            progress_of_both = partial(options.shifted, progress, number * draws, 2 * draws)
        interval = intervals.confidence_interval(
            sample,
            measure=measure,
            confidence_level=level,
            n_resamples=draws,
            rng=generator,
            progress=progress_of_both,
        )
        both.append(interval)
    return partial(_difference_of_both, both[0], both[1])


def _difference_of_both(
    a: ConfidenceInterval, b: ConfidenceInterval, level: float
) -> tuple[float, float]:
    """The ends of the difference by those of each, which hold both at once."""
    level_of_each = (1 + level) / 2  # both at once, by Bonferroni
    interval_a = a.at(level_of_each)
    interval_b = b.at(level_of_each)
    low = interval_a.low - interval_b.high
    high = interval_a.high - interval_b.low
    is_known = low <= high  # not where either is NaN
    return (low, high) if is_known else intervals.no_ends(level)


class _Change(NamedTuple):
    """How the difference of two scores is drawn anew.

    Attributes
    ----------
    draw : callable
        One difference, of units drawn with replacement.
    units : int
        The number of rows or clusters; of two samples, of the smaller.
    """

    draw: Callable[[options.Rng], list[float]]
    units: int


def _ends_by_draws(
    a: Sample,
    b: Sample,
    change: _Change,
    difference: float,
    draws: int,
    generator: options.Rng,
    progress: options.Progress | None,
    *,
    threads: int,
) -> Ends:
    """The ends of a difference of scores by the basic bootstrap; none where clusters are few."""
    batches = draw_batches(each_time(change.draw), draws, generator, progress, threads=threads)
    differences = np.sort(batches[:, 0])
    for sample in (a, b):
        if has_few_clusters(sample.units):
            few = rarer_in(sample.units)
            warning = f"{few} are too few to resample: nothing is claimed of the difference"
            warnings.warn(FewRowsWarning(warning), stacklevel=3)
            return intervals.no_ends
    if change.units == 1 or not np.isfinite(differences).all():
        return intervals.no_ends
    widening = _student_widening(change.units)
    return partial(intervals.basic_ends, difference, differences, widening)


def _together(a: Sample, b: Sample, statistic: Statistic) -> _Change:
    """Differences of scores where the same rows (or clusters) are drawn for both.

    A score is the mean of a loss, so its difference is that of the losses.
    """
    assert statistic.measure is not None
    loss = LOSSES[statistic.measure.function]
    counted = np.flatnonzero(a.mass)
    weight = a.mass[counted]
    event = a.y_true[counted] == 1
    loss_of_a = loss(a.y_prob[counted].astype(np.float64), event)
    loss_of_b = loss(b.y_prob[counted].astype(np.float64), event)
    change = weight * (loss_of_a - loss_of_b)
    if a.units.unit is not None:
        unit = drawn_together(a, counted)
        change = sums_by(unit, change)
        weight = sums_by(unit, weight)
    is_even = bool((weight == weight[0]).all())

    def draw(stream: options.Rng) -> list[float]:
        times = repeats(stream.bit_generator.capsule, len(weight))[None]
        total = weight[0] * len(weight) if is_even else weighted_sums(times, weight)[0]
        return [weighted_sums(times, change)[0] / total]

    return _Change(draw, len(weight))


def _apart(a: Sample, b: Sample, statistic: Statistic) -> _Change:
    """Differences of two samples without common rows."""
    resampler_a = as_resampler(a)
    resampler_b = as_resampler(b)
    measure_a = statistic.on(resampler_a)
    measure_b = statistic.on(resampler_b)

    def draw(stream: options.Rng) -> list[float]:
        drawn_a = resampler_a.resample(stream)
        return [measure_a(drawn_a) - measure_b(resampler_b.resample(stream))]

    return _Change(draw, min(resampler_a.units, resampler_b.units))


def _student_widening(units: int) -> float:
    """How much wider Student's interval at 95% is than that of the bootstrap, which takes the
    spread for known.
    """
    quantile = float(stdtrit(units - 1, 0.975))
    return math.sqrt(units / (units - 1)) * quantile / _NORMAL_QUANTILE


def _p_value(ends: Ends, smallest: float) -> float:
    """The smallest 1 - level whose interval excludes 0, by bisection; no smaller than the draws can
    show.
    """

    def excludes_zero(p_value: float) -> bool:
        low, high = ends(1 - p_value)
        return not low <= 0 <= high

    if smallest >= 1 or excludes_zero(smallest):
        return min(smallest, 1.0)
    return options.bisected(excludes_zero, smallest, 1.0, _HALVINGS)
