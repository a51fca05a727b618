"""Discrimination, against the definition: pairs of a row with the event and one without."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.inference.auroc import auroc
from rainproof.verdict.clinical import is_reversed


def by_pairs(y, p, w):
    y, p, w = np.asarray(y), np.asarray(p), np.asarray(w)
    weight = np.outer(w[y == 1], w[y == 0])
    above = np.sign(np.subtract.outer(p[y == 1], p[y == 0])) / 2 + 0.5
    return (weight * above).sum() / weight.sum()


@for_each("seed", range(10))
def test_the_area_is_that_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    p = rng.choice([0.0, 1e-12, 0.25, 0.5, 1.0], n) if seed % 2 else rng.random(n)
    y = np.append(rng.random(n - 2) < 0.4, [0, 1]).astype(int)
    w = rng.exponential(size=n)
    assert auroc(rainproof.Sample(y, p)) == pytest.approx(by_pairs(y, p, np.ones(n)))
    assert auroc(rainproof.Sample(y, p, sample_weight=w)) == pytest.approx(by_pairs(y, p, w))
    assert auroc(rainproof.Sample(y, np.round(64 * p) / 64).compress()) == pytest.approx(
        by_pairs(y, np.round(64 * p) / 64, np.ones(n))
    )


def test_one_outcome_has_no_area():
    sample = rainproof.Sample([1, 1], [0.2, 0.3])
    assert auroc(sample) is None
    assert not is_reversed(sample, None)


def test_reversed_forecasts_are_noticed_and_noise_is_not():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = rng.random(300) < p
    found = {
        name: rainproof.Sample(y, q)
        for name, q in (("right", p), ("wrong", 1 - p), ("noise", rng.random(300)))
    }
    assert [is_reversed(s, auroc(s)) for s in found.values()] == [False, True, False]
    for groups, known in ((100, True), (5, False)):
        grouped = rainproof.Sample(y, 1 - p, groups=np.arange(300) % groups)
        assert is_reversed(grouped, auroc(grouped)) == known


def test_noise_is_called_reversed_rarely():
    rng = np.random.default_rng(1)
    calls = 0
    for _ in range(1000):
        s = rainproof.Sample(np.append(rng.random(38) < 0.3, [0, 1]), rng.random(40))
        calls += is_reversed(s, auroc(s))
    assert calls <= 5


def test_the_verdict_asks_about_a_reversed_forecast():
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    y = rng.random(1000) < p
    a = rainproof.assess(y, 1 - p, measures=[], n_resamples=99, rng=0)
    assert a.evidence.auroc == auroc(rainproof.Sample(y, 1 - p))
    assert a.verdict.next_step.endswith(
        "Did you mean 1 - p, or the other outcome as the event (pos_label)?"
    )
    assert (
        "1 - p" not in rainproof.assess(y, p, measures=[], n_resamples=99, rng=0).verdict.next_step
    )
