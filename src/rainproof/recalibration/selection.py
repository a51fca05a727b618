"""The rows of a recalibration in parts, and the mean of maps: the better one predicts, the more it
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats, Frozen, Ints
from rainproof.core.classes import ClassSample
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import UNIT, PiecewiseMap
from rainproof.core.result import Result
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample, as_sample
from rainproof.core.segments import Segments
from rainproof.core.text import rows as rows_text
from rainproof.core.validation import BaseRate, ColumnNames
from rainproof.errors import FewRowsWarning, InputError, OneClassWarning, RainproofWarning
from rainproof.recalibration.methods import (
    FORMULAS,
    METHODS,
    NEAREST,
    expit,
    fitted_values,
    log_odds,
)

FOLDS = 5
_FEWEST = 20  # rows; with fewer, folds would be fitted to a handful
CERTIFIED = 2000
"""With fewer draws a certificate says next to nothing, and costs rows that the map needs."""
FEWEST_OF_AN_OUTCOME = 100
"""With a base rate: fewer rows of an outcome are not divided for a certificate."""
_LEAST_WEIGHT = 0.01  # of a map in the mean: more pieces would change next to nothing
# of the rows for each proof: the bounds shrink like n^(-2/3), so a quarter loses little
_HELD_OUT = 0.25
_ENTRIES = 1 << 12  # of a table; where there are more predictions, neighbours are pooled
# predictions that are nearer to each other are one: no map can have a cut between them
_FINEST = 2 / UNIT
_SHARE = 1 / (1 << 11)  # of the rows in a pool, at most, and
_WIDTH = 1 / 64  # the largest difference of their logits


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
        """The rows with the predictions of two maps; the weights need not be exact, as nothing is
        proven on them.
        """
        weight = self.weight.sum(axis=0).ravel()
        event = np.repeat(np.array([0, 1], np.uint8), len(self.prob))
        rows = Rows(event, np.tile(self.prob, 2), weight)
        n = int(np.count_nonzero(weight))
        sample = Sample.from_rows(rows, n=n, total_weight=float(weight.sum()))
        return sample._pair(np.tile(old.apply(self.prob), 2), np.tile(new.apply(self.prob), 2))

    def table(self) -> DistinctTable:
        """The rows of all folds, for a method to fit."""
        return DistinctTable(self.prob, *self.weight.sum(axis=0)).occupied()


def read_rows(
    p: ArrayLike | Sample | Segments,
    y: ArrayLike | None,
    columns: Mapping[str, Any],
    base_rate: BaseRate | None,
) -> Sample | Segments:
    """Check the arguments of `Recalibrator.fit`; the rows of segments are divided with all others."""
    if isinstance(p, Segments | Sample):
        groups, by = columns["groups"], columns["by"]
        if (
            y is not None
            or columns["sample_weight"] is not None
            or columns["pos_label"] is not None
        ):
            raise InputError(
                f"a {type(p).__name__} holds outcomes, weights and labels already: pass it alone"
            )
        if (isinstance(p, Segments) or p.grid is not None) and (
            groups is not None or by is not None
        ):
            raise InputError("groups and by need rows: a compressed sample does not keep them")
        if isinstance(p, Segments) and base_rate is not None:
            raise InputError(
                "base_rate cannot be combined with segments: that of a segment is not that of all rows"
            )
        sample: Sample | Segments = p
        if isinstance(p, Sample):
            sample = as_sample(p, groups=groups, by=by, base_rate=base_rate, rates=True)
    elif y is None:
        raise InputError("y is missing: pass p and y, or one Sample")
    else:
        names = ColumnNames(label="y", prob="p")
        sample = as_sample(y, p, **columns, names=names, base_rate=base_rate, rates=True)
    return (
        sample.by_segment()
        if isinstance(sample, Sample) and sample._segments is not None
        else sample
    )


def cannot_fit(rows: Sample | Segments | ClassSample) -> RainproofWarning | None:
    """Why nothing can be fitted to these rows, if so."""
    sample = rows.pooled if isinstance(rows, Segments) else rows
    groups = f"groups has {sample.n_draws} group{'s' * (sample.n_draws != 1)}"
    for some, count, fewest in (
        (f"p has {rows_text(sample.n)}", sample.n, _FEWEST),
        (groups, sample.n_draws, FOLDS),
    ):
        if count < fewest:
            return FewRowsWarning(
                f"{some}: nothing is fitted to fewer than {fewest}, so p stays as it is"
            )
    if sample.rates.max() == 1 if isinstance(sample, ClassSample) else sample.event_rate in (0, 1):
        by = "" if sample.sample_weight is None else ", by weight"
        return OneClassWarning(
            f"y holds one outcome only{by}: nothing can be fitted to it, so p stays as it is"
        )
    return None


def fitted_range(sample: Sample) -> tuple[float, float]:
    """Return the smallest and the largest prediction of rows that count; of a compressed sample, of
    its cells.
    """
    if sample.grid is not None:
        cell = sample._cells.slot >> 1
        return float(cell.min() / sample.grid), float(min((cell.max() + 1) / sample.grid, 1.0))
    prob = sample.prob if sample.sample_weight is None else sample.prob[sample.sample_weight > 0]
    return float(prob.min()), float(prob.max())


def divide(
    rows: Sample | Segments, rng: np.random.Generator, *, hold_out: bool = True
) -> tuple[Division, dict[Any, Division]]:
    """Divide the rows at random, whole draws at a time: all of them, and those of each segment.

    Their order does not matter. Rows are held out for a certificate, and for maps of segments; or
    none.
    """
    if isinstance(rows, Segments) and rows.whole is None:
        parts = {key: _divided_cells(sample, rng, 2 * hold_out) for key, sample in rows.items()}
        return _merged(list(parts.values())), parts
    if isinstance(rows, Segments):
        assert rows.whole is not None
        rows = rows.whole.in_order().by_segment()
    sample, places = (
        (rows.whole, rows.places) if isinstance(rows, Segments) else (rows.in_order(), {})
    )
    assert sample is not None
    if sample.grid is not None:
        return _divided_cells(sample, rng, int(hold_out)), {}
    proofs = (2 if places else 1) * hold_out
    part = sample._parts(folds=FOLDS, held_out=[_HELD_OUT] * proofs, rng=rng)
    weight = sample.sample_weight

    def divided(at: Ints) -> Division:
        at = at if weight is None else at[weight[at] > 0]
        held_out = tuple(
            sample._at(at[part[at] == number]) for number in range(FOLDS, FOLDS + proofs)
        )
        used = at[part[at] < FOLDS]
        prob, table, _ = _pooled(sample._at(used), part[used])
        return Division(prob=prob, weight=table, held_out=held_out)

    return divided(np.arange(len(part))), {key: divided(at) for key, at in places.items()}


def _pooled(sample: Sample, part: Ints) -> tuple[Floats, Floats, Ints]:
    """The predictions of a sample, pooled where there are very many, the table of its folds, and
    each row's entry.
    """
    prob, mass = np.rint(sample.prob / _FINEST) * _FINEST, sample.mass
    order = np.argsort(prob, kind="stable")  # quick for rows in order
    order = order if sample.sample_weight is None else order[mass[order] > 0]
    ordered, share = prob[order], mass[order]
    if sample._rates is not None:
        share = np.take(_counted(sample), sample.event[order])
    elif sample.sample_weight is not None:
        share = share * (share.sum() / (share**2).sum())
    first = np.flatnonzero(np.diff(ordered, prepend=-1.0))  # where each distinct prediction begins
    first = first[_pools(ordered[first], first / max(len(ordered), 1))]
    if not len(first):
        return ordered, np.zeros((FOLDS, 2, 0)), np.zeros(len(prob), np.int64)
    entry = np.maximum(ordered[first].searchsorted(prob, side="right") - 1, 0)
    at, size = entry[order], len(first)
    slot = (part[order] * 2 + sample.event[order]) * size + at
    table: Floats = (
        np.bincount(slot, share, FOLDS * 2 * size).astype(np.float64).reshape(FOLDS, 2, size)
    )
    mean = np.bincount(at, share * ordered, size) / np.bincount(at, share, size)
    last, given = np.append(first[1:], len(ordered)) - 1, sample.prob[order]
    # equal predictions exactly as they are
    return np.clip(mean, given[first], given[last]), table, entry


def _counted(sample: Sample) -> tuple[float, float]:
    """How many rows of the population one without the event and one with it stand for, if there is
    a base rate.

    There are then so many that the event rate among them is known as precisely as the difference of
    the two outcomes.
    """
    here, there = sample._events / sample.n, sample.event_rate
    return here / there, (1 - here) / (1 - there)


def _pools(prob: Floats, rank: Floats) -> Ints:
    """Where pools of neighbours begin, given distinct predictions in order and the share of rows
    below each.
    """
    if len(prob) <= _ENTRIES:
        return np.arange(len(prob))
    inside = np.clip(prob, 1e-9, 1 - 1e-9)
    logit = np.log(inside) - np.log1p(-inside)
    return np.flatnonzero(
        np.diff(np.floor([rank / _SHARE, logit / _WIDTH]), prepend=-np.inf).any(axis=0)
    )


def _divided_cells(sample: Sample, rng: np.random.Generator, proofs: int) -> Division:
    numbers = sample._parts(folds=FOLDS, held_out=[_HELD_OUT] * proofs, rng=rng)
    prob, table, _ = _pooled_cells(sample, numbers[:FOLDS])
    held_out = tuple(sample._thinned(counts) for counts in numbers[FOLDS:])
    return Division(prob=prob, weight=table, held_out=held_out)


def _pooled_cells(sample: Sample, numbers: Ints) -> tuple[Floats, Floats, Ints]:
    """The same as `_pooled` of cells, given the number of rows of each fold in them."""
    cells = sample._cells
    if not sample._divisible:
        raise InputError(
            "unequal weights need rows: a compressed sample cannot be split row by row"
        )
    cell, entry = np.unique(cells.slot >> 1, return_inverse=True)
    middle = np.minimum((cell + 0.5) / cells.m, 1.0)  # not the mean: rows held out would move it
    count = np.bincount(entry, numbers.sum(axis=0), len(cell))
    first = _pools(middle, (np.cumsum(count) - count) / max(count.sum(), 1))
    pool = first.searchsorted(np.arange(len(cell)), side="right") - 1
    total, size = np.bincount(pool, count, len(first)), len(first)
    mean = np.where(
        total > 0, np.bincount(pool, count * middle, size) / np.maximum(total, 1), middle[first]
    )
    entry = pool[entry]
    slot = (cells.slot & 1) * size + entry
    table = np.stack([np.bincount(slot, one, 2 * size) for one in numbers]).astype(np.float64)
    table = table.reshape(len(numbers), 2, size)
    return (
        mean,
        table if sample._rates is None else table * np.reshape(_counted(sample), (2, 1)),
        entry,
    )


def _merged(parts: Sequence[Division]) -> Division:
    """All segments together."""
    if len(parts) == 1:
        return parts[0]
    prob, at = np.unique(np.concatenate([part.prob for part in parts]), return_inverse=True)
    held_out = tuple(map(Sample._join, zip(*(part.held_out for part in parts), strict=True)))
    together = np.concatenate([part.weight for part in parts], axis=2).reshape(2 * FOLDS, -1)
    sums: Floats = np.stack([np.bincount(at, row, len(prob)) for row in together]).astype(
        np.float64
    )
    return Division(prob=prob, weight=sums.reshape(FOLDS, 2, -1), held_out=held_out)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CrossFit(Frozen):
    """The mean of the maps, fitted to some folds of the rows and applied to others.

    Folds are of whole draws, dealt at random to rows in order (`Sample.in_order`). Values are those
    of the maps before they are drawn with straight pieces.

    Attributes
    ----------
    prob : ndarray of shape (k,)
        Distinct predictions in increasing order; the means of neighbouring ones where there are
        very many.
    weight : ndarray of shape (folds, 2, k)
        How many rows of each fold have them, without the event and with it; unequal weights are
        scaled to the effective number of rows.
    value : ndarray of shape (folds, k)
        The value there of the mean that is fitted without this fold. Its weights are by
        cross-validation in the others.
    inner : ndarray of shape (folds, folds, k)
        ``inner[f, g]`` is that of maps fitted without the folds f and g, to choose a decision for
        fold f. Their weights have seen nothing of f, and are scored on neither; but maps that they
        score were fitted to g too. ``inner[f, f]`` is ``value[f]``.
    rate : ndarray of shape (folds,)
        The event rate of the rows that are not in this fold.
    loss : ndarray of shape (methods,)
        The cross-validated log loss of each method in nats, summed over all rows: see
        `mean_weights`.
    entry : ndarray of int
        The place in `prob` of each row (in order); of a compressed sample, of each of its cells and
        outcomes.
    fold : ndarray of int
        The fold of each row; of a compressed sample, how many rows of each fold, by fold, cell and
        outcome.
    """

    prob: Floats
    weight: Floats
    value: Floats
    inner: Floats
    rate: Floats
    loss: Floats
    entry: Ints
    fold: Ints

    @property
    def better(self) -> Floats:
        """The recalibrated prediction of each row."""
        found: Floats = self.value[self.fold, self.entry]
        return found

    @property
    def pooled(self) -> Floats:
        """The mean recalibrated prediction of the rows with each prediction, for tests that follow
        small differences.

        Where a fold has more events than the others, its rows get lower predictions, as they were
        fitted to the others: among equal predictions a test would find these differences, and
        reject what is calibrated.
        """
        rows = self.weight.sum(axis=1)
        found: Floats = (rows * self.value).sum(axis=0) / rows.sum(axis=0)
        return found


def cross_fit(
    sample: Sample, rng: np.random.Generator, *, methods: Sequence[str] = tuple(METHODS)
) -> CrossFit:
    """Fit the mean of the maps without each fold, and without each two."""
    sample = sample.in_order()
    fold = sample._parts(folds=FOLDS, rng=rng)
    prob, weight, entry = (
        _pooled(sample, fold) if sample.grid is None else _pooled_cells(sample, fold)
    )
    one, other = np.triu_indices(FOLDS)  # without both of these folds: also twice the same
    value, loss = _scored(prob, weight, methods, one, other)
    mean = np.empty((FOLDS, FOLDS, len(prob)))
    for f, g in np.ndindex(FOLDS, FOLDS):
        others = [h for h in range(FOLDS) if h not in (f, g)]
        share = mean_weights(loss[:, f, others].sum(axis=1))
        fit = value[:, np.flatnonzero((one == min(f, g)) & (other == max(f, g)))[0]]
        mean[f, g] = share @ fit
    negative, positive = weight.sum(axis=2).T @ (1 - np.eye(FOLDS))
    return CrossFit(
        prob=prob,
        weight=weight,
        value=mean[np.arange(FOLDS), np.arange(FOLDS)],
        inner=mean,
        rate=positive / (negative + positive),
        loss=loss[:, np.arange(FOLDS), np.arange(FOLDS)].sum(axis=1),
        entry=entry,
        fold=fold,
    )


def _scored(
    prob: Floats, weight: Floats, methods: Sequence[str], one: Ints, other: Ints
) -> tuple[Floats, Floats]:
    """Fit methods without two folds each (or twice the same): the values, and the log loss on these
    folds.

    The values are by method, fit and prediction; ``loss[k, f, g]`` is that of method k on fold g,
    fitted without f and g. Values nearer to 0 or 1 than half a row is to all of them count like
    this: so many rows cannot tell them apart, and one row would decide.
    """
    folds = np.arange(len(weight))
    kept = ((folds != one[:, None]) & (folds != other[:, None])).astype(np.float64)
    value = fitted_values(
        methods, prob, (kept @ weight.reshape(len(weight), -1)).reshape(-1, *weight.shape[1:])
    )
    nearest = 0.5 / (weight.sum() + 1)
    loss = np.zeros((len(methods), len(weight), len(weight)))
    for fit, (f, g) in enumerate(zip(one, other, strict=True)):
        for y in (0, 1):
            some = np.flatnonzero(weight[f, y] + weight[g, y])  # logarithms take most of the time
            inside = np.clip(value[:, fit, some], nearest, 1 - nearest)
            loss[:, [g, f], [f, g]] -= (
                np.log(inside if y else 1 - inside) @ weight[[f, g], y][:, some].T
            )
    return value, loss


def mean_weights(loss: Floats) -> Floats:
    """The weight of each map in the mean, given its log loss: exp(-loss), in proportion; none below
    1%.
    """
    share: Floats = np.exp(loss.min() - loss)
    share[share < _LEAST_WEIGHT * share.sum()] = 0.0
    share /= share.sum()
    return share


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Candidate(Result):
    """How well one method did on rows that it was not fitted to, and how much it counts.

    Attributes
    ----------
    method : str
        Its name.
    weight : float
        The share of its map in the mean.
    log_loss, brier_score : float
        The mean over rows, by cross-validation. For the log loss, values nearer to 0 or 1 than half
        a row is to all rows count like this.
    """

    method: str
    weight: float
    log_loss: float
    brier_score: float


def weighed(
    methods: Sequence[str], loss: Floats, squares: Floats, total: float
) -> tuple[Candidate, ...]:
    """Weigh methods by their log losses and state how they did, given sums over rows of a total
    weight.
    """
    columns = (mean_weights(loss), loss / total, squares / total)
    return tuple(
        Candidate(method=method, weight=weight, log_loss=log, brier_score=brier)
        for method, weight, log, brier in zip(
            methods, *(column.tolist() for column in columns), strict=True
        )
    )


def mean_map(rows: Division, methods: Sequence[str]) -> tuple[PiecewiseMap, tuple[Candidate, ...]]:
    """Fit the weighted mean of the maps of all methods."""
    folds = np.arange(FOLDS)
    value, loss = _scored(rows.prob, rows.weight, methods, folds, folds)
    squares = sum(((value - y) ** 2 * rows.weight[:, y]).sum(axis=(1, 2)) for y in (0, 1))
    candidates = weighed(methods, loss[:, folds, folds].sum(axis=1), squares, rows.weight.sum())
    table = rows.table()
    maps = {c.method: METHODS[c.method](table) for c in candidates if c.weight > 0}
    weights = {c.method: c.weight for c in candidates if c.weight > 0}
    mean = PiecewiseMap.mean(list(maps.values()), list(weights.values()))
    formulas = [method for method in maps if method in FORMULAS]
    if not formulas or len(formulas) == len(maps):
        return mean, candidates
    shares = np.array([weights[method] for method in formulas])
    formula = PiecewiseMap.mean(
        [maps[method] for method in formulas], (shares / shares.sum()).tolist()
    )
    return _continued(mean, formula, float(table.prob[0]), float(table.prob[-1])), candidates


def _continued(mean: PiecewiseMap, formula: PiecewiseMap, low: float, high: float) -> PiecewiseMap:
    """Let a mean go on as its formulas do outside of the predictions that it was fitted to, from
    `low` to `high`.

    Straight pieces are level there, and know nothing of the rows to come: in the mean, a calibrated
    0.001 would be moved towards the smallest prediction that was seen. The log odds are those of
    the formulas, moved by what the mean has above them at the end.
    """

    def beyond(end: float) -> Callable[[Floats], Floats]:
        at_end = np.array([end])
        reached = mean.apply(at_end)
        shift = log_odds(reached) - log_odds(formula.apply(at_end))
        # Rounding must not let a map that rises fall at the end.
        least, most = (reached, 1.0) if (end == high) == formula.rises else (0.0, reached)
        return lambda p: np.clip(expit(log_odds(formula.apply(p)) + shift), least, most)

    maps = [mean]
    cuts = []
    if low > NEAREST:
        maps.insert(0, PiecewiseMap.tabulate(beyond(low), formula.edges, NEAREST, low))
        cuts.append(low)
    if high < 1 - NEAREST:
        maps.append(PiecewiseMap.tabulate(beyond(high), formula.edges, high, 1 - NEAREST))
        cuts.append(high)
    return PiecewiseMap.spliced(maps, cuts)
