"""What is resampled: measures as statistics of drawn outcomes, and the default statistic of
`calibration_test`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Ints, available_threads
from rainproof.core.distinct import DistinctTable
from rainproof.core.sample import Sample
from rainproof.errors import InputError
from rainproof.inference._combined import evidence, functions, until
from rainproof.inference._soft_sums import (
    balance,
    balance_repeated,
    placed,
    soft_sums,
    soft_sums_with,
    weighted_sums,
)
from rainproof.inference.options import Rng
from rainproof.inference.resampling import Draw, Resampler, as_resampler
from rainproof.measures.catalogue import CATALOGUE, Measure
from rainproof.measures.scdl import balancing_loss, soft_binned_cdl
from rainproof.measures.scores import LOSSES

ENOUGH = 10  # draws that reach the observed value, after which a sequential test stops
_AT_ONCE = 1 << 20  # predictions that are redrawn at a time
# predictions as close as that share a pool: the variance of its events differs by less than 1e-6
_ANGLES = 2048
# dense grids on which resamples are evaluated
_COARSEST = 1 << 6
_FINEST = 1 << 18
_CELLS_A_PREDICTION = 256  # beyond which most cells are empty: the pooled table costs less
_CELLS_OF_NOISE = 2.5  # SCDL balances at a grid of so many cells in the noise of a sum
_SMALLEST_NOISE = 1e-9

Measuring = Callable[[Sample], float]


class Evaluate:
    """A statistic of resamples, prepared for the units that are drawn.

    This one is of any measure, which gets each resample pooled and in order, so that nothing is
    sorted again.
    """

    def __init__(self, atoms: Resampler, measure: Measuring) -> None:
        self._prob = atoms.distinct
        self._weight = atoms.weight
        self._n = atoms.n
        self._function = measure
        # no two rows have one prediction
        is_single = atoms.single is not None and atoms.start is None
        self._are_rows = is_single and atoms.unit is None

    def __call__(self, draw: Draw) -> float:
        return float(self.many(Draw(draw.weight, draw.positive[None]))[0])

    def many(self, draw: Draw) -> Floats:
        """Return the statistic of each row of ``draw.positive``."""
        return self.of(self.samples(draw))

    def of(self, samples: list[Sample]) -> Floats:
        """The statistic of each sample."""
        return np.array([float(self._function(sample)) for sample in samples])

    def samples(self, draw: Draw) -> list[Sample]:
        """Each row of ``draw.positive`` as a `Sample`, which several statistics can share."""
        return [self._sample(draw.weight, positive) for positive in draw.spread()]

    def _sample(self, weight: NDArray[Any] | None, events: NDArray[Any]) -> Sample:
        if self._are_rows and weight is None and events.dtype == np.uint8:
            positive = events.astype(np.float64)
            table = DistinctTable(self._prob, 1.0 - positive, positive)
            return Sample.from_distinct(table, self._n, events)
        weight = self._weight if weight is None else weight.astype(np.float64)
        return Sample.from_distinct(drawn_table(self._prob, weight, events), self._n)


def drawn_table(prob: Floats, weight: Floats, events: NDArray[Any]) -> DistinctTable:
    """Return the table of a resample: predictions with their weight and that of their events."""
    positive = events.astype(np.float64)
    negative = np.maximum(weight - positive, 0.0)  # two sums, rounded apart
    drawn = weight > 0
    return DistinctTable(prob[drawn], negative[drawn], positive[drawn])


class Combined(Evaluate):
    r"""Evidence against calibration of any kind: log10 of the mean of 1/p over tests of growing
    order.

    Residuals (events less weight times prediction) are summed in at most 256 runs of neighbouring
    predictions with equal shares of the variance, and projected on orthonormal functions of the
    prediction: a constant, the log odds, then cosines of growing frequency. Under calibration the
    projections z_1, z_2, ... are uncorrelated with variance 1. The tests are chi-squared tests of
    z_1, ..., z_k for k = 1, 2, 4, ..., 64 (fewer than 128 rows: no more than half of them), and of
    z_1 and z_2 each alone (shift and overconfidence are the most frequent errors). Their nominal
    p-values only weigh the parts: the exact p-value is that of the resampling test. An outcome that
    was predicted to be impossible makes the statistic infinite.
    """

    def __init__(self, atoms: Resampler) -> None:
        self._prob = atoms.distinct
        self._weight = atoms.weight
        self._run_start, self._expected, self._certain, self._functions = functions(
            self._prob, self._weight, atoms.squares, max(2, atoms.n // 2)
        )
        self._expected_of_certain = (self._weight * self._prob)[self._certain]

    @property
    def run_start(self) -> Ints:
        """The first prediction of each run."""
        return self._run_start

    def many(self, draw: Draw) -> Floats:
        expected = self._expected
        expected_of_certain = self._expected_of_certain
        if draw.weight is not None:
            events = draw.weight.astype(np.float64) * self._prob
            expected = np.add.reduceat(events, self._run_start)
            expected_of_certain = events[self._certain]
        return evidence(
            self._run_start,
            draw.positive,
            expected,
            self._functions,
            self._certain,
            expected_of_certain,
        )

    def until(
        self, atoms: Resampler, rng: Rng, hits: int, most: int, likely: int
    ) -> tuple[int, int]:
        """Draw until so many draws reach the observed value, or `most`; return the number of draws
        and of hits.
        """
        if atoms.tossed and atoms.unit is None and atoms.start is None:
            return until(
                rng.bit_generator.capsule,
                self._prob,
                atoms.count,
                atoms.events,
                self._run_start,
                self._expected,
                self._functions,
                self._certain,
                hits,
                most,
            )
        observed = self(atoms.observed())
        if observed == math.inf:  # an impossible outcome: no draw has one
            return most, 0
        size = min(most, likely)
        drawn = self.many(atoms.redraws(rng, atoms.coin(atoms.prob), size))
        reaching = np.flatnonzero(~(drawn < observed))[:hits]
        draws = int(reaching[-1]) + 1 if len(reaching) == hits else size
        return draws, len(reaching)


def sequential_p_value(atoms: Resampler, most: int, rng: Rng) -> float:
    """The p-value of `Combined` after Besag and Clifford: draw until ten draws reach the observed
    value, or `most`.

    If the tenth is draw number l, the p-value is 10/l; if g < 10 of `most` draws reach it, (g +
    1)/(most + 1).
    """
    combined = Combined(atoms)
    at_once = 1 + _AT_ONCE // len(atoms.prob)
    drawn = 0
    reached = 0
    while drawn < most and reached < ENOUGH:
        left = ENOUGH - reached
        likely = left * (drawn + 1) // (reached + 1)  # draws that are needed
        draws, hits = combined.until(atoms, rng, left, min(most - drawn, at_once), likely)
        drawn += draws
        reached += hits
    return ENOUGH / drawn if reached == ENOUGH else (reached + 1) / (most + 1)


def with_fewer_cells(atoms: Resampler) -> Resampler:
    """Units of many rows each, pooled as far as `Combined` cannot tell: 1e8 rows in 65,536 cells to
    about 2,000.

    Events of a pool are drawn as one binomial number with its mean prediction. The variance is then
    too large by the share ``var(p) / (p (1 - p))`` of the predictions in it, below 1e-6 where they
    are closer than 1/2048 of a quarter turn on the scale of ``arcsin(sqrt(p))``. No pool reaches
    over a run, or holds both certain and other predictions.
    """
    prob = atoms.prob
    if atoms.weighted or len(prob) <= _ANGLES or atoms.tossed:
        return atoms
    quarter_turns = np.arcsin(np.sqrt(prob)) * (2 / np.pi)
    is_certain = (prob <= 0) | (prob >= 1)
    begins_pool = np.zeros(len(prob), np.bool_)
    begins_pool[Combined(atoms).run_start] = True
    begins_pool[1:] |= np.diff((quarter_turns * _ANGLES).astype(np.int64)) > 0
    begins_pool[1:] |= np.diff(is_certain)
    return atoms.merged(np.cumsum(begins_pool) - 1)


@dataclass(frozen=True, slots=True)
class Statistic:
    """A measure of the catalogue, any function of one `Sample`, or a statistic of `STATISTICS`."""

    name: str
    function: Measuring
    measure: Measure | None
    on: Callable[[Resampler], Evaluate]  # makes the function that evaluates resampled atoms
    threads: int = 1  # on which evaluation runs in parallel: kernels that release the interpreter

    @property
    def bounded(self) -> bool:
        """Whether it is 0 for a calibrated population, as measures of miscalibration are and scores
        are not.
        """
        return self.measure is None or self.measure.kind == "calibration"

    @property
    def pools(self) -> bool:
        """Whether it compares each distinct prediction with its own rows."""
        return self.measure is not None and self.measure.pools_predictions

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest possible value."""
        return self.measure.range if self.measure else (-math.inf, math.inf)

    @property
    def soft_binned(self) -> bool:
        """Whether it is SCDL."""
        return self.measure is not None and self.measure.function is soft_binned_cdl


def as_statistic(measure: str | Measuring, parameter: str = "measure") -> Statistic:
    """Return the statistic of a name in the catalogue or of a function."""
    if not callable(measure):
        if measure not in CATALOGUE:
            names = ", ".join(CATALOGUE if parameter == "measure" else (*STATISTICS, *CATALOGUE))
            raise InputError(f"{parameter} must be a function or one of {names}; it is {measure!r}")
        measure = CATALOGUE[measure]
    known = measure if isinstance(measure, Measure) else CATALOGUE.of(measure)
    name = str(getattr(measure, "name", getattr(measure, "__name__", "measure")))
    if known is not None and known.function in FAST:
        evaluate = partial(FAST[known.function], measure=known)
        return Statistic(name, measure, known, evaluate, available_threads())
    return Statistic(name, measure, known, partial(Evaluate, measure=measure))


def as_test_statistic(statistic: str | Measuring) -> Statistic:
    """Return the statistic of a name in `STATISTICS` or in the catalogue, or of a function."""
    if callable(statistic) or statistic not in STATISTICS:
        return as_statistic(statistic, "statistic")
    evaluate = STATISTICS[statistic]

    def function(sample: Sample) -> float:
        atoms = as_resampler(sample)
        return evaluate(atoms)(atoms.observed())

    return Statistic(statistic, function, None, evaluate, available_threads())


def bootstrapped(evaluate: Evaluate, atoms: Resampler) -> Callable[[Rng], float]:
    """Return a function that draws rows (or clusters) with replacement, as many as there are, and
    evaluates them.
    """
    if isinstance(evaluate, SoftBinned):
        by_outcome = evaluate.by_outcome()
        if by_outcome is not None:
            return by_outcome

    def draw(rng: Rng) -> float:
        return evaluate(atoms.resample(rng))

    return draw


class Score(Evaluate):
    """A score: the sum of losses, which are computed once for each prediction and outcome."""

    def __init__(self, atoms: Resampler, measure: Measure) -> None:
        super().__init__(atoms, measure)
        loss = LOSSES[measure.function]
        without = loss(self._prob, np.full(len(self._prob), False))
        with_event = loss(self._prob, np.full(len(self._prob), True))
        self._impossible_without = np.flatnonzero(np.isinf(without))
        self._impossible_event = np.flatnonzero(np.isinf(with_event))
        self._without = np.where(np.isinf(without), 0.0, without)
        self._by_event = np.where(np.isinf(with_event), 0.0, with_event) - self._without
        self._observed = self._without_events(self._weight)

    def _without_events(self, weight: NDArray[Any]) -> tuple[float, float]:
        """The sum of losses if there were no events, and the sum of weights."""
        return float(weighted_sums(weight[None], self._without)[0]), float(weight.sum())

    def many(self, draw: Draw) -> Floats:
        positive = draw.spread()
        weight = self._weight
        without, total = self._observed
        if draw.weight is not None:
            weight = draw.weight
            without, total = self._without_events(weight)
        value = (without + weighted_sums(positive, self._by_event)) / total
        impossible = self._impossible_without
        has_other = (positive[:, impossible] < weight[impossible]).any(axis=1)
        has_event = (positive[:, self._impossible_event] > 0).any(axis=1)
        return np.where(has_event | has_other, math.inf, value)


class SoftBinned(Evaluate):
    """SCDL from sums on a dense grid; finer grids only for resamples that do not balance on the
    first.

    The first grid depends on the predictions alone, so every outcome is evaluated in one way.
    """

    def __init__(self, atoms: Resampler, measure: Measure) -> None:
        super().__init__(atoms, measure)
        self._atoms = atoms
        self._is_soft = measure.options.get("rounding") != "hard"
        # The standard deviation of sums over the rows under calibration.
        variance = float(weighted_sums((self._weight * self._prob)[None], 1 - self._prob)[0])
        noise = math.sqrt(variance / (float(self._weight.sum()) * atoms.n))
        needed = math.ceil(math.log2(_CELLS_OF_NOISE / max(noise, _SMALLEST_NOISE)))
        first = min(_FINEST, max(_COARSEST, 1 << needed))
        grids = sorted({min(times * first, _FINEST) for times in (1, 2, 16, _FINEST)})
        largest_dense = _CELLS_A_PREDICTION * len(self._prob)
        self._grids = [grid for grid in grids if grid <= largest_dense]
        self._place = cache(self._placed)

    def many(self, draw: Draw) -> Floats:
        value = np.empty(len(draw.positive) if draw.outcome is None else draw.outcome.shape[1])
        left = np.arange(len(value))  # the resamples that no grid so far balances
        for grid in self._grids:
            exponent, loss = self._balance(*self._sums(draw, left, grid))
            balances = exponent > 0
            value[left[balances]] = np.maximum(loss[balances], 0.5 ** exponent[balances])
            left = left[~balances]
            if not len(left):
                return value
        value[left] = super().many(Draw(draw.weight, draw.spread()[left]))
        return value

    def by_outcome(self) -> Callable[[Rng], float] | None:
        """Return a faster `bootstrapped` for rows without weights and groups.

        Rows are drawn in the order of their outcomes: each is added up once, with those of its own
        outcome. The first grid is four times as fine as that of the observed rows: few resamples
        need another.
        """
        atoms = self._atoms
        outcome = atoms.single
        if outcome is None or atoms.group is not None or atoms.unit is not None or not self._grids:
            return None
        finest = self._grids[0]
        observed = Draw(None, atoms.observed().positive[None])
        exponent_observed, _ = self._balance(*self._sums(observed, np.arange(1), finest))
        grid = finest
        if exponent_observed[0]:
            grid = min(finest, 4 << int(exponent_observed[0]))
        start, rise = placed(atoms.prob, outcome, grid, self._is_soft)
        n = len(outcome)
        others = n - int(outcome.sum())
        needed_losses = _balancing_losses(grid, n)

        def draw(rng: Rng) -> float:
            times = atoms.repeat(rng)
            exponent, loss = balance_repeated(start, rise, times, self._is_soft, needed_losses)
            if exponent:
                return max(loss / n, 0.5**exponent)
            by_prediction = np.empty_like(times)
            by_prediction[outcome == 0] = times[:others]
            by_prediction[outcome == 1] = times[others:]
            return self(atoms.times(by_prediction))

        return draw

    def _sums(self, draw: Draw, left: NDArray[np.int64], grid: int) -> tuple[Floats, Floats]:
        """The weight, and the weight of events for each of the resamples `left`, on a grid."""
        placement = self._place(grid)
        weight = placement.weight
        if draw.weight is not None:
            weight = on_grid(placement.places, draw.weight[None])[0]
        if draw.row is None or draw.outcome is None:
            positive = draw.positive
            if len(left) < len(positive):
                positive = positive[left]
            return weight, on_grid(placement.places, positive)
        shared = on_grid(placement.places, draw.positive[None])[0]
        outcome = draw.outcome
        if len(left) < outcome.shape[1]:
            outcome = np.ascontiguousarray(outcome[:, left])
        rise = placement.places[1]
        return weight, soft_sums_with(placement.cell, rise, shared, draw.row, outcome)

    def _placed(self, grid: int) -> _Placement:
        """Where the predictions are on a grid."""
        places = placed(self._prob, None, grid, self._is_soft)
        start, _ = places
        cell = np.repeat(np.arange(len(start) - 1), np.diff(start))
        return _Placement(places, cell, on_grid(places, self._weight[None])[0])

    def _balance(self, weight: Floats, positive: Floats) -> tuple[NDArray[np.int64], Floats]:
        """For each resample the exponent of m* (0 if it is not below the grid), and SCDL on the
        grid m*.
        """
        total = float(weight.sum())
        needed_losses = _balancing_losses(len(weight) - 1, total)
        exponent, loss = balance(weight, positive, self._is_soft, needed_losses)
        return exponent, loss / total


class _Placement(NamedTuple):
    """Where predictions are on a grid.

    Attributes
    ----------
    places : tuple of ndarray
        The first prediction of each cell, and how far each is into its cell (`placed`).
    cell : ndarray
        The cell of each prediction.
    weight : ndarray
        The observed weight at each point of the grid.
    """

    places: tuple[Ints, Floats]
    cell: Ints
    weight: Floats


def _balancing_losses(grid: int, total: float) -> Floats:
    """What the loss on each grid 2, 4, ..., `grid` must be, times the total weight, for half that
    grid to be fine enough.
    """
    return np.asarray(total * balancing_loss(np.arange(grid.bit_length() - 1)))


def on_grid(places: tuple[Ints, Floats], amount: NDArray[Any]) -> Floats:
    """Sum each row of amounts on a grid, by where the predictions, which are increasing, are on it
    (`placed`).
    """
    sums = np.empty((len(amount), len(places[0]) - 1))
    soft_sums(*places, amount, sums)
    return sums


FAST: dict[Callable[..., float], Callable[..., Evaluate]] = {
    soft_binned_cdl: SoftBinned,
    **dict.fromkeys(LOSSES, Score),
}
"""Measures that are evaluated on resampled atoms by a class of their own."""

STATISTICS: dict[str, Callable[[Resampler], Evaluate]] = {"combined": Combined}
"""Test statistics that are no measures: they depend on the number of rows."""
