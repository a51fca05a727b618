"""Resampling: draws in blocks, and the units that are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arguments import REFUSED, with_rate
from rainproof.core.arrays import Floats, Ints, run_in_threads
from rainproof.core.cells import CellTable, mean_prediction
from rainproof.core.sample import Sample
from rainproof.errors import InputError
from rainproof.inference._draws import (
    added_up,
    binomials,
    binomials_along,
    compared,
    multinomial,
    repeats,
    tosses,
)
from rainproof.inference._soft_sums import run_sums
from rainproof.inference.options import BLOCK, Progress, Rng, spawned

Drawing = Callable[[Rng], Sequence[float] | Floats]
"""A function that draws once: a row of values."""


# repetitions up to which rows are drawn one by one; more are drawn as one binomial number
_MOST_TOSSES = 8
_ROUNDING = 1e-12  # relative difference of weights that only rounding made
_BITS = 65536.0  # the first 16 random bits of a toss
_UNIT_OF_CHANCE = 2.0**31  # of the kernel that draws in several populations


def each_time(draw: Drawing) -> Callable[[Rng, int], list[Sequence[float] | Floats]]:
    """Return the function that calls this one as often as there are draws, for `draw_batches`."""

    def draw_times(stream: Rng, times: int) -> list[Sequence[float] | Floats]:
        return [draw(stream) for _ in range(times)]

    return draw_times


def draw_batches(
    draw: Callable[[Rng, int], Sequence[Sequence[float] | Floats] | Floats],
    size: int,
    rng: Rng | list[Rng],
    progress: Progress | None = None,
    *,
    width: int = 1,
    threads: int = 1,
    at_once: int = BLOCK,
) -> Floats:
    """Call `draw` for up to `at_once` draws at a time until there are `size`; each block has its
    own random numbers.

    `rng` can be the streams of the blocks (`spawned`). The result does not depend on the number of
    threads: every block has its stream before any of them is drawn. Nor does it depend on `at_once`
    if `draw` takes random numbers draw by draw.
    """
    values = np.empty((size, width))
    streams = rng if isinstance(rng, list) else spawned(rng, size)
    blocks = [values[start : start + BLOCK] for start in range(0, size, BLOCK)]
    done = [0] * len(blocks)
    threads = min(threads, len(blocks))
    has_failed = False

    def work(thread: int) -> bool:
        nonlocal has_failed
        try:
            for number in range(thread, len(blocks), threads):
                if has_failed:  # or Ctrl-C in another thread: the rest is not needed any more
                    break
                block = blocks[number]
                for start in range(0, len(block), at_once):
                    batch = block[start : start + at_once]
                    batch[:] = draw(streams[number], len(batch))
                done[number] = len(block)
                if progress is not None and thread == 0 and sum(done) < size:
                    progress(sum(done), size)
        except BaseException:
            has_failed = True
            raise
        return True

    run_in_threads(work, threads)
    if progress is not None:
        progress(size, size)
    return values


def quantile(sorted_draws: Floats, share: float) -> float:
    """Return the smallest draw that at least this share of the draws does not exceed."""
    rank = int(np.ceil(share * len(sorted_draws))) - 1
    return float(sorted_draws[min(max(rank, 0), len(sorted_draws) - 1)])


class Draw(NamedTuple):
    """A resample: at each distinct prediction the weight of its rows (None: as observed) and of its
    events.

    If `positive` has two axes, each row is a resample; all have the same `weight`. Resamples can
    also share most events: then `row` has the places of the others, and `outcome` a column for each
    resample, 1 where it has them.
    """

    weight: NDArray[Any] | None
    positive: NDArray[Any]
    row: Ints | None = None
    outcome: NDArray[np.uint8] | None = None

    def spread(self) -> NDArray[Any]:
        """The weight of events, one row for each resample."""
        if self.row is None or self.outcome is None:
            return self.positive
        n = len(self.positive)
        further = [np.bincount(self.row, outcome, n) for outcome in self.outcome.T]
        return self.positive + np.stack(further)


Tosses = Callable[[Rng, int], NDArray[Any]]
"""A function that draws outcomes so many times: the events of each atom, one row for each time."""

Outcomes = Callable[[Rng, NDArray[Any]], list[Draw]]
"""A function that draws outcomes in several populations for predictions that are repeated so often.
"""


def coins(chance: Floats, times: Ints | None = None) -> Tosses:
    """Return a function that tosses coins with given probabilities of heads: exact, with two random
    bytes a toss.

    It returns 1 for heads and 0 for tails; with `times`, the number of heads in that many tosses of
    each coin. A toss compares 16 random bits with the first 16 of the probability, and only if they
    are equal, once in 65,536 times, the rest of it with a random number.
    """
    n_coins = len(chance)
    coin_of_toss = None
    if times is not None:
        coin_of_toss = np.repeat(np.arange(n_coins, dtype=np.int32), times)
        chance = chance[coin_of_toss]
    scaled = chance * _BITS
    first = np.minimum(scaled, _BITS - 1).astype(np.uint16)
    rest = scaled - first

    def toss(rng: Rng, rows: int) -> NDArray[Any]:
        heads = compared(rng.bit_generator.capsule, first, rest, rows)
        return heads if coin_of_toss is None else added_up(heads, coin_of_toss, n_coins)

    return toss


def whole(rates: Sequence[Floats]) -> NDArray[np.uint32]:
    """Return probabilities in units of 2^-31, one column each."""
    columns = [np.rint(rate * _UNIT_OF_CHANCE).astype(np.uint32) for rate in rates]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Resampler:
    """The units of the resampling kernels: what `as_resampler` makes of a `Sample`, for drawing and
    nothing else.

    A unit (an atom) is the rows with the same prediction, or a single row if there are weights or
    groups. `prob` is nondecreasing; `start` has the first atom of each distinct prediction, None if
    all are distinct.
    """

    prob: Floats
    count: Ints  # rows
    events: Ints  # of them with the event
    unit: Floats | None  # the weight of one row; None for 1
    start: Ints | None
    group: Ints | None = None  # the number of the cluster, from 0 on
    single: NDArray[np.uint8] | None = None  # the outcomes, if every atom is one row

    @property
    def n(self) -> int:
        return int(self.count.sum())

    @property
    def distinct(self) -> Floats:
        """The distinct predictions."""
        return self.prob if self.start is None else self.prob[self.start]

    @property
    def weight(self) -> Floats:
        """The weight of the rows at each distinct prediction."""
        return self._pooled(self.count).astype(np.float64)

    @property
    def squares(self) -> Floats:
        """The sum of squared weights of the rows at each distinct prediction."""
        squares = self.count if self.unit is None else self.count * self.unit
        return self._pooled(squares).astype(np.float64)

    def observed(self) -> Draw:
        """The sample as it is."""
        return Draw(None, self._pooled(self.events))

    def observed_as_drawn(self) -> Draw:
        """The sample as one of the rows that `redraws` returns, summed by the same code."""
        if self.single is None:
            return Draw(None, self.observed().positive[np.newaxis])
        return Draw(None, self._pooled(self.single)[np.newaxis])

    def expected(self, chance: Floats) -> Draw:
        """The population with these predictions and event probabilities."""
        return Draw(None, self._pooled(self.count * chance))

    def redraw(self, rng: Rng, coin: Tosses) -> Draw:
        """Keep the predictions and redraw the outcomes."""
        return Draw(None, self.redraws(rng, coin, 1).positive[0])

    def redraws(self, rng: Rng, coin: Tosses, times: int) -> Draw:
        """Keep the predictions and redraw the outcomes several times."""
        return Draw(None, self._pooled(coin(rng, times)))

    def coin(self, chance: Floats) -> Tosses:
        """Prepare the probabilities for repeated calls of `redraw`."""
        if self.tossed:
            return coins(chance, None if self.single is not None else self.count)
        return _binomial_tosses(self.count, chance)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights other than 1."""
        return self.unit is not None

    @property
    def tossed(self) -> bool:
        """Whether outcomes are drawn row by row; otherwise as one binomial number for each atom."""
        return self.single is not None or self.n <= _MOST_TOSSES * len(self.prob)

    def repeat(self, rng: Rng) -> NDArray[Any]:
        """Draw as many predictions (or clusters) as there are, with replacement; return the count
        of each atom.
        """
        if self.group is not None:
            return repeats(rng.bit_generator.capsule, self.units)[self.group]
        if self.single is not None:
            return repeats(rng.bit_generator.capsule, len(self.single))
        return _multinomial(rng, self.count)

    def outcomes(self, rates: Sequence[Floats], correlation: float = 0.0) -> Outcomes:
        """Return a function that draws outcomes for repeated predictions in each of several
        populations.

        `rates` has the event probabilities of each. Close probabilities give close outcomes. Two
        rows of a cluster share one random number with the probability `correlation`.
        """
        chance_of_cell = np.array(rates if self.single is None else [])
        chance = whole(rates)
        lowest_and_highest = whole([reduce(np.minimum, rates), reduce(np.maximum, rates)])
        row_of_cluster = None
        if self.group is not None:
            row_of_cluster = np.empty(self.units, np.int64)
            row_of_cluster[self.group] = np.arange(len(self.prob))
        # two rows share the number if both take that of the cluster: a chance in units of 2^-32
        takes_shared = round(math.sqrt(correlation) * 2**32)

        def draw(rng: Rng, repeated: NDArray[Any]) -> list[Draw]:
            if self.single is None and int(repeated.sum()) > _MOST_TOSSES * len(repeated):
                events = binomials_along(rng.bit_generator.capsule, repeated, chance_of_cell)
                return [Draw(self._pooled(repeated), self._pooled(events))]
            clusters: tuple[Any, ...] = ()
            if row_of_cluster is not None:
                times = repeated[row_of_cluster]
                last = np.cumsum(times, dtype=np.int64)
                shared = rng.integers(2**32, size=last[-1], dtype=np.uint32)
                clusters = self.group, last - times, shared, takes_shared
            events, row, outcome = tosses(
                rng.bit_generator.capsule, repeated, chance, lowest_and_highest, *clusters
            )
            if self.unit is not None:
                positive = Draw(repeated, events, row, outcome).spread()
                return [Draw(self._pooled(repeated), self._pooled(positive))]
            if self.start is not None:
                row = np.searchsorted(self.start, row, "right") - 1
            return [Draw(self._pooled(repeated), self._pooled(events), row, outcome)]

        return draw

    def resample(self, rng: Rng) -> Draw:
        """Draw rows (or whole clusters) with replacement, as many as there are: the bootstrap."""
        if self.single is not None:
            return self.times(self.repeat(rng))
        slots = np.concatenate([self.count - self.events, self.events])
        negative, positive = np.split(_multinomial(rng, slots), 2)
        return self._kept(rng, negative, positive)

    @property
    def units(self) -> int:
        """The number of rows, or of clusters."""
        return self.n if self.group is None else int(self.group.max()) + 1

    def pooled(self, most: int) -> tuple[Resampler, Ints]:
        """Pool neighbours to at most so many predictions of equal weight; and the pool of each
        distinct prediction.
        """
        if len(self.distinct) <= most:
            return self, np.arange(len(self.distinct))
        weight = self.weight
        share = (np.cumsum(weight) - weight / 2) / weight.sum()
        pool = np.unique((share * most).astype(np.int64), return_inverse=True)[1].reshape(-1)
        return self.merged(pool), pool

    def merged(self, pool: Ints) -> Resampler:
        """Pool the predictions by the number of the pool of each distinct one, which never
        decreases.
        """
        weight = self.weight
        pool_of_atom = pool
        if self.start is not None:
            atoms = np.diff(np.append(self.start, len(self.prob)))  # of each prediction
            pool_of_atom = np.repeat(pool, atoms)
        count = np.bincount(pool_of_atom, self.count).astype(np.int64)
        events = np.bincount(pool_of_atom, self.events).astype(np.int64)
        weight_of_pool = np.bincount(pool, weight)
        prob = np.bincount(pool, weight * self.distinct) / weight_of_pool
        return Resampler(prob, count, events, _weight_of_row(weight_of_pool / count), None)

    def times(self, times: NDArray[Any]) -> Draw:
        """The sample with each atom repeated that often, if every atom is one row."""
        assert self.single is not None
        return Draw(self._pooled(times), self._pooled(times * self.single))

    def _kept(self, rng: Rng, negative: Ints, positive: Ints) -> Draw:  # noqa: ARG002
        return Draw(self._pooled(negative + positive), self._pooled(positive))

    def _pooled(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Weight the rows of each atom and sum those of equal predictions."""
        amount = rows if self.unit is None else rows * self.unit
        if self.start is None:
            return amount
        sums = run_sums(np.atleast_2d(amount), self.start)
        return sums if amount.ndim == 2 else sums[0]


class SlotSums(NamedTuple):
    """Sums over the rows of one outcome, in each cell."""

    weight: Floats
    squares: Floats  # of the weights


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _UnevenResampler(Resampler):
    """The units of a compressed sample whose rows differ in weight: only sums of weights and of
    squares are known.

    A cell of weight W with squares S is treated as ``W^2 / S`` rows of equal weight, a number that
    is rounded at random so that the weight of events has the variance ``S q (1 - q)``. In the
    bootstrap the weight of c rows of a slot is a gamma variable with the mean and the variance of c
    of its rows.
    """

    negative: SlotSums  # of the rows without the event
    positive: SlotSums  # of those with it

    @property
    def weight(self) -> Floats:
        return self.negative.weight + self.positive.weight

    @property
    def squares(self) -> Floats:
        return self.negative.squares + self.positive.squares

    @property
    def weighted(self) -> bool:
        return True

    @property
    def tossed(self) -> bool:
        return False

    def observed(self) -> Draw:
        return Draw(None, self.positive.weight)

    def expected(self, chance: Floats) -> Draw:
        return Draw(None, self.weight * chance)

    def coin(self, chance: Floats) -> Tosses:
        def toss(rng: Rng, times: int) -> NDArray[Any]:
            shares = [self._share(rng, self.count, chance) for _ in range(times)]
            return self.weight * np.stack(shares)

        return toss

    def outcomes(self, rates: Sequence[Floats], correlation: float = 0.0) -> Outcomes:  # noqa: ARG002
        def draw(rng: Rng, repeated: NDArray[Any]) -> list[Draw]:
            # each population from the same random numbers
            state = rng.bit_generator.state
            draws = []
            for rate in rates:
                rng.bit_generator.state = state
                draws.append(self._binomial(rng, repeated, rate))
            return draws

        return draw

    def _binomial(self, rng: Rng, repeated: NDArray[Any], rate: Floats) -> Draw:
        share = self._share(rng, repeated, rate)
        weight = _gamma(rng, repeated, self.count, self.weight, self.squares)
        return Draw(weight, (weight * share)[None])

    def _kept(self, rng: Rng, negative: Ints, positive: Ints) -> Draw:
        without = _gamma(rng, negative, self.count - self.events, *self.negative)
        events = _gamma(rng, positive, self.events, *self.positive)
        return Draw(without + events, events)

    def _share(self, rng: Rng, count: Ints, chance: Floats) -> Floats:
        """The share of events in the weight of `count` rows of each cell."""
        rows = np.maximum(1.0, self.weight**2 / self.squares * (count / self.count))
        low = np.floor(rows)
        # low or low + 1, so that E[1/n] = 1/rows
        n = low + (rng.random(len(rows)) >= low * (low + 1) / rows - low)
        return np.asarray(rng.binomial(n.astype(np.int64), chance) / n)


@dataclass(frozen=True, slots=True, eq=False)
class ResamplerByOutcome(Resampler):
    """The units of a sample with a base rate: rows weigh by outcome, and are drawn at the event
    rate that they have.

    Where the population has the event with probability q, these rows have it with odds that are
    larger by a factor: that of the odds of their event rate and of the base rate.
    """

    weight_without: float = 1.0  # of a row without the event
    weight_with: float = 1.0  # of a row with it

    @property
    def weight(self) -> Floats:
        return np.asarray(self.weighed(self.events).weight)

    def here(self, chance: Floats) -> Floats:
        """The probability of the event in these rows, given that in the population."""
        events = chance * self.weight_without
        return np.maximum.accumulate(events / (events + (1 - chance) * self.weight_with))

    def there(self, chance: Floats) -> Floats:
        """The probability of the event in the population, given that in these rows."""
        events = chance * self.weight_with
        return events / (events + (1 - chance) * self.weight_without)

    def weighed(self, events: NDArray[Any], rows: NDArray[Any] | None = None) -> Draw:
        """Weigh so many events among the rows of each unit."""
        positive: Floats = events * self.weight_with
        others = (self.count if rows is None else rows) - events
        return Draw(others * self.weight_without + positive, positive)

    def observed(self) -> Draw:
        return Draw(None, self.weighed(self.events).positive)

    def coin(self, chance: Floats) -> Tosses:
        return _binomial_tosses(self.count, self.here(chance))

    def redraw(self, rng: Rng, coin: Tosses) -> Draw:
        return self.weighed(coin(rng, 1)[0])

    def resample(self, rng: Rng) -> Draw:
        """Draw rows of each outcome with replacement, as many as there are."""
        negative = _multinomial(rng, self.count - self.events)
        positive = _multinomial(rng, self.events)
        return self.weighed(positive, negative + positive)


def by_outcome(sample: Sample) -> ResamplerByOutcome:
    """Return the units of a sample with a base rate."""
    drawn = as_resampler(sample.as_drawn())
    n = sample.n
    rate = sample.event_rate
    return ResamplerByOutcome(
        drawn.prob,
        drawn.count,
        drawn.events,
        None,
        None,
        weight_without=n * (1 - rate) / (n - sample.events),
        weight_with=n * rate / sample.events,
    )


def as_resampler(sample: Sample) -> Resampler:
    """Return the units of the resampling kernels: cells, distinct predictions, or single rows.

    Single rows are in the order of their predictions, without those of weight zero.
    """
    with_rate(sample, REFUSED)  # such rows are drawn by outcome: see `by_outcome`
    if sample.grid is not None:
        return _from_cells(sample.cells)
    if sample.sample_weight is None and sample.units.unit is None:
        return _from_distinct(sample)
    sample = with_groups_in_order(sample)
    weight = sample.sample_weight
    counted = np.arange(sample.n) if weight is None else np.flatnonzero(weight)
    prob = sample.y_prob[counted].astype(np.float64) + 0.0  # no -0
    # stable, so that draws do not depend on how NumPy sorts equal predictions
    order = np.argsort(prob, kind="stable")
    prob = prob[order]
    row = counted[order]
    event = sample.y_true[row] == 1
    start = np.flatnonzero(np.concatenate([[True], prob[1:] > prob[:-1]]))
    return Resampler(
        prob=prob,
        count=np.ones(len(row), np.int64),
        events=event.astype(np.int64),
        single=event.astype(np.uint8),
        unit=None if weight is None else weight[row].astype(np.float64),
        start=None if len(start) == len(prob) else start,
        group=None if sample.units.unit is None else drawn_together(sample, row),
    )


def _from_distinct(sample: Sample) -> Resampler:
    """One atom for each distinct prediction of independent rows without weights."""
    table = sample.distinct()
    events = table.positive.astype(np.int64)
    count = events + table.negative.astype(np.int64)
    # where all predictions differ, each atom is one row
    single = events.astype(np.uint8) if len(events) == sample.n else None
    return Resampler(table.prob, count, events, None, None, single=single)


def with_groups_in_order(sample: Sample) -> Sample:
    """Return the rows with weight in an order in which the draws of groups do not depend on what
    they are called.

    Rows without groups stay as they are; rows in order are not copied where they have no weights.
    """
    if sample.units.unit is None:
        return sample
    weight = sample.sample_weight
    if weight is None:
        return sample.in_order()
    return sample.without_segments().take(np.flatnonzero(weight)).in_order()


def drawn_together(sample: Sample, rows: Ints) -> Ints:
    """Return the numbers of the draws that these rows belong to, from 0 on; at least two."""
    assert sample.units.unit is not None
    unit = sample.units.unit[rows]
    is_drawn = np.bincount(unit) > 0
    draw: Ints = (np.cumsum(is_drawn) - 1)[unit]
    if draw.max() == 0 and sample.groups is not None:
        raise InputError("groups must have at least two different values; all rows have the same")
    return draw


def _from_cells(cells: CellTable) -> Resampler:
    """One atom for each occupied cell, at the mean of its predictions."""
    cell = cells.slot >> 1
    event = cells.slot & 1
    is_first = np.ones(len(cell), np.bool_)  # slots are in increasing order
    np.not_equal(cell[1:], cell[:-1], out=is_first[1:])
    start = np.flatnonzero(is_first)

    def summed(column: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(column, start)

    count = summed(cells.count)
    events = summed(cells.count * event)
    weight = summed(cells.weight[0])
    squares = summed(cells.squares)
    prob = mean_prediction(cells.m, cell[start], summed(cells.rise[0]), weight)
    squares_if_even = count * squares
    if (np.abs(weight**2 - squares_if_even) <= _ROUNDING * squares_if_even).all():
        return Resampler(prob, count, events, _weight_of_row(weight / count), None)

    def of_outcome(outcome: int) -> SlotSums:
        has_outcome = event == outcome
        return SlotSums(summed(cells.weight[0] * has_outcome), summed(cells.squares * has_outcome))

    return _UnevenResampler(
        prob, count, events, None, None, negative=of_outcome(0), positive=of_outcome(1)
    )


def _weight_of_row(weight: Floats) -> Floats | None:
    """The weight of a row of each atom; None if all are 1."""
    return None if (weight == 1.0).all() else weight


def _binomial_tosses(count: Ints, chance: Floats) -> Tosses:
    """Return a function that draws the events of each atom as one binomial number."""

    def toss(rng: Rng, times: int) -> NDArray[Any]:
        return binomials(rng.bit_generator.capsule, count, chance, times)

    return toss


def _gamma(rng: Rng, drawn: Ints, count: Ints, weight: Floats, squares: Floats) -> Floats:
    """Draw the weight of `drawn` rows from slots whose `count` rows have this weight and these
    squares in total.
    """
    rows = np.maximum(count, 1)
    mean = weight / rows
    variance = np.maximum(squares / rows - mean**2, 0.0)
    uneven = (drawn > 0) & (variance > _ROUNDING * mean**2)
    total: Floats = drawn * mean
    shape = total[uneven] * mean[uneven] / variance[uneven]
    total[uneven] = rng.standard_gamma(shape) * variance[uneven] / mean[uneven]
    return total


def _multinomial(rng: Rng, count: Ints) -> Ints:
    """Draw as many rows as there are, with replacement; return the count of each atom."""
    n = int(count.sum())
    if n > _MOST_TOSSES * len(count):
        return multinomial(rng.bit_generator.capsule, count)
    times = repeats(rng.bit_generator.capsule, n)
    drawn_before = np.concatenate([[0], np.cumsum(times, dtype=np.int64)])
    ends = np.cumsum(count)
    return np.asarray(drawn_before[ends] - drawn_before[ends - count])
