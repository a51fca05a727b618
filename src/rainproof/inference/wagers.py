"""Wagers: bets on the rows of a sample in random orders, each chosen on all rows before it.

Here is what every proven gain shares: which rows are one draw, how they are dealt, what a choice
may see, and what is bet. What is chosen is in the modules of each claim: `proven_losses`,
`proven_gains`, `switch_gains`; what the bets prove is in `lower_bounds`. The proof is in
docs/theory/bounds.md, "Lower bounds".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core import digests
from rainproof.core._switch import sum_cells
from rainproof.core.arrays import Floats, Ints, sums_by
from rainproof.core.sample import Sample
from rainproof.core.validation import ThresholdRange
from rainproof.errors import InputError
from rainproof.inference.lower_bounds import Wager, bets_on
from rainproof.inference.matched_draws import matched_draws
from rainproof.inference.options import Seed, as_seed

Cells = NDArray[np.int32]
Places = Ints | slice

PARTS = 12  # that the rows are dealt to
CHOOSING_PARTS = 2  # of these only choose, unless something is known beforehand
ORDERS = 8  # of the rows
_ROWS_IN_ALL_ORDERS = 300_000  # of more rows (or kinds of them) there are fewer orders, but two
_FINEST = 1 << 16  # all thresholds are multiples of 1 over this
_MULTIPLES = 1 << 10  # thresholds are at all multiples of 1 over this, and closer near 0 and 1
_MOST_STAKES = 1 << 10  # unequal stakes of a block that are not pooled
# Stakes by which rows of different weights are pooled: from 1 down to 2^-20, and 0.
_NODES_PER_DOUBLING = 4
_NODES = np.append(2.0 ** (-np.arange(80) / _NODES_PER_DOUBLING), 0.0)
_SAME_GAIN = 1e-11  # the difference of gains that are the same but for rounding
# Independent over the rationals, so that only draws that are alike have the same sum of multiples.
_MIX = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0])


class Gains(NamedTuple):
    """What a choice gains on some entries, by kind of entry (see `Wager`)."""

    kind: Ints  # of each entry
    gain: Floats  # over each alternative, shape (alternatives, kinds)
    scale: Floats  # the multiple of the bound that is subtracted, same shape
    threshold: float  # the event rate from which always acting is the better alternative


Rule = Callable[[Places], Gains]
"""A choice that was made before: what it gains on the entries at these places."""


class Block(NamedTuple):
    """The entries of one part of a deal."""

    places: Ints
    rows: Floats  # of each entry


class Tally(NamedTuple):
    """What a choice knows of the rows before a block."""

    sums: Floats  # see `Wagers.sums`
    total: float  # their weight


Choose = Callable[[Sequence[Tally]], Sequence[Sequence[Rule | None]]]
"""Chooses what is bet on in each of several blocks, by the rows before it alone; or nothing.

It returns, for each kind of choice, a rule for each block.
"""


class Betting(NamedTuple):
    """How much is bet on each draw, and what that asks of a choice."""

    bets: Floats  # shares of the stake
    price: float  # a proof costs a choice this over the bet, of its mean gain


@dataclass(frozen=True, slots=True, eq=False)
class Wagers:
    """Rows that are dealt, chosen from and bet on; an entry is one of them, or all that are alike.

    Attributes
    ----------
    sample : Sample
        Which rows are one draw, and how they are dealt.
    edges : ndarray of shape (m + 1,)
        The thresholds that decisions are chosen from.
    cells : tuple of ndarray
        The number of the last threshold up to each prediction, of one forecast or of an old and a
        new one.
    event : ndarray
        Whether the entries have the event.
    stake : ndarray
        The weight of each row over that of the largest possible draw.
    count : ndarray or None
        The number of rows in each entry, whose stakes are then all equal; None if each is a row.
    within : ThresholdRange or None
        The range that the thresholds of decisions lie in, if not all do; its ends are `edges`.
    """

    sample: Sample
    edges: Floats
    cells: tuple[Cells, ...]
    event: NDArray[np.bool_]
    stake: Floats
    count: Ints | None
    within: ThresholdRange | None

    @classmethod
    def of(
        cls,
        sample: Sample,
        rng: Seed,
        threshold_range: ThresholdRange | None = None,
    ) -> Wagers:
        """Put the rows in order, or pool those of one forecast, or of cells, that are alike.

        What is dealt then depends neither on how the rows came nor on whether one forecast was
        compressed. Rows with a base rate are matched at random, so that each draw has the mean of
        the population.
        """
        # of the sample as it came: rows that are matched have no grid, but their thresholds do
        edges, within = decision_thresholds(sample.grid, threshold_range)
        if sample.design.strata is not None:
            sample = matched_draws(sample, as_seed(rng, sample)[0].spawn(1)[0])
        if not sample.units.divisible:
            raise InputError(
                "unequal weights and groups need rows: a compressed sample cannot be split row by "
                "row"
            )
        sample = _of_positive_weight(sample)
        if not _is_of_equal_draws(sample):
            sample = sample.in_order()
            cells = reached_by(sample, edges)
            stake = sample.units.stakes()
            return cls(sample, edges, cells, sample.event, stake, count=None, within=within)
        cells, event, count = _pooled_rows(reached_by(sample, edges), sample, len(edges))
        # draws that weigh the same have the largest weight, unless a larger one is stated
        stake = np.ones(len(event))
        if sample.design.max_weight is not None and sample.n:
            stake = np.full(len(event), sample.total_weight / sample.n / sample.design.max_weight)
        return cls(sample, edges, cells, event, stake, count, within)

    @property
    def digest(self) -> int:
        """One number for what is dealt (see `rainproof.core.digests`): the same for rows as for
        cells of them.
        """
        if self.count is None:
            return self.sample.digest
        return digests.of_all(digests.of_rows(self.event, self.cells), self.count)

    @property
    def mass(self) -> Floats:
        """What each entry counts where rows choose: its number of rows, or as many rows of equal
        weight.

        Where a largest weight is stated, weights may depend on the rows, so no choice may use the
        weights of those to come: they count as they are.
        """
        if self.count is not None:
            return self.count.astype(np.float64)
        if self.sample.design.max_weight is not None:
            return self.sample.mass
        if not len(self.stake):
            return self.stake
        return self.stake * float(self.stake.sum() / (self.stake**2).sum())

    def betting(self, delta: float) -> Betting:
        """Return the bets on these rows, and what a proof costs a choice."""
        draws = self.sample.n_draws
        size: float = draws
        if not self.sample.n:
            size = 1.0  # nothing is bet on
        elif self.sample.design.max_weight is None:
            size = min(self.sample.effective_n, draws)
        return Betting(bets_on(draws, delta), math.log(1 / delta) / size)

    def tally(self) -> Tally:
        """Return what a choice would know of all rows."""
        mass = self.mass
        return Tally(self.sums(slice(None), mass), float(mass.sum()))

    def sums(self, places: Places, mass: Floats) -> Floats:
        """What a choice needs of some entries: their mass by cell and outcome; of two forecasts,
        where they differ.
        """
        event = self.event[places]
        if len(self.cells) == 1:
            slot = 2 * self.cells[0][places] + event
            return sums_by(slot, mass, 2 * len(self.edges))
        old, new = self.cells
        last = len(self.edges) - 1
        return sum_cells(old[places], new[places], event.view(np.uint8), mass, last)

    def chains(
        self,
        choose: Choose,
        delta: float,
        rng: Seed,
        known: Tally | None = None,
        *,
        rules: int = 1,
        orders: int = ORDERS,
    ) -> list[list[list[Wager]]]:
        """Bet on the rows in several random orders, block after block, by rules chosen on all rows
        before the block.

        The chains of each of so many kinds of `rules` are returned, one for each order. Unless
        something is `known` beforehand, the first sixth of the rows only chooses.
        """
        chains: list[list[list[Wager]]] = [[] for _ in range(rules)]
        if self.sample.n_draws * math.log(1.5) <= -math.log(delta):
            return chains  # no bet of at most 1/2 can win enough
        # Not `rng` itself: rows simulated with the same seed would decide their own order.
        stream = as_seed(rng, self)[0].spawn(1)[0]
        for _ in range(min(orders, max(2, _ROWS_IN_ALL_ORDERS // max(len(self.event), 1)))):
            blocks, before = self._blocks(stream, known)
            # of all blocks at once, as maps are fitted faster together
            chosen = choose(before) if blocks else [[]] * rules
            for chains_of_rule, rules_of_blocks in zip(chains, chosen, strict=True):
                chain = []
                for block, rule in zip(blocks, rules_of_blocks, strict=True):
                    if rule is not None:
                        chain.append(self.wager(block.places, block.rows, rule))
                chains_of_rule.append(chain)
        return chains

    def _blocks(
        self, rng: np.random.Generator, known: Tally | None
    ) -> tuple[list[Block], list[Tally]]:
        """Deal the rows once: the blocks to bet on, and what is known before each."""
        choosing = CHOOSING_PARTS if known is None else 0
        parts = PARTS - CHOOSING_PARTS + choosing
        sums, total = Tally(np.zeros(()), 0.0) if known is None else known
        mass = self.mass
        blocks = []
        before = []
        for number, block in enumerate(self._dealt(parts, rng)):
            if not len(block.places):
                continue
            if total > 0 and number >= choosing:
                blocks.append(block)
                before.append(Tally(sums, total))
            added = mass[block.places] if self.count is None else block.rows
            sums = sums + self.sums(block.places, added)
            total += float(added.sum())
        return blocks, before

    def _dealt(self, parts: int, rng: np.random.Generator) -> Iterator[Block]:
        """Deal whole draws at random to parts of equal size."""
        if self.count is not None:
            for count in rng.multinomial(self.count, [1 / parts] * parts).T:
                places = np.flatnonzero(count)
                yield Block(places, count[places].astype(np.float64))
            return
        part = self.sample.deal(folds=parts, rng=rng).part
        assert part is not None  # only cells that are alike are dealt by counts
        order = np.argsort(part.astype(np.int8), kind="stable")  # of small numbers: by radix
        for places in np.split(order, np.cumsum(np.bincount(part))[:-1]):
            yield Block(places, np.ones(len(places)))

    def wager(self, places: Ints, count: Floats, rule: Rule) -> Wager:
        """Bet on some of the rows."""
        gains = rule(places)
        stake = self.stake[places]
        unit = self.sample.units.unit
        if unit is not None:
            return _wager_on_units(unit[places], stake, gains)
        # alike but for their kind, of which there are few
        if (stake == stake[0]).all():
            return _wager_on_kinds(float(stake[0]), count, gains)
        if len(stake) <= _MOST_STAKES:
            gain = gains.gain[:, gains.kind]
            return Wager(stake, count, gain, gains.scale[:, gains.kind], gains.threshold)
        return _wager_on_nodes(stake, count, gains)


@cache
def decision_thresholds(
    grid: int | None, within: ThresholdRange | None = None
) -> tuple[Floats, ThresholdRange | None]:
    """The thresholds that decisions are chosen from, which are multiples of ``1/grid``, and the
    range of them.

    They are the multiples of 1/1024, more near 0 and near 1, where rare events have theirs, and the
    ends of the range; with a grid, the next multiples outside of it.
    """
    finest = min(grid or _FINEST, _FINEST)
    if within is not None and grid is not None:
        low = math.floor(within.low * grid) / grid
        high = math.ceil(within.high * grid) / grid
        within = ThresholdRange(low, high)
    # Of the multiples of 1/_FINEST, 32 in each factor of 2.
    octaves = [np.arange(1 << j, 2 << j, max(1, 1 << j >> 5)) for j in range(11)]
    near_zero = np.concatenate(octaves)
    multiples = np.arange(0, _FINEST + 1, _FINEST // _MULTIPLES)
    edges = np.concatenate([near_zero, _FINEST - near_zero, multiples])
    edges = edges[edges % (_FINEST // finest) == 0] / _FINEST
    return np.unique(np.append(edges, within or ())), within


@cache
def slots(size: int) -> tuple[Cells, NDArray[np.bool_]]:
    """The cell and the outcome of each slot: each cell has one without and one with the event."""
    return np.repeat(np.arange(size, dtype=np.int32), 2), np.tile([False, True], size)


def reached_by(sample: Sample, edges: Floats) -> tuple[Cells, ...]:
    """Return the number of the last threshold up to each prediction, of each forecast."""
    if sample.grid is not None:
        predictions = sample.lower_edges()
    elif sample.forecasts:
        predictions = [sample.predictions(name) for name in sample.forecasts]
    else:
        predictions = [sample.prob]
    numbers = [np.searchsorted(edges, prob, "right") - 1 for prob in predictions]
    return tuple(number.astype(np.int32) for number in numbers)


def _of_positive_weight(sample: Sample) -> Sample:
    """The rows with a weight, as others are no draws; cells hold no others."""
    weight = sample.sample_weight
    if sample.counts is not None or weight is None or (weight > 0).all():
        return sample
    return sample.without_segments().take(weight > 0)


def _is_of_equal_draws(sample: Sample) -> bool:
    """Whether every row is a draw, and all weigh the same: then those that are alike are pooled."""
    if sample.units.unit is not None:
        return False
    if sample.counts is not None or sample.sample_weight is None:
        return True
    return bool(np.ptp(sample.mass) == 0)


def _pooled_rows(
    cells: tuple[Cells, ...], sample: Sample, size: int
) -> tuple[tuple[Cells, ...], NDArray[np.bool_], Ints | None]:
    """The cells and outcomes that rows have, and how many rows have each; rows of two forecasts,
    which are rarely alike, are in the order of theirs, and not pooled.
    """
    counts = sample.counts
    if len(cells) == 1:
        pooled = np.bincount(2 * cells[0] + sample.event, counts, 2 * size)
        slot_cells, slot_events = slots(size)
        return (slot_cells,), slot_events, pooled.astype(np.int64)
    old, new = cells
    code = (old.astype(np.int64) * size + new) * 2 + sample.event
    if counts is None:
        code.sort()  # so that what is dealt does not depend on the order of the rows
    else:
        code, place = np.unique(code, return_inverse=True)
        counts = np.bincount(place, counts).astype(np.int64)
    pair = np.divmod(code >> 1, size)
    return tuple(part.astype(np.int32) for part in pair), code & 1 == 1, counts


def _wager_on_kinds(stake: float, count: Floats, gains: Gains) -> Wager:
    """Bet on rows of equal stakes: those of a kind are alike."""
    number = sums_by(gains.kind, count)
    kinds = slice(len(number))
    stakes = np.full(len(number), stake)
    return Wager(stakes, number, gains.gain[:, kinds], gains.scale[:, kinds], gains.threshold)


def _wager_on_nodes(stake: Floats, count: Floats, gains: Gains) -> Wager:
    """Bet on many rows of different stakes: those of a kind are pooled by stake.

    A stake between two nodes counts as the one or the other, in parts. That proves a little less,
    as logarithms are concave.
    """
    kinds = gains.gain.shape[1]
    node_above = np.floor(-_NODES_PER_DOUBLING * np.log2(stake))
    upper = np.minimum(node_above, len(_NODES) - 2).astype(np.int64)
    share = (stake - _NODES[upper + 1]) / (_NODES[upper] - _NODES[upper + 1])
    share_of_upper = np.minimum(share, 1.0)
    pooled = np.stack([gains.kind + kinds * upper, gains.kind + kinds * (upper + 1)])
    parts = count * np.stack([share_of_upper, 1 - share_of_upper])
    number = sums_by(np.ravel(pooled), np.ravel(parts))
    node, kind = np.divmod(np.arange(len(number)), kinds)
    gain = gains.gain[:, kind]
    return Wager(_NODES[node], number, gain, gains.scale[:, kind], gains.threshold)


def _wager_on_units(unit: Ints, stake: Floats, gains: Gains) -> Wager:
    """Bet on units of several rows, each with its mean gain and the weight of the whole unit.

    The plain mean over units would be about another population, in which small ones count as much.
    """
    total = sums_by(unit, stake)
    counted = total > 0
    columns: list[Floats] = [total[counted]]
    for row in (*gains.gain, *gains.scale):
        gain_of_unit = np.bincount(unit, stake * row[gains.kind])
        columns.append(gain_of_unit[counted] / total[counted])
    return pooled_wager(np.array(columns), gains.threshold)


def pooled_wager(draws: Floats, threshold: float) -> Wager:
    """Bet on draws, columns of a stake, gains and what they are multiplied by; draws that are alike
    are one entry.
    """
    # one number for each draw: rounding joins those that differ by rounding alone
    mix = np.round(_MIX[: len(draws)] @ draws, 12)
    _, first, kind = np.unique(mix, return_index=True, return_inverse=True)
    difference = np.abs(draws - draws[:, first[kind]]).max(initial=0.0)
    if difference > _SAME_GAIN:  # two kinds have the same mix
        kind = np.arange(draws.shape[1])
        first = kind
    count = np.bincount(kind).astype(np.float64)
    gain, scale = np.split(draws[1:, first], 2)
    return Wager(draws[0, first], count, gain, scale, threshold)
