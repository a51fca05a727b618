"""Proofs that a threshold keeps targets in the population: precision, recall, false positive rate.

Here a threshold is given; which one is tried is in `rainproof.inference.threshold_search`. A target
is a share of successes among trials. Where every draw is one case, numbers of cases are proof
(binomial tests); else bets on whole draws are. The proofs are in docs/theory/bounds.md, "A
threshold with a proven target".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtrik, betainc, betaincinv, ndtri

from rainproof.core.arrays import Floats
from rainproof.core.sample import Sample

_LARGEST_BET = 0.98  # of what can be lost on a draw, so that no factor is 0
_ROUNDING = 1e-9  # trials: by which a quantile of the binomial distribution may be off
_LEAST_SPREAD = 1e-12  # standard deviation that a margin is divided by


class FlaggedCounts(NamedTuple):
    """How many cases are flagged: numbers, or arrays with an entry for each threshold."""

    hits: Any  # flagged events
    alarms: Any  # flagged others
    events: Any  # all events
    others: Any  # all others


class Trials(NamedTuple):
    """A target as a share of successes."""

    successes: Any
    trials: Any
    share: float  # to be proven


class Margin(NamedTuple):
    """By how much estimated numbers would be proof on average."""

    gap: Floats
    spread: Floats  # standard deviation of what one case, in place of many, would add to it


@dataclass(frozen=True, slots=True)
class TargetProof:
    """What is to be proven, with which error, at which base rate (None: that of the rows)."""

    targets: Mapping[str, float]
    delta: float
    base_rate: float | None

    def trials(self, name: str, counts: FlaggedCounts) -> Trials:
        """Return successes, trials, and the share of successes to be proven."""
        hits, alarms, events, others = counts
        share = self.targets[name]
        if name == "precision":
            return Trials(hits, hits + alarms, share)
        if name == "recall":
            return Trials(hits, events, share)
        return Trials(others - alarms, others, 1 - share)

    def recall_ratio(self, name: str) -> float | None:
        """For the precision at a base rate, how many times the false positive rate recall must be;
        else None.
        """
        if self.base_rate is None or name != "precision":
            return None
        odds = self.targets[name] / (1 - self.targets[name])
        return odds * (1 - self.base_rate) / self.base_rate

    def holds_by_counts(self, name: str, counts: FlaggedCounts) -> bool:
        """Whether numbers of independent rows prove a target."""
        ratio = self.recall_ratio(name)
        if ratio is None:
            successes, trials, share = self.trials(name, counts)
            if not successes > 0:
                return False
            return bool(betainc(successes, trials - successes + 1, share) <= self.delta)
        # The exact limits of Clopper and Pearson, each at half of the error.
        hits, alarms, events, others = counts
        recall_at_least = 0.0
        if hits > 0:
            recall_at_least = betaincinv(hits, events - hits + 1, self.delta / 2)
        rate_at_most = 1.0
        if alarms < others:
            rate_at_most = betaincinv(alarms + 1, others - alarms, 1 - self.delta / 2)
        return bool(recall_at_least >= ratio * rate_at_most)

    def margin(self, counts: FlaggedCounts, scale: float) -> Margin:
        """Return by how much estimated numbers, so many times over, would be proof on average: the
        least over the targets.
        """
        margins = []
        for name in self.targets:
            margin = self._margin_of(name, counts, scale)
            margins.append(np.broadcast_arrays(*margin))
        gap, spread = np.stack(margins, axis=1)  # each of shape (targets, thresholds)
        least = np.argmin(gap / np.maximum(spread, _LEAST_SPREAD), axis=0)[np.newaxis]
        return Margin(np.take_along_axis(gap, least, 0)[0], np.take_along_axis(spread, least, 0)[0])

    def _margin_of(self, name: str, counts: FlaggedCounts, scale: float) -> Margin:
        ratio = self.recall_ratio(name)
        if ratio is not None:
            return self._margin_of_ratio(ratio, counts, scale)
        successes, trials, share = self.trials(name, counts)
        expected_trials = np.maximum(np.floor(trials * scale), 1.0)
        # half of the way to proof
        needed = np.ceil(bdtrik(1 - self.delta, expected_trials, share) - _ROUNDING) + 0.5
        rate = (successes + share) / (trials + 1)
        spread = np.sqrt(rate * (1 - rate) / np.maximum(trials, _ROUNDING))
        return Margin(rate - needed / expected_trials, spread)

    def _margin_of_ratio(self, ratio: float, counts: FlaggedCounts, scale: float) -> Margin:
        """The margin of the logarithm of recall over false positive rate, by its normal limit."""
        hits, alarms, events, others = counts
        recall = (hits + 0.5) / (events + 1)
        rate = (alarms + 0.5) / (others + 1)
        variance = (1 - recall) / (recall * (events + 1)) + (1 - rate) / (rate * (others + 1))
        reach = ndtri(self.delta / 2) * np.sqrt(variance / scale)
        return Margin(np.log(recall / (ratio * rate)) + reach, np.sqrt(variance))


def is_counted(sample: Sample) -> bool:
    """Whether rows of equal weight are drawn one by one, so that their numbers are proof."""
    return sample.units.unit is None and sample.design.max_weight is None


def proves(sample: Sample, proof: TargetProof) -> Callable[[float], bool]:
    """Return whether rows prove all targets at a threshold: by numbers, or by bets on draws."""
    if not is_counted(sample):
        bets = DrawBets.on(sample)

        def holds_by_bets(threshold: float) -> bool:
            return bets.evidence(proof, threshold) >= -math.log(proof.delta)

        return holds_by_bets
    table = CountTable.of(sample)

    def holds_by_counts(threshold: float) -> bool:
        counts = table.counts(threshold)
        return all(proof.holds_by_counts(name, counts) for name in proof.targets)

    return holds_by_counts


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """How many events and other rows are flagged from each distinct prediction on; beyond the last,
    none.
    """

    prob: Floats
    events: Floats
    others: Floats

    @classmethod
    def of(cls, sample: Sample) -> CountTable:
        """Count the rows of a sample in which all weigh the same."""
        table = sample.distinct()
        weight_of_row = sample.total_weight / sample.n
        events = _from_each_on(np.rint(table.positive / weight_of_row))
        others = _from_each_on(np.rint(table.negative / weight_of_row))
        return cls(table.prob, events, others)

    def counts(self, threshold: float) -> FlaggedCounts:
        """Return how many rows are flagged from a threshold on."""
        place = int(np.searchsorted(self.prob, threshold))
        return FlaggedCounts(self.events[place], self.others[place], self.events[0], self.others[0])


def _from_each_on(counts: Floats) -> Floats:
    """The sums of the entries from each on, and 0 beyond the last."""
    return np.append(np.cumsum(counts[::-1])[::-1], 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class DrawBets:
    """Bets on whole draws, each with its weight over the largest possible one.

    Over the largest weight of these draws, where none is stated, a bet would depend on which of the
    heavy ones they are; so weights then must not depend on the rows.
    """

    sample: Sample
    stake: Floats  # of each row
    draws: int  # with some weight

    @classmethod
    def on(cls, sample: Sample) -> DrawBets:
        """Bet on the draws of a sample."""
        units = sample.units
        return cls(sample, units.stakes(), int(np.count_nonzero(units.weight)))

    def evidence(self, proof: TargetProof, threshold: float) -> float:
        """Return what bets at a threshold make of 1, as a logarithm: the least over the targets."""
        event = self.sample.event
        flagged = self.sample.prob >= threshold
        smallest_bet = math.sqrt(-2 * math.log(proof.delta) / self.draws)
        bets = 2.0 ** -np.arange(max(1.0, 1 - math.log2(min(smallest_bet, 1.0))))
        counts = FlaggedCounts(
            hits=(flagged & event) * 1.0,
            alarms=(flagged & ~event) * 1.0,
            events=event * 1.0,
            others=~event * 1.0,
        )
        logs = []
        for name in proof.targets:
            successes, trials, share = proof.trials(name, counts)
            gain = self.sample.units.sums(self.stake * (successes - share * trials))
            wealth = np.log1p(bets[:, np.newaxis] * (_LARGEST_BET / share) * gain).sum(axis=1)
            logs.append(float(np.logaddexp.reduce(wealth)) - math.log(len(bets)))
        return min(logs)
