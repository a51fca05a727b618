"""The choice among maps: by the decision maker who loses most, on rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.regret import ends_of_chord
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.training import FOLDS, Training

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

    One standard error, and the order of the methods, did best on one half of the data sets of docs/recalibration.md;
    the page reports the other half too.
    """
    least = min(candidate.shortfall for candidate in candidates)
    return next(c for c in candidates if c.shortfall - c.standard_error <= least)
