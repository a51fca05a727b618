"""The formulas behind `guarantee`: against their definitions, and their validity by enumerating all
samples.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.enumeration import all_samples
from helpers.regret_oracle import solve
from helpers.strategies import powers, samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rainproof
from rainproof.inference import bounds
from rainproof.inference.bound_inputs import BoundInputs, loss_at_most


def evidence_of(y, p, w=None, m=8, grid=None):
    sample = rainproof.Sample(y, p, sample_weight=w)
    sample = sample if grid is None else sample.compress(grid)
    return BoundInputs.rounded(sample, m)


def hats(p, m):
    """How much of each row goes to each bin."""
    return np.maximum(0, 1 - np.abs(np.asarray(p)[:, None] * m - np.arange(m + 1)))


def brute_charged_loss(evidence, m, tilt):
    """A linear program over mixtures of thresholds, each with its best swaps, straight from the
    definition.
    """
    extra, shares = evidence.charge(tilt), evidence.shares
    mu = np.repeat(np.arange(m + 1) / m, 2)
    curve = np.zeros(len(mu))
    for k, threshold in enumerate(mu):
        for prob, share, pay in zip(evidence.prob, shares.T, extra.T, strict=True):
            below = prob < threshold or (prob == threshold and k % 2)
            gain = share[1] * (1 - threshold) - share[0] * threshold
            chance = pay[1] * (1 - threshold) + pay[0] * threshold
            curve[k] += max(0.0, (gain if below else -gain) + chance)
    return solve(curve, np.array([1 - mu, mu]), np.ones(2), upper=None)


@given(samples(max_size=8), powers, st.floats(1e-3, 50))
def test_the_charged_loss_is_a_linear_program(rows, m, tilt):
    y, p, w = rows
    evidence = evidence_of(y, p, w, m)
    found = evidence.charged_loss(tilt)
    # the solver's own tolerance
    assert found == pytest.approx(brute_charged_loss(evidence, m, tilt), abs=1e-7)
    assert found >= evidence.plug_in - 1e-12


def test_a_charged_loss_by_hand():
    """One row at 1/2, no event: R+(1/2) = (1 + k)/2 from swapping down, twice that is the loss; k =
    ln cosh 1.
    """
    evidence = evidence_of([0], [0.5])
    assert evidence.charged_loss(1.0) == pytest.approx(1 + math.log(math.cosh(1)), abs=1e-12)
    assert evidence.plug_in == 1.0


@given(samples(), powers, st.floats(1e-3, 1e3), st.sampled_from([None, 2**6, 2**12]))
def test_rows_pay_at_least_what_they_owe(rows, m, tilt, grid):
    """charge >= sum_i hat_j(p_i) ln cosh(tilt v_i) / tilt in every bin and outcome, also when
    compressed.
    """
    y, p, w = rows
    evidence = evidence_of(y, p, w, m, grid)
    v = np.ones(len(p)) / len(p) if w is None else w / w.sum()
    owed = hats(p, m) * (bounds.log_cosh(tilt * v) / tilt)[:, None]
    for outcome in (0, 1):
        paid = np.zeros(m + 1)
        paid[np.rint(m * evidence.prob).astype(int)] = evidence.charge(tilt)[outcome]
        assert np.all(paid >= owed[y == outcome].sum(axis=0) * (1 - 1e-9) - 1e-12)
    assert np.all(evidence.charge(tilt) <= evidence.shares * (1 + 1e-12))


@given(samples(), st.floats(1e-3, 1e3))
def test_pulls_promise_no_more_than_they_give(rows, tilt):
    _, p, w = rows
    v = np.ones(len(p)) / len(p) if w is None else w[w > 0] / w.sum()
    (found,) = bounds.pulls(np.array([tilt]), len(v), 1 / np.sum(v**2))
    assert found <= np.tanh(tilt * v).sum() * (1 + 1e-9)


def test_the_constant_of_the_cubic_bound():
    x = np.linspace(1, 3, 1_000_001)
    assert 0.2649 < ((x - np.tanh(x)) / x**2).max() < bounds._TANH_GAP


@given(st.floats(0, 50), st.floats(-1, 1))
def test_the_inequality_behind_it_all(x, g):
    left = math.exp(-x * g - float(bounds.log_cosh(x)) * abs(g))
    assert left <= 1 - g * math.tanh(x) + 1e-12


@given(st.floats(0, 30))
def test_log_cosh(x):
    assert float(bounds.log_cosh(x)) == pytest.approx(math.log(math.cosh(x)), rel=1e-9, abs=1e-15)


def test_log_cosh_at_the_ends():
    assert_allclose(bounds.log_cosh([0.0, 1e-9, 1e4]), [0.0, 5e-19, 1e4 - math.log(2)])


def small_populations():
    """Two or three predictions with their mass and rate, at and off the grid, biased and right."""
    return [
        ([0.5], [1.0], [0.9]),
        ([0.25, 0.75], [0.5, 0.5], [0.75, 0.25]),
        ([0.1, 0.6], [0.3, 0.7], [0.1, 0.6]),
        ([0.0, 0.4, 1.0], [0.2, 0.6, 0.2], [0.5, 0.2, 0.5]),
    ]


@for_each("weight", [[1, 1, 1, 1], [1, 1, 2, 4], [1, 1, 1, 20]])
@for_each("prob, mass, rate", small_populations())
def test_the_mixture_has_mean_at_most_one(prob, mass, rate, weight):
    """What the proof needs, computed: over all samples of four rows, with their chances."""
    m, delta = 4, 0.2
    atoms = [
        (x, y, c * (r if y else 1 - r))
        for x, c, r in zip(prob, mass, rate, strict=True)
        for y in (0, 1)
    ]
    population = evidence_of(
        [y for _, y, _ in atoms], [x for x, _, _ in atoms], [c for *_, c in atoms], m
    )
    truth, mean, total = population.plug_in, 0.0, 0.0
    wrong = {"adaptive": 0.0, "hoeffding": 0.0}
    for p, y, w, chance in all_samples(atoms, weight):
        evidence = evidence_of(y, p, w, m)
        tilts = bounds.tilts(evidence.effective_n, delta)
        paid = tilts * [evidence.charged_loss(tilt) for tilt in tilts]
        pull = bounds.pulls(tilts, 4, evidence.effective_n)
        mean += chance * float(bounds.PRIORS @ np.exp(-paid - 4 * np.log1p(-truth * pull / 4)))
        total += chance
        wrong["adaptive"] += chance * (loss_at_most(evidence, delta) < truth - 1e-9)
        wrong["hoeffding"] += chance * (
            bounds.hoeffding(evidence.plug_in, evidence.effective_n, delta) < truth
        )
    assert total == pytest.approx(1)
    assert mean <= 1 + 1e-9
    assert max(wrong.values()) <= delta


@given(samples(weighted=False), powers, st.floats(1e-6, 0.5))
def test_it_is_between_its_extremes_and_below_hoeffding(rows, m, delta):
    """Never above Hoeffding's bound with half the error budget, whatever the rows."""
    y, p, _ = rows
    evidence = evidence_of(y, p, None, m)
    found = loss_at_most(evidence, delta)
    least, most = bounds.extremes(len(y), evidence.plug_in, delta)
    assert least - 1e-9 <= found <= most + 1e-9
    assert most <= bounds.hoeffding(evidence.plug_in, len(y), delta / 2) + 1e-9
    assert found >= min(1.0, evidence.plug_in) - 1e-9


@for_each("k", range(5))
def test_each_tilt_alone_is_not_far_above_hoeffding(k):
    """By (f + 1/f)/2 at most, as docs/theory/bounds.md has it; that factor is needed where every
    row counts fully.
    """
    n, plug_in, delta = 5_000, 0.03, 0.05
    rho, f = bounds.PRIORS[k], bounds.FACTORS[k]
    tilt = bounds.tilts(n, delta)[k : k + 1]
    most = tilt * plug_in + n * bounds.log_cosh(tilt / n)
    alone = bounds._upper_bound_of_paid(
        most, bounds.pulls(tilt, n, n), n, delta, bounds.PRIORS[k : k + 1]
    )
    slack = math.sqrt(2 * math.log(1 / (rho * delta)) / n)
    assert alone <= plug_in + (f + 1 / f) / 2 * slack + 1e-9
    assert f == 1 or alone > plug_in + slack


def test_the_extremes_are_reached():
    perfect, split = (
        evidence_of([0, 1] * 50, [0.0, 1.0] * 50),
        evidence_of([0, 1] * 50, [0.5] * 100),
    )
    least, most = bounds.extremes(100, 0.0, 0.05)
    assert loss_at_most(perfect, 0.05) == pytest.approx(least, abs=1e-9)
    assert loss_at_most(split, 0.05) == pytest.approx(most, abs=1e-9)


def test_hoeffding_by_hand():
    assert bounds.hoeffding(0.01, 1000, 0.05) == pytest.approx(
        0.01 + math.sqrt(2 * math.log(20) / 1000)
    )
    assert bounds.hoeffding(0.9, 1, 0.05) == 1.0


def test_equal_weights_are_no_weights():
    rng = np.random.default_rng(0)
    p, y = rng.random(300), rng.integers(0, 2, 300)
    plain, heavy = evidence_of(y, p), evidence_of(y, p, np.full(300, 0.3))
    assert loss_at_most(heavy, 0.05) == pytest.approx(loss_at_most(plain, 0.05), abs=1e-9)
