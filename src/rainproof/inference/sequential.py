"""Bets against a forecast: each is a recalibration that would have predicted better if the forecast
is miscalibrated.

If the forecast is calibrated, ``E[y | p, past] = p``, no bet gains in expectation. A bet on one row
multiplies a wealth by ``q(y) / p(y)``, with q the recalibrated prediction. A bet on a batch of
rows, whose outcomes may depend on each other, multiplies it by ``1 + L mean(c(p) (y - p))``, with
``c = (q - p) / (p (1 - p))`` and L so small that it stays positive whatever the outcomes are. What
is summed by period has ranges of predictions in place of rows.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from rainproof.core.arrays import Floats, freeze
from rainproof.core.cells import mean_prediction, sum_cells
from rainproof.core.result import Result, plain
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import html_text, p_value, percent, rows
from rainproof.core.validation import as_rows
from rainproof.errors import InputError
from rainproof.inference._bets import learn
from rainproof.inference.options import check_share

SLOPES = (0.4, 0.6, 0.8, 1.0, 1.25, 1.67, 2.5)
INTERCEPTS = (-0.8, -0.3, 0.0, 0.3, 0.8)
LEVELS = (1, 2, 4, 8, 16)  # the numbers of equal cells of [0, 1]
SHIFTS = (-1.6, -0.8, -0.4, -0.2, 0.2, 0.4, 0.8, 1.6)
_MAPS = np.array(list(product(SLOPES, INTERCEPTS)))
_CELLS = [(level, cell) for level in LEVELS for cell in range(level)]
COUNT = len(_MAPS) + len(_CELLS) * len(SHIFTS)
# The share of the largest bet on a batch: one half for the maps; the more the larger the shift, for
# the cells.
_BY_SHIFT = {0.2: 1 / 8, 0.4: 1 / 4, 0.8: 1 / 2, 1.6: 15 / 16}
_SIZES = np.array([0.5] * len(_MAPS) + [_BY_SHIFT[abs(s)] for _ in _CELLS for s in SHIFTS])
_GRID = 1 << 16  # finer than what is summed, unless a sample was stored on a coarser one
_FIRST = np.concatenate([[0], np.cumsum(LEVELS)])[:-1]  # the number of the first cell of each level
_WIDTH = 0.25  # of a range of predictions, in log odds
_NUMBERS = [np.array(each, np.float64) for each in (SLOPES, INTERCEPTS, SHIFTS)]
# events of a period, on average: with fewer the logarithm of what they win is not nearly a parabola
_FEW_EVENTS = 50.0
_MOST_EVENTS = 150  # that are counted then: twice as far as chance goes
_STEP = 512 * math.log(2)  # see `_bets`


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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
        where = (
            "" if (self.low, self.high) == (0, 1) else f" between {self.low:g} and {self.high:g}"
        )
        said = []
        if self.slope != 1:
            far = "too extreme" if self.slope < 1 else "not extreme enough"
            said.append(f"{far} (log odds times {self.slope:g})")
        if self.shift:
            way = "low" if self.shift > 0 else "high"
            said.append(f"too {way} (log odds {self.shift:+g})")
        return f"predictions{where} are {' and '.join(said) or 'right'}"


def bet(k: int) -> Bet:
    """Return what the k-th bet says."""
    if k < len(_MAPS):
        slope, shift = _MAPS[k].tolist()
        return Bet(slope=slope, shift=shift, low=0.0, high=1.0)
    cell, shift_at = divmod(k - len(_MAPS), len(SHIFTS))
    level, at = _CELLS[cell]
    return Bet(slope=1.0, shift=SHIFTS[shift_at], low=at / level, high=(at + 1) / level)


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
        cells = sample._cell_table(_GRID)
        cell, weight = cells.slot >> 1, cells.weight[0] / sample.total_weight
        middle = (np.minimum(cell, cells.m - 1) + 0.5) / cells.m
        place = np.floor(np.log(middle / (1 - middle)) / _WIDTH)
        place[cell == cells.m] = math.inf
        at, index = np.unique(place, return_inverse=True)
        mean = mean_prediction(cells.m, cell, cells.rise[0], cells.weight[0])
        parts = (weight, weight * mean, weight * (cells.slot & 1))
        total, expected, events = (
            np.bincount(index, part, len(at)).astype(np.float64) for part in parts
        )
        return cls(sample.n, total, np.clip(expected / total, 0, 1), events)

    @classmethod
    def pooled(cls, periods: Sequence[RangeSums]) -> RangeSums:
        """A period like these on average: the mean number of rows, and the mean shares in ranges of
        log odds.
        """
        weight, mean, events = (
            np.concatenate([getattr(one, name) for one in periods])
            / (1 if name == "mean" else len(periods))
            for name in ("weight", "mean", "events")
        )
        inside = np.clip(mean, 0.5 / _GRID, 1 - 0.5 / _GRID)
        at, index = np.unique(
            np.floor((np.log(inside) - np.log1p(-inside)) / _WIDTH), return_inverse=True
        )
        total, expected, seen = (
            np.bincount(index, part, len(at)).astype(np.float64)
            for part in (weight, weight * mean, events)
        )
        rows_each = round(sum(one.n for one in periods) / len(periods))
        return cls(rows_each, total, np.clip(expected / total, 0, 1), seen)

    def shifts(self) -> Floats:
        """What each bet adds to the log odds in each range: it is known before the outcomes."""
        inside = np.clip(self.mean, 0.5 / _GRID, 1 - 0.5 / _GRID)
        odds = np.log(inside) - np.log1p(-inside)
        found = np.zeros((COUNT, len(inside)))
        found[: len(_MAPS)] = (_MAPS[:, :1] - 1) * odds + _MAPS[:, 1:]
        by_cell = found[len(_MAPS) :].reshape(len(_CELLS), len(SHIFTS), len(inside))
        for level, first in zip(LEVELS, _FIRST.tolist(), strict=True):
            cell = np.minimum((level * inside).astype(np.int64), level - 1)
            by_cell[first + cell, :, np.arange(len(inside))] = SHIFTS
        return found

    def bets(self, *, dependent: bool) -> Floats:
        """The logarithm of what each bet multiplies its wealth by."""
        return self._log_factors(self.shifts(), self.mean, _SIZES if dependent else None)

    def favours_forecast(self, k: int, *, dependent: bool) -> float:
        """The logarithm of the same for a bet on the forecast, if the recalibration of the k-th bet
        is right.
        """
        shift = self.shifts()[k : k + 1]
        right = self.mean * np.exp(shift[0]) / (1 + self.mean * np.expm1(shift[0]))
        return float(self._log_factors(-shift, right, _SIZES[k : k + 1] if dependent else None)[0])

    def score(self, k: int, *, dependent: bool) -> tuple[float, float]:
        """What the k-th bet is about, the sum of ``c(p) (y - p)``, and its variance if the forecast
        is calibrated.

        Where rows may depend on each other it is the mean, of which the variance is not known: 1,
        in each period.
        """
        growth = np.expm1(self.shifts()[k])
        slope, spread = growth / (1 + self.mean * growth), self.weight * self.mean * (1 - self.mean)
        gain = float(slope @ (self.events - self.weight * self.mean))
        return (gain, 1.0) if dependent else (self.n * gain, self.n * float(slope**2 @ spread))

    def shifted(self, shift: float) -> Floats:
        """The event rate of each range if the log odds of the event are the predicted ones plus
        this.
        """
        odds = math.exp(shift)
        return np.asarray(self.mean * odds / (1 - self.mean + self.mean * odds))

    def growth(self, shift: float) -> Floats:
        """What each bet on a batch gains a period, if the log odds of the event are the predicted
        ones plus this.

        The mean of the logarithm of its factor, for independent outcomes: to second order in the
        chance of outcomes, and where few events count, by the law of Poisson with that mean and
        variance. Outcomes that depend on each other vary more, so that bets gain less.
        """
        rate, expected = self.shifted(shift), self.weight * self.mean
        bets = np.expm1(self.shifts())
        slope = bets / (1 + self.mean * bets)
        stake = _stakes(_SIZES, slope, expected, self.weight)
        seen = slope @ (self.weight * rate)
        gain = stake * (seen - slope @ expected)
        chance = slope**2 @ (self.weight * rate * (1 - rate)) / self.n
        found = np.log1p(gain) - stake**2 * chance / (2 * (1 + gain) ** 2)
        one_sided = (slope >= 0).all(axis=1) | (slope <= 0).all(axis=1)
        few = one_sided & (chance > 0) & (seen**2 < _FEW_EVENTS * chance)
        step = chance[few] / seen[few]  # of the sum, by one event more
        events = np.arange(_MOST_EVENTS)
        mean = (seen[few] / step)[:, None]
        probability = np.exp(events * np.log(mean) - mean - gammaln(events + 1))
        sums = step[:, None] * events - (slope[few] @ expected)[:, None]
        factor = np.maximum(1 + stake[few, None] * sums, 1 - _SIZES[few, None])
        found[few] = (probability * np.log(factor)).sum(axis=1)
        return np.asarray(found)

    def _log_factors(self, shift: Floats, mean: Floats, size: Floats | None) -> Floats:
        """The bets that shift log odds of these means; with a `size` on one mean of all rows,
        however they depend.

        Rows one after the other multiply a wealth by ``exp(s y) / (1 - p + p exp(s))`` each. The
        logarithm of the denominator is concave in p, so its sum over a range is at most that of as
        many rows at their mean.
        """
        growth = np.expm1(shift)
        if size is None:
            return np.asarray(
                self.n * (shift @ self.events - np.log1p(mean * growth) @ self.weight)
            )
        slope, expected = growth / (1 + mean * growth), self.weight * mean
        return np.asarray(
            np.log1p(
                _stakes(size, slope, expected, self.weight) * (slope @ (self.events - expected))
            )
        )


def _stakes(size: Floats, slope: Floats, expected: Floats, weight: Floats) -> Floats:
    """The largest stakes on one mean of all rows that no outcomes can lose, times the size of each
    bet.
    """
    worst = np.maximum(slope, 0) @ expected + np.maximum(-slope, 0) @ (weight - expected)
    return np.divide(size, worst, out=np.zeros(len(size)), where=worst > 0)


def periods_to_alarm(period: RangeSums, shift: float, alpha: float, most: int) -> int | None:
    """About how many periods like this one pass to the alarm of a `Detector` of batches, from a
    change of log odds on.

    None if `most` are too few. It counts the bets that gain by the change, from its first period
    on.
    """
    growth, limit = np.maximum(period.growth(shift), 0.0), -math.log(alpha)

    def raised(periods: int) -> bool:
        return float(log_mean(periods * growth)) >= limit

    if not raised(most):
        return None
    return 1 + bisect_left(range(1, most + 1), True, key=raised)


def log_mean(each: Floats) -> Floats:
    """Return the logarithm of the mean wealth of the bets, from the logarithm of each, which are
    the last axis.
    """
    top = each.max(axis=-1)
    return np.asarray(top + np.log(np.exp(each - top[..., None]).mean(axis=-1)))


def e_value(log_wealth: float) -> float:
    """Return a wealth by its logarithm; infinite if it is beyond all doubles."""
    return math.exp(log_wealth) if log_wealth < _LARGEST else math.inf


class Detector:
    """The mean, over the bets, of what 1 has become since the start that was best for the bet
    (Page's CUSUM).

    It is at most what 1 put on the bets in *each* period is worth altogether. While the forecast is
    calibrated that sum grows by 1 a period in expectation, so the mean reaches ``1/alpha`` after
    ``1/alpha`` periods or more, on average: an alarm. The sum itself would reach it even if no bet
    ever wins anything.

    From then on the forecast bets against the recalibration that fits the rows of the change best,
    in the same way. Where it has ``1/alpha``, the alarm is over, and everything starts anew; unless
    the bets against the forecast have ``1/alpha``, too, in the same periods. Then it is wrong in
    another way, and the alarm goes on.

    Attributes
    ----------
    evidence : float
        The mean now.
    alarm : int or None
        The number of the bet whose recalibration fits best from the beginning of the change to the
        alarm, as if rows were independent; None if there is no alarm now.
    lasting : int
        At an alarm, the number of periods since the change seems to have begun, with this one: the
        start from which the score of the bet that won most is the largest in standard deviations.
        At its end, the number of periods since the forecast seems to be right again.
    """

    def __init__(self, alpha: float, *, dependent: bool) -> None:
        self._limit, self._dependent = -math.log(alpha), dependent
        self.lasting, self._wealth = 0, np.zeros(COUNT)
        self._begin()

    @property
    def e_value(self) -> float:
        """The mean wealth of the bets from the first period on."""
        return e_value(float(log_mean(self._wealth)))

    def _begin(self) -> None:
        self._each, self._periods = np.full(COUNT, -math.inf), list[RangeSums]()
        self.alarm: int | None = None
        self._favour, self._favouring = 0.0, list[RangeSums]()

    def update(self, period: RangeSums) -> bool:
        """Learn the next period; return whether an alarm begins or ends with it."""
        factors = period.bets(dependent=self._dependent)
        self._wealth, self._each = self._wealth + factors, np.maximum(0.0, self._each) + factors
        log_evidence = float(log_mean(self._each))
        self.evidence = math.exp(min(log_evidence, _LARGEST))
        if self.alarm is not None:
            return self._update_alarm(period, self.alarm)
        self._periods.append(period)
        if log_evidence < self._limit:
            return False
        won_most = int(self._each.argmax())
        scores = [one.score(won_most, dependent=self._dependent) for one in self._periods[::-1]]
        total, variance = np.cumsum(scores, axis=0).T
        far = np.divide(
            total, np.sqrt(variance), out=np.where(total > 0, math.inf, 0.0), where=variance > 0
        )
        self.lasting = int(np.argmax(far)) + 1
        # The largest bets on days win most, however little the forecast is off; what fits the rows
        # is another question.
        self.alarm = _best_fit(self._periods[-self.lasting :])
        return True

    def _update_alarm(self, period: RangeSums, fitted: int) -> bool:
        """Let the forecast bet against the recalibration that fitted; return whether the alarm is
        over.
        """
        if self._favour <= 0:
            self._favour, self._favouring = 0.0, []
        self._favour += period.favours_forecast(fitted, dependent=self._dependent)
        self._favouring.append(period)
        if self._favour < self._limit:
            return False
        against = np.sum([one.bets(dependent=self._dependent) for one in self._favouring], axis=0)
        if float(log_mean(against)) >= self._limit:  # wrong in another way, or by less
            self.alarm, self._favour = _best_fit(self._favouring), 0.0
            return False
        self.lasting = len(self._favouring)
        self._begin()
        return True


def _best_fit(periods: Sequence[RangeSums]) -> int:
    """The number of the bet whose recalibration fits some periods best, as if rows were
    independent.
    """
    return int(np.sum([one.bets(dependent=False) for one in periods], axis=0).argmax())


_SHOWN = 0.05
_LARGEST = 700.0  # the exponential of more is infinite


class SequentialTest:
    r"""Test calibration while rows come in, and look as often as you like.

    A sceptic bets against the forecast, at odds that are fair if the forecast is calibrated, and
    starts with a wealth of 1. If the wealth ever reaches 20, the forecast is not calibrated, or
    something happened that has a probability of at most 5%; whenever one looks and for whatever
    reason one stops. The wealth is divided equally among 283 recalibrations: 35 logistic maps, and
    8 shifts of the log odds in each of 1, 2, 4, 8 and 16 equal ranges of predictions.

    Attributes
    ----------
    e_value : float
        The wealth now: evidence against calibration. 1 at the start; infinite beyond about 1e304
        (see `log_wealth`).
    p_value : float
        The inverse of the largest wealth so far, at most 1: valid at any time.
    log_wealth : ndarray of float
        The logarithm of the wealth after each row, or each batch.
    n : int
        The number of rows.

    Notes
    -----
    The null hypothesis is :math:`E[y_t \mid p_t, \text{past}] = p_t`. Predictions may depend on each other and on past
    outcomes in any way: seasons, drifts and feedback are allowed. For a recalibrated prediction :math:`q_t` that is a
    function of :math:`p_t` and the past, the product of :math:`q_t(y_t)/p_t(y_t)` is a martingale, so is a mixture of
    them, and by Ville's inequality it reaches :math:`1/\alpha` at any time with probability at most :math:`\alpha`.

    Rows that arrive together may have outcomes that depend on each other: the flights of a day, in
    one storm. For them each row is right given the past, not given the other rows. Pass them as a
    batch, or as a `Sample`: the wealth is then multiplied by :math:`1 + L\,\overline{c(p)(y - p)}`,
    the mean over the batch, which is 1 in expectation whatever the dependence. L is chosen from the
    predictions of the batch so that the factor is positive. A batch counts as one observation, so
    more of them are needed.

    An event at a prediction of 0, or none at 1, is impossible under the null: the wealth is
    infinite from then on (rows only; batches bet nothing on it). Proof and measurements:
    docs/theory/sequential.md.

    References
    ----------
    Shafer (2021), doi:10.1111/rssa.12647 (testing by betting); Ville (1939).

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> calibrated, overconfident = rng.random(500) < p, rng.random(500) < 0.25 + p / 2
    >>> t = rainproof.SequentialTest().update(calibrated, p)
    >>> t.rejects(0.05)
    False
    >>> t = rainproof.SequentialTest().update(overconfident, p)
    >>> t.rejects(0.05), t.log_wealth.shape
    (True, (500,))
    >>> print(t.bet)
    predictions are too extreme (log odds times 0.4)
    """

    def __init__(self) -> None:
        # of each bet (see `_bets`)
        self._worth, self._scale = np.ones(COUNT), np.zeros(COUNT, np.int64)
        self._path = array("d")
        self._highest = 0.0
        self._over = False  # whether something impossible happened
        self.n = 0

    def update(
        self,
        y_true: ArrayLike | Sample,
        y_prob: ArrayLike | None = None,
        *,
        pos_label: Any = None,
        batch: bool = False,
    ) -> Self:
        """Learn new rows, in order of time; return the test itself.

        Parameters
        ----------
        y_true : array_like of shape (n,), or Sample
            The outcomes: 0 or 1, or any two labels with `pos_label`. A Sample is a batch.
        y_prob : array_like of shape (n,)
            The predictions, each made before the outcomes of the rows after it, and calibrated
            given those before it.
        pos_label : object, optional
            The label of the event, if labels are not 0 and 1.
        batch : bool
            Whether these rows arrived together, so that their outcomes may depend on each other.
        """
        if not isinstance(batch, bool):
            raise InputError(f"batch must be True or False; it is {batch!r}")
        if batch or isinstance(y_true, Sample):
            sample = as_sample(y_true, y_prob, pos_label=pos_label)
            each = self._each + RangeSums.of(sample).bets(dependent=True)
            self._scale = np.rint(each / _STEP).astype(np.int64)
            self._worth = np.exp(each - _STEP * self._scale)
            self._add(log_mean(each)[None], np.zeros(1, bool), sample.n)
            return self
        if y_prob is None:
            raise InputError("y_prob is required, unless the first argument is a Sample")
        read = as_rows(y_true, y_prob, None, pos_label)
        sum_cells(read, 2)  # which refuses bad values
        y, p = (np.ascontiguousarray(part, np.float64) for part in (read.label == 1, read.prob))
        path = np.empty(len(p))
        slopes, intercepts, shifts = _NUMBERS
        learn(
            p,
            y,
            slopes,
            intercepts,
            shifts,
            np.array(LEVELS, np.int64),
            self._worth,
            self._scale,
            path,
        )
        self._add(path, ((p == 0) & (y == 1)) | ((p == 1) & (y == 0)), len(p))
        return self

    def _add(self, path: Floats, impossible: np.ndarray[Any, np.dtype[np.bool_]], n: int) -> None:
        """Go on with the logarithms of the wealth after each row, or after a batch."""
        path = np.where(self._over | np.maximum.accumulate(impossible), math.inf, path)
        self._over |= bool(impossible.any())
        self._path.frombytes(path.tobytes())
        self._highest = max(self._highest, float(path.max()))
        self.n += n

    @property
    def _each(self) -> Floats:
        """The logarithm of the wealth of each bet, as if all money had been on it."""
        return np.asarray(np.log(self._worth) + _STEP * self._scale)

    @property
    def log_wealth(self) -> Floats:
        """The logarithm of the wealth after each row, or each batch."""
        path: Floats = np.array(self._path, np.float64)
        freeze(path)
        return path

    @property
    def e_value(self) -> float:
        """The wealth now."""
        return e_value(self._now)

    @property
    def _now(self) -> float:
        return self._path[-1] if self._path else 0.0

    @property
    def p_value(self) -> float:
        """The inverse of the largest wealth so far."""
        return math.exp(-self._highest)

    def rejects(self, alpha: float) -> bool:
        """Return whether the forecast was found miscalibrated, at some look so far, at this level."""
        return self.p_value <= check_share(alpha, "alpha")

    @property
    def bet(self) -> Bet | None:
        """The bet that won most so far; None if none won anything."""
        each = self._each
        best = int(each.argmax())
        return bet(best) if each[best] > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the result in built-in types, ready for JSON."""
        names = ("n", "e_value", "p_value", "bet", "log_wealth")
        return {"result": "sequential_test"} | {name: plain(getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        return f"SequentialTest(n={self.n}, e_value={self.e_value:.4g}, p_value={self.p_value:.4g})"

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def __str__(self) -> str:
        verdict = (
            "The forecast is not calibrated"
            if self.rejects(_SHOWN)
            else "Nothing speaks against calibration yet"
        )
        won = self.bet
        best = "No bet against the forecast won anything."
        if self._over:
            best = "An event happened where the prediction was 0, or none where it was 1."
        elif won is not None:
            best = f"The bet that won most says: {won}. Alone it is worth {_worth(float(self._each.max()))}."
        return (
            f"{verdict}: after {rows(self.n)} the bets against it are worth {_worth(self._now)} times the money put in "
            f"({p_value(self.p_value)}, valid whenever one looks; at {percent(_SHOWN)} it takes a factor of "
            f"{1 / _SHOWN:g}).\n{best}"
        )


def _worth(log_wealth: float) -> str:
    """Format a wealth that may be beyond all doubles."""
    if math.isinf(log_wealth):
        return "infinitely many"
    return (
        f"{math.exp(log_wealth):.3g}"
        if log_wealth < _LARGEST
        else f"10^{log_wealth / math.log(10):.0f}"
    )
