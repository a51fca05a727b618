"""Bets against a forecast: each is a recalibration that would have predicted better if the forecast
is miscalibrated.

If the forecast is calibrated, ``E[y | p, past] = p``, no bet gains in expectation. A bet on one row
multiplies a wealth by ``q(y) / p(y)``, with q the recalibrated prediction. A bet on a batch of
rows, whose outcomes may depend on each other, multiplies it by ``1 + L mean(c(p) (y - p))``, with
``c = (q - p) / (p (1 - p))`` and L so small that it stays positive whatever the outcomes are. What
is summed by period has ranges of predictions in place of rows.

The test that bets on rows is in `rainproof.inference.sequential`, the detector of changes in
`rainproof.inference.detector`; the proofs are in docs/theory/sequential.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from rainproof.core.arrays import Floats, Ints, sums_by
from rainproof.core.cells import mean_prediction
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample

# The recalibrations: logistic maps, and shifts of the log odds within equal cells of [0, 1]. They
# were chosen once, before any data: docs/theory/sequential.md.
SLOPES = (0.4, 0.6, 0.8, 1.0, 1.25, 1.67, 2.5)
INTERCEPTS = (-0.8, -0.3, 0.0, 0.3, 0.8)
LEVELS = (1, 2, 4, 8, 16)  # the numbers of equal cells of [0, 1]
SHIFTS = (-1.6, -0.8, -0.4, -0.2, 0.2, 0.4, 0.8, 1.6)

_MAPS = np.array(list(product(SLOPES, INTERCEPTS)))
_CELLS = [(level, cell) for level, cell in product(LEVELS, range(max(LEVELS))) if cell < level]
_FIRST_CELL = np.cumsum([0, *LEVELS])[:-1]  # the number of the first cell of each level
COUNT = len(_MAPS) + len(_CELLS) * len(SHIFTS)

# The share of the largest stake that a bet puts on a batch: one half for the maps; the more the
# larger the shift, for the cells (docs/theory/sequential.md).
_STAKE_OF_MAP = 0.5
_STAKE_OF_SHIFT = {0.2: 1 / 8, 0.4: 1 / 4, 0.8: 1 / 2, 1.6: 15 / 16}
_STAKE_SHARES = np.array(
    [_STAKE_OF_MAP] * len(_MAPS) + [_STAKE_OF_SHIFT[abs(shift)] for shift in SHIFTS] * len(_CELLS)
)
_GRID = 1 << 16  # finer than what is summed, unless a sample was stored on a coarser one
_RANGE_WIDTH = 0.25  # of a range of predictions, in log odds
# events of a period, on average: with fewer the logarithm of what they win is not nearly a parabola
_FEW_EVENTS = 50.0
_MOST_EVENTS = 150  # that are counted then: twice as far as chance goes
LARGEST_LOG = 700.0  # the exponential of more is beyond all doubles


@result_class
class Bet(Result):
    """What one of the bets says is wrong with the forecast.

    Attributes
    ----------
    slope, shift : float
        Of the log odds: the bet says that they should be multiplied by `slope`, and `shift` added.
    low, high : float
        The range of the predictions that it is about.
    """

    slope: float
    shift: float
    low: float
    high: float

    def __str__(self) -> str:
        where = ""
        if (self.low, self.high) != (0, 1):
            where = f" between {self.low:g} and {self.high:g}"
        errors = []
        if self.slope != 1:
            error = "too extreme" if self.slope < 1 else "not extreme enough"
            errors.append(f"{error} (log odds times {self.slope:g})")
        if self.shift:
            error = "too low" if self.shift > 0 else "too high"
            errors.append(f"{error} (log odds {self.shift:+g})")
        return f"predictions{where} are {' and '.join(errors) or 'right'}"


def bet(number: int) -> Bet:
    """Return what the bet of a number says."""
    if number < len(_MAPS):
        slope, shift = _MAPS[number].tolist()
        return Bet(slope=slope, shift=shift, low=0.0, high=1.0)
    cell_number, shift_number = divmod(number - len(_MAPS), len(SHIFTS))
    level, cell = _CELLS[cell_number]
    return Bet(slope=1.0, shift=SHIFTS[shift_number], low=cell / level, high=(cell + 1) / level)


class RangeSums(NamedTuple):
    """The rows of a period, summed in ranges of predictions: all that bets on them use.

    Attributes
    ----------
    n : int
        The number of rows.
    weight, mean, events : ndarray of float
        Of each range the share of the rows, their mean prediction, and the share of the rows that
        have the event there.
    """

    n: int
    weight: Floats
    mean: Floats
    events: Floats

    @classmethod
    def of(cls, sample: Sample) -> RangeSums:
        """Sum a sample. The ranges are cells of its grid, a quarter wide in log odds where the grid
        is that fine.
        """
        table = sample.tables.cell_table(_GRID)
        cell = table.slot >> 1
        weight = table.weight[0] / sample.total_weight
        middle = (np.minimum(cell, table.m - 1) + 0.5) / table.m
        place = np.floor(np.log(middle / (1 - middle)) / _RANGE_WIDTH)
        place[cell == table.m] = math.inf
        _, number = np.unique(place, return_inverse=True)
        mean = mean_prediction(table.m, cell, table.rise[0], table.weight[0])
        return cls._summed(sample.n, number, weight, mean, weight * (table.slot & 1))

    @classmethod
    def pooled(cls, periods: Sequence[RangeSums]) -> RangeSums:
        """A period like these on average: the mean number of rows, and the mean shares in ranges of
        log odds.
        """
        weight = np.concatenate([period.weight for period in periods]) / len(periods)
        mean = np.concatenate([period.mean for period in periods])
        events = np.concatenate([period.events for period in periods]) / len(periods)
        _, number = np.unique(np.floor(_log_odds(mean) / _RANGE_WIDTH), return_inverse=True)
        n = round(sum(period.n for period in periods) / len(periods))
        return cls._summed(n, number, weight, mean, events)

    @classmethod
    def _summed(
        cls, n: int, number: Ints, weight: Floats, mean: Floats, events: Floats
    ) -> RangeSums:
        """Sum entries by the number of their range."""
        total = sums_by(number, weight)
        expected = sums_by(number, weight * mean)
        observed = sums_by(number, events)
        return cls(n, total, np.clip(expected / total, 0, 1), observed)

    def shifts(self) -> Floats:
        """What each bet adds to the log odds in each range: it is known before the outcomes."""
        log_odds = _log_odds(self.mean)
        n_ranges = len(self.mean)
        shifts = np.zeros((COUNT, n_ranges))
        slope = _MAPS[:, :1]
        intercept = _MAPS[:, 1:]
        shifts[: len(_MAPS)] = (slope - 1) * log_odds + intercept
        of_cells = shifts[len(_MAPS) :].reshape(len(_CELLS), len(SHIFTS), n_ranges)
        inside = _inside(self.mean)
        for level, first in zip(LEVELS, _FIRST_CELL.tolist(), strict=True):
            cell = np.minimum((level * inside).astype(np.int64), level - 1)
            of_cells[first + cell, :, np.arange(n_ranges)] = SHIFTS
        return shifts

    def bets(self, *, dependent: bool) -> Floats:
        """The logarithm of what each bet multiplies its wealth by."""
        return self._log_factors(self.shifts(), self.mean, _STAKE_SHARES if dependent else None)

    def favours_forecast(self, number: int, *, dependent: bool) -> float:
        """The logarithm of the same for a bet on the forecast, if the recalibration of the bet of a
        number is right.
        """
        shift = self.shifts()[number : number + 1]
        right = self.mean * np.exp(shift[0]) / (1 + self.mean * np.expm1(shift[0]))
        stake_share = _STAKE_SHARES[number : number + 1] if dependent else None
        return float(self._log_factors(-shift, right, stake_share)[0])

    def score(self, number: int, *, dependent: bool) -> tuple[float, float]:
        """What the bet of a number is about, the sum of ``c(p) (y - p)``, and its variance if the
        forecast is calibrated.

        Where rows may depend on each other it is the mean, of which the variance is not known: 1,
        in each period.
        """
        growth = np.expm1(self.shifts()[number])
        slope = growth / (1 + self.mean * growth)
        gain = float(slope @ (self.events - self.weight * self.mean))
        if dependent:
            return gain, 1.0
        variance = self.weight * self.mean * (1 - self.mean)
        return self.n * gain, self.n * float(slope**2 @ variance)

    def shifted(self, shift: float) -> Floats:
        """The event rate of each range if the log odds of the event are the predicted ones plus
        this.
        """
        odds = math.exp(shift)
        return self.mean * odds / (1 - self.mean + self.mean * odds)

    def growth(self, shift: float) -> Floats:
        """What each bet on a batch gains a period, if the log odds of the event are the predicted
        ones plus this.

        The mean of the logarithm of its factor, for independent outcomes: to second order in the
        chance of outcomes, and where few events count, by the law of Poisson with that mean and
        variance. Outcomes that depend on each other vary more, so that bets gain less.
        """
        event_rate = self.shifted(shift)
        expected = self.weight * self.mean
        change = np.expm1(self.shifts())
        slope = change / (1 + self.mean * change)
        stake = _stakes(_STAKE_SHARES, slope, expected, self.weight)
        observed = slope @ (self.weight * event_rate)
        balance = slope @ expected
        gain = stake * (observed - balance)
        variance = slope**2 @ (self.weight * event_rate * (1 - event_rate)) / self.n
        growth = np.log1p(gain) - stake**2 * variance / (2 * (1 + gain) ** 2)

        # Bets that all events of a period move one way, by few of them.
        is_one_sided = (slope >= 0).all(axis=1) | (slope <= 0).all(axis=1)
        few = is_one_sided & (variance > 0) & (observed**2 < _FEW_EVENTS * variance)
        growth[few] = _growth_by_few_events(
            observed=observed[few, None],
            variance=variance[few, None],
            balance=balance[few, None],
            stake=stake[few, None],
            stake_share=_STAKE_SHARES[few, None],
        )
        return growth

    def _log_factors(self, shift: Floats, mean: Floats, stake_share: Floats | None) -> Floats:
        """The bets that shift log odds of these means; with a `stake_share` on one mean of all
        rows, however they depend.

        Rows one after the other multiply a wealth by ``exp(s y) / (1 - p + p exp(s))`` each. The
        logarithm of the denominator is concave in p, so its sum over a range is at most that of as
        many rows at their mean.
        """
        growth = np.expm1(shift)
        if stake_share is None:
            log_denominator = np.log1p(mean * growth) @ self.weight
            return self.n * (shift @ self.events - log_denominator)
        slope = growth / (1 + mean * growth)
        expected = self.weight * mean
        stake = _stakes(stake_share, slope, expected, self.weight)
        return np.log1p(stake * (slope @ (self.events - expected)))


def _growth_by_few_events(
    *, observed: Floats, variance: Floats, balance: Floats, stake: Floats, stake_share: Floats
) -> Floats:
    """The mean logarithm of the factors of bets, for a number of events by the law of Poisson."""
    by_event = variance / observed  # what one event more adds to the sum
    mean_events = observed / by_event
    events = np.arange(_MOST_EVENTS)
    log_probability = events * np.log(mean_events) - mean_events - gammaln(events + 1)
    sums = by_event * events - balance
    smallest_factor = 1 - stake_share
    factor = np.maximum(1 + stake * sums, smallest_factor)
    return np.asarray((np.exp(log_probability) * np.log(factor)).sum(axis=1))


def _inside(prob: Floats) -> Floats:
    """Predictions within the middle of the first and of the last cell."""
    return np.clip(prob, 0.5 / _GRID, 1 - 0.5 / _GRID)


def _log_odds(prob: Floats) -> Floats:
    """The log odds of predictions, which are finite."""
    inside = _inside(prob)
    return np.log(inside) - np.log1p(-inside)


def _stakes(stake_share: Floats, slope: Floats, expected: Floats, weight: Floats) -> Floats:
    """The largest stakes on one mean of all rows that no outcomes can lose, times the share of each
    bet.
    """
    worst = np.maximum(slope, 0) @ expected + np.maximum(-slope, 0) @ (weight - expected)
    return np.divide(stake_share, worst, out=np.zeros(len(stake_share)), where=worst > 0)


def log_mean(log_wealth: Floats) -> Floats:
    """Return the logarithm of the mean wealth of the bets, from the logarithm of each, which are
    the last axis.
    """
    largest = log_wealth.max(axis=-1)
    return np.asarray(largest + np.log(np.exp(log_wealth - largest[..., None]).mean(axis=-1)))


def e_value(log_wealth: float) -> float:
    """Return a wealth by its logarithm; infinite if it is beyond all doubles."""
    return math.exp(log_wealth) if log_wealth < LARGEST_LOG else math.inf
