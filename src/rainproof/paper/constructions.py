"""The distributions of the paper's examples and proofs, each as a few weighted predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core._fixed_loss import worst_threshold
from rainproof.core.arrays import Floats
from rainproof.core.grid.rounded import RoundedSample, split, sum_on_grid
from rainproof.core.regret import RegretCurve
from rainproof.core.sample.sample import Sample

_CELLS = 1 << 12


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

    def rounded_down(self, m: int) -> Distribution:
        """Return the distribution with predictions rounded down to 1/m."""
        return of_rounded(self.rounded(m, soft=False))

    def soft_loss(self, m: int, *, soft: bool = True) -> float:
        """Compute SCDL_m (Definition 1.1)."""
        return soft_loss(self.rounded(m, soft=soft))

    def decision_loss(self, m: int, *, soft: bool = True) -> float:
        """Compute CDL(D_m)."""
        return decision_loss(self.rounded(m, soft=soft))


def of_rounded(rounded: RoundedSample) -> Distribution:
    """Return a rounded sample as a distribution."""
    return Distribution.of(rounded.index / rounded.m, rounded.weight, rounded.positive / rounded.weight)


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


def deviation_limit(rounded: RoundedSample, size: int, delta: float | None, *, both: bool = False) -> float:
    """Return a limit on how far off SCDL_m can be on T rows (see the page on derivations).

    The rows are drawn independently, or fixed rows are rounded independently. With probability 1 - delta, SCDL_m of
    what was drawn exceeds that of `rounded` by at most the limit (and, if `both`, is no further below). If `delta` is
    None: the same in expectation.
    """
    m, total = rounded.m, float(rounded.weight.sum())
    pi, q = rounded.weight / total, rounded.positive / rounded.weight
    i = np.arange(m + 1)[:, None]
    tau = np.where(rounded.index <= i, (i + 1) / m, i / m)
    centre, spread = pi * np.abs(q - tau), pi * (q * (1 - 2 * tau) + tau**2) / size
    excess = (np.sqrt(spread + centre**2) - centre).sum(axis=1) / 2
    reach = (np.maximum(m - i - 1, i) + np.maximum(m - i, i + 1))[
        :, 0
    ] / m  # what replacing one row can change, times T
    events = (1 + both) * (m + 1)
    if delta is None:
        return float(excess.max() + reach.max() / 2 * math.sqrt(2 * math.log(events) / size))
    return float((excess + reach * math.sqrt(math.log(events / delta) / (2 * size))).max())


def round_rows(y: NDArray[Any], p: Floats, m: int, rng: np.random.Generator) -> Distribution:
    """Round each row at random to a neighbouring grid point, without bias: D' of Theorem 4.4."""
    cell, up = split(p, m)
    at = cell + (rng.random(len(p)) < up)
    count, events = np.bincount(at, minlength=m + 1), np.bincount(at, y, m + 1)
    some = np.flatnonzero(count)
    return Distribution.of(some / m, count[some], events[some] / count[some])


@dataclass(frozen=True, slots=True)
class Law:
    """A distribution with any predictions, by the quantiles of p and the event rate at p.

    Attributes
    ----------
    quantile, rate : callable
        The prediction at each u in (0, 1), and the event rate at each prediction.
    """

    quantile: Callable[[Floats], Floats]
    rate: Callable[[Floats], Floats]

    def draw(self, n: int, rng: np.random.Generator) -> Distribution:
        """Draw n independent rows."""
        p = self.quantile(rng.random(n))
        return Distribution.of(p, np.ones(n), rng.random(n) < self.rate(p))

    def population(self) -> Distribution:
        """Return the distribution at 4,096 equally likely quantiles; where p is continuous, off by 1e-7 in SCDL_m."""
        p = self.quantile((np.arange(_CELLS) + 0.5) / _CELLS)
        return Distribution.of(p, np.ones(_CELLS), self.rate(p)).pooled()


def calibrated_laws() -> dict[str, Law]:
    """Return calibrated forecasters; all but the first two have predictions that never repeat."""
    return {
        "coin": Law(lambda u: np.full(len(u), 0.5), lambda p: p),
        "umbrella": Law(lambda u: np.where(u < 0.5, 0.2, 0.8), lambda p: p),
        "uniform": Law(lambda u: u, lambda p: p),
        "rare": Law(lambda u: 0.1 * u**3, lambda p: p),
    }


def miscalibrated_laws() -> dict[str, Law]:
    """Return miscalibrated forecasters; all but the first have predictions that never repeat."""
    return {
        "sure and wrong": Law(lambda u: np.where(u < 0.5, 0.25, 0.75), lambda p: np.where(p < 0.5, 1.0, 0.0)),
        "overconfident": Law(lambda u: u, lambda p: 0.25 + p / 2),
        "uninformative": Law(lambda u: u, lambda p: np.full(len(p), 0.5)),
        "inverted": Law(lambda u: u, lambda p: 1 - p),
    }


def rounds_below(m: int, rate: float, share: float) -> Law:
    """Return one prediction just below 1/2, which goes down to 1/2 - 1/m with probability `share`.

    All of its mass at and below 1/2 has the event rate `rate`: for a rate of at least 1/2 + 1/m, CDL(D_m) is exactly
    2 SCDL_m + 2/m.
    """
    return Law(lambda u: np.full(len(u), 0.5 - share / m), lambda p: np.full(len(p), rate))


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


def regret_of_guessing(lead: Floats | float, x: float) -> Floats:
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


def one_sided(m: int) -> tuple[Distribution, Distribution]:
    """Return distributions for which Lemma 5.2 and Theorem 5.1 are tight (`one_moved` moves the first row).

    An event row moves from 1/m to 2/m, between a bin at 1/m whose event rate is too high and one at 2/m whose event
    rate is too low: both lose, 2 - 3/m of its weight together. The rest is calibrated.
    """
    heavy = Distribution.of([1 / m, 1 / m, 2 / m, 2 / m], [1e-4, 0.5, 0.49, 0.0], [1, 1, 0, 0])
    at = [1 / m, 1 / m, 2 / m, 1.0, 2 / m]
    light = Distribution.of(at, [1e-5, 1.98 / m, 1e-3, 1 - 1.98 / m, 0.0], [1, 1, 0, 1, 0])
    return heavy, light


def alternating(m: int) -> Distribution:
    """Return predictions at j/m from 1/3 to 2/3 whose event rates are off by 1/3, down and up in turn.

    The cutoff error is one bin's, as neighbours cancel; the loss of decisions is of order 1.
    """
    j = np.arange(-(-m // 3), 2 * m // 3 + 1)
    return Distribution.of(j / m, np.ones(len(j)), np.clip(j / m + (-1.0) ** j / 3, 0, 1))


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
