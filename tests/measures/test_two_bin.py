"""The averaged two-bin error against its definition in exact arithmetic, its relations, and its
truthfulness.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given

import rainproof
from paper.beyond import JUDGED, best_lie, expected_value, reports
from rainproof.measures import smooth_calibration_error, two_bin_calibration_error


def by_definition(y, p, w=None):
    """The integral over cutoffs, interval by interval, in fractions."""
    y, p = [int(v) for v in y], [Fraction(float(v)) for v in p]
    w = [Fraction(float(v)) for v in (np.ones(len(p)) if w is None else w)]
    value = Fraction(0)
    for a, b in pairwise(sorted({Fraction(0), Fraction(1), *p})):
        low, high = (
            sum(
                (wi * (yi - pi) for yi, pi, wi in zip(y, p, w, strict=True) if (pi <= a) == side),
                Fraction(0),
            )
            for side in (True, False)
        )
        value += (b - a) * (low**2 + high**2)
    return value / sum(w) ** 2


@given(samples())
def test_it_is_its_definition(sample):
    y, p, w = sample
    assert two_bin_calibration_error(y, p, sample_weight=w) == pytest.approx(
        float(by_definition(y, p, w)), abs=1e-14
    )


@for_seeds(12)
def test_larger_samples_and_both_forms(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 80))
    p = [
        rng.random(n),
        rng.beta(0.2, 0.2, n),
        np.round(rng.random(n), 1),
        rng.choice([0, 1e-12, 0.5, 1], n),
    ][seed % 4]
    y = (rng.random(n) < p**2).astype(int)
    w = rng.choice([1.0, 2.0, 0.1, 1e6], n) if seed % 2 else np.ones(n)
    value = two_bin_calibration_error(y, p, sample_weight=w)
    assert value == pytest.approx(float(by_definition(y, p, w)), abs=1e-14)
    bias = w / w.sum() * (y - p)
    assert value == pytest.approx(bias @ (1 - np.abs(p[:, None] - p)) @ bias, abs=1e-14)
    smooth = smooth_calibration_error(y, p, sample_weight=w)
    assert 0.4 * smooth**2 - 1e-12 <= value <= smooth + 1e-12


def test_by_hand():
    assert two_bin_calibration_error([1, 1], [0, 0]) == 1.0
    # the biases -1 and 1 meet in one bin only at the ends
    assert two_bin_calibration_error([0, 1], [1, 0]) == 0.5
    assert two_bin_calibration_error([0, 1], [0, 1]) == 0.0
    assert two_bin_calibration_error([0, 1], [0.5, 0.5]) == 0.0


def test_the_relations_to_smooth_calibration_are_nearly_tight():
    """A step from 0 to 1 in the predictions: ATB = smCE at the ends; near 0.4 smCE^2 for a bias
    that changes sign.
    """
    assert two_bin_calibration_error([1], [0.0]) == smooth_calibration_error([1], [0.0]) == 1.0
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(300):
        p = np.sort(rng.random(4))
        q, w = np.clip(p + rng.normal(size=4) * 0.3, 0, 1), rng.dirichlet(np.ones(4))
        y, at, weight = np.repeat([0, 1], 4), np.tile(p, 2), np.concatenate([w * (1 - q), w * q])
        smooth = smooth_calibration_error(y, at, sample_weight=weight)
        ratios.append(two_bin_calibration_error(y, at, sample_weight=weight) / smooth**2)
    assert 0.4 <= min(ratios) < 1.0


@for_each("m", [2, 8, 64])
def test_compression_moves_it_by_two_cells_at_most(m):
    rng = np.random.default_rng(m)
    for _ in range(50):
        n = int(rng.integers(2, 40))
        p = rng.random(n) if rng.random() < 0.5 else 0.5 + rng.random(n) / m
        sample = rainproof.Sample(rng.random(n) < rng.random(n), p)
        moved = abs(
            two_bin_calibration_error(sample) - two_bin_calibration_error(sample.compress(m))
        )
        assert moved <= 2 / m


@for_each("n", [1, 2, 3, 4, 5, 6])
def test_the_truth_minimizes_it_exactly(n):
    """Every outcome enumerated in fractions: a report costs the variance plus its own squared bias,
    never less.
    """
    rng = np.random.default_rng(n)
    truth = [Fraction(int(k), 10) for k in rng.integers(0, 11, n)]

    def expectation(report):
        total = Fraction(0)
        for y in product([0, 1], repeat=n):
            chance = Fraction(1)
            for yi, qi in zip(y, truth, strict=True):
                chance *= qi if yi else 1 - qi
            total += chance * by_definition(y, report)
        return total

    floats = np.array([float(q) for q in truth])
    honest = sum(q * (1 - q) for q in map(Fraction, floats)) / Fraction(n) ** 2
    assert float(expectation(floats)) == pytest.approx(float(honest), abs=1e-15)
    pooled = np.full(n, floats.mean())
    # as good as the truth, not better
    assert float(expectation(pooled)) == pytest.approx(float(honest), abs=1e-15)
    for report in reports(floats, rng, 4 if n > 4 else 12)[1:]:
        if np.abs(report - floats).max() > 1e-9 and np.ptp(report) > 1e-9:
            assert expectation(report) > honest


def test_others_reward_lies():
    truthful = {name: best_lie(name, 3, 0, 1, 8) > 1 - 1e-9 for name in JUDGED}
    assert {name for name, is_truthful in truthful.items() if is_truthful} == {
        "two_bin_calibration_error",
        "brier_score",
    }


def test_the_expectation_is_over_all_outcomes():
    measure = rainproof.list_measures()["brier_score"]
    q = np.array([0.3, 0.8])
    assert expected_value(measure, q, q) == pytest.approx((0.21 + 0.16) / 2)
