"""The distributions of the paper's examples and proofs, each as a few weighted predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core._fixed_loss import worst_threshold
from brolly.core.arrays import Floats
from brolly.core.grid.rounded import RoundedSample, split, sum_on_grid
from brolly.core.regret import RegretCurve
from brolly.core.sample.sample import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """A distribution of (p, y) with finitely many predictions.

    Attributes
    ----------
    at, weight, frequency : ndarray
        The predictions, their probabilities, and the probability of the event at each.
    """

    at: Floats
    weight: Floats
    frequency: Floats

    @classmethod
    def of(cls, at: ArrayLike, weight: ArrayLike, frequency: ArrayLike) -> Distribution:
        """Build from array-likes; the weights are normalized to sum to 1."""
        p, w, q = (np.atleast_1d(np.asarray(column, np.float64)) for column in (at, weight, frequency))
        return cls(p, w / w.sum(), q)

    def rows(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Return the distribution as weighted rows: y, p and w."""
        weight = np.concatenate([self.weight * (1 - self.frequency), self.weight * self.frequency])
        return np.repeat([0, 1], len(self.at)), np.tile(self.at, 2), weight

    def sample(self) -> Sample:
        """Return the distribution as a weighted sample: a measure of it is the population value."""
        y, p, w = self.rows()
        return Sample(y, p, sample_weight=w)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
        """Draw outcomes and predictions of n independent rows."""
        at = rng.choice(len(self.at), n, p=self.weight)
        return rng.random(n) < self.frequency[at], self.at[at]

    def pooled(self) -> Distribution:
        """Merge equal predictions."""
        at, where = np.unique(self.at, return_inverse=True)
        weight, events = (np.bincount(where, w).astype(float) for w in (self.weight, self.weight * self.frequency))
        return Distribution(at, weight, events / weight)

    def rounded(self, m: int, *, soft: bool = True) -> RoundedSample:
        """Round the predictions to 1/m: at random (D_m, Definition 4.2) or down, for any positive integer m."""
        cell, up = split(self.at, m, soft=soft)
        low, high = self.weight * (1 - up), self.weight * up
        pi, s = (sum_on_grid(cell, low * f, high * f, m) for f in (1.0, self.frequency))
        some = np.flatnonzero(pi > 0)
        return RoundedSample(m=m, index=some, weight=pi[some], positive=np.minimum(s[some], pi[some]))

    def soft_loss(self, m: int, *, soft: bool = True) -> float:
        """Compute SCDL_m (Definition 1.1)."""
        return soft_loss(self.rounded(m, soft=soft))

    def decision_loss(self, m: int, *, soft: bool = True) -> float:
        """Compute CDL(D_m)."""
        return decision_loss(self.rounded(m, soft=soft))


def soft_loss(rounded: RoundedSample) -> float:
    """Compute SCDL_m of a rounded sample."""
    loss, _ = worst_threshold(rounded.index, rounded.weight, rounded.positive, rounded.m)
    return float(loss) / float(rounded.weight.sum())


def decision_loss(rounded: RoundedSample) -> float:
    """Compute CDL of a rounded sample."""
    return 2 * RegretCurve.from_rounded(rounded).chord.value


def fixed_losses(rounded: RoundedSample) -> Floats:
    """Compute SCFDL_{m,i} for i = 0..m from its definition (Definition 3.1)."""
    m, total = rounded.m, float(rounded.weight.sum())
    i = np.arange(m + 1)[:, None]
    up = np.maximum(rounded.positive - rounded.weight * (i + 1) / m, 0) * (rounded.index <= i)
    down = np.maximum(rounded.weight * i / m - rounded.positive, 0) * (rounded.index > i)
    losses: Floats = (up + down).sum(axis=1) / total
    return losses


def round_rows(y: NDArray[Any], p: Floats, m: int, rng: np.random.Generator) -> Distribution:
    """Round each row at random to a neighbouring grid point, without bias: D' of Theorem 4.4."""
    cell, up = split(p, m)
    at = cell + (rng.random(len(p)) < up)
    count, events = np.bincount(at, minlength=m + 1), np.bincount(at, y, m + 1)
    some = np.flatnonzero(count)
    return Distribution.of(some / m, count[some], events[some] / count[some])


def umbrella() -> Distribution:
    """Return Example 1: calibrated forecasts of 20% and 80%."""
    return Distribution.of([0.2, 0.8], [0.5, 0.5], [0.2, 0.8])


def middle_third(n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    """Draw n rows of Example 2: p uniform on [1/3, 2/3] and y ~ Ber(p)."""
    p = rng.uniform(1 / 3, 2 / 3, n)
    return rng.random(n) < p, p


def coins(rows: int) -> tuple[Floats, Floats]:
    """Return the probability of each number of heads among fair coins, and 2q - 1, q the share of heads (Lemma 8.2)."""
    chance = np.array([math.comb(rows, k) / 2**rows for k in range(rows + 1)])
    return chance, 2 * np.arange(rows + 1) / rows - 1


def regret_of_guessing(lead: Floats, x: float) -> Floats:
    """Compute the swap regret of guessing tails with probability x, for `lead` = 2q - 1."""
    return np.where(lead > 0, x, 1 - x) * np.abs(lead)


def smooth_gap(eps: float) -> tuple[Distribution, Distribution]:
    """Return the two distributions of Theorem A.1, with smCE = eps and c = 1: no response is good for both."""
    root = math.sqrt(eps)
    low, high = 0.5 - root, 0.5 + root
    return Distribution.of([low, high], [0.5, 0.5], [0.5, 0.5]), Distribution.of([low], [1.0], [low - eps])


def cutoff_gap(eps: float) -> tuple[int, Distribution]:
    """Return m and the distribution of Theorem B.1, with cutoff error eps.

    Weight 3 eps is at each of m = floor(eps^(-1/3)) points in [1/3, 2/3], whose event rates are off by 1/3, down and up
    in turn. The rest of the weight is at 0, with event rate 0.
    """
    m = math.floor(eps ** (-1 / 3) + 1e-9)
    i = np.arange(1, m + 1)
    at = 1 / 3 + i / (3 * m)
    frequency = np.clip(at + (-1.0) ** i / 3, 0, 1)
    return m, Distribution(np.r_[0, at], np.r_[1 - 3 * m * eps, np.full(m, 3 * eps)], np.r_[0, frequency])


def level_bias(eps: float, points: int) -> Distribution:
    """Return the first distribution of Remark 1: p evenly spaced on [0, 1 - eps], each too low by eps."""
    at = (np.arange(points) + 0.5) / points * (1 - eps)
    return Distribution.of(at, np.ones(points), at + eps)


def empirical(dist: Distribution, n: int, rng: np.random.Generator) -> Distribution:
    """Draw n independent rows and return their empirical distribution."""
    count = rng.multinomial(n, dist.weight)
    some = count > 0
    events = rng.binomial(count[some], dist.frequency[some])
    return Distribution.of(dist.at[some], count[some], events / count[some])
