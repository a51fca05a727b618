"""The weights of maps in their mean, and maps that are fitted without some folds, against nested
cross-validation.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.optimize import minimize

import rainproof
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.sample import Sample
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.selection import FOLDS, cross_fit, mean_weights


def draw(n, seed=0, levels=None):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    p = p if levels is None else np.floor(p * levels) / levels
    return p, (rng.random(n) < 0.1 + 0.6 * p**1.5).astype(int)


COLUMNS = {
    "logistic": [[1, 1, 0], [0, 0, 1]],
    "temperature": [[1, 1, 0]],
    "beta": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}


# mean and deviation of the slope, deviation of the shift
PRIORS = {"calibrated_prior": (0.9, 0.25, 0.7), "overconfident_prior": (0.3, 0.2, 1.0)}


def naive_prior_fit(name, p, y, w, ends, centre, n):
    """A line in the log odds with a prior, by a general minimiser."""
    slope, *deviations = PRIORS[name]
    wider = np.sqrt(1 + n / 300)

    def line(beta, at):
        at = np.clip(at, ends[0] / 2, (1 + ends[1]) / 2)
        return centre + beta[1] + beta[0] * (np.log(at / (1 - at)) - centre)

    def cost(beta):
        surprise = w @ np.logaddexp(0, np.where(y == 1, -1, 1) * line(beta, p))
        return surprise + (((beta - [slope, 0]) / deviations / wider) ** 2).sum() / 2

    beta = minimize(cost, [slope, 0.0], tol=1e-12).x
    return lambda at: 1 / (1 + np.exp(-line(beta, at)))


def naive_fit(name, p, y, w, lowest, highest):
    """A function of predictions: a fit by a general minimiser, or the map of one table."""
    if name not in COLUMNS:
        return METHODS[name](DistinctTable.from_rows(y.astype(np.uint8), p, w))
    columns = np.array(COLUMNS[name])

    def score(beta, p):
        p = np.clip(p, lowest / 2, (1 + highest) / 2)
        return beta @ columns @ np.stack([np.log(p), -np.log(1 - p), np.ones_like(p)])

    def cost(beta):
        return (
            w @ np.logaddexp(0, np.where(y == 1, -1, 1) * score(beta, p))
            + ((beta - centre) ** 2).sum() / 32
        )

    centre = (
        np.array([1.0, 1.0, 0.0][: len(columns)]) if len(columns) != 2 else np.array([1.0, 0.0])
    )
    bounds = [(0, None), (0, None), (None, None)] if name == "beta" else None
    beta = minimize(cost, centre, bounds=bounds, tol=1e-12).x
    return lambda at: 1 / (1 + np.exp(-score(beta, at)))


def naive_loss(fit, p, y, w, n):
    value = np.clip(fit(p), 0.5 / (n + 1), 1 - 0.5 / (n + 1))
    return -(w * np.where(y == 1, np.log(value), np.log(1 - value))).sum()


def has_rows(name, n):
    """Whether bins have 30 rows each."""
    return not name.startswith("bins_") or int(name.removeprefix("bins_")) * 30 <= n


def naive_shares(losses):
    share = np.exp(min(losses) - np.array(losses))
    share = np.where(share / share.sum() < 0.01, 0, share)
    return share / share.sum()


def naive(p, y, w, fold, at, methods):
    """The values at predictions, by both folds, from a loop over everything that is left out or
    scored.
    """
    w = w * w.sum() / (w**2).sum()
    inside = p[(p > 0) & (p < 1)]
    found = np.zeros((FOLDS, FOLDS, len(at)))
    # Each fold is in 10 of the 15 fits without one fold or two.
    rows_of_fits = w.sum() * 10 / 15
    limited = np.clip(p, inside.min() / 2, (1 + inside.max()) / 2)
    centre = w @ np.log(limited / (1 - limited)) / w.sum()

    @cache
    def fit(name, f, g):
        some = (fold != f) & (fold != g)
        if name in PRIORS:
            ends = inside.min(), inside.max()
            return naive_prior_fit(name, p[some], y[some], w[some], ends, centre, rows_of_fits)
        return naive_fit(name, p[some], y[some], w[some], inside.min(), inside.max())

    for f in range(FOLDS):
        for g in range(FOLDS):
            losses = []
            for name in methods:
                if not has_rows(name, w.sum()):
                    losses.append(np.inf)
                    continue
                scored = [
                    (fit(name, *sorted((f, h))), fold == h) for h in range(FOLDS) if h not in (f, g)
                ]
                losses.append(
                    sum(naive_loss(one, p[rows], y[rows], w[rows], w.sum()) for one, rows in scored)
                )
            for share, name in zip(naive_shares(losses), methods, strict=True):
                found[f, g] += share * fit(name, *sorted((f, g)))(at)
    return found


CASES = {
    "rows": {"levels": None},
    "ties": {"levels": 12},
    "weights": {"levels": None, "weight": lambda n: 1.0 + np.arange(n) % 4},
    "some weights of zero": {"levels": 30, "weight": lambda n: np.sqrt(np.arange(n) % 5)},
    "groups": {"levels": 40, "groups": lambda n: np.arange(n) * 7919 % 61},
}


@for_each("case", CASES.values())
def test_maps_without_folds_are_those_of_nested_cross_validation(case):
    p, y = draw(240, seed=5, levels=case["levels"])
    weight, groups = (case[name](240) if name in case else None for name in ("weight", "groups"))
    sample = Sample(y, p, sample_weight=weight, groups=groups).in_order()
    found = cross_fit(sample, np.random.default_rng(3))
    p, y, w, fold = sample.prob, sample.event * 1, sample.mass.astype(float), found.fold
    some = w > 0
    np.testing.assert_allclose(found.prob[found.entry[some]], p[some], atol=2**-51)
    expected = naive(p[some], y[some], w[some], fold[some], found.prob, list(METHODS))
    np.testing.assert_allclose(found.inner, expected, rtol=4e-3)  # logits are pooled to 1/64
    assert (found.value == found.inner[np.arange(FOLDS), np.arange(FOLDS)]).all()
    scale = w.sum() / (w**2).sum()
    for f in range(FOLDS):
        for event in (0, 1):
            rows = (fold == f) & (y == event)
            sums = np.bincount(found.entry[rows], w[rows], len(found.prob)) * scale
            np.testing.assert_allclose(found.weight[f, event], sums, rtol=1e-12)
        out = fold != f
        assert found.rate[f] == pytest.approx(w[out] @ y[out] / w[out].sum())
    if groups is not None:
        assert all(len(set(fold[sample.units.unit == g])) == 1 for g in range(61))


def test_cells_are_divided_without_losing_rows():
    p, y = draw(900, seed=2, levels=16)
    cells = Sample(y, p).compress(16)
    found = cross_fit(cells, np.random.default_rng(3))
    count = found.fold
    assert (count.sum(axis=0) == cells.cells.count).all()
    assert found.weight.sum() == 900
    for f in range(FOLDS):
        sums = np.bincount(2 * found.entry + (cells.cells.slot & 1), count[f], 2 * len(found.prob))
        assert (found.weight[f].T.ravel() == sums).all()
    parts = (np.repeat(cells.cells.slot, one) for one in count)
    slot, fold = map(
        np.concatenate,
        zip(*((part, np.full(len(part), f)) for f, part in enumerate(parts)), strict=True),
    )
    middle = np.minimum(((slot >> 1) + 0.5) / 16, 1.0)
    expected = naive(middle, slot & 1, np.ones(900), fold, found.prob, list(METHODS))
    np.testing.assert_allclose(found.inner, expected, rtol=1e-3)


def test_the_order_of_rows_does_not_matter():
    p, y = draw(300, seed=1, levels=50)
    weight, groups = 1 + np.arange(300) % 3, np.arange(300) // 3
    shuffled = np.random.default_rng(0).permutation(300)
    for some in ({}, {"sample_weight": weight}, {"sample_weight": weight, "groups": groups}):
        one, other = (
            cross_fit(
                Sample(y[at], p[at], **{k: v[at] for k, v in some.items()}),
                np.random.default_rng(0),
            )
            for at in (np.arange(300), shuffled)
        )
        for name in ("prob", "weight", "value", "inner", "rate", "loss", "entry", "fold"):
            assert (getattr(one, name) == getattr(other, name)).all()


def test_many_predictions_are_pooled_without_changing_much():
    p, y = draw(30_000, seed=4)
    p[:200] = 1e-4 * np.random.default_rng(0).random(200)
    found = cross_fit(Sample(y, p), np.random.default_rng(0))
    assert len(found.prob) < 4096
    ordered = Sample(y, p).in_order()
    own = found.prob[found.entry]
    assert (
        np.abs(np.log(own / ordered.prob) - np.log((1 - own) / (1 - ordered.prob))).max() < 1 / 64
    )
    assert np.bincount(found.entry).max() <= 30_000 / 2048 + 1
    event = ordered.event * 1
    fine = naive(ordered.prob, event, np.ones(30_000), found.fold, ordered.prob, ["isotonic"])
    some = cross_fit(Sample(y, p), np.random.default_rng(0), methods=["isotonic"])
    briers = [
        np.mean((value - event) ** 2)
        for value in (
            some.value[some.fold, some.entry],
            fine[some.fold, some.fold, np.arange(30_000)],
        )
    ]
    assert briers[0] == pytest.approx(briers[1], rel=1e-3)


def test_predictions_that_no_map_can_tell_apart_are_one():
    rng = np.random.default_rng(0)
    p = np.concatenate([10.0 ** -rng.uniform(20, 300, 300), rng.random(100)])
    y = rng.random(400) < np.where(p < 1e-200, 0.05, np.where(p < 1e-19, 0.4, 0.8))
    found = cross_fit(Sample(y, p), np.random.default_rng(0))
    assert (found.prob[0], found.weight[:, :, 0].sum()) == (pytest.approx(0, abs=1e-20), 300)
    r = rainproof.Recalibrator().fit(p, y)
    assert (
        r.predict([1e-250])[0] == r.predict([1e-25])[0] == pytest.approx(y[:300].mean(), abs=0.03)
    )


def test_a_row_decides_little_where_a_forecast_says_0():
    p, y = np.concatenate([np.zeros(100), np.full(100, 0.5)]), np.zeros(200, int)
    y[0], y[100:150] = 1, 1
    found = cross_fit(Sample(y, p), np.random.default_rng(0), methods=["none"])
    assert found.loss[0] == pytest.approx(
        np.log(2 * 201) + 100 * np.log(2) - 99 * np.log1p(-0.5 / 201), rel=1e-12
    )


def test_weights_are_likelihoods_and_small_ones_are_dropped():
    share = mean_weights(np.array([10.0, 11.0, 16.0, 1e4]))
    np.testing.assert_allclose(share, np.array([1, np.exp(-1), 0, 0]) / (1 + np.exp(-1)))
    assert (mean_weights(np.array([3e9, 3e9 + 900])) == [1, 0]).all()


def test_a_mean_of_maps_is_the_mean_of_their_values():
    maps = [
        METHODS[name](DistinctTable.from_rows(y.astype(np.uint8), p, None))
        for name in ("beta", "isotonic", "bins_8", "none")
        for p, y in [draw(500)]
    ]
    mean = PiecewiseMap.mean(maps, [0.1, 0.3, 0.2, 0.4])
    at = np.unique(
        np.concatenate([mean.edges, np.linspace(0, 1, 1001), np.nextafter(mean.edges, 0)]).clip(
            0, 1
        )
    )
    expected = sum(share * one(at) for share, one in zip([0.1, 0.3, 0.2, 0.4], maps, strict=True))
    np.testing.assert_allclose(mean(at), expected, atol=3e-9)
    rising = PiecewiseMap.mean([maps[0], maps[1], maps[3]], [0.2, 0.3, 0.5])
    assert rising.rises
    assert (np.diff(rising(at)) >= 0).all()
    assert PiecewiseMap.mean([maps[3]], [1.0]) is maps[3]
