"""Units: what inference takes of a sample, whatever its design; and how units are dealt to parts.

A unit is what was drawn independently of all others: a case, or a cluster of cases. Nothing here
depends on predictions, so all forecasts of the same cases share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rainproof.core import digests
from rainproof.core.arrays import Array, Bools, Floats, Ints, sums_by
from rainproof.core.design import Design, Store
from rainproof.core.rows import Rows
from rainproof.core.tables import Tables

_EQUAL = 1e-12  # relative difference of weights that only rounding made


class Units:
    """The independent units of a sample: how many, how heavy, with which outcomes.

    Attributes
    ----------
    design : Design
        How the cases came into the sample.
    cases : int
        The number of cases (of positive weight).
    total_weight : float
        The sum of their weights.
    """

    def __init__(self, store: Store, design: Design, tables: Tables) -> None:
        self._store = store
        self._tables = tables
        self.design = design
        self.cases = tables.n
        self.total_weight = tables.total_weight

    def of_same_cases(self, store: Store, design: Design) -> Units:
        """Return the units of the same cases with other columns, whose sums are the same."""
        return Units(store, design, self._tables)

    @cached_property
    def entries(self) -> Rows:
        """The rows; of compressed ones an entry for each cell and outcome."""
        return self._store.entries()

    @property
    def is_compressed(self) -> bool:
        """Whether cases are known by the sums of cells alone."""
        return self._store.grid is not None

    @property
    def unit(self) -> Ints | None:
        """The number of the unit of each entry; None where each entry is a unit, or several."""
        return self.entries.unit

    @cached_property
    def event(self) -> Bools:
        """Whether each entry has the event."""
        event: Bools = np.equal(self.entries.outcome, 1)
        return event

    @property
    def mass(self) -> Floats:
        """The weight of each entry; 1 without weights."""
        weight = self.entries.weight
        if weight is None:
            return np.ones(len(self.entries.outcome))
        return np.asarray(weight, np.float64)

    @property
    def counts(self) -> Ints | None:
        """How many cases each entry stands for; None where an entry is a case, or a part of one."""
        return None if self.design.shares else self.entries.cases

    @cached_property
    def events(self) -> int:
        """The number of cases with the event; a case that is divided has a part with it."""
        # entries of cells as rows (`at_cell_means`): a pass would count entries, not cases
        if not self.is_compressed and self.counts is not None:
            return int(self.counts[self.event].sum())
        return self._tables.cells.count_events()[1]

    @cached_property
    def event_rate(self) -> float:
        """The weighted share of cases with the event; the base rate, if one is stated."""
        if self.design.strata is not None:
            return self.design.strata.rate
        # exactly 0 or 1, which a quotient of sums of weights can miss by rounding
        if not self.design.shares and self.events in (0, self.cases):
            return self.events / self.cases
        cells = self._tables.cells
        return float(cells.weight[0][cells.event].sum()) / self.total_weight

    @cached_property
    def weight(self) -> Floats:
        """The weight of each unit, by its number."""
        if self.unit is None:
            return self.mass
        return sums_by(self.unit, self.entries.weight)

    @cached_property
    def n(self) -> int:
        """The number of units with some weight."""
        return self.cases if self.unit is None else int(np.count_nonzero(self.weight))

    @cached_property
    def effective_n(self) -> float:
        """The number of units of equal weight that are as many: ``(sum w)^2 / sum w^2``."""
        strata = self.design.strata
        if strata is not None:
            # the cases of an outcome weigh alike, and their weights add up to its share
            rate = strata.rate
            others = self.cases - self.events
            return 1 / ((1 - rate) ** 2 / others + rate**2 / self.events)
        if self.unit is not None:
            # clusters, or cases in two parts: squares of whole units, which no cell has
            share = self.weight / self.total_weight
            return 1 / float((share * share).sum())  # a dot product would start threads
        if not self.is_compressed and (self.entries.weight is None or self.counts is not None):
            # cases that weigh alike: exactly their number, which squares can miss by rounding
            return float(self.cases)
        # weighted rows and compressed cases: each case is a unit, and its square was added up
        return self.total_weight**2 / float(self._tables.cells.squares.sum())

    @cached_property
    def share(self) -> Floats:
        """The weight of each entry, as a share of all."""
        return self.mass / self.total_weight

    @property
    def weigh_alike(self) -> bool:
        """Whether each case is a unit, and those with one outcome weigh the same.

        Compression keeps no weights of single cases: they count as `effective_n` equal ones.
        """
        return self.unit is None and (self.counts is not None or not self.has_weights)

    @cached_property
    def single(self) -> Floats:
        """The share of one case of each entry, which may stand for many."""
        return self.single_of(self.event) if self.weigh_alike else self.share

    def single_of(self, event: Bools) -> Floats:
        """The share of one case with each of these outcomes, where cases weigh alike."""
        if self.design.strata is None:
            return np.full(len(event), 1 / self.effective_n)
        rate = self.design.strata.rate
        return np.where(event, rate / self.events, (1 - rate) / (self.cases - self.events))

    def pooled(self, rows: Rows, single: Floats) -> Units:
        """Return the same units, of one case each, in fewer entries.

        The weight of each of these rows is its share of all, and `single` the share of one of its
        cases.
        """
        pooled = Units(rows, self.design, self._tables)
        pooled.total_weight = 1.0
        pooled.effective_n = self.effective_n
        pooled.single = single
        return pooled

    @property
    def clustered(self) -> bool:
        """Whether clusters that were named have several cases with weight."""
        return self.design.clustered and self.n < self.cases

    @property
    def one_outcome(self) -> bool:
        """Whether all outcomes are the same. The event rate does not tell: it may be 1 up to
        rounding.
        """
        event = self.event[self.share > 0]
        return bool(event.all() or not event.any())

    @cached_property
    def unit_share(self) -> Floats:
        """The share of each unit, by their numbers."""
        return self.sums(self.share)

    @cached_property
    def event_share(self) -> Floats:
        """The share of the events of each unit."""
        return self.sums(self.share * self.event)

    @cached_property
    def powers(self) -> tuple[float, float]:
        """The sums of squares and of third powers of the shares of all units."""
        share = self.unit_share
        single = self.single if self.unit is None else share
        return float(share @ single), float((share * single) @ single)

    def effective(self, *, outcome: bool) -> float:
        """How many units of equal weight with this outcome are as many as those here."""
        counted = (self.event == outcome) & (self.share > 0)
        share = self.share[counted]
        if not len(share):
            return 0.0
        total = share.sum()
        share = share / total
        if self.unit is None:
            return 1 / float(share @ (self.single[counted] / total))
        by_unit = np.bincount(self.unit[counted], share)
        return 1 / float(by_unit @ by_unit)

    @cached_property
    def rarer(self) -> float:
        """How many units of equal weight have the rarer outcome."""
        return min(self.effective(outcome=False), self.effective(outcome=True))

    def sums(self, column: Floats) -> Floats:
        """Add up a column of the entries over units, by their numbers."""
        if self.unit is None:
            return column
        return sums_by(self.unit, column)

    @property
    def largest_weight(self) -> float:
        """The largest weight of a unit; of compressed cases, the largest that their sums prove."""
        if self.is_compressed:
            # the mean weight of its weight: the largest weight in a cell is at least that
            cells = self._tables.cells
            return float((cells.squares / cells.weight[0]).max())
        return float(self.weight.max())

    def stakes(self) -> Floats:
        """The weight of each entry over the largest that a unit can have: the stated one, else the
        largest here.
        """
        return self.mass / (self.design.max_weight or self.largest_weight)

    @property
    def has_weights(self) -> bool:
        """Whether cases have weights of their own, and not only by their number or a base rate."""
        weight = self.entries.weight
        if weight is None or self.design.strata is not None:
            return False
        if self.design.shares:
            # parts weigh by their shares: compare whole cases
            whole = np.bincount(self.entries.case_of_entry(), weight)
            return not np.allclose(whole, whole[0], rtol=_EQUAL)
        return self.counts is None or not np.array_equal(weight, self.counts)

    @property
    def divisible(self) -> bool:
        """Whether units can be told apart, to deal them: rows, or cells of cases that weigh the
        same.
        """
        # with a base rate the weights are those of the outcomes: cases are alike without them
        if not self.is_compressed or self.design.strata is not None:
            return True
        return self._tables.cells.has_equal_weights

    def relative_weight(self) -> Floats | None:
        """The weight of a case of each entry over the mean weight of a case; None without weights
        but those of a base rate.
        """
        if self.entries.weight is None or self.design.strata is not None:
            return None
        weight = self.mass if self.counts is None else self.mass / self.counts
        return weight * (self.cases / self.total_weight)

    def digest_of(self, predictions: Sequence[Array]) -> int:
        """Return one number for the cases with these predictions, in whatever order they come (see
        `rainproof.core.digests`).
        """
        entries = self.entries
        codes = digests.of_rows(entries.outcome, predictions, self.relative_weight())
        # cases of weight zero are no draws
        counted = slice(None) if entries.weight is None else np.flatnonzero(entries.weight)
        if entries.unit is None:
            if self.counts is None:
                return digests.of_all(codes[counted])
            return digests.of_all(codes[counted], self.counts[counted])
        # the parts of a case first, then the cases of a cluster
        case = entries.case_of_entry()[counted]
        codes = digests.of_units(codes[counted], case)
        if self.design.clustered:
            first = np.flatnonzero(np.diff(case, prepend=-1))
            codes = digests.of_units(codes, entries.unit[counted][first])
        return digests.of_all(codes)

    def deal(
        self, folds: int, held_out: Sequence[float] = (), rng: np.random.Generator | None = None
    ) -> Deal:
        """Deal whole units at random: shares of them are held out, and the rest go to equal folds.

        Cases of each outcome are dealt by themselves where a base rate is stated, as their numbers
        are given. Of cells, the number of cases in each part is drawn.
        """
        rng = np.random.default_rng(rng)
        if self.is_compressed:
            fit = (1 - sum(held_out)) / folds
            shares = [fit] * folds + list(held_out)
            return Deal(counts=rng.multinomial(self._tables.cells.count, shares).T)

        def dealt(units: int) -> Ints:
            place = rng.permutation(units)
            part = place % folds  # sizes of folds differ by one at most
            start = 0
            for number, share in enumerate(held_out):
                size = round(share * units)
                part = np.where((place >= start) & (place < start + size), folds + number, part)
                start += size
            return part

        if self.design.strata is not None:
            # each part needs both outcomes, and its share of each is as good as fixed
            event = self.event
            part = np.empty(len(event), np.int64)
            part[event] = dealt(self.events)
            part[~event] = dealt(self.cases - self.events)
            return Deal(part=part)
        if self.unit is not None:
            return Deal(part=dealt(int(self.unit.max()) + 1)[self.unit])
        return Deal(part=dealt(len(self.event)))


@dataclass(frozen=True, slots=True, eq=False)
class Deal:
    """Which part each unit was dealt to.

    Attributes
    ----------
    part : ndarray of shape (entries,) or None
        The number of the part of each row: the folds first, then what is held out.
    counts : ndarray of shape (parts, entries) or None
        Of cells: the number of cases of each entry in each part.
    """

    part: Ints | None = None
    counts: Ints | None = None
