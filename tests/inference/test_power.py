"""The smallest miscalibration that a sample could have shown."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import rainproof
from rainproof.inference.power import distorted

FAMILIES = ["overconfident", "underconfident", "too_high", "too_low"]
CUTOFF = {
    "statistic": "cutoff_calibration_error",
    "measure": "cutoff_calibration_error",
    "n_resamples": 99,
    "rng": 0,
}


def predictions(n=800, seed=0):
    return np.random.default_rng(seed).random(n)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_start_at_calibration_and_go_their_way(family):
    p = np.array([0.0, 0.1, 0.5, 0.8, 1.0])
    same, parameter = distorted(p, family, 0.0)
    assert same == pytest.approx(p)
    assert parameter in (0.0, 1.0)
    q, _ = distorted(p, family, 0.5)
    assert q[[0, -1]].tolist() == [0, 1]
    expected = {
        "overconfident": (1, -1),
        "underconfident": (-1, 1),
        "too_high": (-1, -1),
        "too_low": (1, 1),
    }[family]
    assert tuple(np.sign(q - p)[[1, 3]]) == expected
    logit = np.log(q[1] / (1 - q[1]))
    start = np.log(0.1 / 0.9)
    hand = {
        "overconfident": 0.5 * start,
        "underconfident": 2 * start,
        "too_high": start - 1,
        "too_low": start + 1,
    }
    assert logit == pytest.approx(hand[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_power_at_the_answer_is_the_power_asked_for(family):
    p = predictions(300)
    found = rainproof.inference.minimum_detectable(
        np.zeros(300), p, alternative=family, power=0.7, **CUTOFF
    )
    slope, shift = (
        (found.parameter, 0.0) if family.endswith("confident") else (1.0, found.parameter)
    )
    q = p**slope / (p**slope + (1 - p) ** slope * np.exp(-shift))
    rng, rejected = np.random.default_rng(1), 0
    for _ in range(300):
        rejected += (
            rainproof.measures.cutoff_calibration_error(rng.random(300) < q, p)
            > found.critical_value
        )
    assert rejected / 300 == pytest.approx(0.7, abs=0.13)
    assert found.mean_shift == pytest.approx(np.abs(q - p).mean(), abs=1e-9)
    weight = np.concatenate([1 - q, q])
    truth = rainproof.measures.cutoff_calibration_error(
        np.repeat([0, 1], 300), np.tile(p, 2), sample_weight=weight
    )
    assert found.value == pytest.approx(truth)


def test_more_rows_show_less_and_more_power_asks_for_more():
    few = rainproof.inference.minimum_detectable(np.zeros(200), predictions(200), **CUTOFF)
    many = rainproof.inference.minimum_detectable(np.zeros(3200), predictions(3200), **CUTOFF)
    assert few.value > 2.5 * many.value
    sure = rainproof.inference.minimum_detectable(
        np.zeros(200), predictions(200), power=0.95, **CUTOFF
    )
    strict = rainproof.inference.minimum_detectable(
        np.zeros(200), predictions(200), alpha=0.02, **CUTOFF
    )
    assert sure.value > few.value
    assert strict.value > few.value


def test_the_outcomes_are_not_looked_at():
    p = predictions(100)
    one, two = (
        rainproof.inference.minimum_detectable(np.full(100, y), p, **CUTOFF) for y in (0, 1)
    )
    assert one.to_dict() == two.to_dict()


def test_compressed_samples_say_the_same():
    p = predictions(2000).round(2)
    sample = rainproof.Sample(np.zeros(2000), p)
    one, two = (
        rainproof.inference.minimum_detectable(s, **CUTOFF) for s in (sample, sample.compress(4096))
    )
    assert one.value == pytest.approx(two.value, rel=0.15)


def test_the_statistic_decides_and_the_measure_tells():
    p = predictions(300)
    found = {
        name: rainproof.inference.minimum_detectable(
            np.zeros(300), p, statistic=name, measure="brier_score", n_resamples=99, rng=0
        )
        for name in ("combined", "soft_binned_cdl")
    }
    assert found["combined"].mean_shift < 0.8 * found["soft_binned_cdl"].mean_shift
    assert (found["combined"].statistic, found["combined"].measure) == ("combined", "brier_score")
    slope = found["combined"].parameter
    q = p**slope / (p**slope + (1 - p) ** slope)
    assert found["combined"].value == pytest.approx(np.mean(q * (1 - p) ** 2 + (1 - q) * p**2))


def test_too_few_rows_show_nothing():
    found = rainproof.inference.minimum_detectable([0, 1], [0.4, 0.6], **CUTOFF)
    assert math.isinf(found.value)
    assert found.to_dict()["value"] is None
    assert (
        str(found)
        == "2 rows are too few to detect that predictions are overconfident, however strongly."
    )
    alone = rainproof.inference.minimum_detectable([1], [0.4], **CUTOFF)
    assert str(alone).startswith("1 row is too few to detect that ")


def test_the_result_says_it_all():
    done = []
    p = predictions(200)
    found = rainproof.inference.minimum_detectable(
        np.zeros(200), p, **CUTOFF, progress=lambda k, n: done.append((k, n))
    )
    assert done[-1] == (99 * 14, 99 * 14)
    assert all(a <= b for (a, _), (b, _) in itertools.pairwise(done))
    said = json.loads(json.dumps(found.to_dict()))
    assert (said["power"], said["alpha"], said["alternative"], said["seed"]) == (
        0.8,
        0.05,
        "overconfident",
        0,
    )
    assert repr(found).startswith("MinimumDetectable(value=0.")
    assert (
        "A test on these 200 rows detects that predictions are overconfident with probability 80%"
        in str(found)
    )
    assert found._repr_html_().startswith("<p>")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"alternative": "odd"},
            "alternative must be one of overconfident, underconfident, too_high, too_low; it is",
        ),
        (
            {"alpha": 0.01, "n_resamples": 50},
            "n_resamples must be at least 99 for a test at alpha = 0.01",
        ),
        ({"power": 1.0}, "power must be a number between 0 and 1, both excluded; it is 1.0"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.inference.minimum_detectable([0, 1], [0.4, 0.6], **options)


def test_the_strength_is_found_by_twelve_halvings():
    """It is a multiple of 2^-12 of the strongest; with that and the calibrated one, 14 populations
    are drawn.
    """
    p, steps, calls = np.random.default_rng(0).random(400), [], []
    options = {
        "alternative": "too_low",
        "n_resamples": 39,
        "progress": lambda *call: calls.append(call),
    }
    for seed in range(8):
        found = rainproof.inference.minimum_detectable(np.zeros(400), p, rng=seed, **options)
        assert calls[-1] == (14 * 39, 14 * 39)
        steps.append(found.parameter / (1 + found.parameter) / 0.999 * 2**12)
    assert steps == pytest.approx(np.rint(steps), abs=1e-6)
    assert (np.rint(steps) % 2 == 1).any()
