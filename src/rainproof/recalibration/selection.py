"""The mean of maps: the better a method predicts in cross-validation, the more its map counts.

Here are the weights, the mean of maps that is used, and maps fitted without some rows to predict
these. The parts of the rows are made in `division`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rainproof.core.arrays import Floats, Frozen, Ints
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.errors import InputError
from rainproof.recalibration.class_scaling import MOST_CLASSES, ClassRows, fit_classes
from rainproof.recalibration.division import FOLDS, Division, pool_cells, pool_rows
from rainproof.recalibration.maps import BLOCK, ClassMap, ClassPart
from rainproof.recalibration.method_names import CLASS_METHODS, EVENT_METHODS
from rainproof.recalibration.methods import (
    BINS,
    FORMULAS,
    METHODS,
    NEAREST,
    fitted_values,
    inner_expit,
    log_odds,
)

_LEAST_WEIGHT = 0.01  # of a map in the mean: more pieces would change next to nothing
# Of all that are fitted: with fewer, bins got all the weight by chance, and cost half a point more
# with 60 and 100 rows (docs/benchmarks/study-real-data.md).
_MIN_ROWS_OF_A_BIN = 30
_HALF_ROW = 0.5  # so many rows cannot tell values apart that are nearer to 0 or 1


@result_class
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


def mean_weights(log_loss: Floats) -> Floats:
    """Return the weight of each map in the mean: in proportion to exp(-loss), none below 1%."""
    # the likelihoods of the methods, relative to the best: Bayesian model averaging
    share: Floats = np.exp(log_loss.min() - log_loss)
    share[share < _LEAST_WEIGHT * share.sum()] = 0.0
    share /= share.sum()
    return share


def _without_small_bins(methods: Sequence[str], log_loss: Floats, rows: float) -> Floats:
    """Return the losses of methods, infinite for bins of too few rows; all, if all are such."""
    n_bins = np.array([BINS.get(method, 0) for method in methods])
    is_small = n_bins * _MIN_ROWS_OF_A_BIN > rows
    if is_small.all():
        return log_loss
    return np.where(is_small, np.inf, log_loss)


def _candidates(
    methods: Sequence[str], log_loss: Floats, squares: Floats, rows: float
) -> tuple[Candidate, ...]:
    """Weigh methods, given their losses summed over all rows."""
    weight = mean_weights(_without_small_bins(methods, log_loss, rows))
    return tuple(
        Candidate(
            method=method,
            weight=float(weight[number]),
            log_loss=float(log_loss[number] / rows),
            brier_score=float(squares[number] / rows),
        )
        for number, method in enumerate(methods)
    )


# One event.


class Validated(NamedTuple):
    """Methods fitted without two folds each (or twice the same), and how they did on these."""

    value: Floats  # by method, fit and prediction
    log_loss: Floats  # [k, f, g]: of method k on fold g, fitted without f and g


def cross_validate(
    prob: Floats, weight: Floats, methods: Sequence[str], first: Ints, second: Ints
) -> Validated:
    """Fit methods without the folds ``first[i]`` and ``second[i]``, for each i.

    Values nearer to 0 or 1 than half a row is to all of them count like this: so many rows cannot
    tell them apart, and one row would decide.
    """
    folds = np.arange(len(weight))
    is_fitted = (folds != first[:, np.newaxis]) & (folds != second[:, np.newaxis])
    # All fits are of the same predictions, so that they are fitted together: tables of weights.
    fitted = is_fitted.astype(np.float64) @ weight.reshape(len(weight), -1)
    value = fitted_values(methods, prob, fitted.reshape(-1, *weight.shape[1:]))
    # a prediction of 0 that is wrong once would outweigh all others
    nearest = _HALF_ROW / (weight.sum() + 1)
    log_loss = np.zeros((len(methods), len(weight), len(weight)))
    for fit, (f, g) in enumerate(zip(first, second, strict=True)):
        for outcome in (0, 1):
            # Logarithms take most of the time: of occupied entries alone.
            at = np.flatnonzero(weight[f, outcome] + weight[g, outcome])
            rate = np.clip(value[:, fit, at], nearest, 1 - nearest)
            log = np.log(rate if outcome else 1 - rate)
            log_loss[:, [g, f], [f, g]] -= log @ weight[[f, g], outcome][:, at].T
    return Validated(value, log_loss)


def mean_map(rows: Division, methods: Sequence[str]) -> tuple[PiecewiseMap, tuple[Candidate, ...]]:
    """Fit the weighted mean of the maps of all methods."""
    folds = np.arange(FOLDS)
    value, log_loss = cross_validate(rows.prob, rows.weight, methods, folds, folds)
    squares = np.zeros(len(methods))
    for outcome in (0, 1):
        squares += ((value - outcome) ** 2 * rows.weight[:, outcome]).sum(axis=(1, 2))
    total = float(rows.weight.sum())
    candidates = _candidates(methods, log_loss[:, folds, folds].sum(axis=1), squares, total)
    table = rows.table()
    weights = {candidate.method: candidate.weight for candidate in candidates}
    maps = {method: METHODS[method](table) for method in methods if weights[method] > 0}
    mean = PiecewiseMap.mean(list(maps.values()), [weights[method] for method in maps])
    formulas = [method for method in maps if method in FORMULAS]
    if not formulas or len(formulas) == len(maps):
        return mean, candidates
    shares = np.array([weights[method] for method in formulas])
    shares /= shares.sum()
    formula = PiecewiseMap.mean([maps[method] for method in formulas], shares.tolist())
    lowest = float(table.prob[0])
    highest = float(table.prob[-1])
    return _continued(mean, formula, lowest, highest), candidates


def _continued(
    mean: PiecewiseMap, formula: PiecewiseMap, lowest: float, highest: float
) -> PiecewiseMap:
    """Let a mean go on as its formulas do, outside of the predictions that it was fitted to.

    Straight pieces are level there, and know nothing of the rows to come: in the mean, a calibrated
    0.001 would be moved towards the smallest prediction that was seen. The log odds are those of
    the formulas, moved by what the mean has above them at the end.
    """

    def beyond(end: float) -> Callable[[Floats], Floats]:
        at_end = np.array([end])
        reached = mean.apply(at_end)
        shift = log_odds(reached) - log_odds(formula.apply(at_end))
        # Rounding must not let a map that rises fall at the end.
        least: Floats | float = 0.0
        most: Floats | float = reached
        if (end == highest) == formula.rises:
            least = reached
            most = 1.0
        return lambda p: np.clip(inner_expit(log_odds(formula.apply(p)) + shift), least, most)

    maps = [mean]
    cuts = []
    if lowest > NEAREST:
        maps.insert(0, PiecewiseMap.tabulate(beyond(lowest), formula.edges, NEAREST, lowest))
        cuts.append(lowest)
    if highest < 1 - NEAREST:
        maps.append(PiecewiseMap.tabulate(beyond(highest), formula.edges, highest, 1 - NEAREST))
        cuts.append(highest)
    return PiecewiseMap.spliced(maps, cuts)


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
        return self.value[self.fold, self.entry]

    @property
    def pooled(self) -> Floats:
        """The mean recalibrated prediction of the rows with each prediction, for tests that follow
        small differences.

        Where a fold has more events than the others, its rows get lower predictions, as they were
        fitted to the others: among equal predictions a test would find these differences, and
        reject what is calibrated.
        """
        rows = self.weight.sum(axis=1)
        return np.asarray((rows * self.value).sum(axis=0) / rows.sum(axis=0))


def cross_fit(
    sample: Sample, rng: np.random.Generator, *, methods: Sequence[str] = EVENT_METHODS
) -> CrossFit:
    """Fit the mean of the maps without each fold, and without each two."""
    sample = sample.in_order()
    deal = sample.deal(folds=FOLDS, rng=rng)
    if deal.counts is None:
        assert deal.part is not None
        fold = deal.part
        prob, weight, entry = pool_rows(sample, fold)
    else:
        fold = deal.counts
        prob, weight, entry = pool_cells(sample, fold)
    first, second = np.triu_indices(FOLDS)  # also twice the same
    value, log_loss = cross_validate(prob, weight, methods, first, second)
    mean = np.empty((FOLDS, FOLDS, len(prob)))
    rows = float(weight.sum())
    for f, g in np.ndindex(FOLDS, FOLDS):
        # The weights of the mean must not be from the rows that it predicts.
        others = [h for h in range(FOLDS) if h not in (f, g)]
        loss = _without_small_bins(methods, log_loss[:, f, others].sum(axis=1), rows)
        share = mean_weights(loss)
        (fit,) = np.flatnonzero((first == min(f, g)) & (second == max(f, g)))
        mean[f, g] = share @ value[:, fit]
    folds = np.arange(FOLDS)
    negative, positive = weight.sum(axis=2).T @ (1 - np.eye(FOLDS))  # of all other folds
    return CrossFit(
        prob=prob,
        weight=weight,
        value=mean[folds, folds],
        inner=mean,
        rate=positive / (negative + positive),
        loss=log_loss[:, folds, folds].sum(axis=1),
        entry=entry,
        fold=fold,
    )


# Several classes.


class _ClassValidated(NamedTuple):
    """Methods fitted without each fold, and how they did on it."""

    methods: list[str]  # those that can be fitted to so many classes
    parts: list[list[ClassPart]]  # by fold and method
    log_loss: Floats  # by method and fold, summed over its rows
    squares: Floats  # the same of the Brier score


def mean_class_map(
    sample: Sample, methods: Sequence[str], fold: Ints
) -> tuple[ClassMap, tuple[Candidate, ...]]:
    """Fit the weighted mean of the maps of all methods; rows must be in random order."""
    rows = _class_rows(sample)
    done = _cross_validate_classes(rows, methods, fold)
    candidates = _candidates(
        done.methods,
        done.log_loss.sum(axis=1),
        done.squares.sum(axis=1),
        float(rows.weight.sum()),
    )
    parts = []
    for candidate in candidates:
        if candidate.weight > 0:
            part = fit_classes(candidate.method, rows)
            parts.append(replace(part, weight=candidate.weight))
    return ClassMap(classes=sample.classes, parts=tuple(parts)), candidates


def cross_fitted_values(sample: Sample, fold: Ints) -> Floats:
    """Return the predictions of each row by the mean of the maps fitted without its fold.

    Their weights are from the other folds.
    """
    done = _cross_validate_classes(_class_rows(sample), CLASS_METHODS, fold)
    value = np.empty(sample.prob.shape)
    for f, parts in enumerate(done.parts):
        others = [g for g in range(len(done.parts)) if g != f]
        weights = mean_weights(done.log_loss[:, others].sum(axis=1)).tolist()
        used = []
        for part, weight in zip(parts, weights, strict=True):
            if weight > 0:
                used.append(replace(part, weight=weight))
        own = fold == f
        value[own] = ClassMap(classes=sample.classes, parts=tuple(used)).apply(sample.prob[own])
    return value


def _class_rows(sample: Sample) -> ClassRows:
    """Return the rows, whose unequal weights count as their effective number of rows."""
    effective = sample.mass * (sample.total_weight / float((sample.mass**2).sum()))
    return ClassRows.of(sample.prob, sample.which, effective)


def _cross_validate_classes(rows: ClassRows, methods: Sequence[str], fold: Ints) -> _ClassValidated:
    """Fit methods without each fold. For the log loss, values nearer to 0 than half a row is to all
    rows count like this.
    """
    k = rows.prob.shape[1]
    folds = int(fold.max()) + 1
    asked = methods
    methods = [method for method in asked if k <= MOST_CLASSES.get(method, k)]
    if not methods:
        most = max(MOST_CLASSES[method] for method in asked)
        raise InputError(
            f"methods must name one for {k:,} classes; {', '.join(asked)}: up to {most:,}"
        )
    nearest = _HALF_ROW / (rows.weight.sum() + 1)
    parts: list[list[ClassPart]] = []
    log_loss = np.zeros((len(methods), folds))
    squares = np.zeros((len(methods), folds))
    size = max(1, BLOCK // k)
    for f in range(folds):
        fitted = rows.take(np.flatnonzero(fold != f))
        parts.append([fit_classes(method, fitted) for method in methods])
        own = np.flatnonzero(fold == f)
        for start in range(0, len(own), size):
            block = rows.take(own[start : start + size])
            prob = np.asarray(block.prob, np.float64)
            for m, part in enumerate(parts[f]):
                value = part.apply(prob, block.logs)
                right = value[np.arange(len(prob)), block.outcome]
                log_loss[m, f] -= float(block.weight @ np.log(np.maximum(right, nearest)))
                square = (value**2).sum(axis=1) - 2 * right + 1
                squares[m, f] += float(block.weight @ square)
    return _ClassValidated(methods, parts, log_loss, squares)
