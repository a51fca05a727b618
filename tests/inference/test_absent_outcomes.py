"""Clusters that lack an outcome by chance: the sets of them, their p-value and their levels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.stats import t as student

from rainproof.core.sample import Sample
from rainproof.inference.absent_outcomes import AbsentOutcomes, EventGain, absences
from rainproof.inference.estimates import may_lack_outcomes, prediction_less_outcome

FREEDOM = 60.0


def two_sided(distance, error=1.0):
    return 2 * student.sf(distance / error, FREEDOM)


def test_sets_grow_by_what_moves_the_mean_most_for_how_improbable_it_is():
    sets = AbsentOutcomes.growing(np.array([0.1, 0.4, 0.2]), np.array([0.9, 0.5, 0.7]))
    assert sets.shift == pytest.approx([0.0, 0.1, 0.5, 0.7])  # .95, .58 and .56 by the logarithm
    assert sets.probability == pytest.approx([1.0, 0.9, 0.45, 0.315])


def test_the_p_value_by_hand():
    """A mean that is three standard errors off, two of them by a cluster that lacks the event with
    probability 0.4.
    """
    sets = AbsentOutcomes.growing(np.array([2.0]), np.array([0.4]))
    assert sets.p_value(3.0, 1.0, FREEDOM) == pytest.approx(0.4 * two_sided(1.0))
    assert sets.p_value(1.5, 1.0, FREEDOM) == pytest.approx(0.4)  # the cluster alone would do
    assert sets.p_value(0.5, 1.0, FREEDOM) == pytest.approx(two_sided(0.5))  # without it


def test_without_such_clusters_it_is_that_of_students_law():
    sets = AbsentOutcomes.growing(np.array([]), np.array([]))
    assert sets.p_value(2.0, 0.8, FREEDOM) == pytest.approx(two_sided(2.0, 0.8))


@for_each("seed", range(20))
def test_no_set_has_a_much_larger_p_value(seed):
    """Of all sets of seven clusters; those that grow are the best but for the last cluster."""
    rng = np.random.default_rng(seed)
    shift, probability = rng.exponential(0.4, 7), rng.uniform(0.6, 0.98, 7)
    sets = AbsentOutcomes.growing(shift, probability)
    for distance in (0.5, 2.0, 3.0, 5.0):
        best = max(
            probability[list(chosen)].prod()
            * min(two_sided(distance - shift[list(chosen)].sum()), 1.0)
            for size in range(8)
            for chosen in itertools.combinations(range(7), size)
        )
        p_value = sets.p_value(distance, 1.0, FREEDOM)
        assert best * probability.min() <= p_value <= best * (1 + 1e-12)


def test_sets_have_a_level_that_is_left_for_the_other_clusters():
    """All is as improbable as the confidence level admits: the set, and the others beside it."""
    sets = AbsentOutcomes.growing(np.array([0.3, 0.2, 0.1]), np.array([0.5, 0.2, 0.1]))
    shift, level = sets.plausible(0.95)
    assert shift == pytest.approx([0.0, 0.3, 0.5])  # the third has 1%
    assert level == pytest.approx([0.95, 0.9, 0.5])


def sample_of(*clusters, weight=None):
    """Clusters of (rows, prediction, event of each row)."""
    p, y, group = [], [], []
    for number, (size, prob, event) in enumerate(clusters):
        p += [prob] * size
        y += [event] * size
        group += [number] * size
    return Sample(np.array(y), np.array(p), groups=group, sample_weight=weight)


def many(size, prob, event, count):
    return [(size, prob, event)] * count


def found_in(sample, gain=1.0):
    """All of them: those that can explain an estimate with hardly any error."""
    return absences(sample.units, EventGain(sample.prob, gain), 1e-9, 2.0)


def test_clusters_that_lack_an_outcome_count_with_what_was_expected_of_them():
    """A hundred rows of 200 in one cluster without an event, at 30%."""
    clusters = [(100, 0.3, False), *many(2, 0.5, True, 25), *many(2, 0.5, False, 25)]
    found = found_in(sample_of(*clusters))
    assert found.too_low.shift[:2] == pytest.approx([0.0, 0.15])
    assert found.too_low.probability[:2] == pytest.approx([1.0, 0.7])
    assert found.too_low.shift[2:] == pytest.approx(0.15 + 0.005 * np.arange(1, 26))
    assert found.too_low.probability[2:] == pytest.approx(0.7 * 0.5 ** np.arange(1, 26))
    assert found.too_high.shift == pytest.approx(0.005 * np.arange(26))
    assert found.too_high.probability == pytest.approx(0.5 ** np.arange(26))


def test_what_an_event_adds_is_that_of_each_case():
    """Where an event costs 3, and in the first cluster saves 2, the clusters count so much."""
    clusters = [(100, 0.3, False), *many(2, 0.5, True, 25), *many(2, 0.5, False, 25)]
    sample = sample_of(*clusters)
    found = found_in(sample, np.repeat([-2.0, 3.0], 100))
    assert found.too_high.shift[:3] == pytest.approx([0.0, 0.3, 0.315])
    assert found.too_high.probability[:3] == pytest.approx([1.0, 0.7, 0.35])
    assert found.too_low.shift == pytest.approx(0.015 * np.arange(26))


def test_clusters_with_both_outcomes_are_not_decided_by_one_coin():
    sample = sample_of(*many(2, 0.5, True, 30), (9, 0.2, False), (1, 0.2, True))
    both = Sample(
        sample.event, sample.prob, groups=np.append(np.repeat(np.arange(30), 2), [99] * 10)
    )
    assert found_in(both).too_low.shift == pytest.approx([0.0])
    assert found_in(sample).too_low.shift == pytest.approx([0.0, 9 / 70 * 0.2])


def test_clusters_that_weigh_nothing_and_sure_predictions_hide_nothing():
    """A prediction of 0 expects no event, and one of 1 without the event cannot be by chance."""
    clusters = [*many(2, 0.5, True, 30), *many(2, 0.5, False, 30)]
    plain = found_in(sample_of(*clusters)).too_low
    more = [*clusters, (30, 0.0, False), (3, 0.4, False)]
    weight = np.append(np.ones(150), np.zeros(3))
    weighed = found_in(sample_of(*more, weight=weight)).too_low
    assert weighed.probability == pytest.approx(plain.probability)
    assert weighed.shift == pytest.approx(plain.shift * 120 / 150)
    wrong = found_in(sample_of(*clusters, (30, 1.0, False))).too_low
    assert wrong.probability == pytest.approx(plain.probability)


def test_outcomes_and_predictions_turned_round_have_the_mirror_image():
    clusters = [*many(2, 0.3, True, 30), *many(2, 0.3, False, 70), (50, 0.2, False)]
    sample = sample_of(*clusters)
    group = np.repeat(np.arange(101), [2] * 100 + [50])
    event = np.array(sample.event)
    found, image = (
        prediction_less_outcome(Sample(y, p, groups=group).units, p, 0.95)
        for y, p in ((event, sample.prob), (~event, 1 - sample.prob))
    )
    assert (-image.high, -image.low) == pytest.approx((found.low, found.high))


def test_it_does_not_matter_for_few_clusters_and_for_independent_rows():
    """Where fewer than twenty clusters have events, intervals allow for one that was not seen."""
    few = sample_of(*many(3, 0.2, True, 19), *many(3, 0.2, False, 60))
    enough = sample_of(*many(3, 0.2, True, 20), *many(3, 0.2, False, 60))
    alone = Sample(np.array(enough.event), np.array(enough.prob))
    assert not may_lack_outcomes(few.units)
    assert not may_lack_outcomes(alone.units)
    assert may_lack_outcomes(enough.units)


@for_each("seed", range(10))
def test_clusters_that_are_left_out_do_not_matter(seed):
    """Those too small to explain anything: p-values and shifts of ends are as with all of them."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 30, 120)
    event = rng.random(120) < 0.25
    sample = sample_of(*zip(size, rng.uniform(0.02, 0.6, 120), event, strict=True))
    gain = rng.uniform(-1.0, 3.0, len(sample.prob))
    for error in (0.005, 0.03, 0.1):
        for distance in (0.5, 2.0, 4.0):
            some = absences(sample.units, EventGain(sample.prob, gain), error, distance)
            for kept, all_of_them in zip(some, found_in(sample, gain), strict=True):
                assert len(kept.shift) <= len(all_of_them.shift)
                p_values = [
                    sets.p_value(distance * error, error, FREEDOM) for sets in (kept, all_of_them)
                ]
                assert p_values[0] == pytest.approx(p_values[1], rel=1e-9)
