"""Tests of calibration: exact ones for independent rows, bets for groups."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from rainproof.core.arrays import Floats
from rainproof.core.result import Result, once
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import p_value as p_value_text
from rainproof.core.text import rows
from rainproof.errors import InputError, ResolutionWarning
from rainproof.inference.options import (
    Progress,
    Rng,
    Seed,
    as_seed,
    check_resamples,
    check_share,
    interval_resamples,
    spawned,
)
from rainproof.inference.resampling import Draw, as_resampler, by_outcome, draw_batches, quantile
from rainproof.inference.statistics import (
    STATISTICS,
    Evaluate,
    Measuring,
    Statistic,
    as_statistic,
    as_test_statistic,
    with_fewer_cells,
)

_CELLS_A_BIN = 8
# predictions that are redrawn at a time: as many as stay in the cache, and occupy a thread
_DRAWS_AT_ONCE = 1 << 17
# draws of a compressed sample at a time: what depends on the cell alone is computed once for them
_CELLS_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class CalibrationTest(Result):
    """The result of a test of calibration.

    Attributes
    ----------
    p_value : float
        The probability that a perfectly calibrated forecaster with the same predictions has a
        statistic as large is at most this. Small values speak against calibration; a large one does
        not speak for it.
    statistic : str
        The statistic of the test.
    measure : str
        The measure.
    value : float
        The measure of the sample.
    null_mean : float
        The mean of the measure for calibrated forecasters with the same predictions.
    null_band : tuple of float
        The interval that contains 95% of their values.
    null : ndarray
        All values of the measure that were drawn, increasing.
    n_resamples : int
        The number of draws of the test; an assessment draws the measure, `null`, less often.
    n : int
        The number of rows.
    seed : int or None
        The seed, if one was given.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    _kind = "calibration_test"
    _also = ("null_mean", "null_band", "confidence_level", "method", "warnings")
    _later, _from = ("null",), ("_draw",)
    confidence_level: ClassVar[float] = 0.95  # of `null_band`
    method: ClassVar[str] = "exact Monte Carlo test: predictions kept, outcomes redrawn"
    p_value: float
    statistic: str
    measure: str
    value: float
    n_resamples: int
    n: int
    seed: int | None
    _cells: int | None  # the grid of a compressed sample, if the measure can be too small for it
    _draw: Callable[[], Floats] = field(compare=False)
    _found: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    @once
    def null(self) -> Floats:
        """All values of the measure that were drawn, increasing."""
        return np.sort(self._draw())

    @property
    def null_mean(self) -> float:
        """The mean of the measure for calibrated forecasters."""
        return float(self.null.mean())

    @property
    def null_band(self) -> tuple[float, float]:
        """The interval that contains 95% of their values."""
        return quantile(self.null, 0.025), quantile(self.null, 0.975)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to read the result with care."""
        return () if self._cells is None else too_coarse(self.null_mean, self._cells)

    @property
    def excess(self) -> float:
        """The value less the mean of calibrated forecasters; below 0 if it is smaller."""
        return self.value - self.null_mean

    def rejects(self, alpha: float = 0.05) -> bool:
        """Return whether the test rejects calibration at level `alpha`.

        It rejects at most a share `alpha` of calibrated forecasters, whatever the number of rows.
        """
        return self.p_value <= check_share(alpha, "alpha")

    def null_quantile(self, share: float) -> float:
        """Return the value of the measure that a calibrated forecaster does not exceed with this
        probability.
        """
        return quantile(self.null, check_share(share, "share"))

    def __str__(self) -> str:
        low, high = self.null_band
        verdict = (
            "calibration is rejected at the 5% level"
            if self.rejects()
            else "calibration is not rejected"
        )
        return (
            f"{verdict.capitalize()} ({p_value_text(self.p_value)}, statistic: {self.statistic}, {rows(self.n)}).\n"
            f"{self.measure} = {self.value:.4g}. For calibrated forecasters with these predictions it is "
            f"{self.null_mean:.4g} on average, and between {low:.4g} and {high:.4g} for 95% of them."
        ) + "".join(f"\nNote: {note}." for note in self.warnings)


@overload
def calibration_test(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    statistic: str | Measuring = "combined",
    measure: str | Measuring = "soft_binned_cdl",
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> CalibrationTest: ...
@overload
def calibration_test(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    statistic: list[Any] | tuple[Any, ...],
    measure: str | Measuring = "soft_binned_cdl",
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> dict[str, CalibrationTest]: ...
def calibration_test(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    base_rate: float | None = None,
    statistic: str | Measuring | list[Any] | tuple[Any, ...] = "combined",
    measure: str | Measuring = "soft_binned_cdl",
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> CalibrationTest | dict[str, CalibrationTest]:
    r"""Test whether a forecaster is perfectly calibrated: exact at every sample size, for every
    statistic.

    No sample has a miscalibration of exactly 0: chance always adds some. The test tells whether
    there is more than chance explains. It does not tell whether the excess matters, which
    `confidence_interval` and `guarantee` do: with enough rows a harmless miscalibration is
    significant too.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row; taken as given, not as random.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        Refused, as the test redraws each row by itself: `assess` tests with groups,
        `confidence_interval` takes them.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`): whether the
        forecaster is calibrated there.
    statistic : str or callable, or a list of them
        The test statistic: "combined", which finds errors of any kind, a name of `list_measures()`,
        or a function that takes one `Sample`. Large values must speak against calibration. Several
        are tested with the same draws.
    measure : str or callable
        The measure that is reported next to its values for calibrated forecasters: a name of
        `list_measures()`, or a function that takes one `Sample`. It does not change the p-value.
    n_resamples : int
        The number of calibrated forecasters drawn. The p-value is a multiple of ``1/(n_resamples +
        1)``.
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of forecasters drawn so far and in total.

    Returns
    -------
    CalibrationTest, or dict
        The p-value, and the measure next to its values for calibrated forecasters. For several
        statistics a dict from their names to results, in which a statistic that is a measure is
        also the measure reported. Each p-value is that of the statistic by itself: the smallest of
        several is no p-value.

    Warns
    -----
    ResolutionWarning
        For SCDL of a compressed sample whose cells are too coarse to redraw it.

    Notes
    -----
    The predictions are kept and the outcomes redrawn, :math:`y^*_t \sim \mathrm{Bernoulli}(p_t)`, B times. With the
    statistic T,

    .. math:: \text{p-value} = \frac{1 + \#\{b : T^*_b \ge T\}}{B + 1}.

    If the forecaster is calibrated row by row (:math:`\mathrm{P}(y_t = 1) = p_t`, independently),
    the sample is one more draw of the same kind, its rank among all B + 1 is uniform up to ties,
    and :math:`\mathrm{P}(\text{p-value} \le \alpha) \le \alpha` for every n, B and statistic: no
    asymptotics. Redrawn samples and the observed one go through the same code, so that rounding
    cannot break a tie in one direction only. A statistic that is NaN counts as no evidence. Rows
    that depend on each other (clusters, time series) are not redrawn rightly: there the test
    rejects too often. So it refuses `groups`, which `assess` and `confidence_interval` take.

    *combined.* Residuals are projected on orthonormal functions of the prediction (a constant, the
    log odds, cosines of growing frequency: up to 64, but no more than half the rows). Chi-squared
    tests of the first 1, 2, 4, ... of them, of all, and of the first two each alone, are combined
    by the mean of 1/p. The result is one number of the sample, so the test is as exact as with any
    other. It is near the best single statistic for overconfidence, errors in one region, errors
    that alternate and rare events; docs/benchmarks/study-tests.md has the power. SCDL is a weak
    statistic: its value is what those who act can rely on.

    On a compressed sample the events of each cell are redrawn as a binomial number with the mean
    prediction of the cell. The exact law, of rows whose predictions differ by up to 1/m, has the
    same mean and a variance smaller by a share of :math:`1/(4 m^2 p (1-p))` at most: no simulation
    could tell for ``m = 2**16``. Where weights differ within a cell, their sum and their sum of
    squares are kept. The observed statistic is there taken of the same pooled cells, so the test is
    of the statistic as far as cells can tell it.

    With `base_rate` r, outcomes are redrawn at the event rate s of these rows, with the log odds
    :math:`\mathrm{logit}\, p_t + \mathrm{logit}\, s - \mathrm{logit}\, r`: the law that they have,
    given the predictions, if the forecaster is calibrated in the population. The number of events
    is not held fixed: given it, predictions that are wrong by one factor of the odds, as those of a
    model fitted to undersampled rows are, could not be told from calibrated ones. As s is known
    from the rows, they deviate less from their expectation than the draws, and the test rejects
    calibrated forecasters less often than it may; docs/benchmarks/study-base-rate.md has how often.
    "combined" is of the rows as they are, with predictions moved to their event rate; measures are
    those of the population.

    A resample of SCDL or of "combined" costs one pass over the distinct predictions, without
    sorting; other statistics cost as much as on sorted rows.

    References
    ----------
    Barnard (1963), discussion of Bartlett, JRSS B 25, 294 (Monte Carlo tests). Brocker, Smith (2007), "Increasing the
    Reliability of Reliability Diagrams", doi:10.1175/WAF993.1 (consistency resampling). Phipson, Smyth (2010),
    "Permutation P-values Should Never Be Zero", doi:10.2202/1544-6115.1585.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p**2      # the event is rarer than predicted
    >>> test = rainproof.calibration_test(y, p, rng=0)
    >>> test.p_value, test.rejects()
    (0.001, True)
    """
    columns = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups}
    sample = as_sample(y_true, y_prob, **columns, base_rate=base_rate)
    sample._refuse_draws("calibration_test")
    alone = not isinstance(statistic, list | tuple)
    tested = [
        as_test_statistic(one)
        for one in (statistic if isinstance(statistic, list | tuple) else [statistic])
    ]
    other = as_statistic(measure)
    shown = [other if alone or _is_built_in(one) else one for one in tested]
    if len({one.name for one in tested}) < len({_identity(one) for one in tested}):
        raise InputError(
            "statistic must have a different name for each; two functions share one: give them a __name__"
        )
    size = check_resamples(n_resamples)
    generator, seed = as_seed(rng, sample)
    statistics = {_identity(one): one for one in (*tested, *shown)}
    observed, draws = redrawn(sample, list(statistics.values()), size, generator, progress)
    column = {identity: k for k, identity in enumerate(statistics)}
    found = {}
    for one, beside in zip(tested, shown, strict=True):
        at = column[_identity(one)]
        p_value = _p_value(observed[at], draws[:, at])
        about = {"p_value": p_value, "n_resamples": size, "seed": seed}
        found[one.name] = _result(
            sample, one, beside, **about, _draw=draws[:, column[_identity(beside)]].copy
        )
        for note in found[one.name].warnings:
            warnings.warn(ResolutionWarning(note), stacklevel=2)
    return found[tested[0].name] if alone else found


def quick_test(
    sample: Sample, n_resamples: int, rng: Rng, confidence_level: float = 0.95
) -> CalibrationTest:
    """`calibration_test` by the default statistic; SCDL of calibrated forecasters is drawn when it
    is asked for.

    Of that only the mean and the band are told, for which the first draws are enough: as many as an
    interval takes.
    """
    size, tested, beside = (
        check_resamples(n_resamples),
        as_test_statistic("combined"),
        as_statistic("soft_binned_cdl"),
    )
    streams, few = (
        spawned(rng, size),
        min(size, interval_resamples(None, (1 - confidence_level) / 2)),
    )
    sources: list[Any] = [one.bit_generator for one in streams]

    def null() -> Floats:
        again = [np.random.Generator(type(source)(source.seed_seq)) for source in sources]
        return redrawn(sample, [beside], few, again)[1][:, 0]

    observed, draws = redrawn(sample, [tested], size, streams)
    p_value = _p_value(observed[0], draws[:, 0])
    return _result(sample, tested, beside, p_value=p_value, n_resamples=size, seed=None, _draw=null)


def _result(sample: Sample, tested: Statistic, beside: Statistic, **about: Any) -> CalibrationTest:
    return CalibrationTest(
        statistic=tested.name,
        measure=beside.name,
        value=float(beside.function(sample)),
        n=sample.n,
        _cells=sample.grid if beside.soft_binned else None,
        **about,
    )


def too_coarse(null_mean: float, cells: int) -> tuple[str, ...]:
    """What to say if SCDL of calibrated forecasters is too small to be redrawn from so many cells."""
    if null_mean * cells >= _CELLS_A_BIN:
        return ()
    return (
        f"SCDL redrawn from cells is about {null_mean:.2g}, too small for grid = {cells:,}: the rows of a cell are "
        f"treated as having one prediction, which needs a grid of {_CELLS_A_BIN}/SCDL or more",
    )


def redrawn(
    sample: Sample,
    statistics: Sequence[Statistic],
    size: int,
    rng: Rng | list[Rng],
    progress: Progress | None = None,
) -> tuple[Floats, Floats]:
    """The statistics of the sample, and of calibrated forecasters with its predictions: one a row,
    the same for all.
    """
    rated = None if sample._rates is None else by_outcome(sample)
    atoms = as_resampler(sample if rated is None else sample._as_drawn())
    # outcomes are those of a forecaster that is calibrated for the population
    if rated is not None:
        atoms = replace(atoms, prob=rated.here(atoms.prob))
    if all(map(_is_built_in, statistics)):
        atoms = with_fewer_cells(atoms)
    coin = atoms.coin(atoms.prob)
    evaluate = [one.on(atoms if _is_built_in(one) else rated or atoms) for one in statistics]
    pooled = [each for each in evaluate if type(each) is Evaluate]

    def values(draw: Draw) -> Floats:
        shared = pooled[0].samples(draw) if pooled and rated is None else []
        columns = []
        for one, each in zip(statistics, evaluate, strict=True):
            # of the population, by numbers of events
            if rated is not None and not _is_built_in(one):
                columns.append(np.array([each(rated.weighed(events)) for events in draw.positive]))
            else:
                columns.append(each.of(shared) if type(each) is Evaluate else each.many(draw))
        return np.stack(columns, axis=1)

    draws = draw_batches(
        lambda stream, times: values(atoms.redraws(stream, coin, times)),
        size,
        rng,
        progress,
        width=len(statistics),
        threads=min(statistic.threads for statistic in statistics)
        if size * len(atoms.prob) >= _DRAWS_AT_ONCE
        else 1,
        at_once=max(1 if atoms.tossed else _CELLS_AT_ONCE, _DRAWS_AT_ONCE // len(atoms.prob)),
    )
    # as draws are
    seen = atoms.observed().positive if atoms.single is None else atoms._pooled(atoms.single)
    return values(Draw(None, seen[None]))[0], draws


def _is_built_in(statistic: Statistic) -> bool:
    """Whether it is one of `STATISTICS`; a function may have the same name."""
    return statistic.on in STATISTICS.values()


def _identity(statistic: Statistic) -> str | int:
    """What tells statistics apart: two functions may have the same name, as all lambda expressions
    do.
    """
    if _is_built_in(statistic):
        return statistic.name
    return id(statistic.function if statistic.measure is None else statistic.measure)


def _p_value(observed: float, draws: Floats) -> float:
    as_large = int((~(draws < observed)).sum())  # NaN is no evidence
    return (1 + as_large) / (len(draws) + 1)


# to 0 and 1 that log odds are told apart: beyond, a few rows would have all the weight
_NEAREST = 1e-3
_LARGEST_BET = 0.98  # of the wealth that a group can lose at most, so that no factor is 0
_LEVEL = 0.05  # of a test that the smallest bet is made for
# of what can be won: what can be lost counts as this much at least, for predictions next to 0
_FARTHEST = 2.0**-40


def grouped_p_value(rows: Sample) -> float:
    r"""Return a p-value of perfect calibration that holds whatever the dependence within groups, at
    every size.

    Small values speak against calibration: the predictions are too high or too low on average, or
    too extreme or not extreme enough.

    Notes
    -----
    With :math:`f = 1`, with the log odds f of the prediction (clipped, less their mean), and with these times -1, let
    :math:`Z_g` be the sum of :math:`w f(p) (y - p)` over a group, and M the most that :math:`-Z_g` can be in any group.
    If each row has its event with probability p, the :math:`Z_g` have mean 0 given all predictions and are independent,
    so a wealth of 1 that is multiplied by :math:`1 + b Z_g / M` for every group is 1 in expectation. E is the mean of
    the wealth over the four functions and, for each, over bets b that halve from 0.98 to what suits so many groups. By
    Markov's inequality :math:`\min(1, 1/E)` is a p-value.
    """
    p, weight = rows.prob, rows.mass
    if not float(np.square(weight / weight.max()) @ (p * (1 - p))) > 0:  # all are certain
        impossible = (weight > 0) & (p == 1.0 - rows.event)
        return 0.0 if impossible.any() else 1.0
    odds = logit(np.clip(p, _NEAREST, 1 - _NEAREST))
    # of two parts of one row, with its event and without, it is that of the row
    share = weight * p * (1 - p)
    away = odds - float(share @ odds) / float(share.sum())
    each = [_log_wealth(rows, f) for f in (np.ones(len(p)), -np.ones(len(p)), away, -away)]
    most = max(float(logs.max()) for logs in each)
    log_mean = most + math.log(sum(float(np.exp(logs - most).mean()) for logs in each) / len(each))
    return min(1.0, math.exp(-log_mean))


def _log_wealth(rows: Sample, f: Floats) -> Floats:
    """The logarithm of what each bet makes of 1, one factor a group; the bets depend on predictions
    and weights alone.

    The smallest is the one at which so many groups, each of which adds half of the larger of what a
    group can lose and win at most, would be worth 1/level: where they add less, no bet is.
    """
    assert rows._group is not None
    p, stake, group = rows.prob, rows.mass * f, rows._group
    lost = float(np.bincount(group, np.maximum(stake * p, -stake * (1 - p))).max())
    won = float(np.bincount(group, np.maximum(stake * (1 - p), -stake * p)).max())
    if won == 0:
        return np.zeros(1)
    lost = max(lost, _FARTHEST * won)
    smallest = min(1.0, math.sqrt(-2 * math.log(_LEVEL) / rows.n_draws)) * min(1.0, lost / won)
    bets = _LARGEST_BET * 2.0 ** -np.arange(1 + math.ceil(-math.log2(smallest)))
    gain = np.bincount(group, stake * (rows.event - p)) / lost
    return np.asarray(np.log1p(bets[:, np.newaxis] * gain).sum(axis=1))
