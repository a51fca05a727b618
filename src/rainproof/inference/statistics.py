"""What is resampled: measures as statistics of drawn outcomes, and the default statistic of
`calibration_test`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

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

Measuring = Callable[[Sample], float]


class Evaluate:
    """A statistic of resamples, prepared for the units that are drawn.

    This one is of any measure, which gets each resample pooled and in order, so that nothing is
    sorted again.
    """

    def __init__(self, atoms: Resampler, measure: Measuring) -> None:
        self._prob, self._weight, self._n, self._function = (
            atoms.distinct,
            atoms.weight,
            atoms.n,
            measure,
        )
        self._rows = atoms.single is not None and atoms.unit is None and atoms.start is None

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
        # no two rows have one prediction
        if self._rows and weight is None and events.dtype == np.uint8:
            positive = events.astype(np.float64)
            return Sample.from_distinct(
                DistinctTable(self._prob, 1.0 - positive, positive), self._n, events
            )
        weight = self._weight if weight is None else weight.astype(np.float64)
        return Sample.from_distinct(drawn_table(self._prob, weight, events), self._n)


def drawn_table(prob: Floats, weight: Floats, events: NDArray[Any]) -> DistinctTable:
    """Return the table of a resample: predictions with their weight and that of their events."""
    positive, some = events.astype(np.float64), weight > 0
    negative = np.maximum(weight - positive, 0.0)  # two sums, rounded apart
    return DistinctTable(prob[some], negative[some], positive[some])


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
        self._prob, self._weight = atoms.distinct, atoms.weight
        self._start, self._expected, self._certain, self._along = functions(
            self._prob, self._weight, atoms.squares, max(2, atoms.n // 2)
        )
        self._due = (self._weight * self._prob)[self._certain]

    def many(self, draw: Draw) -> Floats:
        expected, due = self._expected, self._due
        if draw.weight is not None:
            events = draw.weight.astype(np.float64) * self._prob
            expected, due = np.add.reduceat(events, self._start), events[self._certain]
        return evidence(self._start, draw.positive, expected, self._along, self._certain, due)

    def until(
        self, atoms: Resampler, rng: Rng, hits: int, most: int, likely: int
    ) -> tuple[int, int]:
        """Draw until so many draws reach the observed value, or `most`; return the number of draws
        and of hits.
        """
        if atoms.tossed and atoms.unit is None and atoms.start is None:
            rows, runs = (
                (self._prob, atoms.count, atoms.events),
                (self._start, self._expected, self._along),
            )
            return until(rng.bit_generator.capsule, *rows, *runs, self._certain, hits, most)
        observed = self(atoms.observed())
        if observed == math.inf:  # an impossible outcome: no draw has one
            return most, 0
        size = min(most, likely)
        where = np.flatnonzero(
            ~(self.many(atoms.redraws(rng, atoms.coin(atoms.prob), size)) < observed)
        )[:hits]
        return int(where[-1]) + 1 if len(where) == hits else size, len(where)


def sequential_p_value(atoms: Resampler, most: int, rng: Rng) -> float:
    """The p-value of `Combined` after Besag and Clifford: draw until ten draws reach the observed
    value, or `most`.

    If the tenth is draw number l, the p-value is 10/l; if g < 10 of `most` draws reach it, (g +
    1)/(most + 1).
    """
    combined, drawn, reached = Combined(atoms), 0, 0
    while drawn < most and reached < ENOUGH:
        left = ENOUGH - reached
        likely = left * (drawn + 1) // (reached + 1)  # draws that are needed
        new, hits = combined.until(
            atoms, rng, left, min(most - drawn, 1 + _AT_ONCE // len(atoms.prob)), likely
        )
        drawn, reached = drawn + new, reached + hits
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
    new = np.zeros(len(prob), np.bool_)
    new[Combined(atoms)._start] = True
    new[1:] |= np.diff((np.arcsin(np.sqrt(prob)) * (2 / np.pi * _ANGLES)).astype(np.int64)) > 0
    new[1:] |= np.diff((prob <= 0) | (prob >= 1))
    return atoms.merged(np.cumsum(new) - 1)


_CELLS_A_PREDICTION = 256
_COARSEST, _FINEST = 1 << 6, 1 << 18  # dense grids on which resamples are evaluated


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
        return Statistic(
            name, measure, known, partial(FAST[known.function], measure=known), available_threads()
        )
    return Statistic(name, measure, known, partial(Evaluate, measure=measure))


def as_test_statistic(statistic: str | Measuring) -> Statistic:
    """Return the statistic of a name in `STATISTICS` or in the catalogue, or of a function."""
    if callable(statistic) or statistic not in STATISTICS:
        return as_statistic(statistic, "statistic")
    made = STATISTICS[statistic]

    def function(sample: Sample) -> float:
        atoms = as_resampler(sample)
        return made(atoms)(atoms.observed())

    return Statistic(statistic, function, None, made, available_threads())


def bootstrapped(evaluate: Evaluate, atoms: Resampler) -> Callable[[Rng], float]:
    """Return a function that draws rows (or clusters) with replacement, as many as there are, and
    evaluates them.
    """
    by_outcome = evaluate.by_outcome() if isinstance(evaluate, SoftBinned) else None
    return by_outcome or (lambda rng: evaluate(atoms.resample(rng)))


class Score(Evaluate):
    """A score: the sum of losses, which are computed once for each prediction and outcome."""

    def __init__(self, atoms: Resampler, measure: Measure) -> None:
        super().__init__(atoms, measure)
        every = (np.full(len(self._prob), event) for event in (False, True))
        losses = [LOSSES[measure.function](self._prob, outcome) for outcome in every]
        self._impossible = [np.flatnonzero(np.isinf(loss)) for loss in losses]
        self._without, with_event = (np.where(np.isinf(loss), 0.0, loss) for loss in losses)
        self._more = with_event - self._without
        self._observed = self._sums(self._weight)

    def _sums(self, weight: NDArray[Any]) -> tuple[float, float]:
        """The loss if there were no events, and the weight."""
        return float(weighted_sums(weight[None], self._without)[0]), float(weight.sum())

    def many(self, draw: Draw) -> Floats:
        weight, positive = self._weight if draw.weight is None else draw.weight, draw.spread()
        of_all, total = self._observed if draw.weight is None else self._sums(weight)
        value = (of_all + weighted_sums(positive, self._more)) / total
        no_event, event = self._impossible
        infinite = (positive[:, event] > 0).any(axis=1) | (
            positive[:, no_event] < weight[no_event]
        ).any(axis=1)
        return np.where(infinite, math.inf, value)


class SoftBinned(Evaluate):
    """SCDL from sums on a dense grid; finer grids only for resamples that do not balance on the
    first.

    The first grid depends on the predictions alone, so every outcome is evaluated in one way.
    """

    def __init__(self, atoms: Resampler, measure: Measure) -> None:
        super().__init__(atoms, measure)
        self._atoms, self._soft = atoms, measure.options.get("rounding") != "hard"
        total = float(self._weight.sum())
        # The standard deviation of sums over the rows under calibration; SCDL balances at a grid of
        # a few times 1/it.
        variance = float(weighted_sums((self._weight * self._prob)[None], 1 - self._prob)[0])
        noise = math.sqrt(variance / (total * atoms.n))
        first = min(_FINEST, max(_COARSEST, 1 << math.ceil(math.log2(2.5 / max(noise, 1e-9)))))
        # With few predictions a fine grid has mostly empty cells: the pooled table costs less.
        dense = _CELLS_A_PREDICTION * len(self._prob)
        self._grids = [
            m for m in sorted({min(k * first, _FINEST) for k in (1, 2, 16, _FINEST)}) if m <= dense
        ]
        self._place = cache(self._placed)

    def many(self, draw: Draw) -> Floats:
        value = np.empty(len(draw.positive) if draw.outcome is None else draw.outcome.shape[1])
        left = np.arange(len(value))  # those that no grid so far balances
        for m in self._grids:
            exponent, loss = self._balance(*self._sums(draw, left, m))
            some = exponent > 0
            value[left[some]] = np.maximum(loss[some], 0.5 ** exponent[some])
            left = left[~some]
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
        atoms, outcome = self._atoms, self._atoms.single
        if outcome is None or atoms.group is not None or atoms.unit is not None or not self._grids:
            return None
        finest = self._grids[0]
        exponent, _ = self._balance(
            *self._sums(Draw(None, atoms.observed().positive[None]), np.arange(1), finest)
        )
        m = min(finest, 4 << int(exponent[0])) if exponent[0] else finest
        start, rise = placed(atoms.prob, outcome, m, self._soft)
        n, events, bar = len(outcome), int(outcome.sum()), _bars(m, len(outcome))

        def one(rng: Rng) -> float:
            times = atoms.repeat(rng)
            exponent, loss = balance_repeated(start, rise, times, self._soft, bar)
            if exponent:
                return max(loss / n, 0.5**exponent)
            by_prediction = np.empty_like(times)
            by_prediction[outcome == 0], by_prediction[outcome == 1] = np.split(times, [n - events])
            return self(atoms.times(by_prediction))

        return one

    def _sums(self, draw: Draw, left: NDArray[np.int64], m: int) -> tuple[Floats, Floats]:
        """The weight, and the weight of events for each of the resamples `left`, on the grid m."""
        places, cell, weight = self._place(m)
        weight = weight if draw.weight is None else on_grid(places, draw.weight[None])[0]
        if draw.row is None or draw.outcome is None:
            every = len(left) == len(draw.positive)
            return weight, on_grid(places, draw.positive if every else draw.positive[left])
        shared, outcome = on_grid(places, draw.positive[None])[0], draw.outcome
        outcome = (
            outcome if len(left) == outcome.shape[1] else np.ascontiguousarray(outcome[:, left])
        )
        return weight, soft_sums_with(cell, places[1], shared, draw.row, outcome)

    def _placed(self, m: int) -> tuple[tuple[Ints, Floats], Ints, Floats]:
        """Where the predictions are on the grid m, the cell of each, and their observed weight on
        it.
        """
        places = placed(self._prob, None, m, self._soft)
        cell = np.repeat(np.arange(len(places[0]) - 1), np.diff(places[0]))
        return places, cell, on_grid(places, self._weight[None])[0]

    def _balance(self, weight: Floats, positive: Floats) -> tuple[NDArray[np.int64], Floats]:
        """For each resample the exponent of m* (0 if it is not below the grid), and SCDL on the
        grid m*.
        """
        total = float(weight.sum())
        exponent, loss = balance(weight, positive, self._soft, _bars(len(weight) - 1, total))
        return exponent, loss / total


def _bars(m: int, total: float) -> Floats:
    """What the loss on each grid 2, 4, ..., m must be, times the total weight, for half that grid
    to be fine enough.
    """
    return np.asarray(total * balancing_loss(np.arange(m.bit_length() - 1)))


def on_grid(places: tuple[Ints, Floats], amount: NDArray[Any]) -> Floats:
    """Sum each row of amounts on a grid, by where the predictions, which are increasing, are on it
    (`placed`).
    """
    found = np.empty((len(amount), len(places[0]) - 1))
    soft_sums(*places, amount, found)
    return found


FAST: dict[Callable[..., float], Callable[..., Evaluate]] = {
    soft_binned_cdl: SoftBinned,
    **dict.fromkeys(LOSSES, Score),
}
"""Measures that are evaluated on resampled atoms by a class of their own."""

STATISTICS: dict[str, Callable[[Resampler], Evaluate]] = {"combined": Combined}
"""Test statistics that are no measures: they depend on the number of rows."""
