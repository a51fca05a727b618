"""A test of calibration that one may look at after every row: bets against the forecast, and what they won."""

from __future__ import annotations

import math
from array import array
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats, freeze
from rainproof.core.grid.cell_accumulator import sum_cells
from rainproof.core.input.rows import as_rows
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.shown import Shown
from rainproof.core.text import finite, percent, rows
from rainproof.errors import InputError
from rainproof.inference.bets import COUNT, Bet, batch_bets, bet, row_bets
from rainproof.inference.resampling import check_share

_BLOCK = 1 << 12  # rows whose bets fit into the cache
_SHOWN = 0.05
_LARGEST = 700.0  # the exponential of more is infinite


class SequentialTest(Shown):
    r"""Test calibration while rows come in, and look as often as you like.

    Somebody who does not believe the forecast bets against it, at odds that are fair if the forecast is calibrated.
    They start with a wealth of 1. If they ever have 20, the forecast is not calibrated, or something happened that has
    a probability of at most 5%; whenever one looks and for whatever reason one stops. The bettor divides the money
    equally among 283 recalibrations: 35 logistic maps, and 8 shifts of the log odds in each of 1, 2, 4, 8 and 16
    equal ranges of predictions.

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
    only; batches bet nothing on it). Proof and measurements: docs/sequential.md.

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
        wealth = np.where(self._over | np.maximum.accumulate(impossible), math.inf, _log_mean(each))
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
        return math.exp(self._now) if self._now < _LARGEST else math.inf

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
        won = self.bet
        return {
            "result": "sequential_test",
            "n": self.n,
            "e_value": finite(self.e_value),
            "p_value": self.p_value,
            "bet": None if won is None else won._asdict(),
            "log_wealth": [finite(value) for value in self.log_wealth.tolist()],
        }

    def __repr__(self) -> str:
        return f"SequentialTest(n={self.n}, e_value={self.e_value:.4g}, p_value={self.p_value:.4g})"

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


def _log_mean(each: Floats) -> Floats:
    """The logarithm of the mean wealth of the bets, for each row."""
    top = each.max(axis=1)
    found: Floats = top + np.log(np.exp(each - top[:, None]).mean(axis=1))
    return found


def _worth(log_wealth: float) -> str:
    """Format a wealth that may be beyond all doubles."""
    if math.isinf(log_wealth):
        return "infinitely many"
    return f"{math.exp(log_wealth):.3g}" if log_wealth < _LARGEST else f"10^{log_wealth / math.log(10):.0f}"
