"""Swaps that may fall a few times: against enumeration of all sets, and between monotone and all swaps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from paper.constructions import cutoff_gap
from rainproof import calibration_decision_loss, cutoff_calibration_error, expected_calibration_error
from rainproof.core.distinct import DistinctTable
from rainproof.measures.cdl import best_set, interval_loss


def allowed_sets(n, r):
    """Every set of n entries in order that rises at most r times and falls at most r - 1 times."""
    for bits in product([0, 1], repeat=n):
        steps = np.diff([0, *bits])
        if (steps == 1).sum() <= r and (steps == -1).sum() <= r - 1:
            yield np.array(bits, bool)


def by_enumeration(table, r):
    """The largest mixture of two thresholds over all pairs of nested sets: every task and every swap of the class."""
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


def random_table(rng, n):
    p = np.sort(rng.random(n)) if rng.random() < 0.7 else np.sort(0.45 + rng.random(n) / 10)
    q = rng.random(n) if rng.random() < 0.6 else rng.choice([0, 0.3, 0.5, 1], n)
    w = rng.dirichlet(np.full(n, 10 ** rng.uniform(-1, 1))) + 1e-9
    return DistinctTable(p, w * (1 - q), w * q)


@pytest.mark.parametrize("seed", range(150))
def test_the_best_set_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    gain, r = rng.normal(size=int(rng.integers(1, 9))).round(int(rng.integers(0, 3))), int(rng.integers(1, 5))
    chosen = best_set(gain, r)
    assert any(np.array_equal(chosen, one) for one in allowed_sets(len(gain), r))
    assert gain[chosen].sum() == pytest.approx(max(gain[one].sum() for one in allowed_sets(len(gain), r)), abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_the_loss_against_every_task_and_every_pair_of_nested_sets(seed):
    rng = np.random.default_rng(seed)
    table, r = random_table(rng, int(rng.integers(1, 8))), int(rng.integers(1, 4))
    found, true = interval_loss(table, r), by_enumeration(table, r)
    assert found.attained - 1e-12 <= true <= found.value + 1e-12
    if found.attained == found.value:
        assert found.value == pytest.approx(true, abs=1e-12)


def test_sets_that_do_not_nest_give_bounds():
    """The best sets of the two thresholds contradict each other, so the envelope is more than any one swap gains."""
    p = [0.05786853, 0.26532764, 0.3183844, 0.50357996, 0.62425198, 0.97021369]
    w = np.array([0.00622564, 0.01470053, 0.2736976, 0.259716, 0.38618645, 0.05947377])
    q = np.array([0.42142475, 0.50250423, 0.75662902, 0.38262821, 0.82595053, 0.11865773])
    table = DistinctTable(np.array(p), w * (1 - q), w * q)
    found, true = interval_loss(table, 2), by_enumeration(table, 2)
    assert found.attained < found.value - 0.005
    assert found.attained - 1e-12 <= true < found.value
    y, at, weight = np.repeat([0, 1], 6), np.tile(p, 2), np.concatenate([w * (1 - q), w * q])
    assert calibration_decision_loss(y, at, sample_weight=weight, swaps=2) == pytest.approx(found.value)


@given(samples(), st.integers(1, 40))
def test_between_monotone_and_all_swaps(sample, r):
    y, p, w = sample
    losses = [calibration_decision_loss(y, p, sample_weight=w, swaps=swaps) for swaps in ("monotone", r, r + 1, "all")]
    assert min(np.diff(losses)) > -1e-12
    assert calibration_decision_loss(y, p, sample_weight=w, swaps=1) == pytest.approx(losses[0], abs=1e-12)
    assert calibration_decision_loss(y, p, sample_weight=w, swaps=len(p)) == losses[-1]


@given(samples(), st.integers(1, 5))
def test_at_most_twice_the_biases_of_as_many_ranges(sample, r):
    y, p, w = sample
    loss = calibration_decision_loss(y, p, sample_weight=w, swaps=r)
    assert loss <= 2 * cutoff_calibration_error(y, p, sample_weight=w, intervals=r) + 1e-12


@pytest.mark.parametrize("seed", range(40))
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
        return max(abs(prefix[b] - prefix[a]) + (best(b, ranges - 1) if b > a else 0) for a, b in ends)

    assert cutoff_calibration_error(y, p, intervals=r) == pytest.approx(best(0, r), abs=1e-12)
    assert cutoff_calibration_error(y, p, intervals=n) == pytest.approx(expected_calibration_error(y, p), abs=1e-12)


def test_theorem_b_1_grows_with_the_number_of_intervals():
    """Its errors alternate, so each interval more adds one more error: the cutoff error grows in steps of eps."""
    eps = 1e-3
    m, law = cutoff_gap(eps)
    sample = law.sample()
    assert m == 10
    for r in (1, 2, 5, 10):
        assert cutoff_calibration_error(sample, intervals=r) == pytest.approx(r * eps, rel=1e-6)
    losses = [calibration_decision_loss(sample, swaps=r) for r in (1, 2, 3, 4, 5, 6, "all")]
    assert losses == pytest.approx([eps * k for k in (2, 3.8, 5.4, 6.8, 8, 8, 8)], rel=1e-6)


def test_of_a_calibrated_forecaster_it_vanishes_for_fixed_r():
    rng = np.random.default_rng(0)
    means = []
    for n in (400, 6_400):
        draws = []
        for _ in range(20):
            p = rng.random(n)
            draws.append(calibration_decision_loss(rng.random(n) < p, p, swaps=3))
        means.append(np.mean(draws))
    assert 1 / 6 < means[1] / means[0] < 1 / 2.7  # T^-1/2 would be 1/4
    assert calibration_decision_loss([1, 0, 0, 0, 0, 1, 1, 1, 1, 0], [0.2] * 5 + [0.8] * 5, swaps=1) == 0.0


@pytest.mark.parametrize("value", [0, -1, 2.0, True, None])
def test_a_number_of_intervals_is_a_positive_integer(value):
    with pytest.raises(rainproof.InputError, match="swaps must be a positive integer; it is"):
        calibration_decision_loss([0, 1], [0.1, 0.9], swaps=value)
    with pytest.raises(rainproof.InputError, match="intervals must be a positive integer; it is"):
        cutoff_calibration_error([0, 1], [0.1, 0.9], intervals=value)
    assert calibration_decision_loss([0, 1], [0.1, 0.9], swaps=np.int32(2)) == pytest.approx(0.1)
