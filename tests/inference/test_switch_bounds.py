"""The bounds of a switch against their definition, row by row, and their chance to fail by
enumeration.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import Counter

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.optimize import brentq, linprog

import rainproof
from rainproof.core.curve import envelope
from rainproof.core.digests import stream_for
from rainproof.inference.switch_gains import gain_of_choice
from rainproof.inference.switches import harm_bound
from rainproof.inference.wagers import Wagers, decision_thresholds


def sides(y, a, b, grid=None):
    """What each row loses by the switch at thresholds, if predictions equal to them act, and if
    they do not.

    On a grid, thresholds are its points and predictions equal to them act.
    """
    thresholds = np.unique(np.r_[0.0, a, b, 1.0])
    mu = np.repeat(thresholds, 2) if grid is None else np.arange(grid + 1) / grid
    closed = np.tile([True, False], len(thresholds)) if grid is None else np.full(grid + 1, True)
    acts = [np.where(closed, p[:, None] >= mu, p[:, None] > mu).astype(float) for p in (a, b)]
    return mu, (y[:, None] - mu) * (acts[0] - acts[1])


def best_mixture(mu, value):
    """The mixture of thresholds with the largest value, and that value, over all tasks with payoffs
    in [0, 1].
    """
    found = linprog(-value, A_ub=np.stack([1 - mu, mu]), b_ub=[1, 1], method="highs")
    return found.x, -found.fun


def harm_by_definition(y, a, b, w, group, delta, grid=None):
    """Formula (4) of docs/theory/bounds.md, with the charge of each row by itself."""
    share = w / w.sum()
    together = share if group is None else np.array([share[group == g].sum() for g in group])
    draws = (
        share if group is None else np.array([share[group == g].sum() for g in np.unique(group)])
    )
    n, n_eff = len(draws), 1 / np.sum(draws**2)
    even = np.allclose(draws, 1 / n, rtol=1e-9)
    prior, factor = np.array([1 / 2, 1 / 8, 1 / 8, 1 / 8, 1 / 8]), np.array([1, 2, 4, 8, 16])
    tilt = factor * np.sqrt(2 * np.log(1 / (prior * delta)) * n_eff)
    mu, lost = sides(y, a, b, grid)
    charged = []
    for x in tilt:
        if even:
            extra = share * math.log(math.cosh(x / n)) / (x / n) @ np.abs(lost)
        else:
            # the smaller of two charges, for each threshold, forecast that acts alone, and outcome
            kinds = [
                (y == outcome)[:, None] & (np.sign(lost) == sign)
                for outcome in (0, 1)
                for sign in (-1, 1)
            ]
            both = (
                [charge @ (np.abs(lost) * kind) for charge in (x * share * together / 2, share)]
                for kind in kinds
            )
            extra = sum(np.minimum(*pair) for pair in both)
        charged.append(best_mixture(mu, share @ lost + extra)[1])
    pull = n * np.tanh(tilt / n) if even else np.maximum(tilt - 0.265 * tilt**2 / n_eff, 0)

    def excess(loss):
        powers = np.log(prior) - tilt * np.array(charged) - n * np.log1p(-loss * pull / n)
        return np.logaddexp.reduce(powers) + math.log(delta)

    return 1.0 if excess(1 - 1e-12) < 0 else brentq(excess, 0, 1 - 1e-12, xtol=1e-13)


@for_each("kind", ["equal", "weights", "groups", "equal groups", "weights and groups"])
@for_each("seed", range(6))
def test_harm_bound_is_its_definition(seed, kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    n -= n % 2
    a, b = rng.choice([0.0, 0.25, 0.5, 1.0], (2, n)) if seed % 2 else rng.random((2, n))
    y, delta = rng.integers(0, 2, n), rng.choice([0.05, 0.3])
    w = rng.choice([0.3, 1.0, 9.0], n) if "weights" in kind else np.ones(n)
    group = {"groups": rng.integers(0, 7, n), "equal groups": np.arange(n) // 2}.get(
        kind.removeprefix("weights and ")
    )
    found = rainproof.switch_guarantee(
        y, a, b, sample_weight=w, groups=group, confidence_level=1 - delta, rng=0
    )
    assert found.harm_bound == pytest.approx(harm_by_definition(y, a, b, w, group, delta), abs=1e-9)


@for_each("kind", ["equal", "weights"])
@for_each("seed", range(4))
def test_harm_bound_of_a_compressed_sample_is_its_definition(seed, kind):
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 50))
    y, w = (
        rng.integers(0, 2, 50),
        rng.choice([0.3, 1.0, 9.0], 50) if kind == "weights" else np.full(50, 0.7),
    )
    sample = rainproof.scan({"a": a, "b": b, "y": y, "w": w}, ["a", "b"], weight="w", grid=8)
    found = rainproof.switch_guarantee(sample, rng=0)
    assert found.harm_bound == pytest.approx(
        harm_by_definition(y, a, b, w, None, 0.05, grid=8), abs=1e-9
    )


def gain_chains(y, a, b, w, draw, parts, delta, bets, price):
    """By definition: before each block the task with the largest discounted gain on all earlier
    rows.
    """
    mu = decision_thresholds(None)[0]
    gained = (y[:, None] - mu) * ((b[:, None] >= mu) * 1.0 - (a[:, None] >= mu))
    weights = np.bincount(draw, w)
    found = []
    for part in parts:
        chain = []
        for block in range(2, 12):
            before, now = part < block, part == block
            tasks = []
            for bet in bets:
                value = (
                    w[before]
                    / w[before].sum()
                    @ (gained[before] - bet / 2 * np.abs(gained[before]))
                )
                chord = envelope(mu, np.maximum(value, 0))
                tasks.append((2 * chord.value - price / bet, chord))
            chord = max(tasks, key=lambda task: task[0])[1]
            if chord.value == 0:
                continue
            first, second = np.searchsorted(mu, [chord.mu_a, chord.mu_b])
            row = 2 * chord.share * gained[:, first] + 2 * (1 - chord.share) * gained[:, second]
            for one in np.unique(draw[now]):
                own = draw == one
                chain.append((weights[one] / weights.max(), w[own] @ row[own] / w[own].sum()))
        found.append(chain)
    return found


def mean_wealth(chains, bets, share):
    return np.mean(
        [math.prod(1 + bet * u * (z - share) for u, z in chain) for chain in chains for bet in bets]
    )


# without ties, which rounding breaks
@for_each("kind", ["equal", "weights", "weights and groups"])
def test_gain_at_least_is_its_definition(kind):
    """Rows in canonical order are dealt eight times to twelve parts; the mean wealth is 1/delta at
    the bound.
    """
    rng = np.random.default_rng(len(kind))
    n, delta, seed = 240, 0.2, 4
    a = rng.integers(0, 1025, n) / 1024
    y = (rng.random(n) < a).astype(int)
    b = np.where(rng.random(n) < 0.9, np.where(y, 0.875, 0.125), a)  # which knows much more
    w = rng.uniform(0.5, 2, n) if "weights" in kind else np.ones(n)
    group = np.unique(rng.integers(0, 90, n), return_inverse=True)[1] if "groups" in kind else None
    sample = rainproof.Sample(y, {"a": a, "b": b}, sample_weight=w, groups=group)
    found = rainproof.switch_guarantee(sample, confidence_level=1 - delta, rng=seed).gain_at_least
    if group is not None:  # groups are in order of what their rows are
        rows = [
            sorted(zip(*(x[group == g] for x in (b, a, y, w)), strict=True))
            for g in range(group.max() + 1)
        ]
        ranked = sorted(range(len(rows)), key=lambda g: (len(rows[g]), rows[g]))
        group = np.argsort(ranked)[group]
    order = np.lexsort((y, b, a) if kind == "equal" else (w, y, a, b))
    y, a, b, w = (x[order] for x in (y, a, b, w))
    draw = np.arange(n) if group is None else group[order]
    (stream,) = stream_for(seed, sample).spawn(1)
    parts = [(stream.permutation(draw.max() + 1) % 12)[draw] for _ in range(8)]
    draws = np.bincount(draw, w)
    bets = [
        bet
        for bet in 2.0 ** -np.arange(1, 21)
        if bet >= math.sqrt(2 * math.log(1 / delta) / len(draws))
    ]
    price = math.log(1 / delta) / (draws.sum() ** 2 / (draws**2).sum())
    chains = gain_chains(y, a, b, w, draw, parts, delta, bets, price)
    assert found > 0.01
    assert mean_wealth(chains, bets, found) == pytest.approx(1 / delta, rel=1e-6)
    assert mean_wealth(chains, bets, found + 1e-4) < 1 / delta


def test_gain_of_a_compressed_sample_is_that_of_counts_of_rows():
    """Cells are dealt by their counts: about the same bound as from the rows, with the thresholds
    of the grid.
    """
    rng = np.random.default_rng(0)
    a = rng.integers(0, 8, 600) / 8
    y = (rng.random(600) < 0.5).astype(int)
    b = np.where(rng.random(600) < 0.8, np.where(y, 0.875, 0.125), a)
    sample = rainproof.scan(
        {"a": a, "b": b, "y": y, "w": np.full(600, 0.7)}, ["a", "b"], weight="w", grid=8
    )
    cells, rows = (
        rainproof.switch_guarantee(*given, confidence_level=0.8).gain_at_least
        for given in ((sample,), (y, a, b))
    )
    assert cells == pytest.approx(rows, rel=0.15)


def test_cells_that_no_threshold_tells_apart_are_dealt_as_one():
    rng = np.random.default_rng(2)
    p = np.r_[rng.random(9000), 0, 1, 0.5, 1e-12]
    held = rainproof.Sample(rng.random(9004) < p**1.5, p).compress().at_edges()
    pair = held.with_forecasts(old=held.prob, new=np.floor(held.prob**2 * 300) / 300)
    rows = Wagers.of(pair, rng)
    edges, _ = decision_thresholds(held.grid)
    expected = Counter()
    for y, old, count in zip(held.event, held.prob, held.counts, strict=True):
        reached = (bisect_right(edges, x) - 1 for x in (old, np.floor(old**2 * 300) / 300))
        expected[(*reached, y)] += count
    found = dict(zip(zip(*rows.cells, rows.event, strict=True), rows.count, strict=True))
    assert len(found) == len(rows.count) < len(held.counts) / 2
    assert found == expected


def test_rows_that_are_held_out_choose_as_well():
    """A chooser that is misled does not hinder the judges for long; the estimate is that of the
    chooser's task.
    """
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    good, bad = (rng.random(2000) < rate for rate in (p**2, p**0.5))
    judge, right, wrong = (
        rainproof.Sample(y[at], {"old": p[at], "new": (p**2)[at]})
        for y, at in ((good, slice(0, 1000)), (good, slice(1000, None)), (bad, slice(1900, None)))
    )
    (estimate, bound), (other, still) = (
        gain_of_choice(chooser, judge, 0.1) for chooser in (right, wrong)
    )
    assert 0 < still <= 1.2 * bound < estimate
    assert other < estimate
    none = judge.take(np.zeros(0, np.int64))
    assert gain_of_choice(right, none, 0.1) == gain_of_choice(none, judge, 0.1) == (0, 0)


ATOMS = [(1.0, 0.0), (0.6, 0.4), (0.4, 0.6), (0.2, 0.9), (0.9, 0.55), (0.05, 0.0), (0.5, 0.5)]


@for_each("draws", ["equal", "weights", "groups"])
@for_each("seed", range(4))
def test_the_chance_of_a_harm_bound_to_fail_by_enumeration(seed, draws):
    """All samples of two kinds of rows and two outcomes, with their exact chances: an exact failure
    rate.
    """
    rng = np.random.default_rng([seed, 7])
    atoms = np.array(ATOMS)[rng.choice(len(ATOMS), 2, replace=False)]
    mass, rate = rng.dirichlet([1, 1]), rng.choice([0.02, 0.3, 0.5, 0.8, 0.98], 2)
    old, new = np.repeat(atoms, 2, axis=0).T
    y = np.array([0, 1, 0, 1])
    chance = np.array(
        [mass[k] * (rate[k] if y_ else 1 - rate[k]) for k in range(2) for y_ in (0, 1)]
    )
    truth = rainproof.switch_guarantee(
        y, old, new, sample_weight=np.maximum(chance, 1e-300), rng=0
    ).harm
    n, size = (5, 1) if draws == "equal" else (4, 1) if draws == "weights" else (4, 3)
    weight = None if draws != "weights" else np.array([1.0, 4.0, 0.5, 1.0])
    failed = dict.fromkeys((0.05, 0.2, 0.5), 0.0)
    for sample in itertools.product(range(4), repeat=n) if weight is not None else _multisets(n):
        rows = np.repeat(sample, size)
        orders = 1 if weight is not None else _orders(sample)
        for delta in failed:
            drawn = rainproof.Sample(
                y[rows],
                {"old": old[rows], "new": new[rows]},
                sample_weight=weight,
                groups=np.repeat(np.arange(n), size) if size > 1 else None,
            )
            bound = harm_bound(drawn.curve("old", "new"), drawn, delta)
            failed[delta] += orders * np.prod(chance[list(sample)]) * (bound < truth - 1e-12)
    for delta, rate_of_failure in failed.items():
        assert rate_of_failure <= delta


def _multisets(n):
    return itertools.combinations_with_replacement(range(4), n)


def _orders(sample):
    counts = np.bincount(sample)
    return math.factorial(len(sample)) / np.prod([math.factorial(k) for k in counts])
