"""Statements of the paper and closed forms, worked out by hand."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from helpers import soft_binned_oracle
from helpers.cases import for_each
from helpers.strategies import powers, samples
from hypothesis import given

import rainproof


def regret_curve(pi, s, at, mu):
    """E[(q - mu)+ 1{p <= mu} + (mu - q)+ 1{p > mu}] of Lemma 2.2, for rows (pi, s) at the places
    `at`.
    """
    total = Fraction(0)
    for weight, events, p in zip(pi, s, at, strict=True):
        total += max(events - weight * mu, 0) if p <= mu else max(weight * mu - events, 0)
    return total


def worst_regret(pi, s, at):
    """The supremum over mu: the curve is piecewise linear, broken at the p's (a jump) and the
    q's.
    """
    breaks = {Fraction(0), Fraction(1), *at, *(e / w for w, e in zip(pi, s, strict=True) if w)}
    below = [mu - Fraction(1, 10**30) for mu in breaks if mu > 0]
    return max(regret_curve(pi, s, at, mu) for mu in [*breaks, *below])


def pooled(y, p, w):
    """The distinct table: weight, events and place of each distinct prediction."""
    total, table = sum(map(Fraction, w)), {}
    for yt, pt, wt in zip(y, p, w, strict=True):
        weight, events = table.get(pt, (Fraction(0), Fraction(0)))
        share = Fraction(wt) / total
        table[pt] = weight + share, events + share * int(yt)
    at = sorted(table)
    return [table[x][0] for x in at], [table[x][1] for x in at], [Fraction(x) for x in at]


@given(samples(max_size=10), powers)
def test_scdl_is_at_most_cdl(sample, m):
    """Lemma 3.4, as its proof has it: SCDL_m <= sup R <= CDL."""
    y, p, w = sample
    w = np.ones(len(p)) if w is None else w
    highest = worst_regret(*pooled(y, p, w))
    assert soft_binned_oracle.loss(y, p, w, m) <= highest
    assert rainproof.soft_binned_cdl(y, p, sample_weight=w) <= float(highest) + 1e-14


@given(samples(max_size=10), powers)
def test_what_the_rounded_response_can_lose(sample, m):
    """Lemma 4.3, as its proof has it: CDL(D_m) / 2 <= sup R(D_m) <= SCDL_m + 1/m."""
    y, p, w = sample
    w = np.ones(len(p)) if w is None else w
    pi, s = soft_binned_oracle.rounded(y, p, w, m)
    highest = worst_regret(pi, s, [Fraction(j, m) for j in range(m + 1)])
    assert highest <= soft_binned_oracle.loss(y, p, w, m) + Fraction(1, m)


@for_each("p", [0.0, 0.125, 0.5, 0.8125, 1.0])
@for_each("q", [0.0, 0.25, 0.5, 1.0])
def test_one_prediction_on_the_grid(p, q):
    """All mass at p = j/m with frequency q: SCDL_m = (q - (j+1)/m)+ or ((j-1)/m - q)+, whichever is
    there.
    """
    y = np.arange(4) < 4 * q

    def loss(m):
        return max(q - (p * m + 1) / m, (p * m - 1) / m - q, 0)

    expected = min(max(loss(m), 1 / m) for m in 2.0 ** np.arange(4, 30) if (p * m).is_integer())
    coarse = [float(soft_binned_oracle.loss(y, [p] * 4, [1] * 4, m)) for m in (2, 4, 8)]
    expected = min(
        expected, *(max(value, 1 / m) for value, m in zip(coarse, (2, 4, 8), strict=True))
    )
    got = rainproof.soft_binned_cdl(y, [p] * 4)
    assert got == (0.0 if p == q else pytest.approx(expected, abs=1e-15))


def test_by_hand():
    """Two predictions, 1/4 and 3/4, each wrong for all rows: at m = 4, i = 1 and 2 lose the same.

    i = 1: bin 1 (weight 1/2, frequency 1) loses 1/2 (1 - 2/4) = 1/4, bin 3 (frequency 0) 1/2 (1/4)
    = 1/8. SCDL_4 = 3/8, SCDL_8 (bins 2 and 6) = 1/2 (1 - 4/8) + 1/2 (3/8) = 7/16 >= 1/4, so m* = 4
    or less; SCDL_4 = 3/8 < 1/2, so m* = 4 and SCDL = 3/8.
    """
    prof = rainproof.measures.soft_binned_profile(
        np.repeat([1, 0], 60), np.repeat([0.25, 0.75], 60)
    )
    assert dict(zip(prof.grids.tolist(), prof.losses.tolist(), strict=True)) == {
        2: 0.125,
        4: 0.375,
        8: 0.4375,
    }
    assert (prof.m_star, prof.value) == (4, 0.375)
    assert prof.regret_bound == 1.0
    assert prof.worst_threshold == (0.25, 0.5)


def test_the_umbrella_of_the_introduction():
    """Example 1: forecasts of 20% and 80% that come true as often as they say cost nobody
    anything.
    """
    y = [1, 0, 0, 0, 0, 1, 1, 1, 1, 0] * 20
    p = [0.2] * 5 + [0.8] * 5
    assert rainproof.soft_binned_cdl(y, p * 20) == 0.0


def test_scdl_of_a_calibrated_forecaster_shrinks_like_the_root_of_the_rows():
    """Theorem 7.1 on Example 2's forecaster, whose CDL stays above 1/9 however many rows there
    are.
    """
    rng = np.random.default_rng(7)
    means = []
    for rows in (100, 1_600, 25_600):
        values = []
        for _ in range(20):
            p = rng.uniform(1 / 3, 2 / 3, rows)
            values.append(rainproof.soft_binned_cdl(rng.random(rows) < p, p))
        means.append(np.mean(values))
    for fewer, more in itertools.pairwise(means):
        assert 2.5 < fewer / more < 6.5  # a sixteenth of the rows, about four times the value
    assert means[-1] < 1 / 90
