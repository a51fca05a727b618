"""A test of calibration that is valid whenever one looks, row by row or batch by batch.

The bets are those of `rainproof.inference.bets`; the loop over rows is compiled.
"""

from __future__ import annotations

import math
from array import array
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats, freeze
from rainproof.core.cells import sum_cells
from rainproof.core.result import plain
from rainproof.core.sample import Sample
from rainproof.core.text import html_text, p_value, percent, rows
from rainproof.core.validation import as_columns
from rainproof.errors import InputError
from rainproof.inference._bets import learn
from rainproof.inference.bets import (
    COUNT,
    INTERCEPTS,
    LARGEST_LOG,
    LEVELS,
    SHIFTS,
    SLOPES,
    Bet,
    RangeSums,
    bet,
    e_value,
    log_mean,
)
from rainproof.inference.options import check_share

_PRINTED_LEVEL = 0.05
_LOG_SCALE = 512 * math.log(2)  # of the power of two that a wealth is kept over, see `_bets`


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
    The null hypothesis is :math:`E[y_t \mid p_t, \text{past}] = p_t`. Predictions may depend on
    each other and on past outcomes in any way: seasons, drifts and feedback are allowed. For a
    recalibrated prediction :math:`q_t` that is a function of :math:`p_t` and the past, the product
    of :math:`q_t(y_t)/p_t(y_t)` is a martingale, so is a mixture of them, and by Ville's inequality
    it reaches :math:`1/\alpha` at any time with probability at most :math:`\alpha`.

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
        # The wealth of each bet is `_worth` times a power of two (see `_bets`): no row is so
        # unlikely that it vanishes.
        self._worth = np.ones(COUNT)
        self._scale = np.zeros(COUNT, np.int64)
        self._path = array("d")  # the logarithm of the mean wealth
        self._highest = 0.0
        self._impossible = False  # whether an event happened at 0, or none at 1
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
            return self._update_batch(as_sample(y_true, y_prob, pos_label=pos_label))
        if y_prob is None:
            raise InputError("y_prob is required, unless the first argument is a Sample")
        columns = as_columns(y_true, y_prob, None, pos_label)
        sum_cells(columns, 2)  # which refuses bad values
        event = np.ascontiguousarray(columns.outcome == 1, np.float64)
        prob = np.ascontiguousarray(columns.prob, np.float64)
        path = np.empty(len(prob))
        learn(
            prob,
            event,
            np.array(SLOPES, np.float64),
            np.array(INTERCEPTS, np.float64),
            np.array(SHIFTS, np.float64),
            np.array(LEVELS, np.int64),
            self._worth,
            self._scale,
            path,
        )
        impossible = ((prob == 0) & (event == 1)) | ((prob == 1) & (event == 0))
        self._extend(path, impossible, len(prob))
        return self

    def _update_batch(self, sample: Sample) -> Self:
        """Learn rows whose outcomes may depend on each other: one observation."""
        log_wealth = self._log_worth + RangeSums.of(sample).bets(dependent=True)
        self._scale = np.rint(log_wealth / _LOG_SCALE).astype(np.int64)
        self._worth = np.exp(log_wealth - _LOG_SCALE * self._scale)
        self._extend(log_mean(log_wealth)[None], np.zeros(1, np.bool_), sample.n)
        return self

    def _extend(self, path: Floats, impossible: NDArray[np.bool_], n: int) -> None:
        """Go on with the logarithms of the wealth after each row, or after a batch."""
        path = np.where(self._impossible | np.maximum.accumulate(impossible), math.inf, path)
        self._impossible |= bool(impossible.any())
        self._path.frombytes(path.tobytes())
        self._highest = max(self._highest, float(path.max()))
        self.n += n

    @property
    def _log_worth(self) -> Floats:
        """The logarithm of the wealth of each bet, as if all money had been on it."""
        return np.asarray(np.log(self._worth) + _LOG_SCALE * self._scale)

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
        """Return whether some look so far found the forecast miscalibrated at this level."""
        return self.p_value <= check_share(alpha, "alpha")

    @property
    def bet(self) -> Bet | None:
        """The bet that won most so far; None if none won anything."""
        log_worth = self._log_worth
        best = int(log_worth.argmax())
        return bet(best) if log_worth[best] > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the result in built-in types, ready for JSON."""
        names = ("n", "e_value", "p_value", "bet", "log_wealth")
        return {"result": "sequential_test"} | {name: plain(getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        return f"SequentialTest(n={self.n}, e_value={self.e_value:.4g}, p_value={self.p_value:.4g})"

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def __str__(self) -> str:
        if self.rejects(_PRINTED_LEVEL):
            verdict = "The forecast is not calibrated"
        else:
            verdict = "Nothing speaks against calibration yet"
        if self._impossible:
            best = "An event happened where the prediction was 0, or none where it was 1."
        elif self.bet is None:
            best = "No bet against the forecast won anything."
        else:
            worth = _wealth_text(float(self._log_worth.max()))
            best = f"The bet that won most says: {self.bet}. Alone it is worth {worth}."
        return (
            f"{verdict}: after {rows(self.n)} the bets against it are worth "
            f"{_wealth_text(self._now)} times the money put in ({p_value(self.p_value)}, valid "
            f"whenever one looks; at {percent(_PRINTED_LEVEL)} it takes a factor of "
            f"{1 / _PRINTED_LEVEL:g}).\n{best}"
        )


def _wealth_text(log_wealth: float) -> str:
    """Format a wealth that may be beyond all doubles."""
    if math.isinf(log_wealth):
        return "infinitely many"
    if log_wealth < LARGEST_LOG:
        return f"{math.exp(log_wealth):.3g}"
    return f"10^{log_wealth / math.log(10):.0f}"
