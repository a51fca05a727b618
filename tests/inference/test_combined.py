"""The default statistic by its definition, with SciPy; and its sequential p-values, draw by
draw.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.special import gammaincc, logit

import rainproof
from rainproof.inference.resampling import as_resampler
from rainproof.inference.statistics import Combined, sequential_p_value, with_fewer_cells


def rows(kind, n, rng):
    """Predictions, and weights or None."""
    weight = None
    p = rng.random(n)
    if kind == "ties":
        p = p.round(1)
    elif kind == "three values":
        p = rng.choice([0.1, 0.25, 0.9], n)
    elif kind == "constant":
        p = np.full(n, 0.3)
    elif kind == "rare":
        p = 0.02 * p**2
    elif kind == "certain":
        p = np.where(p < 0.2, 0.0, np.where(p > 0.8, 1.0, p))
    elif kind == "nearly certain":
        p = np.where(p < 0.2, 1e-12, np.where(p > 0.8, 1 - 1e-12, p))
    elif kind == "weights":
        weight = rng.exponential(size=n)
    elif kind == "heavy weights":
        weight = 10.0 ** rng.uniform(-6, 6, n)
    return p, weight


KINDS = [
    "rows",
    "ties",
    "three values",
    "constant",
    "rare",
    "certain",
    "nearly certain",
    "weights",
    "heavy weights",
]


def slowly(prob, variance, weight, positive, n):
    """The statistic by its definition: one sample, sums over distinct predictions in increasing
    order.
    """
    certain = variance <= 0
    if (positive[certain] != (weight * prob)[certain]).any():
        return math.inf
    if certain.all():
        return 0.0
    share = variance / variance.sum()
    middle = np.cumsum(share) - share / 2
    run = np.minimum(256 * middle, 255).astype(int)
    runs = [np.flatnonzero(run == k) for k in np.unique(run)]
    runs = [r for r in runs if variance[r].sum() > 0]
    held = np.array([variance[r].sum() for r in runs])
    residual = np.array([(positive - weight * prob)[r].sum() for r in runs])
    place = np.array([np.average(middle[r], weights=share[r]) for r in runs])
    odds = np.array(
        [(logit(prob[r][~certain[r]]) * share[r][~certain[r]]).sum() / share[r].sum() for r in runs]
    )
    z, basis = [], []
    for k in range(2 * len(runs) + 1):
        if len(basis) == min(64, max(2, n // 2), len(runs)):
            break
        column = np.sqrt(held) * (odds if k == 1 else np.cos(np.pi * max(k - 1, 0) * place))
        length = np.linalg.norm(column)
        for _ in range(3):
            for other in basis:
                column = column - (other @ column) * other
        if np.linalg.norm(column) > 1e-8 * length:
            basis.append(column / np.linalg.norm(column))
            z.append(residual / np.sqrt(held) @ basis[-1])
    squared = np.array(z) ** 2
    orders = [k for k in (1, 2, 4, 8, 16, 32) if k < len(z)] + [len(z)]
    tails = [gammaincc(k / 2, squared[:k].sum() / 2) for k in orders] + [
        gammaincc(0.5, x / 2) for x in squared[:2]
    ]
    return math.log10(np.mean([1 / max(tail, 1e-300) for tail in tails]))


@for_each("kind", KINDS)
@for_each("n", [1, 3, 20, 101, 1500])
@for_each("grid", [None, 64])
def test_the_statistic_by_its_definition(kind, n, grid):
    """Outcomes as predicted, too frequent, and all events: up to the limit of 1e-300."""
    rng = np.random.default_rng(n)
    p, weight = rows(kind, n, rng)
    for y in (rng.random(n) < p, rng.random(n) < np.minimum(1, 2 * p + 0.02), np.ones(n, bool)):
        sample = rainproof.Sample(y.astype(int), p, sample_weight=weight)
        atoms = as_resampler(sample if grid is None else sample.compress(grid))
        prob, draw = atoms.distinct, atoms.observed()
        expected = slowly(prob, atoms.squares * prob * (1 - prob), atoms.weight, draw.positive, n)
        found = Combined(atoms)(draw)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_orders_that_are_odd_have_their_tails():
    """Every number of functions from 1 to 40, by as many distinct predictions."""
    rng = np.random.default_rng(3)
    for many in range(1, 41):
        p = np.repeat((np.arange(many) + 0.5) / many, 4)
        y = (rng.random(len(p)) < p**1.5).astype(int)
        atoms = as_resampler(rainproof.Sample(y, p))
        prob, draw = atoms.distinct, atoms.observed()
        combined = Combined(atoms)
        assert combined._functions.shape[1] == max(2, min(many, len(p) // 2)) - (many == 1)
        expected = slowly(prob, 4 * prob * (1 - prob), atoms.weight, draw.positive, len(p))
        assert combined(draw) == pytest.approx(expected, rel=1e-9)


def by_draws(atoms, most, rng):
    """Besag and Clifford, one draw at a time."""
    combined, coin = Combined(atoms), atoms.coin(atoms.prob)
    observed, reached = combined(atoms.observed()), 0
    for drawn in range(1, most + 1):
        reached += combined(atoms.redraw(rng, coin)) >= observed
        if reached == 10:
            return 10 / drawn
    return (reached + 1) / (most + 1)


@for_each("kind", KINDS)
@for_each("grid", [None, 32])
def test_sequential_p_values_draw_by_draw(kind, grid):
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        p, weight = rows(kind, 60, rng)
        wrong = p if seed % 2 else p**2
        sample = rainproof.Sample((rng.random(60) < wrong).astype(int), p, sample_weight=weight)
        atoms = as_resampler(sample if grid is None else sample.compress(grid))
        p_value = sequential_p_value(atoms, 400, np.random.default_rng(seed))
        if atoms.tossed:
            assert p_value == by_draws(atoms, 400, np.random.default_rng(seed))
        found.append(p_value)
    assert min(found) < max(found)


@for_each("weight", [None, [2.0, 1.0, 0.5, 3.0]])
def test_an_impossible_outcome_has_the_smallest_p_value(weight):
    """And takes no draws."""
    atoms = as_resampler(rainproof.Sample([1, 0, 1, 1], [0.0, 0.3, 0.6, 0.7], sample_weight=weight))
    assert sequential_p_value(atoms, 10**7, np.random.default_rng(0)) == 1 / (10**7 + 1)


@for_each("tiny", ["prediction", "weight"])
def test_what_has_next_to_no_variance_is_not_certain(tiny):
    rng = np.random.default_rng(8)
    p, weight = rng.random(300), None
    y = rng.random(300) < p
    if tiny == "prediction":
        p[0], y[0] = 5e-324, False
    else:
        weight = np.append(1e-170, np.ones(299))  # its square is 0
    sample = rainproof.Sample(y.astype(int), p, sample_weight=weight)
    rest = rainproof.Sample(
        y[1:].astype(int), p[1:], sample_weight=None if weight is None else weight[1:]
    )
    combined, without = (
        Combined(as_resampler(one))(as_resampler(one).observed()) for one in (sample, rest)
    )
    assert combined == pytest.approx(without, rel=1e-6)
    assert sequential_p_value(as_resampler(sample), 199, np.random.default_rng(0)) > 0.05


@for_each("kind", ["rows", *KINDS[2:6], "weights", "cells", "many rows a cell", "uneven cells"])
def test_sequential_p_values_are_valid(kind):
    """Calibrated forecasters: the chance of a p-value up to x is at most x, for every x; 500
    samples.
    """
    rng, times, n = np.random.default_rng(6), 500, 40
    p, weight = rows("weights" if kind == "uneven cells" else kind, n, rng)
    p = np.repeat(p, 30) if kind == "many rows a cell" else p
    found = []
    for _ in range(times):
        sample = rainproof.Sample((rng.random(len(p)) < p).astype(int), p, sample_weight=weight)
        atoms = as_resampler(sample.compress(1024) if "cell" in kind else sample)
        found.append(sequential_p_value(with_fewer_cells(atoms), 999, rng))
    for x in (0.002, 0.01, 0.05, 0.2, 0.5):
        assert np.mean(np.array(found) <= x) <= x + 3.3 * np.sqrt(x * (1 - x) / times)


def test_p_values_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch):
    rng = np.random.default_rng(8)
    p = rng.random(50)
    samples = [
        rainproof.Sample((rng.random(50) < p).astype(int), p, sample_weight=w)
        for w in (None, p + 0.5)
    ]
    before = [
        sequential_p_value(as_resampler(sample), 999, np.random.default_rng(0))
        for sample in samples
    ]
    monkeypatch.setattr("rainproof.inference.statistics._AT_ONCE", 150)
    assert [
        sequential_p_value(as_resampler(sample), 999, np.random.default_rng(0))
        for sample in samples
    ] == before
