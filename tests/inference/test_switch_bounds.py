"""The bounds of a switch against their definition, row by row, and their chance to fail by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import rainproof


def sides(y, a, b, grid=None):
    """What each row loses by the switch at thresholds, if predictions equal to them act, and if they do not.

    On a grid, thresholds are its points and predictions equal to them act.
    """
    thresholds = np.unique(np.r_[0.0, a, b, 1.0])
    mu = np.repeat(thresholds, 2) if grid is None else np.arange(grid + 1) / grid
    closed = np.tile([True, False], len(thresholds)) if grid is None else np.full(grid + 1, True)
    acts = [np.where(closed, p[:, None] >= mu, p[:, None] > mu).astype(float) for p in (a, b)]
    return mu, (y[:, None] - mu) * (acts[0] - acts[1])


def best_mixture(mu, value):
    """The mixture of thresholds with the largest value, and that value, over all tasks with payoffs in [0, 1]."""
    found = linprog(-value, A_ub=np.stack([1 - mu, mu]), b_ub=[1, 1], method="highs")
    return found.x, -found.fun


def harm_by_definition(y, a, b, w, group, delta, grid=None):
    """Formula (4) of docs/theory/bounds.md, with the charge of each row by itself."""
    share = w / w.sum()
    together = share if group is None else np.array([share[group == g].sum() for g in group])
    draws = share if group is None else np.array([share[group == g].sum() for g in np.unique(group)])
    n, n_eff = len(draws), 1 / np.sum(draws**2)
    even = np.allclose(draws, 1 / n, rtol=1e-9)
    prior, factor = np.array([1 / 2, 1 / 8, 1 / 8, 1 / 8, 1 / 8]), np.array([1, 2, 4, 8, 16])
    tilt = factor * np.sqrt(2 * np.log(1 / (prior * delta)) * n_eff)
    mu, lost = sides(y, a, b, grid)
    charged = []
    for x in tilt:
        if even:
            extra = share * math.log(math.cosh(x / n)) / (x / n) @ np.abs(lost)
        else:  # the smaller of two charges, for each threshold, forecast that acts alone, and outcome
            kinds = [(y == outcome)[:, None] & (np.sign(lost) == sign) for outcome in (0, 1) for sign in (-1, 1)]
            both = ([charge @ (np.abs(lost) * kind) for charge in (x * share * together / 2, share)] for kind in kinds)
            extra = sum(np.minimum(*pair) for pair in both)
        charged.append(best_mixture(mu, share @ lost + extra)[1])
    pull = n * np.tanh(tilt / n) if even else np.maximum(tilt - 0.265 * tilt**2 / n_eff, 0)

    def excess(loss):
        powers = np.log(prior) - tilt * np.array(charged) - n * np.log1p(-loss * pull / n)
        return np.logaddexp.reduce(powers) + math.log(delta)

    return 1.0 if excess(1 - 1e-12) < 0 else brentq(excess, 0, 1 - 1e-12, xtol=1e-13)


@pytest.mark.parametrize("kind", ["equal", "weights", "groups", "equal groups", "weights and groups"])
@pytest.mark.parametrize("seed", range(6))
def test_harm_bound_is_its_definition(seed, kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    n -= n % 2
    a, b = rng.choice([0.0, 0.25, 0.5, 1.0], (2, n)) if seed % 2 else rng.random((2, n))
    y, delta = rng.integers(0, 2, n), rng.choice([0.05, 0.3])
    w = rng.choice([0.3, 1.0, 9.0], n) if "weights" in kind else np.ones(n)
    group = {"groups": rng.integers(0, 7, n), "equal groups": np.arange(n) // 2}.get(kind.removeprefix("weights and "))
    found = rainproof.switch_guarantee(y, a, b, sample_weight=w, groups=group, confidence_level=1 - delta, rng=0)
    assert found.harm_bound == pytest.approx(harm_by_definition(y, a, b, w, group, delta), abs=1e-9)


@pytest.mark.parametrize("kind", ["equal", "weights"])
@pytest.mark.parametrize("seed", range(4))
def test_harm_bound_of_a_compressed_sample_is_its_definition(seed, kind):
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 50))
    y, w = rng.integers(0, 2, 50), rng.choice([0.3, 1.0, 9.0], 50) if kind == "weights" else np.full(50, 0.7)
    sample = rainproof.scan({"a": a, "b": b, "y": y, "w": w}, ["a", "b"], weight="w", grid=8)
    found = rainproof.switch_guarantee(sample, rng=0)
    assert found.harm_bound == pytest.approx(harm_by_definition(y, a, b, w, None, 0.05, grid=8), abs=1e-9)


def coins(seed):
    (stream,) = np.random.default_rng(seed).spawn(1)
    return stream


def gain_by_definition(y, a, b, w, draw, first, delta, grid=1024):
    """One half names the task on thresholds k/m and the bet, the other bounds its gain; a coin for each draw."""
    mu, lost = sides(y, a, b, grid)
    gained = -lost
    best = 0.0
    for half, rest in ((first, ~first), (~first, first)):
        if not half.any() or not rest.any():
            continue
        weights = np.bincount(draw[rest], w[rest])
        largest, total = weights.max(), w[half].sum()
        tasks = []
        for bet in 2.0 ** -np.arange(1, 11):
            value = w[half] / total @ (gained[half] - bet / 2 * np.abs(gained[half]))
            mixture, worth = best_mixture(mu, np.maximum(value, 0))
            tasks.append((worth - math.log(2 / delta) * largest / total / bet, bet, mixture))
        _, bet, mixture = max(tasks, key=lambda task: task[0])
        row = gained[rest] @ mixture
        mean = np.bincount(draw[rest], w[rest] * row)[weights > 0] / weights[weights > 0]
        u = weights[weights > 0] / largest

        def wealth(theta, u=u, mean=mean, bet=bet):
            return u @ np.log1p(bet * (mean - theta)) - math.log(2 / delta)

        best = max(best, brentq(wealth, 0, 1 - 1e-12, xtol=1e-13) if wealth(0) > 0 else 0.0)
    return best


@pytest.mark.parametrize("kind", ["equal", "weights", "groups", "weights and groups"])
@pytest.mark.parametrize("seed", range(4))
def test_gain_at_least_is_its_definition(seed, kind):
    rng = np.random.default_rng(seed)
    a = rng.random(400)
    y = (rng.random(400) < a).astype(int)
    a[:200], b = rng.random(200), np.where(rng.random(400) < 0.9, np.where(y, 0.9, 0.1), a)  # b knows much more
    w = rng.choice([0.3, 1.0, 2.0], 400) if "weights" in kind else np.ones(400)
    group = np.unique(rng.integers(0, 150, 400), return_inverse=True)[1] if "groups" in kind else None
    draw = np.arange(400) if group is None else group
    first = coins(seed).integers(0, 2, draw.max() + 1)[draw] == 1
    found = rainproof.switch_guarantee(y, a, b, sample_weight=w, groups=group, confidence_level=0.8, rng=seed)
    expected = gain_by_definition(y, a, b, w, draw, first, 0.2)
    assert expected > 0.01
    assert found.gain_at_least == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_gain_of_a_compressed_sample_is_its_definition(seed):
    """Each row of a cell has a coin of its own."""
    rng = np.random.default_rng(seed)
    a = rng.random(400)
    y = (rng.random(400) < 0.5).astype(int)
    b = np.where(rng.random(400) < 0.8, np.where(y, 0.9, 0.1), a)
    sample = rainproof.scan({"a": a, "b": b, "y": y, "w": np.full(400, 0.7)}, ["a", "b"], weight="w", grid=8)
    found = rainproof.switch_guarantee(sample, confidence_level=0.8, rng=seed)
    (old, new), event, count = sample._pair_cells(), sample.event, sample.counts
    assert count.max() > 20
    heads = coins(seed).binomial(count, 0.5)
    at = np.repeat(np.arange(len(count)), count)
    first = np.concatenate([np.arange(n) < k for n, k in zip(count, heads, strict=True)])
    rows = (event[at].astype(int), old[at] / 8, new[at] / 8, np.ones(400), np.arange(400), first)
    expected = gain_by_definition(*rows, 0.2, grid=8)
    assert expected > 0.01
    assert found.gain_at_least == pytest.approx(expected, abs=1e-8)


ATOMS = [(1.0, 0.0), (0.6, 0.4), (0.4, 0.6), (0.2, 0.9), (0.9, 0.55), (0.05, 0.0), (0.5, 0.5)]


@pytest.mark.parametrize("draws", ["equal", "weights", "groups"])
@pytest.mark.parametrize("seed", range(4))
def test_the_chance_of_a_harm_bound_to_fail_by_enumeration(seed, draws):
    """All samples of two kinds of rows and two outcomes, with their exact chances: an exact failure rate."""
    rng = np.random.default_rng([seed, 7])
    atoms = np.array(ATOMS)[rng.choice(len(ATOMS), 2, replace=False)]
    mass, rate = rng.dirichlet([1, 1]), rng.choice([0.02, 0.3, 0.5, 0.8, 0.98], 2)
    old, new = np.repeat(atoms, 2, axis=0).T
    y = np.array([0, 1, 0, 1])
    chance = np.array([mass[k] * (rate[k] if y_ else 1 - rate[k]) for k in range(2) for y_ in (0, 1)])
    truth = rainproof.switch_guarantee(y, old, new, sample_weight=np.maximum(chance, 1e-300), rng=0).harm
    n, size = (5, 1) if draws == "equal" else (4, 1) if draws == "weights" else (4, 3)
    weight = None if draws != "weights" else np.array([1.0, 4.0, 0.5, 1.0])
    failed = dict.fromkeys((0.05, 0.2, 0.5), 0.0)
    for sample in itertools.product(range(4), repeat=n) if weight is not None else _multisets(n):
        rows = np.repeat(sample, size)
        orders = 1 if weight is not None else _orders(sample)
        for delta in failed:
            found = rainproof.switch_guarantee(
                y[rows],
                old[rows],
                new[rows],
                sample_weight=weight,
                groups=np.repeat(np.arange(n), size) if size > 1 else None,
                confidence_level=1 - delta,
                rng=0,
            )
            failed[delta] += orders * np.prod(chance[list(sample)]) * (found.harm_bound < truth - 1e-12)
    for delta, rate_of_failure in failed.items():
        assert rate_of_failure <= delta


def _multisets(n):
    return itertools.combinations_with_replacement(range(4), n)


def _orders(sample):
    counts = np.bincount(sample)
    return math.factorial(len(sample)) / np.prod([math.factorial(k) for k in counts])
