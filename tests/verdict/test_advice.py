"""Advice at a threshold: proven for all ranges and thresholds at once, and nothing that is not
proven.
"""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from helpers import report_cases
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

import rainproof
from rainproof.verdict.advice import (
    PredictionSwap,
    ThresholdAdvice,
    advise,
    rate_intervals,
    thresholds,
)

LEVEL = 0.95


def advice(y, p, threshold, *, w=None, level=LEVEL):
    rates = rate_intervals(rainproof.Sample(y, p, sample_weight=w), confidence_level=level)
    return advise(rates, threshold, regret=0.01, net_benefit=0.1, null_high=0.02)


NEAR = [2.0**-k * eighths / 8 for k in range(5, 14) for eighths in range(8, 16)]
EDGES = sorted({0.0, 1.0, *NEAR, *(1 - x for x in NEAR), *(k / 128 for k in range(8, 121))})


def cells(p):
    """The cell of a prediction by its definition: 1/128 wide, narrower near 0 and 1."""
    at = max(k for k in range(len(EDGES) - 1) if EDGES[k] <= p)
    return EDGES[at], EDGES[at + 1]


@given(samples(max_size=12))
def test_the_intervals_are_clopper_and_pearsons_in_every_run_of_cells(sample):
    y, p, _ = sample
    starts, ends, _, _, at_least, at_most = rate_intervals(
        rainproof.Sample(y, p), confidence_level=0.9
    )
    at = [cells(x) for x in p]
    own = sorted(set(at))
    assert list(zip(starts, ends, strict=True)) == own
    k = len(own)
    doubt = 0.1 / (k * (k + 1) / 2)
    for i in range(k):
        for j in range(i, k):
            there = [yt for yt, cell in zip(y, at, strict=True) if own[i] <= cell <= own[j]]
            n, s = len(there), int(sum(there))
            inside = own[i][0] <= s / n <= own[j][1]
            low = beta.ppf(doubt / 2, s, n - s + 1) if s and not inside else 0.0
            high = beta.ppf(1 - doubt / 2, s + 1, n - s) if s < n and not inside else 1.0
            assert at_least[i, j] == pytest.approx(low, abs=1e-9)
            assert at_most[i, j] == pytest.approx(high, abs=1e-9)


@given(samples(max_size=12), st.sampled_from([0.001, 0.1, 0.25, 0.5, 0.9]))
def test_every_range_is_proven_on_its_side_and_apart_from_the_others(sample, threshold):
    y, p, w = sample
    rates = rate_intervals(
        rainproof.Sample(y, p, sample_weight=w), confidence_level=0.05
    )  # so that few rows prove a lot
    swaps = advise(rates, threshold, regret=0.0, net_benefit=0.0, null_high=0.0).swaps
    low, high, share, events, at_least, at_most = rates
    for swap in swaps:
        i, j = np.flatnonzero(low == swap.low)[0], np.flatnonzero(high == swap.high)[0]
        if swap.do == "act":
            assert swap.says == "wait"
            assert swap.high <= threshold < at_least[i, j]
        else:
            assert (swap.says, swap.do) == ("act", "wait")
            assert swap.low >= threshold > at_most[i, j]
        gain = abs(events[i : j + 1].sum() - threshold * share[i : j + 1].sum())
        assert swap.saves == pytest.approx(gain)
        assert swap.share == pytest.approx(share[i : j + 1].sum())
    assert all(a.high <= b.low for a, b in pairwise(swaps))


def test_weights_widen_the_intervals_and_equal_ones_do_not():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = rng.random(300) < p
    weights = (None, np.full(300, 2.5), rng.exponential(size=300))
    plain, same, uneven = (
        rate_intervals(rainproof.Sample(y, p, sample_weight=w), confidence_level=LEVEL)[4:]
        for w in weights
    )
    np.testing.assert_allclose(same[0], plain[0], atol=1e-12)
    known = plain[1] - plain[0] < 1
    assert np.mean((uneven[1] - uneven[0])[known]) > np.mean((plain[1] - plain[0])[known])
    w = np.array([3.0, 1.0])
    *_, low, high = rate_intervals(
        rainproof.Sample([1, 0], [0.5, 0.5], sample_weight=w), confidence_level=0.5
    )
    slack = np.sqrt(np.log(2 / 0.5) * (w**2).sum() / 2) / w.sum()  # Hoeffding, by hand
    assert low[0, 0] == pytest.approx(0.75 - slack)
    assert high[0, 0] == 1.0


@for_each("light", [1.0, 1e-9])
def test_a_light_row_proves_nothing_beside_heavy_ones(light):
    """Its weight is lost in a sum of all: 1e18 + 1 is 1e18. One row proves no rate at this
    level.
    """
    w = [1e9, light]
    *_, low, high = rate_intervals(
        rainproof.Sample([1, 0], [0.1, 0.9], sample_weight=w), confidence_level=0.95
    )
    assert low[1, 1] == 0.0
    assert high[1, 1] == 1.0


@for_each("grid", [2**16, 64, 2])
def test_a_compressed_sample_proves_the_same_on_the_edges_that_it_knows(grid):
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    sample = rainproof.Sample(rng.random(3000) < 1 - p, p).compress(grid)
    low, high, *_ = rate_intervals(sample, confidence_level=LEVEL)
    assert all((edge * grid) % 1 == 0 for edge in [*low, *high])
    if grid == 2**16:
        rows = rate_intervals(
            rainproof.Sample(sample.y_true, sample.y_prob), confidence_level=LEVEL
        )
        np.testing.assert_array_equal(rows[0], low)


# of calibrated forecasts: those of the issue that showed false advice, and some with few values
POPULATIONS = {
    "three ranges": lambda rng, n: (
        rng.choice([0.02, 0.42, 0.5], n, p=[0.9, 0.09, 0.01]) + 0.05 * rng.random(n)
    ),
    "one value": lambda rng, n: np.full(n, 0.37),
    "three values": lambda rng, n: rng.choice([0.25, 0.5, 0.75], n),
    "just below an edge": lambda rng, n: (np.floor(rng.random(n) * 10) + 0.999) / 10.001,
}


def false_advice(name, *, level, samples=30, n=400):
    """In how many samples a calibrated forecast gets advice against it at any threshold: all of it
    is false.
    """
    rng = np.random.default_rng(list(POPULATIONS).index(name))
    count = 0
    for _ in range(samples):
        p = POPULATIONS[name](rng, n)
        rates = rate_intervals(rainproof.Sample(rng.random(n) < p, p), confidence_level=level)
        count += any(
            advise(rates, t, regret=0.0, net_benefit=0.0, null_high=0.0).swaps
            for t in thresholds().tolist()
        )
    return count


@for_each("name", POPULATIONS)
def test_a_calibrated_forecast_gets_no_advice_at_any_threshold_but_by_the_stated_chance(name):
    # Bin(30, 0.05) is above that less than once in a thousand
    assert false_advice(name, level=0.95) <= 6


def test_that_test_can_fail():
    """With intervals that miss more often, false advice shows."""
    assert false_advice("one value", level=0.3) > 6


def test_the_sentence_where_waiting_is_better():
    p = np.repeat([0.125, 0.375, 0.5, 0.75], 400)
    rate = np.repeat([0.1, 0.1, 0.1, 0.75], 400)
    found = advice(np.tile(np.arange(400) / 400, 4) < rate, p, 0.35)
    assert str(found) == (
        "For predictions from 0.375 to 0.508 do not act, although the forecast says to: the "
        "event rate there is below 0.35. Elsewhere follow the forecast."
    )
    (swap,) = found.swaps
    assert swap.saves == pytest.approx(0.5 * 0.25)
    assert swap.share == 0.5


def test_the_sentence_where_acting_is_better():
    found = advice(np.ones(400), np.repeat([0.125, 0.875], 200), 0.5)
    assert str(found) == (
        "For predictions from 0.125 to 0.133 act, although the forecast says not to: the event "
        "rate there is above 0.5. Elsewhere follow the forecast."
    )


def test_what_is_not_proven_is_not_advised():
    found = advice([0, 0, 1], [0.5, 0.5, 0.5], 0.4)
    assert found.swaps == ()
    assert str(found) == (
        "These rows do not prove any action better, at this threshold, than the one that the "
        "forecast says."
    )


@for_each(
    "count, ending", [(3, ""), (4, " And 1 more such range."), (6, " And 3 more such ranges.")]
)
def test_a_sentence_names_three_ranges(count, ending):
    swap = PredictionSwap(low=0.1, high=0.2, says="wait", do="act", share=0.1, saves=0.01)
    text = str(
        ThresholdAdvice(
            threshold=0.5,
            regret=0.01 * count,
            net_benefit=0.0,
            null_high=0.0,
            swaps=(swap,) * count,
        )
    )
    assert text.count("For predictions") == 3
    assert text.endswith(
        f"the event rate there is above 0.5.{ending} Elsewhere follow the forecast."
    )


def test_numbers_of_the_advice():
    found = advice([0, 1], [0.2, 0.8], 0.25)
    assert found.cost_ratio == pytest.approx(1 / 3)
    assert found.share_of_stakes == pytest.approx(0.01 / 0.75)
    shown = found.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    assert shown["text"].startswith("These rows do not prove")


def test_thresholds_hold_ones_own_and_rare_events():
    at = thresholds([1 / 3, 0.0, 1.0])
    assert 1 / 3 in at
    assert at.min() == 0.0005
    assert at.max() == 0.9995
    assert np.all(np.diff(at) > 0)
    assert {0.005, 0.35, 0.5, 0.995} <= set(at.tolist())


@for_each("rate", [0.02, 1e-4, 1e-9, 0.98, 1 - 1e-9])
def test_thresholds_are_denser_around_a_rare_outcome(rate):
    at = thresholds([], rate)
    assert set(thresholds()) <= set(at)
    assert np.all(np.diff(at) > 0)
    assert 0 < at.min() < at.max() < 1
    odds = np.minimum(at, 1 - at) / min(rate, 1 - rate)
    near = (at < 0.5) == (rate < 0.5)
    assert ((odds[near] > 1 / 16) & (odds[near] < 16)).sum() >= 30


@for_each("rate", [0.0, 0.05, 0.5, 1.0])
def test_no_other_thresholds_are_added(rate):
    assert np.array_equal(thresholds([0.3], rate), thresholds([0.3]))


@given(samples(max_size=12))
@settings(max_examples=15)
def test_net_benefit_by_definition(sample):
    """True positives per row, less false positives at the odds of the threshold."""
    y, p, w = sample
    y, p, w = np.asarray(y), np.asarray(p), np.ones(len(y)) if w is None else np.asarray(w)
    with report_cases.quickly():
        a = rainproof.assess(y, p, sample_weight=w, measures=[], n_resamples=19, rng=0)
    for found in a.advice[::20]:
        t = found.threshold
        acts = p >= t
        expected = (np.average(acts * y, weights=w)) - np.average(acts * (1 - y), weights=w) * t / (
            1 - t
        )
        assert found.net_benefit == pytest.approx(expected, abs=1e-12)
        assert found.to_dict()["net_benefit"] == found.net_benefit
