r"""How far a mean may be off because clusters lack an outcome by chance.

The variance of a mean over clusters is estimated from those that were seen. Where one coin decides
all rows of a large cluster and the event is rare, the clusters with events are few, and without one
of them the mean is off while nothing shows in its variance. A calibrated forecast says how probable
that is: one coin leaves a cluster of mean prediction :math:`q_c` without the event with probability
:math:`1 - q_c`, and the mean is then off by :math:`s_c`, what was to be expected of the rows of
this cluster less what they had. So if one coin decides each cluster of a set B, the probability
that these are as they are, and the others as far off as they would have to be, is

.. math:: \prod_{c \in B} (1 - q_c) \; P(|Z| \ge (|m| - \sum_{c \in B} s_c) / \sigma)

for a mean that is off by m with the standard error :math:`\sigma`; Z has Student's law. Where all
rows of a cluster have the event, :math:`q_c` is in place of :math:`1 - q_c`. The p-value is the
largest over sets B, the empty one among them, which is the test of before; an interval has the
values with a p-value above 1 minus its confidence level. No number is chosen, and a set makes a
difference only if what a cluster in it can move the mean by is comparable to the standard error.
docs/theory/derivations.md has the derivation, docs/benchmarks/study-verdict.md how often it holds.

When an estimate allows for this is decided in `rainproof.inference.estimates`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from rainproof.core.arrays import Floats
from rainproof.core.units import Units


class AbsentOutcomes(NamedTuple):
    """Growing sets of clusters that lack an outcome; the first is empty."""

    shift: Floats  # by how much the mean is off with each set
    probability: Floats  # that its clusters lack the outcome, by one coin each

    @classmethod
    def growing(cls, shift: Floats, probability: Floats) -> AbsentOutcomes:
        """Grow sets by the cluster that moves the mean most for how improbable it is."""
        with np.errstate(divide="ignore"):
            order = np.argsort(shift / np.log(probability), kind="stable")
        return cls(
            shift=np.append(0.0, np.cumsum(shift[order])),
            probability=np.append(1.0, np.cumprod(probability[order])),
        )

    def p_value(self, distance: float, error: float, freedom: float) -> float:
        """The largest p-value of a mean at a distance from what was expected, over all sets."""
        of_all = 2 * stdtr(freedom, -distance / error)
        larger = self.probability > of_all  # no other set has a larger p-value
        of_others = 2 * stdtr(freedom, (self.shift[larger] - distance) / error)
        with_set = self.probability[larger] * np.minimum(of_others, 1.0)
        return float(with_set.max(initial=of_all))

    def plausible(self, confidence_level: float) -> tuple[Floats, Floats]:
        """The shifts of the sets that are not too improbable at this level, and the level that each
        leaves to an interval of the other clusters.
        """
        level = 1 - (1 - confidence_level) / np.maximum(self.probability, 1 - confidence_level)
        return self.shift[level > 0], level[level > 0]


class Absences(NamedTuple):
    """The clusters that lack an outcome: those that make an estimate too high, and too low."""

    too_high: AbsentOutcomes
    too_low: AbsentOutcomes


class EventGain(NamedTuple):
    """What the event is predicted to be, and what it makes of an estimate."""

    prob: Floats  # of the event in each case
    gain: Floats | float  # how much more a case adds to the estimate with the event than without it


def absences(units: Units, event: EventGain, error: float, distance: float) -> Absences:
    """Find the clusters that lack an outcome and could explain why an estimate is that far off.

    A p-value at a distance in standard errors grows by a cluster only if this moves the estimate,
    for each unit of the logarithm of its probability, by an error over the hazard rate of Student's
    law there or more. That is below the distance plus 1, as Mills' ratio is for the normal law.
    """
    least = error / (distance + 1)
    largest = float(np.abs(event.gain).max() * units.unit_share.max())
    if not largest > least:
        nothing = AbsentOutcomes(np.zeros(1), np.ones(1))
        return Absences(nothing, nothing)
    lacks_event = units.event_share == 0
    lacks_other = units.event_share == units.unit_share
    expected = units.sums(units.share * event.prob)
    if np.ndim(event.gain):
        shift = units.sums(units.share * (event.prob - units.event) * event.gain)
    else:
        shift = (expected - units.event_share) * event.gain
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = expected / units.unit_share
        by_chance = np.where(lacks_event, 1 - rate, rate)
        explains = np.abs(shift) > -least * np.log(by_chance)
    counted = (lacks_event | lacks_other) & explains & (by_chance > 0)
    below = counted & (shift < 0)
    above = counted & (shift > 0)
    return Absences(
        too_high=AbsentOutcomes.growing(-shift[below], by_chance[below]),
        too_low=AbsentOutcomes.growing(shift[above], by_chance[above]),
    )
