"""Swaps that may fall a few times: against enumeration of all sets, and between monotone and all
swaps.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

from paper.constructions import cutoff_gap, weighted
from paper.swap_classes import best_set, bridge, cutoff_error, interval_loss, loss_of_three
from rainproof import InputError, Sample
from rainproof.measures import (
    calibration_decision_loss,
    cutoff_calibration_error,
    expected_calibration_error,
)


def allowed_sets(n, r):
    """Every set of n entries in order that rises at most r times and falls at most r - 1 times."""
    for bits in product([0, 1], repeat=n):
        steps = np.diff([0, *bits])
        if (steps == 1).sum() <= r and (steps == -1).sum() <= r - 1:
            yield np.array(bits, bool)


def by_enumeration(sample, r):
    """The largest mixture of two thresholds over all pairs of nested sets: every task and every
    swap of the class.
    """
    table = sample.distinct()
    p, total = table.prob, table.negative.sum() + table.positive.sum()
    sets = list(allowed_sets(len(p), r))
    corners = sorted({0.0, 0.5, 1.0, *p.tolist()})

    def regret(mu, chosen):
        gain = (table.positive * (1 - mu) - table.negative * mu) / total
        return max(0.0, *(gain @ (chosen.astype(int) - above) for above in (p > mu, p >= mu)))

    regrets = {mu: np.array([regret(mu, chosen) for chosen in sets]) for mu in corners}
    nests = np.array([[not (high & ~low).any() for high in sets] for low in sets])
    best = regrets[0.5].max()
    for a in (mu for mu in corners if mu < 0.5):
        for b in (mu for mu in corners if mu > 0.5):
            share = (b - 0.5) / (b - a)
            pairs = share * regrets[a][:, None] + (1 - share) * regrets[b]
            best = max(best, pairs[nests].max())
    return 2 * best


def random_sample(rng, n):
    p = np.sort(rng.random(n)) if rng.random() < 0.7 else np.sort(0.45 + rng.random(n) / 10)
    q = rng.random(n) if rng.random() < 0.6 else rng.choice([0, 0.3, 0.5, 1], n)
    w = rng.dirichlet(np.full(n, 10 ** rng.uniform(-1, 1))) + 1e-9
    return weighted(p, w * (1 - q), w * q)


@for_seeds(150)
def test_the_best_set_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    gain, r = (
        rng.normal(size=int(rng.integers(1, 9))).round(int(rng.integers(0, 3))),
        int(rng.integers(1, 5)),
    )
    chosen = best_set(gain, r)
    assert any(np.array_equal(chosen, one) for one in allowed_sets(len(gain), r))
    assert gain[chosen].sum() == pytest.approx(
        max(gain[one].sum() for one in allowed_sets(len(gain), r)), abs=1e-12
    )


@for_seeds(60)
def test_the_loss_against_every_task_and_every_pair_of_nested_sets(seed):
    rng = np.random.default_rng(seed)
    sample, r = random_sample(rng, int(rng.integers(1, 8))), int(rng.integers(1, 4))
    found, true = interval_loss(sample, r), by_enumeration(sample, r)
    assert found.attained - 1e-12 <= true <= found.value + 1e-12
    if found.attained == found.value:
        assert found.value == pytest.approx(true, abs=1e-12)


def test_sets_that_do_not_nest_give_bounds():
    """The best sets of the two thresholds contradict each other, so the envelope is more than any
    one swap gains.
    """
    p = [0.05786853, 0.26532764, 0.3183844, 0.50357996, 0.62425198, 0.97021369]
    w = np.array([0.00622564, 0.01470053, 0.2736976, 0.259716, 0.38618645, 0.05947377])
    q = np.array([0.42142475, 0.50250423, 0.75662902, 0.38262821, 0.82595053, 0.11865773])
    sample = weighted(np.array(p), w * (1 - q), w * q)
    found, true = interval_loss(sample, 2), by_enumeration(sample, 2)
    assert found.attained < found.value - 0.005
    assert found.attained - 1e-12 <= true < found.value


@given(samples(), st.integers(1, 40))
def test_between_monotone_and_all_swaps(rows, r):
    y, p, w = rows
    sample = Sample(y, p, sample_weight=w)
    least, most = (calibration_decision_loss(sample, swaps=swaps) for swaps in ("monotone", "all"))
    losses = [least, interval_loss(sample, r).value, interval_loss(sample, r + 1).value, most]
    assert min(np.diff(losses)) > -1e-12
    assert interval_loss(sample, 1).value == pytest.approx(least, abs=1e-12)
    assert interval_loss(sample, len(p)).value == most


@given(samples(), st.integers(1, 5))
def test_at_most_twice_the_biases_of_as_many_ranges(rows, r):
    y, p, w = rows
    sample = Sample(y, p, sample_weight=w)
    assert interval_loss(sample, r).value <= 2 * cutoff_error(sample, r) + 1e-12
    assert cutoff_error(sample, 1) == pytest.approx(cutoff_calibration_error(sample), abs=1e-12)


@for_seeds(40)
def test_the_bridge_is_the_highest_chord_over_one_half(seed):
    rng = np.random.default_rng(seed)
    inner = rng.random(int(rng.integers(0, 30))).round(int(rng.integers(1, 4)))
    mu = np.array([0, *np.sort([*inner, *([0.5] if seed % 2 else [])]), 1.0])
    value = rng.random(len(mu)).round(2)

    def height(a, b):
        return value[a] if mu[a] == mu[b] else np.interp(0.5, mu[[a, b]], value[[a, b]])

    left, right = (np.flatnonzero(side) for side in (mu <= 0.5, mu >= 0.5))
    highest = max(height(a, b) for a, b in product(left, right) if mu[a] < mu[b] or a == b)
    assert height(*bridge(mu, value)) == pytest.approx(highest, abs=1e-15)


@for_seeds(40)
def test_ranges_against_all_choices_of_cutoffs(seed):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    y, p = rng.integers(0, 2, n), rng.random(n).round(1)
    values = np.unique(p)
    prefix = np.array([0, *np.cumsum([(y[p == v] - v).sum() for v in values])]) / n

    def best(start, ranges):  # choose the next range by hand
        if ranges == 0:
            return 0.0
        ends = [(a, b) for a in range(start, len(prefix)) for b in range(a, len(prefix))]
        return max(
            abs(prefix[b] - prefix[a]) + (best(b, ranges - 1) if b > a else 0) for a, b in ends
        )

    assert cutoff_error(Sample(y, p), r) == pytest.approx(best(0, r), abs=1e-12)
    assert cutoff_error(Sample(y, p), n) == pytest.approx(
        expected_calibration_error(y, p), abs=1e-12
    )


def test_theorem_b_1_grows_with_the_number_of_intervals():
    """Its errors alternate, so each interval more adds one more error: the cutoff error grows in
    steps of eps.
    """
    eps = 1e-3
    m, law = cutoff_gap(eps)
    sample = law.sample()
    assert m == 10
    for r in (1, 2, 5, 10):
        assert cutoff_error(sample, r) == pytest.approx(r * eps, rel=1e-6)
    losses = [
        *(interval_loss(sample, r).value for r in range(1, 7)),
        calibration_decision_loss(sample),
    ]
    assert losses == pytest.approx([eps * k for k in (2, 3.8, 5.4, 6.8, 8, 8, 8)], rel=1e-6)


def test_of_a_calibrated_forecaster_it_vanishes_for_fixed_r():
    rng = np.random.default_rng(0)
    means = []
    for n in (400, 6_400):
        draws = []
        for _ in range(20):
            p = rng.random(n)
            draws.append(loss_of_three(rng.random(n) < p, p))
        means.append(np.mean(draws))
    assert 1 / 6 < means[1] / means[0] < 1 / 2.7  # T^-1/2 would be 1/4
    assert (
        interval_loss(Sample([1, 0, 0, 0, 0, 1, 1, 1, 1, 0], [0.2] * 5 + [0.8] * 5), 1).value == 0.0
    )


def test_the_measure_of_the_package_takes_no_number():
    with pytest.raises(InputError, match="swaps"):
        calibration_decision_loss([0, 1], [0.1, 0.9], swaps=2)
