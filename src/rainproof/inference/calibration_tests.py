"""The exact test of calibration: outcomes are redrawn as a calibrated forecaster would have them.

It needs independent rows; a p-value for groups is in `rainproof.inference.grouped_test`. What is
drawn is in `rainproof.inference.resampling`, what is computed of draws in `statistics`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.result import Result, once, result_class
from rainproof.core.sample import Sample
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
from rainproof.inference.resampling import (
    Draw,
    ResamplerByOutcome,
    as_resampler,
    by_outcome,
    draw_batches,
    quantile,
)
from rainproof.inference.statistics import (
    STATISTICS,
    Evaluate,
    Measuring,
    Statistic,
    as_statistic,
    as_test_statistic,
    with_fewer_cells,
)

# cells of a compressed sample for each bin of SCDL (about 1/SCDL bins): with fewer, the error of a
# cell's common prediction is no longer small beside SCDL itself
_CELLS_A_BIN = 8
# predictions that are redrawn at a time: as many as stay in the cache, and occupy a thread
_PREDICTIONS_AT_ONCE = 1 << 17
# draws of a compressed sample at a time: what depends on the cell alone is computed once for them
_CELL_DRAWS_AT_ONCE = 8


@result_class
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
        verdict = "Calibration is not rejected"
        if self.rejects():
            verdict = "Calibration is rejected at the 5% level"
        test = f"{p_value_text(self.p_value)}, statistic: {self.statistic}, {rows(self.n)}"
        lines = [
            f"{verdict} ({test}).",
            f"{self.measure} = {self.value:.4g}. For calibrated forecasters with these predictions "
            f"it is {self.null_mean:.4g} on average, and between {low:.4g} and {high:.4g} for 95% "
            "of them.",
        ]
        lines += [f"Note: {note}." for note in self.warnings]
        return "\n".join(lines)


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
    The predictions are kept and the outcomes redrawn, :math:`y^*_t \sim \mathrm{Bernoulli}(p_t)`, B
    times. With the statistic T,

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
    Barnard (1963), discussion of Bartlett, JRSS B 25, 294 (Monte Carlo tests). Brocker, Smith
    (2007), "Increasing the Reliability of Reliability Diagrams", doi:10.1175/WAF993.1 (consistency
    resampling). Phipson, Smyth (2010), "Permutation P-values Should Never Be Zero",
    doi:10.2202/1544-6115.1585.

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
    sample = as_sample(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        pos_label=pos_label,
        groups=groups,
        base_rate=base_rate,
    )
    sample.design.require("calibration_test", independent=True)
    several = isinstance(statistic, list | tuple)
    given = statistic if isinstance(statistic, list | tuple) else [statistic]
    tested = [as_test_statistic(name_or_function) for name_or_function in given]
    reported = _reported(tested, as_statistic(measure), several=several)
    distinct = {_identity(test) for test in tested}
    if len({test.name for test in tested}) < len(distinct):
        raise InputError(
            "statistic must have a different name for each; two functions share one: give them a "
            "__name__"
        )
    size = check_resamples(n_resamples)
    generator, seed = as_seed(rng, sample)
    evaluated = {_identity(needed): needed for needed in (*tested, *reported)}
    observed, draws = redrawn(sample, list(evaluated.values()), size, generator, progress)
    column_of = {identity: column for column, identity in enumerate(evaluated)}
    results = {}
    for test, shown in zip(tested, reported, strict=True):
        column = column_of[_identity(test)]
        result = _result(
            sample,
            test,
            shown,
            p_value=_p_value(observed[column], draws[:, column]),
            n_resamples=size,
            seed=seed,
            draw=draws[:, column_of[_identity(shown)]].copy,
        )
        results[test.name] = result
        for note in result.warnings:
            warnings.warn(ResolutionWarning(note), stacklevel=2)
    return results if several else results[tested[0].name]


def _reported(tested: list[Statistic], measure: Statistic, *, several: bool) -> list[Statistic]:
    """The measure to report beside each test: of several, a tested measure is its own."""
    if not several:
        return [measure]
    return [measure if _is_built_in(test) else test for test in tested]


def quick_test(
    sample: Sample, n_resamples: int, rng: Rng, confidence_level: float = 0.95
) -> CalibrationTest:
    """`calibration_test` by the default statistic; SCDL of calibrated forecasters is drawn when it
    is asked for.

    Of that only the mean and the band are told, for which the first draws are enough: as many as an
    interval takes.
    """
    size = check_resamples(n_resamples)
    test = as_test_statistic("combined")
    measure = as_statistic("soft_binned_cdl")
    streams = spawned(rng, size)
    n_shown = min(size, interval_resamples(None, (1 - confidence_level) / 2))
    sources: list[Any] = [stream.bit_generator for stream in streams]

    def draw_measure() -> Floats:
        # the same calibrated forecasters as those of the test: the streams from their beginning
        streams = [np.random.Generator(type(source)(source.seed_seq)) for source in sources]
        _, draws = redrawn(sample, [measure], n_shown, streams)
        return draws[:, 0]

    observed, draws = redrawn(sample, [test], size, streams)
    return _result(
        sample,
        test,
        measure,
        p_value=_p_value(observed[0], draws[:, 0]),
        n_resamples=size,
        seed=None,
        draw=draw_measure,
    )


def _result(
    sample: Sample,
    test: Statistic,
    measure: Statistic,
    *,
    p_value: float,
    n_resamples: int,
    seed: int | None,
    draw: Callable[[], Floats],
) -> CalibrationTest:
    """The result of one test, with the measure that is shown beside it."""
    return CalibrationTest(
        p_value=p_value,
        statistic=test.name,
        measure=measure.name,
        value=float(measure.function(sample)),
        n_resamples=n_resamples,
        n=sample.n,
        seed=seed,
        _cells=sample.grid if measure.soft_binned else None,
        _draw=draw,
    )


def too_coarse(null_mean: float, cells: int) -> tuple[str, ...]:
    """What to say if SCDL of calibrated forecasters is too small to redraw it from the cells."""
    if null_mean * cells >= _CELLS_A_BIN:
        return ()
    return (
        f"SCDL redrawn from cells is about {null_mean:.2g}, too small for grid = {cells:,}: the "
        "rows of a cell are treated as having one prediction, which needs a grid of "
        f"{_CELLS_A_BIN}/SCDL or more",
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
    population = None
    if sample.design.strata is not None:
        population = by_outcome(sample)
        sample = sample.as_drawn()
    atoms = as_resampler(sample)
    if population is not None:
        # outcomes are those of a forecaster that is calibrated for the population
        atoms = replace(atoms, prob=population.here(atoms.prob))
    if all(_is_built_in(statistic) for statistic in statistics):
        atoms = with_fewer_cells(atoms)
    evaluators: list[Evaluate] = []
    for statistic in statistics:
        if population is None or _is_built_in(statistic):
            evaluators.append(statistic.on(atoms))
        else:
            evaluators.append(_OfPopulation(statistic, population))
    coin = atoms.coin(atoms.prob)

    def draw_values(stream: Rng, times: int) -> Floats:
        return _values(evaluators, atoms.redraws(stream, coin, times))

    threads = 1
    if size * len(atoms.prob) >= _PREDICTIONS_AT_ONCE:
        threads = min(statistic.threads for statistic in statistics)
    fewest_at_once = 1 if atoms.tossed else _CELL_DRAWS_AT_ONCE
    draws = draw_batches(
        draw_values,
        size,
        rng,
        progress,
        width=len(statistics),
        threads=threads,
        at_once=max(fewest_at_once, _PREDICTIONS_AT_ONCE // len(atoms.prob)),
    )
    return _values(evaluators, atoms.observed_as_drawn())[0], draws


class _OfPopulation(Evaluate):
    """A measure of a population with another event rate than the rows, which weigh by outcome."""

    def __init__(self, statistic: Statistic, population: ResamplerByOutcome) -> None:
        self._population = population
        self._evaluate = statistic.on(population)

    def many(self, draw: Draw) -> Floats:
        weighed = self._population.weighed
        return np.array([self._evaluate(weighed(events)) for events in draw.positive])


def _values(evaluators: Sequence[Evaluate], draw: Draw) -> Floats:
    """The statistics of each resample: one a row, a column for each statistic."""
    samples = None  # made once for all statistics that take samples
    columns = []
    for evaluator in evaluators:
        if type(evaluator) is not Evaluate:
            columns.append(evaluator.many(draw))
            continue
        if samples is None:
            samples = evaluator.samples(draw)
        columns.append(evaluator.of(samples))
    return np.stack(columns, axis=1)


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
    """The rank of the observed value among all, from the largest on, as a share of them."""
    as_large = int((~(draws < observed)).sum())  # NaN is no evidence
    return (1 + as_large) / (len(draws) + 1)
