"""Proven gains over no forecast: there is a threshold at which acting on the forecast gains this.

No forecast means the better of always and never acting. What the bets prove is in
`rainproof.inference.lower_bounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.validation import ThresholdRange
from rainproof.inference.lower_bounds import lower_bound
from rainproof.inference.options import Seed
from rainproof.inference.wagers import Gains, Places, Rule, Tally, Wagers

_LEAST = 1e-12  # share of what is at stake: less is rounding, and no such gain is divided by


@result_class
class ProvenGain(Result):
    """What some decision gains by acting on the forecast over no forecast, in expectation, in the
    population.

    No forecast means the better of always and never acting. Each of the two bounds holds by itself:
    there is a threshold at which acting on the forecast gains at least so much. It is not proven
    which one.

    Attributes
    ----------
    relative_at_least : float
        A share of what perfect foresight would gain: 1 is perfect, 0 if nothing is proven.
    relative_threshold : float or None
        Where these rows suggest the largest such gain: the probability from which on to act. An
        example, of which nothing is proven by itself. None if no gain is proven.
    gain_at_least : float
        A share of what is at stake; 0 if nothing is proven.
    gain_threshold : float or None
        Where these rows suggest the largest such gain, as an example; None if no gain is proven.
    threshold_range : ThresholdRange or None
        The range that the threshold lies in, as for `SwitchGuarantee`; None if it may be any.
    confidence_level : float
        The probability, at least, that a bound holds for a sample drawn as stated.
    """

    relative_at_least: float
    relative_threshold: float | None
    gain_at_least: float
    gain_threshold: float | None
    threshold_range: ThresholdRange | None
    confidence_level: float

    @property
    def proven(self) -> bool:
        """Whether some decision gains, in shares of perfect foresight."""
        return self.relative_at_least > 0


def worth(
    sample: Sample,
    confidence_level: float,
    rng: Seed = 0,
    within: ThresholdRange | None = None,
) -> ProvenGain:
    """Bound what acting on the forecast gains over no forecast, from all rows."""
    wagers = Wagers.of(sample, rng, within)
    delta = 1 - confidence_level
    betting = wagers.betting(delta)

    def choose(before: Sequence[Tally]) -> Sequence[Sequence[Rule | None]]:
        relative = []
        gain = []
        for tally in before:
            best = best_thresholds(wagers, tally, betting.price)
            relative.append(rule_at(wagers, best.relative, relative=True))
            gain.append(rule_at(wagers, best.gain, relative=False))
        return relative, gain

    chains_of_relative, chains_of_gain = wagers.chains(choose, delta, rng, rules=2)
    relative_at_least = lower_bound(chains_of_relative, delta, betting.bets)
    gain_at_least = lower_bound(chains_of_gain, delta, betting.bets)
    all_rows = wagers.tally()
    example = BestThresholds(None, None)
    if all_rows.total > 0:
        example = best_thresholds(wagers, all_rows, betting.price)

    def threshold(number: int | None, at_least: float) -> float | None:
        if number is None or not at_least > 0:
            return None
        return float(wagers.edges[number])

    return ProvenGain(
        relative_at_least=relative_at_least,
        relative_threshold=threshold(example.relative, relative_at_least),
        gain_at_least=gain_at_least,
        gain_threshold=threshold(example.gain, gain_at_least),
        threshold_range=wagers.within,
        confidence_level=confidence_level,
    )


class BestThresholds(NamedTuple):
    """The numbers of the thresholds at which a bound should be largest; None if none gains."""

    relative: int | None  # in shares of what perfect foresight gains
    gain: int | None  # in shares of what is at stake


def best_thresholds(wagers: Wagers, before: Tally, price: float) -> BestThresholds:
    """Choose the thresholds to bet on by the rows before."""
    mu = wagers.edges
    low, high = wagers.within or (0.0, 1.0)
    shares = (before.sums / before.total).reshape(-1, 2)
    # acting from each threshold on
    false_alarms, hits = np.cumsum(shares[::-1], axis=0)[::-1].T
    rate = float(hits[0])
    missed = rate - hits
    spared = 1 - rate - false_alarms
    over_never = hits * (1 - mu) - false_alarms * mu
    over_always = over_never - (rate - mu)
    value = np.minimum(over_never, over_always)
    perfect = np.minimum(mu * (1 - rate), (1 - mu) * rate)
    square_over_never = hits * (1 - mu) ** 2 + false_alarms * mu**2
    square_over_always = missed * (1 - mu) ** 2 + spared * mu**2
    square = np.maximum(np.where(rate <= mu, square_over_never, square_over_always), _LEAST)
    # The logarithm of a bet is its mean less half of its square, to second order.
    # So the best bet gains `likely`; the square is that of the gain over the better alternative.
    bet = np.minimum(np.sqrt(2 * price / square), 0.5)
    likely = value - bet / 2 * square - price / bet
    asked = (perfect > _LEAST) & (mu >= low) & (mu <= high)  # elsewhere nothing is at stake
    if not asked.any():
        return BestThresholds(None, None)

    def best(scale: Floats) -> int | None:
        per_scale = np.where(asked, likely / np.where(asked, scale, 1.0), -np.inf)
        number = int(np.argmax(per_scale))
        return number if value[number] > 0 else None

    return BestThresholds(relative=best(perfect), gain=best(np.maximum(mu, 1 - mu)))


def rule_at(wagers: Wagers, number: int | None, *, relative: bool) -> Rule | None:
    """What rows gain over never and over always acting by acting from a threshold on, if there is
    one.
    """
    if number is None:
        return None
    mu = float(wagers.edges[number])
    # Kinds of rows: not flagged without and with the event, flagged without and with it.
    gain = np.array([[0, 0, -mu, 1 - mu], [mu, mu - 1, 0, 0]])
    if relative:
        scale = np.array([[0, 1 - mu, 0, 1 - mu], [mu, 0, mu, 0]])
    else:
        gain = gain / max(mu, 1 - mu)
        scale = np.ones((2, 4))

    def gains(places: Places) -> Gains:
        flagged = wagers.cells[0][places] >= number
        return Gains(2 * flagged + wagers.event[places], gain, scale, threshold=mu)

    return gains
