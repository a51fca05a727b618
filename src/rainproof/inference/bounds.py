"""Groups of rows that depend on each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core._regret import limits
from rainproof.core.arrays import Floats, Ints, freeze
from rainproof.core.cells import CellTable, RoundedSample, split, sum_on_grid
from rainproof.core.curve import GridLoss, RegretCurve, ends_of_chord, isotonic
from rainproof.core.distinct import DistinctTable
from rainproof.core.door import code_labels, refuse_masked
from rainproof.core.sample import Sample
from rainproof.errors import InputError


def clustered(sample: Sample, cells: CellTable, groups: ArrayLike) -> tuple[CellTable, int]:
    """Replace each row's squared weight by its weight times that of its group; return the number of groups too.

    In a bound a group is one draw, and each of its rows counts like a row with the weight of the whole group.
    """
    weight, together, draws = group_weights(sample, groups)
    cell, _ = split(np.asarray(sample.y_prob, np.float64), cells.m)  # exact: m is a power of two
    at = np.searchsorted(cells.slot, 2 * cell + np.asarray(sample.y_true, np.int64))
    some = weight > 0
    products = np.bincount(at[some], (weight * together)[some], minlength=len(cells.slot))
    squares: Floats = products.astype(np.float64)
    return replace(cells, squares=squares), draws


def group_weights(sample: Sample, groups: ArrayLike) -> tuple[Floats, Floats, int]:
    """Return the weight of each row, that of its whole group, and the number of groups with some weight."""
    if sample.grid is not None:
        raise InputError("groups need rows: a compressed sample does not keep them")
    n = len(sample.y_prob)
    weight = np.ones(n) if sample.sample_weight is None else np.asarray(sample.sample_weight, np.float64)
    group = numbered_groups(groups, n)
    together: Floats = np.bincount(group, weight).astype(np.float64, copy=False)
    return weight, together[group], int(np.count_nonzero(together))


def numbered_groups(groups: ArrayLike, n: int) -> Ints:
    """Return the number of each row's group, from 0 on."""
    refuse_masked(groups, "groups")
    array = np.asarray(groups)
    if array.shape != (n,):
        raise InputError(f"groups must have one entry for each of the {n:,} rows; its shape is {array.shape}")
    numbers, labels = code_labels(array)
    if labels and labels[-1] is None:
        missing = numbers == len(labels) - 1
        first = f"groups[{int(missing.argmax())}]"
        raise InputError.from_offenders("groups must not contain missing values", int(missing.sum()), first)
    return numbers


# The tilts of the mixture, in units of Hoeffding's (best if |g| = 1 on every row), and their prior weights.
FACTORS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
PRIORS = np.array([4, 1, 1, 1, 1]) / 8
# The same if the number of draws is not fixed: tilts per draw that do not depend on it. At all times at once.
_EACH = 2.0 ** -np.arange(22)
_EACH_PRIORS = 1 / ((np.arange(22) + 1.0) * (np.arange(22) + 2.0))
_CUBIC = 0.265  # not below the largest value of (x - tanh x) / x^2
_FINE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class BoundInputs:
    """The inputs of a bound: rows rounded to a grid, and the weights of single rows.

    `n` counts independent draws: rows, or groups of them. `square` holds for each occupied bin and outcome
    (columns: no event, event) an upper bound on the sum of squared shares of the rows rounded to it.
    """

    on_grid: GridLoss
    n: float
    effective_n: float
    square: Floats

    def __post_init__(self) -> None:
        freeze(self.square)

    @classmethod
    def of(cls, sample: Sample, m: int, cells: CellTable | None = None, draws: int | None = None) -> BoundInputs:
        """Round the sample to ``1/m``.

        `cells` are its sums on a grid at least that fine, if other than its own; `draws` is the number of independent
        draws, if other than the number of rows.
        """
        cells = sample._cell_table(m) if cells is None else cells
        on_grid, total = sample._on_grid(m), sample.total_weight
        n = sample.n if draws is None else draws
        effective_n = min(total**2 / float(cells.squares.sum()), float(n))
        square = _soft_squares(cells, on_grid.rounded) / total**2
        return cls(on_grid=on_grid, n=n, effective_n=effective_n, square=square)

    @property
    def prob(self) -> Floats:
        """The occupied points of the grid."""
        return self.on_grid.rounded.index / self.on_grid.rounded.m

    def shares(self) -> Floats:
        """The share of the weight in each occupied bin, without the event and with it."""
        rounded = self.on_grid.rounded
        weight, positive = rounded.weight, np.minimum(rounded.positive, rounded.weight)
        shares: Floats = np.stack([weight - positive, positive], axis=1) / self.on_grid.total
        return shares

    def plug_in(self) -> float:
        """CDL(S_m): the loss on the sample itself."""
        return self.on_grid.loss

    def charged_loss(self, tilt: float) -> float:
        """Return the largest ``sum_i v_i g_i + charge_i |g_i|`` over all tasks with payoffs in [0, 1] and all swaps.

        It is the CDL of the sample with gains a little larger and losses a little smaller. At threshold mu
        that is a regret curve again, with different weights for swaps up and for swaps down.
        """
        shares, extra = self.shares(), charge(self, tilt)
        more, less = shares + extra, shares - extra
        prob = self.prob
        mu = np.concatenate([[0.0], prob, [1.0]])
        up = one_way_curve(prob, less[:, 0], more[:, 1], mu, up=True)
        sides = up + one_way_curve(prob, more[:, 0], less[:, 1], mu, up=False)
        return largest_loss(mu, sides.max(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class AsIsInputs:
    """The inputs of a bound for predictions that are acted on as they are: one entry for each distinct prediction.

    `n` counts independent draws. `shares` and `square` hold for each outcome (rows: no event, event) and each entry
    the shares of the weight and the sum of squared shares (of the products with the share of the group).
    """

    curve: RegretCurve
    n: float
    effective_n: float
    shares: Floats
    square: Floats

    def __post_init__(self) -> None:
        freeze(self.shares, self.square)

    @classmethod
    def of(cls, sample: Sample, n: float, effective_n: float, group_weight: Floats | None = None) -> AsIsInputs:
        """Pool equal predictions; those of a compressed sample are rounded down to its grid.

        `group_weight` is the weight of each row's group, if rows of a group depend on each other.
        """
        if sample.grid is None:
            curve = RegretCurve.from_table(sample._distinct_table(), "monotone")
        else:
            curve = sample._on_grid(sample.grid, "hard").curve("monotone")
        table, total, effective_n = curve.table, sample.total_weight, min(effective_n, float(n))
        shares = np.stack([table.negative, table.positive]) / total
        square = shares if _even(n, effective_n) else _pooled_squares(sample, table, group_weight) / total**2
        return cls(curve=curve, n=n, effective_n=effective_n, shares=shares, square=square)

    def plug_in(self) -> float:
        """The loss on the sample itself, compared with the best monotone recalibration."""
        return self.curve.loss

    def charged_loss(self, tilt: float) -> float:
        """Return the largest ``sum_i v_i g_i + charge_i |g_i|`` over all tasks and monotone recalibrations.

        At one threshold a monotone recalibration moves the cut-off: it swaps rows up or rows down, never both. With the
        weights of swaps up, isotonic regression finds the best cut-off, and swaps down count less than they
        should; with those of swaps down it is the other way round. So the larger of the two curves is right.
        """
        extra = charges(self.shares, self.square, self.n, self.effective_n, tilt)
        more, less = self.shares + extra, self.shares - extra
        prob = self.curve.table.prob
        mu = np.concatenate([[0.0], prob, [1.0]])
        up = _rising_curve(prob, less[0], more[1], mu)
        return largest_loss(mu, np.maximum(up, _rising_curve(prob, more[0], less[1], mu)))


Inputs = BoundInputs | AsIsInputs


def _pooled_squares(sample: Sample, table: DistinctTable, group_weight: Floats | None) -> Floats:
    """The squared weight (the weight times that of the group) of the rows of each prediction and outcome."""
    if sample.grid is not None:
        cells = sample._cell_table(sample.grid)
        outcome, prob, square = cells.slot & 1, (cells.slot >> 1) / cells.m, cells.squares
    else:
        weight = np.ones(len(sample.y_prob)) if sample.sample_weight is None else sample.sample_weight
        some = weight > 0
        weight = np.asarray(weight[some], np.float64)
        outcome, prob = sample.y_true[some], np.asarray(sample.y_prob[some], np.float64)
        square = weight * (weight if group_weight is None else group_weight[some])
    at = np.searchsorted(table.prob, prob) + len(table.prob) * outcome.astype(np.intp)
    return np.bincount(at, square, 2 * len(table.prob)).reshape(2, -1).astype(np.float64, copy=False)


def _rising_curve(prob: Floats, negative: Floats, positive: Floats, mu: Floats) -> Floats:
    """The larger limit, at the thresholds, of the regret curve against all monotone recalibrations."""
    table = DistinctTable(prob, negative, positive)
    some = negative + positive > 0
    if not some.all():  # a row whose weight is charged away in full counts for nothing
        table = DistinctTable(prob[some], negative[some], positive[some])
    sides = limits(table.prob, table.negative, table.positive, isotonic(table), mu, 1.0)
    return np.asarray(np.maximum(*sides))


def largest_loss(mu: Floats, value: Floats) -> float:
    """Return the largest mixture of a curve over all tasks with payoffs in [0, 1]: twice its envelope at 1/2."""
    a, b, share = ends_of_chord(mu, value)
    return 2 * float(share * value[a] + (1 - share) * value[b])


def _soft_squares(cells: CellTable, rounded: RoundedSample) -> Floats:
    """An upper bound on the squared weight in each bin: the place of a row within its cell is not known."""
    cell, up = split((cells.slot >> 1) / cells.m, rounded.m)  # at the lower end of the cell, where least is rounded up
    low, high = cells.squares * (1 - up), cells.squares * (up + rounded.m / cells.m)
    by_outcome = (cells.slot & 1 == y for y in (0, 1))
    found = [sum_on_grid(cell[some], low[some], high[some], rounded.m)[rounded.index] for some in by_outcome]
    return np.stack(found, axis=1)


def hoeffding(plug_in: float, effective_n: float, delta: float) -> float:
    """Return ``CDL(S_m) + sqrt(2 ln(1/delta) / effective_n)``."""
    return min(1.0, plug_in + math.sqrt(2 * math.log(1 / delta) / effective_n))


def tilts(effective_n: float, delta: float) -> Floats:
    """Return the tilts of the adaptive bound: they depend on the number of rows only."""
    chosen: Floats = FACTORS * np.sqrt(2 * np.log(1 / (PRIORS * delta)) * effective_n)
    return chosen


def charge(evidence: BoundInputs, tilt: float) -> Floats:
    """The charge for chance on the rows of each bin, per unit of gain or loss."""
    return charges(evidence.shares(), evidence.square, evidence.n, evidence.effective_n, tilt)


def charges(shares: Floats, squares: Floats, n: float, effective_n: float, tilt: float) -> Floats:
    """What rows with these sums of shares and of squared shares pay: at least ``sum_i ln cosh(tilt v_i) / tilt``."""
    rate, by_square = charge_rate(n, effective_n, tilt)
    return np.minimum(rate * squares, shares) if by_square else rate * shares


def charge_rate(n: float, effective_n: float, tilt: float) -> tuple[float, bool]:
    """The charge per unit of share; or, if weights are unequal, per unit of squared share, and at most the share."""
    if _even(n, effective_n):
        x = tilt / n
        return float(log_cosh(x)) / x, False
    return tilt / 2, True  # ln cosh x <= min(x^2 / 2, x)


def log_cosh(x: ArrayLike) -> Floats:
    """``ln cosh x`` for x >= 0, without overflow and precise near 0."""
    x = np.asarray(x, np.float64)
    near = np.log1p(2 * np.sinh(np.minimum(x, 1.0) / 2) ** 2)  # cosh x = 1 + 2 sinh(x / 2)^2
    return np.asarray(np.where(x < 1, near, x + np.log1p(np.exp(-2 * x)) - math.log(2)))


def one_way_curve(prob: Floats, negative: Floats, positive: Floats, mu: Floats, *, up: bool) -> Floats:
    """Return both limits, at the thresholds, of the regret curve of swaps in one direction."""
    weight = negative + positive
    rate = np.divide(positive, weight, out=prob.copy(), where=weight > 0)
    toward = np.maximum(rate, prob) if up else np.minimum(rate, prob)
    return np.stack(limits(prob, np.ascontiguousarray(negative), np.ascontiguousarray(positive), toward, mu, 1.0))


def adaptive(evidence: Inputs, delta: float) -> float:
    """The bound on the loss in the population, from a sample."""
    return adaptive_loss(evidence.charged_loss, evidence.n, evidence.effective_n, delta)


def adaptive_loss(charged: Callable[[float], float], n: float, effective_n: float, delta: float) -> float:
    """Return the smallest L such that a population with a larger loss gives such rows with probability at most delta.

    For each tilt ``exp(-tilt C) / (1 - L T / n)^n`` has mean at most 1 at the population's own loss L, with
    C the charged loss and T the sum of ``tanh(tilt v_i)``. So has their mixture, which therefore
    exceeds 1/delta with chance at most delta.
    """
    chosen = tilts(effective_n, delta)
    losses = np.array([charged(float(tilt)) for tilt in chosen])
    return _invert(chosen * losses, pulls(chosen, n, effective_n), n, delta)


def adaptive_weighted(evidence: Inputs, n: float, delta: float) -> float:
    """As `adaptive`, for weights that may depend on the rows but have a largest possible value.

    A row counts as the share ``w / max_weight`` of a draw, so there are ``n = sum w / max_weight`` of them.
    """
    return anytime_loss(replace(evidence, n=n, effective_n=n).charged_loss, n, delta)


def anytime_loss(charged: Callable[[float], float], n: float, delta: float) -> float:
    """As `adaptive_loss` for n equal draws, but valid for every n at once.

    The tilt per draw does not depend on n, so each factor of the mixture is a supermartingale in n.
    """
    tilt = n * _EACH
    losses = np.array([charged(float(a)) for a in tilt])
    return _invert(tilt * losses, n * np.tanh(_EACH), n, delta, _EACH_PRIORS)


def check_equal(n: float, effective_n: float) -> None:
    """Refuse unequal weights without a stated largest one, for which no bound at any time is proven."""
    if not _even(n, effective_n):
        raise InputError(
            "anytime must be False where weights or sizes of groups differ (guarantee takes them with max_weight): "
            f"{n:,} draws count as {effective_n:,.1f} of equal weight"
        )


def extremes(n: int, plug_in: float, delta: float) -> tuple[float, float]:
    """Return the smallest value of `adaptive` for n equal rows, and the largest if CDL(S_m) is at most `plug_in`.

    The smallest is that of perfect predictions of 0 and 1. The largest is not above Hoeffding's bound at half the
    delta: gain and loss of a row are at most 1, so the rows pay at most ``n ln cosh(tilt / n)``.
    """
    chosen = tilts(n, delta)
    pull = pulls(chosen, n, n)
    most = chosen * plug_in + n * log_cosh(chosen / n)
    return _invert(0 * chosen, pull, n, delta), _invert(most, pull, n, delta)


def pulls(tilt: Floats, n: float, effective_n: float) -> Floats:
    """``sum_i tanh(tilt v_i)`` for equal weights, else a bound from below."""
    if _even(n, effective_n):
        return np.asarray(n * np.tanh(tilt / n))
    return np.asarray(np.maximum(tilt - _CUBIC * tilt**2 / effective_n, 0.0))


def _even(n: float, effective_n: float) -> bool:
    """Whether all rows have the same weight, up to rounding."""
    return effective_n > n * (1 - 1e-12)


def _invert(paid: Floats, pull: Floats, n: float, delta: float, priors: Floats = PRIORS) -> float:
    """The smallest L in [0, 1] with ``sum of priors * exp(-paid - n ln(1 - L pull / n)) >= 1/delta``; 1 if none has."""

    def excess(loss: float) -> float:
        power = -paid - n * np.log1p(-loss * pull / n)
        top = float(power.max())
        return top + math.log(float(priors @ np.exp(power - top))) + math.log(delta)

    low, high = 0.0, 1 - _FINE
    if excess(high) < 0:
        return 1.0
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) >= 0 else (middle, high)
    return high
