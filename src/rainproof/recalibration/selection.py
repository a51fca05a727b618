"""The rows of a recalibration in parts, and the choice among maps by the decision that loses most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.curve import ends_of_chord
from rainproof.core.distinct import DistinctTable
from rainproof.core.door import ColumnNames, as_rows, refuse_reordered, rows_by_segment
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import rows
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.errors import FewRowsWarning, InputError, OneClassWarning, RainproofWarning
from rainproof.inference.bounds import numbered_groups
from rainproof.inference.proofs import Forecasts, Pairs
from rainproof.recalibration.methods import METHODS

FOLDS = 5
_FEWEST = 20  # rows; with fewer, folds would be fitted to a handful
_HELD_OUT = 0.25  # of the rows for each proof: the bounds shrink like n^(-2/3), so a quarter loses little
_ENTRIES = 1 << 15  # of a table; with more rows, neighbouring predictions are pooled


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """Predictions in increasing order, with the rows of each fold by outcome, and the rows held out.

    Attributes
    ----------
    prob : ndarray of shape (k,)
        Distinct predictions; the means of neighbouring ones where there are very many.
    weight : ndarray of shape (folds, 2, k)
        How many rows of each fold have them, without the event and with it. Unequal weights are scaled to the effective
        number of rows.
    held_out : tuple of Forecasts
        The other rows: for the certificate and, where there are segments, for the choice of their maps.
    """

    prob: Floats
    weight: Floats
    held_out: tuple[Forecasts, ...]

    def pairs(self, old: PiecewiseMap, new: PiecewiseMap) -> Pairs:
        """The rows with the predictions of two maps; the weights need not be exact, as nothing is proven on them."""
        weight = self.weight.sum(axis=0).ravel()
        event = np.repeat([False, True], len(self.prob))
        return Pairs(event, np.tile(old.apply(self.prob), 2), np.tile(new.apply(self.prob), 2), weight, None)

    def table(self, without: int | None = None) -> DistinctTable:
        """The rows of all folds, or of all but one, for a method to fit."""
        folds = np.arange(len(self.weight)) != without
        negative, positive = self.weight[folds].sum(axis=0)
        some = negative + positive > 0
        return DistinctTable(self.prob[some], negative[some], positive[some])


@dataclass(frozen=True, kw_only=True, slots=True)
class FitRows:
    """What a recalibrator is fitted to: rows with their groups and segments, or compressed samples by segment."""

    samples: Mapping[Any, Sample]
    by: tuple[str, ...] | None = None
    group: Ints | None = None
    places: Mapping[Any, Ints] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        p: ArrayLike | Sample | Segments,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        pos_label: Any,
        groups: ArrayLike | None,
        by: ArrayLike | Mapping[str, ArrayLike] | None,
    ) -> FitRows:
        """Check the arguments of `Recalibrator.fit`."""
        for name, other in (("y", y), ("groups", groups), *named_columns(by)):
            refuse_reordered("p", p, name, other)
        if isinstance(p, Segments | Sample):
            if y is not None or sample_weight is not None or pos_label is not None:
                raise InputError(f"a {type(p).__name__} holds outcomes, weights and labels already: pass it alone")
            if isinstance(p, Segments) or p.grid is not None:
                if groups is not None or by is not None:
                    raise InputError("groups and by need rows: a compressed sample does not keep them")
                return cls(samples=p, by=p.by) if isinstance(p, Segments) else cls(samples={None: p})
            sample = p
        elif y is None:
            raise InputError("y is missing: pass p and y, or one Sample")
        else:
            names = ColumnNames(label="y", prob="p")
            sample = Sample._from_rows(as_rows(y, p, sample_weight, pos_label, names=names))
        n = len(sample.y_prob)
        names_, places = (None, {}) if by is None else rows_by_segment(by, n)
        group = None if groups is None else numbered_groups(groups, n)
        return cls(samples={None: sample}, by=names_, group=group, places=places)

    def cannot_fit(self) -> RainproofWarning | None:
        """Why nothing can be fitted to these rows, if so."""
        n = sum(sample.n for sample in self.samples.values())
        if n < _FEWEST:
            return FewRowsWarning(f"p has {rows(n)}: nothing is fitted to fewer than {_FEWEST}, so p stays as it is")
        drawn = n if self.group is None else len(np.unique(self.group))
        if drawn < _FEWEST:
            return FewRowsWarning(
                f"groups has {drawn} groups: nothing is fitted to fewer than {_FEWEST}, so p stays as it is"
            )
        if sum(sample._events for sample in self.samples.values()) in (0, n):
            return OneClassWarning("y holds one outcome only: nothing can be fitted to it, so p stays as it is")
        return None

    def everything(self) -> Forecasts:
        """All rows, for a certificate where nothing is fitted."""
        return Forecasts.join([Forecasts.all_of(sample, self.group) for sample in self.samples.values()])

    def split(self, rng: np.random.Generator) -> tuple[Training, dict[Any, Training]]:
        """Divide the rows at random: all of them, and those of each segment."""
        first = next(iter(self.samples.values()))
        if first.grid is None:
            return _split_rows(first, self.group, self.places, rng)
        parts = {key: _split_cells(sample, rng, 1 if self.by is None else 2) for key, sample in self.samples.items()}
        return _merged(list(parts.values())), {} if self.by is None else parts


def named_columns(by: Any) -> list[tuple[str, Any]]:
    """The columns of segments, with the names that messages use."""
    return [(f"by[{name!r}]", column) for name, column in by.items()] if isinstance(by, Mapping) else [("by", by)]


def _split_rows(
    sample: Sample, group: Ints | None, segment: Mapping[Any, Ints], rng: np.random.Generator
) -> tuple[Training, dict[Any, Training]]:
    """Divide rows at random, whole groups at a time: all of them, and those of each segment, given by their places."""
    everything = Forecasts.all_of(sample, group)
    prob, event, weight = everything.prob, everything.event, everything.weight
    part = _parts(len(prob) if group is None else int(group.max()) + 1, 2 if segment else 1, rng)
    part = part if group is None else part[group]
    parts = FOLDS + (2 if segment else 1)

    def training(rows: Ints) -> Training:
        rows = rows if weight is None else rows[weight[rows] > 0]
        held_out = tuple(everything.at(rows[part[rows] == number]) for number in range(FOLDS, parts))
        used = rows[part[rows] < FOLDS]
        share = None if weight is None else weight[used] * (weight[used].sum() / (weight[used] ** 2).sum())
        return _pooled(prob[used], event[used], part[used], share, held_out)

    return training(np.arange(len(prob))), {key: training(rows) for key, rows in segment.items()}


def _parts(units: int, proofs: int, rng: np.random.Generator) -> Ints:
    """A fold for each row or group, or a number from `FOLDS` on if it is held out."""
    place = rng.permutation(units)
    held = round(_HELD_OUT * units)
    return np.where(place < proofs * held, FOLDS + place // max(held, 1), place % FOLDS)


def _pooled(
    prob: Floats, event: NDArray[np.bool_], part: Ints, weight: Floats | None, held_out: tuple[Forecasts, ...]
) -> Training:
    order = np.argsort(prob)
    ordered = prob[order]
    rank = np.flatnonzero(np.diff(ordered, prepend=-1.0))  # where each distinct prediction begins
    entry = np.repeat(rank * min(_ENTRIES, len(prob)) // max(len(prob), 1), np.diff(rank, append=len(prob)))
    entry = np.cumsum(np.diff(entry, prepend=entry[:1]) > 0)
    size = int(entry[-1]) + 1 if len(entry) else 0
    share = np.ones(len(prob)) if weight is None else weight[order]  # positive
    slot = (part[order] * 2 + event[order]) * size + entry
    table: Floats = np.bincount(slot, share, FOLDS * 2 * size).astype(np.float64).reshape(FOLDS, 2, size)
    mean = np.bincount(entry, share * ordered) / np.bincount(entry, share)
    return Training(prob=mean, weight=table, held_out=held_out)


def _split_cells(sample: Sample, rng: np.random.Generator, proofs: int) -> Training:
    cells = sample._cells
    if not cells.has_equal_weights:
        raise InputError("unequal weights need rows: a compressed sample cannot be split row by row")
    event = cells.slot & 1
    fit = (1 - proofs * _HELD_OUT) / FOLDS
    numbers = rng.multinomial(cells.count, [fit] * FOLDS + [_HELD_OUT] * proofs)
    held_out = [Forecasts.from_cells(cells, column) for column in numbers.T[FOLDS:]]
    cell, entry = np.unique(cells.slot >> 1, return_inverse=True)
    table = np.zeros((FOLDS, 2, len(cell)))
    table[:, event, entry] = numbers[:, :FOLDS].T
    middle = np.minimum((cell + 0.5) / cells.m, 1.0)  # not the mean: rows held out would move it
    return Training(prob=middle, weight=table, held_out=tuple(held_out))


def _merged(parts: Sequence[Training]) -> Training:
    """All segments together."""
    if len(parts) == 1:
        return parts[0]
    prob, at = np.unique(np.concatenate([part.prob for part in parts]), return_inverse=True)
    held_out = tuple(map(Forecasts.join, zip(*(part.held_out for part in parts), strict=True)))
    together = np.concatenate([part.weight for part in parts], axis=2).reshape(2 * FOLDS, -1)
    sums: Floats = np.stack([np.bincount(at, row, len(prob)) for row in together]).astype(np.float64)
    return Training(prob=prob, weight=sums.reshape(FOLDS, 2, -1), held_out=held_out)


_THRESHOLDS = 128  # by method, at which decisions are compared


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """How well one method did on rows that it was not fitted to.

    Attributes
    ----------
    method : str
        Its name.
    shortfall : float
        The most that any decision maker loses by its map in place of any other candidate's, as a share of the range of
        their payoffs. An estimate by cross-validation.
    standard_error : float
        Of the shortfall, for the decision maker who loses most.
    brier_score : float
        By cross-validation.
    """

    method: str
    shortfall: float
    standard_error: float
    brier_score: float


class CrossValidation:
    """Every method fitted without each fold, and applied to it."""

    def __init__(self, rows: Training, methods: list[str]) -> None:
        self.methods = methods
        self.weight = rows.weight
        self.total = float(rows.weight.sum())
        self.value = np.empty((len(methods), FOLDS, len(rows.prob)))
        for fold in range(FOLDS):
            table = rows.table(without=fold)
            for k, method in enumerate(methods):
                self.value[k, fold] = METHODS[method](table).apply(rows.prob)
        some = np.linspace(0, len(rows.prob) - 1, _THRESHOLDS).astype(np.int64)
        seen = np.unique(self.value[:, :, some])
        self.threshold = np.concatenate([[0.0], (seen[1:] + seen[:-1]) / 2, [1.0]])
        self.payoff = np.stack([self._payoff(k) for k in range(len(methods))])

    def _payoff(self, k: int) -> Floats:
        """The mean payoff at each threshold of acting where one method's value is above it: y minus the threshold."""
        above = self.threshold.searchsorted(self.value[k])  # as many thresholds are below the value
        size = len(self.threshold) + 1
        sums = [np.bincount(above.ravel(), self.weight[:, y].ravel(), size) for y in (0, 1)]
        negative, positive = (np.cumsum(found[::-1])[::-1][1:] for found in sums)
        found: Floats = (positive * (1 - self.threshold) - negative * self.threshold) / self.total
        return found

    def candidate(self, k: int) -> Candidate:
        """Compare one method with all others."""
        worst: tuple[float, int, tuple[tuple[float, float], ...]] = (0.0, k, ())
        for other in range(len(self.methods)):
            value = np.maximum(self.payoff[other] - self.payoff[k], 0.0)
            a, b, share = ends_of_chord(self.threshold, value)
            low, high = float(self.threshold[a]), float(self.threshold[b])
            loss = 2 * (share * float(value[a]) + (1 - share) * float(value[b]))
            if loss > worst[0]:
                worst = (loss, other, ((low, share), (high, 1 - share)))
        squares = [(self.value[k] - y) ** 2 * self.weight[:, y] for y in (0, 1)]
        brier = float(squares[0].sum() + squares[1].sum()) / self.total
        return Candidate(
            method=self.methods[k],
            shortfall=worst[0],
            standard_error=self._standard_error(k, *worst[1:], worst[0]),
            brier_score=brier,
        )

    def _standard_error(self, k: int, other: int, task: tuple[tuple[float, float], ...], mean: float) -> float:
        square, crossed = 0.0, [(self.value[other] > mu) * 1.0 - (self.value[k] > mu) for mu, _ in task]
        for y in (0, 1):
            loss = sum(2 * share * (y - mu) * sides for (mu, share), sides in zip(task, crossed, strict=True))
            square += float((loss**2 * self.weight[:, y]).sum())
        return float(np.sqrt(max(square / self.total - mean**2, 0.0) / self.total))


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """The first method whose shortfall is within one standard error of the smallest one.

    One standard error, and the order of the methods, did best on one half of the data sets of
    docs/benchmarks/study-recalibration.md; the page reports the other half too.
    """
    least = min(candidate.shortfall for candidate in candidates)
    return next(c for c in candidates if c.shortfall - c.standard_error <= least)
