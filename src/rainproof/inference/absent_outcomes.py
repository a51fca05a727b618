r"""How far a mean may be off because clusters lack an outcome by chance.

The variance of a mean over clusters is estimated from those that were seen. Where one coin decides
all rows of a large cluster and the event is rare, the clusters with events are few, and without one
of them the mean is off while nothing shows in its variance. A calibrated forecast says how probable
that is: one coin leaves a cluster of mean prediction :math:`q_c` without the event with probability
:math:`1 - q_c`, and the mean is then off by :math:`s_c`, what was to be expected of the rows of this
cluster less what they had. So if one coin decides each cluster of a set B, the probability that
these are as they are, and the others as far off as they would have to be, is

.. math:: \prod_{c \in B} (1 - q_c) \; P(|Z| \ge (|m| - \sum_{c \in B} s_c) / \sigma)

for a mean that is off by m with the standard error :math:`\sigma`; Z has Student's law. Where all
rows of a cluster have the event, :math:`q_c` is in place of :math:`1 - q_c`. The p-value is the
largest over sets B, the empty one among them, which is the test of before; an interval has the
values with a p-value above 1 minus its confidence level. No number is chosen, and a set makes a
difference only if what a cluster in it can move the mean by is comparable to the standard error.
How often that holds is measured in docs/benchmarks/study-verdict.md.

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


def absences(units: Units, prob: Floats, gain: Floats | float) -> Absences:
    """Find the clusters that lack an outcome, and what was to be expected of them.

    Each case adds so much more to the estimate with the event than without it.
    """
    events = units.sums(units.share * units.event)
    others = units.sums(units.share * ~units.event)
    expected = units.sums(units.share * prob)
    if_other = units.sums(units.share * (1 - prob))
    with np.errstate(invalid="ignore"):
        by_chance = np.where(events == 0, if_other, expected) / (expected + if_other)
    shift = units.sums(units.share * (prob - units.event) * gain)
    lacks_outcome = ((events == 0) | (others == 0)) & (by_chance > 0)
    below = lacks_outcome & (shift < 0)
    above = lacks_outcome & (shift > 0)
    return Absences(
        too_high=AbsentOutcomes.growing(-shift[below], by_chance[below]),
        too_low=AbsentOutcomes.growing(shift[above], by_chance[above]),
    )
