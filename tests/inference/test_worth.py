"""What a forecast is worth: no bound is above the truth more often than stated, and the search finds what there is."""

from __future__ import annotations

import numpy as np
import pytest

from rainproof.core.sample import Sample
from rainproof.inference.proofs import _bound, worth, worth_of_choice


def true_value(p, rate, mu, *, relative):
    """Of acting from mu on, in a population with these predictions and rates."""
    gain = ((rate - mu) * (p >= mu)).mean()
    value = gain - max(0.0, rate.mean() - mu)
    return value / min(mu * (1 - rate.mean()), (1 - mu) * rate.mean()) if relative else value / max(mu, 1 - mu)


POPULATIONS = {
    "calibrated": (lambda u: u, lambda p: p),
    "noise": (lambda u: u, lambda p: 0 * p + 0.3),
    "constant": (lambda u: 0 * u + 0.2, lambda p: 0 * p + 0.2),
    "inverted": (lambda u: u, lambda p: 1 - p),
    "rare": (lambda u: 0.1 * u**4, lambda p: p),
    "three values": (lambda u: np.floor(3 * u) / 2, lambda p: 0.2 + 0.5 * p),
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("kind", ["rows", "weights", "groups", "counts"])
def test_the_bounds_fail_no_more_often_than_stated(name, kind):
    predict, rate = POPULATIONS[name]
    population = predict((np.arange(20_000) + 0.5) / 20_000)
    rng = np.random.default_rng([len(name), len(kind)])
    failures = 0
    for _ in range(60):
        p = predict(rng.random(300))
        y = rng.random(300) < rate(p)
        options = {}
        if kind == "weights":
            options = {"sample_weight": rng.choice([0.2, 1.0, 3.0], 300)}
        elif kind == "groups":
            p, y = np.repeat(p[:100], 3), np.repeat(y[:100], 3)
            options = {"groups": np.arange(300) // 3}
        elif kind == "counts":
            p, y = np.floor(64 * p) / 64, y  # at the lower edges of cells, where a compressed sample has them
        sample = Sample(y, p, **options)
        found = worth(sample.compress(64)._floor() if kind == "counts" else sample, 0.8, rng)
        for bound, at, relative in (
            (found.relative_at_least, found.relative_threshold, True),
            (found.gain_at_least, found.gain_threshold, False),
        ):
            failures += bound > 0 and bound > true_value(population, rate(population), at, relative=relative) + 1e-9
    assert failures <= 2 * 60 * 0.2 + 3 * np.sqrt(2 * 60 * 0.16)


def test_a_good_forecast_is_proven_useful():
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    found = worth(Sample(rng.random(3000) < p, p), 0.95, rng)
    assert found.proven
    assert 0.3 < found.relative_at_least < 0.5
    assert found.gain_at_least > 0.1
    assert 0.3 < found.relative_threshold < 0.7
    assert found.to_dict()["confidence_level"] == 0.95


def test_counts_are_so_many_rows():
    rng = np.random.default_rng(1)
    prob, counts = np.repeat(np.arange(8) / 8, 2), rng.integers(1, 200, 16)
    event = np.tile([False, True], 8)
    each = np.repeat(np.arange(16), counts)
    for relative in (True, False):
        rows = Sample(event[each], prob[each])
        one = _bound(rows.compress(8)._floor(), 0.5, relative=relative, delta=0.05)
        other = _bound(rows, 0.5, relative=relative, delta=0.05)
        assert one == pytest.approx(other)


@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_one_class_proves_nothing(y):
    rows = Sample(y, [0.1, 0.5, 0.9])
    assert not worth(rows, 0.95, np.random.default_rng(0)).proven


def test_no_rows_prove_nothing():
    some = Sample([0, 1], [0.1, 0.9])
    none = some._at(np.zeros(0, np.int64))
    assert not worth_of_choice(none, some, 0.95).proven
    assert not worth_of_choice(some, none, 0.95).proven


def test_perfect_foresight_is_worth_nearly_everything():
    y = np.arange(4000) % 2 == 1
    found = worth(Sample(y, y * 1.0), 0.95, np.random.default_rng(0))
    assert found.relative_at_least > 0.97
