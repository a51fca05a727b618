"""Bets against a forecast: each is a recalibration that would have predicted better if the forecast is miscalibrated.

If the forecast is calibrated, ``E[y | p, past] = p``, no bet gains in expectation. A bet on one row multiplies a
wealth by ``q(y) / p(y)``, with q the recalibrated prediction. A bet on a batch of rows, whose outcomes may depend on
each other, multiplies it by ``1 + L mean(c(p) (y - p))``, with ``c = (q - p) / (p (1 - p))`` and L so small that it
stays positive whatever the outcomes are.
"""

from __future__ import annotations

import math
from array import array
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats, Ints, freeze
from rainproof.core.cells import mean_prediction, sum_cells
from rainproof.core.door import as_rows
from rainproof.core.result import Result, plain
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import html_text, percent, rows
from rainproof.errors import InputError
from rainproof.inference.options import check_share

SLOPES = (0.4, 0.6, 0.8, 1.0, 1.25, 1.67, 2.5)
INTERCEPTS = (-0.8, -0.3, 0.0, 0.3, 0.8)
LEVELS = (1, 2, 4, 8, 16)  # the numbers of equal cells of [0, 1]
SHIFTS = (-1.6, -0.8, -0.4, -0.2, 0.2, 0.4, 0.8, 1.6)
_MAPS = np.array(list(product(SLOPES, INTERCEPTS)))
_CELLS = [(level, cell) for level in LEVELS for cell in range(level)]
COUNT = len(_MAPS) + len(_CELLS) * len(SHIFTS)
# The share of the largest bet on a batch: one half for the maps; the more the larger the shift, for the cells.
_BY_SHIFT = {0.2: 1 / 8, 0.4: 1 / 4, 0.8: 1 / 2, 1.6: 15 / 16}
_SIZES = np.array([0.5] * len(_MAPS) + [_BY_SHIFT[abs(s)] for _ in _CELLS for s in SHIFTS])
_GRID = 64  # bets on batches are constant in its cells
_FIRST = np.concatenate([[0], np.cumsum(LEVELS)])[:-1]  # the number of the first cell of each level


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
        where = "" if (self.low, self.high) == (0, 1) else f" between {self.low:g} and {self.high:g}"
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


def row_bets(p: Floats, event: Floats) -> Floats:
    """Return the logarithm of what each bet multiplies the wealth by, for each row: shape (n, COUNT).

    Where p is 0 or 1 no bet moves, and the caller must look at outcomes that such predictions exclude.
    """
    found = np.zeros((len(p), COUNT))
    inside = np.flatnonzero((p > 0) & (p < 1))
    p, event = p[inside, None], event[inside, None]
    odds = np.log(p) - np.log1p(-p)
    found[inside, : len(_MAPS)] = _log_ratio(odds, _MAPS[:, 0] * odds + _MAPS[:, 1], event)
    shifted = _log_ratio(odds, odds + SHIFTS, event)
    columns = np.arange(len(SHIFTS))
    for level, first in zip(LEVELS, _FIRST.tolist(), strict=True):
        cell = np.minimum((level * p[:, 0]).astype(np.int64), level - 1)
        at = len(_MAPS) + len(SHIFTS) * (first + cell)
        found[inside[:, None], at[:, None] + columns] = shifted
    return found


def _log_ratio(odds: Floats, new: Floats, event: Floats) -> Floats:
    """``ln q(y)/p(y)`` from the log odds of both, without overflow."""
    found: Floats = np.logaddexp(0, odds) - np.logaddexp(0, new) + event * (new - odds)
    return found


def batch_bets(sample: Sample) -> Floats:
    """Return the logarithm of what each bet multiplies the wealth by, for a batch of rows.

    The rows may depend on each other. The bets use the sums of weights and predictions in cells, which are known
    before the outcomes.
    """
    cell, weight, expected, events = _sums(sample)
    slope = _directions(min(_GRID, sample.grid or _GRID))[:, cell]
    gain = slope @ (events - expected)
    worst = np.maximum(slope, 0) @ expected + np.maximum(-slope, 0) @ (weight - expected)
    size = np.divide(_SIZES, worst, out=np.zeros(COUNT), where=worst > 0)
    return np.asarray(np.log1p(size * gain))


def independent_bets(sample: Sample) -> Floats:
    """The same for rows of equal weight that are independent given the past: not far from the product over the rows.

    Within a cell a bet shifts all log odds by one s. Its rows multiply the wealth by exp(s y) / (1 - p + p exp(s))
    each. The logarithm of the denominator is concave in p, so its sum is at most that of as many rows at their mean.
    """
    cell, weight, expected, events = _sums(sample)
    rows = sample.n * weight
    middle = (cell + 0.5) / min(_GRID, sample.grid or _GRID)
    odds = np.log(middle) - np.log1p(-np.minimum(middle, 0.999))
    shift = np.zeros((COUNT, len(cell)))
    shift[: len(_MAPS)] = (_MAPS[:, :1] - 1) * odds + _MAPS[:, 1:]
    for k, (level, at) in enumerate(_CELLS):
        first = len(_MAPS) + k * len(SHIFTS)
        inside = np.minimum((level * middle).astype(np.int64), level - 1) == at
        shift[first : first + len(SHIFTS), inside] = np.array(SHIFTS)[:, None]
    mean = np.clip(expected / weight, 0, 1)
    return np.asarray((shift * (sample.n * events)).sum(axis=1) - np.log1p(mean * np.expm1(shift)) @ rows)


def _sums(sample: Sample) -> tuple[Ints, Floats, Floats, Floats]:
    """The cells, and for each the weight, the sum of the predictions and the sum of the outcomes, of total weight 1."""
    m = min(_GRID, sample.grid or _GRID)
    cells = sample._cell_table(m).coarsen(m)
    cell, event = cells.slot >> 1, cells.slot & 1 == 1
    weight = cells.weight[0] / sample.total_weight
    mean = mean_prediction(m, cell, cells.rise[0], cells.weight[0])
    at, index = np.unique(cell, return_inverse=True)
    parts = (weight, weight * mean, weight * event)
    sums = [np.bincount(index, part, len(at)).astype(np.float64) for part in parts]
    return at, sums[0], sums[1], sums[2]


def _directions(m: int) -> Floats:
    """``c(p)`` of each bet in the middle of each cell of the grid; 0 where p is 1."""
    if m not in _KNOWN:
        middle = (np.arange(m) + 0.5) / m
        ratio = row_bets(np.repeat(middle, 2), np.tile([0.0, 1.0], m)).reshape(m, 2, COUNT)
        gap = np.exp(ratio[:, 1]) - np.exp(ratio[:, 0])  # 1 + c (1 - p) less 1 - c p
        _KNOWN[m] = np.concatenate([gap, np.zeros((1, COUNT))]).T.copy()
    return _KNOWN[m]


_KNOWN: dict[int, Floats] = {}


def log_mean(each: Floats) -> Floats:
    """Return the logarithm of the mean wealth of the bets, from the logarithm of each, which are the last axis."""
    top = each.max(axis=-1)
    found: Floats = top + np.log(np.exp(each - top[..., None]).mean(axis=-1))
    return found


def e_value(log_wealth: float) -> float:
    """Return a wealth by its logarithm; infinite if it is beyond all doubles."""
    return math.exp(log_wealth) if log_wealth < _LARGEST else math.inf


class Detector:
    """The mean, over the bets, of what 1 has become since the start that was best for the bet (Page's CUSUM).

    It is at most what 1 put on the bets in *each* period is worth altogether. While the forecast is calibrated that
    sum grows by 1 a period in expectation, so the mean reaches ``1/alpha`` after ``1/alpha`` periods or more, on
    average. Then it starts anew. The sum itself would reach it even if no bet ever wins anything.
    """

    def __init__(self, alpha: float) -> None:
        self._limit = -math.log(alpha)
        self._begin()

    def _begin(self) -> None:
        self._each = np.full(COUNT, -math.inf)
        self._factors: list[Floats] = []

    def update(self, factors: Floats) -> tuple[float, int, int] | None:
        """Learn the logarithms of what the bets of a period multiply their money by.

        If the mean reaches the limit return it, the number of periods since the change seems to have begun (the
        start from which the bets together have won most), and the bet that won most.
        """
        self._each = np.maximum(0.0, self._each) + factors
        self._factors.append(factors)
        self.log_mean = float(log_mean(self._each))
        if self.log_mean < self._limit:
            return None
        best, found = int(self._each.argmax()), math.exp(min(self.log_mean, 700.0))
        won = [float(np.logaddexp.reduce(part)) for part in np.cumsum(self._factors[::-1], axis=0)]
        self._begin()
        return found, int(np.argmax(won)) + 1, best


_BLOCK = 1 << 12  # rows whose bets fit into the cache
_SHOWN = 0.05
_LARGEST = 700.0  # the exponential of more is infinite


class SequentialTest:
    r"""Test calibration while rows come in, and look as often as you like.

    A sceptic bets against the forecast, at odds that are fair if the forecast is calibrated, and starts with a wealth
    of 1. If the wealth ever reaches 20, the forecast is not calibrated, or something happened that has a probability of
    at most 5%; whenever one looks and for whatever reason one stops. The wealth is divided equally among 283
    recalibrations: 35 logistic maps, and 8 shifts of the log odds in each of 1, 2, 4, 8 and 16 equal ranges of
    predictions.

    Attributes
    ----------
    e_value : float
        The wealth now: evidence against calibration. 1 at the start; infinite beyond about 1e304 (see `log_wealth`).
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

    Rows that arrive together may have outcomes that depend on each other: the flights of a day, in one storm. For
    them each row is right given the past, not given the other rows. Pass them as a batch, or as a `Sample`: the
    wealth is then multiplied by :math:`1 + L\,\overline{c(p)(y - p)}`, the mean over the batch, which is 1 in
    expectation whatever the dependence. L is chosen from the predictions of the batch so that the factor is positive.
    A batch counts as one observation, so more of them are needed.

    An event at a prediction of 0, or none at 1, is impossible under the null: the wealth is infinite from then on (rows
    only; batches bet nothing on it). Proof and measurements: docs/theory/sequential.md.

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
        self._each = np.zeros(COUNT)  # the log wealth of each bet, as if all money had been on it
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
            The predictions, each made before the outcomes of the rows after it, and calibrated given those before it.
        pos_label : object, optional
            The label of the event, if labels are not 0 and 1.
        batch : bool
            Whether these rows arrived together, so that their outcomes may depend on each other.
        """
        if not isinstance(batch, bool):
            raise InputError(f"batch must be True or False; it is {batch!r}")
        if batch or isinstance(y_true, Sample):
            sample = as_sample(y_true, y_prob, pos_label=pos_label)
            self._learn(batch_bets(sample)[None], np.zeros(1, bool))
            self.n += sample.n
            return self
        if y_prob is None:
            raise InputError("y_prob is required, unless the first argument is a Sample")
        read = as_rows(y_true, y_prob, None, pos_label)
        sum_cells(read, 2)  # which refuses bad values
        event, prob = (np.asarray(read.label == 1, np.float64), np.asarray(read.prob, np.float64))
        for start in range(0, len(prob), _BLOCK):
            p, y = prob[start : start + _BLOCK], event[start : start + _BLOCK]
            self._learn(row_bets(p, y), ((p == 0) & (y == 1)) | ((p == 1) & (y == 0)))
        self.n += len(prob)
        return self

    def _learn(self, factors: Floats, impossible: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        factors[0] += self._each  # one sum after the other, so that pieces of a series give the same bits
        each = np.cumsum(factors, axis=0)
        self._each = each[-1].copy()
        wealth = np.where(self._over | np.maximum.accumulate(impossible), math.inf, log_mean(each))
        self._over |= bool(impossible.any())
        self._path.frombytes(wealth.tobytes())
        self._highest = max(self._highest, float(wealth.max()))

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
        best = int(self._each.argmax())
        return bet(best) if self._each[best] > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the result in built-in types, ready for JSON."""
        names = ("n", "e_value", "p_value", "bet", "log_wealth")
        return {"result": "sequential_test"} | {name: plain(getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        return f"SequentialTest(n={self.n}, e_value={self.e_value:.4g}, p_value={self.p_value:.4g})"

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def __str__(self) -> str:
        verdict = "The forecast is not calibrated" if self.rejects(_SHOWN) else "Nothing speaks against calibration yet"
        won = self.bet
        best = "No bet against the forecast won anything."
        if self._over:
            best = "An event happened where the prediction was 0, or none where it was 1."
        elif won is not None:
            best = f"The bet that won most says: {won}. Alone it is worth {_worth(float(self._each.max()))}."
        return (
            f"{verdict}: after {rows(self.n)} the bets against it are worth {_worth(self._now)} times the money put in "
            f"(p-value {self.p_value:.2g}, valid whenever one looks; at {percent(_SHOWN)} it takes a factor of "
            f"{1 / _SHOWN:g}).\n{best}"
        )


def _worth(log_wealth: float) -> str:
    """Format a wealth that may be beyond all doubles."""
    if math.isinf(log_wealth):
        return "infinitely many"
    return f"{math.exp(log_wealth):.3g}" if log_wealth < _LARGEST else f"10^{log_wealth / math.log(10):.0f}"
