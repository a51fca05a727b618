"""Upper bounds on the expected loss in the population: the formulas.

The proofs are in docs/theory/bounds.md. Notation: row i has the share ``v_i`` of the weight, and
``g_i`` in [-1, 1] is the gain on it of the worst swap of the worst task in the population;
the loss in the population is the mean of g.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core._regret import limits
from rainproof.core.arrays import Floats, Frozen
from rainproof.core.cells import CellTable, split, sum_on_grid
from rainproof.core.curve import (
    RoundedSample,
    SwapCurve,
    SwitchCurve,
    corners,
    cut,
    envelope,
    isotonic,
)
from rainproof.core.distinct import DistinctTable
from rainproof.core.sample import Sample
from rainproof.core.validation import ThresholdRange
from rainproof.errors import InputError
from rainproof.inference.options import bisected, check_max_weight


def draw_table(sample: Sample, m: int) -> CellTable:
    """Return sums on a grid at least as fine as ``1/m``, with the squared weights of draws.

    In a bound a group is one draw, and each of its rows counts like a row with the weight of the
    whole group: its squared weight is replaced by its weight times that of its group.
    """
    cells, group = sample._cell_table(m), sample._group
    if group is None:
        return cells
    weight = sample.mass
    cell, _ = split(sample.prob, cells.m)  # exact: m is a power of two
    at = np.searchsorted(cells.slot, 2 * cell + sample.event)
    some = weight > 0
    products = np.bincount(
        at[some], (weight * sample._draw_weight[group])[some], minlength=len(cells.slot)
    )
    return replace(cells, squares=products.astype(np.float64))


# The tilts of the mixture, in units of Hoeffding's (best if |g| = 1 on every row), and their prior
# weights.
FACTORS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
PRIORS = np.array([4, 1, 1, 1, 1]) / 8
# The same if the number of draws is not fixed: tilts per draw that do not depend on it. At all
# times at once.
_EACH = 2.0 ** -np.arange(22)
_EACH_PRIORS = 1 / ((np.arange(22) + 1.0) * (np.arange(22) + 2.0))
# of ranges of groups; more are of ranges that hold less than 4^-21 of the squared sizes
_MOST_TILTS = 22
_CUBIC = 0.265  # not below the largest value of (x - tanh x) / x^2
_FINE, _HALVINGS = 1e-12, 40
# of the search for the mean gain on events; evidence that is counted as so much
_STEPS, _MUCH = 100, 30.0


Outcomes = tuple[Floats, float]


def given_outcomes(sample: Sample) -> Outcomes | None:
    """How many rows have each outcome (no event, event), and the base rate; None without one.

    Given the outcomes the rows are independent. With ``G_y`` the mean of g for outcome y in the
    population, its loss is ``r G_1 + (1 - r) G_0``, and the mean of ``exp(-tilt C)``, C the charged
    loss, is at most the product over outcomes of ``(1 - G_y tanh(tilt v_y))^(n_y)``, v_y the share
    of a row.
    """
    if sample._rates is None:
        return None
    return np.array([sample.n - sample._events, sample._events], np.float64), sample.event_rate


def _row_shares(outcomes: Outcomes) -> Floats:
    """The share of a row of each outcome."""
    n, rate = outcomes
    return np.array([1 - rate, rate]) / n


def outcome_charges(outcomes: Outcomes, tilt: float) -> Floats:
    """The charge for chance per unit of share, by outcome."""
    x = tilt * _row_shares(outcomes)
    return log_cosh(x) / x


def _at_most_given(outcomes: Outcomes, paid: Floats, tilt: Floats, delta: float) -> float:
    """The largest loss of all means ``G_0``, ``G_1`` in [-1, 1] for which the mixture does not
    exceed 1/delta.

    The mixture is convex in both, and at most 1 where both are 0, so of each loss the smallest
    mixture counts.
    """
    # by outcome and tilt
    (n, rate), pull = outcomes, np.tanh(tilt * _row_shares(outcomes)[:, None])
    odds, start = rate / (1 - rate), np.log(PRIORS) - paid

    def excess(loss: float) -> float:
        last = min(1.0, (loss + (1 - rate)) / rate)
        first = min(max(-1.0, (loss - (1 - rate)) / rate), last)
        low, high, events, untried = first, last, min(max(loss, first), last), {first, last}
        # Newton's, an end that it points beyond, or half of the range that is left
        for _ in range(_STEPS):
            left = 1 - np.array([[min((loss - rate * events) / (1 - rate), 1.0)], [events]]) * pull
            with np.errstate(divide="ignore"):
                power = start - n @ np.log(left)
                top = float(power.max())
                if top == math.inf:
                    if events not in (first, last) or high - low <= _FINE:
                        return top
                    events = (low + high) / 2
                    continue
                share, each = np.exp(power - top), (n[:, None] * pull / left) * [[-odds], [1.0]]
                share /= share.sum()
                slope = float(share @ each.sum(axis=0))
                bend = (
                    float(share @ (each.sum(axis=0) ** 2 + (each**2 / n[:, None]).sum(axis=0)))
                    - slope**2
                )
            beyond = (events == first and slope > 0) or (events == last and slope < 0)
            if beyond or slope**2 <= _FINE * bend or high - low <= _FINE:
                break
            low, high = (low, events) if slope > 0 else (events, high)
            events -= slope / bend
            if not low < events < high:
                end = low if events <= low else high
                events = end if end in untried else (low + high) / 2
                untried.discard(end)
        return top + math.log(float(np.exp(power - top).sum())) + math.log(delta)

    if excess(1.0) <= 0:
        return 1.0
    from scipy.optimize import brentq  # which takes as long to import as a small assessment

    return min(
        float(brentq(lambda loss: min(excess(loss), _MUCH), 0.0, 1.0, xtol=_FINE)) + _FINE, 1.0
    )


@dataclass(frozen=True, slots=True, eq=False)
class BoundInputs(Frozen):
    """The inputs of a bound: one column for each point of a grid that rows are rounded to, or
    distinct prediction.

    `n` counts independent draws: rows, or groups of them. `shares` and `square` hold for each
    outcome (rows: no event, event) the shares of the weight, and an upper bound on the sum of
    squared shares (of the products with the share of the group). `plug_in` is the loss on the
    sample itself. With `monotone`, actions follow the predictions as they are, and are compared
    with monotone recalibrations; else predictions are rounded, and the comparison is with all
    swaps. `within` has the thresholds of the tasks that the bound is about, if not all.
    """

    prob: Floats
    n: float
    effective_n: float
    shares: Floats
    square: Floats
    plug_in: float
    monotone: bool
    within: ThresholdRange | None = None
    outcomes: Outcomes | None = None

    @classmethod
    def rounded(
        cls,
        sample: Sample,
        m: int,
        cells: CellTable | None = None,
        within: ThresholdRange | None = None,
    ) -> BoundInputs:
        """Round the sample to ``1/m``; `cells` are its `draw_table` on a grid at least that fine,
        if known.
        """
        rounded, total, n, outcomes = (
            sample.on_grid(m),
            sample.total_weight,
            sample.n_draws,
            given_outcomes(sample),
        )
        positive = np.minimum(rounded.positive, rounded.weight)
        square = shares = np.stack([rounded.weight - positive, positive]) / total
        effective_n = sample.effective_n
        if outcomes is None:
            cells = draw_table(sample, m) if cells is None else cells
            square, effective_n = (
                _soft_squares(cells, rounded) / total**2,
                total**2 / float(cells.squares.sum()),
            )
        return cls(
            prob=rounded.index / rounded.m,
            n=n,
            effective_n=min(effective_n, float(n)),
            shares=shares,
            square=square,
            plug_in=rounded.curve().restricted(within).chord.loss,
            monotone=False,
            within=within,
            outcomes=outcomes,
        )

    @classmethod
    def as_is(
        cls, sample: Sample, effective_n: float | None = None, within: ThresholdRange | None = None
    ) -> BoundInputs:
        """Pool equal predictions; those of a compressed sample are rounded down to its grid.

        `effective_n` is that of the sample, unless a largest weight is stated.
        """
        if sample.grid is None:
            curve = SwapCurve.from_table(sample.distinct(), "monotone")
        else:
            curve = sample.on_grid(sample.grid, "hard").curve("monotone")
        table, total, n = curve.table, sample.total_weight, sample.n_draws
        effective_n = min(sample.effective_n if effective_n is None else effective_n, float(n))
        shares = np.stack([table.negative, table.positive]) / total
        outcomes, square = given_outcomes(sample), shares
        if outcomes is None and not even(n, effective_n):
            square = _pooled_squares(sample, table) / total**2
        plug_in = curve.restricted(within).chord.loss
        return cls(
            table.prob,
            n,
            effective_n,
            shares,
            square,
            plug_in,
            monotone=True,
            within=within,
            outcomes=outcomes,
        )

    def charge(self, tilt: float) -> Floats:
        """The charge for chance per unit of gain or loss, by entry: at least ``sum_i ln cosh(tilt
        v_i) / tilt``.
        """
        if self.outcomes is not None:
            return outcome_charges(self.outcomes, tilt)[:, None] * self.shares
        rate, by_square = charge_rate(self.n, self.effective_n, tilt)
        return np.minimum(rate * self.square, self.shares) if by_square else rate * self.shares

    def charged_loss(self, tilt: float) -> float:
        """Return the largest ``sum_i v_i g_i + charge_i |g_i|`` over all tasks with payoffs in [0,
        1] and all swaps.

        It is the CDL of the sample with gains a little larger and losses a little smaller. At
        threshold mu that is a regret curve again, with different weights for swaps up and for swaps
        down. A monotone recalibration moves the cut-off: it swaps rows up or rows down, never both.
        With the weights of swaps up, isotonic regression finds the best cut-off, and swaps down
        count less than they should; with those of swaps down it is the other way round. So the
        larger of the two curves is right.
        """
        extra = self.charge(tilt)
        more, less = self.shares + extra, self.shares - extra
        prob, up, down = self.prob, (less[0], more[1]), (more[0], less[1])
        mu = corners(prob, self.within)
        if self.monotone:
            sides = np.maximum(_rising_curve(prob, *up, mu), _rising_curve(prob, *down, mu))
        else:
            sides = one_way_curve(prob, *up, mu, up=True) + one_way_curve(prob, *down, mu, up=False)
        _, left, right = cut((mu, sides[0], sides[1]), self.within)
        return 2 * envelope(mu, np.maximum(left, right)).value


def _pooled_squares(sample: Sample, table: DistinctTable) -> Floats:
    """The squared weight (the weight times that of the group) of the rows of each prediction and
    outcome.
    """
    if sample.grid is not None:
        cells = sample._cell_table(sample.grid)
        outcome, prob, square = cells.slot & 1, (cells.slot >> 1) / cells.m, cells.squares
    else:
        weight = sample.mass
        some = weight > 0
        outcome, prob = sample.event[some].astype(np.int64), sample.prob[some]
        together = weight if sample._group is None else sample._draw_weight[sample._group]
        square = (weight * together)[some]
    at = np.searchsorted(table.prob, prob) + len(table.prob) * outcome.astype(np.intp)
    return (
        np.bincount(at, square, 2 * len(table.prob)).reshape(2, -1).astype(np.float64, copy=False)
    )


def _rising_curve(prob: Floats, negative: Floats, positive: Floats, mu: Floats) -> Floats:
    """Both limits, at the thresholds, of the regret curve against all monotone recalibrations."""
    # without rows whose weight is charged away in full
    table = DistinctTable(prob, negative, positive).occupied()
    return np.stack(limits(table.prob, table.negative, table.positive, isotonic(table), mu, 1.0))


def _soft_squares(cells: CellTable, rounded: RoundedSample) -> Floats:
    """An upper bound on the squared weight in each bin: the place of a row within its cell is not
    known.
    """
    # at the lower end of the cell, where least is rounded up
    cell, up = split((cells.slot >> 1) / cells.m, rounded.m)
    low, high = cells.squares * (1 - up), cells.squares * (up + rounded.m / cells.m)
    by_outcome = (cells.slot & 1 == y for y in (0, 1))
    found = [
        sum_on_grid(cell[some], low[some], high[some], rounded.m)[rounded.index]
        for some in by_outcome
    ]
    return np.stack(found)


def hoeffding(plug_in: float, effective_n: float, delta: float) -> float:
    """Return ``CDL(S_m) + sqrt(2 ln(1/delta) / effective_n)``."""
    return min(1.0, plug_in + math.sqrt(2 * math.log(1 / delta) / effective_n))


def tilts(effective_n: float, delta: float) -> Floats:
    """Return the tilts of the adaptive bound: they depend on the number of rows only."""
    return np.asarray(FACTORS * np.sqrt(2 * np.log(1 / (PRIORS * delta)) * effective_n))


def charge_rate(n: float, effective_n: float, tilt: float) -> tuple[float, bool]:
    """The charge per unit of share; or, if weights are unequal, per unit of squared share, and at
    most the share.
    """
    if even(n, effective_n):
        x = tilt / n
        return float(log_cosh(x)) / x, False
    return tilt / 2, True  # ln cosh x <= min(x^2 / 2, x)


def charged_switch(curve: SwitchCurve, n: float, effective_n: float, tilt: float) -> float:
    """The largest loss by a switch, with the charge for chance."""
    rate, by_square = charge_rate(n, effective_n, tilt)
    return 2 * curve.chord(rate, by_square=by_square).value


def log_cosh(x: ArrayLike) -> Floats:
    """``ln cosh x`` for x >= 0, without overflow and precise near 0."""
    x = np.asarray(x, np.float64)
    near = np.log1p(2 * np.sinh(np.minimum(x, 1.0) / 2) ** 2)  # cosh x = 1 + 2 sinh(x / 2)^2
    return np.asarray(np.where(x < 1, near, x + np.log1p(np.exp(-2 * x)) - math.log(2)))


def one_way_curve(
    prob: Floats, negative: Floats, positive: Floats, mu: Floats, *, up: bool
) -> Floats:
    """Return both limits, at the thresholds, of the regret curve of swaps in one direction."""
    weight = negative + positive
    rate = np.divide(positive, weight, out=prob.copy(), where=weight > 0)
    toward = np.maximum(rate, prob) if up else np.minimum(rate, prob)
    return np.stack(
        limits(
            prob, np.ascontiguousarray(negative), np.ascontiguousarray(positive), toward, mu, 1.0
        )
    )


def at_most(
    charged: Callable[[float], float],
    n: float,
    effective_n: float,
    delta: float,
    *,
    anytime: bool = False,
    outcomes: Outcomes | None = None,
) -> float:
    """Return the smallest L such that a population with a larger loss gives such rows with
    probability at most delta.

    For each tilt ``exp(-tilt C) / (1 - L T / n)^n`` has mean at most 1 at the population's own loss
    L, with C the charged loss and T the sum of ``tanh(tilt v_i)``. So has their mixture, which
    therefore exceeds 1/delta with chance at most delta. Every upper bound of rainproof is this one.

    With `anytime`, for n equal draws, the tilt per draw does not depend on n, so that each factor
    of the mixture is a supermartingale in n, and the bound holds for every n at once. With
    `outcomes`, of a sample with a base rate, the tilts depend on the outcomes alone, which are
    given.
    """
    if anytime:
        tilt, pull, priors = n * _EACH, n * np.tanh(_EACH), _EACH_PRIORS
    else:
        tilt = tilts(effective_n, delta)
        pull, priors = pulls(tilt, n, effective_n), PRIORS
    losses = np.array([charged(float(a)) for a in tilt])
    if outcomes is not None:
        return _at_most_given(outcomes, tilt * losses, np.asarray(tilt, np.float64), delta)
    return _invert(tilt * losses, pull, n, delta, priors)


def loss_at_most(evidence: BoundInputs, delta: float, equal_draws: float | None = None) -> float:
    """The bound on the loss in the population.

    `equal_draws` is given where the number of draws is not fixed, or where weights may depend on
    the rows but have a largest possible value: a row then counts as the share ``w / max_weight`` of
    a draw.
    """
    if equal_draws is None:
        return at_most(
            evidence.charged_loss,
            evidence.n,
            evidence.effective_n,
            delta,
            outcomes=evidence.outcomes,
        )
    even = replace(evidence, n=equal_draws, effective_n=equal_draws)
    return at_most(even.charged_loss, equal_draws, equal_draws, delta, anytime=True)


def largest_draws(sample: Sample, max_weight: float) -> float:
    """Return how many draws of the largest possible weight, as stated, weigh as much as the rows."""
    if sample._rates is not None:
        raise InputError(
            "base_rate cannot be combined with max_weight: the rows of an outcome weigh alike"
        )
    if sample.grid is not None:  # the largest that its sums prove
        largest = float((sample._cells.squares / sample._cells.weight[0]).max())
    elif sample._group is not None:
        largest = float(sample._draw_weight.max())
    else:
        largest = 1.0 if sample.sample_weight is None else float(sample.sample_weight.max())
    return sample.total_weight / check_max_weight(max_weight, largest)


def rate_slack(draws: Floats, doubt: float) -> Floats:
    """How far means of values in [0, 1] may be off, given how many draws of the largest possible
    weight they are of.

    Each mean is off by more, in either direction, with a probability of at most `doubt`, whatever
    weights depend on.
    """
    chance = np.log(2 / (doubt * _EACH_PRIORS))[:, None]
    return np.asarray((_EACH[:, None] / 8 + chance / (_EACH[:, None] * draws)).min(axis=0))


def slack_of_groups(weight: Floats, products: Floats, sizes: Floats, doubt: float) -> Floats:
    r"""How far weighted event rates in ranges of predictions may be off, for groups of fixed sizes.

    `weight` has the weight W of all rows in each range, `products` the sum over its rows of their
    weight times the size (the weight) of their group. Each rate is off by more, in either
    direction, with a probability of at most `doubt`.

    Notes
    -----
    Let q be the rate of the range in the population, T in [0, 1] the share of a group of size s that lies in the range,
    and r the rate there. If sizes do not depend on predictions or outcomes, ``T (r - q)`` has mean 0 given s, and

    .. math:: \exp(x T (r - q) - x^2 T / 8) \le 1 - T + T \exp(x (r - q) - x^2 / 8)

    has mean at most 1 (Hoeffding's lemma). So for each fixed tilt x the rate is off by more than
    ``x products / 8 W + log(2 / doubt) / (x W)`` with a probability of at most `doubt`. The best
    tilt depends on `products`, which depend on the rows. So several are tried, at equal shares of
    the error probability: the best one for a range that holds all rows, and its multiples by powers
    of 2, up to the best one for a range of the smallest group alone.
    """
    relative = sizes[sizes > 0] / sizes.max()
    squares = float((relative * relative).sum())
    tilts_tried = min(_MOST_TILTS, math.ceil(math.log(squares / relative.min() ** 2, 4)) + 1)
    chance = math.log(2 * tilts_tried / doubt)
    tilt = 2.0 ** np.arange(tilts_tried)[:, None] * math.sqrt(8 * chance / squares) / sizes.max()
    return np.asarray((tilt * products / 8 + chance / tilt).min(axis=0) / weight)


def check_equal(n: float, effective_n: float) -> None:
    """Refuse unequal weights without a stated largest one, for which no bound at any time is
    proven.
    """
    if not even(n, effective_n):
        raise InputError(
            "anytime must be False where weights or sizes of groups differ (guarantee takes them with max_weight): "
            f"{n:,} draws count as {effective_n:,.1f} of equal weight"
        )


def extremes(n: int, plug_in: float, delta: float) -> tuple[float, float]:
    """Return the smallest value of `at_most` for n equal rows, and the largest if CDL(S_m) is at
    most `plug_in`.

    The smallest is that of perfect predictions of 0 and 1. The largest is not above Hoeffding's
    bound at half the delta: gain and loss of a row are at most 1, so the rows pay at most ``n ln
    cosh(tilt / n)``.
    """
    chosen = tilts(n, delta)
    pull = pulls(chosen, n, n)
    most = chosen * plug_in + n * log_cosh(chosen / n)
    return _invert(0 * chosen, pull, n, delta), _invert(most, pull, n, delta)


def pulls(tilt: Floats, n: float, effective_n: float) -> Floats:
    """``sum_i tanh(tilt v_i)`` for equal weights, else a bound from below."""
    if even(n, effective_n):
        return np.asarray(n * np.tanh(tilt / n))
    return np.asarray(np.maximum(tilt - _CUBIC * tilt**2 / effective_n, 0.0))


def even(n: float, effective_n: float) -> bool:
    """Whether all rows have the same weight, up to rounding."""
    return effective_n > n * (1 - 1e-12)


def _invert(paid: Floats, pull: Floats, n: float, delta: float, priors: Floats = PRIORS) -> float:
    """The smallest L in [0, 1] with ``sum of priors * exp(-paid - n ln(1 - L pull / n)) >=
    1/delta``; 1 if none has.
    """
    # so few that arrays would be slower
    each: list[list[float]] = np.stack([paid, pull, priors], axis=1).tolist()

    def excess(loss: float) -> float:
        power = [-cost - n * math.log1p(-loss * share / n) for cost, share, _ in each]
        top = max(power)
        mean = sum(
            prior * math.exp(one - top) for one, (_, _, prior) in zip(power, each, strict=True)
        )
        return top + math.log(mean) + math.log(delta)

    most = 1 - _FINE
    return (
        1.0 if excess(most) < 0 else bisected(lambda loss: excess(loss) >= 0, 0.0, most, _HALVINGS)
    )
