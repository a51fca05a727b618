"""A proven gain: somebody gains at least this by switching from one forecast to another."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.regret import Chord
from rainproof.decisions.switch_curve import SwitchCurve
from rainproof.inference.loss_at_least import BETS, betting_bound


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairDraws:
    """Rows by the cells ``floor(m p)`` of two predictions, with weights and the number of the group, if any."""

    m: int
    old: NDArray[np.int32]
    new: NDArray[np.int32]
    event: NDArray[np.bool_]
    weight: Floats
    group: Ints | None = None
    counts: bool = False  # whether a weight is a number of rows, each of weight 1

    def split(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The weight of each row in each half, by one coin for each row or each group."""
        if self.counts:
            heads: Floats = rng.binomial(self.weight.astype(np.int64), 0.5).astype(np.float64)
            return heads, self.weight - heads
        coins = rng.integers(0, 2, len(self.event) if self.group is None else int(self.group.max()) + 1)
        first: Floats = self.weight * (coins if self.group is None else coins[self.group])
        return first, self.weight - first

    def largest(self) -> float:
        """The largest weight of a draw."""
        if self.counts:
            return 1.0
        return float((self.weight if self.group is None else np.bincount(self.group, self.weight)).max())

    def curve(self, weight: Floats) -> SwitchCurve:
        """The loss by the switch at the thresholds ``k/m``."""
        return SwitchCurve._from_cells(self.old, self.new, self.event, weight, self.m)

    def gains(self, chord: Chord, weight: Floats) -> tuple[Floats, Floats]:
        """The weight of each draw, and what it gains by the switch for the task of a chord."""
        ends = [round(self.m * mu) for mu in (chord.mu_a, chord.mu_b)]
        acts = [(cell >= ends[0]).view(np.uint8) + (cell >= ends[1]) for cell in (self.old, self.new)]
        kind = 6 * acts[0] + 2 * acts[1] + self.event  # how many thresholds each prediction reaches, and the outcome
        old, new, event = (part.reshape(-1, 1) for part in np.unravel_index(np.arange(18), (3, 3, 2)))
        mass = 2 * np.array([chord.share, 1 - chord.share]) * (event - np.array([chord.mu_a, chord.mu_b]))
        gain: Floats = (mass * ((new > [0, 1]) * 1.0 - (old > [0, 1]))).sum(axis=1)
        if self.group is None:
            return np.bincount(kind, weight, 18).astype(np.float64), gain
        total = np.bincount(self.group, weight).astype(np.float64)
        some = total > 0
        return total[some], np.bincount(self.group, weight * gain[kind])[some] / total[some]


def gain_bound(draws: PairDraws, delta: float, rng: np.random.Generator) -> float:
    """Name a task and a bet on one half of the rows, and bound the gain of the task on the other; both ways round."""
    (coins,) = rng.spawn(1)  # not `rng` itself: rows simulated with the same seed would decide their own coin
    one, other = (replace(draws, weight=weight) for weight in draws.split(coins))
    return max(gain_of_choice(one, other, delta / 2).at_least, gain_of_choice(other, one, delta / 2).at_least)


class ChosenGain(NamedTuple):
    """What a task gains that was chosen on other rows: the mean, without bias, and a lower bound."""

    estimate: float
    at_least: float


def gain_of_choice(chooser: PairDraws, judge: PairDraws, delta: float) -> ChosenGain:
    """Name a task and a bet on some rows, and bound the gain of the task on others, which are independent of them."""
    total, largest = float(chooser.weight.sum()), judge.largest()
    if total == 0 or not judge.weight.any():
        return ChosenGain(0.0, 0.0)
    curve, price = chooser.curve(chooser.weight), math.log(1 / delta) * largest / total
    # Gains count 1 - bet/2 times and losses 1 + bet/2 times, as in the logarithm of the bet to second order.
    found = [(curve.chord(-bet / 2, back=True), bet) for bet in BETS.tolist()]
    chord, bet = max(found, key=lambda one: 2 * one[0].value - price / one[1])
    weight, gain = judge.gains(chord, judge.weight)
    estimate = float(weight @ gain) / float(weight.sum())
    return ChosenGain(estimate, betting_bound(weight / largest, gain, bet, delta))
