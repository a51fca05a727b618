"""What a forecast is worth: no bound is above the truth more often than stated, and the search
finds what there is.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each

from rainproof.core.sample import Sample
from rainproof.inference.lower_bounds import lower_bound
from rainproof.inference.proven_gains import rule_at, worth
from rainproof.inference.wagers import Wagers


def true_values(p, rate):
    """The most that acting from any threshold on gains, in a population with these predictions and
    rates.
    """
    mu = np.append(p[:: max(1, len(p) // 500)], np.linspace(0.0005, 0.9995, 1000))[:, None]
    value = ((rate - mu) * (p >= mu)).mean(axis=1) - np.maximum(0.0, rate.mean() - mu[:, 0])
    mu = mu[:, 0]
    perfect = np.minimum(mu * (1 - rate.mean()), (1 - mu) * rate.mean())
    inside = perfect > 1e-9
    return max(0.0, (value[inside] / perfect[inside]).max()), max(
        0.0, (value / np.maximum(mu, 1 - mu)).max()
    )


POPULATIONS = {
    "calibrated": (lambda u: u, lambda p: p),
    "noise": (lambda u: u, lambda p: 0 * p + 0.3),
    "constant": (lambda u: 0 * u + 0.2, lambda p: 0 * p + 0.2),
    "inverted": (lambda u: u, lambda p: 1 - p),
    "rare": (lambda u: 0.1 * u**4, lambda p: p),
    "three values": (lambda u: np.floor(3 * u) / 2, lambda p: 0.2 + 0.5 * p),
}


@for_each("name", POPULATIONS)
@for_each("kind", ["rows", "weights", "groups", "counts"])
def test_the_bounds_fail_no_more_often_than_stated(name, kind):
    predict, rate = POPULATIONS[name]
    population = predict((np.arange(2000) + 0.5) / 2000)
    truth = true_values(population, rate(population))
    rng = np.random.default_rng([len(name), len(kind)])
    failures = 0
    for _ in range(5):
        p = predict(rng.random(300))
        y = rng.random(300) < rate(p)
        options = {}
        if kind == "weights":
            options = {"sample_weight": rng.choice([0.2, 1.0, 3.0], 300)}
        elif kind == "groups":
            p, y = np.repeat(p[:100], 3), np.repeat(y[:100], 3)
            options = {"groups": np.arange(300) // 3}
        elif kind == "counts":
            # at the lower edges of cells, where a compressed sample has them
            p, y = np.floor(64 * p) / 64, y
        sample = Sample(y, p, **options)
        found = worth(sample.compress(64).at_edges() if kind == "counts" else sample, 0.5)
        # Thresholds are compared on a grid, so the truth may be a little more.
        failures += (found.relative_at_least > truth[0] + 0.02) + (
            found.gain_at_least > truth[1] + 0.01
        )
    assert failures <= 5


def test_never_and_always_are_each_the_better_one_somewhere():
    """A chain may act from thresholds on both sides of the event rate: against each the better
    alternative counts.

    By definition, with every row by itself, for each rate that tells the thresholds of the blocks
    apart.
    """
    rng = np.random.default_rng(4)
    p = rng.integers(0, 65, 120) / 64
    y = rng.random(120) < np.where(p > 0.5, 0.95, 0.05)
    rows = Wagers.of(Sample(y, p, sample_weight=rng.uniform(0.5, 1, 120)), rng)
    blocks = [np.arange(0, 40), np.arange(40, 80), np.arange(80, 120)]
    at = [int(np.searchsorted(rows.edges, mu)) for mu in (0.25, 0.5, 0.75)]
    for relative in (True, False):
        rules = [rule_at(rows, k, relative=relative) for k in at]
        chain = [rows.wager(i, np.ones(40), rule) for i, rule in zip(blocks, rules, strict=True)]
        bound = lower_bound([chain], 0.4, np.array([0.5]))
        prob = rows.edges[rows.cells[0]]

        def wealth(share, rate, relative=relative, prob=prob):
            product = 1.0
            for i, k in zip(blocks, at, strict=True):
                mu = rows.edges[k]
                for j in i:
                    event, acts = bool(rows.event[j]), prob[j] >= mu
                    if mu <= rate:  # always acting is the better alternative
                        gain, best = (0.0 if acts else mu - event), mu * (not event)
                    else:
                        gain, best = (event - mu if acts else 0.0), (1 - mu) * event
                    z = gain - share * best if relative else gain / max(mu, 1 - mu) - share
                    product *= 1 + 0.5 * rows.stake[j] * z
            return product

        assert bound > 0.01
        assert min(wealth(bound, rate) for rate in (0.1, 0.3, 0.6, 0.8)) == pytest.approx(
            1 / 0.4, rel=1e-6
        )


def test_a_good_forecast_is_proven_useful():
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = rng.random(3000) < p
    found = worth(Sample(y, p), 0.95)
    order = rng.permutation(3000)
    assert worth(Sample(y[order], p[order]), 0.95) == found
    assert found.proven
    assert 0.4 < found.relative_at_least < 0.5
    assert found.gain_at_least > 0.1
    assert 0.3 < found.relative_threshold < 0.7
    assert found.to_dict()["confidence_level"] == 0.95


def test_counts_are_so_many_rows():
    rng = np.random.default_rng(1)
    prob, event = np.repeat(np.arange(8) / 8, 2), np.tile([False, True], 8)
    counts = rng.integers(1, 20, 16) + (100 * np.where(event, prob, 1 - prob)).astype(int)
    each = np.repeat(np.arange(16), counts)
    rows = Sample(event[each], prob[each])
    one, other = (Wagers.of(sample, rng) for sample in (rows, rows.compress(8).at_edges()))
    assert one.count.sum() == other.count.sum() == counts.sum()
    assert worth(rows, 0.8).relative_at_least == pytest.approx(
        worth(rows.compress(8), 0.8).relative_at_least, rel=0.3
    )


@for_each("y", [[0, 0, 0], [1, 1, 1]])
def test_one_class_proves_nothing(y):
    rows = Sample(y, [0.1, 0.5, 0.9])
    assert not worth(rows, 0.95).proven


def test_no_rows_prove_nothing():
    assert not worth(Sample([0, 1], [0.1, 0.9]).take(np.zeros(0, np.int64)), 0.95).proven


def test_perfect_foresight_is_worth_nearly_everything():
    y = np.arange(4000) % 2 == 1
    found = worth(Sample(y, y * 1.0), 0.95)
    assert found.relative_at_least > 0.97
