"""Groups of unequal size and rare events: a calibrated forecast is left alone, and intervals
contain the truth.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.stats import t as student

import rainproof
from rainproof.core.sample import Sample
from rainproof.inference.auroc import auroc_interval
from rainproof.inference.estimates import (
    distance_from_calibration,
    has_few_clusters,
    mean_interval,
    model_variance,
    moments,
    observed_expected,
    p_value_of_mean,
    pooled_predictions,
    prediction_less_outcome,
)
from rainproof.inference.grouped_test import grouped_p_value
from rainproof.inference.logistic_estimates import calibration_intercept, calibration_slope
from rainproof.verdict.calibration import few_clusters, grouped_test, how_calibrated
from rainproof.verdict.costs import Rule

SAMPLES = 100
LEVEL = 0.95


def drawn(seed, values, count, large, *, coin=1.0, factor=1.0):
    """Rows of groups of 1 or, one in ten, of many rows; in a share of the groups one coin decides
    all outcomes.
    """
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(count) < 0.1, large, 1)
    group = np.repeat(np.arange(count), size)
    p = np.array(values)[rng.integers(0, len(values), count)][group]
    shared = (rng.random(count) < coin)[group]
    luck = np.where(shared, rng.random(count)[group], rng.random(len(group)))
    return luck < factor * p, p, group


def rare(seed):
    """About 1,200 rows in 200 groups, events in 2%: one coin for all rows of a group."""
    return drawn(seed, (0.01, 0.03), 200, 50)


def large_clusters_are_few(seed):
    """About 3,000 rows in 1,000 groups, 41 of them of 50 rows; events in 5%, one coin in half of
    the groups.
    """
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(1000) < 2 / 49, 50, 1)
    return with_coins(rng, size, rng.choice([0.015, 0.045, 0.09], 1000), coin=0.5)


def large_clusters_are_fewer(seed):
    """About 3,000 rows in 2,000 groups, 20 of them of 50 rows; events in 5%, one coin in each
    group.
    """
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(2000) < 0.5 / 49, 50, 1)
    return with_coins(rng, size, rng.choice([0.025, 0.075], 2000), coin=1.0)


def with_coins(rng, size, prob, *, coin):
    """Rows of groups with a prediction each; in a share of the groups one coin decides all
    outcomes.
    """
    group = np.repeat(np.arange(len(size)), size)
    shared = (rng.random(len(size)) < coin)[group]
    luck = np.where(shared, rng.random(len(size))[group], rng.random(len(group)))
    return luck < prob[group], prob[group], group


def both_outcomes(draw, count=SAMPLES):
    """Samples with events and without."""
    seed, found = 0, []
    while len(found) < count:
        y, p, group = draw(seed)
        seed += 1
        if y.any() and not y.all():
            found.append((y, p, group))
    return found


def test_calibrated_rare_events_in_unequal_groups_are_rarely_rejected():
    rejected = sum(
        grouped_test(Sample(y, p, groups=group)) <= 0.05 for y, p, group in both_outcomes(rare)
    )
    assert rejected <= SAMPLES * 0.05 + 2 * math.sqrt(SAMPLES * 0.05 * 0.95)


def test_calibrated_rare_events_in_unequal_groups_are_not_recalibrated():
    wrong = 0
    for y, p, group in both_outcomes(rare, 25):
        with pytest.warns(rainproof.FewRowsWarning, match="effective cluster"):
            found = rainproof.assess(y, p, groups=group, measures=[], n_resamples=19)
        wrong += found.verdict.grade == "recalibrate" or found.calibration.rejected
    assert wrong <= 1


@for_each("draw", [large_clusters_are_few, large_clusters_are_fewer])
def test_clusters_that_lack_events_by_chance_do_not_reject_a_calibrated_forecast(draw):
    """At the level of the test and of the intervals, within two standard errors."""
    error = math.sqrt(SAMPLES * 0.05 * 0.95)
    rejected, covered = 0, np.zeros(3)
    for y, p, group in both_outcomes(draw):
        sample = Sample(y, p, groups=group)
        rejected += grouped_test(sample) <= 0.05
        intervals = (
            prediction_less_outcome(sample.units, p, LEVEL),
            calibration_intercept(sample.units, p, LEVEL),
            observed_expected(sample.units, p, LEVEL),
        )
        for k, truth in enumerate((0.0, 0.0, 1.0)):
            covered[k] += intervals[k].low <= truth <= intervals[k].high
    assert rejected <= SAMPLES * 0.05 + 2 * error
    assert (covered >= SAMPLES * 0.95 - 2 * error).all()


@pytest.mark.filterwarnings("ignore:events in only:rainproof.errors.FewRowsWarning")
def test_a_calibrated_forecast_is_not_recalibrated_where_large_clusters_are_few():
    grades = Counter(
        rainproof.assess(y, p, groups=group).verdict.grade
        for y, p, group in both_outcomes(large_clusters_are_few, 40)
    )
    assert grades["recalibrate"] <= 40 * 0.05 + 2 * math.sqrt(40 * 0.05 * 0.95)


@pytest.mark.filterwarnings("ignore:events in only:rainproof.errors.FewRowsWarning")
def test_clusters_that_lack_events_by_chance_are_allowed_for_in_costs():
    """Of a miss at 19 false alarms, and of always and never acting; also on average over a
    range.
    """
    miss = 19.0
    task = rainproof.DecisionTask.from_costs(false_positive=1.0, false_negative=miss)
    covered, samples = Counter(), 40
    for y, p, group in both_outcomes(large_clusters_are_few, samples):
        columns = {"groups": group, "measures": [], "n_resamples": 19}
        with_task = rainproof.assess(y, p, task=task, **columns).task
        over_range = rainproof.assess(y, p, threshold_range=(0.02, 0.2), **columns)
        of_range = over_range.evidence.range_costs
        # a third of the groups has 0.09, above the threshold of 0.05
        cost = (0.91 + miss * (0.015 + 0.045)) / 3
        for name, found, truth in (
            ("as is", with_task.costs[Rule.AS_IS], cost),
            ("never", with_task.costs[Rule.NEVER], miss * 0.05),
            ("always", with_task.costs[Rule.ALWAYS], 0.95),
            ("saved, never", with_task.saved[Rule.NEVER], cost - miss * 0.05),
            ("range, never", of_range.costs[Rule.NEVER], 0.05 * (1 - 0.11)),
            ("range, always", of_range.costs[Rule.ALWAYS], 0.95 * 0.11),
        ):
            covered[name] += found.low - 1e-9 <= truth <= found.high + 1e-9
    least = samples * 0.95 - 2 * math.sqrt(samples * 0.05 * 0.95)
    assert min(covered.values()) >= least


def test_the_cost_of_a_forecast_is_the_same_alone_and_among_several():
    """With its interval, where large clusters lack events by chance."""
    y, p, group = large_clusters_are_few(1)
    task = rainproof.DecisionTask.from_costs(false_positive=1.0, false_negative=19.0)
    columns = {"groups": group, "task": task, "measures": [], "n_resamples": 19}
    alone = rainproof.assess(y, p, **columns).task
    among = rainproof.assess_many(y, y_prob={"a": p, "b": p**1.1}, **columns)
    assert among.standings[0].cost == alone.costs[Rule.AS_IS]
    for rule in (Rule.ALWAYS, Rule.NEVER, Rule.PERFECT):
        assert among.references[rule] == alone.costs[rule]


def test_intervals_of_rare_events_in_unequal_groups_contain_the_truth():
    """What the forecast says less what happens, the cost of acting from 2% on, and what never
    acting would save.
    """
    covered = np.zeros(3)
    for y, p, group in both_outcomes(rare):
        units = Sample(y, p, groups=group).units
        cost = np.where(p >= 0.02, ~y * 1.0, y * 49.0)
        found = [
            prediction_less_outcome(units, p, LEVEL),
            mean_interval(units, cost, 0.0, 49.0, LEVEL),
            mean_interval(units, cost - 49.0 * y, -49.0, 49.0, LEVEL),
        ]
        truth = (0.97 + 0.01 * 49.0) / 2
        for k, value in enumerate((0.0, truth, truth - 0.02 * 49.0)):
            covered[k] += found[k].low - 1e-9 <= value <= found[k].high + 1e-9
    assert (covered >= SAMPLES * 0.93 - 2 * math.sqrt(SAMPLES * 0.93 * 0.07)).all()


def test_forecasts_are_still_found_wrong_where_no_cluster_is_large():
    """Equal groups of ten rows, events in 20%: that clusters lack events makes hardly a
    difference.
    """
    found, found_without = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y, p, group = with_coins(rng, np.full(200, 10), rng.choice([0.1, 0.3], 200), coin=0.2)
        sample = Sample(y, p / 0.7, groups=group)
        value, error = distance_from_calibration(sample.units, sample.prob)
        freedom = sample.effective_n - 1
        found += p_value_of_mean(sample.units, sample.prob, freedom) <= 0.05
        found_without += 2 * student.sf(abs(value) / error, freedom) <= 0.05
    assert found >= found_without - 1
    assert found >= 32


def test_half_of_many_groups_may_have_one_coin():
    draw = {"values": (0.3, 0.5, 0.7), "count": 1000, "large": 50, "coin": 0.5}
    found = {1.0: 0, 0.7: 0}
    for factor in found:
        for seed in range(60):
            y, p, group = drawn(seed, **draw, factor=factor)
            found[factor] += grouped_test(Sample(y, p, groups=group)) <= 0.05
    assert found[1.0] <= 60 * 0.05 + 2 * math.sqrt(60 * 0.05 * 0.95)
    assert found[0.7] >= 50


@for_each("events, few", [(19, True), (20, False), (80, False), (81, True)])
def test_from_twenty_groups_with_the_rarer_outcome_on_the_test_is_approximate(events, few):
    y, p, group = np.arange(100) < events, np.full(100, 0.3) + np.arange(100) / 1e4, np.arange(100)
    sample = Sample(np.repeat(y, 3), np.repeat(p, 3), groups=np.repeat(group, 3))
    assert has_few_clusters(sample.units) is few
    assert (grouped_test(sample) == grouped_p_value(sample)) is few
    assert (few_clusters(sample) is not None) is few


def test_few_events_in_groups_of_one_row_are_tested_by_bets_too():
    """As in a segment that has one row of each patient."""
    y, p = np.arange(100) < 3, np.full(100, 0.01) + np.arange(100) / 1e5
    sample = Sample(y, p, groups=np.arange(100))
    assert grouped_test(sample) == grouped_p_value(sample)
    assert how_calibrated(sample, 0.5, LEVEL).by_bets
    assert how_calibrated(sample.ungrouped(), 0.5, LEVEL).effective_clusters is None


def test_groups_of_one_row_are_no_clusters():
    y, p = np.arange(100) < 5, np.full(100, 0.05)
    assert not Sample(y, p, groups=np.arange(100)).units.clustered
    weight = np.append(np.ones(100), 0.0)
    with_an_empty_row = Sample(
        np.append(y, True),
        np.append(p, 0.5),
        groups=np.append(np.arange(100), 0),
        sample_weight=weight,
    )
    assert not with_an_empty_row.units.clustered


def test_a_group_that_was_not_seen_is_as_large_as_the_largest():
    """Three groups of one row and one of seven: a case that is not among the rows has seven tenths
    of the weight.
    """
    sample = Sample(np.arange(10) < 1, np.full(10, 0.2), groups=[0, 1, 2] + [3] * 7)
    second, third = moments(sample.units, np.zeros(10), (-1.0, 2.0))
    assert second == pytest.approx(0.5 * (0.7**2 + 1.4**2))
    assert third == pytest.approx(0.5 * (1.4**3 - 0.7**3))


def test_the_variance_of_a_calibrated_forecast_has_the_correlation_of_pairs():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    p = rng.uniform(0.2, 0.8, len(group))
    y = (rng.random(30)[group] < p).astype(float)
    units = Sample(y, p, groups=group).units
    s, e, n = np.sqrt(p * (1 - p)), y - p, len(p)
    seen = possible = 0.0
    for g in range(30):
        at = np.flatnonzero(group == g)
        pairs = [(i, j) for i in at for j in at if i != j]
        each = max(len(at) - 1, 1)
        seen += sum(e[i] * e[j] for i, j in pairs) / each
        possible += sum(s[i] * s[j] for i, j in pairs) / each
    correlation = min(max(seen / possible, 0.0), 1.0)
    assert 0 < correlation < 1
    expected = 0.0
    for i in range(n):
        for j in range(n):
            if group[i] == group[j]:
                expected += (1.0 if i == j else correlation) * s[i] * s[j] / n**2
    assert model_variance(units, p) == pytest.approx(expected)


def test_the_variance_of_the_test_is_the_largest_of_three():
    """That of the groups, the same in score form at 0, and that of a calibrated forecast: each can
    be the largest.
    """
    largest = set()
    for seed in range(60):
        y, p, group = drawn(seed, (0.2, 0.4), 300, 20, coin=0.5, factor=(0.8, 1.0, 1.2)[seed % 3])
        units = Sample(y, p, groups=group).units
        value, error = distance_from_calibration(units, p)
        second, third = moments(units, p - y - value)
        variances = (second, second - value * third / second, model_variance(units, p))
        assert value == pytest.approx((p - y).mean())
        assert error**2 == pytest.approx(max(variances))
        largest.add(int(np.argmax(variances)))
    assert largest == {0, 1, 2}


def test_the_interval_of_says_less_happens_has_0_where_the_test_does_not_reject():
    """At every level, whether or not clusters lack an outcome by chance: the variance of the test
    is that of the interval at 0.
    """
    by_chance = 0
    for seed in range(16):
        if seed % 2:
            y, p, group = drawn(seed, (0.2, 0.4), 300, 20, coin=0.5, factor=0.9)
        else:
            y, p, group = large_clusters_are_few(seed)
        sample = Sample(y, p, groups=group)
        units = sample.units
        if has_few_clusters(units):
            continue
        value, error = distance_from_calibration(units, p)
        freedom = sample.effective_n - 1
        p_value = p_value_of_mean(units, p, freedom)
        by_chance += p_value > 1.1 * 2 * student.sf(abs(value) / error, freedom)
        narrow, wide = (prediction_less_outcome(units, p, 1 - p_value * by) for by in (1.02, 0.98))
        assert not narrow.low <= 0 <= narrow.high
        assert wide.low <= 0 <= wide.high
    assert by_chance >= 3


def test_the_slope_varies_no_less_than_with_the_correlation_of_pairs():
    """Copies of rows are no more rows: without the correlation the model's variance would be that
    of as many.
    """
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.9, 150)
    y = rng.random(150) < p
    widths = []
    for copies in (1, 2, 8):
        columns = (np.repeat(column, copies) for column in (y, p, np.arange(150)))
        outcome, prob, group = columns
        slope = calibration_slope(Sample(outcome, prob, groups=group).units, prob, LEVEL)
        widths.append(slope.high - slope.low)
    assert widths[1] == pytest.approx(widths[2], rel=1e-6)
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_the_direction_is_told_where_bets_reject():
    rng = np.random.default_rng(0)
    group, odds = np.repeat(np.arange(10), 50), rng.normal(0, 2, 500)
    y = rng.random(500) < 1 / (1 + np.exp(-odds))
    for slope, shift, direction in (
        (1.0, 3.0, "too high"),
        (1.0, -3.0, "too low"),
        (-1.0, 0.0, "too extreme"),
    ):
        sample = Sample(y, 1 / (1 + np.exp(-slope * odds - shift)), groups=group)
        assert grouped_test(sample) <= 0.05
        assert how_calibrated(sample, grouped_test(sample), LEVEL).direction == direction


def test_few_clusters_are_told_in_result_and_verdict():
    y, p, group = both_outcomes(rare, 1)[0]
    with pytest.warns(rainproof.FewRowsWarning, match="events in only"):
        found = rainproof.assess(y, p, groups=group, measures=[])
    text = f"events in only {int(Sample(y, p, groups=group).units.rarer)} effective cluster"
    assert any(note.startswith(text) for note in map(str, found.warnings))
    assert text in " ".join(str(found).split())
    rows_without = Sample(~y, 1 - p, groups=group)
    assert few_clusters(rows_without).startswith("rows without the event in only")


def test_the_area_under_the_roc_curve_allows_for_a_group_that_was_not_seen():
    """Groups of one or fifty rows, each with one coin, predictions of 0.5% or 1.5% row by row."""
    covered = drawn_so_far = seed = 0
    share = (0.015 / 0.02, 0.985 / 1.98)  # of events, and of other rows, at the higher prediction
    truth = share[0] * (1 - share[1]) + 0.5 * (
        share[0] * share[1] + (1 - share[0]) * (1 - share[1])
    )
    while drawn_so_far < 60:
        rng = np.random.default_rng(seed)
        seed += 1
        group = np.repeat(np.arange(1000), np.where(rng.random(1000) < 0.1, 50, 1))
        p = rng.choice([0.005, 0.015], len(group))
        y = rng.random(1000)[group] < p
        if y.any():
            sample = Sample(y, p, groups=group)
            found = auroc_interval(sample, *pooled_predictions(sample), LEVEL)
            covered += found.low <= truth <= found.high
            drawn_so_far += 1
    assert covered >= 60 * 0.93 - 2 * math.sqrt(60 * 0.93 * 0.07)


@for_each("count, note", [(9, "Only 9 groups"), (15, "Events in only 15 effective clusters: ")])
def test_clinical_performance_tells_of_few_clusters(count, note):
    y, p = np.arange(100) < count, np.full(100, 0.2) + np.arange(100) / 1e3
    columns = {"groups": np.repeat(np.arange(100), 2), "thresholds": [0.2], "rng": 0}
    found = rainproof.clinical_performance(np.repeat(y, 2), np.repeat(p, 2), **columns)
    assert found.notes[-1].startswith(note)


def test_nothing_is_resampled_from_few_clusters():
    y, p, group = both_outcomes(rare, 1)[0]
    with pytest.warns(
        rainproof.FewRowsWarning, match="effective cluster.* the whole range of the measure"
    ):
        found = rainproof.confidence_interval(y, p, groups=group, n_resamples=39, rng=0)
    assert (found.low, found.high) == (0.0, 0.5)
    with pytest.warns(
        rainproof.FewRowsWarning, match="effective cluster.* nothing is claimed of the difference"
    ):
        pair = rainproof.compare(
            y, p, p**2, groups=group, measure="brier_score", n_resamples=39, rng=0
        )
    assert (pair.low, pair.high, pair.p_value) == (-math.inf, math.inf, 1.0)


def test_the_class_with_the_fewest_clusters_is_named_and_the_others_are_counted():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(120), 3)
    p = np.tile([0.04, 0.06, 0.9], (360, 1)) + 0.01 * rng.normal(size=(360, 3))
    p = np.abs(p) / np.abs(p).sum(axis=1, keepdims=True)
    y = np.repeat(np.arange(120) % 24, 3)
    y = np.where(y == 0, 0, np.where(y == 1, 1, 2))
    with pytest.warns(rainproof.FewRowsWarning) as told:
        found = rainproof.assess(y, p, groups=group)
    texts = [str(one.message) for one in told if "effective" in str(one.message)]
    assert texts == [text for text in map(str, found.warnings) if "effective" in text]
    assert len(texts) == 1
    assert texts[0].startswith("class 0: events in only 5 effective clusters, fewer than 20")
    assert texts[0].endswith("with either outcome (so for 2 more classes)")


@for_each("events", [0, 60])
def test_the_interval_of_says_less_happens_has_room_where_all_outcomes_are_the_same(events):
    sample = Sample(np.arange(60) < events, np.full(60, 0.4), groups=np.arange(60) // 2)
    found = prediction_less_outcome(sample.units, sample.prob, LEVEL)
    assert found.value == pytest.approx(0.4 - events / 60)
    assert found.low <= found.value <= found.high
    assert found.high - found.low > 0.1
