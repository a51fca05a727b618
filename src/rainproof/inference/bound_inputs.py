"""What an upper bound takes of a sample: shares of the weight by prediction and outcome.

The formulas are in `rainproof.inference.bounds`, the proofs in docs/theory/bounds.md. The design
decides here which of them apply: given outcomes (a base rate), a stated largest weight, clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rainproof.core._regret import limits
from rainproof.core.arrays import Floats, Frozen, sums_by
from rainproof.core.cells import CellTable, split, sum_on_grid
from rainproof.core.curve import RoundedSample, SwapCurve, corners, cut, envelope, isotonic
from rainproof.core.distinct import DistinctTable
from rainproof.core.sample import Sample
from rainproof.core.validation import ThresholdRange
from rainproof.inference.bounds import GivenOutcomes, charge_rate, even, upper_bound


def given_outcomes(sample: Sample) -> GivenOutcomes | None:
    """Return how many rows have each outcome, where this is given; None without a base rate."""
    if sample.design.strata is None:
        return None
    cases = np.array([sample.n - sample.events, sample.events], np.float64)
    return GivenOutcomes(cases, sample.event_rate)


def draw_table(sample: Sample, m: int) -> CellTable:
    """Return sums on a grid at least as fine as ``1/m``, with the squared weights of draws.

    In a bound a group is one draw, and each of its rows counts like a row with the weight of the
    whole group: its squared weight is replaced by its weight times that of its group.
    """
    cells = sample.tables.cell_table(m)
    unit = sample.units.unit
    if unit is None:
        return cells
    weight = sample.mass
    cell, _ = split(sample.prob, cells.m)  # exact: m is a power of two
    place = np.searchsorted(cells.slot, 2 * cell + sample.event)
    counted = weight > 0
    products = (weight * sample.units.weight[unit])[counted]
    return replace(cells, squares=sums_by(place[counted], products, len(cells.slot)))


@dataclass(frozen=True, slots=True, eq=False)
class BoundInputs(Frozen):
    """The inputs of a bound: one column for each point of a grid that rows are rounded to, or
    distinct prediction.

    Attributes
    ----------
    prob : ndarray of shape (entries,)
        The points or predictions.
    n : float
        The number of independent draws: rows, or groups of them.
    effective_n : float
        How many draws of equal weight are as many.
    shares : ndarray of shape (2, entries)
        By outcome (no event, event): the shares of the weight.
    square : ndarray of shape (2, entries)
        An upper bound on the sum of squared shares (of the products with the share of the group).
    plug_in : float
        The loss on the sample itself.
    monotone : bool
        Whether actions follow the predictions as they are, and are compared with monotone
        recalibrations; else predictions are rounded, and the comparison is with all swaps.
    within : ThresholdRange or None
        The thresholds of the tasks that the bound is about, if not all.
    outcomes : GivenOutcomes or None
        The outcomes, where rows were chosen by them.
    """

    prob: Floats
    n: float
    effective_n: float
    shares: Floats
    square: Floats
    plug_in: float
    monotone: bool
    within: ThresholdRange | None = None
    outcomes: GivenOutcomes | None = None

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
        rounded = sample.on_grid(m)
        total = sample.total_weight
        outcomes = given_outcomes(sample)
        positive = np.minimum(rounded.positive, rounded.weight)  # which rounding can exceed
        shares = np.stack([rounded.weight - positive, positive]) / total
        if outcomes is not None:
            square = shares  # which no charge for given outcomes asks for
            effective_n = sample.effective_n
        else:
            if cells is None:
                cells = draw_table(sample, m)
            square = _soft_squares(cells, rounded) / total**2
            effective_n = total**2 / float(cells.squares.sum())
        return cls(
            prob=rounded.index / rounded.m,
            n=sample.n_draws,
            effective_n=min(effective_n, float(sample.n_draws)),
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
        table = curve.table
        n = sample.n_draws
        if effective_n is None:
            effective_n = sample.effective_n
        effective_n = min(effective_n, float(n))
        shares = np.stack([table.negative, table.positive]) / sample.total_weight
        outcomes = given_outcomes(sample)
        square = shares  # which no charge asks for, if rows of an outcome weigh alike
        if outcomes is None and not even(n, effective_n):
            square = _pooled_squares(sample, table) / sample.total_weight**2
        return cls(
            prob=table.prob,
            n=n,
            effective_n=effective_n,
            shares=shares,
            square=square,
            plug_in=curve.restricted(within).chord.loss,
            monotone=True,
            within=within,
            outcomes=outcomes,
        )

    def charge(self, tilt: float) -> Floats:
        """The charge for chance per unit of gain or loss, by entry: at least ``sum_i ln cosh(tilt
        v_i) / tilt``.
        """
        if self.outcomes is not None:
            return self.outcomes.charges(tilt)[:, None] * self.shares
        charge = charge_rate(self.n, self.effective_n, tilt)
        if charge.by_square:
            return np.minimum(charge.rate * self.square, self.shares)
        return charge.rate * self.shares

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
        more = self.shares + extra
        less = self.shares - extra
        # A swap up gains where the event occurs and loses elsewhere; a swap down the other way.
        upward = less[0], more[1]
        downward = more[0], less[1]
        mu = corners(self.prob, self.within)
        if self.monotone:
            sides = np.maximum(
                _rising_curve(self.prob, *upward, mu), _rising_curve(self.prob, *downward, mu)
            )
        else:
            sides = _one_way_curve(self.prob, *upward, mu, up=True)
            sides = sides + _one_way_curve(self.prob, *downward, mu, up=False)
        _, left, right = cut((mu, sides[0], sides[1]), self.within)
        return 2 * envelope(mu, np.maximum(left, right)).value


def loss_at_most(inputs: BoundInputs, delta: float, equal_draws: float | None = None) -> float:
    """The bound on the loss in the population.

    `equal_draws` is given where the number of draws is not fixed, or where weights may depend on
    the rows but have a largest possible value: a row then counts as the share ``w / max_weight`` of
    a draw.
    """
    if equal_draws is None:
        return upper_bound(
            inputs.charged_loss, inputs.n, inputs.effective_n, delta, outcomes=inputs.outcomes
        )
    equal = replace(inputs, n=equal_draws, effective_n=equal_draws)
    return upper_bound(equal.charged_loss, equal_draws, equal_draws, delta, anytime=True)


def _one_way_curve(
    prob: Floats, negative: Floats, positive: Floats, mu: Floats, *, up: bool
) -> Floats:
    """Return both limits, at the thresholds, of the regret curve of swaps in one direction."""
    weight = negative + positive
    rate = np.divide(positive, weight, out=prob.copy(), where=weight > 0)
    toward = np.maximum(rate, prob) if up else np.minimum(rate, prob)
    negative = np.ascontiguousarray(negative)
    positive = np.ascontiguousarray(positive)
    return np.stack(limits(prob, negative, positive, toward, mu, 1.0))


def _rising_curve(prob: Floats, negative: Floats, positive: Floats, mu: Floats) -> Floats:
    """Both limits, at the thresholds, of the regret curve against all monotone recalibrations."""
    # without rows whose weight is charged away in full
    table = DistinctTable(prob, negative, positive).occupied()
    return np.stack(limits(table.prob, table.negative, table.positive, isotonic(table), mu, 1.0))


def _pooled_squares(sample: Sample, table: DistinctTable) -> Floats:
    """The squared weight (the weight times that of the group) of the rows of each prediction and
    outcome.
    """
    if sample.grid is not None:
        cells = sample.tables.cell_table(sample.grid)
        outcome = cells.slot & 1
        prob = (cells.slot >> 1) / cells.m
        square = cells.squares
    else:
        weight = sample.mass
        unit = sample.units.unit
        counted = weight > 0
        outcome = sample.event[counted].astype(np.int64)
        prob = sample.prob[counted]
        weight_of_unit = weight if unit is None else sample.units.weight[unit]
        square = (weight * weight_of_unit)[counted]
    size = len(table.prob)
    place = np.searchsorted(table.prob, prob) + size * outcome.astype(np.intp)
    return sums_by(place, square, 2 * size).reshape(2, -1)


def _soft_squares(cells: CellTable, rounded: RoundedSample) -> Floats:
    """An upper bound on the squared weight in each bin: the place of a row within its cell is not
    known.
    """
    # at the lower end of the cell, where least is rounded up
    cell, up = split((cells.slot >> 1) / cells.m, rounded.m)
    low = cells.squares * (1 - up)
    high = cells.squares * (up + rounded.m / cells.m)
    squares = []
    for outcome in (0, 1):
        counted = cells.slot & 1 == outcome
        on_grid = sum_on_grid(cell[counted], low[counted], high[counted], rounded.m)
        squares.append(on_grid[rounded.index])
    return np.stack(squares)
