"""The detector of changes: bets against a forecast that may start anew in any period, and bets on
it after an alarm.

The bets are those of `rainproof.inference.bets`; `rainproof.inference.monitoring` feeds the
periods. Shin, Ramdas and Rinaldo (2022), arXiv:2203.03532 (e-detectors).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.inference.bets import COUNT, LARGEST_LOG, RangeSums, e_value, log_mean


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
        self._log_limit = -math.log(alpha)
        self._dependent = dependent
        self._log_wealth = np.zeros(COUNT)  # of each bet, from the first period on
        self.lasting = 0
        self._begin()

    @property
    def e_value(self) -> float:
        """The mean wealth of the bets from the first period on."""
        return e_value(float(log_mean(self._log_wealth)))

    def _begin(self) -> None:
        """Forget all periods so far."""
        self._log_best = np.full(COUNT, -math.inf)  # of each bet, since the start best for it
        self._periods: list[RangeSums] = []
        self.alarm: int | None = None
        self._log_favor = 0.0  # of the bet on the forecast, since the start best for it
        self._favoring: list[RangeSums] = []

    def update(self, period: RangeSums) -> bool:
        """Learn the next period; return whether an alarm begins or ends with it."""
        log_factors = period.bets(dependent=self._dependent)
        self._log_wealth = self._log_wealth + log_factors
        self._log_best = np.maximum(0.0, self._log_best) + log_factors
        log_evidence = float(log_mean(self._log_best))
        self.evidence = math.exp(min(log_evidence, LARGEST_LOG))
        if self.alarm is not None:
            return self._update_alarm(period, self.alarm)
        self._periods.append(period)
        if log_evidence < self._log_limit:
            return False
        self.lasting = self._periods_since_change()
        # The largest bets on days win most, however little the forecast is off; what fits the rows
        # is another question.
        self.alarm = _best_fit(self._periods[-self.lasting :])
        return True

    def _periods_since_change(self) -> int:
        """From which start on the score of the bet that won most is largest in standard deviations:
        the number of periods since then.
        """
        won_most = int(self._log_best.argmax())
        newest_first = self._periods[::-1]
        scores = [period.score(won_most, dependent=self._dependent) for period in newest_first]
        total, variance = np.cumsum(scores, axis=0).T
        without_variance = np.where(total > 0, math.inf, 0.0)
        deviations = np.divide(total, np.sqrt(variance), out=without_variance, where=variance > 0)
        return int(np.argmax(deviations)) + 1

    def _update_alarm(self, period: RangeSums, fitted: int) -> bool:
        """Let the forecast bet against the recalibration that fitted; return whether the alarm is
        over.
        """
        if self._log_favor <= 0:
            self._log_favor = 0.0
            self._favoring = []
        self._log_favor += period.favours_forecast(fitted, dependent=self._dependent)
        self._favoring.append(period)
        if self._log_favor < self._log_limit:
            return False
        against = _log_wealth(self._favoring, dependent=self._dependent)
        if float(log_mean(against)) >= self._log_limit:  # wrong in another way, or by less
            self.alarm = _best_fit(self._favoring)
            self._log_favor = 0.0
            return False
        self.lasting = len(self._favoring)
        self._begin()
        return True


def _log_wealth(periods: Sequence[RangeSums], *, dependent: bool) -> Floats:
    """The logarithm of what each bet makes of 1 in some periods."""
    return np.asarray(np.sum([period.bets(dependent=dependent) for period in periods], axis=0))


def _best_fit(periods: Sequence[RangeSums]) -> int:
    """The number of the bet whose recalibration fits some periods best, as if rows were
    independent.
    """
    return int(_log_wealth(periods, dependent=False).argmax())


def periods_to_alarm(period: RangeSums, shift: float, alpha: float, most: int) -> int | None:
    """About how many periods like this one pass to the alarm of a `Detector` of batches, from a
    change of log odds on.

    None if `most` are too few. It counts the bets that gain by the change, from its first period
    on.
    """
    growth = np.maximum(period.growth(shift), 0.0)
    log_limit = -math.log(alpha)

    def is_raised(periods: int) -> bool:
        return float(log_mean(periods * growth)) >= log_limit

    if not is_raised(most):
        return None
    return 1 + bisect_left(range(1, most + 1), True, key=is_raised)
