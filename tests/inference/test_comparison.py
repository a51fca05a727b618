"""Two forecasters: the difference, its interval and its p-value, whatever the bias of each."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.digests import stream_for
from rainproof.inference._draws import repeats
from rainproof.inference.comparisons import _p_value, _together
from rainproof.inference.statistics import as_statistic
from rainproof.measures.catalogue import CATALOGUE


def rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p, p, rng


def test_the_interval_is_that_of_both_intervals():
    y, p, _ = rows()
    found = rainproof.compare(y, p, p**2, confidence_level=0.9, n_resamples=99, rng=3)
    generator = stream_for(3, rainproof.Sample(y, {"a": p, "b": p**2}))
    a, b = (
        rainproof.confidence_interval(y, x, confidence_level=0.95, n_resamples=99, rng=generator)
        for x in (p, p**2)
    )
    assert (found.low, found.high) == (a.low - b.high, a.high - b.low)
    assert found.difference == pytest.approx(a.estimate - b.estimate)
    assert found.method == "both intervals of confidence_interval at once (Bonferroni)"


@for_each("mirrored", [False, True])
def test_biases_that_differ_decide_nothing(mirrored):
    """Calibrated p against the constant 1/2, and mirror images: equally good in the population, not
    by chance alone.
    """
    wrong = 0
    for k in range(10):
        y, p, _ = rows(200, seed=k)
        pair = (0.9 * p + 0.1, 0.9 * p) if mirrored else (p, np.full(200, 0.5))
        options = {
            "measure": "cutoff_calibration_error",
            "confidence_level": 0.9,
            "n_resamples": 39,
            "rng": k,
        }
        wrong += rainproof.compare(y, *pair, **options).better is not None
    assert wrong <= 3


def test_the_p_value_is_where_the_interval_reaches_0():
    ends = {0.2: (0.5, 2.0), 0.1: (0.1, 2.5), 0.05: (-0.1, 3.0)}
    assert _p_value(
        lambda level: min(ends.items(), key=lambda e: abs(e[0] - (1 - level)))[1], 0.01
    ) == pytest.approx(0.075, abs=1e-4)
    assert _p_value(lambda level: (1.0, 2.0), 0.04) == 0.04
    assert _p_value(lambda level: (-1.0, 2.0), 0.04) == 1.0
    y, p, _ = rows(400)
    found = rainproof.compare(y, p, p**1.3, measure="brier_score", rng=0)
    at = rainproof.compare(
        y, p, p**1.3, measure="brier_score", confidence_level=1 - found.p_value, rng=0
    )
    assert min(abs(at.low), abs(at.high)) < 0.1 * (at.high - at.low)


def test_a_better_forecaster_is_found():
    y, p, _ = rows(1500)
    found = rainproof.compare(
        y, p, p**2, measure="cutoff_calibration_error", n_resamples=199, rng=0
    )
    assert found.better == "a"
    assert found.high < 0
    assert found.p_value == 4 / 200
    turned = rainproof.compare(
        y, p**2, p, measure="cutoff_calibration_error", n_resamples=199, rng=0
    )
    assert turned.better == "b"
    assert turned.difference == -found.difference


def test_equal_forecasters_are_not_told_apart():
    y, p, rng = rows(400)
    noisy = [np.clip(p + rng.normal(0, 0.02, 400), 0, 1) for _ in range(2)]
    found = rainproof.compare(y, *noisy, measure="brier_score", n_resamples=99, rng=0)
    assert found.better is None
    same = rainproof.compare(y, p, p, measure="brier_score", n_resamples=99, rng=0)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_pairing_narrows_the_interval_and_groups_widen_it():
    y, p, rng = rows(300)
    other = np.clip(p + rng.normal(0, 0.05, 300), 0, 1)
    options = {"measure": "brier_score", "n_resamples": 199, "rng": 0}
    paired = rainproof.compare(y, p, other, **options)
    apart = rainproof.compare(
        rainproof.Sample(y, p), rainproof.Sample(y, other), paired=False, **options
    )
    assert paired.high - paired.low < 0.6 * (apart.high - apart.low)
    groups = np.tile(np.arange(300), 4)
    four = (np.tile(y, 4), np.tile(p, 4), np.tile(other, 4))
    grouped = rainproof.compare(*four, groups=groups, **options)
    assert grouped.high - grouped.low == pytest.approx(paired.high - paired.low, rel=0.3)
    assert rainproof.compare(*four, **options).high < grouped.high


def test_weights_count():
    y, p, _ = rows(200)
    other = 0.25 + p / 2
    w = (np.arange(200) < 100).astype(float)
    options = {"measure": "cutoff_calibration_error", "n_resamples": 99, "rng": 0}
    some = rainproof.compare(y, p, other, sample_weight=w, **options)
    half = rainproof.compare(y[:100], p[:100], other[:100], **options)
    assert some.difference == pytest.approx(half.difference)
    assert some.high - some.low == pytest.approx(half.high - half.low, rel=0.3)


@for_each("measure", ["cutoff_calibration_error", "brier_score"])
@for_each("grouped", [False, True])
def test_rows_of_weight_zero_change_nothing(measure, grouped):
    y, p, rng = rows(240)
    w, groups = rng.random(240) * (np.arange(240) % 3 > 0), rng.integers(0, 120, 240)
    some = w > 0
    options = {"measure": measure, "n_resamples": 39, "rng": 0}
    both = [
        rainproof.compare(
            y[at],
            p[at],
            p[at] ** 2,
            sample_weight=w[at],
            groups=groups[at] if grouped else None,
            **options,
        )
        for at in (slice(None), some)
    ]
    assert (both[0].low, both[0].high, both[0].p_value) == (
        both[1].low,
        both[1].high,
        both[1].p_value,
    )


@for_each("measure", ["brier_score", "log_score"])
@for_each("weighted", [False, True])
@for_each("grouped", [False, True])
def test_scores_are_compared_by_the_rows_that_are_drawn(measure, weighted, grouped):
    """Against the scores of the rows themselves, clusters whole."""
    y, p, rng = rows(90)
    other, groups = 0.2 + 0.6 * p, rng.integers(0, 20, 90)
    w = rng.exponential(size=90) if weighted else None
    both = rainproof.Sample(
        y, {"a": p, "b": other}, sample_weight=w, groups=groups if grouped else None
    )
    one, units = _together(both["a"], both["b"], as_statistic(measure))
    assert units == (len(set(groups)) if grouped else 90)
    for seed in range(10):
        source = np.random.default_rng(seed)
        times = repeats(source.bit_generator.capsule, units)
        drawn = np.repeat(
            np.arange(90), times[np.unique(groups, return_inverse=True)[1]] if grouped else times
        )
        weight = None if w is None else w[drawn]
        score = CATALOGUE[measure]
        expected = score(y[drawn], p[drawn], sample_weight=weight) - score(
            y[drawn], other[drawn], sample_weight=weight
        )
        assert one(np.random.default_rng(seed)) == [pytest.approx(expected, abs=1e-12)]


def test_what_is_not_finite_claims_nothing():
    y, p = np.array([0, 1] * 20), np.tile([1.0, 0.4], 20)
    for a, b in ((p, p), (p, np.full(40, 0.5))):
        found = rainproof.compare(y, a, b, measure="log_score", n_resamples=39, rng=0)
        assert (found.low, found.high, found.p_value, found.better) == (-np.inf, np.inf, 1.0, None)
        told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert told["low"] is told["difference"] is told["value_a"] is None
    # infinite in the samples that contain the first row
    rare = np.where(np.arange(40) == 0, 1.0, 0.4)
    assert (
        rainproof.compare(
            y, rare, rare / 2 + 0.25, measure="log_score", n_resamples=39, rng=0
        ).better
        is None
    )
    nan = rainproof.compare(y, p, p / 2, measure=lambda sample: float("nan"), n_resamples=39, rng=0)
    assert (nan.low, nan.high, nan.p_value, nan.better) == (-np.inf, np.inf, 1.0, None)
    sometimes = rainproof.compare(
        y,
        p,
        p / 2,
        measure=lambda s: float("nan") if s.event_rate > 0.5 else 0.1,
        n_resamples=39,
        rng=0,
    )
    assert sometimes.better is None


def test_few_rows_get_a_wide_interval():
    y, p, _ = rows(4)
    with pytest.warns(rainproof.FewRowsWarning, match="4 rows are too few"):
        found = rainproof.compare(y, p, p**2, rng=0)
    assert (found.low, found.high, found.p_value) == (-0.5, 0.5, 1.0)
    y, p, _ = rows(5)
    score = rainproof.compare(y, p, p**2, measure="brier_score", n_resamples=199, rng=0)
    draws = 2 * score.difference - np.array([score.low, score.high])
    assert score.low < score.difference < score.high
    assert np.ptp(draws) > 1.5 * np.ptp((p - y) ** 2 - (p**2 - y) ** 2) / np.sqrt(5)


def test_independent_and_compressed_samples():
    y, p, _ = rows(2000)
    y2, p2, _ = rows(1000, seed=1)
    a, b = rainproof.Sample(y, p), rainproof.Sample(y2, p2**2)
    options = {"measure": "cutoff_calibration_error", "n_resamples": 199, "rng": 0, "paired": False}
    found = rainproof.compare(a, b, **options)
    small = rainproof.compare(a.compress(1024), b.compress(1024), **options)
    assert found.better == small.better == "a"
    assert found.p_value <= 0.02
    assert small.high == pytest.approx(found.high, abs=0.25 * (found.high - found.low))
    assert (found.n_a, found.n_b) == (2000, 1000)
    same = rainproof.compare(a, rainproof.Sample(*rows(2000, seed=3)[:2]), **options)
    assert same.p_value > 0.05


def test_the_result_says_it_all():
    y, p, _ = rows(200)
    done = []
    found = rainproof.compare(
        y, p, p**2, n_resamples=39, rng=5, progress=lambda k, n: done.append((k, n))
    )
    said = json.loads(json.dumps(found.to_dict()))
    assert (said["seed"], said["confidence_level"], said["n_a"], said["paired"]) == (
        5,
        0.95,
        200,
        True,
    )
    assert done[-1] == (78, 78)
    assert done == sorted(done)
    assert repr(found).startswith("Comparison(difference=")
    assert str(found).startswith("soft_binned_cdl: ")
    assert "no difference is established" in str(rainproof.compare(y, p, p, n_resamples=19, rng=0))
    assert "<p>" in found._repr_html_()
    again = rainproof.compare(y, p, p**2, n_resamples=39, rng=5)
    assert again.to_dict() == found.to_dict()


SAMPLE = rainproof.Sample([0, 1], [0.2, 0.7])


@for_each(
    "arguments, options, message",
    [
        (
            (SAMPLE, SAMPLE),
            {},
            "two Samples do not know which of their rows belong together: pass paired=False",
        ),
        (
            (SAMPLE, [0.1, 0.2]),
            {"paired": False},
            "pass either y_true and two arrays of predictions, or two Samples",
        ),
        ((SAMPLE, SAMPLE, [0.1, 0.2]), {"paired": False}, "or two Samples and nothing else"),
        (
            (SAMPLE, SAMPLE),
            {"paired": False, "groups": [1, 2]},
            r"go with arrays: .* as in Sample\(y_true, y_prob, groups=",
        ),
        (([0, 1], [0.1, 0.2], [0.1, 0.2]), {"paired": False}, "paired=False needs two Samples"),
        (([0, 1], [0.1, 0.2]), {}, "y_prob_b is missing"),
        (
            ([0, 1], [0.1, 0.2], [0.1, 0.2]),
            {"measure": "calibration_decision_loss"},
            "measure must not be 'calibration_decision_loss' with fewer than 20 rows per "
            "distinct prediction: its bias",
        ),
    ],
)
def test_arguments_that_cannot_be(arguments, options, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.compare(*arguments, **options)


def test_predictions_that_repeat_have_measures_that_can_be_tested():
    y, p, _ = rows(400)
    found = rainproof.compare(
        y, p.round(1), (p**2).round(1), measure="expected_calibration_error", rng=0
    )
    assert found.better == "a"
