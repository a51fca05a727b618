"""The rows of a recalibration in parts: those that maps are fitted to, and those held out.

Here is which rows can be fitted to, how they are dealt to folds and proofs, and how many rows
become a table of few predictions. What is fitted to the parts is in `selection`, what is proven on
them in `certificate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats, Ints, sums_by
from rainproof.core.columns import ColumnNames
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import UNIT, PiecewiseMap
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import rows as rows_text
from rainproof.core.validation import BaseRate
from rainproof.errors import FewRowsWarning, InputError, OneClassWarning, RainproofWarning
from rainproof.recalibration.methods import POOLS_PER_LOG_ODDS, log_odds

# More folds fit maps to more of the rows, and take as much longer; with five, a fifth is missing.
FOLDS = 5

# docs/guide/recalibration.md: with 1,000 rows the harm bound was 7% on average.
CERTIFIED_DRAWS = 2000
"""With fewer draws a certificate says next to nothing, and costs rows that the map needs."""

CERTIFIED_ROWS_OF_AN_OUTCOME = 100
"""With a base rate: fewer rows of an outcome are not divided for a certificate."""

MANY_DRAWS_OF_CLASSES = 20_000
"""Of several classes: from so many draws on, two folds are enough to weigh methods."""

_MIN_ROWS = 20  # with fewer, folds would be fitted to a handful
# Share of the rows for each proof: bounds shrink like n^(-2/3), so a quarter loses little.
_HELD_OUT = 0.25
_MAX_ENTRIES = 1 << 12  # of a table; where there are more predictions, neighbours are pooled
_POOLS = 1 << 11  # at least, so that none has more than 1/2048 of the rows
# Predictions that are nearer to each other are one: no map can have a cut between them.
_FINEST = 2 / UNIT


@dataclass(frozen=True, kw_only=True, slots=True)
class Division:
    """Rows divided at random: those that maps are fitted to, as a table, and those held out for
    each proof.

    Attributes
    ----------
    prob : ndarray of shape (k,)
        Distinct predictions in increasing order; the means of neighbouring ones where there are
        very many.
    weight : ndarray of shape (folds, 2, k)
        How many rows of each fold have them, without the event and with it. Unequal weights are
        scaled to the effective number of rows; with a base rate it is how many rows of the
        population they stand for.
    held_out : tuple of Sample
        The rows that no map is fitted to, for each proof; none where nothing is to be proven.
    """

    prob: Floats
    weight: Floats
    held_out: tuple[Sample, ...]

    def pairs(self, old: PiecewiseMap, new: PiecewiseMap) -> Sample:
        """Return the rows with the predictions of two maps.

        The weights need not be exact, as nothing is proven on them.
        """
        weight = self.weight.sum(axis=0).ravel()
        event = np.repeat(np.array([0, 1], np.uint8), len(self.prob))
        rows = Rows(event, np.tile(self.prob, 2), weight)
        n = int(np.count_nonzero(weight))
        sample = Sample.from_rows(rows, n=n, total_weight=float(weight.sum()))
        return sample.with_forecasts(
            old=np.tile(old.apply(self.prob), 2), new=np.tile(new.apply(self.prob), 2)
        )

    def table(self) -> DistinctTable:
        """Return the rows of all folds, for a method to fit."""
        negative, positive = self.weight.sum(axis=0)
        return DistinctTable(self.prob, negative, positive).occupied()


class Pooled(NamedTuple):
    """Rows by fold, outcome and prediction, where neighbouring predictions may be one entry."""

    prob: Floats  # of each entry: the mean of its predictions
    weight: Floats  # number of rows, of shape (folds, 2, entries)
    entry: Ints  # of each row; of a compressed sample, of each cell and outcome


def read_rows(
    p: ArrayLike | Sample | Segments,
    y: ArrayLike | None,
    columns: Mapping[str, Any],
    base_rate: BaseRate | None,
) -> Sample | Segments:
    """Check the arguments of `Recalibrator.fit`; rows of segments are divided with all others."""
    if isinstance(p, Segments):
        _check_alone(p, y, columns)
        _check_compressed(columns)
        if base_rate is not None:
            raise InputError(
                "base_rate cannot be combined with segments: that of a segment is not that of all "
                "rows"
            )
        return p
    if isinstance(p, Sample):
        _check_alone(p, y, columns)
        if p.grid is not None:
            _check_compressed(columns)
        groups_and_segments = {name: columns[name] for name in ("groups", "by")}
        sample = as_sample(p, **groups_and_segments, base_rate=base_rate, rates=True)
    elif y is None:
        raise InputError("y is missing: pass p and y, or one Sample")
    else:
        names = ColumnNames(label="y", prob="p")
        sample = as_sample(y, p, **columns, names=names, base_rate=base_rate, rates=True)
    has_segments = sample.grid is None and sample.rows.segment is not None
    return sample.by_segment() if has_segments else sample


def _check_alone(p: Sample | Segments, y: ArrayLike | None, columns: Mapping[str, Any]) -> None:
    beside = (y, columns["sample_weight"], columns["pos_label"])
    if any(column is not None for column in beside):
        raise InputError(
            f"a {type(p).__name__} holds outcomes, weights and labels already: pass it alone"
        )


def _check_compressed(columns: Mapping[str, Any]) -> None:
    if columns["groups"] is not None or columns["by"] is not None:
        raise InputError("groups and by need rows: a compressed sample does not keep them")


def cannot_fit(rows: Sample | Segments) -> RainproofWarning | None:
    """Return why nothing can be fitted to these rows, if so."""
    sample = rows.pooled if isinstance(rows, Segments) else rows
    few = "nothing is fitted to fewer than"
    if sample.n < _MIN_ROWS:
        return FewRowsWarning(
            f"p has {rows_text(sample.n)}: {few} {_MIN_ROWS}, so p stays as it is"
        )
    if sample.n_draws < FOLDS:
        groups = "group" if sample.n_draws == 1 else "groups"
        return FewRowsWarning(
            f"groups has {sample.n_draws} {groups}: {few} {FOLDS}, so p stays as it is"
        )
    if sample.classes:
        one_outcome = sample.rates.max() == 1
    else:
        one_outcome = sample.event_rate in (0, 1)
    if one_outcome:
        by_weight = "" if sample.sample_weight is None else ", by weight"
        return OneClassWarning(
            f"y holds one outcome only{by_weight}: nothing can be fitted to it, so p stays as it is"
        )
    return None


def is_certified(sample: Sample) -> bool:
    """Return whether rows are many enough to hold some out for a certificate."""
    if sample.n_draws < CERTIFIED_DRAWS:
        return False
    if sample.classes or sample.design.strata is None:
        return True
    rarer = min(sample.events, sample.n - sample.events)
    return rarer >= CERTIFIED_ROWS_OF_AN_OUTCOME


def fitted_range(sample: Sample) -> tuple[float, float]:
    """Return the smallest and the largest prediction of rows that count; of a compressed sample, of
    its cells.
    """
    if sample.grid is not None:
        cell = sample.cells.slot >> 1
        return float(cell.min() / sample.grid), float(min((cell.max() + 1) / sample.grid, 1.0))
    prob = sample.prob
    if sample.sample_weight is not None:
        prob = prob[sample.sample_weight > 0]
    return float(prob.min()), float(prob.max())


def divide(
    rows: Sample | Segments, rng: np.random.Generator, *, hold_out: bool = True
) -> tuple[Division, dict[Any, Division]]:
    """Divide the rows at random, whole draws at a time: all of them, and those of each segment.

    Their order does not matter. Rows are held out for a certificate, and for maps of segments; or
    none.
    """
    proofs = 0
    if hold_out:  # for the maps of segments, and for the certificate
        proofs = 2 if isinstance(rows, Segments) else 1
    places: Mapping[Any, Ints] = {}
    if not isinstance(rows, Segments):
        sample = rows.in_order()
        if sample.grid is not None:
            return _divide_cells(sample, rng, proofs), {}
    elif rows.whole is None:  # of cells, each segment is a sample
        parts = {key: _divide_cells(sample, rng, proofs) for key, sample in rows.items()}
        return _merge(list(parts.values())), parts
    else:
        in_order = rows.whole.in_order().by_segment()
        assert in_order.whole is not None
        sample = in_order.whole
        places = in_order.places
    sample = sample.without_segments()
    fold = sample.deal(folds=FOLDS, held_out=[_HELD_OUT] * proofs, rng=rng).part
    assert fold is not None
    whole = _divide_rows(sample, fold, np.arange(len(fold)), proofs)
    return whole, {key: _divide_rows(sample, fold, at, proofs) for key, at in places.items()}


def _divide_rows(sample: Sample, fold: Ints, places: Ints, proofs: int) -> Division:
    """Return some of the rows, given their folds; those held out have numbers from `FOLDS` on."""
    if sample.sample_weight is not None:
        places = places[sample.sample_weight[places] > 0]
    fold = fold[places]
    held_out = [sample.take(places[fold == FOLDS + number]) for number in range(proofs)]
    is_used = fold < FOLDS
    prob, weight, _ = pool_rows(sample.take(places[is_used]), fold[is_used])
    return Division(prob=prob, weight=weight, held_out=tuple(held_out))


def _divide_cells(sample: Sample, rng: np.random.Generator, proofs: int) -> Division:
    """Divide the rows of a compressed sample, which are dealt by their numbers in each cell."""
    counts = sample.deal(folds=FOLDS, held_out=[_HELD_OUT] * proofs, rng=rng).counts
    assert counts is not None
    prob, weight, _ = pool_cells(sample, counts[:FOLDS])
    held_out = [sample.thinned(count) for count in counts[FOLDS:]]
    return Division(prob=prob, weight=weight, held_out=tuple(held_out))


def _merge(parts: Sequence[Division]) -> Division:
    """Put all segments together."""
    if len(parts) == 1:
        return parts[0]
    prob, at = np.unique(np.concatenate([part.prob for part in parts]), return_inverse=True)
    weight = np.concatenate([part.weight for part in parts], axis=2)
    sums = [np.bincount(at, row, len(prob)) for row in weight.reshape(2 * FOLDS, -1)]
    held_out_of_parts = [part.held_out for part in parts]
    held_out = [Sample.concat(proof) for proof in zip(*held_out_of_parts, strict=True)]
    return Division(
        prob=prob,
        weight=np.stack(sums).astype(np.float64).reshape(FOLDS, 2, -1),
        held_out=tuple(held_out),
    )


def pool_rows(sample: Sample, fold: Ints) -> Pooled:
    """Pool the rows of a sample, given the fold of each."""
    # Maps of fewer entries are fitted faster, and hardly another: a pool is narrower than bins are.
    prob = np.rint(sample.prob / _FINEST) * _FINEST
    order = np.argsort(prob, kind="stable")  # quick for rows in order
    if sample.sample_weight is not None:  # a row of weight 0 is none: it may not begin a pool
        order = order[sample.mass[order] > 0]
    ordered = prob[order]
    weight = _rows_worth(sample, order)
    distinct = np.flatnonzero(np.diff(ordered, prepend=-1.0))
    first = distinct[_pool_starts(ordered[distinct], distinct / max(len(ordered), 1))]
    size = len(first)
    if not size:
        return Pooled(ordered, np.zeros((FOLDS, 2, 0)), np.zeros(len(prob), np.int64))
    entry = np.maximum(ordered[first].searchsorted(prob, side="right") - 1, 0)
    entry_in_order = entry[order]
    slot = (fold[order] * 2 + sample.event[order]) * size + entry_in_order
    table = sums_by(slot, weight, FOLDS * 2 * size)
    total = np.bincount(entry_in_order, weight, size)
    mean = np.bincount(entry_in_order, weight * ordered, size) / total
    # Equal predictions stay exactly as they are, whatever the rounding of their mean.
    last = np.append(first[1:], len(ordered)) - 1
    given = sample.prob[order]
    mean = np.clip(mean, given[first], given[last])
    return Pooled(mean, table.reshape(FOLDS, 2, size), entry)


def _rows_worth(sample: Sample, order: Ints) -> Floats:
    """Return how many rows each row counts as: unequal weights as their effective number."""
    if sample.design.strata is not None:
        return np.take(_population_rows(sample), sample.event[order])
    weight = sample.mass[order]
    # Maps weigh methods and priors against rows: rows of unequal weight tell as much as fewer.
    if sample.sample_weight is not None:
        weight = weight * (weight.sum() / (weight**2).sum())
    return weight


def _population_rows(sample: Sample) -> tuple[float, float]:
    """Return how many rows of the population one without the event, and one with it, stand for.

    There are then so many that the event rate among them is known as precisely as the difference of
    the two outcomes.
    """
    here = sample.events / sample.n
    there = sample.event_rate
    return here / there, (1 - here) / (1 - there)


def _pool_starts(prob: Floats, rank: Floats) -> Ints:
    """Return where pools of neighbours begin.

    Given are distinct predictions in increasing order, and the share of rows below each.
    """
    if len(prob) <= _MAX_ENTRIES:
        return np.arange(len(prob))
    pool = np.floor([rank * _POOLS, log_odds(prob) * POOLS_PER_LOG_ODDS])
    return np.flatnonzero(np.diff(pool, prepend=-np.inf).any(axis=0))


def pool_cells(sample: Sample, counts: Ints) -> Pooled:
    """Pool the cells of a compressed sample, given the number of rows of each fold in them."""
    cells = sample.cells
    if not sample.units.divisible:
        raise InputError(
            "unequal weights need rows: a compressed sample cannot be split row by row"
        )
    cell, entry = np.unique(cells.slot >> 1, return_inverse=True)
    middle = np.minimum((cell + 0.5) / cells.m, 1.0)  # not the mean: rows held out would move it
    count = np.bincount(entry, counts.sum(axis=0), len(cell))
    below = np.cumsum(count) - count
    first = _pool_starts(middle, below / max(count.sum(), 1))
    pool = first.searchsorted(np.arange(len(cell)), side="right") - 1
    size = len(first)
    total = np.bincount(pool, count, size)
    predicted = np.bincount(pool, count * middle, size)
    mean = np.where(total > 0, predicted / np.maximum(total, 1), middle[first])
    entry = pool[entry]
    slot = (cells.slot & 1) * size + entry
    table = np.stack([np.bincount(slot, fold, 2 * size) for fold in counts]).astype(np.float64)
    table = table.reshape(len(counts), 2, size)
    if sample.design.strata is not None:
        table = table * np.reshape(_population_rows(sample), (2, 1))
    return Pooled(mean, table, entry)


class ClassDivision(NamedTuple):
    """Rows of several classes, divided at random."""

    fitted: Sample  # in random order
    fold: Ints  # of each of these rows
    held_out: Sample | None


def class_folds(sample: Sample) -> int:
    """Return how many folds weigh the methods for several classes."""
    return FOLDS if sample.n_draws < MANY_DRAWS_OF_CLASSES else 2


def divide_classes(sample: Sample, rng: np.random.Generator) -> ClassDivision:
    """Divide rows of several classes, whole draws at a time; their order does not matter."""
    hold_out = is_certified(sample)
    sample = sample.take(np.flatnonzero(sample.mass > 0)).in_order()
    folds = class_folds(sample)
    deal = sample.deal(folds=folds, held_out=[_HELD_OUT] if hold_out else [], rng=rng)
    part = deal.part
    assert part is not None
    # In random order, as the first rows stand for all where a curvature is computed.
    fitted = rng.permutation(np.flatnonzero(part < folds))
    held_out = sample.part(deal, folds) if hold_out else None
    return ClassDivision(sample.take(fitted), part[fitted], held_out)
