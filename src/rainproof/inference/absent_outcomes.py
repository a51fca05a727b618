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
largest over sets B, the empty one among them, which gives the usual test; an interval has the
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
        of_empty_set = 2 * stdtr(freedom, -distance / error)
        # no set has a larger p-value than the probability that its clusters lack the outcome
        can_be_larger = self.probability > of_empty_set
        of_other_clusters = 2 * stdtr(freedom, (self.shift[can_be_larger] - distance) / error)
        of_sets = self.probability[can_be_larger] * np.minimum(of_other_clusters, 1.0)
        return float(of_sets.max(initial=of_empty_set))

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
    least_shift = error / (distance + 1)  # for each unit of the logarithm
    largest_shift = float(np.abs(event.gain).max() * units.unit_share.max())
    if not largest_shift > least_shift:
        nothing = AbsentOutcomes(np.zeros(1), np.ones(1))
        return Absences(nothing, nothing)
    lacks_event = units.event_share == 0
    lacks_non_event = units.event_share == units.unit_share
    expected = units.sums(units.share * event.prob)
    if np.ndim(event.gain):
        shift = units.sums(units.share * (event.prob - units.event) * event.gain)
    else:
        shift = (expected - units.event_share) * event.gain
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_prediction = expected / units.unit_share
        probability = np.where(lacks_event, 1 - mean_prediction, mean_prediction)
        explains = np.abs(shift) > -least_shift * np.log(probability)
    counted = (lacks_event | lacks_non_event) & explains & (probability > 0)
    raises = counted & (shift < 0)
    lowers = counted & (shift > 0)
    return Absences(
        too_high=AbsentOutcomes.growing(-shift[raises], probability[raises]),
        too_low=AbsentOutcomes.growing(shift[lowers], probability[lowers]),
    )
