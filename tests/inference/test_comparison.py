"""Two forecasters: the paired difference, its interval, and p-values that hold their level."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import brolly


def rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p, p, rng


def test_the_swaps_are_all_swaps():
    """Three rows have eight ways to swap: the exact p-value, against the share of draws."""
    y, a, b = np.array([1, 0, 1]), np.array([0.9, 0.3, 0.6]), np.array([0.5, 0.4, 0.2])
    measure = brolly.cutoff_calibration_error
    seen = abs(measure(y, a) - measure(y, b))
    worse = 0
    for swap in itertools.product([False, True], repeat=3):
        one, other = np.where(swap, b, a), np.where(swap, a, b)
        worse += abs(measure(y, one) - measure(y, other)) >= seen - 1e-12
    found = brolly.compare(y, a, b, measure="cutoff_calibration_error", n_resamples=1500, rng=0)
    assert found.p_value == pytest.approx(worse / 8, abs=0.05)
    assert found.difference == pytest.approx(measure(y, a) - measure(y, b))


def test_a_better_forecaster_is_found():
    y, p, _ = rows(1500)
    found = brolly.compare(y, p, 0.25 + p / 2, measure="smooth_calibration_error", n_resamples=199, rng=0)
    assert found.better == "a"
    assert found.high < 0
    assert found.p_value == 0.005
    turned = brolly.compare(y, 0.25 + p / 2, p, measure="smooth_calibration_error", n_resamples=199, rng=0)
    assert turned.better == "b"
    assert turned.difference == -found.difference


def test_equal_forecasters_are_not_told_apart():
    y, p, rng = rows(400)
    noisy = [np.clip(p + rng.normal(0, 0.02, 400), 0, 1) for _ in range(2)]
    found = brolly.compare(y, *noisy, measure="brier_score", n_resamples=99, rng=0)
    assert found.better is None
    same = brolly.compare(y, p, p, measure="brier_score", n_resamples=99, rng=0)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_the_level_of_the_swaps_holds():
    """Exchangeable forecasts: two noisy versions of the same."""
    rejected = 0
    for k in range(100):
        y, p, rng = rows(60, seed=k)
        noisy = [np.clip(p + rng.normal(0, 0.1, 60), 0, 1) for _ in range(2)]
        found = brolly.compare(y, *noisy, measure="cutoff_calibration_error", n_resamples=19, rng=k)
        rejected += found.p_value <= 0.1
    assert rejected <= 10 + 3 * 3


def test_pairing_narrows_the_interval_and_groups_widen_it():
    y, p, rng = rows(300)
    other = np.clip(p + rng.normal(0, 0.05, 300), 0, 1)
    options = {"measure": "brier_score", "n_resamples": 199, "rng": 0}
    paired = brolly.compare(y, p, other, **options)
    apart = brolly.compare(brolly.Sample(y, p), brolly.Sample(y, other), paired=False, **options)
    assert paired.high - paired.low < 0.6 * (apart.high - apart.low)
    groups = np.tile(np.arange(300), 4)
    four = (np.tile(y, 4), np.tile(p, 4), np.tile(other, 4))
    grouped = brolly.compare(*four, groups=groups, **options)
    assert grouped.high - grouped.low == pytest.approx(paired.high - paired.low, rel=0.3)
    assert brolly.compare(*four, **options).high < grouped.high


def test_weights_count():
    y, p, _ = rows(200)
    other = 0.25 + p / 2
    w = (np.arange(200) < 100).astype(float)
    options = {"measure": "cutoff_calibration_error", "n_resamples": 99, "rng": 0}
    some = brolly.compare(y, p, other, sample_weight=w, **options)
    half = brolly.compare(y[:100], p[:100], other[:100], **options)
    assert some.difference == pytest.approx(half.difference)
    assert some.high - some.low == pytest.approx(half.high - half.low, rel=0.3)


def test_independent_and_compressed_samples():
    y, p, _ = rows(2000)
    y2, p2, _ = rows(1000, seed=1)
    a, b = brolly.Sample(y, p), brolly.Sample(y2, 0.25 + p2 / 2)
    options = {"measure": "smooth_calibration_error", "n_resamples": 199, "rng": 0, "paired": False}
    found = brolly.compare(a, b, **options)
    small = brolly.compare(a.compress(1024), b.compress(1024), **options)
    assert found.better == small.better == "a"
    assert found.p_value <= 0.02
    assert small.high == pytest.approx(found.high, abs=0.25 * (found.high - found.low))
    assert "same value" in found.null
    assert (found.n_a, found.n_b) == (2000, 1000)
    same = brolly.compare(a, brolly.Sample(*rows(2000, seed=3)[:2]), **options)
    assert same.p_value > 0.05


def test_the_result_says_it_all():
    y, p, _ = rows(200)
    done = []
    found = brolly.compare(y, p, p**2, n_resamples=39, rng=5, progress=lambda k, n: done.append((k, n)))
    said = json.loads(json.dumps(found.to_dict()))
    assert (said["seed"], said["confidence_level"], said["n_a"], said["paired"]) == (5, 0.95, 200, True)
    assert done == [(32, 39), (39, 39)]
    assert "swapped" in found.null
    assert repr(found).startswith("Comparison(difference=")
    assert str(found).startswith("soft_binned_cdl: ")
    assert "cannot be told apart" in str(brolly.compare(y, p, p, n_resamples=19, rng=0))
    assert "<p>" in found._repr_html_()
    again = brolly.compare(y, p, p**2, n_resamples=39, rng=5)
    assert again.to_dict() == found.to_dict()


SAMPLE = brolly.Sample([0, 1], [0.2, 0.7])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((SAMPLE, SAMPLE), {}, "two Samples do not know which of their rows belong together: pass paired=False"),
        ((SAMPLE, [0.1, 0.2]), {"paired": False}, "pass either y_true and two arrays of predictions, or two Samples"),
        ((SAMPLE, SAMPLE, [0.1, 0.2]), {"paired": False}, "or two Samples and nothing else"),
        ((SAMPLE, SAMPLE), {"paired": False, "groups": [1, 2]}, "groups, sample_weight and pos_label go with arrays"),
        (([0, 1], [0.1, 0.2], [0.1, 0.2]), {"paired": False}, "paired=False needs two Samples"),
        (([0, 1], [0.1, 0.2]), {}, "y_prob is missing"),
    ],
)
def test_arguments_that_cannot_be(arguments, options, message):
    with pytest.raises(brolly.InputError, match=message):
        brolly.compare(*arguments, **options)
