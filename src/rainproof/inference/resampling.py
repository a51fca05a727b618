"""Resampling: draws in blocks, and the units that are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Ints, run_in_threads
from rainproof.core.cells import CellTable, mean_prediction
from rainproof.core.sample import REFUSED, Sample, with_rate
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


def each_time(one: Drawing) -> Callable[[Rng, int], list[Sequence[float] | Floats]]:
    """Return the function that calls this one as often as there are draws, for `draw_batches`."""
    return lambda stream, times: [one(stream) for _ in range(times)]


def draw_batches(
    some: Callable[[Rng, int], Sequence[Sequence[float] | Floats] | Floats],
    size: int,
    rng: Rng | list[Rng],
    progress: Progress | None = None,
    *,
    width: int = 1,
    threads: int = 1,
    at_once: int = BLOCK,
) -> Floats:
    """Call `some` for up to `at_once` draws at a time until there are `size`; each block has its
    own random numbers.

    `rng` can be the streams of the blocks (`spawned`). The result does not depend on the number of
    threads: every block has its stream before any of them is drawn. Nor does it depend on `at_once`
    if `some` takes random numbers draw by draw.
    """
    found = np.empty((size, width))
    starts = range(0, size, BLOCK)
    streams, done = rng if isinstance(rng, list) else spawned(rng, size), [0] * len(starts)
    threads = min(threads, len(starts))
    failed = False

    def work(part: int) -> bool:
        nonlocal failed
        try:
            for k in range(part, len(starts), threads):
                if failed:  # an error or Ctrl-C in another thread: the rest is not needed any more
                    break
                rows = found[starts[k] : starts[k] + BLOCK]
                for at in range(0, len(rows), at_once):
                    batch = rows[at : at + at_once]
                    batch[:] = some(streams[k], len(batch))
                done[k] = len(rows)
                if progress is not None and part == 0 and sum(done) < size:
                    progress(sum(done), size)
        except BaseException:
            failed = True
            raise
        return True

    run_in_threads(work, threads)
    if progress is not None:
        progress(size, size)
    return found


def quantile(sorted_draws: Floats, share: float) -> float:
    """Return the smallest draw that at least this share of the draws does not exceed."""
    at = int(np.ceil(share * len(sorted_draws))) - 1
    return float(sorted_draws[min(max(at, 0), len(sorted_draws) - 1)])


# repetitions up to which rows are drawn one by one; more are drawn as one binomial number
_EXPANDED = 8


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
        every = [np.bincount(self.row, one, len(self.positive)) for one in self.outcome.T]
        return np.asarray(self.positive + np.stack(every))


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
    owner = None if times is None else np.repeat(np.arange(len(chance), dtype=np.int32), times)
    scaled = (chance if owner is None else chance[owner]) * 65536.0
    first = np.minimum(scaled, 65535.0).astype(np.uint16)
    rest = scaled - first

    def toss(rng: Rng, rows: int) -> NDArray[Any]:
        heads = compared(rng.bit_generator.capsule, first, rest, rows)
        return heads if owner is None else added_up(heads, owner, len(chance))

    return toss


def whole(rates: Sequence[Floats]) -> NDArray[np.uint32]:
    """Return probabilities in units of 2^-31, one column each."""
    return np.stack([np.rint(rate * 2.0**31).astype(np.uint32) for rate in rates], axis=1)


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
        return self._pooled(self.count if self.unit is None else self.count * self.unit).astype(
            np.float64
        )

    def observed(self) -> Draw:
        """The sample as it is."""
        return Draw(None, self._pooled(self.events))

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
        return lambda rng, times: binomials(rng.bit_generator.capsule, self.count, chance, times)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights other than 1."""
        return self.unit is not None

    @property
    def tossed(self) -> bool:
        """Whether outcomes are drawn row by row; otherwise as one binomial number for each atom."""
        return self.single is not None or self.n <= _EXPANDED * len(self.prob)

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
        chance = np.array(rates if self.single is None else [])  # of cells
        bar, ends = whole(rates), whole([reduce(np.minimum, rates), reduce(np.maximum, rates)])
        # a row of each cluster
        member = None if self.group is None else np.empty(self.units, np.int64)
        if member is not None:
            member[self.group] = np.arange(len(self.prob))
        alike = round(math.sqrt(correlation) * 2**32)

        def draw(rng: Rng, repeated: NDArray[Any]) -> list[Draw]:
            if self.single is None and int(repeated.sum()) > _EXPANDED * len(repeated):
                events = binomials_along(rng.bit_generator.capsule, repeated, chance)
                return [Draw(self._pooled(repeated), self._pooled(events))]
            clusters: tuple[Any, ...] = ()
            if member is not None:
                last = np.cumsum(repeated[member], dtype=np.int64)
                shared = rng.integers(2**32, size=last[-1], dtype=np.uint32)
                clusters = self.group, last - repeated[member], shared, alike
            events, row, outcome = tosses(rng.bit_generator.capsule, repeated, bar, ends, *clusters)
            if self.unit is not None:
                every = Draw(repeated, events, row, outcome).spread()
                return [Draw(self._pooled(repeated), self._pooled(every))]
            if self.start is not None:
                row = np.searchsorted(self.start, row, "right") - 1
            return [Draw(self._pooled(repeated), self._pooled(events), row, outcome)]

        return draw

    def resample(self, rng: Rng) -> Draw:
        """Draw rows (or whole clusters) with replacement, as many as there are: the bootstrap."""
        if self.single is not None:
            return self.times(self.repeat(rng))
        slots = np.concatenate([self.count - self.events, self.events])
        return self._kept(rng, *np.split(_multinomial(rng, slots), 2))

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
        of_row = (
            pool
            if self.start is None
            else np.repeat(pool, np.diff(np.append(self.start, len(self.prob))))
        )
        count, events = (
            np.bincount(of_row, rows).astype(np.int64) for rows in (self.count, self.events)
        )
        held = np.bincount(pool, weight)
        prob = np.bincount(pool, weight * self.distinct) / held
        unit = held / count
        return Resampler(prob, count, events, None if (unit == 1.0).all() else unit, None)

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
        sums = run_sums(amount if amount.ndim == 2 else amount[None], self.start)
        return sums if amount.ndim == 2 else sums[0]


@dataclass(frozen=True, slots=True, eq=False)
class _UnevenResampler(Resampler):
    """The units of a compressed sample whose rows differ in weight: only sums of weights and of
    squares are known.

    A cell of weight W with squares S is treated as ``W^2 / S`` rows of equal weight, a number that
    is rounded at random so that the weight of events has the variance ``S q (1 - q)``. In the
    bootstrap the weight of c rows of a slot is a gamma variable with the mean and the variance of c
    of its rows.
    """

    # of the rows without event: weight, squares
    negative: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))
    positive: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))

    @property
    def weight(self) -> Floats:
        return self.negative[0] + self.positive[0]

    @property
    def squares(self) -> Floats:
        return self.negative[1] + self.positive[1]

    @property
    def weighted(self) -> bool:
        return True

    @property
    def tossed(self) -> bool:
        return False

    def observed(self) -> Draw:
        return Draw(None, self.positive[0])

    def expected(self, chance: Floats) -> Draw:
        return Draw(None, self.weight * chance)

    def coin(self, chance: Floats) -> Tosses:
        return lambda rng, times: np.stack(
            [self.weight * self._share(rng, self.count, chance) for _ in range(times)]
        )

    def outcomes(self, rates: Sequence[Floats], correlation: float = 0.0) -> Outcomes:  # noqa: ARG002
        return lambda rng, repeated: _alike(
            rng, rates, lambda rate: self._binomial(rng, repeated, rate)
        )

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
        # low or low + 1, so that E[1/k] = 1/rows
        k = low + (rng.random(len(rows)) >= low * (low + 1) / rows - low)
        return np.asarray(rng.binomial(k.astype(np.int64), chance) / k)


@dataclass(frozen=True, slots=True, eq=False)
class ResamplerByOutcome(Resampler):
    """The units of a sample with a base rate: rows weigh by outcome, and are drawn at the event
    rate that they have.

    Where the population has the event with probability q, these rows have it with odds that are
    larger by a factor: that of the odds of their event rate and of the base rate.
    """

    each: tuple[float, float] = (1.0, 1.0)  # the weight of a row without the event and with it

    @property
    def weight(self) -> Floats:
        return np.asarray(self.weighed(self.events).weight)

    def here(self, chance: Floats) -> Floats:
        """The probability of the event in these rows, given that in the population."""
        without, with_event = self.each
        return np.maximum.accumulate(
            chance * without / (chance * without + (1 - chance) * with_event)
        )

    def there(self, chance: Floats) -> Floats:
        """The probability of the event in the population, given that in these rows."""
        without, with_event = self.each
        return chance * with_event / (chance * with_event + (1 - chance) * without)

    def weighed(self, events: NDArray[Any], rows: NDArray[Any] | None = None) -> Draw:
        """Weigh so many events among the rows of each unit."""
        positive: Floats = events * self.each[1]
        return Draw(
            ((self.count if rows is None else rows) - events) * self.each[0] + positive, positive
        )

    def observed(self) -> Draw:
        return Draw(None, self.weighed(self.events).positive)

    def coin(self, chance: Floats) -> Tosses:
        here = self.here(chance)
        return lambda rng, times: binomials(rng.bit_generator.capsule, self.count, here, times)

    def redraw(self, rng: Rng, coin: Tosses) -> Draw:
        return self.weighed(coin(rng, 1)[0])

    def resample(self, rng: Rng) -> Draw:
        """Draw rows of each outcome with replacement, as many as there are."""
        negative, positive = (
            _multinomial(rng, rows) for rows in (self.count - self.events, self.events)
        )
        return self.weighed(positive, negative + positive)


def by_outcome(sample: Sample) -> ResamplerByOutcome:
    """Return the units of a sample with a base rate."""
    atoms, n, rate, events = (
        as_resampler(sample._as_drawn()),
        sample.n,
        sample.event_rate,
        sample._events,
    )
    each = n * (1 - rate) / (n - events), n * rate / events
    return ResamplerByOutcome(atoms.prob, atoms.count, atoms.events, None, None, each=each)


def as_resampler(sample: Sample) -> Resampler:
    """Return the units of the resampling kernels: cells, distinct predictions, or single rows.

    Single rows are in the order of their predictions, without those of weight zero.
    """
    with_rate(sample, REFUSED)
    if sample.grid is not None:
        return _from_cells(sample._cells)
    if sample.sample_weight is None and sample._group is None:
        table = sample.distinct()
        events = table.positive.astype(np.int64)
        single = events.astype(np.uint8) if len(events) == sample.n else None
        return Resampler(
            table.prob, events + table.negative.astype(np.int64), events, None, None, single=single
        )
    sample = with_groups_in_order(sample)
    weight = sample.sample_weight
    some = np.arange(sample.n) if weight is None else np.flatnonzero(weight)
    prob = sample.y_prob[some].astype(np.float64) + 0.0
    order = np.argsort(prob, kind="stable")
    prob, some = prob[order], some[order]
    event = sample.y_true[some] == 1
    start = np.flatnonzero(np.concatenate([[True], prob[1:] > prob[:-1]]))
    return Resampler(
        prob=prob,
        count=np.ones(len(some), np.int64),
        events=event.astype(np.int64),
        single=event.astype(np.uint8),
        unit=None if weight is None else weight[some].astype(np.float64),
        start=None if len(start) == len(prob) else start,
        group=None if sample._group is None else drawn_together(sample, some),
    )


def with_groups_in_order(sample: Sample) -> Sample:
    """Return the rows with weight in an order in which the draws of groups do not depend on what
    they are called.

    Rows without groups stay as they are; rows in order are not copied where they have no weights.
    """
    if sample._group is None:
        return sample
    weight = sample.sample_weight
    return (sample if weight is None else sample._at(np.flatnonzero(weight))).in_order()


def drawn_together(sample: Sample, rows: Ints) -> Ints:
    """Return the numbers of the draws that these rows belong to, from 0 on; at least two."""
    assert sample._group is not None
    number = sample._group[rows]
    found: Ints = (np.cumsum(np.bincount(number) > 0) - 1)[number]
    if found.max() == 0 and sample.groups is not None:
        raise InputError("groups must have at least two different values; all rows have the same")
    return found


def _from_cells(cells: CellTable) -> Resampler:
    """One atom for each occupied cell, at the mean of its predictions."""
    cell, event = cells.slot >> 1, cells.slot & 1
    new = np.ones(len(cell), np.bool_)  # slots are in increasing order
    np.not_equal(cell[1:], cell[:-1], out=new[1:])
    start = np.flatnonzero(new)
    columns = (cells.count, cells.count * event, cells.weight[0], cells.rise[0], cells.squares)
    rows, events, weight, rise, squares = (np.add.reduceat(column, start) for column in columns)
    known = mean_prediction(cells.m, cell[start], rise, weight), rows, events
    unit, even = weight / rows, rows * squares
    if (np.abs(weight**2 - even) <= 1e-12 * even).all():
        return Resampler(*known, None if (unit == 1.0).all() else unit, None)
    sums = [
        [np.add.reduceat(x * (event == y), start) for x in (cells.weight[0], cells.squares)]
        for y in (0, 1)
    ]
    return _UnevenResampler(
        *known, None, None, negative=(sums[0][0], sums[0][1]), positive=(sums[1][0], sums[1][1])
    )


def _alike(rng: Rng, rates: Sequence[Floats], draw: Callable[[Floats], Draw]) -> list[Draw]:
    """Draw for each of several populations from the same random numbers."""
    state, found = rng.bit_generator.state, list[Draw]()
    for rate in rates:
        rng.bit_generator.state = state
        found.append(draw(rate))
    return found


def _gamma(rng: Rng, drawn: Ints, count: Ints, weight: Floats, squares: Floats) -> Floats:
    """Draw the weight of `drawn` rows from slots whose `count` rows have this weight and these
    squares in total.
    """
    some = np.maximum(count, 1)
    mean = weight / some
    variance = np.maximum(squares / some - mean**2, 0.0)
    uneven = (drawn > 0) & (variance > 1e-12 * mean**2)
    total: Floats = drawn * mean
    shape = total[uneven] * mean[uneven] / variance[uneven]
    total[uneven] = rng.standard_gamma(shape) * variance[uneven] / mean[uneven]
    return total


def _multinomial(rng: Rng, count: Ints) -> Ints:
    """Draw as many rows as there are, with replacement; return the count of each atom."""
    n = int(count.sum())
    if n > _EXPANDED * len(count):
        return multinomial(rng.bit_generator.capsule, count)
    rows = repeats(rng.bit_generator.capsule, n)
    before = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])
    ends = np.cumsum(count)
    return np.asarray(before[ends] - before[ends - count])
