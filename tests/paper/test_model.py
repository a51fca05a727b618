"""The paper's example model, its regression, and what is known of it without a sample."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.integrate import quad
from sklearn.linear_model import LogisticRegression

import rainproof
from paper import ExampleModel, LogisticPredictor, fit_logistic, population_values
from paper.model import Cut

ALPHAS = (0.0, 0.3, 0.5, 0.8, 1.0)


def pieces(function, model, f):
    """An integral over x in [0, 1], piece by piece between the zeros of the bias."""
    x = np.linspace(0, 1, 20_001)
    bias = model.mean(x) - f(x)
    zeros = x[:-1][np.sign(bias[:-1]) != np.sign(bias[1:])]
    edges = sorted({0.0, 1.0, *zeros})
    return math.fsum(quad(function, a, b, limit=200)[0] for a, b in pairwise(edges))


def test_conditional_mean_by_hand():
    assert ExampleModel(0.0).mean([0, 0.25, 1]).tolist() == [0, 0.25, 1]
    assert ExampleModel(1.0).mean([0, 0.25, 0.5]).tolist() == [1, 0.25, 0]
    assert ExampleModel(0.8).mean(0.5) == pytest.approx(0.1)


@for_each("alpha", [-0.1, 1.5, float("nan")])
def test_alpha_outside_is_refused(alpha):
    with pytest.raises(rainproof.InputError, match=rf"^alpha must lie in \[0, 1\]; it is {alpha}$"):
        ExampleModel(alpha)


def test_sample_is_drawn_from_the_model():
    model = ExampleModel(0.8)
    x, y = model.sample(100_000, rng=1)
    again = model.sample(100_000, rng=1)
    assert np.array_equal(x, again[0])
    assert np.array_equal(y, again[1])
    assert x.mean() == pytest.approx(0.5, abs=0.01)
    for low in (0.0, 0.4, 0.8):
        here = (x >= low) & (x < low + 0.2)
        mean = quad(lambda at: float(model.mean(at)), low, low + 0.2)[0] / 0.2
        assert y[here].mean() == pytest.approx(mean, abs=0.02)


@for_each("alpha", ALPHAS)
@for_each("seed", [0, 1, 2])
def test_regression_agrees_with_scikit_learn(alpha, seed):
    x, y = ExampleModel(alpha).sample(500, rng=seed)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(x[:, None], y)
    ours = fit_logistic(x, y)
    assert ours.intercept == pytest.approx(theirs.intercept_[0], abs=1e-4)
    assert ours.slope == pytest.approx(theirs.coef_[0, 0], abs=1e-4)


@for_each("alpha", ALPHAS)
def test_regression_solves_the_score_equations(alpha):
    x, y = ExampleModel(alpha).sample(300, rng=5)
    weight = np.random.default_rng(6).random(300)
    f = fit_logistic(x, y, weight=weight)
    left = weight * (y - f(x))
    assert abs(left.sum()) < 1e-10
    assert abs((left * x).sum()) < 1e-10


@for_each(
    "x, y",
    [([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]), ([0.1, 0.5, 0.9], [1, 1, 1]), ([0.5, 0.5], [0, 1])],
)
def test_no_regression_where_none_is_best(x, y):
    with pytest.raises(
        rainproof.RainproofError,
        match=r"^the logistic regression has no finite optimum: a threshold on x separates the classes, or x is "
        r"constant$",
    ):
        fit_logistic(x, y)


def test_regression_gives_up(monkeypatch):
    monkeypatch.setattr("paper.model._STEPS", 1)
    with pytest.raises(
        rainproof.RainproofError, match=r"^the logistic regression has no finite optimum: "
    ):
        ExampleModel(0.5).fit(100, rng=0)


def test_the_limit_of_the_regression():
    """At alpha = 1 the valley is symmetric: level at its mean, 1/3. Else a large sample comes
    close.
    """
    level = ExampleModel(1.0).limit()
    assert level.slope == pytest.approx(0, abs=1e-9)
    assert float(level(0.3)) == pytest.approx(1 / 3, abs=1e-7)
    many, limit = ExampleModel(0.5).fit(400_000, rng=0), ExampleModel(0.5).limit()
    assert many.slope == pytest.approx(limit.slope, abs=0.03)


def test_predictor_flips_inverts_and_saturates():
    f = LogisticPredictor(intercept=-1.0, slope=3.0)
    x = np.array([0.1, 0.4, 0.9])
    for g in (f, f.flip()):
        np.testing.assert_allclose(g.inverse(g(x)), x, atol=1e-12)
    np.testing.assert_allclose(f.flip()(x), 1 - f(x), atol=1e-15)
    assert f.flip().flip() == f
    steep = LogisticPredictor(intercept=-1000.0, slope=0.0)
    assert float(steep(0.5)) == 0.0
    assert f.mean(0.0, 1.0) == pytest.approx(quad(f, 0, 1)[0], abs=1e-9)


@for_each("alpha", ALPHAS)
@for_each("flipped", [False, True])
def test_population_ece_cutoff_and_scores_by_quadrature(alpha, flipped):
    model = ExampleModel(alpha)
    f = model.fit(500, rng=3)
    f = f.flip() if flipped else f
    found = model.population(
        f,
        "expected_calibration_error",
        "cutoff_calibration_error",
        "brier_score",
        "log_score",
        cells=1 << 12,
    )

    def bias(x):
        return float(model.mean(x) - f(x))

    def log_score(x):
        q, p = float(model.mean(x)), float(f(x))
        return -q * math.log(p) - (1 - q) * math.log(1 - p)

    x = np.linspace(0, 1, 501)
    prefix = np.concatenate([[0], np.cumsum([quad(bias, a, b)[0] for a, b in pairwise(x)])])
    expected = {
        "expected_calibration_error": pieces(lambda x: abs(bias(x)), model, f),
        "cutoff_calibration_error": prefix.max() - prefix.min(),
        "brier_score": quad(
            lambda x: float(model.mean(x) * (1 - f(x)) ** 2 + (1 - model.mean(x)) * f(x) ** 2), 0, 1
        )[0],
        "log_score": quad(log_score, 0, 1)[0],
    }
    for name, value in expected.items():
        assert abs(found[name].value - value) <= found[name].error + 1e-6, name
        assert found[name].error < 0.01


@for_each("alpha, rounding", [(0.5, "soft"), (0.8, "soft"), (0.8, "hard"), (1.0, "soft")])
def test_population_soft_binned_by_midpoints(alpha, rounding):
    """pi_j and s_j of Lemma 3.1 as integrals over x by the midpoint rule, then the definition."""
    model = ExampleModel(alpha)
    f = model.fit(500, rng=4)
    name = "soft_binned_cdl" if rounding == "soft" else "soft_binned_cdl[hard]"
    value = model.population(f, name, cells=256)[name]
    x = (np.arange(200_000) + 0.5) / 200_000
    p, q = f(x), model.mean(x)

    def loss(m):
        i = np.arange(m + 1)
        hats = [
            (1 - np.abs(m * p - j)).clip(0) if rounding == "soft" else np.floor(m * p) == j
            for j in i
        ]
        pi, s = np.array([h.mean() for h in hats]), np.array([(h * q).mean() for h in hats])
        return max(
            (s - pi * (k + 1) / m).clip(0)[: k + 1].sum() + (pi * k / m - s).clip(0)[k + 1 :].sum()
            for k in i
        )

    expected = min(max(loss(m), 1 / m) for m in (2, 4, 8, 16, 32, 64))
    assert value.value == pytest.approx(expected, abs=1e-8 if rounding == "soft" else 2e-5)
    assert value.error <= 1e-11


@for_each("alpha", [0.0, 0.5, 0.8, 1.0])
def test_population_values_agree_when_cut_finer(alpha):
    model = ExampleModel(alpha)
    f = model.fit(500, rng=7)
    coarse, fine = (population_values(model, f, cells=cells) for cells in (1 << 10, 1 << 12))
    assert list(coarse) == list(rainproof.list_measures())
    for name, value in coarse.items():
        bound = value.error + fine[name].error if value.error == value.error else 2e-3
        assert abs(value.value - fine[name].value) <= bound, name
        assert value.error != value.error or fine[name].error <= value.error + 1e-15
        assert value.to_dict() == {
            "name": name,
            "value": value.value,
            "error": value.error,
            "cells": value.cells,
        } or (value.error != value.error)


def test_population_and_a_large_sample():
    model = ExampleModel(0.8)
    f = model.fit(500, rng=8)
    x, y = model.sample(400_000, rng=9)
    sample = rainproof.Sample(y, f(x))
    for name in (
        "soft_binned_cdl",
        "cutoff_calibration_error",
        "smooth_calibration_error",
        "u_calibration_error",
    ):
        truth = model.population(f, name)[name].value
        assert rainproof.list_measures()[name](sample) == pytest.approx(truth, abs=0.004)


def test_a_level_predictor_is_one_prediction():
    """f = c: ECE = smCE = cutoff = |c - mean|, whatever the cut."""
    model, f = ExampleModel(1.0), LogisticPredictor(intercept=0.0, slope=0.0)
    found = model.population(f, cells=64)
    for name in (
        "expected_calibration_error",
        "cutoff_calibration_error",
        "smooth_calibration_error",
    ):
        assert found[name].value == pytest.approx(0.5 - 1 / 3, abs=1e-12)
    cut = Cut.of(model, f, 64, (8,))
    assert len(cut.mass) == 64
    assert cut.width == 0


def test_a_calibrated_predictor_has_little_to_find():
    """Where the balance is finer than the cut, the bound says so."""
    model = ExampleModel(0.0)
    best = min(
        (model.fit(500, rng=seed) for seed in range(5)),
        key=lambda f: model.population(f, "soft_binned_cdl")["soft_binned_cdl"].value,
    )
    value = model.population(best, "soft_binned_cdl")["soft_binned_cdl"]
    assert 0 < value.value < 0.02
    sharp = ExampleModel(0.5)
    exact = LogisticPredictor(intercept=float(np.log(0.4) - np.log(0.6)), slope=0.0)
    assert sharp.population(exact, "soft_binned_cdl")["soft_binned_cdl"].error <= 4 / 4096 + 1e-9
