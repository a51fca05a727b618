"""Distributions of a few weighted predictions: those of the paper's examples and proofs, and a
search for the worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof import DecisionTask, RainproofError, Sample, regret_curve
from rainproof.measures import calibration_decision_loss

Floats = NDArray[np.float64]
_CELLS = 1 << 12
_CLIMBERS = 3
_MOST_POINTS = 6
_CLOSE = 1e-9  # how far apart the bounds on the exact distance may be
_ROUNDS = 60


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
        p, w, q = (
            np.atleast_1d(np.asarray(column, np.float64)) for column in (at, weight, frequency)
        )
        return cls(p, w / w.sum(), q)

    @classmethod
    def of_sample(cls, sample: Sample) -> Distribution:
        """Build from the rows of a sample."""
        weight = np.ones(sample.n) if sample.sample_weight is None else sample.sample_weight
        return cls.of(sample.y_prob, weight, sample.y_true)

    def sample(self) -> Sample:
        """Return the distribution as a weighted sample: a measure of it is the population value."""
        return weighted(self.at, self.weight * (1 - self.frequency), self.weight * self.frequency)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
        """Draw outcomes and predictions of n independent rows."""
        at = rng.choice(len(self.at), n, p=self.weight)
        return rng.random(n) < self.frequency[at], self.at[at]

    def pooled(self) -> Distribution:
        """Merge equal predictions."""
        at, where = np.unique(self.at, return_inverse=True)
        weight, events = (
            np.bincount(where, w).astype(float) for w in (self.weight, self.weight * self.frequency)
        )
        return Distribution(at, weight, events / weight)

    def rounded(self, m: int, *, soft: bool = True) -> Rounded:
        """Round the predictions to 1/m: at random (D_m, Definition 4.2) or down, for any positive
        integer m.
        """
        cell, up = split(self.at, m, soft=soft)
        low, high = self.weight * (1 - up), self.weight * up
        index, place = np.unique(np.concatenate([cell, cell + 1]), return_inverse=True)
        amounts = (np.concatenate([low * f, high * f]) for f in (1.0, self.frequency))
        pi, s = (np.bincount(place, amount).astype(np.float64, copy=False) for amount in amounts)
        some = pi > 0
        return Rounded(
            m=m, index=index[some], weight=pi[some], positive=np.minimum(s[some], pi[some])
        )

    def rounded_down(self, m: int) -> Distribution:
        """Return the distribution with predictions rounded down to 1/m."""
        return self.rounded(m, soft=False).distribution()

    def soft_loss(self, m: int, *, soft: bool = True) -> float:
        """Compute SCDL_m (Definition 1.1)."""
        return self.rounded(m, soft=soft).soft_loss()

    def decision_loss(self, m: int, *, soft: bool = True) -> float:
        """Compute CDL(D_m)."""
        return self.rounded(m, soft=soft).decision_loss()


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """A distribution with its predictions rounded to the grid 1/m: the occupied points ``index /
    m``.

    Attributes
    ----------
    m : int
        The grid.
    index, weight, positive : ndarray
        The points, the paper's ``pi_j``, and ``pi_j q_j``.
    """

    m: int
    index: NDArray[np.int64]
    weight: Floats
    positive: Floats

    def distribution(self) -> Distribution:
        """Return it as a distribution."""
        return Distribution.of(self.index / self.m, self.weight, self.positive / self.weight)

    def sample(self) -> Sample:
        """Return it as a weighted sample."""
        none = np.maximum(self.weight - self.positive, 0.0)  # the two sums are rounded separately
        return weighted(self.index / self.m, none, self.positive)

    def decision_loss(self) -> float:
        """Compute CDL(D_m)."""
        return calibration_decision_loss(self.sample())

    def soft_loss(self) -> float:
        """Compute SCDL_m (Definition 1.1).

        Between two neighbouring points every term is convex in i, so that only i = j and i = j - 1
        can be the worst. A point adds ``(s - pi/m) - pi (i/m)`` from j up to m q - 1, or ``-s + pi
        (i/m)`` from m q up to j - 1: sums of differences find the worst i, and the definition gives
        its loss.
        """
        j, pi, s, m = self.index, self.weight, self.positive, self.m
        tried = np.union1d(j, j[j > 0] - 1)
        own, rate = np.searchsorted(tried, j), s / pi * m
        over = rate > j
        edge = np.searchsorted(tried, rate - over)
        start, stop = np.where(over, own, edge), np.where(over, edge, own)
        inside, ends = start < stop, np.stack([start, stop], axis=1).ravel()
        changes = (
            np.where(over, s - pi * (1.0 / m), -s) * inside,
            np.where(over, -pi, pi) * inside,
        )
        constant, slope = (
            np.cumsum(np.bincount(ends, np.stack([x, -x], axis=1).ravel(), len(tried) + 1))[:-1]
            for x in changes
        )
        i = int(tried[np.argmax(constant + slope * (tried * (1.0 / m)))])
        terms = np.maximum(np.where(j <= i, s - pi * ((i + 1) / m), pi * (i / m) - s), 0.0)
        return float(np.cumsum(terms)[-1]) / float(pi.sum())

    def fixed_losses(self) -> Floats:
        """Compute SCFDL_{m,i} for i = 0..m from its definition (Definition 3.1)."""
        m, total = self.m, float(self.weight.sum())
        i = np.arange(m + 1)[:, None]
        up = np.maximum(self.positive - self.weight * (i + 1) / m, 0) * (self.index <= i)
        down = np.maximum(self.weight * i / m - self.positive, 0) * (self.index > i)
        losses: Floats = (up + down).sum(axis=1) / total
        return losses


def weighted(at: Floats, none: Floats, event: Floats) -> Sample:
    """Return predictions as a sample, with the weight of each without the event and with it."""
    y, weight = np.repeat([0, 1], len(at)), np.concatenate([none, event])
    return Sample(y, np.tile(at, 2), sample_weight=weight)


def split(prob: Floats, m: int, *, soft: bool = True) -> tuple[NDArray[np.int64], Floats]:
    """Return the cell ``k = floor(m p)`` of each prediction, and the share of it that is rounded up
    to k + 1.

    Rounding at random rounds up the share ``m p - k``, so that the mean is p; rounding down (not
    `soft`) none.
    """
    scaled = prob * m
    cell = np.floor(scaled)
    return cell.astype(np.int64), scaled - (cell if soft else scaled)


def hardest_task(dist: Distribution, m: int) -> DecisionTask | None:
    """Return the task with the largest regret for those who act on predictions rounded to 1/m; None
    without any.
    """
    return regret_curve(dist.rounded(m).sample()).worst_task


def deviation_limit(
    rounded: Rounded, size: int, delta: float | None, *, both: bool = False
) -> float:
    """Return a limit on how far off SCDL_m can be on T rows (see the page on derivations).

    The rows are drawn independently, or fixed rows are rounded independently. With probability 1 -
    delta, SCDL_m of what was drawn exceeds that of `rounded` by at most the limit (and, if `both`,
    is no further below). If `delta` is None: the same in expectation.
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
        """Return the distribution at 4,096 equally likely quantiles; where p is continuous, off by
        1e-7 in SCDL_m.
        """
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
        "sure and wrong": Law(
            lambda u: np.where(u < 0.5, 0.25, 0.75), lambda p: np.where(p < 0.5, 1.0, 0.0)
        ),
        "overconfident": Law(lambda u: u, lambda p: 0.25 + p / 2),
        "uninformative": Law(lambda u: u, lambda p: np.full(len(p), 0.5)),
        "inverted": Law(lambda u: u, lambda p: 1 - p),
    }


def rounds_below(m: int, rate: float, share: float) -> Law:
    """Return one prediction just below 1/2, which goes down to 1/2 - 1/m with probability `share`.

    All of its mass at and below 1/2 has the event rate `rate`: for a rate of at least 1/2 + 1/m,
    CDL(D_m) is exactly 2 SCDL_m + 2/m.
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
    """Return the probability of each number of heads among fair coins, and 2q - 1, q the share of
    heads (Lemma 8.2).
    """
    chance = np.array([math.comb(rows, k) / 2**rows for k in range(rows + 1)])
    return chance, 2 * np.arange(rows + 1) / rows - 1


def regret_of_guessing(lead: Floats | float, x: float) -> Floats:
    """Compute the swap regret of guessing tails with probability x, for `lead` = 2q - 1."""
    return np.where(lead > 0, x, 1 - x) * np.abs(lead)


def smooth_gap(eps: float) -> tuple[Distribution, Distribution]:
    """Return the two distributions of Theorem A.1, with smCE = eps and c = 1: no response is good
    for both.
    """
    root = math.sqrt(eps)
    low, high = 0.5 - root, 0.5 + root
    return Distribution.of([low, high], [0.5, 0.5], [0.5, 0.5]), Distribution.of(
        [low], [1.0], [low - eps]
    )


def cutoff_gap(eps: float) -> tuple[int, Distribution]:
    """Return m and the distribution of Theorem B.1, with cutoff error eps.

    Weight 3 eps is at each of m = floor(eps^(-1/3)) points in [1/3, 2/3], whose event rates are off
    by 1/3, down and up in turn. The rest of the weight is at 0, with event rate 0.
    """
    m = math.floor(eps ** (-1 / 3) + 1e-9)
    i = np.arange(1, m + 1)
    at = 1 / 3 + i / (3 * m)
    frequency = np.clip(at + (-1.0) ** i / 3, 0, 1)
    return m, Distribution(
        np.r_[0, at], np.r_[1 - 3 * m * eps, np.full(m, 3 * eps)], np.r_[0, frequency]
    )


def one_sided(m: int) -> tuple[Distribution, Distribution]:
    """Return distributions for which Lemma 5.2 and Theorem 5.1 are tight (`one_moved` moves the
    first row).

    An event row moves from 1/m to 2/m, between a bin at 1/m whose event rate is too high and one at
    2/m whose event rate is too low: both lose, 2 - 3/m of its weight together. The rest is
    calibrated.
    """
    heavy = Distribution.of([1 / m, 1 / m, 2 / m, 2 / m], [1e-4, 0.5, 0.49, 0.0], [1, 1, 0, 0])
    at = [1 / m, 1 / m, 2 / m, 1.0, 2 / m]
    light = Distribution.of(at, [1e-5, 1.98 / m, 1e-3, 1 - 1.98 / m, 0.0], [1, 1, 0, 1, 0])
    return heavy, light


def alternating(m: int) -> Distribution:
    """Return predictions at j/m from 1/3 to 2/3 whose event rates are off by 1/3, down and up in
    turn.

    The cutoff error is one bin's, as neighbours cancel; the loss of decisions is of order 1.
    """
    j = np.arange(-(-m // 3), 2 * m // 3 + 1)
    return Distribution.of(j / m, np.ones(len(j)), np.clip(j / m + (-1.0) ** j / 3, 0, 1))


def level_bias(eps: float, points: int) -> Distribution:
    """Return the first distribution of Remark 1: p evenly spaced on [0, 1 - eps], each too low by
    eps.
    """
    at = (np.arange(points) + 0.5) / points * (1 - eps)
    return Distribution.of(at, np.ones(points), at + eps)


def empirical(dist: Distribution, n: int, rng: np.random.Generator) -> Distribution:
    """Draw n independent rows and return their empirical distribution."""
    count = rng.multinomial(n, dist.weight)
    some = count > 0
    events = rng.binomial(count[some], dist.frequency[some])
    return Distribution.of(dist.at[some], count[some], events / count[some])


def worst_distribution(
    objective: Callable[[Distribution], float],
    rng: np.random.Generator,
    effort: int,
    starts: Sequence[Distribution] = (),
) -> tuple[float, Distribution]:
    """Maximize an objective over distributions in about `effort` evaluations, besides those of
    `starts`.

    Half of the evaluations are random distributions (predictions anywhere, on grids, close
    together, at the ends; event rates that agree, disagree or are 0 and 1). The other half is a
    local search from the best three of these and of `starts`, by random changes of all sizes, of
    one prediction at a time. NaN counts as minus infinity.

    Returns
    -------
    tuple
        The largest value, and the distribution that has it.
    """
    some = [*starts, *(random_distribution(rng) for _ in range(max(2, effort // 2)))]
    tried = [_judged(objective, dist) for dist in some]
    tried.sort(key=lambda pair: -pair[0])
    best = tried[0]
    for start in tried[:_CLIMBERS]:
        best = max(
            best, _climb(objective, start, rng, effort // (2 * _CLIMBERS)), key=lambda pair: pair[0]
        )
    return best


def random_distribution(rng: np.random.Generator, points: int | None = None) -> Distribution:
    """Draw a distribution of a few predictions; ties, grid points and extremes are common."""
    k = int(rng.integers(1, _MOST_POINTS + 1)) if points is None else points
    at = rng.random(k)
    match rng.integers(4):
        case 0:
            grid = 2 ** int(rng.integers(1, 6))
            at = np.round(at * grid) / grid
        case 1:
            at = np.clip(rng.random() + (at - 0.5) * 10 ** -rng.uniform(0, 3), 0, 1)
        case 2:
            at = at ** float(rng.uniform(0.2, 5))
    frequency = rng.random(k)
    match rng.integers(4):
        case 0:
            frequency = np.round(frequency)
        case 1:
            frequency = np.clip(at + rng.normal(size=k) * 10 ** -rng.uniform(0, 3), 0, 1)
        case 2:
            frequency = np.full(k, frequency[0])
    return Distribution.of(
        at, rng.dirichlet(np.full(k, 10 ** rng.uniform(-1, 1))) + 1e-12, frequency
    )


def changed(dist: Distribution, rng: np.random.Generator) -> Distribution:
    """Change one random entry of a distribution, by a random amount."""
    size = 10 ** -rng.uniform(0, 4)
    at, weight, frequency = (column.copy() for column in (dist.at, dist.weight, dist.frequency))
    k = int(rng.integers(len(at)))
    match rng.integers(3):
        case 0:
            at[k] = _moved(at[k], size, rng)
        case 1:
            frequency[k] = _moved(frequency[k], size, rng)
        case _:
            weight[k] *= np.exp(rng.normal() * 3 * size)
    return Distribution.of(at, weight, frequency)


def _moved(value: float, size: float, rng: np.random.Generator) -> float:
    return float(np.clip(value + rng.normal() * size, 0, 1))


def _judged(
    objective: Callable[[Distribution], float], dist: Distribution
) -> tuple[float, Distribution]:
    value = objective(dist)
    return (value if value == value else -np.inf), dist


def _climb(
    objective: Callable[[Distribution], float],
    start: tuple[float, Distribution],
    rng: np.random.Generator,
    steps: int,
) -> tuple[float, Distribution]:
    best = start
    for _ in range(steps):
        step = _judged(objective, changed(best[1], rng))
        if step[0] >= best[0]:  # equal values too, to leave plateaus
            best = step
    return best


def ratio(above: float, below: float) -> float:
    """Return a ratio; NaN if the denominator is 0 up to rounding."""
    return above / below if below > 1e-9 else float("nan")


def one_moved(dist: Distribution) -> tuple[Distribution, Distribution, float]:
    """Return two distributions that differ in the first prediction, and the mean difference of the
    predictions.

    The first prediction moves to the place of the last one, whose weight and event rate are not
    used.
    """
    if len(dist.at) < 2:
        return dist, dist, 0.0
    first = Distribution.of(dist.at[:-1], dist.weight[:-1], dist.frequency[:-1])
    second = Distribution(np.r_[dist.at[-1], first.at[1:]], first.weight, first.frequency)
    return first, second, float(first.weight[0] * abs(dist.at[-1] - dist.at[0]))


def paired(dist: Distribution) -> tuple[Distribution, Distribution, float]:
    """Return two distributions with equal outcomes and different predictions, and the mean
    difference of these.

    The first half of the predictions is paired with the second half, whose event rates are not
    used.
    """
    half = len(dist.at) // 2
    if half == 0:
        return dist, dist, 0.0
    first = Distribution.of(dist.at[:half], dist.weight[:half], dist.frequency[:half])
    second = Distribution(dist.at[half : 2 * half], first.weight, first.frequency)
    return first, second, float(first.weight @ np.abs(first.at - second.at))


def exact_distance(dist: Distribution) -> tuple[float, float]:
    """Return lower and upper bounds on the lower distance to calibration, as close as the solver
    can tell.

    Parameters
    ----------
    dist : Distribution
        Of up to a few hundred predictions.

    Returns
    -------
    tuple of float
        The distance is at least the first and at most the second; they differ by about 1e-9.

    Notes
    -----
    Mass is moved along two lines, one per outcome, to points v where the shares v and 1 - v arrive.
    The dual is a pair of 1-Lipschitz functions f1 and f0 with ``v f1(v) + (1 - v) f0(v) <= 0`` for
    every v in [0, 1]; it maximizes their mean over the rows. The linear program has the points
    found so far (at first the predictions, 0 and 1), and its value is an upper bound. Between two
    of them the smallest 1-Lipschitz continuation of each function is linear in pieces, so the
    constraint is a quadratic in v, and where it is violated most is known. That point is added,
    until no violation exceeds 1e-9. Lowering both functions by the largest violation makes them
    feasible: the value minus it is a lower bound.

    Examples
    --------
    >>> from paper.constructions import Distribution
    >>> from paper.constructions import exact_distance
    >>> low, high = exact_distance(Distribution.of([0.3, 0.7], [0.5, 0.5], [0.5, 0.5]))
    >>> 0 <= high - low < 1e-8
    True
    """
    pooled = dist.pooled()
    at = np.unique(np.r_[0.0, pooled.at, 1.0])
    for _ in range(_ROUNDS):
        value, none, event = _solve(at, pooled)
        violated, where = _violations(at, none, event)
        worst = max(0.0, float(violated.max()))
        if worst <= _CLOSE:
            break
        at = np.unique(np.r_[at, where[violated > _CLOSE / 2]])
    return max(0.0, value - worst), value


def _solve(at: Floats, dist: Distribution) -> tuple[float, Floats, Floats]:
    """Return the least flow with arrivals at these points, and the two dual functions there."""
    from scipy import sparse  # imported here, as it takes longer to import than rainproof
    from scipy.optimize import linprog

    n, gap = len(at), np.diff(at)
    place = np.searchsorted(at, dist.at)
    mass = np.zeros((2, n))
    mass[:, place] = dist.weight * (1 - dist.frequency), dist.weight * dist.frequency
    edges = sparse.diags([np.ones(n - 1), -np.ones(n - 1)], [0, -1], shape=(n, n - 1))
    both_ways = sparse.hstack([edges, -edges])
    arriving = sparse.vstack([sparse.diags(1 - at), sparse.diags(at)])
    balance = sparse.hstack([arriving, sparse.block_diag([both_ways, both_ways])]).tocsr()
    cost = np.concatenate([np.zeros(n), np.tile(gap, 4)])
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_eq=balance, b_eq=mass.ravel(), method="highs-ds", options=exact)
    if found.status != 0:
        raise RainproofError(
            f"the linear program behind the lower distance was not solved: {found.message}"
        )
    none, event = np.split(np.asarray(found.eqlin.marginals, np.float64), 2)
    return max(0.0, float(found.fun)), none, event


def _violations(at: Floats, none: Floats, event: Floats) -> tuple[Floats, Floats]:
    """Return for each interval the largest ``v f1(v) + (1 - v) f0(v)``, and where."""
    low, high = at[:-1], at[1:]
    # where each function turns up
    valleys = [(low + high + f[:-1] - f[1:]) / 2 for f in (none, event)]
    candidates = [*valleys]
    for up0 in (-1, 1):
        # each function falls from the left or rises to the right: a quadratic with a top
        for up1 in (-1, 1):
            start0, start1 = (
                (f[:-1] + low) if up < 0 else (f[1:] - high)
                for f, up in ((none, up0), (event, up1))
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                top = (start1 - start0 + up0) / (2 * (up0 - up1))
            candidates.append(top)
    v = np.clip(np.nan_to_num(np.stack(candidates), nan=0.0), low, high)
    f0, f1 = (np.maximum(f[:-1] - (v - low), f[1:] - (high - v)) for f in (none, event))
    values = v * f1 + (1 - v) * f0
    best = values.argmax(axis=0)
    each = np.arange(len(low))
    return values[best, each], v[best, each]
